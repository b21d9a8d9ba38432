"""co inbox: the drafts that wait for a yes."""

from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import click

from co_cli import results
from co_cli.cli import output
from co_cli.cli.list import note_table
from co_cli.cli.options import as_json, assume_yes, complete_ref, open_here
from co_cli.errors import NotFound
from co_cli.knowledge import Note, Notebook, Saved, Shelf, inbox
from co_cli.knowledge.compare.same import same
from co_cli.offline.rejections import remember_rejection

_Drafts = list[tuple[Notebook, Note]]


@click.command("inbox")
@click.argument("verb", required=False, type=click.Choice(["accept", "reject"]))
@click.argument("refs", nargs=-1, metavar="[REF]...", shell_complete=complete_ref)
@click.option(
    "--all", "every", is_flag=True, help="All drafts of what you said that conflict with nothing."
)
@click.option("--kind", help="With --all, only drafts of this category, such as preference.")
@assume_yes
@as_json
def inbox_command(
    verb: str | None, refs: tuple[str, ...], every: bool, kind: str | None, yes: bool, as_json: bool
) -> None:
    """Review drafts before they become memories, or accept or reject some by REF (i:NAME)."""
    if bool(verb) != bool(refs or every):
        raise click.UsageError(
            "To settle some: co inbox accept REF... (or --all), or reject REF..."
        )
    workspace = open_here()
    drafts = [(book, one) for book in workspace.shelf for one in inbox.waiting(book)]
    if verb:
        places = map(workspace.shelf.place, refs)
        found = [(book, book.find(f"i:{name.removeprefix('i:')}")) for book, name in places]
        named = [(book, one) for book, draft in found for one in inbox.vouched(book, [draft])]
        said = [(b, o) for b, o in drafts if kind in (None, o.category) and not o.external]
        _settle(workspace.shelf, verb, said if every else named, yes, as_json, every)
    elif as_json:
        met = _collisions(workspace.shelf, drafts)
        rows = [results.note_json(at, one) | {"collides": met[one.path]} for at, one in drafts]
        output.to_json({"drafts": rows, "count": len(drafts)})
    elif drafts and output.on_terminal():
        from co_cli.chat.inbox import at_terminal  # and with it what draws cards

        output.say(at_terminal(workspace, output.say))
    elif drafts:
        note_table(drafts)
        met = _collisions(workspace.shelf, drafts)
        for book, one in drafts:
            if beside := ", ".join(met[one.path]):
                output.notice(f"{book.ref(one)} conflicts with {beside}")
    else:
        output.notice(results.NO_DRAFTS)


def _collisions(shelf: Shelf, drafts: _Drafts) -> dict[str, list[str]]:
    """What each draft collides with, in either notebook, by its path."""
    own = {book: [draft for at, draft in drafts if at is book] for book in shelf}
    some = [inbox.collisions(book, shelf.other(book), own[book]) for book in own if own[book]]
    return {path: refs for one in some for path, refs in one.items()}


def _show(book: Notebook, draft: Note, beside: list[str]) -> None:
    """All that accepting it would write, and whose words it is."""
    output.quote(draft.body)
    where = f"your notes for {draft.language}" if draft.language else f"{book.label} notebook"
    about = {"Tags": ", ".join(draft.tags) or "none", "Where": where}
    about |= results.draft_text(book, draft)
    for line in (*(f"{label:<7}{text}" for label, text in about.items()), *beside):
        output.say_line(f"  {line}")


def _met(shelf: Shelf, book: Notebook, draft: Note) -> list[str]:
    """The memories of either notebook that a draft bears on."""
    lines = []
    for at, one in shelf.compare(draft.body):
        where = "" if at is book else " in your other notebook"
        said = {
            "updates": "Brings memory {} out of date",
            "restates": "Already noted as memory {}",
            "similar": f"Similar wording to memory {{}}, {one.wording:.0f}%",
        }[one.verdict]  # fmt: skip
        lines.append(f"{said.format(f'{at.ref(one.note)}{where}')}: {one.note.summary}")
    other = shelf.other(book)
    there = [note for note, _ in inbox.met_elsewhere(other, draft.body)]
    return lines + [
        f"Already noted as memory {other.ref(note)} in your other notebook"
        for note in there
        if same(note.body, draft.body)
    ]


def _settle(
    shelf: Shelf, verb: str, drafts: _Drafts, yes: bool, as_json: bool, every: bool
) -> None:
    """Do what the person agrees to; what was done is told, whatever comes between."""
    if not drafts:
        what = "nothing that you said waits" if every else "no such draft waits"
        raise NotFound(what, hint="`co inbox --json` shows what waits.")
    for book, one in [] if yes else drafts:  # of all, none that collides is accepted
        _show(book, one, [] if every else _met(shelf, book, one))
    beside = ", but none that collides" if every else ""
    many = results.plural(len(drafts), "draft")
    if not output.confirm(f"{verb.capitalize()} {many}{beside}?", yes):
        raise output.no_yes("nothing was changed")
    done = list[dict[str, Any]]()
    try:
        for book in shelf:
            own = [draft for at, draft in drafts if at is book]
            alone = len(drafts) == 1 and not yes
            done += _settled(verb, shelf, book, own, every, alone) if own else []
    finally:
        if done:
            lines = [one["display"].split("\n") for one in done]  # of every one the first will do
            told = ["\n".join(one[:1] if every else one) for one in lines]
            output.tell(as_json, done, "\n".join([*told, *(lines[-1][2:] if every else [])]))
    if left := len(drafts) - len(done):
        output.warn(f"{results.plural(left, 'draft')} left to look at one by one: co inbox")
    if not done:
        raise NotFound("nothing was changed")


def _settled(
    verb: str, shelf: Shelf, book: Notebook, drafts: list[Note], every: bool, reviewed: bool
) -> Iterator[dict[str, Any]]:
    """What came of drafts; of `every` one, those that need no look of their own, as one change.

    External text that was accepted without being `reviewed` by itself stays external.
    """
    saved, other = list[Saved](), shelf.other(book)
    with output.progress("Drafts") if every else nullcontext() as tick:
        if every and verb == "accept":
            saved, drafts = inbox.accept_every(book, other, drafts, "cli", tick), []
        elif every:
            alone, _ = inbox.plan_every(book, other, drafts, "cli", tick)
            drafts = [one for one in drafts if one.path in alone]
    if saved:
        many = results.plural(len(saved), "draft")
        output.notice(f"✓ {many}, one change. Undo: {results.undo_hint(book)}")
    yield from (results.saved_json(book, one) for one in saved)
    for draft in drafts:
        if verb == "accept":
            beside = _met(shelf, book, draft)
            accepted = inbox.accept(book, draft, actor="cli", reviewed=reviewed)
            told = results.saved_json(book, accepted)
            yield told | {"display": "\n".join([told["display"], *beside])}
        else:
            gone = inbox.reject(book, draft, actor="cli")
            remember_rejection(draft)
            yield results.rejected_json(gone)
