"""The set of pages and documents in data/articles, as bytes, and what has to survive of each.

Pages are kept as they are. PDF, DOCX and EPUB files are written here from a few marks of markdown,
always with the same bytes, so that no binary file has to be kept.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

FOLDER = Path(__file__).resolve().parent / "data" / "articles"
EXPECTED: dict[str, dict[str, Any]] = json.loads((FOLDER / "expected.json").read_text("utf-8"))
NAMES = sorted(EXPECTED)
LINK = re.compile(r"\[([^]]+)\]\(([^)]+)\)")

Block = tuple[str, Any]


def article(name: str) -> bytes:
    """One document of the set as bytes, such as "news.html" or "pages.pdf"."""
    kept = FOLDER / name
    if name == "charset.html":  # says UTF-8 and is not
        return kept.read_text("utf-8").encode("cp1252")
    if kept.exists():
        return kept.read_bytes()
    text = (FOLDER / f"{name}.md").read_text("utf-8")
    if name.endswith(".docx"):
        return docx(text)
    if name.endswith(".epub"):
        return epub(text)
    return pdf(text, columns=2 if name == "columns.pdf" else 1, footer=EXPECTED[name].get("footer"))


def blocks(text: str) -> Iterator[Block]:
    """The text in pieces: ("h2", line), ("p", line), ("ul", items), ("table", rows) and so on."""
    for piece in re.split(r"\n{2,}", text.strip()):
        lines = piece.split("\n")
        if lines[0] == "===":
            yield "page", ""
        elif lines[0].startswith("#"):
            marks, line = lines[0].split(" ", 1)
            yield f"h{len(marks)}", line
        elif lines[0].startswith("```"):
            yield "pre", "\n".join(lines[1:-1])
        elif lines[0].startswith("|"):
            rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
            yield "table", [rows[0], *rows[2:]]
        elif lines[0].startswith("- "):
            yield "ul", [line[2:] for line in lines]
        elif lines[0].startswith("1. "):
            yield "ol", [line.split(" ", 1)[1] for line in lines]
        else:
            yield "p", " ".join(lines)


class Run(NamedTuple):
    """One piece of a PDF's text: where it stands, how large, and in which font."""

    x: float
    y: float
    size: float
    font: str
    text: str


def width(text: str, size: float) -> float:
    """About how wide a text in Helvetica is; a little too wide rather than too narrow."""
    return size * sum(
        0.3
        if one in " ijlItf.,;:'!|()-"
        else 0.86
        if one in "mwMW"
        else 0.72
        if one.isupper()
        else 0.56
        for one in text
    )


def wrap(text: str, size: float, room: float) -> Iterator[str]:
    line = ""
    for word in text.split():
        longer = f"{line} {word}".strip()
        if line and width(longer, size) > room:
            yield line
            longer = word
        line = longer
    yield line


SIZES = {"h1": 20.0, "h2": 14.0, "p": 10.0, "table": 9.0}


class Layout:
    """Puts blocks onto pages, column by column, as a typesetter's program does."""

    def __init__(self, columns: int) -> None:
        self.columns, self.column = columns, 0
        self.room = (495 - 25 * (columns - 1)) / columns
        self.pages: list[list[Run]] = [[]]
        self.top = self.y = 790.0

    def next_column(self, *, page: bool = False) -> None:
        self.column = 0 if page else (self.column + 1) % self.columns
        if self.column == 0:
            self.pages.append([])
            self.top = 790.0
        self.y = self.top

    def put(self, kind: str, text: str, offset: float = 0, font: str = "F1") -> None:
        x = 50 + self.column * (self.room + 25) + offset
        self.pages[-1].append(Run(x, self.y, SIZES[kind], font, text))

    def add(self, kind: str, content: Any) -> None:
        if kind == "page":
            self.next_column(page=True)
        elif kind == "table":
            self._table(content)
        else:
            size = SIZES[kind]
            room = 495.0 if kind == "h1" else self.room
            for line in wrap(content, size, room):
                if self.y < 70:
                    self.next_column()
                self.y -= size * 1.25
                self.put(kind, line, font="F2" if kind[0] == "h" else "F1")
            self.y -= size * 0.7
            if kind == "h1":  # which stands over all columns
                self.top = self.y

    def _table(self, rows: list[list[str]]) -> None:
        if self.y < 90 + 16 * len(rows):
            self.next_column()
        step = self.room / len(rows[0])
        for number, row in enumerate(rows):
            self.y -= 16
            for place, cell in enumerate(row):
                self.put("table", cell, place * step, "F1" if number else "F2")
        self.y -= 12


def pdf(text: str, *, columns: int = 1, footer: str | None = None) -> bytes:
    """A PDF with the text on pages of A4."""
    layout = Layout(columns)
    for kind, content in blocks(text):
        layout.add(kind, content)
    count = len(layout.pages)
    for number, page in enumerate(layout.pages, 1):
        if footer:
            page.append(Run(50, 36, 8, "F1", footer.format(page=number, pages=count)))
    return pdf_of([b"".join(map(_drawn, page)) for page in layout.pages])


