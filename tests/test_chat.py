"""The chat as a person meets it: `co` on a real terminal, and `co ask` in a pipe.

Without a model what is typed is looked up or kept; over HTTP a server in a process of its own
speaks OpenAI's protocol.
"""

from __future__ import annotations

import json
import os
import signal
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cli import Talking as Talking  # noqa: PLC0414 - others take it from here
from cli import asked, co, command
from handmade import put
from openai_server import Server, serving

from co_cli.chat import slash, transcripts
from co_cli.knowledge import Notebook

NOTES = Path(".co-cli/knowledge")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with serving(tmp_path) as running:
        yield running


def connected(server: Server, model: str = "good") -> dict[str, Any]:
    """The environment of a person whose model answers on this machine."""
    return {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "k", "CO_CLI_MODEL": f"openai:{model}"}


def bodies() -> list[str]:
    return [note.body for note in Notebook(NOTES).notes()]


@pytest.mark.parametrize("words", [["status"], ["ask", "hello"], ["ask"], ["nonsense"]])
def test_what_is_started_at_once_does_as_the_installed_command_does(words: list[str]) -> None:
    assert asked(*words) == command(*words)


def test_what_is_approved_is_remembered_in_the_next_session() -> None:
    """The whole promise, on a real terminal, without a key or a network."""
    with Talking(at_once=False) as first:
        first.until("Nothing saved here yet. No model connected.")
        first.say("I prefer async/await over callbacks")
        shown = first.until("[e]dit")
        assert "│ I prefer async/await over callbacks" in shown
        assert "memories/001-i-prefer-async-await" in shown
        assert not NOTES.exists()
        first.say("y")
        first.until("✓ Saved memory 1: I prefer async/await over callbacks")
        assert first.leave().code == 0
    assert bodies() == ["I prefer async/await over callbacks"]
    with Talking(at_once=False) as second:
        second.until("1 memory. No model connected.")
        second.say("what do I prefer for concurrency?")
        second.until("I prefer async/await over callbacks")
        second.until("[1] this project")
        assert second.leave().code == 0


def test_the_same_conversation_over_http(server: Server) -> None:
    env = connected(server)
    with Talking(**env) as first:
        first.until("openai:good")
        first.say("I prefer async/await over callbacks")
        first.until("[e]dit")
        first.say("y")
        first.until("Saved as 1.")
        assert first.leave().code == 0
    assert bodies() == ["User prefers async/await over callbacks"]
    with Talking(**env) as second:
        second.say("which style of concurrency do I prefer, async/await?")
        second.sees("async/await over callbacks [1]")
        assert second.leave().code == 0


def test_no_refuses_and_the_model_is_told_why(server: Server) -> None:
    with Talking(**connected(server)) as chat:
        chat.say("I prefer tabs over spaces")
        chat.until("[e]dit")
        chat.say("n")
        chat.until("Not saved: The person declined")
    assert not NOTES.exists()


def test_control_c_in_the_review_refuses_and_the_chat_goes_on() -> None:
    with Talking() as chat:
        chat.say("I prefer tabs over spaces")
        chat.until("[e]dit")
        chat.keys("\x03")
        chat.until("Nothing was saved.")
        chat.say("/memories")
        chat.until("No memories saved yet")
        assert chat.leave().code == 0
    assert not NOTES.exists()


def test_an_edit_is_what_is_saved() -> None:
    """G14. Red when the model's words win over the person's."""
    with Talking() as chat:
        chat.say("I prefer tabs over spaces")
        chat.until("[e]dit")
        chat.say("e")
        chat.until("Text:")
        chat.keys("\x15")
        chat.say("User prefers two spaces in YAML")
        chat.until("Tags:")
        chat.keys("\x15")
        chat.say("style, yaml")
        chat.until("Scope, project or global (Enter: as it is):")
        chat.say("")
        assert "│ User prefers two spaces in YAML" in chat.until("[e]dit")
        chat.say("y")
        chat.until("✓ Saved memory 1: User prefers two spaces in YAML")
        chat.leave()
    [note] = Notebook(NOTES).notes()
    assert (note.body, note.tags) == ("User prefers two spaces in YAML", ["style", "yaml"])


