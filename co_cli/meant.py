"""Which command or which of a few things a person means. Knows words, not what they do."""

import re
from collections.abc import Iterable, Mapping

from co_cli.errors import nearest

# What people try, a line for each thing they want; where a surface does it, one of these is its
# word for it.
_TRIED = """
remember learn save note add store keep memorize memorise teach tell
recall search find query lookup look grep where
forget delete remove rm del erase drop archive
memories list ls all notes dump
--count count categories stats
undo revert rollback back oops
restore unforget undelete recover
edit change modify rename correct fix update
tag label categorize categorise edit
protect lock
unprotect unlock
pin star favorite favourite
unpin unstar
sensitive private secret confidential hide
show cat view open print read get
context status info
quit exit bye leave close q stop
help h ? commands usage man
clear reset restart new
history sessions resume conversations
model models provider llm engine
personality persona voice style tone
compact summarize summarise shorten
merge join combine
doctor check verify lint
log changes changelog
import load ingest
export backup
chat talk
ask question
completion completions autocomplete
""".split("\n")
_NONE = r"(?:no?|nope|none(?: of them)?|neither|nothing|cancel|never ?mind|leave it)?(?:,? thanks)?"
_ALL = r"(?:all|each|every one)(?: (?:of )?(?:them|these|those|three))?"
YES = ("y", "yes", "yep", "yeah", "ok", "sure")
LEAVES = ("exit", "quit", "bye", "bye bye", "goodbye", "cu", "cya")  # a chat
_NTH = "first 1st second 2nd third 3rd fourth 4th fifth 5th".split()
_ROUND = "the that this and one ones note memory number about with on of for please forget".split()
_WORD, _FEW = r"\w[\w:'-]*", 4  # of these, so many may single one out


def meant(word: str, known: Iterable[str]) -> str:
    """The known command that a word means: one that does it, else one spelled like it, else none.

    Of a command of several words, the last is the one that people try.
    """
    names = {one.rpartition(" ")[2]: one for one in known}
    lines = [line.split() for line in _TRIED]
    near = nearest(word.lower(), [*names, *(one for line in lines for one in line)])
    for name in (word.lower(), near):
        same = next((line for line in lines if name in line), [])
        if found := next((names[one] for one in (name, *same) if one in names), ""):
            return found
    return ""


def picked(said: str, choices: Mapping[str, str]) -> list[str] | None:
    """Which of these they pick: by name, place or words of one alone; None if they talk of none."""
    text = said.casefold().strip(" .!,#")
    if re.fullmatch(_NONE, text):
        return []
    if re.fullmatch(
        {1: "|".join((*YES, _ALL)), 2: f"both.{{0,12}}|{_ALL}"}.get(len(choices), _ALL), text
    ):
        return [*choices]
    row = [*choices]
    names = {name.lstrip("g"): name for name in row} | {name.casefold(): name for name in row}
    names |= {nth: row[at // 2] for at, nth in enumerate(_NTH[: 2 * len(row)])}
    names |= {last: name for name in row[-1:] for last in ("last", "latter")}
    words = [word for word in re.findall(_WORD, text) if word not in _ROUND]
    if words and all(word in names for word in words):
        return [*dict.fromkeys(names[word] for word in words)]
    there = {name: re.findall(_WORD, says.casefold()) for name, says in choices.items()}
    holds = [name for name in row if {*words} <= {*there[name]}]
    few = len(words) <= _FEW and "?" not in said and not all(map(str.isdecimal, words))
    return holds if few and len(holds) == 1 else None
