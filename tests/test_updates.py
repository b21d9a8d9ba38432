"""What is out of date is never shown alone: links by uid, where they count, and how they last."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from cli import co
from handmade import opened, put
from repos import Pair, git

from co_cli.errors import CoError, NotFound
from co_cli.knowledge import Note, Notebook, Policy, Shelf
from co_cli.knowledge.copies import find_copies
from co_cli.knowledge.export import export
from co_cli.knowledge.inbox import Draft, accept
from co_cli.knowledge.inbox import put as put_draft
from co_cli.knowledge.moving import move
from co_cli.knowledge.purge import purge
from co_cli.knowledge.search.hits import Filters, Hit
from co_cli.knowledge.summary import plan_summary
from co_cli.workspace import Workspace

OLD, NEW, NEWER = "We deploy on Tuesdays", "We deploy on Thursdays", "We deploy on Fridays"


@pytest.fixture
def book(tmp_path: Path) -> Iterator[Notebook]:
    with opened(tmp_path / "p") as book:
        yield book


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[Shelf]:
    project, user = opened(tmp_path / "p"), opened(tmp_path / "u")
    user.prefix, user.scope = "g", "user"
    shelf = Shelf(project, user)
    yield shelf
    shelf.close()


def told(hits: list[Hit]) -> list[tuple[str, str]]:
    """What a recall shows, each with what it says updates it."""
    return [(hit.note.body, hit.updated_by.body if hit.updated_by else "") for hit in hits]


def recalled(book: Notebook, query: str = "deploy", limit: int = 10) -> list[tuple[str, str]]:
    return told(book.recall(query, limit, fast=True))


def on_shelf(shelf: Shelf, *, sensitive: bool = True, own: bool = False) -> list[tuple[str, str]]:
    filters = Filters(sensitive=sensitive)
    return told([hit for _, hit in shelf.recall("deploy", 10, filters, own=own, fast=True)])


# The link


def test_an_update_is_a_link_by_uid_and_changes_no_sentence(book: Notebook) -> None:
    """G8. Red when the old note is touched, or a program puts words into the new one."""
    old = book.remember(OLD).note
    saved = book.remember(NEW, updates=[old])
    assert (saved.action, saved.updates, saved.replaced) == ("updated", [old], None)
    assert (saved.note.body, saved.note.meta["updates"]) == (NEW, [old.uid])
    assert old.meta["uid"] == old.uid
    assert book.find(1).raw == old.raw
    assert {"related", "supersedes"}.isdisjoint(saved.note.meta)


def test_one_text_may_update_several_notes(book: Notebook) -> None:
    olds = [book.remember(text).note for text in (OLD, "The deploy is done on Tuesday nights")]
    saved = book.remember(NEW, updates=olds)
    assert saved.note.meta["updates"] == [old.uid for old in olds]
    assert recalled(book)[0] == (NEW, "")
    assert sorted(recalled(book)[1:]) == sorted((old.body, NEW) for old in olds)


def test_a_link_may_be_added_later_and_is_added_once(book: Notebook) -> None:
    old, new = book.remember(OLD).note, book.remember(NEW).note
    linked = book.link(new, updates=[old])
    assert (linked.action, linked.note.meta["updates"]) == ("linked", [old.uid])
    assert recalled(book) == [(NEW, ""), (OLD, NEW)]
    again = book.link(2, updates=[old])
    assert (again.change, again.note.raw) == (0, linked.note.raw)


def test_a_misspelt_decision_is_an_error(book: Notebook) -> None:
    """Red when a keyword that nobody knows is dropped, and the save goes on without it."""
    old = book.remember(OLD).note
    for options in ({"similar": "update"}, {"update": [old]}):
        with pytest.raises(TypeError, match=r"unexpected keyword argument"):
            book.remember(NEW, **options)
        with pytest.raises(TypeError, match=r"unexpected keyword argument"):
            book.link(1, **options)
    assert [note.body for note in book.notes()] == [OLD]


# Never alone


@pytest.mark.parametrize("query", [OLD, "deploy", "tuesdays"])
@pytest.mark.parametrize("limit", [1, 2, 10])
def test_an_outdated_note_comes_right_after_what_updates_it(
    book: Notebook, query: str, limit: int
) -> None:
    """Red when exact text, or a small limit, shows the old note first or alone."""
    old = book.remember(OLD).note
    book.remember("The deploy script lives in tools")
    book.remember(NEW, updates=[old])
    found = recalled(book, query, limit)
    assert found[0] == (NEW, "")
    assert (OLD, NEW) not in found[2:]
    assert (OLD, "") not in found
    assert ((OLD, NEW) in found) == (limit == 10 or (limit == 2 and query != "deploy"))


def test_what_updates_a_note_is_shown_although_nothing_of_it_matches(book: Notebook) -> None:
    old = book.remember("The zebra lives in stable 14").note
    book.remember("It was sold to a circus", updates=[old])
    for number in range(12):
        book.remember(f"Invoice {number} was paid on Monday")
    first, second = book.recall("zebra", fast=True)[:2]
    assert (first.note.id, first.why, first.weak) == (2, "updates 1", False)
    assert (second.note.id, second.updated_by) == (1, first.note)


def test_of_a_chain_the_newest_comes_first_for_all(book: Notebook) -> None:
    old = book.remember(OLD).note
    new = book.remember(NEW, updates=[old]).note
    book.remember(NEWER, updates=[new])
    assert recalled(book)[0] == (NEWER, "")
    assert sorted(recalled(book)[1:]) == [(NEW, NEWER), (OLD, NEWER)]
    assert recalled(book, "tuesdays")[:2] == [(NEWER, ""), (OLD, NEWER)]


def test_of_two_updates_the_newer_one_holds(tmp_path: Path) -> None:
    put(tmp_path, 1, OLD)
    for number, (text, day) in enumerate([(NEWER, "2026-03-02"), (NEW, "2026-03-01")], 2):
        path = Path(put(tmp_path, number, text, created=f"{day}T10:00:00+00:00"))
        path.write_text(path.read_text().replace("created:", "updates: ['1']\ncreated:"))
    assert (OLD, NEWER) in recalled(opened(tmp_path))


@pytest.mark.parametrize("links", [{1: 2, 2: 1}, {1: 1, 2: 1}, {1: 2, 2: 3, 3: 1}])
def test_links_in_a_circle_show_every_note_once(tmp_path: Path, links: dict[int, int]) -> None:
    """Red when a note that updates itself is lost, shown twice, or followed for ever."""
    texts = {1: OLD, 2: NEW, 3: NEWER}
    for number, other in links.items():
        path = Path(put(tmp_path, number, texts[number]))
        link = f"updates: ['{other}']\ncreated:"
        path.write_text(path.read_text().replace("created:", link))
    assert sorted(body for body, _ in recalled(opened(tmp_path))) == sorted(
        texts[number] for number in links
    )


def test_without_an_index_links_count_all_the_same(tmp_path: Path) -> None:
    with opened(tmp_path, backend="grep") as book:
        book.remember(NEW, updates=[book.remember(OLD).note])
        assert recalled(book) == [(NEW, ""), (OLD, NEW)]


def test_a_broken_field_links_nothing(tmp_path: Path) -> None:
    put(tmp_path, 1, OLD)
    for number, value in enumerate(["{a: b}", "[[1]]", "true", "~", "[~]", "''"], 2):
        path = Path(put(tmp_path, number, f"Lions roar {number} times"))
        path.write_text(path.read_text().replace("created:", f"updates: {value}\ncreated:"))
    book = opened(tmp_path)
    assert recalled(book, OLD)[0] == (OLD, "")
    assert len(book.recall("lions", 20, fast=True)) == 6


# Across notebooks


def test_a_link_counts_in_the_other_notebook_and_writes_nothing_there(shelf: Shelf) -> None:
    old = shelf.user.remember(OLD).note
    new = shelf.project.remember(NEW, updates=[old]).note
    assert on_shelf(shelf) == [(NEW, ""), (OLD, NEW)]
    assert shelf.user.find(1).raw == old.raw
    assert [entry.op for entry in shelf.user.store.entries()] == ["save"]
    current = shelf.updated_by(old)
    assert current == (shelf.project, new)
    assert recalled(shelf.user) == [(OLD, "")]  # where the project is not visible


def test_a_number_means_a_note_of_the_same_notebook(shelf: Shelf) -> None:
    """Red when `updates: ['1']` hides another notebook's first note."""
    put(shelf.project.root, 1, "Apples are red")
    path = Path(put(shelf.project.root, 2, "Apples are green"))
    path.write_text(path.read_text().replace("created:", "updates: ['1']\ncreated:"))
    put(shelf.user.root, 1, OLD)
    assert on_shelf(shelf) == [(OLD, "")]
    assert shelf.updated_by(shelf.user.find(1)) is None
    found = [(hit.note.body, hit.updated_by) for _, hit in shelf.recall("apples", fast=True)]
    assert found == [("Apples are green", None), ("Apples are red", shelf.project.find(2))]


