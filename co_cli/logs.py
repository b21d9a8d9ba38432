"""Co's log: a rotating file in the state folder, for its owner alone.

Names, sizes and durations go there. What notes say goes there only when a person asks for it, and
never from a note marked sensitive. Other libraries' logs, which may hold whole requests, do not.
"""

import logging
import os
from contextlib import suppress
from logging.handlers import RotatingFileHandler

from co_cli import paths as folders
from co_cli.errors import CoError
from co_cli.knowledge.format.note import Note
from co_cli.knowledge.safety.escape import escape
from co_cli.knowledge.store import disk

_LARGEST = 1024 * 1024
_NAME = "co.log"
_content = logging.getLogger("co_cli.content")
_content.propagate = False  # a program that Co is part of may log all it hears
_content.addHandler(logging.NullHandler())


class _Private(RotatingFileHandler):
    """A log that nobody else can read, and that stops nothing when it cannot be written."""

    def _open(self) -> logging.StreamHandler:  # type: ignore[override, type-arg]
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW
        fd = os.open(self.baseFilename, flags, 0o600)
        os.fchmod(fd, 0o600)
        return os.fdopen(fd, self.mode, encoding="utf-8", errors="backslashreplace")  # type: ignore[return-value]

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802
        """A full disk is no reason to stop a conversation."""

    def format(self, record: logging.LogRecord) -> str:
        """One line, whatever the names in it hold."""
        return escape(super().format(record), keep="")


def start(level: str, *, content: bool = False) -> None:
    """Log from here on, if there is a place to log to."""
    logger = logging.getLogger("co_cli")
    logger.setLevel(level.upper())
    logger.propagate = False
    _content.setLevel("DEBUG")
    _content.propagate = content
    handler: logging.Handler = logging.NullHandler()  # where nothing can be written
    with suppress(OSError, CoError):
        disk.refuse_writing()
        path = os.path.join(folders.state_folder(), _NAME)
        disk.make_folder(os.path.dirname(path), 0o700)
        handler = _Private(path, maxBytes=_LARGEST, backupCount=3, delay=True)
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
    for old in list(logger.handlers):
        logger.removeHandler(old)
        old.close()
    logger.addHandler(handler)


def content_logs() -> list[str]:
    """The logs that hold what notes say."""
    folder = folders.state_folder()
    paths = [os.path.join(folder, n) for n in disk.list_names(folder) if n.startswith(_NAME)]
    return [path for path in paths if b" co_cli.content " in (disk.read_if_any(path) or b"")]


def log_note(what: str, note: Note) -> None:
    """Log what a note says, where a person asked for that and the note is not sensitive."""
    if not note.meta.get("sensitive"):
        _content.debug("%s %s: %s", what, note.name, note.body)
