"""What Co will not store: secrets, hidden characters, nothing at all, too much; knows no files."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator

from co_cli.errors import RefusedText
from co_cli.knowledge.safety.secrets import RULES, find_secret

__all__ = ["MAX_TAG", "MAX_TEXT", "check_text", "clean_tags", "find_hidden", "find_secret"]

MAX_TEXT = 16 * 1024  # bytes of UTF-8
MAX_TAG = 64  # characters
MAX_TAGS = 64  # in one note

# The groups are the rules. The last one: what Unicode calls default-ignorable (drawn as nothing),
# annotation marks and noncharacters.
_SUSPECT = (
    r"(?P<control_character>\r(?!\n)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029])"
    r"|(?P<bidi_control>[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069])"
    r"|(?P<not_utf8>[\ud800-\udfff])|(?P<tag_block>[\U000e0000-\U000e007f])"
    r"|(?P<hidden_character>[\xad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200d"
    r"\u2060-\u2065\u206a-\u206f\u3164\ufdd0-\ufdef\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ufffe"
    r"\uffff\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0080-\U000e0fff])"
)
_ZWSP, _ZWNJ, _ZWJ = "\u200b", "\u200c", "\u200d"
# Scripts whose letters join or stack (Arabic, Indic, Mongolian ...): joiners choose their shape.
_JOINING = (
    r"[\u0600-\u0dff\u0f00-\u109f\u1700-\u18af\u1900-\u1cff\ua800-\uabff\ufb50-\ufdff\ufe70-\ufefc"
    r"\U00010a00-\U00011fff\U0001e900-\U0001e95f]"
)
# Scripts written without spaces (Thai, Khmer, Burmese ...): a zero width space ends a word.
_UNSPACED = r"[\u0e00-\u109f\u1780-\u17ff\u1980-\u1aaf\ua9e0-\uaa7f]{2}"
_PICTURES = "\u203c\u2049\u2139\u3030\u303d"  # emoji that Unicode files as punctuation or letters
_KEYCAPS = tuple("#*0123456789")


def check_text(text: str, *, allow_secret: bool = False) -> str:
    """Return the text to store, without the white space around it, or raise RefusedText."""
    stored = text.strip()
    if not stored:
        raise RefusedText("there is nothing to store: the text is empty", rule="empty")
    size = len(stored.encode("utf-8", "surrogatepass"))
    if size > MAX_TEXT:
        message = f"the text is {size} bytes long; a note holds at most {MAX_TEXT}"
        raise RefusedText(message, rule="too-long", hint="Split it into several notes.")
    for rule, line, column, name in _suspects(text):
        message = f"line {line}, column {column}: {name} will not be stored (rule {rule})"
        raise RefusedText(message, rule=rule, hint="Remove the character and try again.")
    if not allow_secret:
        _refuse_secret(stored, "this")
    return stored


def clean_tags(tags: Iterable[str], *, allow_secret: bool = False) -> list[str]:
    """Return the tags trimmed, without empty and repeated ones, or raise RefusedText."""
    kept: dict[str, None] = {}
    for number, tag in enumerate(tags, 1):
        trimmed = tag.strip()
        if trimmed and trimmed not in kept:
            _check_tag(trimmed, number, allow_secret=allow_secret)
            kept[trimmed] = None
        if len(kept) > MAX_TAGS:
            raise RefusedText(f"a note has at most {MAX_TAGS} tags", rule="too-many-tags")
    return list(kept)


def find_hidden(text: str) -> list[tuple[int, int, str]]:
    """List line, column and name of each character that is not shown as what it is."""
    return [(line, column, name) for _, line, column, name in _suspects(text)]


def _check_tag(tag: str, number: int, *, allow_secret: bool) -> None:
    # Secrets come first, hidden characters left out: the messages after this one show the tag.
    if not allow_secret:
        _refuse_secret(re.sub(_SUSPECT, "", tag[:MAX_TEXT]), f"tag {number}")
    shown = tag if len(tag) <= MAX_TAG else f"{tag[:MAX_TAG]}..."
    shown = re.sub(rf"[\t\r\n]|{_SUSPECT}", lambda found: ascii(found[0])[1:-1], shown)
    if len(tag) > MAX_TAG:
        message = f"tag '{shown}' is {len(tag)} characters long; a tag has at most {MAX_TAG}"
        raise RefusedText(message, rule="too-long")
    if re.search(r"[\t\r\n]", tag):
        message = f"tag '{shown}' holds a line break or a tab"
        raise RefusedText(message, rule="control-character")
    for rule, _, column, name in _suspects(tag):
        raise RefusedText(f"tag '{shown}': {name} at column {column} (rule {rule})", rule=rule)


def _refuse_secret(text: str, subject: str) -> None:
    name = find_secret(text)
    if name is not None:
        message = f"{subject} looks like {RULES[name]} (rule {name})"
        hint = "Store where it is kept instead, or repeat with --allow-secret."
        raise RefusedText(message, rule=f"secret:{name}", hint=hint)


def _suspects(text: str) -> Iterator[tuple[str, int, int, str]]:
    """Yield rule, line, column and name of each character that must not be stored."""
    line, line_start, seen = 1, 0, 0
    for match in re.finditer(_SUSPECT, text):
        char, index = match[0], match.start()
        before, after = text[max(index - 1, 0) : index], text[index + 1 : index + 2]
        if match["hidden_character"] and _does_something(char, before, after):
            continue
        line += text.count("\n", seen, index)
        line_start = text.rfind("\n", seen, index) + 1 or line_start
        seen = index
        rule = str(match.lastgroup).replace("_", "-")
        name = unicodedata.name(char, rule.replace("-", " ").upper())
        yield rule, line, index - line_start + 1, f"U+{ord(char):04X} {name}"


def _does_something(char: str, before: str, after: str) -> bool:
    """Say whether an invisible character changes how its neighbours are drawn."""
    if char in "\ufe0e\ufe0f":
        return _is_picture(before) or before in _KEYCAPS
    if char in "\u180b\u180c\u180d\u180f":
        return "\u1820" <= before <= "\u18aa"  # a Mongolian letter has several forms
    if char == _ZWSP:
        return re.fullmatch(_UNSPACED, before + after) is not None
    if char not in (_ZWNJ, _ZWJ) or not before:
        return False
    virama = unicodedata.combining(before) == 9
    pictures = char == _ZWJ and _is_picture(after) and (before == "\ufe0f" or _is_picture(before))
    letters = _is_text(before) and _is_text(after) and re.search(_JOINING, before + after)
    return virama or pictures or bool(letters)


def _is_picture(char: str) -> bool:
    if char <= "\x7f":
        return False
    newer = "\U0001f000" <= char <= "\U0001faff"  # this Python may not know it yet
    return newer or char in _PICTURES or unicodedata.category(char)[0] == "S"


def _is_text(char: str) -> bool:
    return char != "" and unicodedata.category(char)[0] in "LMN"
