"""What the person rejected is not offered again, and nothing else is silenced for it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from cli import co

from co_cli import paths
from co_cli.knowledge import Notebook
from co_cli.knowledge.format.note import Note, parse
from co_cli.knowledge.inbox import Draft, put, reject
from co_cli.learning import rejected as module
from co_cli.learning.rejected import forget_rejections, rejected, remember_rejection

DATA = Path(__file__).parent / "data"


def draft(text: str, quote: str = "") -> Note:
    head = f'---\ncreated: "2026-01-01T00:00:00+00:00"\nquote: {json.dumps(quote)}\n---\n\n'
    return parse("/x/inbox/a.md", f"{head}{text}\n".encode())


def stored() -> Path:
    return Path(paths.state_folder(), "rejected.jsonl")


@pytest.mark.parametrize(("name", "floor"), [("open", 0.50), ("held", 0.70)])
def test_a_rejected_fact_is_known_in_other_words_and_no_other_fact_is(
    name: str, floor: float
) -> None:
    """Measured: 0.50 of the open and 0.71 of the held paraphrases, and nothing wrongly."""
    rows = [
        json.loads(line) for line in (DATA / f"rejections_{name}.jsonl").read_text().splitlines()
    ]
    pairs = [(row["rejected"], row["offered"], row["kind"]) for row in rows]
    found: dict[bool, list[tuple[str, str, bool]]] = {True: [], False: []}
    for old, new, kind in [*pairs, *((new, old, kind) for old, new, kind in pairs)]:
        stored().unlink(missing_ok=True)
        remember_rejection(draft(old))
        found[kind == "same"].append((old, new, rejected(new)))
    assert [(old, new) for old, new, silenced in found[False] if silenced] == []
    assert sum(silenced for *_, silenced in found[True]) >= floor * len(found[True])


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
        ("User knows rust", "User rust"),
        ("User likes C++", "User likes C"),
        ("The ratio is 1.5", "The ratio is 15"),
        ("The price is <5", "The price is >5"),
        ("The port is -1", "The port is 1"),
        ("The build is 12345678", "The build is 12345679"),
    ],
)
def test_the_opposite_of_what_was_rejected_is_offered(one: str, other: str) -> None:
    """Red when the order of words, a sign or a "no" is passed over."""
    for old, new in ((one, other), (other, one)):
        stored().unlink(missing_ok=True)
        remember_rejection(draft(old, "said"))
        assert (rejected(old), rejected(new), rejected(new, "said")) == (True, False, False)


def test_what_is_drawn_from_the_same_words_may_be_put_otherwise() -> None:
    quote = "I always take my coffee black, and I can't stand milk"
    remember_rejection(draft("User drinks coffee black", quote))
    assert rejected("User drinks coffee always black", quote)
    assert not rejected("User drinks coffee always black")
    assert not rejected("User can't stand milk", quote)


def test_the_file_is_private_and_holds_no_word() -> None:
    remember_rejection(draft("User collects Norwegian stamps", "I collect Norwegian stamps"))
    text = stored().read_text().lower()
    assert stored().stat().st_mode & 0o777 == 0o600
    assert not any(word in text for word in ("user", "norw", "stamp", "collect"))


def test_only_so_many_are_remembered_and_a_foreign_line_is_passed_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "MOST", 3)
    os.makedirs(paths.state_folder())
    stored().write_text('not json\n{"other": 1}\n[]\n')
    facts = [f"Fact {name} holds" for name in ("alpha", "beta", "gamma", "delta")]
    for fact in [*facts, facts[-1]]:
        remember_rejection(draft(fact))
    assert [rejected(fact) for fact in facts] == [False, True, True, True]


def test_a_purge_takes_out_what_is_about_that_text() -> None:
    """Red when the state folder still tells that a purged fact was there."""
    remember_rejection(draft("We deploy on Friday"))
    remember_rejection(draft("The port is 8080", "deployments happen on Fridays, at port 8080"))
    remember_rejection(draft("User likes cake"))
    forget_rejections({"Deployments happen on Fridays"})
    assert [rejected(text) for text in ("We deploy on Friday", "User likes cake")] == [False, True]
    [note] = put(Notebook(".co-cli/knowledge"), [Draft("User likes cake")], actor="chat").added
    reject(Notebook(".co-cli/knowledge"), note, actor="chat")
    assert co("forget", "i:user-likes-cake", "--purge", "--yes").code == 0
    assert not rejected("User likes cake")
