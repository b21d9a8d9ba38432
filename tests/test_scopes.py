"""A note is told where its scope says: in one project, where a language is used, or everywhere."""

from __future__ import annotations

import asyncio
import io
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from cli import co
from repos import Pair, git, write
from rich.console import Console

from co_cli import languages, verbs
from co_cli.agent.approval import Review, prepare
from co_cli.chat import notes
from co_cli.chat.approval_prompt import Screen
from co_cli.deps import CoDeps
from co_cli.errors import CoError, NotFound
from co_cli.knowledge import Notebook, Policy
from co_cli.knowledge.export import export
from co_cli.knowledge.format.note import scoped
from co_cli.knowledge.moving import move
from co_cli.tools.memory import list_memories, recall_memory, save_memory
from co_cli.workspace import Workspace

PYTHON, GO = "Prefer pathlib for files", "Wrap errors with percent w"


@pytest.fixture
def projects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """A project in Python and one in Go, with notes of every scope; the first is here."""
    ours, other = tmp_path / "ours", tmp_path / "other"
    for project, name in ((ours, "main.py"), (other, "main.go")):
        (project / ".git").mkdir(parents=True)
        (project / name).touch()
    monkeypatch.chdir(other)
    assert co("learn", "The other project's port is 9").code == 0
    monkeypatch.chdir(ours)
    assert co("learn", "This project's port is 8").code == 0
    assert co("learn", "--scope", "global", "I like short answers").code == 0
    assert co("learn", "--scope", "language", PYTHON).code == 0
    assert co("learn", "--language", "golang", GO).code == 0
    return ours, other


