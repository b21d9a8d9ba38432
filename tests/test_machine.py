"""Any sequence of verbs, hand edits, clock jumps and crashes, against a plain model."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

from faults import Call, Crash, Fault, Shim
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from operations import MEMORY, temps

from co_cli.errors import CoError, FormatError, MovedOn, NotFound, Protected
from co_cli.knowledge.format.note import parse
from co_cli.knowledge.notebook import Notebook
from co_cli.knowledge.policy import Links, Policy

TEXTS = [
    "User prefers tea",
    "Deploys happen on Thursday afternoons",
    "PostgreSQL 14 runs in production",
    "PostgreSQL 16 runs in production",
    "The billing service belongs to Alice",
    "Invoices are numbered per calendar year",
]
TAGS = ["alpha", "beta", "context"]
_ACTIONS = {"": "created", "updates": "updated", "replaces": "updated", "related": "related"}
CLOCKS = [
    datetime(2026, 2, 9, 12, 0, tzinfo=UTC),
    datetime(2026, 2, 9, 12, 0, 1, tzinfo=timezone(timedelta(hours=14))),
    datetime(1970, 1, 1, tzinfo=UTC),
    datetime(2099, 12, 31, tzinfo=timezone(timedelta(hours=-12))),
]
SMALL = {
    strategy: Policy(max_count=6, percentage=0.5, strategy=strategy)
    for strategy in ("summarize", "cut")
}

# What a note says, whatever its bytes: text, tags, protected.
Said = tuple[str, tuple[str, ...], bool]
Verb = Callable[[Notebook], object]


def _read(root: str) -> dict[str, bytes]:
    """The notes' files and their bytes."""
    folder = os.path.join(root, "memories")
    found = {}
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        with open(os.path.join(folder, name), "rb") as file:
            found[name] = file.read()
    return found


def _say(files: dict[str, bytes]) -> dict[str, Said]:
    """What the files say; those that cannot be read say nothing."""
    found = {}
    for name, raw in files.items():
        with suppress(FormatError):
            note = parse(name, raw)
            found[name] = note.body, tuple(note.tags), note.protected
    return found


def _key(text: str) -> str:
    """What texts of this test that say the same have in common; several lines are themselves."""
    return text if "\n" in text else text.removesuffix("!")


