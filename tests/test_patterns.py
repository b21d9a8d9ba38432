"""Patterns mean the same on every Python that Co runs on, read from the source.

Before 3.11.5 a possessive quantifier or an atomic group may match what it must not.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PARTS = ("co_cli", "tests", "scripts", "bench")


def texts(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Every text in a module, docstrings left out; an f-string comes in its pieces."""
    for node in ast.walk(tree):
        for child in () if isinstance(node, ast.Expr) else ast.iter_child_nodes(node):
            if isinstance(child, ast.Constant) and isinstance(child.value, str):
                yield child.lineno, child.value


def gives_nothing_back(text: str) -> bool:
    """Whether a text, as a pattern or a part of one, is possessive or atomic anywhere."""
    plain = re.sub(r"\\.|\[\^?\]?(?:\\.|[^]\\])*\]", "x", text, flags=re.DOTALL)
    spared = re.sub(r"(?i)c\+\+|\+{3}", "", plain)
    return re.search(r"[\w\s).<>/-][*+?}]\+|\(\?>", spared) is not None


def test_no_pattern_relies_on_what_early_3_11_gets_wrong() -> None:
    """Red when a pattern anywhere holds `*+`, `++`, `?+`, `{1,2}+` or `(?>`."""
    found = [
        f"{path.relative_to(ROOT)}:{line}: {text:.60}"
        for part in PARTS
        for path in sorted((ROOT / part).rglob("*.py"))
        if path != Path(__file__)
        for line, text in texts(ast.parse(path.read_bytes()))
        if gives_nothing_back(text)
    ]
    assert found == []


@pytest.mark.parametrize(
    "pattern", ["a*+", "a++", "a?+b", r"\w{1,2}+", "(?>a)", "[*]*+", "(a|b)*+"]
)
def test_every_way_of_giving_nothing_back_is_seen(pattern: str) -> None:
    assert gives_nothing_back(pattern)


@pytest.mark.parametrize(
    "pattern", ["a*", r"\++", "[*+]", r"[]*+]", r"a\*+", "+++ name", "C++", "^&*~?+"]
)
def test_what_only_looks_like_it_is_let_be(pattern: str) -> None:
    assert not gives_nothing_back(pattern)
