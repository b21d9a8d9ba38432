"""What a person said where no language model is connected, what it wants, and of which note.

Knows what the tools answered earlier; calls none and says nothing.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import date, timedelta
from typing import Any, NamedTuple

from pydantic_ai.messages import ModelMessage, ToolCallPart, ToolReturnPart, UserPromptPart

from co_cli.errors import EmbedderUnavailable
from co_cli.knowledge.lifecycle import CITED, SUMMARY
from co_cli.knowledge.meaning.turns import STATEMENTS
from co_cli.knowledge.replacement import likeness, may_replace
from co_cli.knowledge.safety.secrets import LEFT_OUT
from co_cli.knowledge.search.query import Query, Span
from co_cli.knowledge.search.words import STOP
from co_cli.learning import answers
from co_cli.learning.amend import CHANGES
from co_cli.learning.pages import page_wanted
from co_cli.learning.turns import LAST_NOTE, Turn, tagged, understand
from co_cli.learning.voice import second_person
from co_cli.meant import YES, picked
from co_cli.providers.known import Passage

_Rows = list[Mapping[str, Any]]
_BESIDE, _FILE = 0.75, 0.55  # of the best score: what is told with it; and the score of a file
_CLEARLY = 0.8  # of the best score: what stands well behind it
_ALONE = 0.2  # the score of the only note there is, told as a guess
_QUOTED = 1000  # characters of one note in an answer
_OF_CO = (
    r"(?i)\b(?:you|your|yourself|u|co|help|commands?|this (?:thing|tool|program|app)|something"
    r"|an? (?:note|memory)|notes|memories)\b"
)

_MARKS = (
    r"(?i)(?:please |can you )?((?:un)?(?:pin|protect)) (?:the |my |that )?(.{1,80})"
    r" (?:note|memory)"
)
_BACK = (  # what was forgotten is wanted, whatever else was changed last
    r"(?i)\b(?:bring|get|give|want|need)\b.{0,40}\bback\b|\b(?:restore|un-?(?:delete|forget))"
)
_LISTS = r"(?i)\b(?:what|whats|which|show|list|any|anything|something|is there|did)\b"
_ALL_ABOUT = (
    r"(?i)(?:(?:please|pls|can you|co),? ){0,2}(?:how many|count|list|show(?: me)?)(?: all)?"
    r"(?: of)?(?: the| my| your| our)? (?:notes?|memories|things|entries|everything|all)"
    r"(?: (?:are there|do (?:i|you) have))? (?:about|on|for|of|with|mentioning|tagged) (?:the )?"
    r"(.{2,60}?)(?: (?:do (?:i|you|we) have|are there|have you got))?[.?! ]{0,3}$"
)
_RENAMES = r"(?i)(?:please )?rename (?!(?:the|my|our|it|this|that)\b)(.{2,40}?) to (.{1,40}?)[.!]?$"
_QUIET = (  # what people say who want no more offers, and what says that they do
    r"(?i)(?:(?:please|ok|just),? ){0,2}(?:(?:stop|quit|don'?t|no more) (?:ask|offer|question)"
    r"|(?P<again>(?:you (?:can|may) |start )?(?:ask|offer)(?:ing)?(?: me)? again))"
)
_A_NOTE = (
    r"(?i)^(?:the |that |my )?(?:note|memory|entry|number|no\.|bit|thing|part)s?(?: |$)"
    r"(?:(?:about|on|for|of|with) )?#?|(?<=\w) (?:one|note|thing|memory|entry|bit)s?$"
)
_NAMES_NOTHING = frozenset(
    "bring brought back get give want need put restore recover retrieve undelete un-delete "
    "unforget un-forget undo forgotten forget forgot deleted delete deletion removed remove "
    "dropped drop threw throw thrown away trash bin archive archived show list tell told last "
    "again please pls both note notes memory memories thing things one ones entry entries "
    "anything something made mistake far yesterday week used use using run previous previously "
    "earlier formerly old older former value version originally past changed change then".split()
)

WHICH = "Which one? Say its number, a word from it, “all” or “none”."
_LATELY = 7  # days, where none are named
_WEEKDAYS = "monday|tuesday|wednesday|thursday|friday|saturday|sunday"
_DAYS_BACK = rf"(?:(?:last|past) (\d{{1,3}}) days?|\b({_WEEKDAYS}))\b"


class Surface(NamedTuple):
    """What a model without a language model is given by the surface that it answers on."""

    find: Callable[[str], Passage | None] = lambda _query: None
    reword: Callable[[str], str] = str
    rejected: Callable[[str], bool] = lambda _text: False


class Note(NamedTuple):
    """A note that was spoken of: saved, or told as the best answer; or a passage of a file."""

    ref: str  # of what was not kept, that of the note it was to replace
    text: str
    when: str = ""
    source: str = ""  # where it comes from, unless the person said it
    file: str = ""
    kept: bool = True
    mine: bool = False
    outdated: str = ""  # why it may no longer hold
    line: str = ""  # what is told of it, if not all

    def __str__(self) -> str:
        return self._quoted(f"from {self.source}" if self.source else "")

    def _quoted(self, origin: str) -> str:
        text = self.line or self.text
        text = text if len(text) <= _QUOTED else f"{text[:_QUOTED]}…"
        if self.file or not self.kept:
            return text
        about = "; ".join(filter(None, (origin, self.outdated)))
        return f"{second_person(text)} [{self.ref}]{about and f' ({about})'}"

    @property
    def told(self) -> str:
        """It, after who said it and when."""
        who = f"{self.file} says" if self.file else "You told me"
        who = "I keep no secrets; you told me" if LEFT_OUT in self.text else who
        who = f"From {self.source}" if self.source else who
        return f"{f'{who} {self.when}'.rstrip()}: {self._quoted('')}"


class Conversation(NamedTuple):
    """What the person said last, what it wants, and the note that was spoken of before.

    `called` are the arguments of every call so far, `saved` all notes of the last turn that were
    saved, the one spoken of last among them.
    """

    said: str
    turns: list[Turn]
    note: Note | None
    surface: Surface
    called: Mapping[str, Mapping[str, Any]]
    saved: tuple[Note, ...] = ()

    @property
    def wants(self) -> set[str]:
        """What is wanted, in any order."""
        return {turn.want for turn in self.turns}


def answered(said: str, messages: Iterable[ModelMessage]) -> Turn | None:
    """What answers "Which one?", where that was asked just before and this is no other sentence."""
    parts = [part for message in messages for part in message.parts]
    told = next((part.content for part in reversed(parts) if part.part_kind == "text"), "")
    question, *rows = told.split("\n- ")
    if not question.startswith(WHICH):
        return None
    named = [row.rpartition(" [") for row in rows]
    refs = picked(said, {ref.partition("]")[0]: text for text, _, ref in named})
    if refs is None:
        return Turn("which", told) if said.strip(" .!").lower() in YES else None
    return Turn("forget", " and ".join(refs)) if refs else Turn("stay")


def command(said: str) -> str:
    """The chat's own command that this asks for and nothing else: `undo`, `restore dentist`."""
    turns: list[Turn] = []
    with suppress(EmbedderUnavailable):
        turns = [] if page_wanted(said) else understand(said)
    one = turns[0] if len(turns) == 1 and not re.match(_ALL_ABOUT, said) else None
    return as_command(one, said) if one and one.sure else ""


