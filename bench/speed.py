"""How much CPU recall costs, each figure beside the plainest way to do the same, in one run.

Every measurement is a fresh process (`speed.py --work NAME FOLDER`); the two sides of a ratio
take turns.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lab import Fact, Prose, RawIndex, bytes_of, scratch, tell, write_notebook

import co_cli
from co_cli.knowledge import Notebook

CO = str(Path(sys.executable).with_name("co"))
PUPPY = Fact("We brought home a puppy for the children in spring", ["preference"])
DOG = "which dog did the kids get"  # shares no word with the puppy: only meaning finds it
QUERIES, EDITS, SAVES = 200, 15, 15
Measured = dict[str, Any]


def cpu() -> float:
    """CPU seconds of this process, its threads and its finished children."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def timed(work: Callable[..., object], *arguments: object) -> float:
    """The CPU a piece of work took."""
    before = cpu()
    work(*arguments)
    return cpu() - before


def peak(status: str) -> int:
    """The most memory a process held, in KB; ru_maxrss would begin with what its parent held."""
    return int(status.partition("VmHWM:")[2].split(maxsplit=1)[0])


def p95(times: list[float]) -> float:
    """The time that one in twenty exceeds."""
    return statistics.quantiles(times, n=20)[-1]


def notes_in(base: Path) -> Path:
    """Every base folder is a project; this is its notebook."""
    return base / ".co-cli" / "knowledge"


def prepare(base: Path, count: int) -> Path:
    """A notebook of made-up notes, the puppy among them, and questions to ask in it.

    A question is two to five words of some note, none of them a stop word.
    """
    prose = Prose()
    facts = [PUPPY, *prose.facts(count - 1)]
    write_notebook(notes_in(base), facts)
    picked = prose.chance.choices(facts, k=QUERIES)
    asked = [prose.query(fact.text, 2 + number % 4) for number, fact in enumerate(picked)]
    (base / "queries.json").write_text(json.dumps(asked))
    return base


def queries(base: Path) -> list[str]:
    """The questions to ask in this notebook."""
    asked: list[str] = json.loads((base / "queries.json").read_text())
    return asked


# What a fresh process is told to do


def floor(base: Path) -> Measured:
    """Read the files and put them into FTS5 as they are."""
    place = base / "raw.db"
    place.unlink(missing_ok=True)

    def build() -> None:
        entries = os.scandir(notes_in(base) / "memories")
        RawIndex(str(place)).add(Path(entry.path).read_text() for entry in entries)

    return {"cpu": timed(build)}


def build(base: Path, backend: str = "auto") -> Measured:
    """Build the index from nothing, then ask a little."""
    for path in notes_in(base).glob("knowledge.db*"):
        path.unlink()

    def sync() -> None:
        with Notebook.open(notes_in(base), backend=backend) as book:
            book.sync()

    used = timed(sync)
    with Notebook.open(notes_in(base), backend=backend) as book:
        for query in queries(base)[:20]:
            book.recall(query)
    return {"cpu": used, "peak": peak(Path("/proc/self/status").read_text())}


def keywords(base: Path) -> Measured:
    """Build the index without vectors."""
    return build(base, "fts5")


def change(base: Path) -> Measured:
    """A hand edit, and the recall after it, beside looking at every file once."""
    asked = queries(base)
    memories = notes_in(base) / "memories"
    paths = sorted(memories.iterdir())
    looks, recalls, unseen = [], [], 0
    with Notebook.open(notes_in(base)) as book:
        book.sync()
        book.recall(asked[0])
        for number, query in enumerate(asked[:EDITS]):
            path, word = random.Random(number).choice(paths), f"zyx{time.time_ns()}qua"
            path.write_text(path.read_text() + f"{word}\n")
            looks.append(timed(lambda: [entry.stat() for entry in os.scandir(memories)]))
            before = cpu()
            hits = book.recall(f"{query.split()[0]} {word}")
            recalls.append(cpu() - before)
            unseen += not any(hit.note.name == path.name and word in hit.note.body for hit in hits)
    look, recall = statistics.median(looks), statistics.median(recalls)
    return {"look": look, "recall": recall, "unseen": unseen}


