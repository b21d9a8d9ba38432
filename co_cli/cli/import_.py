"""co knowledge import: bring in notes from elsewhere."""

from pathlib import Path

import click

from co_cli import paths, trust
from co_cli.cli.options import as_json, assume_yes, claiming, in_user, open_here
from co_cli.cli.output import confirm, no_yes, notice, progress, quote, say, say_line, to_json
from co_cli.knowledge import Notebook, Problem
from co_cli.knowledge.importers.collect import collect, plan_import
from co_cli.knowledge.plan import ImportPlan
from co_cli.knowledge.safety.escape import difference
from co_cli.results import counted, marks, undo_hint

_READ = 200  # passages that an import without a terminal reads closely; the rest is owed


@click.command("import")
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--split-bullets", "split", is_flag=True,
              help="Make a memory of each item of a bullet list in markdown.")  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Only show what would be imported.")
@in_user
@assume_yes
@as_json
def import_command(
    path: Path, split: bool, dry_run: bool, in_user: bool, yes: bool, as_json: bool
) -> None:
    """Import a folder of markdown, a JSON Lines file or the old JSON layout, after a preview."""
    workspace = open_here()
    book = workspace.book(in_user)
    batch = collect(path, own=book.root, split=split)
    plan = plan_import(book, batch)
    skipped = [*plan.refused, *batch.problems]
    report = {
        "done": False,
        "added": [{"ref": book.ref(note), "content": note.body} for note in plan.added],
        "known": len(plan.known),
        "context": plan.context is not None,
        "skipped": [problem._asdict() for problem in skipped],
        "remarks": [remark._asdict() for remark in batch.remarks],
    }
    if not as_json:
        _preview(book, plan, {"skipped": skipped, "remark": batch.remarks})
    if not dry_run and plan.change is not None and confirm("Do it?", yes, quiet=as_json):
        before = book.store.read("context.md")
        with claiming(workspace.project, book):
            book.store.commit(plan.change)
        if plan.context is not None and not (as_json or in_user):  # the person saw it
            trust.wrote(workspace.project, paths.CONTEXT, plan.context, before=before)
        report["done"] = True
        with progress("Reading closely") as step:  # who sees a bar can wait, or press Control-C
            book.search.read_closely(step, most=0 if step else _READ)
    if as_json:
        to_json(report)
    elif report["done"]:
        more = " and lines of context.md" if plan.context is not None else ""
        say(f"✓ Imported {counted(plan.added)}{more}. Undo: {undo_hint(book)}")
    elif plan.change is None:
        say("Nothing new to import.")
    elif dry_run:
        say(f"{counted(plan.added)} to import; nothing was changed.")
    else:
        raise no_yes("nothing was imported")


def _preview(book: Notebook, plan: ImportPlan, told: dict[str, list[Problem]]) -> None:
    for note in plan.added:
        tags = f" [{', '.join(note.tags)}]" if note.tags else ""
        seen = f" {found}" if (found := marks(book, note)) else ""
        say_line(f"new      {book.ref(note)}{tags}{seen}  {note.summary}")
    for item in plan.known:
        say_line(f"known    {item.text.strip().splitlines()[0][:80]}")
    if plan.context is not None:
        say("context  these lines will be read at the start of every session:")
        quote(difference(book.store.read("context.md"), plan.context, "context.md"))
    for word, problems in told.items():
        for problem in problems:
            say_line(f"{word:7}  {problem}")
    limit = book.policy.max_count
    memories = [note for note in plan.added if note.kind == "memory"]
    over = len(book.look().notes) + len(memories) - limit
    if memories and over > 0:
        notice(f"That is {over} over the limit of {limit}; nothing decays automatically.")
