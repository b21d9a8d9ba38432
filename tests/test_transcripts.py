"""Conversations are kept whole, privately, and until a purge: then not a word of them is left."""

from __future__ import annotations

import errno
import json
import os
import random
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cli import Terminal, co, in_time
from faults import Fault, PowerCut, Say, Shim, end_child, in_child, start_child
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from co_cli.agent.history import with_summary
from co_cli.chat import mentions, transcripts
from co_cli.chat.transcripts import MAX_FILE, MAX_LINE, Conversation, Transcript
from co_cli.errors import Ambiguous, CoError, DiskTrouble, FormatError, NotFound

NOON = datetime(2026, 11, 15, 14, 5, 33, tzinfo=UTC)
ROOT = Path(__file__).resolve().parent.parent
STARTED = "2026-11-15T14:05:33+00:00"


def clock() -> datetime:
    return NOON


def folder() -> Path:
    return Path(os.environ["HOME"], ".local/state/co-cli/transcripts")


def begun(project: str = ".") -> Transcript:
    return Transcript(project, clock)


def request(text: str) -> dict[str, Any]:
    """A message as far as a transcript knows one."""
    return {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": text}]}


def kept(*texts: str, project: str = ".", ago: float = 0) -> Transcript:
    """A conversation of these turns, last spoken in so many days ago."""
    talk = begun(project)
    for text in texts:
        talk.write(said=text)
        talk.write(turn=[request(text)])
    when = (NOON - timedelta(days=ago)).timestamp()
    os.utime(talk.path, (when, when))
    return talk


def put(data: bytes, name: str = "20261115T140533Z-aaaa.jsonl") -> str:
    """A file that looks like a transcript."""
    folder().mkdir(parents=True, exist_ok=True)
    path = folder() / name
    path.write_bytes(data)
    return str(path)


def header(project: str = "") -> bytes:
    real = os.path.realpath(project or ".")
    return json.dumps({"co": 2, "project": real, "started": STARTED}).encode() + b"\n"


def mentioning(texts: list[str], names: Iterable[str] = ()) -> list[str]:
    """The conversations that a purge of these words would offer to remove."""
    certain, likely = mentions.about((), texts, names)
    return sorted([*certain, *likely])


def bad(path: str) -> int:
    """How many lines of a conversation cannot be read; an empty one ends a writer's broken line."""
    lines = filter(None, Path(path).read_bytes().splitlines())
    return sum(not transcripts._record(line) for line in lines)


def files() -> list[str]:
    return sorted(path.name for path in folder().iterdir()) if folder().exists() else []


# Writing


def test_a_chat_in_which_nothing_is_said_leaves_nothing() -> None:
    begun()
    assert not folder().exists()


def test_a_conversation_is_a_file_of_json_lines_named_by_its_start() -> None:
    talk = begun()
    talk.write(said="hello ☕")
    talk.write(turn=[request("hello ☕")])
    talk.write(external=["https://example.org"])
    (name,) = files()
    assert name.startswith("20261115T140533Z-")
    assert transcripts._NAME.fullmatch(name)
    lines = [json.loads(line) for line in (folder() / name).read_text().splitlines()]
    assert lines == [
        {"co": 2, "project": str(Path.cwd()), "started": STARTED},
        {"said": "hello ☕"},
        {"turn": [request("hello ☕")]},
        {"external": ["https://example.org"]},
    ]


@pytest.mark.parametrize("umask", [0, 0o022, 0o277])
def test_only_the_owner_can_read_a_conversation_whatever_the_umask(umask: int) -> None:
    """Red when the files' privacy is left to the umask."""
    if umask & 0o700:  # then a folder made now could not be written to
        kept("before")
    before = os.umask(umask)
    try:
        talk = begun()
        talk.write(said="hello")
    finally:
        os.umask(before)
    modes = [stat.S_IMODE(os.stat(path).st_mode) for path in (talk.path, folder(), folder().parent)]
    assert modes[:2] == [0o600, 0o700]
    assert modes[2] & 0o077 == 0


def test_a_folder_that_others_could_read_is_closed_to_them() -> None:
    folder().mkdir(parents=True)
    folder().chmod(0o755)
    kept("hello")
    assert stat.S_IMODE(folder().stat().st_mode) == 0o700


def test_a_folder_that_is_a_link_is_not_written_to(tmp_path: Path) -> None:
    folder().parent.mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir(mode=0o755)
    folder().symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DiskTrouble):
        begun().write(said="hello")
    assert list((tmp_path / "elsewhere").iterdir()) == []
    assert stat.S_IMODE((tmp_path / "elsewhere").stat().st_mode) == 0o755
    assert transcripts.recent(".", 5) == []


