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


class _Knowledge(LazyGroup):
    """Takes `--summarize` and its like for the command of that name, with all that it can do."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """The arguments, with such a command at their beginning."""
        named = [one for one in args if one in ("--list", "--reindex", "--summarize")]
        if named and args[0].startswith("-"):
            args = [named[0].removeprefix("--"), *(one for one in args if one != named[0])]
        return super().parse_args(ctx, args)


@click.group("knowledge", cls=_Knowledge, table=TABLE, invoke_without_command=True)
@click.option("--list", is_flag=True, help="The same as `co knowledge list`.")
@click.option("--reindex", is_flag=True, help="The same as `co knowledge reindex`.")
@click.option("--summarize", is_flag=True, help="The same as `co knowledge summarize`.")
@as_json
@click.pass_context
def knowledge_command(ctx: click.Context, /, as_json: bool, **_: bool) -> None:
    """Manage what Co knows. Without a command, list it."""
    if ctx.invoked_subcommand is None:
        command = knowledge_command.get_command(ctx, "list")
        assert command is not None
        ctx.invoke(command, as_json=as_json)
