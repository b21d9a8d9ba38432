"""The names the design documents promised, over the core; their test cases in our words."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from co_cli._frontmatter import (
    parse_frontmatter,
    strip_frontmatter,
    validate_context_frontmatter,
    validate_memory_frontmatter,
)
from co_cli.chat.slash import COMMANDS
from co_cli.config import Settings
from co_cli.deps import CoDeps
from co_cli.errors import NotFound
from co_cli.knowledge import (
    SIZE_LIMIT,
    SIZE_TARGET,
    Shelf,
    load_internal_knowledge,
)
from co_cli.tools.memory import (
    MemoryEntry,
    _check_duplicate,
    _decay_memories,
    _detect_category,
    _detect_source,
    _load_all_memories,
    _next_memory_id,
    _search_memories,
    _slugify,
    _update_existing_memory,
    list_memories,
    recall_memory,
    save_memory,
)

HEADER = "---\nversion: 1\nupdated: 2026-02-09T14:30:00Z\n---\n\n"
MEMORIES = Path(".co-cli/knowledge/memories")


@dataclass
class Run:
    """All that a tool needs of an agent's run."""

    deps: CoDeps
    tool_call_id: str | None = None


@pytest.fixture
def run() -> Run:
    return Run(CoDeps())


def save(run: Run, content: str, tags: list[str] | None = None) -> dict[str, Any]:
    return asyncio.run(save_memory(run, content, tags))


def write_context(text: str, *, user: bool = False) -> None:
    folder = Path.home() / ".config/co-cli/knowledge" if user else Path(".co-cli/knowledge")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "context.md").write_text(text)


def write_memory(
    number: int, body: str, more: str = "", created: str = "2026-02-09T14:30:00Z"
) -> Path:
    MEMORIES.mkdir(parents=True, exist_ok=True)
    path = MEMORIES / f"{number:03d}-x.md"
    path.write_text(f"---\nid: {number}\ncreated: {created}\n{more}---\n\n{body}\n")
    return path


# Headers (documents 000 and 001)


def test_a_header_is_parsed_and_stripped() -> None:
    content = HEADER + "# User\n- Name: Test\n"
    fields, body = parse_frontmatter(content)
    assert fields == {"version": 1, "updated": "2026-02-09T14:30:00Z"}
    assert body == "\n# User\n- Name: Test\n" == strip_frontmatter(content)


def test_text_without_a_header_is_all_body() -> None:
    assert parse_frontmatter("# Just markdown content") == ({}, "# Just markdown content")


def test_malformed_yaml_is_an_error_that_says_so() -> None:
    with pytest.raises(ValueError, match="Invalid YAML"):
        parse_frontmatter("---\nversion: 1\ninvalid yaml: [\n---\n\nBody\n")


def test_a_header_that_is_not_a_mapping_is_an_error() -> None:
    with pytest.raises(ValueError, match="mapping"):
        parse_frontmatter("---\n- one\n- two\n---\n")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"updated": "2026-02-09T14:30:00Z"}, "Missing required field: version"),
        ({"version": 2, "updated": "2026-02-09T14:30:00Z"}, "Unsupported version: 2"),
        ({"version": 1}, "Missing required field: updated"),
        ({"version": 1, "updated": 5}, "Field 'updated' must be string"),
        ({"version": 1, "updated": "yesterday"}, "Field 'updated' must be ISO8601"),
    ],
)
def test_a_bad_context_header_names_the_field(fields: dict[str, Any], message: str) -> None:
    validate_context_frontmatter({"version": 1, "updated": "2026-02-09T14:30:00Z"})
    with pytest.raises(ValueError, match=message):
        validate_context_frontmatter(fields)


