"""The rule that may consolidate without asking, against 217 pairs labelled before it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from co_cli.knowledge.lifecycle import similarity
from co_cli.knowledge.sameness import key, longest_word, same

PAIRS = [
    json.loads(line)
    for line in (Path(__file__).parent / "data" / "pairs.jsonl").read_text().splitlines()
]


def decide(old: str, new: str) -> str:
    """The whole decision as a save makes it."""
    if same(old, new):
        return "same"
    return "similar" if similarity(old, new) >= 85 else "distinct"


def test_there_are_217_pairs_of_three_kinds() -> None:
    labels = [pair["label"] for pair in PAIRS]
    assert {label: labels.count(label) for label in set(labels)} == {
        "same": 66,
        "similar": 108,
        "distinct": 43,
    }


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair["old"][:30])
def test_no_pair_that_differs_in_meaning_is_ever_called_same(pair: dict[str, str]) -> None:
    """Red when any exception in sameness.py is dropped: strip all punctuation, fold all case..."""
    expected = pair["label"] == "same"
    assert same(pair["old"], pair["new"]) is expected
    assert same(pair["new"], pair["old"]) is expected


def test_the_score_puts_the_others_where_their_labels_are() -> None:
    wrong = [pair for pair in PAIRS if decide(pair["old"], pair["new"]) != pair["label"]]
    assert [(pair["old"], pair["new"]) for pair in wrong] == [
        ("Alice owns billing", "Alice owns booking")  # 83: too short for the score, kept apart
    ]


def test_texts_of_the_same_meaning_share_their_key_and_their_longest_word() -> None:
    for pair in PAIRS:
        if pair["label"] == "same":
            assert key(pair["old"]) == key(pair["new"])
            assert longest_word(pair["old"]) in key(pair["new"])


@pytest.mark.parametrize("text", ["", "   ", "the", "!", "...", "[]", "a the an"])
def test_a_text_of_fillers_and_marks_is_the_same_only_as_itself(text: str) -> None:
    assert same(text, text)
    assert not same(text, text + "x")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("grades a, b and c pass", "grades b and c pass"),
        ("the column is userId", "the column is userid"),
        ("it draws 5 mW", "it draws 5 MW"),
        ("take 10 mg daily", "take 10 Mg daily"),
        ("call t.Run first", "call t.run first"),
        ("deleting is (not) allowed", "deleting is not allowed"),
        ("let x be the sum", "let X be the sum"),
    ],
)
def test_small_marks_that_carry_meaning_are_not_passed_over(old: str, new: str) -> None:
    assert not same(old, new)
