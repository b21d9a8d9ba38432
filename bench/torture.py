"""Kill writers at every point, fill the disk, cut the power, and look for lost notes.

Prints figures, and a line for everything that did not hold; then the exit code is 1.
"""

from __future__ import annotations

import argparse
import errno
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

import crowd
import editors
from faults import Crash, Fault, Shim
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test
from lives import Life
from operations import FACTS, MEMORY, OPERATIONS, ROOMY, state, temps
from sweep import (
    EDITED,
    FAULTS,
    LIMITS,
    Report,
    sweep,
    sweep_edits,
    sweep_recovery,
    within_limits,
)
from test_machine import Machine

from co_cli.errors import CoError, DiskTrouble
from co_cli.knowledge.notebook import Notebook

MANY_FILES = ("merge", "decay (summarize)", "update", "undo", "import", "purge", "keep it again")


def main() -> int:
    """Run all of it, or a little of all of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a little of each, in seconds")
    quick = parser.parse_args().quick
    logging.getLogger("co_cli").addHandler(logging.NullHandler())  # as in a chat, not to stderr
    violations: list[str] = []
    parts = (
        sweeps, recoveries, edits, typing, crowds, machine, conversations, limits, disks, tracing,
    )  # fmt: skip
    for part in parts:
        started = time.monotonic()
        found = part(quick)
        violations += found
        for violation in found[:20]:
            print(f"  VIOLATION {violation}")
        print(f"  {time.monotonic() - started:.1f} s, {len(found)} violations\n", flush=True)
    print("Nothing was lost." if not violations else f"{len(violations)} things did not hold.")
    return 1 if violations else 0


def _print_points(report: Report) -> None:
    for operation, count in report.by_operation().items():
        print(f"  {operation:40} {count:6} points")
    print(f"  {'total':40} {report.total:6} points")


def sweeps(quick: bool) -> list[str]:
    """Every operation with every fault at every call."""
    print("A fault at every system call, then the next start and the next save:")
    names = list(OPERATIONS)[:: 8 if quick else 1]
    report = sweep(names, FAULTS, step=40 if quick else 1, luck=0 if quick else 3)
    _print_points(report)
    print(f"  {report.unsure} times an error was told although the change was whole and there")
    short = [] if quick or report.total >= 1000 else [f"only {report.total} points were reached"]
    return report.violations + short


def recoveries(quick: bool) -> list[str]:
    """The next start after a crash is cut short too."""
    print("A fault at every system call of the recovery from a crash:")
    faults = [Fault("kill", 0), Fault("fail", 0), Fault("fail", 0, errno.ENOSPC, forever=True)]
    names = list(MANY_FILES)[:: 3 if quick else 1]
    report = sweep_recovery(names, faults, step=150 if quick else 4)
    _print_points(report)
    return report.violations


def edits(quick: bool) -> list[str]:
    """A person saves the file that an operation is about to change."""
    print("A hand edit at every system call:")
    names = list(EDITED)[:: 4 if quick else 1]
    report = sweep_edits(names, step=100 if quick else 1)
    _print_points(report)
    print("A hand edit, and the writer dies a few calls later:")
    dying = sweep_edits(names, step=100 if quick else 1, crash=(0, 1, 2, 3, 5, 8))
    _print_points(dying)
    print("Two hand edits, or one that takes its time:")
    more = sweep_edits(names, step=100 if quick else 1, again=(1, 2, 3, 5, 8, 30))
    _print_points(more)
    return report.violations + dying.violations + more.violations


def typing(quick: bool) -> list[str]:
    """An editor saves again and again while Co changes the note."""
    found = []
    for how in editors.HOW:
        print(f"Bursts of saves by an editor, {how}:")
        with _folder(MEMORY) as folder:
            seen = editors.run(folder, how, bursts=20 if quick else 20_000)
        print(f"  {seen.bursts} bursts in {seen.seconds:.0f} s, meanwhile {seen.changes} changes")
        print(f"  {seen.named} whose last save is in the archive and named, the others in place")
        found += seen.violations
    return found


def crowds(quick: bool) -> list[str]:
    """Many processes, some killed while they hold the lock."""
    processes, saves, kills = (4, 10, 2) if quick else (16, 125, 20)
    print(f"{processes} processes with {saves} saves each, {kills} killed holding the lock:")
    with _folder() as folder:
        seen = crowd.run(os.path.join(folder, "kb"), processes, saves, kills)
    print(f"  {seen.saves} saves acknowledged, {seen.saves / seen.seconds:.0f} a second")
    print(f"  {seen.kills} kills; the next save of anybody came {seen.after_death:.3f} s later")
    print(f"  the slowest save took {seen.slowest:.2f} s among {processes} processes")
    found = list(seen.violations)
    if (seen.saves, seen.kills) != (processes * saves, kills):
        found.append(f"{seen.saves} saves and {seen.kills} kills")
    if seen.after_death > 10:
        found.append(f"somebody waited {seen.after_death:.1f} s for the dead")
    return found


def machine(quick: bool) -> list[str]:
    """Any sequence of verbs, hand edits and crashes, against a model."""
    examples = 10 if quick else 1500
    print(f"{examples} random lives of a notebook:")
    try:
        run_state_machine_as_test(
            Machine,
            settings=settings(
                max_examples=examples,
                stateful_step_count=40,
                deadline=None,
                suppress_health_check=list(HealthCheck),
            ),
        )
    except AssertionError as error:
        return [f"the model and the notebook differ: {error!r:.200} {error.__notes__[:1]}"]
    return []


def conversations(quick: bool) -> list[str]:
    """What a model, a page or a draft can do, in any order: nothing is kept that nobody wants."""
    lives, found = 100 if quick else 10_000, []
    print(f"{lives} random lives of a conversation:")
    for number in range(lives):
        with tempfile.TemporaryDirectory() as folder:
            try:
                Life(Random(number), Path(folder)).run()
            except AssertionError as error:
                found.append(f"life {number}: {error}")
    return found


# Disks that really say no


def limits(_: bool) -> list[str]:
    """What the system allows a process: files open at once, and the size of a file."""
    print("Limits on open files and on the size of files:")
    found = []
    for kind in LIMITS:
        with _folder() as folder:
            refused, violations = within_limits(os.path.join(folder, "kb"), kind)
        print(f"  {kind}: refused {refused} times, then saved")
        found += violations
    return found


def disks(_: bool) -> list[str]:
    """A full disk and a read-only one, when we may mount them."""
    if os.geteuid() != 0:
        print("A full and a read-only disk: not run, only root may mount them")
        return []
    found = []
    for name, test in (("A full disk", _full_disk), ("A read-only disk", _read_only_disk)):
        print(f"{name}:")
        with _folder() as folder:
            try:
                found += test(folder)
            except subprocess.CalledProcessError as error:
                print(f"  not run: {error.stderr.decode().strip()}")
    return found


def _full_disk(folder: str) -> list[str]:
    with _mounted("-t", "tmpfs", "-o", "size=64k", "tmpfs", folder):
        root = os.path.join(folder, "kb")
        book = Notebook(root, policy=ROOMY)
        saved: list[str] = []
        said = ""
        while not said and len(saved) < 1000:
            text = f"Observation full-disk-{len(saved)} " + "x" * 500
            try:
                book.remember(text)
                saved.append(text)
            except DiskTrouble as error:
                said = f"{error} {error.hint}"
        print(f"  after {len(saved)} saves: {said}")
        found = _intact(root, saved)
        for verb in _verbs(book):
            try:
                verb()
            except CoError:
                found += _intact(root, saved)
        os.unlink(Notebook(root).notes()[0].path)  # room again
        Notebook(root, policy=ROOMY).remember("There is room again")
        return found + _intact(root, [*saved[1:], "There is room again"])


def _verbs(book: Notebook) -> list[Callable[[], object]]:
    return [
        lambda: book.remember("Another observation " + "y" * 2000),
        lambda: book.remember(book.notes()[1].body + "!", ["t" * 60]),
        lambda: book.protect(2),
        lambda: book.merge([2, 3]),
    ]


def _intact(root: str, texts: list[str]) -> list[str]:
    book = Notebook(root, policy=ROOMY)
    bodies = [note.body for note in book.notes()]
    found = [f"lost: {text[:40]}" for text in texts if not _said(text, bodies)]
    found += [f"left over: {name}" for name in temps(root)]
    return found + [f"unreadable: {problem.reason}" for problem in book.look().problems]


def _said(text: str, bodies: list[str]) -> bool:
    return any(text in body for body in bodies)


def _read_only_disk(folder: str) -> list[str]:
    root = os.path.join(folder, "kb")
    OPERATIONS["save"].prepare(Notebook(root, policy=ROOMY))
    with Shim(root, Fault("crash", 95), sync=False), suppress(Crash):
        Notebook(root, policy=ROOMY).merge([1, 2, 3])  # leaves a change half done
    before = state(root)
    found = []
    with _mounted("--bind", root, root), _mounted("-o", "remount,ro,bind", root, undo=False):
        book = Notebook(root, policy=ROOMY)
        said = ""
        for verb in _verbs(book):
            try:
                verb()
                found.append("a read-only disk was written to")
            except CoError as error:
                said = said or f"{error} {error.hint}"
        print(f"  {said}")
        texts = [note.body for note in book.notes()]
        found += [f"unreadable: {text}" for text in FACTS[3:] if not _said(text, texts)]
        if state(root) != before:
            found.append("the notes changed")
    return found + _intact(root, FACTS)


@contextmanager
def _mounted(*arguments: str, undo: bool = True) -> Iterator[None]:
    subprocess.run(["mount", *arguments], check=True, capture_output=True)
    try:
        yield
    finally:
        if undo:
            subprocess.run(["umount", arguments[-1]], check=True, capture_output=True)


@contextmanager
def _folder(where: str | None = None) -> Iterator[str]:
    folder = tempfile.mkdtemp(prefix="co-torture-", dir=where)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


# Faults from outside the process


def tracing(quick: bool) -> list[str]:
    """The kernel's side of the same faults, by strace, where there is one."""
    strace = shutil.which("strace")
    if strace is None or not _can_trace(strace):
        print("Faults by strace: not run, there is no strace that may trace")
        return []
    print("Faults by strace:")
    found: list[str] = []
    points = 0
    injections = ["error=EIO", "error=ENOSPC", "signal=KILL"]
    for call in ("fsync", "linkat,link", "pwrite64,write", "renameat2,rename"):
        for injection in injections[:: 2 if quick else 1]:
            for number in range(1, 2 if quick else 9):
                what = f"inject={call}:{injection}:when={number}"
                reached = _trace(strace, what, found)
                points += reached
                if not reached:
                    break
    print(f"  {points} points")
    return found