def test_a_copied_file_is_linked_by_its_number(book: Notebook) -> None:
    """Red when a link to a copy, which shares its uid, means the original or nobody."""
    raw = Path(book.remember("Apples are red").note.path).read_text()
    copy = raw.replace("id: 1\n", "id: 2\n").replace("Apples are red", OLD)
    (Path(book.memories) / "002-copy.md").write_text(copy)
    saved = book.remember(NEW, updates=[book.find(2)])
    assert saved.note.meta["updates"] == ["2"]
    assert recalled(book) == [(NEW, ""), (OLD, NEW)]
    assert recalled(book, "apples")[0] == ("Apples are red", "")


def test_a_plain_file_is_linked_by_name_here_and_refused_elsewhere(shelf: Shelf) -> None:
    """Red when a link is written that nothing leads to."""
    plain = Path(shelf.user.memories) / "deploys.md"
    plain.parent.mkdir(parents=True)
    plain.write_text(OLD)
    old = shelf.user.find("m:deploys")
    with pytest.raises(CoError, match="has no uid to link to") as caught:
        shelf.project.remember(NEW, updates=[old])
    assert caught.value.hint == "`co knowledge adopt` in its project gives deploys.md one."
    assert shelf.project.notes() == []
    saved = shelf.user.remember(NEW, updates=[old])
    assert saved.note.meta["updates"] == ["m:deploys"]
    assert recalled(shelf.user) == [(NEW, ""), (OLD, NEW)]
    assert plain.read_text() == OLD


