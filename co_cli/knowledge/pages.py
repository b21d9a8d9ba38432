"""The notes of a store as they are now: the one place that lists, reads and keeps them.

A file that has not changed since it was read is not read again.
"""

from __future__ import annotations

from typing import NamedTuple

from co_cli.errors import FormatError
from co_cli.knowledge.format.note import Note, number_of, parse, parse_article
from co_cli.knowledge.store import JOURNAL, Entry, Store

MEMORIES, ARTICLES = "memories", "articles"


class Problem(NamedTuple):
    """A file Co cannot use, or something about it a person should know."""

    path: str
    reason: str
    line: int = 0


class Page(NamedTuple):
    """A file as it was read: its signature, its bytes, and the note in it or why there is none."""

    signature: int
    raw: bytes
    found: Note | FormatError


class Look(NamedTuple):
    """A notebook at one moment: its notes by number, the files that are none, the last change."""

    notes: list[Note]
    problems: list[Problem]
    tail: Entry
    highest: int  # the highest number of a note
    taken: int  # the same, with the names of files that cannot be read


class Pages:
    """The notes of one store."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._known: dict[str, Page] = {}

    def read(self, path: str, signature: int = 0) -> Page | None:
        """A file as it is now, None when there is none; `signature` is what a listing told."""
        known = self._known.get(path)
        if known and known.signature == (signature or self.store.signature(path)):
            return known
        raw, where = b"", self.store.locate(path)
        try:
            raw, signature = self.store.read_signed(path)
            make = parse_article if path.startswith(f"{ARTICLES}/") else parse
            return Page(signature, raw, make(where, raw))
        except FileNotFoundError:
            return None
        except FormatError as error:
            if not raw:
                signature = self.store.signature(path, settled=True)
            return Page(signature, raw, error)

    def note(self, path: str) -> Note | None:
        """The note in a file, if there is one and it can be read."""
        page = self.read(path)
        return page.found if page and isinstance(page.found, Note) else None

    def look(self) -> Look:
        """Every memory, once no change is half done."""
        tail, trouble = self.store.settle()
        known: dict[str, Page] = {}
        problems: list[Problem] = []
        for name, signature in self.store.files(MEMORIES).items():
            path = f"{MEMORIES}/{name}"
            page = self.read(path, signature)
            if page is None:
                continue
            known[path] = page
            if isinstance(page.found, FormatError):
                where = self.store.locate(path)
                problems.append(Problem(where, str(page.found), page.found.line))
        self._known = known
        notes = [page.found for page in known.values() if isinstance(page.found, Note)]
        highest = max((note.id for note in notes), default=0)
        taken = max([highest, *(number_of(problem.path) for problem in problems)])
        notes.sort(key=lambda note: (note.id, note.path))
        left = [Problem(self.store.locate(JOURNAL), trouble)] if trouble else []
        return Look(notes, [*left, *sorted(problems)], tail, highest, taken)
