"""The context and instruction files of a session, searched like notes. Writes nothing."""

import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

from co_cli.knowledge import Notebook
from co_cli.knowledge.format.note import now, timestamp
from co_cli.knowledge.store.memory import MemoryStore

_MOST = 3  # passages of an answer
_ITEM = r"\s{0,12}(?:[-*+]|\d{1,3}[.)])\s+"


class Passage(NamedTuple):
    """A part of a file, the file's name, and how well it answers."""

    name: str
    text: str
    score: float = 0.0


class Files:
    """Texts by the names of their files; nothing is read before somebody asks."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self.texts = texts

    @cached_property
    def _read(self) -> tuple[list[Passage], Notebook]:
        """The passages, and a notebook with a note for each, whose number is its place."""
        parts = [(name, *part) for name, whole in self.texts.items() for part in _parts(whole)]
        store = MemoryStore()
        for number, (name, heading, text) in enumerate(parts, 1):
            header = f"---\nid: {number}\ncreated: {timestamp(now())}\n---\n{heading or name}\n"
            store.put(f"memories/{number:03d}-part.md", f"{header}{text}\n".encode())
        return [Passage(name, text) for name, _, text in parts], Notebook(store)

    def search(self, query: str) -> list[Passage]:
        """The passages that surely answer, best first."""
        passages, book = self._read
        hits = book.recall(query, _MOST) if passages else ()
        sure = [hit for hit in hits if not hit.weak]
        return [passages[hit.note.id - 1]._replace(score=hit.score) for hit in sure]


def _parts(text: str) -> Iterator[tuple[str, str]]:
    """Items of lists and paragraphs, each after its heading; a block of code goes with its text."""
    heading, part, fenced = "", "", False
    for line in [*text.splitlines(), ""]:
        begins = re.match(_ITEM, line) is not None or line.startswith("#")
        ends = begins or not (line.strip() or part.endswith(":"))
        if not fenced and part and ends:
            yield heading, part
            part = ""
        if line.startswith("#") and not fenced:
            heading = line.strip("# ")
        elif line.strip():
            part = f"{part}\n{line.rstrip()}" if part else re.sub(_ITEM, "", line).strip()
        fenced ^= line.strip().startswith(("```", "~~~"))
    if part:
        yield heading, part
