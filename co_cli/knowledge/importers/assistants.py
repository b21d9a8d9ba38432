"""What other assistants keep as files: instructions and memories in markdown, as drafts.

Where they are is known by name only; nothing is opened until the person says so.
"""

import os
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from co_cli.errors import CoError, FormatError
from co_cli.knowledge.format.frontmatter import find_header, parse_frontmatter
from co_cli.knowledge.importers import wiki
from co_cli.knowledge.importers.batch import ImportBatch, Source
from co_cli.knowledge.inbox import Draft

_FILES = {  # the names that tell whose a file is
    "claude.md": "Claude Code",
    "claude.local.md": "Claude Code",
    "agents.md": "AGENTS.md",
    "gemini.md": "Gemini CLI",
    ".cursorrules": "Cursor",
}
_MEMORY, _INDEX = "memory", "MEMORY.md"  # Claude Code's folder of one project, and what lists it
_CODEX = ("MEMORY.md", "memory_summary.md")  # the rest repeats what these say
IMPORTED = (("source", "import"),)
FROM_OUTSIDE = (*IMPORTED, ("trust", "external"))
_COMMENT = re.compile(r"<!--(?:[^-]|-(?!->)){0,20000}-->")
_ONLY_LINK = re.compile(r"(?:[-*+] )?\[[^\]\n]{1,200}\]\([\w./-]{1,200}\.md\)(?:.{0,400})")
_ONLY_IMPORT = re.compile(r"@[\w./~-]{1,300}")


class Place(NamedTuple):
    """Where an assistant keeps something; `own` if that is the person's and no project's."""

    name: str
    path: str
    own: bool


def places(project: str, home: str, environ: Mapping[str, str]) -> list[Place]:
    """The known places that there are, by their names alone."""
    claude = environ.get("CLAUDE_CONFIG_DIR") or os.path.join(home, ".claude")
    codex = environ.get("CODEX_HOME") or os.path.join(home, ".codex")
    here = re.sub(r"[^A-Za-z0-9]", "-", os.path.realpath(project))
    found = [
        Place("Claude Code's memory of this project",
              os.path.join(claude, "projects", here, _MEMORY), False),
        Place("Your instructions for Claude Code", os.path.join(claude, "CLAUDE.md"), True),
        Place("Codex's memories", os.path.join(codex, "memories"), True),
        Place("Your instructions for Codex", os.path.join(codex, "AGENTS.md"), True),
        Place("Gemini CLI's memory of you", os.path.join(home, ".gemini", "GEMINI.md"), True),
    ]  # fmt: skip
    for name in ("AGENTS.md", "CLAUDE.md", "CLAUDE.local.md", "GEMINI.md", ".cursorrules"):
        found.append(Place(f"{name} of this project", os.path.join(project, name), False))
    rules = os.path.join(project, ".cursor", "rules")
    found.append(Place("Cursor's rules of this project", rules, False))
    return [place for place in found if os.path.lexists(place.path)]


def assistant_of(path: str) -> str:
    """Whose file or folder this is, by its name and the names in it; nothing if it is no one's."""
    name = os.path.basename(os.path.abspath(path))
    if not os.path.isdir(path):
        return "Cursor" if name.endswith(".mdc") else _FILES.get(name.lower(), "")
    inside = set(os.listdir(path))
    if name == ".cursor" and "rules" in inside:
        return "Cursor"
    if name == "memories" and inside & {*_CODEX, "raw_memories.md"}:
        return "Codex"
    if name == _MEMORY and _INDEX in inside:
        return "Claude Code"
    return "Cursor" if any(one.endswith(".mdc") for one in inside) else ""


def read_files(path: str) -> tuple[list[Draft], ImportBatch]:
    """The drafts in an assistant's file or folder; the batch tells what could not be read."""
    whose, batch, drafts = assistant_of(path), ImportBatch(), list[Draft]()
    if os.path.basename(os.path.abspath(path)) == ".cursor":
        path = os.path.join(path, "rules")
    names = [path]
    if os.path.isdir(path):
        wanted = _CODEX if whose == "Codex" else sorted(os.listdir(path))
        ending = ".mdc" if whose == "Cursor" else ".md"
        names = [os.path.join(path, name) for name in wanted if name.endswith(ending)]
        names = [name for name in names if os.path.lexists(name)]
    topics = whose == "Claude Code" and os.path.isdir(path)

    def read(source: Source, _: ImportBatch) -> None:
        header, body = _parts(source.text)
        name = os.path.basename(source.path)
        origin = f"{whose}: {name}" if whose != name else name
        if topics and name != _INDEX:
            found = [_topic(header, body)]
        else:
            found = [*facts(body, index=topics or whose == "Codex")]
            if found and header.get("description"):
                found[0] = (f"{header['description']}: {found[0][0]}", found[0][1])
        for text, tags in found:
            if text:
                drafts.append(Draft(text, tags, "", origin, source.changed, IMPORTED))

    for name in names:
        batch.read(name, read, real=os.path.realpath(name) if name == path else "")
    if not drafts and not batch.problems:
        raise CoError(f"{path} holds no fact that Co can read", hint="Nothing was imported.")
    return drafts, batch


def _parts(text: str) -> tuple[dict[str, str], str]:
    """A file's header, as far as it is plain, and its text; rules have patterns no YAML allows."""
    try:
        header, body = parse_frontmatter(text)
    except FormatError:
        where = find_header(text)
        lines = text[where[0] : where[1]] if where else ""
        header = dict(re.findall(r"(?m)^(\w{1,40}):[ \t]*(\S.*)$", lines))
        body = text[where[2] :] if where else text
    plain = {name: value.strip() for name, value in header.items() if isinstance(value, str)}
    return plain, _COMMENT.sub("", body.replace("\r\n", "\n")).strip()


def _topic(header: dict[str, str], body: str) -> tuple[str, tuple[str, ...]]:
    """A file of Claude Code's on one subject: what it says, under what it is about."""
    about = header.get("description", "")
    known = not about or wiki.words(about) == wiki.words(body)[: len(wiki.words(about))]
    text = body if known else f"{about}\n\n{body}" if "\n" in body else f"{about}: {body}"
    return text.strip(), _tags(header.get("type", ""))


def facts(body: str, *, index: bool = False) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each item of a list, and the text under each heading; `index` leaves mere links out."""
    bullets, rest = wiki.split_bullets(body)
    for text, above in [*_sections(rest), *bullets]:
        fact = text.strip()
        if _ONLY_IMPORT.fullmatch(fact) or not re.search(r"\w", fact):
            continue
        if index and (_ONLY_LINK.fullmatch(fact) or "rollout_summaries/" in fact):
            continue
        yield fact, _tags(above)


def _sections(text: str) -> Iterator[tuple[str, str]]:
    """The text under each heading, with the heading."""
    lines = text.split("\n")
    held, above = list[str](), ""
    for line, coded in zip(lines, wiki.code(lines), strict=True):
        heading = "" if coded else wiki.heading(line)
        if heading:
            yield "\n".join(held), above
            held, above = [], heading
        else:
            held.append(line)
    yield "\n".join(held), above


def _tags(heading: str) -> tuple[str, ...]:
    """A heading as a tag, where it is short enough to be one."""
    said = wiki.words(heading)
    return ("-".join(said),) if 0 < len(said) <= 3 else ()
