"""co knowledge reindex: build the search index again."""

from __future__ import annotations

from typing import Any

import click

from co_cli.cli.here import open_here
from co_cli.cli.options import as_json
from co_cli.cli.output import notice, notice_unread, progress, say_line, to_json
from co_cli.results import plural


@click.command("reindex")
@as_json
def reindex_command(as_json: bool) -> None:
    """Rebuild the search index from the files, here and in your own notebook.

    Co keeps it up to date by itself. This also reads every note closely for its meaning, and
    confirms that notes which disappeared are gone.
    """
    workspace = open_here()
    done: list[dict[str, Any]] = []
    kept: set[str] = set()
    for book in workspace.shelf.books():
        if not book.store.exists():
            continue
        with progress(f"Indexing {book.scope}") as step:
            synced = book.sync(anew=True, progress=step)
        search = book.search
        kept |= {search.index_path} if synced.rebuilt and synced.is_kept else set()
        with progress(f"Reading {book.scope} closely") as step:
            search.read_closely(step)
        closely, with_meaning = search.closely()
        done.append(
            {
                "scope": book.scope,
                "path": search.index_path,
                "notes": synced.notes,
                "unread": len(synced.unread),
                "rebuilt": synced.rebuilt,
                "closely": closely,
                "with_meaning": with_meaning,
                "degraded": "; ".join(trouble.reason for trouble in synced.degraded),
            }
        )
    if as_json:
        to_json({"indexes": done})
        return
    for one in done:
        if one["path"] in kept:
            say_line(f"✓ {plural(one['notes'], 'memory')} indexed in {one['path']}")
        else:
            say_line(f"{one['path']} was not built.")
        notice_unread(one["unread"])
        if one["degraded"]:
            notice(f"co: {one['degraded']}")
    if not done:
        notice("Nothing is saved yet, so there is nothing to index.")
    if not all(one["rebuilt"] for one in done):
        raise click.exceptions.Exit(1)
