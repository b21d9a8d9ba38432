"""co knowledge restore: an archived memory comes back."""

from shlex import quote

import click

from co_cli.cli.options import act_on, as_json, complete_ref, in_user, open_here
from co_cli.cli.output import notice, table, tell, to_json


@click.command("restore")
@click.argument("ref", required=False, metavar="[REF]", shell_complete=complete_ref)
@in_user
@as_json
def restore_command(ref: str | None, in_user: bool, as_json: bool) -> None:
    """Restore an archived memory, article or draft. Without REF, list the archive."""
    workspace = open_here()
    if ref is not None:
        _, saved = act_on(workspace.shelf, ref, in_user, lambda book, one: book.restore(one))
        value = {"ref": saved.ref, "memory_id": saved.note.id, "path": saved.note.path}
        told = f"✓ Restored {saved.note.kind} {saved.ref}: {saved.note.summary}"
        tell(as_json, value, told)
        return
    books = (workspace.book(in_user),) if in_user else workspace.shelf
    found = [(book.ref(note), entry, note) for book in books for entry, note in book.archived()]
    found.sort(key=lambda one: one[1].at, reverse=True)
    if as_json:
        to_json([{"ref": ref, "op": e.op, "at": e.at, "content": n.body} for ref, e, n in found])
    elif found:
        rows = [(ref, e.at[:16].replace("T", " "), e.op, n.summary) for ref, e, n in found]
        table(("ref", "archived", "by", "note"), rows)
        notice(f"\nTo bring one back: co knowledge restore {quote(found[0][0])}")
    else:
        notice("The archive is empty: nothing has been forgotten, rejected, merged or decayed yet.")
