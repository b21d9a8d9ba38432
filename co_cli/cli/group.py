"""A group of commands that imports a command's module only when the command is used."""

from __future__ import annotations

import importlib
from typing import Any

import click

from co_cli.errors import nearest


class LazyGroup(click.Group):
    """Knows each command's module and line of help beforehand, and nothing else of it."""

    def __init__(self, *args: Any, table: dict[str, tuple[str, str]], **options: Any) -> None:
        super().__init__(*args, **options)
        self.table = table

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in the order of use."""
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command itself; its function is its name followed by `_command`."""
        if cmd_name not in self.table:
            return None
        module = importlib.import_module(f"co_cli.cli.{self.table[cmd_name][0]}")
        found: click.Command = getattr(module, f"{cmd_name}_command")
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command, or an error that names the nearest one."""
        if args and args[0] not in self.table and not args[0].startswith("-"):
            near = nearest(args[0], self.table)
            more = f" Did you mean '{near}'?" if near else ""
            ctx.fail(f"No such command '{args[0]}'.{more}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands, without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in self.table.items()])
