"""Which tools a turn calls for, where no language model is connected.

The person's words decide on every call; a note that was just spoken of is only put right when they
say so. Knows no notebook: the tools do the work.
"""

import re
from collections.abc import Sequence
from typing import Any

from pydantic_ai.messages import ToolCallPart, ToolReturnPart

from co_cli.knowledge.meaning.turns import STATEMENTS
from co_cli.knowledge.replacement import judge, likeness
from co_cli.knowledge.search.words import SHORT
from co_cli.learning import amend
from co_cli.learning.amend import CHANGES, SWITCHED, placed, restated
from co_cli.learning.answers import answers, shares
from co_cli.learning.turns import KEPT, Turn, tagged
from co_cli.learning.voice import named
from co_cli.providers.conversation import (
    Conversation,
    Note,
    days_asked,
    found,
    is_plain,
    note_of,
    rows_of,
    topic,
)

_RESULTS, _ALL = 5, {"about": 50, "rename": 50}  # notes that are looked for
LOOKED_FOR = ("recall", "about", "rename", "help", "who")
_ALIKE = 0.45  # of two texts that may be about the same
_LOOKS_UP = ("recall_memory", "list_memories")
_IT = r"(?i)it|that|this|them|(?:that|this) (?:one|note)"
_EVERYTHING = (
    r"(?:everything|all|alles|tout|todo|(?:all|every one) of (?:it|them)"
    r"|all (?:my |the |your )?\w{5,8})"
)
_EXCEPT = r"(?i)\b(?:except|but not|other than|apart from)\b"
_NUMBERS = (  # notes by their numbers
    r"(?:(?:the )?(?:memor(?:y|ies)|notes?|numbers?|no\.?) )?#?g?\d{1,9}"
    r"(?:(?:,| and|, and) (?:#|note |memory |number )?g?\d{1,9}){0,9}"
)
_SAID = (
    r"(?: (?:that )?(?:i|you) (?:have )?(?:just )?(?:said|told (?:you|me)|saved|mentioned|wrote))"
)
_ONE = r"(?:ones?|notes?|memor(?:y|ies)|things?|facts?|entr(?:y|ies))"
_THAT = (  # the note that was spoken of
    rf"(?:it|that|this|what{_SAID}|(?:that|this|the|my) {_ONE}{_SAID}?)"
    r"(?: (?:again|please|now|just now|then))?"
)
_LAST = (  # what was saved last, or the last few
    rf"(?:the |my |your )?(?:very )?(?:last|latest|newest|previous|most recent)"
    rf"(?: (?P<many>two|three|four|five|\d))?(?: {_ONE})?{_SAID}?(?: please)?"
)
_MANY = {"two": 2, "three": 3, "four": 4, "five": 5}
_TAKEN_BACK = (  # what takes the note just spoken of back, whatever follows
    r"(?i)^(?:oh |uh |hm+,? |sorry,? |oops,? |ok,? |no,? |wait,? )?"
    r"(?:(?:scratch|scrap|strike) (?:that|this|it)\b|i meant\b|that(?:'s| is| was) (?:wrong|not))"
)


def calls(heard: Conversation, returned: Sequence[ToolReturnPart]) -> list[ToolCallPart]:
    """The tools to call next, after what came back of those that were called."""
    if returned:
        fetched = _keep_fetched(heard, returned)
        done = fetched or _forget_found(heard, returned) or _change_found(heard, returned)
        saved = all(part.tool_name == "save_memory" for part in returned)
        return done or [one for one in _wanted(heard) if saved and one.tool_name in _LOOKS_UP]
    wanted = _wanted(heard)
    return [one for one in wanted if one.tool_name not in _LOOKS_UP] or wanted


def _wanted(heard: Conversation) -> list[ToolCallPart]:
    """The call for each thing that is wanted; what is told is kept before anything is looked up."""
    wanted: list[ToolCallPart] = []
    for turn in heard.turns:
        if turn.want in KEPT:
            wanted += save(turn, heard)
        elif turn.want == "page":
            wanted.append(ToolCallPart("web_fetch", {"url": turn.text}))
        elif turn.want == "forget":
            wanted += forget(turn, heard)
        elif turn.want == "changes":
            since, until = days_asked(heard.said)
            wanted.append(ToolCallPart("list_memories", {"since": since, "until": until}))
        elif turn.want in ("list", "about_me", "count"):
            wanted.append(ToolCallPart("list_memories", {}))
        elif turn.want == "earlier" and (query := before(turn, heard)):
            wanted.append(_recall(query))
        elif turn.want in (*LOOKED_FOR, "nothing") and not is_plain(turn, heard.said):
            wanted.append(_recall(turn.text, _ALL.get(turn.want, _RESULTS)))
    return wanted


