"""Whether a file's content was made on this machine or brought by git.

Nothing that a repository can set up is run: no hook, filter, pager or fetch. What cannot be told
counts as brought.
"""

import os
import re
import subprocess
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from hashlib import sha1, sha256
from itertools import product

from co_cli import paths as folders
from co_cli.errors import CoError
from co_cli.knowledge.store import disk

_PATIENCE = 5.0  # seconds that git may take for one answer
_AT_ONCE = 500  # files that are asked about together
_COMMITTED = re.compile(r"commit(?: \((?:initial|amend|merge)\))?:")
_INDEXED = re.compile(
    rb"\d+ ([0-9a-f]+) \d\t([^\0]+)\0[^\0]*?  mtime: (\d+):(\d+)\n[^\0]*?  size: (\d+)\t"
)
_OTHER_HEADS = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "FETCH_HEAD", "ORIG_HEAD")
_CHANGES_BYTES = ("filter", "working-tree-encoding", "ident")  # on the way to the working folder

Files = Mapping[str, bytes]  # content by path below the project


def brought(project: str, files: Files) -> set[str]:
    """Those of these files whose content git brought here, or may have.

    Made here is what git does not hold, what it holds but no commit does, and what a commit made
    here put in.
    """
    return _ask(project, files, _Repository.brought)


def uncommitted(project: str, files: Files) -> set[str]:
    """Those of these files whose content no commit made here put in, as far as git can tell."""
    return _ask(project, files, _Repository.uncommitted)


def _ask(project: str, files: Files, question: Callable[["_Repository"], set[str]]) -> set[str]:
    """Those of these files for which the answer is yes, or for which a repository gives none."""
    if (root := folders.repository(project)) is None:
        return set()
    real = {path: os.path.realpath(os.path.join(project, path)) for path in files}
    names = {os.path.relpath(real[path], root): path for path in files}  # wherever links lead
    found: set[str] = set()
    listed = list(names)
    for start in range(0, len(listed), _AT_ONCE):
        some = listed[start : start + _AT_ONCE]
        try:
            found |= question(_Repository(root, {name: files[names[name]] for name in some}))
        except (CoError, OSError, ValueError, LookupError):
            found.update(some)
    return {names[name] for name in found}


def is_tracked(path: str) -> bool:
    """Whether git holds a file of this path, or may; whichever repository it lies in."""
    folder, name = os.path.split(os.path.realpath(path))
    try:
        return bool(_git(folder, "ls-files", "--", f":(literal,icase){name}"))
    except CoError:
        return True


