"""Which notes a new text is compared with, in one notebook or in several at once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, TypeVar

from co_cli.knowledge import lifecycle
from co_cli.knowledge.compare.relation import CANDIDATES, Match, match
from co_cli.knowledge.format.note import Note, is_linked
from co_cli.knowledge.pages import Look
from co_cli.knowledge.policy import Policy
from co_cli.knowledge.search.hits import Around, How

_ORDER = ("updates", "restates", "similar")


class Book(Protocol):
    """What comparing asks of a notebook."""

    how: How
    policy: Policy

    def around(self, text: str) -> tuple[Look, Around]: ...
    def neighbours(self, text: str, most: int) -> list[tuple[Note, float]]: ...


_Book = TypeVar("_Book", bound=Book)


def compare(
    books: Iterable[_Book], text: str, editing: Note | None = None
) -> list[tuple[_Book, Match]]:
    """The notes that a text updates, or else restates, and those in similar words.

    The nearest of all notebooks together are read. A note that says the same to the word is no
    matter for a person, and neither is any other then. With `editing`, the text is for that note,
    which is not compared, nor is any that it has a link to.
    """
    near: list[tuple[float, _Book, Note]] = []
    similar: list[tuple[_Book, Note]] = []
    for book in books:
        around = book.around(text)[1].without(editing)
        same, close = lifecycle.judge(text, around, book.policy.threshold)
        if same is not None:
            return []
        similar += [(book, note) for note, _ in close]
        if book.how.reads:
            nearest = book.neighbours(text, CANDIDATES + bool(editing))
            near += [(r, book, note) for note, r in nearest if _is_comparable(note, editing)]
    near = sorted(near, key=lambda one: -one[0])[:CANDIDATES]
    homes = {note.path: book for _, book, note in near}
    found = [(homes[one.note.path], one) for one in match(text, [note for _, _, note in near])]
    known = {one.note.path for _, one in found}
    found += [(book, Match(n, "similar", 0.0)) for book, n in similar if n.path not in known]
    worded = [(book, _with_wording(one, text)) for book, one in found]
    return sorted(worded, key=lambda pair: (_ORDER.index(pair[1].verdict), -pair[1].score))


def _is_comparable(note: Note, editing: Note | None) -> bool:
    known = editing and (note.path == editing.path or is_linked(note, editing))
    return not (note.consolidated or known)


def _with_wording(one: Match, text: str) -> Match:
    return one._replace(wording=lifecycle.similarity(one.note.body, text))