def test_several_saves_are_reviewed_on_one_screen(server: Server) -> None:
    with Talking(**connected(server)) as chat:
        chat.say("I prefer tabs and also we decided to ship on Tuesdays")
        shown = chat.until("one alone: 2 for yes or no")
        assert "1  Remember this?" in shown
        assert "2  Remember this?" in shown
        chat.say("n1")
        chat.until("one alone: 2 for yes or no")
        chat.say("y")
        chat.until("Not saved: ")
        chat.leave()
    assert bodies() == ["We decided to ship on Tuesdays"]


def test_a_collision_wants_a_choice(server: Server) -> None:
    co("learn", "User prefers tabs over spaces")
    with Talking(**connected(server)) as chat:
        chat.say("I prefer spaces over tabs")
        shown = chat.until("[e]dit")
        assert "This brings memory 1 out of date" in shown
        chat.say("r")
        chat.until("Saved as 2.")
        chat.leave()
    assert bodies() == ["User prefers spaces over tabs"]


@pytest.mark.parametrize(
    ("model", "line"),
    [
        ("faulty-401", "refused the key"),
        ("faulty-429", "takes no more requests just now"),
        ("faulty-500", "had an internal error"),
        ("faulty-cut", "was cut off"),
        ("faulty-malformed-always", "gave no usable answer"),
        ("faulty-twice", "gave no usable answer"),
    ],
)
def test_a_fault_is_one_clear_line_and_the_chat_goes_on(
    server: Server, model: str, line: str
) -> None:
    with Talking(**connected(server, model)) as chat:
        chat.say("I prefer tabs over spaces")
        chat.until(line)
        chat.say("/model openai:good")
        chat.until("Now using openai:good.")
        chat.say("hello again")
        assert "Traceback" not in chat.until("You said: hello again")
        assert chat.leave().code == 0
    assert not NOTES.exists()


@pytest.mark.parametrize("model", ["faulty-malformed", "faulty-unknown-tool", "faulty-twins"])
def test_a_model_that_blunders_once_is_put_right(server: Server, model: str) -> None:
    with Talking(**connected(server, model)) as chat:
        chat.say("I prefer tabs over spaces")
        chat.until("[e]dit")
        chat.say("y")
        chat.until("Saved as 1.")
        chat.leave()
    assert bodies() == ["User prefers tabs over spaces"]


@pytest.mark.parametrize("model", ["faulty-once-500", "faulty-once-cut"])
def test_enter_tries_again_with_the_conversation_kept(server: Server, model: str) -> None:
    with Talking(**connected(server, model)) as chat:
        chat.say("I prefer tabs over spaces")
        chat.until("Press Enter to try again >")
        chat.say("")
        assert "User prefers tabs over spaces" in chat.until("[e]dit")
        chat.say("y")
        chat.until("Saved as 1.")
        chat.leave()
    said = [one["content"] for one in server.requests()[-1]["messages"] if one["role"] == "user"]
    assert said == ["I prefer tabs over spaces"]


def test_a_missing_key_says_what_to_do_and_the_chat_stays() -> None:
    with Talking("--model", "anthropic") as chat:
        chat.say("hello")
        chat.until("needs a key, and ANTHROPIC_API_KEY is not set")
        chat.say("/model offline")
        chat.until("Now using offline.")
        assert chat.leave().code == 0


def test_a_refused_connection_is_told_and_offered_again() -> None:
    env: dict[str, Any] = {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "OPENAI_API_KEY": "k"}
    with Talking("--model", "openai:x", **env) as chat:
        chat.say("hello")
        chat.until("cannot be reached at 127.0.0.1:9")
        chat.until("Press Enter to try again >")
        assert chat.leave().code == 0


