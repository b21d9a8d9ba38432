"""Many processes that save into one notebook at once, some of them killed while they hold the lock.

The shared engine of tests/test_faults.py (short) and bench/torture.py (whole).
"""

from __future__ import annotations

import os
import random
import re
import selectors
import signal
import time
from collections import Counter
from dataclasses import dataclass, field

from faults import CLEAN, Call, Say, Shim, start_child
from operations import ROOMY, temps

from co_cli.knowledge.notebook import Notebook


@dataclass(slots=True)
class Crowd:
    """What happened: figures to print, and what must be empty."""

    saves: int = 0
    kills: int = 0
    seconds: float = 0.0
    slowest: float = 0.0  # one save, in seconds, as its process saw it
    after_death: float = 0.0  # from a kill to the next save of anybody, at worst
    violations: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Worker:
    pid: int
    texts: list[str]
    said: bytes = b""
    done: int = 0


def texts_for(worker: int, saves: int) -> list[str]:
    """Half of a worker's texts are its own; the others every worker saves."""
    own = [f"Worker {worker} made observation-{worker}-{n}-alone" for n in range(0, saves, 2)]
    common = [f"Everybody agrees about conclusion-{n}-in-common" for n in range(1, saves, 2)]
    return [text for pair in zip(own, [*common, ""], strict=False) for text in pair if text]


def run(root: str, processes: int, saves: int, kills: int, seed: int = 1) -> Crowd:
    """Start the processes, kill `kills` of them inside a commit, start others for the rest."""
    return _Run(root, kills, seed).run(processes, saves)


class _Run:
    def __init__(self, root: str, kills: int, seed: int) -> None:
        self.root = root
        self.kills = kills
        self.dice = random.Random(seed)
        self.crowd = Crowd()
        self.acknowledged: list[str] = []
        self.selector = selectors.DefaultSelector()
        self.killed_at = 0.0

    def run(self, processes: int, saves: int) -> Crowd:
        started = time.monotonic()
        for number in range(processes):
            self._start(texts_for(number, saves))
        while self.selector.get_map():
            for key, _ in self.selector.select():
                self._listen(key.fd, key.data)
        self.crowd.seconds = time.monotonic() - started
        self.crowd.saves = len(self.acknowledged)
        self._account()
        return self.crowd

    def _start(self, texts: list[str]) -> None:
        doomed = self.kills > 0
        self.kills -= doomed
        pause = self.dice.randrange(len(texts)), self.dice.randint(1, 24)
        shim = _Doom(self.root, *pause) if doomed else None

        def work(say: Say) -> None:
            book = Notebook(self.root, policy=ROOMY)
            if shim is not None:
                shim.say = say
            for number, text in enumerate(texts):
                if shim is not None:
                    shim.saves = number
                began = time.monotonic()
                book.remember(text)
                say(f"saved {time.monotonic() - began:.4f}")

        pid, reading = start_child(work, shim)
        self.selector.register(reading, selectors.EVENT_READ, _Worker(pid, texts))

    def _listen(self, fd: int, worker: _Worker) -> None:
        more = os.read(fd, 65536)
        *lines, worker.said = (worker.said + more).split(b"\n")
        for line in lines:
            self._hear(line.decode(), worker)
        if not more:
            self.selector.unregister(fd)
            os.close(fd)
            self._bury(worker)

    def _hear(self, line: str, worker: _Worker) -> None:
        word, _, rest = line.partition(" ")
        if word == "saved":
            self.acknowledged.append(worker.texts[worker.done])
            worker.done += 1
            self.crowd.slowest = max(self.crowd.slowest, float(rest))
            if self.killed_at:
                waited = time.monotonic() - self.killed_at
                self.crowd.after_death = max(self.crowd.after_death, waited)
                self.killed_at = 0.0
        elif word == "holding":
            os.kill(worker.pid, signal.SIGKILL)
            self.crowd.kills += 1
            self.killed_at = time.monotonic()
        else:
            self.crowd.violations.append(line)

    def _bury(self, worker: _Worker) -> None:
        status = os.waitstatus_to_exitcode(os.waitpid(worker.pid, 0)[1])
        if status == -signal.SIGKILL:
            self._start(worker.texts[worker.done :])
        elif status != CLEAN:
            self.crowd.violations.append(f"a worker ended with {status}")

    def _account(self) -> None:
        found = self.crowd.violations
        book = Notebook(self.root, policy=ROOMY)
        notes = book.notes()
        bodies = Counter(note.body for note in notes)
        found += [f"lost: {text}" for text in set(self.acknowledged) - set(bodies)]
        found += [f"twice: {text}" for text, count in bodies.items() if count > 1]
        numbers = Counter(note.id for note in notes)
        found += [f"number {number} is used twice" for number in numbers if numbers[number] > 1]
        created: Counter[str] = Counter()
        for entry in book.store.entries():
            created.update(
                re.sub(r"-.*", "", file["path"]) for file in entry.files if file["before"] is None
            )
        found += [f"{name} was given out twice" for name in created if created[name] > 1]
        found += [f"left over: {name}" for name in temps(self.root)]
        if book.look().problems or book.store.tail().state == "intent":
            found.append(f"unfinished or unreadable: {book.look().problems}")


class _Doom(Shim):
    """Says that it holds the lock, some calls after taking it, and waits to be killed there."""

    def __init__(self, root: str, at_save: int, at_call: int) -> None:
        super().__init__(root, after=self._look)
        self.saves = 0
        self.say: Say = print
        self._at = at_save, at_call
        self._calls = -1

    def _look(self, _: int, call: Call) -> None:
        if call.name == "flock":
            self._calls = 0
        elif call == Call("close", ".lock"):
            self._calls = -1
        elif self._calls >= 0:
            self._calls += 1
        if self.saves >= self._at[0] and self._calls == self._at[1]:
            self.say("holding")
            signal.pause()
