"""What is out of date is never shown alone: what updates it comes first, wherever that lies.

Reads the notes that links name; knows no index.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from co_cli.knowledge.format.note import Note, last_change, linked_uids
from co_cli.knowledge.search.hits import Hit

if TYPE_CHECKING:
    from co_cli.knowledge.notebook import Notebook

_LONGEST_CHAIN = 20  # updates of updates
Found = tuple["Notebook", Hit]
Links = Mapping[str, Sequence[tuple["Notebook", str]]]  # a note's uid, and the files that update it


def current_first(
    found: Sequence[Found], links: Links, visible: Callable[[Notebook, Note], bool]
) -> list[Found]:
    """The hits, each that is out of date right after what updates it, or nowhere without it."""
    if not links:
        return list(found)
    placed: list[Found] = []
    newest = {hit.note.path: newest_update(hit.note, links) for _, hit in found}
    there = {hit.note.path: (book, hit) for book, hit in found}
    for book, hit in found:
        current = newest[hit.note.path]
        if current is None:
            _add(placed, (book, hit))
        elif visible(*current):
            home, note = current
            update = there.get(note.path, (home, _shown_for(hit, note)))
            _add(placed, update)
            at = next(n for n, (_, one) in enumerate(placed) if one.note.path == note.path)
            if not hit.weak:  # whoever finds the one has found the other
                placed[at] = (placed[at][0], placed[at][1]._replace(weak=False))
            placed.insert(at + 1, (book, hit._replace(updated_by=note, maybe_updated_by=None)))
    return placed


def newest_update(note: Note, links: Links) -> tuple[Notebook, Note] | None:
    """The note that holds instead of this one, where a link says so: the newest, or its update."""
    current, seen = None, {note.path}
    for _ in range(_LONGEST_CHAIN):
        read = [
            (book, update)
            for book, name in links.get(note.uid, ())
            if (update := book.search.files.note(name)) and update.path not in seen
        ]
        if not read:
            break
        current = max(read, key=lambda pair: last_change(pair[1]))
        note = current[1]
        seen.add(note.path)
    return current


def linked_files(notes: Iterable[Note]) -> dict[str, list[str]]:
    """For each uid that these notes bring out of date, the names of the files that do."""
    found: dict[str, list[str]] = {}
    for note in notes:
        for uid in linked_uids(note, "updates"):
            found.setdefault(uid, []).append(note.name)
    return found


def _add(placed: list[Found], one: Found) -> None:
    if all(hit.note.path != one[1].note.path for _, hit in placed):
        placed.append(one)


def _shown_for(hit: Hit, note: Note) -> Hit:
    """What updates a hit, shown because the hit was found."""
    return Hit(
        note, hit.score, f"updates {hit.note.handle}", hit.weak, note.body, rank=hit.rank,
        features=hit.features,
    )  # fmt: skip