GOOD = {"id": 1, "created": "2026-02-09T14:30:00Z"}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"created": "2026-02-09T14:30:00Z"}, "Missing required field: id"),
        (GOOD | {"id": "not-an-int"}, "Field 'id' must be integer"),
        (GOOD | {"id": True}, "Field 'id' must be integer"),
        (GOOD | {"id": -1}, "Field 'id' must be integer from 1"),
        ({"id": 1}, "Missing required field: created"),
        (GOOD | {"created": 2026}, "Field 'created' must be string"),
        (GOOD | {"created": "2026-02-09"}, "Field 'created' must be ISO8601"),
        (GOOD | {"tags": "python"}, "Field 'tags' must be list"),
        (GOOD | {"tags": ["python", 1]}, "All tags must be strings"),
        (GOOD | {"source": 1}, "Field 'source' must be string"),
        (GOOD | {"auto_category": 1}, "Field 'auto_category' must be string"),
        (GOOD | {"updated": 1}, "Field 'updated' must be string"),
        (GOOD | {"decay_protected": "yes"}, "Field 'decay_protected' must be true or false"),
    ],
)
def test_a_bad_memory_header_names_the_field(fields: dict[str, Any], message: str) -> None:
    validate_memory_frontmatter(
        GOOD | {"tags": ["python"], "source": "user-told", "consolidation_reason": "legacy"}
    )
    with pytest.raises(ValueError, match=message):
        validate_memory_frontmatter(fields)


# Context (documents 000 and 001)


def test_both_contexts_are_loaded_under_their_headings() -> None:
    write_context(HEADER + "Global content\n", user=True)
    write_context(HEADER + "Project content\n")
    assert load_internal_knowledge() == (
        "## Internal Knowledge\n\n### Global Context\n\nGlobal content\n\n"
        "### Project Context\n\nProject content"
    )


def test_no_context_is_none() -> None:
    assert load_internal_knowledge() is None


@pytest.mark.parametrize(
    ("lines", "word", "limit"), [(600, "WARNING", SIZE_TARGET), (1000, "ERROR", SIZE_LIMIT)]
)
def test_too_much_context_is_said_on_stderr_and_cut_at_the_limit(
    lines: int, word: str, limit: int, capsys: pytest.CaptureFixture[str]
) -> None:
    write_context(HEADER + "# User\n" + "- Item with some text\n" * lines)
    result = load_internal_knowledge()
    assert result is not None
    assert len(result.encode()) <= SIZE_LIMIT
    err = capsys.readouterr().err
    size = len(f"## Internal Knowledge\n\n### Project Context\n\n# User\n{'.' * 22 * lines}") - 1
    ends = {
        "WARNING": "byte target. Consider reducing context.md.",
        "ERROR": "byte limit. Truncating to 20480 bytes.",
    }
    assert err == f"{word}: Knowledge size {size} bytes exceeds {limit} {ends[word]}\n"


