"""What of a conversation is worth a draft: lasting facts in what the person themselves said.

Knows no model, no notebook and no file. What others said is never given to it.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import NamedTuple

from co_cli.errors import EmbedderUnavailable, RefusedText
from co_cli.knowledge.meaning.turns import STATEMENTS
from co_cli.knowledge.replacement import likeness, may_replace
from co_cli.knowledge.safety.check import check_text
from co_cli.knowledge.search.words import STOP
from co_cli.learning.amend import placed
from co_cli.learning.turns import PRIVATE, Turn, is_speech, understand

MOST = 5  # drafts of one conversation, unless somebody says otherwise
TOKENS = 6000  # that they may cost, where a model makes them
_ALIKE, _NEAR = 0.85, 0.5  # how like texts are that say the same; and that do in one turn
_NAMED = r"(?<=\w )[A-Z]\w*|\b\d[\w.:]*\b"
_SHARED = 0.5  # of its words: what an earlier text must hold to be read again
_SOON = 3  # turns within which "no, 90 days" is about what was said before
_FEWEST = 3  # words of a fact
_STEM = 5  # letters
_PASSING = (  # what is over tomorrow, or a joke
    r"(?i)\b(?:today|tonight|tomorrow|yesterday|currently|at the moment|right now|for now"
    r"|this (?:morning|afternoon|evening|week|weekend)|lol|lmao|haha|is going)\b"
)
_POINTS = (
    r"(?i)(?:it|that|this(?= (?:is|was))|they|he|she|these|those|there)\b"  # at what is unknown
)
_WAS = r"(?i)\b(?:was|were)\b"
_CHANGED = r"(?i)\b(?:now|instead|no longer|any ?more|renamed|from now on)\b"
_END = r"[.!?][\"”')]*\s+|\n+"  # of a sentence
_TURNS = (
    r"(?i)n['’]t\b|\b(?:not?|cannot|never|none|nobody|nothing|neither|nor|without|if|unless|until"
    r"|except|only|would|could|should|might|maybe|perhaps|wish|hope|said|says|told"
    r"|was|were|had|used to|rarely|hardly|sometimes|almost)\b"
)
_AGAIN = r"(?i)\b(?:as|like) i (?:just )?(?:said|told)\b|\bi(?: already)? told you\b"


class Fact(NamedTuple):
    """Something to keep, the words of the person that it was drawn from, and their turn."""

    text: str
    tags: tuple[str, ...]
    quote: str
    turn: int
    mine: bool = False  # it is about the person rather than their work


def facts(
    said: Sequence[str],
    *,
    settled: Iterable[tuple[str, str]] = (),
    before: Iterable[str] = (),
    most: int = MOST,
    enough: Callable[[], bool] = lambda: False,
) -> list[Fact]:
    """The lasting facts in what the person said, turn by turn, a few at most.

    Left out is what was `settled` in the conversation, saved or declined: a turn and what was
    proposed in it. What was only half said counts where it was said `before`, in another
    conversation, also if it was declined. Reading stops when it is `enough`.
    """
    found: list[Fact] = []
    half: list[Fact] = []
    with suppress(EmbedderUnavailable):
        for number, text in enumerate(said):
            if enough():
                break
            if re.search(PRIVATE, text.replace("’", "'")):  # and what it may be said of
                found = [fact for fact in found if fact.turn < number - 1]
            for turn in understand(text) if may_be_kept(text) else ():
                _add(found, half, turn, Fact(turn.text, turn.tags, text.strip(), number, turn.mine))
        half = [fact for fact in half if not enough() and _repeated(fact, before)]
    kept = new_facts([*new_facts(found, settled), *half], ())
    kept = [fact for fact in kept if may_be_kept(fact.text)][:most]
    return sorted(kept, key=lambda fact: fact.turn)


def may_be_kept(text: str) -> bool:
    """Whether a text is speech that nobody wants left out, and holds no secret."""
    with suppress(RefusedText):
        return is_speech(check_text(text))
    return False


def new_facts(found: Iterable[Fact], settled: Iterable[tuple[str, str]]) -> list[Fact]:
    """Each fact once, and none that was settled."""
    old, kept = list(settled), list[Fact]()
    for fact in found:
        told = [(one.quote, one.text) for one in kept]
        known = (_same(text, fact.text) for _, text in [*told, *old])
        there = (text for quote, text in old if quote.strip() == fact.quote)
        if not any(known) and not any(likeness(text, fact.text) >= _NEAR for text in there):
            kept.append(fact)
    return kept


def _same(old: str, new: str) -> bool:
    """Whether a text says what another does, with the same names and numbers."""
    one, other = ({*re.findall(_NAMED, text)} - {"User", "I"} for text in (old, new))
    return one == other and likeness(old, new) >= _ALIKE


def _add(found: list[Fact], half: list[Fact], turn: Turn, fact: Fact) -> None:
    """Take in what one sentence said; a correction takes the place of what it corrects."""
    if turn.want == "amend":
        recent = [at for at, one in enumerate(found) if fact.turn - one.turn <= _SOON or turn.whole]
        for at in reversed(recent):
            _, text = placed(found[at].text, turn.text, fact.quote, turn.whole)
            if text:
                found[at] = found[at]._replace(text=text, quote=fact.quote, turn=fact.turn)
                return
    elif turn.want == "forget" and turn.text == "that":
        del found[-1:]
    elif re.search(_AGAIN, fact.quote) and found:
        return
    elif turn.want in ("keep", "correct", *STATEMENTS) and _lasts(turn):
        if turn.want == "correct" or re.search(_CHANGED, fact.quote):
            gone = may_replace([one.text for one in found], fact.text)
            found[:] = [one for one, replaced in zip(found, gone, strict=True) if not replaced]
        (found if turn.sure else half).append(fact)


def _lasts(turn: Turn) -> bool:
    """Whether a sentence makes sense alone and holds tomorrow."""
    if turn.want == "keep":
        return True
    past = turn.want == "correct" and re.search(_WAS, turn.text)
    return not (
        past
        or len(turn.text.split()) < _FEWEST
        or re.match(_POINTS, turn.text)
        or re.search(_PASSING, turn.text)
    )


def _repeated(fact: Fact, before: Iterable[str]) -> bool:
    """Whether the person said this in an earlier conversation too."""
    own = words(fact.text)
    near = (one for one in before if len(own & words(one)) >= _SHARED * len(own))
    return any(
        _same(turn.text, fact.text)
        for one in near
        if may_be_kept(one)
        for turn in understand(one)
        if turn.want in ("keep", "correct", *STATEMENTS)
    )


def said_again(said: Iterable[str], before: Sequence[str]) -> list[str]:
    """What of this the person said in an earlier conversation too, in words much like it."""
    known = [(old, words(old)) for old in before]
    some = [(text, words(text)) for text in said]
    return [new for new, own in some if any(own & its and _same(old, new) for old, its in known)]


def words(text: str) -> set[str]:
    """How the words of weight in a text begin, so that their forms agree."""
    return {*_stems(text)}


def _stems(text: str) -> list[str]:
    heavy = (one for one in re.findall(r"\w+", text.lower()) if one not in STOP and one != "user")
    return [word[:_STEM].rstrip("s") for word in heavy]


def faithful(text: str, quote: str, turn: str) -> tuple[bool, str]:
    """Whether a text says no more and nothing else than the turn it quotes; and what was quoted.

    That is the whole sentence, where the quote leaves out a word that turns its meaning.
    """
    at = turn.index(quote)
    begins = [0, *(end.end() for end in re.finditer(_END, turn[:at]))][-1]
    ends = re.search(_END, turn[at + len(quote) - 1 :])
    sentence = turn[begins : at + len(quote) - 1 + ends.end() if ends else None].strip()
    turns, left = _turning(sentence), iter(_stems(turn))
    same = _turning(text) == turns and all(word in left for word in _stems(text))
    return same, quote if _turning(quote) == turns else sentence


def _turning(text: str) -> list[str]:
    """The words that turn a meaning: a no, an if, a would, and that another said it."""
    found = (word.lower().replace("’", "'") for word in re.findall(_TURNS, text))
    return sorted("not" if word in ("n't", "no", "cannot") else word for word in found)
