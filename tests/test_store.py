"""The laws of a notebook hold in any store: on disk, and in memory."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from co_cli.errors import CoError, MovedOn, NotFound, Protected
from co_cli.knowledge import (
    FolderStore,
    ImportItem,
    MemoryStore,
    Note,
    Notebook,
    Policy,
    Store,
)
from co_cli.knowledge.copies import find_copies
from co_cli.knowledge.doctor import diagnose
from co_cli.knowledge.purge import purge
from co_cli.knowledge.store import is_note

NOON = datetime(2026, 2, 9, 12, 0, tzinfo=UTC)
FACTS = ["Apples are red", "Bears sleep in winter", "Clocks tick", "Dogs bark at night"]
BY_HAND = "---\nid: {}\ncreated: 2026-02-09T14:30:00Z\n---\n\n{}\n"

Bytes = dict[str, bytes]


def edit(store: Store, path: str, data: bytes | None) -> None:
    """What a person does to a file by hand."""
    if isinstance(store, MemoryStore):
        store.put(path, data)
    elif data is None:
        os.unlink(store.locate(path))
    else:
        os.makedirs(os.path.dirname(store.locate(path)), exist_ok=True)
        Path(store.locate(path)).write_bytes(data)


def held(store: Store) -> Bytes:
    """Every memory's bytes, and those of articles and their originals."""
    more = {
        f"{folder}/{name}": store.read(f"{folder}/{name}") or b""
        for folder in ("articles", "attachments")
        for name in store.names(folder)
    }
    return {name: store.read(f"memories/{name}") or b"" for name in store.names("memories")} | more


