"""Whose commits hold an object: those made on this machine, by its reflogs, or others.

All commits in the object database count, whether or not a branch leads to them.
"""

import os
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator
from functools import cached_property
from typing import NamedTuple

from co_cli.knowledge.store import disk
from co_cli.trust.git import Git

_COMMITTED = re.compile(r"commit(?: \((?:initial|amend|merge|cherry-pick|rebase)\))?: ")
_COPIED = re.compile(  # of what is in another commit here
    r"(?:cherry-pick|rebase|(?:rebase|pull)\b.* \((?:pick|squash|fixup|reword|edit|continue)\)): "
    r"(?!fast-forward$)"
)
_STARTS = re.compile(r"(?:rebase|pull)\b.* \(start\): ")
_STASHED = re.compile(r"(?:WIP on|On|index on|untracked files on) [^:]*: ([0-9a-f]{4,64})?")
_STASHING = 10  # seconds that a stash may take
_OTHER_HEADS = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "FETCH_HEAD", "ORIG_HEAD")
_MOST_TIPS = 1000  # refs, and lines of reflogs
_MOST_STARTS = 20  # commits whose descendants are looked for


class _Entry(NamedTuple):
    """One line of a reflog: what was there from then on."""

    commit: str
    parents: list[str]
    at: int
    by: str  # an address
    message: str