def as_command(turn: Turn, said: str) -> str:
    """A turn as a command of the chat's, where it is one."""
    if turn.want == "show":
        return f"show {turn.text}"
    if marked := re.fullmatch(_MARKS, said.strip(" .!?")):
        return f"{marked[1].lower()} {marked[2]}"
    if turn.want == "list" and re.search(r"(?i)\b(?:archived|deleted|forgotten|removed)\b", said):
        return "restore"
    if turn.want == "undo" and re.search(_BACK, said):
        return "restore last"
    if turn.want == "restore":
        what = topic(turn.text) or ("" if re.search(_LISTS, said) else "last")
        return f"restore {what}".rstrip()
    plain = turn.want in ("undo", "stay") or (turn.want == "help" and is_plain(turn, said))
    return turn.want if plain else ""


def topic(text: str) -> str:
    """What a text names, without the words round it; "" where it only says what is to be done."""
    text = re.sub(_A_NOTE, "", text.strip(" .,!?"))
    words = re.findall(r"[\w-]+", text.lower())
    return text if any(word not in STOP and word not in _NAMES_NOTHING for word in words) else ""


def is_plain(turn: Turn, said: str) -> bool:
    """Whether this is asked of Co about itself, and not of the notes."""
    return turn.want in ("help", "who") and re.search(_OF_CO, turn.text or said) is not None


def days_asked(said: str) -> tuple[str, str]:
    """The first and the last day that a person asks about; without any, the last few."""
    low, today = re.sub(r"\bthis (?:morning|afternoon|evening)|\btonight\b|\bjust now\b", "today",
                        said.lower()), date.today()  # fmt: skip
    named = Query(low, str(today)).days[:1]
    first, last = today - timedelta(_LATELY), today
    if back := re.search(_DAYS_BACK, low):
        weekday = _WEEKDAYS.split("|").index(back[2]) if back[2] else 0
        ago = (today.weekday() - weekday) % 7 if back[2] else int(back[1])
        first = today - timedelta(ago)
        last = first if back[2] else today
    span = (str(first), str(last))
    if named and isinstance(named[0], Span):
        span = named[0].first, named[0].last
    return span[0], str(today) if re.search(r"\bsince\b", low) else span[1]


