"""What a client is asked: its folders, and whether its person agrees to a write.

A server used to ask by a request of its own; since 2026 it answers that it needs input, and the
client calls again with that. `Client` does either.
"""

import asyncio
import os
import re
from collections.abc import Iterable
from dataclasses import replace
from itertools import islice
from typing import Any, NamedTuple
from urllib.parse import quote_from_bytes, unquote_to_bytes

from mcp import types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp.types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel, ValidationError

from co_cli.agent.approval import FORGET, KEEP, Proposal
from co_cli.knowledge.safety.escape import escape
from co_cli.tools.saving import Collision, Verdict

Context = ServerRequestContext[Any, Any]
_ROOTS, _AGREED = "roots", "agreed"
_SECONDS = 10  # that a client has to name its folders
_LONGEST = 4000  # characters of an article that a person is shown
_MOST_ROOTS = 1000  # that are looked at
_MET = {
    "updates": "Brings {} out of date",
    "restates": "Already noted as {}",
    "similar": "Similar wording to {}, {how}%",
}
_WORDS = {FORGET: "Forget this?", KEEP: "Keep this article?"}


class _Root(BaseModel):
    """A root as clients send it: any text, where the SDK's own type takes only some."""

    uri: str


class _Roots(BaseModel):
    roots: list[_Root]


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

    async def folder(self) -> str:
        """The first folder it works in that is here; empty where there is none, or no answer."""
        if self.has("roots") is None:
            return ""
        is_modern = self.ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
        kind = types.ListRootsResult if is_modern else _Roots
        try:
            found = await self._ask(_ROOTS, types.ListRootsRequest(), kind, seconds=_SECONDS)
        except (MCPError, ValidationError):
            return ""
        return await asyncio.to_thread(_first_folder, [str(root.uri) for root in found.roots])

    async def agrees(self, proposal: Proposal, state: str, *, asked: bool) -> types.ElicitResult:
        """What its person says to this write; `asked` if they were, and this is their answer."""
        answer = (self.params.input_responses or {}).get(_AGREED) if asked else None
        if isinstance(answer, types.ElicitResult):
            return answer
        form = types.ElicitRequestFormParams(
            message=question(proposal, self.name), requested_schema=_form(proposal)
        )
        request = types.ElicitRequest(params=form)
        try:
            said: types.ElicitResult = await self._ask(_AGREED, request, types.ElicitResult, state)
        except ValidationError:  # no answer that the protocol knows is no yes
            said = types.ElicitResult(action="cancel")
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


def _first_folder(uris: Iterable[str]) -> str:
    """The first folder among these that is on this machine; a file stands for its own."""
    for uri in islice(uris, _MOST_ROOTS):
        local = re.fullmatch(r"(?is)file:(?://(?:localhost)?(?=/))?(/(?!/).*)", uri.strip())
        sent = local[1].encode(errors="replace") if local else b""
        for path in map(os.fsdecode, (unquote_to_bytes(sent), sent)):  # not all are encoded
            if os.path.isdir(path):
                return path
            if os.path.isfile(path):
                return os.path.dirname(path)
    return ""


async def readable_roots(ctx: Context, call_next: Any) -> Any:
    """Pass on a request without those of its roots that the SDK would refuse it for."""
    params = ctx.params or {}
    match params.get("inputResponses"):
        case {"roots": {"roots": list(roots)} as answer, **others}:
            named = [root.get("uri") for root in roots if isinstance(root, dict)]
            uris = [uri for uri in named if isinstance(uri, str)]
            folder = await asyncio.to_thread(_first_folder, uris)
            kept = [{"uri": f"file://{quote_from_bytes(os.fsencode(folder))}"}] if folder else []
            answers = {**others, _ROOTS: {**answer, "roots": kept}}
            ctx = replace(ctx, params={**params, "inputResponses": answers})
    return await call_next(ctx)


def _form(proposal: Proposal) -> dict[str, Any]:
    """What is filled in: nothing, or what becomes of the memories that this brings out of date."""
    names = choices(proposal)
    if not names:
        return {"type": "object", "properties": {}}
    choice = {"type": "string", "title": "The earlier memory", "enum": [*names],
              "enumNames": [*names.values()], "default": proposal.usual}  # fmt: skip
    return {"type": "object", "properties": {"choice": choice}}


def choices(one: Proposal) -> dict[Verdict, str]:
    """What a person can choose through a client; nothing where there is nothing to choose."""
    outdated = [met.ref for met in one.outdated if met.visible]
    able = [met.ref for met in known(one) if met.is_replaceable]
    found: dict[Verdict, str] = {}
    if outdated:
        found["update"] = f"Link it as an update of memory {' and '.join(outdated)}"
    elif able:
        found["yes"] = "Save it as well"
    if able:
        found["replace"] = f"Replace memory {able[0]}, which is archived"
    if outdated:
        found["keep"] = "Keep both as unrelated"
    return found


def known(one: Proposal) -> list[Collision]:
    """What it updates or restates of the memories that a client may know of."""
    return [met for met in (*one.outdated, *one.restated) if met.visible]


def _name(met: Collision) -> str:
    return f"memory {met.ref}{'' if met.here else ' in your other notebook'}"


def question(one: Proposal, client: str) -> str:
    """A write as its person is shown it: the exact text, and all that comes with it."""
    where = "everywhere" if one.scope == "user" else "in this project"
    text = escape(one.text)
    if one.tool == KEEP and len(text) > _LONGEST:
        text = f"{text[:_LONGEST]}\n[and {len(text) - _LONGEST} more characters]"
    lines = [_WORDS.get(one.tool, f"Remember this {where}?"), "", text, ""]
    lines += [f"Title: {escape(one.title, keep='')}"] if one.title else []
    lines += [f"Source: {escape(one.source, keep='')}"] if one.source else []
    visible = [met for met in one.collisions if met.visible]
    rewords = one.action == "consolidated"
    tags = one.tags if not rewords or one.collisions[0].visible else ()
    lines += [f"Tags: {escape(', '.join(tags), keep='')}"] if tags else []
    lines.append(f"File: {escape(one.where, keep='')}")
    lines.append(f"Asked for by: {client}")
    lines += ["This replaces the text of an article that is there."] if one.overwrites else []
    for met in visible:
        says = _MET[met.verdict].format(_name(met), how=f"{met.wording:.0f}")
        if rewords and met is one.collisions[0] and met.wording < 100:
            says = f"Takes the place of the wording of memory {met.ref}"
        lines.append(f"{says}: {escape(met.note.body)}")
    lines += [f"Left out: {one.left_out}"] if one.left_out else []
    lines += [one.moves] if one.moves else []
    lines += ["It has changed since you were asked; this is how it is now."] if one.again else []
    return "\n".join(lines)
