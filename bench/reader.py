"""How well the reader reads by itself, on what it was not trained on.

Every tenth notebook and group and a tenth of the typed lines were left out of training
(training/reader_data.py); what is fresh or everyday in tests/data was never part of it. A sample is
read, as `make bench` has no more time; `--whole` reads all of it. What recall and saving make of
these scores is measured elsewhere.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the `co` command does
sys.path.append(str(Path(__file__).resolve().parents[1] / "training"))

import numpy as np
from lab import tell
from reader_data import (
    Notebook,
    Question,
    Sentence,
    everyday,
    group_pairs,
    groups,
    lines,
    notebook,
    notebooks,
    sentences,
)

from co_cli.knowledge.meaning.encoders import built_in
from co_cli.knowledge.meaning.reader import KINDS, reader
from co_cli.knowledge.meaning.wordpiece import tagged

TESTS = Path(__file__).resolve().parents[1] / "tests" / "data"
CANDIDATES = 5  # notes that a question is read with, the nearest by the careful encoder
SURE = 0.5  # the share of the answers that count as sure
TARGETS = {  # at least, but for what is mistaken
    "right note first": 0.90,
    "right note among three": 0.98,
    "sure answers right, half are sure": 0.92,
    "unanswerable, told as sure": 0.35,
    "updates noticed, at .05 of others mistaken": 0.88,
    "replacements noticed, at .05 of others mistaken": 0.80,
    "rewordings known, at .02 of near misses mistaken": 0.95,
    "kind of a line": 0.93,
    "personal or not": 0.94,
}
AT_MOST = {"unanswerable, told as sure"}
Figures = Iterator[tuple[str, float]]
Rows = Sequence[dict[str, Any]]


class Answer(NamedTuple):
    """The reader's score of the note that it puts first, and where the first right one stands."""

    score: float
    place: int | None
    answerable: bool


def answers(books: Sequence[Notebook], questions: Sequence[Question]) -> Iterator[Answer]:
    """What the reader answers with the notes that are nearest to each question."""
    used = {one.notebook for one in questions}
    vectors = {at: embed(map(tagged, books[at].notes, books[at].tags)) for at in used}
    for one in questions:
        cosines = vectors[one.notebook] @ embed([one.text])[0]
        near = [int(at) for at in np.argsort(-cosines, kind="stable")[:CANDIDATES]]
        texts = [books[one.notebook].notes[at] for at in near]
        ranked = sorted(zip(reader().answers(one.text, texts), near, strict=True), reverse=True)
        right = (place for place, (_, at) in enumerate(ranked, 1) if at in one.wanted)
        yield Answer(ranked[0][0], next(right, None), bool(one.wanted))


def embed(texts: Any) -> Any:
    """The vectors of texts by the careful encoder, of length 1."""
    rows = np.array([np.frombuffer(built_in().closely(text), np.int8) for text in texts], "f4")
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)


def of_answers(books: Sequence[Notebook], questions: Sequence[Question]) -> Figures:
    """The right note first or among three, and what the best score says about there being one."""
    results = list(answers(books, questions))
    answerable = [one for one in results if one.answerable]
    yield "right note first", fmean(one.place == 1 for one in answerable)
    yield "right note among three", fmean((one.place or 9) <= 3 for one in answerable)
    line = np.quantile([one.score for one in answerable], 1 - SURE)
    sure = [one for one in results if one.score >= line]
    yield "sure answers right, half are sure", fmean(one.place == 1 for one in sure)
    nothing = [one.score >= line for one in results if not one.answerable]
    yield "unanswerable, told as sure", fmean(nothing)


def noticed(right: Sequence[float], wrong: Sequence[float], share: float) -> float:
    """How much of what is right scores above all but that share of what is wrong."""
    line = sorted(wrong, reverse=True)[int(len(wrong) * share)]
    return fmean(score > line for score in right)