def _drawn(run: Run) -> bytes:
    text = run.text.encode("cp1252")
    text = text.replace(b"\\", b"\\\\").replace(b"(", b"\\(").replace(b")", b"\\)")
    place = f"BT /{run.font} {run.size:g} Tf 1 0 0 1 {run.x:.2f} {run.y:.2f} Tm (".encode()
    return place + text + b") Tj ET\n"


def pdf_of(streams: list[bytes]) -> bytes:
    """A PDF whose pages are drawn by these content streams."""
    pages = [5 + 2 * number for number in range(len(streams))]
    font = "<< /Type /Font /Subtype /Type1 /BaseFont /{} /Encoding /WinAnsiEncoding >>"
    kids = " ".join(f"{number} 0 R" for number in pages)
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode(),
        font.format("Helvetica").encode(),
        font.format("Helvetica-Bold").encode(),
    ]
    for number, stream in zip(pages, streams, strict=True):
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents {number + 1} 0 R "
            "/Resources << /Font << /F1 3 0 R /F2 4 0 R >> >> >>".encode()
        )
        head = f"<< /Length {len(stream)} >>\nstream\n".encode()
        objects.append(head + stream + b"\nendstream")
    written, places = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        places.append(len(written))
        written += f"{number} 0 obj\n".encode() + content + b"\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    size = len(objects) + 1
    xref = f"xref\n0 {size}\n0000000000 65535 f \n{table}"
    end = f"trailer << /Size {size} /Root 1 0 R >>\nstartxref\n{len(written)}\n%%EOF\n"
    return written + xref.encode() + end.encode()


