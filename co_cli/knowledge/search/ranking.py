"""Recall by the index: candidates by words, letters and meaning, then a closer look at their files.

The closer look is a sum of what speaks for a note. Its weights were fitted on conversations, each
left out once, and checked on notes as Co keeps them (bench/).
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from operator import itemgetter
from typing import TypeVar

from co_cli.knowledge.meaning.languages import InOtherLanguage
from co_cli.knowledge.search import words
from co_cli.knowledge.search.files import Parts
from co_cli.knowledge.search.hits import Filters
from co_cli.knowledge.search.index import Index
from co_cli.knowledge.search.lookup import Row, Scores
from co_cli.knowledge.search.passages import Part
from co_cli.knowledge.search.query import Query, QueryTerms, Span

# Meaning is the cosine, `near` the share of the question's words that stand there, by rarity.
# `only` stands for a name or a coinage that no other note has.
# An `article` that answers no better than a memory comes after it.
WEIGHTS = {
    "meaning": 10.0, "near": 4.0, "month": 3.5, "day": 3.5, "expired": -1.5, "only": 6.0,
    "article": -0.3,
}  # fmt: skip

_FIRST = 50  # candidates of each kind, at least
_CLOSER = 60  # candidates that are looked at closely
_MANY = 1000  # what so many passages have tells none of them apart
_DATED = 50
_LETTERS = 0.6  # what shared letters count beside a cosine
_OF_ONE = 3  # passages of one note
_DAY = 2.0  # what a day weighs beside the words

_LOW, _HIGH, _BASE, _SLOPE = 0.35, 0.5, -0.17, 0.1  # the floor by the logarithm of the passages
_MISS, _FAINT = -0.15, -0.25  # the best must reach this, any other that; below 0 a hit is weak
_BLIND = -0.36  # both, where nothing but letters can tell
_LOST = 0.2  # what a hit needs more to be sure when all that was asked for stands nowhere
_OTHER = 0.07  # and when it is asked in a language that nothing reads closer than by vectors
_TOP = 5

_COVERED = 0.4  # what the words that stand there count beside the meaning: is this a miss?
_NEAR = 0.3  # meaning from here on is worth telling

_Some = TypeVar("_Some")


class Candidate:
    """A passage that may answer, and what speaks for it."""

    def __init__(self, key: int, row: Row, part: Part, meaning: float) -> None:
        self.key, self.row, self.part, self.text = key, row, part, part.text
        self.features = {"meaning": meaning}
        self.met: dict[str, float] = {}  # how well each word is met
        self.tags: list[str] = []
        self.others: list[Candidate] = []  # of the same note, best first
        self.score = self.cover = self.sure = 0.0
        self.exact = 0
        self.in_text = self.weak = False
        self.guessed = False  # it has only other words than those that were asked for

    @property
    def shown(self) -> float:
        """The score from 0 to 1, as people and programs see it."""
        return 1.0 if self.exact else round(0.999 / (1 + math.exp((5 - self.score) / 2)), 3)

    @property
    def strength(self) -> float:
        """How sure it is that this is about what was asked."""
        meaning = self.features["meaning"]
        return 2.0 if self.exact else max(self.cover, meaning + _COVERED * self.cover)

    @property
    def parts(self) -> dict[str, float]:
        """What each feature added to the score."""
        return {
            name: round(WEIGHTS[name] * value, 3) for name, value in self.features.items() if value
        }

    @property
    def why(self) -> str:
        """What speaks for it, in words."""
        features = self.features
        matched = [word for word, share in self.met.items() if share >= 0.5]
        matched = [word for word in matched if f"tag {word.casefold()}" not in self.tags]
        parts = ["exact text"] if self.in_text or (self.exact and not self.tags) else []
        if matched and not self.exact:
            parts.append("words: " + ", ".join(matched))
        parts += self.tags
        if features.get("month", 0.0) > 0:
            parts.append("date")
        if not parts or (features["meaning"] >= _NEAR and not self.exact):
            parts.append("meaning")
        return "; ".join(parts)


class Ranking:
    """One question put to one index."""

    def __init__(self, index: Index, query: Query, filters: Filters, limit: int) -> None:
        self.index, self.lookup, self.query = index, index.lookup, query
        query.days = [  # a span that holds no note was hardly meant as one
            day for day in query.days if not isinstance(day, Span) or self._any(day)
        ]
        self.allowed = self.lookup.allowed(filters)
        self.first = max(_FIRST, limit)  # candidates of each kind
        self.closer = max(_CLOSER, limit)
        self.parts = Parts(index.files, self.lookup)
        self.terms = QueryTerms(self.lookup, query, self._said)
        self.vector = b""  # the question's; empty when no embedder answers
        self._meaning: Scores = {}

    def candidates(self, *, quick: bool = False) -> list[Candidate]:
        """What may answer, best first, one passage a note; `quick` skims the question."""
        keyword = self._by_words()
        exact = self._by_letters()
        needle = self.query.needle
        stands = any(needle in self._said(row) for row in exact)
        if not keyword and not stands and self.terms.mend():
            keyword = self._by_words()
        # What stands there as it was asked needs no reading.
        self.vector = self.index.reader.query(self.query.text, quick=quick or stands)
        nearest = self._by_meaning()
        self.terms.weigh()
        picked = self._pick(keyword, exact, nearest)
        told: dict[str, Candidate] = {}
        for found in in_order(picked.values()):
            if (first := told.setdefault(found.row.name, found)) is not found:
                first.others.append(found)
        return list(told.values())

    def answers(self, found: list[Candidate]) -> list[Candidate]:
        """Those that answer, some as weak; none when all are about something else.

        Among many passages one is near by chance, but no article makes the memories more. Where the
        question's meaning is not known, letters alone are no proof of a miss.
        """
        terms = self.terms
        sizes = terms.size - self.lookup.passages_of_articles(), terms.size
        floors = [min(_HIGH, max(_LOW, _BASE + _SLOPE * math.log(size or 1))) for size in sizes]
        needed = _LOST * terms.lost / (terms.whole or 1.0)
        needed += _OTHER * isinstance(self.vector, InOtherLanguage)
        for one in found:
            one.sure = one.strength - floors[one.row.article]
            one.weak = one.guessed or one.sure < needed
        miss, faint = (_MISS, _FAINT) if any(self.vector) else (_BLIND, _BLIND)
        if max((one.sure for one in found[:_TOP]), default=-1.0) < miss:
            return []
        least = 0.0 if found[0].exact else faint
        return [one for one in found if one.sure >= least]

    def marks(self, text: str) -> list[tuple[int, int]]:
        """Where in a text the words that were asked for stand."""
        needle = r"\s+".join(map(re.escape, self.query.needle.split()))
        if len(needle) > 1 and (match := re.search(needle, text, re.IGNORECASE)):
            return [match.span()]
        return [word.span() for word in words.WORD.finditer(text) if self.terms.has(word.group())]

    # Candidates

    def _may(self, rows: Iterable[int]) -> Iterable[int]:
        return rows if self.allowed is None else (row for row in rows if row in self.allowed)

    def _few(self) -> Callable[[int], bool]:
        """Whether a passage may join a list; a long note must not take every place in it."""
        taken = dict[int, int]()

        def free(row: int) -> bool:
            if self.allowed is not None and row not in self.allowed:
                return False
            file = self.lookup.first_of(row)
            taken[file] = taken.get(file, 0) + 1
            return taken[file] <= _OF_ONE

        return free

    def _by_words(self) -> Scores:
        """The passages that hold the words, by BM25; of those that tie at the end, the newest."""
        found: Scores = {}
        free, last = self._few(), 0.0
        for row, score in self.lookup.matching(self.terms.wanted):
            if len(found) >= self.first and score < last:
                break
            if free(row):
                found[row] = last = score
        if len(found) > self.first:
            kept = best(found, self.lookup.files(found), self.first)
            found = {row: found[row] for row in kept}
        return found

    def _by_letters(self) -> list[int]:
        """The passages that may hold the question as it stands, the newest of them."""
        needle = self.query.needle
        if len(needle) < 3:
            return []
        rows = list(self._may(self.lookup.holding(needle)))
        if len(rows) > self.first:
            rows = newest(rows, self.lookup.files(rows).__getitem__)
            free = self._few()
            held = (row for row in rows if needle in self._said(row) and free(row))
            rows = list(islice(held, self.first))
        return rows

    def _by_meaning(self) -> Scores:
        """The passages nearest in meaning, and how near; ties at the end are left out.

        Of a question whose meaning is not known, such as one in another language, the letters tell.
        """
        if not any(self.vector):
            if not self.index.reader.embedder:
                return {}
            letters = self.lookup.resembling(self.query.needle)
            found = [(row, _LETTERS * share) for row, share in letters.items()]
        elif self.allowed is None:
            found = self.lookup.nearest(self.vector, _OF_ONE)
        else:
            found = self.lookup.cosines(self.vector, self.allowed)
        found.sort(key=itemgetter(1), reverse=True)
        free = self._few()
        found = list(islice((pair for pair in found if free(pair[0])), self.first + 1))
        if len(found) > self.first:
            found = [pair for pair in found[: self.first] if pair[1] > found[self.first][1]]
        self._meaning = dict(found)
        return dict(found)

    def _any(self, span: Span) -> bool:
        rows = self.lookup.files(self.lookup.dated(span.pattern)[:_MANY]).values()
        return any(span.fits(row.created)[0] for row in rows)

    def _by_date(self) -> list[int]:
        """The passages of the months or spans that are named, those nearest in meaning."""
        days = self.query.days
        rows = [row for day in days for row in self.lookup.dated(day.pattern)]
        rows = list(dict.fromkeys(self._may(rows)))
        if len(rows) > _MANY:
            return []
        files = self.lookup.files(rows)
        rows = [row for row in rows if any(day.fits(files[row].created)[0] for day in days)]
        self._compare(rows)
        return best({row: self._meaning.get(row, 0.0) for row in rows}, files, _DATED)

    def _pick(self, keyword: Scores, exact: list[int], nearest: Scores) -> dict[int, Candidate]:
        sure = dict.fromkeys((*exact, *self._may(self.terms.alone())))
        rows = dict.fromkeys((*keyword, *nearest, *self._by_date(), *sure))
        self._compare(rows)
        files = self.lookup.files(rows)
        rough = {
            row: 0.2 * keyword.get(row, 0.0)
            + WEIGHTS["meaning"] * self._meaning.get(row, 0.0)
            + WEIGHTS["month"] * any(day.fits(files[row].created)[0] for day in self.query.days)
            for row in rows
        }
        keep = dict.fromkeys((*sure, *best(rough, files, self.closer)))
        seen = (self._look(key, files[key], key in exact) for key in keep)
        return {found.key: found for found in seen if found is not None}

    def _compare(self, rows: Iterable[int]) -> None:
        """See to it that the cosine of these passages is known."""
        if any(self.vector):
            rest = [row for row in rows if row not in self._meaning]
            self._meaning.update(self.lookup.cosines(self.vector, rest))

    # A closer look

    def _look(self, key: int, row: Row, letters: bool) -> Candidate | None:
        """A passage with what speaks for it; `letters` says that it may hold the question."""
        query, part = self.query, self.parts.get(key, row)
        if part is None:
            return None
        found = Candidate(key, row, part, self._meaning.get(key, 0.0))
        features = found.features
        said = {*self.lookup.stems(words.analysed(_all(part, row)))}
        found.met = self.terms.met(key, [stem for stem in self.terms.stems if stem in said])
        found.tags = self._tags(row.tags)
        for day in query.days:
            month, near_day = day.fits(row.created)
            features["month"] = max(features.get("month", 0.0), month)
            features["day"] = max(features.get("day", 0.0), near_day)
        if row.article:
            features["article"] = 1.0
        if row.expires and row.expires < query.today:
            features["expired"] = 1.0
        if letters or len(found.met) == len(self.terms.weight) or len(query.needle) < 3:
            found.exact = self._exact(found)
        if found.met and found.met.keys() <= self.terms.guesses and not found.exact:
            found.guessed = self.terms.misspelt or features["meaning"] < _NEAR
        if not found.exact and key in self.terms.special:
            features["only"] = 1.0
        near = sum(self.terms.weight[word] * share for word, share in found.met.items())
        features["near"] = near / (self.terms.whole or 1.0)
        found.score = sum(WEIGHTS[name] * value for name, value in features.items())
        found.cover = self._cover(found, near)
        return found

    def _tags(self, tags: str) -> list[str]:
        asked = {self.query.needle, *(word.casefold() for word in self.query.words)}
        found = [tag for tag in tags.split("\n") if tag]
        exact = [f"tag {tag}" for tag in found if tag in asked]
        return exact or [f"tag {tag}" for tag in found if self.terms.has(tag)]

    def _cover(self, found: Candidate, near: float) -> float:
        """How much of what was asked for this passage covers, from 0 to 1."""
        whole = self.terms.whole + self.terms.lost
        if self.query.days:
            whole += _DAY
            near += _DAY * (found.features["month"] > 0 or found.features["day"] > 0)
        return near / whole if whole else 0.0

    def _said(self, row: int) -> str:
        """A passage and its tags as a substring is looked for in them."""
        file = self.lookup.file(row)
        part = self.parts.get(row, file)
        return "" if part is None else words.folded(_all(part, file))

    def _exact(self, found: Candidate) -> int:
        """2 when the question stands there as whole words or as a tag, 1 when as part of a word."""
        needle = self.query.needle
        tags = found.row.tags.split("\n")
        text = words.folded("\n".join([*found.part.above, found.text]))
        found.in_text = needle in text
        if needle in tags or re.search(rf"(?<![^\W_]){re.escape(needle)}(?![^\W_])", text):
            return 2
        return int(found.in_text or any(needle in tag for tag in tags))


def _all(part: Part, row: Row) -> str:
    """All that may hold a word that is asked for: what stands above a passage, its text, tags."""
    return "\n".join([*part.above, part.text + row.tags])


def newest(items: Iterable[_Some], row: Callable[[_Some], Row]) -> list[_Some]:
    """Newest first, whatever order the rows were written in."""
    ordered = sorted(items, key=lambda item: row(item).name)
    return sorted(ordered, key=lambda item: (row(item).created, row(item).number), reverse=True)


def best(scores: Scores, files: Mapping[int, Row], most: int) -> list[int]:
    """The passages of the highest scores, the newest of equals first."""
    return sorted(newest(scores, files.__getitem__), key=lambda row: -scores[row])[:most]


def in_order(found: Iterable[Candidate]) -> list[Candidate]:
    """Those that hold the question as it stands first, the newest of them before; then by score.

    Of equals a memory comes before an article.
    """
    ordered = sorted(newest(found, lambda one: one.row), key=lambda one: one.row.article)
    ordered.sort(key=lambda one: "expired" in one.features if one.exact else -one.score)
    return sorted(ordered, key=lambda one: -one.exact)
