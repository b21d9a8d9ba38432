"""An answer as it comes in: finished blocks of markdown stay, the one being written is redrawn.

Stored text passes through here, so nothing in it drives the terminal. Under it stands what the
person types meanwhile.
"""

import re
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from typing import Self

from markdown_it import MarkdownIt
from rich.console import Console, Group, RenderableType
from rich.control import Control
from rich.live import Live
from rich.markdown import Markdown
from rich.segment import ControlType, Segment, SegmentLines
from rich.spinner import Spinner
from rich.text import Text

from co_cli.chat import typeahead
from co_cli.knowledge.safety.escape import escape, hanging, rows

_FENCE = re.compile(r" {0,3}(```+|~~~+)")
_NEXT = "next > "  # before what was typed too early
_MOST_WAITING = 4  # rows of it that are shown


class StreamView:
    """What is shown while a model speaks and works."""

    def __init__(
        self, console: Console, listen: Callable[[], AbstractContextManager[None]] = nullcontext
    ) -> None:
        self.console = console
        self.listen = listen  # to what is typed meanwhile
        self.tail = self.doing = ""
        self.live: Live | None = None
        self.spinner = Spinner("dots")
        self.listening = ExitStack()
        self.spoken = False  # something of this answer is on the screen
        self.widths: list[int] = []  # of the rows that were last drawn and will be drawn again

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
        """Leave the screen to something else."""
        self._keep(self.tail)
        if self.live is not None:
            live, self.live = self.live, None
            live.stop()
            self.listening.close()

    def resume(self) -> None:
        """Take the screen again."""
        if self.live is None and self.console.is_terminal:
            self.widths = []
            self.live = Live(console=self.console, transient=True, refresh_per_second=12,
                             get_renderable=self._drawn)  # fmt: skip
            self.listening.enter_context(self.listen())
            self.live.start()

    def _keep(self, done: str, tail: str = "") -> None:
        self.tail = tail
        if done.strip():
            self.console.print(SegmentLines(self._rows(done), new_lines=True))
            self.spoken = True

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

    def _drawn(self) -> RenderableType:
        if self.live is None:  # at its end nothing is left of it
            return Text("")
        parts: list[RenderableType] = []
        if self.doing:
            self.spinner.update(text=Text(f"{self.doing} …", style="dim"))
            parts.append(self.spinner)
        waiting = typeahead.waiting().rstrip("\n")
        then = " " * len(_NEXT)
        shown = rows(waiting[-1000:], self.console.width, _NEXT, then) if waiting else []
        parts += [Text(row, style="dim") for row in shown[-_MOST_WAITING:]]
        room = max(self.console.height - len(parts) - 1, 3)
        tail = self._rows(self.tail)[-room:] if self.tail.strip() else []
        self._take_back()
        drawn = [*tail, *self.console.render_lines(Group(*parts), pad=False)]
        self.widths = [Segment.get_line_length(row) for row in drawn]
        return SegmentLines(drawn, new_lines=True)

    def _take_back(self) -> None:
        """Remove the rows that a narrower screen made of what was drawn; the rest is redrawn."""
        more = sum((width - 1) // self.console.width for width in self.widths if width)
        if more:
            back = [(ControlType.ERASE_IN_LINE, 2), (ControlType.CURSOR_UP, 1)] * more
            self.console.control(Control(*back))


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
