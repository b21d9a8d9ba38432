"""Which rows Co exported on this machine: digests in the state folder, no words.

An import takes such a row for the person's own. Whatever else says so in its fields is external.
"""

import json
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from co_cli import paths
from co_cli.errors import CoError
from co_cli.knowledge.store import disk

_MOST = 100_000  # rows; beyond that the oldest are external again
_PATIENCE = 5.0  # seconds to wait for another export
_OPEN = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def record(rows: Iterable[Mapping[str, Any]]) -> None:
    """Remember these rows; where the disk refuses, they are external when they are imported."""
    wanted = dict.fromkeys(map(_digest, rows))
    with suppress(CoError, OSError):
        disk.make_folder(paths.state_folder(), 0o700)
        with disk.opened(_path(), _OPEN, 0o600):
            pass
        with disk.locked(_path(), _PATIENCE):
            known = dict.fromkeys(_recorded())
            if wanted.keys() - known.keys():
                kept = [*(key for key in known if key not in wanted), *wanted][-_MOST:]
                disk.put(_path(), "\n".join(kept).encode())


class Exported:
    """What was exported when an import began."""

    def __init__(self) -> None:
        self._known = frozenset(_recorded())

    def has(self, row: Mapping[str, Any]) -> bool:
        """Whether Co wrote this row, to the last letter of every field."""
        return bool(self._known) and _digest(row) in self._known


def _digest(row: Mapping[str, Any]) -> str:
    text = json.dumps(row, sort_keys=True, ensure_ascii=True)
    return str(disk.digest(text.encode()))[:32]


def _recorded() -> list[str]:
    with suppress(CoError, OSError):
        return (disk.read_if_any(_path()) or b"").decode("ascii", "replace").split()
    return []


def _path() -> str:
    return os.path.join(paths.state_folder(), "exported")
