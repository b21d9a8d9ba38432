"""Slash commands of the chat: a name, a line of help and what it does, in one table."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from co_cli.errors import CoError
from co_cli.knowledge import Notebook, Shelf


class SlashCommand(NamedTuple):
    """What a line that starts with `/` runs; it returns what to show."""

    help: str
    run: Callable[[Shelf[Notebook], str], str]


def forget(shelf: Shelf[Notebook], argument: str) -> str:
    """Archive the memory with exactly this number."""
    if not argument.strip():
        return "Usage: /forget <id>"
    try:
        book, ref = shelf.place(argument)
        saved = book.forget(ref, actor="chat")
    except CoError as error:
        return f"{error}. {error.hint}".rstrip()
    back = f"co knowledge restore {saved.ref} brings it back"
    return f"Forgot memory {saved.ref}: {saved.note.summary} ({back})"


COMMANDS = {"forget": SlashCommand("Archive a memory: /forget 12", forget)}