def of_updates(rows: Rows) -> Figures:
    """Statements that bring a note out of date, against those that leave it be."""
    pairs = [pair for row in rows for pair in group_pairs(row)]
    scores = [(pair.label, updates(pair.old, pair.new)) for pair in pairs]
    right, wrong = ([score for label, score in scores if label == one] for one in (0, 2))
    yield "updates noticed, at .05 of others mistaken", noticed(right, wrong, 0.05)


def of_replacements(rows: Rows) -> Figures:
    """Notes that replace others, against those that do not."""
    scores = [(row["label"] == "replaces", updates(row["old"], row["new"])) for row in rows]
    right, wrong = ([score for label, score in scores if label == one] for one in (True, False))
    yield "replacements noticed, at .05 of others mistaken", noticed(right, wrong, 0.05)


def updates(old: str, new: str) -> float:
    """The probability that a new text brings an old one out of date."""
    return reader().relations([old], new)[0].updates


def of_rewordings(rows: Rows) -> Figures:
    """A fact in other words, against near misses; the mean of both orders."""
    scores = {
        key: [score for row in rows for score in same(row["fact"], row[key])]
        for key in ("same", "other")
    }
    share = noticed(scores["same"], scores["other"], 0.02)
    yield "rewordings known, at .02 of near misses mistaken", share


def same(fact: str, texts: Sequence[str]) -> Iterator[float]:
    """The probability that each text says the same as a fact, by either order."""
    for text, relation in zip(texts, reader().relations(texts, fact), strict=True):
        [other] = reader().relations([fact], text)
        yield (relation.same + other.same) / 2


def of_lines(some: Sequence[Sentence]) -> Figures:
    """What a typed line asks for, and whether it is about the person."""
    intents = [(one, reader().intent(one.text)) for one in some]
    yield "kind of a line", fmean(KINDS[one.kind] == intent.kind for one, intent in intents)
    labelled = [(one.personal, intent.personal > 0.5) for one, intent in intents]
    yield "personal or not", fmean(own == yes for own, yes in labelled if own is not None)


def sets(whole: bool) -> Iterator[tuple[str, Callable[[], Figures]]]:
    """What is read, and how: all of it, or every so many of each set."""

    def some(items: Iterable[Any], step: int) -> list[Any]:
        return list(items)[:: 1 if whole else step]

    books, questions, held_out = notebooks()
    weeks = [one for one in questions if one.notebook in held_out]
    yield "first weeks left out", partial(of_answers, books, some(weeks, 4))
    rows = enumerate(lines(TESTS / "firstweek_fresh.jsonl"))
    fresh = [notebook(row, number) for number, row in rows]
    fresh_questions = [one for _, questions in fresh for one in questions]
    fresh_books = [book for book, _ in fresh]
    yield "fresh first weeks", partial(of_answers, fresh_books, some(fresh_questions, 8))
    yield "updates left out", partial(of_updates, some(groups()[1], 2))
    yield "fresh updates", partial(of_updates, some(lines(TESTS / "updates_fresh.jsonl"), 4))
    replacements = lines(TESTS / "replacements_fresh.jsonl")
    yield "fresh replacements", partial(of_replacements, list(replacements))
    for half in ("open", "held"):
        facts = some(lines(TESTS / f"rewordings_{half}.jsonl"), 4)
        yield f"rewordings, {half}", partial(of_rewordings, facts)
    yield "lines left out", partial(of_lines, some(sentences()[1], 4))
    for half in ("open", "held"):
        typed = everyday(TESTS / f"everyday_{half}.jsonl")
        yield f"everyday lines, {half}", partial(of_lines, typed)


def main() -> int:
    """Print every figure with its target; 1 when one is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--whole", action="store_true", help="read all, not a sample (12 minutes)")
    missed = 0
    for name, figures in sets(parser.parse_args().whole):
        print(name, flush=True)
        for label, value in figures():
            missed += tell(f"  {label}", value, TARGETS[label], least=label not in AT_MOST)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
