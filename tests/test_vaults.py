"""Folders of markdown that other programs wrote: titles, tags, dates and links are kept."""

from __future__ import annotations

import json
import os
from datetime import datetime
from pathlib import Path

import pytest
from cli import Terminal, co
from hypothesis import given
from hypothesis import strategies as st

from co_cli.knowledge.export import export
from co_cli.knowledge.format.note import Note
from co_cli.knowledge.importers import wiki
from co_cli.knowledge.importers.collect import collect, plan_import
from co_cli.knowledge.importers.links import MAX_LINKS
from co_cli.knowledge.notebook import Notebook
from co_cli.knowledge.plan import ImportPlan

AT = "2026-03-01T12:00:00+00:00"
CHANGED = "2026-02-20T08:00:00+00:00"
LOST = "links stay text (no such note here, several, or more than 100)"

POSTGRES = """---
aliases: [PG tuning, "postgres perf"]
tags:
  - database
  - "#performance"
created: 2024-03-02T10:15:00
---
Set `work_mem` to 64MB #postgres/config. See [[Indexes#Partial|partial ones]], ![[plan.png]].

```bash
# a comment
#nottag
psql -c 'select 1' #neither
```

Colour #1e1e1e, issue #123, `#code`, https://x.org/#part and #todo.
"""

PAGE = """title:: Postgres
alias:: pg, pgsql
tags:: [[data base]], #infra, review
type:: tool
created-at:: 1709374500000

- Use `work_mem`
	collapsed:: true
	- Bob said so on [[Mar 2nd, 2024]] #[[deep work]]
- See [[project/alpha]]
- ```python
  #nottag
  ```
"""


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    return tmp_path / "vault"


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    seconds = datetime.fromisoformat(CHANGED).timestamp()
    os.utime(path, (seconds, seconds))
    return path


def make_book(root: Path) -> Notebook:
    return Notebook(root, clock=lambda: datetime.fromisoformat(AT))


def bring_in(vault: Path, *, split: bool = False) -> tuple[list[Note], ImportPlan]:
    """The notes that a folder becomes in an empty notebook, and the plan that made them."""
    book = make_book(vault.parent / "knowledge")
    plan = plan_import(book, collect(vault, split=split))
    if plan.change is not None:
        book.store.commit(plan.change)
    return book.notes(), plan


def remarks(vault: Path) -> list[str]:
    return [str(remark).removeprefix(f"{vault}/") for remark in collect(vault).remarks]


def leads_to(notes: list[Note]) -> dict[str, list[str]]:
    """The summaries of the notes that each one is related to."""
    called = {note.uid: note.summary for note in notes}
    return {n.summary: [called[uid] for uid in n.meta.get("related", [])] for n in notes}


# Obsidian


def test_a_page_of_obsidian_keeps_title_aliases_tags_and_date(vault: Path) -> None:
    put(vault / "Postgres tuning.md", POSTGRES)
    ([note], _) = bring_in(vault)
    body = POSTGRES.partition("---\nSet")[2]
    assert note.body == (
        f"Postgres tuning\n\nAlso called: PG tuning, postgres perf\n\nSet{body}".strip()
    )
    assert note.tags == ["database", "performance", "postgres/config", "todo"]
    assert note.created == "2024-03-02T10:15:00"


def test_links_lead_to_the_notes_they_name(vault: Path) -> None:
    put(vault / "Postgres tuning.md", POSTGRES)
    put(vault / "Home.md", "# Home\n- [[postgres TUNING|PG]]\n- ![[Indexes]]\n- [[#Here]]")
    put(vault / "Indexes.md", "---\nup: '[[Home]]'\n---\nSmall. | [[PG tuning\\|a]] | [[Nobody]]")
    put(vault / "a/Plan.md", "By [[People/Bob#Contact]]: [it](../Postgres%20tuning.md#x) [[Plan]]")
    put(vault / "People/Bob.md", "Bob, see [a](https://x.org/Home.md) and `[[Home]]`")
    notes, _ = bring_in(vault)
    assert leads_to(notes) == {
        "# Home": ["Postgres tuning", "Indexes"],
        "Indexes": ["# Home", "Postgres tuning"],
        "Postgres tuning": ["Indexes"],
        "Bob, see [a](https://x.org/Home.md) and `[[Home]]`": [],
        "Plan": ["Bob, see [a](https://x.org/Home.md) and `[[Home]]`", "Postgres tuning"],
    }
    assert remarks(vault) == [
        f"{vault}: {LOST}: Nobody",
        f"{vault}: unknown header fields, left out: up",
    ]


