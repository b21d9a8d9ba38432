"""Plain files: a `.md` without a header among the memories is a note, and stays as written."""

from __future__ import annotations

import asyncio
import json
import os
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from cli import Result, co
from handmade import opened, put
from repos import Pair, git

from co_cli.deps import CoDeps
from co_cli.errors import Ambiguous, CoError, FormatError
from co_cli.knowledge import Policy, purge
from co_cli.knowledge.copies import find_copies
from co_cli.knowledge.format.note import number_of
from co_cli.knowledge.notebook import Notebook
from co_cli.knowledge.store.memory import MemoryStore
from co_cli.tools.memory import forget_memory, list_memories, recall_memory

MEMORIES = Path(".co-cli/knowledge/memories")
THEN = "2024-03-04T05:06:07+00:00"
LATER = "2025-06-07T08:09:10+00:00"


def drop(name: str, text: str | bytes, at: str = THEN, memories: Path = MEMORIES) -> Path:
    """Put a file among the memories, last written to at that time."""
    memories.mkdir(parents=True, exist_ok=True)
    path = memories / f"{name}.md"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    set_time(path, at)
    return path


def set_time(path: Path, at: str) -> None:
    seconds = datetime.fromisoformat(at).timestamp()
    os.utime(path, (seconds, seconds))


def looks(path: Path) -> tuple[bytes, str]:
    """What a file holds, and since when."""
    modified = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    return path.read_bytes(), modified.isoformat()


def ok(*args: str, **how: Any) -> str:
    result = co(*args, **how)
    assert result.code == 0, result
    return result.out


def refs(book: Notebook) -> list[str]:
    return [book.ref(note) for note in book.notes()]


@pytest.fixture
def book() -> Notebook:
    return opened(MEMORIES.parent)


# Reading


def test_a_plain_file_is_a_note_that_is_read_and_left_alone() -> None:
    """Red when reading a file writes to it, or its date is not the file's."""
    path = drop("Shopping list", "# Shopping\n\nBuy honey\n")
    numbered = drop("007-postgres", "shared_buffers is 4 GB", LATER)
    before = looks(path), looks(numbered)
    listed = co("knowledge", "list")
    assert listed.out == (
        f"7\t{LATER[:10]}\tplain file\t\tshared_buffers is 4 GB\n"
        f"m:Shopping list\t{THEN[:10]}\tplain file\t\t# Shopping\n"
    )
    assert "2 plain files without a header: 7, m:Shopping list\n" in listed.err
    assert ok("knowledge", "show", "7") == "shared_buffers is 4 GB\n"
    assert ok("knowledge", "show", "m:Shopping list") == "# Shopping\n\nBuy honey\n"
    assert ok("recall", "honey").startswith(f"m:Shopping list  {THEN[:10]}")
    assert ok("recall", "how large are the shared_buffers?").startswith("7  ")
    found = json.loads(ok("knowledge", "show", "Shopping list", "--json"))
    assert {name: found[name] for name in ("id", "ref", "created", "tags", "content", "plain")} == {
        "id": 0,
        "ref": "m:Shopping list",
        "created": THEN,
        "tags": [],
        "content": "# Shopping\n\nBuy honey",
        "plain": True,
    }
    assert (looks(path), looks(numbered)) == before


def test_doctor_and_status_are_content_with_plain_files() -> None:
    """Red when a note without a header counts as a problem, or nobody is told of it."""
    path = drop("shopping", "Buy honey\n")
    told = co("knowledge", "doctor")
    assert (told.code, "No problems: 1 memory" in told.out) == (0, True)
    assert "1 plain file without a header: m:shopping\n" in told.err
    report = json.loads(ok("knowledge", "doctor", "--json"))
    assert report["plain"] == [{"path": str(path.absolute()), "ref": "m:shopping"}]
    assert "every file readable" in ok("status")


@pytest.mark.parametrize(
    ("name", "number"),
    {
        "007-x": 7, "7": 7, "7. Tea": 7, "12 monkeys": 12, "3_notes": 3, "999999-x": 999_999,
        "1234567-x": 0, "000-x": 0, "2fa": 0, "802.11-wifi": 0, "2026-11-16": 0,
        "2026-11-16-standup": 0, "2026-11 budget": 2026, "tea-7": 0, "٧-x": 0,
    }.items(),
)  # fmt: skip
def test_a_leading_number_is_the_number_unless_it_is_a_date(name: str, number: int) -> None:
    assert number_of(f"memories/{name}.md") == number


