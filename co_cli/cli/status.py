"""co status: what Co loads here, how much it holds, and how it is."""

import os
from contextlib import suppress
from typing import Any

import click

from co_cli import folders, prompts, trust
from co_cli.cli.doctor import broken_files
from co_cli.cli.folders import folder_json
from co_cli.cli.options import as_json, open_here
from co_cli.cli.output import notice, say, say_line, table, to_json, warn
from co_cli.cli.trust import brought_text, trust_json
from co_cli.config import OWN_EMBEDDER
from co_cli.errors import SettingsError
from co_cli.knowledge import doctor, inbox
from co_cli.knowledge.meaning.languages import EXTRA, PACKAGE, package_folder
from co_cli.knowledge.notebook import Notebook
from co_cli.providers import models
from co_cli.providers.registry import WINDOW
from co_cli.results import plural
from co_cli.workspace import Workspace


@click.command("status")
@click.option(
    "--tools", is_flag=True, help="List the tools a model may use, and which ones ask first."
)
@as_json
def status_command(tools: bool, as_json: bool) -> None:
    """Show what Co loads here, how many memories it holds, its limits, and any problems."""
    if tools:
        _tell_tools(as_json)
        return
    workspace = open_here()
    status = workspace.trust
    window = WINDOW
    with suppress(SettingsError):  # a session will say so
        window = models.choose(None, workspace.own, os.environ).window
    prompt = prompts.session_prompt("", None, workspace=workspace, window=window)
    beside = broken_files(workspace, prompt)
    books = [_book_json(book) for book in workspace.shelf]
    added = [folder_json(book) for book in workspace.shelf.folders]
    if as_json:
        rows = {"problems": [problem._asdict() for problem in beside], "notebooks": books}
        to_json(_session_json(workspace, prompt) | rows | {"folders": added})
        return
    used = [", ".join(sorted(workspace.languages))] if workspace.languages else []
    used += ["auto-learn is on"] * (workspace.own.auto_learn == "on")
    say_line(f"Project   {workspace.project}  ({'; '.join([_trust_word(status), *used])})")
    say(f"Context   {prompt.receipt.line()}")
    for line in prompt.details():
        say_line(f"          {line}")
    for relpath in (*status.new, *status.changed):
        state = "changed since you trusted it" if relpath in status.changed else "not trusted"
        say_line(f"          {relpath}: {state}, not used (co trust)")
    if new := workspace.new_notes():
        say_line(f"          {brought_text(len(new))} (co trust)")
    for book in books:
        _say_book(book)
    for line in _beside(workspace, added):
        say_line(line)
    warn(folders.trouble())
    problems = sum(book["problems"] for book in books) + len(beside)
    problems += sum(len(folder["problems"]) for folder in added)
    bad = f"{plural(problems, 'problem')}: co knowledge doctor"
    say(f"Health    {bad if problems else '✓ every file readable'}")
    articles = any(one["articles"] for one in (*books, *added))
    if not articles and not any(book["count"] for book in books):
        notice('\nNothing is saved yet. Try: co learn "We deploy on Tuesdays"')


def _say_book(book: dict[str, Any]) -> None:
    """A notebook's size, how far its semantic index is, and what waits for a decision."""
    say_line(f"Memories  {_book_line(book)}")
    done, total = book["closely"] or (0, 0)
    if total:
        hint = "" if done == total else " (co knowledge reindex completes it)"
        say_line(f"          Semantic index: {done} of {total} notes{hint}")
    if book["unconfirmed"]:
        pairs = plural(book["unconfirmed"], "unconfirmed update")
        say_line(f"          {pairs}: co knowledge review")


def _session_json(workspace: Workspace, prompt: prompts.SystemPrompt) -> dict[str, Any]:
    """What a session here would be given."""
    return {
        "project": workspace.project,
        "auto_learn": workspace.own.auto_learn,
        "trust": trust_json(workspace),
        "context": prompt.receipt.as_json(),
        "instructions": [file._asdict() for file in prompt.files],
        "languages": sorted(workspace.languages),
        "extras": _extras(workspace),
    }


def _extras(workspace: Workspace) -> list[str]:
    """The optional parts that recall uses here."""
    own, by_meaning = workspace.own, ("auto", "hybrid")
    active = own.embedder.strip() in OWN_EMBEDDER and own.search_backend in by_meaning
    return [EXTRA] if active and package_folder() else []


def _tell_tools(as_json: bool) -> None:
    from co_cli.agent.approval import tools_json

    rows = tools_json()
    if as_json:
        to_json({"tools": rows})
    else:
        asks = {True: "asks first", False: ""}
        table(("Tool", "", "What it does"), [(r["name"], asks[r["asks"]], r["help"]) for r in rows])


def _book_json(book: Notebook) -> dict[str, Any]:
    notes, today = book.notes(), book.today()
    is_indexed = os.path.lexists(book.search.index_path)
    return {
        "scope": book.scope,
        "path": book.root,
        "count": len(notes),
        "limit": book.policy.max_count,
        "other_languages": len(book.look().notes) - len(notes),
        "articles": len(book.articles()),
        "drafts": len(inbox.waiting(book)),
        "protected": sum(note.protected for note in notes),
        "expired": sum(note.expired(today) for note in notes),
        "archived": len(book.archived()),
        "problems": len(doctor.diagnose(book)),
        "closely": list(book.search.closely()) if is_indexed else None,
        "unconfirmed": len(book.unconfirmed()) if is_indexed else 0,
    }


def _book_line(book: dict[str, Any]) -> str:
    extras = [f"{book[name]} {name}" for name in ("protected", "expired", "archived") if book[name]]
    extras[:0] = [plural(book["articles"], "article")] if book["articles"] else []
    extras += [f"{others} for other languages"] if (others := book["other_languages"]) else []
    extras += (
        [f"{plural(drafts, 'draft')} to review: co inbox"] if (drafts := book["drafts"]) else []
    )
    count = book["count"] + others  # those of other languages take room as well
    if count > book["limit"]:
        extras.append("over the limit: co knowledge decay, or raise memory_max_count")
    more = f" ({', '.join(extras)})" if extras else ""
    return f"{count} of {book['limit']} in {book['path']}{more}"


def _beside(workspace: Workspace, added: list[dict[str, Any]]) -> list[str]:
    """Lines for what is used beside the notebooks: the extra for languages, added folders."""
    others = [f"Languages English, and others with {PACKAGE}"] if _extras(workspace) else []
    return others + [f"Folder    {_folder_line(folder)}" for folder in added]


def _folder_line(folder: dict[str, Any]) -> str:
    many = len(folder["problems"])
    more = f"; {plural(folder['links'], 'link')} left out" if folder["links"] else ""
    more += f"; {plural(many, 'problem')}, such as: {folder['problems'][0]}" if many else ""
    return f"{folder['name']}: {plural(folder['articles'], 'article')} in {folder['path']}{more}"


def _trust_word(status: trust.TrustStatus) -> str:
    if status.trusted or status.nothing_to_trust:
        return "trusted" if status.trusted else "no Co files here yet"
    return "changed since you trusted it: co trust" if status.changed else "not trusted: co trust"
