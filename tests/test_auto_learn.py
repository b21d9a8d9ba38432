"""Auto-learn: drafts at the end of a conversation, only where the person wants them."""

from __future__ import annotations

import asyncio
import json
import random
import signal
from pathlib import Path

import pytest
from cli import Talking, co, command
from lives import Life
from test_session import agreeing, begin, echo, said

from co_cli import config, paths
from co_cli.chat import transcripts
from co_cli.chat.dialogue import Dialogue
from co_cli.knowledge import inbox
from co_cli.offline.rejections import remember_rejection


def waiting(session: Dialogue) -> list[str]:
    return [note.body for book in session.deps.shelf() for note in inbox.waiting(book)]


def leave(session: Dialogue) -> str:
    return asyncio.run(session.draft())


def test_what_was_said_waits_in_the_inbox_and_is_no_memory() -> None:
    session = begin(auto=True)
    for one in ("We deploy on Tuesdays", "what's for lunch?", "I prefer tea"):
        session.said.append(one)
    session.write(said="We deploy on Tuesdays")
    assert leave(session) == "2 drafts wait in the inbox: /inbox"
    assert sorted(waiting(session)) == ["I prefer tea", "We deploy on Tuesdays"]
    assert all(not book.notes() for book in session.deps.shelf())
    [draft] = inbox.waiting(session.deps.shelf().project)
    assert draft.meta["quote"] == "We deploy on Tuesdays"
    assert session.transcript is not None
    assert draft.meta["origin"] in session.transcript.path
    assert leave(session) == ""  # nothing was said since


def test_the_switch_is_told_by_status_and_takes_plain_words() -> None:
    """Red when a word that is neither yes nor no gets the framework's list of all it knows."""
    assert "auto-learn" not in co("status").out
    assert co("learn", "--auto").code == co("learn", "--auto=on").code == 0
    assert "auto-learn is on" in co("status").out
    assert json.loads(co("status", "--json").out)["auto_learn"] == "on"
    wrong = co("learn", "--auto=maybe")
    assert (wrong.code, "'true', 'false'" in wrong.err, "Recognized" in wrong.err) == (
        2,
        True,
        False,
    )


def test_the_switch_says_so_where_the_variable_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Red when the answer is that it is on, and it is not."""
    monkeypatch.setenv("CO_CLI_AUTO_LEARN", "off")
    said = "Auto-learn is set to on, but stays off while CO_CLI_AUTO_LEARN says so.\n"
    assert co("learn", "--auto").out == said
    assert co("learn", "--auto=false").out.startswith("Auto-learn is off.")
    monkeypatch.setenv("CO_CLI_AUTO_LEARN", "on")
    assert "Auto-learn is set to off, but stays on" in co("learn", "--auto=no").out


@pytest.mark.parametrize("why", ["off", "not kept", "rejected"])
def test_nothing_is_drafted_unless_wanted_or_where_nothing_is_kept(why: str) -> None:
    """Red when the setting, an unkept conversation, or a rejection is not looked at."""
    session = begin(auto=why != "off")
    session.write(said="hi")
    if why == "not kept":
        session.transcript = None
    if why == "rejected":
        book = session.deps.shelf().project
        inbox.put(book, [inbox.Draft("We deploy on Tuesdays")], actor="test")
        [draft] = inbox.waiting(book)
        inbox.reject(book, draft, actor="test")
        remember_rejection(draft)
    session.said.append("We deploy on Tuesdays")
    assert leave(session) == ""
    assert waiting(session) == []


def test_what_was_saved_or_declined_in_the_conversation_is_not_drafted() -> None:
    session = begin(ask=agreeing, auto=True)  # who agrees by a rule, which does not count here
    said(session, "We deploy on Tuesdays")
    assert session.settled() == ["We deploy on Tuesdays"]
    assert leave(session) == ""
    assert waiting(session) == []


def test_drafts_are_made_before_a_conversation_is_shortened() -> None:
    session = begin(echo, auto=True)
    for one in ("We deploy on Tuesdays", "hello", "hello again", "and again"):
        said(session, one)
    told = asyncio.run(session.compact())  # this model gives no drafts that can be read
    assert told.startswith("1 draft waits in the inbox: /inbox\nSummarised")
    assert waiting(session) == ["We deploy on Tuesdays"]


def test_auto_learn_is_the_persons_setting_and_keeps_their_others() -> None:
    done = command("learn", "--auto")
    assert (done.code, "Auto-learn is on" in done.out) == (0, True)
    assert "still asks about what is plainly worth keeping; only the rest is drafted" in done.out
    assert config.load_settings().auto_learn == "on"
    file = Path(paths.user_folder()) / "settings.json"
    file.write_text('{"personality": "sonnet", "auto_learn": "on"}')
    assert command("learn", "--auto=false").code == 0
    assert json.loads(file.read_text()) == {"personality": "sonnet", "auto_learn": "off"}
    assert command("learn", "--auto", "We use Go").code == 2
    Path(".co-cli").mkdir()
    Path(".co-cli/settings.json").write_text('{"auto_learn": "on"}')
    found = config.load_settings(project_file=".co-cli/settings.json")
    assert found.auto_learn == "off"
    assert "a project may not set 'auto_learn'" in found.warnings[0]
    file.write_text("{")
    assert command("learn", "--auto").code != 0
    assert file.read_text() == "{"


@pytest.mark.parametrize("seed", range(4))
def test_no_path_leads_to_a_memory_without_an_approval(seed: int, tmp_path: Path) -> None:
    """Red when a model's draft need not be quoted; `make torture` has 10,000 longer lives."""
    for number in range(30):
        Life(random.Random(seed * 1000 + number), tmp_path / str(number)).run(most=3)


