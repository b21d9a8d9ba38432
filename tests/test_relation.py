"""Whether two sentences say the same, contradict each other, or neither."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from co_cli.knowledge.relation import relation

DATA = Path(__file__).parent / "data"
TWINS = [
    ("We deploy on Tuesdays after the standup", "We deploy on Tuesdays, after standup"),
    ("Logs are kept for 30 days", "Logs are kept 30 days"),
    ("User prefers pytest over unittest", "User prefers pytest to unittest"),
    ("Marta owns the payments service", "The payments service is owned by Marta"),
]
CONTRADICTIONS = [
    ("Invoices go out on the 1st", "Invoices go out on the 3rd"),
    ("We deploy on Fridays", "We never deploy on Fridays"),
    ("User prefers tabs over spaces", "User prefers spaces over tabs"),
    ("We host everything on Heroku", "We moved to Hetzner"),
    ("User prefers vim", "User prefers emacs"),
]
OTHERS = [
    ("Marta owns the payments service", "The payments service is written in Go"),
    ("Marta owns the payments service", "The payments service talks to Stripe"),
    ("Jonas owns search", "Search uses OpenSearch 2.11"),
    ("Service 12 belongs to Anna", "Service 13 belongs to Anna"),
    ("The billing service belongs to Alice.", "The billing service belongs to Alice. It is in Go."),
]


@pytest.mark.parametrize("pair", TWINS + CONTRADICTIONS + OTHERS)
def test_a_pair_is_sorted_by_the_words_that_differ(pair: tuple[str, str]) -> None:
    label = "same" if pair in TWINS else "different" if pair in OTHERS else "contradicts"
    assert relation(*pair) == label


@pytest.mark.parametrize(
    ("name", "found", "wrong", "twins"), [("open", 11, 0, 7), ("held", 10, 1, 8)]
)
def test_most_contradictions_are_found_and_hardly_any_other_pair_is_asked_about(
    name: str, found: int, wrong: int, twins: int
) -> None:
    """As measured: of 11 contradictions, 22 other pairs, and 11 that say the same.

    Red when the judge, a kind of value or the words of no weight are left out.
    """
    lines = (DATA / f"matters_{name}.jsonl").read_text(encoding="utf-8").splitlines()
    pairs = [json.loads(line) for line in lines]
    told = Counter((pair["label"], relation(pair["old"], pair["new"])) for pair in pairs)
    assert told["contradicts", "contradicts"] >= found
    assert told["same", "contradicts"] + told["different", "contradicts"] <= wrong
    assert told["same", "same"] >= twins
    assert told["contradicts", "same"] + told["different", "same"] == 0
