"""When notes were last recalled, what follows for decay, and limits of single categories."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cli import co
from test_offline import begin, say

from co_cli.knowledge import Note, Notebook, Policy, use
from co_cli.knowledge.format.note import parse, timestamp
from co_cli.knowledge.summary import RECENT

START = datetime(2026, 2, 9, 12, tzinfo=UTC)
EARLY, LATER = "2026-02-09T12:30:00+00:00", "2026-02-10T08:00:00+00:00"
LONG_AGO = "2020-01-01T00:00:00+00:00"


def state() -> Path:
    return Path(os.environ["HOME"]) / ".local/state/co-cli/use"


def note(name: str, created: str = LATER, uid: str = "") -> Note:
    header = f"id: 1\ncreated: '{created}'\n" + (f"uid: {uid}\n" if uid else "")
    return parse(f"/k/memories/{name}.md", f"---\n{header}---\n\ntext\n".encode())


def filled(folder: Path, count: int, **policy: object) -> Notebook:
    """A notebook with a note an hour, by number."""
    hour = [START]
    book = Notebook(
        folder,
        policy=Policy(**policy),  # type: ignore[arg-type]
        clock=lambda: hour[0],
    )
    for number in range(1, count + 1):
        hour[0] += timedelta(hours=1)
        book.remember(f"{'abcdefghijklmnop'[number] * 9} is number {number}")
    return book


# Counting


def test_what_was_used_is_known_what_is_older_than_counting_is_unknown_the_rest_never() -> None:
    """Red when a note that nobody counted passes for one that nobody used."""
    old, new, seen = (
        note("a", LONG_AGO, "old"),
        note("b", LATER, "new"),
        note("c", LONG_AGO, "seen"),
    )
    assert [use.last_used().of(one) for one in (old, new, seen)] == ["unknown"] * 3
    use.used([seen], EARLY)
    assert [use.last_used().of(one) for one in (old, new, seen)] == ["unknown", "never", EARLY]
    use.used([seen, new, seen], LATER)
    assert [use.last_used().of(one) for one in (old, new, seen)] == ["unknown", LATER, LATER]
    assert state().read_text() == f"since {EARLY}\n{EARLY} seen\n{LATER} seen new"


def test_the_file_is_for_its_owner_and_holds_no_words() -> None:
    """Red when a note without a uid is taken down by the name of its file."""
    before = os.umask(0)
    try:
        use.used([note("tea-with-lena"), note("x", uid="'two words\\n'")], EARLY)
    finally:
        os.umask(before)
    assert stat.S_IMODE(state().stat().st_mode) == 0o600
    assert stat.S_IMODE(state().parent.stat().st_mode) == 0o700
    assert "lena" not in state().read_text()
    assert "words" not in state().read_text()
    assert use.last_used().of(note("tea-with-lena")) == EARLY


@pytest.mark.parametrize("cut", range(1, 30))
def test_a_line_that_was_cut_short_spoils_no_other(cut: int) -> None:
    """Red when a line is ended rather than begun with its break."""
    use.used([note("a", uid="first")], EARLY)
    use.used([note("b", uid="second")], EARLY)
    state().write_bytes(state().read_bytes()[:-cut])
    use.used([note("c", uid="third")], LATER)
    assert use.last_used().when["first"] == EARLY
    assert use.last_used().when["third"] == LATER


def test_a_broken_or_missing_file_says_unknown_and_stops_nothing() -> None:
    use.used([], EARLY)
    assert not state().exists()
    state().parent.mkdir(parents=True)
    state().write_bytes(b"\xff since \n since never\n2026 a\n")
    use.used([note("a", uid="a")], LATER)
    assert use.last_used() == use.Use("", {"a": LATER})
    state().unlink()
    state().mkdir()
    use.used([note("a", uid="a")], LATER)
    assert use.last_used() == use.Use("", {})


def test_the_file_stays_small_and_what_finds_no_room_becomes_unknown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Red when a note whose use was dropped passes for one that was never used."""
    monkeypatch.setattr(use, "LARGEST", 600)
    monkeypatch.setattr(use, "MOST", 3)
    notes = [note(str(n), f"2026-03-{n:02}T00:00:00+00:00", f"uid{n}") for n in range(1, 29)]
    for number, one in enumerate(notes, 1):
        use.used([one], f"2026-03-{number:02}T10:00:00+00:00")
        assert state().stat().st_size < 600 + 100
    told = [use.last_used().of(one) for one in notes]
    assert told[-1] == "2026-03-28T10:00:00+00:00"
    assert "never" not in told
    assert use.last_used().of(note("new", "2026-04-01T00:00:00+00:00", "new")) == "never"
    assert stat.S_IMODE(state().stat().st_mode) == 0o600


