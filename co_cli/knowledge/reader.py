"""The reading half of a notebook: scan, find, the archive. Writes nothing but unfinished business.

One scan serves every verb; a file that has not changed since the last one is not read again.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import NamedTuple, NoReturn, Self

from co_cli.errors import Ambiguous, CoError, FormatError, NotFound
from co_cli.knowledge import disk, lifecycle
from co_cli.knowledge.change import Journal
from co_cli.knowledge.frontmatter import MAX_ID
from co_cli.knowledge.journal import Entry
from co_cli.knowledge.lifecycle import Policy
from co_cli.knowledge.note import Note, now, parse, timestamp
from co_cli.knowledge.scan import Hit, scan
from co_cli.knowledge.visible import visible

_NUMBERED = re.compile(r"(\d{1,6})-")  # a longer number was not given out by Co

Ref = str | int | Note


def named(ref: str | int, notes: Iterable[Note]) -> list[Note]:
    """The notes that answer to a number, else to a file's name, else to a uid."""
    text, known = str(ref).strip(), list(notes)
    found = []
    if text.isdecimal() and len(text) <= 9:
        found = [note for note in known if note.id == int(text)]
    stem = text.removesuffix(".md")
    found = found or [note for note in known if note.name[:-3] == stem]
    return found or [note for note in known if note.meta.get("uid") == text]


def _is_called(ref: str, name: str) -> bool:
    match = _NUMBERED.match(name)
    return name.removesuffix(".md") == ref or bool(match and match.group(1).lstrip("0") == ref)


class Problem(NamedTuple):
    """A file Co cannot use, or something about it a person should know."""

    path: str
    reason: str
    line: int = 0