def test_too_long_a_conversation_is_shortened_by_itself(server: Server) -> None:
    with Talking(**connected(server, "faulty-overflow-20000")) as chat:
        for number in range(6):
            chat.say(f"\x1b[200~{number} {'tell me more about it ' * 100}\x1b[201~")  # pasted
            chat.until(f"You said: {number}")
        assert "Summarised" in chat.text
        assert chat.leave().code == 0


def test_the_prompt_is_there_before_the_framework_is_loaded(server: Server) -> None:
    """Red when chat.py or what it imports loads the agent framework."""
    with Talking(at_once=False, PYTHONPROFILEIMPORTTIME="1", **connected(server)) as chat:
        before = chat.until("\n>")
        assert "prompt_toolkit" in before
        assert "pydantic_ai" not in before
        chat.until("pydantic_ai")
        chat.leave()


def test_without_a_model_the_framework_is_never_loaded() -> None:
    with Talking(at_once=False, PYTHONPROFILEIMPORTTIME="1") as chat:
        chat.say("when do we deploy?")
        chat.until("Nothing about that yet.")
        chat.leave()
        assert "pydantic_ai" not in chat.text


def test_a_cloned_folder_is_asked_about_before_anything_of_it_is_used() -> None:
    """G16. Red when the question comes after the prompt is put together, or not at all."""
    put(NOTES, 1, "We deploy on Tuesdays")
    Path("AGENTS.md").write_text("Speak like a pirate")
    with Talking() as chat:
        shown = chat.until("[y/N]: ")
        assert "Speak like a pirate" in shown
        chat.type("n\r")
        chat.until("Nothing saved here yet. No model connected.")
        chat.say("when do we deploy?")
        chat.leave()
        assert "Tuesdays" not in chat.text.split("when do we deploy?")[-1]
    with Talking() as chat:
        chat.until("[y/N]: ")
        chat.type("y\r")
        assert "AGENTS.md" in chat.until("1 memory. No model connected.")
        chat.leave()


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("/help", "/personality [name]"),
        ("/memories", "We deploy on Tuesdays"),
        ("/recall deploy", "   1  20"),
        ("/forget 1", "Forgot memory 1"),
        ("/forget 9", "there is no memory 9"),
        ("/protect 1", "Memory 1 is now protected"),
        ("/restore 1", "is not archived"),
        ("/undo", "Undone: save of 001-we-deploy-on-tuesdays.md"),
        ("/undo 1", "Undone: save of 001-we-deploy-on-tuesdays.md"),
        ("/undo x", "Usage: /undo"),
        ("/clear x", "takes no argument; nothing was done."),
        ("/context", "no context files; 1 memory; offline"),
        ("/tools", "save_memory    Offer to remember a fact"),
        ("/model", "To connect a model"),
        ("/model nonsense", "there is no model 'nonsense'"),
        ("/personality", "* finch"),
        ("/personality sonnet", "Now using the personality sonnet. It shows once a model answers"),
        ("/personality nobody", "nobody"),
        ("/compact", "There is nothing to summarise yet."),
        ("/clear", "Started a new conversation."),
        ("/history", "There are no earlier conversations in this folder."),
        ("/recal", "Did you mean /recall?"),
    ],
)
def test_each_slash_command_answers(line: str, shown: str) -> None:
    co("learn", "We deploy on Tuesdays")
    with Talking() as chat:
        chat.say(line)
        chat.until(shown)
        chat.say("/quit")
        assert chat.end().code == 0


def test_commands_and_references_are_completed() -> None:
    co("learn", "We deploy on Tuesdays")
    with Talking() as chat:
        chat.keys("/forg")
        chat.until("Archive a memory")
        chat.type("et ")
        chat.sees("We deploy on Tuesdays")
        chat.type("\x03")
        chat.leave()


def test_a_line_break_is_typed_with_alt_enter(server: Server) -> None:
    with Talking(**connected(server)) as chat:
        chat.keys("first line\x1b\r")
        chat.say("second line")
        chat.until("You said:")
        chat.leave()
    said = [one["content"] for one in server.requests()[-1]["messages"] if one["role"] == "user"]
    assert said == ["first line\nsecond line"]


