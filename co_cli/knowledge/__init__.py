"""Co's core: notes in plain markdown files, their rules, and nothing else."""

from co_cli.knowledge.context import SIZE_LIMIT, SIZE_TARGET, load_internal_knowledge
from co_cli.knowledge.lifecycle import Policy
from co_cli.knowledge.note import Note
from co_cli.knowledge.notebook import Notebook
from co_cli.knowledge.scan import Hit
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
