"""The questions an index answers: who holds a word, what is near, which file a passage is of.

Knows the tables and changes nothing in them; `index.py` keeps them up to date.
"""

import json
import math
from bisect import bisect
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from typing import Any, NamedTuple

import apsw

from co_cli.knowledge.meaning.languages import BOTH, InOtherLanguage
from co_cli.knowledge.search.hits import Filters
from co_cli.knowledge.search.places import Place
from co_cli.knowledge.search.vectors import OTHER
from co_cli.knowledge.search.words import is_dense

_NEEDLE = 16  # of a longer text, triples side by side tell enough
_ROW = "id, name, sign, number, created, expires, tags, passages"
_NEAREST = 120  # places among the nearest
_MORE = 8  # times as many passages of a note are looked at as it has places
_VECTOR = "coalesce(v, kept(bits.hash, closely))"
_COSINE = f"""coalesce(1 - vec_distance_cosine(vec_int8({_VECTOR}), vec_int8(?)), 0.0)
              * CASE closely WHEN {OTHER} THEN ? ELSE 1 END"""  # zeros are near nothing
_BM25 = "bm25(1.0, 2.0, 1.0, 0.5)"  # body, title, tags, date
_ASKED = 200  # letters, and threes of them, of a question that are looked for
_TOKENIZER = ("porter", "unicode61", "remove_diacritics", "2", "tokenchars", "_./#+:@-'")

Scores = dict[int, float]  # of passages, by their rows


class Row(NamedTuple):
    """A file as the index knows it."""

    id: int
    name: str
    signature: int
    number: int
    created: str
    expires: str
    tags: str
    passages: int

    @property
    def article(self) -> bool:
        return self.name.startswith("articles/")

    @property
    def last(self) -> int:
        return self.id + self.passages - 1


