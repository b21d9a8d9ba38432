"""An answer as it comes in: finished blocks of markdown are printed, the last one is still drawn.

Stored text passes through here, so nothing in it drives the terminal. Knows no line editor.
"""

import re
from collections.abc import Callable
from typing import Self

from markdown_it import MarkdownIt
from rich.console import Console
from rich.markdown import Markdown
from rich.segment import Segment, SegmentLines
from rich.spinner import Spinner
from rich.text import Text

from co_cli.knowledge.safety.escape import escape, hanging

_FENCE = re.compile(r" {0,3}(```+|~~~+)")


class StreamView:
    """What is shown while a model speaks and works."""

    def __init__(self, console: Console, redraw: Callable[[], None] = lambda: None) -> None:
        self.console = console
        self.redraw = redraw  # what `live` returns has changed
        self.tail = self.doing = ""
        self.is_open = self.spoken = False  # spoken: some of this answer is on the screen
        self.spinner = Spinner("dots")

    def __enter__(self) -> Self:
        self.doing, self.spoken = "Thinking", False
        self.resume()
        return self

    def __exit__(self, *_error: object) -> None:
        self.pause()

    def words(self, text: str) -> None:
        """More of the answer; what is complete is printed for good."""
        self.doing = ""
        self._keep(*split(self.tail + escape(text)))

    def busy(self, doing: str) -> None:
        """Say what is going on; the words so far are complete."""
        self._keep(self.tail)
        self.doing = escape(doing, keep="")

    def note(self, text: str) -> None:
        """A quiet line between the words."""
        self._keep(self.tail)
        for row in hanging(text, self.console.width):
            self.console.print(Text(row, style="dim"), soft_wrap=True)
        self.spoken = True

    def pause(self) -> None:
        """Print what there is, and draw nothing until it goes on."""
        self._keep(self.tail)
        self.is_open = False

    def resume(self) -> None:
        """Go on."""
        self.is_open = True
        self.redraw()

    def live(self, most: int) -> str:
        """What is drawn while it changes, as ANSI text of so many rows at most."""
        if not self.is_open:
            return ""
        drawn = self._rows(self.tail)[-most:] if self.tail.strip() else []
        with self.console.capture() as capture:
            self.console.print(SegmentLines(drawn, new_lines=True), end="")
            if self.doing:
                self.spinner.update(text=Text(f"{self.doing} …", style="dim"))
                self.console.print(self.spinner)
        return capture.get()

    def _keep(self, done: str, tail: str = "") -> None:
        self.tail = tail
        if done.strip():
            self.console.print(SegmentLines(self._rows(done), new_lines=True))
            self.spoken = True
        self.redraw()

    def _rows(self, text: str) -> list[list[Segment]]:
        """The text as it is drawn, apart from what is there already.

        Nothing pads a row to the screen's width: a narrower screen would make two of it.
        """
        drawn = [_trimmed(row) for row in self.console.render_lines(_markdown(text), pad=False)]
        while drawn and not drawn[0]:
            del drawn[0]
        while drawn and not drawn[-1]:
            del drawn[-1]
        return [[], *drawn] if self.spoken else drawn


def _trimmed(row: list[Segment]) -> list[Segment]:
    """A row without the blanks at its end, unless they are coloured."""
    while row and not row[-1].text.strip() and not (row[-1].style and row[-1].style.bgcolor):
        row = row[:-1]
    if row and not (row[-1].style and row[-1].style.bgcolor):
        row = [*row[:-1], row[-1]._replace(text=row[-1].text.rstrip())]
    return row


def _markdown(text: str) -> Markdown:
    """Markdown whose lines stay lines and whose tags are text: rich would leave out Vec<u8>."""
    drawn = Markdown("", hyperlinks=False)
    plain = MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"])
    plain.disable("entity")  # a character spelled out could be one that drives the terminal
    drawn.markup, drawn.parsed = text, plain.parse(text.strip("\n"))
    for child in (child for token in drawn.parsed for child in token.children or ()):
        child.type = "hardbreak" if child.type == "softbreak" else child.type
    return drawn


def split(text: str) -> tuple[str, str]:
    """A text as far as its blocks are complete, and the rest; a fenced block is one block."""
    fence, end, at = "", 0, 0
    for line in text.splitlines(keepends=True):
        at += len(line)
        if mark := _FENCE.match(line):
            if not fence:
                fence = mark[1]
            elif mark[1].startswith(fence) and not line[mark.end() :].strip():
                fence = ""
                end = at if line.endswith("\n") else end
        elif not fence and not line.strip() and line.endswith("\n"):
            end = at
    return text[:end], text[end:]
