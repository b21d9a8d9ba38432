"""Carries out what a person decided about words of their own."""

from typing import NamedTuple

from co_cli import logs, trust
from co_cli.agent.approval import Decision
from co_cli.deps import CoDeps
from co_cli.knowledge import Notebook, Saved
from co_cli.knowledge.format.note import marks, now, timestamp
from co_cli.knowledge.inbox import Draft, put
from co_cli.knowledge.policy import Links
from co_cli.results import category_text


class Done(NamedTuple):
    """What came of a decision, in words; and the note, where one was saved."""

    text: str
    saved: Saved | None = None
    book: Notebook | None = None


def carry_out(deps: CoDeps, decision: Decision) -> Done:
    """Save what was agreed to; MovedOn when saving would now do something else."""
    one, verdict = decision.proposal, str(decision.verdict)
    if verdict == "no":
        return Done("Nothing was saved.")
    with deps.notebooks() as shelf:
        book = shelf.project if one.scope == "project" else shelf.user
        fresh = book.scope == "project" and trust.untouched(deps.folder())
        if verdict == "later":
            put(book, [Draft(one.text, one.tags)], actor="chat")
            saved = None
        else:
            links: Links = {"replaces": one.replaces} if one.replaces else {}
            if verdict == "update":
                links["updates"] = [note for _, note in shelf.outdated_by(one.text)]
            saved = book.remember(
                one.text, one.tags, actor="chat", seen="" if verdict == "update" else one.seen,
                fields=deps.of_language(one.scope), **links,
            )  # fmt: skip
        problem = trust.claim(deps.folder(), timestamp(now())) if fresh else ""
    if saved is None:
        return Done("\n".join(filter(None, ["Put into the inbox: /inbox", problem])))
    logs.log_note("saved", saved.note)
    deps.entered(*marks(saved.note))
    verb = "Updated" if saved.action == "consolidated" else "Saved"
    undo = "/undo -g" if book.scope == "user" else "/undo"
    told = f"✓ {verb} memory {saved.ref}: {saved.note.summary} ({undo} takes it back)"
    lines = [told, saved.trouble, *category_text(book, saved), problem]
    return Done("\n".join(filter(None, lines)), saved, book)
