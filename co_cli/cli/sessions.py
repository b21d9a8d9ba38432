"""co session: the conversations that are kept here; one can be deleted alone."""

import click

from co_cli.chat import transcripts
from co_cli.cli.chat import conversations
from co_cli.cli.options import as_json, assume_yes, completing, open_here
from co_cli.cli.output import confirm, no_yes, notice, say, say_line, to_json
from co_cli.knowledge import inbox
from co_cli.knowledge.purge import find_copies, purge
from co_cli.results import plural


@click.group("session", invoke_without_command=True)
@as_json
@click.pass_context
def session_command(ctx: click.Context, as_json: bool) -> None:
    """List the conversations of this folder, the latest first."""
    if ctx.invoked_subcommand:
        return
    found = transcripts.recent(open_here().project, 100)
    if as_json:
        names = ("id", "started", "turns", "said")
        rows = [{name: getattr(one, name) for name in names} for one in found]
        to_json({"count": len(rows), "sessions": rows})
    elif found:
        say("\n".join(transcripts.described(one.path for one in found)))
        notice("To go on with one: co chat --resume ID")
    else:
        notice("There are no conversations in this folder.")


@session_command.command("delete")
@click.argument("name", shell_complete=completing(lambda _: conversations()))
@click.option("--drafts", is_flag=True, help="Also the drafts from it that still wait.")
@assume_yes
def delete_command(name: str, drafts: bool, yes: bool) -> None:
    """Delete one conversation for good: its id, or the four letters it ends with.

    What was saved as a memory in it stays. Co asks about drafts from it that still wait.
    """
    workspace = open_here()
    one = transcripts.find(workspace.project, name)
    if not yes:
        say("\n".join(transcripts.described([one.path])))
    if not confirm("Delete it for good?", yes):
        raise no_yes("nothing was deleted")
    transcripts.remove([one.path])
    say_line(f"✓ Deleted the conversation {one.id}")
    every = [(book, note) for book in workspace.shelf for note in inbox.waiting(book)]
    found = [(book, note) for book, note in every if note.meta.get("origin") == one.id]
    for book, note in found:
        say_line(f"A draft from it still waits: {book.ref(note)}  {note.summary}")
    if found and confirm(f"Delete {plural(len(found), 'draft')} from it too?", drafts):
        for book, note in found:
            purge(book, find_copies(book, note.handle))
        say_line(f"✓ Deleted {plural(len(found), 'draft')}")
    elif found:
        notice("To review what waits: co inbox")
