"""How much CPU `co recall` and `co learn` cost from the shell, beside `python -c "import click"`.

Over 1,000 notes that were only skimmed, and again when all were read closely.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from lab import Prose, bytes_of, english, scratch, tell
from speed import DOG, PUPPY, compare, middle, notes_in, prepare, queries, timed, turns

import co_cli

CO = str(Path(sys.executable).with_name("co"))


class Shell:
    """Commands in a project, as a person runs them."""

    def __init__(self, base: Path, home: Path) -> None:
        home.mkdir(exist_ok=True)
        passed = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
        self.env = {**passed, "HOME": str(home), "OPENBLAS_NUM_THREADS": "1"}
        self.base = base

    def run(self, *command: str) -> str:
        """What a command prints."""
        return subprocess.run(
            command, cwd=self.base, env=self.env, check=True, capture_output=True, text=True,
            input="",
        ).stdout  # fmt: skip

    def first_line(self, *command: str) -> float:
        """The CPU seconds of a command until it says something."""
        pipe = subprocess.PIPE
        with subprocess.Popen(
            command, cwd=self.base, env=self.env, stdin=subprocess.DEVNULL, stdout=pipe,
            stderr=subprocess.DEVNULL,
        ) as child:  # fmt: skip
            assert child.stdout
            child.stdout.readline()
            try:
                used = Path(f"/proc/{child.pid}/schedstat").read_text()
            except (FileNotFoundError, ProcessLookupError):
                used = "0"
            child.stdout.read()
        return int(used.split()[0]) / 1e9 if used.strip() else 0.0

    def least(self, rounds: int, *works: Callable[[int], float]) -> list[float]:
        """The first quarter of what each piece of work takes; they take turns."""
        found = [[work(number) for work in works] for number in range(rounds)]
        return [statistics.quantiles(times, n=4)[0] for times in zip(*found, strict=True)]


def recalling(shell: Shell, rounds: int) -> int:
    """`co recall`, unpaid, then paid, and what the index takes then."""
    base = shell.base
    asked = queries(base)
    shell.run(sys.executable, "-m", "compileall", "-qq", str(Path(co_cli.__file__).parent))
    shell.run(CO, "recall", asked[0])
    results = json.loads(shell.run(CO, "recall", "--json", DOG))["results"]
    puppy = [hit["why"] for hit in results if hit["content"] == PUPPY.text]
    by_meaning = any("mean" in str(why) for why in puppy)
    more = f"{DOG!r}: {puppy or 'not found'}"
    missed = tell("the meaning leg is on", by_meaning, 1, least=True, more=more)
    missed += recalls(shell, "unpaid", rounds)
    [[paid]] = turns(1, ("pay", base))
    read, notes = paid["read"], len(list(notes_in(base).glob("memories/*.md")))
    missed += tell("notes read closely / notes", read / notes, 0.95, least=True)
    missed += recalls(shell, "paid", rounds)
    index, texts = (bytes_of(notes_in(base), name) for name in ("knowledge.db*", "memories/*.md"))
    told = f"{index / 1e6:.1f} MB / {texts / 1e6:.1f} MB"
    return missed + tell("index with all vectors / notes, bytes", index / texts, 4, more=told)


def click(shell: Shell) -> float:
    """What everything here is measured against."""
    return timed(shell.run, sys.executable, "-c", "import click")


def recalls(shell: Shell, debt: str, rounds: int) -> int:
    """A question that stands in a note, and one that needs meaning."""
    phrases, asked = queries(shell.base, "phrases"), queries(shell.base)
    floor, words, meaning, read = shell.least(
        rounds,
        lambda _: click(shell),
        lambda number: timed(shell.run, CO, "recall", phrases[number]),
        lambda number: timed(shell.run, CO, "recall", "--fast", f"{DOG} {asked[number]}"),
        lambda number: timed(shell.run, CO, "recall", f"{DOG} {asked[number]}"),
    )
    missed = compare(f"cold co recall by words, {debt} / import click", words, floor, 2.5)
    label = f"cold co recall --fast by meaning, {debt} / import click"
    missed += compare(label, meaning, floor, 4.5)
    return missed + compare(
        f"cold co recall with the reader, {debt} / import click", read, floor, 18
    )


def learning(shell: Shell, rounds: int) -> int:
    """`co learn` until it says so, and until it is gone."""
    prose = Prose(time.time_ns(), english())

    floor, told, whole = shell.least(
        rounds,
        lambda _: click(shell),
        lambda _: shell.first_line(CO, "learn", prose.text(20)),
        lambda _: timed(shell.run, CO, "learn", prose.text(20)),
    )
    missed = compare("co learn says so / import click", told, floor, 3)
    return missed + compare("co learn is done / import click", whole, floor, 15)


def reading(shell: Shell, rounds: int) -> int:
    """One note of 30 tokens read closely, in a process that has read others."""
    [found] = turns(max(1, rounds // 5), ("closely", shell.base))
    [floor] = shell.least(rounds, lambda _: click(shell))
    label = f"one note of {found[0]['tokens']} tokens read closely / import click"
    return compare(label, middle(found, "cpu"), floor, 0.3)


def growing(base: Path, small: Path, home: Path, rounds: int) -> int:
    """How recall from the shell grows from 10,000 notes to 100,000."""
    large, few = (Shell(prepare(*each), home) for each in ((base, 100_000), (small, 10_000)))
    asked = queries(small)
    large.run(CO, "recall", asked[0])
    few.run(CO, "recall", asked[0])
    top, under = few.least(
        rounds,
        lambda number: timed(large.run, CO, "recall", asked[number]),
        lambda number: timed(few.run, CO, "recall", asked[number]),
    )
    return compare("cold co recall in 100,000 notes / 10,000", top, under, 12)


def main() -> int:
    """Print every figure; 1 when a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--big", action="store_true", help="only 100,000 notes beside 10,000")
    parser.add_argument("--rounds", type=int, default=15, help="how often each side is measured")
    options = parser.parse_args()
    rounds = options.rounds
    with scratch() as folder:
        home = folder / "home"
        if options.big:
            return min(1, growing(folder / "big", folder / "large", home, rounds))
        shell = Shell(prepare(folder / "thousand", 1_000), home)
        missed = recalling(shell, rounds) + learning(shell, rounds) + reading(shell, rounds)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
