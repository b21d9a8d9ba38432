"""What other assistants kept becomes drafts, never memories; every sample of the page is tried."""

import asyncio
import json
import re
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from cli import Terminal, co, in_time

from co_cli import paths
from co_cli.chat import notes
from co_cli.deps import CoDeps
from co_cli.errors import CoError
from co_cli.knowledge import Notebook
from co_cli.knowledge.importers import exports
from co_cli.knowledge.importers.assistants import (
    FROM_OUTSIDE,
    IMPORTED,
    assistant_of,
    places,
    read_files,
)
from co_cli.knowledge.importers.instructions import facts
from co_cli.knowledge.inbox import waiting
from co_cli.tools.memory import recall_memory

PAGE = Path(__file__).parent.parent / "docs/import.md"
NO_CHATS: dict[str, Any] = {"title": "T", "create_time": 1.0, "mapping": {}, "current_node": None}


@pytest.fixture
def work() -> Path:
    """The folder that one works in."""
    return Path.cwd()


def sample(name: str) -> str:
    """The sample that stands below a file's name on the page."""
    text = PAGE.read_text(encoding="utf-8").partition(f"`{name}`")[2]
    return text.partition("```text\n")[2].partition("```")[0]


def write(folder: Path, *names: str) -> Path:
    """These samples as files below a folder; the first one's path."""
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(sample(name), encoding="utf-8")
    return folder / names[0]


@pytest.mark.parametrize(
    ("names", "folder", "expected"),
    [
        (
            ("memory/MEMORY.md", "memory/deploys.md"),
            True,
            [
                ("The staging database is reset every Sunday.", ()),
                ("When we deploy: We deploy on Tuesdays, never on Fridays.", ("project",)),
            ],
        ),
        (
            ("GEMINI.md",),
            False,
            [
                ("Ask before you add a dependency.", ("house-rules",)),
                ("The user prefers pnpm to npm.", ("gemini-added-memories",)),
                ("The user lives in Lisbon.", ("gemini-added-memories",)),
            ],
        ),
        (
            ("memories/MEMORY.md",),
            True,
            [("billing service: Run the migrations before the tests.", ())],
        ),
        (("rules/api.mdc",), True, [("Style of the API: Answer errors as problem+json.", ())]),
    ],
)
def test_files_of_other_assistants_become_drafts(
    tmp_path: Path, names: tuple[str, ...], folder: bool, expected: list[tuple[str, tuple[str]]]
) -> None:
    first = write(tmp_path, *names)
    drafts, batch = read_files(str(first.parent if folder else first))
    assert [(draft.text, draft.tags) for draft in drafts] == expected
    assert not batch.problems


@pytest.mark.parametrize(
    ("name", "whose", "expected"),
    [
        ("conversations.json", "ChatGPT", ["Lives in Porto.", "Is allergic to peanuts."]),
        ("mem0.json", "mem0", ["Prefers dark mode"]),
        (
            "memory.jsonl",
            "MCP memory",
            ["Ana works on search", "Ana: joined in 2024", "Ana helps with Billing"],
        ),
    ],
)
def test_exports_become_drafts(tmp_path: Path, name: str, whose: str, expected: list[str]) -> None:
    export = exports.read_export(str(write(tmp_path, name)))
    assert export is not None
    assert (export.whose, [draft.text for draft in export.drafts]) == (whose, expected)


def test_what_chatgpt_was_told_to_remember_quotes_the_person(tmp_path: Path) -> None:
    export = exports.read_export(str(write(tmp_path, "conversations.json")))
    assert export is not None
    lives, allergic = export.drafts
    assert lives.quote == "I moved to Porto. Remember it."
    assert allergic.created.startswith("2026-01-01")
    turns = [("person", "I moved to Porto. Remember it."), ("co", "Noted.")]
    assert [(chat.title, chat.turns) for chat in export.chats] == [("Trip", turns)]


