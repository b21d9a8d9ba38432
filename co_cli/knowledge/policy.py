"""The rules a notebook lives by, as one value. Knows no settings file and no note."""

from __future__ import annotations

from typing import NamedTuple

_SETTINGS = ("max_count", "dedup_window_days", "dedup_threshold", "decay_strategy",
             "decay_percentage")  # fmt: skip


class Policy(NamedTuple):
    """The rules a notebook lives by; settings fill it."""

    max_count: int = 200
    window_days: int = 7
    threshold: int = 85
    strategy: str = "summarize"
    percentage: float = 0.2

    @classmethod
    def of(cls, source: object) -> Policy:
        """The rules that something with the five `memory_*` settings gives."""
        return cls(*(getattr(source, f"memory_{name}") for name in _SETTINGS))
