"""Whether a note may be told as the answer to a question, and not only as near it.

Knows no notebook; which note is nearest is the search's to say.
"""

import re
from contextlib import suppress

from co_cli.errors import EmbedderUnavailable
from co_cli.knowledge.meaning.encoders import built_in
from co_cli.knowledge.replacement import hint, likeness
from co_cli.knowledge.search.words import BASE, MONTHS, STOP, slip

REASON = r"(?i)\b(?:because|since|so that|due to|in order to|as (?:we|it|the)|to avoid|reason)\b"
ELLIPTIC = (  # what says nothing by itself, and asks of what was told before
    r"(?i)^(?:(?:and|but|so|in|at|on|from|to|for|with) ){0,3}(?:(?:which|what|how|whose) \w+"
    r"|\w+ or \w+)\W{0,3}$|\b(?:he|she|him|her|hers|they|them|mine)\b"
)
POINTS_BACK = r"(?i)(?:when|where|how|what time)\b.{1,200}(?<! is)(?<! was) (?:it|them)\W{0,3}$"
_SHARED, _MET = 0.6, 0.2  # how like a word of a note is to one of the question: the same, or met
_TAKEN_UP = 0.5  # or of the same matter
_SHORT = 3  # letters; a slip makes another word of a shorter one
_ASKING = {"name", "names", "called", "kind", "type", "sort", "tell", "know", "remember", "recall",
           "much", "many", "use", "like"} | set(
    "wo wann wer wie was ist sind hat ich wir der die das den mein meine unser unsere où quand qui "
    "quel quelle est le la les mon ma notre es el los las dónde cuándo quién qué mi nuestro viel "
    "viele habe hast muss zu zum zur dem ein eine einen meinen meinem er sie que je il".split()
)  # fmt: skip
_DAYS = "monday|tuesday|wednesday|thursday|friday|saturday|sunday"
_TIMES = rf"(?:{_DAYS}|{'|'.join(MONTHS)})s?\b"
_NUMBERS = "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
_SORTS = {  # what is asked for, and what must stand there then
    r"\bwhy\b|\bhow come\b": REASON,
    r"\b(?:when|(?:what|which) (?:time|day|date|month|year)|how often)\b": (
        rf"(?i)\d|\b(?:{_TIMES}|(?:{_NUMBERS}|every|each|until|daily|weekly|monthly|quarterly"
        r"|yearly|noon|midnight|morning|evening|night|spring|summer|autumn|winter|today|tomorrow)\b)"
    ),
    r"\bhow old\b": rf"(?i)\b(?:is|was|turn(?:s|ed)|aged?) \d{{1,3}}\b(?! (?:{'|'.join(MONTHS)}))"
    r"|\d (?:years?|months?|weeks?|days?)\b|\bborn\b",
    r"\bhow (?:many|much|long|big|large|far|tall|fast)\b"
    r"|\b(?:(?:phone )?number|port|version|price|costs?|fee)\b": (
        rf"(?i)\b\d{{1,12}}(?!\w?(?:st|nd|rd|th)\b)|\b(?:{_NUMBERS}|once|twice|dozen|hundred"
        r"|thousand|half|every|no)\b"
    ),
    r"\bdo(?:es)? (?:\w+ ){1,3}(?:like|love)\b": r"(?i)lik|lov|enjoy|prefer|favou?r|\bhate|\bfan\b",
    r"\bwhere\b": r"(?i)/|\b(?:in|on|at|under|near|behind|with|from|to|into|over|by|via|through"
    r"|inside|between|beside|above|below)\b",
}
_NAME = rf"(?!User\b|(?i:{_TIMES}))[A-Z][\w-]*"
_KIN = (  # who is one of these is none of the others
    "wife husband son daughter brother sister mother father uncle aunt nephew niece dog cat horse"
)
_OWNS = r"\b(?!(?:wh\w+|how|it|that|there|s?he|let)'s)(my|our|\w+(?='s))(?:'s)? (\w+)"
_FIRST = (  # who does something
    r"^[A-Z][\w-]*(?: (?:\w{1,20}[^\Ws]s|[ai]s|has|\w{2,9}n't)|(?<!s) (?:was|had|\w{1,20}ed))\b"
)


def answers(question: str, text: str) -> bool:
    """Whether a text that is near a question holds the sort of thing it asks for.

    What shares a word with the question has to leave none of its other words aside either.
    """
    low = question.lower()
    cue, needed = _sort(low)
    if not re.search(needed, text):
        return False
    asked = _words(re.sub(cue, " ", low) if cue else question)
    if re.search(r"\bwho(?:m|se)?\b", low) and not _names(text) - {*re.findall(r"[\w-]+", low)}:
        return False
    other = re.match(r"User's (\w+)", text)
    alone = other and not re.search(r"\bUser\b(?!')", text)
    theirs = other and alone and re.search(r"\bi\b", low) and other[1].lower() not in low
    if theirs or (re.search(r"\bdid i\b", low) and not re.search(r"\b(?:User|[Ww]e)\b", text)):
        return False  # it is about somebody of theirs, or about nobody
    said = _words(text)
    met = {word: max((_like(word, one) for one in said), default=0.0) for word in asked}
    for one, other in re.findall(r"(\w{2,40}) or (\w{2,40})", low):
        if {one, other} <= met.keys():  # either is enough
            met[one] = met[other] = max(met[one], met[other])
    least = _TAKEN_UP if re.match(r"(?:and |so )?(?:do|does|did|is|are|can|has) ", low) else _MET
    return max(met.values(), default=0.0) < _SHARED or min(met.values()) >= least