def zipped(files: dict[str, str | bytes]) -> bytes:
    """A zip file with these files and no date."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return made.getvalue()


_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_STYLES = {"h1": "Heading1", "h2": "Heading2", "h3": "Heading3", "pre": "Code"}
_NAMES = {"Heading1": "heading 1", "Heading2": "heading 2", "Heading3": "heading 3", "Code": "Code"}


def docx(text: str) -> bytes:
    """A document as a word processor writes it: styles, numbered lists, tables and links."""
    targets: list[str] = []
    body = "".join(_word(kind, content, targets) for kind, content in blocks(text))
    styles = "".join(
        f'<w:style w:type="paragraph" w:styleId="{one}"><w:name w:val="{name}"/></w:style>'
        for one, name in _NAMES.items()
    )
    lists = "".join(
        f'<w:abstractNum w:abstractNumId="{one}"><w:lvl w:ilvl="0"><w:numFmt w:val="{kind}"/>'
        "</w:lvl></w:abstractNum>"
        for one, kind in ((1, "bullet"), (2, "decimal"))
    ) + "".join(
        f'<w:num w:numId="{one}"><w:abstractNumId w:val="{one}"/></w:num>' for one in (1, 2)
    )
    links = "".join(
        f'<Relationship Id="link{number}" Type="{_OFFICE}/hyperlink" Target="{escape(target)}" '
        'TargetMode="External"/>'
        for number, target in enumerate(targets)
    )
    related = "".join(
        f'<Relationship Id="{name}" Type="{_OFFICE}/{name}" Target="{name}.xml"/>'
        for name in ("styles", "numbering")
    )
    type_of = "application/vnd.openxmlformats-officedocument.wordprocessingml"
    return zipped(
        {
            "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types">'
            '<Default Extension="rels" '
            'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
            '<Default Extension="xml" ContentType="application/xml"/>'
            f'<Override PartName="/word/document.xml" ContentType="{type_of}.document.main+xml"/>'
            "</Types>",
            "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="r1" '
            f'Type="{_OFFICE}/officeDocument" Target="word/document.xml"/></Relationships>',
            "word/document.xml": f'<w:document xmlns:w="{_WORD}" xmlns:r="{_OFFICE}"><w:body>{body}'
            "</w:body></w:document>",
            "word/styles.xml": f'<w:styles xmlns:w="{_WORD}">{styles}</w:styles>',
            "word/numbering.xml": f'<w:numbering xmlns:w="{_WORD}">{lists}</w:numbering>',
            "word/_rels/document.xml.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">'
            f"{related}{links}</Relationships>",
        }
    )


def _word(kind: str, content: Any, targets: list[str]) -> str:
    if kind == "table":
        cells = (
            "".join(f"<w:tc>{_paragraph(cell, targets)}</w:tc>" for cell in row) for row in content
        )
        return "<w:tbl>" + "".join(f"<w:tr>{row}</w:tr>" for row in cells) + "</w:tbl>"
    if kind in ("ul", "ol"):
        number = 1 if kind == "ul" else 2
        listed = f'<w:numPr><w:ilvl w:val="0"/><w:numId w:val="{number}"/></w:numPr>'
        return "".join(_paragraph(item, targets, listed) for item in content)
    style = f'<w:pStyle w:val="{_STYLES[kind]}"/>' if kind in _STYLES else ""
    return "".join(_paragraph(line, targets, style) for line in content.split("\n"))


def _paragraph(text: str, targets: list[str], properties: str = "") -> str:
    def runs(plain: str) -> str:
        return f'<w:r><w:t xml:space="preserve">{escape(plain)}</w:t></w:r>' if plain else ""

    made = ""
    for number, piece in enumerate(LINK.split(text)):
        if number % 3 == 0:
            made += runs(piece)
        elif number % 3 == 1:
            linked = runs(piece)
        else:
            made += f'<w:hyperlink r:id="link{len(targets)}">{linked}</w:hyperlink>'
            targets.append(piece)
    return f"<w:p><w:pPr>{properties}</w:pPr>{made}</w:p>"


def epub(text: str) -> bytes:
    """A book with a cover, a page of contents, and a chapter for each second-level heading."""
    title, *chapters = re.split(r"^#{1,2} ", text, flags=re.MULTILINE)[1:]
    named = {f"text/chapter{number}.xhtml": part for number, part in enumerate(chapters, 1)}
    page = (
        '<?xml version="1.0" encoding="utf-8"?>\n<html xmlns="http://www.w3.org/1999/xhtml">'
        "<head><title>{}</title></head><body>{}</body></html>"
    )
    contents = "".join(
        f'<li><a href="{name}">{escape(part.split(chr(10))[0])}</a></li>'
        for name, part in named.items()
    )
    files = {
        "nav.xhtml": page.format(
            "Contents", f"<nav><h1>Contents of the book</h1><ol>{contents}</ol></nav>"
        ),
        **{
            name: page.format(escape(title.strip()), "".join(_page(f"## {part}")))
            for name, part in named.items()
        },
    }
    items = "".join(
        f'<item id="i{number}" href="{name}" media-type="application/xhtml+xml"'
        f"{' properties=' + chr(34) + 'nav' + chr(34) if name == 'nav.xhtml' else ''}/>"
        for number, name in enumerate(files)
    )
    spine = "".join(f'<itemref idref="i{number}"/>' for number in range(len(files)))
    return zipped(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:'
            'container"><rootfiles><rootfile full-path="OPS/book.opf"/></rootfiles></container>',
            "OPS/book.opf": '<package xmlns="http://www.idpf.org/2007/opf" version="3.0"><metadata '
            f'xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>{escape(title.strip())}'
            f"</dc:title></metadata><manifest>{items}</manifest><spine>{spine}</spine></package>",
            **{f"OPS/{name}": content for name, content in files.items()},
        }
    )


def _page(text: str) -> Iterator[str]:
    def linked(plain: str) -> str:
        return LINK.sub(r'<a href="\2">\1</a>', escape(plain, quote=False))

    for kind, content in blocks(text):
        if kind in ("ul", "ol"):
            yield f"<{kind}>" + "".join(f"<li>{linked(one)}</li>" for one in content) + f"</{kind}>"
        else:
            yield f"<{kind}>{linked(content)}</{kind}>"


def lost(name: str, text: str) -> list[str]:
    """What should be in a document's markdown and is not, or is and should not be."""
    wanted, fences = EXPECTED[name], _fences(text)
    prose = re.sub(r"^(`{3,}).*\n(?:.*\n)*?\1$", "", text, flags=re.MULTILINE)
    plain = _squeezed(_plain(prose) + " " + " ".join(code for _, code in fences))
    rows = [
        [_plain(cell).strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        for line in prose.split("\n")
        if line.startswith("|")
    ]
    items = [_squeezed(_plain(one)) for one in re.findall(r"^ *(?:[-*+]|\d+\.) (.*)$", prose, re.M)]
    links = LINK.findall(prose)
    found = [f"{one}" for one in wanted["headings"] if one not in _headings(prose)]
    found += [f"code: {code}" for code in wanted.get("code", ()) if tuple(code) not in fences]
    found += [f"row: {row}" for row in wanted.get("rows", ()) if row not in rows]
    found += [f"link: {link}" for link in wanted.get("links", ()) if tuple(link) not in links]
    found += [f"item: {item}" for item in wanted.get("items", ()) if _squeezed(item) not in items]
    found += [
        f"passage: {one}"
        for one in wanted.get("kept", ())
        if _squeezed(_plain(one)) not in plain and one not in text
    ]
    return found + [f"left in: {one}" for one in wanted.get("gone", ()) if one in plain]


def _headings(text: str) -> list[str]:
    return [_plain(line) for line in re.findall(r"^#{1,6} .*$", text, re.MULTILINE)]


def _fences(text: str) -> list[tuple[str, str]]:
    found = re.findall(r"^(`{3,})(.*)\n((?:.*\n)*?)\1$", text, re.MULTILINE)
    return [(language.strip(), code.rstrip("\n")) for _, language, code in found]


def _plain(text: str) -> str:
    """A text without the marks of markdown: links by their words, no backticks and no escapes."""
    bare = re.sub(r"[`*]", "", LINK.sub(r"\1", text))
    return re.sub(r"(?<!\w)_|_(?!\w)|\\(?=[^\w\s])", "", bare)


def _squeezed(text: str) -> str:
    return " ".join(text.split())
