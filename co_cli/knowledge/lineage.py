"""One note's bytes over time: what is there, and what changes archived under its names.

A uid proves little, as whoever copies a file copies its uid; it only tells that a file was renamed
by hand, or that a name that had become free was given to another note.
"""

import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

from co_cli.errors import CoError
from co_cli.knowledge.format.note import Note, parse
from co_cli.knowledge.notebook import Notebook
from co_cli.knowledge.store import Entry

NOW = sys.maxsize  # the change that has not happened yet to a file that is there
_Mentions = Mapping[str, list[tuple[int, str | None]]]  # of each file: a change, and what it left


class Version(NamedTuple):
    """A file's bytes until change `n`; `note` is None when they cannot be read as one."""

    n: int
    file: str  # what the journal calls it
    path: str  # where these bytes are
    raw: bytes
    note: Note | None

    @property
    def identity(self) -> tuple[str, int] | None:
        """What tells apart the notes that had one file name in turn."""
        return (self.note.meta.get("uid") or "", self.note.id) if self.note else None


@dataclass(slots=True)
class Lineage:
    """One note's versions, oldest first, and where the journal speaks of it."""

    versions: list[Version]
    spans: list[tuple[str, int, int]]  # a file, after which change, up to which

    @property
    def notes(self) -> list[Note]:
        """The versions that can be read."""
        return [one.note for one in self.versions if one.note]

    @property
    def latest(self) -> Note | None:
        """The note as it is now, or was last."""
        return self.notes[-1] if self.notes else None

    @property
    def is_there(self) -> bool:
        """Whether its file is in its place."""
        return self.versions[-1].n == NOW

    def has(self, n: int, path: str) -> bool:
        """Whether change `n` means this note by this path."""
        return any(path == file and after < n <= until for file, after, until in self.spans)


def lineages(book: Notebook) -> list[Lineage]:
    """Every note of which there are bytes."""
    by_file: dict[str, list[Version]] = defaultdict(list)
    look = book.look()
    for n, path, raw in book.store.kept():
        file, note = "/".join(path.rsplit("/", 2)[1:]), None
        with suppress(CoError):
            [note] = book.pages.numbered_gone([parse(path, raw)], look)
        by_file[file].append(Version(n, file, path, raw, note))
    for note in (*look.notes, *book.articles(), *book.pages.drafts()[0]):
        by_file[note.file].append(Version(NOW, note.file, note.path, note.raw, note))
    mentions, entries = defaultdict(list), book.store.entries()
    for entry in entries:
        for change in entry.files if entry.state == "done" else ():
            mentions[change["path"]].append((entry.n, change["after"]))
    found = [one for known in by_file.values() for one in _split(known, mentions)]
    return _joined(_renumbered(found, entries), mentions)


def _split(versions: list[Version], mentions: _Mentions) -> Iterator[Lineage]:
    """The notes that had a file name in turn: Co removed one before the next one came."""
    file, known = versions[0].file, versions[0].identity
    removed = {n for n, after in mentions[file] if after is None}
    start = since = 0
    for at, version in enumerate(versions):
        if version.identity and known != version.identity and versions[at - 1].n in removed:
            yield Lineage(versions[start:at], [(file, since, versions[at - 1].n)])
            start, since = at, versions[at - 1].n
        known = version.identity or known
    yield Lineage(versions[start:], [(file, since, NOW)])


def _renumbered(found: list[Lineage], entries: list[Entry]) -> list[Lineage]:
    """The same, where a file that Co gave another number is one note under both names."""
    left = list(found)
    for entry in entries:
        if (entry.op, entry.state) != ("renumber", "done"):
            continue
        gone = [file["path"] for file in entry.files if file["after"] is None]
        made = [file["path"] for file in entry.files if file["before"] is None]
        for pair in zip(gone, made, strict=False):  # one file each, in order
            old, new = (next((o for o in left if o.has(entry.n, path)), None) for path in pair)
            if old and new and old is not new:
                new.versions = sorted([*old.versions, *new.versions], key=lambda one: one.n)
                new.spans += old.spans
                left.remove(old)
    return left


def _joined(found: list[Lineage], mentions: _Mentions) -> list[Lineage]:
    """The same, where a file that somebody renamed by hand is one note under both names."""
    left = list(found)
    for old in found:
        file, _, until = old.spans[0]
        if old.is_there or until != NOW or not mentions[file] or mentions[file][-1][1] is None:
            continue  # it is there, or Co removed it: nobody renamed it
        same = [new for new in left if new is not old and _is_renamed(old, new, mentions)]
        if len(same) == 1:
            same[0].versions[:0] = old.versions
            same[0].spans += old.spans
            left.remove(old)
    return left


def _is_renamed(old: Lineage, new: Lineage, mentions: _Mentions) -> bool:
    """Whether a file that Co did not remove has the uid and number of one that came after it."""
    was, now = old.versions[-1], new.versions[0]
    if was.identity is None or not was.identity[0] or was.identity != now.identity:
        return False
    firsts = [n for n, _ in mentions[now.file]] or [NOW]
    return max(n for n, _ in mentions[was.file]) < min(firsts)
