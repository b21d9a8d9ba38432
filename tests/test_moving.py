"""A memory that moves is in one notebook or in the other, whatever happens on the way."""

from __future__ import annotations

import errno
import json
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from cli import PATIENCE
from faults import CLEAN, REFUSED, Fault, Say, Shim, in_child
from operations import workshop

from co_cli import paths
from co_cli.errors import DiskTrouble, MovedOn
from co_cli.knowledge import Notebook
from co_cli.knowledge.doctor import diagnose
from co_cli.knowledge.inbox import Draft, accept, put, waiting
from co_cli.knowledge.moving import move
from co_cli.knowledge.store import JOURNAL

WORD = "walrusword"
TEXT = f"The {WORD} ledger is kept in Basel"


class Books(NamedTuple):
    """A project's notebook and the person's."""

    project: Notebook
    user: Notebook

    def holders(self) -> list[str]:
        """Which of them have the text, as a memory or as a draft."""
        memories = [book.scope for book in self for note in book.notes() if WORD in note.body]
        drafts = [f"{book.scope} inbox" for book in self for note in waiting(book)]
        return memories + drafts


def books() -> Books:
    return Books(
        Notebook(Path(paths.user_folder()).parent / "project"),
        Notebook(paths.user_knowledge(), scope="user"),
    )


def promote(here: Books) -> None:
    move(here.project, here.user, here.project.find(1), "", actor="cli")


def demote(here: Books) -> None:
    move(here.user, here.project, here.user.find(1), "", actor="cli")


def accept_there(here: Books) -> None:
    name = "i:the-walrusword-ledger-is-kept-in-basel"
    accept(here.project, here.project.find(name), into=here.user, actor="cli")


def draft(here: Books) -> None:
    put(here.project, [Draft(TEXT)], actor="chat")


# What is done, what must be there before, where the text is then, and where afterwards.
Case = tuple[Callable[[Books], None], Callable[[Books], object], str, str]
CASES: list[Case] = [
    (promote, lambda here: here.project.remember(TEXT), "project", "user"),
    (demote, lambda here: here.user.remember(TEXT), "user", "project"),
    (accept_there, draft, "project inbox", "user"),
]


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], str]]:
    """Make a fresh copy of the folder with both notebooks the one that counts."""
    with workshop() as work:

        def use(name: str) -> str:
            if name != "template":
                shutil.copytree(f"{work}/template", f"{work}/{name}")
            monkeypatch.setenv("XDG_CONFIG_HOME", f"{work}/{name}")
            return f"{work}/{name}"

        yield use


def _first_write(do: Callable[[Books], None], stage: Callable[[str], str]) -> int:
    """Where a lock is taken first; all before it only reads."""
    with Shim(stage("whole"), sync=False) as shim:
        do(books())
    return next(n for n, call in enumerate(shim.calls) if call.name == "flock")


KILL, ONCE, EVER = ("kill", 0, False), ("fail", errno.EIO, False), ("fail", errno.EROFS, True)
MET = [(case, fault) for case in CASES for fault in (KILL, ONCE, EVER)]


@pytest.mark.parametrize(("case", "fault"), [*MET[:2], MET[3], MET[5], *MET[6:8]])
def test_a_fault_at_any_call_leaves_the_memory_in_one_notebook(
    case: Case, fault: tuple[str, int, bool], stage: Callable[[str], str]
) -> None:
    """G8. Red when the two halves of a move are two changes, or when either outlives the other."""
    (do, prepare, before, after), (kind, error, forever) = case, fault
    stage("template")
    prepare(books())
    (books().project if before == "user" else books().user).remember("Nothing of the kind")
    ended_as = set[str]()
    n = _first_write(do, stage)
    while True:
        n += 1
        root = stage(str(n))
        shim = Shim(root, Fault(kind, n, error, forever=forever), sync=False)

        def run(say: Say, shim: Shim = shim) -> None:
            do(books())
            say("met" if shim.reached else "never met")

        ended = in_child(run, shim)
        where = f"{kind} at call {n}: {ended.lines}"
        assert ended.killed or ended.status in (CLEAN, REFUSED), where
        here = books()
        if n % 2:  # whichever of them is opened first
            assert here.user.notes() is not None
        [holder] = here.holders()
        ended_as.add(holder)
        if ended.status == REFUSED and not forever:
            assert holder == before, where
        assert holder == after or ended.status != CLEAN, where
        assert [diagnose(book) for book in here] == [[], []], where
        for book in here:
            book.remember("Zebras graze quietly beyond Timbuktu")
        shutil.rmtree(root)
        if "never met" in ended.lines:
            break
    if kind == "kill":
        assert ended_as == {before, after}


@pytest.mark.parametrize(("do", "prepare", "before"), [case[:3] for case in CASES])
def test_from_a_folder_that_cannot_be_written_nothing_arrives(
    do: Callable[[Books], None], prepare: Callable[[Books], object], before: str
) -> None:
    """Red when a copy is written before it is known whether the memory can leave."""
    prepare(books())
    source = books().user if before == "user" else books().project
    os.replace(source.store.locate(".lock"), source.store.locate("lock"))
    os.mkdir(source.store.locate(".lock"))
    with pytest.raises(DiskTrouble):
        do(books())
    assert books().holders() == [before]
    target = books().project if before == "user" else books().user
    assert target.store.entries() == []


def test_a_memory_that_was_edited_meanwhile_stays_where_it_is() -> None:
    """Red when what a person just wrote is left behind, or goes along unseen."""
    here = books()
    note = here.project.remember(TEXT).note
    Path(note.path).write_bytes(note.raw + b"since May\n")
    with pytest.raises(MovedOn):
        move(here.project, here.user, note, "", actor="cli")
    assert here.holders() == ["project"]


def test_memories_that_pass_each_other_wait_for_nobody() -> None:
    """Red when the two notebooks are locked in the order of the move."""
    here, many = books(), 25
    for number in range(many):
        here.project.remember(f"Harbour fact {number} is {WORD}")
        here.user.remember(f"Kitchen fact {number} is {WORD}")
    start = threading.Barrier(2)

    def moves(up: bool) -> None:
        mine = books()
        source, target = mine if up else mine[::-1]
        start.wait()
        for number in range(1, many + 1):
            move(source, target, source.find(number), "", actor="cli")

    threads = [threading.Thread(target=moves, args=(up,)) for up in (True, False)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert not any(thread.is_alive() for thread in threads)
    assert {note.body.split()[0] for note in here.project.notes()} == {"Kitchen"}
    assert {note.body.split()[0] for note in here.user.notes()} == {"Harbour"}
    assert len(here.holders()) == 2 * many


def test_a_journal_of_a_repository_asks_no_other_folder() -> None:
    """G12. Red when recovery reads whatever folder a journal names."""
    project, secret = Path("clone").resolve(), Path("elsewhere").resolve()
    Notebook(secret).remember("Nothing of the kind")
    book = Notebook(project)
    note = book.remember(TEXT).note
    journal = Path(book.store.locate(JOURNAL))
    [line] = (json.loads(line) for line in journal.read_text().splitlines()[:1])
    line |= {"pair": "x", "other": str(secret)}
    journal.write_text(json.dumps(line) + "\n")
    assert Notebook(project).find(1).raw == note.raw
    assert Notebook(project).store.tail().state == "done"
