"""What the index knows of two notes: found when there is time, kept, and derived again."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from handmade import opened, put

from co_cli.knowledge import Notebook, Shelf
from co_cli.knowledge.search.hits import Filters

TUESDAYS, THURSDAYS, RENT = (
    "We deploy on Tuesdays",
    "We moved the deploy to Thursdays",
    "The rent is paid by bank transfer",
)
DAYS = {1: "2026-01-05", 2: "2026-01-06", 3: "2026-02-01"}


def write(root: Path) -> None:
    """Three notes by hand, of which the third updates the first."""
    for number, text in ((1, TUESDAYS), (2, RENT), (3, THURSDAYS)):
        put(root, number, text, created=f"{DAYS[number]}T10:00:00+00:00")


@pytest.fixture
def book(tmp_path: Path) -> Iterator[Notebook]:
    write(tmp_path)
    with opened(tmp_path) as book:
        yield book


def pairs(book: Notebook) -> list[tuple[str, str]]:
    return [(new.body, old.body) for new, old, _ in book.unconfirmed()]


def edit(book: Notebook, number: int, old: str, new: str) -> None:
    path = Path(book.find(number).path)
    path.write_text(path.read_text().replace(old, new))


def maybe(book: Notebook, query: str) -> list[tuple[int, int]]:
    """The notes that a recall shows, each with the one that may update it."""
    hits = book.recall(query, fast=True)
    return [(hit.note.id, hit.maybe_updated_by.id) for hit in hits if hit.maybe_updated_by]


def test_a_pair_is_pending_until_there_is_time_and_is_compared_once(book: Notebook) -> None:
    """Red when a recall compares notes, or comparing begins again each time."""
    assert book.recall("deploy", fast=True)
    assert (pairs(book), maybe(book, "deploy")) == ([], [])
    assert book.search.compare_notes() == 3
    assert pairs(book) == [(THURSDAYS, TUESDAYS)]
    assert maybe(book, "deploy") == [(1, 3)]
    assert book.search.compare_notes() == 0
    with opened(book.root) as again:
        assert again.search.compare_notes() == 0
        assert pairs(again) == [(THURSDAYS, TUESDAYS)]


def test_the_newest_are_compared_first_and_so_many_as_there_is_time_for(book: Notebook) -> None:
    assert book.search.compare_notes(most=1) == 1
    assert pairs(book) == [(THURSDAYS, TUESDAYS)]
    assert book.search.compare_notes(name="002-note.md") == 1
    assert book.search.compare_notes() == 1


def test_a_note_that_may_be_out_of_date_stays_where_it_is_found(book: Notebook) -> None:
    """Red when what nobody confirmed hides a note, or changes its place."""
    book.search.compare_notes()
    hits = book.recall("tuesdays", fast=True)
    assert (hits[0].note.id, hits[0].updated_by, hits[0].why) == (1, None, "exact text")


@pytest.mark.parametrize(
    ("number", "old", "new", "left"),
    [
        (1, "Tuesdays", "Wednesdays", [(THURSDAYS, "We deploy on Wednesdays")]),
        (3, THURSDAYS, "The kitchen has a new kettle", []),
    ],
)
def test_an_edit_of_either_side_makes_it_pending_again(
    book: Notebook, number: int, old: str, new: str, left: list[tuple[str, str]]
) -> None:
    """Red when a pair outlives the words that made it one."""
    book.search.compare_notes()
    edit(book, number, old, new)
    assert pairs(book) == []
    assert book.search.compare_notes() == 1
    assert pairs(book) == left


@pytest.mark.parametrize("number", [1, 3])
def test_a_pair_is_gone_with_either_file(book: Notebook, number: int) -> None:
    book.search.compare_notes()
    Path(book.find(number).path).unlink()
    assert (pairs(book), maybe(book, "deploy")) == ([], [])
    assert book.search.compare_notes() == 0


@pytest.mark.parametrize("field", ["updates", "related"])
def test_what_a_person_decided_is_not_listed_again(book: Notebook, field: str) -> None:
    """Red when a pair that is kept, or linked, is asked about for ever."""
    book.search.compare_notes()
    old = [book.find(1)]
    saved = book.link(3, updates=old) if field == "updates" else book.link(3, related=old)
    book.search.compare_notes()
    assert (pairs(book), maybe(book, "deploy")) == ([], [])
    updated = [hit.note.id for hit in book.recall("deploy", fast=True) if hit.updated_by]
    assert updated == ([1] if field == "updates" else [])
    book.undo(saved.change)
    book.search.compare_notes()
    assert pairs(book) == [(THURSDAYS, TUESDAYS)]


def test_a_kept_pair_with_a_plain_file_is_not_listed_again(tmp_path: Path) -> None:
    """Red when a link by a file's name is not known for one."""
    put(tmp_path, 3, THURSDAYS, created="2099-02-01T10:00:00+00:00")
    (tmp_path / "memories" / "deploys.md").write_text(TUESDAYS)
    with opened(tmp_path) as book:
        book.search.compare_notes()
        assert pairs(book) == [(THURSDAYS, TUESDAYS)]
        book.link(3, related=[book.find("m:deploys")])
        book.search.compare_notes()
        assert pairs(book) == []


