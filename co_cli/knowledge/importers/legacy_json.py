"""The old JSON layout: its memories become notes, its context becomes lines of context.md."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from co_cli.errors import CoError, FormatError, RefusedText
from co_cli.knowledge.format import frontmatter
from co_cli.knowledge.format.note import decode, is_external, render, rewrite
from co_cli.knowledge.pages import Problem
from co_cli.knowledge.plan import Item
from co_cli.knowledge.safety import check
from co_cli.knowledge.store import disk

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
OLD_FILES = ("internal/context.json", *(f"memories/{name}.json" for name in _CATEGORIES))
LOOKS_FOR = (
    "Co imports .co-cli/internal/context.json and .co-cli/memories/*.json of old projects, "
    "folders of markdown, and single .md, .jsonl and .ndjson files."
)
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
        if len(item.text) <= check.MAX_TEXT:
            self.items.append(item)
        else:
            reason = f"the text is longer than {check.MAX_TEXT} bytes; a note holds no more"
            self.problems.append(Problem(item.origin, reason))


@dataclass(frozen=True, slots=True)
class Source:
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


def loads(text: str) -> Any:
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


def read_json(source: Source, haul: Haul) -> None:
    """Read one of the old files, whichever it is."""
    data = loads(source.text)
    name = Path(source.path).stem
    if not isinstance(data, dict):
        raise FormatError("must hold a JSON object", line=1)
    if name in _CATEGORIES:
        for item in list(_memories(source, data, _CATEGORIES[name])):
            haul.add(item)
    elif name == "context" or data.keys() & {"version", *_SCHEMA}:
        _context(source, data, haul)
    else:
        raise CoError(f"{source.path} holds nothing to import", hint=LOOKS_FOR)


def _memories(source: Source, data: dict[str, Any], category: str) -> Iterator[Item]:
    for key, entry in data.items():
        if not isinstance(entry, dict) or not isinstance(entry.get("value"), str):
            raise source.wrong("Field '{}' must be an object with a string as its 'value'", key)
        try:
            tags = check.clean_tags([category, key])
        except RefusedText:
            tags = [category]
        created = when(entry.get("timestamp")) or source.changed
        marks = (("trust", "external"),) if is_external(entry) else ()
        yield Item(entry["value"], f"{source.path}: {key}", tuple(tags), created, marks)


def _context(source: Source, data: dict[str, Any], haul: Haul) -> None:
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


def _strings(source: Source, value: Any, mark: str, part: str, name: str) -> list[str]:
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


def _bullets(source: Source, heading: str, texts: list[str], haul: Haul) -> list[str]:
    """Each text on one line of a list; what may not be stored is reported instead."""
    bullets = []
    for text in texts:
        try:
            lines = check.check_text(text).splitlines()
        except RefusedText as error:
            haul.problems.append(Problem(source.path, f"{heading.strip('# ')}: {error}"))
        else:
            bullets.append("- " + " ".join(line.strip() for line in lines if line.strip()))
    return bullets


def when(value: Any) -> str:
    """An ISO timestamp as it stands, a date as its first moment; nothing for anything else."""
    text = value.strip() if isinstance(value, str) else ""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return ""
    if len(text) <= 10:
        return f"{moment.date()}T00:00:00+00:00"
    return text if _MOMENT.fullmatch(text) else moment.isoformat()


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
