"""co knowledge summarize: memories that belong together become one, after a look at each."""

import os
from collections.abc import Callable, Sequence
from difflib import unified_diff
from functools import partial
from typing import Any

import click

from co_cli import config, paths
from co_cli.cli import output
from co_cli.cli.options import as_json, assume_yes, in_user, open_here
from co_cli.cli.output import notice, say, warn
from co_cli.cli.session import with_model
from co_cli.errors import CoError
from co_cli.knowledge import Note, Notebook, summary
from co_cli.knowledge.lifecycle import SIGNALS
from co_cli.knowledge.safety.check import check_text
from co_cli.knowledge.store import disk
from co_cli.knowledge.summary import Sentence
from co_cli.providers import models
from co_cli.results import plural, undo_hint

_Model = Callable[[Sequence[str]], list[tuple[str, list[int]]]] | None


@click.command("summarize")
@in_user
@click.option("--category", type=click.Choice([*SIGNALS, "other"]), default=None,
              help="Only memories of this category.")  # fmt: skip
@with_model
@click.option("--dry-run", is_flag=True, help="Only show what each group would become.")
@assume_yes
@as_json
def summarize_command(
    in_user: bool, category: str | None, model: str, dry_run: bool, yes: bool, as_json: bool
) -> None:
    """Combine related memories into one; the originals are archived.

    You see the groups, then what each would become, with the numbers of its sources after every
    sentence. With --yes, groups that may contradict themselves stay unchanged, and no model
    rewrites anything.
    """
    workspace = open_here()
    reword, asking = _model(workspace.own, model, yes and not dry_run), False
    book = workspace.book(in_user)
    notes = [note for note in book.notes() if category in (None, note.category)]
    quiet, log = as_json, os.path.join(paths.state_folder(), "declined-groups")
    declined = (disk.read_if_any(log) or b"").decode("ascii", "replace").split()
    apart = set() if in_user else workspace.untrusted(notes)
    warn(apart and f"{plural(len(apart), 'memory')} left out that nobody agreed to (co trust)")
    with output.progress("Looking for memories that belong together"):
        found = summary.find_groups(book, [note for note in notes if note.path not in apart])
    groups = [group for group in found if summary.mark(group) not in declined]
    old, done = len(found) - len(groups), list[dict[str, Any]]()
    if not quiet:
        _list(book, groups, old)
    if groups and not (dry_run or yes or quiet):
        if not (asking := output.on_terminal()):
            hint = "On a terminal Co asks about each group; elsewhere use --dry-run, or --yes."
            raise CoError("nothing was summarised", hint=hint)
        groups = _picked(groups)
    for at, group in enumerate(groups, 1):
        told: dict[str, Any] = {"refs": [book.ref(note) for note in group]}
        try:
            told |= _proposal(group, reword, asking, f"{at} of {len(groups)}")
            if not quiet:
                _show(group, told)
            agreed = _agreed(group, told, log) if asking else yes and not told["contradictions"]
            if agreed and not dry_run:
                plan = partial(summary.plan_summary, notes=group, text=told["text"])
                told["ref"] = book.do("cli", plan).ref
                if not quiet:
                    say(f"✓ They are now memory {told['ref']}. Undo: {undo_hint(book)}")
        except CoError as error:
            warn(error, hint=error.hint)
            told["error"] = error.sentence()
        done.append(told)
    if quiet:
        output.to_json({"groups": done, "declined": old})
    else:
        _tally(done, dry_run)


def _tally(done: list[dict[str, Any]], dry_run: bool) -> None:
    if done and not dry_run:
        made = sum("ref" in told for told in done)
        say(f"{made} of {plural(len(done), 'group')} became one memory each.")


def _model(settings: config.Settings, named: str, unseen: bool) -> _Model:
    """What the chosen model makes of sentences; None without one, or if nobody would look at it."""
    choice = models.choose(named, settings, os.environ)
    if choice.provider == "offline" or unseen:
        warn(unseen and named and "with --yes the sentences stay in their own words")
        return None
    from co_cli.agent.rewording import reword  # and with it the agent framework

    model, seconds = models.build(choice, os.environ), settings.answer_seconds
    return lambda texts: reword(model, choice, texts, seconds)


