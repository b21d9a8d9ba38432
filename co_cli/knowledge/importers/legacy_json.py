"""The old JSON layout: its memories become notes, its context becomes lines of context.md."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from co_cli.errors import CoError, FormatError, RefusedText
from co_cli.knowledge.format import frontmatter
from co_cli.knowledge.format.json_reader import read_json
from co_cli.knowledge.format.note import decode, is_external
from co_cli.knowledge.format.rewrite import render, rewrite
from co_cli.knowledge.importers.batch import LOOKS_FOR, ImportBatch, Sections, Source, iso_moment
from co_cli.knowledge.pages import Problem
from co_cli.knowledge.plan import ImportItem
from co_cli.knowledge.safety import check
from co_cli.knowledge.store import disk
from co_cli.paths import OLD_FILES, PROJECT_MARK

# Each part of context.json: its heading in context.md, the fields right under it, and those with
# a heading of their own.
_PARTS = {
    "user": ("# User", ("name", "timezone", "working_hours", "preferences", "notes"), ()),
    "project": (
        "# Project", ("name", "type"), ("architecture", "patterns", "conventions", "notes"),
    ),
    "learned_facts": ("# Learned", ("facts",), ("corrections", "clarifications")),
}  # fmt: skip
_TEXTS = ("name", "timezone", "working_hours", "type")
_TAGS = {
    "user_preferences": "preference",
    "project_insights": "context",
    "learned_facts": "context",
}


def read_project(top: str, batch: ImportBatch) -> bool:
    """Read an old project's files; whether there are any."""
    bases = (os.path.join(top, PROJECT_MARK), top)
    found = [os.path.join(base, name) for base in bases for name in OLD_FILES]
    there = [path for path in found if os.path.lexists(path)]
    for path in there:
        batch.read(path, read_file)
    return bool(there)


def read_file(source: Source, batch: ImportBatch) -> None:
    """Read one of the old files, whichever it is."""
    data = read_json(source.text)
    name = Path(source.path).stem
    if not isinstance(data, dict):
        raise FormatError("must hold a JSON object", line=1)
    if name in _TAGS:
        for item in list(_memories(source, data, _TAGS[name])):
            batch.add(item)
    elif name == "context" or data.keys() & {"version", *_PARTS}:
        _read_context(source, data, batch)
    else:
        raise CoError(f"{source.path} holds nothing to import", hint=LOOKS_FOR)


def _memories(source: Source, data: dict[str, Any], tag: str) -> Iterator[ImportItem]:
    for key, entry in data.items():
        if not isinstance(entry, dict) or not isinstance(entry.get("value"), str):
            must = "must be an object with a string as its 'value'"
            raise FormatError(f"Field '{key[:40]}' {must}")
        try:
            tags = check.clean_tags([tag, key])
        except RefusedText:
            tags = [tag]
        created = iso_moment(entry.get("timestamp")) or source.changed
        marks = (("trust", "external"),) if is_external(entry) else ()
        yield ImportItem(entry["value"], f"{source.path}: {key}", tuple(tags), created, marks)


def _read_context(source: Source, data: dict[str, Any], batch: ImportBatch) -> None:
    if data.get("version", "1.0") != "1.0":
        raise FormatError("Unsupported version (expected '1.0')")
    unknown = [name for name in data if name not in ("version", "created", "updated", *_PARTS)]
    groups: list[Sections] = []
    for part, (heading, own, under) in _PARTS.items():
        values = {} if data.get(part) is None else data[part]
        if not isinstance(values, dict):
            raise FormatError(f"Field '{part}' must be an object")
        texts = {name: _texts(part, name, values.get(name)) for name in (*own, *under)}
        below = [(f"## {name.capitalize()}", texts[name]) for name in under]
        groups.append([(heading, [text for name in own for text in texts[name]]), *below])
        unknown += [f"{part}.{name}" for name in values if name not in texts]
    if unknown:
        names = ", ".join(name[:40] for name in unknown[:10])
        batch.problems.append(Problem(source.path, f"unknown fields, left out: {names}"))
    for group in groups:
        top, *below = [(heading, _bullets(source, heading, own, batch)) for heading, own in group]
        below = [section for section in below if section[1]]
        batch.context += [top, *below] if top[1] or below else []


def _texts(part: str, name: str, value: Any) -> list[str]:
    """A field's texts, each with its label where it has one."""
    if value is None:
        return []
    pairs: list[tuple[str, Any]] = [("", None)]
    if name in _TEXTS:
        must, pairs = "a string", [(name.replace("_", " ").capitalize(), value)]
    elif name == "preferences":
        must = "an object of strings"
        pairs = list(value.items()) if isinstance(value, dict) else pairs
    else:
        must = "a list of strings"
        pairs = [("", text) for text in value] if isinstance(value, list) else pairs
    if not all(isinstance(text, str) for _, text in pairs):
        raise FormatError(f"Field '{part}.{name}' must be {must}")
    return [f"{label}: {text}" if label else text for label, text in pairs if text.strip()]


def _bullets(source: Source, heading: str, texts: list[str], batch: ImportBatch) -> list[str]:
    """Each text on one line of a list; what may not be stored is reported instead."""
    bullets = []
    for text in texts:
        try:
            lines = check.check_text(text).splitlines()
        except RefusedText as error:
            batch.problems.append(Problem(source.path, f"{heading.strip('# ')}: {error}"))
        else:
            bullets.append("- " + " ".join(line.strip() for line in lines if line.strip()))
    return bullets


def add_to_context(old: bytes | None, sections: Sections, at: str) -> bytes | None:
    """The content of context.md with these lines at its end; None when it has them all.

    A `##` heading comes under the `#` heading before it. Nothing but `updated` is changed.
    """
    text = decode(old or b"")
    if (where := frontmatter.find_header(text)) is not None:
        header = frontmatter.read_header(text[where[0] : where[1]])
        frontmatter.validate_context_frontmatter(header)
    known = {line.strip() for line in text.split("\n")}
    top = written = ""
    blocks: list[str] = []
    for heading, bullets in sections:
        top = heading if heading.startswith("# ") else top
        if new := [bullet for bullet in dict.fromkeys(bullets) if bullet.strip() not in known]:
            known.update(bullet.strip() for bullet in new)
            titles = [heading] if top in (heading, written, "") else [top, heading]
            blocks += [*titles, "\n".join(new)]
            written = top
    if not blocks:
        return None
    raw = render({"version": 1, "updated": at}, "\n\n".join(blocks))
    if old is not None:
        raw = _append(text, "\n\n".join(blocks) + "\n").encode()
    if len(raw) > disk.MAX_FILE:
        raise FormatError("would become too large to be read again")
    return rewrite(raw, {"updated": at}) if where else raw


def _append(text: str, added: str) -> str:
    """A text and, after an empty line, what is added to it, with the line ends that it has."""
    plain = text.removeprefix("\ufeff").replace("\r\n", "\n")
    started = plain.strip("\n") != "" and not plain.endswith("\n\n")
    more = (("\n" if plain.endswith("\n") else "\n\n") if started else "") + added
    return text + (more.replace("\n", "\r\n") if "\r\n" in text else more)
