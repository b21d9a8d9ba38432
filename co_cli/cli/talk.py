"""co chat and co ask: the conversation, for people and for scripts."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from co_cli import logs, prompts, trust
from co_cli.agent.approval import FORGET, WRITES, Answer, Asker, Review, Reviewed, Wish
from co_cli.chat import transcripts
from co_cli.chat.events import Failed, Told, Used, Words
from co_cli.cli.health import brought_text
from co_cli.cli.output import notice, on_terminal, say
from co_cli.cli.setup import ask_trust
from co_cli.cli.shared import Desk, assume_yes, open_desk
from co_cli.errors import CoError
from co_cli.knowledge.context import Loaded
from co_cli.knowledge.format.note import now
from co_cli.knowledge.notebook import Notebook
from co_cli.knowledge.safety.escape import visible
from co_cli.knowledge.store import disk
from co_cli.providers import models
from co_cli.results import plural

if TYPE_CHECKING:
    from co_cli.chat.session import Session

_MOST_INPUT = 256 * 1024
_MOST_READ = 1000  # memories that are looked through before a session starts
OUTSIDE = "Text from outside is in this conversation, so --yes does not apply."
NO_YES = "co ask changes nothing unless it is called with --yes."

with_model = click.option(
    "-m", "--model", metavar="PROVIDER:NAME", default="", help="Use this model for now."
)
log_level = click.option(
    "--log-level", type=click.Choice(["error", "warning", "info", "debug"]), help="How much to log."
)
log_content = click.option(
    "--log-content", is_flag=True, help="Let the log hold what notes say; never sensitive ones."
)


@click.command("chat")
@with_model
@click.option("--resume", is_flag=False, flag_value="latest", metavar="[ID]",
              help="Go on with the last conversation here, or with this one.")  # fmt: skip
@click.option("--personality", metavar="NAME", help="How Co speaks.")
@log_level
@log_content
def chat_command(
    model: str,
    resume: str | None,
    personality: str | None,
    log_level: str | None,
    log_content: bool,
) -> None:
    """Talk with Co. It recalls what it knows, and asks before it keeps anything."""
    if not on_terminal():
        raise CoError("co chat needs a terminal", hint='For scripts: co ask "…"')
    from co_cli.chat.app import Chat

    desk = _enter(log_level, log_content, asking=True)
    transcripts.prune(now())
    kept = None
    if resume:
        latest = resume == "latest"
        kept = (
            transcripts.latest(desk.project) if latest else transcripts.find(desk.project, resume)
        )
    chat = Chat(
        desk.deps(),
        lambda name: models.choose(name or model or None, desk.settings, os.environ),
        lambda provider, name, known: _prompt(desk, provider, name, known),
        personality or desk.settings.personality,
        model,
        kept,
    )
    asyncio.run(chat.run())


def _enter(log_level: str | None, log_content: bool, *, asking: bool) -> Desk[Notebook]:
    """The notebooks from here; an untrusted folder is asked about before anything of it is used."""
    os.environ.setdefault("PYDANTIC_AI_NO_BANNER", "1")  # the framework greets people by itself
    desk = open_desk(Notebook)
    logs.start(log_level or desk.settings.log_level, content=log_content)
    status, notes = desk.trust, desk.new_notes()
    if status.problem:
        notice(f"co: {status.problem}")
    if (status.trusted or status.nothing_to_trust) and not notes:
        return desk
    what = "its files and notes are" if status.foreign else "what changed in it is"
    if not asking:
        if not status.trusted:
            notice(f"co: this folder is not trusted, so {what} not used (co trust)")
        if notes:
            notice(f"co: {brought_text(len(notes))} (co trust)")
        return desk
    say(_news(desk, len(notes)))
    try:
        ask_trust(desk, notes, yes=False, quiet=False)
    except CoError as error:
        left = f"Not used: {error}, so {what} left out"
        notice(f"{brought_text(len(notes)) if status.trusted else left}. `co trust` asks again.")
        return desk
    return open_desk(Notebook)


def _news(desk: Desk[Notebook], notes: int) -> str:
    """Why a folder is asked about."""
    if not desk.trust.known:
        return f"This folder is new to Co: {desk.project}"
    if desk.trust.changed:
        return f"This folder changed since you trusted it: {desk.project}"
    if desk.trust.new:
        return f"This folder has files that are new to Co: {desk.project}"
    are = "is" if notes == 1 else "are"
    return f"{plural(notes, 'note')} came with git and {are} new to you: {desk.project}"


def _prompt(
    desk: Desk[Any], provider: str, personality: str, known: Loaded | None = None
) -> prompts.Prompt:
    status = trust.status(desk.project)  # the person may have edited something meanwhile
    usable, present = status.usable, status.present
    prompt = prompts.build(
        provider, personality, project=desk.project, usable=usable, trusted=present, known=known
    )
    if known is not None:  # told when the session began
        return prompt
    return prompt._replace(warnings=(*prompt.warnings, *_left_out(desk, prompt)))


def _left_out(desk: Desk[Any], prompt: prompts.Prompt) -> Iterator[str]:
    """What a session goes without, a line each: a long file's end, memories nobody can read."""
    for file in prompt.files:
        if file.bytes_cut:
            yield f"WARNING: {file.bytes_cut:,} bytes of {file.relpath} were left out. Shorten it."
    shelf = desk.shelf
    for book in (shelf.user,) if desk.trust.foreign else shelf.books():
        if len(disk.list_names(book.memories)) > _MOST_READ:
            continue
        book.notes()
        for problem in book.problems:
            line = f", line {problem.line}" if problem.line else ""
            yield f"WARNING: memory skipped: {problem.path}{line}: {problem.reason}"


