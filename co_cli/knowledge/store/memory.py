"""A notebook's files in dictionaries, gone with the process: for trials, and tests of one's own."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from threading import RLock
from time import time_ns

from co_cli.errors import MovedOn
from co_cli.knowledge.store import Change, Entry, intent, is_note, refuse_stale


class MemoryStore:
    """The files of one notebook that is nowhere but in memory, as `Store` describes them."""

    def __init__(self, root: str = "memory") -> None:
        self.root = root  # what its paths begin with
        self.index_folder = ""
        self.aside: list[str] = []
        self._files: dict[str, tuple[bytes, int]] = {}  # each with its signature
        self._times: dict[str, int] = {}
        self._edits = count(1)
        self._entries: list[Entry] = []
        self._lock = RLock()

    def put(self, path: str, data: bytes | None, modified: int = 0) -> None:
        """Write a file, or with None remove it, past the journal: as a person edits by hand."""
        with self._lock:
            self._files.pop(path, None)
            if data is not None:
                self._files[path] = data, next(self._edits)
                self._times[path] = modified or time_ns()

    # Reading

    def exists(self) -> bool:
        return bool(self._files or self._entries)

    def locate(self, path: str, n: int = 0) -> str:
        return f"{self.root}/{_path(path, n)}"

    def names(self, folder: str) -> list[str]:
        with self._lock:
            found = [path.rpartition("/") for path in self._files]
        return [name for at, _, name in found if at == folder and is_note(name, folder)]

    def files(self, folder: str) -> dict[str, int]:
        with self._lock:
            return {name: self._files[f"{folder}/{name}"][1] for name in self.names(folder)}

    def signature(self, path: str, *, settled: bool = False) -> int:  # noqa: ARG002
        return self._files.get(path, (b"", 0))[1]

    def modified(self, path: str, n: int = 0) -> int:
        return self._times.get(_path(path, n), 0)

    def read(self, path: str, n: int = 0) -> bytes | None:
        return self._files.get(_path(path, n), (None, 0))[0]

    def read_signed(self, path: str) -> tuple[bytes, int]:
        with self._lock:
            if path not in self._files:
                raise FileNotFoundError(path)
            return self._files[path]

    # The journal

    def settle(self) -> tuple[Entry, str]:
        """Nothing is ever left half done, except a purge that failed."""
        return self.tail(), ""

    def tail(self) -> Entry:
        return self._entries[-1] if self._entries else Entry(0, "done", 0)

    def entries(self) -> list[Entry]:
        return list(self._entries)

    def unreadable_lines(self) -> list[int]:
        return []

    def kept(self) -> Iterator[tuple[int, str, bytes]]:
        for path, (raw, _) in sorted(self._files.items()):
            archive, _, rest = path.partition("/")
            n, _, rest = rest.partition("/")
            if archive == "archive" and rest.startswith(("articles/", "inbox/", "memories/")):
                yield int(n), f"{self.root}/{path}", raw

    # Writing

    def refuse(self, path: str) -> None:
        pass

    @contextmanager
    def locked(self) -> Iterator[None]:
        with self._lock:
            if self.tail().state == "intent":  # a purge that failed
                self._entries[-1] = self.tail()._replace(state="cut short")
            yield

    def commit(self, change: Change, then: Callable[[], object] | None = None) -> int:
        with self.locked():
            refuse_stale(self, change)
            before = dict(self._files), dict(self._times)
            entry = intent(change, self.tail(), self.tail().n + 1)
            for edit in change.edits:
                if edit.before is not None:
                    self.put(_path(edit.path, entry.n), edit.before, self.modified(edit.path))
                self.put(edit.path, edit.after, edit.modified)
            try:
                if then is not None:
                    then()
            except BaseException:
                self._files, self._times = before
                raise
            self._entries.append(entry._replace(state="done"))
            return entry.n

    def begin(self, change: Change) -> None:
        self._entries.append(intent(change, self.tail(), self.tail().n + 1))

    def erase(self, where: str, before: bytes, after: bytes | None) -> None:
        path = where.removeprefix(f"{self.root}/")
        if self.read(path) != before:
            raise MovedOn(f"{path} changed while it was being written")
        self.put(path, after)

    def rewrite(self, entries: list[Entry]) -> None:
        self._entries = list(entries)


def _path(path: str, n: int) -> str:
    return f"archive/{n:06d}/{path}" if n else path
