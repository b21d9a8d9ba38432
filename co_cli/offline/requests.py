"""The slash command that a sentence asks for."""

import os

from co_cli import verbs
from co_cli.chat.events import Command, PlainText
from co_cli.knowledge import Note, Shelf
from co_cli.knowledge.meaning.reader import SIGNALS, Intent
from co_cli.offline.answers import NOTHING

_MOST = 5  # notes that the person is asked to choose from


def command(shelf: Shelf, said: str, intent: Intent, last: Note | None) -> Command | PlainText:
    """What carries out a request; what removes something asks first."""
    match intent.kind:
        case "forget" | "show" as name:
            return _about_notes(shelf, name, intent.span, last)
        case "undo":
            return _undo(shelf)
        case "restore":
            found, held = verbs.candidates(shelf, intent.span, archived=True)
            return Command(f"/restore {intent.span if held or found else 'last'}")
        case "list":
            return Command(f"/memories {_tag(shelf, said)}".rstrip())
    return Command(f"/{intent.kind}")  # help, changes


def _about_notes(shelf: Shelf, name: str, what: str, last: Note | None) -> Command | PlainText:
    if verbs.is_ref(what):
        book, ref = shelf.place(what)
        return Command(f"/{name} {what}", (book.find(ref),) if name == "forget" else ())
    found, held = verbs.candidates(shelf, what)
    notes = [note for _, note in found]
    if not held and last is not None:
        notes = [last, *(note for note in notes if note != last)]
    if not notes:
        return PlainText(NOTHING)
    first = shelf.holding(notes[0]).ref(notes[0])
    if name == "show":
        several = held and len(notes) > 1
        return Command(f"/show {what if several else first}")
    return Command(f"/{name} {what if held else first}", tuple(notes[:_MOST]))


def _undo(shelf: Shelf) -> Command:
    """The change made last, in whichever notebook."""
    changes = [(entry.at, book, entry) for book in shelf for entry in book.store.entries()[-1:]]
    if not changes:
        return Command("/undo")
    _, book, entry = max(changes, key=lambda change: change[0])
    names = ", ".join(os.path.basename(file["path"]) for file in entry.files)
    line = "/undo -g" if book.scope == "user" else "/undo"
    return Command(line, question=f"Undo {entry.op} of {names}? [y/N]")


def _tag(shelf: Shelf, said: str) -> str:
    """The tag that one of the words names, in the singular or the plural."""
    tags = {tag.casefold(): tag for tag, _ in verbs.tags(shelf)}
    tags |= {signal: signal for signal in SIGNALS}
    words = [word.strip("#.,;:!?\"'") for word in said.casefold().split()]
    named = (form for word in words for form in (word, word.removesuffix("s")) if form in tags)
    return tags.get(next(named, ""), "")
