"""The context files: what enters the prompt, what is cut, what is skipped, and who is told."""

from __future__ import annotations

import io
import os
import resource
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from co_cli.knowledge import context
from co_cli.knowledge.context import SIZE_LIMIT, SIZE_TARGET, ContextFile, Receipt
from co_cli.knowledge.pages import Problem

HEADER = "---\nversion: 1\nupdated: 2026-02-09T14:30:00Z\n---\n\n"


@pytest.fixture
def user() -> Path:
    """The user's context file, in a folder that is there."""
    path = Path(os.environ["HOME"]) / ".config/co-cli/knowledge/context.md"
    path.parent.mkdir(parents=True)
    return path


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The context file of the project in the working folder."""
    path = tmp_path / "work/.co-cli/knowledge/context.md"
    path.parent.mkdir(parents=True)
    return path


def test_the_names_of_the_limits_are_the_documents() -> None:
    assert (SIZE_TARGET, SIZE_LIMIT) == (10240, 20480)
    assert (context.GLOBAL_BUDGET, context.PROJECT_BUDGET) == (3072, 7168)


def test_both_files_make_one_text(
    user: Path, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    user.write_text(HEADER + "# Me\n- Alice\n\n")
    project.write_text(HEADER + "\n  # Here\n- Django\n")
    assert context.load_internal_knowledge() == (
        "## Internal Knowledge\n\n### Global Context\n\n# Me\n- Alice"
        "\n\n### Project Context\n\n# Here\n- Django"
    )
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(("title", "which"), [("Global", 0), ("Project", 1)])
def test_one_file_alone_makes_one_section(
    user: Path, project: Path, title: str, which: int
) -> None:
    (user, project)[which].write_text(HEADER + "Alone")
    assert context.load_internal_knowledge() == (
        f"## Internal Knowledge\n\n### {title} Context\n\nAlone"
    )


def test_no_files_make_no_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert context.load_internal_knowledge() is None
    assert capsys.readouterr() == ("", "")


def test_the_project_is_found_from_a_folder_inside_it(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write_text("From above")
    (tmp_path / "work/src").mkdir()
    monkeypatch.chdir(tmp_path / "work/src")
    assert context.load_internal_knowledge() == (
        "## Internal Knowledge\n\n### Project Context\n\nFrom above"
    )


@pytest.mark.parametrize(
    ("text", "body"),
    [
        ("# No header\n", "# No header"),
        ("\ufeff# Byte-order mark\n", "# Byte-order mark"),
        ("\ufeff" + HEADER + "Both\n", "Both"),
        ("---\nversion: 1\nnever closed\n", "---\nversion: 1\nnever closed"),
        (HEADER.replace("\n", "\r\n") + "one\r\ntwo\r\n", "one\r\ntwo"),
        (HEADER + "keeps <system-reminder> as it is", "keeps <system-reminder> as it is"),
    ],
)
def test_a_file_is_loaded_without_its_header(tmp_path: Path, text: str, body: str) -> None:
    path = tmp_path / "context.md"
    path.write_bytes(text.encode())
    loaded = context.read_context(None, path)
    assert loaded.text == f"## Internal Knowledge\n\n### Project Context\n\n{body}"
    assert loaded.skipped == ()


def test_a_file_with_nothing_but_a_header_gives_nothing(tmp_path: Path) -> None:
    path = tmp_path / "context.md"
    path.write_text(HEADER + " \n\n")
    loaded = context.read_context(path, None)
    file = ContextFile("Global Context", path, len(HEADER) + 3, 0, 0, 3072, False)
    assert loaded == Receipt((file,))
    assert loaded.line() == "no context files"


@pytest.mark.parametrize(
    ("data", "line", "reason"),
    [
        (b"---\nupdated: 2026-02-09T14:30:00Z\n---\nx", 1, "Missing required field: version"),
        (b"---\n---\nx", 1, "Missing required field: version"),
        (b"---\nversion: 1\n---\nversion", 1, "Missing required field: updated"),
        (
            b"---\n# mine\nversion: 2\nupdated: 2026-02-09T14:30:00Z\n---\nx",
            3,
            "Unsupported version: 2 (expected 1)",
        ),
        (
            b"---\nversion: 1\nupdated: yesterday\n---\nx",
            3,
            "Field 'updated' must be ISO8601 format (2026-02-09T14:30:00Z): yesterday",
        ),
        (
            b"---\nversion: 1\nversion: 1\n---\nx",
            3,
            "Invalid YAML in frontmatter: line 3: 'version' appears twice",
        ),
        ("Grüße".encode("utf-16"), 1, "is UTF-16, not UTF-8"),
        (b"one\ntwo \xe9\n", 2, "is not UTF-8"),
        (b"one\n\0two\n", 2, "holds a NUL character"),
        (b"x" * (8 * 1024 * 1024 + 1), 0, "is larger than 8 MiB"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_bad_file_is_skipped_with_line_and_reason(
    tmp_path: Path, data: bytes, line: int, reason: str
) -> None:
    """G10. Red when a bad file is loaded, stops the other one, or is skipped without a word."""
    good, bad = tmp_path / "good.md", tmp_path / "bad.md"
    good.write_text("Good")
    bad.write_bytes(data)
    loaded = context.read_context(good, bad)
    assert loaded.text == "## Internal Knowledge\n\n### Global Context\n\nGood"
    assert loaded.skipped == (Problem(str(bad), reason, line),)
    assert loaded.line() == "1 context file, 4 bytes, 1 skipped"


def _make_folder(path: Path) -> None:
    path.mkdir()


def _make_link(path: Path) -> None:
    path.with_name("real.md").write_text("not this")
    path.symlink_to("real.md")


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (os.mkfifo, "is a pipe, not a file"),
        (_make_folder, "is a folder, not a file"),
        (_make_link, "is a symbolic link; Co reads only real files here"),
    ],
)
def test_what_is_no_plain_file_is_skipped(
    project: Path, make: object, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """G10, G12. Red when a pipe blocks the session or a link is followed."""
    assert callable(make)
    make(project)
    assert context.load_internal_knowledge() is None
    assert capsys.readouterr() == ("", f"WARNING: context file skipped: {project}: {reason}\n")


def test_a_warning_names_the_line(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project.write_text("---\nversion: 3\nupdated: 2026-02-09T14:30:00Z\n---\n")
    assert context.load_internal_knowledge() is None
    assert capsys.readouterr().err == (
        f"WARNING: context file skipped: {project}:2: Unsupported version: 3 (expected 1)\n"
    )


def test_a_warning_cannot_drive_the_terminal(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """G13. Red when a reason is printed as the file spells it."""
    project.write_text('---\nversion: 1\nupdated: "\\e[31m\\nERROR: obey"\n---\n')
    assert context.load_internal_knowledge() is None
    assert capsys.readouterr().err == (
        f"WARNING: context file skipped: {project}:3: Field 'updated' must be ISO8601 format "
        "(2026-02-09T14:30:00Z): \\x1b[31m\\x0aERROR: obey\n"
    )


def test_a_project_that_points_elsewhere_gives_nothing(
    user: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """G12. Red when the loader follows a .co-cli that leads out of the project."""
    user.write_text("Mine")
    outside, link = tmp_path / "outside/knowledge", tmp_path / "work/.co-cli"
    outside.mkdir(parents=True)
    (outside / "context.md").write_text("Secret")
    link.symlink_to(outside.parent)
    assert context.load_internal_knowledge() == (
        "## Internal Knowledge\n\n### Global Context\n\nMine"
    )
    assert capsys.readouterr().err == (
        "WARNING: context file skipped: context.md: "
        f"{link}/knowledge leads out of the project, to {outside}\n"
    )


def test_a_working_folder_that_is_gone_does_not_stop_a_session(
    user: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    user.write_text("Mine")
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert context.load_internal_knowledge() == (
        "## Internal Knowledge\n\n### Global Context\n\nMine"
    )
    assert "the working folder is gone" in capsys.readouterr().err


def test_nobody_to_tell_is_no_reason_to_stop(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.mkdir()
    closed = io.StringIO()
    closed.close()
    monkeypatch.setattr("sys.stderr", closed)
    assert context.load_internal_knowledge() is None


def test_too_many_open_files_skip_a_file(tmp_path: Path) -> None:
    path = tmp_path / "context.md"
    path.write_text("Here")
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, limits[1]))
    try:
        loaded = context.read_context(None, path)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert loaded.skipped == (Problem(str(path), f"Too many open files: {path}"),)


def test_reading_is_silent(user: Path, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    user.write_text("x" * 30_000)
    project.mkdir()
    context.read_context(user, project)
    assert capsys.readouterr() == ("", "")


def _sized(size: int) -> str:
    """A body that makes a text of `size` bytes as the only section of a project."""
    return "x" * (size - len("## Internal Knowledge\n\n### Project Context\n\n"))


@pytest.mark.parametrize(
    ("size", "said"),
    [
        (SIZE_TARGET, ""),
        (
            SIZE_TARGET + 1,
            "WARNING: Knowledge size 10241 bytes exceeds 10240 byte target. "
            "Consider reducing context.md.\n",
        ),
        (
            SIZE_LIMIT,
            "WARNING: Knowledge size 20480 bytes exceeds 10240 byte target. "
            "Consider reducing context.md.\n",
        ),
    ],
)
def test_up_to_the_limit_everything_is_loaded(
    project: Path, size: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    project.write_text(_sized(size))
    text = context.load_internal_knowledge()
    assert text == "## Internal Knowledge\n\n### Project Context\n\n" + _sized(size)
    assert capsys.readouterr().err == said


def test_above_the_limit_an_error_says_so(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project.write_text("- Item with some text\n" * 1000)
    text = context.load_internal_knowledge()
    assert text is not None
    left_out = 22_000 - 1 - text.count("- Item with some text") * 22 + 1
    assert text.endswith(
        f"- Item with some text\n[cut here: {left_out:,} bytes of {project} left out; "
        "shorten the file]"
    )
    assert SIZE_LIMIT - 24 < len(text.encode()) <= SIZE_LIMIT  # a line, and a digit of the notice
    assert capsys.readouterr().err == (
        "ERROR: Knowledge size 22043 bytes exceeds 20480 byte limit. Truncating to 20480 bytes.\n"
    )


HEADS = len("## Internal Knowledge\n\n### Global Context\n\n\n\n### Project Context\n\n")


def test_what_the_project_leaves_is_the_persons(tmp_path: Path) -> None:
    """Red when the project's text is cut though it fits beside 3 KiB of the person's own."""
    mine, here = tmp_path / "mine.md", tmp_path / "here.md"
    mine.write_text("mine\n" * 4_000)
    here.write_text("here\n" * 3_000)
    loaded = context.read_context(mine, here)
    assert loaded.text is not None
    head, tail = loaded.text.split("\n\n### Project Context\n\n")
    assert tail == ("here\n" * 3_000).strip()
    count = head.count("mine\n")
    left_out = 19_999 - (count * 5 - 1)
    assert head == (
        "## Internal Knowledge\n\n### Global Context\n\n"
        + "mine\n" * count
        + f"[cut here: {left_out:,} bytes of {mine} left out; shorten the file]"
    )
    assert [title for title, _ in loaded.texts] == ["Global Context", "Project Context"]
    assert loaded._replace(text=None, texts=()) == Receipt(
        (
            ContextFile("Global Context", mine, 20_000, count * 5 - 1, left_out, 3072, True),
            ContextFile("Project Context", here, 15_000, 14_999, 0, 7168, True),
        ),
        (),
        35_064,
    )


def test_the_persons_own_text_stays_whatever_the_project_says(tmp_path: Path) -> None:
    """Red when a long text of a project takes the room of the person's own 3 KiB."""
    mine, here = tmp_path / "mine.md", tmp_path / "here.md"
    mine.write_text("m" * 3072)
    here.write_text("here\n" * 10_000)
    loaded = context.read_context(mine, here)
    assert loaded.text is not None
    head, tail = loaded.text.split("\n\n### Project Context\n\n")
    assert head.endswith("### Global Context\n\n" + "m" * 3072)
    assert SIZE_LIMIT - 8 < len(loaded.text.encode()) <= SIZE_LIMIT
    assert tail.endswith(f" bytes of {here} left out; shorten the file]")


