"""Which bytes, in place and in the archive, are versions of one note. Looks, and changes nothing.

A note is its file: the versions that changes archived under its name. A uid alone proves nothing,
for whoever copies a file copies its uid; it only tells that a file was renamed by hand, or that
another note was later written under a name that had become free.
"""

from __future__ import annotations

import os
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from co_cli.errors import CoError
from co_cli.knowledge.format.note import Note, parse
from co_cli.knowledge.notebook import Notebook
from co_cli.knowledge.store import Entry

NOW = sys.maxsize  # stands for the change that has not happened to a file that is there


class Version(NamedTuple):
    """A file's bytes until change `n`; `note` is None when they cannot be read as one."""

    n: int
    path: str
    raw: bytes
    note: Note | None

    @property
    def name(self) -> str:
        """The file's name."""
        return os.path.basename(self.path)

    @property
    def identity(self) -> tuple[str, int] | None:
        """What tells notes apart that had the same file name one after the other."""
        return (self.note.meta.get("uid") or "", self.note.id) if self.note else None


@dataclass(slots=True)
class Lineage:
    """One note's versions, oldest first, and where the journal speaks of it."""

    versions: list[Version]
    spans: list[tuple[str, int, int]]  # a file name, after which change, up to which

    @property
    def latest(self) -> Note | None:
        """The note as it is now, or was last."""
        return next((one.note for one in reversed(self.versions) if one.note), None)

    @property
    def is_there(self) -> bool:
        """Whether its file is in its place."""
        return self.versions[-1].n == NOW

    @property
    def notes(self) -> list[Note]:
        """The versions that can be read."""
        return [one.note for one in self.versions if one.note]

    def has(self, n: int, path: str) -> bool:
        """Whether change `n` speaks of this note by this path."""
        folder, _, name = path.rpartition("/")
        return folder == "memories" and any(
            name == own and after < n <= until for own, after, until in self.spans
        )

    def marks(self, memories: str) -> set[str]:
        """What tells it in the record of a conversation, whether it had a uid then or not."""
        paths = {os.path.join(memories, version.name) for version in self.versions}
        return paths | {note.mark for note in self.notes if note.meta.get("uid")}


def lineages(book: Notebook) -> list[Lineage]:
    """Every note of which there are bytes."""
    entries = book.store.entries()
    by_name: dict[str, list[Version]] = defaultdict(list)
    archived = (Version(n, path, raw, _parsed(path, raw)) for n, path, raw in book.store.kept())
    for version in (*archived, *(Version(NOW, n.path, n.raw, n) for n in book.notes())):
        by_name[version.name].append(version)
    found = [one for name in by_name for one in _split(name, by_name[name], entries)]
    return _joined(found, entries)


def _parsed(path: str, raw: bytes) -> Note | None:
    try:
        return parse(path, raw)
    except CoError:
        return None


def _split(name: str, versions: list[Version], entries: list[Entry]) -> Iterator[Lineage]:
    """The notes that had this file name one after the other: Co removed one, then came another."""
    removed = {n for n, after in _mentions(name, entries) if after is None}
    start, since, known = 0, 0, versions[0].identity
    for at, version in enumerate(versions):
        if version.identity and known != version.identity and versions[at - 1].n in removed:
            yield Lineage(versions[start:at], [(name, since, versions[at - 1].n)])
            start, since = at, versions[at - 1].n
        known = version.identity or known
    yield Lineage(versions[start:], [(name, since, NOW)])


def _mentions(name: str, entries: list[Entry]) -> list[tuple[int, str | None]]:
    """The changes that were made to a file, and what each left."""
    return [
        (entry.n, file["after"])
        for entry in entries
        for file in entry.files
        if entry.state == "done" and file["path"] == f"memories/{name}"
    ]


def _joined(found: list[Lineage], entries: list[Entry]) -> list[Lineage]:
    """The same with files that were renamed by hand as one note under both names."""
    left = list(found)
    for old in found:
        [(name, _, until)] = old.spans[:1]
        said = _mentions(name, entries)
        if old.is_there or until != NOW or not said or said[-1][1] is None:
            continue  # it is there, or Co removed it: nobody renamed it
        same = [new for new in left if new is not old and _is_renamed(old, new, entries)]
        if len(same) == 1:
            same[0].versions[:0] = old.versions
            same[0].spans += old.spans
            left.remove(old)
    return left


def _is_renamed(old: Lineage, new: Lineage, entries: list[Entry]) -> bool:
    """Whether a file that went by itself has the uid and number of one that came after it."""
    was, now = old.versions[-1], new.versions[0]
    if was.identity is None or not was.identity[0] or was.identity != now.identity:
        return False
    firsts = [n for n, _ in _mentions(now.name, entries)] or [NOW]
    lasts = [n for n, _ in _mentions(was.name, entries)]
    return max(lasts) < min(firsts)
