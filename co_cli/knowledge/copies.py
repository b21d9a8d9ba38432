"""Where a note is in a notebook: its file, the archive, summaries, drafts. Removes nothing.

A note is a file: what is there, and what changes archived under its name (`lineage.py`).
"""

import os
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from co_cli.errors import Ambiguous, CoError, FormatError, Unreadable
from co_cli.knowledge import lifecycle
from co_cli.knowledge.compare.same import key
from co_cli.knowledge.format.note import Note, Part, number_of, sections
from co_cli.knowledge.inbox import ACCEPTS
from co_cli.knowledge.lifecycle import SUMMARY, linked
from co_cli.knowledge.lineage import NOW, Lineage, Version, lineages
from co_cli.knowledge.moving import MOVES
from co_cli.knowledge.notebook import Notebook
from co_cli.knowledge.pages import (
    ARTICLES,
    INBOX,
    JOINS,
    MEMORIES,
    Ref,
    as_number,
    called,
    kind_of,
    made_with,
    pick,
)
from co_cli.knowledge.plan import protected
from co_cli.knowledge.store import Entry, disk

PURGED = "purged"
# What puts a note in the place of others.
_TAKES_IN = ("accept", *JOINS, "update", "decay", "undo")


class Links(NamedTuple):
    """What tells a note in another notebook: the changes that moved it, and all its versions."""

    pairs: frozenset[str] = frozenset()
    notes: frozenset[Note] = frozenset()

    @property
    def uids(self) -> set[str]:
        return {str(uid) for note in self.notes if (uid := note.meta.get("uid"))}


ALONE = Links()


@dataclass(slots=True)
class Copies:
    """All of one notebook that holds a note, and what a person is told about it before it goes.

    It was asked for by `ref`, or without one it is what `links` tell of another notebook's note.
    `earlier` are the notes it was made from or replaced; they stay in the archive unless they are
    `taken` along. `beside` are summaries with a part of the same number that is another note's.
    """

    ref: Ref | None
    number: int
    text: str = ""
    taken: bool = False
    links: Links = ALONE
    own: list[Lineage] = field(default_factory=list)
    summaries: list[tuple[Note, list[Part]]] = field(default_factory=list)
    lines: set[tuple[int, str]] = field(default_factory=set)  # changes and paths in the journal
    pairs: dict[str, str] = field(default_factory=dict)  # what moved it, each with the other place
    earlier: list[Note] = field(default_factory=list)
    beside: list[Note] = field(default_factory=list)
    marks: set[str] = field(default_factory=set)

    def __len__(self) -> int:
        return len(self.files) + len(self.summaries)

    @property
    def files(self) -> list[Version]:
        """The files to remove."""
        return [version for one in self.own for version in one.versions]

    @property
    def names(self) -> set[str]:
        """What these files are called in the notebook."""
        return {version.file for version in self.files}

    @property
    def memories(self) -> list[Lineage]:
        """What of it was a memory: a draft that became one leads nowhere by itself."""
        return [one for one in self.own if one.latest and one.latest.kind == "memory"]

    @property
    def called(self) -> str:
        """What a person calls it in this notebook."""
        latest = self.own[0].latest if self.own else None
        latest = latest or (self.summaries[0][0] if self.summaries else None)
        return called(self.ref or latest or "")

    @property
    def texts(self) -> set[str]:
        """What it says, in all its versions."""
        found = {note.body for one in self.own for note in one.notes}
        parts = (part for _, gone in self.summaries for part in gone)
        return (found | {lifecycle.words_of(part.body) for part in parts}) - {""}


