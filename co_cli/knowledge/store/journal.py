"""The journal's file: one line when a change begins, one when it ends. Knows no bytes of notes."""

import json
import os
import re
from contextlib import suppress
from typing import NamedTuple

from co_cli.errors import FormatError
from co_cli.knowledge.store import Entry, disk

MAX_JOURNAL = 512 * 1024 * 1024
MAX_NUMBER = 2**53
_PATH = r"(?:memories|articles|inbox)/[^/\0]+\.md|attachments/[^/\0.][^/\0]*|context\.md"
_TAIL = 64 * 1024
_MAX_TAIL = 8 * 1024 * 1024


def _entry(line: bytes) -> Entry | None:
    """A journal line, or None when it is torn, foreign, or names a path outside the notes."""
    try:
        entry = Entry(**json.loads(line))
        numbers = (entry.n, entry.high, entry.undoes)
        words = (entry.state, entry.op, entry.actor, entry.at, entry.call, entry.pair, entry.other)
        sides = [file[side] for file in entry.files for side in ("before", "after")]
        fits = (
            all(type(number) is int and 0 <= number < MAX_NUMBER for number in numbers)
            and all(isinstance(word, str) for word in words)
            and type(entry.over) is bool
            and all(isinstance(side, str | None) for side in sides)
            and all(re.fullmatch(_PATH, file["path"]) for file in entry.files)
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    return entry if fits else None


def _line(entry: Entry) -> str:
    """All about a change that begins, or how it ended."""
    said = entry._asdict()
    if not entry.pair:
        del said["pair"], said["other"]
    if entry.state != "intent":
        said = {name: said[name] for name in ("n", "state", "high", "over")}
    return json.dumps(said, separators=(",", ":")) + "\n"


class JournalFile(NamedTuple):
    """The record of the changes of one knowledge folder; `Store` says more."""

    path: str

    def last(self) -> Entry | None:
        """The last line that can be read, looked for from the end; None when there is none."""
        with disk.in_words(), suppress(*disk.ABSENT), disk.opened(self.path) as fd:
            size, chunk = os.fstat(fd).st_size, 0
            while chunk < size:
                if chunk > _MAX_TAIL:
                    hint = "move archive/journal.jsonl away to go on"
                    raise FormatError(f"the journal's end cannot be read; {hint}")
                chunk = min(size, chunk * 8 or _TAIL)
                lines = os.pread(fd, chunk, size - chunk).split(b"\n")
                for line in reversed(lines if chunk == size else lines[1:]):
                    if line and (entry := _entry(line)):
                        return entry
        return None

    def entries(self) -> list[Entry]:
        found: dict[int, Entry] = {}
        for line in self._lines():
            entry = _entry(line) if line else None
            if entry and entry.state == "intent":
                found[entry.n] = entry
            elif entry and entry.n in found:
                found[entry.n] = found[entry.n]._replace(state=entry.state)
        return list(found.values())

    def _lines(self) -> list[bytes]:
        return (disk.read_if_any(self.path, MAX_JOURNAL) or b"").split(b"\n")

    def unreadable_lines(self) -> list[int]:
        lines = enumerate(self._lines(), 1)
        return [number for number, line in lines if line and _entry(line) is None]

    def append(self, entry: Entry) -> None:
        """Write down that a change begins, durably, or how it ended; a whole line or nothing."""
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        begins = entry.state == "intent"
        with disk.opened(self.path, flags, 0o600) as fd:
            size = os.fstat(fd).st_size
            torn = size > 0 and os.pread(fd, 1, size - 1) != b"\n"
            os.lseek(fd, 0, os.SEEK_END)
            try:
                disk.write_all(fd, (b"\n" if torn else b"") + _line(entry).encode())
                if begins:  # an end that is lost is found out again
                    disk.sync_file(fd)
            except OSError:
                with suppress(OSError):
                    os.ftruncate(fd, size)
                raise
        if begins and size == 0:
            disk.sync_folder(os.path.dirname(self.path))

    def rewrite(self, entries: list[Entry]) -> None:
        lines = [line for entry in entries for line in (entry._replace(state="intent"), entry)]
        disk.put(self.path, "".join(map(_line, lines)).encode())
