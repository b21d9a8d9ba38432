"""What recall is given and what it gives back: plain values. Loads no SQLite."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeVar

from co_cli.knowledge.format.note import Note

if TYPE_CHECKING:
    from co_cli.knowledge.meaning.encoders import Embedder
    from co_cli.knowledge.search.passages import Part


LONGEST = 2000  # characters of one result that a model is shown


class How(NamedTuple):
    """How a notebook searches: backend, whose embedder, whether the reader reads, and watching."""

    backend: str = "auto"
    embedder: Callable[[], Embedder] | None = None  # None: the built-in one
    watch: bool = False
    reader: bool = True

    @property
    def reads(self) -> bool:
        """Whether the reader reads what was found."""
        return self.reader and self.backend not in ("fts5", "grep")


class Filters(NamedTuple):
    """Which notes a recall looks at: of one kind, with all these tags, from and to these days.

    A surface that others may see or hear asks for no `sensitive` ones.
    """

    kind: str = ""
    tags: tuple[str, ...] = ()
    since: str = ""
    until: str = ""
    languages: frozenset[str] | None = None  # beside what is for all; None for every language
    sensitive: bool = True

    def conditions(self) -> list[tuple[str, str]]:
        """The same for the table of files: conditions, each with its value."""
        kind = {"memory": "name NOT LIKE ?", "article": "name LIKE ?"}.get(self.kind)
        found = [(kind, "articles/%")] if kind else []
        found += [("instr(tags, ?)", f"\n{tag.strip().lower()}\n") for tag in self.tags]
        found += [("substr(created, 1, 10) >= ?", self.since)] if self.since else []
        found += [("substr(created, 1, 10) <= ?", self.until)] if self.until else []
        if self.languages is not None:
            named = "\n".join(["\n", *self.languages, ""])
            found.append(("instr(?, char(10) || language || char(10))", named))
        return found

    def fit(self, note: Note) -> bool:
        """Whether a note is among them."""
        wanted = {tag.strip().lower() for tag in self.tags}
        return (
            self.kind in ("", note.kind)
            and wanted <= {tag.lower() for tag in note.tags}
            and self.since <= note.created[:10] <= (self.until or "~")
            and (self.languages is None or note.language in ("", *self.languages))
            and (self.sensitive or not note.sensitive)
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
    updated_by: Note | None = None  # what brought it out of date, by a confirmed link
    maybe_updated_by: Note | None = None  # the same as the reader sees it, and nobody confirmed
    heading: str = ""  # of an article's passage: the headings it stands under, with > between
    anchor: str = ""  # and what a link to it ends with
    also: Part | None = None  # of an article: a place in another section that answers as well
    rank: float = 0.0  # the ranking's own score
    exact: bool = False  # it holds the question as it stands
    plausible: bool = True  # the ranking alone would show it

    @property
    def reading(self) -> str:
        """What the reader reads of it."""
        return f"{self.heading}: {self.passage}" if self.heading else self.passage or self.note.body

    @property
    def text(self) -> str:
        """What is told of it: a memory whole, of an article the parts that answer."""
        if self.note.kind != "article":
            return self.note.body
        return f"{self.passage}\n\nAlso {self.also.placed}" if self.also else self.passage


def shortened(text: str, passage: str) -> str:
    """What a model is shown of a hit: of a long text, the passage that answers."""
    return text if len(text) <= LONGEST else f"{passage[:LONGEST]}\n[part of a longer memory]"


class Degraded(NamedTuple):
    """What search had to do without: a state for programs and a sentence for people."""

    state: Literal["no meaning", "no reader", "not kept", "not watched", "no index"]
    reason: str


_Item = TypeVar("_Item")


class Recall(list[_Item]):
    """What a recall found, best first: hits, or each with its notebook; and how it was found."""

    def __init__(  # noqa: PLR0913 - each is one thing to know about it
        self,
        hits: Iterable[_Item] = (),
        *,
        searched: int = 0,
        articles: int = 0,
        matched: int = 0,
        degraded: Iterable[Degraded] = (),
        missing: Iterable[str] = (),
        unread: Iterable[tuple[str, str, int]] = (),
        updates: Mapping[str, Sequence[str]] = {},
    ) -> None:
        super().__init__(hits)
        self.searched = searched  # memories that were looked through
        self.articles = articles  # and articles beside
        self.by_ranking = matched  # by the ranking; candidates are no matches yet
        self.matched = max(matched, len(self))  # notes that match, told or not
        self.degraded = tuple(degraded)  # empty when search was at its best
        self.missing = tuple(missing)  # files that vanished together, and do not answer
        self.unread = tuple(unread)  # files that hold no note, why, and in which line
        self.updates = updates  # for each uid that a note brings out of date, the files that do

    def having(
        self, items: Iterable[_Item], degraded: Iterable[Degraded] | None = None
    ) -> Recall[_Item]:
        """The same recall with other items."""
        return Recall(
            items, searched=self.searched, articles=self.articles, matched=self.by_ranking,
            degraded=self.degraded if degraded is None else degraded, missing=self.missing,
            unread=self.unread, updates=self.updates,
        )  # fmt: skip


class Around(NamedTuple):
    """What a new text is compared with: notes that may say the same, near ones; how many in all."""

    same: Sequence[Note]
    near: Sequence[Note]
    total: int
    highest: int

    def of(self, language: str) -> Around:
        """The same, of the notes for this language alone, or of those for all."""
        same, near = (
            [note for note in some if note.language == language] for some in (self.same, self.near)
        )
        return self._replace(same=same, near=near)

    def without(self, note: Note | None) -> Around:
        """The same without one note."""
        if note is None:
            return self
        same, near = (
            [one for one in some if one.path != note.path] for some in (self.same, self.near)
        )
        return self._replace(same=same, near=near)


class Synced(NamedTuple):
    """What a sync found changed; `missing` files vanished together and are only set aside."""

    added: int = 0
    changed: int = 0
    removed: int = 0
    missing: int = 0
    rebuilt: bool = False
    notes: int = 0  # memories in the index now
    absent: Sequence[str] = ()  # the missing files
    unread: Sequence[tuple[str, str, int]] = ()  # files that hold no note, why, and in which line
    degraded: Sequence[Degraded] = ()

    @property
    def is_kept(self) -> bool:
        """Whether the index is on the disk, and not just in memory or nowhere."""
        return all(trouble.state not in ("not kept", "no index") for trouble in self.degraded)
