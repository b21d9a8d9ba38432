"""A model without a language model behind it, which remembers and recalls and admits it.

What it does comes from the person's own words of this turn and from nothing else: neither a note
nor a tool's answer nor a summary can make it call a tool. What to do is in `calls`, what to say in
`replies`.
"""

import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from itertools import accumulate
from typing import Any

from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    ModelResponseStreamEvent,
    TextContent,
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

from co_cli.knowledge.store import disk
from co_cli.learning.turns import Turn
from co_cli.providers import calls, conversation, replies
from co_cli.providers.known import Known

_NAME = "offline"
_SUMMED = 1500  # characters of a summary
_PASTED = (
    "You pasted that, so I take it for somebody else's words and do nothing with it. To keep it, "
    "type “remember:” and paste it after that."
)
_KEEP_PASTED = (  # how a person asks for that, beside what they pasted
    r"(?i)(?:(?:please|pls|co|can you|could you)[, ]{1,2}){0,2}(?:remember|keep|note|save|store)"
    r"(?:(?: (?:down|this|that|these|the following)){0,2}[.!]?|\b[^\n.!?]{0,40}:)"
)
_PROMISES = (  # which Co does not make where nothing is kept
    " Tell me, and I will offer to remember it.",
    ", and “remember …” works as before",
)
_LOOKS_UP = ("recall", "about", "nothing")  # all that pasted words alone may bring about
_response = partial(ModelResponse, model_name=_NAME, provider_name=_NAME)


class OfflineModel(Model[None]):
    """What Co talks with when no provider is set up."""

    model_name = system = _NAME

    def __init__(
        self,
        known: Mapping[str, str] | None = None,
        reword: Callable[[str], str] = str,
        rejected: Callable[[str], bool] = lambda _text: False,
    ) -> None:
        super().__init__()
        self._surface = conversation.Surface(Known(known or {}).find, reword, rejected)

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        _, asked = self.prepare_request(model_settings, model_request_parameters)
        return _answer(messages, asked, self._surface)

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,  # noqa: ARG002 - the framework's signature
    ) -> AsyncGenerator[StreamedResponse]:
        _, asked = self.prepare_request(model_settings, model_request_parameters)
        answer = _answer(messages, asked, self._surface)
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


def _answer(
    messages: Sequence[ModelMessage], asked: ModelRequestParameters, surface: conversation.Surface
) -> ModelResponse:
    start = _start(messages)
    said, pasted = _said(messages[start]) if messages else ("", "")
    parts = [part for message in messages[start + 1 :] for part in message.parts]
    called = [part.tool_call_id for part in parts if isinstance(part, ToolCallPart)]
    returns = [part for part in parts if isinstance(part, ToolReturnPart)]
    returns.sort(key=lambda part: [*called, part.tool_call_id].index(part.tool_call_id))
    offered = {tool.name for tool in asked.declared_function_tools}
    if not offered and not returns:
        return _response([TextPart(_summary(said) or replies.BRIEFLY)])
    heard = conversation.hear(said or pasted, messages, start, surface)
    if pasted and re.fullmatch(_KEEP_PASTED, said.strip()):
        heard = heard._replace(turns=[Turn("keep", pasted, ("context",))], note=None, saved=())
    elif pasted and not said:
        heard = heard._replace(turns=[one for one in heard.turns if one.want in _LOOKS_UP])
        if not heard.turns:
            return _response([TextPart(_PASTED)])
    if wanted := [one for one in calls.calls(heard, returns) if one.tool_name in offered]:
        return _response(wanted)
    earlier = [part for message in messages[:start] for part in message.parts]
    how = surface.reword(replies.HOW)
    explained = any(isinstance(part, TextPart) and part.content == how for part in earlier)
    told = replies.answer(heard, returns, explained=explained)
    for promise in _PROMISES if disk.only_reads else ():
        told = told.replace(promise, "")
    return _response([TextPart(told)])


def _start(messages: Sequence[ModelMessage]) -> int:
    """Where the person last spoke.

    A tool's answer may come with words in the place of the person's; it belongs to a run that was
    there before, which the first words of a run never do.
    """
    start, runs = 0, set[str]()
    for number, message in enumerate(messages):
        answers = any(isinstance(part, ToolReturnPart) for part in message.parts)
        if any(_said(message)) and not (answers and message.run_id in runs):
            start = number
        if message.run_id:
            runs.add(message.run_id)
    return start


def _said(message: ModelMessage) -> tuple[str, str]:
    """The person's last words in a message, and what they pasted; before that was said earlier.

    A summary or an attached text in it is somebody else's. So is what was pasted, which is known
    by a mark that nobody can type.
    """
    said = pasted = ""
    for part in message.parts:
        if isinstance(part, UserPromptPart):
            items = [part.content] if isinstance(part.content, str) else part.content
            own = "\n".join(item for item in items if isinstance(item, str))
            marked = (one for one in items if isinstance(one, TextContent))
            other = "\n".join(o.content for o in marked if "pasted" in (o.metadata or {}))
            said, pasted = (own, other) if own or other else (said, pasted)
    return said, pasted


def _summary(text: str) -> str:
    """The first sentence of each thing that was said, the latest kept; of a plain text, its first.

    A conversation comes as one JSON object a line, after what is to be done with it.
    """
    said = []
    for line in text.splitlines():
        values = conversation.read(line) if line.startswith("{") else {}
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
