"""What docs/guarantees.md promises, one group of tests for each promise.

Each docstring says which change of the code turns the test red. Faults at every system call are
in test_faults.py; the index and the surfaces have their own tests.
"""

from __future__ import annotations

import errno
import json
import os
import stat
import threading
import time
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import crowd
import pytest
from faults import CLEAN, Call, Say, Shim, end_child, start_child
from operations import temps

from co_cli.errors import CoError, DiskTrouble, FormatError, MovedOn, NotFound, Protected
from co_cli.knowledge.copies import find_copies
from co_cli.knowledge.doctor import diagnose
from co_cli.knowledge.format.note import Note
from co_cli.knowledge.notebook import Notebook
from co_cli.knowledge.policy import Policy
from co_cli.knowledge.purge import purge
from co_cli.knowledge.store import disk

NOON = datetime(2026, 2, 9, 12, 0, tzinfo=UTC)
JOURNAL = "archive/journal.jsonl"


@pytest.fixture
def book(tmp_path: Path) -> Notebook:
    return Notebook(tmp_path / "kb", policy=Policy(max_count=1000), clock=lambda: NOON)


def write_note(book: Notebook, number: int, text: str, header: str = "", name: str = "") -> Path:
    """A note written by hand."""
    path = Path(book.memories, name or f"{number:03d}-by-hand.md")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        f"---\nid: {number}\ncreated: 2026-02-01T10:00:00Z\n{header}---\n\n{text}\n",
        encoding="utf-8",
        newline="",
    )
    return path


def files(root: str | Path) -> dict[str, bytes]:
    """Every file of a folder, without the lock."""
    found = {}
    for path in sorted(Path(root).rglob("*")):
        if path.is_file() and not path.is_symlink() and path.name != ".lock":
            found[str(path.relative_to(root))] = path.read_bytes()
    return found


def bodies(book: Notebook) -> list[str]:
    return [note.body for note in book.notes()]


def decay(book: Notebook) -> None:
    plan = book.plan_decay()
    if plan is None:
        raise NotFound("nothing may decay")
    book.commit(plan)


# G1: an acknowledged save survives a power cut


def _position(calls: list[str], wanted: str | tuple[str, ...], start: int = 0) -> int:
    """Where a call that begins like this comes next; -1 never satisfies an order."""
    for index in range(start, len(calls)):
        if calls[index].startswith(wanted):
            return index
    return -1


def test_g1_a_save_is_on_disk_before_it_is_acknowledged(book: Notebook) -> None:
    """Red when an fsync is left out, or comes after the link, or the intent is not synced first;
    or when a save waits for the disk more often than that."""
    book.remember("The first note makes the folders")
    with Shim(book.root) as shim:
        path = book.remember("User prefers tea").note.path
    calls = [str(call) for call in shim.calls]
    name = os.path.basename(path)
    order = [_position(calls, f"write {JOURNAL}")]
    for wanted in (
        f"fsync {JOURNAL}",
        "open memories/.co-",
        "write memories/.co-",
        "fsync memories/.co-",
        "link memories/.co-",
        "fsync memories",
        f"write {JOURNAL}",
    ):
        order.append(_position(calls, wanted, order[-1] + 1))
    assert order == sorted(order)
    assert -1 not in order
    assert calls[order[5]].endswith(f" -> memories/{name}")
    assert calls[order[6]] == "fsync memories"
    assert sum(call.startswith("fsync") for call in calls) == 3


def test_g1_the_old_bytes_are_safe_in_the_archive_before_new_ones_replace_them(
    book: Notebook,
) -> None:
    """Red when the new bytes are not safe before they change places with the old, or the folders
    of both are not synced before the change is called done."""
    path = book.remember("User prefers tea").note.name
    with Shim(book.root) as shim:
        book.remember("user prefers tea!", ["drink"])
    calls = [str(call) for call in shim.calls]
    order = [_position(calls, f"fsync {JOURNAL}")]
    for wanted in (
        "write archive/000002/memories/.co-",
        "fsync archive/000002/memories/.co-",
        "rename archive/000002/memories/.co-",
        "fsync archive/000002/memories",
        f"exchange archive/000002/memories/{path}",
        "fsync archive/000002/memories",
        "fsync memories",
        f"write {JOURNAL}",
    ):
        order.append(_position(calls, wanted, order[-1] + 1))
    assert order == sorted(order)
    assert -1 not in order


