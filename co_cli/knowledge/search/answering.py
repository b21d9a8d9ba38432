"""Whether what was found answers the question: the reader reads the best few and orders them.

Knows no index and no file: it is given hits in the order of the ranking and gives back the answer.
"""

from collections.abc import Callable, Sequence
from math import exp
from typing import TypeVar

from co_cli.errors import EmbedderUnavailable
from co_cli.knowledge.meaning.encoders import built_in
from co_cli.knowledge.meaning.wordpiece import is_readable
from co_cli.knowledge.search.hits import Degraded, Hit, Recall

READ = 8  # hits that are read with the question
YOUNG = 10  # notes; a smaller notebook always shows the nearest one
# Beside the reader's log odds, what the ranking's score counts (ten times the cosine, mostly).
_RANKED = 0.8
# The reader's log odds from which an answer is sure, and from which it is shown as weak. Chosen on
# first-week notebooks left out of training: of the sure answers .93 are right there.
_SURE, _WEAK = -0.5, -4.2
# What the reader cannot know of a hit: that it alone has a name that was asked for, or its date.
_NAMED, _DATED = "only", ("month", "day")
# What is in another language is not read: the log odds that an English note has at its rank, and a
# little more, because it shares no words with the question.
_SLOPE, _START = 0.83, -3.5
_MIDDLE = 4.0  # the sum of both that is shown as a score of one half

_T = TypeVar("_T")


def answer(
    query: str, found: Recall[_T], hit_of: Callable[[_T], Hit], put: Callable[[_T, Hit], _T],
    *, read: bool, strict: bool,
) -> Recall[_T]:  # fmt: skip
    """What answers, best first; with `strict`, nothing where the question is about nothing there.

    With `read`, the reader decides; text that holds the question as it stands needs no reading,
    and neither does a single word, which asks nothing.
    """
    degraded, items = list(found.degraded), list(found)
    exact = bool(items) and hit_of(items[0]).exact
    scores: Sequence[float | None] = ()
    if read and items and not exact and len(query.split()) > 1:
        try:
            scores = _scores(query, [hit_of(item) for item in items[:READ]])
        except EmbedderUnavailable as error:
            degraded.append(Degraded("no reader", f"ordered without the reader: {error}"))
    if scores:
        ordered = _ordered(items, scores, hit_of, put)
        shown = [item for item, score in ordered if score >= _WEAK]
    else:
        ordered = [(item, 0.0) for item in items]
        shown = [item for item in items if hit_of(item).plausible]
    if not strict:
        shown = [item for item, _ in ordered]
    elif not shown and items and found.searched < YOUNG:
        nearest = ordered[0][0]
        shown = [put(nearest, hit_of(nearest)._replace(weak=True))]
    return found.having(shown, degraded)


def _scores(query: str, hits: Sequence[Hit]) -> Sequence[float | None]:
    """The reader's log odds that each hit answers; nothing for a question that is not English.

    None for a hit that is in another language, unless the reader makes sense of it all the same:
    English full of names may look like one.
    """
    weights = built_in()
    if not weights.tokens(query):
        return ()
    other = [weights.is_other(hit.reading) for hit in hits]
    if all(other):
        return [None] * len(hits)
    from co_cli.knowledge.meaning.reader import reader  # numpy is for who reads

    scores = reader().answers(query, [hit.reading for hit in hits])
    return [
        None if is_other and (score < _SURE or not is_readable(hit.reading)) else score
        for hit, is_other, score in zip(hits, other, scores, strict=True)
    ]


def _ordered(
    items: Sequence[_T], scores: Sequence[float | None], hit_of: Callable[[_T], Hit],
    put: Callable[[_T, Hit], _T],
) -> list[tuple[_T, float]]:  # fmt: skip
    """The items that were read by both scores, then the others as weak ones."""
    read: list[tuple[bool, float, _T, float]] = []
    for item, score in zip(items, scores, strict=False):
        hit = hit_of(item)
        odds = _START + _SLOPE * hit.rank if score is None else score
        total = odds + _RANKED * hit.rank
        named = _NAMED in hit.features
        dated = any(hit.features.get(name, 0.0) > 0 for name in _DATED)
        sure = score is not None and (score >= _SURE or (named and not hit.weak))
        features = {} if score is None else {"reader": round(score, 3)}
        shown = _unread(hit) if score is None else score
        hit = hit._replace(
            weak=not sure, features={**hit.features, **features},
            score=round(0.999 / (1 + exp(min(50.0, _MIDDLE - total))), 3),
        )  # fmt: skip
        read.append(
            (not named, -total, put(item, hit), max(shown, _WEAK) if named or dated else shown)
        )
    read.sort(key=lambda one: one[:2])
    least = hit_of(read[-1][2]).score
    rest = [
        put(item, hit_of(item)._replace(weak=True, score=min(least, hit_of(item).score)))
        for item in items[len(scores) :]
    ]
    unread = [(item, _unread(hit_of(item))) for item in rest]
    return [(item, score) for *_, item, score in read] + unread


def _unread(hit: Hit) -> float:
    """What stands for the reader's score: enough to be shown as weak, if the ranking would."""
    return _WEAK if hit.plausible else _WEAK - 1
