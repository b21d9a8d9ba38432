"""Articles: what was read elsewhere, kept as markdown with its source and its original."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from cli import in_time
from handmade import listening, put_article

from co_cli.errors import CoError, MovedOn, NotFound, Protected, RefusedText
from co_cli.knowledge import FolderStore, MemoryStore, Notebook, Store
from co_cli.knowledge.article import canonical, same_page
from co_cli.knowledge.plan import Saved
from co_cli.knowledge.purge import find_copies, purge
from co_cli.knowledge.store import disk

NOON = datetime(2026, 2, 9, 12, 0, tzinfo=UTC)
ADDRESS = "https://docs.example/asyncio/tasks"
PDF = b"%PDF-1.7 \x00\xff not a text"


@pytest.fixture(params=["folder", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    return FolderStore(tmp_path / "k") if request.param == "folder" else MemoryStore()


@pytest.fixture
def book(store: Store) -> Iterator[Notebook]:
    with Notebook(store, clock=lambda: NOON) as book:
        yield book


def keep(book: Notebook, text: str = "Tasks run coroutines.", **about: Any) -> Saved:
    return book.keep(text, **{"source": ADDRESS, "title": "Asyncio tasks", **about})


def everything(book: Notebook) -> dict[str, bytes | None]:
    """The files of articles and their originals, as far as the journal knows any."""
    entries = book.store.entries()
    paths = {file["path"] for entry in entries for file in entry.files}
    return {path: book.store.read(path) for path in paths if book.store.signature(path)}


# Keeping


def test_an_article_is_written_as_the_format_says(book: Notebook) -> None:
    saved = keep(book, " Tasks run coroutines.\n", tags=["python", "python", " async "])
    uid = saved.note.meta["uid"]
    assert saved.note.raw.decode() == (
        f'---\nuid: {uid}\nsource: "{ADDRESS}"\nfetched: "2026-02-09T12:00:00+00:00"\n'
        "title: Asyncio tasks\ntags:\n- python\n- async\ntrust: external\n---\n\n"
        "Tasks run coroutines.\n"
    )
    assert (saved.action, saved.ref) == ("created", "a:asyncio-tasks")
    assert book.find("a:asyncio-tasks") == saved.note
    assert book.articles() == [saved.note]
    assert book.notes() == []
    assert [entry.op for entry in book.store.entries()] == ["keep"]


def test_a_persons_own_article_is_called_so() -> None:
    book = Notebook(MemoryStore(), scope="user")
    assert keep(book).ref == "ga:asyncio-tasks"


SLUGS = {
    ("Über die Größe", ADDRESS): "uber-die-groe",
    ("非同期入出力", ADDRESS): "tasks",
    ("非同期入出力", "https://docs.example/%E9%9D%9E/"): "4b2c0ee0",
    ("", "/home/ada/The Plan.pdf"): "the-plan",
    ("x" * 300, ADDRESS): "x" * 50,
    ("第3章 入門と練習", "https://docs.example/"): "docs",
}


@pytest.mark.parametrize(("title", "source"), SLUGS)
def test_an_article_is_named_after_its_title_or_else_its_source(title: str, source: str) -> None:
    saved = keep(Notebook(MemoryStore()), title=title, source=source)
    expected = SLUGS[title, source]
    if expected == "4b2c0ee0":
        expected = str(disk.digest(source.encode()))[:8]
    assert saved.ref == f"a:{expected}"
    assert len(saved.note.title) <= 200


def test_no_name_is_given_twice(book: Notebook) -> None:
    """Red when an article takes the name of one in the archive, which could not come back then."""
    refs = [keep(book, source=f"{ADDRESS}/{n}").ref for n in range(2)]
    book.forget("a:asyncio-tasks-2")
    refs.append(keep(book, source=f"{ADDRESS}/2").ref)
    assert refs == ["a:asyncio-tasks", "a:asyncio-tasks-2", "a:asyncio-tasks-3"]
    assert book.restore("a:asyncio-tasks-2").ref == "a:asyncio-tasks-2"
    assert len(book.articles()) == 3


SAME_PLACE = [
    ("HTTPS://Docs.Example:443/a?b=C#part", "https://docs.example/a?b=C", True),
    ("http://docs.example", "http://docs.example:80/", True),
    ("file:///home/ada/my%20plan.pdf", "/home/ada/x/../my plan.pdf", True),
    ("https://docs.example/a", "https://docs.example/a/", False),
    ("https://docs.example/a", "http://docs.example/a", False),
    ("https://docs.example/a", "https://docs.example/A", False),
    ("https://docs.example/a?b=1", "https://docs.example/a?b=2", False),
    ("https://docs.example:8443/a", "https://docs.example/a", False),
    ("http://[::1", "http://[::1", True),
]


@pytest.mark.parametrize(("one", "two", "same"), SAME_PLACE)
def test_a_source_is_told_by_its_address_however_it_is_written(
    one: str, two: str, same: bool
) -> None:
    assert (canonical(one) == canonical(two)) is same


def test_the_same_source_updates_its_article(book: Notebook) -> None:
    first = keep(book, tags=["python"]).note
    again = keep(book, "Tasks run awaitables.", source=f"{ADDRESS}#top", title="New", tags=["io"])
    assert (again.action, again.ref, again.note.title) == (
        "updated",
        "a:asyncio-tasks",
        first.title,
    )
    assert (again.note.body, again.note.tags) == ("Tasks run awaitables.", ["python", "io"])
    assert len(book.articles()) == 1
    assert book.undo().op == "keep"
    assert book.articles() == [first]


def test_a_source_that_names_no_place_is_told_by_its_text(book: Notebook) -> None:
    """Red when everything that was piped in is taken for one article."""
    actions = [keep(book, text, source="stdin").action for text in ("One", "Two", "One")]
    assert actions == ["created", "created", "unchanged"]


def test_what_a_person_wrote_in_the_header_stays(book: Notebook) -> None:
    note = keep(book).note
    mine = note.raw.replace(b"title: Asyncio tasks", b"title: 'My tasks'  # mine\nrating: 5")
    book.replace(note, mine)
    saved = keep(book, "Other words.", fetched="2026-03-01", fields={"etag": "x"})
    assert saved.note.raw == mine.replace(b"Tasks run coroutines.", b"Other words.").replace(
        b'"2026-02-09T12:00:00+00:00"', b'"2026-03-01"'
    ).replace(b"trust: external\n", b"trust: external\netag: x\n")
    assert keep(book, "Other words.", fields={"title": "Said"}).note.title == "Said"


def test_a_protected_article_stays_as_it_is(book: Notebook) -> None:
    keep(book)
    note = book.protect("a:asyncio-tasks").note
    assert keep(book).action == "unchanged"
    with pytest.raises(Protected, match="article a:asyncio-tasks is protected"):
        keep(book, "Other words.")
    with pytest.raises(Protected, match="article a:asyncio-tasks is protected"):
        book.forget("a:asyncio-tasks")
    assert book.articles() == [note]


# What moves on a page by itself

MOVES = [
    ("Posted 3 hours ago by Ada", "Posted 2 days ago by Ada"),
    ("Last updated: 9 February 2026", "Last updated: 16 November 2026"),
    ("*This page was last modified on 2026-02-09 at 14:30 UTC.*",) * 2,
    ("*This page was last modified on 2026-02-09 at 14:30 UTC.*",
     "*This page was last modified on 2026-11-16 at 09:01 UTC.*"),
    ("Monday, February 9, 2026", "Monday, November 16, 2026"),
    ("Ada · 12 likes · [3 comments](https://x.example/1)", "Ada · 13 likes · [4 comments](/2)"),
    ("1,204 views", "1.3k views"),
    ("Copyright (c) 2019-2025 Example", "Copyright (c) 2019-2026 Example"),
    ("© Example Ltd 2025. All rights reserved.", "© Example Ltd 2026. All rights reserved."),
    ("a  b", "a b\n\n"),
]  # fmt: skip
STAYS = [
    ("At most 100 requests are served", "At most 200 requests are served"),
    ("Support ends on 2026-05-01.", "Support ends on 2026-06-01."),
    ("## Deadline\n\n2026-05-01", "## Deadline\n\n2026-06-01"),
    ("Version 3.12 was released", "Version 3.13 was released"),
    ("| views | 100 views |", "| views | 200 views |"),
    ("Limit: 100 views", "Limit: 200 views"),
    ("Copyright law of 1976 holds", "Copyright law of 1978 holds"),
    ("```\nupdated 2026-02-09\n```", "```\nupdated 2026-02-10\n```"),
    ("```\nif x:\n    y\nz\n```", "```\nif x:\n    y\n    z\n```"),
    ("Meeting at 14:30", "Meeting at 15:30"),
    ("Line one", "Line one\n\nLine two"),
]


@pytest.mark.parametrize(("old", "new"), MOVES)
def test_what_moves_on_a_page_by_itself_changes_nothing(old: str, new: str) -> None:
    assert same_page(f"# Page\n\n{old}\n\nEnd", f"# Page\n\n{new}\n\nEnd")


@pytest.mark.parametrize(("old", "new"), STAYS)
def test_a_number_that_says_something_is_a_change(old: str, new: str) -> None:
    """Red when a page's facts are taken for its banners."""
    assert not same_page(f"# Page\n\n{old}\n\nEnd", f"# Page\n\n{new}\n\nEnd")


