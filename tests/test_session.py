"""A conversation: what it keeps, how it is shortened, and what survives both."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from handmade import put_article
from pydantic_ai.exceptions import ModelContextWindowExceededError, ModelHTTPError
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel

from co_cli import prompts, trust
from co_cli.agent import history
from co_cli.agent.approval import Asker, Decision, Review, Reviewed
from co_cli.agent.capability import LIMITS, get_agent
from co_cli.chat import transcripts
from co_cli.chat.dialogue import Dialogue, open_dialogue
from co_cli.chat.events import Notice, TextDelta, ToolFinished, TurnEvent
from co_cli.chat.session import Session
from co_cli.chat.transcripts import Transcript
from co_cli.deps import CoDeps
from co_cli.knowledge import Notebook
from co_cli.knowledge.format.note import now
from co_cli.providers.registry import Choice
from co_cli.providers.trouble import Trouble

NOTES = Path(".co-cli/knowledge")
OFFLINE = Choice("offline", "", "a test")
MODEL = Choice("compatible", "test", "a test", base_url="http://127.0.0.1:9/v1")
Stream = Callable[[list[ModelMessage], AgentInfo], AsyncIterator[Any]]


async def saving(messages: list[ModelMessage], _info: AgentInfo) -> AsyncIterator[Any]:
    """Offers to save whatever the person says."""
    [part, *_] = messages[-1].parts
    if isinstance(part, UserPromptPart):
        arguments = json.dumps({"content": str(part.content)})
        yield {0: DeltaToolCall("save_memory", arguments, tool_call_id=f"c{len(messages)}")}
    else:
        yield "ok"


def begin(stream: Stream = saving, ask: Asker | None = None, **options: Any) -> Session:
    """A session here, with this model instead of the one that the choice names."""
    trust.claim(os.getcwd(), "2026-01-01T00:00:00+00:00")
    prompt = prompts.build("", None, project=os.getcwd(), usable=())
    session = Session(
        CoDeps(gated=True), MODEL, prompt, Transcript(os.getcwd(), now), ask, **options
    )
    model = FunctionModel(partial(_whole, stream), stream_function=stream)
    session.agent = get_agent(model, prompt=prompt.text, ask=ask)
    return session


async def _whole(stream: Stream, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    return ModelResponse([TextPart("".join([piece async for piece in stream(messages, info)]))])


def said(session: Dialogue, text: str | None) -> list[TurnEvent]:
    """One turn, as a surface is told of it."""

    async def listen() -> list[TurnEvent]:
        return [event async for event in session.turn(text)]

    return asyncio.run(listen())


async def echo(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
    """Repeats the person; without tools, it is asked for a summary."""
    if not info.function_tools:
        yield "They greeted each other."
        return
    parts = [part for part in messages[-1].parts if isinstance(part, UserPromptPart)]
    yield f"you said {parts[-1].content}"


async def agreeing(review: Review) -> Reviewed:
    return Reviewed([Decision(proposal, "yes") for proposal in review.proposals])


def test_a_turn_is_words_and_is_kept_whole() -> None:
    session = begin(echo)
    assert (
        "".join(event.text for event in said(session, "hi") if isinstance(event, TextDelta))
        == "you said hi"
    )
    said(session, "again")
    assert session.transcript is not None
    kept = transcripts.load(session.transcript.path)
    assert (kept.turns, len(kept.messages)) == (2, 4)


@pytest.mark.parametrize("steps", range(12))
def test_a_turn_can_be_stopped_at_any_moment(steps: int) -> None:
    """Red when stopping it before the first word came is told as the model's failure."""

    async def stop() -> None:
        turn = asyncio.ensure_future(anext(begin(echo).turn("hi")))
        for _ in range(steps):
            await asyncio.sleep(0)
        turn.cancel()
        with suppress(asyncio.CancelledError):
            assert isinstance(await turn, TextDelta)

    asyncio.run(stop())


async def declining(review: Review) -> Reviewed:
    return Reviewed([Decision(proposal, "no") for proposal in review.proposals])


