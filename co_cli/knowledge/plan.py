"""What each verb would change, worked out from what was read. Writes nothing.

A Plan is carried out by `Notebook.commit`, or refused when the notebook moved on meanwhile.
"""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, NamedTuple, Protocol, Self, Unpack

from co_cli.errors import CoError, FormatError, MovedOn, NotFound, Protected
from co_cli.knowledge import lifecycle, use
from co_cli.knowledge.format.frontmatter import MAX_ID
from co_cli.knowledge.format.note import Note, file_name, linked_uids, parse, scoped, timestamp
from co_cli.knowledge.format.rewrite import render, rewrite, with_header
from co_cli.knowledge.pages import MEMORIES, Look, Problem, Ref, original_of
from co_cli.knowledge.policy import Links, Policy
from co_cli.knowledge.search.hits import Around
from co_cli.knowledge.store import Change, Edit, Store, disk, mark

Action = Literal[
    "created", "related", "updated", "consolidated", "merged", "edited", "decayed", "linked",
    "adopted", "forgotten", "restored", "marked", "unmarked", "unchanged",
]  # fmt: skip
Flag = Literal["protect", "pin", "sensitive"]
_FLAGS: dict[Flag, str] = {"protect": "decay_protected", "pin": "pinned", "sensitive": "sensitive"}
_Fields = Mapping[str, Any]  # of a header


class Book(Protocol):
    """What a plan asks of a notebook."""

    store: Store
    policy: Policy
    clock: Callable[[], datetime]
    prefix: str

    def look(self) -> Look: ...
    def ref(self, note: Note) -> str: ...
    def find(self, ref: Ref, look: Look | None = None) -> Note: ...
    def own(self, notes: list[Note]) -> list[Note]: ...
    def articles(self) -> list[Note]: ...
    def tells(self, note: Note) -> bool: ...
    def copies(self, notes: Iterable[Note], among: Sequence[Note] = ()) -> set[str]: ...


@dataclass(slots=True)
class Saved:
    """What a save did; `trouble` is what went wrong after it was saved."""

    action: Action
    note: Note
    ref: str
    similar: list[tuple[Note, float]] = field(default_factory=list)
    updates: list[Note] = field(default_factory=list)
    decayed: list[Note] = field(default_factory=list)
    summary: Note | None = None
    replaced: Note | None = None
    adopted: list[Note] = field(default_factory=list)
    over: int = 0
    change: int = 0
    reworded: bool = True
    likeness: float = 100.0  # to the wording that a consolidation replaced, in percent
    trouble: str = ""


class ImportItem(NamedTuple):
    """A text from elsewhere that could become a note, and where it came from.

    `links` are the origins of the other texts that it leads to.
    """

    text: str
    origin: str
    tags: tuple[str, ...] = ()
    created: str = ""
    fields: tuple[tuple[str, Any], ...] = ()
    links: tuple[str, ...] = ()


@dataclass(slots=True)
class ImportPlan:
    """What an import would do: the change, the new notes, what is known, what is refused."""

    change: Change | None
    added: list[Note]
    known: list[ImportItem]
    refused: list[Problem]
    context: bytes | None = None


class Plan(NamedTuple):
    """A change, None when nothing would differ, and what will be true once it is carried out."""

    change: Change | None
    saved: Saved

    @property
    def seen(self) -> str:
        """A mark of what the text collides with and moves; another if a person would see more."""
        same = self.saved.action == "consolidated"
        known = same or (self.change and self.change.op == "keep")
        edits = self.change.edits if self.change and known else ()
        met = [(e.path, disk.digest(e.before)) for e in edits if not e.path.startswith("inbox/")]
        met += [(note.name, disk.digest(note.raw)) for note, _ in self.saved.similar]
        met += [(note.path, disk.digest(note.raw)) for note in self.saved.updates]
        seen = mark(os.path.dirname(self.saved.note.path), same, sorted(met))
        moved = [note.name for note in self.saved.decayed]
        return f"{seen}+{mark(moved)}" if moved else seen

    def hold_to(self, seen: str) -> Self:
        """This plan; MovedOn when it does anything but what a person agreed to."""
        if seen and self.seen not in (seen, seen.partition("+")[0]):  # it may move none any more
            raise MovedOn("the notebook changed meanwhile", hint="Nothing was saved; ask again.")
        return self


def protected(note: Note, ref: str) -> Protected:
    hint = f"`co knowledge unprotect {ref}` first, if you mean it."
    return Protected(f"{note.kind} {ref} is protected", hint=hint)


