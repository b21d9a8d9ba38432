"""Whether a new text may replace an old one: the same matter, another value.

A yes only asks a person, so a wrong one costs a question, and a wrong no leaves the old note
beside the new one. What counts how much was fitted on pairs of notes such as those in
tests/data/replacements_open.jsonl, and measured on replacements_held.jsonl.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import TypeVar

from co_cli.knowledge.format.note import Note
from co_cli.knowledge.meaning.nearness import nearness
from co_cli.knowledge.search.hits import Hit
from co_cli.knowledge.search.words import MONTHS, STOP, spoken

_ENOUGH = 0.72  # what these must add up to, with the cosine:
_CHANGED = 0.25  # the new one tells of a change,
_LATELY = 0.15  # or that something holds now,
_OTHER_VALUE = 0.15  # both have a number, day or name, and not the same, or one says "not",
_SHARED = 0.2  # all words of the shorter one are in the other,
_ADDED = -0.02  # each word that only the new one has, up to eight
_FEWEST = 0.25  # of the shorter one's words must be in the other
_LONG = 300  # characters; a page is not one fact
_STEM = 5  # letters by which the forms of a word agree
_MOST = 3  # notes that one text may replace
_COMPARED = 20  # hits that are looked at for such as replace each other
_OF_A_DAY = frozenset({"month", "day"})  # what speaks for a hit when the question names a time

_Some = TypeVar("_Some")
_WORD = re.compile(r"\w(?:[\w.:/'+-]*\w)?")
_WEEKDAY = re.compile(r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?\Z")
_NUMBERS = frozenset("one two three four five six seven eight nine ten eleven twelve".split())
# They carry no matter, but tell whose it is, and where what is said of it begins.
_MARKS = {"i": "my", "me": "my", "are": "is"} | {
    word: word for word in "my your his her their is".split()
}
_NOT = re.compile(r"\b(?:not|never|no|without|off|\w{2,9}n't)\b")
_CHANGE = re.compile(
    r"\b(?:no longer|no more|any ?more|instead|in place of|rather|from now on|these days|"
    r"after all|rid of|gave up|given up|took over|moved|migrated|switched|changed|renamed|"
    r"replaced|dropped|upgraded|converted|rewritten|ported|raised|lowered|slipped|stopped|"
    r"cancelled|retired|sold|quit|stepped down|shut down)\b"
)
_NOW = re.compile(r"\b(?:now|as of|since|again)\b|(?:\A|\b(?:a|my|our) )new\b")


def replaced(text: str, notes: Iterable[Note]) -> list[Note]:
    """The few notes that a new text may replace, the nearest in meaning first."""
    found = [note for note in notes if _replaces(note.body, text)]
    return sorted(found, key=lambda note: -nearness(note.body, text))[:_MOST]


def newest_first(hits: Sequence[Hit]) -> list[Hit]:
    """The same hits; one that another may replace says so, and comes after it, no surer than it.

    What holds the question as it stands, or is of the day that is asked for, keeps its place.
    """
    hits = [hit._replace(replaced_by=None) for hit in hits]
    facts = [hit.note for hit in hits[:_COMPARED] if hit.note.kind == "memory"]
    facts = [note for note in facts if not note.consolidated]
    for at, hit in enumerate(hits):
        newer = [note for note in facts if hit.note in facts and _newer(note, hit.note)]
        if newer:
            hits[at] = hit._replace(replaced_by=max(newer, key=_told_at))
    sure = {hit.replaced_by.path for hit in hits if hit.replaced_by and not hit.weak}
    hits = [hit._replace(weak=hit.weak and hit.note.path not in sure) for hit in hits]
    return in_time(hits, lambda hit: hit)


def in_time(items: Iterable[_Some], hit: Callable[[_Some], Hit]) -> list[_Some]:
    """Each before what it may replace, unless that is just what was asked for."""
    placed = list(items)
    for old in tuple(placed):
        by = hit(old).replaced_by
        if by is None or hit(old).score == 1.0 or not _OF_A_DAY.isdisjoint(hit(old).features):
            continue
        at = placed.index(old)
        later = [new for new in placed[at:] if hit(new).note.path == by.path]
        for new in later:
            placed.remove(new)
            placed.insert(at, new)
    return placed


def _newer(note: Note, old: Note) -> bool:
    return _told_at(note) > _told_at(old) and _replaces(old.body, note.body)


def _told_at(note: Note) -> tuple[str, int]:
    """When a note was last said."""
    return str(note.meta.get("updated") or note.created)[:19], note.id


def _replaces(old: str, new: str) -> bool:
    return shared_matter(old, new) > 0 and may_replace(old, new, nearness(old, new))


def may_replace(old: str, new: str, cosine: float) -> bool:
    """Whether the new text speaks of what the old one does, and says something else of it.

    `cosine` is how near they are in meaning.
    """
    shared = shared_matter(old, new)
    if not shared or cosine + _CHANGED + _OTHER_VALUE + _SHARED < _ENOUGH:
        return False
    named = _apart(_names(old), _names(new))
    old, new = _said(old), _said(new)
    was, becomes = _words(old), _words(new)
    negated = bool(_NOT.search(old)) != bool(_NOT.search(new))
    told = _CHANGED if _CHANGE.search(new) else _LATELY if _NOW.search(new) else 0.0
    valued = _differ(was, becomes)
    if not told and not negated:
        another = (named and valued) or _differences(was, becomes) > 1
        if another or {*was} <= {*becomes}:
            return False  # it says the like of another thing, or only adds to the old one
    other = negated or named or valued
    added = min(len({*becomes} - {*was}), 8)
    return cosine + told + _OTHER_VALUE * other + _SHARED * shared + _ADDED * added >= _ENOUGH


def shared_matter(old: str, new: str) -> float:
    """How many of the shorter one's words both have, from 0 to 1; 0 when too few or too long."""
    if max(len(old), len(new)) > _LONG:
        return 0.0
    was, becomes = ({*_words(_said(text))} - _MARKS.keys() for text in (old, new))
    both = [word for word in was & becomes if not (_is_number(word) or _is_day(word))]
    share = len(both) / (min(len(was), len(becomes)) or 1)
    return share if share >= _FEWEST else 0.0


