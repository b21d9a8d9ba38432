"""Moving in and out: notes from folders of markdown, JSON Lines and old projects, and back.

A file that cannot be read is reported and left alone. What may be stored, and what is stored
already, is for the notebook to say.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from co_cli.errors import CoError, FormatError, MovedOn, NotFound
from co_cli.knowledge.format import frontmatter
from co_cli.knowledge.format.note import decode, is_external, timestamp
from co_cli.knowledge.importers.legacy_json import (
    LOOKS_FOR,
    OLD_FILES,
    Haul,
    Source,
    loads,
    merge_context,
    read_json,
    when,
)
from co_cli.knowledge.notebook import Notebook
from co_cli.knowledge.pages import Problem
from co_cli.knowledge.plan import Intake, Item
from co_cli.knowledge.safety.secrets import find_secret
from co_cli.knowledge.store import disk

MAX_FILES = 20_000
MAX_LINE = 1024 * 1024
MAX_BAD_LINES = 100
MAX_FIELD = 200

_TEXTS = ("trust", "expires", "scope", "language")
_FLAGS = ("decay_protected", "pinned", "sensitive")
_MORE = ("source", "auto_category", "updated", "check", "verified", "supersedes", "related")


def collect(path: Path) -> Haul:
    """Read what can be imported from a project, a folder of markdown or a single file."""
    haul, shown, suffix = Haul(), str(path), path.suffix.lower()
    try:
        is_folder = stat.S_ISDIR(os.stat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        raise NotFound(f"there is nothing at {shown}", hint=LOOKS_FOR) from None
    except OSError as error:
        raise disk.trouble(error) from error
    if is_folder:
        _folder(shown, haul)
    elif suffix in (".jsonl", ".ndjson"):
        _json_lines(shown, haul)
    elif suffix in (".md", ".json"):  # the person named it, so it may be a link
        _take(shown, haul, _markdown if suffix == ".md" else read_json, os.path.realpath(path))
    if not (haul.sources or haul.problems):
        raise CoError(f"{shown} holds nothing to import", hint=LOOKS_FOR)
    haul.items.sort(key=_age)
    return haul


def _folder(top: str, haul: Haul) -> None:
    bases = [os.path.join(top, ".co-cli"), top]
    old = [os.path.join(base, *name.split("/")) for base in bases for name in OLD_FILES]
    for path in (old := [path for path in old if os.path.lexists(path)]):
        _take(path, haul, read_json)
    notes: list[str] = []
    for base in (*(os.path.join(base, "knowledge") for base in bases), top) if not old else ():
        if notes := _find_markdown(os.path.join(base, "memories"), haul, deep=False):
            reason = "left alone: only the memories of a knowledge folder are imported"
            left = [os.path.join(base, name) for name in ("context.md", "articles")]
            haul.problems += [Problem(path, reason) for path in left if os.path.lexists(path)]
            break
    for path in notes or ([] if old else _find_markdown(top, haul, deep=True)):
        _take(path, haul, _markdown)


def _find_markdown(top: str, haul: Haul, *, deep: bool) -> list[str]:
    """The .md files in a folder, or also below it, in a fixed order; no links, nothing hidden."""
    found: list[str] = []
    folders, seen = [top] if deep or not os.path.islink(top) else [], 0
    while folders and len(found) <= MAX_FILES and seen < MAX_FILES:
        folder, below, seen = folders.pop(), [], seen + 1
        try:
            for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
                if entry.name.startswith("."):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    below.append(entry.path)
                elif entry.name.endswith(".md"):
                    found.append(entry.path)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            haul.problems.append(Problem(folder, f"cannot be read: {error.strerror}"))
        folders += reversed(below) if deep else ()
    if folders or len(found) > MAX_FILES:
        reason = f"holds more than {MAX_FILES} files or folders; the rest was left out"
        haul.problems.append(Problem(top, reason))
    return found[:MAX_FILES]


def _take(path: str, haul: Haul, read: Callable[[Source, Haul], None], real: str = "") -> None:
    """Read one file; when it is not what it should be, that is a problem and nothing else."""
    try:
        raw, sign = disk.read_signed(real or path)
        read(Source(path, decode(raw).removeprefix("\ufeff"), _moment(sign[1])), haul)
        haul.sources.append(path)
    except FileNotFoundError:
        haul.problems.append(Problem(path, "is gone"))
    except FormatError as error:
        haul.problems.append(Problem(path, str(error), error.line))


def _markdown(source: Source, haul: Haul) -> None:
    meta, body = frontmatter.parse_frontmatter(source.text)
    body = body.strip().replace("\r\n", "\n")
    title = meta.get("title")
    if isinstance(title, str) and not body.lstrip("# ").startswith(title.strip()):
        body = f"{title.strip()}\n\n{body}".strip()
    created = when(meta.get("created")) or when(meta.get("date")) or source.changed
    haul.add(Item(body, source.path, _tags(meta.get("tags")), created, _fields(meta)))


def _json_lines(path: str, haul: Haul) -> None:
    """Read a note a line, however long the file is; bad lines are reported by their number."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            info = os.fstat(file.fileno())
            if not stat.S_ISREG(info.st_mode):
                haul.problems.append(Problem(path, "is not a plain file"))
                return
            number = bad = 0
            while bad < MAX_BAD_LINES and (line := file.readline(MAX_LINE + 1)):
                number += 1
                try:
                    _json_line(Source(path, "", _moment(info.st_mtime_ns)), number, line, haul)
                except FormatError as error:
                    haul.problems.append(Problem(path, str(error), number))
                    bad += 1
                while not line.endswith(b"\n") and (line := file.readline(MAX_LINE)):
                    pass
    except OSError as error:
        raise disk.trouble(error) from error
    if bad == MAX_BAD_LINES:
        haul.problems.append(Problem(path, f"{bad} bad lines; the rest was not read", number))
    haul.sources.append(path)


