"""co knowledge: the group of commands that look after notes."""

from __future__ import annotations

import click

from co_cli.cli.group import LazyGroup
from co_cli.cli.shared import as_json

TABLE = {
    "list": ("browse", "List memories."),
    "show": ("browse", "Show a memory's file."),
    "edit": ("editing", "Edit a memory in your editor."),
    "protect": ("changing", "Keep a memory from being forgotten or decayed."),
    "unprotect": ("changing", "Let a memory be forgotten and decayed again."),
    "merge": ("changing", "Merge memories into one."),
    "decay": ("changing", "Move the oldest memories out of the way."),
    "restore": ("history", "Bring an archived memory back."),
    "undo": ("history", "Take back a change."),
    "log": ("history", "Show what happened."),
    "doctor": ("health", "Name every file that cannot be used, and why."),
    "reindex": ("health", "Build the search index anew."),
    "import": ("moving", "Import notes from elsewhere."),
    "export": ("moving", "Write memories as JSON Lines."),
}


@click.group("knowledge", cls=LazyGroup, table=TABLE, invoke_without_command=True)
@click.option("--list", "listed", is_flag=True, help="The same as `co knowledge list`.")
@click.option("--reindex", is_flag=True, help="Build the search index anew, from the files.")
@as_json
@click.pass_context
def knowledge_command(ctx: click.Context, listed: bool, reindex: bool, as_json: bool) -> None:
    """Look after what Co knows. Without a command: list it."""
    if reindex:
        command = knowledge_command.get_command(ctx, "reindex")
        assert command is not None
        ctx.invoke(command, as_json=as_json)
    elif listed or ctx.invoked_subcommand is None:
        command = knowledge_command.get_command(ctx, "list")
        assert command is not None
        ctx.invoke(command, as_json=as_json)
