"""Hostile files times every verb: the file stays as it is, and Co says what is wrong with it."""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import resource
import shutil
import signal
import stat
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from cli import Result, TooSlow, co

KNOWLEDGE = Path(".co-cli/knowledge")
MEMORIES = KNOWLEDGE / "memories"
NOW = datetime.now(UTC).replace(microsecond=0).isoformat()
WORDS = "Zebras have stripes"  # what the hostile file says, where it can say anything
HEAD = f'id: 50\ncreated: "{NOW}"\n'
NAME = "050-zebras-have-stripes.md"
BIG = 1024 * 1024


def note(number: object, text: str, more: str = "") -> str:
    """A memory's file as Co or a person writes it."""
    return f'---\nid: {number}\ncreated: "{NOW}"\n{more}---\n\n{text}\n'


class Hostile(NamedTuple):
    """How to put a hostile file there, and where and why doctor says it cannot be read."""

    make: Callable[[Path], object]
    line: int = 0
    reason: str = ""
    name: str | bytes = NAME


def _bytes(data: bytes) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(data)


def _text(text: str) -> Callable[[Path], object]:
    return _bytes(text.encode())


def _header(header: str) -> Callable[[Path], object]:
    return _text(f"---\n{header}---\n\n{WORDS}\n")


def _long_line(path: Path) -> None:
    path.write_text(note(50, WORDS))
    os.truncate(path, 50 * BIG)


def _link(target: str) -> Callable[[Path], object]:
    return lambda path: path.symlink_to(target)


def _folder(path: Path) -> None:
    path.mkdir()
    (path / "inside.txt").write_text("kept")


def _sibling(path: Path) -> None:
    path.symlink_to("001-apples.md")


def _outside(path: Path) -> None:
    outside = Path(os.environ["HOME"]) / "outside.md"
    outside.write_text(note(50, WORDS))
    path.symlink_to(outside)


LINKED = "is a symbolic link; Co reads only real files here"
YAML = "Invalid YAML in frontmatter: line {}: {}"
BOMB = "a: &a [x, x, x, x]\nb: &b [*a, *a, *a, *a]\nc: &c [*b, *b, *b, *b]\nd: [*c, *c, *c, *c]\n"

