"""Does a save notice what it brings out of date? On notebooks and statements left out of training.

Scenes are notebooks of thirteen notes with what their writer typed later. Groups are a note, what
updates, restates or leaves it as it is, among twelve notes of other groups.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the `co` command does

from lab import Fact, scratch, tell, write_notebook

from co_cli.knowledge import Notebook

ROOT = Path(__file__).resolve().parent.parent
HELD = 10  # training leaves every so manyth group and scene out
KINDS = ("updates", "same", "other")


class Statement(NamedTuple):
    """What was typed, what it means for a note, and the place of that note; -1 for no note."""

    text: str
    kind: str
    note: int


def rows(*paths: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for path in paths for line in path.read_text("utf-8").splitlines()]


def left_out(folder: str) -> list[dict[str, Any]]:
    every = rows(*sorted((ROOT / "training" / folder).glob("*.jsonl")))
    return every[HELD - 3 :: HELD]


def scenes() -> Iterator[tuple[list[str], list[Statement]]]:
    """Each notebook left out, with what was typed later."""
    for row in left_out("scenes"):
        typed = []
        for one in row["said"]:
            kind = "updates" if one["updates"] else "same" if one["same"] else "other"
            [note] = [*one["updates"], *one["same"]][:1] or [-1]
            typed.append(Statement(one["text"], kind, note))
        yield row["notes"], typed


def groups(every: list[dict[str, Any]]) -> Iterator[tuple[list[str], list[Statement]]]:
    """Each note among twelve others, with the statements about it."""
    chance = random.Random(13)
    for at, row in enumerate(every):
        beside = [one["old"] for one in chance.sample([*every[:at], *every[at + 1 :]], 12)]
        typed = [Statement(text, kind, 0) for kind in KINDS for text in row[kind]]
        yield [row["old"], *beside], typed


def measure(label: str, books: Iterable[tuple[list[str], list[Statement]]]) -> int:
    """Save nothing, ask of each statement what it brings out of date, and print the shares."""
    many, named = Counter[str](), Counter[str]()
    unrelated = 0
    for notes, typed in books:
        with scratch() as folder:
            facts = [Fact(text, [], "2026-01-01T10:00:00+00:00") for text in notes]
            write_notebook(folder / "notes", facts)
            with Notebook.open(folder / "notes") as book:
                book.sync(closely=True)
                for one in typed:
                    outdated = {note.id - 1 for note in book.outdated_by(one.text)}
                    many[one.kind] += 1
                    named[one.kind] += one.note in outdated
                    unrelated += bool(outdated - {one.note})
    share = {kind: named[kind] / many[kind] for kind in many}
    print(f"{label}: {sum(many.values())} statements", flush=True)
    missed = tell("  updates noticed", share["updates"], 0.88, least=True)
    missed += tell("  restatements taken for updates", share["same"], 0.10)
    missed += tell("  an unrelated note named", unrelated / sum(many.values()), 0.05)
    return missed


def main() -> int:
    """Print it all; 1 when a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--whole", action="store_true", help="the groups left out as well")
    whole = parser.parse_args().whole
    missed = measure("scenes left out", scenes())
    missed += measure("fresh groups", groups(rows(ROOT / "tests/data/updates_fresh.jsonl")))
    if whole:
        missed += measure("groups left out", groups(left_out("updates")))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
