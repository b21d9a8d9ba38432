"""What every command needs: the notebooks from here, how to ask, how to name a note."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Container, Iterable
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import click

from co_cli import config, paths, rules, trust
from co_cli.chat import typeahead
from co_cli.cli.output import columns, notice, on_terminal, say, say_line
from co_cli.errors import Ambiguous, CoError, SettingsError
from co_cli.knowledge.format.note import Note, now, timestamp
from co_cli.knowledge.reader import Reader
from co_cli.knowledge.reader import Ref as NoteRef
from co_cli.knowledge.safety.escape import hanging, visible
from co_cli.knowledge.shelf import Book, Shelf
from co_cli.knowledge.store import disk
from co_cli.results import aside_text
from co_cli.trust.foreign import Origins

if TYPE_CHECKING:
    import click.shell_completion

    from co_cli.deps import CoDeps

_REF = r"#?g?\d{1,9}(-[a-z0-9-]+)?(\.md)?|a:.+"
_MAX_INPUT = 1024 * 1024
_T = TypeVar("_T")

as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON for a program.")
in_user = click.option("-g", "--global", "in_user", is_flag=True, help="Use your own notebook.")
assume_yes = click.option("-y", "--yes", is_flag=True, help="Do not ask.")


class Desk(NamedTuple, Generic[Book]):
    """The shelf from here, how far the folder is trusted, and the person's own settings."""

    project: str
    shelf: Shelf[Book]
    trust: trust.TrustStatus
    settings: config.Settings
    trouble: SettingsError | None = None

    def book(self, in_user: bool) -> Book:
        """The notebook a command acts on."""
        return self.shelf.user if in_user else self.shelf.project

    def deps(self) -> CoDeps:
        """What a session's tools are given."""
        from co_cli.deps import CoDeps

        project, user = self.shelf.books()
        return CoDeps(
            *project.policy, project=self.project, how=project.how, own=user.policy, gated=True,
            answer_seconds=self.settings.answer_seconds,
        )  # fmt: skip

    def new_notes(self) -> list[Note]:
        """What git brought into a folder that is known, and that nobody here agreed to yet."""
        return Origins(self.project).new() if self.trust.known else []

    def untrusted(self, notes: Iterable[Note]) -> set[str]:
        """The paths of those of the project's notes that no model is shown."""
        found = list(notes)
        own = [] if self.trust.foreign else self.shelf.project.own(found)
        return {note.path for note in found} - {note.path for note in own}

    def claim(self, fresh: bool) -> None:
        """Remember that this folder's knowledge was begun here, by Co, on this machine."""
        if fresh and (problem := trust.begun(self.project, timestamp(now()))):
            notice(f"co: {problem}")

    @property
    def is_fresh(self) -> bool:
        """Whether the project has nothing of Co's yet."""
        return trust.untouched(self.project)


def open_desk(kind: type[Book], *, lenient: bool = False) -> Desk[Book]:
    """Everything visible from the working folder, resolved now; `kind` is Reader or Notebook.

    With `lenient`, settings that cannot be used are reported by the caller and not obeyed.
    """
    project = paths.project_folder()
    status = trust.status(project)
    trouble = None
    try:
        here, own = rules.in_force(status)
    except SettingsError as error:
        if not lenient:
            raise
        here = own = rules.Rules(config.Settings())
        trouble = error
    for warning in here.settings.warnings:
        notice(f"co: {warning}")
    project_book = kind(
        paths.knowledge_folder(project),
        policy=here.policy,
        how=here.how,
        origins=Origins(project),
    )
    user_book = kind(paths.user_knowledge(), scope="user", policy=own.policy, how=own.how)
    shelf = Shelf(project_book, user_book)
    if context := click.get_current_context(silent=True):  # there is none while a name is completed
        context.call_on_close(lambda: _tell_aside(shelf))
    return Desk(project, shelf, status, own.settings, trouble)


def _tell_aside(shelf: Shelf[Book]) -> None:
    for line in (line for book in shelf.books() for line in aside_text(book)):
        notice(f"co: {line}")


