"""co knowledge doctor: name every file that cannot be used, and mend numbers after a merge."""

import click

from co_cli import folders, paths, prompts
from co_cli.cli.options import as_json, open_here
from co_cli.cli.output import notice, notice_plain, say, say_line, to_json
from co_cli.knowledge import Notebook, doctor
from co_cli.knowledge.meaning.encoders import broken_weights
from co_cli.knowledge.meaning.languages import EXTRA, package_folder, why_unusable
from co_cli.knowledge.pages import Problem
from co_cli.knowledge.renumber import renumber
from co_cli.knowledge.safety.escape import escape
from co_cli.prompts import SystemPrompt
from co_cli.results import counted, plural, undo_hint
from co_cli.workspace import Workspace


@click.command("doctor")
@click.option("--fix", is_flag=True, help="Give each memory that shares a number one of its own.")
@as_json
def doctor_command(fix: bool, as_json: bool) -> None:
    """List every file that cannot be read, with the line and the reason.

    Changes nothing, except that --fix renumbers memories that a git merge left with the same
    number.
    """
    workspace = open_here(lenient=True)
    books = workspace.shelf
    fixed = [_fix(book, as_json) for book in books] if fix else []
    problems = [problem for book in books for problem in doctor.diagnose(book, closely=True)]
    problems += [problem for book in books.folders for problem in book.checked()[1]]
    problems += broken_files(workspace, prompts.session_prompt("", None, workspace=workspace))
    problems += [Problem(path, f"{why}; reinstall Co") for path, why in broken_weights()]
    if (folder := package_folder()) and (why := why_unusable(folder)):
        problems.append(Problem(EXTRA, why))
    searches = [book.search for book in (*books, *books.folders) if book.store.exists()]
    indexes = [(search.index_path, search.compare()) for search in searches]
    notes = [(book, note) for book in books for note in (*book.look().notes, *book.articles())]
    plain = {note.path: book.ref(note) for book, note in notes if note.plain}
    sound = all(report.state != "broken" for _, report in indexes)
    if as_json:
        rows = [problem._asdict() for problem in problems]
        told = [
            {
                "path": path,
                "state": report.text,
                "behind": [{"path": name, "reason": why} for name, why in report.behind],
            }
            for path, report in indexes
        ]
        more = {"renumbered": [row for moved, _ in fixed for row in moved]} if fix else {}
        more |= {"named": [row._asdict() for _, named in fixed for row in named]} if fix else {}
        found = {"healthy": sound and not rows, "problems": rows, "indexes": told}
        to_json(found | _json(plain) | more)
    elif problems:
        for problem in problems:
            say_line(str(problem))
        notice(f"\n{plural(len(problems), 'problem')}. Co never changes these files by itself.")
    else:
        count = counted(note for _, note in notes)
        well = f"✓ No problems: {count}, every file readable."
        say(well if sound else "Every file is readable, but the search index has problems:")
    for path, report in indexes if not as_json else ():
        if report.state not in ("up to date", "missing"):
            notice(f"Index {path}: {report.text}")
        for name, why in report.behind[:20]:
            say_line(f"    {name}: {why}")
    notice_plain([*plain.values()])
    if problems:
        raise click.exceptions.Exit(1)


def broken_files(workspace: Workspace, prompt: SystemPrompt) -> list[Problem]:
    """What is wrong with the files beside the notebooks: instructions, settings, Co's own lists."""
    found = [Problem(paths.folders_file(), why)] if (why := folders.trouble()) else []
    found += [Problem("trust", why)] if (why := workspace.trust.problem) else []
    if workspace.trouble is not None:
        found.append(Problem("settings", str(workspace.trouble)))
    return [*found, *prompt.skipped]


def _fix(book: Notebook, quiet: bool) -> tuple[list[dict[str, str]], list[Problem]]:
    """Give memories that share a number each its own; what moved, and what names such a number."""
    moved, named = renumber(book)
    if moved:
        book.sync()
    for old, new in moved if not quiet else ():
        say_line(f"✓ Memory {book.ref(old)} is now {book.ref(new)}: {new.name}")
    if moved and not quiet:
        notice(f"Links are kept. Undo: {undo_hint(book)}")
        for problem in named:  # said now or never: later, nothing tells that the number was shared
            notice(escape(str(problem), keep=""))
    return [{"from": a.path, "path": b.path, "ref": book.ref(b)} for a, b in moved], named


def _json(plain: dict[str, str]) -> dict[str, list[dict[str, str]]]:
    rows = [{"path": path, "ref": ref} for path, ref in plain.items()]
    return {"plain": rows} if rows else {}
