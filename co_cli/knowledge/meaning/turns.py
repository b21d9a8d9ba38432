"""What a sentence wants of Co and which of its words are meant, told by Co's own encoder.

Its upper layers are trained anew for this (`training/turns.py`). Knows no chat and no notebook.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from math import exp
from typing import NamedTuple

from co_cli.knowledge.meaning.encoders import LONGEST, Layers, built_in
from co_cli.knowledge.meaning.wordpiece import spelled

UPPER = (3, 4, 5)  # layers that read turns in their own way
STATEMENTS = ("preference", "decision", "pattern", "context")
WANTS = (  # in the order of the head's rows; after them comes whether it is about the person
    "keep", *STATEMENTS, "correct", "amend", "forget", "restore", "undo", "list", "count",
    "about_me", "changes", "help", "who", "greet", "recall", "earlier", "followup", "nothing",
)  # fmt: skip
_TIGHT = re.compile(r"(?:[^\w\s]{1,3}\w{1,60})*\)?")  # what belongs to the word before it


class Heard(NamedTuple):
    """A sentence's want and how likely it is, and the words that are meant.

    `states` is how likely it is a statement of any sort; `kind` is the sort that it would be;
    `mine` is above 0 where it is about the person rather than their work.
    """

    want: str
    likely: float
    meant: str
    kind: str
    mine: float
    states: float


@lru_cache(1)
def _layers() -> Layers:
    return Layers(built_in(), "careful.bin", "turns.bin")


@lru_cache(64)
def hear(sentence: str) -> Heard:
    """Read one sentence; `EmbedderUnavailable` where the weights cannot be read."""
    cut, layers = built_in().pieces, _layers()
    spelt = [(piece, at) for word, at in spelled(sentence) for piece in cut.word(word)][:LONGEST]
    [states] = layers.states([cut.first, *(piece for piece, _ in spelt), cut.last])
    *scores, mine = layers.head("turn", states.mean(1))
    shares = [exp(score - max(scores)) for score in scores]
    by_want = dict(zip(WANTS, shares, strict=True))
    kind = max(STATEMENTS, key=by_want.__getitem__)
    want, told = max(by_want, key=by_want.__getitem__), sum(map(by_want.__getitem__, STATEMENTS))
    want = kind if told >= by_want[want] else want  # of one sort or the other
    starts, ends = (layers.raw("span.weight") @ states[:, 1:-1]).tolist()
    first, last = _span(starts, ends)
    start, end = (spelt[first][1][0], spelt[last][1][1]) if spelt else (0, 0)
    tight = _TIGHT.match(sentence, end)
    meant = sentence[start : tight.end() if tight else end]
    if meant.endswith(")") and meant.count("(") < meant.count(")"):
        meant = meant[:-1]
    likely = told if want in STATEMENTS else by_want[want]
    return Heard(want, likely / sum(shares), meant, kind, mine, told / sum(shares))


def _span(starts: Sequence[float], ends: Sequence[float]) -> tuple[int, int]:
    """The likeliest first and last word, in this order."""
    best, first, found = float("-inf"), 0, (0, 0)
    for at, end in enumerate(ends):
        first = at if starts[at] > starts[first] else first
        if starts[first] + end > best:
            best, found = starts[first] + end, (first, at)
    return found
