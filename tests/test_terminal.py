"""How the chat feels at a terminal: keys, colours, widths, and what is typed too early."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import termios
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from cli import PATIENCE, Talking, co
from openai_server import Server, serving
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from co_cli.chat import slash
from co_cli.chat.editor import Editor
from co_cli.chat.message_queue import MessageQueue
from co_cli.chat.notes import asked
from co_cli.deps import CoDeps
from co_cli.knowledge import Notebook

NOTES = Path(".co-cli/knowledge")
COLOUR = re.compile(r"\x1b\[(?:[0-9;]*;)?(?:3[0-7]|9[0-7]|38)[;m]")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with serving(tmp_path) as running:
        yield running


def connected(server: Server, model: str = "good") -> dict[str, Any]:
    return {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "k", "CO_CLI_MODEL": f"openai:{model}"}


def heard(server: Server) -> list[str]:
    """What the person said, as the model was last told."""
    messages = server.requests()[-1]["messages"]
    said = [one["content"] for one in messages if one["role"] == "user"]
    return [one if isinstance(one, str) else "".join(p["text"] for p in one) for one in said]


# Approval in advance


def test_that_saves_are_not_asked_about_is_shown_until_it_is_turned_off(server: Server) -> None:
    """Red when `a` is on and the screen does not say so, or /ask does not end it."""
    on = "Saving without asking. /ask turns that off."
    with Talking(**connected(server)) as chat:
        chat.say("/ask")
        chat.until("Co asks before every change.")
        chat.say("I prefer tabs over spaces")
        chat.until("everywhere >")
        chat.say("a")
        chat.until("Saving without asking until you leave. /ask turns that off.")
        chat.until(on)
        chat.say("I prefer trains over planes")
        chat.until("Saved as 2.")
        chat.until(on)
        chat.say("/ask")
        chat.until("Co asks again before it saves.")
        chat.say("I prefer tea over coffee")
        assert on not in chat.until("everywhere >")
        chat.say("n")
        assert chat.leave().code == 0


def test_forgetting_is_asked_about_each_time() -> None:
    co("learn", "We deploy on Tuesdays")
    with Talking() as chat:
        chat.say("forget 1")
        chat.until("Forget this one? [y/N] >")
        chat.say("n")
        chat.until("Nothing was changed.")
        assert chat.leave().code == 0


# Typing


def test_enter_takes_what_ctrl_r_found_and_a_second_one_sends_it(server: Server) -> None:
    """Red when Enter in the search throws the match away, or the search minds capitals."""
    env = connected(server)
    with Talking(**env) as chat:
        chat.say("tell me about the Zebra migration")
        chat.until("You said")
        chat.leave()
    with Talking(**env) as chat:
        chat.keys("\x12zebra")
        chat.until("Zebra migration")
        chat.type("\r")
        chat.type(" again")
        chat.until("again")
        chat.say("")
        chat.until("You said")
        assert chat.leave().code == 0
    assert heard(server) == ["tell me about the Zebra migration again"]


def test_what_is_sent_while_co_answers_waits_in_sight_and_its_turn(server: Server) -> None:
    with Talking(**connected(server, "faulty-held")) as chat:
        chat.say("hello")
        chat.until("Thinking")
        chat.type("first thinx\x7fg\r")
        chat.until("next > first thing")
        chat.type("oops\x15second thing\r")
        chat.until("       second thing")
        server.let_go()
        chat.until("You said: hello")
        chat.until("\n> first thing\n")
        chat.until("You said: first thing")
        chat.until("\n> second thing\n")
        chat.until("You said: second thing")
        assert chat.leave().code == 0
    assert heard(server) == ["hello", "first thing", "second thing"]


def test_a_command_and_the_end_wait_their_turn_too(server: Server) -> None:
    with Talking(**connected(server, "faulty-held")) as chat:
        chat.say("hello")
        chat.until("Thinking")
        chat.type("/memories\rone more\rthing\r\x04")
        chat.until("       thing")
        server.let_go()
        chat.sees("\n> /memories\nNo memories saved yet.")
        chat.until("You said: one more")
        assert chat.end().code == 0
    assert heard(server)[1:] == ["one more", "thing"]


def test_what_is_typed_and_not_sent_while_co_answers_stands_in_the_next_line(
    server: Server,
) -> None:
    with Talking(**connected(server, "faulty-held")) as chat:
        chat.say("hello")
        chat.until("Thinking")
        chat.type("first thing\rand the sec")
        chat.until("and the sec")
        server.let_go()
        chat.until("You said: hello")
        chat.until("You said: first thing")
        chat.until("> and the sec")
        chat.keys("ond")
        chat.say("")
        chat.until("You said: and the second")
        assert chat.leave().code == 0
    assert heard(server)[1:] == ["first thing", "and the second"]


def test_what_waits_when_an_answer_is_stopped_is_not_sent_by_itself(server: Server) -> None:
    with Talking(**connected(server, "faulty-silent")) as chat:
        chat.say("hello")
        chat.until("Thinking")
        chat.type("one more thing\r")
        chat.until("next > one more thing")
        chat.process.send_signal(signal.SIGINT)
        chat.until("Stopped.")
        chat.until("> one more thing")
        chat.keys("\x03")
        assert chat.leave().code == 0
    assert "one more thing" not in str(server.requests())


def test_a_pasted_block_stays_whole(server: Server) -> None:
    """Red when a line of a block becomes a message of its own."""
    block = "def f():\n    return 1\n\nprint(f())\n"
    pasted = f"\x1b[200~{block}\x1b[201~".replace("\n", "\r")
    with Talking(**connected(server, "faulty-held")) as chat:
        chat.keys(pasted)
        chat.until("print(f())")
        chat.say("")
        chat.until("Thinking")
        chat.type(f"{pasted} and")
        chat.until(" and")
        server.let_go()
        chat.until("You said: def f():")
        chat.until("print(f())\n   and")
        chat.say(" more")
        chat.until("You said: def f():")
        assert chat.leave().code == 0
    assert heard(server) == [block.strip(), f"{block} and more"]


def test_messages_are_taken_one_by_one_and_the_end_comes_last() -> None:
    queue = MessageQueue()
    for text in ("/help", "one\ntwo", None):
        queue.add(text, behind_held=True)
    assert [queue.take().text for _ in range(2)] == ["/help", "one\ntwo"]
    with pytest.raises(EOFError):
        queue.take()
    assert not queue.is_ready


def test_each_message_that_a_question_held_needs_another_enter() -> None:
    """Red when a message from before a question is sent by itself, or out of its turn."""
    queue = MessageQueue()
    for text in ("y", "one more thing", None):
        queue.add(text, behind_held=True)
    queue.hold()
    queue.replies.append("said at the question")
    queue.add("later", behind_held=True)
    assert queue.waiting == ["said at the question", "y", "one more thing", "later"]
    assert (queue.next_draft("draft"), queue.take().text) == ("draft", "said at the question")
    drafts = ["draft"]
    while queue.held:
        drafts.append(queue.next_draft(drafts[-1] if drafts == ["draft"] else ""))
    assert drafts == ["draft", "y", "one more thing", "later", "draft"]
    assert not queue.is_ready


def test_the_terminal_is_as_before_when_a_person_has_left() -> None:
    """Red when an echo is lost for good."""
    with Talking() as chat:
        before = termios.tcgetattr(chat.terminal)
        chat.keys("")
        assert not termios.tcgetattr(chat.terminal)[3] & (termios.ECHO | termios.ICANON)
        chat.leave()
        assert termios.tcgetattr(chat.terminal) == before


async def edited(keys: bytes, ask: Callable[[Editor], Awaitable[Any]]) -> Any:
    """What an editor returns to somebody who presses these keys."""
    with create_pipe_input() as pipe, create_app_session(input=pipe, output=DummyOutput()):
        editor = Editor(toolbar=str)
        async with editor.running():
            pipe.send_bytes(keys)
            return await asyncio.wait_for(ask(editor), PATIENCE)


def test_the_bytes_of_a_mouse_are_no_fault_and_no_text() -> None:
    """Red when prompt_toolkit stops to show a traceback of them."""
    keys = b"a\x1b[M\xff\xff\xff\x1b[<999;1;1Mb\r"
    assert asyncio.run(edited(keys, Editor.line)) == ("ab", [])


def test_a_message_comes_with_its_pasted_parts() -> None:
    pasted = b"\x1b[200~Dear all,\rI moved.\x1b[201~"
    line = asyncio.run(edited(b"shorten: " + pasted + b" thanks\r", Editor.line))
    assert line == ("shorten: Dear all,\nI moved. thanks", ["Dear all,\nI moved."])


def test_a_text_is_edited_in_the_line_and_keys_from_before_are_no_part_of_it() -> None:
    """Red when an edit begins with what was typed early, or the early draft is lost."""

    async def edit(keys: bytes) -> tuple[str | None, str]:
        with create_pipe_input() as pipe, create_app_session(input=pipe, output=DummyOutput()):
            editor = Editor(toolbar=str)
            async with asyncio.timeout(PATIENCE), editor.running():
                pipe.send_bytes(b"early")
                changed = asyncio.create_task(editor.edit("We deploy on Tuesdays"))
                while not editor.is_asking:
                    await asyncio.sleep(0)
                pipe.send_bytes(keys)
                return await changed, editor.draft.text

    noon = asyncio.run(edit(b" at noon\r"))
    assert noon == ("We deploy on Tuesdays at noon", "early")
    assert asyncio.run(edit(b" at\x03")) == (None, "early")


@pytest.mark.parametrize(
    ("said", "answer", "waits"),
    [("We meet on Mondays", "", "We meet on Mondays"), ("/memories", "", "/memories"),
     ("2", "2", ""), ("yes please", "yes please", "")],
)  # fmt: skip
def test_whoever_goes_on_talking_at_a_commands_question_loses_no_word(
    said: str, answer: str, waits: str
) -> None:
    """Red when a sentence is taken for the answer to `/show which one?` and is gone."""

    async def read(_question: str, _typed: str) -> str:
        return said

    sent: list[str] = []
    chat: Any = SimpleNamespace(screen=SimpleNamespace(read=read, send=sent.append))
    assert asyncio.run(asked(chat, "Show which one (1, 2; Enter for none)?")) == answer
    assert "".join(sent) == waits


# Confirmations


def test_what_a_model_had_saved_is_told_line_by_line_in_words_of_the_chat(server: Server) -> None:
    """Red when only the first line of a confirmation is left, or it names what no chat can do."""
    co("learn", "User prefers tabs over spaces")
    with Talking(**connected(server)) as chat:
        chat.say("I prefer spaces over tabs")
        chat.until("everywhere >")
        chat.say("u")
        chat.sees(
            "\n✓ Saved memory 2: User prefers spaces over tabs"
            "\nIt updates memory 1, which recall now shows as earlier.\n"
        )
        chat.say("I prefer tabs over spaces, always")
        chat.until("everywhere >")
        chat.say("y")
        rows = chat.sees("✓ Saved memory 3: ")
        assert chat.leave().code == 0
    assert "co knowledge" not in "\n".join(rows)


def test_a_confirmation_offline_keeps_its_lines() -> None:
    co("learn", "We deploy on Tuesdays")
    with Talking() as chat:
        chat.say("forget 1")
        chat.until("[y/N] >")
        chat.say("y")
        rows = chat.sees("Forgot memory 1")
        whole = "Forgot memory 1: We deploy on Tuesdays (/restore 1 brings it back)"
        assert whole in [row.rstrip() for row in rows]
        assert chat.leave().code == 0


# The window


LONG = "I prefer tabs over spaces in every file that is not written in Python or in YAML"


def test_a_card_is_drawn_anew_for_a_window_of_another_width(server: Server) -> None:
    """G13. Red when a narrower window leaves text of a model without its bar, or loses a key."""
    with Talking(**connected(server)) as chat:
        chat.say(LONG)
        chat.until("everywhere >")
        chat.type("y")
        chat.sees("everywhere > y")
        for columns, lines in ((40, 3), (100, 1)):
            chat.resize(columns)
            chat.sees("Remember this?")
            quoted = [row for row in chat.sees("everywhere > y") if row.startswith("  │ ")]
            assert len(quoted) == lines
            assert max(map(len, quoted)) < columns
        chat.type("\r")
        chat.until("Saved as 1.")
    assert len(Notebook(NOTES).notes()) == 1


def test_an_edit_survives_another_width(server: Server) -> None:
    with Talking(**connected(server)) as chat:
        chat.say("I prefer tabs over spaces")
        chat.until("everywhere >")
        chat.say("e")
        chat.keys(" in Go")
        chat.sees("Text:  User prefers tabs over spaces in Go")
        chat.resize(60)
        chat.sees("Text:  User prefers tabs over spaces in Go")
        chat.type("\r")
        chat.sees("Tags:  preference")
        chat.type("\x03")
        chat.until("Nothing was changed.")


def test_a_narrower_window_leaves_no_row_of_a_wider_one(server: Server) -> None:
    """Red when what the terminal made of the old rows stays above the line."""
    with Talking(**connected(server, "faulty-silent")) as chat:
        chat.say("hello")
        chat.until("Thinking")
        chat.type("a message that is longer than forty columns, and waits\rand a draft")
        chat.sees("> and a draft")
        chat.resize(40)
        shown = chat.sees("> and a draft")
        assert "\x1b[A" in chat.shown[chat.since :].partition("\x1b[J")[0]
        assert [row for row in shown if row.startswith(("next", "  "))] == [
            "next > a message that is longer than",
            "       forty columns, and waits",
        ]


def test_the_line_being_typed_is_drawn_anew_for_another_width() -> None:
    with Talking() as chat:
        chat.keys("a line of words that is longer than forty columns")
        chat.sees("> a line of words that is longer than forty columns")
        chat.resize(40)
        assert chat.sees("columns")[:2] == [
            "> a line of words that is longer than fo",
            "  rty columns",
        ]


# Narrow, colourless and dumb terminals


@pytest.mark.parametrize(("columns", "colourless"), [(40, True), (60, False), (100, False)])
def test_a_first_conversation_fits_any_width(columns: int, colourless: bool) -> None:
    """Red when a list does not go on under its text, or NO_COLOR does not keep colours out."""
    env: dict[str, Any] = {"NO_COLOR": "1"} if colourless else {}
    with Talking(columns=str(columns), **env) as chat:
        chat.say("I prefer tabs over spaces in every Go file")
        chat.until("everywhere >")
        chat.say("y")
        chat.say("I prefer spaces over tabs in every Go file")
        chat.until("memory 1")
        chat.sees("\n  │ I prefer spaces over tabs")
        chat.until("everywhere >")
        chat.say("y")
        chat.say("/memories")
        chat.keys("")
        rows = chat.sees("This project")
        chat.say("/help")
        chat.sees("Enter sends,")
        shown = chat.leave()
    assert bool(COLOUR.search(shown.out)) is not colourless
    listed = rows[rows.index("This project") + 1 : rows.index("", rows.index("This project"))]
    column = listed[0].index("I prefer")
    marked = [row for row in listed if row[column - 1] != " " or row[column] == " "]
    assert (marked, [row[:4] for row in listed if row[:4].strip()]) == ([], ["   1", "   2"])
    assert rows[rows.index("This project") - 2] == ""  # a turn stands apart


def test_a_dumb_terminal_is_enough(server: Server) -> None:
    """Red when the chat needs more of a terminal than lines, or draws what it cannot take back."""
    co("learn", "User prefers tabs over spaces")
    env = connected(server, "faulty-held") | {"TERM": "dumb"}
    with Talking(columns="60", **env) as chat:
        chat.until("\n> ")
        chat.type("I prefer spaces over tabs\r")
        chat.until("I prefer spaces over tabs")
        server.let_go()
        chat.until("│ User prefers tabs over spaces")
        chat.until("everywhere > ")
        chat.type("k\r")
        chat.until("Saved as 2.")
        chat.until("\n> ")
        chat.type("/quit\r")
        assert chat.end().code == 0
    assert "\x1b" not in chat.shown
    assert max(map(len, chat.shown.split("\n"))) < 60
    assert len(Notebook(NOTES).notes()) == 2


@pytest.mark.parametrize(
    ("said", "picked"),
    [("2", "g2"), ("the second", "g2"), ("flour please", "1"), ("none", ""), ("Tell me more", "")],
)
def test_a_command_takes_any_answer_that_says_which(said: str, picked: str) -> None:
    """Red when only a whole reference answers `/show which one?`."""
    Notebook(Path(".co-cli/knowledge")).remember("The bakery needs flour")
    own = Notebook(Path(os.environ["HOME"]) / ".config/co-cli/knowledge")
    for text in ("Tom likes tea", "The bakery owes User 20 euros"):
        own.remember(text)

    async def read(_question: str, _typed: str) -> str:
        return said

    told, sent = list[str](), list[str]()
    screen = SimpleNamespace(read=read, send=sent.append)
    chat: Any = SimpleNamespace(deps=CoDeps(gated=True), say=told.append, screen=screen)
    done: Any = slash.run(chat, "/show bakery")
    shown = asyncio.run(done)
    assert shown.split()[0] == (picked or "Nothing")
    assert sent == ["Tell me more"] * (said[0] == "T")


def test_list_is_memories_and_a_command_that_is_not_here_names_one() -> None:
    chat: Any = SimpleNamespace(deps=CoDeps(gated=True))
    assert slash.run(chat, "/list") == slash.run(chat, "/memories")
    assert slash.run(chat, "/tag 1 work") == "There is no /tag. Did you mean /edit?"
