"""The journal's file: one line when a change begins, one when it ends. Knows no bytes of notes."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from co_cli.errors import CoError, FormatError, NotFound
from co_cli.knowledge.store import disk

MAX_JOURNAL = 512 * 1024 * 1024
MAX_NUMBER = 2**53
_PATH = r"(?:memories|articles|inbox)/[^/\0]+\.md|context\.md"
_TAIL = 64 * 1024
_MAX_TAIL = 8 * 1024 * 1024


class Linked(CoError):
    """A folder inside a notebook is a symbolic link."""


class Entry(NamedTuple):
    """One journalled change: what the intent line said, and how it ended."""

    n: int
    state: str
    high: int
    op: str = ""
    actor: str = ""
    at: str = ""
    undoes: int = 0
    call: str = ""
    over: bool = False
    files: Sequence[dict[str, Any]] = ()

    @property
    def settled(self) -> int:
        """The last change whose outcome a reader can see; one under way is not it yet."""
        return self.n - (self.state == "intent")


def _entry(line: bytes) -> Entry | None:
    """A journal line, or None when it is torn, foreign, or names a path outside the notes."""
    try:
        found = json.loads(line)
        entry = Entry(**found)
        numbers = (entry.n, entry.high, entry.undoes)
        words = (entry.state, entry.op, entry.actor, entry.at, entry.call)
        if any(type(number) is not int or not 0 <= number < MAX_NUMBER for number in numbers):
            return None
        if not all(isinstance(word, str) for word in words) or type(entry.over) is not bool:
            return None
        for file in entry.files:
            sides = (file["before"], file["after"])
            if not re.fullmatch(_PATH, file["path"]) or any(
                not isinstance(side, str | None) for side in sides
            ):
                return None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    return entry


def _last(fd: int) -> Entry | None:
    """The last readable line of a journal, read from its end; None when there is none."""
    size = os.fstat(fd).st_size
    chunk = 0
    while chunk < size:
        if chunk > _MAX_TAIL:
            raise FormatError(
                "the journal's end cannot be read; move archive/journal.jsonl away to go on"
            )
        chunk = min(size, chunk * 8 or _TAIL)
        lines = os.pread(fd, chunk, size - chunk).split(b"\n")
        for line in reversed(lines if chunk == size else lines[1:]):
            if line and (entry := _entry(line)):
                return entry
    return None


class JournalFile:
    """Reading and writing the record of changes of one knowledge folder."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.archive = os.path.join(root, "archive")
        self.path = os.path.join(self.archive, "journal.jsonl")
        self.aside: list[str] = []  # archived files that somebody was editing at that moment

    def _refuse_links(self, folder: str) -> None:
        """No folder on the way from the notebook to this one may be a link that leads elsewhere."""
        while folder != self.root:
            if disk.is_link(folder):
                raise Linked(
                    f"{folder} is a symbolic link",
                    hint="Co follows no links inside a notebook. Make it a real folder.",
                )
            folder = os.path.dirname(folder)

    def _full(self, path: str) -> str:
        return os.path.join(self.root, *path.split("/"))

    def tail(self) -> Entry:
        """The last line that can be read: where the journal stands."""
        self._refuse_links(self.archive)
        try:
            fd = os.open(self.path, disk.READ_FLAGS)
        except (FileNotFoundError, NotADirectoryError):
            return self._start()
        except OSError as error:
            raise disk.trouble(error) from error
        try:
            return _last(fd) or self._start()
        except OSError as error:
            raise disk.trouble(error) from error
        finally:
            disk.close_read(fd)

    def _start(self) -> Entry:
        """Where a journal begins: after what the archive holds."""
        return Entry(max((n for n in self._folders() if n < 10**9), default=0), "done", 0)

    def _folders(self) -> list[int]:
        """The numbers of the archive's folders."""
        names = [name for name in disk.list_names(self.archive) if name.isdecimal()]
        return [int(name) for name in names if len(name) < len(str(MAX_NUMBER))]

    def next_number(self, n: int) -> int:
        """The number after `n`, unless the archive has it from a journal that was lost.

        Then, and when numbers end there, it is the first in the longest row of free ones.
        """
        if n + 1 < MAX_NUMBER and not disk.exists(self.kept_folder(n + 1)):
            return n + 1
        taken = sorted({0, *self._folders(), *(entry.n for entry in self.entries())})
        gaps = zip(taken, [*taken[1:], MAX_NUMBER], strict=True)
        return max(gaps, key=lambda gap: gap[1] - gap[0])[0] + 1

    def entries(self) -> list[Entry]:
        """Every change, oldest first, with how it ended."""
        found: dict[int, Entry] = {}
        for line in self._lines():
            entry = _entry(line) if line else None
            if entry is None:
                continue
            if entry.state == "intent":
                found[entry.n] = entry
            elif entry.n in found:
                found[entry.n] = found[entry.n]._replace(state=entry.state)
        return list(found.values())

    def find_call(self, call: str) -> Entry | None:
        """The finished change that a tool call of this id made."""
        if not call or json.dumps(call).encode() not in b"\n".join(self._lines()):
            return None
        calls = [entry for entry in self.entries() if entry.call == call and entry.state == "done"]
        return calls[-1] if calls else None

    def _lines(self) -> list[bytes]:
        return (disk.read_if_any(self.path, MAX_JOURNAL) or b"").split(b"\n")

    def unreadable_lines(self) -> list[int]:
        """The numbers of journal lines that cannot be read; the last may be torn by a crash."""
        lines = enumerate(self._lines(), 1)
        return [number for number, line in lines if line and _entry(line) is None]

    def kept_folder(self, n: int) -> str:
        """Where change `n` keeps previous bytes."""
        return os.path.join(self.archive, f"{n:06d}")

    def kept_path(self, n: int, path: str) -> str:
        """Where change `n` keeps the previous bytes of a file."""
        return os.path.join(self.kept_folder(n), *path.split("/"))

    def digest_kept(self, n: int, path: str) -> str | None:
        """The digest of what change `n` keeps of a file; None when it is gone."""
        kept = self.kept_path(n, path)
        self._refuse_links(os.path.dirname(kept))
        return disk.digest_of(kept)

    def kept(self, n: int, file: dict[str, Any]) -> bytes:
        """The previous bytes of a file, as change `n` found them."""
        path = self.kept_path(n, file["path"])
        self._refuse_links(os.path.dirname(path))
        data = disk.read_if_any(path)
        if data is None or disk.digest(data) != file["before"]:
            raise NotFound(
                f"the archive no longer holds {file['path']} as it was before change {n}",
                hint="It was purged, or the archive was changed by hand.",
            )
        return data

    def read(self, path: str) -> bytes | None:
        """A file of this folder as it is now."""
        full = self._full(path)
        self._refuse_links(os.path.dirname(full))
        return disk.read_if_any(full)

    def finish(self, entry: Entry, state: str) -> None:
        """Write down how a change ended."""
        self._append(_end_line(entry, state), durable=False)

    def append(self, entry: Entry) -> None:
        """Write down durably that a change begins."""
        self._append(_intent_line(entry), durable=True)

    def _append(self, line: str, *, durable: bool) -> None:
        """Add a line; on failure take back what was written of it."""
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        fd = os.open(self.path, flags, 0o600)
        try:
            size = os.fstat(fd).st_size
            torn = size > 0 and os.pread(fd, 1, size - 1) != b"\n"
            os.lseek(fd, 0, os.SEEK_END)
            try:
                disk.write_all(fd, (b"\n" if torn else b"") + line.encode() + b"\n")
                if durable:
                    disk.sync_file(fd)
            except OSError:
                with suppress(OSError):
                    os.ftruncate(fd, size)
                raise
        finally:
            os.close(fd)
        if durable and size == 0:
            disk.sync_folder(self.archive)

    def rewrite(self, entries: list[Entry]) -> None:
        """Replace the whole journal; purge uses it to drop what must not be remembered."""
        lines = []
        for entry in entries:
            lines.append(_intent_line(entry))
            if entry.state != "intent":
                lines.append(_end_line(entry, entry.state))
        disk.put(self.path, ("\n".join(lines) + "\n").encode())


def _intent_line(entry: Entry) -> str:
    return json.dumps(entry._asdict() | {"state": "intent"}, separators=(",", ":"))


def _end_line(entry: Entry, state: str) -> str:
    line = {"n": entry.n, "state": state, "high": entry.high, "over": entry.over}
    return json.dumps(line, separators=(",", ":"))
