"""The seam under a notebook: files by name, changes that happen whole or not at all, a journal.

`FolderStore` (files.py) keeps a notebook on disk, `MemoryStore` (memory.py) in dictionaries.
Nothing above this room opens a notebook's files. Paths are relative: `memories/012-tea.md`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Literal, NamedTuple, Protocol

from co_cli.errors import FormatError, MovedOn, NotFound
from co_cli.knowledge.store.disk import digest

JOURNAL = "archive/journal.jsonl"
State = Literal["intent", "done", "rolled back", "cut short"]


class Edit(NamedTuple):
    """One file of a change: its bytes before and after; None means no file.

    What comes back has its own time again, `modified`, as far as that is known.
    """

    path: str
    before: bytes | None
    after: bytes | None
    modified: int = 0


class Change(NamedTuple):
    """What will happen, all of it or nothing; `basis` is the last change that its plan saw."""

    op: str
    actor: str
    at: str
    basis: int
    edits: tuple[Edit, ...]
    high: int = 0
    undoes: int = 0
    call: str = ""
    over: bool | None = None
    about: tuple[dict[str, Any], ...] = ()  # files that a purge leaves nothing of
    pair: str = ""  # shared with the change of another notebook that happens with this one
    other: str = ""  # where that notebook is


class Entry(NamedTuple):
    """One journalled change: what the intent line said, and how it ended.

    Of two that happen together, as when a memory moves, the one that takes it away decides whether
    both did; both name the other notebook, so that a purge can follow a memory.
    """

    n: int
    state: State
    high: int
    op: str = ""
    actor: str = ""
    at: str = ""
    undoes: int = 0
    call: str = ""
    over: bool = False
    files: Sequence[dict[str, Any]] = ()
    pair: str = ""
    other: str = ""

    @property
    def arrives(self) -> bool:
        """Whether this is the half of a pair that the other half decides about."""
        return bool(self.pair) and any(file["after"] is not None for file in self.files)

    @property
    def settled(self) -> int:
        """The last change whose outcome a reader can see; one under way is not it yet."""
        return self.n - (self.state == "intent")


def intent(change: Change, tail: Entry, n: int) -> Entry:
    """What the journal says when change `n` begins."""
    files = [
        {"path": edit.path, "before": digest(edit.before), "after": digest(edit.after)}
        for edit in change.edits
    ]
    return Entry(
        n, "intent", max(tail.high, change.high), change.op, change.actor, change.at,
        change.undoes, change.call, tail.over if change.over is None else change.over,
        [*files, *change.about], change.pair, change.other,
    )  # fmt: skip


def is_note(name: str, folder: str = "") -> bool:
    """Whether a file of this name is taken for a note, or in attachments/ for an original."""
    return name[0] != "." and (name[-3:] == ".md" or folder == "attachments")


def mark(*values: object) -> str:
    """A digest that stands for these values."""
    return str(digest(repr(values).encode("utf-8", "backslashreplace")))


def mark_call(call: str, text: str, tags: Iterable[str]) -> str:
    """A tool call's mark in the journal; its id may recur with another text."""
    return mark(call, text.strip(), [tag.strip() for tag in tags]) if call else ""


class Store(Protocol):
    """Where the files of one notebook are. Knows bytes, not notes."""

    root: str  # where it is, as a person is told
    index_folder: str  # where an index may be kept; empty when it can only be in memory
    aside: list[str]  # where the versions are that somebody was writing while Co changed the file

    # Reading

    def exists(self) -> bool:
        """Whether there is a notebook at all; looking for one makes none."""

    def locate(self, path: str, n: int = 0) -> str:
        """Where a person finds a file, or what change `n` keeps of it."""

    def names(self, folder: str) -> list[str]:
        """What the notes of a folder are called, or the originals in attachments/."""

    def files(self, folder: str) -> Mapping[str, int]:
        """The notes of a folder, each with a signature that differs once its bytes may differ."""

    def signature(self, path: str, *, settled: bool = False) -> int:
        """A file's signature, 0 for no file; with `settled`, also while an edit might not show."""

    def modified(self, path: str, n: int = 0) -> int:
        """When a file was last written to, in nanoseconds; 0 for no file."""

    def read(self, path: str, n: int = 0) -> bytes | None:
        """A file's bytes, or what change `n` keeps of it; FormatError for what Co does not read."""

    def read_signed(self, path: str) -> tuple[bytes, int]:
        """A file's bytes and `settled` signature, or FileNotFoundError, or FormatError as above."""

    # The journal

    def settle(self) -> tuple[Entry, str]:
        """Finish what a killed process left half done; the last line of the journal, any trouble.

        A change that another process is making is left to it.
        """

    def tail(self) -> Entry:
        """The last line of the journal."""

    def entries(self) -> list[Entry]:
        """Every change, oldest first, with how it ended."""

    def unreadable_lines(self) -> list[int]:
        """The numbers of journal lines that cannot be read; the last may be torn by a crash."""

    def kept(self) -> Iterator[tuple[int, str, bytes]]:
        """Every previous version of a note, oldest first: its last change, place and bytes."""

    # Writing

    def refuse(self, path: str) -> None:
        """ReadOnly where Co may not change this file."""

    def locked(self) -> AbstractContextManager[None]:
        """Keep other writers away, after finishing or rolling back what one of them left half done.

        Entering again in the thread that holds the lock is free. A disk that refuses something
        meanwhile is a DiskTrouble.
        """

    def commit(self, change: Change, then: Callable[[], object] | None = None) -> int:
        """Carry a change out and return its number; MovedOn as from `refuse_stale`.

        `then` happens before the change counts as done; when it fails, nothing has changed.
        """

    # What only a purge does, while holding the lock

    def begin(self, change: Change) -> None:
        """Write down durably what is about to be done."""

    def erase(self, where: str, before: bytes, after: bytes | None) -> None:
        """Put other bytes, or none, in the place of a version, and keep nothing of it.

        MovedOn if somebody edits the file meanwhile; the edit stays.
        """

    def rewrite(self, entries: list[Entry]) -> None:
        """Replace the whole journal."""


def previous(store: Store, n: int, file: Mapping[str, Any]) -> bytes:
    """The bytes of a file as change `n` found them."""
    data = store.read(file["path"], n)
    if data is None or digest(data) != file["before"]:
        hint = "It was purged, or the archive was changed by hand."
        what = f"the archive no longer holds {file['path']} as it was before change {n}"
        raise NotFound(what, hint=hint)
    return data


def refuse_stale(store: Store, change: Change) -> None:
    """MovedOn unless the notebook and every file are still as the plan found them."""
    if store.tail().n != change.basis:
        raise MovedOn("the notebook changed meanwhile", hint="Nothing was changed; try again.")
    for edit in change.edits:
        try:
            found = store.read(edit.path)
        except FormatError as error:
            raise MovedOn(f"{edit.path} {error}") from error
        if found != edit.before:
            raise MovedOn(f"{edit.path} changed since it was read")