def test_of_two_pages_with_one_name_the_near_one_is_meant_or_none(vault: Path) -> None:
    for folder in ("a", "b"):
        put(vault / folder / "Plan.md", f"Plan {folder}")
    put(vault / "a/Near.md", "Near [[Plan]]")
    put(vault / "Far.md", "Far [[Plan]] [[b/Plan]]")
    notes, _ = bring_in(vault)
    found = leads_to(notes)
    assert (found["Near [[Plan]]"], found["Far [[Plan]] [[b/Plan]]"]) == (["Plan a"], ["Plan b"])
    assert remarks(vault) == [f"{vault}: {LOST}: Plan"]


def test_a_link_leads_to_the_note_that_is_there_already(vault: Path) -> None:
    put(vault / "Bob.md", "Bob likes tea")
    [bob], _ = bring_in(vault)
    put(vault / "Tea.md", "Tea is for [[Bob]]")
    notes, plan = bring_in(vault)
    assert [item.text for item in plan.known] == ["Bob likes tea"]
    assert notes[1].meta["related"] == [bob.uid]
    assert bring_in(vault)[1].change is None


def test_folders_are_tags_and_no_tag_is_there_twice(vault: Path) -> None:
    put(vault / "Work/Daily notes/1.md", "---\ntag: work, x\n---\nOne #Daily #daily #é/ü")
    ([note], _) = bring_in(vault)
    assert note.tags == ["work", "x", "Daily notes", "Daily", "é/ü"]


@pytest.mark.parametrize(
    ("name", "created"),
    [
        ("2024-05-06.md", "2024-05-06T00:00:00+00:00"),
        ("2024_05_06.md", "2024-05-06T00:00:00+00:00"),
        ("20240506.md", "2024-05-06T00:00:00+00:00"),
        ("2024-05-06 Retro.md", "2024-05-06T00:00:00+00:00"),
        ("202405061230 Idea.md", "2024-05-06T12:30:00"),
        ("202405069930.md", "2024-05-06T00:00:00+00:00"),
        ("2024/05/06.md", "2024-05-06T00:00:00+00:00"),
        ("2024/05/2024-05-07.md", "2024-05-07T00:00:00+00:00"),
        ("2024-02-30.md", CHANGED),
        ("12345678.md", CHANGED),
        ("2024-05-0612.md", CHANGED),
        ("Since 2024-05-06.md", CHANGED),
    ],
)
def test_a_daily_note_has_the_date_of_its_name(vault: Path, name: str, created: str) -> None:
    put(vault / name, "Met Bob")
    assert [item.created for item in collect(vault).items] == [created]


def test_a_name_that_is_only_a_date_is_no_title(vault: Path) -> None:
    put(vault / "2024-05-06.md", "- Met Bob")
    put(vault / "2024-05-07 Retro.md", "All well")
    assert [item.text for item in collect(vault).items] == [
        "- Met Bob",
        "2024-05-07 Retro\n\nAll well",
    ]


@pytest.mark.parametrize(
    ("header", "created", "updated"),
    [
        ("date created: 2024-05-06\nlast_modified: 2024-06-01", "2024-05-06T00:00:00+00:00", 1),
        ("Created: '[[2024-05-06]]'", "2024-05-06T00:00:00+00:00", 0),
        ("createdAt: 2024-05-06T07:08:09Z\nmodified: 2024-06-01", "2024-05-06T07:08:09Z", 1),
        ("modified: lately", CHANGED, 0),
    ],
)
def test_dates_are_read_however_their_names_are_written(
    vault: Path, header: str, created: str, updated: int
) -> None:
    put(vault / "1.md", f"---\n{header}\n---\nText")
    [item] = collect(vault).items
    assert item.created == created
    assert item.fields == ((("updated", "2024-06-01T00:00:00+00:00"),) if updated else ())


