"""A conversation as it is kept: its transcript, and drafts of what the person said.

Knows neither a model nor a terminal, and loads no agent framework.
"""

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

from co_cli import prompts
from co_cli.agent.approval import Approvals, Asker
from co_cli.chat import pastes
from co_cli.chat.events import TurnEvent
from co_cli.chat.transcripts import Conversation, Transcript
from co_cli.deps import CoDeps
from co_cli.errors import CoError
from co_cli.knowledge.format.note import now
from co_cli.knowledge.inbox import waiting
from co_cli.offline.draft import facts, put
from co_cli.providers.registry import Choice
from co_cli.results import waiting_text

log = logging.getLogger("co_cli.chat.app.session")
PASTED = "text that you pasted"
_DRAFTING, _AT_ONCE = 15.0, 5.0  # seconds, for who waits and where all is about to end


@dataclass
class Dialogue:
    """One conversation, with a model or without."""

    deps: CoDeps
    choice: Choice
    prompt: prompts.SystemPrompt
    transcript: Transcript | None
    ask: Asker | None = None
    messages: list[Any] = field(default_factory=list)
    approvals: Approvals = field(init=False)
    unkept: str = ""
    auto: bool = False  # whether what the person said is drafted
    said: list[str] = field(default_factory=list)  # by the person since then
    drafted: int = 0

    def __post_init__(self) -> None:
        self.approvals = Approvals(self.ask)
        self.use(self.choice, self.prompt)

    def use(self, choice: Choice, prompt: prompts.SystemPrompt) -> None:
        """Go on with this model and prompt; CoError when the model cannot be had."""
        self.deps.entered(*prompt.receipt.marks)
        self.choice, self.prompt = choice, prompt
        log.info("model %s", choice)

    def plain_messages(self) -> list[Any]:
        """The messages as values of JSON."""
        return self.messages

    def go_on(self, messages: list[Any]) -> None:
        """Go on after these messages, values of JSON."""
        self.messages = [*messages]

    def turn(
        self, text: str | None, attached: str = "", pasted: Sequence[str] = ()
    ) -> AsyncIterator[TurnEvent]:
        """Say something and read the answer; None tries the last thing again.

        `attached` is text from elsewhere that goes with it, `pasted` what of the text itself is;
        neither is ever taken for the person's.
        """
        raise NotImplementedError

    async def compact(self) -> str:
        """Make room in the conversation; what was done, if anything."""
        return ""

    def settled(self) -> list[str]:
        """What was saved or declined in this conversation."""
        return []

    def take_over(self, before: "Dialogue") -> None:
        """Go on where another one was, with another model or none."""
        self.go_on(before.plain_messages())
        self.said, self.drafted, self.unkept = before.said, before.drafted, before.unkept

    def resume(self, kept: Conversation) -> None:
        """Go on where a kept conversation ended; what came from outside still counts."""
        self.deps.came_from(*kept.external)
        self.deps.entered(*kept.notes)
        self.go_on(kept.messages)
        self.said = [*kept.undrafted] if self.auto else []

    def clear(self) -> None:
        """Begin anew; what came from outside is gone with the conversation, and `a` with it."""
        self.messages = []
        self.approvals.always.clear()
        self.deps.external.clear()
        self.deps.pages.clear()
        self.deps.notes[:] = self.prompt.receipt.marks
        if self.transcript is not None:
            self.transcript = Transcript(self.deps.folder(), now)

    def take_down(self, text: str | None, attached: str, pasted: Sequence[str]) -> None:
        """Keep what the person sent, and that words of others came with it."""
        if text is not None:
            typed = pastes.typed(text, pasted)
            self.said += [typed] if typed else []
            marks: dict[str, Any] = {"typed": typed} if pasted else {}
            self.write(said=text, **(marks | ({"draft": True} if self.auto else {})))
        if pasted:
            self.deps.came_from(PASTED)
        if attached or pasted:
            self.write(external=self.deps.external)

    def write(self, notes: Iterable[str] = (), **record: Any) -> None:
        """Keep something in the transcript; one that cannot be written stops nothing."""
        try:
            if self.transcript is not None:
                self.transcript.write(notes, **record)
        except CoError as error:
            log.error("the transcript could not be written: %s", error)
            self.unkept = str(error)

    async def draft(self) -> str:
        """Let what the person said since the last time wait as drafts; a line on it, if any does.

        Nothing is drafted of a conversation that is not kept.
        """
        if not (self.auto and self.said and self.transcript):
            self.said = []
            return ""
        said = [*self.said]  # it stays until it is drafted
        try:
            added = await asyncio.to_thread(self._put, said, self.transcript, _DRAFTING)
        except CoError as error:
            return f"Nothing was drafted: {error}"
        finally:
            del self.said[: len(said)]
        self.drafted += added
        return await asyncio.to_thread(self._waiting, added) if added else ""

    def draft_at_once(self) -> None:
        """The same for a person who is gone: in little time, without a word."""
        if self.auto and self.said and self.transcript:
            with suppress(CoError):
                self._put(self.said, self.transcript, _AT_ONCE)

    def _put(self, said: Sequence[str], transcript: Transcript, seconds: float) -> int:
        """Put drafts into the inbox, and note that nothing else is left to draft; how many."""
        until = monotonic() + seconds
        found = facts(said, self.settled(), lambda: monotonic() > until)
        origin = os.path.basename(transcript.path).removesuffix(".jsonl")
        added = len(put(self.deps, found, origin))
        self.write(drafted=added)
        return added

    def _waiting(self, added: int) -> str:
        with self.deps.notebooks() as shelf:
            return waiting_text(sum(len(waiting(book)) for book in shelf), added)


def open_dialogue(
    deps: CoDeps,
    choice: Choice,
    prompt: prompts.SystemPrompt,
    transcript: Transcript | None,
    ask: Asker | None = None,
    **more: Any,
) -> Dialogue:
    """A conversation with this model; only one with a model loads the agent framework."""
    if choice.provider == "offline":
        from co_cli.chat.offline import OfflineSession

        return OfflineSession(deps, choice, prompt, transcript, ask, **more)
    from co_cli.chat.session import Session

    return Session(deps, choice, prompt, transcript, ask, **more)
