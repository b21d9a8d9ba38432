"""Import: find out what a path holds, read it, and plan what it would add to a notebook.

A file that cannot be read is reported and left alone. What may be stored, and what is stored
already, is for the notebook to say.
"""

import math
import os
import stat
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from co_cli.errors import CoError, FormatError, MovedOn, NotFound
from co_cli.knowledge.format.note import timestamp
from co_cli.knowledge.importers import jsonl, legacy_json, markdown
from co_cli.knowledge.importers.batch import LOOKS_FOR, ImportBatch
from co_cli.knowledge.importers.links import MAX_LINKS, some
from co_cli.knowledge.notebook import Notebook
from co_cli.knowledge.pages import Problem
from co_cli.knowledge.plan import ImportItem, ImportPlan
from co_cli.knowledge.store import disk


def collect(path: Path, *, own: str = "", split: bool = False) -> ImportBatch:
    """Read what can be imported from a project, a folder of markdown or a single file.

    What lies in `own`, the notebook itself, is not from elsewhere. With `split` each item of a
    list in markdown is a text of its own.
    """
    batch, shown, suffix = ImportBatch(), str(path), path.suffix.lower()
    with disk.in_words():
        try:
            is_folder = stat.S_ISDIR(os.stat(path).st_mode)
        except (*disk.ABSENT, ValueError):
            raise NotFound(f"there is nothing at {shown}", hint=LOOKS_FOR) from None
    if is_folder:
        if not legacy_json.read_project(shown, batch):
            markdown.read_folder(shown, batch, own=own, split=split)
    elif suffix in (".jsonl", ".ndjson"):
        jsonl.read_lines(shown, batch)
    elif suffix in (".md", ".json"):  # the person named it, so it may be a link
        page = partial(markdown.read_markdown, split=split)
        importer = page if suffix == ".md" else legacy_json.read_file
        batch.read(shown, importer, real=os.path.realpath(path))
    if not (batch.sources or batch.problems):
        raise CoError(f"{shown} holds nothing to import", hint=LOOKS_FOR)
    _settle(batch, shown)
    return batch


def _settle(batch: ImportBatch, shown: str) -> None:
    """Put the texts in order and make their links lead to each other, now that all are known."""
    found, lost = batch.links.settle()
    why = f"no such note here, several, or more than {MAX_LINKS}"
    told = {f"links stay text ({why})": lost, "unknown header fields, left out": [*batch.unknown]}
    batch.remarks += [Problem(shown, f"{t}: {some(names)}") for t, names in told.items() if names]
    batch.items = [item._replace(links=found.get(item.origin, ())) for item in batch.items]
    batch.items.sort(key=_age)
    if all(item.origin in batch.order for item in batch.items):
        batch.items.sort(key=lambda item: batch.order[item.origin])


def _age(item: ImportItem) -> float:
    """What puts older items first, whatever time zones they are written in."""
    if not item.created:
        return math.inf
    moment = datetime.fromisoformat(item.created)
    return moment.replace(tzinfo=moment.tzinfo or UTC).timestamp()


def plan_import(book: Notebook, batch: ImportBatch) -> ImportPlan:
    """What importing this would change; nothing of it when done a second time."""
    old = context = None
    refused = []
    if batch.context:
        try:
            old = book.store.read("context.md")
            context = legacy_json.add_to_context(old, batch.context, timestamp(book.clock()))
        except FormatError as error:
            path = os.path.join(book.root, "context.md")
            refused.append(Problem(path, f"left alone: {error}", error.line))
    plan = book.plan_import(batch.items, context, batch.articles)
    plan.refused += refused
    for edit in plan.change.edits if plan.change else ():
        if edit.path == "context.md" and edit.before != old:
            raise MovedOn("context.md changed while the import was planned", hint="Try again.")
    return plan
