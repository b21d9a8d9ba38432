"""Export: every note as JSON Lines, which `co knowledge import` reads back.

Of an article's original the name and the hash are told; its bytes stay in attachments/.
"""

import json
import os
from collections.abc import Iterator
from typing import Any

from co_cli.errors import CoError
from co_cli.knowledge.exported import record
from co_cli.knowledge.format.note import Note
from co_cli.knowledge.importers.batch import FLAGS, TEXT_FIELDS
from co_cli.knowledge.notebook import Notebook
from co_cli.knowledge.search.hits import Filters
from co_cli.knowledge.store import disk

_OTHER_FIELDS = (
    "source", "auto_category", "check", "verified", "updates", "supersedes", "related",
)  # fmt: skip


def export(book: Notebook, *, sensitive: bool = False) -> Iterator[dict[str, Any]]:
    """Each memory as plain values, by number; then each article, by name.

    Those that are marked sensitive only if that is asked for. What the person wrote or agreed to is
    recorded, so that an import here knows it again.
    """
    wanted = Filters(sensitive=sensitive).fit
    notes = [*filter(wanted, book.look().notes)]
    untrusted = book.origins is not None and book.origins.untrusted()
    own = set() if untrusted else {note.path for note in book.own(notes)}
    rows = {note.path: _memory(note) for note in notes}
    record(row for path, row in rows.items() if path in own)
    yield from rows.values()
    yield from map(_article, filter(wanted, book.articles()))


def _memory(note: Note) -> dict[str, Any]:
    more = {name: note.meta.get(name) for name in (*TEXT_FIELDS, *FLAGS, *_OTHER_FIELDS)}
    if note.external and not (more["trust"] and _is_plain(more["trust"])):
        more["trust"] = "external"
    return {
        "id": note.id,
        "uid": note.uid,
        "created": note.created,
        "tags": note.tags,
        **{name: value for name, value in more.items() if _is_plain(value)},
        "content": note.body,
    }


def _article(note: Note) -> dict[str, Any]:
    told = {name: value for name, value in note.meta.items() if name not in ("id", "created")}
    plain = {name: value for name, value in told.items() if _is_plain(value)}
    return {
        "kind": "article", "uid": note.uid, **plain, "trust": "external", "content": note.body
    }  # fmt: skip


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
