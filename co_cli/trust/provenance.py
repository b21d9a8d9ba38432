"""Whether a file's content was made on this machine or brought by git.

It goes by the content, wherever the file lies and whatever it is called. What cannot be told
counts as brought.
"""

import os
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import cached_property
from hashlib import sha1, sha256
from typing import NamedTuple

from co_cli import paths as folders
from co_cli.errors import CoError
from co_cli.trust.git import Git, TooSlow
from co_cli.trust.history import History
from co_cli.trust.likeness import Passage, passages
from co_cli.trust.tips import Tips

_AT_ONCE = 500  # files that are asked about together
_INDEXED = re.compile(
    rb"\d+ ([0-9a-f]+) \d\t([^\0]+)\0[^\0]*?  mtime: (\d+):(\d+)\n[^\0]*?  size: (\d+)\t"
)
_CHANGES_BYTES = ("filter", "working-tree-encoding", "ident")  # on the way to the working folder
_STEERING = (folders.PROJECT_MARK, "AGENTS.md", "CLAUDE.md")  # what a text may be taken from
_MOST_AROUND = 20  # repositories around and inside this one

Files = Mapping[str, bytes]  # content by path below the project
Known = Callable[[bytes], bool | None]  # whether a text is the person's, as far as it is listed


class Answer(NamedTuple):
    """Files that git brought, and those of which it said nothing this time."""

    brought: set[str]
    unclear: set[str]


def brought(project: str, files: Files, known: Known = lambda _: None) -> Answer:
    """Those of these files whose content git brought here, or may have.

    Made here is what no repository holds, what git holds but no commit does, and what was first
    committed here; and then only if it repeats nothing that git brought and nobody agreed to.
    """
    return _ask(project, files, known, _Repository.brought)


def uncommitted(project: str, files: Files, known: Known = lambda _: None) -> set[str]:
    """Those of these files whose content no commit made here put in, as far as git can tell."""
    answer = _ask(project, files, known, _Repository.uncommitted)
    return answer.brought | answer.unclear


def _ask(
    project: str, files: Files, known: Known, question: Callable[["_Repository"], set[str]]
) -> Answer:
    """Those of these files for which the answer is yes, or for which a repository gives none."""
    answer = Answer(set(), set())
    if (root := folders.repository(project)) is None:
        return answer
    real = {path: os.path.realpath(os.path.join(project, path)) for path in files}
    names = {os.path.relpath(real[path], root): path for path in files}  # wherever links lead
    below = os.path.relpath(os.path.realpath(project), root)
    listed = list(names)
    for start in range(0, len(listed), _AT_ONCE):
        some = listed[start : start + _AT_ONCE]
        try:
            asked = _Repository(root, below, {name: files[names[name]] for name in some}, known)
            answer.brought.update(names[name] for name in question(asked))
        except TooSlow:  # and so it would be next time
            answer.brought.update(names[name] for name in some)
        except (CoError, OSError, ValueError, LookupError):
            answer.unclear.update(names[name] for name in some)
    return answer