def warm(base: Path) -> Measured:
    """Recall in a process that watches, and raw FTS5 for the same words, by turns."""
    raw = RawIndex(str(base / "raw.db"))
    asked = queries(base)
    plain, recalls = [], []
    with Notebook.open(notes_in(base), watch=True) as book:
        for query in asked[:10]:
            book.recall(query)
            raw.search(query)
        for query in asked:
            plain.append(timed(raw.search, query))
            recalls.append(timed(book.recall, query))
    middles = {"raw50": statistics.median(plain), "recall50": statistics.median(recalls)}
    return {"raw": p95(plain), "recall": p95(recalls), **middles}


def save(base: Path) -> Measured:
    """Durable saves in a process that watches."""
    prose = Prose(seed=time.time_ns())
    said = [prose.text(12) for _ in range(SAVES)]
    with Notebook.open(notes_in(base), watch=True) as book:
        book.recall("warm")
        book.remember(prose.text(12))
        started = time.perf_counter()
        used = timed(lambda: [book.remember(text) for text in said])
        wall = time.perf_counter() - started
        found = book.recall(said[-1])
    unseen = not found or found[0].note.body != said[-1]
    return {"cpu": used / SAVES, "wall": wall / SAVES, "unseen": unseen}


WORK = {work.__name__: work for work in (floor, build, keywords, change, warm, save)}


# Putting them beside each other


def turns(rounds: int, *sides: tuple[str, Path]) -> list[list[Measured]]:
    """Do pieces of work by turns, each in a fresh process; what each measured."""
    found: list[list[Measured]] = [[] for _ in sides]
    for _ in range(rounds):
        for (name, base), measured in zip(sides, found, strict=True):
            command = [sys.executable, __file__, "--work", name, str(base)]
            told = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
            measured.append(json.loads(told.stdout))
    return found


def middle(measured: list[Measured], name: str) -> float:
    """The median of one figure."""
    return float(statistics.median(each[name] for each in measured))


def compare(label: str, top: float, under: float, target: float, more: str = "") -> int:
    """Tell a ratio of CPU times, and both sides in milliseconds."""
    return tell(label, top / under, target, more=f"{both(top, under)}{more}")


def both(top: float, under: float) -> str:
    return f"{top * 1000:.1f} ms / {under * 1000:.1f} ms"


def building(base: Path, rounds: int) -> int:
    """The index from nothing: CPU, bytes and memory."""
    found = turns(rounds, ("floor", base), ("keywords", base), ("build", base))
    raw, words, vectors = (middle(each, "cpu") for each in found)
    missed = compare("keyword index / raw FTS5", words, raw, 4)
    missed += compare("index with vectors / raw FTS5", vectors, raw, 6)
    index, notes = (bytes_of(notes_in(base), name) for name in ("knowledge.db*", "memories/*.md"))
    told = f"{index / 1e6:.1f} MB / {notes / 1e6:.1f} MB"
    missed += tell("index / notes, bytes", index / notes, 3, more=told)
    code = "print(open('/proc/self/status').read())"
    bare = subprocess.run(
        [sys.executable, "-c", code], check=True, stdout=subprocess.PIPE, text=True
    )
    memory = (middle(found[2], "peak") - peak(bare.stdout)) / 1024
    return missed + tell("memory above bare Python, MB", memory, 150)


def changing(base: Path, rounds: int) -> int:
    """One changed note seen by the next recall, which nobody told of it."""
    [found] = turns(rounds, ("change", base))
    recall, look = middle(found, "recall"), middle(found, "look")
    missed = compare("a change seen / scandir and stat", recall, look, 3)
    return missed + tell("changes not seen", sum(each["unseen"] for each in found), 0)


