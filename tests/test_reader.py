"""The reader's own arithmetic: its scores are those of the training, however it is asked."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from math import exp, log
from pathlib import Path
from threading import Barrier, Thread
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from co_cli.errors import EmbedderUnavailable
from co_cli.knowledge.meaning.encoders import WEIGHTS, Meaning
from co_cli.knowledge.meaning.reader import Reader, reader

GOLDEN = Path(__file__).parent / "data" / "golden_reader.jsonl"
QUESTION = "when do we deploy"
NOTES = [
    "We deploy on Thursdays",
    "deploy day is Thursday, after standup, and never on the day before a holiday",
    "My sister lives in Turku",
    "",
    "東京の会議は火曜日です",
]


def golden(key: str) -> list[dict[str, Any]]:
    """The rows that hold a key, each head's own."""
    rows = [json.loads(line) for line in GOLDEN.read_text(encoding="utf-8").splitlines()]
    return [row for row in rows if key in row]


def near(scores: Sequence[float]) -> Any:
    """Scores that differ by a rounding, not by a mistake."""
    return pytest.approx(scores, abs=1e-3)


def odds(probability: float) -> float:
    return log(probability / (1 - probability))


def log_shares(scores: Sequence[float]) -> list[float]:
    """Scores as logarithms of probabilities that add up to one."""
    total = log(sum(map(exp, scores)))
    return [score - total for score in scores]


def test_answers_are_scored_as_in_training() -> None:
    """Red when a layer, the tokenizer, a weight or the order of a pair is read otherwise."""
    rows = golden("answers")
    assert len(rows) == 90
    for row in rows:
        assert reader().answers(row["question"], [row["text"]]) == near(row["answers"]), row


def test_relations_are_scored_as_in_training() -> None:
    """Red when old and new change places, or two of the heads do."""
    rows = golden("relation")
    assert len(rows) == 60
    for row in rows:
        [relation] = reader().relations([row["old"]], row["new"])
        shares = [log(relation.updates), log(relation.same), log(relation.other)]
        assert shares == near(log_shares(row["relation"])), row
        assert [odds(relation.about)] == near(row["about"]), row


def test_lines_are_scored_as_in_training() -> None:
    """Red when a kind stands in another's place, or a span is cut elsewhere."""
    rows = golden("line")
    assert len(rows) == 50
    for row in rows:
        intent = reader().intent(row["line"])
        assert [*map(log, intent.kinds.values())] == near(log_shares(row["kind"])), row
        assert intent.likely == intent.kinds[intent.kind] == max(intent.kinds.values())
        assert [odds(intent.lasting), odds(intent.personal)] == near(
            [*row["lasting"], *row["personal"]]
        ), row
        assert (intent.signal, intent.span) == (row["signal"], row["span"])


def test_a_batch_gives_what_each_text_gives_alone() -> None:
    """Red when texts of a batch attend to each other, or come back in another order."""
    one = reader()
    alone = [one.answers(QUESTION, [note])[0] for note in NOTES]
    assert one.answers(QUESTION, NOTES) == near(alone)
    together = one.relations(NOTES, "We deploy on Mondays now")
    for note, relation in zip(NOTES, together, strict=True):
        assert one.relations([note], "We deploy on Mondays now") == [near(relation)]
    assert (one.answers(QUESTION, []), one.relations([], "a new text")) == ([], [])


def test_more_threads_give_the_same() -> None:
    """Red when a block of a matrix is left out or lands in another's place."""
    one, several = reader(), Reader(Meaning(), threads=3)
    assert several.answers(QUESTION, NOTES) == near(one.answers(QUESTION, NOTES))
    assert several.intent(QUESTION).kinds == near(one.intent(QUESTION).kinds)  # type: ignore[arg-type]


def test_two_threads_may_read_at_once() -> None:
    """Red when a matrix is used before it is unpacked."""
    shared, barrier = Reader(Meaning()), Barrier(2)
    scores: dict[int, list[float]] = {}

    def read(number: int) -> None:
        barrier.wait()
        scores[number] = shared.answers(QUESTION, NOTES)

    threads = [Thread(target=read, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    alone = reader().answers(QUESTION, NOTES)
    assert scores == {0: near(alone), 1: near(alone)}


@settings(max_examples=25)
@given(st.text())
@example("")
@example(" \n ")
@example("remember: İstanbul'da buluşuyoruz, ok?")
@example("forget the 🏳️‍🌈 flag\u200b note")
@example("word " * 400)
def test_a_span_is_a_part_of_its_line(line: str) -> None:
    """Red when a place in the line is counted in pieces, or in another spelling of it."""
    assert reader().intent(line).span in line


@pytest.mark.parametrize("content", [None, b"", b"not as many"])
def test_a_reader_without_its_weights_is_unavailable(tmp_path: Path, content: bytes | None) -> None:
    """Red when recall would fail, instead of doing without the reader."""
    for name in ("weights.json", "vocab.txt"):
        os.symlink(os.path.join(WEIGHTS, name), tmp_path / name)
    if content is not None:
        (tmp_path / "reader.bin").write_bytes(content)
    with pytest.raises(EmbedderUnavailable, match=f"weights in {tmp_path} cannot be read"):
        Reader(Meaning(str(tmp_path)))
