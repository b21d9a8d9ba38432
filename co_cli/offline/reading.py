"""How one typed line is read: sentences by their punctuation, and what the reader says of each.

The probabilities were chosen on `tests/data/everyday_open.jsonl`. Knows no notebook.
"""

import re
from contextlib import suppress
from functools import lru_cache
from operator import mul
from typing import Literal, NamedTuple

from co_cli.errors import EmbedderUnavailable
from co_cli.knowledge.meaning.encoders import LENGTH, built_in
from co_cli.knowledge.meaning.reader import Intent, reader

LONGEST = 2000  # characters of what somebody says; more was pasted or handed over
_CLEAR, _ASKS_FOR_HELP = 0.45, 0.8  # how likely a request must be to be carried out
_UNDECIDED = 0.1  # of a question or a statement: the share of the less likely at which both may be
_LASTING, _PERSONAL, _SIGNAL = 0.5, 0.9, 0.9
_SURELY = 0.9  # likely and lasting enough for a script to save it
_ONE_MATTER = 0.1  # the cosine from which on two sentences stay one note
_SENTENCE_END = r"(?<=[.!?…])\s+|\s*\n\s*"
_FENCES = ("```", "~~~")
_LEAD = re.compile(r"(?i)\s*(?:remember that\b|remember:|note:)\s*")

Act = Literal["ask", "tell", "passing", "correct", "unclear", "request", "other"]


class Line(NamedTuple):
    """What a line is to the chat.

    `unclear` may be a question or a statement, `passing` states what hardly lasts, `correct` makes
    no sense alone; a correction that does is a `tell`.
    """

    act: Act
    intent: Intent | None = None

    @property
    def is_sure(self) -> bool:
        """Whether this surely is a lasting statement."""
        one = self.intent
        return self.act == "tell" and one is not None and min(one.likely, one.lasting) >= _SURELY


def without_lead(line: str) -> tuple[str, bool]:
    """A line without "remember that" in front, and whether that stood there."""
    lead = _LEAD.match(line)
    return line[lead.end() if lead else 0 :].strip(), lead is not None


def is_speech(text: str) -> bool:
    """Whether a text is short and plain enough to be something said."""
    return 0 < len(text.strip()) <= LONGEST and not any(mark in text for mark in _FENCES)


@lru_cache(256)
def intent_of(sentence: str) -> Intent | None:
    """What the reader says of a sentence; None where its weights cannot be read."""
    with suppress(EmbedderUnavailable):
        return reader().intent(sentence)
    return None


def read(line: str) -> Line:
    """What a line asks for."""
    if not is_speech(line):
        return Line("other")
    intent = intent_of(line)
    if intent is None:
        return Line("unclear")
    kinds, kind = intent.kinds, intent.kind
    ask, tell = kinds["ask"], kinds["tell"]
    small_talk = kinds["other"] + kinds["help"] > ask + tell
    is_request = kind not in ("ask", "tell", "correct", "other")
    if is_request and intent.likely < (_ASKS_FOR_HELP if kind == "help" else _CLEAR):
        kind = "other" if small_talk else "ask"
    if kind in ("ask", "tell") and min(ask, tell) > _UNDECIDED * (ask + tell):
        return Line("unclear", intent)
    if kind in ("tell", "correct") and is_lasting(intent):
        return Line("tell", intent)
    if kind in ("ask", "correct", "other"):
        return Line(kind, intent)
    return Line("passing" if kind == "tell" else "request", intent)


def is_lasting(intent: Intent) -> bool:
    """Whether a sentence makes sense alone and will hold for a while."""
    return intent.lasting >= _LASTING


def is_personal(text: str) -> bool:
    """Whether a text is about the person rather than their work; in doubt it is not."""
    intent = intent_of(text)
    return intent is not None and intent.personal >= _PERSONAL


def tags_of(text: str) -> tuple[str, ...]:
    """The signal of a text, where the reader is sure of it."""
    intent = intent_of(text)
    sure = intent is not None and intent.signal_likely >= _SIGNAL
    return (intent.signal,) if intent and intent.signal and sure else ()


def sentences(text: str) -> list[str]:
    """A text cut where a sentence or a line ends."""
    return [part for part in re.split(_SENTENCE_END, text.strip()) if part]


def statements(text: str) -> list[str]:
    """A text in the pieces that make a note each, every word of it as it stands.

    A line of its own, or a sentence that states something lasting about another matter, begins a
    note; what says little alone stays with the sentence before it.
    """
    text, begins = text.strip(), [0]
    for cut in re.finditer(_SENTENCE_END, text):
        sentence = next(iter(sentences(text[cut.end() :])), "")
        before = text[begins[-1] : cut.start()]
        if not (_states(before) and _states(sentence)):
            continue
        if "\n" in cut[0] or not any(_near(one, sentence) for one in sentences(before)):
            begins.append(cut.end())
    ends = [*begins[1:], len(text)]
    return [text[start:end].strip() for start, end in zip(begins, ends, strict=True)]


def _states(text: str) -> bool:
    return read(text).act == "tell"


def _near(one: str, other: str) -> bool:
    first, second = (memoryview(built_in().closely(text)).cast("b") for text in (one, other))
    return float(sum(map(mul, first, second))) >= _ONE_MATTER * LENGTH**2
