"""What Co does with a turn, and answers, where no language model is connected.

The person's words decide on every call; a note that was just spoken of is only looked at, or put
right, when they say so. Knows no notebook: the tools do the work.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import date, timedelta
from typing import Any, NamedTuple

from pydantic_ai.messages import ModelMessage, ToolCallPart, ToolReturnPart

from co_cli.errors import EmbedderUnavailable
from co_cli.learning.amend import amended
from co_cli.learning.turns import KEPT, Turn, understand
from co_cli.learning.voice import second_person

HOW = (
    "I am offline: no language model is connected. I can remember what you tell me and recall it, "
    "and nothing else. To connect a model, set GEMINI_API_KEY, ANTHROPIC_API_KEY or OPENAI_API_KEY "
    "and start again, or start with `co chat --model ollama:NAME`."
)
BRIEFLY = "I am offline and can only remember and recall."
_NOTHING = "I have nothing about that. Tell me, and I will offer to remember it."
_PLAIN = {
    "help": (
        "Tell me what you want to keep (“remember the API lives on port 80”), ask in your own "
        "words (“which port does the API use?”), put it right (“no, I meant 8080”), or say “forget "
        "that”, “undo”, “list everything”, “what did I tell you today?”. I ask before I change "
        "anything."
    ),
    "who": "I am Co. I keep your notes as plain files on this machine and find them when you ask.",
    "undo": "`co undo` takes back the last change.",
}
_GREETINGS = {
    r"\b(?:thanks?|thx|ty|cheers|merci|danke|gracias)\b": "You are welcome.",
    r"\b(?:bye|good ?night|see you|later|ciao)\b": "Bye.",
    "": "Hello. What should I keep or find?",
}
_WHICH = "Which note do you mean? Ask for it first, or name its number."
_RESULTS, _MORE = 5, 2
_QUOTED = 1000  # characters of one note in an answer
_DAYS = ((r"\btoday|\bthis morning|\btonight|\bjust now", 0), (r"\byesterday", 1), (r"\bmonth", 31))


class Note(NamedTuple):
    """A note that was spoken of: saved, or told as the best answer."""

    ref: str
    text: str
    day: str


class Conversation(NamedTuple):
    """What the person said last, what it wants, and the note that was spoken of before."""

    said: str
    turns: list[Turn]
    note: Note | None


def hear(said: str, earlier: Iterable[ModelMessage]) -> Conversation:
    """Understand what was said; where Co's weights cannot be read, nothing is."""
    turns: list[Turn] = []
    with suppress(EmbedderUnavailable):
        turns = understand(said)
    return Conversation(said, turns, _spoken_of(earlier))


def _spoken_of(earlier: Iterable[ModelMessage]) -> Note | None:
    note = None
    for part in (part for message in earlier for part in message.parts):
        if not isinstance(part, ToolReturnPart) or part.outcome != "success":
            continue
        values = read(part.content)
        rows = _rows(values.get("results"))
        if part.tool_name == "save_memory" and values.get("ref"):
            note = Note(str(values["ref"]), str(values.get("content") or ""), "")
        elif part.tool_name == "recall_memory" and rows:
            best = min(rows, key=lambda row: bool(row.get("weak")))
            note = Note(str(best.get("ref")), _text(best), str(best.get("created") or "")[:10])
        elif part.tool_name == "forget_memory":
            note = None
    return note


# What to do


def calls(heard: Conversation, returned: Sequence[ToolReturnPart]) -> list[ToolCallPart]:
    """The tools to call next, after what came back of those that were called."""
    if returned:
        return _forget_found(heard, returned)
    found = []
    for turn in heard.turns:
        if turn.want in KEPT:
            found.append(_save(turn, heard))
        elif turn.want == "forget":
            found.append(_forget(turn, heard))
        elif turn.want in ("list", "about_me", "changes"):
            found.append(ToolCallPart("list_memories", {}))
        elif turn.want in ("recall", "nothing") or (turn.want == "followup" and not heard.note):
            found.append(_recall(turn.text))
    return [call for call in found if call]


def _recall(query: str) -> ToolCallPart:
    return ToolCallPart("recall_memory", {"query": query, "max_results": _RESULTS})


def _save(turn: Turn, heard: Conversation) -> ToolCallPart | None:
    text, old = turn.text, heard.note
    if turn.want == "amend":
        text = (amended(old.text, text, heard.said) if old else "") or turn.whole
    if not text:
        return None
    arguments: dict[str, Any] = {"content": text, "tags": list(turn.tags)}
    corrects = old and text != turn.whole and turn.want in ("correct", "amend")
    if old.ref.startswith("g") if old and corrects else turn.mine:
        arguments["scope"] = "user"
    offered = None if turn.sure else {"offered": True}
    return ToolCallPart("save_memory", arguments, provider_name="offline", provider_details=offered)


def _forget(turn: Turn, heard: Conversation) -> ToolCallPart | None:
    number = re.fullmatch(r"(?:(?:memory|note|number|no\.?) ?)*#?(g?\d{1,9})", turn.text.lower())
    ref = number[1] if number else heard.note.ref if heard.note and not turn.text else ""
    if ref:
        return ToolCallPart("forget_memory", {"ref": ref})
    return _recall(turn.text) if turn.text else None


def _forget_found(heard: Conversation, returned: Sequence[ToolReturnPart]) -> list[ToolCallPart]:
    """What was looked for to be forgotten, where only one note answers to it."""
    wants = [turn.want for turn in heard.turns]
    if wants != ["forget"] or [part.tool_name for part in returned] != ["recall_memory"]:
        return []
    rows = _rows(read(returned[0].content).get("results"))
    sure = [row for row in rows if not row.get("weak")]
    return [ToolCallPart("forget_memory", {"ref": str(sure[0]["ref"])})] if len(sure) == 1 else []