def test_the_framework_is_not_loaded_to_keep_a_conversation() -> None:
    code = "import sys, co_cli.chat.transcripts; print('pydantic_ai' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, cwd=ROOT, check=True)
    assert done.stdout == b"False\n"


def test_a_turn_too_long_to_be_read_again_is_not_kept_and_said_to_be() -> None:
    talk = kept("hello")
    with pytest.raises(DiskTrouble, match="too long"):
        talk.write(turn=[request("x" * MAX_LINE)])
    talk.write(turn=[request("short")])
    assert transcripts.load(talk.path).turns == 2


def test_a_full_transcript_says_so_once_and_stays_readable() -> None:
    talk = kept("hello")
    os.truncate(talk.path, MAX_FILE - 10)
    with pytest.raises(DiskTrouble, match="is full"):
        talk.write(said="more")
    talk.write(said="more")
    assert os.stat(talk.path).st_size == MAX_FILE - 10
    assert transcripts.load(talk.path).said == ["hello"]


def test_a_conversation_purged_while_it_goes_on_stays_away() -> None:
    """Red when what follows, which may repeat the purged text, is written to a new file."""
    talk = kept("the vault opens at noon")
    transcripts.remove(mentioning(["The vault opens at noon"]))
    assert files() == []
    with pytest.raises(DiskTrouble, match="was removed"):
        talk.write(turn=[request("as I said, the vault opens at noon")])
    talk.write(working=[request("the vault opens at noon")])
    assert files() == []


# Reading


def dumped(messages: list[ModelMessage]) -> list[Any]:
    plain: list[Any] = ModelMessagesTypeAdapter.dump_python(messages, mode="json")
    return plain


def test_a_conversation_goes_on_from_where_it_was() -> None:
    """Red when a resumed history differs in anything from the one that was left."""
    first: list[ModelMessage] = [
        ModelRequest([UserPromptPart("what do I like? ☕")], instructions="Be brief."),
        ModelResponse([ToolCallPart("recall_memory", '{"query": "likes"}', "1")]),
        ModelRequest(
            [ToolReturnPart("recall_memory", {"count": 1}, "1", metadata={"external": ["a.pdf"]})]
        ),
        ModelResponse([TextPart("Tea.")], model_name="test"),
    ]
    second: list[ModelMessage] = [ModelRequest([UserPromptPart("more")])]
    short = with_summary("They like tea.", first[-1:], ["a.pdf"])
    talk = begun()
    talk.write(turn=dumped(first))
    talk.write(external=["a.pdf"])
    again = Transcript(".", clock, talk.path)
    again.write(working=dumped(short))
    again.write(external=["b.pdf", "a.pdf"])
    again.write(turn=dumped(second))
    found = transcripts.load(talk.path)
    assert ModelMessagesTypeAdapter.validate_python(found.messages) == [*short, *second]
    assert replace(found, messages=[]) == Conversation(
        id=os.path.basename(talk.path)[:-6],
        path=talk.path,
        started=STARTED,
        external={"a.pdf": None, "b.pdf": None},
        turns=2,
    )
    assert len(files()) == 1


@example(["\ud800", "caf\udce9", "a\r\u2028b\0\n"])
@given(st.lists(st.text(st.characters(exclude_categories=()))))
def test_whatever_is_typed_is_read_again_to_the_letter(texts: list[str]) -> None:
    """Half characters, line breaks of every kind and NUL included."""
    data = b"".join(transcripts._line({"said": text}) for text in texts)
    assert transcripts.load(put(data)).said == texts


def test_a_torn_last_line_is_passed_over_and_never_glued_to_the_next() -> None:
    talk = kept("one", "two")
    whole = Path(talk.path).read_bytes()
    for cut in range(1, len(whole.splitlines()[-1]) + 1):
        Path(talk.path).write_bytes(whole[:-cut])
        torn = transcripts.load(talk.path)
        assert (torn.turns, bad(talk.path)) == ((1, 1) if cut > 1 else (2, 0))
        Transcript(".", clock, talk.path).write(turn=[request("three")])
        after = transcripts.load(talk.path)
        assert after.messages == [*torn.messages, request("three")]
        assert bad(talk.path) == (1 if cut > 1 else 0)


