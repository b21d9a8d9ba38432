"""Durable files and the lock: all that differs between systems. Knows bytes, not notes."""

import errno
import fcntl
import os
import re
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress

from co_cli.errors import DiskTrouble, FormatError, Unreadable

try:  # hashlib loads all of OpenSSL, which the standard library's `random` avoids like this
    from _sha256 import sha256  # type: ignore[import-not-found]  # Python 3.11
except ImportError:
    try:
        from _sha2 import sha256  # type: ignore[import-not-found]
    except ImportError:
        from hashlib import sha256

MAX_FILE = 8 * 1024 * 1024
MAX_ATTACHMENT = 50 * 1024 * 1024
LOCK_PATIENCE = 30.0

NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}
_OUT_OF_ROOM = {errno.EMFILE, errno.ENFILE, errno.ENOMEM}
ABSENT = (FileNotFoundError, NotADirectoryError)
_READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_KINDS = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}

_TEMP = r"\.co-[0-9a-f]{16}\.tmp"
only_reads = ""  # why this process writes nothing, once somebody has said so
NO_FILE = "no file"  # instead of a digest

Signature = tuple[int, int, int, int]


def digest(data: bytes | None) -> str | None:
    """The sha256 that stands for these bytes in the journal; None stands for no file."""
    if data is not None and len(data) > MAX_FILE:
        from hashlib import sha256 as quicker  # eight times, where an original is large

        return quicker(data).hexdigest()
    return None if data is None else sha256(data).hexdigest()


def signature(info: os.stat_result) -> Signature:
    """What changes whenever a file's content may have changed."""
    return info.st_size, info.st_mtime_ns, info.st_ctime_ns, info.st_ino


def read_signed(path: str, limit: int = MAX_FILE) -> tuple[bytes, Signature]:
    """A plain file's bytes and signature; never blocks, follows no link, reads at most `limit`.

    Raises FileNotFoundError when there is nothing, FormatError when it is not a file Co reads.
    """
    try:
        with opened(path) as fd:
            info = os.fstat(fd)
            if not stat.S_ISREG(info.st_mode):
                kind = _KINDS.get(stat.S_IFMT(info.st_mode), "a device")
                raise FormatError(f"is {kind}, not a file")
            if info.st_size > limit:
                most = f"{limit // 1024**2} MiB" if not limit % 1024**2 else f"{limit // 10**6} MB"
                raise FormatError(f"is larger than {most}")
            data = os.read(fd, info.st_size + 1)
            while len(data) < info.st_size and (more := os.read(fd, info.st_size - len(data))):
                data += more
            return data, signature(info)
    except ABSENT:
        raise FileNotFoundError(path) from None
    except OSError as error:
        if error.errno in _OUT_OF_ROOM:
            raise trouble(error) from error
        if error.errno == errno.ELOOP:
            raise FormatError("is a symbolic link; Co reads only real files here") from error
        raise Unreadable(f"cannot be read: {os.strerror(error.errno or 0)}") from error


def refuse_writing(path: str = "") -> None:
    """As a disk does that is read-only, where this process writes nothing; all of Co copes."""
    if only_reads:
        raise OSError(errno.EROFS, only_reads, path or None)


@contextmanager
def opened(path: str, flags: int = _READ_FLAGS, mode: int = 0o666) -> Iterator[int]:
    """A file or folder, open; whether the system closes it gladly does not matter."""
    if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
        refuse_writing(path)
    fd = os.open(path, flags, mode)
    try:
        yield fd
    finally:
        with suppress(OSError):
            os.close(fd)


def read_if_any(path: str, limit: int = MAX_FILE) -> bytes | None:
    """A plain file's bytes, or None when nothing is there."""
    with suppress(FileNotFoundError):
        return read_signed(path, limit)[0]
    return None


@contextmanager
def in_words() -> Iterator[None]:
    """While entered, what the disk refuses is a DiskTrouble."""
    try:
        yield
    except OSError as error:
        raise trouble(error) from error


def trouble(error: OSError) -> DiskTrouble:
    """What the disk refused, in words, with the file and what to do."""
    if error.errno == errno.EROFS and only_reads:
        return DiskTrouble(only_reads)
    where = f": {error.filename}" if error.filename else ""
    hint = {
        errno.ENOSPC: "Free some space and try again; nothing was changed.",
        errno.EROFS: "The folder is read-only; nothing was changed.",
        errno.EACCES: "Check who owns the folder; nothing was changed.",
        errno.EMFILE: "Too many files are open; close some programs and try again.",
    }.get(error.errno or 0, "Nothing was saved; try again.")
    return DiskTrouble(f"{os.strerror(error.errno or 0)}{where}", hint=hint)


def temp_name(folder: str) -> str:
    """A free name in the folder for a file that is swept up if its maker is killed."""
    return os.path.join(folder, f".co-{os.urandom(8).hex()}.tmp")


