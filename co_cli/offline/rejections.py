"""What the person did not want kept, so that it is not offered again, also in other words.

The state folder keeps a digest of each, and no word. The words are where the person can find, undo
and purge them: in the archive of the notebook whose inbox the draft was in. So a fact is known
again in its own words everywhere, and in others wherever that notebook is read.
"""

import json
import os
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from operator import mul

from co_cli import paths
from co_cli.errors import CoError, EmbedderUnavailable
from co_cli.knowledge import Notebook
from co_cli.knowledge.compare.relation import states_same
from co_cli.knowledge.compare.same import key, same
from co_cli.knowledge.format.note import Note
from co_cli.knowledge.inbox import waiting
from co_cli.knowledge.meaning.encoders import built_in
from co_cli.knowledge.pages import INBOX
from co_cli.knowledge.store import disk, mark

MOST = 1000  # rejections that are remembered, the newest
_NEAREST = 4  # texts that are read for whether they state the same
_FILE = "rejected.jsonl"


def rejections(*books: Notebook) -> Callable[[str], bool]:
    """What tells whether the person rejected a text before, as far as these notebooks know it.

    What waits again, because the person took a rejection back, is not rejected.
    """
    if not (known := {*_load()}):
        return lambda _text: False
    known -= {_digest(draft.body) for book in books for draft in waiting(book)}
    gone = [note for book in books for _, note in book.archived()]
    drafts = [note.body for note in gone if note.file.startswith(f"{INBOX}/")]
    texts = [text for text in drafts if _digest(text) in known]
    return lambda text: _digest(text) in known or states_any(text, texts)


def states_any(text: str, others: Iterable[str]) -> bool:
    """Whether one of the texts that are most like a text states the same."""
    nearest = sorted(others, key=lambda other: _near(other, text), reverse=True)[:_NEAREST]
    return any(same(other, text) or states_same(other, text) for other in nearest)


def _near(one: str, other: str) -> float:
    """How like two texts are; by their words where Co's weights cannot be read."""
    with suppress(EmbedderUnavailable):
        first, second = (memoryview(built_in().quickly(text)).cast("b") for text in (one, other))
        return float(sum(map(mul, first, second)))
    words, others = {*one.lower().split()}, {*other.lower().split()}
    return len(words & others) / max(len(words | others), 1)


def remember_rejection(draft: Note) -> None:
    """Take down that the person did not want this draft."""
    new = _digest(draft.body)
    _save({new}, new)


def forget_rejections(texts: Collection[str]) -> None:
    """Take out these texts, which are purged."""
    if os.path.lexists(os.path.join(paths.state_folder(), _FILE)):
        _save({*map(_digest, texts)})


def _digest(text: str) -> str:
    return mark(key(text))


def _load() -> list[str]:
    """What is remembered; a line that is not Co's is passed over."""
    found, data = list[str](), None
    with suppress(CoError):
        data = disk.read_if_any(os.path.join(paths.state_folder(), _FILE))
    for line in (data or b"").splitlines():
        with suppress(ValueError, TypeError, KeyError):
            found.append(str(json.loads(line)["said"]))
    return found


def _save(gone: set[str], *more: str) -> None:
    """Keep all but those that go, and more, in a file of the person's own."""
    folder = paths.state_folder()
    with disk.in_words():
        disk.make_folder(folder, 0o700)
        with disk.locked(os.path.join(folder, f"{_FILE}.lock")):
            kept = [*(one for one in _load() if one not in gone), *more][-MOST:]
            data = "".join(f"{json.dumps({'said': digest})}\n" for digest in kept).encode()
            with disk.staged(folder, data, 0o600) as temp:
                os.replace(temp, os.path.join(folder, _FILE))
