"""One markdown file as a note: its header, its text, and what they say."""

import os
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple
from unicodedata import normalize

from co_cli.errors import FormatError
from co_cli.knowledge.format.frontmatter import (
    MAX_HEADER,
    find_header,
    parse_frontmatter,
    validate_article_frontmatter,
    validate_memory_frontmatter,
    validated,
)
from co_cli.knowledge.safety.escape import escape

MAX_TITLE = 200  # characters
CONFLICT = "holds an unresolved merge conflict; keep either side"
ATTACHED = r"[^/\0.][^/\0]*"  # the name of a file in attachments/

_OUTSIDE = ("extracted", "http", "https", "mcp", "web-fetched")  # sources that are not a person
# Of a text from outside, these tell no place.
_PERSONAL = ("", "auto_decay", "detected", "import", "user-told")
_KINDS = {"articles": "article", "inbox": "draft"}  # by the folder; all else is a memory
_HEADING = r"(?m)^## Memory (\d{1,9}) \(\d{4}-\d{2}-\d{2}(?:, ([\w-]{1,64}))?[^)\n]*\)\n"
_LATIN = str.maketrans(  # letters that are not made of another and a mark
    dict(zip("ßæÆøØđĐłŁœŒþÞðÐı", "ss ae Ae o O d D l L oe Oe th Th d D i".split(), strict=True))
)


class Note:
    """A memory, article or draft as its file holds it; `raw` is the file, all else is read from it.

    Forget refuses what is `protected`; decay passes that and what is `pinned` by. What is
    `external` came from outside, as every article did, and taints whoever recalls it; what is
    `consolidated` decay wrote from several older notes. Links hold the `uid`: random, or the
    number of a note written by hand. What is `plain` has no header; its number is its name's, or 0
    when it has none of its own. `filled` is what an article's header does not say and its file
    tells.
    """

    def __init__(
        self, path: str, raw: bytes, meta: dict[str, Any], body: str, *, plain: bool = False
    ) -> None:
        self.path, self.raw, self.meta, self.body, self.plain = path, raw, meta, body, plain
        self.filled: dict[str, str] = {}
        self.id: int = meta["id"]
        self.created: str = meta["created"]
        self.tags: list[str] = meta.get("tags") or []
        self.uid: str = meta.get("uid") or self.handle
        self.protected = meta.get("decay_protected") is True and self.kind != "draft"
        self.pinned = meta.get("pinned") is True
        self.sensitive = meta.get("sensitive") is True
        self.external = self.kind == "article" or is_external(meta)
        self.consolidated = "_consolidated" in self.tags

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Note) and (self.path, self.raw) == (other.path, other.raw)

    def __hash__(self) -> int:
        return hash(self.path)

    @property
    def name(self) -> str:
        return os.path.basename(self.path)

    @property
    def file(self) -> str:
        """Where it is in its notebook: `memories/012-tea.md`."""
        folder = next((at for at, kind in _KINDS.items() if kind == self.kind), "memories")
        return f"{folder}/{self.name}"

    @property
    def handle(self) -> str:
        """What it is called in its notebook: its number, else its file, with nothing hidden."""
        if self.id or not (self.plain or self.kind != "memory"):
            return str(self.id)
        sign = "i" if self.kind == "draft" else self.kind[0]
        return f"{sign}:{escape(self.name[:-3], keep='')}"

    @property
    def kind(self) -> str:
        """`memory`, `article` or `draft`, by the folder it lies in."""
        return _kind(self.path)

    @property
    def attachment(self) -> str:
        """Where an article's original is in its notebook; empty when its header names none."""
        name = self.meta.get("attachment") if self.kind == "article" else None
        fits = isinstance(name, str) and re.fullmatch(ATTACHED, name)
        return f"attachments/{name}" if fits else ""

    @property
    def title(self) -> str:
        """What an article is called; memories have no title."""
        return str(self.meta.get("title") or "") if self.kind == "article" else ""

    @property
    def language(self) -> str:
        """In the person's notebook, whose projects are told of it; empty for all."""
        told = self.kind != "article" and self.meta.get("scope") == "language"
        return str(self.meta.get("language") or "").strip().lower() if told else ""

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
        """The title of an article, else the first line, at most 80 characters."""
        line = self.title or self.body.split("\n", 1)[0].rstrip()
        return line if len(line) <= 80 else line[:77] + "..."

    @property
    def origin(self) -> str:
        """Where a text came from that the person did not write, as far as its header tells."""
        named = "" if self.kind == "draft" else self.meta.get("origin")
        if told := " ".join(str(named or "").split()):  # which assistant wrote it
            return told
        source = " ".join(str(self.meta.get("source") or "").split())
        return ("outside" if source in _PERSONAL else source) if self.external else ""

    @property
    def category(self) -> str:
        """The signal that its tags name, or `other`."""
        return str(self.meta.get("auto_category") or "other")

    def expired(self, today: str) -> bool:
        """Whether `expires` lies before today (both ISO dates)."""
        return bool(self.meta.get("expires")) and str(self.meta["expires"])[:10] < today


