"""The person's settings count for every surface, not for the command alone."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from cli import co
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from co_cli import trust
from co_cli.agent.approval import Decision, Review, Reviewed
from co_cli.agent.capability import Knowledge, get_agent
from co_cli.deps import CoDeps
from co_cli.errors import SettingsError
from co_cli.knowledge import Notebook, Policy
from co_cli.workspace import Workspace

OWN = Path(".config/co-cli")
NOTES = Path(".co-cli/knowledge")
NAMES = ["alpha", "bravo", "delta", "kilo", "mike"]
Run = Callable[[FunctionModel, Any], Any]


def settle(folder: Path, **values: Any) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "settings.json").write_text(json.dumps(values))


def mine(**values: Any) -> None:
    settle(Path(os.environ["HOME"]) / OWN, **values)


def saving(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
    """Saves a fact a step."""
    done = sum(isinstance(part, ToolReturnPart) for one in messages for part in one.parts)
    if done == len(NAMES):
        return ModelResponse([TextPart("done")])
    text = f"The harbour crane called {NAMES[done]} needs {NAMES[-1 - done]} oil"
    return ModelResponse([ToolCallPart("save_memory", {"content": text}, f"call{done}")])


async def agreeing(review: Review) -> Reviewed:
    return Reviewed(
        [
            Decision(proposal, "keep" if proposal.collides else "yes")
            for proposal in review.proposals
        ]
    )


def by_capability(model: FunctionModel, deps: CoDeps | None = None) -> Any:
    knowledge = Knowledge(agreeing, deps=deps) if deps else Knowledge(agreeing)
    return asyncio.run(Agent(model, capabilities=[knowledge]).run("go"))


def by_own_agent(model: FunctionModel, deps: CoDeps | None = None) -> Any:
    agent = get_agent(model, prompt="Hello", ask=agreeing)
    return asyncio.run(agent.run("go", deps=deps or CoDeps()))


def by_own_agent_without_deps(model: FunctionModel, deps: CoDeps | None = None) -> Any:
    given: Any = deps
    agent = get_agent(model, prompt="Hello", ask=agreeing)
    return asyncio.run(agent.run("go", deps=given))


SURFACES: list[Run] = [by_capability, by_own_agent, by_own_agent_without_deps]
surfaces = pytest.mark.parametrize("run", SURFACES, ids=lambda run: run.__name__)


def here() -> list[str]:
    """The first word of each note's tags, or of a summary that decay made."""
    return ["summary" if note.consolidated else "note" for note in Notebook(NOTES).notes()]


@surfaces
def test_the_persons_limit_counts_for_an_agent(run: Run) -> None:
    """Red when a capability brings rules of its own instead of the person's settings."""
    mine(memory_max_count=4, memory_decay_percentage=0.5)
    run(FunctionModel(saving), None)
    assert here() == ["note", "note", "note", "summary"]


