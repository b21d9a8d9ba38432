"""The derived index: one SQLite file a notebook, disposable at any moment.

Holds terms, letter triples, vectors and signatures, never an answer: hits name files, and the
files are read. Every use holds the kernel's lock on the seal, a small file beside the index that
says what the index looked like when Co last let go of it. Anything else there now is not ours.
"""

from __future__ import annotations

import json
import os
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import apsw

from co_cli import paths
from co_cli.errors import EmbedderUnavailable, FormatError
from co_cli.knowledge.format.note import number_of
from co_cli.knowledge.meaning.encoders import Embedder, Meaning, tagged
from co_cli.knowledge.pages import Page
from co_cli.knowledge.search import words
from co_cli.knowledge.search.hits import Synced
from co_cli.knowledge.search.lookup import Lookup
from co_cli.knowledge.search.passages import passages
from co_cli.knowledge.search.vectors import Vectors
from co_cli.knowledge.store import disk

SCHEMA = "co 7"
PATIENCE = 10.0
_BATCH = 1000
_MANY = 9  # files that may vanish at once without a question

_TABLES = """
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE file(
    id INTEGER PRIMARY KEY, key INTEGER, name TEXT, sign INTEGER, hash BLOB, number INTEGER,
    created TEXT, expires TEXT, tags TEXT, passages INTEGER, speaker TEXT, why TEXT, line INTEGER,
    owed INTEGER, uid TEXT);
CREATE INDEX owing ON file(name) WHERE owed;
CREATE INDEX long ON file(passages) WHERE passages > 1;
CREATE INDEX keys ON file(key);
CREATE INDEX unread ON file(name) WHERE why IS NOT NULL;
CREATE INDEX numbers ON file(number);
CREATE INDEX uids ON file(uid) WHERE uid IS NOT NULL;
CREATE INDEX speakers ON file(speaker) WHERE speaker IS NOT NULL;
CREATE TABLE word(word TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE vector(id INTEGER PRIMARY KEY, hash BLOB, v BLOB, closely INTEGER);
CREATE INDEX skimmed ON vector(id) WHERE NOT closely;
CREATE TABLE bits(id INTEGER PRIMARY KEY, b BLOB);
CREATE VIRTUAL TABLE terms USING fts5(
    body, title, tags, date, content='', contentless_delete=1,
    tokenize="porter unicode61 remove_diacritics 2 tokenchars '_./#+:@-'''");
CREATE VIRTUAL TABLE letters USING fts5(
    text, content='', contentless_delete=1, detail=none, tokenize='trigram case_sensitive 1');
CREATE VIRTUAL TABLE counts USING fts5vocab(terms, 'row');
"""


