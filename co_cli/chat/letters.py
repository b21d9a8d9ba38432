"""What a line typed at a question says: a letter, or that the person goes on talking."""

import re

from co_cli.chat import typeahead
from co_cli.chat.card import TOGGLE
from co_cli.meant import LEAVES

_WORDS = {
    "yes": "y", "no": "n", "always": "a", "all": "a", "edit": "e", "update": "u", "keep": "k",
    "replace": "r", "later": "l", "reject": "x",
}  # fmt: skip
_ROUND = frozenset(  # what is said round an answer: "yes please", "keep both", "no, thank you"
    "please pls thanks thank you both it that this them these all one memory note session text the "
    "others now ok".split()
)


def parsed(said: str, count: int) -> tuple[str, int | None]:
    """A letter and, where several proposals are shown, which one: `e2`, `2e`, `e 2`.

    A number alone is a `TOGGLE` of that one.
    """
    found = re.fullmatch(r"(\d{0,9})\s*([a-z]+)\s*(\d{0,9})", said)
    if re.fullmatch(r"\d{1,9}", said) and 1 <= int(said) <= count:
        return TOGGLE, int(said) - 1
    number = (found[1] or found[3]) if found else ""
    if not found or (number and not 1 <= int(number) <= count):
        return "", None
    return _WORDS.get(found[2], found[2]), int(number) - 1 if number else None


def goes_on(said: str) -> bool:
    """Whether the person did not answer and simply went on talking; what they said waits."""
    words = [word.strip(".,!") for word in said.lower().split()]
    more = (word for word in words[1:] if word not in _ROUND and not re.fullmatch(r"g?\d+", word))
    talks = any(more) if begins(said) else bool(words[1:])
    if talks := talks or said.lstrip().startswith("/") or " ".join(words) in LEAVES:
        typeahead.sent.append(said)
    return talks


def begins(said: str) -> str:
    """The letter of the answer that a line begins like."""
    first = "".join(said.lower().split()[:1]).strip(".,!")
    return _WORDS.get(first, first if first in _WORDS.values() else "")
