"""`make bench`: figures as ratios taken in one run, because absolute times say little here.

Start-up and saving are measured here; then every other benchmark runs, in a process of its own.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from lab import tell

from co_cli.knowledge import Notebook

WORDS = [
    stem + ending
    for stem in "deploy cache index build test merge branch token queue schema client".split()
    for ending in ("", "s", "ed", "ing", "er", "-first", "-only")
]
Figure = tuple[str, float, float]
OTHERS = (
    "locomo.py",
    "own.py",
    "languages.py",
    "cold.py",
    "speed.py",
    "exact.py",
    "durability.py --quick",
    "fuzz.py --quick",
)
BIG = ("speed.py --big", "cold.py --big", "durability.py", "fuzz.py")


def write_notes(folder: Path, count: int) -> None:
    """A notebook of plausible notes, 60 words each, made up the same way every time."""
    memories = folder / "memories"
    memories.mkdir(parents=True)
    chance = random.Random(7)
    for number in range(1, count + 1):
        day = f"2026-{1 + number % 10:02d}-{1 + number % 28:02d}"
        (memories / f"{number:03d}-note.md").write_text(
            f'---\nid: {number}\nuid: {number:014d}\ncreated: "{day}T10:00:00+00:00"\n'
            "tags:\n- preference\n- python\nsource: detected\nauto_category: preference\n---\n\n"
            f"{' '.join(chance.choices(WORDS, k=60))} {number}\n"
        )


def child_cpu(command: Callable[[int], list[str]], folder: Path, runs: int = 15) -> float:
    """The least CPU a command took, in seconds; the least is what noise cannot lower."""
    env = os.environ | {"HOME": str(folder / "home")}
    best = float("inf")
    for number in range(runs):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            command(number),
            cwd=folder,
            env=env,
            check=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
        best = min(best, used)
    return best


def own_cpu(work: Callable[[], object], runs: int = 7) -> float:
    """The least CPU a piece of work took here."""
    best = float("inf")
    for _ in range(runs):
        before = time.process_time()
        work()
        best = min(best, time.process_time() - before)
    return best


def start_up(folder: Path) -> Iterator[Figure]:
    """What `co` costs on 1,000 notes, against importing click."""
    project = folder / "project"
    (project / "home").mkdir(parents=True)
    write_notes(project / ".co-cli" / "knowledge", 1000)
    co = str(Path(sys.executable).parent / "co")
    floor = child_cpu(lambda _: [sys.executable, "-c", "import click"], project)
    yield "co --help / import click", child_cpu(lambda _: [co, "--help"], project) / floor, 1.5
    listed = child_cpu(lambda _: [co, "knowledge", "list"], project)
    yield "co knowledge list, 1,000 notes / import click", listed / floor, 3.0


def reading(folder: Path) -> Iterator[Figure]:
    """What parsing 10,000 notes costs, against only reading their bytes."""
    write_notes(folder / "many", 10_000)
    paths = [entry.path for entry in os.scandir(folder / "many" / "memories")]

    def read_only() -> None:
        for path in paths:
            with open(path, "rb") as file:
                file.read()

    floor = own_cpu(read_only)
    parsed = own_cpu(lambda: Notebook(folder / "many").notes())
    yield "read and parse 10,000 notes / read their bytes", parsed / floor, 4.0


def reads_per_save(folder: Path) -> Iterator[Figure]:
    """How often a save opens the note it opens most."""
    write_notes(folder / "some", 150)
    book = Notebook(folder / "some")
    with opened_files() as opened:
        book.remember("An unheard-of fact about pelicans")
    notes = [path for path in opened if path.endswith("-note.md")]
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
    with tempfile.TemporaryDirectory() as name:
        for part in (start_up, reading, reads_per_save):
            for label, value, target in part(Path(name)):
                missed += tell(label, value, target)
    return 1 if others(OTHERS) + missed else 0


if __name__ == "__main__":
    sys.exit(main())
