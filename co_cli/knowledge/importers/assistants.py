"""What other assistants keep as files: instructions and memories in markdown, as drafts.

Where they are is known by name only; nothing is opened until the person says so.
"""

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from co_cli.errors import CoError, FormatError
from co_cli.knowledge.format.frontmatter import find_header, parse_frontmatter
from co_cli.knowledge.importers import wiki
from co_cli.knowledge.importers.batch import ImportBatch, Source
from co_cli.knowledge.importers.instructions import facts, tag
from co_cli.knowledge.inbox import Draft
from co_cli.knowledge.pages import Problem

_FILES = {  # the names that tell whose a file is
    "claude.md": "Claude Code",
    "claude.local.md": "Claude Code",
    "agents.md": "AGENTS.md",
    "gemini.md": "Gemini CLI",
    ".cursorrules": "Cursor",
    "memory.md": "Claude Code",
    "memory_summary.md": "Codex",
    "raw_memories.md": "Codex",
}
_HOMES = {  # folders of assistants, and what of each is read if it is named as a whole
    ".claude": ("Claude Code", ("CLAUDE.md", "rules")),
    ".codex": ("Codex", ("AGENTS.md", "memories")),
    ".gemini": ("Gemini CLI", ("GEMINI.md",)),
    ".cursor": ("Cursor", ("rules",)),
}
_MEMORY, _INDEX = "memory", "MEMORY.md"  # Claude Code's folder of one project, and what lists it
_KINDS = ("user", "feedback", "project", "reference")  # of what Claude Code keeps in one file
# What the person writes for an assistant; all else in its folders it wrote itself.
_INSTRUCTIONS = ("claude.md", "claude.local.md", "agents.md", "gemini.md", ".cursorrules")
_ADDED = re.compile(r"(?im)^[ \t]{0,3}#{1,6}[ \t][^\n]{0,100}\badded memories\b")
_CODEX = ("MEMORY.md", "memory_summary.md")  # the rest repeats what these say
_RULE = "RULE.md"  # one of Cursor's, in a folder of its own
_MOST_FILES = 2000
_Fields = tuple[tuple[str, str], ...]
IMPORTED: _Fields = (("source", "import"),)
FROM_OUTSIDE: _Fields = (*IMPORTED, ("trust", "external"))


class Place(NamedTuple):
    """Where an assistant keeps something; `own` if that is the person's and no project's."""

    name: str
    path: str
    own: bool


def places(project: str, home: str, environ: Mapping[str, str]) -> list[Place]:
    """The known places that there are, by their names alone."""
    claude, codex, gemini = _folders(home, environ)
    here = re.sub(r"[^A-Za-z0-9]", "-", os.path.realpath(project))
    found = [
        Place("Claude Code's memory of this project",
              os.path.join(claude, "projects", here, _MEMORY), False),
        Place("Your instructions for Claude Code", os.path.join(claude, "CLAUDE.md"), True),
        Place("Your rules for Claude Code", os.path.join(claude, "rules"), True),
        Place("Codex's memories", os.path.join(codex, "memories"), True),
        Place("Your instructions for Codex", os.path.join(codex, "AGENTS.md"), True),
        Place("Gemini CLI's memory of you", os.path.join(gemini, "GEMINI.md"), True),
    ]  # fmt: skip
    for name in (
        "AGENTS.md", "CLAUDE.md", "CLAUDE.local.md", ".claude/CLAUDE.md", "GEMINI.md",
        ".cursorrules",
    ):  # fmt: skip
        found.append(Place(f"{name} of this project", os.path.join(project, name), False))
    for whose, name in (("Claude Code", ".claude"), ("Cursor", ".cursor")):
        rules = os.path.join(project, name, "rules")
        found.append(Place(f"{whose}'s rules of this project", rules, False))
    there = {
        os.path.realpath(one.path): one for one in reversed(found) if os.path.lexists(one.path)
    }
    return [*reversed(there.values())]


def place_of(path: str, project: str, home: str, environ: Mapping[str, str]) -> Place | None:
    """The known place that a path is or lies in; the folders of assistants at home are known."""
    real = os.path.join(os.path.realpath(path), "")
    folders = [Place("", folder, True) for folder in _folders(home, environ)]
    for place in [*places(project, home, environ), *folders]:
        if real.startswith(os.path.join(os.path.realpath(place.path), "")):
            return place
    return None


def _folders(home: str, environ: Mapping[str, str]) -> tuple[str, str, str]:
    """Where Claude Code, Codex and Gemini CLI keep what is about the person."""
    claude = environ.get("CLAUDE_CONFIG_DIR") or os.path.join(home, ".claude")
    codex = environ.get("CODEX_HOME") or os.path.join(home, ".codex")
    return claude, codex, os.path.join(home, ".gemini")


def assistant_of(path: str) -> str:
    """Whose file or folder this is, by its name and what is in it; nothing if it is no one's."""
    full = os.path.abspath(path)
    name = os.path.basename(full)
    inside = set(os.listdir(path)) if os.path.isdir(path) else set[str]()
    if inside & {"memory_summary.md", "raw_memories.md"} or (
        name == "memories" and _INDEX in inside
    ):
        return "Codex"
    if _RULE in inside or any(one.endswith(".mdc") for one in (name, *inside)):
        return "Cursor"
    if not os.path.isdir(path) and name != _INDEX.lower() and name.lower() in _FILES:
        return _FILES[name.lower()]
    near = [_HOMES[part][0] for part in full.split(os.sep) if part in _HOMES]
    if near and (os.path.isdir(path) or name.endswith(".md")):
        return near[-1]
    topics = [os.path.join(full, one) for one in sorted(inside) if one.endswith(".md")] or [full]
    if _INDEX in inside or all(map(_is_topic, topics)):
        return "Claude Code"
    return ""


