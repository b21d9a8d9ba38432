"""What is done while nobody asks: the index reads new notes and compares them with the others."""

from collections.abc import Callable
from contextlib import suppress
from threading import Event, Thread
from time import monotonic

from co_cli.errors import CoError
from co_cli.knowledge import Shelf
from co_cli.workspace import read_closely

_IDLE = 1.0  # seconds without a request after which the machine is free


class _Closing(Exception):
    """The server stops, so the rest is left for another time."""


class Background:
    """A thread that brings the indexes of a shelf up to date, and calls `then` each time."""

    def __init__(self, shelf: Shelf, then: Callable[[], object]) -> None:
        self._shelf, self._then = shelf, then
        self._due, self._closing, self._idle_from = Event(), Event(), 0.0
        self._thread = Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Begin with what is pending."""
        self._due.set()
        self._thread.start()

    def wake(self) -> None:
        """Files have changed."""
        self._due.set()

    def wait_again(self) -> None:
        """Somebody asks, and comes first."""
        self._idle_from = monotonic() + _IDLE

    def close(self) -> None:
        """Stop after the note that is read now."""
        self._closing.set()
        self._due.set()
        self._thread.join()

    def _run(self) -> None:
        with suppress(_Closing):
            while True:
                self._due.wait()
                self._due.clear()
                self._rest()
                with suppress(CoError, OSError):  # the next change, or `reindex`, tries again
                    read_closely(self._shelf, self._rest)
                self._then()

    def _rest(self, *_: int) -> None:
        """Wait while somebody asks."""
        while not self._closing.is_set() and (left := self._idle_from - monotonic()) > 0:
            self._closing.wait(left)
        if self._closing.is_set():
            raise _Closing