def _call(tool: str, arguments: dict[str, Any], *, offered: bool) -> ToolCallPart:
    """A call; what nobody asked for in so many words is only `offered`."""
    told = {"offered": True} if offered else None
    return ToolCallPart(tool, arguments, provider_name="offline", provider_details=told)


def _recall(query: str, most: int = _RESULTS) -> ToolCallPart:
    query = re.sub(r"(?i)^(?:the|my|our|an?) (?=\S)", "", query)
    query = re.sub(r"[a-z]{3,4}\b", lambda word: SHORT.get(word[0], word[0]), query)
    return ToolCallPart("recall_memory", {"query": query, "max_results": most})


def before(turn: Turn, heard: Conversation) -> str:
    """What to look for to tell what held before: what is named, or the note spoken of."""
    named = topic(turn.text) if turn.want == "earlier" else ""
    return named or (heard.note.text if heard.note else "")


def save(turn: Turn, heard: Conversation) -> list[ToolCallPart]:
    """Keep what was said; what puts a note right takes its place, once that is found."""
    old = _put_right(turn, heard)
    if old and (text := _righted(turn, heard, old)):
        return [_keep(turn, text, old)]
    changes = _change(turn, heard)
    corrected = turn.text if turn.want == "correct" and len(heard.turns) == 1 else ""
    query = changes["what"] if changes else corrected
    return [_recall(query)] if query else _keep_anew(turn, heard)


def _keep_anew(turn: Turn, heard: Conversation) -> list[ToolCallPart]:
    text = turn.whole if turn.want == "amend" else turn.text
    text = "" if turn.want == "amend" and re.match(CHANGES, heard.said) else text
    if turn.want in ("keep", *STATEMENTS) and heard.note:
        text = named(text, heard.note.text)
    return [_keep(turn, text)] if text else []


def _keep(turn: Turn, text: str, old: Note | None = None) -> ToolCallPart:
    arguments: dict[str, Any] = {"content": text, "tags": tagged(turn.tags, text)}
    if old.mine if old else turn.mine:
        arguments["scope"] = "user"
    if old and old.ref:
        arguments["replaces"] = old.ref
    return _call("save_memory", arguments, offered=not turn.sure)


def _righted(turn: Turn, heard: Conversation, old: Note) -> str:
    """A note's text as what was said puts it right; "" where it is about something else."""
    if changes := _change(turn, heard):
        what, value = changes["what"], changes["value"]
        about = shares(what, old.text) and answers(what, old.text)
        if not re.search(r"(?i)\b(?:the|my|our|their) $", heard.said[: changes.start("what")]):
            about = amend.holds(old.text, what)  # "change Tuesdays to Mondays"
        it = re.fullmatch(_IT, what)
        return placed(old.text, value, heard.said)[1] if it or about else ""
    switched = re.search(SWITCHED, heard.said) if turn.want in (*STATEMENTS, "amend") else None
    if switched and not amend.names_another(heard.said, switched[1], old.text):
        return placed(old.text, switched[1], heard.said, turn.whole or turn.text)[1]
    text = restated(old.text, turn.text) if turn.want in ("amend", "correct") else ""
    if turn.want == "amend":
        return text or placed(old.text, turn.text, heard.said, turn.whole)[1]
    if turn.want != "correct":
        return ""
    if old not in (heard.note, *heard.saved):  # nobody spoke of it
        return text if judge(old.text, turn.text) > 0 else ""
    meant = re.search(_TAKEN_BACK, heard.said) or likeness(old.text, turn.text) >= _ALIKE
    return text or (restated(old.text, turn.text, turn.text) if meant else "")


