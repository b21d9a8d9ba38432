"""Imports have a direction, read from the source; and a command loads only what it needs."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from cli import command

# Each part may import itself and the parts above it. A name stands for a module or a package.
ORDER = [
    "errors",
    "extras",
    "meant",
    "paths",
    "knowledge",
    "articles",
    "_frontmatter",
    "config",
    "trust",
    "folders",
    "languages",
    "providers.registry",
    "providers.trouble",
    "providers.embedders",
    "workspace",
    "deps",
    "results",
    "kept",
    "verbs",
    "editing",
    "logs",
    "tools",
    "prompts",
    "providers",
    "agent",
    "chat.events",
    "offline",
    "chat",
    "_commands",
    "connections",
    "mcp",
    "web",
    "cli",
    "main",
    "__main__",
]

# The same inside co_cli/knowledge, whose own face (`__init__`) may import all of it.
CORE_ORDER = [
    "store.disk",
    "store.exchange",
    "safety.escape",
    "search.words",
    "meaning",
    "search.passages",
    "search.watch",
    "format",
    "policy",
    "search.hits",
    "compare",
    "safety",
    "search.vectors",
    "store",
    "use",
    "pages",
    "lifecycle",
    "compare.candidates",
    "search",
    "context",
    "plan",
    "article",
    "importing",
    "undo",
    "notebook",
    "pair",
    "inbox",
    "verify",
    "summary",
    "folder",
    "shelf",
    "evaluation",
    "doctor",
    "renumber",
    "moving",
    "lineage",
    "copies",
    "purge",
    "trail",
    "exported",
    "importers",
    "export",
    "__init__",
]

# The core knows files, SQLite and arithmetic: no terminal, no model, no network.
CORE_NEVER = {
    "aiohttp",
    "asyncio",
    "click",
    "http",
    "httpx",
    "openai",
    "prompt_toolkit",
    "pydantic",
    "pydantic_ai",
    "requests",
    "rich",
    "socket",
    "ssl",
    "typer",
    "urllib.request",
}

# YAML, RapidFuzz, rich and what writes are loaded by what needs them, not by every command.
LATE_IMPORTS_ALLOWED = [
    "main",
    "errors",
    "workspace",
    "articles.reader",
    "knowledge.format.frontmatter",
    "knowledge.inbox",
    "knowledge.lifecycle",
    "knowledge.meaning",
    "knowledge.notebook",
    "knowledge.safety.escape",
    "knowledge.search.answering",
    "knowledge.search.passages",
    "knowledge.search.recall",
    "knowledge.shelf",
    "knowledge.store.disk",
    "knowledge.store.exchange",
    "knowledge.store.files",
    "trust.foreign",
    "tools.articles",
    "providers.embedders",
    "providers.models",
    "providers.registry",
    "providers.trouble",
    "chat.app",
    "chat.dialogue",
    "cli.ask",
    "cli.chat",
    "cli.eval",
    "cli.inbox",
    "cli.mcp",
    "cli.output",
    "cli.status",
    "cli.summarize",
    "cli.web",
]
# What looking at notes never loads: the half of Co that writes, and what costs a millisecond.
WRITING = (
    "article context doctor export importers lifecycle plan purge undo safety.check format.rewrite "
    "safety.secrets store.writer"
).split()
COSTLY = (
    "asyncio click.shell_completion dataclasses difflib hashlib pathlib rapidfuzz rich "
    "urllib.parse yaml"
).split()
# Tidying up and raising again is no catch. Other people's code raises what it likes.
BROAD_EXCEPT_ALLOWED = [
    "main",
    "articles.reader",
    "tools.articles",
    "providers.embedders",
    "chat.session",
    "knowledge.search.recall",
]

ROOT = Path(__file__).resolve().parent.parent / "co_cli"


@dataclass(frozen=True)
class Import:
    """One name that a module imports: `target` is dotted and absolute."""

    module: str
    line: int
    target: str
    late: bool

    def __str__(self) -> str:
        return f"{self.module}:{self.line} imports {self.target}"


def _name(path: Path) -> str:
    """The dotted name of a file below co_cli; a package's own file is `package.__init__`."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


MODULES = {
    _name(path): ast.parse(path.read_bytes(), filename=str(path))
    for path in sorted(ROOT.rglob("*.py"))
}


def _within(name: str, part: str) -> bool:
    return name == part or name.startswith(part + ".")


