"""What keeping an article did or would do, as words and as plain values; for every surface."""

import re
from shlex import quote
from typing import Any

from co_cli.knowledge import Notebook, Plan
from co_cli.knowledge.article import before
from co_cli.knowledge.safety.escape import difference, escape
from co_cli.knowledge.search.places import parts
from co_cli.knowledge.search.words import STOP
from co_cli.results import plural, undo_hint

_MOST, _LONGEST, _NEAREST = 40, 600, 2  # lines of a change, characters of a passage, passages


def changed_lines(plan: Plan) -> list[str]:
    """What an article says instead of what it said, as the lines of a diff without its heading."""
    old, new = before(plan), plan.saved.note.body
    if old is None:
        return []
    diff = difference(f"{old.body}\n".encode(), f"{new}\n".encode(), "")
    return diff.split("\n")[2:]


def kept_json(book: Notebook, plan: Plan) -> dict[str, Any]:
    """What keeping an article did, for a program."""
    note, lines = plan.saved.note, changed_lines(plan)
    return {
        "ref": plan.saved.ref,
        "action": plan.saved.action,
        "title": note.title,
        "source": note.meta["source"],
        "tags": note.tags,
        "path": note.path,
        "attachment": book.store.locate(note.attachment) if note.attachment else None,
        "bytes": len(note.body.encode()),
        "passages": len(parts(note)),
        "lines_added": sum(line[:1] == "+" for line in lines),
        "lines_removed": sum(line[:1] == "-" for line in lines),
    }


def kept_text(book: Notebook, plan: Plan) -> str:
    """What keeping an article did, in words."""
    told = kept_json(book, plan)
    ref, title = told["ref"], escape(told["title"], keep="")
    if told["action"] == "unchanged":
        return f"{ref} is unchanged: {title}"
    moved = f" ({_moved(plan, told)})"
    verb, moved = ("Kept", "") if told["action"] == "created" else ("Updated", moved)
    size = f"{_kb(told['bytes'])} of text, {plural(told['passages'], 'passage')}"
    lines = [f"✓ {verb} {ref}: {title}{moved}", f"  {size}: {escape(told['path'], keep='')}"]
    if told["attachment"]:
        lines.append(f"  Original: {escape(told['attachment'], keep='')}")
    lines.append(f"  To read it: co knowledge show {quote(ref)}. Undo: {undo_hint(book)}")
    return "\n".join(lines)


def _moved(plan: Plan, told: dict[str, Any]) -> str:
    """What of an article has changed: so many lines, or else what of its header."""
    old, new = before(plan), plan.saved.note
    if told["lines_added"] or told["lines_removed"] or old is None:
        return f"+{told['lines_added']} -{told['lines_removed']} lines"
    parts = {"title": old.title != new.title, "tags": old.tags != new.tags}
    parts["original"] = old.meta.get("sha256") != new.meta.get("sha256")
    what = " and ".join(name for name, changed in parts.items() if changed) or "header"
    return f"only its {what}"


def described(plan: Plan, asked: str) -> tuple[str, dict[str, list[str]]]:
    """How large an article would be, and the part of it that a person is shown before it is kept.

    What changes; of a new one, how it begins, and the passages nearest to what was `asked`.
    """
    note, lines = plan.saved.note, changed_lines(plan)
    found = parts(note)
    originals = plan.change.edits if plan.change else ()
    extra = [len(one.after or b"") for one in originals if one.path == note.attachment]
    size = f"{_kb(len(note.body.encode()))} of text, {plural(len(found), 'passage')}"
    size += f", and the original of {_kb(extra[0])}" if extra else ""
    if plan.saved.action == "updated":
        rest = [f"… and {plural(len(lines) - _MOST, 'more line')}"] if len(lines) > _MOST else []
        return size, {"What changes": [*lines[:_MOST], *rest]}
    first, *others = ["\n".join(filter(None, (one.heading, one.text)))[:_LONGEST] for one in found]
    words = set(re.findall(r"\w{3,}", asked.lower())) - STOP
    shared = {text: len(words & set(re.findall(r"\w+", text.lower()))) for text in others}
    near = sorted(filter(shared.get, shared), key=lambda text: -shared[text])[:_NEAREST]
    told = {"It begins": [first]}
    return size, told | ({"Nearest to what you said": near} if near else {})


def _kb(size: int) -> str:
    return f"{-(-size // 1024)} KB"