def test_a_conversation_is_kept_for_its_owner_alone_and_goes_on(server: Server) -> None:
    env = connected(server)
    with Talking(**env) as chat:
        chat.say("my cat is called Miso")
        chat.until("You said")
        chat.leave()
    [kept] = transcripts.recent(os.getcwd(), 5)
    assert stat.S_IMODE(os.stat(kept.path).st_mode) == 0o600
    with Talking("--resume", **env) as chat:
        chat.until("Continuing after: my cat is called Miso")
        chat.say("hello")
        chat.until("You said: hello")
        chat.leave()
    said = [one["content"] for one in server.requests()[-1]["messages"] if one["role"] == "user"]
    assert said == ["my cat is called Miso", "hello"]


def test_a_purge_removes_the_conversations_that_hold_the_memory() -> None:
    with Talking() as chat:
        chat.say("I prefer tabs over spaces")
        chat.until("[e]dit")
        chat.say("y")
        chat.until("✓ Saved memory 1")
        chat.leave()
    assert transcripts.recent(os.getcwd(), 5)
    assert co("forget", "1", "--purge", "--yes").code == 0
    assert transcripts.recent(os.getcwd(), 5) == []


def test_what_a_session_goes_without_is_named() -> None:
    """Red when a broken memory, or a file that was cut, is found out only by `co status`."""
    co("learn", "We deploy on Tuesdays")
    (NOTES / "memories/002-broken.md").write_text("---\nno header\n")
    Path("AGENTS.md").write_text("be brief\n" * 5000)
    co("trust", "--yes")
    said = asked("ask", "when do we deploy?").err
    assert "memory skipped: " in said
    assert "002-broken.md" in said
    assert "bytes of AGENTS.md were left out" in said
    with Talking() as chat:
        chat.until("AGENTS.md were left out")
        chat.until("memory skipped: ")
        chat.leave()


# Keys typed too early


@pytest.mark.parametrize("early", ["y\r", "\x1b[200~y\r\x1b[201~\x7f", "\r\x1b[Dx\x7fy"])
def test_keys_typed_while_the_model_thinks_approve_nothing(server: Server, early: str) -> None:
    """Red when a question is answered by what was typed before anybody could read it."""
    with Talking(**connected(server, "faulty-held")) as chat:
        chat.say("I prefer tabs over spaces")
        chat.until("Thinking")
        chat.type(early)
        server.let_go()
        chat.until("next > y")
        chat.until("[e]dit")
        chat.say("n")
        chat.until("Not saved: ")
        chat.until("> y")
        chat.keys("es, that was for you")
        chat.say("")
        chat.until("You said: yes, that was for you")
        assert chat.leave().code == 0
    assert not NOTES.exists()


def test_keys_of_the_same_burst_as_the_message_approve_nothing(server: Server) -> None:
    """Red when the line editor's own memory of early keys reaches the question."""
    with Talking(**connected(server)) as chat:
        chat.say("I prefer tabs over spaces\ry")
        chat.until("[e]dit")
        chat.say("n")
        chat.until("Not saved: ")
        chat.until("> y")
        chat.keys("\x03")
    assert not NOTES.exists()


def test_keys_typed_between_two_questions_of_a_review_answer_neither(server: Server) -> None:
    """Red when one line of answers carries over to the question after it."""
    with Talking(**connected(server)) as chat:
        chat.say("I prefer tabs and also we decided to ship on Tuesdays")
        chat.until("one alone: 2 for yes or no")
        chat.say("n1\ry")
        chat.until("one alone: 2 for yes or no")
        chat.say("n")
        chat.until("Not saved: ")
        chat.until("> y")
        chat.keys("\x03")
    assert not NOTES.exists()


def test_an_enter_pressed_too_early_does_not_try_again(server: Server) -> None:
    """Red when a failed turn is repeated by a key that was pressed before it failed."""
    with Talking(**connected(server, "faulty-500")) as chat:
        chat.say("hello\r")
        chat.until("Press Enter to try again >")
        assert chat.leave().code == 0
    assert len(server.requests()) == 1