@contextmanager
def staged(folder: str, data: bytes, mode: int = 0o666) -> Iterator[str]:
    """These bytes, durably, under a temporary name in the folder, until they get another."""
    temp = temp_name(folder)
    try:
        with opened(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode) as fd:
            write_all(fd, data)
            sync_file(fd)
        yield temp
    finally:
        with suppress(OSError):
            os.unlink(temp)


def write_all(fd: int, data: bytes) -> None:
    """Write every byte, also where the system takes only some at a time."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def sync_file(fd: int) -> None:
    """Make the file's bytes survive a power cut, also where fsync alone does not promise it."""
    full = getattr(fcntl, "F_FULLFSYNC", None)
    if full is not None:
        fcntl.fcntl(fd, full)
    else:
        os.fsync(fd)


def create(path: str, data: bytes) -> None:
    """Put a new file in place whole; FileExistsError when the name is taken."""
    with staged(os.path.dirname(path), data) as temp:
        move(temp, path)


def move(old: str, new: str) -> None:
    """Give a file a name that is free; FileExistsError when it is taken."""
    try:
        os.link(old, new)
    except OSError as error:
        if error.errno not in NO_LINKS:
            raise
        if exists(new):
            raise FileExistsError(errno.EEXIST, "File exists", new) from None
        os.rename(old, new)
    else:
        os.unlink(old)


def put(path: str, data: bytes) -> None:
    """Create a file durably, or swap its content in one step and keep its mode."""
    folder = os.path.dirname(path)
    if os.path.lexists(path):
        mode = stat.S_IMODE(os.lstat(path).st_mode)
        with staged(folder, data, mode) as temp:
            os.chmod(temp, mode)
            os.replace(temp, path)
    else:
        create(path, data)
    sync_folder(folder)


def digest_of(path: str) -> str | None:
    """The digest of the file here; None when there is nothing, a word when it is no plain file."""
    try:
        return digest(read_if_any(path, MAX_ATTACHMENT))
    except Unreadable as error:  # then nothing can be decided about it now
        raise DiskTrouble(f"{path} {error}", hint="Nothing was changed; try again.") from error
    except FormatError:
        return NO_FILE


def sync_folder(folder: str) -> None:
    """Make the folder's entries durable."""
    with opened(folder, os.O_RDONLY | os.O_CLOEXEC) as fd:
        os.fsync(fd)


def make_folder(folder: str, mode: int = 0o777) -> None:
    """Make a folder and its parents, durably; one that is there is left as it is."""
    if os.path.isdir(folder):
        return
    refuse_writing(folder)
    parent = os.path.dirname(folder)
    make_folder(parent)
    with suppress(FileExistsError):
        os.mkdir(folder, mode)
        sync_folder(parent)


def exists(path: str) -> bool:
    """Whether anything has this name; unlike os.path, a disk that cannot tell is DiskTrouble."""
    return _kind(path) is not None


def is_link(path: str) -> bool:
    """Whether this name is a symbolic link, as carefully as `exists`."""
    return _kind(path) == stat.S_IFLNK


def _kind(path: str) -> int | None:
    with in_words(), suppress(*ABSENT):
        return stat.S_IFMT(os.lstat(path).st_mode)
    return None


def sweep_temps(folders: Iterable[str]) -> None:
    """Remove the temporary files of writers that died; only while holding the lock."""
    for path in temps(folders):
        with suppress(FileNotFoundError, PermissionError):  # one that cannot be removed may stay
            os.unlink(path)


def temps(folders: Iterable[str]) -> list[str]:
    """The temporary files in these folders; only plain files are ours."""
    return [
        path
        for folder in folders
        for name in list_names(folder)
        if re.fullmatch(_TEMP, name) and _kind(path := os.path.join(folder, name)) == stat.S_IFREG
    ]


def list_names(folder: str) -> list[str]:
    """The names in a real folder; none when there is no such folder or it is a link."""
    with in_words(), suppress(*ABSENT):
        return [] if is_link(folder) else os.listdir(folder)
    return []


class Busy(DiskTrouble):
    """Another process holds the lock."""


@contextmanager
def locked(path: str, patience: float | None = None) -> Iterator[None]:
    """Hold the kernel's lock on this file; it ends with the process that holds it."""
    patience = LOCK_PATIENCE if patience is None else patience
    deadline = time.monotonic() + patience
    pause = 0.0005
    access = os.O_RDONLY if only_reads else os.O_RDWR | os.O_CREAT
    while True:
        with opened(path, access | os.O_CLOEXEC | os.O_NOFOLLOW) as fd:
            if _is_taken(fd, path):
                yield
                return
        if time.monotonic() > deadline:
            hint = "Nothing was changed. Look for a stopped `co` process and end it."
            raise Busy(f"another Co process has held {path} for {patience:.0f} seconds", hint=hint)
        time.sleep(pause)
        pause = min(pause * 1.5, 0.02)


def _is_taken(fd: int, path: str) -> bool:
    """Take the lock if it is free; on a file that somebody has removed it counts for nothing."""
    with suppress(BlockingIOError, FileNotFoundError):
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.path.samestat(os.fstat(fd), os.stat(path, follow_symlinks=False))
    return False