@click.command("ask")
@click.argument("question", nargs=-1)
@with_model
@assume_yes
@log_level
@log_content
def ask_command(
    question: tuple[str, ...], model: str, yes: bool, log_level: str | None, log_content: bool
) -> None:
    """Ask one question and print the answer. Nothing is kept unless --yes approves it.

    Text on standard input is added to the question, or is the question; it counts as text from
    outside, after which --yes saves nothing.
    """
    desk = _enter(log_level, log_content, asking=False)
    choice = models.choose(model or None, desk.settings, os.environ)
    deps = desk.deps()
    text, piped = " ".join(question), _piped()
    if not (text or piped):
        raise click.UsageError(
            'What would you like to know? For example: co ask "when do we ship?"'
        )
    if piped:
        deps.came_from("standard input")
    if not text:  # the question itself was piped
        text, piped = piped, ""
    prompt = _prompt(desk, choice.provider, desk.settings.personality)
    for line in prompt.warnings:
        notice(line)
    from co_cli.chat.session import Session

    if not asyncio.run(_answer(Session(deps, choice, prompt, None, _by_rule(yes)), text, piped)):
        raise click.exceptions.Exit(1)


def _piped() -> str:
    """What was sent on standard input."""
    if sys.stdin.isatty():
        return ""
    data = sys.stdin.buffer.read(_MOST_INPUT + 1)
    if len(data) > _MOST_INPUT:
        raise CoError("standard input is too long to ask about", hint="At most 256 KiB.")
    return data.decode("utf-8", "replace").strip()


def _by_rule(yes: bool) -> Asker:
    """What a script says to every write: no, or with --yes yes, while nothing came from outside."""

    async def answer(review: Review) -> Reviewed:
        if yes and not review.external:
            return Reviewed([_agreed(wish) for wish in review.wishes])
        why = OUTSIDE if yes else NO_YES
        for wish in review.wishes:
            notice(f"co: not {'forgotten' if wish.tool == FORGET else 'saved'}: {wish.text}")
        notice(f"    {why}")
        return Reviewed([Answer(wish, "no", why) for wish in review.wishes])

    return answer


def _agreed(wish: Wish) -> Answer:
    """Yes, but never to a text that is not the one that was asked for."""
    if wish.left_out:
        notice(f"co: not saved: {wish.left_out}")
        return Answer(wish, "no", f"It cannot be done: {wish.left_out}")
    return Answer(wish, "keep" if wish.collides else "yes")


async def _answer(session: Session, text: str, piped: str) -> bool:
    """Print the answer as it comes; whether there was one."""
    attached = prompts.envelope.wrap(piped) if piped else ""
    said = False
    async for event in session.turn(text, attached):
        match event:
            case Words():
                click.echo(visible(event.text), nl=False)
                said = True
            case Used() if event.brief and event.tool in WRITES:
                notice(event.brief)
            case Told():
                notice(event.text)
            case Failed():
                notice(f"co: {event.trouble.line}")
                if event.trouble.hint:
                    notice(f"    {event.trouble.hint}")
                return False
            case _:
                pass
    if said:
        click.echo()
    return True