def find_copies(
    book: Notebook, ref: Ref | None, *, earlier: bool = False, links: Links = ALONE
) -> Copies:
    """Where a note is: file, archive, summaries; with `earlier`, also what it was made from.

    NotFound when a note that was asked for is nowhere, and never moved.
    """
    if ref is not None:
        book.store.refuse(f"{ARTICLES}/{called(ref).removeprefix('a:')}.md")
    known, entries = lineages(book), book.store.entries()
    named = _named(book, ref, known) if ref is not None else None
    main = [named] if named else []
    main += [one for one in _linked(known, links, entries) if one is not named]
    for one in main:
        if one.is_there and one.latest and one.latest.protected:
            raise protected(one.latest, book.ref(one.latest))
    copies = Copies(ref, as_number(ref or ""), taken=earlier, links=links)
    if main and (first := main[0].latest):
        copies.number, copies.text = first.id, first.summary
    texts = {note.body for one in main for note in one.notes} | {one.body for one in links.notes}
    drafts = [one for one in known if _holds(one, texts)]
    made_of = (it for one in main for it in _made_of(entries, one, known))
    before = [one for one in _distinct(made_of) if one not in (*drafts, *main)]
    copies.own = [*main, *(before if earlier else [])]
    copies.earlier = [one.latest for one in before if one.latest and not earlier]
    # What a conversation calls it: where its file is, or its uid if it had one then.
    copies.marks = {book.store.locate(version.file) for version in copies.files}
    copies.marks |= {note.mark for one in copies.own for note in one.notes}
    copies.own += _originals(book, copies.own, entries)
    copies.own += [one for one in drafts if one not in copies.own]
    _find_parts(copies, known)
    if not copies.number and copies.summaries:
        copies.number = copies.summaries[0][1][0].number
    lines = [(entry, file["path"]) for entry in entries for file in entry.files]
    moved = {path for entry, path in lines if entry.pair in links.pairs}
    copies.lines = {
        (one.n, path) for one, path in lines if _speaks_of(one.n, path, copies, known, moved)
    }
    if ref is None:  # the same for whoever goes on with a purge that was cut short
        numbers = {number for _, path in copies.lines if (number := number_of(path))}
        copies.number = min(numbers, default=copies.number)
    bare = moved | ({f"{MEMORIES}/{copies.number:03d}-{PURGED}.md"} if copies.number else set())
    copies.pairs = {
        entry.pair: entry.other
        for entry, path in lines
        if entry.pair and _moves(entry.n, path, copies, known, bare)
    }
    if ref is not None and not (len(copies) or copies.lines or copies.pairs):
        book.find(ref)
    return copies


def _distinct(found: Iterable[Lineage]) -> list[Lineage]:
    kept: list[Lineage] = []
    for one in found:
        if one not in kept:
            kept.append(one)
    return kept


def _linked(known: list[Lineage], links: Links, entries: list[Entry]) -> list[Lineage]:
    """Those whose bytes are of a note that moved here or away."""
    moved = [one for one in entries if one.pair in links.pairs or one.op in MOVES]
    changes = [(one, file["path"]) for one in moved if one.pair or links.uids for file in one.files]
    found = []
    for one in known if links != ALONE else ():
        touched = [entry for entry, path in changes if one.has(entry.n, path)]
        same = any(str(note.meta.get("uid")) in links.uids for note in one.notes)
        if any(e.pair in links.pairs or (same and e.op in MOVES) for e in touched):
            found.append(one)
    return found


def _moves(n: int, path: str, copies: Copies, known: list[Lineage], bare: Collection[str]) -> bool:
    """Whether a change that moved something moved this; of what is purged, only names are left."""
    if any(one.has(n, path) for one in known):
        return any(one.has(n, path) for one in copies.memories)
    return path in bare or (n, path) in copies.lines


def _speaks_of(
    n: int, path: str, copies: Copies, known: list[Lineage], moved: Collection[str]
) -> bool:
    """Whether a journal line is about the note: by its versions, else by its number or name."""
    folder, _, name = path.rpartition("/")
    has_bytes = any(one.has(n, path) for one in known)
    if not has_bytes and path in moved:
        return not name.endswith(f"-{PURGED}.md")
    if copies.own or has_bytes or copies.ref is None:
        return any(one.has(n, path) for one in copies.own)
    if name.endswith(f"-{PURGED}.md"):
        return False
    if kind_of(copies.ref) != "memory":
        sign = "i" if folder == INBOX else "a"
        return folder != MEMORIES and f"{sign}:{os.path.splitext(name)[0]}" == called(copies.ref)
    if copies.number:
        return name.startswith(f"{copies.number:03d}-")
    return name == f"{copies.ref}.md".removeprefix("m:")


def _named(book: Notebook, ref: Ref, known: list[Lineage]) -> Lineage | None:
    """The note that is meant: one that is there, else an archived one; Ambiguous when several."""
    exact = [one for one in known if isinstance(ref, Note) and one.latest == ref]
    for there in () if exact else (True, False):
        found = {one.latest: one for one in known if one.is_there == there and one.latest}
        if note := pick(ref, found, book.prefix):
            return found[note]
    return exact[0] if exact else None


def _made_of(entries: list[Entry], named: Lineage, known: list[Lineage]) -> list[Lineage]:
    """The archived notes that a change removed when it wrote this one, and what made those."""
    many: set[int] = set()  # where each memory had a draft of its own, which says the same
    for entry in entries:
        if entry.op == ACCEPTS or entry.undoes in many:
            many.add(entry.n)
    changes = [e for e in entries if e.state == "done" and e.op in _TAKES_IN and e.n not in many]
    found = [named]
    for one in found:  # which grows meanwhile
        wrote = [entry for entry in changes if _touched(entry, one, removed=False)]
        gone = [other for other in known if not (other.is_there or other in found)]
        found += [it for it in gone if any(_touched(entry, it, removed=True) for entry in wrote)]
    return found[1:]


