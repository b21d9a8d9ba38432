"""A purge follows a memory through every notebook that it moved to."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from cli import Result, co
from faults import CLEAN, Fault, Say, Shim, in_child
from operations import workshop

from co_cli import paths
from co_cli.errors import MovedOn
from co_cli.knowledge import Notebook, Policy
from co_cli.knowledge.doctor import diagnose
from co_cli.knowledge.inbox import Draft, accept, put
from co_cli.knowledge.moving import move
from co_cli.knowledge.renumber import renumber
from co_cli.knowledge.store import JOURNAL
from co_cli.knowledge.trail import Trail, follow, purge_all
from co_cli.workspace import Workspace

TEXT = "The walrusword ledger is kept in Basel"


@pytest.fixture(autouse=True)
def projects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Three projects; what is returned goes into one of them."""
    for name in ("x", "y", "z"):
        (tmp_path / "work" / name / ".git").mkdir(parents=True)

    def enter(name: str) -> None:
        monkeypatch.chdir(tmp_path / "work" / name)

    enter("x")
    return enter


def done(*args: str) -> Result:
    result = co(*args)
    assert result.code == 0, result
    return result


def holding(word: bytes = b"walrusword") -> list[str]:
    """The files and names below the home and all projects that hold a word, in any case."""
    work = Path(os.environ["HOME"]).parent
    found = [path for path in work.rglob("*") if path.is_file()]
    return [str(p) for p in found if word in p.read_bytes().lower() + bytes(p).lower()]


def purged(*args: str) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(done("forget", *args, "--purge", "--yes", "--json").out)
    return value


def test_nothing_is_left_of_a_memory_that_went_and_came_back() -> None:
    """G22. Red when the earlier number's archived file and its journal lines stay."""
    done("learn", TEXT)
    done("knowledge", "promote", "1")
    done("knowledge", "demote", "g1")
    done("recall", "walrusword ledger")
    assert "3 copies removed" in purged("2")["display"]
    assert holding() == []
    assert [done("knowledge", "restore").out] == [""]
    for undo in ((), ("-g",)):
        assert co("knowledge", "undo", *undo).code == 1
    assert json.loads(done("knowledge", "doctor", "--json").out)["healthy"]


@pytest.mark.parametrize(("place", "ref"), [("x", "1"), ("y", "1"), ("z", "g2"), ("y", "g1")])
def test_a_chain_over_three_notebooks_is_purged_from_any_of_them(
    place: str, ref: str, projects: Callable[[str], None]
) -> None:
    """G22. Red when a purge looks only into the notebooks that can be seen from its folder."""
    done("learn", TEXT)
    done("knowledge", "promote", "1")
    projects("y")
    done("knowledge", "demote", "g1")
    done("knowledge", "promote", "1")
    projects(place)
    assert "4 copies removed" in purged(ref)["display"]
    assert holding() == []
    for name in "xyz":
        projects(name)
        assert co("knowledge", "restore", "1").code == 1
        done("knowledge", "doctor")


def test_all_versions_go_also_those_that_were_reworded_on_the_way(
    projects: Callable[[str], None],
) -> None:
    done("learn", TEXT)
    done("knowledge", "promote", "1")
    user = Notebook(paths.user_knowledge(), scope="user")
    note = user.find(1)
    user.replace(note, note.raw.replace(b"walrusword", b"harbour"))
    projects("y")
    purged("g1")
    assert holding() == holding(b"harbour") == []


@pytest.mark.parametrize("last", ["x", "g"])
def test_a_draft_that_became_a_memory_elsewhere_goes_with_it(
    last: str, projects: Callable[[str], None]
) -> None:
    """G22. Red when accepting into another notebook leaves no record of it."""
    project, user = Notebook(".co-cli/knowledge"), Notebook(paths.user_knowledge(), scope="user")
    [draft] = put(project, [Draft(TEXT)], actor="chat").added
    accept(project, draft, text="Otherwise: the kelpword", into=user, actor="chat")
    if last == "x":  # a purge of the draft takes no memory along
        assert purged("i:the-walrusword-ledger-is-kept-in-basel")["left"] == []
        assert user.find(1).body == "Otherwise: the kelpword"
    else:
        projects("y")
        purged("g1")
        assert holding(b"kelpword") == []
    assert holding() == []


