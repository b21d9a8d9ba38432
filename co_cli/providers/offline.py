"""A model without a language model behind it, which remembers and recalls by rule and admits it.

What it does comes from the person's own words of this turn and from nothing else: neither a note
nor a tool's answer nor a summary can make it call a tool.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, NamedTuple

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ModelResponsePart,
    ModelResponseStreamEvent,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import RunContext

from co_cli.knowledge.format.note import now
from co_cli.learning import signals

__all__ = ["OfflineModel"]

_NAME = "offline"
_HOW = (
    "I am offline: no language model is connected. I can remember what you tell me and recall it, "
    "and nothing else. To connect a model, set GEMINI_API_KEY, ANTHROPIC_API_KEY or OPENAI_API_KEY "
    "and start again, or start with `co chat --model ollama:NAME`."
)
_EXPLAINED = "explained"  # that a response said how to connect a model
_BRIEFLY = "I am offline and can only remember and recall."
_NOTHING = "I have nothing about that. Tell me, and I will offer to remember it."
_RESULTS, _RELATED = 5, 2
_QUOTED, _SUMMED = 1000, 1500  # characters of one note in an answer, and of a summary


class OfflineModel(Model[None]):
    """What Co talks with when no provider is set up."""

    @property
    def model_name(self) -> str:
        """The model's name."""
        return _NAME

    @property
    def system(self) -> str:
        """The provider's name."""
        return _NAME

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """Answer at once."""
        _, asked = self.prepare_request(model_settings, model_request_parameters)
        return _answer(messages, asked)

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,  # noqa: ARG002 - the framework's signature
    ) -> AsyncGenerator[StreamedResponse]:
        """Answer word by word."""
        _, asked = self.prepare_request(model_settings, model_request_parameters)
        answer = _answer(messages, asked)
        stream = _WordStream(model_request_parameters=asked, parts=answer.parts)
        stream.provider_details = answer.provider_details
        yield stream


@dataclass
class _WordStream(StreamedResponse):
    parts: Sequence[ModelResponsePart]
    begun: datetime = field(default_factory=now, init=False)

    async def _get_event_iterator(self) -> AsyncIterator[ModelResponseStreamEvent]:
        for number, part in enumerate(self.parts):
            if isinstance(part, ToolCallPart):
                yield self._parts_manager.handle_tool_call_part(
                    vendor_part_id=number,
                    tool_name=part.tool_name,
                    args=part.args_as_dict(),
                    tool_call_id=part.tool_call_id,
                )
            elif isinstance(part, TextPart):
                for word in re.findall(r"\s*\S+\s*?(?=\s|$)|\s+$", part.content):
                    for event in self._parts_manager.handle_text_delta(
                        vendor_part_id=number, content=word
                    ):
                        yield event

    async def close_stream(self) -> None:
        """There is nothing to close."""

    @property
    def model_name(self) -> str:
        return _NAME

    @property
    def provider_name(self) -> str:
        return _NAME

    @property
    def provider_url(self) -> None:
        return None

    @property
    def timestamp(self) -> datetime:
        return self.begun


class _Turn(NamedTuple):
    """What the person said last, whether a tool was called for it, and what tools answered."""

    said: str
    called: bool
    returns: list[ToolReturnPart]
    before: Sequence[ModelMessage]


def _answer(messages: Sequence[ModelMessage], asked: ModelRequestParameters) -> ModelResponse:
    """The next response; it notes for later ones whether it explained how to connect a model."""
    turn = _turn(messages)
    offered = {tool.name for tool in asked.declared_function_tools}
    if not offered and not turn.returns:
        return _response(TextPart(_summary(turn.said) or _BRIEFLY))
    if not turn.called and (calls := list(_calls(turn.said, offered))):
        return _response(*calls)
    if told := dict.fromkeys(filter(None, map(_told, turn.returns))):
        return _response(TextPart("\n\n".join(told)))
    responses = (message for message in turn.before if isinstance(message, ModelResponse))
    if any((one.provider_details or {}).get(_EXPLAINED) for one in responses):
        return _response(TextPart(_BRIEFLY))
    return replace(_response(TextPart(_HOW)), provider_details={_EXPLAINED: True})


def _response(*parts: ModelResponsePart) -> ModelResponse:
    return ModelResponse(list(parts), model_name=_NAME, provider_name=_NAME)


def _turn(messages: Sequence[ModelMessage]) -> _Turn:
    """The turn that is going on, from the request in which the person last spoke."""
    start, runs = 0, set[str | None]()
    for number, message in enumerate(messages):
        if isinstance(message, ModelRequest) and _opens(message, runs):
            start = number
        runs.add(message.run_id)
    later = messages[start + 1 :]
    parts = [part for message in later for part in message.parts]
    calls = [part.tool_call_id for part in parts if isinstance(part, ToolCallPart)]
    returns = [part for part in parts if isinstance(part, ToolReturnPart)]
    returns.sort(key=lambda part: [*calls, part.tool_call_id].index(part.tool_call_id))
    said = _said(messages[start]) if messages else ""
    return _Turn(said, bool(calls), returns, messages[:start])


def _opens(request: ModelRequest, runs: set[str | None]) -> bool:
    """Whether the person speaks in a request.

    A tool's answer may come with words in the place of the person's; it belongs to a run that was
    there before, which the first words of a run never do.
    """
    if not any(_words(part) for part in request.parts):
        return False
    answers = any(isinstance(part, ToolReturnPart) for part in request.parts)
    return not answers or request.run_id is None or request.run_id not in runs


