"""A passage that may answer: its score, its reasons, and its place among others."""

import math
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from co_cli.knowledge.search.lookup import Row, Scores

# Meaning is the cosine, `near` the share of the question's words that stand there, by rarity.
# `only` stands for a name or a coinage that no other note has.
# `who`, `asks` and `reply` speak only where notes begin with a speaker's name or ask something.
WEIGHTS = {
    "meaning": 10.0, "near": 4.0, "month": 3.5, "day": 3.5, "expired": -1.5, "only": 6.0,
    "who": 3.0, "asks": -2.6, "reply": 0.5,
}  # fmt: skip

_COVERED = 0.4  # what the words that stand there count beside the meaning: is this a miss?
_NEAR = 0.3  # meaning from here on is worth telling
_REPLIES = 3.0  # and so is that it answers a question that is this near
_REASONS = {"month": "date", "who": "person"}

_RRF = 60
_Some = TypeVar("_Some")


class Candidate:
    """A passage that may answer, and what speaks for it."""

    def __init__(self, key: int, row: Row, text: str, meaning: float) -> None:
        self.key, self.row, self.text = key, row, text
        self.features = {"meaning": meaning}
        self.met: dict[str, float] = {}  # how well each word is met
        self.tags: list[str] = []
        self.score = self.cover = 0.0
        self.exact = 0
        self.in_text = self.weak = False

    @property
    def shown(self) -> float:
        """The score from 0 to 1, as people and programs see it."""
        return 1.0 if self.exact else round(0.999 / (1 + math.exp((5 - self.score) / 2)), 3)

    @property
    def strength(self) -> float:
        """How sure it is that this is about what was asked."""
        meaning = self.features["meaning"]
        return 2.0 if self.exact else max(self.cover, meaning + _COVERED * self.cover)

    @property
    def parts(self) -> dict[str, float]:
        """What each feature added to the score."""
        return {
            name: round(WEIGHTS[name] * value, 3) for name, value in self.features.items() if value
        }

    @property
    def why(self) -> str:
        """What speaks for it, in words."""
        features = self.features
        matched = [word for word, share in self.met.items() if share >= 0.5]
        matched = [word for word in matched if f"tag {word.casefold()}" not in self.tags]
        parts = ["exact text"] if self.in_text or (self.exact and not self.tags) else []
        if matched and not self.exact:
            parts.append("words: " + ", ".join(matched))
        parts += self.tags
        parts += [why for name, why in _REASONS.items() if features.get(name, 0.0) > 0]
        if features.get("reply", 0.0) > _REPLIES:
            parts.append("answers a question")
        if not parts or (features["meaning"] >= _NEAR and not self.exact):
            parts.append("meaning")
        return "; ".join(parts)


def by_places(picked: dict[int, Candidate], keyword: Scores, nearest: Scores) -> None:
    """Reciprocal Rank Fusion of the two lists, as documented: the sum of 1 / (60 + rank)."""
    for found in picked.values():
        found.score = 0.0
    for scores in (keyword, nearest):
        ranked = sorted(scores.values(), reverse=True)
        for key in scores.keys() & picked.keys():
            rank = ranked.index(scores[key]) + 1  # equals share a rank
            picked[key].score += 1 / (_RRF + rank)


def newest(items: Iterable[_Some], row: Callable[[_Some], Row]) -> list[_Some]:
    """Newest first, whatever order the rows were written in."""
    ordered = sorted(items, key=lambda item: row(item).name)
    return sorted(ordered, key=lambda item: (row(item).created, row(item).number), reverse=True)


def best(scores: Scores, files: Mapping[int, Row], most: int) -> list[int]:
    """The passages of the highest scores, the newest of equals first."""
    return sorted(newest(scores, files.__getitem__), key=lambda row: -scores[row])[:most]


def in_order(found: Iterable[Candidate]) -> list[Candidate]:
    """Those that hold the question as it stands first, the newest of them before; then by score."""

    def place(one: Candidate) -> tuple[float, ...]:
        return (-one.exact, "expired" in one.features) if one.exact else (0, -one.score)

    return sorted(newest(found, lambda one: one.row), key=place)
