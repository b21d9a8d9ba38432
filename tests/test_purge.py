"""Purge removes exactly the note that was named, all of it, and says what it leaves."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from cli import Terminal, co
from faults import Call, Crash, Fault, Shim

from co_cli import paths
from co_cli.errors import DiskTrouble, NotFound
from co_cli.knowledge import Notebook, Policy
from co_cli.knowledge.copies import find_copies
from co_cli.knowledge.doctor import diagnose
from co_cli.knowledge.format.note import Note
from co_cli.knowledge.inbox import Draft, accept, put, reject, waiting
from co_cli.knowledge.purge import purge
from co_cli.knowledge.store import JOURNAL
from co_cli.knowledge.summary import plan_summary

KNOWLEDGE = Path(".co-cli/knowledge")
MEMORIES = KNOWLEDGE / "memories"


@pytest.fixture
def book() -> Notebook:
    return Notebook(KNOWLEDGE, policy=Policy(max_count=1000))


def hand_copy(note: Note, number: int, text: str, name: str, more: str = "") -> Path:
    """A note written by copying another one's file, uid and all."""
    raw = note.raw.decode().replace(f"id: {note.id}\n", f"id: {number}\n{more}", 1)
    path = Path(note.path).parent / name
    path.write_text(raw.replace(note.body, text))
    return path


def holding(*words: str) -> list[str]:
    """Every file and file name below the notebook that holds one of these, in any case."""
    found = []
    for path in KNOWLEDGE.rglob("*"):
        data = f"{path}\n".encode() + (path.read_bytes() if path.is_file() else b"")
        if any(word.encode() in data.lower() for word in words):
            found.append(str(path.relative_to(KNOWLEDGE)))
    return sorted(found)


def done(*args: str) -> str:
    result = co(*args)
    assert result.code == 0, result
    return result.out


def decay(book: Notebook) -> Note:
    plan = book.plan_decay()
    assert plan is not None
    summary = book.commit(plan).summary
    assert summary is not None
    return summary


# A uid that two files share


@pytest.mark.parametrize("number", [7, 1])
def test_a_copied_file_with_the_same_uid_is_not_purged_along(book: Notebook, number: int) -> None:
    """G8. Red when purge takes its victim by uid."""
    note = book.remember("Zebras are striped").note
    other = hand_copy(note, number, "Lions are not", "007-lions.md", "decay_protected: true\n")
    done("forget", "001-zebras-are-striped", "--purge", "--yes")
    assert [note.body for note in book.notes()] == ["Lions are not"]
    assert holding("zebra") == []
    book.protect(f"{other.stem}", on=False)
    done("forget", other.stem, "--purge", "--yes")
    assert holding("lions") == []


@pytest.mark.parametrize("number", [7, 1])
def test_a_copy_that_was_forgotten_is_not_purged_along(book: Notebook, number: int) -> None:
    """G8. Red when an archived file counts as a version of any note that has its uid."""
    note = book.remember("Zebras are striped").note
    other = hand_copy(note, number, "Lions are not", "007-lions.md")
    book.forget(other.stem)
    done("forget", "001-zebras-are-striped", "--purge", "--yes")
    assert book.restore(other.stem).note.body == "Lions are not"
    assert holding("zebra") == []


@pytest.mark.parametrize("number", [7, 1])
def test_the_original_that_was_forgotten_is_not_purged_with_its_copy(
    book: Notebook, number: int
) -> None:
    note = book.remember("Zebras are striped").note
    other = hand_copy(note, number, "Lions are not", "007-lions.md")
    book.forget(note)
    done("forget", other.stem, "--purge", "--yes")
    assert book.restore(note.name[:-3]).note.body == "Zebras are striped"
    assert holding("lions") == []


def test_a_file_renamed_by_hand_is_purged_under_both_names(book: Notebook) -> None:
    """G8. Red when only versions under the present name are looked for."""
    note = book.remember("Zebras are striped").note
    book.remember("zebras are striped")
    os.rename(note.path, MEMORIES / "animals.md")
    book.protect(1)
    book.protect(1, on=False)
    done("forget", "1", "--purge", "--yes")
    assert holding("zebra", "animals") == []


