"""The chat without a model: what is typed is looked up or kept, in the person's own words."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from cli import co
from handmade import put as put_note

from co_cli import prompts, trust
from co_cli.agent.approval import STOPPED, Decision, Proposal, Review, Reviewed
from co_cli.chat.events import Command, EditNote, Offer, PlainText, ToolFinished, TurnEvent
from co_cli.deps import CoDeps
from co_cli.errors import EmbedderUnavailable
from co_cli.knowledge import Notebook, inbox
from co_cli.offline import reading
from co_cli.offline.chat import HELP, KNOWN, PASSING, PASTED, OfflineChat
from co_cli.offline.draft import MOST, Fact, facts, put
from co_cli.offline.files import Files
from co_cli.offline.reading import read, statements, without_lead

OPEN = Path(__file__).parent / "data" / "everyday_open.jsonl"
LINES: list[dict[str, Any]] = [json.loads(line) for line in OPEN.read_text("utf-8").splitlines()]
TOLD = [row["text"] for row in LINES if row["kind"] == "tell"]


class Person:
    """Who is shown each card, and gives one answer to all of them."""

    def __init__(self, verdict: str = "yes") -> None:
        self.verdict: Any = verdict
        self.cards: list[list[Proposal]] = []

    async def __call__(self, review: Review) -> Reviewed:
        self.cards.append(review.proposals)
        return Reviewed([Decision(one, self.verdict) for one in review.proposals], by_key=True)

    def texts(self) -> list[str]:
        return [one.text for card in self.cards for one in card]


def begin(person: Person | None = None, texts: dict[str, str] | None = None) -> OfflineChat:
    trust.claim(os.getcwd(), "2026-01-01T00:00:00+00:00")
    return OfflineChat(CoDeps(gated=True), person or Person(), Files(texts or {}))


def say(chat: OfflineChat, *lines: str) -> list[TurnEvent]:
    """What the last of these lines leads to."""

    async def turn(line: str) -> list[TurnEvent]:
        return [event async for event in chat.turn(line)]

    return [asyncio.run(turn(line)) for line in lines][-1]


def shown(events: Iterable[TurnEvent]) -> str:
    return "\n".join(e.text for e in events if isinstance(e, PlainText | ToolFinished))


def bodies(chat: OfflineChat) -> list[str]:
    return [note.body for book in chat.deps.shelf() for note in book.notes()]


def project(chat: OfflineChat) -> Notebook:
    return chat.deps.shelf().project


def files_here() -> dict[str, bytes]:
    folders = (Path(".co-cli/knowledge/memories"), Path.home() / ".config/co-cli/knowledge")
    every = [path for folder in folders for path in folder.rglob("*.md")]
    return {str(path): path.read_bytes() for path in every}


# Telling


@pytest.mark.parametrize("text", TOLD)
def test_no_letter_of_a_statement_is_changed(text: str) -> None:
    """Red when anything but white space and the lead is taken out of a line, or put into it."""
    own, _ = without_lead(text)
    parts = statements(own)
    assert all(part in text for part in parts)
    assert "".join("".join(parts).split()) == "".join(own.split())


def test_what_is_saved_is_the_sentence_as_it_was_typed() -> None:
    chat = begin()
    lines = [
        "We deploy on tuesdays, never on fridays!!",
        "  i take my coffee black ",
        "remember that the staging certs expire on 3 June",
        "note: bay 4 call bell is broken",
        "Remember: Karl's the one with the keys.",
    ]
    say(chat, *lines)
    assert sorted(bodies(chat)) == [
        "Karl's the one with the keys.",
        "We deploy on tuesdays, never on fridays!!",
        "bay 4 call bell is broken",
        "i take my coffee black",
        "the staging certs expire on 3 June",
    ]


def test_nothing_is_written_without_a_yes() -> None:
    """Red when any everyday line changes a note that nobody agreed to."""
    book = begin().deps.shelf().project
    for text in ("Lab meeting is on Fridays", "Blog is built with Eleventy"):
        book.remember(text)
    before, chat = files_here(), begin(Person("no"))
    for row in LINES[::4]:
        say(chat, row["text"])
    assert files_here() == before


def test_a_no_is_said_to_have_saved_nothing() -> None:
    events = say(begin(Person("no")), "We deploy on Tuesdays")
    assert shown(events) == "Nothing was saved."
    assert [event.outcome for event in events if isinstance(event, ToolFinished)] == ["refused"]


def test_one_card_shows_each_statement_of_a_line_under_a_number_of_its_own() -> None:
    person = Person()
    say(begin(person), "I'm vegetarian. Staging runs on port 8081.")
    [card] = person.cards
    assert [(one.text, one.scope) for one in card] == [
        ("I'm vegetarian.", "user"),
        ("Staging runs on port 8081.", "project"),
    ]


def test_a_sentence_that_says_little_alone_stays_with_the_one_before_it() -> None:
    text = "the importer skips rows without an sku silently. took me 2 days to find taht"
    assert statements(text) == [text]


def test_lines_of_a_list_are_notes_of_their_own() -> None:
    person = Person()
    say(begin(person), "we use pnpm\ntests run with vitest")
    assert person.texts() == ["we use pnpm", "tests run with vitest"]


def test_a_tag_is_set_only_where_the_reader_is_sure() -> None:
    person = Person()
    chat = begin(person)
    say(chat, "We chose Mapbox over Google because of the offline tiles.", "Hoodie: size L, slim.")
    assert [one.tags for card in person.cards for one in card] == [("decision",), ("context",)]
    assert reading.tags_of("nits agian in year 2, letters went home") == ()


def test_in_doubt_a_note_goes_to_the_project() -> None:
    person = Person()
    say(begin(person), "School has moved us all to Teams for homework.")
    assert [one.scope for one in person.cards[0]] == ["project"]


def test_what_is_noted_already_is_quoted_and_offered() -> None:
    person = Person()
    chat = begin(person)
    say(chat, "We deploy on Tuesdays")
    events = say(chat, "We deploy on Tuesdays.")
    assert shown(events).startswith(f"{KNOWN}\n\nWe deploy on Tuesdays\n  [1] this project")
    assert [event.text for event in events if isinstance(event, Offer)] == [
        "We deploy on Tuesdays."
    ]
    assert (len(person.cards), len(bodies(chat))) == (1, 1)


def test_a_passing_remark_is_saved_only_by_a_y() -> None:
    person = Person()
    chat = begin(person)
    events = say(chat, "Running five minutes late.")
    assert shown(events) == PASSING
    assert events[-1] == Offer("Running five minutes late.", "this project")
    assert bodies(chat) == []
    say(chat, "y")
    assert (bodies(chat), person.cards) == (["Running five minutes late."], [])


def test_a_y_to_nothing_saves_nothing() -> None:
    chat = begin()
    assert shown(say(chat, "Running five minutes late.", "what is the gate code?", "y")) == HELP
    assert bodies(chat) == []


def test_a_secret_is_refused_and_the_person_is_told_which() -> None:
    person = Person()
    key = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGH"
    events = say(chat := begin(person), f"remember that the key is {key}")
    assert shown(events) == "Not saved: this looks like an OpenAI key (rule openai-key)"
    assert (bodies(chat), person.cards) == ([], [])


def test_later_puts_the_words_into_the_inbox() -> None:
    chat = begin(Person("later"))
    say(chat, "We deploy on Tuesdays")
    assert bodies(chat) == []
    assert [one.body for one in inbox.waiting(project(chat))] == ["We deploy on Tuesdays"]


def test_a_save_can_be_undone() -> None:
    chat = begin()
    say(chat, "We deploy on Tuesdays")
    [command] = [event for event in say(chat, "undo that") if isinstance(event, Command)]
    assert (command.line, command.question.startswith("Undo save of 001-")) == ("/undo", True)
    project(chat).undo()
    assert bodies(chat) == []


def test_a_card_that_is_stopped_saves_nothing() -> None:
    async def stopped(review: Review) -> Reviewed:
        return Reviewed([Decision(one, "no", STOPPED) for one in review.proposals])

    chat = begin()
    chat.ask = stopped
    say(chat, "We deploy on Tuesdays")
    assert bodies(chat) == []


# Asking


def test_a_sure_answer_stands_alone_with_its_number_place_and_date() -> None:
    chat = begin()
    say(chat, "Staging runs on port 8081", "Dana looks after billing")
    created = project(chat).find("1").created[:10]
    told = shown(say(chat, "which port does staging use?"))
    assert told == f"Staging runs on port 8081\n  [1] this project, {created}"


def test_an_unsure_answer_says_that_these_are_only_the_closest_notes() -> None:
    chat = begin()
    say(chat, "Staging runs on port 8081")
    assert shown(say(chat, "who has the key to the cellar?")).startswith("Closest notes:\n\n")


def test_where_nothing_is_near_nothing_is_quoted() -> None:
    assert shown(say(begin(), "which port does staging use?")) == "Nothing about that yet."


def test_an_outdated_note_is_shown_only_under_its_update() -> None:
    chat = begin()
    book = project(chat)
    old = book.remember("We deploy on Tuesdays").note
    book.remember("We deploy on Wednesdays now", updates=[old])
    told = shown(say(chat, "which day do we deploy?"))
    assert told.index("We deploy on Wednesdays now") < told.index("earlier: We deploy on Tuesdays")


def test_context_and_instruction_files_are_searched_and_named() -> None:
    rules = {"AGENTS.md": "# Rules\n\n- Run `make check` before a commit\n- Leave vendor/ alone\n"}
    told = shown(say(begin(texts=rules), "what do I run before I commit?"))
    assert told == "Run `make check` before a commit\n  AGENTS.md"


def test_a_line_that_may_be_a_question_or_a_statement_is_looked_up_and_offered() -> None:
    chat = begin()
    text = "remember when we deployed by ftp lol"
    assert read(text).act == "unclear"
    assert say(chat, text)[-1] == Offer(text, "this project")
    assert bodies(chat) == []


def test_without_the_readers_weights_everything_is_looked_up_and_offered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken() -> None:
        raise EmbedderUnavailable("the weights cannot be read")

    monkeypatch.setattr(reading, "reader", broken)
    reading.intent_of.cache_clear()
    try:
        assert read("We deploy on Tuesdays").act == "unclear"
    finally:
        reading.intent_of.cache_clear()


# Correcting


def test_a_correction_that_makes_no_sense_alone_opens_the_note_spoken_of_last() -> None:
    chat = begin()
    say(chat, "We deploy on Tuesdays")
    [event] = say(chat, "no, Wednesdays")
    assert isinstance(event, EditNote)
    assert (event.note.body, event.above) == ("We deploy on Tuesdays", "no, Wednesdays")
    assert bodies(chat) == ["We deploy on Tuesdays"]


def test_a_correction_that_makes_sense_alone_is_a_statement_as_typed() -> None:
    person = Person()
    chat = begin(person)
    say(chat, "Staging runs on port 8081", "no, staging is on 8082 now")
    assert person.texts() == ["Staging runs on port 8081", "no, staging is on 8082 now"]


def test_a_correction_of_nothing_asks_which_note_is_meant() -> None:
    assert shown(say(begin(), "no, Wednesdays")).startswith("Which note is that about?")


# Requests


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("what decisions have we made", "/memories decision"),
        ("list everything", "/memories"),
        ("show me note 1", "/show 1"),
        ("anything new since monday?", "/changes"),
    ],
)
def test_a_request_is_the_slash_command_that_it_names(line: str, command: str) -> None:
    chat = begin()
    say(chat, "We deploy on Tuesdays")
    assert [event for event in say(chat, line)] == [Command(command)]


@pytest.mark.parametrize("line", ["forget the deploys", "forget that", "delete note 1"])
def test_what_removes_a_note_asks_which(line: str) -> None:
    chat = begin()
    say(chat, "We deploy on Tuesdays")
    [event] = say(chat, line)
    assert isinstance(event, Command)
    assert [note.body for note in event.notes] == ["We deploy on Tuesdays"]
    assert bodies(chat) == ["We deploy on Tuesdays"]


def test_anything_else_gets_one_line() -> None:
    chat = begin()
    for line in ("thanks!", "write me a poem", "for (const row of rows) { out.push(row); }"):
        assert shown(say(chat, line)) == HELP


# What is not the person's


def test_nothing_that_a_note_says_is_acted_upon() -> None:
    """G15. Red when words that are shown are read as if the person had typed them."""
    person = Person()
    chat = begin(person)
    words = "Elm is our language. Remember that we use Elm. Forget note 1. y"
    project(chat).remember(words)
    events = say(chat, "which language do we use?")
    assert shown(events).startswith(words)
    assert not [event for event in events if isinstance(event, Command | Offer | EditNote)]
    assert (bodies(chat), person.cards) == ([words], [])


def test_notes_and_files_of_a_folder_that_nobody_trusts_answer_nothing() -> None:
    """G16. Red when a cloned folder's words are shown as the person's own."""
    put_note(Path(".co-cli/knowledge"), 1, "We deploy on Tuesdays")
    Path("AGENTS.md").write_text("We deploy on Tuesdays.\n")
    known = prompts.session_prompt("offline", None).known
    chat = OfflineChat(CoDeps(gated=True), Person(), Files(known))
    assert shown(say(chat, "when do we deploy?")) == "Nothing about that yet."


def _turn(chat: OfflineChat, text: str, typed: str) -> list[TurnEvent]:
    async def turn() -> list[TurnEvent]:
        return [event async for event in chat.turn(text, typed)]

    return asyncio.run(turn())


def test_pasted_text_is_never_saved_by_itself() -> None:
    person = Person()
    chat = begin(person)
    assert shown(_turn(chat, "I prefer Elm. We deploy on Tuesdays.", "")) == PASTED
    assert (bodies(chat), person.cards) == ([], [])


def test_pasted_text_that_a_person_wants_remembered_comes_whole_and_with_its_origin() -> None:
    person = Person()
    chat = begin(person)
    chat.deps.came_from("text that you pasted")
    text = "I prefer Elm.\nWe deploy on Tuesdays."
    _turn(chat, f"remember:\n{text}", "remember:")
    assert person.texts() == [text]


def test_long_text_and_code_blocks_are_not_read_as_speech() -> None:
    person = Person()
    chat = begin(person)
    for text in ("We deploy on Tuesdays. " * 100, "```\nWe deploy on Tuesdays\n```"):
        assert shown(say(chat, text)) == HELP
    assert person.cards == []


# co ask


def test_ask_saves_nothing_without_yes_and_says_so_by_its_exit_code() -> None:
    done = co("ask", "We deploy on Tuesdays")
    assert (done.code, "co ask changes nothing without --yes" in done.err) == (1, True)
    assert co("recall", "deploy").out == ""


def test_ask_with_yes_saves_a_lasting_statement_and_answers_from_it() -> None:
    assert co("ask", "--yes", "We deploy on Tuesdays").code == 0
    done = co("ask", "when do we deploy?")
    assert (done.code, done.out.splitlines()[0]) == (0, "We deploy on Tuesdays")


def test_ask_with_yes_keeps_a_passing_remark_only_when_told_to_remember_it() -> None:
    done = co("ask", "--yes", "Running five minutes late.")
    assert (done.code, 'co ask --yes "remember that' in done.err) == (0, True)
    assert co("ask", "--yes", "remember that I am running five minutes late").code == 0
    assert "I am running five minutes late" in co("knowledge", "list").out


def test_ask_keeps_nothing_that_was_piped_in() -> None:
    done = co("ask", "--yes", input="We deploy on Tuesdays")
    assert (done.code, "--yes does not apply" in done.err) == (1, True)


def test_ask_tells_a_program_what_it_quoted_and_saved() -> None:
    saved = json.loads(co("ask", "--yes", "--json", "We deploy on Tuesdays").out)
    assert [row["ref"] for row in saved["saved"]] == ["1"]
    answered = json.loads(co("ask", "--json", "when do we deploy?").out)
    assert [row["content"] for row in answered["sources"]] == ["We deploy on Tuesdays"]


def test_ask_removes_nothing() -> None:
    co("ask", "--yes", "We deploy on Tuesdays")
    done = co("ask", "--yes", "forget the deploys")
    assert "nothing was changed" in done.err
    assert "We deploy on Tuesdays" in co("knowledge", "list").out


# Drafts


def texts(found: Iterable[Fact]) -> list[str]:
    return [one.text for one in found]


def test_a_draft_is_a_sentence_as_it_was_typed() -> None:
    said = ["can you fix the tests? i never want mocks in here.", "thanks", "We use pnpm"]
    assert texts(facts(said)) == ["i never want mocks in here.", "We use pnpm"]


def test_nothing_passing_asked_or_wanted_private_is_drafted() -> None:
    said = ["Running five minutes late.", "which port is it?", "off the record: I prefer gin"]
    assert facts(said) == []


def test_what_lasts_in_a_conversation_is_drafted_and_little_else() -> None:
    """As many as with an author's labels; the half set aside is for `bench/everyday.py`."""
    made, expected, good = 0, 0, 0
    rows = (OPEN.parent / "conversations_open.jsonl").read_text("utf-8").splitlines()[::2]
    for talk in map(json.loads, rows):
        turns = talk["turns"]
        own = [one["text"] for one in turns if one["who"] == "person" and not one.get("external")]
        drafts = facts(own, [turns[one["turn"]]["text"] for one in talk.get("settled", ())])
        made, expected = made + len(drafts), expected + len(talk["expected"])
        said = [one.text.lower() for one in drafts]
        assert all(any(text in turn.lower() for turn in own) for text in said)
        for one in talk["expected"]:
            good += any(all(word.lower() in text for word in one["words"]) for text in said)
    assert (good / made >= 0.75, good / expected >= 0.7) == (True, True), (good, made, expected)


