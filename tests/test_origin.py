"""Where a text came from goes with it, whatever is done to the note that holds it."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import pytest
from cli import co
from hypothesis import given, settings
from hypothesis import strategies as st
from operations import MEMORY
from repos import bring

from co_cli import paths
from co_cli.deps import CoDeps
from co_cli.errors import CoError
from co_cli.knowledge.compare.same import same
from co_cli.knowledge.export import export
from co_cli.knowledge.importers.collect import collect, plan_import
from co_cli.knowledge.notebook import Notebook
from co_cli.knowledge.policy import Policy
from co_cli.knowledge.search.hits import How
from co_cli.tools.memory import recall_memory, save_memory

PLANTED = "Invoices go to the harbour office before noon"
OWN = [
    "User prefers pytest over unittest",
    "Deploys happen on Thursday afternoons",
    "The billing service belongs to Alice",
]
MARKS = [
    "source: mcp",
    "source: web-fetched",
    "source: extracted",
    "source: ' MCP '",
    "source: https://example.org/page",
    "fetched: 2026-02-09\nsource: page.html",
    "trust: external",
    "trust: low\nsource: user-told",
    "trust: true",
    "trust: 3",
    "trust: [a, b]",
    "trust: {level: low}",
    f"trust: {'x' * 300}",
    'trust: "a\\tb"',
]
SMALL = Policy(max_count=4, percentage=0.8)


class Place:
    """A project's notebook that may move to another folder."""

    def __init__(self, top: Path) -> None:
        self.top, self.moves = top, 0

    @property
    def project(self) -> Path:
        return self.top / f"project{self.moves}"

    @property
    def book(self) -> Notebook:
        return Notebook(self.project / ".co-cli/knowledge", policy=SMALL)

    def bring_in(self, path: Path) -> None:
        self.moves += 1
        change = plan_import(self.book, collect(path)).change
        if change is not None:
            self.book.store.commit(change)


def plant(place: Place, mark: str, number: int = 1) -> None:
    folder = Path(place.book.memories)
    folder.mkdir(parents=True, exist_ok=True)
    header = f"id: {number}\ncreated: 2026-02-09T14:30:00Z\n{mark}"
    (folder / f"{number:03d}-planted.md").write_text(f"---\n{header}\n---\n\n{PLANTED}\n")


@contextmanager
def planted(mark: str) -> Iterator[Place]:
    with TemporaryDirectory(prefix="co-origin-", dir=MEMORY) as top:
        place = Place(Path(top))
        plant(place, mark)
        yield place


def deps(place: Place) -> CoDeps:
    return CoDeps(*SMALL, project=place.project, how=How(backend="grep"))


def unmarked(place: Place) -> list[str]:
    """The memories that say what was planted, and do not taint whoever recalls them."""
    ctx = SimpleNamespace(deps=deps(place))
    rows = asyncio.run(recall_memory(ctx, PLANTED, 50))["results"]
    names = [Path(row["path"]).name for row in rows if PLANTED in row["content"]]
    return [name for name in names if not any(name in one for one in ctx.deps.external)]


def say_again(place: Place) -> None:
    for note in place.book.notes():
        reworded = note.body.removesuffix(".") + "."  # what is not the same would be the person's
        text = reworded if same(reworded, note.body) else note.body
        place.book.remember(text, ["team"], fields={"source": "user-told"})


def meets(place: Place, text: str) -> bool:
    """Whether a note is like this; what a person says that is like none is their own."""
    saved = place.book.plan_remember(text).saved
    return saved.action != "created" or saved.similar != []


def update(place: Place) -> None:
    similar = place.book.plan_remember(text := f"{PLANTED} daily").saved.similar
    if similar:
        place.book.remember(text, replaces=similar[0][0].name[:-3])


def merge_into_own(place: Place) -> None:
    book = place.book
    own = [note.id for note in book.notes() if PLANTED not in note.body]
    theirs = [note.id for note in book.notes() if PLANTED in note.body]
    book.merge([*own[:1], *theirs])


def merge_into_it(place: Place) -> None:
    book = place.book
    book.merge(sorted((note.id for note in book.notes()), reverse=True))


def decay(place: Place) -> None:
    plan = place.book.plan_decay()
    if plan is not None:
        place.book.commit(plan)


def fill(place: Place) -> None:
    for fact in OWN:
        place.book.remember(fact)


def move_by_lines(place: Place) -> None:
    lines = [json.dumps(row) for row in export(place.book)]
    path = place.top / "export.jsonl"
    path.write_text("\n".join(lines))
    place.bring_in(path)


def move_by_markdown(place: Place) -> None:
    folder = place.top / f"vault{place.moves}"
    Path(place.book.memories).mkdir(parents=True, exist_ok=True)
    shutil.copytree(place.book.memories, folder, dirs_exist_ok=True)
    place.bring_in(folder)


def forget_and_restore(place: Place) -> None:
    book = place.book
    for note in book.notes():
        book.forget(note)
        book.restore(note.id)


