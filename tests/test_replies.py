"""What Co does and says for a turn that was understood, without a model and without the reader."""

from __future__ import annotations

import json
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from cli import Talking, co
from pydantic_ai.messages import ToolReturnPart

from co_cli.chat import notes, slash
from co_cli.deps import CoDeps
from co_cli.errors import Ambiguous, NotFound
from co_cli.knowledge import Note as Memory
from co_cli.knowledge import Notebook
from co_cli.learning.turns import KEPT, Turn, understand
from co_cli.providers import calls, replies
from co_cli.providers.conversation import Conversation, Note, Surface, as_command

NOTES = Path(".co-cli/knowledge")


def heard(said: str, *turns: Turn, note: Note | None = None, query: str = "") -> Conversation:
    return Conversation(said, list(turns), note, Surface(), {"1": {"query": query}})


def came(tool: str, **values: Any) -> ToolReturnPart:
    return ToolReturnPart(tool, json.dumps(values), tool_call_id="1")


def called(talk: Conversation) -> list[tuple[str, Any]]:
    return [(call.tool_name, call.args) for call in calls.calls(talk, [])]


def told(talk: Conversation, *returned: ToolReturnPart) -> str:
    return replies.answer(talk, returned, explained=True)


# Bringing back


@pytest.mark.parametrize(
    ("said", "meant", "command"),
    [
        ("bring back the note about the dentist", "the note about the dentist",
         "restore the dentist"),
        ("i want the grafana one back", "the grafana one", "restore the grafana"),
        ("restore note 12", "note 12", "restore 12"),
        ("give me back number 8", "number 8", "restore 8"),
        ("bring it back", "it back", "restore last"),
        ("un-delete the last one", "the last one", "restore last"),
        ("what have you forgotten so far?", "what have you forgotten", "restore"),
        ("show deleted notes", "deleted notes", "restore"),
    ],
)  # fmt: skip
def test_what_was_forgotten_is_brought_back_by_the_chats_own_command(
    said: str, meant: str, command: str
) -> None:
    assert as_command(Turn("restore", meant), said) == command


def test_a_forgotten_note_is_found_by_words_and_asked_about() -> None:
    shelf, book = CoDeps().shelf(), Notebook(NOTES)
    for text in ("User's dentist is Dr. Kallio", "We deploy on Mondays", "Lunch is at noon"):
        book.remember(text)
    for ref in ("1", "2"):
        book.forget(ref)
    with pytest.raises(Ambiguous) as found:
        notes.restore(shelf, "the dentist")
    [dentist] = found.value.choices
    assert isinstance(dentist, Memory)
    assert notes.restore(shelf, dentist) == "Memory 1 is back: User's dentist is Dr. Kallio"
    with pytest.raises(Ambiguous) as last:
        notes.restore(shelf, "last")
    assert [one.body for one in last.value.choices if isinstance(one, Memory)] == [
        "We deploy on Mondays"
    ]
    with pytest.raises(NotFound, match="no archived memory contains 'zebras'"):
        notes.restore(shelf, "zebras")


def test_outside_a_chat_the_command_that_brings_back_is_named() -> None:
    said = told(heard("bring back the dentist", Turn("restore", "the dentist")))
    assert said.startswith("`co knowledge restore` shows what was forgotten")


# How many, and what was before


def rows(*refs: str) -> list[dict[str, str]]:
    return [{"ref": ref, "summary": "x"} for ref in refs]


@pytest.mark.parametrize(
    ("refs", "count", "line"),
    [
        (("1", "2", "g1"), 3, "3 notes: 2 of this project, 1 of your own."),
        (("1",), 1, "1 note: 1 of this project, 0 of your own."),
        (("1", "g1"), 400, "400 notes."),
        ((), 0, "I have no notes yet."),
    ],
)
def test_notes_are_counted_in_a_line(refs: tuple[str, ...], count: int, line: str) -> None:
    talk = heard("how many notes do you have", Turn("count"))
    assert called(talk) == [("list_memories", {})]
    assert told(talk, came("list_memories", count=count, memories=rows(*refs))) == line


def test_what_held_before_is_told_with_its_day() -> None:
    row = {"ref": "2", "content": "We use Linear", "created": "2026-03-01", "score": 0.9,
           "weak": False}  # fmt: skip
    about = heard("what did we have before?", Turn("earlier", "we use before"),
                  note=Note("2", "We use Linear"), query="We use Linear")  # fmt: skip
    [(tool, arguments)] = called(about)
    assert (tool, arguments["query"]) == ("recall_memory", "We use Linear")
    before = came("recall_memory", results=[{**row, "earlier": "We use Jira"}])
    assert told(about, before) == "Until 2026-03-01: We use Jira"
    assert told(about, came("recall_memory", results=[row])) == (
        "I know of nothing before that. You told me on 2026-03-01: We use Linear [2]"
    )
    named = heard("which tracker did we have before?", Turn("earlier", "tracker"))
    assert called(named)[0][1]["query"] == "tracker"
    old = {**row, "ref": "1", "content": "We use Jira", "created": "2025-01-01", "replaced_by": "2"}
    assert told(named, came("recall_memory", results=[row, old])) == (
        "You told me on 2025-01-01: We use Jira [1]"
    )
    assert told(heard("what was it before?", Turn("earlier", "it"))).startswith("I do not know")


