"""What recall is given and what it gives back: plain values. Loads no SQLite."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from co_cli.knowledge.format.note import Note

if TYPE_CHECKING:
    from co_cli.knowledge.meaning.encoders import Embedder


class How(NamedTuple):
    """How a notebook searches: backend, fusion, whose embedder, watching or not."""

    backend: str = "auto"
    fusion: str = "blend"
    embedder: Callable[[], Embedder] | None = None  # None: the built-in one
    watch: bool = False


class Filters(NamedTuple):
    """Which notes a recall looks at: of one kind, with all these tags, from and to these days."""

    kind: str = ""
    tags: tuple[str, ...] = ()
    since: str = ""
    until: str = ""

    def conditions(self) -> tuple[list[str], list[str]]:
        """The same for the table of files."""
        found = {
            "memory": ["name NOT LIKE 'articles/%'"],
            "article": ["name LIKE 'articles/%'"],
        }.get(self.kind, [])
        values = [f"\n{tag.strip().lower()}\n" for tag in self.tags]
        found += ["instr(tags, ?)"] * len(values)
        for day, how in ((self.since, "substr(created, 1, 10) >= ?"),
                         (self.until, "substr(created, 1, 10) <= ?")):  # fmt: skip
            if day:
                found.append(how)
                values.append(day)
        return found, values

    def fit(self, note: Note) -> bool:
        """Whether a note is among them."""
        tags = {tag.lower() for tag in note.tags}
        return (
            self.kind in ("", note.kind)
            and all(tag.strip().lower() in tags for tag in self.tags)
            and (not self.since or note.created[:10] >= self.since)
            and (not self.until or note.created[:10] <= self.until)
        )


class Hit(NamedTuple):
    """A note that answers a query, with its score and the reason."""

    note: Note
    score: float
    why: str
    weak: bool = False
    passage: str = ""  # the part of it that answers best
    marks: Sequence[tuple[int, int]] = ()  # where in the passage the words stand
    features: Mapping[str, float] = {}  # what spoke for it, and how much
    replaced_by: Note | None = None  # another hit that may say what holds now


class Around(NamedTuple):
    """What a new text is compared with: notes that may say the same, near ones; how many in all."""

    same: Sequence[Note]
    near: Sequence[Note]
    total: int
    highest: int


class Synced(NamedTuple):
    """What a sync found changed; `missing` files vanished together and are only set aside."""

    added: int = 0
    changed: int = 0
    removed: int = 0
    missing: int = 0
    rebuilt: bool = False
