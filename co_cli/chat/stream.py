"""An answer as it comes in: finished blocks of markdown stay, the one being written is redrawn.

Stored text passes through here, so nothing in it drives the terminal.
"""

import re
from typing import Self

from markdown_it import MarkdownIt
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.markdown import Markdown
from rich.spinner import Spinner
from rich.text import Text

from co_cli.knowledge.safety.escape import escape, hanging

_FENCE = re.compile(r" {0,3}(```+|~~~+)")
_SPARE = 4  # lines of the screen that the block being written leaves free


class StreamView:
    """What is shown while a model speaks and works."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.tail = self.doing = ""
        self.live: Live | None = None
        self.spinner = Spinner("dots")

    def __enter__(self) -> Self:
        self.doing = "Thinking"
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
            self.console.print(Text(row, style="dim"))

    def pause(self) -> None:
        """Leave the screen to something else."""
        self._keep(self.tail)
        if self.live is not None:
            live, self.live = self.live, None
            live.stop()

    def resume(self) -> None:
        """Take the screen again."""
        if self.live is None and self.console.is_terminal:
            self.live = Live(console=self.console, transient=True, refresh_per_second=12,
                             get_renderable=self._drawn)  # fmt: skip
            self.live.start()

    def _keep(self, done: str, tail: str = "") -> None:
        self.tail = tail
        if done.strip():
            self.console.print(_markdown(done))

    def _drawn(self) -> RenderableType:
        parts: list[RenderableType] = []
        if self.live is None:  # at its end nothing is left of it
            return Text("")
        if self.tail.strip():
            first, *lines = self.tail.split("\n")
            shown = lines[-max(self.console.height - _SPARE, 3) :]
            head = [first] if len(shown) == len(lines) or _FENCE.match(first) else []
            parts.append(_markdown("\n".join([*head, *shown])))
        if self.doing:
            self.spinner.update(text=Text(f"{self.doing} …", style="dim"))
            parts.append(self.spinner)
        return Group(*parts)


def _markdown(text: str) -> Markdown:
    """Markdown whose tags are text: rich leaves out what looks like HTML, such as Vec<u8>."""
    drawn = Markdown("", hyperlinks=False)
    plain = MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"])
    plain.disable("entity")  # a character spelled out could be one that drives the terminal
    drawn.markup, drawn.parsed = text, plain.parse(text.strip("\n"))
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