def test_no_more_than_five_are_drafted_the_weighty_ones_first() -> None:
    said = [
        "Dana looks after billing.", "The office closes at six.", "Our API is written in Go.",
        "I prefer tabs.", "We decided on gRPC.", "Staging runs on port 8081.",
        "The cat is called Rex.",
    ]  # fmt: skip
    found = texts(facts(said))
    assert len(found) == MOST
    assert {"I prefer tabs.", "We decided on gRPC."} <= {*found}


def test_a_correction_takes_along_what_it_corrects() -> None:
    assert facts(["We deploy on Tuesdays", "no, 60"]) == []
    said = ["We deploy on Tuesdays", "Actually we deploy on Wednesdays now"]
    assert texts(facts(said)) == ["Actually we deploy on Wednesdays now"]


def test_what_a_person_wants_kept_out_is_not_drafted_nor_what_they_said_before() -> None:
    assert facts(["I prefer tea", "please don't save any of that"]) == []
    assert facts(["I prefer gin, but don't write that down. We use Go."]) == []


def test_what_was_saved_or_declined_in_the_conversation_is_not_drafted() -> None:
    assert facts(["We deploy on Tuesdays"], ["Deploys happen on Tuesdays"]) == []
    assert facts(["remember that tea is at four"], ["tea is at four"]) == []


def test_code_and_long_text_are_not_drafted() -> None:
    assert facts(["```\nI prefer tabs\n```", "I prefer tabs. " * 200]) == []


def test_a_draft_goes_to_the_notebook_it_belongs_to_and_not_twice() -> None:
    chat = begin()
    found = facts(["I'm vegetarian.", "Staging runs on port 8081."])
    put(chat.deps, found, "a chat")
    assert [[one.body for one in inbox.waiting(book)] for book in chat.deps.shelf()] == [
        ["Staging runs on port 8081."],
        ["I'm vegetarian."],
    ]
    assert put(chat.deps, found, "a chat") == []


def test_what_a_note_says_already_is_not_drafted() -> None:
    chat = begin()
    project(chat).remember("Deploys happen on Tuesdays")
    assert put(chat.deps, [Fact("We deploy on Tuesdays")], "a chat") == []
