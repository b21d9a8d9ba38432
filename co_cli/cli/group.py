"""A group of commands that imports a command's module only when the command is used."""

from __future__ import annotations

import importlib
from typing import Any

import click


class LazyGroup(click.Group):
    """Knows each command's module and line of help beforehand, and nothing else of it."""

    def __init__(self, table: dict[str, tuple[str, str]], **options: Any) -> None:
        known = {name: click.Command(name, short_help=text) for name, (_, text) in table.items()}
        super().__init__(commands=known, **options)
        self.table = table

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in the order of use."""
        return list(self.table)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command itself; its function is its name followed by `_command`."""
        name, command, rest = super().resolve_command(ctx, args)
        if name is not None:
            module = importlib.import_module(f"co_cli.cli.{self.table[name][0]}")
            command = getattr(module, f"{name}_command")
        return name, command, rest
