"""Personalities: how Co speaks. Four are Co's, more are files of the person, whose word wins.

Knows nothing of the prompt they end up in.
"""

from __future__ import annotations

import os
import re

from co_cli import paths
from co_cli.errors import CoError, FormatError, NotFound, nearest
from co_cli.knowledge.format.note import decode
from co_cli.knowledge.safety.escape import escape
from co_cli.knowledge.store import disk
from co_cli.prompts import shipped
from co_cli.prompts.envelope import defang

MOST = 8 * 1024  # bytes of one file


def personalities() -> dict[str, str]:
    """The personalities by name, each with its first line, or with why it cannot be used."""
    found = {name: _first_line(_ours(name, "")) for name in shipped.personalities()}
    for file in sorted(disk.list_names(_folder())):
        name = file.removesuffix(".md")
        if name == file or not _is_name(name):
            continue
        try:
            found[name] = _first_line(_theirs(name) or "")
        except CoError as error:
            found[name] = f"cannot be used: {escape(str(error), keep='')}"
    return found


def load_personality(name: str) -> str:
    """A personality's text: the person's own by that name, else Co's."""
    return _theirs(name) or _ours(name, "")


def voice(name: str, provider: str, warnings: list[str]) -> str:
    """A personality for the prompt; Co's own by that name, or none, where the person's is broken.

    Conditionals in a person's file are just text: only ours are worked out and checked.
    """
    try:
        theirs = _theirs(name)
    except CoError as error:
        warnings.append(f"WARNING: personality skipped: {escape(str(error), keep='')}")
        return _ours(name, provider) if name in shipped.personalities() else ""
    return defang(theirs) if theirs else _ours(name, provider)


def _ours(name: str, provider: str) -> str:
    if name in shipped.personalities():
        return shipped.text(f"personalities/{name}.md", provider)
    known = personalities()
    meant = f"Did you mean {near}? " if (near := nearest(name, known)) else ""
    raise NotFound(
        f"there is no personality '{escape(name[:64], keep='')}'",
        hint=f"{meant}Choose from: {', '.join(sorted(known))}.",
    )


def _theirs(name: str) -> str | None:
    """The person's own text by that name; None without one, or in a folder that is a link."""
    if not _is_name(name) or disk.is_link(_folder()):
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


def _is_name(name: str) -> bool:
    return re.fullmatch(r"[a-z0-9-]{1,64}", name) is not None


def _first_line(text: str) -> str:
    return escape(text.partition("\n")[0].lstrip("# ").strip()[:200], keep="")
