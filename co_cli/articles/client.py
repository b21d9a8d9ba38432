"""One request to one server, within limits of time and size. Follows nothing, judges no answer."""

from __future__ import annotations

import io
import socket
import ssl
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import cached_property
from http.client import HTTPException, HTTPResponse, IncompleteRead
from ipaddress import IPv4Address, IPv6Address
from threading import Thread
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple, cast

from co_cli.articles.addresses import Allowed, Url, check_addresses, check_port
from co_cli.errors import FetchError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

LATER = "Try again later."
_STEP = 64 * 1024
_GZIP_OR_ZLIB = 32 + zlib.MAX_WBITS


class Limits(NamedTuple):
    """How much a fetch may cost; its seconds include redirects and robots.txt."""

    seconds: float = 60.0
    connect: float = 5.0  # seconds for one address
    head: int = 64 * 1024  # bytes of a status line and headers
    wire: int = 10 * 1024 * 1024  # bytes of a body as it comes
    body: int = 50 * 1024 * 1024  # and of the same unpacked


def look_up(host: str, port: int) -> list[str]:
    """All addresses of a host, the best first."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(info[4][0]) for info in found))


class _TooLarge(Exception):
    """More was sent, or came out of what was sent, than is allowed."""


class _Wire(io.RawIOBase):
    """The bytes of a connection, as long as there is time and room for them.

    All that is read goes through here: headers, the frames of chunks, and what is skipped.
    """

    def __init__(self, sock: socket.socket, left: Callable[[], float], room: int) -> None:
        self.sock, self.left, self.room = sock, left, room

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        if self.room <= 0:
            raise _TooLarge
        self.sock.settimeout(self.left())
        count = self.sock.recv_into(memoryview(buffer)[: self.room])
        self.room -= count
        return count

    def makefile(self, _: str) -> io.BufferedReader:
        """The file that http.client asks a socket for."""
        return io.BufferedReader(self)


class _Unpacked:
    """A body without the packing of its transport, made piece by piece up to a size."""

    def __init__(self, packed: bool, room: int) -> None:
        self.bytes, self.room = bytearray(), room
        self.stream = zlib.decompressobj(_GZIP_OR_ZLIB) if packed else None

    def add(self, piece: bytes) -> None:
        while piece:
            part, rest = piece, b""
            if self.stream:
                if self.stream.eof:  # several streams may follow each other, or padding
                    if not piece.startswith(b"\x1f"):
                        return
                    self.stream = zlib.decompressobj(_GZIP_OR_ZLIB)
                part = self.stream.decompress(piece, self.room + 1 - len(self.bytes))
                rest = self.stream.unused_data
            self.bytes += part
            if len(self.bytes) > self.room:
                raise _TooLarge
            piece = rest

    def whole(self) -> bool:
        """Whether the last stream has come to its end."""
        return not self.stream or self.stream.eof


class Client:
    """Whom a fetch may reach, how they are looked up, and what is left of its time."""

    def __init__(
        self, allow: Allowed, resolve: Callable[[str, int], list[str]], limits: Limits
    ) -> None:
        self.allow, self.resolve, self.limits = allow, resolve, limits
        self.deadline = monotonic() + limits.seconds

    @cached_property
    def tls(self) -> ssl.SSLContext:
        """Certificates must be valid, and made out to the host that was named."""
        return ssl.create_default_context()

    def left(self) -> float:
        """The seconds that are left; TimeoutError when there are none."""
        seconds = self.deadline - monotonic()
        if seconds <= 0:
            raise TimeoutError
        return seconds

    @contextmanager
    def ask(self, url: Url, headers: dict[str, str]) -> Iterator[HTTPResponse]:
        """The answer to a request, its body still to be read; afterwards all is closed."""
        lines = [f"{name}: {value}" for name, value in headers.items()]
        request = [f"GET {url.path} HTTP/1.1", f"Host: {url.site}", "Connection: close", *lines]
        with ExitStack() as stack:
            with self.explained(url):
                sock = stack.enter_context(self.connected(url))
                sock.settimeout(self.left())
                sock.sendall("\r\n".join([*request, "", ""]).encode("ascii"))
                wire = _Wire(sock, self.left, self.limits.head)
                answer = HTTPResponse(cast(socket.socket, wire), method="GET")
                stack.enter_context(closing(answer))
                answer.begin()
                if "Transfer-Encoding" in answer.headers and not answer.chunked:
                    raise HTTPException("a packing that hides where the body ends")
                wire.room = self.limits.wire
            yield answer

    def body(
        self, url: Url, answer: HTTPResponse, progress: Callable[[int, int], None] | None = None
    ) -> bytes:
        """All of an answer's body, unpacked."""
        packing = answer.headers.get("Content-Encoding", "").strip().lower()
        if packing not in ("", "identity", "gzip", "x-gzip", "deflate"):
            raise FetchError(f"{url.shown} is packed in a way that Co did not ask for")
        unpacked = _Unpacked(packing not in ("", "identity"), self.limits.body)
        done, total = 0, answer.length or 0
        while True:
            with self.explained(url):
                if total > self.limits.wire:
                    raise _TooLarge
                piece = answer.read(_STEP)
                unpacked.add(piece)
            if not piece:
                break
            done += len(piece)
            if progress:
                progress(done, total)
        if answer.length or (done and not unpacked.whole()):
            raise _cut_short(url)
        return bytes(unpacked.bytes)

    @contextmanager
    def connected(self, url: Url) -> Iterator[socket.socket]:
        """A connection to an address that was checked just now; nothing is looked up again."""
        check_port(url, self.allow)
        found = [url.host] if url.is_literal else self.addresses(url)
        with self.reach(check_addresses(url, found, self.allow), url.port) as sock:
            if url.scheme == "http":
                yield sock
                return
            sock.settimeout(self.left())
            with self.tls.wrap_socket(sock, server_hostname=url.host) as secure:
                yield secure

    def addresses(self, url: Url) -> list[str]:
        """The addresses of a host, asked for in a thread: a resolver knows no deadline."""
        found: list[str] = []

        def ask() -> None:
            with suppress(OSError, UnicodeError):
                found.extend(self.resolve(url.host, url.port))

        thread = Thread(target=ask, daemon=True)
        thread.start()
        thread.join(self.left())
        if thread.is_alive():
            raise TimeoutError
        if not found:
            hint = "Check the spelling, and whether this machine is online."
            raise FetchError(f"No address is known for {url.host}", hint=hint)
        return found

    def reach(self, addresses: list[IPv4Address | IPv6Address], port: int) -> socket.socket:
        """A socket at the first address that answers."""
        trouble: OSError = TimeoutError()
        for address in addresses:
            seconds = min(self.limits.connect, self.left())
            try:
                return socket.create_connection((str(address), port), seconds)
            except OSError as error:
                trouble = error
        raise trouble

    @contextmanager
    def explained(self, url: Url) -> Iterator[None]:
        """Say what the errors of the network mean."""
        try:
            yield
        except TimeoutError as error:
            raise FetchError(f"{url.host} takes too long to answer", hint=LATER) from error
        except _TooLarge as error:
            most, unpacked = (size // 1024**2 for size in (self.limits.wire, self.limits.body))
            hint = f"Co takes {most} MB from the web, and {unpacked} MB unpacked."
            raise FetchError(f"{url.shown} is too large", hint=hint) from error
        except IncompleteRead as error:
            raise _cut_short(url) from error
        except (HTTPException, zlib.error) as error:
            raise FetchError(f"What {url.host} answers is broken, or not for browsers") from error
        except ssl.SSLCertVerificationError as error:
            message = f"{url.host} cannot prove who it is: {error.verify_message}"
            raise FetchError(message, hint="Check the address.") from error
        except ssl.SSLError as error:
            raise FetchError(f"{url.host} speaks no https that Co understands") from error
        except OSError as error:
            why = error.strerror or type(error).__name__
            raise FetchError(f"{url.host} cannot be reached: {why}", hint=LATER) from error


def _cut_short(url: Url) -> FetchError:
    return FetchError(f"Only a part of {url.shown} came", hint=LATER)
