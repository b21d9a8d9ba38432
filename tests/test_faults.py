"""Nothing is lost when a system call fails, the disk fills up, the power goes or a writer dies.

The short form of bench/torture.py: every third call of save, forget and decay, every twelfth
of the rest, fewer of articles, and another one for each kind of fault.
"""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import crowd
import editors
import pytest
from faults import Call, Crash, Fault, PowerCut, Shim
from operations import FACTS, NEXT, NOON, OPERATIONS, ROOMY, Operation, prepare
from sweep import (
    CUTS,
    EDITED,
    HALF,
    KILLS,
    LIMITS,
    Report,
    sweep,
    sweep_edits,
    sweep_recovery,
    sweep_stage,
    within_limits,
)

from co_cli.errors import DiskTrouble
from co_cli.knowledge.notebook import Notebook

WHOLE = ["save", "forget", "decay (summarize)", "decay (cut)"]
FEW = ["keep it again", "purge an article", "keep an article", "forget an article"]
FAULTS = [
    *KILLS,
    *HALF,
    *CUTS,
    Fault("fail", 0, errno.EIO),
    Fault("fail", 0, errno.ENOSPC, forever=True),
]


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_fault_at_any_call_leaves_the_whole_change_or_none(name: str) -> None:
    report = sweep([name], FAULTS, step=4 if name in WHOLE else 40 if name in FEW else 18)
    assert report.violations == []
    assert report.total > (110 if name in WHOLE else 12)


@pytest.mark.parametrize("name", ["merge", "decay (summarize)", "undo", "purge"])
def test_a_fault_during_recovery_is_recovered_from_too(name: str) -> None:
    faults = [Fault("kill", 0), Fault("fail", 0, errno.EIO)]
    report = sweep_recovery([name], faults, step=55)
    assert report.violations == []
    assert report.total > 20


@pytest.mark.parametrize("name", EDITED)
def test_a_hand_edit_at_any_call_is_not_lost(name: str) -> None:
    report = sweep_edits([name], step=5)
    assert report.violations == []
    assert report.total > 25


def test_a_hand_edit_is_not_lost_when_the_writer_dies_next() -> None:
    report = sweep_edits(["consolidate", "forget"], step=2, crash=(2, 5, 8))
    assert report.violations == []


@pytest.mark.parametrize("name", ["consolidate", "forget", "merge"])
def test_no_edit_is_lost_when_a_person_saves_twice_or_is_slow_to_write(name: str) -> None:
    """Red when an edit is given back over another, or what an editor that had the file open wrote
    into the archive is neither given back nor named by doctor."""
    report = sweep_edits([name], step=7, again=(1, 2, 3, 5, 8, 30))
    assert report.violations == []
    assert report.total > 45


@pytest.mark.parametrize("how", editors.HOW)
def test_no_save_of_an_editor_is_lost_while_co_changes_the_note(how: str, tmp_path: Path) -> None:
    """The short form of 20,000 bursts, with a real process; see above for what turns it red."""
    seen = editors.run(str(tmp_path), how, bursts=60)
    assert (seen.violations, seen.bursts) == ([], 60)


def test_a_little_of_each_torture_holds() -> None:
    """Red when bench/torture.py no longer runs, or finds something: `make torture` does more."""
    script = Path(__file__).parent.parent / "bench" / "torture.py"
    ran = subprocess.run(
        [sys.executable, str(script), "--quick"], capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stderr) == (0, ""), ran.stdout
    assert ran.stdout.endswith("Nothing was lost.\n")


def test_the_sweep_sees_what_a_careless_writer_does(tmp_path: Path) -> None:
    def overwrite(book: Notebook) -> None:
        path = book.find(1).path
        fd = os.open(path, os.O_WRONLY | os.O_TRUNC)
        os.write(fd, b"---\nid: 1\ncreated: 2026-02-09T12:00:00Z\n---\n\nNew text\n")
        os.close(fd)

    stage = prepare(Operation("overwrite", overwrite, saves="New text"), str(tmp_path))
    report = Report()
    sweep_stage(stage, [*KILLS, *HALF], report)
    assert {violation.split(": ")[-1] for violation in report.violations} >= {
        "half a file",
        f"the previous bytes of {min(stage.originals)} are gone",
    }


