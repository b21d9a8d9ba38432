"""Numbers that several memories have, as a merge of two branches leaves them: each gets its own.

Which one keeps the number is told by the files alone, so that every clone decides alike.
"""

import re
from collections import defaultdict
from contextlib import suppress
from typing import NamedTuple

from co_cli.errors import CoError
from co_cli.knowledge.doctor import why_left
from co_cli.knowledge.format.note import Note, file_name, number_of
from co_cli.knowledge.format.rewrite import rewrite
from co_cli.knowledge.notebook import Notebook
from co_cli.knowledge.pages import MEMORIES, Problem
from co_cli.knowledge.plan import Planner, new_uid
from co_cli.knowledge.store import Edit

_NAMED = re.compile(r"(?i)\b(?:memory|memories|note) #?g?(\d{1,9})\b")


class Renumbered(NamedTuple):
    """Memories as they were and as they are, and what still names a number that was shared."""

    moved: list[tuple[Note, Note]]
    named: list[Problem]


def renumber(book: Notebook) -> Renumbered:
    """Give memories with the number of another one the next free ones, in one change.

    The first one saved keeps it, for all that links to a number means it, unless another holds a
    conflict or cannot be changed, and so keeps its own. Texts are left as they are: which memory
    they mean, only a person can tell.
    """

    def commit(planned: tuple[Planner, Renumbered]) -> Renumbered:
        planner, done = planned
        if done.moved:
            book.commit(planner.plan("renumber", "edited", done.moved[0][1]))
        return done

    return book.agree(lambda: _renumbered(book.planner("cli")), commit)


def _age(note: Note) -> tuple[bool, bool, str, str, bool, int, str]:
    """What orders notes the same everywhere; one without a uid is linked to by its number.

    What cannot be changed comes first, for it keeps its number in any case. Of a file and its copy,
    the one that Co named comes first, or the one whose name is shorter.
    """
    uid, given = str(note.meta.get("uid") or ""), note.name != file_name(note.id, note.body)
    return not why_left(note), bool(uid), note.created, uid, given, len(note.name), note.name


def _renumbered(planner: Planner) -> tuple[Planner, Renumbered]:
    sharing = defaultdict[int, list[Note]](list)
    for note in planner.look.notes:
        sharing[note.id].extend([] if note.plain else [note])
    groups = [sorted(notes, key=_age) for notes in sharing.values() if len(notes) > 1]
    later = sorted((one for notes in groups for one in notes[1:] if not why_left(one)), key=_age)
    moving = set(later)
    held = {note.meta.get("uid") for note in planner.look.notes if note not in moving}
    moved = list[tuple[Note, Note]]()
    for note in later:
        uid = note.meta.get("uid")
        with suppress(CoError):  # no number is left, and `doctor` says so
            moved.append((note, _moved(planner, note, copied=not uid or uid in held)))
            held.add(uid)  # of several copies that move, one keeps what links hold
    now = {old.path: new for old, new in moved}
    shared = {str(old.id) for old, _ in moved}
    left = [now.get(note.path, note) for note in planner.look.notes] if moved else []
    named = [problem for note in left for problem in _naming(note, shared)]
    return planner, Renumbered(moved, named)


def _moved(planner: Planner, note: Note, *, copied: bool) -> Note:
    """The note under the next number, which its file's name begins with if it began with one.

    One that has no uid, or another's, gets its own, the same in every clone.
    """
    number = planner.next_id()
    uid = new_uid(f"{note.name}\0".encode() + note.raw) if copied else note.meta["uid"]
    raw = rewrite(note.raw, {"id": number, "uid": uid})
    if number_of(note.name) != note.id:
        return planner.write(note.file, note.raw, raw)
    rest = note.name.lstrip("0").removeprefix(str(note.id))
    moved = planner.write(f"{MEMORIES}/{number:03d}{rest}", None, raw)
    planner.edits.append(Edit(note.file, note.raw, None))
    return moved


def _naming(note: Note, shared: set[str]) -> list[Problem]:
    """The shared numbers that a note's text or links name."""
    fields = ("updates", "related", "supersedes")
    links = [str(one) for name in fields for one in note.meta.get(name) or ()]
    named = dict.fromkeys([*_NAMED.findall(note.body), *links])
    said = "it names memory {}, a number that several had; see which is meant"
    return [Problem(note.path, said.format(number)) for number in named if number in shared]
