"""Does recall find Co's own kind of notes? Paraphrased questions on bench/own_notes.json.

Three times: all notes only skimmed (unpaid), half of them read closely, and all of them (paid).
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the `co` command does

from lab import Fact, scratch, tell, write_notebook

from co_cli.knowledge import Notebook

NOTES = Path(__file__).with_name("own_notes.json")


class Answer(NamedTuple):
    """What one question brought, whether all of it doubtful, and the notes it wanted."""

    kind: str
    found: list[int]
    want: set[int]
    weak: bool = False

    def recall(self, most: int) -> float:
        """How much of what was wanted is among the first so many."""
        return len(self.want & {*self.found[:most]}) / len(self.want)

    @property
    def reciprocal(self) -> float:
        """One over the place of the first that was wanted."""
        return next((1 / n for n, found in enumerate(self.found, 1) if found in self.want), 0.0)

    @property
    def sure(self) -> bool:
        """Whether something was told, and not as doubtful."""
        return bool(self.found) and not self.weak


class Asked(NamedTuple):
    """The answers to questions about the notes, and to questions about nothing there."""

    answers: Sequence[Answer]
    strange: Sequence[Answer]

    def at(self, most: int) -> float:
        """The mean recall among the first so many."""
        return statistics.fmean(answer.recall(most) for answer in self.answers)

    @property
    def empty(self) -> int:
        """How many questions about the notes got nothing."""
        return sum(not answer.found for answer in self.answers)

    @property
    def only_weak(self) -> float:
        """The share of questions about the notes that got only doubtful hits."""
        return statistics.fmean(bool(answer.found) and answer.weak for answer in self.answers)

    @property
    def declined(self) -> float:
        """The share of questions about nothing there that got nothing or only doubtful hits."""
        return statistics.fmean(not answer.sure for answer in self.strange)


def facts(data: dict[str, Any]) -> list[Fact]:
    """The notes of a file of questions; their numbers are their places, from 1."""
    created = "2026-01-01T10:00:00+00:00"
    notes = data["notes"]
    return [Fact(note["content"], note["tags"], note.get("created", created)) for note in notes]


def ask(book: Notebook, data: dict[str, Any], kind: str = "kind") -> Asked:
    """Ask everything once."""
    numbers = {note["key"]: number for number, note in enumerate(data["notes"], 1)}

    def answer(question: dict[str, Any]) -> Answer:
        want = question.get("want", ())
        wanted = {numbers[key] for key in ([want] if isinstance(want, str) else want)}
        hits = book.recall(question["ask"], 10)
        found = [hit.note.id for hit in hits]
        return Answer(question.get(kind, ""), found, wanted, all(hit.weak for hit in hits))

    strange = [each if isinstance(each, dict) else {"ask": each} for each in data["off_topic"]]
    return Asked([answer(each) for each in data["questions"]], [answer(each) for each in strange])


def line(label: str, answers: Sequence[Answer]) -> None:
    """One row of the table."""
    asked = Asked(answers, [])
    figures = [*(asked.at(most) for most in (1, 5, 10))]
    figures.append(statistics.fmean(answer.reciprocal for answer in answers))
    row = "   ".join(f"{figure:.3f}" for figure in figures)
    print(f"  {label:14} {row}   {asked.empty:3} of {len(answers)} wrongly empty", flush=True)


def table(label: str, asked: Asked) -> None:
    """A row for each kind, one for all, and what was about nothing there."""
    print(f"{label}\n                 at 1    at 5    at 10   MRR")
    for kind in dict.fromkeys(answer.kind for answer in asked.answers):
        line(kind, [answer for answer in asked.answers if answer.kind == kind])
    line("all", asked.answers)
    nothing = statistics.fmean(not answer.found for answer in asked.strange)
    print(
        f"  only doubtful hits: {asked.only_weak:.3f}; {len(asked.strange)} off topic: "
        f"nothing {nothing:.2f}, doubtful {asked.declined - nothing:.2f}",
        flush=True,
    )


def verdict(unpaid: Asked, paid: Asked) -> int:
    """Every figure with its target; how many were missed."""
    missed = 0
    for most, target in ((1, 0.72), (5, 0.85), (10, 0.89)):
        missed += tell(f"own notes at {most}, paid", paid.at(most), target, least=True)
    missed += tell("own notes at 5, unpaid", unpaid.at(5), 0.72, least=True)
    for state, asked in (("paid", paid), ("unpaid", unpaid)):
        missed += tell(f"wrongly empty, {state}", asked.empty, 9)
        missed += tell(f"off topic, nothing or doubtful, {state}", asked.declined, 0.85, least=True)
        missed += tell(f"answerable, only doubtful hits, {state}", asked.only_weak, 0.10)
    return missed


def main() -> int:
    """Print it all; 1 when a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--misses", action="store_true", help="list what the first five lack")
    misses = parser.parse_args().misses
    data = json.loads(NOTES.read_text())
    states: list[Asked] = []
    with scratch() as folder:
        write_notebook(folder / "own", facts(data))
        with Notebook.open(folder / "own") as book:
            book.sync()
            half = book.search.closely()[1] // 2
            for state, pay in (
                ("unpaid", lambda: None),
                ("half paid", lambda: book.search.read_closely(most=half)),
                ("paid", book.search.read_closely),
            ):
                pay()
                states.append(ask(book, data))
                read = "{} of {} read closely".format(*book.search.closely())
                table(f"{len(data['notes'])} notes, {state} ({read})", states[-1])
    if misses:
        for question, answer in zip(data["questions"], states[-1].answers, strict=True):
            if not answer.recall(5):
                print(f"  {answer.kind}: {question['ask']}   wanted {question['want']}")
    print()
    return 1 if verdict(states[0], states[-1]) else 0


if __name__ == "__main__":
    sys.exit(main())
