"""How the chat feels at a terminal: keys, colours, widths, and what is typed too early."""

from __future__ import annotations

import asyncio
import os
import pty
import re
import signal
import sys
import termios
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from cli import PATIENCE, Talking, co
from openai_server import Server, serving
from prompt_toolkit import PromptSession
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from co_cli.chat import slash

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


def test_that_saves_are_not_asked_about_is_shown_until_it_is_turned_off() -> None:
    """Red when `a` is on and the screen does not say so, or /ask does not end it."""
    on = "Saves are not asked about; /ask turns that off."
    with Talking() as chat:
        chat.say("/ask")
        chat.until("Co asks before every change.")
        chat.say("I prefer tabs over spaces")
        chat.until("[e]dit >")
        chat.say("a")
        chat.until("Co now saves without asking until you leave. /ask makes it ask again.")
        chat.until(f"{on}\n>")
        chat.say("Dana owns the billing service")
        chat.until("Saved as [2]")
        chat.until(f"{on}\n>")
        chat.say("/ask")
        chat.until("Co asks again before it saves.")
        chat.say("We deploy on Tuesdays")
        assert on not in chat.until("[e]dit >")
        chat.say("n")
        assert chat.leave().code == 0


def test_forgetting_is_asked_about_each_time() -> None:
    co("learn", "We deploy on Tuesdays")
    with Talking() as chat:
        chat.say("forget 1")
        chat.until("  [y]es  [n]o >")
        chat.say("n")
        chat.until("Not forgotten.")
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
        chat.until("\n> /memories\nNo memories saved yet.")
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


@pytest.mark.parametrize(
    ("keys", "held", "taken"),
    [
        (b"", False, ("", False)),
        (b"one\x1b\rtwo\r", False, ("one\ntwo", True)),
        (b"one\r", True, ("one", False)),
        (b"one\r\x04", True, ("one", False)),
        (b"on\x04", False, ("on", False)),
        (b"\x1b[200~a\rb\x1b[201~\r", False, ("a\nb", True)),
        ("caf\u00e9\x7fe\r".encode(), False, ("cafe", True)),
        (b"\x1b[200~a\n\nb\n", False, ("a\n\nb", False)),
    ],
)
def test_what_waits_is_taken_once(keys: bytes, held: bool, taken: tuple[str, bool]) -> None:
    typeahead.keep(keys)
    if held:
        typeahead.hold()
    assert typeahead.take() == taken
    assert typeahead.take() == ("", False)


def test_messages_are_taken_one_by_one_and_the_end_comes_last() -> None:
    """Red when lines that were sent one by one become one message, or a pasted block several."""
    typeahead.keep(b"/help\r\x1b[200~one\rtwo\x1b[201~\rthree\r\x04")
    taken = [("/help", True), ("one\ntwo", True), ("three", True)]
    assert [typeahead.take() for _ in taken] == taken
    with pytest.raises(EOFError):
        typeahead.take()
    assert typeahead.take() == ("", False)


def test_each_message_that_a_question_held_needs_another_enter() -> None:
    typeahead.keep(b"y\rone more thing\rand")
    typeahead.hold()
    assert [typeahead.take() for _ in range(3)] == [
        ("y", False), ("one more thing", False), ("and", False),
    ]  # fmt: skip
    typeahead.hold()
    typeahead.keep(b"after the question\r")
    assert typeahead.take() == ("after the question", True)


def test_keys_are_heard_without_being_drawn_and_the_terminal_is_as_before() -> None:
    """Red when what is typed shows up in the middle of an answer, or an echo is lost for good."""

    async def listen(slave: int, master: int) -> str:
        with typeahead.listening(asyncio.get_running_loop()):
            quiet = termios.tcgetattr(slave)[3]
            os.write(master, b"hello\r")
            while not typeahead.waiting().endswith("\n"):
                await asyncio.sleep(0)
        assert not quiet & (termios.ECHO | termios.ICANON)
        return typeahead.take()[0]

    master, slave = pty.openpty()
    before, stdin = termios.tcgetattr(slave), sys.stdin
    try:
        with open(slave, closefd=False) as sys.stdin:
            assert asyncio.run(listen(slave, master)) == "hello"
        assert termios.tcgetattr(slave) == before
    finally:
        sys.stdin = stdin
        os.close(master)
        os.close(slave)


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

    chat: Any = SimpleNamespace(screen=SimpleNamespace(read=read))
    assert asyncio.run(asked(chat, "Show which one (1, 2; Enter for none)?")) == answer
    assert typeahead.take() == (waits, bool(waits))


# Confirmations