def _decided(
    updates: Sequence[Note] = (), related: Sequence[Note] = (), replaces: str = ""
) -> tuple[list[Note], list[Note], str]:
    """What a person decided about other notes; any other keyword is an error."""
    return [*updates], [*related], replaces


def new_uid(data: bytes = b"") -> str:
    """A name for links, random or by these bytes; letters, so that none is taken for a number."""
    chosen = bytes.fromhex(str(disk.digest(data)))[:14] if data else os.urandom(14)
    return "".join(chr(ord("a") + byte % 26) for byte in chosen)


class Planner:
    """A change being put together, from what a look at the notebook found."""

    def __init__(self, book: Book, look: Look, actor: str, call: str = "") -> None:
        self.book, self.look, self.actor, self.call = book, look, actor, call
        self.at = timestamp(book.clock())
        self.edits: list[Edit] = []
        self.high, self.over = 0, look.tail.over

    def add(self, text: str, tags: list[str], fields: _Fields, name: str = "") -> Note:
        """A new note with the next number, in a file that is called after its text or otherwise."""
        number = self.next_id()
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
        return self.write(f"{MEMORIES}/{file_name(number, name or text)}", None, render(kept, text))

    def next_id(self) -> int:
        self.high = self.high + 1 if self.high else self.look.next_id()
        return self.high

    def write(self, file: str, before: bytes | None, raw: bytes, modified: int = 0) -> Note:
        """The note that these bytes will be, in the place of those before."""
        if len(raw) > disk.MAX_FILE:
            raise FormatError("the note would become too large to be read again")
        note = parse(self.book.store.locate(file), raw, modified)
        self.edits.append(Edit(file, before, raw, modified))
        return note

    def _with_header(self, note: Note, raw: bytes) -> bytes:
        """A plain note's text with a header: its number or the next one, and the file's date."""
        if note.kind == "article":
            told = {name: note.meta[name] for name in ("source", "fetched", "title")}
            return with_header(raw, {"uid": new_uid(), **told, "trust": "external"})
        number = {"id": note.id or self.next_id()} if note.kind == "memory" else {}
        return with_header(raw, {**number, "uid": new_uid(), "created": note.created})

    def edit(self, note: Note, changes: dict[str, Any], text: str | None = None) -> Note:
        """The note with these fields changed; a legacy field goes, and a copied uid is replaced."""
        if "consolidation_reason" in note.meta:
            changes = changes | {"consolidation_reason": None}
        if note.path in self.book.copies([note], self.look.notes):
            changes = changes | {"uid": new_uid()}
        try:
            raw = self._with_header(note, note.raw) if note.plain else note.raw
            return self.write(note.file, note.raw, rewrite(raw, note.filled | changes, text))
        except FormatError as error:
            raise FormatError(f"{note.name}: {error}") from error

    def remove(self, note: Note) -> None:
        """The note goes to the archive, an article with its original; a protected one does not."""
        if note.protected:
            raise protected(note, self.book.ref(note))
        self.edits.append(Edit(note.file, note.raw, None))
        if note.attachment:
            self.detach(note)

    def detach(self, note: Note) -> None:
        """An article's original goes to the archive, unless another article names it too."""
        path, others = note.attachment, self.book.articles()
        if any(other.attachment == path for other in others if other.path != note.path):
            return
        try:
            data = original_of(self.book.store, note)
        except FormatError as error:
            hint = "Nothing was changed. Move that file away and try again."
            raise CoError(f"{path} {error}", hint=hint) from error
        self.edits += [Edit(path, data, None)] if data is not None else []

    def links(self, notes: Sequence[Note]) -> list[str]:
        """What another note's header calls these: by uid, or by number where the uid is copied.

        A note of another notebook has to have a uid of its own.
        """
        if not notes:
            return []
        folder = os.path.dirname(self.book.store.locate(f"{MEMORIES}/x"))
        for note in notes:
            if os.path.dirname(note.path) != folder and not note.meta.get("uid"):
                hint = f"`co knowledge adopt` in its project gives {note.name} one."
                raise CoError("a note in another notebook has no uid to link to", hint=hint)
        copies = self.book.copies(notes, self.look.notes)
        return [str(note.id) if note.path in copies else note.uid for note in notes]

    def change(self, op: str) -> Change:
        """The finished change."""
        return Change(
            op, self.actor, self.at, self.look.tail.settled, tuple(self.edits),
            high=max(self.high, self.look.highest), call=self.call, over=self.over,
        )  # fmt: skip

    def plan(self, op: str, action: Action, note: Note) -> Plan:
        """The finished change, as the plan of a verb about one note."""
        return Plan(self.change(op), Saved(action, note, self.book.ref(note)))

    # The verbs, which `Notebook` describes

    def save(
        self, around: Around, text: str, tags: list[str], fields: _Fields, **links: Unpack[Links]
    ) -> Plan:
        """What saving a checked text does: same, similar or distinct, and whether notes decay."""
        outdated, related, replaces = _decided(**links)
        book, policy = self.book, self.book.policy
        near = around.of(str(fields.get("language") or ""))
        same, close = lifecycle.judge(text, near, policy.threshold)
        if same is not None:
            return self.consolidate(same, text, tags, fields)
        usual = not (replaces or outdated or related or fields.get("trust"))
        if policy.action == "consolidate" and usual:
            able = book.own(list(near.near))
            for note, score in lifecycle.alike(close, able, policy, self.at)[:1]:
                plan = self.consolidate(note, text, tags, fields)
                plan.saved.likeness = score
                return plan
        action: Action = "created"
        replaced = None
        close = self._naming(replaces, text, close) if replaces else close
        met = [note for note, _ in close]
        # What a person says beside a note from outside is theirs; a model may just echo it.
        echoed = [*met, *outdated] if self.actor == "agent" else []
        header: dict[str, Any] = {"updates": self.links(outdated), "related": self.links(related)}
        if replaces:
            replaced = met[0]
            echoed = [*echoed, replaced]
            self.remove(replaced)
            header["supersedes"] = self.links([replaced])
            inherited = lifecycle.linked([replaced], "updates")  # what it updated stays out of date
            header["updates"] = lifecycle.union(header["updates"], inherited)
        if replaces or outdated:
            action = "updated"
        elif related:
            action = "related"
        note = self.add(text, tags, {**fields, **lifecycle.inherited(echoed), **header})
        saved = Saved(action, note, book.ref(note), close, outdated, replaced=replaced)
        count = around.total - (replaced is not None)
        if count == policy.max_count and replaced is None:  # this save crosses the limit
            notes = self.look.notes or book.look().notes
            saved.decayed = self._oldest(book.own(notes))
        if count >= policy.max_count and not (saved.decayed or self.look.tail.over):
            saved.over = count + 1
        self.over = count >= policy.max_count
        return Plan(self.change("update" if replaced else "save"), saved)

    def _naming(
        self, ref: str, text: str, close: list[tuple[Note, float]]
    ) -> list[tuple[Note, float]]:
        """What is similar, after the note that a person named, however unlike its words are."""
        named = self.book.find(ref.removeprefix(self.book.prefix))
        others = [pair for pair in close if pair[0] != named]
        return [(named, lifecycle.similarity(named.body, text)), *others]

    def link(self, ref: Ref, *, updates: Sequence[Note] = (), related: Sequence[Note] = ()) -> Plan:
        """Note in a memory's header what it brings out of date, or what is unrelated to it."""
        note = self.book.find(ref, self.look)
        changes: dict[str, Any] = {}
        for name, notes in (("updates", updates), ("related", related)):
            new = self.links(notes)
            if set(new) - set(known := linked_uids(note, name)):
                changes[name] = lifecycle.union(known, new)
        saved = Saved("linked", note, self.book.ref(note), updates=[*updates])
        if not changes:
            return Plan(None, saved)
        saved.note = self.edit(note, changes)
        return Plan(self.change("link"), saved)

    def consolidate(self, old: Note, text: str, tags: list[str], fields: _Fields) -> Plan:
        saved = Saved("consolidated", old, self.book.ref(old), reworded=text != old.body)
        if old.protected:
            return Plan(None, saved)
        tags = lifecycle.union(old.tags, tags)
        changes = {**fields, **lifecycle.inherited([old]), "tags": tags, "updated": self.at}
        if old.expired(self.at[:10]):  # said again, so it holds again
            changes.setdefault("expires", None)
        saved.note = self.edit(old, changes, None if text == old.body else text)
        saved.ref = self.book.ref(saved.note)
        return Plan(self.change("consolidate"), saved)

    def forget(self, ref: Ref, seen: str) -> Plan:
        note = self.book.find(ref, self.look)
        if seen and disk.digest(note.raw) != seen:
            raise MovedOn(f"the {note.kind} changed meanwhile", hint="Nothing was forgotten.")
        self.remove(note)
        return self.plan("forget", "forgotten", note)

    def mark(self, ref: Ref, flag: Flag, on: bool) -> Plan:
        note, field = self.book.find(ref, self.look), _FLAGS[flag]
        if (note.meta.get(field) is True) == on:
            return Plan(None, Saved("unchanged", note, self.book.ref(note)))
        if flag == "pin" and on and note.external:
            what = f"{note.kind} {self.book.ref(note)}"
            raise CoError(f"{what} came from outside, so it is never pinned")
        note = self.edit(note, {field: on})
        return self.plan(flag if on else f"un{flag}", "marked" if on else "unmarked", note)

    def adopt(self, refs: Sequence[Ref]) -> Plan:
        every = [] if refs else [*self.look.notes, *self.book.articles()]
        found = [self.book.find(ref, self.look) for ref in refs] or every
        notes = [self.edit(note, {}) for note in dict.fromkeys(found) if note.plain]
        if not notes:
            raise NotFound("every note has a header already")
        plan = self.plan("adopt", "adopted", notes[0])
        plan.saved.adopted = notes
        return plan

    def merge(self, refs: Iterable[Ref], keep_first: bool) -> Plan:
        found = [self.book.find(ref, self.look) for ref in refs]
        notes = list({note.path: note for note in found}.values())
        if len(notes) < 2:
            raise CoError("merging takes two different memories or more")
        first, others = notes[0], notes[1:]
        if first.kind != "memory":
            hint = "Name a memory first: this can be merged into it."
            raise CoError("only a memory takes in other text", hint=hint)
        if first.protected:
            raise protected(first, self.book.ref(first))
        text = first.body if keep_first else lifecycle.joined(note.body for note in notes)
        known = lifecycle.linked([first], "supersedes")
        changes: dict[str, Any] = {
            "tags": lifecycle.union(first.tags, (tag for note in others for tag in note.tags)),
            "supersedes": lifecycle.union(known, self.links(others)),
            "updates": lifecycle.still_updated(notes) or None,
            "updated": self.at,
            **lifecycle.inherited(notes),
        }
        if changes.get("trust") and not first.external:  # such a note is never pinned
            changes["pinned"] = None
        merged = self.edit(first, changes, None if text == first.body else text)
        for note in others:
            self.remove(note)
        return self.plan("merge", "merged", merged)

    def _oldest(self, notes: list[Note], category: str = "") -> list[Note]:
        """Those of these notes that decay now."""
        stamps = {entry.at for entry in self.book.store.entries()}
        return lifecycle.pick_decay(
            notes, self.book.policy, use.last_used, self.at, stamps, category
        )

    def decay(self, below: int = MAX_ID, category: str = "") -> Plan:
        """The oldest notes leave, or a category's; with `summarize` a new one has their texts."""
        policy, notes = self.book.policy, self.look.notes
        picked = self._oldest(self.book.own([n for n in notes if n.id < below]), category)
        if not picked:
            raise NotFound("no memory may decay")
        summary = None
        if policy.strategy == "summarize":
            since, of = min(note.created for note in picked), scoped(picked[0].language)
            fields = {"created": since, "updated": self.at, "source": "auto_decay", **of}
            known: dict[str, Any] = {**fields, "updates": lifecycle.still_updated(picked)}
            summary = self.add(lifecycle.decay_text(picked), [*lifecycle.DECAY_TAGS], known)
        for note in picked:
            self.remove(note)
        self.over = len(notes) - len(picked) + (summary is not None) > policy.max_count
        plan = self.plan("decay", "decayed", summary or picked[0])
        plan.saved.decayed, plan.saved.summary = picked, summary
        return plan

    def replace(self, note: Note, data: bytes) -> Plan:
        if (plain := parse(note.path, data).plain) and not note.plain:
            raise FormatError("there is no header between --- lines", line=1)
        data = self._with_header(note, data) if plain else data
        marks = lifecycle.put_back(note, parse(note.path, data))
        data = rewrite(data, marks) if marks else data
        changed = self.write(note.file, note.raw, data)
        numbers = [other.id for other in self.look.notes]
        free = changed.id not in numbers and (not note.id or numbers.count(note.id) > 1)
        if changed.id != note.id and not free:  # only one of two twins may take another
            must = f"stay {note.id}" if note.id else "be one that is free"
            raise FormatError(f"the number must {must}, not {changed.id}")
        self.high = changed.id
        return self.plan("edit", "edited", changed)
