"""The derived index: after any edits it answers like a new one, and nothing done to it matters."""

from __future__ import annotations

import os
import random
import resource
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import apsw
import pytest
from faults import CLEAN, REFUSED, Call, Fault, Say, Shim, end_child, in_child, start_child
from handmade import (
    Counting,
    answers,
    held,
    listening,
    mirror,
    names,
    opened,
    page,
    put,
    put_article,
    read,
    reasons,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from operations import MEMORY

from co_cli.errors import CoError
from co_cli.knowledge.notebook import Notebook
from co_cli.knowledge.plan import ImportItem
from co_cli.knowledge.search import index
from co_cli.knowledge.search.hits import Filters
from co_cli.knowledge.store import disk, files

LONG = "\n\n".join(
    f"## Chapter {word}\n\nThe {word} {'of the harbour is told here at length ' * 12}"
    for word in "lighthouse breakwater tugboat".split()
)
TEXTS = [
    "Maria prefers postgres over mysql",
    "maria prefers Postgres over MySQL.",
    "Kafka was chosen in March 2026 for the payments team",
    "The session_store.py module keeps sessions in redis",
    "東京オフィスは火曜日に会議をします",
    "Deploys to staging run terraform every Thursday",
    "Deploys to staging run kubectl every Thursday",
    "Postgraduate studies begin in October",
    LONG,
]
ASKED = """postgres; postg; kafak; session_store.py; sion_sto; 東京; deploys staging thursday; zzqq;
who prefers mysql; in March; preference; tugboat; what database does Maria like; the; v0; studies;
harbour; terraform kubectl"""
QUERIES = [query.strip() for query in ASKED.split(";")]
NAMES = ["001-a.md", "002-b.md", "003-c.md", "004-d.md", "005-e.md"]
SPECIAL = ["folder", "link", "pipe", "broken", "empty"]

Step = tuple[str, int, int]


class Person:
    """Somebody who edits a notebook's files, and now and then uses Co."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.book = opened(root)
        for folder in ("memories", "articles"):
            os.makedirs(os.path.join(root, folder))
        for number in range(3):
            self.write(number, number)

    def path(self, number: int) -> str:
        return os.path.join(self.root, "memories", NAMES[number % len(NAMES)])

    def clear(self, path: str) -> None:
        if os.path.isdir(path) and not os.path.islink(path):
            os.rmdir(path)
        elif os.path.lexists(path):
            os.unlink(path)

    def do(self, step: Step) -> None:
        verb, one, two = step
        with suppress(CoError):
            getattr(self, verb)(one, two)

    def write(self, one: int, two: int) -> None:
        self.clear(self.path(one))
        with open(self.path(one), "w", encoding="utf-8") as file:
            file.write(page(one % len(NAMES) + 1, TEXTS[two % len(TEXTS)], "preference"))

    def overwrite(self, one: int, _: int) -> None:
        """Other words of the same length, in place, at the same time by the file's own account."""
        path = self.path(one)
        if os.path.isfile(path) and not os.path.islink(path):
            info = os.stat(path)
            with open(path, "r+b") as file:
                data = file.read()
                file.seek(0)
                file.write(data.swapcase() if b"QQ" in data else data.replace(b"es", b"QQ"))
            os.utime(path, ns=(info.st_atime_ns, info.st_mtime_ns))

    def rename(self, one: int, two: int) -> None:
        if os.path.lexists(self.path(one)):
            self.clear(self.path(two)) if one != two else None
            if os.path.lexists(self.path(one)):
                os.rename(self.path(one), self.path(two))

    def swap(self, one: int, two: int) -> None:
        if os.path.lexists(self.path(one)) and os.path.lexists(self.path(two)):
            aside = os.path.join(self.root, "aside")
            os.rename(self.path(one), aside)
            if os.path.lexists(self.path(two)):
                os.rename(self.path(two), self.path(one))
            os.rename(aside, self.path(two))

    def delete(self, one: int, _: int) -> None:
        self.clear(self.path(one))

    def touch(self, one: int, two: int) -> None:
        if os.path.isfile(self.path(one)):
            os.utime(self.path(one), (two, two))

    def chmod(self, one: int, two: int) -> None:
        if os.path.isfile(self.path(one)):
            os.chmod(self.path(one), 0o600 + two % 64)

    def spoil(self, one: int, two: int) -> None:
        """Something that is no note takes the place of one."""
        path, kind = self.path(one), SPECIAL[two % len(SPECIAL)]
        self.clear(path)
        if kind == "folder":
            os.mkdir(path)
        elif kind == "link":
            os.symlink(self.path(one + 1), path)
        elif kind == "pipe":
            os.mkfifo(path)
        else:
            with open(path, "w", encoding="utf-8") as file:
                file.write("---\nid: [\n---\n\npostgres\n" if kind == "broken" else "")

    def drop_plain(self, one: int, two: int) -> None:
        """A file without a header takes the place of a note, or claims its number too."""
        path = self.path(one) if two % 2 else f"{self.path(one)[:-3]}-{two % 4}.md"
        self.clear(path)
        Path(path).write_text(TEXTS[(one + two) % len(TEXTS)])

    def write_article(self, one: int, two: int) -> None:
        put_article(self.root, f"{one % 2}.md", TEXTS[two % 4], TEXTS[(one + two) % len(TEXTS)])

    def delete_article(self, one: int, _: int) -> None:
        self.clear(os.path.join(self.root, "articles", f"{one % 2}.md"))

    def remember(self, one: int, two: int) -> None:
        self.book.remember(TEXTS[one % len(TEXTS)], [f"tag{two}"])

    def forget(self, one: int, _: int) -> None:
        notes = self.book.notes()
        if notes:
            self.book.forget(notes[one % len(notes)])

    def undo(self, _: int, __: int) -> None:
        self.book.undo()

    def sync(self, _: int, __: int) -> None:
        self.book.sync()

    def reopen(self, _: int, __: int) -> None:
        self.book.close()


VERBS = """write overwrite rename swap delete touch chmod spoil drop_plain write_article
delete_article remember forget undo sync sync sync reopen""".split()
STEPS = st.lists(
    st.tuples(st.sampled_from(VERBS), st.integers(0, 8), st.integers(0, 8)), max_size=20
)


def compared(root: str, book: Notebook) -> None:
    """The index as it is answers like one made of the same files elsewhere."""
    now = answers(book, QUERIES)
    found = book.recall("zebra")
    assert (reasons(found), found.missing) == ("", ())
    with tempfile.TemporaryDirectory(dir=MEMORY) as other:
        mirror(root, other)
        with opened(other) as new:
            assert now == answers(new, QUERIES)
            told = [(os.path.relpath(path, root), *rest) for path, *rest in found.unread]
            unread = new.recall("zebra").unread
            assert told == [(os.path.relpath(path, other), *rest) for path, *rest in unread]


@given(STEPS)
@settings(max_examples=25)
def test_sync_after_any_edits_equals_a_rebuild(steps: list[Step]) -> None:
    """The law. Red when a sync keeps, loses or doubles a row that a rebuild would not."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as root:
        person = Person(root)
        for step in steps:
            person.do(step)
        before = held(root)
        compared(root, person.book)
        person.book.sync(anew=True)
        compared(root, person.book)
        assert held(root) == before
        person.book.close()


# Freshness


@pytest.fixture
def root(tmp_path: Path) -> str:
    return str(tmp_path / "k")


@pytest.fixture
def calm(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file's signature counts at once; then every edit of the test must change it."""
    monkeypatch.setattr(files, "_FINE", 0)
    monkeypatch.setattr(files, "_COARSE", 0)


@pytest.fixture
def book(root: str) -> Iterator[Notebook]:
    with opened(root) as book:
        yield book


def own(number: int) -> str:
    """A word that is like no other."""
    return "".join(random.Random(number).choices("abcdefghijklmnopqrstuvwxyz", k=12))


def write(root: str, count: int, say: str = "zebra") -> None:
    for number in range(1, count + 1):
        put(root, number, f"{own(number)} is a fact about a {say}")


def move(root: str, numbers: range, source: str, target: str) -> None:
    os.makedirs(os.path.join(root, target), exist_ok=True)
    for number in numbers:
        name = f"{number:03d}-note.md"
        os.rename(os.path.join(root, source, name), os.path.join(root, target, name))


def inode(root: str) -> int:
    return os.stat(os.path.join(root, "knowledge.db")).st_ino


def test_edits_in_the_same_tick_and_of_the_same_size_are_seen(
    root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Red when a file's signature is believed although another edit may leave it as it is."""
    fine, tick = disk.signature, 90_000_000

    def coarse(info: os.stat_result) -> disk.Signature:
        """As a file system tells it whose clock ticks eleven times a second."""
        size, modified, changed, inode = fine(info)
        return size, modified, changed - changed % tick, inode

    monkeypatch.setattr(disk, "signature", coarse)
    path = put(root, 1, own(0))
    then = os.stat(path)
    book = opened(root, backend="fts5")  # by meaning, words without one are all alike
    for number in range(100):
        with open(path, "r+b") as file:
            file.write(page(1, own(number)).encode())
        os.utime(path, ns=(then.st_atime_ns, then.st_mtime_ns))
        assert names(book, own(number)) == ["001-note.md"]
        assert names(book, own(number - 1)) == []
    book.close()


@pytest.mark.parametrize(("grain", "again"), [(10**18, ["memories/001-note.md"]), (0, [])])
@pytest.mark.parametrize("whole_seconds", [True, False])
def test_a_file_is_read_again_until_its_times_can_tell_an_edit(
    grain: int,
    again: list[str],
    whole_seconds: bool,
    root: str,
    book: Notebook,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Red when `_load` hands out a signature before the tick of the edit is over."""
    monkeypatch.setattr(files, "_COARSE" if whole_seconds else "_FINE", grain)
    path = put(root, 1, "zebra")
    os.utime(path, ns=(0, 1_700_000_000_000_000_000 + (not whole_seconds)))
    book.sync()
    with listening(root) as heard:
        book.sync()
    assert read(heard) == again


@pytest.mark.usefixtures("calm")
def test_a_sync_without_edits_reads_and_writes_nothing(root: str) -> None:
    """Red when an unchanged file is read again, or the index is written for nothing."""
    write(root, 5)
    put_article(root, "x.md", "Mortgages", "About mortgages")
    with opened(root) as book:
        book.sync()
    before = held(root), Path(root, "knowledge.db").stat()
    with opened(root) as book, listening(root) as heard:
        assert book.sync()[:5] == (0, 0, 0, 0, False)
    assert read(heard) == []
    assert (held(root), Path(root, "knowledge.db").stat()) == before


@pytest.mark.usefixtures("calm")
def test_a_sync_says_what_it_found(root: str, book: Notebook) -> None:
    write(root, 4)
    assert book.sync()[:5] == (4, 0, 0, 0, True)
    put(root, 5, "New")
    put(root, 2, "Changed")
    os.unlink(os.path.join(root, "memories", "003-note.md"))
    assert book.sync()[:5] == (1, 1, 1, 0, False)


def test_a_note_that_vanishes_between_listing_and_reading_is_no_trouble(
    root: str, book: Notebook
) -> None:
    """Red when a file that is gone by the time it is read fails recall or stays in the index."""
    write(root, 3)
    book.sync()
    put(root, 2, "Changed about a zebra")
    path = os.path.join(root, "memories", "002-note.md")

    def unlink(_: int, call: Call) -> None:
        if call.name == "scandir" and os.path.exists(path):
            os.unlink(path)

    with Shim(root, after=unlink):
        found = book.recall("zebra")
        assert sorted(hit.note.name for hit in found) == ["001-note.md", "003-note.md"]
    assert reasons(found) == ""
    assert sorted(names(book, "zebra")) == ["001-note.md", "003-note.md"]


def test_a_name_that_is_no_unicode_is_found_too(root: str, book: Notebook) -> None:
    """G4, G10. Red when one odd file name keeps the whole notebook out of the index."""
    write(root, 2)
    odd = os.path.join(os.fsencode(root), b"memories", b"003-\xff.md")
    Path(os.fsdecode(odd)).write_text(page(3, "Odd zebra"))
    assert sorted(names(book, "zebra")) == ["001-note.md", "002-note.md", "003-\udcff.md"]
    assert reasons(book.recall("zebra")) == ""


# Many files vanish at once


def test_files_that_vanish_together_are_silent_and_told(root: str, book: Notebook) -> None:
    """Red when the rows of a lost folder are dropped, or go on answering, without a word."""
    write(root, 20)
    book.sync()
    move(root, range(1, 13), "memories", "away")
    left = [f"{number:03d}-note.md" for number in range(13, 21)]
    assert (sorted(names(book, "zebra")), len(book.recall("zebra").missing)) == (left, 12)
    assert ("003-note.md" in names(book, own(3)), book.recall("zebra").searched) == (False, 8)
    with opened(root) as other:  # another process, which saw nothing vanish
        assert (sorted(names(other, "zebra")), len(other.recall("zebra").missing)) == (left, 12)
    move(root, range(1, 13), "away", "memories")
    assert (len(found := book.recall("zebra", 50)), len(found.missing)) == (20, 0)
    assert names(book, own(3))[0] == "003-note.md"


def test_a_missing_file_that_held_no_note_counts_once(root: str, book: Notebook) -> None:
    """Red when such a file is taken off the number of memories twice."""
    write(root, 20)
    Path(root, "memories", "001-note.md").write_text("---\nno header\n")
    book.sync()
    move(root, range(1, 13), "memories", "away")
    assert (len(found := book.recall("zebra")), found.searched) == (8, 8)


@pytest.mark.usefixtures("calm")
@pytest.mark.parametrize("then", ["nothing", "an empty folder", "articles"])
def test_a_folder_that_returns_is_not_read_again(then: str, root: str, book: Notebook) -> None:
    """Red when a folder that is away for a while costs its rows, or nobody is told."""
    write(root, 20)
    if then == "articles":
        put_article(root, "x.md", "Mortgages", "About mortgages")
    book.sync()
    memories = os.path.join(root, "memories")
    os.rename(memories, memories + "-away")
    if then == "an empty folder":
        os.mkdir(memories)
    assert (names(book, "zebra"), len(book.recall("zebra").missing)) == ([], 20)
    if then == "an empty folder":
        os.rmdir(memories)
    os.rename(memories + "-away", memories)
    with listening(root) as heard:
        assert book.sync()[:5] == (0, 0, 0, 0, False)
    assert read(heard) == []
    assert (len(found := book.recall("zebra", 50)), len(found.missing)) == (20, 0)


def test_what_is_missing_stays_so_while_other_notes_are_written(root: str, book: Notebook) -> None:
    """Red when new notes make the missing ones a minority, and so drop them without a word."""
    write(root, 20)
    book.sync()
    move(root, range(1, 13), "memories", "away")
    for number in range(31, 51):
        put(root, number, f"{own(number)} is a fact about a zebra")
        book.sync()
    assert (len(found := book.recall("zebra", 50)), len(found.missing)) == (28, 12)


def test_a_rebuild_confirms_that_the_missing_are_gone(root: str, book: Notebook) -> None:
    write(root, 20)
    book.sync()
    move(root, range(1, 13), "memories", "away")
    assert book.sync()[:5] == (0, 0, 0, 12, False)
    assert book.sync(anew=True)[:5] == (8, 0, 0, 0, True)
    assert (len(found := book.recall("zebra", 50)), len(found.missing)) == (8, 0)


@pytest.mark.parametrize(("there", "gone"), [(12, 9), (30, 15)])
def test_a_few_or_half_of_the_files_may_go_without_a_question(
    there: int, gone: int, root: str, book: Notebook
) -> None:
    write(root, there)
    book.sync()
    move(root, range(1, gone + 1), "memories", "away")
    assert book.sync()[:5] == (0, 0, gone, 0, False)


def test_what_co_itself_removed_is_not_missing(book: Notebook) -> None:
    """Red when the journal is not asked who took the files away."""
    items = [ImportItem(f"Imported fact{number} about a zebra", "old.json") for number in range(15)]
    change = book.plan_import(items).change
    assert change is not None
    book.store.commit(change)
    assert len(names(book, "zebra")) == 15
    book.undo()
    assert (names(book, "zebra"), len(book.recall("zebra").missing)) == ([], 0)


def test_the_missing_do_not_crowd_out_those_that_are_there(root: str, book: Notebook) -> None:
    """What is set aside takes nobody's place, however well it would match."""
    for number in range(1, 401):
        put(root, number, f"zebra zebra {number}")
    put(root, 401, f"A zebra {'and so on and on ' * 60}")
    book.sync()
    move(root, range(1, 401), "memories", "away")
    assert (names(book, "zebra"), len(book.recall("zebra").missing)) == (["401-note.md"], 400)


# Files that hold no note

UNREADABLE: dict[str, Callable[[str], object]] = {
    "a broken header": lambda path: Path(path).write_text("---\nid: [\n---\n\nzebra\n"),
    "an open header": lambda path: Path(path).write_text("---\nzebra\n"),
    "nothing": lambda path: Path(path).write_text(""),
    "no text": lambda path: Path(path).write_bytes(b"---\nid: 2\n---\n\n\xff\xfe zebra"),
    "too large": lambda path: os.truncate(os.open(path, os.O_CREAT | os.O_RDWR), 9 << 20),
    "a folder": os.mkdir,
    "a pipe": os.mkfifo,
    "a link": lambda path: os.symlink("001-note.md", path),
    "a link to nowhere": lambda path: os.symlink("nowhere", path),
}


@pytest.mark.parametrize("kind", UNREADABLE)
def test_a_file_without_a_note_is_known_with_its_reason_until_mended(
    kind: str, root: str, book: Notebook
) -> None:
    """G6. Red when the index forgets such a file, gives another reason, or stays with it."""
    write(root, 2)
    book.sync()
    path = os.path.join(root, "memories", "002-note.md")
    os.unlink(path)
    UNREADABLE[kind](path)
    for _ in range(2):
        assert names(book, "zebra") == ["001-note.md"]
        told = (found := book.recall("zebra")).unread
        book.notes()
        assert (told, reasons(found)) == (tuple(map(tuple, book.look().problems)), "")
        assert [one[0] for one in told] == [path]
    with opened(root) as other:
        assert tuple(other.sync().unread) == told
    os.rmdir(path) if kind == "a folder" else os.unlink(path)
    put(root, 2, "Mended zebra")
    assert (sorted(names(book, "zebra")), book.sync().unread) == (
        ["001-note.md", "002-note.md"],
        [],
    )


# Another index


def test_another_schema_is_built_into_a_new_file(
    root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Red when an index of another version is used, or written over."""
    write(root, 3)
    with opened(root) as book:
        book.sync()
        old = inode(root)
        monkeypatch.setattr(index, "SCHEMA", "co next")
        with open(os.path.join(root, "knowledge.db"), "rb") as kept:  # so is no number used again
            assert opened(root).sync()[:5] == (3, 0, 0, 0, True)
            assert inode(root) != old
            assert os.fstat(kept.fileno()).st_nlink == 0
        assert len(names(book, "zebra")) == 3


def test_another_embedder_is_asked_for_every_vector(root: str) -> None:
    """Red when vectors of two embedders meet in one index."""
    write(root, 3)
    first, second = Counting("first"), Counting("second")
    with opened(root, embedder=lambda: first) as book:
        book.sync()
    with opened(root, embedder=lambda: second) as book:
        assert book.sync()[:5] == (3, 0, 0, 0, True)
        assert len(second.asked) == 3
    with opened(root, backend="fts5") as book:
        assert book.sync()[:5] == (3, 0, 0, 0, True)
        assert (len(found := book.recall("zebra", 50)), reasons(found)) == (3, "")


def test_the_folder_holds_the_index_and_its_seal_and_no_more(root: str, book: Notebook) -> None:
    write(root, 3)
    book.recall("zebra")
    there = [name for name in os.listdir(root) if name not in ("memories", ".gitignore")]
    assert sorted(there) == ["knowledge.db", "knowledge.db-seal"]


# Vectors

PARAGRAPHS = [f"The {word} {'is told of here at some length' * 25}" for word in TEXTS[3].split()]


@pytest.mark.usefixtures("calm")
def test_a_vector_is_made_once_for_a_text(root: str) -> None:
    """Red when a renamed, touched or partly edited note is embedded anew."""
    embedder = Counting()
    write(root, 3)
    path = put(root, 4, "\n\n".join(PARAGRAPHS))
    with opened(root, embedder=lambda: embedder) as book:

        def asked() -> list[str]:
            embedder.asked.clear()
            found = book.recall("zebra")
            assert (found != [], reasons(found)) == (True, "")
            return list(embedder.asked)

        assert len(asked()) == 3 + len(PARAGRAPHS)
        os.utime(path, (1, 1))
        assert asked() == []
        put(root, 1, f"{own(1)} is a fact about a zebra", "tagged")
        assert asked() == [f"{own(1)} is a fact about a zebra (tagged)"]
        Path(path).write_text(page(4, "\n\n".join(["Another beginning", *PARAGRAPHS[1:]])))
        assert asked() == ["Another beginning"]
        os.rename(path, os.path.join(root, "memories", "004-renamed.md"))
        assert asked() == []


@pytest.mark.parametrize("what", ["documents", "query", "both"])
def test_a_failing_embedder_leaves_the_words_and_is_made_up_for(what: str, root: str) -> None:
    """Red when a failing embedder fails recall, goes untold, or leaves a note without a vector."""
    write(root, 3)
    put(root, 4, "The physician saw every patient in the afternoon")
    embedder = Counting()
    embedder.fails = lambda call: what in (call, "both")
    with opened(root, embedder=lambda: embedder) as book:
        for _ in range(2):
            assert len(found := book.recall("zebra")) == 3
            assert reasons(found).startswith("searched by words alone: the ")
        embedder.fails = lambda _: False
        now = answers(book, [*QUERIES, "doctor", "zebra"])
        assert reasons(book.recall("zebra")) == ""
        book.sync(anew=True)
        assert answers(book, [*QUERIES, "doctor", "zebra"]) == now


def test_an_embedder_that_fails_now_and_then_leaves_no_trace(root: str) -> None:
    """Red when a batch that failed leaves half of its rows."""
    embedder, dice = Counting(), random.Random(4)
    embedder.fails = lambda _: dice.random() < 0.5
    write(root, 3)
    with opened(root, embedder=lambda: embedder) as book:
        for number in range(30):
            put(root, 1 + number % 12, f"{TEXTS[number % len(TEXTS)]} {number}")
            assert names(book, f"{number}") != []
        embedder.fails = lambda _: False
        now = answers(book, QUERIES)
        book.sync(anew=True)
        assert answers(book, QUERIES) == now


def test_no_embedder_at_all_is_told(root: str) -> None:
    def unavailable() -> Counting:
        embedder = Counting()
        embedder.fails = lambda _: True
        embedder.query("")
        return embedder

    write(root, 3)
    with opened(root, embedder=unavailable) as book:
        for _ in range(2):
            assert len(found := book.recall("zebra")) == 3
            assert reasons(found) == "searched by words alone: the question stays outside"


# Filters


FILTERS = {
    "tag": (Filters(tags=("rare",)), "Common zebra words of another kind"),
    "tag in capitals": (Filters(tags=(" RARE ",)), "Common zebra words of another kind"),
    "since": (Filters(since="2027-01-01"), "Common zebra words of another kind"),
    "until": (Filters(until="2020-01-01"), "Common zebra words of another kind"),
    "kind": (Filters(kind="article"), "Common zebra words of another kind"),
}


@pytest.mark.parametrize("kind", FILTERS)
def test_filters_apply_before_the_ranking_is_cut(kind: str, root: str, book: Notebook) -> None:
    """Red when the best are picked first and filtered then."""
    for number in range(1, 501):
        put(root, number, f"zebra zebra {number}", "often")
    filters, text = FILTERS[kind]
    created = {"since": "2027-02-01T10:00:00Z", "until": "2019-02-01T10:00:00Z"}.get(kind, "")
    if kind == "kind":
        put_article(root, "501-note.md", "Horses", f"{text} zebra {'and so on ' * 100}")
    else:
        put(root, 501, f"{text} {'and so on ' * 100}", "rare", created=created)
    assert names(book, "zebra", 5, filters=filters) == ["501-note.md"]
    assert len(names(book, "zebra", 5)) == 5
    everything = Filters("memory", ("often",), "2026-01-01", "2026-01-31")
    assert len(names(book, "zebra", 50, filters=everything)) == 50


# What lies beside, and links


def forged(root: str, kind: str) -> bytes:
    """A log as SQLite would leave it beside this index, with changes that nobody made."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "knowledge.db")
        shutil.copyfile(os.path.join(root, "knowledge.db"), path)
        db = apsw.Connection(path, vfs="cksmvfs")
        db.pragma("synchronous", "off")
        if kind == "wal":
            db.pragma("journal_mode", "wal")
        db.execute("DELETE FROM terms; DELETE FROM letters; DELETE FROM bits; DELETE FROM vector")
        if kind == "journal":
            db.execute("BEGIN; INSERT INTO word VALUES('forged'); DELETE FROM file")
        data = Path(f"{path}-{kind}").read_bytes()
        db.close()
    assert len(data) > 4096
    return data


@pytest.mark.parametrize("grain", [0, 10**18])  # nothing is read again, or everything
@pytest.mark.parametrize("kind", ["wal", "journal"])
def test_a_log_that_lies_beside_is_not_believed(
    kind: str, grain: int, root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """G4. Red when SQLite may play back a log that Co did not write."""
    monkeypatch.setattr(files, "_FINE", grain)
    write(root, 20)
    with opened(root) as book:
        right = answers(book, ["zebra", own(3), *QUERIES])
    data = forged(root, kind)
    for place in ("knowledge.db", "knowledge.db-new"):
        Path(root, f"{place}-{kind}").write_bytes(data)
        for _ in range(2):
            with opened(root) as book:
                assert answers(book, ["zebra", own(3), *QUERIES]) == right
        Path(root, "knowledge.db").unlink()


@pytest.mark.parametrize("ending", ["-wal", "-shm", "-journal", "-new", "-new-wal", "-seal"])
@pytest.mark.parametrize(
    "data", [b"", b"\x37\x7f\x06\x82", os.urandom(40_000)], ids=["empty", "begun", "random"]
)
def test_rubbish_that_lies_beside_does_no_harm(ending: str, data: bytes, root: str) -> None:
    write(root, 5)
    for _ in range(2):
        Path(root, f"knowledge.db{ending}").write_bytes(data)
        with opened(root) as book:
            assert (len(found := book.recall("zebra", 50)), reasons(found)) == (5, "")


ENDINGS = ("", "-seal", "-new", "-wal", "-shm", "-journal", "-new-wal", "-new-journal")
PLACES = [f"knowledge.db{ending}" for ending in ENDINGS]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", ["file", "index", "nowhere", "folder", "a folder", "a pipe"])
def test_no_link_in_the_place_of_the_index_is_followed(
    place: str, kind: str, root: str, tmp_path: Path
) -> None:
    """G12. Red when an index, a seal or a log is opened through a link."""
    outside = tmp_path / "outside"
    write(str(outside), 2, "mortgage")
    opened(outside).sync()
    (outside / "file").write_text("mine")
    targets = {"file": "file", "index": "knowledge.db", "nowhere": "none", "folder": "memories"}
    before = {path: path.lstat() for path in outside.rglob("*")}
    write(root, 5)
    for made in (False, True):  # the first index, and then one that is there already
        path = Path(root, place)
        if made:
            opened(root).recall("zebra")
            path.unlink(missing_ok=True)
        if kind == "a folder":
            path.mkdir()
        elif kind == "a pipe":
            os.mkfifo(path)
        else:
            path.symlink_to(outside / targets[kind])

        def act(say: Say) -> None:
            signal.alarm(60)  # a pipe must not hang the whole suite
            with opened(root) as book, listening(outside) as heard:
                found = (
                    len(names(book, "zebra")),
                    names(book, "mortgage"),
                    len(last := book.recall("zebra")),
                )
                say(repr((found, heard, reasons(last)[:16])))

        ended = in_child(act)
        fine = {"", "the index cannot"}
        wanted = [repr(((5, [], 5), [], told)) for told in fine]
        assert ended.status == CLEAN, ended
        assert ended.lines[0] in wanted
        if os.path.isdir(path) and not path.is_symlink():
            path.rmdir()
    assert {path: path.lstat() for path in outside.rglob("*")} == before


# A system that refuses


def test_a_read_only_folder_is_searched_and_says_so(root: str) -> None:
    """G9. Red when recall needs to write."""
    write(root, 5)

    def refuse(_: int, call: Call) -> None:
        if call.name == "open" and call.about.startswith("knowledge.db"):
            raise OSError(30, "Read-only file system")

    with Shim(root, before=refuse), opened(root) as book:
        for _ in range(2):
            assert len(found := book.recall("zebra")) == 5
            assert found.degraded == (
                ("not kept", f"the index cannot be saved in {root} (Read-only file system)"),
            )
        put(root, 6, "Another zebra")
        assert len(names(book, "zebra")) == 6


@pytest.mark.parametrize("there", [False, True])
def test_a_full_disk_is_no_reason_not_to_answer(there: bool, root: str) -> None:
    """G9. Red when a write of SQLite that fails, anywhere, fails the recall or tears the index."""
    write(root, 20)
    if there:
        opened(root).sync()
        put(root, 21, " ".join(f"word{number} about a zebra" for number in range(3000)))
    before = held(root)
    sizes = (0, 1, 4096, 20_000, 60_000, 100_000, 200_000, 1 << 26)
    for size in sizes:

        def act(say: Say, size: int = size) -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
            try:
                with opened(root) as book:
                    say(f"{len(found := book.recall('zebra', 50))} {reasons(found)}")
            finally:
                resource.setrlimit(
                    resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
                )

        ended = in_child(act)
        count, _, why = ended.lines[0].partition(" ")
        assert (ended.status, count) == (CLEAN, str(20 + there)), ended.lines
        if size in (*sizes[:2], sizes[-1]):
            assert why[:20] == ("" if size == sizes[-1] else "the index cannot be ")
    assert held(root) == before
    assert "knowledge.db-new" not in os.listdir(root)
    with opened(root) as book:
        assert (len(found := book.recall("zebra", 50)), reasons(found)) == (20 + there, "")


def test_too_many_open_files_are_told_and_answered_as_well_as_can_be(root: str) -> None:
    """G9. Red when a refused file is taken for a note without text, or for a reason to crash."""
    write(root, 5)
    told: set[str] = set()
    for more in range(300):

        def act(say: Say, more: int = more) -> None:
            free = os.open("/", os.O_RDONLY)
            os.close(free)
            soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
            resource.setrlimit(resource.RLIMIT_NOFILE, (free + more, hard))
            try:
                book = opened(root)
                found = book.recall("zebra")
            finally:
                resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
            say(f"{len(found)} {reasons(found)[:8]}")

        ended = in_child(act)
        assert (ended.status == REFUSED and "Too many open files" in ended.lines[0]) or (
            ended.status == CLEAN and ended.lines[0].startswith("5 ")
        ), ended.lines
        told.add(ended.lines[0][:10])
        if ended.lines == ["5 "]:
            break
        with opened(root) as book:
            assert (len(found := book.recall("zebra", 50)), reasons(found)) == (5, "")
    assert told >= {"refused: D", "5 "}


def test_a_lock_that_a_stopped_process_holds_is_not_waited_for(
    root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """G3, G10. Red when recall waits for ever, or goes on saying so when the lock is free."""
    write(root, 5)
    monkeypatch.setattr(index, "PATIENCE", 0.05)

    def stop(_: Say) -> None:
        with disk.locked(os.path.join(root, "knowledge.db-seal")):
            os.kill(os.getpid(), signal.SIGSTOP)

    with opened(root) as book:
        book.sync()
        pid, reading = start_child(stop)
        try:
            os.waitpid(pid, os.WUNTRACED)
            put(root, 6, "Another zebra")
            assert len(found := book.recall("zebra")) == 6
            assert reasons(found).startswith("the index cannot be used (another Co process")
        finally:
            os.kill(pid, signal.SIGCONT)
            assert end_child(pid, reading).status == CLEAN
        assert (len(found := book.recall("zebra", 50)), reasons(found)) == (6, "")


# Several processes


def test_processes_that_edit_and_ask_at_once_agree(root: str) -> None:
    """G3. Red when the index is used without the lock, or an index that was swapped is kept."""
    processes = 4
    write(root, 5)
    os.makedirs(os.path.join(root, "articles"))

    def work(say: Say, me: int) -> None:
        with opened(root) as book:
            for step in range(12):
                word = f"word{me}x{step}"
                put(root, 100 + me, f"{word} is what {me} says about a zebra")
                found = book.recall(word)
                first = [hit.note.name for hit in found[:1]]
                if first != [f"{100 + me}-note.md"] or found.degraded:
                    say(f"{word}: {first} {reasons(found)}")
                if step % 4 == me % 4:
                    book.sync(anew=True)
                if step == 6:
                    book.close()

    def worker(me: int) -> Callable[[Say], None]:
        return lambda say: work(say, me)

    children = [start_child(worker(me)) for me in range(processes)]
    assert [end_child(*child) for child in children] == [
        type(ended)(CLEAN, []) for ended in [end_child(*start_child(lambda _: None))] * processes
    ]
    with opened(root) as book:
        compared(root, book)
        assert len(names(book, "zebra")) == 5 + processes


def test_a_writer_that_dies_at_any_call_leaves_the_next_recall_right(root: str) -> None:
    """G4. Red when an index that was not finished is believed, or blocks the next one."""
    write(root, 5)
    os.makedirs(os.path.join(root, "articles"))
    killed = 0
    for at in range(1, 400, 3):
        put(root, 6, f"{own(100 + at)} is a fact about a zebra")

        def act(_: Say, anew: bool = at % 2 == 0) -> None:
            opened(root).sync(anew=anew)

        ended = in_child(act, Shim(root, Fault("kill", at)))
        with opened(root) as book:
            assert names(book, own(100 + at))[0] == "006-note.md"
            assert (len(found := book.recall("zebra", 50)), reasons(found)) == (6, "")
        if ended.status == CLEAN:
            break
        assert ended.killed
        killed += 1
    assert killed > 10
    with opened(root) as book:
        compared(root, book)


@pytest.mark.parametrize("anew", [False, True])
def test_a_writer_that_dies_inside_a_write_leaves_the_next_recall_right(
    anew: bool, root: str
) -> None:
    """G4. Red when half a commit is believed: here the kernel kills SQLite in its write."""
    write(root, 20)
    os.makedirs(os.path.join(root, "articles"))
    opened(root).sync()
    size = os.path.getsize(os.path.join(root, "knowledge.db"))
    for step in range(4):
        body = " ".join(f"word{step}n{number} about a zebra" for number in range(3000))
        put(root, 21, body)

        def act(_: Say, limit: int = size + 4096 * (step + 1) * 3) -> None:
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
            opened(root).sync(anew=anew)

        assert in_child(act).status == -signal.SIGXFSZ
        with opened(root) as book:
            assert names(book, f"word{step}n77")[0] == "021-note.md"
            assert (len(found := book.recall("zebra", 50)), reasons(found)) == (21, "")
        put(root, 21, "Small again")
        with opened(root) as book:
            book.sync(anew=True)
    with opened(root) as book:
        compared(root, book)


# Damage


def test_a_damaged_index_answers_like_a_new_one(root: str) -> None:
    """G4. The short form of bench/durability.py. Red when a page is believed unchecked."""
    dice = random.Random(5)
    write(root, 20)
    for number, text in enumerate(TEXTS, 30):
        put(root, number, text, "preference")
    asked = ["zebra", own(3), *QUERIES[:7]]
    with opened(root) as book:
        right = answers(book, asked)
    path = Path(root, "knowledge.db")
    before = held(root)
    for trial in range(60):
        keep = opened(root)
        if trial % 3:
            assert len(names(keep, "zebra")) == 20
        damage(path if trial % 7 else Path(f"{path}-seal"), dice, trial % 4)
        with keep as book:
            assert answers(book, asked) == right, trial
            assert reasons(book.recall("zebra")) == ""
    assert held(root) == before


def test_bits_that_rot_on_the_disk_are_noticed(root: str) -> None:
    """G4. Red when pages are read without their checksums: rot leaves no time behind."""
    dice = random.Random(6)
    write(root, 20)
    path = Path(root, "knowledge.db")
    with opened(root) as book:
        right = answers(book, asked := ["zebra", own(3)])
    for trial in range(20):
        with opened(root) as book:
            assert answers(book, asked) == right, trial
            assert book.search._index is not None
            damage(path, dice, 0)
            Path(f"{path}-seal").write_bytes(book.search._index.state())
        with opened(root) as book:
            assert answers(book, asked) == right, trial


def test_an_index_that_changes_under_a_question_is_not_believed(root: str) -> None:
    """G4. Red when nobody looks, after a question, whether the index is still the same."""
    embedder = Counting()
    path = Path(root, "knowledge.db")
    write(root, 20)
    with opened(root, embedder=lambda: embedder) as book:
        for number in range(3, 21):
            os.unlink(os.path.join(root, "memories", f"{number:03d}-note.md"))
        book.sync(anew=True)
        old = path.read_bytes()
        write(root, 20)
        assert len(names(book, "zebra")) == 20

        def put_back(call: str) -> bool:
            if call == "query":
                with open(path, "r+b") as file:
                    file.write(old)
                    file.truncate()
                embedder.fails = lambda _: False
            return False

        embedder.fails = put_back
        assert (len(found := book.recall("zebra", 50)), reasons(found)) == (20, "")


def damage(path: Path, dice: random.Random, kind: int) -> None:
    """Flip bits in place, write over a part, cut off, or delete."""
    size = path.stat().st_size
    if kind < 2:
        with open(path, "r+b") as file:
            for _ in range(dice.choice([1, 2, 16])):
                file.seek(at := dice.randrange(size))
                old = file.read(1)
                file.seek(at)
                more = dice.randbytes(200) if kind else bytes([old[0] ^ 1 << dice.randrange(8)])
                file.write(more)
    elif kind == 2:
        os.truncate(path, dice.randrange(size))
    else:
        path.unlink()


def test_the_text_of_a_hit_is_what_the_file_holds(root: str, book: Notebook) -> None:
    """G4. Red when a hit is filled from the index."""
    write(root, 5)
    path = put(root, 6, "Sixth about a zebra")
    book.sync()

    def edit(_: int, call: Call) -> None:
        if call.name == "flock":  # after the folder was listed, before the index is asked
            Path(path).write_text(page(6, "Sixth about a zebra, edited"))

    with Shim(root, after=edit):
        found = {hit.note.name: hit.note.body for hit in book.recall("zebra")}
    assert found["006-note.md"] == "Sixth about a zebra, edited"
