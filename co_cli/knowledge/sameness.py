"""Whether two texts say the same thing to the word; what may be consolidated without asking.

The rule: Unicode compatibility forms, case, white space, quotes and brackets round a word,
trailing `.,;:!`, and the fillers a, an, the, that, please do not matter. Where one of these
carries meaning (grade A, x², MB/s against Mb/s, feat!:, [0, 1), an indented line) it does. A
missed *same* costs a question; a wrong one costs a fact.
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

_LONG = 64 * 1024  # no saved text is longer; what decay joined is compared to the letter
_FILLERS = frozenset(("a", "an", "the", "that", "please"))
_OPEN, _CLOSE = "([{", ")]}"
_QUOTES = "\"'`“”„‟‘’‚‛«»‹›「」『』"
_EDGES = _OPEN + _CLOSE + _QUOTES
_INDENTED = re.compile(r"\n[ \t]+\S|```|~~~")
_SPECIAL_FORMS = ("<super>", "<sub>", "<fraction>")
# Words that are something else in capitals: it and IT, us and US.
_TWO_MEANINGS = frozenset("it us who or in go is as be no on me id".split())
_NEGATIONS = frozenset(("not", "no", "never", "without"))  # (not) allowed may mean either


class _Word(NamedTuple):
    text: str
    folded: str
    wrapped: str
    fillers: frozenset[str]
    fixed: bool  # a unit or a single letter: its case counts


def key(text: str) -> tuple[str, ...]:
    """What two texts must share to be the same at all."""
    if len(text) > _LONG:
        return (text.strip(),)
    return tuple(word.folded for word in _words(text))


def longest_word(text: str) -> str:
    """The longest word that a text of the same meaning must hold; rules most notes out quickly."""
    return max(key(text), key=len, default="")


def same(old: str, new: str) -> bool:
    """Whether both texts say the same and differ only in what never carries meaning."""
    if max(len(old), len(new)) > _LONG:
        return old.strip() == new.strip()
    if _INDENTED.search(old.strip()) or _INDENTED.search(new.strip()):
        return old.strip().replace("\r\n", "\n") == new.strip().replace("\r\n", "\n")
    left, right = _words(old), _words(new)
    if len(left) != len(right) or not left:
        return old.strip() == new.strip()
    shouted = old.isupper() or new.isupper()
    turkish = not {"ı", "İ"}.isdisjoint(old + new)
    return all(
        (a.text == b.text or (not turkish and _case_apart(a, b, shouted)))
        and (a.wrapped == b.wrapped or not (a.wrapped and b.wrapped))
        and (a.fillers <= b.fillers or b.fillers <= a.fillers)
        for a, b in zip(left, right, strict=True)
    )


def _case_apart(a: _Word, b: _Word, shouted: bool) -> bool:
    """Whether two words differ in case alone, and harmlessly."""
    if a.folded != b.folded:
        return False
    if shouted:
        return True
    if a.fixed or b.fixed:
        return False
    if a.text.isupper() or b.text.isupper():  # which is how ß comes to be written SS
        plain = all(word.text.isupper() or word.text[1:].islower() for word in (a, b))
        return plain and a.folded not in _TWO_MEANINGS
    return a.text[1:] == b.text[1:]


def _words(text: str) -> list[_Word]:
    raw = text.split()
    found: list[_Word] = []
    fillers: list[str] = []
    for index, shown in enumerate(raw):
        last = index == len(raw) - 1
        ends = last or raw[index + 1][:1].isupper()
        bare, wrapped = _strip(_compatible(shown), ends)
        if not last and bare == shown and _is_filler(bare, first=index == 0):
            fillers.append(bare.lower())
            continue
        if bare.casefold() in _NEGATIONS:
            bare, wrapped = shown, ""
        number = index > 0 and raw[index - 1][-1:].isdigit()
        fixed = (number and len(bare) <= 3) or (len(bare) == 1 and index > 0)
        found.append(_Word(bare, bare.casefold(), wrapped, frozenset(fillers) - {"please"}, fixed))
        fillers = []
    return found


def _is_filler(word: str, *, first: bool) -> bool:
    return word.lower() in _FILLERS and (word != "A" or first)


def _compatible(word: str) -> str:
    """NFKC, except where a raised or lowered character is a different number."""
    if word.isascii():
        return word
    if any(unicodedata.decomposition(char).startswith(_SPECIAL_FORMS) for char in word):
        return unicodedata.normalize("NFC", word)
    return unicodedata.normalize("NFKC", word)


def _strip(word: str, ends: bool) -> tuple[str, str]:
    """The word without its punctuation, and the kind of brackets or quotes it stood in."""
    bare = _strip_end(word, ends)
    core = bare.strip(_EDGES)
    if not core or (any(char.isdigit() for char in core) and _is_marked(bare, core)):
        return bare, ""
    inner = _strip_end(core, ends)
    return inner, _kind(bare, core)


def _is_marked(bare: str, core: str) -> bool:
    """Whether quotes or brackets beside a number may say something about it: 6', "1.10", [0."""
    return bare != core and not (bare[0] == "(" and bare[-1] == ")")


def _strip_end(word: str, ends: bool) -> str:
    """Drop trailing punctuation that only ends a phrase."""
    while len(word) > 1 and word[-1] in ".,;:!":
        if not (word[-2].isalnum() or word[-2] in _EDGES + "!."):
            break
        if word[-1] == "!" and not ends:
            break
        if word[-2:] in ("..", "!!") or word[0] in ":/":
            break
        word = word[:-1]
    return word


def _kind(bare: str, core: str) -> str:
    edges = set(bare) - set(core)
    return "".join(sorted({"q" if char in _QUOTES else char for char in edges if char in _EDGES}))
