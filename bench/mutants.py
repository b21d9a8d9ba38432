"""Break one line of the core at a time, and see whether a test notices.

A sample of single-line breakages, the same for the same seed. For each, the tests that run that
line are run until one fails: those named after the module first, then the quickest, a minute's
worth at most. What nobody notices is listed at the end.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import accumulate
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple

from coverage import CoverageData

ROOT = Path(__file__).resolve().parent.parent
PATIENCE = 300  # seconds for the tests of one breakage; tests that hang have noticed it
ENOUGH = 60.0  # seconds of tests, by the time they take without a breakage

_OTHER: dict[type[ast.AST], Any] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE,
    ast.GtE: ast.Gt, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.And: ast.Or, ast.Or: ast.And, ast.Add: ast.Sub, ast.Sub: ast.Add,
}  # fmt: skip


class Breakage(NamedTuple):
    """One piece of one file, and what stands there instead."""

    path: str
    line: int
    start: int
    end: int
    new: str

    def __str__(self) -> str:
        source = (ROOT / self.path).read_bytes()
        old = " ".join(source[self.start : self.end].decode().split())
        return f"{self.path}:{self.line}  {old}  ->  {self.new}"


def breakages(path: str) -> Iterator[Breakage]:
    """Every breakage of a file that this program knows."""
    source = (ROOT / path).read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for node in _running(ast.parse(source)):
        for piece, new in _broken(node):
            start = starts[piece.lineno - 1] + piece.col_offset
            end = starts[(piece.end_lineno or 0) - 1] + (piece.end_col_offset or 0)
            yield Breakage(path, piece.lineno, start, end, new)


def _running(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes that run: not what only a type checker reads."""
    match node:
        case ast.If(test=ast.Name("TYPE_CHECKING")) | ast.arg():
            return
        case ast.AnnAssign(target=target, value=value):
            children: list[ast.AST] = [target, *([value] if value else [])]
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            children = [*node.decorator_list, node.args, *node.body]
        case _:
            children = list(ast.iter_child_nodes(node))
    yield node
    for child in children:
        yield from _running(child)


def _broken(node: ast.AST) -> Iterator[tuple[ast.expr | ast.stmt, str]]:
    """The piece of a node that is replaced, and by what."""
    match node:
        case ast.Compare() | ast.BoolOp() | ast.BinOp():
            if (other := _turned(ast.unparse(node))) is not None:
                yield node, f"({ast.unparse(other)})"
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield node, f"bool({ast.unparse(operand)})"
        case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test):
            yield test, f"(not ({ast.unparse(test)}))"
        case ast.Constant(value=bool() as value):
            yield node, str(not value)
        case ast.Constant(value=int() as value) if value <= 10:  # larger ones are mere sizes
            yield node, str(value + 1)
        case ast.Return(value=ast.expr() as value) if ast.unparse(value) != "None":
            yield node, "return None"
        case ast.Raise() | ast.Continue() | ast.Break() | ast.AugAssign() | ast.Expr(ast.Call()):
            yield node, "pass"


def _turned(text: str) -> ast.expr | None:
    """An expression with its operator turned into the other one."""
    node = ast.parse(text, mode="eval").body
    if isinstance(node, ast.Compare) and type(node.ops[0]) in _OTHER:
        node.ops[0] = _OTHER[type(node.ops[0])]()
    elif isinstance(node, ast.BoolOp | ast.BinOp) and type(node.op) in _OTHER:
        node.op = _OTHER[type(node.op)]()
    else:
        return None
    return node


def copied(to: Path) -> Path:
    """The files that git knows, in a folder of their own."""
    names = subprocess.check_output(["git", "ls-files", "-z"], cwd=ROOT, text=True).split("\0")
    for name in filter(None, names):
        (to / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, to / name)
    (to / ".venv").symlink_to(ROOT / ".venv")
    return to


def pytest(folder: Path, *args: str, limit: float | None = None) -> int:
    """Run tests on a copy; 124 when they did not end in time."""
    env = os.environ | {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *args]
    process = subprocess.Popen(
        words, cwd=folder, env=env, start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        return process.wait(limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        process.wait()
        return 124


def who_runs_what(folder: Path) -> tuple[dict[str, dict[int, list[str]]], dict[str, float]]:
    """For each line of each file the tests that run it; how long each test takes."""
    args = ["--cov", "--cov-context=test", "--cov-report=", "--cov-fail-under=0"]
    pytest(folder, "-n", "2", *args, "--junitxml=tests.xml")
    data = CoverageData(str(folder / ".coverage"))
    data.read()
    lines: dict[str, dict[int, list[str]]] = {}
    for name in data.measured_files():
        found = data.contexts_by_lineno(name)
        path = os.path.relpath(os.path.realpath(name), os.path.realpath(folder))
        lines[path] = {at: [one.partition("|")[0] for one in who] for at, who in found.items()}
    times: dict[str, float] = {}
    for case in ET.parse(folder / "tests.xml").getroot().iter("testcase"):
        test = f"{case.get('classname', '').replace('.', '/')}.py::{case.get('name')}"
        if case.find("failure") is None and case.find("error") is None:
            times[test] = float(case.get("time", 0))
        else:
            print("fails without any breakage, so left out:", test, flush=True)
    return lines, times


def likeliest(path: str, who: Iterable[str], times: dict[str, float]) -> list[str]:
    """These tests, those of the module's own file first, then quickest first, for a minute."""
    own = f"tests/test_{Path(path).stem}.py::"
    order = sorted(who, key=lambda test: (not test.startswith(own), times[test]))
    spent = accumulate(times[test] for test in order)
    return [test for test, total in zip(order, spent, strict=True) if total < ENOUGH]


def noticed(folder: Path, breakage: Breakage, tests: list[str]) -> bool:
    """Whether one of these tests fails with the line broken."""
    file = folder / breakage.path
    whole = file.read_bytes()
    new = breakage.new.encode()
    file.write_bytes(whole[: breakage.start] + new + whole[breakage.end :])
    chosen = folder / "tests.txt"  # more than fit on a command line
    chosen.write_text("\n".join(tests))
    try:
        return pytest(folder, "-x", f"@{chosen}", limit=PATIENCE) != 0
    finally:
        file.write_bytes(whole)


def main() -> None:
    """Take the sample, break, tell."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=80)
    parser.add_argument("--part", default="co_cli/knowledge", help="folder to break")
    options = parser.parse_args()
    paths = sorted(str(path.relative_to(ROOT)) for path in (ROOT / options.part).rglob("*.py"))
    every = [one for path in paths for one in breakages(path)]
    sample = random.Random(options.seed).sample(every, min(options.count, len(every)))
    with tempfile.TemporaryDirectory() as place:
        copies: SimpleQueue[Path] = SimpleQueue()
        for name in ("one", "two"):
            copies.put(copied(Path(place, name)))
        lines, times = who_runs_what(copied(Path(place, "map")))

        def look(breakage: Breakage) -> bool:
            who = set(lines.get(breakage.path, {}).get(breakage.line, ())) & times.keys()
            tests = likeliest(breakage.path, who or times, times)
            folder = copies.get()
            try:
                seen = noticed(folder, breakage, tests)
            finally:
                copies.put(folder)
            print("red  " if seen else "GREEN", breakage, flush=True)
            return seen

        with ThreadPoolExecutor(2) as pool:
            seen = list(pool.map(look, sample))
    print(f"\n{sum(seen)} of {len(seen)} breakages turned a test red")
    for breakage in (one for one, red in zip(sample, seen, strict=True) if not red):
        print("  unnoticed:", breakage)


if __name__ == "__main__":
    main()
