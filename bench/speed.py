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

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # as the `co` command does

from lab import Fact, Prose, RawIndex, english, scratch, tell, write_notebook

from co_cli.knowledge import Notebook
from co_cli.knowledge.meaning.encoders import built_in

PUPPY = Fact("We brought home a puppy for the children in spring", ["preference"])
DOG = "which dog did the kids get"  # shares no word with the puppy: only meaning finds it
NOTE = (  # 30 tokens
    "We keep the staging database on the small machine in the basement because the cloud bill had "
    "doubled twice since last spring, and so far nobody has complained."
)
QUERIES, EDITS, SAVES, READINGS = 200, 15, 15, 30
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

    A question is two to five words of some note, none of them a stop word; a phrase stands there.
    """
    prose = Prose(words=english())
    facts = [PUPPY, *prose.facts(count - 1)]
    write_notebook(notes_in(base), facts)
    picked = prose.chance.choices(facts, k=QUERIES)
    asked = [prose.query(fact.text, 2 + number % 4) for number, fact in enumerate(picked)]
    (base / "queries.json").write_text(json.dumps(asked))
    (base / "phrases.json").write_text(json.dumps([prose.phrase(fact.text) for fact in picked]))
    return base


def queries(base: Path, name: str = "queries") -> list[str]:
    """The questions to ask in this notebook."""
    asked: list[str] = json.loads((base / f"{name}.json").read_text())
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
        if backend == "auto":
            book.search.read_closely(most=64)
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
    """Recall in a process that watches; by turns with raw FTS5, and reading the question closely.

    The answers are for new questions; a model of meaning may keep what it has read.
    """
    raw, meaning = RawIndex(str(base / "raw.db")), built_in()
    times: dict[str, list[float]] = {"raw": [], "recall": [], "reading": []}
    with Notebook.open(notes_in(base), watch=True) as book:
        for number, query in enumerate(queries(base)):
            if number == 10:  # warm by now
                times = {name: [] for name in times}
            times["raw"].append(timed(raw.search, query))
            times["recall"].append(timed(book.recall, query))
            times["reading"].append(timed(meaning.closely, query))
    middles = {f"{name}50": statistics.median(each) for name, each in times.items()}
    return {**{name: p95(each) for name, each in times.items()}, **middles}


def closely(_: Path) -> Measured:
    """Read one note of 30 tokens closely, in a process that has read others."""
    meaning = built_in()
    tokens = len(meaning.tokens(NOTE))
    readings = [timed(meaning.closely, NOTE) for _ in range(READINGS)]
    return {"cpu": statistics.median(readings), "tokens": tokens}


def pay(base: Path) -> Measured:
    """Read every note closely."""
    with Notebook.open(notes_in(base)) as book:
        book.sync()
        used = timed(book.search.read_closely)
        read, notes = book.search.closely()
    return {"cpu": used, "read": read, "notes": notes}


def save(base: Path) -> Measured:
    """Durable saves in a process that watches."""
    prose = Prose(time.time_ns(), english())
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


WORK = {work.__name__: work for work in (floor, build, keywords, change, warm, closely, pay, save)}


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
    code = "print(open('/proc/self/status').read())"
    bare = subprocess.run(
        [sys.executable, "-c", code], check=True, stdout=subprocess.PIPE, text=True
    )
    memory = (middle(found[2], "peak") - peak(bare.stdout)) / 1024
    return missed + tell("memory above bare Python, MB", memory, 250)


def changing(base: Path, rounds: int) -> int:
    """One changed note seen by the next recall, which nobody told of it."""
    [found] = turns(rounds, ("change", base))
    recall, look = middle(found, "recall"), middle(found, "look")
    missed = compare("a change seen / scandir and stat", recall, look, 3)
    return missed + tell("changes not seen", sum(each["unseen"] for each in found), 0)


def recalling(base: Path, rounds: int) -> int:
    """Recall in a long-lived process, beside reading the question closely and ten searches."""
    [found] = turns(rounds, ("warm", base))
    recall, raw, reading = (middle(found, name) for name in ("recall", "raw", "reading"))
    parts = f"; reading {reading * 1000:.1f} ms, raw FTS5 {raw * 1000:.1f} ms; p50 " + both(
        middle(found, "recall50"), middle(found, "reading50") + 10 * middle(found, "raw50")
    )
    label = "warm recall p95 / (one reading + 10x raw FTS5) p95"
    return compare(label, recall, reading + 10 * raw, 1, parts)


def saving(base: Path, small: Path, rounds: int) -> int:
    """One durable save in a process that watches, in a large notebook and in a small one."""
    large, few = turns(rounds, ("save", base), ("save", small))
    waited = f"; waited {both(middle(large, 'wall'), middle(few, 'wall'))}"
    missed = compare("a save / with 100 notes", middle(large, "cpu"), middle(few, "cpu"), 3, waited)
    return missed + tell("saves not seen", sum(each["unseen"] for each in large + few), 0)


def growing(base: Path, small: Path, rounds: int) -> int:
    """How every step grows from 10,000 notes to 100,000."""
    prepare(base, 100_000)
    missed = 0
    for work, figure, label in (
        ("build", "cpu", "indexing"),
        ("floor", "cpu", ""),
        ("warm", "recall", "recall p95"),
        ("change", "recall", "a change seen"),
        ("save", "cpu", "a save"),
    ):
        large, few = turns(rounds if label else 1, (work, base), (work, small))
        if label:
            told = f"{label} in 100,000 notes / 10,000"
            missed += compare(told, middle(large, figure), middle(few, figure), 12)
    return missed


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
        missed += saving(large, small, rounds)
        if options.big:
            missed += growing(folder / "big", large, rounds)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
