"""One markdown file: its header, its text, and how to change one field and nothing else."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from co_cli.errors import FormatError
from co_cli.knowledge.format.frontmatter import (
    Event,
    events,
    parse_frontmatter,
    read_header,
    split,
    validate_memory_frontmatter,
)

# Patterns are compiled where they are first used: most of these are for writing.
_OTHER_BREAKS = "\r(?!\n)|[\x85\u2028\u2029]"  # line breaks to YAML, not to us
_SLUG_GAPS = r"[^a-z0-9]+"
_PLAIN = r"[A-Za-z_][A-Za-z0-9_ ./+-]*"
_OUTSIDE = frozenset(
    "extracted http https mcp web-fetched".split()
)  # sources that are not a person
_OTHER_YAML = frozenset("y n yes no on off true false null".split())  # what other readers retype
_CONFLICT = r"(?m)^(<{7} |={7}\r?$|>{7} )"
_HEADING = r"(?m)^## Memory (\d{1,9}) \(\d{4}-\d{2}-\d{2}(?:, ([\w-]{1,64}))?[^)\n]*\)\n"


class Note:
    """A memory as its file holds it; `raw` is the file, everything else is read from it."""

    __slots__ = ("body", "created", "id", "meta", "path", "raw", "tags")

    def __init__(self, path: str, raw: bytes, meta: dict[str, Any], body: str) -> None:
        self.path, self.raw, self.meta, self.body = path, raw, meta, body
        self.id: int = meta["id"]
        self.created: str = meta["created"]
        self.tags: list[str] = meta.get("tags") or []

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Note) and (self.path, self.raw) == (other.path, other.raw)

    def __hash__(self) -> int:
        return hash(self.path)

    @property
    def name(self) -> str:
        """The file's name."""
        return os.path.basename(self.path)

    @property
    def kind(self) -> str:
        """`memory` or `article`, by the folder it lies in."""
        return "article" if os.path.basename(os.path.dirname(self.path)) == "articles" else "memory"

    @property
    def title(self) -> str:
        """What an article is called; memories have no title."""
        return str(self.meta.get("title") or "") if self.kind == "article" else ""

    @property
    def text(self) -> str:
        """What is searched: the body, after the title if there is one."""
        return f"{self.title}\n\n{self.body}" if self.title else self.body

    @property
    def uid(self) -> str:
        """What links hold: the random uid, or the number for a note written by hand."""
        return self.meta.get("uid") or str(self.id)

    @property
    def mark(self) -> str:
        """What tells it in the record of a conversation: uid and number, or where its file is."""
        uid = self.meta.get("uid")
        return f"{uid}/{self.id}" if uid else self.path

    @property
    def protected(self) -> bool:
        """Whether forget refuses it and decay passes it by."""
        return self.meta.get("decay_protected") is True

    @property
    def pinned(self) -> bool:
        """Whether decay passes it by."""
        return self.meta.get("pinned") is True

    @property
    def external(self) -> bool:
        """Whether its text came from outside, and taints whoever recalls it."""
        return is_external(self.meta)

    @property
    def consolidated(self) -> bool:
        """Whether decay wrote it, from several older notes."""
        return "_consolidated" in self.tags

    @property
    def summary(self) -> str:
        """The first line, at most 80 characters."""
        line = self.body.split("\n", 1)[0].rstrip()
        return line if len(line) <= 80 else line[:77] + "..."

    def expired(self, today: str) -> bool:
        """Whether `expires` lies before today (both ISO dates)."""
        return bool(self.meta.get("expires")) and str(self.meta["expires"])[:10] < today


def is_external(meta: Mapping[str, Any]) -> bool:
    """Whether a header says that the text is somebody else's: marked so, fetched, or by source."""
    source = str(meta.get("source") or "").partition(":")[0].strip().lower()
    return bool(meta.get("trust") or meta.get("fetched")) or source in _OUTSIDE


def parse(path: str, raw: bytes) -> Note:
    """Read a memory's bytes, or raise FormatError with the line and the reason."""
    text = decode(raw)
    meta, body = parse_frontmatter(text)
    if not meta:
        if split(text) is None and text.lstrip("\ufeff").startswith("---"):
            raise FormatError("the header is not closed: no second --- line", line=1)
        raise FormatError("there is no header between --- lines", line=1)
    try:
        validate_memory_frontmatter(meta)
    except FormatError as error:
        raise FormatError(str(error), line=_line_of(text, str(error))) from None
    return Note(path, raw, meta, body.strip())


