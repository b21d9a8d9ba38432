"""Stored text as a person sees it: nothing hidden, nothing that drives the terminal."""

from __future__ import annotations

import sys
import unicodedata

import pytest

from co_cli.knowledge.safety.escape import MOST_DIFF_LINES, difference, escape, hanging, rows


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain text, naïve 日本語 👍🏽 ❤️", "plain text, naïve 日本語 👍🏽 ❤️"),
        ("two\n\tlines", "two\n\tlines"),
        ("\x1b[2J\x07\x00\x7f\x9b", "\\x1b[2J\\x07\\x00\\x7f\\x9b"),
        ("over\rwritten\x0b\x0c", "over\\x0dwritten\\x0b\\x0c"),
        ("safe\u202egnp.exe", "safe<U+202E>gnp.exe"),
        ("a\u200bb\u200dc\ufeffd\u2060", "a<U+200B>b<U+200D>c<U+FEFF>d<U+2060>"),
        ("\u2066\u2069\u061c\u200e", "<U+2066><U+2069><U+061C><U+200E>"),
        ("line\u2028separator\x85", "line<U+2028>separator\\x85"),
        ("hi\U000e0068\U000e0001", "hi<U+E0068><U+E0001>"),
        ("soft\xadhyphen \u3164 \u115f", "soft<U+00AD>hyphen <U+3164> <U+115F>"),
        ("x\ufe00\ufe0f\U000e0100", "x<U+FE00><U+FE0F><U+E0100>"),
        ("\udce9", "<U+DCE9>"),
    ],
)
def test_what_hides_is_shown(text: str, shown: str) -> None:
    """G13. Red when any of these characters reaches the terminal as it is."""
    assert escape(text) == shown


def test_what_is_kept_is_chosen() -> None:
    assert escape("a\nb\tc\r", keep="") == "a\\x0ab\\x09c\\x0d"
    assert escape("a\nb\tc\r", keep="\r\n") == "a\nb\\x09c\r"


# Format characters that are drawn: number signs and the like.
DRAWN = "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"


def test_every_control_and_format_character_is_shown() -> None:
    """G13. Red when a range is taken out of the pattern."""
    hidden = {"Cc", "Cf", "Cs", "Zl", "Zp"}
    left = {
        character
        for character in map(chr, range(sys.maxunicode + 1))
        if unicodedata.category(character) in hidden and escape(character, keep="") == character
    }
    assert left <= set(DRAWN)


def test_no_row_of_a_text_is_blank_where_the_text_is_not() -> None:
    """Red when a blank that no longer fits gets a row of its own: it looks like the text's end."""
    found = rows(f"{'x' * 17}, {'y' * 30}", 21, "> ")
    assert all(row.removeprefix("> ").strip() for row in found)
    assert "".join(row.removeprefix("> ") for row in found) == f"{'x' * 17}, {'y' * 30}"


def test_what_is_spelled_out_turns_no_row() -> None:
    """Red when a row gets a mark of direction for a character that is shown as its number."""
    assert rows("x\u061cy non\ufdd0char", 60, "> ") == ["> x<U+061C>y non<U+FDD0>char"]
    assert rows("\u05e9\u05dc\u05d5\u05dd", 60, "> ")[0].startswith("> \u200e")


def test_a_difference_shows_what_changed() -> None:
    old = b"one\ntwo\nthree\n"
    assert difference(old, b"one\n2\nthree\n", "AGENTS.md") == (
        "--- AGENTS.md (before)\n+++ AGENTS.md (now)\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three"
    )
    assert difference(old, old, "AGENTS.md") == ""


def test_a_new_file_is_all_additions_and_a_lost_one_all_removals() -> None:
    assert difference(None, b"one\ntwo", "new\n.md") == (
        "--- /dev/null\n+++ new\\x0a.md (now)\n@@ -0,0 +1,2 @@\n+one\n+two\n"
        "\\ No newline at end of file"
    )
    assert difference(b"one\n", None, "old.md") == (
        "--- old.md (before)\n+++ /dev/null\n@@ -1 +0,0 @@\n-one"
    )
    assert difference(None, b"", "empty.md") == ""


def test_a_change_of_line_ends_alone_is_shown() -> None:
    """Red when lines are compared without their ends."""
    assert difference(b"one\n", b"one", "x") == (
        "--- x (before)\n+++ x (now)\n@@ -1 +1 @@\n-one\n+one\n\\ No newline at end of file"
    )
    assert difference(b"one\n", b"one\r\n", "x") == (
        "--- x (before)\n+++ x (now)\n@@ -1 +1 @@\n-one\n+one\\x0d"
    )


def test_a_difference_hides_nothing() -> None:
    """G13. Red when a difference is not made visible, or splits at more than line feeds."""
    assert difference(b"", "ok\x0c+fake\u2028\x1b[1A\u202e\n".encode() + b"\xff\n", "x") == (
        "--- x (before)\n+++ x (now)\n@@ -0,0 +1,2 @@\n"
        "+ok\\x0c+fake<U+2028>\\x1b[1A<U+202E>\n+\\xff"
    )


def test_a_long_file_is_shown_whole_and_at_once() -> None:
    """G10. Red when files of any length are compared line by line."""
    count = MOST_DIFF_LINES
    old = "".join(f"same {n % 400}\nold {n}\n" for n in range(count)).encode()
    new = "".join(f"same {n % 400}\nnew {n}\n" for n in range(count)).encode()
    lines = difference(old, new, "x").split("\n")
    assert lines[:4] == [
        "--- x (before)",
        "+++ x (now)",
        f"@@ -1,{2 * count} +1,{2 * count} @@",
        "-same 0",
    ]
    assert len(lines) == 3 + 4 * count
    assert difference(old, old, "x") == ""


@pytest.mark.parametrize(
    ("row", "columns", "shown"),
    [
        ("   1  2026-11-16  User prefers tabs over spaces", 37,
         ["   1  2026-11-16  User prefers tabs ", "                  over spaces"]),
        ("  g2  2026-11-16  🔒  Dana owns the billing service", 40,
         ["  g2  2026-11-16  🔒  Dana owns the ", "                      billing service"]),
        ("/model [name]  Show or change the model", 32,
         ["/model [name]  Show or change ", "               the model"]),
        ("One sentence.  And one more of them here", 30,
         ["One sentence.  And one ", "    more of them here"]),
        ("a-very-long-name-that-takes-half  and then some", 40,
         ["a-very-long-name-that-takes-half  ", "    and then some"]),
    ],
)  # fmt: skip
def test_a_row_of_a_list_goes_on_under_its_text(row: str, columns: int, shown: list[str]) -> None:
    assert hanging(row, columns) == shown
