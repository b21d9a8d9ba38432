"""The one destroyer: remove every copy Co keeps of a note. Git history, if any, is not Co's.

A note is a file: what is there, and what changes archived under its name (`lineage.py`).
"""

import os
from collections.abc import Callable
from dataclasses import dataclass, field

from co_cli import paths
from co_cli.errors import Ambiguous, CoError, DiskTrouble, FormatError, MovedOn, Unreadable
from co_cli.knowledge import lifecycle, similarity
from co_cli.knowledge.format.note import Note, Part, sections, timestamp
from co_cli.knowledge.format.rewrite import rewrite
from co_cli.knowledge.inbox import ACCEPTS
from co_cli.knowledge.lifecycle import SUMMARY, linked
from co_cli.knowledge.lineage import NOW, Lineage, Version, lineages
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
from co_cli.knowledge.store import Change, Entry, disk

PURGED = "purged"
# What puts a note in the place of others.
_TAKES_IN = ("accept", *JOINS, "update", "decay", "undo")


@dataclass(slots=True)
class Copies:
    """All that still holds a note, and what a person is told about it before it goes.

    `earlier` are the notes it was made from or replaced; they stay in the archive unless they are
    `taken` along. `beside` are summaries with a part of the same number that is another note's.
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
        """The files to remove."""
        return [version for one in self.own for version in one.versions]

    @property
    def names(self) -> set[str]:
        """What these files are called in the notebook."""
        return {version.file for version in self.files}

    @property
    def texts(self) -> set[str]:
        """What it says, in all its versions."""
        found = {note.body for one in self.own for note in one.notes}
        parts = (part for _, gone in self.summaries for part in gone)
        return (found | {lifecycle.words_of(part.body) for part in parts}) - {""}


def find_copies(book: Notebook, ref: Ref, *, earlier: bool = False) -> Copies:
    """Where a note is: file, archive, summaries; with `earlier`, also what it was made from."""
    book.store.refuse(f"{ARTICLES}/{called(ref).removeprefix('a:')}.md")
    known, entries = lineages(book), book.store.entries()
    named = _named(book, ref, known)
    note = named.latest if named else None
    copies = Copies(ref, note.id if note else as_number(ref), taken=earlier)
    if named and note:
        drafts = [one for one in known if _holds(one, {note.body for note in named.notes})]
        before = [one for one in _made_of(entries, named, known) if one not in drafts]
        copies.text, copies.own = note.summary, [named, *(before if earlier else [])]
        copies.earlier = [one.latest for one in before if one.latest and not earlier]
        # What a conversation calls it: where its file is, or its uid if it had one then.
        copies.marks = {book.store.locate(version.file) for version in copies.files}
        copies.marks |= {note.mark for one in copies.own for note in one.notes}
        copies.own += _originals(book, copies.own, entries)
        copies.own += [one for one in drafts if one not in copies.own]
    _find_parts(copies, known)
    lines = {(entry.n, file["path"]) for entry in entries for file in entry.files}
    copies.lines = {line for line in lines if _speaks_of(line, copies, known)}
    if not len(copies) and not copies.lines:
        book.find(ref)
    return copies


def _speaks_of(line: tuple[int, str], copies: Copies, known: list[Lineage]) -> bool:
    """Whether a journal line is about the note: by its versions, else by its number or name."""
    if copies.own or any(one.has(*line) for one in known):
        return any(one.has(*line) for one in copies.own)
    folder, _, name = line[1].rpartition("/")
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
    for there in (True, False):
        found = {one.latest: one for one in known if one.is_there == there and one.latest}
        if note := pick(ref, found, book.prefix):
            if there and note.protected:
                raise protected(note, book.ref(note))
            return found[note]
    return None


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


def _holds(one: Lineage, texts: set[str]) -> bool:
    """Whether this is a draft with one of these texts in it; a word or two may be anybody's."""
    for note in one.notes if one.latest and one.latest.kind == "draft" else ():
        told = " ".join(f"{note.body} {note.meta.get('quote') or ''}".lower().split())
        words = [" ".join(text.lower().split()) for text in texts]
        said = similarity.key(note.body) in map(similarity.key, texts)
        if said or any(text.count(" ") > 1 and text in told for text in words):
            return True
    return False


