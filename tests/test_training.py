"""The pairs that the model was trained on hold nothing that it is measured by."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
TRAINING = ROOT / "training"
_RUN = 10  # words in a row that no two people write by chance


def runs(text: str) -> set[tuple[str, ...]]:
    words = re.findall(r"[a-z0-9]+", text.lower())
    return {tuple(words[at : at + _RUN]) for at in range(len(words) - _RUN + 1)} or {tuple(words)}


def clusters() -> list[dict[str, Any]]:
    pages = [path.read_text(encoding="utf-8") for path in (ROOT / "training/pairs").glob("*.jsonl")]
    return [json.loads(line) for page in pages for line in page.splitlines()]


def trained() -> list[str]:
    lines = clusters()
    texts = [note["text"] for line in lines for note in line["notes"]]
    texts += [one["q"] for line in lines for one in line["questions"]]
    pairs = (ROOT / "training" / "replacements.jsonl").read_text(encoding="utf-8").splitlines()
    return texts + [pair[side] for pair in map(json.loads, pairs) for side in ("old", "new")]


def rows(*names: str) -> list[dict[str, Any]]:
    """The lines of these files, by their place in the repository."""
    pages = [(ROOT / name).read_text(encoding="utf-8") for name in names]
    return [json.loads(line) for page in pages for line in page.splitlines()]


def plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))


def of_updates(some: list[dict[str, Any]]) -> set[str]:
    said = [text for row in some for kind in ("updates", "same", "other") for text in row[kind]]
    return {plain(text) for text in (*said, *(row["old"] for row in some))}


def of_notebooks(some: list[dict[str, Any]]) -> set[str]:
    return {plain(note["text"]) for row in some for note in row["notes"]}


def measured() -> list[str]:
    own: dict[str, Any] = json.loads((ROOT / "bench" / "own_notes.json").read_text())
    texts = [note["content"] for note in own["notes"]]
    texts += [one["ask"] for one in own["questions"]] + own["off_topic"]
    fresh = ROOT / "tests" / "data" / "replacements_fresh.jsonl"
    for pair in map(json.loads, fresh.read_text().splitlines()):
        texts += [pair["old"], pair["new"]]
    held = ROOT.parent / "shared" / "data" / "locomo-dev.json"
    if held.is_file():
        for talk in json.loads(held.read_text()):
            texts += [one["question"] for one in talk["qa"]]
            said = talk["conversation"]
            texts += [t["text"] for key, turns in said.items() if isinstance(turns, list)
                      for t in turns if key.startswith("session_")]  # fmt: skip
    return texts


def test_no_sentence_of_a_benchmark_is_among_the_pairs() -> None:
    """Red when a benchmark's note or question, or most of one, was trained on."""
    known = {run for text in trained() for run in runs(text) if len(run) == _RUN}
    whole = {" ".join(re.findall(r"[a-z0-9]+", text.lower())) for text in trained()}
    shared = [
        text
        for text in measured()
        if runs(text) & known
        or (len(text.split()) > 3 and " ".join(re.findall(r"[a-z0-9]+", text.lower())) in whole)
    ]
    assert shared == []


def test_every_wanted_note_is_in_its_cluster() -> None:
    assert len(clusters()) > 100
    for cluster in clusters():
        ids = {note["id"] for note in cluster["notes"]}
        assert all({*one["want"]} <= ids and one["want"] for one in cluster["questions"])


def test_what_the_reader_is_measured_by_is_not_among_what_it_learns() -> None:
    """Red when a typed line, an update or a young notebook of the tests was trained on."""
    halves = [f"tests/data/{name}_held.jsonl" for name in ("everyday", "turns", "utterances")]
    typed = {plain(row["text"]) for row in rows("tests/data/everyday_open.jsonl", *halves)}
    taught = {
        plain(row["text"]) for row in rows("training/turns.jsonl", "training/turns_more.jsonl")
    }
    assert {line for line in typed & taught if len(line.split()) > 3} == set()
    updates = rows(*sorted(f"training/updates/{path.name}" for path in TRAINING.glob("updates/*")))
    weeks = rows(
        *sorted(f"training/firstweek/{path.name}" for path in TRAINING.glob("firstweek/*"))
    )
    assert len(updates) > 700
    assert len(weeks) == 140
    shared = of_updates(rows("tests/data/updates_fresh.jsonl")) & of_updates(updates)
    assert {text for text in shared if len(text.split()) > 3} == set()
    assert of_notebooks(rows("tests/data/firstweek_fresh.jsonl")) & of_notebooks(weeks) == set()


def test_every_span_of_a_typed_line_stands_in_it() -> None:
    for row in rows("training/turns_more.jsonl", "training/turns_relabelled.jsonl"):
        assert row["span"] in row["text"]
