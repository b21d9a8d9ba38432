"""co knowledge reindex: build the search index again."""

from typing import Any

import click

from co_cli.cli.options import as_json, open_here
from co_cli.cli.output import notice, notice_unread, progress, say_line, to_json, warn
from co_cli.knowledge.pages import ARTICLES
from co_cli.results import plural


@click.command("reindex")
@as_json
def reindex_command(as_json: bool) -> None:
    """Rebuild the search index from the files, here and in your own notebook.

    Co keeps it up to date by itself. This also completes the semantic index, and confirms that
    notes which disappeared are gone.
    """
    done, shelf = list[dict[str, Any]](), open_here().shelf
    for book in (*shelf, *shelf.folders):
        if not book.store.exists():
            continue
        with progress(f"Indexing {book.label}") as step:
            synced = book.sync(anew=True, progress=step)
        with progress(f"Reading {book.label}") as step:
            book.search.read_closely(step)
        with progress(f"Comparing {book.label}") as step:
            if book not in shelf.folders:
                book.search.compare_notes(step)
        count, noun = synced.notes, "memory"
        if book in shelf.folders:
            count, noun = len(book.store.names(ARTICLES)) - len(synced.unread), "article"
        path, (closely, with_meaning) = book.search.index_path, book.search.closely()
        degraded = "; ".join(trouble.reason for trouble in synced.degraded)
        done.append(
            {
                "scope": book.label,
                "path": path,
                "notes": count,
                "unread": len(synced.unread),
                "rebuilt": synced.rebuilt,
                "closely": closely,
                "with_meaning": with_meaning,
                "degraded": degraded,
            }
        )
        if not as_json:
            well = f"✓ {plural(count, noun)} indexed in {path}"
            say_line(well if synced.rebuilt and synced.is_kept else f"{path} was not built.")
            notice_unread(len(synced.unread))
            warn(degraded)
    if as_json:
        to_json({"indexes": done})
    elif not done:
        notice("Nothing is saved yet, so there is nothing to index.")
    if not all(one["rebuilt"] for one in done):
        raise click.exceptions.Exit(1)