def test_a_zip_file_of_claudes_is_read_without_unpacking(tmp_path: Path) -> None:
    text = sample("memories.json")
    said = [{"sender": "human", "text": "Hello"}, {"sender": "assistant", "text": "Hello!"}]
    talk = {"uuid": "1", "name": "Hi", "created_at": "2026-01-01T00:00:00Z", "chat_messages": said}
    with zipfile.ZipFile(tmp_path / "export.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("users.json", "[]")
        archive.writestr("memories.json", text)
        archive.writestr("conversations.json", json.dumps([talk] * 3))
    export = exports.read_export(str(tmp_path / "export.zip"))
    assert export is not None
    assert export.whose == "Claude"
    assert [(draft.text, draft.tags) for draft in export.drafts] == [
        ("Leads the billing team.", ("work-context",)),
        ("Likes short answers.", ("preferences",)),
        ("The project uses Rust.", ()),
    ]
    assert [chat.turns for chat in export.chats] == [[("person", "Hello"), ("co", "Hello!")]] * 3


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("conversations.json", json.dumps([NO_CHATS, {"version": 9, "threads": []}])),
        ("conversations.json", json.dumps([NO_CHATS])[:-3]),
        ("conversations.json", '{"conversations": []}'),
        ("conversations.json", "[" * 100_000),
        ("conversations.json", '[{"mapping": {}}, 7]'),
        ("conversations.json", '[{"mapping": null}]'),
        ("conversations.json", '[{"mapping": [1, 2]}]'),
        ("conversations.json", '[{"mapping": {"a": 1}}]'),
        ("conversations.json", '[{"chat_messages": "x"}]'),
        ("conversations.json", '[{"mapping": {}} {"mapping": {}}]'),
        ("conversations.json", '[{"mapping": {}, "n": ' + "9" * 5000 + "}]"),
        ("memories.json", '[{"conversations_memory": 5}]'),
        ("mem0.json", '[{"memory": "a fact", "categories": 5}]'),
        ("mem0.json", '{"entities": 5, "relations": []}'),
        ("mem0.json", '{"results": [{"memory": "a fact"}, {"memory": 7}]}'),
        (
            "memory.jsonl",
            '{"type": "entity", "name": "Ana", "entityType": "x"}\n{"type": "entity"}',
        ),
    ],
)
def test_a_shape_that_is_not_known_is_refused_whole(tmp_path: Path, name: str, text: str) -> None:
    """Red when what was read before the trouble is imported all the same."""
    (tmp_path / name).write_text(text)
    with pytest.raises(CoError, match=re.escape(name)) as refused:
        exports.read_export(str(tmp_path / name))
    assert refused.value.hint.startswith("Nothing was imported.")
    result = co("import", str(tmp_path / name), "--yes")
    assert (result.code, not result.out) == (1, True)


def test_a_conversation_that_goes_round_in_circles_ends(tmp_path: Path) -> None:
    content = {"content_type": "text", "parts": ["x"]}
    message = {"author": {"role": "user"}, "recipient": "all", "content": content}
    node = {"parent": "a", "message": message}
    talk = NO_CHATS | {"mapping": {"a": node}, "current_node": "a"}
    (tmp_path / "conversations.json").write_text(json.dumps([talk]))
    export = exports.read_export(str(tmp_path / "conversations.json"))
    assert export is not None
    assert len(export.chats[0].turns) <= 2


def test_a_long_list_is_read_piece_by_piece(tmp_path: Path) -> None:
    long = [NO_CHATS | {"title": f"{number} " + "x" * 300_000} for number in range(12)]
    (tmp_path / "conversations.json").write_text(json.dumps(long))
    export = exports.read_export(str(tmp_path / "conversations.json"))
    assert export is not None
    assert [chat.title.split()[0] for chat in export.chats] == [str(n) for n in range(12)]