# Who counts


def test_a_recall_counts_and_a_list_shows_it() -> None:
    for text in ("We deploy on Tuesdays", "Lena owns billing"):
        assert co("learn", text).code == 0
    assert co("knowledge", "list", "--by", "use").out.count("unknown") == 2
    assert co("recall", "when do we deploy").code == 0
    first, second = json.loads(co("knowledge", "list", "--by", "use", "--json").out)["memories"]
    assert (first["content"], second["content"]) == ("We deploy on Tuesdays", "Lena owns billing")
    assert first["used"][:10] == datetime.now(UTC).isoformat()[:10]
    assert second["used"] == "unknown"
    assert "used" not in json.loads(co("knowledge", "list", "--json").out)["memories"][0]
    assert [line.split()[0] for line in co("knowledge", "list", "--by", "use").out.splitlines()][
        -2:
    ] == ["1", "2"]


def test_an_answer_in_a_conversation_counts_and_only_what_it_found() -> None:
    chat = begin()
    say(chat, "we deploy on Tuesdays", "Lena owns billing")
    assert use.last_used().when == {}
    say(chat, "when do we deploy?")
    deploy, lena = Notebook(".co-cli/knowledge").notes()
    told = use.last_used()
    assert deploy.uid in told.when
    assert lena.uid not in told.when


def test_a_purge_takes_the_use_of_a_note_along() -> None:
    """Red when the state folder still tells that there was such a note."""
    assert co("learn", "Lena owns billing").code == 0
    assert co("recall", "billing").code == 0
    [one] = Notebook(".co-cli/knowledge").notes()
    assert one.uid in state().read_text()
    assert co("forget", "1", "--purge", "--yes").code == 0
    assert one.uid not in state().read_text()


# Decay


def decayed(book: Notebook, category: str = "") -> list[int]:
    plan = book.plan_decay(category=category)
    return [one.id for one in plan.saved.decayed] if plan else []


def test_decay_takes_the_oldest_whatever_was_used_unless_it_is_told(tmp_path: Path) -> None:
    book = filled(tmp_path, 8, max_count=8, percentage=0.25)
    use.used([note("x", uid="begin")], timestamp(START - timedelta(days=1)))
    use.used(book.notes()[:3], LATER)
    assert decayed(book) == [1, 2]
    book.policy = book.policy._replace(order="unused")
    assert decayed(book) == [1, 4]


def test_decay_prefers_the_unused_only_among_the_oldest(tmp_path: Path) -> None:
    """G11. Red when a new memory decays because nobody had the time to recall it yet."""
    book = filled(tmp_path, 8, max_count=8, percentage=0.25, order="unused")
    use.used([note("x", uid="begin")], timestamp(START - timedelta(days=1)))
    use.used(book.notes()[:4], LATER)
    assert decayed(book) == [1, 2]


def test_what_is_older_than_counting_is_not_taken_for_unused(tmp_path: Path) -> None:
    """Red when unknown counts as never."""
    book = filled(tmp_path, 8, max_count=8, percentage=0.25, order="unused")
    use.used(book.notes()[:1], timestamp(START + timedelta(hours=2, minutes=30)))
    notes = {one.id: use.last_used().of(one)[:10] for one in book.notes()}
    assert [notes[n] for n in range(1, 5)] == ["2026-02-09", "unknown", "never", "never"]
    assert decayed(book) == [3, 4]


def test_what_was_used_decays_after_the_unknown_and_the_latest_used_last(tmp_path: Path) -> None:
    """Red when a memory that was recalled decays before one that nobody is known to have used."""
    book = filled(tmp_path, 8, max_count=8, percentage=0.25, order="unused")
    one, two, three, four = book.notes()[:4]
    use.used([one, two], "2026-03-01T08:00:00+00:00")
    assert decayed(book) == [3, 4]
    use.used([four], "2026-03-02T08:00:00+00:00")
    assert decayed(book) == [1, 3]
    use.used([three], "2026-03-03T08:00:00+00:00")
    use.used([one], "2026-03-04T08:00:00+00:00")
    assert decayed(book) == [2, 4]


