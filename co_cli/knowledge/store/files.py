"""A notebook's files on disk: one folder, its archive and its journal. Reads; `writer.py` writes.

Follows no link inside the notebook and reads plain files only.
"""

from __future__ import annotations

import errno
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import get_ident
from typing import TYPE_CHECKING

from co_cli import paths
from co_cli.errors import CoError, ReadOnly
from co_cli.knowledge.store import JOURNAL, Change, Entry, disk, is_note
from co_cli.knowledge.store.journal import JournalFile

if TYPE_CHECKING:
    from co_cli.knowledge.store.writer import Writer

_COARSE = 2_100_000_000  # a file system may keep whole seconds only, two at a time
_FINE = 100_000_000
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW


class FolderStore:
    """The files of one knowledge folder, as `Store` describes what can be done with them."""

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self.root = self.index_folder = os.path.abspath(root)
        self.archive = os.path.join(self.root, "archive")
        self.journal = journal = JournalFile(self.locate(JOURNAL))
        self.entries, self.rewrite = journal.entries, journal.rewrite
        self.unreadable_lines = journal.unreadable_lines
        self.aside: list[str] = []
        self._holder = 0
        self._is_new = True
        self._trouble = ""

    # Where things are

    def exists(self) -> bool:
        return any(os.path.isdir(self.locate(name)) for name in ("memories", "articles"))

    def locate(self, path: str, n: int = 0) -> str:
        return f"{self.kept_folder(n) if n else self.root}/{path}"

    def kept_folder(self, n: int) -> str:
        """Where change `n` keeps previous bytes."""
        return os.path.join(self.archive, f"{n:06d}")

    def kept_folders(self) -> list[tuple[int, str]]:
        """The archive's folders, oldest first, each with the number that its name begins with."""
        found = [m for n in disk.list_names(self.archive) if (m := re.match(r"\d{1,18}", n))]
        return sorted((int(m[0]), os.path.join(self.archive, m.string)) for m in found)

    def link_to(self, folder: str) -> str:
        """The link on the way from the notebook to this folder; empty when there is none."""
        while folder != self.root and not disk.is_link(folder):
            folder = os.path.dirname(folder)
        return folder if folder != self.root else ""

    def refuse_links(self, folder: str) -> None:
        """CoError when a link, which may lead anywhere, is on the way to this folder."""
        if link := self.link_to(folder):
            hint = "Co follows no links inside a notebook. Make it a real folder."
            raise CoError(f"{link} is a symbolic link", hint=hint)

    # Reading

    def names(self, folder: str) -> list[str]:
        return [name for name in disk.list_names(self.locate(folder)) if is_note(name, folder)]

    def files(self, folder: str) -> dict[str, int]:
        """As in `Store`; a killed writer's leftovers are removed."""
        where, found, leftovers = self.locate(folder), {}, False
        try:  # the folder's number is quicker than its path
            with disk.opened(where, _FOLDER) as place, os.scandir(place) as entries:
                for entry in entries:
                    if is_note(entry.name):
                        with suppress(FileNotFoundError):  # it went this moment
                            told = disk.signature(entry.stat(follow_symlinks=False))
                            found[entry.name] = hash(told)
                    leftovers |= entry.name.startswith(".co-")
        except FileNotFoundError:
            return {}
        except OSError as error:
            if folder != "memories" and error.errno in (errno.ELOOP, errno.ENOTDIR):
                return {}  # not a real folder, so none of ours
            self.refuse_links(where)
            raise disk.trouble(error) from error
        if leftovers and disk.temps([where]):
            self._tidy()
        return found

    def signature(self, path: str, *, settled: bool = False) -> int:
        with disk.in_words(), suppress(*disk.ABSENT):
            told = disk.signature(os.lstat(self.locate(path)))
            return hash(told) if not settled or is_settled(told) else 0
        return 0

    def modified(self, path: str, n: int = 0) -> int:
        with disk.in_words(), suppress(*disk.ABSENT):
            return os.lstat(self.locate(path, n)).st_mtime_ns
        return 0

    def read(self, path: str, n: int = 0) -> bytes | None:
        full = self.locate(path, n)
        self.refuse_links(os.path.dirname(full))
        attached = path.startswith("attachments/")
        return disk.read_if_any(full, disk.MAX_ATTACHMENT if attached else disk.MAX_FILE)

    def read_signed(self, path: str) -> tuple[bytes, int]:
        data, told = disk.read_signed(self.locate(path))
        return data, hash(told) if is_settled(told) else 0

    def tail(self) -> Entry:
        """The last line that can be read, or what the archive alone tells."""
        self.refuse_links(self.archive)
        if last := self.journal.last():
            return last
        numbers = (n for n, _ in self.kept_folders() if n < 10**9)
        return Entry(max(numbers, default=0), "done", 0)

    def kept(self) -> Iterator[tuple[int, str, bytes]]:
        for n, folder in self.kept_folders():
            for notes in (os.path.join(folder, kind) for kind in ("articles", "inbox", "memories")):
                for name in [] if self.link_to(notes) else sorted(disk.list_names(notes)):
                    path = os.path.join(notes, name)
                    with suppress(CoError, FileNotFoundError):
                        yield n, path, disk.read_signed(path)[0]

    def settle(self) -> tuple[Entry, str]:
        tail = self.tail()
        if tail.state == "intent" or (self._is_new and disk.temps([self.root])):
            self._tidy()
            tail = self.tail()
        self._is_new = False
        return tail, self._trouble

    def _tidy(self) -> None:
        try:
            with self.locked(patience=0):
                self._writer.sweep()
            self._trouble = ""
        except disk.Busy:  # whoever is writing right now will see to it
            pass
        except (OSError, CoError) as error:
            self._trouble = f"unfinished change: {error}"

    # Writing

    def refuse(self, path: str) -> None:  # noqa: ARG002 - it is the same for all
        if disk.only_reads:
            raise ReadOnly(disk.only_reads)

    @contextmanager
    def locked(self, patience: float | None = None) -> Iterator[None]:
        if self._holder == get_ident():
            yield
            return
        self.refuse("")
        with disk.in_words():
            disk.make_folder(self.root)
            for name, mode in (("memories", 0o777), ("archive", 0o700)):
                self.refuse_links(self.locate(name))
                disk.make_folder(self.locate(name), mode)
            with disk.locked(self.locate(".lock"), patience):
                self._holder = get_ident()
                try:
                    ignore = self.locate(".gitignore")
                    if not os.path.lexists(ignore):
                        with suppress(FileExistsError):
                            disk.create(ignore, paths.GITIGNORE)
                    self._writer.recover()
                    yield
                finally:
                    self._holder = 0

    @property
    def _writer(self) -> Writer:
        from co_cli.knowledge.store.writer import Writer  # who only reads never loads it

        return Writer(self)

    def commit(self, change: Change, then: Callable[[], object] | None = None) -> int:
        return self._writer.commit(change, then)

    def begin(self, change: Change) -> None:
        self._writer.begin(change)

    def erase(self, where: str, before: bytes, after: bytes | None) -> None:
        self._writer.erase(where, before, after)


def is_settled(told: disk.Signature) -> bool:
    """Whether any later edit changes the signature; one in the same tick of the clock does not."""
    _, modified, changed, _ = told
    coarse = modified % 1_000_000_000 == 0
    return time.time_ns() - changed > (_COARSE if coarse else _FINE)
