"""What the page works on: the notebooks and all their notes at one moment. For one thread."""

from __future__ import annotations

import os
import re
from collections import Counter
from contextlib import suppress
from functools import cached_property
from typing import Any

from co_cli.errors import CoError, MovedOn, NotFound
from co_cli.knowledge import Note, Notebook
from co_cli.knowledge.format.note import linked_uids
from co_cli.knowledge.inbox import vouched, waiting
from co_cli.knowledge.pages import ARTICLES, INBOX, MEMORIES, Problem
from co_cli.knowledge.search.watch import Watcher
from co_cli.knowledge.store import Entry, disk
from co_cli.results import age, note_json, outdated, outside_text, span
from co_cli.verbs import Found, counts, labels
from co_cli.workspace import Workspace

Row = dict[str, Any]
HIDDEN = "(marked sensitive)"
LINKS = ("related", "supersedes", "updates")  # fields of a header that name other notes


class Asked(dict[str, str]):
    """What a request says, by name; what it does not say is empty."""

    def __missing__(self, name: str) -> str:
        return ""

    def number(self, name: str) -> int:
        """A whole number; 0 where none is said."""
        if not (self[name].isascii() and f"0{self[name]}".isdecimal() and len(self[name]) < 16):
            raise CoError(f"{name} is not a number")
        return int(self[name] or 0)


class Changed(MovedOn):
    """Something is not as the person saw it; `now` is what it is."""

    def __init__(self, message: str, now: Row, hint: str = "Nothing was overwritten.") -> None:
        super().__init__(message, hint=hint)
        self.now = now


class Seen:
    """Every note and draft that may be shown, newest first, as the files were at one moment."""

    def __init__(self, state: State) -> None:
        self.shelf, self.is_indexed = state.shelf, state.is_indexed
        self.books = [*state.shelf]
        notes = [(book, n) for book in self.books for n in (*book.notes(), *book.articles())]
        notes = [pair for pair in notes if not state.hides(pair[1])]
        notes.sort(key=lambda pair: (pair[1].created, pair[1].id), reverse=True)
        self.by = labels(notes)
        self.drafts = [(b, one) for b in self.books for one in waiting(b) if not state.hides(one)]
        self.label = {note.path: label for label, (_, note) in self.by.items()}

    @cached_property
    def facets(self) -> dict[str, dict[str, int]]:
        """How many notes have each tag and category, most first."""
        notes = [note for _, note in self.by.values()]
        tags = Counter(tag for note in notes for tag in note.tags if tag[:1] != "_")
        return {"tags": dict(tags.most_common(200)), "categories": counts(notes)}

    @cached_property
    def files(self) -> list[Note]:
        """Every note, article and draft, and every archived one, also those that are not shown."""
        found = list[Note]()
        for book in self.books:
            found += [*book.look().notes, *book.articles(), *book.pages.drafts()[0]]
            found += [note for _, note in book.pages.archived()]
        return found

    @cached_property
    def journal(self) -> list[tuple[Notebook, Entry]]:
        """Every change that was carried out, newest first."""
        found = [(book, one) for book in self.books for one in book.store.entries()]
        found.sort(key=lambda pair: (pair[1].at, pair[1].n), reverse=True)
        return [pair for pair in found if pair[1].state == "done"]

    @cached_property
    def links(self) -> list[tuple[str, str, str]]:
        """Which note names which in its header, and as what; a number is one of its notebook."""
        named = {("", n.uid): at for at, (_, n) in self.by.items() if n.meta.get("uid")}
        named |= {
            (b.label, key): at for at, (b, n) in self.by.items() for key in (n.uid, str(n.id))
        }
        return [
            (label, other, kind)
            for label, (book, note) in self.by.items()
            for kind in LINKS
            for uid in linked_uids(note, kind)
            if (other := named.get((book.label, uid)) or named.get(("", uid), label)) != label
        ]

    @cached_property
    def updates(self) -> dict[str, str]:
        """The newest note that updates each that is out of date, by what the page calls them."""
        return {old: new for new, old, kind in reversed(self.links) if kind == "updates"}

    @cached_property
    def unconfirmed(self) -> list[tuple[Notebook, Note, Note]]:
        """Pairs of which the first note seems to update the second, and nobody has said so."""
        return [
            pair
            for pair in (self.shelf.unconfirmed() if self.is_indexed else ())
            if {pair[1].path, pair[2].path} <= self.label.keys()
        ]


