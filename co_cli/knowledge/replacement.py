"""Whether a new text may replace an old one: the same matter, another value.

A yes only asks a person, so a wrong one costs a question, and a wrong no leaves the old note
beside the new one. What counts how much was fitted on the pairs of notes in
tests/data/replacements_open.jsonl and replacements_held.jsonl, and measured on
replacements_fresh.jsonl, which nothing was fitted on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from math import sqrt
from operator import mul
from typing import TypeVar

from co_cli.errors import EmbedderUnavailable
from co_cli.knowledge.format.note import Note
from co_cli.knowledge.meaning.encoders import built_in
from co_cli.knowledge.search.hits import Hit
from co_cli.knowledge.search.words import MONTHS, STOP, spoken

_ENOUGH = 0.92  # what these must add up to, with the cosine:
_CHANGED = 0.52  # the new one tells of a change,
_LATELY = 0.33  # or that something holds now,
_OTHER_VALUE = 0.24  # both have a number, day or name, and not the same, or one says "not",
_RIVAL = 0.2  # it tells of a change, and names what is used in place of what the old one names,
_SHARED = 0.37  # all words of the shorter one are in the other,
_PARALLEL = -0.42  # they say different things of different things
_FEWEST = 0.25  # of the shorter one's words must be in the other
_LONG = 300  # characters; a page is not one fact
_STEM = 5  # letters by which the forms of a word agree
_MOST = 3  # notes that one text may replace
_COMPARED = 20  # hits that are looked at for such as replace each other
_OF_A_DAY = frozenset({"month", "day"})  # what speaks for a hit when the question names a time

_Some = TypeVar("_Some")
_WORD = re.compile(r"\w(?:[\w.:/'+-]*\w)?")
_CLITIC = re.compile(r"'(?:s|m|re|ve|d|ll)\Z")
_WEEKDAY = re.compile(r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?\Z")
_NUMBERS = frozenset("one two three four five six seven eight nine ten eleven twelve".split())
# They carry no matter, but tell whose it is, and where what is said of it begins.
_MARKS = {"i": "my", "me": "my", "are": "is"} | {
    word: word for word in "my your his her their is".split()
}
_EMPTY = STOP | {"everything"}
_NOT = re.compile(r"\b(?:not|never|no|without|off|\w{2,9}n't)\b")
_CHANGE = re.compile(
    r"\b(?:no longer|no more|any ?more|instead|in place of|rather|from now on|these days|after all|"
    r"rid of|gone|left(?! out)|quit|(?:gave|given) up|(?:took|taken) over|(?:stepped|shut) down|"
    r"(?<!\bbe )(?<!\bis )(?<!\bare )(?:moved|migrated|switched|changed|renamed|replaced|dropped|"
    r"upgraded|downgraded|converted|rewrote|rewritten|rebuilt|ported|raised|lowered|increased|"
    r"reduced|doubled|halved|extended|shortened|slipped|pushed|postponed|delayed|stopped|cancelled|"
    r"abandoned|ditched|scrapped|removed|abolished|retired|sold)(?! on\b))\b"
)
_NOW = re.compile(r"\b(?:now|as of|since|again)\b|(?:\A|\b(?:a|my|our) )new\b")
# A question, a thought or an addition leaves what was said as it is.
_LEAVES = re.compile(
    r"\?\W*\Z|\b(?:might|maybe|perhaps|could|would|let's|also|too|in addition|"
    r"should (?:we|i)|plan(?:s|ning)? (?:is )?to|think(?:ing)? (?:of|about)|consider(?:ing)?)\b"
)
# What is used in place of each other; a fast vector does not know that Django is a framework.
_RIVALS = """
django fastapi flask rails laravel phoenix nestjs|react vue angular svelte ember|
postgres postgresql mysql mariadb sqlite mongodb oracle dynamodb|aws azure gcp heroku hetzner
digitalocean ovh netlify vercel|jenkins github gitlab bitbucket circleci travis teamcity buildkite|
npm yarn pnpm bun|pip poetry uv pipenv conda|pytest unittest nose|jest vitest mocha|cypress
playwright selenium|slack mattermost discord zulip|vim neovim emacs vscode helix zed
pycharm intellij|ubuntu debian fedora macos windows nixos|python go rust java kotlin ruby
typescript javascript php elixir scala swift|kafka rabbitmq sqs nats redis|elasticsearch opensearch
solr meilisearch|terraform pulumi ansible cloudformation|jira trello asana|black ruff flake8
pylint prettier eslint|stripe adyen paypal mollie|datadog grafana prometheus sentry
"""
_KINDS = {name: at for at, kind in enumerate(_RIVALS.split("|")) for name in kind.split()}


def replaced(text: str, notes: Iterable[Note]) -> list[Note]:
    """The few notes that a new text may replace, the nearest in meaning first."""
    found = [note for note in notes if may_replace(note.body, text)]
    return sorted(found, key=lambda note: -_nearness(note.body, text))[:_MOST]


def newest_first(hits: Sequence[Hit]) -> list[Hit]:
    """The same hits; one that another may replace says so, and comes after it, no surer than it.

    What holds the question as it stands, or is of the day that is asked for, keeps its place.
    """
    facts = [hit.note for hit in hits[:_COMPARED] if hit.note.kind == "memory"]
    facts = [note for note in facts if not note.consolidated]
    hits = [hit._replace(replaced_by=_successor(hit.note, facts)) for hit in hits]
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


def _successor(old: Note, facts: Sequence[Note]) -> Note | None:
    """The newest of these notes that may replace this one, if it is one of them."""
    later = [note for note in facts if old in facts and _told_at(note) > _told_at(old)]
    newer = [note for note in later if may_replace(old.body, note.body)]
    return max(newer, key=_told_at, default=None)


def _told_at(note: Note) -> tuple[str, int]:
    """When a note was last said."""
    return str(note.meta.get("updated") or note.created)[:19], note.id


def _nearness(one: str, other: str) -> float:
    """The cosine of two texts, skimmed; 0 where one of them has no meaning that can be told."""
    left, right = _skimmed(one), _skimmed(other)
    length = sqrt(sum(map(mul, left, left)) * sum(map(mul, right, right)))
    return float(sum(map(mul, left, right)) / (length or 1.0))


@lru_cache(256)
def _skimmed(text: str) -> Sequence[int]:
    try:
        return memoryview(built_in().quickly(text)).cast("b")
    except EmbedderUnavailable:  # recall says so; a save notices less
        return ()


def may_replace(old: str, new: str) -> bool:
    """Whether the new text speaks of what the old one does, and says something else of it."""
    shared = shared_matter(old, new)
    if not shared:
        return False
    cosine = _nearness(old, new)
    if cosine + _CHANGED + _OTHER_VALUE + _RIVAL + _SHARED < _ENOUGH:
        return False
    named = _apart(_names(old), _names(new))
    old, new = _said(old), _said(new)
    was, becomes = _words(old), _words(new)
    negated = bool(_NOT.search(old)) != bool(_NOT.search(new))
    told = _CHANGED if _CHANGE.search(new) else _LATELY if _NOW.search(new) else 0.0
    adds = {*was} <= {*becomes} and not told and not negated
    if adds or _LEAVES.search(new):
        return False
    other = _OTHER_VALUE * (negated or named or _differ(was, becomes))
    rival = _RIVAL * (told > 0 and _rivals(was, becomes))
    parallel = _PARALLEL * _parallel(was, becomes)
    return cosine + told + other + rival + parallel + _SHARED * shared >= _ENOUGH


def _rivals(old: Iterable[str], new: Iterable[str]) -> bool:
    """Whether the new one names what is used in place of something that the old one names."""
    kinds = {_KINDS[word] for word in old if word in _KINDS}
    return any(_KINDS.get(word) in kinds for word in {*new} - {*old})


def shared_matter(old: str, new: str) -> float:
    """How many of the shorter one's words both have, from 0 to 1; 0 when too few or too long."""
    if max(len(old), len(new)) > _LONG:
        return 0.0
    was, becomes = ({*_words(_said(text))} - _MARKS.keys() for text in (old, new))
    both = [word for word in was & becomes if not (_is_number(word) or _is_day(word))]
    if not both and _rivals(was, becomes) and _CHANGE.search(_said(new)):
        return float(len(becomes) == 1)  # "we've switched to Django": of nothing else
    share = len(both) / (min(len(was), len(becomes)) or 1)
    return share if share >= _FEWEST else 0.0


def _said(text: str) -> str:
    """What is said, whoever says it."""
    return spoken(text)[1].lower().replace("’", "'")


@lru_cache(1024)
def _words(text: str) -> tuple[str, ...]:
    """The words that say what it is about and what of it, and marks; all forms as one."""
    found = (_CLITIC.sub("", word) for word in _WORD.findall(text))
    found = (word for word in found if word in _MARKS or word not in _EMPTY)
    return tuple(_stem(word) for word in found if word in _MARKS or not _CHANGE.fullmatch(word))


def _stem(word: str) -> str:
    if word in _MARKS:
        return _MARKS[word]
    if len(word) < 4 or word in _KINDS or not word.isalpha() or _is_number(word) or word in MONTHS:
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


def _parallel(old: Sequence[str], new: Sequence[str]) -> bool:
    """Whether each has words of its own before and after one they share: staging *runs* 16."""
    shared = {*old} & {*new}
    known = shared | _MARKS.keys()

    def divided(words: Sequence[str], by: str) -> bool:
        at = words.index(by)
        return not (known.issuperset(words[:at]) or known.issuperset(words[at:]))

    return any(divided(old, word) and divided(new, word) for word in shared)
