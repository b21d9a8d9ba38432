"""The docs are true: checked here as `make check` does, and the check itself is checked."""

from __future__ import annotations

import ast
import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
import types
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cli import Result, co, script

from co_cli import agent, knowledge
from co_cli.cli.knowledge import TABLE
from co_cli.knowledge import Notebook
from co_cli.knowledge.context import read_context
from co_cli.knowledge.format.note import file_name, parse
from co_cli.knowledge.format.rewrite import render

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples" / "knowledge"


LONGEST = {"README.md": 169, "ARCHITECTURE.md": 120}


docs = script("docs")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The pages and the tests they name, to be spoilt."""
    root = tmp_path / "copy"
    for name in ("docs", "examples", "tests"):
        shutil.copytree(
            ROOT / name, root / name, ignore=shutil.ignore_patterns("data", "__pycache__")
        )
    for path in ROOT.glob("*.md"):
        shutil.copy(path, root)
    shutil.copy(ROOT / "LICENSE", root)
    return root


def _spoil(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_the_docs_are_true() -> None:
    """Red when help or settings changed without `make docs`; `make check` plays the rest."""
    assert docs.check(ROOT, played=False) == []


def test_the_pages_do_not_depend_on_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    page = docs.commands_page()
    for columns in ("40", "200"):
        monkeypatch.setenv("COLUMNS", columns)
        assert docs.commands_page() == page
    assert max(map(len, re.findall(r"^  .*$", page, re.MULTILINE))) <= docs.WIDTH


def test_a_stale_page_is_named_with_its_line(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(docs, "PLAYED", ())
    assert docs.stale(copy) == []
    _spoil(copy / "docs/commands.md", "# Commands\n", "# Comands\n")
    (copy / "docs/settings.md").unlink()
    assert docs.stale(copy) == [
        "docs/commands.md:1: is out of date: run `make docs`",
        "docs/settings.md:1: is out of date: run `make docs`",
    ]


def test_an_answer_that_is_no_longer_given_makes_a_page_stale() -> None:
    page = "```console\n$ co knowledge doctor\nSomething else.\n```\n"
    assert docs.play(page) == (
        "```console\n$ co knowledge doctor\n✓ No problems: 0 memories, every file readable.\n```\n"
    )


def test_a_command_whose_json_no_page_shows_is_named(copy: Path) -> None:
    _spoil(copy / "docs/json.md", "$ co trust", "$ co tryst")
    assert docs.unshown(copy) == ["docs/json.md: does not show `co trust --json`"]


def test_a_command_that_does_not_exist_is_named(copy: Path) -> None:
    (copy / "docs/new.md").write_text(
        "`co`, `co -h`, `co learn TEXT`, `co knowledge marge 3 2` and `co tryst`\n"
        "```console\n$ co knowledge --list\n$ co recal deploy\n```\n    co knowledge list\n"
    )
    assert docs.unknown(copy) == [
        "docs/new.md: there is no `co knowledge marge`",
        "docs/new.md: there is no `co tryst`",
        "docs/new.md: there is no `co recal`",
    ]


def test_an_option_that_does_not_exist_is_named(copy: Path) -> None:
    """Red when a page may tell of an option that its command does not have."""
    (copy / "docs/new.md").write_text(
        "`co learn TEXT --tag x`, `co knowledge list --al`, `co recall -q`\n"
        '```console\n$ co ask --yess "a --question" | co learn --sensitive\n```\n'
        "    co knowledge list --count      how many --there are\n"
    )
    assert docs.unknown_options(copy) == [
        "docs/new.md: `co knowledge list` has no option --al",
        "docs/new.md: `co recall` has no option -q",
        "docs/new.md: `co ask` has no option --yess",
    ]


def test_a_setting_or_an_extra_that_does_not_exist_is_named(copy: Path) -> None:
    """Red when a page may tell of parts that are not there, or of an index that has no Co."""
    (copy / "docs/new.md").write_text(
        "`memory_max_count`, `memory_decay_rate`, the extra `wob`, `pip install '.[web,wib]'`\n"
        "`pip install 'co-cli[web]'`\n"
    )
    assert docs.unknown_parts(copy) == [
        "docs/new.md: there is no setting memory_decay_rate",
        "docs/new.md: there is no extra wob",
        "docs/new.md: there is no extra wib",
        "docs/new.md: co-cli is on no index, so nothing can be installed by that name",
    ]


def test_a_guarantee_without_its_test_is_named(copy: Path) -> None:
    page = copy / "docs/guarantees.md"
    page.write_text(
        "`tests/test_docs.py::test_the_docs_are_true`\n"
        "`tests/test_docs.py::test_nothing` and `tests/test_gone.py`\n"
    )
    assert docs.missing_tests(copy) == [
        "docs/guarantees.md:2: there is no test_nothing in tests/test_docs.py",
        "docs/guarantees.md:2: there is no tests/test_gone.py",
    ]


def test_a_link_that_leads_nowhere_is_named(copy: Path) -> None:
    (copy / "docs/new.md").write_text(
        "# A page\n[x](format.md) [x](#a-page) [x](format.md#the-archive) [x](https://example.org)\n"
        "`[x](code.md)`\n```text\n[x](code.md)\n```\n[x](gone.md) [x](#gone) [x](format.md#gone)\n"
    )
    assert docs.broken_links(copy) == [
        f"docs/new.md: the link {link} leads nowhere"
        for link in ("gone.md", "#gone", "format.md#gone")
    ]


_EXAMPLE = re.compile(
    r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL
)


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    """The event loop that `run_sync` finds, closed at the end; one it made would stay open."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield loop
    asyncio.set_event_loop(None)
    loop.close()


