"""What a client reads beside what recall finds: the list, a page at a time, and one note."""

import re
from typing import Any

from co_cli import results
from co_cli.errors import CoError, NotFound
from co_cli.knowledge import Shelf
from co_cli.knowledge.search.places import section
from co_cli.tools import articles, memory
from co_cli.tools.listing import MOST_LISTED, list_json, listed

_Result = dict[str, Any]


async def list_memories(
    ctx: memory.Context, since: str = "", until: str = "", cursor: str = ""
) -> _Result:
    """A page of the memories, the newest of them first, and where the page before it begins."""
    if not re.fullmatch("[0-9]{0,9}", cursor):
        raise CoError("there is no such page", hint="Begin without a cursor.")

    def read(shelf: Shelf) -> _Result:
        every = listed(ctx.deps, shelf, since, until)
        end = max(len(every) - int(cursor or 0), 0)
        first = max(end - MOST_LISTED, 0)
        found = list_json(ctx.deps, shelf, every, every[first:end])
        if first:
            found["next_cursor"] = str(len(every) - first)
            found["display"] += f"\n\n{first} more before these: cursor {found['next_cursor']}"
        return found

    return await memory.work(ctx, read)


async def read_note(ctx: memory.Context, ref: str) -> _Result:
    """One memory or article, or a part of one, whole as far as a model is shown."""

    def read(shelf: Shelf) -> _Result:
        book, note = ctx.deps.find(shelf, ref)
        row = results.note_json(book, note)
        anchor = ref.strip().removeprefix(row["ref"]).removeprefix("#")
        anchor = anchor if ref.strip() == f"{row['ref']}#{anchor}" else ""
        text, left = articles.cut(section(note.body, anchor) if anchor else note.body)
        if anchor and not text:
            hint = f"Without the part: {row['ref']}"
            raise NotFound(f"article {row['ref']} has no part #{anchor[:60]}", hint=hint)
        where = {"project": "of this project", "user": "of the person's own"}.get(row["scope"], "")
        about = ", ".join(filter(None, (
            f"created {note.created[:10]}", where, results.outside_text(note),
            *results.outdated(book, note),
        )))  # fmt: skip
        part = f"Part {anchor} of " if anchor else ""
        lines = [f"{part}{note.kind} {row['ref']} ({about})"]
        lines[0] = lines[0][0].upper() + lines[0][1:]
        lines += [f"Tags: {', '.join(note.tags)}"] if note.tags else []
        lines += [note.title] if note.title else []
        lines += ["", text]
        lines += [f"[and {left} more characters]"] if left else []
        return {"display": "\n".join(lines)}

    return await memory.work(ctx, read)
