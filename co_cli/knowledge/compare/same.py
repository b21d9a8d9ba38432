"""Whether two texts say the same thing to the word; what may be consolidated without asking.

In plain prose these do not matter: Unicode compatibility forms, white space, curly quotes and
apostrophes, quotes round the whole text or round one word, a full stop or ! at the end, the case
of the first word's first letter, a leading "please", "that" after "remember", and "the" before an
ordinary word. A text with anything else in it (a flag, a pattern, code, brackets) is compared to
the letter. A missed *same* costs a question; a wrong one costs a fact.
"""

import re
import unicodedata
from functools import lru_cache
from typing import NamedTuple

_LONG = 64 * 1024  # no saved text is longer; what decay joined is compared to the letter
_SENTENCE = 2  # one word may be a name: Users, 5!
_QUOTES = str.maketrans(dict.fromkeys("“”„‟«»「」『』", '"') | dict.fromkeys("‘’‚‛‹›ʼ", "'"))
_JOINING = "-'.:+/@&,%"  # inside a word of prose: don't, 9:30, 2026-01-15, UTC+2, and/or
# Forms that only look different; a raised 2, a fraction or a bold R is something else.
_FORMS = ("<wide>", "<narrow>", "<compat>", "<square>", "<noBreak>")
_TURKISH = frozenset("ıİğĞşŞ")  # where I is not the capital of i
# Quoted, these are texts: "off" and off are two values.
_VALUES = frozenset("true false null none yes no on off not nan".split())
# After these a word may be meant to the letter: call save!
_NAMING = frozenset("call calls called named titled is are say says type use uses with".split())
_PREPOSITIONS = frozenset("in at by on of to out under".split())  # in the case of, in case of
# A text that speaks of how something is written is meant to the letter as a whole.
_SPELLING = frozenset("regex regexp glob match matches prefix suffix grep sed awk echo".split())
# "The last week" is not "last week", nor "the few" few.
_COUNTING = frozenset(
    "few little most many more less least last next first same other only one two three both who "
    "the".split()
)
_RUN, _FEWEST = 8, 3  # words that nobody says by chance as another did
_UNSPACED = "\u3040-\u30ff\u3400-\u9fff"  # kana and Chinese characters


class _Word(NamedTuple):
    text: str  # without its quotes and its mark
    mark: str  # the punctuation after it
    quoted: bool

    def says(self, *words: str) -> bool:
        return not self.quoted and not self.mark and self.text in words


@lru_cache(1024)
def key(text: str) -> tuple[str, ...]:
    """What a text says, as words; texts that are the same share it, and no others do."""
    body = text.strip().replace("\r\n", "\n")
    if len(body) > _LONG:
        return (body,)
    first, *others = body.split("\n")
    # The line breaks of a paragraph are mere spaces: no list, no code, no line of its own.
    runs_on = all(line[:1].islower() and " " in line.strip() for line in others)
    words = _prose(body) if not others or (runs_on and " " in first.strip()) else None
    return tuple(re.split(r"(\s+)", body) if words is None else _told(words))


def longest_word(text: str) -> str:
    """The longest word that a text of the same meaning must hold; rules most notes out quickly."""
    return max((word for word in key(text) if not word.isspace()), key=len, default="")


def same(old: str, new: str) -> bool:
    """Whether both texts say the same and differ only in what never carries meaning."""
    return key(old) == key(new)