def last_change(note: Note) -> tuple[str, int]:
    """When a note was last written, and its number: what sorts notes by age."""
    return str(note.meta.get("updated") or note.created)[:19], note.id


def linked_uids(note: Note, field: str) -> list[str]:
    """The uids in a field of a note's header, such as `updates`: a list, or one alone."""
    links = note.meta.get(field) or []
    return [str(uid) for uid in (links if isinstance(links, list) else [links])]


def is_linked(note: Note, other: Note) -> bool:
    """Whether the header of either says what it means for the other."""
    same_folder = os.path.dirname(note.path) == os.path.dirname(other.path)
    return any(
        {to.uid, *([str(to.id)] if same_folder else ())} & {*linked_uids(start, field)}
        for start, to in ((note, other), (other, note))
        for field in ("updates", "related", "supersedes")
    )


def scoped(language: str) -> dict[str, str | None]:
    """The header fields of a note for one language, or for all."""
    return {"scope": "language" if language else None, "language": language or None}


def is_external(meta: Mapping[str, Any]) -> bool:
    """Whether a header says that the text is somebody else's: marked so, fetched, or by source."""
    source = str(meta.get("source") or "").partition(":")[0].strip().lower()
    return bool(meta.get("trust") or meta.get("fetched")) or source in _OUTSIDE


def parse(path: str, raw: bytes, modified: int = 0) -> Note:
    """Read a note's bytes, or raise FormatError with the line and the reason.

    A text without any header is a plain note, with the file's time (nanoseconds) as its date.
    Whether the number in its name is its own, only who sees all files can tell.
    """
    text, kind = decode(raw), _kind(path)
    try:
        meta, body = parse_frontmatter(text)
    except FormatError as error:
        if line := has_conflict(text):  # what git put between the lines is no YAML
            raise FormatError(CONFLICT, line=line) from error
        raise
    if meta and kind == "article":
        filled = _filled(path, meta, body, modified)
        meta = validated(text, meta | filled, validate_article_frontmatter)
        if filled and (line := has_conflict(text)):
            raise FormatError(CONFLICT, line=line)
        note = Note(path, raw, {**meta, "id": 0, "created": meta["fetched"]}, body.strip())
        note.filled = filled
        return note
    if meta and kind == "draft":  # which has no number
        validated(text, {**meta, "id": 1}, validate_memory_frontmatter)
        return Note(path, raw, {**meta, "id": 0}, body.strip())
    if meta:
        return Note(path, raw, validated(text, meta, validate_memory_frontmatter), body.strip())
    if find_header(text) is not None:
        raise FormatError("there is no header between --- lines", line=1)
    body = text.removeprefix("\ufeff").strip()
    if line := has_conflict(text):
        raise FormatError(CONFLICT, line=line)
    _refuse_broken(body)
    created = moment_of(modified) or moment_of(0)
    meta = {"id": number_of(path) if kind == "memory" else 0, "created": created}
    if kind == "article":
        meta |= {"fetched": created, "source": path, "title": title_of(path, body)}
    return Note(path, raw, meta, body, plain=True)


