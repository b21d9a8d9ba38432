"""How results look, and how a person is asked.

JSON for a program, plain lines in a pipe, a table, colour and questions on a terminal.
"""

import json
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from io import UnsupportedOperation
from typing import Any

import click

from co_cli.errors import CoError
from co_cli.knowledge.safety.escape import BAR, HIDDEN, drawn, escape, hanging, rows, widest
from co_cli.meant import picked
from co_cli.results import plural

_CELL = 30  # columns of a table's cell at most, but for the last
# Where a style begins and ends, until the rows are cut: what a text itself holds of these control
# characters is spelled out before.
_BEGINS, _ENDS = {"bold": "\x0e", "dim": "\x10", "ref": "\x11"}, "\x0f"
_CODES = {0x0E: "\x1b[1m", 0x0F: "\x1b[0m", 0x10: "\x1b[2m", 0x11: "\x1b[36m\x1b[1m"}
_NAMED = 5  # plain files that a notice names
_LEAST = 24  # columns that the last one should have


def on_terminal() -> bool:
    """Whether a person is there: both to read and to answer."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def has_colour() -> bool:
    """Whether to use colour: standard output is a terminal and nobody asked for none."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def columns() -> int:
    """How wide the screen is; what the terminal says counts before COLUMNS, which may be old."""
    try:
        found = os.get_terminal_size(sys.stdout.fileno()).columns
    except (OSError, ValueError):  # ValueError: not a file at all
        found = 0
    known = os.environ.get("COLUMNS", "")
    return found or (int(known) if known.isdecimal() and len(known) < 5 else 80)


def say(text: str, *, keep: str = "\n\t", err: bool = False) -> None:
    """A line of the answer, with nothing in it that drives the terminal."""
    fit = (sys.stderr if err else sys.stdout).isatty()
    shown = hanging(text, columns(), keep=keep) if fit else [escape(text, keep=keep)]
    click.echo("\n".join(shown), err=err)


def say_line(text: str) -> None:
    """One line of the answer, whatever the names in it hold."""
    say(text, keep="")


def quote(text: str) -> None:
    """A text that is not Co's own; on a terminal every row of it begins with the bar."""
    if sys.stdout.isatty():
        click.echo("\n".join(rows(text, columns(), BAR)))
    else:
        say(text)


def quote_diff(lines: Sequence[str]) -> None:
    """The lines of a diff of such a text, in colour where there is any."""
    if not has_colour():
        return quote("\n".join(lines))
    for line in lines:
        shown = "\n".join(rows(line, columns(), BAR))
        click.echo(click.style(shown, fg={"-": "red", "+": "green"}.get(line[:1])))
    return None


def styled(text: str, style: str = "") -> str:
    """A piece of an answer for `paint`: bold, dim or ref, where there is colour."""
    shown = escape(text.replace("\r\n", "\n"))
    return f"{_BEGINS[style]}{shown}{_ENDS}" if style and has_colour() else shown


def paint(text: str, first: str = "") -> None:
    """Pieces of an answer that are `styled`, in rows that fit the screen."""
    lines = [first + line for line in text.split("\n")]
    if sys.stdout.isatty():
        lines = rows(text, columns(), first, "    ", keep="\n\t" + "".join(map(chr, _CODES)))
    click.echo("\n".join(lines).translate(_CODES))


def notice(text: str) -> None:
    """A remark for the person, not part of the answer."""
    say(text, err=True)


def warn(*remarks: object, hint: str = "") -> None:
    """What went wrong, as far as anything did, and what to do about it."""
    for remark in filter(None, remarks):
        notice(f"co: {remark}")
    if hint:
        notice(f"    {hint}")


def notice_unread(count: int) -> None:
    """That some files could not be read, if so."""
    if count:
        notice(f"{plural(count, 'file')} could not be read: co knowledge doctor")


def notice_shared(refs: Iterable[str]) -> None:
    """That a number is not one memory's alone, as a merge with git may leave it."""
    if shared := [ref for ref, many in Counter(refs).items() if many > 1]:
        fix = "co knowledge doctor --fix gives each its own"
        notice(f"Several memories have the number {', '.join(shared)}: {fix}")


def notice_plain(refs: Sequence[str]) -> None:
    """That these notes are files without a header, if there are any."""
    if refs:
        named = ", ".join(refs[:_NAMED]) + (", …" if len(refs) > _NAMED else "")
        notice(f"{plural(len(refs), 'plain file')} without a header: {named}")
        notice("Co reads such a file and leaves it as it is; to give it one: co knowledge adopt")


def tell(as_json: bool, value: Any, text: str) -> None:
    """The answer, for a program or in words."""
    if as_json:
        to_json(value)
    else:
        say(text)


def to_json(value: Any) -> None:
    """The answer for a program; characters that could fool a terminal are escaped."""
    text = json.dumps(value, ensure_ascii=False, indent=2)
    click.echo(re.sub(rf"(?!\n){HIDDEN}", lambda found: json.dumps(found[0])[1:-1], text))


