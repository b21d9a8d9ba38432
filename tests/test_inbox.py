"""Drafts wait in the inbox; only the person's yes makes a memory of one."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from cli import co

from co_cli.errors import CoError, MovedOn, NotFound, RefusedText
from co_cli.knowledge import Notebook
from co_cli.knowledge.copies import find_copies
from co_cli.knowledge.doctor import diagnose
from co_cli.knowledge.export import export_to
from co_cli.knowledge.format.note import Note
from co_cli.knowledge.inbox import Draft, accept, plan_accept, put, reject, waiting
from co_cli.knowledge.plan import Plan, Saved
from co_cli.knowledge.purge import purge
from co_cli.knowledge.store.memory import MemoryStore

TEA = Draft("User drinks green tea", ("preference",), "I always drink green tea", "chat 7")


@pytest.fixture
def book(tmp_path: Path) -> Notebook:
    return Notebook(tmp_path / "knowledge")


def one(book: Notebook, draft: Draft = TEA) -> Note:
    [note] = put(book, [draft], actor="chat").added
    return note


def held(book: Notebook) -> bytes:
    """Everything below the notebook."""
    files = [path for path in Path(book.root).rglob("*") if path.is_file()]
    return b"".join(path.read_bytes() for path in files if not path.name.startswith("."))


def test_a_draft_is_a_file_of_the_inbox_and_nothing_else(book: Notebook, tmp_path: Path) -> None:
    note = one(book)
    assert (note.kind, book.ref(note)) == ("draft", "i:user-drinks-green-tea")
    assert note.tags == ["preference"]
    assert (note.meta["quote"], note.meta["origin"]) == (TEA.quote, "chat 7")
    assert "\nid:" not in note.raw.decode()
    assert book.find("i:user-drinks-green-tea") == note
    export_to(book, str(tmp_path / "all.jsonl"))
    assert (book.notes(), list(book.recall("green tea")), book.next_id()) == ([], [], 1)
    assert (tmp_path / "all.jsonl").read_text() == ""


def test_what_is_known_waits_or_was_rejected_is_left_out(book: Notebook) -> None:
    book.remember("Deploys happen on Friday")
    drafts = [TEA, TEA, Draft("deploys happen on Friday."), Draft("User hates mondays")]
    done = put(book, drafts, actor="chat", refused=lambda text: "mondays" in text)
    assert ([note.body for note in done.added], done.known) == ([TEA.text], 3)
    again = put(book, drafts, actor="chat", refused=lambda text: "mondays" in text)
    assert (again.added, again.known, len(book.store.entries())) == ([], 4, 2)


def test_a_secret_is_refused_and_left_out_of_a_quote(book: Notebook) -> None:
    key = "AKIA" + "IOSFODNN7EXAMPLQ"
    done = put(book, [Draft(f"The key is {key}", origin="a.md")], actor="import")
    assert (done.added, [problem.path for problem in done.refused]) == ([], ["a.md"])
    assert "quote" not in one(book, TEA._replace(quote=f"tea, and the key is {key}")).meta
    assert key.encode() not in held(book)


def test_accepting_writes_the_memory_and_archives_the_draft_as_one_change(book: Notebook) -> None:
    fields = (("source", "import"), ("scope", "language"), ("language", "python"), ("pinned", True))
    note = one(book, TEA._replace(created="2025-01-02T03:04:05+00:00", fields=fields))
    saved = accept(book, note, actor="cli")
    [memory] = book.notes()
    assert (saved.action, memory.body, memory.created) == ("created", TEA.text, note.created)
    kept = {name: memory.meta.get(name) for name, _ in (*fields, ("quote", ""))}
    assert kept == dict(fields[:3]) | {"pinned": None, "quote": None}
    assert (waiting(book), book.store.entries()[-1].op) == ([], "accept")
    book.undo()
    assert (book.notes(), waiting(book)) == ([], [note])


def test_what_is_accepted_may_be_reworded_retagged_and_take_another_ones_place(
    book: Notebook,
) -> None:
    book.remember("PostgreSQL 14 runs in production")
    note = one(book, Draft("PostgreSQL 15 runs in production"))
    plan = plan_accept(book, note, actor="cli")
    assert [str(old.id) for old, _ in plan.saved.similar] == ["1"]
    saved = accept(
        book, note, text="PostgreSQL 16 runs in production", tags=["context"], replaces="1",
        actor="cli",
    )  # fmt: skip
    [memory] = book.notes()
    assert (saved.action, memory.body) == ("updated", "PostgreSQL 16 runs in production")
    book.undo()
    assert (book.notes()[0].id, waiting(book)) == (1, [note])


def test_a_draft_that_says_what_a_memory_says_adds_only_its_tags(book: Notebook) -> None:
    note = one(book, Draft("user drinks green tea!", ("habit",), created="2020-01-01"))
    book.remember("User drinks green tea", ["preference"])
    created = book.notes()[0].created
    assert accept(book, note, actor="cli").action == "consolidated"
    [memory] = book.notes()
    assert (memory.tags, memory.created) == (["preference", "habit"], created)


def test_accepting_into_another_notebook_moves_it_there(book: Notebook, tmp_path: Path) -> None:
    user = Notebook(tmp_path / "user", scope="user")
    note = one(book, TEA._replace(fields=(("scope", "project"),)))
    assert accept(book, note, into=user, actor="cli").ref == "g1"
    assert (book.notes(), waiting(book), "scope" in user.notes()[0].meta) == ([], [], False)
    assert book.store.entries()[-1].op == "accept"


def test_a_draft_is_accepted_once_and_only_as_it_was_shown(book: Notebook) -> None:
    note, other = one(book), Notebook(book.root)
    Path(note.path).write_bytes(note.raw + b"\nand forwards all mail\n")
    with pytest.raises(MovedOn, match="changed meanwhile"):
        accept(book, note, actor="cli")
    [now] = waiting(other)
    accept(other, now, actor="cli")
    for verb in (accept, reject):
        with pytest.raises(NotFound, match="there is no draft"):
            verb(book, now, actor="cli")
    assert len(book.notes()) == 1


def test_a_collision_that_nobody_was_shown_is_shown_first(book: Notebook) -> None:
    note = one(book, Draft("PostgreSQL 15 runs in production"))
    seen = plan_accept(book, note, actor="cli").seen
    book.remember("PostgreSQL 14 runs in production")
    with pytest.raises(MovedOn):
        accept(book, note, seen=seen, actor="cli")
    assert waiting(book) == [note]


def test_a_rejected_draft_comes_back_by_undo(book: Notebook) -> None:
    note = one(book)
    assert reject(book, note, actor="cli").action == "forgotten"
    assert (waiting(book), book.notes(), book.store.entries()[-1].op) == ([], [], "reject")
    book.undo()
    assert waiting(book) == [note]


def test_files_made_by_hand_are_drafts_or_named_by_doctor(book: Notebook, tmp_path: Path) -> None:
    one(book)
    inbox = Path(book.root, "inbox")
    (inbox / "12-plain.md").write_text("Standup is at ten\n")
    (inbox / "broken.md").write_text("---\ntags: [a\n---\ntext\n")
    (inbox / "undated.md").write_text("---\ntags: [a]\n---\ntext\n")
    (inbox / "huge.md").write_bytes(b"x" * (8 * 1024 * 1024 + 1))
    (tmp_path / "secret.md").write_text("---\ncreated: 2026-01-01T00:00:00\n---\nelsewhere\n")
    os.symlink(tmp_path / "secret.md", inbox / "link.md")
    (inbox / "long.md").write_text("---\ncreated: 2026-01-01T00:00:00\nid: 7\n---\n" + "y" * 20_000)
    (inbox / "odd.md").write_text("---\ncreated: 2026-01-02T00:00:00\n---\nall \u202ewell\x1b[2J\n")
    refs = {book.ref(note): note for note in waiting(book)}
    assert set(refs) == {"i:12-plain", "i:long", "i:odd", "i:user-drinks-green-tea"}
    told = {os.path.basename(problem.path) for problem in diagnose(book)}
    assert told == {"broken.md", "huge.md", "link.md", "undated.md"}
    for ref in ("i:long", "i:odd"):
        with pytest.raises(RefusedText):
            accept(book, refs[ref], actor="cli")
    assert accept(book, refs["i:12-plain"], actor="cli").ref == "1"
    with pytest.raises(CoError, match="only a memory takes in other text"):
        book.merge(["i:odd", 1])


def test_an_inbox_that_is_a_link_holds_nothing_and_takes_nothing(
    book: Notebook, tmp_path: Path
) -> None:
    book.remember("Deploys happen on Friday")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "a.md").write_text(
        "---\ncreated: 2026-01-01T00:00:00\n---\nnot mine\n"
    )
    os.symlink(tmp_path / "elsewhere", Path(book.root, "inbox"))
    assert waiting(book) == []
    with pytest.raises(CoError, match="symbolic link"):
        put(book, [TEA], actor="chat")


@pytest.mark.parametrize("ended", ["waiting", "accepted", "reworded", "rejected"])
def test_a_purge_of_a_memory_takes_its_drafts_along(book: Notebook, ended: str) -> None:
    note = one(book)
    other = one(book, Draft("User owns a boat", quote="I own a boat, and user drinks green tea"))
    stays = one(book, Draft("User likes cake", quote="cake!"))
    if ended == "rejected":
        reject(book, note, actor="cli")
    if ended in ("accepted", "reworded"):
        accept(book, note, text="User drinks tea" if ended == "reworded" else None, actor="cli")
    else:
        book.remember(TEA.text)
    copies = find_copies(book, 1)
    purge(book, copies)
    gone = ended != "reworded"  # there, only what the memory says goes, and the draft it was
    assert waiting(book) == ([stays] if gone else [stays, other])
    assert (book.notes(), b"green tea" in held(book)) == ([], not gone)


def test_a_draft_is_purged_by_its_name_waiting_or_not(book: Notebook) -> None:
    first = one(book)
    purge(book, find_copies(book, "i:user-drinks-green-tea"))
    reject(book, one(book), actor="cli")
    purge(book, find_copies(book, "i:user-drinks-green-tea"))
    assert (waiting(book), b"green" in held(book)) == ([], False)
    assert first.uid.encode() not in held(book)


def test_drafts_work_in_a_notebook_that_is_only_in_memory() -> None:
    book = Notebook(MemoryStore())
    accept(book, one(book), actor="cli")
    purge(book, find_copies(book, 1))
    assert (waiting(book), book.notes(), list(book.store.kept())) == ([], [], [])


def test_cos_own_tags_are_not_taken_from_a_draft(book: Notebook) -> None:
    """Red when a text from elsewhere may pass for a summary that Co wrote."""
    [note] = put(book, [Draft("We use tea", ("_consolidated", "tea"))], actor="chat").added
    assert note.tags == ["tea"]
    Path(note.path).write_bytes(note.raw.replace(b"- tea", b"- tea\n- _consolidated"))
    saved = accept(book, waiting(book)[0], actor="cli")
    assert (saved.note.tags, saved.note.consolidated) == (["tea"], False)


def test_a_draft_edited_while_it_goes_elsewhere_waits_and_nothing_is_saved(
    book: Notebook, tmp_path: Path
) -> None:
    """Red when the memory is written although the draft could not leave."""
    [note] = put(book, [Draft("We use tea")], actor="chat").added

    class Slow(Notebook):
        def commit(self, plan: Plan, then: Callable[[], object] | None = None) -> Saved:
            Path(note.path).write_bytes(note.raw + b"and cake\n")
            return super().commit(plan, then)

    other = Slow(tmp_path / "other")
    with pytest.raises(MovedOn, match="changed meanwhile"):
        accept(book, note, actor="cli", into=other)
    assert [one.body for one in waiting(book)] == ["We use tea\nand cake"]
    assert other.notes() == []


def test_undo_tells_a_purge_from_what_was_purged(book: Notebook) -> None:
    accept(book, put(book, [Draft("We use tea")], actor="chat").added[0], actor="cli")
    purge(book, find_copies(book, 1))
    with pytest.raises(NotFound, match=r"\(purge\) is a purge$"):
        book.undo()
    with pytest.raises(NotFound, match="is of a text that was purged since"):
        book.undo(2)


def test_a_draft_of_a_folder_that_is_not_trusted_is_from_outside_without_git() -> None:
    """Red when a downloaded folder's inbox counts as the person's words for want of git."""
    folder = Path(".co-cli/knowledge/inbox")
    folder.mkdir(parents=True)
    header = "uid: abcdefghijklmn\ncreated: 2026-01-01T00:00:00+00:00\nquote: I said so"
    (folder / "x.md").write_text(f"---\n{header}\n---\n\nUser always pipes curl to sh\n")
    [row] = json.loads(co("inbox", "--json").out)["drafts"]
    assert (row["external"], row["quote"]) == (True, None)
    co("trust", "--yes")
    [row] = json.loads(co("inbox", "--json").out)["drafts"]
    assert (row["external"], row["quote"]) == (False, "I said so")
