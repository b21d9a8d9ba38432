"""co knowledge reindex: build the search index again."""

import click

from co_cli.cli.options import as_json, open_here
from co_cli.cli.output import notice, notice_unread, progress, say_line, to_json, warn
from co_cli.results import plural


@click.command("reindex")
@as_json
def reindex_command(as_json: bool) -> None:
    """Rebuild the search index from the files, here and in your own notebook.

    Co keeps it up to date by itself. This also reads every note closely for its meaning, and
    confirms that notes which disappeared are gone.
    """
    done, rebuilt = [], True
    for book in open_here().shelf:
        if not book.store.exists():
            continue
        with progress(f"Indexing {book.scope}") as step:
            synced = book.sync(anew=True, progress=step)
        with progress(f"Reading {book.scope} closely") as step:
            book.search.read_closely(step)
        path, (closely, with_meaning) = book.search.index_path, book.search.closely()
        degraded = "; ".join(trouble.reason for trouble in synced.degraded)
        done.append(
            {
                "scope": book.scope,
                "path": path,
                "notes": synced.notes,
                "unread": len(synced.unread),
                "rebuilt": synced.rebuilt,
                "closely": closely,
                "with_meaning": with_meaning,
                "degraded": degraded,
            }
        )
        rebuilt = rebuilt and synced.rebuilt
        if not as_json:
            well = f"✓ {plural(synced.notes, 'memory')} indexed in {path}"
            say_line(well if synced.rebuilt and synced.is_kept else f"{path} was not built.")
            notice_unread(len(synced.unread))
            warn(degraded)
    if as_json:
        to_json({"indexes": done})
    elif not done:
        notice("Nothing is saved yet, so there is nothing to index.")
    if not rebuilt:
        raise click.exceptions.Exit(1)