@surfaces
def test_a_variable_counts_too(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    mine(memory_max_count=100)
    monkeypatch.setenv("CO_CLI_MEMORY_MAX_COUNT", "4")
    monkeypatch.setenv("CO_CLI_MEMORY_DECAY_STRATEGY", "cut")
    monkeypatch.setenv("CO_CLI_MEMORY_DECAY_PERCENTAGE", "0.5")
    run(FunctionModel(saving), None)
    assert here() == ["note", "note", "note"]


@surfaces
def test_a_project_counts_once_it_is_trusted(run: Run) -> None:
    """Red when only the person's file is read, or a stranger's as well."""
    settle(Path(".co-cli"), memory_max_count=4, memory_decay_percentage=0.5)
    trust.claim(os.getcwd(), "2026-01-01T00:00:00+00:00")
    assert Policy.of(CoDeps()).max_count == 200
    trust.trust(os.getcwd(), "2026-01-01T00:00:00+00:00")
    assert Policy.of(CoDeps()).max_count == 4
    run(FunctionModel(saving), None)
    assert here() == ["note", "note", "note", "summary"]
    assert CoDeps().shelf().user.policy == Policy()


@surfaces
def test_what_a_program_sets_itself_is_kept(run: Run) -> None:
    mine(memory_max_count=2)
    run(FunctionModel(saving), CoDeps(memory_max_count=100, gated=True))
    assert here() == ["note"] * 5


def test_deps_follow_the_folder_and_the_settings_of_the_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deps = CoDeps(memory_dedup_threshold=70)
    mine(memory_max_count=7, search_backend="grep")
    assert Policy.of(deps) == Policy(max_count=7, threshold=70)
    assert deps.shelf().project.how.backend == "grep"
    settle(tmp_path / "other/.co-cli", memory_max_count=9)
    monkeypatch.chdir(tmp_path / "other")
    trust.trust(os.getcwd(), "2026-01-01T00:00:00+00:00")
    assert Policy.of(deps) == Policy(max_count=9, threshold=70)
    assert deps.shelf().user.policy == Policy(max_count=7)


def test_the_command_and_a_capability_have_the_same_rules() -> None:
    mine(memory_max_count=4, memory_decay_percentage=0.5)
    by_capability(FunctionModel(saving))
    assert co("learn", "The lighthouse keeper paints in June").code == 0
    assert here().count("summary") == 2


def test_settings_that_cannot_be_used_are_named() -> None:
    """Red when a mistake in the file silently means the defaults."""
    mine(memory_max_count="many")
    with pytest.raises(SettingsError, match="memory_max_count must be a whole number"):
        CoDeps().shelf()
    seen = by_capability(FunctionModel(saving)).all_messages()
    told = [
        str(part.content) for one in seen for part in one.parts if "tool-return" in part.part_kind
    ]
    assert {"memory_max_count must be a whole number" in text for text in told} == {True}
    assert not NOTES.exists()


# One save


class Calls:
    """How often functions of Co run, in whichever thread, while this is entered."""

    def __init__(self, *names: str) -> None:
        self.counts = dict.fromkeys(names, 0)

    def __enter__(self) -> dict[str, int]:
        threading.setprofile(self._heard)
        sys.setprofile(self._heard)
        return self.counts

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)

    def _heard(self, frame: FrameType, event: str, _: object) -> None:
        if event == "call" and "co_cli" in frame.f_code.co_filename:
            name = frame.f_code.co_qualname
            if name in self.counts:
                self.counts[name] += 1


OPENED = Notebook.__init__.__qualname__
PLANNED = ("Notebook.plan_remember", "check_text", "clean_tags")


def test_a_save_by_co_ask_plans_and_checks_for_the_card_and_for_the_save() -> None:
    """Red when it plans a third time, or opens or checks anything more often."""
    with Calls(*PLANNED, OPENED, "Notebook.around", "find_secret") as counts:
        done = co("ask", "--yes", "Remember that the harbour crane needs whale oil")
    assert (done.code, "harbour crane" in done.out + done.err) == (0, True)
    assert len(Notebook(NOTES).notes()) == 1
    more = {OPENED: 2}  # the project's notebook and the person's
    more["Notebook.around"] = 5  # for each plan, to compare with both notebooks, and for the rest
    more["find_secret"] = 4  # in the text and in its tag
    assert counts == dict.fromkeys(PLANNED, 2) | more


@pytest.mark.parametrize("by", ["co", "hand"])
def test_a_save_is_planned_again_when_something_moved_since_it_was_approved(by: str) -> None:
    """Red when an approved plan is carried out over notes that the person did not see."""
    assert co("learn", "We deploy on Tuesdays").code == 0
    reviewed = []

    async def late(review: Review) -> Reviewed:
        reviewed.append([one.again for one in review.proposals])
        if len(reviewed) == 1 and by == "co":
            Notebook(NOTES).remember("The harbour crane called alpha needs mike oils")
        elif len(reviewed) == 1:
            text = "---\nid: 9\ncreated: 2026-02-09T14:30:00Z\n---\n\n"
            crane = "The harbour crane called alpha needs mike oils\n"
            (NOTES / "memories/009-crane.md").write_text(text + crane)
        return await agreeing(review)

    agent = get_agent(FunctionModel(saving), prompt="Hello", ask=late)
    asyncio.run(agent.run("go", deps=CoDeps(workspace=Workspace(), gated=True)))
    assert reviewed == [[False], [True], *[[False]] * (len(NAMES) - 1)]
    assert len(Notebook(NOTES).notes()) == len(NAMES) + 2
