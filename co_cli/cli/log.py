"""co knowledge log: what changed in a notebook."""

import os
from typing import Any

import click

from co_cli.cli.options import as_json, complete_ref, in_user, open_here
from co_cli.cli.output import notice, table, to_json
from co_cli.knowledge.pages import ARTICLES, as_number
from co_cli.knowledge.store import Entry


@click.command("log")
@click.argument("ref", required=False, metavar="[REF]", shell_complete=complete_ref)
@in_user
@click.option("-n", "--limit", type=click.IntRange(1), default=50, show_default=True,
              help="Show at most this many.")  # fmt: skip
@as_json
def log_command(ref: str | None, in_user: bool, limit: int, as_json: bool) -> None:
    """Show what changed, newest first; with REF, only changes to that memory."""
    workspace = open_here()
    book, name = workspace.book(in_user), ""
    if ref:
        book, name = workspace.shelf.place(ref, in_user=in_user)
    entries = [entry for entry in reversed(book.store.entries()) if _touches(entry, name)][:limit]
    if as_json:
        to_json([entry_json(entry) for entry in entries])
    elif entries:
        rows = [
            (str(e.n), e.at[:16].replace("T", " "), e.op, e.actor, _ending(e), files_text(e))
            for e in entries
        ]
        table(("change", "when", "what", "by", "", "files"), rows)
        notice("\nTo undo one: co knowledge undo CHANGE")
    else:
        notice(f"Nothing has changed in {ref}." if ref else "Nothing has changed here yet.")


def _names(entry: Entry) -> list[str]:
    return [os.path.basename(file["path"]) for file in entry.files]


def _touches(entry: Entry, name: str) -> bool:
    if number := as_number(name):
        return any(one.startswith(f"{number:03d}-") for one in _names(entry))
    if name.startswith("a:"):
        return f"{ARTICLES}/{name[2:]}.md" in [file["path"] for file in entry.files]
    return not name or f"{name.removesuffix('.md')}.md" in _names(entry)


def _ending(entry: Entry) -> str:
    if entry.undoes:
        return f"undoes {entry.undoes}"
    return "" if entry.state == "done" else entry.state


def files_text(entry: Entry) -> str:
    """The files that a change touched, in a few words."""
    names = _names(entry)
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more


def entry_json(entry: Entry) -> dict[str, Any]:
    """A change for a program."""
    told = {name: getattr(entry, name) for name in ("op", "actor", "at", "state")}
    return {"change": entry.n, **told, "undoes": entry.undoes or None, "files": entry.files}
