"""Conversations kept whole, a JSON Lines file each, in the state folder.

Knows lines of plain values, not what a message means: who runs an agent turns messages into JSON
and back. A file only grows, a complete line at a time, until it is removed whole.
"""

import json
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

from co_cli import paths as folders
from co_cli.chat.redact import LEFT_OUT, parsed, without_secrets
from co_cli.errors import Ambiguous, CoError, DiskTrouble, FormatError, NotFound
from co_cli.knowledge.format.note import timestamp
from co_cli.knowledge.safety.escape import escape
from co_cli.knowledge.store import disk

MAX_FILE = 64 * 1024 * 1024
MAX_LINE = 16 * 1024 * 1024
MOST_LINES = 200_000  # no conversation has as many; a damaged file may
KEEP_DAYS = 90

_HEADER = 64 * 1024  # the first line, which names the project, is shorter
_NAME = re.compile(r"\d{8}T\d{6}Z-[a-z2-9]{4}\.jsonl")
_LETTERS = "abcdefghijkmnpqrstuvwxyz23456789"
_SAID = b'{"said": '  # how a line of what was typed begins


@dataclass
class Conversation:
    """What a file holds: the messages to go on from, and what happened on the way to them."""

    id: str
    path: str
    started: str = ""
    messages: list[Any] = field(default_factory=list)
    external: dict[str, None] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)
    undrafted: list[str] = field(default_factory=list)
    notes: dict[str, None] = field(default_factory=dict)
    turns: int = 0


@dataclass
class Transcript:
    """One conversation's file while it is written; there is none before the first line.

    What the disk refuses comes as DiskTrouble, and is not kept; the conversation can go on.
    """

    project: folders.AnyPath
    clock: Callable[[], datetime]
    path: str = ""
    _ended: bool = False
    _noted: set[str] = field(default_factory=set)

    def write(self, notes: Iterable[str] = (), **record: Any) -> None:
        """Add a line that says one thing of a conversation.

        `said` is what the person sent, `typed` what of it they did not paste, where they pasted
        something, and `draft` that it is to be drafted; `drafted` how many drafts were made of all
        such until then; `turn` the messages of one turn, all of them, as they were, `working` the
        history to go on from after it was shortened, and `external` where words came from that
        neither the person nor Co's own tools gave. `notes` are the marks of those that have
        entered by then: they go to the disk with the words, or neither does.
        """
        new = [mark for mark in dict.fromkeys(notes) if mark not in self._noted]
        line = _line(without_secrets(record) | ({"notes": new} if new else {}))
        if self._ended:
            return
        if len(line) > MAX_LINE:
            raise DiskTrouble("this is too long for a transcript", hint="It was not kept.")
        with disk.in_words():
            try:
                self._append(line)
            except FileNotFoundError as error:  # purged elsewhere, and what follows may repeat it
                raise self._end("was removed") from error
        self._noted.update(new)

    def _end(self, why: str) -> DiskTrouble:
        """Write no more, and say so once."""
        self._ended = True
        hint = "What is said from now on is not kept."
        return DiskTrouble(f"the transcript of this conversation {why}", hint=hint)

    def _append(self, line: bytes) -> None:
        """Add a line; the first makes the file, for its owner alone whatever the umask."""
        flags = os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        started = timestamp(self.clock())
        path = self.path or _new_path(started)
        flags |= 0 if self.path else os.O_CREAT | os.O_EXCL
        with disk.opened(path, flags, 0o600) as fd:
            try:
                info = os.fstat(fd)
                if not stat.S_ISREG(info.st_mode):
                    raise FileNotFoundError(path)
                if info.st_size + len(line) > MAX_FILE:
                    raise self._end("is full")
                if not self.path:
                    os.fchmod(fd, 0o600)
                    project = os.path.realpath(self.project)
                    line = _line({"co": 2, "project": project, "started": started}) + line
                torn = info.st_size and os.pread(fd, 1, info.st_size - 1) != b"\n"  # a crash, say
                disk.write_all(fd, b"\n" + line if torn else line)
                disk.sync_file(fd)
                if not self.path:
                    disk.sync_folder(_folder())
            except BaseException:
                if not self.path:
                    with suppress(OSError):
                        os.unlink(path)
                raise
        self.path = path


def load(path: str) -> Conversation:
    """All that can be read of a conversation; lines that cannot are passed over."""
    talk = Conversation(_id(path), path)
    for record in map(_record, _lines(read(path))):
        talk.notes |= dict.fromkeys(marks_in(record))
        match record:
            case {"said": str(text)}:
                talk.said.append(text)
                own = record.get("typed", text)
                if record.get("draft") and isinstance(own, str) and own not in ("", LEFT_OUT):
                    talk.undrafted.append(own)
            case {"drafted": int()}:
                talk.undrafted.clear()
            case {"turn": list(new)} if all(map(_is_message, new)):
                talk.messages += new
                talk.turns += 1
            case {"working": list(new)} if all(map(_is_message, new)):
                talk.messages = new
            case {"external": list(new)} if all(isinstance(one, str) for one in new):
                talk.external |= dict.fromkeys(new)
            case {"co": int(), "project": str(), "started": str(text)}:
                talk.started = text
    return talk


def recent(project: folders.AnyPath, limit: int) -> list[Conversation]:
    """This project's conversations that can go on, the one last spoken in first."""
    return list(islice(_talks(_of(project)), limit))


