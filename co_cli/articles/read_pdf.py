"""A PDF as markdown: a mark for each page, headings by the size of their letters, tables by gaps.

A PDF holds letters with places and sizes, no paragraphs. They are taken in the order of the file,
which is the order of reading in nearly all of them; lines are put together by where they stand.
"""

import ctypes
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pypdfium2  # type: ignore[import-untyped]
from pypdfium2 import raw

from co_cli.articles.ocr import read_picture
from co_cli.articles.outcome import Read, Unread

MOST_PAGES = 3_000
MOST_LOOKS = 50  # pages that are pictures and are read by OCR at most
_END = re.compile(r"[.!?:。！？]['\"”’»)\]]*$")
_LEADER = " … "  # the dots in a table of contents
_BULLET = re.compile(r"[•◦▪‣–·]\s+")


class Line(NamedTuple):
    """One line of a page: its cells and where they begin, its place, the size of its letters."""

    cells: list[tuple[float, str]]
    y: float
    size: float

    @property
    def text(self) -> str:
        return " ".join(cell for _, cell in self.cells)


def read_pdf(data: bytes, progress: Callable[[int, int], None]) -> Read:
    """The text of all pages, each after a line with its anchor."""
    try:
        document = pypdfium2.PdfDocument(data)
        count = len(document)
    except pypdfium2.PdfiumError as error:
        if "assword" in str(error):
            hint = "Save a copy without a password, and give that file."
            raise Unread("the PDF is locked with a password", hint) from error
        raise Unread("the PDF is broken: no page of it can be read") from error
    pages = []
    how: Counter[str] = Counter()
    for number in range(min(count, MOST_PAGES)):
        lines, way = _page(document, number, look=how["looked"] < MOST_LOOKS)
        pages.append(lines)
        how[way] += 1
        progress(number + 1, count)
    text, title = _written(_without_running_lines(pages))
    told = " ".join(document.get_metadata_value("Title").split())
    if told and (told in text or not title):
        title = told
    return Read(title, text, [*_remarks(how, count)])


def _page(document: Any, number: int, *, look: bool) -> tuple[list[Line], str]:
    """The lines of a page, and how they were come by."""
    try:
        page = document[number]
        lines = [*_lines(page.get_textpage())]
        if lines:
            return lines, "read"
        text = read_picture(_drawn(page)) if look else ""
    except pypdfium2.PdfiumError:
        return [], "broken"
    rows = [row for row in text.split("\n") if row.strip()]
    lines = [Line([(0.0, row)], -n * 10.0, 10.0) for n, row in enumerate(rows)]
    return lines, "looked" if rows else "picture"


def _remarks(how: Counter[str], count: int) -> Iterator[str]:
    done = how.total()
    if how["looked"]:
        yield f"{how['looked']} of {done} pages were read by OCR; letters may be wrong."
    if how["picture"] == done:
        yield "The pages are pictures; no text could be read."
    elif how["picture"]:
        yield f"{how['picture']} of {done} pages are pictures or empty; they have no text."
    if how["broken"]:
        yield f"{how['broken']} of {done} pages are broken and were left out."
    if count > done:
        yield f"Only the first {done} of {count} pages were read."


def _drawn(page: Any) -> bytes:
    """A page as a grey picture that OCR can read, no larger than a sheet of paper needs."""
    scale = min(3.0, 3_000 / max(page.get_width(), page.get_height(), 1))
    bitmap = page.render(scale=scale, grayscale=True)
    rows = bytes(bitmap.buffer)
    width, height, stride = bitmap.width, bitmap.height, bitmap.stride
    picture = b"".join(rows[at * stride : at * stride + width] for at in range(height))
    return b"P5 %d %d 255\n" % (width, height) + picture


def _lines(textpage: Any) -> Iterator[Line]:
    """The lines of a page in the order of the file."""
    matrix = raw.FS_MATRIX()

    def size_at(index: int) -> float:
        raw.FPDFText_GetMatrix(textpage, index, ctypes.byref(matrix))
        scale = math.hypot(matrix.c, matrix.d) or 1.0
        return round(float(raw.FPDFText_GetFontSize(textpage, index)) * scale * 2) / 2

    text, start = textpage.get_text_range(), 0
    last = textpage.count_chars() - 1
    for line in text.split("\n"):
        words = [(found.start() + start, found[0]) for found in re.finditer(r"\S+", line)]
        start += len(line) + 1
        if not words:
            continue
        size = size_at(min(words[0][0], last))
        cells: list[tuple[float, str]] = []
        end = 0.0
        for at, word in words:
            left, bottom, _, _ = textpage.get_charbox(min(at, last), loose=True)
            if cells and left - end < size * 1.3:
                cells[-1] = cells[-1][0], f"{cells[-1][1]} {word}"
            else:
                cells.append((left, word))
            end = textpage.get_charbox(min(at + len(word) - 1, last), loose=True)[2]
        shown = [(x, re.sub(r"(?: ?\.){4,} ?", _LEADER, cell)) for x, cell in cells]
        yield Line(shown, bottom, size)


