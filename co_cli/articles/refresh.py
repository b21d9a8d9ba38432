"""Whether an article's source says something else by now. Writes nothing to a notebook."""

from shlex import quote
from typing import Literal, NamedTuple

from co_cli.articles import ingest, records
from co_cli.articles.addresses import NOBODY
from co_cli.articles.extract import Reader
from co_cli.articles.fetch import NOTHING_KNOWN, Validators
from co_cli.articles.ingest import Found, Planned, Watch, unwatched
from co_cli.errors import CoError, Gone, NotFound, NotPublic
from co_cli.knowledge.format.note import Note, timestamp
from co_cli.knowledge.notebook import Notebook
from co_cli.knowledge.store import disk

State = Literal["unchanged", "changed", "gone", "failed"]


class Checked(NamedTuple):
    """How an article stands to its source, and what bringing it up to date would change."""

    state: State
    why: str = ""
    change: Planned | None = None


def has_source(book: Notebook, note: Note) -> bool:
    """Whether there is something to compare an article with: a page, or a file read for it here."""
    return ingest.is_address(str(note.meta["source"])) or records.load(book, note) is not None


def last_checked(book: Notebook, note: Note) -> str:
    """When its source was last compared with it, or read."""
    record = records.load(book, note)
    return max(str(note.meta["fetched"]), record.checked if record else "")


def check(
    book: Notebook,
    note: Note,
    reader: Reader,
    *,
    allow_private: bool = False,
    allow_secret: bool = False,
    watch: Watch = unwatched,
) -> Checked:
    """Ask the source; where it says something else, plan the change."""
    record = records.load(book, note)
    try:
        found = _read_again(note, record, reader, allow_private, watch)
        if found is None:
            known = record or records.Record(text=records.digest(note.body))
            records.save(book, note, known._replace(checked=timestamp(book.clock())))
            return Checked("unchanged")
        change = ingest.plan(book, found, found.about(allow_secret=allow_secret))
        saved = change.plan.saved
        if saved.note.path != note.path:
            return Checked("failed", f"{saved.ref} has the same source, and comes first")
    except (Gone, NotFound) as error:
        return Checked("gone", str(error))
    except CoError as error:
        own = isinstance(error, NotPublic) and not allow_private
        hint = f" If it is your own: co knowledge refresh {book.ref(note)} --allow-private"
        return Checked("failed", error.sentence() + (hint if own else ""))
    if saved.action == "unchanged":
        ingest.note_record(book, found, saved)
        return Checked("unchanged")
    return Checked("changed", change=change)


def _read_again(
    note: Note, record: records.Record | None, reader: Reader, allow_private: bool, watch: Watch
) -> Found | None:
    """What the source says now; None when it is surely the same."""
    source = str(note.meta["source"])
    if ingest.is_address(source):
        known = NOTHING_KNOWN
        if record and record.pending != records.digest(note.body):
            known = Validators(record.etag, record.modified)
        allow = ingest.allowing(source) if allow_private else NOBODY
        return ingest.read(source, reader, known=known, allow=allow, watch=watch)
    if record is None:  # a note may come from elsewhere, and name any file
        hint = f"`co ingest {quote(source)}` reads it."
        raise CoError("its source was not read for it on this machine", hint=hint)
    data = ingest.file_bytes(source)
    if note.attachment and note.meta.get("sha256") == disk.digest(data):
        return None
    return ingest.read_file(source, data, reader, watch)
