"""A store's notes by the names that the index knows them by. Only an article's has its folder."""

import os
from collections.abc import Iterable
from functools import cache

from co_cli.errors import CoError
from co_cli.knowledge.format.frontmatter import find_header
from co_cli.knowledge.format.note import Note, decode
from co_cli.knowledge.pages import ARTICLES, MEMORIES, Page, Pages
from co_cli.knowledge.search.lookup import Lookup, Row
from co_cli.knowledge.search.passages import Part, passages
from co_cli.knowledge.search.places import Place
from co_cli.knowledge.store import is_note

FOLDERS = (MEMORIES, ARTICLES)
_TEXTS, _SHORT = 8192, 2000  # texts that a process remembers, and their length
_ARTICLES = 8  # articles that a process remembers
_BESIDE = 8  # passages on either side of one that may be told with it


class NoteFiles:
    """The memories and articles of one store."""

    def __init__(self, pages: Pages) -> None:
        self.pages = pages
        self._store = pages.store
        self._odd: dict[str, str] = {}
        self._texts: dict[tuple[str, int], str | None] = {}
        self._kept: dict[tuple[str, int], Note | None] = {}

    def path(self, name: str) -> str:
        """Where a person finds a file of the index."""
        return self._store.locate(self._place(name))

    def _place(self, name: str) -> str:
        name = self._odd.get(name, name)
        return name if "/" in name else f"{MEMORIES}/{name}"

    def _name(self, folder: str, name: str) -> str:
        """A name as the index can keep it; one that is no Unicode is remembered here."""
        name = name if folder == MEMORIES else f"{folder}/{name}"
        safe = name.encode("utf-8", "backslashreplace").decode()
        if safe != name:
            self._odd[safe] = name
        return safe

    def signatures(self) -> dict[str, int]:
        """Every note's file with its signature."""
        memories, articles = map(self._store.files, FOLDERS)
        if not all(map(str.isascii, memories)):
            memories = {self._name(MEMORIES, name): told for name, told in memories.items()}
        return {**memories, **{self._name(ARTICLES, name): told for name, told in articles.items()}}

    def signatures_of(self, paths: Iterable[str]) -> tuple[dict[str, int], list[str]]:
        """The signatures of these files, and the names of all of them that could be notes."""
        found = {
            self._name(folder, name): self._store.signature(f"{folder}/{name}")
            for folder, name in (path.split(os.sep)[-2:] for path in paths)
            if is_note(name)
        }
        return {name: told for name, told in found.items() if told}, list(found)

    def page(self, name: str) -> Page | None:
        """A file as the index takes it in."""
        return self.pages.read(self._place(name))

    def note(self, name: str) -> Note | None:
        """A note as its file holds it now."""
        try:
            return self.pages.note(self._place(name))
        except CoError:
            return None

    def notes(self, names: Iterable[str]) -> list[Note]:
        """Those of these notes that are there."""
        return [note for note in map(self.note, names) if note is not None]

    def text(self, row: Row) -> str | None:
        """The text of a note now, to rank it by; one that has not changed is not read again."""
        key = row.name, row.signature
        if key in self._texts:
            return self._texts[key]
        text = self._read_text(row.name)
        if row.signature and len(text or "") <= _SHORT:
            if len(self._texts) >= _TEXTS:
                self._texts.clear()
            self._texts[key] = text
        return text

    def memory(self, row: Row) -> list[Part]:
        """The passages of a memory now; none when it is gone."""
        text = self.text(row)
        return [] if text is None else [Part(each) for each in passages(text)]

    def article(self, row: Row) -> Note | None:
        """An article now, unless it changed since the index saw it; some are remembered."""
        key = row.name, row.signature
        if key not in self._kept:
            page = self.page(row.name)
            if page is None or 0 != page.signature != row.signature != 0:
                return None
            note = page.found if isinstance(page.found, Note) else None
            if not row.signature:
                return note
            while len(self._kept) >= _ARTICLES:
                self._kept.pop(next(iter(self._kept)))
            self._kept[key] = note
        return self._kept[key]

    def _read_text(self, name: str) -> str | None:
        try:
            text = decode(self._store.read_signed(self._place(name))[0])
        except (FileNotFoundError, CoError):
            return None
        where = find_header(text)  # the header is not looked at
        return (text[where[2] :] if where else text.removeprefix("\ufeff")).strip()


class Parts:
    """The passages that one question looks at, as their files hold them now; each is read once."""

    def __init__(self, files: NoteFiles, lookup: Lookup) -> None:
        self._lookup = lookup
        self.memory, self.article = cache(files.memory), cache(files.article)

    def get(self, at: int, row: Row) -> Part | None:
        """A passage of a file, if it is still there."""
        if row.article:
            note, places = self.article(row), self._lookup.places(at, at)
            return places[at].part(note.body, note.title) if note and at in places else None
        parts = self.memory(row)
        return parts[at - row.id] if at - row.id < len(parts) else None

    def around(self, at: int, row: Row) -> tuple[Note | None, Place | None, list[Place]]:
        """Of an article, the place of a passage, and those beside it that fit on the same card."""
        note = self.article(row) if row.article else None
        places = self._lookup.places(max(at - _BESIDE, row.id), min(at + _BESIDE, row.last))
        if note is None or at not in places:
            return None, None, []
        place, ends, beside = places[at], {1: at, -1: at}, list[Place]()
        while ends:
            for step in tuple(ends):
                ends[step] += step
                other = places.get(ends[step])
                if other and other.lead < 0 and (joined := place.joined(other)):
                    place = joined
                    beside.append(other)
                else:
                    del ends[step]
        return note, places[at], beside
