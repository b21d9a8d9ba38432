"""The journal and the archive: nothing that lies there is written over, nothing is lost in them."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest
from cli import co
from faults import Call, Shim
from operations import FACTS, OPERATIONS, ROOMY

from co_cli.errors import CoError, FormatError, MovedOn
from co_cli.knowledge.copies import find_copies
from co_cli.knowledge.doctor import diagnose
from co_cli.knowledge.notebook import Notebook
from co_cli.knowledge.purge import purge
from co_cli.knowledge.store import JOURNAL, exchange
from co_cli.knowledge.store.files import FolderStore
from co_cli.paths import GITIGNORE
from co_cli.results import aside_text


@pytest.fixture
def book(tmp_path: Path) -> Notebook:
    book = Notebook(tmp_path / "kb", policy=ROOMY)
    OPERATIONS["save"].prepare(book)
    return book


def archived(book: Notebook) -> dict[str, bytes]:
    """Every file in the archive but the journal."""
    top = Path(book.store.locate("archive"))
    return {str(path.relative_to(top)): path.read_bytes() for path in top.glob("*/*/*")}


def reasons(book: Notebook) -> dict[str, str]:
    """What doctor says, by the place in the notebook."""
    return {os.path.relpath(one.path, book.root): one.reason for one in diagnose(book)}


# Numbers


def test_a_journal_from_a_backup_costs_no_archived_version(book: Notebook) -> None:
    """Red when a change takes the number of a folder that the archive has already."""
    backup = Path(book.store.locate(JOURNAL)).read_bytes()
    book.remember(FACTS[0] + "!", ["first"])
    book.remember(FACTS[0], ["second"])
    book.forget(2)
    before = archived(book)
    assert len(before) == 3
    Path(book.store.locate(JOURNAL)).write_bytes(backup)
    again = Notebook(book.root, policy=ROOMY)
    raw = again.find(1).raw
    again.remember(FACTS[0] + "!", ["third"])
    again.protect(1)
    again.forget(3)
    assert before.items() <= archived(again).items()
    assert again.restore(3).note.body == FACTS[2]
    for _ in range(4):
        again.undo()
    assert again.find(1).raw == raw
    assert {one.n for one in again.store.entries()} == {*range(1, 6), *range(9, 17)}
    assert reasons(again) == {}


@pytest.mark.parametrize("kind", ["folder", "file", "link"])
def test_what_has_the_next_number_already_is_not_written_to(
    kind: str, book: Notebook, tmp_path: Path
) -> None:
    """Red when a folder that a killed writer or another program made is used by a change."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    taken = Path(FolderStore(book.root).kept_folder(book.store.tail().n + 1))
    if kind == "folder":
        taken.mkdir()
    elif kind == "file":
        taken.write_bytes(b"mine\n")
    else:
        taken.symlink_to(elsewhere)
    raw = book.find(1).raw
    book.protect(1)
    book.undo()
    assert book.find(1).raw == raw
    assert book.store.tail().n == 8
    assert os.listdir(elsewhere) == []


@pytest.mark.parametrize("highest", [2**53 - 1, 2**53 - 2])
def test_a_number_at_the_end_of_all_numbers_costs_no_note(highest: int, book: Notebook) -> None:
    """Red when a change gets a number that the journal does not read back."""
    line = {"n": highest, "state": "intent", "high": 5, "op": "save", "actor": "cli", "at": ""}
    with open(book.store.locate(JOURNAL), "a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n" + json.dumps(line | {"state": "done"}) + "\n")
    for number in (1, 2, 3):
        book.forget(number)
    for number in (1, 2, 3):
        assert book.restore(number).note.body == FACTS[number - 1]
    assert [note.body for note in book.notes()] == FACTS
    assert book.store.unreadable_lines() == []


# Edits that come at the very moment


def test_what_an_editor_keeps_open_is_told_and_later_named(book: Notebook) -> None:
    """Red when nobody looks whether an archived file is still open, or what it holds later."""
    note = book.find(1)
    with open(note.path, "ab", buffering=0) as editor:
        book.protect(1)
        [told] = aside_text(book)
        assert os.path.basename(note.path) in told
        assert reasons(book) == {}
        editor.write(b"a late line\n")
    kept = f"archive/000006/memories/{note.name}"
    assert reasons(book) == {
        kept: f"was written to after change 6 had put it away; compare it with memories/{note.name}"
    }
    assert b"a late line" in Path(book.root, kept).read_bytes()


def test_a_command_names_what_an_editor_keeps_open() -> None:
    """Red when only the library knows of a version that was set aside, and the person does not."""
    book = Notebook(".co-cli/knowledge", policy=ROOMY)
    note = book.remember(FACTS[0]).note
    with open(note.path, "ab", buffering=0):
        result = co("knowledge", "protect", "1")
    assert result.code == 0
    told = f"archive/000002/memories/{note.name} was being edited at the same moment; compare it"
    assert told in " ".join(result.err.split())


def test_a_second_edit_is_the_one_that_stays_and_the_first_is_named(book: Notebook) -> None:
    """Red when an edit is given back over a newer one, or the older of two is dropped unnamed."""
    note = book.find(1)
    edits = [note.raw + b"second\n", note.raw + b"first\n"]

    def before(_: int, call: Call) -> None:
        if call.name == "exchange" and edits:
            new = Path(book.memories, "new~")
            new.write_bytes(edits.pop())
            new.rename(note.path)

    with Shim(book.root, before=before):
        book.protect(1)
    assert (book.find(1).body, book.find(1).protected) == (f"{FACTS[0]}\nsecond", True)
    [(path, reason)] = reasons(book).items()
    assert path == f"archive/000006/memories/{note.name}"
    assert reason.startswith("somebody saved this while memories/")
    assert Path(book.root, path).read_bytes() == note.raw + b"first\n"
    assert [path in line for line in aside_text(book)] == [True]