def _said(text: str) -> str:
    """What is said, whoever says it."""
    return spoken(text)[1].lower().replace("’", "'")


@lru_cache(1024)
def _words(text: str) -> tuple[str, ...]:
    """The words that say what it is about and what of it, and marks; all forms as one."""
    found = (word.removesuffix("'s") for word in _WORD.findall(text))
    return tuple(_stem(word) for word in found if word in _MARKS or not _is_empty(word))


def _is_empty(word: str) -> bool:
    return word in STOP or _CHANGE.fullmatch(word) is not None


def _stem(word: str) -> str:
    if word in _MARKS:
        return _MARKS[word]
    if len(word) < 4 or not word.isalpha() or _is_number(word) or word in MONTHS:
        return word
    return word.rstrip("s") if _is_day(word) else word[:_STEM].rstrip("s")


def _is_number(word: str) -> bool:
    return word in _NUMBERS or any(char.isdigit() for char in word)


def _is_day(word: str) -> bool:
    return word in MONTHS or _WEEKDAY.match(word) is not None


def _names(text: str) -> set[str]:
    """The words with a capital, but for the first and for days."""
    _, *words = _WORD.findall(spoken(text)[1]) or [""]
    named = {word.lower() for word in words if word[0].isupper()} - STOP
    return {word for word in named if not _is_day(word)}


def _differ(old: Sequence[str], new: Sequence[str]) -> bool:
    """Whether both have numbers of about one length, and none in common, or so with days."""
    numbers, others = {*filter(_is_number, old)}, {*filter(_is_number, new)}
    alike = any(abs(_digits(one) - _digits(two)) < 2 for one in numbers for two in others)
    days = _apart({*filter(_is_day, old)}, {*filter(_is_day, new)})
    return days or (alike and _apart(numbers, others))


def _digits(number: str) -> int:
    return sum(char.isdigit() for char in number) or 1


def _apart(some: set[str], others: set[str]) -> bool:
    return bool(some and others) and some.isdisjoint(others)


def _differences(old: Sequence[str], new: Sequence[str]) -> int:
    """In how many places each has words of its own: staging ... 16, production ... 14 in two."""
    shared = {*old} & {*new}

    def places(words: Sequence[str]) -> set[int]:
        found, passed = set(), 0
        for word in words:
            if word in shared:
                passed += 1
            elif word != "is":
                found.add(passed)
        return found

    return len(places(old) & places(new))
