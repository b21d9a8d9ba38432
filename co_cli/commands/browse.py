"""co knowledge list and show: looking at notes."""

from __future__ import annotations

import click

from co_cli.commands.shared import (
    as_json,
    at_user,
    choosing,
    in_user,
    open_desk,
    ref_argument,
)
from co_cli.display import notice, say, table, to_json
from co_cli.errors import NotFound
from co_cli.knowledge.note import Note
from co_cli.knowledge.notebook import Notebook
from co_cli.results import marks, note_json, plural, span


@click.command("list")
@click.option("-t", "--tag", help="Only memories with this tag.")
@in_user
@as_json
def list_command(tag: str | None = None, in_user: bool = False, as_json: bool = False) -> None:
    """List memories, this project's first, then your own."""
    desk = open_desk()
    books = [desk.shelf.user] if in_user else list(desk.shelf.books())
    notes = [book.notes() for book in books]
    pairs = [(book, note) for book, some in zip(books, notes, strict=True) for note in some]
    wanted = tag and tag.lower()
    found = [
        (book, note)
        for book, note in pairs
        if not wanted or wanted in (own.lower() for own in note.tags)
    ]
    if as_json:
        rows = [note_json(book, note) for book, note in found]
        to_json({"count": len(rows), "limit": books[0].policy.max_count, "memories": rows})
    elif found:
        headings = ("ref", "date", "", "tags", "memory")
        table(headings, [row(book, note) for book, note in found])
        counts = [
            f"{len(some)} of {book.policy.max_count} ({book.scope})"
            for book, some in zip(books, notes, strict=True)
        ]
        notice(f"\nTotal memories: {', '.join(counts)}")
        if not desk.trust.known and not desk.trust.nothing_to_trust and not in_user:
            notice("This folder is not trusted; its notes are shown to you and to no model.")
    elif tag is not None:
        notice(f"No memory has the tag {tag}.")
    else:
        notice("No memories saved yet.")
        notice('Try: co learn "We deploy on Tuesdays" --tag decision')
    unread = sum(len(book.problems) for book in books)
    if unread:
        notice(f"{plural(unread, 'file')} could not be read: co knowledge doctor")


def row(book: Notebook, note: Note) -> tuple[str, ...]:
    """A note's line in a list."""
    tags = ", ".join(note.tags)
    return book.ref(note), span(note), marks(note, book.today()), tags, note.summary


@click.command("show")
@ref_argument()
@in_user
@as_json
def show_command(ref: str, in_user: bool, as_json: bool) -> None:
    """Show a memory's file, or where decay has put it."""
    desk = open_desk()
    try:
        book, note = choosing(desk.shelf, ref, lambda book, name: (book, book.find(name)), in_user)
    except NotFound:
        book, name = desk.shelf.place(at_user(ref, in_user))
        number = int(name) if name.isdecimal() and len(name) < 10 else 0
        inside = book.inside(number)
        if inside is None:
            raise
        holder, section = inside
        if as_json:
            to_json(note_json(book, holder) | {"section": section})
        else:
            notice(f"Memory {book.prefix}{name} is now part of memory {book.ref(holder)}:\n")
            say(section)
        return
    if as_json:
        to_json(note_json(book, note))
    else:
        say(note.raw.decode().lstrip("\ufeff").replace("\r\n", "\n").rstrip("\n"))
