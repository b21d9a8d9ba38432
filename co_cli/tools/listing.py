"""The memories that a model may list, and what it has been shown. Holds no rules."""

from typing import Any

from co_cli import results
from co_cli.deps import CoDeps
from co_cli.knowledge import Note, Notebook, Shelf
from co_cli.knowledge.format.note import marks
from co_cli.knowledge.search.updates import Links, newest_update

MOST_LISTED = 150  # memories that a model is shown in a list
Listed = list[tuple[Notebook, Note]]


def listed(deps: CoDeps, shelf: Shelf, since: str | None, until: str | None) -> Listed:
    """By notebook and number; of some days alone, by when they were last changed."""
    books = shelf if deps.usable() else (shelf.user,)
    found = [(book, note) for book in books for note in deps.tellable(book, book.notes())]
    if not (since or until):
        return found
    first, last = since or "", f"{until or ''}~"  # after any time of that day
    found = [pair for pair in found if first <= _changed(pair[1]) <= last]
    return sorted(found, key=lambda pair: _changed(pair[1]))


def list_json(deps: CoDeps, shelf: Shelf, every: Listed, page: Listed) -> dict[str, Any]:
    """A page of these memories, or all of them, a line each."""
    names = ("id", "ref", "path", "created", "tags", "summary")
    links = shelf.links()
    rows = [
        {name: row[name] for name in names}
        | ({"source": note.origin} if note.origin else {})
        | _updated_json(deps, book, note, links)
        | results.outdated_json(book, note)
        for book, note in page
        if (row := results.note_json(book, note))
    ]
    took_in(deps, [note for _, note in page[-MOST_LISTED:]], whole=False)
    texts = [
        results.list_text(
            book, [note for at, note in page if at is book], sum(at is book for at, _ in every)
        )
        for book in dict.fromkeys(book for book, _ in page)
    ]
    books = shelf if deps.usable() else (shelf.user,)
    display = "\n\n".join(texts) or results.none_text(*books)
    return {"display": display, "count": len(every), "memories": rows}


def _updated_json(
    deps: CoDeps, book: Notebook, note: Note, links: Links[Notebook]
) -> dict[str, str]:
    """Which memory holds instead of this one, where one does."""
    newer = newest_update(note, links)
    if newer is None or not deps.tellable(newer[0], [newer[1]]):
        return {}
    return {"updated_by": results.update_ref(book, newer[1])}


def took_in(deps: CoDeps, notes: list[Note], *, whole: bool = True) -> None:
    """Take down that a model was shown these, whole or in a line, and which are from outside."""
    for note in notes:
        deps.entered(*(marks(note) if whole else [note.mark]))
        if note.kind == "article":
            deps.came_from(f"article {note.name}")
        elif note.external:
            deps.came_from(f"memory {note.name} ({note.meta.get('source') or 'untrusted'})")


def _changed(note: Note) -> str:
    return str(note.meta.get("updated") or note.created)
