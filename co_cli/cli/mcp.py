"""co mcp: the same memory for other agents and editors, and how they get to know of it."""

import re
from importlib.util import find_spec
from typing import Any

import click

from co_cli import paths
from co_cli.cli.options import assume_yes
from co_cli.cli.output import confirm, no_yes, quote_diff, say
from co_cli.errors import CoError, nearest
from co_cli.knowledge.safety.escape import difference

CLIENTS = ("claude-code", "codex", "gemini", "cursor", "vscode", "zed")


class _Client(click.Choice[str]):
    """One of the clients; another name gets the one that it is part of, or like."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The client; a usage error that names the one that was meant."""
        if value not in CLIENTS:
            said, names = _letters(value), {_letters(name): name for name in CLIENTS}
            near = [names[one] for one in names if said and (said in one or one in said)]
            near = near or [names[one] for one in [nearest(said, names)] if one]
            more = f" Did you mean {' or '.join(near)}?" if near else ""
            self.fail(f"{value!r} is not one of {', '.join(map(repr, CLIENTS))}.{more}", param, ctx)
        return str(value)


def _letters(name: str) -> str:
    return re.sub(r"[\W_]", "", name.lower())


@click.group("mcp", invoke_without_command=True)
@click.option("--read-only", is_flag=True, help="Do not allow saving or forgetting.")
@click.option(
    "--allow-writes", is_flag=True, help="Write without asking if the client cannot ask you."
)
@click.option("--http", is_flag=True, help="Serve over HTTP on this machine, with a token.")
@click.option("--port", type=click.IntRange(0, 65535), help="Port for --http (default: 8473).")
@click.option("--sensitive", is_flag=True, help="Also share notes marked sensitive.")
@click.pass_context
def mcp_command(context: click.Context, /, http: bool, port: int | None, **flags: bool) -> None:
    """Serve your memory to another agent or editor, over the Model Context Protocol."""
    if context.invoked_subcommand:
        return
    _needs_extra()
    if port is not None and not http:
        raise click.UsageError("--port goes with --http")
    if flags["read_only"] and flags["allow_writes"]:
        raise click.UsageError("--read-only and --allow-writes exclude each other")
    from co_cli.mcp.server import Options

    options = Options(**flags)
    if http:
        from co_cli.mcp.http import serve_http

        serve_http(options, 8473 if port is None else port)
    else:
        from co_cli.mcp.serving import serve_stdio

        serve_stdio(options)


def _needs_extra() -> None:
    if not find_spec("mcp"):
        from co_cli.extras import install_hint

        hint = f"To install it: {install_hint('mcp')}"
        raise CoError("what speaks the Model Context Protocol is not installed", hint=hint)


@mcp_command.command("install")
@click.argument("client", type=_Client(CLIENTS))
@click.option("--print", "only_print", is_flag=True, help="Only show what would change.")
@click.option("--remove", is_flag=True, help="Remove Co from its settings.")
@assume_yes
def install_command(client: str, only_print: bool, remove: bool, yes: bool) -> None:
    """Add Co to another agent or editor.

    You see the change to its settings and are asked first; the rest of them stays unchanged.
    """
    from co_cli.mcp import install

    if not remove:
        _needs_extra()
    places = install.places(client, paths.project_folder())
    plans = [(place, *install.changed(place, remove=remove)) for place in places]
    todo = [(place, old, new) for place, old, new in plans if new is not None and old != new]
    for place, old, new in todo:
        quote_diff(difference(old, new, place.real).split("\n"))
    if not todo:
        say(f"Nothing to do: {client} {'does not know' if remove else 'knows'} Co.")
    elif not only_print:
        if not confirm(f"Change {' and '.join(paths.short(one.real) for one, *_ in todo)}?", yes):
            raise no_yes("nothing was changed")
        for plan in todo:
            install.write(*plan)
        say(f"✓ {client} {'no longer knows' if remove else 'now knows'} Co. Restart it.")
