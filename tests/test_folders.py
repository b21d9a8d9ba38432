"""Folders of markdown that are searched where they lie: found as articles, and only read."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from cli import co

from co_cli import folders, paths
from co_cli.agent.approval import prepare
from co_cli.chat import notes
from co_cli.deps import CoDeps
from co_cli.errors import CoError, NotFound, ReadOnly
from co_cli.knowledge import Filters, How, Notebook, Shelf
from co_cli.knowledge.copies import find_copies
from co_cli.knowledge.folder import FolderBook
from co_cli.knowledge.store import outside
from co_cli.tools.memory import recall_memory
from co_cli.workspace import Workspace

BREAD = """---
title: Sourdough
date: 2025-03-04
tags: [baking, "#slow"]
---
# Bread

The starter needs rye flour and eight hours at room temperature.
"""
STARTER = "what flour does the starter need"


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    """A folder of notes as people keep them."""
    folder = tmp_path / "My Notes"
    put(folder / "cooking/bread.md", BREAD)
    put(folder / "bike C#.md", "# Bike\n\nThe derailleur hanger is a type 12.\n")
    return folder


@pytest.fixture
def added(vault: Path) -> Path:
    assert co("knowledge", "add-folder", str(vault)).code == 0
    return vault


def put(path: Path, text: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def found(query: str, *options: str) -> list[dict[str, Any]]:
    told = json.loads(co("recall", query, "--json", *options).out)
    results: list[dict[str, Any]] = told["results"]
    return results


def refs(query: str, *options: str) -> list[str]:
    """What answers, without the places inside articles."""
    hits = found(query, *options)
    return [
        hit["ref"].removesuffix(f"#{hit['anchor']}" if hit.get("anchor") else "") for hit in hits
    ]


def tree(folder: Path) -> dict[str, tuple[object, ...]]:
    """All that can be seen of a folder, but for when it was last looked at."""
    every = [folder, *folder.rglob("*")]
    told = {str(path): os.lstat(path) for path in every}
    return {
        path: (info.st_mode, info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns,
               Path(path).read_bytes() if os.path.isfile(path) else b"")
        for path, info in told.items()
    }  # fmt: skip


# Found as articles


def test_a_file_is_found_as_an_article_of_its_folder(added: Path) -> None:
    [hit] = found(STARTER)
    told = {name: hit[name] for name in ("kind", "scope", "created", "tags", "path", "id")}
    assert told == {
        "kind": "article", "scope": "folder:my-notes", "created": "2025-03-04T00:00:00+00:00",
        "tags": ["baking", "slow"], "path": str(added / "cooking/bread.md"), "id": 0,
    }  # fmt: skip
    assert hit["ref"].startswith("a:my-notes/cooking/bread")
    assert refs(STARTER, "--kind", "article") == refs(STARTER)
    assert refs(STARTER, "--kind", "memory") == []
    assert refs(STARTER, "--scope", "project") == []
    assert refs("starter", "--tag", "baking", "--until", "2025-04") == refs(STARTER)


@pytest.mark.parametrize("ref", ["a:my-notes/cooking/bread", "a:my-notes/cooking/bread#bread"])
def test_show_takes_its_reference(added: Path, ref: str) -> None:
    assert added.exists()
    assert co("knowledge", "show", ref).out == BREAD
    told = json.loads(co("knowledge", "show", ref, "--json").out)
    assert (told["title"], told["source"]) == ("Sourdough", str(added / "cooking/bread.md"))


def test_a_name_with_a_hash_is_no_place_in_an_article(added: Path) -> None:
    assert refs("derailleur") == ["a:my-notes/bike C#"]
    assert "hanger" in co("knowledge", "show", "a:my-notes/bike C#").out
    assert "hanger" in co("knowledge", "show", "a:my-notes/bike C##bike").out
    assert added.exists()


@pytest.mark.parametrize("name", [b"caf\xe9", b"a\nb", b"\x1b[31mred", b"-rf", b"articles/x", b"1"])
def test_a_file_may_have_any_name(added: Path, name: bytes) -> None:
    put(Path(os.fsdecode(os.fsencode(added) + b"/" + name + b".md")), "zebra crossing")
    recalled = co("recall", "zebra crossing", "--json")
    assert recalled.err == ""
    [hit] = json.loads(recalled.out)["results"]
    assert co("knowledge", "show", hit["ref"]).out == "zebra crossing\n"


@pytest.mark.parametrize("name", ["bread", "../work/secret", "cooking/../../../etc/hosts", ""])
def test_a_reference_names_a_listed_file_and_never_a_path(added: Path, name: str) -> None:
    put(added.parent / "work/secret.md", "not yours")
    shown = co("knowledge", "show", f"a:my-notes/{name}")
    assert (shown.code, shown.out) == (1, "")


@pytest.mark.parametrize(
    ("text", "title", "day"),
    [
        (BREAD, "Sourdough", "2025-03-04"),
        ("# First heading #\n\ntext", "First heading", "2020-09-13"),
        ("only text", "page", "2020-09-13"),
        ("", "page", "2020-09-13"),
        ("---\ncreated: 2024-01-02T23:30:00-05:00\n---\ntext", "page", "2024-01-03"),
        ("---\ntitle: [1, 2\ndate: soon\n---\n# Odd\n\ntext", "Odd", "2020-09-13"),
        ("---\ntitle: 12\ndate: soon\ntags: one, two\n---\ntext", "page", "2020-09-13"),
        ("---\nid: 4\ncreated: '2024-01-02'\npinned: true\n---\ntext", "page", "2024-01-02"),
        ("\ufeff---\ntitle: Marked\n---\ntext", "Marked", "2020-09-13"),
        ("text\n\n---\n\nmore", "page", "2020-09-13"),
    ],
)
def test_title_and_date_come_from_the_header_the_text_or_the_file(
    tmp_path: Path, text: str, title: str, day: str
) -> None:
    path = put(tmp_path / "docs/page.md", text)
    os.utime(path, (1_600_000_000, 1_600_000_000))
    with FolderBook("docs", str(tmp_path / "docs"), how=How()) as book:
        [note] = book.articles()
        assert (note.title, note.created[:10], note.external, note.pinned) == (
            title, day, True, False,
        )  # fmt: skip
        [hit] = book.recall(title)
        assert hit.note == note


def test_what_is_no_note_is_left_out_and_what_cannot_be_read_is_named(added: Path) -> None:
    secret = put(added.parent / "secret.md", "the starter is a secret")
    for name in (".git/x.md", ".obsidian/x.md", "node_modules/p/x.md", ".hidden.md", "x.txt"):
        put(added / name, "the starter is hidden")
    (added / "link.md").symlink_to(secret)
    (added / "linked").symlink_to(secret.parent)
    os.mkfifo(added / "pipe.md")
    put(added / "latin.md", "caf\xe9".encode("latin-1"))
    put(added / "huge.md", b"x" * (8 * 1024 * 1024 + 1))
    assert refs("starter") == ["a:my-notes/cooking/bread"]
    assert "could not be read" not in co("recall", "starter").err  # at every question
    doctor = json.loads(co("knowledge", "doctor", "--json").out)["problems"]
    assert [(Path(one["path"]).name, one["reason"]) for one in doctor] == [
        ("huge.md", "is larger than 8 MiB"), ("latin.md", "is not UTF-8"),
    ]  # fmt: skip
    [told] = json.loads(co("status", "--json").out)["folders"]
    assert (told["name"], told["path"], told["articles"]) == ("my-notes", str(added), 2)
    assert len(told["problems"]) == 2
    assert "2 articles in" in co("status").out


def test_a_folder_that_becomes_a_link_later_leads_nowhere(added: Path, tmp_path: Path) -> None:
    put(tmp_path / "elsewhere/bread.md", "the starter is a secret")
    with FolderBook("my-notes", str(added), how=How()) as book:
        assert book.find("a:cooking/bread")
        shutil.rmtree(added / "cooking")
        (added / "cooking").symlink_to(tmp_path / "elsewhere")
        assert book.store.names("articles") == ["bike C#.md"]
        with pytest.raises(CoError, match="through a link"):
            book.store.read("articles/cooking/bread.md")


def test_too_many_files_are_a_remark_and_no_more(
    added: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outside, "MOST_FILES", 3)
    for number in range(9):
        put(added / f"more/{number}.md", f"the starter of day {number}")
    assert "the rest is left out" in co("knowledge", "doctor").out
    assert co("recall", "starter").code == 0


# As it is now


def test_edits_show_at_the_next_recall(added: Path) -> None:
    assert refs("derailleur", "--until", "2020") == []
    os.utime(added / "bike C#.md", (1_600_000_000, 1_600_000_000))
    assert refs("derailleur", "--until", "2020") == ["a:my-notes/bike C#"]
    put(added / "bike C#.md", "Sold.")
    put(added / "new/deep/brakes.md", "The derailleur of the new one is a type 7.")
    assert refs("derailleur") == ["a:my-notes/new/deep/brakes"]
    (added / "new").rename(added / "old")
    assert refs("derailleur") == ["a:my-notes/old/deep/brakes"]
    shutil.rmtree(added / "old")
    assert "a:my-notes/old/deep/brakes" not in refs("derailleur")
    put(added / "cooking/bread.md", "The starter needs spelt.")
    assert "spelt" in found("starter")[0]["passage"]


def test_a_folder_that_is_gone_stops_no_recall_and_status_says_so(added: Path) -> None:
    for number in range(12):  # so many that a notebook would say that they disappeared
        put(added / f"{number}.md", f"starter of day {number}")
    assert refs("starter")
    co("learn", "The starter lives in the fridge")
    added.rename(added.with_name("moved"))
    recalled = co("recall", "starter")
    assert (recalled.code, recalled.err) == (0, "")
    assert "fridge" in recalled.out
    assert "rye" not in recalled.out
    assert co("status").out.count("is not there") == 1
    assert co("knowledge", "doctor").code == 1
    assert co("knowledge", "remove-folder", "my-notes").code == 0
    assert "Folder" not in co("status").out


def test_a_search_without_an_index_finds_it_too(
    added: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CO_CLI_SEARCH_BACKEND", "grep")
    assert added.exists()
    assert refs("starter") == ["a:my-notes/cooking/bread"]


# Nothing is ever written there


def test_nothing_in_the_folder_changes_whatever_is_done(
    added: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Red when any verb writes a byte, a lock or an index into it, or only touches it."""
    monkeypatch.setenv("EDITOR", "false")
    ref, before = "a:my-notes/cooking/bread", tree(added)
    co("learn", "The starter lives in the fridge")
    for verb in ("forget", "protect", "unprotect", "pin", "sensitive", "adopt", "edit", "restore"):
        done = co("knowledge", verb, ref)
        assert (verb, done.code, done.out) == (verb, 1, "")
        assert str(added / "cooking/bread.md") in done.err
    refused: list[tuple[str, ...]] = [
        ("forget", ref, "--purge", "-y"), ("knowledge", "merge", ref, "1"),
        ("knowledge", "merge", "1", ref), ("knowledge", "merge", ref, "a:my-notes/bike C#"),
    ]  # fmt: skip
    assert [co(*args).code for args in refused] == [1] * 4
    harmless: list[tuple[str, ...]] = [
        ("recall", "starter"), ("knowledge", "reindex"), ("knowledge", "doctor"), ("status",),
        ("knowledge", "list", "--kind", "all"), ("knowledge", "export"),
        ("knowledge", "log", ref), ("knowledge", "undo"), ("knowledge", "add-folder", str(added)),
        ("knowledge", "show", ref), ("knowledge", "remove-folder", "my-notes"),
    ]  # fmt: skip
    assert [args for args in harmless if co(*args).code] == []
    assert tree(added) == before


