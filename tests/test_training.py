"""The pairs that the model was trained on hold nothing that it is measured by."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
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