@pytest.mark.parametrize("name", ["notes.json", "export.jsonl", "README.md", "vault"])
def test_what_is_no_assistants_is_left_to_the_other_importers(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    if name == "vault":
        path.mkdir()
    else:
        path.write_text('{"content": "We deploy on Tuesdays"}')
    assert (exports.read_export(str(path)), assistant_of(str(path))) == (None, "")


def test_known_places_are_named_and_not_opened(tmp_path: Path) -> None:
    """Red when a place is read before the person chose it."""
    project = tmp_path / "here"
    slug = re.sub(r"[^A-Za-z0-9]", "-", str(project))
    write(tmp_path / ".claude/projects" / slug, "memory/MEMORY.md")
    write(project, "GEMINI.md")
    (tmp_path / ".codex").mkdir()
    (tmp_path / ".codex/memories").symlink_to("/nonexistent")
    found = places(str(project), str(tmp_path), {})
    assert [(place.name, place.own) for place in found] == [
        ("Claude Code's memory of this project", False),
        ("Codex's memories", True),
        ("GEMINI.md of this project", False),
    ]


def test_import_puts_facts_into_the_inbox_and_never_into_memories(work: Path) -> None:
    """Red when an import of another assistant's writes a memory."""
    export = write(work / "in", "conversations.json")
    asked = co("import", str(export))
    assert "3 facts to import" in asked.out
    assert asked.code == 1
    book = Notebook(paths.user_knowledge(), scope="user")
    assert waiting(book) == []
    done = co("import", str(export), "--yes")
    assert "3 drafts put into the inbox" in done.out
    bodies = ["I moved to Porto.", "Is allergic to peanuts.", "Lives in Porto."]
    assert sorted(draft.body for draft in waiting(book)) == bodies
    assert book.notes() == []
    again = co("import", str(export), "--yes")
    assert again.out.endswith("Nothing new to import. Known, or rejected before: 3.\n")


def test_what_the_person_said_of_themselves_becomes_a_draft(work: Path) -> None:
    """Red when what the other assistant said is taken for the person's words."""
    said = [
        {"sender": "human", "text": "I'm allergic to shellfish."},
        {"sender": "assistant", "text": "I'm allergic to nothing. You are a night owl."},
    ]
    talk = {"uuid": "1", "name": "Dinner", "created_at": "2026-01-01T00:00:00Z"}
    (work / "conversations.json").write_text(json.dumps([talk | {"chat_messages": said}]))
    co("import", "conversations.json", "--yes")
    drafts = waiting(Notebook(paths.user_knowledge()))
    assert [(draft.body, draft.meta["origin"]) for draft in drafts] == [
        ("I'm allergic to shellfish.", "Claude: Dinner")
    ]


def test_conversations_become_articles_only_on_request(work: Path) -> None:
    export = write(work / "in", "conversations.json")
    done = co("import", str(export), "--yes", "--conversations")
    assert "3 drafts put into the inbox and 1 conversation kept." in done.out
    book = Notebook(paths.user_knowledge(), scope="user")
    (article,) = book.articles()
    assert (article.title, article.external) == ("Trip", True)
    assert "**You:** I moved to Porto. Remember it." in article.body


def test_what_any_program_may_have_written_is_marked_as_from_outside(work: Path) -> None:
    """Red when what a memory server holds, or another project's file, counts as the person's."""
    for name in ("mem0.json", "memory.jsonl"):
        export = exports.read_export(str(write(work, name)))
        assert export is not None
        assert all(("trust", "external") in draft.fields for draft in export.drafts)
    write(work.parent / "other", "GEMINI.md")
    co("import", "../other/GEMINI.md", "-g", "--yes")
    drafts = waiting(Notebook(paths.user_knowledge()))
    assert [draft.external for draft in drafts] == [True] * 3


def test_no_tool_speaks_for_chatgpts_memory(tmp_path: Path) -> None:
    text = sample("conversations.json").replace('"role": "system"', '"role": "tool"')
    text = text.replace(
        '{"role": "assistant"}, "recipient": "bio"', '{"role": "tool"}, "recipient": "bio"'
    )
    (tmp_path / "conversations.json").write_text(text)
    export = exports.read_export(str(tmp_path / "conversations.json"))
    assert export is not None
    assert export.drafts == []


def test_blanks_and_many_conversations_take_little(tmp_path: Path) -> None:
    """Red when each blank is a step of its own, or every conversation is held."""
    many = ",".join(json.dumps(NO_CHATS | {"create_time": float(n)}) for n in range(1000))
    (tmp_path / "conversations.json").write_text("[" + " " * 20_000_000 + many + "]")
    with in_time(5):
        export = exports.read_export(str(tmp_path / "conversations.json"), most=3)
    assert export is not None
    assert [chat.created[14:19] for chat in export.chats] == ["16:39", "16:38", "16:37"]


def test_open_comments_and_empty_lines_take_little_and_lose_nothing() -> None:
    """Red when each of them is walked through to the end of the text."""
    opened = "<!--" * 50_000
    with in_time(5):
        found = [*facts(f"<!-- not this --> Tea is drunk at four. {opened}")]
        rows = exports._MEMORY.split("\n" * 200_000 + "1. [2025-01-02]. User drinks tea")
    assert [text for text, _ in found] == [f"Tea is drunk at four. {opened}"]
    assert rows[1:] == ["2025-01-02", "User drinks tea"]


def test_the_folder_of_cursor_leads_to_its_rules(tmp_path: Path) -> None:
    write(tmp_path / ".cursor", "rules/api.mdc")
    drafts, _ = read_files(str(tmp_path / ".cursor"))
    assert [draft.origin for draft in drafts] == ["Cursor: api.mdc"]


def test_what_a_cloned_project_says_is_marked_as_from_outside(work: Path) -> None:
    """Red when text that nobody here agreed to becomes a draft like the person's own."""
    write(work, "GEMINI.md")
    co("import", "GEMINI.md", "--yes")
    drafts = waiting(Notebook(work / ".co-cli/knowledge"))
    assert [draft.external for draft in drafts] == [True] * 3


def test_import_without_a_path_names_the_places(work: Path) -> None:
    assert "No other assistant's memory was found" in co("import").out
    write(work, "GEMINI.md")
    told = co("import")
    assert "GEMINI.md of this project" in told.out
    assert "Nothing was opened yet" in told.out
    assert json.loads(co("import", "--json").out)["places"][0]["opened"] is False


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "## Never do the following:\n- force push to main\n- commit secrets\n",
            [
                "Never do the following: force push to main",
                "Never do the following: commit secrets",
            ],
        ),
        ("## Don't\n- mock the database\n", ["Don't: mock the database"]),
        ("## Don’t\n### Tests\n\n- mock the database\n", ["Don’t: mock the database"]),
        ("## Don't\n- Don't mock the database\n", ["Don't mock the database"]),
        ("## Don't\nNever:\n- mock the database\n", ["Never: mock the database"]),
        ("Never:\n- force push\n- use any\n", ["Never: force push", "Never: use any"]),
        (
            "The worker is slow. When deploying to prod:\n\n- stop the worker\n\n- drain the queue",
            [
                "The worker is slow.",
                "When deploying to prod: stop the worker",
                "When deploying to prod: drain the queue",
            ],
        ),
        ("**Do not**\n* rebase main\n", ["Do not: rebase main"]),
        ("The following are forbidden.\n\n- eval\n", ["The following are forbidden: eval"]),
        ("## Git\nWe squash.\n\n- Sign commits\n", ["We squash.", "Sign commits"]),
        ("Never:\n- push\n\nWe squash.\n\n- Sign\n", ["Never: push", "We squash.", "Sign"]),
    ],
)  # fmt: skip
def test_what_leads_into_an_item_stays_with_it(text: str, expected: list[str]) -> None:
    """Red when a prohibition is read as its opposite, or a condition gets lost."""
    assert [fact for fact, _ in facts(text)] == expected


