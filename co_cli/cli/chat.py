"""co chat: a conversation at the terminal."""

import asyncio
import os
from typing import Any

import click

from co_cli.chat import mentions, transcripts
from co_cli.cli.options import completing, open_here
from co_cli.cli.output import on_terminal
from co_cli.cli.session import build_prompt, enter, with_log, with_model
from co_cli.deps import CoDeps
from co_cli.errors import CoError
from co_cli.knowledge.format.note import marks, now
from co_cli.knowledge.safety.escape import escape
from co_cli.knowledge.store import disk
from co_cli.prompts.texts import personalities
from co_cli.providers import models
from co_cli.verbs import hidden

_OFFERED = 20  # conversations, where an ID is completed


@click.command("chat")
@with_model
@click.option("--resume", is_flag=False, flag_value="latest", metavar="[ID]",
              help="Resume the last conversation here, or the one with this ID.",
              shell_complete=completing(lambda _: conversations()))  # fmt: skip
@click.option("--personality", metavar="NAME", help="Personality to use.",
              shell_complete=completing(lambda _: personalities().items()))  # fmt: skip
@click.option(
    "--incognito",
    is_flag=True,
    help="Read memories but write nothing: no memory, transcript or log.",
)
@with_log
def chat_command(
    model: str, resume: str | None, personality: str | None, incognito: bool, **log: Any
) -> None:
    """Chat with Co. It uses what it knows and asks before it saves anything."""
    if not on_terminal():
        raise CoError("co chat needs a terminal", hint='For scripts: co ask "…"')
    from co_cli.chat.app import Chat

    if incognito:
        disk.only_reads = "incognito, so nothing is kept"  # until the process ends
    workspace = enter(asking=not incognito, **log)
    if not incognito:
        transcripts.prune(now())
    kept = transcripts.find(workspace.project, resume) if resume else None
    chat = Chat(
        CoDeps(workspace=workspace, gated=True),
        models.choose(model, workspace.own, os.environ)._replace(switch="/model"),
        lambda name: models.choose(name, workspace.own, os.environ, switch="/model"),
        lambda choice, name, known: build_prompt(workspace, choice, name, known),
        personality or workspace.own.personality,
        kept,
    )
    asyncio.run(chat.run())


def conversations() -> list[tuple[str, str]]:
    """The latest conversations here, with what was said first; not where a note is sensitive."""
    workspace = open_here()
    found = transcripts.recent(workspace.project, _OFFERED)
    silent = set[str]()
    if notes := hidden(workspace.shelf):
        texts = [text for note in notes for text in (note.body, str(note.meta.get("quote") or ""))]
        holding = mentions.about([mark for note in notes for mark in marks(note)], texts)
        silent = {path for paths in holding for path in paths}
    said = {one.id: "" if one.path in silent else "".join(one.said[:1])[:60] for one in found}
    return [(name, escape(text, keep="")) for name, text in said.items()]
