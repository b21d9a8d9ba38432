"""A question taken apart: its words, names and days, and its words as one index knows them."""

import math
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import date, timedelta
from functools import cache, cached_property
from typing import NamedTuple

from co_cli.errors import EmbedderUnavailable
from co_cli.knowledge.meaning.encoders import built_in
from co_cli.knowledge.search import words
from co_cli.knowledge.search.lookup import Lookup
from co_cli.knowledge.search.words import MONTHS

MOST = 4096  # characters of a question that count
_TERMS, _DAYS = 64, 4
_ASKING = frozenset(
    "kind kinds type types sort sorts way ways thing things name names ever many much long often "
    "tell know remember recall".split()
)
_MONTH = "|".join(MONTHS)
_DATE = (
    rf"(?i)(?:\b(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? )?\b({_MONTH})\b"
    r"(?: (\d{1,2})(?:st|nd|rd|th)?\b(?! ?\d))?(?:,? (\d{4})\b)?"
)
_RELATIVE = (
    r"(?i)\b(?:today|yesterday|(?:this|last) (?P<unit>week|month|year)"
    r"|(?P<many>\d{1,4}|an?|two|three|four|five|six) (?P<ago>day|week|month|year)s? ago"
    r"|(?:in|from|during) (?P<year>(?:19|20)\d\d)(?![-\d]))\b"
)
_NUMBERS = {"two": 2, "three": 3, "four": 4, "five": 5, "six": 6}
_LENGTHS = {"day": 1, "week": 7, "month": 30, "year": 365}
_ISO = r"\b(\d{4})-(\d\d)(?:-(\d\d))?\b"
_IN = r"(?i)\b(?:in|of|during|since|until|by|before|after|mid|late|early|last|this|next) \Z"

_FEW = 20  # passages that are read to see whether they hold a part of a word
_BEGUN, _WITHIN, _SLIP = 0.8, 0.7, 0.7  # how well it meets a word to begin like it, hold it, differ
_LEAST = 100  # of a handful of notes nothing can be said about how rare a word is
_NAMED = 2.0
_SELDOM = 5  # passages; of a name's forms that share a stem, the one that is written counts
_MOST, _SLIPS = 200, 8  # words that may stand for a beginning; words looked at for slips


class Day(NamedTuple):
    """A day or month that a question names; 0 where it does not say."""

    year: int
    month: int
    day: int

    @property
    def pattern(self) -> str:
        """What the dates in that month look like."""
        return f"{self.year or '____'}-{self.month:02d}%"

    def fits(self, created: str) -> tuple[float, float]:
        """Whether a date lies in that month, and how near it is to that day."""
        month, near = created[:7] == f"{self.year or created[:4]}-{self.month:02d}", 0.0
        with suppress(ValueError):
            told = date.fromisoformat(created[:10])
            days = (told - date(self.year or told.year, self.month, self.day)).days
            near = 1.0 if 0 <= days <= 1 else 0.5 if -1 <= days <= 10 else 0.0
        return float(month), near


class Span(NamedTuple):
    """From one day to another, both ISO dates."""

    first: str
    last: str

    @property
    def pattern(self) -> str:
        """What the dates between them look like."""
        year = self.first[:4]
        return f"{year}-%" if self.last.startswith(year) else "%"

    def fits(self, created: str) -> tuple[float, float]:
        """Whether a date lies between them."""
        return float(self.first <= created[:10] <= self.last), 0.0


class Query:
    """What is asked for, in the forms the search needs; `today` tells what `yesterday` means."""

    def __init__(self, text: str, today: str = "") -> None:
        text = text[:MOST].replace("\0", " ")  # where SQLite would take it for the end
        text = text.encode("utf-8", "replace").decode()
        self.text, self.today = text, today
        self.needle = words.folded(text)
        self.days, rest = _days(text, today)
        asked = words.WORD.findall(rest)
        told = [word for word in asked if word.casefold() not in _ASKING]
        self.words = list(dict.fromkeys(told if any(map(words.terms, told)) else asked))[:_TERMS]
        self.names = named(rest)


def named(text: str) -> set[str]:
    """Words written like names: a capital or a digit inside a sentence, or an identifier."""
    found = set()
    start = True
    for match in words.WORD.finditer(text):
        word = match.group()
        odd = word != word.lower() or not word.isalpha()
        if odd and not (start and word[1:] == word[1:].lower()) and not word.isdecimal():
            found.add(word)
        start = text[match.end() : match.end() + 1] in {".", "!", "?", ":"}
    return found - {"I"}


