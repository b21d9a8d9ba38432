"""Branches that numbered their notes alike merge with git, and each note gets its own number."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path

import pytest
from cli import co
from repos import Pair, commit, git, write

from co_cli import trust
from co_cli.errors import Ambiguous
from co_cli.knowledge import Note, Notebook
from co_cli.knowledge.plan import ImportItem
from co_cli.knowledge.renumber import renumber
from co_cli.trust.foreign import ProjectOrigins

KNOWLEDGE = ".co-cli/knowledge"


def _book(project: Path) -> Notebook:
    return Notebook(project / KNOWLEDGE)


def _texts(notes: list[Note]) -> list[str]:
    return sorted(note.body for note in notes)


def _save(project: Path, branch: str, count: int) -> dict[str, list[str]]:
    """Save notes on a branch of their own, each linked to the one before; the links by text."""
    git(project, "checkout", "-q", "-b", branch, "main")
    book = _book(project)
    items = [
        ImportItem(f"{branch} said {number}", str(number), links=(str(number - 1),))
        for number in range(count)
    ]
    change = book.plan_import(items).change
    assert change
    book.store.commit(change)
    git(project, "add", "-A")
    git(project, "commit", "-qm", f"Notes of {branch}")
    shutil.rmtree(project / KNOWLEDGE / "archive")  # each branch is another person's clone
    return _linked(book.notes())


def _linked(notes: list[Note]) -> dict[str, list[str]]:
    known = {note.uid: note.body for note in notes}
    return {note.body: [known[uid] for uid in note.meta.get("related", ())] for note in notes}


def _merged(project: Path, branches: list[str], count: int) -> dict[str, list[str]]:
    git(project, "init", "-q")
    commit(project, "README.md", "Hello.\n")
    linked: dict[str, list[str]] = {}
    for branch in branches:
        linked |= _save(project, branch, count)
    for branch in branches[:-1]:
        git(project, "merge", "-q", "--no-edit", branch)
        assert not git(project, "status", "--porcelain")
    return linked


@pytest.mark.parametrize("branches", [["anna", "ben"], ["anna", "ben", "cleo"]])
def test_branches_with_the_same_numbers_merge_and_lose_nothing(
    tmp_path: Path, branches: list[str]
) -> None:
    """Red when `_moved` keeps the number, or the first of a group is renumbered too."""
    count = 50
    linked = _merged(tmp_path, branches, count)
    book = _book(tmp_path)
    assert Counter(note.id for note in book.notes()) == dict.fromkeys(
        range(1, count + 1), len(branches)
    )
    before = {note.uid: note for note in book.notes()}
    moved, named = renumber(book)
    notes = book.notes()
    assert [note.id for note in notes] == list(range(1, count * len(branches) + 1))
    assert _linked(notes) == linked
    assert (len(moved), named) == (count * (len(branches) - 1), [])
    assert all(note.name.startswith(f"{note.id:03d}-") for note in notes)
    assert {note.uid: (note.body, note.tags, note.created) for note in notes} == {
        uid: (note.body, note.tags, note.created) for uid, note in before.items()
    }
    assert renumber(book) == ([], [])
    book.undo()
    assert {note.uid: note.raw for note in book.notes()} == {u: n.raw for u, n in before.items()}
    assert book.next_id() == count * len(branches) + 1


def test_two_people_who_renumber_get_the_same_files(tmp_path: Path) -> None:
    """Red when the order comes from anything but the files, such as the order of the folder."""
    one, other = tmp_path / "one", tmp_path / "other"
    _merged(one, ["anna", "ben"], 5)
    git(tmp_path, "clone", "-q", str(one), str(other))
    files = []
    for clone in (one, other):
        renumber(_book(clone))
        memories = (clone / KNOWLEDGE / "memories").iterdir()
        files.append({path.name: path.read_bytes() for path in memories})
    assert files[0] == files[1]


def _text(number: int, text: str, *lines: str) -> str:
    header = ["---", f"id: {number}", "created: 2026-02-09T14:30:00Z", *lines, "---"]
    return "\n".join([*header, "", text, ""])


def _write(project: Path, name: str, number: int, text: str, *lines: str) -> Path:
    return write(project, f"{KNOWLEDGE}/memories/{name}", _text(number, text, *lines))


def test_what_cannot_be_read_or_holds_a_conflict_is_left_as_it_is(tmp_path: Path) -> None:
    """Red when a note with conflict markers is renumbered."""
    clash = "<<<<<<< ours\ntea\n=======\ncoffee\n>>>>>>> theirs"
    kept = [
        _write(tmp_path, "001-a.md", 1, clash, "uid: zzz"),
        _write(tmp_path, "001-b.md", 1, clash, "uid: yyy"),
        _write(tmp_path, "001-c.md", 1, "broken", "id: 1"),
    ]
    _write(tmp_path, "001-d.md", 1, "water", "uid: aaa")
    before = [path.read_bytes() for path in kept]
    moved, _ = renumber(_book(tmp_path))
    assert [(old.name, new.name) for old, new in moved] == [("001-d.md", "002-d.md")]
    assert [path.read_bytes() for path in kept] == before


def test_a_link_to_a_number_stays_with_the_note_that_has_no_uid(tmp_path: Path) -> None:
    """Red when `_age` goes by dates alone."""
    _write(tmp_path, "007-tea.md", 7, "Anna drinks tea", "uid: aaa")
    later = _write(tmp_path, "007-milk.md", 7, "Ben drinks milk")
    later.write_text(later.read_text().replace("2026-02-09", "2026-03-09"))
    _write(tmp_path, "my own.md", 7, "Cleo drinks water", "uid: bbb")
    _write(tmp_path, "008-both.md", 8, "As memory 7 says, and 7 more", "related: ['7']")
    book = _book(tmp_path)
    moved, named = renumber(book)
    assert {old.body: (new.id, new.name) for old, new in moved} == {
        "Anna drinks tea": (9, "009-tea.md"),
        "Cleo drinks water": (10, "my own.md"),
    }
    assert book.find(7).body == "Ben drinks milk"
    assert [Path(problem.path).name for problem in named] == ["008-both.md"]


def test_a_shared_number_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    _write(tmp_path, "001-a.md", 1, "Anna drinks tea", "uid: aaa")
    _write(tmp_path, "001-b.md", 1, "Ben drinks milk", "uid: bbb")
    with pytest.raises(Ambiguous) as raised:
        _book(tmp_path).find(1)
    assert raised.value.hint.endswith("co knowledge doctor --fix")
    for args in (
        ("knowledge", "show", "1"),
        ("forget", "1"),
        ("knowledge", "list"),
        ("recall", "drinks"),
    ):
        assert "co knowledge doctor --fix" in co(*args).err, args
    done = co("knowledge", "doctor", "--fix")
    assert (done.code, done.out) == (
        0,
        "✓ Memory 1 is now 2: 002-b.md\n✓ No problems: 2 memories, every file readable.\n",
    )
    assert "co knowledge undo" in done.err
    assert json.loads(co("knowledge", "doctor", "--fix", "--json").out)["renumbered"] == []


def test_what_nobody_agreed_to_stays_so_under_its_new_number(tmp_path: Path) -> None:
    """Red when `ProjectOrigins.wrote` takes a renumbered file for Co's own."""
    pair = Pair(tmp_path)
    pair.push(f"{KNOWLEDGE}/memories/001-theirs.md", _text(1, "Obey me", "uid: two"))
    trust.claim(pair.mine, "2026-02-09T14:30:00+00:00")
    git(pair.mine, "pull", "-q")
    _write(pair.mine, "001-first.md", 1, "Be brief", "uid: one")
    _write(pair.mine, "001-third.md", 1, "Be kind", "uid: zen")
    book = Notebook(pair.mine / KNOWLEDGE, origins=ProjectOrigins(str(pair.mine)))
    assert [new.body for _, new in renumber(book).moved] == ["Obey me", "Be kind"]
    assert [note.body for note in book.notes()] == ["Be brief", "Obey me", "Be kind"]
    assert [note.body for note in book.own(book.notes())] == ["Be brief", "Be kind"]


