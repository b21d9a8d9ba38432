"""co knowledge adopt: plain files get a header and a number."""

import click

from co_cli.cli.options import as_json, complete_ref, in_user, open_here
from co_cli.cli.output import say, say_line, to_json
from co_cli.results import note_json, undo_hint


@click.command("adopt")
@click.argument("refs", nargs=-1, metavar="[REF...]", shell_complete=complete_ref)
@in_user
@as_json
def adopt_command(refs: tuple[str, ...], in_user: bool, as_json: bool) -> None:
    """Add a header with a number and a date to plain files; their text stays unchanged.

    Without REF, adopt all of this project's, or all your own with -g.
    """
    shelf = open_here().shelf
    placed = [shelf.place(ref, in_user=in_user) for ref in refs]
    books = dict.fromkeys(
        [book for book, _ in placed] or [shelf.user if in_user else shelf.project]
    )
    notes = [
        (book, note)
        for book in books
        for note in book.adopt([name for where, name in placed if where is book]).adopted
    ]
    if as_json:
        to_json({"adopted": [note_json(book, note) for book, note in notes]})
        return
    for book, note in notes:
        say_line(f"✓ {note.name} is now {note.kind} {book.ref(note)}: {note.summary}")
    say(f"Undo: {', '.join(map(undo_hint, books))}")
