"""What the kernel tells a notebook that stays open: no edit is missed, and no folder is listed."""

from __future__ import annotations

import gc
import os
import struct
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from handmade import listed, listening, names, opened, page, put, put_article

from co_cli.knowledge.notebook import Notebook
from co_cli.knowledge.search.watch import RESCAN, Watcher


class Clock:
    """A clock that a test moves by hand."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "watched"
    path.mkdir()
    for name in "abc":
        (path / name).write_text(name)
    return path


@pytest.fixture
def watcher(folder: Path, clock: Clock) -> Iterator[Watcher]:
    watcher = Watcher([str(folder), str(folder.parent / "later")], clock=clock)
    assert watcher.changed() is None  # nobody has looked yet
    assert watcher.changed() == set()
    yield watcher
    watcher.close()


def modify(folder: Path) -> None:
    with open(folder / "a", "r+") as file:
        file.write("b")


def modify_and_hold(folder: Path) -> None:
    held.append(os.open(folder / "a", os.O_WRONLY))
    os.write(held[-1], b"c")


held: list[int] = []
EVENTS: dict[str, tuple[Callable[[Path], object], str]] = {
    "create": (lambda folder: (folder / "new").write_text(""), "new"),
    "modify": (modify, "a"),
    "modify without closing": (modify_and_hold, "a"),
    "truncate": (lambda folder: os.truncate(folder / "a", 0), "a"),
    "touch": (lambda folder: os.utime(folder / "a"), "a"),
    "chmod": (lambda folder: (folder / "a").chmod(0o600), "a"),
    "rename": (lambda folder: (folder / "a").rename(folder / "z"), "a z"),
    "rename over": (lambda folder: (folder / "a").rename(folder / "b"), "a b"),
    "rename out": (lambda folder: (folder / "a").rename(folder.parent / "a"), "a"),
    "rename in": (lambda folder: (folder.parent / "work").rename(folder / "w"), "w"),
    "delete": (lambda folder: (folder / "a").unlink(), "a"),
    "link": (lambda folder: (folder / "l").symlink_to("a"), "l"),
    "hard link": (lambda folder: (folder / "h").hardlink_to(folder / "a"), "h"),
    "pipe": (lambda folder: os.mkfifo(folder / "p"), "p"),
    "folder": (lambda folder: (folder / "f").mkdir(), "f"),
    "odd name": (
        lambda folder: Path(os.fsdecode(os.fsencode(folder) + b"/\xff")).touch(),
        "\udcff",
    ),
    "nothing": (lambda folder: (folder / "a").read_text(), ""),
}


@pytest.mark.parametrize("kind", EVENTS)
def test_each_kind_of_edit_is_told_once(kind: str, watcher: Watcher, folder: Path) -> None:
    """Red when the kind's bit is missing in what the kernel is asked for."""
    act, wanted = EVENTS[kind]
    act(folder)
    assert watcher.changed() == {str(folder / name) for name in wanted.split()}
    assert watcher.changed() == set()
    while held:
        os.close(held.pop())
        watcher.changed()


def test_a_folder_that_appears_later_is_watched_from_then_on(
    watcher: Watcher, folder: Path
) -> None:
    """Red when a watch is only set at the start."""
    later = folder.parent / "later"
    later.mkdir()
    assert watcher.changed() is None
    (later / "x").touch()
    assert watcher.changed() == {str(later / "x")}


@pytest.mark.parametrize("times", [1, 3])
def test_a_folder_that_is_replaced_is_watched_in_its_new_shape(
    times: int, watcher: Watcher, folder: Path
) -> None:
    """Red when the watch stays with the folder that was moved away."""
    for number in range(times):
        old = folder.rename(folder.parent / f"old{number}")
        assert watcher.changed() is None
        folder.mkdir()
        (folder / "early").touch()
        assert watcher.changed() is None
        (old / "elsewhere").touch()
        (folder / "x").touch()
        assert watcher.changed() == {str(folder / "x")}


def test_a_folder_replaced_at_one_blow_is_noticed(watcher: Watcher, folder: Path) -> None:
    other = folder.parent / "other"
    other.mkdir()
    (other / "x").touch()
    folder.rename(folder.parent / "old")
    other.rename(folder)
    assert watcher.changed() is None
    (folder / "x").write_text("more")
    assert watcher.changed() == {str(folder / "x")}


def test_a_folder_that_is_deleted_and_made_again_is_watched(watcher: Watcher, folder: Path) -> None:
    for name in "abc":
        (folder / name).unlink()
    folder.rmdir()
    folder.mkdir()
    assert watcher.changed() is None
    (folder / "x").touch()
    assert watcher.changed() == {str(folder / "x")}


def test_a_folder_that_comes_back_is_watched(watcher: Watcher, folder: Path) -> None:
    """Red when a watch that the kernel dropped is thought to be there."""
    folder.rename(folder.parent / "old")
    assert watcher.changed() is None
    (folder.parent / "old").rename(folder)
    assert watcher.changed() is None
    (folder / "x").touch()
    assert watcher.changed() == {str(folder / "x")}


