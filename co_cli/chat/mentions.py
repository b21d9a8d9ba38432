"""Which conversations hold a note: by what they record, by what was typed, by its words."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from co_cli.chat import transcripts
from co_cli.chat.redact import parsed, unescaped
from co_cli.errors import FormatError, NotFound, Unreadable

_NESTED = 4  # a tool's arguments are often JSON in a JSON text
_NOTED = frozenset("part_kind timestamp outcome tool_call_id provider_name".split())
_PROMPT = re.compile(r'"instructions": ?"(?:[^"\\]|\\.)*(?:"|\Z)', re.DOTALL)
_BLANKS = dict.fromkeys(map(ord, "\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f\x85\u1680\u2028\u2029"), " ")


def about(
    marks: Iterable[str], texts: Iterable[str], names: Iterable[str] = ()
) -> tuple[list[str], list[str]]:
    """The files, of any project, that hold a note for certain, and those that likely do.

    Certain are those whose record has one of its marks, and those in which the person typed one
    of its texts or file names; likely, where these only appear. What a model was told as a system
    prompt never counts: it is no part of the conversation.
    """
    holds, own = _holding(texts, names), set(marks)
    certain, likely = list[str](), list[str]()
    for path in sorted(path for path, _ in transcripts.files()):
        values = _values(path)
        typed = [value["said"] for value in values if isinstance(value, dict) and "said" in value]
        if any(own & set(transcripts.marks_in(value)) for value in values) or holds(typed):
            certain.append(path)
        elif holds(map(_spoken, values)):
            likely.append(path)
    return certain, likely


def _values(path: str) -> list[Any]:
    """The value of every line that is JSON; then all other lines, as one text."""
    try:
        data = transcripts.read(path)
    except Unreadable:  # it may well hold the text: say so, rather than that it is gone
        raise
    except (FormatError, NotFound):  # nothing that Co wrote, or gone meanwhile
        return []
    many = data.count(b"\n") > transcripts.MOST_LINES
    found = re.finditer(rb"(?s).+" if many else rb"[^\n]+", data)
    lines = [one.group().decode("utf-8", "replace") for one in found]
    values = [parsed(line) for line in lines]
    other = [line for line, value in zip(lines, values, strict=True) if value is None]
    return [*(value for value in values if value is not None), "\n".join(other)]


def _spoken(value: Any) -> Any:
    """What of a line was said: not the system prompt, nor what Co and the framework note down."""
    match value:
        case str():
            return _PROMPT.sub("", value)
        case {"co": int()} | {"part_kind": "system-prompt"}:
            return None
        case {"part_kind": _}:
            return {name: one for name, one in value.items() if name not in _NOTED}
        case {"turn": list(inner)} | {"working": list(inner)} | {"parts": list(inner)}:
            return [_spoken(one) for one in inner]
    return value


def _holding(texts: Iterable[str], names: Iterable[str]) -> Callable[[Iterable[Any]], bool]:
    """A test for values that hold one of these texts or names.

    Case, white space and the punctuation that ends a text do not matter; words are whole.
    """
    ended = {_folded(text).rstrip(".,;:! ") or _folded(text) for text in texts}
    needles = {needle for needle in ended | {*map(_folded, names)} if needle}
    # Whole words; scripts that write no spaces have no such edges.
    letter = "[^\\W\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\U0010ffff]"
    wanted = "|".join(map(re.escape, sorted(needles)))
    edges = f"(?:(?<!{letter})|(?!{letter}))", f"(?:(?!{letter})|(?<!{letter}))"
    whole = re.compile(f"{edges[0]}(?:{wanted}){edges[1]}")

    def holds(values: Iterable[Any]) -> bool:
        texts = map(_folded, (text for value in values for text in _strings(value)))
        likely = (text for text in texts if any(needle in text for needle in needles))
        return any(map(whole.search, likely))

    return holds


def _strings(value: Any, depth: int = 0) -> Iterator[str]:
    """Every string in a JSON value, names included, also in JSON that is itself in a string."""
    left = [value]
    while left:
        item = left.pop()
        if isinstance(item, dict):
            left += [one for pair in item.items() for one in pair]
        elif isinstance(item, list):
            left += item
        elif isinstance(item, str):
            inner = parsed(item) if depth < _NESTED and item.lstrip()[:1] in '{["' else None
            yield from [item] if inner is not None else unescaped(item)  # it may be cut off
            yield from _strings(inner, depth + 1)


def _folded(text: str) -> str:
    text = text if text.isascii() else unicodedata.normalize("NFKC", text)
    text = text.casefold().translate(_BLANKS)
    while "  " in text:  # a split would make an object of every word, and a file may have millions
        text = text.replace("  ", " ")
    return text.strip()