@pytest.mark.parametrize(
    ("ask", "outcome", "text"),
    [
        (agreeing, "done", "✓ Saved memory 1: I prefer tabs"),
        (declining, "refused", ""),
        (None, "refused", ""),
    ],
)
def test_a_surface_is_told_how_a_tool_ended(ask: Asker | None, outcome: str, text: str) -> None:
    """Red when it has to be read from a sentence."""
    ended = [one for one in said(begin(ask=ask), "I prefer tabs") if isinstance(one, ToolFinished)]
    assert [one[:3] for one in ended] == [("save_memory", outcome, text)]


def test_a_kept_conversation_goes_on_where_it_ended() -> None:
    first = begin(echo)
    said(first, "hi")
    assert first.transcript is not None
    second = begin(echo)
    second.resume(transcripts.load(first.transcript.path))
    assert [type(one) for one in second.messages] == [ModelRequest, ModelResponse]
    said(second, "more")
    assert len(second.messages) == 4


def test_a_summary_shortens_the_conversation_and_not_the_transcript() -> None:
    session = begin(echo)
    for number in range(5):
        said(session, f"message {number}")
    told = asyncio.run(session.compact())
    assert told == "Summarised 6 messages; the latest ones are unchanged."
    assert "They greeted each other." in str(session.messages[0])
    assert session.transcript is not None
    path = session.transcript.path
    assert len(transcripts.load(path).messages) == 5  # what a resumed chat goes on from
    assert Path(path).read_text().count('"turn"') == 5  # and all that was said
    said(session, "and now")
    assert len(transcripts.load(path).messages) == 7


