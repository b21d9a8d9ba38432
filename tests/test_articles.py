"""Articles: what was read elsewhere, kept as markdown with its source and its original."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from cli import Result, co, in_time
from handmade import listening, put_article

from co_cli.agent.approval import FORGET, SAVE, prepare
from co_cli.chat import notes
from co_cli.deps import CoDeps
from co_cli.errors import CoError, FormatError, MovedOn, NotFound, Protected, RefusedText
from co_cli.knowledge import FolderStore, MemoryStore, Notebook, Store
from co_cli.knowledge.article import canonical, same_page
from co_cli.knowledge.copies import find_copies
from co_cli.knowledge.export import export
from co_cli.knowledge.importers.collect import collect, plan_import
from co_cli.knowledge.plan import Saved
from co_cli.knowledge.purge import purge
from co_cli.knowledge.store import disk
from co_cli.verbs import refs
from co_cli.workspace import Workspace

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


def test_a_misspelt_option_is_an_error() -> None:
    with pytest.raises(TypeError, match="tag"):
        keep(Notebook(MemoryStore()), tag=["python"])


def test_a_title_that_a_person_gives_counts_before_the_pages(book: Notebook) -> None:
    saved = keep(book, fields={"title": " My  tasks "})
    assert (saved.ref, saved.note.title) == ("a:my-tasks", "My tasks")


def test_a_persons_own_article_is_called_so() -> None:
    book = Notebook(MemoryStore(), scope="user")
    assert keep(book).ref == "ga:asyncio-tasks"


SLUGS = {
    ("Über die Größe", ADDRESS): "uber-die-grosse",
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
    ("| 100 views | 2 likes |", "| 200 views | 2 likes |"),
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
    first = keep(book, "Tasks.\n\nLast updated: 2026-02-09")
    again = keep(book, "Tasks.\n\nLast updated: 2026-11-16", title="New")
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


@pytest.mark.parametrize("end", ["forget", "purge", "keep", "page"])
def test_a_file_that_is_only_called_like_an_original_stays(tmp_path: Path, end: str) -> None:
    """G8. Red when a header that names a person's own file makes Co take it away."""
    book, mine = Notebook(tmp_path), tmp_path / "attachments/mine.txt"
    mine.parent.mkdir()
    mine.write_text("my only copy")
    told = f"Other\nattachment: mine.txt\nsha256: {'0' * 64}"
    put_article(tmp_path, "other.md", told, "Words")
    if end == "forget":
        book.forget("a:other")
    elif end == "purge":
        purge(book, find_copies(book, "a:other"))
    else:
        [note] = book.articles()
        data = ("x.txt", b"theirs") if end == "keep" else None
        keep(book, "Other words", source=note.meta["source"], attachment=data)
        purge(book, find_copies(book, "a:other"))
    assert (mine.read_text(), book.articles()) == ("my only copy", [])
    assert sorted(os.listdir(mine.parent)) == ["mine.txt"]


@pytest.mark.parametrize("end", ["forget", "purge"])
def test_an_original_that_was_changed_by_hand_goes_with_its_article(
    tmp_path: Path, end: str
) -> None:
    book = Notebook(tmp_path)
    note = keep(book, attachment=("plan.pdf", PDF)).note
    (tmp_path / note.attachment).write_bytes(PDF + b"remarks")
    purge(book, find_copies(book, note)) if end == "purge" else book.forget(note)
    assert os.listdir(tmp_path / "attachments") == []


@pytest.mark.parametrize("end", ["forget", "purge"])
def test_a_link_in_the_place_of_an_original_is_left_alone(tmp_path: Path, end: str) -> None:
    """Red when an article whose original became a link can never go."""
    book, mine = Notebook(tmp_path / "k"), tmp_path / "mine.pdf"
    note = keep(book, attachment=("plan.pdf", PDF)).note
    original = tmp_path / "k" / note.attachment
    original.rename(mine)
    original.symlink_to(mine)
    purge(book, find_copies(book, note)) if end == "purge" else book.forget(note)
    assert (book.articles(), original.is_symlink(), mine.read_bytes()) == ([], True, PDF)


