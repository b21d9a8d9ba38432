"""The chat without a model: a small state, and a function from a typed line to events.

Knows no terminal and no transcript.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from co_cli import results
from co_cli.agent.approval import (
    SAVE,
    Asker,
    Decision,
    Proposal,
    Refusal,
    Review,
    impossible,
    planned,
)
from co_cli.chat.events import (
    EditNote,
    Offer,
    PlainText,
    Quoted,
    ToolFinished,
    TurnEvent,
)
from co_cli.deps import CoDeps
from co_cli.errors import CoError, MovedOn
from co_cli.knowledge import Note
from co_cli.knowledge.meaning.reader import Intent
from co_cli.knowledge.store import disk
from co_cli.offline.answers import answer, quoted
from co_cli.offline.files import Files
from co_cli.offline.reading import Line, is_personal, read, statements, tags_of, without_lead
from co_cli.offline.requests import command
from co_cli.offline.saving import carry_out

HELP = "I can keep notes and find them. Ask a question, tell me a fact, or type /help."
PASTED = 'Pasted text isn\'t saved automatically. Type "remember:" and paste again to save it.'
PASSING = "Not saved: that may not matter for long."
KNOWN = "Noted already:"
_WHICH = "Which note is that about? Ask for it first, then say what to change."
_EMPTY = 'What should I remember? Type it after "remember that".'
_YES = ("y", "yes")


@dataclass
class OfflineChat:
    """One conversation: the note shown or saved last, and what a `y` would save."""

    deps: CoDeps
    ask: Asker
    files: Files = field(default_factory=lambda: Files({}))
    last: Note | None = None
    pending: Proposal | None = None
    settled: list[str] = field(default_factory=list)  # what the person decided about

    async def turn(self, text: str, typed: str | None = None) -> AsyncIterator[TurnEvent]:
        """What a message leads to; `typed` is what of it the person did not paste."""
        said = (text if typed is None else typed).strip()
        pending, self.pending = self.pending, None
        (words, asked), (rest, _) = without_lead(text), without_lead(said)
        if pending and said.lower() in _YES:
            events = self._keep([pending], shown=True)
        elif asked and words:  # what was pasted stays in one piece
            parts = await asyncio.to_thread(statements, words) if rest == words else [words]
            events = self._keep(await asyncio.to_thread(_proposals, parts))
        elif not said:  # a question may be pasted, for looking writes nothing
            line = await asyncio.to_thread(read, words)
            events = self._act(words, line) if line.act == "ask" else _one(PlainText(PASTED))
        elif asked:
            events = _one(PlainText(_EMPTY))
        else:
            events = self._act(said, await asyncio.to_thread(read, said))
        async for event in events:
            yield event

    async def _act(self, said: str, line: Line) -> AsyncIterator[TurnEvent]:
        if line.act == "tell":
            async for event in self._tell(said, line):
                yield event
        elif line.act in ("ask", "unclear"):
            for found in await asyncio.to_thread(self._look_up, said):
                yield found
        elif line.act == "passing":
            yield PlainText(PASSING)
        elif line.act == "correct":
            yield await asyncio.to_thread(self._edit, said)
        elif line.intent is None or line.act == "other":
            yield PlainText(HELP)
        else:
            yield await asyncio.to_thread(self._command, said, line.intent)
        if line.act in ("unclear", "passing") and not disk.only_reads:
            yield await asyncio.to_thread(self._offer, said)

    def _command(self, said: str, intent: Intent) -> TurnEvent:
        with self.deps.notebooks() as shelf:
            return command(shelf, said, intent, self.last)

    def _look_up(self, query: str) -> list[TurnEvent]:
        found = answer(self.deps, self.files, query)
        self.last = next((one.note for one in found.quotes if one.note), self.last)
        return [PlainText(found.text), Quoted([row for one in found.quotes for row in one.rows])]

    def _edit(self, said: str) -> TurnEvent:
        """The note that was spoken of last, for the person to edit."""
        if self.last is not None:
            with self.deps.notebooks() as shelf:
                book = shelf.holding(self.last)
                note = next((one for one in book.notes() if one.uid == self.last.uid), None)
                if note is not None:
                    return EditNote(book, note, said)
        return PlainText(_WHICH)

    def _offer(self, said: str) -> Offer:
        """What a `y` saves as it stands, without a tag."""
        [self.pending] = [replace(one, tags=()) for one in _proposals([said])]
        scope = self.deps.scope(self.pending.scope or None)
        return Offer(said, "this project" if scope == "project" else "your notebook")

    # Tell

    async def _tell(self, said: str, line: Line) -> AsyncIterator[TurnEvent]:
        corrects = line.intent is not None and line.intent.kind == "correct"
        parts = [said] if corrects else await asyncio.to_thread(statements, said)
        known = [await asyncio.to_thread(self._known, part) for part in parts]
        if told := [text for text in known if text]:
            yield PlainText("\n\n".join([KNOWN, *told]))
        new = [part for part, text in zip(parts, known, strict=True) if not text]
        if not new and not disk.only_reads:
            yield await asyncio.to_thread(self._offer, said)
        wanted = await asyncio.to_thread(_proposals, new, offered=not line.is_sure)
        async for event in self._keep(wanted):
            yield event

    def _known(self, text: str) -> str:
        """The note that says this already, quoted; nothing where none does."""
        [one] = _proposals([text])
        plan = planned(self.deps, one)
        with self.deps.notebooks() as shelf:
            matches = shelf.compare(text)[:1]
            said = [(book, one.note) for book, one in matches if one.verdict == "restates"]
            if plan.action == "consolidated" and not plan.refused:  # to the word
                book, ref = shelf.place(plan.ref)
                said = [(book, book.find(ref))]
            for book, note in said:
                if self.deps.tellable(book, [note]):
                    self.last = note
                    return quoted(book, note)
        return ""

    async def _keep(
        self, proposals: Sequence[Proposal], *, shown: bool = False
    ) -> AsyncIterator[TurnEvent]:
        """Put what is to be saved before the person, unless they were `shown` all of it."""
        plans = [await asyncio.to_thread(planned, self.deps, one) for one in proposals]
        while plans:
            again = list[Proposal]()
            for one in plans:
                if why := one.refused or one.left_out:
                    row = _row(one, impossible(why))
                    yield ToolFinished(SAVE, "refused", f"Not saved: {why}", row)
            fit = [one for one in plans if not (one.refused or one.left_out)]
            for decision in await self._decisions(fit, shown=shown):
                self.settled.append(decision.proposal.text)
                done = await asyncio.to_thread(self._carry_out, decision)
                if isinstance(done, Proposal):
                    again.append(done)
                else:
                    yield done
            plans, shown = again, False

    async def _decisions(self, plans: list[Proposal], *, shown: bool) -> list[Decision]:
        if not plans:
            return []
        if shown and not any(one.collides or one.moves for one in plans):
            return [Decision(one, "yes") for one in plans]
        card = Review(plans, tuple(self.deps.external), self.deps, typed=True)
        return (await self.ask(card)).decisions

    def _carry_out(self, decision: Decision) -> ToolFinished | Proposal:
        """What came of a decision; a plan to be shown again where something else has changed."""
        one = decision.proposal
        try:
            done = carry_out(self.deps, decision)
        except MovedOn:
            return replace(planned(self.deps, one), again=True)
        except CoError as error:
            why = error.sentence()
            return ToolFinished(SAVE, "failed", f"Not saved: {why}", _row(one, impossible(why)))
        if done.saved is None or done.book is None:
            if decision.agreed:  # it waits in the inbox
                return ToolFinished(SAVE, "done", done.text, {"content": one.text})
            return ToolFinished(SAVE, "refused", done.text, _row(one, decision.refusal))
        self.last = done.saved.note
        return ToolFinished(
            SAVE,
            "done",
            done.text,
            results.saved_json(done.book, done.saved) | {"content": done.saved.note.body},
        )


def _proposals(parts: Iterable[str], *, offered: bool = False) -> list[Proposal]:
    """A save for each piece: where it goes, and its signal where the reader is sure."""
    places = [(part, "user" if is_personal(part) else "") for part in parts]
    return [
        Proposal("", SAVE, part, tags_of(part), scope, offered=offered) for part, scope in places
    ]


def _row(one: Proposal, refusal: Refusal) -> dict[str, Any]:
    """A save that was not made, for a program; no text that may hold a secret."""
    said = {} if one.refused or one.left_out else {"content": one.text, "tags": [*one.tags]}
    return {"tool": SAVE, **said, "why": refusal.kind, "reason": refusal.text}


async def _one(event: TurnEvent) -> AsyncIterator[TurnEvent]:
    yield event
