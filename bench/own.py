"""Does recall find Co's own kind of notes? Paraphrased questions on bench/own_notes.json."""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from pathlib import Path
from typing import NamedTuple

from lab import Fact, scratch, write_notebook

from co_cli.knowledge import Notebook

NOTES = Path(__file__).with_name("own_notes.json")


class Answer(NamedTuple):
    """What one question brought, and the numbers of the notes it wanted."""

    kind: str
    found: list[int]
    want: set[int]

    def recall(self, most: int) -> float:
        """How much of what was wanted is among the first so many."""
        return len(self.want & {*self.found[:most]}) / len(self.want)

    @property
    def reciprocal(self) -> float:
        """One over the place of the first that was wanted."""
        return next((1 / n for n, found in enumerate(self.found, 1) if found in self.want), 0.0)


def line(label: str, answers: list[Answer]) -> None:
    """One row of the table."""
    figures = [statistics.fmean(answer.recall(most) for answer in answers) for most in (1, 5, 10)]
    figures.append(statistics.fmean(answer.reciprocal for answer in answers))
    empty = sum(not answer.found for answer in answers)
    row = "   ".join(f"{figure:.3f}" for figure in figures)
    print(f"  {label:14} {row}   {empty:3} of {len(answers)} wrongly empty")


def main() -> int:
    """Print it all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--misses", action="store_true", help="list what the first five lack")
    misses = parser.parse_args().misses
    if not NOTES.is_file():
        print(f"{NOTES} is not there: skipped")
        return 0
    data = json.loads(NOTES.read_text())
    numbers = {note["key"]: number for number, note in enumerate(data["notes"], 1)}
    facts = [Fact(note["content"], note["tags"], note["created"]) for note in data["notes"]]
    answers = []
    with scratch() as folder:
        write_notebook(folder / "own", facts)
        with Notebook.open(folder / "own") as book:
            for question in data["questions"]:
                want = question["want"]
                wanted = {numbers[key] for key in ([want] if isinstance(want, str) else want)}
                found = [hit.note.id for hit in book.recall(question["ask"], 10)]
                answers.append(Answer(question["kind"], found, wanted))
                if misses and not answers[-1].recall(5):
                    print(f"  {question['kind']}: {question['ask']}   wanted {want}")
            strange = [book.recall(ask, 10) for ask in data["off_topic"]]
    print(f"{len(facts)} notes         at 1    at 5    at 10   MRR")
    for kind in dict.fromkeys(answer.kind for answer in answers):
        line(kind, [answer for answer in answers if answer.kind == kind])
    line("all", answers)
    empty = sum(not hits for hits in strange) / max(1, len(strange))
    weak = sum(bool(hits) and all(h.weak for h in hits) for hits in strange) / max(1, len(strange))
    print(f"  {len(strange)} off topic: empty {empty:.2f}, weak {weak:.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
