"""co knowledge edit: a note in the person's own editor."""

from __future__ import annotations

import os
import shlex
import subprocess

import click

from co_cli.commands.shared import (
    choosing,
    open_desk,
    ref_argument,
)
from co_cli.display import notice, on_terminal, say
from co_cli.errors import CoError, FormatError, MovedOn
from co_cli.knowledge import disk, folders


@click.command("edit")
@ref_argument()
def edit_command(ref: str) -> None:
    """Edit a memory in $VISUAL or $EDITOR; what comes back is checked before it is kept."""
    desk = open_desk()
    book, note = choosing(desk.shelf, ref, lambda book, name: (book, book.find(name)))
    folder = str(folders.state_folder() / "drafts")
    disk.make_folder(folder, 0o700)
    draft = os.path.join(folder, f"{os.getpid()}-{note.name}")
    disk.put(draft, note.raw)
    while True:
        _run_editor(draft)
        data = disk.read_bytes(draft)
        if data == note.raw:
            os.unlink(draft)
            notice("Nothing changed.")
            return
        try:
            book.replace(note, data)
            os.unlink(draft)
            say(f"✓ Edited memory {book.ref(note)}. Undo: co knowledge undo")
            return
        except FormatError as error:
            notice(f"co: the edited text cannot be kept: {error}")
            if not (on_terminal() and click.confirm("Edit it again?", default=True)):
                raise CoError("memory unchanged", hint=f"Your text is in {draft}") from error
        except MovedOn as error:
            raise CoError(
                f"memory {book.ref(note)} was changed by someone else meanwhile",
                hint=f"Nothing was overwritten. Your text is in {draft}",
            ) from error


def _run_editor(path: str) -> None:
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    try:
        done = subprocess.run([*shlex.split(editor), path], check=False)
    except (OSError, ValueError) as error:
        raise CoError(
            f"cannot start the editor {editor!r}", hint="Set EDITOR to the one you use."
        ) from error
    if done.returncode:
        raise CoError(f"the editor ended with code {done.returncode}", hint=f"Draft: {path}")