def test_every_door_of_the_notebook_is_shut(added: Path) -> None:
    before = tree(added)
    with FolderBook("my-notes", str(added), how=How()) as book:
        note = book.find("a:cooking/bread")
        shut: list[Callable[[], object]] = [
            lambda: book.forget(note), lambda: book.mark(note, "protect"),
            lambda: book.adopt([note]), lambda: book.merge([note, note]),
            lambda: book.replace(note, b"x"),
            lambda: book.restore(note), lambda: book.consolidate(note, "x"),
            lambda: book.remember("x"), lambda: book.keep("x", source="s", title="t"),
            book.store.locked,
            lambda: find_copies(book, note), lambda: Notebook.forget(book, note),
        ]  # fmt: skip
        for door in shut:
            with pytest.raises(ReadOnly, match="Co only reads"):
                door()
        with pytest.raises(NotFound):
            book.undo()
    assert tree(added) == before


def test_the_index_is_elsewhere_and_goes_with_the_folder(
    added: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = Path(paths.state_folder()) / "folders"
    [index] = kept.iterdir()
    assert (index / "knowledge.db").exists()
    assert index.stat().st_mode & 0o77 == 0
    other = tmp_path / "other"
    other.mkdir()
    monkeypatch.chdir(other)
    co("knowledge", "add-folder", str(added))
    assert co("knowledge", "remove-folder", str(added)).code == 0
    assert [*kept.iterdir()] == [index]  # the first project searches it still
    monkeypatch.chdir(tmp_path / "work")
    assert refs(STARTER) == ["a:my-notes/cooking/bread"]
    assert co("knowledge", "remove-folder", str(added)).code == 0
    assert [*kept.iterdir()] == []
    assert not os.path.lexists(paths.folders_file())


# From where


def test_a_folder_belongs_to_a_project_or_to_everywhere(
    vault: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    co("knowledge", "add-folder", str(vault))
    monkeypatch.chdir(other)
    assert refs(STARTER) == []
    told = co("knowledge", "add-folder", "-g", "--json", str(vault / "cooking" / ".."))
    assert json.loads(told.out)["added"] is True
    assert refs(STARTER) == ["a:my-notes/cooking/bread"]
    monkeypatch.chdir(tmp_path / "work")
    again = co("knowledge", "add-folder", str(vault))
    assert "already searched from everywhere" in again.out
    assert refs(STARTER) == ["a:my-notes/cooking/bread"]
    listed = json.loads(co("knowledge", "add-folder", "--json").out)["folders"]
    assert [(one["name"], one["articles"]) for one in listed] == [("my-notes", 2)]


def test_two_folders_of_one_name_have_two_names(added: Path, tmp_path: Path) -> None:
    put(tmp_path / "b/My Notes/x.md", "the starter of another")
    co("knowledge", "add-folder", str(tmp_path / "b/My Notes"))
    assert added.exists()
    assert {*refs("starter")} == {"a:my-notes/cooking/bread", "a:my-notes-2/x"}


def test_no_project_names_a_folder(vault: Path) -> None:
    row = {"name": "x", "path": str(vault), "project": ""}
    put(Path(".co-cli/folders.json"), json.dumps({"version": 1, "folders": [row]}))
    put(Path(".co-cli/settings.json"), json.dumps({"folders": [str(vault)]}))
    co("trust", "-y")
    assert refs(STARTER) == []


@pytest.mark.parametrize(
    ("folder", "reason"),
    [
        ("/", "only a part"),
        ("~", "whole home"),
        ("~/..", "only a part"),
        (".co-cli", "already"),
        (".co-cli/knowledge/memories", "already"),
        ("~/.config/co-cli/knowledge", "already"),
        ("missing", "no folder"),
    ],
)
def test_what_is_too_much_or_known_is_not_added(folder: str, reason: str) -> None:
    co("learn", "We deploy on Tuesdays")
    co("learn", "-g", "I like tea")
    done = co("knowledge", "add-folder", os.path.expanduser(folder))
    assert (done.code, reason in done.err) == (1, True), done
    assert not os.path.lexists(paths.folders_file())


def test_a_folder_around_a_notebook_that_is_not_hidden_is_not_added(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "documents/config"))
    co("learn", "-g", "I like tea")
    assert "own files are in it" in co("knowledge", "add-folder", str(tmp_path / "documents")).err
    co("learn", "We deploy on Tuesdays")
    put(Path("README.md"), "how to deploy")
    assert co("knowledge", "add-folder", ".").code == 0  # this one's is hidden
    assert [one["path"] for one in found("deploy", "--kind", "article")] == [
        str(Path("README.md").resolve())
    ]


@pytest.mark.parametrize("damage", ["{", "[]", '{"version": 2}', '{"version": 1, "folders": [1]}'])
def test_a_list_that_cannot_be_read_stops_no_recall_and_is_left_as_it_is(
    added: Path, damage: str
) -> None:
    listed = put(Path(paths.folders_file()), damage)
    co("learn", "The starter lives in the fridge")
    assert refs("starter") == ["1"]
    assert str(listed) in co("status").err
    assert str(listed) in co("knowledge", "doctor").out
    for args in (("add-folder", str(added)), ("remove-folder", "my-notes")):
        refused = co("knowledge", *args)
        assert (refused.code, "Mend it" in refused.err) == (1, True)
    assert listed.read_text() == damage


def test_the_list_is_the_owners_alone(added: Path) -> None:
    assert added.exists()
    assert os.stat(paths.folders_file()).st_mode & 0o77 == 0
    assert folders.seen_from(".") == [folders.Added("my-notes", str(added), os.getcwd())]


# Beside what one wrote


def test_own_notes_keep_half_the_places(tmp_path: Path) -> None:
    for number in range(40):
        text = f"How the release train leaves the station, part {number}."
        put(tmp_path / f"docs/{number}.md", text)
    project, user = Notebook(tmp_path / "p"), Notebook(tmp_path / "u", scope="user")
    for text in ("The release train leaves on Tuesdays", "Anna drives the release train"):
        project.remember(text)
    folder = FolderBook("docs", str(tmp_path / "docs"), how=How())
    shelf = Shelf(project, user, [folder])
    try:
        told = shelf.recall("how the release train leaves the station", 4)
        assert [book.label for book, _ in told] == ["folder:docs"] * 2 + ["project"] * 2
        assert len(shelf.recall("release train", 10, Filters("article"))) == 10
        assert shelf.holding(told[0][1].note) is told[0][0]
        assert all(shelf.holding(hit.note) is book for book, hit in told)
    finally:
        shelf.close()


def test_a_model_is_told_and_the_conversation_has_outside_text_from_then_on(added: Path) -> None:
    deps = CoDeps(workspace=Workspace(), gated=True)
    ctx: Any = SimpleNamespace(deps=deps)
    result = asyncio.run(recall_memory(ctx, STARTER))
    [told] = result["results"]
    assert told["source"] == str(added / "cooking/bread.md")
    assert deps.external == ["article cooking/bread.md"]
    asked = prepare(deps, "c", "forget_memory", {"ref": "a:my-notes/cooking/bread"})
    assert "Co only reads" in asked.refused


def test_the_chat_shows_it_and_does_not_change_it(added: Path) -> None:
    shelf = Workspace().shelf
    assert "rye" in notes.recall(shelf, STARTER)
    for act in (notes.forget, notes.restore):
        with pytest.raises(ReadOnly, match=r"bread\.md"):
            act(shelf, "a:my-notes/cooking/bread")
    shelf.close()
    assert added.exists()


@pytest.mark.parametrize(
    "header",
    ["sensitive: true", "sensitive: yes", "Sensitive: 'True'", "sensitive: on # keep out",
     "{sensitive: true}", "title: a: b\nsensitive: true", "sensitive: true\nsensitive: false"],
)  # fmt: skip
def test_a_sensitive_file_is_shown_to_the_person_and_to_nobody_else(
    added: Path, header: str
) -> None:
    """G19. Red when a folder's files have no such mark, or one that cannot be read is none."""
    put(added / "safe.md", f"---\n{header}\n---\n\nThe marmalade recipe is behind the picture.\n")
    put(added / "shed.md", "---\nsensitive: no\n---\n\nThe marmalade jars are in the shed.\n")
    assert {one.partition("#")[0] for one in refs("where is the marmalade")} == {
        "a:my-notes/safe", "a:my-notes/shed"
    }  # fmt: skip
    deps = CoDeps(sensitive=False)
    told = asyncio.run(recall_memory(SimpleNamespace(deps=deps), "where is the marmalade"))
    assert [one["ref"].partition("#")[0] for one in told["results"]] == ["a:my-notes/shed"]
    with deps.notebooks() as shelf, pytest.raises(NotFound):
        deps.find(shelf, "a:my-notes/safe")
