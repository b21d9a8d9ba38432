"""Ways to run `co`: in this process, as the installed command, and on a terminal."""

from __future__ import annotations

import codecs
import importlib.util
import io
import os
import pty
import re
import select
import signal
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, NamedTuple, Self

import starter

from co_cli.main import run

_ESCAPE = re.compile(
    r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()][A-Z0-9]|[=>78cM])"
)
_EDITOR = "\x1b[?2004h"  # what the line editor sends when it is ready
COMMAND = str(Path(sys.executable).parent / "co")
SLOWED = 3 if sys.gettrace() else 1
PATIENCE = 60.0  # seconds; a command that takes longer hangs, even on a busy machine


def script(name: str) -> Any:
    """One of the scripts, as a module."""
    path = Path(__file__).parent.parent / "scripts" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def wait_until_asleep(pid: int) -> None:
    """Wait until a process waits for something itself; a signal is sure to be seen then."""
    deadline = time.monotonic() + PATIENCE
    while Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "S":
        if time.monotonic() > deadline:
            raise TooSlow("still busy")


class TooSlow(BaseException):
    """A command did not end in time; not an Exception, so that no handler can swallow it."""


class Result(NamedTuple):
    """How a command ended and what it said."""

    code: int
    out: str
    err: str = ""


class _Stream(io.TextIOWrapper):
    def __init__(self, data: bytes = b"", *, tty: bool = False) -> None:
        self.bytes = io.BytesIO(data)
        super().__init__(self.bytes, encoding="utf-8", newline="\n", write_through=True)
        self.tty = tty

    def isatty(self) -> bool:
        return self.tty

    def text(self) -> str:
        self.flush()
        return self.bytes.getvalue().decode()


@contextmanager
def in_time(seconds: float) -> Iterator[None]:
    """Raise TooSlow in here after so many seconds of work, also out of a system call that blocks.

    A busy machine is not this process's fault: time that it only waits counts a fifth, and a
    minute of it is no hang. Neither is whoever counts the lines that run: under coverage all takes
    three times as long.
    """
    seconds *= SLOWED

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise TooSlow(f"still running after {seconds} seconds")

    timers = {
        signal.SIGPROF: (signal.ITIMER_PROF, seconds),
        signal.SIGALRM: (signal.ITIMER_REAL, max(5 * seconds, PATIENCE)),
    }
    before = {number: signal.signal(number, stop) for number in timers}
    for timer, limit in timers.values():
        signal.setitimer(timer, limit)
    try:
        yield
    finally:
        for number, (timer, _) in timers.items():
            signal.setitimer(timer, 0)
            signal.signal(number, before[number])


def co(*args: str, input: str | bytes = "", tty: bool = False, limit: float = PATIENCE) -> Result:
    """Run a command in this process; `tty` pretends that a person is there."""
    data = input.encode() if isinstance(input, str) else input
    streams = _Stream(data, tty=tty), _Stream(tty=tty), _Stream(tty=tty)
    code: object = None
    before = sys.stdin, sys.stdout, sys.stderr
    try:
        sys.stdin, sys.stdout, sys.stderr = streams
        with in_time(limit):
            run(list(args))
    except SystemExit as end:
        code = end.code
    finally:
        sys.stdin, sys.stdout, sys.stderr = before
    assert isinstance(code, int)
    return Result(code, streams[1].text(), streams[2].text())


