"""Connections to a server on this machine: none is held open by silence, or is another user's."""

import asyncio
import os
import struct
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from socket import inet_aton

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

MOST = 64  # connections; one more closes the oldest that nothing is being answered on
SECONDS = 10  # for a request to arrive, and for the next one to begin
_SOCKETS = ("/proc/net/tcp", "/proc/net/tcp6")
_MAPPED = "0000000000000000FFFF0000"  # before an IPv4 address that an IPv6 socket uses


class Connection(H11Protocol):
    """A connection that is closed when its request does not arrive in time, or to make room.

    Only a request that the server's guard admitted keeps its place while it is answered.
    """

    most = MOST
    _began = 0.0
    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a connection in, in the place of another where there are many."""
        others = [one for one in self.connections if isinstance(one, Connection)]
        others = [one for one in others if not one.transport.is_closing()]
        idle = [one for one in others if not one.is_answering]
        if len(others) >= self.most and idle:
            min(idle, key=lambda one: one._began).transport.abort()
        super().connection_made(transport)
        # Asked of the kernel once, which takes milliseconds, for every request that comes on it.
        another = cache(partial(is_another_user, self.client, self.server))
        self.app_state = {**self.app_state, "is_another_user": another}
        self._began = self.loop.time()
        self._set_late()

    @property
    def is_answering(self) -> bool:
        """Whether an admitted request is being answered."""
        admitted = self.scope is not None and self.scope["state"].get("admitted")
        return bool(admitted) and not self.cycle.response_complete

    def data_received(self, data: bytes) -> None:
        """Read on; a request that arrives in pieces has no more time than another."""
        super().data_received(data)
        if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
            self._unset_late()
        elif self._late is None:
            self._set_late()

    def connection_lost(self, exc: Exception | None) -> None:
        """Let go of it."""
        self._unset_late()
        super().connection_lost(exc)

    def _set_late(self) -> None:
        # As long as uvicorn waits for the next request of a connection that had one.
        self._late = self.loop.call_later(self.timeout_keep_alive, self.transport.abort)

    def _unset_late(self) -> None:
        if self._late is not None:
            self._late.cancel()
        self._late = None


def is_another_user(client: tuple[str, int] | None, server: tuple[str, int | None] | None) -> bool:
    """Whether the other end of a connection is known to be some other user's; root is none."""
    if not client or not server:
        return False
    ends = [_as_listed(*client), _as_listed(*server)]
    for path in _SOCKETS:
        with suppress(OSError, ValueError):  # a system that does not tell
            for line in Path(path).read_text("ascii").splitlines()[1:]:
                _, local, remote, *_, owner, _, inode = line.split()[:10]
                if [local.removeprefix(_MAPPED), remote.removeprefix(_MAPPED)] == ends:
                    # Of a socket that was closed meanwhile nobody knows the owner.
                    return inode == "0" or int(owner) not in (0, os.getuid())
    return False


def _as_listed(host: str, port: int | None) -> str:
    """An address as the kernel lists it."""
    return f"{struct.unpack('=I', inet_aton(host))[0]:08X}:{port or 0:04X}"
