"""Break the index in every way, also under somebody's hands, and look for a wrong answer.

After each trial a notebook that was open and a fresh one must answer like one that was built from
nothing on the same files, and no note may have changed. Everything that touches an index runs in
a process of its own, so that a crash is seen and counted.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import shutil
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import apsw
from lab import Fact, Prose, scratch, write_notebook

from co_cli.knowledge import Notebook
from co_cli.knowledge.format.note import parse

PATIENCE = 60.0
WHO = "Maria Jonas Priya Tomasz Aiko Lena Omar".split()
WHAT = "payments search invoice billing session login export".split()
TOOLS = "postgres redis kafka pytest terraform session_store.py grafana sqlite nginx".split()
WHY = """because it is cheaper; after the outage in March; to lower the cache latency; since v0.8;
as the old one lost messages; so that a rollback on Friday is safe; in the Tokyo office (東京)"""
ASKED = """deploy; who prefers postgres; why did we choose kafka; payments; redis cache latency; ;
staging; what database does the search team use; session_store.py; rollback on friday; v0.8; zzqq;
Maria; in March; how is the invoice service deployed; preference; 東京; pytest over unittest;
postgre; kafak; slow queries; because it is cheaper; number 77; the team meets; on-call"""
QUERIES = [query.strip() for query in ASKED.split(";")]
Answers = list[list[tuple[str, float]]]
context = multiprocessing.get_context("fork")


def facts(count: int = 150) -> list[Fact]:
    """Notes like people's, all different; every tenth is long enough for several chunks."""
    chance, prose = random.Random(3), Prose(seed=3)
    found = []
    for number in range(count):
        who, what, tool, why = (
            chance.choice(words) for words in (WHO, WHAT, TOOLS, WHY.split(";"))
        )
        verb = chance.choice(["prefers", "chose", "deploys staging with", "monitors"])
        text = f"{who} of the {what} team {verb} {tool} {why.strip()}, number {number}"
        if number % 10 == 0:
            text += "".join(f"\n\n## Part {part}\n\n{prose.text(80)}" for part in range(4))
        created = f"2026-{1 + number % 12:02d}-{1 + number % 28:02d}T10:00:00+00:00"
        found.append(Fact(text, [chance.choice(["preference", "decision", what])], created))
    return found


def edit(folder: Path, chance: random.Random, count: int = 5) -> None:
    """What a person does to files: another line, another name, and now and then one goes."""
    there = sorted((folder / "memories").glob("*.md"))
    for path in chance.sample(there, count):
        what = chance.random()
        if what < 0.1 and len(there) > 120:
            path.unlink()
        elif what < 0.2:
            stem = path.stem.removesuffix("-renamed")
            path.rename(path.with_stem(stem if stem != path.stem else f"{stem}-renamed"))
        else:
            mark = f"changed {chance.choice(TOOLS)} {chance.randrange(10**6)}\n".encode()
            new = path.with_suffix(".new")
            new.write_bytes(path.read_bytes().split(b"changed ")[0] + mark)
            new.replace(path)


# What runs in other processes


def answer(book: Notebook, query: str) -> list[tuple[str, float]]:
    """What must be the same whatever happened to the index."""
    return [(hit.note.name, round(hit.score, 6)) for hit in book.recall(query, 10)]


def ask(book: Notebook) -> tuple[Answers, list[str]]:
    """The answers to every query, and what is wrong with them by themselves."""
    wrong = []
    for query in QUERIES:
        for note in (hit.note for hit in book.recall(query, 10)):
            raw = Path(note.path).read_bytes()
            if note.raw != raw or note.body != parse(note.path, raw).body:
                wrong.append(f"{query!r}: the text of {note.name} is not in its file")
    return [answer(book, query) for query in QUERIES], wrong


def fresh(pipe: Connection, folder: Path) -> None:
    """Open the notebook, answer, close."""
    with Notebook.open(folder) as book:
        pipe.send(ask(book))


def holder(pipe: Connection, folder: Path, busy: bool, right: Answers | None) -> None:
    """Open the notebook and answer; again when told, and until then without a pause if busy.

    Where the right answers are known, those given in between are judged too.
    """
    wrong = []
    with Notebook.open(folder) as book:
        pipe.send(ask(book))
        while not pipe.poll(0 if busy else PATIENCE):
            at = random.randrange(len(QUERIES))
            found = answer(book, QUERIES[at])
            if right and found != right[at]:
                wrong.append(f"{QUERIES[at]!r} meanwhile: {found[:3]}, not {right[at][:3]}")
        pipe.recv()
        answers, worse = ask(book)
        pipe.send((answers, wrong + worse))


def writer(pipe: Connection, folder: Path, seed: int, rounds: int) -> None:
    """Edit and sync again and again; then wait to be killed, with everything open."""
    chance = random.Random(seed)
    with Notebook.open(folder) as book:
        book.sync()
        if rounds > 1:
            pipe.send("ready")
        for _ in range(rounds):
            edit(folder, chance)
            book.sync()
        pipe.send("ready")
        time.sleep(PATIENCE)


