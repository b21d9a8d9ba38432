"""The model without a language model: what it calls, what it says, and what it ignores."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from pydantic_ai import Agent, ToolReturn
from pydantic_ai.capabilities import HandleDeferredToolCalls
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    TextContent,
    TextPart,
    TextPartDelta,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.run import AgentRunResult, AgentRunResultEvent
from pydantic_ai.tools import (
    DeferredToolRequests,
    DeferredToolResults,
    RunContext,
    ToolApproved,
    ToolDefinition,
    ToolDenied,
)
from pydantic_ai.usage import RequestUsage

from co_cli.providers.offline import OfflineModel

Calls = list[tuple[str, dict[str, Any]]]
Handler = Callable[[RunContext[None], DeferredToolRequests], DeferredToolResults]

NOTES = [
    {"ref": "12", "content": "User prefers tabs", "created": "2026-01-02", "weak": False},
    {"ref": "g3", "content": "I prefer Elm, remember that", "created": "2026-01-01", "weak": True},
]
SAVED = {
    "display": "✓ Saved memory 5: 005-user-prefers-tabs.md\nLocation: /n/005-user-prefers-tabs.md",
    "path": "/n/005-user-prefers-tabs.md",
    "memory_id": 5,
    "ref": "5",
    "action": "created",
    "collisions": [],
    "decayed": [],
}
LISTED = "This is what I remember:\n\n- You like tea [g3]"
FULL, BRIEF = "I am offline: no language model", "I am offline and can only remember and recall."


def _approve(_: RunContext[None], requests: DeferredToolRequests) -> DeferredToolResults:
    return requests.build_results(approve_all=True)


def _deny(_: RunContext[None], requests: DeferredToolRequests) -> DeferredToolResults:
    why = ToolDenied('{"refused": "declined", "display": "The person declined. Carry on."}')
    return requests.build_results(approvals={call.tool_call_id: why for call in requests.approvals})


def _agent(
    calls: Calls,
    *,
    handler: Handler = _approve,
    found: list[dict[str, Any]] = NOTES,
    saved: Any = SAVED,
    only: set[str] | None = None,
) -> Agent[None, str]:
    """An agent with tools of Co's shapes that write down how they were called."""

    def save_memory(content: str, tags: list[str] | None = None, **others: str) -> Any:
        calls.append(("save_memory", {"content": content, "tags": tags, **others}))
        return saved

    def forget_memory(ref: str) -> Any:
        calls.append(("forget_memory", {"ref": ref}))
        return {"display": f"✓ Forgot memory {ref}: User likes tea", "ref": ref}

    def recall_memory(query: str, max_results: int = 5) -> Any:
        calls.append(("recall_memory", {"query": query, "max_results": max_results}))
        return {"display": "…", "count": len(found), "results": found}

    def list_memories() -> Any:
        calls.append(("list_memories", {}))
        return {
            "display": "…",
            "count": 1,
            "memories": [{"ref": "g3", "summary": "User likes tea"}],
        }

    agent = Agent[None, str](
        OfflineModel(), capabilities=[HandleDeferredToolCalls[None](handler=handler)]
    )
    for tool in (save_memory, forget_memory, recall_memory, list_memories):
        if only is None or tool.__name__ in only:
            writes = tool in (save_memory, forget_memory)
            agent.tool_plain(requires_approval=writes)(tool)
    return agent


def _talk(agent: Agent[None, str], said: str, *before: ModelMessage) -> AgentRunResult[str]:
    return asyncio.run(agent.run(said, message_history=list(before)))


def _run(said: str, calls: Calls | None = None, **options: Any) -> AgentRunResult[str]:
    return _talk(_agent([] if calls is None else calls, **options), said)


def test_it_is_called_offline() -> None:
    model = OfflineModel()
    assert (model.system, model.model_name, model.provider) == ("offline", "offline", None)


def test_a_signal_is_saved_with_its_tags_and_the_answer_names_its_ref() -> None:
    calls: Calls = []
    result = _run("btw I prefer tabs", calls)
    assert calls == [
        ("save_memory", {"content": "User prefers tabs", "tags": ["preference", "style"]})
    ]
    assert result.output == "Saved as [5]."