def parse_article(path: str, raw: bytes) -> Note:
    """Read an article's bytes, or raise FormatError; it has a source, a title, and no number."""
    meta, body = parse_frontmatter(decode(raw))
    for name in ("source", "fetched", "title"):
        if not isinstance(meta.get(name), str):
            raise FormatError(f"an article's header needs '{name}', a text", line=1)
    if not re.match(r"\d{4}-\d{2}-\d{2}", meta["fetched"]):
        raise FormatError("'fetched' is not a date", line=1)
    tags = meta.get("tags") or []
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        raise FormatError("'tags' must be a list of texts", line=1)
    return Note(path, raw, {**meta, "id": 0, "created": meta["fetched"]}, body.strip())


class Part(NamedTuple):
    """An original inside a consolidated note; `uid` is empty where the heading tells none."""

    number: int
    uid: str
    text: str

    @property
    def body(self) -> str:
        """The text below the heading."""
        return self.text.partition("\n")[2].strip()

    def mark(self, holder: Note) -> str:
        """What tells it in the record of a conversation, as `Note.mark` does."""
        return f"{self.uid}/{self.number}" if self.uid else f"{holder.mark}#{self.number}"


def sections(note: Note) -> list[Part]:
    """The originals inside a consolidated note: their old number, and their part of the text."""
    if not note.consolidated:
        return []
    body = note.body.replace("\r\n", "\n")
    heads = list(re.finditer(_HEADING, body))
    ends = [*(head.start() for head in heads[1:]), len(body)]
    return [
        Part(int(head[1]), head[2] or "", body[head.start() : end].strip())
        for head, end in zip(heads, ends, strict=True)
    ]


def marks(note: Note) -> list[str]:
    """What tells all that a whole note holds: its own mark, and those of originals inside it."""
    return [note.mark, *(part.mark(note) for part in sections(note))]


def decode(raw: bytes) -> str:
    """The text of a file that must be UTF-8 without NUL bytes."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise FormatError("is UTF-16, not UTF-8", line=line) from error
        raise FormatError("is not UTF-8", line=line) from error
    if "\0" in text:
        raise FormatError("holds a NUL character", line=text.count("\n", 0, text.index("\0")) + 1)
    return text


def number_of(path: str) -> int:
    """The number that a file's name begins with, or 0; a longer one was not given out by Co."""
    digits, dash, _ = os.path.basename(path).partition("-")
    return int(digits) if dash and digits.isdecimal() and len(digits) <= 6 else 0


def has_conflict(text: str) -> int:
    """The line where an unresolved merge conflict starts, or 0."""
    stage, start = 0, 0
    for found in re.finditer(_CONFLICT, text):
        mark = found.group()[0]
        if mark == "<":
            stage, start = 1, found.start()
        elif mark == "=" and stage == 1:
            stage = 2
        elif mark == ">" and stage == 2:
            return text.count("\n", 0, start) + 1
    return 0


def _line_of(text: str, message: str) -> int:
    """The header line whose name the message mentions, else the first."""
    for number, line in enumerate(text.split("\n", 200)[:200], 1):
        name = line.split(":", 1)[0].strip()
        if name and (f"'{name}'" in message or (name == "tags" and " tags " in message)):
            return number
    return 1


def slugify(text: str) -> str:
    """The part of a file name that comes from the text."""
    return re.sub(_SLUG_GAPS, "-", text[:50].lower()).strip("-") or "note"


def file_name(note_id: int, text: str) -> str:
    """A memory's file name."""
    return f"{note_id:03d}-{slugify(text)}.md"


def now() -> datetime:
    """The clock; the one place that reads it."""
    return datetime.now(UTC)


def timestamp(moment: datetime) -> str:
    """A moment as Co writes it: ISO 8601, UTC, whole seconds."""
    return moment.astimezone(UTC).replace(microsecond=0).isoformat()


def render(meta: dict[str, Any], body: str) -> bytes:
    """A new file: the header in this order, an empty line, the text."""
    lines = [line for name, value in meta.items() for line in _entry(name, value)]
    return "\n".join(["---", *lines, "---", "", body, ""]).encode()


def _entry(name: str, value: Any) -> list[str]:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [f"{name}:", *(f"- {_scalar(str(item))}" for item in value)] if value else []
    return [f"{name}: {_scalar(value)}"]


