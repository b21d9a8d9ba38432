"""`co knowledge review`: pairs that nobody confirmed, one by one, and what each key does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cli import Result, Terminal, co
from handmade import put

from co_cli.knowledge import Notebook

KNOWLEDGE = Path(".co-cli/knowledge")
OLD, NEW = "We deploy on Tuesdays", "We moved the deploy to Thursdays"
KEYS = "[u] link as an update, [r]eplace the older, [e]dit the older, [k]eep both as unrelated, [l]"


@pytest.fixture
def book() -> Notebook:
    """A project's notebook in which the third note updates the first."""
    rent = "The rent is due in May"
    texts = [(OLD, "2026-01-05"), (rent, "2026-01-06"), (NEW, "2026-02-01")]
    for number, (text, day) in enumerate(texts, 1):
        path = Path(put(KNOWLEDGE, number, text, created=f"{day}T10:00:00+00:00"))
        uid = f"uid: {'abc'[number - 1] * 14}"
        path.write_text(path.read_text().replace("created:", f"{uid}\ncreated:"))
    return Notebook(KNOWLEDGE)


def listed() -> list[tuple[str, str]]:
    rows = json.loads(co("knowledge", "review", "--json").out)["unconfirmed"]
    return [(row["newer"]["ref"], row["older"]["ref"]) for row in rows]


def reviewed(key: str, editor: str = "false") -> str:
    with Terminal("knowledge", "review", EDITOR=editor) as terminal:
        terminal.expect(KEYS)
        terminal.type(f"{key}\n")
        assert terminal.end().code == 0
    return terminal.shown


def fields(book: Notebook, number: int) -> dict[str, Any]:
    links = ("updates", "related", "supersedes")
    return {name: value for name in links if (value := book.find(number).meta.get(name))}


@pytest.mark.usefixtures("book")
def test_without_a_terminal_the_pairs_are_listed_and_nothing_changes() -> None:
    before = {path: path.read_bytes() for path in KNOWLEDGE.rglob("*.md")}
    assert co("knowledge", "review") == Result(0, f"3 seems to update 1: {NEW}\n", "")
    assert json.loads(co("knowledge", "review", "--json").out) == {
        "count": 1,
        "unconfirmed": [{
            "newer": {"ref": "3", "content": NEW, "created": "2026-02-01T10:00:00+00:00"},
            "older": {"ref": "1", "content": OLD, "created": "2026-01-05T10:00:00+00:00"},
        }],
    }  # fmt: skip
    assert {path: path.read_bytes() for path in KNOWLEDGE.rglob("*.md")} == before
    assert "1 unconfirmed update: co knowledge review" in co("status").out
    assert "maybe updated by 3" in co("recall", "tuesdays").out
    assert f"maybe updated by  3  {NEW}" in co("knowledge", "show", "1").err


def test_where_nothing_is_out_of_date_it_says_so() -> None:
    assert co("learn", OLD).code == 0
    told = "No memory seems to be out of date.\n"
    assert co("knowledge", "review") == Result(0, "", told)
    assert json.loads(co("knowledge", "review", "--json").out) == {"count": 0, "unconfirmed": []}


def test_a_link_is_written_into_the_newer_note(book: Notebook) -> None:
    shown = reviewed("u")
    assert f"│ {NEW}" in shown
    assert f"│ {OLD}" in shown
    assert shown.endswith("✓ Memory 3 updates 1. Undo: co knowledge undo\n")
    assert (fields(book, 3), fields(book, 1)) == ({"updates": ["a" * 14]}, {})
    assert listed() == []
    assert "earlier; updated by 3" in co("recall", "tuesdays").out
    assert f"updated by  3  {NEW}" in co("knowledge", "show", "1").err
    assert f"updates  1  {OLD}" in co("knowledge", "show", "3").err
    assert co("knowledge", "undo").code == 0
    assert listed() == [("3", "1")]


def test_a_pair_that_is_kept_is_not_asked_about_again(book: Notebook) -> None:
    assert reviewed("k").endswith("✓ Both hold. Undo: co knowledge undo\n")
    assert fields(book, 3) == {"related": ["a" * 14]}
    assert listed() == []
    assert "updated by" not in co("recall", "tuesdays").out


def test_a_replaced_note_is_archived_and_what_it_updated_stays_out_of_date(
    book: Notebook,
) -> None:
    """Red when a note that goes makes another current that it had brought out of date."""
    book.link(1, updates=[book.find(2)])
    assert reviewed("r").endswith("✓ Archived memory 1. Undo: co knowledge undo\n")
    assert [note.id for note in book.notes()] == [2, 3]
    assert (book.find(3).body, fields(book, 3)) == (
        NEW,
        {"supersedes": ["a" * 14], "updates": ["b" * 14]},
    )
    assert co("knowledge", "restore", "1").code == 0


def test_a_protected_note_is_not_offered_to_be_replaced(book: Notebook) -> None:
    book.protect(1)
    with Terminal("knowledge", "review") as terminal:
        terminal.expect("[l]ater")
        terminal.type("r\n")
        terminal.expect("[l]ater", 2)
        terminal.type("l\n")
        assert terminal.end().code == 0
    assert "'r' is not one of the answers." in terminal.shown
    assert "[r]" not in terminal.shown
    assert [note.id for note in book.notes()] == [1, 2, 3]


@pytest.mark.parametrize("key", ["l", ""])
def test_later_changes_nothing(book: Notebook, key: str) -> None:
    before = book.find(3).raw
    reviewed(key)
    assert book.find(3).raw == before
    assert listed() == [("3", "1")]


def test_the_older_note_may_be_edited(book: Notebook) -> None:
    shown = reviewed("e", editor="sed -i s/Tuesdays/Thursdays/")
    assert shown.endswith("✓ Edited memory 1.\n")
    assert book.find(1).body == "We deploy on Thursdays"


@pytest.mark.usefixtures("book")
def test_each_notebook_may_be_reviewed_alone() -> None:
    assert listed() == [("3", "1")]
    assert json.loads(co("knowledge", "review", "-g", "--json").out)["count"] == 0
