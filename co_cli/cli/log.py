"""co knowledge log: what happened to a notebook."""

from __future__ import annotations

from typing import Any

import click

from co_cli.cli.here import open_here
from co_cli.cli.options import Ref, as_json, at_user, in_user
from co_cli.cli.output import notice, table, to_json
from co_cli.knowledge.notebook import Notebook
from co_cli.knowledge.store import Entry


@click.command("log")
@click.argument("ref", required=False, metavar="[REF]", type=Ref())
@in_user
@click.option("-n", "--limit", type=click.IntRange(1), default=50, show_default=True)
@as_json
def log_command(ref: str | None, in_user: bool, limit: int, as_json: bool) -> None:
    """Show what happened, newest first; with REF, to one memory."""
    workspace = open_here(Notebook)
    place = workspace.shelf.place(at_user(ref, in_user)) if ref else (workspace.book(in_user), "")
    book, name = place
    entries = [entry for entry in reversed(book.store.entries()) if _touches(entry, name)]
    if as_json:
        to_json([entry_json(entry) for entry in entries[:limit]])
    elif entries:
        rows = [
            (str(e.n), e.at[:16].replace("T", " "), e.op, e.actor, _ending(e), files_text(e))
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


def files_text(entry: Entry) -> str:
    names = [file["path"].rpartition("/")[2] for file in entry.files]
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more


def entry_json(entry: Entry) -> dict[str, Any]:
    return {
        "change": entry.n,
        "op": entry.op,
        "actor": entry.actor,
        "at": entry.at,
        "state": entry.state,
        "undoes": entry.undoes or None,
        "files": entry.files,
    }