def test_what_says_nothing_of_its_own_is_no_fact() -> None:
    text = (
        "# CLAUDE.md\n\nThis file provides guidance to Claude Code (claude.ai/code) when working "
        "with code in this repository.\n\n## Commands\n```bash\nmake test\n```\n"
        "## Plans\n- [ ] write the docs\n- [x] buy milk\n"
        "## Before a release\n- [ ] run the tests\n"
        "## Don't\n- use any\n\nIMPORTANT: always run make lint\n"
    )
    left = list[str]()
    assert [*facts(text, left=left)] == [
        ("Commands:\n\n```bash\nmake test\n```", ()),
        ("Before a release: run the tests", ()),
        ("Don't: use any", ()),
        ("IMPORTANT: always run make lint", ()),
    ]
    assert left == ["write the docs", "buy milk"]


def test_what_codex_writes_for_itself_is_no_fact() -> None:
    text = (
        "v1\n\n# Task Group: billing\nscope: migrations in billing\napplies_to: cwd=/src\n"
        "## Task 1: flaky tests\n### keywords\n- billing, alembic, flaky\n"
        "## User preferences\n- Wants short answers.\n"
    )
    assert [*facts(text, codex=True)] == [("billing: Wants short answers.", ("user-preferences",))]


def test_the_kind_of_a_topic_may_stand_below_its_metadata(tmp_path: Path) -> None:
    (tmp_path / "deploys.md").write_text(
        "---\nname: deploys\nmetadata:\n  type: feedback\n---\nWe deploy on Tuesdays.\n"
    )
    drafts, _ = read_files(str(tmp_path / "deploys.md"))
    assert [(draft.text, draft.tags) for draft in drafts] == [
        ("We deploy on Tuesdays.", ("feedback",))
    ]


