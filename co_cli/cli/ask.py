"""co ask: one question, for scripts."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import click

from co_cli import prompts
from co_cli.agent import approval
from co_cli.agent.approval import Decision, Proposal, Review, Reviewed
from co_cli.chat.events import Notice, TextDelta, ToolFinished, TurnEvent
from co_cli.cli.output import notice, warn
from co_cli.cli.session import build_prompt, enter, with_log, with_model
from co_cli.deps import CoDeps
from co_cli.errors import CoError
from co_cli.knowledge.safety.escape import escape
from co_cli.providers import models
from co_cli.providers.trouble import Trouble

_MOST_INPUT = 256 * 1024
OUTSIDE = "This conversation contains text from outside, so --yes does not apply."
NO_YES = "co ask changes nothing without --yes."


@click.command("ask")
@click.argument("question", nargs=-1)
@with_model
@click.option("-y", "--yes", is_flag=True, help="Approve what the model saves or forgets.")
@with_log
def ask_command(question: tuple[str, ...], model: str, yes: bool, **log: Any) -> None:
    """Ask one question and print the answer. Nothing is saved without --yes.

    Text on standard input is added to the question, or becomes the question. It counts as text
    from outside, so nothing is saved then, even with --yes.
    """
    workspace = enter(asking=False, **log)
    choice = models.choose(model, workspace.own, os.environ)
    deps = CoDeps(workspace=workspace, gated=True)
    text, piped = " ".join(question), _piped()
    if not (text or piped):
        raise click.UsageError('What would you like to know? For example: co ask "who is Dana?"')
    if piped:
        deps.came_from("standard input")
    if not text:  # the question itself was piped
        text, piped = piped, ""
    prompt = build_prompt(workspace, choice.provider, workspace.own.personality)
    for line in prompt.warnings:
        notice(line)
    from co_cli.chat.session import Session

    session = Session(deps, choice, prompt, None, partial(_by_rule, yes))
    attached = prompts.envelope.wrap(piped) if piped else ""
    if not asyncio.run(_answer(session.turn(text, attached))):
        raise click.exceptions.Exit(1)


def _piped() -> str:
    if sys.stdin.isatty():
        return ""
    data = sys.stdin.buffer.read(_MOST_INPUT + 1)
    if len(data) > _MOST_INPUT:
        raise CoError("standard input is too long to ask about", hint="At most 256 KiB.")
    return data.decode("utf-8", "replace").strip()


async def _by_rule(yes: bool, review: Review) -> Reviewed:
    """What a script says to every write: no, or with --yes yes, while nothing came from outside."""
    if yes and not review.external:
        return Reviewed([_agreed(one) for one in review.proposals])
    refusal = approval.Refusal("rule", OUTSIDE if yes else NO_YES)
    done = {approval.FORGET: "forgotten", approval.SAVE: "saved"}
    warn(*(f"not {done[one.tool]}: {one.text}" for one in review.proposals), hint=refusal.text)
    return Reviewed([Decision(one, "no", refusal) for one in review.proposals])


def _agreed(proposal: Proposal) -> Decision:
    """Yes, but never to a text that is not the one that was asked for."""
    if proposal.left_out:
        warn(f"not saved: {proposal.left_out}")
        return Decision(proposal, "no", approval.impossible(proposal.left_out))
    return Decision(proposal, "keep" if proposal.collides else "yes")


async def _answer(events: AsyncIterator[TurnEvent]) -> bool:
    """Print the answer as it comes; whether there was one."""
    said = False
    async for event in events:
        match event:
            case TextDelta():
                click.echo(escape(event.text), nl=False)
                said = True
            case ToolFinished() if event.text and event.tool in approval.WRITES:
                notice(event.text)
            case Notice():
                notice(event.text)
            case Trouble():
                warn(event.line, hint=event.hint)
                return False
    if said:
        click.echo()
    return True
