"""What every command needs: the notebooks from here, how to ask, how to name a note."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from co_cli import config, trust
from co_cli.display import notice, on_terminal, say, say_line
from co_cli.errors import Ambiguous, CoError, SettingsError
from co_cli.knowledge import disk, folders
from co_cli.knowledge.lifecycle import Policy
from co_cli.knowledge.note import Note, now, timestamp
from co_cli.knowledge.notebook import Notebook
from co_cli.knowledge.reader import Ref as NoteRef
from co_cli.knowledge.shelf import Shelf
from co_cli.knowledge.visible import visible

_REF = re.compile(r"#?g?\d{1,9}(-[a-z0-9-]+)?(\.md)?\Z|a:.+\Z")
_MAX_INPUT = 1024 * 1024
_T = TypeVar("_T")

as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON for a program.")
in_user = click.option("-g", "--global", "in_user", is_flag=True, help="Use your own notebook.")
assume_yes = click.option("-y", "--yes", is_flag=True, help="Do not ask.")


@dataclass(slots=True)
class Desk:
    """The shelf from here, how far the folder is trusted, and what is wrong with the settings."""

    project: Path
    shelf: Shelf
    trust: trust.TrustStatus
    trouble: SettingsError | None = None

    def book(self, in_user: bool) -> Notebook:
        """The notebook a command acts on."""
        return self.shelf.user if in_user else self.shelf.project

    def claim(self, fresh: bool) -> None:
        """Remember that this folder's knowledge was begun here, by Co, on this machine."""
        if fresh:
            try:
                trust.trust(self.project, timestamp(now()), [])
            except CoError as error:
                notice(f"co: saved, but this folder could not be marked as trusted: {error}")

    @property
    def is_fresh(self) -> bool:
        """Whether the project has nothing of Co's yet."""
        return not os.path.lexists(self.project / folders.PROJECT_MARK)


def open_desk(*, lenient: bool = False) -> Desk:
    """Everything visible from the working folder, resolved now.

    With `lenient`, settings that cannot be used are reported by the caller and not obeyed.
    """
    project = folders.project_folder()
    status = trust.status(project)
    trouble = None
    try:
        settings = config.load_settings(use_project=folders.SETTINGS in status.usable)
        own = config.load_settings(use_project=False)
    except SettingsError as error:
        if not lenient:
            raise
        settings = own = config.Settings()
        trouble = error
    for warning in settings.warnings:
        notice(f"co: {warning}")
    shelf = Shelf(
        Notebook(folders.knowledge_folder(project), policy=Policy.of(settings)),
        Notebook(folders.user_knowledge(), scope="user", policy=Policy.of(own)),
    )
    return Desk(project, shelf, status, trouble)


def at_user(ref: str, in_user: bool) -> str:
    """A reference as it is meant with -g: `1` and `#1` are then the user's `g1`."""
    text = ref.strip().lstrip("#")
    return "g" + text if in_user and not text.startswith("g") else text


def is_ref(text: str) -> bool:
    """Whether this names a note rather than describing it."""
    return _REF.match(text.strip()) is not None


def choosing(
    shelf: Shelf, ref: str, act: Callable[[Notebook, NoteRef], _T], in_user: bool = False
) -> _T:
    """Act on the note a person means; when two answer to the name, ask which."""
    book, text = shelf.place(at_user(ref, in_user))
    try:
        return act(book, text)
    except Ambiguous as error:
        notes = [note for note in error.choices if isinstance(note, Note)]
        if not on_terminal() or not notes:
            raise
        say(f"{error}:")
        for number, note in enumerate(notes, 1):
            say_line(f"  {number}  {book.prefix}{note.name[:-3]}  {note.summary}")
        picked = click.prompt("Which one", type=click.IntRange(1, len(notes)))
        return act(book, notes[picked - 1])


def confirm(question: str, yes: bool, *, quiet: bool = False) -> bool:
    """Ask a person; with nobody there the answer is no, unless it was given beforehand."""
    return yes or (not quiet and on_terminal() and click.confirm(visible(question, keep="")))


def ask(question: str, choices: str) -> str:
    """One of these letters."""
    return str(click.prompt(question, type=click.Choice(list(choices)), show_choices=False))


def read_text(words: tuple[str, ...]) -> str:
    """The text a command was given: its words, or standard input for `-` or a pipe."""
    if words and words != ("-",):
        return " ".join(words)
    if not words and sys.stdin.isatty():
        raise click.UsageError('What should Co remember? For example: co learn "I prefer pytest"')
    data = sys.stdin.buffer.read(_MAX_INPUT)
    if len(data) == _MAX_INPUT:
        raise CoError("standard input is too long for a memory", hint="Split it into several.")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise CoError("standard input is not UTF-8 text") from error


def drafts_folder() -> str:
    """Where a note lies while a person edits it."""
    return str(folders.state_folder() / "drafts")


def draft_name(book: Notebook, number: int) -> str:
    """How drafts of this note begin: the notebook's mark, then the number."""
    return f"{(disk.digest(os.fsencode(book.root)) or '')[:12]}-{number}-"


def drop_drafts(book: Notebook, number: int) -> None:
    """Remove what edits of this note left behind."""
    for name in disk.list_names(drafts_folder()):
        if name.startswith(draft_name(book, number)):
            os.unlink(os.path.join(drafts_folder(), name))


class Ref(click.ParamType[str]):
    """A note's reference, completed from the notes there are, or from the archive."""

    name = "ref"

    def __init__(self, *, archived: bool = False) -> None:
        self.archived = archived

    def _notes(self, book: Notebook) -> list[Note]:
        return [note for _, note in book.archived()] if self.archived else book.notes()

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """References that start like this, with what the notes say."""
        try:
            books = open_desk().shelf.books()
            found = [(book.ref(n), n.summary) for book in books for n in self._notes(book)]
        except CoError:
            return []
        return [
            CompletionItem(ref, help=visible(text, keep=""))
            for ref, text in found
            if ref.startswith(incomplete)
        ]


def ref_argument(**options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """An argument that takes a note's reference."""
    many = options.get("nargs") == -1
    metavar = "REF REF..." if many else "REF"
    return click.argument("refs" if many else "ref", metavar=metavar, type=Ref(), **options)
