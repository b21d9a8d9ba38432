"""Knowledge from elsewhere, and writing it out: the old JSON layout, markdown, JSON Lines.

A file that cannot be read is reported and left alone. What may be stored, and what is stored
already, is for the notebook to say.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from co_cli.errors import CoError, FormatError, MovedOn, NotFound, RefusedText
from co_cli.knowledge import disk, frontmatter, refuse
from co_cli.knowledge.draft import Intake, Item
from co_cli.knowledge.note import decode, render, rewrite, timestamp
from co_cli.knowledge.notebook import Notebook
from co_cli.knowledge.reader import Problem

MAX_FILES = 20_000
MAX_LINE = 1024 * 1024
MAX_BAD_LINES = 100
MAX_FIELD = 200

Sections = list[tuple[str, list[str]]]

# Each part of context.json: its heading in context.md and its fields. A field's mark says what it
# holds: `:` a text, `{}` texts by name, `[]` texts, `#` texts that get a heading of their own.
_SCHEMA = {
    "user": ("# User", "name: timezone: working_hours: preferences{} notes[]"),
    "project": ("# Project", "name: type: architecture# patterns# conventions# notes#"),
    "learned_facts": ("# Learned", "facts[] corrections# clarifications#"),
}
_CATEGORIES = {
    "user_preferences": "preference",
    "project_insights": "context",
    "learned_facts": "context",
}
_OLD_FILES = ("internal/context.json", *(f"memories/{name}.json" for name in _CATEGORIES))
_LOOKS_FOR = (
    "Co imports .co-cli/internal/context.json and .co-cli/memories/*.json of old projects, "
    "folders of markdown, and single .md, .jsonl and .ndjson files."
)
_TEXTS = ("source", "trust", "expires", "scope", "language")
_FLAGS = ("decay_protected", "pinned", "sensitive")
_MORE = ("auto_category", "updated", "check", "verified", "supersedes", "related")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?", re.ASCII)
_HEADING = re.compile(r" {0,3}(#{1,6})(?:\s|\Z)")
_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")


@dataclass(slots=True)
class Haul:
    """What was found: notes to be, lines for context.md, files in trouble, and files read."""

    items: list[Item] = field(default_factory=list)
    context: Sections = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)

    def add(self, item: Item) -> None:
        """Keep a text; one that no note can hold is reported and takes no memory."""
        if len(item.text) <= refuse.MAX_TEXT:
            self.items.append(item)
        else:
            reason = f"the text is longer than {refuse.MAX_TEXT} bytes; a note holds no more"
            self.problems.append(Problem(item.origin, reason))


@dataclass(frozen=True, slots=True)
class _Source:
    """One file: its text, and when it was last changed."""

    path: str
    text: str
    changed: str

    def wrong(self, reason: str, *names: str) -> FormatError:
        """What is wrong with a field of a JSON file, and in which line the field is."""
        at = 0
        for name in names:
            quoted = re.escape(json.dumps(name, ensure_ascii=False))
            found = re.compile(rf"{quoted}\s*:").search(self.text, at)
            at = found.start() if found else at
        shown = ".".join(name[:40] for name in names)
        line = self.text.count("\n", 0, at) + 1 if at else 0
        return FormatError(reason.format(shown), line=line)


def collect(path: Path) -> Haul:
    """Read what can be imported from a project, a folder of markdown or a single file."""
    haul, shown, suffix = Haul(), str(path), path.suffix.lower()
    try:
        is_folder = stat.S_ISDIR(os.stat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        raise NotFound(f"there is nothing at {shown}", hint=_LOOKS_FOR) from None
    except OSError as error:
        raise disk.trouble(error) from error
    if is_folder:
        _folder(shown, haul)
    elif suffix in (".jsonl", ".ndjson"):
        _json_lines(shown, haul)
    elif suffix in (".md", ".json"):  # the person named it, so it may be a link
        _take(shown, haul, _markdown if suffix == ".md" else _json, os.path.realpath(path))
    if not (haul.sources or haul.problems):
        raise CoError(f"{shown} holds nothing to import", hint=_LOOKS_FOR)
    haul.items.sort(key=_age)
    return haul


def _folder(top: str, haul: Haul) -> None:
    bases = [os.path.join(top, ".co-cli"), top]
    old = [os.path.join(base, *name.split("/")) for base in bases for name in _OLD_FILES]
    for path in (old := [path for path in old if os.path.lexists(path)]):
        _take(path, haul, _json)
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


def _take(path: str, haul: Haul, read: Callable[[_Source, Haul], None], real: str = "") -> None:
    """Read one file; when it is not what it should be, that is a problem and nothing else."""
    try:
        raw, sign = disk.read_signed(real or path)
        read(_Source(path, decode(raw).removeprefix("\ufeff"), _moment(sign[1])), haul)
        haul.sources.append(path)
    except FileNotFoundError:
        haul.problems.append(Problem(path, "is gone"))
    except FormatError as error:
        haul.problems.append(Problem(path, str(error), error.line))


def _loads(text: str) -> Any:
    """JSON without its traps: names given twice, bottomless nesting, endless numbers."""
    try:
        return json.loads(text, object_pairs_hook=_unique)
    except json.JSONDecodeError as error:
        raise FormatError(f"Malformed JSON: {error.msg}", line=error.lineno) from None
    except FormatError:
        raise
    except (RecursionError, ValueError):
        raise FormatError("Malformed JSON: nested too deeply, or a number too long") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise FormatError(f"Malformed JSON: '{name[:40]}' appears twice")
        found[name] = value
    return found


def _json(source: _Source, haul: Haul) -> None:
    data = _loads(source.text)
    name = Path(source.path).stem
    if not isinstance(data, dict):
        raise FormatError("must hold a JSON object", line=1)
    if name in _CATEGORIES:
        for item in list(_memories(source, data, _CATEGORIES[name])):
            haul.add(item)
    elif name == "context" or data.keys() & {"version", *_SCHEMA}:
        _context(source, data, haul)
    else:
        raise CoError(f"{source.path} holds nothing to import", hint=_LOOKS_FOR)


def _memories(source: _Source, data: dict[str, Any], category: str) -> Iterator[Item]:
    for key, entry in data.items():
        if not isinstance(entry, dict) or not isinstance(entry.get("value"), str):
            raise source.wrong("Field '{}' must be an object with a string as its 'value'", key)
        try:
            tags = refuse.clean_tags([category, key])
        except RefusedText:
            tags = [category]
        created = _when(entry.get("timestamp")) or source.changed
        yield Item(entry["value"], f"{source.path}: {key}", tuple(tags), created)


def _context(source: _Source, data: dict[str, Any], haul: Haul) -> None:
    if data.get("version", "1.0") != "1.0":
        raise source.wrong("Unsupported {} (expected '1.0')", "version")
    unknown = [name for name in data if name not in ("version", "created", "updated", *_SCHEMA)]
    groups: list[Sections] = []
    for part, (heading, fields) in _SCHEMA.items():
        values = {} if data.get(part) is None else data[part]
        if not isinstance(values, dict):
            raise source.wrong("Field '{}' must be an object", part)
        group: Sections = [(heading, [])]
        marks = dict(re.findall(r"(\w+)(\W+)", fields.replace(" ", "")))
        for name, mark in marks.items():
            texts = _strings(source, values.get(name), mark, part, name)
            if mark == "#":
                group.append((f"## {name.capitalize()}", texts))
            else:
                group[0][1].extend(texts)
        groups.append(group)
        unknown += [f"{part}.{name}" for name in values if name not in marks]
    if unknown:
        names = ", ".join(name[:40] for name in unknown[:10])
        haul.problems.append(Problem(source.path, f"unknown fields, left out: {names}"))
    for group in groups:
        checked = [(heading, _bullets(source, heading, texts, haul)) for heading, texts in group]
        if any(bullets for _, bullets in checked):
            haul.context += checked[:1] + [section for section in checked[1:] if section[1]]


def _strings(source: _Source, value: Any, mark: str, part: str, name: str) -> list[str]:
    """A field's texts, each with its label where it has one."""
    if value is None:
        return []
    pairs: list[tuple[str, Any]] = [("", None)]
    if mark == ":":
        pairs = [(name.replace("_", " ").capitalize(), value)]
    elif mark == "{}" and isinstance(value, dict):
        pairs = list(value.items())
    elif mark != "{}" and isinstance(value, list):
        pairs = [("", text) for text in value]
    if not all(isinstance(text, str) for _, text in pairs):
        must = {":": "a string", "{}": "an object of strings"}.get(mark, "a list of strings")
        raise source.wrong(f"Field '{{}}' must be {must}", part, name)
    return [f"{label}: {text}" if label else text for label, text in pairs if text.strip()]


