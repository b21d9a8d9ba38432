"""A note's text with another value in it: "no, I meant Fridays". Knows no notebook."""

import re
from operator import eq

from co_cli.knowledge.replacement import hint, likeness
from co_cli.knowledge.search.words import STOP
from co_cli.learning.answers import misspelt

_NUMBERS, _NAMES, _LONGER = 0.5, 0.35, 0.05  # what counts for a place beside its meaning
_ENOUGH, _SURE = 0.3, 0.6
_LOOKED_AT, _LONGEST = 150, 8  # words of a text in which a place is looked for, and of a value
_USED_BEFORE, _BEFORE = 0.65, 0.4
_WORD = r"[\w'’./@:%€$£+-]*\w[%€]?"
_DAY_ABROAD = (  # which Co's encoder hardly knows
    r"(?i)\b(?:(?:mon|diens|donners|frei|sams|sonn)tag|mittwoch|dimanche|lune|marte|miércole|jueve"
    r"|(?:lun|mar|mercre|jeu|vendre|same)di|vierne|sábado|domingo)s?\b"
)
SWITCHED = (  # and to what
    r"(?i)\b(?:switched|moved|migrated|changed|relocated|gone) (?:over )?to ([^,.;!?]{1,40}?)"
    r"(?: now| instead| today| recently| (?:last|this) \w{3,9})?[.!]?$"
)
_PASSED_OVER = STOP | {"ve", "got", "just", "been"}
CHANGES = (  # what is to be changed, and to what
    r"(?i)(?:please |pls |can you |could you ){0,2}(?:update|change|move|set|switch|reschedule"
    r"|rename) (?:the |my |our )?(?P<what>.{1,60}?) to (?P<value>.{1,60}?)[.!?]?$"
)
_VERB = (
    r"(?:switched|moved|migrated|changed|shifted|renamed|rescheduled|postponed|delayed|pushed"
    r"|put off|brought forward|raised|lowered|went up|went down)(?: back| forward| over)?"
)
_TO = r" (?:from (?P<old>[^,.;]{1,40}?) )?to (?P<value>[^,.;!?]{1,60}?)(?: now| instead)?[.!]?$"
_CHANGED = (  # what somebody changed, or has changed; or is somebody else's
    rf"(?i)(?:we|i|they|s?he)(?:'ve|'s| have| has)? (?:just )?{_VERB} (?:the|my|our|their) "
    rf"(?P<what>[^,.;]{{2,60}}?){_TO}",
    rf"(?i)(?:the|my|our|their) (?P<what>[^,.;]{{2,60}}?) (?:(?:has|have|had|was|were|is|got|been"
    rf"|just|now) ){{0,3}}{_VERB}{_TO}",
    r"(?i)(?P<old>[^,.;]{2,40}?) (?:is|are)(?:n't| not| no longer) (?P<what>[^,.;]{2,60}?)"
    r"(?: any ?more)?[,;] (?:now )?(?:it'?s|they are)(?: now)? (?P<value>[^,.;!?]{1,40}?)[.!]?$",
    r"(?i)(?P<what>(?P<old>[^,.;]{2,40}?)) (?:stimmt nicht(?: mehr)?|ist falsch)[,;] "
    r"(?:jetzt |sondern )?(?P<value>[^,.;!?]{1,40}?)[.!]?$",
    CHANGES,
)
_USES = (  # what stands before a value that one may switch from
    r"(?i)\b(?:use[sd]?|using|(?:runs?|hosted|based|are|is) (?:on|in|at)|written in"
    r"|lives? in|built (?:with|in|on)|chose|picked|(?:moved|switched|migrated) to|went with)"
    r" (?:the |an? )?$"
)
_IS_ALL = r"(?i)[^,;.]{0,30} (?:is|are) (?:in |on |at )?(\S{1,40}(?: \S{1,40})?)$"  # to its end
_VALUE = rf"(?:{_WORD} (?=\d)|\d+\.? )?{_WORD}"  # room 5, 6 May
_STEM = 4  # letters
_HALVES = r"(?i),? (?:and|but|while|und|et|y) |[,;] "  # between them
_GONE = (  # what is said of a value that no longer holds
    r"\b(?:not|n't|instead of|no longer|rather than|from|never) (?:an? |the )?{0}\b"
    r"|\b{0} (?:(?:got|was|were|is|are|has been|have been) )?"
    r"(?:replaced|renamed|gone|dropped|wrong)\b"
)


