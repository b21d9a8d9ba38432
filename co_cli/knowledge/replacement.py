"""Whether a new text may replace an old one: the same matter, another value.

A yes only asks a person, so a wrong one costs a question, and a wrong no leaves the old note
beside the new one. The careful encoder judges both texts read as one; how near they are counts
too, and words that tell of a change. What counts how much was chosen on pairs that the judge had
not seen, and measured on others (tests/test_replacement.py).
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence, Set
from functools import lru_cache
from itertools import compress
from operator import mul
from typing import TypeVar

from co_cli.errors import EmbedderUnavailable
from co_cli.knowledge.format.note import Note
from co_cli.knowledge.meaning.encoders import LENGTH, built_in
from co_cli.knowledge.search.hits import Hit
from co_cli.knowledge.search.words import STOP

_ENOUGH = 2.6  # what these must add up to:
_JUDGED = 0.75  # the judge's score,
_NEAR = 3.0  # the cosine,
_CHANGED = 0.81  # that the new one tells of a change,
_LATELY = 0.84  # or that something holds now,
_LEAVES = -2.1  # that it asks, plans or adds,
_RIVAL = 1.6  # that it tells of a change and names a rival of what the old one names
_COSINE, _LEAST = 0.4, 0.2  # below which two texts are not judged; where a change is told
_COMMON = 3  # notes that share a word, as the project's name,
_CLOSE = 0.65  # and the cosine that it takes then
LONG = 300  # characters; a page is not one fact
_STEM = 5  # letters by which the forms of a word agree
_TRIED = 4  # pairs that are judged for one save or recall: each takes as long as a question
_MOST = 3  # notes that one text may replace
_COMPARED = 20  # hits that are looked at for such as replace each other
_OF_A_DAY = frozenset({"month", "day"})  # what speaks for a hit when the question names a time

_USER, _ME = r"\b(?:[Tt]he )?[Uu]ser\b", r"\b(?:I|[Mm]y|me)\b"

_Some = TypeVar("_Some")
_CHANGE_WORDS = re.compile(
    r"\b(?:no longer|no more|any ?more|instead|in place of|rather|from now on|these days|after all|"
    r"rid of|gone|left(?! out)|quit|cancelled|called off|(?:gave|given) up|(?:took|taken) over|"
    r"(?:stepped|shut) down|"
    r"(?<!\bbe )(?<!\bis )(?<!\bare )(?:moved|migrated|switched|changed|renamed|replaced|dropped|"
    r"upgraded|downgraded|converted|rewrote|rewritten|rebuilt|ported|raised|lowered|increased|"
    r"reduced|doubled|halved|extended|shortened|slipped|pushed|postponed|delayed|stopped|"
    r"abandoned|ditched|scrapped|removed|abolished|retired|sold)(?! on\b))\b"
)
_NOW_WORDS = re.compile(r"\b(?:now|as of|since|again)\b|(?:\A|\b(?:a|my|our) )new\b")
# A question, a thought or an addition leaves what was said as it is.
_LEAVES_WORDS = re.compile(
    r"\?\W*\Z|\b(?:might|maybe|perhaps|could|would|let's|also|too|in addition|"
    r"should (?:we|i)|plan(?:s|ning)? (?:is )?to|think(?:ing)? (?:of|about)|consider(?:ing)?)\b"
)
# What is used in place of each other: "we've switched to Django" says no more than that.
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
KINDS = {name: at for at, kind in enumerate(_RIVALS.split("|")) for name in kind.split()}


def replaced(text: str, notes: Iterable[Note]) -> list[Note]:
    """The few notes that a new text may replace, the nearest in meaning first."""
    there = [note for note in notes if len(note.body) <= LONG]
    common = _common(there)
    near = sorted(there, key=lambda note: -_worth_judging(note.body, text, common))[:_TRIED]
    return [*compress(near, may_replace([note.body for note in near], text, common))][:_MOST]


def newest_first(hits: Sequence[Hit]) -> list[Hit]:
    """The same hits; one that another may replace says so, and comes after it, no surer than it.

    What holds the question as it stands, or is of the day that is asked for, keeps its place.
    """
    facts = [hit.note for hit in hits[:_COMPARED] if hit.note.kind == "memory"]
    facts = [note for note in facts if not note.consolidated]
    by = _replacements(facts)
    hits = [hit._replace(replaced_by=by.get(hit.note.path)) for hit in hits]
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
        for new in [new for new in placed[at:] if hit(new).note.path == by.path]:
            placed.remove(new)
            placed.insert(at, new)
    return placed


def _replacements(notes: Sequence[Note]) -> dict[str, Note]:
    """What may replace each of these notes, by its path: the newest that does."""
    found: dict[str, Note] = {}
    left, common = _TRIED, _common(notes)
    for new in sorted(notes, key=told_at, reverse=True):
        older = (n for n in notes if told_at(n) < told_at(new) and n.path not in found)
        near = [note for note in older if _worth_judging(note.body, new.body, common)][:left]
        left -= len(near)
        judged = may_replace([note.body for note in near], new.body, common)
        found |= {note.path: new for note in compress(near, judged)}
    return found


def told_at(note: Note) -> tuple[str, int]:
    """When a note was last said, and its number: what sorts notes by age."""
    return str(note.meta.get("updated") or note.created)[:19], note.id


def may_replace(olds: Sequence[str], new: str, common: Set[str] = frozenset()) -> list[bool]:
    """Whether a new text speaks of what each old one does, and says something else of it.

    Words that are `common` to many notes hardly make two of them speak of the same.
    """
    pairs = [in_one_voice(old, new) for old in olds]
    if pairs != [(old, new) for old in olds]:
        return [_may_replace([old], now, common)[0] for old, now in pairs]
    return _may_replace(olds, new, common)


def _may_replace(olds: Sequence[str], new: str, common: Set[str]) -> list[bool]:
    near = {old: cosine for old in olds if (cosine := _worth_judging(old, new, common))}
    try:
        judged = _judged(new, *near) if near else []
    except EmbedderUnavailable:  # as in `_skimmed`
        return [False] * len(olds)
    told_of = hint(new)
    told = {
        old: _JUDGED * score
        + _NEAR * cosine
        + told_of
        + _RIVAL * (told_of > 0 and _rivals(old, new))
        for (old, cosine), score in zip(near.items(), judged, strict=True)
    }
    return [told.get(old, 0.0) >= _ENOUGH for old in olds]


def judge(old: str, new: str) -> float:
    """The judge's score of a pair, whatever else speaks for or against it."""
    try:
        old, new = in_one_voice(old, new)
        return _judged(new, old)[0]
    except EmbedderUnavailable:  # as in `_skimmed`
        return float("-inf")


