"""What the line editor offers while the person types: commands, and what these may be given."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

from prompt_toolkit.completion import Completer, Completion
from prompt_toolkit.document import Document

from co_cli.chat.attachments import offered
from co_cli.chat.slash import COMMANDS
from co_cli.errors import CoError

if TYPE_CHECKING:
    from co_cli.chat.app import Chat


class ChatCompleter(Completer):
    """Slash commands, names where a command takes one, and files after an @."""

    def __init__(self, chat: Chat) -> None:
        self.chat = chat

    def get_completions(self, document: Document, _event: object) -> Iterable[Completion]:
        """What may follow what is typed."""
        text = document.text_before_cursor
        name, gap, typed = text[1:].partition(" ")
        if text.startswith("/") and not gap:
            for known, command in COMMANDS.items():
                word = f"/{known} " if command.takes else f"/{known}"
                if word.startswith(text):
                    yield Completion(word, -len(text), display_meta=command.help)
        elif text.startswith("/") and name in COMMANDS:
            yield from self._names(name, typed)
        elif (word := text.split(" ")[-1].split("\n")[-1]).startswith("@"):
            with suppress(CoError):
                for file, meta in offered(self.chat.deps, word[1:]):
                    yield Completion(f"@{file}", -len(word), display_meta=meta)

    def _names(self, name: str, typed: str) -> Iterable[Completion]:
        before, _, start = typed.rpartition(" ")
        with suppress(CoError):
            names = COMMANDS[name].names
            for word, meta in names(self.chat, before.strip()) if names else ():
                if word.startswith(start):
                    yield Completion(word, -len(start), display_meta=meta)
