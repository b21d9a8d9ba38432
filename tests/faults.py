"""Faults on purpose: a shim over the system calls that the core makes. Knows no notes.

`Shim` replaces functions of `os` and `fcntl` in this process while it is entered and sees only
calls on one folder. It records them, makes the N-th one fail, kills the process there, or plays
dead from there on. `PowerCut` also remembers what was synced, and can lay out what a disk that
lost everything else would hold. `in_child` runs a function in a forked process that may die.
"""

from __future__ import annotations

import errno
import fcntl
import os
import random
import signal
import stat
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from co_cli.errors import CoError
from co_cli.knowledge.store import exchange

# Calls on the folder that are seen, in the module that holds them.
SEEN: list[tuple[Any, str]] = [
    *((os, name) for name in "open read pread write close fsync link rename replace".split()),
    *((os, name) for name in "unlink mkdir rmdir stat lstat fstat scandir listdir".split()),
    *((os, name) for name in "chmod ftruncate lseek".split()),
    *((fcntl, name) for name in ("flock", "fcntl")),
    (exchange, "_exchange"),  # a system call that Python has no name for: renameat2
]
CLEAN, REFUSED, BROKEN = 0, 1, 3  # how a child ends when nobody kills it


class Crash(BaseException):
    """This process is dead; no Exception, so that nothing tidies up after it but `finally`."""


@dataclass(frozen=True, slots=True)
class Call:
    """One system call: its name and what it was about, such as `link memories/001-x.md`."""

    name: str
    about: str

    def __str__(self) -> str:
        return f"{self.name} {self.about}"


@dataclass(frozen=True, slots=True)
class Fault:
    """What goes wrong at the N-th call, counted from 1.

    `fail` raises an errno, once or from there on; `kill` ends the process before the call;
    `crash` raises Crash there and at every later call. `partial` counts only writes, and lets
    half of the bytes through first.
    """

    kind: str
    at: int
    errno: int = errno.EIO
    forever: bool = False
    partial: bool = False

    def __str__(self) -> str:
        word = errno.errorcode[self.errno] if self.kind == "fail" else ""
        how = "from there on" if self.forever else ""
        return " ".join(filter(None, (self.kind, word, "half a write" * self.partial, how)))


