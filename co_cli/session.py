"""A conversation with a model: its turns, what they cost in room, and how it is kept.

Knows no terminal: a surface is given small events, and a way to ask the person.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.exceptions import AgentRunError
from pydantic_ai.messages import (
    FunctionToolCallEvent,
    FunctionToolResultEvent,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
)

from co_cli import history, models, prompts
from co_cli.agent import LIMITS, get_agent, model_for
from co_cli.approval import Approvals, Asker
from co_cli.deps import CoDeps
from co_cli.errors import CoError
from co_cli.events import Event, Failed, Told, Used, Using, Words
from co_cli.knowledge.note import now
from co_cli.results import plural
from co_cli.transcripts import Conversation, Transcript

log = logging.getLogger("co_cli.session")
_SMALL = 6_000  # tokens: what a local server keeps when nobody told it more
_FULL = 0.75  # of the budget: time to summarise


@dataclass
class Session:
    """One conversation: what was said, with which model, and under which prompt."""

    deps: CoDeps
    choice: models.Choice
    prompt: prompts.Prompt
    transcript: Transcript | None
    ask: Asker | None = None
    messages: list[ModelMessage] = field(default_factory=list)
    agent: Agent[CoDeps, str] = field(init=False)
    approvals: Approvals = field(init=False)
    unkept: str = ""

    def __post_init__(self) -> None:
        self.approvals = Approvals(self.ask)
        self.use(self.choice, self.prompt)

    @property
    def budget(self) -> int:
        """How many tokens of conversation a request may hold."""
        return _SMALL if self.choice.provider == "ollama" else history.BUDGET

    def use(self, choice: models.Choice, prompt: prompts.Prompt) -> None:
        """Go on with this model and prompt; CoError when the model cannot be had."""
        self.agent = get_agent(
            model_for(choice), prompt=prompt.text, ask=self.approvals, budget=self.budget
        )
        self.choice, self.prompt = choice, prompt
        log.info("model %s", choice)

    def resume(self, kept: Conversation) -> None:
        """Go on where a kept conversation ended; what came from outside still counts."""
        self.deps.came_from(*kept.external)
        try:
            messages = ModelMessagesTypeAdapter.validate_python(kept.messages)
        except ValueError as error:
            raise CoError("that conversation cannot be read again; it is kept as it is") from error
        self.messages = history.whole(messages)

    def clear(self) -> None:
        """Begin anew; what came from outside is gone with the conversation, and `a` with it."""
        self.messages = []
        self.approvals.always.clear()
        self.deps.external.clear()
        if self.transcript is not None:
            self.transcript = Transcript.begin(self.deps.folder(), now)

    async def turn(self, text: str | None) -> AsyncIterator[Event]:
        """Say something and hear the answer; None tries the last thing again."""
        if text is not None and history.size(self.messages) > self.budget * _FULL:
            yield Told(await self.compact())
        for last in (False, True):
            try:
                async for event in self._run(text):
                    yield event
                return
            except AgentRunError as error:
                trouble = models.explain(error, self.choice)
                if trouble is None:
                    raise
                log.warning("%s: %s", type(error).__name__, trouble.line)
                if not trouble.overflow or last or not await self._shorten():
                    yield Failed(trouble)
                    return
                yield Told("The conversation was too long for the model; its start was summarised.")
                text = None

    async def _run(self, text: str | None) -> AsyncIterator[Event]:
        began, before = monotonic(), len(self.deps.external)
        async with (
            self.agent,
            self.agent.run_stream_events(
                text, message_history=self.messages, deps=self.deps, usage_limits=LIMITS
            ) as events,
        ):
            failed = False
            try:
                async for event in events:
                    if (told := _tell(event)) is not None:
                        yield told
            except AgentRunError:
                failed = True
                raise
            finally:
                self._keep(
                    *(_until(failed, m) for m in (events.all_messages(), events.new_messages()))
                )
                if len(self.deps.external) > before:
                    self.write("external", list(self.deps.external))
        usage = events.usage
        log.info("turn of %.1f s, %s requests, %s tool calls", monotonic() - began,
                 usage.requests, usage.tool_calls)  # fmt: skip

    def _keep(self, messages: list[ModelMessage], new: list[ModelMessage]) -> None:
        self.messages = history.whole(messages)
        self.write("turn", _plain(new))

    def write(self, what: str, value: Any) -> None:
        """Keep something in the transcript; one that cannot be written stops nothing."""
        try:
            if self.transcript is not None:
                getattr(self.transcript, what)(value)
        except CoError as error:
            log.error("the transcript could not be written: %s", error)
            self.unkept = str(error)

    async def compact(self) -> str:
        """Let the model summarise all but the last turns; what was done, in words."""
        before = len(self.messages)
        if not await self._shorten():
            return "There is nothing to summarise yet."
        return f"Summarised {plural(before, 'message')} into {len(self.messages)}."

    async def _shorten(self) -> bool:
        older, recent = history.plan_summary(self.messages)
        if not older:
            return False
        try:
            request = history.summary_request(older, self.budget // 2)
            summary = (await Agent(self.agent.model).run(request, usage_limits=LIMITS)).output
            self.messages = history.with_summary(summary, recent, self.deps.external)
        except AgentRunError as error:
            log.warning("no summary: %s", type(error).__name__)
            self.messages = history.window(self.messages, self.budget // 2)
        self.write("working", _plain(self.messages))
        return True


def _until(failed: bool, messages: list[ModelMessage]) -> list[ModelMessage]:
    """The messages without an answer that broke off, so that the question can be asked again."""
    if failed and messages and isinstance(messages[-1], ModelResponse):
        return messages[:-1]
    return messages


def _plain(messages: list[ModelMessage]) -> list[Any]:
    plain: list[Any] = ModelMessagesTypeAdapter.dump_python(messages, mode="json")
    return plain


def _tell(event: object) -> Event | None:
    """What a surface needs to know of the framework's events."""
    if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart):
        return Words(event.part.content) if event.part.content else None
    if isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
        return Words(event.delta.content_delta)
    if isinstance(event, FunctionToolCallEvent):
        return Using(event.part.tool_name)
    if isinstance(event, FunctionToolResultEvent):
        return Used(event.part.tool_name or "", _brief(event.part.content))
    return None


def _brief(content: object) -> str:
    """A tool's result in a few words, for the person who watches."""
    if not isinstance(content, dict):
        return ""
    if "results" in content or "memories" in content:
        return f"{plural(int(content.get('count', 0)), 'memory')} found"
    return str(content.get("display", "")).partition("\n")[0]
