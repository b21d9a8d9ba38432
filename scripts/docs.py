"""Write what is generated in the docs, or with --check say where the docs are no longer true."""

from __future__ import annotations

import ast
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

import click

from co_cli import config
from co_cli.main import cli

ROOT = Path(__file__).resolve().parent.parent
PLAYED = ("README.md", "docs/json.md")  # their `console` blocks are run and written anew
WIDTH = 80

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`[^`\n]*`")
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#{1,6} +(.+)$", re.MULTILINE)
_TEST = re.compile(r"(tests/\w+\.py)(?:::(\w+))?")
_COMMAND = re.compile(r"(?:`|^ {4}|^\$ )co((?: [\w-]+)+)", re.MULTILINE)
_TYPED = re.compile(r"`co ([^`\n]+)`|^(?: {4}|\$ )co ([^\n]+)", re.MULTILINE)
_SETTING = re.compile(r"`((?:memory_(?:max|dedup|decay|category)|search)_\w+)")
_EXTRA = re.compile(r"extra `([\w-]+)`|\.\[([\w,-]+)\]|co-cli\[([\w,-]+)\]")
_FROM_INDEX = re.compile(r"(?:pip|pipx|uv tool) install (?:-\S+ )*['\"]?co-cli\b")
_RANDOM = re.compile(r'\b[0-9a-f]{64}\b|(?<=uid": ")[a-z]{14}\b|(?<=uid: )[a-z]{14}\b')
_LETTERS = str.maketrans("0123456789", "ghijklmnop")


def main() -> int:
    """Write the pages, or check them; 1 when something is not true."""
    if "--check" in sys.argv[1:]:
        found = check(ROOT)
        for problem in found:
            print(problem, file=sys.stderr)
        return 1 if found else 0
    for name, text in pages(ROOT).items():
        (ROOT / name).write_text(text, encoding="utf-8")
    return 0


def check(root: Path, *, played: bool = True) -> list[str]:
    """Everything in the docs below `root` that is not true, a line each.

    Unless `played`, the commands that pages show are not run, which takes long.
    """
    return [
        *stale(root, played=played),
        *unshown(root),
        *unknown(root),
        *unknown_options(root),
        *unknown_parts(root),
        *missing_tests(root),
        *broken_links(root),
    ]


def pages(root: Path, *, played: bool = True) -> dict[str, str]:
    """Every page that is generated, whole or in part, as it should be."""
    shown = PLAYED if played else ()
    return {
        "docs/commands.md": commands_page(),
        "docs/settings.md": settings_page(),
        **{name: play((root / name).read_text(encoding="utf-8")) for name in shown},
    }


def stale(root: Path, *, played: bool = True) -> list[str]:
    """Generated pages that are not what they should be."""
    found = []
    for name, text in pages(root, played=played).items():
        path = root / name
        old = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        new = text.splitlines()
        if old != new:
            both = min(len(old), len(new))
            at = next((n for n in range(both) if old[n] != new[n]), both)
            found.append(f"{name}:{at + 1}: is out of date: run `make docs`")
    return found


def commands() -> Iterator[tuple[str, click.Command, click.Context]]:
    """Every command with its full name, groups before what is in them."""

    def walk(
        command: click.Command, name: str, parent: click.Context | None
    ) -> Iterator[tuple[str, click.Command, click.Context]]:
        words = name.rpartition(" ")[2]
        context = click.Context(command, parent, info_name=words, terminal_width=WIDTH)
        context.help_option_names = ["-h", "--help"]
        yield name, command, context
        if isinstance(command, click.Group):
            for inner in command.list_commands(context):
                below = command.get_command(context, inner)
                assert below is not None
                yield from walk(below, f"{name} {inner}", context)

    yield from walk(cli, "co", None)


def _once() -> Iterator[tuple[str, click.Command, click.Context]]:
    """Every command under its first name; a second one is named by its group's help."""
    seen: set[int] = set()
    for name, command, context in commands():
        if id(command) not in seen:
            seen.add(id(command))
            yield name, command, context


