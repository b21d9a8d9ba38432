"""What a client is asked: its folders, and whether its person agrees to a write.

A server used to ask by a request of its own; since 2026 it answers that it needs input, and the
client calls again with that. `Client` does either.
"""

import os
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from mcp import types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp.types.version import MODERN_PROTOCOL_VERSIONS

from co_cli.agent.approval import FORGET, KEEP, Proposal
from co_cli.knowledge.safety.escape import escape

Context = ServerRequestContext[Any, Any]
_ROOTS, _AGREED = "roots", "agreed"
_SECONDS = 10  # that a client has to name its folders
_LONGEST = 4000  # characters of an article that a person is shown
_WORDS = {FORGET: "Forget this?", KEEP: "Keep this article?"}


class NeedsInput(Exception):
    """The call cannot be answered before the client has sent more; `result` tells it what."""

    def __init__(self, result: types.InputRequiredResult) -> None:
        super().__init__("input required")
        self.result = result


class Client(NamedTuple):
    """Who calls, and with what."""

    ctx: Context
    params: Any

    @property
    def name(self) -> str:
        """What the client calls itself."""
        info = self.ctx.session.client_params
        told = f"{info.client_info.name} {info.client_info.version}" if info else ""
        return " ".join(escape(told, keep="").split())[:80] or "unknown client"

    @property
    def session(self) -> str:
        """What its calls have in common; empty where each stands alone."""
        request = self.ctx.request
        return "stdio" if request is None else request.headers.get("mcp-session-id", "")

    def has(self, what: str) -> Any:
        """What the client said about something that it can do; None where it cannot."""
        return getattr(self.ctx.session.client_capabilities, what, None)

    @property
    def can_ask(self) -> bool:
        """Whether it can put a question to its person."""
        elicits = self.has("elicitation")
        return elicits is not None and (elicits.form is not None or elicits.url is None)

    async def folders(self) -> list[str] | None:
        """The folders that it works in; None if it has no such notion, or does not answer."""
        if self.has("roots") is None:
            return None
        try:
            request = types.ListRootsRequest()
            found = await self._ask(_ROOTS, request, types.ListRootsResult, seconds=_SECONDS)
        except MCPError:
            return None
        urls = [urlsplit(str(root.uri)) for root in found.roots]
        named = [unquote(url.path) for url in urls if url.scheme == "file"]
        return [path for path in named if os.path.isdir(path)]

    async def agrees(self, proposal: Proposal, state: str, *, asked: bool) -> types.ElicitResult:
        """What its person says to this write; `asked` if they were, and this is their answer."""
        answer = (self.params.input_responses or {}).get(_AGREED) if asked else None
        if isinstance(answer, types.ElicitResult):
            return answer
        form = types.ElicitRequestFormParams(
            message=question(proposal, self.name), requested_schema=_form(proposal)
        )
        request = types.ElicitRequest(params=form)
        said: types.ElicitResult = await self._ask(_AGREED, request, types.ElicitResult, state)
        return said

    async def _ask(
        self, key: str, request: Any, kind: type[Any], state: str | None = None,
        seconds: float | None = None,
    ) -> Any:  # fmt: skip
        if self.ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            about = ServerMessageMetadata(related_request_id=self.ctx.request_id)
            return await self.ctx.session.send_request(request, kind, seconds, about)
        answer = (getattr(self.params, "input_responses", None) or {}).get(key)
        if state is None and isinstance(answer, kind):
            return answer
        raise NeedsInput(types.InputRequiredResult(input_requests={key: request},
                                                   request_state=state))  # fmt: skip


def _form(proposal: Proposal) -> dict[str, Any]:
    """What is filled in: nothing, or what becomes of a memory that this one collides with."""
    if not (ref := replaceable(proposal)):
        return {"type": "object", "properties": {}}
    names = ["Keep both", f"Replace memory {ref}"]
    similar = {"type": "string", "title": "The similar memory", "enum": ["keep", "update"],
               "enumNames": names, "default": "keep"}  # fmt: skip
    return {"type": "object", "properties": {"similar": similar}}


def replaceable(one: Proposal) -> str:
    """The memory that may give way; none where the client may not know of it."""
    first = one.collisions[: one.collides]
    return next((one.replaces or met.ref for met in first if met.told), "")


def question(one: Proposal, client: str) -> str:
    """A write as its person is shown it: the exact text, and all that comes with it."""
    where = "everywhere" if one.scope == "user" else "in this project"
    text = escape(one.text)
    if one.tool == KEEP and len(text) > _LONGEST:
        text = f"{text[:_LONGEST]}\n[and {len(text) - _LONGEST} more characters]"
    lines = [_WORDS.get(one.tool, f"Remember this {where}?"), "", text, ""]
    lines += [f"Title: {escape(one.title, keep='')}"] if one.title else []
    lines += [f"Source: {escape(one.source, keep='')}"] if one.source else []
    tags = one.tags if one.action != "consolidated" or one.collisions[0].told else ()
    lines += [f"Tags: {escape(', '.join(tags), keep='')}"] if tags else []
    lines.append(f"File: {escape(one.where, keep='')}")
    lines.append(f"Asked for by: {client}")
    lines += ["This replaces the text of an article that is there."] if one.overwrites else []
    said = "Says the same as" if one.action == "consolidated" else "Similar to"
    lines += [f"{said} memory {met.ref}: {escape(met.text)}" for met in one.collisions if met.told]
    lines += [f"Takes the place of memory {one.replaces}."] if one.replaces else []
    lines += [f"Your other notebook has {met.ref}: {escape(met.text)}" for met in one.elsewhere]
    lines += [f"Left out: {one.left_out}"] if one.left_out else []
    lines += [one.moves] if one.moves else []
    lines += ["It has changed since you were asked; this is how it is now."] if one.again else []
    return "\n".join(lines)
