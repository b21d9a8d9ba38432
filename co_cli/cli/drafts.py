"""The copies of notes that a person edits."""

from __future__ import annotations

import os
from collections.abc import Iterable

from co_cli import paths
from co_cli.knowledge.notebook import Notebook
from co_cli.knowledge.store import disk


def draft_path(book: Notebook, name: str) -> str:
    """How the paths of drafts of this file begin: a mark of the file, as numbers may be shared."""
    mark = disk.digest(os.fsencode(os.path.join(book.memories, name))) or ""
    return os.path.join(paths.state_folder(), "drafts", f"{mark[:16]}-")


def drop_drafts(book: Notebook, names: Iterable[str]) -> None:
    """Remove what edits of these notes left behind."""
    for folder, begin in (os.path.split(draft_path(book, name)) for name in names):
        for draft in disk.list_names(folder):
            if draft.startswith(begin):
                os.unlink(os.path.join(folder, draft))