def test_what_is_not_understood_is_taken_as_it_stands_and_told(vault: Path) -> None:
    broken = "---\ntitle: Foo: bar\n---\nText with [[Other]]"
    put(vault / "Broken.md", broken)
    put(vault / "Other.md", "---\ncreated: Monday, May 6th\ntags: {a: b}\nrating: 5\n---\nOther")
    put(vault / "Tag.md", f"Tag #{'long' * 20}")
    put(vault / "Many.md", "Many" + "".join(f" #t{number}" for number in range(70)))
    items = {os.path.basename(item.origin): item for item in collect(vault).items}
    assert items["Broken.md"].text == f"Broken\n\n{broken}"
    assert items["Broken.md"].links == (str(vault / "Other.md"),)
    assert (items["Other.md"].tags, items["Other.md"].created) == ((), CHANGED)
    assert len(items["Many.md"].tags) == 64
    reason = "Invalid YAML in frontmatter: line 2: mapping values are not allowed in this context"
    long = f"tag '{'long' * 16}...' is 80 characters long; a tag has at most 64"
    assert remarks(vault) == [
        f"Broken.md:2: the header stays text: {reason}",
        "Many.md: only the first 64 tags are kept",
        "Other.md: 'Monday, May 6th' is no date that Co knows",
        f"Tag.md: left out: {long}",
        f"{vault}: unknown header fields, left out: tags, rating",
    ]


def test_a_note_leads_to_a_hundred_others_at_most(vault: Path) -> None:
    for number in range(MAX_LINKS + 5):
        put(vault / f"Page {number}.md", f"Page {number} is this")
    put(vault / "All.md", " ".join(f"[[Page {number}]]" for number in range(MAX_LINKS + 5)))
    notes, plan = bring_in(vault)
    assert max(len(note.meta.get("related", [])) for note in notes) == MAX_LINKS
    assert plan.refused == []
    rest = ", ".join(f"Page {number}" for number in range(MAX_LINKS, MAX_LINKS + 5))
    assert remarks(vault) == [f"{vault}: {LOST}: {rest}"]


# Logseq


def test_a_graph_of_logseq_keeps_properties_tags_and_links(vault: Path) -> None:
    put(vault / "pages/Postgres.md", PAGE)
    put(vault / "pages/project___alpha.md", "- Alpha ships in May [[pg]]")
    put(vault / "journals/2024_03_02.md", "- Met Bob about [[Postgres]]\n  id:: 65e2-aa")
    put(vault / "journals/2024_03_03.md", "-\n")
    put(vault / "logseq/config.edn", "{}")
    put(vault / "logseq/bak/pages/Old.md", "An older version")
    notes, plan = bring_in(vault)
    list_ = PAGE[PAGE.index("- Use") :].strip()
    assert [(note.body, note.tags, note.created) for note in notes] == [
        (
            "- Met Bob about [[Postgres]]\n  id:: 65e2-aa",
            ["journals"],
            "2024-03-02T00:00:00+00:00",
        ),
        (
            f"Postgres\n\nAlso called: pg, pgsql\n\ntype:: tool\n\n{list_}",
            ["data base", "infra", "review", "deep work"],
            "2024-03-02T10:15:00+00:00",
        ),
        ("project/alpha\n\n- Alpha ships in May [[pg]]", [], CHANGED),
    ]
    assert leads_to(notes) == {
        "- Met Bob about [[Postgres]]": ["Postgres"],
        "Postgres": ["- Met Bob about [[Postgres]]", "project/alpha"],
        "project/alpha": ["Postgres"],
    }
    assert [problem.reason for problem in collect(vault).problems] == [
        "left alone: a program's files"
    ]
    assert [problem.reason for problem in plan.refused] == [
        "there is nothing to store: the text is empty"
    ]


def test_a_day_is_only_the_page_that_has_no_other_name(vault: Path) -> None:
    put(vault / "2024-05-06 Retro.md", "All well")
    put(vault / "Bob.md", "Bob on [[May 6th, 2024]]")
    assert collect(vault).items[1].links == ()


@pytest.mark.parametrize(
    ("day", "name"),
    [(1, "1st"), (2, "2nd"), (3, "3rd"), (4, "4th"), (11, "11th"), (13, "13th"), (22, "22nd")],
)
def test_days_are_called_as_logseq_calls_them(day: int, name: str) -> None:
    assert wiki.day_names(f"2024-09-{day:02}")[1] == f"Sep {name}, 2024"


# Plain folders


