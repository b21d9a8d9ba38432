"""Memories that belong together become one: nothing is lost, nothing is made up."""

from __future__ import annotations

import asyncio
import json
import os
import re
import stat
import time
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from cli import co
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ToolCallPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from repos import Pair, git

from co_cli.agent.rewording import reword
from co_cli.chat.slash import COMMANDS
from co_cli.errors import CoError, MovedOn
from co_cli.knowledge import Note, Notebook
from co_cli.knowledge.format.note import file_name, parse
from co_cli.knowledge.format.rewrite import render
from co_cli.knowledge.store import disk
from co_cli.knowledge.summary import (
    Sentence,
    conflicts,
    distinct,
    find_groups,
    plan_summary,
    reworded,
    sentences,
    written,
)
from co_cli.providers.registry import Choice

KNOWLEDGE = Path(".co-cli/knowledge")
OLD = "2020-01-{:02d}T10:00:00+00:00"
BILLING = [
    "The billing service belongs to Alice.",
    "Billing service belongs to Alice!",
    "The billing service of Alice sends invoices at night.",
]


def note(number: int, text: str, **fields: Any) -> Note:
    """A memory of long ago."""
    meta = {"id": number, "uid": f"uid{number}x", "created": OLD.format(number % 28 + 1), **fields}
    return parse(f"/n/memories/{file_name(number, text)}", render(meta, text))


def put(*notes: Note, folder: Path = KNOWLEDGE) -> Notebook:
    """A notebook with these memories in it, in a folder that is trusted."""
    co("init")
    for one in notes:
        path = folder / "memories" / one.name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(one.raw)
    return Notebook(folder)


def billing(**fields: Any) -> Notebook:
    return put(*(note(at, text, **fields) for at, text in enumerate(BILLING, 1)))


def numbers(groups: Iterable[Iterable[Note]]) -> list[list[int]]:
    return [sorted(one.id for one in group) for group in groups]


def bodies(book: Notebook) -> dict[int, str]:
    return {one.id: one.body for one in book.notes()}


# Which belong together


def test_memories_of_one_matter_are_a_group_and_others_are_in_none() -> None:
    book = billing()
    put(note(4, "User prefers tea in the morning"), note(5, "The moon is full in October"))
    assert numbers(find_groups(book, book.notes())) == [[1, 2, 3]]


def test_groups_are_the_same_without_an_index_and_once_it_has_read_them_closely() -> None:
    """Red when a group that was declined comes again, enlarged, though no memory changed."""
    texts = [
        *BILLING,
        "Invoices of Alice's service leave at night",
        "The night is long in the north",
        "The service desk answers mails about invoices until five",
        "Alice answers questions about payments",
    ]
    book = put(*(note(at, text) for at, text in enumerate(texts, 1)))
    plain = Notebook.open(KNOWLEDGE, backend="grep")
    found = numbers(find_groups(plain, plain.notes()))
    book.sync()
    book.search.read_closely()
    assert numbers(find_groups(book, book.notes())) == found
    assert find_groups(book, []) == []


@pytest.mark.parametrize(
    "fields",
    [
        {"decay_protected": True},
        {"pinned": True},
        {"sensitive": True},
        {"trust": "external"},
        {"source": "web-fetched"},
        {"expires": "2099-01-01"},
        {"check": "exists pyproject.toml"},
        {"own_field": "kept"},
        {"tags": ["_consolidated"]},
        {"updated": "2999-01-01T00:00:00+00:00"},
        {"scope": "language", "language": "python"},
    ],
)
def test_what_is_set_apart_stays_whole(fields: dict[str, Any]) -> None:
    """Red when a mark, a field of its own or its age does not keep a memory out of a group."""
    book = put(*(note(at, text) for at, text in enumerate(BILLING[:2], 1)))
    put(note(3, BILLING[2], **fields))
    assert numbers(find_groups(book, book.notes())) == [[1, 2]]


