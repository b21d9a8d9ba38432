"""co ask: one question, for scripts."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable, Iterable
from functools import partial
from typing import Any

import click

from co_cli import prompts
from co_cli.agent import approval
from co_cli.agent.approval import Decision, Proposal, Review, Reviewed
from co_cli.chat.dialogue import open_dialogue
from co_cli.chat.events import (
    Command,
    Notice,
    Offer,
    PlainText,
    Quoted,
    TextDelta,
    ToolFinished,
    TurnEvent,
)
from co_cli.chat.redact import parsed
from co_cli.cli.options import as_json
from co_cli.cli.output import notice, to_json, warn
from co_cli.cli.session import build_prompt, enter, with_log, with_model
from co_cli.deps import CoDeps
from co_cli.errors import CoError
from co_cli.knowledge import Shelf
from co_cli.knowledge.safety.escape import escape
from co_cli.providers import models
from co_cli.providers.trouble import Trouble

_MOST_INPUT = 256 * 1024
OUTSIDE = "This conversation contains text from outside, so --yes does not apply."
_DONE = {
    approval.FORGET: "forgotten",
    approval.SAVE: "saved",
    approval.KEEP: "kept",
    approval.FETCH: "fetched",
}
NO_YES = "co ask changes nothing without --yes."
OVERWRITES = approval.Refusal(
    "rule", "That changes an article that is there; a person says yes to it, in a chat."
)
UNNAMED = approval.Refusal("rule", "co ask fetches only pages whose whole address you name.")


@click.command("ask")
@click.argument("question", nargs=-1)
@with_model
@click.option("-y", "--yes", is_flag=True, help="Approve everything the model saves or forgets.")
@as_json
@with_log
def ask_command(
    question: tuple[str, ...], model: str, yes: bool, as_json: bool, **log: Any
) -> None:
    """Ask one question and print the answer. Nothing is saved without --yes.

    Text on standard input is added to the question, or is the question. It counts as external
    text, so nothing is saved then, even with --yes.
    """
    workspace = enter(asking=False, **log)
    choice = models.choose(model, workspace.own, os.environ)
    deps = CoDeps(workspace=workspace, gated=True)
    text, piped = " ".join(question), _piped()
    if not (text or piped):
        raise click.UsageError('What would you like to know? For example: co ask "who is Dana?"')
    if text and piped.lower() in ("y", "yes", "n", "no"):
        warn("an answer that is piped in does not count", hint=NO_YES)
        piped = ""
    if piped:
        deps.came_from("standard input")
    if not text:  # the question itself was piped
        text, piped = piped, ""
    prompt = build_prompt(workspace, choice, workspace.own.personality)
    for line in prompt.warnings:
        notice(line)
    session = open_dialogue(deps, choice, prompt, None, partial(_by_rule, yes))
    attached = prompts.envelope.wrap(piped) if piped else ""
    events: list[TurnEvent] = []
    answer = asyncio.run(_answer(session.turn(text, attached), deps, events, as_json=as_json))
    if answer is None:
        raise click.exceptions.Exit(1)
    offline = choice.provider == "offline"
    record = _plain_record(events) if offline else _record(answer, session.messages)
    if as_json:
        to_json({"answer": answer, "model": str(choice)} | record)
    if offline and record["refused"]:
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
    if all(one.offered for one in review.proposals):
        refusal = approval.ONLY_OFFERED
    return Reviewed(_refused(review.proposals, refusal))


def _refused(proposals: list[Proposal], refusal: approval.Refusal) -> list[Decision]:
    """No to all of these, with a word on why."""
    why = {one.call: UNNAMED if one.tool == approval.FETCH else refusal for one in proposals}
    for reason in dict.fromkeys(why.values()):
        meant = [one for one in proposals if why[one.call] == reason]
        warn(*(f"not {_DONE[one.tool]}: {one.source or one.text}" for one in meant),
             hint=reason.text)  # fmt: skip
    return [Decision(one, "no", why[one.call]) for one in proposals]


def _agreed(proposal: Proposal) -> Decision:
    """Yes, but never to a text that is not the one that was asked for."""
    if proposal.offered or proposal.tool == approval.FETCH:
        return _refused([proposal], approval.ONLY_OFFERED)[0]
    if proposal.overwrites:
        return _refused([proposal], OVERWRITES)[0]
    if proposal.left_out:
        warn(f"not saved: {proposal.left_out}")
        return Decision(proposal, "no", approval.impossible(proposal.left_out))
    return Decision(proposal, "yes")


async def _answer(
    coming: AsyncIterator[TurnEvent], deps: CoDeps, events: list[TurnEvent], *, as_json: bool
) -> str | None:
    """The answer, printed as it comes but for a program; None when there was none.

    All that came is added to `events`.
    """
    said = ""
    async for event in coming:
        events.append(event)
        match event:
            case TextDelta():
                if not as_json:
                    click.echo(escape(event.text), nl=False)
                said += event.text
            case PlainText() | Command():
                text = event.text if isinstance(event, PlainText) else _looked_at(deps, event)
                if text and not as_json:
                    click.echo(escape(text))
                said = "\n".join(filter(None, (said, text)))
            case Trouble():
                warn(event.line, hint=event.hint)
                return None
            case _ if aside := _aside(event):
                notice(aside)
    if said and not as_json and isinstance(events[-1], TextDelta):
        click.echo()
    return said


def _aside(event: TurnEvent) -> str:
    """What is said beside the answer, if anything."""
    match event:
        case ToolFinished() if event.tool in approval.WRITES:
            return event.text.partition("\n")[0]
        case Notice():
            return event.text
        case Offer():
            return f'To save it: co ask --yes "remember that {event.text}"'
    return ""


def _looked_at(deps: CoDeps, asked: Command) -> str:
    """What a command that only looks shows; any other is left to the person."""
    from co_cli.chat import notes

    name, _, argument = asked.line[1:].partition(" ")
    looks: dict[str, Callable[[Shelf, str], str]] = {
        "memories": notes.memories, "show": notes.show, "changes": notes.changes
    }  # fmt: skip
    if name == "help":
        return "co --help lists the commands."
    look = looks.get(name)
    if look is None:
        warn(f"nothing was changed: {asked.line}", hint=f"co ask does not do that; co {name} does.")
        return ""
    with deps.notebooks() as shelf:
        return look(shelf, argument)


def _plain_record(events: Iterable[TurnEvent]) -> dict[str, list[Any]]:
    """The same without a model: what was quoted, saved and refused."""
    done = [one for one in events if isinstance(one, ToolFinished)]
    return {
        "sources": [row for one in events if isinstance(one, Quoted) for row in one.rows],
        "saved": [one.result for one in done if one.outcome == "done"],
        "forgotten": [],
        "refused": [one.result for one in done if one.outcome != "done"],
    }


def _record(answer: str, messages: Iterable[Any]) -> dict[str, list[dict[str, Any]]]:
    """What the answer rests on, and what was saved, forgotten or refused, for a program."""
    parts = [part for message in messages for part in message.parts]
    calls = {one.tool_call_id: one.args_as_dict() for one in parts if one.part_kind == "tool-call"}
    told: dict[str, list[dict[str, Any]]] = {"saved": [], "forgotten": [], "refused": []}
    sources: dict[str, dict[str, Any]] = {}
    for part in (one for one in parts if one.part_kind == "tool-return"):
        content = part.content if isinstance(part.content, dict) else parsed(str(part.content))
        found: dict[str, Any] = content if isinstance(content, dict) else {"display": content}
        if part.tool_name not in approval.WRITES:
            sources |= {row["ref"]: row for row in found.get("results", ())}
        elif part.outcome == "success":
            told["forgotten" if found.get("action") == "forgotten" else "saved"].append(found)
        else:
            why = {"why": found.get("refused", part.outcome), "reason": found.get("display")}
            call = {"tool": part.tool_name} | calls.get(part.tool_call_id, {})
            if why["why"] == "impossible":  # it may hold a secret
                call.pop("content", None)
            told["refused"].append(call | why)
    cited = [row for ref, row in sources.items() if f"[{ref}]" in answer]
    return {"sources": cited or [row for row in sources.values() if not row.get("weak")]} | told
