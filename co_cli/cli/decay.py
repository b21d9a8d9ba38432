"""co knowledge decay: the oldest memories make room."""

from __future__ import annotations

from typing import Any

import click

from co_cli.cli.here import open_here
from co_cli.cli.list import row
from co_cli.cli.options import as_json, assume_yes, in_user
from co_cli.cli.output import say, table, to_json
from co_cli.cli.questions import confirm
from co_cli.errors import CoError
from co_cli.knowledge.notebook import Notebook
from co_cli.knowledge.plan import Saved
from co_cli.results import decayed_text, numbers_text, plural


@click.command("decay")
@in_user
@click.option("--force", is_flag=True, help="Also when the notebook is within its limit.")
@assume_yes
@as_json
def decay_command(in_user: bool, force: bool, yes: bool, as_json: bool) -> None:
    """Move the oldest unprotected memories out of the way, after showing which."""
    book = open_here(Notebook).book(in_user)
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
