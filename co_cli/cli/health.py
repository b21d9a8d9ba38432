"""co status and co knowledge doctor: how things stand."""

from __future__ import annotations

import os
from typing import Any

import click

from co_cli import paths, prompts
from co_cli import trust as trusting
from co_cli.cli.output import notice, progress, say, say_line, table, to_json
from co_cli.cli.shared import Desk, as_json, open_desk
from co_cli.knowledge import doctor
from co_cli.knowledge.context import read_context
from co_cli.knowledge.meaning.encoders import broken_weights
from co_cli.knowledge.reader import Problem, Reader
from co_cli.results import plural

_SOUND = ("up to date", "not built yet", "not used: search_backend is grep")  # of an index


@click.command("status")
@click.option("--tools", is_flag=True, help="List what a model may use, and what of it asks first.")
@as_json
def status_command(tools: bool, as_json: bool) -> None:
    """What Co loads here, how much it holds, its limits, and whether all is well."""
    if tools:
        _tell_tools(as_json)
        return
    desk = open_desk(Reader)
    usable, present = desk.trust.usable, desk.trust.present
    prompt = prompts.build("", None, project=desk.project, usable=usable, trusted=present)
    receipt = prompt.receipt
    books = [_book_json(book) for book in desk.shelf.books()]
    found = {
        "project": desk.project,
        "trust": trust_json(desk),
        "context": receipt.as_json(),
        "instructions": [file._asdict() for file in prompt.files],
        "notebooks": books,
    }
    if as_json:
        to_json(found)
        return
    say_line(f"Project   {desk.project}  ({_trust_word(desk.trust)})")
    say(f"Context   {receipt.line()}")
    for line in prompt.details():
        say_line(f"          {line}")
    for relpath in (*desk.trust.new, *desk.trust.changed):
        state = "changed since you trusted it" if relpath in desk.trust.changed else "not trusted"
        say_line(f"          {relpath}: {state}, not used (co trust)")
    if new := desk.new_notes():
        say_line(f"          {brought_text(len(new))} (co trust)")
    for book in books:
        say_line(f"Memories  {_book_line(book)}")
        if book["closely"] and book["closely"][1]:
            closely, total = book["closely"]
            hint = "" if closely == total else " (co knowledge reindex reads the rest)"
            say_line(f"          meaning: {closely} of {total} notes read closely{hint}")
    problems = sum(book["problems"] for book in books)
    if problems:
        say(f"Health    {plural(problems, 'problem')}: co knowledge doctor")
    else:
        say("Health    ✓ every file readable")
    if not any(book["count"] for book in books):
        notice('\nNothing is saved yet. Try: co learn "We deploy on Tuesdays"')


def _tell_tools(as_json: bool) -> None:
    from co_cli.agent.approval import tools_json

    rows = tools_json()
    if as_json:
        to_json({"tools": rows})
    else:
        asks = {True: "asks first", False: ""}
        table(("Tool", "", "What it does"), [(r["name"], asks[r["asks"]], r["help"]) for r in rows])


def _book_json(book: Reader) -> dict[str, Any]:
    notes = book.notes()
    today = book.today()
    return {
        "scope": book.scope,
        "path": book.root,
        "count": len(notes),
        "limit": book.policy.max_count,
        "protected": sum(note.protected for note in notes),
        "expired": sum(note.expired(today) for note in notes),
        "archived": len(book.archived()),
        "problems": len(doctor.diagnose(book)),
        "closely": list(book.finder.closely()) if os.path.lexists(book.finder.index_path) else None,
    }


def _book_line(book: dict[str, Any]) -> str:
    extras = [f"{book[name]} {name}" for name in ("protected", "expired", "archived") if book[name]]
    if book["count"] > book["limit"]:
        extras.append("over the limit: co knowledge decay, or raise memory_max_count")
    more = f" ({', '.join(extras)})" if extras else ""
    return f"{book['count']} of {book['limit']} in {book['path']}{more}"


def _trust_word(status: trusting.TrustStatus) -> str:
    if status.trusted or status.nothing_to_trust:
        return "trusted" if status.trusted else "nothing of Co's here yet"
    return "changed since you trusted it: co trust" if status.changed else "not trusted: co trust"


def brought_text(count: int) -> str:
    """That notes came with git and wait for the person's word."""
    are = "is" if count == 1 else "are"
    return f"{plural(count, 'note')} came with git and {are} not used until you agree"


