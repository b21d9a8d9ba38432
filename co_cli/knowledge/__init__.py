"""Co's core: notes in plain markdown files, their rules, and nothing else.

A name is loaded when it is asked for, so that whoever only reads never loads what writes.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from co_cli.knowledge.context import SIZE_LIMIT, SIZE_TARGET, load_internal_knowledge
    from co_cli.knowledge.format.note import Note
    from co_cli.knowledge.notebook import Notebook
    from co_cli.knowledge.policy import Policy
    from co_cli.knowledge.search.hits import Hit
    from co_cli.knowledge.shelf import Shelf

__all__ = [
    "SIZE_LIMIT",
    "SIZE_TARGET",
    "Hit",
    "Note",
    "Notebook",
    "Policy",
    "Shelf",
    "load_internal_knowledge",
]

_HOMES = {
    "Hit": "search.hits",
    "Note": "format.note",
    "Notebook": "notebook",
    "Policy": "policy",
    "Shelf": "shelf",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES.get(name, 'context')}"), name)
