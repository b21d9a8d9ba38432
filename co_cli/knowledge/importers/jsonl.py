"""Notes from JSON Lines, a note a line; what `co knowledge export` writes is read back.

A row that Co did not export on this machine is external, whatever its fields say.
"""

import os
import stat

from co_cli.errors import FormatError
from co_cli.knowledge.exported import Exported
from co_cli.knowledge.format.json_reader import read_json
from co_cli.knowledge.format.note import decode, moment_of
from co_cli.knowledge.importers.batch import ImportBatch, iso_moment
from co_cli.knowledge.pages import Problem
from co_cli.knowledge.store import disk

MAX_LINE = 16 * 1024 * 1024  # an article may be long
MAX_BAD_LINES = 100


def read_lines(path: str, batch: ImportBatch) -> None:
    """Read a file line by line, however long it is; bad lines are reported by their number."""
    exported = Exported()
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
    with disk.in_words(), open(os.open(path, flags), "rb") as file:
        info = os.fstat(file.fileno())
        if not stat.S_ISREG(info.st_mode):
            batch.problems.append(Problem(path, "is not a plain file"))
            return
        changed = moment_of(info.st_mtime_ns)
        number = bad = 0
        while bad < MAX_BAD_LINES and (line := file.readline(MAX_LINE + 1)):
            number += 1
            try:
                _read_line(line, f"{path}:{number}", changed, exported, batch)
            except FormatError as error:
                batch.problems.append(Problem(path, str(error), number))
                bad += 1
            while not line.endswith(b"\n") and (line := file.readline(MAX_LINE)):
                pass
    if bad == MAX_BAD_LINES:
        batch.problems.append(Problem(path, f"{bad} bad lines; the rest was not read", number))
    batch.sources.append(path)


def _read_line(
    line: bytes, origin: str, changed: str, exported: Exported, batch: ImportBatch
) -> None:
    if len(line) > MAX_LINE:
        raise FormatError(f"the line is longer than {MAX_LINE // 1024} KiB")
    if not (text := decode(line).removeprefix("\ufeff").strip()):
        return
    data = read_json(text)
    if not isinstance(data, dict):
        raise FormatError("must be a JSON object")
    content = data.get("text") if data.get("content") is None else data["content"]
    if not isinstance(content, str):
        raise FormatError("Field 'content' must be a string")
    if data.get("kind") == "article":
        batch.add_article(content, origin, data)
        return
    if not exported.has(data):
        data = {name: value for name, value in data.items() if name != "origin"}
        data["trust"] = data.get("trust") or "external"
    batch.add_text(content, origin, data, iso_moment(data.get("created")) or changed)
