"""Context and memories there and back, by the names an agent's tools have. Touches no real home.

Run it: python scripts/demo_knowledge_roundtrip.py
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from co_cli._frontmatter import parse_frontmatter, validate_memory_frontmatter
from co_cli.chat import notes
from co_cli.deps import CoDeps
from co_cli.errors import Protected
from co_cli.knowledge import load_internal_knowledge
from co_cli.tools.memory import (
    _decay_memories,
    _load_all_memories,
    list_memories,
    recall_memory,
    save_memory,
)


@dataclass
class Run:
    """What a tool sees of an agent's run."""

    deps: CoDeps = field(default_factory=CoDeps)


def check(what: str, truth: bool) -> None:
    """Say that this holds, or stop."""
    if not truth:
        raise SystemExit(f"  ✗ {what}")
    print(f"  ✓ {what}")


def show(text: str) -> None:
    """An answer, set off from the rest."""
    print("\n".join(f"    {line}" for line in text.rstrip().splitlines()))


def context(home: Path, project: Path) -> None:
    """Two context files become one text."""
    print("Context: what every session is told")
    for folder, text in ((home / ".config/co-cli", "- Name: Ada"), (project / ".co-cli", "- Shop")):
        path = folder / "knowledge" / "context.md"
        path.parent.mkdir(parents=True)
        path.write_text(f'---\nversion: 1\nupdated: "2026-02-09T14:30:00Z"\n---\n\n{text}\n')
    text = load_internal_knowledge() or ""
    show(text)
    check("the user's text comes first, then the project's", "Ada" in text.split("Shop")[0])
    check("the headers stay out", "version" not in text)


async def memories(run: Run, folder: Path) -> None:
    """Save, recall, list; the same again, and something close to it."""
    print("\nSave and recall")
    saved = await save_memory(run, "User prefers pytest over unittest", ["preference"])
    show(saved["display"])
    header, body = parse_frontmatter(Path(saved["path"]).read_text())
    validate_memory_frontmatter(header)
    check("the file holds the text and a valid header", "pytest over unittest" in body)
    found = await recall_memory(run, "pytest")
    show(found["display"])
    check("recall finds it", [hit["id"] for hit in found["results"]] == [saved["memory_id"]])
    miss = await recall_memory(run, "who repairs the bicycles")
    show(miss["display"])
    check("the nearest note answers nothing else for sure", miss["results"][0]["weak"])

    print("\nThe same again, then something close to it")
    again = await save_memory(run, "user prefers pytest over unittest.", ["testing"])
    check("the same is consolidated", (again["action"], again["memory_id"]) == ("consolidated", 1))
    close = await save_memory(run, "User prefers unittest over pytest", ["preference"])
    show(close["display"])
    check("the opposite is kept beside it", close["action"] == "created")
    check("and named", [row["id"] for row in close["collisions"]] == [saved["memory_id"]])
    check("nothing was overwritten", len(_load_all_memories(folder)) == 2)
    listed = await list_memories(run)
    show(listed["display"])
    check("the list has both", listed["count"] == 2)


async def old_age(run: Run, folder: Path) -> None:
    """Decay, protection and undo."""
    print("\nDecay: the oldest are joined, not lost; a protected one stays")
    for text in ("Deploys are on Tuesdays", "Staging is rebuilt every night"):
        await save_memory(run, text, ["context"])
    book = run.deps.shelf().project
    book.protect(3)
    decayed = _decay_memories(run, folder)
    check("the two oldest went into one note", decayed["ids"] == [1, 2])
    found = await recall_memory(run, "unittest over pytest")
    check("recall still finds their words", found["count"] == 1)
    try:
        show(notes.forget(run.deps.shelf(), "3"))
    except Protected as error:
        show(error.sentence())
    check("the protected one was not forgotten", 3 in [m.id for m in _load_all_memories(folder)])

    print("\nUndo")
    book.undo()
    check("the originals are back", [m.id for m in _load_all_memories(folder)] == [1, 2, 3, 4])


def main() -> None:
    """Everything, in a home and a project that are gone afterwards."""
    with tempfile.TemporaryDirectory() as place:
        home, project = Path(place, "home"), Path(place, "home", "shop")
        project.mkdir(parents=True)
        for name in [name for name in os.environ if name.startswith(("XDG_", "CO_CLI_"))]:
            del os.environ[name]
        os.environ["HOME"] = str(home)
        os.chdir(project)
        folder = project / ".co-cli" / "knowledge" / "memories"
        run = Run(CoDeps(memory_max_count=10))
        context(home, project)
        asyncio.run(memories(run, folder))
        asyncio.run(old_age(run, folder))
        os.chdir("/")
    print("\nAll of it holds.")


if __name__ == "__main__":
    main()
