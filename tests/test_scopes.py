"""A note is told where its scope says: in one project, where a language is used, or everywhere."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from cli import co

from co_cli import languages, verbs
from co_cli.chat import notes
from co_cli.deps import CoDeps
from co_cli.errors import CoError, NotFound
from co_cli.knowledge import Notebook, Policy
from co_cli.knowledge.export import export
from co_cli.knowledge.format.note import scoped
from co_cli.tools.memory import list_memories, recall_memory
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
        assert "2 of 200" in co("status").out
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


def test_a_language_is_named_as_people_name_it() -> None:
    used = frozenset({"python"})
    assert [languages.named(text, used) for text in ("", "Py", "C++", "golang")] == [
        "python", "python", "cpp", "go",
    ]  # fmt: skip
    for text, some in (("", frozenset[str]()), ("pythn", used)):
        with pytest.raises(CoError) as raised:
            languages.named(text, some)
        assert raised.value.hint