def commands_page() -> str:
    """The help of every command."""
    parts = [
        "# Commands\n\nWritten by `make docs` from the commands themselves: "
        "this is what `co COMMAND --help` prints."
    ]
    for name, command, context in _once():
        parts.append(f"## {name}\n\n```text\n{command.get_help(context)}\n```")
    return "\n\n".join(parts) + "\n"


def settings_page() -> str:
    """The table of settings."""
    lines = [
        "# Settings",
        "",
        "Written by `make docs` from the table in `co_cli/config.py`.",
        "",
        "A setting is looked for in the environment, then in the project's `.co-cli/settings.json`",
        "(when the folder is trusted), then in your own `~/.config/co-cli/settings.json`, and has",
        "its default otherwise. Your own notebook never follows a project's file. A value that is",
        "not allowed is an error that names the file and the key; an unknown name is a warning.",
        "",
        '    {"memory_max_count": 500, "memory_decay_strategy": "cut"}',
        "",
        "| setting | what it is for | allowed | default | variable | may a project set it |",
        "|---|---|---|---|---|---|",
    ]
    for row in config.TABLE:
        may = "yes" if row.project_may_set else "no"
        default = getattr(config.Settings(), row.name)
        lines.append(
            f"| `{row.name}` | {row.help} | {row.allowed} | `{default}` | `{row.env}` | {may} |"
        )
    return "\n".join(lines) + "\n"


def play(page: str) -> str:
    """The page with its `console` blocks run anew, in order, in a home and a folder of their own.

    Paths, times and random numbers are replaced, so that the same answers give the same page.
    """
    with tempfile.TemporaryDirectory() as place:
        home = Path(os.path.realpath(place), "ada")
        (home / "shop").mkdir(parents=True)
        names: dict[str, str] = {}

        def again(block: re.Match[str]) -> str:
            if block[1] != "console":
                return block[0]
            lines = [line for line in block[2].splitlines() if line.startswith("$ ")]
            answers = [f"{line}\n{_tidy(_run(line[2:], home), home, names)}" for line in lines]
            return "```console\n" + "".join(answers) + "```"

        return _FENCE.sub(again, page)