def test_what_was_said_and_never_drafted_is_drafted_after_a_resume() -> None:
    """Red when a chat that broke off loses it, or what was drafted comes again."""
    first = begin(echo, auto=True)
    said(first, "We deploy on Tuesdays")
    assert leave(first) == "1 draft waits in the inbox: /inbox"
    said(first, "I prefer tea")
    assert first.transcript is not None
    kept = transcripts.load(first.transcript.path)
    assert kept.undrafted == ["I prefer tea"]
    second = begin(echo, auto=True)
    second.transcript = first.transcript
    second.resume(kept)
    assert leave(second) == "2 drafts wait in the inbox, 1 of them new: /inbox"
    assert transcripts.load(first.transcript.path).undrafted == []
    unwanted = begin(echo)
    unwanted.resume(kept)
    assert unwanted.said == []


def test_what_is_not_to_be_drafted_is_not_drafted_after_a_resume_either() -> None:
    session = begin(echo)
    said(session, "We deploy on Tuesdays")
    assert session.transcript is not None
    assert transcripts.load(session.transcript.path).undrafted == []


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM])
def test_closing_the_window_loses_no_draft(number: int) -> None:
    """Red when what was said is only drafted at a leave, or an open card counts as an answer."""
    co("learn", "--auto")
    with Talking() as chat:
        chat.say("remember that I prefer tea")
        chat.until("[e]dit")
        chat.process.send_signal(number)
        assert chat.end().code == -number
    found = json.loads(co("inbox", "--json").out)["drafts"]
    assert [one["content"] for one in found] == ["I prefer tea"]


def test_a_chat_opens_with_how_many_drafts_wait_and_counts_them_all() -> None:
    """Red when only the newest are counted, or a new chat says nothing of them."""
    session = begin(auto=True)
    inbox.put(session.deps.shelf().user, [inbox.Draft("I prefer tea")], actor="test")
    session.said.append("We deploy on Tuesdays")
    session.write(said="hi")
    assert leave(session) == "2 drafts wait in the inbox, 1 of them new: /inbox"
    with Talking() as chat:
        chat.until("2 drafts wait in the inbox: /inbox")
        assert chat.leave().code == 0


def test_what_waits_is_not_drafted_again_in_other_words() -> None:
    for text in ("The logo has to stay orange", "The logo must stay orange"):
        session = begin(auto=True)
        session.said.append(text)
        session.write(said=text)
        leave(session)
    assert waiting(session) == ["The logo has to stay orange"]
