"""Import and export: what comes from elsewhere arrives once, and where it was stays untouched."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from co_cli.errors import CoError, FormatError, MovedOn, NotFound, RefusedText
from co_cli.knowledge.compare.same import same
from co_cli.knowledge.export import export
from co_cli.knowledge.format.note import Note, moment_of
from co_cli.knowledge.importers import jsonl, markdown
from co_cli.knowledge.importers.batch import ImportBatch
from co_cli.knowledge.importers.collect import collect, plan_import
from co_cli.knowledge.importers.legacy_json import add_to_context
from co_cli.knowledge.notebook import Notebook
from co_cli.knowledge.pages import Problem
from co_cli.knowledge.plan import ImportItem, ImportPlan
from co_cli.knowledge.safety import check

AT = "2026-03-01T12:00:00+00:00"
CHANGED = "2026-02-20T08:00:00+00:00"  # what `put` makes every file's time
CHANGED_SECONDS = datetime.fromisoformat(CHANGED).timestamp()

FULL = {
    "version": "1.0",
    "created": "2026-02-09T10:00:00",
    "updated": "2026-02-09T15:30:00",
    "user": {
        "name": "Alex Chen",
        "timezone": "America/Los_Angeles",
        "working_hours": "9am-6pm PT",
        "preferences": {"coding_style": "Prefer async/await over callbacks"},
        "notes": ["Works best with concrete examples"],
    },
    "project": {
        "name": "co-cli",
        "type": "python_cli",
        "architecture": ["Tool system with RunContext pattern"],
        "patterns": ["pytest for testing (no mocks)"],
        "conventions": ["Google-style docstrings"],
        "notes": ["XDG paths for config and data"],
    },
    "learned_facts": {
        "facts": ["Database is SQLite"],
        "corrections": ["Shell commands run in Docker, not directly"],
        "clarifications": ["'test' means pytest"],
    },
}

FULL_SECTIONS = [
    (
        "# User",
        [
            "- Name: Alex Chen",
            "- Timezone: America/Los_Angeles",
            "- Working hours: 9am-6pm PT",
            "- coding_style: Prefer async/await over callbacks",
            "- Works best with concrete examples",
        ],
    ),
    ("# Project", ["- Name: co-cli", "- Type: python_cli"]),
    ("## Architecture", ["- Tool system with RunContext pattern"]),
    ("## Patterns", ["- pytest for testing (no mocks)"]),
    ("## Conventions", ["- Google-style docstrings"]),
    ("## Notes", ["- XDG paths for config and data"]),
    ("# Learned", ["- Database is SQLite"]),
    ("## Corrections", ["- Shell commands run in Docker, not directly"]),
    ("## Clarifications", ["- 'test' means pytest"]),
]

FULL_CONTEXT = b"""---
version: 1
updated: "2026-03-01T12:00:00+00:00"
---

# User

- Name: Alex Chen
- Timezone: America/Los_Angeles
- Working hours: 9am-6pm PT
- coding_style: Prefer async/await over callbacks
- Works best with concrete examples

# Project

- Name: co-cli
- Type: python_cli

## Architecture

- Tool system with RunContext pattern

## Patterns

- pytest for testing (no mocks)

## Conventions

- Google-style docstrings

## Notes

- XDG paths for config and data

# Learned

- Database is SQLite

## Corrections

- Shell commands run in Docker, not directly

## Clarifications

- 'test' means pytest
"""


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A project of the old layout, with nothing in it yet."""
    project = tmp_path / "old"
    project.mkdir()
    return project


@pytest.fixture
def book(tmp_path: Path) -> Notebook:
    return make_book(tmp_path / "knowledge")


def make_book(root: Path) -> Notebook:
    return Notebook(root, clock=lambda: datetime.fromisoformat(AT))