def _place(order: list[str], name: str) -> int:
    """Where a module stands: by the longest entry that it lies within; -1 for nowhere."""
    fits = [entry for entry in order if _within(name, entry)]
    return order.index(max(fits, key=len)) if fits else -1


def _targets(node: ast.AST, module: str) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if not isinstance(node, ast.ImportFrom):
        return []
    base = node.module or ""
    if node.level:
        package = ["co_cli", *module.split(".")][: -node.level]
        base = ".".join([*package, *([base] if base else [])])
    return [f"{base}.{alias.name}" for alias in node.names]


def _imports(module: str, tree: ast.AST, late: bool = False) -> Iterator[Import]:
    for node in ast.iter_child_nodes(tree):
        for target in _targets(node, module):
            yield Import(module, getattr(node, "lineno", 0), target, late)
        inside = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        yield from _imports(module, node, late or inside)


IMPORTS = [found for name, tree in MODULES.items() for found in _imports(name, tree)]


def _against(order: list[str], imports: list[tuple[Import, str, str]]) -> list[str]:
    """The imports that point down the order; each comes as (import, importer, imported)."""
    return [
        str(found)
        for found, importer, imported in imports
        if _place(order, importer) < _place(order, imported)
    ]


def _own(found: Import) -> str:
    """What is imported from co_cli, without that prefix; empty for everything else."""
    return found.target.removeprefix("co_cli.") if _within(found.target, "co_cli") else ""


def _core_name(name: str) -> str:
    """A name inside the core, without its prefix; what the core's face exports is `__init__`."""
    inner = name.removeprefix("knowledge").removeprefix(".")
    return inner if _place(CORE_ORDER, inner) >= 0 else "__init__"


def test_every_module_has_a_place_in_the_order() -> None:
    assert [name for name in MODULES if name != "__init__" and _place(ORDER, name) < 0] == []
    core = [name.removeprefix("knowledge.") for name in MODULES if _within(name, "knowledge")]
    rooms = [name for name in core if name.endswith(".__init__")]
    assert [name for name in core if name not in rooms and _place(CORE_ORDER, name) < 0] == []


def test_the_package_itself_imports_nothing_of_its_own() -> None:
    assert [str(found) for found in IMPORTS if found.module == "__init__" and _own(found)] == []


def test_parts_import_only_the_parts_above_them() -> None:
    assert (
        _against(
            ORDER,
            [
                (found, found.module, _own(found))
                for found in IMPORTS
                if _place(ORDER, found.module) >= 0
            ],
        )
        == []
    )


def test_inside_the_core_modules_import_only_those_above_them() -> None:
    assert (
        _against(
            CORE_ORDER,
            [
                (found, _core_name(found.module), _core_name(_own(found)))
                for found in IMPORTS
                if _within(found.module, "knowledge") and _within(_own(found), "knowledge")
            ],
        )
        == []
    )


@pytest.mark.parametrize("never", sorted(CORE_NEVER))
def test_the_core_knows_no_terminal_no_model_and_no_network(never: str) -> None:
    assert [
        str(found)
        for found in IMPORTS
        if _within(found.module, "knowledge") and _within(found.target, never)
    ] == []


def test_late_imports_are_only_where_start_up_is_paid_for() -> None:
    assert [
        str(found)
        for found in IMPORTS
        if found.late and not any(_within(found.module, part) for part in LATE_IMPORTS_ALLOWED)
    ] == []


def _is_broad(handler: ast.ExceptHandler) -> bool:
    caught = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(
        kind is None or ast.unparse(kind).split(".")[-1] in ("BaseException", "Exception")
        for kind in caught
    )


def _raises_again(handler: ast.ExceptHandler) -> bool:
    """Whether every way through the handler ends in its bare `raise`."""
    last = handler.body[-1]
    leaves = (ast.Return, ast.Break, ast.Continue)
    return (
        isinstance(last, ast.Raise)
        and last.exc is None
        and not any(isinstance(node, leaves) for node in ast.walk(handler))
    )


def _swallows(handler: ast.ExceptHandler) -> bool:
    return _is_broad(handler) and not _raises_again(handler)


def test_only_the_top_level_handler_catches_everything() -> None:
    assert [
        f"{name}:{node.lineno}"
        for name, tree in MODULES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ExceptHandler) and _swallows(node)
        if not any(_within(name, part) for part in BROAD_EXCEPT_ALLOWED)
    ] == []


