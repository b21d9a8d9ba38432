"""The one destroyer: remove every copy Co keeps of a note. Git history, if any, is not Co's."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from co_cli import paths
from co_cli.errors import Ambiguous, CoError, DiskTrouble, MovedOn
from co_cli.knowledge import lifecycle
from co_cli.knowledge.format.note import Note, Part, sections, timestamp
from co_cli.knowledge.format.rewrite import rewrite
from co_cli.knowledge.notebook import Notebook
from co_cli.knowledge.pages import Ref
from co_cli.knowledge.plan import protected
from co_cli.knowledge.store import Change, Entry, disk
from co_cli.knowledge.versions import Lineage, Version, lineages

PURGED = "purged"
_TAKES_IN = ("merge", "update", "decay", "undo")  # what puts a note in the place of others


@dataclass(slots=True)
class Copies:
    """All that still holds a note, and what is told about it before it goes.

    `earlier` are notes it was made of or replaced, which stay in the archive unless they are
    `taken` along. `beside` are notes that hold a part by its number which is not its own.
    """

    ref: Ref
    number: int
    text: str = ""
    taken: bool = False
    own: list[Lineage] = field(default_factory=list)
    summaries: list[tuple[Note, list[Part]]] = field(default_factory=list)
    lines: set[tuple[int, str]] = field(default_factory=set)  # changes and paths in the journal
    earlier: list[Note] = field(default_factory=list)
    beside: list[Note] = field(default_factory=list)
    marks: set[str] = field(default_factory=set)

    def __len__(self) -> int:
        return len(self.files) + len(self.summaries)

    @property
    def files(self) -> list[Version]:
        """The files that go."""
        return [version for one in self.own for version in one.versions]

    @property
    def names(self) -> set[str]:
        """What these files are called."""
        return {version.name for version in self.files}

    @property
    def texts(self) -> set[str]:
        """What it says, in all its versions."""
        found = {note.body for one in self.own for note in one.notes}
        parts = (part for _, gone in self.summaries for part in gone)
        return found | {lifecycle.words_of(part.body) for part in parts}


def find_copies(book: Notebook, ref: Ref, *, earlier: bool = False) -> Copies:
    """Where a note lives: its file, the archive, and notes that decay made of it.

    With `earlier`, also what it was made of or replaced.
    """
    known, entries = lineages(book), book.store.entries()
    named = _named(book, ref, known)
    note = named.latest if named else None
    copies = Copies(ref, note.id if note else _number(ref), taken=earlier)
    if named and note:
        before = _made_of(entries, named, known)
        copies.text, copies.own = note.summary, [named, *(before if earlier else [])]
        copies.earlier = [one.latest for one in before if one.latest and not earlier]
        copies.marks = {mark for one in copies.own for mark in one.marks(book.memories)}
    _find_parts(copies, known)
    lines = {(entry.n, file["path"]) for entry in entries for file in entry.files}
    copies.lines = {line for line in lines if _speaks_of(line, copies, known)}
    if not len(copies) and not copies.lines:
        book.find(ref)
    return copies


def _speaks_of(line: tuple[int, str], copies: Copies, known: list[Lineage]) -> bool:
    """Whether a line of the journal is about it: by its versions, else by what it was called."""
    if copies.own or any(one.has(*line) for one in known):
        return any(one.has(*line) for one in copies.own)
    name = line[1].rpartition("/")[2]
    if name.endswith(f"-{PURGED}.md"):
        return False
    return name.startswith(f"{copies.number:03d}-") if copies.number else name == f"{copies.ref}.md"


def _named(book: Notebook, ref: Ref, known: list[Lineage]) -> Lineage | None:
    """The note that is meant: one that is there, else an archived one; Ambiguous when several."""
    there = {one.latest: one for one in known if one.is_there and one.latest}
    gone = {one.latest: one for one in known if not one.is_there and one.latest}
    note = book.pick(ref, there)
    if note is not None and note.protected:
        raise protected(book.ref(note))
    found = note or book.pick(ref, gone)
    return {**gone, **there}[found] if found else None


def _number(ref: Ref) -> int:
    text = str(ref)
    return int(text) if text.isdecimal() and len(text) < 10 else 0


def _made_of(entries: list[Entry], named: Lineage, known: list[Lineage]) -> list[Lineage]:
    """The archived notes that a change took away while it wrote this one, and theirs."""
    found = [named]
    for one in found:  # which grows meanwhile
        found += [
            other
            for other in known
            if not (other.is_there or other in found) and _took_in(entries, one, other)
        ]
    return found[1:]


def _took_in(entries: list[Entry], one: Lineage, other: Lineage) -> bool:
    return any(
        any(file["after"] is not None and one.has(entry.n, file["path"]) for file in entry.files)
        and any(file["after"] is None and other.has(entry.n, file["path"]) for file in entry.files)
        for entry in entries
        if entry.state == "done" and entry.op in _TAKES_IN
    )


def _find_parts(copies: Copies, known: list[Lineage]) -> None:
    """The parts of summaries that are this note's: by uid and words, and not by number alone."""
    notes = [note for one in known if one not in copies.own for note in one.notes]
    holders = {note: sections(note) for note in notes if note.consolidated}
    called = {p for parts in holders.values() for p in parts if p.number == copies.number}
    if copies.own:
        mine = _own(holders.values(), [note for one in copies.own for note in one.notes])
    else:
        mine = called
        if len({part.uid or part.text for part in called}) > 1:
            raise Ambiguous(
                f"several memories were called {copies.number} before they decayed",
                choices=(),
                hint="Take the part you mean out of its summary: co knowledge edit",
            )
        copies.text = "".join(lifecycle.words_of(part.body)[:80] for part in list(called)[:1])
    for holder, parts in holders.items():
        gone = [part for part in parts if part in mine]
        if gone:
            copies.summaries.append((holder, gone))
            copies.marks |= {part.mark(holder) for part in gone}
        if any(part in called and part not in mine for part in parts):
            copies.beside.append(holder)