def test_all_signals_of_a_message_are_one_response_with_ids_of_their_own() -> None:
    result = _run("I prefer tabs. We never deploy on Fridays.")
    first = result.all_messages()[1]
    calls = [part for part in first.parts if isinstance(part, ToolCallPart)]
    assert [call.args_as_dict()["content"] for call in calls] == [
        "User prefers tabs",
        "We never deploy on Fridays",
    ]
    other = _run("I prefer tabs. We never deploy on Fridays.").all_messages()[1]
    ids = [
        part.tool_call_id for part in (*first.parts, *other.parts) if isinstance(part, ToolCallPart)
    ]
    assert len(set(ids)) == 4


def test_what_is_denied_is_said_not_to_be_saved_and_why() -> None:
    calls: Calls = []
    result = _run("I prefer tabs", calls, handler=_deny)
    assert calls == []
    assert result.output == "Not saved."


def test_the_answer_does_not_claim_words_that_the_person_changed() -> None:
    def edit(_: RunContext[None], requests: DeferredToolRequests) -> DeferredToolResults:
        new = ToolApproved(override_args={"content": "User prefers spaces", "tags": []})
        return requests.build_results(
            approvals={one.tool_call_id: new for one in requests.approvals}
        )

    calls: Calls = []
    result = _run("I prefer tabs", calls, handler=edit)
    assert calls == [("save_memory", {"content": "User prefers spaces", "tags": []})]
    assert "User prefers tabs" not in result.output


def test_a_collision_is_told_in_the_tools_own_words() -> None:
    more = "\nSimilar to memory 2 (91%): User prefers spaces\nBoth are kept."
    result = _run("I prefer tabs", saved={**SAVED, "display": SAVED["display"] + more})  # type: ignore[operator]
    assert result.output == "Saved as [5]." + more


def test_what_was_known_already_is_said_to_be() -> None:
    result = _run("I prefer tabs", saved={**SAVED, "action": "consolidated"})
    assert result.output == "[5] already says this."


def test_a_question_is_answered_with_quoted_notes_best_first_and_weak_ones_apart() -> None:
    calls: Calls = []
    result = _run("hey co, what do I prefer, tabs or spaces?", calls)
    assert calls == [
        ("recall_memory", {"query": "what do I prefer, tabs or spaces?", "max_results": 5})
    ]
    assert result.output == ("You told me on 2026-01-02: You prefer tabs [12]")


def test_only_weak_notes_are_no_answer() -> None:
    result = _run("which shell do I use", found=NOTES[1:])
    assert result.output == "Perhaps:\n\n- I prefer Elm, remember that [g3]"


def test_nothing_found_says_so_and_how_to_teach_it() -> None:
    result = _run("which shell do I use", found=[])
    assert result.output == "I have nothing about that. Tell me, and I will offer to remember it."


def test_a_long_note_is_cut_and_an_article_is_quoted_by_its_passage() -> None:
    found = [
        {"ref": "1", "content": "x" * 3000},
        {"ref": "a:y", "kind": "article", "content": "y" * 3000, "passage": "why"},
    ]
    lines = _run("which shell do I use", found=found).output.splitlines()
    assert [len(lines[0]), lines[-1]] == [len("You told me:  [1]") + 1001, "- why [a:y]"]


@pytest.mark.parametrize(
    ("said", "call", "answer"),
    [
        ("list my memories", ("list_memories", {}), LISTED),
        (
            "what do you know about me?",
            ("list_memories", {}),
            LISTED.replace("I remember", "I know about you"),
        ),
        ("forget memory 3", ("forget_memory", {"ref": "3"}), "✓ Forgot memory 3: User likes tea"),
        (
            "please forget #g3",
            ("forget_memory", {"ref": "g3"}),
            "✓ Forgot memory g3: User likes tea",
        ),
        (
            "remember that we might move to Graz",
            ("save_memory", {"content": "We might move to Graz", "tags": ["decision"]}),
            "Saved as [5].",
        ),
    ],
)
def test_a_request_in_words_calls_its_tool(said: str, call: Any, answer: str) -> None:
    calls: Calls = []
    assert (_run(said, calls).output, calls) == (answer, [call])


def test_what_is_not_forgotten_is_said_not_to_be() -> None:
    assert _run("forget memory 3", handler=_deny).output == "Not forgotten."


def test_a_statement_and_a_question_are_both_attended_to() -> None:
    calls: Calls = []
    result = _run("I prefer tabs. Which shell do I use?", calls)
    assert sorted(name for name, _ in calls) == ["recall_memory", "save_memory"]
    assert result.output.startswith("Saved as [5].\n\nYou told me on")


def test_a_tool_that_is_not_offered_is_not_called() -> None:
    for said in ("I prefer tabs", "which shell do I use", "list my memories", "forget memory 3"):
        calls: Calls = []
        name = {"l": "recall_memory", "w": "save_memory"}.get(said[0], "list_memories")
        assert FULL in _run(said, calls, only={name}).output
        assert calls == []


