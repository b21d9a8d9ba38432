"""Which folders are searched in place, and from where, as the person's own settings say.

No project has a say in it: a cloned one must not name folders to be read.
"""

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any, NamedTuple

from co_cli import paths
from co_cli.errors import CoError, FormatError, NotFound
from co_cli.knowledge.format.json_reader import read_json
from co_cli.knowledge.format.note import decode, slugify
from co_cli.knowledge.store import disk
from co_cli.knowledge.store.outside import OutsideStore
from co_cli.paths import AnyPath


class Added(NamedTuple):
    """A folder that is searched in place: from one project, or from everywhere (empty)."""

    name: str
    path: str
    project: str = ""


def seen_from(project: AnyPath) -> list[Added]:
    """The folders that are searched from a project; none where the list cannot be read."""
    try:
        return [one for one in _load() if one.project in ("", os.path.realpath(project))]
    except FormatError:  # whoever changes the list is told, and `co status`
        return []


def trouble() -> str:
    """What is wrong with the list, in words; empty when nothing is."""
    try:
        _load()
    except FormatError as error:
        return f"{error}; no folder is searched in place"
    return ""


def add(path: AnyPath, project: AnyPath, *, everywhere: bool = False) -> tuple[Added, bool]:
    """Have a folder searched from a project, or from everywhere; and whether that is new."""
    real, seen_by = os.path.realpath(path), "" if everywhere else os.path.realpath(project)
    if not os.path.isdir(real):
        raise NotFound(f"there is no folder {path}")
    if reason := _why_not(real, os.path.realpath(project)):
        raise CoError(f"{real} is not searched in place: {reason}",
                      hint="Name a folder of notes or documents.")  # fmt: skip
    with _editing() as listed:
        for one in listed:
            if one.path == real and one.project in ("", seen_by):
                return one, False
        known = [one.name for one in listed if one.path == real]
        name = known[0] if known else _free_name(os.path.basename(real), listed)
        rest = [one for one in listed if seen_by or one.path != real]  # everywhere is there, too
        _save([*rest, added := Added(name, real, seen_by)])
    return added, True


def remove(name: str, project: AnyPath) -> Added:
    """Stop searching a folder, by its name or path; its index goes, unless others search it."""
    here, real = ("", os.path.realpath(project)), os.path.realpath(name)
    with _editing() as listed:
        found = [one for one in listed if one.project in here and name == one.name]
        found = found or [one for one in listed if one.project in here and real == one.path]
        if not found:
            hint = "`co knowledge add-folder` lists those that are."
            raise NotFound(f"no folder {name} is searched from here", hint=hint)
        rest = [one for one in listed if one not in found]
        _save(rest)
        if all(one.path != found[0].path for one in rest):
            _drop_index(OutsideStore(found[0].path).index_folder)
    return found[0]


def _drop_index(folder: str) -> None:
    for name in disk.list_names(folder):
        os.unlink(os.path.join(folder, name))
    if os.path.isdir(folder):
        os.rmdir(folder)


def _why_not(real: str, project: str) -> str:
    """Why a folder cannot be searched in place; empty when it can."""
    home = os.path.realpath(paths.home_folder())
    if real == home:
        return "it is your whole home folder"
    if _below(home, real):
        return "your home folder is only a part of it"
    knowledge = os.path.join(project, os.path.dirname(paths.CONTEXT))
    own = paths.user_folder(), paths.user_knowledge(), paths.state_folder(), knowledge
    for mine in map(os.path.realpath, own):
        if _below(real, mine) or f"/{paths.PROJECT_MARK}/" in f"{real}/":
            return "Co keeps its own files there, and knows them already"
        if _below(mine, real) and not re.search(r"/\.", mine[len(real) :]):
            return f"Co's own files are in it, in {mine}"
    return ""


def _below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(os.path.join(folder, ""))


def _free_name(wanted: str, listed: list[Added]) -> str:
    taken, name = {one.name for one in listed}, slugify(wanted, "folder")
    return next(one for n in count(1) if (one := name if n == 1 else f"{name}-{n}") not in taken)


def _load() -> list[Added]:
    """The list; FormatError where it cannot be read."""
    path = paths.folders_file()
    try:
        data = disk.read_if_any(path)
        match {"version": 1, "folders": []} if data is None else read_json(decode(data)):
            case {"version": 1, "folders": list(rows)}:
                return [_entry(row) for row in rows]
        raise FormatError("is not a list of folders that this Co can read")
    except FormatError as error:
        hint = "Mend it, or remove it and add the folders again."
        raise FormatError(f"{path} {error}", hint=hint) from error


def _entry(row: Any) -> Added:
    match row:
        case {"name": str(name), "path": str(path), "project": str(project)}:
            if re.fullmatch(r"[a-z0-9-]{1,60}", name) and os.path.isabs(path):
                return Added(name, path, project)
    raise FormatError("is damaged")


@contextmanager
def _editing() -> Iterator[list[Added]]:
    """The list, while no other process changes it; the disk's refusals come out in words."""
    with disk.in_words():
        disk.make_folder(paths.user_folder(), 0o700)
        with disk.locked(os.path.join(paths.user_folder(), ".folders.lock")):
            yield _load()


def _save(listed: list[Added]) -> None:
    """Write the list whole, for its owner alone; an empty one is no file."""
    path, folder = paths.folders_file(), paths.user_folder()
    data = json.dumps({"version": 1, "folders": [one._asdict() for one in listed]}, indent=1)
    with disk.staged(folder, data.encode() + b"\n", 0o600) as temp:
        os.replace(temp, path)
    if not listed:
        os.unlink(path)
    disk.sync_folder(folder)
