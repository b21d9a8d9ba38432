"""co knowledge decay: the oldest memories make room."""

import click

from co_cli.cli.list import note_table
from co_cli.cli.options import as_json, assume_yes, in_user, open_here
from co_cli.cli.output import confirm, no_yes, say, tell
from co_cli.errors import CoError
from co_cli.results import decayed_text, numbers_text, plural


@click.command("decay")
@in_user
@click.option("--force", is_flag=True, help="Even if the notebook is within its limit.")
@assume_yes
@as_json
def decay_command(in_user: bool, force: bool, yes: bool, as_json: bool) -> None:
    """Join the oldest unprotected memories into one, or archive them, after showing which."""
    book = open_here().book(in_user)
    count, limit = len(book.notes()), book.policy.max_count
    if count <= limit and not force:
        raise CoError(f"{count} of {limit} memories: nothing needs to decay",
                      hint="Add --force to decay the oldest anyway.")  # fmt: skip
    plan = book.plan_decay(actor="cli")
    if plan is None:
        raise CoError("no memory can decay",
                      hint="There are too few, or they are protected or decayed.")  # fmt: skip
    saved = plan.saved
    into = book.ref(saved.summary) if saved.summary else None
    if not as_json:
        how = f"joined into memory {into}" if into else "archived"
        say(f"{plural(len(saved.decayed), 'memory')} would be {how}:")
        note_table([(book, note) for note in saved.decayed])
    if not confirm("Do it?", yes, quiet=as_json):
        raise no_yes("nothing decayed")
    book.commit(plan)
    ids = [note.id for note in saved.decayed]
    value = {"decayed": ids, "numbers": numbers_text(ids), "into": into}
    tell(as_json, value, f"✓ {decayed_text(book, saved)}")