# Who may see what updates a note


def test_a_hidden_update_hides_the_old_note_too(shelf: Shelf) -> None:
    """G14. Red when who may not see the newer note is told what it made untrue."""
    old = shelf.project.remember(OLD).note
    shelf.project.remember(NEW, updates=[old], fields={"sensitive": True})
    assert on_shelf(shelf, sensitive=False) == []
    assert told(shelf.project.recall("deploy", 10, Filters(sensitive=False), fast=True)) == []
    assert on_shelf(shelf) == [(NEW, ""), (OLD, NEW)]


def test_an_update_for_another_language_hides_the_old_note_here(shelf: Shelf) -> None:
    old = shelf.user.remember(OLD).note
    shelf.user.remember(NEW, updates=[old], fields={"scope": "language", "language": "rust"})
    shelf.user.languages = frozenset({"python"})
    assert on_shelf(shelf) == []
    shelf.user.languages = frozenset({"rust"})
    assert on_shelf(shelf) == [(NEW, ""), (OLD, NEW)]


def test_what_git_brought_updates_nothing_for_a_model_before_a_yes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """G16. Red when a stranger's note hides the person's own by naming its uid."""
    pair = Pair(tmp_path)
    monkeypatch.chdir(pair.mine)
    assert co("learn", OLD).code == 0
    uid = Notebook(".co-cli/knowledge").find(1).uid
    header = f"id: 7\nuid: theirs\ncreated: 2026-02-01T00:00:00Z\nupdates: [{uid}]"
    pair.push(".co-cli/knowledge/memories/007-x.md", f"---\n{header}\n---\n\n{NEW}\n")
    git(pair.mine, "pull", "-q", "--no-edit")
    assert on_shelf(Workspace().shelf, own=True) == [(OLD, "")]
    assert on_shelf(Workspace().shelf) == [(NEW, ""), (OLD, NEW)]
    assert co("trust", "--yes").code == 0
    assert on_shelf(Workspace().shelf, own=True) == [(NEW, ""), (OLD, NEW)]


# How links last


@pytest.mark.parametrize("how", ["save", "link"])
def test_undo_makes_the_old_note_current_again(book: Notebook, how: str) -> None:
    old = book.remember(OLD).note
    if how == "save":
        book.remember(NEW, updates=[old])
    else:
        book.link(book.remember(NEW).note, updates=[old])
    assert recalled(book)[1] == (OLD, NEW)
    assert book.undo().op == how
    left = [(OLD, "")] if how == "save" else [(NEW, ""), (OLD, "")]
    assert sorted(recalled(book)) == left
    assert book.find(1).raw == old.raw


@pytest.mark.parametrize("verb", ["forget", "purge"])
def test_without_its_update_the_old_note_is_current_again(book: Notebook, verb: str) -> None:
    old = book.remember(OLD).note
    new = book.remember(NEW, updates=[old]).note
    assert recalled(book)[1] == (OLD, NEW)
    if verb == "forget":
        book.forget(new)
    else:
        purge(book, find_copies(book, "2"))
    assert recalled(book) == [(OLD, "")]


def test_a_purge_of_the_old_note_leaves_the_newer_one_alone(book: Notebook) -> None:
    """Red when a link keeps words of what was purged, or the purge takes the newer note along."""
    old = book.remember(OLD).note
    new = book.remember(NEW, updates=[old]).note
    copies = find_copies(book, "1", earlier=True)
    assert copies.earlier == []
    purge(book, copies)
    assert book.find(2).raw == new.raw
    assert recalled(book) == [(NEW, "")]
    assert b"Tuesdays" not in b"".join(
        path.read_bytes() for path in Path(book.root).rglob("*") if path.is_file()
    )


