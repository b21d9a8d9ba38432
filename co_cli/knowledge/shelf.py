"""The notebooks visible from a working folder, the project's first, as one value."""

from __future__ import annotations

import re
from dataclasses import dataclass

from co_cli.errors import NotFound
from co_cli.knowledge.note import Note
from co_cli.knowledge.notebook import Notebook
from co_cli.knowledge.scan import Hit

_USERS = re.compile(r"g(?=\d)")


@dataclass(slots=True)
class Shelf:
    """The project's notebook and the user's; nothing of another project is ever on it."""

    project: Notebook
    user: Notebook

    def books(self) -> tuple[Notebook, Notebook]:
        """Both, the project's first."""
        return self.project, self.user

    def place(self, ref: str) -> tuple[Notebook, str]:
        """The notebook a reference points into, and the reference inside it."""
        text = ref.strip().lstrip("#")
        if text.startswith("a:"):
            raise NotFound(f"there is no article {text[2:]}", hint="Articles are not kept yet.")
        if match := _USERS.match(text):
            return self.user, text[match.end() :]
        return self.project, text

    def find(self, ref: str) -> tuple[Notebook, Note]:
        """The note a person means by `12`, `g12` or a file's name."""
        book, text = self.place(ref)
        return book, book.find(text)

    def recall(self, query: str, limit: int = 10) -> list[tuple[Notebook, Hit]]:
        """What matches in any notebook, best first; of equals the project's comes first."""
        today = self.project.today()
        found = [(book, hit) for book in self.books() for hit in book.recall(query, limit)]
        found.sort(key=lambda pair: (-pair[1].score, pair[1].note.expired(today)))
        return found[: max(limit, 0)]
