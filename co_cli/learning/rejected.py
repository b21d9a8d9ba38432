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
_HEAPS = 1024
# Words without which a fact is the same fact: who speaks, what joins, and verbs so common that one
# stands for another. None that could be the fact itself: no "before", "all", "only" or number.
_LIGHT = frozenset(
    "a an the this that these those it its s is are am be been being was were has have had having "
    "do does did doing will would should must may can could i me my we our us you your user users "
    "he she they their them in on at of for with by to from as and so who which what where when "
    "there please remember note every each way like likes prefer prefers preferred want wants love "
    "loves enjoy enjoys use uses used using run runs running happen happens take takes place need "
    "needs require requires required call called calls name named begin begins start starts "
    "return returns write writes written work works working also just currently".split()
)
_NEGATING = frozenset(
    "not no never none nobody nothing cannot without avoid avoids dislike dislikes hate hates "
    "against stop stops ban bans banned".split()
)
_ENDING = re.compile(r"(?<=\w{3})(?:ments?|ations?|ings?|ed|es|ly|s|e)$")


class _Told(NamedTuple):
    """A fact without its words; `heaps` are of its words of weight, in order, as `names` are."""

    said: str
    quote: str
    negated: bool
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
    if os.path.lexists(_path()):
        gone = [_told(text, text) for text in texts]
        _save(lambda old: not any(_is_same(old, new) for new in gone))


def _told(text: str, quote: str) -> _Told:
    words = re.findall(r"\w+", re.sub("n['’]t\\b", " not", text.lower()))
    denials = sum(word in _NEGATING for word in words)
    heavy = [word for word in words if word not in _LIGHT | _NEGATING]
    names = re.findall(r"\b[A-Z\d]\w*", text)
    drawn = mark(key(quote)) if quote else ""
    heaps = [_heap(word) for word in heavy], [_heap(name) for name in names]
    return _Told(mark(key(text)), drawn, denials % 2 == 1, *heaps)


def _heap(word: str) -> int:
    return int(mark(_ENDING.sub("", word.lower())[:6])[:8], 16) % _HEAPS


def _is_same(old: _Told, new: _Told) -> bool:
    """Whether a text says it again: the same words of weight, denied or not, no names exchanged.

    What was drawn from the same quote need share only most of the words.
    """
    if new.said == old.said or new.negated != old.negated or not new.heaps:
        return new.said == old.said
    was, becomes = set(old.heaps), set(new.heaps)
    if new.quote and new.quote == old.quote:
        return len(was & becomes) * 2 > len(was | becomes)
    places = [old.heaps.index(name) for name in new.names if name in was]
    return was == becomes and places == sorted(places)


def _path() -> str:
    return os.path.join(paths.state_folder(), "rejected.jsonl")


def _load() -> list[_Told]:
    """What is remembered; a line that is not Co's is passed over."""
    found, data = [], None
    with suppress(CoError):
        data = disk.read_if_any(_path())
    for line in (data or b"").splitlines():
        with suppress(ValueError, TypeError):
            found.append(_Told(**json.loads(line)))
    return found


def _save(stays: Callable[[_Told], bool], *more: _Told) -> None:
    """Keep those that stay, and more, in a file of the person's own."""
    path, folder = _path(), paths.state_folder()
    with disk.in_words():
        disk.make_folder(folder, 0o700)
        with disk.locked(f"{path}.lock"):
            kept = [*filter(stays, _load()), *more][-MOST:]
            data = "".join(f"{json.dumps(told._asdict())}\n" for told in kept).encode()
            with disk.staged(folder, data, 0o600) as temp:
                os.replace(temp, path)
