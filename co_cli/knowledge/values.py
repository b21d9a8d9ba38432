"""The values in a sentence: its figures, days and months, and tools that rival each other.

A figure is told in digits or in words, a time as a figure: "half past nine" is 9.30, and 15:00 is
3. "One" is seldom a figure, so it is none.
"""

import re

from co_cli.knowledge.replacement import KINDS
from co_cli.knowledge.search.words import MONTHS

_DAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
_ABBREVIATED = {day[:length]: day for day in _DAYS for length in (3, 4, 5)}
_SAME = {"postgresql": "postgres"}
_MONTHS = {name: month for month in MONTHS for name in (month, month[:3]) if name != "may"}
_UNITS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    "fifteen sixteen seventeen eighteen nineteen"
).split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_ADDED = {word: at for at, word in enumerate(_UNITS)} | {
    word: 10 * at for at, word in enumerate(_TENS, 2)
}
_TIMES = {"hundred": 100, "thousand": 1000, "million": 10**6, "dozen": 12}
_WORD = "|".join((*_ADDED, *_TIMES))
_IN_WORDS = re.compile(rf"\b(?:an? )?(?:{_WORD})(?:(?: |-| and )(?:{_WORD}))*\b")
_PAST = re.compile(r"\b(quarter|half) past (\d+)\b")
_LENGTH = re.compile(r"(?<![\d.])(\d+)[ -]?(week|year|hour)s?\b")
_SMALLER = {"week": 7, "year": 12, "hour": 60}  # days, months and minutes
_FIGURE = re.compile(r"(?:(?<![\w)])[-<>])?\d+(?:[.:,]\d+)*")


def differ(one: str, other: str) -> bool:
    """Whether each of two sentences names a value that the other does not, both of one kind."""
    mine, yours = _values(one), _values(other)
    if any(mine[k] - yours[k] and yours[k] - mine[k] for k in mine.keys() & yours.keys()):
        return True
    mine_only, yours_only = figures(one) - _lengths(other), figures(other) - _lengths(one)
    return bool(mine_only - figures(other) and yours_only - figures(one))


def figures(text: str) -> set[str]:
    """The figures in a sentence, in digits."""
    return {*map(_plain, _FIGURE.findall(_in_figures(text)))}


def _lengths(text: str) -> set[str]:
    """The lengths of time in a sentence, in the next smaller unit."""
    found = _LENGTH.findall(_in_figures(text))
    return {str(int(count) * _SMALLER[unit]) for count, unit in found}


def _in_figures(text: str) -> str:
    """A sentence in small letters, with its numbers and times in digits."""
    text = _IN_WORDS.sub(lambda found: _in_digits(found[0]), text.lower())
    return _PAST.sub(lambda found: f"{found[2]}.{'15' if found[1] == 'quarter' else '30'}", text)


def _values(text: str) -> dict[str, set[str]]:
    """The days, months and tools in a sentence, by their kind."""
    found = dict[str, set[str]]()
    for word in re.findall(r"\w+", text.lower()):
        singular = word.removesuffix("s")
        if day := _ABBREVIATED.get(word) or (singular if singular in _DAYS else ""):
            found.setdefault("day", set()).add(day)
        elif word in _MONTHS:
            found.setdefault("month", set()).add(_MONTHS[word])
        elif word in KINDS:
            found.setdefault(f"tool {KINDS[word]}", set()).add(_SAME.get(word, word))
    return found


def _in_digits(words: str) -> str:
    """A number in words as one in digits, but for a mere "one"."""
    if words == "one":
        return words
    total, part = 0, 0
    for word in re.findall(r"[a-z]+", words):
        part += _ADDED.get(word, 0)
        if times := _TIMES.get(word):
            total, part = total + (part or 1) * times, 0
    return str(total + part)


def _plain(figure: str) -> str:
    """A figure without what is only its form: 15:00 is 3, 1,000 is 1000 and 7:42 is 7.42."""
    hour, colon, minute = figure.partition(":")
    if colon:
        hour = str(int(hour) % 12 or 12) if hour.isdecimal() else hour
        return hour if minute == "00" else f"{hour}.{minute}"
    return re.sub(r",(?=\d{3}\b)", "", figure).replace(",", ".")
