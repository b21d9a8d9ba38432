"""co knowledge edit: a note in the person's own editor."""

import click

from co_cli.cli.options import act_on, as_json, in_user, on_ref, open_here
from co_cli.cli.output import confirm, notice, on_terminal, say, to_json, warn
from co_cli.editing import Editing
from co_cli.errors import CoError, FormatError
from co_cli.knowledge import Note
from co_cli.results import note_json, undo_hint


@click.command("edit")
@on_ref
@in_user
@as_json
def edit_command(ref: str, in_user: bool, as_json: bool) -> None:
    """Edit a memory or article in $VISUAL or $EDITOR; the result is checked before it is saved."""
    book, note = act_on(open_here().shelf, ref, in_user, lambda book, one: book.find(one))
    kept = _edit(Editing(book, note))
    if as_json:
        to_json(note_json(book, kept))
    elif kept is note:
        notice("Nothing changed.")
    else:
        say(f"✓ Edited {kept.kind} {book.ref(kept)}. Undo: {undo_hint(book)}")


def _edit(editing: Editing) -> Note:
    """Let the person edit until it can be kept or they give up; the note as it is then."""
    while True:
        try:
            return editing.run("vi" if on_terminal() else "")
        except FormatError as error:
            if not on_terminal():
                raise CoError(str(error), hint=editing.kept) from error
            warn(error)
            if not confirm("Edit it again?", yes=False, default=True):
                raise CoError(f"the {editing.note.kind} is unchanged", hint=editing.kept) from error