def test_an_import_names_no_original_that_did_not_come_along(tmp_path: Path) -> None:
    row = {
        "kind": "article", "content": "Words", "source": "https://x.example/", "title": "X",
        "fetched": "2026-02-09", "attachment": "x.pdf", "sha256": disk.digest(PDF),
    }  # fmt: skip
    path, originals = tmp_path / "in.jsonl", BOOK / "attachments"
    path.write_text(json.dumps(row))
    originals.mkdir(parents=True)
    for data, named in ((b"mine", (None, None)), (PDF, ("x.pdf", row["sha256"]))):
        (originals / "x.pdf").write_bytes(data)
        loads("knowledge", "import", str(path), "--yes")
        [note] = Workspace().shelf.project.articles()
        assert (note.meta.get("attachment"), note.meta.get("sha256")) == named
        Workspace().shelf.project.undo()


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
    (tmp_path / "attachments").mkdir()
    keep(book, fields={"attachment": name.replace("\0", "\\0")})
    book.forget("a:asyncio-tasks")
    assert (book.notes(), book.articles()) == ([fact], [])


# Edits by hand


@pytest.mark.parametrize(
    ("old", "new"),
    [(b"trust: external\n", b""), (b"trust: external", b"trust: own"), (b"uid: ", b"was: ")],
)
def test_an_edit_takes_neither_the_mark_nor_the_uid_from_an_article(
    book: Notebook, old: bytes, new: bytes
) -> None:
    """G15. Red when text from outside no longer says so in its file."""
    note = keep(book, tags=["python"]).note
    edited = book.replace(note, note.raw.replace(old, new).replace(b"run", b"do run")).note
    told = (edited.meta["trust"], edited.uid, edited.body, edited.tags)
    assert told == ("external", note.uid, "Tasks do run coroutines.", ["python"])


def test_an_edit_neither_pins_nor_empties_an_article(book: Notebook) -> None:
    note = keep(book).note
    memory = book.remember("Mallory said so", fields={"trust": "external"}).note
    for one in (note, memory):
        pinned = one.raw.replace(b"trust: external", b"trust: external\npinned: true")
        with pytest.raises(FormatError, match="came from outside, so it is never pinned"):
            book.replace(one, pinned)
    with pytest.raises(FormatError, match="the article would be empty"):
        book.replace(note, note.raw.replace(b"Tasks run coroutines.", b""))
    assert book.articles() == [note]


def test_what_the_header_of_a_file_lacks_is_told_by_the_file(tmp_path: Path) -> None:
    """Red when a page with a header of another program is not found."""
    path = tmp_path / "articles/clip.md"
    path.parent.mkdir()
    path.write_text("---\ntags: [sea]\n---\n\n# Tides\n\nHigh at noon.\n")
    os.utime(path, (NOON.timestamp(), NOON.timestamp()))
    book = Notebook(tmp_path)
    [note] = book.articles()
    told = {"source": str(path), "fetched": NOON.isoformat(), "title": "Tides", "tags": ["sea"]}
    assert note.meta.items() >= told.items()
    assert (note.external, book.recall("high tides")[0].note) == (True, note)
    book.protect("a:clip")
    assert Notebook(tmp_path).articles()[0].meta.items() >= told.items()
    assert b"fetched:" in path.read_bytes()
    path.write_text("---\ncreated: 2025-03-01\nsource: https://x.example\n---\n\nHigh.\n")
    [note] = Notebook(tmp_path).articles()
    assert (note.created[:10], note.title) == ("2025-03-01", "clip")


@pytest.mark.parametrize(
    "text",
    [
        "---\nsource: 5\n---\n\nWords",
        "---\ntitle: [a]\n---\n\nWords",
        "---\ntags: sea: 1\n---\n\nWords",
        "---\ntags: [a]\n---\n\n<<<<<<< a\nWords\n=======\nOthers\n>>>>>>> b\n",
    ],
)
def test_a_header_that_says_something_wrong_stays_a_problem(tmp_path: Path, text: str) -> None:
    path = tmp_path / "articles/clip.md"
    path.parent.mkdir()
    path.write_text(text)
    notes, problems = Notebook(tmp_path).pages.articles()
    assert (notes, [one.path for one in problems]) == ([], [str(path)])


def test_an_export_says_of_every_article_that_it_is_from_outside(tmp_path: Path) -> None:
    put_article(tmp_path, "x.md", "X\ntrust: own", "Words")
    assert [row["trust"] for row in export(Notebook(tmp_path))] == ["external"]


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
    (folder / "broken.md").write_bytes(b"---\ntitle: [x]\n---\nHi\n")
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
    with pytest.raises(CoError, match="only a memory takes in other text"):
        book.merge(["a:asyncio-tasks", 1])
    merged = book.merge([1, "a:asyncio-tasks"]).note
    assert (merged.external, merged.meta["trust"], book.articles()) == (True, "external", [])


