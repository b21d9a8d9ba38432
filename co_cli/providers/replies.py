"""What Co answers where no language model is connected; `calls.py` decides what is done."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic_ai.messages import ToolReturnPart

from co_cli.learning.amend import change, holds
from co_cli.learning.answers import REASON, answers, held, shares
from co_cli.learning.own_words import PRIVATE
from co_cli.learning.turns import KEPT, Turn
from co_cli.learning.voice import second_person
from co_cli.providers.calls import LOOKED_FOR, before, forget, is_every, save
from co_cli.providers.conversation import (
    WHICH,
    Conversation,
    Note,
    Surface,
    days_asked,
    found,
    is_plain,
    note_of,
    read,
    recalled_rows,
    rows_of,
)

HOW = (
    "I am offline: no language model is connected. I can remember what you tell me and recall it, "
    "and nothing else. To connect a model, set GEMINI_API_KEY, ANTHROPIC_API_KEY or OPENAI_API_KEY "
    "and start again, or use `co chat --model ollama:NAME`."
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
    "undo": "`co knowledge undo` takes back the last change.",
    "restore": "`co knowledge restore` shows what was forgotten, and brings back what you name.",
    "stay": "All right.",
    "quiet": "I will not ask, and “remember …” works as before. Say “ask me again” to be asked.",
    "again": "I will ask about what you tell me.",
    "rejected": "You did not want that kept, so I will not ask. “Remember …” keeps it after all.",
    "what": "What should I remember? Say it after “remember”.",
    "wrong": "What is right? Say “no, ” and what it should say.",
    "show": "`co knowledge show` and its number shows a note.",
}
_GREETINGS = {
    r"\b(?:thanks?|thx|ty|cheers|merci|danke|gracias)\b": "You are welcome.",
    r"\b(?:bye|good ?night|see you|later|ciao|tsch(?:u|ü)ss)\b": "Bye.",
    r"\b(?:hi|hiya|hello|hey|howdy|yo|good (?:morning|afternoon|evening|day)|morning|moin|hallo"
    r"|servus|bonjour|salut|hola)\b": "Hello. What should I keep or find?",
    "": "All right.",
}
_WHICH = "Which note do you mean? Ask for it first, or name its number."
_OF_WHAT = "I do not know what that is about. Ask me about something first."
_NONE_BEFORE = "I know of nothing before that."
_TELLS_BOTH = r"(?i)\b(?:used to|from .{1,40} to|switched|replaced|instead of|previously)\b"
_NOT_THERE = "I have nothing about that, so there is nothing to forget."
_MORE = 2  # answers beside the best one
_EMPTY = "I have no notes yet."
_ONE_BY_ONE = "I forget notes one by one: say which, or name its number."
_PRIVATE = "All right, I keep no note of that."
_DONE = {
    "save_memory": "saved",
    "forget_memory": "forgotten",
    "web_fetch": "fetched",
    "save_knowledge": "kept",
}


def answer(heard: Conversation, returned: Sequence[ToolReturnPart], *, explained: bool) -> str:
    """What the person is told: what was done and found, or what else there is to say."""
    done = [part for part in returned if part.tool_name in ("forget_memory", "save_memory")]
    shown = done if done and heard.wants <= {"forget", "rename", *KEPT} else returned
    if returned and returned[-1].tool_name == "save_knowledge":  # and not that it was fetched
        shown = returned[-1:]
    told = dict.fromkeys(filter(None, (_told(part, heard) for part in shown)))
    for turn in heard.turns:
        answered = told and turn.want in ("help", "who") and not is_plain(turn, heard.said)
        if not answered and (text := _reply(turn, heard)):
            told[text] = None
    if not told and re.search(PRIVATE, heard.said):
        return _PRIVATE
    return "\n\n".join(told) or (BRIEFLY if explained else heard.surface.reword(HOW))


def _reply(turn: Turn, heard: Conversation) -> str:
    """The answer to what needs no tool."""
    if turn.want == "greet":
        said = (say for cue, say in _GREETINGS.items() if re.search(cue, heard.said.lower()))
        return next(said)
    if turn.want in ("followup", "earlier") and not before(turn, heard):
        return _OF_WHAT
    if turn.want == "followup" and heard.note:
        return _follow(heard.said.lower(), heard.note)
    if turn.want == "forget" and is_every(turn, heard):
        return _ONE_BY_ONE
    act = {"forget": forget, "amend": save}.get(turn.want)
    if act and not act(turn, heard):
        file = heard.note.file if heard.note else ""
        return f"{file} says that; change it there." if file else _WHICH
    return turn.text if turn.want == "which" else heard.surface.reword(_PLAIN.get(turn.want, ""))


def _follow(said: str, note: Note) -> str:
    """What was asked about the note that was told: who said so, since when, why, for sure."""
    if note.file:
        return note.told
    if re.search(r"\bwho\b", said) and not note.source:
        return f"You did, {note.when}: {note}"
    if re.search(r"\bwhy\b|\breason|\bhow come", said) and not re.search(REASON, note.text):
        return f"You did not tell me why. {note.told}"
    if re.search(r"\bsure\b|\breally\b|\bcertain|\bright\b|\bcorrect\b|\bpositive\b", said):
        return f"{note.told}\n\nIf that has changed, tell me."
    return note.told


def _told(part: ToolReturnPart, heard: Conversation) -> str:
    """What a tool answered, in words for the person."""
    values = read(part.content)
    text = str(values.get("display") or ("" if values else part.content)).strip()
    verb = _DONE.get(part.tool_name, "done")
    known = {"declined": f"Not {verb}.", "stopped": f"Not {verb}.", "rule": "Nothing was changed."}
    if values.get("refused") in known:  # why was said, or is known
        return known[values["refused"]]
    if part.outcome != "success":
        return f"Not {verb}: {heard.surface.reword(text.removeprefix('It cannot be done: '))}"
    if part.tool_name == "save_memory" and values.get("ref"):
        return _saved(values, text, heard.surface)
    if part.tool_name in ("forget_memory", "save_knowledge"):
        return _done(*text.splitlines(), surface=heard.surface) or "Done."
    for tool, key, tell in (
        ("recall_memory", "results", _about if heard.wants == {"about"} else _recalled),
        ("list_memories", "memories", _listed),
    ):
        if part.tool_name == tool and isinstance(values.get(key), list):
            return tell(part, heard)
    return text or "Done."


def _done(*lines: str, surface: Surface) -> str:
    """What was done, and what may be done next in the words of the surface."""
    done, *more = lines or ("",)
    hints = [surface.reword(line) for line in more]
    shell = surface.reword is str
    return "\n".join([done, *(line for line in hints if shell or "co knowledge" not in line)])


def _saved(values: Mapping[str, Any], display: str, surface: Surface) -> str:
    """What a save did, from what the tool says: the person may have changed the words."""
    said = str(values.get("content") or "").strip()
    head = f"Saved as [{values['ref']}]{f': {said}' if said else '.'}"
    if values.get("action") == "consolidated" and "similarity" not in values:
        head = f"[{values['ref']}] already says this."
    path = str(values.get("path") or display)
    more = [line for line in display.splitlines()[1:] if path not in line]
    return _done(head, *more, surface=surface)


def _recalled(part: ToolReturnPart, heard: Conversation) -> str:
    """One best answer, what it replaces, and at most two more; what is not sure says so."""
    sure, perhaps = found(part, heard)
    if heard.wants == {"forget"}:
        which = [str(note) for note in (*sure, *perhaps) if note.ref]
        return _bullets(WHICH, which) if which else _NOT_THERE
    if heard.wants == {"amend"}:
        what = changes["what"] if (changes := change(heard.said)) else ""
        there = not what or any(holds(note_of(row).text, what) for row in rows_of(part, "results"))
        return (_WHICH if there else f"No note says {what}.") if heard.turns[0].sure else ""
    if "earlier" in heard.wants:
        best = next(iter((*sure, *perhaps)), None)
        held = _earlier(part, best.ref, heard) if best else []
        none = [] if best and re.search(_TELLS_BOTH, best.text) else [_NONE_BEFORE]
        return "\n".join(held) or (" ".join([*none, best.told]) if best else _NOTHING)
    if not sure and perhaps:
        return _bullets("Perhaps:", map(str, perhaps[: _MORE + 1]))
    if not sure:
        return "" if heard.wants.isdisjoint(LOOKED_FOR) else _NOTHING
    best, *others = sure
    earlier = [re.sub(r"^[^:]+: ", "Earlier: ", one) for one in _earlier(part, best.ref, heard)[:1]]
    told = [best.told, *earlier]
    more = [one.told if one.file else str(one) for one in others[:_MORE]]
    return "\n\n".join([*told, *([_bullets("Also:", more)] if more else [])])


def _about(part: ToolReturnPart, heard: Conversation) -> str:
    """All notes that speak of something, or what is told of it."""
    about, notes = heard.turns[0].text, [note_of(row) for row in rows_of(part, "results")]
    told = [note for note in notes if shares(about, note.text) and answers(about, note.text)]
    many = f"{len(told) or 'no'} {'note' if len(told) == 1 else 'notes'} about {about}"
    return _bullets(f"{many}:", map(str, told)) if told else f"I have {many}."


def _earlier(part: ToolReturnPart, ref: str, heard: Conversation) -> list[str]:
    """What a note took the place of, with the day."""
    rows = recalled_rows(part)
    gone = [note_of(row) for row in rows if row.get("replaced_by") == ref]
    said = heard.said if heard.wants.isdisjoint({"earlier"}) else ""
    told = [note.told for note in gone if not said or held(said, note.text)]
    return told + [
        f"Until {str(row.get('created'))[:10]}: {second_person(str(row['earlier']))}"
        for row in rows
        if row.get("ref") == ref and "earlier" in row
    ]


def _counted(part: ToolReturnPart) -> str:
    """How many notes there are, and whose."""
    many = int(read(part.content).get("count") or 0)
    rows = rows_of(part, "memories")
    own = sum(str(row.get("ref")).startswith("g") for row in rows)
    split = f": {len(rows) - own} of this project, {own} of your own" if len(rows) == many else ""
    return f"{many} {'note' if many == 1 else 'notes'}{split}." if many else _EMPTY


def _listed(part: ToolReturnPart, heard: Conversation) -> str:
    rows, title = rows_of(part, "memories"), "This is what I remember:"
    if heard.wants == {"count"}:
        return _counted(part)
    if "about_me" in heard.wants:
        title = "This is what I know about you:"
        mine = (row for row in rows if re.match(r"g\d|\S+ User", f"{row['ref']} {row['summary']}"))
        rows = [*mine] or rows
    elif "changes" in heard.wants:
        first, last = days_asked(heard.said)
        when = f"from {first} to {last}" if first != last else f"on {first}"
        title = f"Kept or changed {when}:"
        if not rows:
            return f"Nothing was kept or changed {when}."
        if re.search(r"\b(?:last|latest|newest) (?:thing|note|memory|one)\b", heard.said.lower()):
            title, rows = "The latest is:", rows[-1:]
    lines = [str(note_of({**row, "content": row.get("summary")})) for row in rows]
    return _bullets(title, lines) if lines else _EMPTY


def _bullets(title: str, texts: Iterable[str]) -> str:
    return "\n".join([title, "", *("- " + text.replace("\n", "\n  ") for text in texts)])
