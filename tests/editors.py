"""A person whose editor saves a note again and again while Co changes that very note.

The shared engine of tests/test_faults.py (short) and bench/torture.py (whole). A burst is a few
saves 0 to 1.5 ms apart; the last of them must then be the note's text, or `doctor` must name the
file that holds it.
"""

from __future__ import annotations

import os
import random
import select
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from faults import CLEAN, Say, end_child, start_child
from operations import ROOMY, temps

from co_cli.errors import CoError
from co_cli.knowledge.doctor import diagnose
from co_cli.knowledge.notebook import Notebook

NAME = "memories/001-edited.md"
_PAGE = "---\nid: 1\ncreated: 2026-02-09T12:00:00Z\ntags: [edited]\n---\n\nThis is {}\n"
_LOT = 100


@dataclass(slots=True)
class Bursts:
    """What happened: figures to print, and what must be empty."""

    bursts: int = 0
    changes: int = 0  # that Co made meanwhile
    named: int = 0  # bursts whose last save is in the archive, and named
    seconds: float = 0.0
    violations: list[str] = field(default_factory=list)


def by_rename(path: str, data: bytes, dice: random.Random) -> None:
    """Save as editors do that write a new file and rename it."""
    fd = os.open(path + "~", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.write(fd, data)
    os.close(fd)
    _pause(dice, 0.0002)
    os.rename(path + "~", path)


def in_place(path: str, data: bytes, dice: random.Random) -> None:
    """Save as editors do that empty the old file and write into it."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    _pause(dice, 0.0002)
    os.write(fd, data)
    os.close(fd)


HOW = {"by rename": by_rename, "in place": in_place}


def _pause(dice: random.Random, longest: float) -> None:
    until = time.monotonic() + dice.random() * longest
    while time.monotonic() < until:  # more exact than sleep
        pass


def run(work: str, how: str, bursts: int, seed: int = 1) -> Bursts:
    """Let the editor save `bursts` bursts while Co changes the note, and look after each."""
    seen = Bursts()
    started = time.monotonic()
    for lot in range(0, bursts, _LOT):  # a new notebook now and then: a long journal is slow
        root = os.path.join(work, f"kb{lot}")
        _run_lot(root, how, min(_LOT, bursts - lot), random.Random(seed + lot), seen)
        shutil.rmtree(root)
    seen.seconds = time.monotonic() - started
    return seen


def _run_lot(root: str, how: str, bursts: int, dice: random.Random, seen: Bursts) -> None:
    os.makedirs(os.path.join(root, "memories"))
    path = os.path.join(root, NAME)
    with open(path, "w", encoding="utf-8") as file:
        file.write(_PAGE.format("the start"))
    listening, telling = os.pipe()
    editor = start_child(lambda say: _edit(path, HOW[how], (listening, telling), say, dice))
    os.close(listening)
    book = Notebook(root, policy=ROOMY)
    for _ in range(bursts):
        os.write(telling, b".")
        while not select.select([editor[1]], [], [], 0)[0]:
            seen.changes += _change(book, seen.changes)
        _look(book, os.read(editor[1], 65536).decode().strip(), seen)
    os.close(telling)
    ended = end_child(*editor)
    if ended.status != CLEAN:
        seen.violations.append(f"the editor ended with {ended.status}: {ended.lines}")
    seen.violations += [f"left over: {name}" for name in temps(root)]


def _edit(
    path: str,
    save: Callable[[str, bytes, random.Random], None],
    pipe: tuple[int, int],
    say: Say,
    dice: random.Random,
) -> None:
    os.close(pipe[1])  # else it would never read the end
    number = 0
    while os.read(pipe[0], 1):
        for _ in range(dice.randint(1, 4)):
            _pause(dice, 0.0015)
            number += 1
            save(path, _PAGE.format(f"version-{number}").encode(), dice)
        say(f"version-{number}")


def _change(book: Notebook, number: int) -> int:
    """One change of the note: most rewrite it, some take it away and bring it back."""
    with suppress(CoError):  # a note that is empty for a moment cannot be read
        if number % 5 == 4:
            book.forget(1)
            book.undo()
            return 2
        book.protect(1, on=not book.find(1).protected)
        return 1
    return 0


def _look(book: Notebook, version: str, seen: Bursts) -> None:
    """Whether the burst's last save is what the note says now, or else is told."""
    seen.bursts += 1
    if _holds(os.path.join(book.root, NAME), version):
        return
    with suppress(CoError):  # an undo that was refused leaves it in the archive
        book.restore(1)
    live = [note.body for note in book.notes()]
    if live == [f"This is {version}"]:
        return
    held = [_holds(problem.path, version) for problem in diagnose(book)]
    if any(held):
        seen.named += 1
    else:
        seen.violations.append(f"{version} is lost; the note says {live}")


def _holds(path: str, version: str) -> bool:
    try:
        with open(path, encoding="utf-8") as file:
            return f"{version}\n" in file.read()
    except (OSError, UnicodeDecodeError):
        return False
