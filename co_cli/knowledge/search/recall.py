"""Keeps the index of a notebook fresh and answers from it; what happens when it cannot answer.

The index is brought up to date before each use. When it fails it is built anew, then built in
memory, and at last every file is read. Recall never fails, and says when it is not at its best.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeVar

from co_cli import paths
from co_cli.errors import CoError, EmbedderUnavailable
from co_cli.knowledge.format.note import Note
from co_cli.knowledge.meaning.encoders import Embedder, built_in
from co_cli.knowledge.pages import Pages
from co_cli.knowledge.search import words
from co_cli.knowledge.search.excerpts import excerpts
from co_cli.knowledge.search.files import FOLDERS, NoteFiles
from co_cli.knowledge.search.hits import Around, Degraded, Filters, Hit, How, Recall, Synced
from co_cli.knowledge.search.index import Index, Progress, digest_of, vec_path
from co_cli.knowledge.search.passages import LONGEST, passages, reading
from co_cli.knowledge.search.places import parts
from co_cli.knowledge.search.query import Query
from co_cli.knowledge.search.ranking import Candidate, Ranking
from co_cli.knowledge.search.scan import scan
from co_cli.knowledge.search.vectors import Reader, forget_others
from co_cli.knowledge.store import disk

if TYPE_CHECKING:
    from co_cli.knowledge.search.lookup import Lookup
    from co_cli.knowledge.search.watch import Watcher

_SOON = "the next recall adds it"
_MEMORY_NOTES = 20_000  # an index in memory is built for no more
_NEIGHBOURS = 10
_COMPARED = 5  # memories near one that it is compared with, itself among them
_PAID = 32  # passages that are read closely between two looks at the index
_SHORT = 2000  # characters by which two hits are told apart at first
_START = 400  # characters of a passage that stand together in any note that says the same
_T = TypeVar("_T")
_Answer = tuple[list[Hit], int, int, int, dict[str, list[str]]]


class IndexReport(NamedTuple):
    """How an index stands to the files, for programs and in words."""

    state: Literal["unused", "missing", "broken", "behind", "up to date"]
    text: str
    behind: Sequence[tuple[str, str]] = ()  # files that the next recall catches up with, and why


class Search:
    """The search of one notebook: its index, kept fresh, and its watcher."""

    def __init__(self, pages: Pages, how: How) -> None:
        self.pages, self.how = pages, how
        self.files = NoteFiles(pages)
        self.root = pages.store.index_folder
        self.index_path = os.path.join(self.root, paths.INDEX) if self.root else ""
        self._unwatched = self._lacking = ""
        self._watcher: Watcher | None = None
        if how.watch and self.root:
            from co_cli.knowledge.search.watch import Watcher  # a command looks once and is gone

            try:
                self._watcher = Watcher([pages.store.locate(name) for name in FOLDERS])
            except OSError as error:
                self._unwatched = f"the folder cannot be watched: {error.strerror}"
        self._vectors = f"{self.index_path}-vectors" if self.root else ""
        embedder: Embedder | None = None
        if how.backend not in ("fts5", "grep"):
            try:
                vec_path()  # without it no vector can be compared
                embedder = how.embedder() if how.embedder else built_in()
            except EmbedderUnavailable as error:
                self._lacking = str(error)
        self._reader = Reader(embedder, self._vectors)
        self._index = Index(self.index_path, self.files, self._reader)
        self._spare = Index("", self.files, self._reader)  # where the folder takes no file

    def close(self) -> None:
        """Let go of the index and the watcher."""
        self._index.close()
        self._spare.close()
        if self._watcher:
            self._watcher.close()

    # The index

    def sync(self, *, anew: bool = False, progress: Progress = None) -> Synced:
        """Bring the index up to date now."""
        return self._use(lambda *_: None, anew=anew, progress=progress)[1]

    def _use(
        self, act: Callable[[Index, Synced], _T], *, anew: bool = False, progress: Progress = None
    ) -> tuple[_T | None, Synced]:
        """Do something with an index that is up to date; None when there can be none.

        When that fails it is tried with a new one in its place, then with one in memory.
        """
        if self.how.backend == "grep":
            return None, Synced()
        trouble: Exception | None = None
        for index, again in ((self._index, False), (self._index, True), (self._spare, False)):
            try:
                with index.held():
                    seen, only = self._changes(index, anew or again)
                    if not index.path and len(seen) > _MEMORY_NOTES and only is None:
                        break
                    synced = index.sync(seen, only, anew=anew or again, progress=progress)
                    found = act(index, synced)
                    synced = self._told(index, synced)
                    if not index.is_whole():
                        raise CoError("another program wrote to the index")
                return found, synced._replace(degraded=self._degraded(index, trouble))
            except BaseException as error:  # any doubt about the index is a reason to rebuild it
                if self._watcher:
                    self._watcher.reset()  # what it told was not taken in
                if not isinstance(error, Exception):
                    raise
                index.close()
                trouble = error
                if isinstance(error, disk.Busy):
                    break
        self.files.signatures()  # raises where the folder itself cannot be read
        reason = f"the index cannot be used ({_why(trouble)}); every note was read instead"
        return None, Synced(degraded=[Degraded("no index", reason)])

    def _told(self, index: Index, synced: Synced) -> Synced:
        lookup, path = index.lookup, self.files.path
        unread = [(path(name), why, line) for name, why, line in lookup.unread()]
        absent = [path(name) for name in lookup.missing()]
        return synced._replace(notes=lookup.count(), unread=unread, absent=absent)

    def _changes(self, index: Index, whole: bool) -> tuple[dict[str, int], list[str] | None]:
        """The files as they are, all or those that changed; only while the index is held."""
        changed = self._watcher.changed() if self._watcher else None
        if changed is None or whole or not index.trusted():
            return self.files.signatures(), None
        return self.files.signatures_of(changed)

    def _degraded(self, index: Index, trouble: Exception | None) -> list[Degraded]:
        lacking, others = self._reader.trouble or self._lacking, self._reader.unread_languages
        self._reader.trouble = self._reader.unread_languages = ""
        if lacking:
            return [Degraded("no meaning", f"searched by words alone: {lacking}")]
        if others:
            return [Degraded("no meaning", f"other languages searched by words alone: {others}")]
        if index is self._spare and trouble:
            reason = f"the index cannot be saved in {self.root} ({_why(trouble)})"
            return [Degraded("not kept", reason)]
        return [Degraded("not watched", self._unwatched)] if self._unwatched else []

    def compare(self) -> IndexReport:
        """How the index stands to the files."""
        if self.how.backend == "grep":
            return IndexReport("unused", "not used: search_backend is grep")
        seen = self.files.signatures()
        if not os.path.lexists(self.index_path):
            return IndexReport("missing", "not built yet")
        try:
            with self._index.held():
                if not self._index.trusted():
                    return IndexReport("broken", "damaged or outdated; the next recall rebuilds it")
                known = self._index.lookup.digests()
        except Exception as error:  # the next recall sees to it
            return IndexReport("broken", f"cannot be used: {_why(error)}")
        path = self.files.path
        behind = [(path(name), f"not indexed yet; {_SOON}") for name in sorted(seen.keys() - known)]
        for name in sorted(seen.keys() & known):
            page = self.files.page(name)
            if page and digest_of(page) != known[name]:
                behind.append((path(name), f"changed since it was indexed; {_SOON}"))
        behind += [(path(name), "indexed, but deleted") for name in sorted(known.keys() - seen)]
        if not behind:
            return IndexReport("up to date", "up to date")
        return IndexReport("behind", f"{len(behind)} behind", behind)

    # Reading closely

    def read_closely(self, progress: Progress = None, most: int = 0, name: str = "") -> int:
        """Read the passages that were only skimmed, newest first; how many were read.

        All, or so many, or those of one file. The index is not held meanwhile, and what was read is
        kept whatever happens next.
        """
        tried = set[bytes]()
        while not most or len(tried) < most:
            found = self._use(lambda index, _: index.lookup.skimmed(len(tried) + _PAID))[0] or ()
            few = min(_PAID, most - len(tried)) if most else _PAID
            fresh = [one for one in found if one[0] not in tried and name in ("", one[1])]
            if not (waiting := fresh[:few]):
                break
            tried.update(key for key, _ in waiting)
            names = {name for _, name in waiting}  # a long note has many of the passages
            texts = {name: _readings(self.files.note(name)) for name in names}
            there = {key: texts[name][key] for key, name in waiting if key in texts[name]}
            if vectors := self._reader.closely(there):
                self._use(lambda index, _, read=vectors: index.take_closely(read))  # type: ignore[misc]
            if progress:
                read = self._use(lambda index, _: index.lookup.read_passages())[0]
                progress(*(read or (0, 0)))
            if name:
                break
        return len(tried)

    def tidy_vectors(self) -> None:
        """Forget the close readings of what is no longer a note's text; for a purge, of all."""
        notes = self.files.notes(self.files.signatures())
        keys = {key for note in notes for key in _readings(note)}
        forget_others(self._vectors, keys)

    def closely(self) -> tuple[int, int]:
        """How many notes with a meaning were read closely, and how many there are."""
        return self._use(lambda index, _: index.lookup.closely())[0] or (0, 0)

    # What is asked

    def vectors(self) -> dict[str, bytes]:
        """What each file says, by name, as a vector of signed bytes; none where there are none."""
        if self._reader.embedder is None:
            return {}
        return self._use(lambda index, _: index.lookup.vectors())[0] or {}

    def recall(self, query: str, limit: int, filters: Filters, today: str) -> Recall[Hit]:
        """The notes that may answer, best first, with what the ranking makes of each.

        Every file is read where the index cannot tell.
        """
        if not self.pages.store.exists() and not os.path.lexists(self.index_path):
            return Recall()

        def act(index: Index, _: Synced) -> _Answer:
            ranking = Ranking(index, Query(query, today), filters, limit)
            found = ranking.candidates()
            answers = ranking.answers(found)
            counts = index.lookup.articles(), index.lookup.hidden(filters)
            plausible = {self.files.path(one.row.name) for one in answers}
            hits, matched = self._hits(ranking, found, limit, filters, {*map(id, answers)})
            hits = [hit._replace(plausible=hit.note.path in plausible) for hit in hits]
            hits = self._with_doubts(index, hits, filters)
            return hits, matched, *counts, index.lookup.updates()

        found, state = self._use(act)
        hits, matched, articles, hidden, updates = found or ([], 0, 0, 0, {})
        if found is None or (not hits and len(query.strip()) < 3):  # shorter than the index looks
            from co_cli.knowledge.search.updates import linked_files

            notes = self.pages.look().notes
            every = [*notes, *self.pages.articles()[0]]
            articles, updates = len(every) - len(notes), linked_files(notes)
            hits = scan(query, filter(filters.fit, every), today=today)
            told = Filters(languages=filters.languages)
            hidden = sum(not told.fit(note) for note in notes)
            matched, state = len(hits), state._replace(notes=len(notes))
        return Recall(
            hits[:limit], searched=state.notes - hidden, articles=articles,
            matched=matched, degraded=state.degraded, missing=state.absent, unread=state.unread,
            updates=updates,
        )  # fmt: skip

    def _with_doubts(self, index: Index, hits: list[Hit], filters: Filters) -> list[Hit]:
        """The hits, each with the note that seems to update it, where nobody has confirmed that."""
        doubts, met = dict[str, Note](), {hit.note.path for hit in hits}
        is_shown = Filters(languages=filters.languages, sensitive=filters.sensitive).fit
        for new, name, _ in index.lookup.unconfirmed():
            old = self.files.path(name)
            if old in met and old not in doubts and (note := self.files.note(new)):
                doubts |= {old: note} if is_shown(note) else {}
        return [hit._replace(maybe_updated_by=doubts.get(hit.note.path)) for hit in hits]

    def _hits(
        self, ranking: Ranking, found: list[Candidate], limit: int, filters: Filters,
        answers: set[int],
    ) -> tuple[list[Hit], int]:  # fmt: skip
        """The notes themselves, without what says the same as a better one; how many match.

        Of what was found, those with the ids in `answers` match.
        """
        hits: list[Hit] = []
        matched = len(answers)
        said: dict[str, str] = {}
        for one in found:
            if len(hits) >= limit:
                break
            article = one.row.article
            note = ranking.parts.article(one.row) if article else self.files.note(one.row.name)
            if note is None or not (filters.sensitive or filters.fit(note)):
                matched -= note is not None and id(one) in answers  # nor is its being there told
                continue
            text = one.text if article else note.body
            other = said.setdefault(words.folded(text[:_SHORT]), text)
            if other is not text:
                from co_cli.knowledge.compare.same import same  # seldom are two hits that alike

                if same(other, text):
                    matched -= id(one) in answers
                    continue
            told, also = excerpts(ranking, one)
            text, note = told.text[:LONGEST], self._numbered(ranking.lookup, note)
            hits.append(Hit(
                note, one.shown, one.why, one.weak, text, ranking.marks(text), one.parts,
                heading=told.heading, anchor=told.anchor, also=also, rank=one.score,
                exact=bool(one.exact),
            ))  # fmt: skip
        return hits, matched

    def neighbours(self, text: str, most: int) -> list[tuple[Note, float]] | None:
        """The memories nearest to a text, with their rank; None where the index cannot say."""

        def act(index: Index, _: Synced) -> list[tuple[Note, float]]:
            memories = Filters(kind="memory")
            found = Ranking(index, Query(text[:_SHORT]), memories, most).candidates()
            read = ((one.score, self.files.note(one.row.name)) for one in found[:most])
            return [(self._numbered(index.lookup, note), rank) for rank, note in read if note]

        return self._use(act)[0]

    def compare_notes(self, progress: Progress = None, most: int = 0, name: str = "") -> int:
        """Compare memories with their neighbours for what is out of date; how many were compared.

        All that are pending, newest first, or so many, or the one in a file. The index is not held
        while the reader reads, and what was read is kept whatever happens next.
        """
        if not (self.how.reads and self._reader.embedder):
            return 0
        from co_cli.knowledge.compare.neighbours import related

        done = set[str]()
        while not most or len(done) < most:
            few = most or _PAID + len(done)
            pending = self._use(lambda index, _, few=few: index.lookup.uncompared(few, name))[0]  # type: ignore[misc]
            for file in (fresh := [one for one in pending or () if one not in done]):
                note = self.files.note(file)
                near = self.neighbours(note.body, _COMPARED) if note else []
                try:
                    rows = related(note, [one for one, _ in near]) if note and near else []
                except EmbedderUnavailable:  # recall says so; it stays pending
                    return len(done)
                self._use(lambda index, _, at=file, rows=rows: index.take_relations(at, rows))  # type: ignore[misc]
                done.add(file)
                if progress:
                    counts = self._use(lambda index, _: index.lookup.comparisons())[0]
                    progress(*(counts or (0, 0)))
            if not fresh or name:
                break
        return len(done)

    def unconfirmed(self) -> list[tuple[Note, Note, float]]:
        """Pairs of memories of which the first seems to update the second, the surest first."""
        found = self._use(lambda index, _: index.lookup.unconfirmed())[0] or []
        pairs = ((self.files.note(new), self.files.note(old), score) for new, old, score in found)
        return [(new, old, score) for new, old, score in pairs if new and old]

    def restated(self) -> list[tuple[Note, Note]]:
        """Pairs of memories of which the first seems to say what the second says."""
        found = self._use(lambda index, _: index.lookup.restated())[0] or []
        pairs = ((self.files.note(new), self.files.note(old)) for new, old in found)
        return [(new, old) for new, old in pairs if new and old]

    def around(self, text: str, since: str, window: int) -> Around | None:
        """The notes that a new text must be compared with, found by the index."""
        from co_cli.knowledge.compare.same import key  # only who saves asks this

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
            same = {lookup.file(row).name for row in lookup.holding(*rare)}
            found = Ranking(index, Query(text), Filters(), _NEIGHBOURS).candidates(quick=True)
            near = [one.row.name for one in found[:_NEIGHBOURS]]

            def told(names: list[str]) -> list[Note]:
                notes = self.files.notes(names)
                return [self._numbered(lookup, note) for note in notes if note.kind == "memory"]

            around = told(sorted(same)), told([*lookup.newest(since, window), *near])
            return Around(*around, lookup.count(), lookup.highest())

        return self._use(act)[0]

    def _numbered(self, lookup: Lookup, note: Note) -> Note:
        """The note with the number that one who has read all files would give it."""
        if not (note.plain and note.id):
            return note
        tail = self.pages.store.tail()
        return self.pages.numbered(note, lookup.sharing(note.id) > 1, tail)

    def having(self, uids: set[str]) -> list[Note] | None:
        """The memories that have one of these uids; None when the index cannot say."""
        found, _ = self._use(
            lambda index, synced: None if synced.missing else index.lookup.having(uids)
        )
        return None if found is None else [n for n in self.files.notes(found) if n.kind == "memory"]


def _readings(note: Note | None) -> dict[bytes, str]:
    """What an embedder reads of a note, by the hash that the index knows it by."""
    return dict(reading(part, note.tags) for part in parts(note)) if note else {}


def _why(error: Exception | None) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
