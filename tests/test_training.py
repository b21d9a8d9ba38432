"""What the models were trained on holds nothing that they are measured by."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from co_cli.knowledge.meaning.encoders import WEIGHTS

ROOT = Path(__file__).resolve().parent.parent
TRAINING = ROOT / "training"
_RUN = 10  # words in a row that no two people write by chance
_FEW = 3  # words that anybody may write
PARTS = {
    "firstweek": 100,
    "languages.jsonl": 10,
    "pairs": 300,
    "scenes": 200,
    "updates": 700,
    "replacements.jsonl": 2000,
    "same.jsonl": 4600,
    "turns.jsonl": 9000,
    "turns_more.jsonl": 1600,
    "turns_more2.jsonl": 900,
    "turns_more3.jsonl": 900,
    "turns_relabelled.jsonl": 2000,
    "unanswerable.jsonl": 250,
}


def rows(path: Path) -> list[dict[str, Any]]:
    """The objects of a file, or of all files of a folder."""
    if path.is_dir():
        return [row for each in sorted(path.iterdir()) for row in rows(each)]
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in text.splitlines()]
    whole = json.loads(text)
    return whole if isinstance(whole, list) else [whole]


def strings(value: Any) -> Iterator[str]:
    """Every text in a row; a span is a part of its line, which stands beside it."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for each in value:
            yield from strings(each)
    elif isinstance(value, dict):
        for key, each in value.items():
            if key != "span":
                yield from strings(each)


def plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))


def runs(text: str) -> set[str]:
    """A text of a few words, and every ten words in a row of a longer one."""
    words = plain(text).split()
    if len(words) <= _FEW:
        return set()
    starts = range(len(words) - _RUN + 1)
    return {" ".join(words), *(" ".join(words[at : at + _RUN]) for at in starts)}


def measured() -> Iterator[tuple[str, str]]:
    """Every text that something is measured by, with the name of its file."""
    files = [*(ROOT / "tests" / "data").glob("*.jsonl"), *(ROOT / "bench").glob("*.json")]
    dialogues = ROOT.parent / "shared" / "data" / "locomo-dev.json"
    for path in (*files, dialogues):
        if path.is_file() and not path.name.startswith("golden_"):
            for text in strings(rows(path)):
                yield path.name, text


@cache
def measured_runs() -> dict[str, str]:
    """The file that each run of words is from."""
    return {run: name for name, text in measured() for run in runs(text)}


def test_all_that_is_trained_on_is_checked() -> None:
    """Red when a file of training data is added and nobody looks into it."""
    data = {path.relative_to(TRAINING).parts[0] for path in TRAINING.rglob("*.jsonl")}
    assert data == {*PARTS}


@pytest.mark.parametrize("part", PARTS)
def test_no_text_of_a_test_or_benchmark_is_trained_on(part: str) -> None:
    """Red when a note, question or line of a test, or most of one, was trained on."""
    some = rows(TRAINING / part)
    assert len(some) > PARTS[part]
    files = measured_runs()
    shared = {
        (files[run], text)
        for row in some
        for text in strings(row)
        for run in runs(text) & files.keys()
    }
    assert shared == set()


def test_every_wanted_note_is_in_its_cluster() -> None:
    for cluster in (*rows(TRAINING / "pairs"), *rows(TRAINING / "firstweek")):
        ids = {note["id"] for note in cluster["notes"]}
        assert all({*one["want"]} <= ids and one["want"] for one in cluster["questions"])


def test_every_span_of_a_typed_line_stands_in_it() -> None:
    for part in ("turns_more", "turns_more2", "turns_more3", "turns_relabelled"):
        for row in rows(TRAINING / f"{part}.jsonl"):
            assert row["span"] in row["text"]


def test_a_statement_about_a_notebook_means_one_of_its_notes_at_most() -> None:
    for scene in rows(TRAINING / "scenes"):
        for one in scene["said"]:
            notes = [*one["updates"], *one["same"]]
            assert len(notes) <= 1
            assert all(0 <= note < len(scene["notes"]) for note in notes)


def test_the_weights_can_be_unpacked_and_packed_again(tmp_path: Path) -> None:
    """Red when the scripts and the package disagree about where an array lies."""
    for script, source, target in (
        ("unpack", WEIGHTS, tmp_path / "trained"),
        ("pack", tmp_path / "trained", tmp_path / "packed"),
        ("pack_reader", tmp_path / "trained", tmp_path / "packed"),
    ):
        path = TRAINING / f"{script}.py"
        subprocess.run([sys.executable, str(path), str(source), str(target)], check=True)
    shipped, packed = (
        json.loads(Path(folder, "weights.json").read_text())
        for folder in (WEIGHTS, tmp_path / "packed")
    )
    del shipped["languages.bin"]  # `languages.py` writes it as it is
    assert packed == shipped
    for name in packed:
        assert (tmp_path / "packed" / name).read_bytes() == Path(WEIGHTS, name).read_bytes(), name