def hear(said: str, messages: Sequence[ModelMessage], start: int, surface: Surface) -> Conversation:
    """Understand what was said; where Co's weights cannot be read, nothing is.

    It was said in the message at `start`.
    """
    last, said = re.match(LAST_NOTE, said), re.sub(LAST_NOTE, "no, ", said)
    page = page_wanted(said)
    turns = [page] if page else []
    with suppress(EmbedderUnavailable):
        turns = turns or understand(said)
    if (about := re.match(_ALL_ABOUT, said)) and topic(about[1]):
        turns = [Turn("about", about[1])]
    if renames := re.match(_RENAMES, said):
        turns = [Turn("rename", renames[1], ("correction",), whole=renames[2])]
    turns = [
        one._replace(want="rejected")
        if one.want in STATEMENTS and surface.rejected(one.text)
        else one
        for one in turns
    ]
    if answer := answered(said, messages[:start]):
        turns = [answer]
    if not turns and (changes := re.match(CHANGES, said)):
        turns = [Turn("amend", changes["value"], ("correction",), sure=False)]
    parts = [part for message in messages for part in message.parts]
    before = [part for message in messages[:start] for part in message.parts]
    told = [str(part.content) for part in before if isinstance(part, UserPromptPart)]
    quiet = [asked for asked in (re.match(_QUIET, one) for one in (*told, said)) if asked][-1:]
    if re.match(_QUIET, said):
        turns = [Turn("again" if quiet[0]["again"] else "quiet")]
    called = {one.tool_call_id: read(one.args) for one in parts if isinstance(one, ToolCallPart)}
    heard = Conversation(said, turns, None, surface, called)
    passed = ("recall_memory",) if last and last["last"] else ()  # no note that was only told
    for part in before:
        if isinstance(part, UserPromptPart):
            heard = heard._replace(saved=())
        if isinstance(part, ToolReturnPart) and part.tool_name not in passed:
            note = _spoken_of(part, heard)
            saved = (note,) if note and part.tool_name == "save_memory" else ()
            heard = heard._replace(note=note, saved=heard.saved + saved)
    return _unoffered(heard) if quiet and not quiet[0]["again"] else heard


def _unoffered(heard: Conversation) -> Conversation:
    """The same where the person wants no offers; a correction is one where no note is spoken of."""
    offers = STATEMENTS if heard.note else (*STATEMENTS, "correct", "amend")
    turns = [one._replace(want="greet") if one.want in offers else one for one in heard.turns]
    return heard._replace(turns=turns)


def _spoken_of(part: ToolReturnPart, heard: Conversation) -> Note | None:
    """The note that is spoken of after what a tool answered."""
    values = read(part.content)
    if part.tool_name == "save_memory":
        asked, kept = heard.called.get(part.tool_call_id, {}), part.outcome == "success"
        ref, text = values.get("ref") or asked.get("replaces"), {**asked, **values}.get("content")
        mine = str(ref).startswith("g") if ref else asked.get("scope") == "user"
        return Note(str(ref or ""), str(text or ""), "just now", kept=kept, mine=mine)
    if part.tool_name == "recall_memory":
        sure, perhaps = found(part, heard)
        return next(iter((*sure, *perhaps)), None)
    return None if (part.tool_name, part.outcome) == ("forget_memory", "success") else heard.note


def found(part: ToolReturnPart, heard: Conversation) -> tuple[list[Note], list[Note]]:
    """What surely answers, best first, notes before files; and what perhaps does."""
    query = str(heard.called.get(part.tool_call_id, {}).get("query") or "")
    rows, fitting = _current([_line_asked_for(row, query) for row in recalled_rows(part)], query)
    slips = [row for row in rows if row.get("weak") and answers.misspelt(query, note_of(row).text)]
    own = [row for row in rows[:1] if answers.about_asker(query, note_of(row).text, 1.0)]
    near = [row for row in rows if not row.get("weak") or row in slips or row in own]
    first = note_of(rows[0]).text if rows and not near else ""
    of_domain = not {*tagged(["?"], query)}.isdisjoint(tagged(["."], first))
    kin = rows[:1] if first and (of_domain or answers.about_asker(query, first)) else []
    kin = kin or [row for row in rows if not near and answers.speaks_of(query, note_of(row).text)]
    near = near or kin
    least = _BESIDE * max((_score(row) for row in near[:1]), default=0.0)
    near = [row for row in near if _score(row) >= least]
    notes = [note_of(row) for row in near]
    guessed = near[:1] in (slips[:1], kin)  # what is best was hardly what was typed
    known = {note_of(row).ref for row in own}
    known |= {note.ref for note in notes[:1] if _clear(rows) or near[0].get("continues")}
    told = [
        note
        for row, note in zip(near, notes, strict=True)
        if note.ref in known or _score(row) >= 1 or answers.shares(query, note.text)
    ]
    sure = [note for note in told if note.ref in fitting and not guessed]
    passage = heard.surface.find(query) if query else None
    if passage and passage.score >= max(least, _FILE) and answers.answers(query, passage.text):
        sure.append(Note("", passage.text, file=passage.name))
    if heard.wants == {"forget"}:  # which of all that hold what is named, nobody knows
        every = map(note_of, rows_of(part, "results"))
        sure += [one for one in every if answers.holds(query, one.text) and one not in sure]
    perhaps = [note for note in notes if note not in sure]
    if len(rows) == 1 and not near and _score(rows[0]) >= _ALONE:  # of many, some are always near
        only = note_of(rows[0])
        perhaps += [only] if _words(query).isdisjoint(_words(only.text)) else []
    spoken = heard.note if heard.note and heard.note.kept else None
    none = not sure and not perhaps and re.search(answers.ELLIPTIC, query)
    back = spoken and re.match(answers.POINTS_BACK, query) and answers.answers(query, spoken.text)
    if spoken and (none or back):
        sure, perhaps = [], [spoken]
    return sure, perhaps


