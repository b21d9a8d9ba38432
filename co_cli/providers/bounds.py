"""How long an answer may take and how large it may grow, whatever a provider sends.

Knows httpx and the framework's hooks, and no provider.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import Any

import httpx2
from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability, WrapModelRequestHandler
from pydantic_ai.messages import ModelResponse, PartDeltaEvent, PartStartEvent

from co_cli.deps import CoDeps
from co_cli.errors import GaveUp

LARGEST = 4 * 1024 * 1024  # characters of one response, bytes of its body or of one event in it
_STREAM = 16 * LARGEST  # bytes of a stream of events, in which a word takes hundreds
_TOO_MUCH = f"sent more than {LARGEST // 1024**2} MB for one answer"
_HELD = ("content", "args", "signature", "content_delta", "args_delta", "signature_delta")
_EVENT_ENDS = (b"\n\n", b"\r\n\r\n", b"\r\r")
_CONNECT = 5.0  # seconds


@dataclass
class AnswerTimeout(AbstractCapability[Any]):
    """Gives up on a model that takes too long for all its part in one answer.

    The time that tools take does not count, and so neither does waiting for the person.
    """

    seconds: float = 0.0
    left: float = 0.0

    async def for_run(self, ctx: RunContext[Any]) -> AnswerTimeout:
        """The same for one run, with all its time before it."""
        given = ctx.deps if isinstance(ctx.deps, CoDeps) else CoDeps()
        seconds = self.seconds or given.answer_seconds
        return replace(self, seconds=seconds, left=seconds)

    async def wrap_model_request(
        self, _: RunContext[Any], *, request_context: Any, handler: WrapModelRequestHandler
    ) -> ModelResponse:
        """One request, in the time that those before it left."""
        clock = asyncio.get_running_loop().time
        began, time = clock(), asyncio.timeout(max(self.left, 0.0))
        try:
            async with time:
                return await handler(request_context)
        except TimeoutError as error:
            if not time.expired():
                raise
            hint = "The setting answer_seconds says how long Co waits."
            raise GaveUp(f"took longer than {self.seconds:g} s to answer", hint=hint) from error
        finally:
            self.left -= clock() - began


def held(before: int, event: object) -> int:
    """How much a response holds after this event; GaveUp when that is too much."""
    if isinstance(event, PartStartEvent):
        size = _weight(event.part) + (before if event.index else 0)
    elif isinstance(event, PartDeltaEvent):
        size = before + _weight(event.delta)
    else:
        return before
    if size > LARGEST:
        raise GaveUp(_TOO_MUCH)
    return size


def _weight(part: object) -> int:
    return sum(len(str(getattr(part, name, None) or "")) for name in _HELD)


def client(seconds: float) -> httpx2.AsyncClient:
    """What a provider's library sends its requests with; `seconds` without a byte are too many.

    No connection outlives its answer, so that it may be used from one event loop after another.
    """
    return httpx2.AsyncClient(
        timeout=httpx2.Timeout(seconds, connect=_CONNECT),
        limits=httpx2.Limits(max_keepalive_connections=0),
        event_hooks={"request": [_ask_plainly], "response": [_bound]},
    )


async def _ask_plainly(request: httpx2.Request) -> None:
    """Ask for nothing packed, which could be any size; a library's time is for the answer."""
    request.headers["Accept-Encoding"] = "identity"
    times = request.extensions.get("timeout")
    if times and (times.get("connect") or _CONNECT) >= _CONNECT:
        request.extensions["timeout"] = {**times, "connect": _CONNECT}


async def _bound(response: httpx2.Response) -> None:
    if response.headers.get("Content-Encoding", "identity").strip().lower() != "identity":
        raise GaveUp("sent a compressed answer, though it was asked not to")
    events = "event-stream" in response.headers.get("Content-Type", "")
    assert isinstance(response.stream, httpx2.AsyncByteStream)
    response.stream = _Bounded(response.stream, events)


class _Bounded(httpx2.AsyncByteStream):
    """A body that ends in GaveUp when it, or one event in it, grows too large."""

    def __init__(self, stream: httpx2.AsyncByteStream, events: bool) -> None:
        self.stream, self.events = stream, events

    async def __aiter__(self) -> AsyncIterator[bytes]:
        total = pending = 0
        tail = b""
        async for piece in self.stream:
            total += len(piece)
            pending += len(piece)
            if self.events:
                seen = tail + piece
                ends = max(seen.rfind(end) for end in _EVENT_ENDS)
                pending = len(seen) - ends if ends >= 0 else pending
                tail = seen[-3:]
            if pending > LARGEST or total > _STREAM:
                raise GaveUp(_TOO_MUCH)
            yield piece

    async def aclose(self) -> None:
        await self.stream.aclose()
