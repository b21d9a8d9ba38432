"""A conversation with a model: its turns, what they cost in room, and how it is kept.

Knows no terminal: a surface is given small events, and a way to ask the person.
"""

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from time import monotonic
from traceback import walk_tb
from typing import Any

from pydantic_ai import Agent, UserError
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelResponse, TextContent

from co_cli import prompts
from co_cli.agent import drafts, history
from co_cli.agent.approval import Approvals, Asker
from co_cli.agent.capability import LIMITS, get_agent, model_for
from co_cli.chat import pastes
from co_cli.chat.events import Notice, TextDelta, ToolFinished, ToolStarted, TurnEvent
from co_cli.chat.redact import parsed
from co_cli.chat.transcripts import Conversation, Transcript, said_before
from co_cli.deps import CoDeps
from co_cli.errors import CoError
from co_cli.knowledge.format.note import now
from co_cli.knowledge.inbox import waiting
from co_cli.learning.drafting import Fact, facts, said_again
from co_cli.learning.rejected import rejections
from co_cli.providers import bounds, conversation
from co_cli.providers.registry import Choice
from co_cli.providers.trouble import Trouble, explain
from co_cli.results import plural, waiting_text

log = logging.getLogger("co_cli.chat.app.session")
_plain = partial(ModelMessagesTypeAdapter.dump_python, mode="json")
UserInput = str | list[str | TextContent] | None
_DRAFTING, _AT_ONCE = 15.0, 5.0  # seconds, for who waits and where all is about to end
PASTED = "text that you pasted"
_FULL = 0.75  # of the budget: time to summarise


