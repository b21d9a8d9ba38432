"""Which model a session talks to, and what is said when it does not answer.

The faults come from a real server in a process of its own, through the agent framework.
"""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
from collections.abc import AsyncIterable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple

import pytest
from openai_server import Server, serving
from pydantic_ai import Agent, RunContext, UsageLimits
from pydantic_ai.exceptions import ModelConnectionError, UserError
from pydantic_ai.messages import AgentStreamEvent
from pydantic_ai.models import Model
from pydantic_ai.models.openai import OpenAIResponsesModel

from co_cli.config import Settings
from co_cli.errors import SettingsError
from co_cli.extras import install_hint
from co_cli.providers import models
from co_cli.providers.models import build, choose
from co_cli.providers.registry import PROVIDERS, Choice
from co_cli.providers.trouble import Trouble, explain

KEY = "test-7f3a9c"
TEXT = "I prefer oolong in the blue pot"
GEMINI, OPENAI = "https://generativelanguage.googleapis.com", "https://api.openai.com/v1"
ANTHROPIC, OLLAMA = "https://api.anthropic.com", "http://localhost:11434/v1"
LOCAL = "http://localhost:8000/v1"


# ── choosing ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("option", "provider", "name", "url"),
    [
        ("gemini", "gemini", "gemini-flash-latest", GEMINI),
        ("google", "gemini", "gemini-flash-latest", GEMINI),
        (" Google : gemini-2.5-pro ", "gemini", "gemini-2.5-pro", GEMINI),
        ("anthropic", "anthropic", "claude-sonnet-5-5", ANTHROPIC),
        ("openai", "openai", "gpt-6.1-terra", OPENAI),
        ("openai:", "openai", "gpt-6.1-terra", OPENAI),
        ("openai:ft:gpt-5:co", "openai", "ft:gpt-5:co", OPENAI),
        ("ollama", "ollama", "qwen3", OLLAMA),
        ("ollama:llama3.2:3b", "ollama", "llama3.2:3b", OLLAMA),
        ("compatible", "compatible", "default", LOCAL),
        ("compatible:qwen/qwen3", "compatible", "qwen/qwen3", LOCAL),
        ("offline", "offline", "", ""),
        ("OFFLINE", "offline", "", ""),
    ],
)
def test_a_model_is_named_by_its_provider_and_its_name(
    option: str, provider: str, name: str, url: str
) -> None:
    choice = choose(option, Settings(model_base_url=LOCAL), {})
    assert choice == Choice(provider, name, "--model", (), url)
    assert str(choice) == (f"{provider}:{name}" if name else provider)


def test_an_option_comes_before_the_settings_and_they_before_any_key() -> None:
    """Red when a key in the environment outweighs what a person has chosen."""
    env = {"CO_CLI_MODEL": " ollama:small ", "GEMINI_API_KEY": KEY}
    merged = Settings(model="ollama:small")
    assert choose("anthropic:mine", merged, env).explain() == "anthropic:mine (--model)"
    assert choose("", merged, env).explain() == "ollama:small (CO_CLI_MODEL)"
    assert choose(None, Settings(model="openai:big"), {"GEMINI_API_KEY": KEY}).explain() == (
        "openai:big (settings.json)"
    )
    assert choose(None, Settings(model="offline"), env).explain() == "offline (settings.json)"


