"""Asking a person at the terminal."""

from collections.abc import Callable, Container
from typing import TypeVar

import click

from co_cli.chat import typeahead
from co_cli.cli.output import columns, notice, on_terminal, say, say_line, warn
from co_cli.errors import Ambiguous
from co_cli.knowledge.format.note import Note
from co_cli.knowledge.notebook import Notebook
from co_cli.knowledge.pages import Ref
from co_cli.knowledge.safety.escape import hanging
from co_cli.knowledge.shelf import Shelf

_T = TypeVar("_T")


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


def typed(question: str) -> str:
    """What a person types once the question is there; what came before it is told and dropped."""
    shown = "\n".join(hanging(question, columns(), keep=""))
    if early := " ".join(typeahead.set_aside().split()):
        warn(f"ignored, because it was typed before the question: {early}")
    return str(click.prompt(shown, default="", show_default=False)).strip()


def ask(question: str, answers: Container[str]) -> str:
    """One of these answers, typed after the question was there; asked until it is one."""
    while True:
        said = typed(question).lower()
        if said in answers:
            return said
        notice(f"{said!r} is not one of the answers.")


def confirm(question: str, yes: bool, *, quiet: bool = False, default: bool = False) -> bool:
    """Ask a person; with nobody there the answer is no, unless it was given beforehand."""
    if yes or quiet or not on_terminal():
        return yes
    said = ask(f"{question} [{'Y/n' if default else 'y/N'}]", ("y", "yes", "n", "no", ""))
    return said[0] == "y" if said else default
