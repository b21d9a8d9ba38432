"""What is wrong with a notebook, file by file, in words. Looks, and changes nothing."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

from co_cli.errors import CoError, FormatError
from co_cli.knowledge.article import canonical
from co_cli.knowledge.context import read_context
from co_cli.knowledge.format.frontmatter import MAX_ID
from co_cli.knowledge.format.note import CONFLICT, Note, has_conflict
from co_cli.knowledge.format.rewrite import rewrite
from co_cli.knowledge.notebook import Notebook
from co_cli.knowledge.pages import ATTACHMENTS, Look, Problem
from co_cli.knowledge.store import JOURNAL, Entry, disk

_CODE = r"(?ms)^ *(```|~~~).*?^ *\1"


def diagnose(book: Notebook, *, closely: bool = False) -> list[Problem]:
    """Every problem, each with the file, the line where one is to blame, and the reason.

    With `closely`, articles' originals, which may be large, are read and compared too.
    """
    look, (articles, broken) = book.look(), book.pages.articles()
    odd = [*_odd(book, look.notes), *_last_number(book, look)]
    odd += _odd_articles(book, articles, closely)
    odd += read_context(book.store.locate("context.md"), None).skipped
    return [*look.problems, *broken, *book.pages.drafts()[1], *odd, *_journal(book)]


def _odd(book: Notebook, notes: list[Note]) -> Iterator[Problem]:
    """What is odd about notes that can be read."""
    count, copies = Counter(note.id for note in notes), book.copies(notes, notes)
    left = Counter(note.id for note in notes if count[note.id] > 1 and why_left(note))
    for note in notes:
        if note.id and (others := count[note.id] - 1):
            many = f"{others} other files" if others > 1 else "another file"
            said = f"has the same number ({note.id}) as {many}; all are kept."
            yield Problem(note.path, f"{said} {_how_to_renumber(note, left[note.id])}")
        if note.path in copies:
            said = f"has a `uid` that belongs to another file ({note.uid})"
            later = "it gets one of its own when Co next changes it, and you may delete that line"
            yield Problem(note.path, f"{said}; {later}")
        if line := has_conflict(note.raw.decode()):
            yield Problem(note.path, CONFLICT, line)
        expires = note.meta.get("expires")
        if expires and not re.match(r"\d{4}-\d{2}-\d{2}", str(expires)):
            yield Problem(note.path, f"`expires` is not a date: {expires}")


def _last_number(book: Notebook, look: Look) -> Iterator[Problem]:
    """That no memory can be saved any more, because no number is left for it."""
    last = f"the last number there is ({MAX_ID}), so no memory can be saved"
    for note in look.notes:
        if note.id == MAX_ID:
            yield Problem(note.path, f"has {last}; give it a lower `id` by hand")
    if look.tail.high >= MAX_ID:
        gone = "without `archive/`, numbers are counted from the memories that are there"
        yield Problem(book.store.locate(JOURNAL), f"gave out {last}; {gone}")


def why_left(note: Note) -> str:
    """Why a memory cannot be given another number; empty when it can."""
    if has_conflict(note.raw.decode()):
        return CONFLICT
    try:
        rewrite(note.raw, {"id": MAX_ID, "uid": note.meta.get("uid") or "new"})
    except FormatError as error:
        return str(error)
    return ""


def _how_to_renumber(note: Note, left: int) -> str:
    """What gives a memory its own number, where so many of those that share it are left alone."""
    why, fix = why_left(note) if left > 1 else "", "co knowledge doctor --fix"
    if why == CONFLICT:
        return f"Once the conflict in it is resolved: {fix}"
    return f"Give it another `id` by hand: {why}" if why else f"To give each its own: {fix}"


def _odd_articles(book: Notebook, articles: list[Note], closely: bool) -> Iterator[Problem]:
    store, sources = book.store, defaultdict[str, list[str]](list)
    for note in articles:
        sources[canonical(str(note.meta["source"]))].append(book.ref(note))
    for note in articles:
        # What a page shows of a conflict is in its code; what git leaves is not only there.
        text = re.sub(_CODE, lambda code: "\n" * code[0].count("\n"), note.raw.decode())
        if line := has_conflict(text):
            yield Problem(note.path, CONFLICT, line)
        place = canonical(str(note.meta["source"]))
        if place and (others := [ref for ref in sources[place] if ref != book.ref(note)]):
            yield Problem(note.path, f"has the same source as {', '.join(others)}")
        if reason := _about_original(book, note, closely):
            yield Problem(note.path, reason)
    named = {note.attachment for note in articles}
    for path in sorted(f"{ATTACHMENTS}/{name}" for name in store.names(ATTACHMENTS)):
        if path not in named:
            yield Problem(store.locate(path), "belongs to no article that can be read")


def _about_original(book: Notebook, note: Note, closely: bool) -> str:
    """What is odd about an article's original: gone, or not the one that was kept."""
    path, named = note.attachment, note.meta.get("attachment")
    if not path:
        return f"`attachment` is not the name of a file: {named}" if named else ""
    if not book.store.signature(path):
        return f"its original is missing: {path}"
    try:
        data = book.store.read(path) if closely else None
    except CoError as error:
        return f"its original cannot be used: {path} {error}"
    differs = data is not None and disk.digest(data) != note.meta.get("sha256")
    return f"its original was changed since it was kept: {path}" if differs else ""


def _journal(book: Notebook) -> Iterator[Problem]:
    store, path = book.store, book.store.locate(JOURNAL)
    for line in store.unreadable_lines():
        yield Problem(path, "a line cannot be read and is passed over", line)
    if store.tail().state == "intent":
        yield Problem(path, "a change is unfinished; the next save settles it")
    entries = store.entries()
    for entry in entries:
        if entry.state == "cut short" and not _repeated(entry, entries):
            yield Problem(path, f"change {entry.n}, a purge, was cut short; repeat it")
        for file in entry.files:
            if reason := _about_kept(book, entry, file):
                yield Problem(store.locate(file["path"], entry.n), reason)


def _repeated(purge: Entry, entries: list[Entry]) -> bool:
    """Whether a purge that was cut short was carried out later."""
    later = [one for one in entries if one.n > purge.n and (one.op, one.state) == ("purge", "done")]
    about = {file["path"] for file in purge.files}
    return any(about <= {file["path"] for file in one.files} for one in later)


def _about_kept(book: Notebook, entry: Entry, file: dict[str, Any]) -> str:
    """What is odd about the previous bytes of one file: gone, or written to since."""
    name, n = file["path"], entry.n
    try:
        held = disk.digest(book.store.read(name, n))
    except CoError as error:
        return str(error)
    if entry.state == "done" and file["before"] not in (None, "purged", held):
        if held is None:
            return f"change {n} can no longer be undone: it is gone"
        return f"was written to after change {n} had put it away; compare it with {name}"
    if entry.state == "rolled back" and file["before"] and held:
        return f"somebody saved this while {name} was being changed; compare them, then delete this"
    return ""