def _own(holders: Iterable[Sequence[Part]], versions: Sequence[Note]) -> set[Part]:
    """The parts that decay made of one of these; a summary of old tells no uid."""
    made = {(note.id, note.meta.get("uid") or "", lifecycle.with_tags(note)) for note in versions}
    made |= {(number, "", text) for number, _, text in made}
    return {part for some in holders for part in some if (part.number, part.uid, part.body) in made}


def purge(
    book: Notebook,
    copies: Copies,
    *,
    actor: str = "cli",
    first: Callable[[], None] = lambda: None,
) -> None:
    """Remove them all, and before them what `first` removes. Cut short, the next one finishes it.

    MovedOn when something was changed since they were found; then nothing is removed.
    """
    store = book.store
    with store.locked():
        if find_copies(book, copies.ref, earlier=copies.taken) != copies:
            raise MovedOn("the notebook changed meanwhile", hint="Nothing was purged; try again.")
        at, path = timestamp(book.clock()), f"memories/{copies.number:03d}-{PURGED}.md"
        change = Change("purge", actor, at, store.tail().n, (), high=copies.number)
        store.begin(change, [{"path": path, "before": PURGED, "after": PURGED}])
        _carry_out(book, copies, first)
        if book.origins is not None:
            book.origins.forget_gone()


def _carry_out(book: Notebook, copies: Copies, first: Callable[[], None]) -> None:
    gone: list[str] = []
    try:
        first()
        digests = _remove(book, copies, gone)
        _remove_index(book)
        entries = [_redacted(one, copies, digests) for one in book.store.entries()]
        book.store.rewrite([*entries[:-1], entries[-1]._replace(state="done")])
    except (OSError, CoError) as error:
        why = disk.trouble(error) if isinstance(error, OSError) else error
        name = copies.ref.name[:-3] if isinstance(copies.ref, Note) else copies.ref
        raise DiskTrouble(
            f"the purge was cut short: {why}",
            hint=f"{len(gone)} of {len(copies)} copies are removed for good. "
            f"To finish it: co forget {book.prefix}{name} --purge",
        ) from error


def _remove(book: Notebook, copies: Copies, gone: list[str]) -> dict[str | None, str | None]:
    """Take the text out of every summary, then delete the files, the live one last."""
    digests = {}
    for holder, parts in copies.summaries:
        raw = rewrite(holder.raw, {}, lifecycle.without_parts(holder, parts))
        digests[disk.digest(holder.raw)] = disk.digest(raw)
        book.store.erase(holder.path, holder.raw, raw)
        gone.append(holder.path)
    for version in sorted(copies.files, key=lambda version: version.n):
        book.store.erase(version.path, version.raw, None)
        gone.append(version.path)
    return digests


def _remove_index(book: Notebook) -> None:
    """The index holds words and letters of every note; the next recall builds it anew."""
    book.close()
    book.search.tidy_vectors()
    index = book.search.index_path
    if not os.path.lexists(index):
        return
    with disk.locked(f"{index}-seal"):
        for name in disk.list_names(book.root):
            if name.startswith(paths.INDEX) and not name.endswith(("-seal", "-vectors")):
                os.unlink(os.path.join(book.root, name))


def _redacted(entry: Entry, copies: Copies, digests: dict[str | None, str | None]) -> Entry:
    """A journal line that keeps that there was a note, and neither its words nor a digest."""
    files = []
    for file in entry.files:
        sides = {side: digests.get(file[side], file[side]) for side in ("before", "after")}
        path = file["path"]
        if (entry.n, path) in copies.lines:
            path = f"{path.rpartition('/')[0]}/{copies.number:03d}-{PURGED}.md"
            sides = {side: digest and PURGED for side, digest in sides.items()}
            entry = entry._replace(call="")
        files.append({"path": path, **sides})
    return entry._replace(files=files)
