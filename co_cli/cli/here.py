"""The workspace of the folder that a command runs in."""

from __future__ import annotations

import click

from co_cli.cli.output import notice
from co_cli.knowledge.shelf import Shelf
from co_cli.results import aside_text
from co_cli.workspace import Workspace


def open_here(*, lenient: bool = False) -> Workspace:
    """What is visible from the working folder now."""
    workspace = Workspace(lenient=lenient)
    for warning in workspace.settings.warnings:
        notice(f"co: {warning}")
    if context := click.get_current_context(silent=True):  # there is none while a name is completed
        context.call_on_close(lambda: _tell_aside(workspace.shelf))
    return workspace


def claim(workspace: Workspace, fresh: bool) -> None:
    """Trust a folder that was fresh before Co wrote to it."""
    if fresh and (problem := workspace.claim()):
        notice(f"co: {problem}")


def _tell_aside(shelf: Shelf) -> None:
    for line in (line for book in shelf.books() for line in aside_text(book)):
        notice(f"co: {line}")