def test_g1_a_forgotten_note_is_safe_in_the_archive_before_its_name_is_gone(
    book: Notebook,
) -> None:
    """Red when the notes' folder is synced before the archive's: a power cut between loses it."""
    book.remember("User prefers tea")
    with Shim(book.root) as shim:
        book.forget(1)
    calls = [str(call) for call in shim.calls]
    moved = _position(calls, "rename memories/")
    kept = _position(calls, "fsync archive/000002/memories", moved)
    gone = _position(calls, "fsync memories", moved)
    assert -1 < moved < kept < gone


# G2: no reader sees a missing or torn file


def test_g2_a_reader_never_sees_a_missing_or_torn_note(book: Notebook, tmp_path: Path) -> None:
    """Red when `exchange.swap` writes in place, or removes the old file before the new is there."""
    note = book.remember("User prefers tea " + "x" * 5000).note
    versions = {note.raw, book.protect(1).note.raw, book.protect(1, on=False).note.raw}
    stop = tmp_path / "stop"

    def read(say: Say) -> None:
        reads = 0
        while not stop.exists() or reads < 100:
            if disk.read_signed(note.path)[0] not in versions:
                say("torn")
            reads += 1
        say(f"read {reads}")

    child = start_child(read)
    for turn in range(200):
        book.protect(1, on=turn % 2 == 0)
    stop.touch()
    ended = end_child(*child)
    assert ended.status == CLEAN, ended.lines
    assert [line.partition(" ")[0] for line in ended.lines] == ["read"]


# G3: any number of writers


def test_g3_writers_at_once_lose_nothing_and_reuse_no_number(tmp_path: Path) -> None:
    """Red when `disk.locked` takes no lock, or a number chosen before it is not checked."""
    seen = crowd.run(str(tmp_path / "kb"), processes=3, saves=8, kills=1)
    assert (seen.violations, seen.saves, seen.kills) == ([], 24, 1)


