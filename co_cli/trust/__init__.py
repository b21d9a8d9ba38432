"""Whose words these are: which folders are trusted, by the hash of each file that can steer Co.

Knows what was trusted and what is there now; asking the person and printing are done elsewhere.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import count
from typing import Any, NamedTuple

from co_cli import paths
from co_cli.errors import CoError, FormatError, MovedOn
from co_cli.knowledge.format.json_reader import read_json
from co_cli.knowledge.format.note import Note, decode
from co_cli.knowledge.safety.escape import difference
from co_cli.knowledge.store import disk
from co_cli.paths import AnyPath
from co_cli.trust.foreign import ProjectOrigins, digest

FILES = (paths.CONTEXT, paths.INSTRUCTIONS, "AGENTS.md", "CLAUDE.md", paths.SETTINGS)
_BELOW = ("AGENTS.md", "CLAUDE.md")  # these count in every folder on the way to the work, too

Hashes = Mapping[str, str]
_Folders = dict[str, dict[str, Any]]


def files(project: AnyPath) -> tuple[str, ...]:
    """The files that can steer Co: a project's own, then those of the subfolder one works in."""
    below = (os.path.join(folder, name) for folder in paths.folders_to(project) for name in _BELOW)
    return (*FILES, *below)


def known_projects() -> list[str]:
    """The folders that the person agreed to, or began, on this machine; they may be gone."""
    return [*_load()[0]]


class TrustStatus(NamedTuple):
    """What is trusted of a project's files, and what has changed since.

    `present` holds the hash of each file that can be read, `refused` the reason for each that
    Co will not read, `problem` what is wrong with Co's own list.
    """

    project: AnyPath
    known: bool
    trusted: bool
    nothing_to_trust: bool
    new: list[str]
    changed: list[str]
    removed: list[str]
    usable: set[str]
    refused: dict[str, str]
    present: dict[str, str]
    problem: str = ""

    @property
    def foreign(self) -> bool:
        """Whether this came from elsewhere and nobody here agreed: no model sees its notes."""
        return not self.known and not self.nothing_to_trust


def status(project: AnyPath) -> TrustStatus:
    """How a project stands: unknown, trusted, or changed since it was trusted.

    In a known folder, what the person changed on this machine is recorded as theirs.
    """
    listed, problem = _load()
    entry = listed.get(_key(project))
    texts, refused = _present(project)
    present = {relpath: digest(data) for relpath, data in texts.items()}
    recorded: dict[str, str] = {} if entry is None else entry["files"]
    if entry is not None and (own := _made_here(project, entry, texts)):
        recorded |= {relpath: present[relpath] for relpath in own}
        with suppress(CoError), _editing() as (fresh, trouble):  # else the next look finds them
            if _key(project) in fresh:
                _record(project, fresh[_key(project)], own)
                _save(fresh, trouble)
    new = [relpath for relpath in present if relpath not in recorded]
    usable = {relpath for relpath in present if present[relpath] == recorded.get(relpath)}
    changed = [relpath for relpath in present if relpath in recorded and relpath not in usable]
    return TrustStatus(
        project=project,
        known=entry is not None,
        trusted=entry is not None and not new and not changed,
        nothing_to_trust=entry is None and not present and untouched(project),
        new=new,
        changed=changed,
        removed=[path for path in recorded if path not in present and path in files(project)],
        usable=usable,
        refused=refused,
        present=present,
        problem=problem,
    )


def is_foreign(project: AnyPath) -> bool:
    """`TrustStatus.foreign` without a look at what changed."""
    if _key(project) in _load()[0]:
        return False
    return not untouched(project) or bool(_present(project)[0])


