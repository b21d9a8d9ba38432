"""The page's server, for this machine alone: who may ask, what is asked, and in which thread.

A request counts only under this server's own name, so that no other site's name can stand for it,
and with the secret of this run in a header, which no form, link or picture can send and no browser
adds by itself. The page itself, which holds no note, is for everybody.
"""

import asyncio
import gc
import json
import re
import secrets
import socket
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from importlib.resources import files
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from co_cli.connections import SECONDS, Connection
from co_cli.errors import CoError, NotFound
from co_cli.knowledge.safety.escape import escape
from co_cli.web import pictures, updates, views
from co_cli.web.actions import ACTIONS
from co_cli.web.background import Background
from co_cli.web.state import Asked, Changed, Row, State

ADDRESS = "127.0.0.1"
LARGEST = 1024 * 1024  # bytes that a request may hold
_KINDS = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
_STATIC = {"/": "index.html"} | {f"/{name}": name for name in (
    "style.css", "app.js", "server.js", "unsaved.js", "note.js", "inbox.js", "updates.js",
    "draw.js", "icon.svg")}  # fmt: skip
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self'; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; "
    "form-action 'none'; require-trusted-types-for 'script'; trusted-types co",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY",
}  # fmt: skip
_READS: Mapping[str, Callable[[State, Asked], Row]] = {
    "start": views.start, "list": views.listed, "search": views.search, "note": views.note,
    "diff": views.diff, "inbox": views.inbox, "archive": views.archive, "changes": views.changes,
    "meets": views.meets, "updates": updates.review,
    "pictures": pictures.pictures, "health": pictures.health, "eval": pictures.evaluation,
}  # fmt: skip
_HOLD = 20.0  # seconds that a page waits for news in one request
_SLOW = ("health", "eval")  # which nobody who types should wait for


