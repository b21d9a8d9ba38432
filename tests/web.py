"""A web server for tests, on loopback: it sends exactly the bytes that it is told to."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread

from co_cli.articles.addresses import Allowed

PATIENCE = 60.0  # seconds after which a test that hangs is given up
Answer = bytes | Callable[[socket.socket], object]


def answer(
    body: bytes = b"", status: str = "200 OK", *, length: int | None = None, **headers: str
) -> bytes:
    """An HTTP answer; `length` for a Content-Length that lies, headers_with_underscores."""
    named = {"Content-Length": str(len(body) if length is None else length)}
    named |= {name.replace("_", "-"): value for name, value in headers.items()}
    lines = [f"HTTP/1.1 {status}", *(f"{name}: {value}" for name, value in named.items())]
    return "\r\n".join([*lines, "", ""]).encode() + body


def redirect(to: str, status: str = "302 Found") -> bytes:
    """An answer that leads elsewhere."""
    return answer(b"elsewhere", status, Location=to)


class Site:
    """A server, what it answers by path, and what it was asked."""

    def __init__(self, listener: socket.socket, tls: ssl.SSLContext | None) -> None:
        self.listener, self.tls = listener, tls
        self.port = listener.getsockname()[1]
        self.answers: dict[str, Answer] = {}
        self.requests: list[str] = []
        self.connections = 0
        self.closing = Event()
        self.left = Event()  # set when a client closes before all was sent
        self.allow = Allowed({"127.0.0.1"}, {self.port})

    def url(self, path: str = "/", host: str = "127.0.0.1") -> str:
        """The address of a page here."""
        return f"{'https' if self.tls else 'http'}://{host}:{self.port}{path}"

    def paths(self) -> list[str]:
        """The pages that were asked for."""
        return [request.split()[1] for request in self.requests]

    def forever(self, first: bytes, again: bytes, pause: float = 0.0) -> Answer:
        """An answer that does not end until the client goes away."""

        def send(client: socket.socket) -> None:
            client.sendall(first)
            while not (pause and self.closing.wait(pause)):
                client.sendall(again)

        return send

    def serve(self) -> None:
        """Answer one client after another, until the listener is shut down."""
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            self.connections += 1
            client.settimeout(PATIENCE)
            try:
                with self.tls.wrap_socket(client, server_side=True) if self.tls else client as sock:
                    self.talk(sock)
            except OSError:
                self.left.set()
            finally:
                client.close()

    def talk(self, client: socket.socket) -> None:
        """Read one request and answer it."""
        asked = b""
        while not asked.endswith(b"\r\n\r\n"):
            piece = client.recv(65536)
            if not piece:
                return
            asked += piece
            if not asked.startswith(b"GET "):
                client.sendall(answer(b"", "400 Bad Request"))
                return
        self.requests.append(asked.decode())
        told = self.answers.get(self.paths()[-1], answer(b"", "404 Not Found"))
        if isinstance(told, bytes):
            client.sendall(told)
        else:
            told(client)


@contextmanager
def serving(tls: ssl.SSLContext | None = None) -> Iterator[Site]:
    """A server of one's own, with nothing on it yet."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        site = Site(listener, tls)
        thread = Thread(target=site.serve)
        thread.start()
        try:
            yield site
        finally:
            site.closing.set()
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)  # which wakes the thread that waits in it
            thread.join(PATIENCE)
