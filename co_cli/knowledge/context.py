"""The context files: what is loaded at the start of every session, and the receipt for it.

Knows nothing of trust or of the prompt's envelope; the text is what the files hold.
"""

import os
import sys
from contextlib import suppress
from typing import Any, NamedTuple, Self

from co_cli import paths
from co_cli.errors import CoError, MovedOn
from co_cli.knowledge.format.frontmatter import (
    find_header,
    parse_frontmatter,
    validate_context_frontmatter,
    validated,
)
from co_cli.knowledge.format.note import decode
from co_cli.knowledge.pages import Problem
from co_cli.knowledge.safety.escape import escape
from co_cli.knowledge.store import Change, Edit, Store, disk
from co_cli.paths import AnyPath

SIZE_TARGET = 10 * 1024
SIZE_LIMIT = 20 * 1024
GLOBAL_BUDGET = 3 * 1024
PROJECT_BUDGET = 7 * 1024


def start(store: Store, context: bytes, at: str) -> bool:
    """Begin a notebook with a context.md, unless there is one; whether it was written."""
    if store.signature("context.md"):
        return False
    edit = Edit("context.md", None, context)
    with suppress(MovedOn), store.locked():
        return bool(store.commit(Change("init", "cli", at, store.tail().n, (edit,))))
    return False


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


class Pinned(NamedTuple):
    """A pinned memory: how many bytes of it are in the prompt, or why it was left out.

    `outdated` says why it may no longer hold.
    """

    ref: str
    path: str
    bytes_loaded: int
    left_out: str = ""
    outdated: str = ""
    marks: tuple[str, ...] = ()


class Receipt(NamedTuple):
    """What was loaded, cut and skipped; `size` is the combined text's before anything was cut.

    `text` is for the prompt, None when there is none; `texts` are its parts by their titles. No
    more than `limit` bytes of the files are loaded.
    """

    files: tuple[ContextFile, ...] = ()
    skipped: tuple[Problem, ...] = ()
    size: int = 0
    text: str | None = None
    texts: tuple[tuple[str, str], ...] = ()
    limit: int = SIZE_LIMIT
    pinned: tuple[Pinned, ...] = ()

    @property
    def marks(self) -> list[str]:
        """What tells the memories in it in the record of a conversation."""
        return [mark for one in self.pinned for mark in one.marks]

    def adding(self, title: str, text: str) -> Self:
        """The same with one more part."""
        texts = (*self.texts, (title, text))
        return self._replace(texts=texts, text=_join([*texts]))

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
        if pinned := sum(not one.left_out for one in self.pinned):
            words.append(f"{pinned} pinned memor{'y' if pinned == 1 else 'ies'}")
        if left := [one.ref for one in self.pinned if one.left_out]:
            words.append(f"pinned but left out: [{'] ['.join(left)}]")
        if outdated := [one.ref for one in self.pinned if one.outdated]:
            words.append(f"pinned but outdated: [{'] ['.join(outdated)}]")
        return ", ".join(words)

    def warnings(self) -> list[str]:
        """What a person should be told, a line each; nothing when all is well."""
        lines = [f"WARNING: context file skipped: {skip}" for skip in self.skipped]
        what = f"Knowledge size {self.size} bytes exceeds"
        if self.size > self.limit:
            only = " This model has no room for more." * (self.limit < SIZE_LIMIT)
            bound = f"{self.limit} byte limit. Truncating to {self.limit} bytes."
            lines.append(f"ERROR: {what} {bound}{only}")
        elif self.size > SIZE_TARGET:
            lines.append(
                f"WARNING: {what} {SIZE_TARGET} byte target. Consider reducing context.md."
            )
        return [escape(line, keep="") for line in lines]

    def details(self) -> list[str]:
        """The receipt file by file, and what is pinned."""
        lines = [*map(str, self.files), *(f"skipped: {skip}" for skip in self.skipped)]
        if loaded := [one for one in self.pinned if not one.left_out]:
            size = _amount(sum(one.bytes_loaded for one in loaded))
            lines.append(f"Pinned: {', '.join(one.ref for one in loaded)} ({size})")
        lines += self.pinned_aside()
        return [escape(line, keep="") for line in lines]

    def pinned_aside(self) -> list[str]:
        """What is pinned and was left out, or may no longer hold, with the reasons."""
        refs: dict[str, list[str]] = {}
        for one in self.pinned:
            refs.setdefault(one.left_out, []).append(one.ref)
        out = [f"{', '.join(some)} ({why})" for why, some in refs.items() if why]
        old = [f"{one.ref} ({one.outdated})" for one in self.pinned if one.outdated]
        lines = [("Pinned but left out", out), ("Pinned but outdated", old)]
        return [f"{what}: {', '.join(those)}" for what, those in lines if those]

    def as_json(self) -> dict[str, Any]:
        return {
            "files": [{**file._asdict(), "path": str(file.path)} for file in self.files],
            "skipped": [skip._asdict() for skip in self.skipped],
            "size": self.size,
            "pinned": [dict(zip(Pinned._fields[:-1], one, strict=False)) for one in self.pinned],
        }


def read_context(
    user_file: AnyPath | None, project_file: AnyPath | None, project_data: bytes | None = None,
    limit: int = SIZE_LIMIT,
) -> Receipt:  # fmt: skip
    """Read the context files into one text of at most `limit` bytes; silent, never raises.

    `project_data` is what the project's file holds, for a caller who has looked at it. Where they
    are too long, the person's own text keeps 3 KiB, and the project's gets all the rest.
    """
    bodies: list[tuple[str, AnyPath, int, int, str]] = []
    skipped: list[Problem] = []
    for title, path, budget, data in (
        ("Global Context", user_file, GLOBAL_BUDGET, None),
        ("Project Context", project_file, PROJECT_BUDGET, project_data),
    ):
        if path is None:
            continue
        try:
            raw = disk.read_signed(os.fspath(path))[0] if data is None else data
            bodies.append((title, path, budget, len(raw), _body(raw)))
        except FileNotFoundError:
            continue
        except CoError as error:
            skipped.append(Problem(str(path), str(error), getattr(error, "line", 0)))
    whole = [(title, body) for title, *_, body in bodies if body]
    room = limit - _size(_join([(title, "") for title, _ in whole]))
    texts: list[tuple[str, str]] = []
    files: list[ContextFile] = []
    for at, (title, path, budget, in_file, body) in reversed([*enumerate(bodies)]):
        name, size = escape(str(path), keep=""), _size(body)
        reserved = _reserved(bodies[0], limit) if at else 0
        text, loaded = _fit(body, room - reserved, name)
        room -= _size(text)
        texts[:0] = [(title, text)] if text else []
        over = size > budget
        files.insert(0, ContextFile(title, path, in_file, loaded, size - loaded, budget, over))
    joined = _join(texts) or None
    return Receipt(tuple(files), tuple(skipped), _size(_join(whole)), joined, tuple(texts), limit)


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


def _reserved(own: tuple[str, AnyPath, int, int, str], limit: int) -> int:
    """The bytes that the person's own text has in any case, with the line about a cut."""
    _, path, budget, _, body = own
    size, least = _size(body), min(budget, limit // 2)
    return min(size, least + _size(_notice(escape(str(path), keep=""), size)) + 1)


def _fit(body: str, room: int, name: str) -> tuple[str, int]:
    """What is used of a text, and its bytes; nothing where there is no room for a notice."""
    if _size(body) <= room:
        return body, _size(body)
    room -= _size(_notice(name, _size(body))) + 1
    return cut(body, room, name) if room >= 0 else ("", 0)


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
