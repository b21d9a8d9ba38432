"""The notes of a store as they are now: the one place that lists, reads and keeps them.

A file that has not changed since it was read is not read again.
"""

import os
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from shlex import quote
from typing import NamedTuple

from co_cli.errors import Ambiguous, CoError, FormatError, NotFound, Unreadable
from co_cli.knowledge.format.frontmatter import MAX_ID
from co_cli.knowledge.format.note import Note, number_of, parse, sections, unnumbered
from co_cli.knowledge.safety.escape import escape
from co_cli.knowledge.store import JOURNAL, Entry, Store, disk, previous

MEMORIES, ARTICLES, ATTACHMENTS, INBOX = "memories", "articles", "attachments", "inbox"
JOINS = ("merge", "summarize")  # changes that make one text of several, beside decay
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
    if (kind := kind_of(text)) != "memory":
        found = [note for note in notes if note.kind == kind]
        return [note for note in found if text in (note.handle, text[:2] + note.name[:-3])]
    notes = [note for note in notes if note.kind == "memory"]
    name = text.removeprefix("m:")
    twins = [note for note in notes if note.plain and 0 < number == number_of(note.name)]
    return (
        [note for note in notes if number and note.id == number]
        or [note for note in notes if name in (note.name[:-3].strip(), note.name)]
        or [note for note in notes if note.meta.get("uid") == text or note.handle == f"m:{name}"]
        or (twins if len(twins) > 1 else [])
    )


def pick(ref: Ref, notes: Collection[Note], prefix: str = "", also: str = "") -> Note | None:
    """The one among these notes that a reference means; Ambiguous when several answer to it."""
    found = named(ref, notes)
    if len(found) <= 1:
        return found[0] if found else None
    hint = "Say which: " + ", ".join(prefix + escape(n.name[:-3], keep="") for n in found)
    said = f"{len(found)} memories are called {prefix}{ref}"
    raise Ambiguous(said, choices=found, hint=hint + also)


def called(ref: Ref) -> str:
    """A reference as a person reads it."""
    if isinstance(ref, Note):
        return ref.handle if ref.kind != "memory" else ref.name[:-3]
    return str(ref)


def kind_of(ref: Ref) -> str:
    """What a reference names: `memory`, `article` or `draft`."""
    return {"a:": "article", "i:": "draft"}.get(called(ref)[:2], "memory")


def original_of(store: Store, note: Note) -> bytes | None:
    """An article's original as it is: by the header's hash, or because Co made it for the article.

    A link, or a file that is only called so, is somebody else's.
    """
    path, data = note.attachment, None
    try:
        data = store.read(path) if path else None
    except Unreadable:
        raise
    except FormatError:
        return None
    if data is None or disk.digest(data) == note.meta.get("sha256"):
        return data
    return data if made_with(store.entries(), path, lambda _, file: file == note.file) else None