def _json_line(source: Source, number: int, line: bytes, haul: Haul) -> None:
    if len(line) > MAX_LINE:
        raise FormatError(f"the line is longer than {MAX_LINE // 1024} KiB")
    if not (text := decode(line).removeprefix("\ufeff").strip()):
        return
    data = loads(text)
    if not isinstance(data, dict):
        raise FormatError("must be a JSON object")
    content = data.get("text") if data.get("content") is None else data["content"]
    if not isinstance(content, str):
        raise FormatError("Field 'content' must be a string")
    created = when(data.get("created")) or source.changed
    origin = f"{source.path}:{number}"
    haul.add(Item(content, origin, _tags(data.get("tags")), created, _fields(data)))


def _tags(value: Any) -> tuple[str, ...]:
    """Tags from a list, or from a text with commas or spaces between them."""
    if isinstance(value, str):
        words = value.split(",") if "," in value else value.split()
        return tuple(word.strip().removeprefix("#") for word in words)
    tags = [tag for tag in value if tag is not None] if isinstance(value, list) else []
    if not isinstance(value, list | None) or not all(isinstance(tag, str) for tag in tags):
        raise FormatError("Field 'tags' must be a list of strings")
    return tuple(tags)


def _fields(meta: dict[str, Any]) -> tuple[tuple[str, Any], ...]:
    """The header fields that stay true in another notebook, where they are of their type.

    Whose words a note's are, a file may say to its disadvantage only: a text from outside stays
    marked, and is neither pinned nor protected here.
    """
    kept: dict[str, Any] = {name: text for name in _TEXTS if (text := _text(meta, name))}
    flags = {name: True for name in _FLAGS if meta.get(name) is True}
    if not is_external(meta):
        return (*kept.items(), *flags.items())
    kept = {"trust": "external"} | kept
    if is_external({"source": meta.get("source")}) and (source := _text(meta, "source")):
        kept["source"] = source
    return (*kept.items(), *(one for one in flags.items() if one[0] == "sensitive"))


def _text(meta: dict[str, Any], name: str) -> str:
    """A short text of a header, when it is one and may be stored; else nothing."""
    text = meta.get(name)
    if not isinstance(text, str) or not text.isprintable() or len(text) > MAX_FIELD:
        return ""
    fits = name != "expires" or when(text)[:10] == text[:10]
    return text if fits and find_secret(text) is None else ""


def _moment(nanoseconds: int) -> str:
    try:
        return timestamp(datetime.fromtimestamp(nanoseconds / 1e9, UTC))
    except (OverflowError, ValueError, OSError):
        return ""


def _age(item: Item) -> timedelta:
    """What puts older items first, whatever time zones they are written in."""
    if not item.created:
        return timedelta.max
    moment = datetime.fromisoformat(item.created)
    since = moment.replace(tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)
    return since - (moment.utcoffset() or timedelta())


def plan_import(book: Notebook, haul: Haul) -> Intake:
    """What importing this would change; nothing of it when done a second time."""
    old = context = None
    refused = []
    if haul.context:
        try:
            old = book.store.read("context.md")
            context = merge_context(old, haul.context, timestamp(book.clock()))
        except FormatError as error:
            path = os.path.join(book.root, "context.md")
            refused.append(Problem(path, f"left alone: {error}", error.line))
    intake = book.plan_intake(haul.items, context=context)
    intake.refused += refused
    for edit in intake.change.edits if intake.change else ():
        if edit.path == "context.md" and edit.before != old:
            raise MovedOn("context.md changed while the import was planned", hint="Try again.")
    return intake


def export(book: Notebook) -> Iterator[dict[str, Any]]:
    """Each note as plain values, by number; `collect` reads them back from JSON Lines."""
    for note in book.notes():
        more = {name: note.meta.get(name) for name in (*_TEXTS, *_FLAGS, *_MORE)}
        if note.external and not (more["trust"] and _is_plain(more["trust"])):
            more["trust"] = "external"
        yield {
            "id": note.id,
            "uid": note.uid,
            "created": note.created,
            "tags": note.tags,
            **{name: value for name, value in more.items() if _is_plain(value)},
            "content": note.body,
        }


def export_to(book: Notebook, path: str, *, force: bool = False) -> int:
    """Write every note as JSON Lines to a file, whole or not at all; how many there are.

    A link or a device in its place is refused: what it leads to is not what the person named.
    """
    if disk.is_link(path):
        hint = f"Name the file it leads to: {os.path.realpath(path)}"
        raise CoError(f"{path} is a symbolic link", hint=hint)
    if disk.exists(path) and not force:
        raise CoError(f"{path} is there already", hint="Give another name, or add --force.")
    if disk.exists(path) and not os.path.isfile(path):
        raise CoError(f"{path} is no plain file", hint="Give another name.")
    lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in export(book)]
    try:
        disk.put(os.path.abspath(path), "".join(lines).encode())
    except OSError as error:
        raise CoError(f"cannot write {path}: {error.strerror}") from error
    return len(lines)


def _is_plain(value: Any) -> bool:
    items = value if isinstance(value, list) else [value]
    return all(isinstance(item, str | bool) for item in items)
