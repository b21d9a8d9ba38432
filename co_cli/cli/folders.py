"""co knowledge add-folder, remove-folder: folders of markdown that are searched where they lie."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from co_cli import folders
from co_cli.cli.options import as_json, completing, open_here
from co_cli.cli.output import notice, progress, say_line, table, to_json, warn
from co_cli.results import plural
from co_cli.workspace import Workspace

if TYPE_CHECKING:
    from co_cli.knowledge.folder import FolderBook


@click.command("add-folder")
@click.argument("path", required=False, type=click.Path(file_okay=False))
@click.option("-g", "--global", "everywhere", is_flag=True,
              help="Search it from every project, not just this one.")  # fmt: skip
@as_json
def add_folder_command(path: str | None, everywhere: bool, as_json: bool) -> None:
    """Search a folder of markdown in place, without changing anything in it.

    Its files are found as articles, in their current state. Without PATH, list the folders
    searched from here.
    """
    workspace = open_here()
    if path is None:
        _list(workspace, as_json)
        return
    added, is_new = folders.add(path, workspace.project, everywhere=everywhere)
    [book] = [one for one in Workspace().shelf.folders if one.name == added.name]
    with progress(f"Indexing {added.name}") as step:
        book.sync(progress=step)
    told = folder_json(book)
    if as_json:
        to_json(told | {"added": is_new})
        return
    say_line(f"✓ {added.path} is {'' if is_new else 'already '}searched from "
             f"{'this project' if added.project else 'everywhere'}, as {added.name}: "
             f"{plural(told['articles'], 'article')}.")  # fmt: skip
    say_line(f"To stop: co knowledge remove-folder {added.name}")
    if many := len(told["problems"]):
        warn(f"{plural(many, 'problem')}, such as: {told['problems'][0]}")


@click.command("remove-folder")
@click.argument("name", metavar="NAME|PATH",
                shell_complete=completing(lambda _: _names()))  # fmt: skip
@as_json
def remove_folder_command(name: str, as_json: bool) -> None:
    """Stop searching a folder, and delete Co's index of it. The folder itself stays unchanged."""
    removed = folders.remove(name, open_here().project)
    if as_json:
        to_json({"removed": removed._asdict()})
    else:
        where = "this project" if removed.project else "anywhere"
        say_line(f"✓ {removed.path} is no longer searched from {where}. It is as it was.")


def folder_json(book: FolderBook) -> dict[str, Any]:
    """A folder that is searched in place, for a program."""
    articles, problems = book.checked()
    return {
        "name": book.name,
        "path": book.root,
        "articles": articles,
        "links": book.folder.links,
        "problems": [str(problem) for problem in problems],
    }


def _list(workspace: Workspace, as_json: bool) -> None:
    found = [folder_json(book) for book in workspace.shelf.folders]
    if as_json:
        to_json({"folders": found})
    elif found:
        rows = [(one["name"], str(one["articles"]), one["path"]) for one in found]
        table(("name", "articles", "folder"), rows)
    else:
        notice("No folder is searched in place here. Try: co knowledge add-folder ~/notes")
    warn(folders.trouble())


def _names() -> list[tuple[str, str]]:
    return [(one.name, one.path) for one in folders.seen_from(open_here().project)]
