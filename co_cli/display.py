"""How results look: JSON, plain lines in a pipe, a table and colour on a terminal."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click

from co_cli.knowledge.visible import HIDDEN, visible

_NARROW = 60


def on_terminal() -> bool:
    """Whether a person is there: both to read and to answer."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def has_colour() -> bool:
    """Whether to use colour: standard output is a terminal and nobody asked for none."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def say(text: str = "") -> None:
    """A line of the answer, with nothing in it that drives the terminal."""
    click.echo(visible(text))


def say_line(text: str) -> None:
    """One line of the answer, whatever the names in it hold."""
    click.echo(visible(text, keep=""))


def styled(text: str, **style: Any) -> str:
    """A piece of an answer in colour, where there is colour."""
    return click.style(visible(text), **style) if has_colour() else visible(text)


def notice(text: str) -> None:
    """A remark for the person, not part of the answer."""
    click.echo(visible(text), err=True)


def to_json(value: Any) -> None:
    """The answer for a program; characters that could fool a terminal are escaped."""
    text = json.dumps(value, ensure_ascii=False, indent=2)
    click.echo(re.sub(HIDDEN, _escaped, text))


def _escaped(found: re.Match[str]) -> str:
    character = found.group()
    return character if character == "\n" else json.dumps(character)[1:-1]


def table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Rows as a table on a terminal, tab-separated elsewhere."""
    if not sys.stdout.isatty():
        lines = ["\t".join(visible(cell, keep="") for cell in row) for row in rows]
        click.echo("\n".join(lines))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False, no_color=not has_colour())
    if console.width < _NARROW:  # the last cell is what people want to read
        for row in rows:
            cells = [visible(cell, keep="") for cell in row]
            click.echo(f"{'  '.join(filter(None, cells[:-1]))}\n    {cells[-1]}")
        return
    drawn = Table(box=None, pad_edge=False, header_style="bold" if has_colour() else "")
    for number, heading in enumerate(headings):
        last = number == len(headings) - 1
        drawn.add_column(heading, no_wrap=not last, overflow="ellipsis", ratio=1 if last else None)
    for row in rows:
        drawn.add_row(*(Text(visible(cell, keep="")) for cell in row))
    console.print(drawn)


@contextmanager
def progress(label: str) -> Iterator[Callable[[int, int], None] | None]:
    """A bar on a terminal, told how much of how much is done; elsewhere nothing."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
    console = Console(stderr=True, no_color=bool(os.environ.get("NO_COLOR")))
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(label)
        yield lambda done, total: bar.update(task, completed=done, total=total)
