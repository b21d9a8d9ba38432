"""What Co refuses to store is in no line of a transcript, and the line can still be read."""

from __future__ import annotations

import json
import re
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from co_cli.agent import history
from co_cli.chat import transcripts
from co_cli.chat.redact import LEFT_OUT, without_secrets
from co_cli.chat.transcripts import Transcript
from co_cli.knowledge.safety.secrets import find_secret

SECRET = "AKIAIOSFODNN7EXAMPLA"
SAID = f"The key is {SECRET}"
ESCAPED = "".join(f"\\u{ord(char):04x}" for char in SECRET)
LINES = "-----BEGIN\\u0020RSA PRIVATE\\u0020KEY-----\\nMIIEow"


def nested(text: str, times: int) -> str:
    for _ in range(times):
        text = json.dumps({"more": text})
    return text


ARGUMENTS: list[Any] = [
    json.dumps({"content": SAID, "tags": ["context"]}),
    f'{{"content": "The key is {ESCAPED}", "tags": ["context"]}}',
    f'{{"content": "The key is {ESCAPED.upper().replace("U", "u")}"}}',
    f'{{"content": "{LINES}"}}',
    nested(f'{{"content": "The key is {ESCAPED}"}}', 1),
    nested(f'{{"content": "The key is {ESCAPED}"}}', 3),
    nested(SAID, 12),
    json.dumps({"content": {"deep": [{"er": [SAID]}]}}),
    json.dumps({SAID: "a name"}),
    f'{{"content": "The key is {ESCAPED}',
    f'{{"content": "The key is {ESCAPED}", "tags": ["con',
    f'{{"content": "{ESCAPED}", "content": "harmless"}}',
    f' \n{{"content": "The key is {ESCAPED}"}}',
    "\\u005c".join(["", *re.findall("u....", ESCAPED)]).join(['{"content": "', '"}']),
    {"content": SAID, "tags": []},
    {"content": {"inner": json.dumps(json.dumps(ESCAPED))}},
    {"password": "Tr0ub4dor&3zQ9x"},
    {"login": {"password": "Tr0ub4dor&3zQ9x"}},
]


def told(text: str) -> str:
    """What can be read out of a text by undoing its escapes, again and again."""
    seen = text
    for _ in range(40):
        text = re.sub(r'\\(?:u([0-9a-fA-F]{4})|(["\\/]))', _letter, text)
        seen += text
    return seen


def _letter(found: re.Match[str]) -> str:
    return found[2] or chr(int(found[1], 16))


def kept(messages: list[ModelMessage], name: str = "turn") -> tuple[str, list[ModelMessage]]:
    """A transcript's lines, and the messages that a conversation would go on from."""
    transcript = Transcript(".", lambda: datetime(2026, 11, 15, tzinfo=UTC))
    transcript.write(**{name: ModelMessagesTypeAdapter.dump_python(messages, mode="json")})
    lines = Path(transcript.path).read_text(encoding="utf-8")
    plain = transcripts.load(transcript.path).messages
    return lines, ModelMessagesTypeAdapter.validate_python(plain)


@pytest.mark.parametrize("name", ["turn", "working"])
@pytest.mark.parametrize("arguments", ARGUMENTS, ids=range(len(ARGUMENTS)))
def test_a_secret_in_a_tools_arguments_is_not_kept(arguments: Any, name: str) -> None:
    """Red when arguments are looked at as they travel, and not as what they say."""
    call = ToolCallPart("save_memory", arguments, "1")
    back = ToolReturnPart("save_memory", "It cannot be done", "1", outcome="denied")
    said: list[ModelMessage] = [
        ModelRequest([UserPromptPart("keep it")]), ModelResponse([call]), ModelRequest([back]),
    ]  # fmt: skip
    lines, messages = kept(said, name)
    assert SECRET not in told(lines)
    assert "MIIEow" not in told(lines)
    assert "Tr0ub4dor" not in lines
    part = messages[1].parts[0]
    assert isinstance(part, ToolCallPart)
    assert part.args_as_dict(raise_if_invalid=True)
    assert history.whole(messages) == messages


@pytest.mark.parametrize("text", ARGUMENTS, ids=range(len(ARGUMENTS)))
def test_a_secret_in_what_came_back_is_not_kept(text: Any) -> None:
    """Red when a retry that echoes arguments, or an answer, passes as it is."""
    errors = [{"type": "json_invalid", "loc": ["content"], "msg": "no", "input": text}]
    retry = {"part_kind": "retry-prompt", "tool_name": "a", "tool_call_id": "1"}
    [again] = ModelMessagesTypeAdapter.validate_python(
        [{"kind": "request", "parts": [{**retry, "content": errors}]}]
    )
    said: list[ModelMessage] = [
        ModelRequest([UserPromptPart("keep it")]),
        ModelResponse([ToolCallPart("a", "{}", "1"), ToolCallPart("a", "{}", "2")]),
        again,
        ModelRequest([ToolReturnPart("a", text, "2", outcome="failed")]),
        ModelResponse([TextPart(f"It said: {text}")]),
    ]  # fmt: skip
    lines, messages = kept(said)
    assert SECRET not in told(lines)
    assert "MIIEow" not in told(lines)
    assert len(messages) == len(said)


def test_all_else_in_the_arguments_stays() -> None:
    arguments = f'{{"content": "The key is {ESCAPED}", "tags": ["context", "ünïcode"], "n": 1.5}}'
    assert json.loads(without_secrets(arguments)) == {
        "content": LEFT_OUT, "tags": ["context", "ünïcode"], "n": 1.5,
    }  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [r"C:\users\new\temp", '{"content": "We deploy\\non Tuesdays"}', "\\" * 99, "{", '"', r"\u00"],
)
def test_what_is_no_secret_stays_to_the_letter(text: str) -> None:
    record = {"turn": [{"parts": [{"args": text, "content": {"a": text}}]}]}
    assert without_secrets(record) == record


@given(st.recursive(st.text() | st.none() | st.integers() | st.booleans(), st.lists, max_leaves=9))
def test_a_record_without_secrets_is_the_same(value: Any) -> None:
    text = json.dumps({"content": value})
    if not find_secret(text):
        assert without_secrets(text) == text


def test_what_stands_in_its_place_is_no_secret() -> None:
    """Red when the remark is itself taken for a secret, and all arguments go with it."""
    assert not find_secret(json.dumps({"content": LEFT_OUT, "tags": [LEFT_OUT]}))


@pytest.mark.parametrize("piece", ["\\", "\\u005c", '{"a":', '\\"', "\\n"])
def test_escapes_without_end_take_no_time(piece: str) -> None:
    began = time.process_time()
    without_secrets({"args": '{"content": "' + piece * (1_000_000 // len(piece))})
    assert time.process_time() - began < 5
