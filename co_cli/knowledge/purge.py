"""The one destroyer: remove every copy Co keeps of a note. Git history, if any, is not Co's."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from co_cli.errors import CoError, Protected
from co_cli.knowledge import disk, lifecycle
from co_cli.knowledge.change import Entry
from co_cli.knowledge.note import Note, parse, rewrite, timestamp
from co_cli.knowledge.notebook import Notebook

PURGED = "purged"


@dataclass(slots=True)
class Copies:
    """Everything that still holds a note: files to remove, and summaries to take it out of."""

    number: int
    names: set[str] = field(default_factory=set)
    files: list[Note] = field(default_factory=list)
    summaries: list[Note] = field(default_factory=list)


def find_copies(book: Notebook, ref: str) -> Copies:
    """Where a note lives: its file, the archive, and notes that decay made of it."""
    text = ref.strip().removesuffix(".md")
    archived = list(_archived(book))
    known = [*book.notes(), *archived]
    named = [n for n in known if text in (str(n.id), n.name[:-3], n.meta.get("uid"))]
    live = [note for note in named if note not in archived]
    if len(live) > 1:
        book.find(ref)  # says which ones and how to tell them apart
    if any(note.protected for note in live):
        raise Protected(
            f"memory {book.ref(live[0])} is protected",
            hint=f"`co knowledge unprotect {book.ref(live[0])}` first, if you mean it.",
        )
    chosen = live or named
    names = {note.name for note in chosen}
    uids = {note.meta["uid"] for note in chosen if note.meta.get("uid")}
    number = chosen[0].id if chosen else int(text) if text.isdecimal() and len(text) < 10 else 0
    copies = Copies(number, names)
    copies.files = [n for n in known if n.name in names or n.meta.get("uid") in uids]
    copies.names |= {note.name for note in copies.files}
    copies.summaries = [note for note in known if number in lifecycle.sections(note)]
    if not copies.files and not copies.summaries and not _journalled(book, number):
        book.find(ref)
    return copies


def purge(book: Notebook, copies: Copies, *, actor: str = "cli") -> None:
    """Remove them all. Safe to repeat: cut short, the next purge finishes it."""
    try:
        with book.journal.locked():
            book.journal.recover()
            _purge(book, copies, actor)
    except OSError as error:
        raise disk.trouble(error) from error


def _purge(book: Notebook, copies: Copies, actor: str) -> None:
    digests = {}
    for note in copies.summaries:
        raw = rewrite(note.raw, {}, lifecycle.without_section(note, copies.number))
        digests[disk.digest(note.raw)] = disk.digest(raw)
        disk.replace(note.path, raw)
    inside = book.memories + os.sep
    for note in sorted(copies.files, key=lambda note: note.path.startswith(inside)):
        os.unlink(note.path)
    for folder in {os.path.dirname(note.path) for note in (*copies.files, *copies.summaries)}:
        disk.sync_folder(folder)
    entries = book.journal.entries()
    for entry in entries:
        for file in entry.files:
            _redact(file, copies, digests)
    high = max([copies.number, *(entry.high for entry in entries)])
    last = max((entry.n for entry in entries), default=0)
    entries.append(Entry(last + 1, "done", high, "purge", actor, timestamp(book.clock())))
    book.journal.rewrite(entries)


def _redact(file: dict[str, Any], copies: Copies, digests: dict[str | None, str | None]) -> None:
    folder, _, name = file["path"].rpartition("/")
    if name in copies.names or name.startswith(f"{copies.number:03d}-"):
        file["path"] = f"{folder}/{copies.number:03d}-{PURGED}.md"
        for side in ("before", "after"):
            file[side] = file[side] and PURGED
    for side in ("before", "after"):
        file[side] = digests.get(file[side], file[side])


def _journalled(book: Notebook, number: int) -> bool:
    start = f"memories/{number:03d}-"
    paths = (file["path"] for entry in book.journal.entries() for file in entry.files)
    return any(path.startswith(start) and not path.endswith(f"-{PURGED}.md") for path in paths)


def _archived(book: Notebook) -> Iterator[Note]:
    """Every copy in the archive that reads as a note."""
    for change in sorted(disk.list_names(book.journal.archive)):
        folder = os.path.join(book.journal.archive, change, "memories")
        for name in sorted(disk.list_names(folder)):
            path = os.path.join(folder, name)
            try:
                yield parse(path, disk.read_bytes(path))
            except (CoError, OSError):
                continue
