"""A question taken apart: the words, the names, the days. Knows no note and no index."""

from __future__ import annotations

import re
from datetime import date, timedelta
from typing import NamedTuple

from co_cli.knowledge.search import words
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
        month = created[5:7] == f"{self.month:02d}" and created[:4] == (
            f"{self.year}" if self.year else created[:4]
        )
        return float(month), self._near(created) if self.day else 0.0

    def _near(self, created: str) -> float:
        try:
            told = date.fromisoformat(created[:10])
            days = (told - date(self.year or told.year, self.month, self.day)).days
        except ValueError:
            return 0.0
        return 1.0 if 0 <= days <= 1 else 0.5 if -1 <= days <= 10 else 0.0


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
        text = text[:MOST].encode("utf-8", "replace").decode()
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
    found: list[Day | Span] = []
    rest = text
    for match in re.finditer(_RELATIVE, text) if today else ():
        found.append(_span(match, date.fromisoformat(today)))
        rest = rest.replace(match[0], " ", 1)
    for match in re.finditer(_DATE, text):
        day, name = match[1] or match[3], match[2]
        plain = name.lower() in {"may", "march"} and not (day or match[4])
        if plain and not (name[0].isupper() and re.search(_IN, text[: match.start(2)])):
            continue
        found.append(Day(int(match[4] or 0), MONTHS.index(name.lower()) + 1, int(day or 0)))
        rest = rest.replace(match[0], " ", 1)
    for match in re.finditer(_ISO, text):
        if 1 <= int(match[2]) <= 12:
            found.append(Day(int(match[1]), int(match[2]), int(match[3] or 0)))
            rest = rest.replace(match[0], " ", 1)
    return list(dict.fromkeys(found))[:_DAYS], rest


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
