"""What it costs to find the memories that belong together, against one rebuild of the index.

The vectors are the fast ones, in both. Once in notes of many matters, and once where all notes are
of one, so that any two of them could stand together.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # as the `co` command does

from lab import Fact, Prose, english, scratch, tell, write_notebook
from speed import timed

from co_cli.knowledge import Notebook
from co_cli.knowledge.summary import find_groups

LIMIT = 3.0  # times one rebuild
_AT = "2020-01-01T10:00:00+00:00"


def many_matters(count: int) -> Iterator[Fact]:
    """Notes of four or five to a matter."""
    prose = Prose(words=english())
    matters = [prose.text(20) for _ in range(count // 4)]
    for number in range(count):
        yield Fact(f"{prose.chance.choice(matters)} {prose.text(10)} In {number} cases.", (), _AT)


def one_matter(count: int) -> Iterator[Fact]:
    """Notes that are all near to each other."""
    for number in range(count):
        yield Fact(f"The billing service of team {number} keeps its invoices for years.", (), _AT)


def ratio(folder: Path, facts: Iterator[Fact], rounds: int = 3) -> tuple[float, int]:
    """How often a rebuild fits into the search for groups, and how many groups there are."""
    write_notebook(folder, facts)
    with Notebook(folder) as book:
        rebuilt = min(timed(lambda: book.sync(anew=True)) for _ in range(rounds))
        notes = book.notes()
        found = find_groups(book, notes)
        grouped = min(timed(find_groups, book, notes) for _ in range(rounds))
    return grouped / rebuilt, len(found)


def main() -> int:
    """Print both figures; 1 when a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="how many notes")
    count, missed = parser.parse_args().count, 0
    with scratch() as folder:
        for kind in (many_matters, one_matter):
            value, groups = ratio(folder / kind.__name__, kind(count))
            label = f"groups of {count:,} notes, {kind.__name__.replace('_', ' ')} / a rebuild"
            missed += tell(label, value, LIMIT, more=f"{groups} groups")
    return min(missed, 1)


if __name__ == "__main__":
    sys.exit(main())