def _bullets(source: _Source, heading: str, texts: list[str], haul: Haul) -> list[str]:
    """Each text on one line of a list; what may not be stored is reported instead."""
    bullets = []
    for text in texts:
        try:
            lines = refuse.check_text(text).splitlines()
        except RefusedText as error:
            haul.problems.append(Problem(source.path, f"{heading.strip('# ')}: {error}"))
        else:
            bullets.append("- " + " ".join(line.strip() for line in lines if line.strip()))
    return bullets


def _markdown(source: _Source, haul: Haul) -> None:
    meta, body = frontmatter.parse_frontmatter(source.text)
    body = body.strip().replace("\r\n", "\n")
    title = meta.get("title")
    if isinstance(title, str) and not body.lstrip("# ").startswith(title.strip()):
        body = f"{title.strip()}\n\n{body}".strip()
    created = _when(meta.get("created")) or _when(meta.get("date")) or source.changed
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
                    _json_line(_Source(path, "", _moment(info.st_mtime_ns)), number, line, haul)
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


def _json_line(source: _Source, number: int, line: bytes, haul: Haul) -> None:
    if len(line) > MAX_LINE:
        raise FormatError(f"the line is longer than {MAX_LINE // 1024} KiB")
    if not (text := decode(line).removeprefix("\ufeff").strip()):
        return
    data = _loads(text)
    if not isinstance(data, dict):
        raise FormatError("must be a JSON object")
    content = data.get("text") if data.get("content") is None else data["content"]
    if not isinstance(content, str):
        raise FormatError("Field 'content' must be a string")
    created = _when(data.get("created")) or source.changed
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
    """The header fields that stay true in another notebook, where they are of their type."""
    kept: list[tuple[str, Any]] = []
    for name in _TEXTS:
        text = meta.get(name)
        if not isinstance(text, str) or not text.isprintable() or len(text) > MAX_FIELD:
            continue
        is_date = name != "expires" or _when(text)[:10] == text[:10]
        if text and is_date and refuse.find_secret(text) is None:
            kept.append((name, text))
    return (*kept, *((name, True) for name in _FLAGS if meta.get(name) is True))


