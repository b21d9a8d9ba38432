"""Which words of a turn are the person's own.

What they quote, paste from a mail or a chat, hand over to be worked on or say in a part that they
play is not theirs. Where only the words tell, what looks like it is left out.
"""

import re
from collections.abc import Iterable

MOST = 2000  # characters of a turn that is read
SENTENCE_END = r"(?<=[.!?…])[\"”')]*\s+|\n\s*"
_CODE = (
    r"(?i)(?:(?:def|class|import|from|return|func|fn|const|let|var|public|private|package|using"
    r"|#include|if|for|while|select|insert|create|update)\b.*[:;{)]|[})\]];?|\$ .*|.*[;{])$"
)
_LOG = (
    r"(?i)\[?(?:\d{4}-\d\d-\d\d|\d\d:\d\d:\d\d|(?:error|warn(?:ing)?|info|debug|fatal)\b)"
    r"|at [\w.$<>]+\(|file \"[^\"]{1,200}\", line \d|traceback \(|caused by:|>{1,3} "
)
PRIVATE = (  # what a person wants to be kept out, in so many words
    r"(?i)\b(?:do ?n'?t|do not|never|no need to|not to|rather not|(?:should|must)(?:n'?t| not)) "
    r"(?:ever )?(?:save|store|remember|record|memori[sz]e|keep|note|write|log|learn) "
    r"(?:this|that|it|any (?:of|notes?|records?)|these|those|what|down|a (?:note|record))\b"
    r"|\boff the record\b"
    r"|\bkeep (?:this|that|it) (?:out|between|private)|\bbetween us\b"
)
_LABELS = (  # what a person puts before their own words
    "Remember|Reminder|Note|Notes|Fyi|FYI|Btw|BTW|Correction|Update|Decision|Preference|Facts?|Rule"
    "|Important|Context|Also|Ps|PS|Edit|Co|Ok|Okay|Yes|No|Sorry|Well|So|And|But|Please|Question"
)
_DAY = "(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day"
_NAME = rf"(?!(?:{_LABELS}|{_DAY})\b)[A-ZÀ-Þ][\w'’.-]*(?: [A-ZÀ-Þ][\w'’-]*){{0,2}}"
_CLOCK = r"\[?\d{1,2}[:.]\d\d(?:[:.]\d\d)?(?: ?[ap]m)?[^\]\n]{0,14}\]?"
_FIRST = r"(?i:i|my|mine|we|our)\b"
_QUOTED = r"[ \t]*>.*"  # a line of a mail that is answered
_SAID_BY = rf"(?:{_CLOCK}[ \t,-]{{1,3}})?(?:{_NAME}|<[\w.-]{{1,40}}>):? *(?<=[:>] )(?={_FIRST})"
_SAID_AT = rf"{_NAME}[ \t,|(-]{{1,4}}{_CLOCK}\)?:?[ \t]{{0,3}}\n{{1,3}}(?={_FIRST})"
_HEADER = r"(?i:from|to|cc|subject|sent|date|reply-to|von|an|betreff|gesendet|de|objet)[ \t]*: *\S"
_WROTE = r"(?i:on|am|le) .{4,120} (?i:wrote|schrieb.{0,60}|a écrit) ?:[ \t]*\n"
_MAIL = (
    rf"{_HEADER}.*\n{_HEADER}|(?i:from|von|de): .{{0,80}}@|{_WROTE}"
    r"|-{2,} ?(?i:original|forwarded) message"
)
_DEAR = r"(?i:dear|liebe[rs]?|sehr geehrte[rs]?|chère?s?|estimad[oa]s?)"
_LETTER = rf"{_DEAR} (?!(?i:co)\b)[^\n,.!?]{{1,60}}[,:!]?[ \t]*\n"
_GREETS = (  # somebody else, which makes a letter where it is signed
    rf"(?:{_DEAR}|(?i:hi|hello|hey|hallo|bonjour|hola|good (?:morning|afternoon|evening))) "
    r"(?!(?i:co|there)\b)[^\n,.!?]{1,40}[,:!]\s"
)
_SIGNED = (
    r"(?:[.!?]\s{1,4}|\n[ \t]*)(?i:(?:(?:all (?:the|my) )?(?:best|kind|warm(?:est)?|many|with|viele"
    r"|liebe|beste|herzliche) )?(?:regards|wishes|best|love|cheers|sincerely|yours(?: \w+)?|thanks"
    rf"|thank you|gr[uü](?:ß|ss)e?n?|cordialement|saludos))[,!]?\s{{1,4}}{_NAME}[ \t.]*(?:\n|$)"
)
_TEXT = (
    r"(?:essay|poem|letter|e-?mail|mail|draft|texts?|story|song|lyrics|cv|r[eé]sum[eé]|bio|speech"
    r"|paragraph|(?:blog )?post|article|abstract|transcript|chat|conversation|tweet|sentences?"
    r"|dialogue|scene|chapter|excerpt|message|review|report|statement|profile|code|snippet)"
)
_ASKS = (
    r"(?i:(?:please|pls|can|could|would|will|you|now|ok|hey|co|help me|i (?:need|want) you to)"
    r"[, ]{1,2}){0,5}"
)
_WORKS_ON = (
    r"(?i:translate|rewrite|re-?phrase|re-?word|paraphrase|summari[sz]e|shorten|proof-?read"
    r"|spell-?check|polish|(?:complete|continue|finish|improve)(?= (?:this|these|the|my|it|with)\b)"
    rf"|(?:fix|correct|check|edit|review|format|grade|answer|reply to)(?=[^:\n]{{0,40}} (?:{_TEXT}"
    r"|grammar|spelling|typos?|punctuation|wording|(?:my|the|this) english|following)\b))\b"
)
_HERE_IS = (
    rf"(?i:here(?:'s| is| are)|this is|the following is|below is) (?:[\w'-]+ ){{1,4}}?{_TEXT}\b"
)
_TASK = (  # and the text that it is about
    rf"{_ASKS}{_WORKS_ON}(?![^:\n]{{0,80}}\b(?i:note|memory|entry|always|every\w*|all|long)\b)"
    r"[^:.!?\n]{0,80}(?::|[.!?]?[ \t]{0,3}\n)"
    rf"|{_HERE_IS}[^:.!?\n]{{0,60}}[:\n](?!\s*\S+@\S+\s*$)"
)
_HANDED_OVER = (  # in the next turn
    rf"(?:{_ASKS}{_WORKS_ON}(?=.{{0,40}}\b(?i:this|these|following|below)\b)[^:\n]{{0,120}}"
    rf"|{_HERE_IS}[^:.!?\n]{{0,60}})[:.?!]?$"
)
_PLAYED = (
    rf"{_ASKS}(?i:let'?s )?(?i:pretend|role-?play|act as (?:if|though)\b|play the (?:role|part))"
)
_SUPPOSED = (
    rf"{_ASKS}(?i:let'?s )?(?i:(?:imagine|suppose|assume|say) (?:that )?(?:i|my|we|our|you)"
    r"|(?:write|speak|talk|answer) as (?:if|though))\b"
)
_PLAYED_OUT = (
    r"(?i)\b(?:stop|end|enough|no more|out of character|back to (?:normal|work|reality))\b"
)
_LINE = r"(?m)^[ \t]{0,8}"
_SENTENCE = r"(?:^|(?<=[.!?\n]))[ \t]{0,8}"


