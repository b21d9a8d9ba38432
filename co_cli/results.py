"""What a verb did or found, as words and as plain values; the same for every surface."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from datetime import date, datetime
from itertools import groupby
from shlex import quote
from typing import TYPE_CHECKING, Any

from co_cli.knowledge import Hit, Note, Notebook, Recall
from co_cli.knowledge.pages import MEMORIES
from co_cli.knowledge.safety.escape import escape
from co_cli.knowledge.search.hits import shortened
from co_cli.knowledge.verify import checks, freshness

if TYPE_CHECKING:  # what only read something never loads what writes
    from co_cli.knowledge.plan import Saved

_OF_A_DRAFT = ("quote", "origin", "expires", "check")  # in its header
NO_DRAFTS = "No drafts wait. What may become a memory is shown here before it is one."


def plural(count: int, noun: str) -> str:
    """A count with its noun: 1 memory, 2 memories."""
    if count != 1:
        ends = noun.endswith("y") and noun[-2] not in "aeiou"
        noun = noun[:-1] + "ies" if ends else noun + ("es" if noun.endswith("ch") else "s")
    return f"{count} {noun}"


def waiting_text(count: int, new: int = 0) -> str:
    """How many drafts wait, and how many of them are new, where not all are."""
    some = f", {new} of them new" if 0 < new < count else ""
    return (
        f"{plural(count, 'draft')} {'waits' if count == 1 else 'wait'} in the inbox{some}: /inbox"
    )


def span(note: Note) -> str:
    """A note's date; for one that was consolidated or merged, the range it covers."""
    updated = str(note.meta.get("updated") or "")[:10]
    return f"{note.created[:10]} → {updated}" if updated else note.created[:10]


def age(created: str, today: str) -> str:
    """How long ago a day was, in the largest unit that fits."""
    try:
        days = (date.fromisoformat(today) - date.fromisoformat(created[:10])).days
    except ValueError:
        return ""
    for unit, length in (("year", 365), ("month", 30), ("week", 7), ("day", 1)):
        if days >= 2 * length:
            return f"{plural(days // length, unit)} ago"
    return {0: "today", 1: "yesterday"}.get(days, "")


def marks(book: Notebook, note: Note) -> str:
    """What a person should know at a glance: protected, pinned, sensitive, plain, outdated."""
    signs = {
        f"for {note.language}": bool(note.language),
        "🔒": note.protected,
        "📌": note.pinned,
        "sensitive": note.meta.get("sensitive") is True,
        "plain file": note.plain,
    }
    found = [mark for mark, there in signs.items() if there]
    expires = str(note.meta.get("expires") or "")[:10]
    found += [f"until {expires}"] if expires and not note.expired(book.today()) else []
    return " ".join([*found, *outdated(book, note)])


def outdated(book: Notebook, note: Note) -> list[str]:
    """Why a note may no longer hold, in words: that it expired, or what its `check` found."""
    return ["expired"] * note.expired(book.today()) + [*filter(None, [freshness(book, note).mark])]


def outdated_json(book: Notebook, note: Note) -> dict[str, str]:
    """The same for a program and for a model; nothing where nothing speaks against the note."""
    return {"outdated": "; ".join(old)} if (old := outdated(book, note)) else {}


def counted(notes: Iterable[Note]) -> str:
    """How many memories and articles these are, in words."""
    kinds = [note.kind for note in notes]
    articles = kinds.count("article")
    both = [plural(kinds.count("memory"), "memory")] if "memory" in kinds or not articles else []
    return " and ".join(both + ([plural(articles, "article")] if articles else []))


def _core_json(book: Notebook, note: Note) -> dict[str, Any]:
    return {
        "id": note.id,
        "ref": book.ref(note),
        "kind": note.kind,
        "scope": "language" if note.language and book.scope == "user" else book.label,
        **({"language": note.language} if note.language else {}),
        "content": note.body,
        "tags": note.tags,
        "created": note.created,
        "path": note.path,
        "external": note.external,
        "source": note.origin or note.meta.get("source"),
    }


def outside_text(note: Note) -> str:
    """That a text is not the person's own, and where it came from; also of one they reviewed."""
    if not note.external:
        return f"from {note.origin}" if note.origin else ""
    return "from outside" if note.origin in ("", "outside") else f"from outside: {note.origin}"