def table(headings: Sequence[str], lines: Sequence[Sequence[str]]) -> None:
    """Lines as a table on a terminal, tab-separated elsewhere."""
    shown = [[escape(cell, keep="") for cell in line] for line in lines]
    if not sys.stdout.isatty():
        click.echo("\n".join("\t".join(line) for line in shown))
        return
    every = [[line[0], *map(_clipped, line[1:-1]), line[-1]] for line in (headings, *shown)]
    sizes = [min(max(map(drawn, column)), _CELL) for column in zip(*every, strict=True)][:-1]
    indent, space = " " * (sum(sizes) + 2 * len(sizes)), columns()
    for number, (*line, last) in enumerate(every):
        padded = [cell + " " * (size - drawn(cell)) for cell, size in zip(line, sizes, strict=True)]
        head = "  ".join([*padded, ""])
        if max(widest(head), len(indent)) + _LEAST <= space:
            text = "\n".join(rows(last, space, head, indent))
            click.echo(text if number or not has_colour() else click.style(text, bold=True))
        elif number:  # too narrow to stand side by side; the last cell is what people want to read
            beside = rows("  ".join(filter(None, line)), space, "", "  ")
            click.echo("\n".join([*beside, *rows(last, space, "    ")]))


def _clipped(cell: str) -> str:
    """A cell cut to size; one that is not ASCII may take twice the columns."""
    most = _CELL if cell.isascii() else _CELL // 2
    return cell if drawn(cell) <= _CELL else cell[: most - 1] + "…"


def typed(question: str) -> str:
    """What a person types once the question is there; what came before it is told and dropped."""
    shown = "\n".join(hanging(question, columns(), keep=""))
    if early := " ".join(_unread().split()):
        warn(f"ignored, because it was typed before the question: {early}")
    return str(click.prompt(shown, default="", show_default=False)).strip()


def _unread() -> str:
    """What was typed and not read yet, without what moves the cursor."""
    import termios  # nobody is asked by a command that only reads
    import tty
    from select import select

    data = b""
    with suppress(OSError, ValueError, termios.error):  # no terminal, or nobody at it any more
        fd = sys.stdin.fileno()
        before = termios.tcgetattr(fd)
        tty.setcbreak(fd, termios.TCSANOW)  # a line without its end counts too
        try:
            while select([fd], [], [], 0)[0] and (piece := os.read(fd, 65536)):
                data += piece
        finally:
            termios.tcsetattr(fd, termios.TCSANOW, before)
    text = re.sub(r"\x1b(\[[0-9;?]*[ -/]*[@-~]|O?.)?", "", data.decode("utf-8", "replace"))
    return escape(re.sub(r".?[\x7f\b]", "", text), keep="\n")


def ask(question: str, answers: Container[str]) -> str:
    """One of these answers, typed after the question was there; asked until it is one."""
    while True:
        said = typed(question)
        said = said if said in answers else said.lower()
        if said in answers:
            return said
        notice(f"{said!r} is not one of the answers.")


def which(question: str, choices: Mapping[str, str], enter: Iterable[str] = ()) -> list[str]:
    """The names of those that a person picks, or what Enter means; asked until it is clear."""
    while said := typed(question):
        if (found := [] if said.lower() == "q" else picked(said, choices)) is not None:
            return found
        notice(f"{said!r} does not say which.")
    return [*enter]


def confirm(question: str, yes: bool, *, quiet: bool = False, default: bool = False) -> bool:
    """Ask a person; with nobody there the answer is no, unless it was given beforehand."""
    if yes or quiet or not on_terminal():
        return yes
    said = ask(f"{question} [{'Y/n' if default else 'y/N'}]", ("y", "yes", "n", "no", ""))
    return said[0] == "y" if said else default


def is_answered() -> bool:
    """Whether an answer waits on standard input that nobody typed; it is not read."""
    from fcntl import ioctl  # as above
    from termios import FIONREAD

    try:
        return not sys.stdin.isatty() and any(ioctl(sys.stdin.fileno(), FIONREAD, bytes(4)))
    except UnsupportedOperation:  # no file of the system's
        return bool(sys.stdin.read(1))
    except OSError:  # nothing that could hold one
        return False


def no_yes(what: str) -> CoError:
    """That something was not done, for want of a yes."""
    piped = "An answer that is piped in does not count; add --yes."
    return CoError(what, hint=piped if is_answered() else "Answer y, or add --yes.")


@contextmanager
def progress(label: str) -> Iterator[Callable[[int, int], None] | None]:
    """A bar on a terminal, told how much of how much is done; elsewhere nothing."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    columns = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[count]}")
    console = Console(stderr=True, no_color=bool(os.environ.get("NO_COLOR")))
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(label, count="")
        yield lambda done, total: bar.update(
            task,
            completed=done,
            total=total or None,
            count=f"{done}/{total}" if total else f"{done}",
        )
