"""What changes a notebook's files on disk, so that a change is durable, whole and undoable.

A Change is planned without the lock. Committing it holds the lock, checks that every file is
still what the plan read, writes an intent line, moves previous bytes into the archive, applies
the edits, and writes a done line. A commit cut short is finished or rolled back by the next one.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from co_cli.errors import CoError, FormatError, MovedOn
from co_cli.knowledge.store import Change, Edit, Entry, disk, exchange, intent
from co_cli.knowledge.store.files import FolderStore, Linked
from co_cli.knowledge.store.journal import MAX_NUMBER

_FOLDERS = ("archive", "memories", "articles", "inbox")


class Writer:
    """The only hand that edits the files of a knowledge folder."""

    def __init__(self, store: FolderStore) -> None:
        self.store = store
        self.journal = store.journal

    def commit(self, change: Change) -> int:
        """Carry the change out and return its number; MovedOn when the plan is out of date."""
        try:
            with self.store.locked():
                self.recover()
                return self._commit(change)
        except OSError as error:
            raise disk.trouble(error) from error

    def _commit(self, change: Change) -> int:
        tail = self.store.tail()
        if tail.n != change.basis:
            raise MovedOn("the notebook changed meanwhile", hint="Nothing was changed; try again.")
        for edit in change.edits:
            self._expect(edit.path, disk.digest(edit.before))
        entry = self.begin(change)
        try:
            self._apply(entry.n, change.edits)
            self.journal.finish(entry, "done")
        except BaseException:
            with suppress(OSError, CoError):
                if self.store.tail().state == "intent":
                    self._sweep(entry)
                    self._roll_back(entry)
            raise
        return entry.n

    def begin(self, change: Change, more: Sequence[dict[str, Any]] = ()) -> Entry:
        """Write down durably what is about to be done; only while holding the lock.

        `more` are files that the change is about and does not edit. The folder for previous bytes
        comes first and is new: what lies in an intent's folder is the intent's.
        """
        tail = self.store.tail()
        entry = intent(change, tail, self._next_number(tail.n), more)
        if any(edit.before is not None for edit in change.edits):
            os.mkdir(self.store.kept_folder(entry.n))
            disk.sync_folder(self.store.archive)
        self.journal.append(entry)
        return entry

    def _next_number(self, n: int) -> int:
        """The number after `n`, unless the archive has it from a journal that was lost.

        Then, and when numbers end there, it is the first in the longest row of free ones.
        """
        if n + 1 < MAX_NUMBER and not disk.exists(self.store.kept_folder(n + 1)):
            return n + 1
        entries = (entry.n for entry in self.journal.entries())
        taken = sorted({0, *self.store.kept_numbers(), *entries})
        gaps = zip(taken, [*taken[1:], MAX_NUMBER], strict=True)
        return max(gaps, key=lambda gap: gap[1] - gap[0])[0] + 1

    def _expect(self, path: str, expected: str | None) -> None:
        try:
            found = disk.digest(self.store.read(path))
        except FormatError as error:
            raise MovedOn(f"{path} {error}") from error
        if found != expected:
            raise MovedOn(f"{path} changed since it was read")

    def _apply(self, n: int, edits: tuple[Edit, ...]) -> None:
        """New content changes places with the old, which the archive then holds; removals last."""
        old = [edit for edit in edits if edit.before is not None]
        kept_folders = {os.path.dirname(self.store.locate(edit.path, n)) for edit in old}
        for folder in kept_folders:
            disk.make_folder(folder)
        for edit in sorted(edits, key=lambda edit: edit.after is None):
            path, kept = self.store.locate(edit.path), self.store.locate(edit.path, n)
            if edit.before is None and edit.after is not None:
                self._create(path, edit.after)
                continue
            try:
                self._move(path, kept, edit)
            except FileNotFoundError:
                raise MovedOn(f"{edit.path} is gone") from None
        # The archive first: a power cut between the two must find a removed file somewhere.
        for folder in (
            *kept_folders,
            *{os.path.dirname(self.store.locate(edit.path)) for edit in edits},
        ):
            disk.sync_folder(folder)
        for edit in old:  # an editor that had the file open may have written to it since
            kept = self.store.locate(edit.path, n)
            if exchange.settled(kept) == disk.digest(edit.before):
                continue
            if disk.digest_of(kept) != disk.digest(edit.before):
                raise MovedOn(f"{edit.path} changed while it was being written")
            self.store.aside.append(kept)

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

    def recover(self, *, tidy: bool = False) -> None:
        """Finish or roll back a change that was cut short; only while holding the lock.

        Temporary files are looked for where a change was cut short, and everywhere with `tidy`.
        """
        entry = self.store.tail()
        cut_short = entry.state == "intent"
        disk.sweep_temps(self._folders() if tidy else [self.store.root])
        if not cut_short:
            return
        self._sweep(entry)
        here = [
            file for file in entry.files if not self._is_elsewhere(self.store.locate(file["path"]))
        ]
        whole = all(
            disk.digest_of(self.store.locate(file["path"])) == file["after"] for file in here
        )
        if entry.op == "purge":
            self.journal.finish(entry, "cut short")
        elif whole and all(self._holds(entry.n, file) for file in here):
            self.journal.finish(entry, "done")
        else:
            self._roll_back(entry)

    def _folders(self) -> list[str]:
        """Where a writer's temporary files can be."""
        return [self.store.root, *map(self.store.locate, _FOLDERS)]

    def _sweep(self, entry: Entry) -> None:
        """Remove the temporary files of a change that was cut short."""
        paths = [self.store.locate(file["path"], entry.n) for file in entry.files]
        folders = {os.path.dirname(path) for path in paths}
        disk.sweep_temps(
            [*self._folders(), *(self._archived() if entry.op == "purge" else folders)]
        )

    def _archived(self) -> list[str]:
        """Where the archive keeps memories; only a purge rewrites any there."""
        archive = self.store.archive
        return [os.path.join(archive, name, "memories") for name in disk.list_names(archive)]

    def _holds(self, n: int, file: dict[str, Any]) -> bool:
        """Whether the archive has what the plan had read, and not an edit made a moment later."""
        kept = self.store.locate(file["path"], n)
        if file["before"] is None or not self._is_kept(kept):
            return file["before"] is None
        return bool(disk.digest_of(kept) == file["before"])

    def _roll_back(self, entry: Entry) -> None:
        """Bring back what was there, except where somebody has edited a file since."""
        for file in reversed(entry.files):
            path, kept = self.store.locate(file["path"]), self.store.locate(file["path"], entry.n)
            if self._is_elsewhere(path):
                continue
            if file["before"] is None:
                if file["after"] is not None and disk.digest_of(path) == file["after"]:
                    os.unlink(path)
            elif self._is_kept(kept):
                self._put_back(path, kept, file)
        for folder in {os.path.dirname(self.store.locate(file["path"])) for file in entry.files}:
            if os.path.isdir(folder):
                disk.sync_folder(folder)
        self.journal.finish(entry, "rolled back")

    def _put_back(self, path: str, kept: str, file: dict[str, Any]) -> None:
        """What was there returns to its place; a version that cannot is told, and stays."""
        now, held = disk.digest_of(path), disk.digest_of(kept)
        if held in (now, file["after"]):
            exchange.drop(kept, held)
        elif now in (None, file["after"]):
            exchange.put_back(kept, path, file["after"])
        if disk.exists(kept):
            self.store.aside.append(kept)

    def _is_kept(self, kept: str) -> bool:
        """Whether the archive, and not something a link leads to, holds this file."""
        return not self._is_elsewhere(kept) and not disk.is_link(kept) and disk.exists(kept)

    def _is_elsewhere(self, path: str) -> bool:
        """Whether a link leads to this file, so that it is none of ours."""
        try:
            self.store.refuse_links(os.path.dirname(path))
        except Linked:
            return True
        return False

    # What only a purge does

    def begin_purge(self, change: Change, about: Sequence[dict[str, Any]]) -> Entry:
        """Tidy up what other writers left anywhere, then write down that a purge begins."""
        disk.sweep_temps([*self._folders(), *self._archived()])
        return self.begin(change, about)

    def erase(self, where: str, before: bytes, after: bytes | None) -> None:
        """Remove a version, or put other bytes in its place; an edit made meanwhile stays."""
        folder = os.path.dirname(where)
        if after is None:
            os.unlink(where)
        else:
            self._replace(where, before, after, disk.temp_name(folder))
        disk.sync_folder(folder)

    def _replace(self, where: str, before: bytes, after: bytes, kept: str) -> None:
        exchange.swap(where, after, kept, disk.digest(before))
        if exchange.settled(kept) == disk.digest(before):
            os.unlink(kept)
            return
        exchange.put_back(kept, where, disk.digest(after))
        if (held := disk.digest_of(kept)) == disk.digest_of(where):
            exchange.drop(kept, held)
        if disk.exists(kept):  # the older of two edits; its name must not be a temporary one
            os.rename(kept, aside := f"{where[:-3]}-edited-{os.urandom(4).hex()}~")
            self.store.aside.append(aside)
        raise MovedOn(f"{os.path.basename(where)} changed while it was being written")
