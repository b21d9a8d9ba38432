"""Whether an article's source says something else by now. Writes nothing to a notebook."""

from contextlib import nullcontext
from typing import Literal, NamedTuple

from co_cli.articles import ingest, records
from co_cli.articles.addresses import NOBODY
from co_cli.articles.extract import Reader
from co_cli.articles.ingest import Found, Watch
from co_cli.errors import CoError, Gone, NotFound
from co_cli.knowledge.article import About
from co_cli.knowledge.format.note import Note, timestamp
from co_cli.knowledge.notebook import Notebook
from co_cli.knowledge.plan import Plan
from co_cli.knowledge.store import disk

State = Literal["unchanged", "changed", "gone", "failed"]


class Checked(NamedTuple):
    """How an article stands to its source, and what bringing it up to date would change."""

    state: State
    why: str = ""
    found: Found | None = None
    about: About | None = None
    plan: Plan | None = None


def has_source(note: Note) -> bool:
    """Whether there is something to compare an article with: a page, or a file once read here."""
    source = str(note.meta["source"])
    return ingest.is_address(source) or records.load(source) is not None


def last_checked(note: Note) -> str:
    """When its source was last compared with it, or read."""
    record = records.load(str(note.meta["source"]))
    return max(str(note.meta["fetched"]), record.checked if record else "")


def check(
    book: Notebook,
    note: Note,
    reader: Reader,
    *,
    allow_private: bool = False,
    allow_secret: bool = False,
    watch: Watch = lambda _label: nullcontext(),
) -> Checked:
    """Ask the source; where it says something else, plan the change."""
    source = str(note.meta["source"])
    try:
        found = _read_again(note, source, reader, allow_private, watch)
        if found is None:
            known = records.load(source) or records.Record()
            records.save(source, note, known.validators, timestamp(book.clock()))
            return Checked("unchanged")
        about = found.about(allow_secret=allow_secret)
        plan = book.plan_keep(found.text, **about)
        if plan.saved.note.path != note.path:
            return Checked("failed", f"{plan.saved.ref} has the same source, and comes first")
    except (Gone, NotFound) as error:
        return Checked("gone", str(error))
    except CoError as error:
        return Checked("failed", error.sentence())
    if plan.saved.action == "unchanged":
        ingest.note_record(book, found, plan.saved)
        return Checked("unchanged")
    return Checked("changed", found=found, about=about, plan=plan)


def _read_again(
    note: Note, source: str, reader: Reader, allow_private: bool, watch: Watch
) -> Found | None:
    """What the source says now; None when it is surely the same."""
    record = records.load(source)
    if ingest.is_address(source):
        same = record and record.text == disk.digest(note.body.encode())
        known = record.validators if record and same else None
        allow = ingest.allowing(source) if allow_private else NOBODY
        return ingest.read(source, reader, known=known, allow=allow, watch=watch)
    if record is None:  # a note may come from elsewhere, and name any file
        raise CoError("its source was not read on this machine", hint="`co ingest FILE` reads it.")
    data = ingest.file_bytes(source)
    if note.attachment and note.meta.get("sha256") == disk.digest(data):
        return None
    return ingest.read_file(source, data, reader, watch)