def _without_running_lines(pages: list[list[Line]]) -> list[list[Line]]:
    """The pages without what is repeated at the top or the foot of most of them."""

    def shape(line: Line) -> str:
        return re.sub(r"\d+", "0", line.text)

    edges = Counter(one for page in pages for one in {shape(line) for line in page[:2] + page[-2:]})
    often = max(3, len(pages) * 0.6)
    return [
        [one for at, one in enumerate(page) if 1 < at < len(page) - 2 or edges[shape(one)] < often]
        for page in pages
    ]


def _written(pages: list[list[Line]]) -> tuple[str, str]:
    """The markdown of all pages, and the text of the first heading of the highest level."""
    letters: Counter[float] = Counter()
    for page in pages:
        for line in page:
            letters[line.size] += len(line.text)
    body = letters.most_common(1)[0][0] if letters else 0.0
    larger = sorted((size for size in letters if size > body * 1.15), reverse=True)[:4]
    made, title = [], ""
    for number, page in enumerate(pages, 1):
        made.append(f'<a id="page-{number}"></a>')
        for size, block in _blocks(page):
            if size in larger and len(block) < 200:
                level = larger.index(size) + 1
                made.append(f"{'#' * level} {block}")
                title = block if level == 1 and not title else title
            else:
                made.append(block)
    return "\n\n".join(made) + "\n", title


def _blocks(page: list[Line]) -> Iterator[tuple[float, str]]:
    """Paragraphs, headings and tables of a page, each with the size of its letters."""
    rows: list[Line] = []
    paragraph: list[Line] = []
    for line in page:
        if len(line.cells) > 1:
            rows.append(line)
            continue
        if rows:
            yield from _paragraph(paragraph)
            yield from _table(rows)
            rows, paragraph = [], []
        if paragraph and not _goes_on(paragraph, line):
            yield from _paragraph(paragraph)
            paragraph = []
        paragraph.append(line)
    yield from _paragraph(paragraph)
    yield from _table(rows)


def _goes_on(paragraph: list[Line], line: Line) -> bool:
    last = paragraph[-1]
    if line.size != last.size or _BULLET.match(line.text) or _LEADER in last.text:
        return False
    down = last.y - line.y
    if down < -line.size:  # the top of the next column
        return not _END.search(last.text)
    steps = [one.y - two.y for one, two in zip(paragraph[-4:], paragraph[-3:], strict=False)]
    usual = min([step for step in steps if step > 0], default=line.size * 1.4)
    return down < usual * 1.25


def _paragraph(lines: list[Line]) -> Iterator[tuple[float, str]]:
    text = ""
    for line in lines:
        if re.search(r"\w[\x02\xad-]$", text) and line.text[:1].islower():
            text = text[:-1] + line.text
        else:
            text += (" " if text else "") + line.text
    if text:
        text = _BULLET.sub("- ", text, count=1)
        yield lines[0].size, re.sub(r"<(?=[A-Za-z/!?])|^#(?=#{0,5} )", r"\\\g<0>", text)


def _table(rows: list[Line]) -> Iterator[tuple[float, str]]:
    """Rows with gaps as a table; as two columns of text where that is what they are."""
    if not rows:
        return
    widest = max(rows, key=lambda row: len(row.cells))
    starts = [left for left, _ in widest.cells]
    lengths = sorted(len(cell) for row in rows for _, cell in row.cells)
    if len(starts) == 2 and len(rows) > 7 and lengths[len(lengths) // 2] > 25:
        for column in (0, -1):
            yield from _paragraph([Line([row.cells[column]], row.y, row.size) for row in rows])
        return
    if len(rows) == 1:
        yield from _paragraph(rows)
        return
    lines = []
    for row in rows:
        cells = [""] * len(starts)
        for left, cell in row.cells:
            place = starts.index(min(starts, key=lambda start: abs(start - left)))
            cells[place] = f"{cells[place]} {cell}".strip().replace("|", "\\|")
        lines.append(f"| {' | '.join(cells)} |")
    lines.insert(1, "|" + " --- |" * len(starts))
    yield rows[0].size, "\n".join(lines)