READABLE = {
    "CRLF": Hostile(_text(note(50, WORDS, "tags: [a]\n").replace("\n", "\r\n"))),
    "BOM": Hostile(_text("\ufeff" + note(50, WORDS))),
    "CRLF and BOM": Hostile(_text("\ufeff" + note(50, WORDS).replace("\n", "\r\n"))),
    "comments and odd keys": Hostile(
        _header(f"# mine\n{HEAD}x: {{a: [1, 2]}}  # odd\ntags: ['no', \"010\"]\n")
    ),
    "line separators in the header": Hostile(
        _header(f'{HEAD}x: "a\u2028b\u2028c\u2028d\u2028e"\ndecay_protected: false\n')
    ),
    "control characters": Hostile(_text(note(50, f"\x1b]0;x\x07{WORDS}\x9b31m\u202e"))),
    "200 KB in one line": Hostile(_text(note(50, WORDS + " x" * 100_000))),
    "a name with a newline": Hostile(_text(note(50, WORDS)), name="050-a\nb.md"),
    "a name that drives the terminal": Hostile(_text(note(50, WORDS)), name="050-\x1b[31mred.md"),
    "a name that is not UTF-8": Hostile(_text(note(50, WORDS)), name=b"050-\xff\xfe.md"),
    "a name with a space before and after": Hostile(_text(note(50, WORDS)), name=" 50 .md"),
    "a name that looks like another number": Hostile(_text(note(50, WORDS)), name="2.md"),
    "a name that looks like the user's": Hostile(_text(note(50, WORDS)), name="g1.md"),
    "the longest name": Hostile(_text(note(50, WORDS)), name="x" * 252 + ".md"),
}
PLAIN = {
    "plain": Hostile(_text(f"{WORDS}\n")),
    "plain, CRLF and BOM": Hostile(_text(f"\ufeff# Zoo\r\n\r\n{WORDS}\r\n")),
    "plain, a name with a newline": Hostile(_text(WORDS), name="a\nb.md"),
    "plain, a name that drives the terminal": Hostile(_text(WORDS), name="\x1b[31mred.md"),
    "plain, a name that is not UTF-8": Hostile(_text(WORDS), name=b"\xff\xfe.md"),
    "plain, a name that is another's number": Hostile(_text(WORDS), name="2.md"),
    "plain, a name that is all spaces": Hostile(_text(WORDS), name="  .md"),
}
NO_HEADER = "there is no header between --- lines"
EMPTY = "is empty"
UNREADABLE = {
    "UTF-16": Hostile(_bytes(note(50, WORDS).encode("utf-16")), 1, "is UTF-16, not UTF-8"),
    "UTF-16 without BOM": Hostile(
        _bytes(note(50, WORDS).encode("utf-16-le")), 1, "holds a NUL character"
    ),
    "Latin-1": Hostile(_bytes(note(50, "caf\xe9").encode("latin-1")), 6, "is not UTF-8"),
    "NUL in the body": Hostile(_text(note(50, "a\0b")), 6, "holds a NUL character"),
    "NUL in the header": Hostile(_header(f"{HEAD}x: \0\n"), 4, "holds a NUL character"),
    "a header after a blank line": Hostile(
        _text("\n" + note(50, WORDS)), 1, "the header does not begin in the first line"
    ),
    "a header without its first line": Hostile(
        _text(note(50, WORDS)[4:]), 1, "the header is not opened: no first --- line"
    ),
    "conflict markers and no header": Hostile(
        _text(f"{WORDS}\n<<<<<<< HEAD\na\n=======\nb\n>>>>>>> other\n"),
        2,
        "holds an unresolved merge conflict; keep either side",
    ),
    "conflict markers around the header": Hostile(
        _text(f"<<<<<<< HEAD\n{note(50, WORDS)}=======\n{note(51, WORDS)}>>>>>>> other\n"),
        1,
        "holds an unresolved merge conflict; keep either side",
    ),
    "nothing but white space": Hostile(_text("\ufeff \n\t\r\n"), 1, EMPTY),
    "empty header": Hostile(_header(""), 1, NO_HEADER),
    "unclosed header": Hostile(
        _text(f"---\n{HEAD}\n{WORDS}\n"), 1, "the header is not closed: no second --- line"
    ),
    "300 KB that almost close the header": Hostile(
        _text("---\n" + "--- x\n" * 50_000), 1, "the header is not closed: no second --- line"
    ),
    "header of 20 KB": Hostile(
        _header(f"{HEAD}x: {'y' * 20_000}\n"), 1, YAML.format(1, "header longer than 16 KiB")
    ),
    "conflict markers in the header": Hostile(
        _header(f"{HEAD}<<<<<<< HEAD\ntags: [a]\n=======\ntags: [b]\n>>>>>>> other\n"),
        4,
        "holds an unresolved merge conflict; keep either side",
    ),
    "duplicate keys": Hostile(_header(f"{HEAD}id: 51\n"), 4, YAML.format(4, "'id' appears twice")),
    "header that is a list": Hostile(
        _header("- id\n- created\n"),
        2,
        YAML.format(2, "the header must be a mapping of names to values"),
    ),
    "alias bomb": Hostile(
        _header(HEAD + BOMB), 4, YAML.format(4, "anchors and aliases are not allowed")
    ),
    "merge key bomb": Hostile(
        _header(f"{HEAD}a: {{x: 1}}\n<<: [{{y: 1}}, {{y: 2}}]\n"),
        5,
        YAML.format(5, "merge keys are not allowed"),
    ),
    "deep nesting": Hostile(
        _header(f"{HEAD}x: {'[' * 900}{']' * 900}\n"),
        4,
        YAML.format(4, "nested deeper than 8 levels"),
    ),
    "nesting beyond the parser": Hostile(
        _header(f"{HEAD}x: {'[' * 3000}{']' * 3000}\n"),
        4,
        "",  # the parser's own words
    ),
    "YAML tag": Hostile(
        _header(f"{HEAD}x: !!python/object/apply:os.system [id]\n"),
        4,
        YAML.format(4, "YAML tags (!) are not allowed"),
    ),
    "no id": Hostile(_header(f'created: "{NOW}"\n'), 1, "Missing required field: id"),
    "no date": Hostile(_header("id: 50\n"), 1, "Missing required field: created"),
    "a date that is none": Hostile(
        _header("id: 50\ncreated: yesterday\n"),
        3,
        "Field 'created' must be ISO8601 format (2026-02-09T14:30:00Z): yesterday",
    ),
    "id as text": Hostile(_text(note("mem-001", WORDS)), 2, "Field 'id' must be integer"),
    "id as quoted number": Hostile(_text(note('"50"', WORDS)), 2, "Field 'id' must be integer"),
    "negative id": Hostile(
        _text(note(-5, WORDS)), 2, "Field 'id' must be integer from 1 to 999999999"
    ),
    "id 0": Hostile(_text(note(0, WORDS)), 2, "Field 'id' must be integer from 1 to 999999999"),
    "id of 12 digits": Hostile(
        _text(note(10**11, WORDS)), 2, "Field 'id' must be integer from 1 to 999999999"
    ),
    "id of 5,000 digits": Hostile(_text(note("9" * 5000, WORDS)), 2, "Field 'id' must be integer"),
    "tags as a string": Hostile(_header(f"{HEAD}tags: a b\n"), 4, "Field 'tags' must be list"),
    "tags in tags": Hostile(_header(f"{HEAD}tags: [[a], b]\n"), 4, "All tags must be strings"),
    "50 MB line": Hostile(_long_line, 0, "is larger than 8 MiB"),
    "pipe": Hostile(os.mkfifo, 0, "is a pipe, not a file"),
    "link to itself": Hostile(_link(NAME), 0, LINKED),
    "link to nowhere": Hostile(_link("nowhere.md"), 0, LINKED),
    "link out": Hostile(_outside, 0, LINKED),
    "link to a sibling": Hostile(_sibling, 0, LINKED),
    "link to a device": Hostile(_link("/dev/zero"), 0, LINKED),
    "folder": Hostile(_folder, 0, "is a folder, not a file"),
    "0 bytes": Hostile(_bytes(b""), 1, EMPTY),
    "0 bytes, name with a newline": Hostile(_bytes(b""), 1, EMPTY, name="x\ny.md"),
    "0 bytes, name that drives the terminal": Hostile(_bytes(b""), 1, EMPTY, name="\x1bc.md"),
    "0 bytes, name that is not UTF-8": Hostile(_bytes(b""), 1, EMPTY, name=b"\xff.md"),
}
ALL = {**READABLE, **UNREADABLE}