def _made_here(
    project: AnyPath, entry: Mapping[str, Any], texts: Mapping[str, bytes]
) -> dict[str, bytes]:
    """The files that the person changed on this machine since, or had agreed to before.

    Below the root anything may have been unpacked: there only a commit tells whose it is.
    """
    known = entry["files"]
    changed = {path: data for path, data in texts.items() if digest(data) != known.get(path)}
    if not changed:
        return {}
    origins = ProjectOrigins(project)
    agreed = origins.agreed(changed)
    sure = {*agreed, *entry["left"]}
    unsure = {path: data for path, data in changed.items() if path not in sure}
    below = {path: data for path, data in unsure.items() if path not in FILES}
    rest = {path: data for path, data in unsure.items() if path in FILES}
    foreign = origins.brought(rest) | origins.uncommitted(below)
    own = agreed | (unsure.keys() - foreign)
    return {path: data for path, data in changed.items() if path in own}


def _record(project: AnyPath, entry: dict[str, Any], texts: Mapping[str, bytes]) -> None:
    """Let these texts count as the person's, now and whenever they come back."""
    entry["left"] = [path for path in entry["left"] if path not in texts]
    for path, data in texts.items():
        entry["files"][path] = sha = digest(data)
        _put_private(os.path.join(_own("trusted"), sha), data)  # to show what changes later
    ProjectOrigins(project).agree(map(digest, texts.values()))


def trust(
    project: AnyPath, at: str, *, seen: Hashes | None = None, notes: Iterable[Note] | None = None
) -> str:
    """Trust a project's files as they are now, and these notes or all; say what else was done.

    `seen` are the hashes (`TrustStatus.present`) of what the person was shown: a file that is no
    longer that one raises MovedOn, and nothing is trusted.
    """
    with _editing() as (listed, problem):
        texts, _ = _present(project)
        for relpath, data in texts.items():
            if seen is not None and seen.get(relpath) != digest(data):
                raise MovedOn(f"{os.path.join(project, relpath)} changed since it was shown")
        entry = listed.setdefault(_key(project), {"since": at})
        seen_here = files(project)  # what was agreed to in other subfolders stays
        kept = {path: sha for path, sha in entry.get("files", {}).items() if path not in seen_here}
        entry |= {"files": kept, "left": [p for p in entry.get("left", ()) if p not in seen_here]}
        origins = ProjectOrigins(project)
        origins.agree(digest(one.raw) for one in (origins.notes() if notes is None else notes))
        _record(project, entry, texts)
        return _save(listed, problem)


def untouched(project: AnyPath) -> bool:
    """Whether a project has nothing of Co's yet."""
    return not os.path.lexists(os.path.join(project, paths.PROJECT_MARK))


def claim(project: AnyPath, at: str) -> str:
    """Remember that Co began this folder's knowledge, on this machine; what went wrong, if so."""
    try:
        with _editing() as (listed, problem):
            ProjectOrigins(project).begin()
            waiting = list(_present(project)[0])  # for a yes
            listed.setdefault(_key(project), {"since": at, "files": {}, "left": waiting})
            _save(listed, problem)
    except CoError as error:
        return f"saved, but this folder could not be marked as trusted: {error}"
    return ""


def distrust(project: AnyPath) -> bool:
    """Forget that a project was trusted; whether it was."""
    with _editing() as (listed, problem):
        ProjectOrigins(project).forget()
        if listed.pop(_key(project), None) is None:
            return False
        _save(listed, problem)
        return True


def wrote(project: AnyPath, relpath: str, data: bytes, *, before: bytes | None = None) -> str:
    """Note that Co itself just wrote this file of a known folder; say what else was done.

    A text written over one that nobody trusted (`before`) is not trusted either.
    """
    with _editing() as (listed, problem):
        entry = listed.get(_key(project))
        if entry is None or relpath not in FILES:
            return ""
        known = before is None or entry["files"].get(relpath) == digest(before)
        if known or _made_here(project, entry, {relpath: before or b""}):
            _record(project, entry, {relpath: data})
        else:
            entry["left"] = sorted({*entry["left"], relpath})
        return _save(listed, problem)


