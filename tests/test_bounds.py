"""A provider holds nobody for ever and fills no memory; the conversation goes on."""

from __future__ import annotations

import asyncio
import os
import resource
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
from cli import command, in_time
from openai_server import Server, serving
from pydantic_ai.exceptions import AgentRunError
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel

from co_cli import prompts, trust
from co_cli.agent.approval import Asker, Decision, Review, Reviewed
from co_cli.agent.capability import get_agent
from co_cli.chat import transcripts
from co_cli.chat.events import TextDelta, TurnEvent
from co_cli.chat.session import Session
from co_cli.chat.transcripts import Transcript
from co_cli.config import Settings
from co_cli.deps import CoDeps
from co_cli.errors import GaveUp
from co_cli.knowledge import Notebook
from co_cli.knowledge.format.note import now
from co_cli.providers import models
from co_cli.providers.bounds import LARGEST
from co_cli.providers.registry import Choice
from co_cli.providers.trouble import Trouble, explain

TOO_MUCH = "sent more than 4 MB for one answer"
LATE = "took longer than {:g} s to answer"
KEYS = ("ANTHROPIC_API_KEY", "GEMINI_API_KEY", "OPENAI_API_KEY")
PROVIDERS = ["compatible", "openai", "ollama", "anthropic", "gemini"]
LONG = 60.0
MODEL = Choice("compatible", "test", "a test", base_url="http://127.0.0.1:9/v1")
MEMORY = 160 * 1024  # KiB that the process may grow by: not the gigabytes that are on offer


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("server")) as found:
        yield found


def choice_of(server: Server, provider: str, fault: str) -> Choice:
    env = dict.fromkeys(KEYS, "a-key-for-tests")
    env |= {"OPENAI_BASE_URL": server.url, "OLLAMA_BASE_URL": server.url}
    root = server.url.removesuffix("/v1")
    env |= {"ANTHROPIC_BASE_URL": root, "GOOGLE_GEMINI_BASE_URL": root}
    os.environ.update(env)  # the fence takes them away again
    return models.choose(f"{provider}:faulty-{fault}", Settings(model_base_url=server.url), env)


def begin(choice: Choice, seconds: float = LONG, ask: Asker | None = None) -> Session:
    trust.claim(os.getcwd(), "2026-01-01T00:00:00+00:00")
    prompt = prompts.build("", None, project=os.getcwd(), usable=())
    deps = CoDeps(gated=True, answer_seconds=seconds)
    return Session(deps, choice, prompt, Transcript(os.getcwd(), now), ask)


def said(
    session: Session, text: str | None, at_each: Callable[[], None] = lambda: None
) -> list[TurnEvent]:
    """What comes of a turn; `at_each` word of it, something may happen."""
    found = []

    async def listen() -> list[TurnEvent]:
        async for event in session.turn(text):
            found.append(event)
            if isinstance(event, TextDelta):
                at_each()
        return found

    with in_time(LONG):
        return asyncio.run(listen())


def line(events: list[TurnEvent]) -> str:
    """What a person reads in the end; it must be one line about one failure."""
    [failed] = [event for event in events if isinstance(event, Trouble)]
    assert "\n" not in failed.line
    return failed.line


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*KEYS, "OPENAI_BASE_URL", "OLLAMA_BASE_URL", "ANTHROPIC_BASE_URL",
                 "GOOGLE_GEMINI_BASE_URL"):  # fmt: skip
        monkeypatch.setenv(name, "")