def test_many_processes_save_while_the_lock_holder_is_killed(tmp_path: Path) -> None:
    seen = crowd.run(str(tmp_path / "kb"), processes=4, saves=15, kills=3)
    assert (seen.violations, seen.saves, seen.kills) == ([], 60, 3)
    assert seen.after_death < 10


def test_the_shim_records_and_goes_away(tmp_path: Path) -> None:
    real = os.open
    with Shim(tmp_path) as shim:
        os.mkdir(tmp_path / "a")
        os.close(os.open(tmp_path / "a" / "b", os.O_WRONLY | os.O_CREAT))
        os.stat("/")
    assert shim.calls == [Call("mkdir", "a"), Call("open", "a/b"), Call("close", "a/b")]
    assert os.open is real


def test_a_crash_closes_what_was_open_and_runs_no_further_call(tmp_path: Path) -> None:
    held: list[int] = []
    with pytest.raises(Crash), Shim(tmp_path, Fault("crash", 2)):  # noqa: PT012
        held.append(os.open(tmp_path / "a", os.O_WRONLY | os.O_CREAT))
        try:
            os.write(held[0], b"text")
        finally:
            os.unlink(tmp_path / "a")
    assert (tmp_path / "a").read_bytes() == b""
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(held[0])


def test_a_power_cut_keeps_only_what_was_synced(tmp_path: Path) -> None:
    root = tmp_path / "disk"
    root.mkdir()
    shim = PowerCut(root)
    with shim:
        for name in ("synced", "named", "lost"):
            fd = os.open(root / name, os.O_WRONLY | os.O_CREAT)
            os.write(fd, b"text")
            if name == "synced":
                os.fsync(fd)
            os.close(fd)
            if name == "named":
                fd = os.open(root, os.O_RDONLY)
                os.fsync(fd)
                os.close(fd)
    shim.lay_out(str(tmp_path / "after"))
    shim.release()
    left = {path.name: path.read_bytes() for path in (tmp_path / "after").iterdir()}
    assert left == {"synced": b"text", "named": b""}


# What the system itself refuses, without a shim


@pytest.fixture
def root(tmp_path: Path) -> str:
    root = str(tmp_path / "kb")
    OPERATIONS["save"].prepare(Notebook(root, policy=ROOMY, clock=lambda: NOON))
    return root


@pytest.mark.parametrize("kind", LIMITS)
def test_a_limit_of_the_system_is_a_clear_error_and_changes_nothing(
    kind: str, tmp_path: Path
) -> None:
    refused, violations = within_limits(str(tmp_path / "limited"), kind)
    assert violations == []
    assert refused > 1


def test_a_system_that_writes_one_byte_at_a_time_is_served(
    root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: write(fd, bytes(data)[:1]))
    Notebook(root, policy=ROOMY).remember(NEXT)
    monkeypatch.undo()
    assert [note.body for note in Notebook(root).notes()] == [*FACTS, NEXT]


def test_the_error_of_a_full_disk_names_the_file_and_what_to_do(root: str) -> None:
    book = Notebook(root, policy=ROOMY)
    names = [call.name for call in _calls_of_a_save(root)]
    with (
        Shim(root, Fault("fail", names.index("write") + 1, errno.ENOSPC)),
        pytest.raises(DiskTrouble) as caught,
    ):
        book.remember("Another fact that finds no room")
    assert "No space left on device" in str(caught.value)
    assert caught.value.hint.startswith("Free some space")


def _calls_of_a_save(root: str) -> list[Call]:
    book = Notebook(root, policy=ROOMY)
    with Shim(root) as shim:
        book.remember(NEXT)
    return shim.calls
