"""A notebook's verbs, seen from outside: what is on disk afterwards and what can be taken back."""

from __future__ import annotations

import ctypes
import errno
import hashlib
import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from co_cli.errors import Ambiguous, CoError, FormatError, MovedOn, NotFound, Protected, RefusedText
from co_cli.knowledge import Notebook, Policy
from co_cli.knowledge.copies import find_copies
from co_cli.knowledge.doctor import diagnose
from co_cli.knowledge.plan import ImportItem
from co_cli.knowledge.purge import purge
from co_cli.knowledge.store import JOURNAL, Entry
from co_cli.knowledge.store.files import FolderStore

START = datetime(2026, 2, 9, 14, 30, tzinfo=UTC)


class Clock:
    """A clock that a test moves by hand."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def book(tmp_path: Path, clock: Clock) -> Notebook:
    return Notebook(tmp_path / "k", policy=Policy(max_count=5), clock=clock)


def texts(book: Notebook) -> dict[int, str]:
    return {note.id: note.body for note in book.notes()}


def hand_write(book: Notebook, name: str, header: str, body: str = "text") -> Path:
    path = Path(book.memories) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"---\n{header}\n---\n\n{body}\n")
    return path


def test_a_new_memory_is_written_as_the_format_says(book: Notebook) -> None:
    saved = book.remember("User prefers async/await!", ["preference", "no"])
    assert Path(saved.note.path).name == "001-user-prefers-async-await.md"
    assert Path(saved.note.path).read_text() == (
        "---\n"
        "id: 1\n"
        f"uid: {saved.note.meta['uid']}\n"
        'created: "2026-02-09T14:30:00+00:00"\n'
        "tags:\n"
        "- preference\n"
        '- "no"\n'
        "source: detected\n"
        "auto_category: preference\n"
        "---\n"
        "\n"
        "User prefers async/await!\n"
    )


def test_saying_it_twice_keeps_one_note_with_all_tags_and_the_new_wording(book: Notebook) -> None:
    book.remember("User prefers pytest", ["preference"])
    saved = book.remember("user prefers  pytest!", ["testing", "preference"])
    (note,) = book.notes()
    assert (saved.action, note.body, note.tags) == (
        "consolidated",
        "user prefers  pytest!",
        ["preference", "testing"],
    )
    assert note.meta["updated"] == "2026-02-09T14:30:00+00:00"


def test_a_similar_text_is_kept_beside_the_old_one_and_links_nothing(book: Notebook) -> None:
    """G8. Red when a program decides what the one is to the other."""
    book.remember("The project uses PostgreSQL 14")
    saved = book.remember("The project uses PostgreSQL 16")
    assert saved.action == "created"
    assert [(note.id, round(score)) for note, score in saved.similar] == [(1, 97)]
    assert not {"related", "updates", "supersedes"} & saved.note.meta.keys()
    assert texts(book) == {
        1: "The project uses PostgreSQL 14",
        2: "The project uses PostgreSQL 16",
    }


def test_what_a_person_kept_as_unrelated_is_linked_as_that(book: Notebook) -> None:
    old = book.remember("The project uses PostgreSQL 14").note
    saved = book.remember("The project uses PostgreSQL 16", related=[old])
    assert (saved.action, saved.note.meta["related"]) == ("related", [old.meta["uid"]])
    assert list(texts(book)) == [1, 2]


def test_a_replacement_archives_the_old_note_and_says_what_it_supersedes(book: Notebook) -> None:
    old = book.remember("The project uses PostgreSQL 14").note
    saved = book.remember("The project uses PostgreSQL 16", replaces="1")
    assert (saved.action, saved.note.meta["supersedes"]) == ("updated", [old.meta["uid"]])
    assert texts(book) == {2: "The project uses PostgreSQL 16"}
    assert [note.raw for _, note in book.archived()] == [old.raw]
    book.restore(1)
    assert book.find(1).raw == old.raw


def test_a_similar_note_collides_however_old_it_is(book: Notebook, clock: Clock) -> None:
    """Red when only the notes of the last days are compared."""
    book.remember("The project uses PostgreSQL 14")
    clock.now += timedelta(days=400)
    saved = book.remember("The project uses PostgreSQL 16")
    assert [note.id for note, _ in saved.similar] == [1]


def test_the_threshold_decides_what_is_similar(tmp_path: Path) -> None:
    book = Notebook(tmp_path, policy=Policy(threshold=98))
    book.remember("The project uses PostgreSQL 14")
    assert book.remember("The project uses PostgreSQL 16").similar == []


def test_saying_a_protected_text_again_changes_nothing_in_it(book: Notebook) -> None:
    """G8. Red when _plan_same stops asking whether the note is protected."""
    book.remember("Never force-push", ["rule"], fields={"decay_protected": True})
    before = book.find(1).raw
    saved = book.remember("never force-push!", ["git"])
    assert (saved.action, saved.change, book.find(1).raw) == ("consolidated", 0, before)


def test_a_protected_note_is_refused_by_forget_update_and_merge(book: Notebook) -> None:
    book.remember("The project uses PostgreSQL 14", fields={"decay_protected": True})
    with pytest.raises(Protected, match="memory 1 is protected"):
        book.forget(1)
    with pytest.raises(Protected):
        book.remember("The project uses PostgreSQL 16", replaces="1")
    book.remember("Something else entirely")
    for order in ([1, 2], [2, 1]):
        with pytest.raises(Protected):
            book.merge(order)
    assert len(book.notes()) == 2


def test_crossing_the_limit_joins_the_oldest_in_their_own_words(book: Notebook) -> None:
    for text in ("one", "two", "three", "four", "five"):
        book.remember(f"fact {text} of many", ["context"])
    saved = book.remember("the sixth thing, unlike the others")
    assert [note.id for note in saved.decayed] == [1, 2]
    assert saved.summary is not None
    assert saved.summary.tags == ["_consolidated", "_auto_decay"]
    assert saved.summary.meta["source"] == "auto_decay"
    one, two = (note.uid for note in saved.decayed)
    assert saved.summary.body == (
        "2 older memories, 2026-02-09 to 2026-02-09, in their own words.\n\n"
        f"## Memory 1 (2026-02-09, {one})\n\nTags: context\n\nfact one of many\n\n"
        f"## Memory 2 (2026-02-09, {two})\n\nTags: context\n\nfact two of many"
    )
    assert list(texts(book)) == [3, 4, 5, 6, 7]
    assert book.inside(2) is not None
    assert book.inside(3) is None


def test_undo_takes_back_the_decay_and_keeps_the_save(book: Notebook) -> None:
    for number in range(6):
        book.remember(f"{'abcdef'[number] * 9} is a fact")
    assert list(texts(book)) == [3, 4, 5, 6, 7]
    assert book.undo().op == "decay"
    assert list(texts(book)) == [1, 2, 3, 4, 5, 6]
    assert book.undo().op == "save"
    assert list(texts(book)) == [1, 2, 3, 4, 5]


def test_cut_only_archives(tmp_path: Path) -> None:
    book = Notebook(tmp_path, policy=Policy(max_count=3, strategy="cut", percentage=0.4))
    for letter in "abcd":
        saved = book.remember(letter * 9)
    assert ([note.id for note in saved.decayed], saved.summary) == ([1], None)
    assert list(texts(book)) == [2, 3, 4]
    book.restore(1)
    assert texts(book)[1] == "aaaaaaaaa"


def test_a_note_that_replaces_another_crosses_no_limit(tmp_path: Path) -> None:
    """Red when the note that goes is counted beside the one that comes in its place."""
    book = Notebook(tmp_path, policy=Policy(max_count=2))
    book.remember("We deploy on Tuesdays")
    book.remember("The office cat is called Ada")
    saved = book.remember("We deploy on Thursdays", replaces="1")
    assert (saved.action, saved.over, saved.decayed) == ("updated", 0, [])


def test_decay_passes_by_protected_pinned_and_consolidated_notes(tmp_path: Path) -> None:
    book = Notebook(tmp_path, policy=Policy(max_count=4, percentage=0.5))
    book.remember("a" * 9, fields={"decay_protected": True})
    book.remember("b" * 9, fields={"pinned": True})
    for letter in "cde":
        saved = book.remember(letter * 9)
    assert [note.id for note in saved.decayed] == [3, 4]
    saved = book.remember("f" * 9)  # only 5 could decay, and one alone is not joined
    assert (saved.decayed, saved.over) == ([], 5)
    assert list(texts(book)) == [1, 2, 5, 6, 7]


def test_a_notebook_over_its_limit_is_told_once_and_never_decayed_by_a_save(
    tmp_path: Path,
) -> None:
    book = Notebook(tmp_path, policy=Policy(max_count=2))
    for number in range(1, 5):
        hand_write(
            book,
            f"{number:03d}-x.md",
            f"id: {number}\ncreated: 2026-02-09T14:30:00Z",
            str(number) * 9,
        )
    told = [book.remember(letter * 9) for letter in "abc"]
    assert [(saved.over, saved.decayed) for saved in told] == [(5, []), (0, []), (0, [])]
    assert len(book.notes()) == 7
    plan = book.plan_decay()
    assert plan is not None
    book.commit(plan)
    assert len(book.notes()) == 6


def test_nothing_decays_when_nothing_may(book: Notebook) -> None:
    assert book.plan_decay() is None
    book.remember("only one")
    assert book.plan_decay() is None
    unwilling = Notebook(book.root, policy=Policy(max_count=1, percentage=0.0))
    assert unwilling.remember("a second one, unlike it").decayed == []


def test_forget_100_never_touches_1000(book: Notebook) -> None:
    for number in (100, 1000, 1001):
        hand_write(book, f"{number}-x.md", f"id: {number}\ncreated: 2026-02-09T14:30:00Z")
    book.forget("100")
    assert list(texts(book)) == [1000, 1001]
    with pytest.raises(NotFound, match="there is no memory 10"):
        book.forget(10)


def test_two_files_with_one_id_are_both_kept_listed_and_told_apart(book: Notebook) -> None:
    hand_write(book, "012-ours.md", "id: 12\ncreated: 2026-02-09T14:30:00Z", "ours")
    hand_write(book, "012-theirs.md", "id: 12\ncreated: 2026-02-09T14:30:00Z", "theirs")
    with pytest.raises(Ambiguous) as caught:
        book.forget(12)
    assert [getattr(note, "name", "") for note in caught.value.choices] == [
        "012-ours.md",
        "012-theirs.md",
    ]
    assert [Path(problem.path).name for problem in diagnose(book)] == [
        "012-ours.md",
        "012-theirs.md",
    ]
    book.forget("012-theirs")
    assert [note.body for note in book.notes()] == ["ours"]
    assert book.remember("brand new").note.id == 13


def test_a_number_is_never_given_twice(book: Notebook) -> None:
    book.remember("first")
    book.remember("something second")
    book.forget(2)
    purge(book, find_copies(book, "2"))
    assert book.remember("a third one").note.id == 3


def test_a_broken_file_keeps_its_number(book: Notebook) -> None:
    hand_write(book, "007-broken.md", "id: [")
    assert book.remember("hello there").note.id == 8
    assert [problem.line for problem in book.look().problems] == [3]


def test_the_number_space_ends_with_an_error_that_names_the_way_out(book: Notebook) -> None:
    hand_write(book, "x.md", "id: 999999999\ncreated: 2026-02-09T14:30:00Z")
    with pytest.raises(CoError, match="no number is left"):
        book.remember("one more")


def test_merge_joins_texts_tags_and_links(book: Notebook) -> None:
    first = book.remember("Alice owns billing", ["people"]).note
    second = book.remember("Deploys happen on Tuesday", ["process"]).note
    merged = book.merge([1, 2]).note
    assert merged.body == "Alice owns billing\n\nDeploys happen on Tuesday"
    assert merged.tags == ["people", "process"]
    assert merged.meta["supersedes"] == [second.uid]
    assert list(texts(book)) == [1]
    book.undo()
    assert book.find(1).raw == first.raw
    assert book.find(2).raw == second.raw


def test_merge_can_keep_the_first_wording_alone(book: Notebook) -> None:
    book.remember("The project uses PostgreSQL 14", ["db"])
    book.remember("The project uses PostgreSQL 16")
    assert book.merge([2, 1], keep_first=True).note.body == "The project uses PostgreSQL 16"
    assert [(note.id, note.tags) for note in book.notes()] == [(2, ["db"])]
    with pytest.raises(CoError, match="two different memories"):
        book.merge([2, 2])


def test_undo_refuses_when_a_file_has_moved_on(book: Notebook) -> None:
    note = book.remember("first words").note
    with open(note.path, "a") as file:
        file.write("a hand edit\n")
    with pytest.raises(MovedOn, match="has changed since change 1"):
        book.undo()
    assert "a hand edit" in book.find(1).body


def test_an_undone_change_can_be_done_again_and_not_undone_twice(book: Notebook) -> None:
    raw = book.remember("first words").note.raw
    book.undo()
    assert texts(book) == {}
    with pytest.raises(MovedOn, match="undone already"):
        book.undo(1)
    with pytest.raises(NotFound, match="nothing to undo"):
        book.undo()
    assert book.undo(2).op == "undo"
    assert book.find(1).raw == raw
    with pytest.raises(NotFound, match="no change 99"):
        book.undo(99)


def test_restore_brings_back_what_forget_archived(book: Notebook) -> None:
    raw = book.remember("first words").note.raw
    book.forget(1)
    with pytest.raises(NotFound) as caught:
        book.find(1)
    assert "co knowledge restore 1" in caught.value.hint
    assert book.restore("1").note.raw == raw
    with pytest.raises(NotFound, match="memory 1 is not archived"):
        book.restore(1)
    with pytest.raises(NotFound, match="the archive holds no memory 9"):
        book.restore(9)


def test_two_archived_notes_of_one_number_are_told_apart(book: Notebook) -> None:
    for name in ("ours", "theirs"):
        hand_write(book, f"012-{name}.md", "id: 12\ncreated: 2026-02-09T14:30:00Z", name)
        book.forget(f"012-{name}")
    with pytest.raises(Ambiguous, match="2 memories are called 12"):
        book.restore(12)
    assert book.restore("012-ours").note.body == "ours"


def test_protect_and_unprotect_change_one_line(book: Notebook) -> None:
    note = book.remember("first words").note
    book.protect(1)
    assert book.find(1).raw == note.raw.replace(b"---\n\n", b"decay_protected: true\n---\n\n")
    assert book.protect(1).action == "unchanged"
    book.protect(1, on=False)
    assert b"decay_protected: false\n" in book.find(1).raw


def test_the_same_tool_call_arriving_twice_saves_once(book: Notebook) -> None:
    first = book.remember("first words", call="call-1")
    again = book.remember("first words", call="call-1")
    assert (again.note.id, again.note.raw) == (first.note.id, first.note.raw)
    assert len(book.notes()) == 1


def _forgotten(book: Notebook) -> None:
    book.forget(1)


def _undone(book: Notebook) -> None:
    book.undo()


def _purged(book: Notebook) -> None:
    purge(book, find_copies(book, "1"))


def _decayed(book: Notebook) -> None:
    book.remember("something else")
    plan = book.plan_decay()
    assert plan is not None
    book.commit(plan)


def _edited_by_hand(book: Notebook) -> None:
    path = Path(book.find(1).path)
    path.write_text(path.read_text().replace("first words", "quite another thing"))


@pytest.mark.parametrize("gone", [_forgotten, _undone, _purged, _decayed, _edited_by_hand])
def test_a_call_repeated_after_its_note_is_gone_saves_anew(
    gone: Callable[[Notebook], None], book: Notebook
) -> None:
    """Red when "✓ Saved" is said of a text that no note holds any more."""
    book.remember("first words", call="call-1")
    gone(book)
    saved = book.remember("first words", call="call-1")
    assert (saved.action, saved.note.body) == ("created", "first words")
    assert Path(saved.note.path).read_bytes() == saved.note.raw
    assert book.remember("first words", call="call-1").note == saved.note


def test_a_call_id_that_recurs_with_another_text_loses_nothing(book: Notebook) -> None:
    """Red when a repeated call is known by its id alone: ids start again in each conversation."""
    book.remember("alpha is first", call="save_memory:0")
    assert book.remember("bravo is second", call="save_memory:0").note.body == "bravo is second"
    assert len(book.notes()) == 2


def test_a_person_s_edit_is_kept_only_over_what_they_edited(book: Notebook) -> None:
    note = book.remember("first words").note
    book.replace(note, note.raw.replace(b"first", b"better"))
    assert texts(book) == {1: "better words"}
    with pytest.raises(MovedOn):
        book.replace(note, note.raw.replace(b"first", b"worse"))
    fresh = book.find(1)
    with pytest.raises(FormatError, match="must stay 1"):
        book.replace(fresh, fresh.raw.replace(b"id: 1\n", b"id: 2\n"))


def test_consolidating_drops_the_legacy_reason(book: Notebook) -> None:
    hand_write(
        book,
        "003-old.md",
        "id: 3\ncreated: 2026-02-09T14:30:00Z\nconsolidation_reason: dup\n# mine\ntags: [a]  # two",
        "old words",
    )
    book.consolidate(3, "Old words", ["b"])
    assert book.find(3).raw.decode() == (
        "---\nid: 3\ncreated: 2026-02-09T14:30:00Z\n# mine\ntags: [a, b]  # two\n"
        'updated: "2026-02-09T14:30:00+00:00"\n---\n\nOld words\n'
    )


@pytest.mark.parametrize(
    ("text", "rule"), [("", "empty"), ("x" * 16385, "too-long"), ("a\u202eb", "bidi-control")]
)
def test_a_refused_text_writes_nothing(book: Notebook, text: str, rule: str) -> None:
    with pytest.raises(RefusedText) as caught:
        book.remember(text)
    assert caught.value.rule == rule
    assert not os.path.exists(book.root)


def test_purge_removes_every_copy_even_inside_a_consolidated_note(book: Notebook) -> None:
    book.remember("The zebra is striped")
    book.remember("the zebra is striped.")
    for letter in "bcdef":
        book.remember(letter * 9)
    assert book.inside(1) is not None
    book.undo()
    book.undo(9)  # the undo of the decay: decayed again
    purge(book, find_copies(book, "1"))
    left = [
        path
        for path in Path(book.root).rglob("*")
        if path.is_file() and b"zebra" in path.read_bytes().lower()
    ]
    assert left == []
    assert book.inside(2) is not None
    assert [entry.op for entry in book.store.entries()][-1] == "purge"
    assert "bbbbbbbbb" in (book.inside(2) or ("", ""))[1]


def test_purging_an_archived_note_works_and_a_protected_one_is_refused(book: Notebook) -> None:
    book.remember("first words")
    book.forget(1)
    purge(book, find_copies(book, "1"))
    assert book.archived() == []
    with pytest.raises(NotFound):
        find_copies(book, "1")
    book.remember("second words", fields={"decay_protected": True})
    with pytest.raises(Protected):
        find_copies(book, "2")


def test_an_import_adds_what_is_new_names_what_is_refused_and_can_be_undone(book: Notebook) -> None:
    book.remember("Known already")
    items = [
        ImportItem("known already.", "a.md"),
        ImportItem("New thing", "b.md", ("x",), "2020-01-01T00:00:00Z"),
        ImportItem("new thing!", "c.md"),
        ImportItem("  ", "d.md"),
    ]
    plan = book.plan_import(items, context=b"# hello\n")
    assert [note.body for note in plan.added] == ["New thing"]
    assert [item.origin for item in plan.known] == ["a.md", "c.md"]
    assert [problem.path for problem in plan.refused] == ["d.md"]
    assert plan.change is not None
    book.store.commit(plan.change)
    assert book.find(2).created == "2020-01-01T00:00:00Z"
    assert book.find(2).meta["source"] == "import"
    assert (Path(book.root) / "context.md").read_bytes() == b"# hello\n"
    assert book.plan_import(items, context=b"# hello\n").change is None
    book.undo()
    assert texts(book) == {1: "Known already"}
    assert not (Path(book.root) / "context.md").exists()


def test_doctor_names_each_trouble_and_changes_nothing(book: Notebook) -> None:
    book.remember("first words")
    hand_write(book, "009-conflict.md", "id: 9\ncreated: 2026-02-09T14:30:00Z\nexpires: soon",
               "x\n<<<<<<< HEAD\na\n=======\nb\n>>>>>>> other")  # fmt: skip
    hand_write(book, "011-utf16.md", "").write_bytes("---\nid: 1\n---\n".encode("utf-16"))
    with open(book.store.locate(JOURNAL), "a") as journal:
        journal.write("not json\n")
    assert [(Path(p.path).name, p.line, p.reason) for p in diagnose(book)] == [
        ("011-utf16.md", 1, "is UTF-16, not UTF-8"),
        ("009-conflict.md", 8, "holds an unresolved merge conflict; keep either side"),
        ("009-conflict.md", 0, "`expires` is not a date: soon"),
        ("journal.jsonl", 3, "a line cannot be read and is passed over"),
    ]


def test_recall_puts_the_exact_text_first_and_expired_notes_last(
    book: Notebook,
) -> None:
    book.remember("Deploy with make deploy", fields={"expires": "2026-02-01"})
    book.remember("Use make deploy every Tuesday")
    book.remember("Tuesday is the day when we deploy things")
    book.remember("Nothing in common")
    hits = book.recall("make deploy")
    assert [(hit.note.id, hit.why) for hit in hits] == [
        (2, "exact text"),
        (1, "exact text"),
        (3, "words: deploy; meaning"),
    ]
    assert [hit.note.id for hit in book.recall("which day do we deploy?", limit=1)] == [3]
    assert book.recall("  ") == []


def test_a_save_reads_each_note_at_most_once(book: Notebook) -> None:
    """Red when the scan stops keeping what has not changed, or a verb scans by itself."""
    for letter in "abcd":
        book.remember(letter * 9)
    again = Notebook(book.root, policy=book.policy)
    opened: list[str] = []
    real = os.open

    def counting(path: str, *args: int, **options: int) -> int:
        opened.append(os.fspath(path))
        return real(path, *args, **options)

    os.open = counting  # type: ignore[assignment]
    try:
        again.remember("unlike all the others")
    finally:
        os.open = real
    read = [path for path in opened if path.endswith(".md") and ".co-" not in path]
    assert len(read) == len(set(read))
    assert len({path for path in read if "unlike" not in path}) == 4


def test_a_disk_without_links_or_exchanges_is_served_too(
    book: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Red when a note cannot be created or rewritten where the system lacks those calls."""

    def refuse(*_args: object, **_options: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    monkeypatch.setattr(ctypes, "CDLL", lambda *_args, **_options: object())
    raw = book.remember("first words", ["a"]).note.raw
    book.remember("First words", ["b"])
    assert [(note.body, note.tags) for note in book.notes()] == [("First words", ["a", "b"])]
    book.undo()
    assert book.find(1).raw == raw
    book.forget(1)
    assert book.restore(1).note.raw == raw


def test_a_failing_decay_does_not_unsay_the_save(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Red when trouble after the acknowledgement reaches the caller as an error of the save."""
    book = Notebook(tmp_path, policy=Policy(max_count=2))
    book.remember("a" * 9)
    book.remember("b" * 9)
    real = os.rename

    def full(*args: str) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", args[0])

    monkeypatch.setattr(os, "rename", full)
    saved = book.remember("c" * 9)
    assert saved.trouble.startswith("the oldest notes did not decay: No space left")
    monkeypatch.setattr(os, "rename", real)
    assert (saved.action, saved.decayed, list(texts(book))) == ("created", [], [1, 2, 3])


def test_undo_after_a_redo_takes_back_what_came_last(book: Notebook) -> None:
    book.remember("alpha is first")
    book.remember("bravo is second")
    book.undo()
    book.undo(3)
    assert book.undo().n == 2
    assert texts(book) == {1: "alpha is first"}


def test_undo_does_not_pass_over_a_purge(book: Notebook) -> None:
    book.remember("alpha is first")
    book.remember("bravo is second")
    purge(book, find_copies(book, "2"))
    with pytest.raises(NotFound, match="is a purge") as caught:
        book.undo()
    assert caught.value.hint == "The one before it: co knowledge undo 1"
    with pytest.raises(NotFound, match="was purged"):
        book.undo(2)
    book.undo(1)
    assert texts(book) == {}


def test_a_purge_looks_again_before_it_destroys(book: Notebook) -> None:
    """G5. Red when purge trusts what it saw before the person was asked."""
    note = book.remember("alpha is first").note
    copies = find_copies(book, "1")
    with open(note.path, "a") as file:
        file.write("a hand edit\n")
    with pytest.raises(MovedOn):
        purge(book, copies)
    assert "a hand edit" in book.find(1).body


def test_a_line_that_looks_like_a_heading_of_ours_plants_nothing(tmp_path: Path) -> None:
    book = Notebook(tmp_path, policy=Policy(max_count=2))
    book.remember("real words\n\n## Memory 7 (2026-01-01)\n\nplanted words")
    book.remember("b" * 9)
    book.remember("c" * 9)
    assert book.inside(7) is None
    purge(book, find_copies(book, "1"))
    assert ["planted" in note.body for note in book.notes()] == [False, False]


def test_merging_and_decay_do_not_launder_where_a_text_came_from(tmp_path: Path) -> None:
    """G15. Red when a mark of distrust or secrecy is lost on the way into another note."""
    book = Notebook(tmp_path, policy=Policy(max_count=3, percentage=0.7))
    book.remember("mine alone")
    book.remember("from the web", fields={"trust": "external", "sensitive": True})
    merged = book.merge([1, 2]).note
    assert (merged.meta["trust"], merged.meta["sensitive"]) == ("external", True)
    for letter in "abc":
        saved = book.remember(letter * 9)
    assert [note.id for note in saved.decayed] == [3, 4]


def test_saying_an_expired_fact_again_makes_it_hold_again(book: Notebook, clock: Clock) -> None:
    book.remember("Freeze until Friday", fields={"expires": "2026-02-10"})
    clock.now += timedelta(days=30)
    book.remember("freeze until Friday")
    assert "expires" not in book.find(1).meta


def test_a_merge_that_could_not_be_read_again_is_refused(book: Notebook) -> None:
    for number in (1, 2):
        hand_write(book, f"00{number}-x.md", f"id: {number}\ncreated: 2026-02-09T14:30:00Z",
                   f"{number} " * 2_500_000)  # fmt: skip
    with pytest.raises(FormatError, match="too large"):
        book.merge([1, 2])
    assert len(book.notes()) == 2


def test_a_very_large_decay_still_fits_its_header(tmp_path: Path) -> None:
    book = Notebook(tmp_path, policy=Policy(max_count=1200, percentage=0.9))
    for number in range(1, 1201):
        hand_write(book, f"{number:03d}-x.md", f"id: {number}\ncreated: 2026-02-09T14:30:00Z",
                   f"fact {number}")  # fmt: skip
    plan = book.plan_decay()
    assert plan is not None
    assert len(plan.saved.decayed) == 1080


def test_a_lost_journal_does_not_cost_what_the_archive_holds(book: Notebook) -> None:
    """G8. Red when numbering starts again at one and writes over kept bytes."""
    book.remember("first words")
    book.remember("First words")
    kept = Path(book.store.locate("archive")) / "000002/memories/001-first-words.md"
    before = kept.read_bytes()
    os.unlink(book.store.locate(JOURNAL))
    book.remember("first words!")
    book.remember("First  words.")
    assert kept.read_bytes() == before


def test_what_a_dead_process_left_is_settled_by_the_next_look(book: Notebook) -> None:
    """Red when a notebook that stays open shows half a change for ever."""
    note = book.remember("first words").note
    os.makedirs(os.path.dirname(book.store.locate("memories/001-first-words.md", 2)))
    file = {
        "path": "memories/001-first-words.md",
        "before": hashlib.sha256(note.raw).hexdigest(),
        "after": None,
    }
    other = {"path": "memories/002-more.md", "before": None, "after": "0" * 64}
    FolderStore(book.root).journal.append(Entry(2, "intent", 2, "merge", files=[file, other]))
    os.rename(note.path, book.store.locate(file["path"] or "", 2))
    assert texts(book) == {1: "first words"}


def test_an_item_with_an_unreadable_date_does_not_stop_an_import(book: Notebook) -> None:
    items = [ImportItem("One", "a", (), "long ago"), ImportItem("Two", "b")]
    plan = book.plan_import(items)
    assert [note.body for note in plan.added] == ["Two"]
    assert [problem.path for problem in plan.refused] == ["a"]


def test_one_of_two_twins_may_be_given_a_free_number(book: Notebook) -> None:
    for name in ("ours", "theirs"):
        hand_write(book, f"012-{name}.md", "id: 12\ncreated: 2026-02-09T14:30:00Z", name)
    note = book.find("012-theirs")
    book.replace(note, note.raw.replace(b"id: 12", b"id: 40"))
    assert texts(book) == {12: "ours", 40: "theirs"}
    assert diagnose(book) == []
    with pytest.raises(FormatError, match="must stay 40"):
        book.replace(book.find(40), book.find(40).raw.replace(b"id: 40", b"id: 41"))
    assert book.remember("brand new").note.id == 41


def test_a_misspelt_option_is_an_error_and_not_a_header_field(book: Notebook) -> None:
    """Red when `remember` takes any keyword for a field of the header."""
    with pytest.raises(TypeError, match="decay_protect"):
        book.remember("Apples are red", decay_protect=True)  # type: ignore[call-arg]
    assert book.notes() == []


def test_the_next_number_does_not_depend_on_what_was_read(book: Notebook) -> None:
    """Red when `next_id` tells what an earlier look found, or looking changes it."""
    book.remember("Apples are red")
    fresh = Notebook(book.root)
    assert fresh.next_id() == 2
    hand_write(book, "009-by-hand.md", "id: 9\ncreated: 2026-02-09T14:30:00Z", "Pears are green")
    assert (fresh.next_id(), len(fresh.notes()), fresh.next_id()) == (10, 2, 10)
    assert fresh.look().problems == []


def test_a_text_in_full_width_letters_is_the_same_as_in_plain_ones(book: Notebook) -> None:
    """Red when a quick look for the longest word passes over what is spelled in other forms."""
    book.remember("User \uff50\uff52\uff45\uff46\uff45\uff52\uff53 tea")
    assert book.remember("User prefers tea").action == "consolidated"
