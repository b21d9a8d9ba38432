"""A folder of somebody's markdown files, searched where it lies. Reads; nothing is written there.

Hidden files and folders, links and installed packages are left out. All files are articles, by
their path below the folder: `articles/cooking/bread.md`.
"""

import os
from contextlib import suppress
from typing import Any, NoReturn

from co_cli import paths
from co_cli.errors import FormatError, ReadOnly
from co_cli.knowledge.safety.escape import escape
from co_cli.knowledge.store import disk
from co_cli.knowledge.store.files import is_settled
from co_cli.knowledge.store.memory import MemoryStore

MOST_FILES = 20_000
_MOST_LOOKED_AT = 200_000  # names of any kind
_ARTICLES = "articles/"


class OutsideStore:
    """The markdown files below one folder, as `Store` describes what can be done with them."""

    def __init__(self, root: str) -> None:
        self.root = root  # a real path; where it has become a link, it counts as gone
        name = str(disk.digest(os.fsencode(root)))[:32]
        self.index_folder = os.path.join(paths.state_folder(), "folders", name)
        self.aside: list[str] = []
        self.left_out: list[tuple[str, str]] = []  # what the last listing could not take, and why
        self.links = 0  # to markdown files or folders, which it passed by
        nothing = MemoryStore()  # what is only read has no journal and no archive
        self.settle, self.tail, self.entries = nothing.settle, nothing.tail, nothing.entries
        self.unreadable_lines, self.kept = nothing.unreadable_lines, nothing.kept

    # Reading

    def exists(self) -> bool:
        return os.path.isdir(self.root) and os.path.realpath(self.root) == self.root

    def locate(self, path: str, n: int = 0) -> str:  # noqa: ARG002 - nothing is archived
        return os.path.join(self.root, path.removeprefix(_ARTICLES))

    def names(self, folder: str) -> list[str]:
        return list(self.files(folder))

    def files(self, folder: str) -> dict[str, int]:
        found: dict[str, int] = {}
        self.left_out, self.links = [], 0
        waiting, looked_at = [""] if folder == "articles" and self.exists() else [], 0
        while waiting:
            below = waiting.pop()
            for entry in self._list(below):
                name = below + entry.name
                looked_at += 1
                if entry.is_symlink():
                    self.links += name[-3:].lower() == ".md" or os.path.isdir(entry.path)
                elif entry.is_dir(follow_symlinks=False):
                    waiting.append(name + "/")
                elif name[-3:].lower() == ".md" and entry.is_file(follow_symlinks=False):
                    with suppress(FileNotFoundError):  # it went this moment
                        found[name] = hash(disk.signature(entry.stat(follow_symlinks=False)))
                if len(found) > MOST_FILES or looked_at > _MOST_LOOKED_AT:
                    much = f"{MOST_FILES:,} markdown files, or {_MOST_LOOKED_AT:,} files in all"
                    self.left_out.append((self.root, f"holds over {much}; the rest is left out"))
                    return found
        return found

    def _list(self, below: str) -> list[os.DirEntry[str]]:
        """What is in a folder, but for what is left out everywhere, in a fixed order."""
        where = os.path.join(self.root, below)
        try:
            with os.scandir(where) as entries:
                kept = [one for one in entries if one.name[0] != "." and one.name != "node_modules"]
            return sorted(kept, key=lambda entry: entry.name)
        except disk.ABSENT:
            return []
        except OSError as error:
            self.left_out.append((where, f"cannot be read: {error.strerror}"))
            return []

    def signature(self, path: str, *, settled: bool = False) -> int:
        try:
            told = disk.signature(os.lstat(self.locate(path)))
        except OSError:
            return 0
        return hash(told) if not settled or is_settled(told) else 0

    def modified(self, path: str, n: int = 0) -> int:
        try:
            return os.lstat(self.locate(path, n)).st_mtime_ns
        except OSError:
            return 0

    def read(self, path: str, n: int = 0) -> bytes | None:
        try:
            return None if n else self.read_signed(path)[0]
        except FileNotFoundError:
            return None

    def read_signed(self, path: str) -> tuple[bytes, int]:
        full = self.locate(path)
        folder = os.path.dirname(full)
        if os.path.realpath(folder) != folder:  # also whatever `..` would lead to
            raise FormatError("is reached through a link; Co follows none here")
        data, told = disk.read_signed(full)
        return data, hash(told) if is_settled(told) else 0

    # Writing

    def refuse(self, path: str) -> NoReturn:
        hint = "Edit the file itself; the next recall reads it anew."
        raise ReadOnly(f"Co only reads {escape(self.locate(path), keep='')}", hint=hint)

    def _refuse(self, *_: Any) -> Any:
        self.refuse("")

    locked = commit = begin = erase = rewrite = _refuse