def in_one_voice(old: str, new: str) -> tuple[str, str]:
    """Both as the person says them, where one says "I" and the other calls the person "User"."""
    for mine, told in ((old, new), (new, old)):
        if re.search(_ME, mine) and re.search(_USER, told):
            return _first_person(old), _first_person(new)
    return old, new


def _first_person(text: str) -> str:
    """A text as the person says it: "User lives in Bonn" is "I live in Bonn"."""
    text = re.sub(rf"{_USER}['’]s\b", "my", text)
    return re.sub(rf"{_USER} ((?:\w+ly|always|never|also|often|still) )?([a-z]+)", _of_me, text)


def _of_me(found: re.Match[str]) -> str:
    adverb, verb = found[1] or "", found[2]
    known = {"is": "am", "has": "have", "was": "was", "does": "do", "goes": "go"}
    plain = re.sub(r"(?<=[^aeiou]{2})es$|(?<![siu])s$", "", re.sub(r"ies$", "y", verb))
    return f"I {adverb}{known.get(verb, plain)}"


@lru_cache(256)
def _judged(new: str, *olds: str) -> list[float]:
    """The judge's scores, kept: a save is planned more than once, and notes are found again."""
    return built_in().replaces(olds, new)


def _worth_judging(old: str, new: str, common: Set[str]) -> float:
    """The cosine of two texts, as they are skimmed; 0 where they cannot be of one matter."""
    if max(len(old), len(new)) > LONG:
        return 0.0
    changed = hint(new) > 0
    rivals = changed and _rivals(old, new)
    shared = _stems(old) & _stems(new)
    if not rivals and not shared:
        return 0.0
    cosine = likeness(old, new)
    if rivals:
        return max(cosine, _LEAST)
    least = _LEAST if changed else _CLOSE if shared <= common else _COSINE
    return cosine if cosine >= least else 0.0


def _common(notes: Sequence[Note]) -> Set[str]:
    """The words that several of these notes share."""
    counts = Counter(stem for note in notes for stem in _stems(note.body))
    return {stem for stem, many in counts.items() if many >= _COMMON}


def _rivals(old: str, new: str) -> bool:
    """Whether the new one names what is used in place of something that the old one names."""
    was, becomes = ({*re.findall(r"\w+", text.lower())} & KINDS.keys() for text in (old, new))
    return any(KINDS[word] in {KINDS[one] for one in was} for word in becomes - was)


@lru_cache(1024)
def hint(text: str) -> float:
    """What the words of a new text say for or against a replacement."""
    said = text.lower().replace("’", "'")
    told = _CHANGED if _CHANGE_WORDS.search(said) else _LATELY if _NOW_WORDS.search(said) else 0.0
    return told + _LEAVES * (_LEAVES_WORDS.search(said) is not None)


@lru_cache(1024)
def _stems(text: str) -> frozenset[str]:
    words = re.findall(r"\w+", text.lower())
    return frozenset(word[:_STEM].rstrip("s") for word in words if word not in STOP)


def likeness(old: str, new: str) -> float:
    """The cosine of two texts, as they are skimmed."""
    return float(sum(map(mul, _skimmed(old), _skimmed(new)))) / LENGTH**2


@lru_cache(2048)
def _skimmed(text: str) -> Sequence[int]:
    try:
        return memoryview(built_in().quickly(text)).cast("b")
    except EmbedderUnavailable:  # recall says so; a save notices nothing
        return ()
