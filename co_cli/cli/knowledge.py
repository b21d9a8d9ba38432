"""co knowledge: the group of commands that look after notes."""

import click

from co_cli.cli.group import LazyGroup
from co_cli.cli.options import as_json
from co_cli.verbs import MARKS

TABLE = {
    "remember": ("learn", "Remember something; the same as `co learn`."),
    "recall": ("recall", "Find what Co knows; the same as `co recall`."),
    "forget": ("forget", "Archive a memory or article; the same as `co forget`."),
    "list": ("list", "List memories."),
    "show": ("show", "Show the file of a memory or article."),
    "edit": ("edit", "Edit a memory or article in your editor."),
    "adopt": ("adopt", "Give plain files a header and a number."),
    "tag": ("tag", "Give a memory or article tags, or take some off."),
    **{name: ("mark", mark.help) for name, mark in MARKS.items()},
    "promote": ("move", "Tell a memory everywhere, or where a language is used."),
    "demote": ("move", "Tell a memory in this project alone."),
    "merge": ("merge", "Merge memories into one."),
    "summarize": ("summarize", "Make one memory of several that belong together."),
    "decay": ("decay", "Join or archive the oldest memories."),
    "restore": ("restore", "Bring an archived memory or article back."),
    "undo": ("undo", "Undo a change."),
    "log": ("log", "Show what changed."),
    "refresh": ("refresh", "Bring articles up to date with their sources."),
    "verify": ("verify", "Test whether memories still hold, by their checks."),
    "eval": ("eval", "Measure how well recall finds memories, and what wants attention."),
    "doctor": ("doctor", "List the files that cannot be read, and why."),
    "reindex": ("reindex", "Rebuild the search index."),
    "add-folder": ("folders", "Search a folder of markdown where it lies."),
    "remove-folder": ("folders", "Stop searching a folder."),
    "import": ("import_", "Import notes from elsewhere."),
    "export": ("export", "Export memories as JSON Lines."),
}


@click.group("knowledge", cls=LazyGroup, table=TABLE, invoke_without_command=True)
@click.option("--list", is_flag=True, help="The same as `co knowledge list`.")
@click.option("--reindex", is_flag=True, help="Rebuild the search index from the files.")
@click.option("--summarize", is_flag=True, help="The same as `co knowledge summarize`.")
@as_json
@click.pass_context
def knowledge_command(ctx: click.Context, /, as_json: bool, **asked: bool) -> None:
    """Manage what Co knows. Without a command, list it."""
    name = next((name for name in ("reindex", "summarize", "list") if asked[name]), "")
    if name or ctx.invoked_subcommand is None:
        command = knowledge_command.get_command(ctx, name or "list")
        assert command is not None
        ctx.invoke(command, as_json=as_json)
