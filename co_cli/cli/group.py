"""A group of commands that imports a command's module only when the command is used."""

import importlib
from typing import Any

import click

from co_cli.meant import meant


class LazyGroup(click.Group):
    """Knows each command's module and line of help beforehand, and nothing else of it."""

    def __init__(self, table: dict[str, tuple[str, str]], **options: Any) -> None:
        super().__init__(**options)
        self.table = table

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in the order of use."""
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command itself; its function is its name followed by `_command`."""
        if cmd_name not in self.table:
            return None
        module = importlib.import_module(f"co_cli.cli.{self.table[cmd_name][0]}")
        found: click.Command = getattr(module, f"{cmd_name.replace('-', '_')}_command")
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command and what it is given; for a word that is none, the one that does it."""
        name = args[0]
        if not (name in self.table or name.startswith("-") or ctx.resilient_parsing):
            near = meant(name, self.table) or meant(name, _elsewhere(ctx))
            ctx.fail(f"No such command {name!r}." + (f" Did you mean {near!r}?" if near else ""))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands, without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in self.table.items()])


def _elsewhere(ctx: click.Context) -> list[str]:
    """Every command with its full name, outer ones before those in a group."""
    root = ctx.find_root()
    assert isinstance(root.command, LazyGroup)
    inner = root.command.get_command(root, "knowledge")
    below = inner.table if isinstance(inner, LazyGroup) else ()
    return [*(f"co knowledge {name}" for name in below), *(f"co {n}" for n in root.command.table)]
