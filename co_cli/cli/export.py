"""co knowledge export: memories as JSON Lines."""

import json
from pathlib import Path

import click

from co_cli.cli.options import in_user, open_here
from co_cli.cli.output import notice, notice_unread, say_line
from co_cli.knowledge import Filters
from co_cli.knowledge.export import export, export_to
from co_cli.knowledge.pages import ATTACHMENTS
from co_cli.results import counted, plural


@click.command("export")
@click.argument("file", required=False, type=click.Path(path_type=Path, dir_okay=False))
@click.option("--force", is_flag=True, help="Overwrite FILE if it exists.")
@click.option("--sensitive", is_flag=True, help="Also export notes marked sensitive.")
@in_user
def export_command(file: Path | None, force: bool, sensitive: bool, in_user: bool) -> None:
    """Write memories and articles as JSON Lines to FILE or standard output; `import` reads them.

    Keeps texts, tags, dates, flags, order and relations, but not numbers. For an article's
    original, only its name and hash are written: copy attachments/ yourself before an import.
    """
    book = open_here().book(in_user)
    every = [*book.look().notes, *book.articles()]
    told = [note for note in every if Filters(sensitive=sensitive).fit(note)]
    if file is None:
        for row in export(book, sensitive=sensitive):
            click.echo(json.dumps(row))
    else:
        export_to(book, str(file), force=force, sensitive=sensitive)
        say_line(f"✓ Exported {counted(told)} to {file}")
    if left := len(every) - len(told):
        notice(f"{plural(left, 'sensitive note')} left out; to export them too: --sensitive")
    originals = sum(bool(note.attachment) for note in told)
    if originals:
        where = book.store.locate(ATTACHMENTS)
        notice(f"{plural(originals, 'original')} not in it; to take them along, copy {where}")
    notice_unread(len(book.look().problems) + len(book.pages.articles()[1]))
