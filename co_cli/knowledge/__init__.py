"""Co's core: notes in plain markdown files, their rules, and nothing else.

A name is loaded when it is asked for, so that whoever only reads never loads what writes.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from co_cli.knowledge.context import SIZE_LIMIT, SIZE_TARGET, load_internal_knowledge
    from co_cli.knowledge.format.note import Note
    from co_cli.knowledge.meaning.encoders import Embedder
    from co_cli.knowledge.notebook import Notebook
    from co_cli.knowledge.pages import Look, Problem
    from co_cli.knowledge.plan import ImportItem, Plan, Saved
    from co_cli.knowledge.policy import Policy
    from co_cli.knowledge.search.hits import Filters, Hit, How, Recall
    from co_cli.knowledge.shelf import Shelf
    from co_cli.knowledge.store import Store
    from co_cli.knowledge.store.files import FolderStore
    from co_cli.knowledge.store.memory import MemoryStore

__all__ = [
    "SIZE_LIMIT", "SIZE_TARGET", "Embedder", "Filters", "FolderStore", "Hit", "How", "ImportItem",
    "Look", "MemoryStore", "Note", "Notebook", "Plan", "Policy", "Problem", "Recall", "Saved",
    "Shelf", "Store", "load_internal_knowledge",
]  # fmt: skip

_HOMES = {
    "Embedder": "meaning.encoders", "Filters": "search.hits", "FolderStore": "store.files",
    "Hit": "search.hits", "How": "search.hits", "ImportItem": "plan", "Look": "pages",
    "MemoryStore": "store.memory", "Note": "format.note", "Notebook": "notebook", "Plan": "plan",
    "Policy": "policy", "Problem": "pages", "Recall": "search.hits", "Saved": "plan",
    "Shelf": "shelf", "Store": "store",
}  # fmt: skip


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = _HOMES.get(name, "context")
    return getattr(import_module(f"{__name__}.{home}"), name)