class Index(Lookup):
    """The index of one knowledge folder, or of nothing but memory when the folder takes no file."""

    def __init__(
        self,
        root: str,
        embedder: Embedder | None = None,
        *,
        kept: bool = True,
    ) -> None:
        super().__init__()
        self.path = os.path.join(root, paths.INDEX)
        self.embedder = embedder
        self.vectors = (
            Vectors(f"{self.path}-vectors", embedder.name, embedder.dim)
            if isinstance(embedder, Meaning)
            else None
        )
        self.kept = kept
        self.trouble = ""
        self._learnt: set[str] = set()  # words of an index that is being built
        self._inode = 0

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep every other process away from the index meanwhile."""
        if not self.kept:
            yield
            return
        with disk.locked(self._seal, PATIENCE):
            yield

    def close(self) -> None:
        """Let go of the database."""
        if self._db is not None:
            self._stem = None
            self._db.close()
            self._db = None

    @property
    def _seal(self) -> str:
        return self.path + "-seal"

    def _state(self) -> bytes:
        """What tells this very file, as it is now, from any other."""
        with suppress(FileNotFoundError):
            info = os.lstat(self.path)
            told = (info.st_mode, info.st_dev, info.st_ino, info.st_size)
            return f"{self._stamp()} {told} {info.st_mtime_ns} {info.st_ctime_ns}".encode()
        return b""

    def _stamp(self) -> str:
        name = self.embedder.name if self.embedder else ""
        return f"{SCHEMA} {apsw.sqlite_lib_version()} {name}"

    def trusted(self) -> bool:
        """Whether the file is as Co left it, and open."""
        if not self.kept:
            return self._db is not None
        state = self._state()
        beside = any(os.path.lexists(self.path + one) for one in ("-wal", "-shm", "-journal"))
        if beside or not state or disk.read_if_any(self._seal, limit=4096) != state:
            self.close()
            return False
        inode = os.lstat(self.path).st_ino
        if self._db is None or self._inode != inode:
            self.close()
            self._db, self._inode = self._open(self.path), inode
        return True

    def intact(self) -> bool:
        """Whether nobody else touched the index while it was in use."""
        return not self.kept or disk.read_if_any(self._seal, limit=4096) == self._state()

    def _break_seal(self) -> None:
        """See to it that nothing half written is ever believed, not even after a power cut."""
        if self.kept:
            with open(self._seal, "r+b") as seal:
                seal.truncate()
                disk.sync_file(seal.fileno())

    def _seal_it(self) -> None:
        """Write down what the index looks like now, once that is on the disk."""
        if self.kept:
            with open(self.path, "r+b") as file:
                disk.sync_file(file.fileno())
            with open(self._seal, "r+b") as seal:
                seal.write(self._state())
                seal.truncate()

    def _open(self, path: str) -> apsw.Connection:
        db = apsw.Connection(path, vfs=_checked() if self.kept else None)
        db.set_busy_timeout(2000)
        db.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
        db.pragma("journal_mode", "memory")
        db.pragma("synchronous", "off")
        db.pragma("temp_store", "memory")
        if self.embedder:
            _load(db, vec_path())
        return db

    def recorded(self) -> dict[str, bytes] | None:
        """The files of the index with the hash of their bytes; None when the index is in doubt."""
        return dict(self._get("SELECT name, hash FROM file")) if self.trusted() else None

    # Keeping up with the files

    def sync(
        self,
        seen: Mapping[str, int],
        load: Callable[[str], Page | None],
        *,
        only: Iterable[str] | None = None,
        anew: bool = False,
        explained: Callable[[], set[str]] = set,
        progress: Callable[[int, int], None] | None = None,
    ) -> Synced:
        """Take in what changed since the last time; the same rows as a rebuild would write.

        `seen` holds every file there is with its signature, or just those named by `only`.
        When most files are gone at once and nobody explains it, their rows stay and are silent.
        """
        if anew or not self.trusted():
            self._rebuild(seen, load, progress)
            return Synced(added=len(seen), rebuilt=True)
        state = _summed(seen) if only is None else ""
        if state and state == self._meta("seen"):
            self.absent, self.missing = set(), []
            return Synced()
        known = self._known(only)
        stale = sorted({name for name, _ in seen.items() - known.items()} | self._owed(seen))
        gone = known.keys() - seen.keys()
        lost, news = self._lost(gone, seen, only is None, explained)
        gone -= lost
        if not (stale or gone or news) and (self.absent or not state):
            return Synced(missing=len(self.absent))
        self._break_seal()
        added = changed = 0
        for start in range(0, max(len(stale), 1), _BATCH):
            with self.db:
                freed = self._drop(gone)
                new, other = self._take(self.db, stale[start : start + _BATCH], load, known, freed)
                if start + _BATCH >= len(stale):
                    self._remember(self.db, state)
            added, changed = added + new, changed + other
            if progress:
                progress(min(start + _BATCH, len(stale)), len(stale))
        self._seal_it()
        return Synced(added, changed, len(gone), len(self.absent))

    def _lost(
        self,
        gone: set[str],
        seen: Mapping[str, int],
        whole: bool,
        explained: Callable[[], set[str]],
    ) -> tuple[set[str], bool]:
        """Those of the vanished files whose rows stay: too many at once, or so since long.

        Also whether that is news, to be written down.
        """
        before: set[str] = set(json.loads(self._meta("absent") or "[]"))
        lost = before - seen.keys() if not whole else before & gone
        new = gone - before
        if len(new) > max(_MANY, (self._get("SELECT count(*) FROM file").get - len(before)) // 2):
            lost |= new - explained()
        self.absent = {self._id(name) for name in lost}
        self.missing = sorted(lost)
        return lost, lost != before

    def _owed(self, seen: Mapping[str, int]) -> set[str]:
        """The files whose vectors are still owed, when the embedder answers again."""
        owed = {name for (name,) in self._get("SELECT name FROM file WHERE owed")} & seen.keys()
        if owed and self.embedder:
            try:
                self.embedder.query("again")
            except EmbedderUnavailable as error:
                self.trouble = str(error)
                return set()
        return owed

    def _meta(self, key: str) -> str:
        return str(self._get("SELECT value FROM meta WHERE key=?", key).get or "")

    def _known(self, only: Iterable[str] | None) -> dict[str, int]:
        """The files of the index with their signatures: all, or those of these names."""
        if only is None:
            return dict(self._get("SELECT name, sign FROM file"))
        found = (
            self._get("SELECT name, sign FROM file WHERE key=? AND name=?", _key(name), name).get
            for name in only
        )
        return dict(pair for pair in found if pair is not None)

    def _remember(self, db: apsw.Connection, state: str) -> None:
        """Keep the sum of all signatures, if each file has one and nothing is owed or set aside."""
        fresh = db.execute("SELECT count(*) FROM file WHERE sign=0 OR owed").get
        value = "" if fresh or self.absent else state
        db.execute("INSERT OR REPLACE INTO meta VALUES('seen', ?)", (value,))
        names = json.dumps(self.missing) if self.missing else ""
        db.execute("INSERT OR REPLACE INTO meta VALUES('absent', ?)", (names,))

    def _id(self, name: str) -> int:
        query = "SELECT id FROM file WHERE key=? AND name=?"
        return int(self._get(query, _key(name), name).get or 0)

    def _drop(self, names: Iterable[str]) -> dict[bytes, bytes]:
        """Remove the rows of these files; a provider's vectors are handed back, by their hash."""
        kept: dict[bytes, bytes] = {}
        for name in names:
            row = self.db.execute(
                "SELECT id, passages FROM file WHERE key=? AND name=?", (_key(name), name)
            ).get
            if row is None:
                continue
            rows = [(at,) for at in range(row[0], row[0] + row[1])]
            if self.embedder and self.vectors is None:
                for one in rows:
                    kept.update(self.db.execute("SELECT hash, v FROM vector WHERE id=?", one))
            for table in ("terms", "letters"):
                self.db.executemany(f"DELETE FROM {table} WHERE rowid=?", rows)
            for table in ("vector", "bits"):
                self.db.executemany(f"DELETE FROM {table} WHERE id=?", rows)
            self.db.execute("DELETE FROM file WHERE id=?", (row[0],))
        return kept

    def _take(
        self,
        db: apsw.Connection,
        names: list[str],
        load: Callable[[str], Page | None],
        known: Mapping[str, int],
        vectors: dict[bytes, bytes] | None = None,
    ) -> tuple[int, int]:
        """Write the rows of these files; one that says what it said keeps its rows."""
        fresh: list[tuple[str, Page, bytes]] = []
        stale: list[str] = []
        for name in names:
            loaded = load(name)
            if loaded is None:  # gone since the folder was listed
                if name in known:
                    stale.append(name)
                continue
            digest = digest_of(loaded)
            if name in known:
                row = db.execute(
                    "SELECT hash FROM file WHERE key=? AND name=? AND NOT owed", (_key(name), name)
                ).get
                if row == digest:
                    db.execute(
                        "UPDATE file SET sign=? WHERE key=? AND name=?",
                        (loaded.signature, _key(name), name),
                    )
                    continue
                stale.append(name)
            fresh.append((name, loaded, digest))
        reused = self._drop(stale)
        self._insert(db, fresh, {**reused, **(vectors or {})})
        changed = sum(name in known for name, _, _ in fresh)
        return len(fresh) - changed, changed

    def _insert(
        self,
        db: apsw.Connection,
        fresh: list[tuple[str, Page, bytes]],
        vectors: Mapping[bytes, bytes],
    ) -> None:
        query = "SELECT id + max(passages, 1) FROM file ORDER BY id DESC LIMIT 1"
        row = db.execute(query).get or 1  # a file takes as many rows as it has passages
        files: list[tuple[Any, ...]] = []
        terms, letters, texts = [], [], []
        vocabulary: set[str] = set()
        for name, (sign, _, found), digest in fresh:
            known = row, _key(name), name, sign, digest
            if isinstance(found, FormatError):
                why = str(found), found.line
                files.append((*known, number_of(name), "", "", "", 0, None, *why, 0, None))
                row += 1
                continue
            parts = passages(found.text)
            speaker, _ = words.spoken(found.body)
            tags = "".join(f"\n{tag.lower()}" for tag in found.tags)
            title = found.title
            around = words.analysed(title), words.analysed(tags), words.dated(found.created)
            lower = words.folded(f"{title}{tags}")
            for at, part in enumerate(parts, row):
                said = words.analysed(part)
                vocabulary.update(said.split())
                terms.append((at, said, *around))
                letters.append((at, f"{words.folded(part)}\n{lower}"))
                texts.append((at, as_read(part, found.tags)))
            vocabulary.update(around[0].split(), around[1].split())
            expires = str(found.meta.get("expires") or "")[:10]
            head = found.id, found.created, expires, tags + "\n"
            uid = found.meta.get("uid") or None
            files.append((*known, *head, len(parts), speaker or None, None, 0, 0, uid))
            row += len(parts)
        db.executemany("INSERT INTO terms(rowid,body,title,tags,date) VALUES(?,?,?,?,?)", terms)
        db.executemany("INSERT INTO letters(rowid,text) VALUES(?,?)", letters)
        self._learn(db, vocabulary)
        if self.embedder and texts:
            try:
                if self.trouble:
                    raise EmbedderUnavailable(self.trouble)  # once a sync is enough
                self._embed(db, self.embedder, texts, vectors)
            except EmbedderUnavailable as error:  # found by words until it answers again
                self.trouble = str(error)
                files = [(*file[:-2], 1, file[-1]) for file in files]
        db.executemany("INSERT INTO file VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)", files)

    def _learn(self, db: apsw.Connection, vocabulary: set[str]) -> None:
        """Keep the words that are new, for beginnings and slips."""
        new = sorted(word for word in vocabulary if (2 if word.isascii() else 1) < len(word) < 40)
        if db is self._db:
            known = "SELECT 1 FROM word WHERE word=?"
            new = [word for word in new if db.execute(known, (word,)).get is None]
        else:  # a new index holds just what it was taught
            new = [word for word in new if word not in self._learnt]
            self._learnt.update(new)
        db.executemany("INSERT INTO word VALUES(?)", [(word,) for word in new])

    def _embed(
        self,
        db: apsw.Connection,
        embedder: Embedder,
        texts: list[tuple[int, str]],
        known: Mapping[bytes, bytes],
    ) -> None:
        keyed = [(at, hashed(text.encode("utf-8", "replace")), text) for at, text in texts]
        if self.vectors is not None:
            known = self.vectors.find(key for _, key, _ in keyed)
        wanted = {key: text for _, key, text in keyed if key not in known}
        made = dict(zip(wanted, embedder.documents(list(wanted.values())), strict=True))
        closely = self.vectors is None  # another embedder has one way to read
        rows = [
            (at, key, known.get(key) or made[key], closely or key in known) for at, key, _ in keyed
        ]
        self._put(db, [row for row in rows if any(row[2])])

    def _put(self, db: apsw.Connection, rows: list[tuple[int, bytes, bytes, bool]]) -> None:
        db.executemany("INSERT OR REPLACE INTO vector VALUES(?,?,?,?)", rows)
        db.executemany(
            "INSERT OR REPLACE INTO bits VALUES(?, vec_quantize_binary(vec_int8(?)))",
            [(at, vector) for at, _, vector, _ in rows],
        )

    def take_closely(self, vectors: Mapping[bytes, bytes]) -> None:
        """Put the vectors of passages that were read closely in the place of the quick ones."""
        query = "SELECT id FROM vector WHERE hash=? AND NOT closely"
        rows = [
            (id, key, vector, True)
            for key, vector in vectors.items()
            for (id,) in self._get(query, key).fetchall()
        ]
        if rows:
            self._break_seal()
            with self.db:
                self._put(self.db, rows)
            self._seal_it()

    def _rebuild(
        self,
        seen: Mapping[str, int],
        load: Callable[[str], Page | None],
        progress: Callable[[int, int], None] | None,
    ) -> None:
        """Write everything into a new file and put it in the old one's place."""
        self.close()
        self.absent, self.missing = set(), []
        if not self.kept:
            self._db = self._fill(":memory:", seen, load, progress)
            return
        new = self.path + "-new"
        for suffix in ("", "-wal", "-shm", "-journal"):
            _unlink(new + suffix)
        try:
            self._fill(new, seen, load, progress).close()
            for suffix in ("-wal", "-shm", "-journal"):  # not ours, but SQLite would believe them
                _unlink(self.path + suffix)
            os.replace(new, self.path)
            ignore = os.path.join(os.path.dirname(self.path), ".gitignore")
            if not os.path.lexists(ignore):
                disk.create(ignore, paths.GITIGNORE)
        except BaseException:
            _unlink(new)
            raise
        self._seal_it()
        self.trusted()

    def _fill(
        self,
        path: str,
        seen: Mapping[str, int],
        load: Callable[[str], Page | None],
        progress: Callable[[int, int], None] | None,
    ) -> apsw.Connection:
        db = self._open(path)
        db.reserve_bytes("main", 8)  # for the checksum of each page
        db.execute(_TABLES)
        for table in ("terms", "letters"):  # so that a leaf and its checksum fit one page
            db.execute(f"INSERT INTO {table}({table}, rank) VALUES('pgsz', 4040)")
        self._learnt = set()
        names = sorted(seen)
        for start in range(0, len(names), _BATCH):
            with db:
                self._take(db, names[start : start + _BATCH], load, {})
            if progress:
                progress(min(start + _BATCH, len(names)), len(names))
        self._learnt = set()
        self._remember(db, _summed(seen))
        return db


