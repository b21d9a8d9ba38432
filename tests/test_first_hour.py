"""The first hour without a model: plain requests, corrections, answers, and whose notebook."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest
from cli import Talking, asked, co

from co_cli import prompts, trust
from co_cli.agent.approval import Decision, Proposal, Review, Reviewed, Verdict
from co_cli.chat import slash
from co_cli.chat.events import TextDelta
from co_cli.chat.session import Session
from co_cli.deps import CoDeps
from co_cli.knowledge import Notebook
from co_cli.learning.answers import answers
from co_cli.learning.voice import second_person
from co_cli.providers import conversation
from co_cli.providers.known import Known
from co_cli.providers.registry import Choice

NOTES = Path(".co-cli/knowledge")
DATA = Path(__file__).resolve().parent / "data"
UNRELATED = """
Dana owns the billing service
We write commit messages in the imperative
The staging server has 16 GB of memory
User prefers dark themes
We pin numpy below 2
Backups run at 3 every night
The Jenkins box is called otter
Maria leads the design team
We use Postgres 15 for orders
The logo is teal
User bikes to the office
Retro is every second Wednesday
We keep docs as markdown
The API speaks JSON only
Feature flags live in flags.toml
User drinks oolong tea
We never mock the database in tests
The VPN needs a hardware token
Bug reports go to the tracker, not to chat
We follow semantic versioning
The build takes nine minutes
User is colour blind
Our biggest customer is Acme
The office closes at 7
We use ruff for linting
Logs are kept for 30 days
The mobile app is written in Kotlin
User plays the cello
We ship to the app stores once a month
The canary bird feeder is in shed 4
""".strip().splitlines()


class Person:
    """Somebody in a chat without a model, who says yes, or something else, to what is asked."""

    def __init__(self) -> None:
        trust.claim(os.getcwd(), "2026-01-01T00:00:00+00:00")
        prompt = prompts.session_prompt("offline", None)
        choice = Choice("offline", "", "a test")
        self.session = Session(
            CoDeps(gated=True), choice, prompt, None, self._decide, reword=slash.in_chat
        )
        self.asked: list[Proposal] = []
        self.verdict: Verdict | None = None

    async def _decide(self, review: Review) -> Reviewed:
        self.asked += review.proposals
        decisions = []
        for one in review.proposals:
            meant: Verdict = "update" if one.replaces else "keep" if one.collides else "yes"
            decisions.append(Decision(one, self.verdict or meant))
        return Reviewed(decisions, by_key=True)

    def says(self, text: str) -> str:
        """What Co answers."""

        async def talk() -> str:
            events = [event async for event in self.session.turn(text)]
            return "".join(event.text for event in events if isinstance(event, TextDelta))

        return asyncio.run(talk())


def bodies(folder: Path = NOTES) -> list[str]:
    return [note.body for note in Notebook(folder).notes()]


def own() -> Path:
    return Path(os.environ["HOME"]) / ".config/co-cli/knowledge"


# Corrections


def test_corrections_in_a_row_change_the_note_just_saved() -> None:
    anna = Person()
    anna.says("we deploy on Thursdays")
    for said in ("no, I meant Fridays", "oops, Mondays", "that's wrong, it is Tuesdays"):
        anna.says(said)
    assert bodies() == ["We deploy on Tuesdays"]
    assert [one.replaces for one in anna.asked] == ["", "1", "2", "3"]
    assert [[old.text for old in one.collisions] for one in anna.asked[1:3]] == [
        ["We deploy on Thursdays"],
        ["We deploy on Fridays"],
    ]


@pytest.mark.parametrize(
    ("kept", "said", "becomes"),
    [
        ("We use Flask for the API", "sorry, that's not right, it's Litestar",
         "We use Litestar for the API"),
        ("Marco joins on Monday", "it's Marko with a k", "Marko joins on Monday"),
        ("We use Litestar for the API", "we've switched to Django", "We use Django for the API"),
        ("our CI runs on Jenkins", "we've moved to Buildkite now", "Our CI runs on Buildkite"),
        ("the port is 8080", "make that 8081", "The port is 8081"),
        ("the standup is at 9", "scratch that, the standup is at 10", "The standup is at 10"),
        ("the release is on June 3rd", "correction: June 5th", "The release is on June 5th"),
        ("Anna runs billing and Ben runs search", "no, Carl runs search",
         "Anna runs billing and Carl runs search"),
    ],
)  # fmt: skip
def test_a_correction_changes_the_note_and_its_own_words_do_not_enter_it(
    kept: str, said: str, becomes: str
) -> None:
    person = Person()
    person.says(kept)
    told = person.says(said)
    assert bodies() == [becomes]
    assert "It replaces memory 1, which is archived (/restore 1)." in told


@pytest.mark.parametrize(
    ("kept", "said", "becomes"),
    [
        ("Zoe has ballet on Mondays and choir on Fridays", "no, choir is on Thursdays",
         "Zoe has ballet on Mondays and choir on Thursdays"),
        ("Zoe has ballet on Mondays and choir on Fridays", "no, ballet is on Tuesdays",
         "Zoe has ballet on Tuesdays and choir on Fridays"),
        ("the bakery opens at 7 and the butcher at 8", "actually the butcher opens at 9",
         "The bakery opens at 7 and the butcher at 9"),
        ("rent is 900 and electricity is 60", "no, electricity is 75",
         "rent is 900 and electricity is 75"),
        ("Noah's swimming lesson is Wednesdays at 4:15", "no, Noah swims on Thursdays",
         "Noah's swimming lesson is Thursdays at 4:15"),
        ("the cleaner comes on Tuesdays at 9", "actually the cleaning is on Mondays",
         "The cleaner comes on Mondays at 9"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("between", ["", "The logo is teal"])
def test_a_correction_of_one_thing_in_a_note_leaves_the_others(
    kept: str, said: str, becomes: str, between: str
) -> None:
    person = Person()
    for one in filter(None, (kept, between, said)):
        person.says(one)
    assert {*bodies(), *bodies(own())} - {between} == {becomes}


def test_a_value_is_changed_only_where_a_note_says_it() -> None:
    person = Person()
    for text in ("The pool is open on Wednesdays at 9", "Tom and Ann own billing"):
        Notebook(NOTES).remember(text)
    for said, none in (("change Tuesdays to Mondays", "Tuesdays"), ("change 7 to 8", "7"),
                       ("change the garden party to Friday", "garden party")):  # fmt: skip
        assert person.says(said) == f"No note says {none}."
    assert not person.asked
    for said in ("change Wednesdays to Mondays", "change 9 to 10", "change Ann to Sam"):
        person.says(said)
    assert bodies() == ["The pool is open on Mondays at 10", "Tom and Sam own billing"]


@pytest.mark.parametrize(
    ("said", "becomes"),
    [
        ("correct the last note: 950", "The rent is 950"),
        ("fix the last note: it's 950", "The rent is 950"),
        ("please update the last note to say the rent is 950", "The rent is 950"),
        ("the last note is wrong, it's 950", "The rent is 950"),
        ("my last note should say 950", "The rent is 950"),
        ("that note is wrong, it's grey", "The van is grey"),
    ],
)
def test_the_last_note_is_put_right_and_no_request_becomes_one(said: str, becomes: str) -> None:
    """Red when it is the note told last, or none."""
    person = Person()
    for one in ("remember the van is blue", "remember the rent is 900", "what colour is the van?"):
        person.says(one)
    assert "What is right?" in person.says("the last note is wrong")
    person.says(said)
    assert [one.text for one in person.asked[2:]] == [becomes]
    assert person.asked[-1].replaces


@pytest.mark.parametrize(
    "said", ["show me everything about Jonas", "list all about Jonas", "sort the notes by date",
             "sort all notes"],
)  # fmt: skip
def test_to_show_or_to_sort_notes_is_a_request(said: str) -> None:
    notes = ["Jonas likes jazz", "Jonas lives in Bonn", "Jonas has two cats"]
    for text in notes:
        Notebook(NOTES).remember(text)
    person = Person()
    told = person.says(said)
    assert not person.asked
    assert all(note in told for note in notes)


@pytest.mark.parametrize(
    "said",
    [
        "Deploys are frozen from 20 Dec. until 6 Jan.",
        "The kids eat at school on Mon., Wed. and Fri.",
        "Die Miete ist am 5. fällig",
        "We meet on 12 Dec. at 8 p.m. in the pub",
        "The lease runs until 30 Sept. and costs 900 a month",
        "Der Elternabend ist am 12. um 19 Uhr",
        "Der Müll kommt am 3. und 17. jeden Monats",
    ],
)
def test_no_note_ends_at_a_shortened_day(said: str) -> None:
    Person().says(said)
    assert [*bodies(), *bodies(own())] == [said.rstrip(".")]
    Person().says("the shop opens on 4 Feb. the bakery is closed on Sun.")
    assert {"The shop opens on 4 Feb", "The bakery is closed on Sun"} < {*bodies(), *bodies(own())}


def test_of_several_notes_that_were_just_saved_the_one_it_fits_is_put_right() -> None:
    """Red when a correction blindly takes the last one."""
    person = Person()
    person.says("the standup is at 9. Tom owns billing. the port is 8080.")
    person.says("hold on, it's Sam not Tom")
    assert bodies() == ["The standup is at 9", "The port is 8080", "Sam owns billing"]
    person.says("we deploy on Mondays. the lunch is at noon.")
    person.says("oh wait, the lunch is at one")
    assert bodies()[3:] == ["We deploy on Mondays", "The lunch is at one"]


def test_a_correction_of_nothing_is_offered_without_its_first_words() -> None:
    person = Person()
    person.says("hold on, it's Sam not Tom")
    assert [one.text for one in person.asked] == ["It's Sam not Tom"]


def test_a_correction_of_what_was_told_changes_that_note() -> None:
    book = Notebook(NOTES)
    book.remember("We deploy on Thursdays")
    book.remember("Dana owns billing")
    person = Person()
    person.says("when do we deploy?")
    person.says("no wait, on Mondays")
    assert bodies() == ["Dana owns billing", "We deploy on Mondays"]


def test_what_was_declined_can_be_put_right_too() -> None:
    person = Person()
    person.says("I live in Vienna")
    person.verdict = "no"
    person.says("no, Graz")
    person.verdict = None
    person.says("wait, Linz")
    assert bodies(own()) == ["User lives in Linz"]
    assert person.asked[-1].replaces == "g1"


def test_what_is_about_something_else_replaces_nothing() -> None:
    person = Person()
    person.says("my name is Anna")
    person.says("we've switched to Django")
    person.says("actually, the staging port is 8443")
    person.says("no wait, we have sixteen engineers")
    assert bodies(own()) == ["User's name is Anna"]
    assert bodies() == [
        "We've switched to Django", "The staging port is 8443", "We have sixteen engineers"
    ]  # fmt: skip


def test_a_rule_forgets_nothing_that_was_only_found_by_its_words() -> None:
    """Red when `--yes` says yes to a memory that the person did not name."""
    co("learn", "Release notes go to the wiki before the tag is pushed")
    for said in ("forget the release date", "forget the release notes"):
        done = asked("ask", "--yes", said)
        assert "✓ Forgot" not in done.out + done.err
    assert len(Notebook(NOTES).notes()) == 1
    assert "✓ Forgot" in asked("ask", "--yes", "forget memory 1").out


def test_a_correction_after_an_undo_becomes_a_note_of_its_own() -> None:
    person = Person()
    person.says("the port is 8080")
    Notebook(NOTES).undo()
    person.says("make that 8081")
    assert bodies() == ["The port is 8081"]


def test_a_note_that_is_named_gives_way_however_unlike_it_is() -> None:
    """Red when only similar notes can be replaced, or another one than was named is."""
    book = Notebook(NOTES)
    book.remember("Dana owns billing")
    book.remember("We deploy on Mondays")
    book.remember("Lunch is at noon", similar="update", replaces="1")
    assert bodies() == ["We deploy on Mondays", "Lunch is at noon"]


def test_a_protected_note_is_not_offered_to_be_replaced() -> None:
    book = Notebook(NOTES)
    book.remember("The port is 8080", fields={"decay_protected": True})
    person = Person()
    person.says("which port?")
    person.says("no, 8081")
    assert (person.asked[0].replaces, bodies()) == ("", ["The port is 8080", "The port is 8081"])


# Answers


def test_one_best_answer_has_its_date_and_what_it_replaced() -> None:
    person = Person()
    person.says("the port is 8080")
    person.says("make that 8081")
    today = Notebook(NOTES).today()
    told = f"You told me on {today}: The port is 8081 [2]\n\nEarlier: The port is 8080"
    assert person.says("which port do we use?") == told


def test_what_is_not_sure_is_told_as_a_guess() -> None:
    Notebook(NOTES).remember("User's favourite band is Low")
    Notebook(NOTES).remember("We use four spaces")
    assert (
        Person().says("what band do I dislike?") == "Perhaps:\n\n- Your favourite band is Low [1]"
    )


def test_an_answer_speaks_to_the_person() -> None:
    Notebook(NOTES).remember("User prefers tabs because User's screen is small")
    answer = Person().says("tabs or spaces?")
    assert answer.endswith(": You prefer tabs because your screen is small [1]")


@pytest.mark.parametrize(
    "said",
    ["what time is it?", "what is the meaning of life", "what's the deploy password?",
     "where do I live?", "what's my wife's name?", "how's the weather?", "tell me a joke"],
)  # fmt: skip
def test_what_is_about_nothing_kept_gets_no_note(said: str) -> None:
    for text in UNRELATED:
        Notebook(NOTES).remember(text)
    answer = Person().says(said)
    assert [text for text in UNRELATED if text in answer] == []


@pytest.mark.parametrize(
    ("kept", "asked", "also"),
    [
        ("Pavel's birthday is 3 May", "when is my birthday?", "when is Pavel's birthday?"),
        ("User's brother's birthday is 3 May", "when is my birthday?",
         "when is my brother's birthday?"),
        ("Our daughter is called Amira", "what's my wife called?", "what's my daughter called?"),
        ("Our daughter is called Amira", "what is our son's name?", "what is our daughter's name?"),
        ("User's brother works at Siemens", "where do I work?", "where does my brother work?"),
        ("User's sister Hana lives in Oslo", "where do I live?", "where does Hana live?"),
        ("User's sister lives in Oslo", "where does Pavel live?", "where does my sister live?"),
        ("Kim likes jazz", "what music do I like?", "what music does Kim like?"),
    ],
)  # fmt: skip
def test_a_fact_about_one_is_not_told_of_another(kept: str, asked: str, also: str) -> None:
    Notebook(NOTES).remember(kept)
    Notebook(NOTES).remember("The office closes at 7")
    assert Person().says(asked).startswith("I have nothing about that.")
    assert "[1]" in Person().says(also)


@pytest.mark.parametrize(
    ("kept", "asked"),
    [
        ("The release train leaves every second Tuesday and Mirela signs it off", "train?"),
        ("Mirela is on holiday next week, Tobi stands in for her", "who is Tobi?"),
        ("We're building a loan service called Heron, in Kotlin", "what's Heron written in?"),
        ("Kim hates broccoli", "what shouldn't I cook for Kim?"),
        ("User's wife Sadia is a vegan and our anniversary is in June", "what does Sadia eat?"),
        ("User lent User's drill to Pavel", "drill?"),
    ],
)
def test_a_note_that_names_what_is_asked_about_is_told_and_no_other(kept: str, asked: str) -> None:
    for text in (kept, *UNRELATED):
        Notebook(NOTES).remember(text)
    answer = Person().says(asked)
    assert ("[1]" in answer, answer.count("[")) == (True, 1)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("what instrument do I play?", "You play the cello"),
        ("who is responsible for invoices?", "Dana owns the billing service"),
        ("when do the nightly copies happen?", "Backups run at 3 every night"),
        ("who is our largest client?", "Our biggest customer is Acme"),
        ("which language is the phone app in?", "The mobile app is written in Kotlin"),
    ],
)
def test_a_question_in_other_words_gets_its_note_and_no_other(said: str, told: str) -> None:
    for text in UNRELATED:
        Notebook(NOTES).remember(text)
    answer = Person().says(said)
    assert (told in answer, answer.count("[")) == (True, 1)


@pytest.mark.parametrize(("half", "right", "wrong"), [("open", 23, 0), ("held", 15, 3)])
def test_what_is_told_as_sure_is_right(half: str, right: int, wrong: int) -> None:
    """Of 28 questions with an answer and 24 without; of the held half, of 24 and 24.

    The rule was chosen on the open half. The words alone told 17 wrong notes as sure of either.
    """
    sure = {True: 0, False: 0}
    for number, line in enumerate((DATA / f"answers_{half}.jsonl").read_text("utf-8").splitlines()):
        Path(f"{number}").mkdir()
        with contextlib.chdir(f"{number}"):
            book, case = Notebook(NOTES), json.loads(line)
            for text in case["notes"]:
                book.remember(text)
            book.search.read_closely()
            for question in case["questions"]:
                told = Person().says(question["asked"]).partition("\n")[0]
                if told.startswith("You told me"):
                    sure[told.endswith(f" [{question.get('note')}]")] += 1
    assert (sure[True] >= right, sure[False] <= wrong) == (True, True), sure


@pytest.mark.parametrize(
    ("kept", "said", "becomes"),
    [
        ("The prod cluster is in eu-west-1 and staging is in eu-central-1",
         "change staging to eu-north-1",
         "The prod cluster is in eu-west-1 and staging is in eu-north-1"),
        ("The logo is teal", "change the logo to dark blue", "The logo is dark blue"),
    ],
)  # fmt: skip
def test_a_change_finds_its_note_and_its_place_in_it(kept: str, said: str, becomes: str) -> None:
    anna = Person()
    anna.says(f"remember {kept}")
    anna.says("remember the office closes at 7")
    anna.says(said)
    assert (anna.asked[-1].text, anna.asked[-1].replaces) == (becomes, "1")


def test_a_change_of_what_is_no_note_is_none() -> None:
    """Red when a task for an editor is taken for a change of some note."""
    anna = Person()
    anna.says("remember the office closes at 7")
    assert "offline" in anna.says("change the colour of the button to red")
    assert len(anna.asked) == 1


def test_all_notes_about_something_are_counted_and_listed_and_no_others() -> None:
    for text in ("The standup is at 9", "We skip the standup on Fridays", *UNRELATED):
        Notebook(NOTES).remember(text)
    anna = Person()
    for said in ("how many notes about standup do I have?", "list the notes about the standup"):
        head, _, *rows = anna.says(said).splitlines()
        assert (head, len(rows)) == ("2 notes about standup:", 2)
    assert anna.says("list my notes about zebras") == "I have no notes about zebras."


@pytest.mark.parametrize(
    ("old", "new", "asked"),
    [
        ("The wedding is on 12 July in Siena", "The wedding got postponed to 19 July",
         "when's the wedding?"),
        ("Our goalie is Jakob", "Jakob isn't our goalie any more, it's Theo", "who is our goalie?"),
        ("Lars coaches the U12 team", "Lars isn't the coach any more, it's Fatima",
         "who coaches the U12?"),
        ("User owes Chidi 40 euros", "User paid Chidi back", "how much do I owe Chidi?"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("theirs", [(False, False), (False, True), (True, False)])
def test_what_holds_now_is_told_first_in_whichever_notebook_it_is(
    old: str, new: str, asked: str, theirs: tuple[bool, bool]
) -> None:
    """Red when what no longer holds is told as sure."""
    for text, at, in_own in zip((old, new), (1, 2), theirs, strict=True):
        clock = partial(datetime, 2026, 1, at, tzinfo=UTC)
        Notebook(own() if in_own else NOTES, clock=clock).remember(text)
    first, _, earlier = Person().says(asked).partition("\n\n")
    told = f"You told me on 2026-01-02: {second_person(new)} ["
    assert (first[: len(told)], earlier[:9]) == (told, "Earlier: ")


def test_what_one_of_several_owns_is_told_after_another_has_left() -> None:
    for text in ("Carla owns checkout, Dev owns search", "Dev has left, Yuki owns search now"):
        Notebook(NOTES).remember(text)
    assert "Carla" in Person().says("who owns checkout?").partition("\n")[0]
    assert "Yuki" in Person().says("who owns search?").partition("\n")[0]


def test_what_something_else_may_replace_is_still_told() -> None:
    """Red when a note that only looks newer hides the one that answers."""
    book = Notebook(NOTES)
    book.remember("Our team lead is Sam")
    book.remember("We moved from Slack to Teams last week")
    answer = Person().says("who is our team lead?")
    assert answer == f"You told me on {book.today()}: Our team lead is Sam [1]"


def test_what_was_just_forgotten_is_kept_after_all() -> None:
    anna = Person()
    anna.says("remember rent is due on the 1st")
    assert anna.session.command("actually no, keep that") == ""
    anna.says("forget that")
    assert anna.session.command("actually no, keep that") == "/restore last"
    assert anna.says("no, leave it") == "All right."


@pytest.mark.parametrize(
    ("kept", "asked"),
    [
        ("Ich heiße Lena und wohne in Köln", "wo wohne ich"),
        ("Die Besprechung ist am Dienstag um 10 Uhr", "wann ist die Besprechung?"),
        ("notre client principal est Dupont", "quel est notre client principal ?"),
        ("la réunion est le mardi à 10h", "quand est la réunion"),
        ("La reunión es el jueves a las 9", "¿cuándo es la reunión?"),
        ("Priya's birthday is on 4 May", "when's priya's bday?"),
        ("Tom's tel is 555 1234", "what is Tom's phone number?"),
    ],
)
def test_a_question_in_another_language_or_abbreviated_is_answered(kept: str, asked: str) -> None:
    for text in (kept, *UNRELATED[:9]):
        Notebook(NOTES).remember(text)
    answer = Person().says(asked)
    assert answer == f"You told me on {Notebook(NOTES).today()}: {kept} [1]"


@pytest.mark.parametrize(
    ("kept", "asked", "told"),
    [
        ("Priya's birthday is on 4 May", "how old is Priya?", "Perhaps:"),
        ("User works as a data engineer at Brightwell", "what's my job?", "Perhaps:"),
        ("We used to use Jenkins but switched in March", "what CI do we use?", "Perhaps:"),
        ("The office closes at 7", "what is my favourite colour?", "I have nothing about that."),
    ],
)
def test_what_may_answer_is_told_as_a_guess(kept: str, asked: str, told: str) -> None:
    Notebook(NOTES).remember(kept)
    Notebook(NOTES).remember("Retro is every second Wednesday")
    assert Person().says(asked).startswith(told)


def test_what_held_before_is_asked_of_the_note_just_told_only() -> None:
    """Red when a note is told that nobody asked for, or denied and told at once."""
    anna = Person()
    anna.says("remember we used to use Jenkins but switched to Woodpecker in March")
    assert anna.says("what did we use before that?").startswith("You told me on ")
    anna.says("what is my favourite colour?")
    assert anna.says("what was it before?").startswith("I do not know what that is about.")


@pytest.mark.parametrize(
    ("kept", "said", "stored"),
    [
        (
            "Priya's birthday is on 4 May",
            "her phone is 0171 555 22",
            "Priya's phone is 0171 555 22",
        ),
        ("Marco joins the team on Monday", "he lives in Turku", "Marco lives in Turku"),
        ("our team lead is Sam", "she's allergic to peanuts", "Sam is allergic to peanuts"),
        ("Ann shares a desk with Bob", "he lives in Turku", "he lives in Turku"),
        ("the standup is at 9", "her phone is 0171 555 22", "her phone is 0171 555 22"),
    ],
)
def test_a_pronoun_becomes_the_one_person_who_was_spoken_of(
    kept: str, said: str, stored: str
) -> None:
    anna = Person()
    anna.says(f"remember {kept}")
    anna.says(said)
    assert anna.asked[-1].text == stored


def test_offers_can_be_turned_off_and_on_again() -> None:
    anna = Person()
    assert "“ask me again”" in anna.says("stop asking me")
    assert anna.says("we deploy on Thursdays") == "All right."
    for one in ("no, use the staging db for demos", "I mean 3, not 5", "that was Omar's CV"):
        assert anna.says(one) == "All right."
    anna.says("remember the office closes at 7")
    assert [one.text for one in anna.asked] == ["The office closes at 7"]
    anna.says("ask me again")
    anna.says("we deploy on Thursdays")
    assert anna.asked[-1].text == "We deploy on Thursdays"


@pytest.mark.parametrize("said", ["bye", "Quit", "exit", "cu!", "goodbye."])
def test_plain_words_leave_the_chat(said: str) -> None:
    assert slash.as_command(said) == "/quit"


def test_what_is_asked_next_is_answered_from_the_note_just_told() -> None:
    book = Notebook(NOTES)
    book.remember("We squash because the history stays readable")
    book.remember("We deploy on Mondays")
    on, person = f"on {book.today()}", Person()
    assert person.says("and why?").startswith("I do not know what that is about.")
    squash = "We squash because the history stays readable [1]"
    person.says("do we squash?")
    assert person.says("and why?") == f"You told me {on}: {squash}"
    person.says("when do we deploy?")
    deploy = "We deploy on Mondays [2]"
    assert person.says("how come?") == f"You did not tell me why. You told me {on}: {deploy}"
    assert person.says("who said so?") == f"You did, {on}: {deploy}"
    assert person.says("since when?") == f"You told me {on}: {deploy}"
    assert person.says("are you sure?").endswith("If that has changed, tell me.")


@pytest.mark.parametrize(
    ("kept", "asked", "then"),
    [
        ("User's flight is LH 1234 at 7:50 from MUC", "when is my flight?",
         ["which airport?", "and what number?"]),
        ("Our next match is against Rapid, away, on the 28th", "when is our next match?",
         ["home or away?", "and why?"]),
        ("User's manager is Torstein, on leave until February", "who is my boss?",
         ["when is he back?", "when does she return?"]),
        ("Sadia's shoe size is 39, User's is 44", "what's Sadia's shoe size?", ["what's mine?"]),
    ],
)  # fmt: skip
def test_what_says_nothing_by_itself_is_asked_of_the_note_just_told(
    kept: str, asked: str, then: list[str]
) -> None:
    Notebook(NOTES).remember(kept)
    for text in UNRELATED:
        Notebook(NOTES).remember(text)
    person = Person()
    assert person.says(then[0]).startswith("I have nothing about that.")
    for said in (asked, *then):
        answer = person.says(said)
        assert ("[1]" in answer, answer.count("[")) == (True, 1)
    assert "[" not in person.says("what time is it?")


def test_what_was_not_kept_is_not_told_on() -> None:
    person = Person()
    person.verdict = "no"
    person.says("remember my flight is LH 1234 from MUC")
    assert person.says("which airport?").startswith("I have no")


def test_a_guess_at_what_was_before_has_to_be_about_what_is_asked() -> None:
    book = Notebook(NOTES)
    for text in ("Contact User at ivo@hollowell.de", "User's name is actually Ivo Brandt"):
        book.remember(text)
    told = f"You told me on {book.today()}: Your name is actually Ivo Brandt [2]"
    assert Person().says("what's my last name?") == told


def test_a_secret_that_was_left_out_is_not_told_as_the_answer() -> None:
    book = Notebook(NOTES)
    book.remember("User's locker code is [left out]")
    assert Person().says("what's my locker code?") == (
        f"I keep no secrets; you told me on {book.today()}: Your locker code is [left out] [1]"
    )


@pytest.mark.parametrize(
    ("said", "stored"),
    [
        ("Nils is my brother. He lives in Lyon. His wife is Ada.",
         "Nils is User's brother. He lives in Lyon. His wife is Ada"),
        ("My neighbour is Mrs. Weber. Her dog is called Bello.",
         "User's neighbour is Mrs. Weber. Her dog is called Bello"),
        ("contact me at ivo@hollowell.de", "User's email is ivo@hollowell.de"),
        ("call me on 0664 123 45 67", "User's phone is 0664 123 45 67"),
        ("email me at ivo@hollowell.de", "User's email is ivo@hollowell.de"),
    ],
)  # fmt: skip
def test_a_note_says_whose_it_is(said: str, stored: str) -> None:
    anna = Person()
    anna.says(f"remember: {said}")
    assert [one.text for one in anna.asked] == [stored]


def test_what_came_from_outside_is_not_said_to_be_the_persons() -> None:
    fields = {"source": "web-fetched", "trust": "external"}
    Notebook(NOTES).remember("The quota is 500 requests a minute", fields=fields)
    answer = Person().says("what is the quota?")
    assert answer.startswith("From web-fetched on ")


def test_what_changed_lately_is_told_however_much_there_is() -> None:
    """Red when a list of the oldest is looked through for what is new."""
    book = Notebook(NOTES)
    for number in range(160):
        text = f"---\nid: {number + 1}\ncreated: 2020-01-01T00:00:00Z\n---\nFact {number}\n"
        (NOTES / "memories").mkdir(parents=True, exist_ok=True)
        (NOTES / f"memories/{number + 1:03d}-fact.md").write_text(text)
    book.remember("We deploy on Mondays")
    book.remember("Fact 3", ["again"])
    answer = Person().says("what did I tell you today?")
    assert sorted(answer.splitlines()[2:]) == ["- Fact 3 [4]", "- We deploy on Mondays [161]"]


# Files of the prompt


def test_a_question_is_answered_from_the_files_of_the_prompt_with_their_names() -> None:
    own().mkdir(parents=True)
    (own() / "context.md").write_text("# User\n- Name: Ada\n- Timezone: Europe/Vienna\n")
    NOTES.mkdir(parents=True)
    (NOTES / "context.md").write_text("# Project\n- Test policy: functional only\n")
    agents = "# Work\n\nTo run all checks:\n\n```\nmake check\n```\n\nDana cuts the releases.\n"
    Path("AGENTS.md").write_text(agents)
    co("trust", "--yes")
    person = Person()
    assert person.says("which timezone am I in?") == (
        "Your own context.md says: Timezone: Europe/Vienna"
    )
    assert person.says("what is our test policy?") == (
        "The project's context.md says: Test policy: functional only"
    )
    assert person.says("how do I run the checks?") == (
        "AGENTS.md says: To run all checks:\n```\nmake check\n```"
    )
    assert person.says("who cuts releases?") == "AGENTS.md says: Dana cuts the releases."
    assert person.says("who said so?") == "AGENTS.md says: Dana cuts the releases."
    assert person.says("forget that") == "AGENTS.md says that; change it there."
    assert "context.md" not in person.says("what time is it?")


def test_a_file_that_nobody_trusts_answers_nothing() -> None:
    Path("AGENTS.md").write_text("Dana cuts the releases.\n")
    prompt = prompts.session_prompt("offline", None)
    assert (prompt.known, Known(prompt.known).find("who cuts releases?")) == ({}, None)


# Requests


def test_several_notes_are_listed_to_pick_from_and_one_is_asked_about() -> None:
    book = Notebook(NOTES)
    for text in ("Bob prefers tabs", "Bob owns billing", "Lunch is at noon"):
        book.remember(text)
    person = Person()
    asked = person.says("forget what I said about Bob")
    assert asked.startswith("Which one? Say its number, a word from it, “all” or “none”.")
    assert ("Bob prefers tabs [1]" in asked, "Bob owns billing [2]" in asked) == (True, True)
    assert person.says("forget 2") == (
        "✓ Forgot memory 2: Bob owns billing\nTo bring it back: /restore 2"
    )
    person.says("forget the note about lunch")
    assert bodies() == ["Bob prefers tabs"]
    assert person.says("forget my dentist").startswith("I have nothing about that")
    assert person.says("forget everything").startswith("I forget notes one by one")
    assert "`/memories` shows what there is." in person.says("forget note 99")
    assert [one.tool for one in person.asked] == ["forget_memory"] * 2


@pytest.mark.parametrize(
    "said", ["forget that", "forget what I just said", "delete that note", "scratch that"]
)
def test_that_is_the_note_that_was_spoken_of(said: str) -> None:
    person = Person()
    person.says("the port is 8080")
    person.says(said)
    assert (bodies(), [one.ref for one in person.asked]) == ([], ["1", "1"])


def test_what_is_not_to_be_kept_is_not_kept() -> None:
    person = Person()
    told = person.says("don't save this: I am looking for another job")
    assert (told, person.asked) == ("All right, I keep no note of that.", [])


def test_ask_speaks_the_words_of_the_shell() -> None:
    assert "`co knowledge undo` takes back the last change." in co("ask", "undo").out
    co("ask", "--yes", "remember the port is 8080")
    assert "co knowledge restore 1" in co("ask", "--yes", "forget memory 1").out


# At the terminal


def keep(chat: Talking, said: str, ref: str) -> str:
    """Say something and agree to what is asked; the card."""
    chat.say(said)
    card = chat.until("[e]dit >")
    chat.say("y")
    chat.until(f"Saved as [{ref}]")
    return card


def test_what_is_asked_to_be_remembered_is_kept_and_the_rest_is_offered() -> None:
    with Talking() as chat:
        assert "│ Bob prefers tabs\n" in keep(chat, "remember Bob prefers tabs", "1")
        chat.say("I parked on level 3, spot 42")
        chat.until("Keep this as a note? [y/n]")
        chat.until("[e]dit >")
        chat.say("n")
        chat.until("Not saved.")
        chat.leave()
    assert bodies() == ["Bob prefers tabs"]


def test_plain_requests_do_what_the_slash_commands_do() -> None:
    with Talking() as chat:
        keep(chat, "remember the API lives on port 80", "1")
        keep(chat, "I'm allergic to nuts", "g1")
        chat.say("undo that")
        chat.until("Undone: save of 001-user-is-allergic-to-nuts.md")
        chat.say("what can you do?")
        chat.until("/recall")
        chat.say("list everything")
        chat.until("The API lives on port 80 [1]")
        chat.say("forget what I said about the API")
        chat.until("Forget this memory?")
        chat.until("[y]es  [n]o >")
        chat.say("y")
        chat.until("To bring it back: /restore 1")
        assert "co knowledge" not in chat.text
        chat.leave()
    assert (bodies(), bodies(own())) == ([], [])


def test_a_question_gets_one_answer_and_the_next_one_is_about_it() -> None:
    Notebook(NOTES).remember("User prefers tabs")
    co("trust", "--yes")
    with Talking() as chat:
        chat.say("do I like tabs or spaces?")
        chat.until(f"You told me on {Notebook(NOTES).today()}: You prefer tabs [1]")
        chat.say("since when?")
        chat.until(f"You told me on {Notebook(NOTES).today()}: You prefer tabs [1]")
        chat.say("what is the meaning of life")
        assert "tabs" not in chat.until("\n>").partition("life")[2]
        chat.leave()


def test_a_correction_shows_old_and_new_and_replaces_that_note() -> None:
    with Talking() as chat:
        keep(chat, "we deploy on Thursdays", "1")
        card = keep(chat, "no, I meant Fridays", "2")
        assert "Correct memory 1?" in card
        assert "-We deploy on Thursdays\n  │ +We deploy on Fridays\n  [y]es, replace 1" in card
        chat.until("It replaces memory 1, which is archived (/restore 1).")
        chat.leave()
    assert bodies() == ["We deploy on Fridays"]


def test_what_is_about_the_person_is_for_their_own_notebook_and_the_card_says_so() -> None:
    with Talking() as chat:
        assert "your own notebook, everywhere" in keep(chat, "my name is Anna", "g1")
        assert "this project" in keep(chat, "I prefer async/await over callbacks", "1")
        chat.say("I hate Mondays")
        chat.until("[g] in this project only  [e]dit >")
        chat.say("g")
        chat.until("this project: ")
        chat.until("[g] everywhere  [e]dit >")
        chat.say("g")
        chat.until("your own notebook, everywhere")
        chat.until("[e]dit >")
        chat.say("y")
        chat.until("Saved as [g2]")
        chat.leave()
    assert bodies(own()) == ["User's name is Anna", "User hates Mondays"]


def test_a_fresh_persons_minute() -> None:
    """Five sentences, five questions in other words, and again after a new start."""
    told = {
        "we deploy on Tuesdays": ("which day do releases go out?", "We deploy on Tuesdays"),
        "our API runs on port 8443": ("where does the API listen?", "Our API runs on port 8443"),
        "Dana owns billing": ("who is responsible for invoices?", "Dana owns billing"),
        "I prefer pytest": ("what should I test with?", "You prefer pytest"),
        "I'm allergic to peanuts": ("what can't I eat?", "You are allergic to peanuts"),
    }
    with Talking() as chat:
        for said in told:
            chat.say(said)
            chat.until("[e]dit >")
            chat.say("y")
            chat.until("Saved as [")
        for question, answer in told.values():
            chat.say(question)
            chat.until(answer)
        chat.leave()
    with Talking() as chat:
        for question, answer in told.values():
            chat.say(question)
            chat.until(answer)
        chat.leave()


# The manual tests of the design documents


def context(folder: Path, text: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "context.md").write_text(text)


HEADER = "---\nversion: 1\nupdated: 2026-02-09T14:30:00Z\n---\n\n"


def test_both_contexts_are_loaded_and_their_size_is_told() -> None:
    context(own(), f"{HEADER}# User\n- Name: Test User\n")
    context(NOTES, f"{HEADER}# Project\n- Type: Python CLI\n")
    co("trust", "--yes")
    with Talking() as chat:
        start = chat.until("offline\n")
        assert ("2 context files, 52 bytes" in start, "WARNING" in start) == (True, False)
        chat.say("what type of project is it?")
        chat.until("The project's context.md says: Type: Python CLI")
        context(NOTES, f"{HEADER}# Custom\n- Coffee break: at ten\n")
        chat.leave()
    co("trust", "--yes")
    with Talking() as chat:
        chat.say("when is the coffee break?")
        chat.until("The project's context.md says: Coffee break: at ten")
        chat.leave()


def test_a_large_context_is_warned_of_and_loaded() -> None:
    context(NOTES, HEADER + "# User\n" + "- Item with text\n" * 700)
    co("trust", "--yes")
    with Talking() as chat:
        chat.until("exceeds 10240 byte target. Consider reducing context.md.")
        chat.leave()


def test_a_broken_context_is_told_and_the_other_still_counts() -> None:
    context(own(), "# User\n- Name: Test User\n")
    context(NOTES, "---\ninvalid yaml: [\n---\nContent\n")
    co("trust", "--yes")
    with Talking() as chat:
        chat.until("WARNING: context file skipped: ")
        chat.say("what is my name?")
        chat.until("Your own context.md says: Name: Test User")
        chat.leave()


def test_without_any_knowledge_the_chat_works() -> None:
    with Talking() as chat:
        assert "WARNING" not in chat.until("no context files; 0 memories")
        chat.say("recall memories about async")
        chat.until("I have nothing about that.")
        chat.leave()


def test_a_memory_is_saved_recalled_and_listed_as_in_the_documents() -> None:
    said = "save a memory: I prefer async/await over callbacks, tag it with python and style"
    with Talking() as chat:
        card = keep(chat, said, "1")
        assert "│ User prefers async/await over callbacks\n" in card
        chat.say("recall memories about async")
        chat.until(": You prefer async/await over callbacks [1]")
        chat.say("How should I structure this async function?")
        chat.until("You prefer async/await over callbacks [1]")
        chat.say("list all my memories")
        chat.until("This is what I remember:")
        chat.until("You prefer async/await over callbacks [1]")
        chat.leave()
    [file] = (NOTES / "memories").glob("001-*.md")
    [note] = json.loads(co("knowledge", "list", "--json").out)["memories"]
    assert (note["id"], note["path"].endswith(file.name)) == (1, True)
    assert {"python", "style"} <= set(note["tags"])


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("Remember that I prefer snake_case for variable names",
         "User prefers snake_case for variable names"),
        ("This project uses FastAPI", "This project uses FastAPI"),
        ("Tests go in the tests/ directory", "Tests go in the tests/ directory"),
        ("I prefer explicit imports", "User prefers explicit imports"),
    ],
)  # fmt: skip
def test_the_phrases_of_the_oldest_guide_are_proposed(said: str, kept: str) -> None:
    person = Person()
    person.says(said)
    assert [one.text for one in person.asked] == [kept]


def test_a_question_about_oneself_is_answered_by_the_note_that_says_so() -> None:
    """Red when "where do I work?" finds nothing because a note calls the person User."""
    person = Person()
    person.says("My name is Lena and I work at Brightwell as a data engineer")
    person.says("remember my sister lives in Turku")
    for said in ("what is my name?", "where do I work?", "which company do I work for?"):
        assert "Brightwell" in person.says(said), said
    assert "You told me" not in person.says("where do I live?")


def test_a_change_is_made_in_the_note_that_it_names() -> None:
    """Red when "update X to Y" becomes a note of its own, or is put into another."""
    person = Person()
    person.says("remember the standup is at 10:00 every day")
    person.says("update the standup to 9:15")
    person.says("remember the canteen closes at 15:00")
    person.says("update the standup to 9:30")
    assert person.asked[-1].text == "The standup is at 9:30 every day"
    assert sorted(bodies()) == ["The canteen closes at 15:00", "The standup is at 9:30 every day"]
    assert person.says("change the office plants to cacti") == "No note says office plants."


@pytest.mark.parametrize(
    ("said", "command"),
    [
        ("bring it back", "restore last"),
        ("roll back", "undo"),
        ("pin the rent note", "pin rent"),
    ],
)
def test_words_for_a_command_are_that_command(said: str, command: str) -> None:
    """Red when "bring it back" takes back a save."""
    assert conversation.command(said) == command


def test_a_reminder_keeps_its_day() -> None:
    person = Person()
    person.says("remind me tomorrow at 9 to call Priya")
    assert "tomorrow at 9" in person.asked[-1].text


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("remember", "What should I remember?"),
        ("how do I delete something?", "say “forget"),
        ("delete all the standup notes except 9:30", "one by one"),
        ("what was the last thing I told you?", "The canteen closes at 15:00"),
    ],
)
def test_what_cannot_be_done_is_said_and_nothing_else_is_done(said: str, shown: str) -> None:
    person = Person()
    person.says("remember the standup is at 10:00 every day")
    person.says("remember the canteen closes at 15:00")
    answer = person.says(said)
    assert (shown in answer, "10:00" in answer, len(person.asked)) == (True, False, 2)


def test_what_was_told_wrong_is_put_right() -> None:
    person = Person()
    person.says("remember rent is due on the 1st")
    person.says("when is rent due?")
    person.says("you got that wrong, it's the 3rd")
    assert bodies() + bodies(own()) == ["rent is due on the 3rd"]


def test_of_notes_that_are_equally_far_off_none_is_told_as_sure() -> None:
    """Red when one of several notes in other words is told though the next is as near."""
    for text in ("We use PostgreSQL 16", "User's favourite editor is helix",
                 "We used to use Jenkins but switched to GitHub Actions in March"):  # fmt: skip
        Notebook(NOTES).remember(text)
    Notebook(NOTES).sync(closely=True)
    assert "You told me" not in Person().says("which chat tool do we use?")


def test_a_switch_from_something_else_leaves_the_note_just_saved_alone() -> None:
    """Red when the database of the last note becomes what the CI was switched to."""
    person = Person()
    person.says("We use PostgreSQL 16 for the main database")
    person.says("We used to use Jenkins but switched to GitHub Actions in March")
    assert (person.asked[-1].replaces, bodies()[0]) == (
        "",
        "We use PostgreSQL 16 for the main database",
    )
    person.says("we've switched to MariaDB")
    person.says("remember the standup is at 10:00")
    assert person.says("update the standup to 9:30").startswith("Saved as")


@pytest.mark.parametrize(
    ("said", "kept", "told"),
    [
        ("prod is in Frankfurt. where is prod?", "prod is in Frankfurt", "You told me"),
        ("our plumber is Mr Novak, his rate is 60/h. What does the plumber cost?",
         "Our plumber is Mr Novak, his rate is 60/h", "60/h"),
        ("The x-ray machine is serviced by Siemens. When is the fair?",
         "The x-ray machine is serviced by Siemens", "I have nothing about that."),
    ],
)  # fmt: skip
def test_a_fact_is_kept_and_then_the_question_beside_it_is_answered(
    said: str, kept: str, told: str
) -> None:
    """Red when what leads up to a question is lost, or the question sees the notes too early."""
    person = Person()
    answer = person.says(said)
    assert bodies() == [kept]
    assert "Saved as [1]" in answer
    assert told in answer.partition("\n\n")[2]


def test_a_pasted_block_is_one_note() -> None:
    person = Person()
    person.says("the safe is behind the fridge\nits key: under the mat\nline three")
    [body] = bodies()
    assert body.splitlines()[1:] == ["its key: under the mat", "line three"]


@pytest.mark.parametrize("said", ["show me the notes about work", "what am I forgetting?"])
def test_what_is_asked_of_the_notes_is_no_command(said: str) -> None:
    assert Person().session.command(said) == ""


@pytest.mark.parametrize("said", ["Pavel gave the drill back", "she took it back", "u"])
def test_an_ordinary_sentence_undoes_nothing(said: str) -> None:
    person = Person()
    person.says("our anniversary is on 3 May")
    assert person.session.command(said) == ""
    assert person.session.command("undo that") == "/undo"


def test_a_letter_that_may_mean_undo_is_told_how_to_undo() -> None:
    person = Person()
    person.says("our anniversary is on 3 May")
    assert "/undo" in person.says("u")
    assert bodies() == ["Our anniversary is on 3 May"]


def is_put_right(kept: str, said: str, becomes: str, whose: str) -> None:
    """While another note is spoken of, this one is found and shown with its new text."""
    Notebook(own() if whose == "user" else NOTES).remember(kept)
    Notebook(NOTES).remember("Bo is on call this week")
    person = Person()
    person.says("who is on call?")
    person.says(said)
    [card] = person.asked
    assert (card.text, [old.text for old in card.collisions]) == (becomes, [kept])
    assert (card.scope, bool(card.replaces)) == (whose, True)


@pytest.mark.parametrize(
    ("kept", "said", "becomes"),
    [
        ("The demo is on Thursday", "we switched the demo to Wednesday",
         "The demo is on Wednesday"),
        ("The wedding is on 12 July", "the wedding got postponed to 19 July",
         "The wedding is on 19 July"),
        ("The choir sings at 7", "the choir has moved to 8", "The choir sings at 8"),
        ("Lars is the coach of the U12", "Lars isn't the coach any more, it's Fatima",
         "Fatima is the coach of the U12"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("whose", ["project", "user"])
def test_what_has_changed_finds_its_note_by_its_subject(
    kept: str, said: str, becomes: str, whose: str
) -> None:
    """Red when the new stands beside the old, or only its last word is kept."""
    is_put_right(kept, said, becomes, whose)


@pytest.mark.parametrize(
    "said",
    ["the locker code changed to 9023", "we moved to a bigger office",
     "we switched the demo to Wednesday", "Kim isn't the cook any more, it's Ana"],
)  # fmt: skip
def test_a_change_of_something_else_leaves_the_note_spoken_of_alone(said: str) -> None:
    """Red when any value is put into the note that was told last."""
    Notebook(NOTES).remember("Bo is on call this week")
    person = Person()
    person.says("who is on call?")
    person.says(said)
    [card] = person.asked
    assert (card.text.lower(), card.replaces) == (said.lower(), "")


@pytest.mark.parametrize(
    ("kept", "said", "becomes"),
    [
        ("the jerseys are red", "no they're blue", "The jerseys are blue"),
        ("the colour is green", "change it to blue", "The colour is blue"),
        ("Kim likes jazz", "sorry, Kim likes blues", "Kim likes blues"),
        ("the bins go out on Thurday and glass on Friday", "Thursday i meant",
         "The bins go out on Thursday and glass on Friday"),
        ("we meet Oduya Foods on Friday at 11, room Aspen", "actually the room is Birch",
         "We meet Oduya Foods on Friday at 11, room Birch"),
        ("the lunch with Ana is at 1 on Friday", "sorry, the lunch is at 2",
         "The lunch with Ana is at 2 on Friday"),
    ],
)  # fmt: skip
def test_a_plain_correction_says_what_something_is(kept: str, said: str, becomes: str) -> None:
    person = Person()
    person.says(f"remember {kept}")
    person.says(said)
    assert bodies() == [becomes]


def test_who_moves_lives_elsewhere() -> None:
    person = Person()
    person.says("I live in Kiel")
    person.says("I moved to Lübeck last month")
    assert bodies(own()) == ["User lives in Lübeck"]


@pytest.mark.parametrize(
    ("kept", "said", "becomes"),
    [
        ("Kim likes jazz", "sorry, Kim likes blues", "Kim likes blues"),
        ("The wedding is on 12 July in Siena", "correction: the wedding is on 19 July",
         "The wedding is on 19 July in Siena"),
        ("Tom's tel is 555 1234", "oops, Tom's tel is 555 9999", "Tom's tel is 555 9999"),
        ("Our biggest customer is Acme Corp", "no, our biggest customer is Globex",
         "Our biggest customer is Globex"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("whose", ["project", "user"])
def test_a_correction_finds_the_note_that_says_the_same_of_another_value(
    kept: str, said: str, becomes: str, whose: str
) -> None:
    """Red when only the note spoken of is put right, or what it says beside is lost."""
    is_put_right(kept, said, becomes, whose)


@pytest.mark.parametrize(
    "said",
    ["sorry, Kim also likes blues", "sorry, Kim has two cats", "no, Ana likes tea",
     "sorry, Dana is on leave", "no, the logo is on the wiki", "no, our biggest customer is happy",
     "oops, the shop closes at 6", "sorry, the demo is in room 4", "no, Bruno gets 30 mg"],
)  # fmt: skip
def test_a_correction_of_no_note_becomes_one_and_rewrites_none(said: str) -> None:
    """Red when what is only like a note, or one of several, is taken for the one that is meant."""
    kept = ["Kim likes jazz", "Kim has a car", "The shop opens at 8", "The demo is on Thursday",
            "Bruno gets 20 mg Apoquel", "Bruno gets 5 mg cortisone", "Our biggest customer is Acme",
            "Dana owns the billing service", "The logo is teal"]  # fmt: skip
    for text in kept:
        Notebook(NOTES).remember(text)
    person = Person()
    person.says(said)
    [card] = person.asked
    assert (card.text.lower(), card.replaces) == (said.partition(", ")[2].lower(), "")
    assert set(kept) < set(bodies())


@pytest.mark.parametrize(
    ("kept", "said", "becomes"),
    [
        ("mon frère travaille chez Coop", "non, chez Migros", "mon frère travaille chez Migros"),
        ("Der Müll wird dienstags abgeholt", "nein, mittwochs",
         "Der Müll wird mittwochs abgeholt"),
        ("Die Besprechung ist am Dienstag um 10 Uhr", "ich meinte Mittwoch",
         "Die Besprechung ist am Mittwoch um 10 Uhr"),
        ("Die Besprechung ist am Dienstag um 10 Uhr", "nein, um 11 Uhr",
         "Die Besprechung ist am Dienstag um 11 Uhr"),
        ("die Praxis hat mittwochs zu", "mittwochs stimmt nicht mehr, jetzt freitags",
         "die Praxis hat freitags zu"),
        ("unser Hund heißt Benno", "nein, er heißt Bruno", "unser Hund heißt Bruno"),
        ("La reunión es el jueves a las 9", "perdón, el viernes",
         "La reunión es el viernes a las 9"),
    ],
)  # fmt: skip
def test_a_correction_in_another_language_changes_the_note(
    kept: str, said: str, becomes: str
) -> None:
    """Red when "nein" becomes a part of a note, or the old value is kept beside the new."""
    person = Person()
    person.says(f"remember: {kept}")
    person.says(said)
    assert bodies() + bodies(own()) == [becomes]


@pytest.mark.parametrize("said", ["nein, Bruno bekommt 30 mg", "Falsch, Bruno bekommt 30 mg!"])
@pytest.mark.parametrize("whose", ["project", "user"])
def test_a_dose_is_put_right_in_its_note_and_told_so(said: str, whose: str) -> None:
    Notebook(own() if whose == "user" else NOTES).remember("Bruno bekommt morgens 20 mg Apoquel")
    Notebook(NOTES).remember("Bo is on call this week")
    person = Person()
    person.says("who is on call?")
    person.says(said)
    [card] = person.asked
    assert (card.text, bool(card.replaces)) == ("Bruno bekommt morgens 30 mg Apoquel", True)
    answer = person.says("wie viel Apoquel bekommt Bruno morgens?")
    assert "20 mg" not in answer.partition("Earlier")[0]


def test_a_correction_in_another_language_of_no_note_becomes_one() -> None:
    person = Person()
    person.says("nein, Bruno bekommt 30 mg")
    assert "Which note" in person.says("nein danke, mittwochs")
    assert bodies() == ["Bruno bekommt 30 mg"]


@pytest.mark.parametrize(
    "said",
    ["oublie mon anniversaire", "vergiss das mit dem anniversaire", "olvida lo del anniversaire",
     "vergiss das", "oublie ça"],
)  # fmt: skip
def test_to_forget_is_understood_in_other_languages(said: str) -> None:
    person = Person()
    person.says("remember: mon anniversaire est le 3 mai")
    person.says(said)
    assert [one.tool for one in person.asked] == ["save_memory", "forget_memory"]


def test_not_to_forget_is_to_keep_in_another_language() -> None:
    person = Person()
    person.says("vergiss nicht, Anna kommt am Freitag um 8")
    assert [one.tool for one in person.asked] == ["save_memory"]


@pytest.mark.parametrize("said", ["hilfe", "Hilfe!", "aide-moi", "¡ayuda!"])
def test_help_is_understood_in_other_languages(said: str) -> None:
    assert conversation.command(said) == "help"


@pytest.mark.parametrize(
    ("said", "whose"),
    [
        ("me llamo Tomás, soy panadero", "user"),
        ("je me lève à 6 heures", "user"),
        ("meine Frau heißt Katrin und sie ist Lehrerin", "user"),
        ("unser Schlüssel hängt im Keller", "project"),
        ("mein Server steht bei Hetzner", "project"),
    ],
)
def test_what_is_said_in_another_language_stays_so_in_its_notebook(said: str, whose: str) -> None:
    person = Person()
    person.says(said)
    assert [(one.text, one.scope) for one in person.asked] == [(said, whose)]


@pytest.mark.parametrize(
    ("kept", "said"),
    [
        ("The lunch with Agnes is tomorrow at noon", "lunch is cancelled"),
        ("The picnic is on Sunday at 3", "the picnic is called off"),
        ("User owes Chidi 40 euros", "I paid Chidi back"),
        ("User lent User's drill to Pavel", "Pavel gave the drill back"),
    ],
)
def test_what_is_over_is_shown_beside_what_was_told_of_it(kept: str, said: str) -> None:
    """Red when the old note is told as sure and the person was never asked about it."""
    Notebook(own() if kept.startswith("User") else NOTES).remember(kept)
    person = Person()
    person.says(said)
    [card] = person.asked
    assert [old.text for old in (*card.collisions, *card.elsewhere)] == [kept]


# What answers a question of Co's


BAKERY = (
    "The bakery on Elm Street opens at 6", "The bakery owes User 20 euros",
    "The bakery needs flour on Mondays", "The port is 8080",
)  # fmt: skip


@pytest.mark.parametrize(
    ("said", "left"),
    [
        ("2", [1, 3, 4]), ("number 2", [1, 3, 4]), ("1 and 3", [2, 4]), ("all of them", [4]),
        ("the second one", [1, 3, 4]), ("the one about flour", [1, 2, 4]), ("euros", [1, 3, 4]),
        ("none", [1, 2, 3, 4]), ("n", [1, 2, 3, 4]), ("never mind", [1, 2, 3, 4]),
    ],
)  # fmt: skip
def test_which_one_is_answered_by_what_a_person_would_type(said: str, left: list[int]) -> None:
    for text in BAKERY:
        Notebook(NOTES).remember(text)
    anna = Person()
    anna.says("forget the bakery")
    assert anna.session.command(said) == ""
    told = anna.says(said)
    assert [note.id for note in Notebook(NOTES).notes()] == left
    assert told.startswith("✓ Forgot" if len(left) < 4 else "All right.")
    assert len(anna.asked) == 4 - len(left)


def test_after_a_question_of_cos_any_other_sentence_is_an_ordinary_turn() -> None:
    """Red when a sentence is taken for a pick, or a number still counts a turn later."""
    for text in BAKERY:
        Notebook(NOTES).remember(text)
    anna = Person()
    which = anna.says("forget the bakery")
    assert anna.says("yes") == which
    assert anna.says("which port is it?").endswith("The port is 8080 [4]")
    anna.says("2")
    anna.says("forget the bakery")
    anna.says("Tom likes tea")
    assert [one.text for one in anna.asked] == ["Tom likes tea"]
    assert {*BAKERY} < {*bodies()}


@pytest.mark.parametrize(
    ("said", "left"),
    [("delete the last note", 2), ("forget the last thing I told you", 2),
     ("delete the last two", 1), ("remove my last 2 notes", 1), ("forget that", 2)],
)  # fmt: skip
def test_the_last_note_is_the_one_saved_last_and_not_the_one_spoken_of(
    said: str, left: int
) -> None:
    anna = Person()
    kept = ["training is on Tuesdays", "The pitch is at Vogelweide", "The jerseys are red"]
    for text in kept:
        anna.says(f"remember {text}")
    anna.says("when is training?")
    anna.says(said)
    there = [text for text in kept if text in bodies()]
    assert there == (kept[1:] if said == "forget that" else kept[:left])


def test_a_name_is_changed_in_every_note_that_has_it_and_in_no_other() -> None:
    book = Notebook(NOTES)
    for text in ("Tobi signs off releases", "Tobi's surname is Renner", "The port is 8080"):
        book.remember(text)
    anna = Person()
    anna.says("rename Tobi to Tobias")
    assert sorted((one.replaces, one.text) for one in anna.asked) == [
        ("1", "Tobias signs off releases"), ("2", "Tobias's surname is Renner"),
    ]  # fmt: skip
    assert [[old.text for old in one.collisions][:1] for one in anna.asked if one.replaces == "1"]
    assert "The port is 8080" in bodies()
    anna.says("rename Zoe to Zoey")
    assert len(anna.asked) == 2


def test_a_rename_knows_a_name_from_a_word_and_is_seen_by_the_person() -> None:
    book = Notebook(NOTES)
    for text in ("Invoices go to Anna", "The backend is written in Go", "The parser is in C++"):
        book.remember(text)
    anna = Person()
    anna.says("rename Go to Golang")
    anna.says("rename C++ to Cpp")
    assert [one.text for one in anna.asked] == [
        "The backend is written in Golang", "The parser is in Cpp",
    ]  # fmt: skip
    assert all(one.offered for one in anna.asked)  # so that --yes does not do it


@pytest.mark.parametrize(
    "said",
    ["Tom is sick today", "Theo is more into space these days", "flight got delayed to 9:20",
     "lunch with Agnes tomorrow at noon", "my shift now starts at 6", "Sam will call tomorrow",
     "dinner with Sam next Tuesday"],
)  # fmt: skip
def test_what_names_a_day_or_a_time_is_offered(said: str) -> None:
    anna = Person()
    anna.says(said)
    assert [one.offered for one in anna.asked] == [True]


@pytest.mark.parametrize(
    "said",
    ["we might move the demo to Friday", "let's meet on Friday then", "the build is red now",
     "the weather is nice today", "I'm tired today, really", "should we do it today",
     "traffic was awful this morning", "see you all tomorrow then"],
)  # fmt: skip
def test_what_passes_with_the_day_is_not_offered(said: str) -> None:
    anna = Person()
    anna.says(said)
    assert anna.asked == []


@pytest.mark.parametrize(
    ("said", "of"),
    [
        ("forget the dishwasher tablets", ["3", "g1"]),
        ("forget about the coffee filters", ["4", "g2"]),
        ("delete the note about coffee filters", ["4", "g2"]),
        ("forget that I bought coffee filters", ["g2"]),
    ],
)
def test_of_two_notes_that_hold_what_is_named_neither_is_taken_for_the_one_meant(
    said: str, of: list[str]
) -> None:
    """Red when a note that may replace the other, in the other notebook, hides it."""
    for text in ("Lunch is at noon", "Bob owns billing", "We're out of dishwasher tablets",
                 "We're out of coffee filters"):  # fmt: skip
        clock = partial(datetime, 2026, 1, 1, tzinfo=UTC)
        Notebook(NOTES, clock=clock).remember(text)
    for text in ("User bought dishwasher tablets", "User bought coffee filters"):
        Notebook(own()).remember(text)
    person = Person()
    answer = person.says(said)
    if len(of) > 1:
        assert (answer[:10], sorted(re.findall(r"\[(g?\d)\]", answer))) == ("Which one?", of)
    assert [one.ref for one in person.asked] == (of if len(of) == 1 else [])


@pytest.mark.parametrize(
    ("kept", "asked"),
    [
        ("Mr Hale called about the invoice", "who called?"),
        ("Mr Hale phoned about the invoice", "who phoned?"),
        ("Frau Ott wrote about the deposit", "and who wrote?"),
        ("Quentin joined the team", "who joined?"),
    ],
)
def test_who_did_something_is_asked_of_the_notes(kept: str, asked: str) -> None:
    person = Person()
    for text in (kept, "we deploy on Thursdays"):
        person.says(text)
    answer = person.says(asked)
    assert (kept in answer, "You did" in answer) == (True, False)
    for again in ("who said so?", "who told you that?", "says who?"):
        assert person.says(again).startswith("You did")


@pytest.mark.parametrize("said", ["what do you know?", "so what do you know so far?"])
def test_what_is_known_is_all_that_is_whatever_was_told_last(said: str) -> None:
    person = Person()
    for text in ("Quentin joined the team", "we deploy on Thursdays"):
        person.says(text)
    assert "Quentin joined the team" not in person.says("when do we deploy?")
    assert person.says(said).count("[") == 2
    assert not person.says("who's new?").startswith("Kept or changed")


@pytest.mark.parametrize(
    ("said", "name", "asked", "told"),
    [
        ("hey, I'm Mei, I study marine biology in Galway", "Mei", "what do I study?", "biology"),
        ("Hi! I'm Jun from Osaka. I carry a blue bag", "Jun", "what do I carry?", "blue"),
        ("hello, I am Ana Ruiz and I teach maths", "Ana Ruiz", "what do I teach?", "maths"),
    ],
)
def test_who_greets_and_says_who_they_are_is_known_by_that_name(
    said: str, name: str, asked: str, told: str
) -> None:
    person = Person()
    person.says(said)
    for text in UNRELATED[:12]:
        Notebook(NOTES).remember(text)
    assert f": Your name is {name}" in person.says("what's my name?").partition("\n")[0]
    answer = person.says(asked).partition("\n")[0]
    assert (answer[:11], told in answer) == ("You told me", True)
    assert "name" not in person.says("hey, I'm tired")


@pytest.mark.parametrize(
    ("old", "new", "asked"),
    [
        ("CI takes about 18 minutes since we added the e2e suite",
         "We dropped the e2e suite, CI is at 6 minutes", "how long does CI take?"),
        ("Anton runs the on-call rota", "Anton quit the on-call rota", "who runs on-call?"),
        ("We use Terraform for infra", "We use Pulumi now", "what do we use for infra?"),
    ],
)  # fmt: skip
def test_of_two_that_were_kept_the_newer_is_told_first(old: str, new: str, asked: str) -> None:
    for text in (*UNRELATED[:2], old, new):
        Notebook(NOTES).remember(text)
    first, _, earlier = Person().says(asked).partition("\n\n")
    assert (first[:11], new in first, earlier) == ("You told me", True, f"Earlier: {old} [3]")


@pytest.mark.parametrize(
    ("old", "new", "asked"),
    [
        ("We run Postgres 16 on prod, staging is still on 14",
         "The staging db lives at db-stg.internal:5433", "what port is the staging database on?"),
        ("billing moved from Priya to the payments guild", "Priya left the company",
         "where is Priya?"),
    ],
)  # fmt: skip
def test_what_never_was_the_answer_is_not_told_as_the_earlier_one(
    old: str, new: str, asked: str
) -> None:
    for text in (old, new):
        Notebook(NOTES).remember(text)
    assert "Earlier" not in Person().says(asked)


@pytest.mark.parametrize(
    ("kept", "asked"),
    [
        ("Ravi turned 9 on Sunday", "what does Ravi like?"),
        (
            "cleaning rota: Oisín kitchen, Pilar bathroom, Jonas hall, User living room",
            "does Pilar eat pasta?",
        ),
        ("exam got moved to the 16th", "what grade did I get?"),
    ],
)
def test_a_note_that_only_shares_a_name_or_a_word_is_not_told_as_sure(
    kept: str, asked: str
) -> None:
    for text in ("Ravi and Sunil are twins", "User got a B in stats", "Pilar is gluten free", kept):
        Notebook(NOTES).remember(text)
    assert ("You told me" in Person().says(asked), answers(asked, kept)) == (False, False)


def test_what_is_asked_of_it_is_asked_of_the_note_just_told() -> None:
    for text in ("Mme Dubois always takes 300g of Roquefort and pays at month's end on the 30th",
                 "The rent is 1.450 € and is due on the 5th"):  # fmt: skip
        Notebook(NOTES).remember(text)
    for question in ("when do I pay it?", "when should I pay it"):
        person = Person()
        assert "[2]" in person.says("how much is the rent?")
        assert person.says(question).startswith("Perhaps:\n\n- The rent is 1.450 €")


@pytest.mark.parametrize(
    "asked", ["which Postgres do we run on prod?", "which postgres version is in production?"]
)
def test_a_note_that_only_looks_newer_hides_none_that_answers(asked: str) -> None:
    for text in ("We run Postgres 16 on prod, staging is still on 14",
                 "staging db lives at db-stg.internal:5433"):  # fmt: skip
        Notebook(NOTES).remember(text)
    assert "We run Postgres 16" in Person().says(asked).partition("\n")[0]


@pytest.mark.parametrize("said", ["exam got moved to the 16th", "my dentist has moved to Elm Road"])
def test_what_moved_is_not_written_into_a_note_of_something_else(said: str) -> None:
    """Red when the note just told takes the new value though it is not what moved."""
    Notebook(NOTES).remember("We run Postgres 16 on prod")
    anna = Person()
    anna.says("which postgres do we run?")
    anna.says(said)
    assert "We run Postgres 16 on prod" in bodies()
    assert not any(one.text.startswith("We run") for one in anna.asked)
