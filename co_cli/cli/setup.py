"""co init, trust, completion: getting started."""

from __future__ import annotations

import os
from pathlib import Path

import click
from click.shell_completion import get_completion_class

from co_cli import paths
from co_cli import trust as trusting
from co_cli.cli.health import trust_json
from co_cli.cli.output import notice, quote, say, say_line, to_json
from co_cli.cli.shared import Desk, as_json, assume_yes, confirm, in_user, open_desk
from co_cli.errors import CoError
from co_cli.knowledge.format.note import Note, now, timestamp
from co_cli.knowledge.notebook import Notebook
from co_cli.knowledge.safety.hidden_text import find_hidden
from co_cli.knowledge.store import disk
from co_cli.results import plural
from co_cli.trust.foreign import Origins

_MOST_SHOWN, _LONGEST = 20, 1000  # notes, and characters of one, that are shown before a question


@click.command("init")
@in_user
@as_json
def init_command(in_user: bool, as_json: bool) -> None:
    """Set up this folder (or, with -g, yourself): a context.md to fill in. Overwrites nothing."""
    desk = open_desk(Notebook)
    book = desk.book(in_user)
    fresh = desk.is_fresh and not in_user
    kind = "user-context.md" if in_user else "project-context.md"
    template = Path(__file__).parent.parent / "templates" / kind
    text = template.read_text(encoding="utf-8").replace("{now}", timestamp(now())).encode()
    made = book.start(text)
    desk.claim(fresh)
    if made and not in_user:
        trusting.wrote(desk.project, paths.CONTEXT, text, timestamp(now()))
    path = os.path.join(book.root, "context.md")
    if as_json:
        to_json({"path": path, "written": made})
        return
    say_line(f"✓ Wrote {path}" if made else f"{path} is there already; nothing was changed.")
    say("\nNext:")
    say_line(f"  edit {path}   (Co reads it at the start of a session)")
    say(f'  co learn {"-g " if in_user else ""}"…"   remember something')
    say("  co status   see what Co loads here")


@click.command("trust")
@click.option("--revoke", is_flag=True, help="Stop trusting this folder.")
@assume_yes
@as_json
def trust_command(revoke: bool, yes: bool, as_json: bool) -> None:
    """Show what this folder would tell Co, and let Co use it when you agree."""
    desk = open_desk(Notebook)
    if revoke:
        was = trusting.distrust(desk.project)
        if as_json:
            to_json(trust_json(open_desk(Notebook)))
        else:
            say_line(f"{desk.project} {'is no longer' if was else 'was not'} trusted.")
        return
    status = desk.trust
    if as_json and not yes:
        to_json(trust_json(desk))
        return
    if status.nothing_to_trust and not status.refused:
        notice("There is nothing here to trust yet: no .co-cli folder, AGENTS.md or CLAUDE.md.")
        return
    notes = desk.new_notes()
    if notes or not status.trusted:
        ask_trust(desk, notes, yes, as_json)
    if as_json:
        to_json(trust_json(open_desk(Notebook)))
    else:
        say_line(f"✓ {desk.project} is trusted.")


def ask_trust(desk: Desk[Notebook], notes: list[Note], yes: bool, quiet: bool) -> None:
    """Show what a folder would tell Co, and these notes that are new, and ask; CoError for no."""
    status = desk.trust
    files = (*status.new, *status.changed)
    if not status.known:
        notes = list(Origins(desk.project).notes())
    for relpath in files if not quiet else ():
        say(f"{'Changed' if relpath in status.changed else 'New'}: {relpath}")
        quote(trusting.diff(desk.project, relpath, status.present))
    for relpath, reason in status.refused.items():
        notice(f"{relpath} {reason}; it is never used")
    if not quiet:
        _show_notes(desk, notes)
    if not quiet and not status.trusted:
        say("In short:")
        for relpath in files:
            say_line(f"  {_in_short(desk.project, relpath)}")
        say(f"  {plural(len(notes), 'note')} (co knowledge list)")
    question = (
        f"Trust {desk.project}, so that Co may use these files and show its notes to a model?"
    )
    if status.trusted:
        question = f"Let Co use {'it' if len(notes) == 1 else 'them'}?"
    if not confirm(question, yes):
        raise CoError("this folder is not trusted", hint="Answer y, or add --yes.")
    problem = trusting.trust(desk.project, timestamp(now()), seen=status.present, notes=notes)
    if problem:
        notice(f"co: {problem}")


def _show_notes(desk: Desk[Notebook], notes: list[Note]) -> None:
    """What notes say, so that a person can look before they agree."""
    for note in notes[:_MOST_SHOWN]:
        say_line(f"Note: {os.path.relpath(note.path, desk.project)}")
        quote(note.text[:_LONGEST])
        if len(note.text) > _LONGEST:
            say(f"... {plural(len(note.text) - _LONGEST, 'more character')} in the file")
    if len(notes) > _MOST_SHOWN:
        say(f"... {plural(len(notes) - _MOST_SHOWN, 'more note')}: co knowledge list")


def _in_short(project: str, relpath: str) -> str:
    """A file's name and size, and whether anything in it is hidden."""
    text = (disk.read_if_any(os.path.join(project, relpath)) or b"").decode("utf-8", "replace")
    hidden = len(find_hidden(text))
    warning = f", {plural(hidden, 'hidden character')} (!)" if hidden else ""
    return f"{relpath}: {plural(len(text.splitlines()), 'line')}{warning}"


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion_command(ctx: click.Context, shell: str) -> None:
    """Print the completion script for SHELL, to be sourced from its start-up file."""
    found = get_completion_class(shell)
    assert found is not None
    root = ctx.find_root().command
    click.echo(found(root, {}, "co", "_CO_COMPLETE").source())
