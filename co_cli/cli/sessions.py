"""co session: the conversations that are kept here; one can be deleted alone."""

from collections.abc import Iterator
from contextlib import suppress

import click

from co_cli.chat import transcripts
from co_cli.cli.chat import conversations
from co_cli.cli.options import as_json, assume_yes, completing, open_here
from co_cli.cli.output import confirm, no_yes, notice, say, say_line, to_json, warn
from co_cli.errors import NotFound
from co_cli.knowledge import Note, Notebook
from co_cli.knowledge.lineage import Lineage, lineages
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
@click.option("--drafts", is_flag=True, help="Also the drafts from it, waiting or archived.")
@assume_yes
def delete_command(name: str, drafts: bool, yes: bool) -> None:
    """Delete one conversation for good: its id, or the four letters it ends with.

    What was saved as a memory in it stays. Co names the drafts from it that still wait or are in
    the archive, and asks about them. Those of a conversation that is gone are found by its id.
    """
    workspace = open_here()
    known = [one for book in workspace.shelf for one in _drafts(book)]
    try:
        talk = transcripts.find(workspace.project, name)
    except NotFound:
        if not any(origin == name for origin, _, _ in known):
            raise
    else:
        if not yes:
            say("\n".join(transcripts.described([talk.path])))
        if not confirm("Delete it for good?", yes):
            raise no_yes("nothing was deleted")
        name = talk.id
        transcripts.remove([talk.path])
        say_line(f"✓ Deleted the conversation {name}")
    found = [(book, one) for origin, book, one in known if origin == name]
    for book, one in found:
        where = "still waits" if one.is_there else "is in the archive"
        say_line(f"A draft from it {where}: {book.ref(_last(one))}  {_last(one).summary}")
    if found and confirm(f"Delete {plural(len(found), 'draft')} from it too?", drafts):
        _delete(found, name)
    elif found:
        quoting = "Drafts quote what you said, and undo can bring back those in the archive."
        notice(f"{quoting}\nTo review what waits: co inbox")
        notice(f"To delete them all: co session delete {name} --drafts")


def _drafts(book: Notebook) -> Iterator[tuple[str, Notebook, Lineage]]:
    """Every draft that is kept, also one that was accepted or rejected, and where it was said."""
    for one in lineages(book):
        if one.latest and one.latest.kind == "draft":
            yield str(one.latest.meta.get("origin") or ""), book, one


def _last(one: Lineage) -> Note:
    return one.notes[-1]


def _delete(found: list[tuple[Notebook, Lineage]], origin: str) -> None:
    """Purge these drafts, but for one whose words another conversation gave too."""
    left = 0
    for book, one in found:
        with suppress(NotFound):  # gone with another that says the same
            copies = find_copies(book, _last(one).handle)
            notes = (note for same in copies.own for note in same.notes)
            if all(note.meta.get("origin") == origin for note in notes):
                purge(book, copies)
                continue
            left, ref = left + 1, book.ref(_last(one))
            what = f"draft {ref} stays, as another conversation gave the same"
            warn(what, hint=f"To delete all that holds it: co forget {ref} --purge")
    say_line(f"✓ Deleted {plural(len(found) - left, 'draft')}")
