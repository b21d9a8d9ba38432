"""The seal of an index: what its file looked like when Co last let go of it, and the lock on it.

Every use of an index holds the kernel's lock on its seal. An index that does not fit its seal was
touched by somebody else, or is half written, and is not believed.
"""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, suppress

from co_cli.knowledge.store import disk

PATIENCE = 10.0  # seconds to wait for another process
BESIDE = ("-wal", "-shm", "-journal")  # Co leaves none of these, but SQLite would believe them


class Seal:
    """The seal of the index at `index`, made by what `stamp` names."""

    def __init__(self, index: str, stamp: str) -> None:
        self.path = index + "-seal"
        self._index = index
        self._stamp = stamp

    def held(self) -> AbstractContextManager[None]:
        """Keep every other process away from the index meanwhile."""
        return disk.locked(self.path, PATIENCE)

    def state(self) -> bytes:
        """What tells this very index, as it is now, from any other."""
        with suppress(FileNotFoundError):
            info = os.lstat(self._index)
            told = (info.st_mode, info.st_dev, info.st_ino, info.st_size)
            return f"{self._stamp} {told} {info.st_mtime_ns} {info.st_ctime_ns}".encode()
        return b""

    def is_whole(self) -> bool:
        """Whether the index is as Co left it."""
        state = self.state()
        beside = any(os.path.lexists(self._index + ending) for ending in BESIDE)
        return bool(state) and not beside and disk.read_if_any(self.path, limit=4096) == state

    def open(self) -> None:
        """See to it that nothing half written is ever believed, not even after a power cut."""
        with open(self.path, "r+b") as seal:
            seal.truncate()
            disk.sync_file(seal.fileno())

    def close(self) -> None:
        """Write down what the index looks like now, once that is on the disk."""
        with open(self._index, "r+b") as file:
            disk.sync_file(file.fileno())
        with open(self.path, "r+b") as seal:
            seal.write(self.state())
            seal.truncate()