@pytest.mark.usefixtures("loop")
@pytest.mark.parametrize("page", ["README.md", "docs/api.md", "docs/articles.md"])
def test_the_examples_in_python_do_what_the_page_says(
    page: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Red when a name of the public API goes, or an answer changes."""
    names: dict[str, Any] = {}
    examples = _EXAMPLE.findall((ROOT / page).read_text(encoding="utf-8"))
    for number, (code, printed) in enumerate(examples, 1):
        exec(compile(code, f"{page}, example {number}", "exec"), names)
        said = capsys.readouterr().out
        assert not printed or said == printed
    assert examples


@pytest.mark.parametrize("module", [agent, knowledge])
def test_every_public_name_is_on_the_page(module: types.ModuleType) -> None:
    """Red when a name is exported and not told, or told and not exported."""
    page = (ROOT / "docs/api.md").read_text(encoding="utf-8")
    table = page.partition(f"| from `{module.__name__}` |")[2].partition("\n\n")[0]
    cells = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    assert sorted(re.findall(r"`(\w+)`", "".join(cells))) == sorted(module.__all__)
    assert [name for name in module.__all__ if getattr(module, name, None) is None] == []


def test_the_command_that_contributing_adds_works(monkeypatch: pytest.MonkeyPatch) -> None:
    """Red when a command is no longer added the way the page says."""
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    [(code, _)] = _EXAMPLE.findall(page)
    line = re.search(r'`"count": \("count", "(.*?)"\),`', page)
    assert line
    module = types.ModuleType("co_cli.cli.count")
    exec(compile(code, "CONTRIBUTING.md", "exec"), module.__dict__)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(TABLE, "count", ("count", line[1]))
    Notebook(".co-cli/knowledge").remember("We deploy on Tuesdays")
    assert co("knowledge", "count") == Result(0, "project: 1\nuser: 0\n")
    assert json.loads(co("knowledge", "count", "--json").out) == {"project": 1, "user": 0}
    assert "Count memories." in co("knowledge", "--help").out


def test_every_file_that_contributing_names_holds_what_it_says() -> None:
    """Red when a file or a name of the table moves: the page must say where it is now."""
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| [^|]+ \| `(\S+)` \| `(\w+)` \|$", page, re.MULTILINE)
    assert len(rows) >= 20
    gone = [
        (file, name)
        for file, name in rows
        if not (ROOT / file).is_file() or name not in _defined(ROOT / file)
    ]
    assert gone == []
    assert [file for file, count in Counter(file for file, _ in rows).items() if count > 1] == []
    named = set(re.findall(r"`((?:co_cli|tests|docs|scripts|\.ci)/[\w./-]+)`", page))
    assert sorted(file for file in named if not (ROOT / file).exists()) == ["co_cli/cli/count.py"]
    targets = re.findall(r"^    make ([a-z-]+)", page, re.MULTILINE)
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert [one for one in targets if not re.search(rf"^{one}:", makefile, re.MULTILINE)] == []


def _defined(path: Path) -> set[str]:
    """The functions, classes and constants of a module."""
    found = set()
    for node in ast.walk(ast.parse(path.read_bytes(), filename=str(path))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Assign):
            found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found.add(node.target.id)
    return found


def test_the_tree_in_the_architecture_names_every_module() -> None:
    """Red when a module comes, goes or changes rooms. Commands are named after themselves."""
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    tree = page[page.index("    co_cli/\n") : page.index("    tests/")].splitlines()[1:]
    rooms, named = ["co_cli"], set()
    for line in tree:
        branch, found, rest = line.partition("── ")
        if found:
            del rooms[len(branch) // 4 :]
            if room := re.match(r"(\w+)/", rest):
                rooms.append(room[1])
        named |= {"/".join([*rooms, name]) for name in re.findall(r"\w+\.py\b", line)}
    modules = {str(path.relative_to(ROOT)) for path in (ROOT / "co_cli").rglob("*.py")}
    others = {one for one in modules if not one.endswith("__init__.py") and "/cli/" not in one}
    assert named == others


def test_the_picture_in_the_readme_is_what_the_chat_shows() -> None:
    """Red when the chat looks different: run `make docs`."""
    picture = script("picture")
    assert picture.draw(picture.play()) == picture.TARGET.read_text(encoding="utf-8")


def test_the_readme_and_the_architecture_are_short() -> None:
    """Red when a page that is meant to be read whole grows: the details belong into docs/."""
    lines = {name: (ROOT / name).read_text("utf-8").count("\n") for name in LONGEST}
    assert {name: count for name, count in lines.items() if count > LONGEST[name]} == {}


def test_make_chat_leaves_nothing_in_the_repository(tmp_path: Path) -> None:
    """Red when `make chat` runs where its notes become those of Co's own repository."""
    clone, home = tmp_path / "the clone", tmp_path / "a home"
    for name in ("requirements/base.lock", "requirements/dev.lock", "pyproject.toml"):
        (clone / name).parent.mkdir(parents=True, exist_ok=True)
        (clone / name).touch()
    shutil.copy(ROOT / "Makefile", clone)
    co = clone / ".venv/bin/co"
    co.parent.mkdir(parents=True)
    co.write_text('#!/bin/sh\necho "$1 in $PWD"\n')
    co.chmod(0o755)
    (clone / ".venv/.ready").touch()
    done = subprocess.run(
        ["make", "chat"],
        cwd=clone,
        env={"PATH": os.environ["PATH"], "HOME": str(home)},
        capture_output=True,
        text=True,
        check=True,
    )
    scratch = home / ".local/share/co-cli/scratch"
    assert done.stdout == f"chat in {scratch}\n"
    assert done.stderr.startswith(f"Notes of this chat go to {scratch}. ")


def test_the_example_memory_is_what_co_itself_writes() -> None:
    path = EXAMPLES / "memories" / "001-example.md"
    note = parse(str(path), path.read_bytes())
    assert render(note.meta, note.body) == note.raw
    assert file_name(note.id, "Example") == path.name


def test_the_examples_work_as_a_notebook(tmp_path: Path) -> None:
    shutil.copytree(EXAMPLES, tmp_path / "knowledge")
    book = Notebook(tmp_path / "knowledge")
    assert [hit.note.id for hit in book.recall("deploy")] == [1]
    assert book.look().problems == []
    receipt = read_context(None, tmp_path / "knowledge" / "context.md")
    assert (len(receipt.files), receipt.warnings()) == (1, [])


def test_the_readme_names_every_make_target_it_needs() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    targets = re.findall(
        r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert sorted(set(re.findall(r"\bmake ([a-z]+)\b", readme)) - set(targets)) == []
