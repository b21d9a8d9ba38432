"""What is wrong with a notebook, file by file, in words. Looks, and changes nothing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from co_cli.errors import CoError
from co_cli.knowledge.format.note import Note, has_conflict
from co_cli.knowledge.notebook import Notebook
from co_cli.knowledge.pages import Problem
from co_cli.knowledge.store import JOURNAL, Entry, disk

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


def diagnose(book: Notebook) -> list[Problem]:
    """Every problem, each with the file, the line where one is to blame, and the reason."""
    look = book.look()
    notes = look.notes
    return [
        *look.problems,
        *_twins(book, notes),
        *_copied(book, notes),
        *(problem for note in notes for problem in _odd(note)),
        *_journal(book),
    ]


def _twins(book: Notebook, notes: list[Note]) -> list[Problem]:
    count = Counter(note.id for note in notes)
    return [
        Problem(
            note.path,
            f"has the same number ({note.id}) as {count[note.id] - 1} other file(s); both are kept."
            f" To give it a new `id`: co knowledge edit {book.prefix}{note.name[:-3]}",
        )
        for note in notes
        if count[note.id] > 1
    ]


def _copied(book: Notebook, notes: list[Note]) -> list[Problem]:
    """Files that have another one's uid, as a copy has."""
    copies = book.copies(notes, notes)
    return [
        Problem(
            note.path,
            f"has a `uid` that belongs to another file ({note.uid}); it gets one of its own when "
            "Co next changes it, and you may delete that line",
        )
        for note in notes
        if note.path in copies
    ]


def _odd(note: Note) -> list[Problem]:
    found = []
    if line := has_conflict(note.raw.decode()):
        found.append(Problem(note.path, "holds an unresolved merge conflict", line))
    expires = note.meta.get("expires")
    if expires and not _DATE.match(str(expires)):
        found.append(Problem(note.path, f"`expires` is not a date: {expires}"))
    return found


def _journal(book: Notebook) -> list[Problem]:
    store, path = book.store, book.store.locate(JOURNAL)
    unread = "a line cannot be read and is passed over"
    found = [Problem(path, unread, line) for line in store.unreadable_lines()]
    if store.tail().state == "intent":
        found.append(Problem(path, "a change is unfinished; the next save settles it"))
    entries = store.entries()
    for entry in entries:
        if entry.state == "cut short" and not _repeated(entry, entries):
            found.append(Problem(path, f"change {entry.n}, a purge, was cut short; repeat it"))
        found += [problem for file in entry.files for problem in _kept(book, entry, file)]
    return found


def _repeated(purge: Entry, entries: list[Entry]) -> bool:
    """Whether a purge that was cut short was carried out later."""
    later = [one for one in entries if one.n > purge.n and (one.op, one.state) == ("purge", "done")]
    about = {file["path"] for file in purge.files}
    return any(about <= {file["path"] for file in one.files} for one in later)


def _kept(book: Notebook, entry: Entry, file: dict[str, Any]) -> Iterator[Problem]:
    """What is odd about the previous bytes of one file: gone, or written to since."""
    name = file["path"]
    path = book.store.locate(name, entry.n)
    try:
        held = disk.digest(book.store.read(name, entry.n))
    except CoError as error:
        yield Problem(path, str(error))
        return
    if entry.state == "done" and file["before"] not in (None, "purged", held):
        if held is None:
            yield Problem(path, f"change {entry.n} can no longer be undone: it is gone")
        else:
            yield Problem(
                path,
                f"was written to after change {entry.n} had put it away; compare it with {name}",
            )
    elif entry.state == "rolled back" and file["before"] and held:
        yield Problem(
            path,
            f"somebody saved this while {name} was being changed; compare them, then delete this",
        )
