"""co knowledge tag: give a note tags, or take some off."""

import click

from co_cli.cli.options import act_on, as_json, complete_tag, in_user, on_ref, open_here
from co_cli.cli.output import tell
from co_cli.errors import CoError
from co_cli.knowledge import Note, Notebook
from co_cli.knowledge.format.rewrite import rewrite
from co_cli.knowledge.lifecycle import union
from co_cli.knowledge.pages import Ref
from co_cli.knowledge.safety.check import clean_tags, typed_tags
from co_cli.results import note_json, undo_hint


@click.command("tag")
@on_ref
@click.argument("tags", metavar="[TAG]...", nargs=-1, shell_complete=complete_tag)
@click.option("--remove", multiple=True, metavar="TAG", help="Tag to remove; repeatable.")
@in_user
@as_json
def tag_command(
    ref: str, tags: tuple[str, ...], remove: tuple[str, ...], in_user: bool, as_json: bool
) -> None:
    """Add tags to a memory or article, or remove some."""
    if not (tags or remove):
        raise CoError("no tag is named", hint="For example: co knowledge tag 12 python testing")
    added = clean_tags(typed_tags(tags))

    def act(book: Notebook, one: Ref) -> tuple[Note, bool]:
        note = book.find(one)
        wanted = [tag for tag in union(note.tags, added) if tag not in remove]
        if wanted == note.tags:
            return note, False
        if note.plain:
            hint = f"co knowledge adopt {book.ref(note)} gives it one."
            raise CoError(f"{note.name} has no header for tags yet", hint=hint)
        bare = rewrite(note.raw, {"tags": None}) if set(note.tags) - set(wanted) else note.raw
        return book.replace(note, rewrite(bare, {"tags": wanted or None})).note, True

    book, (note, changed) = act_on(open_here().shelf, ref, in_user, act)
    now = (
        f"{note.kind.capitalize()} {book.ref(note)} has the tags: {', '.join(note.tags) or 'none'}"
    )
    tell(as_json, note_json(book, note), f"✓ {now}\nUndo: {undo_hint(book)}" if changed else now)
