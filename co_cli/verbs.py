"""What people do to notes, by name: the same for the chat and for the command line."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from co_cli.knowledge import Note, Notebook, Shelf
from co_cli.knowledge.format.note import number_of
from co_cli.knowledge.pages import MEMORIES, Ref, named
from co_cli.knowledge.safety.escape import escape
from co_cli.knowledge.search.scan import holds, scan

if TYPE_CHECKING:  # what only read something never loads what writes
    from co_cli.knowledge.plan import Flag, Saved

_REF = r"#?g?\d{1,9}(-[a-z0-9-]+)?(\.md)?|g?[aim]:.+"  # names a note rather than describing it
_NEAR = 5  # notes that recall offers for a few words
_MOST = 10  # notes that hold the words, and are shown
_CHANGES = 20  # that are offered to be undone
_HIDDEN = "(marked sensitive)"

Found = list[tuple[Notebook, Note]]


class Mark(NamedTuple):
    """A verb that sets a mark of a note, or takes it off; `state` is what the note is then."""

    flag: Flag
    on: bool
    state: str
    help: str

    def act(self, book: Notebook, ref: Ref, *, actor: str = "cli") -> Saved:
        return book.mark(ref, self.flag, on=self.on, actor=actor)

    def told(self, saved: Saved, *, now: str = "") -> str:
        """What it did, in words; `now` is how it is said that something is new."""
        if saved.action == "unchanged":
            now = "already " if self.on else "not "
        elif not self.on:
            now = "no longer "
        what = saved.note.kind.capitalize()
        return f"{what} {saved.ref} is {now}{self.state}: {saved.note.summary}"


MARKS = {
    "protect": Mark("protect", True, "protected", "Protect a memory from forget and decay."),
    "unprotect": Mark("protect", False, "protected", "Stop protecting a memory."),
    "pin": Mark("pin", True, "pinned", "Load a memory in every session; it never decays."),
    "unpin": Mark("pin", False, "pinned", "Stop loading a memory in every session."),
    "sensitive": Mark(
        "sensitive", True, "sensitive", "Keep a memory out of logs, exports and other agents."
    ),
    "unsensitive": Mark("sensitive", False, "sensitive", "Stop treating a memory as sensitive."),
}


def is_ref(text: str) -> bool:
    """Whether this names a note, such as 12 or g3, rather than describing one."""
    return re.fullmatch(_REF, text.strip()) is not None


def candidates(
    shelf: Shelf, text: str, *, in_user: bool = False, archived: bool = False
) -> tuple[Found, bool]:
    """The notes that a few words may mean, and whether the words are theirs.

    Those that go by this name, or hold all the words; without any, what recall finds. Of the
    archived ones, which recall does not look at, those that share most of the words.
    """
    books = [shelf.user] if in_user else [*shelf]
    every = [
        (book, [n for _, n in book.archived()] if archived else book.notes()) for book in books
    ]
    found = [(book, note) for book, notes in every for note in named(text, notes)]
    found = found or [(book, note) for book, notes in every for note in notes if holds(note, text)]
    exact = [(book, note) for book, note in found if text.lower() in note.body.lower()]
    if found:
        return (exact if len(exact) == 1 else found)[:_MOST], True
    try:
        near = (
            [(book, hit) for book, notes in every for hit in scan(text, notes)]
            if archived
            else shelf.recall(text, _NEAR, scope="user" if in_user else "")
        )
    finally:
        shelf.close()
    # The nearest note of a young notebook is shown to who asks, and is nobody's meaning.
    likely = [(book, hit) for book, hit in near if hit.plausible or not hit.weak]
    memories = [(book, hit) for book, hit in likely if hit.note.kind == "memory"]
    strong = [(book, hit) for book, hit in memories if not hit.weak]
    return [(book, hit.note) for book, hit in strong or memories][:_NEAR], False


def labels(found: Found) -> dict[str, tuple[Notebook, Note]]:
    """These notes by what a person calls them: the reference, or the file where two share it."""
    called = [(book.ref(note), book, note) for book, note in found]
    shared = Counter(ref for ref, _, _ in called)
    return {
        ref if shared[ref] == 1 else book.prefix + note.name[:-3]: (book, note)
        for ref, book, note in called
    }


def counts(notes: Iterable[Note]) -> dict[str, int]:
    """How many notes there are of each category, most first; `other` have none."""
    categories = Counter(note.category for note in notes)
    return dict(sorted(categories.items(), key=lambda one: (one[0] == "other", -one[1], one[0])))


# What may be typed where a name is expected, with a word on each


def refs(
    shelf: Shelf, *, archived: bool = False, drafts: bool = False
) -> Iterator[tuple[str, str]]:
    """The references of notes, or of archived ones or drafts, with what the notes say.

    Nothing that a sensitive note says: where its name is words of it, it is left out.
    """
    for book in shelf:
        there = book.pages.drafts()[0] if drafts else (*book.notes(), *book.articles())
        for note in [n for _, n in book.archived()] if archived else there:
            if not note.sensitive:
                yield book.ref(note), escape(note.summary, keep="")
            elif note.id:
                yield book.ref(note), _HIDDEN


def tags(shelf: Shelf) -> Iterator[tuple[str, str]]:
    """The tags that notes have, most used first, with how many have them; of no sensitive note."""
    notes = [note for book in shelf for note in (*book.notes(), *book.articles())]
    used = Counter(tag for note in notes if not note.sensitive for tag in note.tags)
    return ((escape(tag, keep=""), str(many)) for tag, many in used.most_common())


def changes(book: Notebook) -> Iterator[tuple[str, str]]:
    """The last changes, newest first, with the numbers of their memories.

    No file's name: it is the text's first words, and the text may be sensitive.
    """
    for entry in reversed(book.store.entries()[-_CHANGES:]):
        names = [file["path"] for file in entry.files if file["path"].startswith(f"{MEMORIES}/")]
        numbers = [f"{book.prefix}{number}" for name in names[:3] if (number := number_of(name))]
        yield str(entry.n), f"{entry.op} {', '.join(numbers)}".rstrip()


def hidden(shelf: Shelf) -> list[Note]:
    """The sensitive notes, drafts and archived notes, whose words no completion shows."""
    found: list[Note] = []
    for book in shelf:
        found += [*book.look().notes, *book.articles(), *book.pages.drafts()[0]]
        found += [note for _, note in book.pages.archived()]
    return [note for note in found if note.sensitive]