def run(target: Callable[..., None], pipe: Connection, *arguments: Any) -> None:
    """Do it, and tell of an error; a crash tells by itself."""
    try:
        target(pipe, *arguments)
    except Exception as error:  # noqa: BLE001 - any error at all is looked for
        last = traceback.extract_tb(error.__traceback__)[-1]
        pipe.send(RuntimeError(f"raised {error!r} in {last.filename}:{last.lineno}"))


class Worker:
    """One such process, and what it says."""

    def __init__(self, target: Callable[..., None], *arguments: Any) -> None:
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=run, args=(target, theirs, *arguments))
        self.process.start()
        theirs.close()

    def says(self) -> Any:
        """Its next word; a RuntimeError when it failed, died or hangs."""
        if not self.pipe.poll(PATIENCE):
            self.process.kill()
            raise RuntimeError("hangs")
        try:
            said = self.pipe.recv()
        except (EOFError, ConnectionResetError):
            self.process.join()
            raise RuntimeError(f"crashed with exit code {self.process.exitcode}") from None
        if isinstance(said, RuntimeError):
            raise said
        return said

    def end(self, patience: float = 0) -> None:
        """Wait for its end, or make one, without a chance to tidy up."""
        self.process.join(patience)
        self.process.kill()
        self.process.join()


def once(target: Callable[..., None], *arguments: Any) -> Any:
    """What a process says that does one thing."""
    worker = Worker(target, *arguments)
    try:
        return worker.says()
    finally:
        worker.end(PATIENCE)


# The notebook on trial