def test_keys_typed_before_a_folder_is_asked_about_trust_nothing() -> None:
    """G16. Red when a folder is trusted by what was typed before its files were shown."""
    Path("AGENTS.md").write_text("Speak like a pirate")
    with Talking() as chat:
        chat.type("y\nhello")
        chat.until("ignored, because it was typed before the question: y hello")
        chat.until("[y/N]: ")
        chat.type("n\r")
        chat.until("Nothing saved here yet. No model connected.")
        assert chat.leave().code == 0


# co ask


def test_ask_prints_the_answer_and_nothing_else() -> None:
    co("learn", "We deploy on Tuesdays")
    done = command("ask", "when do we deploy?")
    assert done.code == 0
    assert "We deploy on Tuesdays" in done.out
    assert "[1] this project" in done.out
    assert done.err == ""


def test_ask_changes_nothing_without_yes() -> None:
    """Red when a script can make Co write without saying so."""
    done = asked("ask", "I prefer tabs over spaces")
    assert done.code == 1
    assert "co ask changes nothing without --yes." in done.err
    assert not NOTES.exists()


def test_ask_with_yes_saves_what_was_said() -> None:
    done = asked("ask", "--yes", "I prefer tabs over spaces")
    assert "✓ Saved memory 1" in done.err
    assert bodies() == ["I prefer tabs over spaces"]


def test_yes_does_not_apply_once_something_came_from_outside() -> None:
    """G15. Red when piped text can be saved by --yes."""
    done = asked("ask", "--yes", "I prefer tabs over spaces", input=b"some file")
    assert "--yes does not apply" in done.err
    assert not NOTES.exists()


def told_as_json(*words: str, code: int = 0, **how: Any) -> dict[str, Any]:
    """What `co ask --json` says, which is all that it prints."""
    done = asked("ask", "--json", *words, **how)
    assert done.code == code, done
    found: dict[str, Any] = json.loads(done.out)
    return found


def test_ask_tells_a_program_the_answer_and_what_it_rests_on() -> None:
    co("learn", "We deploy on Tuesdays")
    co("learn", "Zebras graze at noon")
    found = told_as_json("when do we deploy?")
    assert "Tuesdays" in found.pop("answer")
    [source] = found.pop("sources")
    assert (source["ref"], source["content"]) == ("1", "We deploy on Tuesdays")
    assert found == {"model": "offline", "saved": [], "forgotten": [], "refused": []}


def test_ask_tells_a_program_what_was_done_and_refused() -> None:
    """Red when a script must read the answer's words to know what happened."""
    said = "I prefer tabs over spaces"
    kept = {"content": said, "tags": ["preference"]}
    assert told_as_json(said, code=1)["refused"] == [
        {"tool": "save_memory", "why": "rule", "reason": "co ask changes nothing without --yes."}
        | kept
    ]
    found = told_as_json("--yes", said)
    assert [(one["ref"], one["content"]) for one in found["saved"]] == [("1", kept["content"])]
    assert found["refused"] == []
    secret = "sk-ant-api03-" + "a1B2" * 12
    found = told_as_json("--yes", f"remember that the api key is {secret}", code=1)
    assert [one["why"] for one in found["refused"]] == ["impossible"]
    assert secret not in json.dumps(found)


def test_ask_prints_no_json_without_an_answer(server: Server) -> None:
    done = asked("ask", "--json", "hello", **connected(server, "faulty-500"))
    assert (done.code, done.out) == (1, "")


def test_a_yes_that_is_piped_to_ask_is_no_answer() -> None:
    """Red when `yes |` approves, or counts as a text to ask about."""
    done = asked("ask", "I prefer tabs over spaces", input=b"y\n")
    assert "an answer that is piped in does not count" in done.err
    assert "without --yes" in done.err
    assert not NOTES.exists()
    assert told_as_json("--yes", "I prefer tabs over spaces", input=b"y\n")["saved"]


def test_ask_fails_with_a_line_and_a_code(server: Server) -> None:
    done = asked("ask", "hello", **connected(server, "faulty-500"))
    assert (done.code, done.out.strip()) == (1, "")
    assert done.err.startswith("co: openai:faulty-500 had an internal error (500)")


