"""Texts from elsewhere as notes of one change; `article.py` does the same for articles."""

from collections.abc import Iterable
from typing import Any

from co_cli.errors import FormatError, RefusedText
from co_cli.knowledge.compare.same import key
from co_cli.knowledge.pages import Problem
from co_cli.knowledge.plan import ImportItem, ImportPlan, Planner, new_uid
from co_cli.knowledge.safety import check
from co_cli.knowledge.store import Edit


def plan_notes(
    planner: Planner, items: Iterable[ImportItem], context: bytes | None, found: ImportPlan
) -> ImportPlan:
    """What importing these does, after what was `found` to be imported so far."""
    notes, found.context = planner.look.notes, context
    known = {key(note.body): note for note in notes}
    uids: dict[Any, str] = dict(zip(known, planner.links(list(known.values())), strict=True))
    where: dict[str, str] = {}  # what each origin's note is called
    new = []
    for item in items:
        try:
            text, tags = check.check_text(item.text), check.outside_tags(item.tags)
        except RefusedText as error:
            found.refused.append(Problem(item.origin, str(error)))
            continue
        if (said := key(text)) in uids:
            found.known.append(item)
        else:
            uids[said] = new_uid()
            new.append((item, text, tags, uids[said]))
        where[item.origin] = uids[said]
    for item, text, tags, uid in new:
        related = [where[link] for link in item.links if link in where]
        links = [other for other in dict.fromkeys(related) if other != uid]
        fields = {"source": "import", **dict(item.fields), "related": links, "uid": uid}
        if item.created:
            fields["created"] = item.created
        try:
            found.added.append(planner.add(text, tags, fields))
        except FormatError as error:
            found.refused.append(Problem(item.origin, str(error)))
    if context is not None and context != (before := planner.book.store.read("context.md")):
        planner.edits.append(Edit("context.md", before, context))
    if planner.edits:
        memories = [*notes, *(note for note in found.added if note.kind == "memory")]
        planner.over = len(memories) > planner.book.policy.max_count
        found.change = planner.change("import")
    return found
