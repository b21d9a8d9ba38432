"""co web: the page of one's own notes, on this machine alone."""

import os
import webbrowser
from contextlib import suppress

import click

from co_cli.cli.options import open_here
from co_cli.cli.output import notice, on_terminal, say
from co_cli.errors import CoError

_NEEDED = ("markdown_it", "nh3", "starlette", "uvicorn")


@click.command("web")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    help="Port to listen on (default: any free port).",
)
@click.option("--no-open", is_flag=True, help="Only print the address.")
@click.option("--sensitive", is_flag=True, help="Also show notes marked sensitive.")
def web_command(port: int, no_open: bool, sensitive: bool) -> None:
    """Open your notes in the browser, to search, read and edit them. Ctrl-C stops it."""
    try:
        from co_cli.web.server import Page  # and with it what serves it, an extra
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in _NEEDED:
            raise
        from co_cli.extras import install_hint

        hint = f"To install it: {install_hint('web')}"
        raise CoError(f"the page needs {error.name}, which is not installed", hint=hint) from error
    project = open_here().project
    try:
        page = Page(project, port, sensitive=sensitive)
    except OSError as error:
        hint = "Choose another with --port."
        raise CoError(f"port {port} cannot be used: {error.strerror}", hint=hint) from error
    say(page.address)
    notice("Only this machine can open it, with this address; ^C stops it.")
    if not no_open and on_terminal() and any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY"))):
        webbrowser.open(page.address)
    with suppress(KeyboardInterrupt):
        page.run()
    notice("Stopped.")
