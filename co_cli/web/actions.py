"""What a person does on the page: each is a change of the notebook, planned from what they saw."""

from co_cli import trust
from co_cli.errors import CoError
from co_cli.knowledge import Notebook, inbox
from co_cli.knowledge.compare.same import same
from co_cli.knowledge.format.note import now, timestamp
from co_cli.knowledge.format.rewrite import rewrite
from co_cli.knowledge.plan import Plan, Planner, Saved
from co_cli.knowledge.policy import Links
from co_cli.knowledge.safety.check import check_text, clean_tags
from co_cli.offline.rejections import remember_rejection
from co_cli.verbs import MARKS
from co_cli.web.state import Asked, Row, State
from co_cli.web.updates import choose_links, effect, find_matches, link, link_fields
from co_cli.web.views import archived

ACTOR = "web"


def save(state: State, asked: Asked) -> Row:
    """Remember a text."""
    book, project = state.workspace.book(asked["scope"] == "user"), state.workspace.project
    text, tags = asked["text"], asked["tags"].split("\n")
    plan = book.plan_remember(text, tags, actor=ACTOR)
    if links := choose_links(state, book, plan, find_matches(state, plan, text), asked):
        plan = book.plan_remember(text, tags, actor=ACTOR, **links)
    fresh = book.scope == "project" and trust.untouched(project)
    saved = book.remember(text, tags, actor=ACTOR, seen=plan.seen, agreed=plan, **links)
    trouble = trust.claim(project, timestamp(now())) if fresh else ""
    return _answer(state, book, saved, "Saved", trouble or saved.trouble)


def edit(state: State, asked: Asked) -> Row:
    """Give a note another text and other tags."""
    book, note = state.held(asked)
    text, tags = check_text(asked["text"]), clean_tags(asked["tags"].split("\n"))
    body = None if text == note.body else text
    if body is None and tags == note.tags:
        return {"ref": state.called(book, note), "display": "Nothing changed."}
    links, there = Links(), Plan(None, Saved("edited", note, book.ref(note)))
    if note.kind == "memory" and not same(note.body, text):
        links = choose_links(
            state, book, there, find_matches(state, there, text, editing=note), asked
        )
    replaced = book.find(links["replaces"]) if links.get("replaces") else None

    def plan(planner: Planner) -> Plan:
        fields = link_fields(planner, note, links, replaced)
        if note.plain:
            changed = planner.edit(note, fields | ({"tags": tags} if tags else {}), body)
            return planner.plan("edit", "edited", changed)
        bare = rewrite(note.raw, {"tags": None}) if set(note.tags) - set(tags) else note.raw
        return planner.replace(note, rewrite(bare, fields | {"tags": tags or None}, body))

    saved = book.do(ACTOR, plan)
    saved.updates, saved.replaced = [*links.get("updates", ())], replaced
    return _answer(state, book, saved, "Edited")


def mark(state: State, asked: Asked) -> Row:
    """Set a note's mark, or take it off."""
    book, note = state.held(asked)
    if (one := MARKS.get(asked["mark"])) is None or note.kind == "draft":
        raise CoError("there is no such mark")
    saved = one.act(book, note, actor=ACTOR)
    return _answer(state, book, saved, "") | {"display": f"{one.told(saved)}."}


def forget(state: State, asked: Asked) -> Row:
    """Archive a note."""
    book, note = state.held(asked)
    return _answer(state, book, book.forget(note, actor=ACTOR, seen=asked["seen"]), "Forgot")


def restore(state: State, asked: Asked) -> Row:
    """Bring an archived note back."""
    if (gone := archived(state).get(asked["ref"])) is None:
        raise CoError("that is not in the archive")
    return _answer(state, gone[0], gone[0].restore(gone[1], actor=ACTOR), "Restored")


def undo(state: State, asked: Asked) -> Row:
    """Take a change back, or the last one."""
    entry = state.workspace.book(asked["scope"] == "user").undo(asked.number("n"), actor=ACTOR)
    return {"display": f"Undid change {entry.n} ({entry.op})."}


def accept(state: State, asked: Asked) -> Row:
    """Make a memory of a draft, in the person's words if they changed them."""
    book, draft = state.held(asked)
    choice: inbox.Choice = {
        "text": asked["text"], "tags": asked["tags"].split("\n"),
        "reviewed": True,  # the page shows each whole, and accepts one
    }  # fmt: skip
    plan = inbox.plan_accept(book, draft, actor=ACTOR, **choice)
    matches = find_matches(state, plan, asked["text"], corrects=book.corrected(draft))
    if links := choose_links(state, book, plan, matches, asked):
        choice = {**choice, **links, "decided": True}
        plan = inbox.plan_accept(book, draft, actor=ACTOR, **choice)
    saved = inbox.accept(book, draft, actor=ACTOR, seen=plan.seen, **choice)
    return _answer(state, book, saved, "Saved", saved.trouble)


def reject(state: State, asked: Asked) -> Row:
    """Archive a draft, and do not offer it again."""
    book, draft = state.held(asked)
    saved = inbox.reject(book, draft, actor=ACTOR)
    remember_rejection(draft)
    return _answer(state, book, saved, "Rejected")


def _answer(state: State, book: Notebook, saved: Saved, verb: str, trouble: str = "") -> Row:
    """What was done to which note; never a text, as the note or another may be sensitive."""
    display = f"{verb} {saved.note.kind} {saved.ref}.{effect(state, book, saved)}"
    if saved.action == "consolidated":
        display = f"Already noted as {saved.ref}{', now in your words' * saved.reworded}."
    display += f" {trouble}" if trouble else ""
    row = {"ref": saved.ref, "action": saved.action, "display": display}
    return row | {"change": saved.change, "scope": book.scope}


ACTIONS = {
    one.__name__: one for one in (save, edit, mark, forget, restore, undo, accept, reject, link)
}