def asked(*args: str, input: bytes = b"", **env: str) -> Result:
    """Run `co` in a process of its own, quickly; see starter.py."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        reading, writing = os.pipe()
        try:
            streams = reading, out.fileno(), err.fileno()
            process = starter.start(list(args), {**os.environ, **env}, *streams)
        finally:
            os.close(reading)
        with suppress(BrokenPipeError), open(writing, "wb") as pipe:
            pipe.write(input)
        code = process.wait(PATIENCE)
        out.seek(0)
        err.seek(0)
        return Result(code, out.read().decode(), err.read().decode())


def command(*args: str | bytes, input: bytes = b"", **env: str) -> Result:
    """Run the installed command in a process of its own."""
    done = subprocess.run(
        [COMMAND, *args],
        input=input,
        capture_output=True,
        env={**os.environ, **env},
        timeout=PATIENCE,
        check=False,
    )
    return Result(done.returncode, done.stdout.decode(), done.stderr.decode())


class Terminal:
    """`co` on a terminal, with a person who waits for a text and then types.

    The installed command, or, when it is to be there at once, the same from starter.py.
    """

    def __init__(self, *args: str, columns: str = "100", at_once: bool = False, **env: str) -> None:
        self.shown = ""
        self._returns = ""  # carriage returns that may yet turn out to end a line
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.terminal, slave = pty.openpty()
        termios.tcsetwinsize(slave, (24, int(columns)))
        sized = ("COLUMNS", "LINES")  # what runs the tests may set them
        plain = {name: value for name, value in os.environ.items() if name not in sized}
        whole = {**plain, "TERM": "xterm-256color", **env}
        self.process: subprocess.Popen[bytes] | starter.Process
        if at_once:
            self.process = starter.start(list(args), whole, slave, slave, slave)
        else:
            self.process = subprocess.Popen(
                [COMMAND, *args],
                stdin=slave,
                stdout=slave,
                stderr=slave,
                env=whole,
                start_new_session=True,
            )
        os.close(slave)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.terminal)

    def _read(self, deadline: float) -> bool:
        """Take what is on the screen; False when there is nobody to write more."""
        wait = max(0.0, deadline - time.monotonic())
        ready, _, _ = select.select([self.terminal], [], [], wait)
        if not ready:
            raise TooSlow(f"waited too long; the screen shows:\n{self.shown}")
        try:
            data = os.read(self.terminal, 65536)
        except OSError:  # Linux says EIO when the other side has closed
            data = b""
        # A piece may end in the middle of a character, or of a line's end, which waits for its
        # rest: what is shown only grows, so that a place in it stays the same place.
        text = self._returns + self._decoder.decode(data)
        piece = text.rstrip("\r") if data else text
        self._returns = text[len(piece) :]
        self.shown += re.sub("\r+\n", "\n", piece)
        return bool(data)

    def expect(self, text: str, times: int = 1) -> str:
        """Wait until this text is on the screen, or so many times, and return all that is."""
        deadline = time.monotonic() + PATIENCE
        while self.shown.count(text) < times:
            assert self._read(deadline), f"{text!r} never came; the screen shows:\n{self.shown}"
        return self.shown

    def type(self, text: str) -> None:
        """Press these keys."""
        os.write(self.terminal, text.encode())

    def interrupt(self) -> None:
        """Press Control-C, again if need be: one just before Python reads is not seen.

        Not once it has been seen: a second one would interrupt the end.
        """
        deadline = time.monotonic() + PATIENCE
        while "Stopped" not in self.shown and time.monotonic() < deadline:
            self.process.send_signal(signal.SIGINT)
            again = time.monotonic() + 2
            with suppress(TooSlow):
                while "Stopped" not in self.shown:
                    if not self._read(again):
                        return

    def end(self) -> Result:
        """Wait until the command ends; what it said and what the person typed, in one."""
        deadline = time.monotonic() + PATIENCE
        while self._read(deadline):
            pass
        return Result(self.process.wait(PATIENCE), self.shown)


class Talking(Terminal):
    """A person in a chat: reads on from where they last read, types once there is a prompt."""

    def __init__(self, *args: str, at_once: bool = True, columns: str = "100", **env: str) -> None:
        env = {"PROMPT_TOOLKIT_NO_CPR": "1", **env}
        super().__init__("chat", *args, at_once=at_once, columns=columns, **env)
        self.at = 0
        self.since, self.columns = 0, int(columns)

    @property
    def text(self) -> str:
        """The screen without what moves the cursor or colours it."""
        return _ESCAPE.sub("", self.shown).replace("\r", "")

    def until(self, text: str) -> str:
        """Wait for this after what was read before; what stood in between."""
        deadline = time.monotonic() + PATIENCE
        while text not in self.text[self.at :]:
            assert self._read(deadline), f"{text!r} never came:\n{self.text[self.at :]}"
        end = self.text.index(text, self.at) + len(text)
        read, self.at = self.text[self.at : end], end
        return read

    def keys(self, text: str) -> None:
        """Press keys once there is a line editor to take them."""
        self.expect(_EDITOR)
        self.type(text)

    def say(self, text: str) -> None:
        """Type a line and send it; on, once it is taken and stands above the next one."""
        self.keys(f"{text}\r")
        if text and "\x1b" not in text:
            self.until(f"{text.rsplit(maxsplit=1)[-1][-8:]}\n")

    def resize(self, columns: int) -> None:
        """Make the window narrower or wider; what is seen from then on is what is drawn then."""
        self.since, self.columns = len(self.shown), columns
        termios.tcsetwinsize(self.terminal, (24, columns))
        self.process.send_signal(signal.SIGWINCH)

    def sees(self, text: str) -> list[str]:
        """Wait until this is on the screen; its rows."""
        deadline = time.monotonic() + PATIENCE
        while True:
            screen = script("picture").Screen(self.columns)
            screen.feed(self.shown[self.since :].replace("\n", "\r\n"))
            rows: list[str] = screen.text().split("\n")
            if text in "\n".join(rows):
                return rows
            assert self._read(deadline), f"{text!r} never came:\n" + "\n".join(rows)

    def leave(self) -> Result:
        """Control-D."""
        self.keys("\x04")
        return self.end()
