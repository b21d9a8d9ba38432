"""What a person does on the page: each is a change of the notebook, planned from what they saw."""

from typing import Any

from co_cli import trust
from co_cli.errors import CoError
from co_cli.knowledge import Notebook, inbox
from co_cli.knowledge.format.note import now, timestamp
from co_cli.knowledge.format.rewrite import rewrite
from co_cli.knowledge.plan import Plan, Planner, Saved
from co_cli.knowledge.safety.check import check_text, clean_tags
from co_cli.offline.rejections import remember_rejection
from co_cli.verbs import MARKS
from co_cli.web.state import Asked, Changed, Row, State
from co_cli.web.views import archived, similar

ACTOR = "web"


def _wanted(asked: Asked) -> dict[str, Any]:
    """The text, the tags, a line each, and what is to become of a similar note."""
    similar = "update" if asked["similar"] == "update" else "keep"
    return {"text": asked["text"], "tags": asked["tags"].split("\n"), "similar": similar}


def save(state: State, asked: Asked) -> Row:
    """Remember a text."""
    book, project = state.workspace.book(asked["scope"] == "user"), state.workspace.project
    plan = book.plan_remember(**_wanted(asked), actor=ACTOR)
    seen = _agreed(state, book, plan, asked)
    fresh = book.scope == "project" and trust.untouched(project)
    saved = book.remember(**_wanted(asked), actor=ACTOR, seen=seen, agreed=plan)
    trouble = trust.claim(project, timestamp(now())) if fresh else ""
    return _answer(book, saved, "Saved", trouble or saved.trouble)


def _agreed(state: State, book: Notebook, plan: Plan, asked: Asked) -> str:
    """What the person agreed to; Changed when they have not seen what the text is similar to."""
    if plan.saved.similar and asked["agreed"] != plan.seen:
        now = {"similar": similar(state, book, plan), "agreed": plan.seen}
        raise Changed("this is similar to a note that you have", now)
    return plan.seen


def edit(state: State, asked: Asked) -> Row:
    """Give a note another text and other tags."""
    book, note = state.held(asked)
    text, tags = check_text(asked["text"]), clean_tags(asked["tags"].split("\n"))
    body = None if text == note.body else text

    def plan(planner: Planner) -> Plan:
        if note.plain:
            changed = planner.edit(note, {"tags": tags} if tags else {}, body)
            return planner.plan("edit", "edited", changed)
        bare = rewrite(note.raw, {"tags": None}) if set(note.tags) - set(tags) else note.raw
        return planner.replace(note, rewrite(bare, {"tags": tags or None}, body))

    if body is None and tags == note.tags:
        return {"ref": state.called(book, note), "display": "Nothing changed."}
    return _answer(book, book.do(ACTOR, plan), "Edited")


def mark(state: State, asked: Asked) -> Row:
    """Set a note's mark, or take it off."""
    book, note = state.held(asked)
    if (one := MARKS.get(asked["mark"])) is None or note.kind == "draft":
        raise CoError("there is no such mark")
    saved = one.act(book, note, actor=ACTOR)
    return _answer(book, saved, "") | {"display": f"{one.told(saved)}."}


def forget(state: State, asked: Asked) -> Row:
    """Archive a note."""
    book, note = state.held(asked)
    return _answer(book, book.forget(note, actor=ACTOR, seen=asked["seen"]), "Forgot")


def restore(state: State, asked: Asked) -> Row:
    """Bring an archived note back."""
    if (gone := archived(state).get(asked["ref"])) is None:
        raise CoError("that is not in the archive")
    return _answer(gone[0], gone[0].restore(gone[1], actor=ACTOR), "Restored")


def undo(state: State, asked: Asked) -> Row:
    """Take a change back, or the last one."""
    entry = state.workspace.book(asked["scope"] == "user").undo(asked.number("n"), actor=ACTOR)
    return {"display": f"Undid change {entry.n} ({entry.op})."}


def accept(state: State, asked: Asked) -> Row:
    """Make a memory of a draft, in the person's words if they changed them."""
    book, draft = state.held(asked)
    wanted = _wanted(asked) | {"reviewed": True}  # the page shows each whole, and accepts one
    plan = inbox.plan_accept(book, draft, actor=ACTOR, **wanted)
    seen = _agreed(state, book, plan, asked)
    saved = inbox.accept(book, draft, actor=ACTOR, seen=seen, **wanted)
    return _answer(book, saved, "Saved", saved.trouble)


def reject(state: State, asked: Asked) -> Row:
    """Archive a draft, and do not offer it again."""
    book, draft = state.held(asked)
    saved = inbox.reject(book, draft, actor=ACTOR)
    remember_rejection(draft)
    return _answer(book, saved, "Rejected")


def _answer(book: Notebook, saved: Saved, verb: str, trouble: str = "") -> Row:
    """What was done to which note; never a text, as the note or a similar one may be sensitive."""
    display = f"{verb} {saved.note.kind} {saved.ref}." + (f" {trouble}" if trouble else "")
    row = {"ref": saved.ref, "action": saved.action, "display": display}
    return row | {"change": saved.change, "scope": book.scope}


ACTIONS = {one.__name__: one for one in (save, edit, mark, forget, restore, undo, accept, reject)}