def test_of_two_long_texts_the_persons_own_has_3_kib(tmp_path: Path) -> None:
    """Red when the own text gets more or less than whole lines of 3 KiB, or the rest is unused."""
    mine, here = tmp_path / "mine.md", tmp_path / "here.md"
    mine.write_text("é" * 1_535 + "\n" + "mine\n" * 10_000)
    here.write_text("here\n" * 10_000)
    loaded = context.read_context(mine, here)
    assert loaded.files[0].bytes_loaded in (3070, 3075)  # and a line that the other cut left
    assert SIZE_LIMIT - 12 < len((loaded.text or "").encode()) <= SIZE_LIMIT
    small = context.read_context(mine, here, limit=2_000)
    assert [file.bytes_loaded > 500 for file in small.files] == [True, True]
    assert len((small.text or "").encode()) <= 2_000


@pytest.mark.parametrize("lead", ["", "x", "# Title\n", "# Title\nx"])
def test_a_line_that_is_too_long_is_cut_between_characters(tmp_path: Path, lead: str) -> None:
    """Red when the cut may fall inside a character, or a long line is lost whole."""
    path = tmp_path / "context.md"
    path.write_text(lead + "é" * 15_000)
    text = context.read_context(None, path).text
    assert text is not None
    body = text.removeprefix("## Internal Knowledge\n\n### Project Context\n\n" + lead)
    kept = body.index("\n")
    assert body == (
        "é" * kept + f"\n[cut here: {30_000 - 2 * kept:,} bytes of {path} left out; "
        "shorten the file]"
    )
    assert SIZE_LIMIT - 2 <= len(text.encode()) <= SIZE_LIMIT


