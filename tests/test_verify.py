"""Notes that say by themselves when they no longer hold: `check`, `verified`, `expires`."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import pytest
from cli import Result, co
from test_offline import begin, say, shown

from co_cli.deps import CoDeps
from co_cli.knowledge import Notebook, Policy
from co_cli.knowledge.verify import checks, freshness, verify
from co_cli.tools.memory import recall_memory

MEMORIES = Path(".co-cli/knowledge/memories")
STALE = "stale: pyproject.toml no longer holds 'requires-python'"


def note(number: int, text: str, more: str = "") -> Path:
    path = MEMORIES / f"{number:03d}-note.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'---\nid: {number}\ncreated: "2026-02-09T14:30:00Z"\n{more}---\n\n{text}\n')
    return path


def book() -> Notebook:
    return Notebook(Path(".co-cli/knowledge").absolute())


def said(result: Result) -> str:
    return result.out + result.err


def mark(check: str) -> str:
    """What is told of a note with this check."""
    note(1, "We support Python 3.11", f"check: {json.dumps(check)}\n")
    return freshness(book(), book().find("1")).mark


def test_a_check_is_a_path_or_a_text_in_a_file_alone_in_a_list_or_as_a_mapping() -> None:
    Path("a.txt").write_text("requires 3.11")
    for written, meant in (
        ("check: a.txt", ["a.txt"]),
        ('check: "a.txt: 3.11"', ["a.txt: 3.11"]),
        ("check: [a.txt, b.txt]", ["a.txt", "b.txt"]),
        ("check:\n- a.txt: 3.110\n- b.txt", ["a.txt: 3.110", "b.txt"]),
        ("check: 010", ["010"]),
        ("check:", []),
    ):
        note(1, "x", written + "\n")
        assert checks(book().find("1")) == meant


def test_a_memory_without_a_check_is_named_where_others_have_one() -> None:
    Path("a.txt").touch()
    note(1, "The list is in a.txt", "check: a.txt\n")
    note(2, "We drink tea")
    assert "Memory 2 has no check. For example" in co("knowledge", "verify", "2").err
    assert "1 memory checked and true" in co("knowledge", "verify").out


def test_a_check_holds_or_says_what_is_wrong() -> None:
    Path("pyproject.toml").write_text("requires-python = '3.11'\n")
    Path("src").mkdir()
    assert [mark(one) for one in ("pyproject.toml", "src", "pyproject.toml: 3.11")] == [""] * 3
    assert mark("gone.py") == "stale: gone.py is not there"
    assert mark("gone.py: x") == "stale: gone.py is not there"
    assert mark("pyproject.toml/x") == "stale: pyproject.toml/x is not there"
    assert mark("pyproject.toml: 3.12") == "stale: pyproject.toml no longer holds '3.12'"
    assert mark("src: x") == "cannot be checked: src is a folder, not a file"


@pytest.mark.parametrize(
    "check",
    ["../out.txt", "/etc/hostname", "link", "link: x", "linked/out.txt", "src/../../out.txt: x"],
)
def test_a_path_that_leaves_the_project_is_refused_and_named(check: str) -> None:
    """Red when the real path is not compared with the project's."""
    out = Path("../out.txt")
    out.write_text("x")
    Path("link").symlink_to(out.absolute())
    Path("linked").symlink_to(out.absolute().parent)
    path = check.partition(": ")[0]
    said = f"cannot be checked: {path} leads out of the project, so it is not looked at"
    assert mark(check) == said


def test_pipes_devices_and_huge_files_are_refused_and_nothing_hangs() -> None:
    os.mkfifo("pipe")
    with open("huge", "wb") as huge:
        huge.truncate(2 * 1024 * 1024)
    assert mark("pipe") == "cannot be checked: pipe is neither a file nor a folder"
    assert mark("pipe: x") == "cannot be checked: pipe is a pipe, not a file"
    assert mark("huge: x") == "cannot be checked: huge is larger than 1 MiB"
    assert mark("huge") == ""
    assert "one line" in mark("a\u202eb")
    assert "one line" in mark(": x")


def test_a_link_inside_the_project_is_followed() -> None:
    Path("real.txt").write_text("x")
    Path("link.txt").symlink_to("real.txt")
    assert mark("link.txt: x") == ""


def test_learn_takes_checks_that_hold_and_refuses_others() -> None:
    Path("pyproject.toml").write_text("requires-python = '3.11'\n")
    assert co("learn", "We run 3.11", "--check", "pyproject.toml: requires-python").code == 0
    written = next(MEMORIES.iterdir()).read_text()
    assert 'check: "pyproject.toml: requires-python"\nverified: "' in written
    for check, why in (
        ("pyproject.toml: 4.0", "pyproject.toml does not hold '4.0'"),
        ("gone.py", "gone.py is not there"),
        ("../x", "leads out of the project"),
        ("pyproject.toml: ghp_" + "a1B2" * 9, "secret"),
        (" ", "a check is one line, and begins with a path"),
        ("pyproject.toml:requires", "after a colon and a space: pyproject.toml: TEXT"),
    ):
        refused = co("learn", "Another fact", "--check", check)
        assert (refused.code, why in refused.err) == (1, True), refused
    assert "your own notebook is in none" in co("learn", "-g", "Tea", "--check", "a").err
    assert len(list(MEMORIES.iterdir())) == 1


