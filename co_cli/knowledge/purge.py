"""The one destroyer: remove every copy Co keeps of a note. Git history, if any, is not Co's."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from co_cli.errors import CoError, MovedOn
from co_cli.knowledge import disk, folders, lifecycle
from co_cli.knowledge.change import Change
from co_cli.knowledge.draft import protected
from co_cli.knowledge.note import Note, parse, rewrite, sections, timestamp
from co_cli.knowledge.notebook import Notebook
from co_cli.knowledge.reader import Ref

PURGED = "purged"


@dataclass(slots=True)
class Copies:
    """All that still holds a note: files to remove, and summaries with the parts to take out."""

    ref: Ref
    number: int
    text: str = ""
    names: set[str] = field(default_factory=set)
    files: list[Note] = field(default_factory=list)
    summaries: list[tuple[Note, list[str]]] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.files) + len(self.summaries)


def find_copies(book: Notebook, ref: Ref) -> Copies:
    """Where a note lives: its file, the archive, and notes that decay made of it."""
    live, archived = book.notes(), list(_archived(book))
    note = book.pick(ref, live) or _latest(book, ref, archived)
    number = note.id if note else _number(ref)
    copies = Copies(ref, number)
    if note is not None:
        if note.protected and note in live:
            raise protected(book.ref(note))
        copies.names, copies.text = {note.name}, note.summary
        copies.files = [other for other in (*live, *archived) if _is_copy(other, note)]
        copies.names |= {other.name for other in copies.files}
    bodies = {lifecycle.as_part(other) for other in copies.files}
    for holder in (*live, *archived):
        parts = [text for old, text in sections(holder) if old == number]
        mine = [text for text in parts if any(text.endswith(body) for body in bodies)] or parts
        if mine and (len(parts) == 1 or bodies):
            copies.summaries.append((holder, mine))
    if not len(copies) and not _journalled(book, copies):
        book.find(ref)
    return copies


def _latest(book: Notebook, ref: Ref, archived: list[Note]) -> Note | None:
    """An archived note by that name, in its newest version; Ambiguous when it is several notes."""
    newest = {(note.name, note.uid): note for note in archived}
    return book.pick(ref, newest.values())


def _number(ref: Ref) -> int:
    text = str(ref)
    return int(text) if text.isdecimal() and len(text) < 10 else 0


def _is_copy(other: Note, note: Note) -> bool:
    if note.meta.get("uid"):
        return bool(other.meta.get("uid") == note.meta["uid"])
    return (other.name, other.id) == (note.name, note.id)


def purge(book: Notebook, copies: Copies, *, actor: str = "cli") -> None:
    """Remove them all. Safe to repeat: cut short, the next purge finishes it."""
    journal = book.journal
    try:
        with journal.locked():
            journal.recover()
            if find_copies(book, copies.ref) != copies:
                raise MovedOn(
                    "the notebook changed meanwhile", hint="Nothing was purged; try again."
                )
            at = timestamp(book.clock())
            journal.begin(Change("purge", actor, at, journal.tail().n, (), high=copies.number))
            digests = _remove(book, copies)
            entries = journal.entries()
            for file in (file for one in entries for file in one.files):
                _redact(file, copies, digests)
            _remove_index(book)
            entries[-1] = entries[-1]._replace(state="done")
            journal.rewrite(entries)
    except OSError as error:
        raise disk.trouble(error) from error


def _remove(book: Notebook, copies: Copies) -> dict[str | None, str | None]:
    """Take the text out of every summary, then delete the files, the live one last."""
    digests = {}
    for holder, gone in copies.summaries:
        raw = rewrite(holder.raw, {}, lifecycle.without_sections(holder, gone))
        digests[disk.digest(holder.raw)] = disk.digest(raw)
        disk.replace(holder.path, raw)
    inside = book.memories + os.sep
    for note in sorted(copies.files, key=lambda note: note.path.startswith(inside)):
        os.unlink(note.path)
    touched = [*copies.files, *(holder for holder, _ in copies.summaries)]
    for folder in {os.path.dirname(note.path) for note in touched}:
        disk.sync_folder(folder)
    return digests


def _remove_index(book: Notebook) -> None:
    """The index holds words and letters of every note; the next recall builds it anew."""
    book.close()
    index = os.path.join(book.root, folders.INDEX)
    if not os.path.lexists(index):
        return
    with disk.locked(f"{index}-seal"):
        for name in disk.list_names(book.root):
            if name.startswith(folders.INDEX) and not name.endswith("-seal"):
                os.unlink(os.path.join(book.root, name))


def _redact(file: dict[str, Any], copies: Copies, digests: dict[str | None, str | None]) -> None:
    """A journal line keeps that there was a note, and neither its words nor its hash."""
    folder, _, name = file["path"].rpartition("/")
    if _is_named(name, copies):
        file["path"] = f"{folder}/{copies.number:03d}-{PURGED}.md"
        for side in ("before", "after"):
            file[side] = file[side] and PURGED
    for side in ("before", "after"):
        file[side] = digests.get(file[side], file[side])


def _is_named(name: str, copies: Copies) -> bool:
    return name in copies.names if copies.names else name.startswith(f"{copies.number:03d}-")


def _journalled(book: Notebook, copies: Copies) -> bool:
    names = (
        file["path"].rpartition("/")[2] for entry in book.journal.entries() for file in entry.files
    )
    return copies.number > 0 and any(
        _is_named(name, copies) and not name.endswith(f"-{PURGED}.md") for name in names
    )


def _archived(book: Notebook) -> Iterator[Note]:
    """Every copy in the archive that reads as a note, oldest first."""
    for change in sorted(disk.list_names(book.journal.archive)):
        if os.path.islink(os.path.join(book.journal.archive, change)):
            continue
        folder = os.path.join(book.journal.archive, change, "memories")
        for name in sorted(disk.list_names(folder)):
            path = os.path.join(folder, name)
            try:
                yield parse(path, disk.read_bytes(path))
            except (CoError, FileNotFoundError):
                continue
