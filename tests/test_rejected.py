"""What the person rejected is not offered again, and nothing else is silenced for it."""

from __future__ import annotations

import json
import os
from itertools import permutations
from pathlib import Path

import pytest
from cli import co

from co_cli import paths
from co_cli.knowledge import Notebook
from co_cli.knowledge.compare.relation import states_same
from co_cli.knowledge.format.note import Note
from co_cli.knowledge.inbox import Draft, put, reject
from co_cli.offline import rejections as module
from co_cli.offline.rejections import forget_rejections, rejections, remember_rejection

DATA = Path(__file__).parent / "data"
TRAINING = Path(__file__).parent.parent / "training"


@pytest.fixture
def book(tmp_path: Path) -> Notebook:
    return Notebook(tmp_path / "book")


def say_no(book: Notebook, text: str) -> Note:
    """Draft a text and reject it, as the review does."""
    [draft] = put(book, [Draft(text)], actor="chat").added
    remember_rejection(reject(book, draft, actor="chat").note)
    return draft


def stored() -> Path:
    return Path(paths.state_folder(), "rejected.jsonl")


@pytest.mark.parametrize(("name", "floor"), [("open", 0.75), ("held", 0.85)])
def test_a_rejected_fact_is_known_in_other_words_and_no_other_fact_is(
    name: str, floor: float
) -> None:
    """Red when the encoder, the values or the order of words are passed over."""
    rows = [
        json.loads(line) for line in (DATA / f"rejections_{name}.jsonl").read_text().splitlines()
    ]
    found: dict[bool, list[tuple[str, str, bool]]] = {True: [], False: []}
    for row in rows:
        for old, new in permutations((row["rejected"], row["offered"])):
            found[row["kind"] == "same"].append((old, new, states_same(old, new)))
    assert [(old, new) for old, new, silenced in found[False] if silenced] == []
    assert sum(silenced for *_, silenced in found[True]) >= floor * len(found[True])


@pytest.mark.parametrize("name", ["open", "held"])
def test_a_fact_is_known_in_the_words_of_another_day(name: str) -> None:
    """Of every fourth fact one rewording and one near miss; `training/README.md` has all."""
    lines = (DATA / f"rewordings_{name}.jsonl").read_text(encoding="utf-8").splitlines()
    facts = [json.loads(line) for line in lines][::4]
    known = [states_same(one["fact"], one["same"][at % 4]) for at, one in enumerate(facts)]
    mistaken = [states_same(one["fact"], one["other"][at % 4]) for at, one in enumerate(facts)]
    assert sum(known) >= 0.8 * len(facts)
    assert sum(mistaken) <= 0.02 * len(facts)


def test_no_sentence_that_is_measured_with_was_trained_with() -> None:
    rows = map(json.loads, (TRAINING / "same.jsonl").read_text(encoding="utf-8").splitlines())
    trained = {text for row in rows for text in (row["fact"], *row["same"], *row["other"])}
    measured = set[str]()
    for path in (*DATA.glob("rewordings_*.jsonl"), DATA / "rejections_held.jsonl"):
        for row in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
            texts = (one if isinstance(one, list) else [one] for one in row.values())
            measured |= {text for some in texts for text in some if " " in text}
    assert len(measured) > 1000
    assert measured & trained == set()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("User prefers tabs over spaces", "User prefers spaces over tabs"),
        ("We migrate from mysql to postgres", "We migrate from postgres to mysql"),
        ("User prefers tea to coffee", "User prefers coffee to tea"),
        ("Tests must run before lint", "Lint must run before tests"),
        ("backend calls frontend", "frontend calls backend"),
        ("Use tabs in python and spaces in go", "Use tabs in go and spaces in python"),
        ("Do not use tabs, use spaces", "Use tabs, do not use spaces"),
        ("We never deploy without tests", "We deploy tests"),
        ("User knows rust", "User knows no rust"),
        ("Always squash commits", "Never squash commits"),
        ("User likes C++", "User likes C"),
        ("The ratio is 1.5", "The ratio is 15"),
        ("The price is <5", "The price is >5"),
        ("The port is -1", "The port is 1"),
        ("The build is 12345678", "The build is 12345679"),
    ],
)
def test_the_opposite_of_what_was_rejected_is_offered(book: Notebook, one: str, other: str) -> None:
    """Red when the order of words, a sign or a "no" is passed over."""
    for old, new in ((one, other), (other, one)):
        stored().unlink(missing_ok=True)
        say_no(book, old)
        rejected = rejections(book)
        assert (rejected(old), rejected(new)) == (True, False)


def test_in_its_own_words_a_fact_is_known_everywhere(book: Notebook) -> None:
    say_no(book, "User prefers vim over emacs")
    here, elsewhere = rejections(book), rejections()
    again = ["user prefers vim over emacs.", "I prefer vim to emacs", "I like vim more than emacs"]
    assert [*map(here, again)] == [True, True, True]
    assert not here("I like tmux more than screen")
    assert elsewhere("user prefers vim over emacs.")
    assert not elsewhere("I like vim more than emacs")  # no word of it is kept outside the book


@pytest.mark.parametrize("back", [["undo"], ["restore", "i:user-likes-tea"]])
def test_a_rejection_that_is_taken_back_holds_no_longer(back: list[str]) -> None:
    """Red when a rejection outlives its undo."""
    book = Notebook(".co-cli/knowledge")
    say_no(book, "User likes tea")
    assert rejections(book)("I like tea")
    done = co("knowledge", *back)
    assert done.code == 0, done
    assert [*map(rejections(book), ("User likes tea", "I like tea"))] == [False, False]


def test_what_was_archived_otherwise_silences_nothing(book: Notebook) -> None:
    """Red when any archived draft counts: one that went to another notebook was wanted."""
    [draft] = put(book, [Draft("User prefers vim over emacs")], actor="chat").added
    reject(book, draft, actor="chat")
    assert not rejections(book)("User likes vim more than emacs")


def test_the_file_is_private_and_holds_no_word(book: Notebook) -> None:
    say_no(book, "User collects Norwegian stamps")
    text = stored().read_text().lower()
    assert stored().stat().st_mode & 0o777 == 0o600
    assert not any(word in text for word in ("user", "norw", "stamp", "collect"))


def test_only_so_many_are_remembered_and_a_foreign_line_is_passed_over(
    book: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST", 3)
    os.makedirs(paths.state_folder())
    stored().write_text('not json\n{"other": 1}\n[]\n')
    facts = [f"Fact {name} holds" for name in ("alpha", "beta", "gamma", "delta")]
    for fact in [*facts, facts[-1]]:
        say_no(book, fact)
    assert [*map(rejections(), facts)] == [False, True, True, True]


def test_a_purge_takes_out_what_it_purges() -> None:
    """Red when the state folder or the archive still tells that a purged fact was there."""
    book = Notebook(".co-cli/knowledge")
    for text in ("User likes cake", "User likes tea"):
        say_no(book, text)
    forget_rejections({"User likes tea"})
    assert [*map(rejections(book), ("User likes cake", "User likes tea"))] == [True, False]
    assert co("forget", "i:user-likes-cake", "--purge", "--yes").code == 0
    assert [*map(rejections(book), ("User likes cake", "User loves cake"))] == [False, False]