# Categories


def preferring(*names: str) -> Callable[[], list[str]]:
    outs = [co("learn", f"User prefers {name}", "-t", "preference", "--keep").out for name in names]
    return lambda: outs


def test_a_save_says_that_its_category_is_full_and_saves_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CO_CLI_MEMORY_CATEGORY_LIMITS", "preference=2, decision=1")
    first, second = preferring("green tea", "wide margins")()
    assert "limit" not in first
    assert second.splitlines()[-3:] == [
        "This notebook holds 2 preference memories, with a limit of 2.",
        "`co knowledge decay --category preference` joins or archives the oldest.",
        "`co knowledge summarize --category preference` joins what belongs together and is "
        f"{RECENT} days old.",
    ]
    [third] = preferring("short meetings")()
    assert "✓ Saved memory 3" in third
    assert "holds 3 preference memories, with a limit of 2" in third
    assert "limit" not in co("learn", "Lena owns billing").out
    assert "--category decision -g" in co("learn", "-g", "We ship on Fridays", "-t", "decision").out


def test_one_category_can_decay_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CO_CLI_MEMORY_CATEGORY_LIMITS", "preference=4")
    monkeypatch.setenv("CO_CLI_MEMORY_DECAY_PERCENTAGE", "0.5")
    assert co("learn", "Lena owns billing").code == 0
    preferring("green tea", "wide margins", "short meetings")()
    done = co("knowledge", "decay", "--category", "preference", "--yes")
    assert (done.code, done.err.splitlines()[0]) == (
        1, "co: 3 of 4 preference memories: nothing needs to decay",
    )  # fmt: skip
    done = co("knowledge", "decay", "--category", "other", "--yes")
    assert done.err.startswith("co: 1 other memory: nothing needs to decay")
    preferring("odd numbers")()
    assert co("knowledge", "decay", "--category", "preference", "--yes").code == 0
    bodies = [one.body for one in Notebook(".co-cli/knowledge").notes()]
    assert bodies[:3] == [
        "Lena owns billing", "User prefers short meetings", "User prefers odd numbers",
    ]  # fmt: skip
    assert bodies[3].startswith("2 older memories")


def test_at_its_limit_a_category_is_told_only_what_helps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Red when a command is offered that does nothing, or what decayed fills another category."""
    monkeypatch.setenv("CO_CLI_MEMORY_CATEGORY_LIMITS", "preference=1, other=1")
    [first] = preferring("green tea")()
    assert "None of them can decay: there are too few, or they are protected." in first
    assert "knowledge decay" not in first
    [second] = preferring("wide margins")()
    assert "`co knowledge decay --category preference` joins" in second
    assert co("knowledge", "decay", "--category", "preference", "--yes").code == 0
    told = co("knowledge", "decay", "--category", "other", "--yes")
    assert told.err.startswith("co: 0 of 1 other memory: nothing needs to decay")
    assert "holds 1 other memory, with a limit of 1" in co("learn", "Lena owns billing").out


def test_a_project_may_limit_the_categories_of_its_own_notebook() -> None:
    assert co("init").code == 0
    Path(".co-cli/settings.json").write_text('{"memory_category_limits": "preference=1"}')
    assert co("trust", "--yes").code == 0
    assert "limit of 1" in preferring("green tea")()[0]
    assert "limit of 1" not in co("learn", "-g", "User prefers tea", "-t", "preference").out


@pytest.mark.parametrize(
    "text", ["preferences=5", "preference=0", "preference", "pattern=5;decision=2", "a=1,"]
)
def test_a_limit_for_no_category_is_an_error(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """Red when a misspelt category is a limit that never holds."""
    monkeypatch.setenv("CO_CLI_MEMORY_CATEGORY_LIMITS", text)
    done = co("knowledge", "list")
    assert done.code == 1
    assert 'must be "CATEGORY=COUNT, …" with preference, correction' in done.err
