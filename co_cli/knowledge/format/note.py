"""One markdown file as a note: its header, its text, and what they say."""

import os
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from co_cli.errors import FormatError
from co_cli.knowledge.format.frontmatter import (
    find_header,
    parse_frontmatter,
    validate_memory_frontmatter,
    validated,
)

_OUTSIDE = ("extracted", "http", "https", "mcp", "web-fetched")  # sources that are not a person
_HEADING = r"(?m)^## Memory (\d{1,9}) \(\d{4}-\d{2}-\d{2}(?:, ([\w-]{1,64}))?[^)\n]*\)\n"


class Note:
    """A memory as its file holds it; `raw` is the file, everything else is read from it.

    Forget refuses what is `protected`; decay passes that and what is `pinned` by. What is
    `external` came from outside and taints whoever recalls it; what is `consolidated` decay wrote
    from several older notes. Links hold the `uid`: random, or the number of a note written by hand.
    """

    def __init__(self, path: str, raw: bytes, meta: dict[str, Any], body: str) -> None:
        self.path, self.raw, self.meta, self.body = path, raw, meta, body
        self.id: int = meta["id"]
        self.created: str = meta["created"]
        self.tags: list[str] = meta.get("tags") or []
        self.uid: str = meta.get("uid") or str(self.id)
        self.protected = meta.get("decay_protected") is True
        self.pinned = meta.get("pinned") is True
        self.external = is_external(meta)
        self.consolidated = "_consolidated" in self.tags

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
        return "article" if self.path.split(os.sep)[-2:-1] == ["articles"] else "memory"

    @property
    def title(self) -> str:
        """What an article is called; memories have no title."""
        return str(self.meta.get("title") or "") if self.kind == "article" else ""

    @property
    def text(self) -> str:
        """What is searched: the body, after the title if there is one."""
        return f"{self.title}\n\n{self.body}" if self.title else self.body

    @property
    def mark(self) -> str:
        """What tells it in the record of a conversation: uid and number, or where its file is."""
        uid = self.meta.get("uid")
        return f"{uid}/{self.id}" if uid else self.path

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
        if find_header(text) is None and text.lstrip("\ufeff").startswith("---"):
            raise FormatError("the header is not closed: no second --- line", line=1)
        raise FormatError("there is no header between --- lines", line=1)
    return Note(path, raw, validated(text, meta, validate_memory_frontmatter), body.strip())


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
        what = "UTF-16, not UTF-8" if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else "not UTF-8"
        raise FormatError(f"is {what}", line=raw.count(b"\n", 0, error.start) + 1) from error
    if "\0" in text:
        raise FormatError("holds a NUL character", line=text.count("\n", 0, text.index("\0")) + 1)
    return text


def number_of(path: str) -> int:
    """The number that a file's name begins with, or 0; a longer one was not given out by Co."""
    digits, dash, _ = os.path.basename(path).partition("-")
    return int(digits) if dash and digits.isdecimal() and len(digits) <= 6 else 0


def has_conflict(text: str) -> int:
    """The line where an unresolved merge conflict starts, or 0."""
    marks = list(re.finditer(r"(?m)^(?:<{7} |={7}\r?$|>{7} )", text))
    found = re.search("<>*=+>", "".join(mark[0][0] for mark in marks))
    return text.count("\n", 0, marks[found.start()].start()) + 1 if found else 0


def slugify(text: str) -> str:
    """The part of a file name that comes from the text."""
    return re.sub(r"[^a-z0-9]+", "-", text[:50].lower()).strip("-") or "note"


def file_name(note_id: int, text: str) -> str:
    """A memory's file name."""
    return f"{note_id:03d}-{slugify(text)}.md"


def now() -> datetime:
    """The clock; the one place that reads it."""
    return datetime.now(UTC)


def timestamp(moment: datetime) -> str:
    """A moment as Co writes it: ISO 8601, UTC, whole seconds."""
    return moment.astimezone(UTC).replace(microsecond=0).isoformat()
