"""co knowledge protect and unprotect."""

from __future__ import annotations

import click

from co_cli.cli.here import open_here
from co_cli.cli.options import as_json, in_user, ref_argument
from co_cli.cli.output import say, to_json
from co_cli.cli.questions import choosing
from co_cli.knowledge.notebook import Notebook
from co_cli.results import note_json


@click.command("protect")
@ref_argument()
@in_user
@as_json
def protect_command(ref: str, in_user: bool, as_json: bool) -> None:
    """Keep a memory from being forgotten or decayed."""
    _protection(ref, True, in_user, as_json)


@click.command("unprotect")
@ref_argument()
@in_user
@as_json
def unprotect_command(ref: str, in_user: bool, as_json: bool) -> None:
    """Let a memory be forgotten and decayed again."""
    _protection(ref, False, in_user, as_json)


def _protection(ref: str, on: bool, in_user: bool, as_json: bool) -> None:
    shelf = open_here(Notebook).shelf
    act = lambda book, name: (book, book.protect(name, on=on))  # noqa: E731
    book, saved = choosing(shelf, ref, act, in_user)
    state = "protected" if on else "no longer protected"
    if saved.action == "unchanged":
        state = "already protected" if on else "not protected"
    if as_json:
        to_json(note_json(book, saved.note))
    else:
        say(f"✓ Memory {saved.ref} is {state}: {saved.note.summary}")
