"""Every operation of a notebook, met by a fault at every system call, and what must still hold.

The shared engine of tests/test_faults.py (short) and bench/torture.py (whole). A point is one
operation with one fault at one call, followed by the next start and the next ordinary save.
"""

from __future__ import annotations

import errno
import os
import random
import re
import resource
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from faults import CLEAN, REFUSED, Call, Crash, Ended, Fault, PowerCut, Say, Shim, in_child
from operations import (
    FACTS,
    NEXT,
    NOON,
    OPERATIONS,
    ROOMY,
    Operation,
    Stage,
    State,
    prepare,
    state,
    temps,
    workshop,
)

from co_cli.errors import CoError, NotFound
from co_cli.knowledge.copies import find_copies
from co_cli.knowledge.doctor import diagnose
from co_cli.knowledge.notebook import Notebook
from co_cli.knowledge.purge import purge
from co_cli.knowledge.store import previous


@dataclass(slots=True)
class Report:
    """How many points were reached for each operation and fault, and what did not hold."""

    points: Counter[tuple[str, str]] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)
    # Points where the caller saw an error although the change is whole and there.
    unsure: int = 0

    @property
    def total(self) -> int:
        return self.points.total()

    def by_operation(self) -> Counter[str]:
        """Points per operation."""
        found: Counter[str] = Counter()
        for (operation, _), count in self.points.items():
            found[operation] += count
        return found

    def kinds(self) -> Counter[str]:
        """What did not hold, without the where."""
        return Counter(violation.rsplit(": ", 1)[-1][:100] for violation in self.violations)


# One point


def point(stage: Stage, fault: Fault, report: Report, seed: int = 0) -> bool:
    """Run the operation with the fault, then look; False when the fault was never reached."""
    root = stage.copy()
    try:
        outcome = _suffer(stage, root, fault, seed)
        if outcome.reached:
            report.points[stage.operation.name, str(fault)] += 1
            found = [outcome.broken] if outcome.broken else inspect(stage, root, outcome, report)
            where = f"{stage.operation.name}: {fault} at {fault.at}"
            report.violations += [f"{where}: {problem}" for problem in found]
        return outcome.reached
    finally:
        shutil.rmtree(root)


@dataclass(slots=True)
class Outcome:
    """How an operation met its fault: whether it was acknowledged, and what must not be."""

    fault: Fault
    acknowledged: bool = False
    reached: bool = False
    struck: str = ""
    broken: str = ""


def _suffer(stage: Stage, root: str, fault: Fault, seed: int) -> Outcome:
    outcome = Outcome(fault)
    if fault.kind == "kill":
        _be_killed(stage, root, outcome)
    elif fault.kind == "crash":
        _cut_power(stage, root, outcome, seed)
    else:
        with Shim(root, fault, sync=False) as shim:
            try:
                stage.operation.run(stage.book(root))
                outcome.acknowledged = True
            except CoError:
                pass
            except Exception as error:  # noqa: BLE001 - a finding, no reason to stop the sweep
                outcome.broken = f"{type(error).__name__} reached the caller"
        outcome.reached, outcome.struck = shim.reached, str(shim.struck)
    return outcome


def _be_killed(stage: Stage, root: str, outcome: Outcome) -> None:
    def act(say: Say) -> None:
        stage.operation.run(stage.book(root))
        say("acknowledged")

    ended = in_child(act, Shim(root, outcome.fault, sync=False))
    outcome.reached = ended.killed
    outcome.acknowledged = "acknowledged" in ended.lines
    if not ended.killed and ended.status not in (CLEAN, REFUSED):
        raise AssertionError(ended.lines)


def _cut_power(stage: Stage, root: str, outcome: Outcome, seed: int) -> None:
    """Crash, then put in the folder's place what the disk would hold."""
    shim = PowerCut(root, outcome.fault)
    try:
        with shim, suppress(Crash, CoError):
            stage.operation.run(stage.book(root))
            outcome.acknowledged = True
        os.rename(root, root + "-lost")
        shim.lay_out(root, random.Random(seed) if seed else None)
    finally:
        shim.release()
        shutil.rmtree(root + "-lost", ignore_errors=True)
    outcome.reached = shim.reached