def _change(turn: Turn, heard: Conversation) -> re.Match[str] | None:
    alone = len(heard.turns) == 1 and turn.want in (*STATEMENTS, "amend")
    return amend.change(heard.said) if alone else None


def _put_right(turn: Turn, heard: Conversation) -> Note | None:
    """The note that was spoken of; of several that were just saved, the one that it fits best."""
    if turn.want == "amend":
        fits = [placed(one.text, turn.text, heard.said, turn.whole)[0] for one in heard.saved]
    else:
        fits = [likeness(one.text, turn.text) for one in heard.saved]
    if len(fits) < 2 or max(fits) <= 0:
        return heard.note
    return heard.saved[fits.index(max(fits))]


def forget(turn: Turn, heard: Conversation) -> list[ToolCallPart]:
    named = re.fullmatch(_NUMBERS, turn.text.lower())
    refs = re.findall(r"g?\d+", named[0]) if named else []
    if not turn.text or re.fullmatch(_THAT, turn.text.lower()):
        refs = [heard.note.ref] if heard.note and heard.note.ref and heard.note.kept else []
    elif re.fullmatch(_LAST, turn.text.lower()):
        return [ToolCallPart("list_memories", {"since": "0001-01-01"})]
    elif not refs and not is_every(turn, heard):
        return [_recall(turn.text)]
    return [ToolCallPart("forget_memory", {"ref": ref}) for ref in dict.fromkeys(refs)]


def is_every(turn: Turn, heard: Conversation) -> bool:
    return bool(re.fullmatch(_EVERYTHING, turn.text.lower()) or re.search(_EXCEPT, heard.said))


def _forget_found(heard: Conversation, returned: Sequence[ToolReturnPart]) -> list[ToolCallPart]:
    """What was looked for to be forgotten, where only one note answers to it."""
    if heard.wants != {"forget"} or len(returned) > 1 or returned[0].tool_name not in _LOOKS_UP:
        return []
    if last := re.fullmatch(_LAST, heard.turns[0].text.lower()):
        rows = sorted(rows_of(returned[0], "memories"), key=lambda row: str(row["created"]))
        many = _MANY.get(last["many"]) or int(last["many"] or 1)
        return [ToolCallPart("forget_memory", {"ref": row["ref"]}) for row in rows[-many:]]
    sure = [note for note in found(returned[0], heard)[0] if note.ref]
    if len(sure) != 1:
        return []
    # The person named no memory: theirs to see, not a rule's.
    return [_call("forget_memory", {"ref": sure[0].ref}, offered=True)]


def _change_found(heard: Conversation, returned: Sequence[ToolReturnPart]) -> list[ToolCallPart]:
    """What puts the note right that was looked for; a note of its own where there is none."""
    alone = [part.tool_name for part in returned] == ["recall_memory"]
    if not alone or not heard.wants <= {*KEPT, "rename"}:
        return []
    [turn], rows = heard.turns, rows_of(returned[0], "results")
    notes = [note_of(row) for row in rows if row.get("kind") != "article"]
    if turn.want == "rename":
        loose = re.IGNORECASE if turn.text.islower() else re.NOFLAG  # Go is not to go
        name = re.compile(rf"(?<!\w){re.escape(turn.text)}(?!\w)", loose)
        new = [(note, name.sub(lambda _: turn.whole, note.text)) for note in notes]
        turn = turn._replace(sure=False)  # several notes at once are theirs to see, not a rule's
        return [_keep(turn, text, note) for note, text in new if text != note.text]
    texts = [(note, text) for note in notes if (text := _righted(turn, heard, note))]
    if not texts or (turn.want == "correct" and len(texts) > 1):  # which one, nobody knows
        return _keep_anew(turn, heard)
    return [_keep(turn, texts[0][1], texts[0][0])]


def _keep_fetched(heard: Conversation, returned: Sequence[ToolReturnPart]) -> list[ToolCallPart]:
    """The page that the person named, once it is read; nothing of what it says counts here."""
    [*_, last] = returned
    if heard.wants != {"page"} or (last.tool_name, last.outcome) != ("web_fetch", "success"):
        return []
    [turn] = heard.turns
    arguments = {"content": "", "source": turn.text, "title": "", "tags": []}
    return [_call("save_knowledge", arguments, offered=not turn.sure)]
