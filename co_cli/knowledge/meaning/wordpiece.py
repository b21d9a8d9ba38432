"""Text cut into the pieces that the encoders know: BERT's uncased WordPiece. Knows no vectors."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from struct import Struct

from co_cli.knowledge.search.words import STOP, Remembered

_LONGEST = 100  # letters of a word; a longer one is no word
_ENGLISH = 0.62  # share of whole words and of small words; German, French and Spanish stay below
_FEW, _CRUMB = 5, 2.5  # of fewer words only pieces of so many letters are asked
_REMEMBERED = 50_000  # words whose pieces are kept
_COUNTS = Struct("<5H")
_LATIN_ENDS = "\u0250"
_PLAIN = re.compile(r"[a-z0-9]+|[!-/:-@\[-`{-~]")
_IDEOGRAPH = (  # compiled where there is other text than ASCII
    "[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002a6df\U0002a700-\U0002ceaf"
    "\U0002f800-\U0002fa1f]"
)


def tagged(text: str, tags: Iterable[str]) -> str:
    """A note as it is read for its meaning: its text, and the tags that people gave it."""
    own = ", ".join(tag for tag in tags if not tag.startswith("_"))
    return f"{text} ({own})" if own else text


class WordPiece:
    """Words to the numbers of their pieces; a word that is no sum of pieces is unknown."""

    def __init__(self, vocabulary: Iterable[str]) -> None:
        self._numbers = {piece: number for number, piece in enumerate(vocabulary)}
        marks = ("[UNK]", "[CLS]", "[SEP]")
        self.unknown, self.first, self.last = map(self._numbers.__getitem__, marks)
        self._known = Remembered(self._counted, _REMEMBERED)

    def known(self, text: str, most: int) -> list[int]:
        """A text's first pieces, or none where it does not look like English.

        English is made of words that are pieces of their own, and held together by its small
        words; other languages, other scripts and hashes are cut into crumbs.
        """
        if not (found := [*map(self._known.__getitem__, islice(words(text), most))]):
            return []
        pieces, counts = zip(*found, strict=True)
        letters, whole, spelt, small, crumbs = _COUNTS.unpack(sum(counts).to_bytes(10, "little"))
        short = 0 < spelt < _FEW and letters - whole >= _CRUMB * crumbs
        if short or (letters and whole / letters + small / spelt >= _ENGLISH):
            return list(chain.from_iterable(pieces))[:most]
        return []

    def spells(self, text: str, most: int) -> bool:
        """Whether there are words of letters among a text's first ones, in whatever language."""
        return any(word.isalpha() for word in islice(words(text), most))

    def cut(self, text: str, most: int) -> list[int]:
        """A text's first pieces, whatever language it is in."""
        return [piece for word in islice(words(text), most) for piece in self.word(word)][:most]

    def _counted(self, word: str) -> tuple[tuple[int, ...], int]:
        """A word's pieces; its letters, those in whole words, words, small words and crumbs.

        The counts are one number, 16 bits for each, so that one sum adds all of them.
        """
        pieces, letters, plain = self.word(word), min(len(word), _LONGEST), word.isascii()
        if not word.isalpha():
            counts = 0, 0, 0, 0, 0
        elif len(pieces) == 1 and plain:
            counts = letters, letters, 1, int(word in STOP), 0
        else:
            counts = letters, 0, 1, 0, len(pieces) if plain else letters
        return pieces, int.from_bytes(_COUNTS.pack(*counts), "little")

    def word(self, word: str) -> tuple[int, ...]:
        """The longest piece that a word begins with, then the longest that goes on from there."""
        found: list[int] = []
        start = 0
        while start < len(word) <= _LONGEST:
            for end in range(len(word), start, -1):
                number = self._numbers.get("##" * (start > 0) + word[start:end])
                if number is not None:
                    found.append(number)
                    start = end
                    break
            else:
                return (self.unknown,)
        return tuple(found) or (self.unknown,)


def words(text: str) -> Iterable[str]:
    """Lower-case words without accents; each punctuation mark and ideograph is a word."""
    if text.isascii() and text.isprintable():  # most are, and this is three times as quick
        return _PLAIN.findall(text.lower())
    if len(parts := text.split()) > 1:
        return chain.from_iterable(map(words, parts))
    return "".join(map(_spaced, unicodedata.normalize("NFD", text.lower()))).split()


def is_readable(text: str) -> bool:
    """Whether a text may be in a language that the reader knows: most letters are Latin."""
    letters = [char for char in text if char.isalpha()]
    return 2 * sum(char < _LATIN_ENDS for char in letters) >= len(letters)


def spelled(text: str) -> Iterator[tuple[str, tuple[int, int]]]:
    """The words of a text with the places they have in it."""
    for found in re.finditer(r"\w+|[^\w\s]", text):
        for word in words(found[0]):
            yield word, found.span()


def _spaced(char: str) -> str:
    """A letter, nothing for what is left out, and space around what is a word of its own."""
    kind = unicodedata.category(char)
    if kind in ("Mn", "Cc", "Cf", "Co") or char == "\ufffd":
        return ""
    mark = char < "\x7f" and not char.isalnum()  # BERT's: all of ASCII but letters and digits
    return f" {char} " if kind[0] in "PZ" or mark or re.match(_IDEOGRAPH, char) else char