# Verbs that are about other notes, or about none.
BYSTANDING = {
    "learn the same": ("learn", "apples are red  and sweet!"),
    "learn something else": ("learn", "Bicycles have two wheels", "-t", "fact"),
    "learn over the limit": ("learn", "Bicycles have two wheels"),
    "learn something similar": ("learn", "--update", "Apples are red and sour"),
    "learn for the user": ("learn", "-g", "Bicycles have two wheels"),
    "recall": ("recall", "apples"),
    "recall it": ("recall", "zebras", "--json"),
    "forget another": ("forget", "2"),
    "forget by text": ("forget", "pears"),
    "purge another": ("forget", "2", "--purge", "--yes"),
    "purge an archived one": ("forget", "3", "--purge", "--yes"),
    "list": ("knowledge", "list"),
    "list as JSON": ("knowledge", "list", "--json"),
    "show": ("knowledge", "show", "1"),
    "show it": ("knowledge", "show", "50"),
    "show it as JSON": ("knowledge", "show", "50", "--json"),
    "edit": ("knowledge", "edit", "1"),
    "protect": ("knowledge", "protect", "1"),
    "unprotect": ("knowledge", "unprotect", "1"),
    "merge": ("knowledge", "merge", "1", "2"),
    "decay": ("knowledge", "decay", "--yes"),
    "what can be restored": ("knowledge", "restore"),
    "restore": ("knowledge", "restore", "3"),
    "undo": ("knowledge", "undo"),
    "log": ("knowledge", "log"),
    "log of it": ("knowledge", "log", "50"),
    "doctor": ("knowledge", "doctor"),
    "doctor as JSON": ("knowledge", "doctor", "--json"),
    "export": ("knowledge", "export"),
    "import into": ("knowledge", "import", "more.jsonl", "--yes"),
    "import from": ("knowledge", "import", ".", "-g", "--yes"),
    "status": ("status",),
    "status as JSON": ("status", "--json"),
    "init": ("init",),
    "trust": ("trust", "--yes"),
}
# Verbs that are about the hostile file; one that cannot be read stays as it is even so.
AIMED = {
    "learn what it says": ("learn", WORDS, "-t", "animals"),
    "forget it": ("forget", "50"),
    "forget it by text": ("forget", "zebras"),
    "forget it by name": ("forget", NAME),
    "purge it": ("forget", "50", "--purge", "--yes"),
    "edit it": ("knowledge", "edit", "50"),
    "protect it": ("knowledge", "protect", "50"),
    "merge it": ("knowledge", "merge", "1", "50"),
    "merge into it": ("knowledge", "merge", "50", "1"),
    "restore it": ("knowledge", "restore", "50"),
}


VERBS = BYSTANDING | AIMED
JOURNAL = "archive/journal.jsonl"
DONE = b'{"n":1,"state":"done","high":3}\n'


def _line(**values: object) -> bytes:
    line = {"n": 9, "state": "intent", "high": 3, "op": "save", "actor": "x", "at": "", "files": []}
    return json.dumps(line | values).encode() + b"\n"


# One verb for each way into the notebook: enough for what lies beside the notes.
SOME = [
    *("learn the same", "learn something else", "learn something similar", "recall", "list"),
    *("forget another", "purge another", "show", "protect", "decay", "what can be restored"),
    *("restore", "undo", "log", "doctor", "import into", "status", "init", "trust"),
]


Scene = Callable[[], None]


@pytest.fixture(autouse=True)
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scene:
    """Each call gives a new home, and a project with two notes and an archived one."""
    monkeypatch.setenv("EDITOR", "sed -i s/stripes/spots/;s/sweet/tart/")
    monkeypatch.setenv("CO_CLI_MEMORY_MAX_COUNT", "5")
    count = 0

    def begin() -> None:
        nonlocal count
        count += 1
        for name in ("home", "work"):
            (tmp_path / str(count) / name).mkdir(parents=True)
        monkeypatch.setenv("HOME", str(tmp_path / str(count) / "home"))
        monkeypatch.chdir(tmp_path / str(count) / "work")
        lay_out()

    begin()
    return begin


def lay_out() -> None:
    """Put the project into the working folder."""
    MEMORIES.mkdir(parents=True)
    (MEMORIES / "001-apples.md").write_text(note(1, "Apples are red and sweet"))
    (MEMORIES / "002-pears.md").write_text(note(2, "Pears are green"))
    Path("more.jsonl").write_text('{"content": "Bicycles have two wheels"}\n')
    plums = note(3, "Plums are blue")
    kept = KNOWLEDGE / "archive/000001/memories/003-plums.md"
    kept.parent.mkdir(parents=True)
    kept.write_text(plums)
    sha = hashlib.sha256(plums.encode()).hexdigest()
    files = [{"path": "memories/003-plums.md", "before": sha, "after": None}]
    line = _line(n=1, op="forget", actor="cli", at=NOW, files=files)
    (KNOWLEDGE / JOURNAL).write_bytes(line + DONE)


