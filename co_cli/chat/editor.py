"""What a person types in a sitting: messages, which wait for their turn, and answers to questions.

The line is there all the time. What is typed while Co works is the draft of a message; a question
has a line of its own, so nothing typed before it was drawn can answer it.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import NamedTuple

from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import Completer
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition, is_searching
from prompt_toolkit.formatted_text import ANSI, StyleAndTextTuples, to_formatted_text
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.search import accept_search

from co_cli.chat.message_queue import Line, MessageQueue
from co_cli.chat.terminal import Terminal
from co_cli.knowledge.safety.escape import BAR, rows

_LABEL = "> "
_NEXT = "next > "  # before a message that waits
_MOST_WAITING = 4  # rows of them
_ROUND = 9  # rows that are kept for the line and what stands round it
_STILL = 0.2  # seconds without a change after which a window is not being dragged


class Resized(Exception):
    """The screen has another width than when the question came; what was typed until then."""

    def __init__(self, typed: str) -> None:
        super().__init__()
        self.typed = typed


class _Question(NamedTuple):
    columns: int  # of the screen when it was asked
    answer: asyncio.Future[str]


class Editor(Terminal):
    """The line editor of one sitting."""

    def __init__(
        self,
        history: Sequence[str] = (),
        completer: Completer | None = None,
        toolbar: Callable[[], str] | None = None,
    ) -> None:
        self.history = InMemoryHistory(history)
        draft = Buffer(history=self.history, completer=completer, complete_while_typing=True)
        super().__init__(draft, toolbar)
        self.label = _LABEL
        self.queue = MessageQueue()
        self.live: Callable[[int], str] = lambda _rows: ""  # text that is still being written
        self.stop: Callable[[], object] | None = None  # what ^C stops
        self._message: asyncio.Future[None] | None = None  # done when one has come
        self._question: _Question | None = None

    # What a conversation asks for

    async def line(self, label: str = _LABEL) -> Line:
        """The next message; EOFError at the end, KeyboardInterrupt where the draft was given up.

        At another label than the usual one Enter alone is a message.
        """

        def ask() -> None:
            self.label = label
            if (text := self.queue.next_draft(self.draft.text)) != self.draft.text:
                self.draft.reset(Document(text))

        if label != _LABEL:
            self.queue.hold()
        if self.dumb:
            self.console.print()
        waits = not self.queue.is_ready
        if waits:
            self.before_drawing(ask)
        try:
            while not self.queue.is_ready:
                self._message = asyncio.get_running_loop().create_future()
                await self._message
        finally:
            self._message, self._change, self.label = None, None, _LABEL
        line = self.queue.take()
        if self.dumb and not waits:
            self.say(f"> {line.text}")
        self.echo(f"\n{_LABEL}", line.text)
        return line

    async def question(self, label: str, default: str = "") -> str:
        """What is typed from the moment the question is drawn.

        KeyboardInterrupt and EOFError where it is refused; Resized where it has to be asked anew.
        """
        answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        columns = self.console.width

        def ask() -> None:
            self.queue.hold()
            self._question = _Question(columns, answer)
            self.type_in(answer=True, label=label)
            self.answer.reset(Document(default))

        self.before_drawing(ask)
        again = False
        try:
            return await answer
        except Resized:
            again = True
            raise
        finally:
            if not again:
                self.echo(label, self.answer.text, BAR)
            self._question = self._change = None
            self.type_in(answer=False, label=_LABEL)

    async def edit(self, text: str, above: str = "", label: str = _LABEL) -> str | None:
        """A text as the person changes it; None where they would rather not."""
        if above:
            self.say(above)
        while True:
            try:
                return await self.question(label, text)
            except Resized as screen:
                text = screen.typed
            except (KeyboardInterrupt, EOFError):
                return None

    def send(self, text: str) -> None:
        """Let this be a message, such as what was said in the place of an answer."""
        self.history.append_string(text)
        self.queue.replies.append(text)

    # What the person does

    def keys(self) -> KeyBindings:
        """Enter, ^C, Ctrl+D, line breaks and pasted text."""
        keys, empty = KeyBindings(), Condition(lambda: not self.buffer.text)
        # A mouse's bytes, real or pasted, would be taken for a fault.
        keys.add(Keys.Vt100MouseEvent, eager=True)(lambda _event: None)
        keys.add("enter", filter=~is_searching)(lambda _event: self._enter())
        keys.add("c-c", filter=~is_searching)(lambda _event: self._interrupt())
        keys.add("<sigint>")(lambda _event: self._interrupt())
        keys.add("c-d", filter=empty & ~is_searching)(lambda _event: self.end())
        if self.dumb:  # there it is what Enter sends
            keys.add("c-j")(lambda _event: self._enter())

        @keys.add("escape", "enter")
        @keys.add("c-j", filter=not self.dumb)
        def _new_line(event: KeyPressEvent) -> None:
            event.current_buffer.insert_text("\n")

        @keys.add("enter", filter=is_searching)
        def _take(_event: KeyPressEvent) -> None:
            accept_search()
            self.draft.cursor_position = len(self.draft.text)

        @keys.add(Keys.BracketedPaste)
        def _paste(event: KeyPressEvent) -> None:
            event.current_buffer.insert_text(self.queue.paste(event.data))

        return keys

    def _enter(self) -> None:
        if self._question is not None:
            self._finish_question(self.answer.text)
        elif (text := self.draft.text.strip()) or (self.label != _LABEL and self.is_awaited()):
            self._deliver(text)
            self.draft.append_to_history()
            self.draft.reset()

    def _interrupt(self) -> None:
        """^C refuses a question, else stops what is being done, else gives up the draft."""
        if self._question is not None:
            self._finish_question(KeyboardInterrupt())
        elif self._message is not None and not self._message.done():
            self.echo(f"\n{self.label}", self.draft.text)
            self._message.set_exception(KeyboardInterrupt())
            self.draft.reset()
        elif self.stop is not None:
            self.stop()

    def end(self) -> None:
        """Refuse a question; else this is the end, in its turn."""
        if self._question is not None:
            self._finish_question(EOFError())
        else:
            self._deliver(None)

    def _finish_question(self, end: str | BaseException) -> None:
        """What is typed from now on is no part of the answer."""
        question, self._question = self._question, None
        self.type_in(answer=False, label=_LABEL)
        if question is None or question.answer.done():
            return
        if isinstance(end, str):
            question.answer.set_result(end)
        else:
            question.answer.set_exception(end)

    def _deliver(self, text: str | None) -> None:
        self.queue.add(text, behind_held=self._message is None)
        if self._message is not None and not self._message.done():
            self._message.set_result(None)

    # The screen

    def is_awaited(self) -> bool:
        """Whether a message or an answer is asked for."""
        return self.is_asking or (self._message is not None and not self._message.done())

    def over(self) -> StyleAndTextTuples:
        """Text that is being written, the messages that wait, and how a question begins."""
        columns, height = self.console.size
        taken = self._message is not None and self._message.done()
        waiting = [*self.queue.waiting * (not taken), self.draft.text * self.is_asking]
        text = "\n".join(filter(None, waiting))[-1000:]
        shown = rows(text, columns, _NEXT, " " * len(_NEXT))[-_MOST_WAITING:] if text else []
        if shown:  # the label stays where the first rows are left out
            shown[0] = _NEXT + shown[0][len(_NEXT) :]
        live = self.live(max(height - len(shown) - _ROUND, 3))
        self.moves = bool(live)
        over: StyleAndTextTuples = []
        for row in live.splitlines():
            over += [*to_formatted_text(ANSI(row)), ("", "\n")]
        over += [("", "\n")] * (not self.is_asking and self.toolbar is not None)
        over += [("dim", f"{row}\n") for row in shown]
        return over + [("", f"{row}\n") for row in self.label.split("\n")[:-1]]

    def drawn(self) -> None:
        """See whether a question's card has to be shown anew for another width."""
        question, columns = self._question, self.console.width
        if question is not None and question.columns != columns and self.app is not None:
            self._question = question._replace(columns=columns)
            self.app.create_background_task(self._resize(self._question))

    async def _resize(self, question: _Question) -> None:
        """End a question once the screen keeps its width."""
        columns = 0
        while columns != self.console.width:
            columns = self.console.width
            await asyncio.sleep(_STILL)
        if self._question is question:
            self._finish_question(Resized(self.answer.text))
