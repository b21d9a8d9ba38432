"""The chat: a line editor, an answer as it comes, and the questions in between.

The line editor is there at once; the agent framework and the provider's library load behind it.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from threading import Thread
from typing import TYPE_CHECKING

from co_cli import prompts
from co_cli.agent.approval import WRITES, Review, Reviewed
from co_cli.chat import notes, pastes, slash, transcripts
from co_cli.chat.approval_prompt import Screen
from co_cli.chat.attachments import attach
from co_cli.chat.completion import ChatCompleter
from co_cli.chat.dialogue import open_dialogue
from co_cli.chat.editor import Editor
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
from co_cli.chat.message_queue import Line
from co_cli.chat.stream import StreamView
from co_cli.chat.transcripts import Transcript
from co_cli.deps import CoDeps
from co_cli.errors import CoError
from co_cli.knowledge.context import Receipt
from co_cli.knowledge.format.note import now
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
        said = transcripts.said_before(self.deps.folder())[::-1]
        self.editor = Editor(said, ChatCompleter(self), self._bar)
        self.view = StreamView(self.editor.console, self.editor.redraw)
        self.editor.live = self.view.live
        self.screen = Screen(self.editor.console, self.editor.question, self.editor.send)
        self.warming: Thread | None = None
        self.reading: Thread | None = None
        self._session: Dialogue | None = None
        self.failed = self.done = False

    async def run(self) -> None:
        """Talk until the person leaves."""
        for number in (signal.SIGHUP, signal.SIGTERM):
            if signal.getsignal(number) is signal.SIG_DFL:  # nohup ignores one
                asyncio.get_running_loop().add_signal_handler(number, self._cut_off, number)
        self._greet()
        async with self.editor.running():
            self._warm()
            await self._talk()
        self.say("Bye.", "dim")

    async def _talk(self) -> None:
        while not self.done:
            try:
                line = await self._line()
            except KeyboardInterrupt:
                self.say("Press Ctrl+D or type /quit to leave.", "dim")
                continue
            except EOFError:
                break
            text = slash.as_command(line.text)
            if text.startswith("/"):
                await self._stoppable(self._command(text))
            elif told := slash.hint(text):
                self.say(told, "dim")
            elif text or self.failed:
                retry = self.failed and text.lower() in ("", "y", "yes")
                await self._stoppable(self._turn(None if retry else line))
        await self._stoppable(self._draft())

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

    async def _line(self) -> Line:
        """What the person says next."""
        self._read_closely()
        if self.unasked:
            self.say("Saving without asking. /ask turns that off.", "dim")
        return await self.editor.line(*["Press Enter to try again > "] * self.failed)

    def _greet(self) -> None:
        offline = self.choice.provider == "offline"
        self.say(self._saved_here() if offline else self.receipt(), "dim")
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

    # Behind the line

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

    async def _turn(self, line: Line | None) -> None:
        self.failed = False
        text, pasted = line or Line("")
        typed = pastes.typed(text, pasted)
        given = attach(self.deps, typed, offline=self.choice.provider == "offline")
        for told in given.told:
            self.say(told, "dim")
        with self.view as view:
            session = await self.session()
            wanted: list[Command | EditNote] = []
            async for event in session.turn(line and text, given.text, pasted):
                self._show(view, event)
                wanted += [event] if isinstance(event, Command | EditNote) else []
        for one in wanted:
            if isinstance(one, EditNote):
                await self._edit_note(one)
            else:
                self.say(f"→ {one.line}", "dim")
                self.say(await slash.run_asking(self, one.line, [*one.notes], one.question))

    async def _edit_note(self, wanted: EditNote) -> None:
        """Let the person edit a note in the input line; Enter saves it as an edit."""
        about = "Edit the note that this is about. Enter saves it, Ctrl+C leaves it as it is."
        self.say(about, "dim")
        text = await self.editor.edit(wanted.note.body, label="edit> ")
        if text is None:
            self.say("Nothing changed.", "dim")
        else:
            self.say(await notes.save_edit(wanted.book, wanted.note, text.strip()))

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
            case Trouble():
                view.pause()
                self._trouble(event.line, event.hint)
                self.failed = not event.overflow

    def _trouble(self, line: str, hint: str) -> None:
        self.say(line, "red")
        if hint:
            self.say(f"  {hint}", "dim")

    async def _asked(self, review: Review) -> Reviewed:
        """The approval screen in the middle of an answer."""
        self.view.pause()
        try:
            return await self.screen(review)
        finally:
            self.view.resume()

    async def _stoppable(self, work: Awaitable[None]) -> None:
        """Let ^C stop this and nothing else, and say what went wrong."""
        task = asyncio.ensure_future(work)
        self.editor.stop = task.cancel
        try:
            await task
        except asyncio.CancelledError:
            self.view.pause()
            self.editor.queue.hold()
            self.say("Stopped.", "dim")
        except CoError as error:
            self._trouble(str(error), slash.in_chat(error.hint))
        finally:
            self.editor.stop = None

    async def _command(self, line: str) -> None:
        answer = slash.run(self, line)
        if told := answer if isinstance(answer, str) else await answer:
            self.say(told)

    def say(self, text: str, style: str = "") -> None:
        """A line of Co's own, or a command's answer."""
        self.editor.say(text, style)

    # What slash commands ask for

    def receipt(self) -> str:
        """What this session starts with, in one line."""
        return f"{self.prompt.line()}; {plural(self._count(), 'memory')}; {self.choice}"

    def _saved_here(self) -> str:
        """The same where no model reads it."""
        files = [self.prompt.line()] if self.prompt.receipt.text or self.prompt.files else []
        count = self._count()
        saved = "; ".join([*files, *([plural(count, "memory")] if count else [])])
        return f"{saved or 'Nothing saved here yet'}. No model connected."

    def _count(self) -> int:
        """The memories that this session may look into."""
        shelf = self.deps.shelf()
        books = shelf if self.deps.usable() else (shelf.user,)
        count = sum(len(book.store.names("memories")) for book in books)
        if not shelf.user.is_large:
            count -= sum(not shelf.user.tells(note) for note in shelf.user.look().notes)
        return count

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