def own_words(said: str) -> str:
    """What the person says themselves in a turn."""
    said = re.sub(rf"(?m)^(?:{_WROTE})?{_QUOTED}(?:\n|$)", "", said)
    *_, signed = 0, *(found.start() for found in re.finditer(_SIGNED, said))
    letter = re.search(_LINE + _GREETS, said[:signed])
    others = rf"{_LINE}(?:{_MAIL}|{_SAID_AT}|{_LETTER})"
    worked_on = rf"{_SENTENCE}(?:{_TASK}|{_PLAYED}|{_SUPPOSED})"
    ends = [letter, re.search(others, said), re.search(worked_on, said)]
    return said[: min((found.start() for found in ends if found), default=None)].strip()


def own_turns(said: Iterable[str]) -> list[str]:
    """The same turn by turn; nothing of a text that was announced, nor of a part that is played.

    Nor what stands after a name: "Karl: I ..." may be his, where nobody is asked at once.
    """
    found, handed_over, played = list[str](), False, False
    for text in said:
        played = played and not re.search(_PLAYED_OUT, text)
        named = re.sub(rf"(?m)^{_SAID_BY}.*(?:\n.+)*(?:\n|$)", "", text)
        found.append("" if handed_over or played else own_words(named))
        handed_over = re.match(_HANDED_OVER, text.strip()) is not None
        played = played or re.search(rf"{_SENTENCE}{_PLAYED}", text) is not None
    return found


def is_speech(said: str) -> bool:
    """Whether somebody says this, and does not want it to be kept out."""
    said = said.replace("’", "'")
    return bool(said.strip()) and not _pasted(said) and not re.search(PRIVATE, said)


def _pasted(said: str) -> bool:
    """Whether a text is code, a log, or too long to be something said."""
    lines = [line.strip() for line in said[:MOST].splitlines()]
    many = (sum(re.match(kind, line) is not None for line in lines) > 1 for kind in (_CODE, _LOG))
    return len(said) > MOST or "```" in said or "~~~" in said or any(many)