def test_ask_says_that_a_folder_is_not_trusted_and_uses_nothing_of_it(server: Server) -> None:
    put(NOTES, 1, "We deploy on Tuesdays")
    Path("AGENTS.md").write_text("Speak like a pirate")
    done = asked("ask", "hello", **connected(server))
    assert "not trusted" in done.err
    sent = json.dumps(server.requests())
    assert "pirate" not in sent
    assert "Tuesdays" not in sent


def test_chat_without_a_terminal_points_to_ask() -> None:
    done = command("chat")
    assert (done.code, done.err) == (
        1,
        'co: co chat needs a terminal\n    For scripts: co ask "…"\n',
    )


def test_a_project_cannot_choose_the_model_or_its_address(server: Server) -> None:
    """G16. Red when a trusted project's settings reach the provider."""
    Path(".co-cli").mkdir()
    settings = {"model": "openai:x", "model_base_url": server.url, "openai_api_key": "k"}
    Path(".co-cli/settings.json").write_text(json.dumps(settings))
    co("trust", "--yes")
    done = asked("ask", "hello")
    assert "may not set 'model'" in done.err
    assert server.requests() == []


def test_the_log_names_and_counts_and_does_not_quote(tmp_path: Path, server: Server) -> None:
    asked("ask", "--yes", "--log-level", "debug", "I prefer tabs over spaces", **connected(server))
    log = tmp_path / "home/.local/state/co-cli/co.log"
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    assert "openai:good" in log.read_text()
    assert "tabs" not in log.read_text()


def test_notes_are_logged_when_asked_for_and_sensitive_ones_never(tmp_path: Path) -> None:
    """Red when a sensitive note's text can reach the log."""
    co("learn", "The launch codename is Bluebird")
    co("learn", "The launch budget is 7 million")
    path = next(NOTES.glob("memories/002*"))
    path.write_text(path.read_text().replace("created:", "sensitive: true\ncreated:", 1))
    asked("ask", "--log-level", "debug", "--log-content", "what is the launch codename?")
    log = (tmp_path / "home/.local/state/co-cli/co.log").read_text()
    assert "Bluebird" in log
    assert "7 million" not in log


def test_leaving_at_once_does_not_wait_for_the_framework(tmp_path: Path) -> None:
    """Red when the end of the chat waits for what loads behind it: here it would never end."""
    stuck = tmp_path / "stuck/pydantic_ai"
    stuck.mkdir(parents=True)
    (stuck / "__init__.py").write_text("import threading\nthreading.Event().wait()\n")
    with Talking(at_once=False, PYTHONPATH=str(stuck.parent)) as chat:
        assert chat.leave().code == 0


def test_control_c_stops_an_answer_and_not_the_chat(server: Server) -> None:
    with Talking(**connected(server, "faulty-silent")) as chat:
        chat.say("hello")
        chat.until("Thinking")
        chat.process.send_signal(signal.SIGINT)
        chat.until("Stopped.")
        chat.say("/model openai:good")
        chat.until("Now using openai:good.")
        chat.say("are you there")
        chat.until("You said: are you there")
        assert chat.leave().code == 0


def test_a_purge_removes_the_log_that_holds_what_notes_say(tmp_path: Path) -> None:
    co("learn", "The launch codename is Bluebird")
    asked("ask", "--log-level", "debug", "--log-content", "what is the launch codename?")
    log = tmp_path / "home/.local/state/co-cli/co.log"
    assert "Bluebird" in log.read_text()
    co("forget", "1", "--purge", "--yes")
    assert not log.exists()


def test_a_bad_setting_is_no_obstacle_to_naming_a_model() -> None:
    done = asked("ask", "--model", "offline", "hello", CO_CLI_MODEL="nonsense")
    assert (done.code, done.err) == (0, "")


def test_text_that_is_not_utf8_is_asked_about_all_the_same(server: Server) -> None:
    done = command("ask", b"caf\xe9 time", **connected(server))
    assert done.code == 0
    assert done.out.startswith("You said: caf")


