"""The page's server in this process, on a real socket, and a client that can say anything to it."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from uvicorn import Server

from co_cli.web.server import Page


class Answer(NamedTuple):
    """What the server said."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The value in it."""
        return json.loads(self.body)


class Client:
    """Somebody who talks to the server, as the page does, or otherwise."""

    server: Server  # where it runs in this process

    def __init__(self, address: str) -> None:
        self.address = address
        self.origin, _, self.token = address.partition("/#token=")
        self.host = self.origin.removeprefix("http://")
        self.secret = ""
        self.stop: Callable[[], None] = lambda: None

    def enter(self) -> Client:
        """Take the secret out of the address, as the page does first of all."""
        self.secret = self.token
        return self

    def ask(self, method: str, path: str, headers: dict[str, str], body: bytes = b"") -> Answer:
        """Exactly this request."""
        link = http.client.HTTPConnection(self.host, timeout=60)
        link.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in headers.items():
            for one in value.split("\n"):
                link.putheader(name, one)
        link.endheaders(body)
        answer = link.getresponse()
        told = {name.lower(): value for name, value in answer.getheaders()}
        found = Answer(answer.status, told, answer.read())
        link.close()
        return found

    @property
    def reading(self) -> dict[str, str]:
        """The headers with which the page reads."""
        return {"Host": self.host, "Authorization": f"Bearer {self.secret}"}

    def writing(self, body: bytes) -> dict[str, str]:
        """The headers with which the page writes."""
        return {
            **self.reading, "Origin": self.origin,
            "Content-Type": "application/json", "Content-Length": str(len(body)),
        }  # fmt: skip

    def get(self, path: str) -> Any:
        """What the page would read."""
        answer = self.ask("GET", f"/api/{path}", self.reading)
        assert answer.status == 200, answer.body
        return answer.json

    def post(self, name: str, **said: Any) -> Answer:
        """What comes of a write of the page."""
        body = json.dumps(said).encode()
        return self.ask("POST", f"/api/{name}", self.writing(body), body)

    def do(self, name: str, **said: Any) -> Any:
        """A write of the page that succeeds."""
        answer = self.post(name, **said)
        assert answer.status == 200, answer.body
        return answer.json


@contextmanager
def serving(*, port: int = 0, seconds: int = 0, sensitive: bool = False) -> Iterator[Client]:
    """The page of the notes here, while this lasts; `seconds` for a request to arrive."""
    page = Page(None, port, sensitive=sensitive)
    page.server.config.timeout_keep_alive = seconds or page.server.config.timeout_keep_alive
    thread = threading.Thread(target=page.run)
    thread.start()
    client = Client(page.address)
    client.server = page.server

    def stop() -> None:
        page.server.should_exit = True
        thread.join()

    client.stop = stop
    try:
        yield client
    finally:
        stop()