def test_a_malformed_context_is_skipped_and_the_session_goes_on(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_context("---\nversion: [\n---\nlost", user=True)
    write_context(HEADER + "Project content\n")
    assert load_internal_knowledge() == (
        "## Internal Knowledge\n\n### Project Context\n\nProject content"
    )
    assert "context.md" in capsys.readouterr().err


# Memory tools (documents 000, 001 and 003)


def test_numbers_start_at_one_and_follow_the_highest() -> None:
    assert _next_memory_id() == 1
    write_memory(5, "text")
    assert _next_memory_id() == _next_memory_id(MEMORIES) == 6


@pytest.mark.parametrize(
    ("text", "slug"),
    [
        ("User prefers async/await!", "user-prefers-async-await"),
        ("Multiple   spaces", "multiple-spaces"),
        ("A" * 100, "a" * 50),
        ("  -- ", "note"),
        ("日本語", "note"),
        ("Käse, Straße, Ørsted – déjà vu: don’t", "kase-strasse-orsted-deja-vu-don-t"),
        ("x" * 49 + "! and more", "x" * 49),
    ],
)
def test_slugs_follow_the_rule(text: str, slug: str) -> None:
    assert _slugify(text) == slug


def test_saving_writes_a_file_and_says_where(run: Run) -> None:
    result = save(run, "User prefers async/await over callbacks", ["python", "style"])
    path = (MEMORIES / "001-user-prefers-async-await-over-callbacks.md").resolve()
    assert result == {
        "display": f"✓ Saved memory 1: {path.name}\nLocation: {path}",
        "path": str(path),
        "memory_id": 1,
        "ref": "1",
        "action": "created",
        "collisions": [],
        "updates": [],
        "decayed": [],
    }
    text = path.read_text()
    assert "id: 1\n" in text
    assert "tags:\n- python\n- style\nsource: user-told\n" in text
    assert text.endswith("---\n\nUser prefers async/await over callbacks\n")


def test_saving_the_same_consolidates_and_a_collision_is_named(run: Run) -> None:
    save(run, "User prefers pytest", ["preference"])
    again = save(run, "user prefers pytest.", ["testing"])
    assert (again["action"], again["memory_id"]) == ("consolidated", 1)
    other = save(run, "User prefers pytests", [])
    assert other["action"] == "created"
    assert [(c["id"], c["similarity"]) for c in other["collisions"]] == [(1, 95)]
    assert "co knowledge merge 2 1 --keep-first" in other["display"]


def test_the_same_call_saves_once() -> None:
    run = Run(CoDeps(), "call-7")
    assert save(run, "Only once")["memory_id"] == save(run, "Only once")["memory_id"] == 1


def test_recall_finds_by_text_and_tag_newest_first(run: Run) -> None:
    write_memory(1, "User prefers async/await over callbacks", "tags: [python]\n")
    write_memory(2, "Async code is tested too", created="2026-02-10T14:30:00Z")
    result = asyncio.run(recall_memory(run, "async"))
    assert result["count"] == 2
    assert [row["id"] for row in result["results"]] == [2, 1]
    assert result["display"] == (
        "Found 2 memories matching 'async':\n\n"
        "**Memory 2** (created 2026-02-10)\nAsync code is tested too\n\n"
        "**Memory 1** (created 2026-02-09)\nTags: python\n"
        "User prefers async/await over callbacks\n"
    )
    tagged = asyncio.run(recall_memory(run, "PYTHON", max_results=1))
    assert [row["why"] for row in tagged["results"]] == ["tag python"]
    assert [row["id"] for row in _search_memories("async", MEMORIES, 1)] == [2]


def test_a_miss_is_said_plainly(run: Run) -> None:
    result = asyncio.run(recall_memory(run, "nonexistent"))
    assert result == {
        "display": "No memories found matching 'nonexistent'\n0 memories searched.",
        "count": 0,
        "results": [],
    }


def test_listing_shows_numbers_dates_marks_and_short_summaries(run: Run) -> None:
    assert asyncio.run(list_memories(run)) == {
        "display": "No memories saved yet.",
        "count": 0,
        "memories": [],
    }
    write_memory(1, "x" * 81, "tags: [preference, python]\nauto_category: preference\n")
    write_memory(2, "This project uses SQLAlchemy", "decay_protected: true\n")
    write_memory(3, "Many", "tags: [_consolidated, _auto_decay]\nupdated: 2026-03-01T00:00:00Z\n")
    result = asyncio.run(list_memories(run))
    assert result["display"] == (
        "Total memories: 3 (limit 200)\n\n"
        f"**001** (2026-02-09) [preference] [python]: {'x' * 77}...\n"
        "**002** (2026-02-09) 🔒: This project uses SQLAlchemy\n"
        "**003** (2026-02-09 → 2026-03-01) [_consolidated, _auto_decay]: Many"
    )
    assert result["memories"][1] == {
        "id": 2,
        "ref": "2",
        "path": str((MEMORIES / "002-x.md").resolve()),
        "created": "2026-02-09T14:30:00Z",
        "tags": [],
        "summary": "This project uses SQLAlchemy",
    }


def test_a_folder_that_lost_its_memories_is_not_called_new(run: Run) -> None:
    """Red when a folder that is there and empty reads as one where nothing was ever saved."""
    MEMORIES.mkdir(parents=True)
    nothing = {"display": "No memories found.", "count": 0, "memories": []}
    assert asyncio.run(list_memories(run)) == nothing
    write_memory(1, "User prefers pytest")
    assert asyncio.run(list_memories(run, since="2099-01-01")) == nothing


def test_what_was_said_again_shows_since_when_and_until_when(run: Run) -> None:
    """Red when only what decay made tells the range of its dates."""
    write_memory(1, "User prefers pytest")
    assert save(run, "user prefers pytest.")["action"] == "consolidated"
    [entry] = _load_all_memories(MEMORIES)
    listed = asyncio.run(list_memories(run))["display"]
    assert f"(2026-02-09 → {str(entry.updated)[:10]})" in listed


def test_invalid_files_are_skipped_by_the_one_scanner(caplog: pytest.LogCaptureFixture) -> None:
    """Red when a file that cannot be read is skipped without a word."""
    path = write_memory(1, "fine", "tags: [a]\ndecay_protected: true\n")
    (MEMORIES / "002-bad.md").write_text("---\nno header\n")
    assert _load_all_memories(MEMORIES) == [
        MemoryEntry(1, path.resolve(), "fine", ["a"], "2026-02-09T14:30:00Z", None, True)
    ]
    [record] = caplog.records
    assert (record.levelname, record.name) == ("WARNING", "co_cli.tools.memory")
    assert "002-bad.md" in record.getMessage()


def test_source_and_category_come_from_the_tags() -> None:
    assert (_detect_source(["python"]), _detect_category(["python"])) == ("user-told", None)
    assert _detect_source(["python", "correction"]) == "detected"
    assert _detect_category(["python", "decision", "pattern"]) == "decision"
    assert (_detect_source(None), _detect_category([])) == ("user-told", None)


def test_a_duplicate_is_the_same_text_and_the_score_is_only_a_score() -> None:
    entries = [
        MemoryEntry(1, Path("1"), "prefers tabs over spaces", [], ""),
        MemoryEntry(2, Path("2"), "User prefers pytest", [], ""),
    ]
    assert _check_duplicate("user prefers pytest!", entries, 85)[:2] == (True, entries[1])
    assert _check_duplicate("prefers spaces over tabs", entries, 85) == (False, entries[0], 100.0)
    assert _check_duplicate("something else", entries, 85)[:2] == (False, None)
    assert _check_duplicate("anything", [], 85) == (False, None, 0.0)


def test_the_documents_rule_is_a_setting() -> None:
    """Red when `consolidate` asks, or when without it a similar text takes the place of another."""
    run = Run(CoDeps(memory_dedup_action="consolidate"))
    save(run, "User prefers pytest over unittest", ["preference"])
    again = save(run, "User prefers pytest over unittests", ["testing"])
    assert (again["action"], again["memory_id"], again["similarity"]) == ("consolidated", 1, 99)
    assert "which is 99% similar, with your new wording" in again["display"]
    (entry,) = _load_all_memories(MEMORIES)
    assert (entry.content, entry.tags) == (
        "User prefers pytest over unittests",
        ["preference", "testing"],
    )
    assert entry.updated is not None
    run.deps.shelf().project.undo()
    assert [e.content for e in _load_all_memories(MEMORIES)] == [
        "User prefers pytest over unittest"
    ]
    assert save(Run(CoDeps()), "User prefers pytest over unittests")["action"] == "created"


def test_the_documents_rule_looks_at_recent_memories_and_leaves_what_is_set_apart() -> None:
    """Red when an old memory, or one set apart, or any from a text from outside, is reworded."""
    run = Run(CoDeps(memory_dedup_action="consolidate"))
    write_memory(1, "User prefers pytest over unittest")
    assert save(run, "User prefers pytest over unittests")["action"] == "created"
    book = run.deps.shelf().project
    for flag in ("protect", "pin", "sensitive"):
        book.mark(2, flag)
        assert book.plan_remember("User prefers pytest over unit tests").saved.action == "created"
        book.mark(2, flag, on=False)
    outside = {"trust": "external", "source": "mcp"}
    plan = book.plan_remember("User prefers pytest over unit tests", fields=outside)
    assert plan.saved.action == "created"
    assert book.plan_remember("User prefers pytest over unit tests").saved.action == "consolidated"


def test_the_fixtures_of_the_documents_make_deps() -> None:
    """Red when the fields that the documents pass are refused, or mean something."""
    assert CoDeps(settings={}, agent=None) == CoDeps()


def test_consolidating_by_hand_keeps_the_file_and_merges_tags() -> None:
    write_memory(1, "old words", "tags: [a]\n")
    (entry,) = _load_all_memories(MEMORIES)
    assert _update_existing_memory(entry, "new words", ["b"])["action"] == "consolidated"
    (entry,) = _load_all_memories(MEMORIES)
    assert (entry.content, entry.tags, entry.updated is not None) == ("new words", ["a", "b"], True)


@pytest.mark.parametrize(("strategy", "left"), [("summarize", [3, 4, 5, 6]), ("cut", [3, 4, 5])])
def test_decay_by_hand_takes_the_oldest(strategy: str, left: list[int]) -> None:
    for number in range(1, 6):
        write_memory(number, "abcdef"[number] * 9)
    deps = CoDeps(memory_max_count=5, memory_decay_percentage=0.4, memory_decay_strategy=strategy)
    result = _decay_memories(Run(deps), MEMORIES, _load_all_memories(MEMORIES))
    assert (result["decayed"], result["ids"], result["strategy"]) == (2, [1, 2], strategy)
    assert [entry.id for entry in _load_all_memories(MEMORIES)] == left
    assert _decay_memories(Run(CoDeps()), Path("nowhere/memories"))["decayed"] == 0


@pytest.mark.parametrize("strategy", ["summarize", "cut"])
def test_decay_takes_the_oldest_by_their_dates(strategy: str) -> None:
    """Red when numbers, or a date in the future, decide what is oldest; equals go by number."""
    for number, created in enumerate(
        [
            "2026-03-01T00:00:00Z",
            "2099-01-01T00:00:00Z",  # counts as today
            "2026-02-01T23:00:00-05:00",  # later than it looks
            "2026-02-02T01:00:00Z",
            "2026-02-02T01:00:00Z",
            "2025-12-31T00:00:00Z",
        ],
        1,
    ):
        write_memory(number, "abcdefg"[number] * 9, created=created)
    for share, expected in ((0.5, [6, 4, 5]), (1.0, [1, 2, 3, 4, 5, 6])):
        deps = CoDeps(
            memory_max_count=6, memory_decay_percentage=share, memory_decay_strategy=strategy
        )
        book = deps.shelf().project
        plan = book.plan_decay()
        assert plan is not None
        picked = [note.id for note in plan.saved.decayed]
        assert (picked if share < 1 else sorted(picked)) == expected
    assert picked == [6, 4, 5, 3, 1, 2]


def test_a_save_over_the_limit_decays_and_says_how_to_undo(run: Run) -> None:
    run.deps.memory_max_count = 3
    for letter in "abcd":
        result = save(run, letter * 9)
    assert result["decayed"] == [1, 2]
    assert "co knowledge undo" in result["display"]


def test_forget_takes_exactly_the_number_it_is_given(run: Run) -> None:
    write_memory(1, "one")
    write_memory(10, "ten")

    def forget(shelf: Shelf, ref: str) -> str:
        return str(COMMANDS["forget"].run(shelf, ref))

    assert forget(run.deps.shelf(), "1").startswith("Forgot memory 1: one")
    assert [entry.id for entry in _load_all_memories(MEMORIES)] == [10]
    with pytest.raises(NotFound, match="there is no memory 1") as gone:
        forget(run.deps.shelf(), "1")
    assert gone.value.hint == "It was archived; `co knowledge restore 1` brings it back."
    assert forget(run.deps.shelf(), " ").startswith("Usage: /forget <id>")


def test_deps_made_before_the_folder_changes_see_the_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    assert save(run, "Saved over there")["path"].startswith(str(elsewhere))


def test_an_article_that_is_not_there_is_named(run: Run) -> None:
    book, name = run.deps.shelf().place("a:python-asyncio")
    with pytest.raises(NotFound, match="there is no article python-asyncio"):
        book.find(name)


def test_the_five_settings_have_their_documented_defaults() -> None:
    assert Settings() == Settings(
        memory_max_count=200,
        memory_dedup_window_days=7,
        memory_dedup_threshold=85,
        memory_decay_strategy="summarize",
        memory_decay_percentage=0.2,
    )
