"""co knowledge protect and unprotect."""

import click

from co_cli.cli.options import act_on, as_json, in_user, on_ref, open_here
from co_cli.cli.output import tell
from co_cli.results import note_json


def _command(name: str, on: bool, help: str) -> click.Command:
    @click.command(name, help=help)
    @on_ref
    @in_user
    @as_json
    def command(ref: str, in_user: bool, as_json: bool) -> None:
        shelf = open_here().shelf
        book, saved = act_on(shelf, ref, in_user, lambda book, name: book.protect(name, on=on))
        state = "protected" if on else "no longer protected"
        if saved.action == "unchanged":
            state = "already protected" if on else "not protected"
        text = f"✓ Memory {saved.ref} is {state}: {saved.note.summary}"
        tell(as_json, note_json(book, saved.note), text)

    return command


protect_command = _command("protect", True, "Keep a memory from being forgotten or decayed.")
unprotect_command = _command("unprotect", False, "Let a memory be forgotten and decayed again.")
