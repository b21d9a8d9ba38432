"""What every importer fills: texts that may become notes, and what could not be read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from co_cli.errors import FormatError
from co_cli.knowledge.format.note import decode, is_external, moment_of
from co_cli.knowledge.importers.links import UID, Links
from co_cli.knowledge.pages import Problem
from co_cli.knowledge.plan import ImportItem
from co_cli.knowledge.safety.check import MAX_TEXT, is_own_tag
from co_cli.knowledge.safety.secrets import find_secret
from co_cli.knowledge.store import disk

MAX_FIELD = 200
MAX_LONG = 2000  # of an article, whose source may be a long address
TEXT_FIELDS = ("trust", "updated", "expires", "scope", "language", "origin")
FLAGS: tuple[str, ...] = ("decay_protected", "pinned", "sensitive")
PLACES = ("source", "sources", "sourceurl", "url")
ORIGINS = (*PLACES, "trust", "fetched")  # what may say that a text came from outside
LOOKS_FOR = (
    "Co imports .co-cli/internal/context.json and .co-cli/memories/*.json of old projects, "
    "folders of markdown, single .md, .jsonl and .ndjson files, and what other assistants kept."
)
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?", re.ASCII)
_WEB = re.compile(r"https?://[^\s\"'<>()\[\]]{1,2000}", re.IGNORECASE)

Sections = list[tuple[str, list[str]]]  # headings for context.md, each with its lines


class Source(NamedTuple):
    """One file: its text, and when it was last changed."""

    path: str
    text: str
    changed: str


@dataclass(slots=True)
class ImportBatch:
    """Texts that may become notes, lines for context.md, files in trouble, and files read.

    `remarks` is what a person should know of files that were read, `order` the numbers that notes
    of Co's had, `unknown` the header fields that say nothing to Co.
    """

    items: list[ImportItem] = field(default_factory=list)
    articles: list[ImportItem] = field(default_factory=list)
    context: Sections = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)
    remarks: list[Problem] = field(default_factory=list)
    links: Links = field(default_factory=Links, compare=False)
    order: dict[str, int] = field(default_factory=dict, compare=False)
    unknown: dict[str, None] = field(default_factory=dict, compare=False)

    def add(self, item: ImportItem) -> None:
        """Keep a text; one that no note can hold is reported and takes no memory."""
        if len(item.text) <= MAX_TEXT:
            self.items.append(item)
        else:
            reason = f"the text is longer than {MAX_TEXT} bytes; a note holds no more"
            self.problems.append(Problem(item.origin, reason))

    def add_text(self, text: str, origin: str, header: dict[str, Any], created: str) -> None:
        """Keep a text with what its header says about it."""
        number, uid, related = (header.get(name) for name in ("id", "uid", "related"))
        if isinstance(number, int):
            self.order[origin] = number
        if isinstance(uid, str):
            self.links.name(origin, [UID + uid])
        if isinstance(related, list):
            self.links.lead(origin, "", [f"{UID}{link}" for link in related])
        if header.get("pinned") is True:
            self.remarks.append(Problem(origin, "was pinned; here that is for you to say"))
        tags = tags_of(header.get("tags"))
        if any(map(is_own_tag, tags)):
            self.remarks.append(
                Problem(origin, "without its tags that begin with _, as Co's own do")
            )
        self.add(ImportItem(text, origin, tags, created, _fields(header)))

    def add_article(self, text: str, origin: str, header: dict[str, Any]) -> None:
        """Keep an article with all that its header says, where that is plain."""
        told = [(name, value) for name, value in header.items() if _fits(name, value)]
        self.articles.append(ImportItem(text, origin, tags_of(header.get("tags")), "", tuple(told)))

    def read(
        self, path: str, importer: Callable[[Source, ImportBatch], None], *, real: str = ""
    ) -> None:
        """Hand one file to its importer; a file that is not what it should be is a problem."""
        try:
            raw, sign = disk.read_signed(real or path)
            importer(Source(path, decode(raw).removeprefix("\ufeff"), moment_of(sign[1])), self)
            self.sources.append(path)
        except FileNotFoundError:
            self.problems.append(Problem(path, "is gone"))
        except FormatError as error:
            self.problems.append(Problem(path, str(error), error.line))


def _fits(name: str, value: Any) -> bool:
    """Whether a field of an article's header can be written again as it stands."""
    if name in ("id", "kind", "content", "created") or not re.fullmatch(r"[A-Za-z_]\w{0,63}", name):
        return False
    items = value if isinstance(value, list) else [value]
    texts = [item for item in items if isinstance(item, str)]
    fits = all(text.isprintable() and len(text) <= MAX_LONG for text in texts)
    return fits and (isinstance(value, int) or len(texts) == len(items))


def _fields(header: dict[str, Any]) -> tuple[tuple[str, Any], ...]:
    """The header fields that stay true in another notebook, where they are of their type.

    Whose words a note's are, a file may say to its disadvantage only: a text from outside stays
    marked, and is not protected here. What is pinned, and so read at every start, no file says.
    """
    kept: dict[str, Any] = {name: text for name in TEXT_FIELDS if (text := _text(header, name))}
    flags: tuple[str, ...] = ("decay_protected", "sensitive")
    said = [(spelled(name), value) for name, value in header.items()]
    places = [place for name, value in said if name in PLACES for place in _outside(value)]
    if places or any(is_external({name: value}) for name, value in said):
        flags, kept = ("sensitive",), {"trust": "external"} | kept
        if source := next(filter(None, (_text({"source": one}, "source") for one in places)), ""):
            kept["source"] = source
    return (*kept.items(), *((name, True) for name in flags if header.get(name) is True))


def spelled(name: str) -> str:
    """The name of a property, however it is written: `date-created`, `Date created`."""
    return re.sub(r"[\s_-]", "", name).lower()


def _outside(value: Any) -> Iterator[str]:
    """The places outside that a property names: alone, in a list, or as links."""
    for text in map(str, value if isinstance(value, list) else [value]):
        if is_external({"source": text}):
            yield text
        else:
            yield from _WEB.findall(text)


def _text(header: dict[str, Any], name: str) -> str:
    """A short text of a header, when it is one and may be stored; else nothing."""
    text = header.get(name)
    if not isinstance(text, str) or not text.isprintable() or len(text) > MAX_FIELD:
        return ""
    fits = name not in ("expires", "updated") or iso_moment(text)[:10] == text[:10]
    return text if fits and find_secret(text) is None else ""


def tags_of(value: Any) -> tuple[str, ...]:
    """Tags from a list, or from a text with commas or spaces between them."""
    if isinstance(value, str):
        words = value.split(",") if "," in value else value.split()
        return tuple(word.strip().removeprefix("#") for word in words)
    tags = [tag for tag in value if tag is not None] if isinstance(value, list) else []
    if not isinstance(value, list | None) or not all(isinstance(tag, str) for tag in tags):
        raise FormatError("Field 'tags' must be a list of strings")
    return tuple(tags)


def iso_moment(value: Any) -> str:
    """An ISO timestamp as it stands, a date as its first moment; nothing for anything else."""
    text = value.strip() if isinstance(value, str) else ""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return ""
    if len(text) <= 10:
        return f"{moment.date()}T00:00:00+00:00"
    return text if _MOMENT.fullmatch(text) else moment.isoformat()
