"""The one way in for pages and files: a source becomes bytes, then text, then an article.

Knows no terminal and no model; a surface may watch.
"""

import os
import re
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from shlex import quote
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from co_cli.articles import records
from co_cli.articles.addresses import NOBODY, Allowed, read_url
from co_cli.articles.extract import MOST_BYTES, Document, Reader
from co_cli.articles.fetch import NOTHING_KNOWN, Validators, fetch
from co_cli.errors import CoError, FormatError, MovedOn, NotFound
from co_cli.knowledge.article import About, before
from co_cli.knowledge.format.note import timestamp
from co_cli.knowledge.notebook import Notebook
from co_cli.knowledge.plan import Plan, Saved
from co_cli.knowledge.safety.check import MAX_TAGS
from co_cli.knowledge.store import disk

STDIN = "standard input"
_AS_TEXT = ("html", "markdown", "notebook", "text")  # formats whose original is not kept
_TRIES = 3  # that a plan is made anew because somebody else wrote
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")

Watch = Callable[[str], AbstractContextManager[Callable[[int, int], None] | None]]


def unwatched(_label: str) -> AbstractContextManager[None]:
    """How a step is done that nobody watches."""
    return nullcontext()


class Found(NamedTuple):
    """A source as it was read now: what a document says, and its bytes where those are kept."""

    source: str
    document: Document
    original: tuple[str, bytes] | None = None
    validators: Validators = NOTHING_KNOWN

    @property
    def text(self) -> str:
        """What the article will say: where no text could be read, what is known instead."""
        return self.document.text.strip() or "\n\n".join(self.document.remarks)

    def about(
        self, tags: Sequence[str] = (), *, title: str = "", allow_secret: bool = False
    ) -> About:
        """What a notebook is told of it; a title that a person gives counts before its own."""
        return {
            "source": self.source,
            "title": title or self.document.title,
            "tags": tags,
            "fields": {"title": title} if title else None,
            "attachment": self.original,
            "allow_secret": allow_secret,
        }


def is_address(source: str) -> bool:
    """Whether a source is meant as an address on the web, whatever Co makes of it."""
    return _ADDRESS.match(source.strip()) is not None


def allowing(url: str) -> Allowed:
    """Leave to reach this one host and port, wherever they are."""
    place = read_url(url)
    return Allowed({place.host}, {place.port})


def read(
    source: str,
    reader: Reader,
    *,
    known: Validators = NOTHING_KNOWN,
    allow: Allowed = NOBODY,
    robots: bool = False,
    watch: Watch = unwatched,
) -> Found | None:
    """What a page or a file says now; None for a page that is still what was `known`."""
    if not is_address(source):
        return read_file(source, file_bytes(source), reader, watch)
    with watch("Fetching (KB)") as step:
        told = step and (lambda done, total: step(done >> 10, total >> 10))
        page = fetch(source, known=known, allow=allow, robots=robots, progress=told)
    if page.unchanged:
        return None
    name = os.path.basename(unquote(urlsplit(page.url).path))
    with watch("Reading pages") as step:
        document = reader.extract(
            page.body, kind=page.kind, name=name, url=page.url, charset=page.charset, progress=step
        )
    original = _original(document, page.body, name, page.kind)
    return Found(page.asked, document, original, page.validators)


def file_bytes(path: str) -> bytes:
    """A file that a person names, also by a link."""
    real = os.path.realpath(path)
    if os.path.isdir(real):
        hint = f"To search it in place: co knowledge add-folder {quote(path)}; "
        hint += f"to make memories of its notes: co knowledge import {quote(path)}"
        raise CoError(f"{path} is a folder", hint=hint)
    try:
        return disk.read_signed(real, MOST_BYTES)[0]
    except FileNotFoundError:
        hint = "An address on the web begins with https://."
        raise NotFound(f"there is no file {path}", hint=hint) from None
    except FormatError as error:
        raise CoError(f"{path} {error}") from error


