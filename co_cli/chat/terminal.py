"""The bottom of a terminal: a line to type in that stays, under whatever is printed.

Knows how to draw and when, and nothing of messages or questions.
"""

import asyncio
import os
import select
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from io import TextIOBase
from shutil import get_terminal_size
from typing import IO, cast

from prompt_toolkit.application import Application, create_app_session, get_app_session, in_terminal
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.layout import ConditionalContainer, HSplit, Layout, VerticalAlign, Window
from prompt_toolkit.layout.controls import BufferControl, FormattedTextControl
from prompt_toolkit.layout.menus import CompletionsMenu
from prompt_toolkit.output import DummyOutput, Output
from prompt_toolkit.output.vt100 import Vt100_Output
from prompt_toolkit.patch_stdout import patch_stdout
from prompt_toolkit.search import stop_search
from prompt_toolkit.utils import is_dumb_terminal
from prompt_toolkit.widgets import SearchToolbar
from rich.console import Console, ConsoleDimensions
from rich.text import Text

from co_cli.knowledge.safety.escape import BAR, hanging, rows

_MENU = 6  # rows of completions
_TICK = 0.1  # seconds between two drawings while something moves


class _Above(TextIOBase):
    """A terminal whose lines are printed above the input line."""

    def __init__(self, terminal: "Terminal") -> None:
        self.terminal = terminal

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self.terminal.print_above(text)
        return len(text)


