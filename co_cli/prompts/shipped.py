"""Co's own text: the markdown files beside this one, and the conditionals in them.

`[IF gemini]…[ENDIF]` holds what only that provider's models are told. Knows nothing of what
people write.
"""

from __future__ import annotations

import os
import re

FOLDER = os.path.dirname(__file__)

_BLOCK = r"\[IF ([\w-]+)\]((?:(?!\[IF\b).)*?)\[ENDIF\]"
_LEFT_OVER = r"\[(?:IF|ENDIF)\b[^\]\n]*\]?"


def text(relpath: str, provider: str) -> str:
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


def personalities() -> list[str]:
    """The names of Co's own personalities."""
    return sorted(name.removesuffix(".md") for name in os.listdir(f"{FOLDER}/personalities"))