def test_a_folder_of_readmes_is_told_by_headings_and_folders(vault: Path) -> None:
    put(
        vault / "README.md",
        "# Shop\n\nSee [pay](services/pay/README.md#it), [web](./services/web/).",
    )
    put(vault / "services/pay/README.md", "Handles [refunds](src/x.py).\n\n    #include <x>\n")
    put(vault / "services/web/index.md", "# The web\n\n- Back: [shop](../../README.md)\n    #list")
    put(vault / "docs/ADR-0007.md", "# Use Postgres\n\n[a](../../README.md) [b](gone.md)")
    put(vault / "docs/use-redis.md", "# We use Redis\n\nBecause.")
    put(vault / "node_modules/x/README.md", "# X")
    notes, _ = bring_in(vault)
    assert [(note.body, note.tags) for note in notes] == [
        ("# Shop\n\nSee [pay](services/pay/README.md#it), [web](./services/web/).", []),
        (
            "# Use Postgres\n\nAlso called: ADR-0007\n\n[a](../../README.md) [b](gone.md)",
            ["docs"],
        ),
        ("# We use Redis\n\nBecause.", ["docs"]),
        ("pay\n\nHandles [refunds](src/x.py).\n\n    #include <x>", ["services", "pay"]),
        ("# The web\n\n- Back: [shop](../../README.md)\n    #list", ["services", "web", "list"]),
    ]
    found = leads_to(notes)
    assert (found["# Shop"], found["# The web"]) == (["pay", "# The web"], ["# Shop"])
    assert found["# Use Postgres"] == []
    assert remarks(vault) == [f"{vault}: {LOST}: ../README.md, docs/gone.md"]


def test_a_name_in_prose_is_no_second_title(vault: Path) -> None:
    put(vault / "Bob.md", "---\nalias: Robert\n---\nBob likes tea")
    assert [item.text for item in collect(vault).items] == ["Bob likes tea\n\nAlso called: Robert"]


def test_a_name_that_cannot_be_shown_is_no_title(vault: Path) -> None:
    put(vault / os.fsdecode(b"caf\xe9/th\xe9.md"), "Tea is served")
    put(vault / "two\nlines.md", "Coffee is served")
    notes, plan = bring_in(vault)
    assert ([note.body for note in notes], plan.refused) == (
        ["Coffee is served", "Tea is served"],
        [],
    )


def test_a_folder_that_is_only_called_memories_hides_nothing(vault: Path) -> None:
    put(vault / "memories/Summer.md", "Summer was hot")
    put(vault / "Winter.md", "Winter was cold")
    assert [item.text for item in collect(vault).items] == ["Winter was cold", "Summer was hot"]


def test_a_folder_that_a_notebook_lies_in_gives_its_markdown(vault: Path) -> None:
    put(vault / "Bob.md", "Bob likes tea")
    book = make_book(vault / ".co-cli/knowledge")
    book.remember("User prefers tabs")
    assert [item.text for item in collect(vault, own=book.root).items] == ["Bob likes tea"]
    assert [item.text for item in collect(vault).items] == ["User prefers tabs"]


def test_a_note_without_a_header_in_a_knowledge_folder_stays_as_it_is(vault: Path) -> None:
    put(vault / ".co-cli/knowledge/memories/Bob.md", "Likes #tea")
    assert [(i.text, i.tags, i.created) for i in collect(vault).items] == [
        ("Likes #tea", (), CHANGED)
    ]


# Lists


def test_a_list_can_be_split_and_nothing_is_lost(vault: Path) -> None:
    put(
        vault / "People/Bob.md",
        "---\ntags: [team]\n---\nMy colleague.\n\n## Likes\n\n- tea #drink\n  in the morning\n"
        "    - green\n\n* [[Ann]]\n-\n\n## Steps\n\n1. one\n2. two\n\n"
        "```\n- code\n```\n- ```\n  - x\n  ```\n",
    )
    put(vault / "Ann.md", "- knows [[Bob]]")
    notes, _ = bring_in(vault, split=True)
    assert [(note.body, note.tags) for note in notes] == [
        ("knows [[Bob]]", ["Ann"]),
        (
            "Bob\n\nMy colleague.\n\n## Likes\n\n## Steps\n\n1. one\n2. two\n\n```\n- code\n```",
            ["team", "People"],
        ),
        ("tea #drink\nin the morning\n  - green", ["team", "People", "Bob", "Likes", "drink"]),
        ("[[Ann]]", ["team", "People", "Bob", "Likes"]),
        ("```\n- x\n```", ["team", "People", "Bob", "Steps"]),
    ]
    assert leads_to(notes) == {
        "knows [[Bob]]": ["Bob"],
        "Bob": [],
        "tea #drink": [],
        "[[Ann]]": ["knows [[Bob]]"],
        "```": [],
    }


LINES = st.lists(
    st.sampled_from(["", "- a", "  b", "text", "# H", "```", "~~~", "    - c", "* #t", "1. n"]),
    max_size=12,
)


@given(LINES)
def test_splitting_keeps_every_word(lines: list[str]) -> None:
    bullets, rest = wiki.split_bullets("\n".join(lines))
    kept = "\n".join([rest, *(text for text, _ in bullets)]).split()
    for word in ("a", "b", "text", "c", "#t", "n"):
        assert kept.count(word) == "\n".join(lines).split().count(word)