def test_g3_threads_with_a_notebook_each_lose_nothing(book: Notebook) -> None:
    """Red when the lock lets in a second thread of the process that holds it."""
    failures: list[BaseException] = []

    def work(worker: int) -> None:
        mine = Notebook(book.root, policy=book.policy)
        try:
            for number in range(10):
                mine.remember(f"Thread {worker} made observation-{worker}-{number}-alone")
        except BaseException as error:  # noqa: BLE001 - told to the test below
            failures.append(error)

    threads = [threading.Thread(target=work, args=(worker,)) for worker in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert [note.id for note in book.notes()] == list(range(1, 41))


def test_g3_a_plan_made_during_another_commit_is_planned_again(
    book: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Red when a plan that was made while an intent was open may be committed after it is done."""
    monkeypatch.setattr(disk, "LOCK_PATIENCE", 0.1)
    book.remember("The first note makes the folders")
    other = Notebook(book.root, clock=lambda: NOON)
    plans = []

    def before(_: int, call: Call) -> None:
        if call.name == "link" and "-user-" in call.about:
            plans.append(other.plan_remember("User prefers tea"))

    with Shim(book.root, before=before):
        book.remember("User prefers tea")
    with pytest.raises(MovedOn):
        other.commit(plans[0])
    assert Counter(bodies(book))["User prefers tea"] == 1


def test_g3_reading_does_not_wait_for_a_writer(
    book: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Red when a reader takes a change under way for one that was left behind, and waits."""
    monkeypatch.setattr(disk, "LOCK_PATIENCE", 0.1)
    book.remember("User prefers tea")
    other = Notebook(book.root)
    waited = []

    def before(_: int, call: Call) -> None:
        if call.name == "link" and "-deploys-" in call.about:
            for reader in (other, Notebook(book.root)):
                waited.append((bodies(reader), reader.look().problems))

    with Shim(book.root, before=before):
        book.remember("Deploys happen on Thursdays")
    assert waited == [(["User prefers tea"], [])] * 2


def test_g3_a_number_is_never_given_out_again(book: Notebook) -> None:
    """Red when the journal does not remember the numbers of notes it did not create itself."""
    for number in (1, 7):
        write_note(book, number, f"Fact {number} came with git")
    book.forget(7)
    assert book.remember("Something else entirely").note.id == 8
    book.merge([1, 8])
    book.undo()
    book.forget(8)
    assert book.remember("A third thing").note.id == 9


# G5: a hand edit is never overwritten


def test_g5_a_plan_does_not_overwrite_what_was_edited_since(book: Notebook) -> None:
    """Red when neither what is there before nor what comes back from the exchange is compared."""
    note = book.remember("User prefers tea").note
    plan = book.plan_remember("user prefers tea!", ["drink"])
    Path(note.path).write_bytes(note.raw + b"and biscuits\n")
    with pytest.raises(MovedOn):
        book.commit(plan)
    assert Path(note.path).read_bytes() == note.raw + b"and biscuits\n"


def test_g5_a_verb_reads_again_and_keeps_the_edit(book: Notebook) -> None:
    """Red when `Notebook._settle` gives up or reuses its first plan."""
    note = book.remember("User prefers tea").note
    edits = [note.raw + b"and biscuits\n"]

    def before(_: int, call: Call) -> None:
        if call == Call("flock", ".lock") and edits:
            Path(note.path).write_bytes(edits.pop())

    with Shim(book.root, before=before):
        book.protect(1)
    [found] = book.notes()
    assert (found.body, found.protected) == ("User prefers tea\nand biscuits", True)


def test_g5_an_editor_that_saves_by_renaming_is_noticed_too(book: Notebook) -> None:
    """Red when nothing is compared between the archive's copy and the replace."""
    note = book.remember("User prefers tea").note
    edits = [note.raw + b"and biscuits\n"]

    def before(_: int, call: Call) -> None:
        if call.name == "chmod" and edits:
            new = Path(book.memories, "new~")
            new.write_bytes(edits.pop())
            new.rename(note.path)

    with Shim(book.root, before=before):
        book.protect(1)
    [found] = book.notes()
    assert (found.body, found.protected) == ("User prefers tea\nand biscuits", True)


def test_g5_an_undo_does_not_overwrite_what_was_edited_since(book: Notebook) -> None:
    """Red when undo does not compare the file with what its change had written."""
    note = book.remember("User prefers tea").note
    changed = book.protect(1).note.raw + b"and biscuits\n"
    Path(note.path).write_bytes(changed)
    with pytest.raises(MovedOn):
        book.undo()
    assert Path(note.path).read_bytes() == changed


# G6: a file that cannot be parsed is left alone and named

BROKEN = {
    "002-no-header.md": (b"---\n---\njust text\n", 1),
    "003-not-closed.md": (b"---\nid: 3\n", 1),
    "004-no-number.md": (b"---\ncreated: 2026-02-09T12:00:00Z\n---\nx\n", 1),
    "005-word.md": (b"---\ncreated: 2026-02-09T12:00:00Z\nid: five\n---\nx\n", 3),
    "006-yaml.md": (b"---\nid: 6\ntags: [\n---\nx\n", 4),
    "007-twice.md": (b"---\nid: 7\nid: 7\n---\nx\n", 3),
    "008-latin.md": (b"---\nid: 8\ncreated: 2026-02-09T12:00:00Z\n---\ncaf\xe9\n", 5),
    "009-nul.md": (b"---\nid: 9\ncreated: 2026-02-09T12:00:00Z\n---\n\0\n", 5),
    "010-empty.md": (b"", 1),
    "011-tags.md": (b"---\nid: 11\ncreated: 2026-02-09T12:00:00Z\ntags: x\n---\nx\n", 4),
}


def test_g6_broken_files_are_named_and_never_touched(book: Notebook) -> None:
    """Red when any verb writes, moves or removes a file that `note.parse` refuses."""
    book.policy = Policy(max_count=4, percentage=0.5)
    book.remember("User prefers tea")
    before = {}
    for name, (raw, _) in BROKEN.items():
        path = Path(book.memories, name)
        path.write_bytes(raw)
        before[name] = disk.signature(path.stat()), raw
    book.remember("user prefers tea!")
    book.remember("Deploys happen on Thursdays", fields={"decay_protected": True})
    assert book.remember("Alice owns billing").note.id == 13  # the files' numbers are taken
    book.merge([1, 13])
    for word in ("alpha", "beta", "gamma"):
        book.remember(f"Fact {word} makes the oldest decay")
    book.forget(book.notes()[-1].id)
    book.undo()
    found = {name: Path(book.memories, name) for name in BROKEN}
    assert {n: (disk.signature(p.stat()), p.read_bytes()) for n, p in found.items()} == before
    named = {os.path.basename(problem.path): problem for problem in diagnose(book)}
    assert {name: named[name].line for name in BROKEN} == {n: at for n, (_, at) in BROKEN.items()}
    assert all(named[name].reason for name in BROKEN)


def test_g6_a_verb_on_a_broken_file_says_so(book: Notebook) -> None:
    """Red when forget or protect finds a file by its number alone."""
    path = write_note(book, 1, "text", "tags: [\n")
    before = path.read_bytes()
    for verb in (book.forget, book.protect, book.restore):
        with pytest.raises(CoError):
            verb(1)
    assert path.read_bytes() == before


# G7: a rewrite is minimal

BY_HAND = (
    "\ufeff---\r\n"
    "# mine, do not touch\r\n"
    'created:   "2026-02-09T10:00:00Z"\r\n'
    "id: 7   # seven\r\n"
    "x-unknown: {a: [1, 2], b: 'c'}\r\n"
    "tags: [ tea , drink ]  # both\r\n"
    "decay_protected: false # not yet\r\n"
    "nested:\r\n"
    "  deep:\r\n"
    "    - yes\r\n"
    "---   \r\n"
    "\r\n"
    "User prefers tea  \r\n"
    "\r\n"
).encode()


def test_g7_protecting_changes_one_word_of_the_file(book: Notebook) -> None:
    """Red when a rewrite renders the header anew, or its line ends, order, quotes or comments."""
    path = write_note(book, 7, "")
    path.write_bytes(BY_HAND)
    book.protect(7)
    expected = BY_HAND.replace(b"decay_protected: false #", b"decay_protected: true #")
    assert path.read_bytes() == expected
    book.protect(7, on=False)
    assert path.read_bytes() == BY_HAND


def test_g7_saying_it_again_changes_tags_date_and_wording_only(book: Notebook) -> None:
    """Red when a consolidation touches another line, or writes a line end of its own."""
    path = write_note(book, 7, "")
    path.write_bytes(BY_HAND)
    book.remember("user prefers tea!", ["drink", "hot"])
    expected = (
        BY_HAND.replace(b"tea , drink ]", b"tea , drink, hot]")
        .replace(b"---   \r\n", b'updated: "2026-02-09T12:00:00+00:00"\r\n---   \r\n')
        .replace(b"User prefers tea  \r\n", b"user prefers tea!\r\n")
    )
    assert path.read_bytes() == expected


def test_g7_a_note_whose_tags_repeat_can_still_be_consolidated(book: Notebook) -> None:
    """Red when tags that a person wrote twice make a save fail."""
    write_note(book, 1, "User prefers tea", "tags: [a, a]\n")
    book.remember("user prefers tea!", ["b"])
    assert [(set(note.tags), note.body) for note in book.notes()] == [
        ({"a", "b"}, "user prefers tea!")
    ]


# G8: nothing is destroyed


def _three_notes(book: Notebook) -> dict[str, bytes]:
    for text in ("User prefers tea", "Deploys happen on Thursdays", "Alice owns billing"):
        book.remember(text, ["context"])
    return files(book.memories)


def test_g8_undo_brings_back_the_very_bytes(book: Notebook) -> None:
    """Red when a verb archives other bytes than the file's, or undo writes others than these."""
    before = _three_notes(book)
    small = Notebook(book.root, policy=Policy(max_count=3, percentage=0.7), clock=lambda: NOON)
    verbs: dict[str, Callable[[], object]] = {
        "forget": lambda: book.forget(2),
        "consolidate": lambda: book.remember("user prefers tea!", ["new"]),
        "update": lambda: book.remember("Alice owns booking", replaces="3"),
        "merge": lambda: book.merge([1, 2, 3]),
        "protect": lambda: book.protect(3),
        "decay": lambda: decay(small),
    }
    for name, verb in verbs.items():
        verb()
        assert files(book.memories) != before, name
        book.undo()
        assert files(book.memories) == before, name


def test_g8_restore_brings_back_the_very_bytes(book: Notebook) -> None:
    """Red when `forget` does not keep the file in the archive."""
    before = _three_notes(book)
    book.forget(2)
    assert [note.id for note in book.notes()] == [1, 3]
    book.restore(2)
    assert files(book.memories) == before


def test_g8_what_decays_is_in_the_summary_and_in_the_archive(book: Notebook) -> None:
    """Red when decay drops a text, rewords it, or does not archive the original."""
    before = _three_notes(book)
    book.policy = Policy(max_count=3, percentage=0.7)
    saved = book.remember("The fourth fact crosses the limit")
    assert [note.id for note in saved.decayed] == [1, 2]
    assert saved.summary is not None
    for note in saved.decayed:
        assert note.body in saved.summary.body
        assert book.restore(note.id).note.raw == before[note.name]


def test_g8_protected_notes_stay(book: Notebook) -> None:
    """Red when forget, decay, merge, update or saying it again touches a protected note."""
    book.remember("User prefers tea", fields={"decay_protected": True})
    book.remember("Deploys happen on Thursdays")
    before = files(book.memories)
    verbs: list[Callable[[], object]] = [
        lambda: book.forget(1),
        lambda: book.merge([1, 2]),
        lambda: book.merge([2, 1]),
        lambda: book.remember("User prefers tea?", replaces="1"),
    ]
    for verb in verbs:
        with pytest.raises(Protected):
            verb()
    assert book.remember("user prefers tea!", ["more"]).change == 0
    book.policy = Policy(max_count=2, percentage=1.0, strategy="cut")
    decay(book)
    name = "001-user-prefers-tea.md"
    assert files(book.memories) == {name: before[name]}


def test_g8_a_note_with_a_name_that_is_not_utf8_can_be_forgotten_and_restored(
    book: Notebook,
) -> None:
    """Red when the journal cannot hold every name that a file may have."""
    path = write_note(book, 1, "User prefers tea")
    odd = os.fsencode(book.memories) + b"/001-caf\xe9.md"
    os.rename(path, odd)
    before = Path(os.fsdecode(odd)).read_bytes()
    book.forget(1)
    assert bodies(book) == []
    book.restore(1)
    assert Path(os.fsdecode(odd)).read_bytes() == before


# G9: trouble with the disk


STEPS = {
    "flock .lock",
    f"open {JOURNAL}",
    f"write {JOURNAL}",
    f"fsync {JOURNAL}",
    "mkdir archive/000002",
    "open archive/000002/memories/.co-",
    "write archive/000002/memories/.co-",
    "fsync archive/000002/memories/.co-",
    "rename archive/000002/memories/.co-",
    "exchange archive/000002/memories/001",
    "fsync archive/000002/memories",
}


@pytest.mark.parametrize("code", ["EIO", "ENOSPC", "EACCES", "EROFS", "EMFILE"])
@pytest.mark.parametrize("step", sorted(STEPS))
def test_g9_trouble_is_told_and_changes_nothing(book: Notebook, step: str, code: str) -> None:
    """Red when an OSError escapes, a half change stays, or a temporary file is left behind."""
    note = book.remember("User prefers tea").note
    number = getattr(errno, code)
    left = [number]

    def before(_: int, call: Call) -> None:
        if str(call).startswith(step) and left:
            raise OSError(left.pop(), os.strerror(number))

    with Shim(book.root, before=before), pytest.raises(DiskTrouble, match=os.strerror(number)):
        book.remember("user prefers tea!", ["drink"])
    assert left == []
    assert Path(note.path).read_bytes() == note.raw
    again = Notebook(book.root, clock=lambda: NOON)
    assert (temps(book.root), again.store.tail().state == "intent") == ([], False)
    assert bodies(again) == ["User prefers tea"]
    assert again.remember("user prefers tea!", ["drink"]).action == "consolidated"


def test_g9_a_notebook_that_cannot_be_written_can_still_be_read(book: Notebook) -> None:
    """Red when opening or reading a notebook needs to write into it."""
    book.remember("User prefers tea")
    with Shim(book.root, before=_refuse_writes):
        assert bodies(Notebook(book.root)) == ["User prefers tea"]
        assert [hit.note.id for hit in Notebook(book.root).recall("tea")] == [1]


def _refuse_writes(_: int, call: Call) -> None:
    if call.name in ("write", "link", "rename", "replace", "unlink", "mkdir", "flock"):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))


