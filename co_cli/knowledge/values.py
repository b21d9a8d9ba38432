"""The values in a sentence: its figures and units, days and months, and tools that are rivals.

A figure is told in digits or in words, and a time or a length in one unit: "half past nine" is
9.30, and two weeks are 14 days. "One" is seldom a figure, so it is none.
"""

import re

from co_cli.knowledge.replacement import KINDS
from co_cli.knowledge.search.words import MONTHS

DAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
_ABBREVIATED = {day[:length]: day for day in DAYS for length in (3, 4, 5)}
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
_MEASURES = """millisecond ms|second s sec|minute min|hour h hr|day d|week wk|month|year yr|
kilobyte kb|megabyte mb|gigabyte gb gig|terabyte tb|percent %|euro eur €|dollar usd|kilometre km"""
UNITS = {form: names.split()[0] for names in _MEASURES.split("|") for form in names.split()}
_UNIT = re.compile(rf"(?<=\d)[ -]?({'|'.join(sorted(UNITS, key=len, reverse=True))})s?(?!\w)")
_NAMED = re.compile(rf"(?<=\d )(?:{'|'.join({*UNITS.values()})})\b")
_LENGTH = re.compile(r"(?<![\d.])(\d{1,9}) (week|year|hour)\b")
_SMALLER = {"week": (7, "day"), "year": (12, "month"), "hour": (60, "minute")}
_FIGURE = re.compile(r"(?:(?<![\w)])[-<>])?\d+(?:[.:,]\d+)*")


def differ(one: str, other: str) -> bool:
    """Whether each of two sentences names a value that the other does not, both of one kind."""
    mine, yours = _values(one), _values(other)
    if any(mine[k] - yours[k] and yours[k] - mine[k] for k in mine.keys() & yours.keys()):
        return True
    lacking = [
        figures(a) - figures(b) - _found(in_one_form(b)) for a, b in ((one, other), (other, one))
    ]
    return all(lacking)


def figures(text: str) -> set[str]:
    """The figures in a sentence, in digits."""
    return _found(_in_digits_and_units(text))


def in_one_form(text: str) -> str:
    """A sentence in lower case, its figures in digits, its lengths of time in smaller units."""
    text = _in_digits_and_units(text)
    return _LENGTH.sub(lambda found: _in_smaller(int(found[1]), found[2]), text)


def _in_digits_and_units(text: str) -> str:
    text = _IN_WORDS.sub(lambda found: _in_digits(found[0]), text.lower())
    text = _PAST.sub(lambda found: f"{found[2]}.{'15' if found[1] == 'quarter' else '30'}", text)
    text = _UNIT.sub(lambda found: f" {UNITS[found[1]]}", text)
    return _FIGURE.sub(lambda found: _plain(found[0]), text)


def _found(text: str) -> set[str]:
    return {*_FIGURE.findall(text)}


def _values(text: str) -> dict[str, set[str]]:
    """The values in a sentence by their kind, but for its figures."""
    text = in_one_form(text)
    found = {"unit": {*_NAMED.findall(text)}}
    for word in re.findall(r"\w+", text):
        singular = word.removesuffix("s")
        if day := _ABBREVIATED.get(word) or (singular if singular in DAYS else ""):
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
        part = (part or 1) * _TIMES[word] if word in _TIMES else part + _ADDED.get(word, 0)
        if part >= 1000:
            total, part = total + part, 0
    return str(total + part)


def _in_smaller(many: int, unit: str) -> str:
    times, smaller = _SMALLER[unit]
    return f"{many * times} {smaller}"


def _plain(figure: str) -> str:
    """A figure without what is only its form: 15:00 is 3, 1,000 is 1000 and 7:42 is 7.42."""
    hour, colon, minute = figure.partition(":")
    if colon:
        hour = str(int(hour) % 12 or 12) if re.fullmatch(r"\d{1,2}", hour) else hour
        return hour if minute == "00" else f"{hour}.{minute}"
    return re.sub(r",(?=\d{3}\b)", "", figure).replace(",", ".")
