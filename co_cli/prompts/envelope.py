"""The envelope that stored text is put in, and how that text is kept from leaving it.

Knows text only: not where it comes from, nor which model reads it.
"""

from __future__ import annotations

import html
import re
import unicodedata

from co_cli.knowledge.visible import visible

__all__ = ["CLOSE", "OPEN", "defang", "wrap"]

OPEN, CLOSE = "<system-reminder>", "</system-reminder>"

_NAME = "systemreminder"  # what is left of the tag's name without its hyphen
# What `visible` puts in place of a hidden character: it stands for nothing here either.
_MARK = r"<U\+[0-9A-F]{4,6}>|\\x(?:[01][0-9a-f]|7f|[89][0-9a-f])"
# A character spelled out, in folded text (where a brace is an angle bracket). `&amp;lt;` counts.
_SPELLED = (
    r"&(?:amp;?|#0*38(?!\d);?|#x0*26(?![0-9a-f]);?)*"
    r"(?:(?P<angle>lt|gt);?|(?P<entity>[a-z][a-z0-9]{1,31};?)"
    r"|#x0*(?P<hex>[0-9a-f]{0,6});?|#0*(?P<decimal>\d{0,7});?)?"
    r"|(?:\\x|\\u000000|%(?:25)*(?!25))(?P<byte>[0-9a-f]{2})|\\u<0*(?!0)(?P<braced>[0-9a-f]{2})>"
    r"|\\u(?P<unit>[0-9a-f]{4})|\\0?(?P<octal>7[46])"
)
# The name with the brackets and slashes that touch it. A run is entered only where it begins:
# otherwise a long one would be walked through again from each of its characters.
_TAG = rf"(?<![<>/])([<>/]*){_NAME}(?=([>/]*))"

# A tag with letters of other alphabets in it: many of them look like the ones in our name.
_STRANGE = r"[<＜‹〈](\s?[/／∕⁄⧸]?(?=[\w\s\\-]{0,60}[^\W\d_a-zA-Z])[\w-][\w\s\\‐-―-]{7,60})[>＞›〉]"

_OPENS = r"LESS-THAN|LEFT-POINTING(?! MAG)|LEFT ARROWHEAD|LEFT.* ANGLE|PRECEDES"
_CLOSES = r"GREATER-THAN|RIGHT-POINTING(?! MAG)|RIGHT ARROWHEAD|RIGHT.* ANGLE|SUCCEEDS"
_LETTER = r"(?:LATIN|REGIONAL).* LETTER (?:SMALL CAPITAL )?([A-Z])(?: WITH .*)?$"
# Look-alikes that Unicode does not relate to what they look like. An empty one is a hyphen.
_ALIKE = {
    character: plain
    for plain, characters in {
        "<": "<[{ᐸᚲくㄑ𝈶",
        ">": ">]}ᐳ𝈷",
        "/": "∕⁄⧸⟋╱〳丿ノ",
        "": "ー一ᅳـ",
        "d": "ԁժᑯᎠ",
        "e": "еҽє℮εᎬ",
        "i": "іıιӏɩᎥ",
        "m": "мμϻᎷ",
        "n": "пոηνռ",
        "r": "гᴦᎡ",
        "s": "ѕᏚ",
        "t": "тτᎢ",
        "y": "уүγυყᎽ",
    }.items()
    for character in characters
}


def wrap(text: str) -> str:
    """The text in the envelope, unable to leave it."""
    return f"{OPEN}\n{defang(text)}\n{CLOSE}"


def defang(text: str) -> str:
    """The text with nothing hidden, and round brackets around what looks like the envelope's tag.

    Doing it twice is doing it once. A text that only talks of system reminders stays as it is.
    """
    shown = re.sub(_STRANGE, r"(\1)", visible(text.replace("\r\n", "\n")))
    fold = _Fold()
    plain = re.sub(_MARK, "", shown).translate(fold)
    plain = re.sub(_SPELLED, lambda found: _spelled(found, fold), plain)
    if _NAME not in re.sub(r"[\W_]+", "", plain):
        return shown  # nearly every text: keeping track of places is what takes time
    keys, spans = _skeleton(shown, fold)
    pieces, done = [], 0
    for start, end, bracket in _brackets(keys, spans):
        pieces += [shown[done:start], bracket]
        done = end
    return "".join([*pieces, shown[done:]])


def _brackets(keys: str, spans: list[tuple[int, int]]) -> list[tuple[int, int, str]]:
    """The places of the brackets to take away, in order, each with what to put there."""
    found = {}
    for tag in re.finditer(_TAG, keys):
        before, after = tag.groups()
        opening = before.rpartition(">")[2]  # `[ ] system reminder` is a task, not a tag
        if "<" in opening or ("/" in before and ">" in after):
            for place in (*range(tag.end(1) - len(opening), tag.end(1)), *range(*tag.span(2))):
                if keys[place] != "/":
                    found[spans[place]] = "(" if keys[place] == "<" else ")"
    return [(*span, bracket) for span, bracket in sorted(found.items())]


def _skeleton(shown: str, fold: _Fold) -> tuple[str, list[tuple[int, int]]]:
    """Letters, digits, brackets and slashes as they read, and where in the text each one is."""
    folded, places = [], []
    for found in re.finditer(rf"{_MARK}|(.)", shown, re.DOTALL):
        if found[1]:
            plain = fold[ord(found[1])]
            folded.append(plain)
            places += [found.start()] * len(plain)
    keys, spans = [], []
    for found in re.finditer(rf"{_SPELLED}|.", "".join(folded), re.DOTALL):
        span = places[found.start()], places[found.end() - 1] + 1
        for key in _spelled(found, fold):
            if key.isalnum() or key in "<>/":
                keys.append(key)
                spans.append(span)
    return "".join(keys), spans


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