def test_an_earlier_note_of_the_same_file_name_stays(book: Notebook) -> None:
    """G8. Red when whatever lies in the archive under a name counts as one note."""
    note = book.remember("Zebras are striped").note
    book.forget(1)
    Path(note.path).write_text('---\nid: 1\ncreated: "2026-02-09T14:30:00Z"\n---\n\nLions\n')
    book.protect(1)
    book.protect(1, on=False)
    done("forget", "1", "--purge", "--yes")
    assert holding("lions") == []
    assert book.restore(1).note.body == "Zebras are striped"


def test_a_shared_uid_is_told_and_replaced_by_the_next_rewrite(book: Notebook) -> None:
    """Red when a copied file keeps another one's uid, or when the original loses its own."""
    note = book.remember("Zebras are striped").note
    path = hand_copy(note, 7, "Lions are not", "007-lions.md")
    (problem,) = diagnose(book)
    assert (problem.path, "uid" in problem.reason) == (str(path.resolve()), True)
    book.protect(1)
    assert book.find(1).uid == note.uid
    changed = book.protect(7).note
    assert changed.uid not in ("", note.uid)
    assert diagnose(book) == []
    assert changed.raw.replace(changed.uid.encode(), note.uid.encode()) == (
        path.read_bytes().replace(changed.uid.encode(), note.uid.encode())
    )


def test_of_two_files_that_co_did_not_make_the_lower_number_keeps_the_uid(book: Notebook) -> None:
    MEMORIES.mkdir(parents=True)
    for number, text in [(3, "Lions are not"), (9, "Zebras are striped")]:
        head = f'---\nid: {number}\nuid: abc\ncreated: "2026-02-09T14:30:00Z"\n---\n\n'
        (MEMORIES / f"{10 - number:03d}-x.md").write_text(f"{head}{text}\n")
    assert book.protect(3).note.uid == "abc"
    assert book.protect(9).note.uid != "abc"


