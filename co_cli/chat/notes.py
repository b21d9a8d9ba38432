"""What the chat does to notes when it is told so by name, without a model."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Iterable, Mapping
from dataclasses import replace
from textwrap import indent
from typing import TYPE_CHECKING

from co_cli import languages, trust, verbs
from co_cli.agent.approval import SAVE, Decision, Proposal, Review, planned
from co_cli.chat.letters import goes_on
from co_cli.chat.line_input import Resized
from co_cli.editing import Editing
from co_cli.errors import Ambiguous, CoError, FormatError, MovedOn, NotFound
from co_cli.kept import kept_text
from co_cli.knowledge import Note, Notebook, Shelf
from co_cli.knowledge.format.note import now, timestamp
from co_cli.knowledge.format.rewrite import rewrite
from co_cli.knowledge.moving import find_to_move, move, other_half
from co_cli.knowledge.pages import ARTICLES
from co_cli.knowledge.safety.check import check_text
from co_cli.knowledge.use import used
from co_cli.meant import picked
from co_cli.offline.reading import tags_of
from co_cli.offline.saving import carry_out
from co_cli.results import (
    above_text,
    half_undone_text,
    hit_ref,
    marks,
    moved_text,
    none_text,
    outside_text,
    plural,
    recall_text,
    span,
    update_text,
)
from co_cli.tools.articles import aside, keep_source, read_source

if TYPE_CHECKING:
    from co_cli.chat.app import Chat

_CHANGES = 15  # that are listed
_ARCHIVE = "The archive is empty: nothing has been forgotten, rejected, merged or decayed yet."


def placed(shelf: Shelf, ref: str | Note, *, archived: bool = False) -> tuple[Notebook, str | Note]:
    """The notebook that a note or a reference is about, and what names it there.

    A few words instead are Ambiguous, with candidates.
    """
    if isinstance(ref, Note):
        return shelf.holding(ref), ref
    if not verbs.is_ref(ref):
        raise _described(shelf, ref, archived=archived)
    return shelf.place(ref)


async def asked(chat: Chat, question: str, choices: Mapping[str, str] = {}) -> str:
    """What the person answers; nothing, if they stop here or go on talking of no choice."""
    typed = ""
    while True:
        try:
            said = await chat.screen.read(f"  {question} > ", typed)
            return "" if picked(said, choices) is None and goes_on(said) else said
        except Resized as screen:
            typed = screen.typed
        except (KeyboardInterrupt, EOFError):
            return ""


def forget(shelf: Shelf, what: str | Note) -> str:
    """Forget the notes with these references, or words; all are found before any goes."""
    if isinstance(what, str) and not what.strip():
        return "Usage: /forget <id> or /forget <words>"
    words = str(what).split()
    alone = isinstance(what, Note) or len(words) == 1 or not all(map(verbs.is_ref, words))
    refs: list[str] | list[str | Note] = [what] if alone else words
    try:
        notes = [(book, book.find(name)) for book, name in (placed(shelf, ref) for ref in refs)]
    except Ambiguous as error:
        if alone:
            raise
        hint = "Nothing was forgotten. Forget that one by itself: you are asked which is meant."
        raise CoError(str(error), hint=hint) from error
    return "\n".join(
        f"Forgot {saved.note.kind} {saved.ref}: {saved.note.summary} "
        f"(/restore {saved.ref} brings it back)"
        for saved in [book.forget(note, actor="chat") for book, note in notes]
    )


def _described(shelf: Shelf, text: str, *, archived: bool) -> CoError:
    """That a text names no note, with those that it may mean."""
    found, sure = verbs.candidates(shelf, text, archived=archived)
    noun = "archived memory" if archived else "memory"
    if not found:
        hint = f"`co knowledge {'restore' if archived else 'list'}` shows what there is."
        return NotFound(f"no {noun} contains '{text}'", hint=hint)
    many = f"{plural(len(found), noun)} with these words"
    what = many if sure else f"No {noun} contains '{text}'. The nearest"
    return Ambiguous(what, choices=[note for _, note in found])


def restore(shelf: Shelf, ref: str | Note) -> str:
    """Bring an archived note back, by words or the last; without any, what the archive holds."""
    gone = [pair for book in shelf for pair in book.archived()] if ref in ("", "last") else []
    if not ref:
        rows = [row(shelf.holding(note), note) for _, note in gone]
        return "\n".join([*rows, "To bring one back: /restore <id or words>"]) if rows else _ARCHIVE
    if gone:
        raise Ambiguous("The last one", choices=[max(gone, key=lambda pair: pair[0].at)[1]])
    book, name = placed(shelf, ref, archived=True)
    saved = book.restore(name, actor="chat")
    return f"{saved.note.kind.capitalize()} {saved.ref} is back: {saved.note.summary}"


def show(shelf: Shelf, ref: str | Note) -> str:
    """One note whole."""
    if not ref:
        return "Usage: /show <id or words>"
    try:
        book, name = placed(shelf, ref)
    except Ambiguous as error:
        if len(error.choices) != 1 or not isinstance(error.choices[0], Note):
            raise
        return show(shelf, error.choices[0])
    note = book.find(name)
    told = "\n".join(filter(None, [outside_text(note), note.body]))
    return f"{row(book, note)}\n{indent(told, '      ', lambda _: True)}"


def memories(shelf: Shelf, argument: str) -> str:
    """Every note, those with a tag, or how many there are of each category."""
    told = []
    if argument in ("--count", "-c"):
        return _counted(note for book in shelf for note in book.notes())
    for book in shelf:
        wanted = argument.lower()
        notes = [n for n in book.notes() if not wanted or wanted in map(str.lower, n.tags)]
        if notes:
            where = "This project" if book.scope == "project" else "Everywhere"
            told.append("\n".join([where, *(row(book, note) for note in notes)]))
    told = told or [f"No memories tagged {argument}." if argument else none_text(*shelf)]
    if articles := sum(len(book.store.names(ARTICLES)) for book in shelf):
        told.append(f"{plural(articles, 'article')} beside; /recall and /show find them.")
    return "\n\n".join(told)


def _counted(notes: Iterable[Note]) -> str:
    counts = verbs.counts(notes)
    rows = [f"{many:>4}  {category}" for category, many in counts.items()]
    return "\n".join([*rows, f"{sum(counts.values()):>4}  in all"])


def recall(shelf: Shelf, argument: str) -> str:
    """What recall finds, without a model."""
    if not argument:
        return "Usage: /recall <words or a question>"
    try:
        found = shelf.recall(argument, 5)
    finally:
        shelf.close()
    used([hit.note for _, hit in found if not hit.weak], timestamp(now()))
    if not found:
        return recall_text(argument, found)
    rows = []
    for book, hit in found:
        why = [hit.why, outside_text(hit.note), update_text(book, hit)]
        told = "\n".join(filter(None, [above_text(hit), hit.text]))
        rows += [
            row(book, hit.note, "; ".join(filter(None, why)), hit_ref(book, hit)),
            indent(told, "      ", lambda _: True),
        ]
    return "\n".join(rows)


def row(book: Notebook, note: Note, why: str = "", name: str = "") -> str:
    """A note in a line: its reference, date, marks and tags, and what it says or why it is here."""
    parts = [f"{name or book.ref(note):>4}", span(note), marks(book, note)]
    outside = outside_text(note) if note.kind == "memory" else ""
    parts += [f"({why})"] if why else [outside, note.summary]
    parts += [f"[{', '.join(note.tags)}]" if note.tags else ""]
    return "  ".join(filter(None, parts))


def undo(shelf: Shelf, argument: str) -> str:
    """Take back the last change, or one by its number."""
    words = argument.split()
    numbers = [int(word[:18]) for word in words if word.isdecimal()]  # none has so many digits
    if (
        len(numbers) > 1
        or 0 in numbers
        or not all(word == "-g" or word.isdecimal() for word in words)
    ):
        return "Usage: /undo [-g] [number of the change]"
    book = shelf.user if "-g" in words else shelf.project
    entry = book.undo(*numbers, actor="chat")
    names = ", ".join(os.path.basename(file["path"]) for file in entry.files)
    other = shelf.other(book)
    half = half_undone_text(other, other_half(book, other, entry), "/undo")
    return f"Undone: {entry.op} of {names}{half}"


def changes(shelf: Shelf, _argument: str = "") -> str:
    """The latest changes of both notebooks, newest first; no words of a sensitive note."""
    rows = list[tuple[str, str]]()
    for book in shelf:
        there = {note.name: note for note in book.notes()}
        for entry in book.store.entries()[-_CHANGES:]:
            names = [os.path.basename(file["path"]) for file in entry.files]
            kept = [there[name] for name in names if name in there]
            what = [f"{book.ref(note)}  {_summary(note)}" for note in kept[:1]]
            more = f" and {len(names) - 1} more" if len(names) > 1 else ""
            told = f"{entry.op:<9} {''.join(what) or plural(len(names), 'file')}"
            rows.append((entry.at, f"{entry.at[:16].replace('T', ' ')}  {told}{more * bool(what)}"))
    latest = sorted(rows, reverse=True)[:_CHANGES]
    return "\n".join(row for _, row in latest) or "Nothing has changed here yet."


def _summary(note: Note) -> str:
    return "(sensitive)" if note.sensitive else note.summary


async def save_edit(book: Notebook, note: Note, text: str) -> str:
    """Save a note that the person edited in the input line."""
    if not text.strip() or text.strip() == note.body.strip():
        return "Nothing changed."
    body = check_text(text)
    data = f"{body}\n".encode() if note.plain else rewrite(note.raw, {}, body)
    kept = await asyncio.to_thread(book.replace, note, data)
    return (
        f"✓ Edited {kept.note.kind} {book.ref(kept.note)}: {kept.note.summary} "
        f"({_undo(book)} takes it back)"
    )


async def remember(chat: Chat, argument: str) -> str:
    """Save what the person typed; they are asked only where they have to choose."""
    words, _, more = argument.partition(" ")
    scope, text = ("user", more.strip()) if words == "-g" else ("", argument)
    if not text:
        return "Usage: /remember [-g] <text>, or # <text>"
    deps = chat.deps
    tags = await asyncio.to_thread(tags_of, text)
    wanted, again = Proposal("", SAVE, text, tags, scope), False
    while True:
        one = await asyncio.to_thread(planned, deps, wanted)
        if one.refused:
            raise CoError(f"this cannot be saved: {one.refused}")
        choice = Decision(one, "yes")
        if again or one.collides or one.left_out or one.moves:
            card = Review([replace(one, again=again)], (), deps, typed=True)
            [choice] = (await chat.screen(card)).decisions
        try:
            return (await asyncio.to_thread(carry_out, deps, choice)).text
        except MovedOn:  # it would do something else now
            wanted, again = choice.proposal, True


def promote(chat: Chat, what: str | Note, *, up: bool = True) -> str:
    """Move a note into the person's notebook, for all or for a language; or into the project."""
    deps, shelf, language = chat.deps, chat.deps.shelf(), ""
    if not what:
        return "Usage: /promote <id> [language], or /demote <id>"
    if isinstance(what, str) and up and verbs.is_ref(what.partition(" ")[0]) and " " in what:
        what, _, name = what.partition(" ")
        language = languages.named(name, shelf.languages)
    source, ref = placed(shelf, what)
    target = shelf.user if up else shelf.project
    note = find_to_move(source, target, ref)
    if source.scope == "project" and not deps.tellable(source, [note]):
        raise CoError("nobody here agreed to this note yet", hint="`co trust` shows it and asks.")
    fresh = not up and trust.untouched(deps.folder())
    saved = move(source, target, note, language, actor="chat")
    problem = trust.claim(deps.folder(), timestamp(now())) if fresh else ""
    told = moved_text(target, source.ref(note), saved, "/undo")
    return "\n".join(filter(None, [told, problem]))