def _said(message: ModelMessage) -> str:
    """The person's last words in a request; what stands before them was said earlier."""
    spoken = [words for part in message.parts if (words := _words(part))]
    return spoken[-1] if spoken else ""


def _words(part: object) -> str:
    """The person's words in a prompt; a summary or an attached text is somebody else's."""
    if not isinstance(part, UserPromptPart):
        return ""
    if isinstance(part.content, str):
        return part.content
    texts = [item for item in part.content if isinstance(item, str)]
    return "\n".join(texts)


def _calls(said: str, offered: set[str]) -> Iterator[ToolCallPart]:
    """The tools to call for what the person said; never one that is not offered."""
    wish = signals.request(said)
    if wish is not None and wish.verb == "list":
        calls = [ToolCallPart("list_memories", {})]
    elif wish is not None and wish.verb == "forget":
        calls = [ToolCallPart("forget_memory", {"ref": wish.ref})]
    else:
        found = [(signal.text, signal.tags) for signal in signals.detect_all(said)]
        if not found and wish is not None:
            found = [(wish.text, [])]
        saves = [{"content": text, "tags": tags} for text, tags in found]
        calls = [ToolCallPart("save_memory", arguments) for arguments in saves]
        if signals.is_question(said):
            query = {"query": signals.topic(said), "max_results": _RESULTS}
            calls.append(ToolCallPart("recall_memory", query))
    return (call for call in calls if call.tool_name in offered)


def _told(part: ToolReturnPart) -> str:
    """What a tool answered, in words for the person."""
    values = _values(part.content)
    text = str(values.get("display") or ("" if values else part.content)).strip()
    verb = {"save_memory": "saved", "forget_memory": "forgotten"}.get(part.tool_name, "done")
    if values.get("refused") in ("declined", "stopped"):  # the person knows
        return f"Not {verb}."
    if part.outcome != "success":
        return f"Not {verb}: {text}"
    if part.tool_name == "save_memory" and values.get("ref"):
        return _saved(values, text)
    if part.tool_name == "recall_memory" and isinstance(values.get("results"), list):
        return _recalled([hit for hit in values["results"] if isinstance(hit, Mapping)])
    if part.tool_name == "list_memories" and isinstance(values.get("memories"), list):
        return _listed([row for row in values["memories"] if isinstance(row, Mapping)])
    return text or "Done."


def _values(content: object) -> Mapping[str, Any]:
    """The values of a tool's answer, however it is wrapped."""
    if isinstance(content, str):
        try:
            content = json.loads(content)
        except ValueError:
            return {}
    if isinstance(content, Mapping):
        inner = content.get("return_value")
        return inner if isinstance(inner, Mapping) else content
    return {}


def _saved(values: Mapping[str, Any], display: str) -> str:
    """What a save did, from what the tool says: the person may have changed the words."""
    known = values.get("action") == "consolidated"
    said = str(values.get("content") or "").strip()
    head = f"[{values['ref']}] already says this." if known else f"Saved as [{values['ref']}]"
    head += "" if known else f": {said}" if said else "."
    path = str(values.get("path") or display)
    more = [line for line in display.splitlines()[1:] if path not in line]
    return "\n\n".join([head, *more])  # paragraphs: an answer is markdown


def _recalled(hits: Sequence[Mapping[str, Any]]) -> str:
    """The notes that were found, quoted, best first."""
    sure = [_quoted(hit) for hit in hits if not hit.get("weak")]
    weak = [_quoted(hit) for hit in hits if hit.get("weak")][: _RELATED if sure else None]
    if not hits:
        return _NOTHING
    found = _bullets("You told me:", sure) if sure else "I have nothing that clearly answers this."
    related = _bullets("This may be related:", weak) if weak else ""
    return "\n\n".join(filter(None, [found, related]))


def _listed(rows: Sequence[Mapping[str, Any]]) -> str:
    lines = [f"{row.get('summary')} [{row.get('ref')}]" for row in rows]
    return _bullets("This is what I remember:", lines) if lines else "I have no memories yet."


def _bullets(title: str, texts: Sequence[str]) -> str:
    return "\n".join([title, "", *("- " + text.replace("\n", "\n  ") for text in texts)])


def _quoted(hit: Mapping[str, Any]) -> str:
    article = hit.get("kind") == "article"
    text = str((hit.get("passage") if article else None) or hit.get("content") or "").strip()
    text = text if len(text) <= _QUOTED else f"{text[:_QUOTED]}…"
    return f"{text} [{hit.get('ref')}]"


def _summary(text: str) -> str:
    """The first sentence of each thing that was said, the latest kept; of a plain text, its first.

    A conversation comes as one JSON object a line, after what is to be done with it.
    """
    said = []
    for line in text.splitlines():
        values = _values(line) if line.startswith("{") else {}
        for who in ("earlier summary", "person", "assistant"):
            if isinstance(values.get(who), str):
                said.append(f"{who}: {_first(values[who])}")
    if not said:
        return _first(text, _SUMMED)
    room, kept = _SUMMED, list[str]()
    for entry in reversed(said):
        room -= len(entry) + 1
        if room < 0:
            break
        kept.insert(0, entry)
    return "\n".join(kept)


def _first(text: str, most: int = 200) -> str:
    """The first sentences of a text that fit."""
    flat = " ".join(text.split())
    if len(flat) <= most:
        return flat
    cut = flat[:most]
    ends = [match.end() for match in re.finditer(r"[.!?…](?=\s)", cut)]
    return cut[: ends[-1]] if ends else f"{cut.rpartition(' ')[0] or cut}…"
