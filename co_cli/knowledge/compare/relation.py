"""What a new text means for notes that are there, as the reader reads it.

Knows the thresholds; which notes are worth reading, `search` knows.
"""

from collections.abc import Sequence
from functools import lru_cache
from math import inf, log
from typing import Literal, NamedTuple

from co_cli.errors import EmbedderUnavailable
from co_cli.knowledge.compare.same import key, same
from co_cli.knowledge.format.note import Note
from co_cli.knowledge.meaning.reader import Relation, reader
from co_cli.knowledge.meaning.wordpiece import is_readable

Verdict = Literal["updates", "restates", "similar"]
CANDIDATES = 8  # notes that one text is read with
# The odds, as logarithms, from which a text updates the note it fits best, and any further one.
# Measured on notebooks and statements left out of training: docs/benchmarks.md.
_UPDATES, _ALSO = 0.75, 5.0
_AS_WELL, _GAP = 3.0, 0.5  # or from which another does that is so near the likeliest one
_RESTATES = 0.5
_SAME = 0.55  # the mean probability of both orders from which two sentences state one fact


class Match(NamedTuple):
    """A note that a new text bears on, and how.

    It `updates` the note, `restates` it, or is `similar` in its wording alone. `score` is the
    reader's probability of that, `wording` RapidFuzz's token_sort_ratio from 0 to 100.
    """

    note: Note
    verdict: Verdict
    score: float
    wording: float = 0.0


@lru_cache(256)
def read_relations(new: str, olds: tuple[str, ...]) -> list[Relation]:
    """What a text means for each old one; remembered, because a save is planned more than once."""
    return reader().relations(olds, new)


def match(text: str, notes: Sequence[Note]) -> list[Match]:
    """The notes among these that a text updates, the surest first; else those that it restates.

    None where the reader cannot be had; recall says why.
    """
    notes = [note for note in notes if is_readable(note.body)]
    if not (notes and is_readable(text)):
        return []
    try:
        relations = read_relations(text, tuple(note.body for note in notes))
    except EmbedderUnavailable:
        return []
    ranked = sorted(zip(notes, relations, strict=True), key=lambda pair: -pair[1].updates)
    updated = [
        Match(note, "updates", one.updates)
        for place, (note, one) in enumerate(ranked)
        if (_is_updated_too(one, ranked[0][1]) if place else odds(one.updates) > _UPDATES)
    ]
    restated = [
        Match(note, "restates", one.same)
        for note, one in sorted(ranked, key=lambda pair: -pair[1].same)
        if one.same >= _RESTATES
    ]
    return updated or restated


def _is_updated_too(relation: Relation, best: Relation) -> bool:
    """Whether a text updates a further note, beside the one that it updates most likely."""
    one = odds(relation.updates)
    return one > _ALSO or (one > _AS_WELL and odds(best.updates) - one < _GAP)


def updated_texts(new: str, olds: Sequence[str]) -> list[bool]:
    """Which old texts a new one brings out of date, each looked at alone."""
    try:
        return [odds(one.updates) > _UPDATES for one in read_relations(new, tuple(olds))]
    except EmbedderUnavailable:
        return [False] * len(olds)


def odds(probability: float) -> float:
    """The logarithm of the odds."""
    if not 0 < probability < 1:
        return inf if probability else -inf
    return log(probability / (1 - probability))


def states_same(one: str, other: str) -> bool:
    """Whether two sentences state one fact; False where the reader cannot be had."""
    if same(one, other):  # which the reader may take for an update
        return True
    if key(one) == key(other):
        return True
    if not (is_readable(one) and is_readable(other)):
        return False
    try:
        pair = [*read_relations(one, (other,)), *read_relations(other, (one,))]
    except EmbedderUnavailable:
        return False
    return sum(relation.same for relation in pair) / 2 >= _SAME
