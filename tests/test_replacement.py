"""A note that speaks of the same matter with another value: noticed on save, told on recall."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cli import Terminal, co

from co_cli.knowledge import Notebook, replacement
from co_cli.knowledge.meaning.encoders import Meaning
from co_cli.knowledge.replacement import may_replace, newest_first
from co_cli.knowledge.search.hits import Hit

DATA = Path(__file__).parent / "data"
THURSDAY, MONDAY = "We deploy on Thursdays", "we moved the deploy day to Monday"


@pytest.fixture
def book(tmp_path: Path) -> Iterator[Notebook]:
    """A notebook in which every look at the clock is an hour later."""
    hours = iter(range(100_000))
    start = datetime(2026, 2, 9, tzinfo=UTC)
    with Notebook(tmp_path / "k", clock=lambda: start + timedelta(hours=next(hours))) as book:
        yield book


def measured(half: str) -> tuple[float, float]:
    """Which share of the replacements is noticed, and of the other pairs mistaken for one."""
    told: dict[bool, list[bool]] = {True: [], False: []}
    for line in (DATA / f"replacements_{half}.jsonl").read_text().splitlines():
        pair = json.loads(line)
        told[pair["label"] == "replaces"].extend(may_replace([pair["old"]], pair["new"]))
    return sum(told[True]) / len(told[True]), sum(told[False]) / len(told[False])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I live in Porto", "User lives in Lisbon"),
        ("User lives in Lisbon", "I live in Porto"),
        ("my dog is called Bello", "User's dog is called Rex"),
    ],
)
def test_what_the_person_says_is_compared_with_what_is_told_of_the_user(old: str, new: str) -> None:
    assert may_replace([old], new) == [True]
    assert may_replace(["The API is on port 80", old], new) == [False, True]


@pytest.mark.parametrize(
    ("half", "noticed", "mistaken"),
    [("open", 0.93, 0.0), ("held", 1.0, 0.0), ("fresh", 0.84, 0.031)],
)
def test_replacements_are_noticed_and_little_else(
    half: str, noticed: float, mistaken: float
) -> None:
    """Red when the judge, its weights or what counts beside it get worse than they were measured.

    The judge was trained on the first two; on the half of the third that was not used to choose
    what counts how much, .77 were noticed and .034 mistaken.
    """
    found = measured(half)
    assert found[0] >= noticed
    assert found[1] <= mistaken


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Staging runs Postgres 16", "Production runs Postgres 14"),
        ("The deploy day is Monday", "The deploy day is Monday, at noon, by Ana"),
        ("We met on Monday", "We leave on Monday"),
        (THURSDAY, "Should the deploy day be moved to Monday instead?"),
        (THURSDAY, "Maybe the deploy day is moved to Monday instead"),
        (THURSDAY, "We deploy on Mondays too now"),
        ("My cat is called Momo", "we've switched to Django"),
        ("the password of the box is [in the vault]", "the root password is [left out]"),
        ("The shop runs on AWS", "my blog moved to Netlify"),
        (THURSDAY, ""),
        ("", THURSDAY),
        ("木曜日にデプロイします", "月曜日にデプロイします"),
        (THURSDAY, "we moved " * 20_000),
    ],
)
def test_what_is_about_another_thing_replaces_nothing(old: str, new: str) -> None:
    """Red when a detail, a thought, another thing or no text at all counts as a replacement."""
    assert may_replace([old], new) == [False]


NAMED = [
    "The ledger service is written in Rust", "Bob owns the ledger exports",
    "Dana leads the ledger team", "Ledger logs go to Loki", "The ledger dashboard is in Grafana",
]  # fmt: skip


def test_the_name_that_many_notes_share_makes_no_two_of_them_one_matter(book: Notebook) -> None:
    """Red when every note about the project is put beside every other, or a new value is not."""
    for text in NAMED[:3]:
        book.remember(text)
    for text in NAMED[3:]:
        assert (text, book.remember(text).action) == (text, "created")
    saved = book.remember("Ledger logs go to Datadog")
    assert [note.body for note, _ in saved.similar] == [NAMED[3]]


# Saving


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (THURSDAY, MONDAY),
        ("The backend uses FastAPI", "The backend uses Django now"),
        ("The backend uses FastAPI", "we've switched to Django"),
        ("uses FastAPI", "we've switched to Django"),
    ],
)
def test_another_value_for_the_same_matter_is_kept_beside_and_named(
    book: Notebook, old: str, new: str
) -> None:
    """G8. Red when only texts of similar wording collide, or when meaning overwrites a note."""
    first = book.remember(old).note
    book.remember("The office cat is called Momo")
    saved = book.remember(new)
    assert (saved.action, [note.id for note, _ in saved.similar]) == ("related", [1])
    assert saved.similar[0][1] < book.policy.threshold
    assert saved.note.meta["related"] == [first.uid]
    assert [note.body for note in book.notes()][0::2] == [old, new]


def test_the_old_value_is_archived_when_a_person_says_so(book: Notebook) -> None:
    """Red when a collision by meaning cannot be settled as one by wording can."""
    book.remember(THURSDAY)
    saved = book.remember(MONDAY, similar="update")
    assert (saved.action, saved.replaced and saved.replaced.id) == ("updated", 1)
    assert [note.body for note in book.notes()] == [MONDAY]


def test_the_same_matter_is_noticed_in_a_large_notebook(book: Notebook) -> None:
    """Red when the index does not name the notes near in meaning."""
    book.remember(THURSDAY)
    folder = Path(book.memories)
    raw = next(folder.iterdir()).read_text()
    for number in range(2, 260):
        text = re.sub(r"uid: .*", f"uid: {'x' * number}", raw.replace("id: 1", f"id: {number}"))
        text = text.replace(THURSDAY, f"Shelf {number} in the cellar holds box {number * 7}")
        (folder / f"{number:03d}-shelf.md").write_text(text)
    assert book.is_large
    assert 1 in [note.id for note, _ in book.plan_remember(MONDAY).saved.similar]


def test_a_save_without_the_weights_still_saves(
    book: Notebook, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Red when a broken installation keeps a person from saving."""
    replacement._skimmed.cache_clear()
    replacement._judged.cache_clear()
    monkeypatch.setattr(replacement, "built_in", lambda: Meaning(str(tmp_path)))
    book.remember(THURSDAY)
    assert book.remember(MONDAY).action == "created"
    book.remember("The backend uses FastAPI")
    assert book.remember("we've switched to Django").action == "created"
    replacement._skimmed.cache_clear()