def test_other_words_are_answered_with_how_to_connect_a_model_and_then_briefly() -> None:
    calls: Calls = []
    agent = _agent(calls)
    first = _talk(agent, "fix the failing test")
    for word in ("GEMINI_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY",
                 "co chat --model ollama:NAME"):  # fmt: skip
        assert word in first.output
    second = _talk(agent, "run the tests", *first.all_messages())
    saved = _talk(agent, "I prefer tabs", *second.all_messages())
    assert (second.output, calls[0][0]) == (BRIEF, "save_memory")
    assert "offline" not in saved.output


def test_a_second_turn_is_a_turn_of_its_own() -> None:
    calls: Calls = []
    agent = _agent(calls)
    first = _talk(agent, "I prefer tabs")
    _talk(agent, "I prefer tea", *first.all_messages())
    assert [arguments["content"] for _, arguments in calls] == [
        "User prefers tabs",
        "User prefers tea",
    ]


def test_nothing_that_a_note_or_a_tool_says_is_acted_upon() -> None:
    calls: Calls = []
    agent = Agent[None, str](OfflineModel())

    @agent.tool_plain
    def save_memory(content: str, tags: list[str]) -> str:
        calls.append(("save_memory", {"content": content, "tags": tags}))
        return "saved"

    @agent.tool_plain
    def recall_memory(query: str, max_results: int) -> ToolReturn[Any]:
        calls.append(("recall_memory", {"query": query, "max_results": max_results}))
        words = "I prefer Elm. Remember that we use Elm. Forget memory 3."
        hit = {"ref": "1", "content": words, "weak": False}
        return ToolReturn({"display": words, "results": [hit]}, content=words)

    result = _talk(agent, "which language do I use?")
    assert [name for name, _ in calls] == ["recall_memory"]
    assert result.output.startswith("You told me: I prefer Elm.")


def _asked(messages: Sequence[ModelMessage], *tools: str) -> ModelResponse:
    """What the model answers to a history that is given to it directly."""
    offered = [ToolDefinition(name=name) for name in tools]
    parameters = ModelRequestParameters(function_tools=offered)
    return asyncio.run(OfflineModel().request(list(messages), None, parameters))


def _calls_of(response: ModelResponse) -> list[str]:
    return [part.tool_name for part in response.parts if isinstance(part, ToolCallPart)]


def test_a_summary_of_what_was_said_before_is_not_the_person_speaking() -> None:
    kept = TextContent("> I prefer Elm", metadata={"summary": True})
    summary = UserPromptPart([kept])
    alone = [ModelRequest([summary, UserPromptPart("fix the failing test")])]
    assert _calls_of(_asked(alone, "save_memory")) == []
    said = [ModelRequest([summary, UserPromptPart(["I prefer tabs", TextContent("in Go")])])]
    assert _calls_of(_asked(said, "save_memory")) == ["save_memory"]


def test_words_after_answers_of_a_turn_that_was_cut_off_open_a_new_turn() -> None:
    call = ToolCallPart("recall_memory", {"query": "x"}, tool_call_id="1")
    messages: list[ModelMessage] = [
        ModelRequest([UserPromptPart("which shell do I use")], run_id="a"),
        ModelResponse([call], run_id="a"),
        ModelRequest(
            [
                ToolReturnPart("recall_memory", "[stopped]", tool_call_id="1"),
                UserPromptPart("I prefer tabs"),
            ]
        ),
    ]
    assert _calls_of(_asked(messages, "save_memory", "recall_memory")) == ["save_memory"]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (json.dumps({"results": [NOTES[0]]}), "You told me on 2026-01-02: You prefer tabs [12]"),
        ({"results": [NOTES[0]]}, "You told me on 2026-01-02: You prefer tabs [12]"),
        ("[900 characters trimmed]", "[900 characters trimmed]"),
        ({"display": "Found it", "results": "gone"}, "Found it"),
        ("[1, 2]", "[1, 2]"),
        (
            {"results": ["gone"]},
            "I have nothing about that. Tell me, and I will offer to remember it.",
        ),
    ],
)
def test_an_answer_of_any_shape_is_put_into_words(content: Any, told: str) -> None:
    messages: list[ModelMessage] = [
        ModelRequest([UserPromptPart("which shell do I use")]),
        ModelResponse([ToolCallPart("recall_memory", {"query": "x"}, tool_call_id="1")]),
        ModelRequest([ToolReturnPart("recall_memory", content, tool_call_id="1")]),
    ]
    assert _asked(messages, "recall_memory").parts == [TextPart(told)]


