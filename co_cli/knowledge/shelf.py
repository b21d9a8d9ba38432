"""The notebooks visible from a working folder, the project's first, as one value."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from co_cli.knowledge.format.note import Note
from co_cli.knowledge.notebook import Notebook
from co_cli.knowledge.replacement import in_time, newest_first
from co_cli.knowledge.search.hits import Filters, Hit, Recall

if TYPE_CHECKING:  # few have added a folder
    from co_cli.knowledge.folder import FolderBook

_EVERY = Filters()
_FURTHEST = 1000  # answers that are looked through for some that may be told


class Shelf(Iterable[Notebook]):
    """The project's notebook and the user's; nothing of another project is ever on it.

    `folders` are searched beside them, and only read: going through a shelf passes them by.
    """

    def __init__(
        self, project: Notebook, user: Notebook, folders: Sequence[FolderBook] = (),
        languages: frozenset[str] | None = None,
    ) -> None:  # fmt: skip
        self.project, self.user, self.folders = project, user, folders
        user.languages = languages

    @property
    def languages(self) -> frozenset[str]:
        """Those that the project uses: the person's notes for others are not told."""
        return self.user.languages or frozenset()

    def __iter__(self) -> Iterator[Notebook]:
        return iter((self.project, self.user))

    def other(self, book: Notebook) -> Notebook:
        """The notebook beside this one."""
        return self.project if book is self.user else self.user

    def close(self) -> None:
        """Let go of every index."""
        for book in chain(self, self.folders):
            book.close()

    def place(self, ref: str, *, in_user: bool = False) -> tuple[Notebook, str]:
        """The notebook a reference points into, and the reference inside it."""
        text = ref.strip().lstrip("#")
        for book in self.folders:
            if text.startswith(f"a:{book.name}/"):
                return book, f"a:{text.partition('/')[2]}"
        name = re.sub(r"^g(?=\d|[aim]:)", "", text)
        in_user |= name != text
        name = name.partition("#")[0] if name.startswith("a:") else name  # a place in an article
        return (self.user if in_user else self.project), name

    def holding(self, note: Note) -> Notebook:
        """The notebook that a note is in."""
        folder = os.path.dirname(os.path.dirname(note.path))
        if folder in (self.user.root, self.project.root):
            return self.user if folder == self.user.root else self.project
        around = (b for b in self.folders if note.path.startswith(os.path.join(b.root, "")))
        return next(around, self.project)

    def recall(
        self,
        query: str,
        limit: int = 10,
        filters: Filters = _EVERY,
        *,
        scope: str = "",
        own: bool = False,
    ) -> Recall[tuple[Notebook, Hit]]:
        """What answers in any notebook, best first; of equals the project's comes first.

        A text that stands in both is told once. Folders take no more than half the places from
        what notebooks know well. With `own`, nothing that came from elsewhere and that nobody here
        agreed to is told, or takes another's place.
        """
        found: list[tuple[Notebook, Hit]] = []
        recalls: list[Recall[Hit]] = []
        for book in chain(self, self.folders):
            if scope in ("", book.scope):
                ask = partial(book.recall, query, filters=filters)
                recalled = ask(limit)
                hits = newest_first(_own(book, ask, recalled, limit)) if own else recalled
                found += [(book, hit) for hit in hits]
                recalls.append(recalled)
        today = self.project.today()
        found.sort(key=lambda pair: (-pair[1].score, pair[1].note.expired(today)))
        told: dict[str, tuple[Notebook, Hit]] = {}
        for book, hit in found:
            told.setdefault(" ".join(hit.text.casefold().split()), (book, hit))
        return Recall(
            in_time(self._best(list(told.values()), max(limit, 0)), lambda pair: pair[1]),
            searched=sum(one.searched for one in recalls),
            articles=sum(one.articles for one in recalls),
            matched=sum(one.matched for one in recalls),
            degraded=[*dict.fromkeys(trouble for one in recalls for trouble in one.degraded)],
            missing=[path for one in recalls for path in one.missing],
            unread=[file for one in recalls for file in one.unread],
        )

    def _best(self, found: list[tuple[Notebook, Hit]], limit: int) -> list[tuple[Notebook, Hit]]:
        known = sum(book not in self.folders and not hit.weak for book, hit in found)
        room, kept = max(limit - known, (limit + 1) // 2), []
        for book, hit in found:
            room -= book in self.folders
            if room >= 0 or book not in self.folders:
                kept.append((book, hit))
        return kept[:limit]


def _own(
    book: Notebook, ask: Callable[[int], Recall[Hit]], hits: Recall[Hit], limit: int
) -> list[Hit]:
    """The best hits that may be told, however many better ones may not."""
    asked = limit
    while True:
        told = {note.path for note in book.own([hit.note for hit in hits])}
        kept = [hit for hit in hits if hit.note.path in told]
        if len(kept) >= limit or len(hits) < asked or asked >= _FURTHEST:
            return kept[: max(limit, 0)]
        asked *= 8
        hits = ask(asked)
