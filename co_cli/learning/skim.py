"""What a person told of themselves in a long conversation with another assistant.

The encoder takes a hundredth of a second for each sentence, and an export has tens of thousands. So
what cannot be about the person is passed over by its words, and only turns round a fact are read
whole. Knows no notebook and no file.
"""

import re
from collections.abc import Iterable, Sequence

from co_cli.learning.drafting import Fact, chosen, facts
from co_cli.learning.own_words import PRIVATE, SENTENCE_END, is_speech

TURNS, CHARACTERS = 40, 4000  # of a conversation that are read; those passed over do not count
_SHORT = 160  # characters of a turn that is a task rarely enough
_AROUND = range(-1, 4)  # turns before and after a fact that may put it right, or take it back
_TELLS = re.compile(  # speaks of the person, of what they like, or is to be kept
    r"(?i)\b(?:i|me|my|mine|myself|we|us|our|ich|mir|mich|meine?[mnrs]?|je|j['’]|moi|mon|ma|mes|yo"
    r"|soy|mis?|prefers?|(?:dis)?likes?|loves?|hates?|favou?rite|rather|always|never|from now on"
    r"|remember|in mind|note that"
    r"|(?:use|answer|reply|respond|write|speak|call|address)\b.{1,80}(?:me|instead))\b"
)
_ASKS = re.compile(  # asks for something, or says how the work goes; no such sentence lasts
    r"(?i)(?:(?:but|and|so|now|then|also|well|hi|hey|hello|ok(?:ay)?|sorry|thanks)\b[,.!]? )?(?:"
    r"(?:how|what|why|who|can|could|would|should|do|does|did|is|are)\b"
    r"|(?:please )?(?:give|show|tell|help|let|write|rewrite|explain|translate|make|create|fix|list"
    r"|find|generate|check|improve|summari[sz]e)\b"
    r"|(?:i'?m|i am|i was|i'?ve been)(?: just| still| now)? (?:trying|wondering|asking|getting"
    r"|seeing|confused|stuck)\b"
    r"|i (?:just |still |also )?(?:wonder|tried|noticed|ran|saw|see|don'?t (?:see|understand))\b)"
)


def told(said: Sequence[str], settled: Iterable[tuple[str, str]]) -> tuple[list[Fact], int]:
    """The facts about the person in these turns of theirs; and how many turns were not read.

    `settled` is as for `drafting.facts`.
    """
    settled, brief, unread = list(settled), list[str](), 0
    room, left = CHARACTERS, TURNS
    for text in said:
        short = _skimmed(text)
        if short and (len(short) > room or not left):
            short, unread = "", unread + 1
        room, left = room - len(short), left - bool(short)
        brief.append(short or _wish(text))
    found = {fact.turn for fact in _own(facts(brief, settled=settled))}
    if not found:
        return [], unread
    near = {turn + more for turn in found for more in _AROUND}
    whole = [text if at in near else _wish(text) for at, text in enumerate(said)]
    return chosen(_own(facts(whole, settled=settled))), unread


def _own(found: list[Fact]) -> list[Fact]:
    return [fact for fact in found if fact.mine or "preference" in fact.tags]


def _skimmed(text: str) -> str:
    """The sentences of a turn that may tell something of the person."""
    if not is_speech(text):
        return ""
    every = re.split(SENTENCE_END, text)
    says = [one for one in every if not (_ASKS.match(one) or one.rstrip().endswith("?"))]
    return "\n".join(one for one in says if len(text) <= _SHORT or _TELLS.search(one))


def _wish(text: str) -> str:
    """A turn that asks to keep what was said out; another is nothing."""
    return text if re.search(PRIVATE, text.replace("’", "'")) else ""
