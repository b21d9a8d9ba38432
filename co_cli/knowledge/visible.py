"""Stored text made safe to look at: nothing hidden, nothing that drives a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterator

MOST_DIFF_LINES = 2000  # beyond this, comparing line by line could take minutes

_NO_END = "\n\\ No newline at end of file"

# Control characters; blanks that are letters to Unicode; zero width, bidi and format characters;
# lone surrogates; noncharacters; the tag block; variation selectors.
HIDDEN = (
    "[\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufdd0-\ufdef\ufe00-\ufe0f\ufeff\uffa0"
    "\ufff0-\ufffb\ufffe\uffff\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]"
)


def visible(text: str, *, keep: str = "\n\t") -> str:
    r"""The text with control characters as \x1b and hidden ones as <U+202E>, except `keep`."""
    if text.isascii() and text.isprintable():
        return text

    def show(found: re.Match[str]) -> str:
        character = found.group()
        if character in keep or (character in "\ufe0e\ufe0f" and _chooses(text, found.start())):
            return character
        code = ord(character)
        return f"\\x{code:02x}" if code < 0xA0 else f"<U+{code:04X}>"

    return re.sub(HIDDEN, show, text)


def _chooses(text: str, at: int) -> bool:
    """Whether a variation selector picks the form of the picture before it."""
    from unicodedata import category  # few texts hold one

    before = text[at - 1 : at]
    if before <= "\x7f":
        return before in tuple("#*0123456789") and text[at + 1 : at + 2] == "\u20e3"
    newer = "\U0001f000" <= before <= "\U0001faff"  # this Python may not know it yet
    return newer or before in "\u203c\u2049\u2139\u3030\u303d" or category(before)[0] == "S"


def difference(old: bytes | None, new: bytes | None, name: str) -> str:
    """Two versions of a file as a unified diff, visible; None stands for no file."""
    shown = visible(name, keep="")
    old_name = "/dev/null" if old is None else f"{shown} (before)"
    new_name = "/dev/null" if new is None else f"{shown} (now)"
    return visible("\n".join(_compare(_lines(old), _lines(new), old_name, new_name)))


def _compare(old: list[str], new: list[str], old_name: str, new_name: str) -> Iterator[str]:
    from difflib import unified_diff  # nothing that is only looked at needs it

    if max(len(old), len(new)) <= MOST_DIFF_LINES:
        yield from unified_diff(old, new, old_name, new_name, lineterm="")
    elif old != new:
        yield from (f"--- {old_name}", f"+++ {new_name}")
        yield f"@@ -{min(len(old), 1)},{len(old)} +{min(len(new), 1)},{len(new)} @@"
        yield from ("-" + line for line in old)
        yield from ("+" + line for line in new)


def _lines(data: bytes | None) -> list[str]:
    if not data:
        return []
    *lines, last = data.decode("utf-8", "backslashreplace").split("\n")
    return [*lines, last + _NO_END] if last else lines