def _scalar(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    text = str(value)
    if re.fullmatch(_PLAIN, text) and not text.endswith(" ") and text.lower() not in _OTHER_YAML:
        return text
    return json.dumps(text, ensure_ascii=False)


def rewrite(raw: bytes, changes: dict[str, Any], body: str | None = None) -> bytes:
    """The file with these header fields set (None removes one) and, if given, a new body.

    Every other byte stays. A list may only grow: its new items are added to the old ones.
    """
    text = decode(raw)
    where = split(text)
    if where is None:
        raise FormatError("there is no header to change")
    start, end, body_start = where
    header, newline = text[start:end], "\r\n" if text[:start].endswith("\r\n") else "\n"
    old = read_header(header)
    changed = {name: value for name, value in changes.items() if value != old.get(name)}
    header = _edit(header, old, changed, newline)
    if not _holds(header, old | changes):
        raise FormatError("the header is written in a way Co cannot change line by line")
    if body is not None:
        text = text[:body_start] + _new_body(text[body_start:], body, newline)
    return (text[:start] + header + text[end:]).encode()


def _holds(header: str, wanted: dict[str, Any]) -> bool:
    """Whether a header reads as what was wanted; nothing and an empty list are the same."""
    try:
        found = read_header(header)
    except FormatError:
        return False
    return {name: value for name, value in found.items() if value not in (None, [])} == {
        name: value for name, value in wanted.items() if value not in (None, [])
    }


def _new_body(old: str, body: str, newline: str) -> str:
    lead = old[: len(old) - len(old.lstrip("\r\n"))] if old.strip() else newline
    tail = old[len(old.rstrip("\r\n")) :] or newline
    return lead + body.replace("\r\n", "\n").replace("\n", newline) + tail


class _Field:
    """Where one top-level field stands in the header: lines and columns, end exclusive."""

    def __init__(self, name: str, line: int, value: Event) -> None:
        self.name = name
        self.line = line
        self.value = self.last = value
        self.items = 0

    @property
    def end_line(self) -> int:
        last = self.last
        return max(last.end_line + (last.end_column > 0), self.line + 1)


def _fields(header: str) -> dict[str, _Field]:
    """Each top-level field of a block mapping, by name."""
    found: dict[str, _Field] = {}
    depth, field, name = 0, None, None
    for event in events(header):
        opens, closes = event.kind.endswith("Start"), event.kind.endswith("End")
        if event.kind.startswith(("Stream", "Document")):
            continue
        depth += opens - closes
        if depth == 1 and event.kind == "MappingStart":
            continue
        if field is not None:
            field.items += event.kind == "Scalar"
            if not closes or field.value.flow:
                field.last = event
        elif not closes and name is None:
            name = event
            continue
        elif not closes and name is not None:
            field = found[name.value] = _Field(name.value, name.line, event)
        if depth == 1:
            field, name = None, None
    return found


def _edit(header: str, old: dict[str, Any], changes: dict[str, Any], newline: str) -> str:
    lines = header.split("\n")
    ends = "\r" if newline == "\r\n" else ""
    fields = _fields(re.sub(_OTHER_BREAKS, "?", header))
    known = [fields[name] for name in changes if name in fields]
    for field in sorted(known, key=lambda field: -field.line):
        value = changes[field.name]
        if value is None:
            del lines[field.line : field.end_line]
        elif field.value.kind == "SequenceStart" and value[: field.items] == old[field.name]:
            _grow(lines, field, value[field.items :], ends)
        else:
            _set(lines, field, value, ends)
    new = [line for name in changes if name not in fields for line in _new_lines(name, changes)]
    lines[-1:] = [line + ends for line in new] + lines[-1:]
    return "\n".join(lines)


def _new_lines(name: str, changes: dict[str, Any]) -> list[str]:
    return [] if changes[name] is None else _entry(name, changes[name])


def _set(lines: list[str], field: _Field, value: Any, ends: str) -> None:
    at = field.value
    inline = at.kind == "Scalar" and at.line == at.end_line == field.line
    if not inline:
        lines[field.line : field.end_line] = [line + ends for line in _entry(field.name, value)]
        return
    if isinstance(value, list):  # in place of nothing: the line and its remark stay
        line = lines[field.line]
        lines[field.line] = line[: at.column].rstrip(" ") + line[at.end_column :]
        lines[field.line + 1 : field.line + 1] = [
            item + ends for item in _entry(field.name, value)[1:]
        ]
        return
    text = _scalar(value)
    if at.style and isinstance(value, str) and not {at.style, "\\", "\n"} & set(value):
        text = f"{at.style}{value}{at.style}"
    line = lines[field.line]
    gap = " " if at.column == at.end_column and not line[: at.column].endswith(" ") else ""
    lines[field.line] = line[: at.column] + gap + text + line[at.end_column :]


def _grow(lines: list[str], field: _Field, items: list[str], ends: str) -> None:
    """Add items to a list in the style it is written in."""
    if not field.value.flow:
        first = lines[field.value.line]
        dash = first[: first.index("-")]
        at = field.end_line
        lines[at:at] = [f"{dash}- {_scalar(item)}{ends}" for item in items]
        return
    end = field.last.end_column - 1
    line = lines[field.last.end_line]
    more = ", ".join(_scalar(item) for item in items)
    comma = ", " if field.items else ""
    lines[field.last.end_line] = line[:end].rstrip(" ") + comma + more + line[end:]
