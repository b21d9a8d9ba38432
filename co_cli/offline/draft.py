"""What of a conversation is worth a draft: the person's own sentences that state what lasts."""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from co_cli import trust
from co_cli.deps import CoDeps
from co_cli.errors import EmbedderUnavailable
from co_cli.knowledge import inbox
from co_cli.knowledge.format.note import Note, now, timestamp
from co_cli.knowledge.meaning.reader import reader
from co_cli.offline.reading import is_personal, is_speech, read, sentences, tags_of, without_lead
from co_cli.offline.rejections import rejections, states_any
from co_cli.tools.saving import echo

MOST = 5  # drafts of one conversation
MOST_READ = 40  # sentences of one conversation that are read, the latest
_SURE = 0.5
_PRIVATE = re.compile(
    r"(?i)off the record|\b(?:don['’]?t|do not) (?:save|remember|write|note|keep)\b"
)
_WEIGHTY = ("preference", "decision", "correction")


class Fact(NamedTuple):
    """A sentence as the person typed it, and what the reader says of it."""

    text: str
    tags: tuple[str, ...] = ()
    mine: bool = False  # it is about the person rather than their work
    asked: bool = False  # they asked for it to be remembered


def facts(
    said: Sequence[str],
    known: Iterable[str] = (),
    enough: Callable[[], bool] = lambda: False,
    most: int = MOST,
) -> list[Fact]:
    """The sentences that are worth a draft, the latest of each fact, no more than `most`.

    Left out are those that state what is `known`: saved or declined in the conversation. So is a
    turn that asks to keep something out; like a correction that makes no sense alone, it takes the
    sentence before it along. Reading stops when it is `enough`.
    """
    turns = [
        [text] if _PRIVATE.search(text) else sentences(text) for text in said if is_speech(text)
    ]
    own = [sentence for turn in turns for sentence in turn]
    found = list[Fact]()
    for sentence in own[-MOST_READ:]:
        if enough():
            break
        text, asked = without_lead(sentence)
        line = read(text)
        takes_back = line.intent is not None and line.intent.kind in ("forget", "undo")
        if takes_back or line.act == "correct" or _PRIVATE.search(sentence):
            del found[-1:]
        elif line.is_sure or (asked and line.act != "other"):
            found = [*_still_true(found, text), Fact(text, tags_of(text), is_personal(text), asked)]
    settled = [*known]
    found = [one for one in found if not states_any(one.text, settled)]
    ranked = sorted(found, key=lambda one: (not one.asked, not {*one.tags} & {*_WEIGHTY}))
    best = ranked[:most]
    return [one for one in found if one in best]


def _still_true(found: Sequence[Fact], new: str) -> list[Fact]:
    """The facts that a later sentence neither repeats nor brings out of date."""
    try:
        relations = reader().relations([one.text for one in found], new)
    except EmbedderUnavailable:
        return [*found]
    pairs = zip(found, relations, strict=True)
    return [one for one, relation in pairs if relation.other > _SURE]


def put(deps: CoDeps, facts: Sequence[Fact], origin: str) -> list[Note]:
    """Let these wait in the inbox of the notebook each belongs to; those that are new there."""
    added: list[Note] = []
    with deps.notebooks() as shelf:
        rejected = rejections(shelf.project, shelf.user)
        wait = [one.body for book in shelf for one in inbox.waiting(book)]
        new = [
            one
            for one in facts
            if not (rejected(one.text) or states_any(one.text, wait))
            and not any(match.verdict == "restates" for _, match in shelf.compare(one.text))
        ]
        for book in (shelf.project, shelf.user):
            own = [one for one in new if deps.scope("user" if one.mine else None) == book.scope]
            drafts = [
                inbox.Draft(one.text, one.tags, one.text, origin, fields=(*fields.items(),))
                for one in own
                for fields in [echo(deps, shelf, book.scope, one.text)[1]]  # if from a page
            ]
            fresh = drafts and book.scope == "project" and trust.untouched(deps.folder())
            added += inbox.put(book, drafts, actor="chat").added if drafts else []
            if fresh:
                trust.claim(deps.folder(), timestamp(now()))
    return added
