"""Where the passages of an article stand: cut at pages, headings and paragraphs, long ones further.

The index keeps a place; what stands there, and under which headings, is read from the file.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from co_cli.knowledge.format.note import Note
from co_cli.knowledge.search.passages import LONGEST, MOST, Part, passages

_SIZE = 600  # characters of a passage, where paragraphs can be put together
_WHOLE = 1200  # a paragraph, table or code block up to this length is not cut
_LINE = 200  # characters of a heading
_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+\S")
_PAGE = re.compile(r'[ \t]*<a id="(page-\d+)"></a>[ \t]*\Z')
_FENCE = re.compile(r"\s*(`{3,}|~{3,})")
_LINK = re.compile(r"!?\[([^\][]{0,200})\]\([^()\s]{0,500}\)")
_SPACE, _NEWLINES = re.compile(r"\s*"), re.compile(r"\n*")
_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,3}[.)])\s")
_SENTENCE = re.compile(r"[.!?](?=\s)|[。！？]|\n(?=\s*(?:[-*+>]|\d{1,3}[.)])\s)")


class Place(NamedTuple):
    """Where a passage stands in its text, and the lines before it that tell what it is about."""

    start: int
    stop: int
    heads: Sequence[int] = ()  # its headings, the outermost first
    page: int = -1  # the anchor of its page
    lead: int = -1  # the top of the table or code block that it is the middle of
    again: int = 0  # how many headings before its own have the same name

    def joined(self, other: Place | None) -> Place | None:
        """Both as one, if they stand in the same section and are not too long together."""
        if other is None:
            return None
        start, stop = min(self.start, other.start), max(self.stop, other.stop)
        if (*self.heads, self.page) != (*other.heads, other.page) or stop - start > LONGEST:
            return None
        lead = self.lead if self.start == start else other.lead
        return self._replace(start=start, stop=stop, lead=lead)

    def part(self, text: str, title: str) -> Part:
        """What stands there; one that repeats the title above all is no heading."""
        headings = [_plain(_lines(text, at, 1)[0]) for at in self.heads]
        top = bool(headings) and headings[0].casefold() == title.casefold()
        above = [title, *headings[top:]]
        return Part(self.shown(text), above, self._anchor(text), place=self)

    def shown(self, text: str) -> str:
        """The text as it is; a row under the head of its table, code between its fences."""
        found = text[self.start : self.stop]
        if self.lead >= 0:
            is_code = text[self.lead : self.lead + 1] in ("`", "~")
            found = "\n".join([*_lines(text, self.lead, 1 if is_code else 2), found])
        fences = [mark[1] for line in found.split("\n") if (mark := _FENCE.match(line))]
        return f"{found}\n{fences[-1]}" if len(fences) % 2 else found

    def _anchor(self, text: str) -> str:
        """What a link to it ends with: its page, else its heading as renderers name it."""
        if self.page >= 0 and (found := _PAGE.match(_lines(text, self.page, 1)[0])):
            return found[1]
        name = _slug(_lines(text, self.heads[-1], 1)[0]) if self.heads else ""
        return f"{name}-{self.again}" if name and self.again else name


def split(text: str) -> list[Place]:
    """The places of all passages, in order."""
    size = max(_SIZE, 2 * len(text) // MOST + 1)
    found: list[Place] = []
    heads: list[tuple[int, int, int]] = []  # level, start, stop
    names = Counter[str]()
    page, again, joins, empty = -1, 0, False, False
    for kind, start, stop in (*_blocks(text), ("#", len(text), len(text))):
        if kind == "page":
            page, joins = start, False
        elif kind.startswith("#"):
            if empty and len(kind) <= heads[-1][0]:  # nothing stands below it
                found.append(Place(*heads[-1][1:], [at for _, at, _ in heads], page, -1, again))
            heads = [*(head for head in heads if head[0] < len(kind)), (len(kind), start, stop)]
            name = _slug(text[start:stop])
            again, joins, empty = names[name], False, True
            names[name] += 1
        else:
            over = [at for _, at, _ in heads]
            for first, last in _pieces(text, kind, start, stop, size):
                if joins and last - found[-1].start <= size:
                    found[-1] = found[-1]._replace(stop=last)
                else:
                    lead = start if first > start and kind != "text" else -1
                    found.append(Place(first, last, over, page, lead, again))
                joins, empty = True, False
    if len(found) > MOST:
        found[MOST - 1 :] = [found[MOST - 1]._replace(stop=found[-1].stop)]
    return found or [Place(0, len(text))]


def _blocks(text: str) -> Iterator[tuple[str, int, int]]:
    """What a text is made of: pages, headings by their marks, code, tables, other text."""
    kind, start, stop, fence, at = "", 0, 0, "", 0
    for line in text.split("\n"):
        bare, end = line.strip(), at + len(line)
        heading = _HEADING.match(line) if bare[:1] == "#" else None
        opens = _FENCE.match(line) if bare[:3] in ("```", "~~~") else None
        single = "page" if bare[:2] == "<a" and _PAGE.match(line) else heading[1] if heading else ""
        if not fence and kind and (not bare or opens or single):
            yield kind, start, stop
            kind = ""
        if fence:
            if bare.startswith(fence) and not bare.strip(fence[0]):
                yield "code", start, end
                kind = fence = ""
        elif single:
            yield single, at, end
        elif bare and not kind:
            fence = opens[1] if opens else ""
            kind = "code" if opens else "table" if bare.startswith("|") else "text"
            start = opens.start(1) + at if opens else at
        stop = end if bare else stop
        at = end + 1
    if kind:
        yield kind, start, stop


def _pieces(text: str, kind: str, start: int, stop: int, size: int) -> Iterator[tuple[int, int]]:
    """A block, whole unless it is long; then cut at the end of a sentence, a line or a word."""
    whole = max(_WHOLE, size)
    while stop - start > whole:
        least, most = start + size, start + size + size // 2
        sentence = _SENTENCE.search(text, least, most) if kind == "text" else None
        ends = (text.rfind(mark, least, most) for mark in "\n ")
        cut = sentence.end() if sentence else next((at for at in ends if at > 0), most)
        yield start, cut
        left = (_SPACE if kind == "text" else _NEWLINES).match(text, cut, stop)
        start = left.end() if left else cut
    yield start, stop


def paragraphs(text: str, place: Place) -> list[tuple[int, int]]:
    """Where the paragraphs of a place stand.

    A list, a table, code and what a colon leads into stay with the paragraph before them.
    """
    found: list[tuple[int, int]] = []
    for kind, start, stop in _blocks(text[place.start : place.stop]):
        span, before = (place.start + start, place.start + stop), found[-1:]
        goes_on = kind in ("code", "table") or _ITEM.match(text, span[0])
        if before and (goes_on or text[: before[0][1]].endswith(":")):
            span = (found.pop()[0], span[1])
        found.append(span)
    return found or [(place.start, place.stop)]


def _lines(text: str, at: int, many: int) -> list[str]:
    """So many lines of a text from here on, none longer than a heading may be."""
    found: list[str] = []
    while len(found) < many:
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        found.append(text[at : min(end, at + _LINE)])
        at = end + 1
    return found


def _plain(line: str) -> str:
    """A heading without its marks and the addresses of its links."""
    return _LINK.sub(r"\1", line[:_LINE]).strip().strip("#").strip()


def _slug(line: str) -> str:
    kept = re.sub(r"[^\w\- ]", "", _plain(line).lower())
    return kept.replace(" ", "-")


def section(text: str, anchor: str) -> str:
    """All that stands on the page, or under the heading, with this anchor; empty if none has it."""
    names, start, level = Counter[str](), -1, 0
    for kind, at, end in _blocks(text):
        if kind == "page":
            if start >= 0 and not level:
                return text[start:at].rstrip()
            page = _PAGE.match(text[at:end])
            if page and page[1] == anchor and start < 0:
                start = at
        elif kind.startswith("#"):
            if start >= 0 and len(kind) <= level:
                return text[start:at].rstrip()
            name = _slug(text[at:end])
            again = names[name]
            names[name] += 1
            if start < 0 and anchor == (f"{name}-{again}" if name and again else name):
                start, level = at, len(kind)
    return text[start:].rstrip() if start >= 0 else ""


def parts(note: Note) -> list[Part]:
    """All passages of a note."""
    if note.kind != "article":
        return [Part(text) for text in passages(note.text)]
    found = [place.part(note.body, note.title) for place in split(note.body)]
    before = [Part(""), *found[:-1]]
    return [
        part._replace(own=" ".join(line for line in part.above if line not in last.above))
        for last, part in zip(before, found, strict=True)
    ]
