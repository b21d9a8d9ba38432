"""A note through all the notebooks that it moved between, by their journals.

Only the person's own notebook is believed about where another one is: a project's journal may have
come with its repository.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from co_cli.errors import CoError, MovedOn, Protected
from co_cli.knowledge.copies import ALONE, Copies, Links, find_copies, says
from co_cli.knowledge.format.note import Note
from co_cli.knowledge.lineage import lineages
from co_cli.knowledge.notebook import Notebook
from co_cli.knowledge.pages import Problem, Ref
from co_cli.knowledge.pair import all_locked
from co_cli.knowledge.purge import purge
from co_cli.knowledge.shelf import Shelf

Elsewhere = Callable[[str], Notebook]  # the notebook in a folder; CoError when there is none


@dataclass(slots=True)
class Trail:
    """What a purge removes, notebook by notebook, the one it began in first; and what it does not.

    `unreached` are notebooks that hold it for all that is known, `left` notes that have the same
    words and are none of its copies.
    """

    book: Notebook
    ref: Ref
    earlier: bool
    books: list[Notebook]  # all that were looked into
    found: list[tuple[Notebook, Copies]] = field(default_factory=list)
    unreached: dict[str, Problem] = field(default_factory=dict)
    left: list[tuple[Notebook, Note]] = field(default_factory=list)

    def __len__(self) -> int:
        return sum(len(copies) for _, copies in self.found)

    @property
    def copies(self) -> Copies:
        """What the notebook holds that it was asked for in."""
        return self.found[0][1]

    @property
    def notes(self) -> list[Note]:
        """All that goes, in all versions."""
        return [note for _, copies in self.found for one in copies.own for note in one.notes]

    @property
    def texts(self) -> set[str]:
        """What it says, in all of them."""
        return {text for _, copies in self.found for text in copies.texts}


def follow(
    shelf: Shelf, book: Notebook, ref: Ref, *, earlier: bool, elsewhere: Elsewhere,
    known: Iterable[str],
) -> Trail:  # fmt: skip
    """Find all copies of a note; `known` are folders of notebooks that it may have moved to too.

    NotFound when there is none.
    """
    trail = Trail(book, ref, earlier, [book, *(one for one in shelf if one is not book)])
    known = [root for root in known if os.path.isdir(root)]
    looked = 0
    while len(trail.books) != looked:
        looked = len(trail.books)
        trail.found = _find(trail)
        moves = [(at, move) for at, copies in trail.found for move in copies.pairs.items()]
        count = Counter(pair for _, (pair, _) in moves)
        for at, (_, other) in moves:
            _reach(trail, other, elsewhere, believed=at is shelf.user)
        for root in known:  # a project that has another place now, or a copy of it
            if root not in _roots(trail) and not count.keys().isdisjoint(_pairs(root, elsewhere)):
                _reach(trail, root, elsewhere, believed=True)
    lost = {other for _, (pair, other) in moves if count[pair] == 1}
    trail.unreached = {root: why for root, why in trail.unreached.items() if root in lost}
    if not (len(trail) or trail.unreached or any(copies.lines for _, copies in trail.found)):
        book.find(ref)
    trail.left = [*_left(trail, known, elsewhere)]
    return trail


def _roots(trail: Trail) -> set[str]:
    return {os.path.realpath(book.root) for book in trail.books}


def _reach(trail: Trail, root: str, elsewhere: Elsewhere, *, believed: bool) -> None:
    """Look into one more notebook, if it can be written to."""
    if root in _roots(trail) or root in trail.unreached:
        return
    try:
        if not believed:
            raise CoError("is not the notebook of yours that is used here")
        book = elsewhere(root)
        with book.store.locked():
            trail.books.append(book)
    except CoError as error:
        trail.unreached[root] = Problem(root, str(error))


def _pairs(root: str, elsewhere: Elsewhere) -> set[str]:
    """The moves that a notebook's journal tells of."""
    try:
        return {entry.pair for entry in elsewhere(root).store.entries() if entry.pair}
    except CoError:
        return set()


def _find(trail: Trail) -> list[tuple[Notebook, Copies]]:
    """The copies in the notebooks that are looked into, by all that each tells of the others."""
    links = ALONE
    while True:
        found = [(book, _copies(trail, book, links)) for book in trail.books]
        memories = [one for _, copies in found for one in copies.memories]
        more = Links(
            frozenset(pair for _, copies in found for pair in copies.pairs),
            frozenset(note for one in memories for note in one.notes),
        )
        if more == links:
            return [(b, c) for b, c in found if b is trail.book or len(c) or c.lines]
        links = more


def _copies(trail: Trail, book: Notebook, links: Links) -> Copies:
    ref = trail.ref if book is trail.book else None
    try:
        return find_copies(book, ref, earlier=trail.earlier, links=links)
    except Protected as error:
        if ref is None:
            error.hint = f"In {os.path.dirname(os.path.dirname(book.root))}: {error.hint}"
        raise


def _left(
    trail: Trail, known: Iterable[str], elsewhere: Elsewhere
) -> Iterable[tuple[Notebook, Note]]:
    """The notes that have the same words and stay, also in notebooks that it never moved to."""
    gone = {book.root: copies for book, copies in trail.found}
    books, texts = list(trail.books), trail.texts
    for root in known:
        try:
            books += [] if root in _roots(trail) else [elsewhere(root)]
        except CoError:
            continue
    for book in books:
        copies = gone.get(book.root)
        told = [*copies.earlier, *(holder for holder, _ in copies.summaries)] if copies else []
        for one in lineages(book) if texts else ():
            taken = copies is not None and one in copies.own
            if one.latest and not taken and one.latest not in told and says(one, texts):
                yield book, one.latest


def purge_all(trail: Trail, shelf: Shelf, *, first: Callable[[], None]) -> None:
    """Remove them, the named notebook's last, so that who is stopped can go on from there.

    MovedOn, and nothing is removed, when anything changed since they were found. What another
    project does not let go is told in `unreached`. What `first` removes goes before all.
    """
    waiting = [first]

    def once() -> None:
        if waiting:
            first()
            waiting.clear()

    with all_locked(*(book for book, _ in trail.found)):
        if _find(trail) != trail.found:
            raise MovedOn("the notebook changed meanwhile", hint="Nothing was purged; try again.")
        for book, copies in trail.found[:0:-1]:
            try:
                purge(book, copies, first=once)
            except CoError as error:
                if book in (shelf.user, shelf.project):
                    raise
                trail.unreached[book.root] = Problem(book.root, str(error))
        purge(trail.book, trail.copies, first=once)
