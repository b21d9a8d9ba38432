"""co inbox: the drafts that wait for a yes."""

from contextlib import suppress

import click

from co_cli.cli.list import note_table
from co_cli.cli.options import as_json, assume_yes, complete_ref, open_here
from co_cli.cli.output import confirm, no_yes, notice, on_terminal, quote, say, tell, to_json
from co_cli.errors import NotFound, RefusedText
from co_cli.knowledge import Note, Notebook
from co_cli.knowledge.inbox import accept, plan_accept, reject, vouched, waiting
from co_cli.learning.rejected import remember_rejection
from co_cli.results import NO_DRAFTS, forgotten_json, note_json, plural, saved_json


@click.command("inbox")
@click.argument("verb", required=False, type=click.Choice(["accept", "reject"]))
@click.argument("refs", nargs=-1, metavar="[REF]...", shell_complete=complete_ref)
@click.option("--all", "every", is_flag=True, help="All that you said and that collides with none.")
@click.option("--kind", help="With --all, only drafts of this category, such as preference.")
@assume_yes
@as_json
def inbox_command(
    verb: str | None, refs: tuple[str, ...], every: bool, kind: str | None, yes: bool, as_json: bool
) -> None:
    """Review the drafts that wait for your yes, or accept or reject some by REF (i:NAME)."""
    if bool(verb) != bool(refs or every):
        raise click.UsageError(
            "To settle some: co inbox accept REF... (or --all), or reject REF..."
        )
    workspace = open_here()
    drafts = [(book, one) for book in workspace.shelf for one in waiting(book)]
    if verb:
        places = map(workspace.shelf.place, refs)
        found = [(book, book.find(f"i:{name.removeprefix('i:')}")) for book, name in places]
        named = [(book, one) for book, draft in found for one in vouched(book, [draft])]
        both = [(b, one) for b, one in drafts if kind in (None, one.category) and _is_plain(b, one)]
        _settle(verb, both if every else named, yes, as_json)
    elif as_json:
        to_json({"drafts": [note_json(*one) for one in drafts], "count": len(drafts)})
    elif drafts and on_terminal():
        from co_cli.chat.inbox import at_terminal  # and with it what draws cards

        say(at_terminal(workspace, say))
    elif drafts:
        note_table(drafts)
    else:
        notice(NO_DRAFTS)


def _is_plain(book: Notebook, draft: Note) -> bool:
    """Whether a draft needs no look of its own: the person's words, which collide with nothing."""
    with suppress(RefusedText):
        met = plan_accept(book, draft, actor="cli").saved.similar
        return not (met or draft.external)
    return False


def _settle(verb: str, drafts: list[tuple[Notebook, Note]], yes: bool, as_json: bool) -> None:
    if not drafts:
        raise NotFound("no such draft waits", hint="`co inbox --json` shows what waits.")
    for _, one in [] if yes else drafts:
        quote(one.body)
    if not confirm(f"{verb.capitalize()} {plural(len(drafts), 'draft')}?", yes):
        raise no_yes("nothing was changed")
    done = []
    for book, one in drafts:
        if verb == "accept":
            done.append(saved_json(book, accept(book, one, actor="cli")))
        else:
            done.append(forgotten_json(reject(book, one, actor="cli")))
            remember_rejection(one)
    tell(as_json, done, "\n".join(one["display"] for one in done))