def repeats(text: str, other: str) -> bool:
    """Whether a text holds a run of another's words that is no chance: eight, or most of a few."""
    said, there = bare_words(text), bare_words(other)
    length = min(_RUN, max(_FEWEST, -(-len(said) * 4 // 5)))
    runs = {tuple(said[at : at + length]) for at in range(len(said) - length + 1)}
    ends = range(len(there) - length + 1 if runs else 0)
    return any(tuple(there[at : at + length]) in runs for at in ends)


def bare_words(text: str) -> list[str]:
    """The words without case, marks and where links lead; of scripts without spaces, the signs."""
    shown = re.sub(r"\]\([^()\s]{0,500}\)", "]", unicodedata.normalize("NFKC", text))
    return re.findall(f"[{_UNSPACED}]|[^\\W_{_UNSPACED}]+", shown.casefold())


def _prose(body: str) -> list[_Word] | None:
    """The words of a text that is nothing but prose."""
    text = " ".join(map(_compatible, body.split())).translate(_QUOTES).removesuffix("。")
    for quote in "\"'":
        whole = text[:1] == quote == text.rstrip(".!")[-1:] and text.count(quote) == 2
        if whole and text.count(" ") >= _SENTENCE - 1:
            text = text.replace(quote, "")
    words, inside = [], False
    for shown in text.split():
        ticks = shown.count("`")
        word = _word(shown.replace("`", ""), inside or ticks > 0)
        inside ^= ticks % 2 == 1
        if word is None or (ticks and "`" in shown.strip("`.,;:!?")):
            return None
        words.append(word)
    return None if inside or any(word.text.lower() in _SPELLING for word in words) else words


def _word(shown: str, quoted: bool) -> _Word | None:
    """A word of prose; None for anything that may be more than a word."""
    mark = shown[-1:] if shown[-1:] in ",;:.!?" and not {"/", "@"} & set(shown) else ""
    text = shown.removesuffix(mark)
    for quote in "\"'":
        bare = text[1:-1]
        if text == f"{quote}{bare}{quote}" and bare.lower() not in _VALUES and not _number(bare):
            text, quoted = bare, True
    start = text.removeprefix("~").removeprefix("/")
    plain = start[:1].isalnum() and (text[-1:] not in _JOINING or text[-1] == "%")
    letters = all(c.isalnum() or c in _JOINING or unicodedata.category(c)[0] == "M" for c in start)
    return _Word(text, mark, quoted) if plain and letters else None


def _told(words: list[_Word]) -> list[str]:
    if len(words) > _SENTENCE:
        please = words[0].says("Please", "please") and words[1].text.islower()
        words = words[1:] if please else words
        words = [word for at, word in enumerate(words) if not _is_filler(words, at)]
    told = [word.text + word.mark for word in words]
    if len(words) >= _SENTENCE:
        if _ends(words):
            told[-1] = words[-1].text
        if _begins(words[0], any(not _TURKISH.isdisjoint(word) for word in told)):
            told[0] = told[0][0].lower() + told[0][1:]
    return told


def _is_filler(words: list[_Word], at: int) -> bool:
    """Whether a word is a "the" or "that" without which the text says the same."""
    word, following = words[at], words[at + 1 : at + 2]
    if not following:
        return False
    before, after = words[at - 1].text.lower() if at else "", following[0].text
    if word.says("that"):  # "remember that day" is another that
        return at == 1 and before in ("remember", "note") and (after == "the" or after.istitle())
    if before in _NAMING or not (word.says("the") or (at == 0 and word.says("The"))):
        return False
    if after.islower():
        return after not in _COUNTING and before not in _PREPOSITIONS
    return after.isupper() and len(after) > 1  # the IDE, but not the A


def _ends(words: list[_Word]) -> bool:
    """Whether the last mark only ends the sentence."""
    *_, before, last = words
    if last.mark == "!":
        return _letters(last.text) and before.text.lower() not in _NAMING
    return last.mark == "." and (_letters(last.text) or _number(last.text))


def _begins(word: _Word, turkish: bool) -> bool:
    """Whether the first word may be large only because it is the first."""
    fixed = word.quoted or (turkish and word.text[0] in "iI")
    return not fixed and _letters(word.text) and word.text[1:].islower()


def _letters(text: str) -> bool:
    return not any(char.isdigit() or char in ".:+/@&,%" for char in text)


def _number(text: str) -> bool:
    """Whether it is a number, a time, a version: with digits, and no address."""
    return any(char.isdigit() for char in text) and not re.search(r"[/@&,%]|[^\W\d]\.", text)


def _compatible(word: str) -> str:
    """NFKC, except where a form is a sign of its own."""
    if word.isascii():
        return word
    forms = (unicodedata.decomposition(char) for char in word)
    own = any(form.startswith("<") and not form.startswith(_FORMS) for form in forms)
    return unicodedata.normalize("NFC" if own else "NFKC", word)
