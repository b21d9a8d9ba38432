"""Notes from markdown files: Co's own, Obsidian's, Logseq's and anybody else's."""

import os
import re
from functools import partial

from co_cli.errors import FormatError
from co_cli.knowledge.format.frontmatter import MAX_HEADER, parse_frontmatter
from co_cli.knowledge.format.note import moment_of, number_of, parse
from co_cli.knowledge.importers.batch import ImportBatch, Source, iso_moment
from co_cli.knowledge.importers.page import Page
from co_cli.knowledge.pages import Problem

MAX_FILES = 20_000


def read_folder(top: str, batch: ImportBatch, *, own: str = "", split: bool = False) -> None:
    """Read a knowledge folder's memories and articles, or else all markdown below a folder."""
    for base in (f"{top}/.co-cli/knowledge", f"{top}/knowledge", top):
        paths = _find(os.path.join(base, "memories"), batch, deep=False)
        theirs = os.path.realpath(base) != os.path.realpath(own or "/")
        if theirs and (any(map(number_of, paths)) or (paths and "/.co-cli/" in base)):
            reason = "left alone: only the notes of a knowledge folder are imported"
            context = os.path.join(base, "context.md")
            batch.problems += [Problem(context, reason)] if os.path.lexists(context) else []
            for path in _find(os.path.join(base, "articles"), batch, deep=False):
                batch.read(path, _read_article)
            importer = _read_note
            break
    else:
        paths = _find(top, batch, deep=True)
        importer = partial(read_markdown, top=top, split=split)
    for path in paths:
        batch.read(path, importer)


def _find(top: str, batch: ImportBatch, *, deep: bool) -> list[str]:
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
            batch.problems.append(Problem(folder, f"cannot be read: {error.strerror}"))
        if not deep:
            break
        programs = [path for path in below if _is_a_programs(path)]
        batch.problems += [Problem(path, "left alone: a program's files") for path in programs]
        folders += [path for path in reversed(below) if path not in programs]
    if folders or len(found) > MAX_FILES:
        reason = f"holds more than {MAX_FILES} files or folders; the rest was left out"
        batch.problems.append(Problem(top, reason))
    return found[:MAX_FILES]


def _is_a_programs(folder: str) -> bool:
    """Whether a folder holds installed packages, or Logseq's settings and backups."""
    logseq = folder.endswith("/logseq") and os.path.lexists(f"{folder}/config.edn")
    return logseq or folder.endswith("/node_modules")


def _read_note(source: Source, batch: ImportBatch) -> None:
    """Read a note of Co's, as it stands; one without a header has the file's date."""
    header, body = parse_frontmatter(source.text)
    created = iso_moment(header.get("created")) or source.changed
    batch.add_text(body.strip().replace("\r\n", "\n"), source.path, header, created)


def _read_article(source: Source, batch: ImportBatch) -> None:
    """Read an article of Co's; one without a header has its file for a source."""
    note = parse(source.path, source.text.encode())
    undated = note.plain or note.filled.get("fetched") == moment_of(0)
    date = {"fetched": source.changed} if undated else {}
    batch.add_article(note.body.replace("\r\n", "\n"), source.path, note.meta | date)


def read_markdown(
    source: Source, batch: ImportBatch, *, top: str = "", split: bool = False
) -> None:
    """Read one file: a note of Co's as it stands, any other as a page of a wiki."""
    try:
        header, body = parse_frontmatter(source.text)
    except FormatError as error:
        if re.search(r"(?m)^(?:id|uid|trust|source|fetched)[ \t]*:", source.text[:MAX_HEADER]):
            raise  # a note of Co's, or perhaps somebody else's words
        header, body = {}, source.text
        batch.remarks.append(Problem(source.path, f"the header stays text: {error}", error.line))
    number = header.get("id")
    if isinstance(number, int) or re.fullmatch(r"mem-\d{1,9}", str(number)):
        _read_note(source, batch)
        return
    path = os.path.relpath(source.path, top) if top else os.path.basename(source.path)
    folders = path.split("/")[:-1]
    if folders[:1] == ["pages"] and os.path.lexists(os.path.join(top, "journals")):
        del folders[0]  # where Logseq puts every page
    Page(source, path, header, body).add_to(batch, folders, split=split)
