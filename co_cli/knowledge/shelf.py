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
from co_cli.knowledge.search.hits import Filters, Hit, Recall

if TYPE_CHECKING:  # few have added a folder
    from co_cli.knowledge.compare.relation import Match
    from co_cli.knowledge.folder import FolderBook
    from co_cli.knowledge.search.updates import Links

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
        fast: bool = False,
    ) -> Recall[tuple[Notebook, Hit]]:
        """What answers in any notebook, best first; of equals the project's comes first.

        A text that stands in both is shown once. Folders take no more than half the places from
        what notebooks know well. With `own`, nothing that came from elsewhere and that nobody here
        agreed to is shown, or takes another's place. `fast` leaves the reader out.
        """
        from co_cli.knowledge.search.answering import READ, answer
        from co_cli.knowledge.search.updates import current_first, is_visible

        found: list[tuple[Notebook, Hit]] = []
        recalls: list[Recall[Hit]] = []
        read = self.project.how.reads and not fast
        most = max(limit, READ if read else 1)
        links: dict[str, list[tuple[Notebook, str]]] = {}
        for book in chain(self, self.folders):
            if scope in ("", book.scope):
                ask = partial(book.candidates, query, filters=filters)
                recalled = ask(most)
                hits = _own(book, ask, recalled, most) if own else recalled
                found += [(book, hit) for hit in hits]
                recalls.append(recalled)
                for uid, names in recalled.updates.items():
                    links.setdefault(uid, []).extend((book, name) for name in names)
        today = self.project.today()
        found.sort(key=lambda pair: (-pair[1].score, pair[1].note.expired(today)))
        shown: dict[str, tuple[Notebook, Hit]] = {}
        for book, hit in found:
            shown.setdefault(" ".join(hit.text.casefold().split()), (book, hit))
        every = self._joined([*shown.values()], recalls)
        answered = answer(
            query, every, lambda pair: pair[1], lambda pair, hit: (pair[0], hit), read=read,
            strict=True,
        )  # fmt: skip
        best = self._best(list(answered), max(limit, 0))
        visible, counts = partial(is_visible, filters), _is_own if own else None
        current = current_first(best, links, visible, counts)
        return answered.having(current[: max(limit, 0)])

    def _joined(
        self, found: Iterable[tuple[Notebook, Hit]], recalls: Sequence[Recall[Hit]]
    ) -> Recall[tuple[Notebook, Hit]]:
        """What several notebooks found, as one recall."""
        return Recall(
            found,
            searched=sum(one.searched for one in recalls),
            articles=sum(one.articles for one in recalls),
            matched=sum(one.by_ranking for one in recalls),
            degraded=[*dict.fromkeys(trouble for one in recalls for trouble in one.degraded)],
            missing=[path for one in recalls for path in one.missing],
            unread=[file for one in recalls for file in one.unread],
        )

    def compare(self, text: str, *, editing: Note | None = None) -> list[tuple[Notebook, Match]]:
        """The notes of all notebooks that a new text updates, or restates, or is similar to."""
        from co_cli.knowledge.compare.candidates import compare  # for who saves

        return compare(self, text, editing)

    def outdated_by(self, text: str) -> list[tuple[Notebook, Note]]:
        """The notes that a new text brings out of date, in any notebook that is visible here."""
        return [(book, one.note) for book, one in self.compare(text) if one.verdict == "updates"]

    def updated_by(self, note: Note) -> tuple[Notebook, Note] | None:
        """The note that holds instead of this one, where a link says so."""
        from co_cli.knowledge.search.updates import newest_update

        return newest_update(note, self.links()) if note.kind == "memory" else None

    def links(self) -> Links[Notebook]:
        """For each uid that a note brings out of date, which files of which notebook do."""
        from co_cli.knowledge.search.updates import linked_files

        found: dict[str, list[tuple[Notebook, str]]] = {}
        for book in self:
            for uid, names in linked_files(book.notes()).items():
                found.setdefault(uid, []).extend((book, name) for name in names)
        return found

    def unconfirmed(self) -> list[tuple[Notebook, Note, Note]]:
        """Pairs, in one notebook, of which the first note seems to update the second."""
        return [(book, new, old) for book in self for new, old, _ in book.unconfirmed()]

    def _best(self, found: list[tuple[Notebook, Hit]], limit: int) -> list[tuple[Notebook, Hit]]:
        known = sum(book not in self.folders and not hit.weak for book, hit in found)
        room, kept = max(limit - known, (limit + 1) // 2), []
        for book, hit in found:
            room -= book in self.folders
            if room >= 0 or book not in self.folders:
                kept.append((book, hit))
        return kept[:limit]


def _is_own(book: Notebook, note: Note) -> bool:
    """Whether the person wrote or agreed to a note; what a pull brought updates nothing before."""
    return bool(book.own([note]))


def _own(
    book: Notebook, ask: Callable[[int], Recall[Hit]], hits: Recall[Hit], limit: int
) -> list[Hit]:
    """The best hits that may be told, however many better ones may not."""
    asked = limit
    while True:
        told = {note.path for note in book.own([hit.note for hit in hits])}
        kept = [hit for hit in hits if hit.note.path in told]
        doubts = book.own([note for hit in kept if (note := hit.maybe_updated_by)])
        kept = [
            hit if hit.maybe_updated_by in doubts else hit._replace(maybe_updated_by=None)
            for hit in kept
        ]
        if len(kept) >= limit or len(hits) < asked or asked >= _FURTHEST:
            return kept[: max(limit, 0)]
        asked *= 8
        hits = ask(asked)