def draft_text(book: Notebook, draft: Note) -> dict[str, str]:
    """What a person should know of a draft beside its text: whose words it is from, how it holds.

    Each with its label; nothing where there is nothing to tell.
    """
    said, origin, *more = (str(draft.meta.get(name) or "")[:1000] for name in _OF_A_DRAFT)
    with suppress(ValueError):  # a conversation's id begins with its date
        day = datetime.strptime(origin.partition("-")[0], "%Y%m%dT%H%M%SZ")
        origin = f"a chat on {day.day} {day:%B}"
    told = filter(None, (outside_text(draft), origin, age(draft.created, book.today())))
    more += ["sensitive"] if draft.meta.get("sensitive") is True else []
    lines = {"Said": said, "From": ", ".join(told), "Holds": " ".join(filter(None, more))}
    lines["Fixes"] = f"memory {book.ref(old)}" if (old := book.corrected(draft)) else ""
    return {label: text for label, text in lines.items() if text}


def note_json(book: Notebook, note: Note) -> dict[str, Any]:
    """A note for a program."""
    original = book.store.locate(note.attachment) if note.attachment else None
    return _core_json(book, note) | {
        "updated": note.meta.get("updated"),
        "summary": note.summary,
        "protected": note.protected,
        "pinned": note.pinned,
        "expires": note.meta.get("expires"),
        "expired": note.expired(book.today()),
        **_checked_json(book, note),
        **({"sensitive": True} if note.meta.get("sensitive") is True else {}),
        **({"plain": True} if note.plain else {}),
        **({"title": note.title, "attachment": original} if note.kind == "article" else {}),
        **(_draft_json(book, note) if note.kind == "draft" else {}),
    }


def _draft_json(book: Notebook, draft: Note) -> dict[str, Any]:
    """What only a draft has; what it is meant to replace, where that is still here."""
    replaces = {"replaces": book.ref(old)} if (old := book.corrected(draft)) else {}
    return {name: draft.meta.get(name) for name in ("quote", "origin")} | replaces


def _checked_json(book: Notebook, note: Note) -> dict[str, Any]:
    """A note's checks and what came of them, for a program; nothing where it has none."""
    told = {"check": checks(note), "verified": note.meta.get("verified")}
    return told | {"stale": freshness(book, note).stale or None} if told["check"] else {}


def hit_ref(book: Notebook, hit: Hit) -> str:
    """How a person names what was found: the note, or the place in an article."""
    return f"{book.ref(hit.note)}{f'#{hit.anchor}' if hit.anchor else ''}"


def above_text(hit: Hit) -> str:
    """What an article's passage stands under: its title and headings."""
    return " > ".join(filter(None, (hit.note.title, hit.heading)))


def hit_json(book: Notebook, hit: Hit) -> dict[str, Any]:
    """A recall result for a program."""
    also = hit.also and {
        "heading": hit.also.heading, "anchor": hit.also.anchor, "passage": hit.also.text
    }  # fmt: skip
    article = {"title": hit.note.title, "heading": hit.heading, "anchor": hit.anchor, "also": also}
    return _core_json(book, hit.note) | {
        "ref": hit_ref(book, hit),
        "content": hit.text,
        "score": hit.score,
        "why": hit.why,
        "weak": hit.weak,
        "passage": hit.passage or hit.note.body,
        "updated_by": _update_ref(book, hit.updated_by),
        "maybe_updated_by": _update_ref(book, hit.maybe_updated_by),
        **outdated_json(book, hit.note),
        **(article if hit.note.kind == "article" else {}),
    }


def _update_ref(book: Notebook, note: Note | None) -> str | None:
    """How a person names what updates a note of this notebook; it may lie in the other one."""
    return update_ref(book, note) if note else None


def update_ref(book: Notebook, note: Note) -> str:
    """How a person names a note that may lie in this notebook or in their other one."""
    here = os.path.dirname(note.path) == book.memories
    prefix = book.prefix if here else "" if book.prefix else "g"
    return prefix + note.handle


def saved_json(book: Notebook, saved: Saved) -> dict[str, Any]:
    """What a save did, for a program and for a model."""
    return {
        "display": "\n".join([saved_text(book, saved), *aside_text(book)]),
        "path": saved.note.path,
        "memory_id": saved.note.id,
        "ref": saved.ref,
        "action": saved.action,
        "collisions": [
            {"id": note.id, "ref": book.ref(note), "similarity": round(score), "content": note.body}
            for note, score in saved.similar
        ],
        "updates": [update_ref(book, note) for note in saved.updates],
        "decayed": [note.id for note in saved.decayed],
        **({"similarity": round(saved.likeness)} if saved.likeness < 100 else {}),
    }


