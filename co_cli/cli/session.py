"""What co chat and co ask share: how a conversation begins."""

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import click

from co_cli import logs, prompts
from co_cli.cli.options import completing, open_here
from co_cli.cli.output import say, warn
from co_cli.cli.trust import ask_trust, brought_text
from co_cli.errors import CoError
from co_cli.knowledge.context import Receipt
from co_cli.providers.registry import Choice, model_names
from co_cli.workspace import Workspace

_MOST_READ = 1000  # memories that are looked through before a session starts

with_model = click.option(
    "-m", "--model", metavar="PROVIDER:NAME", default="", help="Model to use for this run.",
    shell_complete=completing(lambda _: model_names()),
)  # fmt: skip


def with_log(command: Callable[..., Any]) -> Callable[..., Any]:
    """How much a session logs."""
    levels = click.Choice(["error", "warning", "info", "debug"])
    content = "Also log the text of notes, except sensitive ones."
    command = click.option("--log-content", is_flag=True, help=content)(command)
    return click.option("--log-level", type=levels, help="How much to log.")(command)


def enter(*, asking: bool, log_level: str | None, log_content: bool) -> Workspace:
    """The notebooks from here; an untrusted folder is asked about before anything of it is used."""
    os.environ.setdefault("PYDANTIC_AI_NO_BANNER", "1")  # the framework greets people by itself
    workspace = open_here()
    logs.start(log_level or workspace.own.log_level, content=log_content)
    status, notes = workspace.trust, workspace.new_notes()
    warn(status.problem)
    if (status.trusted or status.nothing_to_trust) and not notes:
        return workspace
    if asking:
        say(_news(workspace, len(notes)))
        with suppress(CoError):
            ask_trust(workspace, notes, yes=False, quiet=False)
            return open_here()
    if not status.trusted:
        what = "its files and notes are" if status.foreign else "what changed in it is"
        warn(f"this folder is not trusted, so {what} not used (co trust)")
    warn(f"{brought_text(len(notes))} (co trust)" if notes else "")
    return workspace


def _news(workspace: Workspace, notes: int) -> str:
    if not workspace.trust.known:
        return f"This folder is new to Co: {workspace.project}"
    if workspace.trust.changed:
        return f"This folder changed since you trusted it: {workspace.project}"
    if workspace.trust.new:
        return f"This folder has files that are new to Co: {workspace.project}"
    return f"{brought_text(notes)}: {workspace.project}"


def build_prompt(
    workspace: Workspace, choice: Choice, personality: str, known: Receipt | None = None
) -> prompts.SystemPrompt:
    """A session's system prompt, with warnings about what it goes without."""
    prompt = prompts.session_prompt(
        choice.provider, personality, known=known, workspace=workspace, window=choice.window
    )
    if known is prompt.receipt:  # told when the session began
        return prompt
    return prompt._replace(warnings=(*prompt.warnings, *_left_out(workspace, prompt)))


def _left_out(workspace: Workspace, prompt: prompts.SystemPrompt) -> Iterator[str]:
    """What a session goes without, a line each: a long file's end, memories nobody can read."""
    for file in prompt.files:
        if file.bytes_cut:
            yield f"WARNING: {file.bytes_cut:,} bytes of {file.relpath} were left out. Shorten it."
    shelf = workspace.shelf
    for book in (shelf.user,) if workspace.trust.foreign else shelf:
        if len(book.store.names("memories")) <= _MOST_READ:
            yield from (f"WARNING: memory skipped: {problem}" for problem in book.look().problems)
