"""A model without a language model behind it, which remembers and recalls by rule and admits it.

What it does comes from the person's own words of this turn and from nothing else: neither a note
nor a tool's answer nor a summary can make it call a tool.
"""

import json
import re
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from itertools import accumulate
from typing import Any

from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    ModelResponseStreamEvent,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import (
    CompletedStreamedResponse,
    Model,
    ModelRequestParameters,
    StreamedResponse,
)
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import RunContext

from co_cli.learning import signals

_NAME = "offline"
_HOW = (
    "I am offline: no language model is connected. I can remember what you tell me and recall it, "
    "and nothing else. To connect a model, set GEMINI_API_KEY, ANTHROPIC_API_KEY or OPENAI_API_KEY "
    "and start again, or start with `co chat --model ollama:NAME`."
)
_BRIEFLY = "I am offline and can only remember and recall."
_NOTHING = "I have nothing about that. Tell me, and I will offer to remember it."
_RESULTS, _RELATED = 5, 2
_QUOTED, _SUMMED = 1000, 1500  # characters of one note in an answer, and of a summary
_response = partial(ModelResponse, model_name=_NAME, provider_name=_NAME)


class OfflineModel(Model[None]):
    """What Co talks with when no provider is set up."""

    model_name = system = _NAME

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
        yield _Words(answer, model_request_parameters=asked, replay_events=True)


class _Words(CompletedStreamedResponse):
    get = StreamedResponse.get  # what has been said so far

    async def _get_event_iterator(self) -> AsyncIterator[ModelResponseStreamEvent]:
        manager = self._parts_manager
        for number, part in enumerate(self.response.parts):
            if not isinstance(part, TextPart):
                yield manager.handle_part(vendor_part_id=number, part=part)
                continue
            for word in re.findall(r"\s*\S+\s*?(?=\s|$)|\s+$", part.content):
                for event in manager.handle_text_delta(vendor_part_id=number, content=word):
                    yield event


def _answer(messages: Sequence[ModelMessage], asked: ModelRequestParameters) -> ModelResponse:
    start = _start(messages)
    said = _said(messages[start]) if messages else ""
    parts = [part for message in messages[start + 1 :] for part in message.parts]
    called = [part.tool_call_id for part in parts if isinstance(part, ToolCallPart)]
    returns = [part for part in parts if isinstance(part, ToolReturnPart)]
    returns.sort(key=lambda part: [*called, part.tool_call_id].index(part.tool_call_id))
    offered = {tool.name for tool in asked.declared_function_tools}
    if not offered and not returns:
        return _response([TextPart(_summary(said) or _BRIEFLY)])
    if not called and (calls := [one for one in _calls(said) if one.tool_name in offered]):
        return _response(calls)
    if told := dict.fromkeys(filter(None, map(_told, returns))):
        return _response([TextPart("\n\n".join(told))])
    earlier = [part for message in messages[:start] for part in message.parts]
    explained = any(isinstance(part, TextPart) and part.content == _HOW for part in earlier)
    return _response([TextPart(_BRIEFLY if explained else _HOW)])


def _start(messages: Sequence[ModelMessage]) -> int:
    """Where the person last spoke.

    A tool's answer may come with words in the place of the person's; it belongs to a run that was
    there before, which the first words of a run never do.
    """
    start, runs = 0, set[str]()
    for number, message in enumerate(messages):
        answers = any(isinstance(part, ToolReturnPart) for part in message.parts)
        if _said(message) and not (answers and message.run_id in runs):
            start = number
        if message.run_id:
            runs.add(message.run_id)
    return start


def _said(message: ModelMessage) -> str:
    """The person's last words in a message; what stands before them was said earlier.

    A summary or an attached text in it is somebody else's.
    """
    said = ""
    for part in message.parts:
        if isinstance(part, UserPromptPart):
            items = [part.content] if isinstance(part.content, str) else part.content
            said = "\n".join(item for item in items if isinstance(item, str)) or said
    return said


def _calls(said: str) -> list[ToolCallPart]:
    verb, what = signals.request(said) or ("", "")
    if verb == "list":
        return [ToolCallPart("list_memories", {})]
    if verb == "forget":
        return [ToolCallPart("forget_memory", {"ref": what})]
    found = [(signal.text, signal.tags) for signal in signals.detect_all(said)]
    if verb == "save" and len(found) < 2:  # without the word itself
        found = [(what, found[0][1] if found else [])]
    calls = [ToolCallPart("save_memory", {"content": text, "tags": tags}) for text, tags in found]
    if question := signals.question(said):
        query = {"query": question, "max_results": _RESULTS}
        calls.append(ToolCallPart("recall_memory", query))
    return calls


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
    for tool, key, tell in (
        ("recall_memory", "results", _recalled),
        ("list_memories", "memories", _listed),
    ):
        if part.tool_name == tool and isinstance(values.get(key), list):
            return tell([row for row in values[key] if isinstance(row, Mapping)])
    return text or "Done."


def _values(content: object) -> Mapping[str, Any]:
    if isinstance(content, str):
        with suppress(ValueError):
            content = json.loads(content)
    return content if isinstance(content, Mapping) else {}


def _saved(values: Mapping[str, Any], display: str) -> str:
    """What a save did, from what the tool says: the person may have changed the words."""
    said = str(values.get("content") or "").strip()
    head = f"Saved as [{values['ref']}]{f': {said}' if said else '.'}"
    if values.get("action") == "consolidated":
        head = f"[{values['ref']}] already says this."
    path = str(values.get("path") or display)
    more = [line for line in display.splitlines()[1:] if path not in line]
    return "\n\n".join([head, *more])  # paragraphs: an answer is markdown


def _recalled(hits: Sequence[Mapping[str, Any]]) -> str:
    if not hits:
        return _NOTHING
    sure = [_quoted(hit) for hit in hits if not hit.get("weak")]
    weak = [_quoted(hit) for hit in hits if hit.get("weak")][: _RELATED if sure else None]
    found = _bullets("You told me:", sure) if sure else "I have nothing that clearly answers this."
    return "\n\n".join([found, _bullets("This may be related:", weak)] if weak else [found])


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
    sizes = accumulate(len(entry) + 1 for entry in reversed(said))
    kept = sum(size <= _SUMMED for size in sizes)
    return "\n".join(said[-kept:]) if said else _first(text, _SUMMED)


def _first(text: str, most: int = 200) -> str:
    """The first sentences of a text that fit."""
    flat = " ".join(text.split())
    if len(flat) <= most:
        return flat
    cut = flat[:most]
    ends = [match.end() for match in re.finditer(r"[.!?…](?=\s)", cut)]
    return cut[: ends[-1]] if ends else f"{cut.rpartition(' ')[0] or cut}…"
