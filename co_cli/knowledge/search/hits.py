"""What recall is given and what it gives back: plain values. Loads no SQLite."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeVar, overload

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


class Degraded(NamedTuple):
    """What search had to do without: a state for programs and a sentence for people."""

    state: Literal["no meaning", "not kept", "not watched", "no index"]
    reason: str


_Item_co = TypeVar("_Item_co", covariant=True)


class Recall(Sequence[_Item_co]):
    """What a recall found, best first: hits, or each with its notebook; equal to a list of them."""

    def __init__(
        self,
        hits: Iterable[_Item_co] = (),
        *,
        searched: int = 0,
        matched: int = 0,
        degraded: Sequence[Degraded] = (),
        missing: Sequence[str] = (),
        unread: Sequence[tuple[str, str, int]] = (),
    ) -> None:
        self._hits = tuple(hits)
        self.searched: Final = searched  # memories that were looked through
        self.matched: Final = max(matched, len(self._hits))  # notes that match, told or not
        self.degraded: Final = tuple(degraded)  # empty when search was at its best
        self.missing: Final = tuple(missing)  # files that vanished together, and do not answer
        self.unread: Final = tuple(unread)  # files that hold no note, why, and in which line

    @overload
    def __getitem__(self, at: int) -> _Item_co: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[_Item_co]: ...
    def __getitem__(self, at: int | slice) -> _Item_co | Sequence[_Item_co]:
        return self._hits[at]

    def __len__(self) -> int:
        return len(self._hits)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Recall({list(self._hits)!r})"


class IndexReport(NamedTuple):
    """How an index stands to the files, for programs and in words."""

    state: Literal["unused", "missing", "broken", "behind", "up to date"]
    text: str
    behind: Sequence[tuple[str, str]] = ()  # files that the next recall catches up with, and why
    unreadable: Sequence[tuple[str, str]] = ()  # articles that hold no note, and why


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
    notes: int = 0  # memories in the index now
    unread: Sequence[tuple[str, str, int]] = ()  # files that hold no note, why, and in which line
    degraded: Sequence[Degraded] = ()

    @property
    def is_kept(self) -> bool:
        """Whether the index is on the disk, and not just in memory or nowhere."""
        return all(trouble.state not in ("not kept", "no index") for trouble in self.degraded)
