"""A planned mutation and the journal that makes it durable, whole and undoable.

A Change is planned without the lock. Committing it holds the lock, checks that every file is
still what the plan read, writes an intent line, moves previous bytes into the archive, applies
the edits, and writes a done line. A commit cut short is finished or rolled back by the next one.
The journal knows files and bytes; what a note means is decided elsewhere.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from threading import get_ident
from typing import Any, NamedTuple

from co_cli.errors import CoError, DiskTrouble, FormatError, MovedOn, NotFound, Unreadable
from co_cli.knowledge import disk

GITIGNORE = b"knowledge.db*\n.lock\ninbox/\narchive/\n"
FOLDERS = ("memories", "articles", "inbox")
_PATH = re.compile(r"(?:(?:memories|articles|inbox)/[^/\0]+\.md|context\.md)\Z")
_TAIL = 64 * 1024
_MAX_TAIL = 8 * 1024 * 1024
MAX_JOURNAL = 512 * 1024 * 1024


class Linked(CoError):
    """A folder inside a notebook is a symbolic link."""


class Edit(NamedTuple):
    """One file of a change: its bytes before and after; None means no file."""

    path: str
    before: bytes | None
    after: bytes | None


class Change(NamedTuple):
    """What will happen, all of it or nothing."""

    op: str
    actor: str
    at: str
    basis: int
    edits: tuple[Edit, ...]
    reads: tuple[tuple[str, str | None], ...] = ()
    high: int = 0
    undoes: int = 0
    call: str = ""
    over: bool = False


@dataclass(slots=True)
class Entry:
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
    files: list[dict[str, Any]] = field(default_factory=list)

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
        if any(type(number) is not int or not 0 <= number < 2**53 for number in numbers):
            return None
        if not all(isinstance(word, str) for word in words) or type(entry.over) is not bool:
            return None
        for file in entry.files:
            sides = (file["before"], file["after"])
            if not _PATH.match(file["path"]) or any(
                not isinstance(side, str | None) for side in sides
            ):
                return None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    return entry


def _last(fd: int) -> Entry:
    """The last readable line of a journal, read from its end."""
    size = os.fstat(fd).st_size
    chunk = 0
    while chunk < size:
        if chunk > _MAX_TAIL:
            raise FormatError("the journal's end cannot be read; move the archive folder away")
        chunk = min(size, chunk * 8 or _TAIL)
        lines = os.pread(fd, chunk, size - chunk).split(b"\n")
        for line in reversed(lines if chunk == size else lines[1:]):
            if line and (entry := _entry(line)):
                return entry
    return Entry(0, "done", 0)


class Journal:
    """The record of every change to one knowledge folder, and the only hand that edits it."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.archive = os.path.join(root, "archive")
        self.path = os.path.join(self.archive, "journal.jsonl")
        self._holder = 0

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the notebook's lock; entering again in the thread that holds it is free."""
        if self._holder == get_ident():
            yield
            return
        self._prepare()
        with disk.locked(os.path.join(self.root, ".lock")):
            self._holder = get_ident()
            try:
                self._ignore()
                yield
            finally:
                self._holder = 0

    def _prepare(self) -> None:
        disk.make_folder(self.root)
        for name in ("memories", "archive"):
            folder = os.path.join(self.root, name)
            self._refuse_links(folder)
            disk.make_folder(folder, 0o700 if name == "archive" else 0o777)

    def _ignore(self) -> None:
        """Keep what is derived or private out of git."""
        ignore = os.path.join(self.root, ".gitignore")
        if not os.path.lexists(ignore):
            with suppress(FileExistsError):
                disk.create(ignore, GITIGNORE)

    def _refuse_links(self, folder: str) -> None:
        """No folder on the way from the notebook to this one may be a link that leads elsewhere."""
        while folder != self.root:
            if disk.is_link(folder):
                raise Linked(
                    f"{folder} is a symbolic link",
                    hint="Co follows no links inside a notebook. Make it a real folder.",
                )
            folder = os.path.dirname(folder)

    def tail(self) -> Entry:
        """The last line that can be read: where the journal stands."""
        self._refuse_links(self.archive)
        try:
            fd = os.open(self.path, disk.READ_FLAGS)
        except (FileNotFoundError, NotADirectoryError):
            return Entry(0, "done", 0)
        except OSError as error:
            raise disk.trouble(error) from error
        try:
            return _last(fd)
        except OSError as error:
            raise disk.trouble(error) from error
        finally:
            disk.close_read(fd)

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
                found[entry.n].state = entry.state
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

    def kept_path(self, n: int, path: str) -> str:
        """Where change `n` keeps the previous bytes of a file."""
        return os.path.join(self.archive, f"{n:06d}", *path.split("/"))

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
        return disk.read_if_any(os.path.join(self.root, *path.split("/")))

    def commit(self, change: Change) -> int:
        """Carry the change out and return its number; MovedOn when the plan is out of date."""
        try:
            with self.locked():
                self.recover()
                return self._commit(change)
        except OSError as error:
            raise disk.trouble(error) from error

    def _commit(self, change: Change) -> int:
        tail = self.tail()
        if tail.n != change.basis:
            raise MovedOn("the notebook changed meanwhile")
        for path, expected in change.reads:
            self._expect(path, expected)
        for edit in change.edits:
            self._expect(edit.path, disk.digest(edit.before))
        for edit in change.edits:
            self._refuse_links(os.path.dirname(self.kept_path(tail.n + 1, edit.path)))
        entry = self.begin(change)
        try:
            self._apply(entry.n, change.edits)
            self._finish(entry, "done")
        except BaseException:
            with suppress(OSError, CoError):
                if self.tail().state == "intent":
                    disk.sweep_temps(self.folders())
                    self._roll_back(entry)
            raise
        return entry.n

    def begin(self, change: Change) -> Entry:
        """Write down durably what is about to be done; only while holding the lock."""
        tail = self.tail()
        entry = Entry(
            tail.n + 1, "intent", max(tail.high, change.high), change.op, change.actor, change.at,
            change.undoes, change.call, change.over, [_file(edit) for edit in change.edits],
        )  # fmt: skip
        self._append(_intent_line(entry), durable=True)
        return entry

    def _expect(self, path: str, expected: str | None) -> None:
        try:
            found = disk.digest(self.read(path))
        except FormatError as error:
            raise MovedOn(f"{path} {error}") from error
        if found != expected:
            raise MovedOn(f"{path} changed since it was read")

    def _apply(self, n: int, edits: tuple[Edit, ...]) -> None:
        """Previous bytes into the archive, then new content in place, then removals."""
        old = [edit for edit in edits if edit.before is not None]
        kept_folders = {os.path.dirname(self.kept_path(n, edit.path)) for edit in old}
        for folder in kept_folders:
            disk.make_folder(folder)
        for edit in old:
            if edit.after is not None:
                disk.keep(self._full(edit.path), self.kept_path(n, edit.path))
        for folder in kept_folders:
            disk.sync_folder(folder)
        for edit in sorted(edits, key=lambda edit: edit.after is None):
            path, kept = self._full(edit.path), self.kept_path(n, edit.path)
            if edit.before is None and edit.after is not None:
                self._create(path, edit.after)
                continue
            if edit.after is None:
                os.rename(path, kept)
                found = disk.read_bytes(kept)
            else:
                found = disk.swap(path, edit.after)
            if found != edit.before:
                self._give_back(path, kept, found, edit)
        # The archive first: a power cut between the two must find a removed file somewhere.
        for folder in (*kept_folders, *{os.path.dirname(self._full(edit.path)) for edit in edits}):
            disk.sync_folder(folder)

    def _give_back(self, path: str, kept: str, found: bytes, edit: Edit) -> None:
        """Somebody edited the file a moment ago: put their version back, whole."""
        if edit.after is None:
            os.replace(kept, path)
        else:
            disk.swap(path, found)
        raise MovedOn(f"{edit.path} changed while it was being written")

    def _create(self, path: str, data: bytes) -> None:
        disk.make_folder(os.path.dirname(path))
        try:
            disk.create(path, data)
        except FileExistsError:
            raise MovedOn(f"{os.path.basename(path)} appeared meanwhile") from None

    def folders(self) -> list[str]:
        """Where a writer's temporary files can be."""
        return [self.root, self.archive, *(self._full(name) for name in FOLDERS)]

    def recover(self, *, tidy: bool = False) -> None:
        """Finish or roll back a change that was cut short; only while holding the lock.

        Temporary files are looked for where a change was cut short, and everywhere with `tidy`.
        """
        entry = self.tail()
        cut_short = entry.state == "intent"
        disk.sweep_temps(self.folders() if cut_short or tidy else [self.root])
        if not cut_short:
            return
        if entry.op == "purge":  # the only one that rewrites what is archived
            names = disk.list_names(self.archive)
            disk.sweep_temps(os.path.join(self.archive, name, "memories") for name in names)
        if all(self._digest(file["path"]) == file["after"] for file in entry.files):
            self._finish(entry, "done")
        else:
            self._roll_back(entry)

    def _roll_back(self, entry: Entry) -> None:
        """Bring back what was there, except where somebody has edited a file since."""
        for file in reversed(entry.files):
            path, kept = self._full(file["path"]), self.kept_path(entry.n, file["path"])
            now = self._digest(file["path"])
            if file["before"] is None:
                if now is not None and now == file["after"]:
                    os.unlink(path)
            elif not self._is_kept(kept):
                continue
            elif now is None or now == file["after"]:
                os.replace(kept, path)
            elif now == file["before"]:
                os.unlink(kept)
        for folder in {os.path.dirname(self._full(file["path"])) for file in entry.files}:
            if os.path.isdir(folder):
                disk.sync_folder(folder)
        self._finish(entry, "rolled back")

    def _is_kept(self, kept: str) -> bool:
        """Whether the archive, and not something a link leads to, holds this file."""
        try:
            self._refuse_links(kept)
        except Linked:
            return False
        return disk.exists(kept)

    def _digest(self, path: str) -> str | None:
        try:
            return disk.digest(self.read(path))
        except Unreadable as error:  # then nothing can be decided about it now
            raise DiskTrouble(f"{path} {error}", hint="Nothing was changed; try again.") from error
        except FormatError:
            return "something else"

    def _full(self, path: str) -> str:
        return os.path.join(self.root, *path.split("/"))

    def _finish(self, entry: Entry, state: str) -> None:
        self._append(_end_line(entry, state), durable=False)

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


def _file(edit: Edit) -> dict[str, Any]:
    return {
        "path": edit.path,
        "before": disk.digest(edit.before),
        "after": disk.digest(edit.after),
    }


def _intent_line(entry: Entry) -> str:
    line = {
        "n": entry.n,
        "state": "intent",
        "high": entry.high,
        "op": entry.op,
        "actor": entry.actor,
        "at": entry.at,
        "undoes": entry.undoes,
        "call": entry.call,
        "over": entry.over,
        "files": entry.files,
    }
    return json.dumps(line, separators=(",", ":"))


def _end_line(entry: Entry, state: str) -> str:
    line = {"n": entry.n, "state": state, "high": entry.high, "over": entry.over}
    return json.dumps(line, separators=(",", ":"))