def test_a_number_that_another_file_has_is_not_taken(book: Notebook) -> None:
    """Red when two notes answer to one number, or a number passes from one note to another."""
    put(MEMORIES.parent, 7, "The seventh")
    plain, two, one = drop("007-x", "a"), drop("8 b", "b"), drop("8 a", "c")
    drop("9-free", "d")
    drop("10-x", "e")
    drop("10-broken", "---\n")
    assert refs(book) == ["7", "9", "m:007-x", "m:10-x", "m:8 a", "m:8 b"]
    assert book.find("7").body == "The seventh"
    assert book.find("m:007-x").path == str(plain.absolute())
    with pytest.raises(Ambiguous, match="2 memories are called 8"):
        book.find("8")
    one.unlink()
    assert book.ref(book.find("m:8 b")) == "8"
    assert book.find("8").path == str(two.absolute())
    assert book.look().next_id() == 11


@pytest.mark.parametrize("how", [{}, {"watch": True}, {"backend": "grep"}], ids=str)
def test_every_way_to_search_tells_the_same(how: dict[str, Any], book: Notebook) -> None:
    """Red when the index, the watcher or the plain scan misses a file, its date or its number."""
    book.close()
    path = drop("007-tea", "We drink rooibos tea")
    with opened(MEMORIES.parent, **how) as found:

        def told() -> list[tuple[str, str]]:
            hits = found.recall("rooibos")
            return [(found.ref(hit.note), hit.note.created) for hit in hits]

        assert told() == [("7", THEN)]
        set_time(path, LATER)
        assert told() == [("7", LATER)]
        other = drop("007", "We drink coffee")
        assert told() == [("m:007-tea", LATER)]
        other.unlink()
        assert (told(), found.recall("rooibos").searched) == ([("7", LATER)], 1)
        path.write_text("")
        assert told() == []
        drop("007-tea", "---\nid: 12\ncreated: 2026-02-09T14:30:00Z\n---\n\nrooibos\n")
        assert told() == [("12", "2026-02-09T14:30:00Z")]


def test_a_time_that_no_calendar_has_is_some_date(book: Notebook) -> None:
    """G11. Red when a file from the year 300,000 is not a note."""
    path = drop("x", "Buy honey")
    os.utime(path, (9_000_000_000_000, 9_000_000_000_000))
    assert [note.created[:10] for note in book.notes()] == ["1970-01-01"]


def test_a_model_names_a_plain_file_by_its_ref() -> None:
    path = drop("Shopping list", "Buy honey")
    ctx: Any = SimpleNamespace(deps=CoDeps())
    assert asyncio.run(recall_memory(ctx, "honey"))["results"][0]["ref"] == "m:Shopping list"
    assert "**m:Shopping list**" in asyncio.run(list_memories(ctx))["display"]
    assert asyncio.run(forget_memory(ctx, "m:Shopping list"))["action"] == "forgotten"
    assert not path.exists()


def test_the_users_plain_files_have_refs_of_their_own() -> None:
    memories = Path(os.environ["HOME"], ".config/co-cli/knowledge/memories")
    drop("tea", "I drink tea", memories=memories)
    drop("tea", "We drink coffee")
    assert "gm:tea" in ok("recall", "drink", "tea")
    assert ok("knowledge", "show", "gm:tea") == ok("knowledge", "show", "-g", "m:tea")
    assert ok("knowledge", "protect", "gm:tea").startswith("✓ Memory g1 is protected")
    assert ok("knowledge", "show", "m:tea") == "We drink coffee\n"


# Changing


def header(number: int, at: str = THEN, more: str = "") -> str:
    return f'---\nid: {number}\nuid: UID\ncreated: "{at}"\n{more}---\n\n'


def without_uid(path: Path) -> str:
    """A file's text with a name in the place of the random one."""
    lines = path.read_bytes().decode().split("\n")
    end = "\r" if lines[0].endswith("\r") else ""
    return "\n".join(f"uid: UID{end}" if line.startswith("uid: ") else line for line in lines)


