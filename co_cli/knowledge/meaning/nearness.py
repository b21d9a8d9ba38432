"""How near two texts are in meaning, at a glance. Loads no numpy."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import sqrt
from operator import mul
from typing import NamedTuple

from co_cli.errors import EmbedderUnavailable
from co_cli.knowledge.meaning.encoders import built_in

_ENGLISH = frozenset("the we is are our my".split())  # enough to know even a short text by


def nearness(one: str, other: str) -> float:
    """The cosine of two texts by the fast encoder; 0 where neither is English for sure."""
    left, right = _skimmed(one), _skimmed(other)
    if not (left.known or right.known):
        return 0.0
    product: int = sum(map(mul, left.vector, right.vector))
    return product / (left.length * right.length or 1.0)


class _Skimmed(NamedTuple):
    vector: Sequence[int] = ()
    length: float = 0.0
    known: bool = False


@lru_cache(256)
def _skimmed(text: str) -> _Skimmed:
    try:
        vector = memoryview(built_in().at_a_glance(text)).cast("b")
        known = not _ENGLISH.isdisjoint(text.lower().split()) or any(built_in().quickly(text))
    except EmbedderUnavailable:  # recall says so; a save notices less
        return _Skimmed()
    return _Skimmed(vector, sqrt(sum(map(mul, vector, vector))), known)
