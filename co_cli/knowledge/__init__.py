"""Co's core: notes in plain markdown files, their rules, and nothing else.

A name is loaded when it is asked for, so that whoever only reads never loads what writes.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from co_cli.knowledge.context import SIZE_LIMIT, SIZE_TARGET, load_internal_knowledge
    from co_cli.knowledge.hits import Hit
    from co_cli.knowledge.note import Note
    from co_cli.knowledge.notebook import Notebook
    from co_cli.knowledge.policy import Policy
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

_IN_CONTEXT = ("SIZE_LIMIT", "SIZE_TARGET", "load_internal_knowledge")


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = {"Hit": "hits"}.get(name, "context" if name in _IN_CONTEXT else name.lower())
    return getattr(import_module(f"{__name__}.{home}"), name)