def _key(name: str) -> int:
    """A short stand-in for a file's name; two names that share it are told apart by the name."""
    data = name.encode("utf-8", "surrogateescape")
    return zlib.crc32(data) << 32 >> 1 | zlib.crc32(data, 1)


def _summed(seen: Mapping[str, int]) -> str:
    """One text for a folder as it is; another order of the same files may give another."""
    names = zlib.crc32("\n".join(seen).encode("utf-8", "surrogateescape"))
    return f"{len(seen)} {sum(seen.values())} {names}"


def as_read(passage: str, tags: Iterable[str]) -> str:
    """A passage as an embedder reads it: what is said, without who says it, and the tags."""
    return tagged(words.spoken(passage)[1], tags)


def digest_of(page: Page) -> bytes:
    """What tells a file from any other content, or reason why there is no note in it."""
    return hashed(page.raw or str(page.found).encode("utf-8", "replace"))


def hashed(data: bytes) -> bytes:
    """What tells these bytes from others."""
    import hashlib  # only what changed is hashed

    return hashlib.blake2b(data, digest_size=12).digest()


def _unlink(path: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(path)


def _load(db: apsw.Connection, extension: str) -> None:
    db.config(apsw.SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1)
    try:
        db.load_extension(extension)
    finally:
        db.config(apsw.SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0)


def _checked() -> str:
    """The file layer that checks each page's checksum when it is read; apsw brings it along."""
    if "cksmvfs" not in apsw.vfs_names():
        folder = os.path.join(os.path.dirname(apsw.__file__), "sqlite_extra_binaries")
        _load(apsw.Connection(":memory:"), os.path.join(folder, "cksumvfs"))
    return "cksmvfs"


def vec_path() -> str:
    """Where sqlite-vec's library lies; importing the package would load numpy."""
    for folder in sys.path:
        path = os.path.join(folder, "sqlite_vec", "vec0")
        if os.path.isabs(folder) and os.path.isdir(os.path.dirname(path)):
            return path
    raise EmbedderUnavailable("the package sqlite-vec is not installed")