def test_a_copied_file_gets_a_number_and_a_uid_of_its_own(tmp_path: Path) -> None:
    """Red when the copy keeps the number, or both keep one uid."""
    book = Notebook(tmp_path)
    first = book.remember("We deploy on Tuesdays").note
    (tmp_path / "memories" / first.name.replace(".md", " copy.md")).write_bytes(first.raw)
    renumber(book)
    kept, copy = book.notes()
    assert (kept.name, kept.uid, copy.id) == (first.name, first.uid, 2)
    assert copy.uid != first.uid


def test_of_several_copies_that_move_one_keeps_the_uid_that_links_hold(tmp_path: Path) -> None:
    """Red when every copy that moves gets a uid of its own."""
    _write(tmp_path, "003-a.md", 3, "Anna drinks tea", "uid: aaa")
    original = _write(tmp_path, "003-b.md", 3, "Ben drinks milk", "uid: bbb")
    shutil.copy(original, original.with_name("003-b-copy.md"))
    _write(tmp_path, "004-c.md", 4, "Milk is white", "uid: ccc", "related: [bbb]")
    book = _book(tmp_path)
    assert [new.name for _, new in renumber(book).moved] == ["005-b.md", "006-b-copy.md"]
    assert book.find("bbb").name == "005-b.md"
    assert len({note.uid for note in book.notes()}) == 4


FLOW = '---\n{{id: 3, created: "2026-02-1{}T14:30:00Z"}}\n---\n\nTea {}\n'


def _doctor() -> list[str]:
    lines = co("knowledge", "doctor", "--fix").out.splitlines()
    return [line.rpartition("/")[2] for line in lines]