def test_what_replaces_an_update_still_updates_the_old_note(book: Notebook) -> None:
    """Red when the note that is replaced takes its links with it."""
    old = book.remember(OLD).note
    book.remember(NEW, updates=[old])
    saved = book.remember(NEWER, replaces="2")
    assert saved.note.meta["updates"] == [old.uid]
    assert recalled(book) == [(NEWER, ""), (OLD, NEWER)]


def test_saying_an_update_again_keeps_its_links(book: Notebook) -> None:
    old = book.remember(OLD).note
    book.remember(NEW, updates=[old])
    assert book.remember("we deploy on  Thursdays!").action == "consolidated"
    assert recalled(book) == [("we deploy on  Thursdays!", ""), (OLD, "we deploy on  Thursdays!")]


def joined(book: Notebook, new: Note) -> Note:
    book.remember("The deploy takes ten minutes")
    return book.merge([3, new.id]).note


def decayed(book: Notebook, new: Note) -> Note:
    book.protect(1)
    book.remember("The deploy takes ten minutes")
    saved = Notebook(book.root, policy=Policy(max_count=3, percentage=0.7)).plan_decay()
    assert saved is not None
    summary = book.commit(saved).summary
    assert summary is not None
    assert new in saved.saved.decayed
    return summary


def summarized(book: Notebook, new: Note) -> Note:
    other = book.remember("The deploy takes ten minutes").note
    text = f"{NEW} (#2)\nThe deploy takes ten minutes (#3)"
    return book.do("cli", partial(plan_summary, notes=[new, other], text=text)).note


@pytest.mark.parametrize("take_in", [joined, decayed, summarized])
def test_what_takes_an_update_in_updates_the_old_note(book: Notebook, take_in: object) -> None:
    """Red when merge, decay or a summary loses what a note brought out of date."""
    old = book.remember(OLD).note
    new = book.remember(NEW, updates=[old]).note
    assert callable(take_in)
    taken = take_in(book, new)
    assert taken.meta["updates"] == [old.uid]
    found = {hit.note.id: hit.updated_by for hit in book.recall("deploy tuesdays", fast=True)}
    assert found == {taken.id: None, 1: taken}


def test_a_merge_of_a_note_with_its_update_updates_nothing(book: Notebook) -> None:
    old = book.remember(OLD).note
    new = book.remember(NEW, updates=[old]).note
    merged = book.merge([new.id, old.id], keep_first=True).note
    assert (merged.meta.get("updates"), merged.meta["supersedes"]) == (None, [old.uid])
    assert recalled(book) == [(NEW, "")]


def test_a_note_that_moves_keeps_its_links_either_way(shelf: Shelf) -> None:
    old = shelf.project.remember(OLD).note
    new = shelf.project.remember(NEW, updates=[old]).note
    move(shelf.project, shelf.user, new, "", actor="cli")
    assert on_shelf(shelf) == [(NEW, ""), (OLD, NEW)]
    move(shelf.project, shelf.user, shelf.project.find(1), "", actor="cli")
    assert on_shelf(shelf) == [(NEW, ""), (OLD, NEW)]
    assert shelf.project.notes() == []


def test_an_accepted_draft_may_update_a_note(book: Notebook) -> None:
    old = book.remember(OLD).note
    [draft] = put_draft(book, [Draft(NEW)], actor="chat").added
    saved = accept(book, draft, updates=[old], actor="cli")
    assert (saved.action, saved.note.meta["updates"]) == ("updated", [old.uid])
    assert recalled(book) == [(NEW, ""), (OLD, NEW)]


def test_an_export_tells_what_a_note_updates(book: Notebook) -> None:
    old = book.remember(OLD).note
    book.remember(NEW, updates=[old])
    assert [row.get("updates") for row in export(book)] == [None, [old.uid]]


def test_an_edit_by_hand_of_either_side_is_seen_at_once(book: Notebook) -> None:
    """Red when the index keeps a link that the header no longer has."""
    old, new = book.remember(OLD).note, book.remember(NEW).note
    path = Path(new.path)
    path.write_text(path.read_text().replace("created:", f"updates:\n- {old.uid}\ncreated:"))
    assert recalled(book) == [(NEW, ""), (OLD, NEW)]
    path.write_bytes(new.raw)
    assert sorted(recalled(book)) == [(NEW, ""), (OLD, "")]
    book.link(2, updates=[old])
    Path(old.path).write_text(Path(old.path).read_text().replace("Tuesdays", "Wednesdays"))
    assert recalled(book)[1] == ("We deploy on Wednesdays", NEW)
    os.unlink(new.path)
    assert recalled(book) == [("We deploy on Wednesdays", "")]
    with pytest.raises(NotFound):
        book.find(2)
