"""The reading half of a notebook: scan, find, the archive. Writes nothing but unfinished business.

One scan serves every verb; a file that has not changed since the last one is not read again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import TYPE_CHECKING, NoReturn, Self

from co_cli.errors import Ambiguous, CoError, NotFound
from co_cli.knowledge.format.frontmatter import MAX_ID
from co_cli.knowledge.format.note import Note, now, number_of, parse, sections, timestamp
from co_cli.knowledge.pages import MEMORIES, Pages, Problem
from co_cli.knowledge.policy import Origins, Policy
from co_cli.knowledge.safety.escape import visible
from co_cli.knowledge.search.hits import Filters, Hit, How, Recall, Synced
from co_cli.knowledge.store import Entry, Store, previous
from co_cli.knowledge.store.files import FolderStore

if TYPE_CHECKING:
    from co_cli.knowledge.meaning.encoders import Embedder
    from co_cli.knowledge.search.recall import Search

Ref = str | int | Note

_USUAL, _EVERY = How(), Filters()
_FEW = 200  # notes that a save reads rather than ask the index


def named(ref: str | int, notes: Iterable[Note]) -> list[Note]:
    """The notes that answer to a number, else to a file's name, else to a uid."""
    text, known = str(ref).strip(), list(notes)
    found = []
    if text.isdecimal() and len(text) <= 9:
        found = [note for note in known if note.id == int(text)]
    stem = text.removesuffix(".md")
    found = found or [note for note in known if note.name[:-3] == stem]
    return found or [note for note in known if note.meta.get("uid") == text]


def _is_called(ref: str, name: str) -> bool:
    return ref in (name.removesuffix(".md"), str(number_of(name) or ""))