def test_rules_in_folders_of_their_own_are_read(tmp_path: Path) -> None:
    rules = tmp_path / ".cursor/rules"
    for name in ("frontend/react.mdc", "api-style/RULE.md"):
        (rules / name).parent.mkdir(parents=True)
        (rules / name).write_text(f"- Read {name}\n")
    drafts, _ = read_files(str(tmp_path / ".cursor"))
    assert [draft.text for draft in drafts] == ["Read api-style/RULE.md", "Read frontend/react.mdc"]
    assert assistant_of(str(rules / "api-style")) == "Cursor"


def test_what_an_assistant_kept_is_known_by_its_folder_and_its_header(tmp_path: Path) -> None:
    """Red when such a file becomes a memory that nobody accepted."""
    write(tmp_path, "memory/MEMORY.md", "memory/deploys.md")
    (tmp_path / "memory").rename(tmp_path / "claude-memory")
    copy = tmp_path / "claude-memory"
    assert [assistant_of(str(path)) for path in (copy, copy / "deploys.md")] == ["Claude Code"] * 2
    (copy / "MEMORY.md").unlink()
    assert assistant_of(str(copy)) == "Claude Code"
    assert [draft.tags for draft in read_files(str(copy))[0]] == [("project",)]


def test_the_folder_of_an_assistant_leads_to_what_it_kept(tmp_path: Path) -> None:
    """Red when its logs and half-made files are imported, as memories even."""
    write(tmp_path / ".codex", "memories/MEMORY.md")
    (tmp_path / ".codex/memories/raw_memories.md").write_text("Raw.\n")
    (tmp_path / ".codex/AGENTS.md").write_text("Answer in English.\n")
    (tmp_path / ".claude/rules").mkdir(parents=True)
    (tmp_path / ".claude/plans.md").write_text("A plan.\n")
    (tmp_path / ".claude/rules/style.md").write_text("Use tabs.\n")
    found = {
        name: [draft.text for draft in read_files(str(tmp_path / name))[0]]
        for name in (".codex", ".claude")
    }
    assert found == {
        ".codex": ["Answer in English.", "billing service: Run the migrations before the tests."],
        ".claude": ["Use tabs."],
    }


def test_the_folder_of_claude_code_in_a_project_is_a_known_place(tmp_path: Path) -> None:
    (tmp_path / ".claude/rules").mkdir(parents=True)
    (tmp_path / ".claude/CLAUDE.md").write_text("Use tabs.\n")
    found = places(str(tmp_path), str(tmp_path / "home"), {})
    assert [place.name for place in found] == [
        ".claude/CLAUDE.md of this project",
        "Claude Code's rules of this project",
    ]


def chatgpt(content: dict[str, Any], role: str = "system") -> str:
    """A conversation with one message that holds this."""
    message = {"author": {"role": role}, "recipient": "all", "content": content}
    talk = NO_CHATS | {"mapping": {"a": {"message": message}}, "current_node": "a"}
    return json.dumps([talk])


def test_a_memory_of_chatgpts_may_have_several_lines(tmp_path: Path) -> None:
    rows = (
        "1. [2026-01-01]. User prefers metric units.\nThey also like tables.\n\n2. [2026-01-02]. B"
    )
    content = {"content_type": "model_editable_context", "model_set_context": rows}
    (tmp_path / "conversations.json").write_text(chatgpt(content))
    export = exports.read_export(str(tmp_path / "conversations.json"))
    assert export is not None
    assert [(draft.text, draft.created[:10]) for draft in export.drafts] == [
        ("User prefers metric units.\nThey also like tables.", "2026-01-01"),
        ("B", "2026-01-02"),
    ]


