"""The input line of a sitting: always on the screen, under whatever Co prints.

What is typed while Co works is a draft, or a message that waits for its turn. A question has a line
of its own, so nothing typed before it was drawn can answer it. Knows nothing of what is asked.
"""

import asyncio
import os
import select
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from io import TextIOBase
from shutil import get_terminal_size
from typing import IO, NamedTuple, cast

from prompt_toolkit.application import (
    Application,
    create_app_session,
    get_app_session,
    in_terminal,
)
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import Completer
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition, is_searching
from prompt_toolkit.formatted_text import ANSI, StyleAndTextTuples, to_formatted_text
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.layout import (
    ConditionalContainer,
    HSplit,
    Layout,
    VerticalAlign,
    Window,
)
from prompt_toolkit.layout.containers import AnyContainer
from prompt_toolkit.layout.controls import BufferControl, FormattedTextControl
from prompt_toolkit.layout.menus import CompletionsMenu
from prompt_toolkit.output import DummyOutput, Output
from prompt_toolkit.output.vt100 import Vt100_Output
from prompt_toolkit.patch_stdout import patch_stdout
from prompt_toolkit.search import accept_search, stop_search
from prompt_toolkit.utils import is_dumb_terminal
from prompt_toolkit.widgets import SearchToolbar
from rich.console import Console, ConsoleDimensions
from rich.text import Text

from co_cli.chat.message_queue import Line, MessageQueue
from co_cli.knowledge.safety.escape import BAR, hanging, rows

_LABEL = "> "
_NEXT = "next > "  # before a message that waits
_MOST_WAITING = 4  # rows of them
_MENU = 6  # rows of completions
_TICK = 0.1  # seconds between two drawings while something moves
_STILL = 0.2  # seconds without a change after which a window is not being dragged


class Resized(Exception):
    """The screen has another width than when the question came; what was typed until then."""

    def __init__(self, typed: str) -> None:
        super().__init__()
        self.typed = typed


class _Question(NamedTuple):
    label: str
    columns: int  # of the screen when it was asked
    answer: asyncio.Future[str]


class _Above(TextIOBase):
    """A terminal whose lines are printed above the input line."""

    def __init__(self, editor: "Editor") -> None:
        self.editor = editor

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self.editor.print_above(text)
        return len(text)