def inspect(stage: Stage, root: str, outcome: Outcome, report: Report) -> Iterator[str]:
    """What does not hold after the next start and the next ordinary save."""
    fault, acknowledged = outcome.fault, outcome.acknowledged
    with Shim(root, sync=False):
        try:
            book = Notebook(root, policy=ROOMY, clock=lambda: NOON)
            started = state(root)
            yield from _look(stage, book, started, outcome)
            book.remember(NEXT)
        except (CoError, OSError) as error:
            yield f"the next start or save fails with {type(error).__name__}"
            return
    ended = state(root)
    fresh = [path for path in ended if NEXT in ended[path]]
    if len(fresh) != 1 or {p: t for p, t in ended.items() if p not in fresh} != started:
        yield "the next save changed more than its own note"
    if temps(root):
        yield "a temporary file is left after the next save"
    if fault.kind == "fail" and not fault.forever and book.store.unreadable_lines():
        yield "a journal line is torn"
    yield from _check_numbers(book)
    if stage.operation.purges:
        yield from _check_purge(stage, book, acknowledged)
    if not acknowledged and started != stage.states[0] and fault.kind == "fail":
        report.unsure += 1


def _look(stage: Stage, book: Notebook, now: State, outcome: Outcome) -> Iterator[str]:
    acknowledged = outcome.acknowledged
    if book.store.tail().state == "intent":
        yield "an intent is still open after the next start"
    if temps(book.root):
        yield "a temporary file is left after the next start"
    hidden = _hidden_note(stage, outcome)
    if now not in stage.states and not hidden:
        names = sorted(set(now) ^ set(stage.states[0]))
        yield f"half a change ({names})" if names else "half a file"
    elif acknowledged and now == stage.states[0] and not hidden:
        yield "an acknowledged change is lost"
    bodies = [note.body for note in book.notes()]
    if book.look().problems:
        yield f"an unreadable file: {book.look().problems[0].reason}"
    if acknowledged and stage.operation.saves and stage.operation.saves not in bodies:
        yield "an acknowledged save is lost"
    kept = _kept(book)
    purged = stage.operation.purges.encode()
    for path, raw in stage.originals.items():
        if purged and purged in raw:
            continue
        if stage.states[0][path] != now.get(path) and raw not in kept:
            yield f"the previous bytes of {path} are gone"


def _hidden_note(stage: Stage, outcome: Outcome) -> bool:
    """Whether the fault hid a note from the plan, which then was another, equally whole one."""
    if not stage.operation.plans:
        return False
    calls, notes = ("open", "fstat", "read", "close"), ("memories/0", "articles/")
    reading = tuple(f"{call} {note}" for call in calls for note in notes)
    return outcome.fault.kind == "fail" and outcome.struck.startswith(reading)


def _kept(book: Notebook) -> list[bytes]:
    """Every previous version that a finished change can bring back."""
    found = []
    for entry in book.store.entries():
        for file in entry.files if entry.state == "done" else ():
            if file["before"] is not None:
                try:
                    found.append(previous(book.store, entry.n, file))
                except CoError:
                    continue
    return found


def _check_purge(stage: Stage, book: Notebook, acknowledged: bool) -> Iterator[str]:
    """A purge is done, or says that it is not and can be repeated."""
    word = stage.operation.purges
    done = any((entry.op, entry.state) == ("purge", "done") for entry in book.store.entries())
    if _traces(book.root, word) and (acknowledged or done):
        yield "a purge that is not whole is journalled as done or acknowledged"
    elif _traces(book.root, word):
        purge(book, find_copies(book, stage.operation.ref))
        yield from (f"a repeated purge leaves {path}" for path in _traces(book.root, word))


def _traces(root: str, word: str) -> list[str]:
    """Every file that holds the word, or has it in its name."""
    found = []
    for folder, _, names in os.walk(root):
        for name in names:
            path = os.path.join(folder, name)
            with open(path, "rb") as file:
                found += [path] * (word.encode() in path.encode() + file.read())
    return found


def _check_numbers(book: Notebook) -> Iterator[str]:
    """Numbers only grow, whether or not the change that took one was carried out."""
    highest = 0
    for entry in book.store.entries():
        if entry.op in ("restore", "undo"):
            continue
        for file in entry.files:
            match = re.match(r"memories/(\d+)-", file["path"])
            if file["before"] is None and match:
                if int(match.group(1)) <= highest:
                    yield f"number {match.group(1)} is given out twice"
                highest = int(match.group(1))


# Many points

