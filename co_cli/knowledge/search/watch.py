"""Which files changed since the last look, told by the kernel, so that nobody asks about each one.

The kernel queues an event before the edit that caused it returns, so reading the queue misses no
edit made before. What it cannot see (another machine, a second hard link) a rescan finds.
"""

import ctypes
import errno
import os
import struct
from collections.abc import Callable, Sequence
from contextlib import suppress
from time import monotonic

RESCAN = 30.0  # seconds
_EVENT = struct.Struct("iIII")
_OVERFLOW, _IGNORED = 0x4000, 0x8000
_GONE = 0x400 | 0x800 | _IGNORED  # the folder itself deleted or moved
# modified, attributes, closed after writing, moved from and to, created, deleted; a real folder
_WANTED = 0x2 | 0x4 | 0x8 | 0x40 | 0x80 | 0x100 | 0x200 | 0x400 | 0x800 | 0x03000000
_NONBLOCK = os.O_NONBLOCK | os.O_CLOEXEC


class Watcher:
    """Watches folders for files that change; OSError where the system offers no such thing."""

    def __init__(self, folders: Sequence[str], *, clock: Callable[[], float] = monotonic) -> None:
        self.folders, self.clock = folders, clock
        self._next = 0.0
        self._watched: dict[int, tuple[str, int]] = {}  # number to folder and inode
        libc = ctypes.CDLL(None, use_errno=True)
        try:
            self._add = libc.inotify_add_watch
            self._fd: int = libc.inotify_init1(_NONBLOCK)
        except AttributeError:
            raise OSError(errno.ENOSYS, "no file events here") from None
        if self._fd < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def fileno(self) -> int:
        """What is readable when something happened."""
        return self._fd

    def reset(self) -> None:
        """Let the next call look at everything."""
        self._next = 0.0

    def changed(self) -> set[str] | None:
        """The files touched since the last call, or None when all must be looked at."""
        names, whole = self._drain()
        whole |= self.clock() >= self._next
        there = {}
        for folder in self.folders:
            with suppress(OSError):
                there[folder] = os.lstat(folder).st_ino
        if there != dict(self._watched.values()):
            whole = True
            self._watched = {}
            for folder, inode in there.items():
                number = self._add(self._fd, os.fsencode(folder), _WANTED)
                if number >= 0:
                    self._watched[number] = folder, inode
        if whole:
            self._next = self.clock() + RESCAN
            return None
        return names

    def _drain(self) -> tuple[set[str], bool]:
        names: set[str] = set()
        whole = False
        while True:
            try:
                data = os.read(self._fd, 65536)
            except BlockingIOError:
                return names, whole
            at = 0
            while at < len(data):
                number, mask, _, length = _EVENT.unpack_from(data, at)
                at += _EVENT.size
                name = os.fsdecode(data[at : at + length].rstrip(b"\0"))
                at += length
                if mask & (_OVERFLOW | _GONE):
                    whole = True
                    self._watched.pop(number, None)
                elif number in self._watched:
                    names.add(os.path.join(self._watched[number][0], name))
