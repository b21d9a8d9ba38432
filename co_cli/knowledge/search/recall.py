"""What a notebook asks its index, and what happens when the index cannot answer.

The index is brought up to date before each use. When it fails it is built anew, then built in
memory, and at last every file is read. Recall never fails, and says when it is not at its best.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from co_cli import paths as folders
from co_cli.errors import CoError, EmbedderUnavailable
from co_cli.knowledge.format.frontmatter import split
from co_cli.knowledge.format.note import Note, decode
from co_cli.knowledge.meaning.encoders import Meaning, built_in
from co_cli.knowledge.pages import ARTICLES, MEMORIES, Page, Pages
from co_cli.knowledge.replacement import newest_first
from co_cli.knowledge.search import words
from co_cli.knowledge.search.hits import Around, Degraded, Filters, Hit, How, Recall, Synced
from co_cli.knowledge.search.index import Index, as_read, digest_of, hashed, vec_path
from co_cli.knowledge.search.lookup import Row
from co_cli.knowledge.search.passages import passages
from co_cli.knowledge.search.query import Question
from co_cli.knowledge.search.ranking import Found, Search, answers
from co_cli.knowledge.search.scan import scan
from co_cli.knowledge.search.vectors import Vectors
from co_cli.knowledge.store import disk

if TYPE_CHECKING:
    from co_cli.knowledge.search.watch import Watcher

_SOON = "the next recall takes it in"
_FOLDERS = (MEMORIES, ARTICLES)
_MEMORY_NOTES = 20_000  # an index in memory is built for no more
_NEIGHBOURS = 10
_PAID = 32  # passages that are read closely between two looks at the index
_TEXTS, _SHORT = 8192, 2000  # texts that a process remembers, and their length
_START = 400  # characters of a passage that stand together in any note that says the same
_T = TypeVar("_T")


class _Unlisted(Exception):
    """The folder itself cannot be read."""

    def __init__(self, error: CoError) -> None:
        super().__init__(str(error))
        self.error = error


class _State(NamedTuple):
    """How the index stood when it was used."""

    searched: int = 0
    missing: Sequence[str] = ()
    unread: Sequence[tuple[str, str, int]] = ()
    degraded: Sequence[Degraded] = ()


class _Doubt(Exception):
    """The index was touched by somebody else while it was in use."""


class Finder:
    """The index of one knowledge folder and its watcher."""

    def __init__(self, pages: Pages, how: How, explained: Callable[[], set[str]]) -> None:
        self.pages = pages
        self.store = pages.store
        self.root = self.store.index_folder
        self.how = how
        self._unwatched = self._lacking = self._unkept = ""
        self._explained = explained
        self._odd: dict[str, str] = {}
        self._texts: dict[tuple[str, int], str | None] = {}
        self._index: Index | None = None
        self._spare: Index | None = None  # in memory, where the folder takes no file
        self._watcher: Watcher | None = None
        if how.watch and self.root:
            from co_cli.knowledge.search.watch import Watcher  # a command looks once and is gone

            try:
                self._watcher = Watcher([self.store.locate(name) for name in _FOLDERS])
            except OSError as error:
                self._unwatched = f"the folder cannot be watched: {error.strerror}"

    def close(self) -> None:
        """Let go of the index and the watcher."""
        for index in (self._index, self._spare):
            if index is not None:
                index.close()
        if self._watcher is not None:
            self._watcher.close()

    @property
    def index_path(self) -> str:
        """Where the index is kept, or would be."""
        return os.path.join(self.root, folders.INDEX)

    # The files

    def path(self, name: str) -> str:
        """Where a person finds a file of the index."""
        return self.store.locate(self._place(name))

    def _place(self, name: str) -> str:
        """Where the store has a file of the index; only a memory's name is without its folder."""
        name = self._odd.get(name, name)
        return name if "/" in name else f"{MEMORIES}/{name}"

    def _written(self, folder: str, name: str) -> str:
        """A name as the index can keep it; one that is no Unicode is remembered here."""
        name = name if folder == MEMORIES else f"{folder}/{name}"
        safe = name.encode("utf-8", "backslashreplace").decode()
        if safe != name:
            self._odd[safe] = name
        return safe

    def _listed(self) -> dict[str, int]:
        """Every note's file with its signature."""
        memories, articles = map(self.store.files, _FOLDERS)
        if not all(map(str.isascii, memories)):
            memories = {self._written(MEMORIES, name): told for name, told in memories.items()}
        found = {self._written(ARTICLES, name): told for name, told in articles.items()}
        return {**memories, **found} if found else dict(memories)

    def _touched(self, paths: Iterable[str]) -> tuple[dict[str, int], list[str]]:
        """The signatures of these files, and the names of all of them that could be notes."""
        seen: dict[str, int] = {}
        names = []
        for path in paths:
            folder, base = os.path.split(path)
            if base[-3:] != ".md" or base[:1] == ".":
                continue
            folder = os.path.basename(folder)
            name = self._written(folder, base)
            names.append(name)
            if told := self.store.signature(f"{folder}/{base}"):
                seen[name] = told
        return seen, names

    def _load(self, name: str) -> Page | None:
        return self.pages.read(self._place(name))

    def note(self, name: str) -> Note | None:
        """A note as its file holds it now."""
        try:
            return self.pages.note(self._place(name))
        except CoError:
            return None

    def _text(self, row: Row) -> str | None:
        """The text of a note now, to rank it by; one that has not changed is not read again."""
        key = row.name, row.sign
        if key not in self._texts:
            text = self._read_text(row.name)
            if not row.sign or len(text or "") > _SHORT:
                return text
            if len(self._texts) >= _TEXTS:
                self._texts.clear()
            self._texts[key] = text
        return self._texts[key]

    def _read_text(self, name: str) -> str | None:
        if name.startswith(f"{ARTICLES}/"):
            note = self.note(name)
            return note.text if note else None
        try:
            text = decode(self.store.read_signed(self._place(name))[0])
        except (FileNotFoundError, CoError):
            return None
        where = split(text)  # the header is not looked at
        return text[where[2] :].strip() if where else None

    # The index

    def sync(
        self, *, anew: bool = False, progress: Callable[[int, int], None] | None = None
    ) -> Synced:
        """Bring the index up to date now."""
        synced, state = self._use(lambda _, synced: synced, anew=anew, progress=progress)
        return (synced or Synced())._replace(
            notes=state.searched, unread=state.unread, degraded=state.degraded
        )

    def _use(
        self,
        act: Callable[[Index, Synced], _T],
        *,
        anew: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> tuple[_T | None, _State]:
        """Do something with an index that is up to date; None when there can be none."""
        if self.how.backend == "grep":
            return None, _State()
        trouble: Exception | None = None
        for index, again in self._attempts():
            try:
                with index.held():
                    seen, only = self._looked(index, anew or again)
                    if not index.kept and len(seen) > _MEMORY_NOTES and only is None:
                        break
                    synced = index.sync(
                        seen, self._load, only=only, anew=anew or again,
                        explained=self._explained, progress=progress,
                    )  # fmt: skip
                    found = act(index, synced)
                    state = _State(
                        index.count(),
                        list(map(self.path, index.missing)),
                        [(self.path(name), why, line) for name, why, line in index.unread()],
                    )
                    if not index.intact():
                        raise _Doubt("another program wrote to the index")
            except disk.Busy as error:
                trouble = error
                break
            except Exception as error:  # any doubt about the index is a reason to rebuild it
                trouble = error
                index.close()
                continue
            except BaseException:
                self._look_again()
                raise
            return found, state._replace(degraded=self._degraded(index, trouble))
        self._look_again()
        if isinstance(trouble, _Unlisted):
            raise trouble.error
        reason = f"the index cannot be used ({_why(trouble)}); every note was read instead"
        return None, _State(degraded=[Degraded("no index", reason)])

    def _looked(self, index: Index, whole: bool) -> tuple[dict[str, int], list[str] | None]:
        """The files as they are, all or those that changed; only while the index is held."""
        try:
            changed = self._watcher.changed() if self._watcher else None
            if changed is None or whole or not index.trusted():
                return self._listed(), None
            return self._touched(changed)
        except CoError as error:
            raise _Unlisted(error) from error

    def _look_again(self) -> None:
        if self._watcher:
            self._watcher.reset()

    def _attempts(self) -> Iterator[tuple[Index, bool]]:
        """The index, then a new one in its place, then one in memory; whether it is built anew."""
        if self.root:
            self._index = self._index or self._made(kept=True)
            yield self._index, False
            yield self._index, True
        self._spare = self._spare or self._made(kept=False)
        yield self._spare, False

    def _made(self, *, kept: bool) -> Index:
        self._lacking = ""
        embedder = None
        if self.how.backend != "fts5":
            try:
                vec_path()  # without it no vector can be compared
                embedder = self.how.embedder() if self.how.embedder else built_in()
            except EmbedderUnavailable as error:
                self._lacking = str(error)
        return Index(self.root, embedder, kept=kept)

    def _degraded(self, index: Index, trouble: Exception | None) -> list[Degraded]:
        if index.kept:
            self._unkept = ""
        elif trouble:
            self._unkept = f"the index cannot be kept in {self.root} ({_why(trouble)})"
        lacking = index.trouble or (self._lacking if index.embedder is None else "")
        index.trouble = ""
        if lacking:
            return [Degraded("no meaning", f"searched by words alone: {lacking}")]
        if self._unkept:
            return [Degraded("not kept", self._unkept)]
        return [Degraded("not watched", self._unwatched)] if self._unwatched else []

    # Reading closely

    def read_closely(
        self, progress: Callable[[int, int], None] | None = None, most: int = 0
    ) -> int:
        """Read the passages that were only skimmed, newest first, all or so many; how many were.

        The index is not held meanwhile, and what was read is kept whatever happens next.
        """
        done, tried = 0, set[bytes]()
        while found := self._use(lambda index, _: index.skimmed(len(tried) + _PAID))[0]:
            few = min(_PAID, most - done) if most else _PAID
            waiting = [one for one in found if one[0] not in tried][:few]
            if not waiting:
                break
            tried.update(key for key, _, _ in waiting)
            vectors = self._read(waiting)
            self._use(lambda index, _, vectors=vectors: index.take_closely(vectors))  # type: ignore[misc]
            done += len(waiting)
            if progress:
                left = self._use(lambda index, _: index.closely())[0] or (done, done)
                progress(left[0], left[1])
        return done

    def _read(self, waiting: Iterable[tuple[bytes, int, Row]]) -> dict[bytes, bytes]:
        """The vectors of these passages, also put beside the index; none for one that changed."""
        index = self._index
        if index is None or index.vectors is None or not isinstance(index.embedder, Meaning):
            return {}
        found: dict[bytes, bytes] = {}
        known: dict[str, list[str]] = {}
        for key, at, row in waiting:
            if row.name not in known:
                note = self.note(row.name)
                parts = passages(note.text) if note else []
                known[row.name] = [as_read(part, note.tags) for part in parts] if note else []
            for text in known[row.name][at - row.id :][:1]:
                if hashed(text.encode("utf-8", "replace")) == key:
                    found[key] = index.embedder.closely(text)
        if index.kept:
            with suppress(OSError):  # a folder that takes no file
                index.vectors.add(found)
        return found

    def tidy_vectors(self) -> None:
        """Forget the close readings of what is no longer a note's text; for a purge, of all."""
        path = f"{self.index_path}-vectors"
        loaded = (self._load(name) for name in self._listed())
        notes = [one.found for one in loaded if one and isinstance(one.found, Note)]
        keys = [
            hashed(as_read(part, note.tags).encode("utf-8", "replace"))
            for note in notes
            for part in passages(note.text)
        ]
        try:
            meaning = built_in()
        except EmbedderUnavailable:
            with suppress(FileNotFoundError):
                os.unlink(path)
            return
        Vectors(path, meaning.name, meaning.dim).keep(keys)

    def closely(self) -> tuple[int, int]:
        """How many notes with a meaning were read closely, and how many there are."""
        return self._use(lambda index, _: index.closely())[0] or (0, 0)

    def compare(self) -> tuple[str, list[tuple[str, str]]]:
        """How the index stands to the files, and each file that is not in it as it is, with why."""
        if self.how.backend == "grep":
            return "not used: search_backend is grep", []
        seen = self._listed()
        if not os.path.lexists(self.index_path):
            return "not built yet", []
        index = self._made(kept=True)
        try:
            with index.held():
                known = index.recorded()
                unread = index.unread() if known else []
        except Exception as error:  # the next recall sees to it
            return f"cannot be used: {_why(error)}", []
        finally:
            index.close()
        if known is None:
            return "in doubt, so the next recall builds it anew", []
        behind = [(self.path(n), f"not indexed yet; {_SOON}") for n in sorted(seen.keys() - known)]
        for name in sorted(seen.keys() & known):
            page = self._load(name)
            if page and digest_of(page) != known[name]:
                behind.append((self.path(name), f"changed since it was indexed; {_SOON}"))
        gone = sorted(known.keys() - seen)
        behind += [(self.path(name), "indexed, but gone") for name in gone]
        behind += [(self.path(name), why) for name, why, _ in unread if name.startswith(ARTICLES)]
        return f"{len(behind)} behind" if behind else "up to date", behind

    # What is asked

    def recall(
        self, query: str, limit: int, filters: Filters, today: str, *, strict: bool, marked: bool
    ) -> Recall[Hit]:
        """The notes that answer, best first; every file is read where the index cannot tell."""
        question = Question(query, today)

        def act(index: Index, _: Synced) -> tuple[list[Hit], int]:
            search = Search(
                index, question, self._text, allowed=index.allowed(filters),
                fusion=self.how.fusion, limit=limit,
            )  # fmt: skip
            found = search.found()
            known = any(search.vector)
            told = answers(found, known=known) if strict else [(one, False) for one in found]
            return self._hits(search, told, limit, marked)

        found, state = self._use(act)
        hits, matched = found or ([], 0)
        if found is None or (not hits and len(query.strip()) < 3):  # shorter than the index looks
            notes = self.pages.look().notes
            hits = scan(query, filter(filters.fit, notes), today=today)
            matched, state = len(hits), state._replace(searched=len(notes))
        return Recall(newest_first(hits[:limit]), matched=matched, **state._asdict())

    def _hits(
        self, search: Search, found: list[tuple[Found, bool]], limit: int, marked: bool
    ) -> tuple[list[Hit], int]:
        """The notes themselves, without what says the same as a better one; how many match."""
        hits: list[Hit] = []
        matched = len(found)
        said: dict[str, str] = {}
        for one, weak in found:
            if len(hits) >= limit:
                break
            note = self.note(one.row.name)
            if note is None:
                continue
            other = said.setdefault(words.folded(note.body[:_SHORT]), note.body)
            if other is not note.body and _same(other, note.body):
                matched -= 1
                continue
            marks = search.marks(one.text) if marked else ()
            hits.append(Hit(note, one.shown, one.why, weak, one.text, marks, one.parts))
        return hits, matched

    def around(self, text: str, since: str, window: int) -> Around | None:
        """The notes that a new text must be compared with, found by the index."""
        from co_cli.knowledge.similarity import key  # only who saves asks this

        first = passages(text)[0]
        start = key(first[:_START])[: None if len(first) <= _START else -1]
        said = {folded for word in start if len(folded := words.folded(word)) > 2}
        rare = sorted((word for word in said if word.isalnum()), key=lambda w: (len(w), w))[-3:]
        if not rare:
            return None

        def act(index: Index, synced: Synced) -> Around | None:
            if synced.missing:
                return None
            same = {row.name for row in map(index.file, index.holding(*rare)) if row.number}
            found = Search(index, Question(text), self._text, quick=True).found()[:_NEIGHBOURS]
            near = [one.row.name for one in found if one.row.number]
            return Around(
                self._notes(sorted(same)),
                self._notes([*index.newest(since, window), *near]),
                index.count(),
                index.highest(),
            )

        return self._use(act)[0]

    def having(self, uids: set[str]) -> list[Note] | None:
        """The memories that have one of these uids; None when the index cannot say."""
        found, _ = self._use(lambda index, synced: None if synced.missing else index.having(uids))
        return None if found is None else [n for n in self._notes(found) if n.kind == "memory"]

    def _notes(self, names: Iterable[str]) -> list[Note]:
        return [note for note in map(self.note, names) if note is not None]


def _same(one: str, other: str) -> bool:
    from co_cli.knowledge.similarity import same  # seldom are two hits that alike

    return same(one, other)


def _why(error: Exception | None) -> str:
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return str(error) or type(error).__name__