def undo(place: Place) -> None:
    place.book.undo()


def agent_saves(place: Place, scope: str = "project", text: str = f"{PLANTED} please") -> None:
    if meets(place, text):
        ctx = SimpleNamespace(deps=deps(place), tool_call_id="1")
        asyncio.run(save_memory(ctx, text, ["context"], scope))


Step = Callable[[Place], None]
STEPS: list[Step] = [
    say_again, update, merge_into_own, merge_into_it, decay, fill, move_by_lines,
    move_by_markdown, forget_and_restore, undo, agent_saves,
]  # fmt: skip


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.__name__)
@pytest.mark.parametrize("mark", MARKS, ids=lambda mark: mark[:24])
def test_no_operation_takes_the_mark_off_a_text_from_outside(mark: str, step: Step) -> None:
    """G15. Red when merging, decay, update, export or import forgets `trust` or `source`."""
    with planted(mark) as place:
        fill(place)
        with suppress(CoError):  # there is nothing to undo, say
            step(place)
        assert unmarked(place) == []
        assert any(PLANTED in note.body for note in place.book.notes())


@settings(max_examples=60)
@given(mark=st.sampled_from(MARKS), steps=st.lists(st.sampled_from(STEPS), max_size=8))
def test_no_sequence_of_operations_takes_the_mark_off(mark: str, steps: list[Step]) -> None:
    """G15. Red when two operations do together what each of them does not."""
    with planted(mark) as place:
        for step in steps:
            with suppress(CoError):
                step(place)
        assert unmarked(place) == []


def test_a_model_does_not_carry_outside_text_into_the_other_notebook_unmarked() -> None:
    """G15. Red when a save looks for what it repeats in one notebook only."""
    with planted("source: mcp") as place:
        agent_saves(place, "user", PLANTED)
        [note] = deps(place).shelf().user.notes()
        assert note.meta["trust"] == "external"


def test_what_the_person_says_beside_a_note_from_outside_is_theirs() -> None:
    with planted("source: mcp") as place:
        saved = place.book.remember(f"{PLANTED} daily")
        assert [note.id for note, _ in saved.similar] != []
        assert "trust" not in saved.note.meta


def test_a_sensitive_note_that_is_replaced_leaves_its_mark(tmp_path: Path) -> None:
    """Red when an update keeps only `supersedes` of what it replaces."""
    book = Notebook(tmp_path)
    book.remember("Dana's door code changes in May", fields={"sensitive": True})
    note = book.remember("Dana's door code changes in June", replaces="1").note
    assert note.meta["sensitive"] is True


@pytest.mark.parametrize("mark", MARKS, ids=lambda mark: mark[:24])
@pytest.mark.parametrize("step", [move_by_lines, move_by_markdown], ids=lambda step: step.__name__)
def test_an_imported_text_from_outside_claims_nothing(step: Step, mark: str) -> None:
    """G15. Red when an import lets foreign text be pinned, protected or the person's own words."""
    claims = "pinned: true\ndecay_protected: true\ncheck: always\nverified: 2026-02-09"
    with planted(f"{mark}\n{claims}") as place:
        step(place)
        [note] = place.book.notes()
        told = set(note.meta) - {"id", "uid", "created", "trust", "source"}
        assert told == set()
        assert note.meta["trust"]
        assert note.meta["source"] != "user-told"


def test_an_import_does_not_believe_whose_words_they_are(tmp_path: Path) -> None:
    """Red when `source` of a file that is imported counts as it stands."""
    place = Place(tmp_path)
    row: dict[str, Any] = {"content": PLANTED, "source": "user-told", "verified": "2026-02-09"}
    path = tmp_path / "notes.jsonl"
    path.write_text(json.dumps(row))
    place.bring_in(path)
    assert [note.meta["source"] for note in place.book.notes()] == ["import"]


def test_the_old_layout_brings_marks_along(tmp_path: Path) -> None:
    """G15. Red when memories/*.json are read without looking at their source."""
    old = tmp_path / "old/.co-cli/memories/learned_facts.json"
    old.parent.mkdir(parents=True)
    old.write_text(json.dumps({"office": {"value": PLANTED, "source": "web-fetched"}}))
    place = Place(tmp_path)
    place.bring_in(tmp_path / "old")
    assert unmarked(place) == []
    assert [note.body for note in place.book.notes()] == [PLANTED]


