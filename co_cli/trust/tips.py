"""Files of a few names as the tips of a repository hold them: its refs, now and earlier."""

import os
import re
from collections.abc import Collection, Iterable, Iterator
from functools import cached_property

from co_cli.errors import CoError
from co_cli.knowledge.store import disk
from co_cli.trust.git import Git, TooSlow

_ENDINGS = (b".md", b".json")
_DEEPEST, _MOST = 6, 50_000  # folders inside each other, and files
_TREE = "40000"


class Tips:
    """What these commits have under these paths, without the history between them."""

    def __init__(self, git: Git, commits: Iterable[str], paths: Collection[str]) -> None:
        if any("\n" in path for path in paths):
            raise CoError("git cannot be asked about such a name")
        self._git, self._commits, self._paths = git, commits, paths

    @cached_property
    def objects(self) -> dict[str, int]:
        """The files, as objects, with their size."""
        names = [f"{commit}:{path}" for commit in self._commits for path in self._paths]
        found, folders = self._sort(names)
        for _ in range(_DEEPEST):
            if not (inside := self._inside(folders)):
                break
            files, folders = self._sort(sorted(inside))
            found |= files
            if len(found) > _MOST:
                raise TooSlow("there are too many files")
        return found

    def texts(self) -> Iterator[tuple[str, bytes]]:
        """Each file that Co would read, with its content."""
        small = [one for one, size in self.objects.items() if size <= disk.MAX_FILE]
        yield from self._read(small)

    def _sort(self, names: Iterable[str]) -> tuple[dict[str, int], list[str]]:
        """Files with their size, and folders, of what these names lead to."""
        lines = "".join(f"{name}\n" for name in names)
        if not lines:
            return {}, []
        said = os.fsdecode(self._git.ask("cat-file", "--batch-check", data=lines))
        rows = {*re.findall(r"(?m)^([0-9a-f]{40,64}) (blob|tree) (\d+)$", said)}
        files = {one: int(size) for one, kind, size in rows if kind == "blob"}
        return files, sorted(one for one, kind, _ in rows if kind == "tree")

    def _inside(self, folders: Collection[str]) -> set[str]:
        """The folders and the files of our endings in these folders."""
        found = set()
        for one, data in self._read(folders):
            long, at = len(one) // 2, 0
            while at < len(data):
                space, end = data.index(b" ", at), data.index(b"\0", at)
                mode, name = data[at:space].decode(), data[space + 1 : end]
                at = end + 1 + long
                if mode == _TREE or (mode.startswith("100") and name.lower().endswith(_ENDINGS)):
                    found.add(data[end + 1 : at].hex())
        return found

    def _read(self, objects: Collection[str]) -> Iterator[tuple[str, bytes]]:
        lines = "".join(f"{one}\n" for one in objects)
        data, at = self._git.ask("cat-file", "--batch", data=lines) if lines else b"", 0
        while at < len(data):
            end = data.index(b"\n", at)
            one, _, size = data[at:end].decode().split(" ")  # a missing one has no size
            at = end + 1 + int(size) + 1
            yield one, data[end + 1 : at - 1]
