"""What a notebook can do, ready to be repeated, and the states that each thing may end in."""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from faults import Call, Shim

from co_cli.errors import NotFound
from co_cli.knowledge import inbox
from co_cli.knowledge.copies import find_copies
from co_cli.knowledge.export import export_to
from co_cli.knowledge.importers.collect import collect, plan_import
from co_cli.knowledge.notebook import Notebook
from co_cli.knowledge.plan import ImportItem
from co_cli.knowledge.policy import Policy
from co_cli.knowledge.purge import purge
from co_cli.knowledge.summary import plan_summary

EXPORT = "export.jsonl"
NOON = datetime(2026, 2, 9, 12, 0, tzinfo=UTC)
ROOMY = Policy(max_count=10_000)
NEXT = "Zebras graze quietly beyond Timbuktu"  # the next ordinary save: like no other text here
FACTS = [
    "User prefers pytest over unittest",
    "The billing service belongs to Alice",
    "Deploys happen on Thursday afternoons",
    "PostgreSQL 14 runs in production",
    "Invoices are numbered per calendar year",
]
# Files come and go by the ten thousand: in memory, where the system offers that.
MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK | os.X_OK) else None
_RANDOM = re.compile(
    r"^(uid|updates|supersedes|related):(?: .*\n|\n(?:- .*\n)+)|(?<=-\d\d), [a-z]{14}\)$",
    re.MULTILINE,
)

State = dict[str, str]
Verb = Callable[[Notebook], Any]


@dataclass(frozen=True, slots=True)
class Operation:
    """A thing a notebook can do: what must be there before, the doing, and what it saves."""

    name: str
    run: Verb
    prepare: Verb = lambda book: [book.remember(fact, tags=["context"]) for fact in FACTS]
    saves: str = ""
    policy: Policy = ROOMY
    plans: bool = True
    purges: str = ""  # a word that is nowhere when it is done
    ref: str | int = 1  # of what is purged


def _import_items(book: Notebook) -> None:
    items = [ImportItem(f"Imported fact {word}", "old.json") for word in ("alpha", "beta", "gamma")]
    change = book.plan_import(items, context=b"# Context\n").change
    assert change is not None
    book.store.commit(change)


def _export(book: Notebook) -> None:
    export_to(book, os.path.join(book.root, EXPORT), force=True)


def _exported(book: Notebook) -> None:
    OPERATIONS["save"].prepare(book)
    _export(book)
    book.remember(_NEW)


def _import_file(book: Notebook) -> None:
    plan = plan_import(book, collect(Path(book.root, "old.jsonl")))
    assert plan.change is not None
    book.store.commit(plan.change)


def _with_file(book: Notebook) -> None:
    OPERATIONS["save"].prepare(book)
    words = ("alpha", "beta", "gamma")
    rows = [json.dumps({"content": f"Imported fact {word}"}) + "\n" for word in words]
    Path(book.root, "old.jsonl").write_text("".join(rows))


def _decay(book: Notebook) -> None:
    plan = book.plan_decay()
    if plan is None:
        raise NotFound("nothing to decay")
    book.commit(plan)


def _summarize(book: Notebook) -> None:
    notes = book.notes()[:3]
    book.do("cli", partial(plan_summary, notes=notes, text="All of it (#1, #2, #3)"))


def _forgotten(book: Notebook) -> None:
    OPERATIONS["save"].prepare(book)
    book.forget(2)


def _merged(book: Notebook) -> None:
    OPERATIONS["save"].prepare(book)
    book.merge([1, 3])


def _in_many_places(book: Notebook) -> None:
    """The first fact in its file, in the archive, and in a note that decay made."""
    OPERATIONS["save"].prepare(book)
    book.consolidate(1, FACTS[0], ["testing"])
    _decay(Notebook(book.root, policy=_SMALL, clock=lambda: NOON))
    book.restore(1)


def _keep(
    book: Notebook, text: str = "Tasks run coroutines", original: bytes = b"%PDF coroutine"
) -> None:
    book.keep(
        text, source="https://docs.example/", title="Tasks", attachment=("tasks.pdf", original)
    )


def _with_article(book: Notebook) -> None:
    OPERATIONS["save"].prepare(book)
    _keep(book)


def _with_drafts(book: Notebook) -> None:
    OPERATIONS["save"].prepare(book)
    inbox.put(book, [inbox.Draft(_NEW), inbox.Draft("PostgreSQL 16 runs in production")], actor="x")


