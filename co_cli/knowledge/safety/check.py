"""What Co will not store: nothing at all, too much, hidden characters, secrets. Knows no files."""

from __future__ import annotations

import re
from collections.abc import Iterable

from co_cli.errors import RefusedText
from co_cli.knowledge.safety.hidden_text import UNSTORABLE, find_hidden
from co_cli.knowledge.safety.secrets import LEFT_OUT, RULES, find_secret, without_secrets

MAX_TEXT = 16 * 1024  # bytes of UTF-8
MAX_TAG = 64  # characters
MAX_TAGS = 64  # in one note


def check_text(text: str, *, allow_secret: bool = False) -> str:
    """Return the text to store, without the white space around it, or raise RefusedText."""
    stored = text.strip()
    if not stored:
        raise RefusedText("there is nothing to store: the text is empty", rule="empty")
    size = len(stored.encode("utf-8", "surrogatepass"))
    if size > MAX_TEXT:
        message = f"the text is {size} bytes long; a note holds at most {MAX_TEXT}"
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


def without_secret(text: str, error: RefusedText) -> str:
    """A refused text with its secrets left out; empty if they are not why, or nothing is left."""
    kept = without_secrets(text) if error.rule.startswith("secret:") else ""
    return kept if kept.replace(LEFT_OUT, "").strip() else ""


def check_note(
    text: str, tags: Iterable[str], *, allow_secret: bool = False
) -> tuple[str, list[str]]:
    """Return the text and tags to store, or raise RefusedText."""
    return check_text(text, allow_secret=allow_secret), clean_tags(tags, allow_secret=allow_secret)


def _check_tag(tag: str, number: int, *, allow_secret: bool) -> None:
    # Secrets come first, hidden characters left out: the messages after this one show the tag.
    if not allow_secret:
        _refuse_secret(re.sub(UNSTORABLE, "", tag[:MAX_TEXT]), f"tag {number}")
    shown = tag if len(tag) <= MAX_TAG else f"{tag[:MAX_TAG]}..."
    shown = re.sub(rf"[\t\r\n]|{UNSTORABLE}", lambda found: ascii(found[0])[1:-1], shown)
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
