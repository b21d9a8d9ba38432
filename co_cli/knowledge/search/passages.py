"""A note's text in passages: short notes are one, long ones split at headings and paragraphs.

A passage is what a hit points to and what an embedder reads.
"""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from co_cli.knowledge.meaning.wordpiece import tagged

KEY = 12  # bytes of a digest
MOST = 4095  # passages of one note
LONGEST = 1000  # characters of a passage that are told
_WHOLE = 1000  # a text up to this many characters is not split
_SIZE = 500
_BREAK = re.compile(r"\n[ \t]*\n|\n(?=#{1,6} )")
_INK = re.compile(r"\S")


def passages(text: str) -> list[str]:
    """The passages in order; together they are the text, white space between them aside."""
    if len(text) <= _WHOLE:
        return [text]
    size = max(_SIZE, 2 * len(text) // MOST + 1)
    found: list[str] = []
    for block in _BREAK.split(text):
        for piece in _pieces(block.strip(), size):
            last = found[-1] if found else ""
            joins = len(last) + len(piece) < size and not piece.startswith("#")
            heading = last.startswith("#") and "\n" not in last
            if last and (joins or heading):
                found[-1] = f"{last}\n\n{piece}"
            else:
                found.append(piece)
    if len(found) > MOST:
        found[MOST - 1 :] = ["\n\n".join(found[MOST - 1 :])]
    return found or [text]


class Part(NamedTuple):
    """A passage as it is shown; of an article, under its title and headings, and how to link it."""

    text: str
    above: Sequence[str] = ()
    anchor: str = ""
    own: str = ""  # of what stands above it, that which does not stand above the one before it
    place: tuple[object, ...] = ()  # where it stands, as the index keeps it

    @property
    def heading(self) -> str:
        """The headings in a line, without the title."""
        return " > ".join(self.above[1:])

    @property
    def placed(self) -> str:
        """The text, after where it stands."""
        return f"#{self.anchor}: {self.heading}".rstrip() + f"\n{self.text}"


def reading(part: Part, tags: Iterable[str]) -> tuple[bytes, str]:
    """A passage as an embedder reads it, with its tags.

    What an article's passage stands under is read with it. Before it the hash that it is known by.
    """
    text = tagged(part.text, tags)
    text = ". ".join([*part.above, text])
    return digest(text.encode("utf-8", "replace")), text


def digest(data: bytes) -> bytes:
    """What tells these bytes from others."""
    import hashlib  # only what changed is hashed

    return hashlib.blake2b(data, digest_size=KEY).digest()


def _pieces(block: str, size: int) -> list[str]:
    """A block no longer than twice the size, else cut between words."""
    pieces, at = [], 0
    while len(block) - at > 2 * size:
        cut = block.rfind(" ", at + size, at + 2 * size)
        cut = cut if cut > 0 else at + 2 * size
        pieces.append(block[at:cut].strip())
        ink = _INK.search(block, cut)
        at = ink.start() if ink else len(block)
    return [piece for piece in (*pieces, block[at:]) if piece]
