"""The words of a question as one index knows them: how rare they are, and what stands for them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from functools import cache

from co_cli.knowledge.search import words
from co_cli.knowledge.search.lookup import Lookup
from co_cli.knowledge.search.query import Query

FEW = 20  # passages that are read to see whether they hold a part of a word
_BEGUN, _WITHIN, _SLIP = 0.8, 0.7, 0.7  # how well it meets a word to begin like it, hold it, differ
_LEAST = 100  # of a handful of notes nothing can be said about how rare a word is
_NAMED = 2.0
_MOST, _SLIPS = 200, 8  # words that may stand for a beginning; words looked at for slips


class QueryTerms:
    """The words that are looked for; `holds` tells whether a passage has a folded text in it."""

    def __init__(self, lookup: Lookup, query: Query, holds: Callable[[int, str], bool]) -> None:
        self.lookup, self.query = lookup, query
        self.size = lookup.passages()
        named = [word.casefold() for word in query.words if word[0].isupper()]
        self.people = list(filter(lookup.speaks, named))
        self.wanted: dict[str, None] = {}  # what the index is asked for
        self.stems: dict[str, tuple[str, float]] = {}  # for which word each stands, and how well
        self.idf: dict[str, float] = {}
        self.within: dict[str, set[int]] = {}  # words that only stand inside others, and where
        self.weight: dict[str, float] = {}  # of each word
        self.whole = self.lost = 0.0  # the weight of all, and of names that stand nowhere
        self._found: set[str] = set()  # the words that stand somewhere
        self._rare: dict[str, str] = {}  # the terms that stand in one passage, by their stems
        self._holds = holds
        self.has = cache(self._has)  # whether a word of a text is one that is asked for
        for word in query.words:
            self._ask(word)

    def met(self, key: int, stems: Iterable[str]) -> dict[str, float]:
        """How well each word is met by a passage that has these stems of it."""
        found: dict[str, float] = {}
        for word, share in map(self.stems.__getitem__, stems):
            found[word] = min(1.0, found.get(word, 0.0) + share)
        found.update((word, _WITHIN) for word, rows in self.within.items() if key in rows)
        return found

    def _has(self, word: str) -> bool:
        stems = self.lookup.stems(words.analysed(word))
        inside = any(words.folded(one) in words.folded(word) for one in self.within)
        return inside or not self.stems.keys().isdisjoint(stems)

    def _ask(self, word: str) -> None:
        """Look for a word as a whole, and for its parts, which together are as good."""
        whole, parts = words.whole_and_parts(word)
        if word.casefold() in self.people:
            self.wanted.update(dict.fromkeys((*whole, *parts)))
            return
        count = sum(self._want(word, term, 1.0) for term in whole)
        count += sum(self._want(word, term, 0.0) for term in parts)
        own = [stem for stem, (of, share) in self.stems.items() if of == word and not share]
        together = sum(self.idf[stem] for stem in own)
        for stem in own:
            self.stems[stem] = word, self.idf[stem] / together
        name = word in self.query.names and word.isalpha()
        if words.is_dense(word) and len(word) == 1:
            self._begin(word, 1)
        elif whole + parts and not count and not name:
            self._begin(word, 4)

    def _want(self, word: str, term: str, share: float) -> int:
        """Look for a term on behalf of a word; in how many passages it stands."""
        count = 0
        for stem in self.lookup.stems(term):
            count = self.lookup.spread(stem)
            if stem not in self.stems and (count or share in (0.0, 1.0)):
                self.wanted[term] = None
                self.stems[stem] = word, share
                self._found.update([word] if count else [])
                if count == 1 and share != _SLIP:
                    self._rare[stem] = term
                total = max(self.size, _LEAST)
                self.idf[stem] = math.log(1 + (total - count + 0.5) / (count + 0.5))
        return count

    def _begin(self, word: str, least: int) -> bool:
        """Look for what begins like a word, else for what has it inside; whether there is any."""
        low = words.folded(word)
        if len(low) < least:
            return False
        if sum([self._want(word, other, _BEGUN) for other in self.lookup.beginning(low, _MOST)]):
            return True
        rows = self.lookup.holding(low) if len(low) > 3 else []
        rows = [row for row in rows if len(rows) <= FEW and self._holds(row, low)]
        if rows:
            self.within[word] = set(rows)
        return bool(rows)

    def mend(self) -> bool:
        """When nothing matches: what begins like the words, else what is one slip away."""
        asked = [word for word in self.query.words if words.terms(word)][:_SLIPS]
        if any([self._begin(word, 2) for word in asked]):
            return True
        known = 0
        for word in asked:
            low = word.casefold()
            if len(low) >= 4 and low.isalpha():
                for other in self.lookup.of_length(len(low) - 1, len(low) + 1):
                    near = words.slip(low, other) or words.slip(low, other.removesuffix("s"))
                    known += self._want(word, other, _SLIP) if near else 0
        return known > 0

    def weigh(self) -> None:
        """How much each word counts; a name counts more, and against all if it stands nowhere."""
        for stem, (word, _) in self.stems.items():
            named = _NAMED if word in self.query.names else 1.0
            self.weight[word] = max(self.weight.get(word, 0.0), named * self.idf[stem])
        for word, rows in self.within.items():
            self.weight.setdefault(word, math.log(1 + max(self.size, _LEAST) / len(rows)))
        self.whole = sum(self.weight.values())
        lost = self.weight.keys() & self.query.names - self._found - self.within.keys()
        self.lost = sum(self.weight[word] for word in sorted(lost))

    def alone(self) -> Iterator[int]:
        """The passages that alone have something that is asked for."""
        for term in self._rare.values():
            yield from (row for row, _ in self.lookup.matching([term], "1, 1, 1, 1"))
        yield from (row for rows in self.within.values() for row in rows)