# At the command line

BOOK = Path(".co-cli/knowledge")


def ok(*args: str) -> str:
    done = co(*args)
    assert (done.code, done.err) == (0, ""), done
    return done.out


def loads(*args: str) -> Any:
    done = co(*args, "--json")
    assert done.code == 0, done
    return json.loads(done.out)


@pytest.fixture
def here() -> Notebook:
    """This project's notebook with a memory, an article and its original, and one's own article."""
    book, own = Workspace().shelf
    book.remember("We drink tea")
    keep(book, tags=["python"], attachment=("tasks.pdf", PDF))
    keep(own, "Zebras are striped.", source="https://zebra.example/", title="Zebras")
    return book


def test_every_verb_works_on_an_article(here: Notebook) -> None:
    ref, title = "a:asyncio-tasks", "Asyncio tasks"
    show = loads("knowledge", "show", ref)
    assert (show["kind"], show["ref"], show["title"], show["source"]) == (
        "article",
        ref,
        title,
        ADDRESS,
    )
    assert show["attachment"] == here.store.locate("attachments/asyncio-tasks.pdf")
    assert loads("knowledge", "show", f"{ref}#page-3")["ref"] == ref
    assert loads("knowledge", "show", "ga:zebras")["ref"] == "ga:zebras"
    assert loads("knowledge", "show", "-g", "a:zebras")["content"] == "Zebras are striped."
    assert ok("knowledge", "protect", ref) == f"✓ Article {ref} is protected: {title}\n"
    assert co("forget", ref).err.startswith(f"co: article {ref} is protected\n")
    assert ok("knowledge", "unprotect", ref) == f"✓ Article {ref} is no longer protected: {title}\n"
    assert co("knowledge", "pin", ref) == Result(
        1, "", f"co: article {ref} came from outside, so it is never pinned\n"
    )
    assert ok("knowledge", "sensitive", ref) == f"✓ Article {ref} is sensitive: {title}\n"
    assert ok("forget", ref).startswith(f"✓ Forgot article {ref}: {title}\n")
    gone = co("knowledge", "show", ref)
    assert gone.err == (
        "co: there is no article asyncio-tasks\n"
        f"    It was archived; `co knowledge restore {ref}` brings it back.\n"
    )
    assert ok("knowledge", "restore", ref) == f"✓ Restored article {ref}: {title}\n"
    assert "restore of" not in ok("knowledge", "undo")
    assert ok("knowledge", "undo").startswith("✓ Undid change 6 (forget)")
    ops = [row["op"] for row in loads("knowledge", "log", ref)]
    assert ops == "undo undo restore forget sensitive unprotect protect keep".split()
    assert co("knowledge", "show", "a:nobody").err == (
        "co: there is no article nobody\n"
        "    `co knowledge list --kind article` shows what there is.\n"
    )