class Trials:
    """A notebook, images of its index in good order, and the answers it should give."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder = folder
        self.chance = random.Random(seed)
        self.images: dict[str, dict[str, bytes]] = {}
        self.right: Answers = []
        self.prepare()

    def prepare(self) -> None:
        """Take an image of an old index, one with a full write-ahead log, and a closed one."""
        once(fresh, self.folder)
        self.images["old"] = self.image()
        dying = Worker(writer, self.folder, self.chance.randrange(10**9), 1)
        dying.says()
        self.images["log"] = self.image()
        dying.end()
        once(fresh, self.folder)
        self.images["closed"] = self.image()
        self.rebuild()

    def rebuild(self) -> None:
        """The answers of an index built from nothing on a copy of the files."""
        place = self.folder.parent / "copy"
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(self.folder / "memories", place / "memories")
        self.right, wrong = once(fresh, place)
        if wrong:
            raise RuntimeError(f"a rebuild is wrong by itself: {wrong[0]}")

    def parts(self) -> list[Path]:
        """The files of the index."""
        return sorted(self.folder.glob("knowledge.db*"))

    def image(self) -> dict[str, bytes]:
        """The index as it lies there."""
        return {path.name: path.read_bytes() for path in self.parts() if path.is_file()}

    def notes(self) -> dict[str, bytes]:
        """Every note's bytes."""
        return {path.name: path.read_bytes() for path in (self.folder / "memories").iterdir()}

    def clear(self, *paths: Path) -> None:
        """Whatever is there goes."""
        for path in paths:
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)

    def trial(self, damage: Callable[[], None], image: str, mode: str) -> list[str]:
        """Lay an image, break it while somebody holds it (or not), and compare every answer."""
        self.clear(*self.parts())
        for name, data in self.images[image].items():
            (self.folder / name).write_bytes(data)
        moving = damage == self.kill_writer  # then the notes change too
        wrong: list[str] = []
        checks: list[tuple[str, Callable[[], Any]]] = [("fresh", lambda: once(fresh, self.folder))]
        held = None
        if mode != "alone":
            right = None if moving else self.right
            held = Worker(holder, self.folder, mode == "busy", right)
            wrong += self.compare("before", held.says)
            checks.insert(self.chance.randint(0, 1), ("open", held.says))
            time.sleep(self.chance.random() * 0.02)
        before = self.notes()
        damage()
        if moving:
            before = self.notes()
            self.rebuild()
        if held:
            with suppress(BrokenPipeError):  # it is dead, as will be seen
                held.pipe.send("again")
        for name, answers in [*checks, ("fresh again", lambda: once(fresh, self.folder))]:
            wrong += self.compare(name, answers)
        if held:
            held.end(PATIENCE)
            wrong += [f"open: exit code {code}"] if (code := held.process.exitcode) else []
        wrong += ["a note changed"] if self.notes() != before else []
        if moving:
            self.prepare()
        return wrong

    def compare(self, name: str, answers: Callable[[], Any]) -> list[str]:
        """What is wrong with somebody's answers."""
        try:
            told, wrong = answers()
        except RuntimeError as error:
            return [f"{name}: {error}"]
        for query, found, right in zip(QUERIES, told, self.right, strict=True):
            if found != right:
                wrong.append(f"{query!r}: {found[:3]}, a rebuild says {right[:3]}")
        return [f"{name}: {problem}" for problem in wrong]

    # Kinds of damage

    def scribble(self, times: int, change: Callable[[bytes], bytes], page: int = 1) -> None:
        """Change bytes from some place on in one of the files, in place."""
        path = self.chance.choice([path for path in self.parts() if path.stat().st_size])
        data = path.read_bytes()
        for _ in range(times):
            at = self.chance.randrange(len(data)) // page * page
            with open(path, "r+b") as file:
                file.seek(at)
                file.write(change(data[at:]))

    def flip_bits(self) -> None:
        bit = 1 << self.chance.randrange(8)
        self.scribble(self.chance.choice([1, 1, 2, 8, 64]), lambda old: bytes([old[0] ^ bit]))

    def overwrite(self) -> None:
        length = self.chance.randint(1, 20_000)
        self.scribble(1, lambda old: self.chance.randbytes(min(length, len(old))))

    def zero_pages(self) -> None:
        self.scribble(self.chance.randint(1, 3), lambda old: bytes(min(4096, len(old))), page=4096)

    def truncate(self) -> None:
        path = self.chance.choice([path for path in self.parts() if path.stat().st_size])
        size = self.chance.randrange(path.stat().st_size)
        os.truncate(path, self.chance.choice([0, size, size // 4096 * 4096]))

    def grow(self) -> None:
        with open(self.chance.choice(self.parts()), "ab") as file:
            file.write(self.chance.randbytes(self.chance.randint(1, 9000)))

    def delete(self) -> None:
        there = self.parts()
        self.clear(*self.chance.sample(there, self.chance.randint(1, len(there))))

    def lose_log(self) -> None:
        lost = self.chance.choice([("-wal",), ("-shm",), ("-wal", "-shm")])
        self.clear(*(self.folder / f"knowledge.db{ending}" for ending in lost))

    def put_back(self) -> None:
        """The old database comes back; its companions too, or the present ones stay by mistake."""
        old = self.images["old"]
        for name in old if self.chance.random() < 0.5 else ["knowledge.db"]:
            self.clear(self.folder / name)
            (self.folder / name).write_bytes(old[name])

    def replace(self) -> None:
        """Something else lies in the place of one of the files."""
        path = self.chance.choice([self.folder / "knowledge.db", *self.parts()])
        things: list[Callable[[], object]] = [
            lambda: path.mkdir(exist_ok=True),
            lambda: path.symlink_to(min((self.folder / "memories").iterdir())),
            lambda: path.symlink_to(self.folder / "nowhere"),
            lambda: once(strange_database, path),
            lambda: path.write_bytes(self.chance.randbytes(self.chance.randint(0, 50_000))),
        ]
        self.clear(path)
        with suppress(FileExistsError, IsADirectoryError):  # whoever uses it was quicker
            self.chance.choice(things)()

    def kill_writer(self) -> None:
        worker = Worker(writer, self.folder, self.chance.randrange(10**9), 10**6)
        worker.says()
        worker.end(self.chance.random() * 0.3)
        self.clear(*(self.folder / "memories").glob("*.new"))


def strange_database(pipe: Connection, path: Path) -> None:
    """A database of somebody else's, made elsewhere: who asks may be writing this one."""
    made = path.parent.parent / f"strange-{os.getpid()}.db"
    db = apsw.Connection(str(made))
    db.execute("create table notes(name, text); insert into notes values ('001-x.md', 'deploy')")
    db.close()
    os.replace(made, path)
    pipe.send("ready")


def main() -> int:
    """Run the trials and count; 1 when one of them went wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="60 trials in place of 1,000")
    parser.add_argument("--trials", type=int, help="how many")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    count = options.trials or (60 if options.quick else 1000)
    tried: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    with scratch() as folder:
        write_notebook(folder / "book", facts())
        trials = Trials(folder / "book", options.seed)
        kinds = [
            trials.flip_bits, trials.overwrite, trials.zero_pages, trials.truncate, trials.grow,
            trials.delete, trials.lose_log, trials.put_back, trials.replace, trials.kill_writer,
        ]  # fmt: skip
        for number in range(count):
            damage = kinds[number % len(kinds)]
            kind = damage.__name__.replace("_", " ")
            image = "log" if damage == trials.lose_log else trials.chance.choice(["closed", "log"])
            mode = trials.chance.choice(["alone", "idle", "busy"])
            wrong = trials.trial(damage, image, mode)
            tried[kind] += 1
            failed[kind] += bool(wrong)
            for problem in wrong[:3]:
                print(f"  VIOLATION {number}, {kind} ({image}, {mode}): {problem:.300}", flush=True)
    for kind, times in tried.items():
        print(f"  {kind:14} {times:5} trials, {failed[kind]} went wrong")
    print(f"{count} trials of a broken index: {failed.total()} went wrong")
    return 1 if failed.total() else 0


if __name__ == "__main__":
    sys.exit(main())
