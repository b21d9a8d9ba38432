"""Which command a person means who types a word that is none. Knows words, not what they do."""

from collections.abc import Iterable

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
tag label categorize categorise
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