@pytest.mark.parametrize(
    ("env", "base_url", "line"),
    [
        ({}, "", "offline (no model is chosen and no key is set)"),
        ({"GEMINI_API_KEY": " "}, "", "offline (no model is chosen and no key is set)"),
        ({"GOOGLE_API_KEY": KEY}, "", "gemini:gemini-flash-latest (GOOGLE_API_KEY is set)"),
        ({"ANTHROPIC_API_KEY": KEY}, "", "anthropic:claude-sonnet-5-5 (ANTHROPIC_API_KEY is set)"),
        ({"OPENAI_API_KEY": KEY}, "", "openai:gpt-6.1-terra (OPENAI_API_KEY is set)"),
        ({"OLLAMA_HOST": "0.0.0.0"}, "", "ollama:qwen3 (OLLAMA_HOST is set)"),
        ({"OLLAMA_BASE_URL": OLLAMA}, "", "ollama:qwen3 (OLLAMA_BASE_URL is set)"),
        ({"OLLAMA_API_KEY": KEY}, "", "offline (no model is chosen and no key is set)"),
        ({}, LOCAL, "compatible:default (model_base_url is set)"),
        (
            {"OPENAI_API_KEY": KEY, "GEMINI_API_KEY": KEY},
            "",
            "gemini:gemini-flash-latest (GEMINI_API_KEY and OPENAI_API_KEY are both set; "
            'gemini comes first). Set "model" to choose.',
        ),
        (
            {"OLLAMA_HOST": "here", "ANTHROPIC_API_KEY": KEY},
            LOCAL,
            "compatible:default (model_base_url, ANTHROPIC_API_KEY and OLLAMA_HOST are all set; "
            'compatible comes first). Set "model" to choose.',
        ),
    ],
)
def test_without_a_choice_the_first_that_is_set_up_is_taken_and_explained(
    env: dict[str, str], base_url: str, line: str
) -> None:
    choice = choose(None, Settings(model_base_url=base_url), env)
    assert choice.explain() == line
    assert KEY not in repr(choice)


def test_the_others_that_are_set_up_are_named() -> None:
    env = {"OPENAI_API_KEY": KEY, "GEMINI_API_KEY": KEY, "GOOGLE_API_KEY": KEY}
    assert choose(None, Settings(), env).others == ("openai",)
    assert choose("ollama", Settings(), env).others == ()


WRONG = {
    "gpt-6.1-terra": "Did you mean openai:gpt-6.1-terra? ",
    "gemini-flash-latest": "Did you mean gemini:gemini-flash-latest? ",
    "Claude-opus": "Did you mean anthropic:Claude-opus? ",
    "llama3.2:3b": "Did you mean ollama:llama3.2:3b? ",
    "gemni:flash": "Did you mean gemini:flash? ",
    "olama": "Did you mean ollama? ",
    "offline:small": "Did you mean offline? ",
    "zzzzzzzz": "",
}


@pytest.mark.parametrize("text", WRONG)
def test_a_name_without_a_provider_is_answered_with_the_nearest(text: str) -> None:
    with pytest.raises(SettingsError) as caught:
        choose(text, Settings(), {})
    assert str(caught.value) == f"--model: there is no model '{text}'"
    assert caught.value.hint == (
        f"{WRONG[text]}Use offline, or PROVIDER:MODEL with gemini, anthropic, openai, ollama or "
        "compatible."
    )


def test_in_the_chat_another_model_is_chosen_with_a_slash_command() -> None:
    """Red when a hint names an option of the command line where nobody can type it."""
    with pytest.raises(SettingsError, match=r"^/model: there is no model 'gemni'$"):
        choose("gemni", Settings(), {}, "/model")
    choice = choose("ollama:small", Settings(), {}, "/model")
    assert choice.explain() == "ollama:small (/model)"
    error = ModelConnectionError("x", "broken", phase="read")
    trouble = explain(error, choice)
    assert trouble is not None
    assert trouble.hint == "Try again in a while, or choose another model with /model."


@pytest.mark.parametrize("name", ["two words", "a\x1b[2Jb", "a\nb", "x" * 201])
def test_a_name_that_no_model_has_is_shown_harmlessly(name: str) -> None:
    with pytest.raises(SettingsError, match=r"^settings\.json: there is no model") as caught:
        choose(None, Settings(model=f"openai:{name}"), {})
    assert str(caught.value).isprintable()


def test_a_key_in_the_place_of_a_name_is_not_shown() -> None:
    key = "sk-proj-" + "Ab1" * 16
    for text in (key, f"openai:{key}"):
        with pytest.raises(SettingsError) as caught:
            choose(text, Settings(), {})
        assert str(caught.value) == "--model holds what looks like a key, not a name"


