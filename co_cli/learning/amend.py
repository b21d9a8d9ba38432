"""A note's text with another value in it: "no, I meant Fridays". Knows no notebook."""

import re
from operator import mul

from co_cli.knowledge.meaning.encoders import LENGTH, built_in
from co_cli.knowledge.search.words import STOP

_NUMBERS, _NAMES, _LONGER = 0.5, 0.35, 0.05  # what counts for a place beside its meaning
_ENOUGH = 0.3
_GONE = (  # what is said of a value that no longer holds
    r"\b(?:not|n't|instead of|no longer|rather than|from|never) (?:an? |the )?{0}\b"
    r"|\b{0} (?:(?:got|was|were|is|are|has been|have been) )?"
    r"(?:replaced|renamed|gone|dropped|wrong)\b"
)


def amended(text: str, value: str, said: str) -> str:
    """The text with the value in the place of what is most like it; "" where there is none.

    What is said of the old value ("not 12", "Jenkins got replaced") tells the place best.
    """
    if value.lower() in text.lower():
        return ""
    words = list(re.finditer(r"[\w'’./@:%€$£+-]*\w[%€]?", text))
    best, place = _ENOUGH, (0, 0)
    for first in range(len(words)):
        for last in range(first, min(first + len(value.split()) + 1, len(words))):
            start, end = words[first].start(), words[last].end()
            score = _fits(text[start:end], value, said)
            if score > best:
                best, place = score, (start, end)
    start, end = place
    if not end:
        return ""
    capital = text[start].isupper() and not value[:1].isupper()
    return text[:start] + (value[:1].upper() + value[1:] if capital else value) + text[end:]


def _fits(old: str, value: str, said: str) -> float:
    if all(word in STOP for word in re.findall(r"\w+", old.lower())):
        return 0.0
    near: float = sum(
        map(mul, *(memoryview(built_in().quickly(one)).cast("b") for one in (old, value)))
    )
    named = re.search(rf"(?i)\b{re.escape(old)}\b", said) is not None
    gone = re.search(_GONE.format(re.escape(old)), said, re.IGNORECASE) is not None
    numbers = all(re.search(r"\d", one) for one in (old, value))
    names = old[0].isupper() and value[0].isupper()
    shorter = _LONGER * abs(len(old.split()) - len(value.split()))
    return near / LENGTH**2 + 2 * gone - named + _NUMBERS * numbers + _NAMES * names - shorter