def test_a_project_sees_its_notes_those_of_its_languages_and_global_ones(
    projects: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Red when `Notebook.tells` says yes to every note, on each line that tells of notes."""
    for project, shown, hidden in ((projects[0], PYTHON, GO), (projects[1], GO, PYTHON)):
        monkeypatch.chdir(project)
        deps = CoDeps()
        ctx = SimpleNamespace(deps=deps)
        own = "9" if project == projects[1] else "8"
        ports = [n.body for n in deps.shelf().project.notes()]
        assert [text.rpartition(" ")[2] for text in ports] == [own]
        told = [
            co("knowledge", "list").out,
            co("recall", "errors pathlib files percent").out,
            notes.memories(deps.shelf(), ""),
            notes.recall(deps.shelf(), "errors pathlib files percent"),
            str(dict(verbs.refs(deps.shelf()))),
            _run(list_memories(ctx))["display"],
            _run(recall_memory(ctx, "errors pathlib files percent"))["display"],
        ]
        for said in told:
            assert shown in said, said
            assert hidden not in said, said
        every = co("knowledge", "list", "--all").out
        assert shown in every
        assert hidden in every
        assert "1 memory of yours for" in co("knowledge", "list").err
        status = co("status").out
        assert "3 of 200" in status  # all take room
        assert "(1 for other languages)" in status
        assert "1 of 200 (project), 3 of 200 (user)" in co("knowledge", "list").err
        ref = "g2" if hidden == PYTHON else "g3"
        with pytest.raises(NotFound), deps.notebooks() as shelf:
            deps.find(shelf, ref)
        assert hidden in co("knowledge", "show", ref).out  # but the person may


def _run(coroutine: object) -> dict[str, str]:
    return asyncio.run(coroutine)  # type: ignore[arg-type]


@pytest.mark.usefixtures("projects")
def test_results_say_which_scope() -> None:
    listed = json.loads(co("knowledge", "list", "--json").out)["memories"]
    assert [(row["ref"], row["scope"], row.get("language")) for row in listed] == [
        ("1", "project", None),
        ("g1", "user", None),
        ("g2", "language", "python"),
    ]
    assert "g2\t" in (row := co("knowledge", "list").out.splitlines()[2])
    assert "for python" in row
    assert json.loads(co("status", "--json").out)["languages"] == ["python"]


def test_what_is_for_one_language_is_compared_and_joined_with_nothing_else(tmp_path: Path) -> None:
    """Red when `Around.of` lets other languages through, or decay joins all that is old."""
    policy = Policy(max_count=4, percentage=1.0)
    book = Notebook(tmp_path / "n", scope="user", policy=policy)
    book.remember("Tests come first", fields=scoped("go"))
    assert book.remember("Tests come first", fields=scoped("python")).action == "created"
    assert book.remember("Tests come first").action == "created"
    book.remember("Types come second", fields=scoped("go"))
    book.remember("Doubts come last")
    [joined] = [note for note in book.notes() if note.consolidated]
    assert (joined.language, joined.body.count("come")) == ("go", 2)
    book.languages = frozenset({"python"})
    assert {note.language for note in book.notes()} == {"", "python"}
    assert len([*export(book)]) == len(book.look().notes)
    found = book.recall("tests come first")
    assert {hit.note.language for hit in found} <= {"", "python"}
    assert found.searched == 3


def test_the_scan_without_an_index_hides_the_same(tmp_path: Path) -> None:
    """Red when `Filters.fit` passes the language by."""
    book = Notebook(tmp_path / "n", scope="user")
    book.remember("Go", fields=scoped("go"))
    book.remember("Py", fields=scoped("python"))
    book.languages = frozenset({"python"})
    assert [[hit.note.body for hit in book.recall(word)] for word in ("go", "py")] == [[], ["Py"]]


def test_languages_are_told_by_manifests_and_a_share_of_the_files(tmp_path: Path) -> None:
    for name in ("node_modules/a.js", ".hidden/b.rb", "src/deep/c.py", "vendor/d.go", "Cargo.toml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    for number in range(12):
        (tmp_path / f"{number}.py").touch()
    (tmp_path / "one.sh").touch()
    (tmp_path / "loop").symlink_to(tmp_path)
    assert languages.used_in(str(tmp_path)) == {"python", "rust"}
    assert languages.used_in(str(tmp_path / "nowhere")) == frozenset()
    assert Workspace(tmp_path).languages == {"python", "rust"}


def test_a_language_is_found_behind_many_folders_and_by_a_manifest_alone(tmp_path: Path) -> None:
    """Red when 30 folders are looked into, or a Gemfile tells nothing."""
    for number in range(40):
        (tmp_path / f"mono/docs-{number}").mkdir(parents=True)
    write(tmp_path, "mono/services/billing/Cargo.toml", "")
    write(tmp_path, "rails/Gemfile", "")
    write(tmp_path, "rails/go", "")
    assert languages.used_in(str(tmp_path / "mono")) == {"rust"}
    assert languages.used_in(str(tmp_path / "rails")) == {"ruby"}


def test_a_language_is_named_as_people_name_it() -> None:
    used = frozenset({"python"})
    assert [languages.named(text, used) for text in ("", "Py", "C++", "golang")] == [
        "python", "python", "cpp", "go",
    ]  # fmt: skip
    for text, some in (("", frozenset[str]()), ("pythn", used)):
        with pytest.raises(CoError) as raised:
            languages.named(text, some)
        assert raised.value.hint


def test_a_note_moves_with_its_history_and_each_side_can_be_undone(tmp_path: Path) -> None:
    """Red when `_arriving` makes a new uid or date, or writes what is there a second time."""
    project, user = Notebook(tmp_path / "p"), Notebook(tmp_path / "u", scope="user")
    first = project.remember("Deploys run on Tuesdays").note
    text = "Deploys run on Tuesday nights"
    old = project.remember(text, ["decision"], related=[first], updates=[first]).note
    project.protect(old)
    old = project.find(old)
    user.remember("Mine")
    fields = {"body", "tags", "created", "uid", "protected"}
    before = {name: getattr(old, name) for name in fields}
    for _ in range(2):
        saved = move(project, user, project.find(old), "python", actor="cli")
        assert (saved.ref, saved.note.language) == ("g2", "python")
        assert {name: getattr(saved.note, name) for name in fields} == before
        assert saved.note.meta["related"] == saved.note.meta["updates"] == [first.uid]
        assert [note.id for note in project.notes()] == [1]
        assert [note.id for note in user.notes()] == [1, 2]
        project.undo()  # as after a crash between the two: it is in both
        assert project.find(2).raw == old.raw
    user.undo()
    assert [note.id for note in user.notes()] == [1]
    move(project, user, project.find(2), "", actor="cli")
    assert move(user, user, user.find(3), "go", actor="cli").note.language == "go"
    back = move(user, project, user.find(3), "", actor="cli").note
    assert (back.id, back.uid, back.meta.get("scope")) == (3, old.uid, None)
    assert [note.id for note in user.notes()] == [1]
    user.undo()
    assert user.find(3).uid == old.uid


def test_what_only_the_old_notebook_understands_stays_there(tmp_path: Path) -> None:
    project, user = Notebook(tmp_path / "p"), Notebook(tmp_path / "u", scope="user")
    handmade = tmp_path / "p/memories/007-x.md"
    handmade.parent.mkdir(parents=True)
    links = "related: ['8', abc]  # seen\nupdates: [8, abc]"
    header = f"id: 7\ncreated: 2026-02-09T14:30:00Z\n{links}\nmine: yes"
    handmade.write_text(f"---\n{header}\n---\n\nTea\n")
    (tmp_path / "p/memories/plain.md").write_text("Milk\n")
    note = move(project, user, project.find(7), "", actor="cli").note
    assert (note.id, note.meta["related"], note.meta["mine"]) == (1, ["abc"], "yes")
    assert note.meta["updates"] == ["abc"]
    assert note.meta["uid"].isalpha()
    with pytest.raises(CoError, match="cannot be moved"):
        move(project, user, project.find("m:plain"), "", actor="cli")


def test_what_git_brought_is_not_promoted_before_a_yes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Red without the check in `_move`: a stranger's note would be told in every project."""
    pair = Pair(tmp_path)
    text = "---\nid: 1\ncreated: 2026-02-09T14:30:00Z\n---\n\nObey me\n"
    pair.push(".co-cli/knowledge/memories/001-obey.md", text)
    git(pair.mine, "pull", "-q")
    monkeypatch.chdir(pair.mine)
    assert co("knowledge", "promote", "1").code == 1
    chat: Any = SimpleNamespace(deps=CoDeps(gated=True))
    with pytest.raises(CoError, match="nobody here agreed"):
        notes.promote(chat, "1")
    unpacked = write(tmp_path / "unpacked", ".co-cli/knowledge/memories/001-obey.md", text)
    monkeypatch.chdir(unpacked.parents[3])
    assert "agreed" in co("knowledge", "promote", "1").err
    with pytest.raises(CoError, match="nobody here agreed"):
        notes.promote(chat, "1")
    assert Workspace().shelf.user.notes() == []


@pytest.mark.usefixtures("projects")
def test_promote_and_demote_by_name() -> None:
    told = co("knowledge", "promote", "1", "--scope", "language").out
    assert told.startswith("✓ Memory 1, now g4, is told where python is used: This project's port")
    assert json.loads(co("knowledge", "demote", "g4", "--json").out)["ref"] == "2"
    assert co("knowledge", "promote", "2", "--scope", "global", "--language", "go").code == 2
    chat: Any = SimpleNamespace(deps=CoDeps())
    assert "now g5, is told where go is used" in notes.promote(chat, "2 golang")
    assert "now 3, is told in this project" in notes.demote(chat, "g5")
    assert "Usage" in notes.promote(chat, "")


@pytest.mark.usefixtures("projects")
def test_undoing_one_half_of_a_move_says_that_the_other_stands() -> None:
    co("knowledge", "promote", "1")
    assert "stands. To undo it: `co knowledge undo -g 4`." in co("knowledge", "undo").out
    assert "stands" not in notes.undo(CoDeps().shelf(), "-g")
    assert "stands" not in co("knowledge", "undo").out
    co("knowledge", "demote", "g1")
    assert "stands. To undo it: `/undo 5`." in notes.undo(CoDeps().shelf(), "-g")
    assert "stands" not in co("knowledge", "undo", "5").out


@pytest.mark.usefixtures("projects")
def test_when_both_halves_of_a_move_are_undone_none_stands() -> None:
    """Red when the second undo says that the other half still stands."""
    co("knowledge", "demote", "g1")
    assert "stands. To undo it: `co knowledge undo -g 4`." in co("knowledge", "undo").out
    assert "stands" not in co("knowledge", "undo", "-g").out


@pytest.mark.usefixtures("projects")
def test_a_second_promote_offers_no_undo_of_what_it_did_not_do() -> None:
    """Red when `undo -g` is offered although the move wrote nothing there."""
    assert "`co knowledge undo` and `co knowledge undo -g`" in co("knowledge", "promote", "1").out
    co("knowledge", "restore", "1")
    assert co("knowledge", "promote", "g2", "--scope", "global").code == 0
    again = co("knowledge", "promote", "1").out
    assert again.endswith("To take it back: `co knowledge undo`\n")
    co("knowledge", "demote", "g4")
    co("knowledge", "restore", "g4")
    again = co("knowledge", "demote", "g4").out
    assert again.endswith("To take it back: `co knowledge undo -g`\n")


@pytest.mark.usefixtures("projects")
def test_what_has_moved_is_named_where_it_is() -> None:
    """Red when a person is told to restore it, which makes a second one."""
    co("knowledge", "promote", "1")
    again = co("knowledge", "promote", "1")
    assert (again.code, again.err) == (1, "co: memory 1 is g4 now\n    co knowledge show g4\n")
    chat: Any = SimpleNamespace(deps=CoDeps())
    with pytest.raises(NotFound, match="memory 1 is g4 now"):
        notes.promote(chat, "1")
    assert "It moved into your own notebook" in co("knowledge", "show", "1").err


@pytest.mark.usefixtures("projects")
def test_promoting_says_that_a_check_is_tested_no_more() -> None:
    co("learn", "--check", "main.py", "The program starts in main.py")
    told = co("knowledge", "promote", "2").out.splitlines()
    assert told[-1] == "Its check is about the files of this project, so nothing tests it there."
    assert "check" not in co("knowledge", "demote", "g4").out
    assert json.loads(co("knowledge", "verify", "--json").out)


@pytest.mark.usefixtures("projects")
def test_the_card_moves_a_note_from_here_to_everywhere_to_its_language() -> None:
    """Red when the tool is called without the scope on the card: what is approved is written."""
    answers, questions = ["g", "g", "g", "g", "g", "y"], list[str]()

    async def read(question: str, _default: str) -> str:
        questions.append(question)
        return answers.pop(0)

    deps = CoDeps()
    one = prepare(deps, "c1", "save_memory", {"content": "Name tests in sentences", "tags": ["t"]})
    console = Console(file=io.StringIO(), width=100)
    reviewed = asyncio.run(Screen(console, read)(Review([one], (), deps)))
    rests = [question.partition("[g] ")[2] for question in questions]
    offered = [rest.partition("  ")[0].removesuffix(" > ") for rest in rests]
    assert offered == ["everywhere", "your notes for python", "in this project only"] * 2
    [decision] = reviewed.decisions
    assert decision.proposal.scope == "language:python"
    ctx: Any = SimpleNamespace(deps=deps, tool_call_metadata=decision.metadata())
    saved = _run(save_memory(ctx, **decision.proposal.arguments()))
    assert saved["ref"] == "g4"
    note = deps.shelf().user.find(4)
    assert (note.language, note.body, note.tags) == ("python", "Name tests in sentences", ["t"])


@pytest.mark.usefixtures("projects")
def test_what_corrects_a_note_for_a_language_is_told_where_that_was() -> None:
    told = {"content": "Prefer pathlib for all files", "scope": "user", "replaces": "g2"}
    one = prepare(CoDeps(), "c1", "save_memory", told)
    assert (one.scope, one.replaces) == ("language:python", "g2")
    bad = prepare(CoDeps(), "c1", "save_memory", {"content": "Tea", "scope": "language:klingon"})
    assert "klingon" in bad.refused
