"""co knowledge promote and demote: tell a memory in more projects, or in this one alone."""

import click

from co_cli.cli.options import (  # fmt: skip
    act_on,
    as_json,
    chosen_language,
    claiming,
    in_language,
    in_scope,
    on_ref,
    open_here,
)
from co_cli.cli.output import tell
from co_cli.errors import CoError
from co_cli.knowledge.moving import find_to_move, move
from co_cli.results import moved_text, note_json


@click.command("promote")
@on_ref
@in_scope("language", "global")
@in_language
@as_json
def promote_command(ref: str, scope: str | None, language: str, as_json: bool) -> None:
    """Move a memory into your own notebook, so that it applies everywhere, or to a language."""
    _move(ref, as_json, True, scope, language)


@click.command("demote")
@on_ref
@as_json
def demote_command(ref: str, as_json: bool) -> None:
    """Move one of your own memories into this project, so that it applies here alone."""
    _move(ref, as_json, False)


def _move(ref: str, as_json: bool, up: bool, scope: str | None = None, name: str = "") -> None:
    workspace = open_here()
    language, target = chosen_language(workspace, scope, name), workspace.book(up)
    source, note = act_on(
        workspace.shelf, ref, False, lambda book, one: find_to_move(book, target, one)
    )
    if source.scope == "project" and workspace.untrusted([note]):
        raise CoError("nobody here agreed to this folder's notes yet", hint="co trust")
    with claiming(workspace.project, target):
        saved = move(source, target, note, language, actor="cli")
    told = moved_text(target, source.ref(note), saved, "co knowledge undo")
    tell(as_json, note_json(target, saved.note), told)