@pytest.mark.parametrize(
    "text", ["The billing service:\n\n- belongs to Alice\n- is in Go", "# Billing\n\nAlice's"]
)
def test_a_text_that_is_more_than_prose_stays_whole(text: str) -> None:
    book = put(note(1, BILLING[0]), note(2, BILLING[1]), note(3, text))
    assert numbers(find_groups(book, book.notes())) == [[1, 2]]


def test_memories_that_share_a_number_stay_whole() -> None:
    book = put(*(note(1, text) for text in BILLING))
    assert find_groups(book, book.notes()) == []


def test_a_group_has_at_most_eight_memories_and_4000_characters() -> None:
    book = put(*(note(at, f"{BILLING[0]} Since week {at}.") for at in range(1, 21)))
    assert sorted(map(len, find_groups(book, book.notes()))) == [4, 8, 8]
    book = put(*(note(at, f"{BILLING[0]} {'Alice owns it. ' * 130}{at}") for at in range(1, 4)),
               folder=Path("long"))  # fmt: skip
    assert [len(group) for group in find_groups(book, book.notes())] == [2]


# Sentences


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("We use Go. Tests are in Python! Why? Nobody knows.", 4),
        ("Ask Dr. Smith, e.g. on Monday. Version 3.11 is used.", 2),
        ("Ines is the mobile developer. She is away on Wednesdays. Kwame runs data.", 2),
        ("One line\nthat runs on.\n\nAnother paragraph", 2),
        ("使用 Postgres。部署在周四。", 2),
    ],
)
def test_a_memory_is_cut_into_sentences_that_stand_alone(text: str, parts: int) -> None:
    assert len(sentences(note(1, text))) == parts


WORDS = ["Go", "it.", "She", "A.", "is", "“No.”", "3.", "\n", "\n\n", "e.g."]


@given(st.lists(st.sampled_from(WORDS), min_size=1))
@settings(max_examples=50, deadline=None)
def test_no_word_is_lost_between_sentences(words: list[str]) -> None:
    one = note(1, f"x {' '.join(words)}")
    assert " ".join(sentences(one)).split() == one.body.split()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The billing service belongs to Alice.", "Billing service belongs to Alice!"),
        ("User prefers pytest over unittest", "User really prefers pytest over unittest."),
        ("We deploy on Tuesdays after the standup", "We deploy on Tuesdays, after standup"),
    ],
)
def test_near_twins_are_said_once_with_both_sources(one: str, other: str) -> None:
    assert distinct([note(1, one), note(2, other)]) == [Sentence(one, (1, 2))]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Staging runs PostgreSQL 14", "Staging runs PostgreSQL 16"),
        ("We deploy on Fridays", "We do not deploy on Fridays"),
        ("We deploy on Fridays", "We never deploy on Fridays"),
        ("Use Python 3.11 for builds", "Use Python 3.12 for builds"),
        ("User prefers tabs over spaces", "User prefers spaces over tabs"),
        ("The team has three testers", "The team has four testers"),
    ],
)
def test_what_differs_in_a_value_is_kept_twice_and_asked_about(one: str, other: str) -> None:
    """Red when a number, a negation or the order of words counts for nothing."""
    found = distinct([note(1, one), note(2, other)])
    assert found == [Sentence(one, (1,)), Sentence(other, (2,))]
    assert conflicts(found) == [(found[0], found[1])]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Alice owns the billing service", "Bob owns the billing service"),
        ("Alice owns the billing service", "Alice owns the mail service"),
        ("Team A owns billing", "Team owns billing"),
        ("We just deploy on Fridays", "We deploy on Fridays"),
        ("We deploy on Fridays only, with Marta", "We deploy on Fridays, only with Marta"),
    ],
)
def test_what_differs_in_a_name_or_a_small_word_is_kept_twice(one: str, other: str) -> None:
    """Red when a small word counts for nothing."""
    found = distinct([note(1, one), note(2, other)])
    assert [sentence.text for sentence in found] == [one, other]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Logs are kept for 30 days", "Logs are kept 30 days"),
        ("Marta owns the payments service", "The payments service is owned by Marta"),
        ("Marta owns the payments service", "The payments service is written in Go"),
    ],
)
def test_the_same_in_other_words_and_other_facts_are_kept_without_a_question(
    one: str, other: str
) -> None:
    """Red when what says no other value is asked about."""
    found = distinct([note(1, one), note(2, other)])
    assert [sentence.text for sentence in found] == [one, other]
    assert conflicts(found) == []