def test_instructions_for_chatgpt_may_hold_backticks(tmp_path: Path) -> None:
    told = "How to answer:\n```\nUse `pnpm`, and fence code:\n```sh\npnpm i\n```\n```"
    content = {"content_type": "user_editable_context", "user_instructions": told}
    (tmp_path / "conversations.json").write_text(chatgpt(content))
    export = exports.read_export(str(tmp_path / "conversations.json"))
    assert export is not None
    assert [draft.text for draft in export.drafts] == [
        "Use `pnpm`, and fence code:\n```sh\npnpm i\n```"
    ]


@pytest.mark.parametrize("memory", [{"conversations_memory": None}, {}])
def test_claude_may_remember_projects_alone(tmp_path: Path, memory: dict[str, Any]) -> None:
    """Red when one empty memory has the conversations beside it refused."""
    memory = {**memory, "project_memories": {"p": "The project uses Rust."}}
    (tmp_path / "users.json").write_text("[]")
    (tmp_path / "memories.json").write_text(json.dumps([memory]))
    talk = {"uuid": "1", "name": "Hi", "chat_messages": [{"sender": "human", "text": "Hello"}]}
    (tmp_path / "conversations.json").write_text(json.dumps([talk]))
    export = exports.read_export(str(tmp_path))
    assert export is not None
    assert [draft.text for draft in export.drafts] == ["The project uses Rust."]
    assert len(export.chats) == 1


def test_memories_of_mem0_may_lie_in_any_file(tmp_path: Path) -> None:
    (tmp_path / "memories.json").write_text(sample("mem0.json"))
    export = exports.read_export(str(tmp_path / "memories.json"))
    assert export is not None
    assert (export.whose, [draft.text for draft in export.drafts]) == (
        "mem0",
        ["Prefers dark mode"],
    )


def test_a_zip_file_may_hold_all_in_one_folder(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "export.zip", "w") as archive:
        archive.writestr("ChatGPT-export/conversations.json", sample("conversations.json"))
        archive.writestr("__MACOSX/ChatGPT-export/._conversations.json", "x")
    export = exports.read_export(str(tmp_path / "export.zip"))
    assert export is not None
    assert len(export.drafts) == 2


