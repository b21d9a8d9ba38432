"""Questions to git, so that nothing a repository can set up is run and none takes long.

No hook, filter, pager, helper or fetch is started. Knows nothing of what is asked.
"""

import os
import selectors
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from time import monotonic

from co_cli.errors import CoError

PATIENCE = 10.0  # seconds for all that one question takes
_MOST = 64 * 1024 * 1024  # bytes of one answer that is read as a whole
_SETTINGS = (
    "core.hooksPath=/dev/null", "core.fsmonitor=false", "core.pager=cat",
    "log.showSignature=false", "log.follow=false", "diff.external=", "maintenance.auto=false",
    "gc.auto=0",
)  # fmt: skip


class TooSlow(CoError):
    """The answer takes more time or room than it may."""


class Git:
    """One repository, and the time that is left to ask it."""

    def __init__(self, root: str, end: float | None = None) -> None:
        self.root, self._end = root, end or monotonic() + PATIENCE

    def at(self, root: str) -> "Git":
        """Another repository, asked within the same time."""
        return Git(root, self._end)

    def ask(self, *args: str, data: str = "") -> bytes:
        """What git prints; CoError when it fails, TooSlow when it takes too long."""
        parts, size = [], 0
        for part in self.stream(*args, data=data):
            parts.append(part)
            if (size := size + len(part)) > _MOST:
                raise TooSlow("git says too much")
        return b"".join(parts)

    def stream(self, *args: str, data: str = "") -> Iterator[bytes]:
        """The same, piece by piece and of any length."""
        env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        env |= {
            "GIT_ALLOW_PROTOCOL": "none", "GIT_NO_LAZY_FETCH": "1", "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C",
        }  # fmt: skip
        options = [word for one in _SETTINGS for word in ("-c", one)]
        line = ["git", "--no-pager", "-C", self.root, *options, *args]
        try:
            with tempfile.TemporaryFile() as told:  # a pipe could fill while git waits for us
                told.write(os.fsencode(data))
                told.seek(0)
                running = subprocess.Popen(
                    line, stdin=told, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env
                )
        except OSError as error:
            raise CoError("git gave no answer") from error
        try:
            yield from self._read(running)
        finally:
            running.kill()
            running.wait()
            if running.stdout:
                running.stdout.close()

    def _read(self, running: "subprocess.Popen[bytes]") -> Iterator[bytes]:
        assert running.stdout is not None
        fd = running.stdout.fileno()
        with selectors.DefaultSelector() as ready:
            ready.register(fd, selectors.EVENT_READ)
            while True:
                if not ready.select(max(0.0, self._end - monotonic())):
                    raise TooSlow("git takes too long")
                if not (part := os.read(fd, 1 << 16)):
                    break
                yield part
        with suppress(subprocess.TimeoutExpired):
            if running.wait(max(0.01, self._end - monotonic())):
                raise CoError("git gave no answer")
            return
        raise TooSlow("git takes too long")