def _list(book: Notebook, groups: Sequence[Sequence[Note]], declined: int) -> None:
    say(f"{plural(len(groups), 'group')} of memories that belong together. What is protected, "
        f"pinned, sensitive, foreign, has a check or an end, or is not {summary.RECENT} days old "
        "stays whole.")  # fmt: skip
    for at, group in enumerate(groups, 1):
        refs = ", ".join(book.ref(note) for note in group)
        output.say_line(f"{at:3}  {len(group)} memories ({refs}): {group[0].summary}")
    if declined:
        verb = "comes" if declined == 1 else "come"
        notice(f"{plural(declined, 'group')} you said no to {verb} again when a memory changes.")


def _picked(groups: list[list[Note]]) -> list[list[Note]]:
    """The groups that a person names: all with Enter."""
    rows = {str(at): group[0].summary for at, group in enumerate(groups, 1)}
    names = output.which("Which ones (such as 1 3; Enter for all, n for none)?", rows, enter=rows)
    if not names:
        say("Nothing was changed.")
    return [groups[int(name) - 1] for name in names]


def _proposal(group: list[Note], reword: _Model, asking: bool, place: str) -> dict[str, Any]:
    """What a group would become; of two sentences that may contradict, the person says which."""
    found, dropped = summary.distinct(group), 0
    said = {note.id: note.created[:10] for note in group}
    check_text(summary.written(found))  # before any model sees it
    with output.progress(f"Comparing the sentences of group {place}"):
        pairs = summary.conflicts(found)
    for old, new in pairs if asking else ():
        if old in found and new in found:
            say("These may contradict each other:")
            output.quote(f"1  {old} {said[old.sources[-1]]}\n2  {new} {said[new.sources[-1]]}")
            loser = {"1": new, "2": old}.get(_asked("Which one holds (1, 2, b for both", "12b"))
            found = [one for one in found if one is not loser]
    if reword:
        try:
            with output.progress("Writing"):
                found, dropped = summary.reworded(found, reword([one.text for one in found]))
        except CoError as error:
            warn(f"the sentences stay as they are: {error}", hint=error.hint)
    contradictions = [] if asking else [[str(old), str(new)] for old, new in pairs]
    return {"text": summary.written(found), "contradictions": contradictions, "dropped": dropped}


def _asked(question: str, keys: str) -> str:
    if (said := output.ask(f"{question}, q to stop)?", (*keys, "q"))) == "q":
        say("Stopped. What was not agreed to stays as it is.")
        raise click.exceptions.Exit(0)
    return said


def _show(group: list[Note], told: dict[str, Any]) -> None:
    """The sentences of the old memories and of the new one, as a diff."""
    said = [str(Sentence(text, (n.id,))) for n in group for text in summary.sentences(n)]
    lines = told["text"].split("\n")
    diff = [*unified_diff(said, lines, lineterm="", n=len(said))][3:]  # with every line
    what = "" if diff else " would stand together, with every sentence as it is"
    say(f"\nMemories {', '.join(told['refs'])}{what}:")
    output.quote_diff(diff or [f" {line}" for line in lines])
    for pair in told["contradictions"]:
        say("These may contradict each other; Co asks on a terminal which one holds:")
        output.quote("\n".join(pair))
    if told["dropped"]:
        say(f"{plural(told['dropped'], 'sentence')} of the model left out, as the memories do not "
            "say so; their own sentences stay.")  # fmt: skip


def _agreed(group: list[Note], told: dict[str, Any], declined: str) -> bool:
    """Whether the person says yes, perhaps after an edit; a no is kept in mind."""
    while (said := _asked("Make this one memory (y yes, n no, e edit", "yne")) == "e":
        told["text"] = (click.edit(told["text"], extension=".md") or told["text"]).strip()
        output.quote(told["text"])
    if said == "n":
        with disk.in_words():
            disk.make_folder(os.path.dirname(declined), 0o700)
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
            with open(os.open(declined, flags, 0o600), "a") as file:
                file.write(f"{summary.mark(group)}\n")
    return said == "y"