def forgotten_json(saved: Saved) -> dict[str, Any]:
    """That a note was forgotten, for a program and for a model."""
    back = f"To bring it back: co knowledge restore {quote(saved.ref)}"
    return {
        "display": f"✓ Forgot {saved.note.kind} {saved.ref}: {saved.note.summary}\n{back}",
        "memory_id": saved.note.id,
        "ref": saved.ref,
        "action": saved.action,
    }


def rejected_json(saved: Saved) -> dict[str, Any]:
    """The same of a draft that the person did not want."""
    back = f"To bring it back: co knowledge restore {quote(saved.ref)}"
    told = f"✓ Rejected draft {saved.ref}: {saved.note.summary}\nIt is not offered again. {back}"
    return forgotten_json(saved) | {"display": told}


def saved_text(book: Notebook, saved: Saved) -> str:
    """What a save did, in words, with what to type next."""
    note, ref = saved.note, saved.ref
    whose = f" for {note.language}" if note.language else ""
    lines = [f"✓ Saved memory {ref}{whose}: {escape(note.name, keep='')}"]
    if saved.action == "consolidated":
        words = ", with your new wording" if saved.reworded else ""
        like = "says the same" if saved.likeness == 100 else f"is {saved.likeness:.0f}% similar"
        lines = [f"✓ Consolidated memory {ref}, which {like}{words}."]
        if saved.change == 0:
            lines = [
                f"Memory {ref} already says this and is protected; nothing changed.",
                f"To change it: co knowledge unprotect {ref}",
            ]
    lines.append(f"Location: {escape(note.path, keep='')}")
    if saved.action == "consolidated" and saved.change and saved.reworded:
        lines.append(f"To get the old wording back: {undo_hint(book)}")
    elif note.meta.get("expires"):
        lines.append(f"It expires on {note.meta['expires']}.")
    if saved.replaced:
        old = book.ref(saved.replaced)
        back = f"co knowledge restore {quote(old)}"
        lines.append(f"It replaces memory {old}, which is archived ({back}).")
    elif saved.updates:
        refs = " and ".join(update_ref(book, old) for old in saved.updates)
        lines.append(f"It updates memory {refs}, which recall now shows as earlier.")
    elif saved.similar:
        twin, score = saved.similar[0]
        lines.append(f"Similar to memory {book.ref(twin)} ({score:.0f}%): {twin.summary}")
        lines.append(f"Both are kept. To replace the old one: "
                     f"co knowledge merge {ref} {quote(book.ref(twin))} --keep-first")  # fmt: skip
    if saved.decayed:
        lines.append(decayed_text(book, saved))
    if saved.over:
        limit = book.policy.max_count
        lines.append(f"This notebook holds {saved.over} memories, over its limit of {limit}.")
        lines.append("`co knowledge decay` shortens it; memory_max_count raises the limit.")
    return "\n".join([*lines, *category_text(book, saved)])


def category_text(book: Notebook, saved: Saved) -> list[str]:
    """That a save reached its category's own limit, and what to do about it."""
    category = saved.note.category
    limit = book.policy.limit(category) if saved.action in ("created", "related") else 0
    held = [n for n in book.notes() if n.category == category] if limit else []
    count = sum(not note.consolidated for note in held)  # what decay made is of no category
    if not limit or count < limit:
        return []
    only = f"--category {category}{' -g' if book.scope == 'user' else ''}"
    return [
        f"This notebook holds {plural(count, f'{category} memory')}, with a limit of {limit}.",
        f"`co knowledge decay {only}` joins or archives the oldest."
        if book.plan_decay(actor="cli", category=category)
        else "None of them can decay: there are too few, or they are protected.",
        f"`co knowledge summarize {only}` joins what belongs together and is 30 days old.",
    ]


def moved_text(book: Notebook, old: str, saved: Saved, undo: str) -> str:
    """Where a memory is told now, and how to take that back."""
    where = "in this project" if book.scope == "project" else "everywhere"
    where = f"where {saved.note.language} is used" if saved.note.language else where
    name = old if saved.ref == old else f"{old}, now {saved.ref},"
    lines = [f"✓ Memory {name} is told {where}: {saved.note.summary}"]
    if saved.ref != old:
        # What was there before is another change's, and no undo may take it away.
        sides = {
            "": book.scope == "user" or saved.change,
            " -g": book.scope != "user" or saved.change,
        }
        halves = " and ".join(f"`{undo}{side}`" for side, changed in sides.items() if changed)
        lines.append(f"To take it back: {halves}")
        if book.scope == "user" and checks(saved.note):
            lines.append("Its check is about the files of this project, so nothing tests it there.")
    return "\n".join(lines)