def test_a_line_that_just_fits_is_kept_whole(tmp_path: Path) -> None:
    """Red when the cut misses the line end that falls exactly on the limit."""
    path = tmp_path / "context.md"
    head = "## Internal Knowledge\n\n### Project Context\n\n"
    tail = f"\n[cut here: 10,001 bytes of {path} left out; shorten the file]"
    fits = "y" * (SIZE_LIMIT - len(head) - len(tail))
    path.write_text(f"{fits}\n{'z' * 10_000}")
    assert context.read_context(None, path).text == head + fits + tail
    path.write_text(f"{fits}y\n{'z' * 10_000}")
    tail = tail.replace("10,001", "10,002")
    assert context.read_context(None, path).text == head + fits + tail


def test_a_folder_with_a_strange_name_gives_text_that_is_text(tmp_path: Path) -> None:
    """Red when the line about the cut holds the path as the disk spells it."""
    folder = tmp_path / os.fsdecode(b"caf\xe9\n\x1b[2J")
    folder.mkdir()
    (folder / "context.md").write_text("line\n" * 5_000)
    text = context.read_context(None, folder / "context.md").text
    assert text is not None
    assert f"{tmp_path}/caf<U+DCE9>\\x0a\\x1b[2J/context.md left out" in text
    assert len(text.encode()) <= SIZE_LIMIT


