"""Carries out what a person decided about words of their own."""

from collections.abc import Iterable
from typing import NamedTuple

from co_cli.agent import approval
from co_cli.agent.approval import Decision
from co_cli.deps import CoDeps
from co_cli.knowledge import Note, Notebook, Saved
from co_cli.results import category_text, update_ref


class Done(NamedTuple):
    """What came of a decision, in words; and the note, where one was saved."""

    text: str
    saved: Saved | None = None
    book: Notebook | None = None


def carry_out(deps: CoDeps, decision: Decision) -> Done:
    """Save what was agreed to; MovedOn when saving would now do something else."""
    saved = approval.carry_out(deps, decision, actor="chat")
    if saved is None:
        is_later = decision.verdict == "later"
        return Done("Put into the inbox: /inbox" if is_later else "Nothing was saved.")
    with deps.notebooks() as shelf:
        book = shelf.holding(saved.note)
    verb = {"consolidated": "Updated", "edited": "Edited"}.get(saved.action, "Saved")
    undo = "/undo -g" if book.scope == "user" else "/undo"
    lines = [f"✓ {verb} memory {saved.ref}: {saved.note.summary} ({undo} takes it back)"]
    if saved.replaced:
        lines.append(f"It replaces memory {book.ref(saved.replaced)}, which is archived.")
    elif saved.updates:
        lines.append(f"It updates memory {update_refs(book, saved.updates)}.")
    lines += [saved.trouble, *category_text(book, saved)]
    return Done("\n".join(filter(None, lines)), saved, book)


def update_refs(book: Notebook, notes: Iterable[Note]) -> str:
    """How a person names the notes that one of this notebook updates."""
    return " and ".join(update_ref(book, note) for note in notes)
