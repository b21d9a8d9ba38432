"""What was learnt when an article's source was last read: a small file each, in the state folder.

Losing one costs a whole fetch and nothing else. That there is one tells that the source was read
for this article of this notebook on this machine, which a note from elsewhere only claims.
"""

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from typing import NamedTuple, Self

from co_cli import paths
from co_cli.errors import CoError
from co_cli.knowledge.article import at_rest, canonical
from co_cli.knowledge.format.note import Note
from co_cli.knowledge.notebook import Notebook
from co_cli.knowledge.store import disk


class Record(NamedTuple):
    """What the server said of a page's age, the digest of what the page said, and when.

    `pending` is the digest of what Co was about to write into the article: whoever is killed before
    the next record leaves either text, and nobody edited it.
    """

    etag: str = ""
    modified: str = ""
    text: str = ""
    checked: str = ""
    pending: str = ""

    def is_of(self, text: str) -> bool:
        """Whether this text came from the source, as far as is known."""
        return digest(text) in (self.text, self.pending)

    def expecting(self, old: str, new: str) -> Self:
        """The record while an article's text gives way to another that the source says now."""
        here = self
        if self.pending and self.pending == digest(old):  # who wrote it noted no more than that
            here = self._replace(etag="", modified="", text=self.pending)
        return here._replace(pending=digest(new))


def digest(text: str) -> str:
    """The same for two texts of a page on which nothing but dates and counters has moved."""
    return str(disk.digest("\n".join(at_rest(text)).encode("utf-8", "surrogatepass")))


def load(book: Notebook, note: Note) -> Record | None:
    """What is known of an article's source; None when it was not read here, or for another."""
    with suppress(CoError, ValueError, AttributeError):
        if (data := disk.read_if_any(_path(book, note))) is not None:
            told = json.loads(data)
            return Record(*(str(told.get(name, "")) for name in Record._fields))
    return None


def save(book: Notebook, note: Note, record: Record) -> None:
    """Take down what the source of this article says; a disk that refuses stops nothing."""
    path = _path(book, note)
    with suppress(CoError, OSError):
        disk.make_folder(os.path.dirname(path), 0o700)
        disk.put(path, json.dumps(record._asdict()).encode())


def drop(book: Notebook, notes: Iterable[Note]) -> None:
    """Forget the sources of these articles."""
    for note in notes:
        with suppress(FileNotFoundError):
            os.unlink(_path(book, note))


def _path(book: Notebook, note: Note) -> str:
    source = str(note.meta["source"])
    parts = os.path.realpath(book.root), note.mark, canonical(source) or source
    name = disk.digest("\0".join(parts).encode("utf-8", "surrogatepass"))
    return os.path.join(paths.state_folder(), "sources", f"{name}.json")