def test_what_was_said_in_an_earlier_session_can_be_searched(server: Server) -> None:
    env = connected(server)
    with Talking(**env) as chat:
        chat.say("tell me about the zebra migration")
        chat.until("You said")
        chat.leave()
    with Talking(**env) as chat:
        chat.keys("\x12zebra")
        chat.until("zebra migration")
        chat.type("\x1b")
        chat.type("\x03")
        chat.until("to leave.")


def test_a_summary_prints_nothing_but_itself(server: Server) -> None:
    """Red when the framework's own greeting comes through."""
    with Talking(**connected(server)) as chat:
        for word in ("one", "two", "three"):
            chat.say(f"hello {word}")
            chat.until(f"You said: hello {word}")
        chat.say("/compact")
        chat.until("Summarised 2 messages")
        chat.leave()
        assert "ogfire" not in chat.text
        assert "pydantic" not in chat.text


def test_a_secret_that_was_typed_is_not_in_the_transcript(tmp_path: Path) -> None:
    """Red when what Co refuses to store is stored beside."""
    with Talking() as chat:
        chat.say("remember that the key is AKIAIOSFODNN7EXAMPLA")
        chat.until("Not saved: this looks like an AWS access key")
        chat.leave()
    assert bodies() == []
    kept = list((tmp_path / "home/.local/state/co-cli").rglob("*.jsonl"))
    assert kept
    assert "AKIAIOSFODNN7EXAMPLA" not in "".join(path.read_text() for path in kept)


def test_the_question_itself_may_be_piped() -> None:
    co("learn", "We deploy on Tuesdays")
    done = asked("ask", input=b"when do we deploy?")
    assert "We deploy on Tuesdays\n  [1] this project" in done.out
    assert command("ask").code == 2


@pytest.mark.parametrize("word", ["exit", "quit"])
def test_the_usual_words_leave(word: str) -> None:
    with Talking() as chat:
        chat.say(word)
        assert chat.end().code == 0


def test_a_first_hour_without_a_model() -> None:
    """What is typed is kept or looked up; a correction is edited in place; what removes asks."""
    with Talking() as chat:
        shown = chat.until("For example: We deploy on Tuesdays")
        assert [row for row in shown.split("\n") if row] == [
            "Nothing saved here yet. No model connected.",
            "I can keep notes and find them. Ask a question, tell me a fact, or type /help.",
            "For example: We deploy on Tuesdays",
        ]
        chat.say("we deploy on tuesdays")
        chat.until("[e]dit")
        chat.say("y")
        chat.until("✓ Saved memory 1: we deploy on tuesdays")
        chat.say("no, wednesdays")
        chat.until("edit> we deploy on tuesdays")
        chat.keys("\x15")
        chat.say("we deploy on wednesdays")
        chat.until("✓ Edited memory 1: we deploy on wednesdays (/undo takes it back)")
        chat.say("which day do we deploy?")
        chat.until("[1] this project")
        chat.say("forget the deploys")
        chat.until("→ /forget")
        chat.until("Forget this one? [y/N]")
        chat.say("n")
        chat.until("Nothing was changed.")
        chat.say("running five minutes late")
        chat.until("Press y to keep it in this project.")
        chat.say("y")
        chat.until("✓ Saved memory 2: running five minutes late")
        chat.say("undo that")
        chat.until("Undo save of 002-running-five-minutes-late.md? [y/N]")
        chat.say("y")
        chat.until("Undone: save of")
        assert chat.leave().code == 0
    assert bodies() == ["we deploy on wednesdays"]


def test_help_fits_a_screen_of_24_rows_and_names_every_command() -> None:
    with Talking(columns="80") as chat:
        chat.say("/help")
        shown = chat.until("Ctrl+R searches what you typed.").rpartition("a question")[2]
        chat.leave()
    assert all(f"/{name}" in shown for name in slash.COMMANDS)
    assert shown.count("\n") < 23
    assert max(map(len, shown.split("\n")[1:])) < 80
