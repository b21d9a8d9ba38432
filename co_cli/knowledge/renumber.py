"""Numbers that several memories have, as a merge of two branches leaves them: each gets its own.

Which one keeps the number is told by the files alone, so that every clone decides alike.
"""

import re
from collections import Counter, defaultdict
from contextlib import suppress
from typing import NamedTuple

from co_cli.errors import FormatError
from co_cli.knowledge.format.note import Note, file_name, has_conflict, number_of
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

    The first one saved keeps it, for all that links to a number means it. What holds a conflict is
    left as it is, and so are texts: which memory they mean, only a person can tell.
    """

    def commit(planned: tuple[Planner, Renumbered]) -> Renumbered:
        planner, done = planned
        if done.moved:
            book.commit(planner.plan("renumber", "edited", done.moved[0][1]))
        return done

    return book.agree(lambda: _renumbered(book.planner("cli")), commit)


def _age(note: Note) -> tuple[bool, bool, str, str, bool, str]:
    """What orders notes the same everywhere; one without a uid is linked to by its number.

    Of a file and its copy, the one that Co named comes first.
    """
    uid, given = str(note.meta.get("uid") or ""), note.name != file_name(note.id, note.body)
    return not has_conflict(note.raw.decode()), bool(uid), note.created, uid, given, note.name


def _renumbered(planner: Planner) -> tuple[Planner, Renumbered]:
    sharing = defaultdict[int, list[Note]](list)
    for note in planner.look.notes:
        sharing[note.id].extend([] if note.plain else [note])
    groups = [sorted(notes, key=_age) for notes in sharing.values() if len(notes) > 1]
    later = sorted((note for notes in groups for note in notes[1:]), key=_age)
    moved = list[tuple[Note, Note]]()
    uids = Counter(str(note.meta.get("uid") or "") for note in planner.look.notes)
    for note in later:
        with suppress(FormatError):  # it stays as it is, and `doctor` names it
            if not has_conflict(note.raw.decode()):
                copied = uids[str(note.meta.get("uid") or "")] > 1 or not note.meta.get("uid")
                moved.append((note, _moved(planner, note, copied)))
    now = {old.path: new for old, new in moved}
    shared = {str(old.id) for old, _ in moved}
    left = [now.get(note.path, note) for note in planner.look.notes] if moved else []
    named = [problem for note in left for problem in _naming(note, shared)]
    return planner, Renumbered(moved, named)


def _moved(planner: Planner, note: Note, copied: bool) -> Note:
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
    links = [str(one) for name in ("related", "supersedes") for one in note.meta.get(name) or ()]
    named = dict.fromkeys([*_NAMED.findall(note.body), *links])
    said = "it names memory {}, a number that two had; see which is meant"
    return [Problem(note.path, said.format(number)) for number in named if number in shared]
