"""co knowledge doctor: name every file that cannot be used."""

from __future__ import annotations

import os

import click

from co_cli import paths
from co_cli.cli.here import open_here
from co_cli.cli.options import as_json
from co_cli.cli.output import notice, say, say_line, to_json
from co_cli.knowledge import doctor
from co_cli.knowledge.context import read_context
from co_cli.knowledge.meaning.encoders import broken_weights
from co_cli.knowledge.pages import Problem
from co_cli.results import plural, problem_json, problem_text


@click.command("doctor")
@as_json
def doctor_command(as_json: bool) -> None:
    """List every file that cannot be read, with the line and the reason. Changes nothing."""
    workspace = open_here(lenient=True)
    problems = [p for book in workspace.shelf.books() for p in doctor.diagnose(book)]
    own = os.path.join(paths.user_knowledge(), "context.md")
    skipped = read_context(own, os.path.join(workspace.project, paths.CONTEXT)).receipt.skipped
    problems += [Problem(str(one.path), one.reason, one.line) for one in skipped]
    if workspace.trouble is not None:
        problems.append(Problem("settings", str(workspace.trouble)))
    problems += [Problem(path, f"{why}; reinstall Co") for path, why in broken_weights()]
    indexes = [
        (book.search.index_path, book.search.compare())
        for book in workspace.shelf.books()
        if book.store.exists()
    ]
    problems += [Problem(*pair) for _, report in indexes for pair in report.unreadable]
    sound = all(report.state != "broken" for _, report in indexes)
    if as_json:
        rows = [problem_json(problem) for problem in problems]
        told = [
            {
                "path": index,
                "state": report.text,
                "behind": [
                    {"path": path, "reason": why}
                    for path, why in (*report.behind, *report.unreadable)
                ],
            }
            for index, report in indexes
        ]
        to_json({"healthy": sound and not rows, "problems": rows, "indexes": told})
    elif problems:
        for problem in problems:
            say_line(problem_text(problem))
        notice(f"\n{plural(len(problems), 'problem')}. Co never changes these files by itself.")
    else:
        count = sum(len(book.notes()) for book in workspace.shelf.books())
        well = f"✓ No problems: {plural(count, 'memory')}, every file readable."
        say(well if sound else "Every file is readable, but the search index has problems:")
    for index, report in indexes if not as_json else ():
        if report.state not in ("up to date", "missing"):
            notice(f"Index {index}: {report.text}")
        for path, why in (*report.behind, *report.unreadable)[:20]:
            say_line(f"    {path}: {why}")
    if problems:
        raise click.exceptions.Exit(1)
