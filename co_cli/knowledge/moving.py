"""A memory moves into another notebook, or to another language; uid, date and links come along."""

from collections.abc import Iterable

from co_cli.errors import CoError, NotFound
from co_cli.knowledge.format.note import Note, file_name, scoped
from co_cli.knowledge.format.rewrite import rewrite
from co_cli.knowledge.notebook import Notebook
from co_cli.knowledge.pages import MEMORIES, Ref, named
from co_cli.knowledge.pair import all_locked, commit_both
from co_cli.knowledge.plan import Plan, Planner, Saved, new_uid
from co_cli.knowledge.store import Edit, Entry

MOVES = ("promote", "demote")


def find_to_move(source: Notebook, target: Notebook, ref: Ref) -> Note:
    """The note that is to move; NotFound, which names it there, for one that has moved before."""
    try:
        return source.find(ref)
    except NotFound:
        gone = [note for entry, note in source.pages.archived() if entry.op in MOVES]
        for note in named(ref, gone):
            if (there := _twin(note, target.look().notes)) and source.root != target.root:
                moved = f"memory {source.ref(note)} is {target.ref(there)} now"
                raise NotFound(moved, hint=f"co knowledge show {target.ref(there)}") from None
        raise


def other_half(book: Notebook, other: Notebook, undone: Entry) -> int:
    """The change in the other notebook that still stands when one half of a move is undone, or 0.

    One half leaves the memory in both notebooks, or in neither.
    """
    if undone.op not in MOVES or len(undone.files) != 1:
        return 0
    [file] = undone.files
    there = other.look().notes
    if file["after"] is None:  # it is back here
        note = book.pages.note(file["path"])
        twin = _twin(note, there) if note else None
        return max((e.n for e in other.store.entries() if twin and _made(e, twin)), default=0)
    gone = (note for _, note in book.pages.archived() if note.file == file["path"])
    note = next(gone, None)
    if file["before"] is not None or not note or _twin(note, there):
        return 0
    left = [(entry.n, one) for entry, one in other.pages.archived() if entry.op == undone.op]
    return next((n for n, one in left if _twin(note, [one])), 0)


def _made(entry: Entry, note: Note) -> bool:
    """Whether this change was the half of a move that brought a note."""
    made = [file["path"] for file in entry.files if file["before"] is None]
    return entry.op in MOVES and entry.state == "done" and note.file in made


def _twin(note: Note, notes: Iterable[Note]) -> Note | None:
    """The one among these that is this note in another notebook."""
    uid = note.meta.get("uid")
    for one in notes:
        theirs = one.meta.get("uid")
        said = (one.body, one.created) == (note.body, note.created)
        if uid == theirs if uid and theirs else said:
            return one
    return None


def move(source: Notebook, target: Notebook, note: Note, language: str, *, actor: str) -> Saved:
    """Have it in that notebook, for this language or for all, and no longer in its own."""
    op, ref = "promote" if target.scope == "user" else "demote", source.ref(note)
    if note.kind != "memory" or note.plain:
        hint = f"First: co knowledge adopt {ref}" if note.plain else ""
        raise CoError(f"{ref} cannot be moved: it is no memory with a header", hint=hint)
    if not source.own([note]):
        raise CoError(f"memory {ref} came with git, and nobody here agreed to it", hint="co trust")
    if source.root == target.root:
        return target.do(actor, lambda planner: _arriving(planner, note, language, op))
    with all_locked(source, target):
        arriving = _arriving(target.planner(actor), note, language, op)
        return commit_both(source, _leaving(source.planner(actor), note, op), target, arriving)


def _arriving(planner: Planner, note: Note, language: str, op: str) -> Plan:
    uid, fields = note.meta.get("uid"), scoped(language)
    for there in planner.look.notes:
        same = (there.body, there.created) == (note.body, note.created)
        if there == note or (same and uid in (None, there.meta.get("uid"))):
            if fields.items() <= {**dict.fromkeys(fields), **there.meta}.items():
                return Plan(None, Saved("unchanged", there, planner.book.ref(there)))
            return planner.plan(op, "edited", planner.edit(there, fields))
    number, links = planner.next_id(), {}
    for name in ("updates", "related", "supersedes"):
        if isinstance(known := note.meta.get(name), list):  # a number is another note's there
            links[name] = [one for one in known if not str(one).isdecimal()] or None
    raw = rewrite(note.raw, {"id": number, "uid": uid or new_uid(), **fields, **links})
    file = f"{MEMORIES}/{file_name(number, note.body)}"
    return planner.plan(op, "created", planner.write(file, None, raw))


def _leaving(planner: Planner, note: Note, op: str) -> Plan:
    planner.edits.append(Edit(note.file, note.raw, None))  # a protected one stays protected there
    return planner.plan(op, "forgotten", note)