# ── addresses ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "url", "host"),
    [
        ("127.0.0.1:11434", "http://127.0.0.1:11434/v1", "127.0.0.1:11434"),
        ("0.0.0.0", "http://localhost:11434/v1", "localhost:11434"),
        ("0.0.0.0:99", "http://localhost:99/v1", "localhost:99"),
        (":99", "http://localhost:99/v1", "localhost:99"),
        ("[::]", "http://localhost:11434/v1", "localhost:11434"),
        ("[::1]", "http://[::1]:11434/v1", "[::1]:11434"),
        ("box.lan", "http://box.lan:11434/v1", "box.lan:11434"),
        ("box.lan/", "http://box.lan:11434/v1", "box.lan:11434"),
        ("http://box.lan", "http://box.lan/v1", "box.lan:80"),
        ("https://box.lan/v1/", "https://box.lan/v1", "box.lan:443"),
    ],
)
def test_ollamas_own_variable_is_read_as_ollama_reads_it(text: str, url: str, host: str) -> None:
    choice = choose("ollama", Settings(), {"OLLAMA_HOST": text})
    assert (choice.base_url, choice.host) == (url, host)


@pytest.mark.parametrize(
    ("option", "variable", "value", "url"),
    [
        ("ollama", "OLLAMA_BASE_URL", "http://box:1", "http://box:1/v1"),
        ("openai", "OPENAI_BASE_URL", "https://proxy.example/v2/", "https://proxy.example/v2"),
        ("anthropic", "ANTHROPIC_BASE_URL", "https://proxy.example", "https://proxy.example"),
        ("gemini", "GOOGLE_GEMINI_BASE_URL", "https://proxy.example", "https://proxy.example"),
    ],
)
def test_the_address_in_the_environment_is_used(
    option: str, variable: str, value: str, url: str
) -> None:
    assert choose(option, Settings(), {variable: value}).base_url == url


BAD = ["localhost:8000", "ftp://box/v1", "http://", "http://a b/", "http://box:99999/", "http://[x"]


@pytest.mark.parametrize("url", [*BAD, "http://box\x1b[2J/", "file:///etc/passwd", "http://b:0/"])
def test_an_address_must_be_one(url: str) -> None:
    line = "must be an http or https address, such as http://localhost:8000/v1"
    with pytest.raises(SettingsError) as caught:
        choose("compatible:x", Settings(model_base_url=url), {})
    assert str(caught.value) == f"model_base_url {line}"
    with pytest.raises(SettingsError) as caught:
        choose("openai", Settings(), {"OPENAI_BASE_URL": url})
    assert str(caught.value) == f"OPENAI_BASE_URL {line}"


@pytest.mark.parametrize(
    "url",
    [
        "https://ada:hush-hush@box.lan/v1",
        "https://hush-hush@box.lan/v1",
        "https://ada:hush/hush@box.lan/v1",
        "https://box.lan/v1?api_key=sk-proj-hush-hush-hush-hush-12345678",
    ],
)
def test_a_password_in_an_address_is_refused_and_never_shown(url: str) -> None:
    """Red when an address that holds a password is used, or shown."""
    with pytest.raises(SettingsError) as caught:
        choose("compatible:x", Settings(model_base_url=url), {})
    error = caught.value
    assert str(error) == "model_base_url holds a name or password, which an address must not"
    assert error.hint == "Take it out of the address; a key goes into CO_CLI_MODEL_API_KEY."
    for option, variable in (("ollama", "OLLAMA_HOST"), ("openai", "OPENAI_BASE_URL")):
        with pytest.raises(SettingsError, match=f"^{variable} holds a name or password"):
            choose(option, Settings(), {variable: url})


def test_a_compatible_server_needs_an_address() -> None:
    with pytest.raises(SettingsError) as caught:
        choose("compatible:small", Settings(), {})
    message = "compatible:MODEL needs an address, and model_base_url is not set"
    assert str(caught.value) == message


# ── building ──────────────────────────────────────────────────────────────────────────────────


def _built(option: str, env: dict[str, str], base_url: str = "") -> Model[Any]:
    return build(choose(option, Settings(model_base_url=base_url), env), env)