class Shim:
    """While entered, every call on `root` is recorded in `calls` and may meet the fault.

    `before` and `after` are told the call's number and the call; what they do themselves is not
    seen. Without `sync`, fsync is counted and not carried out: a killed process loses nothing.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        fault: Fault | None = None,
        *,
        sync: bool = True,
        before: Callable[[int, Call], None] | None = None,
        after: Callable[[int, Call], None] | None = None,
    ) -> None:
        self.root = os.fspath(root)
        self.fault = fault
        self.calls: list[Call] = []
        self.struck: Call | None = None
        self._sync = sync
        self._before = before
        self._after = after
        self._counted = 0
        self._busy = False
        self._dead = False
        self._fds: dict[int, str] = {}
        self._real: dict[tuple[Any, str], Any] = {}

    @property
    def reached(self) -> bool:
        """Whether the fault came."""
        return self.struck is not None

    def __enter__(self) -> Self:
        for module, name in SEEN:
            self._real[module, name] = getattr(module, name)
            setattr(module, name, self._wrapped(module, name))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for (module, name), real in self._real.items():
            setattr(module, name, real)
        if self._dead:  # the kernel closes what a dead process held open, its lock included
            for fd in self._fds:
                with suppress(OSError):
                    os.close(fd)

    def _wrapped(self, module: Any, name: str) -> Callable[..., Any]:
        real = self._real[module, name]

        def call(*args: Any, **kwargs: Any) -> Any:
            about = None if self._busy else self._about(args)
            if about is None:
                return real(*args, **kwargs)
            return self._meet(Call(name.strip("_"), about), real, args, kwargs)

        return call

    def _about(self, args: tuple[Any, ...]) -> str | None:
        """What a call is about, relative to the root; None when it is none of ours."""
        subject = args[0] if args else "."
        if isinstance(subject, int):
            return self._fds.get(subject)
        names = [os.fspath(arg) for arg in args[:2] if isinstance(arg, str | os.PathLike)]
        inside = [name for name in names if name == self.root or name.startswith(self.root + "/")]
        if not inside:
            return None
        return " -> ".join(name[len(self.root) + 1 :] or "." for name in inside)

    def _meet(self, call: Call, real: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self._dead:
            raise Crash
        self.calls.append(call)
        self._tell(self._before, call)
        if self._strikes(call):
            self._strike(call, real, args)
        if call.name == "close":
            self._fds.pop(args[0], None)
        unsynced = call.name == "fsync" and not self._sync
        result: Any = None if unsynced else real(*args, **kwargs)
        if call.name == "open":
            self._fds[result] = call.about
        self._seen(call, args)
        self._tell(self._after, call)
        return result

    def _seen(self, call: Call, args: tuple[Any, ...]) -> None:
        """A call was carried out; a subclass may want to know."""

    def _tell(self, whom: Callable[[int, Call], None] | None, call: Call) -> None:
        if whom is not None:
            self._busy = True
            try:
                whom(len(self.calls), call)
            finally:
                self._busy = False

    def _strikes(self, call: Call) -> bool:
        fault = self.fault
        if fault is None or (fault.partial and call.name != "write" and not self.reached):
            return False
        self._counted += 1
        return self._counted == fault.at or (fault.forever and self._counted > fault.at)

    def _strike(self, call: Call, real: Any, args: tuple[Any, ...]) -> None:
        assert self.fault is not None
        self.struck = self.struck or call
        if self.fault.partial and call.name == "write":
            real(args[0], bytes(args[1])[: max(1, len(args[1]) // 2)])
        if self.fault.kind == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.fault.kind == "crash":
            self._dead = True
            raise Crash
        if call.name == "close":  # a close that fails has closed all the same
            self._fds.pop(args[0], None)
            real(args[0])
        where = args[0] if isinstance(args[0], str) else None
        raise OSError(self.fault.errno, os.strerror(self.fault.errno), where)


class PowerCut(Shim):
    """A Shim that knows what would survive a power cut: what was synced, and no more.

    At worst a file keeps the bytes of its last fsync and a folder the names of its last fsync;
    with some luck the names are all there, and some of the bytes. What was there at the start is
    safe. Inodes stay open, so that no number is used twice.
    """

    def __init__(self, root: str | os.PathLike[str], fault: Fault | None = None) -> None:
        super().__init__(root, fault, sync=False)
        self._held: dict[int, int] = {}
        self._data: dict[int, bytes] = {}
        self._names: dict[int, dict[str, int]] = {}
        self._top = os.stat(self.root).st_ino
        for folder, _, files in os.walk(self.root):
            self._hold(folder)
            self._names[os.stat(folder).st_ino] = _names(folder)
            for name in files:
                path = os.path.join(folder, name)
                self._data[self._hold(path)] = _bytes(path)

    def _hold(self, path: str) -> int:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
        number = os.fstat(fd).st_ino
        if number in self._held:
            os.close(fd)
        else:
            self._held[number] = fd
        return number

    def _seen(self, call: Call, args: tuple[Any, ...]) -> None:
        self._busy = True
        try:
            if call.name == "open":
                self._hold(os.path.join(self.root, call.about))
            elif call.name == "mkdir":
                self._names[self._hold(args[0])] = {}
            elif call.name == "fsync":
                self._synced(args[0])
        finally:
            self._busy = False

    def _synced(self, fd: int) -> None:
        info = os.fstat(fd)
        if stat.S_ISDIR(info.st_mode):
            self._names[info.st_ino] = _names(fd)
        else:
            self._data[info.st_ino] = _whole(self._held[info.st_ino])

    def lay_out(self, target: str, lucky: random.Random | None = None) -> None:
        """Build what the disk holds after the cut."""
        self._lay_folder(self._top, target, lucky)

    def _lay_folder(self, number: int, target: str, lucky: random.Random | None) -> None:
        os.mkdir(target)
        names = _names(self._held[number]) if lucky else self._names.get(number, {})
        for name, inode in names.items():
            path = os.path.join(target, name)
            fd = self._held[inode]
            if stat.S_ISDIR(os.fstat(fd).st_mode):
                self._lay_folder(inode, path, lucky)
                continue
            data = self._data.get(inode, b"")
            if lucky and lucky.random() < 0.7:
                whole = _whole(fd)
                grown = (
                    whole[: lucky.randint(len(data), len(whole))]
                    if len(whole) > len(data)
                    else whole
                )
                data = grown if whole.startswith(data) else whole
            with open(path, "wb") as file:
                file.write(data)

    def release(self) -> None:
        """Let go of the inodes."""
        for fd in self._held.values():
            os.close(fd)
        self._held = {}


def _names(folder: str | int) -> dict[str, int]:
    with os.scandir(folder) as entries:
        return {entry.name: entry.inode() for entry in entries}


def _bytes(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _whole(fd: int) -> bytes:
    return os.pread(fd, os.fstat(fd).st_size, 0)


@dataclass(frozen=True, slots=True)
class Ended:
    """How a child ended: `status` is its exit code or minus the signal, `lines` what it said."""

    status: int
    lines: list[str]

    @property
    def killed(self) -> bool:
        return self.status == -signal.SIGKILL


Say = Callable[[str], None]


def start_child(function: Callable[[Say], None], shim: Shim | None = None) -> tuple[int, int]:
    """Fork a process that runs the function; its pid and the pipe on which it says lines.

    A CoError ends it as REFUSED after the line `refused: ...`, anything else as BROKEN.
    """
    reading, writing = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writing)
        return pid, reading
    status = BROKEN
    try:
        os.close(reading)

        def say(line: str) -> None:
            os.write(writing, line.replace("\n", "\\n").encode() + b"\n")

        status = _child(function, shim, say)
    finally:
        os._exit(status)


def _child(function: Callable[[Say], None], shim: Shim | None, say: Say) -> int:
    try:
        if shim is None:
            function(say)
        else:
            with shim:
                function(say)
    except CoError as error:
        say(f"refused: {type(error).__name__}: {error}")
        return REFUSED
    except BaseException:  # noqa: BLE001 - a forked child must not unwind into the test runner
        say(f"broken: {traceback.format_exc()}")
        return BROKEN
    return CLEAN


def end_child(pid: int, reading: int) -> Ended:
    """Wait for a child of `start_child` and read what is left of what it said."""
    said = b""
    while more := os.read(reading, 65536):
        said += more
    os.close(reading)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return Ended(status, said.decode().splitlines())


def in_child(function: Callable[[Say], None], shim: Shim | None = None) -> Ended:
    """Run a function in a forked process, with a fault perhaps, and tell how it ended."""
    return end_child(*start_child(function, shim))