# Small talk


@pytest.mark.parametrize(
    ("said", "nod"),
    [("ok", "All right."), ("never mind", "All right."), ("stop asking me", "All right."),
     ("hey there", "Hello. What should I keep or find?"), ("thx", "You are welcome."),
     ("see you", "Bye.")],
)  # fmt: skip
def test_small_talk_gets_a_nod(said: str, nod: str) -> None:
    assert told(heard(said, Turn("greet", said))) == nod


# Notes by number or words


@pytest.mark.parametrize(
    ("said", "command"),
    [("show me note 20", "show 20"), ("open 12", "show 12"), ("please show memory g3", "show g3")],
)
def test_a_note_is_shown_by_its_number(said: str, command: str) -> None:
    [turn] = understand(said)
    assert as_command(turn, said) == command


def test_the_chats_commands_take_words() -> None:
    for text in ("We deploy on Mondays", "Alice owns billing", "Alice likes tea"):
        Notebook(NOTES).remember(text)
    co("trust", "--yes")
    assert notes.show(CoDeps().shelf(), "deploy").endswith("      We deploy on Mondays")
    with Talking() as chat:
        chat.say("/pin deploy")
        chat.until("Pin this one? [y/N] >")
        chat.say("y")
        chat.until("Memory 1 is now pinned")
        chat.say("/protect alice")
        chat.until("Protect which one (2, 3; Enter for none)? >")
        chat.say("3")
        chat.until("Memory 3 is now protected")
        chat.say("/show alice")
        chat.until("Show which one")
        chat.say("2")
        chat.until("      Alice owns billing")
        chat.leave()


# What is no note, and what is one all the same


def test_a_hash_without_its_space_is_neither_a_note_nor_a_message() -> None:
    said = ("#note buy milk", "#todo: call Ann", "# buy milk", "#12 is wrong", "#\nheading")
    assert [bool(slash.hint(line)) for line in said] == [True, True, False, False, False]


@pytest.mark.parametrize("said", ["the lift in building C squeaks", "our dog barks"])
def test_a_statement_of_no_known_kind_is_offered(said: str) -> None:
    [turn] = understand(said)
    assert (turn.want in KEPT, turn.sure) == (True, False)


@pytest.mark.parametrize(
    "said", ["the build is red again", "fix the failing test", "the leak might be in the socket"]
)
def test_what_passes_is_asked_for_or_guessed_is_not_offered(said: str) -> None:
    assert [turn.want for turn in understand(said) if turn.want in KEPT] == []


def test_a_misspelt_question_is_answered_with_a_guess() -> None:
    row = {"ref": "1", "content": "Our sprint starts on Wednesday", "score": 0.45, "weak": True}
    near = {"ref": "2", "content": "We deploy on Tuesdays", "score": 0.34, "weak": False}
    talk = heard("when is the spirnt", Turn("recall", "when is the spirnt"),
                 query="when is the spirnt")  # fmt: skip
    answer = told(talk, came("recall_memory", results=[row, near]))
    assert answer.startswith("Perhaps:\n\n- Our sprint starts on Wednesday [1]")


# Days


def days(said: str) -> tuple[date, date]:
    [(tool, asked)] = called(heard(said, Turn("changes", said)))
    assert tool == "list_memories"
    return date.fromisoformat(asked["since"]), date.fromisoformat(asked["until"])


def test_days_are_those_that_are_named() -> None:
    today, day = date.today(), timedelta(1)
    monday = today - day * today.weekday()
    assert days("what did I tell you today?") == (today, today)
    assert days("what did i tell you this morning") == (today, today)
    assert days("what did I tell you yesterday?") == (today - day, today - day)
    assert days("what changed this week?") == (monday, today)
    assert days("what changed last week?") == (monday - 7 * day, monday - day)
    assert days("what changed this month?") == (today.replace(day=1), today)
    assert days("what changed in the last 3 days") == (today - 3 * day, today)
    assert days("what did I save on monday?") == (monday, monday)
    assert days("what changed since monday?") == (monday, today)
    assert days("what changed recently?") == (today - 7 * day, today)


def test_the_title_says_the_days_that_were_looked_at() -> None:
    yesterday = date.today() - timedelta(1)
    talk = heard("what did I tell you yesterday?", Turn("changes"))
    nothing = came("list_memories", count=0, memories=[])
    assert told(talk, nothing) == f"Nothing was kept or changed on {yesterday}."
    some = came("list_memories", count=1, memories=rows("1"))
    assert told(talk, some).startswith(f"Kept or changed on {yesterday}:\n\n- x [1]")