class _Repository:
    """What one repository says about some files, by path below its root."""

    def __init__(self, root: str, below: str, files: Files, known: Known) -> None:
        self.root, self.below, self.files, self.known = root, below, files, known
        self.git = Git(root)
        self.history = History(self.git)
        self.forms = {name: _forms(data) for name, data in files.items()}
        self._look_into_index()

    def brought(self) -> set[str]:
        held = _held(self.git, self._all_forms)
        unheld = {name for name in self.files if not self.forms[name] & held}
        found = self._altered(unheld) | self._around()
        made = self._made_here(held)
        found |= {name for name in self.files if not all(made[one] for one in self._in(name, held))}
        return found | self._repeating(self.files.keys() - found)

    def uncommitted(self) -> set[str]:
        held = _held(self.git, self._all_forms)
        made = self.history.made_here(held, tips=self._tips.objects)
        own = {
            name for name in self.files
            if self._in(name, held) and all(made[one] for one in self._in(name, held))
        }  # fmt: skip
        return self.files.keys() - (own - self._repeating(own))

    @property
    def _all_forms(self) -> set[str]:
        return {one for forms in self.forms.values() for one in forms}

    def _in(self, name: str, held: set[str]) -> set[str]:
        return self.forms[name] & held

    def _made_here(self, objects: set[str]) -> dict[str, bool]:
        """Whether each was first committed here, or lies about as `git add` leaves it."""
        made = self.history.made_here(objects, tips=self._tips.objects) if objects else {}
        return {one: self._is_added(one) if own is None else own for one, own in made.items()}

    def _is_added(self, one: str) -> bool:
        """Whether this is a file of its own in the object folder, as no large fetch leaves it."""
        where = os.fsdecode(self.git.ask("rev-parse", "--git-path", "objects")).rstrip("\n")
        path = os.path.join(self.root, where, one[:2], one[2:])
        return os.path.isfile(path) and not self.history.is_tagged(one)

    @cached_property
    def _tips(self) -> Tips:
        paths = [os.path.normpath(os.path.join(self.below, name)) for name in _STEERING]
        inside = os.path.join(paths[0], "")
        apart = {one for one in self.files if not one.startswith(inside) and "\n" not in one}
        return Tips(self.git, self.history.tips(), {*paths, *apart})

    def _look_into_index(self) -> None:
        """A file that looks as git left it holds what the index says, whatever its bytes are."""
        folded = {name.casefold(): name for name in self.files}
        specs = [f":(literal,icase){name}" for name in self.files]
        said = self.git.ask("ls-files", "-s", "-z", "--debug", "--", *specs)
        for entry in _INDEXED.finditer(said):
            if (name := folded.get(os.fsdecode(entry[2]).casefold())) is None:
                continue
            seconds, nanoseconds, size = map(int, entry.groups()[2:])
            with suppress(OSError):  # it may be gone
                info = os.lstat(os.path.join(self.root, name))
                as_left = info.st_mtime_ns == seconds * 10**9 + nanoseconds
                if as_left and size == info.st_size == len(self.files[name]):
                    self.forms[name].add(entry[1].decode())

    def _altered(self, names: Iterable[str]) -> set[str]:
        """Those whose bytes are other than git's own, so that nothing can be told from them."""
        listed = "".join(f"{name}\0" for name in names)
        how = ("check-attr", "-z", "--stdin", *_CHANGES_BYTES)
        parts = os.fsdecode(self.git.ask(*how, data=listed) if listed else b"").split("\0")
        triples = zip(parts[::3], parts[2::3], strict=False)
        return {name for name, value in triples if value not in ("unspecified", "unset")}

    def _around(self) -> set[str]:
        """Those that a repository around this one, or inside it, has from elsewhere."""
        where = os.fsdecode(self.git.ask("rev-parse", "--git-common-dir")).rstrip("\n")
        others = _parts(os.path.join(self.root, where))
        around = folders.repository(os.path.dirname(self.root))
        others += [around] if around not in (None, self.root) else []
        if len(others) > _MOST_AROUND:
            raise TooSlow("there are too many repositories")
        foreign = set[str]()
        for git in map(self.git.at, others):
            try:
                held = _held(git, self._all_forms)
            except TooSlow:
                raise
            except CoError:  # another user's, perhaps: git refuses it to the person as well
                continue
            made = History(git).made_here(held)
            foreign |= {one for one, own in made.items() if own is False}
        return {name for name in self.files if self.forms[name] & foreign}

    def _repeating(self, names: Iterable[str]) -> set[str]:
        """Those that take over a passage of what git brought and nobody agreed to."""
        taken = {name: passages(self.files[name], repeating=True) for name in names}
        every, own = set[Passage]().union(*taken.values()), set[Passage]()
        theirs: list[tuple[str, set[Passage], bool]] = []
        for one, data in self._tips.texts() if every else ():
            if not (shared := passages(data) & every):
                continue
            if (listed := self.known(data)) is True:
                own |= shared
            else:
                theirs.append((one, shared, listed is False))
        unknown = {one for one, shared, sure in theirs if shared - own and not sure}
        made = self._made_here(unknown)
        foreign = {text for one, shared, _ in theirs if not made.get(one) for text in shared - own}
        return {name for name in taken if taken[name] & foreign}


def _parts(folder: str) -> list[str]:
    """The repositories of submodules, and of theirs, below this folder of git's."""
    found = []
    for where, inside, names in os.walk(os.path.join(folder, "modules")):
        if "HEAD" in names:
            found.append(where)
            inside[:] = [name for name in inside if name == "modules"]
    return found


def _held(git: Git, objects: Iterable[str]) -> set[str]:
    how = ("cat-file", "--batch-check=%(objectname) %(objecttype)")
    said = git.ask(*how, data="".join(f"{one}\n" for one in objects)).decode()
    return set(re.findall(r"(?m)^(\S+) blob$", said))


def _forms(data: bytes) -> set[str]:
    """The objects that git may keep for these bytes: as they are, or with its own line ends."""
    found = set()
    for form in {data, data.replace(b"\r\n", b"\n")}:
        blob = b"blob %d\0" % len(form) + form
        found |= {sha1(blob, usedforsecurity=False).hexdigest(), sha256(blob).hexdigest()}
    return found
