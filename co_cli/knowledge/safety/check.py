"""What Co will not store: nothing at all, too much, hidden characters, secrets. Knows no files."""

import re
import unicodedata
from collections.abc import Iterable

from co_cli.errors import RefusedText
from co_cli.knowledge.safety.escape import HIDDEN_KINDS, KEYCAPS, is_picture
from co_cli.knowledge.safety.secrets import LEFT_OUT, RULES, find_secret, without_secrets

MAX_TEXT = 16 * 1024  # bytes of UTF-8
MAX_TAG = 64  # characters
MAX_TAGS = 64  # in one note

_UNSTORABLE = "|".join(f"(?P<{kind}>[{chars}])" for kind, chars in HIDDEN_KINDS.items())
_ZWSP, _ZWNJ, _ZWJ = "\u200b", "\u200c", "\u200d"
# Scripts whose letters join or stack (Arabic, Indic, Mongolian ...): joiners choose their shape.
_JOINING = (
    r"[\u0600-\u0dff\u0f00-\u109f\u1700-\u18af\u1900-\u1cff\ua800-\uabff\ufb50-\ufdff\ufe70-\ufefc"
    r"\U00010a00-\U00011fff\U0001e900-\U0001e95f]"
)
# Scripts written without spaces (Thai, Khmer, Burmese ...): a zero width space ends a word.
_UNSPACED = r"[\u0e00-\u109f\u1780-\u17ff\u1980-\u1aaf\ua9e0-\uaa7f]{2}"


def check_text(text: str, *, allow_secret: bool = False, most: int = MAX_TEXT) -> str:
    """Return the text to store, without the white space around it, or raise RefusedText."""
    stored = text.strip()
    if not stored:
        raise RefusedText("there is nothing to store: the text is empty", rule="empty")
    size = len(stored.encode("utf-8", "surrogatepass"))
    if size > most:
        message = f"the text is {size} bytes long; a note holds at most {most}"
        raise RefusedText(message, rule="too-long", hint="Split it into several notes.")
    for line, column, name, rule in find_hidden(text):
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


def outside_tags(tags: Iterable[str]) -> list[str]:
    """The same for tags that are not the person's: none of Co's own, which begin with `_`."""
    return clean_tags(tag for tag in tags if not is_own_tag(tag))


def is_own_tag(tag: str) -> bool:
    """Whether a tag is, or would pass for, one that only Co gives."""
    return tag.strip().startswith("_")


def typed_tags(tags: Iterable[str]) -> list[str]:
    """The same tags; RefusedText for one that would pass for one of Co's own."""
    found = list(tags)
    if any(map(is_own_tag, found)):
        what = "a tag that begins with _ would be one of Co's own"
        raise RefusedText(what, rule="own-tag", hint="Leave the _ out.")
    return found


def without_secret(text: str, error: RefusedText) -> str:
    """A refused text with its secrets left out; empty if they are not why, or nothing is left."""
    kept = without_secrets(text) if error.rule.startswith("secret:") else ""
    return kept if kept.replace(LEFT_OUT, "").strip() else ""


def _check_tag(tag: str, number: int, *, allow_secret: bool) -> None:
    # Secrets come first, hidden characters left out: the messages after this one show the tag.
    if not allow_secret:
        _refuse_secret(re.sub(_UNSTORABLE, "", tag[:MAX_TEXT]), f"tag {number}")
    shown = tag if len(tag) <= MAX_TAG else f"{tag[:MAX_TAG]}..."
    shown = re.sub(rf"[\t\r\n]|{_UNSTORABLE}", lambda found: ascii(found[0])[1:-1], shown)
    if len(tag) > MAX_TAG:
        message = f"tag '{shown}' is {len(tag)} characters long; a tag has at most {MAX_TAG}"
        raise RefusedText(message, rule="too-long")
    if re.search(r"[\t\r\n]", tag):
        message = f"tag '{shown}' holds a line break or a tab"
        raise RefusedText(message, rule="control-character")
    for _, column, name, rule in find_hidden(tag):
        raise RefusedText(f"tag '{shown}': {name} at column {column} (rule {rule})", rule=rule)


def _refuse_secret(text: str, subject: str) -> None:
    name = find_secret(text)
    if name is not None:
        message = f"{subject} looks like {RULES[name]} (rule {name})"
        hint = "Store where it is kept instead, or repeat with --allow-secret."
        raise RefusedText(message, rule=f"secret:{name}", hint=hint)


def find_hidden(text: str) -> list[tuple[int, int, str, str]]:
    """Each hidden character: its line and column (from 1), its name, and the rule it breaks."""
    found = []
    for line, row in enumerate(text.replace("\r\n", "\n").split("\n"), 1):
        for match in re.finditer(_UNSTORABLE, row):
            char, index = match[0], match.start()
            before, after = row[max(index - 1, 0) : index], row[index + 1 : index + 2]
            if match["hidden_character"] and _does_something(char, before, after):
                continue
            rule = str(match.lastgroup).replace("_", "-")
            name = f"U+{ord(char):04X} {unicodedata.name(char, rule.replace('-', ' ').upper())}"
            found.append((line, index + 1, name, rule))
    return found


def _does_something(char: str, before: str, after: str) -> bool:
    """Whether an invisible character changes how its neighbours are drawn."""
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
    letters = after and all(unicodedata.category(one)[0] in "LMN" for one in before + after)
    return virama or pictures or bool(letters and re.search(_JOINING, before + after))
