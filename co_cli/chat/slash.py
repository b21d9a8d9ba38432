"""Slash commands of the chat: a name, a line of help and what it does, in one table."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from textwrap import indent
from typing import TYPE_CHECKING, Any, NamedTuple

from co_cli.agent.approval import tools_json
from co_cli.errors import CoError, nearest
from co_cli.knowledge import Note, Notebook, Shelf
from co_cli.results import marks, recall_text, replaced_text, span

if TYPE_CHECKING:
    from co_cli.chat.app import Chat

Reply = str | Awaitable[str]


class SlashCommand(NamedTuple):
    """What a line that starts with `/` runs; it returns what to show.

    A command on notes is given the shelf, any other the chat. `takes` names its argument.
    """

    help: str
    run: Callable[[Any, str], Reply]
    takes: str = ""
    on_notes: bool = False


def run(chat: Chat, line: str) -> Reply:
    """Carry out a line such as `/forget 12`; errors come back as words."""
    name, _, argument = line.removeprefix("/").partition(" ")
    command = COMMANDS.get(name.lower())
    if command is None:
        near = nearest(name.lower(), COMMANDS)
        return f"There is no /{name[:40]}. " + (f"Did you mean /{near}?" if near else "Try /help.")
    if argument.strip() and not command.takes:
        return f"/{name.lower()} takes no argument; nothing was done."
    try:
        return command.run(chat.shelf() if command.on_notes else chat, argument.strip())
    except CoError as error:
        return error.sentence()


def _verb(name: str, act: Callable[[Notebook, str], str]) -> Callable[[Shelf, str], str]:
    """A command that acts on one note, named by its reference."""

    def run(shelf: Shelf, argument: str) -> str:
        if not argument.strip():
            return f"Usage: /{name} <id>"
        try:
            return act(*shelf.place(argument))
        except CoError as error:
            return error.sentence()

    return run


def _forget(book: Notebook, ref: str) -> str:
    saved = book.forget(ref, actor="chat")
    back = f"/restore {saved.ref} brings it back"
    return f"Forgot memory {saved.ref}: {saved.note.summary} ({back})"


def _protect(book: Notebook, ref: str) -> str:
    saved = book.protect(ref, actor="chat")
    state = "was already protected" if saved.action == "unchanged" else "is now protected"
    return f"Memory {saved.ref} {state}: {saved.note.summary}"


def _restore(book: Notebook, ref: str) -> str:
    saved = book.restore(ref, actor="chat")
    return f"Memory {saved.ref} is back: {saved.note.summary}"


forget = _verb("forget", _forget)
protect = _verb("protect", _protect)
restore = _verb("restore", _restore)


def _memories(shelf: Shelf, argument: str) -> str:
    told = []
    for book in shelf.books():
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
        rows.append(
            f"{_row(book, hit.note, why)}\n{indent(hit.note.body, '      ', lambda _: True)}"
        )
    return "\n".join(rows)


def _row(book: Notebook, note: Note, why: str = "") -> str:
    """A note in a line: its reference, date, marks and tags, and what it says or why it is here."""
    said = f"({why})" if why else note.summary
    parts = [f"{book.ref(note):>4}", span(note), marks(note, book.today()), said]
    return "  ".join([*filter(None, parts), *([f"[{', '.join(note.tags)}]"] if note.tags else [])])


def _undo(shelf: Shelf, argument: str) -> str:
    words = argument.split()
    numbers = [int(word) for word in words if word.isdecimal() and len(word) < 10]
    if len(numbers) > 1 or not all(word == "-g" or word.isdecimal() for word in words):
        return "Usage: /undo [-g] [number of the change]"
    book = shelf.user if "-g" in words else shelf.project
    entry = book.undo(*numbers, actor="chat")
    return f"Undone: {entry.op} of {', '.join(os.path.basename(f['path']) for f in entry.files)}"


def tools_text() -> str:
    """Each tool, what it does and whether it asks."""
    return "\n".join(
        f"{row['name']:<14} {row['help']}{' (asks first)' if row['asks'] else ''}"
        for row in tools_json()
    )


def _help(_chat: Chat, _argument: str) -> str:
    rows = [
        (f"/{name} {command.takes}".rstrip(), command.help) for name, command in COMMANDS.items()
    ]
    width = max(len(left) for left, _ in rows)
    keys = (
        "Enter sends, Alt+Enter starts a new line, Ctrl+R searches what you typed, Ctrl+D leaves."
    )
    return "\n".join([*(f"{left:<{width}}  {right}" for left, right in rows), "", keys])


COMMANDS = {
    "help": SlashCommand("Show this list", _help),
    "memories": SlashCommand("List your memories", _memories, "[tag]", True),
    "recall": SlashCommand("Search your memories without the model", _recall, "words", True),
    "forget": SlashCommand("Archive a memory", forget, "id", True),
    "protect": SlashCommand("Protect a memory from forget and decay", protect, "id", True),
    "restore": SlashCommand("Bring an archived memory back", restore, "id", True),
    "undo": SlashCommand("Undo the last change here (-g: your notebook)", _undo, "[-g]", True),
    "context": SlashCommand("Show what this session loaded", lambda chat, _: chat.context()),
    "tools": SlashCommand("List the model's tools and which ask", lambda _chat, _: tools_text()),
    "model": SlashCommand("Show or change the model", lambda chat, name: chat.use_model(name),
                          "[provider:name]"),
    "personality": SlashCommand("Show or change how Co speaks",
                                lambda chat, name: chat.use_personality(name), "[name]"),
    "compact": SlashCommand("Summarise the conversation so far", lambda chat, _: chat.compact()),
    "clear": SlashCommand("Start a new conversation", lambda chat, _: chat.clear()),
    "history": SlashCommand("List conversations in this folder", lambda chat, _: chat.history()),
    "quit": SlashCommand("Leave (also Ctrl+D)", lambda chat, _: chat.quit()),
}  # fmt: skip
REFS = frozenset(name for name, command in COMMANDS.items() if command.takes == "id")
