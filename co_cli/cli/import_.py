"""co import: bring in notes from elsewhere; what other assistants kept waits in the inbox."""

import os
from pathlib import Path
from typing import Any

import click

from co_cli import paths, trust
from co_cli.cli.options import as_json, assume_yes, claiming, in_user, open_here
from co_cli.cli.output import (
    confirm,
    no_yes,
    notice,
    on_terminal,
    progress,
    quote,
    say,
    say_line,
    to_json,
    which,
)
from co_cli.errors import CoError
from co_cli.knowledge import Notebook, Problem
from co_cli.knowledge.importers import assistants, exports
from co_cli.knowledge.importers.assistants import FROM_OUTSIDE, IMPORTED, Place
from co_cli.knowledge.importers.collect import collect, plan_import
from co_cli.knowledge.inbox import Draft, put
from co_cli.knowledge.plan import ImportItem, ImportPlan
from co_cli.knowledge.safety.escape import difference
from co_cli.offline.draft import facts, spoken
from co_cli.offline.rejections import rejections
from co_cli.results import counted, marks, plural, undo_hint
from co_cli.workspace import Workspace

_SHOWN = 10  # facts that a preview shows
_CHATS = 200  # conversations of an export that are read for facts
_SENTENCES = 1000  # that are read in them; each takes a thirtieth of a second
_KEPT = 5000  # of its newest conversations as articles
_READ = 200  # passages that an import without a terminal reads closely; the rest is owed


@click.command("import")
@click.argument("path", required=False, type=click.Path(path_type=Path))
@click.option("--split-bullets", "split", is_flag=True,
              help="Make each item of a markdown bullet list its own memory.")  # fmt: skip
@click.option("--conversations", is_flag=True,
              help="Also save each conversation of an export as an article.")  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Only show what would be imported.")
@in_user
@assume_yes
@as_json
def import_command(path: Path | None, split: bool, in_user: bool, **flags: bool) -> None:
    """Import notes from elsewhere, after a preview.

    Markdown folders, JSON Lines and the old JSON layout become memories. Other assistants'
    memories (Claude Code, Codex, Gemini CLI, Cursor, AGENTS.md; exports of ChatGPT, Claude and
    mem0) become drafts for you to review: co inbox. Without PATH, Co lists the places it knows,
    and opens those you choose.
    """
    workspace = open_here()
    if path is None:
        _from_places(workspace, flags)
        return
    name = str(path)
    export = exports.read_export(name, most=_KEPT if flags["conversations"] else _CHATS)
    if export is not None or assistants.assistant_of(name):
        own = in_user or (
            _is_own(workspace, name) if export is None else export.whose != "MCP memory"
        )
        _from_assistant(workspace, Place("", name, own), export, flags)
    else:
        _from_notes(workspace, workspace.book(in_user), path, split, flags)


def _from_places(workspace: Workspace, flags: dict[str, bool]) -> None:
    """Name the known places, open those that the person chooses, and ask once more for each."""
    found = assistants.places(workspace.project, paths.home_folder(), os.environ)
    if flags["as_json"]:
        to_json({"places": [{**place._asdict(), "opened": False} for place in found]})
        return
    if not found:
        say("No other assistant's memory was found here. To import a file or a folder: "
            "co import PATH")  # fmt: skip
        return
    say("Co can read what other assistants kept. Nothing was opened yet.")
    for number, place in enumerate(found, 1):
        say_line(f"  {number}  {place.name}: {paths.short(place.path)}")
    if not on_terminal():
        say("To import one: co import PATH")
        return
    choices = {str(number): place.name for number, place in enumerate(found, 1)}
    for chosen in which("Which ones? Numbers, all, or Enter for none", choices):
        place = found[int(chosen) - 1]
        say_line(f"{place.name}:")
        try:
            _from_assistant(workspace, place, None, flags)
        except CoError as error:
            notice(f"  {error.sentence()}")


