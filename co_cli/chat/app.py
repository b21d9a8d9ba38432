"""The chat: a line editor, an answer as it comes, and the questions in between.

The line editor is there at once; the agent framework and the provider's library load behind it.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from shutil import get_terminal_size
from threading import Thread
from typing import TYPE_CHECKING

from prompt_toolkit import PromptSession
from prompt_toolkit.application import create_app_session
from prompt_toolkit.filters import is_searching
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.key_binding import KeyPressEvent
from prompt_toolkit.search import accept_search
from prompt_toolkit.utils import is_dumb_terminal
from rich.console import Console, ConsoleDimensions
from rich.text import Text

from co_cli import prompts
from co_cli.agent.approval import WRITES, Review, Reviewed
from co_cli.chat import notes, pastes, slash, transcripts, typeahead
from co_cli.chat.approval_prompt import Screen
from co_cli.chat.attachments import attach
from co_cli.chat.completion import ChatCompleter
from co_cli.chat.dialogue import open_dialogue
from co_cli.chat.events import (
    Command,
    EditNote,
    Notice,
    Offer,
    PlainText,
    TextDelta,
    ToolFinished,
    ToolStarted,
    TurnEvent,
)
from co_cli.chat.inbox import waiting_drafts
from co_cli.chat.line_input import TerminalInput, early, plain_keys, plain_output, set_aside
from co_cli.chat.stream import StreamView
from co_cli.chat.transcripts import Transcript
from co_cli.deps import CoDeps
from co_cli.errors import CoError
from co_cli.knowledge.context import Receipt
from co_cli.knowledge.format.note import now
from co_cli.knowledge.safety.escape import hanging, rows
from co_cli.knowledge.store import disk
from co_cli.offline.chat import HELP
from co_cli.providers.registry import Choice
from co_cli.providers.trouble import Trouble
from co_cli.results import plural, waiting_text
from co_cli.workspace import read_closely

if TYPE_CHECKING:
    from co_cli.chat.dialogue import Dialogue

_DOING = {
    "save_memory": "Remembering",
    "recall_memory": "Recalling",
    "list_memories": "Looking through your memories",
    "forget_memory": "Forgetting",
    "web_fetch": "Reading the page",
    "save_knowledge": "Keeping the article",
}


class Chat:
    """One sitting at the terminal."""

    def __init__(
        self,
        deps: CoDeps,
        choice: Choice,
        choose: Callable[[str], Choice],
        prompt: Callable[[Choice, str, Receipt | None], prompts.SystemPrompt],
        personality: str,
        resumed: transcripts.Conversation | None = None,
    ) -> None:
        self.deps, self.choice, self.choose = deps, choice, choose
        self.build, self.personality = prompt, personality
        self.prompt = prompt(choice, personality, None)
        self.resumed = resumed
        self.incognito = bool(disk.only_reads)
        kept = Transcript(deps.folder(), now, resumed.path if resumed else "")
        self.transcript = None if self.incognito else kept
        self.auto = not self.incognito and deps.here().own.auto_learn == "on"
        self.console = Console(highlight=False, no_color=bool(os.environ.get("NO_COLOR")))
        if is_dumb_terminal():  # which rich takes for one of 80 columns
            self.console.size = ConsoleDimensions(*get_terminal_size())
        self.view = StreamView(self.console, self._listen)
        self.screen = Screen(self.console, TerminalInput())
        self.warming: Thread | None = None
        self.reading: Thread | None = None
        self._session: Dialogue | None = None
        self.editing: EditNote | None = None  # what the next line is the new text of
        self.failed = self.done = False

    async def run(self) -> None:
        """Talk until the person leaves."""
        dumb = is_dumb_terminal()
        for number in (signal.SIGHUP, signal.SIGTERM):
            if signal.getsignal(number) is signal.SIG_DFL:  # nohup ignores one
                asyncio.get_running_loop().add_signal_handler(number, self._cut_off, number)
        with create_app_session(output=plain_output()) if dumb else nullcontext():
            await self._talk()

    async def _talk(self) -> None:
        self._greet()
        editor = self._editor()
        while not self.done:
            try:
                line = await self._line(editor)
            except KeyboardInterrupt:
                if self.editing is not None:
                    self.editing = None
                    self.say("Nothing changed.", "dim")
                    continue
                self.say("Press Ctrl+D or type /quit to leave.", "dim")
                continue
            except EOFError:
                break
            if self.editing is not None:
                await self._stoppable(self._save_edit(line))
                continue
            line = slash.as_command(line)
            typeahead.keep(early(editor).encode())
            if line.startswith("/"):
                await self._stoppable(self._command(line))
            elif told := slash.hint(line):
                self.say(told, "dim")
            elif line or self.failed:
                retry = self.failed and line.lower() in ("", "y", "yes")
                await self._stoppable(self._turn(None if retry else line))
        await self._stoppable(self._draft())
        self.say("Bye.", "dim")

    async def _draft(self) -> None:
        """Before the person leaves: draft what they said, if they want that, and offer a review."""
        session = self._session
        if session is None or not session.auto:
            return
        with self.view as view:
            view.busy("Drafting")
            told = await session.draft()
        self.say(told, "dim")
        if session.drafted:
            question = f"Review {plural(len(waiting_drafts(self.deps)), 'draft')} now? [y/n]"
            if (await notes.asked(self, question)).strip().lower() in ("y", "yes"):
                await self._command("/inbox")

    def _cut_off(self, number: int) -> None:
        """The window was closed, or the machine goes down: draft what was said, and end by that."""
        try:
            if self._session is not None:
                self._session.draft_at_once()
        finally:
            asyncio.get_running_loop().remove_signal_handler(number)
            os.kill(os.getpid(), number)

    async def _line(self, editor: PromptSession[str]) -> str:
        """What the person says next; it begins with what they typed before this.

        What they sent while Co answered is sent now, message by message.
        """
        self.console.print()
        if self.failed:
            set_aside(editor)  # an Enter means yes here, and must mean it
        typed, sent = typeahead.take()
        if sent and typed.strip():
            for row in rows(typed, self.console.width, "> ", "  "):
                self.console.print(Text(row), soft_wrap=True)
            editor.history.append_string(typed)
            return typed.strip()
        self._read_closely()
        if self.unasked:
            self.say("Saves are not asked about; /ask turns that off.", "dim")
        if self.editing is not None:  # which the person sees whole, and may change
            return (await editor.prompt_async("edit> ", default=self.editing.note.body)).strip()
        again = "Press Enter to try again > " if self.failed else "> "
        return (await editor.prompt_async(again, default=typed)).strip()

    def _greet(self) -> None:
        offline = self.choice.provider == "offline"
        self.say(self.receipt(), "dim")
        if self.incognito:
            self.say("Incognito: I read what you saved, and nothing of this is kept.", "yellow")
        for line in self.prompt.warnings:
            self.say(line, "yellow")
        if self.auto:
            self.say("Auto-learn is on: when you leave, Co drafts notes from what you said, for "
                     "you to review. To stop: co learn --auto=false", "dim")  # fmt: skip
        if not self.incognito and (drafts := len(waiting_drafts(self.deps))):
            self.say(waiting_text(drafts), "dim")
        if self.choice.others:
            self.say(self.choice.explain(), "dim")
        if offline:
            self.say(HELP, "dim")
        if self.resumed:
            last = transcripts.in_a_line("".join(self.resumed.said[-1:]), 100)
            self.say(f"Continuing after: {last}", "dim")
        elif not self.incognito and not any(
            book.store.names("memories") for book in self.deps.shelf()
        ):
            self.say("For example: We deploy on Tuesdays", "dim")

    # The line editor

    def _editor(self) -> PromptSession[str]:
        keys = plain_keys()

        @keys.add("enter", filter=~is_searching)
        @keys.add("c-j", filter=is_dumb_terminal())
        def _send(event: KeyPressEvent) -> None:
            event.current_buffer.validate_and_handle()

        @keys.add("enter", filter=is_searching)
        def _take(event: KeyPressEvent) -> None:
            accept_search()
            found = event.app.current_buffer
            found.cursor_position = len(found.text)

        @keys.add("escape", "enter")
        @keys.add("c-j", filter=not is_dumb_terminal())  # there it is what Enter sends
        def _new_line(event: KeyPressEvent) -> None:
            event.current_buffer.insert_text("\n")

        kept = InMemoryHistory(transcripts.said_before(self.deps.folder())[::-1])
        editor: PromptSession[str] = PromptSession(
            history=kept, completer=ChatCompleter(self), key_bindings=keys,
            multiline=True, complete_while_typing=True, reserve_space_for_menu=6,
            search_ignore_case=True,
            prompt_continuation="  ", bottom_toolbar=self._bar,
        )  # fmt: skip
        editor.app.after_render += lambda _app: self._warm()
        return editor

    def _bar(self) -> str:
        how = "incognito · " if self.incognito else "auto-learn · " if self.auto else ""
        return f" {how}{self.choice} · /help"

    def _warm(self) -> None:
        """Load what a turn needs while the person types; nobody who leaves waits for it."""

        def load() -> None:
            with suppress(Exception):  # told when it is needed; this only saves time
                if self.choice.provider == "offline":
                    from co_cli.offline.reading import read

                    read("hello")
                else:
                    from co_cli.providers.models import build

                    build(self.choice, os.environ)

        if self.warming is None:
            self.warming = _in_background(load)

    def _read_closely(self) -> None:
        """While the person thinks, read for their meaning the notes that were only skimmed."""

        def read() -> None:
            if self.warming is not None:
                self.warming.join()
            with suppress(Exception):  # the next prompt, or `reindex`, tries again
                read_closely(self.deps.shelf())

        if not self.incognito and (self.reading is None or not self.reading.is_alive()):
            self.reading = _in_background(read)

    async def session(self) -> Dialogue:
        """The conversation, as soon as it is loaded; CoError when the model cannot be had."""
        if self._session is None:
            self._warm()
            self._session = await asyncio.to_thread(self._new_session)
        return self._session

    def _new_session(self) -> Dialogue:
        if self.warming is not None:
            self.warming.join()
        session = open_dialogue(
            self.deps, self.choice, self.prompt, self.transcript, self._asked, auto=self.auto
        )
        if self.resumed:
            session.resume(self.resumed)
        return session

    # Turns

    async def _turn(self, line: str | None) -> None:
        self.failed = False
        pasted = pastes.found(line or "")
        typed = pastes.typed(line or "", pasted)
        given = attach(self.deps, typed, offline=self.choice.provider == "offline")
        for told in given.told:
            self.say(told, "dim")
        with self.view as view:
            session, wanted = await self.session(), list[Command]()
            async for event in session.turn(line, given.text, pasted):
                self._show(view, event)
                wanted += [event] if isinstance(event, Command) else []
        for one in wanted:
            self.say(f"→ {one.line}", "dim")
            self.say(await slash.run_asking(self, one.line, [*one.notes], one.question))

    async def _save_edit(self, line: str) -> None:
        editing, self.editing = self.editing, None
        if editing is not None:
            self.say(await notes.save_edit(editing.book, editing.note, line))

    def _show(self, view: StreamView, event: TurnEvent) -> None:
        match event:
            case TextDelta():
                view.words(event.text)
            case PlainText():
                self.say(event.text)
            case ToolStarted():
                view.busy(_DOING.get(event.tool, f"Using {event.tool}"))
            case ToolFinished():
                if event.text and event.tool in WRITES:
                    done, *more = event.text.split("\n")
                    more = [line for line in map(slash.in_chat, more) if "co knowledge" not in line]
                    view.note("\n".join([done, *more]))
                view.busy("Thinking")
            case Notice():
                view.note(event.text)
            case Offer():
                view.note(f"Press y to keep it in {event.place}.")
            case EditNote():
                view.note(
                    f"You said: {event.above}\nEnter saves the note as edited, Ctrl+C leaves it."
                )
                self.editing = event
            case Trouble():
                view.pause()
                self._trouble(event.line, event.hint)
                self.failed = not event.overflow

    def _trouble(self, line: str, hint: str) -> None:
        self.say(line, "red")
        if hint:
            self.say(f"  {hint}", "dim")

    def _listen(self) -> AbstractContextManager[None]:
        return typeahead.listening(asyncio.get_running_loop(), echo=is_dumb_terminal())

    async def _asked(self, review: Review) -> Reviewed:
        """The approval screen in the middle of an answer."""
        self.view.pause()
        try:
            return await self.screen(review)
        finally:
            self.view.resume()

    async def _stoppable(self, work: Awaitable[None]) -> None:
        """Let ^C stop this and nothing else, and say what went wrong."""
        task, loop = asyncio.ensure_future(work), asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, task.cancel)
        try:
            await task
        except asyncio.CancelledError:
            self.view.pause()
            typeahead.hold()
            self.say("Stopped.", "dim")
        except CoError as error:
            self._trouble(str(error), slash.in_chat(error.hint))
        finally:
            loop.remove_signal_handler(signal.SIGINT)

    async def _command(self, line: str) -> None:
        answer = slash.run(self, line)
        if told := answer if isinstance(answer, str) else await answer:
            self.say(told)

    def say(self, text: str, style: str = "") -> None:
        """A line of Co's own, or a command's answer."""
        for row in hanging(text, self.console.width):
            self.console.print(Text(row, style=style), soft_wrap=True)

    # What slash commands ask for

    def receipt(self) -> str:
        """What this session starts with, in one line."""
        shelf = self.deps.shelf()
        books = shelf if self.deps.usable() else (shelf.user,)
        count = sum(len(book.store.names("memories")) for book in books)
        if not shelf.user.is_large:
            count -= sum(not shelf.user.tells(note) for note in shelf.user.look().notes)
        return f"{self.prompt.line()}; {plural(count, 'memory')}; {self.choice}"

    @property
    def unasked(self) -> bool:
        """Whether Co saves without asking, which outside text ends."""
        return bool(self._session and self._session.approvals.always and not self.deps.external)

    def ask_again(self) -> bool:
        """Ask about every save from now on; whether that is new."""
        was = self.unasked
        if self._session is not None:
            self._session.approvals.always.clear()
        return was

    def _go_on_with(self, choice: Choice, prompt: prompts.SystemPrompt) -> None:
        """The same conversation with another model, or with none."""
        before = self._session
        if before is None or (before.choice.provider, choice.provider).count("offline") in (0, 2):
            if before is not None:
                before.use(choice, prompt)
            return
        after = open_dialogue(
            self.deps, choice, prompt, self.transcript, self._asked, auto=self.auto
        )
        after.take_over(before)
        self._session = after

    async def use(self, choice: Choice, personality: str) -> Sequence[str]:
        """Go on with this model and this personality; what to warn of."""
        prompt = self.build(choice, personality, self.prompt.receipt)
        if self._session is not None:
            await asyncio.to_thread(self._go_on_with, choice, prompt)
        self.choice, self.prompt, self.personality = choice, prompt, personality
        return prompt.warnings


def _in_background(work: Callable[[], None]) -> Thread:
    thread = Thread(target=work, daemon=True)
    thread.start()
    return thread
