"""co trust: show what a folder would tell Co, and ask."""

import os
from typing import Any

import click

from co_cli import trust as trusting
from co_cli.cli.options import as_json, assume_yes, open_here
from co_cli.cli.output import confirm, no_yes, notice, quote, say, say_line, to_json, warn
from co_cli.knowledge.format.note import Note, now, timestamp
from co_cli.knowledge.safety.check import find_hidden
from co_cli.knowledge.store import disk
from co_cli.results import plural
from co_cli.trust.foreign import ProjectOrigins
from co_cli.workspace import Workspace

_MOST_SHOWN, _LONGEST = 20, 1000  # notes, and characters of one, that are shown before a question


@click.command("trust")
@click.option("--revoke", is_flag=True, help="Stop trusting this folder.")
@assume_yes
@as_json
def trust_command(revoke: bool, yes: bool, as_json: bool) -> None:
    """Show what Co would use from this folder, and trust it if you agree."""
    workspace, text = open_here(), ""
    project, status = workspace.project, workspace.trust
    if revoke:
        was = trusting.distrust(project)
        text = f"{project} {'is no longer' if was else 'was not'} trusted."
    elif status.nothing_to_trust and not status.refused:
        notice("There is nothing here to trust yet: no .co-cli folder, AGENTS.md or CLAUDE.md.")
    elif yes or not as_json:
        notes = workspace.new_notes()
        if notes or not status.trusted:
            ask_trust(workspace, notes, yes, as_json)
        text = f"✓ {project} is trusted."
    if as_json:
        to_json(trust_json(Workspace()))
    elif text:
        say_line(text)


def ask_trust(workspace: Workspace, notes: list[Note], yes: bool, quiet: bool) -> None:
    """Show what a folder would tell Co, and these notes that are new, and ask; CoError for no."""
    status = workspace.trust
    if not status.known:
        notes = ProjectOrigins(workspace.project).notes()
    if not quiet:
        _show(workspace, notes)
    for relpath, reason in status.refused.items():
        notice(f"{relpath} {reason}; it is never used")
    what = "so that Co may use these files and show its notes to a model"
    question = f"Trust {workspace.project}, {what}?"
    if status.trusted:
        question = f"Let Co use {'it' if len(notes) == 1 else 'them'}?"
    if not confirm(question, yes):
        raise no_yes("this folder is not trusted")
    warn(trusting.trust(workspace.project, timestamp(now()), seen=status.present, notes=notes))


def _show(workspace: Workspace, notes: list[Note]) -> None:
    project, status = workspace.project, workspace.trust
    summary = []
    for relpath in (*status.new, *status.changed):
        say(f"{'Changed' if relpath in status.changed else 'New'}: {relpath}")
        quote(trusting.diff(project, relpath, status.present))
        text = (disk.read_if_any(os.path.join(project, relpath)) or b"").decode("utf-8", "replace")
        hidden = len(find_hidden(text))
        warning = f", {plural(hidden, 'hidden character')} (!)" if hidden else ""
        summary.append(f"  {relpath}: {plural(len(text.splitlines()), 'line')}{warning}")
    for note in notes[:_MOST_SHOWN]:
        say_line(f"Note: {os.path.relpath(note.path, project)}")
        quote(note.text[:_LONGEST])
        if len(note.text) > _LONGEST:
            say(f"... {plural(len(note.text) - _LONGEST, 'more character')} in the file")
    if len(notes) > _MOST_SHOWN:
        say(f"... {plural(len(notes) - _MOST_SHOWN, 'more note')}: co knowledge list")
    if not status.trusted:
        for line in ("Summary:", *summary, f"  {plural(len(notes), 'note')} (co knowledge list)"):
            say_line(line)


def brought_text(count: int) -> str:
    """That notes came with git and wait for the person's word."""
    are = "is" if count == 1 else "are"
    return f"{plural(count, 'note')} came with git and {are} not used until you agree"


def trust_json(workspace: Workspace) -> dict[str, Any]:
    """How far a folder is trusted, for a program."""
    names = ("trusted", "known", "new", "changed", "removed", "refused")
    notes = [os.path.relpath(note.path, workspace.project) for note in workspace.new_notes()]
    return {name: getattr(workspace.trust, name) for name in names} | {"notes": notes}
