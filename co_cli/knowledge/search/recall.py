"""Keeps the index of a notebook fresh and answers from it; what happens when it cannot answer.

The index is brought up to date before each use. When it fails it is built anew, then built in
memory, and at last every file is read. Recall never fails, and says when it is not at its best.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from co_cli import paths
from co_cli.errors import CoError, EmbedderUnavailable
from co_cli.knowledge.format.note import Note
from co_cli.knowledge.meaning.encoders import Meaning, built_in
from co_cli.knowledge.pages import ARTICLES, Pages
from co_cli.knowledge.replacement import newest_first
from co_cli.knowledge.search import words
from co_cli.knowledge.search.candidate import Candidate
from co_cli.knowledge.search.files import FOLDERS, NoteFiles
from co_cli.knowledge.search.hits import (
    Around,
    Degraded,
    Filters,
    Hit,
    How,
    IndexReport,
    Recall,
    Synced,
)
from co_cli.knowledge.search.index import Index
from co_cli.knowledge.search.index_writer import digest, digest_of
from co_cli.knowledge.search.lookup import Row
from co_cli.knowledge.search.passages import passages, reading
from co_cli.knowledge.search.query import Query
from co_cli.knowledge.search.ranking import Ranking
from co_cli.knowledge.search.scan import scan
from co_cli.knowledge.search.tables import vec_path
from co_cli.knowledge.search.vectors import Vectors
from co_cli.knowledge.store import disk

if TYPE_CHECKING:
    from co_cli.knowledge.search.watch import Watcher

_SOON = "the next recall adds it"
_MEMORY_NOTES = 20_000  # an index in memory is built for no more
_NEIGHBOURS = 10
_PAID = 32  # passages that are read closely between two looks at the index
_SHORT = 2000  # characters by which two hits are told apart at first
_START = 400  # characters of a passage that stand together in any note that says the same
_T = TypeVar("_T")
_Progress = Callable[[int, int], None] | None


class _State(NamedTuple):
    """How the index stood when it was used."""

    searched: int = 0
    missing: Sequence[str] = ()
    unread: Sequence[tuple[str, str, int]] = ()
    degraded: Sequence[Degraded] = ()


class _Unlisted(Exception):
    """The folder itself cannot be read."""

    def __init__(self, error: CoError) -> None:
        super().__init__(str(error))
        self.error = error


class _Doubt(Exception):
    """The index was touched by somebody else while it was in use."""


class Search:
    """The search of one notebook: its index, kept fresh, and its watcher."""

    def __init__(self, pages: Pages, how: How) -> None:
        self.pages = pages
        self.files = NoteFiles(pages)
        self.root = pages.store.index_folder
        self.how = how
        self._unwatched = self._lacking = self._unkept = ""
        self._index: Index | None = None
        self._spare: Index | None = None  # in memory, where the folder takes no file
        self._watcher: Watcher | None = None
        if how.watch and self.root:
            from co_cli.knowledge.search.watch import Watcher  # a command looks once and is gone

            try:
                self._watcher = Watcher([pages.store.locate(name) for name in FOLDERS])
            except OSError as error:
                self._unwatched = f"the folder cannot be watched: {error.strerror}"

    def close(self) -> None:
        """Let go of the index and the watcher."""
        for one in (self._index, self._spare, self._watcher):
            if one is not None:
                one.close()

    @property
    def index_path(self) -> str:
        """Where the index is kept, or would be."""
        return os.path.join(self.root, paths.INDEX) if self.root else ""

    # The index

    def sync(self, *, anew: bool = False, progress: _Progress = None) -> Synced:
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
        progress: _Progress = None,
    ) -> tuple[_T | None, _State]:
        """Do something with an index that is up to date; None when there can be none."""
        if self.how.backend == "grep":
            return None, _State()
        trouble: Exception | None = None
        for index, again in self._attempts():
            try:
                with index.held():
                    seen, only = self._changes(index, anew or again)
                    if index.seal is None and len(seen) > _MEMORY_NOTES and only is None:
                        break
                    synced = index.sync(
                        seen, self.files.page, only=only, anew=anew or again,
                        explained=self.pages.removed, progress=progress,
                    )  # fmt: skip
                    found = act(index, synced)
                    lookup, path = index.lookup, self.files.path
                    unread = [(path(name), why, line) for name, why, line in lookup.unread()]
                    state = _State(lookup.count(), list(map(path, lookup.missing())), unread)
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

    def _changes(self, index: Index, whole: bool) -> tuple[dict[str, int], list[str] | None]:
        """The files as they are, all or those that changed; only while the index is held."""
        try:
            changed = self._watcher.changed() if self._watcher else None
            if changed is None or whole or not index.trusted():
                return self.files.signatures(), None
            return self.files.signatures_of(changed)
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
        if index.seal:
            self._unkept = ""
        elif trouble:
            self._unkept = f"the index cannot be saved in {self.root} ({_why(trouble)})"
        lacking = index.trouble or (self._lacking if index.embedder is None else "")
        index.trouble = ""
        if lacking:
            return [Degraded("no meaning", f"searched by words alone: {lacking}")]
        if self._unkept:
            return [Degraded("not kept", self._unkept)]
        return [Degraded("not watched", self._unwatched)] if self._unwatched else []

    def compare(self) -> IndexReport:
        """How the index stands to the files."""
        if self.how.backend == "grep":
            return IndexReport("unused", "not used: search_backend is grep")
        seen = self.files.signatures()
        if not os.path.lexists(self.index_path):
            return IndexReport("missing", "not built yet")
        index = self._made(kept=True)
        try:
            with index.held():
                if not index.trusted():
                    return IndexReport("broken", "damaged or outdated; the next recall rebuilds it")
                known, unread = index.lookup.digests(), index.lookup.unread()
        except Exception as error:  # the next recall sees to it
            return IndexReport("broken", f"cannot be used: {_why(error)}")
        finally:
            index.close()
        path = self.files.path
        behind = [(path(name), f"not indexed yet; {_SOON}") for name in sorted(seen.keys() - known)]
        for name in sorted(seen.keys() & known):
            page = self.files.page(name)
            if page and digest_of(page) != known[name]:
                behind.append((path(name), f"changed since it was indexed; {_SOON}"))
        behind += [(path(name), "indexed, but deleted") for name in sorted(known.keys() - seen)]
        articles = [(path(name), why) for name, why, _ in unread if name.startswith(ARTICLES)]
        many = len(behind) + len(articles)
        if not many:
            return IndexReport("up to date", "up to date")
        return IndexReport("behind", f"{many} behind", behind, articles)

    # Reading closely

    def read_closely(self, progress: _Progress = None, most: int = 0) -> int:
        """Read the passages that were only skimmed, newest first, all or so many; how many were.

        The index is not held meanwhile, and what was read is kept whatever happens next.
        """
        done, tried = 0, set[bytes]()
        while found := self._use(lambda index, _: index.lookup.skimmed(len(tried) + _PAID))[0]:
            few = min(_PAID, most - done) if most else _PAID
            waiting = [one for one in found if one[0] not in tried][:few]
            if not waiting:
                break
            tried.update(key for key, _, _ in waiting)
            vectors = self._read(waiting)
            self._use(lambda index, _, vectors=vectors: index.take_closely(vectors))  # type: ignore[misc]
            done += len(waiting)
            if progress:
                progress(*self.closely())
        return done

    def _read(self, waiting: Iterable[tuple[bytes, int, Row]]) -> dict[bytes, bytes]:
        """The vectors of these passages, also put beside the index; none for one that changed."""
        index = self._index
        if index is None or index.vectors is None or not isinstance(index.embedder, Meaning):
            return {}
        found: dict[bytes, bytes] = {}
        known: dict[str, dict[bytes, str]] = {}
        for key, _, row in waiting:
            if row.name not in known:
                known[row.name] = _readings(self.files.note(row.name))
            if text := known[row.name].get(key):
                found[key] = index.embedder.closely(text)
        if index.seal:
            with suppress(OSError):  # a folder that takes no file
                index.vectors.add(found)
        return found

    def tidy_vectors(self) -> None:
        """Forget the close readings of what is no longer a note's text; for a purge, of all."""
        if not self.root:
            return
        path = f"{self.index_path}-vectors"
        notes = self.files.notes(self.files.signatures())
        try:
            meaning = built_in()
        except EmbedderUnavailable:
            with suppress(FileNotFoundError):
                os.unlink(path)
            return
        keys = [key for note in notes for key in _readings(note)]
        Vectors(path, meaning.name, meaning.dim).keep(keys)

    def closely(self) -> tuple[int, int]:
        """How many notes with a meaning were read closely, and how many there are."""
        return self._use(lambda index, _: index.lookup.closely())[0] or (0, 0)

    # What is asked

    def recall(
        self, query: str, limit: int, filters: Filters, today: str, *, strict: bool, marked: bool
    ) -> Recall[Hit]:
        """The notes that answer, best first; every file is read where the index cannot tell."""
        if not self.pages.store.exists() and not os.path.lexists(self.index_path):
            return Recall()

        def act(index: Index, _: Synced) -> tuple[list[Hit], int]:
            ranking = Ranking(
                index, Query(query, today), self.files.text,
                allowed=index.lookup.allowed(filters), fusion=self.how.fusion, limit=limit,
            )  # fmt: skip
            found = ranking.candidates()
            told = ranking.answers(found) if strict else [(one, False) for one in found]
            return self._hits(ranking, told, limit, marked)

        found, state = self._use(act)
        hits, matched = found or ([], 0)
        if found is None or (not hits and len(query.strip()) < 3):  # shorter than the index looks
            notes = self.pages.look().notes
            hits = scan(query, filter(filters.fit, notes), today=today)
            matched, state = len(hits), state._replace(searched=len(notes))
        return Recall(newest_first(hits[:limit]), matched=matched, **state._asdict())

    def _hits(
        self, ranking: Ranking, found: list[tuple[Candidate, bool]], limit: int, marked: bool
    ) -> tuple[list[Hit], int]:
        """The notes themselves, without what says the same as a better one; how many match."""
        hits: list[Hit] = []
        matched = len(found)
        said: dict[str, str] = {}
        for one, weak in found:
            if len(hits) >= limit:
                break
            note = self.files.note(one.row.name)
            if note is None:
                continue
            other = said.setdefault(words.folded(note.body[:_SHORT]), note.body)
            if other is not note.body and _same(other, note.body):
                matched -= 1
                continue
            marks = ranking.marks(one.text) if marked else ()
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
            lookup = index.lookup
            same = {row.name for row in map(lookup.file, lookup.holding(*rare)) if row.number}
            found = Ranking(index, Query(text), self.files.text, quick=True).candidates()
            near = [one.row.name for one in found[:_NEIGHBOURS] if one.row.number]
            return Around(
                self.files.notes(sorted(same)),
                self.files.notes([*lookup.newest(since, window), *near]),
                lookup.count(),
                lookup.highest(),
            )

        return self._use(act)[0]

    def having(self, uids: set[str]) -> list[Note] | None:
        """The memories that have one of these uids; None when the index cannot say."""
        found, _ = self._use(
            lambda index, synced: None if synced.missing else index.lookup.having(uids)
        )
        return None if found is None else [n for n in self.files.notes(found) if n.kind == "memory"]


def _readings(note: Note | None) -> dict[bytes, str]:
    """What an embedder reads of a note, by the hash that the index knows it by."""
    texts = [reading(part, note.tags) for part in passages(note.text)] if note else []
    return {digest(text.encode("utf-8", "replace")): text for text in texts}


def _same(one: str, other: str) -> bool:
    from co_cli.knowledge.similarity import same  # seldom are two hits that alike

    return same(one, other)


def _why(error: Exception | None) -> str:
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return str(error) or type(error).__name__
