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

if TYPE_CHECKING:  # who only asks a question runs no event loop
    from asyncio import AbstractEventLoop

_MOST = 1 << 20  # bytes; nobody types more, and a cat on the keyboard stays
_ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|O?.)?", re.DOTALL)

_typed = bytearray()
_held = False  # a question came in between, so nothing is sent without another look


def set_aside(more: str = "") -> str:
    """Take what was typed and not read yet, after `more` that was read already; the words of it."""
    keys = more.encode("utf-8", "replace") + _unread()
    keep(keys)
    hold()
    return _words(keys).strip("\n")


def keep(keys: bytes, *, sent: bool = False) -> None:
    """Let these keys wait; those `sent` after a question, with none before, are not held."""
    global _held  # noqa: PLW0603
    _held = _held and not (sent and not _typed)
    _typed.extend(keys[: _MOST - len(_typed)])


def hold() -> None:
    """Let what waits stand in the next line, even where it ends in Enter."""
    global _held  # noqa: PLW0603
    _held = True


def waiting() -> str:
    """What was typed so far."""
    return _words(bytes(_typed))


def take() -> tuple[str, bool]:
    """All that waits, once, and whether it was sent: it ends in Enter, and nothing held it.

    A slash command comes alone, and what follows it later. A Ctrl+D with nothing before it is
    EOFError, as at a prompt.
    """
    global _held  # noqa: PLW0603
    words, sent = waiting().lstrip("\n"), not _held
    whole = sent and words[-1:] in ("", "\n")
    end = b"\x04" if whole and _typed.endswith(b"\x04") else b""
    _typed.clear()
    _held = False
    if end and not words.strip():
        raise EOFError
    later = ""
    if sent and words.startswith("/"):
        line, gap, later = words.partition("\n")
        words = line + gap
    keep(later.encode() + end)
    return words.strip("\n"), sent and words.endswith("\n")


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
    typed = _ESCAPES.sub("", keys.decode("utf-8", "replace"))
    for key in typed.replace("\r\n", "\n").replace("\r", "\n"):
        if key in "\x7f\b":
            del words[-1:]
        elif key == "\x15":  # Ctrl+U, back to where the line begins
            while words and words[-1] != "\n":
                words.pop()
        elif key in "\n\t" or key.isprintable():
            words.append(key)
    return "".join(words)