@pytest.fixture(params=["folder", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    return FolderStore(tmp_path / "k") if request.param == "folder" else MemoryStore()


@pytest.fixture
def book(store: Store) -> Iterator[Notebook]:
    with Notebook(store, policy=Policy(max_count=50), clock=lambda: NOON) as book:
        yield book


def texts(book: Notebook) -> dict[int, str]:
    return {note.id: note.body for note in book.notes()}


def filled(book: Notebook) -> list[Note]:
    return [book.remember(fact, ["context"]).note for fact in FACTS]


def test_a_store_that_nobody_wrote_to_is_empty(book: Notebook) -> None:
    assert (book.store.exists(), book.notes(), book.look().problems, book.look().next_id()) == (
        False,
        [],
        [],
        1,
    )
    assert (book.store.entries(), list(book.store.kept()), book.archived()) == ([], [], [])
    assert list(book.recall("apples")) == []


def test_what_is_saved_is_read_back_by_whoever_opens_the_store(book: Notebook) -> None:
    saved = book.remember("Apples are red", ["fruit"], fields={"expires": "2027-01-01"})
    [note] = Notebook(book.store).notes()
    assert (note.raw, note.tags) == (saved.note.raw, ["fruit"])
    assert note.meta["expires"] == "2027-01-01"
    assert note.path == book.store.locate("memories/001-apples-are-red.md")
    assert [(entry.op, entry.state) for entry in book.store.entries()] == [("save", "done")]


VERBS: dict[str, Callable[[Notebook], Any]] = {
    "save": lambda book: book.remember("Eels swim"),
    "consolidate": lambda book: book.remember("apples are  red.", ["fruit"]),
    "update": lambda book: book.remember("Dogs bark at noon", replaces="4"),
    "forget": lambda book: book.forget(2),
    "protect": lambda book: book.protect(3),
    "merge": lambda book: book.merge([1, 3]),
    "edit": lambda book: book.replace(book.find(2), book.find(2).raw + b"And eat.\n"),
    "decay": lambda book: book.commit(book.plan_decay()),  # type: ignore[arg-type]
    "keep": lambda book: book.keep(
        "Eels swim", source="https://eels.example/", title="Eels", attachment=("eel.pdf", b"%PDF")
    ),
    "import": lambda book: book.store.commit(
        book.plan_import([ImportItem("Fish are wet", "old.json")], context=b"# Hi\n").change  # type: ignore[arg-type]
    ),
}


@pytest.mark.parametrize("verb", VERBS)
def test_every_change_can_be_taken_back_and_made_again(book: Notebook, verb: str) -> None:
    """G8. Red when a store does not keep the previous bytes of a change."""
    filled(book)
    before, context = held(book.store), book.store.read("context.md")
    VERBS[verb](book)
    after = held(book.store), book.store.read("context.md")
    assert after != (before, context)
    assert book.undo().op == verb
    assert (held(book.store), book.store.read("context.md")) == (before, context)
    book.undo(book.store.tail().n)
    assert (held(book.store), book.store.read("context.md")) == after


@pytest.mark.parametrize("strategy", ["summarize", "cut"])
def test_decay_keeps_every_word(store: Store, strategy: str) -> None:
    policy = Policy(max_count=4, percentage=0.5, strategy=strategy)
    book = Notebook(store, policy=policy, clock=lambda: NOON)
    notes = filled(book)
    saved = book.remember("Eels swim")
    assert [note.id for note in saved.decayed] == [1, 2]
    assert {note.raw for _, note in book.archived()} == {note.raw for note in notes[:2]}
    if saved.summary:
        assert all(fact in saved.summary.body for fact in FACTS[:2])
    book.restore(1)
    assert book.find(1).raw == notes[0].raw


def test_a_plan_is_refused_when_another_change_came_first(book: Notebook) -> None:
    filled(book)
    plan = book.plan_remember("Eels swim")
    Notebook(book.store).remember("Fish are wet")
    before = held(book.store), book.store.entries()
    with pytest.raises(MovedOn):
        book.commit(plan)
    assert (held(book.store), book.store.entries()) == before


@pytest.mark.parametrize("now", [b"---\nid: 1\ncreated: 2026-01-01\n---\n\nMine\n", None])
def test_a_plan_is_refused_when_a_file_is_not_what_it_read(
    book: Notebook, now: bytes | None
) -> None:
    """G5. Red when a store does not compare what it replaces with what the plan read."""
    path = f"memories/{filled(book)[0].name}"
    plan = book.plan_remember("apples are  red.", ["fruit"])
    edit(book.store, path, now)
    before = held(book.store), book.store.entries()
    with pytest.raises(MovedOn):
        book.commit(plan)
    assert (held(book.store), book.store.entries()) == before


def test_a_new_file_is_not_written_over_one_that_appeared(book: Notebook) -> None:
    plan = book.plan_remember("Apples are red")
    edit(book.store, "memories/001-apples-are-red.md", b"mine")
    with pytest.raises(MovedOn):
        book.commit(plan)
    assert held(book.store) == {"001-apples-are-red.md": b"mine"}


def test_a_change_by_hand_is_seen_at_once(book: Notebook) -> None:
    """Red when a store's signature stays although the bytes changed."""
    filled(book)
    assert [hit.note.id for hit in book.recall("apples")] == [1]
    edit(book.store, "memories/001-apples-are-red.md", BY_HAND.format(1, "Pears grow").encode())
    edit(book.store, "memories/007-more.md", BY_HAND.format(7, "Quails run").encode())
    edit(book.store, "memories/003-clocks-tick.md", None)
    assert texts(book) == {1: "Pears grow", 2: FACTS[1], 4: FACTS[3], 7: "Quails run"}
    assert [
        [hit.note.id for hit in book.recall(word) if hit.plausible]
        for word in ("pears", "quails", "clocks")
    ] == [[1], [7], []]
    assert book.look().next_id() == 8


def test_a_file_that_went_right_after_it_was_read_is_gone(book: Notebook) -> None:
    """Red when a page whose signature told nothing yet is taken for known."""
    path = f"memories/{filled(book)[0].name}"
    assert len(book.notes()) == 4
    edit(book.store, path, None)
    assert book.pages.note(path) is None


def test_a_file_that_cannot_be_read_is_told_and_left_alone(book: Notebook) -> None:
    """G6. Red when a bad file stops a verb, or its number is given out again."""
    filled(book)
    edit(book.store, "memories/009-broken.md", b"---\nid: [\n---\n")
    assert [os.path.basename(problem.path) for problem in book.look().problems] == ["009-broken.md"]
    assert book.remember("Eels swim").note.id == 10
    assert book.store.read("memories/009-broken.md") == b"---\nid: [\n---\n"
    assert [os.path.basename(problem.path) for problem in diagnose(book)] == ["009-broken.md"]


def test_protected_notes_stay(book: Notebook) -> None:
    filled(book)
    book.protect(1)
    with pytest.raises(Protected):
        book.forget(1)
    assert 1 in texts(book)


def test_a_call_that_arrives_twice_is_answered_once(book: Notebook) -> None:
    first = book.remember("Apples are red", call="call-1")
    again = book.remember("Apples are red", call="call-1")
    assert (again.note.id, again.change, len(book.store.entries())) == (1, first.change, 1)


def test_a_purge_leaves_no_copy_and_no_word(book: Notebook) -> None:
    """G8. Red when a store keeps a version that was to be destroyed."""
    filled(book)
    book.remember("apples are  red.", ["fruit"])
    book.commit(Notebook(book.store, policy=Policy(max_count=4, percentage=0.5)).plan_decay())  # type: ignore[arg-type]
    book.restore(1)
    purge(book, find_copies(book, 1))
    bytes_left = [*held(book.store).values(), *(raw for _, _, raw in book.store.kept())]
    assert [raw for raw in bytes_left if b"pples" in raw] == []
    assert "apples" not in repr(book.store.entries())
    assert book.store.entries()[-1][1:4] == ("done", 5, "purge")
    with pytest.raises(NotFound):
        book.undo(1)
    assert book.look().next_id() == 6
    assert diagnose(book) == []


def test_a_large_notebook_is_compared_by_its_index(
    book: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("co_cli.knowledge.notebook._FEW", 2)
    filled(book)
    assert book.is_large
    assert book.remember("apples are  red.").action == "consolidated"
    saved = book.remember("Dogs bark at the night")
    assert [note.id for note, _ in saved.similar] == [4]
    assert book.forget(2).action == "forgotten"
    assert [hit.note.id for hit in book.recall("when do dogs bark")][:2] == [5, 4]


def test_a_notebook_in_memory_writes_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Red when an index or its vectors are kept beside a store that has no folder."""
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    with Notebook(MemoryStore()) as book:
        filled(book)
        book.sync(anew=True, closely=True)
        hits = book.recall("which fruit is red")
        assert [hit.note.id for hit in hits if not hit.weak] == [1]
        purge(book, find_copies(book, 1))
    assert os.listdir(here) == []


# Any verbs in any order do the same in both

TEXTS = [*FACTS, "Dogs bark at noon", "apples are  red.", "Eels swim", "Fish are wet"]


class BothStores(RuleBasedStateMachine):
    """One notebook on disk and one in memory, told the same.

    Red when a store says, keeps or journals anything else than the other.
    """

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        policy = Policy(max_count=4, percentage=0.5)
        stores: tuple[Store, Store] = FolderStore(self.folder.name), MemoryStore()
        self.books = [Notebook(store, policy=policy, clock=lambda: NOON) for store in stores]

    def teardown(self) -> None:
        self.folder.cleanup()

    def both(self, verb: Callable[[Notebook], Any]) -> None:
        """Do it in both, and compare what each says."""
        said = []
        for book in self.books:
            try:
                said.append(verb(book))
            except CoError as error:
                said.append(f"{type(error).__name__}: {error}")
        assert said[0] == said[1]

    @rule(text=st.sampled_from(TEXTS), replaces=st.sampled_from(["", "", "2"]))
    def remember(self, text: str, replaces: str) -> None:
        def verb(book: Notebook) -> tuple[object, ...]:
            saved = book.remember(text, replaces=replaces)
            met = [note.id for note, _ in saved.similar]
            return saved.action, saved.ref, saved.change, met, len(saved.decayed), saved.over

        self.both(verb)

    @rule(
        text=st.sampled_from(TEXTS), place=st.sampled_from("ab"), data=st.sampled_from([None, b"%"])
    )
    def keep(self, text: str, place: str, data: bytes | None) -> None:
        def verb(book: Notebook) -> tuple[object, ...]:
            about = {"source": f"https://x.example/{place}", "title": place}
            saved = book.keep(text, **about, attachment=("x.pdf", data) if data else None)  # type: ignore[arg-type]
            return saved.action, saved.ref, saved.change, saved.note.attachment

        self.both(verb)

    @rule(
        ref=st.sampled_from(["a:a", "a:b", "a:a-2"]),
        verb=st.sampled_from(["forget", "restore", "protect", "purge"]),
    )
    def change_an_article(self, ref: str, verb: str) -> None:
        if verb == "purge":
            self.both(lambda book: purge(book, find_copies(book, ref)))
        else:
            self.both(lambda book: getattr(book, verb)(ref) and None)

    @rule(number=st.integers(1, 8), verb=st.sampled_from(["forget", "restore", "protect", "undo"]))
    def change(self, number: int, verb: str) -> None:
        self.both(lambda book: getattr(book, verb)(number) and None)

    @rule(numbers=st.lists(st.integers(1, 8), min_size=2, max_size=3, unique=True))
    def merge(self, numbers: list[int]) -> None:
        self.both(lambda book: book.merge(numbers).ref)

    @rule()
    def undo(self) -> None:
        self.both(lambda book: book.undo().n)

    @rule(number=st.integers(1, 8))
    def purge(self, number: int) -> None:
        self.both(lambda book: purge(book, find_copies(book, number)))

    @rule(number=st.integers(1, 8), data=st.sampled_from([b"broken", b"", None]))
    def edit(self, number: int, data: bytes | None) -> None:
        """By hand: another text, a broken file, or none."""
        for book in self.books:
            found = [note for note in book.notes() if note.id == number]
            text = data or BY_HAND.format(number, f"By hand {number}").encode()
            with suppress(IndexError):
                edit(book.store, f"memories/{found[0].name}", text if data is not None else None)

    @invariant()
    def they_are_the_same(self) -> None:
        one, two = [_told(book) for book in self.books]
        assert one == two


def _plain(note: Note) -> str:
    """Its text, without the random uids in a summary's headings."""
    return re.sub(r", [a-z]{14}\)", ")", note.body)


def _told(book: Notebook) -> tuple[object, ...]:
    """All that a notebook tells, without what is random."""
    look = book.look()
    entries = [
        (
            entry[:9],
            [(file["path"], file["before"] is None, file["after"] is None) for file in entry.files],
        )
        for entry in book.store.entries()
    ]
    problems = [(os.path.basename(path), why, line) for path, why, line in look.problems]
    found = [(os.path.basename(path), why.split(";")[0]) for path, why, _ in diagnose(book)]
    return (
        [(note.name, _plain(note), note.tags, note.protected) for note in look.notes],
        problems,
        sorted(found),
        (look.highest, look.next_id()),
        entries,
        [(note.name, note.body, note.tags, note.protected) for note in book.articles()],
        sorted(book.store.names("attachments")),
        sorted((note.name, _plain(note)) for _, note in book.archived()),
        [(n, os.path.basename(where)) for n, where, _ in book.store.kept()],
    )


TestBothStores = BothStores.TestCase
TestBothStores.settings = settings(max_examples=30, stateful_step_count=25, deadline=None)


def test_only_a_markdown_file_that_is_not_hidden_is_taken_for_a_note() -> None:
    """Red when an editor's copy, a hidden file or another kind of file is read as a memory."""
    names = ("001-a.md", ".001-a.md", "001-a.txt", "001-a.md~")
    assert [name for name in names if is_note(name)] == ["001-a.md"]