def _run(line: str, home: Path) -> str:
    """What a line typed in a shell prints, both streams as a terminal shows them."""
    shell, tools = shutil.which("sh") or "/bin/sh", Path(sys.executable).parent
    env = {"HOME": str(home), "PATH": f"{tools}{os.pathsep}{os.environ.get('PATH', '')}"}
    env |= {"LC_ALL": "C.UTF-8", "PYTHONUTF8": "1"}
    env |= {name: text for name, text in os.environ.items() if name.startswith("COVERAGE_")}
    done = subprocess.run(
        [shell, "-c", line],
        cwd=home / "shop",
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    return done.stdout.decode()


def _tidy(answer: str, home: Path, names: dict[str, str]) -> str:
    """An answer without what differs from run to run; equal hashes stay equal."""

    def stand_in(found: re.Match[str]) -> str:
        new = hashlib.sha256(str(len(names)).encode()).hexdigest()
        is_uid = len(found[0]) < len(new)
        return names.setdefault(found[0], new.translate(_LETTERS)[:14] if is_uid else new)

    text = answer.replace(str(home), "/home/ada")
    today = datetime.now(UTC).date()
    for day in (today, today - timedelta(days=1)):  # it may just have been midnight
        text = text.replace(str(day), "2026-02-09")
    text = re.sub(r"(?<=2026-02-09)([T ])\d\d:\d\d(:\d\d)?", _half_past_two, text)
    return _RANDOM.sub(stand_in, text)


def _half_past_two(found: re.Match[str]) -> str:
    return f"{found[1]}14:30" + (":00" if found[2] else "")


def unshown(root: Path) -> list[str]:
    """Commands whose JSON its page leaves out."""
    page = (root / "docs/json.md").read_text(encoding="utf-8")
    return [
        f"docs/json.md: does not show `{name} --json`"
        for name, command, _ in _once()
        if any("--json" in parameter.opts for parameter in command.params)
        and not re.search(rf"\$ (?:\w+=\S+ )*{name} .*--json", page)
    ]


def unknown(root: Path) -> list[str]:
    """Commands that a page names and that do not exist."""
    names = {name: isinstance(command, click.Group) for name, command, _ in commands()}
    found = []
    for path in _markdown(root):
        for line in dict.fromkeys(_COMMAND.findall(path.read_text(encoding="utf-8"))):
            said = "co"
            for word in line.split():
                if names[said] and re.match(r"[a-z]", word):
                    said = f"{said} {word}"
                if said not in names:
                    found.append(f"{path.relative_to(root)}: there is no `{said}`")
                    break
    return found


def unknown_options(root: Path) -> list[str]:
    """Options that a page gives to a command that has none of that name."""
    known = {name: command for name, command, _ in commands()}
    found = []
    for path in _markdown(root):
        text = path.read_text(encoding="utf-8")
        for line in dict.fromkeys(one or other for one, other in _TYPED.findall(text)):
            typed = re.sub(r"\"[^\"]*\"|'[^']*'", "TEXT", line)
            said, words = "co", re.split(r" [|>#] |  |[;&]", typed)[0].split()
            while words and f"{said} {words[0]}" in known:
                said = f"{said} {words.pop(0)}"
            parameters = [one for one in known[said].params if isinstance(one, click.Option)]
            names = {name for one in parameters for name in (*one.opts, *one.secondary_opts)}
            given = [
                re.split(r"[=.,:;)]", word)[0] for word in words if re.match(r"--?[a-z]", word)
            ]
            found += [
                f"{path.relative_to(root)}: `{said}` has no option {option}"
                for option in given
                if option not in {*names, "-h", "--help", "--version"}
            ]
    return list(dict.fromkeys(found))


def unknown_parts(root: Path) -> list[str]:
    """Settings and extras that a page names and that do not exist; Co's name asked of an index."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = set(project["optional-dependencies"])
    settings = {row.name for row in config.TABLE}
    found = []
    for path in _markdown(root):
        text, name = path.read_text(encoding="utf-8"), path.relative_to(root)
        for one in dict.fromkeys(_SETTING.findall(text)):
            if one not in settings:
                found.append(f"{name}: there is no setting {one}")
        for several in _EXTRA.findall(text):
            gone = {one for part in several if part for one in part.split(",")} - extras
            found += [f"{name}: there is no extra {one}" for one in sorted(gone)]
        if _FROM_INDEX.search(text):
            found.append(f"{name}: co-cli is on no index, so nothing can be installed by that name")
    return found


def missing_tests(root: Path) -> list[str]:
    """Tests named in the guarantees that are not there."""
    name = "docs/guarantees.md"
    found, functions = [], cache(_functions)
    for number, line in enumerate((root / name).read_text(encoding="utf-8").splitlines(), 1):
        for file, test in _TEST.findall(line):
            path = root / file
            if not path.is_file():
                found.append(f"{name}:{number}: there is no {file}")
            elif test and test not in functions(path):
                found.append(f"{name}:{number}: there is no {test} in {file}")
    return found


def _functions(path: Path) -> set[str]:
    tree = ast.parse(path.read_bytes(), filename=str(path))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def broken_links(root: Path) -> list[str]:
    """Relative links that lead to no file or no heading."""
    found = []
    for path in _markdown(root):
        text = _CODE.sub("", _FENCE.sub("", path.read_text(encoding="utf-8")))
        for link in _LINK.findall(text):
            if re.match(r"[a-z]+:", link):
                continue
            file, _, anchor = link.partition("#")
            target = (path.parent / file) if file else path
            if not target.exists() or (anchor and anchor not in _anchors(target)):
                found.append(f"{path.relative_to(root)}: the link {link} leads nowhere")
    return found


def _markdown(root: Path) -> list[Path]:
    """Our own pages: not the environment's, and not what tests are fed with."""
    inside = [path for name in ("docs", "examples") for path in (root / name).rglob("*.md")]
    return sorted([*root.glob("*.md"), *inside])


def _anchors(path: Path) -> set[str]:
    """The headings of a page as links name them."""
    heads = _HEADING.findall(_FENCE.sub("", path.read_text(encoding="utf-8")))
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


if __name__ == "__main__":
    sys.exit(main())