def do(verb: str) -> Result:
    """Run a verb; the one that is about the limit, with a low one."""
    with pytest.MonkeyPatch.context() as patch:
        if verb == "learn over the limit":
            patch.setenv("CO_CLI_MEMORY_MAX_COUNT", "2")
        return co(*VERBS[verb], limit=10)


def put(hostile: Hostile) -> Path:
    """Put the hostile file among the notes."""
    path = Path(os.fsdecode(os.path.join(os.fsencode(MEMORIES), os.fsencode(hostile.name))))
    hostile.make(path)
    return path


def looks(path: Path) -> tuple[Any, ...]:
    """What a file is and holds; of a large one, what changes whenever it is written."""
    info = os.lstat(path)
    kind = stat.S_IFMT(info.st_mode)
    if kind == stat.S_IFLNK:
        return kind, os.readlink(path)
    if kind == stat.S_IFDIR:
        return kind, sorted(str(name.relative_to(path)) for name in path.rglob("*"))
    if kind == stat.S_IFREG and info.st_size < BIG:
        return kind, path.read_bytes()
    return kind, info.st_size, info.st_mtime_ns, info.st_ino


def wrong(result: Result, *codes: int) -> str:
    """What is wrong with how a command ended: a bug, a traceback, control characters."""
    shown = result.out + result.err
    if result.code not in (codes or (0, 1, 2)) or "Traceback" in shown:
        return f"code {result.code}: {shown}"
    driving = [char for char in shown if ord(char) < 32 and char not in "\n\t"]
    return f"drives the terminal: {shown!a}" if driving else ""


def calm(result: Result, *codes: int) -> None:
    assert wrong(result, *codes) == ""


def gather(verbs: Iterable[str], scene: Scene, make: Callable[[], Path]) -> dict[str, str]:
    """Run each verb in a new project with something hostile in it; what went wrong, by verb."""
    found = {}
    for verb in verbs:
        scene()
        path = make()
        before = looks(path)
        try:
            said = wrong(do(verb))
        except TooSlow as error:
            said = str(error)
        same = os.path.lexists(path) and looks(path) == before
        found[verb] = said or ("" if same else f"{path} is not as it was")
    return {verb: said for verb, said in found.items() if said}


@pytest.mark.parametrize("kind", UNREADABLE)
def test_a_file_that_cannot_be_read_stays_as_it_is_whatever_is_done(
    kind: str, scene: Scene
) -> None:
    """G6, G10, G12. Red when any verb rewrites, moves, follows, blocks on or trips over it."""
    assert gather(VERBS, scene, lambda: put(UNREADABLE[kind])) == {}


@pytest.mark.parametrize("verb", VERBS)
def test_what_a_link_leads_to_stays_as_it_is(verb: str) -> None:
    """G12. Red when a verb writes through a link that leads out of the notebook."""
    path = put(UNREADABLE["link out"])
    calm(do(verb))
    assert path.resolve().read_text() == note(50, WORDS)
    assert path.resolve().parent == Path(os.environ["HOME"])


@pytest.mark.parametrize("kind", READABLE | PLAIN)
def test_an_odd_file_stays_as_it_is_while_others_are_dealt_with(kind: str, scene: Scene) -> None:
    """G7, G8. Red when a verb about another note, or about none, touches this one."""
    assert gather(BYSTANDING, scene, lambda: put((READABLE | PLAIN)[kind])) == {}


@pytest.mark.parametrize("kind", READABLE | PLAIN)
def test_a_verb_aimed_at_an_odd_file_touches_no_other(kind: str, scene: Scene) -> None:
    """G6, G8. Red when naming a file goes by a name that also means another note."""

    def make() -> Path:
        put((READABLE | PLAIN)[kind])
        return MEMORIES / "002-pears.md"

    assert gather(AIMED, scene, make) == {}


@pytest.mark.parametrize("kind", READABLE | PLAIN)
def test_an_odd_file_can_be_forgotten_by_its_text_and_comes_back_as_it_was(kind: str) -> None:
    """G8. Red when restore brings back other bytes, or forget by text archives another note."""
    path = put((READABLE | PLAIN)[kind])
    before = path.read_bytes()
    forgotten = co("forget", "zebras have stripes", "--json")
    calm(forgotten, 0)
    ref = json.loads(forgotten.out)["ref"]
    assert (ref if kind in READABLE else "50", path.exists()) == ("50", False)
    calm(co("knowledge", "restore", ref), 0)
    assert path.read_bytes() == before