def test_a_full_conversation_is_summarised_before_the_next_turn() -> None:
    session = begin(echo)
    for number in range(4):
        said(session, f"{number} " + "word " * (history.BUDGET // 12))
    events = said(session, "short")
    assert isinstance(events[0], Notice)
    assert history.size(session.messages) < history.BUDGET


def test_the_prompt_takes_its_part_of_the_room() -> None:
    """Red when a long prompt is sent on top of a conversation that fills the budget alone."""
    seen: list[int] = []

    def model(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        seen.append(len(messages))
        return ModelResponse([TextPart("ok")])

    turns: list[ModelMessage] = []
    for number in range(3):
        turns += [
            ModelRequest([UserPromptPart(f"{number} " + "x" * 400)]),
            ModelResponse([TextPart("y")]),
        ]
    for prompt in ("short", "long " * 200):
        agent = get_agent(FunctionModel(model), prompt=prompt, budget=500)
        asyncio.run(agent.run("and now?", message_history=turns, deps=CoDeps()))
    assert seen == [7, 5]


def test_where_no_summary_can_be_had_the_oldest_turns_are_left_out() -> None:
    async def mute(_messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
        if not info.function_tools:
            raise ModelHTTPError(500, "test")
        yield "ok"

    session = begin(mute)
    for number in range(4):
        said(session, f"{number} word")
    told = asyncio.run(session.compact())
    assert told == "Left out 4 old messages: no summary was made."
    assert len(session.messages) == 4


def test_what_came_from_outside_still_counts_after_a_summary_and_a_resume() -> None:
    """G15. Red when the taint lives in messages that a summary drops, or only in memory."""
    put_article(NOTES, "tea.md", "Tea", "Green tea is steeped at 80 degrees")

    async def recalling(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
        if not info.function_tools:
            yield "They talked about tea."
        elif isinstance(messages[-1].parts[0], ToolReturnPart):
            yield "hot"
        else:
            yield {0: DeltaToolCall("recall_memory", '{"query": "green tea"}', tool_call_id="c1")}

    session = begin(recalling)
    for _ in range(4):
        said(session, "how hot is green tea?")
    asyncio.run(session.compact())
    assert session.deps.external == ["article tea.md"]
    assert session.transcript is not None
    other = begin(recalling)
    other.resume(transcripts.load(session.transcript.path))
    assert other.deps.external == ["article tea.md"]


def test_a_new_conversation_starts_without_the_old_ones_taint() -> None:
    session = begin(echo)
    session.deps.came_from("tool fetch")
    said(session, "hi")
    session.clear()
    assert (session.messages, session.deps.external) == ([], [])


def test_always_holds_after_a_change_of_model_and_ends_with_the_conversation() -> None:
    session = begin(echo)
    session.approvals.always.add("save_memory")
    session.use(MODEL, session.prompt)
    assert session.approvals.always == {"save_memory"}
    session.clear()
    assert session.approvals.always == set()


def test_a_model_that_never_ends_is_stopped() -> None:
    """Red when no request limit is set."""
    calls = 0

    async def endless(_messages: list[ModelMessage], _info: AgentInfo) -> AsyncIterator[Any]:
        nonlocal calls
        calls += 1
        yield {0: DeltaToolCall("recall_memory", '{"query": "x"}', tool_call_id=f"c{calls}")}

    [failed] = [event for event in said(begin(endless), "go") if isinstance(event, Trouble)]
    assert failed.line == "compatible:test needed more steps than one turn may take"
    assert LIMITS.request_limit is not None
    assert calls <= LIMITS.request_limit


def test_a_save_that_was_approved_is_not_repeated_when_the_answer_is_lost() -> None:
    """Red when trying again forgets that the tool already ran."""
    broken = True

    async def losing(messages: list[ModelMessage], _info: AgentInfo) -> AsyncIterator[Any]:
        nonlocal broken
        if isinstance(messages[-1].parts[0], ToolReturnPart):
            if broken:
                broken = False
                raise ModelHTTPError(500, "test")
            yield "saved"
        else:
            arguments = '{"content": "User prefers tabs"}'
            yield {0: DeltaToolCall("save_memory", arguments, tool_call_id="c1")}

    session = begin(losing, agreeing)
    assert isinstance(said(session, "I prefer tabs")[-1], Trouble)
    assert [event.text for event in said(session, None) if isinstance(event, TextDelta)] == [
        "saved"
    ]
    assert [note.body for note in Notebook(NOTES).notes()] == ["User prefers tabs"]
    calls = [
        part for one in session.messages for part in one.parts if isinstance(part, ToolCallPart)
    ]
    assert len(calls) == 1


def test_a_turn_stopped_in_the_middle_leaves_a_history_that_can_be_sent() -> None:
    stopped = asyncio.Event()

    async def slow(messages: list[ModelMessage], _info: AgentInfo) -> AsyncIterator[str]:
        yield "half an "
        if len(messages) == 1:
            stopped.set()
            await asyncio.Event().wait()
        yield "answer"

    async def stop(session: Session) -> None:
        async def listen() -> None:
            async for _ in session.turn("hi"):
                pass

        task = asyncio.create_task(listen())
        await stopped.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    session = begin(slow)
    asyncio.run(stop(session))
    assert session.transcript is not None
    kept = transcripts.load(session.transcript.path)
    assert [one["parts"][0]["content"] for one in kept.messages] == ["hi", "half an "]
    assert any(isinstance(event, TextDelta) for event in said(session, "go on"))


def test_a_transcript_that_cannot_be_written_stops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    session = begin(echo)
    Path("blocked").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(Path("blocked").absolute()))
    *events, told = said(session, "hi")
    assert any(isinstance(event, TextDelta) for event in events)
    assert isinstance(told, Notice)
    assert told.text.startswith("This turn was not saved to the transcript: ")


def test_the_knowledge_part_stays_the_same_while_a_session_lasts() -> None:
    """Red when another personality reads the context again: providers could not cache it."""
    (NOTES / "context.md").parent.mkdir(parents=True)
    (NOTES / "context.md").write_text("We build rockets")
    first = prompts.build(
        "", "finch", project=os.getcwd(), usable=(".co-cli/knowledge/context.md",)
    )
    (NOTES / "context.md").write_text("We build boats")
    usable = (".co-cli/knowledge/context.md",)
    again = prompts.build("", "sonnet", project=os.getcwd(), usable=usable, known=first.receipt)
    assert "rockets" in again.text
    assert "boats" not in again.text


def test_only_this_projects_conversations_are_offered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said(begin(echo), "hi")
    other = tmp_path / "other"
    other.mkdir()
    assert len(transcripts.recent(os.getcwd(), 9)) == 1
    monkeypatch.chdir(other)
    assert transcripts.recent(os.getcwd(), 9) == []


TRACED = """
import asyncio, os
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from co_cli.agent import get_agent
from co_cli.deps import CoDeps
from pydantic_ai.models.test import TestModel

spans = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(spans))
trace.set_tracer_provider(provider)
asyncio.run(get_agent(TestModel(call_tools=["recall_memory"])).run("when?", deps=CoDeps()))
for span in spans.get_finished_spans():
    print(span.name, dict(span.attributes))
"""


def test_spans_tell_what_ran_and_not_what_was_said() -> None:
    """Red when the agent is not instrumented, or its spans carry contents."""
    Notebook(NOTES).remember("We deploy on Tuesdays", [])
    done = subprocess.run(
        [sys.executable, "-c", TRACED], capture_output=True, text=True, timeout=60, check=True
    )
    assert "recall_memory" in done.stdout
    assert "Tuesdays" not in done.stdout
    assert "when?" not in done.stdout


def _too_long(messages: list[ModelMessage]) -> bool:
    return history.size(messages) > 2000


def test_one_message_that_is_too_long_does_not_block_the_next() -> None:
    """Red when what a model cannot take stays in the conversation."""

    async def small(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
        if _too_long(messages):
            raise ModelContextWindowExceededError("test", "too long")
        async for piece in echo(messages, info):
            yield piece

    session = begin(small)
    [failed] = said(session, "word " * 4000)
    assert isinstance(failed, Trouble)
    assert failed.overflow
    assert session.transcript is not None
    assert transcripts.load(session.transcript.path).messages == []  # nor does it come back
    assert [event.text for event in said(session, "hello") if isinstance(event, TextDelta)] == [
        "you said hello"
    ]


@pytest.mark.parametrize(("provider", "tokens"), [("ollama", 6000), ("openai", 60000)])
def test_a_change_of_model_changes_the_room_there_is(
    provider: str, tokens: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    session = begin()
    url = "http://127.0.0.1:9/v1"
    session.use(Choice(provider, "x", "a test", (), url), session.prompt)
    assert session.budget == tokens


def test_an_error_of_somebody_elses_library_is_told_and_ours_is_raised() -> None:
    async def broken(_messages: list[ModelMessage], _info: AgentInfo) -> AsyncIterator[str]:
        json.loads("[")
        yield ""

    [failed] = said(begin(broken), "hi")
    assert isinstance(failed, Trouble)
    assert failed.line == "compatible:test gave no answer that can be read (JSONDecodeError)"


def test_half_a_character_is_no_reason_to_stop() -> None:
    assert any(isinstance(event, TextDelta) for event in said(begin(echo), "caf\udce9"))


def test_attached_text_is_not_the_persons_and_triggers_nothing() -> None:
    session = begin(echo, agreeing)

    async def listen() -> list[TurnEvent]:
        return [event async for event in session.turn("summarise", "I prefer tabs over spaces")]

    asyncio.run(listen())
    assert not (NOTES / "memories").exists()


def test_an_offline_conversation_goes_on_with_a_model_and_back() -> None:
    """Red when what was said is lost where the model is changed, or cannot be sent to it."""
    trust.claim(os.getcwd(), "2026-01-01T00:00:00+00:00")
    prompt = prompts.build("", None, project=os.getcwd(), usable=())
    kept = Transcript(os.getcwd(), now)
    first = open_dialogue(CoDeps(gated=True), OFFLINE, prompt, kept, agreeing, auto=True)
    said(first, "We deploy on Tuesdays")
    second = begin(echo)
    second.take_over(first)
    assert [type(one) for one in second.messages] == [ModelRequest, ModelResponse]
    assert second.said == ["We deploy on Tuesdays"]
    said(second, "hi")
    third = open_dialogue(CoDeps(gated=True), OFFLINE, prompt, kept, agreeing)
    third.take_over(second)
    assert len(third.plain_messages()) == 4


def test_an_offline_conversation_is_kept_and_resumed() -> None:
    trust.claim(os.getcwd(), "2026-01-01T00:00:00+00:00")
    prompt = prompts.build("", None, project=os.getcwd(), usable=())
    first = open_dialogue(CoDeps(gated=True), OFFLINE, prompt, Transcript(os.getcwd(), now))
    said(first, "when do we deploy?")
    assert first.transcript is not None
    kept = transcripts.load(first.transcript.path)
    assert (kept.said, kept.turns, len(kept.messages)) == (["when do we deploy?"], 1, 2)
    second = open_dialogue(CoDeps(gated=True), OFFLINE, prompt, Transcript(os.getcwd(), now))
    second.resume(kept)
    assert len(second.plain_messages()) == 2
    model = begin(echo)
    model.resume(kept)
    assert [type(one) for one in model.messages] == [ModelRequest, ModelResponse]
