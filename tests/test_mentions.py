"""A purge takes exactly the conversations that hold the memory, and says which before it does."""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from cli import Terminal, co
from pydantic_ai.messages import ModelMessage, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall
from test_session import Stream, agreeing, begin, echo, said

from co_cli.agent.told import told
from co_cli.chat import transcripts
from co_cli.chat.session import Session
from co_cli.chat.transcripts import Transcript
from co_cli.deps import CoDeps
from co_cli.knowledge import Notebook, Policy
from co_cli.knowledge.format.note import now
from co_cli.knowledge.search.hits import How
from co_cli.tools.memory import TOOLS

KNOWLEDGE = Path(".co-cli/knowledge")
LONG = "The vault opens at noon on every working day of the year, says the porter downstairs, "
LONG += "and closes again at half past four, with an hour more before a holiday."


@pytest.fixture
def book() -> Notebook:
    return Notebook(KNOWLEDGE, policy=Policy(max_count=1000))


def calling(tool: str, **arguments: Any) -> Stream:
    """A model that uses this tool once and then says something harmless."""

    async def stream(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
        if not info.function_tools:
            yield "They talked."
        elif any(isinstance(part, ToolReturnPart) for part in messages[-1].parts):
            yield "Done."
        else:
            yield {0: DeltaToolCall(tool, json.dumps(arguments), tool_call_id="c")}

    return stream


def path_of(session: Session) -> str:
    assert session.transcript is not None
    return os.path.basename(session.transcript.path)


def files() -> list[str]:
    return sorted(os.path.basename(path) for path, _ in transcripts.files())


def purge(*args: str) -> str:
    """What a purge says before it does it."""
    done = co("forget", *args, "--purge", "--yes")
    assert done.code == 0, done
    return done.err


# What a conversation records


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("list_memories", {}),
        ("recall_memory", {"query": "when does the vault open?"}),
        ("forget_memory", {"ref": "1"}),
    ],
)
@pytest.mark.parametrize("text", [LONG, LONG + "\n\n" + "It is made of steel. " * 200])
def test_a_conversation_in_which_a_part_was_shown_goes_with_a_purge(
    tool: str, arguments: dict[str, Any], text: str, book: Notebook
) -> None:
    """G8. Red when only the whole text of a memory tells that a conversation holds it."""
    book.remember(text)
    session, other = begin(calling(tool, **arguments), agreeing), begin(echo)
    said(session, "hello")
    said(other, "hello")
    told = purge("1")
    assert f"this conversation will be deleted too: {path_of(session)[:-6]}  " in told
    assert told.endswith("  hello\n")
    assert files() == [path_of(other)]


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [("recall_memory", {"query": "when does the vault open?"}), ("forget_memory", {"ref": "a:x"})],
)
def test_a_conversation_in_which_an_article_was_shown_goes_with_its_purge(
    tool: str, arguments: dict[str, Any], book: Notebook
) -> None:
    """G8. Red when what a model was told of an article is not on the record."""
    book.keep(LONG + "\n\n" + "It is made of steel. " * 200, source="https://x.example/", title="X")
    session, other = begin(calling(tool, **arguments), agreeing), begin(echo)
    said(session, "hello")
    said(other, "hello")
    assert f"this conversation will be deleted too: {path_of(session)[:-6]}" in purge("a:x")
    assert files() == [path_of(other)]


def test_a_system_prompt_that_holds_the_words_takes_no_conversation_along(book: Notebook) -> None:
    """Red when the instructions that a turn was sent with count as what was said."""
    Path("AGENTS.md").write_text("Always answer in English.\n")
    book.remember("Always answer in English")
    book.remember("memory")  # which any prompt of Co's speaks of
    session = begin(echo)
    said(session, "hello")
    assert b"memory" in Path(transcripts.files()[0][0]).read_bytes()
    purge("1", "2")
    assert files() == [path_of(session)]


def test_what_a_person_typed_counts(book: Notebook) -> None:
    book.remember("The vault opens at noon")
    session = begin(echo)
    said(session, "hello")
    assert session.transcript is not None
    session.transcript.write(said="so THE VAULT opens  at noon, right?")
    purge("1")
    assert files() == []


def test_a_save_and_what_it_collides_with_are_recorded(book: Notebook) -> None:
    """Red when the result of a save, which quotes similar memories, is not recorded."""
    book.remember("The project uses PostgreSQL 14")
    session = begin(calling("save_memory", content="The project uses PostgreSQL 16"), agreeing)
    said(session, "we moved on")
    kept = transcripts.load(transcripts.files()[0][0])
    assert {note.mark for note in book.notes()} <= set(kept.notes)
    purge("2")
    assert files() == []


