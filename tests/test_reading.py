"""The reader has the last word on what answers a question, and is left alone where words do."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli import asked, co
from handmade import opened
from test_compare import run_in

from co_cli.knowledge import Notebook, Shelf

NOTES = (
    "The staging server is rebuilt every night",
    "Alice owns billing",
    "Invoices are numbered per calendar year",
    "The staging server is called vega",
    "The parking garage closes at ten",
    "User prefers tabs over spaces",
    "Standup is at nine",
    "The office cat is grey",
    "Deploys go out on Tuesdays",
    "The wifi password changes every month",
    "Backups are kept for ninety days",
    "The coffee machine needs descaling in March",
)
QUESTION = "who is responsible for the bills"
MISS = "which hotel did we book in Lisbon"


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Notebook]:
    with opened(tmp_path_factory.mktemp("reading")) as book:
        for text in NOTES:
            book.remember(text)
        yield book


def readings(book: Notebook, query: str, *, fast: bool = False) -> list[float | None]:
    return [hit.features.get("reader") for hit in book.recall(query, fast=fast)]


def test_the_reader_orders_what_the_ranking_found(book: Notebook) -> None:
    """Red when its score is not asked for, or does not count beside the ranking's."""
    hits = book.recall(QUESTION)
    assert (hits[0].note.body, hits[0].weak) == ("Alice owns billing", False)
    scores = [hit.features["reader"] for hit in hits if "reader" in hit.features]
    assert scores[0] == max(scores)
    shown = [hit.score for hit in hits]
    assert shown == sorted(shown, reverse=True)
    other = "what is the name of our test machine"
    assert book.recall(other, fast=True)[0].note.body != NOTES[3]
    assert (book.recall(other)[0].note.body, book.recall(other)[0].weak) == (NOTES[3], False)


@pytest.mark.parametrize(
    ("query", "ranking", "reader"),
    [("when do we release", True, False), ("who wrote the backup tool", False, True)],
)
def test_the_reader_says_how_sure_an_answer_is(
    book: Notebook, query: str, ranking: bool, reader: bool
) -> None:
    """Red when weakness is the ranking's, although the reader has read."""
    assert book.recall(query, strict=False, fast=True)[0].weak is ranking
    assert book.recall(query, strict=False)[0].weak is reader


@pytest.mark.parametrize("query", ["which server is rebuilt at night", "what is staging called"])
def test_of_notes_about_one_matter_the_one_that_answers_comes_first(
    book: Notebook, query: str
) -> None:
    night = "night" in query
    assert book.recall(query)[0].note.body == NOTES[0 if night else 3]


def test_a_question_that_nothing_here_answers_has_no_sure_answer(book: Notebook) -> None:
    """Red when weakness comes from the ranking although the reader has read."""
    assert [hit.note.body for hit in book.recall(MISS) if not hit.weak] == []
    assert book.recall(MISS, strict=False) != []


def test_a_young_notebook_always_shows_the_nearest_note(tmp_path: Path) -> None:
    """Red when one with few notes is silent, or sure of what the reader doubts."""
    with opened(tmp_path) as book:
        assert book.recall(MISS) == []
        for number, text in enumerate(NOTES[:9], 1):
            book.remember(text)
            if number in (1, 9):
                hits = book.recall(MISS)
                assert hits != []
                assert {hit.weak for hit in hits} == {True}
        shelf = Shelf(book, opened(tmp_path / "user"))
        assert {hit.weak for _, hit in shelf.recall(MISS)} == {True}


def test_fast_leaves_the_reader_out(book: Notebook) -> None:
    assert readings(book, QUESTION)[0] is not None
    assert set(readings(book, QUESTION, fast=True)) == {None}
    assert book.recall(QUESTION, fast=True).degraded == ()


@pytest.mark.parametrize("how", [{"reader": False}, {"backend": "fts5"}, {"backend": "grep"}])
def test_where_the_reader_is_off_it_reads_nothing(book: Notebook, how: dict[str, object]) -> None:
    with opened(book.root, **how) as other:
        assert set(readings(other, "standup is at which hour")) == {None}


@pytest.mark.parametrize(
    "query", ["owns billing", "standup", "feline", "何時に会議がありますか", "wann ist Ölwechsel"]
)
def test_exact_text_a_single_word_and_other_languages_are_not_read(
    book: Notebook, query: str
) -> None:
    """Red when the reader judges what it cannot read, or what words settle."""
    assert set(readings(book, query)) <= {None}


def test_only_the_best_few_are_read_and_the_rest_is_weak(book: Notebook) -> None:
    hits = book.recall("what is written down about the office", 12, strict=False)
    assert len(hits) == len(NOTES)
    read = ["reader" in hit.features for hit in hits]
    assert read == sorted(read, reverse=True)
    assert 5 <= sum(read) < len(NOTES)
    assert {hit.weak for hit, was_read in zip(hits, read, strict=True) if not was_read} == {True}


def test_without_its_weights_recall_answers_and_says_so(tmp_path: Path) -> None:
    """Red when broken weights stop an answer, or are passed over in silence."""
    code = (
        "from co_cli.knowledge import Notebook\n"
        "book = Notebook('k')\n"
        f"for text in {NOTES!r}: book.remember(text)\n"
        "found = book.recall('who owns the billing')\n"
        "print(found[0].note.id, found[0].weak, [state for state, _ in found.degraded])\n"
        "print(found.degraded[0].reason)\n"
        "print(book.recall('owns billing').degraded, book.recall('who owns', fast=True).degraded)\n"
    )
    first, reason, last = run_in(tmp_path, code).splitlines()
    assert first == "2 False ['no reader']"
    assert reason.startswith("ordered without the reader: ")
    assert last == "() ()"


def loaded(*args: str) -> set[str]:
    """The modules that a command loads in a process of its own."""
    code = (
        "import sys; from co_cli.main import run\n"
        "try: run()\nexcept SystemExit as end: assert end.code == 0\n"
        "sys.stdout.write('\\n' + ' '.join(sys.modules))"
    )
    env = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
    done = subprocess.run(
        [sys.executable, "-c", code, *args],
        capture_output=True, text=True, timeout=120, check=True, env=env,
    )  # fmt: skip
    return set(done.stdout.splitlines()[-1].split())


READER = {"co_cli.knowledge.meaning.reader", "co_cli.knowledge.compare.relation", "numpy"}


def test_what_words_settle_loads_neither_the_reader_nor_numpy() -> None:
    """Red when `co recall tuesdays` pays for the reader."""
    assert co("learn", "We deploy on Tuesdays").code == 0
    assert co("learn", "The rent is paid by bank transfer").code == 0
    assert READER & loaded("recall", "tuesdays") == set()
    assert READER & loaded("recall", "we deploy on tuesdays") == set()
    assert {*READER, "co_cli.knowledge.search.answering"} & loaded("knowledge", "list") == set()
    assert "co_cli.knowledge.meaning.reader" in loaded("recall", "when", "is", "the", "deploy")
    fast = loaded("recall", "--fast", "when", "is", "the", "deploy")
    assert (READER - {"numpy"}) & fast == set()  # which a question needs to be compared


def test_the_command_and_the_setting_leave_the_reader_out() -> None:
    """Red when `--fast` or `search_reader` is not handed on."""
    assert co("learn", "We deploy on Tuesdays").code == 0
    query = ("recall", "when", "is", "the", "deploy", "--explain")
    assert "reader" in co(*query).out
    assert "reader" not in co(*query, "--fast").out
    assert "reader" not in asked(*query, CO_CLI_SEARCH_READER="off").out
