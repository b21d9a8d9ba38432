"""Import: find out what a path holds, read it, and plan what it would add to a notebook.

A file that cannot be read is reported and left alone. What may be stored, and what is stored
already, is for the notebook to say.
"""

import math
import os
import stat
from datetime import UTC, datetime
from pathlib import Path

from co_cli.errors import CoError, FormatError, MovedOn, NotFound
from co_cli.knowledge.format.note import timestamp
from co_cli.knowledge.importers import jsonl, legacy_json, markdown
from co_cli.knowledge.importers.batch import LOOKS_FOR, ImportBatch
from co_cli.knowledge.notebook import Notebook
from co_cli.knowledge.pages import Problem
from co_cli.knowledge.plan import ImportItem, ImportPlan
from co_cli.knowledge.store import disk


def collect(path: Path) -> ImportBatch:
    """Read what can be imported from a project, a folder of markdown or a single file."""
    batch, shown, suffix = ImportBatch(), str(path), path.suffix.lower()
    with disk.in_words():
        try:
            is_folder = stat.S_ISDIR(os.stat(path).st_mode)
        except (*disk.ABSENT, ValueError):
            raise NotFound(f"there is nothing at {shown}", hint=LOOKS_FOR) from None
    if is_folder:
        if not legacy_json.read_project(shown, batch):
            markdown.read_folder(shown, batch)
    elif suffix in (".jsonl", ".ndjson"):
        jsonl.read_lines(shown, batch)
    elif suffix in (".md", ".json"):  # the person named it, so it may be a link
        importer = markdown.read_markdown if suffix == ".md" else legacy_json.read_file
        batch.read(shown, importer, real=os.path.realpath(path))
    if not (batch.sources or batch.problems):
        raise CoError(f"{shown} holds nothing to import", hint=LOOKS_FOR)
    batch.items.sort(key=_age)
    return batch


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
    plan = book.plan_import(batch.items, context=context)
    plan.refused += refused
    for edit in plan.change.edits if plan.change else ():
        if edit.path == "context.md" and edit.before != old:
            raise MovedOn("context.md changed while the import was planned", hint="Try again.")
    return plan