def test_an_index_built_from_nothing_finds_the_same_pairs(book: Notebook) -> None:
    """Red when anything but the files decides what is found; only the work is pending again."""
    book.search.compare_notes()
    before = book.unconfirmed()
    book.sync(anew=True)
    assert pairs(book) == []
    assert book.search.compare_notes() == 3
    assert book.unconfirmed() == before


def test_with_the_reader_off_nothing_is_compared(tmp_path: Path) -> None:
    write(tmp_path)
    with opened(tmp_path, reader=False) as book:
        assert (book.search.compare_notes(), pairs(book)) == (0, [])
    for backend in ("fts5", "grep"):
        with opened(tmp_path, backend=backend) as book:
            assert (book.search.compare_notes(), pairs(book)) == (0, [])


def test_who_may_not_see_a_note_is_not_told_that_it_may_update_another(tmp_path: Path) -> None:
    """G14. Red when a sensitive note is named beside the one it seems to update."""
    write(tmp_path)
    with opened(tmp_path) as book:
        book.mark(3, "sensitive")
        book.search.compare_notes()
        assert maybe(book, "deploy") == [(1, 3)]
        shelf, filters = Shelf(book, opened(tmp_path / "user")), Filters(sensitive=False)
        [hit] = book.recall("deploy", 5, filters, fast=True)
        [(_, other)] = shelf.recall("deploy", 5, filters, fast=True)
        assert (hit.note.id, hit.maybe_updated_by) == (1, None)
        assert (other.note.id, other.maybe_updated_by) == (1, None)
        book.hides_sensitive = True
        assert pairs(book) == []


@pytest.mark.parametrize("again", [TUESDAYS, "Deploys happen every Tuesday"])
def test_what_says_the_same_is_no_update(tmp_path: Path, again: str) -> None:
    """Red when a copy by hand is read as an update, which the reader takes it for."""
    put(tmp_path, 1, TUESDAYS, created="2026-01-05T10:00:00+00:00")
    put(tmp_path, 2, again, created="2026-01-06T10:00:00+00:00")
    with opened(tmp_path) as book:
        book.search.compare_notes()
        assert pairs(book) == []
        assert [(new.id, old.id) for new, old in book.search.restated()] == [(2, 1)]


def test_a_cold_recall_compares_nothing(tmp_path: Path) -> None:
    """Red when a command that looks for something pays for what can wait."""
    write(tmp_path)
    code = (
        "import sys\n"
        "from co_cli.knowledge import Notebook\n"
        f"book = Notebook({str(tmp_path)!r})\n"
        "book.recall('when do we deploy'); book.recall('deploy'); book.sync()\n"
        "print('co_cli.knowledge.compare.neighbours' in sys.modules)\n"
        "print(len(book.search._use(lambda index, _: index.lookup.uncompared(9))[0]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout.splitlines() == ["False", "3"]
