"""What Co does with a turn, and answers, where no language model is connected.

The person's words decide on every call; a note that was just spoken of is only looked at, or put
right, when they say so. Knows no notebook: the tools do the work.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic_ai.messages import ToolCallPart, ToolReturnPart

from co_cli.knowledge.meaning.turns import STATEMENTS
from co_cli.knowledge.replacement import likeness
from co_cli.knowledge.search.words import SHORT
from co_cli.learning.amend import CHANGES, SWITCHED, alike, amended, change, names_another, placed
from co_cli.learning.answers import REASON, answers, shares
from co_cli.learning.turns import KEPT, PRIVATE, Turn, tagged
from co_cli.learning.voice import named, second_person
from co_cli.providers.conversation import (
    Conversation,
    Note,
    Surface,
    days_asked,
    found,
    is_plain,
    note_of,
    read,
    rows_of,
    topic,
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
    "what": "What should I remember? Say it after “remember”.",
    "show": "`co knowledge show` and its number shows a note.",
}
_GREETINGS = {
    r"\b(?:thanks?|thx|ty|cheers|merci|danke|gracias)\b": "You are welcome.",
    r"\b(?:bye|good ?night|see you|later|ciao|tsch(?:u|ü)ss)\b": "Bye.",
    r"\b(?:hi|hiya|hello|hey|howdy|yo|good (?:morning|afternoon|evening|day)|morning|moin|hallo"
    r"|servus|bonjour|salut|hola)\b": "Hello. What should I keep or find?",
    "": "All right.",
}
_IT = r"(?i)it|that|this|them|(?:that|this) (?:one|note)"
_WHICH = "Which note do you mean? Ask for it first, or name its number."
_OF_WHAT = "I do not know what that is about. Ask me about something first."
_NONE_BEFORE = "I know of nothing before that."
_TELLS_BOTH = r"(?i)\b(?:used to|from .{1,40} to|switched|replaced|instead of|previously)\b"
_NOT_THERE = "I have nothing about that, so there is nothing to forget."
_MORE, _RESULTS, _ALL = 2, 5, {"about": 50}
_LOOKED_FOR = ("recall", "about", "help", "who")
_LOOKS_UP = ("recall_memory", "list_memories")
_EMPTY = "I have no notes yet."
_ONE_BY_ONE = "I forget notes one by one: say which, or name its number."
_PRIVATE = "All right, I keep no note of that."
_EVERYTHING = r"(?:everything|all|(?:all|every one) of (?:it|them)|all (?:my |the |your )?\w{5,8})"
_EXCEPT = r"(?i)\b(?:except|but not|other than|apart from)\b"
_NUMBERS = (  # notes by their numbers
    r"(?:(?:the )?(?:memor(?:y|ies)|notes?|numbers?|no\.?) )?#?g?\d{1,9}"
    r"(?:(?:,| and|, and) (?:#|note |memory |number )?g?\d{1,9}){0,9}"
)
_SAID = (
    r"(?: (?:that )?(?:i|you) (?:have )?(?:just )?(?:said|told (?:you|me)|saved|mentioned|wrote))"
)
_THAT = (  # the note that was spoken of
    rf"(?:it|that|this|what{_SAID}|(?:that|this|the|my) (?:(?:very )?(?:last|latest|previous) )?"
    rf"(?:one|note|memory|thing|fact|entry){_SAID}?)(?: (?:again|please|now|just now|then))?"
)
_TAKEN_BACK = (  # what takes the note just spoken of back, whatever follows
    r"(?i)^(?:oh |uh |hm+,? |sorry,? |oops,? |ok,? |no,? |wait,? )?"
    r"(?:(?:scratch|scrap|strike) (?:that|this|it)\b|i meant\b|that(?:'s| is| was) (?:wrong|not))"
)
_DONE = {
    "save_memory": "saved",
    "forget_memory": "forgotten",
    "web_fetch": "fetched",
    "save_knowledge": "kept",
}


# What to do


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
            wanted += _save(turn, heard)
        elif turn.want == "page":
            wanted.append(ToolCallPart("web_fetch", {"url": turn.text}))
        elif turn.want == "forget":
            wanted += _forget(turn, heard)
        elif turn.want == "changes":
            since, until = days_asked(heard.said)
            wanted.append(ToolCallPart("list_memories", {"since": since, "until": until}))
        elif turn.want in ("list", "about_me", "count"):
            wanted.append(ToolCallPart("list_memories", {}))
        elif turn.want == "earlier" and (query := _before(turn, heard)):
            wanted.append(_recall(query))
        elif turn.want in (*_LOOKED_FOR, "nothing") and not is_plain(turn, heard.said):
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


def _before(turn: Turn, heard: Conversation) -> str:
    """What to look for to tell what held before: what is named, or the note spoken of."""
    named = topic(turn.text) if turn.want == "earlier" else ""
    return named or (heard.note.text if heard.note else "")


def _save(turn: Turn, heard: Conversation) -> list[ToolCallPart]:
    """Keep what was said; what puts a note right takes its place, once that is found."""
    old = _put_right(turn, heard)
    if old and (text := _righted(turn, heard, old)):
        return [_keep(turn, text, old)]
    changes = _change(turn, heard)
    return [_recall(changes["what"])] if changes else _keep_anew(turn, heard)


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
        it = re.fullmatch(_IT, what)
        return amended(old.text, value, heard.said) if it or about else ""
    switched = re.search(SWITCHED, heard.said) if turn.want in (*STATEMENTS, "amend") else None
    if switched and not names_another(heard.said, switched[1], old.text):
        return amended(old.text, switched[1], heard.said, turn.whole or turn.text)
    if turn.want == "amend":
        return amended(old.text, turn.text, heard.said, turn.whole)
    meant = re.search(_TAKEN_BACK, heard.said) or alike(old.text, turn.text)
    return turn.text if turn.want == "correct" and meant else ""


def _change(turn: Turn, heard: Conversation) -> re.Match[str] | None:
    alone = len(heard.turns) == 1 and turn.want in (*STATEMENTS, "amend")
    return change(heard.said) if alone else None


def _put_right(turn: Turn, heard: Conversation) -> Note | None:
    """The note that was spoken of; of several that were just saved, the one that it fits best."""
    if turn.want == "amend":
        fits = [placed(one.text, turn.text, heard.said, turn.whole)[0] for one in heard.saved]
    else:
        fits = [likeness(one.text, turn.text) for one in heard.saved]
    if len(fits) < 2 or max(fits) <= 0:
        return heard.note
    return heard.saved[fits.index(max(fits))]


def _forget(turn: Turn, heard: Conversation) -> list[ToolCallPart]:
    named = re.fullmatch(_NUMBERS, turn.text.lower())
    refs = re.findall(r"g?\d+", named[0]) if named else []
    if not turn.text or re.fullmatch(_THAT, turn.text.lower()):
        refs = [heard.note.ref] if heard.note and heard.note.ref and heard.note.kept else []
    elif not refs and not _is_every(turn, heard):
        return [_recall(turn.text)]
    return [ToolCallPart("forget_memory", {"ref": ref}) for ref in dict.fromkeys(refs)]


def _is_every(turn: Turn, heard: Conversation) -> bool:
    return bool(re.fullmatch(_EVERYTHING, turn.text.lower()) or re.search(_EXCEPT, heard.said))


def _forget_found(heard: Conversation, returned: Sequence[ToolReturnPart]) -> list[ToolCallPart]:
    """What was looked for to be forgotten, where only one note answers to it."""
    if heard.wants != {"forget"} or [part.tool_name for part in returned] != ["recall_memory"]:
        return []
    sure = [note for note in found(returned[0], heard)[0] if note.ref]
    if len(sure) != 1:
        return []
    # The person named no memory: theirs to see, not a rule's.
    return [_call("forget_memory", {"ref": sure[0].ref}, offered=True)]


def _change_found(heard: Conversation, returned: Sequence[ToolReturnPart]) -> list[ToolCallPart]:
    """What puts the note right that was looked for; a note of its own where there is none."""
    if not heard.wants <= {*KEPT} or [part.tool_name for part in returned] != ["recall_memory"]:
        return []
    [turn], notes = heard.turns, [note_of(row) for row in rows_of(returned[0], "results")]
    texts = ((note, _righted(turn, heard, note)) for note in notes)
    right = next(([_keep(turn, text, note)] for note, text in texts if text), None)
    return right or _keep_anew(turn, heard)


def _keep_fetched(heard: Conversation, returned: Sequence[ToolReturnPart]) -> list[ToolCallPart]:
    """The page that the person named, once it is read; nothing of what it says counts here."""
    [*_, last] = returned
    if heard.wants != {"page"} or (last.tool_name, last.outcome) != ("web_fetch", "success"):
        return []
    [turn] = heard.turns
    arguments = {"content": "", "source": turn.text, "title": "", "tags": []}
    return [_call("save_knowledge", arguments, offered=not turn.sure)]


# What to say


def answer(heard: Conversation, returned: Sequence[ToolReturnPart], *, explained: bool) -> str:
    """What the person is told: what was done and found, or what else there is to say."""
    done = [part for part in returned if part.tool_name in ("forget_memory", "save_memory")]
    shown = done if done and heard.wants <= {"forget", *KEPT} else returned
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
    if turn.want in ("followup", "earlier") and not _before(turn, heard):
        return _OF_WHAT
    if turn.want == "followup" and heard.note:
        return _follow(heard.said.lower(), heard.note)
    if turn.want == "forget" and _is_every(turn, heard):
        return _ONE_BY_ONE
    act = {"forget": _forget, "amend": _save}.get(turn.want)
    if act and not act(turn, heard):
        file = heard.note.file if heard.note else ""
        return f"{file} says that; change it there." if file else _WHICH
    return heard.surface.reword(_PLAIN.get(turn.want, ""))


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
        return f"Not {verb}: {heard.surface.reword(text)}"
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
    if values.get("action") == "consolidated":
        head = f"[{values['ref']}] already says this."
    path = str(values.get("path") or display)
    more = [line for line in display.splitlines()[1:] if path not in line]
    return _done(head, *more, surface=surface)


def _recalled(part: ToolReturnPart, heard: Conversation) -> str:
    """One best answer, what it replaces, and at most two more; what is not sure says so."""
    sure, perhaps = found(part, heard)
    if heard.wants == {"forget"}:
        which = [str(note) for note in (*sure, *perhaps) if note.ref]
        return _bullets("Which one? Say “forget” and its number.", which) if which else _NOT_THERE
    if heard.wants == {"amend"}:
        return _WHICH if heard.turns[0].sure else ""
    if "earlier" in heard.wants:
        best = next(iter((*sure, *perhaps)), None)
        held = _earlier(part, best.ref) if best else []
        none = [] if best and re.search(_TELLS_BOTH, best.text) else [_NONE_BEFORE]
        return "\n".join(held) or (" ".join([*none, best.told]) if best else _NOTHING)
    if not sure and perhaps:
        return _bullets("Perhaps:", map(str, perhaps[: _MORE + 1]))
    if not sure:
        return "" if heard.wants.isdisjoint(_LOOKED_FOR) else _NOTHING
    best, *others = sure
    earlier = [re.sub(r"^[^:]+: ", "Earlier: ", one) for one in _earlier(part, best.ref)[:1]]
    told = [best.told, *earlier]
    more = [one.told if one.file else str(one) for one in others[:_MORE]]
    return "\n\n".join([*told, *([_bullets("Also:", more)] if more else [])])


def _about(part: ToolReturnPart, heard: Conversation) -> str:
    """All notes that speak of something, or what is told of it."""
    about, notes = heard.turns[0].text, [note_of(row) for row in rows_of(part, "results")]
    told = [note for note in notes if shares(about, note.text) and answers(about, note.text)]
    many = f"{len(told) or 'no'} {'note' if len(told) == 1 else 'notes'} about {about}"
    return _bullets(f"{many}:", map(str, told)) if told else f"I have {many}."


def _earlier(part: ToolReturnPart, ref: str) -> list[str]:
    """What a note took the place of, with the day."""
    rows = rows_of(part, "results")
    told = [note_of(row).told for row in rows if row.get("replaced_by") == ref]
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