class State:
    """The workspace, and what was last read of it; the kernel tells when that is out of date."""

    def __init__(self, project: str | None = None, *, sensitive: bool = False) -> None:
        self.workspace = Workspace(project, watch=True)
        self.shelf, self.sensitive, self.version = self.workspace.shelf, sensitive, 0
        self.is_indexed = False  # whether to ask the index takes no time
        self._seen: Seen | None = None
        self._watcher: Watcher | None = None
        folders = (MEMORIES, ARTICLES, INBOX)
        with suppress(OSError):  # without one, every request looks at all files
            self._watcher = Watcher([b.store.locate(one) for b in self.shelf for one in folders])

    @property
    def tick(self) -> float:
        """Seconds between two looks for changed files, while a page is open."""
        return 0.25 if self._watcher else 5.0

    def close(self) -> None:
        """Let go of the indexes and the watcher."""
        self.shelf.close()
        if self._watcher:
            self._watcher.close()

    def fresh(self) -> int:
        """Forget what is out of date; a number that is another one after every change."""
        changed = self._watcher.changed() if self._watcher else None
        if changed != set():  # where it cannot be told what changed, all is looked at
            before, self._seen = self._seen, None
            there = before and (before.by, before.drafts)
            self.version += bool(changed or (self.seen.by, self.seen.drafts) != there)
        return self.version

    def take_index(self) -> None:
        """Ask the index which notes seem to be out of date; it was brought up to date just now."""
        before, self._seen, self.is_indexed = self.seen.unconfirmed, None, True
        self.version += self.seen.unconfirmed != before

    @property
    def seen(self) -> Seen:
        """The notes as they were when `fresh` was last asked."""
        self._seen = self._seen or Seen(self)
        return self._seen

    def hides(self, note: Note) -> bool:
        """Whether a note is kept off the page."""
        return not self.sensitive and note.meta.get("sensitive") is True

    def redact(self, text: str) -> str:
        """A sentence without the names of files that are kept off the page: their words are theirs.

        For messages alone; a note's own text is never touched.
        """
        hidden = {note.name.removesuffix(".md") for note in self.seen.files if self.hides(note)}
        for name in hidden:
            text = re.sub(rf"(?<![\w-]){re.escape(name)}(?![\w-])", HIDDEN, text)
        return text

    def problem(self, problem: Problem) -> str:
        """A problem in words; hidden where its file is, or was archived and can no longer tell."""
        path, names = problem.path, {n.name for n in self.seen.files if not self.hides(n)}
        known = "/archive/" not in path or os.path.basename(path) in names
        shown = self.sensitive or (known and self.redact(path) == path)
        return self.redact(str(problem)) if shown else HIDDEN

    def find(self, ref: str) -> tuple[Notebook, Note]:
        """A note, draft or file by what the page calls it."""
        if known := self.seen.by.get(ref):
            return known
        book, name = self.shelf.place(ref)
        note = book.find(name)
        if self.hides(note):
            hint = "It is marked sensitive: co web --sensitive shows those too."
            raise NotFound(f"{note.kind} {ref[:60]} is not shown", hint=hint)
        [note] = vouched(book, [note]) if note.kind == "draft" else [note]
        return book, note

    def held(self, asked: Asked) -> tuple[Notebook, Note]:
        """The note that a change is about; Changed unless it is still as the person saw it."""
        book, note = self.find(asked["ref"])
        if disk.digest(note.raw) != asked["seen"]:
            raise Changed(f"{note.kind} {book.ref(note)} changed meanwhile", written(note))
        return book, note

    def called(self, book: Notebook, note: Note) -> str:
        """What the page calls a note."""
        return self.seen.label.get(note.path) or book.ref(note)

    def rows(self, found: Found) -> list[Row]:
        """A line for each of these notes, with what a person should know at a glance."""
        foreign = self.workspace.untrusted(n for book, n in found if book is self.shelf.project)
        return [
            note_json(book, note)
            | {"ref": self.called(book, note), "category": note.category, "date": span(note)}
            | {"age": age(note.created, book.today()), "outside": outside_text(note)}
            | {"outdated": outdated(book, note), "untrusted": note.path in foreign}
            | {"updated_by": self.seen.updates.get(self.called(book, note))}
            | {"writable": book in self.shelf, "content": None}
            for book, note in found
        ]


def written(note: Note) -> Row:
    """A note's text to be edited as it is, and the mark of the file that it is from."""
    return {"written": {"text": note.body, "tags": note.tags}, "seen": disk.digest(note.raw)}
