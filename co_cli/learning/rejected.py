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
    r"(?:\b|(?=n['’]t))"
    r"(?:n['’]t|not?|never|none|nobody|nothing|cannot|avoids?|dislikes?|hates?|against|bans?)\b"
)
# With its sign and whole: C++ is not C, -1 not 1, 1.5 not 15 and <5 not >5.
_WORD = r"[<>≤≥=]+|(?<![\w.])[-−+.]?\d(?:[\w.,:/-]*\w)?|(?<!\w)[-.]?[^\W\d]\w*[+#]*|\w+|[,;]"
# Where one of these is, the order of the words is the fact: tea to coffee, lint before tests.
_HINGES = frozenset(
    "over than before after to into unto instead rather versus vs and or but nor if unless when "
    "while except until since because then , ; < > ≤ ≥ = <= >=".split()
)
_TO_DO = r"\b((?:like|love|want|need|prefer|use)s?d?|has|have|had) to\b"
_BE = frozenset("is are am be been being was were".split())
_FREE = frozenset("in on at of for with from as".split())  # what begins with these may stand first
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
    """A fact without its words: the heaps of those of weight, in order.

    Some are `free`: they may stand elsewhere too, unless the order is `fixed`.
    """

    said: str
    quote: str
    heaps: list[int]
    free: list[int]
    fixed: bool


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
    plain = re.sub(_TO_DO, r"\1", re.sub(_DENIAL, " no ", text.lower()))
    words = re.findall(_WORD, plain)
    fixed = not _HINGES.isdisjoint(words)
    heaps, free, loose, agent, before = list[int](), list[int](), False, 0, ""
    for word in words:
        if word in _PASSED or _ENDING.sub("", word) in _PASSED or word in ",;":
            loose = word in _FREE or (loose and before in _PASSED)
            agent = len(heaps) if word == "by" else agent
        else:
            at = (
                0 if before in _BE and not fixed else len(heaps)
            )  # the branch is cut: cut the branch
            heaps.insert(at, _heap(word))
            free += [_heap(word)] * loose
        before = word
    if agent and not fixed:  # billing is owned by Anna: Anna owns billing
        heaps = heaps[agent:] + heaps[:agent]
    return _Told(mark(key(text)), quote and mark(key(quote)), heaps, free, fixed)


def _heap(word: str) -> int:
    known = word if re.search(r"\d", word) else _ENDING.sub("", word)[:6]
    return int(mark(known)[:8], 16) % 1024


def _is_same(old: _Told, new: _Told) -> bool:
    """Whether it is said again: the same words of weight, in an order that means the same.

    What was drawn from the same quote may leave out some of them, but for a "no".
    """
    if new.said == old.said or not new.heaps:
        return new.said == old.said
    if new.quote and new.quote == old.quote:
        less, more = sorted((old.heaps, new.heaps), key=len)
        left, gone = [one for one in more if one in less], {*more} - {*less}
        return left == less and 2 * len(less) > len(more) and _heap("no") not in gone
    if old.fixed or new.fixed:
        return old.heaps == new.heaps
    free = {*old.free, *new.free}
    parts = [sorted(one.heaps, key=free.__contains__) for one in (old, new)]  # in order, but for it
    return parts[0] == parts[1]


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
