"""co inbox: the drafts that wait for a yes."""

from collections.abc import Iterator
from contextlib import nullcontext
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
from co_cli.knowledge import Note, Notebook, Shelf
from co_cli.knowledge.inbox import (
    accept,
    accept_every,
    collisions,
    met_elsewhere,
    plan_every,
    reject,
    vouched,
    waiting,
)
from co_cli.learning.rejected import remember_rejection
from co_cli.results import (
    NO_DRAFTS,
    closeness,
    draft_text,
    note_json,
    plural,
    rejected_json,
    saved_json,
    undo_hint,
)

_Drafts = list[tuple[Notebook, Note]]


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
        _settle(workspace.shelf, verb, said if every else named, yes, as_json, every)
    elif as_json:
        met = _collisions(workspace.shelf, drafts)
        rows = [note_json(at, one) | {"collides": met[one.path]} for at, one in drafts]
        to_json({"drafts": rows, "count": len(drafts)})
    elif drafts and on_terminal():
        from co_cli.chat.inbox import at_terminal  # and with it what draws cards

        say(at_terminal(workspace, say))
    elif drafts:
        note_table(drafts)
        met = _collisions(workspace.shelf, drafts)
        for book, one in drafts:
            if beside := ", ".join(met[one.path]):
                notice(f"{book.ref(one)} collides with {beside}")
    else:
        notice(NO_DRAFTS)


def _other(shelf: Shelf, book: Notebook) -> Notebook:
    return shelf.project if book is shelf.user else shelf.user


def _collisions(shelf: Shelf, drafts: _Drafts) -> dict[str, list[str]]:
    """What each draft collides with, in either notebook, by its path."""
    own = {book: [draft for at, draft in drafts if at is book] for book in shelf}
    some = [collisions(book, _other(shelf, book), own[book]) for book in own if own[book]]
    return {path: refs for one in some for path, refs in one.items()}


def _show(shelf: Shelf, book: Notebook, draft: Note) -> None:
    """All that accepting it would write, and whose words it is."""
    quote(draft.body)
    where = f"your notes for {draft.language}" if draft.language else f"{book.label} notebook"
    about = {"Tags": ", ".join(draft.tags) or "none", "Where": where, **draft_text(book, draft)}
    for line in [
        *(f"{label:<7}{text}" for label, text in about.items()),
        *_met(_other(shelf, book), draft),
    ]:
        say_line(f"  {line}")


def _met(other: Notebook, draft: Note) -> list[str]:
    """What the other notebook has that says the same or collides."""
    return [
        f"Similar to memory {other.ref(note)} of your other notebook "
        f"({closeness(other, score)}): {note.summary}"
        for note, score in met_elsewhere(other, draft.body)
    ]


def _settle(
    shelf: Shelf, verb: str, drafts: _Drafts, yes: bool, as_json: bool, every: bool
) -> None:
    """Do what the person agrees to; what was done is told, whatever comes between."""
    if not drafts:
        raise NotFound("no such draft waits", hint="`co inbox --json` shows what waits.")
    for shown in [] if yes else drafts:
        _show(shelf, *shown)
    beside = ", but none that collides" if every else ""
    if not confirm(f"{verb.capitalize()} {plural(len(drafts), 'draft')}{beside}?", yes):
        raise no_yes("nothing was changed")
    done = list[dict[str, Any]]()
    try:
        for book in shelf:
            own = [draft for at, draft in drafts if at is book]
            done += _settled(verb, book, _other(shelf, book), own, every) if own else []
    finally:
        if done:
            lines = [one["display"].split("\n") for one in done]
            told = ["\n".join(one[:1] if every else one) for one in lines]
            tell(as_json, done, "\n".join([*told, *(lines[-1][2:] if every else [])]))
    if left := len(drafts) - len(done):
        warn(f"{plural(left, 'draft')} left, which a look is needed for: co inbox")
    if not done:
        raise NotFound("nothing was changed")


def _settled(
    verb: str, book: Notebook, other: Notebook, drafts: list[Note], every: bool
) -> Iterator[dict[str, Any]]:
    """What came of drafts; of `every` one, those that need no look of their own, as one change."""
    with progress("Drafts") if every else nullcontext() as tick:
        if every and verb == "accept":
            saved = accept_every(book, other, drafts, "cli", tick)
            notice(f"✓ {plural(len(saved), 'draft')}, one change. Undo: {undo_hint(book)}")
            yield from (saved_json(book, one) for one in saved)
            return
        alone = plan_every(book, other, drafts, "cli", tick)[0] if every else ()
    for draft in (one for one in drafts if not every or one.path in alone):
        if verb == "accept":
            beside = _met(other, draft)
            told = saved_json(book, accept(book, draft, actor="cli"))
            yield told | {"display": "\n".join([told["display"], *beside])}
        else:
            yield rejected_json(reject(book, draft, actor="cli"))
            remember_rejection(draft)