def test_a_declined_save_records_what_the_screen_showed(book: Notebook) -> None:
    book.remember("The project uses PostgreSQL 14")
    session = begin(calling("save_memory", content="The project uses PostgreSQL 16"))
    said(session, "we moved on")
    purge("1")
    assert files() == []


def test_names_that_an_error_tells_are_recorded() -> None:
    for name in ("apples", "pears"):
        path = KNOWLEDGE / "memories" / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'---\nid: 5\ncreated: "2026-02-09T14:30:00Z"\n---\n\n{name} are fruit\n')
    said(begin(calling("forget_memory", ref="5"), agreeing), "forget it")
    assert "apples" in Path(transcripts.files()[0][0]).read_text()
    purge("pears")
    assert files() == []


def test_the_original_inside_a_summary_that_was_recalled_is_recorded(book: Notebook) -> None:
    """G8. Red when a conversation that was shown a decayed memory outlives it."""
    book.remember("The vault opens at noon")
    book.remember("Bears eat honey")
    plan = book.plan_decay()
    assert plan is not None
    book.commit(plan)
    session, listed = (
        begin(calling("recall_memory", query="vault")),
        begin(calling("list_memories")),
    )
    said(session, "when?")
    said(listed, "what do you know?")
    purge("1")
    assert files() == [path_of(listed)]


def test_the_record_survives_a_summary_a_resume_and_a_line_that_was_not_kept(
    book: Notebook,
) -> None:
    """Red when what a summary was made of is forgotten with the turns that it stands for."""
    book.remember(LONG)
    session = begin(calling("list_memories"))
    kept, session.transcript = session.transcript, None  # as when the disk was full
    said(session, "hello")
    session.transcript = kept
    for number in range(4):
        said(session, f"message {number}")
    asyncio.run(session.compact())
    again = begin(echo)
    loaded = transcripts.load(transcripts.files()[0][0])
    again.resume(loaded)
    again.transcript = Transcript(".", now, transcripts.files()[0][0])
    said(again, "and on")
    assert again.deps.notes == list(loaded.notes) == [book.find(1).mark]
    lines = Path(transcripts.files()[0][0]).read_text().splitlines()
    assert "notes" in json.loads(next(line for line in lines if "vault" in line))
    again.clear()
    assert again.deps.notes == []
    purge("1")
    assert files() == []


def test_another_note_of_the_same_uid_is_another_note(book: Notebook) -> None:
    note = book.remember("The vault opens at noon").note
    other = note.raw.replace(b"id: 1\n", b"id: 7\n").replace(b"The vault opens at noon", b"Bears")
    (KNOWLEDGE / "memories" / "007-bears.md").write_bytes(other)
    session = begin(calling("recall_memory", query="bears", max_results=1))
    said(session, "who?")
    assert transcripts.load(transcripts.files()[0][0]).notes == {f"{note.uid}/7": None}
    purge("1")
    assert files() == [path_of(session)]
    purge("7")
    assert files() == []


# Conversations that only hold the same words


def unrecorded(text: str, name: str = "20251115T140533Z-aaaa.jsonl") -> Path:
    """A conversation in which a tool answered this, and no record says whose words it was."""
    folder = Path(os.environ["HOME"], ".local/state/co-cli/transcripts")
    folder.mkdir(parents=True, exist_ok=True)
    head = {"co": 2, "project": os.getcwd(), "started": "2025-11-15T14:05:33+00:00"}
    part = {"part_kind": "tool-return", "content": {"results": [{"content": text}]}}
    prompt = {"kind": "request", "parts": [part], "instructions": f"AGENTS: {LONG}"}
    lines = [head, {"said": "what do you know?"}, {"turn": [prompt]}]
    path = folder / name
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.mark.parametrize("answer", ["y", "n"])
def test_a_conversation_without_a_record_is_searched_by_words_and_asked_about(
    answer: str, book: Notebook
) -> None:
    """Red when a conversation without a record is passed over, or removed without a question."""
    book.remember(LONG)
    path = unrecorded(LONG)
    innocent = unrecorded("Bears eat honey", "20251115T140533Z-bbbb.jsonl")
    with Terminal("forget", "1", "--purge") as terminal:
        shown = terminal.expect("Remove them too? [y/N]")
        assert "  20251115T140533Z-aaaa  2025-11-15  what do you know?" in shown
        terminal.type(f"{answer}\n")
        terminal.expect("for good")
        terminal.expect("(1 copy, 1 conversation)" if answer == "y" else "(1 copy)")
        terminal.expect("[y/N]")
        terminal.type("y\n")
        assert terminal.end().code == 0
    assert path.exists() == (answer == "n")
    assert innocent.exists()


