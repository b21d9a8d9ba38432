"""Saving into a large notebook asks the index, and decides as if every note had been read."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from handmade import listening, page, put, put_article, read

from co_cli.knowledge import Policy
from co_cli.knowledge.notebook import Notebook
from co_cli.knowledge.plan import Saved
from co_cli.knowledge.search.hits import How
from co_cli.knowledge.store import files

MANY = 230
LATER = datetime(2026, 6, 1, 12, 0, tzinfo=UTC)  # every note here is older than the window
ROOMY = Policy(max_count=10_000)
# Three long words, each in a passage of its own.
LONG = "\n\n".join(
    f"The {word} {'is told of at some length in these lines ' * 25}"
    for word in ("extraordinarily", "incomprehensible", "internationalization")
)
SPOKEN = """it was the best of times and the worst of times in the whole town as far as we know"""
SAID = {
    10: "Deploys happen on Thursday afternoons",
    20: "東京オフィスは火曜日に会議をします",
    30: "We go at 6",
    40: "x² is y",
    50: "Straße and naïve café in the ﬁle",
    60: "C++ is ok",
    70: LONG,
    80: "# Heading\n\nA body with `code()` and a list:\n- one\n- two",
    90: SPOKEN,
    100: "ДЕПЛОЙ происходит в четверг",
    110: "ＦＵＬＬ width database",
    120: "Ask for session_store.py, not async/await; see #1234 (v0.8)",
    130: "No",
    140: "한국어 메모가 있습니다",
}
AGAIN = [
    *SAID.values(),
    "deploys  happen on thursday afternoons!",
    '"Deploys happen on Thursday afternoons."',
    "Please, deploys happen on the Thursday afternoons",
    "東京オフィスは火曜日に会議をします。",
    "we go at 6!",
    "x2 is y",
    "STRASSE and naïve café in the file",
    "c++ is ok.",
    "C is ok",
    "no",
    LONG + "!",
    SPOKEN.upper(),
    "деплой происходит в четверг",
    "full width database",
    "ask for session_store.py, not async/await; see #1234 (v0.8).",
    # similar, however old
    "Deploys happen on Tuesday afternoons",
    "PostgreSQL 16 runs in production for team number 7",
    "We go at 7",
    "it was the best of times and the worst of times in the whole city as far as we know",
    # like nothing
    "Zebras graze quietly beyond Timbuktu",
    "?!",
    "的",
]


def large(root: Path) -> Path:
    """A notebook with many old notes, some of which will be said again."""
    for number in range(1, MANY + 1):
        text = f"PostgreSQL 14 runs in production for team number {number}"
        put(root, number, SAID.get(number, text), created="2026-01-05T10:00:00+00:00")
    return root


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return large(tmp_path_factory.mktemp("large") / "k")


@pytest.fixture
def root(template: Path, tmp_path: Path) -> Path:
    shutil.copytree(template, tmp_path / "k")
    return tmp_path / "k"


@pytest.fixture
def book(root: Path) -> Iterator[Notebook]:
    with opened(root) as book:
        yield book


def opened(
    root: Path, backend: str = "auto", policy: Policy = ROOMY, watch: bool = False
) -> Notebook:
    return Notebook(root, policy=policy, clock=lambda: LATER, how=How(backend, watch=watch))


def told(saved: Saved) -> tuple[object, ...]:
    """What a save decided."""
    similar = [(note.id, round(score)) for note, score in saved.similar]
    return saved.action, saved.note.id, saved.note.name, similar[:3]


def planned(book: Notebook, text: str) -> tuple[object, ...]:
    """What saving this would do."""
    return told(book.plan_remember(text).saved)


@pytest.mark.parametrize("watch", [False, True])
def test_the_index_decides_as_if_every_note_had_been_read(root: Path, watch: bool) -> None:
    """Red when the index leaves out a note that says the same, or numbers from another count."""
    with opened(root, watch=watch) as book, opened(root, "grep") as plain:
        for text in AGAIN:
            assert planned(book, text)[:3] == planned(plain, text)[:3], text[:60]
        assert book.sync().degraded == []


@pytest.mark.parametrize("number", SAID)
def test_what_was_said_before_is_found_however_it_is_written(number: int, book: Notebook) -> None:
    """Red when a text of this kind has no letters or words that the index looks for."""
    assert planned(book, SAID[number])[:2] == ("consolidated", number)


def test_a_save_reads_a_few_notes_and_not_all(
    root: Path, book: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Red when a save in a large notebook reads every file."""
    monkeypatch.setattr(files, "_FINE", 0)
    book.sync()
    with listening(root) as heard:
        book.remember("Zebras graze quietly beyond Timbuktu")
    assert len(set(read(heard))) < 150


