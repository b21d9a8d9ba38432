"""co inbox: the drafts that wait for a yes."""

from typing import Any

import click

from co_cli.cli.list import note_table
from co_cli.cli.options import as_json, assume_yes, complete_ref, open_here
from co_cli.cli.output import (
    confirm,
    no_yes,
    notice,
    on_terminal,
    progress,
    quote,
    say,
    say_line,
    tell,
    to_json,
    warn,
)
from co_cli.errors import NotFound
from co_cli.knowledge import Note, Notebook
from co_cli.knowledge.inbox import accept, accept_alone, plan_alone, reject, vouched, waiting
from co_cli.learning.rejected import remember_rejection
from co_cli.results import NO_DRAFTS, draft_text, note_json, plural, rejected_json, saved_json


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
        said = [(b, o) for b, o in drafts if kind in (None, o.category) and not o.external]
        _settle(verb, said if every else named, yes, as_json, every)
    elif as_json:
        to_json({"drafts": [note_json(*one) for one in drafts], "count": len(drafts)})
    elif drafts and on_terminal():
        from co_cli.chat.inbox import at_terminal  # and with it what draws cards

        say(at_terminal(workspace, say))
    elif drafts:
        note_table(drafts)
    else:
        notice(NO_DRAFTS)


def _show(book: Notebook, draft: Note) -> None:
    """All that accepting it would write, and whose words it is."""
    quote(draft.body)
    where = f"your notes for {draft.language}" if draft.language else f"{book.label} notebook"
    about = {"Tags": ", ".join(draft.tags) or "none", "Where": where, **draft_text(book, draft)}
    for label, text in about.items():
        say_line(f"  {label:<7}{text}")


def _settle(
    verb: str, drafts: list[tuple[Notebook, Note]], yes: bool, as_json: bool, every: bool
) -> None:
    """Do what the person agrees to; what was done is told, whatever comes between."""
    if not drafts:
        raise NotFound("no such draft waits", hint="`co inbox --json` shows what waits.")
    for shown in [] if yes else drafts:
        _show(*shown)
    beside = ", but none that collides" if every else ""
    if not confirm(f"{verb.capitalize()} {plural(len(drafts), 'draft')}{beside}?", yes):
        raise no_yes("nothing was changed")
    done = list[dict[str, Any]]()
    try:
        with progress("Drafts") as tick:
            for number, (book, one) in enumerate(drafts, 1):
                done += _settled(verb, book, one, every)
                if tick:
                    tick(number, len(drafts))
    finally:
        if done:
            tell(as_json, done, "\n".join(one["display"] for one in done))
    if left := len(drafts) - len(done):
        warn(f"{plural(left, 'draft')} left, which a look is needed for: co inbox")
    if not done:
        raise NotFound("nothing was changed")


def _settled(verb: str, book: Notebook, draft: Note, every: bool) -> list[dict[str, Any]]:
    """What came of a draft; nothing where it needs a look of its own and `every` one was meant."""
    if verb == "accept":
        saved = (accept_alone if every else accept)(book, draft, actor="cli")
        return [saved_json(book, saved)] if saved else []
    if every and plan_alone(book, draft, actor="cli") is None:
        return []
    gone = rejected_json(reject(book, draft, actor="cli"))
    remember_rejection(draft)
    return [gone]
