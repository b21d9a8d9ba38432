"""Characters that are not shown as what they are, and whether they have a reason to be there."""

from __future__ import annotations

import re
import unicodedata

from co_cli.knowledge.safety.escape import HIDDEN_KINDS, KEYCAPS, is_picture

UNSTORABLE = "|".join(f"(?P<{kind}>[{chars}])" for kind, chars in HIDDEN_KINDS.items())
_ZWSP, _ZWNJ, _ZWJ = "\u200b", "\u200c", "\u200d"
# Scripts whose letters join or stack (Arabic, Indic, Mongolian ...): joiners choose their shape.
_JOINING = (
    r"[\u0600-\u0dff\u0f00-\u109f\u1700-\u18af\u1900-\u1cff\ua800-\uabff\ufb50-\ufdff\ufe70-\ufefc"
    r"\U00010a00-\U00011fff\U0001e900-\U0001e95f]"
)
# Scripts written without spaces (Thai, Khmer, Burmese ...): a zero width space ends a word.
_UNSPACED = r"[\u0e00-\u109f\u1780-\u17ff\u1980-\u1aaf\ua9e0-\uaa7f]{2}"


def find_hidden(text: str) -> list[tuple[int, int, str, str]]:
    """Each hidden character: its line and column (from 1), its name, and the rule it breaks."""
    found = []
    line, line_start, seen = 1, 0, 0
    for match in re.finditer(UNSTORABLE, text):
        char, index = match[0], match.start()
        before, after = text[max(index - 1, 0) : index], text[index + 1 : index + 2]
        if char + after == "\r\n" or (
            match["hidden_character"] and _does_something(char, before, after)
        ):
            continue
        line += text.count("\n", seen, index)
        line_start = text.rfind("\n", seen, index) + 1 or line_start
        seen = index
        rule = str(match.lastgroup).replace("_", "-")
        name = f"U+{ord(char):04X} {unicodedata.name(char, rule.replace('-', ' ').upper())}"
        found.append((line, index - line_start + 1, name, rule))
    return found


def _does_something(char: str, before: str, after: str) -> bool:
    """Say whether an invisible character changes how its neighbours are drawn."""
    if char in "\ufe0e\ufe0f":
        return is_picture(before) or before in KEYCAPS
    if char in "\u180b\u180c\u180d\u180f":
        return "\u1820" <= before <= "\u18aa"  # a Mongolian letter has several forms
    if char == _ZWSP:
        return re.fullmatch(_UNSPACED, before + after) is not None
    if char not in (_ZWNJ, _ZWJ) or not before:
        return False
    virama = unicodedata.combining(before) == 9
    pictures = char == _ZWJ and is_picture(after) and (before == "\ufe0f" or is_picture(before))
    letters = _is_text(before) and _is_text(after) and re.search(_JOINING, before + after)
    return virama or pictures or bool(letters)


def _is_text(char: str) -> bool:
    return char != "" and unicodedata.category(char)[0] in "LMN"
