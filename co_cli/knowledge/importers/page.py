"""A markdown file as a page of a wiki, and the texts that it becomes."""

import os
from collections.abc import Iterable, Iterator
from typing import Any

from co_cli.errors import RefusedText
from co_cli.knowledge.format.frontmatter import find_header
from co_cli.knowledge.importers import wiki
from co_cli.knowledge.importers.batch import (
    FLAGS,
    ORIGINS,
    TEXT_FIELDS,
    ImportBatch,
    Source,
    spelled,
)
from co_cli.knowledge.pages import Problem
from co_cli.knowledge.safety import check

_FRONT_PAGES = ("readme", "index", "_index")  # they are about their folder
_KNOWN = {*wiki.PROPERTIES, *map(spelled, (*TEXT_FIELDS, *FLAGS)), "id", "uid", *ORIGINS}


class Page:
    """What a file says: its properties, from the header or from lines on top, and its text."""

    def __init__(self, source: Source, path: str, header: dict[str, Any], body: str) -> None:
        self.source, self.path, self.header = source, path, header
        self.day = wiki.dated(path)
        self.lines, self.body = wiki.properties(body.strip().replace("\r\n", "\n"))
        self.said = {spelled(name): value for name, value in header.items()} | self.lines
        self.heading = wiki.heading(self.body.partition("\n")[0])
        title, name = self.said.get("title"), wiki.page_name(path)
        self.given = title.strip() if isinstance(title, str) else ""
        self.ways = [path.split("/", up)[-1] for up in range(path.count("/") + 1)]
        if name.casefold() in _FRONT_PAGES:
            folder = os.path.dirname(path)
            name = os.path.basename(folder)
            self.ways.append(f"/{folder}")
        self.names = [name, *self._values(wiki.NAMES)]
        self.title = self.given or self.heading or "".join(_lettered([name]))

    def _values(self, names: Iterable[str]) -> list[str]:
        return [text for name in names for text in wiki.values(self.said.get(name))]

    def add_to(self, batch: ImportBatch, folders: list[str], *, split: bool) -> None:
        """Give its texts to a batch; with `split` each item of a list is one."""
        for name, value in self.header.items():
            if spelled(name) not in _KNOWN or isinstance(value, dict):
                batch.unknown[name] = None
        parts, folder = list(self._parts(split)), os.path.dirname(self.path)
        where = find_header(self.source.text)
        around = self.source.text[where[0] : where[1]] if where else ""
        around += "".join(f"\n{line}" for name, line in self._read() if name != "tags")
        days = wiki.day_names(self.day) if self.day and not _lettered(self.names[:1]) else []
        names = [*self.names, self.title, self.heading, *days]
        batch.links.name(parts[0][0], [f"/{self.path}", *self.ways], filter(None, names))
        batch.links.lead(parts[0][0], folder, wiki.links(around, folder))
        created = self._moment(wiki.CREATED, batch) or self.day or self.source.changed
        header = self._claims() | {"updated": self._moment(wiki.UPDATED, batch)}
        given = self._tags()
        for origin, text, above in parts:
            prose = wiki.prose(text)
            tags = [*given, *folders, *_lettered(above), *wiki.inline_tags(prose)]
            batch.links.lead(origin, folder, wiki.links(prose, folder))
            batch.add_text(text, origin, header | {"tags": _usable(tags, origin, batch)}, created)

    def _read(self) -> list[tuple[str, str]]:
        """The properties that no longer stand in the text."""
        return [(name, line) for name, line in self.lines.items() if name not in ORIGINS]

    def _claims(self) -> dict[str, Any]:
        """The header, with what the lines on top say of where the text came from."""
        lines = {name: line for name, line in self.lines.items() if name in ORIGINS}
        return self.header | {name: [self.header.get(name), line] for name, line in lines.items()}

    def _parts(self, split: bool) -> Iterator[tuple[str, str, list[str]]]:
        bullets, rest = wiki.split_bullets(self.body) if split else ([], self.body)
        if rest or not bullets:
            yield self.source.path, self._titled(rest), []
        for at, (text, above) in enumerate(bullets, 1):
            yield f"{self.source.path}: item {at}", text, [self.title, above]

    def _titled(self, body: str) -> str:
        """The text, under its title, and with the other names that it goes by."""
        if not body.strip(" \t\n-+*"):  # a page that was opened and left
            return self.given
        first = body.partition("\n")[0]
        begun = wiki.words(self.title)
        known = wiki.words(first)[: len(begun)] == begun
        head = self.title if not known else first if self.heading else ""
        rest = body[len(head) :].strip() if known else body
        other = [name for name in _lettered(self.names) if {*wiki.words(name)} - {*begun}]
        also = f"Also called: {', '.join(dict.fromkeys(other))}" if other else ""
        return "\n\n".join(filter(None, [head, also, rest] if head else [rest, also]))

    def _tags(self) -> list[str]:
        """The tags that the properties name; in a header, spaces may be between them."""
        found = [self.said.get(name) for name in wiki.TAGS if name not in self.lines]
        spaced = [v.split() if isinstance(v, str) and "," not in v else v for v in found]
        return self._values(name for name in wiki.TAGS if name in self.lines) + wiki.values(spaced)

    def _moment(self, names: Iterable[str], batch: ImportBatch) -> str:
        """The first of these properties that is a time."""
        if found := next(filter(None, map(wiki.moment, self._values(names))), ""):
            return found
        for unread in (self.said[name] for name in names if self.said.get(name)):
            reason = f"'{unread!s:.40}' is no date that Co knows"
            batch.remarks.append(Problem(self.source.path, reason))
        return ""


def _lettered(names: Iterable[str]) -> list[str]:
    """The names that say more than a number or a date, and can be shown."""
    return [name for name in names if name.isprintable() and any(map(str.isalpha, name))]


def _usable(tags: Iterable[str], origin: str, batch: ImportBatch) -> list[str]:
    """The tags that a note can have, each once; what is left out is told."""
    kept: dict[str, str] = {}
    for tag in tags:
        try:
            for clean in check.clean_tags([tag]):
                kept.setdefault(clean.casefold(), clean)
        except RefusedText as error:
            batch.remarks.append(Problem(origin, f"left out: {error}"))
    if len(kept) > check.MAX_TAGS:
        batch.remarks.append(Problem(origin, f"only the first {check.MAX_TAGS} tags are kept"))
    return list(kept.values())[: check.MAX_TAGS]
