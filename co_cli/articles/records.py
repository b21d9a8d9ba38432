"""What was learnt of a source when it was last read here: a small file each, in the state folder.

Losing one costs a whole fetch and nothing else. That there is one tells that the source was read
on this machine, which a note from elsewhere only claims.
"""

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from typing import NamedTuple

from co_cli import paths
from co_cli.articles.fetch import Validators
from co_cli.errors import CoError
from co_cli.knowledge.article import canonical
from co_cli.knowledge.format.note import Note
from co_cli.knowledge.store import disk


class Record(NamedTuple):
    """What the server said of a page's age, the digest of the text that holds for, and when."""

    validators: Validators = Validators()
    text: str = ""
    checked: str = ""


def load(source: str) -> Record | None:
    """What is known of a source; None when it was not read here."""
    with suppress(CoError, ValueError, TypeError, KeyError):
        if (data := disk.read_if_any(_path(source))) is not None:
            told = json.loads(data)
            etag, modified, text, checked = (
                str(told[name]) for name in ("etag", "modified", "text", "checked")
            )
            return Record(Validators(etag, modified), text, checked)
    return None


def save(source: str, note: Note, validators: Validators, checked: str) -> None:
    """Take down that the source says what this note holds; a disk that refuses stops nothing."""
    record = {**validators._asdict(), "text": disk.digest(note.body.encode()), "checked": checked}
    path = _path(source)
    with suppress(CoError, OSError):
        disk.make_folder(os.path.dirname(path), 0o700)
        disk.put(path, json.dumps(record).encode())


def drop(sources: Iterable[str]) -> None:
    """Forget these sources."""
    for source in sources:
        with suppress(FileNotFoundError):
            os.unlink(_path(source))


def _path(source: str) -> str:
    name = disk.digest((canonical(source) or source).encode("utf-8", "surrogatepass"))
    return os.path.join(paths.state_folder(), "sources", f"{name}.json")
