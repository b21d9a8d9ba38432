"""What changes a notebook's files on disk, so that a change is durable, whole and undoable.

A Change is planned without the lock. Committing it holds the lock, checks that every file is
still what the plan read, writes an intent line, moves previous bytes into the archive, applies
the edits, and writes a done line. A commit cut short is finished or rolled back by the next one.
"""

import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from co_cli import paths
from co_cli.errors import CoError, MovedOn
from co_cli.knowledge.store import Change, Edit, Entry, disk, exchange, intent, refuse_stale
from co_cli.knowledge.store.files import FolderStore
from co_cli.knowledge.store.journal import MAX_NUMBER

_FOLDERS = ("archive", "memories", "articles", "attachments", "inbox")


@dataclass(slots=True)
class Writer:
    """The only hand that edits the files of a knowledge folder."""

    store: FolderStore

    def commit(self, change: Change, then: Callable[[], object] | None = None) -> int:
        with self.store.locked():
            refuse_stale(self.store, change)
            entry = self.begin(change)
            try:
                self._apply(entry.n, change.edits)
                if then is None:
                    self.store.journal.append(entry._replace(state="done"))
                else:
                    then()
                    with suppress(OSError):  # an end that is lost is found out again
                        self.store.journal.append(entry._replace(state="done"))
            except BaseException:
                with suppress(OSError, CoError):
                    if self.store.tail().state == "intent":
                        self._sweep(entry)
                        self._end(entry, whole=then is not None, otherwise=False)
                raise
            return entry.n

    def begin(self, change: Change) -> Entry:
        """Write down durably what is about to be done; only while holding the lock.

        The folder for previous bytes is made first, and is new: all in an intent's folder belongs
        to it.
        """
        if change.op == "purge":
            self.sweep(self._archived())
        tail = self.store.tail()
        entry = intent(change, tail, self._next_number(tail.n))
        if any(edit.before is not None for edit in change.edits):
            os.mkdir(self.store.kept_folder(entry.n))
            disk.sync_folder(self.store.archive)
        self.store.journal.append(entry)
        return entry

    def _next_number(self, n: int) -> int:
        """The number after `n`, unless the archive has it from a journal that was lost.

        Then, or when no number comes after `n`, it is the first of the longest row of free ones.
        """
        if n + 1 < MAX_NUMBER and not disk.exists(self.store.kept_folder(n + 1)):
            return n + 1
        numbers = {entry.n for entry in self.store.entries()}
        numbers |= {number for number, _ in self.store.kept_folders() if number < MAX_NUMBER}
        taken = sorted({0, *numbers})
        gaps = zip(taken, [*taken[1:], MAX_NUMBER], strict=True)
        return max(gaps, key=lambda gap: gap[1] - gap[0])[0] + 1

    def _apply(self, n: int, edits: tuple[Edit, ...]) -> None:
        """Swap new content for the old, which is then in the archive; removals come last."""
        kept = {edit: self.store.locate(edit.path, n) for edit in edits if edit.before is not None}
        kept_folders = {os.path.dirname(where) for where in kept.values()}
        for folder in kept_folders:
            disk.make_folder(folder)
        for edit in sorted(edits, key=lambda edit: edit.after is None):
            self._put(edit, kept.get(edit, ""))
        # The archive first: a power cut between the two must find a removed file somewhere.
        folders = {os.path.dirname(self.store.locate(edit.path)) for edit in edits}
        for folder in (*kept_folders, *folders):
            disk.sync_folder(folder)
        for edit, where in kept.items():  # an editor that had the file open may have written to it
            if exchange.settled(where) != disk.digest(edit.before):
                self._expect_kept(edit, where)
                self.store.aside.append(where)

    def _put(self, edit: Edit, kept: str) -> None:
        path = self.store.locate(edit.path)
        try:
            if edit.after is None:
                os.rename(path, kept)
            elif kept:
                exchange.swap(path, edit.after, kept, disk.digest(edit.before))
            else:
                disk.make_folder(os.path.dirname(path))
                disk.create(path, edit.after)
            if edit.modified:
                os.utime(path, ns=(edit.modified, edit.modified), follow_symlinks=False)
        except FileExistsError:
            raise MovedOn(f"{os.path.basename(path)} appeared meanwhile") from None
        except FileNotFoundError:
            raise MovedOn(f"{edit.path} is gone") from None
        if kept:
            self._expect_kept(edit, kept)

    def _expect_kept(self, edit: Edit, kept: str) -> None:
        if disk.digest_of(kept) != disk.digest(edit.before):  # somebody edited it a moment ago
            raise MovedOn(f"{edit.path} changed while it was being written")

    def recover(self) -> None:
        """Finish or roll back a change that was cut short; only while holding the lock."""
        entry = self.store.tail()
        disk.sweep_temps([self.store.root])
        if entry.state != "intent":
            return
        self._sweep(entry)
        if entry.op == "purge":
            self.store.journal.append(entry._replace(state="cut short"))
        else:
            self._end(entry, whole=self._is_whole(entry), otherwise=True)

    def _end(self, entry: Entry, *, whole: bool, otherwise: bool) -> None:
        """Journal a change as done that is whole, and its other half too; else roll it back.

        `otherwise` is what counts where nobody can tell about the other half.
        """
        if whole and (not entry.arrives or self._has_left(entry, otherwise)):
            self.store.journal.append(entry._replace(state="done"))
        else:
            self._roll_back(entry)

    def _is_whole(self, entry: Entry) -> bool:
        """Whether every file is as the change meant it to be."""
        return all(
            disk.digest_of(path) == file["after"]
            and (file["before"] is None or self._held(kept) == file["before"])
            for file, path, kept in self._files(entry)
        )

    def _has_left(self, entry: Entry, otherwise: bool) -> bool:
        """Whether the change of the other notebook took place, or will be found to have.

        Whoever made both held both locks, and is dead or here. A journal may have come with a
        repository: between a project and the person's own notebook it is asked, and nowhere else.
        """
        here, there, own = map(
            os.path.realpath, (self.store.root, entry.other, paths.user_knowledge())
        )
        if own not in (here, there) or not os.path.isdir(there):
            return otherwise
        other = FolderStore(there)
        half = next((one for one in other.entries() if one.pair == entry.pair), None)
        if half is None or half.state != "intent":
            return half is not None and half.state == "done"
        return Writer(other)._is_whole(half)

    def _files(self, entry: Entry) -> list[tuple[dict[str, Any], str, str]]:
        """The files of a change, where each is and where its old bytes are; none behind a link."""
        locate = self.store.locate
        files = [
            (file, locate(file["path"]), locate(file["path"], entry.n)) for file in entry.files
        ]
        return [one for one in files if not self.store.link_to(os.path.dirname(one[1]))]

    def _held(self, kept: str) -> str | None:
        """The digest of what the archive, and nothing that a link leads to, has here."""
        linked = self.store.link_to(os.path.dirname(kept)) or disk.is_link(kept)
        return None if linked else disk.digest_of(kept)

    def _roll_back(self, entry: Entry) -> None:
        """Bring back what was there, except where somebody has edited a file since."""
        files = self._files(entry)
        for file, path, kept in reversed(files):
            if file["before"] is not None:
                self._put_back(path, kept, file["after"])
            elif file["after"] is not None and disk.digest_of(path) == file["after"]:
                os.unlink(path)
        for folder in {os.path.dirname(path) for _, path, _ in files}:
            if os.path.isdir(folder):
                disk.sync_folder(folder)
        self.store.journal.append(entry._replace(state="rolled back"))

    def _put_back(self, path: str, kept: str, after: str | None) -> None:
        """Return what was there to its place; a version that cannot go back stays, and is told."""
        held = self._held(kept)
        if held is None:
            return
        now = disk.digest_of(path)
        if held in (now, after):
            exchange.drop(kept, held)
        elif now in (None, after):
            exchange.put_back(kept, path, after)
        if disk.exists(kept):
            self.store.aside.append(kept)

    # Temporary files

    def sweep(self, more: Iterable[str] = ()) -> None:
        """Remove what dead writers left in the notebook's folders, and in these."""
        disk.sweep_temps([self.store.root, *map(self.store.locate, _FOLDERS), *more])

    def _sweep(self, entry: Entry) -> None:
        """Remove the temporary files of a change that was cut short."""
        kept = {os.path.dirname(self.store.locate(file["path"], entry.n)) for file in entry.files}
        self.sweep(self._archived() if entry.op == "purge" else kept)

    def _archived(self) -> list[str]:
        """Where the archive keeps notes; only a purge rewrites any there."""
        archive, kinds = self.store.archive, ("memories", "articles")
        names = disk.list_names(archive)
        return [os.path.join(archive, name, kind) for name in names for kind in kinds]

    # What only a purge does

    def erase(self, where: str, before: bytes, after: bytes | None) -> None:
        """Remove a version, or put other bytes in its place; an edit made meanwhile stays."""
        folder, old = os.path.dirname(where), where
        if after is not None:
            old = disk.temp_name(folder)
            exchange.swap(where, after, old, disk.digest(before))
            if exchange.settled(old) != disk.digest(before):
                self._give_back(old, where, disk.digest(after))
        os.unlink(old)
        disk.sync_folder(folder)

    def _give_back(self, edited: str, where: str, ours: str | None) -> None:
        exchange.put_back(edited, where, ours)
        if (held := disk.digest_of(edited)) == disk.digest_of(where):
            exchange.drop(edited, held)
        if disk.exists(edited):  # the older of two edits; its name must not be a temporary one
            os.rename(edited, aside := f"{where[:-3]}-edited-{os.urandom(4).hex()}~")
            self.store.aside.append(aside)
        raise MovedOn(f"{os.path.basename(where)} changed while it was being written")
