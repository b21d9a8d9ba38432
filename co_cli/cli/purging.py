"""co forget --purge: what goes, what stays, the question, and then every copy."""

from __future__ import annotations

import os
from typing import Any

from co_cli import logs
from co_cli.chat import mentions, transcripts
from co_cli.cli.output import notice, on_terminal, say_line
from co_cli.cli.shared import confirm, drop_drafts
from co_cli.errors import CoError, DiskTrouble
from co_cli.knowledge import purge as purging
from co_cli.knowledge.format.note import Note, number_of
from co_cli.knowledge.notebook import Notebook
from co_cli.knowledge.purge import Copies, find_copies
from co_cli.knowledge.reader import Ref
from co_cli.knowledge.safety.escape import visible
from co_cli.results import plural


def purge_note(book: Notebook, ref: Ref, yes: bool, with_earlier: bool) -> dict[str, Any]:
    """Remove a note for good, after saying what that means and asking."""
    copies = _with_earlier(book, find_copies(book, ref, earlier=with_earlier), yes)
    name = f"{book.prefix}{copies.number}"
    for line in _staying(book, copies):
        notice(line)
    talks = _conversations(book, copies, yes)
    for line in transcripts.described(talks):
        notice(f"co: this conversation goes with it: {visible(line, keep='')}")
    quoting = logs.quoting()
    if quoting:
        notice("co: the log quotes memories, and goes with it")
    many = plural(len(copies), "copy") + (
        f", {plural(len(talks), 'conversation')}" if talks else ""
    )
    if not confirm(f'Remove memory {name} ({many}) for good: "{copies.text}"?', yes):
        raise CoError(f"memory {name} was not purged", hint="Answer y, or add --yes.")
    did: list[str] = []

    def first() -> None:  # without the notebook's copies, nobody knows the words to look for
        for path in quoting:
            os.unlink(path)
        drop_drafts(book, copies.names)
        for path in talks:
            transcripts.remove([path])
            did.append(path)

    try:
        purging.purge(book, copies, first=first)
    except DiskTrouble as error:
        if did:
            error.hint = f"{plural(len(did), 'conversation')} and {error.hint}"
        raise
    display = (
        f"✓ Purged memory {name}: {many} removed.\n"
        "Git history, backups, open editors and notes it was merged into may still hold it."
    )
    return {
        "display": display,
        "memory_id": copies.number,
        "ref": name,
        "action": "purged",
        "conversations": [os.path.basename(path)[:-6] for path in talks],
        "restorable": [book.ref(note) for note in copies.earlier],
    }


def _conversations(book: Notebook, copies: Copies, yes: bool) -> list[str]:
    """The conversations that hold it; where that is only likely, the person decides."""
    found = mentions.about(copies.marks, copies.texts, _names(book, copies))
    if not found.likely or yes or not on_terminal():
        return sorted([*found.certain, *found.likely])
    say_line("These conversations hold the same words, and Co did not record where they are from:")
    for line in transcripts.described(found.likely):
        say_line(f"  {line}")
    too = confirm("Remove them too?", yes=False)
    return sorted([*found.certain, *found.likely]) if too else found.certain


def _with_earlier(book: Notebook, copies: Copies, yes: bool) -> Copies:
    """The same with what it was made of or replaced, if the person wants that gone as well."""
    if not copies.earlier or yes or not on_terminal():
        return copies
    say_line(f"Memory {book.prefix}{copies.number} was made of or replaced these, which stay:")
    for note in copies.earlier:
        say_line(f"  {_line(book, note)}")
    too = confirm("Remove them too?", yes=False)
    return find_copies(book, copies.ref, earlier=True) if too else copies


def _line(book: Notebook, note: Note) -> str:
    return f"{book.ref(note)}  {note.summary}"


def _staying(book: Notebook, copies: Copies) -> list[str]:
    """What a purge leaves, in words."""
    lines = []
    if copies.earlier:
        refs = ", ".join(book.ref(note) for note in copies.earlier)
        lines += [
            f"co: what it was made of or replaced stays in the archive: {refs}",
            "    To remove that too: --with-earlier",
        ]
    for ref in dict.fromkeys(book.ref(note) for note in copies.beside):
        lines.append(
            f"co: memory {ref} holds a part by the number {copies.number} that is not this "
            "memory's; it stays"
        )
    return lines


def _names(book: Notebook, copies: Copies) -> set[str]:
    """The names of its files; one that says nothing is somebody else's too: there, the path."""
    return {
        name
        if number_of(name) and not name.endswith("-note.md")
        else os.path.join(book.memories, name)
        for name in copies.names
    }