def test_a_notebook_that_is_gone_is_named_and_purged_when_it_is_back(
    projects: Callable[[str], None],
) -> None:
    """G22. Red when a purge keeps quiet about a copy, or the journal forgets where it is."""
    done("learn", TEXT)
    done("knowledge", "promote", "1")
    projects("y")
    os.rename("../x", "../aside")
    shutil.move(Path(os.environ["HOME"], ".config/co-cli/trust.json"), "trust.json")
    result = done("forget", "g1", "--purge", "--yes", "--json")
    x = str(Path("../x/.co-cli/knowledge").resolve())
    unreached = json.loads(result.out)["unreached"]
    assert unreached == [{"path": x, "reason": "is not there", "line": 0}]
    assert "a copy may stay in " in result.err
    assert "Once it can be reached: co forget g1 --purge" in result.err
    assert any("aside" in path for path in holding())
    os.rename("../aside", "../x")
    assert purged("g1")["unreached"] == []
    assert holding() == []
    assert co("forget", "g1", "--purge", "--yes").code == 1


def test_a_project_that_has_another_place_is_found_there(projects: Callable[[str], None]) -> None:
    done("learn", TEXT)
    done("knowledge", "promote", "1")
    projects("y")
    os.rename("../x", "../new")
    projects("new")
    done("trust", "--yes")
    projects("y")
    assert purged("g1")["unreached"] == []
    assert holding() == []


def test_a_notebook_that_cannot_be_written_is_named_and_the_others_are_purged(
    projects: Callable[[str], None],
) -> None:
    done("learn", TEXT)
    done("knowledge", "promote", "1")
    lock = Path(".co-cli/knowledge/.lock").resolve()
    lock.unlink()
    lock.mkdir()
    projects("z")
    [problem] = purged("g1")["unreached"]
    assert problem["path"] == str(lock.parent)
    assert all("/x/" in path for path in holding())
    lock.rmdir()
    assert purged("g1")["unreached"] == []
    assert holding() == []


def test_a_renumbered_memory_goes_under_both_numbers() -> None:
    """G22. Red when a purge knows a memory only by the name that its file has now."""
    book = Notebook(".co-cli/knowledge")
    note = book.remember(TEXT).note
    book.protect(1)
    book.protect(1, on=False)
    head = b"---\nid: 1\ncreated: 2020-01-01T10:00:00Z\n---\n\nZebras are striped\n"
    Path(note.path).with_name("001-zebras.md").write_bytes(head)
    [(_, moved)] = renumber(book).moved
    assert moved.id == 2
    book.undo()
    renumber(book)
    assert "6 copies removed" in purged("3")["display"]
    assert holding() == []
    assert [one.body for one in book.notes()] == ["Zebras are striped"]


def test_a_part_of_a_summary_in_the_other_notebook_goes(projects: Callable[[str], None]) -> None:
    """G22. Red when only what carries the memory's own file is looked for elsewhere."""
    done("learn", TEXT)
    done("knowledge", "promote", "1")
    user = Notebook(
        paths.user_knowledge(), scope="user", policy=Policy(max_count=2, percentage=1.0)
    )
    user.remember("Zebras are striped")
    plan = user.plan_decay()
    assert plan is not None
    summary = user.commit(plan).summary
    assert summary is not None
    project = Notebook(".co-cli/knowledge")
    move(user, project, summary, "", actor="cli")
    projects("y")
    purged("g1")
    assert holding() == []
    [left] = project.notes()
    assert "Zebras are striped" in left.body


def test_what_holds_the_words_and_stays_is_named(projects: Callable[[str], None]) -> None:
    """G22. Red when a merged or imported memory keeps the words unsaid."""
    done("learn", TEXT)
    done("knowledge", "export", "../all.jsonl")
    done("learn", "Zebras graze beyond Timbuktu")
    done("knowledge", "merge", "2", "1")
    projects("y")
    done("knowledge", "import", "../all.jsonl", "--yes")
    projects("x")
    result = done("forget", "1", "--purge", "--yes", "--json")
    y = Path("../y").resolve()
    assert json.loads(result.out)["left"] == ["2", f"1 in {y}"]
    assert f"these hold the same words and stay: 2, 1 in {y}" in result.err
    purged("2")
    projects("y")
    purged("1")
    Path("../all.jsonl").unlink()
    assert holding() == []