def _touched(entry: Entry, one: Lineage, *, removed: bool) -> bool:
    files = (file["path"] for file in entry.files if (file["after"] is None) == removed)
    return any(one.has(entry.n, path) for path in files)


def _holds(one: Lineage, texts: Collection[str]) -> bool:
    """Whether this is a draft with one of these texts in it."""
    return bool(one.latest and one.latest.kind == "draft" and says(one, texts))


def says(one: Lineage, texts: Collection[str]) -> bool:
    """Whether a note has or had one of these texts in it; a word or two may be anybody's."""
    words = [" ".join(text.lower().split()) for text in texts]
    keys = {key(text) for text in texts}
    for note in one.notes:
        told = " ".join(f"{note.body} {note.meta.get('quote') or ''}".lower().split())
        if any(text.count(" ") > 1 and text in told for text in words):
            return True
        if key(note.body) in keys:
            return True
    return False


def _find_parts(copies: Copies, known: list[Lineage]) -> None:
    """The parts of summaries that are this note's: its number alone does not make one so."""
    versions = {*copies.links.notes, *(note for one in copies.own for note in one.notes)}
    notes = [note for one in known if one not in copies.own for note in one.notes]
    holders = {note: sections(note) for note in notes if note.consolidated}
    numbered = {p for parts in holders.values() for p in parts if p.number == copies.number}
    if versions or copies.ref is None:
        made = {
            (note.id, uid, lifecycle.with_tags(note))
            for note in versions
            for uid in (note.meta.get("uid") or "", "")  # an old summary does not tell the uid
        }
        mine = {p for parts in holders.values() for p in parts if (p.number, p.uid, p.body) in made}
    else:
        mine = numbered
        if len({part.uid or part.text for part in mine}) > 1:
            what = f"several memories were called {copies.number} before they decayed"
            hint = "Take the part you mean out of its summary: co knowledge edit"
            raise Ambiguous(what, choices=(), hint=hint)
        copies.text = "".join(lifecycle.words_of(part.body)[:80] for part in list(mine)[:1])
    for holder in notes:
        if told := _cited(holder, versions):
            copies.summaries.append((holder, told))
            copies.marks.add(holder.mark)
    for holder, parts in holders.items():
        gone = [part for part in parts if part in mine]
        if gone:
            copies.summaries.append((holder, gone))
            copies.marks |= {part.mark(holder) for part in gone}
        if copies.ref is not None and (numbered - mine).intersection(parts):
            copies.beside.append(holder)


def _cited(holder: Note, versions: Collection[Note]) -> list[Part]:
    """The sentences of a summary whose one source is this note."""
    if holder.meta.get("source") != SUMMARY:
        return []
    taken = {*map(str, linked([holder], "supersedes"))}
    numbers = {note.id for note in versions if str(note.meta.get("uid")) in taken}
    lines = holder.body.replace("\r\n", "\n").split("\n")
    ends = {number: f" (#{number})" for number in numbers}
    return [Part(n, "", one) for one in lines for n, end in ends.items() if one.endswith(end)]


def _originals(book: Notebook, own: list[Lineage], entries: list[Entry]) -> list[Lineage]:
    """The originals of these articles, as they are and were; not what another article names."""
    notes = [note for one in own for note in one.notes]
    there = {note.path for note in notes}
    others = {note.attachment for note in book.articles() if note.path not in there}
    found = []
    for path in sorted({note.attachment for note in notes} - others - {""}):
        changes = [e.n for e in entries for file in e.files if file["path"] == path]
        held = [(n, _held(book, path, n)) for n in (*changes, 0)]
        made = made_with(entries, path, lambda n, file: any(one.has(n, file) for one in own))
        named = {note.meta.get("sha256") for note in notes if note.attachment == path}
        kept = [
            Version(n or NOW, path, book.store.locate(path, n), data, None)
            for n, data in held
            if data is not None and (made or disk.digest(data) in named)
        ]
        found += [Lineage(kept, [(path, 0, NOW)])] if kept else []
    return found


def _held(book: Notebook, path: str, n: int) -> bytes | None:
    """What is there, or what change `n` archived; a link or a folder holds nothing of Co's."""
    try:
        return book.store.read(path, n)
    except FormatError as error:
        if n or isinstance(error, Unreadable):
            raise CoError(f"{path} {error}", hint="Nothing was purged.") from error
    return None