def made_with(entries: Iterable[Entry], path: str, means: Callable[[int, str], bool]) -> bool:
    """Whether a change made this file together with one that `means` knows: its number, a path."""
    return any(
        any(file["path"] == path and not file["before"] and file["after"] for file in entry.files)
        and any(means(entry.n, file["path"]) for file in entry.files)
        for entry in entries
        if entry.state == "done"
    )


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
    """The notes of one store; `read_as` makes one of a file's place and bytes."""

    def __init__(self, store: Store, read_as: Callable[[str, bytes], Note] = parse) -> None:
        self.store, self._read_as = store, read_as
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
            note = self._read_as(where, raw)
            if note.plain or note.filled:
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
        notes, problems = self._read_all(MEMORIES)
        names = (number_of(problem.path) for problem in problems)
        claims = Counter([*names, *(note.id for note in notes)])
        notes = [self.numbered(n, claims[n.id] > 1, tail) if n.plain else n for n in notes]
        notes.sort(key=lambda note: (note.id or sys.maxsize, note.path))
        left = [Problem(self.store.locate(JOURNAL), trouble)] if trouble else []
        return Look(notes, left + problems, tail, max(claims, default=0))

    def articles(self, name: str = "") -> tuple[list[Note], list[Problem]]:
        """Every article by name, or the one called so, and the files that are none."""
        notes, problems = self._read_all(ARTICLES, name)
        return sorted(notes, key=lambda note: note.name), problems

    def drafts(self, name: str = "") -> tuple[list[Note], list[Problem]]:
        """Every draft, oldest first, or the one called so, and the files that are none."""
        notes, problems = self._read_all(INBOX, name)
        return sorted(notes, key=lambda note: (note.created, note.name)), problems

    def find(self, ref: Ref, look: Look | None = None, prefix: str = "") -> Note:
        """The note by number, file name or uid; Ambiguous when several answer to it."""
        name, kind = called(ref), kind_of(ref)
        asked = name[2:] if name[:2] in ("a:", "i:", "m:") else name
        if kind != "memory":
            notes, problems = (self.drafts if kind == "draft" else self.articles)(asked)
        else:
            notes, problems, *_ = look or self.look()
        fix = ". To give each its own number: co knowledge doctor --fix"
        if note := pick(ref, notes, prefix, fix if as_number(ref) else ""):
            return note
        hint = "`co knowledge list` shows what there is."
        files = [(problem.path, os.path.basename(problem.path)) for problem in problems]
        broken = [path for path, file in files if asked in (file[:-3], str(number_of(file) or ""))]
        if broken:
            hint = f"{escape(broken[0], keep='')} cannot be read: co knowledge doctor"
        elif gone := [entry.op for entry, note in self.archived() if named(ref, [note])]:
            back = f"co knowledge restore {quote(prefix + name)}"
            hint = f"It was archived; `{back}` brings it back."
            moved = {"promote": "your own notebook", "demote": "a project"}.get(gone[0])
            hint = f"It moved into {moved}; `{back}` would make a second one." if moved else hint
        elif kind != "memory":
            shows = "co inbox" if kind == "draft" else "co knowledge list --kind article"
            hint = f"`{shows}` shows what there is."
        shown = asked if kind != "memory" else prefix + name
        raise NotFound(f"there is no {kind} {shown[:60]}", hint=hint)

    def _read_all(self, folder: str, only: str = "") -> tuple[list[Note], list[Problem]]:
        listed = self.store.files(folder)
        names = [n for n in listed if only in ("", n[:-3], escape(n[:-3], keep=""))]
        read = {f"{folder}/{n}": self.read(f"{folder}/{n}", listed[n]) for n in names}
        pages = {path: page for path, page in read.items() if page}
        known = {path: path.rpartition("/") for path in self._known}
        gone = {p for p, (at, _, n) in known.items() if at == folder and n not in listed}
        self._known = {p: page for p, page in self._known.items() if p not in gone} | pages
        found = [(self.store.locate(path), page.found) for path, page in pages.items()]
        bad = [(where, error) for where, error in found if isinstance(error, FormatError)]
        problems = sorted(Problem(where, str(error), error.line) for where, error in bad)
        return [note for _, note in found if isinstance(note, Note)], problems

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
        """The notes that Co itself took away, by the journal, as the index calls them."""
        files = (file for entry in self.store.entries() for file in entry.files)
        return {f["path"].removeprefix(f"{MEMORIES}/") for f in files if f["after"] is None}

    def archived(self) -> list[tuple[Entry, Note]]:
        """Notes that a change removed and that are not there now, newest first."""
        found: dict[str, tuple[Entry, Note]] = {}
        for entry in reversed(self.store.entries()):
            for file in entry.files if entry.state == "done" else ():
                path = file["path"]
                folders = (MEMORIES, ARTICLES, *([] if entry.op.startswith("accept") else [INBOX]))
                is_note = path.startswith(tuple(f"{folder}/" for folder in folders))
                gone = file["after"] is None and is_note and path not in found
                if gone and not self.store.signature(path):
                    with suppress(CoError):
                        raw = previous(self.store, entry.n, file)
                        modified = self.store.modified(path, entry.n)
                        found[path] = entry, parse(self.store.locate(path), raw, modified)
        notes = self.numbered_gone([note for _, note in found.values()])
        return [(entry, note) for (entry, _), note in zip(found.values(), notes, strict=True)]

    def inside(self, number: int) -> tuple[Note, str] | None:
        """The note that took in a note of this number, and what that one said."""
        notes = self.look().notes
        parts = [(note, part) for note in notes for part in sections(note)]
        found = [(note, part.text) for note, part in parts if part.number == number]
        for entry, gone in self.archived() if not found else ():
            if gone.id == number and entry.op in JOINS:
                holds = (n for n in notes if gone.uid in (n.meta.get("supersedes") or ()))
                found += [(note, gone.body) for note in holds]
        return found[0] if found else None

    def copied(self, uids: Collection[str], notes: Iterable[Note]) -> set[str]:
        """The paths of those of these notes that copied one of these uids from another.

        Whoever copies a file by hand copies its uid. It belongs to the file that Co wrote first,
        by the journal; if Co wrote none of them, to the one with the lowest number.
        """
        sharing: dict[str, list[Note]] = {uid: [] for uid in uids}
        for note in notes:
            if (uid := str(note.meta.get("uid"))) in sharing:
                sharing[uid].append(note)
        if all(len(twins) < 2 for twins in sharing.values()):
            return set()
        done = [entry for entry in reversed(self.store.entries()) if entry.state == "done"]
        made = {file["path"]: e.n for e in done for file in e.files if file["before"] is None}

        def age(note: Note) -> tuple[int, int, str]:
            return made.get(note.file, sys.maxsize), note.id, note.name

        return {note.path for twins in sharing.values() for note in sorted(twins, key=age)[1:]}
