"""The rules a notebook lives by, as one value. Knows no settings file and no note."""

from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple, Protocol, Self, TypedDict

from co_cli.knowledge.format.note import Note

RECENT = 10  # notes of the last days that a new one is compared with by its words
Scope = Literal["project", "user"]  # whose notebook it is


class Links(TypedDict, total=False):
    """What a person decided about the notes that a new one bears on.

    `updates` are out of date once the new one is true, `related` are kept as unrelated to it; both
    may be in any notebook. `replaces` refers to a note of the same notebook, archived for it.
    """

    updates: Sequence[Note]
    related: Sequence[Note]
    replaces: str


class Origins(Protocol):
    """Where a notebook's notes came from, as far as somebody outside knows."""

    def foreign(self, notes: Iterable[Note]) -> set[str]:
        """The paths of those that came from elsewhere and that nobody here agreed to."""

    def untrusted(self) -> bool:
        """Whether all that is there came from elsewhere, and nobody here agreed to it."""

    def wrote(self, op: str, edits: Sequence[tuple[str, bytes | None, bytes | None]]) -> None:
        """Hear what was just written: path, bytes before and bytes after of each file."""

    def forget_gone(self) -> None:
        """Forget what is about no note that is there any more."""


class Policy(NamedTuple):
    """The rules a notebook lives by; settings fill it."""

    max_count: int = 200
    window_days: int = 7
    threshold: int = 85
    strategy: str = "summarize"
    percentage: float = 0.2
    order: str = "oldest"
    category_limits: str = ""  # such as preference=50, pattern=30
    action: str = "ask"  # what a similar note is for: a question, or the new wording

    @classmethod
    def of(cls, source: Any) -> Self:
        """The rules that something with the `memory_*` settings gives."""
        names = "max_count dedup_window_days dedup_threshold decay_strategy decay_percentage"
        names += " decay_order category_limits dedup_action"
        return cls(*(getattr(source, f"memory_{name}") for name in names.split()))

    def limit(self, category: str) -> int:
        """How many notes there may be, or of this category; 0 if it has no limit of its own."""
        rows = (row.partition("=") for row in self.category_limits.split(","))
        limits = {name.strip(): int(most) for name, _, most in rows if most}
        return limits.get(category, 0) if category else self.max_count
