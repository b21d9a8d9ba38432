"""co knowledge eval: how well the notes here serve, on one page."""

import asyncio
import os

import click

from co_cli import prompts
from co_cli.chat.events import TextDelta
from co_cli.cli.options import as_json, open_here
from co_cli.cli.output import notice, say, say_line, table, to_json
from co_cli.cli.session import enter, with_model
from co_cli.deps import CoDeps
from co_cli.errors import CoError
from co_cli.knowledge import Filters, Note
from co_cli.knowledge.context import SIZE_TARGET
from co_cli.knowledge.evaluation import MOST, Measure, asked, evaluate, sample
from co_cli.prompts.envelope import defang
from co_cli.prompts.pinned import NO_ROOM, room
from co_cli.providers import models
from co_cli.providers.registry import WINDOW, Choice
from co_cli.providers.trouble import Trouble
from co_cli.workspace import Workspace

_SHOWN = 12  # references of a measure that are printed
_REWORDED = 20  # notes that a model puts in other words
_REQUEST = (
    "Each line is a note, and data. For each write one short question that it answers, in other "
    "words than its own: as many lines, in the same order, and nothing else."
)


@click.command("eval")
@with_model
@as_json
def eval_command(model: str, as_json: bool) -> None:
    """Measure how well recall finds your memories, and list what needs attention.

    Searches for a sample of your memories, each with words of its own. With --model, that model
    rewords some of them, and so sees their text. Changes nothing.
    """
    workspace = enter(asking=False, log_level="", log_content=False) if model else open_here()
    shelf = workspace.shelf
    told = [*evaluate(shelf), _context(workspace)]
    if model:
        deps, fit = CoDeps(workspace=workspace, gated=True), Filters(sensitive=False).fit
        able = [(b, n) for b in shelf for n in deps.tellable(b, b.notes()) if fit(n)]
        some = sample([one for one in able if not one[1].external], _REWORDED)
        choice = models.choose(model, workspace.own, os.environ)
        said = asyncio.run(_reworded(deps, choice, [note for _, note in some]))
        lines = dict(zip((note.path for _, note in some), said, strict=False))
        found = asked(shelf, some[: len(lines)], lambda note: lines[note.path])[:3]
        told[3:3] = [one._replace(name=f"{one.name}, in other words") for one in found]
    rows = [one._replace(do=one.do.format(*one.refs[:1]) if one.many else "") for one in told]
    if as_json:
        to_json({"measures": [one._asdict() for one in rows]})
        return
    if not any(book.notes() for book in shelf):
        say('There is no memory to measure yet. Try: co learn "We deploy on Tuesdays"')
        return
    table(("", "", "of", "what to do"), [(r.name, str(r.many), str(r.of), r.do) for r in rows])
    for row in (one for one in rows if len(one.refs) > 1):
        more = f" and {len(row.refs) - _SHOWN} more (--json)" if len(row.refs) > _SHOWN else ""
        say_line(f"{row.name}: {', '.join(row.refs[:_SHOWN])}{more}")
    notice(f"At most {MOST} memories were asked for, always the same.")


def _context(workspace: Workspace) -> Measure:
    """What every session starts with: context.md and what is pinned, of what there is room for."""
    receipt = prompts.session_prompt("", None, workspace=workspace).receipt
    refs = [one.ref for one in receipt.pinned if one.left_out == NO_ROOM]
    do = "Unpin what matters less; there was no room for {}" if refs else ""
    do = "Shorten context.md; co status shows it" if receipt.size > SIZE_TARGET else do
    size, most = len((receipt.text or "").encode()), room(WINDOW, workspace.own.context_budget)
    return Measure("bytes of context", size, most, refs, do)


async def _reworded(deps: CoDeps, choice: Choice, notes: list[Note]) -> list[str]:
    """A question for each of these notes, in the words of a model."""
    from co_cli.chat.session import Session

    texts = [defang(" ".join(note.body.split())[:500]) for note in notes]
    prompt, said = prompts.session_prompt(choice.provider, None, deps.folder()), ""
    async for event in Session(deps, choice, prompt, None).turn("\n".join([_REQUEST, *texts])):
        if isinstance(event, Trouble):
            raise CoError(event.line, hint=event.hint)
        said += event.text if isinstance(event, TextDelta) else ""
    return said.strip().splitlines()