def _from_assistant(
    workspace: Workspace, place: Place, export: exports.Export | None, flags: dict[str, bool]
) -> None:
    """Show how much an assistant kept, and put it into the inbox if the person agrees."""
    book, quiet = workspace.book(place.own), flags["as_json"]
    drafts, problems, unread = _read(workspace, place, export)
    chats = export.chats if export and flags["conversations"] else []
    report: dict[str, Any] = {"done": False, "found": len(drafts), "conversations": len(chats)}
    report["unread"] = unread
    if not quiet:
        for draft in drafts[:_SHOWN]:
            say_line(f"  {draft.text.partition(chr(10))[0][:100]}")
        more = f" and {plural(len(chats), 'conversation')}" if chats else ""
        say(f"{plural(len(drafts), 'fact')}{more} to import; none becomes a memory unseen.")
        for remark in unread:
            say(f"not read  {remark}")
    wanted = bool(drafts or chats) and not flags["dry_run"]
    if wanted and confirm("Put them into the inbox?", flags["yes"], quiet=quiet):
        with claiming(workspace.project, book):
            done = put(book, drafts, actor="import", refused=rejections(book))
            report["articles"], refused = _keep(book, chats)
        problems += [*done.refused, *refused]
        report |= {"done": True, "added": len(done.added), "known": done.known}
    if quiet:
        to_json(report | {"skipped": [problem._asdict() for problem in problems]})
        return
    for problem in problems:
        say_line(f"skipped  {problem}")
    if not report["done"]:
        if wanted:
            raise no_yes("nothing was imported")
        return
    many = [f"{plural(report['added'], 'draft')} put into the inbox"] if report["added"] else []
    many += [f"{plural(report['articles'], 'conversation')} kept"] if report["articles"] else []
    known = f" Known, or rejected before: {report['known']}." if report["known"] else ""
    if not many:
        say(f"Nothing new to import.{known}")
        return
    review = " To review: co inbox." if report["added"] else ""
    twice = ", twice" if len(many) == 2 else ""
    say(f"✓ {' and '.join(many)}.{known}{review} Undo: {undo_hint(book)}{twice}")


def _read(
    workspace: Workspace, place: Place, export: exports.Export | None
) -> tuple[list[Draft], list[Problem], list[str]]:
    """The drafts of an export, or of a place; what others may have written is marked.

    With them comes what was refused, and what was not read at all.
    """
    if export is not None:
        said, unread = _said(export)
        return [*export.drafts, *said], [], unread
    foreign = _is_foreign(workspace, place.path)
    drafts, batch = assistants.read_files(place.path)
    if foreign:
        drafts = [one._replace(fields=FROM_OUTSIDE) for one in drafts]
    return drafts, batch.problems, []


def _said(export: exports.Export) -> tuple[list[Draft], list[str]]:
    """What the person told of themselves in their latest conversations, as far as that is sure."""
    known, drafts = [one.text for one in export.drafts], list[Draft]()
    left, cut = _SENTENCES, 0
    with progress("Reading conversations") as step:
        for done, chat in enumerate(export.chats[:_CHATS], 1):
            own = [text for who, text in chat.turns if who == "person"]
            if not (own_words := spoken(own)) or left < len(own_words):
                cut += bool(own_words)
                continue
            left -= len(own_words)
            origin = f"{export.whose}: {chat.title[:100]}"
            for fact in facts(own, known):
                if fact.mine or "preference" in fact.tags:  # the rest is of that conversation
                    drafts.append(
                        Draft(fact.text, fact.tags, fact.text, origin, chat.created, IMPORTED)
                    )
            if step:
                step(done, min(len(export.chats), _CHATS))
    remarks = []
    if (older := export.total - _CHATS) > 0:
        remarks.append(f"{plural(older, 'conversation')}: only the newest {_CHATS} are read")
    if cut:
        many = plural(cut, "conversation")
        remarks.append(f"{many} more: in all, {_SENTENCES:,} sentences are read")
    return drafts, remarks


def _is_own(workspace: Workspace, path: str) -> bool:
    """Whether a path is where an assistant keeps what is about the person, in no project."""
    place = assistants.place_of(path, workspace.project, paths.home_folder(), os.environ)
    return place is not None and place.own


def _is_foreign(workspace: Workspace, path: str) -> bool:
    """Whether a file may hold what somebody else wrote: it is neither the person's nor trusted.

    A link out of a folder that is not trusted is an error: who made it may want what it leads to.
    """
    project, trusted = os.path.realpath(workspace.project), workspace.trust
    real = os.path.realpath(path)
    inside = _below(os.path.abspath(path), project) or _below(real, project)
    if not inside:
        return assistants.place_of(path, project, paths.home_folder(), os.environ) is None
    usable = inside in trusted.usable if inside in trusted.present else trusted.known
    if not usable and not _below(real, project):
        hint = f"Nothing was read. If you want that file: co import {real}"
        raise CoError(f"{path} is a link out of this project, which you do not trust", hint=hint)
    return not usable