def _days(text: str, today: str) -> tuple[list[Day | Span], str]:
    """The days a question names, and the question without them."""
    found: list[tuple[str, Day | Span]] = []
    for match in re.finditer(_RELATIVE, text) if today else ():
        found.append((match[0], _span(match, date.fromisoformat(today))))
    for match in re.finditer(_DATE, text):
        day, name = match[1] or match[3], match[2]
        plain = name.lower() in {"may", "march"} and not (day or match[4])
        if not plain or (name[0].isupper() and re.search(_IN, text[: match.start(2)])):
            month = MONTHS.index(name.lower()) + 1
            found.append((match[0], Day(int(match[4] or 0), month, int(day or 0))))
    for match in re.finditer(_ISO, text):
        if 1 <= int(match[2]) <= 12:
            found.append((match[0], Day(*(int(part or 0) for part in match.groups()))))
    for written, _ in found:
        text = text.replace(written, " ", 1)
    return list(dict.fromkeys(day for _, day in found))[:_DAYS], text


def _span(match: re.Match[str], today: date) -> Span:
    """What a person means by yesterday, last week, 3 months ago, in 2025."""
    if year := match["year"]:
        return Span(f"{year}-01-01", f"{year}-12-31")
    if unit := match["ago"]:
        number = match["many"].lower()
        many = int(number) if number.isdecimal() else _NUMBERS.get(number, 1)
        length = _LENGTHS[unit.lower()]
        there = today - timedelta(days=min(many * length, 700_000))
        slack = timedelta(days=length // 2)
        return Span((there - slack).isoformat(), (there + slack).isoformat())
    unit = (match["unit"] or "day").lower()
    this = match[0].lower().startswith(("this", "today"))
    last = today if this else _start(unit, today) - timedelta(days=1)
    return Span(_start(unit, last).isoformat(), last.isoformat())


def _start(unit: str, day: date) -> date:
    """The first day of the week, month or year that a day is in."""
    year = day.timetuple().tm_yday - 1
    past = {"day": 0, "week": day.weekday(), "month": day.day - 1, "year": year}
    return day - timedelta(days=past[unit])


class QueryTerms:
    """The words that are looked for; `said` tells what a passage says, folded."""

    def __init__(self, lookup: Lookup, query: Query, said: Callable[[int], str]) -> None:
        self.lookup, self.query = lookup, query
        self.size = lookup.passages()
        self.wanted: dict[str, None] = {}  # what the index is asked for
        self.stems: dict[str, tuple[str, float]] = {}  # for which word each stands, and how well
        self.idf: dict[str, float] = {}
        self.within: dict[str, set[int]] = {}  # words that only stand inside others, and where
        self.guesses: set[str] = set()  # words that no passage has; others may stand for them
        self.misspelt = False  # even so nothing was found, but for words one letter away
        self.weight: dict[str, float] = {}  # of each word
        self.whole = self.lost = 0.0  # the weight of all, and of names that stand nowhere
        self._found: set[str] = set()  # the words that stand somewhere
        self._rare: dict[str, list[int]] = {}  # the terms that few passages have, and these
        self._said = said
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
        # A stem begins like its word, so few words have to be cut down to theirs.
        maybe = [term for term in words.terms(word) if term[0] in self._initials or term[0] > "z"]
        if maybe and not self.stems.keys().isdisjoint(self.lookup.stems(" ".join(maybe))):
            return True
        return any(words.folded(one) in words.folded(word) for one in self.within)

    @cached_property
    def _initials(self) -> set[str]:
        return {stem[0] for stem in self.stems}

    def _ask(self, word: str) -> None:
        """Look for a word as a whole, and for its parts, which together are as good."""
        whole, parts = words.whole_and_parts(word)
        count = sum(self._want(word, term, 1.0) for term in whole)
        count += sum(self._want(word, term, 0.0) for term in parts)
        own = [stem for stem, (of, share) in self.stems.items() if of == word and not share]
        together = sum(self.idf[stem] for stem in own)
        for stem in own:
            self.stems[stem] = word, self.idf[stem] / together
        if whole + parts and not count and not words.is_dense(word):
            self.guesses.add(word)
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
                if 0 < count <= _SELDOM and share != _SLIP:
                    self._rare[term] = [row for row, _ in self.lookup.matching([term])]
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
        rows = [row for row in rows if len(rows) <= _FEW and low in self._said(row)]
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
        self.misspelt = known > 0
        return self.misspelt

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
        yield from (rows[0] for rows in self._rare.values() if len(rows) == 1)
        yield from self.special
        yield from (row for rows in self.within.values() for row in rows)

    def _says(self, row: int, term: str) -> bool:
        return term in words.analysed(self._said(row)).split()

    @cached_property
    def special(self) -> set[int]:
        """The passages that alone have a name or a coinage as it is written: meant, most likely."""
        found: set[int] = set()
        for term, rows in self._rare.items() if self.size >= _LEAST else ():
            if not (term.isalpha() and _is_everyday(term)):
                held = rows if len(rows) == 1 else [row for row in rows if self._says(row, term)]
                found.update(held if len(held) == 1 else ())
        return found


def _is_everyday(word: str) -> bool:
    """Whether the model for meaning knows a word; odd names and coinages it cuts into crumbs."""
    try:
        return built_in().knows(word)
    except EmbedderUnavailable:
        return True