class Reader:
    """The notes of one knowledge folder, as they are now."""

    def __init__(
        self,
        root: str | os.PathLike[str],
        *,
        scope: str = "project",
        policy: Policy | None = None,
        clock: Callable[[], datetime] = now,
    ) -> None:
        self.root = os.path.abspath(root)
        self.scope = scope
        self.policy = policy or Policy()
        self.clock = clock
        self.memories = os.path.join(self.root, "memories")
        self.journal = Journal(self.root)
        self.problems: list[Problem] = []
        self.highest = 0
        self._leftover: list[Problem] = []
        self.basis = self.journal.tail()
        self._cache: dict[str, tuple[disk.Signature, Note | FormatError]] = {}
        if self.basis.state == "intent" or disk.temps([self.root]):
            self._settle_leftovers()

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> Self:
        """The notebook in this knowledge folder, with the command's defaults."""
        return cls(folder)

    def _settle_leftovers(self) -> None:
        """Finish what a killed process left half done, if the folder lets us."""
        try:
            with self.journal.locked(patience=0):
                self.journal.recover(tidy=True)
        except disk.Busy:  # whoever is writing right now will see to it
            pass
        except (OSError, CoError) as error:
            self._leftover = [Problem(self.journal.path, f"unfinished change: {error}")]

    def notes(self) -> list[Note]:
        """Every memory that can be read, by number; the others are in `problems`."""
        self.basis = self.journal.tail()
        if self.basis.state == "intent":  # by a writer that is busy, or dead
            self._settle_leftovers()
            self.basis = self.journal.tail()
        if os.path.islink(self.memories):
            raise CoError(
                f"{self.memories} is a symbolic link",
                hint="Co reads only real folders inside a notebook. Link the whole folder instead.",
            )
        cache: dict[str, tuple[disk.Signature, Note | FormatError]] = {}
        problems: list[Problem] = []
        for entry in self._entries():
            found = self._read(entry)
            if found is None:
                continue
            cache[entry.name] = found
            if isinstance(found[1], FormatError):
                problems.append(Problem(entry.path, str(found[1]), found[1].line))
        self._cache = cache
        self.problems = self._leftover + sorted(problems)
        notes = [found for _, found in cache.values() if isinstance(found, Note)]
        self.highest = max((note.id for note in notes), default=0)
        return sorted(notes, key=lambda note: (note.id, note.path))

    def _entries(self) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(self.memories) as entries:
                found = list(entries)
        except FileNotFoundError:
            return []
        except OSError as error:
            raise disk.trouble(error) from error
        if any(entry.name.startswith(disk.TEMP_PREFIX) for entry in found):
            self._settle_leftovers()
        return [entry for entry in found if entry.name.endswith(".md") and entry.name[0] != "."]

    def _read(self, entry: os.DirEntry[str]) -> tuple[disk.Signature, Note | FormatError] | None:
        known = self._cache.get(entry.name)
        try:
            if known and known[0] == disk.signature(entry.stat(follow_symlinks=False)):
                return known
            raw, sign = disk.read_signed(entry.path)
        except FileNotFoundError:
            return None
        except FormatError as error:
            return (0, 0, 0, 0), error
        except OSError as error:
            raise disk.trouble(error) from error
        try:
            return sign, parse(entry.path, raw)
        except FormatError as error:
            return sign, error

    def find(self, ref: Ref) -> Note:
        """The note by number, file name or uid; Ambiguous when several answer to it."""
        return self.pick(ref, self.notes()) or self._missing(ref)

    def pick(self, ref: Ref, notes: Iterable[Note]) -> Note | None:
        """The one among these notes that a reference means: a number before a name before a uid."""
        if isinstance(ref, Note):
            found = [note for note in notes if note.path == ref.path]
        else:
            found = named(ref, notes)
        if len(found) <= 1:
            return found[0] if found else None
        names = [self.prefix + visible(note.name[:-3], keep="") for note in found]
        raise Ambiguous(
            f"{len(found)} memories are called {self.prefix}{ref}",
            choices=found,
            hint="Say which: " + ", ".join(names),
        )

    def _missing(self, ref: Ref) -> NoReturn:
        name = ref.name[:-3] if isinstance(ref, Note) else str(ref)
        hint = "`co knowledge list` shows what there is."
        broken = [p.path for p in self.problems if _is_called(name, os.path.basename(p.path))]
        if broken:
            hint = f"{visible(broken[0], keep='')} cannot be read: co knowledge doctor"
        elif named(name, [note for _, note in self.archived()]):
            hint = f"It was archived; `co knowledge restore {self.prefix}{name}` brings it back."
        raise NotFound(f"there is no memory {self.prefix}{str(name)[:60]}", hint=hint)

    def inside(self, number: int) -> tuple[Note, str] | None:
        """The consolidated note that holds a decayed original, and the original's part of it."""
        for note in self.notes():
            for old, text in lifecycle.sections(note):
                if old == number:
                    return note, text
        return None

    def recall(self, query: str, limit: int = 10) -> list[Hit]:
        """The notes that match, best first."""
        return scan(query, self.notes(), today=self.today())[: max(limit, 0)]

    @property
    def prefix(self) -> str:
        """What stands before a number in a reference: `g` for the user's notebook."""
        return "g" if self.scope == "user" else ""

    def ref(self, note: Note) -> str:
        """How a person names this note."""
        return f"{self.prefix}{note.id}"

    def today(self) -> str:
        """The date by this notebook's clock."""
        return timestamp(self.clock())[:10]

    def next_id(self, notes: Iterable[Note]) -> int:
        """One more than any number in use or ever given out."""
        taken = [note.id for note in notes]
        for problem in self.problems:
            if match := _NUMBERED.match(os.path.basename(problem.path)):
                taken.append(int(match.group(1)))
        highest = max([*taken, self.basis.high])
        if highest >= MAX_ID:
            raise CoError(
                f"no number is left after {highest}",
                hint=f"A note in {self.memories} has a number near {MAX_ID}; give it a lower one.",
            )
        return highest + 1

    def archived(self) -> list[tuple[Entry, Note]]:
        """Notes that a change removed and that are not there now, newest first."""
        found: dict[str, tuple[Entry, Note]] = {}
        for entry in reversed(self.journal.entries()):
            for file in entry.files if entry.state == "done" else ():
                path = file["path"]
                if file["after"] is not None or not path.startswith("memories/") or path in found:
                    continue
                try:
                    raw = self.journal.kept(entry.n, file)
                    note = parse(os.path.join(self.root, *path.split("/")), raw)
                except CoError:
                    continue
                if not os.path.lexists(note.path):
                    found[path] = entry, note
        return list(found.values())
