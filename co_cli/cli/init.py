"""co init: a context.md to fill in."""

import os
from pathlib import Path

import click

from co_cli import paths, trust
from co_cli.cli.options import as_json, claiming, in_user, open_here
from co_cli.cli.output import say, say_line, to_json
from co_cli.knowledge.context import start
from co_cli.knowledge.format.note import now, timestamp


@click.command("init")
@in_user
@as_json
def init_command(in_user: bool, as_json: bool) -> None:
    """Create a context.md to fill in, for this folder or, with -g, for yourself. Overwrites
    nothing."""
    workspace = open_here()
    book = workspace.book(in_user)
    template = Path(__file__).parent.parent / "templates" / f"{book.scope}-context.md"
    at = timestamp(now())
    text = template.read_text(encoding="utf-8").replace("{now}", at).encode()
    with claiming(workspace.project, book):
        made = start(book.store, text, at)
    if made and not in_user:
        trust.wrote(workspace.project, paths.CONTEXT, text)
    path = os.path.join(book.root, "context.md")
    if as_json:
        to_json({"path": path, "written": made})
        return
    say_line(f"✓ Wrote {path}" if made else f"{path} is there already; nothing was changed.")
    say("\nNext:")
    say_line(f"  edit {path}   (Co reads it at the start of a session)")
    say(f'  co learn {"-g " if in_user else ""}"…"   remember something')
    say("  co status   see what Co loads here")