def test_what_a_model_had_saved_is_told_line_by_line_in_words_of_the_chat(server: Server) -> None:
    """Red when only the first line of a confirmation is left, or it names what no chat can do."""
    co("learn", "User prefers tabs over spaces")
    with Talking(**connected(server)) as chat:
        chat.say("I prefer spaces over tabs")
        chat.until("[e]dit >")
        chat.say("u")
        chat.sees(
            "\n✓ Saved memory 2: User prefers spaces over tabs"
            "\nIt replaces memory 1, which is archived (/restore 1).\n"
        )
        chat.say("I prefer tabs over spaces, always")
        chat.until("[e]dit >")
        chat.say("k")
        rows = chat.sees("✓ Saved memory 3: ")
        assert chat.leave().code == 0
    assert "co knowledge" not in "\n".join(rows)


def test_a_confirmation_offline_keeps_its_lines() -> None:
    co("learn", "We deploy on Tuesdays")
    with Talking() as chat:
        chat.say("forget 1")
        chat.until("[n]o >")
        chat.say("y")
        rows = chat.sees("Forgot memory 1")
        assert "✓ Forgot memory 1: We deploy on Tuesdays" in [row.rstrip() for row in rows]
        assert chat.leave().code == 0


# The window


LONG = "I prefer tabs over spaces in every file that is not written in Python or in YAML"


def test_a_card_is_drawn_anew_for_a_window_of_another_width() -> None:
    """G13. Red when a narrower window leaves text of a model without its bar, or loses a key."""
    with Talking() as chat:
        chat.say(LONG)
        chat.until("[e]dit >")
        chat.type("y")
        chat.sees("[e]dit > y")
        for columns, lines in ((40, 3), (100, 1)):
            chat.resize(columns)
            chat.sees("Remember this?")
            quoted = [row for row in chat.sees("[e]dit > y") if row.startswith("  │ ")]
            assert len(quoted) == lines
            assert max(map(len, quoted)) < columns
        chat.type("\r")
        chat.until("Saved as [1]: ")
    assert len(Notebook(NOTES).notes()) == 1


def test_an_edit_survives_another_width() -> None:
    with Talking() as chat:
        chat.say("I prefer tabs over spaces")
        chat.until("[e]dit >")
        chat.say("e")
        chat.keys(" in Go")
        chat.sees("Text:  User prefers tabs over spaces in Go")
        chat.resize(60)
        chat.sees("Text:  User prefers tabs over spaces in Go")
        chat.type("\r")
        chat.sees("Tags:  preference, style")
        chat.type("\x03")
        chat.until("Nothing was changed.")


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
        chat.until("[e]dit >")
        chat.say("y")
        chat.say("I prefer spaces over tabs in every Go file")
        chat.sees("\n  │ -User prefers tabs over spaces")
        chat.sees("\n  │ +User prefers spaces over tabs")
        chat.until("│ -User")
        chat.until("[e]dit >")
        chat.say("k")
        chat.say("/memories")
        chat.keys("")
        rows = chat.sees("This project")
        chat.say("/help")
        chat.sees("(also Ctrl+D)")
        shown = chat.leave()
    assert bool(COLOUR.search(shown.out)) is not colourless
    listed = rows[rows.index("This project") + 1 : rows.index("", rows.index("This project"))]
    column = listed[0].index("User")
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
        chat.until("│ -User prefers tabs over spaces")
        chat.until("[e]dit > ")
        chat.type("k\r")
        chat.until("Saved as 2.")
        chat.until("\n> ")
        chat.type("/quit\r")
        assert chat.end().code == 0
    assert "\x1b" not in chat.shown
    assert max(map(len, chat.shown.split("\n"))) < 60
    assert len(Notebook(NOTES).notes()) == 2


def test_the_bytes_of_a_mouse_are_no_fault_and_no_text() -> None:
    """Red when prompt_toolkit stops to show a traceback of them."""

    async def typed() -> str:
        with create_pipe_input() as keys, create_app_session(input=keys, output=DummyOutput()):
            session: PromptSession[str] = PromptSession(key_bindings=plain_keys())
            keys.send_bytes(b"a\x1b[M\xff\xff\xff\x1b[<999;1;1Mb\r")
            return await asyncio.wait_for(session.prompt_async("> "), PATIENCE)

    assert asyncio.run(typed()) == "ab"


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

    told: list[str] = []
    deps = CoDeps(gated=True)
    chat: Any = SimpleNamespace(deps=deps, say=told.append, screen=SimpleNamespace(read=read))
    done: Any = slash.run(chat, "/show bakery")
    shown = asyncio.run(done)
    assert shown.split()[0] == (picked or "Nothing")
    assert typeahead.take() == (("Tell me more", True) if said[0] == "T" else ("", False))


def test_list_is_memories_and_a_command_that_is_not_here_names_one() -> None:
    chat: Any = SimpleNamespace(deps=CoDeps(gated=True))
    assert slash.run(chat, "/list") == slash.run(chat, "/memories")
    assert slash.run(chat, "/tag 1 work") == "There is no /tag. Did you mean /edit?"
