"""The derived index: one SQLite file a notebook, disposable at any moment.

Holds terms, letter triples, vectors, signatures and places, never an answer: hits name files, and
the files are read. Keeps up with the files and writes the rows; `lookup.py` asks for them.

Its seal says what the file looked like when Co last let go of it, and every use holds the kernel's
lock on it. An index that does not fit its seal was touched by somebody else, or is half written,
and is not believed.
"""

import json
import os
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Any

import apsw

from co_cli import paths
from co_cli.errors import EmbedderUnavailable, FormatError
from co_cli.knowledge.format.note import Note, linked_uids, number_of
from co_cli.knowledge.pages import Page
from co_cli.knowledge.search import words
from co_cli.knowledge.search.files import NoteFiles
from co_cli.knowledge.search.hits import Synced
from co_cli.knowledge.search.lookup import Lookup
from co_cli.knowledge.search.passages import digest, reading
from co_cli.knowledge.search.places import parts
from co_cli.knowledge.search.vectors import Reader
from co_cli.knowledge.store import disk

PATIENCE = 10.0  # seconds to wait for another process
_BESIDE = ("-wal", "-shm", "-journal")  # Co leaves none of these, but SQLite would believe them
_MANY = 9  # files that may vanish at once without a question
_BATCH = 1000
SCHEMA = "co 15"
Progress = Callable[[int, int], None] | None

_TABLES = """
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE file(
    id INTEGER PRIMARY KEY, name TEXT, sign INTEGER, hash BLOB, number INTEGER,
    created TEXT, expires TEXT, tags TEXT, passages INTEGER, why TEXT, line INTEGER,
    owed INTEGER, uid TEXT, language TEXT, compared INTEGER DEFAULT 0);
CREATE INDEX uncompared ON file(id) WHERE NOT compared;
CREATE TABLE link(file INTEGER, kind TEXT, uid TEXT);
CREATE INDEX linking ON link(file);
CREATE TABLE relation(new INTEGER, old INTEGER, verdict TEXT, score REAL,
    PRIMARY KEY(new, old)) WITHOUT ROWID;
CREATE INDEX related ON relation(old);
CREATE INDEX languages ON file(language) WHERE language <> '';
CREATE INDEX owing ON file(name) WHERE owed;
CREATE INDEX long ON file(passages) WHERE passages > 1;
CREATE INDEX names ON file(name);
CREATE INDEX unread ON file(name) WHERE why IS NOT NULL;
CREATE INDEX numbers ON file(number);
CREATE INDEX uids ON file(uid) WHERE uid IS NOT NULL;
CREATE TABLE place(id INTEGER PRIMARY KEY, place TEXT);
CREATE TABLE word(word TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE vector(id INTEGER PRIMARY KEY, v BLOB);
CREATE TABLE bits(id INTEGER PRIMARY KEY, hash BLOB, b BLOB, closely INTEGER);
CREATE VIRTUAL TABLE terms USING fts5(
    body, title, tags, date, content='', contentless_delete=1,
    tokenize="porter unicode61 remove_diacritics 2 tokenchars '_./#+:@-'''");
CREATE VIRTUAL TABLE letters USING fts5(
    text, content='', contentless_delete=1, detail=none, tokenize='trigram case_sensitive 1');
CREATE VIRTUAL TABLE counts USING fts5vocab(terms, 'row');
"""


