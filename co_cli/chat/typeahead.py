"""What was typed before it was asked for: it answers no question and waits for a message.

Knows the terminal as a file, and nothing of who asks or what.
"""

from __future__ import annotations

import os
import re
import select
import sys
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import TYPE_CHECKING

from co_cli.chat import pastes

if TYPE_CHECKING:  # who only asks a question runs no event loop
    from asyncio import AbstractEventLoop

_MOST = 1 << 20  # bytes; nobody types more, and a cat on the keyboard stays
_PASTE = re.compile(r"\x1b\[200~(.*?)(?:\x1b\[201~|\Z)|\x1b(\r\n?|\n)", re.DOTALL)
_ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|O?.)?", re.DOTALL)
_INSIDE = "\x1c"  # a line's end within a message, pasted or made by Alt+Enter; no key sends it

_typed = bytearray()
sent: list[str] = []  # messages, where an answer was asked for; nothing holds them
_held = False  # a question came in between, so nothing is sent without another look


def set_aside(more: str = "") -> str:
    """Take what was typed and not read yet, after `more` that was read already; the words of it."""
    keys = more.encode("utf-8", "replace") + _unread()
    keep(keys)
    hold()
    return _words(keys).replace(_INSIDE, "\n").strip("\n")


def keep(keys: bytes) -> None:
    """Let these keys wait."""
    _typed.extend(keys[: _MOST - len(_typed)])


def hold() -> None:
    """Let what waits stand in the next line, even where it ends in Enter."""
    global _held  # noqa: PLW0603
    _held = bool(_typed)


def waiting() -> str:
    """What was typed so far."""
    return "\n".join([*sent, _words(bytes(_typed)).replace(_INSIDE, "\n")])


def take() -> tuple[str, bool]:
    """The first message that waits, once, and whether it was sent: by Enter, and nothing held it.

    What follows it comes later. A Ctrl+D with nothing before it is EOFError, as at a prompt.
    """
    global _held  # noqa: PLW0603
    if sent:
        return sent.pop(0), True
    for paste in _PASTE.finditer(_typed.decode("utf-8", "replace")):
        pastes.note(paste[1] or "")
    words = _words(bytes(_typed)).lstrip("\n")
    end = b"\x04" if _typed.endswith(b"\x04") and words[-1:] in ("", "\n") and not _held else b""
    first, enter, later = words.partition("\n")
    is_sent = bool(enter) and not _held
    _typed.clear()
    keep(later.encode())
    _held = _held and bool(_typed)
    if end and not words.strip():
        raise EOFError
    keep(end)
    return first.replace(_INSIDE, "\n").strip("\n"), is_sent


@contextmanager
def listening(loop: AbstractEventLoop, *, echo: bool = False) -> Iterator[None]:
    """Let what is typed in here wait, and keep it from being drawn into something else."""
    try:
        fd = sys.stdin.fileno()
        before = termios.tcgetattr(fd)
        tty.setcbreak(fd, termios.TCSANOW)
    except (OSError, ValueError, termios.error):  # no terminal
        yield
        return
    if echo:
        mode = termios.tcgetattr(fd)
        termios.tcsetattr(fd, termios.TCSANOW, [*mode[:3], mode[3] | termios.ECHO, *mode[4:]])
    marks = not echo and sys.stdout.isatty()
    if marks:  # so that a pasted block can be told from lines
        os.write(sys.stdout.fileno(), b"\x1b[?2004h")

    def hear() -> None:
        keys = _unread()
        keep(keys)
        if not keys:  # nobody is there any more
            loop.remove_reader(fd)

    loop.add_reader(fd, hear)
    try:
        yield
    finally:
        loop.remove_reader(fd)
        keep(_unread())
        termios.tcsetattr(fd, termios.TCSANOW, before)
        if marks:
            os.write(sys.stdout.fileno(), b"\x1b[?2004l")


def _unread() -> bytes:
    data = b""
    with suppress(OSError, ValueError, termios.error):  # no terminal, or nobody at it any more
        fd = sys.stdin.fileno()
        before = termios.tcgetattr(fd)
        tty.setcbreak(fd, termios.TCSANOW)  # a line without its end counts too
        try:
            while len(data) < _MOST and select.select([fd], [], [], 0)[0]:
                data += (piece := os.read(fd, 65536))
                if not piece:  # the end of input
                    break
        finally:
            termios.tcsetattr(fd, termios.TCSANOW, before)
    return data


@lru_cache(maxsize=1)
def _words(keys: bytes) -> str:
    """What these keys write: without arrows and the marks around a paste, with what they erase."""
    words: list[str] = []
    marked = _PASTE.sub(
        lambda found: re.sub(r"\r\n?|\n", _INSIDE, found[1] or found[2] or ""),
        keys.decode("utf-8", "replace"),
    )
    typed = _ESCAPES.sub("", marked)
    for key in typed.replace("\r\n", "\n").replace("\r", "\n"):
        if key in "\x7f\b":
            del words[-1:]
        elif key == "\x15":  # Ctrl+U, back to where the line begins
            while words and words[-1] != "\n":
                words.pop()
        elif key in f"\n\t{_INSIDE}" or key.isprintable():
            words.append(key)
    return "".join(words)
