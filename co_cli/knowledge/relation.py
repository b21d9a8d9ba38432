"""What two sentences are to each other, by the words in which they differ.

A contradiction says the same of the same with another value, denies it, or turns it round; only it
is worth a question. What is the same may still differ in a word, so nothing is dropped for it. The
judge of `replacement` is asked where words alone do not tell, and about what tells of a change:
where hardly anything else differs, a yes in either order is enough.
"""

import re
from collections import Counter
from itertools import pairwise, takewhile
from typing import Literal

from co_cli.errors import EmbedderUnavailable
from co_cli.knowledge.meaning.encoders import built_in
from co_cli.knowledge.replacement import (
    KINDS,
    LONG,
    hint,
    in_one_voice,
    judge,
    likeness,
    may_replace,
)
from co_cli.knowledge.search.words import BASE, MONTHS
from co_cli.knowledge.values import DAYS, UNITS, differ, in_one_form

Relation = Literal["same", "contradicts", "different"]
_LIKELY = 0.5  # the judge's score that makes two words two values of one thing
_SURE = 1.5  # and that which it takes where more than one word differs
_HOPELESS = -2.5  # a score of one order after which the other is not asked for
_NEAR = 0.3  # the cosine below which two sentences are not read for whether they state one fact
_ONE_FACT = 0.0  # the score from which on they do (training/README.md has what that costs)
_DENIED = 0.9  # what it takes more where just one of them says "not"
_EMPHASIS = frozenset({"no", "alway", "must"})  # "always X" and "never X" differ in no other word
_ENDING = re.compile(r"(?<=\w{3})(?:ments?|ations?|ings?|ed|en|es|ly|s|e|y)$")
_DENIAL = re.compile(r"(?:n't|\b(?:no longer|not|no|never|none|nobody|nothing|cannot|without))\b")
_DIRECTED = re.compile(r"\b(?:over|than|before|after|from|to|rather|above|below|not)\b")
_RANKED = re.compile(r"\b(?:over|than|before|after|from|rather|above|below|prefer\w*\b.*\bto)\b")
_RATHER = re.compile(r"\b(?:more|better|rather) than\b")
_NUMBER = re.compile(r".*\d|(?:one|half|once|twice)$")
_HALVES = re.compile(r"[,;]|\b(?:but|and)\b")
_MARKS = ".,;:!?…()[]{}\"'“”‘`*"
# Words without which a sentence says the same, or that stand for each other.
_LIGHT = frozenset(
    "a an the this that it its is are be has have do does i my we our us you user user's in on at "
    "of for with by to from over as and so than where really actually basically please also use "
    "uses used run runs keep keeps kept store stored live lives out sent send begin begins "
    "start starts prefer prefers like likes write writes written listen listens decided through "
    "ever anymore".split()
)
_FEW = 2  # words at one place
_ARTICLE = re.compile(r"\b(?:the|an?) ")
_OWNER = re.compile(r"\b(\w+)'s\b")
_EITHER_WAY = frozenset("is are was were and or the a an".split())  # between what may be swapped
# Of these there may be several: who speaks Dutch may speak Spanish too.
_MANY = re.compile(r"\b(?:likes?|loves?|hates?|enjoys?|speaks?|knows?|plays?|owns?)$")
# "Ticket 12 is open" and "ticket 14 is open" speak of two tickets; "Python 3.12 is used" does not.
_NUMBERED = re.compile(r"(?:the )?(\w+) #?\d+ ")
_KINDS = {  # of every word that has one, but for numbers
    **{word: str(kind) for word, kind in KINDS.items()},
    **{month + end: "month" for month in MONTHS for end in ("", "s")},
    **{day + end: "day" for day in (*DAYS, "weekday", "weekend") for end in ("", "s")},
    **dict.fromkeys(UNITS.values(), "unit"),
}


def relation(old: str, new: str) -> Relation:
    """Whether two sentences say the same, or the newer another value of the same, or neither."""
    if contradicts(old, new):
        return "contradicts"
    words, others = sorted(_weighty(old)), sorted(_weighty(new))
    return "same" if words == others != [] or states_same(old, new) else "different"


def contradicts(old: str, new: str) -> bool:
    """Whether the newer of two sentences says another value of what the older one says."""
    old, new = in_one_voice(old, new)
    was, becomes = _weighty(old), _weighty(new)
    gone, come = Counter(was) - Counter(becomes), Counter(becomes) - Counter(was)
    denied = _denies(old) != _denies(new)
    if not gone and not come:
        return bool(was) and (denied or (was != becomes and _turned(old, new)))
    if hint(new) > 0 and may_replace([old], new)[0]:
        return not states_same(old, new)
    opposed = denied and not (gone and come)  # "paid on 3 May" and "not paid"
    if not opposed and (denied or not (gone and come) or all(map(_is_numbered, (old, new)))):
        return False
    # A day for a day, or a tool for its rival.
    alike = bool({*map(_kind, gone)} & {*map(_kind, come)} - {""})
    values = alike and all(map(_kind, (*gone, *come)))
    if opposed or values or _in_one_place(old, new):
        score = judge(old, new)
        judged = score >= _LIKELY or (score >= _HOPELESS and judge(new, old) >= _LIKELY)
    elif len(gone) == len(come) == 1:
        able = alike or not {*was}.isdisjoint(becomes)
        judged = able and judge(old, new) >= _LIKELY and judge(new, old) >= _LIKELY
    else:
        able = alike and was[0] == becomes[0] and not _of_another(was, becomes)
        judged = able and judge(old, new) >= _SURE and judge(new, old) >= _SURE
    return judged and (opposed or values or not states_same(old, new))