ONCE = [Fault("fail", 0, code) for code in (errno.EIO, errno.ENOSPC, errno.EMFILE)]
FOR_EVER = [Fault("fail", 0, code, True) for code in (errno.EIO, errno.ENOSPC, errno.EROFS)]
KILLS = [Fault("kill", 0), Fault("kill", 0, partial=True)]
HALF = [
    Fault("fail", 0, errno.ENOSPC, partial=True),
    Fault("fail", 0, errno.ENOSPC, forever=True, partial=True),
]
CUTS = [Fault("crash", 0)]
FAULTS = [*KILLS, *ONCE, *FOR_EVER, *HALF, *CUTS]


def sweep(names: list[str], faults: list[Fault], *, step: int = 1, luck: int = 1) -> Report:
    """Every fault at every `step`-th call of each operation, until it completes untouched."""
    report = Report()
    for name in names:
        with workshop() as folder:
            sweep_stage(prepare(OPERATIONS[name], folder), faults, report, step=step, luck=luck)
    return report


def sweep_stage(
    stage: Stage, faults: list[Fault], report: Report, *, step: int = 1, luck: int = 1
) -> None:
    """Every fault at every `step`-th call of one operation; each begins at another call."""
    for number, fault in enumerate(faults):
        for seed in range(luck + 1 if fault.kind == "crash" else 1):
            first = 1 + (number + seed) % step
            _sweep_one(stage, fault, range(first, 2**31, step), seed, report)


def _sweep_one(stage: Stage, fault: Fault, calls: range, seed: int, report: Report) -> None:
    last = stage.writes if fault.partial else stage.calls
    at, step = (1, 1) if fault.partial else (calls.start, calls.step)
    while point(stage, replace(fault, at=at), report, seed * 1000 + at if seed else 0):
        at += step
        assert at < 4 * last + step, "the operation never completes"


# A fault on top of a fault: the next start is cut short too


def sweep_recovery(names: list[str], faults: list[Fault], *, step: int = 1) -> Report:
    """Crash each operation at every `step`-th call of its commit, then fault the next start."""
    report = Report()
    for name in names:
        with workshop() as folder:
            stage = prepare(OPERATIONS[name], folder)
            for at in range(stage.commit + 1, stage.calls + 1, step):
                crashed = _crashed(stage, at)
                sweep_stage(crashed, faults, report, luck=0)
                shutil.rmtree(crashed.template)
    return report


def _crashed(stage: Stage, at: int) -> Stage:
    """The folder as a process left it that died at this call; opening it is the operation."""

    def refuse(_: Notebook) -> None:
        raise NotFound("nothing was asked for")

    root = stage.copy()
    with Shim(root, Fault("crash", at), sync=False), suppress(Crash):
        stage.operation.run(stage.book(root))
    purges = stage.operation.purges
    name, ref = f"recovery from {stage.operation.name}", stage.operation.ref
    opening = Operation(name, refuse, plans=False, purges=purges, ref=ref)
    return replace(stage, operation=opening, template=root, calls=1000, writes=1000)


# A person edits a file meanwhile

HAND = "and this line was added by hand"
EDITED = {
    "consolidate": 1,
    "update": 4,
    "decay (summarize)": 2,
    "decay (cut)": 2,
    "forget": 3,
    "undo": 1,
    "merge": 3,
    "protect": 2,
}


def sweep_edits(
    names: list[str], *, step: int = 1, crash: tuple[int, ...] = (), again: tuple[int, ...] = ()
) -> Report:
    """At every `step`-th call of an operation a person saves the file that it is about.

    With `crash`, the process also dies that many calls later; with `again`, the person saves once
    more that many calls later, or finishes only then what they began.
    """
    report = Report()
    for name in names:
        with workshop() as folder:
            stage = prepare(OPERATIONS[name], folder)
            for how in (_in_place, _by_rename, *([_slowly] if again else [])):
                for at in range(stage.commit if crash or again else 1, stage.calls + 1, step):
                    for later in crash or again or (0,):
                        fault = Fault("crash", at + later) if crash else None
                        second = at + later if again else 0
                        _edit_meanwhile(stage, how, (at, second), fault, report)
    return report


Finish = Callable[[], None] | None


def _in_place(path: str, line: str) -> Finish:
    """Save as editors do that write over the old file."""
    with open(path, "a", encoding="utf-8") as file:
        file.write(line + "\n")
    return None


