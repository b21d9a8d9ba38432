"""How near two texts are in meaning, by the fast encoder. Loads no numpy."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import sqrt
from operator import mul

from co_cli.errors import EmbedderUnavailable
from co_cli.knowledge.meaning.encoders import built_in


def nearness(one: str, other: str) -> float:
    """The cosine of two texts; 0 where one of them has no meaning that can be told."""
    left, right = _skimmed(one), _skimmed(other)
    length = sqrt(sum(map(mul, left, left)) * sum(map(mul, right, right)))
    product: int = sum(map(mul, left, right))
    return product / (length or 1.0)


@lru_cache(256)
def _skimmed(text: str) -> Sequence[int]:
    try:
        return memoryview(built_in().quickly(text)).cast("b")
    except EmbedderUnavailable:  # recall says so; a save notices less
        return ()