_SAVE = """
import sys
sys.dont_write_bytecode = True
from co_cli.errors import CoError
from co_cli.knowledge.notebook import Notebook
try:
    Notebook(sys.argv[1]).remember(sys.argv[2], ["traced"])
except CoError:
    sys.exit(1)
"""
_TRACED = FACTS[0] + "!"


def _can_trace(strace: str) -> bool:
    ran = subprocess.run([strace, "-o", os.devnull, "true"], capture_output=True, check=False)
    return ran.returncode == 0


def _trace(strace: str, what: str, found: list[str]) -> bool:
    """Run one save under strace; whether the fault came."""
    with _folder() as folder:
        root = os.path.join(folder, "kb")
        OPERATIONS["save"].prepare(Notebook(root, policy=ROOMY))
        log = os.path.join(folder, "log")
        command = [strace, "-f", "-o", log, "-e", what, sys.executable, "-c", _SAVE, root, _TRACED]
        ran = subprocess.run(command, capture_output=True, check=False)
        reached = "(INJECTED)" in Path(log).read_text() or ran.returncode < 0
        if ran.returncode not in (0, 1, -9, 137):
            found.append(f"{what}: {ran.stderr.decode()[-200:]}")
        said, *others = [note.body for note in Notebook(root, policy=ROOMY).notes()]
        if others != FACTS[1:] or said not in (FACTS[0], _TRACED):
            found.append(f"{what}: {said}, {others}")
        if ran.returncode == 0 and said != _TRACED:
            found.append(f"{what}: an acknowledged save is lost")
        found += [f"{what}: left over {name}" for name in temps(root)]
        return reached


if __name__ == "__main__":
    sys.exit(main())