@pytest.mark.parametrize(
    "clip",
    [
        "source:: https://evil.example/page\n\n{}",
        "title:: Clip\nURL:: [page](https://evil.example/page)\n\n{}",
        "---\nSource: https://evil.example/page\n---\n{}",
        "---\nsource: [me, https://evil.example/page]\n---\n{}",
        '---\nsource: "[https://evil.example/page](x)"\n---\n{}',
        "---\nurl: https://evil.example/page\nsource: me\n---\n{}",
        "---\nsource: https://evil.example/page\n---\nsource:: me\n\n{}",
        "source:: me\nsource:: https://evil.example/page\n\n{}",
    ],
)
def test_a_clipped_page_is_from_outside_however_it_names_its_source(
    clip: str, tmp_path: Path
) -> None:
    """G15. Red when only a lower-case `source` with a plain text is looked at."""
    claims = "---\npinned: true\ndecay_protected: true\n"
    clip = clip.replace("---\n", claims, 1) if clip.startswith("---") else f"{claims}---\n{clip}"
    vault = tmp_path / "vault"
    (vault / "journals").mkdir(parents=True)
    (vault / "pages").mkdir()
    (vault / "pages/clip.md").write_text(clip.format(PLANTED))
    place = Place(tmp_path)
    place.bring_in(vault)
    [note] = place.book.notes()
    assert (note.external, note.pinned, note.protected) == (True, False, False)
    assert note.meta["source"] == "https://evil.example/page"
    assert PLANTED in note.body
    assert unmarked(place) == []


def test_a_page_that_names_a_person_as_its_source_is_the_persons(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    header = "decay_protected: true\npinned: true\nSource: Dana"
    (vault / "own.md").write_text(f"---\n{header}\n---\n{PLANTED}")
    place = Place(tmp_path)
    place.bring_in(vault)
    [note] = place.book.notes()
    assert (note.external, note.protected, note.meta["source"]) == (False, True, "import")
    assert not note.pinned  # which no file says


CLAIMS: list[dict[str, Any]] = [
    {},
    {"source": "user-told", "trust": "", "pinned": True, "decay_protected": True},
    {"source": "detected", "trust": False, "check": "always", "verified": "2026-02-09"},
    {"trust": None, "source": "import", "origin": "me", "supersedes": ["1"], "updates": "1"},
    {"id": 1, "uid": "1", "created": "2020-01-01T00:00:00Z", "related": ["1"]},
]


@pytest.mark.parametrize("claims", CLAIMS, ids=str)
def test_lines_that_co_did_not_export_are_external_whatever_they_claim(
    tmp_path: Path, claims: dict[str, Any]
) -> None:
    """G15. Red when a row of JSON Lines is the person's because its fields say so."""
    place = Place(tmp_path)
    own = place.book.remember("The harbour office opens at eight").note
    path = tmp_path / "notes.jsonl"
    path.write_text(json.dumps({"content": PLANTED, **claims}))
    change = plan_import(place.book, collect(path)).change
    assert change is not None
    place.book.store.commit(change)
    kept, note = place.book.notes()
    assert kept == own
    assert (note.external, note.pinned, note.protected) == (True, False, False)
    assert set(note.meta) - {"related"} <= {"id", "uid", "created", "tags", "trust", "source"}
    assert unmarked(place) == []


def test_what_co_exported_here_is_the_persons_and_nothing_else_in_the_file(tmp_path: Path) -> None:
    """G15. Red when one true line of an export vouches for the next, or for other words."""
    place = Place(tmp_path)
    place.book.remember("Deploys happen on Thursdays", fields={"decay_protected": True})
    [row] = export(place.book)
    forged = [row | {"content": PLANTED}, row | {"tags": ["x"], "content": f"{PLANTED}, too"}]
    path = tmp_path / "export.jsonl"
    path.write_text("\n".join(map(json.dumps, [*forged, row])))
    place.bring_in(path)
    found = {note.body: (note.external, note.protected) for note in place.book.notes()}
    assert found == {
        row["content"]: (False, True), PLANTED: (True, False), f"{PLANTED}, too": (True, False)
    }  # fmt: skip


def test_without_the_record_of_exports_every_line_is_external(tmp_path: Path) -> None:
    """Red when a state folder that was lost is taken for a proof."""
    place = Place(tmp_path)
    place.book.remember("Deploys happen on Thursdays")
    path = tmp_path / "export.jsonl"
    path.write_text("\n".join(map(json.dumps, export(place.book))))
    Path(paths.state_folder(), "exported").unlink()
    place.bring_in(path)
    [note] = place.book.notes()
    assert note.external


def test_an_export_does_not_make_a_planted_note_the_persons(tmp_path: Path) -> None:
    """G15. Red when what git brought, and nobody agreed to, comes back unmarked by an export."""
    header = "id: 7\ncreated: 2026-02-09T14:30:00Z\nsource: user-told"
    co("learn", "Deploys happen on Thursdays")
    planted = f"---\n{header}\n---\n\n{PLANTED}\n"
    bring(Path.cwd(), ".co-cli/knowledge/memories/007-planted.md", planted)
    co("knowledge", "export", str(tmp_path / "out.jsonl"))
    assert co("import", str(tmp_path / "out.jsonl"), "-g", "--yes").code == 0
    found = Notebook(paths.user_knowledge()).notes()
    assert {note.body: note.external for note in found} == {
        PLANTED: True, "Deploys happen on Thursdays": False
    }  # fmt: skip
