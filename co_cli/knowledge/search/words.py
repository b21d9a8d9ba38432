"""How text becomes words to look for: the same for a note, a question and a highlight.

An identifier or path is one word and its parts; scripts without spaces go by pairs of letters.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TypeVar

_T = TypeVar("_T")
WORD = re.compile(r"#?[^\W_]+(?:(?:['’]|[_./#+:@-]+)[^\W_]+)*(?:\+\+|#)?")
_PARTS = r"[^\W_]+"
_HUMPS = r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+"
_DENSE = (
    "[\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
    "\uf900-\ufaff\U00020000-\U0003ffff]+"
)
MONTHS = (
    "january february march april may june july august september october november december"
).split()
STOP = frozenset(
    "a about after all also am an and any are as at be because been before being both but by can "
    "could did do does doing done down during each ever few for from further had has have having "
    "he her here hers him his how i if in into is it its itself just let me more most my no nor "
    "not now of off on once only or other our out over own same she should so some such than that "
    "the their them then there these they this those through to too under until up us very was we "
    "were what when where which while who whom whose why will with would you your yours".split()
)
_KIN = """
go went gone|buy bought|win won|make made|take took taken|meet met|teach taught|write wrote written|
give gave given|see saw seen|begin began begun|bring brought|come came|eat ate eaten|fall fell
fallen|feel felt|find found|fly flew flown|grow grew grown|hear heard|keep kept|know knew known|
leave left|lose lost|pay paid|ride rode ridden|run ran|say said|sell sold|send sent|sing sang sung|
sleep slept|speak spoke spoken|spend spent|swim swam swum|tell told|think thought|wear wore worn|
drive drove driven|draw drew drawn|drink drank drunk|break broke broken|build built|catch caught|
choose chose chosen|fight fought|forget forgot forgotten|hold held|lead led|mean meant|sit sat|
stand stood|steal stole stolen|throw threw thrown|understand understood|wake woke woken|become
became|hide hid hidden|shake shook shaken|shoot shot|rise rose risen|freeze froze frozen|bite bit
bitten|blow blew blown|deal dealt|feed fed|hang hung|light lit|seek sought|sink sank sunk|stick
stuck|strike struck|sweep swept|swear swore sworn|tear tore torn|child children kid kids|man men|
woman women|person people|foot feet|tooth teeth|mouse mice|mother mom mum|father dad|wife wives|
knife knives|leaf leaves|shelf shelves|half halves|photo photograph picture pic photos pictures
pics|tv television|bike bicycle|favorite favourite|color colour|behavior behaviour|
grandma grandmother|grandpa grandfather|repository repo repos|configuration config configs|
database db databases dbs|documentation docs|authentication auth|environment env|development dev|
production prod|application app|kubernetes k8s|javascript js|typescript ts|python py|manager boss
"""
SHORT = {"bday": "birthday", "appt": "appointment", "addr": "address", "tel": "phone",
         "fav": "favorite", "fave": "favorite", "mgr": "manager"}  # fmt: skip
BASE = {word: kin[0] for kin in map(str.split, _KIN.split("|")) for word in kin[1:]} | SHORT


@lru_cache(16_384)
def analysed(text: str) -> str:
    """The terms of a text in its order, with spaces between."""
    return " ".join(map(_TERMS.__getitem__, text.split()))


def terms(word: str) -> list[str]:
    """The terms of one written word; none for a stop word."""
    return _TERMS[word].split()


class Remembered(dict[str, _T]):
    """What is made of each text, remembered for so many; quicker than a cache that keeps order."""

    def __init__(self, make: Callable[[str], _T], most: int) -> None:
        self._make, self._most = make, most

    def __missing__(self, text: str) -> _T:
        if len(self) >= self._most:
            self.clear()
        found = self[text] = self._make(text)
        return found


def _found_by(piece: str) -> str:
    """The terms of what stands between two spaces."""
    bare = piece.rstrip(".,;:!?")
    low = bare.lower()
    if bare.isascii() and bare.isalpha() and bare[1:] == low[1:]:  # nearly every one
        return "" if low in STOP else BASE.get(low, low)
    return " ".join(term for word in WORD.findall(piece) for term in dict.fromkeys(_terms(word)))


_TERMS = Remembered(_found_by, 100_000)


def whole_and_parts(word: str) -> tuple[list[str], list[str]]:
    """The terms of one written word: those that are the whole of it, and those that are parts."""
    found = terms(word)
    if len(found) < 2:
        return found, []
    if is_dense(word):
        return [], [pair for pair in found if len(pair) > 1]
    whole = [found[0], "".join(re.findall(_PARTS, found[0]))] if found[0] in word.casefold() else []
    return [term for term in found if term in whole], [t for t in found if t not in whole]


def is_dense(word: str) -> bool:
    """Whether a word is of a script that puts no spaces between words."""
    return not word.isascii() and re.search(_DENSE, word) is not None


def slip(one: str, other: str) -> bool:
    """Whether one letter more, less or different, or two swapped, make one word the other."""
    pairs = enumerate(zip(one, other, strict=False))
    same = next((at for at, (left, right) in pairs if left != right), len(min(one, other)))
    one, other = one[same:], other[same:]
    swapped = one[:2] == other[:2][::-1] and one[2:] == other[2:]
    return swapped or one[1:] in (other, other[1:]) or one == other[1:]


def folded(text: str) -> str:
    """The text as a substring is looked for in it: case, width and white space do not matter."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    return " ".join(text.casefold().split())


def _terms(word: str) -> Iterator[str]:
    if not word.isascii():
        word = unicodedata.normalize("NFKC", word)
        if is_dense(word):
            yield from _pairs(word)
            return
    low = word.casefold()
    if low.isalpha() and (low == word or low == word[0].lower() + word[1:]):
        if low not in STOP:
            yield BASE.get(low, low)
        return
    low = low.replace("’", "'").removesuffix("'s")
    if "'" in low:
        yield from (part for part in low.split("'") if len(part) > 1 and part not in STOP)
        return
    if low not in STOP:
        yield low[:100]
    parts = re.findall(_PARTS, word.removesuffix("'s"))
    humps = [hump for part in parts for hump in re.findall(_HUMPS, part)] if word != low else []
    pieces = [part.casefold() for part in (*parts, *humps)]
    if len(parts) == 2 and all(part.isalpha() for part in parts):
        yield "".join(pieces[:2])
    yield from (
        piece for piece in pieces if piece not in STOP and (len(piece) > 1 or piece.isdigit())
    )


def _pairs(word: str) -> Iterator[str]:
    """Letters by twos, the last one alone too, so that one letter is found as a beginning."""
    for number, run in enumerate(re.split(f"({_DENSE})", word)):
        if number % 2:  # what the pattern found
            yield from (run[at : at + 2] for at in range(len(run)))
        else:
            yield from (term for part in re.findall(_PARTS, run) for term in _terms(part))


def dated(created: str) -> str:
    """A day as the words a question may name it by: 2026-02-09 2026 february."""
    month = created[5:7]
    name = MONTHS[int(month) - 1] if month.isdecimal() and 1 <= int(month) <= 12 else ""
    return f"{created[:10]} {created[:4]} {name}".rstrip()
