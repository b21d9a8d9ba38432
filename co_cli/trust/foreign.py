"""Which notes of a project were written or agreed to on this machine, by the hash of their file.

The list lies in the state folder, where no repository reaches. Git is asked only about what is
not in it, and once. Where the list is lost, everything counts as brought: that Co made a text of
one from elsewhere is known by the list alone.
"""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress

from co_cli import paths
from co_cli.errors import CoError
from co_cli.knowledge.format.note import Note
from co_cli.knowledge.pages import ARTICLES, JOINS, MEMORIES, Pages
from co_cli.knowledge.store import disk
from co_cli.knowledge.store.files import FolderStore
from co_cli.paths import AnyPath

_MAX_LIST = 256 * 1024 * 1024
_FIRST = "# Co: hashes of texts; a ! is before those that nobody here wrote or agreed to"
_AT_ROOT, _TEXTS = ("AGENTS.md", "CLAUDE.md"), (".md", ".json")
_GOES_BACK = ("restore", "undo")  # brings back what was there, whoever wrote it
_MIXES = (*JOINS, "decay")  # makes one text of several
_TYPED = ("edit",)  # every byte was before the person's eyes

Edits = Sequence[tuple[str, bytes | None, bytes | None]]  # path below knowledge, before, after


class ProjectOrigins:
    """What is known here about where a project's notes came from."""

    def __init__(
        self, project: AnyPath, is_foreign: Callable[[AnyPath], bool] = lambda _: False
    ) -> None:
        self.project, self._is_foreign = os.path.realpath(project), is_foreign
        self.store = FolderStore(os.path.join(self.project, os.path.dirname(paths.CONTEXT)))

    def foreign(self, notes: Iterable[Note]) -> set[str]:
        """The paths of those that git brought and nobody here agreed to; the others are noted."""
        found = {self._below(note.path): note for note in notes}
        files = {path: note.raw for path, note in found.items()}
        return {found[path].path for path in self.brought(files)}

    def untrusted(self) -> bool:
        """Whether all of the folder came from elsewhere and nobody here agreed to it."""
        return self._is_foreign(self.project)

    def new(self) -> list[Note]:
        """All such notes, by name; what is the person's by the list is not asked about again."""
        if paths.repository(self.project) is None:
            return []
        notes = self.notes()
        foreign = self.foreign(notes)
        return sorted((note for note in notes if note.path in foreign), key=lambda note: note.path)

    def begin(self) -> None:
        """Start the list, if there is none; then what is there already waits for a yes."""
        self._append((), quietly=False)

    def agree(self, hashes: Iterable[str]) -> None:
        """Take these texts for the person's own from now on."""
        self._append(hashes, quietly=False)

    def agreed(self, files: Mapping[str, bytes]) -> set[str]:
        """Those of these files, by path, whose text is the person's by the list alone."""
        own = self._load() or {}
        return {path for path, data in files.items() if _known(own, data)}

    def wrote(self, op: str, edits: Edits) -> None:
        """Note what Co wrote; what it made from a text that nobody agreed to is like that text."""
        if op in _GOES_BACK:
            return
        notes = [edit for edit in edits if os.path.dirname(edit[0]) in (MEMORIES, ARTICLES)]
        where = {path: self._below(self.store.locate(path)) for path, _, _ in notes}
        foreign = self.brought({where[path]: data for path, data, _ in notes if data is not None})
        lines, old = [], [path for path, data, _ in notes if data is not None]
        new = [path for path, _, data in notes if data is not None]
        was = dict(zip(new, old, strict=True)) if op == "renumber" else {}  # one file each
        for path, _, after in notes:
            made_from = foreign if op in _MIXES else foreign & {where[was.get(path, path)]}
            if after is not None:
                lines.append(("!" if made_from and op not in _TYPED else "") + digest(after))
        self._append(lines)

    def forget(self) -> None:
        """Forget all of it."""
        with suppress(OSError):
            os.unlink(self._list())

    def forget_gone(self) -> None:
        """As in `Origins`: no hash of a purged text stays."""
        if (own := self._load()) is not None:
            there = sorted(self._present() & own.keys())
            self.forget()
            with disk.in_words():
                self._start(("" if own[sha] else "!") + sha for sha in there)

    def brought(self, files: Mapping[str, bytes]) -> set[str]:
        """Those of these files, by path below the project, that git brought or may have brought.

        What git says goes into the list.
        """
        if not files or paths.repository(self.project) is None:
            return set()
        if (own := self._load()) is None:
            return set(files)
        listed = {path: _known(own, data) for path, data in files.items()}
        unsure = {path: data for path, data in files.items() if listed[path] is None}
        foreign = {path for path, is_own in listed.items() if is_own is False}
        if unsure:
            from co_cli.trust import provenance  # and with it all that runs a program

            answer = provenance.brought(self.project, unsure, lambda data: _known(own, data))
            self._append(
                ("!" if path in answer.brought else "") + digest(unsure[path])
                for path in sorted(unsure.keys() - answer.unclear)
            )
            foreign |= answer.brought | answer.unclear
        return foreign

    def uncommitted(self, files: Mapping[str, bytes]) -> set[str]:
        """Those of these files, by path below the project, that no commit made here put in."""
        own = self._load() if files and paths.repository(self.project) is not None else None
        if own is None:
            return set(files)
        from co_cli.trust import provenance

        return provenance.uncommitted(self.project, files, lambda data: _known(own, data))

    def _below(self, path: str) -> str:
        return os.path.relpath(os.path.realpath(path), self.project)  # as git knows it

    def notes(self) -> list[Note]:
        """Every note that can be read, memories and articles."""
        files = [(kind, name) for kind in (MEMORIES, ARTICLES) for name in self.store.names(kind)]
        found = map(Pages(self.store).note, (f"{kind}/{name}" for kind, name in files))
        return [note for note in found if note]

    def _list(self) -> str:
        return os.path.join(paths.state_folder(), "known", digest(os.fsencode(self.project)))

    def _load(self) -> dict[str, bool] | None:
        """Whether each hash that is known is the person's; None when there is no list."""
        data = None
        with suppress(CoError):
            data = disk.read_if_any(self._list(), _MAX_LIST)
        lines = (data or b"").decode("ascii", "replace").splitlines()
        return {line.removeprefix("!"): line[:1] != "!" for line in lines} or None

    def _append(self, lines: Iterable[str], *, quietly: bool = True) -> None:
        """Add lines; one that is lost, or torn by a crash, costs a question."""
        data = "".join(f"{line}\n" for line in lines).encode()
        try:
            if not disk.exists(self._list()) or not os.path.getsize(self._list()):
                self.forget()
                waiting = self._present() if paths.repository(self.project) else ()
                self._start(f"!{sha}" for sha in sorted(waiting))
            flags = os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
            with disk.opened(self._list(), flags) as fd:
                disk.write_all(fd, data)
        except OSError as error:
            if not quietly:
                raise disk.trouble(error) from error

    def _start(self, lines: Iterable[str]) -> None:
        """Put a new list in place whole, unless another process has just done so."""
        data = "".join(f"{line}\n" for line in (_FIRST, *lines)).encode()
        folder = os.path.dirname(self._list())
        disk.make_folder(folder, 0o700)
        with disk.staged(folder, data, 0o600) as temp, suppress(FileExistsError):
            disk.move(temp, self._list())

    def _present(self) -> set[str]:
        """The hashes of the texts in the project's `.co-cli`, and of what steers Co beside it."""
        found = [os.path.join(self.project, name) for name in _AT_ROOT]
        for folder, _, names in os.walk(os.path.join(self.project, paths.PROJECT_MARK)):
            found += [os.path.join(folder, name) for name in names if name.endswith(_TEXTS)]
        there = set()
        for path in found:
            with suppress(CoError, OSError):
                if (data := disk.read_if_any(path)) is not None:
                    there.add(digest(data))
        return there


def _known(own: Mapping[str, bool], data: bytes) -> bool | None:
    """Whether a text is the person's by the list, also with git's line ends; None if unlisted."""
    listed = own.get(digest(data))
    if listed is None and b"\r\n" in data:
        return own.get(digest(data.replace(b"\r\n", b"\n")))
    return listed


def digest(data: bytes) -> str:
    """What stands for a text in the lists of trust."""
    return str(disk.digest(data))