@dataclass
class Session:
    """One conversation: what was said, with which model, and under which prompt."""

    deps: CoDeps
    choice: Choice
    prompt: prompts.SystemPrompt
    transcript: Transcript | None
    ask: Asker | None = None
    messages: list[ModelMessage] = field(default_factory=list)
    agent: Agent[CoDeps, str] = field(init=False)
    approvals: Approvals = field(init=False)
    budget: int = field(init=False)  # tokens that a request may hold
    unkept: str = ""
    reword: Callable[[str], str] = str  # what to do next, in the words of the surface
    auto: bool = False  # whether what the person said is drafted
    said: list[str] = field(default_factory=list)  # by the person since then
    drafted: int = 0

    def __post_init__(self) -> None:
        self.approvals = Approvals(self.ask)
        self.use(self.choice, self.prompt)

    def use(self, choice: Choice, prompt: prompts.SystemPrompt) -> None:
        """Go on with this model and prompt; CoError when the model cannot be had."""
        budget = min(history.BUDGET, choice.window)
        self.deps.entered(*prompt.receipt.marks)
        model = model_for(choice, prompt.known, self.reword, self._rejected)
        self.agent = get_agent(model, prompt=prompt.text, ask=self.approvals, budget=budget)
        self.choice, self.prompt, self.budget = choice, prompt, budget
        log.info("model %s", choice)

    def _rejected(self, text: str) -> bool:
        with self.deps.notebooks() as shelf:
            return rejections(shelf.project, shelf.user)(text)

    def command(self, said: str) -> str:
        """The slash command that this is in plain words, where no model would know."""
        if self.choice.provider != "offline" or conversation.answered(said, self.messages):
            return ""
        wanted = conversation.command(said)
        if wanted in ("undo", "stay"):  # where something changed last
            last = [book.store.entries()[-1:] for book in self.deps.shelf()]
            at = [(entry.at, place, entry.op) for place, one in enumerate(last) for entry in one]
            _, own, done = max(at, default=("", 0, ""))
            kept = "restore last" if done == "forget" else ""
            wanted = kept if wanted == "stay" else "undo -g" if own else "undo"
        return f"/{wanted}" if wanted else ""

    def resume(self, kept: Conversation) -> None:
        """Go on where a kept conversation ended; what came from outside still counts."""
        self.deps.came_from(*kept.external)
        self.deps.entered(*kept.notes)
        try:
            messages = ModelMessagesTypeAdapter.validate_python(kept.messages)
        except ValueError as error:
            raise CoError("that conversation cannot be resumed; its file is unchanged") from error
        self.messages = history.whole(messages)
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

    async def turn(
        self, text: str | None, attached: str = "", pasted: Sequence[str] = ()
    ) -> AsyncIterator[TurnEvent]:
        """Say something and hear the answer; None tries the last thing again.

        `attached` is text from elsewhere that goes with it, `pasted` what of the text itself is;
        neither is ever taken for the person's.
        """
        if text is not None:
            typed = pastes.typed(text, pasted)
            self.said += [typed] if typed else []
            marks: dict[str, Any] = {"typed": typed} if pasted else {}
            self._write(said=text, **(marks | ({"draft": True} if self.auto else {})))
        if pasted:
            self.deps.came_from(PASTED)
        if attached or pasted:
            self._write(external=self.deps.external)
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
                    self._write(self.deps.notes, working=_plain(self.messages))
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
                        self._write(external=self.deps.external)
                    with suppress(UserError):  # it was stopped before it began
                        self.messages = history.whole(_until(failed, events.all_messages()))
                        new = _until(failed, events.new_messages())
                        self._write(self.deps.notes, turn=_plain(new))
        usage = events.usage
        log.info("turn of %.1f s, %s requests, %s tool calls", monotonic() - began,
                 usage.requests, usage.tool_calls)  # fmt: skip
        if self.unkept:
            yield Notice(f"This turn was not saved to the transcript: {self.unkept}")
            self.unkept = ""

    def _write(self, notes: Iterable[str] = (), **record: Any) -> None:
        """Keep something in the transcript; one that cannot be written stops nothing."""
        try:
            if self.transcript is not None:
                self.transcript.write(notes, **record)
        except CoError as error:
            log.error("the transcript could not be written: %s", error)
            self.unkept = str(error)

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
        self._write(self.deps.notes, working=_plain(self.messages))
        return "\n".join(filter(None, (drafted, told)))

    async def draft(self) -> str:
        """Let what the person said since the last time wait as drafts; a line on it, if any does.

        Nothing is drafted of a conversation that is not kept.
        """
        if not (self.auto and self.said and self.transcript):
            self.said = []
            return ""
        said, path = [*self.said], self.transcript.path  # it stays until it is drafted
        try:
            found = await self._facts(said, path)
            added, left = await asyncio.to_thread(self._put, found, path)
        except CoError as error:
            return f"Nothing was drafted: {error}"
        finally:
            del self.said[: len(said)]
        self.drafted += added
        return await asyncio.to_thread(self._waiting, added, left) if added else ""

    def _waiting(self, added: int, left: int) -> str:
        with self.deps.notebooks() as shelf:
            waits = waiting_text(sum(len(waiting(book)) for book in shelf), added)
        were = "was" if left == 1 else "were"
        return f"{waits}; {left} more that you said {were} left out" if left else waits

    def draft_at_once(self) -> None:
        """The same for a person who is gone: without a model, in little time, without a word."""
        if self.auto and self.said and self.transcript:
            path = self.transcript.path
            with suppress(CoError):
                self._put(self._read(self.said, path, _AT_ONCE), path)

    def _put(self, found: list[Fact], path: str) -> tuple[int, int]:
        """Let these wait in the inbox, and note that nothing else is left to draft.

        How many wait now, and how many were too many.
        """
        origin = os.path.basename(path).removesuffix(".jsonl")
        new, left = drafts.put(self.deps, found, origin)
        self._write(drafted=len(new))
        return len(new), left

    async def _facts(self, said: list[str], path: str) -> list[Fact]:
        """What is worth a draft, in no more time than a person who leaves will wait."""
        if self.choice.provider != "offline":
            try:
                before = said_before(self.deps.folder(), but=path, own=True)
                again = await asyncio.to_thread(said_again, said, before)
                known = drafts.settled(self.messages)
                return await drafts.by_model(self.agent.model, said, known, _DRAFTING, again)
            except Exception as error:  # as in a turn; Co's own reading has to do
                log.warning("no drafts by the model: %s", type(error).__name__)
        return await asyncio.to_thread(self._read, said, path, _DRAFTING)

    def _read(self, said: list[str], path: str, seconds: float) -> list[Fact]:
        """What is worth a draft by Co's own reading."""
        until = monotonic() + seconds
        before = said_before(self.deps.folder(), but=path, own=True)
        known = drafts.settled(self.messages)
        return facts(said, settled=known, before=before, enough=lambda: monotonic() > until)


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
