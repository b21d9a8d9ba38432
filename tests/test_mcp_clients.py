"""The MCP server as others use it: every tool over both transports, many at once, their clients."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import mcp_crowd
import pytest
from cli import COMMAND, PATIENCE, co
from conftest import NO_INSPECTOR
from fastmcp.client.transports import StdioTransport
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from mcp import Client, StdioServerParameters
from mcp.types import ElicitResult
from mcp_crowd import http_client, http_server
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

INSPECTOR = Path(COMMAND).parents[1] / "inspector/node_modules/.bin/mcp-inspector"
PAGE = {"content": "# Ports\n\nThe port is 9.", "source": "https://a.example/p", "title": "Ports"}
CALLS: list[tuple[str, dict[str, Any], str]] = [
    ("save_memory", {"content": "We deploy on Tuesdays", "tags": ["decision"]}, "created"),
    ("recall_memory", {"query": "when do we deploy?", "max_results": 1}, "We deploy on Tuesdays"),
    ("list_memories", {}, "We deploy on Tuesdays"),
    ("read_note", {"ref": "1"}, "We deploy on Tuesdays"),
    ("save_knowledge", PAGE, "a:ports"),
    ("read_note", {"ref": "a:ports"}, "The port is 9."),
    ("forget_memory", {"ref": "a:ports"}, "a:ports"),
]


@asynccontextmanager
async def over(transport: str, **said: Any) -> AsyncIterator[Client]:
    """A client of a server in a process of its own."""
    with anyio.fail_after(PATIENCE):
        if transport == "http":
            with http_server() as (_, url):
                async with http_client(url, **said) as client:
                    yield client
        else:
            server = StdioServerParameters(command=COMMAND, args=["mcp"], env=dict(os.environ))
            async with Client(server, cache=None, **said) as client:
                yield client


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_every_tool_answers_as_its_schema_says_over_both_transports(transport: str) -> None:
    """Red when a tool fails, its result does not fit its schema, or nobody is asked."""
    Path(".git").mkdir()
    asked: list[str] = []

    async def agree(_: Any, params: Any) -> ElicitResult:
        asked.append(params.message.partition("\n")[0])
        return ElicitResult(action="accept", content={})

    async def main() -> None:
        async with over(transport, elicitation_callback=agree) as client:
            schemas = {one.name: one.output_schema for one in (await client.list_tools()).tools}
            assert {name for name, *_ in CALLS} == set(schemas)
            for name, arguments, expected in CALLS:
                told = await client.call_tool(name, arguments)
                assert not told.is_error
                if schema := schemas[name]:
                    Draft202012Validator(schema).validate(told.structured_content)
                assert expected in f"{told.structured_content} {told.content}"
            found = [one.uri for one in (await client.list_resources()).resources]
            assert found == ["co://context", "co://memory/1"]
            [text] = (await client.read_resource("co://memory/1")).contents
            assert "We deploy on Tuesdays" in getattr(text, "text", "")

    anyio.run(main)
    assert asked == ["Remember this in this project?", "Keep this article?", "Forget this?"]


def test_many_clients_lose_nothing_though_their_servers_are_killed() -> None:
    """Red when two servers write over each other, or a save is told before it is on disk."""
    crowd = mcp_crowd.run(clients=4, saves=2, kill_every=5, own_server=4)
    assert crowd.violations == []
    assert (crowd.saves, crowd.kills) == (8, 2)


def test_an_agent_of_pydantic_ai_uses_the_memory() -> None:
    """Their client, schema and results: the model here only says what to call."""
    assert co("learn", "We deploy on Tuesdays").code == 0
    calls = [("recall_memory", {"query": "deploy"}), ("save_memory", {"content": "User likes tea"})]

    def model(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        returned = [part.content for one in messages for part in one.parts
                    if isinstance(part, ToolReturnPart)]  # fmt: skip
        if len(returned) < len(calls):
            name, arguments = calls[len(returned)]
            return ModelResponse(parts=[ToolCallPart(name, arguments)])
        return ModelResponse(parts=[TextPart(json.dumps(returned))])

    async def main() -> str:
        transport = StdioTransport(COMMAND, ["mcp"], env=dict(os.environ), keep_alive=False)
        memory = MCPToolset[None](transport, init_timeout=PATIENCE)
        async with Agent(FunctionModel(model), toolsets=[memory]) as agent:
            return (await agent.run("When do we deploy?")).output

    said = anyio.run(main)
    assert "We deploy on Tuesdays" in said
    assert '"action": "draft"' in said


def test_the_inspector_reads_tools_notes_and_prompts() -> None:
    """The protocol's own inspector, which is no Python; `make inspector` gets it."""
    if not (INSPECTOR.exists() and shutil.which("node")):
        pytest.skip(NO_INSPECTOR)
    assert co("learn", "We deploy on Tuesdays").code == 0

    def inspected(method: str, *more: str) -> Any:
        done = subprocess.run([INSPECTOR, "--cli", COMMAND, "mcp", "--method", method, *more],
                              capture_output=True, timeout=PATIENCE, check=True)  # fmt: skip
        return json.loads(done.stdout)

    assert len(inspected("tools/list")["tools"]) == 6
    query = "--tool-name", "recall_memory", "--tool-arg", "query=deploy"
    told = inspected("tools/call", *query)
    assert told["structuredContent"]["results"][0]["content"] == "We deploy on Tuesdays"
    assert inspected("resources/list")["resources"][1]["uri"] == "co://memory/1"
    read = inspected("resources/read", "--uri", "co://memory/1")
    assert "We deploy on Tuesdays" in read["contents"][0]["text"]
    assert inspected("prompts/list")["prompts"][0]["name"] == "memory"
