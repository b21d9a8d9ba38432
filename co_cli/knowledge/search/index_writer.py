"""Writes what the files say into the tables of an index: terms, letters, vectors, the files."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import apsw

from co_cli.errors import FormatError
from co_cli.knowledge.format.note import number_of
from co_cli.knowledge.pages import Page
from co_cli.knowledge.search import words
from co_cli.knowledge.search.files import NoteFiles
from co_cli.knowledge.search.passages import digest, passages, reading
from co_cli.knowledge.search.vectors import Reader

_BATCH = 1000
Progress = Callable[[int, int], None] | None


class IndexWriter:
    """Writes into one database."""

    def __init__(self, db: apsw.Connection, files: NoteFiles, reader: Reader) -> None:
        self.db, self._files, self._reader = db, files, reader
        self._freed: dict[bytes, bytes] = {}  # a provider's vectors of dropped rows, by their hash

    def drop(self, names: Iterable[str]) -> None:
        """Remove the rows of these files."""
        for name in names:
            query = "SELECT id, id + passages - 1 FROM file WHERE name=?"
            rows = self.db.execute(query, (name,)).get
            if rows is None:
                continue
            query = "SELECT hash, v FROM vector WHERE id BETWEEN ? AND ?"
            self._freed.update(self.db.execute(query, rows) if not self._reader.kept else ())
            for table in ("terms", "letters", "vector", "bits"):
                self.db.execute(f"DELETE FROM {table} WHERE rowid BETWEEN ? AND ?", rows)
            self.db.execute("DELETE FROM file WHERE id=?", rows[:1])

    def take(
        self, names: Sequence[str], known: Mapping[str, int], progress: Progress
    ) -> tuple[int, int]:
        """Write the rows of these files, some at a time; how many are new, and how many changed.

        One that says what it said keeps its rows.
        """
        added = changed = 0
        for start in range(0, len(names), _BATCH):
            some = names[start : start + _BATCH]
            read = {name: self._files.page(name) for name in some}  # None: gone since it was listed
            there = [(name, page) for name, page in read.items() if page]
            with self.db:
                same = {name for name, page in there if name in known and self._is_same(name, page)}
                self.drop(read.keys() & known.keys() - same)
                fresh = [(name, page) for name, page in there if name not in same]
                self._insert(fresh)
            again = sum(name in known for name, _ in fresh)
            added, changed = added + len(fresh) - again, changed + again
            if progress:
                progress(start + len(some), len(names))
        return added, changed

    def _is_same(self, name: str, page: Page) -> bool:
        """Whether a file holds what its rows were made of; if so, they get its signature."""
        query = "SELECT hash FROM file WHERE name=? AND NOT owed"
        if self.db.execute(query, (name,)).get != digest_of(page):
            return False
        self.db.execute("UPDATE file SET sign=? WHERE name=?", (page.signature, name))
        return True

    def _insert(self, fresh: list[tuple[str, Page]]) -> None:
        query = "SELECT id + max(passages, 1) FROM file ORDER BY id DESC LIMIT 1"
        row = self.db.execute(query).get or 1  # a file takes as many rows as it has passages
        files: list[tuple[Any, ...]] = []
        terms, letters = [], []
        readings: list[tuple[int, bytes, str]] = []
        vocabulary: set[str] = set()
        for name, page in fresh:
            note, known = page.found, (row, name, page.signature, digest_of(page))
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
                readings.append((at, *reading(part, note.tags)))
            vocabulary.update(around[0].split(), around[1].split())
            expires = str(note.meta.get("expires") or "")[:10]
            head = note.id, note.created, expires, tags + "\n"
            uid = note.meta.get("uid") or None
            files.append((*known, *head, len(parts), speaker or None, None, 0, 0, uid))
            row += len(parts)
        put = self.db.executemany
        put("INSERT INTO terms(rowid,body,title,tags,date) VALUES(?,?,?,?,?)", terms)
        put("INSERT INTO letters(rowid,text) VALUES(?,?)", letters)
        new = [(word,) for word in sorted(vocabulary) if 1 + word.isascii() < len(word) < 40]
        put("INSERT OR IGNORE INTO word VALUES(?)", new)
        if self._reader.embedder and readings and not self._embed(readings):
            files = [(*file[:-2], 1, file[-1]) for file in files]  # owed until it answers again
        put("INSERT INTO file VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?)", files)

    def _embed(self, readings: list[tuple[int, bytes, str]]) -> bool:
        """Write the vectors of what an embedder reads; whether it answered."""
        found = self._reader.passages({key: text for _, key, text in readings}, self._freed)
        if found is None:
            return False
        rows = [(at, key, *found[key]) for at, key, _ in readings]
        self._put_vectors([row for row in rows if any(row[2])])
        return True

    def take_closely(self, vectors: Mapping[bytes, bytes]) -> None:
        """Put the vectors of passages that were read closely in the place of the quick ones."""
        query = "SELECT id FROM vector WHERE hash=? AND NOT closely"
        for key, vector in vectors.items():
            rows: list[Any] = self.db.execute(query, (key,)).fetchall()
            self._put_vectors([(at, key, vector, True) for (at,) in rows])

    def _put_vectors(self, rows: list[tuple[int, bytes, bytes, bool]]) -> None:
        """Write vectors: the passage, the hash of its reading, the vector, whether read closely."""
        self.db.executemany("INSERT OR REPLACE INTO vector VALUES(?,?,?,?)", rows)
        self.db.executemany(
            "INSERT OR REPLACE INTO bits VALUES(?, vec_quantize_binary(vec_int8(?)))",
            [(at, vector) for at, _, vector, _ in rows],
        )


def digest_of(page: Page) -> bytes:
    """What tells a file from any other content, or reason why there is no note in it."""
    return digest(page.raw or str(page.found).encode("utf-8", "replace"))
