"""co knowledge show: a note's file. Loads nothing that writes."""

import click

from co_cli.cli.options import act_on, as_json, in_user, on_ref, open_here
from co_cli.cli.output import notice, say, to_json
from co_cli.errors import NotFound
from co_cli.knowledge import Note, Notebook, Shelf
from co_cli.knowledge.format.note import linked_uids
from co_cli.knowledge.pages import as_number
from co_cli.knowledge.safety.escape import escape
from co_cli.results import note_json, outdated, outside_text


@click.command("show")
@on_ref
@in_user
@as_json
def show_command(ref: str, in_user: bool, as_json: bool) -> None:
    """Show the file of a memory or article, or the summary that a memory decayed into."""
    shelf, section = open_here().shelf, None
    try:
        book, note = act_on(shelf, ref, in_user, lambda book, one: book.find(one))
    except NotFound:
        book, name = shelf.place(ref, in_user=in_user)
        inside = book.inside(as_number(name))
        if inside is None:
            raise
        note, section = inside
    if as_json:
        to_json(note_json(book, note) | ({} if section is None else {"section": section}))
        return
    for told in filter(None, (outside_text(note), *outdated(book, note))):
        notice(escape(told, keep=""))
    if section is not None:
        notice(f"Memory {book.prefix}{name} is now part of memory {book.ref(note)}:\n")
        say(section)
    else:
        text = note.raw.decode().lstrip("\ufeff").replace("\r\n", "\n").rstrip("\n")
        click.echo(escape(text))  # the file as it is, to be copied from
        _notice_links(shelf, book, note)
        if note.attachment:
            notice(f"original  {escape(book.store.locate(note.attachment), keep='')}")


def _notice_links(shelf: Shelf, book: Notebook, note: Note) -> None:
    """Name the notes that a memory's links lead to, and the one that updates it."""
    for field in ("updates", "related"):
        uids = linked_uids(note, field)
        for home in shelf if uids else ():
            for other in [one for one in home.notes() if one.uid in uids]:
                notice(f"{field}  {home.ref(other)}  {other.summary}")
    if current := shelf.updated_by(note):
        home, update = current
        notice(f"updated by  {home.ref(update)}  {update.summary}")
    for _, new, _old in [pair for pair in shelf.unconfirmed() if pair[2].path == note.path]:
        notice(f"maybe updated by  {book.ref(new)}  {new.summary}")