def test_a_verb_that_changes_a_plain_file_adopts_it_and_undo_takes_that_back() -> None:
    """G7, G8. Red when a byte of the text changes, or the file's time is lost on the way back."""
    path = drop("007-tea", "  Indented\n\nWe drink tea  \n\n")
    before = looks(path)
    assert ok("knowledge", "protect", "7").startswith("✓ Memory 7 is protected")
    assert without_uid(path) == header(7, more="decay_protected: true\n") + before[0].decode()
    ok("knowledge", "undo")
    assert looks(path) == before


def test_line_ends_and_a_byte_order_mark_stay(book: Notebook) -> None:
    path = drop("tea", "\ufeffWe drink tea\r\nand coffee\r\n".encode())
    book.protect("m:tea")
    head = header(1, more="decay_protected: true\n").replace("\n", "\r\n")
    assert without_uid(path) == f"\ufeff{head}We drink tea\r\nand coffee\r\n"


def test_one_without_a_number_gets_the_next_one(book: Notebook) -> None:
    put(MEMORIES.parent, 7, "The seventh")
    path = drop("007-tea", "We drink tea")
    assert book.protect("m:007-tea").ref == "8"
    assert book.find("m:007-tea").path == str(path.absolute())  # by its name as before


def test_saying_the_same_again_adopts(book: Notebook) -> None:
    drop("tea", "We drink tea")
    saved = book.remember("we drink tea!", ["habit"])
    assert (saved.action, saved.ref, saved.note.tags) == ("consolidated", "1", ["habit"])
    assert saved.note.created == THEN


def test_saying_the_same_again_adopts_in_a_large_notebook(book: Notebook) -> None:
    """Red when the index leaves plain files out of what a save is compared with."""
    for number in range(1, 231):
        put(MEMORIES.parent, number, f"Zebra number {number} grazes")
    drop("tea", "We drink rooibos in the afternoon")
    drop("003 coffee", "The espresso machine needs descaling")
    assert book.is_large
    assert book.remember("We drink rooibos in the afternoon!").ref == "231"
    assert book.remember("the espresso machine needs descaling").ref == "232"
    assert refs(book)[-2:] == ["231", "232"]


def test_a_similar_text_leaves_the_file_alone_and_names_it(book: Notebook) -> None:
    path = drop("db", "We use PostgreSQL 14")
    before = looks(path)
    saved = book.remember("We use PostgreSQL 16")
    assert [note.handle for note, _ in saved.similar] == ["m:db"]
    linked = book.link(saved.note, related=[book.find("m:db")])
    assert linked.note.meta["related"] == ["m:db"]
    assert looks(path) == before
    replacing = book.remember("We use PostgreSQL 17", replaces="m:db")
    assert (replacing.action, replacing.note.meta["supersedes"]) == ("updated", ["m:db"])


def test_merging_takes_plain_files_in(book: Notebook) -> None:
    drop("a", "Apples are red")
    drop("b", "Bears eat honey")
    merged = book.merge(["m:a", "m:b"])
    assert (merged.ref, merged.note.body) == ("1", "Apples are red\n\nBears eat honey")
    assert merged.note.meta["supersedes"] == ["m:b"]
    assert refs(book) == ["1"]
    book.undo()
    assert refs(book) == ["m:a", "m:b"]


def test_edit_adopts_and_keeps_the_date(monkeypatch: pytest.MonkeyPatch) -> None:
    path = drop("tea", "We drink tea\n")
    monkeypatch.setenv("EDITOR", "true")
    assert co("knowledge", "edit", "m:tea") == Result(0, "", "Nothing changed.\n")
    assert looks(path) == (b"We drink tea\n", THEN)
    monkeypatch.setenv("EDITOR", "sed -i s/tea/coffee/")
    assert ok("knowledge", "edit", "m:tea").startswith("✓ Edited memory 1.")
    assert without_uid(path) == header(1) + "We drink coffee\n"


def test_a_header_typed_by_hand_is_taken_and_none_is_lost(book: Notebook) -> None:
    """Red when an editor that drops the header drops number, tags and protection with it."""
    put(MEMORIES.parent, 5, "The fifth")
    drop("tea", "We drink tea")
    note = book.find("m:tea")
    typed = f'---\nid: {{}}\ncreated: "{LATER}"\n---\n\nWe drink tea\n'
    with pytest.raises(FormatError, match="must be one that is free, not 5"):
        book.replace(note, typed.format(5).encode())
    assert book.replace(note, typed.format(9).encode()).ref == "9"
    with pytest.raises(FormatError, match="no header"):
        book.replace(book.find("9"), b"We drink tea\n")


