"""The notes of a store as they are now: the one place that lists, reads and keeps them.

A file that has not changed since it was read is not read again.
"""

import os
import sys
from collections import Counter, defaultdict
from collections.abc import Collection
from contextlib import suppress
from typing import NamedTuple

from co_cli.errors import Ambiguous, CoError, FormatError
from co_cli.knowledge.format.frontmatter import MAX_ID
from co_cli.knowledge.format.note import Note, number_of, parse, parse_article, unnumbered
from co_cli.knowledge.safety.escape import escape
from co_cli.knowledge.store import JOURNAL, Entry, Store, previous

MEMORIES, ARTICLES = "memories", "articles"
Ref = str | int | Note


def as_number(ref: Ref) -> int:
    """The number that a reference is; 0 when it is something else."""
    text = str(ref).strip()
    return int(text) if text.isdecimal() and len(text) <= 9 else 0


def named(ref: Ref, notes: Collection[Note]) -> list[Note]:
    """The notes that answer to a number, else to a file's name, to a uid.

    A number that several names begin with, and that is nobody's, means all of those.
    """
    if isinstance(ref, Note):
        return [note for note in notes if note.path == ref.path]
    text, number = str(ref).strip(), as_number(ref)
    name = text.removeprefix("m:")
    twins = [note for note in notes if note.plain and 0 < number == number_of(note.name)]
    return (
        [note for note in notes if number and note.id == number]
        or [note for note in notes if name in (note.name[:-3].strip(), note.name)]
        or [note for note in notes if note.meta.get("uid") == text or note.handle == f"m:{name}"]
        or (twins if len(twins) > 1 else [])
    )


def pick(ref: Ref, notes: Collection[Note], prefix: str = "") -> Note | None:
    """The one among these notes that a reference means; Ambiguous when several answer to it."""
    found = named(ref, notes)
    if len(found) <= 1:
        return found[0] if found else None
    hint = "Say which: " + ", ".join(prefix + escape(n.name[:-3], keep="") for n in found)
    raise Ambiguous(f"{len(found)} memories are called {prefix}{ref}", choices=found, hint=hint)


def called(ref: Ref) -> str:
    """A reference as a person reads it."""
    return ref.name[:-3] if isinstance(ref, Note) else str(ref)


class Problem(NamedTuple):
    """A file Co cannot use, or something about it a person should know."""

    path: str
    reason: str
    line: int = 0

    def __str__(self) -> str:
        return f"{self.path}{f':{self.line}' if self.line else ''}: {self.reason}"


class Page(NamedTuple):
    """A file as it was read: its signature, its bytes, and the note in it or why there is none."""

    signature: int
    raw: bytes
    found: Note | FormatError


class Look(NamedTuple):
    """A notebook at one moment: its notes by number, files that are none, the last change."""

    notes: list[Note]
    problems: list[Problem]
    tail: Entry
    highest: int  # the highest number of a note, or in the name of a file without a sound header

    def next_id(self) -> int:
        """One more than any number in use or ever given out."""
        highest = max(self.highest, self.tail.high)
        if highest >= MAX_ID:
            hint = f"A memory has a number near {MAX_ID}; give it a lower one."
            raise CoError(f"no number is left after {highest}", hint=hint)
        return highest + 1


class Pages:
    """The notes of one store."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._known: dict[str, Page] = {}
        self._given: tuple[Entry | None, dict[int, set[str]]] = None, {}

    def read(self, path: str, signature: int = 0) -> Page | None:
        """A file as it is now, None when there is none; `signature` comes from a listing."""
        known = self._known.get(path)
        # A signature of 0 says nothing, neither about what was read nor about what is there.
        if known and 0 != known.signature == (signature or self.store.signature(path)):
            return known
        raw, where = b"", self.store.locate(path)
        try:
            raw, signature = self.store.read_signed(path)
            make = parse_article if path.startswith(f"{ARTICLES}/") else parse
            note = make(where, raw)
            if note.plain:
                note = parse(where, raw, self.store.modified(path))
            return Page(signature, raw, note)
        except FileNotFoundError:
            return None
        except FormatError as error:
            if not raw:
                signature = self.store.signature(path, settled=True)
            return Page(signature, raw, error)

    def note(self, path: str) -> Note | None:
        """The note in a file, if there is one; whose the number of a plain one is, `look` tells."""
        page = self.read(path)
        return page.found if page and isinstance(page.found, Note) else None

    def look(self) -> Look:
        """Every memory, once no change is half done."""
        tail, trouble = self.store.settle()
        files = [(f"{MEMORIES}/{name}", told) for name, told in self.store.files(MEMORIES).items()]
        pages = {path: self.read(path, told) for path, told in files}
        self._known = {path: page for path, page in pages.items() if page}
        found = [(self.store.locate(path), page.found) for path, page in self._known.items()]
        problems = sorted(
            Problem(where, str(error), error.line)
            for where, error in found
            if isinstance(error, FormatError)
        )
        notes = [note for _, note in found if isinstance(note, Note)]
        names = (number_of(problem.path) for problem in problems)
        claims = Counter([*names, *(note.id for note in notes)])
        notes = [self.numbered(n, claims[n.id] > 1, tail) if n.plain else n for n in notes]
        notes.sort(key=lambda note: (note.id or sys.maxsize, note.path))
        left = [Problem(self.store.locate(JOURNAL), trouble)] if trouble else []
        return Look(notes, left + problems, tail, max(claims, default=0))

    def numbered(self, note: Note, taken: bool, tail: Entry) -> Note:
        """A plain note with its name's number, unless that is `taken` or was another file's."""
        if not note.id or not (taken or self._had(note.id, tail) - {note.name}):
            return note
        return unnumbered(note)

    def numbered_gone(self, notes: list[Note], look: Look | None = None) -> list[Note]:
        """Notes of the archive with the numbers that they would have if they came back."""
        if not any(note.plain and note.id for note in notes):
            return notes
        look = look or self.look()
        names = {(note.id or number_of(note.name), note.name) for note in look.notes}
        names |= {(number_of(one.path), os.path.basename(one.path)) for one in look.problems}
        users = defaultdict(set)
        for number, name in names:
            users[number].add(name)
        return [
            self.numbered(n, bool(users[n.id] - {n.name}), look.tail) if n.plain else n
            for n in notes
        ]

    def _had(self, number: int, tail: Entry) -> set[str]:
        """The files that had a number or whose names begin with it, by the journal."""
        if number > tail.high:
            return set()
        if self._given[0] != tail:
            self._given = tail, self._read_given()
        return self._given[1].get(number, set())

    def _read_given(self) -> dict[int, set[str]]:
        given, made = defaultdict(set), set()
        for entry in self.store.entries():
            for file in entry.files if entry.state == "done" else ():
                folder, _, name = file["path"].rpartition("/")
                if folder != MEMORIES:
                    continue
                given[number_of(name)].add(name)
                if file["before"] is None:
                    made.add(name)
                elif file["after"] is None and name not in made:  # the name may tell another number
                    with suppress(CoError):
                        raw = previous(self.store, entry.n, file)
                        given[parse(file["path"], raw).id].add(name)
        return given

    def removed(self) -> set[str]:
        """The memories that Co itself took away, by the journal."""
        files = (file for entry in self.store.entries() for file in entry.files)
        gone = [file["path"].rpartition("/") for file in files if file["after"] is None]
        return {name for folder, _, name in gone if folder == MEMORIES}
