"""Which notes of a project were written or agreed to on this machine, by the hash of their file.

The list lies in the state folder, where no repository reaches. Git is asked only about what is
not in it.
"""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress

from co_cli import paths
from co_cli.errors import CoError
from co_cli.knowledge.format.note import Note
from co_cli.knowledge.pages import ARTICLES, JOINS, MEMORIES, Pages
from co_cli.knowledge.store import JOURNAL, disk
from co_cli.knowledge.store.files import FolderStore
from co_cli.paths import AnyPath

_MAX_LIST = 256 * 1024 * 1024
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
        if paths.repository(self.project) is None:
            return set()
        found = {self._below(note.path): note for note in notes}
        files = {path: note.raw for path, note in found.items()}
        return {found[path].path for path in self._foreign(files)}

    def untrusted(self) -> bool:
        """Whether all of the folder came from elsewhere and nobody here agreed to it."""
        return self._is_foreign(self.project)

    def new(self) -> list[Note]:
        """All such notes, by name; what is the person's by the list is not asked about again."""
        if paths.repository(self.project) is None:
            return []
        own = self._load()
        notes = [note for note in self.notes() if not own.get(digest(note.raw))]
        foreign = self.foreign(notes)
        return sorted((note for note in notes if note.path in foreign), key=lambda note: note.path)

    def agree(self, hashes: Iterable[str]) -> None:
        """Take these texts for the person's own from now on."""
        self._append(hashes, quietly=False)

    def agreed(self, files: Mapping[str, bytes]) -> set[str]:
        """Those of these files, by path, whose text is the person's by the list alone."""
        own = self._load()
        return {path for path, data in files.items() if own.get(digest(data))}

    def wrote(self, op: str, edits: Edits) -> None:
        """Note what Co wrote; what it made from a text that nobody agreed to is like that text."""
        if op in _GOES_BACK:
            return
        notes = [edit for edit in edits if os.path.dirname(edit[0]) in (MEMORIES, ARTICLES)]
        where = {path: self._below(self.store.locate(path)) for path, _, _ in notes}
        foreign = self._foreign({where[path]: data for path, data, _ in notes if data is not None})
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
        own = self._load()
        there = [digest(note.raw) for note in self.notes()]
        self.forget()
        self._append(("" if own[sha] else "!") + sha for sha in there if sha in own)

    def _foreign(self, files: Mapping[str, bytes]) -> set[str]:
        own = self._load()
        hashes = {path: digest(data) for path, data in files.items()}
        unsure = {path: data for path, data in files.items() if hashes[path] not in own}
        brought = made_elsewhere(self.project, unsure)
        if brought:
            written = self._written()
            brought = {path for path in brought if hashes[path] not in written}
        self._append(hashes[path] for path in unsure if path not in brought)
        return brought | {path for path, sha in hashes.items() if own.get(sha) is False}

    def _written(self) -> set[str]:
        """What Co wrote here from nothing or from its own, by the journal: it outlives the list.

        A repository may hold a journal that nobody here kept; that one tells nothing.
        """
        from co_cli.trust.provenance import is_tracked

        found: set[str] = set()
        with suppress(CoError):
            for entry in () if is_tracked(self.store.locate(JOURNAL)) else self.store.entries():
                before = {file["before"] for file in entry.files} - {None}
                if entry.state == "done" and entry.op not in _GOES_BACK and before <= found:
                    found |= {file["after"] for file in entry.files} - {None}
        return found

    def _below(self, path: str) -> str:
        return os.path.relpath(os.path.realpath(path), self.project)  # as git knows it

    def notes(self) -> list[Note]:
        """Every note that can be read, memories and articles."""
        files = [(kind, name) for kind in (MEMORIES, ARTICLES) for name in self.store.names(kind)]
        found = map(Pages(self.store).note, (f"{kind}/{name}" for kind, name in files))
        return [note for note in found if note]

    def _list(self) -> str:
        return os.path.join(paths.state_folder(), "known", digest(os.fsencode(self.project)))

    def _load(self) -> dict[str, bool]:
        """Whether each hash that is known is the person's."""
        data = None
        with suppress(CoError):
            data = disk.read_if_any(self._list(), _MAX_LIST)
        lines = (data or b"").decode("ascii", "replace").splitlines()
        return {line.removeprefix("!"): line[:1] != "!" for line in lines}

    def _append(self, lines: Iterable[str], *, quietly: bool = True) -> None:
        """Add lines; one that is lost, or torn by a crash, costs a question."""
        data = "".join(f"{line}\n" for line in lines).encode()
        if not data or paths.repository(self.project) is None:
            return
        try:
            disk.make_folder(os.path.dirname(self._list()), 0o700)
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
            with disk.opened(self._list(), flags, 0o600) as fd:
                disk.write_all(fd, data)
        except OSError as error:
            if not quietly:
                raise disk.trouble(error) from error


def made_elsewhere(project: str, files: Mapping[str, bytes]) -> set[str]:
    """Those of these files, by path below the project, that git brought or may have brought."""
    if not files or paths.repository(project) is None:
        return set()
    from co_cli.trust.provenance import brought  # and with it all that runs a program

    return brought(project, files)


def uncommitted(project: str, files: Mapping[str, bytes]) -> set[str]:
    """Those of these files, by path below the project, that no commit made here put in."""
    if not files or paths.repository(project) is None:
        return set(files)
    from co_cli.trust import provenance

    return provenance.uncommitted(project, files)


def digest(data: bytes) -> str:
    """What stands for a text in the lists of trust."""
    return str(disk.digest(data))