def test_an_article_is_edited_in_an_editor_and_stays_external(
    here: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    """G15. Red when an edit makes an article the person's own."""
    monkeypatch.setenv("EDITOR", "sed -i -e /^trust:/d -e s/coroutines/awaitables/")
    assert ok("knowledge", "edit", "a:asyncio-tasks") == (
        "✓ Edited article a:asyncio-tasks. Undo: co knowledge undo\n"
    )
    [note] = here.articles()
    assert (note.body, note.external) == ("Tasks run awaitables.", True)
    assert note.meta["trust"] == "external"
    monkeypatch.setenv("EDITOR", "sed -i /^source:/d")
    assert co("knowledge", "edit", "a:asyncio-tasks").code == 0
    assert [one.meta for one in here.articles()] == [note.meta]
    monkeypatch.setenv("EDITOR", "sed -i s/^source:.*/source:\\ 5/")
    assert "needs 'source'" in co("knowledge", "edit", "a:asyncio-tasks").err


def test_lists_tell_memories_and_where_the_articles_are(here: Notebook) -> None:
    plain = co("knowledge", "list")
    assert plain.out == f"1\t{here.notes()[0].created[:10]}\t\t\tWe drink tea\n"
    assert plain.err.endswith("2 articles beside: co knowledge list --kind article\n")
    day = here.articles()[0].created[:10]
    assert co("knowledge", "list", "--kind", "article").out.splitlines() == [
        f"a:asyncio-tasks\t{day}\t\tpython\tAsyncio tasks",
        f"ga:zebras\t{loads('knowledge', 'show', 'ga:zebras')['created'][:10]}\t\t\tZebras",
    ]
    every = loads("knowledge", "list", "--kind", "all")
    assert (every["count"], [row["ref"] for row in every["memories"]]) == (3, ["1"])
    assert [row["ref"] for row in every["articles"]] == ["a:asyncio-tasks", "ga:zebras"]
    assert "content" not in every["articles"][0]
    tagged = loads("knowledge", "list", "--kind", "article", "-t", "Python")
    assert [row["ref"] for row in tagged["articles"]] == ["a:asyncio-tasks"]
    assert [book["articles"] for book in loads("status")["notebooks"]] == [1, 1]
    assert "(1 article)" in ok("status")
    offered = [ref for ref, _ in refs(Workspace().shelf)]
    assert offered == ["1", "a:asyncio-tasks", "ga:zebras"]


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("backend", ["auto", "grep"])
def test_recall_tells_kinds_apart_with_and_without_an_index(
    backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Red when the plain scan passes articles over."""
    monkeypatch.setenv("CO_CLI_SEARCH_BACKEND", backend)

    def found(*args: str) -> list[str]:
        return [row["ref"].partition("#")[0] for row in loads("recall", *args)["results"]]

    assert found("coroutines") == ["a:asyncio-tasks"]
    assert found("asyncio") == ["a:asyncio-tasks"]
    assert "a:asyncio-tasks" not in found("coroutines", "--kind", "memory")
    assert found("zebras", "--kind", "article") == ["ga:zebras"]


def test_a_purged_article_is_nowhere(here: Notebook) -> None:
    """G8. Red when the index, its vectors, a draft or a conversation still holds it."""
    loads("recall", "coroutines")
    here.sync(closely=True)
    done = co("forget", "--purge", "a:asyncio-tasks", "--yes")
    assert done.out.startswith("✓ Purged article a:asyncio-tasks: 2 copies removed.\n")
    words = (b"asyncio", b"coroutines", b"%PDF")
    files = [path for path in BOOK.rglob("*") if path.is_file()]
    assert [
        path for path in files if any(word in bytes(path) + path.read_bytes() for word in words)
    ] == []


@pytest.mark.usefixtures("here")
def test_doctor_names_what_is_wrong_with_articles() -> None:
    folder, originals = BOOK / "articles", BOOK / "attachments"
    header = "---\nsource: {}\nfetched: 2026-02-09\ntitle: X\n{}---\n\n{}\n"
    conflict = "<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs"
    files = {
        "broken": "---\nsource: [\n---\n",
        "conflict": header.format("a:b", "", conflict),
        "about-git": header.format("c:d", "", f"```\n{conflict}\n```"),
        "missing": header.format("e:f", "attachment: gone.pdf\n", "x"),
        "outside": header.format("g:h", "attachment: ../x.pdf\n", "x"),
        "twin": header.format(f"{ADDRESS}#x", "", "x"),
    }
    for name, text in files.items():
        (folder / f"{name}.md").write_text(text)
    (originals / "asyncio-tasks.pdf").write_bytes(b"other")
    (originals / "orphan.docx").write_bytes(b"PK")
    found = loads_problems()
    assert found == {
        "asyncio-tasks.md": "has the same source as a:twin",
        "broken.md": found["broken.md"],
        "conflict.md": "holds an unresolved merge conflict; keep either side",
        "missing.md": "its original is missing: attachments/gone.pdf",
        "outside.md": "`attachment` is not the name of a file: ../x.pdf",
        "twin.md": "has the same source as a:asyncio-tasks",
        "orphan.docx": "belongs to no article that can be read",
        "asyncio-tasks.md 2": "its original was changed since it was kept: "
        "attachments/asyncio-tasks.pdf",
    }
    assert "Invalid YAML" in found["broken.md"]
    assert [book["problems"] for book in loads("status")["notebooks"]] == [7, 0]


def loads_problems() -> dict[str, str]:
    """What doctor says of each file; a second remark on one has a number."""
    found: dict[str, str] = {}
    done = co("knowledge", "doctor", "--json")
    assert done.code == 1
    for row in json.loads(done.out)["problems"]:
        name = os.path.basename(row["path"])
        found[name if name not in found else f"{name} 2"] = row["reason"]
    return found


def test_articles_go_through_export_and_import_as_they_are(here: Notebook) -> None:
    """G15. Red when a field is lost, or the mark of what came from outside."""
    keep(here, "Ünïcode 本文", source="stdin", title="T", fields={"etag": '"x"', "rating": 5})
    long = "A long page, line by line. " * 700
    keep(here, long, source="https://long.example/", title="Long", tags=["a b"])
    (BOOK / "articles/Plain.md").write_text("# Of mine\n\nWords")
    here.protect("a:t")
    done = co("knowledge", "export", "out.jsonl")
    assert done.out == "✓ Exported 1 memory and 4 articles to out.jsonl\n"
    assert "1 original not in it; to take them along, copy " in done.err
    user = Workspace().shelf.user
    shutil.copytree(BOOK / "attachments", user.store.locate("attachments"))
    assert ok("knowledge", "import", "-g", "out.jsonl", "--yes").endswith(
        "✓ Imported 1 memory and 4 articles. Undo: co knowledge undo -g\n"
    )
    brought = {note.meta["source"]: note for note in user.articles()}
    for note in here.articles():
        other = brought[note.meta["source"]]
        left = {"decay_protected"} | ({"uid", "trust"} if note.plain else set())
        assert {n: v for n, v in other.meta.items() if n not in left} == {
            n: v for n, v in note.meta.items() if n not in left
        }
        assert (other.body, other.external, other.protected) == (note.body, True, False)
    again = loads("knowledge", "import", "-g", "out.jsonl", "--dry-run")
    assert (again["added"], again["known"], again["skipped"]) == ([], 5, [])
    book = Notebook("elsewhere")
    plan = plan_import(book, collect(BOOK))
    assert plan.change is not None
    book.store.commit(plan.change)
    assert {n.body for n in book.articles()} == {n.body for n in here.articles()}


@pytest.mark.parametrize("trust", [False, "own"])
def test_an_imported_article_claims_nothing_and_names_no_other_place(
    tmp_path: Path, trust: object
) -> None:
    """G12, G15. Red when a line of a file from elsewhere is believed in what it says of itself."""
    row = {
        "kind": "article", "content": "Words", "source": "https://x.example/", "title": "X",
        "fetched": "2026-02-09", "trust": trust, "pinned": True, "decay_protected": True,
        "attachment": "../../context.md", "a\nb": "x", "id": 7, "path": ["memories/1.md"],
    }  # fmt: skip
    bad = [{**row, "fetched": "never"}, {**row, "source": ""}, {**row, "content": "a\u202eb"}]
    path = tmp_path / "in.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in [*bad, row]))
    told = loads("knowledge", "import", str(path), "--yes")
    assert ([one["ref"] for one in told["added"]], len(told["skipped"])) == (["a:x"], 3)
    [note] = Workspace().shelf.project.articles()
    assert (note.external, note.pinned, note.protected, note.attachment) == (True, False, False, "")
    assert (note.meta["trust"], note.id, "pinned" in note.meta) == ("external", 0, False)


def test_the_chat_knows_articles_by_name(here: Notebook) -> None:
    shelf, ref = Workspace().shelf, "a:asyncio-tasks"
    assert notes.memories(shelf, "").endswith("2 articles beside; /recall and /show find them.")
    assert "Tasks run coroutines." in notes.show(shelf, ref)
    assert notes.forget(shelf, f"{ref} ga:zebras").splitlines() == [
        f"Forgot article {ref}: Asyncio tasks (/restore {ref} brings it back)",
        "Forgot article ga:zebras: Zebras (/restore ga:zebras brings it back)",
    ]
    assert notes.restore(shelf, ref) == f"Article {ref} is back: Asyncio tasks"
    assert [note.handle for note in here.articles()] == [ref]


def test_an_article_to_be_forgotten_is_shown_by_its_name_and_source(here: Notebook) -> None:
    deps = CoDeps()
    shown = prepare(deps, "c", FORGET, {"ref": "a:asyncio-tasks"})
    assert (shown.text, shown.ref) == (f"Asyncio tasks\n{ADDRESS}", "a:asyncio-tasks")
    here.protect("a:asyncio-tasks")
    refused = prepare(deps, "c", FORGET, {"ref": "a:asyncio-tasks"}).refused
    assert refused.startswith("article a:asyncio-tasks is protected")
    corrected = {"content": "Tasks are new", "replaces": "a:asyncio-tasks"}
    assert prepare(deps, "c", SAVE, corrected).replaces == ""