def update_text(book: Notebook, hit: Hit) -> str:
    """That a newer note holds instead of a hit, or may."""
    if hit.updated_by:
        return f"earlier; updated by {update_ref(book, hit.updated_by)}"
    if hit.maybe_updated_by:
        return f"maybe updated by {update_ref(book, hit.maybe_updated_by)}"
    return ""


def aside_text(*books: Notebook) -> list[str]:
    """Where an edit may be that came at the very moment of a change."""
    return [
        f"{escape(path, keep='')} was being edited at the same moment; "
        "compare it with the memory of that name (co knowledge doctor)."
        for book in books
        for path in book.store.aside
    ]


def decayed_text(book: Notebook, saved: Saved) -> str:
    """What decay moved, where to, and how to take it back."""
    numbers = numbers_text([note.id for note in saved.decayed], book.prefix)
    where = f"into memory {book.ref(saved.summary)}" if saved.summary else "to the archive"
    many = plural(len(saved.decayed), "old memory")
    return f"Moved {many} ({numbers}) {where}. Undo: {undo_hint(book)}"


def undo_hint(book: Notebook) -> str:
    """What to type to take back the last change to this notebook."""
    return "co knowledge undo -g" if book.scope == "user" else "co knowledge undo"


def half_undone_text(other: Notebook, change: int, undo: str) -> str:
    """How to undo the other half of a move, the change in that notebook; nothing for none."""
    how = f"`{undo}{' -g' if other.scope == 'user' else ''} {change}`"
    return f"\nThe other half of the move still stands. To undo it: {how}." if change else ""


def numbers_text(numbers: Iterable[int], prefix: str = "") -> str:
    """Numbers with runs folded: 1-3, 7; a person's own have a prefix: g1-g3, g7."""
    placed = enumerate(sorted(set(numbers)))  # number less place is the same all through a run
    runs = [list(run) for _, run in groupby(placed, lambda pair: pair[1] - pair[0])]
    ends = [(run[0][1], run[-1][1]) for run in runs]
    return ", ".join(f"{prefix}{a}" + (f"-{prefix}{b}" if a != b else "") for a, b in ends)


def recall_text(
    query: str, found: Recall[tuple[Notebook, Hit]], *, counted: bool = True, cut: bool = False
) -> str:
    """Recall's answer for a model or a person; `counted` if they may know how many there are.

    With `cut`, long texts are `shortened`.
    """
    query = query[:200] + "…" * (len(query) > 200)
    if not found:
        beside = f" and {plural(found.articles, 'article')}" if found.articles else ""
        searched = f"\n{plural(found.searched, 'memory')}{beside} searched." if counted else ""
        return f"No memories found matching '{query}'{searched}"
    lines = [f"Found {plural(len(found), 'memory')} matching '{query}':", ""]
    for book, hit in found:
        note = hit.note
        weak, update = "weak match" if hit.weak else "", update_text(book, hit)
        outside = escape(outside_text(note), keep="")
        old = escape("; ".join(outdated(book, note)), keep="")
        whose = f"for {note.language}" if note.language else ""
        said = [f"created {note.created[:10]}", whose, outside, old, weak, update]
        told = ", ".join(filter(None, said))
        lines.append(f"**{note.kind.capitalize()} {hit_ref(book, hit)}** ({told})")
        if note.tags:
            lines.append(f"Tags: {', '.join(note.tags)}")
        text = shortened(hit.text, hit.passage or note.body) if cut else hit.text
        lines += [*filter(None, [above_text(hit)]), text, ""]
    return "\n".join(lines)


def none_text(*books: Notebook) -> str:
    """That there are no memories: none any more, or none yet."""
    there = any(book.store.signature(MEMORIES) for book in books)
    return "No memories found." if there else "No memories saved yet."


def list_text(book: Notebook, notes: list[Note], total: int = 0) -> str:
    """The list of memories, or of a page of the `total`, for a model or a person."""
    if not notes:
        return none_text(book)
    lines = [f"Total memories: {total or len(notes)} (limit {book.policy.max_count})", ""]
    for note in notes:
        category = note.meta.get("auto_category")
        shown = [tag for tag in note.tags if tag != category]
        ref = f"{book.prefix}{note.id:03d}" if note.id else book.ref(note)
        parts = [f"**{ref}** ({span(note)})", marks(book, note)]
        parts += [f"[{category}]" if category else "", f"[{', '.join(shown)}]" if shown else ""]
        parts += [f"({outside})"] if (outside := escape(outside_text(note), keep="")) else []
        lines.append(" ".join(part for part in parts if part) + f": {note.summary}")
    return "\n".join(lines)