@pytest.mark.parametrize("text", ["Deploys happen on Thursday afternoon", "We go at 7"])
def test_similar_notes_are_found_however_old(text: str, root: Path) -> None:
    """Red when only the notes of the last days are compared."""
    with opened(root) as book, opened(root, "grep") as plain:
        saved = book.plan_remember(text).saved
        closest = plain.plan_remember(text).saved.similar[0]
        assert (saved.similar[0][0].id, saved.similar[0][1]) == (closest[0].id, closest[1])


def test_the_next_number_is_above_every_number_there_ever_was(root: Path, book: Notebook) -> None:
    """Red when the index's highest number leaves out broken files, or the journal is not asked."""
    assert planned(book, "Zebras graze quietly beyond Timbuktu")[1] == MANY + 1
    broken = Path(put(root, 500, "broken"))
    broken.write_text("---\nid: [\n---\n\nbroken\n")
    assert planned(book, "Zebras graze quietly beyond Timbuktu")[1] == 501
    broken.unlink()
    saved = book.remember("Zebras graze quietly beyond Timbuktu")
    assert saved.note.id == MANY + 1
    book.forget(saved.note)
    assert planned(book, "Giraffes look over the fence")[1] == MANY + 2
    put(root, 700, "A high number")
    assert planned(book, "Giraffes look over the fence")[1] == 701


def test_articles_take_no_numbers_and_are_no_neighbours(root: Path, book: Notebook) -> None:
    """Red when an article counts as a memory that a save may change."""
    text = "Giraffes look over the fence of the neighbour"
    put_article(root, "900-giraffes.md", "Giraffes", text)
    put_article(root, "901-broken.md", "Broken", text)
    (root / "articles" / "901-broken.md").write_text("---\nid: [\n---\n\nbroken\n")
    assert planned(book, text)[:2] == ("created", MANY + 1)
    assert planned(book, text + "!")[:2] == ("created", MANY + 1)
    with opened(root, "grep") as plain:
        assert planned(plain, text)[:2] == ("created", MANY + 1)


def test_the_count_for_decay_is_the_same(root: Path) -> None:
    """Red when broken files, articles or missing notes are counted as memories."""
    put_article(root, "x.md", "Horses", "About horses")
    (root / "memories" / "999-broken.md").write_text("---\nno header\n")
    for limit in (MANY - 1, MANY, MANY + 1):
        policy = Policy(max_count=limit)
        with opened(root, policy=policy) as book, opened(root, "grep", policy) as plain:
            text = "Zebras graze quietly beyond Timbuktu"
            saves = [one.plan_remember(text).saved for one in (book, plain)]
            assert [(len(one.decayed), one.over) for one in saves] == [
                (len(saves[1].decayed), saves[1].over)
            ] * 2
            assert bool(saves[0].decayed) == (limit == MANY)


def test_a_hand_edit_just_before_a_save_counts(root: Path, book: Notebook) -> None:
    """Red when a save looks at an index that is behind."""
    book.sync()
    put(root, 33, "Giraffes look over the fence")
    assert planned(book, "giraffes look over the fence.")[:2] == ("consolidated", 33)
    os.unlink(root / "memories" / "033-note.md")
    assert planned(book, "giraffes look over the fence.")[:2] == ("created", MANY + 1)


def test_saving_goes_on_when_the_index_cannot_be_used(root: Path) -> None:
    """G4. Red when a broken index, or a link in its place, makes a save forget what is there."""
    (root / "knowledge.db").mkdir()
    (root / "knowledge.db-seal").symlink_to(root / "memories" / "001-note.md")
    before = (root / "memories" / "001-note.md").read_bytes()
    with opened(root) as book:
        saved = book.remember("deploys happen on Thursday afternoons!")
        assert (saved.action, saved.note.id) == ("consolidated", 10)
        assert book.remember("Zebras graze quietly").note.id == MANY + 1
    assert (root / "memories" / "001-note.md").read_bytes() == before


def test_while_notes_are_missing_a_save_reads_what_is_there(root: Path) -> None:
    """Red when numbers of missing notes are given out again."""
    with opened(root) as book:
        book.remember("Zebras graze quietly beyond Timbuktu")
        book.sync()
        away = root / "away"
        (root / "memories").rename(away)
        for number in range(1, 206):
            put(root, 1000 + number, f"Giraffe {number} looks over the fence")
        saved = book.remember("Deploys happen on Thursday afternoons")
        assert (saved.action, saved.note.id) == ("created", 1206)


def test_numbers_with_leading_zeros_and_twins_do_no_harm(root: Path, book: Notebook) -> None:
    twin = root / "memories" / "twin.md"
    twin.write_text(page(10, "Giraffes look over the fence"))
    assert planned(book, "giraffes look over the fence")[:3] == ("consolidated", 10, "twin.md")