# G10: bounded


def test_g10_no_file_makes_reading_hang_or_eat_memory(book: Notebook) -> None:
    """Red when notes are opened without O_NONBLOCK, followed through links, or read whole."""
    book.remember("User prefers tea")
    here = Path(book.memories)
    os.mkfifo(here / "010-pipe.md")
    (here / "011-loop.md").symlink_to("011-loop.md")
    (here / "012-folder.md").mkdir()
    (here / "013-device.md").symlink_to("/dev/zero")
    with (here / "014-long.md").open("wb") as file:
        file.truncate(200 * 1024 * 1024)
    bomb = "".join(f"k{n}: &k{n} [{f'*k{n - 1}, ' * 9 if n else ''}1]\n" for n in range(50))
    write_note(book, 15, "bomb", bomb)
    write_note(book, 16, "deep", "x: " + "[" * 10_000 + "\n")
    write_note(book, 17, "spaces", "x:" + " " * 15_000 + "#\n")
    write_note(book, 18, "one long line" + "x" * 5_000_000)
    for number in range(100, 1100):
        write_note(book, number, "filler", "tags: [\n", f"{number}-x.md")
    started = time.process_time()
    assert [note.id for note in book.notes()] == [1, 17, 18]
    reasons = {os.path.basename(problem.path): problem.reason for problem in book.look().problems}
    assert len(reasons) == 1000 + 7
    assert reasons["014-long.md"] == "is larger than 8 MiB"
    assert book.recall("tea")[0].note.id == 1
    assert book.remember("Something else").note.id == 1100
    assert time.process_time() - started < 10


