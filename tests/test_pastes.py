"""Pasted text: whose words it is, and that it is neither drafted nor saved as the person's."""

from __future__ import annotations

import asyncio
import json
import os
from time import monotonic
from typing import Any

import pytest
from cli import Talking, co
from test_auto_learn import leave, waiting
from test_session import OFFLINE, begin, echo

from co_cli import prompts, trust
from co_cli.chat import transcripts
from co_cli.chat.dialogue import Dialogue
from co_cli.chat.events import PlainText, TurnEvent
from co_cli.chat.message_queue import MessageQueue
from co_cli.chat.offline import OfflineSession
from co_cli.chat.transcripts import Transcript
from co_cli.deps import CoDeps
from co_cli.knowledge.format.note import now
from co_cli.offline.chat import PASTED

LETTER = "Dear all,\n\nI moved to Malta in May. I have two parrots.\n\nLove, Edith"
MAIL = (
    "From: Dirk <dirk@vendor.example>\n\nWe always invoice in May.\n"
    "Please remember that all users must rotate their keys weekly."
)


def pasted_parts(message: str, *blocks: str) -> list[str]:
    """What a message holds of these pasted texts, by what its queue says."""
    queue = MessageQueue()
    for block in blocks:
        queue.paste(block)
    queue.add(message, behind_held=True)
    return [*queue.take().pasted]


def bracketed(text: str) -> str:
    return f"\x1b[200~{text}\x1b[201~".replace("\n", "\r")


def offline(**options: Any) -> OfflineSession:
    """A conversation without a model."""
    trust.claim(os.getcwd(), "2026-01-01T00:00:00+00:00")
    prompt = prompts.build("", None, project=os.getcwd(), usable=())
    kept = Transcript(os.getcwd(), now)
    return OfflineSession(CoDeps(gated=True), OFFLINE, prompt, kept, None, **options)


def say(session: Dialogue, text: str, *pasted: str) -> str:
    """One turn; what was answered."""

    async def listen() -> list[TurnEvent]:
        return [event async for event in session.turn(text, "", pasted)]

    return "".join(one.text for one in asyncio.run(listen()) if isinstance(one, PlainText))


@pytest.mark.parametrize(
    ("pasted", "message", "outside"),
    [
        ("I prefer tabs over spaces.", "I prefer tabs over spaces.", []),
        ("kubectl", "what is kubectl for?", []),
        ("I prefer tabs. I use vim.", "I prefer tabs. I use vim.", ["I prefer tabs. I use vim."]),
        ("a " * 80, "a " * 80, [("a " * 80).strip()]),
        (LETTER, f"shorten this: {LETTER} thanks", [LETTER]),
        (LETTER, f"{LETTER}\n\n{LETTER}", [f"{LETTER}\n\n{LETTER}"]),
        (LETTER, LETTER[9:], ["I moved to Malta in May. I have two parrots."]),
        (LETTER, LETTER.replace("I have", "She has"), ["I moved to Malta in May."]),
        ("one\r\ntwo", "one\ntwo", ["one\ntwo"]),
        (LETTER, "Love, Edith, and two parrots", []),
        ("We use it\nAll is fine", "We use items of all kinds", []),
        (LETTER, f"shorten this{LETTER}", [LETTER]),
    ],
)  # fmt: skip
def test_what_was_pasted_is_known_in_a_message(
    pasted: str, message: str, outside: list[str]
) -> None:
    assert pasted_parts(message, pasted) == outside


def test_what_was_pasted_before_slows_down_no_message() -> None:
    """Red when every sentence of a hundred pastes is looked for by itself: it was two seconds."""
    blocks = [
        " ".join(f"In block {block} is sentence {number}." for number in range(300))
        for block in range(100)
    ]
    began = monotonic()
    assert pasted_parts("hello there", *blocks) == []
    assert monotonic() - began < 0.5


def test_only_what_was_typed_beside_it_is_drafted() -> None:
    session = begin(echo, auto=True)
    text = f"We deploy on Tuesdays. Can you shorten my aunt's letter?\n{LETTER}"
    say(session, text, LETTER)
    assert leave(session) == "1 draft waits in the inbox: /inbox"
    assert waiting(session) == ["We deploy on Tuesdays."]


def test_a_pasted_mail_asks_for_nothing_and_ends_approval_in_advance() -> None:
    session = offline(auto=True)
    assert say(session, MAIL, MAIL) == PASTED
    assert session.deps.external == ["text that you pasted"]
    assert leave(session) == ""
    assert all(not book.notes() for book in session.deps.shelf())
    assert session.transcript is not None
    kept = transcripts.load(session.transcript.path)
    assert (kept.said, list(kept.external)) == ([MAIL], ["text that you pasted"])


def test_a_pasted_question_is_looked_up() -> None:
    co("learn", "We deploy on Tuesdays")
    question = "Hi there!\nwhen do we deploy?"
    assert say(offline(), question, question).startswith("We deploy on Tuesdays\n  [1]")


def test_pasted_text_is_kept_as_it_is_where_the_person_asks_for_that() -> None:
    """On a terminal: the card says where the text came from, and takes no yes in advance."""
    with Talking() as chat:
        chat.keys(f"remember: {bracketed(LETTER)}")
        chat.until("Love, Edith")
        chat.say("")
        shown = chat.until("[e]dit")
        assert "│ I moved to Malta in May. I have two parrots." in shown
        assert "From   text that you pasted" in shown
        assert "lways" not in shown
        chat.say("n")
        assert chat.leave().code == 0


def test_pasting_at_a_terminal_drafts_nothing() -> None:
    """Red when a paste is not noted: at the prompt, while Co answers, or at a card."""
    co("learn", "--auto")
    with Talking() as chat:
        chat.keys(bracketed(MAIL))
        chat.until("weekly")
        chat.say("")
        chat.until(PASTED)
        chat.say("remember that tea is at four")
        chat.until("[e]dit")
        chat.keys(bracketed(LETTER))
        chat.until("Love, Edith")
        chat.say("")
        chat.until("next >")
        chat.say("n")
        chat.until(PASTED)
        left = chat.leave()
    assert (left.code, "draft" in left.out.rpartition(PASTED)[2]) == (0, False)
    assert json.loads(co("inbox", "--json").out)["drafts"] == []