def _below(path: str, project: str) -> str:
    """A path as seen from the project, whichever links lead there; nothing if it is elsewhere."""
    above = (path, *map(str, Path(path).parents))
    folder = next((one for one in above if os.path.realpath(one) == project), "")
    return os.path.relpath(path, folder) if folder else ""


def _keep(book: Notebook, chats: list[exports.Chat]) -> tuple[int, list[Problem]]:
    """Keep conversations as articles, as one change; how many are new, and what was refused."""
    said = {"person": "You", "co": "Assistant"}
    items = []
    for chat in chats:
        text = "\n\n".join(f"**{said[who]}:** {words}" for who, words in chat.turns)
        source = f"conversation:{chat.name or chat.title}"
        about = {"title": chat.title, "fetched": chat.created, **dict(FROM_OUTSIDE)}
        about["source"] = source
        if text:
            items.append(ImportItem(text, source, (), "", (*about.items(),)))
    plan = book.plan_import([], None, items)
    if plan.change is not None:
        book.store.commit(plan.change)
    return len(plan.added), plan.refused


def _from_notes(
    workspace: Workspace, book: Notebook, path: Path, split: bool, flags: dict[str, bool]
) -> None:
    """Import what people wrote as notes, as one change."""
    as_json, dry_run = flags["as_json"], flags["dry_run"]
    batch = collect(path, own=book.root, split=split)
    plan = plan_import(book, batch)
    skipped = [*plan.refused, *batch.problems]
    report = {
        "done": False,
        "added": [
            {"ref": book.ref(note), "content": note.body, "external": note.external}
            for note in plan.added
        ],
        "known": len(plan.known),
        "context": plan.context is not None,
        "skipped": [problem._asdict() for problem in skipped],
        "remarks": [remark._asdict() for remark in batch.remarks],
    }
    if not as_json:
        _preview(book, plan, {"skipped": skipped, "remark": batch.remarks})
    if not dry_run and plan.change is not None and confirm("Do it?", flags["yes"], quiet=as_json):
        before = book.store.read("context.md")
        with claiming(workspace.project, book):
            book.store.commit(plan.change)
        if plan.context is not None and not (as_json or book.scope == "user"):  # the person saw it
            trust.wrote(workspace.project, paths.CONTEXT, plan.context, before=before)
        report["done"] = True
        with progress("Reading closely") as step:  # who sees a bar can wait, or press Control-C
            book.search.read_closely(step, most=0 if step else _READ)
    if as_json:
        to_json(report)
    elif report["done"]:
        more = " and lines of context.md" if plan.context is not None else ""
        say(f"✓ Imported {counted(plan.added)}{more}. Undo: {undo_hint(book)}")
    elif plan.change is None:
        say("Nothing new to import.")
    elif dry_run:
        say(f"{counted(plan.added)} to import; nothing was changed.")
    else:
        raise no_yes("nothing was imported")


def _preview(book: Notebook, plan: ImportPlan, told: dict[str, list[Problem]]) -> None:
    for note in plan.added:
        tags = f" [{', '.join(note.tags)}]" if note.tags else ""
        seen = f" {found}" if (found := marks(book, note)) else ""
        say_line(f"new      {book.ref(note)}{tags}{seen}  {note.summary}")
    for item in plan.known:
        say_line(f"known    {item.text.strip().splitlines()[0][:80]}")
    if plan.context is not None:
        say("context  these lines will be read at the start of every session:")
        quote(difference(book.store.read("context.md"), plan.context, "context.md"))
    outside = sum(note.kind == "memory" and note.external for note in plan.added)
    if outside and on_terminal():
        notice(
            f"{plural(outside, 'memory')} marked as external: not exported by Co on this machine."
        )
    for word, problems in told.items():
        for problem in problems:
            say_line(f"{word:7}  {problem}")
    limit = book.policy.max_count
    memories = [note for note in plan.added if note.kind == "memory"]
    over = len(book.look().notes) + len(memories) - limit
    if memories and over > 0:
        notice(f"That is {over} over the limit of {limit}; nothing decays automatically.")