def find(project: folders.AnyPath, prefix: str) -> Conversation:
    """The one conversation here whose id, or the four letters it ends with, begins like this.

    The `latest` is the one that was last spoken in.
    """
    if prefix == "latest":
        for one in recent(project, 1):
            return one
        raise NotFound("there is no earlier conversation here", hint="Start one: co chat")
    called = (path for path in _of(project) if prefix and f"-{prefix}" in f"-{_id(path)}")
    found = list(_talks(called))
    if len(found) == 1:
        return found[0]
    some = [one.path for one in found or recent(project, 10)]
    shown = "".join(f"\n      {line}" for line in described(some[:10]))
    if found:
        many = f"{len(found)} conversations begin with '{prefix}'"
        raise Ambiguous(many, choices=found, hint=f"Type more of its id:{shown}")
    hint = f"Conversations here:{shown}" if shown else "There are none in this project yet."
    raise NotFound(f"there is no conversation '{prefix}' in this project", hint=hint)


def said_before(
    project: folders.AnyPath, limit: int = 500, but: str = "", *, own: bool = False
) -> list[str]:
    """What the person sent in this project, newest first, each text once; `but` in one file.

    Of their `own` is what they did not paste.
    """
    found: dict[str, None] = {}
    seen = 0
    for path in (path for path in _of(project) if path != but):
        with suppress(CoError):
            data = read(path)
            seen += len(data)
            records = [_record(line) for line in _lines(data, _SAID)]
            sent = [one.get("typed" if own and "typed" in one else "said") for one in records]
            found |= dict.fromkeys(text for text in reversed(sent) if isinstance(text, str))
        if len(found) >= limit or seen > MAX_FILE:
            break
    return list(found)[:limit]


def prune(now: datetime, days: int = KEEP_DAYS) -> None:
    """Remove conversations that nobody has continued for this many days."""
    oldest = (now - timedelta(days=days)).timestamp()
    remove(path for path, changed in files() if changed < oldest)


def described(paths: Iterable[str]) -> Iterator[str]:
    """A line about each of these: its id, its day, and what was said in it first."""
    for path in paths:
        told = ""
        with suppress(CoError):
            talk = load(path)
            told = f"{talk.started[:10]}  {in_a_line(''.join(talk.said[:1]))}"
        yield f"{_id(path)}  {told}".rstrip()


def in_a_line(said: str, most: int = 60) -> str:
    """The first words that somebody typed, without what drives a terminal."""
    plain = re.sub(
        r"\x1b(?:\[[0-?]{0,20}[ -/]{0,4}[@-~]|\][^\x07\x1b]{0,200}\x07?|.)", "", said[:1000]
    )
    flat = escape(" ".join(plain.split()), keep="")
    return (
        flat if len(flat) <= most else f"{flat[: most - 1].rpartition(' ')[0] or flat[: most - 1]}…"
    )


def remove(paths: Iterable[str]) -> None:
    """Remove these whole, because an answer or a summary may say the same in other words."""
    with disk.in_words():
        for path in paths:
            with suppress(FileNotFoundError):
                os.unlink(path)
                disk.sync_folder(_folder())


def _folder() -> str:
    return os.path.join(folders.state_folder(), "transcripts")


def _new_path(started: str) -> str:
    """Where a conversation goes; the folder is made if need be, for its owner alone."""
    disk.make_folder(folders.state_folder(), 0o700)
    disk.make_folder(_folder(), 0o700)
    with disk.opened(_folder(), os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC) as fd:
        os.fchmod(fd, 0o700)
    moment = started[:19].replace("-", "").replace(":", "")
    letters = "".join(_LETTERS[byte % 32] for byte in os.urandom(4))
    return os.path.join(_folder(), f"{moment}Z-{letters}.jsonl")


def files() -> list[tuple[str, float]]:
    """Every transcript and the time of its last line, newest first; no links, no other names."""
    folder, found = _folder(), []
    with disk.in_words():
        for name in filter(_NAME.fullmatch, disk.list_names(folder)):
            with suppress(FileNotFoundError):
                info = os.lstat(os.path.join(folder, name))
                if stat.S_ISREG(info.st_mode):
                    found.append((os.path.join(folder, name), info.st_mtime))
    return sorted(found, key=lambda one: (one[1], one[0]), reverse=True)


def _of(project: folders.AnyPath) -> Iterator[str]:
    """The transcripts whose first line names this project, newest first."""
    real = os.path.realpath(project)
    for path, _ in files():
        named = None
        with suppress(OSError), disk.opened(path) as fd:
            named = _record(os.read(fd, _HEADER).partition(b"\n")[0]).get("project")
        if named == real:
            yield path


def _talks(paths: Iterator[str]) -> Iterator[Conversation]:
    for path in paths:
        with suppress(CoError):
            talk = load(path)
            if talk.messages:
                yield talk


def _id(path: str) -> str:
    return os.path.basename(path).removesuffix(".jsonl")


def read(path: str) -> bytes:
    try:
        return disk.read_signed(path, MAX_FILE)[0]
    except FileNotFoundError:
        raise NotFound(f"there is no conversation {path}") from None
    except FormatError as error:
        raise type(error)(f"{path} {error}") from error


def _line(record: dict[str, Any]) -> bytes:
    # Half a character, which a terminal may send, is written the way JSON escapes it.
    return json.dumps(record, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"


def _lines(data: bytes, start: bytes = b"") -> Iterator[bytes]:
    found = (match.group() for match in re.finditer(rb"[^\n]+", data))
    return (line for line in islice(found, MOST_LINES) if line.startswith(start))


def _record(line: bytes) -> dict[str, Any]:
    """The record in a line; an empty one when there is none that Co reads."""
    found = parsed(line) if len(line) <= MAX_LINE else None
    return found if isinstance(found, dict) else {}


def marks_in(value: Any) -> list[str]:
    """The marks of the notes that entered with this line."""
    match value:
        case {"notes": list(marks)}:
            return [mark for mark in marks if isinstance(mark, str)]
    return []


def _is_message(value: object) -> bool:
    match value:
        case {"kind": "request" | "response", "parts": list()}:
            return True
    return False