def test_a_script_is_told_which_conversations_go_before_they_do(book: Notebook) -> None:
    book.remember(LONG)
    unrecorded(LONG)
    done = co("forget", "1", "--purge", "--yes", "--json")
    assert done.err == (
        "co: this conversation will be deleted too: "
        "20251115T140533Z-aaaa  2025-11-15  what do you know?\n"
    )
    assert json.loads(done.out)["conversations"] == ["20251115T140533Z-aaaa"]
    assert files() == []


# All of it at random


@dataclass
class Call:
    """What a tool reads of a run."""

    deps: CoDeps
    tool_call_id: str = "c"
    tool_call_metadata: dict[str, Any] = field(default_factory=dict)


class Lives:
    """Memories of words that nobody else has, and conversations that see some of them."""

    def __init__(self, seed: int, notes: int, talks: int) -> None:
        self.chance = random.Random(seed)
        self.words: list[list[str]] = []
        self.book = Notebook(KNOWLEDGE, policy=Policy(max_count=10_000))
        letters = "abcdefghijklmnoprstuvw"
        for _ in range(notes):
            count = self.chance.choice([3, 6, 8, 8, 40, 300])
            words = ["".join(self.chance.choices(letters, k=11)) for _ in range(count)]
            self.words.append(words)
            blocks = [" ".join(words[at : at + 30]) for at in range(0, count, 30)]
            self.book.remember("\n\n".join(blocks))
        for _ in range(talks):
            self.talk()

    def talk(self) -> None:
        """A conversation of one to three turns, under a prompt that may hold somebody's words."""
        deps = CoDeps(memory_max_count=10_000, how=How("fts5"))  # no vectors: quicker
        kept = Transcript(".", now)
        for _ in range(self.chance.choice([1, 1, 2, 3])):
            some = self.chance.choice(self.words)
            typed, tool, arguments = self.chance.choice(
                [
                    ("hello", "", {}),
                    ("  ".join(some).upper(), "", {}),
                    ("look", "recall_memory", {"query": some[-1], "max_results": 2}),
                    ("look", "recall_memory", {"query": some[0], "max_results": 1}),
                    ("all", "list_memories", {}) if self.chance.random() < 0.3 else ("a", "", {}),
                ]
            )
            told = self._use(deps, tool, arguments)
            prompt = " ".join(self.chance.choice(self.words)) if self.chance.random() < 0.5 else ""
            kept.write(said=typed)
            asked = {"part_kind": "user-prompt", "content": typed}
            part = {"part_kind": "tool-return", "content": told}
            request = {"kind": "request", "parts": [asked, part], "instructions": prompt}
            kept.write(deps.notes, turn=[request])

    def _use(self, deps: CoDeps, tool: str, arguments: dict[str, Any]) -> Any:
        async def use() -> dict[str, Any]:
            return await TOOLS[tool](Call(deps), **arguments)

        return told(asyncio.run(use())) if tool else ""

    def holding(self, words: list[str]) -> set[str]:
        """The conversations in which one of these words was said, by looking."""
        pattern = re.compile("|".join(words), re.IGNORECASE)
        found = set()
        for path, _ in transcripts.files():
            kept = transcripts.load(path)
            spoken = [*kept.said, *(message["parts"] for message in kept.messages)]
            if pattern.search(json.dumps(spoken)):
                found.add(path)
        return found


def _left(words: list[str]) -> list[Path]:
    """Files with one of these words, system prompts aside."""
    pattern = re.compile("|".join(words).encode(), re.IGNORECASE)
    prompt = re.compile(rb'"instructions": "[^"]*"')
    found = [path for top in (Path(os.environ["HOME"]), Path.cwd()) for path in top.rglob("*")]
    return [
        path
        for path in found
        if path.is_file() and pattern.search(prompt.sub(b"", path.read_bytes()))
    ]


def test_no_trace_is_left_and_no_innocent_conversation_goes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """G8. Red when a purge leaves a word of the memory in any file, or takes one file too many."""
    monkeypatch.setattr(os, "fsync", lambda _fd: None)  # nothing here is about power cuts
    lives = Lives(seed=20261115, notes=100, talks=100)
    ages = lives.chance.sample(range(100), 10)
    held = 0
    for number in ages:
        words = lives.words[number]
        before = {path for path, _ in transcripts.files()}
        gone = lives.holding(words)
        held += len(gone)
        purge(str(number + 1))
        assert {path for path, _ in transcripts.files()} == before - gone
        assert _left(words) == []
    assert held > 10
    assert transcripts.files()
