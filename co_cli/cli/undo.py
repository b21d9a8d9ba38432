"""co knowledge undo: take back a change."""

import click

from co_cli.cli.log import entry_json, files_text
from co_cli.cli.options import as_json, completing, in_user, open_here
from co_cli.cli.output import tell
from co_cli.knowledge.moving import other_half
from co_cli.knowledge.safety.escape import escape
from co_cli.results import half_undone_text
from co_cli.verbs import changes

_last_changes = completing(lambda _: changes(open_here().shelf.project))


@click.command("undo")
@click.argument("number", type=click.IntRange(1), required=False, metavar="[CHANGE]",
                shell_complete=_last_changes)  # fmt: skip
@in_user
@as_json
def undo_command(number: int | None, in_user: bool, as_json: bool) -> None:
    """Undo the last change, or the one with this number (see `log`)."""
    workspace = open_here()
    book, other = workspace.book(in_user), workspace.book(not in_user)
    entry = book.undo(number or 0)
    text = f"✓ Undid change {entry.n} ({entry.op}): {files_text(entry)}"
    half = half_undone_text(other, other_half(book, other, entry), "co knowledge undo")
    tell(as_json, entry_json(entry), escape(text, keep="") + half)