def read_file(path: str, data: bytes, reader: Reader, watch: Watch = unwatched) -> Found:
    """What these bytes of a file say; `STDIN` in the place of a path for what was piped in."""
    name = "" if path == STDIN else os.path.basename(path)
    with watch("Reading pages") as step:
        document = reader.extract(data, name=name, progress=step)
    if path == STDIN:
        document = document._replace(title=document.title or "Pasted text")
    source = path if path == STDIN else os.path.realpath(path)  # whichever link leads there
    return Found(source, document, _original(document, data, name))


def _original(
    document: Document, data: bytes, name: str, kind: str = ""
) -> tuple[str, bytes] | None:
    """The bytes to keep beside the text, under a name whose ending tells what they are."""
    if document.format in _AS_TEXT:
        return None
    ending = document.format
    if ending == "image":
        ending = os.path.splitext(name)[1][1:] or kind.rpartition("/")[2]
    return f"original.{ending}", data


class Planned(NamedTuple):
    """What keeping a source does; `edited` if both a person and the source changed the text."""

    found: Found
    about: About
    plan: Plan
    edited: bool = False


def plan(
    book: Notebook, found: Found, about: About, *, own: bool = False, actor: str = "cli"
) -> Planned:
    """Decide what keeping it does.

    A text that a person edited stays where the source says what it said when it was read, and
    with `own` wherever they edited it.
    """
    made = book.plan_keep(found.text, actor=actor, **about)
    if made.saved.action == "created" and (found.document.tags or found.document.date):
        made = book.plan_keep(found.text, actor=actor, **_with_header(found.document, about))
    planned = Planned(found, about, made)
    old, new = before(made), made.saved.note
    if old is None or old.body == new.body:
        return planned
    record = records.load(book, old)
    if record is None or record.is_of(old.body):
        return planned
    changed = record.text != records.digest(found.text)
    if changed and own:
        about = {**about, "attachment": None}
    if own or not changed:
        planned = planned._replace(plan=book.plan_keep(old.body, actor=actor, **about))
    return planned._replace(edited=changed)


def _with_header(document: Document, about: About) -> About:
    """What is told of a new article, with what its own header tells."""
    given = list(about.get("tags") or ())
    own = [tag for tag in document.tags if tag not in given]
    fields = {**(about.get("fields") or {}), "date": document.date}
    return {**about, "tags": [*given, *own[: max(0, MAX_TAGS - len(given))]], "fields": fields}


def agree(book: Notebook, planned: Planned) -> None:
    """Keep it as an article as a person saw it; what its server said is noted."""
    found, about, agreed, _ = planned
    expect_record(book, found, agreed)
    saved = book.keep(found.text, seen=agreed.seen, agreed=agreed, **about)
    note_record(book, found, saved)


def keep(book: Notebook, found: Found, about: About, *, actor: str = "cli") -> Planned:
    """Keep it as an article, but for what a person wrote into that; what was done."""
    for tries in range(_TRIES + 1):
        # in a busy notebook, at last, while nobody else can write
        with book.store.locked() if tries == _TRIES else suppress(MovedOn):
            done = plan(book, found, about, own=True, actor=actor)
            expect_record(book, found, done.plan)
            saved = book.commit(done.plan)
            break
    if not done.edited:
        note_record(book, found, saved)
    return done


def expect_record(book: Notebook, found: Found, planned: Plan) -> None:
    """Take down what is about to be written into an article, as the record follows its file."""
    old = before(planned)
    record = records.load(book, old) if old else None
    if old and record and records.digest(planned.saved.note.body) == records.digest(found.text):
        records.save(book, old, record.expecting(old.body, found.text))


def note_record(book: Notebook, found: Found, saved: Saved) -> None:
    """Take down what the article's source says now."""
    if found.source != STDIN:
        at = timestamp(book.clock())
        text = records.digest(found.text)
        records.save(book, saved.note, records.Record(*found.validators, text, at))
