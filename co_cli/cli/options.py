"""What commands take: options, references to notes, and the workspace they run in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeVar

import click

from co_cli import languages, paths, trust
from co_cli.cli.output import ask, on_terminal, say, say_line, warn
from co_cli.errors import Ambiguous, CoError
from co_cli.knowledge import Note, Notebook, Shelf
from co_cli.knowledge.format.note import now, timestamp
from co_cli.knowledge.pages import Ref
from co_cli.results import aside_text
from co_cli.verbs import refs, tags
from co_cli.workspace import Workspace

if TYPE_CHECKING:
    import click.shell_completion

_T = TypeVar("_T")

as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
in_user = click.option(
    "-g", "--global", "in_user", is_flag=True, help="Use your own notebook, not the project's."
)


in_language = click.option(
    "--language",
    default="",
    metavar="NAME",
    help="Language it applies to (default: the one this project uses).",
)


def in_scope(*scopes: str) -> Callable[[Any], Any]:
    """The option that says where a note is told: here, with a language, or everywhere."""
    return click.option("--scope", type=click.Choice(scopes), help="Where it applies.")


def chosen_language(workspace: Workspace, scope: str | None, name: str) -> str:
    """The language that a note is to be for; empty for none."""
    if name and scope not in (None, "language"):
        raise click.UsageError(f"--language does not go with --scope {scope}")
    return languages.named(name, workspace.languages) if name or scope == "language" else ""


allow_private = click.option(
    "--allow-private",
    is_flag=True,
    help="Also fetch from the given hosts that are not on the public internet, on any port.",
)
assume_yes = click.option("-y", "--yes", is_flag=True, help="Skip the confirmation prompt.")


def open_here(*, lenient: bool = False) -> Workspace:
    """What is visible from the working folder now."""
    workspace = Workspace(lenient=lenient)
    warn(*workspace.settings.warnings)
    if context := click.get_current_context(silent=True):  # there is none while a name is completed
        context.call_on_close(lambda: warn(*aside_text(*workspace.shelf)))
        _notice_old(context, workspace)
    return workspace


def _notice_old(context: click.Context, workspace: Workspace) -> None:
    """That the JSON layout of the first versions is here, once in a command."""
    if context.info_name == "import" or not (old := workspace.old_files()):
        return
    if context.meta.setdefault(__name__, workspace) is workspace:
        where = f'"{workspace.project}"' if " " in workspace.project else workspace.project
        hint = f"To import them: co knowledge import {where}"
        warn(f"memories of an older Co are here: {paths.short(old[0])}", hint=hint)


@contextmanager
def claiming(project: str, book: Notebook) -> Iterator[None]:
    """Trust a project's folder if Co's first file in it is written in here."""
    fresh = book.scope == "project" and trust.untouched(project)
    yield
    if fresh and not trust.untouched(project):
        warn(trust.claim(project, timestamp(now())))


_Items = list["click.shell_completion.CompletionItem"]
_Complete = Callable[[click.Context, click.Parameter, str], _Items]


def completing(names: Callable[[str], Iterable[tuple[str, str]]]) -> _Complete:
    """Completion by names, with a word on each; they are given the command's own name."""

    def complete(ctx: click.Context, _param: click.Parameter, start: str) -> _Items:
        item = click.shell_completion.CompletionItem  # click has loaded this module to ask us
        with suppress(CoError):
            found = names(ctx.info_name or "")
            return [item(name, help=text) for name, text in found if name.startswith(start)]
        return []

    return complete


def _refs(command: str) -> Iterable[tuple[str, str]]:
    shelf = open_here().shelf
    return refs(shelf, archived=command == "restore", drafts=command == "inbox")


complete_ref = completing(_refs)
complete_tag = completing(lambda _: tags(open_here().shelf))
on_ref = click.argument("ref", metavar="REF", shell_complete=complete_ref)


def act_on(
    shelf: Shelf, ref: str, in_user: bool, act: Callable[[Notebook, Ref], _T]
) -> tuple[Notebook, _T]:
    """Act on the note a person means; when two answer to the name, ask which."""
    book, text = shelf.place(ref, in_user=in_user)
    try:
        return book, act(book, text)
    except Ambiguous as error:
        notes = [note for note in error.choices if isinstance(note, Note)]
        if not on_terminal() or not notes:
            raise
        say(f"{error}:")
        for number, note in enumerate(notes, 1):
            say_line(f"  {number}  {book.prefix}{note.name[:-3]}  {note.summary}")
        picked = ask("Which one", [str(number + 1) for number in range(len(notes))])
        return book, act(book, notes[int(picked) - 1])