def _current(found: _Rows, query: str) -> tuple[_Rows, set[str]]:
    """What tells of whom is asked, less what a fitting note replaced; and the refs of what fits."""
    rows = [row for row in found if not answers.about_another(query, note_of(row).text)]
    texts = {str(row.get("ref")): note_of(row).text for row in rows}
    fitting = {ref for ref, text in texts.items() if answers.answers(query, text)}
    took = {str(row.get("ref")): str(row.get("replaced_by")) for row in rows}
    after = {new for old, new in took.items() if old in fitting and new in texts
             and answers.continues(query, texts[old], texts[new])}  # fmt: skip
    held = {ref for ref, text in texts.items() if answers.held(query, text)}
    gone = {old for old, new in took.items() if new in after
            or (new in fitting and (new in held or old not in held))}  # fmt: skip
    rows = [row for row in rows if row.get("ref") not in gone]
    told = {"weak": False, "continues": True}
    rows = [{**row, **told} if row.get("ref") in after else row for row in rows]
    return rows, fitting | after


def _line_asked_for(row: Mapping[str, Any], query: str) -> Mapping[str, Any]:
    """A recalled row; of a summary it tells the line that is nearest to the question."""
    if row.get("source") != SUMMARY:
        return row
    lines = CITED.sub("", str(row.get("content"))).split("\n")
    return {**row, "line": max(lines, key=lambda line: likeness(query, line))}


def recalled_rows(part: ToolReturnPart) -> _Rows:
    """What a recall found, with what in one notebook may replace what is in the other."""
    rows, marked = rows_of(part, "results"), _Rows()
    for row in rows:
        old, by = note_of(row), row.get("replaced_by")
        later = (new for new in rows if str(new.get("created")) > str(row.get("created")))
        others = (new for new in map(note_of, later) if new.mine != old.mine)
        if not by and not row.get("weak"):
            by = next((new.ref for new in others if may_replace([old.text], new.text)[0]), None)
        marked.append({**row, "replaced_by": by})
    return marked


def _clear(rows: _Rows) -> bool:
    """Whether the best stands well before the next, as what says it in other words should."""
    best, second = [*map(_score, rows), 0.0][:2]
    return second <= _CLEARLY * best


def _score(row: Mapping[str, Any]) -> float:
    return float(row.get("score", 1.0))


def _words(text: str) -> set[str]:
    """What a weak hit may share with a question without being about the same."""
    return {word.rstrip("s") for word in re.findall(r"\w+", text.lower()) if word not in STOP}


def note_of(row: Mapping[str, Any]) -> Note:
    article = row.get("kind") == "article"
    text = str((row.get("passage") if article else None) or row.get("content") or "").strip()
    day, source = str(row.get("created") or "")[:10], str(row.get("source") or "")
    ref, old = str(row.get("ref")), str(row.get("outdated") or "")
    when, mine = f"on {day}" if day else "", ref.startswith("g")
    if source != SUMMARY:
        return Note(ref, text, when, source, mine=mine, outdated=old)
    when, line = f"by {day}", str(row.get("line") or CITED.sub("", text))
    return Note(ref, text, when, mine=mine, outdated=old, line=line)


def read(content: object) -> Mapping[str, Any]:
    """What a tool answered as values, whether they came as such or as JSON."""
    if isinstance(content, str):
        with suppress(ValueError):
            content = json.loads(content)
    return content if isinstance(content, Mapping) else {}


def rows_of(part: ToolReturnPart, key: str) -> _Rows:
    values = read(part.content).get(key)
    return [row for row in values if isinstance(row, Mapping)] if isinstance(values, list) else []