LINES = st.tuples(
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20),
    st.integers(1, 1500),
    st.sampled_from(["", "\n"]),
)
BODIES = st.lists(LINES, max_size=3).map(
    lambda lines: "".join((text + end) * times + "\n" for text, times, end in lines)
)


@given(mine=BODIES, here=BODIES)
def test_whatever_the_files_hold_the_text_fits(mine: str, here: str) -> None:
    """Red when the line about a cut is not counted, or a cut falls anywhere but after a whole
    character, or a text loses a byte that has room beside the other's share."""
    with tempfile.TemporaryDirectory() as folder:
        paths = Path(folder, "mine.md"), Path(folder, "here.md")
        for path, body in zip(paths, (mine, here), strict=True):
            path.write_bytes((HEADER + body).encode())
        loaded = context.read_context(*paths)
    bodies = [mine.strip(), here.strip()]
    text, receipt = loaded.text or "", loaded
    titles = ["Global Context", "Project Context"]
    sections = [
        f"### {title}\n\n{body}" for title, body in zip(titles, bodies, strict=True) if body
    ]
    whole = "\n\n".join(["## Internal Knowledge", *sections]) if sections else ""
    room = SIZE_LIMIT - HEADS - len(bodies[0].encode())
    assert len(text.encode("utf-8")) <= SIZE_LIMIT
    assert receipt.size == len(whole.encode())
    assert [file.bytes_loaded + file.bytes_cut for file in receipt.files] == [
        len(body.encode()) for body in bodies
    ]
    if receipt.size <= SIZE_LIMIT:
        assert text == whole
    if bodies[1] and len(bodies[1].encode()) <= max(room, SIZE_LIMIT - HEADS - 3072 - 200):
        assert text.endswith(f"### Project Context\n\n{bodies[1]}")
    if bodies[0] and len(bodies[0].encode()) <= 3072:
        assert f"### Global Context\n\n{bodies[0]}" in text
    for title, body, file in zip(titles, bodies, receipt.files, strict=True):
        kept = body.encode()[: file.bytes_loaded].decode()
        assert not kept or f"### {title}\n\n{kept}" in text
        assert not kept or not file.bytes_cut or f"\n[cut here: {file.bytes_cut:,} bytes" in text