HOSTILE = {
    "deep": b"[" * 100_000,
    "deep turn": b'{"turn": ' + b'[{"kind": "request", "parts": ' * 50_000,
    "NUL": b'{"said": "a\0b"}',
    "only NUL": b"\0" * 1000,
    "no UTF-8": b'{"said": "\xff\xfe"}',
    "a list": b"[1, 2, 3]",
    "a number": b"5",
    "a long number": b'{"said": ' + b"9" * 10_000 + b"}",
    "said is no text": b'{"said": ["x"]}',
    "turn is no list": b'{"turn": {"kind": "request", "parts": []}}',
    "turn of no messages": b'{"turn": [[], "x", null]}',
    "message without parts": b'{"turn": [{"kind": "request"}]}',
    "message of another kind": b'{"working": [{"kind": "system", "parts": []}]}',
    "origins are no texts": b'{"external": [1, {}]}',
    "model is no text": b'{"model": null}',
    "header of another shape": b'{"co": "x", "project": 5, "started": null}',
    "something new": b'{"colour": "blue"}',
    "huge": b'{"said": "' + b"x" * MAX_LINE + b'"}',
}


@pytest.mark.parametrize("line", HOSTILE.values(), ids=HOSTILE)
def test_a_line_that_cannot_be_read_is_passed_over_and_the_rest_is_read(line: bytes) -> None:
    talk = kept("one")
    with open(talk.path, "ab") as file:
        file.write(line + b"\n")
    Transcript(".", clock, talk.path).write(turn=[request("two")])
    with in_time(10):
        found = transcripts.load(talk.path)
        assert transcripts.recent(".", 1)[0].turns == 2
        assert transcripts.said_before(".") == ["one"]
        assert mentioning(["something else entirely"]) == []
    assert found.messages == [request("one"), request("two")]
    assert (found.said, found.external) == (["one"], {})


def test_a_first_line_that_cannot_be_read_gives_the_file_to_no_project() -> None:
    path = put(b"{broken\n" + b'{"said": "hello"}\n')
    assert transcripts.load(path).said == ["hello"]
    assert transcripts.recent(".", 5) == []
    assert mentioning(["hello"]) == [path]


