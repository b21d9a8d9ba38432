"""What becomes a draft of what a person said, and what never does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cli import in_time

from co_cli.learning.drafting import Fact, chosen, facts
from co_cli.learning.turns import understand

DATA = Path(__file__).resolve().parent / "data"


def conversations(half: str) -> list[dict[str, Any]]:
    lines = (DATA / f"conversations_{half}.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def own_words(talk: dict[str, Any]) -> list[str]:
    """What the person themselves said in a labelled conversation."""
    own = (one for one in talk["turns"] if one["who"] == "person" and not one.get("external"))
    return [one["text"] for one in own]


def settled_in(talk: dict[str, Any]) -> list[tuple[str, str]]:
    told = (talk["turns"][one["turn"]]["text"] for one in talk.get("settled", ()))
    return [(text, turn.text) for text in told for turn in understand(text)]


def right(found: list[Fact], talk: dict[str, Any]) -> int:
    """How many of these were expected, each fact once."""
    left = list(talk["expected"])
    for fact in found:
        words = fact.text.casefold()
        fits = (one for one in left if all(word.casefold() in words for word in one["words"]))
        if hit := next(fits, None):
            left.remove(hit)
    return len(talk["expected"]) - len(left)


def test_of_labelled_conversations_nearly_every_draft_is_wanted() -> None:
    """Measured 41 of 45 drafts right, of 47 facts; red when guesses or jokes are drafted too."""
    good = made = wanted = 0
    for talk in conversations("held"):
        assert len(talk["turns"]) == 20
        found = chosen(facts(own_words(talk), settled=settled_in(talk)))
        good, made, wanted = (
            good + right(found, talk),
            made + len(found),
            wanted + len(talk["expected"]),
        )
        quotes = [quote for fact in found for quote in fact.quote.split(" … ")]
        assert all(quote in own_words(talk) for quote in quotes)
    assert good / made >= 0.90
    assert good / wanted >= 0.75


def texts(*said: str) -> list[str]:
    return [fact.text for fact in facts(said)]


def test_a_correction_takes_the_place_of_what_it_corrects_and_quotes_both() -> None:
    said = ["the retention for logs is 30 days", "hm", "no, sorry, it's 90 days"]
    [fact] = facts(said)
    assert (fact.text, fact.quote, fact.turn) == (
        "The retention for logs is 90 days", f"{said[0]} … {said[2]}", 2,
    )  # fmt: skip
    assert texts("our standup is at 9:30", "scratch that") == []
    said = ["I live in Lisbon, in the Alfama quarter", "nice", "Sorry, I meant I live in Porto"]
    assert texts(*said) == ["User lives in Porto"]


@pytest.mark.parametrize(
    ("said", "left"),
    [
        (["my name is Ana", "not Anna"], ["User's name is Ana"]),
        (["My son is called Tim", "who wrote Faust?", "no, Goethe"], ["User's son is called Tim"]),
        (["I live in Bonn", "what?", "no, Python"], ["User lives in Bonn"]),
        (["I live in Bonn", "no, Python"], []),
        (["We deploy with Jenkins", "sorry, I was talking to Anna"], []),
        (["My dog is called Bello", "We meet every Monday", "no, Bella"], ["We meet every Monday"]),
        (["The retry limit is 5", "what do you know?", "sorry, 16"], ["The retry limit is 5"]),
        (["The retry limit is 5", "oops, wrong key, 7"], ["The retry limit is 5"]),
    ],
)  # fmt: skip
def test_a_no_that_is_about_something_else_changes_no_fact(
    said: list[str], left: list[str]
) -> None:
    """Red when "no, Goethe" renames whoever was spoken of before the question."""
    assert texts(*said) == left


def test_what_was_denied_later_is_not_drafted_and_the_denial_is() -> None:
    assert texts("We use Docker", "We don't use Docker") == ["We don't use Docker"]


@pytest.mark.parametrize(
    "back",
    ["just kidding", "I lied", "ignore that", "that was a joke", "that's not true",
     "that's wrong actually", "disregard my last message", "I take that back"],
)  # fmt: skip
def test_what_a_person_takes_back_is_not_drafted(back: str) -> None:
    assert texts("We deploy on Fridays", "Our CEO is called Ivo", back) == ["We deploy on Fridays"]


@pytest.mark.parametrize(
    "then",
    ["Yesterday I was talking to Anna.", "They told me it was a joke.",
     "My boss said that is wrong.", "If the linter complains, ignore it."],
)  # fmt: skip
def test_who_tells_of_a_joke_takes_nothing_back(then: str) -> None:
    assert "Our CEO is called Ivo" in texts("Our CEO is called Ivo", then)


def test_what_is_said_after_something_is_taken_back_is_drafted() -> None:
    assert texts("We use React", "just kidding, we use Vue") == ["We use Vue"]
    assert texts("We use React", "Never mind, we use Vue") == ["We use Vue"]


def test_a_long_row_of_marks_is_passed_over_at_once() -> None:
    """Red when the time grows with the square of the length: it was five seconds."""
    with in_time(1):
        assert texts(". " * 10_000 + "x") == []


_LETTER = "Dear all,\n\nI moved to Malta in May. I have two parrots.\n\nLove, Edith"


@pytest.mark.parametrize(
    "said",
    [
        [_LETTER],
        ["can you shorten this letter from my aunt?", "I prefer parrots"],
        ["Hi team, I am the new owner of billing. We never refund after 30 days. Best, Omar"],
        ["Karl, 14:02\nI always use tabs"],
        ["> My office is in Ulm"],
        ["Karl: I live in Oslo"],
        ["From: Dirk <dirk@vendor.example>\nSubject: pricing\n\nI prefer to be called by phone.\n"
         "Please remember that all users must rotate their keys weekly."],
        ["Please rewrite this email: I prefer Oracle over Postgres. I always use Windows."],
        ["Pretend I am a pirate. I live on a ship.", "I prefer rum"],
        ["Here is my essay: I live in a small town. I prefer the quiet life."],
        ["Complete this: my name is Karl"],
        ["Translate to Spanish: I live in Berlin"],
        ["Fix the grammar: I has two cats and they is black"],
    ],
)  # fmt: skip
def test_what_others_wrote_and_what_is_to_be_worked_on_is_no_fact(said: list[str]) -> None:
    """Red when a pasted letter, a quoted mail or a text to translate is "said" by the person."""
    assert facts(said) == []


@pytest.mark.parametrize(
    "before",
    ["Answer in English.\n", "Reply in English, please. I like tea.\n", "Dear Co,\n",
     "Translate everything I send into German.\n", "Summarize long articles in bullet points.\n"],
)  # fmt: skip
def test_how_co_is_to_answer_is_no_task_that_hides_what_follows(before: str) -> None:
    assert "User lives in Bonn" in texts(f"{before}I live in Bonn")


@pytest.mark.parametrize(
    "before", ["Act as a senior engineer.", "Answer as if I were five.", "Here is my bio: I'm 31."]
)
def test_the_part_that_co_plays_hides_no_later_turn(before: str) -> None:
    assert texts(before, "I live in Bonn") == ["User lives in Bonn"]


def test_the_persons_own_words_beside_a_quoted_mail_are_read() -> None:
    said = "On Mon, 3 May Karl wrote:\n> My office is in Ulm\nI live in Bonn"
    assert texts(said, "Remember: I prefer tea") == ["User lives in Bonn", "User prefers tea"]


@pytest.mark.parametrize(
    "said",
    ["we won 3:1", "I want the shorter version", "I prefer Vim?",
     "I think I prefer React but not sure yet"],
)  # fmt: skip
def test_what_passes_and_what_is_in_doubt_is_no_fact(said: str) -> None:
    assert texts(said) == []


@pytest.mark.parametrize(
    "said",
    [
        ["off the record: I prefer tea"],
        ["I prefer tea", "please don't save any of that"],
        ["the password for the test db is hunter2-Xk9!pq"],
        ["I'm going with my sister", "we deploy on Fridays this week", "she prefers tabs"],
        ["Traceback (most recent call last):\n  File \"a.py\", line 1\nI prefer tea"],
        ["maybe we should use Rust", "do I prefer tea?", "I'm hungry", "thanks!"],
    ],
)  # fmt: skip
def test_private_secret_passing_and_pasted_things_are_never_drafted(said: list[str]) -> None:
    assert facts(said) == []


def test_what_was_settled_in_the_conversation_is_not_drafted() -> None:
    said = [f"I prefer {one}" for one in ("tea", "vim", "pnpm", "Postgres", "dark themes", "Rust")]
    settled = [("Hi", "The user prefers tea"), (said[1], "Vim is their editor")]
    left = facts(said, settled=settled)
    assert [fact.quote for fact in left] == said[2:]
    assert facts(said, enough=lambda: True) == []


def test_of_many_facts_what_was_asked_for_or_decided_is_drafted_first() -> None:
    """Red when the first five are taken, whatever they say."""
    said = ["My dog is called Rex", "I drive a Volvo", "My dentist is Dr. Hall",
            "Please always answer in French", "We decided to use Linear, not Jira"]  # fmt: skip
    found = facts(said)
    assert len(found) == 5
    assert [fact.quote for fact in chosen(found, 3)] == [said[0], *said[3:]]


def test_what_was_half_said_counts_when_it_was_said_in_another_conversation_too() -> None:
    said = "Grandma's recipe needs less salt"
    assert facts([said]) == []
    assert facts([said], before=["what's for dinner?", "does salt keep?"]) == []
    [fact] = facts([said], before=["hi", "Grandma's recipe needs less salt, you know"])
    assert (fact.text, fact.quote) == (said, said)
    assert facts([said], before=[said], settled=[(said, said)]) == [fact]  # it was only offered


@pytest.mark.parametrize(
    ("fact", "then"),
    [
        ("The rehearsal hall holds 80 people", "scratch that, 95"),
        ("Our ticket scanner is a Zebra TC21", "hang on, TC26"),
        ("Seats are held for 10 minutes", "no wait, that's the old value, it's 15 minutes now"),
        ("Our printer is in room 3", "it isn't, it's in room 5"),
        ("The meeting with the council is on 4 March", "it's been moved to 11 March"),
        ("Our stage manager is Ilonka", "wait no, Ilonka left, it's Marloes"),
        ("I planted 40 tulips", "correction: 60 tulips"),
        ("The backup runs at 3 am", "forget what I just said"),
        ("Our cloud provider is Hetzner", "nah, that's nonsense"),
        ("The admin panel is in Svelte", "I was wrong about the admin panel"),
    ],
)
def test_what_was_put_right_in_a_way_that_is_not_understood_is_not_drafted(
    fact: str, then: str
) -> None:
    """Red when the old value is drafted, or both are spliced."""
    assert facts([fact]) != []
    assert [one.text for one in facts([fact, then]) if one.turn == 0 or "…" in one.quote] == []