def _file(title: str, loaded: int, cut: int = 0, over: bool = False) -> ContextFile:
    budget = 3072 if title == "Global Context" else 7168
    return ContextFile(title, Path("/x/context.md"), loaded + cut, loaded, cut, budget, over)


@pytest.mark.parametrize(
    ("files", "skipped", "line"),
    [
        ((), 0, "no context files"),
        ((), 1, "no context files, 1 skipped"),
        ((_file("Project Context", 1),), 0, "1 context file, 1 byte"),
        ((_file("Project Context", 812),), 1, "1 context file, 812 bytes, 1 skipped"),
        (
            (_file("Global Context", 1000), _file("Project Context", 2174)),
            0,
            "2 context files, 3.1 KiB",
        ),
        (
            (_file("Global Context", 4096, 512, True), _file("Project Context", 7168)),
            0,
            "2 context files, 11.0 KiB, 512 bytes cut, global over its 3 KiB budget",
        ),
    ],
)
def test_a_receipt_fits_on_a_line(files: tuple[ContextFile, ...], skipped: int, line: str) -> None:
    skips = (Problem("/x/context.md", "is a folder, not a file"),) * skipped
    assert Receipt(files, skips, 0).line() == line


def test_a_receipt_has_a_line_for_every_file() -> None:
    skip = Problem("/\x1b[2J/context.md", "Unsupported version: 2 (expected 1)", 3)
    files = (_file("Global Context", 4096, 512, True), _file("Project Context", 812))
    assert Receipt(files, (skip,), 0).details() == [
        "Global Context: 4.0 KiB, 512 bytes cut, over its 3 KiB budget, from /x/context.md",
        "Project Context: 812 bytes, from /x/context.md",
        "skipped: /\\x1b[2J/context.md:3: Unsupported version: 2 (expected 1)",
    ]


def test_a_receipt_is_plain_values_as_json() -> None:
    skip = Problem("/y/context.md", "Unsupported version: 2 (expected 1)", 3)
    assert Receipt((_file("Project Context", 5, 2),), (skip,), 51).as_json() == {
        "files": [
            {
                "title": "Project Context",
                "path": "/x/context.md",
                "bytes_in_file": 7,
                "bytes_loaded": 5,
                "bytes_cut": 2,
                "budget": 7168,
                "over_budget": False,
            }
        ],
        "skipped": [
            {"path": "/y/context.md", "line": 3, "reason": "Unsupported version: 2 (expected 1)"}
        ],
        "size": 51,
        "pinned": [],
    }
