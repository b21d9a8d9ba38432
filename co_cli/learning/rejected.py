"""What the person did not want kept, so that it is not offered again, also in other words.

Kept in the state folder without the words: a digest, and for each word of weight in which of 1,024
heaps it lies, with dozens of others. Vectors would not do: "deploys on Friday" and "on Monday" are
nearer to each other (0.89) than many a paraphrase is, and opposites nearer still (0.98).
"""

import json
import os
import re
from collections.abc import Callable, Collection
from contextlib import suppress
from typing import NamedTuple

from co_cli import paths
from co_cli.errors import CoError
from co_cli.knowledge.format.note import Note
from co_cli.knowledge.similarity import key
from co_cli.knowledge.store import disk, mark

MOST = 1000  # rejections that are remembered, the newest
_FILE = "rejected.jsonl"
_ENDING = re.compile(r"(?<=\w{3})(?:ments?|ations?|ings?|ed|es|ly|s|e)$")
_DENIAL = (
    r"n['’]t|not?|never|none|nobody|nothing|cannot|without|avoids?|dislikes?|hates?|against|bans?"
)
# Without these a fact is the same fact: who speaks, what joins, and verbs so common that one stands
# for another. None that could be the fact itself: no "before", "all", "only" or number.
_LIGHT = (
    "a an the this that these those it its s is are am be been being was were has have had do does "
    "did will would should must may can could i me my we our us you your user he she they their "
    "them in on at of for with by to from as and so who which what where when there please note "
    "remember every each way like prefer want love enjoy use used using run happen take place need "
    "require call name begin start return write written work also just current"
).split()
_PASSED = frozenset(_LIGHT) | {_ENDING.sub("", word) for word in _LIGHT}


class _Told(NamedTuple):
    """A fact without its words; `heaps` are of its words of weight, in order, as `names` are."""

    said: str
    quote: str
    denied: bool
    heaps: list[int]
    names: list[int]


def rejected(text: str, quote: str = "") -> bool:
    """Whether the person rejected this before."""
    new = _told(text, quote)
    return any(_is_same(old, new) for old in _load())


def remember_rejection(note: Note) -> None:
    """Take down that the person did not want this draft."""
    told = _told(note.body, str(note.meta.get("quote") or ""))
    _save(lambda old: old.said != told.said, told)


def forget_rejections(texts: Collection[str]) -> None:
    """Take out all that is about these texts, which are purged."""
    gone = [_told(text, text) for text in texts]
    if os.path.lexists(os.path.join(paths.state_folder(), _FILE)):
        _save(lambda old: not any(_is_same(old, new) for new in gone))


def _told(text: str, quote: str) -> _Told:
    plain, denials = re.subn(rf"(?:\b|(?=n['’]t)){_DENIAL}\b", " ", text.lower())
    words = [word for word in re.findall(r"\w+", plain) if word not in _PASSED]
    heaps = [_heap(word) for word in words if _ENDING.sub("", word) not in _PASSED]
    names = [_heap(name) for name in re.findall(r"\b[A-Z\d]\w*", text)]
    return _Told(mark(key(text)), quote and mark(key(quote)), denials % 2 == 1, heaps, names)


def _heap(word: str) -> int:
    return int(mark(_ENDING.sub("", word.lower())[:6])[:8], 16) % 1024


def _is_same(old: _Told, new: _Told) -> bool:
    """Whether it is said again: the same words of weight, denied or not, no names exchanged.

    What was drawn from the same quote need share only most of the words.
    """
    if new.said == old.said or new.denied != old.denied or not new.heaps:
        return new.said == old.said
    was, becomes = set(old.heaps), set(new.heaps)
    if new.quote and new.quote == old.quote:
        return len(was & becomes) * 2 > len(was | becomes)
    places = [old.heaps.index(name) for name in new.names if name in was]
    return was == becomes and places == sorted(places)


def _load() -> list[_Told]:
    """What is remembered; a line that is not Co's is passed over."""
    found, data = [], None
    with suppress(CoError):
        data = disk.read_if_any(os.path.join(paths.state_folder(), _FILE))
    for line in (data or b"").splitlines():
        with suppress(ValueError, TypeError):
            found.append(_Told(**json.loads(line)))
    return found


def _save(stays: Callable[[_Told], bool], *more: _Told) -> None:
    """Keep those that stay, and more, in a file of the person's own."""
    folder = paths.state_folder()
    with disk.in_words():
        disk.make_folder(folder, 0o700)
        with disk.locked(os.path.join(folder, f"{_FILE}.lock")):
            kept = [*filter(stays, _load()), *more][-MOST:]
            data = "".join(f"{json.dumps(told._asdict())}\n" for told in kept).encode()
            with disk.staged(folder, data, 0o600) as temp:
                os.replace(temp, os.path.join(folder, _FILE))