class Reader:
    """The notes of one knowledge folder, as they are now."""

    def __init__(
        self,
        root: str | os.PathLike[str],
        *,
        scope: str = "project",
        policy: Policy | None = None,
        clock: Callable[[], datetime] = now,
        how: How = _USUAL,
        origins: Origins | None = None,
    ) -> None:
        self.store: Store = FolderStore(root)
        self.root = self.store.root
        self.scope = scope
        self.policy = policy or Policy()
        self.clock = clock
        self.memories = os.path.join(self.root, "memories")
        self.problems: list[Problem] = []
        self.highest = self.taken = 0
        self.pages = Pages(self.store)
        self.basis = self.store.settle()[0]
        self._seen: list[Note] | None = None  # all notes, if they were read since `_begin`
        self.how = how
        self.origins = origins
        self._search: Search | None = None

    @classmethod
    def open(
        cls,
        folder: str | os.PathLike[str],
        *,
        watch: bool = False,
        backend: str = "auto",
        fusion: str = "blend",
        embedder: Callable[[], Embedder] | None = None,
    ) -> Self:
        """The notebook in this knowledge folder, with the command's defaults.

        With `watch` the kernel tells which files change, for a process that lives long.
        """
        return cls(folder, how=How(backend, fusion, embedder, watch))

    def close(self) -> None:
        """Let go of the index; the next recall opens it again."""
        if self._search is not None:
            self._search.close()
            self._search = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _begin(self) -> None:
        """See to it that no change is half done, before anything is read."""
        self._seen = None
        self.basis = self.store.settle()[0]

    def notes(self) -> list[Note]:
        """Every memory that can be read, by number; the others are in `problems`."""
        look = self.pages.look()
        self.basis, self.problems = look.tail, look.problems
        self.highest, self.taken = look.highest, look.taken
        self._seen = look.notes
        return list(look.notes)

    def own(self, notes: list[Note]) -> list[Note]:
        """These notes without those that came from elsewhere and that nobody here agreed to."""
        foreign = self.origins.foreign(notes) if self.origins and notes else ()
        return [note for note in notes if note.path not in foreign] if foreign else notes

    def find(self, ref: Ref) -> Note:
        """The note by number, file name or uid; Ambiguous when several answer to it."""
        return self.pick(ref, self.notes()) or self._missing(ref)

    def pick(self, ref: Ref, notes: Iterable[Note]) -> Note | None:
        """The one among these notes that a reference means: a number before a name before a uid."""
        if isinstance(ref, Note):
            found = [note for note in notes if note.path == ref.path]
        else:
            found = named(ref, notes)
        if len(found) <= 1:
            return found[0] if found else None
        names = [self.prefix + visible(note.name[:-3], keep="") for note in found]
        raise Ambiguous(
            f"{len(found)} memories are called {self.prefix}{ref}",
            choices=found,
            hint="Say which: " + ", ".join(names),
        )

    def _missing(self, ref: Ref) -> NoReturn:
        name = ref.name[:-3] if isinstance(ref, Note) else str(ref)
        hint = "`co knowledge list` shows what there is."
        broken = [p.path for p in self.problems if _is_called(name, os.path.basename(p.path))]
        if broken:
            hint = f"{visible(broken[0], keep='')} cannot be read: co knowledge doctor"
        elif named(name, [note for _, note in self.archived()]):
            hint = f"It was archived; `co knowledge restore {self.prefix}{name}` brings it back."
        raise NotFound(f"there is no memory {self.prefix}{str(name)[:60]}", hint=hint)

    def links(self, notes: Iterable[Note]) -> list[str]:
        """What another note's header calls these: a uid, if no other note has it by right."""
        notes = list(notes)
        copies = self.copies(notes)
        return [str(note.id) if note.path in copies else note.uid for note in notes]

    def copies(self, notes: Iterable[Note]) -> set[str]:
        """The paths of the notes that have the uid of one of these and no right to it.

        Whoever copies a file by hand copies its uid. Of files that share one, the one that Co made
        first may keep it. The journal knows which of them Co wrote; where it knows of none, the
        lowest number is the oldest.
        """
        uids = {str(uid) for note in notes if (uid := note.meta.get("uid"))}
        sharing: dict[str, list[Note]] = {}
        for note in self._having(uids) if uids else ():
            sharing.setdefault(str(note.meta.get("uid")), []).append(note)
        if all(len(twins) < 2 for twins in sharing.values()):
            return set()
        made: dict[str, int] = {}
        for entry in self.store.entries():
            for file in entry.files if entry.state == "done" else ():
                if file["before"] is None:
                    made.setdefault(file["path"], entry.n)

        def age(note: Note) -> tuple[int, int, str]:
            return made.get(f"memories/{note.name}", self.basis.n + 1), note.id, note.name

        return {note.path for twins in sharing.values() for note in sorted(twins, key=age)[1:]}

    def _having(self, uids: set[str]) -> list[Note]:
        """The notes with these uids, by what was read last; nothing is read twice for them."""
        found = self._seen
        if found is None and self.is_large:
            found = self.search.having(uids)
        if found is None:
            found = self.notes()
        return [note for note in found if str(note.meta.get("uid")) in uids]

    @property
    def is_large(self) -> bool:
        """Whether a save asks the index rather than read all notes."""
        return self.how.watch or len(self.store.names(MEMORIES)) > _FEW

    def inside(self, number: int) -> tuple[Note, str] | None:
        """The consolidated note that holds a decayed original, and the original's part of it."""
        for note in self.notes():
            for part in sections(note):
                if part.number == number:
                    return note, part.text
        return None

    @property
    def search(self) -> Search:
        """The index and what keeps it fresh."""
        from co_cli.knowledge.search.recall import Search  # SQLite is for those who search

        if self._search is None:
            self._search = Search(self.pages, self.how, self._removed)
        return self._search

    def _removed(self) -> set[str]:
        """The files that Co itself took away, by its journal."""
        return {
            os.path.basename(file["path"])
            for entry in self.store.entries()
            for file in entry.files
            if file["after"] is None and file["path"].startswith("memories/")
        }

    def recall(
        self,
        query: str,
        limit: int = 10,
        filters: Filters = _EVERY,
        *,
        strict: bool = True,
        marked: bool = False,
    ) -> Recall[Hit]:
        """The notes that answer, best first, and what search had to do without.

        A question about nothing in the notebook gets no answer, unless `strict` is off. With
        `marked`, hits say where in their passage the words stand.
        """
        self._begin()
        if not self.exists() and not os.path.lexists(self.search.index_path):
            return Recall()
        return self.search.recall(
            query, max(limit, 0), filters, self.today(), strict=strict, marked=marked
        )

    def sync(
        self,
        *,
        anew: bool = False,
        closely: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> Synced:
        """Bring the index up to date now, or build it anew; recall does so by itself.

        With `closely` every note that was only skimmed is read for its meaning, which takes time.
        """
        self._begin()
        synced = self.search.sync(anew=anew, progress=progress)
        if anew and synced.rebuilt:
            self.search.tidy_vectors()
        if closely:
            self.search.read_closely(progress)
        return synced

    def exists(self) -> bool:
        """Whether there is a notebook at all; looking for one makes none."""
        return self.store.exists()

    @property
    def prefix(self) -> str:
        """What stands before a number in a reference: `g` for the user's notebook."""
        return "g" if self.scope == "user" else ""

    def ref(self, note: Note) -> str:
        """How a person names this note."""
        return f"a:{note.name[:-3]}" if note.kind == "article" else f"{self.prefix}{note.id}"

    def today(self) -> str:
        """The date by this notebook's clock."""
        return timestamp(self.clock())[:10]

    def next_id(self) -> int:
        """One more than any number in use, as of the last look, or ever given out."""
        highest = max(self.taken, self.basis.high)
        if highest >= MAX_ID:
            raise CoError(
                f"no number is left after {highest}",
                hint=f"A note in {self.memories} has a number near {MAX_ID}; give it a lower one.",
            )
        return highest + 1

    def archived(self) -> list[tuple[Entry, Note]]:
        """Notes that a change removed and that are not there now, newest first."""
        found: dict[str, tuple[Entry, Note]] = {}
        for entry in reversed(self.store.entries()):
            for file in entry.files if entry.state == "done" else ():
                path = file["path"]
                if file["after"] is not None or not path.startswith("memories/") or path in found:
                    continue
                try:
                    note = parse(self.store.locate(path), previous(self.store, entry.n, file))
                except CoError:
                    continue
                if not self.store.signature(path):
                    found[path] = entry, note
        return list(found.values())
