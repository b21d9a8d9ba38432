"""A group of commands that imports a command's module only when the command is used."""

import importlib
from typing import Any

import click


class LazyGroup(click.Group):
    """Knows each command's module and line of help beforehand, and nothing else of it."""

    def __init__(self, table: dict[str, tuple[str, str]], **options: Any) -> None:
        names = {name: click.Command(name) for name in table}  # nearest to a misspelt one
        super().__init__(commands=names, **options)
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

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands, without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in self.table.items()])