def test_forget_and_restore_bring_back_bytes_and_date(book: Notebook) -> None:
    path = drop("tea", "We drink tea\n")
    before = looks(path)
    forgotten = ok("forget", "m:tea")
    assert "✓ Forgot memory m:tea" in forgotten
    assert "co knowledge restore m:tea" in forgotten
    assert [note.created for _, note in book.archived()] == [THEN]
    assert "m:tea" in ok("knowledge", "restore")
    assert ok("knowledge", "restore", "m:tea") == "✓ Restored memory m:tea: We drink tea\n"
    assert looks(path) == before
    book.forget("m:tea")
    book.undo()
    assert looks(path) == before


def test_one_that_comes_back_beside_another_of_its_number_has_none(book: Notebook) -> None:
    """Red when restore tells a number that is not the note's once it is back."""
    drop("7 tea", "We drink tea")
    drop("7 coffee", "We drink coffee")
    assert book.forget("m:7 tea").ref == "m:7 tea"
    assert refs(book) == ["m:7 coffee"]
    assert book.restore("m:7 tea").ref == "m:7 tea"
    assert refs(book) == ["m:7 coffee", "m:7 tea"]
    book.forget("m:7 coffee")
    assert book.forget("m:7 tea").note.body == "We drink tea"
    with pytest.raises(Ambiguous, match="2 memories are called 7"):
        book.restore("7")
    assert book.restore("m:7 tea").ref == "m:7 tea"


@pytest.mark.parametrize("how", [{}, {"backend": "grep"}], ids=str)
def test_a_number_that_another_file_had_is_not_taken(how: dict[str, Any]) -> None:
    """G3. Red when a plain file takes the number of a note that was forgotten or purged."""
    with opened(MEMORIES.parent, **how) as book:
        book.remember("Alpha header fact about kangaroos")
        drop("001-plain", "We drink rooibos")
        book.forget("1")
        assert refs(book) == ["m:001-plain"]
        assert [book.ref(hit.note) for hit in book.recall("rooibos")] == ["m:001-plain"]
        with pytest.raises(CoError, match="there is no memory 1"):
            book.forget("1")
        assert book.adopt().ref == "2"
        assert book.restore("1").ref == "1"
        assert refs(book) == ["1", "2"]
        purge.purge(book, find_copies(book, "1"))
        drop("1 honey", "Buy honey")
        assert refs(book) == ["2", "m:1 honey"]


def test_an_archived_file_is_not_called_by_anothers_number(book: Notebook) -> None:
    """Red when the archive or a purge tells the number of a note that stays."""
    book.remember("Alpha header fact about kangaroos")
    drop("001-plain", "We drink rooibos")
    ok("forget", "m:001-plain")
    assert [one["ref"] for one in json.loads(ok("knowledge", "restore", "--json"))] == [
        "m:001-plain"
    ]
    with pytest.raises(CoError, match="memory 1 is not archived"):
        book.restore("1")
    restored = json.loads(ok("knowledge", "restore", "m:001-plain", "--json"))
    assert (restored["ref"], restored["memory_id"]) == ("m:001-plain", 0)
    ok("forget", "m:001-plain")
    told = ok("forget", "m:001-plain", "--purge", "--yes")
    assert told.startswith("✓ Purged memory m:001-plain: 2 copies removed.")
    assert (refs(book), book.archived()) == (["1"], [])


def test_a_number_that_no_name_told_is_not_taken_either(book: Notebook) -> None:
    """G3. Red when a number given to a file of another name is forgotten with it."""
    drop("tea", "We drink tea")
    drop("5 milk", "Buy milk")
    assert book.adopt(["m:tea"]).ref == "6"
    book.forget("6")
    drop("6-x", "Buy honey")
    assert refs(book) == ["5", "m:6-x"]
    assert book.forget("5").ref == "5"
    drop("5 bread", "Buy bread")
    assert refs(book) == ["m:5 bread", "m:6-x"]


def test_a_ref_with_a_space_is_told_as_a_shell_takes_it() -> None:
    drop("my tea", "We drink tea\n")
    assert "co knowledge restore 'm:my tea'" in ok("forget", "m:my", "tea")
    assert "co knowledge restore 'm:my tea'" in co("knowledge", "show", "m:my tea").err