class Guard:
    """Refuses every request that is not this page's own, and gives each answer its headers."""

    def __init__(self, app: ASGIApp, hosts: frozenset[str], secret: str) -> None:
        self.app, self.hosts, self.secret = app, hosts, f"Bearer {secret}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or answer why not."""

        async def headed(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        if scope["type"] == "http":
            status, why = self.refusal(Request(scope))
            scope["state"]["admitted"] = not status and scope["path"] not in _STATIC
            app = PlainTextResponse(f"{why}\n", status) if status else self.app
            await app(scope, receive, headed)

    def refusal(self, request: Request) -> tuple[int, str]:
        """The status and the reason, for a request that does not count; 0 for one that does."""
        headers, path, method = request.headers, request.url.path, request.method
        hosts, origins, size = (headers.getlist(n) for n in ("host", "origin", "content-length"))
        writes, is_page = method == "POST", method == "GET" and path in _STATIC
        near = headers.get("sec-fetch-site", "none") in ("none", "same-origin")
        arrives = path == "/" and headers.get("sec-fetch-mode") == "navigate"
        digits = re.fullmatch("[0-9]{1,7}", ",".join(size))  # what is sent in pieces has no size
        small = digits and int(digits[0]) <= LARGEST and "transfer-encoding" not in headers
        said = headers.get("authorization", "").encode("latin-1")
        admitted = secrets.compare_digest(said, self.secret)
        holds = [
            (len(hosts) == 1 and hosts[0] in self.hosts, 421, "Unknown host name."),
            (all(f"http://{hosts[0]}" == o for o in origins), 403, "Cross-site request refused."),
            (near or arrives, 403, "Cross-site request refused."),
            (writes or method == "GET", 405, "Only GET and POST are allowed."),
            (origins or not writes, 403, "Missing Origin header."),
            (headers.get("content-type") == "application/json" or not writes, 415,
             "Content-Type must be application/json."),
            (small or not writes, 413, f"Content-Length is missing or over {LARGEST} bytes."),
            (admitted or is_page, 401, "Open the address that `co web` printed."),
            (is_page or not (admitted and request.state.is_another_user()), 403,
             "Only the user who started `co web` can use it."),
        ]  # fmt: skip
        return next(((status, why) for fits, status, why in holds if not fits), (0, ""))


class Page:
    """One run of the server: its token, and the thread that owns the notebooks."""

    def __init__(self, project: str | None, port: int = 0, *, sensitive: bool = False) -> None:
        self._socket = socket.create_server((ADDRESS, port))
        port = self._socket.getsockname()[1]
        self._worker, secret = ThreadPoolExecutor(1, "notebooks"), secrets.token_urlsafe(32)
        self._state = self._worker.submit(State, project, sensitive=sensitive).result()
        self._background = Background(
            self._state.shelf, lambda: self._worker.submit(self._state.take_index)
        )
        self.address = f"http://{ADDRESS}:{port}/#token={secret}"  # what follows # is not sent
        routes = [
            *(Route(path, self._static, methods=["GET"]) for path in _STATIC),
            Route("/api/version", self._version, methods=["GET"]),
            Route("/api/{name}", self._answer, methods=["GET", "POST"]),
        ]
        hosts = frozenset(f"{name}:{port}" for name in (ADDRESS, "localhost"))
        config = uvicorn.Config(
            Guard(Starlette(routes=routes), hosts, secret), http=Connection,
            log_level="error", access_log=False, proxy_headers=False, server_header=False,
            ws="none", lifespan="off", timeout_keep_alive=SECONDS, timeout_graceful_shutdown=1,
        )  # fmt: skip
        self.server = uvicorn.Server(config)

    def run(self) -> None:
        """Answer until stopped."""
        self._worker.submit(self._read)  # by the time that somebody asks
        self._background.start()
        try:
            self.server.run(sockets=[self._socket])
        finally:
            self._background.close()
            self._worker.submit(self._state.close)
            self._worker.shutdown()
            self._socket.close()

    def _read(self) -> None:
        """Read all notes, which are not garbage: to look for any among them takes long."""
        if self._state.seen:
            gc.freeze()
            gc.set_threshold(50_000)

    async def _static(self, request: Request) -> Response:
        file = files(__package__).joinpath("static", _STATIC[request.url.path])
        kind = _KINDS[file.name.rpartition(".")[2]]
        return Response(file.read_bytes(), media_type=kind)

    async def _answer(self, request: Request) -> Response:
        """What is asked for, or the reason why not, in words."""
        writes, name = request.method == "POST", request.path_params["name"]
        try:
            asked = await _said(request) if writes else Asked(request.query_params)
            if (act := (ACTIONS if writes else _READS).get(name)) is None:
                raise NotFound("unknown request")
            self._background.wait_again()
            slow = name in _SLOW and asyncio.to_thread(self._aside, act, asked)
            return JSONResponse(_shown(await (slow or self._on_worker(act, asked))))
        except Changed as error:
            return JSONResponse({"error": error.sentence(), "now": _shown(error.now)}, 409)
        except CoError as error:
            return await self._error(error.sentence(), 404 if isinstance(error, NotFound) else 400)
        except OSError as error:
            why = ": ".join(filter(None, (error.strerror or str(error), error.filename)))
            return await self._error(f"{why}. Nothing more was done.", 500)

    async def _error(self, text: str, status: int) -> Response:
        """Why a request was not carried out; where even that cannot be told safely, no reason."""
        try:
            text = await self._on_worker(State.redact, text)
        except (CoError, OSError):
            text = "The notes cannot be read. Run `co knowledge doctor` to see why."
        return JSONResponse({"error": text}, status)

    def _aside(self, act: Callable[[State, Asked], Row], asked: Asked) -> Row:
        """Do what takes long, with notebooks of its own."""
        with closing(State(self._state.workspace.project, sensitive=self._state.sensitive)) as own:
            return act(own, asked)

    async def _on_worker(self, act: Callable[..., Any], *more: Any) -> Any:
        """Do something with the notes as they are, in the one thread that they belong to."""

        def work() -> Any:
            before = self._state.version
            if self._state.fresh() != before:
                self._background.wake()
            return act(self._state, *more)

        return await asyncio.get_running_loop().run_in_executor(self._worker, work)

    async def _version(self, request: Request) -> Response:
        """The number of the files' state, once it is another than the page knows, or after a while.

        Another number tells an open page that a file has changed.
        """
        clock, known = asyncio.get_running_loop().time, request.query_params.get("known", "")
        until = clock() + _HOLD
        while True:
            version = await self._on_worker(lambda state: state.version)
            if str(version) != known or clock() > until or self.server.should_exit:
                return JSONResponse({"version": version})
            await asyncio.sleep(self._state.tick)


async def _said(request: Request) -> Asked:
    """The texts of the JSON object that a request holds."""
    try:
        told = json.loads(await request.body())
        json.dumps(told, ensure_ascii=False).encode()  # which fails where half a character is said
    except (ValueError, RecursionError, ClientDisconnect):
        told = None
    if not isinstance(told, dict):
        raise CoError("the request is not a JSON object")
    return Asked({name: value for name, value in told.items() if isinstance(value, str)})


def _shown(value: Any) -> Any:
    """A value with nothing hidden in its texts, but in what is to be edited as it is."""
    if isinstance(value, dict):
        return {key: one if key == "written" else _shown(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_shown(one) for one in value]
    return escape(value) if isinstance(value, str) else value
