"""co knowledge merge: several memories become one."""

import click

from co_cli.cli.options import as_json, complete_ref, in_user, open_here
from co_cli.cli.output import paint, say, styled, to_json
from co_cli.errors import CoError
from co_cli.results import note_json, undo_hint


@click.command("merge")
@click.argument("refs", nargs=-1, required=True, metavar="REF REF...", shell_complete=complete_ref)
@click.option("--keep-first", is_flag=True, help="Keep only the first one's text.")
@in_user
@as_json
def merge_command(refs: tuple[str, ...], keep_first: bool, in_user: bool, as_json: bool) -> None:
    """Merge memories into the first one, joining their texts."""
    shelf = open_here().shelf
    placed = [shelf.place(ref, in_user=in_user) for ref in refs]
    book = placed[0][0]
    if any(other is not book for other, _ in placed):
        raise CoError("memories of two notebooks cannot be merged",
                      hint="Save one of them in the other notebook first.")  # fmt: skip
    saved = book.merge([name for _, name in placed], keep_first=keep_first)
    if as_json:
        to_json(note_json(book, saved.note))
    else:
        say(f"✓ Merged {', '.join(refs)} into memory {saved.ref}:")
        paint(styled(saved.note.body), "    ")
        say(f"The others are archived. Undo: {undo_hint(book)}")