@pytest.fixture
def skip(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Let so many seconds pass at once, as the running event loop and Co see it."""
    ahead = 0.0

    def skip(seconds: float) -> None:
        nonlocal ahead
        ahead += seconds
        monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: monotonic() + ahead)

    return skip


@pytest.mark.parametrize("fault", ["drip", "drip-words", "drip-body", "drip-head", "drip-wait"])
def test_an_answer_that_drips_is_given_up(server: Server, fault: str) -> None:
    """Red when only the wait for the next byte is bounded."""
    choice = choice_of(server, "compatible", fault)
    assert line(said(begin(choice, 0.3), "hello")) == f"{choice} {LATE.format(0.3)}"


@pytest.mark.parametrize("fault", ["text", "thought", "call", "line", "event", "nothing", "body"])
def test_an_answer_without_end_is_given_up(server: Server, fault: str) -> None:
    """G10. Red when a response may hold whatever a provider sends."""
    choice = choice_of(server, "compatible", f"endless-{fault}")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert line(said(begin(choice), "hello")) == f"{choice} {TOO_MUCH}"
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MEMORY


def test_a_header_without_end_is_no_answer(server: Server) -> None:
    choice = choice_of(server, "compatible", "endless-head")
    assert str(choice) in line(said(begin(choice), "hello"))


def test_what_comes_packed_is_not_unpacked(server: Server) -> None:
    """Red when a megabyte may become a gigabyte."""
    choice = choice_of(server, "compatible", "packed")
    assert line(said(begin(choice), "hello")) == (
        f"{choice} sent a compressed answer, though it was asked not to"
    )


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize(
    ("fault", "seconds"), [("drip-line", 0.3), ("endless-line", LONG), ("endless-body", LONG)]
)
def test_every_provider_is_bounded(
    server: Server, provider: str, fault: str, seconds: float
) -> None:
    """G10. Red when a provider's library has a client of its own."""
    choice = choice_of(server, provider, fault)
    told = TOO_MUCH if seconds == LONG else LATE.format(seconds)
    assert line(said(begin(choice, seconds), "hello")) == f"{choice} {told}"


@pytest.mark.parametrize("fault", ["drip-body", "endless-body"])
def test_an_answer_in_one_piece_is_bounded_too(server: Server, fault: str) -> None:
    choice = choice_of(server, "compatible", fault)
    agent = get_agent(models.build(choice, os.environ), prompt="Hello")
    with in_time(LONG), pytest.raises((GaveUp, AgentRunError)) as caught:
        asyncio.run(agent.run("hello", deps=CoDeps(answer_seconds=0.3)))
    trouble = explain(caught.value, choice)
    assert trouble is not None
    assert trouble.line in (f"{choice} {LATE.format(0.3)}", f"{choice} {TOO_MUCH}")


@pytest.mark.parametrize("fault", ["once-drip-words", "once-endless-text", "once-endless-call"])
def test_the_conversation_goes_on_afterwards(
    server: Server, fault: str, skip: Callable[[float], None]
) -> None:
    """Red when half an answer is kept, or the question is lost."""
    session = begin(choice_of(server, "compatible", fault), LONG)
    late = (lambda: skip(LONG)) if "drip" in fault else (lambda: None)
    line(said(session, "hello there", late))
    assert session.transcript is not None
    kept = transcripts.load(session.transcript.path)
    later = begin(session.choice)
    later.resume(kept)
    assert later.messages == session.messages
    words = [event.text for event in said(later, None) if isinstance(event, TextDelta)]
    assert "".join(words) == "You said: hello there"


async def approving(review: Review) -> Reviewed:
    return Reviewed([Decision(proposal, "yes") for proposal in review.proposals])


@pytest.mark.parametrize("late", [True, False], ids=["late", "too much"])
def test_what_was_approved_is_not_asked_for_again(
    late: bool, skip: Callable[[float], None]
) -> None:
    """Red when giving up loses what happened before in the same turn."""
    asked: list[Review] = []
    tries: list[int] = []

    async def ask(review: Review) -> Reviewed:
        asked.append(review)
        return await approving(review)

    async def stream(messages: list[ModelMessage], _: AgentInfo) -> AsyncIterator[Any]:
        if not any(isinstance(part, ToolReturnPart) for one in messages for part in one.parts):
            yield {
                0: DeltaToolCall("save_memory", '{"content": "Cranes need oil"}', tool_call_id="c1")
            }
            return
        tries.append(1)
        if len(tries) > 1:
            yield "Saved it."
        while len(tries) == 1 and not late:
            yield "x" * 8192
        if len(tries) == 1:
            skip(LONG)
            await asyncio.Event().wait()

    session = begin(MODEL, LONG, ask)
    session.agent = get_agent(FunctionModel(stream_function=stream), prompt="Hi", ask=ask)
    line(said(session, "keep it"))
    assert [type(event).__name__ for event in said(session, None)] == ["TextDelta"]
    assert len(asked) == 1
    assert [note.body for note in Notebook(".co-cli/knowledge").notes()] == ["Cranes need oil"]


def test_the_time_that_the_person_takes_does_not_count(skip: Callable[[float], None]) -> None:
    """Red when the clock goes on while an approval is on the screen."""

    async def ask(review: Review) -> Reviewed:
        skip(2 * LONG)
        await asyncio.sleep(0)  # in which the loop looks at its clock
        await asyncio.sleep(0)
        return await approving(review)

    async def stream(messages: list[ModelMessage], _: AgentInfo) -> AsyncIterator[Any]:
        if any(isinstance(part, ToolReturnPart) for one in messages for part in one.parts):
            yield "Saved it."
        else:
            yield {
                0: DeltaToolCall("save_memory", '{"content": "Cranes need oil"}', tool_call_id="c1")
            }

    session = begin(MODEL, LONG, ask)
    session.agent = get_agent(FunctionModel(stream_function=stream), prompt="Hi", ask=ask)
    assert [event for event in said(session, "keep it") if isinstance(event, Trouble)] == []


def test_the_steps_of_an_answer_share_its_time(server: Server) -> None:
    """Red when each request has the whole time for itself: sixteen of them are a long wait."""
    calls = 0

    async def stream(_: list[ModelMessage], __: AgentInfo) -> AsyncIterator[Any]:
        nonlocal calls
        calls += 1
        began = monotonic()
        while monotonic() - began < 0.1:
            await asyncio.sleep(0)
        yield {0: DeltaToolCall("list_memories", "{}", tool_call_id=f"c{calls}")}

    session = begin(choice_of(server, "compatible", "drip"), 0.25)
    session.agent = get_agent(FunctionModel(stream_function=stream), prompt="Hi")
    assert line(said(session, "go")) == f"{session.choice} {LATE.format(0.25)}"
    assert calls < 5


def test_a_summary_that_does_not_come_is_given_up(server: Server) -> None:
    """Red when only turns have an end."""
    session = begin(choice_of(server, "compatible", "drip-body"), 0.3)
    for _ in range(3):
        session.messages += [*history_turn()]
    with in_time(LONG):
        told = asyncio.run(session.compact())
    assert told == "Left out 2 old messages: no summary was made."


def history_turn() -> Iterator[ModelMessage]:
    yield ModelRequest([UserPromptPart("hello")])
    yield ModelResponse([TextPart("hello")])


def test_a_long_answer_is_no_endless_one() -> None:
    async def stream(_: list[ModelMessage], __: AgentInfo) -> AsyncIterator[Any]:
        for _piece in range(LARGEST // 8192):
            yield "x" * 8192

    session = begin(MODEL)
    session.agent = get_agent(FunctionModel(stream_function=stream), prompt="Hi")
    words = [event.text for event in said(session, "go") if isinstance(event, TextDelta)]
    assert sum(map(len, words)) == LARGEST


def test_the_setting_says_how_long(server: Server, tmp_path: Path) -> None:
    """Red when `co ask` does not pass the setting on."""
    done = command(
        "ask", "hello", "-m", "compatible:faulty-drip",
        HOME=str(tmp_path / "home"), CO_CLI_MODEL_BASE_URL=server.url, CO_CLI_ANSWER_SECONDS="0.3",
    )  # fmt: skip
    assert (done.code, done.out) == (1, "")
    assert done.err == (
        "co: compatible:faulty-drip took longer than 0.3 s to answer\n"
        "    Ask for less at once, or choose another model with --model. "
        "The setting answer_seconds says how long Co waits.\n"
    )
