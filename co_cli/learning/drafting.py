"""What of a conversation is worth a draft: lasting facts in what the person themselves said.

Knows no model, no notebook and no file. What others said is never given to it.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import NamedTuple

from co_cli.errors import EmbedderUnavailable, RefusedText
from co_cli.knowledge.meaning.turns import STATEMENTS
from co_cli.knowledge.replacement import KINDS, likeness, may_replace
from co_cli.knowledge.safety.check import check_text
from co_cli.knowledge.search.words import MONTHS, STOP
from co_cli.learning.amend import names_another, placed
from co_cli.learning.own_words import PRIVATE, SENTENCE_END, is_speech, own_turns
from co_cli.learning.turns import KEPT, Turn, understand

MOST = 5  # drafts of one conversation, unless somebody says otherwise
_WEIGHTY = ("preference", "decision", "correction")  # of these, before what was just stated
TOKENS = 6000  # that they may cost, where a model makes them
_ALIKE, _NEAR = 0.85, 0.5  # how like texts are that say the same; and that do in one turn
_NAMED = r"(?<=\w )[A-Z]\w*|\b\d[\w.:]*\b"
_SHARED = 0.5  # of its words: what an earlier text must hold to be read again
_SOON = 3  # turns within which "no, 90 days" makes doubtful what was said before
_FILLER = r"(?:hm+|uh+|um+|er+|oh|ok(?:ay)?|wait|hold on|hang on|nice|thanks|thx|(?:ha ?){2,}|lol)?"
_FEWEST = 3  # words of a fact
_STEM = 5  # letters
_PASSING = (  # what is over tomorrow, or a joke
    r"(?i)\b(?:today|tonight|tomorrow|yesterday|currently|at the moment|right now|for now"
    r"|this (?:morning|afternoon|evening|week|weekend)|lol|lmao|haha|is going"
    r"|(?:won|lost|drew|beat \w+) \d|(?:had|ate) .{1,40} for (?:breakfast|lunch|dinner)"
    r"|wants? (?:the|an?|another) (?:\w+ )?(?:version|one|draft|variant|option))\b"
)
_UNSURE = (
    r"(?i)\?$|\b(?:not (?:quite |really )?(?:sure|certain)|unsure|undecided|User thinks User)\b"
)
_TAKEN_BACK = (  # what was said just before
    r"(?i)\b(?:just kidding|(?:only|just) joking|jk|i (?:lied|was (?:lying|joking))"
    r"|i take (?:that|it) back|never ?mind(?: that)?)(?=\W*(?:$|[.!;,\n]))"
    r"|(?:^|[.!?;,\n-])[ \n]{0,2}(?:(?:sorry|no|oh|oops|wait|actually|please|just|but|ok|hm+)\b"
    r"[,.! ]{1,3}){0,3}(?:(?:that|it) was (?:just )?a (?:joke|lie)"
    r"|(?:scratch|strike) (?:that|this|it)"
    r"|(?:ignore|disregard) (?:that|this|(?:my|the) (?:last|previous) (?:message|one|sentence))"
    r"|that(?:'s| is| was) (?:not (?:true|right|correct)|a lie|wrong|false|untrue|incorrect)"
    r"|wrong (?:chat|window)|(?<=sorry, )i was talking to \w+(?: \w+)?|i wasn't talking to you)"
    r"(?: actually| please| now)?(?=\W*$|[.!;\n])"
)
_PUTS_RIGHT = (  # what was said just before; where it cannot be told how, that is in doubt
    r"(?i)(?:(?:no|nope|nah|wait|sorry|oops|oh|hm+|ok|well|actually|hang on|hold on)[,.! ]{1,3})"
    r"{0,3}(?:(?:scratch|strike) (?:that|this|it)|correction|make (?:that|it)|i was wrong"
    r"|(?:it|that)(?:'s not| isn't)|it(?:'s| has) (?:been|now)|forget what i|never ?mind"
    r"|(?:that's|it's) (?:the old|nonsense|rubbish|outdated)|(?:ignore|disregard) my)\b"
    r"|(?i:hang on|hold on|no wait|wait no),"
)
_POINTS = (
    r"(?i)(?:it|that|this(?= (?:is|was))|they|he|she|these|those|there)\b"  # at what is unknown
)
_WAS = r"(?i)\b(?:was|were)\b"
_CHANGED = r"(?i)\b(?:now|instead|no longer|any ?more|renamed|from now on)\b"
_TURNS = (
    r"(?i)n['’]t\b|\b(?:not?|cannot|never|none|nobody|nothing|neither|nor|without|if|unless|until"
    r"|except|only|would|could|should|might|maybe|perhaps|wish|hope|said|says|told"
    r"|was|were|had|used to|rarely|hardly|sometimes|almost)\b"
)
_ASKS_FOR = r"(?i)(?:please|pls|always|never|do ?n['’]?t|keep|call me|stop|from now on)\b"
_CORRECTING = frozenset(
    "no nope not sorry oops wait actually meant mean make made now instead correction typo bad "
    "mistake rather wrong should say nein non".split()
)
_KINDS = {  # of values, as they are written
    "time": r"\d[:.]\d\d\b|\d ?[ap]m\b",
    "day": r"\b(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:days?)?\b",
    "month": rf"\b(?:{'|'.join(MONTHS)})\b",
    "figure": r"\d|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|hundred)\b",
}
_PLAIN_KINDS = {*_KINDS}
_AGAIN = r"(?i)\b(?:as|like) i (?:just )?(?:said|told)\b|\bi(?: already)? told you\b"


class Fact(NamedTuple):
    """Something to keep, the words of the person that it was drawn from, and their turn."""

    text: str
    tags: tuple[str, ...]
    quote: str
    turn: int
    mine: bool = False  # it is about the person rather than their work
    asked: bool = False  # the person asked for it, rather than just said it


def facts(
    said: Sequence[str],
    *,
    settled: Iterable[tuple[str, str]] = (),
    before: Iterable[str] = (),
    enough: Callable[[], bool] = lambda: False,
) -> list[Fact]:
    """The lasting facts in what the person said, turn by turn; `chosen` picks the few to draft.

    Left out is what was `settled` in the conversation, saved or declined: a turn and what was
    proposed in it. What was only half said counts where it was said `before`, in another
    conversation, also if it was declined. Reading stops when it is `enough`.
    """
    heard = _Heard([], [], set(), -1)
    with suppress(EmbedderUnavailable):
        for number, text in enumerate(own_turns(said)):
            if enough():
                break
            if re.search(PRIVATE, text.replace("’", "'")):  # and what it may be said of
                heard.found[:] = [fact for fact in heard.found if fact.turn < number - 1]
            parts = re.split(_TAKEN_BACK, text.replace("’", "'")) if may_be_kept(text) else []
            for at, part in enumerate(parts):
                if at:
                    _take_back(heard, number)
                _take_in(heard, part.lstrip(" ,;.!-"), said[number].strip(), number)
            if re.match(_PUTS_RIGHT, text.replace("’", "'")) and not heard.told_in(number):
                _take_back(heard, number)
            if not _is_filler(text):
                heard = heard._replace(last=number)
        heard.half[:] = [one for one in heard.half if not enough() and _repeated(one, before)]
    kept = new_facts([*new_facts(heard.found, settled), *heard.half], ())
    kept = [fact for fact in kept if may_be_kept(fact.text)]
    return sorted(kept, key=lambda fact: fact.turn)


def chosen(found: Sequence[Fact], most: int = MOST) -> list[Fact]:
    """The few that are drafted: first what was asked for, decided, preferred or put right."""
    ranked = sorted(found, key=lambda fact: (not fact.asked, fact.tags[0] not in _WEIGHTY))
    return sorted(ranked[:most], key=lambda fact: fact.turn)


def may_be_kept(text: str) -> bool:
    """Whether a text is speech that nobody wants left out, and holds no secret."""
    with suppress(RefusedText):
        return is_speech(check_text(text))
    return False


def new_facts(found: Iterable[Fact], settled: Iterable[tuple[str, str]]) -> list[Fact]:
    """Each fact once, none that was settled, and none that was denied later."""
    old, kept, every = list(settled), list[Fact](), list(found)
    for fact in every:
        told = [(one.quote, one.text) for one in kept]
        known = (_same(text, fact.text) for _, text in [*told, *old])
        there = (text for quote, text in old if quote.strip() == fact.quote)
        denied = (one.turn > fact.turn and _denies(fact.text, one.text) for one in every)
        near = any(likeness(text, fact.text) >= _NEAR for text in there)
        if not near and not any(known) and not any(denied):
            kept.append(fact)
    return kept


def _same(old: str, new: str) -> bool:
    """Whether a text says what another does, with the same names and numbers."""
    return _alike(old, new) and _turning(old) == _turning(new)


def _denies(old: str, new: str) -> bool:
    """Whether a text says of the same that it is not so, or that it is after all."""
    return _alike(old, new) and _turning(old) != _turning(new)


def _alike(old: str, new: str) -> bool:
    one, other = ({*re.findall(_NAMED, text)} - {"User", "I"} for text in (old, new))
    return one == other and likeness(old, new) >= _ALIKE


class _Heard(NamedTuple):
    """What was found so far, surely and half; the turns that asked something; the last turn."""

    found: list[Fact]
    half: list[Fact]
    asked: set[int]
    last: int  # turn in which more was said than "hm"

    def told_in(self, turn: int) -> bool:
        return any(fact.turn == turn for fact in (*self.found, *self.half))


def _take_in(heard: _Heard, text: str, quote: str, number: int) -> None:
    """Take in what was said in one go."""
    for turn in () if _is_filler(text) else understand(text):
        asked = turn.want == "keep" or re.match(_ASKS_FOR, text) is not None
        _add(heard, turn, Fact(turn.text, turn.tags, quote, number, turn.mine, asked), text)
        if turn.want not in (*KEPT, "greet", "nothing", "forget"):
            heard.asked.add(number)
    if "?" in text:
        heard.asked.add(number)


def _is_filler(text: str) -> bool:
    """Whether somebody says nothing with this, like "hm ..."."""
    return re.fullmatch(_FILLER, " ".join(re.findall(r"[^\W_]+", text.lower()))) is not None


def _take_back(heard: _Heard, number: int) -> None:
    """Drop what was said just before: in this turn, or in the one before it."""
    since = number if heard.told_in(number) else heard.last
    for some in (heard.found, heard.half):
        some[:] = [fact for fact in some if fact.turn < since]


def _add(heard: _Heard, turn: Turn, fact: Fact, said: str) -> None:
    """Take in what one sentence said; a correction takes the place of what it corrects."""
    found = heard.found
    if turn.want == "amend":
        _put_right(heard, turn, fact, said)
    elif turn.want == "forget" and turn.text == "that":
        del found[-1:]
    elif re.search(_AGAIN, fact.quote) and found:
        return
    elif turn.want in ("keep", "correct", *STATEMENTS) and _lasts(turn):
        corrects = turn.want == "correct"
        if corrects or re.search(_CHANGED, fact.text):
            gone = may_replace([one.text for one in found], fact.text)
            told = zip(found, gone, strict=True)
            found[:] = [f for f, old in told if not old or (f.turn == fact.turn and not corrects)]
        (found if turn.sure else heard.half).append(fact)


def _put_right(heard: _Heard, turn: Turn, fact: Fact, said: str) -> None:
    """Put another value into the fact that was said just before.

    After a question, "no, Goethe" is about the answer. What it may be about further back is in
    doubt from then on, and dropped. What makes sense as a whole says itself what it is about.
    """
    found, whole = heard.found, turn.whole
    denied = re.search(rf"(?i)\b(?:not|n't) (?:an? |the )?{re.escape(turn.text)}\b", said)
    for at in range(len(found) - 1, -1, -1):
        old = found[at]
        if not whole and (fact.turn - old.turn > _SOON or max(heard.asked, default=-1) >= old.turn):
            return
        if denied:
            if turn.text in old.text and old.turn >= heard.last:
                del found[at]
            return
        text = placed(old.text, turn.text, said, whole)[1]
        other = names_another(said, turn.text, old.text) if whole else _says_more(said, turn, old)
        spliced = "," in turn.text or re.search(r"\b(\w+) \1\b", text)
        fits = 0 if spliced else _fits(old.text, text) if text and not other else -1
        if fits > 0 and (whole or old.turn >= heard.last):
            quote = " … ".join(dict.fromkeys((old.quote, fact.quote)))
            found[at] = old._replace(text=text, quote=quote, turn=fact.turn)
            return
        if fits >= 0 and not whole:
            del found[at]
            return


def _says_more(said: str, turn: Turn, old: Fact) -> bool:
    """Whether more is said than another value of what a fact says: "sorry, I was with Anna"."""
    sentence = next((one for one in re.split(SENTENCE_END, said) if turn.text in one), said)
    rest = {*re.findall(r"\w\w+|\d", sentence.replace(turn.text, " ").lower())} - STOP - _CORRECTING
    return not words(" ".join(rest)) <= words(old.text)


def _fits(old: str, new: str) -> int:
    """1 where a value took the place of one of its kind, -1 where surely not, 0 where nobody knows.

    A name and a tool are both names, but nobody lives in Python.
    """
    was, now = old.split(), new.split()
    while was and now and was[0] == now[0]:
        was, now = was[1:], now[1:]
    while was and now and was[-1] == now[-1]:
        was, now = was[:-1], now[:-1]
    one, other = _kind(" ".join(was)), _kind(" ".join(now))
    return 1 if one == other else -1 if {one, other} & _PLAIN_KINDS else 0


def _kind(value: str) -> str:
    """What sort of value this is."""
    low = value.lower()
    tools = (f"tool {KINDS[word]}" for word in re.findall(r"\w+", low) if word in KINDS)
    plain = (kind for kind, form in _KINDS.items() if re.search(form, low))
    return next(iter((*plain, *tools)), "name" if value[:1].isupper() else "word")


def _lasts(turn: Turn) -> bool:
    """Whether a sentence makes sense alone and holds tomorrow."""
    if turn.want == "keep":
        return True
    text = turn.text
    past = turn.want == "correct" and re.search(_WAS, text)
    return not (
        past
        or len(text.split()) < _FEWEST
        or re.match(_POINTS, text)
        or re.search(_PASSING, text)
        or re.search(_UNSURE, text)
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
    begins = [0, *(end.end() for end in re.finditer(SENTENCE_END, turn[:at]))][-1]
    ends = re.search(SENTENCE_END, turn[at + len(quote) - 1 :])
    sentence = turn[begins : at + len(quote) - 1 + ends.end() if ends else None].strip()
    turns, left = _turning(sentence), iter(_stems(turn))
    same = _turning(text) == turns and all(word in left for word in _stems(text))
    return same, quote if _turning(quote) == turns else sentence


def _turning(text: str) -> list[str]:
    """The words that turn a meaning: a no, an if, a would, and that another said it."""
    found = (word.lower().replace("’", "'") for word in re.findall(_TURNS, text))
    return sorted("not" if word in ("n't", "no", "cannot") else word for word in found)
