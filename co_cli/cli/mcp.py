"""co mcp: the same memory for other agents and editors."""

from importlib.util import find_spec

import click

from co_cli.errors import CoError

_PORT = 8473


@click.command("mcp")
@click.option("--read-only", is_flag=True, help="Let nobody save or forget anything.")
@click.option(
    "--allow-writes",
    is_flag=True,
    help="Save and forget without asking where the client cannot ask; such notes are marked.",
)
@click.option("--http", is_flag=True, help="Serve over HTTP on this machine, with a token.")
@click.option("--port", type=click.IntRange(0, 65535), help="With --http, the port; 8473 if none.")
@click.option("--sensitive", is_flag=True, help="Also tell notes that are marked sensitive.")
def mcp_command(
    read_only: bool, allow_writes: bool, http: bool, port: int | None, sensitive: bool
) -> None:
    """Serve your memory to another agent or editor, over the Model Context Protocol."""
    if not find_spec("mcp"):
        hint = "Install the extra: pip install 'co-cli[mcp]'"
        raise CoError("what speaks the Model Context Protocol is not installed", hint=hint)
    if port is not None and not http:
        raise click.UsageError("--port goes with --http")
    if read_only and allow_writes:
        raise click.UsageError("--read-only and --allow-writes exclude each other")
    from co_cli.mcp.server import Options
    from co_cli.mcp.serving import serve_http, serve_stdio

    options = Options(read_only, allow_writes, sensitive)
    if http:
        serve_http(options, _PORT if port is None else port)
    else:
        serve_stdio(options)