def _by_rename(path: str, line: str) -> Finish:
    """Save as editors do that write a new file and rename it."""
    shutil.copy(path, path + "~")
    _in_place(path + "~", line)
    os.rename(path + "~", path)
    return None


def _slowly(path: str, line: str) -> Finish:
    """Open the old file now, and write into it later."""
    fd = os.open(path, os.O_WRONLY | os.O_APPEND)

    def finish() -> None:
        os.write(fd, line.encode() + b"\n")
        os.close(fd)

    return finish


class _Person:
    """Edits a file at one call, and again at another."""

    def __init__(self, path: str, how: Callable[[str, str], Finish], when: tuple[int, int]) -> None:
        self.path, self.how, self.when = path, how, when
        self.saved: list[str] = []
        self.call: Call | None = None
        self.finish: Finish = None

    def look(self, number: int, call: Call) -> None:
        if number == self.when[1]:
            self.end()
        if number not in self.when or not os.path.exists(self.path):
            return
        if self.how is _slowly and self.saved:
            return
        self.call = self.call or call
        self.saved.append(f"{HAND} at call {number}.")
        self.finish = self.how(self.path, self.saved[-1])

    def end(self) -> None:
        if self.finish is not None:
            self.finish()
            self.finish = None


def _edit_meanwhile(
    stage: Stage,
    how: Callable[[str, str], Finish],
    when: tuple[int, int],
    fault: Fault | None,
    report: Report,
) -> None:
    root = stage.copy()
    [name] = [path for path in stage.originals if f"/{EDITED[stage.operation.name]:03d}-" in path]
    person = _Person(os.path.join(root, name), how, when)
    try:
        with Shim(root, fault, sync=False, before=person.look), suppress(CoError, Crash):
            stage.operation.run(stage.book(root))
        person.end()
        if person.call is None:
            return
        what = f"edit{how.__name__}{' twice' if when[1] else ''}{' and crash' if fault else ''}"
        report.points[stage.operation.name, what] += 1
        book = stage.book(root)
        texts = [*(note.raw for note in book.notes()), *_kept(book), *_named(book)]
        for line in person.saved:
            if not any(line.encode() in text for text in texts):
                where = f"{stage.operation.name}: {what} at call {when[0]} ({person.call})"
                report.violations.append(f"{where}: the hand edit is lost")
    finally:
        shutil.rmtree(root)


def _named(book: Notebook) -> list[bytes]:
    """What the files hold that `doctor` names."""
    paths = [problem.path for problem in diagnose(book)]
    return [Path(path).read_bytes() for path in paths if os.path.isfile(path)]


# What the system allows a process

LIMITS = {"open files": resource.RLIMIT_NOFILE, "file size": resource.RLIMIT_FSIZE}


def within_limits(root: str, kind: str) -> tuple[int, list[str]]:
    """Save with a growing limit until it is enough: how often it was refused, and what broke."""
    OPERATIONS["save"].prepare(Notebook(root, policy=ROOMY, clock=lambda: NOON))
    before = state(root)
    size = os.path.getsize(os.path.join(root, "archive", "journal.jsonl"))
    found: list[str] = []
    refused = 0
    for value in range(20) if kind == "open files" else range(1, 2 * size, 199):
        ended = _save_within(root, kind, value)
        if ended.status == CLEAN:
            break
        refused += 1
        if ended.status != REFUSED or "DiskTrouble" not in ended.lines[0]:
            found.append(f"{kind} {value}: {ended.lines}")
        if state(root) != before:
            found.append(f"{kind} {value}: the notes changed")
    book = Notebook(root, policy=ROOMY)
    if sorted(note.body for note in book.notes()) != sorted([*FACTS, NEXT]):
        found.append(f"{kind}: a note is lost")
    return refused, found + [f"{kind}: {name} is left over" for name in temps(root)]


def _save_within(root: str, kind: str, value: int) -> Ended:
    def act(_: Say) -> None:
        free = os.open("/", os.O_RDONLY)  # the lowest number that is free now
        os.close(free)
        limit = LIMITS[kind]
        soft, hard = resource.getrlimit(limit)
        resource.setrlimit(limit, (value + free if kind == "open files" else value, hard))
        try:
            Notebook(root, policy=ROOMY, clock=lambda: NOON).remember(NEXT)
        finally:
            resource.setrlimit(limit, (soft, hard))

    return in_child(act)
