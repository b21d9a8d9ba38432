"""What was typed before a question could be seen: it answers nothing and waits for a message.

Knows the terminal as a file, and nothing of who asks or what.
"""

import os
import re
import select
import sys
import termios
import tty
from contextlib import suppress

_MOST = 1 << 20  # bytes; nobody types more, and a cat on the keyboard stays
_ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|O?.)?", re.DOTALL)

_kept: list[str] = []


def set_aside(more: str = "") -> str:
    """Take what was typed and not read yet, after `more` that was read already; the words of it."""
    words = _words(more + _unread())
    _kept.append(words)
    return words.strip("\n")


def take() -> str:
    """All that was set aside, once."""
    words = "".join(_kept).strip("\n")
    _kept.clear()
    return words


def _unread() -> str:
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
    return data.decode("utf-8", "replace")


def _words(keys: str) -> str:
    """What these keys write: without arrows and the marks around a paste, with what they erase."""
    words: list[str] = []
    for key in _ESCAPES.sub("", keys).replace("\r\n", "\n").replace("\r", "\n"):
        if key in "\x7f\b":
            del words[-1:]
        elif key in "\n\t" or key.isprintable():
            words.append(key)
    return "".join(words)
