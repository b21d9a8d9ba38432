"""A note in the person's own editor, and the drafts that this leaves."""

import os
import shlex
import subprocess
from collections.abc import Iterable

from co_cli import paths
from co_cli.errors import CoError, FormatError, MovedOn
from co_cli.knowledge import Note, Notebook
from co_cli.knowledge.store import disk


class Editing:
    """A draft of a note, edited until it can be kept or the person gives up."""

    def __init__(self, book: Notebook, note: Note) -> None:
        self.book, self.note = book, note
        book.store.refuse(note.file)
        self.draft = f"{_draft_path(book, note.file)}{os.getpid()}.md"
        with disk.in_words():
            disk.make_folder(os.path.dirname(self.draft), 0o700)
            disk.put(self.draft, note.raw)

    @property
    def kept(self) -> str:
        """Where the text is that the note did not become."""
        return f"Your text is in {self.draft}"

    def run(self, usual: str = "") -> Note:
        """Let the person edit once; the note as it is then, FormatError if it cannot be kept.

        `usual` is the editor where the person set none.
        """
        try:
            with disk.in_words():
                _run_editor(self.draft, usual)
                return self._keep()
        finally:
            if disk.read_if_any(self.draft) == self.note.raw:
                os.unlink(self.draft)

    def _keep(self) -> Note:
        data = disk.read_if_any(self.draft)
        if data is None:
            hint = f"The {self.note.kind} is unchanged."
            raise CoError("the editor removed the draft", hint=hint)
        if data == self.note.raw or not data.strip():
            disk.put(self.draft, self.note.raw)  # so that it is not kept
            return self.note
        try:
            changed = self.book.replace(self.note, data).note
        except MovedOn as error:
            name = f"{self.note.kind} {self.book.ref(self.note)}"
            moved = f"{name} changed while you were editing it"
            raise CoError(moved, hint=f"Nothing was overwritten. {self.kept}") from error
        except FormatError as error:
            raise FormatError(f"the edited text cannot be saved: {error}") from error
        os.unlink(self.draft)
        return changed


def _run_editor(path: str, usual: str) -> None:
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or usual
    which = "Set EDITOR to the one you use."
    if not editor:
        raise CoError("there is no editor to start", hint=which)
    try:
        code = subprocess.run([*shlex.split(editor), path], check=False).returncode
    except (OSError, ValueError) as error:
        raise CoError(f"cannot start the editor {editor!r}", hint=which) from error
    if code:
        hint = f"Nothing was changed. What you wrote is in {path}"
        raise CoError(f"the editor exited with code {code}", hint=hint)


def _draft_path(book: Notebook, file: str) -> str:
    """How the paths of drafts of this file begin: a mark of the file, as numbers may be shared."""
    mark = disk.digest(os.fsencode(book.store.locate(file))) or ""
    return os.path.join(paths.state_folder(), "drafts", f"{mark[:16]}-")


def drop_drafts(book: Notebook, files: Iterable[str]) -> None:
    """Remove what edits of these notes left behind."""
    for folder, begin in (os.path.split(_draft_path(book, file)) for file in files):
        for draft in disk.list_names(folder):
            if draft.startswith(begin):
                os.unlink(os.path.join(folder, draft))
