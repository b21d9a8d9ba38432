"""co session: the conversations that are kept here; one can be deleted alone."""

from collections.abc import Iterator

import click

from co_cli.chat import transcripts
from co_cli.cli.chat import conversations
from co_cli.cli.options import as_json, assume_yes, completing, open_here
from co_cli.cli.output import confirm, no_yes, notice, say, say_line, to_json, warn
from co_cli.editing import drop_drafts
from co_cli.errors import NotFound
from co_cli.knowledge import Note, Notebook
from co_cli.knowledge.copies import find_copies
from co_cli.knowledge.lineage import lineages
from co_cli.knowledge.purge import purge
from co_cli.results import plural


@click.group("session", invoke_without_command=True)
@as_json
@click.pass_context
def session_command(ctx: click.Context, as_json: bool) -> None:
    """List this folder's conversations, latest first."""
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
@click.option("--drafts", is_flag=True, help="Also delete its drafts, pending or archived.")
@assume_yes
def delete_command(name: str, drafts: bool, yes: bool) -> None:
    """Delete a conversation for good, by its ID or the last four characters of it.

    Memories saved from it stay. Co lists its drafts, pending or archived, and asks about them. The
    ID of a conversation that is already deleted finds its drafts.
    """
    workspace = open_here()
    known = [one for book in workspace.shelf for one in _drafts(book)]
    try:
        talk = transcripts.find(workspace.project, name)
    except NotFound:
        if not any(_origin(note) == name for _, note, _ in known):
            raise
    else:
        if not yes:
            say("\n".join(transcripts.described([talk.path])))
        if not confirm("Delete it for good?", yes):
            raise no_yes("nothing was deleted")
        name = talk.id
        transcripts.remove([talk.path])
        say_line(f"✓ Deleted the conversation {name}")
    found = [one for one in known if _origin(one[1]) == name]
    for book, note, where in found:
        say_line(f"A draft from it {where}: {book.ref(note)}  {note.summary}")
    if found and confirm(f"Delete {plural(len(found), 'draft')} from it too?", drafts):
        done = sum(_delete(book, note) for book, note, _ in found)
        say_line(f"✓ Deleted {plural(done, 'draft')}")
    elif found:
        quoting = "Drafts quote what you said, and undo can bring back those in the archive."
        notice(f"{quoting}\nTo review what waits: co inbox")
        notice(f"To delete them all: co session delete {name} --drafts")


def _drafts(book: Notebook) -> Iterator[tuple[Notebook, Note, str]]:
    """Every draft that is kept, also one that was accepted or rejected, and where it is."""
    for one in lineages(book):
        if one.latest and one.latest.kind == "draft":
            yield book, one.latest, "still waits" if one.is_there else "is in the archive"


def _origin(draft: Note) -> str:
    return str(draft.meta.get("origin") or "")


def _delete(book: Notebook, draft: Note) -> bool:
    """Purge a draft, unless another conversation gave its words too; whether it is gone."""
    try:
        copies = find_copies(book, draft)
    except NotFound:  # gone with another that says the same
        return True
    if all(_origin(note) == _origin(draft) for one in copies.own for note in one.notes):
        purge(book, copies, first=lambda: drop_drafts(book, copies.names))
        return True
    ref = book.ref(draft)
    what = f"draft {ref} stays, as another conversation gave the same"
    warn(what, hint=f"To delete all that holds it: co forget {ref} --purge")
    return False
