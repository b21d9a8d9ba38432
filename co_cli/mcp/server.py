"""What each tool does for another agent: it reads as a model here would, and writes only after a
yes. Without one a save is a draft that waits in the inbox, unless the person started the server
with `--allow-writes`.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from secrets import token_urlsafe
from time import monotonic
from types import SimpleNamespace
from typing import Any, NamedTuple

from mcp import types
from mcp.shared.exceptions import MCPError

from co_cli import paths, trust
from co_cli.agent.approval import DECLINED, FORGET, KEEP, SAVE, WRITES, Decision, Proposal, prepare
from co_cli.agent.told import told
from co_cli.deps import CoDeps
from co_cli.errors import CoError, MovedOn
from co_cli.knowledge import Note, Notebook, Shelf, inbox
from co_cli.knowledge.compare.same import key
from co_cli.knowledge.format.note import scoped
from co_cli.mcp import reading
from co_cli.mcp.asking import Client, Context, NeedsInput, choices, known
from co_cli.mcp.tools import LIST, READ, RECALL, TOOLS, checked
from co_cli.offline.rejections import rejections
from co_cli.prompts.envelope import defang
from co_cli.tools import articles, memory
from co_cli.tools.saving import Verdict, matches
from co_cli.workspace import Workspace

_MOST_PROJECTS, _MOST_ASKED, MOST_CLIENTS = 8, 100, 64  # that are remembered
_MOST_PAIRS = 3  # of memories of which one seems to update the other
_MOST_DRAFTS = 200  # that wait in an inbox before clients are told to stop
_Result = dict[str, Any]
_KNOWN = {"action": "known", "display": "This is already saved."}
# Whether it was there before, or was rejected, is no client's to know.
_DRAFTED = {
    "action": "draft",
    "display": "Offered to the person, who reviews new drafts with: co inbox",
}


class Options(NamedTuple):
    """How the person started the server."""

    read_only: bool = False
    allow_writes: bool = False
    sensitive: bool = False


class Asked(NamedTuple):
    """A write that a person was shown, and the project it is for."""

    project: str
    proposal: Proposal


class Memory:
    """The notebooks, and what is remembered of clients between two of their calls."""

    def __init__(self, options: Options, opened: Callable[[Workspace], None]) -> None:
        self.options, self.opened = options, opened
        self.here = paths.project_folder()
        self.used = monotonic()
        self.projects: dict[str, Workspace] = {}
        self.chosen: dict[str, str] = {}  # session to project
        self.asked: dict[str, Asked] = {}  # by a word that the client brings back

    def tools(self) -> list[types.Tool]:
        """The tools that there are."""
        reads = self.options.read_only
        return [tool for name, tool in TOOLS.items() if not (reads and name in WRITES)]

    async def call(
        self, ctx: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        """Do what a client asks for."""
        if params.name not in {tool.name for tool in self.tools()}:
            raise MCPError(types.INVALID_PARAMS, f"there is no tool {params.name[:40]!r}")
        client = Client(ctx, params)
        asked = self.asked.pop(params.request_state or "", None)
        try:
            arguments = checked(params.name, params.arguments or {})
            if asked and asked.proposal.tool != params.name:
                raise CoError("the approval was for a different write", hint="Nothing was done.")
            deps = await self.deps(client, asked)
            if params.name in WRITES:
                result = await self._write(client, deps, params.name, arguments, asked)
            else:
                result = await _DO[params.name](SimpleNamespace(deps=deps), **arguments)
        except NeedsInput as needs:
            return needs.result
        except CoError as error:
            text = types.TextContent(text=defang(error.sentence()))
            return types.CallToolResult(content=[text], is_error=True)
        finally:
            self.used = monotonic()
        text = types.TextContent(text=defang(result.pop("display")))
        rows = _without_none(told(result)) if TOOLS[params.name].output_schema else None
        return types.CallToolResult(content=[text], structured_content=rows)

    async def deps(self, client: Client, asked: Asked | None = None) -> CoDeps:
        """What the tools are given: the notebooks of the project that the client works in."""
        self.used = monotonic()
        project = asked.project if asked else await self._project(client)
        saved_as = {"source": "mcp", "trust": "external", "client": client.name}
        return CoDeps(
            workspace=await asyncio.to_thread(self._workspace, project), gated=True, actor="mcp",
            sensitive=self.options.sensitive, saved_as=saved_as,
        )  # fmt: skip

    async def _project(self, client: Client) -> str:
        if known := self.chosen.get(client.session):
            return known
        folder = await client.folder()
        project = paths.project_folder(folder) if folder else self.here
        if client.session:
            self.chosen[client.session] = project
            forget_oldest(self.chosen, MOST_CLIENTS)
        return project

    def _workspace(self, project: str) -> Workspace:
        """A project's workspace; its notebooks stay open, in the one thread that all work is in."""
        if project not in self.projects:
            workspace = Workspace(project, lenient=True, watch=True)
            for book in workspace.shelf:
                book.hides_sensitive = not self.options.sensitive
            self.projects[project] = workspace
            self.close(_MOST_PROJECTS)
            self.opened(workspace)
        return self.projects[project]

    def close(self, most: int = 0) -> None:
        """Let go of the notebooks of all but so many projects, the newest."""
        for old in list(self.projects)[::-1][most:]:
            with suppress(CoError):  # of what could not even be opened
                self.projects.pop(old).shelf.close()

    # Writing

    async def _write(
        self, client: Client, deps: CoDeps, name: str, arguments: _Result, asked: Asked | None
    ) -> _Result:
        if not (client.can_ask or self.options.allow_writes):
            return await asyncio.to_thread(_draft, deps, name, arguments)
        if name != FORGET and not asked:
            old = await asyncio.to_thread(_corrected, deps, arguments)
            arguments = arguments | {"scope": _scope(deps, arguments.get("scope"), old)}
        plan = partial(prepare, deps, "", name, arguments)
        proposal = asked.proposal if asked else await asyncio.to_thread(plan)
        while True:
            if proposal.refused:
                raise CoError(f"it cannot be done: {proposal.refused}")
            if proposal.action == "consolidated" and not client.can_ask:
                return dict(_KNOWN)  # a note stays as it is, whoever wrote it
            decision = await self._decide(client, deps, proposal, asked is not None)
            if not decision.agreed:
                return {"display": decision.refusal.text, "action": decision.refusal.kind}
            agreed = decision.metadata() if client.can_ask else {}  # a plan that they have seen
            context = SimpleNamespace(deps=deps, tool_call_metadata=agreed)
            try:
                return await _DO[name](context, **proposal.arguments())
            except MovedOn:  # it would do something else now
                proposal, asked = replace(await asyncio.to_thread(plan), again=True), None

    async def _decide(
        self, client: Client, deps: CoDeps, proposal: Proposal, asked: bool
    ) -> Decision:
        if not client.can_ask:
            if proposal.left_out or proposal.overwrites:
                raise CoError(f"it cannot be done: {proposal.left_out or 'an article is there'}",
                              hint="Only the person can: co knowledge edit")  # fmt: skip
            return Decision(proposal, "yes")
        state = token_urlsafe()
        self.asked[state] = Asked(deps.folder(), proposal)
        forget_oldest(self.asked, _MOST_ASKED)
        answer = await client.agrees(proposal, state, asked=asked)
        self.asked.pop(state, None)
        if answer.action != "accept":
            return Decision(proposal, "no", DECLINED)
        offered = choices(proposal)
        said = (answer.content or {}).get("choice")
        usual: Verdict = next(iter(offered), "yes")
        verdict = next((one for one in offered if one == said), usual)
        refs = tuple(met.ref for met in known(proposal))  # of others they were shown nothing
        return Decision(replace(proposal, chosen=refs), verdict)