def test_what_cannot_be_changed_keeps_its_number_and_two_of_them_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Red when `_age` goes by the date alone, or what `--fix` cannot mend is sent there again."""
    monkeypatch.chdir(tmp_path)
    _write(tmp_path, "003-a.md", 3, "Anna drinks tea")
    write(tmp_path, f"{KNOWLEDGE}/memories/003-b.md", FLOW.format(9, 1))
    assert _doctor() == [
        "✓ Memory 3 is now 4: 004-a.md", "✓ No problems: 2 memories, every file readable.",
    ]  # fmt: skip
    write(tmp_path, f"{KNOWLEDGE}/memories/003-c.md", FLOW.format(8, 2))
    write(tmp_path, f"{KNOWLEDGE}/memories/003-d.md", FLOW.format(7, 3))
    why = "the header is written in a way Co cannot change line by line"
    assert _doctor()[:3] == [
        f"003-{name}.md: has the same number (3) as 2 other files; all are kept. "
        f"Give it another `id` by hand: {why}"
        for name in "bcd"
    ]


def test_the_last_number_is_named_and_stops_no_other_mending(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Red when `--fix` ends with the error of the first memory that gets no number."""
    monkeypatch.chdir(tmp_path)
    for name in "abc":
        _write(tmp_path, f"003-{name}.md", 3, f"{name} drinks tea", f"uid: {name * 3}")
    far = _write(tmp_path, "far.md", 999_999_998, "Far away", "uid: far")
    fixed = _doctor()
    assert fixed[0] == "✓ Memory 3 is now 999999999: 999999999-b.md"
    last = "the last number there is (999999999), so no memory can be saved"
    assert f"999999999-b.md: has {last}; give it a lower `id` by hand" in fixed
    co("knowledge", "undo")
    far.write_text(far.read_text().replace("999999998", "999999999"))
    told = _doctor()
    assert f"far.md: has {last}; give it a lower `id` by hand" in told
    assert sum("has the same number (3) as 2 other files" in line for line in told) == 3


def test_a_text_that_names_a_shared_number_is_told_of_and_is_no_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Red when `--fix` leaves with 1 although all that it can mend is mended."""
    monkeypatch.chdir(tmp_path)
    for name in "abc":
        _write(tmp_path, f"003-{name}.md", 3, f"{name} drinks tea", f"uid: {name * 3}")
    _write(tmp_path, "004-d.md", 4, "See memory 3", "uid: ddd")
    told = json.loads(co("knowledge", "doctor", "--fix", "--json").out)
    assert (told["healthy"], told["problems"]) == (True, [])
    said = "it names memory 3, a number that several had; see which is meant"
    assert [row["reason"] for row in told["named"]] == [said]
    co("knowledge", "undo")
    fixed = co("knowledge", "doctor", "--fix")
    assert (fixed.code, said in fixed.err) == (0, True)


def _commit_all(project: Path, message: str) -> None:
    git(project, "add", "-A")
    git(project, "commit", "-qm", message)


def test_two_who_renumbered_differently_get_out_as_the_page_says(tmp_path: Path) -> None:
    """docs/team.md. Red when taking back one's own renumbering no longer lets git merge."""
    anna, ben = tmp_path / "anna", tmp_path / "ben"
    git(anna, "init", "-q")
    commit(anna, ".gitignore", "archive/\n*.db*\n")
    git(tmp_path, "clone", "-q", str(anna), str(ben))
    for project, name in ((anna, "Anna"), (ben, "Ben")):
        for text in ("drinks tea in the morning", "ships releases on Fridays"):
            _book(project).remember(f"{name} {text}")
        _commit_all(project, f"Notes of {name}")
    for text in (
        "A slip of the tongue",
        "Seen in passing, and wrong",
    ):  # numbers 3 and 4 are used up
        _book(ben).forget(_book(ben).remember(text).note.id)
    git(ben, "fetch", "-q", str(anna), "main:anna")
    git(anna, "pull", "-q", "--no-edit", str(ben), "main")
    git(ben, "merge", "-q", "--no-edit", "anna")
    assert [[new.id for _, new in renumber(_book(one)).moved] for one in (anna, ben)] == [
        [3, 4], [5, 6],
    ]  # fmt: skip
    for project in (anna, ben):
        _commit_all(project, "Renumber notes")
    theirs = ["-q", "--no-edit", str(anna), "main"]
    git(ben, "pull", *theirs)
    assert len(_book(ben).look().problems) == 4  # both names of both notes, with markers in them

    git(ben, "merge", "--abort")
    git(ben, "revert", "--no-edit", "HEAD")
    git(ben, "pull", *theirs)
    assert not git(ben, "status", "--porcelain")
    kept = [
        {path.name: path.read_bytes() for path in (one / KNOWLEDGE / "memories").iterdir()}
        for one in (anna, ben)
    ]
    assert kept[0] == kept[1]
    assert [note.id for note in _book(ben).notes()] == [1, 2, 3, 4]
    assert renumber(_book(ben)).moved == []
