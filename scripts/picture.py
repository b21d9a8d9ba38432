"""Draw docs/chat.svg: a real session of `co chat`, typed at a terminal, as it looks at the end.

`make docs` runs it; a test compares. Needs no key and no network.
"""

from __future__ import annotations

import codecs
import os
import pty
import re
import select
import subprocess
import sys
import tempfile
import termios
import time
from html import escape
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "docs" / "chat.svg"
COLUMNS, ROWS = 92, 200
PATIENCE = 120.0
READY = "\x1b[?25l\x1b[0m\x1b[?7l"  # what the line editor sends when it takes keys
CHOICE = "[g] everywhere >"  # the last of what a card offers
# What to wait for, at its next occurrence, and what to type then.
SESSION = [
    (READY, "We deploy on Tuesdays\r"),
    (CHOICE, "y\r"),
    (READY, "when do we deploy?\r"),
    (READY, "From March on we deploy on Thursdays\r"),
    (CHOICE, "u\r"),
    (READY, "when do we deploy?\r"),
    (READY, "\x04"),
]
PALETTE = dict(
    zip(
        range(30, 38),
        "#6e7681 #ff7b72 #7ee787 #e3b341 #79c0ff #d2a8ff #76e3ea #e6edf3".split(),
        strict=True,
    )
)
_PIECE = re.compile(
    r"\x1b\[([0-9;?]*)[ -/]*([@-~])|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b.|.", re.S
)
_DATE = re.compile(r"\b\d{4}-\d\d-\d\d\b")  # the picture is the same on every day


class Style(NamedTuple):
    """How a character looks."""

    colour: str = ""
    bold: bool = False
    dim: bool = False


Cell = tuple[str, Style]


class Screen:
    """As much of a terminal as the chat needs."""

    def __init__(self, columns: int = COLUMNS) -> None:
        self.columns = columns
        self.rows: list[list[Cell]] = [[]]
        self.row = self.column = 0
        self.style = Style()

    def feed(self, text: str) -> None:
        """Draw what a program wrote."""
        for piece in _PIECE.finditer(text):
            if piece[2]:
                self._control(piece[2], [int(n or 0) for n in re.findall(r"\d+", piece[1])])
            elif not piece[0].startswith("\x1b"):
                self._character(piece[0])

    def _character(self, char: str) -> None:
        if char == "\r":
            self.column = 0
        elif char == "\n":
            self.row += 1
        elif char == "\b":
            self.column = max(0, self.column - 1)
        elif char.isprintable():
            if self.column == self.columns:
                self.row, self.column = self.row + 1, 0
            row = self._line()
            row.extend([(" ", Style())] * (self.column + 1 - len(row)))
            row[self.column] = char, self.style
            self.column += 1

    def _line(self) -> list[Cell]:
        while len(self.rows) <= self.row:
            self.rows.append([])
        return self.rows[self.row]

    def _control(self, name: str, numbers: list[int]) -> None:
        count = (numbers or [1])[0] or 1
        if name == "m":
            self._restyle(numbers or [0])
        elif name == "A":
            self.row = max(0, self.row - count)
        elif name == "B":
            self.row += count
        elif name == "C":
            self.column += count
        elif name == "D":
            self.column = max(0, self.column - count)
        elif name in "JK":
            del self._line()[0 if numbers == [2] else self.column :]
            if name == "J":
                del self.rows[self.row + 1 :]

    def _restyle(self, numbers: list[int]) -> None:
        for number in numbers:
            if number == 0:
                self.style = Style()
            elif number == 1:
                self.style = self.style._replace(bold=True)
            elif number == 2:
                self.style = self.style._replace(dim=True)
            elif number % 60 in PALETTE:
                self.style = self.style._replace(colour=PALETTE[number % 60])
            elif number == 39:
                self.style = self.style._replace(colour="")

    def text(self) -> str:
        """The words alone."""
        rows = ("".join(char for char, _ in row).rstrip() for row in self.rows)
        return "\n".join(rows).strip("\n") + "\n"


def play() -> Screen:
    """Talk with Co in an empty folder and an empty home; the screen when the person has left."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        home = Path(os.path.realpath(place), "home")
        work = home / "shop"
        work.mkdir(parents=True)
        master, slave = pty.openpty()
        termios.tcsetwinsize(slave, (ROWS, COLUMNS))
        env = {"HOME": str(home), "PATH": os.environ.get("PATH", ""), "TERM": "xterm-256color"}
        env |= {"LC_ALL": "C.UTF-8", "PYTHONUTF8": "1", "PROMPT_TOOLKIT_NO_CPR": "1"}
        command = [str(Path(sys.executable).parent / "co"), "chat"]
        with subprocess.Popen(
            command, stdin=slave, stdout=slave, stderr=slave, cwd=work, env=env, close_fds=True
        ) as process:
            os.close(slave)
            try:
                shown = _converse(master)
            finally:
                process.kill()
                os.close(master)
    screen = Screen()
    screen.feed(_DATE.sub("2026-02-09", shown))
    return screen


def _converse(master: int) -> str:
    """Everything the chat writes while the session is typed."""
    shown, at = "", 0
    decode = codecs.getincrementaldecoder("utf-8")("replace").decode
    deadline = time.monotonic() + PATIENCE
    for awaited, typed in [*SESSION, ("", "")]:
        while not awaited or awaited not in shown[at:]:
            if not select.select([master], [], [], max(0.0, deadline - time.monotonic()))[0]:
                raise SystemExit(f"waited too long for {awaited!r}:\n{shown}")
            try:
                data = os.read(master, 65536)
            except OSError:  # the chat has ended
                return shown
            shown += decode(data)
        at = shown.index(awaited, at) + len(awaited)
        os.write(master, typed.encode())
    return shown


def draw(screen: Screen) -> str:
    """The screen as SVG: text, with nothing fetched from elsewhere."""
    rows = screen.rows
    while rows and not rows[-1]:
        rows.pop()
    wide, high, margin = 8.4, 19, 16
    width, height = round(COLUMNS * wide) + 2 * margin, len(rows) * high + 2 * margin
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="img" aria-label="A session of co chat">',
        f'<rect width="{width}" height="{height}" rx="8" fill="#0d1117"/>',
        "<g font-family=\"ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace\" "
        'font-size="14" fill="#e6edf3" xml:space="preserve">',
    ]
    for number, row in enumerate(rows):
        y = margin + number * high + 14
        for column, text, style in runs(row):
            look = f' fill="{style.colour}"' if style.colour else ""
            look += ' font-weight="bold"' if style.bold else ""
            look += ' opacity="0.65"' if style.dim else ""
            x = margin + column * wide
            length = f'textLength="{len(text) * wide:.1f}"'
            lines.append(f'<text x="{x:.1f}" y="{y}" {length}{look}>{escape(text)}</text>')
    return "\n".join([*lines, "</g>", "</svg>"]) + "\n"


def runs(row: list[Cell]) -> list[tuple[int, str, Style]]:
    """A row in pieces of one look each, without the space around them."""
    found: list[tuple[int, str, Style]] = []
    for column, (char, style) in enumerate(row):
        if found and found[-1][2] == style:
            start, text, _ = found.pop()
            found.append((start, text + char, style))
        else:
            found.append((column, char, style))
    trimmed = [
        (at + len(text) - len(text.lstrip()), text.strip(), look) for at, text, look in found
    ]
    return [piece for piece in trimmed if piece[1]]


if __name__ == "__main__":
    TARGET.write_text(draw(play()), encoding="utf-8")