def _corrected(deps: CoDeps, arguments: _Result) -> tuple[Notebook, Note] | None:
    """The memory that a save is to replace; CoError where there is none or it may not go."""
    if not (ref := arguments.get("replaces")):
        return None
    with deps.notebooks() as shelf, suppress(CoError):
        book, note = deps.find(shelf, ref)
        fits = arguments.get("scope") in (None, book.scope) and note.kind == "memory"
        if fits and not note.protected:
            return book, note
    raise CoError(f"there is no memory {ref[:60]} here that this could replace")


def _scope(deps: CoDeps, wanted: str | None, old: tuple[Notebook, Note] | None) -> str:
    """Where a note goes: no client makes a project, and what is for one is not told in all."""
    if old:
        return old[0].scope
    if wanted != "user" and paths.is_project(deps.folder()):
        return deps.scope("project")
    if wanted == "project":
        raise CoError("this folder is no project yet", hint="The person makes it one: co init")
    return "user"


def _draft(deps: CoDeps, name: str, arguments: _Result) -> _Result:
    """Let a text wait in the inbox until the person looks at it."""
    if name != SAVE:
        what = "ingest ADDRESS" if name == KEEP else f"forget {arguments['ref'][:60]}"
        raise CoError("nobody is here who could agree to that", hint=f"The person can: co {what}")
    old, fields = _corrected(deps, arguments), dict[str, Any](deps.saved_as)
    if old:
        fields |= scoped(old[1].language) | {"replaces": old[1].uid}
    draft = inbox.Draft(
        arguments["content"], tuple(arguments.get("tags", ())),
        origin=f"mcp: {deps.saved_as['client']}", fields=(*fields.items(),),
    )  # fmt: skip
    folder = deps.folder()
    begun = paths.is_project(folder) and not trust.untouched(folder)
    wanted = old[0].scope if old else arguments.get("scope")
    in_user = not begun or deps.scope(wanted) == "user"
    with deps.notebooks() as shelf:
        book = shelf.user if in_user else shelf.project
        if len(inbox.waiting(book)) >= _MOST_DRAFTS:
            raise CoError("the inbox is full", hint="The person looks through it with: co inbox")
        rejected = rejections(shelf.project, shelf.user)
        put = inbox.put(book, [draft], actor=deps.actor, refused=rejected)
        saved = {key(note.body) for note in deps.tellable(book, book.notes())}
        if put.refused:
            raise CoError(put.refused[0].reason)
        if key(draft.text) in saved:
            return dict(_KNOWN)
        outdated = ([old] if old else []) + [
            (at, one.note)
            for at, one in matches(deps, shelf, draft.text)
            if one.verdict == "updates" and deps.tellable(at, [one.note])
        ]
        met = {at.ref(note): note.summary for at, note in outdated}
        lines = [f"It would bring memory {ref} out of date: {text}" for ref, text in met.items()]
        display = "\n".join([str(_DRAFTED["display"]), *lines, *_unconfirmed(deps, shelf)])
    return {**_DRAFTED, "display": display, "updates": [*met]}


def _unconfirmed(deps: CoDeps, shelf: Shelf) -> list[str]:
    """Memories that seem to update others, which the person has not confirmed; a few of them."""
    pairs = [
        f"Not confirmed by the person: memory {book.ref(new)} may update {book.ref(old)}."
        for book, new, old in shelf.unconfirmed()
        if (book.scope == "user" or deps.usable()) and len(deps.tellable(book, [new, old])) == 2
    ]
    return pairs[:_MOST_PAIRS]


_DO: Mapping[str, Callable[..., Awaitable[_Result]]] = {
    RECALL: memory.recall_memory, LIST: reading.list_memories, READ: reading.read_note,
    SAVE: memory.save_memory, FORGET: memory.forget_memory, KEEP: articles.save_knowledge,
}  # fmt: skip


def _without_none(value: Any) -> Any:
    """The same without what is not there: strict clients know no null."""
    if isinstance(value, dict):
        return {name: _without_none(one) for name, one in value.items() if one is not None}
    return [_without_none(one) for one in value] if isinstance(value, list) else value


def forget_oldest(kept: dict[str, Any], most: int) -> None:
    """Keep no more than so many, the newest."""
    for name in list(kept)[:-most]:
        del kept[name]
