"""co knowledge protect, pin and sensitive, and what takes these marks off again."""

import click

from co_cli.cli.options import act_on, as_json, in_user, on_ref, open_here
from co_cli.cli.output import tell
from co_cli.results import note_json
from co_cli.verbs import MARKS


def _command(name: str) -> click.Command:
    mark = MARKS[name]

    @click.command(name, help=mark.help)
    @on_ref
    @in_user
    @as_json
    def command(ref: str, in_user: bool, as_json: bool) -> None:
        book, saved = act_on(open_here().shelf, ref, in_user, mark.act)
        tell(as_json, note_json(book, saved.note), f"✓ {mark.told(saved)}")

    return command


protect_command, unprotect_command = _command("protect"), _command("unprotect")
pin_command, unpin_command = _command("pin"), _command("unpin")
sensitive_command, unsensitive_command = _command("sensitive"), _command("unsensitive")
