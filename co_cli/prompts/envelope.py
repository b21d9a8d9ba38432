"""The envelope that stored text is put in, and how that text is kept from leaving it.

Knows text only: not where it comes from, nor which model reads it.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from co_cli.knowledge.safety.escape import escape

OPEN, CLOSE = "<system-reminder>", "</system-reminder>"

# What is left of our tag's name, and of the names of turns in chat templates, without the rest.
_OURS = "systemreminder"
_NAMES = (
    f"{_OURS}|im(?:start|end|sep)|eo[tm]id|(?:start|end)headerid|(?:start|end)ofturn"
    "|(?:begin|start|end)of(?:text|sentence|role)|pythontag"
)
# What `escape` puts in place of a hidden character: it stands for nothing here either.
_MARK = r"<U\+[0-9A-F]{4,6}>|\\x(?:[01][0-9a-f]|7f|[89][0-9a-f])"
# A character spelled out, in folded text (where a brace is an angle bracket). `&amp;lt;` counts.
_SPELLED = (
    r"&(?:amp;?|#0*38(?!\d);?|#x0*26(?![0-9a-f]);?)*"
    r"(?:(?P<angle>lt|gt);?|(?P<entity>[a-z][a-z0-9]{1,31};?)"
    r"|#x0*(?P<hex>[0-9a-f]{0,6});?|#0*(?P<decimal>\d{0,7});?)?"
    r"|(?:\\x|\\u000000|=|%(?:25)*(?!25))(?P<byte>[0-9a-f]{2})|\\u<0*(?!0)(?P<braced>[0-9a-f]{2})>"
    r"|[\\%]u(?P<unit>[0-9a-f]{4})|\\0?(?P<octal>7[46])"
)
_ROUNDS = 4  # how often one spelling may stand in another, such as %26lt;
# The name with the brackets and slashes that touch it. A run is entered only where it begins:
# otherwise a long one would be walked through again from each of its characters.
_TAG = rf"(?<![<>/])([<>/]*)({_NAMES})(?=([>/]*))"
_PREFIX = r"(?<=[</:])[\w.-]{1,64}:"  # of a namespace
_INNERMOST = r"<[^<>]*>"
_COMMENT = r"(?s)<!--.*?(?:-->|\Z)"  # to the end, or each that is left open would be walked through

# A tag with letters of other alphabets in it: many of them look like the ones in our name.
_STRANGE = r"[<＜‹〈](\s?[/／∕⁄⧸]?(?=[\w\s\\-]{0,60}[^\W\d_a-zA-Z])[\w-][\w\s\\‐-―-]{7,60})[>＞›〉]"

# A token by which a chat template tells who speaks, written as tokenizers want it. <s> is one too,
# besides HTML for what is struck out. "Human:" is none: models of today take it for prose.
_TOKEN = re.compile(
    r"<(?:\|[^|]+\|?|[^|]+\||/?SYS|/?s|bos|eos|[BE]OS_TOKEN|[es]op|start_of_image"
    r"|/?(?:\w+:)?(?:think|tool_(?:call|response|result)s?|function_(?:call|result)s?))>"
    r"|\[/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_(?:CALLS|RESULTS|CONTENT)|THINK|gMASK)\]"
)
_LESS, _MORE, _BARS = "‹〈⟨❮«《", "›〉⟩❯»》", "¦ǀ∣│┃❘❙"
_MAYBE_TOKEN = rf"[<＜﹤\[［{_LESS}]([\w|｜/／:.▁{_BARS}-]{{1,64}})[>＞﹥\]］{_MORE}]"
_READ_AS = str.maketrans(
    _LESS + _MORE + _BARS, "<" * len(_LESS) + ">" * len(_MORE) + "|" * len(_BARS)
)

_OPENS = r"LESS-THAN|LEFT-POINTING(?! MAG)|LEFT ARROWHEAD|LEFT.* ANGLE|PRECEDES"
_CLOSES = r"GREATER-THAN|RIGHT-POINTING(?! MAG)|RIGHT ARROWHEAD|RIGHT.* ANGLE|SUCCEEDS"
_LETTER = r"(?:LATIN|REGIONAL).* LETTER (?:SMALL CAPITAL )?([A-Z])(?: WITH .*)?$"
# Look-alikes that Unicode does not relate to what they look like. An empty one is a hyphen.
_ALIKE = {character: plain for plain, characters in {
    "<": "<[{ᐸᚲくㄑ𝈶", ">": ">]}ᐳ𝈷", "/": "∕⁄⧸⟋╱〳丿ノ", "": "ー一ᅳـ",
    "d": "ԁժᑯᎠ", "e": "еҽє℮εᎬ", "i": "іıιӏɩᎥ", "m": "мμϻᎷ", "n": "пոηνռ", "r": "гᴦᎡ", "s": "ѕᏚ",
    "t": "тτᎢ", "y": "уүγυყᎽ",
}.items() for character in characters}  # fmt: skip


def wrap(text: str) -> str:
    """The text in the envelope, unable to leave it."""
    return f"{OPEN}\n{defang(text)}\n{CLOSE}"


def defang(text: str) -> str:
    """The text with nothing hidden, and round brackets around what looks like the envelope's tag
    or like a token of a chat template.

    Doing it twice is doing it once. A text that only talks of system reminders stays as it is.
    """
    shown = re.sub(_STRANGE, r"(\1)", escape(text.replace("\r\n", "\n")))
    shown = re.sub(_MAYBE_TOKEN, _without_token, shown)
    for _ in range(_ROUNDS):  # a bracket that is taken away may uncover another
        before, shown = shown, _without_tags(shown)
        if shown == before:
            break
    return shown


def _without_tags(shown: str) -> str:
    fold = _Fold()
    plain = _Read(re.sub(_MARK, "", shown).translate(fold))
    if not any(_named(read.text) for read in _readings(plain, fold)):
        return shown  # nearly every text: keeping track of places is what takes time
    found: dict[tuple[int, int], str] = {}
    for read in _readings(_placed(shown, fold), fold):
        found.update(_brackets(read, shown))
    pieces, done = [], 0
    for (start, end), bracket in sorted(found.items()):
        pieces += [shown[done:start], bracket]
        done = end
    return "".join([*pieces, shown[done:]])


def _without_token(found: re.Match[str]) -> str:
    """What may be a token, in round brackets if it is one."""
    plain = unicodedata.normalize("NFKC", found[0]).translate(_READ_AS)
    return f"({found[1]})" if _TOKEN.fullmatch(plain) else found[0]


class _Read(NamedTuple):
    """A text as it reads, and where in the text that is shown each of its characters is."""

    text: str
    places: Sequence[tuple[int, int]] = ()

    def sub(self, pattern: str, plain: Callable[[re.Match[str]], str]) -> _Read:
        """The same with what is found read as something else."""
        if not self.places:
            return _Read(re.sub(pattern, plain, self.text))
        text, places, done = [], list[tuple[int, int]](), 0
        for found in re.finditer(pattern, self.text):
            start, end = found.span()
            meant = plain(found)
            text += [self.text[done:start], meant]
            places += self.places[done:start]
            if meant == found[0]:
                places += self.places[start:end]
            else:
                places += [(self.places[start][0], self.places[end - 1][1])] * len(meant)
            done = end
        return _Read("".join([*text, self.text[done:]]), [*places, *self.places[done:]])


def _named(text: str) -> bool:
    """Whether a name that matters is in a folded text, whatever stands between its letters."""
    return re.search(_NAMES, re.sub(r"[\W_]+", "", text)) is not None


def _placed(shown: str, fold: _Fold) -> _Read:
    found = [one for one in re.finditer(rf"{_MARK}|(.)", shown, re.DOTALL) if one[1]]
    folded = [(fold[ord(one[1])], one.span()) for one in found]
    places = [span for plain, span in folded for _ in plain]
    return _Read("".join(plain for plain, _ in folded), places)


def _readings(read: _Read, fold: _Fold) -> Iterator[_Read]:
    """A folded text in every way it may be read: decoded, and without what stands between."""
    for _ in range(_ROUNDS):
        before, read = read, read.sub(_SPELLED, lambda found: _spelled(found, fold))
        if read == before:
            break
    yield read
    for pattern in (_COMMENT, _PREFIX, *[_INNERMOST] * _ROUNDS):
        before, read = read, read.sub(pattern, partial(_between, read.places))
        if read.text != before.text:
            yield read


def _between(places: Sequence[tuple[int, int]], found: re.Match[str]) -> str:
    """Nothing for a comment, a namespace or a tag; one that holds a name that matters stays."""
    text, behind = found[0], places[found.end() - 1 : found.end() + 1]
    spaced = text[-1] == ":" and len(behind) == 2 and behind[0][1] != behind[1][0]
    endless = found.re.pattern == _COMMENT and not text.endswith("-->")
    return text if spaced or endless or _named(text) else ""


def _brackets(read: _Read, shown: str) -> Iterator[tuple[tuple[int, int], str]]:
    """The places of the brackets to take away, each with what to put there."""
    kept = [at for at, key in enumerate(read.text) if key.isalnum() or key in "<>/"]
    keys = "".join([read.text[at] for at in kept])
    for tag in re.finditer(_TAG, keys):
        before, name, after = tag.groups()
        opening = before.rpartition(">")[2]  # `[ ] system reminder` is a task, not a tag
        if "<" in opening or ("/" in before and ">" in after):
            for at in (*range(tag.end(1) - len(opening), tag.end(1)), *range(*tag.span(3))):
                place = read.places[kept[at]]
                prose = name != _OURS and shown[place[0]] in "[]{}"  # [end of text]
                if keys[at] != "/" and not prose:
                    yield place, "(" if keys[at] == "<" else ")"


def _spelled(found: re.Match[str], fold: _Fold) -> str:
    """What a spelled-out character stands for, folded; any other text is itself."""
    if (kind := found.lastgroup) is None:
        return "" if found[0][0] == "&" else found[0]
    value = found[kind]
    if kind == "angle":
        return "<" if value == "lt" else ">"
    if kind == "entity":  # by a name: one that is unknown still reads as some character
        meant = html.unescape(f"&{value}")
        return "" if meant == f"&{value}" and value[-1] == ";" else meant.translate(fold)
    code = int(value or "0", {"decimal": 10, "octal": 8}.get(kind, 16))
    return fold[code] if code < 0x110000 else ""


class _Fold(dict[int, str]):
    """Characters to what they read as: plain, small, without marks. Made anew for each text,
    for a long-lived one would grow with every strange character it meets."""

    def __missing__(self, code: int) -> str:
        parts = unicodedata.normalize("NFKD", chr(code))
        # Marks go first: one of them is a letter in small.
        plain = "".join(part for part in parts if unicodedata.category(part)[0] != "M").casefold()
        self[code] = "".join(map(_alike, plain))
        return self[code]


def _alike(character: str) -> str:
    if character in _ALIKE or character.isascii():
        return "" if character.isspace() else _ALIKE.get(character, character)
    kind, name = unicodedata.category(character), unicodedata.name(character, "")
    if kind[0] in "CM":
        return ""
    if letter := re.search(_LETTER, name):
        return letter[1].lower()
    quotes = "QUOTATION" in name  # a low one opens in German
    if re.search(_OPENS, name) or (kind == "Ps" and not quotes):
        return "<"
    return ">" if re.search(_CLOSES, name) or (kind == "Pe" and not quotes) else character