class Lookup:
    """What can be asked of one open database."""

    def __init__(self, db: apsw.Connection) -> None:
        self.db = db
        self._long = -1, (list[int](), list[int]())
        self._stem = db.fts5_tokenizer(_TOKENIZER[0], list(_TOKENIZER[1:]))

    def close(self) -> None:
        del self._stem
        self.db.close()

    def _get(self, query: str, *values: object) -> Any:
        return self.db.execute(query, values)

    def _column(self, query: str, *values: object) -> list[Any]:
        return [value for (value,) in self._get(query, *values)]

    # The files

    def meta(self, key: str) -> str:
        """What was written down about the index itself."""
        return str(self._get("SELECT value FROM meta WHERE key=?", key).get or "")

    def missing(self) -> list[str]:
        """The files that vanished together; their rows stay and are silent."""
        return list(json.loads(self.meta("absent") or "[]"))

    def signatures(self, only: Iterable[str] | None) -> dict[str, int]:
        """The files with their signatures: all, or those of these names."""
        if only is None:
            return dict(self._get("SELECT name, sign FROM file"))
        found = (self._get("SELECT name, sign FROM file WHERE name=?", name).get for name in only)
        return dict(pair for pair in found if pair is not None)

    def digests(self) -> dict[str, bytes]:
        """The files with the hash of their bytes."""
        return dict(self._get("SELECT name, hash FROM file"))

    def owed(self) -> set[str]:
        """The files whose vectors are still owed."""
        return set(self._column("SELECT name FROM file WHERE owed"))

    def files_in_all(self) -> int:
        """How many files there are, whatever is in them."""
        return int(self._get("SELECT count(*) FROM file").get)

    def articles(self) -> int:
        """How many articles there are that can be read."""
        named = "name > 'articles/' AND name < 'articles0'"
        return int(self._get(f"SELECT count(*) FROM file WHERE {named} AND why IS NULL").get)

    def count(self) -> int:
        """How many memories can be found."""
        silent = {name for name, _, _ in self.unread()}
        silent.update(name for name in self.missing() if not name.startswith("articles/"))
        return int(self.files_in_all() - self.articles() - len(silent))

    def hidden(self, filters: Filters) -> int:
        """How many memories are for other languages than those."""
        query = "SELECT language, count(*) FROM file WHERE language <> '' GROUP BY language"
        found = () if filters.languages is None else self._get(query)
        return sum(many for language, many in found if language not in (filters.languages or ()))

    def allowed(self, filters: Filters) -> set[int] | None:
        """The passages that a recall may look at; None when it may look at all."""
        if not self.hidden(filters):
            filters = filters._replace(languages=None)
        conditions, missing = filters.conditions(), set(self.missing())
        if not conditions and not missing:
            return None
        where = " AND ".join(["why IS NULL", *(condition for condition, _ in conditions)])
        values = [value for _, value in conditions]
        found = self._get(f"SELECT id, passages, name FROM file WHERE {where}", *values)
        rows = (range(id, id + count) for id, count, name in found if name not in missing)
        return {row for some in rows for row in some}

    def passages(self) -> int:
        """How many passages the notes have together."""
        return int(self._get("SELECT count(*) FROM terms_docsize").get)

    def passages_of_articles(self) -> int:
        """How many passages the articles have together."""
        named = "name > 'articles/' AND name < 'articles0'"
        return int(self._get(f"SELECT total(passages) FROM file WHERE {named}").get)

    def first_of(self, passage: int) -> int:
        """The first passage of the same note."""
        starts, stops = self._long_notes()
        at = bisect(starts, passage) - 1
        return starts[at] if at >= 0 and passage < stops[at] else passage

    def _long_notes(self) -> tuple[list[int], list[int]]:
        """Where the notes of several passages start and stop; asked for once after a change."""
        if self._long[0] != (now := self.db.total_changes()):
            query = "SELECT id, id + passages FROM file WHERE passages > 1 ORDER BY id"
            spans = self._get(query).fetchall()
            self._long = now, ([start for start, _ in spans], [stop for _, stop in spans])
        return self._long[1]

    def highest(self) -> int:
        """The highest number in a note or in the name of a file without a readable header."""
        query = "SELECT max(number) FROM file WHERE name NOT LIKE 'articles/%'"
        return int(self._get(query).get or 0)

    def sharing(self, number: int) -> int:
        """How many memories, or files that cannot be read, have a number or begin with it."""
        query = "SELECT count(*) FROM file WHERE number=? AND name NOT LIKE 'articles/%'"
        return int(self._get(query, number).get)

    def unread(self) -> list[tuple[str, str, int]]:
        """The files that hold no note: name, reason, line."""
        query = "SELECT name, why, line FROM file WHERE why IS NOT NULL ORDER BY name"
        return list(self._get(query))

    def newest(self, since: str, limit: int) -> list[str]:
        """The files of the highest numbers among those created since."""
        query = "SELECT name FROM file WHERE created >= ? ORDER BY number DESC, name LIMIT ?"
        return self._column(query, since, limit)

    def having(self, uids: set[str]) -> list[str]:
        """The files that have one of these uids."""
        query = "SELECT name FROM file WHERE uid=?"
        return [name for uid in sorted(uids) for name in self._column(query, uid)]

    # The links

    def updates(self) -> dict[str, list[str]]:
        """For each uid that a memory brings out of date, the files that say so."""
        query = (
            "SELECT link.uid, name FROM link JOIN file ON file.id=link.file WHERE kind='updates'"
        )
        missing, found = set(self.missing()), dict[str, list[str]]()
        for uid, name in self._get(query):
            found.setdefault(uid, []).extend([name] if name not in missing else [])
        return found

    def unconfirmed(self, old: int | None = None) -> list[tuple[str, str, float]]:
        """Files of which the new one seems to update the old one, and no header links the two.

        All of them, or those of one old file.
        """
        linked = """EXISTS(SELECT 1 FROM link WHERE
            (link.file=new.id AND link.uid IN (old.uid, old.number)) OR
            (link.file=old.id AND link.uid IN (new.uid, new.number)) OR
            (link.file=new.id AND link.uid || '.md' = 'm:' || old.name) OR
            (link.file=old.id AND link.uid || '.md' = 'm:' || new.name))"""
        query = f"""SELECT new.name, old.name, score FROM relation
            JOIN file new ON new.id=relation.new JOIN file old ON old.id=relation.old
            WHERE verdict='updates' AND (?1 IS NULL OR old=?1) AND NOT {linked}
            ORDER BY score DESC, new.name, old.name"""
        missing = set(self.missing())
        return [row for row in self._get(query, old) if missing.isdisjoint(row[:2])]

    def restated(self) -> list[tuple[str, str]]:
        """Files of which the new one seems to say what the old one says."""
        query = """SELECT new.name, old.name FROM relation JOIN file new ON new.id=relation.new
            JOIN file old ON old.id=relation.old WHERE verdict='restates' ORDER BY 1, 2"""
        return list(self._get(query))

    def uncompared(self, limit: int, name: str = "") -> list[str]:
        """The files of memories that nobody compared with their neighbours yet, newest first.

        So many at most, or the one of this name.
        """
        query = """SELECT name FROM file WHERE NOT compared AND why IS NULL
            AND name NOT LIKE 'articles/%' AND ?1 IN ('', name) ORDER BY id DESC LIMIT ?2"""
        return self._column(query, name, limit)

    def comparisons(self) -> tuple[int, int]:
        """How many memories were compared with their neighbours, and how many there are."""
        query = """SELECT total(compared), count(*) FROM file WHERE why IS NULL
            AND name NOT LIKE 'articles/%'"""
        done, total = self._get(query).get
        return int(done), total

    # The words

    def stems(self, analysed: str) -> list[str]:
        """Terms as the index keeps them."""
        found: Any = self._stem(
            analysed.encode(), apsw.FTS5_TOKENIZE_DOCUMENT, None,
            include_offsets=False, include_colocated=False,
        )  # fmt: skip
        return list(found)

    def spread(self, stem: str) -> int:
        """In how many passages a term stands."""
        return int(self._get("SELECT doc FROM counts WHERE term=?", stem).get or 0)

    def file(self, passage: int) -> Row:
        """The file that a passage belongs to."""
        query = f"SELECT {_ROW} FROM file WHERE id <= ? ORDER BY id DESC LIMIT 1"
        return Row(*self._get(query, passage).get)

    def files(self, passages: Collection[int]) -> dict[int, Row]:
        """The files that these passages belong to; most are a file's first."""
        query = f"SELECT {_ROW} FROM file WHERE id IN (SELECT value FROM json_each(?))"
        found = {row[0]: Row(*row) for row in self._get(query, json.dumps(list(passages)))}
        last = None
        for at in sorted({*passages} - found.keys()):  # each file is asked for once
            if last is None or at > last.last:
                last = self.file(at)
            found[at] = last
        return {at: found[at] for at in passages}

    def places(self, first: int, last: int) -> dict[int, Place]:
        """Where these passages stand, as far as they are an article's."""
        query = "SELECT id, place FROM place WHERE id BETWEEN ? AND ?"
        return {row: Place(*json.loads(place)) for row, place in self._get(query, first, last)}

    def matching(self, terms: Iterable[str]) -> Iterator[tuple[int, float]]:
        """The passages holding any of these terms, best first, and how well by BM25."""
        asked = " OR ".join(f'"{term}"' for term in terms)
        query = "SELECT rowid, -rank FROM terms WHERE terms MATCH ? AND rank MATCH ? ORDER BY rank"
        return iter(self._get(query, asked, _BM25) if asked else ())

    def holding(self, *needles: str) -> list[int]:
        """The passages that may hold all these folded texts: their letters are there, by threes."""
        triples: dict[str, None] = {}
        for needle in needles:
            last = len(needle) - 3
            step = 1 if last < _NEEDLE else 3
            triples.update((needle[at : at + 3], None) for at in (*range(0, last, step), last))
        asked = " AND ".join('"' + triple.replace('"', '""') + '"' for triple in triples)
        return self._column("SELECT rowid FROM letters WHERE letters MATCH ?", asked)

    def resembling(self, text: str) -> Scores:
        """Which share of a folded text's letters each passage has, the rare ones more.

        Letters go by threes; in scripts without spaces one can be a word, so each counts alone too.
        """
        padded = [f" {word} " for word in text.split()]
        asked = {word[at : at + 3] for word in padded for at in range(len(word) - 2)}
        asked.update(filter(is_dense, text))
        total = self.passages()
        found: Scores = defaultdict(float)
        whole = 0.0
        for letters in sorted(asked)[:_ASKED]:
            if len(letters) == 3:
                rows = self.holding(letters)
            else:  # it starts a term wherever it stands
                rows = self._column("SELECT rowid FROM terms WHERE terms MATCH ?", f'"{letters}"*')
            weight = math.log((total + 1) / (len(rows) + 0.5))
            whole += max(weight, 0.0)
            for row in rows if 3 * len(rows) <= total + 6 else ():
                found[row] += weight
        return {row: share / whole for row, share in found.items()} if whole else {}

    # The meaning

    def nearest(self, vector: bytes, of_one: int) -> list[tuple[int, float]]:
        """The passages nearest in meaning and the cosine; ties at the far end are left out.

        A note takes no more than so many places, however many of its passages are near.
        """
        bits = self._get("SELECT vec_quantize_binary(vec_int8(?))", vector).get
        query = """SELECT id, vec_distance_hamming(vec_bit(b), vec_bit(?)) AS d FROM bits
                   ORDER BY d LIMIT ?"""
        most = _NEAREST * (3 if self._long_notes()[0] else 1)
        while True:
            rough = self._get(query, bits, most).fetchall()
            near = self._first_places(rough, of_one)
            if near is not None or len(rough) < most:
                return self.cosines(vector, [row for row, _ in rough] if near is None else near)
            most *= 8

    def _first_places(self, rough: list[tuple[int, float]], of_one: int) -> list[int] | None:
        """Of passages by their distance, those that come before the last place; None if it is free.

        Beside those that take a place, some more of a note are told: the distance is but rough.
        """
        taken, places, near = dict[int, int](), 0, list[tuple[int, float]]()
        for row, far in rough:
            note = self.first_of(row)
            many = taken[note] = taken.get(note, 0) + 1
            places += many <= of_one
            if places == _NEAREST:
                return [row for row, distance in near if distance < far]
            if many <= _MORE * of_one:
                near.append((row, far))
        return None

    def cosines(self, vector: bytes, rows: Iterable[int]) -> list[tuple[int, float]]:
        """How near these passages are in meaning."""
        query = f"""SELECT id, {_COSINE} FROM bits LEFT JOIN vector USING (id)
                    WHERE id IN (SELECT value FROM json_each(?))"""
        factor = BOTH if isinstance(vector, InOtherLanguage) else 1.0
        return list(self._get(query, vector, factor, json.dumps(list(rows))))

    def vectors(self) -> dict[str, bytes]:
        """The vector of each file's first passage, as far as it has a meaning."""
        query = f"""SELECT name, {_VECTOR} FROM file JOIN bits USING (id)
                    LEFT JOIN vector USING (id)"""
        return {name: vector for name, vector in self._get(query) if vector and any(vector)}

    def skimmed(self, limit: int) -> list[tuple[bytes, str]]:
        """Passages that wait to be read closely, newest first: the text's hash, the file."""
        query = "SELECT hash, id FROM bits WHERE NOT closely ORDER BY id DESC LIMIT ?"
        return [(key, self.file(id).name) for key, id in self._get(query, limit).fetchall()]

    def closely(self) -> tuple[int, int]:
        """How many files with a meaning were read closely, and how many there are."""
        of_file = "SELECT 1 FROM bits WHERE bits.id BETWEEN file.id AND file.id + passages - 1"
        query = f"SELECT count(*), sum(EXISTS({of_file} AND NOT closely)) FROM file"
        total, waiting = self._get(f"{query} WHERE EXISTS({of_file})").get
        return total - (waiting or 0), total

    def read_passages(self) -> tuple[int, int]:
        """How many passages with a meaning were read closely, and how many there are."""
        read, total = self._get("SELECT total(closely > 0), count(*) FROM bits").get
        return int(read), total

    def dated(self, like: str) -> list[int]:
        """The first passages of the notes whose date looks like this."""
        query = """SELECT id FROM file WHERE created LIKE ? AND why IS NULL
                   ORDER BY created DESC, number DESC, name"""
        return self._column(query, like)

    def beginning(self, prefix: str, limit: int) -> list[str]:
        """Words of the notes that begin like this."""
        query = "SELECT word FROM word WHERE word >= ? AND word < ? LIMIT ?"
        return self._column(query, prefix, prefix + chr(0x10FFFF), limit)

    def of_length(self, least: int, most: int) -> list[str]:
        """Words of the notes by length."""
        query = "SELECT word FROM word WHERE length(word) BETWEEN ? AND ?"
        return self._column(query, least, most)
