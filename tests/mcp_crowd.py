"""Many clients of the MCP server that save and recall at once, while servers are killed.

The shared engine of tests/test_mcp_clients.py (short) and bench/mcp_server.py (whole). Some clients
have a server of their own over stdio; one over HTTP serves the others.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import httpx2
from crowd import texts_for
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from co_cli.workspace import Workspace

CO = str(Path(sys.executable).parent / "co")
TOKEN = "a-token-of-the-tests"
GONE = (MCPError, OSError, httpx2.HTTPError, anyio.ClosedResourceError, anyio.BrokenResourceError)
ROOMY = {"CO_CLI_MEMORY_MAX_COUNT": "100000", "CO_MCP_TOKEN": TOKEN}


@dataclass(slots=True)
class Crowd:
    """What happened, and what must be empty."""

    saves: int = 0
    kills: int = 0
    violations: list[str] = field(default_factory=list)


@contextmanager
def http_server(*flags: str, port: int = 0) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """A server over HTTP that knows the token of the tests, and its address."""
    command = [CO, "mcp", "--http", "--port", str(port), *flags]
    env = os.environ | ROOMY
    with subprocess.Popen(command, stderr=subprocess.PIPE, env=env) as server:
        try:
            assert server.stderr
            yield server, server.stderr.readline().decode().split()[-1]
        finally:
            server.kill()


@asynccontextmanager
async def http_client(url: str, token: str = TOKEN, **said: object) -> AsyncIterator[Client]:
    """A client of such a server."""
    async with create_mcp_http_client(headers={"Authorization": f"Bearer {token}"}) as web:
        transport = streamable_http_client(url, http_client=web)
        async with Client(transport, cache=None, **said) as client:  # type: ignore[arg-type]
            yield client


def run(clients: int, saves: int, kill_every: int, own_server: int = 2) -> Crowd:
    """Let clients work in the working folder, every so manieth with a server of its own.

    Such a server is killed when its client is half done, that over HTTP every so many saves.
    """
    with tempfile.TemporaryDirectory() as folder:
        whole = _Run(folder, kill_every, own_server)
        anyio.run(whole.run, clients, saves)
    return whole.crowd


class _Run:
    def __init__(self, folder: str, kill_every: int, own_server: int) -> None:
        self.folder, self.kill_every, self.own_server = folder, kill_every, own_server
        self.crowd = Crowd()
        self.url, self.stack = "", AsyncExitStack()

    async def run(self, clients: int, saves: int) -> None:
        async with self.stack, anyio.create_task_group() as tasks:
            await self.restart()
            for number in range(clients):
                tasks.start_soon(self.work, number, saves)
        expected = {text for number in range(clients) for text in texts_for(number, saves)}
        notes = [note for book in Workspace().shelf for note in book.notes()]
        bodies, ids = Counter(note.body for note in notes), Counter(note.id for note in notes)
        found = [f"lost: {text}" for text in expected - set(bodies)]
        found += [f"twice: {one}" for one, count in (bodies + ids).items() if count > 1]
        self.crowd.violations += found

    async def restart(self) -> None:
        """Start the server over HTTP, at the port of the one before it."""
        port = int(self.url.split(":")[2].partition("/")[0]) if self.url else 0
        server = http_server("--allow-writes", port=port)
        self.server, self.url = await anyio.to_thread.run_sync(server.__enter__)
        self.stack.callback(server.__exit__, None, None, None)

    @asynccontextmanager
    async def connection(self, number: int) -> AsyncIterator[Client]:
        if number % self.own_server:
            async with http_client(self.url) as client:
                yield client
        else:
            line = f'echo $$ >"{self.folder}/{number}"; exec "{CO}" mcp --allow-writes'
            env = os.environ | ROOMY
            server = StdioServerParameters(command="sh", args=["-c", line], env=env)
            async with Client(server, cache=None) as client:
                yield client

    async def work(self, number: int, saves: int) -> None:
        """Save and recall each text of a client, over as many connections as that takes."""
        left = texts_for(number, saves)
        while left:
            try:
                async with self.connection(number) as client:
                    while left:
                        await self.save(client, left[0])
                        left.pop(0)
                        await self.maybe_kill(number, len(left) == saves // 2)
            except* GONE:
                await anyio.sleep(0.05)  # until its server is there again

    async def save(self, client: Client, text: str) -> None:
        done = await client.call_tool("save_memory", {"content": text})
        found = await client.call_tool("recall_memory", {"query": text})
        rows = found.structured_content["results"]
        if done.is_error or text not in [row["content"] for row in rows]:
            self.crowd.violations.append(f"not recalled: {text}: {done}")

    async def maybe_kill(self, number: int, half_done: bool) -> None:
        self.crowd.saves += 1
        if half_done and number % self.own_server == 0:
            os.kill(int(Path(self.folder, str(number)).read_text()), signal.SIGKILL)
            self.crowd.kills += 1
        if self.crowd.saves % self.kill_every == 0:
            self.server.kill()
            self.crowd.kills += 1
            await anyio.to_thread.run_sync(self.server.wait)
            await self.restart()
