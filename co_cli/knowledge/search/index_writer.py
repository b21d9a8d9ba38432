"""Writes what the files say into the tables of an index: terms, letters, vectors, the files."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import apsw

from co_cli.errors import EmbedderUnavailable, FormatError
from co_cli.knowledge.format.note import number_of
from co_cli.knowledge.meaning.encoders import Embedder
from co_cli.knowledge.pages import Page
from co_cli.knowledge.search import words
from co_cli.knowledge.search.passages import passages, reading
from co_cli.knowledge.search.vectors import Vectors

Load = Callable[[str], Page | None]


class IndexWriter:
    """Writes into one database; a `new` one holds just what this writer put there."""

    def __init__(
        self,
        db: apsw.Connection,
        embedder: Embedder | None,
        vectors: Vectors | None,
        *,
        new: bool = False,
    ) -> None:
        self.db = db
        self.trouble = ""  # why there are notes without vectors
        self._embedder = embedder
        self._vectors = vectors
        self._vocabulary: set[str] | None = set() if new else None

    def drop(self, names: Iterable[str]) -> dict[bytes, bytes]:
        """Remove the rows of these files; a provider's vectors are handed back, by their hash."""
        kept: dict[bytes, bytes] = {}
        for name in names:
            row = self.db.execute(
                "SELECT id, passages FROM file WHERE key=? AND name=?", (key_of(name), name)
            ).get
            if row is None:
                continue
            rows = [(at,) for at in range(row[0], row[0] + row[1])]
            if self._embedder and self._vectors is None:
                for one in rows:
                    kept.update(self.db.execute("SELECT hash, v FROM vector WHERE id=?", one))
            for table in ("terms", "letters", "vector", "bits"):
                self.db.executemany(f"DELETE FROM {table} WHERE rowid=?", rows)
            self.db.execute("DELETE FROM file WHERE id=?", (row[0],))
        return kept

    def take(
        self,
        names: Iterable[str],
        load: Load,
        known: Mapping[str, int],
        vectors: Mapping[bytes, bytes],
    ) -> tuple[int, int]:
        """Write the rows of these files; one that says what it said keeps its rows.

        How many are new, and how many changed.
        """
        fresh: list[tuple[str, Page]] = []
        stale: list[str] = []
        for name in names:
            page = load(name)
            if page is None:  # gone since the folder was listed
                stale += [name] if name in known else []
            elif name not in known:
                fresh.append((name, page))
            elif not self._is_same(name, page):
                stale.append(name)
                fresh.append((name, page))
        self._insert(fresh, {**self.drop(stale), **vectors})
        changed = sum(name in known for name, _ in fresh)
        return len(fresh) - changed, changed

    def _is_same(self, name: str, page: Page) -> bool:
        """Whether a file holds what its rows were made of; if so, they get its signature."""
        which = "WHERE key=? AND name=? AND NOT owed"
        values = key_of(name), name
        if self.db.execute(f"SELECT hash FROM file {which}", values).get != digest_of(page):
            return False
        self.db.execute(f"UPDATE file SET sign=? {which}", (page.signature, *values))
        return True

    def _insert(self, fresh: list[tuple[str, Page]], vectors: Mapping[bytes, bytes]) -> None:
        query = "SELECT id + max(passages, 1) FROM file ORDER BY id DESC LIMIT 1"
        row = self.db.execute(query).get or 1  # a file takes as many rows as it has passages
        files: list[tuple[Any, ...]] = []
        terms, letters, readings = [], [], []
        vocabulary: set[str] = set()
        for name, page in fresh:
            note, known = page.found, (row, key_of(name), name, page.signature, digest_of(page))
            if isinstance(note, FormatError):
                why = str(note), note.line
                files.append((*known, number_of(name), "", "", "", 0, None, *why, 0, None))
                row += 1
                continue
            parts = passages(note.text)
            speaker, _ = words.spoken(note.body)
            tags = "".join(f"\n{tag.lower()}" for tag in note.tags)
            around = words.analysed(note.title), words.analysed(tags), words.dated(note.created)
            lower = words.folded(f"{note.title}{tags}")
            for at, part in enumerate(parts, row):
                said = words.analysed(part)
                vocabulary.update(said.split())
                terms.append((at, said, *around))
                letters.append((at, f"{words.folded(part)}\n{lower}"))
                readings.append((at, reading(part, note.tags)))
            vocabulary.update(around[0].split(), around[1].split())
            expires = str(note.meta.get("expires") or "")[:10]
            head = note.id, note.created, expires, tags + "\n"
            uid = note.meta.get("uid") or None
            files.append((*known, *head, len(parts), speaker or None, None, 0, 0, uid))
            row += len(parts)
        put = self.db.executemany
        put("INSERT INTO terms(rowid,body,title,tags,date) VALUES(?,?,?,?,?)", terms)
        put("INSERT INTO letters(rowid,text) VALUES(?,?)", letters)
        self._learn(vocabulary)
        if self._embedder and readings and not self._embed(self._embedder, readings, vectors):
            files = [(*file[:-2], 1, file[-1]) for file in files]  # owed until it answers again
        put("INSERT INTO file VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)", files)

    def _learn(self, vocabulary: set[str]) -> None:
        """Keep the words that are new, for beginnings and slips."""
        new = sorted(word for word in vocabulary if (2 if word.isascii() else 1) < len(word) < 40)
        if self._vocabulary is None:
            known = "SELECT 1 FROM word WHERE word=?"
            new = [word for word in new if self.db.execute(known, (word,)).get is None]
        else:
            new = [word for word in new if word not in self._vocabulary]
            self._vocabulary.update(new)
        self.db.executemany("INSERT INTO word VALUES(?)", [(word,) for word in new])

    def _embed(
        self,
        embedder: Embedder,
        readings: list[tuple[int, str]],
        known: Mapping[bytes, bytes],
    ) -> bool:
        """Write the vectors of what an embedder reads; whether it answered."""
        if self.trouble:  # once a sync is enough
            return False
        keyed = [(at, digest(text.encode("utf-8", "replace")), text) for at, text in readings]
        if self._vectors is not None:
            known = self._vectors.find(key for _, key, _ in keyed)
        wanted = {key: text for _, key, text in keyed if key not in known}
        try:
            made = dict(zip(wanted, embedder.documents(list(wanted.values())), strict=True))
        except EmbedderUnavailable as error:
            self.trouble = str(error)
            return False
        closely = self._vectors is None  # another embedder has one way to read
        rows = [
            (at, key, known.get(key) or made[key], closely or key in known) for at, key, _ in keyed
        ]
        self.put_vectors([row for row in rows if any(row[2])])
        return True

    def put_vectors(self, rows: list[tuple[int, bytes, bytes, bool]]) -> None:
        """Write vectors: the passage, the hash of its reading, the vector, whether read closely."""
        self.db.executemany("INSERT OR REPLACE INTO vector VALUES(?,?,?,?)", rows)
        self.db.executemany(
            "INSERT OR REPLACE INTO bits VALUES(?, vec_quantize_binary(vec_int8(?)))",
            [(at, vector) for at, _, vector, _ in rows],
        )


def digest_of(page: Page) -> bytes:
    """What tells a file from any other content, or reason why there is no note in it."""
    return digest(page.raw or str(page.found).encode("utf-8", "replace"))


def digest(data: bytes) -> bytes:
    """What tells these bytes from others."""
    import hashlib  # only what changed is hashed

    return hashlib.blake2b(data, digest_size=12).digest()


def key_of(name: str) -> int:
    """A short stand-in for a file's name; two names that share it are told apart by the name."""
    data = name.encode("utf-8", "surrogateescape")
    return zlib.crc32(data) << 32 >> 1 | zlib.crc32(data, 1)
