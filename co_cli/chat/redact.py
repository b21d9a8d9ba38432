"""A record without what looks like a secret, also where it is escaped. Knows no files."""

import json
import re
from collections.abc import Iterator
from typing import Any

from co_cli.knowledge.safety.secrets import find_secret

LEFT_OUT = "[left out of the transcript: it looks like a secret]"

_ESCAPE = re.compile(r'\\(?:u([0-9a-fA-F]{4})|(["\\/bfnrt]))')
_LETTERS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_DEEPEST = 20  # escapes inside escapes; nobody writes more
_OPAQUE = ("args", "content")  # of a part: what a tool was called with, and what it answered


def without_secrets(value: Any) -> Any:
    """The same without texts that Co would not store as a memory either.

    JSON in a text, such as a tool's arguments, stays JSON: only what is secret in it goes.
    """
    if isinstance(value, str):
        return _text(value) if _is_secret(value) else value
    if isinstance(value, dict):
        return {without_secrets(name): _field(name, one) for name, one in value.items()}
    return [without_secrets(one) for one in value] if isinstance(value, list) else value


def parsed(text: str | bytes) -> Any:
    """The JSON value that a text is; None when it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def unescaped(text: str) -> Iterator[str]:
    """A text, and what its JSON escapes stand for, again and again until there are no more."""
    for _ in range(_DEEPEST):
        yield text
        plain = _ESCAPE.sub(_letter, text) if "\\" in text else text
        if plain == text:
            return
        # Half a character may have met its other half.
        text = plain.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    yield text


def _field(name: str, value: Any) -> Any:
    """A field's value; in what a tool took or gave, a name and its value are a secret together."""
    if name in _OPAQUE and isinstance(value, dict):
        text = json.dumps(value)
        return json.loads(_text(text)) if _is_secret(text) else value
    return without_secrets(value)


def _text(text: str) -> str:
    """A text that holds a secret, without it; an object of JSON stays one, whole or cut off."""
    try:
        made = json.dumps(without_secrets(json.loads(text)), ensure_ascii=False)
        if made[0] in "{[" and not _is_secret(made):
            return made
    except (ValueError, RecursionError):
        pass
    return json.dumps({"content": LEFT_OUT}) if text.lstrip().startswith("{") else LEFT_OUT


def _is_secret(text: str) -> bool:
    """Whether a secret is in a text, however deeply it is escaped; too deep is one."""
    return any(depth == _DEEPEST or find_secret(one) for depth, one in enumerate(unescaped(text)))


def _letter(found: re.Match[str]) -> str:
    digits, letter = found.groups()
    return chr(int(digits, 16)) if digits else _LETTERS.get(letter, letter)
