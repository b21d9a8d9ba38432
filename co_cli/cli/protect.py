"""co knowledge protect and unprotect."""

from __future__ import annotations

import click

from co_cli.cli.here import open_here
from co_cli.cli.options import as_json, in_user, ref_argument
from co_cli.cli.output import tell
from co_cli.cli.questions import act_on
from co_cli.results import note_json


@click.command("protect")
@ref_argument()
@in_user
@as_json
def protect_command(ref: str, in_user: bool, as_json: bool) -> None:
    """Keep a memory from being forgotten or decayed."""
    _protect(ref, in_user, as_json, on=True)


@click.command("unprotect")
@ref_argument()
@in_user
@as_json
def unprotect_command(ref: str, in_user: bool, as_json: bool) -> None:
    """Let a memory be forgotten and decayed again."""
    _protect(ref, in_user, as_json, on=False)


def _protect(ref: str, in_user: bool, as_json: bool, *, on: bool) -> None:
    shelf = open_here().shelf
    book, saved = act_on(shelf, ref, in_user, lambda book, name: book.protect(name, on=on))
    state = "protected" if on else "no longer protected"
    if saved.action == "unchanged":
        state = "already protected" if on else "not protected"
    text = f"✓ Memory {saved.ref} is {state}: {saved.note.summary}"
    tell(as_json, note_json(book, saved.note), text)