def first_day(text: str, today: str, option: str) -> str:
    """The day a text names: 2026-02-09, a month or year, or so long ago: 30d, 2w, 6m, 1y."""
    if match := re.fullmatch(r"(\d{1,4})([dwmy])", text.strip().lower()):
        days = int(match[1]) * {"d": 1, "w": 7, "m": 30, "y": 365}[match[2]]
        return (date.fromisoformat(today) - timedelta(days=min(days, 700_000))).isoformat()
    if text.strip() and not re.fullmatch(r"\d{4}(-\d\d(-\d\d)?)?", text.strip()):
        raise click.BadParameter("use 2026-02-09, 2026-02, 2026 or 30d", param_hint=option)
    return text.strip()


def last_day(text: str, today: str, option: str) -> str:
    """The same for the end of a span: a month or year ends with its last day."""
    day = first_day(text, today, option)
    return day and day + "-99"[: 10 - len(day)] * (len(day) < 10)


def at_user(ref: str, in_user: bool) -> str:
    """A reference as it is meant with -g: `1` and `#1` are then the user's `g1`."""
    text = ref.strip().lstrip("#")
    return "g" + text if in_user and not text.startswith("g") else text


def is_ref(text: str) -> bool:
    """Whether this names a note rather than describing it."""
    return re.fullmatch(_REF, text.strip()) is not None


def choosing(
    shelf: Shelf[Book], ref: str, act: Callable[[Book, NoteRef], _T], in_user: bool = False
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
        picked = answer("Which one", [str(number + 1) for number in range(len(notes))])
        return act(book, notes[int(picked) - 1])


def typed(question: str) -> str:
    """What a person types once the question is there; what came before it is told and dropped."""
    shown = "\n".join(hanging(question, columns(), keep=""))
    if early := " ".join(typeahead.set_aside().split()):
        notice(f"co: typed before the question, so this is no answer to it: {early}")
    return str(click.prompt(shown, default="", show_default=False)).strip()


def answer(question: str, answers: Container[str]) -> str:
    """One of these answers, typed after the question was there; asked until it is one."""
    while True:
        said = typed(question).lower()
        if said in answers:
            return said
        notice(f"{said!r} is none of the answers.")


def confirm(question: str, yes: bool, *, quiet: bool = False, default: bool = False) -> bool:
    """Ask a person; with nobody there the answer is no, unless it was given beforehand."""
    if yes or quiet or not on_terminal():
        return yes
    said = answer(f"{question} [{'Y/n' if default else 'y/N'}]", ("y", "yes", "n", "no", ""))
    return said[0] == "y" if said else default


def ask(question: str, choices: str) -> str:
    """One of these letters."""
    return answer(question, list(choices))


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
    return os.path.join(paths.state_folder(), "drafts")


def draft_name(book: Reader, name: str) -> str:
    """How drafts of the note in this file begin: a mark of the file, for a number may be shared."""
    return f"{(disk.digest(os.fsencode(os.path.join(book.memories, name))) or '')[:16]}-"


def drop_drafts(book: Reader, names: Iterable[str]) -> None:
    """Remove what edits of these notes left behind."""
    begin = tuple(draft_name(book, name) for name in names)
    for draft in disk.list_names(drafts_folder()) if begin else ():
        if draft.startswith(begin):
            os.unlink(os.path.join(drafts_folder(), draft))


class Ref(click.ParamType[str]):
    """A note's reference, completed from the notes there are, or from the archive."""

    name = "ref"

    def __init__(self, *, archived: bool = False) -> None:
        self.archived = archived

    def _notes(self, book: Reader) -> list[Note]:
        return [note for _, note in book.archived()] if self.archived else book.notes()

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[click.shell_completion.CompletionItem]:
        """References that start like this, with what the notes say."""
        try:
            books = open_desk(Reader).shelf.books()
            found = [(book.ref(n), n.summary) for book in books for n in self._notes(book)]
        except CoError:
            return []
        return [  # click has loaded this module to ask us
            click.shell_completion.CompletionItem(ref, help=visible(text, keep=""))
            for ref, text in found
            if ref.startswith(incomplete)
        ]


def ref_argument(**options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """An argument that takes a note's reference."""
    many = options.get("nargs") == -1
    metavar = "REF REF..." if many else "REF"
    return click.argument("refs" if many else "ref", metavar=metavar, type=Ref(), **options)
