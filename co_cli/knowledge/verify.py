"""Whether notes still hold, by the `check` in their headers. Looks at files; never runs anything.

A check is a path in the project that must be there, or `PATH: TEXT`, a text that this file must
hold. It is about the project that the notebook lies in; in any other notebook it says nothing.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from co_cli import paths
from co_cli.errors import CoError, FormatError
from co_cli.knowledge.format.note import Note
from co_cli.knowledge.notebook import Notebook
from co_cli.knowledge.pages import Ref
from co_cli.knowledge.store import disk

if TYPE_CHECKING:  # who only looks never loads what writes
    from co_cli.knowledge.plan import Plan

_MOST = 16  # checks of a note that are tested
_LARGEST = 1024 * 1024  # bytes of a file that is looked into


class Freshness(NamedTuple):
    """What came of a note's checks: what no longer holds, and why one was not tested."""

    stale: str = ""
    refused: str = ""

    @property
    def mark(self) -> str:
        """What a person is told beside the note; nothing when all holds."""
        if self.stale:
            return f"stale: {self.stale}"
        return f"cannot be checked: {self.refused}" if self.refused else ""


class Verified(NamedTuple):
    """The notes that hold, those that do not with the reason, and the change that stamped them."""

    holds: list[Note]
    failed: list[tuple[Note, Freshness]]
    change: int = 0


def checks(note: Note) -> list[str]:
    """What a note's header wants checked: a text, a list of texts, or `PATH: TEXT` as a mapping."""
    value = note.meta.get("check")
    items = value if isinstance(value, list) else [value] if value is not None else []
    pairs = (item.items() if isinstance(item, dict) else [(item, None)] for item in items)
    return [str(path) if text is None else f"{path}: {text}" for one in pairs for path, text in one]


def project_of(book: Notebook) -> str:
    """The project that a notebook lies in; empty for the person's own, and for any other folder."""
    above = os.path.dirname(book.root)
    inside = book.scope == "project" and os.path.basename(above) == paths.PROJECT_MARK
    return os.path.dirname(above) if inside else ""


def freshness(book: Notebook, note: Note) -> Freshness:
    """Test a note's checks now; a handful of files are looked at, and none is changed."""
    wanted, project = checks(note), project_of(book)
    if not wanted or not project:
        return Freshness()
    try:
        failing = (why for check in wanted[:_MOST] if (why := why_not(project, check)))
        more = f"only {_MOST} checks are tested" if len(wanted) > _MOST else ""
        return Freshness(next(failing, ""), more)
    except CoError as error:
        return Freshness(refused=str(error))


def why_not(project: str, check: str) -> str:
    """What does not hold of a check; CoError for one that is none, or that leaves the project."""
    name, _, text = check.partition(": ")
    name, text = name.strip(), text.strip()
    if not name or not check.isprintable():
        raise CoError("a check is one line, and begins with a path in the project")
    root = os.path.realpath(project)
    path = os.path.realpath(os.path.join(root, name))
    inside = path == root or path.startswith(os.path.join(root, ""))
    if os.path.isabs(name) or ".." in name.split("/") or not inside:
        raise CoError(f"{name} leads out of the project, so it is not looked at")
    try:
        info = os.lstat(path)
        if not (text or stat.S_ISREG(info.st_mode) or stat.S_ISDIR(info.st_mode)):
            raise FormatError("is neither a file nor a folder")
        if text and text not in _text(path, disk.signature(info)):
            return f"{name} no longer holds '{text}'"
    except disk.ABSENT:
        return f"{name} is not there"
    except (OSError, FormatError) as error:
        why = f"cannot be read: {error.strerror}" if isinstance(error, OSError) else error
        raise CoError(f"{name} {why}") from error
    return ""


@lru_cache(maxsize=8)
def _text(path: str, _signature: disk.Signature) -> str:
    return disk.read_signed(path, _LARGEST)[0].decode("utf-8", "replace")


def verify(book: Notebook, refs: Sequence[Ref] = (), *, dry_run: bool = False) -> Verified:
    """Test the checks of these notes, or of all, and stamp `verified` on those that hold.

    One change for all of them; a note that has today's stamp is left as it is.
    """

    def plan() -> tuple[Verified, Plan | None]:
        planner, found, stamped = book.planner("cli"), Verified([], []), list[Note]()
        notes = [book.find(ref, planner.look) for ref in refs] if refs else planner.look.notes
        for note in filter(checks, notes if project_of(book) else ()):
            outcome, fresh = freshness(book, note), str(note.meta.get("verified"))[:10]
            try:
                if not outcome.mark and fresh != book.today():
                    stamped.append(planner.edit(note, {"verified": book.today()}))
                elif not outcome.mark:
                    found.holds.append(note)
            except FormatError as error:  # a header that cannot be changed line by line
                outcome = Freshness(refused=str(error))
            found.failed.extend([(note, outcome)] if outcome.mark else [])
        found.holds.extend(stamped)
        return found, planner.plan("verify", "marked", stamped[0]) if stamped else None

    def commit(found: Verified, change: Plan | None) -> Verified:
        return found._replace(change=book.commit(change).change) if change else found

    return plan()[0] if dry_run else book.agree(plan, lambda planned: commit(*planned))