class _Application(Application[None]):
    """Takes back the rows that a narrower terminal made of longer ones, however it learns of it."""

    def _on_resize(self) -> None:
        self._redraw()

    def _redraw(self, render_as_done: bool = False) -> None:
        now = self.output.get_size()  # another size in the middle is for the next drawing
        self.output.get_size = lambda: now  # type: ignore[method-assign]
        try:
            self._take_back(now.columns)
            super()._redraw(render_as_done)
        finally:
            del self.output.get_size

    def _take_back(self, columns: int) -> None:
        renderer = self.renderer
        screen, size = renderer.last_rendered_screen, renderer._last_size
        if screen and size and size.columns != columns:
            at = renderer._cursor_pos
            drawn = (screen.data_buffer[y] for y in range(at.y))
            ends = [max((x for x in row if row[x].char.strip()), default=0) for row in drawn]
            self.output.cursor_up(sum(end // columns for end in [*ends, at.x]))
            renderer.erase()


class Terminal:
    """One application for a whole sitting, and the console that prints above it."""

    def __init__(self, draft: Buffer, toolbar: Callable[[], str] | None) -> None:
        self.draft, self.answer = draft, Buffer()  # two lines, of which one is typed in
        self.is_asking = False  # that is the answer
        self.label = ""  # what stands before it; on its own rows but for the last
        self.toolbar = toolbar  # without one, no draft is shown
        self.dumb = is_dumb_terminal()
        above = cast("IO[str]", _Above(self))
        no_color = bool(os.environ.get("NO_COLOR"))
        self.console = Console(file=above, highlight=False, no_color=no_color)
        if self.dumb:  # which rich takes for one of 80 columns
            self.console.size = ConsoleDimensions(*get_terminal_size())
            for buffer in (self.draft, self.answer):
                buffer.on_text_changed += lambda _buffer: self._write_line()
        self.output: Output = DummyOutput()
        self.app: Application[None] | None = None  # while it is on the screen
        self.moves = False  # what is over the line, so that it is drawn again and again
        self._change: Callable[[], None] | None = None  # made just before the next drawing
        self._printed: list[str] = []
        self._over: StyleAndTextTuples = []
        self._shown = ""  # of the line, on a dumb terminal
        self._tick: asyncio.TimerHandle | None = None

    # What an editor adds

    def keys(self) -> KeyBindings:
        """What keys do."""
        return KeyBindings()

    def over(self) -> StyleAndTextTuples:
        """What is drawn over the line; every row has its end."""
        return []

    def is_awaited(self) -> bool:
        """Whether somebody waits for what is typed."""
        return self.is_asking

    def drawn(self) -> None:
        """What follows every drawing."""

    def end(self) -> None:
        """What follows the end of input."""

    # What it does for one

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Have the line on the screen in here."""
        with create_app_session(), patch_stdout(raw=True):
            app = self.app = self._application(get_app_session().output)
            drawn = asyncio.Event()
            app.after_render += lambda _app: drawn.set()
            ended = asyncio.create_task(self._run(app))
            begun = asyncio.create_task(drawn.wait())
            await asyncio.wait((ended, begun), return_when=asyncio.FIRST_COMPLETED)
            begun.cancel()
            try:
                yield
            finally:
                if not ended.done():
                    app.exit()
                await ended

    @asynccontextmanager
    async def suspended(self) -> AsyncIterator[None]:
        """Leave the terminal to another program in here."""
        self._write()
        async with in_terminal():
            yield

    def say(self, text: str, style: str = "") -> None:
        """Print a text of Co's own."""
        for row in hanging(text, self.console.width):
            self.console.print(Text(row, style=style), soft_wrap=True)

    def echo(self, label: str, text: str, then: str = "  ") -> None:
        """Keep on the screen what stands in the line; a dumb terminal keeps it anyway."""
        if not self.dumb:
            *head, label = label.split("\n")
            for row in [*head, *rows(text, self.console.width, label, then)]:
                self.console.print(Text(row), soft_wrap=True)

    def print_above(self, text: str) -> None:
        """Print above the line with the next drawing, so that a card and its question are one."""
        if self.app is None:
            sys.stdout.write(text)
            sys.stdout.flush()
        elif text:
            self._printed.append(text)
            self.app.invalidate()

    def redraw(self) -> None:
        """Draw all anew, soon."""
        if self.app is not None:
            self.app.invalidate()

    def before_drawing(self, change: Callable[[], None]) -> None:
        """Make a change that has to be seen before it is answered; EOFError without a terminal."""
        if self.app is None:
            raise EOFError
        self._change = change
        self.app.invalidate()

    def type_in(self, *, answer: bool, label: str) -> None:
        """Let keys go into the answer or the draft from now on."""
        self.is_asking, self.label = answer, label
        if self.app is not None:
            if self.app.layout.is_searching:
                stop_search()
            self.app.layout.focus(self.buffer)
            self.app.invalidate()

    @property
    def buffer(self) -> Buffer:
        """Where keys go."""
        return self.answer if self.is_asking else self.draft

    # Drawing

    def _application(self, output: Output) -> Application[None]:
        if isinstance(output, Vt100_Output):
            output.enable_cpr = False  # its reports are keys that nobody typed
        self.output = output
        is_asking = Condition(lambda: self.is_asking)
        has_draft = Condition(lambda: self.toolbar is not None or self.is_awaited())
        over = Window(FormattedTextControl(lambda: self._over), dont_extend_height=True)
        search = SearchToolbar(ignore_case=True)
        draft = BufferControl(self.draft, search_buffer_control=search.control, preview_search=True)
        bar = FormattedTextControl(lambda: self.toolbar and self.toolbar())
        parts = [
            ConditionalContainer(over, Condition(lambda: bool(self._over))),
            ConditionalContainer(self._line(BufferControl(self.answer)), is_asking),
            ConditionalContainer(self._line(draft), ~is_asking & has_draft),
            CompletionsMenu(_MENU),
            ConditionalContainer(search, True),
            ConditionalContainer(
                Window(bar, height=1, style="class:bottom-toolbar"),
                Condition(lambda: self.toolbar is not None),
            ),
        ]
        app = _Application(
            Layout(HSplit(parts, align=VerticalAlign.TOP), draft),
            key_bindings=self.keys(),
            output=DummyOutput() if self.dumb else output,
            erase_when_done=True,
            reverse_vi_search_direction=True,
        )
        app.before_render += lambda _app: self._prepare()
        app.after_render += lambda _app: self._finish()
        return app

    def _line(self, control: BufferControl) -> Window:
        def prefix(row: int, wrapped: int) -> str:
            then = BAR if self.is_asking else "  "
            return then if row or wrapped else self.label.rpartition("\n")[2]

        return Window(control, dont_extend_height=True, wrap_lines=True, get_line_prefix=prefix)

    async def _run(self, app: Application[None]) -> None:
        try:
            with suppress(EOFError):  # nobody is at the terminal any more
                await app.run_async(set_exception_handler=False)
        finally:
            self.app = None
            if self._change is not None:  # to a question that was never drawn
                self._change()
            self.end()

    def _prepare(self) -> None:
        """What was typed so far goes to what was on the screen so far."""
        if self._change is not None:
            self._drain()
            change, self._change = self._change, None
            change()
        self._write()
        self._over = self.over()
        if self._over:  # the end of the last row would be one more row
            style, text, *_ = self._over[-1]
            self._over[-1] = (style, text.removesuffix("\n"))

    def _drain(self) -> None:
        """Take the keys that were pressed and are not read yet."""
        assert self.app is not None
        source, keys = self.app.input, self.app.key_processor
        while not source.closed and select.select([source.fileno()], [], [], 0)[0]:
            keys.feed_multiple(source.read_keys())
        keys.feed_multiple(source.flush_keys())
        keys.process_keys()

    def _write(self) -> None:
        """Print what waits to be printed, in the place of the line."""
        text, end, rest = "".join(self._printed).rpartition("\n")
        self._printed = [rest]
        if end and self.app is not None:
            self.app.renderer.erase()
            if self._shown:  # on a dumb terminal nothing is erased
                text, self._shown = f"\n{text}", ""
            self.output.write_raw(text + end)
            self.output.flush()

    def _finish(self) -> None:
        loop = asyncio.get_running_loop()
        if self.moves and (self._tick is None or self._tick.when() <= loop.time()):
            self._tick = loop.call_later(_TICK, self.redraw)
        if self.dumb:
            self._write_line()
        self.drawn()

    def _write_line(self) -> None:
        """Write the line on, or again where something of it was erased."""
        line = self.label * self.is_awaited() + self.buffer.text
        gap = "\n" if self._shown and not line.startswith(self._shown) else ""
        self.output.write_raw(gap + line.removeprefix("" if gap else self._shown))
        self.output.flush()
        self._shown = line
