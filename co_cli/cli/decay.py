"""co knowledge decay: the oldest memories make room."""

import click

from co_cli.cli.list import note_table
from co_cli.cli.options import as_json, assume_yes, in_user, open_here
from co_cli.cli.output import confirm, no_yes, say, tell
from co_cli.errors import CoError
from co_cli.knowledge.lifecycle import SIGNALS
from co_cli.results import decayed_text, numbers_text, plural


@click.command("decay")
@in_user
@click.option("--category", type=click.Choice([*SIGNALS, "other"]),
              help="Only memories of this category.")  # fmt: skip
@click.option("--force", is_flag=True, help="Decay even if the notebook is below its limit.")
@click.option("--dry-run", is_flag=True, help="Only show which memories would decay.")
@assume_yes
@as_json
def decay_command(
    in_user: bool, category: str | None, force: bool, dry_run: bool, yes: bool, as_json: bool
) -> None:
    """Join the oldest unprotected memories into one, or archive them, after showing which."""
    book = open_here().book(in_user)
    category = category or ""
    notes = book.look().notes
    if category:  # of which nothing is that decay made
        notes = [n for n in notes if n.category == category and not n.consolidated]
    count = len(notes)
    limit = book.policy.limit(category)
    full = count >= limit > 0 if category else count > limit
    if not (full or force):
        noun = f"{category} memory".lstrip()
        of = f"{count} of {plural(limit, noun)}" if limit else plural(count, noun)
        raise CoError(f"{of}: nothing needs to decay",
                      hint="Add --force to decay the oldest anyway.")  # fmt: skip
    plan = book.plan_decay(actor="cli", category=category)
    if plan is None:
        raise CoError("no memory can decay",
                      hint="There are too few, or they are protected or decayed.")  # fmt: skip
    saved = plan.saved
    into = book.ref(saved.summary) if saved.summary else None
    if not as_json:
        how = f"joined into memory {into}" if into else "archived"
        say(f"{plural(len(saved.decayed), 'memory')} would be {how}:")
        note_table([(book, note) for note in saved.decayed])
    ids = [note.id for note in saved.decayed]
    value = {"decayed": ids, "numbers": numbers_text(ids), "into": into}
    if dry_run:
        tell(as_json, value, "Nothing was changed.")
        return
    if not confirm("Do it?", yes, quiet=as_json):
        raise no_yes("nothing decayed")
    book.commit(plan)
    tell(as_json, value, f"✓ {decayed_text(book, saved)}")