def test_a_memory_that_is_in_both_goes_from_both_unless_one_is_protected(
    projects: Callable[[str], None],
) -> None:
    done("learn", TEXT)
    done("knowledge", "promote", "1")
    done("knowledge", "restore", "1")
    done("knowledge", "protect", "1")
    projects("y")
    result = co("forget", "g1", "--purge", "--yes")
    assert (result.code, "is protected" in result.err) == (1, True)
    assert f"In {Path('../x').resolve()}: `co knowledge unprotect 1`" in result.err
    done("knowledge", "show", "g1")
    projects("x")
    done("knowledge", "unprotect", "1")
    projects("y")
    result = done("forget", "g1", "--purge", "--yes")
    assert f"memory 1 in {Path('../x').resolve()} is the same and goes too" in result.err
    assert holding() == []


def test_what_it_was_made_of_elsewhere_is_named_and_taken_along_when_asked(
    projects: Callable[[str], None],
) -> None:
    for text in ("Zebras graze beyond Timbuktu", TEXT):
        done("learn", text)
    done("knowledge", "merge", "1", "2")
    done("knowledge", "promote", "1")
    projects("y")
    left = done("forget", "g1", "--purge", "--with-earlier", "--yes", "--json")
    assert json.loads(left.out)["restorable"] == []
    assert holding() == holding(b"timbuktu") == []


def trail(ref: str = "1") -> tuple[Trail, Workspace]:
    here = Workspace()
    find = partial(follow, elsewhere=here.elsewhere, known=here.known_notebooks())
    return find(here.shelf, here.shelf.user, ref, earlier=False), here


def test_a_memory_that_moves_while_a_person_decides_stays(
    projects: Callable[[str], None],
) -> None:
    """G22. Red when a copy that was made after the look stays, and nobody is told."""
    done("learn", TEXT)
    done("knowledge", "promote", "1")
    projects("y")
    found, here = trail()
    projects("z")
    done("knowledge", "demote", "g1")
    with pytest.raises(MovedOn, match="changed meanwhile"):
        purge_all(found, here.shelf, first=lambda: None)
    purged("1")
    assert holding() == []


def test_a_journal_of_a_repository_leads_to_no_other_notebook(
    projects: Callable[[str], None],
) -> None:
    """G12. Red when a purge believes a project's journal about where another notebook is."""
    done("learn", TEXT)
    project = Path("../y/.co-cli/knowledge")
    shutil.copytree(".co-cli/knowledge", project)
    projects("y")
    journal = Path(".co-cli/knowledge", JOURNAL)
    rows = [json.loads(line) for line in journal.read_text().splitlines()]
    rows[0] |= {"pair": "abc", "other": str(Path("../x/.co-cli/knowledge").resolve())}
    journal.write_text("".join(json.dumps(row) + "\n" for row in rows))
    done("trust", "--yes")
    [problem] = purged("1")["unreached"]
    assert problem["reason"] == "is not the notebook of yours that is used here"
    assert Notebook(Path("../x/.co-cli/knowledge")).find(1).body == TEXT


def test_a_purge_that_is_killed_anywhere_is_finished_by_the_next(
    tmp_path: Path, projects: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """G22. Red when what tells of the other notebooks goes before they are purged."""
    done("learn", TEXT)
    done("knowledge", "promote", "1")
    done("knowledge", "demote", "g1")
    done("knowledge", "promote", "2")
    projects("y")
    with workshop() as work:
        shutil.copytree(tmp_path, f"{work}/0", symlinks=True)
        with Shim(tmp_path, sync=False) as shim:
            found, here = trail("2")
            start = len(shim.calls)
            purge_all(found, here.shelf, first=lambda: None)
        many = len(shim.calls)
        assert holding() == []
        for n in range(start, many, 7):
            shutil.rmtree(tmp_path)
            shutil.copytree(f"{work}/0", tmp_path, symlinks=True)
            monkeypatch.chdir(tmp_path / "work/y")

            def run(_: Say) -> None:
                found, here = trail("2")
                purge_all(found, here.shelf, first=lambda: None)

            ended = in_child(run, Shim(tmp_path, Fault("kill", n), sync=False))
            assert ended.killed or ended.status == CLEAN, ended.lines
            if holding():
                found, here = trail("2")
                purge_all(found, here.shelf, first=lambda: None)
            assert holding() == [], (n, many)
            books = Notebook(tmp_path / "work/x/.co-cli/knowledge"), Workspace().shelf.user
            assert [diagnose(book) for book in books] == [[], []], n
