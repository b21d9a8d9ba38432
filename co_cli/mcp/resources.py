"""What a client reads by its address: the context and each note; and a prompt that teaches when to
save and when to look.
"""

import asyncio
import inspect
import re
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote, unquote

from mcp import types
from mcp.shared.exceptions import MCPError

from co_cli import prompts
from co_cli.deps import CoDeps
from co_cli.errors import CoError
from co_cli.knowledge import Note, Notebook
from co_cli.mcp.asking import Client, Context, NeedsInput
from co_cli.mcp.reading import read_note
from co_cli.mcp.server import Memory
from co_cli.prompts.envelope import defang
from co_cli.tools.memory import recall_memory, save_memory

_PAGE = 200  # notes that are told at once
_MARKDOWN = "text/markdown"
_CONTEXT = types.Resource(
    uri="co://context", name="context", mime_type=_MARKDOWN,
    description="What the person wants every session to know.",
)  # fmt: skip
_TEMPLATES = [
    types.ResourceTemplate(uri_template=f"co://{kind}/{{ref}}", name=kind, mime_type=_MARKDOWN,
                           description=f"{what}, by its ref, such as {example}.")
    for kind, what, example in (
        ("memory", "One memory", "12 or g3"),
        ("article", "One article or a part of it", "a:rfc-9110 or a:rfc-9110#page-3"),
    )
]  # fmt: skip
_PROMPT = types.Prompt(
    name="memory", title="Use Co's memory",
    description="When to look into the person's memory, and what is worth saving.",
)  # fmt: skip


class Resources:
    """The notes by address, as far as a client may be told of them."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory

    async def list(
        self, ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        """The context and every note, a page at a time."""
        cursor = (params and params.cursor) or "0"
        if not re.fullmatch("[0-9]{1,9}", cursor):
            raise MCPError(types.INVALID_PARAMS, "there is no such page")
        first = int(cursor)
        try:
            notes = await asyncio.to_thread(_notes, await self.memory.deps(Client(ctx, params)))
        except NeedsInput:  # where it works is asked at its first call of a tool
            notes = []
        except CoError as error:
            raise MCPError(types.INTERNAL_ERROR, defang(error.sentence())) from error
        found = [] if first else [_CONTEXT]
        for book, note in notes[first : first + _PAGE]:
            ref, size = book.ref(note), len(note.body.encode())
            found.append(types.Resource(uri=f"co://{note.kind}/{quote(ref, safe='')}", name=ref,
                title=defang(note.summary), mime_type=_MARKDOWN, size=size))  # fmt: skip
        more = str(first + _PAGE) if len(notes) > first + _PAGE else None
        return types.ListResourcesResult(resources=found, next_cursor=more)

    async def templates(self, _: Context, _params: Any) -> types.ListResourceTemplatesResult:
        """How the address of a note is made."""
        return types.ListResourceTemplatesResult(resource_templates=_TEMPLATES)

    async def read(
        self, ctx: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult | types.InputRequiredResult:
        """The context, or one note."""
        place = re.fullmatch(r"co://(?:memory|article)/(.+)", params.uri)
        try:
            deps = await self.memory.deps(Client(ctx, params))
            if params.uri == _CONTEXT.uri:
                text, _ = await asyncio.to_thread(prompts.knowledge, deps.folder())
            elif place:
                told = await read_note(SimpleNamespace(deps=deps), unquote(place[1]))
                text = defang(told["display"])
            else:
                raise CoError("no note has such an address")
        except NeedsInput as needs:
            return needs.result
        except CoError as error:
            raise MCPError(types.INVALID_PARAMS, defang(error.sentence())) from error
        found = types.TextResourceContents(uri=params.uri, text=text, mime_type=_MARKDOWN)
        return types.ReadResourceResult(contents=[found])

    async def prompts(self, _: Context, _params: Any) -> types.ListPromptsResult:
        """The one prompt."""
        return types.ListPromptsResult(prompts=[_PROMPT])

    async def prompt(
        self, _: Context, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult:
        """What the chat's own model is told about the tools, for any other."""
        if params.name != _PROMPT.name:
            raise MCPError(types.INVALID_PARAMS, f"there is no prompt {params.name[:40]!r}")
        tools = recall_memory, save_memory
        taught = [(one.__name__, str(inspect.getdoc(one)).partition("\n\nArgs:")) for one in tools]
        said = types.TextContent(text="\n\n".join(f"## {name}\n\n{doc[0]}" for name, doc in taught))
        message = types.PromptMessage(role="user", content=said)
        return types.GetPromptResult(messages=[message])


def _notes(deps: CoDeps) -> list[tuple[Notebook, Note]]:
    with deps.notebooks() as shelf:
        books = list(shelf) if deps.usable() else [shelf.user]
        read = [(book, [*book.notes(), *book.articles()]) for book in books]
        return [(book, note) for book, notes in read for note in deps.tellable(book, notes)]