def test_a_page_that_only_moved_is_not_written_again(book: Notebook) -> None:
    first = keep(book, "Tasks.\n\nLast updated: 2026-02-09", fields={"etag": "one"})
    again = keep(book, "Tasks.\n\nLast updated: 2026-11-16", fields={"etag": "two"}, title="New")
    assert (again.action, again.note, again.change) == ("unchanged", first.note, 0)
    assert len(book.store.entries()) == 1


def test_a_long_page_is_compared_in_no_time() -> None:
    """G10. Red when an expression looks again and again at what it has read."""
    for piece in ("1.", "1 ", "© ", "[", "· ", "2026-", "a ", "copyright (c) 1999, "):
        text = piece * (100_000 // len(piece))
        with in_time(1):
            assert same_page(text, text + "\n")


# What will not be kept


def test_a_long_page_may_be_kept_and_one_with_a_key_may_not(book: Notebook) -> None:
    long = "A line of a long page.\n" * 2_000
    assert keep(book, long).note.body == long.strip()
    key = "AKIA" + "QWERTYUIOPASDFGH"
    with pytest.raises(RefusedText, match=r"\(rule ") as refused:
        keep(book, f"export AWS_ACCESS_KEY_ID={key}")
    assert "--allow-secret" in refused.value.hint
    assert key in keep(book, f"key {key}", allow_secret=True).note.body
    for about in ({"text": "a\u202eb"}, {"source": ""}, {"source": "a\nb"}, {"text": " "}):
        with pytest.raises(RefusedText):
            keep(book, **about)
    with pytest.raises(RefusedText, match=r"plan.pdf is larger than 50 MiB"):
        keep(book, attachment=("plan.pdf", bytes(disk.MAX_ATTACHMENT + 1)))
    assert len(book.articles()) == 1


# Originals


def test_an_original_lies_beside_its_article_as_it_is(book: Notebook) -> None:
    saved = keep(book, attachment=("/tmp/Some Plan.PDF", PDF))
    path = "attachments/asyncio-tasks.pdf"
    assert (saved.note.attachment, book.store.read(path)) == (path, PDF)
    assert saved.note.meta["sha256"] == disk.digest(PDF)
    assert keep(book, attachment=("x.pdf", PDF)).action == "unchanged"
    again = keep(book, attachment=("x.pdf", PDF + b"2"))
    assert (again.action, book.store.read(path)) == ("updated", PDF + b"2")
    book.undo()
    assert (book.articles(), book.store.read(path)) == ([saved.note], PDF)


def test_an_original_of_another_kind_takes_the_place_of_the_first(book: Notebook) -> None:
    keep(book, attachment=("plan.pdf", PDF))
    assert keep(book, attachment=("plan.docx", b"PK")).note.attachment.endswith("tasks.docx")
    gone, now = "attachments/asyncio-tasks.pdf", "attachments/asyncio-tasks.docx"
    assert (book.store.read(gone), book.store.read(now)) == (None, b"PK")
    saved = keep(book, "It is a page now.")
    assert (saved.note.attachment, "sha256" in saved.note.meta) == ("", False)
    assert book.store.read(now) is None
    book.undo()
    book.undo()
    assert (book.store.read(gone), book.store.read(now)) == (PDF, None)


@pytest.mark.parametrize("back", ["restore", "undo"])
def test_an_original_goes_and_comes_back_with_its_article(book: Notebook, back: str) -> None:
    """G8. Red when a forgotten article leaves its original behind, or comes back without it."""
    keep(book, attachment=("plan.pdf", PDF))
    before = everything(book)
    book.forget("a:asyncio-tasks")
    assert everything(book) == {}
    book.restore("a:asyncio-tasks") if back == "restore" else book.undo()
    assert everything(book) == before
    assert len(before) == 2


def test_an_original_that_two_articles_name_stays_for_the_other(book: Notebook) -> None:
    note = keep(book, attachment=("plan.pdf", PDF)).note
    keep(book, source="https://other.example/", fields={"attachment": "asyncio-tasks.pdf"})
    book.forget(note)
    assert book.store.read("attachments/asyncio-tasks.pdf") == PDF


@pytest.mark.parametrize("first", ["", "forgotten"])
def test_a_purge_leaves_nothing_of_an_article(book: Notebook, first: str) -> None:
    """G8. Red when a version of the article or of its original stays in the archive."""
    keep(book, "Zebras run.", title="Zebras", attachment=("zebra.pdf", b"zebra 1"))
    keep(book, "Zebras rest.", title="Zebras", attachment=("zebra.pdf", b"zebra 2"))
    other = keep(book, "Lions rest.", source="https://other.example/", title="Lions").note
    if first:
        book.forget("a:zebras")
    purge(book, find_copies(book, "a:zebras"))
    assert everything(book) == {"articles/lions.md": other.raw}
    assert list(book.store.kept()) == []
    assert "ebra" not in repr(book.store.entries())
    if isinstance(book.store, FolderStore):
        files = [path for path in Path(book.root).rglob("*") if path.is_file()]
        assert [path for path in files if b"ebra" in str(path).encode() + path.read_bytes()] == []
    with pytest.raises(NotFound, match="there is no article zebras"):
        find_copies(book, "a:zebras")


def test_originals_are_not_read_when_notes_are_looked_at(tmp_path: Path) -> None:
    """G10. Red when a look at the notebook opens what lies in attachments/."""
    book = Notebook(tmp_path, clock=lambda: NOON)
    keep(book, attachment=("plan.pdf", bytes(10 * 1024 * 1024)))
    with listening(tmp_path) as heard:
        Notebook(tmp_path).remember("Apples are red")
        Notebook(tmp_path).articles()
        Notebook(tmp_path).recall("coroutines")
    assert [name for _, name in heard if "attachments" in name] == []
    book.forget("a:asyncio-tasks")
    assert book.undo().op == "forget"
    assert os.path.getsize(tmp_path / "attachments/asyncio-tasks.pdf") == 10 * 1024 * 1024


@pytest.mark.parametrize("name", ["../memories/001-a.md", "/etc/passwd", ".hidden", "a/b", "x\0"])
def test_no_header_makes_co_read_or_move_another_file(tmp_path: Path, name: str) -> None:
    """G12. Red when the name of an original is taken for a path."""
    book = Notebook(tmp_path)
    fact = book.remember("A").note
    keep(book, fields={"attachment": name.replace("\0", "\\0")})
    book.forget("a:asyncio-tasks")
    assert (book.notes(), book.articles()) == ([fact], [])


# What a person agreed to


def test_a_plan_is_carried_out_only_as_it_was_seen(book: Notebook) -> None:
    plan = book.plan_keep("One", source=ADDRESS, title="Tasks")
    assert (plan.saved.action, book.articles()) == ("created", [])
    assert keep(book, "Two", title="Tasks").action == "created"
    with pytest.raises(MovedOn):
        book.keep("One", source=ADDRESS, title="Tasks", seen=plan.seen)
    plan = book.plan_keep("One", source=ADDRESS, title="Tasks")
    assert plan.saved.action == "updated"
    assert book.keep("One", source=ADDRESS, title="Tasks", seen=plan.seen, agreed=plan).change == 2


def test_a_call_that_arrives_twice_is_answered_once(book: Notebook) -> None:
    first = keep(book, call="call-1", tags=["x"])
    again = keep(book, call="call-1", tags=["x"])
    assert (again.note, again.change, again.action) == (first.note, 1, "created")


# By hand


def test_an_article_is_external_whatever_its_header_says(tmp_path: Path) -> None:
    """G15. Red when taking `trust` out of the header makes a text the person's own."""
    put_article(tmp_path, "x.md", "Mortgages", "About mortgages")
    [note] = Notebook(tmp_path).articles()
    assert ("trust" in note.meta, note.external) == (False, True)


def test_a_file_without_a_header_is_an_article(tmp_path: Path) -> None:
    book = Notebook(tmp_path, clock=lambda: NOON)
    folder = tmp_path / "articles"
    folder.mkdir()
    (folder / "Tea.md").write_bytes(b"Green tea.\r\n\r\n## How to ##\r\nSteep it.\r\n")
    (folder / "007-x.md").write_bytes(b"No heading.\n```\n# not this\n```\n")
    (folder / "broken.md").write_bytes(b"---\ntitle: x\n---\nHi\n")
    for name in ("Tea.md", "007-x.md"):
        os.utime(folder / name, (1_700_000_000, 1_700_000_000))
    told = [(n.handle, n.id, n.title, n.created, n.plain, n.external) for n in book.articles()]
    day = "2023-11-14T22:13:20+00:00"
    assert told == [
        ("a:007-x", 0, "007-x", day, True, True),
        ("a:Tea", 0, "How to", day, True, True),
    ]
    with pytest.raises(NotFound, match="there is no article broken") as error:
        book.find("a:broken")
    assert "cannot be read" in error.value.hint
    [adopted] = book.adopt(["a:Tea"]).adopted
    assert (
        adopted.raw
        == (
            f'---\r\nuid: {adopted.uid}\r\nsource: "{folder}/Tea.md"\r\nfetched: "{day}"\r\n'
            "title: How to\r\ntrust: external\r\n---\r\n\r\n"
        ).encode()
        + b"Green tea.\r\n\r\n## How to ##\r\nSteep it.\r\n"
    )
    book.undo()
    assert book.find("a:Tea").created == day


def test_an_article_cannot_take_in_a_memory(book: Notebook) -> None:
    keep(book)
    book.remember("Apples are red")
    with pytest.raises(CoError, match="an article takes in no other text"):
        book.merge(["a:asyncio-tasks", 1])
    merged = book.merge([1, "a:asyncio-tasks"]).note
    assert (merged.external, merged.meta["trust"], book.articles()) == (True, "external", [])
