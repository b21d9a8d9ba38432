"""Drafts: texts that wait in a notebook's inbox until the person accepts or rejects them.

A draft is no memory: it is not searched, not told to a model, not exported and not counted.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple, TypedDict, Unpack

from co_cli.errors import FormatError, MovedOn, NotFound, RefusedText
from co_cli.knowledge import lifecycle, similarity
from co_cli.knowledge.article import free_name
from co_cli.knowledge.format.note import Note, moment_told, slugify
from co_cli.knowledge.format.rewrite import render
from co_cli.knowledge.notebook import Notebook
from co_cli.knowledge.pages import INBOX, Problem
from co_cli.knowledge.plan import Plan, Planner, Saved, new_uid
from co_cli.knowledge.policy import Similar
from co_cli.knowledge.safety.check import check_text, outside_tags
from co_cli.knowledge.store import Change, Edit, disk

MAX_QUOTE = 1000  # characters
_Knows = Callable[[str], bool]
# What a memory keeps of its draft's header; pinned and protected it becomes by the person's word.
_KEPT = ("scope", "language", "created", "updated", "source", "expires", "check", "sensitive",
         "trust")  # fmt: skip


class Draft(NamedTuple):
    """A text that may become a memory, the words it was drawn from and where those were said."""

    text: str
    tags: tuple[str, ...] = ()
    quote: str = ""
    origin: str = ""
    created: str = ""
    fields: tuple[tuple[str, Any], ...] = ()  # further fields of the header


class Put(NamedTuple):
    """What came of drafts: those that wait now, how many were known, and what was refused."""

    added: list[Note]
    known: int
    refused: list[Problem]


def put(
    book: Notebook, drafts: Iterable[Draft], *, actor: str, refused: _Knows = lambda _: False
) -> Put:
    """Put drafts into the inbox, as one change; not what is in the notebook, waits or is `refused`.

    That tells what the person rejected before.
    """
    drafts = list(drafts)

    def plan() -> tuple[Put, Change]:
        planner, added, wrong = book.planner(actor), list[Note](), list[Problem]()
        known = {similarity.key(note.body) for note in (*planner.look.notes, *waiting(book))}
        for draft in drafts:
            try:
                text, tags = check_text(draft.text), outside_tags(draft.tags)
                if (said := similarity.key(text)) not in known and not refused(text):
                    added.append(_add(planner, draft, text, tags))
                known.add(said)
            except (RefusedText, FormatError) as error:
                wrong.append(Problem(draft.origin, str(error)))
        left = len(drafts) - len(added) - len(wrong)
        return Put(added, left, wrong), planner.change("draft")

    def commit(planned: tuple[Put, Change]) -> Put:
        if planned[0].added:
            book.store.commit(planned[1])
        return planned[0]

    return book.agree(plan, commit)


def _add(planner: Planner, draft: Draft, text: str, tags: list[str]) -> Note:
    """A new file in the inbox; a quote that may not be stored is left out."""
    meta = {
        "uid": new_uid(),
        "created": moment_told(draft.created) or planner.at,
        "tags": tags,
        "source": lifecycle.detect_source(tags),
        "auto_category": lifecycle.detect_category(tags),
        **dict(draft.fields),
        "quote": _storable(draft.quote),
        "origin": _storable(draft.origin),
    }
    kept = {name: value for name, value in meta.items() if value not in (None, [], "", False)}
    used = {edit.path for edit in planner.edits}
    name = free_name(planner.book.store, slugify(text), [f"{INBOX}/{{}}.md"], used)
    return planner.write(f"{INBOX}/{name}.md", None, render(kept, text))


def _storable(text: str) -> str:
    with suppress(RefusedText):
        return check_text(text if len(text) <= MAX_QUOTE else text[: MAX_QUOTE - 1] + "…")
    return ""


def waiting(book: Notebook) -> list[Note]:
    """Every draft that can be read, oldest first, as it is `vouched` for."""
    book.store.settle()
    return vouched(book, book.pages.drafts()[0])


def vouched(book: Notebook, drafts: list[Note]) -> list[Note]:
    """These drafts; one that nobody here wrote is from outside, whatever its header says.

    What such a one quotes are nobody's words.
    """
    untrusted = bool(drafts) and book.origins is not None and book.origins.untrusted()
    own = set() if untrusted else {one.path for one in book.own(drafts)}
    return [one if one.path in own else _foreign(one) for one in drafts]


def _foreign(draft: Note) -> Note:
    said = {name: value for name, value in draft.meta.items() if name not in ("quote", "origin")}
    meta = said | {"source": "import", "trust": "external"}
    return Note(draft.path, draft.raw, meta, draft.body, plain=draft.plain)


class Choice(TypedDict, total=False):
    """What a person may choose: other words or tags, another notebook, what gives way."""

    text: str | None
    tags: Sequence[str] | None
    similar: Similar
    replaces: str
    into: Notebook
    fields: Mapping[str, Any]  # of the scope, if another than the draft's


def plan_accept(book: Notebook, draft: Note, *, actor: str, **choice: Unpack[Choice]) -> Plan:
    """Decide what accepting does: what saving the text would, and here the draft is archived."""
    if book.find(draft).raw != draft.raw:
        hint = "Nothing was done; look at it again: co inbox"
        raise MovedOn(f"draft {book.ref(draft)} changed meanwhile", hint=hint)
    [draft] = vouched(book, [draft])
    to, text, tags = choice.get("into", book), choice.get("text"), choice.get("tags")
    text = check_text(draft.body if text is None else text)
    tags = outside_tags(draft.tags if tags is None else tags)
    own = _KEPT if to is book and "fields" not in choice else _KEPT[2:]
    fields = {name: draft.meta[name] for name in own if name in draft.meta}
    fields |= choice.get("fields", {})
    look, around = to.around(text)
    planner = to.planner(actor, look)
    if to is book:
        planner.edits.append(Edit(draft.file, draft.raw, None))
    near = around.of(str(fields.get("language") or ""))
    same, _ = lifecycle.judge(text, near, to.policy.threshold)
    if same is not None:  # whose header stays as it is
        saved = planner.consolidate(same, text, tags, {}).saved
    else:
        similar, replaces = choice.get("similar", "keep"), choice.get("replaces", "")
        saved = planner.save(around, text, tags, similar, replaces, fields).saved
    return Plan(planner.change("accept") if planner.edits else None, saved)


def accept(
    book: Notebook, draft: Note, *, actor: str, seen: str = "", **choice: Unpack[Choice]
) -> Saved:
    """Make a memory of a draft, as one change; in another notebook it is two.

    `seen` is the `Plan.seen` that the person agreed to. MovedOn when saving would do anything else
    now or the draft was changed, NotFound when it no longer waits.
    """
    to = choice.get("into", book)
    plan = partial(plan_accept, book, draft, actor=actor, **choice)
    saved = to.agree(lambda: plan().hold_to(seen), to.commit)
    if to is not book:
        try:
            reject(book, draft, actor=actor)
        except (MovedOn, NotFound) as error:
            saved.trouble = f"{error}; what waits in the inbox now is not what was saved"
    return saved


def plan_alone(book: Notebook, draft: Note, *, actor: str) -> Plan | None:
    """What accepting a draft does that needs no look of its own; None where it collides."""
    with suppress(RefusedText):
        plan = plan_accept(book, draft, actor=actor)
        return None if plan.saved.similar else plan
    return None


def accept_alone(book: Notebook, draft: Note, *, actor: str) -> Saved | None:
    """Accept such a draft; another goes on waiting."""
    plan = partial(plan_alone, book, draft, actor=actor)
    return book.agree(plan, lambda found: book.commit(found) if found else None)


def reject(book: Notebook, draft: Note, *, actor: str) -> Saved:
    """Archive a draft; undo and restore bring it back."""
    return book.forget(draft, actor=actor, seen=str(disk.digest(draft.raw)))
