"""Files that a message names with @, as text from outside; only of a project that is trusted."""

import os
import re
from collections.abc import Iterator
from typing import NamedTuple

from co_cli import paths
from co_cli.deps import CoDeps
from co_cli.errors import CoError, FormatError
from co_cli.knowledge.context import cut
from co_cli.knowledge.format.note import decode
from co_cli.knowledge.safety.secrets import without_secrets
from co_cli.knowledge.store import disk
from co_cli.prompts.envelope import wrap
from co_cli.results import plural

_NAMED = re.compile(r'(?<![^\s("\'\[])@(?:"([^"\n]{1,400})"|([^\s"]{1,400}))')
_ENDS = ".,;:!?)]}'"  # of a sentence, rather than of a name
_MOST = 32 * 1024  # bytes of one file
_FILES = 10  # in one message
_OFFERED = 100  # names that are completed


class Attached(NamedTuple):
    """What goes with a message: its text, and a line for the person about each file."""

    text: str = ""
    told: tuple[str, ...] = ()


def attach(deps: CoDeps, line: str, *, offline: bool = False) -> Attached:
    """The files that a message names, in the envelope; what entered is noted as from outside.

    A word after @ that names no file is just a word. CoError for a file that may not be read.
    Offline, there is nobody to read any.
    """
    found = dict.fromkeys(filter(None, (_file(deps, name) for name in _names(line))))
    if offline:
        return Attached(
            "", tuple(f"{name} is not read without a model; see /model" for name in found)
        )
    if len(found) > _FILES:
        raise CoError(f"a message may name {_FILES} files", hint="Ask about a few at a time.")
    if found and not deps.usable():
        hint = "`co trust` shows what is in it and asks."
        raise CoError("this folder is not trusted, so none of its files is read", hint=hint)
    read = [(relpath, *_read(deps.folder(), relpath)) for relpath in found]
    deps.came_from(*(f"file {relpath}" for relpath in found))
    parts = [wrap(f"The file {relpath}:\n\n{text}") for relpath, text, _ in read]
    return Attached("\n\n".join(parts), tuple(f"Read {name}{more}" for name, _, more in read))


def _names(line: str) -> Iterator[str]:
    for found in _NAMED.finditer(line):
        yield found[1] or found[2]


def _file(deps: CoDeps, name: str) -> str:
    """The file that a name means, by its path below the project; empty if there is none."""
    for spelled in dict.fromkeys((name, name.rstrip(_ENDS))):
        path = os.path.normpath(os.path.join(_here(deps), os.path.expanduser(spelled)))
        if spelled and os.path.lexists(path) and not os.path.isdir(path):
            relpath = os.path.relpath(path, deps.folder())
            if relpath.split(os.sep)[0] == os.pardir or not relpath.isprintable():
                raise CoError(f"{spelled} is not in this project, so it is not read",
                              hint="Copy it here, or paste what matters.")  # fmt: skip
            return relpath
    return ""


def _here(deps: CoDeps) -> str:
    """The working folder, if it lies in the project; else the project."""
    return os.path.join(deps.folder(), *paths.folders_to(deps.folder())[-1:])


def _read(project: str, relpath: str) -> tuple[str, str]:
    """What is told of a file, and what to say about that."""
    try:
        data = disk.read_if_any(paths.project_file(project, relpath))
        text = decode(data or b"").removeprefix("\ufeff")
    except FormatError as error:
        raise CoError(f"{relpath} cannot be read: it {error}") from error
    safe = without_secrets(text)
    kept, size = cut(safe, _MOST, relpath)
    more = [f", the first {size:,} bytes"] if size < len(safe.encode()) else []
    more += [", without what looks like a secret"] if safe != text else []
    return kept, f" ({plural(len(text.splitlines()), 'line')}{''.join(more)})"


def offered(deps: CoDeps, start: str) -> Iterator[tuple[str, str]]:
    """Names of files and folders here that begin like this, for completion."""
    folder, slash, begin = start.rpartition("/")
    where = os.path.realpath(os.path.join(_here(deps), folder))
    inside = (where + os.sep).startswith(os.path.join(os.path.realpath(deps.folder()), ""))
    if not inside or not deps.usable():
        return
    names = (name for name in disk.list_names(where) if begin or not name.startswith("."))
    for name in sorted(name for name in names if name.startswith(begin))[:_OFFERED]:
        if name.isprintable() and " " not in name:
            is_folder = os.path.isdir(os.path.join(where, name))
            yield f"{folder}{slash}{name}{'/' if is_folder else ''}", ""