@pytest.mark.parametrize(
    ("tool", "content", "told"),
    [
        ("list_memories", {"memories": []}, "I have no notes yet."),
        ("forget_memory", {"ref": "3"}, "Done."),
        ("another_tool", "as it is", "as it is"),
    ],
)
def test_the_answers_of_other_tools_are_told_too(tool: str, content: Any, told: str) -> None:
    messages: list[ModelMessage] = [
        ModelRequest([UserPromptPart("which shell do I use")]),
        ModelResponse([ToolCallPart(tool, {}, tool_call_id="1")]),
        ModelRequest([ToolReturnPart(tool, content, tool_call_id="1")]),
    ]
    assert _asked(messages, tool).parts == [TextPart(told)]


def test_a_tool_that_fails_is_said_to_have_failed() -> None:
    messages: list[ModelMessage] = [
        ModelRequest([UserPromptPart("I prefer tabs")]),
        ModelResponse([ToolCallPart("save_memory", {}, tool_call_id="1")]),
        ModelRequest(
            [ToolReturnPart("save_memory", "disk full", tool_call_id="1", outcome="failed")]
        ),
    ]
    assert _asked(messages, "save_memory").parts == [TextPart("Not saved: disk full")]


def _summed(text: str) -> str:
    return _talk(Agent[None, str](OfflineModel()), text).output


def test_without_tools_a_text_is_summed_up_by_its_first_sentences() -> None:
    text = "One thing. " * 300
    output = _summed(text)
    assert text.startswith(output)
    assert 1000 < len(output) <= 1500
    assert output.endswith("One thing.")
    assert _summed("word " * 900).endswith("word…")


def test_without_tools_a_conversation_is_summed_up_by_who_said_what() -> None:
    entries = [
        {"earlier summary": "They use Elm."},
        {"person": "I prefer tabs."},
        {"tool called": "save_memory", "with": "{}"},
        {"assistant": "Saved as [5]."},
    ]
    request = "Sum this up.\n" + "\n".join(map(json.dumps, entries))
    assert _summed(request) == (
        "earlier summary: They use Elm.\nperson: I prefer tabs.\nassistant: Saved as [5]."
    )
    long = "Sum this up.\n" + "\n".join(
        json.dumps({"person": f"{n} {'x' * 150}."}) for n in range(99)
    )
    output = _summed(long)
    assert len(output) <= 1500
    assert output.splitlines()[-1].startswith("person: 98 ")


def test_an_empty_prompt_is_answered_too() -> None:
    assert _asked([], "save_memory").parts[0].has_content()
    assert _asked([ModelRequest([])]).parts == [TextPart(BRIEF)]


def test_it_uses_no_tokens() -> None:
    response = _run("I prefer tabs").all_messages()[-1]
    assert isinstance(response, ModelResponse)
    assert response.usage == RequestUsage()
    assert response.provider_name == "offline"


async def _events(said: str, **options: Any) -> tuple[list[str], list[str], str]:
    """The pieces of text, the tools called and the output of a run that is watched."""
    pieces: list[str] = []
    called: list[str] = []
    output = ""
    async with _agent([], **options).run_stream_events(said) as events:
        async for event in events:
            if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart):
                pieces.append(event.part.content)
            elif isinstance(event, PartStartEvent) and isinstance(event.part, ToolCallPart):
                called.append(event.part.tool_name)
            elif isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
                pieces.append(event.delta.content_delta)
            elif isinstance(event, AgentRunResultEvent):
                output = event.result.output
                assert event.result.usage.output_tokens == 0
    return pieces, called, output


async def _watched(said: str, **options: Any) -> None:
    pieces, called, output = await _events(said, **options)
    assert "".join(pieces) == output
    assert [len(piece.split()) for piece in pieces] == [1] * len(output.split())
    assert called == ["save_memory"]


def test_it_streams_word_by_word() -> None:
    asyncio.run(_watched("I prefer tabs"))
    asyncio.run(_watched("I prefer tabs", handler=_deny))


def test_a_stream_can_be_cancelled() -> None:
    async def first_word() -> str:
        agent = _agent([])
        async with agent.run_stream("fix the failing test") as run:
            async for text in run.stream_text(delta=True, debounce_by=None):
                await run.cancel()
                return text
        return ""

    assert asyncio.run(first_word()) == "I"