def placed(text: str, value: str, said: str, whole: str = "") -> tuple[float, str]:
    """How well a value fits into a text, and the text with it; "" where there is no place.

    What is said of the old value ("not 12", "Jenkins got replaced") tells the place best. What
    makes sense as a `whole` may be about something else: it takes a place that is more like it.
    """
    there = re.search(rf"(?i)(?<!\w){re.escape(value)}(?!\w)", text)
    if there or len(value.split()) > _LONGEST:
        return 0.0, ""
    same = (re.search(r"\bI\b", said) is not None) == text.startswith("User")  # who moved
    moved = same and re.search(SWITCHED, said) is not None
    words = list(re.finditer(_WORD, text))[:_LOOKED_AT]
    changes = change(said)
    what = re.findall(r"\w{2,40}", changes["what"].lower()) if changes else []
    what = [word for word in what if word not in STOP]
    said = _not_the_old(said, text, value)
    named = max((text.lower().rfind(word) for word in what), default=-1)
    best, place = _SURE if whole else _ENOUGH, (0, 0)
    if not what and not value[:1].isupper() and (is_all := re.match(_IS_ALL, text)):
        named = is_all.start(1) - 1  # what something is, and not what it is called
    if named >= 0 and (is_all := re.match(_IS_ALL, text[named:])):
        best, place = 1.0, (named + is_all.start(1), len(text))
    for first in range(len(words)):
        for last in range(first, min(first + len(value.split()) + 1, len(words))):
            start, end = words[first].start(), words[last].end()
            score = _fits(text[start:end], value, said) - _BEFORE * (start <= named)
            other = re.match(r"(?:an?|the) ", value) or re.search(r"\d", text[start:end])
            if moved and re.search(_USES, text[:start]) and not other:
                score += _USED_BEFORE
            if score > best:
                best, place = score, (start, end)
    is_all = None if place[1] or whole or what else re.match(_IS_ALL, text)
    old = is_all[1].lower() if is_all else ""
    digits = {bool(re.search(r"\d", one)) for one in (old, value)}
    if is_all and old not in STOP and len(digits) == 1:
        best, place = _LONGER, is_all.span(1)  # what else could it be
    start, end = place
    if not end:
        return 0.0, ""
    capital = text[start].isupper() and not value[:1].isupper()
    value = value[:1].upper() + value[1:] if capital else value
    return best, text[:start] + value + text[end:]


def _not_the_old(said: str, text: str, value: str) -> str:
    """What is said, as a no to the old value where that is named."""
    named = changes.groupdict() if (changes := change(said)) else {"what": ""}
    what = named["what"]  # perhaps the value itself
    what = what if what and what in text and _fits(what, value, "") >= _ENOUGH else ""
    return f"not {old}" if (old := named.get("old") or what) else said


def change(said: str) -> re.Match[str] | None:
    """What is, or is to be, changed and to what value, where both are said."""
    return next((found for one in _CHANGED if (found := re.match(one, said))), None)


def holds(text: str, said: str) -> bool:
    """Whether a text holds one of the words that are said, in any form."""
    words = {*re.findall(r"\w\w+|\d", said.lower())} - STOP
    return any(re.search(rf"(?i)\b{word[:_STEM]}", text) for word in words)


def restated(old: str, said: str, anew: str = "") -> str:
    """The old text with the value that is said of the same; or `anew`, for the half of it."""
    if text := _in_place(old, said):
        return text
    value = ["", *re.findall(_VALUE, said)][-1]
    words = {*re.findall(r"\w\w+", said[: said.rfind(value)].lower())} - STOP
    known = all(holds(old, word) for word in words)
    begin, close = _half(old, said)
    text = placed(old[begin:close], value, said, said)[1] if words and known else ""
    return (text := text or anew) and old[:begin] + text + old[close:]


