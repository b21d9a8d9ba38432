"""Notes from markdown files, Co's own and other programs'."""

import os

from co_cli.knowledge.format.frontmatter import parse_frontmatter
from co_cli.knowledge.importers.batch import ImportBatch, Source, iso_moment
from co_cli.knowledge.pages import Problem

MAX_FILES = 20_000


def read_folder(top: str, batch: ImportBatch) -> None:
    """Read a knowledge folder's memories, or else all markdown below a folder."""
    for base in (f"{top}/.co-cli/knowledge", f"{top}/knowledge", top):
        if paths := _find(os.path.join(base, "memories"), batch, deep=False):
            reason = "left alone: only the memories of a knowledge folder are imported"
            left = [os.path.join(base, name) for name in ("context.md", "articles")]
            batch.problems += [Problem(path, reason) for path in left if os.path.lexists(path)]
            break
    else:
        paths = _find(top, batch, deep=True)
    for path in paths:
        batch.read(path, read_markdown)


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
        folders += reversed(below) if deep else ()
    if folders or len(found) > MAX_FILES:
        reason = f"holds more than {MAX_FILES} files or folders; the rest was left out"
        batch.problems.append(Problem(top, reason))
    return found[:MAX_FILES]


def read_markdown(source: Source, batch: ImportBatch) -> None:
    """Read one file; its title, where the text does not begin with it, becomes the first line."""
    header, body = parse_frontmatter(source.text)
    body = body.strip().replace("\r\n", "\n")
    title = header.get("title")
    if isinstance(title, str) and not body.lstrip("# ").startswith(title.strip()):
        body = f"{title.strip()}\n\n{body}".strip()
    created = iso_moment(header.get("created")) or iso_moment(header.get("date")) or source.changed
    batch.add_text(body, source.path, header, created)