@pytest.mark.parametrize("kind", READABLE)
def test_protecting_an_odd_file_changes_one_line(kind: str) -> None:
    """G7. Red when a rewrite dumps the header anew, or normalises line ends or the BOM."""
    path = put(READABLE[kind])
    before = path.read_bytes()
    calm(co("knowledge", "protect", "50"), 0)
    if b"decay_protected: false" in before:
        assert path.read_bytes() == before.replace(b"protected: false", b"protected: true")
        return
    end = b"\r\n" if b"\r\n" in before else b"\n"
    head, close, body = before.partition(b"---" + end + end)
    assert path.read_bytes() == head + b"decay_protected: true" + end + close + body


def test_saying_what_a_crlf_file_says_keeps_its_line_ends() -> None:
    """G7. Red when consolidating rewrites more than the tags, the date and the wording."""
    path = put(READABLE["CRLF and BOM"])
    calm(co("learn", "zebras have stripes", "-t", "animals"), 0)
    lines = path.read_bytes().decode().split("\r\n")
    assert "\n" not in "".join(lines)
    updated = lines.pop(5)
    assert updated.startswith('updated: "')
    assert lines == [
        "\ufeff---", "id: 50", f'created: "{NOW}"', "tags:", "- animals",
        "---", "", "zebras have stripes", "",
    ]  # fmt: skip


@pytest.mark.parametrize("kind", UNREADABLE)
def test_doctor_names_what_cannot_be_read_with_the_reason(kind: str) -> None:
    """G6. Red when doctor leaves a file out, or the line or the reason is wrong."""
    hostile = UNREADABLE[kind]
    path = Path.cwd() / put(hostile)
    found = co("knowledge", "doctor", "--json")
    assert found.code == 1
    report = json.loads(found.out)
    assert report.pop("indexes")[0]["behind"] == []
    reason = hostile.reason or report["problems"][0]["reason"]
    assert reason
    assert report == {
        "healthy": False,
        "problems": [{"path": str(path), "line": hostile.line, "reason": reason}],
    }
    said = co("knowledge", "doctor")
    where = f"{path}:{hostile.line}" if hostile.line else str(path)
    shown = where.replace("\n", "\\x0a").replace("\x1b", "\\x1b").replace("\udcff", "<U+DCFF>")
    assert said == Result(
        1,
        f"{shown}: {reason}\n",
        "\n1 problem. Co never changes these files by itself.\n",
    )


@pytest.mark.parametrize("verb", ["list", "recall", "learn something else"])
def test_a_file_that_cannot_be_read_hides_no_other(verb: str) -> None:
    """G6. Red when one bad file makes a verb stop."""
    for number, (kind, hostile) in enumerate(UNREADABLE.items()):
        if "link" not in kind:
            put(hostile._replace(name=f"{number + 100}-x.md"))
    calm(do(verb), 0)
    found = json.loads(co("recall", "are", "--json").out)
    assert {"Apples are red and sweet", "Pears are green"} <= {
        result["content"] for result in found["results"]
    }


def test_conflict_markers_in_the_text_are_named_and_kept() -> None:
    body = "a\n<<<<<<< HEAD\nZebras\n=======\nHorses\n>>>>>>> other"
    path = put(Hostile(_text(note(50, body))))
    before = looks(path)
    for verb in SOME:
        if verb != "decay":
            calm(do(verb))
    assert looks(path) == before
    lines = [line for line in co("knowledge", "doctor").out.splitlines() if NAME in line]
    assert lines == [f"{Path.cwd() / path}:7: holds an unresolved merge conflict; keep either side"]


def test_conflict_markers_with_crlf_are_named() -> None:
    body = "a\n<<<<<<< HEAD\nZebras\n=======\nHorses\n>>>>>>> other"
    put(Hostile(_text(note(50, body).replace("\n", "\r\n"))))
    assert "holds an unresolved merge conflict; keep either side" in co("knowledge", "doctor").out


def test_many_conflict_markers_are_looked_at_once() -> None:
    """G10. Red when looking for a conflict starts anew at every marker: quadratic."""
    put(Hostile(_text(note(50, ">>>>>>> x\n" + "<<<<<<< a\n" * 100_000))))
    calm(co("status", limit=5))
    calm(co("knowledge", "doctor", limit=5))


@pytest.mark.parametrize("verb", ["learn what it says", "merge it", "import into", "decay"])
def test_a_text_of_7_mb_is_compared_in_time(verb: str) -> None:
    """G10. Red when a text that cannot be the same is taken apart word by word."""
    put(Hostile(_text(note(50, WORDS + " x" * 3_500_000))))
    calm(do(verb))


def test_long_texts_are_compared_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """G10. Red when similarity is computed in full for texts that cannot be similar."""
    monkeypatch.setenv("CO_CLI_SEARCH_BACKEND", "grep")  # or most of the time goes to the index
    words = " ".join(f"word{number}" for number in range(700_000))
    for number in range(50, 60):
        (MEMORIES / f"{number:03d}-long.md").write_text(note(number, words[: 4 * BIG]))
    calm(co("learn", words[: 14 * 1024], limit=5), 0)


# What lies beside the notes


def _file(**values: object) -> list[dict[str, object]]:
    return [{"path": "memories/009-x.md", "before": None, "after": None, **values}]