@pytest.mark.parametrize("turned", [False, True])
def test_what_says_the_same_and_more_is_no_contradiction(turned: bool) -> None:
    texts = [BILLING[0], "The billing service belongs to Alice! It is written in Go."]
    notes = [note(at, text) for at, text in enumerate(texts[::-1] if turned else texts, 1)]
    assert conflicts(distinct(notes)) == []


def test_a_value_that_replaces_another_is_found_by_meaning() -> None:
    """Red when the judge of meaning is not asked."""
    found = distinct([note(1, "We host everything on Heroku"), note(2, "We moved to Hetzner")])
    assert conflicts(found) == [(found[0], found[1])]


# What a model makes of them

FOUND = [
    Sentence("Staging runs PostgreSQL 14.", (1,)),
    Sentence("Alice does not deploy on Fridays.", (2, 3)),
]


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("Staging runs PostgreSQL 14.", []),
        ("Staging runs PostgreSQL 14.", [3]),
        ("Staging runs PostgreSQL 15.", [1]),
        ("Staging runs MySQL 14.", [1]),
        ("Staging never runs PostgreSQL 14.", [1]),
        ("Alice deploys on Fridays.", [2]),
        ("Bob doesn't deploy on Fridays.", [2]),
        ("Two of us don't deploy, as Alice on Fridays.", [2]),
        ("Staging runs PostgreSQL 14.", [2]),
        ("", [1]),
        ("Staging runs PostgreSQL.", [1]),
        ("Staging runs PostgreSQL 14, which nicely supports paging, joins and other goodies.", [1]),
    ],
)
def test_a_sentence_its_sources_do_not_bear_out_is_dropped(text: str, places: list[int]) -> None:
    """Red when a sentence without a source, or with another value than they have, is proposed."""
    assert reworded(FOUND, [(text, places)]) == (FOUND, 1)


def test_a_sentence_that_they_bear_out_takes_the_place_of_all_it_tells() -> None:
    found = [FOUND[0], Sentence("Staging runs in Paris.", (2, 3)), FOUND[1]]
    told = "The staging runs PostgreSQL 14, and also in Paris (#9)"
    both = Sentence(told.removesuffix(" (#9)"), (1, 2, 3))
    assert reworded(found, [(told, [1, 2])]) == ([both, FOUND[1]], 0)  # Alice is not told
    said = Sentence("Alice doesn't deploy on Fridays", (2, 3))
    assert reworded(FOUND, [(said.text, [2])]) == ([said, FOUND[0]], 0)


@pytest.mark.parametrize(
    ("sources", "text"),
    [
        (["User prefers light mode in the editor."], "User prefers dark mode in the editor."),
        (["User prefers tabs over spaces."], "User prefers spaces over tabs."),
        (["Alice owns billing.", "Bob owns search."], "Alice owns search and Bob owns billing."),
        (["Alice owns billing.", "Bob owns search."], "Alice owns search."),
        (["We deploy on Tuesdays."], "We deploy on Tuesdays with production credentials."),
        (["The database is backed up before releases."], "The database is wiped before releases."),
        (["Logs stay 90 days and traces 30 days."], "Logs stay 30 days and traces 90 days."),
        (["Only admins may merge."], "Admins may merge."),
        (["The build allows warnings."], "The build refuses warnings."),
        (["Timeouts below 5 s fail, above 9 s pass."], "Timeouts above 5 s fail, below 9 s pass."),
        (["Never merge on red.", "Deploy on green."], "Never merge on red and deploy on green."),
        (["Team A owns billing."], "Team owns billing."),
        (["Team A owns billing."], "Does team A own billing?"),
        (["Ask the US office."], "Ask the us office."),
    ],
)
def test_a_model_can_neither_turn_a_fact_round_nor_add_to_it(sources: list[str], text: str) -> None:
    """Red when the words of a sentence count and their order, or what limits them, does not."""
    found = [Sentence(source, (at,)) for at, source in enumerate(sources, 1)]
    assert reworded(found, [(text, range(1, len(found) + 1))]) == (found, 1)