def test_a_person_is_asked_about_the_same_matter() -> None:
    """Red when the question does not say why the two collide, or saves before it is answered."""
    assert co("learn", THURSDAY).code == 0
    with Terminal("learn", MONDAY) as terminal:
        shown = terminal.expect("[c]ancel")
        terminal.type("c\n")
        assert terminal.end().code == 0
    assert "\x1b[31m  │ -We deploy" in shown
    shown = re.sub(r"\x1b\[\d*m", "", shown)
    assert "This is similar to memory 1 (same subject?):" in shown
    assert f"  │ -{THURSDAY}\n  │ +{MONDAY}\n" in shown
    assert terminal.shown.endswith("Nothing was saved.\n")


def test_with_nobody_there_the_result_names_the_collision() -> None:
    co("learn", THURSDAY)
    told = co("learn", MONDAY).out
    assert f"Similar to memory 1 (same subject?): {THURSDAY}\nBoth are kept." in told


# Recall


def told(hits: Sequence[Hit]) -> list[tuple[int, int]]:
    """The numbers of the hits, each with what may replace it."""
    return [(hit.note.id, hit.replaced_by.id if hit.replaced_by else 0) for hit in hits]


def test_of_notes_that_replace_each_other_the_newest_comes_first(book: Notebook) -> None:
    """Red when the old value is told before the new one, or does not say that it may be old."""
    book.remember("Our deploy day is Thursday, every week")
    book.remember("we moved the weekly deploy day to Monday")
    assert told(book.recall("which weekday is our deploy day every week?")) == [(2, 0), (1, 2)]


def test_what_was_said_again_is_the_newest(book: Notebook) -> None:
    """Red when only the day a note was made counts."""
    book.remember("Our deploy day is Monday now")
    book.remember("Our deploy day is Thursday now")
    book.remember("our deploy day is Monday now.")
    assert told(book.recall("which weekday is the deploy day?")) == [(1, 0), (2, 1)]


def test_the_exact_text_stays_first_and_says_that_it_is_old(book: Notebook) -> None:
    """Red when a newer note is put above one that holds the question as it stands."""
    book.remember(THURSDAY)
    book.remember(MONDAY)
    assert told(book.recall("deploy on Thursdays")) == [(1, 2), (2, 0)]


def test_the_newer_note_is_as_sure_as_the_one_it_replaces(book: Notebook) -> None:
    """Red when an answer is shown, and what replaces it left out as weak."""
    old, new = book.remember(THURSDAY).note, book.remember(MONDAY).note
    hits = [Hit(old, 0.8, ""), Hit(new, 0.4, "", weak=True)]
    assert [(hit.note.id, hit.weak) for hit in newest_first(hits)] == [(2, False), (1, False)]


def test_recall_tells_what_may_be_replaced() -> None:
    """Red when the word is missing from the text or from the JSON."""
    co("learn", THURSDAY)
    co("learn", MONDAY)
    head = co("recall", "deploy on Thursdays").out.splitlines()[0]
    assert "replaced by 2?" in head
    found = json.loads(co("recall", "deploy on Thursdays", "--json").out)["results"]
    assert [(hit["ref"], hit["replaced_by"]) for hit in found] == [("1", "2"), ("2", None)]


def test_the_users_own_notes_are_named_by_their_reference() -> None:
    co("learn", "-g", THURSDAY)
    co("learn", "-g", MONDAY)
    assert "replaced by g2?" in co("recall", "deploy on Thursdays").out


def test_the_note_of_the_day_that_is_asked_for_stays_first(tmp_path: Path) -> None:
    """Red when a newer note is put above the one of the time that the question names."""
    (tmp_path / "memories").mkdir()
    for number, day in enumerate(["2026-02-01", "2025-06-01"], 1):
        head = f'---\nid: {number}\ncreated: "{day}T09:00:00+00:00"\n---\n\n'
        text = f"{head}We decided to deploy on {('Monday', 'Thursday')[number - 1]}\n"
        (tmp_path / "memories" / f"{number:03d}-x.md").write_text(text)
    with Notebook(tmp_path, clock=lambda: datetime(2026, 2, 9, 12, tzinfo=UTC)) as book:
        assert told(book.recall("what did we decide in June 2025"))[0] == (2, 1)


def test_a_short_text_with_a_name_nobody_knows_is_compared(book: Notebook) -> None:
    """Red when a name cut into pieces makes a short English text one of no known language."""
    book.remember("We use PostgreSQL 14")
    book.remember("We use PostgreSQL 16")
    assert told(book.recall("which PostgreSQL do we run?")) == [(2, 0), (1, 2)]