JOURNALS = {
    "garbage": b"\x00\xff garbage\n" * 50,
    "a torn line": b'{"n": 9, "state": "int',
    "numbers for words": _line(op=5, actor=[], at=7) + b'{"n":9,"state":"done","high":3}\n',
    "words for numbers": _line(n="nine") + _line(high="x") + _line(undoes="x") + _line(call=4),
    "an undo of words": _line(undoes=["x"]) + b'{"n":9,"state":"done","high":3}\n',
    "a number without end": b'{"n": ' + b"9" * 5000 + b', "state": "done", "high": 1}\n',
    "the highest number": b'{"n": 9, "state": "done", "high": 999999999}\n',
    "a negative number": b'{"n": -9, "state": "done", "high": -1}\n',
    "deep nesting": b"[" * 100_000 + b"\n",
    "a path out": _line(files=_file(path="../../../../etc/passwd")),
    "a path of another kind": _line(files=_file(path="archive/journal.jsonl")),
    "files that are none": _line(files=["x"]) + _line(files=5) + _line(files=[{"path": 5}]),
    "hashes that are none": _line(files=_file(before=5, after=["x"])) + _line(state="done", n=10),
    "a done change with odd hashes": _line(files=_file(before=5, after=["x"]))
    + b'{"n":9,"state":"done","high":3}\n',
    "an unfinished change": _line(files=_file(after="0" * 64)),
    "an unknown key": _line(more=1),
    "9 MB of changes": (_line(files=_file(x="y" * 3000)) + DONE) * 3000,
}


@pytest.mark.parametrize("kind", JOURNALS)
def test_a_hostile_journal_stops_no_verb(kind: str, scene: Scene) -> None:
    """G9, G10, G12. Red when a journal line is believed before it is checked."""
    found = {}
    for verb in SOME:
        scene()
        journal = KNOWLEDGE / JOURNAL
        before = journal.read_bytes() + JOURNALS[kind]
        journal.write_bytes(before)
        found[verb] = wrong(do(verb))
        if "purge" not in verb and not journal.read_bytes().startswith(before.rstrip(b"\n")):
            found[verb] += "the journal lost lines"
        assert sorted(path.name for path in Path.cwd().iterdir()) == [".co-cli", "more.jsonl"]
    assert {verb: said for verb, said in found.items() if said} == {}


@pytest.mark.parametrize("kind", ["a pipe", "a folder", "a link out", "a link to itself"])
def test_a_journal_that_is_no_file_stops_nothing(kind: str, scene: Scene) -> None:
    """G10, G12. Red when the journal is opened so that it blocks, follows a link or is trusted."""

    def make() -> Path:
        journal = KNOWLEDGE / JOURNAL
        journal.unlink()
        outside = Path(os.environ["HOME"]) / "outside.jsonl"
        outside.write_bytes(_line())
        makers: dict[str, Callable[[Path], object]] = {
            "a pipe": os.mkfifo,
            "a folder": Path.mkdir,
            "a link out": lambda path: path.symlink_to(outside),
            "a link to itself": _link("journal.jsonl"),
        }
        makers[kind](journal)
        return journal

    assert gather(SOME, scene, make) == {}


@pytest.mark.parametrize("verb", ["recall", "list", "status", "doctor", "log", "learn the same"])
def test_a_journal_without_end_eats_no_memory(verb: str) -> None:
    """G10. Red when the journal is read back to its start, however large it is."""
    os.truncate(KNOWLEDGE / JOURNAL, 2**40)
    with small_memory():
        calm(do(verb))


class small_memory:  # noqa: N801
    """Within this, the process can take at most 1 GB more than it has."""

    def __enter__(self) -> None:
        self.old = resource.getrlimit(resource.RLIMIT_AS)
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        limit = pages * os.sysconf("SC_PAGE_SIZE") + 1024 * BIG
        resource.setrlimit(resource.RLIMIT_AS, (limit, self.old[1]))

    def __exit__(self, *_: object) -> None:
        resource.setrlimit(resource.RLIMIT_AS, self.old)


@pytest.mark.parametrize("part", ["archive", "archive/000002", "archive/000002/memories"])
def test_a_link_in_the_archive_leads_nowhere(part: str, scene: Scene) -> None:
    """G12, G15. Red when a cloned folder's link makes Co write, read or delete elsewhere."""
    found = {}
    for verb in (*SOME, "forget it", "purge it", "protect it"):
        scene()
        mine = Path(os.environ["HOME"]) / ".config/co-cli/knowledge"
        for name in ("memories", "archive/000001/memories"):
            (mine / name).mkdir(parents=True)
            (mine / name / "002-pears.md").write_text(note(2, "My own pears"))
            (mine / name / NAME).write_text(note(50, "My own zebras"))
        put(Hostile(_text(note(50, WORDS))))
        if part == "archive":
            shutil.rmtree(KNOWLEDGE / "archive")
        target = mine / {"archive": "archive", "archive/000002": "."}.get(part, "memories")
        (KNOWLEDGE / part).parent.mkdir(exist_ok=True)
        (KNOWLEDGE / part).symlink_to(target)
        before = _tree(mine)
        found[verb] = wrong(do(verb)) or ("" if _tree(mine) == before else "my own were touched")
    assert {verb: said for verb, said in found.items() if said} == {}


