"""co forget: archive memories, or with --purge remove every copy."""

from __future__ import annotations

import os
from typing import Any

import click

from co_cli import logs
from co_cli.chat import mentions, transcripts
from co_cli.cli.drafts import drop_drafts
from co_cli.cli.here import open_here
from co_cli.cli.options import RefType, as_json, assume_yes, in_user, is_ref
from co_cli.cli.output import notice, on_terminal, say_line, tell
from co_cli.cli.questions import act_on, confirm
from co_cli.errors import Ambiguous, CoError, DiskTrouble, NotFound
from co_cli.knowledge import purge as purging
from co_cli.knowledge.format.note import number_of
from co_cli.knowledge.notebook import Notebook
from co_cli.knowledge.pages import Ref, named
from co_cli.knowledge.purge import Copies, find_copies
from co_cli.knowledge.safety.escape import escape
from co_cli.knowledge.search.scan import holds
from co_cli.knowledge.shelf import Shelf
from co_cli.results import plural


@click.command("forget")
@click.argument("what", nargs=-1, required=True, metavar="REF|TEXT", type=RefType())
@in_user
@click.option("--purge", is_flag=True, help="Delete every copy Co keeps; this cannot be undone.")
@click.option(
    "--with-earlier", is_flag=True, help="Also purge the memories it was made from or replaced."
)
@assume_yes
@as_json
def forget_command(
    what: tuple[str, ...], in_user: bool, purge: bool, with_earlier: bool, yes: bool, as_json: bool
) -> None:
    """Archive memories, given by REF (12, g12) or by a TEXT that only one of them contains."""
    if with_earlier and not purge:
        raise click.UsageError("--with-earlier needs --purge")
    shelf = open_here().shelf

    def resolve(book: Notebook, ref: Ref) -> Ref:  # a purged note need not be there any more
        return ref if purge else book.find(ref)

    meant: list[tuple[Notebook, Ref]]
    if all(is_ref(word) for word in what):  # each is found before any is touched
        meant = [act_on(shelf, word, in_user, resolve) for word in what]
    else:
        meant = [_described(shelf, " ".join(what), in_user, yes)]
    done = [
        _purge(book, ref, yes, with_earlier) if purge else _forget(book, ref) for book, ref in meant
    ]
    value = done[0] if len(done) == 1 else done
    tell(as_json, value, "\n".join(one["display"] for one in done))


def _forget(book: Notebook, ref: Ref) -> dict[str, Any]:
    saved = book.forget(ref)
    back = f"co knowledge restore {saved.ref}"
    display = f"✓ Forgot memory {saved.ref}: {saved.note.summary}\nTo bring it back: {back}"
    return {"display": display, "memory_id": saved.note.id, "ref": saved.ref, "action": "forgotten"}


def _described(shelf: Shelf, text: str, in_user: bool, yes: bool) -> tuple[Notebook, Ref]:
    """The one memory that goes by this name or holds all these words."""
    books = [shelf.user] if in_user else shelf.books()
    found = [(book, note) for book in books for note in named(text, book.notes())]
    found = found or [(book, note) for book in books for note in book.notes() if holds(note, text)]
    if not found:
        raise NotFound(f"no memory contains '{text}'", hint=f"Look for it: co recall {text}")
    exact = [(book, note) for book, note in found if text.lower() in note.body.lower()]
    found = exact if len(exact) == 1 else found
    if len(found) > 1:
        lines = "\n".join(f"      {book.ref(note)}  {note.summary}" for book, note in found[:10])
        first = found[0][0].ref(found[0][1])
        raise Ambiguous(
            f"{len(found)} memories contain '{text}'",
            choices=(),
            hint=f"Say which by its number, such as `co forget {first}`:\n{lines}",
        )
    book, note = found[0]
    if on_terminal() and not confirm(f'Forget memory {book.ref(note)}: "{note.summary}"?', yes):
        raise CoError("nothing was forgotten")
    return book, note


def _purge(book: Notebook, ref: Ref, yes: bool, with_earlier: bool) -> dict[str, Any]:
    """Remove a note for good, after saying what that means and asking."""
    copies = _with_earlier(book, find_copies(book, ref, earlier=with_earlier), yes)
    name = f"{book.prefix}{copies.number}"
    for line in _staying(book, copies):
        notice(line)
    talks = _conversations(book, copies, yes)
    for line in transcripts.described(talks):
        notice(f"co: this conversation will be deleted too: {escape(line, keep='')}")
    quoting = logs.content_logs()
    if quoting:
        notice("co: the log quotes memories and will be deleted too")
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
    except DiskTrouble:
        if did:
            notice(f"co: {plural(len(did), 'conversation')} deleted before this happened:")
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
    every = sorted([*found.certain, *found.likely])
    if not found.likely or yes or not on_terminal():
        return every
    say_line("These conversations hold the same words, and Co did not record where they came from:")
    for line in transcripts.described(found.likely):
        say_line(f"  {line}")
    return every if confirm("Remove them too?", yes=False) else found.certain


def _with_earlier(book: Notebook, copies: Copies, yes: bool) -> Copies:
    """The same with what it was made of or replaced, if the person wants that gone as well."""
    if not copies.earlier or yes or not on_terminal():
        return copies
    say_line(f"Memory {book.prefix}{copies.number} was made from or replaced these, which stay:")
    for note in copies.earlier:
        say_line(f"  {book.ref(note)}  {note.summary}")
    too = confirm("Remove them too?", yes=False)
    return find_copies(book, copies.ref, earlier=True) if too else copies


def _staying(book: Notebook, copies: Copies) -> list[str]:
    """What a purge leaves, in words."""
    lines = []
    if copies.earlier:
        refs = ", ".join(book.ref(note) for note in copies.earlier)
        lines += [
            f"co: the memories it was made from or replaced stay in the archive: {refs}",
            "    To purge them too: --with-earlier",
        ]
    for ref in dict.fromkeys(book.ref(note) for note in copies.beside):
        lines.append(
            f"co: memory {ref} has a section numbered {copies.number} that did not "
            "come from this memory; it stays"
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