def test_g10_a_hostile_query_is_answered_at_once(book: Notebook) -> None:
    """Red when a pattern in the scan backtracks."""
    book.remember("User prefers tea")
    started = time.process_time()
    for query in (
        "a-" * 50_000,
        "(" * 100_000,
        "tea " * 20_000,
        "\0",
        ".*" * 20_000,
        "x" * 100_000,
    ):
        book.recall(query)
    assert time.process_time() - started < 5


def test_g10_a_long_journal_still_undoes_and_restores(book: Notebook) -> None:
    """Red when the journal may not be longer than a note."""
    book.remember("User prefers tea")
    with Path(book.store.locate(JOURNAL)).open("a", encoding="utf-8") as file:
        line = {"n": 1, "state": "done", "high": 1, "actor": "x" * 1000}
        file.writelines([json.dumps(line) + "\n"] * 9000)
    book.forget(1)
    book.restore(1)
    book.undo()
    assert bodies(book) == []


# G11: clocks and time zones

CLOCKS = [
    datetime(2026, 2, 9, 12, 0, tzinfo=UTC),
    datetime(1970, 1, 1, tzinfo=UTC),
    datetime(2099, 12, 31, 23, 59, 59, tzinfo=timezone(timedelta(hours=-12))),
    datetime(2026, 2, 9, 12, 0, tzinfo=timezone(timedelta(hours=14))),
    datetime(2026, 2, 9, 12, 0, 0, 999_999, tzinfo=timezone(timedelta(hours=5, minutes=45))),
    datetime(2026, 2, 9, 12, 0),
    datetime(1901, 12, 13, tzinfo=timezone(timedelta(hours=14))),
    datetime(9999, 12, 31, 23, 59, tzinfo=UTC),
]


