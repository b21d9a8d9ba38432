"""Slash commands of the chat: a name, a line of help and what it does, in one table; completion."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from textwrap import indent
from typing import TYPE_CHECKING, Any, NamedTuple

from prompt_toolkit.completion import Completer, Completion
from prompt_toolkit.document import Document

from co_cli.agent.approval import tools_json
from co_cli.chat import transcripts
from co_cli.errors import CoError, nearest
from co_cli.knowledge import Note, Notebook, Saved, Shelf
from co_cli.prompts import texts
from co_cli.results import marks, plural, recall_text, refs, replaced_text, span

if TYPE_CHECKING:
    from co_cli.chat.app import Chat

Reply = str | Awaitable[str]
_KEYS = "Enter sends, Alt+Enter starts a new line, Ctrl+R searches what you typed, Ctrl+D leaves."
_CONNECT = (
    "To connect a model, set GEMINI_API_KEY, ANTHROPIC_API_KEY or OPENAI_API_KEY in your\n"
    "environment and restart Co, or start Ollama and type /model ollama:qwen3.\n"
    'To make the choice permanent, put {"model": "..."} into ~/.config/co-cli/settings.json.'
)


class SlashCommand(NamedTuple):
    """What a line that starts with `/` runs; it returns what to show.

    A command on notes is given the shelf, any other the chat. `takes` names its argument.
    """

    help: str
    run: Callable[[Any, str], Reply]
    takes: str = ""
    on_notes: bool = False


def run(chat: Chat, line: str) -> Reply:
    """Carry out a line such as `/forget 12`."""
    name, _, argument = line.removeprefix("/").partition(" ")
    command = COMMANDS.get(name.lower())
    if command is None:
        near = nearest(name.lower(), COMMANDS)
        return f"There is no /{name[:40]}. " + (f"Did you mean /{near}?" if near else "Try /help.")
    if argument.strip() and not command.takes:
        return f"/{name.lower()} takes no argument; nothing was done."
    return command.run(chat.deps.shelf() if command.on_notes else chat, argument.strip())


# On notes


def _verb(act: Callable[..., Saved], told: str) -> Callable[[Shelf, str], str]:
    """A command that acts on one note, named by its reference, and what to say then."""

    def run(shelf: Shelf, argument: str) -> str:
        if not argument.strip():
            return f"Usage: /{act.__name__} <id>"
        saved = act(*shelf.place(argument), actor="chat")
        state = "was already" if saved.action == "unchanged" else "is now"
        return told.format(ref=saved.ref, text=saved.note.summary, state=state)

    return run


forget = _verb(Notebook.forget, "Forgot memory {ref}: {text} (/restore {ref} brings it back)")
_protect = _verb(Notebook.protect, "Memory {ref} {state} protected: {text}")
_restore = _verb(Notebook.restore, "Memory {ref} is back: {text}")


def _memories(shelf: Shelf, argument: str) -> str:
    told = []
    for book in shelf:
        notes = [note for note in book.notes() if not argument or argument in note.tags]
        if notes:
            where = "This project" if book.scope == "project" else "Everywhere"
            told.append("\n".join([where, *(_row(book, note) for note in notes)]))
    tagged = f" tagged {argument}" if argument else ""
    return "\n\n".join(told) or f"No memories saved yet{tagged}."


def _recall(shelf: Shelf, argument: str) -> str:
    if not argument:
        return "Usage: /recall <words or a question>"
    try:
        found = shelf.recall(argument, 5)
    finally:
        shelf.close()
    if not found:
        return recall_text(argument, found)
    rows = []
    for book, hit in found:
        why = "; ".join(filter(None, [hit.why, replaced_text(book, hit)]))
        rows += [_row(book, hit.note, why), indent(hit.note.body, "      ", lambda _: True)]
    return "\n".join(rows)


def _row(book: Notebook, note: Note, why: str = "") -> str:
    """A note in a line: its reference, date, marks and tags, and what it says or why it is here."""
    parts = [f"{book.ref(note):>4}", span(note), marks(note, book.today())]
    parts += [f"({why})" if why else note.summary]
    parts += [f"[{', '.join(note.tags)}]" if note.tags else ""]
    return "  ".join(filter(None, parts))


def _undo(shelf: Shelf, argument: str) -> str:
    words = argument.split()
    numbers = [int(word) for word in words if word.isdecimal() and len(word) < 10]
    if len(numbers) > 1 or not all(word == "-g" or word.isdecimal() for word in words):
        return "Usage: /undo [-g] [number of the change]"
    book = shelf.user if "-g" in words else shelf.project
    entry = book.undo(*numbers, actor="chat")
    return f"Undone: {entry.op} of {', '.join(os.path.basename(f['path']) for f in entry.files)}"


# On the conversation


def _help(_chat: Chat, _argument: str) -> str:
    rows = [(f"/{name} {one.takes}".rstrip(), one.help) for name, one in COMMANDS.items()]
    width = max(len(left) for left, _ in rows)
    return "\n".join([*(f"{left:<{width}}  {right}" for left, right in rows), "", _KEYS])


def _tools(_chat: Chat, _argument: str) -> str:
    return "\n".join(
        f"{row['name']:<14} {row['help']}{' (asks first)' if row['asks'] else ''}"
        for row in tools_json()
    )


def _context(chat: Chat, _argument: str) -> str:
    lines = [chat.receipt(), *chat.prompt.details()]
    if chat.deps.external:
        lines.append(f"From outside: {', '.join(chat.deps.external)}")
    return "\n".join(lines)


async def _model(chat: Chat, name: str) -> str:
    if not name:
        return f"{chat.choice.explain()}\n{_CONNECT}"
    choice = chat.choose(name)
    warnings = await chat.use(choice, chat.personality)
    return "\n".join([f"Now using {choice}.", *warnings])


async def _personality(chat: Chat, name: str) -> str:
    if not name:
        return "\n".join(
            f"{'*' if one == chat.personality else ' '} {one}  {text}"
            for one, text in texts.personalities().items()
        )
    warnings = await chat.use(chat.choice, name)
    return "\n".join([f"Now using the personality {name}.", *warnings])


async def _compact(chat: Chat, _argument: str) -> str:
    with chat.view as view:
        view.busy("Summarising")
        return await (await chat.session()).compact() or "There is nothing to summarise yet."


async def _clear(chat: Chat, _argument: str) -> str:
    (await chat.session()).clear()
    chat.failed = False
    return "Started a new conversation. Your memories are kept."


def _history(chat: Chat, _argument: str) -> str:
    rows = [
        f"{one.id}  {one.started[:16].replace('T', ' ')}  {plural(one.turns, 'turn')}  "
        f"{''.join(one.said[:1])[:60]}"
        for one in transcripts.recent(chat.deps.folder(), 10)
    ]
    if not rows:
        return "There are no earlier conversations in this folder."
    return "\n".join([*rows, "To continue one: co chat --resume ID"])


def _quit(chat: Chat, _argument: str) -> str:
    chat.done = True
    return ""


COMMANDS = {
    "help": SlashCommand("Show this list", _help),
    "memories": SlashCommand("List your memories", _memories, "[tag]", True),
    "recall": SlashCommand("Search your memories without the model", _recall, "words", True),
    "forget": SlashCommand("Archive a memory", forget, "id", True),
    "protect": SlashCommand("Protect a memory from forget and decay", _protect, "id", True),
    "restore": SlashCommand("Bring an archived memory back", _restore, "id", True),
    "undo": SlashCommand("Undo the last change here (-g: your notebook)", _undo, "[-g]", True),
    "context": SlashCommand("Show what this session loaded", _context),
    "tools": SlashCommand("List the model's tools and which ask", _tools),
    "model": SlashCommand("Show or change the model", _model, "[provider:name]"),
    "personality": SlashCommand("Show or change how Co speaks", _personality, "[name]"),
    "compact": SlashCommand("Summarise the conversation so far", _compact),
    "clear": SlashCommand("Start a new conversation", _clear),
    "history": SlashCommand("List conversations in this folder", _history),
    "quit": SlashCommand("Leave (also Ctrl+D)", _quit),
}  # fmt: skip


class SlashCompleter(Completer):
    """Slash commands, and references where a command takes one."""

    def __init__(self, shelf: Callable[[], Shelf]) -> None:
        self.shelf = shelf

    def get_completions(self, document: Document, _event: object) -> Iterable[Completion]:
        """What may follow what is typed."""
        text = document.text_before_cursor
        name, gap, start = text[1:].partition(" ")
        if text.startswith("/") and not gap:
            for known, command in COMMANDS.items():
                word = f"/{known} " if command.takes else f"/{known}"
                if word.startswith(text):
                    yield Completion(word, -len(text), display_meta=command.help)
        elif text.startswith("/") and name in COMMANDS and COMMANDS[name].takes == "id":
            with suppress(CoError):
                for ref, meta in refs(self.shelf(), start, name):
                    yield Completion(ref, -len(start), display_meta=meta)
