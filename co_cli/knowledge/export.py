"""Export: every note as JSON Lines, which `co knowledge import` reads back.

Of an article's original the name and the hash are told; its bytes stay in attachments/.
"""

import json
import os
from collections.abc import Iterator
from typing import Any

from co_cli.errors import CoError
from co_cli.knowledge.importers.batch import FLAGS, TEXT_FIELDS
from co_cli.knowledge.notebook import Notebook
from co_cli.knowledge.search.hits import Filters
from co_cli.knowledge.store import disk

_OTHER_FIELDS = ("source", "auto_category", "check", "verified", "supersedes", "related")


def export(book: Notebook, *, sensitive: bool = False) -> Iterator[dict[str, Any]]:
    """Each memory as plain values, by number; then each article, by name.

    Those that are marked sensitive only if that is asked for.
    """
    wanted = Filters(sensitive=sensitive).fit
    for note in filter(wanted, book.look().notes):
        more = {name: note.meta.get(name) for name in (*TEXT_FIELDS, *FLAGS, *_OTHER_FIELDS)}
        if note.external and not (more["trust"] and _is_plain(more["trust"])):
            more["trust"] = "external"
        yield {
            "id": note.id,
            "uid": note.uid,
            "created": note.created,
            "tags": note.tags,
            **{name: value for name, value in more.items() if _is_plain(value)},
            "content": note.body,
        }
    for note in filter(wanted, book.articles()):
        told = {name: value for name, value in note.meta.items() if name not in ("id", "created")}
        plain = {name: value for name, value in told.items() if _is_plain(value)}
        marked = {**plain, "trust": "external"}
        yield {"kind": "article", "uid": note.uid, **marked, "content": note.body}


def _is_plain(value: Any) -> bool:
    items = value if isinstance(value, list) else [value]
    return all(isinstance(item, str | int) for item in items)


def export_to(
    book: Notebook, path: str, *, force: bool = False, sensitive: bool = False
) -> list[dict[str, Any]]:
    """Write every note to a plain file, whole or not at all; what was written."""
    if disk.is_link(path):
        hint = f"Name the file it leads to: {os.path.realpath(path)}"
        raise CoError(f"{path} is a symbolic link", hint=hint)
    if disk.exists(path) and not force:
        raise CoError(f"{path} already exists", hint="Choose another name, or add --force.")
    if disk.exists(path) and not os.path.isfile(path):
        raise CoError(f"{path} is not a plain file", hint="Choose another name.")
    rows = [*export(book, sensitive=sensitive)]
    lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]
    try:
        disk.put(os.path.abspath(path), "".join(lines).encode())
    except OSError as error:
        raise CoError(f"cannot write {path}: {error.strerror}") from error
    return rows
