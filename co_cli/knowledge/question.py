"""A question taken apart: the words, the names, the days. Knows no note and no index."""

from __future__ import annotations

import re
from datetime import date
from typing import NamedTuple

from co_cli.knowledge import words
from co_cli.knowledge.words import MONTHS

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
_ISO = r"\b(\d{4})-(\d\d)(?:-(\d\d))?\b"
_IN = r"(?i)\b(?:in|of|during|since|until|by|before|after|mid|late|early|last|this|next) \Z"
_WHEN = r"(?i)\s*(?:when|how long|since when|(?:what|which) (?:date|year|month|day|time))\b"
_NAMING = (
    r"(?i)\b(?:who|whom|where|which|what (?:city|country|state|place|company|team|book|movie|game|"
    r"song|band|author|brand)s?)\b"
)


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


class Question:
    """What is asked for, in the forms the search needs."""

    def __init__(self, text: str) -> None:
        text = text[:MOST].encode("utf-8", "replace").decode()
        self.text = text
        self.needle = words.folded(text)
        self.days, rest = _days(text)
        asked = words.WORD.findall(rest)
        told = [word for word in asked if word.casefold() not in _ASKING]
        self.words = list(dict.fromkeys(told if any(map(words.terms, told)) else asked))[:_TERMS]
        self.names = named(rest)
        self.when = bool(re.match(_WHEN, text))
        self.naming = bool(re.search(_NAMING, text))  # whether a name would answer it


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


def _days(text: str) -> tuple[list[Day], str]:
    """The days a question names, and the question without them."""
    found, rest = [], text
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