class Machine(RuleBasedStateMachine):
    """`said` and `archived` are the model; the folder must agree with them after every step."""

    def __init__(self) -> None:
        super().__init__()
        self.work = tempfile.mkdtemp(prefix="co-machine-", dir=MEMORY)
        self.root = os.path.join(self.work, "kb")
        self.said: dict[str, Said] = {}
        self.archived: dict[str, bytes] = {}
        self.broken: dict[str, bytes] = {}
        self.before: dict[int, dict[str, bytes]] = {}  # all files, before each change
        self.highest = 0
        self.clock = CLOCKS[0]
        self.policy = SMALL["summarize"]
        self.shim = Shim(self.root, sync=False)
        self.shim.__enter__()

    @initialize(strategy=st.sampled_from(sorted(SMALL)))
    def start(self, strategy: str) -> None:
        self.policy = SMALL[strategy]
        self.book = self.open()

    def open(self, root: str = "") -> Notebook:
        return Notebook(root or self.root, policy=self.policy, clock=lambda: self.clock)

    def teardown(self) -> None:
        self.shim.__exit__(None, None, None)
        shutil.rmtree(self.work)

    # Verbs

    @rule(
        text=st.sampled_from(TEXTS),
        ending=st.sampled_from(["", "!"]),
        tags=st.lists(st.sampled_from(TAGS), max_size=2, unique=True),
        decides=st.sampled_from(["", "updates", "related", "replaces"]),
        protected=st.booleans(),
        data=st.data(),
    )
    def remember(
        self, text: str, ending: str, tags: list[str], decides: str, protected: bool,
        data: st.DataObject,
    ) -> None:  # fmt: skip
        text += ending
        other = data.draw(st.sampled_from(sorted(self.said))) if decides and self.said else ""
        links = self._links(decides, other) if other else {}
        fields: dict[str, Any] = {"decay_protected": True} if protected else {}
        before = _read(self.root)
        try:
            saved = self.book.remember(text, tags, fields=fields, **links)
        except Protected:
            assert decides == "replaces"
            assert self.said[other][2]
            return
        same = [name for name, said in self.said.items() if _key(said[0]) == _key(text)]
        if saved.action == "consolidated":
            name = saved.note.name
            assert name in same
            _, old_tags, kept = self.said[name]
            if kept:
                assert saved.change == 0
            else:
                both = tuple(dict.fromkeys((*old_tags, *tags)))
                self.said[name] = text, both, protected
            self._noted(saved.change, before)
            return
        assert same == []
        self._created(saved.note.id)
        assert saved.action == _ACTIONS[decides if other else ""]
        if saved.replaced is not None:
            assert saved.replaced.name == other
            self._archive(other, before)
        self.said[saved.note.name] = text, tuple(tags), protected
        self._noted(saved.change, before)
        if saved.decayed:
            self._decayed(before, [note.name for note in saved.decayed], saved.change + 1)

    def _links(self, decides: str, name: str) -> Links:
        """What a person decides about one note, for `remember`."""
        note = self.book.find(name)
        if decides == "replaces":
            return {"replaces": name}
        return {"updates": [note]} if decides == "updates" else {"related": [note]}

    @precondition(lambda self: len(self.said) > 1)
    @rule(data=st.data(), decides=st.sampled_from(["updates", "related"]))
    def link(self, data: st.DataObject, decides: str) -> None:
        name, other = data.draw(st.permutations(sorted(self.said)))[:2]
        before = _read(self.root)
        note = self.book.find(other)
        updates, related = ([note], []) if decides == "updates" else ([], [note])
        saved = self.book.link(name, updates=updates, related=related)
        if saved.change:  # else it said so before
            self._noted(saved.change, before)

    @precondition(lambda self: bool(self.said))
    @rule(data=st.data())
    def forget(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.said)))
        before = _read(self.root)
        try:
            saved = self.book.forget(name)
        except Protected:
            assert self.said[name][2]
            return
        assert not self.said[name][2]
        self._archive(name, before)
        self._noted(saved.change, before)

    @precondition(lambda self: bool(self.said))
    @rule(data=st.data(), on=st.booleans())
    def protect(self, data: st.DataObject, on: bool) -> None:
        name = data.draw(st.sampled_from(sorted(self.said)))
        before = _read(self.root)
        saved = self.book.protect(name, on=on)
        text, tags, was = self.said[name]
        assert (saved.change == 0) == (was == on)
        self.said[name] = text, tags, on
        self._noted(saved.change, before)

    @precondition(lambda self: len(self.said) > 1)
    @rule(data=st.data())
    def merge(self, data: st.DataObject) -> None:
        names = st.lists(st.sampled_from(sorted(self.said)), min_size=2, max_size=3, unique=True)
        chosen = data.draw(names)
        before = _read(self.root)
        try:
            saved = self.book.merge(chosen)
        except Protected:
            assert any(self.said[name][2] for name in chosen)
            return
        first, *others = chosen
        parts: list[str] = []
        for name in chosen:
            if _key(self.said[name][0]) not in map(_key, parts):
                parts.append(self.said[name][0])
        tags = tuple(dict.fromkeys(tag for name in chosen for tag in self.said[name][1]))
        self.said[first] = "\n\n".join(parts), tags, False
        for name in others:
            self._archive(name, before)
        self._noted(saved.change, before)

    @rule()
    def decay(self) -> None:
        before = _read(self.root)
        plan = self.book.plan_decay()
        if plan is not None:
            saved = self.book.commit(plan)
            self._decayed(before, [note.name for note in saved.decayed], saved.change)

    @precondition(lambda self: bool(set(self.archived) - set(self.said)))
    @rule(data=st.data())
    def restore(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(set(self.archived) - set(self.said))))
        before = _read(self.root)
        saved = self.book.restore(name)
        assert _read(self.root)[name] == self.archived[name]
        self.said |= _say({name: self.archived[name]})
        self._noted(saved.change, before)

    @rule()
    def undo(self) -> None:
        before = _read(self.root)
        try:
            entry = self.book.undo()
        except (MovedOn, NotFound):
            return
        wanted = self.before[entry.n]
        after = _read(self.root)
        for file in entry.files:
            name = file["path"].removeprefix("memories/")
            assert after.get(name) == wanted.get(name), "undo brings back the very bytes"
            self.said.pop(name, None)
            if name in wanted:
                self.said |= _say({name: wanted[name]})
            else:
                self.archived[name] = before[name]
        self._noted(self.book.store.tail().n, before)

    # What the verbs have in common

    def _noted(self, change: int, before: dict[str, bytes]) -> None:
        if change:
            self.before[change] = before

    def _created(self, number: int) -> None:
        assert number > self.highest, "numbers only grow"
        self.highest = number

    def _archive(self, name: str, before: dict[str, bytes]) -> None:
        self.archived[name] = before[name]
        del self.said[name]

    def _decayed(self, before: dict[str, bytes], names: list[str], change: int) -> None:
        after = _read(self.root)
        texts = []
        for name in names:
            assert not self.said[name][2], "a protected note decays"
            texts.append(self.said[name][0])
            self._archive(name, before)
        new = set(_say(after)) - set(self.said)
        assert len(new) == (self.policy.strategy == "summarize")
        for name in new:
            self._created(parse(name, after[name]).id)
            self.said |= _say({name: after[name]})
            assert all(text in self.said[name][0] for text in texts)
        # Between a save and its decay stood the save's own note.
        self.before[change] = {
            name: raw for name, raw in (before | after).items() if name not in new
        }

    # What a person does

    @precondition(lambda self: bool(self.said))
    @rule(
        data=st.data(), how=st.sampled_from(["line", "tag", "remark", "delete", "double", "rename"])
    )
    def edit_by_hand(self, data: st.DataObject, how: str) -> None:
        name = data.draw(st.sampled_from(sorted(self.said)))
        path = os.path.join(self.root, "memories", name)
        with open(path, "rb") as file:
            raw = file.read()
        text, tags, protected = self.said[name]
        if how == "delete":
            os.unlink(path)
            del self.said[name]
            return
        if how in ("double", "rename"):
            twin = f"{name[:-3]}-{how}.md"
            if how == "rename":
                os.rename(path, os.path.join(os.path.dirname(path), twin))
                self.said[twin] = self.said.pop(name)
                return
            path = os.path.join(os.path.dirname(path), twin)
            self.said[twin] = text, tags, protected
        elif how == "line":
            raw = raw.rstrip(b"\n") + b"\nby hand\n"
            self.said[name] = text + "\nby hand", tags, protected
        elif how == "tag" and b"\n- alpha\n" in raw.partition(b"\n---\n")[0] + b"\n":
            raw = raw.replace(b"\n- alpha\n", b"\n- gamma\n", 1)
            changed = tuple("gamma" if tag == "alpha" else tag for tag in tags)
            self.said[name] = text, changed, protected
        elif how == "remark":
            raw = raw.replace(b"---\n", b"---\n# by hand\n", 1)
        with open(path, "wb") as file:
            file.write(raw)

    @precondition(lambda self: len(self.broken) < 3)
    @rule(
        raw=st.sampled_from(
            [b"", b"---\nno header", b"---\nid: x\n---\n", b"---\nid: [\n---\n\xff"]
        )
    )
    def break_by_hand(self, raw: bytes) -> None:
        self.book.notes()
        name = f"{self.highest + 1:03d}-broken-{len(self.broken)}.md"
        os.makedirs(os.path.join(self.root, "memories"), exist_ok=True)
        with open(os.path.join(self.root, "memories", name), "wb") as file:
            file.write(raw)
        self.broken[name] = raw
        self.highest += 1

    @rule(clock=st.sampled_from(CLOCKS))
    def jump(self, clock: datetime) -> None:
        self.clock = clock

    @rule()
    def start_again(self) -> None:
        self.book = self.open()

    # Dying in the middle

    @rule(data=st.data(), at=st.integers(1, 160))
    def crash(self, data: st.DataObject, at: int) -> None:
        verb = self._any_verb(data)
        before = _read(self.root)
        allowed = [_say(before), *self._rehearse(verb)]
        with Shim(self.root, Fault("crash", at), sync=False), suppress(Crash, CoError):
            verb(self.open())
        self.book = self.open()
        after = _read(self.root)
        assert _say(after) in allowed, "half a change"
        assert temps(self.root) == []
        for name in sorted(set(before) - set(after)):
            self.archived[name] = before[name]
        for name in sorted(set(_say(after)) - set(_say(before)) - set(self.archived)):
            self._created(parse(name, after[name]).id)
        self.highest = max(self.highest, self.book.store.tail().high)
        self.said = _say(after)
        self._adopt(before)

    def _any_verb(self, data: st.DataObject) -> Verb:
        text = data.draw(st.sampled_from(TEXTS))
        name = data.draw(st.sampled_from([*sorted(self.said), "9999"]))
        verbs: list[Verb] = [
            lambda book: book.remember(text + "!", ["new"]),
            lambda book: book.remember(text, replaces=name),
            lambda book: book.undo(),
            lambda book: book.commit(book.plan_decay()),  # type: ignore[arg-type]
        ]
        names = sorted(self.said)
        if len(names) > 1:
            verbs += [lambda book: book.forget(names[0]), lambda book: book.merge(names[:2])]
        verb = data.draw(st.sampled_from(verbs))
        return verb if verb is not verbs[3] or self.open().plan_decay() else verbs[0]

    def _rehearse(self, verb: Verb) -> list[dict[str, Said]]:
        """What the notebook says after each change that the verb makes, in a copy of it."""
        copy = os.path.join(self.work, "copy")
        shutil.copytree(self.root, copy) if os.path.isdir(self.root) else os.mkdir(copy)
        found: list[dict[str, Said]] = []
        book = self.open(copy)

        def after(_: int, call: Call) -> None:
            if str(call) == "write archive/journal.jsonl" and book.store.tail().state == "done":
                found.append(_say(_read(copy)))

        with Shim(copy, sync=False, after=after), suppress(CoError):
            verb(book)
        shutil.rmtree(copy)
        return found

    def _adopt(self, before: dict[str, bytes]) -> None:
        """Remember what stood before the changes that a crashed verb finished after all."""
        for entry in self.book.store.entries():
            if entry.state == "done" and entry.n not in self.before:
                self.before[entry.n] = dict(before)
                before = before | _read(self.root)  # a save that was done before its decay

    # What always holds

    @invariant()
    def the_notes_say_what_the_model_says(self) -> None:
        if not hasattr(self, "book"):
            return
        notes = self.book.notes()
        found = {note.name: (note.body, tuple(note.tags), note.protected) for note in notes}
        assert found == self.said
        assert sorted(os.path.basename(p.path) for p in self.book.look().problems) == sorted(
            self.broken
        )
        files = _read(self.root)
        assert {name: files[name] for name in self.broken} == self.broken

    @invariant()
    def what_was_removed_can_be_brought_back(self) -> None:
        if not hasattr(self, "book"):
            return
        found = {note.name: note.raw for _, note in self.book.archived()}
        assert found == {n: raw for n, raw in self.archived.items() if n not in self.said}


TestMachine = Machine.TestCase
TestMachine.settings = settings(max_examples=50, stateful_step_count=30)