def test_a_link_in_the_place_of_a_folder_is_not_followed(
    watcher: Watcher, folder: Path, tmp_path: Path
) -> None:
    """G12. Red when the watch is set through a link; then all is looked at, each time."""
    folder.rename(folder.parent / "old")
    folder.symlink_to(tmp_path / "home")
    for _ in range(2):
        assert watcher.changed() is None
    (tmp_path / "home" / "x").touch()
    assert watcher.changed() is None


def test_everything_is_looked_at_now_and_then(watcher: Watcher, folder: Path, clock: Clock) -> None:
    """Red when there is no safety rescan."""
    clock.now += RESCAN - 0.1
    assert watcher.changed() == set()
    clock.now += 0.2
    (folder / "a").touch()
    assert watcher.changed() is None
    assert watcher.changed() == set()
    watcher.reset()
    assert watcher.changed() is None


def test_a_queue_that_overflowed_means_that_all_must_be_looked_at(
    watcher: Watcher, folder: Path
) -> None:
    """Red when the kernel's word that it dropped events is passed over."""
    most = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    one, two = folder / "a", folder / "b"
    for _ in range(most // 2 + 2):  # equal events in a row count once
        os.utime(one)
        os.utime(two)
    assert watcher.changed() is None
    one.touch()
    assert watcher.changed() == {str(one)}


def test_an_overflow_is_understood_between_other_events(folder: Path) -> None:
    """As the kernel writes it: number -1, no name, and events on either side."""
    watcher = Watcher([str(folder)])
    watcher.changed()
    number = next(iter(watcher._watched))
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    name = b"a".ljust(16, b"\0")
    event = struct.pack("iIII", number, 0x2, 0, 16) + name
    os.write(writing, event + struct.pack("iIII", -1, 0x4000, 0, 0) + event)
    os.close(watcher._fd)
    watcher._fd = reading
    assert watcher._drain() == ({str(folder / "a")}, True)
    os.write(writing, event)
    assert watcher._drain() == ({str(folder / "a")}, False)
    os.close(writing)
    watcher.close()


# A notebook that watches


@pytest.fixture
def root(tmp_path: Path) -> str:
    root = str(tmp_path / "k")
    for number, word in enumerate(("apple", "birch", "cedar"), 1):
        put(root, number, f"The {word} stands near a zebra")
    put_article(root, "x.md", "Horses", "All about horses, also of a zebra")
    return root


@pytest.fixture
def book(root: str) -> Iterator[Notebook]:
    with opened(root, watch=True) as book:
        assert len(names(book, "zebra")) == 4
        yield book


def rewrite(root: str, text: str = "The walnut stands near a zebra") -> None:
    with open(os.path.join(root, "memories", "001-note.md"), "r+") as file:
        file.write(page(1, text))
        file.truncate()


def place(root: str, name: str) -> str:
    return os.path.join(root, "memories", name)


def beside(root: str) -> None:
    Path(root, "draft").write_text(page(1, "The walnut stands near a zebra"))
    os.rename(os.path.join(root, "draft"), place(root, "001-note.md"))


def replaced(root: str) -> None:
    os.rename(place(root, ""), os.path.join(root, "old"))
    put(root, 9, "The walnut stands near a zebra")


HAND: dict[str, tuple[Callable[[str], object], str, str]] = {
    "create": (
        lambda root: put(root, 9, "The walnut stands near a zebra"),
        "walnut",
        "001 002 003 009 x",
    ),
    "modify": (rewrite, "walnut", "001 002 003 x"),
    "rename over": (beside, "walnut", "001 002 003 x"),
    "rename": (
        lambda root: os.rename(place(root, "001-note.md"), place(root, "101-note.md")),
        "apple",
        "101 002 003 x",
    ),
    "rename out": (
        lambda root: os.rename(place(root, "001-note.md"), os.path.join(root, "out.md")),
        "birch",
        "002 003 x",
    ),
    "delete": (lambda root: os.unlink(place(root, "001-note.md")), "birch", "002 003 x"),
    "break": (lambda root: Path(place(root, "001-note.md")).write_text(""), "birch", "002 003 x"),
    "article": (
        lambda root: put_article(root, "y.md", "Walnut", "A walnut near a zebra"),
        "walnut",
        "001 002 003 x y",
    ),
    "article gone": (
        lambda root: os.unlink(os.path.join(root, "articles", "x.md")),
        "birch",
        "001 002 003",
    ),
    "folder replaced": (replaced, "walnut", "009 x"),
}


@pytest.mark.parametrize("kind", HAND)
def test_a_watching_notebook_sees_every_edit_at_once(kind: str, root: str, book: Notebook) -> None:
    """Red when an event is not asked for, not understood, or lost on the way to the index."""
    act, word, wanted = HAND[kind]
    act(root)
    with listening(root) as heard:
        assert word in book.recall(word)[0].note.body.lower()
    assert kind == "folder replaced" or listed(heard) == []
    recalled = book.recall("zebra", 50)
    found = {hit.note.name.partition("-")[0].removesuffix(".md") for hit in recalled}
    assert found == set(wanted.split())
    assert (recalled.degraded, recalled.missing) == ((), ())


def test_an_edit_is_seen_at_once_where_the_index_cannot_be_kept(root: str) -> None:
    """Red when what the kernel told is lost with the attempt that failed."""
    os.mkdir(os.path.join(root, "knowledge.db"))
    with opened(root, watch=True) as book:
        for word in ("walnut", "maple"):
            rewrite(root, f"The {word} stands near a zebra")
            found = book.recall(word)
            assert [trouble.state for trouble in found.degraded] == ["not kept"]
            assert word in found[0].note.body


def test_two_hundred_edits_in_a_row_are_seen_one_by_one(root: str, book: Notebook) -> None:
    """Red when a recall may be one edit behind."""
    with listening(root) as heard:
        for number in range(200):
            rewrite(root, f"walnut{'abcdefghij'[number % 10]}{number:03d}")
            assert f"{number:03d}" in book.recall(f"{number:03d}")[0].note.body
    assert listed(heard) == []


def test_what_comes_back_after_a_mass_disappearance_answers_at_once(
    root: str, book: Notebook
) -> None:
    """Red when what was set aside stays so although the kernel told of its return."""
    for number in range(1, 21):
        put(root, number, f"Number {number} stands near a zebra")
    assert len(names(book, "zebra")) == 21
    away = os.path.join(root, "away")
    os.mkdir(away)
    there = [f"{number:03d}-note.md" for number in range(1, 16)]
    for name in there:
        os.rename(place(root, name), os.path.join(away, name))
    assert (len(found := book.recall("zebra", 50)), len(found.missing)) == (6, 15)
    put(root, 15, "Number 15 is written anew and stands near a zebra")
    assert (len(found := book.recall("zebra", 50)), len(found.missing)) == (7, 14)
    for name in there:
        os.rename(os.path.join(away, name), place(root, name))
    assert (len(found := book.recall("zebra", 50)), len(found.missing)) == (21, 0)


def test_a_watching_notebook_remembers_without_listing_the_folder(
    root: str, book: Notebook
) -> None:
    """Red when a save reads every note, or does not see one written by hand just before."""
    saved = book.remember("Maple syrup comes from Canada")
    assert (saved.action, saved.note.id, names(book, "maple")) == (
        "created",
        4,
        ["004-maple-syrup-comes-from-canada.md"],
    )
    put(root, 12, "The oak is older than the house")
    saved = book.remember("the oak is older than the house!")
    assert (saved.action, saved.note.id) == ("consolidated", 12)
    book.forget(12)
    assert "012-note.md" not in names(book, "oak")
    book.undo()
    assert names(book, "oak")[0] == "012-note.md"


def test_two_watching_notebooks_see_each_other(root: str, book: Notebook) -> None:
    """Red when a notebook keeps its own picture after another has synced the index."""
    with opened(root, watch=True) as other:
        for number in range(5):
            word = f"walnut{'abcde'[number] * 4}"
            saved = (book, other)[number % 2].remember(f"{word} is a kind of tree")
            for one in (book, other, book):
                assert names(one, word)[0] == saved.note.name
        other.sync(anew=True)
        put(root, 77, "Poplar in the garden")
        for one in (book, other, book):
            assert names(one, "poplar")[0] == "077-note.md"


def held_open(root: str) -> list[str]:
    """What this process holds open of a notebook, and its watches."""
    found = []
    for number in os.listdir("/proc/self/fd"):
        with suppress(FileNotFoundError):  # the folder that is being listed
            found.append(os.readlink(f"/proc/self/fd/{number}"))
    return sorted(name for name in found if root in name or "inotify" in name)


def test_closing_lets_go_of_everything(root: str) -> None:
    """Red when an index, a lock or a watch stays open."""
    gc.collect()  # what other tests left
    others = held_open(root)
    for watch in (True, False, True):
        book = opened(root, watch=watch)
        book.recall("zebra")
        book.remember(f"Saved with watch={watch}")
        book.close()
        assert book.recall("zebra") != []  # opens it again
        assert len(held_open(root)) == len(others) + 1 + watch
        book.close()
        book.close()
        assert held_open(root) == others


def test_where_nothing_can_be_watched_the_folder_is_listed_and_that_is_told(
    root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Red when the lack of a watcher fails recall, or nobody is told."""
    monkeypatch.setattr("ctypes.CDLL", lambda *_, **__: object())
    with opened(root, watch=True) as book:
        for number in range(2):
            rewrite(root, f"The walnut{number} stands near a zebra")
            found = book.recall(f"walnut{number}")
            assert found[0].note.name == "001-note.md"
            reason = "the folder cannot be watched: no file events here"
            assert found.degraded == (("not watched", reason),)
