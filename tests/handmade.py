"""Notes as a person writes them with an editor, and what a test wants to know of a notebook."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from co_cli.errors import EmbedderUnavailable
from co_cli.knowledge.meaning.encoders import Meaning, built_in
from co_cli.knowledge.notebook import Notebook
from co_cli.knowledge.search.hits import How, Recall

NOON = datetime(2026, 2, 9, 12, 0, tzinfo=UTC)
Heard = list[tuple[str, str]]

_listeners: list[tuple[str, Heard]] = []


def _hear(event: str, args: tuple[object, ...]) -> None:
    if _listeners and event in ("open", "os.scandir", "os.listdir"):
        path = args[0] if isinstance(args[0], str) else ""
        for root, heard in _listeners:
            if path.startswith(root):
                heard.append((event, path[len(root) + 1 :]))


sys.addaudithook(_hear)


@contextmanager
def listening(root: str | os.PathLike[str]) -> Iterator[Heard]:
    """What this process opens and lists under a folder meanwhile; SQLite goes unheard."""
    one: tuple[str, Heard] = (os.fspath(root), [])
    _listeners.append(one)
    try:
        yield one[1]
    finally:
        _listeners.remove(one)


def read(heard: Heard) -> list[str]:
    """The notes among what was opened."""
    return sorted(name for event, name in heard if event == "open" and name.endswith(".md"))


def listed(heard: Heard) -> list[str]:
    """The folders of notes that were listed."""
    return [name for event, name in heard if event != "open" and name in ("memories", "articles")]


def page(number: int, body: str, *tags: str, created: str = "") -> str:
    """A memory's file as text."""
    created = created or f"2026-01-{1 + number % 28:02d}T10:00:00+00:00"
    listed_tags = "".join(f"- {tag}\n" for tag in tags)
    tagged = f"tags:\n{listed_tags}" if tags else ""
    return f'---\nid: {number}\ncreated: "{created}"\n{tagged}---\n\n{body}\n'


def put(root: str | os.PathLike[str], number: int, body: str, *tags: str, created: str = "") -> str:
    """Write a memory by hand; its path."""
    path = Path(root) / "memories" / f"{number:03d}-note.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page(number, body, *tags, created=created), encoding="utf-8")
    return str(path)


def put_article(root: str | os.PathLike[str], name: str, title: str, body: str) -> str:
    """Write an article by hand; its path."""
    path = Path(root) / "articles" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    header = f'source: https://x.example\nfetched: "2026-01-05T10:00:00+00:00"\ntitle: {title}'
    path.write_text(f"---\n{header}\n---\n\n{body}\n", encoding="utf-8")
    return str(path)


class ReadOnce(Meaning):
    """The built-in embedder, which reads the same text closely only once in a test process."""

    @lru_cache(maxsize=1000)  # noqa: B019 - there is one, and it stays
    def closely(self, text: str) -> bytes:
        return super().closely(text)


READ_ONCE = ReadOnce()


def opened(root: str | os.PathLike[str], **how: Any) -> Notebook:
    """The notebook at a fixed hour."""
    return Notebook(root, clock=lambda: NOON, how=How(**{"embedder": lambda: READ_ONCE, **how}))


def names(book: Notebook, query: str, limit: int = 50, **options: Any) -> list[str]:
    """The files that answer, best first, without the one that a young notebook always shows."""
    return [hit.note.name for hit in book.recall(query, limit, **options) if hit.plausible]


def reasons(found: Recall[Any]) -> str:
    """What a recall had to do without, in words."""
    return "; ".join(trouble.reason for trouble in found.degraded)


def answers(book: Notebook, queries: Sequence[str]) -> dict[str, list[tuple[Any, ...]]]:
    """Everything that is told about every hit, but for the folder it is in."""
    return {
        query: [
            (
                hit.note.name,
                hit.note.id,
                hit.note.created,
                hit.note.raw,
                hit.updated_by and hit.updated_by.name,
                hit.maybe_updated_by and hit.maybe_updated_by.name,
                *hit._replace(updated_by=None, maybe_updated_by=None)[1:],
            )
            for hit in book.recall(query, 50)
        ]
        for query in queries
    }


def mirror(root: str, target: str) -> None:
    """The same files in another place, whatever they are, with the journal, and no index."""
    if os.path.isdir(archive := os.path.join(root, "archive")):  # it tells whose a number was
        shutil.copytree(archive, os.path.join(target, "archive"))
    for folder in ("memories", "articles"):
        os.makedirs(os.path.join(target, folder))
        for name in os.listdir(os.path.join(root, folder)):
            here, there = os.path.join(root, folder, name), os.path.join(target, folder, name)
            if os.path.islink(here):
                os.symlink(os.readlink(here), there)
            elif os.path.isdir(here):
                os.mkdir(there)
            elif os.path.isfile(here):
                shutil.copy2(here, there)  # the time of a file without a header is its date
            else:
                os.mkfifo(there)


def held(root: str | os.PathLike[str]) -> dict[str, tuple[bytes, int]]:
    """Every note's bytes and time."""
    return {
        str(path.relative_to(root)): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in Path(root).rglob("*.md")
        if path.is_file()
    }


class Counting:
    """An embedder that says what it was asked, and fails when it is told to."""

    def __init__(self, name: str = "counting") -> None:
        self.real = built_in()
        self.name, self.dim = name, self.real.dim
        self.asked: list[str] = []
        self.fails: Callable[[str], bool] = lambda _: False

    def documents(self, texts: Sequence[str]) -> list[bytes]:
        if self.fails("documents"):
            raise EmbedderUnavailable("the documents stay outside")
        self.asked += texts
        return self.real.documents(texts)

    def query(self, text: str) -> bytes:
        if self.fails("query"):
            raise EmbedderUnavailable("the question stays outside")
        return self.real.quickly(text)
