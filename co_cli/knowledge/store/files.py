"""A planned mutation and the journal that makes it durable, whole and undoable.

A Change is planned without the lock. Committing it holds the lock, checks that every file is
still what the plan read, writes an intent line, moves previous bytes into the archive, applies
the edits, and writes a done line. A commit cut short is finished or rolled back by the next one.
The journal knows files and bytes; what a note means is decided elsewhere.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from threading import get_ident
from typing import Any, NamedTuple

from co_cli import paths as folders
from co_cli.errors import CoError, FormatError, MovedOn
from co_cli.knowledge.store import disk, exchange
from co_cli.knowledge.store.journal import Entry, JournalFile, Linked

FOLDERS = ("memories", "articles", "inbox")


class Edit(NamedTuple):
    """One file of a change: its bytes before and after; None means no file."""

    path: str
    before: bytes | None
    after: bytes | None


class Change(NamedTuple):
    """What will happen, all of it or nothing."""

    op: str
    actor: str
    at: str
    basis: int
    edits: tuple[Edit, ...]
    high: int = 0
    undoes: int = 0
    call: str = ""
    over: bool | None = None


class Journal(JournalFile):
    """The record of every change to one knowledge folder, and the only hand that edits it."""

    def __init__(self, root: str) -> None:
        super().__init__(root)
        self._holder = 0

    @contextmanager
    def locked(self, patience: float | None = None) -> Iterator[None]:
        """Hold the notebook's lock; entering again in the thread that holds it is free."""
        if self._holder == get_ident():
            yield
            return
        self._prepare()
        with disk.locked(os.path.join(self.root, ".lock"), patience):
            self._holder = get_ident()
            try:
                self._ignore()
                yield
            finally:
                self._holder = 0

    def _prepare(self) -> None:
        disk.make_folder(self.root)
        for name in ("memories", "archive"):
            folder = os.path.join(self.root, name)
            self._refuse_links(folder)
            disk.make_folder(folder, 0o700 if name == "archive" else 0o777)

    def _ignore(self) -> None:
        """Keep what is derived or private out of git."""
        ignore = os.path.join(self.root, ".gitignore")
        if not os.path.lexists(ignore):
            with suppress(FileExistsError):
                disk.create(ignore, folders.GITIGNORE)

    def commit(self, change: Change) -> int:
        """Carry the change out and return its number; MovedOn when the plan is out of date."""
        try:
            with self.locked():
                self.recover()
                return self._commit(change)
        except OSError as error:
            raise disk.trouble(error) from error

    def _commit(self, change: Change) -> int:
        tail = self.tail()
        if tail.n != change.basis:
            raise MovedOn("the notebook changed meanwhile", hint="Nothing was changed; try again.")
        for edit in change.edits:
            self._expect(edit.path, disk.digest(edit.before))
        entry = self.begin(change)
        try:
            self._apply(entry.n, change.edits)
            self.finish(entry, "done")
        except BaseException:
            with suppress(OSError, CoError):
                if self.tail().state == "intent":
                    self.sweep(entry)
                    self._roll_back(entry)
            raise
        return entry.n

    def begin(self, change: Change, more: Sequence[dict[str, Any]] = ()) -> Entry:
        """Write down durably what is about to be done; only while holding the lock.

        `more` are files that the change is about and does not edit. The folder for previous bytes
        comes first and is new: what lies in an intent's folder is the intent's.
        """
        tail = self.tail()
        entry = Entry(
            self.next_number(tail.n), "intent", max(tail.high, change.high), change.op,
            change.actor, change.at, change.undoes, change.call,
            tail.over if change.over is None else change.over,
            [*map(_file, change.edits), *more],
        )  # fmt: skip
        if any(edit.before is not None for edit in change.edits):
            os.mkdir(self.kept_folder(entry.n))
            disk.sync_folder(self.archive)
        self.append(entry)
        return entry

    def _expect(self, path: str, expected: str | None) -> None:
        try:
            found = disk.digest(self.read(path))
        except FormatError as error:
            raise MovedOn(f"{path} {error}") from error
        if found != expected:
            raise MovedOn(f"{path} changed since it was read")

    def _apply(self, n: int, edits: tuple[Edit, ...]) -> None:
        """New content changes places with the old, which the archive then holds; removals last."""
        old = [edit for edit in edits if edit.before is not None]
        kept_folders = {os.path.dirname(self.kept_path(n, edit.path)) for edit in old}
        for folder in kept_folders:
            disk.make_folder(folder)
        for edit in sorted(edits, key=lambda edit: edit.after is None):
            path, kept = self._full(edit.path), self.kept_path(n, edit.path)
            if edit.before is None and edit.after is not None:
                self._create(path, edit.after)
                continue
            try:
                self._move(path, kept, edit)
            except FileNotFoundError:
                raise MovedOn(f"{edit.path} is gone") from None
        # The archive first: a power cut between the two must find a removed file somewhere.
        for folder in (*kept_folders, *{os.path.dirname(self._full(edit.path)) for edit in edits}):
            disk.sync_folder(folder)
        for edit in old:  # an editor that had the file open may have written to it since
            kept = self.kept_path(n, edit.path)
            if exchange.settled(kept) == disk.digest(edit.before):
                continue
            if disk.digest_of(kept) != disk.digest(edit.before):
                raise MovedOn(f"{edit.path} changed while it was being written")
            self.aside.append(kept)

    def _move(self, path: str, kept: str, edit: Edit) -> None:
        before = disk.digest(edit.before)
        if edit.after is None:
            os.rename(path, kept)
        else:
            exchange.swap(path, edit.after, kept, before)
        if disk.digest_of(kept) != before:  # somebody edited it a moment ago
            raise MovedOn(f"{edit.path} changed while it was being written")

    def _create(self, path: str, data: bytes) -> None:
        disk.make_folder(os.path.dirname(path))
        try:
            disk.create(path, data)
        except FileExistsError:
            raise MovedOn(f"{os.path.basename(path)} appeared meanwhile") from None

    def folders(self) -> list[str]:
        """Where a writer's temporary files can be."""
        return [self.root, self.archive, *(self._full(name) for name in FOLDERS)]

    def recover(self, *, tidy: bool = False) -> None:
        """Finish or roll back a change that was cut short; only while holding the lock.

        Temporary files are looked for where a change was cut short, and everywhere with `tidy`.
        """
        entry = self.tail()
        cut_short = entry.state == "intent"
        disk.sweep_temps(self.folders() if tidy else [self.root])
        if not cut_short:
            return
        self.sweep(entry)
        here = [file for file in entry.files if not self._is_elsewhere(self._full(file["path"]))]
        whole = all(disk.digest_of(self._full(file["path"])) == file["after"] for file in here)
        if entry.op == "purge":
            self.finish(entry, "cut short")
        elif whole and all(self._holds(entry.n, file) for file in here):
            self.finish(entry, "done")
        else:
            self._roll_back(entry)

    def sweep(self, entry: Entry) -> None:
        """Remove the temporary files of a change that was cut short."""
        folders = {os.path.dirname(self.kept_path(entry.n, file["path"])) for file in entry.files}
        if entry.op == "purge":  # the only one that rewrites what is archived
            names = disk.list_names(self.archive)
            folders = {os.path.join(self.archive, name, "memories") for name in names}
        disk.sweep_temps([*self.folders(), *folders])

    def _holds(self, n: int, file: dict[str, Any]) -> bool:
        """Whether the archive has what the plan had read, and not an edit made a moment later."""
        kept = self.kept_path(n, file["path"])
        if file["before"] is None or not self._is_kept(kept):
            return file["before"] is None
        return bool(disk.digest_of(kept) == file["before"])

    def _roll_back(self, entry: Entry) -> None:
        """Bring back what was there, except where somebody has edited a file since."""
        for file in reversed(entry.files):
            path, kept = self._full(file["path"]), self.kept_path(entry.n, file["path"])
            if self._is_elsewhere(path):
                continue
            if file["before"] is None:
                if file["after"] is not None and disk.digest_of(path) == file["after"]:
                    os.unlink(path)
            elif self._is_kept(kept):
                self._put_back(path, kept, file)
        for folder in {os.path.dirname(self._full(file["path"])) for file in entry.files}:
            if os.path.isdir(folder):
                disk.sync_folder(folder)
        self.finish(entry, "rolled back")

    def _put_back(self, path: str, kept: str, file: dict[str, Any]) -> None:
        """What was there returns to its place; a version that cannot is told, and stays."""
        now, held = disk.digest_of(path), disk.digest_of(kept)
        if held in (now, file["after"]):
            exchange.drop(kept, held)
        elif now in (None, file["after"]):
            exchange.put_back(kept, path, file["after"])
        if disk.exists(kept):
            self.aside.append(kept)

    def _is_kept(self, kept: str) -> bool:
        """Whether the archive, and not something a link leads to, holds this file."""
        return not self._is_elsewhere(kept) and not disk.is_link(kept) and disk.exists(kept)

    def _is_elsewhere(self, path: str) -> bool:
        """Whether a link leads to this file, so that it is none of ours."""
        try:
            self._refuse_links(os.path.dirname(path))
        except Linked:
            return True
        return False


def _file(edit: Edit) -> dict[str, Any]:
    return {
        "path": edit.path,
        "before": disk.digest(edit.before),
        "after": disk.digest(edit.after),
    }