def demote(chat: Chat, what: str | Note) -> str:
    """Move a note of the person's own into this project."""
    return promote(chat, what, up=False)


def edit(chat: Chat, ref: str | Note) -> str | Awaitable[str]:
    """Let the person edit a note in their editor."""
    if not ref:
        return "Usage: /edit <id or words>"
    book, name = placed(chat.deps.shelf(), ref)
    return _edited(chat, book, book.find(name))


async def _edited(chat: Chat, book: Notebook, note: Note) -> str:
    editing, kept = Editing(book, note), None
    while kept is None:
        try:
            kept = editing.run("vi")
        except FormatError as error:
            chat.say(str(error), "red")
            if (await asked(chat, "Edit it again? [y/N]")).strip().lower() not in ("y", "yes"):
                raise CoError(f"the {note.kind} is unchanged", hint=editing.kept) from error
    name = f"{kept.kind} {book.ref(kept)}"
    edited = f"✓ Edited {name}: {kept.summary} ({_undo(book)} takes it back)"
    return "Nothing changed." if kept is note else edited


def memory(chat: Chat, argument: str) -> str | Awaitable[str]:
    """All that Co knows here; or add a note."""
    verb, _, rest = argument.partition(" ")
    if verb == "add":
        return remember(chat, rest.strip())
    if verb not in ("", "show"):
        return "Usage: /memory show [id], or /memory add <text>"
    known = chat.prompt.receipt.text or "No context file is loaded."
    return "\n\n".join([known, *chat.prompt.details(), memories(chat.deps.shelf(), "")])


def _undo(book: Notebook) -> str:
    return "/undo -g" if book.scope == "user" else "/undo"


async def ingest(chat: Chat, argument: str) -> str:
    """Keep a page or a file as an article; nothing is kept when this is stopped on the way."""
    words, _, more = argument.partition(" ")
    scope, source = ("user", more.strip()) if words == "-g" else (None, argument)
    if not source:
        return "Usage: /ingest [-g] <address or file>"
    deps = chat.deps
    where = deps.scope(scope)
    deps.shelf().user.store.refuse("")
    with chat.view as view:
        view.busy("Reading")
        found = await aside(lambda: read_source(deps, os.path.expanduser(source)))
    with deps.notebooks() as shelf:
        book = shelf.user if where == "user" else shelf.project
        fresh = book.scope == "project" and trust.untouched(deps.folder())
        _, _, plan, edited = keep_source(book, found)
        problem = trust.claim(deps.folder(), timestamp(now())) if fresh else ""
    ref = plan.saved.ref
    stays = f"{ref} stays as you edited it. To take its source: co knowledge refresh {ref}"
    told = [kept_text(book, plan), *found.document.remarks, stays if edited else "", problem]
    return "\n".join(filter(None, told))
