"""The texts that prompts are made of: Co's own, and personalities, of which a person may add more.

`[IF gemini]…[ENDIF]` in a text of Co's holds what only that provider's models are told; in a
person's it is just text. Knows nothing of the prompt they end up in.
"""

import os
import re

from co_cli import paths
from co_cli.errors import CoError, FormatError, NotFound, nearest
from co_cli.knowledge.format.note import decode
from co_cli.knowledge.safety.escape import escape
from co_cli.knowledge.store import disk
from co_cli.prompts.envelope import defang

FOLDER = os.path.dirname(__file__)
MOST = 8 * 1024  # bytes of one file of the person's

_BLOCK = r"\[IF ([\w-]+)\]((?:(?!\[IF\b).)*?)\[ENDIF\]"
_LEFT_OVER = r"\[(?:IF|ENDIF)\b[^\]\n]*\]?"
_NAME = r"[a-z0-9-]{1,64}"


def shipped(relpath: str, provider: str) -> str:
    """A file of ours as this provider's models read it.

    One that is missing, empty or has a conditional without its partner is a bug of ours, not the
    person's: FileNotFoundError or ValueError, outside the family of expected errors.
    """
    with open(os.path.join(FOLDER, relpath), encoding="utf-8") as file:
        whole = file.read()

    def chosen(found: re.Match[str]) -> str:
        return found[2].strip("\n") if found[1] == provider else ""

    told = re.sub(_BLOCK, chosen, whole, flags=re.DOTALL)
    if left := re.search(_LEFT_OVER, told):
        raise ValueError(f"{relpath}: unprocessed conditional {left[0]} in the prompt")
    told = re.sub(r"\n{3,}", "\n\n", told).strip()
    if not told:
        raise ValueError(f"{relpath}: the prompt is empty")
    return told


def personalities() -> dict[str, str]:
    """The personalities by name, each with its first line, or with why it cannot be used."""
    found = {name: _first_line(_ours(name, "")) for name in _shipped_names()}
    for file in sorted(disk.list_names(_folder())):
        if re.fullmatch(rf"{_NAME}\.md", file):
            name = file.removesuffix(".md")
            try:
                found[name] = _first_line(_theirs(name) or "")
            except CoError as error:
                found[name] = f"cannot be used: {escape(str(error), keep='')}"
    return found


def voice(name: str, provider: str, warnings: list[str]) -> str:
    """A personality for the prompt; where the person's is broken, Co's own by that name, if any."""
    try:
        theirs = _theirs(name)
    except CoError as error:
        warnings.append(f"WARNING: personality skipped: {escape(str(error), keep='')}")
        return _ours(name, provider) if name in _shipped_names() else ""
    return defang(theirs) if theirs else _ours(name, provider)


def _shipped_names() -> list[str]:
    return sorted(name.removesuffix(".md") for name in os.listdir(f"{FOLDER}/personalities"))


def _ours(name: str, provider: str) -> str:
    if name in _shipped_names():
        return shipped(f"personalities/{name}.md", provider)
    known = personalities()
    meant = f"Did you mean {near}? " if (near := nearest(name, known)) else ""
    hint = f"{meant}Choose from: {', '.join(sorted(known))}."
    raise NotFound(f"there is no personality '{escape(name[:64], keep='')}'", hint=hint)


def _theirs(name: str) -> str | None:
    """The person's own text by that name; None without one, or in a folder that is a link."""
    if not re.fullmatch(_NAME, name) or disk.is_link(_folder()):
        return None
    path = os.path.join(_folder(), f"{name}.md")
    try:
        if (data := disk.read_if_any(path)) is None:
            return None
        if len(data) > MOST:
            raise FormatError(f"is larger than {MOST // 1024} KiB")
        text = decode(data).removeprefix("\ufeff").strip()
        if not text:
            raise FormatError("is empty")
    except FormatError as error:
        raise FormatError(f"{paths.short(path)} {error}", line=error.line) from error
    return text


def _folder() -> str:
    return os.path.join(paths.user_folder(), "personalities")


def _first_line(text: str) -> str:
    return escape(text.partition("\n")[0].lstrip("# ").strip()[:200], keep="")
