"""What takes a change back, brings a note back or answers again, by the journal. Writes nothing."""

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from co_cli.errors import CoError, MovedOn, NotFound
from co_cli.knowledge.compare.same import same
from co_cli.knowledge.format.note import Note
from co_cli.knowledge.pages import Ref, called, kind_of, named, pick
from co_cli.knowledge.plan import Action, Plan, Planner, Saved
from co_cli.knowledge.store import Change, Edit, Entry, Store, disk, previous


def plan_undo(store: Store, n: int, actor: str, at: str) -> Change:
    """The change that takes back change `n`, or with 0 the last one that still stands."""
    basis = store.tail().settled
    entries = [entry for entry in store.entries() if entry.state == "done"]
    undone: set[int] = set()
    for entry in reversed(entries):
        if entry.undoes and entry.n not in undone:
            undone.add(entry.undoes)
    if n in undone:
        raise MovedOn(f"change {n} is undone already")
    standing = {e.n: e for e in entries if e.n not in undone and (n or not e.undoes)}
    found = standing.get(n or next(reversed(standing), 0))
    if found is None:
        what = f"there is no change {n} to undo" if n else "there is nothing to undo"
        raise NotFound(what, hint="`co knowledge log` shows what happened.")
    if not _is_undoable(found):
        others = [e.n for e in standing.values() if _is_undoable(e)]
        hint = f"The one before it: co knowledge undo {others[-1]}" if others else ""
        why = "is a purge" if found.op == "purge" else "is of a text that was purged since"
        raise NotFound(f"change {found.n} ({found.op}) {why}", hint=hint)
    edits = tuple(_back(store, found.n, file) for file in found.files)
    return Change("undo", actor, at, basis, edits, undoes=found.n)


def _back(store: Store, n: int, file: dict[str, Any]) -> Edit:
    present = store.read(file["path"])
    if disk.digest(present) != file["after"]:
        hint = "Nothing was changed. Edit the file by hand, or undo the newer change first."
        raise MovedOn(f"{file['path']} has changed since change {n}", hint=hint)
    before = None if file["before"] is None else previous(store, n, file)
    return Edit(file["path"], present, before, store.modified(file["path"], n))


def _is_undoable(entry: Entry) -> bool:
    """Whether anything is left to go back to."""
    sides = [file[side] for file in entry.files for side in ("before", "after")]
    return bool(sides) and "purged" not in sides


def plan_restore(planner: Planner, ref: Ref, archived: Iterable[tuple[Entry, Note]]) -> Plan:
    """The change that brings an archived note back; an article's original comes along."""
    store, found = planner.book.store, {note: entry for entry, note in archived}
    note = pick(ref, found, planner.book.prefix)
    if note is None:
        kind, name = kind_of(ref), f"{planner.book.prefix}{called(ref)[:60]}"
        if named(ref, [*planner.look.notes, *planner.book.articles()]):
            raise NotFound(f"{kind} {name} is not archived")
        hint = "`co knowledge restore` lists what can be brought back."
        raise NotFound(f"the archive holds no {kind} {name}", hint=hint)
    n, path = found[note].n, note.attachment
    for file in found[note].files:
        if file["path"] == path and file["after"] is None and not store.signature(path):
            with suppress(CoError):  # `doctor` tells that it is missing
                data = previous(store, n, file)
                planner.edits.append(Edit(path, None, data, store.modified(path, n)))
    note = planner.write(note.file, None, note.raw, store.modified(note.file, n))
    return planner.plan("restore", "restored", note)


def repeated(planner: Planner, done: Entry, text: str) -> Saved | None:
    """The answer a tool call got when it arrived the first time, if its note is still there."""
    new = {file["path"]: file["before"] is None for file in done.files}
    if done.op == "keep":
        for note in planner.book.articles():
            if note.file in new:
                action: Action = "created" if new[note.file] else "updated"
                return Saved(action, note, planner.book.ref(note), change=done.n)
    for note in planner.look.notes:
        if new.get(note.file) and same(note.body, text):
            return Saved("created", note, planner.book.ref(note), change=done.n)
    return None
