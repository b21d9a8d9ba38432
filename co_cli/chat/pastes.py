"""Which parts of a message were pasted, so that nobody else's words pass for the person's.

One short sentence counts as typed: whoever pastes a sentence of their own can save it. Knows no
conversation.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import chain

SENTENCE_END = r"(?<=[.!?…])[\"”')]*\s+|\n\s*"
_SHORT = 120  # characters of a sentence that counts as typed
_FEWEST = 3  # words by which a pasted sentence is recognised after an edit
_LONGEST = 10_000  # characters of a block that is looked for by its sentences


def plain(text: str) -> str:
    """A pasted text with the line ends that a message has."""
    return re.sub(r"\r\n?", "\n", text)


def is_block(text: str) -> bool:
    """Whether a pasted text is more than one short sentence."""
    block = text.strip()
    return len(block) > _SHORT or bool(re.search(SENTENCE_END, block))


def pasted_parts(message: str, blocks: Iterable[str]) -> list[str]:
    """The parts of a message that come from these pasted blocks, in their order.

    A block that was edited afterwards is recognised by its sentences that are still the same.
    """
    spans: list[tuple[int, int]] = []
    for block in {*blocks}:
        whole = block in message
        parts = {block} if whole or len(block) > _LONGEST else {*re.split(SENTENCE_END, block)}
        known = (one for one in parts if one in message and (whole or len(one.split()) >= _FEWEST))
        spans += chain(*(_places(one.strip(), message, whole=whole) for one in known))
    joined: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if joined and not message[joined[-1][1] : start].strip():
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((start, end))
    return [message[start:end] for start, end in joined]


def _places(part: str, message: str, *, whole: bool) -> list[tuple[int, int]]:
    """Where a part stands in a message; what is no whole paste must not end within a word."""
    form = re.escape(part) if whole else rf"(?<!\w){re.escape(part)}(?!\w)"
    return [match.span() for match in re.finditer(form, message)]


def apart(message: str, pasted: Sequence[str]) -> list[tuple[str, bool]]:
    """A message in pieces, each with whether it was pasted; nothing but blanks is no piece."""
    pieces: list[tuple[str, bool]] = []
    for block in pasted:
        typed, _, message = message.partition(block)
        pieces += [(typed, False), (block, True)]
    return [piece for piece in (*pieces, (message, False)) if piece[0].strip()]


def typed(message: str, pasted: Sequence[str]) -> str:
    """The words of a message that the person typed."""
    own = (piece.strip() for piece, is_pasted in apart(message, pasted) if not is_pasted)
    return "\n".join(own) if pasted else message