def _git(root: str, *args: str, data: str = "") -> bytes:
    """What git prints; CoError when it fails, is not there or takes too long."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    env |= {
        "GIT_ALLOW_PROTOCOL": "none", "GIT_NO_LAZY_FETCH": "1", "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C",
    }  # fmt: skip
    settings = (
        "core.hooksPath=/dev/null", "core.fsmonitor=false", "core.pager=cat",
        "log.showSignature=false", "log.follow=false", "diff.external=", "maintenance.auto=false",
        "gc.auto=0",
    )  # fmt: skip
    line = ["git", "--no-pager", "-C", root, *(word for one in settings for word in ("-c", one))]
    try:
        return subprocess.run(
            [*line, *args], input=os.fsencode(data), stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, env=env, timeout=_PATIENCE, check=True,
        ).stdout  # fmt: skip
    except (OSError, subprocess.SubprocessError) as error:
        raise CoError("git gave no answer") from error


class _Repository:
    """What one repository says about some files, by path below its root."""

    def __init__(self, root: str, files: Files) -> None:
        self.root, self.files, self.left = root, files, set(files)
        self.names: dict[str, set[str]] = {name: {name} for name in files}  # as git spells them
        self.forms = {name: _forms(data) for name, data in files.items()}
        self._look_into_index()

    def brought(self) -> set[str]:
        held = self._held()
        unheld = {name for name in self.files if not self.forms[name] & held}
        found = self._altered(unheld)
        self.left -= unheld
        for commits, made_here in (
            (self._committed_here, True), (self._at_head, False), (self._in_history, False),
        ):  # fmt: skip
            there = commits() if self.left else set()
            known = {name for name in self.left if self._ways(name) & there}
            self.left -= known
            found |= set() if made_here else known
        return found

    def uncommitted(self) -> set[str]:
        there = self._committed_here()
        return {name for name in self.files if not self._ways(name) & there}

    def _ways(self, name: str) -> set[tuple[str, str]]:
        """What a commit that has this file may hold: an object, and the path as git spells it."""
        return set(product(self.forms[name], self.names[name]))

    def _look_into_index(self) -> None:
        """A file that looks as git left it holds what the index says, whatever its bytes are."""
        folded = {name.casefold(): name for name in self.files}
        specs = [f":(literal,icase){name}" for name in self.files]
        said = _git(self.root, "ls-files", "-s", "-z", "--debug", "--", *specs)
        for entry in _INDEXED.finditer(said):
            spelled = os.fsdecode(entry[2])
            if (name := folded.get(spelled.casefold())) is None:
                continue
            self.names[name].add(spelled)
            seconds, nanoseconds, size = map(int, entry.groups()[2:])
            with suppress(OSError):  # it may be gone
                info = os.lstat(os.path.join(self.root, name))
                as_left = info.st_mtime_ns == seconds * 10**9 + nanoseconds
                if as_left and size == info.st_size == len(self.files[name]):
                    self.forms[name] = {entry[1].decode()}

    def _held(self) -> set[str]:
        wanted = "".join(f"{oid}\n" for forms in self.forms.values() for oid in forms)
        how = ("cat-file", "--batch-check=%(objectname) %(objecttype)")
        said = _git(self.root, *how, data=wanted).decode()
        return set(re.findall(r"(?m)^(\S+) blob$", said))

    def _altered(self, names: Iterable[str]) -> set[str]:
        """Those whose bytes are other than git's own, so that nothing can be told from them."""
        listed = "".join(f"{name}\0" for name in names)
        said = _git(self.root, "check-attr", "-z", "--stdin", *_CHANGES_BYTES, data=listed)
        parts = os.fsdecode(said).split("\0")
        triples = zip(parts[::3], parts[2::3], strict=False)
        return {name for name, value in triples if value not in ("unspecified", "unset")}

    # What commits hold, as objects and paths, of the files that are left

    def _committed_here(self) -> set[tuple[str, str]]:
        """What a commit made on this machine put in: neither there before nor merged."""
        steps = self._steps()
        lines = "".join(
            f"{new} {base}".strip() + "\n" for new, all in steps.items() for base in all
        )
        seen = Counter(self._changes("diff-tree", "--stdin", "--root", "-r", data=lines))
        return {(oid, path) for (commit, oid, path), n in seen.items() if n == len(steps[commit])}

    def _steps(self) -> dict[str, set[str]]:
        """Commits made here, by the reflogs, with all that each has to be compared with."""
        said = _git(
            self.root, "log", "--walk-reflogs", "--exclude=refs/remotes/*", "--exclude=refs/tags/*",
            "--all", "--format=%H%x00%P%x00%gD%x00%gs",
        )  # fmt: skip
        logs: dict[str, list[tuple[str, str, str]]] = defaultdict(list)
        for line in said.decode("utf-8", "replace").splitlines():
            commit, parents, where, message = line.split("\0", 3)
            logs[where.rpartition("@")[0]].append((commit, parents, message))
        steps: dict[str, set[str]] = defaultdict(set)
        for name, entries in logs.items():
            if not name.endswith("HEAD") and not name.startswith("refs/heads/"):
                continue
            for entry, older in zip(entries, [*entries[1:], None], strict=True):
                commit, parents, message = entry
                if not _COMMITTED.match(message):
                    continue
                if older is None and message.startswith("commit (amend)"):
                    continue  # nobody knows any more what was amended
                merged = parents.split() if " " in parents else []
                steps[commit].update([older[0] if older else parents, *merged])
        return steps

    def _at_head(self) -> set[tuple[str, str]]:
        try:
            said = _git(self.root, "ls-tree", "-z", "--full-tree", "HEAD", "--", *self._paths())
        except CoError:  # no commit yet
            return set()
        return set(re.findall(r" (\w+)\t([^\0]+)", os.fsdecode(said)))

    def _in_history(self) -> set[tuple[str, str]]:
        """What any commit put in that is known here, wherever it came from."""
        where = os.fsdecode(_git(self.root, "rev-parse", "--absolute-git-dir")).rstrip("\n")
        how = ("log", "--walk-reflogs", "--exclude=refs/stash", "--all", "--format=%H")
        said = [_git(self.root, *how)]
        said += [disk.read_if_any(os.path.join(where, name)) or b"" for name in _OTHER_HEADS]
        heads = re.findall(r"(?m)^[0-9a-f]{40,64}", b"\n".join(said).decode("ascii", "replace"))
        known = self._changes(
            "log", "--stdin", "--ignore-missing", "--exclude=refs/stash", "--all", "--format=%H",
            "-m", "--root", data="".join(f"{oid}\n" for oid in dict.fromkeys(heads)),
        )  # fmt: skip
        return {(oid, path) for _, oid, path in known}

    def _changes(self, *args: str, data: str) -> Iterator[tuple[str, str, str]]:
        """Commit, object and path of every change that git lists."""
        how = ("--raw", "--no-abbrev", "--no-renames", "-z", "--")
        said = _git(self.root, *args, *how, *self._paths(), data=data)
        commit, oid = "", ""
        for part in os.fsdecode(said).split("\0"):
            text = part.lstrip("\n")
            if oid:
                yield commit, oid, part
                oid = ""
            elif text.startswith(":"):
                oid = text.split()[3]
            elif text:
                commit = text.split()[0]

    def _paths(self) -> list[str]:
        return [f":(literal){spelled}" for name in self.left for spelled in self.names[name]]


def _forms(data: bytes) -> set[str]:
    """The objects that git may keep for these bytes: as they are, or with its own line ends."""
    found = set()
    for form in {data, data.replace(b"\r\n", b"\n")}:
        blob = b"blob %d\0" % len(form) + form
        found |= {sha1(blob, usedforsecurity=False).hexdigest(), sha256(blob).hexdigest()}
    return found
