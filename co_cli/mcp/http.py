"""The server over HTTP, for who is on this machine and has the token."""

import os
import socket
import sys
from collections import Counter
from collections.abc import Callable
from hmac import compare_digest
from secrets import token_urlsafe
from typing import Any

import uvicorn
from mcp.server.transport_security import TransportSecuritySettings
from starlette.responses import Response

from co_cli.connections import SECONDS, Connection
from co_cli.errors import CoError
from co_cli.mcp.server import MOST_CLIENTS, Options
from co_cli.mcp.serving import CoServer

TOKEN = "CO_MCP_TOKEN"
_HERE = "127.0.0.1"
_LEAST = 16  # characters of a token that a person made up
_IDLE = 30 * 60  # seconds until a session that nobody uses ends
_SESSION = b"mcp-session-id"


class _Connection(Connection):
    most = 4 * MOST_CLIENTS  # each may have a stream of news and several requests


class Guard:
    """Lets in who knows the token; what else a request must have, the SDK checks."""

    def __init__(self, app: Any, token: str) -> None:
        self.app, self.wanted = app, f"bearer {token}".encode()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        given = b",".join(one for name, one in scope.get("headers", ()) if name == b"authorization")
        said = given[:6].lower() + given[6:]  # the scheme has no case
        known = scope["type"] != "http" or compare_digest(said, self.wanted)
        scope.setdefault("state", {})["admitted"] = known
        refusal = Response(status_code=401, headers={"WWW-Authenticate": "Bearer"})
        await (self.app if known else refusal)(scope, receive, send)


class Sessions:
    """Keeps so many sessions open; one more ends the one that was used longest ago.

    A client that starts a session for every call, and ends none, costs no more memory than that.
    One whose session ended is told so, and starts another.
    """

    def __init__(self, app: Any, ended: Callable[[str], None], most: int = MOST_CLIENTS) -> None:
        self.app, self.ended, self.most = app, ended, most
        self.open: dict[bytes, None] = {}  # the one that was used last comes last
        self.busy = Counter[bytes]()  # requests that are being answered, streams of news too

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        name = dict(scope.get("headers", ())).get(_SESSION, b"")
        gone = scope.get("method") == "DELETE"

        async def look(message: Any) -> None:
            nonlocal name, gone
            if message["type"] == "http.response.start":
                gone = message["status"] == 404 or (gone and message["status"] < 400)
                if not name and (name := dict(message["headers"]).get(_SESSION, b"")):
                    self.open[name] = None
                    self.busy[name] += 1
            await send(message)

        if name in self.open:
            self.open[name] = self.open.pop(name)
            self.busy[name] += 1
        try:
            await self.app(scope, receive, look)
        finally:
            if name in self.open:
                self.busy[name] -= 1
                if gone:
                    self._forget(name)
        while len(self.open) > self.most:
            await self._end(scope)

    async def _end(self, scope: Any) -> None:
        """End the session that was used longest ago, if possible one that nobody waits for."""
        name = next((one for one in self.open if not self.busy[one]), next(iter(self.open)))
        self._forget(name)
        headers = [pair for pair in scope["headers"] if pair[0] == b"host"]
        ends = {**scope, "method": "DELETE", "headers": [*headers, (_SESSION, name)]}

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(_: Any) -> None: ...

        await self.app(ends, receive, send)

    def _forget(self, name: bytes) -> None:
        del self.open[name], self.busy[name]
        self.ended(name.decode("latin-1"))


def listener(
    options: Options, listening: socket.socket, token: str, seconds: int = SECONDS
) -> uvicorn.Server:
    """What answers requests at a port of this machine; each has so many seconds to arrive."""
    port = listening.getsockname()[1]
    hosts = [f"{name}:{port}" for name in (_HERE, "localhost")]
    origins = [f"http://{host}" for host in hosts]
    checks = TransportSecuritySettings(allowed_hosts=hosts, allowed_origins=origins)
    server = CoServer(options)
    app = server.server.streamable_http_app(
        transport_security=checks, session_idle_timeout=_IDLE, max_sessions=2 * MOST_CLIENTS
    )
    return uvicorn.Server(uvicorn.Config(
        Guard(Sessions(app, server.forget), token), http=_Connection, timeout_keep_alive=seconds,
        ws="none", timeout_graceful_shutdown=1, log_level="warning", access_log=False,
    ))  # fmt: skip


def serve_http(options: Options, port: int) -> None:
    """Serve over HTTP, to who is on this machine and has the token, until it is stopped."""
    token = os.environ.get(TOKEN, "")
    if token and len(token) < _LEAST:
        raise CoError(f"{TOKEN} is too short", hint=f"It needs {_LEAST} characters at least.")
    try:
        listening = socket.create_server((_HERE, port))  # who reads the address can connect
    except OSError as error:
        hint = "Choose another: co mcp --http --port N"
        raise CoError(f"port {port} cannot be used: {error.strerror}", hint=hint) from error
    port = listening.getsockname()[1]
    print(f"Co's memory is at http://{_HERE}:{port}/mcp", file=sys.stderr)  # noqa: T201
    if not token:
        token = token_urlsafe(32)
        print(f"Token, for this run: {token}", file=sys.stderr, flush=True)  # noqa: T201
    listener(options, listening, token).run(sockets=[listening])
