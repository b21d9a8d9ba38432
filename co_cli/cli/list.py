"""co knowledge list: every memory on a line. Loads nothing that writes."""

from __future__ import annotations

import click

from co_cli.cli.here import open_here
from co_cli.cli.options import as_json, in_user
from co_cli.cli.output import notice, table, to_json
from co_cli.knowledge.format.note import Note
from co_cli.knowledge.reader import Reader
from co_cli.results import marks, note_json, plural, span


@click.command("list")
@click.option("-t", "--tag", help="Only memories with this tag.")
@in_user
@as_json
def list_command(tag: str | None = None, in_user: bool = False, as_json: bool = False) -> None:
    """List memories, this project's first, then your own."""
    workspace = open_here(Reader)
    books = [workspace.shelf.user] if in_user else list(workspace.shelf.books())
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
        if workspace.trust.foreign and not in_user:
            notice("This folder is not trusted; its notes are shown to you and to no model.")
        elif not in_user and (new := workspace.new_notes()):
            notice(f"{len(new)} of these came with git and are shown to no model: co trust")
    elif tag is not None:
        notice(f"No memory has the tag {tag}.")
    else:
        notice("No memories saved yet.")
        notice('Try: co learn "We deploy on Tuesdays" --tag decision')
    unread = sum(len(book.problems) for book in books)
    if unread:
        notice(f"{plural(unread, 'file')} could not be read: co knowledge doctor")


def row(book: Reader, note: Note) -> tuple[str, ...]:
    """A note's line in a list."""
    tags = ", ".join(note.tags)
    return book.ref(note), span(note), marks(note, book.today()), tags, note.summary
