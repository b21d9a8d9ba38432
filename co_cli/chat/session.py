"""A conversation with a model: its turns, what they cost in room, and how it is kept.

Knows no terminal: a surface is given small events, and a way to ask the person.
"""

import os
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from time import monotonic
from traceback import walk_tb
from typing import Any

from pydantic_ai import Agent, UserError
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelResponse,
    TextContent,
    ToolCallPart,
)

from co_cli import prompts
from co_cli.agent import history
from co_cli.agent.approval import SAVE
from co_cli.agent.capability import LIMITS, get_agent
from co_cli.chat import pastes
from co_cli.chat.dialogue import Dialogue, log
from co_cli.chat.events import Notice, TextDelta, ToolFinished, ToolStarted, TurnEvent
from co_cli.chat.redact import parsed
from co_cli.deps import CoDeps
from co_cli.errors import CoError
from co_cli.providers import bounds, models
from co_cli.providers.registry import Choice
from co_cli.providers.trouble import Trouble, explain
from co_cli.results import plural

_plain = partial(ModelMessagesTypeAdapter.dump_python, mode="json")
UserInput = str | list[str | TextContent] | None
_FULL = 0.75  # of the budget: time to summarise


@dataclass
class Session(Dialogue):
    """One conversation with a model: what was said, and under which prompt."""

    messages: list[ModelMessage] = field(default_factory=list)
    agent: Agent[CoDeps, str] = field(init=False)
    budget: int = field(init=False)  # tokens that a request may hold

    def use(self, choice: Choice, prompt: prompts.SystemPrompt) -> None:
        """Go on with this model and prompt; CoError when the model cannot be had."""
        budget = min(history.BUDGET, choice.window)
        model = models.build(choice, os.environ)
        self.agent = get_agent(model, prompt=prompt.text, ask=self.approvals, budget=budget)
        self.budget = budget
        super().use(choice, prompt)

    def plain_messages(self) -> list[Any]:
        """The messages as values of JSON."""
        return list(_plain(self.messages))

    def go_on(self, messages: list[Any]) -> None:
        """Go on after these messages, values of JSON."""
        try:
            found = ModelMessagesTypeAdapter.validate_python(messages)
        except ValueError as error:
            raise CoError("that conversation cannot be resumed; its file is unchanged") from error
        self.messages = history.whole(found)

    def settled(self) -> list[str]:
        """What the model wanted to save."""
        parts = (part for message in self.messages for part in message.parts)
        calls = (one for one in parts if isinstance(one, ToolCallPart) and one.tool_name == SAVE)
        return [str(one.args_as_dict().get("content", "")) for one in calls]

    async def turn(
        self, text: str | None, attached: str = "", pasted: Sequence[str] = ()
    ) -> AsyncIterator[TurnEvent]:
        """Say something and hear the answer; None tries the last thing again."""
        self.take_down(text, attached, pasted)
        prompt = _sendable(text, attached, pasted)
        full = history.size(self.messages) > self.budget * _FULL
        if text is not None and full and (told := await self.compact()):
            yield Notice(told)
        before = self.messages
        for last in (False, True):
            try:
                async for event in self._run(prompt):
                    yield event
                return
            except Exception as error:  # a provider's library; what is Co's own is raised again
                trouble = self._explain(error)
            told = "" if last or not trouble.overflow else await self.compact()
            if not told:
                if trouble.overflow:  # what is too long would make all that follows too long
                    self.messages = before
                    self.write(self.deps.notes, working=_plain(self.messages))
                yield trouble
                return
            yield Notice(f"The conversation was too long for the model. {told}")
            prompt = None

    def _explain(self, error: Exception) -> Trouble:
        """What to tell of an error that came from a model or its library; Co's own are raised."""
        trouble = explain(error, self.choice)
        log.warning("%s %s", type(error).__name__, getattr(error, "status_code", ""))
        *_, (frame, _) = walk_tb(error.__traceback__)
        here = frame.f_globals.get("__name__", "").startswith("co_cli.")  # not in a library
        if trouble is None and (here or isinstance(error, CoError)):
            raise error
        line = f"{self.choice} gave no answer that can be read ({type(error).__name__})"
        return trouble or Trouble(line, "Try again, or choose another model.")

    async def _run(self, prompt: UserInput) -> AsyncIterator[TurnEvent]:
        began, before = monotonic(), len(self.deps.external)
        async with (
            self.agent,
            self.agent.run_stream_events(
                prompt, message_history=self.messages, deps=self.deps, usage_limits=LIMITS
            ) as events,
        ):
            failed, held = False, 0
            try:
                async for event in events:
                    held = bounds.held(held, event)
                    if (told := _tell(event)) is not None:
                        yield told
            except Exception:
                failed = True
                raise
            finally:
                try:
                    await events.aclose()  # the framework adds what broke off
                finally:
                    if len(self.deps.external) > before:
                        self.write(external=self.deps.external)
                    with suppress(UserError):  # it was stopped before it began
                        self.messages = history.whole(_until(failed, events.all_messages()))
                        new = _until(failed, events.new_messages())
                        self.write(self.deps.notes, turn=_plain(new))
        usage = events.usage
        log.info("turn of %.1f s, %s requests, %s tool calls", monotonic() - began,
                 usage.requests, usage.tool_calls)  # fmt: skip
        if self.unkept:
            yield Notice(f"This turn was not saved to the transcript: {self.unkept}")
            self.unkept = ""

    async def compact(self) -> str:
        """Let the model summarise all but the last turns; what was done, if anything."""
        older, recent = history.plan_summary(self.messages)
        if not older:
            return ""
        drafted = await self.draft()
        try:
            request = history.summary_request(older, self.budget // 2)
            patient = [bounds.AnswerTimeout(self.deps.answer_seconds)]
            writer = Agent(self.agent.model, capabilities=patient)
            summary = (await writer.run(request, usage_limits=LIMITS)).output
            self.messages = history.with_summary(summary, recent, self.deps.external)
            told = f"Summarised {plural(len(older), 'message')}; the latest ones are unchanged."
        except Exception as error:  # as in a turn
            self._explain(error)
            kept = history.window(self.messages, history.size(recent))
            left = len(self.messages) - len(kept)
            self.messages = kept
            told = f"Left out {plural(left, 'old message')}: no summary was made." if left else ""
        self.write(self.deps.notes, working=_plain(self.messages))
        return "\n".join(filter(None, (drafted, told)))


def _sendable(text: str | None, attached: str, pasted: Sequence[str]) -> UserInput:
    """A message as a model is sent it; what is not the person's own is marked."""
    if not text or not (attached or pasted):
        return text and _whole(text)
    marks = {"external": True, "pasted": True}
    items: list[str | TextContent] = [
        TextContent(_whole(piece), metadata=marks) if is_pasted else _whole(piece)
        for piece, is_pasted in pastes.apart(text, pasted)
    ]
    return items + [TextContent(attached, metadata={"external": True})] * bool(attached)


def _whole(text: str) -> str:
    """The text without half characters, which cannot be sent."""
    return text.encode("utf-8", "replace").decode()


def _until(failed: bool, messages: list[ModelMessage]) -> list[ModelMessage]:
    """The messages without an answer that broke off, so that the question can be asked again."""
    broken = failed and messages and isinstance(messages[-1], ModelResponse)
    return messages[:-1] if broken else messages


def _tell(event: Any) -> TurnEvent | None:
    match event.event_kind:
        case "part_start" if event.part.part_kind == "text" and event.part.content:
            return TextDelta(event.part.content)
        case "part_delta" if event.delta.part_delta_kind == "text":
            return TextDelta(event.delta.content_delta)
        case "function_tool_call":
            return ToolStarted(event.part.tool_name)
        case "function_tool_result":
            return _finished(event.part)
    return None


def _finished(part: Any) -> ToolFinished:
    """A tool's result in a few words, for the person who watches."""
    tool, content, outcome = part.tool_name or "", part.content, getattr(part, "outcome", "")
    if outcome == "failed":
        refusal = parsed(str(content))
        why = refusal.get("display") if isinstance(refusal, dict) else content
        return ToolFinished(tool, "failed", f"{tool} failed: {why}")
    if not isinstance(content, dict):
        return ToolFinished(tool, "refused" if outcome == "denied" else "done", "")
    text, *more = str(content.get("display", "")).split("\n")
    said = str(content.get("content", "")).partition("\n")[0]
    if said:  # as the person put it, where the tool names the file
        verb = "Updated" if content.get("action") == "consolidated" else "Saved"
        text = f"✓ {verb} memory {content.get('ref')}: {said}"
    path = str(content.get("path"))
    return ToolFinished(
        tool, "done", "\n".join([text, *(line for line in more if path not in line)])
    )