def put(path: Path, content: Any) -> Path:
    """Write text, bytes, or anything else as JSON; the file's time is always CHANGED."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        text = content if isinstance(content, str) else json.dumps(content)
        path.write_text(text, encoding="utf-8", newline="")
    os.utime(path, (CHANGED_SECONDS, CHANGED_SECONDS))
    return path


def put_context(project: Path, content: Any) -> Path:
    return put(project / ".co-cli/internal/context.json", content)


def put_memories(project: Path, category: str, content: Any) -> Path:
    return put(project / f".co-cli/memories/{category}.json", content)


def bring_in(book: Notebook, batch: ImportBatch) -> ImportPlan:
    plan = plan_import(book, batch)
    if plan.change is not None:
        book.store.commit(plan.change)
    return plan


def contents(notes: Iterable[Note]) -> list[tuple[str, list[str], str]]:
    return [(note.body, note.tags, note.created) for note in notes]


def files_below(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# The old context.json


def test_a_full_old_context_becomes_sections(old: Path) -> None:
    path = put_context(old, FULL)
    assert collect(old) == ImportBatch(context=FULL_SECTIONS, sources=[str(path)])


def test_the_same_is_found_from_the_dot_folder_and_from_the_file(old: Path) -> None:
    path = put_context(old, FULL)
    renamed = put(old / "elsewhere.json", FULL)
    assert collect(old / ".co-cli") == collect(path) == collect(old)
    assert collect(renamed) == ImportBatch(context=FULL_SECTIONS, sources=[str(renamed)])


def test_a_full_old_context_becomes_a_context_file(old: Path, book: Notebook) -> None:
    put_context(old, FULL)
    bring_in(book, collect(old))
    assert Path(book.root, "context.md").read_bytes() == FULL_CONTEXT


@pytest.mark.parametrize(
    "empty",
    [
        {},
        {"version": "1.0"},
        {"version": "1.0", "user": {}, "project": {}, "learned_facts": {}},
        {"user": None, "project": {"name": None, "notes": None}, "learned_facts": {"facts": []}},
        {"user": {"name": " ", "preferences": {"style": ""}, "notes": [""]}},
    ],
)
def test_empty_old_knowledge_is_read_and_changes_nothing(
    old: Path, book: Notebook, empty: Any
) -> None:
    path = put_context(old, empty)
    batch = collect(old)
    assert batch == ImportBatch(sources=[str(path)])
    assert plan_import(book, batch).change is None


def test_the_minimal_old_context_is_enough(old: Path) -> None:
    path = put_context(
        old,
        {
            "version": "1.0",
            "user": {"name": "Alex"},
            "project": {"name": "co-cli"},
            "learned_facts": {},
        },
    )
    assert collect(old) == ImportBatch(
        context=[("# User", ["- Name: Alex"]), ("# Project", ["- Name: co-cli"])],
        sources=[str(path)],
    )


def test_a_sub_heading_brings_its_heading_along(old: Path) -> None:
    put_context(old, {"project": {"patterns": ["Uses pydantic-ai"]}})
    batch = collect(old)
    assert batch.context == [("# Project", []), ("## Patterns", ["- Uses pydantic-ai"])]
    assert (add_to_context(b"", batch.context, AT) or b"").decode() == (
        "# Project\n\n## Patterns\n\n- Uses pydantic-ai\n"
    )


def test_a_text_of_several_lines_stays_one_line_of_the_list(old: Path) -> None:
    put_context(old, {"user": {"notes": ["first\n  second\r\n\n# third"]}})
    assert collect(old).context == [("# User", ["- first second # third"])]


@pytest.mark.parametrize("version", ["2.0", "99.0", "", 1.0, 1, None, ["1.0"], {"1.0": "1.0"}])
def test_another_version_is_a_problem_and_the_file_is_left_alone(old: Path, version: Any) -> None:
    text = f'{{"user": {{"name": "Alex"}},\n"version": {json.dumps(version)}}}'
    path = put_context(old, text)
    problem = Problem(str(path), "Unsupported version (expected '1.0')")
    assert collect(old) == ImportBatch(problems=[problem])
    assert path.read_text() == text


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"user": "Alex"}, "Field 'user' must be an object"),
        ({"user": []}, "Field 'user' must be an object"),
        ({"user": {"name": 7}}, "Field 'user.name' must be a string"),
        ({"user": {"timezone": ["UTC"]}}, "Field 'user.timezone' must be a string"),
        (
            {"user": {"preferences": ["tabs"]}},
            "Field 'user.preferences' must be an object of strings",
        ),
        (
            {"user": {"preferences": {"tabs": True}}},
            "Field 'user.preferences' must be an object of strings",
        ),
        ({"user": {"notes": "one"}}, "Field 'user.notes' must be a list of strings"),
        ({"user": {"notes": {"a": "b"}}}, "Field 'user.notes' must be a list of strings"),
        ({"project": {"patterns": [1]}}, "Field 'project.patterns' must be a list of strings"),
        (
            {"learned_facts": {"corrections": [None]}},
            "Field 'learned_facts.corrections' must be a list of strings",
        ),
    ],
)
def test_a_wrong_type_is_named_and_nothing_of_the_file_is_imported(
    old: Path, wrong: dict[str, Any], reason: str
) -> None:
    path = put_context(old, {"version": "1.0", "user": {"name": "Alex"}} | wrong)
    before = path.read_bytes()
    assert collect(old) == ImportBatch(problems=[Problem(str(path), reason)])
    assert path.read_bytes() == before


def test_unknown_fields_are_reported_and_the_rest_goes_on(old: Path) -> None:
    path = put_context(
        old, {"mood": "good", "user": {"name": "Alex", "shoe_size": 43}, "project": {"x" * 99: 1}}
    )
    reason = f"unknown fields, left out: mood, user.shoe_size, project.{'x' * 32}"
    assert collect(old) == ImportBatch(
        context=[("# User", ["- Name: Alex"])],
        problems=[Problem(str(path), reason)],
        sources=[str(path)],
    )


def test_a_context_line_that_may_not_be_stored_is_reported_and_the_rest_goes_on(old: Path) -> None:
    path = put_context(
        old,
        {
            "user": {"preferences": {"password": "Tr0ub4dor&3xyz"}, "notes": ["likes tea"]},
            "project": {"patterns": ["zero\u200bwidth", "half \ud800 a pair"]},
        },
    )
    batch = collect(old)
    assert batch.context == [("# User", ["- likes tea"])]
    assert [(problem.path, problem.reason.split(" (rule")[0]) for problem in batch.problems] == [
        (str(path), "User: this looks like a password or key"),
        (str(path), "Patterns: line 1, column 5: U+200B ZERO WIDTH SPACE will not be stored"),
        (str(path), "Patterns: line 1, column 6: U+D800 NOT UTF8 will not be stored"),
    ]


def test_an_old_context_over_its_limit_is_imported_whole(old: Path, book: Notebook) -> None:
    facts = [f"Fact {number} " + "x" * 200 for number in range(120)]
    put_context(old, {"learned_facts": {"facts": facts}})
    bring_in(book, collect(old))
    written = Path(book.root, "context.md").read_text().splitlines()
    assert [line[2:] for line in written if line.startswith("- ")] == facts


@pytest.mark.parametrize(
    ("content", "reason", "line"),
    [
        (
            "{ invalid json }",
            "is not valid JSON: Expecting property name enclosed in double quotes",
            1,
        ),
        ('{"user":\n{"name": "A",,}}', "is not valid JSON: Expecting property name", 2),
        ("", "is not valid JSON: Expecting value", 1),
        ("[]", "must hold a JSON object", 1),
        ('"text"', "must hold a JSON object", 1),
        ("[" * 100_000, "is not valid JSON: nested too deeply, or a number too long", 0),
        ('{"a":' * 100_000, "is not valid JSON: nested too deeply, or a number too long", 0),
        (
            '{"version": ' + "9" * 5000 + "}",
            "is not valid JSON: nested too deeply, or a number too long",
            0,
        ),
        ('{"user": {"name": "A", "name": "B"}}', "is not valid JSON: 'name' appears twice", 0),
        (b'{"user": {"name": "\xff"}}', "is not UTF-8", 1),
        ('{"user": {}}'.encode("utf-16"), "is UTF-16, not UTF-8", 1),
        (b'{"user":\n\0{}}', "holds a NUL character", 2),
        (b" " * (8 * 1024 * 1024 + 1), "is larger than 8 MiB", 0),
    ],
    ids=lambda value: str(value)[:20],
)
def test_a_malformed_file_is_reported_left_alone_and_no_reason_to_stop(
    old: Path, content: str | bytes, reason: str, line: int
) -> None:
    path = put_context(old, content)
    before = path.read_bytes()
    facts = put_memories(old, "learned_facts", {"db": {"value": "Database is SQLite"}})
    batch = collect(old)
    assert [(problem.path, problem.line) for problem in batch.problems] == [(str(path), line)]
    assert batch.problems[0].reason.startswith(reason)
    assert batch.sources == [str(facts)]
    assert [item.text for item in batch.items] == ["Database is SQLite"]
    assert path.read_bytes() == before


def test_a_byte_order_mark_does_not_matter(old: Path) -> None:
    put_context(old, b"\xef\xbb\xbf" + json.dumps({"user": {"name": "Alex"}}).encode())
    assert collect(old).context == [("# User", ["- Name: Alex"])]


# The old memories


def test_three_categories_become_notes_in_the_order_of_their_age(old: Path, book: Notebook) -> None:
    preferences = put_memories(
        old,
        "user_preferences",
        {
            "async_style": {
                "value": "Prefers async/await",
                "timestamp": "2026-02-09T14:30:00.123456",
            }
        },
    )
    insights = put_memories(
        old,
        "project_insights",
        {"database": {"value": "SQLite is the database", "timestamp": "2026-02-09T13:00:00+02:00"}},
    )
    facts = put_memories(
        old,
        "learned_facts",
        {"tests": {"value": "Tests need Docker", "timestamp": "2026-02-09T12:00:00Z"}},
    )
    batch = collect(old)
    assert batch == ImportBatch(
        items=[
            ImportItem(
                "SQLite is the database",
                f"{insights}: database",
                ("context", "database"),
                "2026-02-09T13:00:00+02:00",
            ),
            ImportItem(
                "Tests need Docker", f"{facts}: tests", ("context", "tests"), "2026-02-09T12:00:00Z"
            ),
            ImportItem(
                "Prefers async/await",
                f"{preferences}: async_style",
                ("preference", "async_style"),
                "2026-02-09T14:30:00.123456",
            ),
        ],
        sources=[str(preferences), str(insights), str(facts)],
    )
    bring_in(book, batch)
    assert [
        (note.id, note.meta["source"], note.meta["auto_category"]) for note in book.notes()
    ] == [
        (1, "import", "context"),
        (2, "import", "context"),
        (3, "import", "preference"),
    ]
    assert contents(book.notes()) == [
        (item.text, list(item.tags), item.created) for item in batch.items
    ]


@pytest.mark.parametrize(
    "stamp", [None, "", "unknown", "2026-02-30T10:00:00", "yesterday", 7, "\ud800", ["x"]]
)
def test_a_memory_without_a_usable_time_has_that_of_its_file(old: Path, stamp: Any) -> None:
    put_memories(old, "learned_facts", {"db": {"value": "SQLite", "timestamp": stamp}})
    assert [item.created for item in collect(old).items] == [CHANGED]


@pytest.mark.parametrize("key", ["", " ", "k" * 65, "two\nlines", "zero\u200bwidth", "\ud800"])
def test_a_key_that_makes_no_tag_is_left_out_and_the_memory_is_not(old: Path, key: str) -> None:
    put_memories(old, "user_preferences", {key: {"value": "Prefers tabs"}})
    assert [(item.text, item.tags) for item in collect(old).items] == [
        ("Prefers tabs", ("preference",))
    ]


@pytest.mark.parametrize(
    ("content", "reason", "line"),
    [
        ('{"a":\n1}', "Field 'a' must be an object with a string as its 'value'", 0),
        (
            '{"a": {"value": "x"},\n"b": {"value": 1}}',
            "Field 'b' must be an object with a string as its 'value'",
            0,
        ),
        ('{\n"a": {}}', "Field 'a' must be an object with a string as its 'value'", 0),
        ('{"a": "x"', "is not valid JSON: Expecting ',' delimiter", 1),
        ("[]", "must hold a JSON object", 1),
    ],
)
def test_memories_of_the_wrong_shape_are_left_alone_and_other_files_go_on(
    old: Path, content: str, reason: str, line: int
) -> None:
    path = put_memories(old, "user_preferences", content)
    put_memories(old, "learned_facts", {"db": {"value": "Database is SQLite"}})
    batch = collect(old)
    assert [item.text for item in batch.items] == ["Database is SQLite"]
    assert batch.problems == [Problem(str(path), reason, line)]
    assert path.read_text() == content


def test_one_category_file_can_be_imported_by_itself(old: Path) -> None:
    put_context(old, FULL)
    path = put_memories(old, "learned_facts", {"db": {"value": "Database is SQLite"}})
    assert collect(path) == ImportBatch(
        items=[ImportItem("Database is SQLite", f"{path}: db", ("context", "db"), CHANGED)],
        sources=[str(path)],
    )


def test_a_text_saved_under_two_keys_becomes_one_note(old: Path, book: Notebook) -> None:
    put_memories(old, "user_preferences", {"a": {"value": "Prefers pytest"}})
    put_memories(old, "learned_facts", {"b": {"value": "prefers  pytest."}})
    plan = bring_in(book, collect(old))
    assert [item.text for item in plan.known] == ["prefers  pytest."]
    assert contents(book.notes()) == [("Prefers pytest", ["preference", "a"], CHANGED)]


def test_texts_that_may_not_be_stored_are_refused_and_the_rest_arrives(
    old: Path, book: Notebook
) -> None:
    path = put_memories(
        old,
        "learned_facts",
        {
            "half": {"value": "half \ud800 a pair"},
            "null": {"value": "a \0 b"},
            "empty": {"value": " "},
            "fine": {"value": "Database is SQLite"},
        },
    )
    plan = bring_in(book, collect(old))
    assert [problem.path for problem in plan.refused] == [
        f"{path}: half",
        f"{path}: null",
        f"{path}: empty",
    ]
    assert [note.body for note in book.notes()] == ["Database is SQLite"]


def test_importing_an_old_project_twice_changes_nothing_the_second_time(
    old: Path, book: Notebook
) -> None:
    """Red when add_to_context stops comparing lines, or plan_import texts."""
    put_context(old, FULL)
    put_memories(old, "learned_facts", {"db": {"value": "Database is SQLite"}})
    before = files_below(old)
    first = bring_in(book, collect(old))
    assert (len(first.added), first.context) == (1, FULL_CONTEXT)
    stored = files_below(Path(book.root))
    second = bring_in(book, collect(old))
    assert (second.change, second.added, second.context) == (None, [], None)
    assert files_below(Path(book.root)) == stored
    assert files_below(old) == before


def test_an_import_can_be_undone_in_one_step(old: Path, book: Notebook) -> None:
    put_context(old, FULL)
    put_memories(old, "learned_facts", {"db": {"value": "Database is SQLite"}})
    bring_in(book, collect(old))
    book.undo()
    assert book.notes() == []
    assert not Path(book.root, "context.md").exists()


# Markdown


def test_a_folder_of_markdown_is_read_in_a_fixed_order_without_hidden_parts(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    for name in ("2.md", "1.md", "sub/3.md", "sub/deeper/4.md", "README.md", "index.md"):
        put(vault / name, f"Text of {name}\n")
    for name in (".obsidian/e.md", ".hidden.md", "sub/.git/f.md", "notes.txt", "g.markdown"):
        put(vault / name, "not this one")
    names = ["1.md", "2.md", "README.md", "index.md", "sub/3.md", "sub/deeper/4.md"]
    paths = [str(vault / name) for name in names]
    assert collect(vault) == ImportBatch(
        items=[
            ImportItem(f"Text of {name}", path, tuple(name.split("/")[:-1]), CHANGED)
            for name, path in zip(names, paths, strict=True)
        ],
        sources=paths,
    )


def test_numbers_follow_the_age_of_the_notes(tmp_path: Path, book: Notebook) -> None:
    put(tmp_path / "vault/0.md", "---\ncreated: 2026-02-03T00:00:00Z\n---\nthird")
    put(tmp_path / "vault/1.md", "---\ncreated: 2026-02-02T01:00:00\n---\nsecond")
    put(tmp_path / "vault/2.md", "---\ncreated: 2026-02-02T02:00:00+02:00\n---\nfirst")
    put(tmp_path / "vault/3.md", "---\ncreated: 9999-12-31T23:59:59-12:00\n---\nlast")
    put(tmp_path / "vault/4.md", "---\ncreated: 0001-01-01T00:00:00+12:00\n---\nzeroth")
    bring_in(book, collect(tmp_path / "vault"))
    assert [note.body for note in book.notes()] == ["zeroth", "first", "second", "third", "last"]


def test_co_notes_keep_what_they_say_and_get_new_numbers(tmp_path: Path, book: Notebook) -> None:
    book.remember("Already here")
    path = put(
        tmp_path / "mem.md",
        "---\r\nid: mem-001\r\nuid: abc\r\ncreated: 2026-02-09T14:30:00Z\r\nsource: user-told\r\n"
        "tags: [python, style]\r\nexpires: 2027-01-01\r\ndecay_protected: true\r\n"
        "pinned: true\r\nsensitive: true\r\nscope: language\r\nlanguage: python\r\n"
        "related: [def]\r\n---\r\n\r\nUser prefers async/await.\r\nAlways.\r\n",
    )
    fields = (
        ("expires", "2027-01-01"),
        ("scope", "language"),
        ("language", "python"),
        ("decay_protected", True),
        ("sensitive", True),
    )
    text = "User prefers async/await.\nAlways."
    batch = collect(path)
    assert batch == ImportBatch(
        items=[ImportItem(text, str(path), ("python", "style"), "2026-02-09T14:30:00Z", fields)],
        sources=[str(path)],
        remarks=[Problem(str(path), "was pinned; here that is for you to say")],
    )
    (note,) = bring_in(book, batch).added
    assert note.meta == {
        "id": 2,
        "uid": note.uid,
        "created": "2026-02-09T14:30:00Z",
        "tags": ["python", "style"],
        "source": "import",
        **dict(fields),
    }
    assert note.uid != "abc"


@pytest.mark.parametrize(
    "line",
    [
        "scope: 7",
        "language: [a]",
        "language: ''",
        "language: " + "x" * 201,
        "language: https://me:Tr0ub4dor3@example.org/",
        'language: "zero\\u200bwidth"',
        'language: "two\\nlines"',
        "expires: soon",
        "expires: 20270101",
        "expires: 2027-02-30",
        "pinned: 1",
        "pinned: yes",
        "decay_protected: false",
        "scope: {a: b}",
        "check: rm -rf /",
        "auto_category: preference",
    ],
)
def test_a_header_field_of_the_wrong_kind_is_left_out(tmp_path: Path, line: str) -> None:
    path = put(tmp_path / "a.md", f"---\nid: 1\n{line}\n---\nText")
    assert collect(path) == ImportBatch(
        items=[ImportItem("Text", str(path), (), CHANGED)], sources=[str(path)]
    )


@pytest.mark.parametrize(
    ("header", "tags", "created", "text"),
    [
        ("tags: python, good style", ("python", "good style"), CHANGED, "Body"),
        ("tags: '#python #style'", ("python", "style"), CHANGED, "Body"),
        ("tags:\n- python\n-\n- no", ("python", "no"), CHANGED, "Body"),
        ("tags:", (), CHANGED, "Body"),
        ("date: 2025-05-06", (), "2025-05-06T00:00:00+00:00", "Body"),
        ("created: 2025-05-06", (), "2025-05-06T00:00:00+00:00", "Body"),
        ("created: nonsense\ndate: 2025-05-06", (), "2025-05-06T00:00:00+00:00", "Body"),
        ("created: 2025-05-06 07:08", (), "2025-05-06T07:08:00", "Body"),
        ("created: 20250506T070809Z", (), "2025-05-06T07:08:09+00:00", "Body"),
        ("created: 2025-05-06T07:08:09." + "1" * 999, (), "2025-05-06T07:08:09.111111", "Body"),
        ("created: 2025-02-30", (), CHANGED, "Body"),
        ("date: 2025", (), CHANGED, "Body"),
        ("title: A Title\ntype: note\npermalink: a/title", (), CHANGED, "A Title\n\nBody"),
        ("title: Body", (), CHANGED, "Body"),
        ("title: ' '", (), CHANGED, "Body"),
        ("title: 7", (), CHANGED, "Body"),
    ],
)
def test_headers_of_other_programs_are_understood(
    tmp_path: Path, header: str, tags: tuple[str, ...], created: str, text: str
) -> None:
    path = put(tmp_path / "1.md", f"---\n{header}\n---\n\nBody\n")
    assert collect(path).items == [ImportItem(text, str(path), tags, created)]


def test_a_title_is_not_said_twice_and_is_a_note_by_itself(tmp_path: Path) -> None:
    heading = put(tmp_path / "a.md", "---\ntitle: A Title\n---\n# A Title\n\nBody")
    alone = put(tmp_path / "b.md", "---\ntitle: A Title\n---\n")
    assert collect(heading).items[0].text == "# A Title\n\nBody"
    assert collect(alone).items[0].text == "A Title"


@pytest.mark.parametrize(
    ("content", "reason", "line"),
    [
        (b"---\nid: 1\nid: 2\n---\nText", "Invalid YAML in frontmatter: line 3: 'id' appears", 3),
        (b"---\nid: 1\ntags: {a: b}\n---\nText", "Field 'tags' must be a list of strings", 0),
        (b"---\nsource: &x [*x]\n---\nText", "Invalid YAML in frontmatter: line 2: anchors", 2),
        (b"one\n\xff", "is not UTF-8", 2),
        ("text".encode("utf-16"), "is UTF-16, not UTF-8", 1),
        (b"one\0", "holds a NUL character", 1),
    ],
)
def test_a_markdown_file_that_cannot_be_read_is_reported_and_left_alone(
    tmp_path: Path, content: bytes, reason: str, line: int
) -> None:
    bad = put(tmp_path / "vault/bad.md", content)
    good = put(tmp_path / "vault/good.md", "Good")
    batch = collect(tmp_path / "vault")
    assert [(problem.path, problem.line) for problem in batch.problems] == [(str(bad), line)]
    assert batch.problems[0].reason.startswith(reason)
    assert batch.sources == [str(good)]
    assert bad.read_bytes() == content


def test_a_header_that_is_never_closed_is_text(tmp_path: Path) -> None:
    path = put(tmp_path / "1.md", "---\nid: 1\n\nText")
    assert [item.text for item in collect(path).items] == ["---\nid: 1\n\nText"]


def test_a_text_no_note_can_hold_is_reported_before_it_takes_memory(tmp_path: Path) -> None:
    path = put(tmp_path / "a.md", "x" * (check.MAX_TEXT + 1))
    reason = "the text is longer than 16384 bytes; a note holds no more"
    assert collect(path) == ImportBatch(problems=[Problem(str(path), reason)], sources=[str(path)])


@pytest.mark.parametrize("place", [".", ".co-cli/knowledge", "knowledge"])
def test_a_knowledge_folder_gives_its_memories_and_keeps_the_rest(
    tmp_path: Path, place: str
) -> None:
    other = tmp_path / "other"
    put(other / "README.md", "not this one")
    context = put(other / place / "context.md", "# User\n")
    web = put(other / place / "articles/web.md", "# Web\n\nA page")
    fetched = moment_of(web.stat().st_mtime_ns)
    told = (("fetched", fetched), ("source", str(web)), ("title", "Web"))
    put(other / place / "memories/sub/c.md", "not this one")
    note = put(other / place / "memories/001-a.md", "---\nid: 1\ncreated: 2026-01-01\n---\nA")
    reason = "left alone: only the notes of a knowledge folder are imported"
    assert collect(other) == ImportBatch(
        items=[ImportItem("A", str(note), (), "2026-01-01T00:00:00+00:00")],
        articles=[ImportItem("# Web\n\nA page", str(web), (), "", told)],
        problems=[Problem(str(context), reason)],
        sources=[str(web), str(note)],
    )


def test_a_notebook_can_be_imported_into_another(tmp_path: Path, book: Notebook) -> None:
    other = make_book(tmp_path / "other")
    other.remember("User prefers tabs", ["preference"], fields={"decay_protected": True})
    other.remember("Deploys on Fridays", ["context"], fields={"expires": "2027-01-01"})
    batch = collect(tmp_path / "other")
    assert bring_in(book, batch).refused == []
    assert contents(book.notes()) == contents(other.notes())
    assert plan_import(book, batch).change is None


def test_links_and_pipes_below_a_folder_are_not_followed(tmp_path: Path) -> None:
    secret = put(tmp_path / "outside/secret.md", "Secret")
    vault = tmp_path / "vault"
    good = put(vault / "good.md", "Good")
    (vault / "link.md").symlink_to(secret)
    (vault / "gone.md").symlink_to(vault / "nowhere")
    (vault / "folder").symlink_to(secret.parent)
    (vault / "loop").symlink_to(vault)
    (vault / "round.md").symlink_to(vault / "round.md")
    os.mkfifo(vault / "pipe.md")
    (vault / "memories").symlink_to(secret.parent)
    batch = collect(vault)
    link = "is a symbolic link; Co reads only real files here"
    assert batch == ImportBatch(
        items=[ImportItem("Good", str(good), (), CHANGED)],
        problems=[
            Problem(str(vault / "gone.md"), link),
            Problem(str(vault / "link.md"), link),
            Problem(str(vault / "pipe.md"), "is a pipe, not a file"),
            Problem(str(vault / "round.md"), link),
        ],
        sources=[str(good)],
    )


def test_old_files_that_are_links_are_reported(old: Path, tmp_path: Path) -> None:
    put(tmp_path / "outside.json", FULL)
    path = old / ".co-cli/internal/context.json"
    path.parent.mkdir(parents=True)
    path.symlink_to(tmp_path / "outside.json")
    reason = "is a symbolic link; Co reads only real files here"
    assert collect(old) == ImportBatch(problems=[Problem(str(path), reason)])


@pytest.mark.parametrize("name", ["notes.md", "notes.json", "notes.jsonl"])
def test_a_link_that_the_person_names_is_followed(tmp_path: Path, name: str) -> None:
    content = {"notes.md": "Text", "notes.json": FULL, "notes.jsonl": '{"content": "Text"}'}[name]
    put(tmp_path / f"real/{name}", content)
    link = tmp_path / name
    link.symlink_to(tmp_path / f"real/{name}")
    batch = collect(link)
    assert (batch.problems, batch.sources) == ([], [str(link)])
    folder = tmp_path / "linked"
    folder.symlink_to(tmp_path / "real")
    if name == "notes.md":
        assert collect(folder).sources == [str(folder / name)]


def dig(top: Path, depth: int, name: str) -> None:
    """Make folders in folders, and a note at the bottom, also where no path reaches."""
    here = os.open(top, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir(name, dir_fd=here)
        below = os.open(name, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(os.open("bottom.md", os.O_WRONLY | os.O_CREAT, dir_fd=here))
    os.close(here)


def test_a_folder_deeper_than_any_stack_is_no_trouble(tmp_path: Path) -> None:
    top = tmp_path / "deep"
    put(top / "a.md", "Top")
    dig(top, 1200, "d")
    try:
        names = [os.path.basename(path) for path in collect(top).sources]
    finally:
        subprocess.run(["rm", "-r", top], check=True)  # pytest's own removal recurses
    assert names == ["a.md", "bottom.md"]


def test_a_path_too_long_to_open_is_reported(tmp_path: Path) -> None:
    path = put(tmp_path / "deep/a.md", "Top")
    dig(tmp_path / "deep", 30, "d" * 200)
    batch = collect(tmp_path / "deep")
    assert [problem.reason for problem in batch.problems] == ["cannot be read: File name too long"]
    assert batch.sources == [str(path)]


def test_more_files_than_the_limit_are_said_to_be_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(markdown, "MAX_FILES", 3)
    for number in range(5):
        put(tmp_path / f"files/{number}.md", f"Text {number}")
        put(tmp_path / f"folders/{number}/1.md", f"Text {number}")
    reason = "holds more than 3 files or folders; the rest was left out"
    files, folders = collect(tmp_path / "files"), collect(tmp_path / "folders")
    assert files.problems == [Problem(str(tmp_path / "files"), reason)]
    assert folders.problems == [Problem(str(tmp_path / "folders"), reason)]
    assert [item.text for item in files.items] == ["Text 0", "Text 1", "Text 2"]
    assert [item.text for item in folders.items] == ["Text 0", "Text 1"]


# JSON Lines


EXTERNAL = (("trust", "external"),)


@pytest.mark.parametrize("name", ["notes.jsonl", "notes.NDJSON"])
def test_json_lines_become_notes(tmp_path: Path, name: str) -> None:
    path = put(
        tmp_path / name,
        "\ufeff"
        '{"content": "One", "tags": ["a"], "created": "2026-02-01T00:00:00Z", "pinned": true}\r\n'
        "\n   \n"
        '{"text": "Two", "content": null, "tags": "b, c", "source": "mcp", "id": 9}\n'
        '{"content": "Three", "created": "2026-01-01"}',
    )
    assert collect(path) == ImportBatch(
        items=[
            ImportItem("Three", f"{path}:5", (), "2026-01-01T00:00:00+00:00", EXTERNAL),
            ImportItem("One", f"{path}:1", ("a",), "2026-02-01T00:00:00Z", EXTERNAL),
            ImportItem(
                "Two", f"{path}:4", ("b", "c"), CHANGED, (("trust", "external"), ("source", "mcp"))
            ),
        ],
        sources=[str(path)],
        remarks=[Problem(f"{path}:1", "was pinned; here that is for you to say")],
    )


def test_bad_lines_are_reported_by_their_number_and_the_others_arrive(tmp_path: Path) -> None:
    lines = [
        b'{"content": "One"}',
        b"not json",
        b"[1]",
        b'{"content": 1}',
        b"{}",
        b'{"content": "x", "tags": [1]}',
        b'{"content": "x", "tags": {"a": 1}}',
        b'{"content": "x", "content": "y"}',
        b'{"content": "' + b"x" * 3 * jsonl.MAX_LINE + b'"}',
        b'{"content": "\xff"}',
        b'{"content": "\0"}',
        b"[" * 100_000,
        b'{"content": ' + b"9" * 5000 + b"}",
        b'{"content": "' + b"x" * 20_000 + b'"}',
        b'{"content": "Two"}',
    ]
    path = put(tmp_path / "notes.jsonl", b"\n".join(lines))
    batch = collect(path)
    assert [item.text for item in batch.items] == ["One", "Two"]
    assert [(problem.path, problem.line, problem.reason) for problem in batch.problems] == [
        (str(path), 2, "is not valid JSON: Expecting value"),
        (str(path), 3, "must be a JSON object"),
        (str(path), 4, "Field 'content' must be a string"),
        (str(path), 5, "Field 'content' must be a string"),
        (str(path), 6, "Field 'tags' must be a list of strings"),
        (str(path), 7, "Field 'tags' must be a list of strings"),
        (str(path), 8, "is not valid JSON: 'content' appears twice"),
        (str(path), 9, "the line is longer than 16384 KiB"),
        (str(path), 10, "is not UTF-8"),
        (str(path), 11, "holds a NUL character"),
        (str(path), 12, "is not valid JSON: nested too deeply, or a number too long"),
        (str(path), 13, "is not valid JSON: nested too deeply, or a number too long"),
        (f"{path}:14", 0, "the text is longer than 16384 bytes; a note holds no more"),
    ]
    assert path.read_bytes() == b"\n".join(lines)


def test_a_file_of_bad_lines_only_is_given_up(tmp_path: Path) -> None:
    path = put(tmp_path / "notes.jsonl", "no\n" * 5000)
    batch = collect(path)
    assert len(batch.problems) == jsonl.MAX_BAD_LINES + 1
    assert batch.problems[-1] == Problem(str(path), "100 bad lines; the rest was not read", 100)


def test_an_empty_file_of_lines_holds_nothing_and_is_no_error(tmp_path: Path) -> None:
    path = put(tmp_path / "notes.jsonl", "")
    assert collect(path) == ImportBatch(sources=[str(path)])


def test_lines_from_a_pipe_are_not_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "notes.jsonl"
    os.mkfifo(path)
    assert collect(path) == ImportBatch(problems=[Problem(str(path), "is not a plain file")])


# Nothing to import


@pytest.mark.parametrize("name", ["nowhere", "nowhere.md", "a\0b", "half\ud800", "file.md/below"])
def test_nothing_there_is_not_found(tmp_path: Path, name: str) -> None:
    put(tmp_path / "file.md", "Text")
    with pytest.raises(NotFound, match="there is nothing at"):
        collect(tmp_path / name)


def test_a_link_to_itself_is_an_error_in_words(tmp_path: Path) -> None:
    path = tmp_path / "round"
    path.symlink_to(path)
    with pytest.raises(CoError, match="Too many levels of symbolic links"):
        collect(path)


@pytest.mark.parametrize(
    ("name", "content"),
    [("empty/nothing.txt", "x"), ("settings.json", "{}"), ("notes.txt", "x"), ("none", "x")],
)
def test_what_holds_nothing_to_import_is_told_what_co_looks_for(
    tmp_path: Path, name: str, content: str
) -> None:
    put(tmp_path / name, content)
    with pytest.raises(CoError, match="holds nothing to import") as caught:
        collect(tmp_path / name.partition("/")[0])
    for word in ("context.json", "memories/*.json", "markdown", ".md", ".jsonl", ".ndjson"):
        assert word in caught.value.hint


# The context file


def merged(old: str, *sections: tuple[str, list[str]]) -> str:
    found = add_to_context(old.encode(), list(sections), AT)
    assert found is not None
    assert add_to_context(found, list(sections), AT) is None
    return found.decode()


def test_new_lines_go_to_the_end_of_the_file_under_their_headings() -> None:
    old = (
        "---\nversion: 1 # ours\nupdated: 2026-01-01T00:00:00Z\nmine: yes\n---\n"
        "# User\n\n- Name: Bin\n\n\n# Project\n* Type: CLI\nThe end.\n"
    )
    assert merged(
        old,
        ("# User", ["- Name: Bin", "- Name: Alex"]),
        ("# Project", []),
        ("## Notes", ["- XDG paths"]),
        ("## Patterns", ["- pytest"]),
        ("# Learned", ["- SQLite"]),
        ("## Corrections", ["- Runs in Docker"]),
    ) == (
        f'---\nversion: 1 # ours\nupdated: "{AT}"\nmine: yes\n---\n'
        "# User\n\n- Name: Bin\n\n\n# Project\n* Type: CLI\nThe end.\n"
        "\n# User\n\n- Name: Alex\n\n# Project\n\n## Notes\n\n- XDG paths\n"
        "\n## Patterns\n\n- pytest\n"
        "\n# Learned\n\n- SQLite\n\n## Corrections\n\n- Runs in Docker\n"
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("", "# User\n\n- A\n"),
        ("\n", "\n# User\n\n- A\n"),
        ("# User", "# User\n\n# User\n\n- A\n"),
        ("# Mine\n- B", "# Mine\n- B\n\n# User\n\n- A\n"),
        ("\ufeff- B\r\n\r\n", "\ufeff- B\r\n\r\n# User\r\n\r\n- A\r\n"),
        ("Hello\r\n", "Hello\r\n\r\n# User\r\n\r\n- A\r\n"),
        ("~~~\n# User\n", "~~~\n# User\n\n# User\n\n- A\n"),
        ("---\nno header\n", "---\nno header\n\n# User\n\n- A\n"),
        (
            f"---\nversion: 1\nupdated: '{AT}'\n---",
            f"---\nversion: 1\nupdated: '{AT}'\n---\n\n# User\n\n- A\n",
        ),
        (
            f"\ufeff---\r\nversion: 1\r\nupdated: '{AT}'\r\n---\r\n\r\n",
            f"\ufeff---\r\nversion: 1\r\nupdated: '{AT}'\r\n---\r\n\r\n# User\r\n\r\n- A\r\n",
        ),
    ],
)
def test_nothing_else_in_the_file_changes(old: str, new: str) -> None:
    assert merged(old, ("# User", ["- A", "- A"])) == new


def test_a_line_that_is_anywhere_in_the_file_is_not_added_again() -> None:
    old = b"# Mine\n\n   - Name: Alex\r\n"
    assert add_to_context(old, [("# User", ["- Name: Alex"])], AT) is None
    assert add_to_context(old, [], AT) is None
    assert add_to_context(None, [("# User", [])], AT) is None


@pytest.mark.parametrize(
    ("old", "reason", "line"),
    [
        (b"---\nversion: 2\nupdated: x\n---\n", "Unsupported version: 2 (expected 1)", 0),
        (b"---\n{\n---\n", "Invalid YAML in frontmatter", 3),
        (b"one\n\xff", "is not UTF-8", 2),
    ],
)
def test_a_context_file_that_cannot_be_read_is_left_alone_and_the_notes_arrive(
    old: bytes, reason: str, line: int, book: Notebook
) -> None:
    path = put(Path(book.root, "context.md"), old)
    batch = ImportBatch(items=[ImportItem("Text", "here")], context=[("# User", ["- Name: Alex"])])
    plan = bring_in(book, batch)
    assert [(problem.path, problem.line) for problem in plan.refused] == [(str(path), line)]
    assert plan.refused[0].reason.startswith(f"left alone: {reason}")
    assert path.read_bytes() == old
    assert [note.body for note in book.notes()] == ["Text"]
    assert plan_import(book, ImportBatch(items=[ImportItem("More", "here")])).refused == []


def test_a_context_file_never_grows_too_large_to_be_read_again() -> None:
    old = b"# User\n" + b"x" * (8 * 1024 * 1024 - 10)
    with pytest.raises(FormatError, match="too large"):
        add_to_context(old, [("# User", ["- Name: Alex"])], AT)


def test_a_hand_edit_during_the_planning_is_not_overwritten(tmp_path: Path) -> None:
    """Red when plan_import no longer compares what it read with what the change replaces."""
    path = put(tmp_path / "knowledge/context.md", "# User\n")

    class Edited(Notebook):
        def plan_import(self, *args: Any, **options: Any) -> ImportPlan:
            path.write_text("# Mine\n")
            return super().plan_import(*args, **options)

    with pytest.raises(MovedOn):
        plan_import(
            Edited(tmp_path / "knowledge"), ImportBatch(context=[("# User", ["- Name: Alex"])])
        )
    assert path.read_text() == "# Mine\n"


LINES = st.sampled_from(
    [
        "",
        "# User",
        "# Project",
        "## Notes",
        "### Deep",
        "- A",
        "  - B",
        "* C",
        "text",
        "```",
        "~~~~",
    ]
)
ENDS = st.sampled_from(["\n", "\r\n", "\n\n"])
HEADS = st.sampled_from(["", "\ufeff", f"---\nversion: 1\nupdated: '{AT}'\n---\n"])
BULLETS = st.lists(st.sampled_from(["- A", "- B", "- D", "- E", "- # User"]), max_size=4)
SECTIONS = st.lists(
    st.tuples(st.sampled_from(["# User", "# Project", "## Notes", "# New"]), BULLETS), max_size=5
)


@given(HEADS, st.lists(LINES, max_size=12), ENDS, st.booleans(), SECTIONS)
def test_merging_keeps_every_line_adds_every_bullet_and_is_done_after_once(
    head: str, body: list[str], end: str, closed: bool, sections: list[tuple[str, list[str]]]
) -> None:
    old = head + end.join(body) + (end if closed else "")
    found = add_to_context(old.encode(), sections, AT)
    wanted = {bullet for _, bullets in sections for bullet in bullets}
    before = old.removeprefix("\ufeff").removesuffix("\n").split("\n")
    there = {line.strip() for line in before}
    if found is None:
        assert wanted <= there
        return
    new = found.decode().removeprefix("\ufeff").split("\n")
    rest = iter(line.removesuffix("\r") for line in new)
    assert all(line.removesuffix("\r") in rest for line in before)
    lines = [line.strip() for line in new]
    assert wanted <= set(lines)
    assert all(lines.count(bullet) == 1 for bullet in wanted - there)
    assert add_to_context(found, sections, AT) is None


# Export


def test_an_export_says_everything_about_a_note(book: Notebook) -> None:
    note = book.remember(
        "Text", ["preference", "b"], fields={"decay_protected": True, "expires": "2027-01-01"}
    ).note
    put(
        Path(book.memories, "007-by-hand.md"),
        "---\nid: 7\ncreated: 2026-02-01T00:00:00\nrelated: [a]\nsupersedes: {b: c}\nverified:\n"
        "trust: 1.0e999\nmine: 1\n---\nBy hand",
    )
    assert list(export(book)) == [
        {
            "id": 1,
            "uid": note.meta["uid"],
            "created": AT,
            "tags": ["preference", "b"],
            "source": "detected",
            "expires": "2027-01-01",
            "decay_protected": True,
            "auto_category": "preference",
            "content": "Text",
        },
        {
            "id": 7,
            "uid": "7",
            "created": "2026-02-01T00:00:00",
            "tags": [],
            "trust": "external",
            "related": ["a"],
            "content": "By hand",
        },
    ]
    assert json.loads(json.dumps(list(export(book)), allow_nan=False)) == list(export(book))


def _storable(text: str) -> bool:
    try:
        return check.check_text(text) == text
    except RefusedText:
        return False


def _is_tag(text: str) -> bool:
    try:
        return check.clean_tags([text]) == [text]
    except RefusedText:
        return False


MOMENTS = st.datetimes(timezones=st.sampled_from([None, UTC])).map(
    lambda moment: moment.isoformat()
)
TEXTS = st.lists(
    st.one_of(
        st.text(min_size=1, max_size=40), st.sampled_from(["---", "a\r\nb", "# A: [b]"])
    ).filter(_storable),
    max_size=5,
)
TAGS = st.lists(st.text(min_size=1, max_size=10).filter(_is_tag), max_size=3, unique=True)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(TEXTS, TAGS, MOMENTS, st.booleans())
def test_an_export_imported_into_an_empty_notebook_gives_the_same_notes(
    tmp_path_factory: pytest.TempPathFactory,
    texts: list[str],
    tags: list[str],
    created: str,
    protected: bool,
) -> None:
    folder = tmp_path_factory.mktemp("trip")
    book, empty = make_book(folder / "book"), make_book(folder / "empty")
    fields = (("decay_protected", True),) if protected else ()
    bring_in(
        book,
        ImportBatch([ImportItem(text, "here", tuple(tags), created, fields) for text in texts]),
    )
    path = put(folder / "out.jsonl", "".join(json.dumps(line) + "\n" for line in export(book)))
    plan = bring_in(empty, collect(path))
    assert plan.refused == []
    assert contents(empty.notes()) == contents(book.notes())
    assert [note.protected for note in empty.notes()] == [note.protected for note in book.notes()]
    assert len(book.notes()) <= len(texts)
    assert all(any(same(note.body, text) for note in book.notes()) for text in texts)
    assert plan_import(empty, collect(path)).change is None


# Whatever is in a file

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from("version user project learned_facts name notes value timestamp".split())
            | st.text(max_size=3),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)
FILES = st.sampled_from(
    ["notes.md", "notes.jsonl", "context.json", "learned_facts.json", "other.json"]
)
HEADER_LINES = st.sampled_from(
    [
        "tags: [a, b]",
        "tags: x y",
        "created: 2026-01-01",
        "title: T",
        "date: 1",
        "source: &a b",
        "? x",
    ]
)
BYTES = (
    st.binary(max_size=60)
    | JSON.map(lambda value: json.dumps(value).encode())
    | st.lists(HEADER_LINES, max_size=4).map(
        lambda lines: "\n".join(["---", *lines, "---", "Text"]).encode()
    )
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(FILES, BYTES)
def test_no_file_makes_an_import_fail_in_an_unexpected_way_or_changes(
    tmp_path_factory: pytest.TempPathFactory, name: str, content: bytes
) -> None:
    folder = tmp_path_factory.mktemp("any")
    path = put(folder / name, content)
    book = make_book(folder / "book")
    try:
        batch = collect(path)
    except CoError:
        return
    finally:
        assert path.read_bytes() == content
    bring_in(book, batch)
    assert plan_import(book, batch).change is None
    assert book.notes() is not None
    assert book.look().problems == []
