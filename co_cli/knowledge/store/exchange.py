"""Old and new files change places, so that an edit made at that very moment is not lost."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import time
from contextlib import suppress

from co_cli.knowledge.store import disk

PATIENCE = 0.5  # seconds for an editor to finish writing into a file that was just moved

_OPEN = "being written"  # in the place of a digest
_HERE = -100  # AT_FDCWD


def swap(path: str, data: bytes, kept: str, before: str | None) -> None:
    """Put new content in a file's place and move the old file to `kept`, a name that is free.

    Where the system can exchange two names in one step, an edit made a moment ago is not lost:
    it is what `kept` holds. Elsewhere nothing is replaced unless the file reads as `before`.
    """
    mode = stat.S_IMODE(os.stat(path, follow_symlinks=False).st_mode)
    os.rename(disk.stage(os.path.dirname(kept), data, mode), kept)
    os.chmod(kept, mode)
    disk.sync_folder(os.path.dirname(kept))
    if not _exchange(kept, path):
        keep(path, kept)
        disk.sync_folder(os.path.dirname(kept))
        if disk.digest_of(path) == before:
            disk.replace(path, data)


def put_back(kept: str, path: str, ours: str | None) -> None:
    """Move a file back to its place. `ours`, the digest of what Co put there, may be dropped.

    Names are exchanged, so that no version is overwritten unseen. What comes out and is not what
    went in was saved meanwhile: it is the newest, and goes back in turn. When `kept` is there
    afterwards, it holds somebody's version that is not the newest, or that is still being written.
    """
    expected = ours
    for _ in range(100):  # again only when somebody has saved in between
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
    """Remove a file, if it holds what has this digest and nobody writes to it."""
    if wanted != disk.NO_FILE and settled(path) == wanted:
        os.unlink(path)


def settled(path: str) -> str | None:
    """The digest of a file that moved, once those who had it open before have finished writing.

    A word that is no digest when somebody keeps it open.
    """
    deadline = time.monotonic() + PATIENCE
    while _is_open_for_writing(path):
        if time.monotonic() > deadline:
            return _OPEN
        time.sleep(0.0005)
    return disk.digest_of(path)


def _is_open_for_writing(path: str) -> bool:
    """Whether somebody has a file open to write; where the system does not tell, no.

    Linux tells by its leases: one for reading is granted only while nobody can write.
    """
    if not hasattr(fcntl, "F_SETLEASE"):
        return False
    from signal import SIGURG  # only a rewrite needs it

    try:
        fd = os.open(path, disk.READ_FLAGS)
    except OSError:
        return False
    try:
        fcntl.fcntl(fd, fcntl.F_SETSIG, SIGURG)  # the usual signal would end this process
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except OSError as error:
        return error.errno == errno.EAGAIN
    finally:
        disk.close_read(fd)
    return False


def _exchange(one: str, two: str) -> bool:
    """Exchange two names in one step, where the system and the disk can; whether it was done."""
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


def keep(path: str, kept: str) -> None:
    """Give a file's present bytes a second name, or a copy where names cannot be shared."""
    with suppress(FileNotFoundError):
        os.unlink(kept)
    try:
        os.link(path, kept)
    except OSError as error:
        if error.errno not in disk.NO_LINKS:
            raise
        os.rename(disk.stage(os.path.dirname(kept), disk.read_bytes(path)), kept)