def _in_place(old: str, said: str) -> str:
    """A text with the value of a saying of its form: all else, or what is beside it, is there."""
    was, now = ([*re.finditer(_WORD, text)][:_LOOKED_AT] for text in (old, said))
    held, told = ([word[0].lower() for word in words] for words in (was, now))
    new = [at for at, word in enumerate(told) if word not in STOP and word not in held]
    about = {*held} & {*told} - STOP and 2 * len(new) <= len(told)
    if not new or not about or new[-1] - new[0] >= len(new) or hint(said) < 0:
        return ""
    begin, close = _half(old, said)
    was = [word for word in was if begin <= word.start() < close]
    held = [word[0].lower() for word in was]
    start = [*map(eq, held, told), False].index(False)
    end = [*map(eq, held[start:][::-1], told[start:][::-1]), False].index(False)
    first, last, long = new[0], new[-1] + 1, len(held) - len(told) > 1
    until = (at := _beside(held, told, start, first, last)) + len(new)
    places = [] if long or not start + end else [(start, len(held) - end, start, len(told) - end)]
    if long or (told[first - 1] in held and not {*held[at:until]} & {*told}):
        places.append((at, until, first, last))
    for at, until, first, last in places:
        if at < 0 or until > len(held) or {*held[at:until]} <= STOP:
            continue
        value, place = said[now[first].start() : now[last - 1].end()], old[was[at].start() :]
        begins, named = {told[first], held[at]}, at and place[0].isupper() > value[0].isupper()
        digits = {re.search(r"\d", "".join(one)) is None for one in (value, held[at:until])}
        if named or len(digits) > 1 or (len(begins) > 1 and begins & STOP):  # on Friday, in room 4
            continue
        value = value[0].upper() + value[1:] if not at and place[0].isupper() else value
        return old[: was[at].start()] + value + old[was[until - 1].end() :]
    return ""


def _half(old: str, said: str) -> tuple[int, int]:
    """Where that stands in a text of two halves which something said is about."""
    halves = [0, *(at for one in re.finditer(_HALVES, old) for at in one.span()), len(old)]
    spans = [*zip(halves[::2], halves[1::2], strict=True)]
    parts = [re.findall(_WORD, old[start:end].lower()) for start, end in spans]
    words, least = re.findall(_WORD, said.lower()), min(map(len, parts))  # "Tom and Anna"
    words = words[[*map(eq, words, parts[0]), False].index(False) :]  # "Zoe has" is said of both
    of = ([one for one, part in zip(spans, parts, strict=True) if word in part]
          for word in words if word not in STOP)  # fmt: skip
    return next((found[0] for found in of if len(found) == 1 < least), (0, len(old)))


def _beside(held: list[str], told: list[str], start: int, first: int, last: int) -> int:
    """Where the words stand that have the same neighbour as the new ones; -1 where none do."""
    if last < len(told) and held.count(told[last]) == 1:
        return held.index(told[last]) - (last - first)
    before = next((at for at in range(first - 1, -1, -1) if told[at] not in STOP - {*held}), -1)
    if before < start:
        return before + 1 if before >= 0 else -1
    return held.index(told[before]) + 1 if held.count(told[before]) == 1 else -1


def names_another(said: str, value: str, text: str) -> bool:
    """Whether what was switched, or from what, is named, and the text does not speak of it."""
    switched = re.search(SWITCHED, said)
    before = said[: switched.start()].lower() if switched else ""
    subject = [word for word in re.findall(r"\w{2,40}", before) if word not in _PASSED_OVER]
    source = re.findall(r"(?<=\w )[A-Z][\w.-]+", said.replace(value, ""))
    there = text.lower()
    return any(
        named and not any(name.lower() in there for name in named) for named in (subject, source)
    )


def _fits(old: str, value: str, said: str) -> float:
    words = re.findall(r"\w+", old)
    if all(word.lower() in STOP for word in words) or "User" in words:
        return 0.0
    named = re.search(rf"(?i)\b{re.escape(old)}\b", said) is not None
    gone = re.search(_GONE.format(re.escape(old)), said, re.IGNORECASE) is not None
    numbers = any(
        all(re.search(kind, one) for one in (old, value)) for kind in (r"\d", _DAY_ABROAD)
    )
    begin = words[0].lower() not in STOP and words[0][0].isupper()  # no sentence's first word
    names = begin and value[0].isupper() and old.isupper() == value.isupper()
    shorter = _LONGER * abs(len(old.split()) - len(value.split()))
    slipped = " " not in old and misspelt(old, value)
    known = 2 * (gone or slipped) - named + _NUMBERS * numbers + _NAMES * names
    return likeness(old, value) + known - shorter
