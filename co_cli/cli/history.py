"""co knowledge restore, undo, log: going back."""

from __future__ import annotations

from typing import Any

import click

from co_cli.cli.output import notice, say, say_line, table, to_json
from co_cli.cli.shared import Ref, as_json, at_user, choosing, in_user, open_desk
from co_cli.knowledge.notebook import Notebook
from co_cli.knowledge.store.journal import Entry


@click.command("restore")
@click.argument("ref", required=False, metavar="[REF]", type=Ref(archived=True))
@in_user
@as_json
def restore_command(ref: str | None, in_user: bool, as_json: bool) -> None:
    """Bring an archived memory back as it was. Without REF: list what can be."""
    desk = open_desk(Notebook)
    if ref is not None:
        name = at_user(ref, in_user)
        book, saved = choosing(desk.shelf, name, lambda book, text: (book, book.restore(text)))
        if as_json:
            to_json({"ref": saved.ref, "memory_id": saved.note.id, "path": saved.note.path})
        else:
            say(f"✓ Restored memory {saved.ref}: {saved.note.summary}")
        return
    book = desk.book(in_user)
    found = book.archived()
    if as_json:
        to_json([{"ref": book.ref(n), "op": e.op, "at": e.at, "content": n.body} for e, n in found])
    elif found:
        rows = [(book.ref(n), e.at[:16].replace("T", " "), e.op, n.summary) for e, n in found]
        table(("ref", "archived", "by", "memory"), rows)
        notice(f"\nBring one back: co knowledge restore {book.ref(found[0][1])}")
    else:
        notice("The archive is empty: nothing was forgotten, merged or decayed yet.")


@click.command("undo")
@click.argument("number", type=click.IntRange(1), required=False, metavar="[CHANGE]")
@in_user
@as_json
def undo_command(number: int | None, in_user: bool, as_json: bool) -> None:
    """Take back the last change, or the one with this number (see `log`)."""
    book = open_desk(Notebook).book(in_user)
    entry = book.undo(number or 0)
    if as_json:
        to_json(_entry_json(entry))
    else:
        say_line(f"✓ Undid change {entry.n} ({entry.op}): {_files(entry)}")


@click.command("log")
@click.argument("ref", required=False, metavar="[REF]", type=Ref())
@in_user
@click.option("-n", "--limit", type=click.IntRange(1), default=50, show_default=True)
@as_json
def log_command(ref: str | None, in_user: bool, limit: int, as_json: bool) -> None:
    """Show what happened, newest first; with REF, to one memory."""
    desk = open_desk(Notebook)
    place = desk.shelf.place(at_user(ref, in_user)) if ref else (desk.book(in_user), "")
    book, name = place
    entries = [entry for entry in reversed(book.journal.entries()) if _touches(entry, name)]
    if as_json:
        to_json([_entry_json(entry) for entry in entries[:limit]])
    elif entries:
        rows = [
            (str(e.n), e.at[:16].replace("T", " "), e.op, e.actor, _ending(e), _files(e))
            for e in entries[:limit]
        ]
        table(("change", "when", "what", "by", "", "files"), rows)
        notice("\nTake one back: co knowledge undo CHANGE")
    else:
        notice(f"Nothing has happened to {ref}." if ref else "Nothing has happened here yet.")


def _touches(entry: Entry, name: str) -> bool:
    if not name:
        return True
    number = int(name) if name.isdecimal() and len(name) < 10 else 0
    names = [file["path"].rpartition("/")[2] for file in entry.files]
    if number:
        return any(one.startswith(f"{number:03d}-") for one in names)
    return f"{name.removesuffix('.md')}.md" in names


def _ending(entry: Entry) -> str:
    if entry.undoes:
        return f"undoes {entry.undoes}"
    return "" if entry.state == "done" else entry.state


def _files(entry: Entry) -> str:
    names = [file["path"].rpartition("/")[2] for file in entry.files]
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more


def _entry_json(entry: Entry) -> dict[str, Any]:
    return {
        "change": entry.n,
        "op": entry.op,
        "actor": entry.actor,
        "at": entry.at,
        "state": entry.state,
        "undoes": entry.undoes or None,
        "files": entry.files,
    }
