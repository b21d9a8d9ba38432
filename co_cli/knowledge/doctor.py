"""What is wrong with a notebook, file by file, in words. Looks, and changes nothing."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from co_cli.errors import CoError
from co_cli.knowledge.format.note import Note, has_conflict
from co_cli.knowledge.notebook import Notebook
from co_cli.knowledge.pages import Problem
from co_cli.knowledge.store import JOURNAL, Entry, disk


def diagnose(book: Notebook) -> list[Problem]:
    """Every problem, each with the file, the line where one is to blame, and the reason."""
    look = book.look()
    return [*look.problems, *_odd(book, look.notes), *_journal(book)]


def _odd(book: Notebook, notes: list[Note]) -> Iterator[Problem]:
    """What is odd about notes that can be read."""
    count, copies = Counter(note.id for note in notes), book.copies(notes, notes)
    for note in notes:
        if note.id and (others := count[note.id] - 1):
            edit = f"co knowledge edit {book.prefix}{note.name[:-3]}"
            said = f"has the same number ({note.id}) as {others} other file(s); both are kept."
            yield Problem(note.path, f"{said} To give it a new `id`: {edit}")
        if note.path in copies:
            said = f"has a `uid` that belongs to another file ({note.uid})"
            later = "it gets one of its own when Co next changes it, and you may delete that line"
            yield Problem(note.path, f"{said}; {later}")
        if line := has_conflict(note.raw.decode()):
            yield Problem(note.path, "holds an unresolved merge conflict", line)
        expires = note.meta.get("expires")
        if expires and not re.match(r"\d{4}-\d{2}-\d{2}", str(expires)):
            yield Problem(note.path, f"`expires` is not a date: {expires}")


def _journal(book: Notebook) -> Iterator[Problem]:
    store, path = book.store, book.store.locate(JOURNAL)
    for line in store.unreadable_lines():
        yield Problem(path, "a line cannot be read and is passed over", line)
    if store.tail().state == "intent":
        yield Problem(path, "a change is unfinished; the next save settles it")
    entries = store.entries()
    for entry in entries:
        if entry.state == "cut short" and not _repeated(entry, entries):
            yield Problem(path, f"change {entry.n}, a purge, was cut short; repeat it")
        for file in entry.files:
            if reason := _about_kept(book, entry, file):
                yield Problem(store.locate(file["path"], entry.n), reason)


def _repeated(purge: Entry, entries: list[Entry]) -> bool:
    """Whether a purge that was cut short was carried out later."""
    later = [one for one in entries if one.n > purge.n and (one.op, one.state) == ("purge", "done")]
    about = {file["path"] for file in purge.files}
    return any(about <= {file["path"] for file in one.files} for one in later)


def _about_kept(book: Notebook, entry: Entry, file: dict[str, Any]) -> str:
    """What is odd about the previous bytes of one file: gone, or written to since."""
    name, n = file["path"], entry.n
    try:
        held = disk.digest(book.store.read(name, n))
    except CoError as error:
        return str(error)
    if entry.state == "done" and file["before"] not in (None, "purged", held):
        if held is None:
            return f"change {n} can no longer be undone: it is gone"
        return f"was written to after change {n} had put it away; compare it with {name}"
    if entry.state == "rolled back" and file["before"] and held:
        return f"somebody saved this while {name} was being changed; compare them, then delete this"
    return ""