@pytest.mark.parametrize("large", [False, True])
def test_a_shared_uid_is_no_link(large: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Red when a note says that it replaced the original of the copy that it replaced."""
    monkeypatch.setattr("co_cli.knowledge.notebook._FEW", 0 if large else 200)
    book = Notebook(KNOWLEDGE)
    note = book.remember("The project uses PostgreSQL 14").note
    hand_copy(note, 7, "The build uses Gradle 7 on every machine", "007-build.md")
    saved = book.remember("The build uses Gradle 8 on every machine", replaces="7")
    assert (saved.action, saved.note.meta["supersedes"]) == ("updated", ["7"])
    saved = book.remember("The project uses PostgreSQL 16", replaces="1")
    assert (saved.action, saved.note.meta["supersedes"]) == ("updated", [note.uid])
    assert len(book.notes()) == 2


@pytest.mark.parametrize("large", [False, True])
def test_a_save_looks_as_often_however_many_notes_are_like_it(
    large: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Red when the folder or the index is asked once for every related note."""
    monkeypatch.setattr("co_cli.knowledge.notebook._FEW", 0 if large else 200)
    book = Notebook(KNOWLEDGE)

    def looks(text: str, related: Sequence[Note] = ()) -> tuple[int, int]:
        with Shim(book.root) as shim:
            saved = book.remember(text, related=related)
        calls = Counter(call.name for call in shim.calls)
        return len(saved.note.meta.get("related", ())), calls["scandir"] + calls["listdir"]

    gates = [
        book.remember(f"The {part} gate of the main building is painted green").note
        for part in ("north", "south", "east", "west")
    ]
    book.remember("Zebras graze quietly beyond Timbuktu")
    none, alone = looks("Pianos are tuned twice a year")
    many, among = looks("The fourth gate of the main building is painted green", gates)
    assert (none, many) == (0, 4)
    assert among <= alone + 2 * large  # the index is asked once, for all of them


def test_a_draft_of_another_note_of_the_same_number_stays(
    book: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    note = book.remember("Zebras are striped").note
    other = hand_copy(note, 1, "Lions are not", "001-lions.md")
    monkeypatch.setenv("EDITOR", "sed -i s/^id.*/id:\\ x/")
    assert co("knowledge", "edit", other.stem).code == 1
    done("forget", note.name[:-3], "--purge", "--yes")
    (draft,) = Path(os.environ["HOME"]).rglob("drafts/*")
    assert "Lions are not" in draft.read_text()


# Parts of summaries


def test_a_part_of_another_clone_s_note_of_the_same_number_stays(book: Notebook) -> None:
    """G8. Red when a part of a summary is known by its number alone."""
    theirs = Notebook(Path("theirs"))
    theirs.remember("Lions roar at night")
    theirs.remember("Tigers swim well")
    summary = decay(theirs)
    book.remember("Zebras are striped")
    (MEMORIES / summary.name).write_bytes(summary.raw)  # as git pull brings it
    result = co("forget", "1", "--purge", "--yes")
    assert result.code == 0
    assert (
        "memory 3 has a section numbered 1 that did not come from this memory; it stays"
        in result.err
    )
    assert holding("zebra") == []
    assert "Lions roar at night" in book.find(3).body
    done("forget", "1", "--purge", "--yes")  # now there is no other note 1
    assert holding("lions") == []
    assert "Tigers swim well" in book.find(3).body


def test_a_part_of_the_same_words_is_another_note_s_by_its_uid(book: Notebook) -> None:
    theirs = Notebook(Path("theirs"))
    theirs.remember("Zebras are striped")
    theirs.remember("Tigers swim well")
    summary = decay(theirs)
    book.remember("Zebras are striped")
    (MEMORIES / summary.name).write_bytes(summary.raw)
    done("forget", "1", "--purge", "--yes")
    assert [note.id for note in book.notes()] == [3]
    assert "Zebras are striped" in book.find(3).body


@pytest.mark.parametrize("edits", [1, 2])
def test_an_edit_of_a_summary_at_that_very_moment_is_kept(book: Notebook, edits: int) -> None:
    """G2. Red when purge writes a summary over an edit that it has not read."""
    for number in range(4):
        book.remember(f"Zebra fact-{number} is striped-{number}")
    summary = decay(book)
    left = list(range(edits))

    def before(_: int, call: Call) -> None:
        if call.name == "exchange" and left:
            new = MEMORIES / "new~"
            new.write_bytes(summary.raw + f"edit {left.pop(0)}\n".encode())
            new.rename(summary.path)

    with Shim(book.root, before=before), pytest.raises(DiskTrouble, match="cut short"):
        purge(book, find_copies(book, 1))
    assert left == []
    assert Path(summary.path).read_bytes() == summary.raw + f"edit {edits - 1}\n".encode()
    aside = [Path(path).read_bytes() for path in book.store.aside]
    assert aside == [summary.raw + b"edit 0\n"][: edits - 1]
    for path in book.store.aside:
        os.unlink(path)
    done("forget", "1", "--purge", "--yes")
    assert holding("fact-0") == []
    assert f"edit {edits - 1}" in Path(summary.path).read_text()


@pytest.mark.parametrize("old", [True, False])
def test_a_part_is_taken_out_of_a_summary_old_and_new(book: Notebook, old: bool) -> None:
    """G8. Red when a summary that an earlier version wrote, without uids, is not understood."""
    uids = [book.remember(text, ["x"]).note.uid for text in ("Zebras are striped", "Lions roar")]
    summary = decay(book)
    assert all(f", {uid})" in summary.body for uid in uids)
    if old:
        raw = Path(summary.path).read_text()
        Path(summary.path).write_text(raw.replace(f", {uids[0]}", "").replace(f", {uids[1]}", ""))
    done("forget", "1", "--purge", "--yes")
    assert holding("zebra") == []
    assert book.find(3).body.count("## Memory") == 1
    assert "Lions roar" in book.find(3).body


def test_a_part_of_a_summary_of_old_is_known_by_the_mark_that_conversations_record(
    book: Notebook,
) -> None:
    """G8. Red when a conversation that the part entered is looked for by the note's mark alone."""
    uids = [book.remember(text).note.uid for text in ("Zebras are striped", "Lions roar")]
    summary = decay(book)
    raw = Path(summary.path).read_text()
    Path(summary.path).write_text(raw.replace(f", {uids[0]}", "").replace(f", {uids[1]}", ""))
    assert f"{summary.mark}#1" in find_copies(book, "1").marks


def test_a_name_that_no_note_has_takes_no_part_out_of_a_summary(book: Notebook) -> None:
    """G8. Red when what is no number counts as one."""
    for text in ("Zebras are striped", "Lions roar"):
        book.remember(text)
    decay(book)
    with pytest.raises(NotFound):
        find_copies(book, "no-such-note")


def test_a_part_that_a_person_rewrote_stays_and_is_told(book: Notebook) -> None:
    book.remember("Zebras are striped")
    book.remember("Lions roar")
    path = Path(decay(book).path)
    path.write_text(path.read_text().replace("Zebras are striped", "Something of my own"))
    result = co("forget", "1", "--purge", "--yes")
    assert "memory 3 has a section numbered 1" in result.err
    assert "Something of my own" in book.find(3).body
    assert holding("zebra") == []


# What stays, and what can be taken along


def merged(book: Notebook) -> None:
    book.remember("Zebras are striped")
    book.remember("Lions roar at night")
    book.merge([1, 2])


def replaced(book: Notebook) -> None:
    book.remember("The zebra lives in stable 14")
    book.remember("The zebra lives in stable 16", replaces="1")
    book.remember("Lions roar at night")
    book.merge([2, 3])


def joined(book: Notebook) -> None:
    book.remember("Zebras are striped")
    book.remember("Lions roar at night")
    decay(book)


MADE: list[tuple[Callable[[Notebook], None], str, list[str]]] = [
    (merged, "1", ["2"]),
    (replaced, "2", ["1", "3"]),
    (joined, "3", ["1", "2"]),
]


@pytest.mark.parametrize(("make", "ref", "left"), MADE)
def test_what_a_note_was_made_of_stays_restorable_and_is_told(
    make: Callable[[Notebook], None], ref: str, left: list[str], book: Notebook
) -> None:
    """Red when a purge keeps quiet about the words that `restore` still brings back."""
    make(book)
    result = co("forget", ref, "--purge", "--yes", "--json")
    assert f"stay in the archive: {', '.join(left)}\n" in result.err
    assert "--with-earlier" in result.err
    assert json.loads(result.out)["restorable"] == left
    for one in left:
        book.restore(one)


@pytest.mark.parametrize(("make", "ref", "left"), MADE)
def test_what_a_note_was_made_of_is_taken_along_when_asked(
    make: Callable[[Notebook], None], ref: str, left: list[str], book: Notebook
) -> None:
    make(book)
    out = json.loads(done("forget", ref, "--purge", "--with-earlier", "--yes", "--json"))
    assert out["restorable"] == []
    assert holding("zebra", "lions") == []
    assert book.archived() == []
    assert all(co("knowledge", "restore", one).code == 1 for one in left)
    assert diagnose(book) == []


def test_a_person_is_asked_about_what_a_note_was_made_of(book: Notebook) -> None:
    merged(book)
    with Terminal("forget", "1", "--purge") as terminal:
        assert "  2  Lions roar at night" in terminal.expect("Remove them too? [y/N]")
        terminal.type("y\n")
        terminal.expect("for good")
        terminal.expect("(3 copies)")
        terminal.type("y\n")
        assert terminal.end().code == 0
    assert holding("zebra", "lions") == []


def test_with_earlier_is_for_a_purge() -> None:
    assert co("forget", "1", "--with-earlier").code == 2


# The journal and what a failure says


def test_no_digest_of_a_purged_text_stays_in_the_journal(book: Notebook) -> None:
    """G8. Red when the journal keeps a digest of the note, of a version, or of the call."""
    book.remember("Zebras are striped", call="call-1")
    book.remember("zebras are striped")
    book.remember("Lions roar at night", call="call-2")
    decay(book)
    book.undo()
    before = book.store.entries()
    done("forget", "1", "--purge", "--yes")
    zebra = [file for entry in before for file in entry.files if "001-" in file["path"]]
    old = {file[side] for file in zebra for side in ("before", "after")} - {None}
    old |= {before[0].call}
    summary = [file for entry in before for file in entry.files if "003-" in file["path"]]
    old |= {file[side] for file in summary for side in ("before", "after")} - {None}
    text = Path(book.store.locate(JOURNAL)).read_text()
    assert len(old) > 3
    assert [digest for digest in old if digest in text] == []
    assert before[2].call in text


@pytest.fixture
def last(book: Notebook) -> int:
    """Where in a purge the live file goes, the second of two copies; it is there to be purged."""
    book.remember("Zebras are striped")
    book.remember("zebras are striped")
    shutil.copytree(KNOWLEDGE, "tried")
    tried = Notebook(Path("tried"))
    copies = find_copies(tried, "1")
    with Shim(Path("tried").resolve()) as shim:
        purge(tried, copies)
    at = max(at for at, call in enumerate(shim.calls, 1) if call.about.startswith("memories/001"))
    assert shim.calls[at - 1].name == "unlink"
    return at


def test_a_failure_halfway_says_what_was_done(last: int) -> None:
    """Red when a purge that has removed something says that nothing was changed."""
    book = Notebook(KNOWLEDGE)
    copies = find_copies(book, "1")
    with (
        Shim(KNOWLEDGE.resolve(), Fault("fail", last, errno.EROFS)),
        pytest.raises(DiskTrouble, match="the purge was cut short: Read-only file") as caught,
    ):
        purge(book, copies)
    assert caught.value.hint == (
        "1 of 2 copies are removed for good. To finish it: co forget 1 --purge"
    )
    assert len(find_copies(book, "1")) == 1


def test_a_purge_that_was_cut_short_is_told_until_it_is_repeated(last: int) -> None:
    """Red when a purge that died is journalled as done, or told for ever after its repetition."""
    book = Notebook(KNOWLEDGE)
    copies = find_copies(book, "1")
    with pytest.raises(Crash), Shim(KNOWLEDGE.resolve(), Fault("crash", last)):
        purge(book, copies)
    left = Notebook(KNOWLEDGE)
    told = [problem.reason for problem in diagnose(left)]
    assert any("a purge, was cut short; repeat it" in reason for reason in told)
    assert left.store.entries()[-1].state == "cut short"
    purge(left, find_copies(left, "1"))
    assert diagnose(left) == []
    assert holding("zebra") == []


def test_a_purge_finds_what_the_other_notebook_keeps_of_a_note_that_moved() -> None:
    """Red when a purge looks only into the notebook that the note is in now."""
    co("learn", "The walrusword ledger is kept in Basel")
    co("knowledge", "promote", "1", "--scope", "global")
    done = co("forget", "g1", "--purge", "--yes")
    assert "2 copies removed" in done.out
    assert _holding(b"walrusword") == []


def test_a_purge_finds_the_draft_that_a_note_of_the_other_notebook_was() -> None:
    project = Notebook(Path(".co-cli/knowledge"))
    [draft] = put(project, [Draft("The walrusword ledger is kept in Basel")], actor="chat").added
    user = Notebook(paths.user_knowledge(), scope="user")
    accept(project, draft, into=user, actor="chat")
    co("forget", "g1", "--purge", "--yes")
    assert _holding(b"walrusword") == []


def test_a_purge_finds_a_draft_that_waits_in_the_other_notebook() -> None:
    """Red when the next look into the inbox tells what was purged."""
    text = "The walrusword ledger is kept in Basel"
    put(Notebook(Path(".co-cli/knowledge")), [Draft(text)], actor="chat")
    Notebook(paths.user_knowledge(), scope="user").remember(text)
    assert "2 copies removed" in co("forget", "g1", "--purge", "--yes").out
    assert _holding(b"walrusword") == []


def test_a_purge_finds_several_such_drafts_whose_name_another_has_now() -> None:
    """Red when a name is taken for the draft that waits under it, or one that is gone is sought."""
    project = Notebook(Path(".co-cli/knowledge"))
    text = "The ledger of the harbour office is kept in the old cellar under the walrusword"
    for _ in range(2):
        [draft] = put(project, [Draft(text)], actor="chat").added
        reject(project, draft, actor="chat")
    other = text.replace("walrusword", "bridge")
    put(project, [Draft(other)], actor="chat")
    Notebook(paths.user_knowledge(), scope="user").remember(text)
    assert "3 copies removed" in co("forget", "g1", "--purge", "--yes").out
    assert [note.body for note in waiting(project)] == [other]
    assert _holding(b"walrusword") == []


def test_a_purge_takes_the_sentence_that_a_summary_has_from_a_note() -> None:
    """Red when a summary with sources still says what was purged."""
    book = Notebook(Path(".co-cli/knowledge"))
    notes = [book.remember(text).note for text in ("The walrusword is 7", "The harbour is open")]
    text = "The walrusword is 7 (#1)\nThe harbour is open (#2)"
    book.do("cli", lambda planner: plan_summary(planner, notes, text))
    co("forget", "1", "--purge", "--yes")
    assert [note.body for note in book.notes()] == ["The harbour is open (#2)"]
    assert _holding(b"walrusword") == []


def _holding(word: bytes) -> list[Path]:
    """The files of both notebooks and of the state folder that hold a word, in any case."""
    roots = (Path(".co-cli"), Path(paths.user_folder()), Path(paths.state_folder()))
    files = [path for root in roots for path in root.rglob("*") if path.is_file()]
    return [path for path in files if word in path.read_bytes().lower()]