def diff(project: AnyPath, relpath: str, seen: Hashes | None = None) -> str:
    """What changed in a file since it was trusted, safe to print; all of it when it never was.

    MovedOn when it is no longer the file whose hash was `seen`: what is shown is what is trusted.
    """
    texts, refused = _present(project)
    if relpath in refused:
        raise FormatError(f"{os.path.join(project, relpath)} {refused[relpath]}")
    if seen is not None and seen.get(relpath) != digest(texts.get(relpath, b"")):
        raise MovedOn(f"{os.path.join(project, relpath)} changed just now", hint="Look again.")
    entry = _load()[0].get(_key(project))
    old = _kept(entry["files"].get(relpath, "")) if entry else None
    return difference(old, texts.get(relpath), relpath)


def _present(project: AnyPath) -> tuple[dict[str, bytes], dict[str, str]]:
    """The files that matter, as far as they are there and Co reads such files; else why not."""
    texts: dict[str, bytes] = {}
    refused: dict[str, str] = {}
    for relpath in files(project):
        try:
            texts[relpath] = disk.read_signed(paths.project_file(project, relpath))[0]
        except FileNotFoundError:
            continue
        except FormatError as error:
            refused[relpath] = str(error)
        except CoError as error:
            refused[relpath] = f"cannot be reached: {error}"
    return texts, refused


def _key(project: AnyPath) -> str:
    return os.path.realpath(project)


def _own(name: str) -> str:
    """A file of Co's own beside the person's settings."""
    return os.path.join(paths.user_folder(), name)


def _load() -> tuple[_Folders, str]:
    """The list, and what is wrong with it: a list that cannot be read trusts nothing."""
    path = _own("trust.json")
    try:
        data = disk.read_if_any(path)
        found = {"version": 1, "folders": {}} if data is None else read_json(decode(data))
        match found:
            case {"version": 1, "folders": dict(folders)}:
                if all(map(_is_entry, folders.values())):
                    return folders, ""
                raise FormatError("is damaged")
        raise FormatError("is not a list of trusted folders that this Co can read")
    except FormatError as error:
        return {}, f"{path} {error}; no project counts as trusted"


def _is_entry(found: Any) -> bool:
    match found:
        case {"since": since, "files": dict(files), "left": list(left)}:
            return all(isinstance(text, str) for text in (since, *files.values(), *left))
    return False


@contextmanager
def _editing() -> Iterator[tuple[_Folders, str]]:
    """Hold the list's lock; the disk's refusals come out in words."""
    with disk.in_words():
        disk.refuse_writing()
        disk.make_folder(_own("trusted"), 0o700)
        with disk.locked(_own(".trust.lock")):
            yield _load()


def _save(listed: _Folders, problem: str) -> str:
    """Write the list, after moving one that could not be read out of the way; say so."""
    path, notice = _own("trust.json"), ""
    if problem:
        aside = next(one for n in count(1) if not os.path.lexists(one := f"{path}.broken-{n}"))
        os.rename(path, aside)
        notice = f"{problem}; it was kept as {aside}, and a new list was started"
    data = json.dumps({"version": 1, "folders": listed}, indent=1, sort_keys=True)
    _put_private(path, data.encode() + b"\n")
    used = {sha for entry in listed.values() for sha in entry["files"].values()}
    for name in disk.list_names(_own("trusted")):
        if name not in used:
            with suppress(OSError):
                os.unlink(os.path.join(_own("trusted"), name))
    return notice


def _kept(sha: str) -> bytes | None:
    """A trusted text; None when it is not kept or no longer what it was."""
    with suppress(FormatError):
        data = disk.read_if_any(os.path.join(_own("trusted"), sha))
        return data if data is not None and digest(data) == sha else None
    return None


def _put_private(path: str, data: bytes) -> None:
    """Put a file in place whole, for its owner alone; what a crash leaves is removed by `_save`."""
    with disk.staged(_own("trusted"), data, 0o600) as temp:
        os.replace(temp, path)
    disk.sync_folder(os.path.dirname(path))
