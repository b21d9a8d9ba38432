"""A change being put together, and what it will have done. Decides nothing by itself."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from co_cli.errors import FormatError, Protected
from co_cli.knowledge import lifecycle
from co_cli.knowledge.format.note import Note, file_name, parse, timestamp
from co_cli.knowledge.format.rewrite import render, rewrite
from co_cli.knowledge.pages import Problem
from co_cli.knowledge.reader import Reader
from co_cli.knowledge.store import Change, Edit, disk


@dataclass(slots=True)
class Saved:
    """What a save did."""

    action: str
    note: Note
    ref: str
    similar: list[tuple[Note, float]] = field(default_factory=list)
    decayed: list[Note] = field(default_factory=list)
    summary: Note | None = None
    replaced: Note | None = None
    over: int = 0
    change: int = 0
    reworded: bool = True


class ImportItem(NamedTuple):
    """A text from elsewhere that could become a note, and where it came from."""

    text: str
    origin: str
    tags: tuple[str, ...] = ()
    created: str = ""
    fields: tuple[tuple[str, Any], ...] = ()


@dataclass(slots=True)
class ImportPlan:
    """What an import would do: the change, the new notes, what is known, what is refused."""

    change: Change | None
    added: list[Note]
    known: list[ImportItem]
    refused: list[Problem]
    context: bytes | None = None


class Plan(NamedTuple):
    """A change and what will be true once it is carried out; None when nothing would differ."""

    change: Change | None
    saved: Saved

    @property
    def seen(self) -> str:
        """A mark of what the text collides with; it differs when a person would see another."""
        same = self.saved.action == "consolidated"
        edits = self.change.edits if self.change and same else ()
        met = [(edit.path, disk.digest(edit.before)) for edit in edits]
        met += [(note.name, disk.digest(note.raw)) for note, _ in self.saved.similar]
        where = os.path.dirname(self.saved.note.path)
        mark = str(disk.digest(repr((where, same, met)).encode("utf-8", "backslashreplace")))
        moved = repr([note.name for note in self.saved.decayed]).encode("utf-8", "backslashreplace")
        return f"{mark}+{disk.digest(moved)}" if self.saved.decayed else mark


def protected(ref: str) -> Protected:
    return Protected(
        f"memory {ref} is protected", hint=f"`co knowledge unprotect {ref}` first, if you mean it."
    )


def _fitting(raw: bytes) -> bytes:
    if len(raw) > disk.MAX_FILE:
        raise FormatError("the note would become too large to be read again")
    return raw


def new_uid() -> str:
    """A random name for links: letters only, so that nothing takes it for a number."""
    return "".join(chr(ord("a") + byte % 26) for byte in os.urandom(14))


class Draft:
    """A change being put together."""

    def __init__(self, book: Reader, actor: str, call: str = "") -> None:
        self.book = book
        self.basis = book.basis
        self.actor = actor
        self.call = call
        self.at = timestamp(book.clock())
        self.edits: list[Edit] = []
        self.over = self.basis.over
        self.high = 0

    def add(self, text: str, tags: list[str], fields: dict[str, Any]) -> Note:
        """A new note with the next number."""
        number = self.high = self.high + 1 if self.high else self.book.next_id()
        meta: dict[str, Any] = {
            "id": number,
            "uid": new_uid(),
            "created": self.at,
            "tags": tags,
            "source": lifecycle.detect_source(tags),
            "auto_category": lifecycle.detect_category(tags),
            **fields,
        }
        kept = {name: value for name, value in meta.items() if value not in (None, [], "", False)}
        raw = _fitting(render(kept, text))
        name = file_name(number, text)
        self.edits.append(Edit(f"memories/{name}", None, raw))
        return parse(os.path.join(self.book.memories, name), raw)

    def edit(self, note: Note, changes: dict[str, Any], text: str | None = None) -> Note:
        """The note with these fields changed and nothing else; a legacy field goes.

        A uid that it shares with another note is replaced.
        """
        if "consolidation_reason" in note.meta:
            changes = changes | {"consolidation_reason": None}
        if note.path in self.book.copies([note]):
            changes = changes | {"uid": new_uid()}
        try:
            raw = _fitting(rewrite(note.raw, changes, text))
        except FormatError as error:
            raise FormatError(f"{note.name}: {error}") from error
        self.edits.append(Edit(f"memories/{note.name}", note.raw, raw))
        return parse(note.path, raw)

    def remove(self, note: Note) -> None:
        """The note goes to the archive; a protected one does not."""
        if note.protected:
            raise protected(self.book.ref(note))
        self.edits.append(Edit(f"memories/{note.name}", note.raw, None))

    def decay(self, notes: list[Note]) -> tuple[list[Note], Note | None]:
        """The oldest notes leave; with `summarize` one new note holds all their texts."""
        policy = self.book.policy
        picked = lifecycle.pick_decay(notes, policy)
        summary = None
        if picked and policy.strategy == "summarize":
            fields = {
                "created": min(note.created for note in picked),
                "updated": self.at,
                "source": "auto_decay",
            }
            tags = list(lifecycle.DECAY_TAGS)
            summary = self.add(lifecycle.decay_text(picked), tags, fields)
        for note in picked:
            self.remove(note)
        return picked, summary

    def change(self, op: str) -> Change:
        """The finished change."""
        return Change(
            op, self.actor, self.at, self.basis.settled, tuple(self.edits),
            high=max(self.high, self.book.highest), call=self.call, over=self.over,
        )  # fmt: skip