# What to say


def answer(heard: Conversation, returned: Sequence[ToolReturnPart], *, explained: bool) -> str:
    """What the person is told: what was done and found, or what else there is to say."""
    told = dict.fromkeys(filter(None, (_told(part, heard) for part in returned)))
    for turn in heard.turns:
        if text := _reply(turn, heard):
            told[text] = None
    return "\n\n".join(told) or (BRIEFLY if explained else HOW)


def _reply(turn: Turn, heard: Conversation) -> str:
    """The answer to what needs no tool."""
    if turn.want == "greet":
        said = (say for cue, say in _GREETINGS.items() if re.search(cue, heard.said.lower()))
        return next(said)
    if turn.want == "followup" and heard.note:
        when = f"on {heard.note.day}" if heard.note.day else "just now"
        return f"You told me {when}: {second_person(heard.note.text)} [{heard.note.ref}]"
    lost = (turn.want == "amend" and not _save(turn, heard)) or (
        turn.want == "forget" and not _forget(turn, heard)
    )
    return _WHICH if lost else _PLAIN.get(turn.want, "")


def _told(part: ToolReturnPart, heard: Conversation) -> str:
    """What a tool answered, in words for the person."""
    values = read(part.content)
    text = str(values.get("display") or ("" if values else part.content)).strip()
    verb = {"save_memory": "saved", "forget_memory": "forgotten"}.get(part.tool_name, "done")
    if values.get("refused") in ("declined", "stopped"):  # the person knows
        return f"Not {verb}."
    if part.outcome != "success":
        return f"Not {verb}: {text}"
    if part.tool_name == "save_memory" and values.get("ref"):
        return _saved(values, text)
    for tool, key, tell in (
        ("recall_memory", "results", _recalled),
        ("list_memories", "memories", _listed),
    ):
        if part.tool_name == tool and isinstance(values.get(key), list):
            return tell(_rows(values[key]), heard)
    return text or "Done."


def read(content: object) -> Mapping[str, Any]:
    """What a tool answered as values, whether they came as such or as JSON."""
    if isinstance(content, str):
        with suppress(ValueError):
            content = json.loads(content)
    return content if isinstance(content, Mapping) else {}


def _rows(values: object) -> list[Mapping[str, Any]]:
    return [row for row in values if isinstance(row, Mapping)] if isinstance(values, list) else []


def _saved(values: Mapping[str, Any], display: str) -> str:
    """What a save did, from what the tool says: the person may have changed the words."""
    said = str(values.get("content") or "").strip()
    head = f"Saved as [{values['ref']}]{f': {said}' if said else '.'}"
    if values.get("action") == "consolidated":
        head = f"[{values['ref']}] already says this."
    path = str(values.get("path") or display)
    more = [line for line in display.splitlines()[1:] if path not in line]
    return "\n".join([head, *more])


def _recalled(hits: Sequence[Mapping[str, Any]], heard: Conversation) -> str:
    """One best answer, what it replaces, and at most two more; what is not sure says so."""
    sure = [hit for hit in hits if not hit.get("weak")]
    wants = {turn.want for turn in heard.turns}
    if wants == {"forget"} and hits:
        return _bullets("Which one? Say “forget” and its number.", map(_quoted, hits))
    if not sure and "recall" not in wants:
        return ""
    if not hits:
        return _NOTHING
    if not sure:
        return _bullets("Perhaps:", map(_quoted, hits[: _MORE + 1]))
    best, *others = sure
    earlier = [hit for hit in hits if hit is not best and hit.get("replaced_by")]
    others = [hit for hit in others if hit not in earlier][:_MORE]
    day = str(best.get("created") or "")[:10]
    who = "From outside" if best.get("external") else "You told me"
    told = [f"{who}{f' on {day}' if day else ''}: {_quoted(best)}"]
    told += [f"Earlier: {_quoted(hit)}" for hit in earlier[:1]]
    return "\n\n".join([*told, *([_bullets("Also:", map(_quoted, others))] if others else [])])


def _listed(rows: Sequence[Mapping[str, Any]], heard: Conversation) -> str:
    wants = {turn.want for turn in heard.turns}
    title = "This is what I remember:"
    if "about_me" in wants:
        title = "This is what I know about you:"
        rows = [row for row in rows if _about_person(row)] or rows
    elif "changes" in wants:
        days = next((days for cue, days in _DAYS if re.search(cue, heard.said.lower())), 7)
        since = str(date.today() - timedelta(days))
        rows = [row for row in rows if str(row.get("updated") or row.get("created")) >= since]
        title = f"Kept or changed since {since}:"
        if not rows:
            return f"Nothing was kept or changed since {since}."
    lines = [f"{second_person(str(row.get('summary')))} [{row.get('ref')}]" for row in rows]
    return _bullets(title, lines) if lines else "I have no memories yet."


def _about_person(row: Mapping[str, Any]) -> bool:
    return str(row.get("ref")).startswith("g") or str(row.get("summary")).startswith("User")


def _bullets(title: str, texts: Iterable[str]) -> str:
    return "\n".join([title, "", *("- " + text.replace("\n", "\n  ") for text in texts)])


def _text(hit: Mapping[str, Any]) -> str:
    article = hit.get("kind") == "article"
    return str((hit.get("passage") if article else None) or hit.get("content") or "").strip()


def _quoted(hit: Mapping[str, Any]) -> str:
    text = second_person(_text(hit))
    return f"{text if len(text) <= _QUOTED else f'{text[:_QUOTED]}…'} [{hit.get('ref')}]"
