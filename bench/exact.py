"""Is the one note that holds a word always first? 200 queries, whatever other words stand by."""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from lab import STOP, Prose, scratch, tell, write_notebook

from co_cli.knowledge import Notebook

EACH = 40  # of five kinds
_WORD = re.compile(r"\w+")


class Case(NamedTuple):
    """A query and the number of the only note that holds what it is about."""

    kind: str
    query: str
    number: int


class Corpus:
    """Notes, and rare things planted in some of them."""

    def __init__(self, count: int) -> None:
        self.prose = Prose(seed=23)
        self.chance = self.prose.chance
        self.facts = list(self.prose.facts(count))
        self.free = self.chance.sample(range(count), count)
        self.words = self._planted(self.prose.word(4) for _ in range(EACH))
        self.names = self._planted(self.identifier() for _ in range(2 * EACH))
        self.all = "\n".join(fact.text.lower() for fact in self.facts)
        self.counted = Counter(_WORD.findall(self.all))

    def _planted(self, things: Iterator[str]) -> dict[str, int]:
        """Put each somewhere into a note of its own; where it went."""
        found = {}
        for thing in things:
            at = found[thing] = self.free.pop()
            words = self.facts[at].text.split()
            place = self.chance.choice([0, len(words), self.chance.randrange(len(words))])
            words.insert(place, thing)
            self.facts[at] = self.facts[at]._replace(text=" ".join(words))
        return found

    def identifier(self) -> str:
        """Something from a program that nobody wrote."""
        one, two = self.prose.word(3), self.prose.word(2)
        number = self.chance.randrange(10_000, 99_999)
        return self.chance.choice([
            f"{one}_{two}.py", f"{one}{two.title()}Store", f"v{number // 100}.{number % 100}.3",
            f"#{number}", f"src/{one}/{two}.ts", f"{one}-{two}", f"{one.title()}Error",
            f"CVE-2025-{number}", f"{one}::{two}", f"--{one}-{two}", f"{one}@{two}.example",
        ])  # fmt: skip

    def beside(self, thing: str) -> str:
        """The thing among frequent words, a question's, some of another note, or alone."""
        common = self.chance.sample(self.prose.vocabulary[len(STOP) : len(STOP) + 200], 3)
        other = self.prose.query(self.facts[self.free[0]].text, 3).split()
        other = [word for word in other if self.counted[word.lower()] > 1]
        told = self.chance.choice([common, "what did we say about".split(), other, []])
        at = self.chance.randint(0, len(told))
        return " ".join([*told[:at], thing, *told[at:]])

    def is_alone(self, text: str) -> bool:
        """Whether it stands at one place in all the notes."""
        return len(text) > 3 and self.all.count(text.lower()) == 1

    def cases(self) -> Iterator[Case]:
        """Every query."""
        for thing, at in self.words.items():
            yield Case("a new word", self.beside(thing), at + 1)
        for number, (thing, at) in enumerate(self.names.items()):
            if number < EACH:
                yield Case("an identifier", self.beside(thing), at + 1)
            else:
                cut = [part for part in (thing[1:], thing[2:], thing[:-1]) if self.is_alone(part)]
                part = self.chance.choice(cut or [thing])
                yield Case("part of an identifier", part, at + 1)
        once = [at for at in self.free if self.said_once(at)]
        for at in once[:EACH]:
            word = self.chance.choice(self.said_once(at))
            yield Case("a word said once", self.beside(word), at + 1)
        for at in once[EACH : 2 * EACH]:
            text, part = self.facts[at].text, ""
            while not self.is_alone(part):
                start = self.chance.randrange(len(text) - 30)
                part = text[start : start + self.chance.randint(16, 30)].strip()
            yield Case("a slice of a text", part, at + 1)

    def said_once(self, at: int) -> list[str]:
        """The words of a note that no other note has."""
        return [w for w in _WORD.findall(self.facts[at].text) if self.counted[w.lower()] == 1]


def main() -> int:
    """Ask them all; 1 when one note was not first."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="2,000 notes in place of 10,000")
    corpus = Corpus(2_000 if parser.parse_args().quick else 10_000)
    asked: Counter[str] = Counter()
    first: Counter[str] = Counter()
    with scratch() as folder:
        write_notebook(folder / "book", corpus.facts)
        with Notebook.open(folder / "book", watch=True) as book:
            for case in corpus.cases():
                found = [hit.note.id for hit in book.recall(case.query, 10)]
                asked[case.kind] += 1
                first[case.kind] += found[:1] == [case.number]
                if found[:1] != [case.number]:
                    print(f"  {case.kind}: {case.query!r} wants {case.number}, got {found[:3]}")
    for kind, count in asked.items():
        print(f"  {kind:24} {first[kind]:4} of {count} first")
    total = asked.total()
    return tell(f"the only note first, of {total}", first.total(), total, least=True)


if __name__ == "__main__":
    sys.exit(main())
