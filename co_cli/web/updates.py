"""What a text means for notes that are there: the question before it is saved, and the review.

A note's own text is shown unless it is marked sensitive; its number always is.
"""

from collections.abc import Sequence
from typing import Any

from co_cli.errors import CoError, MovedOn
from co_cli.knowledge import Note, Notebook, lifecycle
from co_cli.knowledge.compare.relation import Match
from co_cli.knowledge.format.note import linked_uids
from co_cli.knowledge.plan import Plan, Planner, Saved
from co_cli.knowledge.policy import Links
from co_cli.knowledge.store import disk, mark
from co_cli.results import span
from co_cli.web.state import HIDDEN, Asked, Changed, Row, State

Matches = list[tuple[Notebook, Match]]


def find_matches(
    state: State, plan: Plan, text: str, *,
    editing: Note | None = None, corrects: Note | None = None,
) -> Matches:  # fmt: skip
    """The notes that a text updates, or else restates; `corrects` is one that it is meant for.

    None where the plan gives a note that says the same the new wording.
    """
    if plan.saved.action == "consolidated":
        return []
    found = state.shelf.compare(text, editing=editing)
    updated = [pair for pair in found if pair[1].verdict == "updates"]
    if corrects and all(one.note != corrects for _, one in updated):
        home = state.shelf.holding(corrects)
        updated.insert(0, (home, Match(corrects, "updates", 1.0)))
    return updated or [
        *_identical(state, text, editing),
        *(pair for pair in found if pair[1].verdict == "restates"),
    ]


def _identical(state: State, text: str, editing: Note | None) -> Matches:
    """The notes that say the same to the word, which no comparison names."""
    found: Matches = []
    for book in state.shelf:
        around = book.around(text)[1].without(editing)
        if (note := lifecycle.judge(text, around, book.policy.threshold)[0]) and book.tells(note):
            found.append((book, Match(note, "restates", 1.0, 100.0)))
    return found


def question(state: State, book: Notebook, plan: Plan, matches: Matches) -> Row:
    """What a person is asked before a text is saved, with what their answer has to repeat."""
    able = replaceable(book, matches, plan.saved.note)
    return {
        "verdict": matches[0][1].verdict if matches else "",
        "matches": [
            match_json(state, *pair) | {"replaceable": pair[1].note in able} for pair in matches
        ],
        "agreed": mark(plan.seen, [(m.note.path, disk.digest(m.note.raw)) for _, m in matches]),
    }


def match_json(state: State, book: Notebook, one: Match) -> Row:
    """A note that a text bears on; nothing of what it says where it is sensitive."""
    hidden = state.hides(one.note)
    return {
        "ref": state.called(book, one.note),
        "text": HIDDEN if hidden else one.note.body,
        "date": span(one.note),
        "editable": not hidden,
    }


def replaceable(book: Notebook, matches: Matches, note: Note) -> list[Note]:
    """Those that a note may replace: in its own notebook, and not protected."""
    notes = [one.note for home, one in matches if home is book and not one.note.protected]
    return [old for old in notes if old.path != note.path]


def choose_links(state: State, book: Notebook, plan: Plan, matches: Matches, asked: Asked) -> Links:
    """What the person chose for these notes; Changed with the question unless they saw it."""
    if not matches:
        return {}
    now = question(state, book, plan, matches)
    if asked["agreed"] != now["agreed"]:
        named = " and ".join(one["ref"] for one in now["matches"])
        verdict = {"updates": f"this brings {named} out of date",
                   "restates": f"already noted as {named}"}[now["verdict"]]  # fmt: skip
        raise Changed(verdict, now, hint="Nothing is saved yet.")
    refs, outdates = asked["refs"].split("\n"), now["verdict"] == "updates"
    every = {state.called(home, one.note): one.note for home, one in matches}
    notes = [note for ref, note in every.items() if ref in refs or not asked["refs"]]
    others = [note for note in every.values() if note not in notes]
    able = [old for old in replaceable(book, matches, plan.saved.note) if old in notes]
    if asked["choice"] == "update" and outdates:
        return {"updates": notes, "related": others}
    if asked["choice"] == "replace" and able:
        more = [note for note in notes if note is not able[0]] if outdates else []
        return {"replaces": able[0].name[:-3], "updates": more, "related": others}
    if asked["choice"] == "keep":
        return {"related": [*every.values()]}
    raise CoError("choose what becomes of the earlier note")


def link_fields(
    planner: Planner, note: Note, links: Links, replaced: Note | None
) -> dict[str, Any]:
    """The fields that an edited note's header gets for these links; what it replaces goes."""
    fields: dict[str, Any] = {}
    for name in ("updates", "related"):
        notes: Sequence[Note] = links.get(name, ())  # type: ignore[assignment]
        if notes:
            fields[name] = lifecycle.union(linked_uids(note, name), planner.links(notes))
    if replaced:
        planner.remove(replaced)
        known = linked_uids(note, "supersedes")
        fields["supersedes"] = lifecycle.union(known, planner.links([replaced]))
        if inherited := linked_uids(replaced, "updates"):  # stays out of date
            updates = fields.get("updates", linked_uids(note, "updates"))
            fields["updates"] = lifecycle.union(updates, inherited)
    return fields


def effect(state: State, book: Notebook, saved: Saved) -> str:
    """What a save did to other notes, as sentences."""
    told = ""
    if saved.replaced:
        told = f" It replaces {state.called(book, saved.replaced)}, which is archived."
    if saved.updates:
        refs = [state.called(state.shelf.holding(one), one) for one in saved.updates]
        told += f" It updates {' and '.join(refs)}."
    return told


# The review


def review(state: State, _: Asked) -> Row:
    """The pairs of notes of which one seems to update the other, and nobody has said so."""
    rows: list[Row] = []
    for book, *notes in state.seen.unconfirmed:
        newer, older = [
            row | {"text": note.body, "seen": disk.digest(note.raw)}
            for note, row in zip(notes, state.rows([(book, one) for one in notes]), strict=True)
        ]
        rows.append({"newer": newer, "older": older, "agreed": _token(*notes)})
    return {"rows": rows}


def link(state: State, asked: Asked) -> Row:
    """Confirm that a note updates another, or that both hold."""
    (book, new), (_, old) = state.find(asked["newer"]), state.find(asked["older"])
    if {new.kind, old.kind} != {"memory"} or asked["agreed"] != _token(new, old):
        raise MovedOn("one of the notes changed meanwhile", hint="Look at both again.")
    refs = asked["newer"], asked["older"]
    if asked["choice"] == "update":
        saved = book.link(new, actor="web", updates=[old])
        display = "{} now updates {}.".format(*refs)
    elif asked["choice"] == "keep":
        saved = book.link(new, actor="web", related=[old])
        display = "{} and {} are kept as unrelated.".format(*refs)
    else:
        raise CoError("choose what becomes of the earlier note")
    return {"ref": refs[0], "action": saved.action, "display": display,
            "change": saved.change, "scope": book.scope}  # fmt: skip


def _token(new: Note, old: Note) -> str:
    """The texts of a pair; another where one was edited, but not where it was linked."""
    return mark(new.body, old.body)