@pytest.mark.parametrize("data", [b"\n" * MAX_FILE, b"x\n" * (MAX_FILE // 2)])
def test_a_file_of_nothing_but_lines_takes_no_time(data: bytes) -> None:
    path = put(header() + data[: MAX_FILE - 1000])
    with in_time(20):
        assert transcripts.load(path).messages == []
        assert transcripts.said_before(".") == []
        assert mentioning(["the vault"]) == []


def test_what_is_no_transcript_is_left_alone(tmp_path: Path) -> None:
    """Links, pipes, folders, other names, too large: not read, not pruned, not purged."""
    talk = kept("the vault opens at noon", ago=400)
    other = tmp_path / "other.jsonl"
    other.write_bytes(Path(talk.path).read_bytes())
    (folder() / "20260101T000000Z-link.jsonl").symlink_to(other)
    os.mkfifo(folder() / "20260101T000000Z-pipe.jsonl")
    (folder() / "20260101T000000Z-dirs.jsonl").mkdir()
    (folder() / "20260101T000000Z-hole.jsonl").symlink_to("20260101T000000Z-hole.jsonl")
    put(other.read_bytes(), "notes.jsonl")
    put(other.read_bytes(), "20260101T000000Z-aaaa.jsonl.bak")
    large = put(other.read_bytes(), "20260101T000000Z-huge.jsonl")
    os.truncate(large, MAX_FILE + 1)
    for path in folder().iterdir():
        os.utime(path, (0, 0), follow_symlinks=False)
    os.utime(large)
    before = files()
    with in_time(20):
        assert [one.path for one in transcripts.recent(".", 9)] == [talk.path]
        assert transcripts.said_before(".") == ["the vault opens at noon"]
        assert mentioning(["the vault opens at noon"]) == [talk.path]
        transcripts.prune(NOON)
    assert files() == [name for name in before if name != os.path.basename(talk.path)]
    for name, why in [("pipe", "a pipe"), ("link", "symbolic link"), ("huge", "larger than 64")]:
        with pytest.raises(FormatError, match=why):
            transcripts.load(str(folder() / f"20260101T000000Z-{name}.jsonl"))
    with pytest.raises(NotFound):
        transcripts.load(str(folder() / "20260101T000000Z-none.jsonl"))


# Crashes


def writing(say: Say) -> None:
    """A conversation that tells after each turn that it is kept."""
    talk = begun()
    for number in range(4):
        talk.write(turn=[request(f"turn {number}")])
        say(str(number))


def loaded() -> list[str]:
    """The turns that are kept, whatever else lies there."""
    paths = [str(folder() / name) for name in files()]
    found = [transcripts.load(path) for path in paths]
    assert all(bad(path) <= 1 for path in paths)
    return [message["parts"][0]["content"] for one in found for message in one.messages]


def emptied() -> None:
    for name in files():
        (folder() / name).unlink()


@pytest.mark.parametrize("partial", [False, True])
def test_a_process_killed_at_any_point_loses_at_most_its_last_line(partial: bool) -> None:
    """Red when a line is told to be kept before it is, or a torn one hides others."""
    for at in range(1, 200):
        emptied()
        shim = Shim(folder().parent, Fault("kill", at, partial=partial), sync=False)
        ended = in_child(writing, shim)
        turns = [f"turn {number}" for number in range(4)]
        assert loaded() in (turns[: len(ended.lines)], turns[: len(ended.lines) + 1])
        if not ended.killed:
            break
    assert at > 4
    assert not ended.killed


def test_a_process_killed_from_outside_loses_at_most_its_last_line() -> None:
    chance = random.Random(5)

    def endless(say: Say) -> None:
        talk = begun()
        for number in range(1_000_000):
            talk.write(turn=[request("x" * chance.randrange(100_000))])
            say(str(number))

    for _ in range(10):
        emptied()
        pid, reading = start_child(endless)
        wanted, seen = chance.randrange(1, 30), b""
        while seen.count(b"\n") < wanted:
            seen += os.read(reading, 4096)
        os.kill(pid, signal.SIGKILL)
        ended = end_child(pid, reading)
        acknowledged = seen.count(b"\n") + len(ended.lines)
        assert ended.killed
        assert len(loaded()) in (acknowledged, acknowledged + 1)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EROFS, errno.EMFILE])
@pytest.mark.parametrize("partial", [False, True])
def test_what_the_disk_refuses_is_told_and_the_next_line_is_kept(
    number: int, partial: bool
) -> None:
    """G9. Red when an error escapes unexplained, or half a line spoils the one after it."""
    for at in range(1, 200):
        emptied()
        done: list[str] = []
        refusals = 0
        talk = begun()
        with Shim(folder().parent, Fault("fail", at, number, partial=partial), sync=False) as shim:
            for text in ("one", "two", "three"):
                try:
                    talk.write(turn=[request(text)])
                except DiskTrouble:
                    refusals += 1
                else:
                    done.append(text)
        assert [text for text in loaded() if text in done] == done
        assert refusals <= 1
        assert len(files()) <= 1
        if not shim.reached:
            break
    assert at > 3
    assert done == ["one", "two", "three"]


def test_what_was_acknowledged_survives_a_power_cut(tmp_path: Path) -> None:
    """G1. Red when a line, or the name of the file, is not synced before it is told."""
    state = Path(os.environ["HOME"])
    cut = PowerCut(state)
    with cut:
        talk = begun()
        for number in range(3):
            talk.write(turn=[request(f"turn {number}")])
            cut._busy = True
            cut.lay_out(str(tmp_path / f"after{number}"))
            cut._busy = False
            (left,) = (tmp_path / f"after{number}").rglob("*.jsonl")
            assert transcripts.load(str(left)).turns == number + 1
    cut.release()


def test_two_processes_keep_two_conversations_and_can_share_one() -> None:
    shared = kept("start")

    def speak(name: str) -> Callable[[Say], None]:
        def run(_say: Say) -> None:
            own, ours = begun(), Transcript(".", clock, shared.path)
            for number in range(50):
                own.write(turn=[request(f"{name} {number}")])
                ours.write(turn=[request(f"{name} {number} " + "x" * 20_000)])

        return run

    children = [start_child(speak(name)) for name in ("a", "b")]
    assert [end_child(*child).status for child in children] == [0, 0]
    talks = {path: transcripts.load(path) for path in (str(folder() / name) for name in files())}
    assert sorted(talk.turns for talk in talks.values()) == [50, 50, 101]
    assert [bad(path) for path in talks] == [0, 0, 0]


# Finding


def test_conversations_are_listed_by_when_they_were_last_spoken_in(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "same").symlink_to(Path.cwd())
    old = kept("first words", "more", "and more", ago=3)
    new = kept("later words", ago=1)
    linked = kept("through a link", project=str(tmp_path / "same"), ago=2)
    kept("elsewhere", project=str(tmp_path / "other"))
    begun().write(said="/quit")
    found = transcripts.recent(".", 10)
    assert [one.path for one in found] == [new.path, linked.path, old.path]
    said = ["first words", "more", "and more"]
    assert found[2] == Conversation(
        id=os.path.basename(old.path)[:-6],
        path=old.path,
        started=STARTED,
        messages=[request(text) for text in said],
        said=said,
        turns=3,
    )
    assert transcripts.recent(str(tmp_path / "same"), 2) == found[:2]
    assert transcripts.find(".", "latest") == found[0]
    Transcript(".", clock, old.path).write(turn=[request("again")])
    os.utime(old.path)
    assert transcripts.find(".", "latest").path == old.path


def test_a_conversation_is_found_by_the_beginning_of_its_name() -> None:
    with pytest.raises(NotFound, match="no earlier conversation"):
        transcripts.find(".", "latest")
    with pytest.raises(NotFound) as none:
        transcripts.find(".", "k3fq")
    assert none.value.hint == "There are none in this project yet."
    turn = json.dumps({"turn": [request("hi")]}).encode()
    for name in ("20261115T140533Z-k3fq", "20261115T140533Z-k3zz", "20250101T000000Z-aaaa"):
        put(header() + turn + b'\n{"said": "hi \\u001b[2J\\nthere"}\n', f"{name}.jsonl")
    assert transcripts.find(".", "2025").id == "20250101T000000Z-aaaa"
    assert transcripts.find(".", "k3f").id == "20261115T140533Z-k3fq"
    assert transcripts.find(".", "20261115T140533Z-k3zz").id == "20261115T140533Z-k3zz"
    with pytest.raises(Ambiguous, match="2 conversations begin with '2026'") as several:
        transcripts.find(".", "2026")
    assert "k3fq" in several.value.hint
    assert len(several.value.hint.splitlines()) == 3
    for missing in ("zzzz", "", "../../etc", "*"):
        with pytest.raises(NotFound, match="there is no conversation") as nothing:
            transcripts.find(".", missing)
        assert "20250101T000000Z-aaaa" in nothing.value.hint


def test_what_was_typed_is_found_again_newest_first_and_once(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    kept("one", "two", "one", "three\nlines", ago=2)
    kept("two", "/help", ago=1)
    kept("secret elsewhere", project=str(tmp_path / "other"))
    assert transcripts.said_before(".") == ["/help", "two", "three\nlines", "one"]
    assert transcripts.said_before(".", limit=3) == ["/help", "two", "three\nlines"]
    assert transcripts.said_before("/") == []


def test_conversations_untouched_for_90_days_are_removed() -> None:
    kept("old", ago=91)
    recent = kept("recent", ago=89)
    ahead = kept("from a clock that ran ahead", ago=-400)
    for _ in range(2):
        transcripts.prune(NOON)
        assert files() == sorted(os.path.basename(talk.path) for talk in (recent, ahead))
    transcripts.prune(NOON, days=30)
    assert files() == [os.path.basename(ahead.path)]


def test_there_may_be_no_conversations_at_all() -> None:
    assert transcripts.recent(".", 5) == []
    assert transcripts.said_before(".") == []
    assert mentioning(["x"]) == []
    transcripts.remove(mentioning(["x"]))
    transcripts.prune(NOON)
    assert files() == []


# Purging

NOTE = 'The vault\'s "inner" door opens\nat NOON in Café Straße.'
SAME = 'the  vault\'s "inner" door opens at noon in cafe\u0301 STRASSE'
HOLDING: dict[str, Any] = {
    "as it is": NOTE,
    "in a sentence": f"Sure: {NOTE} Anything else?",
    "in another case and spacing": SAME,
    "as arguments": {"args": {"content": NOTE}},
    "as arguments that are text": {"args": json.dumps({"content": NOTE})},
    "as arguments cut off": {"args": json.dumps({"content": NOTE})[:-3]},
    "twice wrapped": json.dumps(json.dumps([NOTE])),
    "as a name": {NOTE: 1},
    "with Windows lines": NOTE.replace("\n", "\r\n"),
}


@pytest.mark.parametrize("value", HOLDING.values(), ids=HOLDING)
def test_a_conversation_that_holds_a_note_s_words_is_found(value: Any) -> None:
    talk, other = begun(), kept("the vault opens at noon")
    talk.write(turn=[{"kind": "response", "parts": [value]}])
    assert mentioning([NOTE]) == [talk.path]
    transcripts.remove(mentioning([NOTE]))
    assert files() == [os.path.basename(other.path)]


@pytest.mark.parametrize("cut", [0, 1])
def test_backslashes_are_read_as_json_means_them(cut: int) -> None:
    talk = begun()
    text = "It is in C:\\data" if cut else "It is in C:\\new"
    args = json.dumps({"content": text})
    talk.write(turn=[{"kind": "response", "parts": [{"args": args[: len(args) - cut]}]}])
    assert mentioning([text]) == [talk.path]


@pytest.mark.parametrize("cut", [0, 1, 2, 5])
def test_a_torn_line_is_looked_through_as_it_stands(cut: int) -> None:
    line = transcripts._line({"turn": [{"args": json.dumps({"content": NOTE})}]})
    path = put(header() + line[: len(line) - cut])
    assert mentioning([NOTE]) == [path]


@pytest.mark.parametrize(
    ("text", "said", "held"),
    [
        ("likes tea", "She likes tea.", True),
        ("likes tea", "She likes teapots", False),
        ("likes tea", "dislikes tea", False),
        ("likes tea.", "likes tea and cake", True),
        ("-1", "x-1", True),
        ("C++", "we use c++!", True),
        ("C", "we use C++ here", True),
        ("我喜欢茶", "因为我喜欢茶所以", True),
        ("pytest", "使用pytest进行", True),
        ("Tee", "Teeé", False),
        ("C:\\new dir", "it is in C:\\new dir now", True),
        ("!!!", "wow!!!", True),
        ("", "anything", False),
        (" \n", "any thing", False),
    ],
)
def test_words_are_whole_where_a_script_has_words(text: str, said: str, held: bool) -> None:
    kept(said)
    assert bool(mentioning([text])) == held


def test_a_conversation_is_found_by_the_name_of_the_note_s_file() -> None:
    talk = begun()
    talk.write(turn=[request("/home/ada/shop/.co-cli/knowledge/memories/005-user-prefers.md")])
    for name, held in [("005-user-prefers.md", 1), ("05-user-prefers.md", 0), ("005-user.md", 0)]:
        assert len(mentioning([], {name})) == held


def test_a_disk_that_will_not_say_is_no_no() -> None:
    """Red when a purge passes over a conversation that could not be read."""
    talk = kept("the vault opens at noon")
    for number in (errno.EIO, errno.EACCES, errno.EMFILE):
        for at in range(1, 50):
            found: list[str] | None = None
            with Shim(folder(), Fault("fail", at, number)) as shim:
                try:
                    found = mentioning(["the vault opens at noon"])
                except CoError:
                    continue
            assert found == [talk.path]
            if not shim.reached:
                break
        assert at > 2


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    """A note, conversations about it here and elsewhere, and one about something else."""
    (tmp_path / "other").mkdir()
    assert co("learn", "The vault opens at noon").code == 0
    assert co("learn", "Bears eat honey").code == 0
    kept("remember that the vault opens  at NOON!")
    kept("when does it open?", "001-the-vault-opens-at-noon.md", project=str(tmp_path / "other"))
    return Path(kept("the vault is closed; bears eat honey").path)


def holding(word: str) -> list[Path]:
    home = Path(os.environ["HOME"])
    found = [path for top in (home, Path.cwd()) for path in top.rglob("*") if path.is_file()]
    return [path for path in found if word in path.read_text(errors="replace").lower()]


def test_a_purge_takes_the_conversations_that_hold_the_memory(vault: Path) -> None:
    """G8. Red when a conversation, of this project or another, keeps what was purged."""
    done = co("forget", "1", "--purge", "--yes")
    assert done.code == 0
    assert done.out.startswith("✓ Purged memory 1: 1 copy, 2 conversations removed.\n")
    assert files() == [vault.name]
    assert holding("noon") == []
    assert co("forget", "2", "--purge", "--yes", "--json").code == 0
    assert files() == []


def test_a_purge_names_how_many_conversations_hold_the_memory(vault: Path) -> None:
    with Terminal("forget", "1", "--purge") as terminal:
        terminal.expect(
            'Remove memory 1 (1 copy, 2 conversations) for good: "The vault opens at noon"?'
        )
        terminal.type("n\n")
        assert terminal.end().code == 1
    assert len(files()) == 3
    assert vault.name in files()


def test_a_purge_removes_conversations_before_the_words_to_find_them_by(tmp_path: Path) -> None:
    """G8. Red when a purge that is cut short leaves conversations that a repeat cannot find."""
    assert co("learn", "The vault opens at noon").code == 0
    kept("the vault opens at noon")
    with Shim(tmp_path) as shim:
        assert co("forget", "1", "--purge", "--yes").code == 0
    gone = [call.about for call in shim.calls if call.name == "unlink"]
    first = next(about for about in gone if ".lock" not in about and "tmp" not in about)
    assert "transcripts/" in first
    assert sum("memories/001-" in about for about in gone) == 1


def test_a_forgotten_memory_and_a_protected_one_leave_conversations_alone(vault: Path) -> None:
    assert co("knowledge", "protect", "1").code == 0
    assert co("forget", "1", "--purge", "--yes").code == 1
    assert co("forget", "2").code == 0
    assert len(files()) == 3
    assert vault.exists()


def test_a_purge_looks_for_the_words_that_a_memory_had_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """G8. Red when only the words that the note has now are looked for."""
    assert co("learn", "The vault opens at noon").code == 0
    monkeypatch.setenv("EDITOR", "sed -i s/noon/nine/")
    assert co("knowledge", "edit", "1").code == 0
    kept("the vault opens at noon")
    kept("the vault opens at nine")
    assert co("forget", "1", "--purge", "--yes").code == 0
    assert files() == []


@pytest.mark.parametrize("tags", ["", "tags: [ops]\n"])
def test_a_purge_looks_for_words_that_only_a_summary_holds(tags: str) -> None:
    """G8. Red when a note that decay took in, and the archive lost, is not looked for."""
    memories = Path(".co-cli/knowledge/memories")
    memories.mkdir(parents=True)
    for number, text in [(1, "The vault opens at noon"), (2, "Bears eat honey")]:
        head = f'---\nid: {number}\ncreated: "2026-02-09T14:30:00Z"\n{tags}---\n\n'
        (memories / f"{number:03d}-x.md").write_text(f"{head}{text}\n")
    assert co("knowledge", "decay", "--force", "--yes").code == 0
    for path in Path(".co-cli/knowledge/archive").rglob("00*.md"):
        path.unlink()
    kept("I know that the vault opens at noon, thanks")
    bears = kept("bears eat honey")
    assert co("forget", "1", "--purge", "--yes").code == 0
    assert files() == [os.path.basename(bears.path)]


def test_a_file_name_that_says_nothing_counts_only_with_its_whole_path(tmp_path: Path) -> None:
    """Red when purging 001-note.md here takes conversations about another project's 001-note.md."""
    (tmp_path / "other").mkdir()
    assert co("learn", "茶が好きです").code == 0
    here = Path(".co-cli/knowledge/memories/001-note.md").resolve()
    kept(f"saved as {here}")
    theirs = kept("saved as /elsewhere/memories/001-note.md", project=str(tmp_path / "other"))
    assert co("forget", "1", "--purge", "--yes").code == 0
    assert files() == [os.path.basename(theirs.path)]


def test_what_was_typed_is_told_in_a_line_without_what_drives_a_terminal() -> None:
    said = "\x1b[31mwe deploy\x1b[0m\n  on\x1b]0;title\x07 Mondays\x1b[<0;1;1M, " + "word " * 40
    told = transcripts.in_a_line(said)
    assert told.startswith("we deploy on Mondays, word word")
    assert (len(told) <= 60, told[-2:], told.isprintable()) == (True, "d…", True)
