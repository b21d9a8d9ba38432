"""co knowledge show: a note's file. Loads nothing that writes."""

import click

from co_cli.cli.options import act_on, as_json, in_user, on_ref, open_here
from co_cli.cli.output import notice, say, to_json
from co_cli.errors import NotFound
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
        links = note.meta.get("related")
        for other in [n for n in book.notes() if isinstance(links, list) and n.uid in links]:
            notice(f"related  {book.ref(other)}  {other.summary}")
        if note.attachment:
            notice(f"original  {escape(book.store.locate(note.attachment), keep='')}")
