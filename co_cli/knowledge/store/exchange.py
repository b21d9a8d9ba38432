"""Swapping an old file for a new one without losing an edit made at that very moment."""

import errno
import fcntl
import os
import stat
import time
from contextlib import suppress

from co_cli.knowledge.store import disk

PATIENCE = 0.5  # seconds for an editor to finish writing into a file that was just moved

_OPEN = "being written"  # instead of a digest
_HERE = -100  # AT_FDCWD


def swap(path: str, data: bytes, kept: str, before: str | None) -> None:
    """Put new content in a file's place and move the old file to `kept`, a name that is free.

    Where the system can exchange two names in one step, `kept` then holds whatever was there,
    an edit made a moment ago included. Elsewhere a file that differs from `before` stays.
    """
    mode = stat.S_IMODE(os.lstat(path).st_mode)
    with disk.staged(os.path.dirname(kept), data, mode) as temp:
        os.rename(temp, kept)
    os.chmod(kept, mode)
    disk.sync_folder(os.path.dirname(kept))
    if not _exchange(kept, path):
        _keep(path, kept)
        disk.sync_folder(os.path.dirname(kept))
        if disk.digest_of(path) == before:
            disk.put(path, data)


def put_back(kept: str, path: str, ours: str | None) -> None:
    """Move a file back to its place. What Co put there, which has the digest `ours`, may go.

    The two names are exchanged, so no version is overwritten unseen. If what comes out is not what
    went in, somebody saved it meanwhile: it is the newest, and is put back in turn. If `kept` is
    left over, it holds somebody's older version, or one that is still being written.
    """
    expected = ours
    for _ in range(100):  # once, unless somebody saves in between
        held = disk.digest_of(kept)
        with suppress(FileExistsError, FileNotFoundError):
            if not disk.exists(path):
                disk.move(kept, path)
                return
            if not _exchange(kept, path):
                if disk.digest_of(path) == ours:
                    os.replace(kept, path)
                return
            found = settled(kept)
            if found in (ours, expected):
                drop(kept, ours)
                return
            expected = held


def drop(path: str, wanted: str | None) -> None:
    """Remove a file if it has this digest and nobody is writing to it."""
    if wanted != disk.NO_FILE and settled(path) == wanted:
        os.unlink(path)


def settled(path: str) -> str | None:
    """The digest of a moved file, once nobody is writing to it; a word if somebody goes on."""
    deadline = time.monotonic() + PATIENCE
    while _is_open_for_writing(path):
        if time.monotonic() > deadline:
            return _OPEN
        time.sleep(0.0005)
    return disk.digest_of(path)


def _is_open_for_writing(path: str) -> bool:
    """Whether somebody has a file open for writing; no where the system does not tell.

    Linux does, by its leases: it grants one for reading only while nobody can write.
    """
    if not hasattr(fcntl, "F_SETLEASE"):
        return False
    from signal import SIGURG  # only a rewrite needs it

    try:
        with disk.opened(path) as fd:
            fcntl.fcntl(fd, fcntl.F_SETSIG, SIGURG)  # the usual signal would end this process
            fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK)
            fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except OSError as error:
        return error.errno == errno.EAGAIN
    return False


def _exchange(one: str, two: str) -> bool:
    """Exchange two names in one step; False where the system or the disk cannot."""
    import ctypes  # only a rewrite needs it

    library = ctypes.CDLL(None, use_errno=True)
    names = os.fsencode(one), os.fsencode(two)
    if hasattr(library, "renameat2"):  # Linux
        done = library.renameat2(_HERE, names[0], _HERE, names[1], 2)
    elif hasattr(library, "renamex_np"):  # macOS
        done = library.renamex_np(*names, 2)
    else:
        return False
    if done == 0:
        return True
    if ctypes.get_errno() in disk.NO_LINKS | {errno.EINVAL}:
        return False
    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), two)


def _keep(path: str, kept: str) -> None:
    """Give a file a second name, or a copy where a file can have only one."""
    with suppress(FileNotFoundError):
        os.unlink(kept)
    try:
        os.link(path, kept)
    except OSError as error:
        if error.errno not in disk.NO_LINKS:
            raise
        data, _ = disk.read_signed(path, disk.MAX_ATTACHMENT)
        with disk.staged(os.path.dirname(kept), data) as temp:
            os.rename(temp, kept)
