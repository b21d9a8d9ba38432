"""Where a note lies while a person edits it, and how a purge removes it from there."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

from co_cli import paths
from co_cli.knowledge.reader import Reader
from co_cli.knowledge.store import disk

if TYPE_CHECKING:
    pass


def drafts_folder() -> str:
    """Where a note lies while a person edits it."""
    return os.path.join(paths.state_folder(), "drafts")


def draft_name(book: Reader, name: str) -> str:
    """How drafts of the note in this file begin: a mark of the file, for a number may be shared."""
    return f"{(disk.digest(os.fsencode(os.path.join(book.memories, name))) or '')[:16]}-"


def drop_drafts(book: Reader, names: Iterable[str]) -> None:
    """Remove what edits of these notes left behind."""
    begin = tuple(draft_name(book, name) for name in names)
    for draft in disk.list_names(drafts_folder()) if begin else ():
        if draft.startswith(begin):
            os.unlink(os.path.join(drafts_folder(), draft))