@given(st.text(alphabet="#[]|`~-\n \tab/:.()", max_size=60))
def test_any_text_can_be_read_as_a_page(text: str) -> None:
    assert all(tag.strip() for tag in wiki.inline_tags(wiki.prose(text)))
    wiki.links(text, "a")
    assert wiki.properties(text)[0] == {}


# Round trip


def test_an_export_keeps_dates_tags_order_and_links(tmp_path: Path) -> None:
    put(tmp_path / "vault/Bob.md", "---\nmodified: 2025-01-02\n---\nBob likes #tea, says [[Ann]]")
    put(tmp_path / "vault/Ann.md", "---\ncreated: 2024-01-01\n---\nAnn knows [[Bob]]")
    bring_in(tmp_path / "vault")
    book, empty = make_book(tmp_path / "knowledge"), make_book(tmp_path / "empty")
    book.remember("Written late", fields={"created": "2020-01-01T00:00:00Z"})
    rows = "".join(json.dumps(row) + "\n" for row in export(book))
    plan = plan_import(empty, collect(put(tmp_path / "out.jsonl", rows)))
    assert plan.change is not None
    empty.store.commit(plan.change)
    kept = ("id", "created", "updated", "tags")
    assert [[n.body, *map(n.meta.get, kept)] for n in empty.notes()] == [
        [n.body, *map(n.meta.get, kept)] for n in book.notes()
    ]
    assert leads_to(empty.notes()) == leads_to(book.notes())
    assert [note.summary for note in empty.notes()][-1] == "Written late"
    assert not {note.uid for note in empty.notes()} & {note.uid for note in book.notes()}


# The command


def test_a_dry_run_shows_everything_and_changes_nothing() -> None:
    put(Path("vault/Bob.md"), "Bob likes tea [[Nobody]]")
    for more in ([], ["--yes"]):
        assert co("knowledge", "import", "vault", "--dry-run", *more).out == (
            "new      1  Bob likes tea [[Nobody]]\n"
            f"remark   vault: {LOST}: Nobody\n"
            "1 memory to import; nothing was changed.\n"
        )
    found = json.loads(co("knowledge", "import", "vault", "--dry-run", "--yes", "--json").out)
    assert (found["done"], len(found["added"]), len(found["remarks"])) == (False, 1, 1)
    assert not Path(".co-cli").exists()
    co("knowledge", "import", "vault", "--yes")
    again = co("knowledge", "import", "vault", "--dry-run")
    assert (again.code, again.out.splitlines()[-1]) == (0, "Nothing new to import.")


def test_the_command_splits_lists_and_shows_where_links_lead() -> None:
    put(Path("vault/Team.md"), "- Ann knows [[Bob]]\n- Tea is served")
    put(Path("vault/Bob.md"), "Bob likes tea")
    assert (
        "✓ Imported 3 memories."
        in co("knowledge", "import", "vault", "--split-bullets", "--yes").out
    )
    [ref] = [r for r in "123" if "Ann knows" in co("knowledge", "show", r).out]
    [bob] = [r for r in "123" if "Bob likes" in co("knowledge", "show", r).out]
    assert co("knowledge", "show", ref).err == f"related  {bob}  Bob likes tea\n"


def test_memories_of_an_older_co_are_noticed_until_they_are_imported() -> None:
    path = put(Path(".co-cli/memories/learned_facts.json"), '{"db": {"value": "It is SQLite"}}')
    said = (
        f"co: memories of an older Co are here: {path.absolute()}\n"
        f"    To import them: co knowledge import {Path.cwd()}\n"
    )
    for command in (["status"], ["knowledge", "list"], ["recall", "database"], ["learn", "A b c"]):
        assert said in co(*command).err
    assert said not in co("knowledge", "import", ".", "--dry-run").err
    assert "✓ Imported 1 memory" in co("knowledge", "import", ".", "--yes").out
    assert "older Co" not in co("status").err


def test_a_chat_notices_an_older_co_once() -> None:
    """Red when the folder is looked at again, after it was trusted, and told a second time."""
    put(Path(".co-cli/memories/learned_facts.json"), '{"db": {"value": "It is SQLite"}}')
    with Terminal("chat", at_once=True) as terminal:
        terminal.expect("[y/N]")
        terminal.type("y\n")
        assert terminal.expect("Ask a question").count("older Co") == 1