def about_another(question: str, text: str) -> bool:
    """Whether a text says of somebody else what the question asks about one person."""
    low, said = question.lower(), text.lower()
    kin = {*_KIN.split()}
    asked, told = (kin & {BASE.get(w, w) for w in re.findall(r"\w+", one)} for one in (low, said))
    if asked and told and asked.isdisjoint(told):
        return True
    for owner, thing in re.findall(_OWNS, low):
        mine = rf"\buser\b(?!'s \w+'s {thing})|\b(?:we|our)\b"
        known = re.search(mine if owner in ("my", "our") else rf"\b{owner}", said)
        if not known and re.search(rf"\w's (?:\w+ )?{thing}", said):
            return True
    for doer, verb in re.findall(r"\b(?:do|does|did) (?:my |our |the )?(?!we )(\w+) (\w+)", low):
        known = re.search(r"\buser\b(?!')|\bwe\b" if doer == "i" else rf"\b{doer}", said)
        other = rf"\b(?!User\b)(?:[A-Z][\w-]{{1,40}}|(?i:{_KIN.replace(' ', '|')})) {verb}e?[sd]\b"
        if not known and re.search(other, text):
            return True
    return False


def speaks_of(question: str, text: str) -> bool:
    """Whether a text may hold what is asked for, and names all that the question does, or whom."""
    if not re.search(_sort(question.lower())[1], text):
        return False
    what = re.sub(r"(?i)\b(?:do|did) i \w+|-", " ", question)  # what I do is done by many
    return holds(what, text) or not _names(text).isdisjoint(_words(what))


def holds(what: str, text: str) -> bool:
    """Whether all that is named stands in the text."""
    asked, said = (_words(one.replace("-", " ")) for one in (what, text))
    return bool(asked) and all(any(_like(word, one) >= _SHARED for one in said) for word in asked)


def held(question: str, text: str) -> bool:
    """Whether a text once was the answer: all that is asked about stands in it."""
    low = question.lower()
    return answers(question, text) and holds(re.sub(_sort(low)[0] or "$^", " ", low), text)


def continues(question: str, old: str, new: str) -> bool:
    """Whether what may replace an old text tells more of what is asked for, of the same subject.

    Who has left no longer does what is asked about: a change of the subject is enough.
    """
    names = _names(old) | _names(new)
    asked = [word for word in _words(question) if word not in names]
    taken_up = any(_like(word, one) >= _TAKEN_UP for word in asked for one in _words(new))
    [*first], said = (re.findall(r"\w+", one.lower()) for one in (old, new))
    subject = [word for word in first if word not in STOP and word != "user"][:1]
    changed = hint(new) > 0 and held(question, old) and {*subject} <= {*said}
    return changed or (taken_up and {*first[:1]} <= {*said})


def shares(question: str, text: str) -> bool:
    """Whether a word of the question stands in the text, or one that means the same."""
    said = _words(text)
    return any(_like(word, one) >= _SHARED for word in _words(question) for one in said)


def about_asker(question: str, text: str, least: float = _SHARED) -> bool:
    """Whether a person asks about themselves what a note about them says, in a word so like."""
    own = re.search(r"(?i)\b(?:i|me|my|mine)\b", question) and re.search(r"\bUser\b", text)
    asked, said = (
        {word for word in re.findall(r"\w{3,40}", one.lower()) if word not in STOP}
        for one in (question, text)
    )
    return bool(own) and any(_like(one, other) >= least for one in asked for other in said)


def misspelt(question: str, text: str) -> bool:
    """Whether a word of the question that means nothing is one of the text's but for a slip."""
    said = _words(text)
    with suppress(EmbedderUnavailable):
        strange = [w for w in _words(question) if len(w) > _SHORT and not built_in().knows(w)]
        return any(slip(word, one) for word in strange if word not in said for one in said)
    return False


def _sort(low: str) -> tuple[str, str]:
    """How a question asks for a sort of thing, and what must stand there then; "" for any."""
    return next((sort for sort in _SORTS.items() if re.search(sort[0], low)), ("", ""))


def _like(one: str, other: str) -> float:
    return 1.0 if _root(one) == _root(other) else likeness(one, other)


def _root(word: str) -> str:
    base = re.sub(r"(?<=\w\w)ies?$", "y", BASE.get(word, word))
    return re.sub(r"(?<=[cs]h)es?$|(?<=x)es?$", "", base).rstrip("s")


def _words(text: str) -> list[str]:
    found = re.findall(r"[\w-]{2,40}", text.lower())
    return [word for word in dict.fromkeys(found) if word not in STOP and word not in _ASKING]


def _names(text: str) -> set[str]:
    """What may be called so, in lower case; a first word only where it does something."""
    found = {name.lower() for name in re.findall(rf"(?<=[\w,.'] ){_NAME}", text)}
    first = re.match(_FIRST, text)
    return found | ({text.split(maxsplit=1)[0].lower()} - STOP - {"user"} if first else set())