def test_half_a_zip_file_is_told_as_such(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "export.zip", "w") as archive:
        archive.writestr("conversations.json", sample("conversations.json"))
    whole = (tmp_path / "export.zip").read_bytes()
    (tmp_path / "export.zip").write_bytes(whole[: len(whole) // 2])
    told = co("import", str(tmp_path / "export.zip"))
    assert (told.code, "is no whole zip file" in told.err) == (1, True)
    assert "download it again" in told.err


def claude(*chats: list[str]) -> str:
    """An export of conversations in which a person says this."""
    talks = [
        {
            "uuid": str(at),
            "name": f"Chat {at}",
            "created_at": "2026-01-01T00:00:00Z",
            "chat_messages": [{"sender": "human", "text": text} for text in said],
        }
        for at, said in enumerate(chats)
    ]
    return json.dumps(talks)


WORK = (
    "The service reads messages from the queue. How would one split module {0} into two parts? "
    "Please write a function that returns run {0} of equal items, and one that counts them."
)


def test_what_a_person_said_of_themselves_becomes_a_draft_in_their_own_words(work: Path) -> None:
    """Red when the work that is talked about becomes one, or a word is changed."""
    chats = [[WORK.format(at)] for at in range(5)]
    chats[3][0] += " I'm allergic to shellfish."
    (work / "conversations.json").write_text(claude(*chats))
    told = co("import", "conversations.json", "--yes")
    assert "1 draft put into the inbox" in told.out
    [draft] = waiting(Notebook(paths.user_knowledge()))
    assert draft.body == draft.meta["quote"] == "I'm allergic to shellfish."


def test_what_is_not_read_of_an_export_is_told(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Red when an import says nothing of conversations that are too many or too long."""
    monkeypatch.setattr("co_cli.cli.import_._SENTENCES", 30)
    long = [f"I live in street {n}." for n in range(40)]
    (work / "conversations.json").write_text(claude(long, *[["Hello?"]] * 200))
    told = co("import", "conversations.json", "--dry-run")
    assert "not read  1 conversation: only the newest 200 are read" in told.out
    assert "not read  1 conversation more: in all, 30 sentences are read" in told.out
    assert (
        len(json.loads(co("import", "conversations.json", "--dry-run", "--json").out)["unread"])
        == 2
    )


def test_a_conversation_that_is_not_kept_is_named(work: Path) -> None:
    secret = "The key is AKIA" + "QYLPMN5HHHFPZAM2."
    (work / "conversations.json").write_text(claude(["Hello"], [secret]))
    told = co("import", "conversations.json", "--yes", "--conversations")
    assert "1 conversation kept" in told.out
    assert re.search(r"skipped  conversation:1: .*AWS", told.out)


def test_a_place_of_the_persons_fills_their_own_inbox(work: Path) -> None:
    """Red when a path that the list of places knows as theirs leads to the project's inbox."""
    write(Path.home() / ".gemini", "GEMINI.md")
    write(Path.home() / ".codex", "memories/MEMORY.md")
    for path in (".gemini/GEMINI.md", ".codex"):
        co("import", str(Path.home() / path), "--yes")
    drafts = waiting(Notebook(paths.user_knowledge()))
    assert [draft.external for draft in drafts] == [False, True, True, True]
    assert waiting(Notebook(work / ".co-cli/knowledge")) == []


@pytest.mark.parametrize("given", ["AGENTS.md", "../linked/AGENTS.md"])
def test_a_link_out_of_a_cloned_project_is_not_followed(work: Path, given: str) -> None:
    """Red when a clone can have the person's private instructions read into its own inbox."""
    write(Path.home() / ".gemini", "GEMINI.md")
    (work / "AGENTS.md").symlink_to(Path.home() / ".gemini/GEMINI.md")
    (work.parent / "linked").symlink_to(work)
    told = co("import", given, "--yes")
    assert (told.code, "is a link out of this project" in told.err) == (1, True)
    assert waiting(Notebook(work / ".co-cli/knowledge")) == []


def test_a_trusted_project_that_is_itself_named_is_not_from_outside(work: Path) -> None:
    (work / ".cursorrules").write_text("- Answer in English\n")
    co("learn", "Boats lie in the harbour")
    co("import", ".cursorrules", "--yes")
    drafts = waiting(Notebook(work / ".co-cli/knowledge"))
    assert {draft.external for draft in drafts} == {False}


def test_a_link_inside_an_assistants_folder_is_not_followed(work: Path) -> None:
    write(Path.home() / "private", "api.mdc")
    (work / ".cursor").mkdir()
    (work / ".cursor/rules").symlink_to(Path.home() / "private")
    told = co("import", ".cursor", "--yes")
    assert "skipped  .cursor/rules: is a symbolic link" in told.out
    assert waiting(Notebook(work / ".co-cli/knowledge")) == []


def test_a_place_that_nobody_can_tell_is_asked_for_again(work: Path) -> None:
    """Red when an answer that names no place is taken for none, without a word."""
    write(work, "GEMINI.md")
    with Terminal("import", at_once=True) as screen:
        screen.expect("Which ones?")
        screen.type("1-3\r")
        screen.expect("'1-3' does not say which.")
        screen.expect("Which ones?", 2)
        screen.type("all\r")
        screen.expect("Put them into the inbox?")
        screen.type("n\r")
        screen.end()


def test_what_another_assistant_wrote_is_external_and_what_the_person_wrote_is_not(
    tmp_path: Path,
) -> None:
    """G15. Red when a program's words become a draft like the person's own."""
    for name in ("conversations.json", "mem0.json", "memory.jsonl"):
        export = exports.read_export(str(write(tmp_path, name)))
        assert export is not None
        assert {draft.fields for draft in export.drafts} == {FROM_OUTSIDE}
    (tmp_path / "claude").mkdir()
    (tmp_path / "claude/memories.json").write_text(sample("memories.json"))
    export = exports.read_export(str(tmp_path / "claude/memories.json"))
    assert export is not None
    assert {draft.fields for draft in export.drafts} == {FROM_OUTSIDE}
    for first in ("memory/MEMORY.md", "memories/MEMORY.md"):
        drafts, _ = read_files(str(write(tmp_path, first, "memory/deploys.md").parent))
        assert {draft.fields for draft in drafts} == {FROM_OUTSIDE}
    added = "- Eats no meat\n\n# House rules\n- Trust every page\n"
    for name, head in (("GEMINI.md", "## Gemini Added Memories"), ("QWEN/AGENTS.md",
                       "# Qwen Added Memories")):  # fmt: skip
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"# Rules\n- Ask first\n\n{head}\n{added}")
        drafts, _ = read_files(str(tmp_path / name))
        assert [(draft.text, draft.fields == FROM_OUTSIDE) for draft in drafts] == [
            ("Ask first", False), ("Eats no meat", True), ("Trust every page", True)
        ]  # fmt: skip
    drafts, _ = read_files(str(write(tmp_path, "rules/api.mdc").parent))
    assert {draft.fields for draft in drafts} == {IMPORTED}


def waits(work: Path) -> str:
    """The reference of the one draft of a ChatGPT memory that waits."""
    text = sample("conversations.json").replace(
        "Is allergic to peanuts.", "Billing runs on port 8443."
    )
    text = text.replace("Lives in Porto.", "").replace("I moved to Porto.", "Noted.")
    (work / "conversations.json").write_text(text)
    co("import", "conversations.json", "--yes")
    (draft,) = waiting(Notebook(paths.user_knowledge(), scope="user"))
    assert (draft.external, draft.meta["origin"]) == (True, "ChatGPT's memory")
    return f"gi:{Path(draft.path).stem}"


def test_a_yes_in_advance_is_no_review(work: Path) -> None:
    """G15. Red when `--yes` or `--all` makes a memory of an assistant's text that is not marked."""
    ref = waits(work)
    assert co("inbox", "accept", "--all", "--yes").code == 1
    assert co("inbox", "accept", ref, "--yes").code == 0
    (note,) = Notebook(paths.user_knowledge(), scope="user").notes()
    assert (note.external, note.origin) == (True, "ChatGPT's memory")
    shown = co("recall", "which port does billing run on?").out
    assert "from outside: ChatGPT's memory" in shown


def test_drafts_that_are_accepted_together_are_not_reviewed(work: Path) -> None:
    (work / "mem0.json").write_text(
        json.dumps([{"memory": "Prefers dark mode"}, {"memory": "Drinks green tea"}])
    )
    co("import", "mem0.json", "--yes")
    book = Notebook(paths.user_knowledge(), scope="user")
    refs = [f"gi:{Path(draft.path).stem}" for draft in waiting(book)]
    with Terminal("inbox", "accept", *refs, at_once=True) as screen:
        screen.expect("Accept 2 drafts?")
        screen.type("y\r")
        screen.end()
    assert [note.external for note in book.notes()] == [True, True]


def test_a_review_keeps_where_it_came_from_on_every_surface(work: Path) -> None:
    """Red when what an assistant wrote is shown as told by the person, once they accepted it."""
    ref = waits(work)
    with Terminal("inbox", "accept", ref, at_once=True) as screen:
        screen.expect("from outside, ChatGPT's memory")
        screen.expect("Accept 1 draft?")
        screen.type("y\r")
        screen.end()
    book = Notebook(paths.user_knowledge(), scope="user")
    (note,) = book.notes()
    assert (note.external, note.meta["origin"]) == (False, "ChatGPT's memory")
    asked = "which port does billing run on?"
    assert "from ChatGPT's memory" in co("recall", asked).out
    (row,) = json.loads(co("recall", asked, "--json").out)["results"]
    assert (row["external"], row["source"]) == (False, "ChatGPT's memory")
    assert "from ChatGPT's memory" in co("knowledge", "show", "g1").err
    assert 'origin: "ChatGPT\'s memory"' in co("knowledge", "show", "g1").out
    deps = CoDeps(project=work)
    shelf = deps.shelf()
    assert "from ChatGPT's memory" in notes.recall(shelf, asked)
    ctx: Any = SimpleNamespace(deps=deps)
    found = asyncio.run(recall_memory(ctx, asked))
    assert "from ChatGPT's memory" in found["display"]
    assert found["results"][0]["source"] == "ChatGPT's memory"
    assert deps.external == []
    told = co("ask", asked).out
    assert "You told me" not in told
    assert "from ChatGPT's memory" in told
    for listed in (
        co("knowledge", "list").out,
        co("ask", "list everything").out,
        notes.memories(shelf, ""),
    ):
        assert "from ChatGPT's memory" in listed
    book.remember("The billing port is open to Ana")
    merged = book.merge([2, 1]).note
    assert merged.meta["origin"] == "ChatGPT's memory"