@pytest.mark.parametrize(
    ("module", "line", "target"),
    [
        ("knowledge.shelf", "from .plan import Saved", "co_cli.knowledge.plan.Saved"),
        ("knowledge.shelf", "from . import plan", "co_cli.knowledge.plan"),
        ("knowledge.shelf", "from ..errors import CoError", "co_cli.errors.CoError"),
        ("knowledge.__init__", "from .shelf import Shelf", "co_cli.knowledge.shelf.Shelf"),
        ("main", "import co_cli.config", "co_cli.config"),
        ("main", "if True:\n    import urllib.request", "urllib.request"),
        ("main", "from urllib import request", "urllib.request"),
    ],
)
def test_every_way_of_writing_an_import_is_seen(module: str, line: str, target: str) -> None:
    assert [found.target for found in _imports(module, ast.parse(line))] == [target]


def test_an_import_against_the_order_is_seen() -> None:
    wrong = Import("errors", 1, "co_cli.knowledge.format.note.Note", late=False)
    assert _against(ORDER, [(wrong, wrong.module, _own(wrong))]) == [str(wrong)]
    through_the_face = Import("knowledge.plan", 1, "co_cli.knowledge.Note", late=False)
    names = (_core_name(through_the_face.module), _core_name(_own(through_the_face)))
    assert _against(CORE_ORDER, [(through_the_face, *names)]) == [str(through_the_face)]


@pytest.mark.parametrize(
    ("clause", "swallows"),
    [
        ("except: pass", True),
        ("except Exception: pass", True),
        ("except (OSError, BaseException) as error: pass", True),
        ("except builtins.Exception: pass", True),
        ("except Exception as error: raise ValueError from error", True),
        ("except BaseException:\n    if True: return\n    raise", True),
        ("except BaseException:\n    tidy()\n    raise", False),
        ("except OSError: pass", False),
    ],
)
def test_every_way_of_catching_everything_is_seen(clause: str, swallows: bool) -> None:
    (statement,) = ast.parse(f"try: pass\n{clause}").body
    assert isinstance(statement, ast.Try)
    assert [_swallows(handler) for handler in statement.handlers] == [swallows]


def _loaded(*args: str) -> set[str]:
    """The modules that a command loads in a process of its own, without the coverage tool's."""
    code = (
        "import sys; from co_cli.main import run\n"
        "try: run()\nexcept SystemExit as end: assert end.code == 0\n"
        "sys.stdout.write('\\n' + ' '.join(sys.modules))"
    )
    env = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
    done = subprocess.run(
        [sys.executable, "-c", code, *args],
        capture_output=True, text=True, timeout=60, check=True, env=env,
    )  # fmt: skip
    return set(done.stdout.splitlines()[-1].split())


@pytest.mark.parametrize(
    "args", [("recall", "tuesdays"), ("knowledge", "list"), ("knowledge", "show", "1")]
)
def test_looking_at_notes_loads_nothing_that_writes_and_nothing_that_costs(
    args: tuple[str, ...],
) -> None:
    """Red when a reading command imports the writing half, or pathlib for one path."""
    said = "learn", "We deploy on Tuesdays", "--tag", "decision"
    for before in (("init",), said, *[("recall", "tuesdays")] * 2):  # which builds the index
        assert command(*before).code == 0
    never = {*COSTLY, "co_cli.cli.learn", "co_cli.folders", "co_cli.knowledge.folder"}
    never |= {*(f"co_cli.knowledge.{name}" for name in WRITING)}
    loaded = _loaded(*args)
    assert "co_cli.knowledge.notebook" in loaded
    assert sorted(never & loaded) == []


FRAMEWORK = {"pydantic", "pydantic_ai", "openai", "google.genai", "anthropic", "prompt_toolkit"}


@pytest.mark.parametrize(
    "args",
    [
        ("--help",),
        ("chat", "--help"),
        ("ask", "--help"),
        ("recall", "tuesdays"),
        ("context", "--for", "claude-code"),
        ("learn", "We ship on Fridays"),
        ("forget", "1"),
        ("status",),
        ("status", "--tools"),
        ("knowledge", "doctor"),
    ],
)
def test_nothing_but_a_conversation_loads_the_agent_framework(args: tuple[str, ...]) -> None:
    """Red when a command imports the agent, or a provider's library, without talking to a model."""
    assert command("learn", "We deploy on Tuesdays").code == 0
    assert sorted(FRAMEWORK & _loaded(*args)) == []