def test_verify_stamps_all_that_hold_in_one_change_that_undo_takes_back() -> None:
    """Red when a stamp touches another byte, or each note is a change of its own."""
    Path("app.py").write_text("x")
    one = note(1, "One", "check: app.py # why\nmine: 'x'\n")
    two = note(2, "Two", 'check: "app.py: x"\nverified: "2020-01-01"\n')
    bad = note(3, "Three", 'check: "app.py: y"\n')
    before = {path: path.read_bytes() for path in (one, two, bad)}
    tried = co("knowledge", "verify", "--dry-run")
    assert tried.code == 1
    assert {path: path.read_bytes() for path in before} == before
    done = co("knowledge", "verify")
    assert (done.code, done.out) == (
        1,
        "3  stale: app.py no longer holds 'y'  Three\n✓ 2 memories checked and true.\n",
    )
    today = book().today()
    stamp = f'verified: "{today}"\n'.encode()
    assert one.read_bytes() == before[one].replace(b"'x'\n", b"'x'\n" + stamp)
    assert two.read_bytes() == before[two].replace(b'"2020-01-01"', f'"{today}"'.encode())
    assert bad.read_bytes() == before[bad]
    assert [(entry.op, len(entry.files)) for entry in book().store.entries()] == [("verify", 2)]
    assert verify(book()).change == 0  # once a day
    assert co("knowledge", "undo").code == 0
    assert {path: path.read_bytes() for path in before} == before


def test_verify_tells_a_program_what_fails_and_takes_one_reference() -> None:
    Path("app.py").write_text("x")
    note(1, "One", "check: app.py\n")
    note(2, "Two", "check: gone.py\n")
    told = json.loads(co("knowledge", "verify", "--json").out)
    rows = [
        (row["ref"], row["check"], row["stale"], bool(row["verified"])) for row in told["memories"]
    ]
    assert rows == [
        ("1", ["app.py"], None, True),
        ("2", ["gone.py"], "gone.py is not there", False),
    ]
    assert co("knowledge", "verify", "1").code == 0
    assert co("knowledge", "verify", "2").code == 1
    assert co("knowledge", "verify", "9").code == 1


def test_a_header_that_cannot_be_stamped_is_named_and_stops_no_other() -> None:
    Path("app.py").write_text("x")
    MEMORIES.mkdir(parents=True)
    odd = '---\n{id: 1, created: "2026-02-09T14:30:00Z", check: app.py}\n---\n\nOdd\n'
    (MEMORIES / "001-odd.md").write_text(odd)
    note(2, "Two", "check: app.py\n")
    found = verify(book())
    assert [one.body for one in found.holds] == ["Two"]
    assert "cannot change line by line" in found.failed[0][1].refused


def test_every_surface_says_that_a_note_is_stale_or_expired() -> None:
    """Red when one of them tells an outdated note like any other."""
    Path("pyproject.toml").write_text("nothing here")
    note(1, "We support Python 3.11", 'check: "pyproject.toml: requires-python"\n')
    note(2, "The summer sale is on", 'expires: "2026-03-01"\n')
    chat = begin()
    for ask, tell in (
        ("which Python do we support?", STALE),
        ("is the summer sale on?", "expired"),
    ):
        assert tell in said(co("recall", ask))
        assert tell in json.loads(co("recall", ask, "--json").out)["results"][0]["outdated"]
        assert tell in shown(say(chat, ask))
        found = asyncio.run(recall_memory(Context(), ask))
        assert tell in found["display"]
    for ref, tell in (("1", STALE), ("2", "expired")):
        assert tell in said(co("knowledge", "show", ref))
        assert tell in said(co("knowledge", "list"))
    Path("pyproject.toml").write_text("requires-python")
    assert "stale" not in said(co("recall", "python"))
    assert sorted(os.listdir(MEMORIES)) == ["001-note.md", "002-note.md"]


class Context:
    """What a tool is called with."""

    deps = CoDeps()


def test_a_check_says_nothing_in_the_persons_own_notebook() -> None:
    home = Path(os.environ["HOME"]) / ".config/co-cli/knowledge/memories"
    home.mkdir(parents=True)
    (home / "001-a.md").write_text(
        '---\nid: 1\ncreated: "2026-02-09T14:30:00Z"\ncheck: /etc/passwd\n---\n\nMy tea\n'
    )
    assert said(co("recall", "tea")).count("check") == 0
    assert co("knowledge", "verify", "g1").code == 0


def test_what_rests_on_a_file_or_runs_out_never_decays(tmp_path: Path) -> None:
    """Red when decay joins such a memory and its check or its end is lost."""
    book = Notebook(tmp_path, policy=Policy(max_count=5, percentage=1.0))
    book.remember("We need Python 3.11", fields={"check": "pyproject.toml"})
    book.remember("The discount holds until June", fields={"expires": "2099-06-30"})
    book.remember("Ana waters the plants")
    book.remember("The harbour opens at nine")
    plan = book.plan_decay()
    assert plan is not None
    assert [note.id for note in plan.saved.decayed] == [3, 4]
