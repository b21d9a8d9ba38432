"""co knowledge protect, unprotect, merge, decay: changing notes one knows."""

from __future__ import annotations

from typing import Any

import click

from co_cli.cli.browse import row
from co_cli.cli.output import paint, say, styled, table, to_json
from co_cli.cli.shared import (
    as_json,
    assume_yes,
    at_user,
    choosing,
    confirm,
    in_user,
    open_desk,
    ref_argument,
)
from co_cli.errors import CoError
from co_cli.knowledge.notebook import Notebook
from co_cli.knowledge.plan import Saved
from co_cli.results import decayed_text, note_json, numbers_text, plural, undo_hint


def _protection(ref: str, on: bool, in_user: bool, as_json: bool) -> None:
    shelf = open_desk(Notebook).shelf
    act = lambda book, name: (book, book.protect(name, on=on))  # noqa: E731
    book, saved = choosing(shelf, ref, act, in_user)
    state = "protected" if on else "no longer protected"
    if saved.action == "unchanged":
        state = "already protected" if on else "not protected"
    if as_json:
        to_json(note_json(book, saved.note))
    else:
        say(f"✓ Memory {saved.ref} is {state}: {saved.note.summary}")


@click.command("protect")
@ref_argument()
@in_user
@as_json
def protect_command(ref: str, in_user: bool, as_json: bool) -> None:
    """Keep a memory from being forgotten or decayed."""
    _protection(ref, True, in_user, as_json)


@click.command("unprotect")
@ref_argument()
@in_user
@as_json
def unprotect_command(ref: str, in_user: bool, as_json: bool) -> None:
    """Let a memory be forgotten and decayed again."""
    _protection(ref, False, in_user, as_json)


@click.command("merge")
@ref_argument(nargs=-1, required=True)
@click.option("--keep-first", is_flag=True, help="Keep only the first one's wording.")
@in_user
@as_json
def merge_command(refs: tuple[str, ...], keep_first: bool, in_user: bool, as_json: bool) -> None:
    """Merge memories into the first: all their texts, or with --keep-first only its own."""
    shelf = open_desk(Notebook).shelf
    placed = [shelf.place(at_user(ref, in_user)) for ref in refs]
    if len({book.scope for book, _ in placed}) > 1:
        raise CoError("memories of two notebooks cannot be merged", hint="Save one of them anew.")
    book = placed[0][0]
    saved = book.merge([name for _, name in placed], keep_first=keep_first)
    if as_json:
        to_json(note_json(book, saved.note))
    else:
        say(f"✓ Merged {', '.join(refs)} into memory {saved.ref}:")
        paint(styled(saved.note.body), "    ")
        say(f"The others are archived. Undo: {undo_hint(book)}")


@click.command("decay")
@in_user
@click.option("--force", is_flag=True, help="Also when the notebook is within its limit.")
@assume_yes
@as_json
def decay_command(in_user: bool, force: bool, yes: bool, as_json: bool) -> None:
    """Move the oldest unprotected memories out of the way, after showing which."""
    book = open_desk(Notebook).book(in_user)
    count, limit = len(book.notes()), book.policy.max_count
    if count <= limit and not force:
        raise CoError(
            f"{count} of {limit} memories: nothing needs to decay",
            hint="Add --force to do it all the same.",
        )
    plan = book.plan_decay(actor="cli")
    if plan is None:
        raise CoError(
            "no memory may decay", hint="They are too few, protected, or decayed already."
        )
    saved = plan.saved
    if not as_json:
        how = f"joined into memory {book.ref(saved.summary)}" if saved.summary else "archived"
        say(f"{plural(len(saved.decayed), 'memory')} would be {how}:")
        table(("ref", "date", "", "tags", "memory"), [row(book, note) for note in saved.decayed])
    if not confirm("Do it?", yes, quiet=as_json):
        raise CoError("nothing decayed", hint="Answer y, or add --yes.")
    book.commit(book.refresh(plan))
    if as_json:
        to_json(_decay_json(book, saved))
    else:
        say(f"✓ {decayed_text(book, saved)}")


def _decay_json(book: Notebook, saved: Saved) -> dict[str, Any]:
    return {
        "decayed": [note.id for note in saved.decayed],
        "numbers": numbers_text(note.id for note in saved.decayed),
        "into": book.ref(saved.summary) if saved.summary else None,
    }
