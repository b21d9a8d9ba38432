"""The files in a session's prompt, looked through by the same search as notes. Writes nothing."""

import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

from co_cli.knowledge import Notebook
from co_cli.knowledge.format.note import now, timestamp
from co_cli.knowledge.store.memory import MemoryStore

_ITEM = r"\s{0,12}(?:[-*+]|\d{1,3}[.)])\s+"


class Passage(NamedTuple):
    """A part of a file, the file's name as a person is told it, and how well it answers."""

    name: str
    text: str
    score: float = 0.0


class Known:
    """Texts by the names of their files; nothing is read before somebody asks."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self.texts = texts

    @cached_property
    def _passages(self) -> list[tuple[str, Passage]]:
        return [
            (heading, Passage(name, text))
            for name, whole in self.texts.items()
            for heading, text in _parts(whole)
        ]

    @cached_property
    def _book(self) -> Notebook:
        store = MemoryStore()
        for number, (heading, passage) in enumerate(self._passages, 1):
            text = f"{heading or passage.name}\n{passage.text}"
            header = f"---\nid: {number}\ncreated: {timestamp(now())}\n---\n"
            store.put(f"memories/{number:03d}-part.md", f"{header}{text}\n".encode())
        return Notebook(store)

    def find(self, query: str) -> Passage | None:
        """The passage that answers best, if one surely does."""
        hits = self._book.recall(query, 1) if self._passages else ()
        found = ((self._passages[hit.note.id - 1][1], hit.score) for hit in hits if not hit.weak)
        return next((passage._replace(score=score) for passage, score in found), None)


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
