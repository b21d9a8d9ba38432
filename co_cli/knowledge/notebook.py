"""A folder of notes and its rules; the only writer. Knows no model, terminal, network or settings.

Reading goes through one scan that keeps what has not changed. Every verb plans a Change from
what it read, and the journal carries it out or says that the notebook moved on; then the verb
plans again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from co_cli.errors import CoError, FormatError, MovedOn, NotFound, RefusedText
from co_cli.knowledge import lifecycle, similarity
from co_cli.knowledge.format.frontmatter import MAX_ID
from co_cli.knowledge.format.note import Note, parse, timestamp
from co_cli.knowledge.pages import Problem
from co_cli.knowledge.plan import Draft, ImportItem, ImportPlan, Plan, Saved, protected
from co_cli.knowledge.reader import Reader, Ref, named
from co_cli.knowledge.safety import check
from co_cli.knowledge.search.hits import Around
from co_cli.knowledge.store import Change, Edit, Entry, disk, previous

_TRIES = 5


class Notebook(Reader):
    """The notes of one knowledge folder and everything that may happen to them.

    It belongs to one thread; others open their own, and share nothing but the files.
    """

    def start(self, context: bytes) -> bool:
        """Begin the notebook with a context.md, unless there is one; whether it was written."""
        if self.store.signature("context.md"):
            return False
        at = timestamp(self.clock())
        edit = Edit("context.md", None, context)
        for _ in range(_TRIES):
            with suppress(MovedOn):
                self.store.commit(Change("init", "cli", at, self.store.tail().settled, (edit,)))
                return True
        return False

    # Saving

    def remember(
        self, text: str, tags: Iterable[str] = (), *, seen: str = "", **options: Any
    ) -> Saved:
        """Save a text; see `plan_remember` for the options.

        `seen` is the `Plan.seen` that a person agreed to: when saving would now do anything else,
        MovedOn is raised and nothing is saved.
        """
        tags = list(tags)
        if options.get("call"):  # ids of calls recur, in other conversations and with other texts
            said = repr((options["call"], text, tags)).encode("utf-8", "backslashreplace")
            options["call"] = disk.digest(said)
            if repeated := self._repeat(options["call"], text):
                return repeated

        def plan() -> Plan:
            planned = self.plan_remember(text, tags, **options)
            if seen and planned.seen not in (seen, seen.partition("+")[0]):  # or moves none now
                raise MovedOn(
                    "the notebook changed meanwhile", hint="Nothing was saved; ask again."
                )
            return planned

        return self._settle(plan)

    def plan_remember(
        self,
        text: str,
        tags: Iterable[str] = (),
        *,
        actor: str = "cli",
        similar: str = "keep",
        allow_secret: bool = False,
        call: str = "",
        **fields: Any,
    ) -> Plan:
        """Decide what saving this text does: same, similar or distinct, and whether notes decay.

        `similar` is the person's choice for a collision: `keep` both or `update` the old note.
        `fields` are further header fields, such as `decay_protected`, `expires` or `source`.
        """
        text = check.check_text(text, allow_secret=allow_secret)
        tags = check.clean_tags(tags, allow_secret=allow_secret)
        around = self._around(text)
        verdict = lifecycle.judge(text, around.same, around.near, self.policy.threshold)
        if verdict.match is not None:
            return self._plan_same(verdict.match, text, tags, actor, fields)
        draft = Draft(self, actor, call)
        links: dict[str, Any] = {}
        action = "created"
        replaced = None
        # What a person says beside a note from outside is theirs; a model may just echo it.
        echoed = [note for note, _ in verdict.similar] if actor == "agent" else []
        if verdict.similar and similar == "update":
            replaced = verdict.similar[0][0]
            echoed.append(replaced)
            draft.remove(replaced)
            links["supersedes"] = self.links([replaced])
            action = "updated"
        elif verdict.similar:
            links["related"] = self.links(note for note, _ in verdict.similar)
            action = "related"
        note = draft.add(text, tags, {**fields, **lifecycle.inherited(echoed), **links})
        saved = Saved(action, note, self.ref(note), list(verdict.similar), replaced=replaced)
        count = around.total - (replaced is not None)
        if count == self.policy.max_count and replaced is None:  # this save crosses the limit
            saved.decayed = lifecycle.pick_decay(self.own(self.notes()), self.policy)
        if count >= self.policy.max_count and not (saved.decayed or self.basis.over):
            saved.over = count + 1
        draft.over = count >= self.policy.max_count
        return Plan(draft.change("update" if replaced else "save"), saved)

    def _around(self, text: str) -> Around:
        """The notes a new text is compared with: few notes all, many by the index."""
        if self.is_large:
            self._begin()
            since = lifecycle.window(self.policy, self.clock())
            around = self.search.around(text, since, lifecycle.WINDOW_LIMIT)
            if around is not None:
                self.highest = self.taken = around.highest
                return around
        notes = self.notes()
        return Around(notes, notes[::-1], len(notes), self.highest)

    def _plan_same(
        self, old: Note, text: str, tags: list[str], actor: str, fields: dict[str, Any]
    ) -> Plan:
        saved = Saved("consolidated", old, self.ref(old), reworded=text != old.body)
        if old.protected:
            return Plan(None, saved)
        changes = {
            **fields,
            **lifecycle.inherited([old]),
            "tags": lifecycle.union(old.tags, tags),
            "updated": timestamp(self.clock()),
        }
        if old.expired(self.today()):  # said again, so it holds again
            changes.setdefault("expires", None)
        draft = Draft(self, actor)
        saved.note = draft.edit(old, changes, None if text == old.body else text)
        return Plan(draft.change("consolidate"), saved)

    def consolidate(
        self, ref: Ref, text: str, tags: Iterable[str] = (), *, actor: str = "cli"
    ) -> Saved:
        """Give a note a new wording of the same and further tags; a protected one stays."""
        text, tags = check.check_text(text), check.clean_tags(tags)
        return self._settle(lambda: self._plan_same(self.find(ref), text, tags, actor, {}))

    def _repeat(self, call: str, text: str) -> Saved | None:
        """The answer a tool call got when it arrived the first time, while its note is there."""
        done = self.store.find_call(call)
        if done is None:
            return None
        made = [file["path"] for file in done.files if file["before"] is None]
        there = [note for note in self.notes() if f"memories/{note.name}" in made]
        found = [note for note in there if similarity.same(note.body, text)]
        return Saved("created", found[0], self.ref(found[0]), change=done.n) if found else None

    def commit(self, plan: Plan) -> Saved:
        """Carry out a plan that a person has seen; MovedOn when it no longer fits.

        Decay is a change of its own, so that undo takes back the decay and not the save.
        """
        saved = plan.saved
        if plan.change is not None:
            saved.change = self.store.commit(plan.change)
            if self.origins is not None:
                self.origins.wrote(plan.change.op, plan.change.edits)
        if saved.decayed and saved.action != "decayed":
            try:
                after = self._settle(lambda: self._plan_decay(below=saved.note.id))
                saved.decayed, saved.summary = after.decayed, after.summary
            except CoError as error:
                saved.decayed = []
                self.problems.append(Problem(self.root, f"the oldest notes did not decay: {error}"))
        return saved

    def _plan_decay(self, below: int) -> Plan:
        plan = self.plan_decay(below=below)
        if plan is None:
            raise NotFound("no memory can decay")
        return plan

    def _settle(self, plan: Callable[[], Plan]) -> Saved:
        """Plan and commit until they agree; a busy notebook is planned while nobody can move it."""
        for _ in range(_TRIES):
            planned = plan()
            try:
                return self.commit(planned)
            except MovedOn:
                continue
        try:
            with self.store.locked():
                self.store.recover()
                return self.commit(plan())
        except OSError as error:
            raise disk.trouble(error) from error

    # Other verbs

    def forget(self, ref: Ref, *, actor: str = "cli", seen: str = "") -> Saved:
        """Archive a note; a protected one is refused.

        `seen` is the digest of the note that a person agreed to lose: any other raises MovedOn.
        """

        def plan() -> Plan:
            note = self.find(ref)
            if seen and disk.digest(note.raw) != seen:
                raise MovedOn("the memory changed meanwhile", hint="Nothing was forgotten.")
            draft = Draft(self, actor)
            draft.remove(note)
            return Plan(draft.change("forget"), Saved("forgotten", note, self.ref(note)))

        return self._settle(plan)

    def protect(self, ref: Ref, *, on: bool = True, actor: str = "cli") -> Saved:
        """Protect a note from forget and decay, or stop protecting it."""

        def plan() -> Plan:
            note = self.find(ref)
            if note.protected == on:
                return Plan(None, Saved("unchanged", note, self.ref(note)))
            draft = Draft(self, actor)
            note = draft.edit(note, {"decay_protected": on})
            verb = "protect" if on else "unprotect"
            return Plan(draft.change(verb), Saved(f"{verb}ed", note, self.ref(note)))

        return self._settle(plan)

    def merge(self, refs: Iterable[Ref], *, keep_first: bool = False, actor: str = "cli") -> Saved:
        """Merge notes into the first: their texts joined, or only the first one's wording kept."""
        refs = list(refs)

        def plan() -> Plan:
            notes = list({note.path: note for note in map(self.find, refs)}.values())
            if len(notes) < 2:
                raise CoError("merging takes two different memories or more")
            first, others = notes[0], notes[1:]
            if first.protected:
                raise protected(self.ref(first))
            text = first.body if keep_first else lifecycle.joined(note.body for note in notes)
            known = first.meta.get("supersedes")
            links = known if isinstance(known, list) else [known] if known else []
            changes: dict[str, Any] = {
                "tags": lifecycle.union(first.tags, (tag for note in others for tag in note.tags)),
                "supersedes": lifecycle.union(links, self.links(others)),
                "updated": timestamp(self.clock()),
            }
            changes |= lifecycle.inherited(notes)
            if changes.get("trust") and not first.external:  # such a note is never pinned
                changes["pinned"] = None
            draft = Draft(self, actor)
            merged = draft.edit(first, changes, None if text == first.body else text)
            for note in others:
                draft.remove(note)
            return Plan(draft.change("merge"), Saved("merged", merged, self.ref(merged)))

        return self._settle(plan)

    def plan_decay(self, *, actor: str = "co", below: int = MAX_ID) -> Plan | None:
        """What decaying the oldest notes now would do; None when none may decay."""
        notes = self.notes()
        draft = Draft(self, actor)
        decayed, summary = draft.decay(self.own([note for note in notes if note.id < below]))
        if not decayed:
            return None
        draft.over = len(notes) - len(decayed) + (summary is not None) > self.policy.max_count
        note = summary or decayed[0]
        saved = Saved("decayed", note, self.ref(note), decayed=decayed, summary=summary)
        return Plan(draft.change("decay"), saved)

    def refresh(self, plan: Plan) -> Plan:
        """A plan to decay that a person agreed to, on what is there now, if it does the same."""
        if plan.change is None or plan.change.basis == self.store.tail().settled:
            return plan
        again = self.plan_decay(actor=plan.change.actor)
        if again is None or again.saved.decayed != plan.saved.decayed:
            raise MovedOn("the notebook changed meanwhile", hint="Nothing was changed; look again.")
        return again

    def plan_import(
        self, items: Iterable[ImportItem], *, context: bytes | None = None, actor: str = "import"
    ) -> ImportPlan:
        """Plan notes for texts from elsewhere, leaving out what is here already or not storable.

        `context` is the new content of context.md, when the import brings some.
        """
        notes = self.notes()
        draft = Draft(self, actor)
        plan = ImportPlan(None, [], [], [], context)
        seen = {similarity.key(note.body) for note in notes}
        for item in items:
            try:
                text = check.check_text(item.text)
                tags = check.clean_tags(item.tags)
            except RefusedText as error:
                plan.refused.append(Problem(item.origin, str(error)))
                continue
            if (said := similarity.key(text)) in seen:
                plan.known.append(item)
                continue
            seen.add(said)
            fields = {"source": "import", **dict(item.fields)}
            if item.created:
                fields["created"] = item.created
            try:
                plan.added.append(draft.add(text, tags, fields))
            except FormatError as error:
                plan.refused.append(Problem(item.origin, str(error)))
        if context is not None and context != (before := self.store.read("context.md")):
            draft.edits.append(Edit("context.md", before, context))
        if draft.edits:
            draft.over = len(notes) + len(plan.added) > self.policy.max_count
            plan.change = draft.change("import")
        return plan

    def replace(self, note: Note, data: bytes, *, actor: str = "cli") -> Saved:
        """Put a person's edited bytes in a note's place, if the file is still what they edited."""
        changed = parse(note.path, data)
        numbers = [other.id for other in self.notes()]
        free = numbers.count(note.id) > 1 and changed.id not in numbers
        if changed.id != note.id and not free:  # only one of two twins may take another
            raise FormatError(f"the number must stay {note.id}, not {changed.id}")

        def plan() -> Plan:
            draft = Draft(self, actor)
            draft.basis = self.store.tail()
            draft.high = changed.id
            draft.edits.append(Edit(f"memories/{note.name}", note.raw, data))
            return Plan(draft.change("edit"), Saved("edited", changed, self.ref(changed)))

        return self._settle(plan)

    # Going back

    def restore(self, ref: Ref, *, actor: str = "cli") -> Saved:
        """Bring an archived note back as it was."""

        def plan() -> Plan:
            self.basis = self.store.tail()
            note = self.pick(ref, [note for _, note in self.archived()])
            if note is None:
                name = ref.name[:-3] if isinstance(ref, Note) else ref
                if named(str(name), self.notes()):
                    raise NotFound(f"memory {self.prefix}{str(name)[:60]} is not archived")
                raise NotFound(
                    f"the archive holds no memory {self.prefix}{str(name)[:60]}",
                    hint="`co knowledge restore` lists what can be brought back.",
                )
            draft = Draft(self, actor)
            draft.edits.append(Edit(f"memories/{note.name}", None, note.raw))
            return Plan(draft.change("restore"), Saved("restored", note, self.ref(note)))

        return self._settle(plan)

    def plan_undo(self, n: int = 0, *, actor: str = "cli") -> Change:
        """The change that takes back change `n`, or the last one that still stands."""
        basis = self.store.tail()
        entries = [entry for entry in self.store.entries() if entry.state == "done"]
        undone: set[int] = set()
        for entry in reversed(entries):
            if entry.undoes and entry.n not in undone:
                undone.add(entry.undoes)
        standing = [e for e in entries if e.n not in undone and (n or not e.undoes)]
        found = [e for e in standing if e.n == n] if n else standing[-1:]
        if n in undone:
            raise MovedOn(f"change {n} is undone already")
        if not found:
            what = f"there is no change {n} to undo" if n else "there is nothing to undo"
            raise NotFound(what, hint="`co knowledge log` shows what happened.")
        self._refuse_purged(found[0], [e.n for e in standing if _is_undoable(e)])
        edits = tuple(self._undo_edit(found[0], file) for file in found[0].files)
        at = timestamp(self.clock())
        return Change("undo", actor, at, basis.settled, edits, undoes=found[0].n)

    def _refuse_purged(self, entry: Entry, others: list[int]) -> None:
        if not _is_undoable(entry):
            hint = f"The one before it: co knowledge undo {others[-1]}" if others else ""
            raise NotFound(f"change {entry.n} ({entry.op}) was purged or is a purge", hint=hint)

    def _undo_edit(self, entry: Entry, file: dict[str, Any]) -> Edit:
        present = self.store.read(file["path"])
        if disk.digest(present) != file["after"]:
            raise MovedOn(
                f"{file['path']} has changed since change {entry.n}",
                hint="Nothing was changed. Edit the file by hand, or undo the newer change first.",
            )
        before = None if file["before"] is None else previous(self.store, entry.n, file)
        return Edit(file["path"], present, before)

    def undo(self, n: int = 0, *, actor: str = "cli") -> Entry:
        """Take a change back, by another change; refused when a file has moved on."""
        for _ in range(_TRIES):
            change = self.plan_undo(n, actor=actor)
            try:
                self.store.commit(change)
                break
            except MovedOn:
                continue
        else:
            with self.store.locked():
                change = self.plan_undo(n, actor=actor)
                self.store.commit(change)
        return next(entry for entry in self.store.entries() if entry.n == change.undoes)


def _is_undoable(entry: Entry) -> bool:
    """Whether anything is left to go back to."""
    sides = [file[side] for file in entry.files for side in ("before", "after")]
    return bool(sides) and "purged" not in sides
