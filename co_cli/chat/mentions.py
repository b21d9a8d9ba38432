"""Which conversations hold a note: by what they record, by what was typed, by its words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from co_cli.chat import traces, transcripts
from co_cli.errors import FormatError, NotFound, Unreadable
from co_cli.knowledge.search.passages import passages

_LEAST = 30  # characters of a note that are telling by themselves
_NOTED = frozenset("part_kind timestamp outcome tool_call_id provider_name".split())
_PROMPT = re.compile(r'"instructions": ?"(?:[^"\\]|\\.)*(?:"|\Z)', re.DOTALL)


class Holding(NamedTuple):
    """The files that hold a note: for certain, and those in which only the words are the same.

    Certain are those whose record says so, and those in which the person typed the words.
    """

    certain: list[str]
    likely: list[str]


def about(marks: Iterable[str], texts: Iterable[str], names: Iterable[str] = ()) -> Holding:
    """The files, of any project, that hold a note, by its marks, texts and file names.

    What a model was told as a system prompt never counts: it is no part of the conversation.
    Where no record was kept, longer parts of the texts count as well.
    """
    texts = list(texts)
    whole, own = traces.holding(texts, names), set(marks)
    parts = traces.holding((part for text in texts for part in _parts(text)), names)
    found = Holding([], [])
    for path, _ in transcripts.files():
        values = _values(path)
        spoken = [_spoken(value) for value in values]
        typed = [value["said"] for value in values if isinstance(value, dict) and "said" in value]
        recorded = any(own & set(transcripts.marks_in(value)) for value in values)
        if recorded or (whole and whole(typed)):
            found.certain.append(path)
        elif (holds := whole if _is_recorded(values) else parts) and holds(spoken):
            found.likely.append(path)
    return Holding(sorted(found.certain), sorted(found.likely))


def _parts(text: str) -> Iterator[str]:
    """A text as it may stand in a conversation: whole, its first line in a list, its passages."""
    yield text
    line = text.split("\n", 1)[0]
    some = [line, line[:77].rstrip(), *passages(text)]
    yield from (part for part in some if len(part) >= _LEAST)


def _values(path: str) -> list[Any]:
    """What a file holds, line by line."""
    try:
        return list(traces.lines(transcripts.read(path)))
    except Unreadable:  # it may well hold the text: say so, rather than that it is gone
        raise
    except (FormatError, NotFound):  # nothing that Co wrote, or gone meanwhile
        return []


def _spoken(value: Any) -> Any:
    """What of a line was said: not the system prompt, nor what Co and the framework note down."""
    match value:
        case str():
            return _PROMPT.sub("", value)
        case {"co": int()}:
            return None
        case {"turn": list(messages)} | {"working": list(messages)}:
            return [_said_in(message) for message in messages]
    return value


def _said_in(message: Any) -> Any:
    match message:
        case {"parts": list(parts)}:
            return [_bare(part) for part in parts]
    return message


def _bare(part: Any) -> Any:
    match part:
        case {"part_kind": "system-prompt"}:
            return None
        case dict():
            return {name: value for name, value in part.items() if name not in _NOTED}
    return part


def _is_recorded(values: list[Any]) -> bool:
    match values:
        case [{"co": int(version)}, *_]:
            return version >= transcripts.RECORDS
    return False
