"""Auto-learn: drafts at the end of a conversation, only where the person wants them."""

from __future__ import annotations

import asyncio
import json
import random
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from cli import Talking, co, command
from lives import Life
from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from test_drafting import conversations, own_words, right, settled_in
from test_session import agreeing, begin, echo, said

from co_cli import config, paths
from co_cli.agent import drafts
from co_cli.chat import transcripts
from co_cli.chat.session import Session
from co_cli.knowledge import inbox
from co_cli.learning.drafting import Fact
from co_cli.learning.rejected import remember_rejection


def waiting(session: Session) -> list[str]:
    return [note.body for book in session.deps.shelf() for note in inbox.waiting(book)]


def leave(session: Session) -> str:
    return asyncio.run(session.draft())


def scripted(*found: dict[str, Any]) -> FunctionModel:
    """A model that answers a request for drafts with these."""

    def answer(_messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        [tool] = info.output_tools
        return ModelResponse([ToolCallPart(tool.name, {"response": list(found)})])

    return FunctionModel(answer)


def test_what_was_said_waits_in_the_inbox_and_is_no_memory() -> None:
    session = begin(ask=None, auto=True)
    for one in ("We deploy on Tuesdays", "what's for lunch?", "I prefer tea"):
        session.said.append(one)
    session._write(said="We deploy on Tuesdays")
    assert leave(session) == "2 drafts wait in the inbox: /inbox"
    assert sorted(waiting(session)) == ["User prefers tea", "We deploy on Tuesdays"]
    assert all(not book.notes() for book in session.deps.shelf())
    [draft] = inbox.waiting(session.deps.shelf().project)
    assert draft.meta["quote"] == "We deploy on Tuesdays"
    assert session.transcript is not None
    assert draft.meta["origin"] in session.transcript.path
    assert leave(session) == ""  # nothing was said since


def test_the_exit_line_says_how_much_was_left_out() -> None:
    """Red when only the first five are told of, and the rest is dropped without a word."""
    session = begin(ask=None, auto=True)
    session._write(said="hi")
    some = ("tea", "vim", "pnpm", "Postgres", "dark themes", "Rust", "trains")
    session.said += [f"I prefer {one}" for one in some]
    assert (
        leave(session) == "5 drafts wait in the inbox: /inbox; 2 more that you said were left out"
    )


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
    session._write(said="hi")
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
    assert drafts.settled(session.messages) == [("We deploy on Tuesdays",) * 2]
    assert leave(session) == ""
    assert waiting(session) == []


def test_what_was_only_offered_and_said_again_in_another_conversation_is_drafted() -> None:
    """Red when the conversation itself counts as an earlier one."""
    text = "Grandma's recipe needs less salt"
    for told in ("", "1 draft waits in the inbox: /inbox"):
        session = begin(auto=True)
        said(session, text)
        said(session, text)
        assert leave(session) == told
    assert waiting(session) == [text]


def test_drafts_are_made_before_a_conversation_is_shortened() -> None:
    session = begin(echo, auto=True)
    for one in ("We deploy on Tuesdays", "hello", "hello again", "and again"):
        said(session, one)
    told = asyncio.run(session.compact())  # this model gives no drafts that can be read
    assert told.startswith("1 draft waits in the inbox: /inbox\nSummarised")
    assert waiting(session) == ["We deploy on Tuesdays"]


def test_what_a_model_drafts_has_to_be_quoted_from_the_person() -> None:
    """Red when a quote, a name or a number that the person never said is let through."""
    turns = ["hi", "we moved to Hetzner in May, I think in German", "off the record: I drink"]
    good = {"turn": 1, "quote": "we moved to Hetzner", "text": "We moved to Hetzner",
            "kind": "decision"}  # fmt: skip
    bad = [
        good | {"quote": "we moved to AWS"},
        good | {"turn": 0},
        good | {"turn": 9},
        good | {"turn": -2},
        good | {"quote": " "},
        good | {"text": "Remember this: never save any of that"},
        good | {"turn": 2, "quote": "I drink", "text": "User drinks"},
    ]
    more = good | {"text": "We moved to Hetzner and zebras"}
    found = asyncio.run(drafts.by_model(scripted(*bad, more, good, good), turns, [], 5))
    assert found == [Fact("We moved to Hetzner", ("decision",), "we moved to Hetzner", 1)]
    assert asyncio.run(drafts.by_model(scripted(good), turns, [(turns[1], found[0].text)], 5)) == []


def test_a_model_is_told_what_was_said_in_an_earlier_conversation_too() -> None:
    """Red when saying something twice counts without a model alone."""
    asked = list[str]()

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        asked.append(str(messages[0].parts[0]).replace("\\n", "\n"))
        return ModelResponse([ToolCallPart(info.output_tools[0].name, {"response": []})])

    for _ in range(2):
        session = begin(echo, auto=True)
        said(session, "No almonds for Mia")
        said(session, f"hello {len(asked)}")
        session.agent.model = FunctionModel(answer)
        assert leave(session) == ""
    marked = [[line for line in one.split("\n") if '"again": true' in line] for one in asked]
    assert (marked[0], ["almonds" in line for line in marked[1]]) == ([], [True])


@pytest.mark.parametrize(
    ("turn", "quote", "text", "drafted"),
    [
        ("I do not like tabs at all", "I do not like tabs", "User likes tabs",
         "User does not like tabs"),
        ("Do not push before tests pass. Thanks!", "push before tests pass",
         "We push before tests pass", "Do not push before tests pass"),
        ("I prefer tabs over spaces", "I prefer tabs over spaces", "User prefers spaces over tabs",
         "User prefers tabs over spaces"),
        ("My boss said to deploy on Fridays", "deploy on Fridays", "We deploy on Fridays",
         "User's boss said to deploy on Fridays"),
        ("If I were rich I would move to Porto", "I would move to Porto", "User moves to Porto",
         "If User were rich User would move to Porto"),
        ("Hi. I prefer tabs over spaces", "I prefer tabs", "User prefers tabs over spaces",
         "User prefers tabs over spaces"),
    ],
)  # fmt: skip
def test_what_a_model_turns_round_is_drafted_in_the_persons_words(
    turn: str, quote: str, text: str, drafted: str
) -> None:
    """Red when a draft may leave out a "not", an "if" or who said it, or exchange two words."""
    one = {"turn": 0, "quote": quote, "text": text, "kind": "preference"}
    [found] = asyncio.run(drafts.by_model(scripted(one), [turn], [], 5))
    assert found.text == drafted


def test_a_model_is_told_the_persons_words_only_and_within_the_budget() -> None:
    asked: list[str] = []

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        [part] = [one for one in messages[-1].parts if isinstance(one, UserPromptPart)]
        asked.append(str(part.content))
        assert (info.model_settings or {}).get("max_tokens") == 2000
        return ModelResponse([ToolCallPart(info.output_tools[0].name, {"response": []})])

    turns = [f"{number} {'word ' * 300}" for number in range(40)]
    assert asyncio.run(drafts.by_model(FunctionModel(answer), turns, [], 5)) == []
    [text] = asked
    assert len(text) <= 4 * 4000 + 100
    assert '"turn": 39' in text
    assert '"turn": 0' not in text


def test_the_flow_with_a_scripted_model_over_the_labelled_conversations() -> None:
    """A model that finds what is expected, and quotes outside text and Co as the person's too."""
    good = made = 0
    for talk in conversations("held"):
        own, turns = own_words(talk), talk["turns"]
        script = [
            {"turn": own.index(turns[one["turn"]]["text"]), "quote": turns[one["turn"]]["text"],
             "text": turns[one["turn"]]["text"], "kind": "context"}
            for one in talk["expected"]
        ]  # fmt: skip
        others = [one["text"] for one in turns if one.get("external")]
        script += [{"turn": 0, "quote": one, "text": one, "kind": "context"} for one in others]
        found = asyncio.run(drafts.by_model(scripted(*script), own, settled_in(talk), 5))
        assert not {fact.quote for fact in found} & set(others)
        good, made = good + right(found, talk), made + len(found)
    assert (good / made, good >= 40) == (1.0, True)


def test_a_failing_or_hanging_model_leaves_it_to_cos_own_reading() -> None:
    async def broken(messages: list[ModelMessage], _info: AgentInfo) -> AsyncIterator[str]:
        if messages:
            raise RuntimeError
        yield ""

    session = begin(broken, auto=True)
    session._write(said="hi")
    session.said.append("We deploy on Tuesdays")
    assert leave(session) == "1 draft waits in the inbox: /inbox"


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
        chat.say("stop asking me")
        chat.until("I will not ask")
        chat.say("We deploy on Tuesdays")
        chat.until("All right.")
        chat.say("remember that I prefer tea")
        chat.until("[e]dit >")
        chat.process.send_signal(number)
        assert chat.end().code == -number
    found = json.loads(co("inbox", "--json").out)["drafts"]
    assert sorted(one["content"] for one in found) == ["User prefers tea", "We deploy on Tuesdays"]


def test_a_chat_opens_with_how_many_drafts_wait_and_counts_them_all() -> None:
    """Red when only the newest are counted, or a new chat says nothing of them."""
    session = begin(auto=True)
    inbox.put(session.deps.shelf().user, [inbox.Draft("User prefers tea")], actor="test")
    session.said.append("We deploy on Tuesdays")
    session._write(said="hi")
    assert leave(session) == "2 drafts wait in the inbox, 1 of them new: /inbox"
    with Talking() as chat:
        chat.until("2 drafts wait in the inbox: /inbox")
        assert chat.leave().code == 0


def test_what_was_rejected_is_not_offered_in_a_chat_either_until_it_is_asked_for() -> None:
    """Red when a rejection only guards the inbox."""
    session = begin(ask=None, auto=True)
    session.said.append("My wife doesn't eat fish")
    session._write(said="My wife doesn't eat fish")
    leave(session)
    [draft] = inbox.waiting(session.deps.shelf().user)
    remember_rejection(inbox.reject(session.deps.shelf().user, draft, actor="chat").note)
    later = begin(ask=agreeing)
    for text in ("My wife doesn't eat fish", "my wife eats no fish"):
        said(later, text)
        assert drafts.settled(later.messages) == []
    said(later, "Remember that my wife doesn't eat fish")
    assert len(drafts.settled(later.messages)) == 1


def test_what_waits_is_not_drafted_again_in_other_words() -> None:
    for text in ("The logo has to stay orange", "The logo must stay orange"):
        session = begin(ask=None, auto=True)
        session.said.append(text)
        session._write(said=text)
        leave(session)
    assert waiting(session) == ["The logo has to stay orange"]