def _is_topic(path: str) -> bool:
    """Whether a file is one of Claude Code's on one subject, which names its kind in its header."""
    found: list[dict[str, str]] = []
    if path.endswith(".md"):
        ImportBatch().read(path, lambda source, _: found.append(_parts(source.text)[0]))
    return any(one.get("type") in _KINDS and {"name", "description"} & {*one} for one in found)


def read_files(path: str) -> tuple[list[Draft], ImportBatch]:
    """The drafts in an assistant's file or folder; the batch tells what could not be read."""
    whose, batch, drafts = assistant_of(path), ImportBatch(), list[Draft]()

    def read(source: Source, _: ImportBatch) -> None:
        header, body = _parts(source.text)
        name, left = os.path.basename(source.path), list[str]()
        near = source.path.removeprefix(os.path.join(path, "")) if name == _RULE else name
        origin = f"{whose}: {near}" if whose not in ("", name) else name
        index = name == _INDEX or whose == "Codex"
        own, added = _by_author(source.path, body)
        if _holds_topics(source.path, header):
            found = [(*_topic(header, body), FROM_OUTSIDE)]
        else:
            found = [
                (*fact, fields)
                for part, fields in ((own, IMPORTED), (added, FROM_OUTSIDE))
                for fact in facts(part, index=index, codex=whose == "Codex", left=left)
            ]
            if found and header.get("description"):
                found[0] = (f"{header['description']}: {found[0][0]}", *found[0][1:])
        for text, tags, fields in found:
            if text:
                drafts.append(Draft(text, tags, "", origin, source.changed, fields))
        if left:
            reason = f"a list of tasks is not kept: {left[0][:60]} ({len(left)} in all)"
            batch.problems.append(Problem(source.path, reason))

    for name in _names(path, whose):
        batch.read(name, read, real=os.path.realpath(name) if name == path else "")
    if not drafts and not batch.problems:
        raise CoError(f"{path} holds no fact that Co can read", hint="Nothing was imported.")
    return drafts, batch


def _by_author(path: str, body: str) -> tuple[str, str]:
    """What the person wrote in a file, and what an assistant did: all in its own files, and in
    the person's what stands below a heading of its own, to the end.
    """
    folder, name = os.path.split(os.path.abspath(path))
    rules = name.endswith((".mdc", _RULE)) or "rules" in folder.split(os.sep)
    if name.lower() not in _INSTRUCTIONS and not rules:
        return "", body
    heading = _ADDED.search(body)
    return (body[: heading.start()], body[heading.start() :]) if heading else (body, "")


def _names(path: str, whose: str) -> list[str]:
    """The files to read, in a fixed order."""
    if not os.path.isdir(path):
        return [path]
    _, parts = _HOMES.get(os.path.basename(os.path.abspath(path)), ("", ()))
    if parts:
        below = [one for part in parts if os.path.lexists(one := os.path.join(path, part))]
        # A link is refused when it is read: nobody asked for the folder it leads to.
        return [n for one in below for n in ([one] if os.path.islink(one) else _names(one, whose))]
    main = [os.path.join(path, name) for name in _CODEX] if whose == "Codex" else []
    if main := [name for name in main if os.path.lexists(name)]:
        return main
    endings = (".mdc", f"{os.sep}{_RULE}") if whose == "Cursor" else (".md",)
    return [name for name in _below(path) if name.endswith(endings)][:_MOST_FILES]


def _below(folder: str) -> Iterator[str]:
    """The files in a folder and below it; no links to folders, nothing hidden."""
    for top, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (os.path.join(top, name) for name in sorted(names))


def _holds_topics(path: str, header: dict[str, str]) -> bool:
    """Whether a file is on one subject as a whole: by its header, or by the folder it lies in."""
    folder, name = os.path.split(os.path.abspath(path))
    if name.lower() in _FILES or name.endswith((".mdc", _RULE)):
        return False
    memory = f"{os.sep}.claude{os.sep}" in folder and os.path.basename(folder) == _MEMORY
    beside = os.path.lexists(os.path.join(folder, _INDEX))
    return memory or beside or header.get("type") in _KINDS


def _parts(text: str) -> tuple[dict[str, str], str]:
    """A file's header, as far as it is plain, and its text; rules have patterns no YAML allows."""
    header: dict[str, Any]
    try:
        header, body = parse_frontmatter(text)
    except FormatError:
        where = find_header(text)
        lines = text[where[0] : where[1]] if where else ""
        header = dict(re.findall(r"(?m)^(\w{1,40}):[ \t]*(\S.*)$", lines))
        body = text[where[2] :] if where else text
    if isinstance(inner := header.get("metadata"), dict):
        header = inner | header
    plain = {name: value.strip() for name, value in header.items() if isinstance(value, str)}
    return plain, body.replace("\r\n", "\n").strip()


def _topic(header: dict[str, str], body: str) -> tuple[str, tuple[str, ...]]:
    """A file of Claude Code's on one subject: what it says, under what it is about."""
    about = header.get("description", "")
    known = not about or wiki.words(about) == wiki.words(body)[: len(wiki.words(about))]
    text = body if known else f"{about}\n\n{body}" if "\n" in body else f"{about}: {body}"
    return text.strip(), tag(header.get("type", ""))