def test_g11_jumping_clocks_never_reorder_numbers_or_decay_a_new_note(tmp_path: Path) -> None:
    """Red when a date that a jumping clock gave makes a note old, or the end of time raises."""
    moments = iter(CLOCKS)
    clock = [CLOCKS[0]]
    book = Notebook(tmp_path / "kb", policy=Policy(max_count=8), clock=lambda: clock[0])
    for number in range(1, 9):
        clock[0] = next(moments)
        saved = book.remember(f"Observation number-{number}-by-an-odd-clock")
        assert (saved.note.id, saved.decayed) == (number, [])
    clock[0] = CLOCKS[1]
    saved = book.remember("The ninth crosses the limit")
    assert saved.note.id == 9
    assert [note.id for note in saved.decayed] == [1, 2]


@pytest.mark.parametrize(
    "created",
    [
        "2026-02-09T14:30:00Z",
        "2026-02-09T14:30:00+14:00",
        "2026-02-09T14:30:00-12:00",
        "2026-02-09T14:30:00+99:99",
        "2026-02-09T14:30:00.123456789+0545",
        "2026-02-09T14:30:00 Europe/Zurich",
        "0000-00-00T00:00:00",
        "9999-99-99T99:99:99Z",
        "2026-02-30T24:60:60Z",
    ],
)
def test_g11_any_time_a_person_wrote_is_kept_and_harms_nothing(
    book: Notebook, created: str
) -> None:
    """Red when a date that cannot be understood stops reading, saving or decay."""
    path = write_note(book, 1, "User prefers tea")
    path.write_text(path.read_text().replace("2026-02-01T10:00:00Z", created), encoding="utf-8")
    book.remember("User prefers coffee")
    book.protect(1)
    assert [note.created for note in book.notes()] == [created, "2026-02-09T12:00:00+00:00"]
    book.protect(1, on=False)
    book.policy = Policy(max_count=2, percentage=1.0)
    plan = book.plan_decay()
    assert plan is not None
    book.commit(plan)
    assert [note.id for note in book.notes()] == [3]
    assert book.recall("tea")[0].note.id == 3