def states_same(one: str, other: str) -> bool:
    """Whether two sentences state one fact: in the same words of weight, or as Co's encoder reads.

    Values must not differ, and what is set before something else must stay before it.
    """
    if max(len(one), len(other)) > LONG:
        return False
    words, others = _weighty(one, "no"), _weighty(other, "no")
    if words == others:
        return bool(words)
    ranked, halved = (
        all(map(what.search, map(_plain, (one, other)))) for what in (_RANKED, _HALVES)
    )
    moved = halved and _after_no(words) != _after_no(others)
    turned = {*words} == {*others} and (ranked or moved)
    denied = _denies(one) != _denies(other)
    opposite = denied and {*words} ^ {*others} <= _EMPHASIS
    if turned or opposite or differ(one, other):
        return False
    try:
        near = likeness(one, other)  # 0 where one of them has no vector
        may_be = near >= _NEAR if near else not {*words}.isdisjoint(others)
        return may_be and built_in().same(one, other, _ONE_FACT + _DENIED * denied)
    except EmbedderUnavailable:  # recall says so; here words alone tell
        return False


def _after_no(words: list[str]) -> set[str]:
    """What is denied: "no tabs, but spaces" is not "tabs, but no spaces"."""
    return {word for before, word in pairwise(words) if before == "no"}


def _denies(text: str) -> bool:
    return len(_DENIAL.findall(_plain(text))) % 2 == 1


def _turned(old: str, new: str) -> bool:
    """Whether two sentences of the same words say them of each other."""
    both = [_plain(text).rstrip(_MARKS) for text in (old, new)]
    figures, owned = ([re.findall(what, text) for text in both] for what in (r"\d[\d.]*", _OWNER))
    if all(map(_DIRECTED.search, both)) or figures[0] != figures[1]:
        return True
    if all(owned) and owned[0] != owned[1]:
        return True
    was, becomes = (text.split() for text in both)
    moved = [at for at, pair in enumerate(zip(was, becomes, strict=False)) if len({*pair}) > 1]
    if len(was) != len(becomes) or len(moved) != 2:
        return False
    return not {*was[moved[0] + 1 : moved[1]]} <= _EITHER_WAY


def _in_one_place(old: str, new: str) -> bool:
    """Whether two sentences differ in a word or two at one place, where one thing stands."""
    was, becomes = (_ARTICLE.sub("", _plain(t)).rstrip(_MARKS).split() for t in (old, new))
    start = _alike_from_start(was, becomes)
    end = _alike_from_start(was[start:][::-1], becomes[start:][::-1])
    few = max(len(was), len(becomes)) - start - end <= _FEW
    return few and not _MANY.search(" ".join(was[:start]))


def _alike_from_start(one: list[str], other: list[str]) -> int:
    pairs = zip(one, other, strict=False)
    return len([*takewhile(lambda pair: pair[0] == pair[1], pairs)])


def _of_another(was: list[str], becomes: list[str]) -> bool:
    """Whether word for word the same is said of something else: port 1 of a worker, 2 of a page."""
    pairs = zip(was, becomes, strict=False)
    other = any(one != two and not _kind(one) and not _kind(two) for one, two in pairs)
    return other and len(was) == len(becomes) and sum(map(str.__ne__, was, becomes)) == _FEW


def _is_numbered(text: str) -> bool:
    """Whether a sentence begins with something that is one of several of its kind."""
    found = _NUMBERED.match(_plain(text))
    return found is not None and found[1] not in KINDS


def _plain(text: str) -> str:
    return in_one_form(text.replace("’", "'")).replace("any more", "anymore")


def _weighty(text: str, denial: str = "") -> list[str]:
    """The words of weight, in their order, without their endings; a denial stands as given."""
    plain = _RATHER.sub("over", _DENIAL.sub(f" {denial} ", _plain(text)))
    bare = (word.strip(_MARKS) for word in plain.split())
    words = [word.removesuffix("'s") for word in bare if word and word not in _LIGHT]
    words = [word.removesuffix("s") if _kind(word) in ("day", "month") else word for word in words]
    return [w if _kind(w) else _ENDING.sub("", BASE.get(w, w)) for w in words]


def _kind(word: str) -> str:
    """What else might stand in a word's place: another number, unit, day, month, or rival."""
    return "number" if _NUMBER.match(word) else _KINDS.get(word, "")