class Index:
    """The index of one knowledge folder; without a path, in memory."""

    def __init__(self, path: str, files: NoteFiles, reader: Reader) -> None:
        self.path, self.files, self.reader = path, files, reader
        self._seal = f"{path}-seal"
        embedder = reader.embedder.name if reader.embedder else ""
        self._stamp = f"{SCHEMA} {apsw.sqlite_lib_version()} {embedder}"  # another is built anew
        self._lookup: Lookup | None = None
        self._inode = 0

    @property
    def lookup(self) -> Lookup:
        """What can be asked, while the index is open."""
        if self._lookup is None:
            raise FormatError("the index is not open")
        return self._lookup

    def held(self) -> AbstractContextManager[None]:
        """Keep every other process away from the index meanwhile."""
        return disk.locked(self._seal, PATIENCE) if self.path else nullcontext()

    def close(self) -> None:
        if self._lookup is not None:
            self._lookup.close()
            self._lookup = None

    def state(self) -> bytes:
        """What tells this very file, as it is now, from any other."""
        with suppress(FileNotFoundError):
            info = os.lstat(self.path)
            told = (info.st_mode, info.st_dev, info.st_ino, info.st_size)
            return f"{self._stamp} {told} {info.st_mtime_ns} {info.st_ctime_ns}".encode()
        return b""

    def is_whole(self) -> bool:
        """Whether the file is as Co left it."""
        if not self.path:
            return self._lookup is not None
        state = self.state()
        beside = any(os.path.lexists(self.path + ending) for ending in _BESIDE)
        return bool(state) and not beside and disk.read_if_any(self._seal, limit=4096) == state

    def trusted(self) -> bool:
        """Whether the file is as Co left it, and open."""
        if not self.is_whole():
            self.close()
            return False
        inode = os.lstat(self.path).st_ino if self.path else 0
        if self._lookup is None or self._inode != inode:
            self.close()
            self._lookup, self._inode = Lookup(self._open(self.path)), inode
        return True

    def _open(self, path: str) -> apsw.Connection:
        """An open database, each page checked when it is read, with distances between vectors."""
        db = apsw.Connection(path, vfs=_checking() if self.path else None)
        db.set_busy_timeout(2000)
        db.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
        db.pragma("journal_mode", "memory")
        db.pragma("synchronous", "off")
        db.pragma("temp_store", "memory")
        if self.reader.embedder:
            _load(db, vec_path())
            db.create_scalar_function("kept", self.reader.vector, 2)  # type: ignore[arg-type]
        return db

    @contextmanager
    def _written(self) -> Iterator[None]:
        """While the database is written to; nobody believes it before that is done."""
        if self.path:
            disk.refuse_writing(self.path)
            with open(self._seal, "r+b") as seal:  # also after a power cut
                seal.truncate()
                disk.sync_file(seal.fileno())
        with self.lookup.db:
            yield
        if self.path:
            self._close_seal()

    def _close_seal(self) -> None:
        """Write down what the file looks like now, once that is on the disk."""
        with open(self.path, "r+b") as file:
            disk.sync_file(file.fileno())
        with open(self._seal, "r+b") as seal:
            seal.write(self.state())
            seal.truncate()

    def sync(
        self, seen: Mapping[str, int], only: Iterable[str] | None, *, anew: bool, progress: Progress
    ) -> Synced:
        """Take in what changed since the last time; the same rows as a rebuild would write.

        `seen` holds every file there is with its signature, or just those named by `only`.
        When most files are gone at once and Co did not remove them, their rows stay and are silent.
        """
        if anew or not self.trusted():
            self._rebuild(seen, progress)
            return Synced(added=len(seen), rebuilt=True)
        lookup = self.lookup
        state = _summed(seen) if only is None else ""
        if state and state == lookup.meta("seen"):
            return Synced()
        known = lookup.signatures(only)
        owed = lookup.owed() & seen.keys()
        if owed and not self.reader.query("again"):  # the embedder does not answer yet
            owed = set()
        stale = sorted({name for name, _ in seen.items() - known.items()} | owed)
        gone = known.keys() - seen.keys()
        before = set(lookup.missing())
        missing = before & gone if only is None else before - seen.keys()
        if len(gone - before) > max(_MANY, (lookup.files_in_all() - len(before)) // 2):
            missing |= gone - before - self.files.pages.removed()
        gone -= missing
        if not (stale or gone or missing != before) and (missing or not state):
            return Synced(missing=len(missing))
        with self._written():
            added, changed = self._take(stale, known, self._drop(gone), progress)
            self._remember(state, missing)
        return Synced(added, changed, len(gone), len(missing))

    def _rebuild(self, seen: Mapping[str, int], progress: Progress) -> None:
        """Write everything into a new file and put it in the old one's place."""
        self.close()
        if not self.path:
            self._fill(":memory:", seen, progress)
            return
        disk.refuse_writing(self.path)
        new = self.path + "-new"
        for ending in ("", *_BESIDE):
            _unlink(new + ending)
        try:
            self._fill(new, seen, progress)
            self.close()
            for ending in _BESIDE:
                _unlink(self.path + ending)
            os.replace(new, self.path)
            ignore = os.path.join(os.path.dirname(self.path), ".gitignore")
            if not os.path.lexists(ignore):
                disk.create(ignore, paths.GITIGNORE)
        except BaseException:
            _unlink(new)
            raise
        self._close_seal()
        self.trusted()

    def _fill(self, path: str, seen: Mapping[str, int], progress: Progress) -> None:
        db = self._open(path)
        db.reserve_bytes("main", 8)  # for the checksum of each page
        db.pragma("auto_vacuum", "incremental")
        db.execute(_TABLES)
        for table in ("terms", "letters"):  # so that a leaf and its checksum fit one page
            db.execute(f"INSERT INTO {table}({table}, rank) VALUES('pgsz', 4040)")
        self._lookup = Lookup(db)
        self._take(sorted(seen), {}, {}, progress)
        self._remember(_summed(seen), set())

    def _remember(self, state: str, missing: set[str]) -> None:
        """Keep the sum of all signatures, if each file has one and nothing is owed or missing."""
        db = self.lookup.db
        unsure = missing or db.execute("SELECT count(*) FROM file WHERE sign=0 OR owed").get
        values = [("seen", "" if unsure else state), ("absent", json.dumps(sorted(missing)))]
        db.executemany("INSERT OR REPLACE INTO meta VALUES(?, ?)", values)

    # The rows

    def _drop(self, names: Iterable[str]) -> dict[bytes, bytes]:
        """Remove the rows of these files; a provider's vectors of them, by their hash."""
        ask, freed = self.lookup.db.execute, dict[bytes, bytes]()
        for name in names:
            rows = ask("SELECT id, id + passages - 1 FROM file WHERE name=?", (name,)).get
            query = "SELECT hash, v FROM vector JOIN bits USING (id) WHERE id BETWEEN ? AND ?"
            freed.update(ask(query, rows) if not self.reader.kept else ())
            for table in ("terms", "letters", "vector", "bits", "place"):
                ask(f"DELETE FROM {table} WHERE rowid BETWEEN ? AND ?", rows)
            ask("DELETE FROM file WHERE id=?", rows[:1])
            ask("DELETE FROM link WHERE file=?", rows[:1])
            ask("DELETE FROM relation WHERE new=? OR old=?", (*rows[:1], *rows[:1]))
        return freed

    def _take(
        self,
        names: Sequence[str],
        known: Mapping[str, int],
        freed: dict[bytes, bytes],
        progress: Progress,
    ) -> tuple[int, int]:
        """Write the rows of these files, some at a time; how many are new, and how many changed.

        One that says what it said keeps its rows.
        """
        added = changed = 0
        vocabulary: set[str] = set()
        for start in range(0, len(names), _BATCH):
            some = names[start : start + _BATCH]
            read = {name: self.files.page(name) for name in some}  # None: gone since it was listed
            there = [(name, page) for name, page in read.items() if page]
            with self.lookup.db:
                same = {name for name, page in there if name in known and self._is_same(name, page)}
                freed |= self._drop(read.keys() & known.keys() - same)
                fresh = [(name, page) for name, page in there if name not in same]
                self._insert(fresh, freed, vocabulary)
            again = sum(name in known for name, _ in fresh)
            added, changed = added + len(fresh) - again, changed + again
            if progress:
                progress(start + len(some), len(names))
        return added, changed

    def _is_same(self, name: str, page: Page) -> bool:
        """Whether a file holds what its rows were made of; if so, they get its signature."""
        ask = self.lookup.db.execute
        hashed = ask("SELECT hash FROM file WHERE name=? AND NOT owed", (name,)).get
        same: bool = hashed == digest_of(page)
        if same:
            ask("UPDATE file SET sign=? WHERE name=?", (page.signature, name))
        return same

    def _insert(
        self, fresh: list[tuple[str, Page]], freed: Mapping[bytes, bytes], vocabulary: set[str]
    ) -> None:
        """Write the rows of new files; `vocabulary` is what was written down just before."""
        query = "SELECT id + max(passages, 1) FROM file ORDER BY id DESC LIMIT 1"
        row = self.lookup.db.execute(query).get or 1  # a file takes a row for each passage
        files: list[tuple[Any, ...]] = []
        terms: list[tuple[int, str, str, str, str]] = []
        links = list[tuple[int, str, str]]()
        letters, places = list[tuple[int, str]](), list[tuple[int, str]]()
        readings: list[tuple[int, bytes, str]] = []
        for name, page in fresh:
            note, known = page.found, (row, name, page.signature, digest_of(page))
            if isinstance(note, FormatError):
                head = number_of(name), "", "", "", 0
                files.append((*known, *head, str(note), note.line, 0, None, ""))
                row += 1
                continue
            told = parts(note)
            tags = "".join(f"\n{tag.lower()}" for tag in note.tags)
            around = words.analysed(tags), words.dated(note.created)
            for at, part in enumerate(told, row):
                terms.append((at, words.analysed(part.text), words.analysed(part.own), *around))
                letters.append((at, f"{words.folded(part.text)}\n{words.folded(part.own + tags)}"))
                if self.reader.embedder:
                    readings.append((at, *reading(part, note.tags)))
            places += (
                (at, json.dumps(part.place)) for at, part in enumerate(told, row) if part.place
            )
            expires = str(note.meta.get("expires") or "")[:10]
            head = note.id, note.created, expires, tags + "\n", len(told)
            uid = note.meta.get("uid") or None
            files.append((*known, *head, None, 0, 0, uid, note.language))
            links += _links(row, note)
            row += len(told)
        put = self.lookup.db.executemany
        put("INSERT INTO link VALUES(?,?,?)", links)
        put("INSERT INTO letters(rowid,text) VALUES(?,?)", letters)
        put("INSERT INTO place VALUES(?,?)", places)
        self._put_terms(terms, vocabulary)
        found = self.reader.passages({key: text for _, key, text in readings}, freed)
        if found is None and readings:
            files = [(*file[:-3], 1, *file[-2:]) for file in files]  # owed until it answers again
        put("INSERT INTO file VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,0)", files)
        there = found or {}
        self._put_vectors([(at, key, *there[key]) for at, key, _ in readings if key in there])

    def _put_terms(self, terms: list[tuple[int, str, str, str, str]], vocabulary: set[str]) -> None:
        """Write the words of passages, and those that no note had before."""
        put = self.lookup.db.executemany
        put("INSERT INTO terms(rowid,body,title,tags,date) VALUES(?,?,?,?,?)", terms)
        words_here = set[str]().union(*(text.split() for row in terms for text in row[1:4]))
        new = (word for word in words_here - vocabulary if 1 + word.isascii() < len(word) < 40)
        put("INSERT OR IGNORE INTO word VALUES(?)", [(word,) for word in sorted(new)])
        vocabulary |= words_here

    def take_closely(self, vectors: Mapping[bytes, tuple[bytes, int]]) -> None:
        """Put the vectors of passages that were read closely in the place of the quick ones."""
        with self._written():
            waiting = self.lookup.db.execute("SELECT id, hash FROM bits WHERE NOT closely")
            rows = [(at, key, *vectors[key]) for at, key in waiting if key in vectors]
            self._put_vectors(rows)
            self.lookup.db.execute("PRAGMA incremental_vacuum").fetchall()

    def take_relations(self, name: str, relations: Iterable[tuple[str, str, str, float]]) -> None:
        """Write what was read of a file's memory and its neighbours: new, old, verdict, score."""
        query = """INSERT OR REPLACE INTO relation SELECT new.id, old.id, ?3, ?4
            FROM file new, file old WHERE new.name=?1 AND old.name=?2"""
        with self._written():
            self.lookup.db.executemany(query, relations)
            self.lookup.db.execute("UPDATE file SET compared=1 WHERE name=?", (name,))

    def _put_vectors(self, rows: list[tuple[int, bytes, bytes, int]]) -> None:
        """Write vectors: the passage, the hash of its reading, the vector, how it was read.

        One that is kept beside the index is not written into it.
        """
        put = self.lookup.db.executemany
        kept = {at for at, key, _, how in rows if how and self.reader.vector(key, how)}
        put("DELETE FROM vector WHERE id=?", [(at,) for at in kept])
        there = [(at, vector) for at, _, vector, _ in rows if at not in kept]
        put("INSERT OR REPLACE INTO vector VALUES(?,?)", there)
        put("INSERT OR REPLACE INTO bits VALUES(?,?,vec_quantize_binary(vec_int8(?)),?)", rows)


def _links(row: int, note: Note) -> list[tuple[int, str, str]]:
    """The rows of what a memory's header says of others."""
    kinds = ("updates", "related") if note.kind == "memory" else ()
    return [(row, kind, uid) for kind in kinds for uid in linked_uids(note, kind)]


def digest_of(page: Page) -> bytes:
    """What tells a file from any other content, or reason why there is no note in it."""
    if isinstance(page.found, Note):
        told = page.found.created if page.found.plain or page.found.kind == "article" else ""
    else:
        told = "" if page.raw else str(page.found)
    return digest(page.raw + told.encode("utf-8", "replace"))


def _summed(seen: Mapping[str, int]) -> str:
    """One text for a folder as it is; another order of the same files may give another."""
    names = zlib.crc32("\n".join(seen).encode("utf-8", "surrogateescape"))
    return f"{len(seen)} {sum(seen.values())} {names}"


def _unlink(path: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(path)


def vec_path() -> str:
    """Where sqlite-vec's library lies; importing the package would load numpy."""
    for folder in sys.path:
        path = os.path.join(folder, "sqlite_vec", "vec0")
        if os.path.isabs(folder) and os.path.isdir(os.path.dirname(path)):
            return path
    raise EmbedderUnavailable("the package sqlite-vec is not installed")


def _load(db: apsw.Connection, extension: str) -> None:
    db.config(apsw.SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1)
    try:
        db.load_extension(extension)
    finally:
        db.config(apsw.SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0)


def _checking() -> str:
    """The file layer that checks each page's checksum when it is read; apsw brings it along."""
    if "cksmvfs" not in apsw.vfs_names():
        folder = os.path.join(os.path.dirname(apsw.__file__), "sqlite_extra_binaries")
        _load(apsw.Connection(":memory:"), os.path.join(folder, "cksumvfs"))
    return "cksmvfs"