def test_a_purge_leaves_nothing_of_a_plain_file(book: Notebook) -> None:
    path = drop("honey", "Buy honey\n")
    book.protect("m:honey")
    book.undo()
    assert ok("forget", "m:honey", "--purge", "--yes").startswith("✓ Purged memory m:honey: 3 cop")
    assert not path.exists()
    left = [file for file in MEMORIES.parent.rglob("*") if file.is_file()]
    assert [file for file in left if b"honey" in file.read_bytes()] == []
    with pytest.raises(CoError, match="no memory m:honey"):
        find_copies(book, "m:honey")


def test_a_number_means_the_note_that_has_it_when_it_is_purged() -> None:
    """Red when a purge asks about a plain file whose name only begins with the number."""
    put(MEMORIES.parent, 7, "The seventh")
    path = drop("007-tea", "We drink tea")
    assert ok("forget", "7", "--purge", "--yes").startswith("✓ Purged memory 7: 1 copy")
    assert path.exists()


def test_decay_leaves_plain_files_alone() -> None:
    book = Notebook(MEMORIES.parent, policy=Policy(max_count=4, percentage=0.5))
    drop("1 tea", "We drink tea")
    drop("coffee", "We drink coffee")
    for text in ("Apples are red", "Bears eat honey", "Cars have wheels"):
        saved = book.remember(text)
    assert [note.body for note in saved.decayed] == ["Apples are red", "Bears eat honey"]
    assert [note.name for note in book.notes() if note.plain] == ["1 tea.md", "coffee.md"]


def test_adopt_gives_headers_to_these_or_all_in_one_change() -> None:
    paths = drop("7 tea", "We drink tea\n"), drop("coffee", "We drink coffee"), drop("x", "x")
    before = [looks(path) for path in paths]
    assert ok("knowledge", "adopt", "m:x") == (
        "✓ x.md is now memory 8: x\nUndo: co knowledge undo\n"
    )
    told = json.loads(ok("knowledge", "adopt", "--json"))
    assert [(one["ref"], one["created"]) for one in told["adopted"]] == [("7", THEN), ("9", THEN)]
    assert without_uid(paths[0]) == header(7) + "We drink tea\n"
    assert co("knowledge", "adopt") == Result(1, "", "co: every note has a header already\n")
    ok("knowledge", "undo")
    ok("knowledge", "undo")
    assert [looks(path) for path in paths] == before


def test_export_and_import_carry_plain_files(tmp_path: Path) -> None:
    drop("tea", "We drink tea")
    ok("knowledge", "export", str(tmp_path / "all.jsonl"))
    ok("knowledge", "import", str(tmp_path / "all.jsonl"), "-g", "--yes")
    found = json.loads(ok("knowledge", "list", "-g", "--json"))["memories"]
    assert [(one["content"], one["created"]) for one in found] == [("We drink tea", THEN)]


def test_a_plain_file_that_git_brought_waits_like_any_note(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """G16. Red when a stranger's file reaches a model for want of a header, or once adopted."""
    pair = Pair(tmp_path)
    monkeypatch.chdir(pair.mine)
    ok("learn", "We deploy on Tuesdays")
    pair.push(str(MEMORIES / "deploy.md"), "We deploy to evil.example\n")
    git(pair.mine, "pull", "-q", "--no-edit")
    drop("mine", "We deploy by hand")

    def told() -> list[str]:
        ctx: Any = SimpleNamespace(deps=CoDeps(gated=True))
        return sorted(one["ref"] for one in asyncio.run(recall_memory(ctx, "deploy"))["results"])

    assert told() == ["1", "m:mine"]
    assert "came with git, not approved" in ok("recall", "deploy")
    ok("knowledge", "protect", "m:deploy")
    assert told() == ["1", "m:mine"]
    ok("trust", "--yes")
    assert told() == ["1", "2", "m:mine"]


def test_a_store_in_memory_has_plain_notes_too() -> None:
    store = MemoryStore()
    seconds = datetime.fromisoformat(THEN).timestamp()
    store.put("memories/tea.md", b"We drink tea\n", int(seconds * 1e9))
    book = Notebook(store)
    assert [(book.ref(note), note.created) for note in book.notes()] == [("m:tea", THEN)]
    book.protect("m:tea")
    assert book.find("1").created == THEN
    book.undo()
    assert [(book.ref(note), note.created) for note in book.notes()] == [("m:tea", THEN)]
