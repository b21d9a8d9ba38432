"""What the benchmarks share: notebooks written in bulk, made-up text, and how figures are told."""

from __future__ import annotations

import os
import random
import re
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

import apsw

from co_cli.knowledge.format.note import file_name
from co_cli.knowledge.format.rewrite import render
from co_cli.knowledge.meaning.encoders import WEIGHTS

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
STOP = (  # what English says most; recall leaves these out, so queries here hold none of them
    "the of and a to in is you that it he was for on are as with his they I at be this have from "
    "or one had by not but what all were we when your can said there an each which she do how their"
).split()
TAGS = "preference decision python testing deploy database design meeting travel health".split()
VOCABULARY = 40_000
_WORD = re.compile(r"\w+")


def data_file(name: str) -> Path | None:
    """A file of the shared data, which is never copied here; None, and a word, if it is absent."""
    path = Path(os.environ.get("CO_BENCH_DATA") or DATA) / name
    if path.is_file():
        return path
    print(f"{path} is not there: skipped (CO_BENCH_DATA names its folder)")
    return None


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder that goes away."""
    with tempfile.TemporaryDirectory(prefix="co-bench-", ignore_cleanup_errors=True) as name:
        yield Path(name)


def tell(label: str, value: float, target: float, *, least: bool = False, more: str = "") -> int:
    """Print a figure with its target; 1 when it was missed."""
    met = value >= target if least else value <= target
    bound = "at least" if least else "at most"
    verdict = "ok" if met else "MISSED"
    print(
        f"{label:55} {value:7.3g}   {bound:8} {target:<5g} {verdict:7} {more}".rstrip(), flush=True
    )
    return 0 if met else 1


# Notebooks


class Fact(NamedTuple):
    """What a note will say."""

    text: str
    tags: Sequence[str] = ()
    created: str = "2026-01-01T10:00:00+00:00"


def write_notebook(folder: Path, facts: Iterable[Fact]) -> None:
    """Files as Co writes them, numbered from 1; all at once and without waiting for the disk."""
    memories = folder / "memories"
    memories.mkdir(parents=True)
    for number, fact in enumerate(facts, 1):
        uid = "".join(chr(97 + int(digit)) for digit in f"{number:014d}")
        meta = {"id": number, "uid": uid, "created": fact.created, "tags": fact.tags}
        path = memories / file_name(number, fact.text)
        path.write_bytes(render({**meta, "source": "user-told"}, fact.text))


def bytes_of(folder: Path, pattern: str) -> int:
    """How much the files that match take."""
    return sum(path.stat().st_size for path in folder.glob(pattern))


class RawIndex:
    """What everything is measured against: FTS5 as it comes, one row a text."""

    def __init__(self, path: str = ":memory:", tokenize: str = "unicode61") -> None:
        self.db = apsw.Connection(path)
        options = f"text, tokenize='{tokenize}'"
        self.db.execute(f"create virtual table if not exists raw using fts5({options})")

    def add(self, texts: Iterable[str]) -> None:
        """Insert all of them together."""
        with self.db:
            self.db.executemany("insert into raw(text) values (?)", ((text,) for text in texts))

    def search(self, query: str, limit: int = 10) -> list[int]:
        """The numbers of the texts that hold any of the words, from 1, best first."""
        words = " OR ".join(f'"{word}"' for word in _WORD.findall(query))
        if not words:
            return []
        found = "select rowid, text from raw where raw match ? order by rank limit ?"
        return [int(str(row[0])) for row in self.db.execute(found, (words, limit)).fetchall()]


# Made-up text


def english() -> list[str]:
    """Words that the model of meaning knows, the frequent ones first."""
    pieces = Path(WEIGHTS, "vocab.txt").read_text(encoding="utf-8").split("\n")
    return [piece for piece in pieces if len(piece) > 2 and piece.isascii() and piece.isalpha()]


class Prose:
    """Notes of pronounceable words, as often as words come in English; same seed, same text.

    The few most frequent words are English ones; the rest exist in no language, unless others are
    given: what is not English is not read for its meaning.
    """

    def __init__(self, seed: int = 7, words: Sequence[str] = ()) -> None:
        self.chance = random.Random(seed)
        invented = self._invented(VOCABULARY - len(words))
        self.vocabulary = list(dict.fromkeys([*STOP, *words, *invented]))
        ranks = range(1, len(self.vocabulary) + 1)
        self._weights = list(accumulate((rank + 2.7) ** -1.05 for rank in ranks))

    def _invented(self, count: int) -> dict[str, None]:
        words: dict[str, None] = {}
        while len(words) < count:
            longest = 2 + (len(words) > 300) + (len(words) > 8000)
            words[self.word(self.chance.randint(1 + (len(words) > 60), longest))] = None
        return words

    def word(self, syllables: int) -> str:
        """A word nobody ever said."""
        starts, vowels, ends = (
            "b d f g k l m n p r s t v z br dr st tr pl".split(),
            "aeiou",
            "nrslt",
        )
        pick = self.chance.choice
        built = "".join(pick(starts) + pick(vowels) for _ in range(syllables))
        return built + (pick(ends) if self.chance.random() < 0.6 else "")

    def words(self, count: int) -> list[str]:
        """Words as they come."""
        return self.chance.choices(self.vocabulary, cum_weights=self._weights, k=count)

    def text(self, count: int = 60) -> str:
        """Sentences of ten words."""
        words = self.words(count)
        lines = [" ".join(words[at : at + 10]) for at in range(0, count, 10)]
        return " ".join(line[0].upper() + line[1:] + "." for line in lines)

    def facts(self, count: int) -> Iterator[Fact]:
        """Notes of 60 words with tags and dates."""
        for number in range(count):
            day = f"202{4 + number % 3}-{1 + number % 12:02d}-{1 + number % 28:02d}T10:00:00+00:00"
            yield Fact(self.text(), self.chance.sample(TAGS, 1 + number % 2), day)

    def phrase(self, text: str, count: int = 4) -> str:
        """Some words of a text as they stand in it."""
        words = self.chance.choice(text.split(". ")).rstrip(".").split()
        at = self.chance.randrange(max(1, len(words) - count))
        return " ".join(words[at : at + count])

    def query(self, text: str, count: int) -> str:
        """Some words of a text, without the ones everybody says."""
        known = sorted({word.lower() for word in _WORD.findall(text)} - {w.lower() for w in STOP})
        return " ".join(self.chance.sample(known, min(count, len(known))))