class History:
    """The commits of one repository."""

    def __init__(self, git: Git) -> None:
        self._git = git

    def made_here(
        self, objects: Collection[str], *, tips: Collection[str] = ()
    ) -> dict[str, bool | None]:
        """Whether each object was first committed on this machine; None where no commit has it.

        The first commits are those with no other that has it among their ancestors: a copy that
        somebody makes of the person's commit changes nothing, and neither does the person's copy
        of somebody's. `tips` are objects that a commit is known to have.
        """
        found: dict[str, bool | None] = dict.fromkeys(objects, False)
        vouched = self._vouched(objects) if objects else {}
        if asked := [one for one in found if one in vouched or one not in tips]:
            holders = self._holders(asked)
            suspects = set().union(*holders.values()) - self._made
            stashes = self._stashes(suspects)
            for one in asked:
                rest = holders[one] - stashes
                if one in vouched:
                    found[one] = self._descend(rest - self._made, rest & self._made)
                elif not rest:
                    found[one] = None
        return found

    def tips(self) -> set[str]:
        """What refs, reflogs and the heads of a merge lead to; of very many, the newest."""
        where = os.fsdecode(self._git.ask("rev-parse", "--absolute-git-dir")).rstrip("\n")
        texts = [disk.read_if_any(os.path.join(where, name)) or b"" for name in _OTHER_HEADS]
        heads = re.findall(r"(?m)^[0-9a-f]{40,64}", b"\n".join(texts).decode("ascii", "replace"))
        entries = sorted(
            (one for log in self._logs.values() for one in log), key=lambda one: -one.at
        )
        return {"HEAD", *self._refs, *heads, *(entry.commit for entry in entries[:_MOST_TIPS])}

    @cached_property
    def _refs(self) -> list[str]:
        """What refs lead to, newest first."""
        how = (f"--count={_MOST_TIPS}", "--sort=-creatordate", "--format=%(objectname)")
        return self._git.ask("for-each-ref", *how).decode().split()

    @cached_property
    def _logs(self) -> dict[str, list[_Entry]]:
        """Every reflog, newest line first; those of very many remote branches tell nothing."""
        few = len(self._refs) < _MOST_TIPS  # git takes the square of their number
        apart = [] if few else ["--exclude=refs/remotes/*", "--exclude=refs/tags/*"]
        how = (*apart, "--all", "--date=raw", "--format=%H%x00%P%x00%gD%x00%ge%x00%gs")
        logs: dict[str, list[_Entry]] = defaultdict(list)
        text = self._git.ask("log", "--walk-reflogs", *how).decode("utf-8", "replace")
        for line in text.split("\n")[:-1]:
            commit, parents, where, by, message = line.split("\0", 4)
            name, _, at = where.rpartition("@{")
            logs[name].append(_Entry(commit, parents.split(), int(at.split()[0]), by, message))
        return logs

    def _own_logs(self) -> Iterator[tuple[str, _Entry, _Entry | None]]:
        """The lines of the reflogs that tell of work here, each with the one before it."""
        for name, log in self._logs.items():
            if name.startswith("refs/heads/") or not name.startswith("refs/"):  # a worktree's HEAD
                for entry, older in zip(log, [*log[1:], None], strict=True):
                    yield name, entry, older

    @cached_property
    def _made(self) -> set[str]:
        """The commits that were made here, whatever is in them; not those that came as mail."""
        kinds = (_COMMITTED, _COPIED)
        return {
            entry.commit
            for _, entry, _ in self._own_logs()
            if any(kind.match(entry.message) for kind in kinds)
        }

    def _vouched(self, objects: Iterable[str]) -> set[str]:
        """The objects that a commit here put in: neither there before nor merged."""
        steps: dict[str, set[str]] = defaultdict(set)
        for _, entry, older in self._own_logs():
            if not _COMMITTED.match(entry.message):
                continue
            if older is None and entry.message.startswith("commit (amend)"):
                continue  # nobody knows any more what was amended
            first = older.commit if older else "".join(entry.parents[:1])
            merged = entry.parents if len(entry.parents) > 1 else []
            steps[entry.commit].update([first, *merged])
        lines = "".join(f"{new} {base}".strip() + "\n" for new in steps for base in steps[new])
        seen = Counter((commit, one) for commit, one in self._added(objects, lines))
        return {one for (commit, one), count in seen.items() if count == len(steps[commit])}

    def _holders(self, objects: Iterable[str]) -> dict[str, set[str]]:
        """The commits that put in each object, seen from any of their parents."""
        found: dict[str, set[str]] = {one: set() for one in objects}
        every = "".join(f"{commit}\n" for commit in self._every["commit"])
        for commit, one in self._added(found, every, "-m"):
            found[one].add(commit)
        return found

    @cached_property
    def _every(self) -> dict[str, list[str]]:
        """All commits and tags, also those that nothing leads to."""
        how = ("--batch-all-objects", "--unordered", "--batch-check=%(objecttype) %(objectname)")
        found: dict[str, list[str]] = {"commit": [], "tag": []}
        rest = b""
        for part in self._git.stream("cat-file", *how):
            *lines, rest = (rest + part).split(b"\n")
            for line in lines:
                if line.startswith((b"commit ", b"tag ")):
                    kind, one = line.decode().split()
                    found[kind].append(one)
        return found

    def _added(self, objects: Iterable[str], lines: str, *how: str) -> Iterator[tuple[str, str]]:
        """Commit and object, once for each comparison that git is given in which it is new."""
        wanted = set(objects)
        finding = [f"--find-object={one}" for one in wanted]
        how = (*how, "--stdin", "--root", "-r", "--raw", "--no-abbrev", "--no-renames", "-z")
        commit, old, new = "", set[str](), set[str]()
        parts = iter(self._git.ask("diff-tree", *how, *finding, data=lines).split(b"\0"))
        for part in parts:
            words = part.decode().split()
            if part.startswith(b":"):
                old.add(words[2])
                new.add(words[3])
                next(parts)  # the path, which may look like anything
                continue
            yield from ((commit, one) for one in (new & wanted) - old)
            commit, old, new = "".join(words[:1]), set(), set()

    def _descend(self, commits: set[str], starts: set[str]) -> bool:
        """Whether each of these commits has one of the others among its ancestors."""
        left = set(commits)
        for start in sorted(starts)[:_MOST_STARTS] if left else ():
            lines = "".join(f"{one}\n" for one in (f"^{start}", *left))
            said = self._git.ask("rev-list", "--ancestry-path", "--stdin", data=lines)
            left -= set(said.decode().split())
        return not left

    def _stashes(self, commits: set[str]) -> set[str]:
        """Those that a stash here consists of: what git did to the working folder then tells."""
        if not commits:
            return set()
        done: dict[tuple[str, str], list[int]] = defaultdict(list)
        for name, entry, older in self._own_logs():
            if entry.message == "reset: moving to HEAD" and not name.startswith("refs/"):
                done[entry.commit, entry.by].append(entry.at)
            elif older and _STARTS.match(entry.message):
                done[older.commit, entry.by].append(entry.at)
        data = "".join(f"{one}\n" for one in commits)
        how = ("--no-walk", "--stdin", "--format=%H%x00%P%x00%ct%x00%ce%x00%s")
        said = self._git.ask("log", *how, data=data).decode("utf-8", "replace")
        found = set()
        for line in said.split("\n")[:-1]:
            commit, parents, made, by, subject = line.split("\0", 4)
            shape = _STASHED.match(subject)
            base = (parents.split() or [shape[1]])[0] if shape else None
            times = [
                at - int(made)
                for (where, who), all_at in done.items() for at in all_at
                if base and where.startswith(base) and who == by
            ]  # fmt: skip
            if any(0 <= time <= _STASHING for time in times):
                found.add(commit)
        return found

    # What lies in no commit

    def is_tagged(self, one: str) -> bool:
        """Whether a ref, or a tag that lies about, leads to this object and to no commit."""
        refs = self._git.ask("for-each-ref", "--format=%(objecttype) %(objectname)").decode()
        found = [*re.findall(r"(?m)^(?:blob|tree) (\w+)$", refs), *self._every["tag"]]
        lines = "".join(f"{root}^{{commit}}\n" for root in found)
        said = self._git.ask("cat-file", "--batch-check", data=lines).decode().splitlines()
        roots = [root for root, line in zip(found, said, strict=True) if line.endswith("missing")]
        if not roots:
            return False
        lines = "".join(f"{root}\n" for root in roots)
        text = self._git.ask("rev-list", "--objects", "--no-walk", "--stdin", data=lines).decode()
        return one in {line.split()[0] for line in text.splitlines()}