def trust_json(desk: Desk[Any]) -> dict[str, Any]:
    """How far a folder is trusted, for a program."""
    status = desk.trust
    return {
        "trusted": status.trusted,
        "known": status.known,
        "new": status.new,
        "changed": status.changed,
        "removed": status.removed,
        "refused": status.refused,
        "notes": [os.path.relpath(note.path, desk.project) for note in desk.new_notes()],
    }


@click.command("doctor")
@as_json
def doctor_command(as_json: bool) -> None:
    """Name every file that cannot be used, with the line and the reason. Changes nothing."""
    desk = open_desk(Reader, lenient=True)
    problems = [p for book in desk.shelf.books() for p in doctor.diagnose(book)]
    own = os.path.join(paths.user_knowledge(), "context.md")
    skipped = read_context(own, os.path.join(desk.project, paths.CONTEXT)).receipt.skipped
    problems += [Problem(str(one.path), one.reason, one.line) for one in skipped]
    if desk.trouble is not None:
        problems.append(Problem("settings", str(desk.trouble)))
    problems += [Problem(path, f"{why}; install Co again") for path, why in broken_weights()]
    indexes = [
        (book.finder, *book.finder.compare()) for book in desk.shelf.books() if book.exists()
    ]
    behind = [pair for _, _, some in indexes for pair in some]
    # What is not indexed yet is caught up with; what cannot be read stays so.
    problems += [Problem(path, why) for path, why in behind if "indexed" not in why]
    sound = all(state in _SOUND or late for _, state, late in indexes)
    if as_json:
        rows = [{"path": p.path, "line": p.line, "reason": p.reason} for p in problems]
        told = [
            {
                "path": finder.index_path,
                "state": state,
                "behind": [{"path": path, "reason": why} for path, why in behind],
            }
            for finder, state, behind in indexes
        ]
        to_json({"healthy": sound and not rows, "problems": rows, "indexes": told})
    elif problems:
        for problem in problems:
            where = f"{problem.path}:{problem.line}" if problem.line else problem.path
            say_line(f"{where}: {problem.reason}")
        notice(f"\n{plural(len(problems), 'problem')}. Co changes none of these files by itself.")
    else:
        count = sum(len(book.notes()) for book in desk.shelf.books())
        well = f"✓ All is well: {plural(count, 'memory')}, every file readable."
        say(well if sound else "Every file is readable; the search index is not in order:")
    for finder, state, behind in indexes if not as_json else ():
        if state not in ("up to date", "not built yet"):
            notice(f"Index {finder.index_path}: {state}")
        for path, why in behind[:20]:
            say_line(f"    {path}: {why}")
    if problems:
        raise click.exceptions.Exit(1)


@click.command("reindex")
@as_json
def reindex_command(as_json: bool) -> None:
    """Build the search index anew from the files, here and in your own notebook.

    Co keeps it up to date by itself. This also reads every note closely for its meaning, and
    confirms that notes which vanished are gone.
    """
    desk = open_desk(Reader)
    done: list[dict[str, Any]] = []
    for book in desk.shelf.books():
        if not book.exists():
            continue
        with progress(f"Indexing {book.scope}") as step:
            synced = book.sync(anew=True, progress=step)
        finder = book.finder
        with progress(f"Reading {book.scope} closely") as step:
            finder.read_closely(step)
        closely, with_meaning = finder.closely()
        done.append(
            {
                "scope": book.scope,
                "path": finder.index_path,
                "notes": finder.total,
                "unread": len(finder.problems),
                "rebuilt": synced.rebuilt,
                "closely": closely,
                "with_meaning": with_meaning,
                "degraded": finder.degraded,
            }
        )
    if as_json:
        to_json({"indexes": done})
        return
    for one in done:
        if one["rebuilt"] and not one["degraded"].startswith("the index"):
            say_line(f"✓ {plural(one['notes'], 'memory')} indexed in {one['path']}")
        else:
            say_line(f"{one['path']} was not built.")
        if one["unread"]:
            notice(f"{plural(one['unread'], 'file')} could not be read: co knowledge doctor")
        if one["degraded"]:
            notice(f"co: {one['degraded']}")
    if not done:
        notice("Nothing is saved yet, so there is nothing to index.")
    if not all(one["rebuilt"] for one in done):
        raise click.exceptions.Exit(1)
