"""What the line editor offers to complete: slash commands, and references where one takes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from co_cli.chat import slash
from co_cli.errors import CoError
from co_cli.knowledge import Shelf
from co_cli.knowledge.safety.escape import escape


class SlashCompleter(Completer):
    """Slash commands, and references where a command takes one."""

    def __init__(self, shelf: Callable[[], Shelf]) -> None:
        self.shelf = shelf

    def get_completions(
        self,
        document: Document,
        complete_event: CompleteEvent,  # noqa: ARG002
    ) -> Iterable[Completion]:
        """What may follow what is typed."""
        text = document.text_before_cursor
        if not text.startswith("/"):
            return
        name, gap, start = text[1:].partition(" ")
        if not gap:
            for known, command in slash.COMMANDS.items():
                if known.startswith(name):
                    word = f"/{known} " if command.takes else f"/{known}"
                    yield Completion(word, -len(text), display_meta=command.help)
        elif name in slash.REFS:
            yield from self._refs(name, start)

    def _refs(self, name: str, start: str) -> Iterator[Completion]:
        try:
            for book in self.shelf().books():
                notes = [n for _, n in book.archived()] if name == "restore" else book.notes()
                for note in notes:
                    ref = book.ref(note)
                    if ref.startswith(start):
                        meta = escape(note.summary, keep="")
                        yield Completion(ref, -len(start), display_meta=meta)
        except CoError:
            return