def _find_parts(copies: Copies, known: list[Lineage]) -> None:
    """The parts of summaries that are this note's: its number alone does not make one so."""
    notes = [note for one in known if one not in copies.own for note in one.notes]
    holders = {note: sections(note) for note in notes if note.consolidated}
    numbered = {p for parts in holders.values() for p in parts if p.number == copies.number}
    if copies.own:
        made = {
            (note.id, uid, lifecycle.with_tags(note))
            for one in copies.own
            for note in one.notes
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
        if told := _cited(holder, copies):
            copies.summaries.append((holder, told))
            copies.marks.add(holder.mark)
    for holder, parts in holders.items():
        gone = [part for part in parts if part in mine]
        if gone:
            copies.summaries.append((holder, gone))
            copies.marks |= {part.mark(holder) for part in gone}
        if (numbered - mine).intersection(parts):
            copies.beside.append(holder)


def _cited(holder: Note, copies: Copies) -> list[Part]:
    """The sentences of a summary whose one source is this note."""
    uids = {str(note.meta.get("uid")) for one in copies.own for note in one.notes}
    if holder.meta.get("source") != SUMMARY or not uids & {
        *map(str, linked([holder], "supersedes"))
    }:
        return []
    lines = holder.body.replace("\r\n", "\n").split("\n")
    return [Part(copies.number, "", one) for one in lines if one.endswith(f" (#{copies.number})")]


def left_elsewhere(book: Notebook, copies: Copies) -> list[Copies]:
    """What another notebook still keeps of a note: it was moved from there, or drafted there.

    Drafts that wait there and say it are among it, as they are in the note's own notebook.
    """
    uids = {uid for one in copies.own for note in one.notes if (uid := note.meta.get("uid"))}
    found = list[Copies]()
    for one in lineages(book):
        if not (note := one.latest) or any(one in taken.own for taken in found):
            continue
        moved = not one.is_there and note.meta.get("uid") in uids
        if moved or _holds(one, copies.texts):
            found.append(find_copies(book, note))  # by its path: another may have its name now
    return found


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


def purge(book: Notebook, copies: Copies, *, first: Callable[[], None] = lambda: None) -> None:
    """Remove them all, after what `first` removes; a purge that is cut short can be repeated.

    MovedOn, and nothing is removed, when anything changed since they were found.
    """
    store = book.store
    with store.locked():
        if find_copies(book, copies.ref, earlier=copies.taken) != copies:
            raise MovedOn("the notebook changed meanwhile", hint="Nothing was purged; try again.")
        folder = {"article": ARTICLES, "draft": INBOX}.get(kind_of(copies.ref), MEMORIES)
        at, path = timestamp(book.clock()), f"{folder}/{copies.number:03d}-{PURGED}.md"
        about = ({"path": path, "before": PURGED, "after": PURGED},)
        change = Change("purge", "cli", at, store.tail().n, (), high=copies.number, about=about)
        store.begin(change)
        _carry_out(book, copies, first)
        if book.origins is not None:
            book.origins.forget_gone()


def _carry_out(book: Notebook, copies: Copies, first: Callable[[], None]) -> None:
    """Take the text out of every summary, then delete the files, the live one last."""
    gone, digests = 0, {}
    try:
        first()
        for holder, parts in copies.summaries:
            raw = rewrite(holder.raw, {}, lifecycle.without_parts(holder, parts))
            digests[disk.digest(holder.raw)] = disk.digest(raw)
            book.store.erase(holder.path, holder.raw, raw)
            gone += 1
        # Originals first: without its article, nobody knows them.
        last = ("memories/", "articles/", "inbox/")
        for version in sorted(copies.files, key=lambda one: (one.file.startswith(last), one.n)):
            book.store.erase(version.path, version.raw, None)
            gone += 1
        _remove_index(book)
        entries = [_redacted(one, copies, digests) for one in book.store.entries()]
        book.store.rewrite([*entries[:-1], entries[-1]._replace(state="done")])
    except (OSError, CoError) as error:
        why = disk.trouble(error) if isinstance(error, OSError) else error
        finish = f"co forget {book.prefix}{called(copies.ref)} --purge"
        hint = f"{gone} of {len(copies)} copies are removed for good. To finish it: {finish}"
        raise DiskTrouble(f"the purge was cut short: {why}", hint=hint) from error


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
    """A journal line that tells that there was a note, without its words or a digest of them."""
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