def recalling(base: Path, rounds: int) -> int:
    """Recall in a long-lived process."""
    [found] = turns(rounds, ("warm", base))
    middles = f"; p50 {both(middle(found, 'recall50'), middle(found, 'raw50'))}"
    recall, raw = middle(found, "recall"), middle(found, "raw")
    return compare("warm recall p95 / raw FTS5 p95", recall, raw, 5, middles)


def cold(base: Path, home: Path, rounds: int) -> int:
    """`co recall` from the shell, beside importing click."""
    home.mkdir()
    passed = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}

    def run(*command: str) -> str:
        env = {**passed, "HOME": str(home)}
        return subprocess.run(
            command, cwd=base, env=env, check=True, capture_output=True, text=True, input=""
        ).stdout

    asked = queries(base)
    run(sys.executable, "-m", "compileall", "-qq", str(Path(co_cli.__file__).parent))
    run(CO, "recall", asked[0])
    results = json.loads(run(CO, "recall", "--json", DOG))["results"]
    puppy = [hit["why"] for hit in results if hit["content"] == PUPPY.text]
    recalls, clicks = [], []
    for query in asked[:rounds]:
        clicks.append(timed(run, sys.executable, "-c", "import click"))
        recalls.append(timed(run, CO, "recall", query))
    recall, click = (statistics.quantiles(times, n=4)[0] for times in (recalls, clicks))
    missed = compare("cold co recall / import click", recall, click, 2.5)
    by_meaning = any("mean" in str(why) for why in puppy)
    more = f"{DOG!r}: {puppy or 'not found'}"
    return missed + tell("the meaning leg was on in it", by_meaning, 1, least=True, more=more)


def saving(base: Path, small: Path, rounds: int) -> int:
    """One durable save in a process that watches, in a large notebook and in a small one."""
    large, few = turns(rounds, ("save", base), ("save", small))
    waited = f"; waited {both(middle(large, 'wall'), middle(few, 'wall'))}"
    missed = compare("a save / with 100 notes", middle(large, "cpu"), middle(few, "cpu"), 3, waited)
    return missed + tell("saves not seen", sum(each["unseen"] for each in large + few), 0)


def growing(base: Path, small: Path, rounds: int) -> int:
    """How indexing and recall grow from 10,000 notes to 100,000."""
    prepare(base, 100_000)
    large, few = turns(rounds, ("build", base), ("build", small))
    label = "indexing 100,000 notes / 10,000"
    missed = compare(label, middle(large, "cpu"), middle(few, "cpu"), 12)
    turns(1, ("floor", base), ("floor", small))
    large, few = turns(rounds, ("warm", base), ("warm", small))
    label = "recall p95 in 100,000 notes / 10,000"
    raw = f"; raw FTS5 {both(middle(large, 'raw'), middle(few, 'raw'))}"
    return missed + compare(label, middle(large, "recall"), middle(few, "recall"), 12, raw)


def main() -> int:
    """Print every figure; 1 when a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="2,000 notes in place of 10,000")
    parser.add_argument("--big", action="store_true", help="100,000 notes too")
    parser.add_argument("--rounds", type=int, default=3, help="how often each side is measured")
    parser.add_argument("--work", nargs=2, metavar=("NAME", "FOLDER"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        print(json.dumps(WORK[options.work[0]](Path(options.work[1]))))
        return 0
    count, rounds = 2_000 if options.quick else 10_000, options.rounds
    print(f"CPU time on {count:,} notes of 60 words")
    with scratch() as folder:
        large, small = prepare(folder / "large", count), prepare(folder / "small", 100)
        missed = building(large, rounds) + changing(large, rounds) + recalling(large, rounds)
        missed += cold(large, folder / "home", 5 * rounds) + saving(large, small, rounds)
        if options.big:
            missed += growing(folder / "big", large, rounds)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