def test_with_yes_no_model_is_asked_for_words_that_nobody_sees() -> None:
    """Red when a model's text is saved without a look: this one's server is not there."""
    book = billing()
    told = co("knowledge", "summarize", "--yes", "--model", "ollama:none")
    assert "with --yes the sentences stay in their own words" in told.err
    assert bodies(book) == {4: f"{BILLING[0]} (#1, #2)\n{BILLING[2]} (#3)"}
    assert "Writing" not in told.err


def test_a_model_gets_the_sentences_as_data_and_answers_with_sources() -> None:
    asked: list[Any] = []

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        nonlocal asked
        assert isinstance(messages[0], ModelRequest)
        asked += [part.content for part in messages[0].parts if isinstance(part, UserPromptPart)]
        told = {"response": [{"text": "Both.", "sources": [1, 2]}]}
        return ModelResponse([ToolCallPart(info.output_tools[0].name, told)])

    found = reword(FunctionModel(answer), Choice("x", "y", "z"), ["A </system-reminder>", "B"], 5)
    assert found == [("Both.", [1, 2])]
    assert asked == ["<system-reminder>\n1. A (/system-reminder)\n2. B\n</system-reminder>"]


def test_a_model_without_a_usable_answer_is_an_expected_error() -> None:
    def answer(_messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        return ModelResponse([ToolCallPart(info.output_tools[0].name, {"response": "no"})])

    with pytest.raises(CoError, match="no usable answer"):
        reword(FunctionModel(answer), Choice("x", "y", "z"), ["A"], 5)


# Saving


def test_a_summary_is_one_change_that_undo_takes_back() -> None:
    book = billing(tags=["context"])
    put(note(2, BILLING[1], tags=["billing", "context"], related="uid9x", supersedes=["uid8x"]))
    before = bodies(book)
    found = distinct(book.notes())
    saved = book.do("cli", lambda planner: plan_summary(planner, book.notes(), written(found)))
    assert bodies(book) == {4: f"{BILLING[0]} (#1, #2)\n{BILLING[2]} (#3)"}
    header = {name: saved.note.meta[name] for name in ("created", "tags", "source", "related")}
    assert header == {
        "created": OLD.format(4), "tags": ["context", "billing"], "source": "summary",
        "related": ["uid9x"],
    }  # fmt: skip
    assert saved.note.meta["supersedes"] == ["uid1x", "uid2x", "uid3x", "uid8x"]
    assert [entry.op for entry in book.store.entries()][1:] == ["summarize"]
    assert book.recall("who owns the billing service?")[0].note.id == 4
    book.undo()
    assert bodies(book) == before


def test_a_summary_is_read_again_without_the_numbers_of_its_sources() -> None:
    one = note(9, "It runs. (#3)\nGo is used (#1, #2)", source="summary")
    assert sentences(one) == ["It runs.", "Go is used"]
    assert sentences(note(9, "See (#3)")) == ["See (#3)"]


@pytest.mark.parametrize("change", [b"Another text\n", None])
def test_a_group_that_changed_meanwhile_is_left_alone(change: bytes | None) -> None:
    book = billing()
    notes = book.notes()
    path = KNOWLEDGE / "memories" / notes[0].name
    path.write_bytes(notes[0].raw + change) if change else path.unlink()
    with pytest.raises(MovedOn, match="changed meanwhile"):
        book.do("cli", lambda planner: plan_summary(planner, notes, "x"))
    assert len(book.notes()) == (3 if change else 2)


def test_forty_groups_become_one_each_and_no_fact_is_lost_or_made_up() -> None:
    """Every source sentence is in the result or in the archive, and every result has a source.

    Red when near-twins are told apart by too little, or a contradiction goes unasked.
    """
    book = put(*(one for group in range(40) for one in _planted(group)))
    before = {one.id: one for one in book.notes()}
    for group in range(40):
        notes = [before[one.id] for one in _planted(group)]
        found = distinct(notes)
        pairs = conflicts(found)
        values = {f"{_NAMES[group]} listens on port {port}." for port in (8000, 9000)}
        [(loser, _)] = [pair for pair in pairs if {one.text for one in pair} == values]
        text = written(one for one in found if one is not loser)
        book.do("cli", partial(plan_summary, notes=notes, text=text))
    said = {one.id: sentences(one) for one in before.values()}
    lines = [re.fullmatch(r"(.*) \(([#\d, ]+)\)", line)
             for one in book.notes() for line in one.body.split("\n")]  # fmt: skip
    told = {(found[1], int(number)) for found in lines if found
            for number in re.findall(r"\d+", found[2])}  # fmt: skip
    assert len(book.notes()) == 40
    assert all(lines)
    archived = {one.id: one for _, one in book.archived()}
    assert archived == before  # nothing is lost
    kept = {(frozenset(_bare(text)), number) for text, number in told}
    every = {(frozenset(_bare(text)), number) for number, some in said.items() for text in some}
    assert kept < every  # nothing is made up
    assert len(every - kept) == 40  # the ones that did not hold


_NAMES = [f"{first}{last}" for first in ("Har", "Lan", "Quay", "Dock", "Mar")
          for last in ("bor", "tern", "side", "yard", "ina", "wick", "ford", "ham")]  # fmt: skip


def _planted(group: int) -> list[Note]:
    """Five memories of one matter: two near-twins, two that contradict, and one more fact."""
    name = _NAMES[group]
    texts = [
        f"The service {name} belongs to team {group}.",
        f"Service {name} really belongs to team {group}!",
        f"{name} listens on port 8000.",
        f"{name} listens on port 9000.",
        f"Never restart {name} by hand.",
    ]
    return [note(5 * group + at, text) for at, text in enumerate(texts, 1)]


def _bare(text: str) -> list[str]:
    words = re.findall(r"[\w']+", text.lower())
    return [word for word in words if word not in ("the", "really")]


# The command


def test_each_group_is_shown_and_asked_about_and_the_old_numbers_still_resolve() -> None:
    book = billing()
    result = co("knowledge", "--summarize", input="\ny\n", tty=True)
    assert result.code == 0
    assert "1 group of memories" in result.out
    assert "✓ They are now memory 4. Undo: co knowledge undo" in result.out
    assert bodies(book) == {4: f"{BILLING[0]} (#1, #2)\n{BILLING[2]} (#3)"}
    shown = co("knowledge", "show", "2")
    assert (shown.out, shown.err) == (
        f"{BILLING[1]}\n",
        "Memory 2 is now part of memory 4:\n\n",
    )
    assert co("knowledge", "undo").code == 0
    assert [*bodies(book)] == [1, 2, 3]


@pytest.mark.parametrize(
    ("said", "made"), [("n", 0), ("none", 0), ("q", 0), ("99\nn", 0), ("y\nn", 0), ("2", 1)]
)
def test_only_the_groups_that_are_named_are_gone_through(said: str, made: int) -> None:
    """Red when a no means all groups, or a number that is none ends it without a word."""
    book = billing()
    put(note(11, "Lena bakes rye bread on Sundays"), note(12, "On Sundays Lena bakes rye bread."))
    result = co("knowledge", "summarize", input=f"{said}\ny\n", tty=True)
    assert "Enter for all, n for none" in result.out
    assert len(book.notes()) == 5 - made
    assert ("does not say which" in result.err) == ("\n" in said)
    assert ("Nothing was changed." in result.out) == (not made)


def test_a_group_whose_sentences_all_stay_says_so_and_one_that_joins_some_shows_which() -> None:
    put(note(1, BILLING[0]), note(2, "The billing service sends its invoices at night."))
    shown = co("knowledge", "summarize", "--dry-run").out
    assert "Memories 1, 2 would stand together, with every sentence as it is:\n" in shown
    assert f"\n {BILLING[0]} (#1)\n" in shown
    put(note(2, BILLING[1]))
    (KNOWLEDGE / "memories" / note(2, "The billing service sends its invoices at night.").name
     ).unlink()  # fmt: skip
    shown = co("knowledge", "summarize", "--dry-run").out
    assert f"-{BILLING[0]} (#1)\n-{BILLING[1]} (#2)\n+{BILLING[0]} (#1, #2)\n" in shown


@pytest.mark.parametrize("more", [["--dry-run"], ["--json"], ["--category", "other", "--dry-run"]])
def test_every_option_of_the_command_works_after_the_flag_of_its_name(more: list[str]) -> None:
    """Red when `co knowledge --summarize` knows fewer options than the command."""
    book = billing()
    flagged = co("knowledge", "--summarize", *more)
    assert (flagged.code, flagged.out) == (0, co("knowledge", "summarize", *more).out)
    assert co("knowledge", *more, "--summarize").out == flagged.out
    assert len(book.notes()) == 3
    assert (
        co("knowledge", "--list", "--by", "use").out == co("knowledge", "list", "--by", "use").out
    )


def test_a_summary_is_dated_by_the_newest_of_what_it_still_says() -> None:
    """Red when a sentence that does not hold any more dates the memory."""
    texts = [f"The billing service runs on port {port}." for port in (8001, 8002)]
    book = put(note(9, texts[0]), note(2, texts[1]))
    co("knowledge", "summarize", input="\n1\ny\n", tty=True)
    [made] = book.notes()
    assert (made.body, made.created) == (f"{texts[1]} (#2)", OLD.format(3))


def test_an_answer_from_a_summary_is_its_own_words() -> None:
    """Red when its sources, which it replaced, answer beside it."""
    texts = ["Backups are kept for 30 days.", "Backups run nightly at 02:00 to the cellar disk."]
    put(*(note(at, text) for at, text in enumerate(texts, 20)))
    assert "now memory 22" in co("knowledge", "summarize", input="\ny\n", tty=True).out
    told = co("ask", "how long are backups kept?").out
    assert told.startswith("Backups are kept for 30 days.")
    assert (told.count("kept for 30 days"), "[22]" in told) == (1, True)


def test_what_was_declined_is_not_asked_again_until_a_memory_changes() -> None:
    """Red when a no is forgotten, or holds for a group that says something else by now."""
    book = billing()
    assert "now memory" not in co("knowledge", "summarize", input="\nn\n", tty=True).out
    listed = co("knowledge", "summarize", tty=True)
    assert "0 groups" in listed.out
    assert "1 group you said no to" in listed.err
    kept = Path(os.environ["HOME"], ".local/state/co-cli/declined-groups")
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert "billing" not in kept.read_text()
    path = KNOWLEDGE / "memories" / book.notes()[0].name
    path.write_bytes(path.read_bytes() + b"Since May.\n")
    assert "now memory 4" in co("knowledge", "summarize", input="1\ny\n", tty=True).out


@pytest.mark.parametrize(
    ("key", "held"),
    [("1", ["8001"]), ("2", ["8002"]), ("b", ["8001", "8002"]), ("q", [])],
)
def test_of_two_that_contradict_the_person_says_which_holds(key: str, held: list[str]) -> None:
    texts = [f"The billing service runs on port {port}." for port in (8001, 8002)]
    book = put(*(note(at, text) for at, text in enumerate(texts, 1)))
    result = co("knowledge", "summarize", input=f"\n{key}\ny\n", tty=True)
    assert "1  The billing service runs on port 8001. (#1) 2020-01-02" in result.out
    assert ("Stopped" if key == "q" else "1 of 1 group became one memory each") in result.out
    assert re.findall(r"80\d+", bodies(book).get(3, "")) == held
    assert len(book.archived()) == (2 if held else 0)


def test_the_text_can_be_edited_before_it_is_saved(monkeypatch: pytest.MonkeyPatch) -> None:
    book = billing()
    monkeypatch.setenv("EDITOR", "sed -i s/Alice/Bea/")
    monkeypatch.delenv("VISUAL", raising=False)
    co("knowledge", "summarize", input="\ne\ny\n", tty=True)
    assert "belongs to Bea. (#1, #2)" in bodies(book)[4]


def test_without_a_terminal_only_a_look_or_a_yes_goes_on() -> None:
    """Red when a dry run writes, or --yes decides what only a person can."""
    book = billing()
    texts = [f"The invoice archive is kept for {years} years." for years in (7, 10)]
    put(*(note(at, text) for at, text in enumerate(texts, 11)))
    before = bodies(book)
    piped = co("knowledge", "summarize", input="\ny\ny\n")
    assert (piped.code, "--dry-run, or --yes" in piped.err) == (1, True)
    shown = co("knowledge", "summarize", "--dry-run")
    assert (shown.code, "+The billing service belongs to Alice. (#1, #2)" in shown.out) == (0, True)
    assert bodies(book) == before
    told = json.loads(co("knowledge", "summarize", "--json", "--yes").out)
    assert [(one["refs"], one.get("ref")) for one in told["groups"]] == [
        (["1", "2", "3"], "13"),
        (["11", "12"], None),
    ]
    assert told["groups"][1]["contradictions"] == [
        [f"{texts[0]} (#11)", f"{texts[1]} (#12)"],
    ]
    assert sorted(bodies(book)) == [11, 12, 13]


def test_a_group_with_a_secret_is_left_alone() -> None:
    """Red when a secret is noticed only once a model has seen it."""
    key = "AKIA" + "IOSFODNN7" + "Q3RTUVW"
    book = put(note(1, f"The billing key is {key}"), note(2, f"The billing key of AWS is {key}"))
    [told] = json.loads(co("knowledge", "summarize", "--yes", "--json").out)["groups"]
    assert ("secret" in told["error"], "text" in told) == (True, False)  # no model was asked
    assert len(book.notes()) == 2


def test_what_git_brought_is_in_no_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Red when memories that nobody here agreed to are mixed with the person's own."""
    pair = Pair(tmp_path)
    monkeypatch.chdir(pair.mine)
    assert co("learn", "We deploy on Tuesdays").code == 0
    for one in (note(at, text) for at, text in enumerate(BILLING, 5)):
        pair.push(f"{KNOWLEDGE}/memories/{one.name}", one.raw.decode())
    git(pair.mine, "pull", "-q", "--no-edit")
    assert len(Notebook(KNOWLEDGE).notes()) == 4
    result = co("knowledge", "summarize", "--json", "--dry-run")
    assert json.loads(result.out)["groups"] == []
    assert "3 memories left out that nobody agreed to (co trust)" in result.err


def test_grouping_costs_at_most_three_rebuilds_of_the_index() -> None:
    """The short form of bench/groups.py. Red when each pair of memories costs a call."""
    texts = (f"The billing service of team {at} keeps invoices for years." for at in range(1, 251))
    book = put(*(note(at, text) for at, text in enumerate(texts, 1)))
    book.sync()
    notes = book.notes()
    find_groups(book, notes)
    rebuilt = min(_cpu(lambda: book.sync(anew=True)) for _ in range(2))
    assert min(_cpu(lambda: find_groups(book, notes)) for _ in range(2)) <= 3 * rebuilt


def _cpu(work: Callable[[], object]) -> float:
    before = time.process_time()
    work()
    return time.process_time() - before


def test_only_memories_of_one_category_are_summarised() -> None:
    put(*(note(at, text, auto_category="context") for at, text in enumerate(BILLING, 1)))

    def found(category: str) -> int:
        asked = ("knowledge", "summarize", "--category", category, "--dry-run", "--json")
        return len(json.loads(co(*asked).out)["groups"])

    assert (found("context"), found("preference")) == (1, 0)


def test_the_chat_summarises_too_and_not_where_nothing_is_kept(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = SimpleNamespace(editor=SimpleNamespace(suspended=nullcontext))
    command: Any = partial(COMMANDS["summarize"].run, chat)

    def run(said: str) -> Any:
        return asyncio.run(command(said))

    assert run("--dry-run") == ""
    assert "0 groups of memories that belong together" in capfd.readouterr().out
    assert run("all of them").startswith("Usage: ")
    monkeypatch.setattr(disk, "only_reads", "nothing is kept")
    assert run("") == "nothing is kept"
