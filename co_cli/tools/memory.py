"""The memory tools, and the names of the design documents over the core. Holds no rules."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from co_cli.deps import CoDeps
from co_cli.knowledge import Note, Notebook, Policy, folders, lifecycle
from co_cli.knowledge.note import slugify as _slugify
from co_cli.knowledge.sameness import same
from co_cli.results import hit_json, list_text, note_json, recall_text, saved_json

__all__ = [
    "MemoryEntry",
    "_check_duplicate",
    "_decay_memories",
    "_detect_category",
    "_detect_source",
    "_load_all_memories",
    "_next_memory_id",
    "_search_memories",
    "_slugify",
    "_update_existing_memory",
    "list_memories",
    "recall_memory",
    "save_memory",
]

_detect_source = lifecycle.detect_source
_detect_category = lifecycle.detect_category


class Context(Protocol):
    """All that a tool reads of an agent's run."""

    @property
    def deps(self) -> CoDeps:
        """What the tools are given."""


@dataclass
class MemoryEntry:
    """A memory as the documents' helpers pass it about."""

    id: int
    path: Path
    content: str
    tags: list[str]
    created: str
    updated: str | None = None
    decay_protected: bool = False


async def save_memory(ctx: Context, content: str, tags: list[str] | None = None) -> dict[str, Any]:
    """Save a memory in this project's notebook."""

    def save() -> dict[str, Any]:
        book = ctx.deps.shelf().project
        call = getattr(ctx, "tool_call_id", None) or ""
        return saved_json(book, book.remember(content, tags or [], actor="agent", call=call))

    return await asyncio.to_thread(save)


async def recall_memory(ctx: Context, query: str, max_results: int = 5) -> dict[str, Any]:
    """Find memories that match a query, in this project's notebook and the user's."""

    def recall() -> dict[str, Any]:
        shelf = ctx.deps.shelf()
        try:
            found = shelf.recall(query, max_results)
            searched = sum(book.finder.total for book in shelf.books())
        finally:
            shelf.close()
        return {
            "display": recall_text(query, found, searched),
            "count": len(found),
            "results": [hit_json(book, hit) for book, hit in found],
        }

    return await asyncio.to_thread(recall)


async def list_memories(ctx: Context) -> dict[str, Any]:
    """List this project's memories."""

    def listing() -> dict[str, Any]:
        book = ctx.deps.shelf().project
        notes = book.notes()
        rows = [note_json(book, note) for note in notes]
        names = ("id", "ref", "created", "tags", "summary")
        return {
            "display": list_text(book, notes),
            "count": len(notes),
            "memories": [{name: row[name] for name in names} for row in rows],
        }

    return await asyncio.to_thread(listing)


def _entry(note: Note) -> MemoryEntry:
    return MemoryEntry(
        note.id,
        Path(note.path),
        note.body,
        list(note.tags),
        note.created,
        note.meta.get("updated"),
        note.protected,
    )


def _book(memory_dir: Path, policy: Policy | None = None) -> Notebook:
    return Notebook(Path(memory_dir).parent, policy=policy)


def _here() -> Path:
    return Path(folders.knowledge_folder(folders.project_folder()), "memories")


def _load_all_memories(memory_dir: Path) -> list[MemoryEntry]:
    return [_entry(note) for note in _book(memory_dir).notes()]


def _next_memory_id(memory_dir: Path | None = None) -> int:
    book = _book(memory_dir or _here())
    book.notes()
    return book.next_id()


def _search_memories(query: str, memory_dir: Path, max_results: int = 5) -> list[dict[str, Any]]:
    book = _book(memory_dir)
    return [hit_json(book, hit) for hit in book.recall(query, max_results)]


def _check_duplicate(
    content: str, recent: list[MemoryEntry], threshold: float = 85
) -> tuple[bool, MemoryEntry | None, float]:
    """Whether one of these says the same, which one, and RapidFuzz's score of the closest."""
    for entry in recent:
        if same(entry.content, content):
            return True, entry, lifecycle.similarity(entry.content, content)
    scored = [(lifecycle.similarity(entry.content, content), entry) for entry in recent]
    score, closest = max(scored, key=lambda pair: pair[0], default=(0.0, None))
    return False, closest if score >= threshold else None, score


def _update_existing_memory(
    entry: MemoryEntry, content: str, tags: list[str] | None = None
) -> dict[str, Any]:
    book = _book(entry.path.parent)
    return saved_json(book, book.consolidate(entry.path.stem, content, tags or []))


def _decay_memories(
    ctx: Context, memory_dir: Path, _memories: list[MemoryEntry] | None = None
) -> dict[str, Any]:
    """Decay the oldest of the notebook's memories now; what is there is read anew."""
    book = _book(memory_dir, Policy.of(ctx.deps))
    plan = book.plan_decay(actor="agent")
    if plan is not None:
        book.commit(plan)
    saved = plan.saved if plan else None
    return {
        "decayed": len(saved.decayed) if saved else 0,
        "ids": [note.id for note in saved.decayed] if saved else [],
        "strategy": book.policy.strategy,
        "path": saved.summary.path if saved and saved.summary else None,
    }