def _when(value: Any) -> str:
    """An ISO timestamp as it stands, a date as its first moment; nothing for anything else."""
    text = value.strip() if isinstance(value, str) else ""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return ""
    if len(text) <= 10:
        return f"{moment.date()}T00:00:00+00:00"
    return text if _MOMENT.fullmatch(text) else moment.isoformat()


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


def merge_context(old: bytes | None, sections: Sections, at: str) -> bytes | None:
    """The content of context.md with these lines under their headings; None when none is new.

    A `##` heading belongs to the `#` heading before it. Nothing but `updated` is changed.
    """
    if not any(bullets for _, bullets in sections):
        return None
    text = decode(old or b"")
    if (where := frontmatter.split(text)) is not None:
        header = frontmatter.read_header(text[where[0] : where[1]])
        frontmatter.validate_context_frontmatter(header)
    start = where[2] if where else int(text.startswith("\ufeff"))
    head, lines = text[:start], re.findall(r"[^\n]*\n|[^\n]+", text[start:])
    newline = "\r\n" if text.partition("\n")[0].endswith("\r") else "\n"
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += newline
    elif where and not lines:
        head, lines = head.removesuffix("\n").removesuffix("\r") + newline, [newline]
    known, top, grown = {line.strip() for line in lines}, "", False
    for heading, bullets in sections:
        top = heading if heading.startswith("# ") else top
        if fresh := [bullet for bullet in dict.fromkeys(bullets) if bullet.strip() not in known]:
            known.update(bullet.strip() for bullet in fresh)
            _insert(lines, top, heading, [bullet + newline for bullet in fresh], newline)
            grown = True
    if not grown:
        return None
    raw = (head + "".join(lines)).encode()
    if old is None:
        raw = render({"version": 1, "updated": at}, "".join(lines).strip())
    if len(raw) > disk.MAX_FILE:
        raise FormatError("would become too large to be read again")
    return rewrite(raw, {"updated": at}) if where else raw


def _insert(lines: list[str], top: str, heading: str, bullets: list[str], newline: str) -> None:
    """Put bullets at the end of their section's own lines, making the section if need be."""
    new, end = [top, heading], len(lines)
    if (outer := _section(lines, top, 0, len(lines))) is not None:
        start, own_end, outer_end = outer
        new, end = [], own_end
        if heading != top:
            inner = _section(lines, heading, start + 1, outer_end)
            new, end = ([], inner[1]) if inner else ([heading], outer_end)
    while end > 1 and not lines[end - 1].strip():
        end -= 1
    last = lines[end - 1].strip() if end else ""
    gap = [newline] if last and (new or not last.startswith(("-", "*", "+"))) else []
    made = [line + newline for name in dict.fromkeys(new) if name for line in (name, "")]
    lines[end:end] = [*gap, *made, *bullets]


def _section(lines: list[str], heading: str, low: int, high: int) -> tuple[int, int, int] | None:
    """Where a section starts, where its own lines end, and where it ends with all below it."""
    heads = [head for head in _headings(lines) if low <= head[0] < high]
    for number, (start, level, text) in enumerate(heads):
        if text == heading:
            later = heads[number + 1 :]
            end = next((line for line, other, _ in later if other <= level), high)
            return start, later[0][0] if later else high, end
    return None


def _headings(lines: list[str]) -> Iterator[tuple[int, int, str]]:
    """Line, level and text of each heading outside code blocks."""
    fence = ""
    for number, line in enumerate(lines):
        bare = line.strip()
        if fence:
            fence = "" if bare.startswith(fence) and not bare.strip(fence[0]) else fence
        elif found := _FENCE.match(line):
            fence = found[1]
        elif found := _HEADING.match(line):
            yield number, len(found[1]), bare


def plan_import(book: Notebook, haul: Haul) -> Intake:
    """What importing this would change; nothing of it when done a second time."""
    old = context = None
    refused = []
    if haul.context:
        try:
            old = book.journal.read("context.md")
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
        yield {
            "id": note.id,
            "uid": note.uid,
            "created": note.created,
            "tags": note.tags,
            **{name: value for name, value in more.items() if _is_plain(value)},
            "content": note.body,
        }


def _is_plain(value: Any) -> bool:
    items = value if isinstance(value, list) else [value]
    return all(isinstance(item, str | bool) for item in items)
