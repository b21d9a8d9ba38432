"""The drafts that wait, one screen at a time, and what the person says to each."""

import asyncio
from collections.abc import Callable

from rich.console import Console

from co_cli.agent.approval import (
    SAVE,
    STOPPED,
    Asker,
    Decision,
    Proposal,
    Review,
    carry_out,
    planned,
)
from co_cli.chat.approval_prompt import Screen
from co_cli.chat.line_input import TerminalInput
from co_cli.deps import CoDeps
from co_cli.errors import CoError
from co_cli.knowledge import Note, Notebook
from co_cli.knowledge.inbox import reject, waiting
from co_cli.offline.rejections import remember_rejection
from co_cli.results import NO_DRAFTS, draft_text, plural
from co_cli.workspace import Workspace

_MOST = 20  # drafts on one screen


def at_terminal(workspace: Workspace, tell: Callable[[str], None]) -> str:
    """Review the drafts outside a chat."""
    screen = Screen(Console(highlight=False), TerminalInput())
    return asyncio.run(review(CoDeps(workspace=workspace), screen, tell, "cli"))


async def review(deps: CoDeps, ask: Asker, tell: Callable[[str], None], actor: str) -> str:
    """Show each draft and do what the person says; how many are left."""
    later, kind = set[str](), ""
    while found := [one for one in waiting_drafts(deps) if one[1].path not in later]:
        draft = found[0][1]
        alike = [one for one in found if one[1].category == draft.category][:_MOST]
        alike = [] if draft.external else [one for one in alike if not one[1].external]
        batch = alike if kind == draft.category and alike else found[:1]
        scopes = [f"language:{one.language}" if one.language else at.scope for at, one in batch]
        old = [at.ref(note) if (note := at.corrected(one)) else "" for at, one in batch]
        drafts = zip((one for _, one in batch), scopes, old, strict=True)
        plans = [
            Proposal("", SAVE, one.body, tuple(one.tags), place, replaces=ref)
            for one, place, ref in drafts
        ]
        shown = [await asyncio.to_thread(planned, deps, plan) for plan in plans]
        wrong = {one: plan.refused for one, plan in zip(batch, shown, strict=True) if plan.refused}
        for (book, one), why in wrong.items():
            tell(f"Draft {book.ref(one)} cannot be accepted: {why} (to drop it: co inbox reject)")
            later.add(one.path)
        if wrong:
            continue
        every = {"a": f"[a]ll {len(alike)} of kind {draft.category}"} if len(alike) > 1 else {}
        keys = {"l": "[l]ater", **every, "q": "[q] stop"} if len(batch) == 1 else {}
        about = [draft_text(*one) for one in batch]
        place = f"{batch[0][0].ref(draft)}, one of {len(found)}; after a no it is not offered again"
        about[0] |= {"Draft": place} if keys else {}
        reviewed = await ask(Review(shown, (), deps, True, about, keys))
        kind = draft.category if reviewed.key == "a" else ""
        if reviewed.key == "l":
            later.add(draft.path)
        elif not kind and reviewed.decisions[0].refusal is STOPPED:
            break
        elif not kind and (keys or any(one.agreed for one in reviewed.decisions)):
            for (book, one), decision in zip(batch, reviewed.decisions, strict=True):
                tell(_done(deps, book, one, decision, actor))
                later |= {one.path} if decision.verdict == "later" else set()
    left = len(waiting_drafts(deps))
    return f"{plural(left, 'draft')} in the inbox." if left else NO_DRAFTS


def waiting_drafts(deps: CoDeps) -> list[tuple[Notebook, Note]]:
    """The drafts of both notebooks."""
    with deps.notebooks() as shelf:
        return [(book, one) for book in shelf for one in waiting(book)]


def _done(deps: CoDeps, book: Notebook, draft: Note, decision: Decision, actor: str) -> str:
    """What came of a decision; where somebody else was quicker, the draft is shown again."""
    try:
        if not decision.agreed:
            remember_rejection(reject(book, draft, actor=actor).note)
            return f"Rejected draft {book.ref(draft)}; it will not be offered again."
        saved = carry_out(deps, decision, actor=actor, draft=(book, draft))
    except CoError as error:
        return error.sentence()
    if saved is None:
        return f"Draft {book.ref(draft)} stays in the inbox."
    verb = "Edited" if saved.action == "edited" else "Saved"
    told = f"✓ {verb} memory {saved.ref}: {saved.note.summary}"
    return "\n".join(filter(None, [told, saved.trouble]))
