"""When notes were last recalled into an answer: one small file in the state folder, never a note.

It holds uids and times, no words. Losing it loses nothing else: a use that nobody counted is
unknown, which is not the same as never.
"""

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

from co_cli import paths
from co_cli.errors import CoError
from co_cli.knowledge.format.note import Note
from co_cli.knowledge.store import disk

MOST = 20_000  # notes whose last use is kept
LARGEST = 2 * 1024 * 1024  # bytes of the file before what is out of date in it goes
_PATIENCE = 0.5  # seconds; nobody waits longer for an answer because of this
_OPEN = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_AT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\S{0,20}")


class Use(NamedTuple):
    """Since when uses are counted, and when each note was used last, the latest at the end."""

    since: str
    when: dict[str, str]

    def of(self, note: Note) -> str:
        """When a note was last used; `never`, or `unknown` for one older than the counting."""
        counted = self.since and note.created[:19] > self.since[:19]
        return self.when.get(_key(note)) or ("never" if counted else "unknown")

    def rank(self, note: Note) -> str:
        """What puts notes in order: what was never used comes before the unknown and the used."""
        told = self.of(note)
        return {"never": "0", "unknown": "1"}.get(told, told)


def used(notes: Iterable[Note], at: str) -> None:
    """Take down that these were recalled into an answer; a disk that refuses stops nothing."""
    keys = " ".join(dict.fromkeys(map(_key, notes)))
    if not keys:
        return
    with suppress(CoError, OSError), _alone(), disk.opened(_path(), _OPEN | os.O_APPEND) as fd:
        size = os.fstat(fd).st_size
        # A line begins with its break, so that one that was cut short spoils no other.
        disk.write_all(fd, f"{'' if size else f'since {at}'}\n{at} {keys}".encode())
        if size > LARGEST:
            use = last_used()
            _write(use._replace(since=use.since or at))


def last_used() -> Use:
    """What is known of the use of notes."""
    data, since, when = b"", "", dict[str, str]()
    with suppress(CoError, OSError):
        data = disk.read_if_any(_path()) or b""
    for line in data.decode("ascii", "replace").split("\n"):
        at, *keys = line.split(" ")
        if at == "since":
            since = next(filter(_AT.fullmatch, keys), since)
        elif _AT.fullmatch(at):
            for key in keys:
                when.pop(key, None)  # to the end
                when[key] = at
    return Use(since, when)


def drop(notes: Iterable[Note]) -> None:
    """Forget the use of notes that are purged."""
    gone = set(map(_key, notes))
    if not gone.isdisjoint(last_used().when):
        with _alone():
            use = last_used()
            _write(use._replace(when={key: at for key, at in use.when.items() if key not in gone}))


def _key(note: Note) -> str:
    """What a note is called here: by its uid; for one without, nothing that tells its words."""
    uid = str(note.meta.get("uid") or "")
    fits = re.fullmatch(r"[A-Za-z0-9_-]{1,64}", uid)
    return uid if fits else str(disk.digest(note.path.encode("utf-8", "surrogateescape")))[:32]


def _path() -> str:
    return os.path.join(paths.state_folder(), "use")


@contextmanager
def _alone() -> Iterator[None]:
    """While entered, nobody else writes the file, which is for its owner alone."""
    disk.make_folder(paths.state_folder(), 0o700)
    with disk.opened(_path(), _OPEN, 0o600):
        pass
    with disk.locked(_path(), _PATIENCE):
        yield


def _write(use: Use) -> None:
    """Write the file anew, a line a note; the use of those that find no room becomes unknown."""
    kept, lost = [*use.when.items()][-MOST:], [*use.when.items()][:-MOST]
    since = max([use.since, *(at for _, at in lost)])
    disk.put(_path(), "\n".join([f"since {since}", *(f"{at} {key}" for key, at in kept)]).encode())