class _Application(Application[None]):
    """Takes back the rows that a narrower terminal made of longer ones, however it learns of it."""

    def _on_resize(self) -> None:
        self._redraw()

    def _redraw(self, render_as_done: bool = False) -> None:
        renderer, columns = self.renderer, self.output.get_size().columns
        screen, size = renderer.last_rendered_screen, renderer._last_size
        if screen and size and size.columns != columns:
            at = renderer._cursor_pos
            drawn = (screen.data_buffer[y] for y in range(at.y))
            ends = [max((x for x in row if row[x].char.strip()), default=0) for row in drawn]
            self.output.cursor_up(sum(end // columns for end in [*ends, at.x]))
            renderer.erase()
        super()._redraw(render_as_done)


class Editor:
    """The line editor of one sitting, and the console that prints above it."""

    def __init__(
        self,
        history: Sequence[str] = (),
        completer: Completer | None = None,
        toolbar: Callable[[], str] | None = None,
    ) -> None:
        self.history = InMemoryHistory(history)
        self.draft = Buffer(history=self.history, completer=completer, complete_while_typing=True)
        self.answer = Buffer()
        self.toolbar = toolbar  # without one, a message is not asked for
        self.live: Callable[[int], str] = lambda _rows: ""  # text that is still being written
        self.stop: Callable[[], object] | None = None  # what ^C stops
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
        self.queue = MessageQueue()
        self._waiter: asyncio.Future[None] | None = None
        self._question: _Question | None = None
        self._change: Callable[[], None] | None = None  # made just before the next drawing
        self._label = _LABEL
        self._printed: list[str] = []
        self._over: StyleAndTextTuples = []  # what is drawn over the line
        self._shown = ""  # of the line, on a dumb terminal
        self._moves = False  # something over it
        self._tick: asyncio.TimerHandle | None = None

    # What a conversation asks for

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

    async def line(self, label: str = _LABEL) -> Line:
        """The next message; EOFError at the end, KeyboardInterrupt where it was given up.

        At another label than the usual one Enter alone is an answer.
        """

        def ask() -> None:
            if (text := self.queue.next_draft(self.draft.text)) != self.draft.text:
                self.draft.reset(Document(text))
            self._label = label

        if label != _LABEL:
            self.queue.hold()
        if self.dumb:
            self.console.print()
        waits = not self.queue.is_ready
        if waits:
            self._before_drawing(ask)
        try:
            while not self.queue.is_ready:
                self._waiter = asyncio.get_running_loop().create_future()
                await self._waiter
        finally:
            self._waiter, self._change, self._label = None, None, _LABEL
        line = self.queue.take()
        if not (waits and self.dumb):
            self._echo("\n> ", line.text)
        return line

    async def question(self, label: str, default: str = "") -> str:
        """What is typed from the moment the question is drawn.

        KeyboardInterrupt and EOFError where it is refused; Resized where it has to be asked anew.
        """
        answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        columns = self.console.width

        def ask() -> None:
            self.queue.hold()
            self._question = _Question(label, columns, answer)
            self.answer.reset(Document(default))
            self._focus(self.answer)

        self._before_drawing(ask)
        try:
            text = await answer
        except Resized:  # nothing stays of what will be shown again
            label = ""
            raise
        else:
            return text
        finally:
            if label and not self.dumb:
                self._echo(label, self.answer.text, BAR)
            self._question = self._change = None
            self._focus(self.draft)

    async def edit(self, text: str, above: str = "", label: str = _LABEL) -> str | None:
        """A text as the person changes it; None where they would rather not."""
        self.say(above)
        while True:
            try:
                return await self.question(label, text)
            except Resized as screen:
                text = screen.typed
            except (KeyboardInterrupt, EOFError):
                return None

    def say(self, text: str, style: str = "") -> None:
        """Print a text of Co's own."""
        for row in hanging(text, self.console.width) if text else ():
            self.console.print(Text(row, style=style), soft_wrap=True)

    def send(self, text: str) -> None:
        """Let this be a message, such as what was said in the place of an answer."""
        self.history.append_string(text)
        self.queue.replies.append(text)

    @asynccontextmanager
    async def suspended(self) -> AsyncIterator[None]:
        """Leave the terminal to another program in here."""
        self._write()
        async with in_terminal():
            yield

    def print_above(self, text: str) -> None:
        """Print above the line with the next drawing, so that a card and its question are one."""
        if self.app is None:
            sys.stdout.write(text)
            sys.stdout.flush()
        elif text:
            self._printed.append(text)
            self.app.invalidate()

    def redraw(self) -> None:
        """Draw the line anew, soon."""
        if self.app is not None:
            self.app.invalidate()

    # What the person does

    def _enter(self) -> None:
        if self._question is not None:
            self._finish(self._question, self.answer.text)
            return
        text = self.draft.text.strip()
        if text or (self._label != _LABEL and self._waiter is not None):
            self._deliver(text)
            self.draft.append_to_history()
            self.draft.reset()

    def _interrupt(self) -> None:
        """^C refuses a question, else stops what is being done, else gives up the draft."""
        if self._question is not None:
            self._finish(self._question, KeyboardInterrupt())
        elif self._waiter is None or self._waiter.done():
            if self.stop is not None:
                self.stop()
        else:
            if not self.dumb:
                self._echo(f"\n{self._label}", self.draft.text)
            self.draft.reset()
            self._waiter.set_exception(KeyboardInterrupt())

    def _end(self) -> None:
        if self._question is not None:
            self._finish(self._question, EOFError())
        else:
            self._deliver(None)

    def _finish(self, question: _Question, end: str | BaseException) -> None:
        """End a question; what is typed from now on is no part of its answer."""
        self._question = None
        self._focus(self.draft)
        if question.answer.done():
            return
        if isinstance(end, str):
            question.answer.set_result(end)
        else:
            question.answer.set_exception(end)

    def _deliver(self, text: str | None) -> None:
        held = self.queue.held if self._waiter is None else ()
        if not held:
            self.queue.sent.append(text)
        elif text:  # after what waits for another Enter
            self.queue.held.append(text)
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _keys(self) -> KeyBindings:
        keys, empty = KeyBindings(), Condition(lambda: not self._buffer().text)
        # A mouse's bytes, real or pasted, would be taken for a fault.
        keys.add(Keys.Vt100MouseEvent, eager=True)(lambda _event: None)
        keys.add("enter", filter=~is_searching)(lambda _event: self._enter())
        keys.add("c-c", filter=~is_searching)(lambda _event: self._interrupt())
        keys.add("<sigint>")(lambda _event: self._interrupt())
        keys.add("c-d", filter=empty & ~is_searching)(lambda _event: self._end())

        @keys.add("escape", "enter")
        @keys.add("c-j")
        def _new_line(event: KeyPressEvent) -> None:
            if self.dumb and event.key_sequence[-1].key == Keys.ControlJ:  # what Enter sends there
                self._enter()
            else:
                event.current_buffer.insert_text("\n")

        @keys.add("enter", filter=is_searching)
        def _take(_event: KeyPressEvent) -> None:
            accept_search()
            self.draft.cursor_position = len(self.draft.text)

        @keys.add(Keys.BracketedPaste)
        def _insert(event: KeyPressEvent) -> None:
            event.current_buffer.insert_text(self.queue.paste(event.data))

        return keys

    # The screen

    def _application(self, output: Output) -> Application[None]:
        if isinstance(output, Vt100_Output):
            output.enable_cpr = False  # its reports are keys that nobody typed
        self.output = output
        is_asking = Condition(lambda: self._question is not None)
        is_open = Condition(lambda: bool(self.toolbar or self._waiter))
        search = SearchToolbar(ignore_case=True)
        draft = BufferControl(self.draft, search_buffer_control=search.control, preview_search=True)
        over = FormattedTextControl(lambda: self._over)
        bar = FormattedTextControl(lambda: self.toolbar and self.toolbar())
        parts: list[AnyContainer] = [
            ConditionalContainer(
                Window(over, dont_extend_height=True), Condition(lambda: bool(self._over))
            ),
            ConditionalContainer(self._window(BufferControl(self.answer)), is_asking),
            ConditionalContainer(self._window(draft), ~is_asking & is_open),
            CompletionsMenu(_MENU),
            search,
            ConditionalContainer(
                Window(bar, height=1, style="class:bottom-toolbar"),
                Condition(lambda: self.toolbar is not None),
            ),
        ]
        app = _Application(
            Layout(HSplit(parts, align=VerticalAlign.TOP), draft),
            key_bindings=self._keys(),
            output=DummyOutput() if self.dumb else output,
            erase_when_done=True,
            reverse_vi_search_direction=True,
        )
        app.before_render += lambda _app: self._prepare()
        app.after_render += self._drawn
        return app

    def _window(self, control: BufferControl) -> Window:
        return Window(
            control, dont_extend_height=True, wrap_lines=True, get_line_prefix=self._prefix
        )

    def _prefix(self, row: int, wrapped: int) -> str:
        """What stands before a row of the line."""
        if self._question is None:
            return self._label if row == wrapped == 0 else "  "
        return self._question.label.rpartition("\n")[2] if row == wrapped == 0 else BAR

    async def _run(self, app: Application[None]) -> None:
        try:
            with suppress(EOFError):  # nobody is at the terminal any more
                await app.run_async(set_exception_handler=False)
        finally:
            self.app = None
            if self._change is not None:  # a question that was never drawn
                self._change()
            self._end()

    def _buffer(self) -> Buffer:
        return self.draft if self._question is None else self.answer

    def _focus(self, buffer: Buffer) -> None:
        if self.app is not None:
            if self.app.layout.is_searching:
                stop_search()
            self.app.layout.focus(buffer)
            self.app.invalidate()

    def _before_drawing(self, change: Callable[[], None]) -> None:
        """Make a change that the person has to see before they answer."""
        if self.app is None:
            raise EOFError
        self._change = change
        self.app.invalidate()

    def _prepare(self) -> None:
        """What was typed so far goes to what was on the screen so far."""
        if self._change is not None:
            self._drain()
            change, self._change = self._change, None
            change()
        self._write()
        self._over = self._drawn_over()

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

    def _drawn(self, app: Application[None]) -> None:
        question, columns, loop = self._question, self.console.width, asyncio.get_running_loop()
        if self.dumb:
            self._write_line()
        if self._moves and (self._tick is None or self._tick.when() <= loop.time()):
            self._tick = loop.call_later(_TICK, self.redraw)
        if question is not None and question.columns != columns:
            self._question = question._replace(columns=columns)
            app.create_background_task(self._resize(self._question))

    async def _resize(self, question: _Question) -> None:
        """End a question once the screen keeps its width, so that its card can be shown anew."""
        columns = 0
        while columns != self.console.width:
            columns = self.console.width
            await asyncio.sleep(_STILL)
        if self._question is question:
            self._finish(question, Resized(self.answer.text))

    def _write_line(self) -> None:
        """Write the line on, or again where something of it was erased."""
        awaited = self._waiter is not None and not self._waiter.done()
        label = self._question.label if self._question else self._label * awaited
        line = label + self._buffer().text
        gap = "\n" if self._shown and not line.startswith(self._shown) else ""
        self.output.write_raw(gap + line.removeprefix("" if gap else self._shown))
        self.output.flush()
        self._shown = line

    def _drawn_over(self) -> StyleAndTextTuples:
        """What is being written, the messages that wait, and how a question begins."""
        columns, height = self.console.size
        waiting = [*self.queue.waiting, self.draft.text if self._question else ""]
        text = "\n".join(filter(None, waiting))[-1000:]
        shown = rows(text, columns, _NEXT, " " * len(_NEXT))[-_MOST_WAITING:] if text else []
        live = self.live(max(height - len(shown) - _MENU - 3, 3))
        self._moves = bool(live)
        over: StyleAndTextTuples = []
        for row in live.splitlines():
            over += [*to_formatted_text(ANSI(row)), ("", "\n")]
        if self._question is None and self.toolbar is not None:
            over.append(("", "\n"))
        over += [("dim", f"{row}\n") for row in shown]
        if self._question is not None and "\n" in self._question.label:
            over.append(("", self._question.label.rpartition("\n")[0] + "\n"))
        if over:  # the last row's end would be one more row
            style, text, *_ = over[-1]
            over[-1] = (style, text.removesuffix("\n"))
        return over

    def _echo(self, label: str, text: str, then: str = "  ") -> None:
        """Keep on the screen what stood in the line."""
        head, gap, label = label.rpartition("\n")
        shown = head.split("\n") if gap else []
        for row in [*shown, *rows(text, self.console.width, label, then)]:
            self.console.print(Text(row), soft_wrap=True)
