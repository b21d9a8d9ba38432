"""Whether JSON values hold a text, however it was written down there.

Knows neither where they are kept nor what they are for.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from typing import Any

MOST_LINES = 200_000  # no conversation has as many; a damaged file may
_NESTED = 4  # a tool's arguments are often JSON in a JSON text
_ESCAPED = re.compile(r"\\+(?:u([0-9a-fA-F]{4})|(.?))")
_BLANKS = dict.fromkeys(map(ord, "\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f\x85\u1680\u2028\u2029"), " ")


def holding(texts: Iterable[str], names: Iterable[str]) -> Callable[[Iterable[Any]], bool] | None:
    """A test for values that hold one of these texts or names; None when there is none.

    Case, white space and the punctuation that ends a text do not matter; words are whole.
    """
    ended = {_folded(text).rstrip(".,;:! ") or _folded(text) for text in texts}
    needles = {needle for needle in ended | {*map(_folded, names)} if needle}
    needles |= {needle.replace("\\", "") for needle in needles if needle.strip("\\")}
    whole = _pattern(needles)

    def holds(values: Iterable[Any]) -> bool:
        texts = map(_folded, (text for value in values for text in _strings(value)))
        return any(
            whole.search(text) for text in texts if any(needle in text for needle in needles)
        )

    return holds if needles else None


def lines(data: bytes) -> Iterator[Any]:
    """The value of every line that is JSON; then all other lines, as one text."""
    other = []
    many = data.count(b"\n") > MOST_LINES
    for match in re.finditer(rb"(?s).+" if many else rb"[^\n]+", data):
        line = match.group().decode("utf-8", "replace")
        value = _json(line)
        if value is None:
            other.append(line)
        else:
            yield value
    yield "\n".join(other)


def _strings(value: Any) -> Iterator[str]:
    """Every string in a JSON value, names included, also in JSON that is itself in a string."""
    left = [(value, 0)]
    while left:
        item, depth = left.pop()
        if isinstance(item, dict):
            left += [(one, depth) for pair in item.items() for one in pair]
        elif isinstance(item, list):
            left += [(one, depth) for one in item]
        elif isinstance(item, str):
            yield item
            inner = _json(item) if depth < _NESTED and item.lstrip()[:1] in '{["' else None
            if inner is not None:
                left.append((inner, depth + 1))
            elif "\\" in item:
                yield _unescaped(item)


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _unescaped(text: str) -> str:
    """Cut-off JSON as far as it can be read: escapes undone however often they were doubled."""

    def plain(found: re.Match[str]) -> str:
        code, letter = found.groups()
        return chr(int(code, 16)) if code else {"n": " ", "r": " ", "t": " "}.get(letter, letter)

    return _ESCAPED.sub(plain, text)


def _folded(text: str) -> str:
    text = text if text.isascii() else unicodedata.normalize("NFKC", text)
    text = text.casefold().translate(_BLANKS)
    while "  " in text:  # a split would make an object of every word, and a file may have millions
        text = text.replace("  ", " ")
    return text.strip()


def _pattern(needles: set[str]) -> re.Pattern[str]:
    """Any of these as whole words; scripts that write no spaces have no such edges."""
    letter = "[^\\W\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\U0010ffff]"
    wanted = "|".join(map(re.escape, sorted(needles)))
    return re.compile(f"(?:(?<!{letter})|(?!{letter}))(?:{wanted})(?:(?!{letter})|(?<!{letter}))")
