"""co knowledge verify: test whether memories still hold, by the checks in their headers."""

import click

from co_cli.cli.options import act_on, as_json, complete_ref, open_here
from co_cli.cli.output import notice, say_line, to_json
from co_cli.knowledge import Notebook
from co_cli.knowledge.pages import Ref
from co_cli.knowledge.verify import Verified, verify
from co_cli.results import note_json, plural, undo_hint


@click.command("verify")
@click.argument("ref", metavar="[REF]", required=False, shell_complete=complete_ref)
@click.option("--dry-run", is_flag=True, help="Test without recording anything.")
@as_json
def verify_command(ref: str | None, dry_run: bool, as_json: bool) -> None:
    """Test the checks of this project's memories, or of one, and record those that pass.

    A check names a project file that must exist, or a text that it must contain: `co learn
    --check`. No command is ever run. Exits with 1 if a check fails.
    """

    def act(book: Notebook, one: Ref = "") -> Verified:
        return verify(book, [one] if one else (), dry_run=dry_run)

    shelf = open_here().shelf
    book, found = act_on(shelf, ref, False, act) if ref else (shelf.project, act(shelf.project))
    if as_json:
        told = [note_json(book, note) for note in found.holds]
        told += [note_json(book, note) | outcome._asdict() for note, outcome in found.failed]
        to_json({"holds": len(found.holds), "change": found.change, "memories": told})
    else:
        for note, outcome in found.failed:
            say_line(f"{book.ref(note)}  {outcome.mark}  {note.summary}")
        if found.holds:
            say_line(f"✓ {plural(len(found.holds), 'memory')} checked and true.")
        if not (found.holds or found.failed):
            which = f"Memory {ref} has no check" if ref else "No memory has a check"
            notice(f'{which}. For example: co learn "…" --check "setup.py: python"')
        if found.change:
            notice(f"Undo: {undo_hint(book)}")
        if found.failed:
            notice("To correct one: co knowledge edit REF, or co forget REF")
    raise click.exceptions.Exit(int(bool(found.failed)))
