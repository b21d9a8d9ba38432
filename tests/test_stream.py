"""An answer on the screen: complete blocks stay, and nothing in it drives the terminal."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from co_cli.chat.stream import StreamView, split


def spoken(*pieces: str, width: int = 60) -> str:
    """What is left on a page after these pieces."""
    console = Console(file=io.StringIO(), width=width, highlight=False)
    with StreamView(console) as speech:
        for piece in pieces:
            speech.words(piece)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.mark.parametrize(
    ("text", "done", "rest"),
    [
        ("one line", "", "one line"),
        ("one\n\ntwo", "one\n\n", "two"),
        ("one\n\ntwo\n\n", "one\n\ntwo\n\n", ""),
        ("```py\na\n\nb", "", "```py\na\n\nb"),
        ("```py\na\n\nb\n```\nafter", "```py\na\n\nb\n```\n", "after"),
        ("````\n```\n\n````\nx", "````\n```\n\n````\n", "x"),
        ("~~~\n```\n\n~~~\nx", "~~~\n```\n\n~~~\nx"[:-1], "x"),
    ],
)
def test_a_text_is_split_where_a_block_is_complete(text: str, done: str, rest: str) -> None:
    assert split(text) == (done, rest)


@given(st.text(alphabet="ab `~\n", max_size=80))
def test_splitting_loses_nothing(text: str) -> None:
    done, rest = split(text)
    assert done + rest == text


def test_words_come_out_once_and_in_order() -> None:
    shown = spoken("Hel", "lo **you**.\n", "\nSecond", " part")
    assert shown.split() == ["Hello", "you.", "Second", "part"]


def test_a_block_stands_apart_and_a_line_stays_a_line() -> None:
    """Red when two paragraphs run together, or the lines of a confirmation do."""
    shown = spoken("✓ Forgot memory 1\n", "/restore 1 brings it back\n\n", "- a\n- b\n\n", "Bye.")
    assert shown == ("✓ Forgot memory 1\n/restore 1 brings it back\n\n • a\n • b\n\nBye.\n")


def test_no_row_is_filled_up_to_the_edge() -> None:
    """Red when a narrower screen makes two rows of every one."""
    shown = spoken("# Title\n\nword " + "long " * 30 + "\n\n- item\n\n> quoted\n", width=40)
    assert max(map(len, shown.split("\n"))) < 40
    assert not any(row.endswith("  ") for row in shown.split("\n"))


def test_console_markup_in_an_answer_is_only_text() -> None:
    assert "[link=http://evil]x[/link] [/etc/passwd]" in spoken(
        "[link=http://evil]x[/link] [/etc/passwd]"
    )


@pytest.mark.parametrize(
    "bad", ["\x1b[2J", "\x1b]0;title\x07", "\r", "\x9b31m", "\u202e", "\u200b"]
)
def test_nothing_in_an_answer_drives_the_terminal(bad: str) -> None:
    """G13. Red when words are printed as they come."""
    assert bad not in spoken(f"before {bad} after")


def test_a_link_is_shown_with_its_address_and_is_not_live() -> None:
    shown = spoken("see [docs](http://evil.example)")
    assert "\x1b]8" not in shown
    assert "http://evil.example" in shown


def test_a_remark_ends_the_words_before_it() -> None:
    console = Console(file=io.StringIO(), width=60)
    with StreamView(console) as speech:
        speech.words("half a line")
        speech.note("a remark")
        speech.words("the rest")
    assert isinstance(console.file, io.StringIO)
    assert [line.strip() for line in console.file.getvalue().splitlines() if line.strip()] == [
        "half a line", "a remark", "the rest",
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["Use Vec<u8> and List<String>", "<div>kept</div>"])
def test_what_looks_like_html_is_not_left_out(text: str) -> None:
    assert text in spoken(text)


def test_what_is_still_being_written_is_drawn_in_the_rows_there_are() -> None:
    """Red when an unfinished block is not seen, or pushes the line off the screen."""
    console = Console(file=io.StringIO(), width=60)
    with StreamView(console) as view:
        assert "Thinking …" in view.live(9)
        view.words("done\n\n" + "- one\n" * 20 + "- last")
        assert view.live(3).splitlines() == [" • one", " • one", " • last"]
    assert view.live(9) == ""
