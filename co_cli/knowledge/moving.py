"""A memory moves into another notebook, or to another language, and takes its history along."""

from co_cli.errors import CoError
from co_cli.knowledge.format.note import Note, file_name, scoped
from co_cli.knowledge.format.rewrite import rewrite
from co_cli.knowledge.notebook import Notebook
from co_cli.knowledge.pages import MEMORIES
from co_cli.knowledge.plan import Plan, Planner, Saved, new_uid
from co_cli.knowledge.store import Edit


def move(source: Notebook, target: Notebook, note: Note, language: str, *, actor: str) -> Saved:
    """Have it in that notebook, for this language or for all, and no longer in its own.

    It is written there before it is archived here: a crash between the two leaves both, and whoever
    does it again finds that it is there.
    """
    op, ref = "promote" if target.scope == "user" else "demote", source.ref(note)
    if note.kind != "memory" or note.plain:
        hint = f"First: co knowledge adopt {ref}" if note.plain else ""
        raise CoError(f"{ref} cannot be moved: it is no memory with a header", hint=hint)
    if not source.own([note]):
        raise CoError(f"memory {ref} came with git, and nobody here agreed to it", hint="co trust")
    saved = target.do(actor, lambda planner: _arriving(planner, note, language, op))
    if source.root != target.root:
        source.do(actor, lambda planner: _leaving(planner, note, op))
    return saved


def _arriving(planner: Planner, note: Note, language: str, op: str) -> Plan:
    uid, fields = note.meta.get("uid"), scoped(language)
    for there in planner.look.notes:
        same = (there.body, there.created) == (note.body, note.created)
        if there == note or (same and uid in (None, there.meta.get("uid"))):
            if fields.items() <= {**dict.fromkeys(fields), **there.meta}.items():
                return Plan(None, Saved("unchanged", there, planner.book.ref(there)))
            return planner.plan(op, "edited", planner.edit(there, fields))
    number, links = planner.next_id(), {}
    for name in ("related", "supersedes"):
        if isinstance(known := note.meta.get(name), list):  # a number is another note's there
            links[name] = [one for one in known if not str(one).isdecimal()] or None
    raw = rewrite(note.raw, {"id": number, "uid": uid or new_uid(), **fields, **links})
    file = f"{MEMORIES}/{file_name(number, note.body)}"
    return planner.plan(op, "created", planner.write(file, None, raw))


def _leaving(planner: Planner, note: Note, op: str) -> Plan:
    planner.edits.append(Edit(note.file, note.raw, None))  # a protected one stays protected there
    return planner.plan(op, "forgotten", note)
