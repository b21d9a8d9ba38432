"""co knowledge: the group of commands that look after notes."""

import click

from co_cli.cli.group import LazyGroup
from co_cli.cli.options import as_json
from co_cli.verbs import MARKS

TABLE = {
    "remember": ("learn", "Save a memory; the same as `co learn`."),
    "recall": ("recall", "Search your memories; the same as `co recall`."),
    "forget": ("forget", "Archive a memory or article; the same as `co forget`."),
    "list": ("list", "List memories."),
    "show": ("show", "Show the file of a memory or article."),
    "edit": ("edit", "Edit a memory or article in your editor."),
    "adopt": ("adopt", "Add a header and a number to plain files."),
    "tag": ("tag", "Add tags to a memory or article, or remove some."),
    **{name: ("mark", mark.help) for name, mark in MARKS.items()},
    "promote": ("move", "Make a memory global, or apply it to a language."),
    "demote": ("move", "Move one of your own memories into this project."),
    "merge": ("merge", "Merge memories into one."),
    "summarize": ("summarize", "Combine related memories into one."),
    "decay": ("decay", "Join or archive the oldest memories."),
    "restore": ("restore", "Restore an archived memory or article."),
    "undo": ("undo", "Undo a change."),
    "log": ("log", "Show what changed."),
    "refresh": ("refresh", "Update articles from their sources."),
    "review": ("review", "Settle memories that newer ones seem to bring out of date."),
    "verify": ("verify", "Test which memories still hold, by their checks."),
    "eval": ("eval", "Measure how well recall works, and list what needs attention."),
    "doctor": ("doctor", "List the files that cannot be read, and why."),
    "reindex": ("reindex", "Rebuild the search index."),
    "add-folder": ("folders", "Search a folder of markdown in place."),
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
    """Manage what Co knows. Without a command, list the memories."""
    if ctx.invoked_subcommand is None:
        command = knowledge_command.get_command(ctx, "list")
        assert command is not None
        ctx.invoke(command, as_json=as_json)
