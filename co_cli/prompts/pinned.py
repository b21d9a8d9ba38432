"""The pinned memories that a session starts with: which, in which order, and how many fit.

Only the person's own words: nothing from outside or from who is not trusted, nothing expired, and
nothing sensitive, which a model is told when it looks for it. One whose check fails says so.
"""

from co_cli.deps import CoDeps
from co_cli.knowledge import Note, Notebook
from co_cli.knowledge.context import Pinned, Receipt
from co_cli.knowledge.format.note import marks
from co_cli.knowledge.pages import MEMORIES
from co_cli.knowledge.search.updates import newest_update
from co_cli.knowledge.use import last_used
from co_cli.knowledge.verify import freshness
from co_cli.results import update_ref

TITLE = "Pinned Memories"
NO_ROOM = "no room"
OUTDATED = "out of date"  # and what updates it may not be loaded
MOST_READ = 10_000  # memories of a notebook that are looked through


def room(window: int, most: int) -> int:
    """The bytes that a session starts with: a quarter of the window, and so many KiB at most."""
    return min(window, most * 1024)  # a token has about four bytes


def load(context: Receipt, deps: CoDeps, room: int) -> Receipt:
    """The context with what is pinned here, as far as there is room beside it.

    The project's come first, then the person's own, the latest first, then what was used last.
    """
    texts, told, loaded = list[str](), list[Pinned](), context
    shelf = deps.here().shelf
    links = shelf.links()
    for book in shelf:
        if len(book.store.names(MEMORIES)) > MOST_READ:
            what, why = f"those of the {book.label}", "too many memories to look through"
            told.append(Pinned(what, book.root, 0, why))
            continue
        found = _pinned(book)
        agreed = deps.tellable(book, found)
        for note in found:
            ref, old = book.ref(note), freshness(book, note).mark
            text = f"[{ref}] {note.body}" + (f"\n({old})" if old else "")
            update = newest_update(note, links, lambda home, one: bool(home.own([one])))
            if update is not None:
                text = f"[{update_ref(book, update[1])}] {update[1].body}\n(earlier, {text})"
            grown = context.adding(TITLE, "\n\n".join([*texts, text]))
            fits = len((grown.text or "").encode()) <= room
            one = Pinned(ref, note.path, len(text.encode()), "", old, tuple(marks(note)))
            why = _why_not(note, book.today(), note in agreed, fits)
            if update and not why:
                is_agreed = bool(deps.tellable(*update[:1], [update[1]]))
                why = _why_not(update[1], book.today(), is_agreed, fits) and OUTDATED
            if why:
                one = Pinned(ref, note.path, 0, why)
            else:
                texts, loaded = [*texts, text], grown
            told.append(one)
    return loaded._replace(pinned=tuple(told))


def _pinned(book: Notebook) -> list[Note]:
    use, notes = last_used(), [note for note in book.notes() if note.pinned]

    def latest(note: Note) -> tuple[str, str, int]:
        return str(note.meta.get("updated") or note.created)[:10], use.rank(note), note.id

    return sorted(notes, key=latest, reverse=True)


def _why_not(note: Note, today: str, agreed: bool, fits: bool) -> str:
    if note.external or not agreed:
        return "from outside" if note.external else "not agreed to (co trust)"
    if note.expired(today) or note.meta.get("sensitive"):
        return "sensitive" if note.meta.get("sensitive") else "expired"
    return "" if fits else NO_ROOM