def _filled(path: str, meta: dict[str, Any], body: str, modified: int) -> dict[str, str]:
    """What an article's header lacks, as a file without any header has it."""
    dates = (moment_told(meta.get(name)) for name in ("date", "created"))
    known = {
        "source": path,
        "fetched": next(filter(None, dates), "") or moment_of(modified) or moment_of(0),
        "title": title_of(path, body),
    }
    return {name: value for name, value in known.items() if meta.get(name) is None}


def title_of(path: str, body: str) -> str:
    """What a text is called that says no title: its first heading, before any code, or its name."""
    heading = re.search(r"(?m)^#{1,6}[ \t]+(\S.*)", body.partition("```")[0])
    title = heading[1].rstrip("# \t\r")[:MAX_TITLE] if heading else ""
    return title or escape(os.path.basename(path)[:-3], keep="")


def _kind(path: str) -> str:
    return _KINDS.get("".join(path.rsplit(os.sep, 2)[-2:-1]), "memory")


def _refuse_broken(body: str) -> None:
    """FormatError for a text without a header that had or should have had one, or says nothing."""
    if not body:
        raise FormatError("is empty", line=1)
    if re.match("---(?!-)", body):
        late = find_header(body) is not None
        what = "does not begin in the first line" if late else "is not closed: no second --- line"
        raise FormatError(f"the header {what}", line=1)
    top, lost, _ = body[:MAX_HEADER].partition("\n---")
    if lost and all(re.search(rf"(?m)^{name}:", top) for name in ("id", "created")):
        raise FormatError("the header is not opened: no first --- line", line=1)


def unnumbered(note: Note) -> Note:
    """A plain note whose name begins with a number that is another's."""
    return Note(note.path, note.raw, {**note.meta, "id": 0}, note.body, plain=True)


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
    """The number that a file's name begins with, or 0: a date is none, nor are over 6 digits."""
    number = r"(?![0-9]{4}-[0-9]{2}-[0-9]{2})([0-9]{1,6})(?:[-_ ]|\.(?![0-9]))"
    found = re.match(number, os.path.basename(path))
    return int(found[1]) if found else 0


def has_conflict(text: str) -> int:
    """The line where an unresolved merge conflict starts, or 0."""
    marks = list(re.finditer(r"(?m)^(?:<{7} |={7}\r?$|>{7} )", text))
    found = re.search("<>*=+>", "".join(mark[0][0] for mark in marks))
    return text.count("\n", 0, marks[found.start()].start()) + 1 if found else 0


def slugify(text: str, otherwise: str = "note") -> str:
    """The part of a file name that comes from the text; letters lose their accents."""
    bare = re.sub("[\u0300-\u036f]", "", normalize("NFKD", text[:50].translate(_LATIN)))
    return re.sub(r"[^a-z0-9]+", "-", bare.lower()).strip("-") or otherwise


def file_name(note_id: int, text: str) -> str:
    return f"{note_id:03d}-{slugify(text)}.md"


def now() -> datetime:
    """The clock; the one place that reads it."""
    return datetime.now(UTC)


def timestamp(moment: datetime) -> str:
    """A moment as Co writes it: ISO 8601, UTC, whole seconds."""
    return moment.astimezone(UTC).replace(microsecond=0).isoformat()


def moment_of(nanoseconds: int) -> str:
    """A file's time as a timestamp; nothing where no calendar has it."""
    try:
        return timestamp(datetime.fromtimestamp(nanoseconds / 1e9, UTC))
    except (OverflowError, ValueError, OSError):
        return ""


def moment_told(value: Any) -> str:
    """A header's date as Co writes it; nothing where it is none."""
    try:
        when = datetime.fromisoformat(str(value).strip())
    except ValueError:
        return ""
    return timestamp(when if when.tzinfo else when.replace(tzinfo=UTC))