def test_a_note_deleted_at_the_last_moment_is_no_trouble(book: Notebook) -> None:
    """Red when a file that vanishes before it is replaced is told as trouble with the disk."""
    note = book.find(1)

    def before(_: int, call: Call) -> None:
        if call.name == "exchange":
            Path(note.path).unlink(missing_ok=True)

    plan = book.plan_remember(FACTS[0] + "!", ["new"])
    with Shim(book.root, before=before), pytest.raises(MovedOn):
        book.commit(plan)
    assert [one.body for one in book.notes()] == FACTS[1:]
    assert reasons(book) == {}


def test_a_plan_that_is_out_of_date_writes_nothing_at_all(book: Notebook) -> None:
    """Red when a commit does not compare the hashes before it writes its intent."""
    plan = book.plan_remember(FACTS[0] + "!", ["new"])
    path = Path(book.find(1).path)
    path.write_bytes(path.read_bytes() + b"by hand\n")
    archive, journal = book.store.locate("archive"), Path(book.store.locate(JOURNAL))
    before = journal.read_bytes(), os.listdir(archive)
    with pytest.raises(MovedOn):
        book.commit(plan)
    assert (journal.read_bytes(), os.listdir(archive)) == before


def test_a_forget_that_fails_leaves_the_note_in_its_place_and_there_alone(book: Notebook) -> None:
    """Red when a note that is given back stays in the archive too, and is told as an edit."""
    raw, before = book.find(1).raw, archived(book)

    def fail(_: int, call: Call) -> None:
        if call.name == "fsync" and call.about == "memories":
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    with Shim(book.root, before=fail), pytest.raises(CoError):
        book.forget(1)
    assert (book.find(1).raw, archived(book), aside_text(book)) == (raw, before, [])


# What lies around


def test_what_is_only_named_like_a_temporary_file_stays_and_stops_nothing(book: Notebook) -> None:
    """Red when a folder of such a name is removed or refuses a save, or a person's file goes."""
    for folder in (book.root, book.memories, book.store.locate("archive")):
        Path(folder, ".co-0123456789abcdef.tmp").mkdir()
        Path(folder, ".co-notes.tmp").write_text("mine")
        Path(folder, ".co-fedcba9876543210.tmp").write_text("left by a dead writer")
    left = sorted(Path(book.root).rglob(".co-[0n]*.tmp"))
    book = Notebook(book.root, policy=ROOMY)
    book.protect(1)
    book.remember("Another fact")
    book.forget(2)
    assert sorted(Path(book.root).rglob(".co-*.tmp")) == left
    with Shim(book.root) as shim:
        book.notes()
    assert Call("flock", ".lock") not in shim.calls


def test_a_notebook_made_by_hand_gets_what_keeps_it_out_of_git(tmp_path: Path) -> None:
    """Red when only `co init` or a new notebook writes .gitignore; a person's own one stays."""
    (tmp_path / "memories").mkdir()
    Notebook(tmp_path).remember(FACTS[0])
    ignore = tmp_path / ".gitignore"
    assert ignore.read_bytes() == GITIGNORE
    ignore.write_text("mine\n")
    Notebook(tmp_path).remember(FACTS[1])
    assert ignore.read_text() == "mine\n"
    ignore.unlink()
    with FolderStore(tmp_path).locked():
        assert ignore.read_bytes() == GITIGNORE


# A header that cannot be changed line by line

HEADERS = {
    "indented": "  id: 1\n  created: 2026-02-09T12:00:00Z\n  tags: [a]",
    "in braces": "{id: 1, created: 2026-02-09T12:00:00Z, tags: [a]}",
    "with an end mark": "id: 1\ncreated: 2026-02-09T12:00:00Z\ntags: [a]\n...",
    "a comma too many": "id: 1\ncreated: 2026-02-09T12:00:00Z\ntags: [a,]",
    "with a question mark": "id: 1\ncreated: 2026-02-09T12:00:00Z\n? tags\n: - a",
}


@pytest.mark.parametrize("kind", HEADERS)
def test_a_header_that_would_read_otherwise_afterwards_is_refused(
    kind: str, tmp_path: Path
) -> None:
    """Red when a rewritten header is not read again and compared before it is accepted."""
    path = tmp_path / "memories" / "001-a.md"
    path.parent.mkdir()
    path.write_text(f"---\n{HEADERS[kind]}\n---\n\n{FACTS[0]}\n")
    before = path.read_bytes()
    book = Notebook(tmp_path)
    assert book.find(1).tags == ["a"]
    with pytest.raises(FormatError, match="in a way Co cannot change line by line"):
        book.remember(FACTS[0] + "!", ["b"])
    assert path.read_bytes() == before
    assert not os.path.exists(book.store.locate(JOURNAL))


def test_a_purge_takes_what_a_change_could_not_give_back(book: Notebook) -> None:
    """Red when a version in the folder of a change that was rolled back survives a purge."""
    test_a_second_edit_is_the_one_that_stays_and_the_first_is_named(book)
    book.protect(1, on=False)
    purge(book, find_copies(book, 1))
    left = [path for path in Path(book.root).rglob("*.md") if "pytest" in path.read_text()]
    assert left == []


def test_an_exchange_that_fails_is_an_error_and_no_reason_to_do_without(tmp_path: Path) -> None:
    """Red when only systems that cannot exchange are told apart from a file that is gone."""
    with pytest.raises(FileNotFoundError):
        exchange._exchange(str(tmp_path / "gone"), str(tmp_path / "gone too"))
