"""Pages and documents as clean markdown.

They come from anywhere, so they are read in a process with limits, which is ended when it takes
too long. Nothing of it is loaded here.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from threading import Timer
from typing import Any, NamedTuple

from co_cli.errors import ExtractError

MOST_BYTES = 50_000_000
PATIENCE = 120.0  # seconds for one document

Progress = Callable[[int, int], None]


class Document(NamedTuple):
    """What a document says: clean markdown, and remarks on what was left out or not read.

    A page of a paged document begins with a line like `<a id="page-3"></a>`. Markdown may have a
    header with tags and a date.
    """

    title: str
    text: str
    format: str
    remarks: tuple[str, ...]
    tags: tuple[str, ...] = ()
    date: str = ""


def extract(
    data: bytes, *, kind: str = "", name: str = "", url: str = "", charset: str = ""
) -> Document:
    """Read one document; for several, a `Reader` is quicker."""
    with Reader() as reader:
        return reader.extract(data, kind=kind, name=name, url=url, charset=charset)


class Reader:
    """Reads documents, one after the other, in a process that is started when it is needed."""

    def __init__(self, *, patience: float = PATIENCE) -> None:
        self.patience = patience
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> "Reader":
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self.close(at_once=error is not None)

    def close(self, *, at_once: bool = False) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is None:
            return
        if at_once:
            _kill(process)
        try:
            process.communicate(timeout=2)  # which closes its input, and that ends it
        except subprocess.TimeoutExpired:
            _kill(process)
            process.communicate()

    def extract(
        self,
        data: bytes,
        *,
        kind: str = "",
        name: str = "",
        url: str = "",
        charset: str = "",
        progress: Progress | None = None,
    ) -> Document:
        """Read one document, or raise ExtractError."""
        subject = name or url or "the document"
        if len(data) > MOST_BYTES:
            raise ExtractError(f"{subject} is larger than {MOST_BYTES // 1_000_000} MB")
        asked = {"kind": kind, "name": name, "url": url, "charset": charset, "size": len(data)}
        try:
            told = self._ask(json.dumps(asked).encode() + b"\n" + data, progress)
        except BaseException:
            self.close(at_once=True)
            raise
        if "error" in told:
            raise ExtractError(f"{subject}: {told['error']}", hint=told["hint"])
        remarks, tags = tuple(told["remarks"]), tuple(told["tags"])
        return Document(told["title"], told["text"], told["format"], remarks, tags, told["date"])

    def _ask(self, request: bytes, progress: Progress | None) -> dict[str, Any]:
        """What the process answers; whatever keeps it from answering is the error."""
        process = self._process = self._process or _start()
        assert process.stdin is not None
        assert process.stdout is not None
        end, alarm = time.monotonic() + self.patience, Timer(self.patience, _kill, [process])
        alarm.start()
        try:
            process.stdin.write(request)
            process.stdin.flush()
            for line in process.stdout:
                if not line.endswith(b"\n"):
                    break  # it was ended while it answered
                told: dict[str, Any] = json.loads(line)
                if "done" not in told:
                    return told
                if progress:
                    progress(told["done"], told["all"])
        except BrokenPipeError:
            return self._given_up("what reads it ended before it began")
        finally:
            alarm.cancel()
        if time.monotonic() >= end:
            return self._given_up(f"reading it took longer than {self.patience:g} seconds")
        return self._given_up("it broke what reads it, or took too much time or memory")

    def _given_up(self, why: str) -> dict[str, Any]:
        self.close(at_once=True)
        return {"error": why, "hint": "It may be broken, or made to break what reads it."}


def _start() -> subprocess.Popen[bytes]:
    # -P: a folder named co_cli where the person stands is not Co.
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "co_cli.articles.reader", str(os.getpid())],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # so that it can be ended with whatever it started
    )


def _kill(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