def _tree(top: Path) -> dict[str, Any]:
    """Every file but the index, which is derived, and what keeps it out of git."""
    return {
        str(path.relative_to(top)): looks(path)
        for path in top.rglob("*")
        if path.is_file() and not path.name.startswith(("knowledge.db", ".gitignore"))
    }


CONTEXTS = {
    kind: UNREADABLE[kind]
    for kind in [
        *("UTF-16", "NUL in the body", "alias bomb", "duplicate keys"),
        *("pipe", "folder", "link out", "50 MB line"),
    ]
} | {"link to itself": Hostile(_link("context.md"))}


@pytest.mark.parametrize("kind", CONTEXTS)
def test_a_hostile_context_file_stops_no_verb(kind: str, scene: Scene) -> None:
    """G6, G10. Red when context.md is read without care, or init or import overwrites it."""

    def make() -> Path:
        CONTEXTS[kind].make(KNOWLEDGE / "context.md")
        return KNOWLEDGE / "context.md"

    assert gather(SOME, scene, make) == {}


@pytest.mark.parametrize("kind", CONTEXTS)
def test_doctor_and_status_name_a_hostile_context_file(kind: str) -> None:
    path = Path.cwd() / KNOWLEDGE / "context.md"
    CONTEXTS[kind].make(path)
    assert str(path) in co("knowledge", "doctor").out


SETTINGS: dict[str, Callable[[Path], object]] = {
    "not JSON": _text("{"),
    "a list": _text("[]"),
    "a bad value": _text('{"memory_max_count": -1}'),
    "unknown and barred keys": _text('{"memory_max_cuont": 1, "api_key": "x", "\\u001b[31m": 2}'),
    "set twice": _text('{"memory_max_count": 5, "memory_max_count": 6}'),
    "deep": _text("[" * 200_000),
    "a number without end": _text('{"memory_max_count": ' + "9" * 5000 + "}"),
    "NUL": _text("\0"),
    "not UTF-8": _bytes(b"\xff"),
    "pipe": os.mkfifo,
    "folder": _folder,
    "link to itself": _link("settings.json"),
    "50 MB": _long_line,
}