# G12: nothing leads out of the folder


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder that belongs to somebody else."""
    folder = tmp_path / "outside"
    (folder / "memories").mkdir(parents=True)
    (folder / "secret.md").write_text("known", encoding="utf-8")
    (folder / "memories" / "secret.md").write_text("known", encoding="utf-8")
    (folder / ".co-0000000000000000.tmp").write_text("theirs", encoding="utf-8")
    return folder


def _try_everything(root: str) -> list[Note]:
    """Every verb, whatever it says; what could be read comes back."""
    found: list[Note] = []
    verbs: list[Callable[[Notebook], object]] = [
        lambda book: found.extend(book.notes()),
        lambda book: found.extend(note for _, note in book.archived()),
        lambda book: book.remember("User prefers coffee"),
        lambda book: book.remember("user prefers tea!"),
        lambda book: book.protect(1),
        lambda book: book.protect(1, on=False),
        lambda book: book.forget(1),
        lambda book: book.restore(1),
        lambda book: book.undo(),
        decay,
        lambda book: book.keep("A page", source="a:b", title="P", attachment=("p.pdf", b"%PDF")),
        lambda book: book.keep("Other", source="a:b", title="P", attachment=("p.pdf", b"%PDF2")),
        lambda book: book.forget("a:p"),
        lambda book: book.restore("a:p"),
        lambda book: purge(book, find_copies(book, "a:p")),
        lambda book: found.extend(hit.note for hit in book.recall("known")),
    ]
    for verb in verbs:
        try:
            verb(Notebook(root, policy=Policy(max_count=1)))
        except CoError:
            continue
    return found


@pytest.mark.parametrize("name", ["memories", "archive", "inbox", "articles", "attachments"])
def test_g12_a_folder_that_is_a_link_is_not_followed(
    book: Notebook, outside: Path, name: str
) -> None:
    """Red when a folder of the notebook may be a symbolic link."""
    book.remember("User prefers tea")
    hidden = Path(book.root, name)
    if hidden.exists():
        hidden.rename(outside.parent / "elsewhere")
    hidden.symlink_to(outside)
    before = files(outside)
    found = _try_everything(book.root)
    assert files(outside) == before
    assert [note for note in found if "known" in note.body] == []


def test_g12_another_notebooks_archive_is_not_read_through_a_link(
    book: Notebook, tmp_path: Path
) -> None:
    """Red when the journal is read without looking whether its folder is a link."""
    other = Notebook(tmp_path / "other")
    other.remember("A secret of another project")
    other.forget(1)
    os.makedirs(book.memories)
    os.symlink(other.store.locate("archive"), book.store.locate("archive"))
    before = files(other.root)
    assert _try_everything(book.root) == []
    assert files(other.root) == before


def test_g12_a_note_that_is_a_link_is_named_and_not_read(book: Notebook, outside: Path) -> None:
    """Red when notes are opened without O_NOFOLLOW."""
    target = write_note(book, 5, "A fact from outside").rename(outside / "005-fact.md")
    link = Path(book.memories, "005-fact.md")
    link.symlink_to(target)
    before = files(outside)
    assert bodies(book) == []
    assert [(p.path, "symbolic link" in p.reason) for p in book.look().problems] == [
        (str(link), True)
    ]
    assert "A fact from outside" not in [note.body for note in _try_everything(book.root)]
    assert (files(outside), link.is_symlink()) == (before, True)


def _forge(book: Notebook, **entry: object) -> None:
    """Add a line to the journal as somebody else would write it."""
    line = {"n": 2, "state": "intent", "high": 1, "op": "save", **entry}
    with Path(book.store.locate(JOURNAL)).open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


@pytest.mark.parametrize(
    "path",
    [
        "../../outside/secret.md",
        "memories/../../outside/secret.md",
        "memories/../../../outside/secret.md",
        "{outside}/secret.md",
        "inbox/../../outside/secret.md",
        "memories/sub/x.md",
        "attachments/../../../outside/secret.md",
        "attachments/..",
        "attachments/.x",
        "archive/journal.jsonl",
        "memories/x.txt",
        "",
        "memories/",
        "..",
        7,
        None,
        ["memories/x.md"],
    ],
)
@pytest.mark.parametrize("known", [True, False])
def test_g12_a_forged_journal_line_reaches_nothing_outside(
    book: Notebook, outside: Path, path: object, known: bool
) -> None:
    """Red when recovery, undo or restore takes a path from the journal without checking it."""
    book.remember("User prefers tea")
    before = files(outside)
    if isinstance(path, str):
        path = path.replace("{outside}", str(outside))
    digest = disk.digest(b"known")
    file = {"path": path, "before": None, "after": digest if known else "0" * 64}
    _forge(book, files=[file, {"path": "memories/x.md", "before": None, "after": "0" * 64}])
    assert [note.body for note in Notebook(book.root).notes()] == ["User prefers tea"]
    _forge(book, state="done", files=[file])
    _try_everything(book.root)
    assert files(outside) == before


@pytest.mark.parametrize("link", ["archive/000002", "archive/000002/memories", "inbox"])
def test_g12_a_forged_journal_line_reaches_nothing_through_a_link(
    book: Notebook, outside: Path, link: str
) -> None:
    """Red when recovery, forget or undo follows a link below the archive or to the drafts."""
    book.remember("User prefers tea")
    before = files(outside)
    hidden = Path(book.root, link)
    hidden.parent.mkdir(exist_ok=True)
    hidden.symlink_to(outside / "memories" if link.endswith("memories") else outside)
    folder = "inbox" if link == "inbox" else "memories"
    known = disk.digest(b"known")
    _forge(
        book,
        files=[
            {"path": f"{folder}/secret.md", "before": None, "after": known},
            {"path": f"{folder}/secret.md", "before": "0" * 64, "after": "1" * 64},
            {"path": f"{folder}/other.md", "before": None, "after": "1" * 64},
        ],
    )
    _try_everything(book.root)
    assert files(outside) == before


@pytest.mark.parametrize(
    "name",
    ["../outside/secret", "../../outside/secret.md", "/etc/passwd", "memories/001", "..", ""],
)
def test_g12_a_reference_is_never_a_path(book: Notebook, outside: Path, name: str) -> None:
    """Red when a reference is joined to a folder."""
    book.remember("User prefers tea")
    before = files(outside)
    for verb in (book.find, book.forget, book.protect, book.restore):
        with pytest.raises(CoError):
            verb(name)
    assert (files(outside), bodies(book)) == (before, ["User prefers tea"])


# G14: on disk as approved


@pytest.mark.parametrize(
    "text",
    [
        "plain",
        "---\nid: 9\n---\nlooks like a header",
        "# Heading\n\n- item\n\n    indented\n\ttab",
        "ends with spaces  \nin the middle",
        "naïve 日本 😀 <b>&amp;</b> \\n {{x}} %s",
        "line one\r\nline two",
    ],
)
def test_g14_what_was_approved_is_what_is_on_disk(book: Notebook, text: str) -> None:
    """Red when committing renders anew what the plan has shown."""
    tags = ["no", "a: b", "#x", "- y", "'q'", '"q"', "日本", "010", "~", "a,b", "[c]"]
    plan = book.plan_remember(text, tags)
    assert plan.change is not None
    approved = plan.change.edits[0].after
    saved = book.commit(plan)
    assert Path(saved.note.path).read_bytes() == approved
    [found] = Notebook(book.root).notes()
    assert (found.body, found.tags) == (text, tags)


def test_the_archive_is_private_and_notes_follow_the_umask(book: Notebook) -> None:
    """Red when the archive is made with the mode of a shared folder."""
    old = os.umask(0o027)
    try:
        note = book.remember("User prefers tea").note
    finally:
        os.umask(old)
    assert stat.S_IMODE(os.stat(book.store.locate("archive")).st_mode) == 0o700
    assert stat.S_IMODE(os.stat(note.path).st_mode) == 0o640


def test_a_notebook_by_a_relative_path_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Red when making folders climbs past the start of a relative path."""
    monkeypatch.chdir(tmp_path)
    assert Notebook("kb").remember("User prefers tea").note.id == 1
    assert bodies(Notebook("kb")) == ["User prefers tea"]


def test_replacing_a_note_by_an_editors_text_keeps_its_number(book: Notebook) -> None:
    """Red when an edited file may take another number."""
    note = book.remember("User prefers tea").note
    with pytest.raises(FormatError):
        book.replace(note, note.raw.replace(b"id: 1", b"id: 2"))
    book.replace(note, note.raw + b"and biscuits\n")
    assert bodies(book) == ["User prefers tea\nand biscuits"]
