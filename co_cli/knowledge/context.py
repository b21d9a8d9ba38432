"""The context files: what is loaded at the start of every session, and the receipt for it.

Knows nothing of trust or of the prompt's envelope; the text is what the files hold.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import Any, NamedTuple

from co_cli import paths
from co_cli.errors import CoError
from co_cli.knowledge.format.frontmatter import (
    find_header,
    parse_frontmatter,
    validate_context_frontmatter,
    validated,
)
from co_cli.knowledge.format.note import decode
from co_cli.knowledge.pages import Problem
from co_cli.knowledge.safety.escape import escape
from co_cli.knowledge.store import disk
from co_cli.paths import AnyPath

SIZE_TARGET = 10 * 1024
SIZE_LIMIT = 20 * 1024
GLOBAL_BUDGET = 3 * 1024
PROJECT_BUDGET = 7 * 1024


class ContextFile(NamedTuple):
    """What one file gave: its size, and how much of its text (without header) was used and cut."""

    title: str
    path: AnyPath
    bytes_in_file: int
    bytes_loaded: int
    bytes_cut: int
    budget: int
    over_budget: bool

    def __str__(self) -> str:
        cut = f", {_amount(self.bytes_cut)} cut" if self.bytes_cut else ""
        over = f", over its {self.budget // 1024} KiB budget" if self.over_budget else ""
        return f"{self.title}: {_amount(self.bytes_loaded)}{cut}{over}, from {self.path}"


class Receipt(NamedTuple):
    """What was loaded, cut and skipped; `size` is the combined text's before anything was cut.

    `text` is for the prompt; None when there is none.
    """

    files: tuple[ContextFile, ...] = ()
    skipped: tuple[Problem, ...] = ()
    size: int = 0
    text: str | None = None

    def line(self) -> str:
        """The whole receipt in a few words."""
        used = [file for file in self.files if file.bytes_loaded]
        words = [f"{len(used) or 'no'} context file{'' if len(used) == 1 else 's'}"]
        if used:
            words.append(_amount(sum(file.bytes_loaded for file in used)))
        if cut := sum(file.bytes_cut for file in self.files):
            words.append(f"{_amount(cut)} cut")
        words += [
            f"{file.title.split()[0].lower()} over its {file.budget // 1024} KiB budget"
            for file in self.files
            if file.over_budget
        ]
        if self.skipped:
            words.append(f"{len(self.skipped)} skipped")
        return ", ".join(words)

    def warnings(self) -> list[str]:
        """What a person should be told, a line each; nothing when all is well."""
        lines = [f"WARNING: context file skipped: {skip}" for skip in self.skipped]
        what = f"context of {self.size} bytes exceeds"
        if self.size > SIZE_LIMIT:
            cut = sum(file.bytes_cut for file in self.files)
            lines.append(f"ERROR: {what} {SIZE_LIMIT}; {cut} were left out. Shorten context.md.")
        elif self.size > SIZE_TARGET:
            lines.append(f"WARNING: {what} {SIZE_TARGET}. Consider shortening context.md.")
        return [escape(line, keep="") for line in lines]

    def details(self) -> list[str]:
        """The receipt file by file."""
        lines = [*map(str, self.files), *(f"skipped: {skip}" for skip in self.skipped)]
        return [escape(line, keep="") for line in lines]

    def as_json(self) -> dict[str, Any]:
        """The receipt as plain values."""
        return {
            "files": [{**file._asdict(), "path": str(file.path)} for file in self.files],
            "skipped": [skip._asdict() for skip in self.skipped],
            "size": self.size,
        }


def read_context(
    user_file: AnyPath | None, project_file: AnyPath | None, project_data: bytes | None = None
) -> Receipt:
    """Read the context files into one text of at most SIZE_LIMIT bytes; silent, never raises.

    `project_data` is what the project's file holds, for a caller who has looked at it.
    """
    sources: list[tuple[ContextFile, str]] = []
    skipped: list[Problem] = []
    for title, path, budget, data in (
        ("Global Context", user_file, GLOBAL_BUDGET, None),
        ("Project Context", project_file, PROJECT_BUDGET, project_data),
    ):
        try:
            if path is not None:
                raw = disk.read_signed(os.fspath(path))[0] if data is None else data
                body = _body(raw)
                over = _size(body) > budget
                file = ContextFile(title, path, len(raw), _size(body), 0, budget, over)
                sources.append((file, body))
        except FileNotFoundError:
            continue
        except CoError as error:
            skipped.append(Problem(str(path), str(error), getattr(error, "line", 0)))
    size = _size(_join([(file.title, body) for file, body in sources if body]))
    texts, files = _fit(sources)
    return Receipt(files, tuple(skipped), size, _join(texts) or None)


def load_internal_knowledge() -> str | None:
    """The context of the person and of the project they are in; what is wrong goes to stderr."""
    files: list[str | None] = []
    lost: list[Problem] = []
    for find in (paths.user_knowledge, lambda: paths.knowledge_folder(paths.project_folder())):
        try:
            files.append(os.path.join(find(), "context.md"))
        except CoError as error:
            files.append(None)
            lost.append(Problem("context.md", str(error)))
    loaded = read_context(files[0], files[1])
    with suppress(OSError, ValueError):  # nobody to tell is no reason to stop a session
        for line in loaded._replace(skipped=(*lost, *loaded.skipped)).warnings():
            print(line, file=sys.stderr)  # noqa: T201
    return loaded.text


def _body(raw: bytes) -> str:
    text = decode(raw).removeprefix("\ufeff")
    header, body = parse_frontmatter(text)
    if find_header(text) is not None:
        validated(text, header, validate_context_frontmatter)
    return body.strip()


def _join(sections: list[tuple[str, str]]) -> str:
    parts = [f"### {title}\n\n{body}" for title, body in sections]
    return "\n\n".join(["## Internal Knowledge", *parts]) if parts else ""


def _size(text: str) -> int:
    return len(text.encode())


def _fit(
    sources: list[tuple[ContextFile, str]],
) -> tuple[list[tuple[str, str]], tuple[ContextFile, ...]]:
    """Titles and texts that fit together, in order, and what was used of each file.

    Room is given from the last file to the first: the project's text survives, and once some of
    it must go, nothing of the person's own file stays.
    """
    texts: list[tuple[str, str]] = []
    used: list[ContextFile] = []
    for file, body in reversed(sources):
        name, size = escape(str(file.path), keep=""), _size(body)
        room = SIZE_LIMIT - _size(_join([(file.title, ""), *texts]))
        starved = any(other.bytes_cut for other in used)
        text, loaded = body, size
        if size > room or starved:
            room -= _size(_notice(name, size)) + 1
            text, loaded = (
                cut(body, 0 if starved else room, name) if size and room >= 0 else ("", 0)
            )
        if text:
            texts.insert(0, (file.title, text))
        used.insert(0, file._replace(bytes_loaded=loaded, bytes_cut=size - loaded))
    return texts, tuple(used)


def cut(text: str, room: int, name: str) -> tuple[str, int]:
    """As much of a text as so many bytes hold, a line in place of the rest, and the bytes kept."""
    data = text.encode()
    if len(data) <= room:
        return text, len(data)
    end = data.rfind(b"\n", 0, room + 1)
    line_end = data.find(b"\n", end + 1)
    if (len(data) if line_end < 0 else line_end) - end - 1 > room:
        end = room  # a line that no room could hold: break it rather than lose it
    kept = data[:end].decode("utf-8", "ignore").rstrip()
    notice = _notice(name, len(data) - _size(kept))
    return f"{kept}\n{notice}" if kept else notice, _size(kept)


def _notice(name: str, left_out: int) -> str:
    return f"[cut here: {left_out:,} bytes of {name} left out; shorten the file]"


def _amount(size: int) -> str:
    return f"{size} byte{'' if size == 1 else 's'}" if size < 1024 else f"{size / 1024:.1f} KiB"