_SMALL = Policy(max_count=5, percentage=0.6)
_CUT = Policy(max_count=5, percentage=0.6, strategy="cut")
_NEW = "Releases are announced in the harbour channel"
OPERATIONS = {
    op.name: op
    for op in [
        Operation("first save", lambda book: book.remember(_NEW), lambda _: None, saves=_NEW),
        Operation("save", lambda book: book.remember(_NEW, ["team"]), saves=_NEW),
        Operation(
            "consolidate",
            lambda book: book.remember(FACTS[0] + "!", ["testing"]),
            saves=FACTS[0] + "!",
        ),
        Operation(
            "update",
            lambda book: book.remember("PostgreSQL 16 runs in production", replaces="4"),
            saves="PostgreSQL 16 runs in production",
        ),
        Operation(
            "save with a link",
            lambda book: book.remember(
                "PostgreSQL 16 runs in production", updates=[book.find(4)], related=[book.find(3)]
            ),
            saves="PostgreSQL 16 runs in production",
        ),
        Operation("link", lambda book: book.link(5, updates=[book.find(4)])),
        Operation(
            "save that decays (summarize)",
            lambda book: book.remember(_NEW),
            saves=_NEW,
            policy=_SMALL,
        ),
        Operation(
            "save that decays (cut)", lambda book: book.remember(_NEW), saves=_NEW, policy=_CUT
        ),
        Operation("decay (summarize)", _decay, policy=_SMALL),
        Operation("decay (cut)", _decay, policy=_CUT),
        Operation("forget", lambda book: book.forget(3)),
        Operation("undo", lambda book: book.undo(), _merged),
        Operation("restore", lambda book: book.restore(2), _forgotten),
        Operation("merge", lambda book: book.merge([1, 3, 5])),
        Operation("summarize", _summarize),
        Operation(
            "purge",
            lambda book: purge(book, find_copies(book, 1)),
            _in_many_places,
            purges="unittest",
        ),
        Operation("protect", lambda book: book.protect(2)),
        Operation("import", _import_items),
        Operation("import a file", _import_file, _with_file),
        Operation("export", _export, _exported),
        Operation("draft", lambda book: inbox.put(book, [inbox.Draft(_NEW)], actor="chat")),
        Operation(
            "accept",
            lambda book: inbox.accept(
                book, book.find("i:postgresql-16-runs-in-production"), replaces="4", actor="x"
            ),
            _with_drafts,
            saves="PostgreSQL 16 runs in production",
        ),
        Operation(
            "reject",
            lambda book: inbox.reject(book, inbox.waiting(book)[0], actor="chat"),
            _with_drafts,
        ),
        Operation("keep an article", _keep),
        Operation("keep it again", lambda book: _keep(book, "New", b"%PDF 2"), _with_article),
        Operation("forget an article", lambda book: book.forget("a:tasks"), _with_article),
        Operation(
            "purge an article",
            lambda book: purge(book, find_copies(book, "a:tasks")),
            _with_article,
            purges="coroutine",
            ref="a:tasks",
        ),
    ]
}


@dataclass(slots=True)
class Stage:
    """An operation ready to be repeated: the folder to copy and the states it may end in."""

    operation: Operation
    work: str
    template: str
    states: list[State]
    originals: dict[str, bytes]
    calls: int = 0
    writes: int = 0
    commit: int = 0
    copies: int = 0

    def copy(self) -> str:
        """A fresh folder to run in."""
        self.copies += 1
        target = os.path.join(self.work, f"run{self.copies}")
        shutil.copytree(self.template, target)
        return target

    def book(self, root: str) -> Notebook:
        """The notebook the operation runs in."""
        return Notebook(root, policy=self.operation.policy, clock=lambda: NOON)


def state(root: str) -> State:
    """Every file a person would call theirs, without the random parts."""
    found: State = {}
    for folder in ("memories", "articles", "attachments", "inbox"):
        for name in _listed(os.path.join(root, folder)):
            found[f"{folder}/{name}"] = _text(os.path.join(root, folder, name))
    for name in ("context.md", EXPORT):
        if os.path.exists(os.path.join(root, name)):
            found[name] = _text(os.path.join(root, name))
    return found


def _listed(folder: str) -> list[str]:
    if not os.path.isdir(folder):
        return []
    return sorted(name for name in os.listdir(folder) if not name.startswith(".co-"))


def _text(path: str) -> str:
    with open(path, "rb") as file:
        return _RANDOM.sub(r"\1*\n", file.read().decode())


def temps(root: str) -> list[str]:
    """Temporary files left anywhere."""
    return [
        os.path.relpath(os.path.join(folder, name), root)
        for folder, _, names in os.walk(root)
        for name in names
        if name.startswith(".co-")
    ]


def prepare(operation: Operation, work: str) -> Stage:
    """Run the operation once without a fault, to know where it starts and where it may end."""
    template = os.path.join(work, "template")
    with Shim(template, sync=False):
        operation.prepare(Notebook(template, policy=ROOMY, clock=lambda: NOON))
    os.makedirs(template, exist_ok=True)
    stage = Stage(operation, work, template, [state(template)], {})
    for path in sorted(set(stage.states[0]) - {EXPORT}):  # which is made to be written over
        with open(os.path.join(template, path), "rb") as file:
            stage.originals[path] = file.read()
    root = stage.copy()
    book = stage.book(root)

    def after(_: int, call: Call) -> None:
        ended = str(call) == "write archive/journal.jsonl" and book.store.tail().state == "done"
        if ended or (operation.purges and state(root) != stage.states[-1]):  # it goes bit by bit
            stage.states.append(state(root))

    with Shim(root, sync=False, after=after) as shim:
        operation.run(book)
    stage.calls = len(shim.calls)
    calls = [str(call) for call in shim.calls]
    journalled = "write archive/journal.jsonl"
    stage.commit = calls.index(journalled) if journalled in calls else 0
    stage.writes = sum(call.name == "write" for call in shim.calls)
    if stage.states[-1] != state(root):
        stage.states.append(state(root))
    assert stage.states[-1] != stage.states[0]
    shutil.rmtree(root)
    return stage


@contextmanager
def workshop() -> Iterator[str]:
    """A folder that is gone afterwards."""
    folder = tempfile.mkdtemp(prefix="co-sweep-", dir=MEMORY)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)
