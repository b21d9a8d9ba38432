"""How well notes serve: whether recall finds them, and which want attention. Changes nothing."""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from co_cli.knowledge import use
from co_cli.knowledge.compare.relation import states_same
from co_cli.knowledge.compare.same import same
from co_cli.knowledge.format.note import Note
from co_cli.knowledge.notebook import Notebook
from co_cli.knowledge.safety.secrets import find_secret
from co_cli.knowledge.search.words import STOP
from co_cli.knowledge.shelf import Shelf
from co_cli.knowledge.verify import freshness

MOST, _READ = 100, 2000  # notes that are asked for, and that are searched for secrets
Held = tuple[Notebook, Note]


class Measure(NamedTuple):
    """One number of the page: what was counted, of how many, which notes, and what to do."""

    name: str
    many: int
    of: int
    refs: Sequence[str] = ()
    do: str = ""


def question(note: Note) -> str:
    """A few words of a note to ask for it with, always the same: its longest, as they stand."""
    words = dict.fromkeys(re.findall(r"\w{3,}", note.body[:2000]))
    told = sorted((word for word in words if word.lower() not in STOP), key=lambda w: (-len(w), w))
    return " ".join(word for word in words if word in told[:4]) or note.body[:80]


def sample(notes: Sequence[Held], most: int) -> list[Held]:
    """So many of these at most, always the same and evenly spread."""
    return [notes[at * len(notes) // most] for at in range(most)] if len(notes) > most else [*notes]


def asked(shelf: Shelf, notes: Sequence[Held], ask: Callable[[Note], str]) -> list[Measure]:
    """How many of these notes are found by a question, and which of the answers collide."""
    first, missed, later, doubled = 0, list[str](), list[str](), set[str]()
    for book, note in notes:
        hits = shelf.recall(ask(note), 5)
        met = [hit.note.path == note.path or same(hit.note.body, note.body) for _, hit in hits]
        first += met[:1] == [True]
        missed += [] if any(met) else [book.ref(note)]
        later += [book.ref(note)] if any(met[1:]) and not met[0] else []
        for where, hit in hits:
            if hit.note.kind != "memory" or hit.note.path == note.path:
                continue
            if where is not book and states_same(hit.note.body, note.body):
                doubled.add(book.ref(note) if book.scope == "project" else where.ref(hit.note))
    twins, rivals = _pairs(shelf)
    hard = "Say it in the words that you would ask with: co knowledge edit {}"
    merge = "co knowledge merge {} --keep-first"
    return [
        Measure("found first", first, len(notes)),
        Measure("found, but not first", len(later), len(notes), later, hard),
        Measure("not among the first five", len(missed), len(notes), missed, hard),
        Measure("near-twins", len(twins), len(notes), twins, f"Keep the newer: {merge}"),
        Measure("contradictions", len(rivals), len(notes), rivals,
                "If the newer holds: co knowledge review"),
        Measure("in both notebooks", len(doubled), len(notes), sorted(doubled),
                "Your own notebook says it too: co forget {}"),
    ]  # fmt: skip


def _pairs(shelf: Shelf) -> tuple[list[str], list[str]]:
    """The memories that say the same in other words, and those that another seems to update."""
    twins, rivals = list[str](), list[str]()
    for book in shelf:
        book.search.compare_notes(most=MOST)
        twins += [f"{book.ref(new)} {book.ref(old)}" for new, old in book.search.restated()]
        rivals += [f"{book.ref(new)} {book.ref(old)}" for new, old, _ in book.unconfirmed()]
    return sorted(twins), sorted(rivals)


def evaluate(shelf: Shelf, ask: Callable[[Note], str] = question) -> list[Measure]:
    """The numbers of a page: some notes are asked for, and all are looked at."""
    every, uses = [(book, note) for book in shelf for note in book.notes()], use.last_used()
    unread = [p for book in shelf for p in (*book.look().problems, *book.pages.articles()[1])]

    def of(
        name: str, do: str, wanted: Callable[[Notebook, Note], object], most: int = 0
    ) -> Measure:
        notes = sample(every, most) if most else every
        refs = [book.ref(note) for book, note in notes if wanted(book, note)]
        return Measure(name, len(refs), len(notes), refs, do)

    return [
        *asked(shelf, sample([one for one in every if not one[1].consolidated], MOST), ask),
        of("stale", "Put it right: co knowledge edit {}", lambda b, n: freshness(b, n).mark),
        of("expired", "Let it go: co forget {}", lambda b, n: n.expired(b.today())),
        of("never used", "co knowledge list --by use", lambda _, n: uses.of(n) == "never"),
        of("use not known", "Saved before uses were counted", lambda _, n: uses.of(n) == "unknown"),
        of("secrets", "Take it out: co forget {} --purge", lambda _, n: find_secret(n.body), _READ),
        Measure("unreadable", len(unread), len(every), (), "See why: co knowledge doctor"),
    ]