@pytest.mark.parametrize(
    ("option", "env", "kind", "system"),
    [
        ("gemini", {"GEMINI_API_KEY": KEY}, "GoogleModel", "google"),
        ("anthropic", {"ANTHROPIC_API_KEY": KEY}, "AnthropicModel", "anthropic"),
        ("openai", {"OPENAI_API_KEY": KEY}, "OpenAIResponsesModel", "openai"),
        (
            "openai",
            {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": "https://eu.api.openai.com/v1"},
            "OpenAIResponsesModel",
            "openai",
        ),
        ("openai:x", {"OPENAI_BASE_URL": LOCAL}, "OpenAIChatModel", "openai"),
        ("ollama", {}, "OllamaModel", "ollama"),
        ("compatible:x", {}, "OpenAIChatModel", "compatible"),
    ],
)
def test_each_provider_gives_its_own_kind_of_model(
    option: str, env: dict[str, str], kind: str, system: str
) -> None:
    choice = choose(option, Settings(model_base_url=LOCAL), env)
    model = build(choice, env)
    assert (type(model).__name__, model.system) == (kind, system)
    assert model.model_name == choice.name
    assert (model.base_url or "").rstrip("/") == choice.base_url
    assert model.settings == {"timeout": 120.0, "max_retries": 0}


@pytest.mark.parametrize("provider", ["gemini", "anthropic", "openai"])
def test_a_key_that_is_missing_is_asked_for_by_name(provider: str) -> None:
    choice = choose(provider, Settings(), {})
    with pytest.raises(SettingsError) as caught:
        build(choice, {})
    name = PROVIDERS[provider].keys[0]
    assert str(caught.value) == f"{choice} needs a key, and {name} is not set"
    assert caught.value.hint == (
        f"Set {name} in your environment, or choose another model with --model."
    )


@pytest.mark.parametrize("key", ["hush hush", "hush\nhush", "hüsh-hush", "hush\x7f"])
def test_a_key_that_would_be_shown_in_a_complaint_is_not_sent(key: str) -> None:
    with pytest.raises(SettingsError) as caught:
        _built("openai", {"OPENAI_API_KEY": key})
    assert str(caught.value) == "OPENAI_API_KEY holds a character that no key has"


def test_offline_there_is_nothing_to_build() -> None:
    with pytest.raises(SettingsError, match=r"^there is no model to talk to offline$"):
        build(choose("offline", Settings(), {}), {})


LIBRARIES = {"gemini": "google.genai", "anthropic": "anthropic", "ollama": "openai"}
KEYS = {"GEMINI_API_KEY": KEY, "ANTHROPIC_API_KEY": KEY, "OPENAI_API_KEY": KEY}


def _in_a_process(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout


def test_importing_it_loads_no_framework_and_no_library() -> None:
    code = f"""
import sys
from co_cli.providers import models
from co_cli.config import Settings
models.choose("gemini", Settings(), {KEYS!r})
print([name for name in ("asyncio", "httpx2", "pydantic_ai", *{[*LIBRARIES.values()]!r})
       if name in sys.modules])
"""
    assert _in_a_process(code) == "[]\n"


@pytest.mark.parametrize("provider", LIBRARIES)
def test_building_a_model_loads_no_other_providers_library(provider: str) -> None:
    code = f"""
import sys
from co_cli.providers import models
from co_cli.config import Settings
models.build(models.choose({provider!r}, Settings(), {KEYS!r}), {KEYS!r})
print([name for name in {[*LIBRARIES.values()]!r} if name in sys.modules])
"""
    assert _in_a_process(code) == f"{[LIBRARIES[provider]]}\n"


@pytest.mark.parametrize("provider", LIBRARIES)
def test_a_package_that_is_missing_is_told_with_what_installs_it(provider: str) -> None:
    """In a process of its own, in which the package cannot be found."""
    code = f"""
import sys

class Without:
    def find_spec(self, name, path=None, target=None):
        if name == {LIBRARIES[provider]!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Without())
from co_cli.providers import models
from co_cli.config import Settings
from co_cli.errors import SettingsError
try:
    models.build(models.choose({provider!r}, Settings(), {KEYS!r}), {KEYS!r})
except SettingsError as error:
    print(error, error.hint, sep="|")
"""
    choice = choose(provider, Settings(), KEYS)
    assert _in_a_process(code) == (
        f"{choice} needs a package that is not installed|To install it: {install_hint('models')}\n"
    )


# ── talking to a server, and what goes wrong ──────────────────────────────────────────────────


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server for all tests that leave nothing behind in it."""
    with serving(tmp_path_factory.mktemp("server")) as found:
        yield found


class Talk(NamedTuple):
    """What an agent answered and what it saved."""

    answer: str
    saved: list[str]


def _talk(model: Model[Any], text: str, *, stream: bool = True) -> Talk:
    """A turn of an agent with two tools, a notebook in a list behind them."""
    saved: list[str] = []

    async def save_memory(content: str, tags: list[str]) -> dict[str, str]:
        """Save a memory."""
        if "password" in content:
            return {"error": "this looks like a password"}
        saved.append(f"{content} {tags}")
        ref = f"{len(saved):03d}"
        return {"display": f"✓ Saved memory {ref}: x", "ref": ref}

    async def recall_memory(query: str) -> dict[str, str]:
        """Find memories."""
        if "tea" not in query:
            return {"display": f"No memories found matching '{query}'\n2 memories searched."}
        found = "**Memory 007** (created 2026-01-02)\nTags: preference\nUser prefers oolong\n"
        return {"display": f"Found 1 memory matching '{query}':\n\n{found}"}

    async def watch(_: RunContext[object], events: AsyncIterable[AgentStreamEvent]) -> None:
        async for _event in events:
            pass

    async def turn() -> Talk:
        agent = Agent(model, tools=[save_memory, recall_memory])
        limits = UsageLimits(request_limit=5)
        async with agent:
            handler = watch if stream else None
            result = await agent.run(text, event_stream_handler=handler, usage_limits=limits)
        return Talk(result.output, saved)

    return asyncio.run(turn())


WIRES = ["chat", "responses", "ollama", "compatible"]


def _wired(wire: str, name: str, url: str) -> tuple[Choice, Model[Any]]:
    """A model built as a person's would be, that asks the server at the address."""
    env = {"OPENAI_API_KEY": KEY, "CO_CLI_MODEL_API_KEY": KEY, "OLLAMA_BASE_URL": url}
    if wire == "chat":
        env["OPENAI_BASE_URL"] = url
    provider = "openai" if wire in ("chat", "responses") else wire
    choice = choose(f"{provider}:{name}", Settings(model_base_url=url), env)
    model = build(choice, env)
    if isinstance(model, OpenAIResponsesModel):  # OpenAI's own address is out of bounds here
        model.client.base_url = url
    return choice, model


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
@pytest.mark.parametrize("wire", WIRES)
def test_a_model_saves_recalls_and_chats(server: Server, wire: str, stream: bool) -> None:
    """Red when a wire does not carry text, several tool calls or their results."""
    _, model = _wired(wire, "good", server.url)
    assert _talk(model, f"{TEXT} and also we decided to ship.", stream=stream) == Talk(
        "Saved as 001. Saved as 002.",
        ["User prefers oolong in the blue pot ['preference']", "We decided to ship ['decision']"],
    )
    assert _talk(model, "Which tea do I like?", stream=stream) == Talk(
        "I remember: User prefers oolong [007].", []
    )
    assert _talk(model, "Who am I?", stream=stream) == Talk("I know nothing about that.", [])
    assert _talk(model, "Remember that my password is x", stream=stream) == Talk(
        "Not saved: this looks like a password", []
    )
    assert _talk(model, "Hello", stream=stream) == Talk("You said: Hello", [])


CUT = "the answer of {} was cut off"
BROKEN = "the answer of {} is incomplete or cannot be read"
AGAIN = "Try again in a while, or choose another model with --model."
USELESS = Trouble(
    "{} gave no usable answer, or kept calling a tool wrongly",
    "Try again, or choose a model that is better with tools.",
)
FAULTS = {
    "400": Trouble("{} rejected the request (400): Unsupported value for 'temperature'."),
    "401": Trouble("{} refused the key", "Check OPENAI_API_KEY."),
    "403": Trouble(
        "{} refused access (403): Country, region, or territory not supported",
        "Check OPENAI_API_KEY.",
    ),
    "403-key": Trouble("{} refused access (403)", "Check OPENAI_API_KEY."),
    "404": Trouble("openai has no model 'faulty-404' (404)", "Choose another model with --model."),
    "409": Trouble("{} answered with an error (409): Lock\\x1b[2J timeout " + "x" * 180, AGAIN),
    "429": Trouble("{} takes no more requests just now (429); it asks to wait 1 s", AGAIN),
    "quota": Trouble(
        "the quota or credit for {} is used up (429)",
        "See your account with the provider, or choose another model with --model.",
    ),
    "500": Trouble("{} had an internal error (500)", AGAIN),
    "503": Trouble("{} is not available just now (503)", AGAIN),
    "503-busy": Trouble("{} is overloaded (503)", AGAIN),
    "cut": Trouble(CUT, AGAIN),
    "malformed-always": USELESS,
    "twice": USELESS,
    "overflow-100": Trouble(
        "the conversation is too long for {}",
        "Say less at once, shorten it with /compact, or start over with /clear.",
        overflow=True,
    ),
    "filter": Trouble("{} withheld its answer (content filter)", "Try other words."),
    "length": Trouble("the answer of {} reached its length limit", "Ask for less at once."),
    "loop": Trouble("{} needed more steps than one turn may take", "Ask for less at once."),
}


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
@pytest.mark.parametrize("fault", FAULTS)
def test_what_goes_wrong_is_one_plain_line(server: Server, fault: str, stream: bool) -> None:
    """Red when a fault gets another line, or shows a key or what was said."""
    choice, model = _wired("responses", f"faulty-{fault}", server.url)
    trouble = _trouble(choice, model, stream=stream)
    wanted = FAULTS[fault]
    assert trouble == wanted._replace(line=wanted.line.format(choice))
    assert _trouble(*_wired("chat", f"faulty-{fault}", server.url), stream=stream) == (
        trouble._replace(hint=f"Check the name, and whether {server.url} is right.")
        if fault == "404"
        else trouble
    )
    assert (trouble.line + trouble.hint).isprintable()
    assert KEY not in trouble.line
    assert "oolong" not in trouble.line


def _trouble(choice: Choice, model: Model[Any], *, stream: bool = True) -> Trouble:
    with pytest.raises(Exception) as caught:  # noqa: PT011  every kind there is
        _talk(model, TEXT, stream=stream)
    trouble = explain(caught.value, choice)
    assert trouble is not None, repr(caught.value)
    return trouble


@pytest.mark.parametrize("wire", ["chat", "ollama", "compatible"])
def test_a_stream_that_ends_without_an_end_is_no_whole_answer(server: Server, wire: str) -> None:
    """Red when half an answer passes for all of it."""
    choice, model = _wired(wire, "faulty-short", server.url)
    assert _trouble(choice, model) == Trouble(BROKEN.format(choice), AGAIN)


@pytest.mark.parametrize("wire", ["chat", "responses"])
@pytest.mark.parametrize("fault", ["malformed", "unknown-tool", "overflow-60000"])
def test_a_model_that_mends_its_ways_is_not_stopped(server: Server, fault: str, wire: str) -> None:
    _, model = _wired(wire, f"faulty-{fault}", server.url)
    assert _talk(model, TEXT) == Talk(
        "Saved as 001.", ["User prefers oolong in the blue pot ['preference']"]
    )


def test_the_same_call_under_two_ids_comes_through_twice(server: Server) -> None:
    _, model = _wired("chat", "faulty-twins", server.url)
    assert len(_talk(model, TEXT).saved) == 2


def test_a_summary_is_made_of_what_was_sent(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        _, model = _wired("chat", "good", server.url)

        async def ask() -> str:
            async with Agent(model, instructions="Summarise the conversation.") as agent:
                return (await agent.run("user: I like oolong")).output

        assert asyncio.run(ask()) == "Summary of the conversation:\nuser: user: I like oolong"
        (sent,) = server.requests()
    assert sent["model"] == "good"
    assert [message["role"] for message in sent["messages"]] == ["system", "user"]


@pytest.mark.parametrize("fault", ["500", "cut"])
def test_what_fails_once_is_not_tried_again_behind_the_back(tmp_path: Path, fault: str) -> None:
    """Red when a library retries by itself, and waits as long as a provider tells it to."""
    with serving(tmp_path) as server:
        choice, model = _wired("chat", f"faulty-once-{fault}", server.url)
        _trouble(choice, model)
        assert len(server.requests()) == 1
        assert _talk(model, "Hello").answer == "You said: Hello"


def test_a_rate_limit_is_told_at_once(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        for wire in ("chat", "responses"):
            _trouble(*_wired(wire, "faulty-429", server.url))
        assert len(server.requests()) == 2


def test_a_model_of_another_name_may_be_suggested(server: Server) -> None:
    choice, model = _wired("chat", "gpt-6.1-tera", server.url)
    assert _trouble(choice, model) == Trouble(
        "openai has no model 'gpt-6.1-tera' (404)", "Did you mean openai:gpt-6.1-terra?"
    )


def test_a_model_that_ollama_lacks_can_be_pulled(server: Server) -> None:
    choice, model = _wired("ollama", "faulty-404", server.url)
    assert _trouble(choice, model).hint == (
        "Run `ollama pull faulty-404`, or choose another model with --model."
    )


def test_a_server_that_never_answers_is_not_waited_for(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(models, "SECONDS", 0.5)
    choice, model = _wired("chat", "faulty-silent", server.url)
    assert _trouble(choice, model) == Trouble(
        f"openai:faulty-silent did not answer in time ({choice.host})", AGAIN
    )


def _closed() -> str:
    """The address of a port at which nobody listens."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{found.getsockname()[1]}/v1"


@pytest.mark.parametrize(
    ("option", "variable", "hint"),
    [
        ("ollama:x", "OLLAMA_BASE_URL", "Is `ollama serve` running?"),
        ("openai:x", "OPENAI_BASE_URL", "Is the server running there?"),
        ("anthropic:x", "ANTHROPIC_BASE_URL", "Is the server running there?"),
        ("gemini:x", "GOOGLE_GEMINI_BASE_URL", "Is the server running there?"),
    ],
)
def test_nobody_there_is_told_with_the_address(option: str, variable: str, hint: str) -> None:
    url = _closed()
    env = {**KEYS, variable: url}
    choice = choose(option, Settings(), env)
    assert _trouble(choice, build(choice, env)) == Trouble(
        f"{option} cannot be reached at {choice.host}", hint
    )


def test_a_provider_out_of_reach_is_no_reason_to_stop() -> None:
    error = ModelConnectionError("x", "no route", phase="connect")
    assert explain(error, choose("gemini", Settings(), {})) == Trouble(
        "gemini:gemini-flash-latest cannot be reached at generativelanguage.googleapis.com:443",
        "Check your network connection.",
    )


def test_an_error_that_is_not_a_models_is_not_explained() -> None:
    choice = choose("gemini", Settings(), {})
    for error in (ValueError("x"), KeyboardInterrupt(), UserError("x"), asyncio.CancelledError()):
        assert explain(error, choice) is None


def test_only_the_key_of_a_server_is_sent_to_it(server: Server) -> None:
    """Red when OpenAI's key goes to whatever address a person sets up."""
    env = {"OPENAI_API_KEY": KEY}
    choice = choose("compatible:faulty-401", Settings(model_base_url=server.url), env)
    with pytest.raises(Exception, match="Incorrect API key provided: none") as caught:
        _talk(build(choice, env), TEXT)
    assert KEY not in repr(caught.value)
    trouble = explain(caught.value, choice)
    assert trouble is not None
    assert trouble.hint == "Check CO_CLI_MODEL_API_KEY."


# ── the other two protocols, as far as a refusal goes ─────────────────────────────────────────


class Refusing(ThreadingHTTPServer):
    """Answers every request with the same refusal."""

    status = 0
    body: object
    paths: list[str]


class Refusal(BaseHTTPRequestHandler):
    """One request."""

    server: Refusing

    def do_POST(self) -> None:
        """Refuse."""
        self.rfile.read(int(self.headers["Content-Length"]))
        self.server.paths.append(self.path.partition("?")[0])
        raw = json.dumps(self.server.body).encode()
        self.send_response(self.server.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.send_header("Retry-After", "30")
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def refusing() -> Iterator[Refusing]:
    """A server that refuses."""
    with Refusing(("127.0.0.1", 0), Refusal) as found:
        found.paths = []
        thread = Thread(target=found.serve_forever, args=(0.01,))
        thread.start()
        yield found
        found.shutdown()
        thread.join()


def _of_anthropic(kind: str, message: str) -> object:
    return {"type": "error", "error": {"type": kind, "message": message}}


def _of_google(code: int, status: str, message: str, reason: str = "") -> object:
    kind = "type.googleapis.com/google.rpc.ErrorInfo"
    details = [{"@type": kind, "reason": reason}] if reason else []
    error = {"code": code, "message": message, "status": status, "details": details}
    return {"error": error}


GOOGLES = "Check GEMINI_API_KEY or GOOGLE_API_KEY."
REFUSALS = [
    ("anthropic", 401, _of_anthropic("authentication_error", f"invalid x-api-key {KEY}"),
     Trouble("{} refused the key", "Check ANTHROPIC_API_KEY.")),
    ("anthropic", 400, _of_anthropic("invalid_request_error", "prompt is too long: 9 tokens"),
     Trouble("the conversation is too long for {}",
             "Say less at once, shorten it with /compact, or start over with /clear.",
             overflow=True)),
    ("anthropic", 400, _of_anthropic("invalid_request_error", "Your credit balance is too low"),
     Trouble("the quota or credit for {} is used up (400)",
             "See your account with the provider, or choose another model with --model.")),
    ("anthropic", 529, _of_anthropic("overloaded_error", "Overloaded"),
     Trouble("{} is overloaded (529); it asks to wait 30 s", AGAIN)),
    ("gemini", 400, _of_google(400, "INVALID_ARGUMENT", f"{KEY} not valid", "API_KEY_INVALID"),
     Trouble("{} refused the key", GOOGLES)),
    ("gemini", 403, _of_google(403, "PERMISSION_DENIED", f"Consumer {KEY} suspended"),
     Trouble("{} refused access (403)", GOOGLES)),
    ("gemini", 400, _of_google(400, "INVALID_ARGUMENT", "The input token count (9) exceeds"),
     Trouble("the conversation is too long for {}",
             "Say less at once, shorten it with /compact, or start over with /clear.",
             overflow=True)),
    ("gemini", 429, _of_google(429, "RESOURCE_EXHAUSTED", "You exceeded your quota"),
     Trouble("{} takes no more requests just now (429); it asks to wait 30 s",
             AGAIN)),
    ("gemini", 503, _of_google(503, "UNAVAILABLE", "The model is overloaded."),
     Trouble("{} is overloaded (503); it asks to wait 30 s", AGAIN)),
]  # fmt: skip


@pytest.mark.parametrize(
    ("provider", "status", "body", "wanted"), REFUSALS, ids=lambda value: str(value)[:20]
)
def test_a_refusal_by_any_provider_is_one_plain_line(
    refusing: Refusing, provider: str, status: int, body: object, wanted: Trouble
) -> None:
    """Red when a provider's kinds of error are not told apart, or are waited for."""
    refusing.status, refusing.body = status, body
    variable = PROVIDERS[provider].url_from[0]
    env = {**KEYS, variable: f"http://127.0.0.1:{refusing.server_port}"}
    choice = choose(f"{provider}:small", Settings(), env)
    wanted = wanted._replace(line=wanted.line.format(choice))
    assert [_trouble(choice, build(choice, env), stream=False)] == [wanted]
    path = "/v1/messages" if provider == "anthropic" else "/v1/models/small:generateContent"
    assert refusing.paths == [path]
