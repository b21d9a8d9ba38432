"""co knowledge edit: a memory in the person's own editor, and the drafts that this leaves."""

import os
import shlex
import subprocess
from collections.abc import Iterable

import click

from co_cli import paths
from co_cli.cli.options import act_on, as_json, in_user, on_ref, open_here
from co_cli.cli.output import confirm, notice, on_terminal, say, to_json, warn
from co_cli.errors import CoError, FormatError, MovedOn
from co_cli.knowledge import Note, Notebook
from co_cli.knowledge.store import disk
from co_cli.results import note_json, undo_hint


@click.command("edit")
@on_ref
@in_user
@as_json
def edit_command(ref: str, in_user: bool, as_json: bool) -> None:
    """Edit a memory in $VISUAL or $EDITOR; the result is checked before it is saved."""
    book, note = act_on(open_here().shelf, ref, in_user, Notebook.find)
    draft = f"{_draft_path(book, note.name)}{os.getpid()}.md"
    try:
        with disk.in_words():
            disk.make_folder(os.path.dirname(draft), 0o700)
            disk.put(draft, note.raw)
            kept = _edit(book, note, draft)
    finally:
        if disk.read_if_any(draft) == note.raw:
            os.unlink(draft)
    if as_json:
        to_json(note_json(book, kept))
    elif kept is note:
        notice("Nothing changed.")
    else:
        say(f"✓ Edited memory {book.ref(note)}. Undo: {undo_hint(book)}")


def _edit(book: Notebook, note: Note, draft: str) -> Note:
    """Let the person edit until it can be kept or they give up; the note as it is then."""
    kept = f"Your text is in {draft}"
    while True:
        _run_editor(draft)
        data = disk.read_if_any(draft)
        if data is None:
            raise CoError("the editor removed the draft", hint="The memory is unchanged.")
        if data == note.raw or not data.strip():
            disk.put(draft, note.raw)  # so that it is not kept
            return note
        try:
            changed = book.replace(note, data).note
            os.unlink(draft)
            return changed
        except FormatError as error:
            cannot = f"the edited text cannot be saved: {error}"
            if not on_terminal():
                raise CoError(cannot, hint=kept) from error
            warn(cannot)
            if not confirm("Edit it again?", yes=False, default=True):
                raise CoError("the memory is unchanged", hint=kept) from error
        except MovedOn as error:
            moved = f"memory {book.ref(note)} changed while you were editing it"
            raise CoError(moved, hint=f"Nothing was overwritten. {kept}") from error


def _run_editor(path: str) -> None:
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    which = "Set EDITOR to the one you use."
    if not editor and not on_terminal():
        raise CoError("there is no editor to start", hint=which)
    editor = editor or "vi"
    try:
        code = subprocess.run([*shlex.split(editor), path], check=False).returncode
    except (OSError, ValueError) as error:
        raise CoError(f"cannot start the editor {editor!r}", hint=which) from error
    if code:
        hint = f"The memory is unchanged. Any changes you made are in {path}"
        raise CoError(f"the editor exited with code {code}", hint=hint)


def _draft_path(book: Notebook, name: str) -> str:
    """How the paths of drafts of this file begin: a mark of the file, as numbers may be shared."""
    mark = disk.digest(os.fsencode(os.path.join(book.memories, name))) or ""
    return os.path.join(paths.state_folder(), "drafts", f"{mark[:16]}-")


def drop_drafts(book: Notebook, names: Iterable[str]) -> None:
    """Remove what edits of these notes left behind."""
    for folder, begin in (os.path.split(_draft_path(book, name)) for name in names):
        for draft in disk.list_names(folder):
            if draft.startswith(begin):
                os.unlink(os.path.join(folder, draft))