@pytest.mark.parametrize("whose", ["project", "trusted project", "user"])
@pytest.mark.parametrize("kind", SETTINGS)
def test_hostile_settings_are_an_error_in_words(
    kind: str, whose: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """G10, G16. Red when a settings file crashes Co, or an untrusted one has a say."""
    monkeypatch.delenv("CO_CLI_MEMORY_MAX_COUNT")
    mine = Path(os.environ["HOME"]) / ".config/co-cli/settings.json"
    path = mine if whose == "user" else Path(".co-cli/settings.json")
    path.parent.mkdir(parents=True, exist_ok=True)
    SETTINGS[kind](path)
    before = looks(path)
    if whose == "trusted project":
        calm(co("trust", "--yes"))
    for verb in ("recall", "learn something else", "status", "doctor", "list", "trust"):
        result = do(verb)
        calm(result)
        if whose == "project" and verb != "doctor":
            assert result.code == 0
            if verb == "trust":
                break
    assert looks(path) == before


TRUSTS: dict[str, Callable[[Path], object]] = {
    **SETTINGS,
    "an older one": _text('{"version": 0, "folders": {}}'),
    "damaged": _text('{"version": 1, "folders": {"/": {"since": 1, "files": {"x": 2}}}}'),
    "a name for a hash": _text(
        '{"version": 1, "folders": {"/": {"since": "", "files": {"AGENTS.md": "../../x"}}}}'
    ),
}


@pytest.mark.parametrize("kind", TRUSTS)
def test_a_hostile_list_of_trusted_folders_trusts_nobody(kind: str) -> None:
    """G16. Red when a list that cannot be read trusts a folder, crashes Co or is lost."""
    mine = Path(os.environ["HOME"]) / ".config/co-cli"
    mine.mkdir(parents=True, exist_ok=True)
    path = mine / "trust.json"
    path.unlink(missing_ok=True)
    TRUSTS[kind](path)
    Path("AGENTS.md").write_text("Be brief.\n")
    before = looks(path)
    for verb in ("recall", "learn something else", "status", "doctor"):
        calm(do(verb))
    assert json.loads(co("status", "--json").out)["trust"]["trusted"] is False
    assert looks(path) == before
    calm(co("trust", "--yes"))
    kept = [looks(other) for other in mine.glob("trust.json*")]
    assert before in kept or kind == "a name for a hash"


FOLDERS: dict[str, Callable[[Path], object]] = {
    "a file": _text("x"),
    "a pipe": os.mkfifo,
    "a link out": lambda path: path.symlink_to(os.environ["HOME"]),
    "a link to itself": lambda path: path.symlink_to(path.name),
    "a link to nowhere": _link("nowhere"),
}


@pytest.mark.parametrize("kind", FOLDERS)
@pytest.mark.parametrize("part", [".", "knowledge", "knowledge/memories", "knowledge/archive"])
def test_a_folder_that_is_none_is_left_alone(part: str, kind: str, scene: Scene) -> None:
    """G10, G12. Red when Co follows a folder out of the project, or trips over one that is none."""

    def make() -> Path:
        path = Path(os.path.normpath(os.path.join(".co-cli", part)))
        shutil.rmtree(path)
        FOLDERS[kind](path)
        return path

    assert gather(SOME, scene, make) == {}


@pytest.mark.parametrize("part", [".", "knowledge", "knowledge/memories", "knowledge/archive"])
def test_a_folder_that_leads_out_takes_nothing_along(part: str, scene: Scene) -> None:
    """G12. Red when any verb writes through a folder that is a link."""
    for verb in SOME:
        scene()
        outside = Path.cwd().parent / "outside"
        path = Path(os.path.normpath(os.path.join(".co-cli", part)))
        shutil.move(path, outside)
        path.symlink_to(outside)
        before = _tree(outside)
        calm(do(verb))
        assert _tree(outside) == before


# Without the right to


@pytest.fixture
def locked(tmp_path: Path) -> Iterator[Callable[[Path], None]]:
    """Takes the right to write from a folder and all that is in it; given back at the end."""

    def lock(top: Path) -> None:
        for path in (*top.rglob("*"), top):
            path.chmod(0o500 if path.is_dir() else 0o400)

    yield lock
    for folder, names, _ in os.walk(tmp_path):
        for name in names:
            Path(folder, name).chmod(0o700)


def _obey_permissions() -> None:
    """Give up root's exceptions for this process and what it starts, but stay who it is:
    another user may not be allowed to reach the clone or the Python that runs it."""
    libc = ctypes.CDLL(None, use_errno=True)
    no_new_privileges, version, whoever_calls = 38, 0x20080522, 0
    header, nothing = (ctypes.c_uint32 * 2)(version, whoever_calls), (ctypes.c_uint32 * 6)()
    if libc.prctl(no_new_privileges, 1, 0, 0, 0) or libc.capset(header, nothing):
        raise OSError(ctypes.get_errno(), "cannot give up root's rights")


def as_anybody(*verbs: str) -> list[Result]:
    """Do verbs in a forked process that permissions hold for, even where root runs the tests."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if os.geteuid() == 0:
                _obey_permissions()
            os.write(writing, json.dumps([do(verb) for verb in verbs]).encode())
        finally:
            os.kill(os.getpid(), signal.SIGKILL)  # nothing of the tests is tidied up twice
    os.close(writing)
    with open(reading, "rb") as pipe:
        data = pipe.read()
    os.waitpid(child, 0)
    return [Result(*found) for found in json.loads(data)]


@pytest.mark.parametrize("verb", VERBS)
def test_a_file_that_may_not_be_read_stays_as_it_is(verb: str) -> None:
    """G6, G9. Red when a verb chmods, replaces or trips over a file it may not read."""
    path = put(Hostile(_text(note(50, WORDS))))
    before = looks(path)
    path.chmod(0)
    done, doctor = as_anybody(verb, "doctor")
    calm(done)
    assert stat.S_IMODE(os.lstat(path).st_mode) == 0
    path.chmod(0o600)
    assert looks(path) == before
    assert f"{Path.cwd() / path}: cannot be read: Permission denied\n" in doctor.out


@pytest.mark.parametrize("verb", VERBS)
def test_a_notebook_that_may_not_be_written_is_left_as_it_is(
    verb: str, locked: Callable[[Path], None]
) -> None:
    """G9. Red when a verb acknowledges what it could not write, or fails to read what it may."""
    put(Hostile(_text(note(50, WORDS))))
    before = _tree(Path(".co-cli"))
    locked(Path(".co-cli"))
    (done,) = as_anybody(verb)
    calm(done)
    assert _tree(Path(".co-cli")) == before
    reading = "recall|recall it|list|list as JSON|show|show it|export|log|status|status as JSON"
    if verb in reading.split("|"):
        assert done.code == 0
    if VERBS[verb][0] == "learn" and "-g" not in VERBS[verb]:
        assert (done.code, done.out) == (1, "")


@pytest.mark.parametrize("part", ["memories", "archive", JOURNAL, "archive/000001", "."])
def test_a_part_that_may_not_be_read_is_an_error_in_words(part: str, scene: Scene) -> None:
    """G9. Red when a folder of somebody else's makes Co look like it has a bug."""
    found = {}
    for verb in SOME:
        scene()
        (KNOWLEDGE / part).chmod(0)
        (done,) = as_anybody(verb)
        found[verb] = wrong(done)
        (KNOWLEDGE / part).chmod(0o700)
    assert {verb: said for verb, said in found.items() if said} == {}


@pytest.mark.parametrize("part", ["home", "home/.config"])
def test_a_home_that_may_not_be_written_is_no_false_alarm(
    part: str, locked: Callable[[Path], None]
) -> None:
    """G1, G9. Red when a save is on disk and Co says that nothing was changed, or the reverse."""
    Path(os.environ["HOME"], ".config/co-cli").mkdir(parents=True)
    shutil.rmtree(".co-cli")
    locked(Path.cwd().parent / part)
    (done,) = as_anybody("learn something else")
    saved = list(Path(".co-cli").rglob("memories/*.md"))
    assert (done.code == 0) == bool(saved), done
