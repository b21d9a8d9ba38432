"""What is out of date is never shown alone: what updates it comes first, wherever that lies.

Reads the notes that links name; knows no index.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

from co_cli.knowledge.format.note import Note, last_change, linked_uids
from co_cli.knowledge.search.hits import Filters, Hit

if TYPE_CHECKING:
    from co_cli.knowledge.search.recall import Search


class Book(Protocol):
    """What is asked of the notebook that a note is in."""

    memories: str

    @property
    def search(self) -> Search: ...
    def tells(self, note: Note) -> bool: ...


_Book = TypeVar("_Book", bound=Book)
_LONGEST_CHAIN = 20  # updates of updates
Found = tuple[_Book, Hit]
Links = Mapping[str, Sequence[tuple[_Book, str]]]  # a note's uid, and the files that update it
Test = Callable[[_Book, Note], bool]


def current_first(
    found: Sequence[Found[_Book]], links: Links[_Book], visible: Test[_Book],
    counts: Test[_Book] | None = None,
) -> list[Found[_Book]]:  # fmt: skip
    """The hits, each that is out of date right after what updates it, or nowhere without it.

    Who asks sees only what is `visible`. What does not `count` brings nothing out of date.
    """
    if not links:
        return list(found)
    placed: list[Found[_Book]] = []
    newest = {hit.note.path: newest_update(hit.note, links, counts) for _, hit in found}
    there = {hit.note.path: (book, hit) for book, hit in found}
    for book, hit in found:
        current = newest[hit.note.path]
        if any(one.note.path == hit.note.path for _, one in placed):
            continue  # two that update each other
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


def is_visible(filters: Filters, book: Book, note: Note) -> bool:
    """Whether who asks may see a note that updates another."""
    return book.tells(note) and (filters.sensitive or not note.sensitive)


def newest_update(
    note: Note, links: Links[_Book], counts: Test[_Book] | None = None
) -> tuple[_Book, Note] | None:
    """The note that holds instead of this one, where a link says so: the newest, or its update."""
    current, seen = None, {note.path}
    for _ in range(_LONGEST_CHAIN):
        read = [
            (book, update)
            for book, name in _leading_to(note, links)
            if (update := book.search.files.note(name))
            and update.path not in seen
            and (counts is None or counts(book, update))
        ]
        if not read:
            break
        current = max(read, key=lambda pair: last_change(pair[1]))
        note = current[1]
        seen.add(note.path)
    return current


def _leading_to(note: Note, links: Links[_Book]) -> Iterable[tuple[_Book, str]]:
    """The files that say that they update a note; a number means a note of the same notebook."""
    folder = os.path.dirname(note.path)
    if note.meta.get("uid"):
        yield from links.get(note.uid, ())
    for book, name in links.get(note.handle, ()):
        if book.memories == folder:
            yield book, name


def linked_files(notes: Iterable[Note]) -> dict[str, list[str]]:
    """For each uid that these notes bring out of date, the names of the files that do."""
    found: dict[str, list[str]] = {}
    for note in notes:
        for uid in linked_uids(note, "updates"):
            found.setdefault(uid, []).append(note.name)
    return found


def _add(placed: list[Found[_Book]], one: Found[_Book]) -> None:
    if all(hit.note.path != one[1].note.path for _, hit in placed):
        placed.append(one)


def _shown_for(hit: Hit, note: Note) -> Hit:
    """What updates a hit, shown because the hit was found."""
    return Hit(
        note, hit.score, f"updates {hit.note.handle}", hit.weak, note.body, rank=hit.rank,
        features=hit.features,
    )  # fmt: skip
