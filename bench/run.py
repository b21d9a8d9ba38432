"""`make bench`: figures as ratios taken in one run, because absolute times say little here.

Start-up and saving are measured here; then every other benchmark runs, in a process of its own.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cold import CO, Shell, click
from lab import scratch, tell
from speed import notes_in, prepare, timed

from co_cli.knowledge import Notebook

Figure = tuple[str, float, float]
OTHERS = (
    "locomo.py",
    "own.py",
    "updates.py",
    "languages.py",
    "reader.py",
    "cold.py",
    "speed.py",
    "exact.py",
    "articles.py",
    "passages.py",
    "groups.py",
    "browsing.py",
    "mcp_server.py --quick",
    "durability.py --quick",
    "fuzz.py --quick",
)
BIG = ("speed.py --big", "cold.py --big", "durability.py", "fuzz.py")


def start_up(folder: Path) -> Iterator[Figure]:
    """What `co` costs on 1,000 notes, against importing click."""
    shell = Shell(prepare(folder / "project", 1000), folder / "home")
    floor, helped, listed = shell.least(
        15,
        lambda _: click(shell),
        lambda _: timed(shell.run, CO, "--help"),
        lambda _: timed(shell.run, CO, "knowledge", "list"),
    )
    yield "co --help / import click", helped / floor, 1.5
    yield "co knowledge list, 1,000 notes / import click", listed / floor, 3.0


def reading(folder: Path) -> Iterator[Figure]:
    """What parsing 10,000 notes costs, against only reading their bytes."""
    root = notes_in(prepare(folder / "many", 10_000))
    paths = [entry.path for entry in os.scandir(root / "memories")]

    def read_only() -> None:
        for path in paths:
            with open(path, "rb") as file:
                file.read()

    floor = min(timed(read_only) for _ in range(7))
    parsed = min(timed(lambda: Notebook(root).notes()) for _ in range(7))
    yield "read and parse 10,000 notes / read their bytes", parsed / floor, 4.0


def reads_per_save(folder: Path) -> Iterator[Figure]:
    """How often a save opens the note it opens most."""
    book = Notebook(notes_in(prepare(folder / "some", 150)))
    with opened_files() as opened:
        book.remember("An unheard-of fact about pelicans")
    notes = [path for path in opened if path.endswith(".md") and "-pelicans" not in path]
    yield "reads of one note in a save, at most", max(map(notes.count, set(notes))), 1.0


@contextmanager
def opened_files() -> Iterator[list[str]]:
    """Every path opened inside."""
    opened: list[str] = []
    sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" else None)
    yield opened


def others(commands: tuple[str, ...]) -> int:
    """Run other benchmarks; how many missed something."""
    missed = 0
    for command in commands:
        print(f"\n{command}", flush=True)
        script, *options = command.split()
        path = str(Path(__file__).with_name(script))
        missed += subprocess.run([sys.executable, path, *options], check=False).returncode != 0
    return missed


def main() -> int:
    """Print every figure with its target; 1 when one is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--big", action="store_true", help="only what takes long: 100,000 notes")
    if parser.parse_args().big:
        return 1 if others(BIG) else 0
    missed = 0
    with scratch() as folder:
        for part in (start_up, reading, reads_per_save):
            for label, value, target in part(folder):
                missed += tell(label, value, target)
    return 1 if others(OTHERS) + missed else 0


if __name__ == "__main__":
    sys.exit(main())
