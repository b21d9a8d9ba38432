"""An article is found by the passage that answers, and told by it: text, headings and anchor."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli import co
from handmade import put, put_article

from co_cli.chat import notes
from co_cli.cli.options import open_here
from co_cli.knowledge import Notebook
from co_cli.knowledge.format.note import parse
from co_cli.knowledge.search.hits import Hit, How
from co_cli.knowledge.search.passages import Part, reading
from co_cli.knowledge.search.places import split
from co_cli.knowledge.search.scan import scan
from co_cli.results import recall_text

ROWS = "\n".join(f"| gauge {n} | reads {n} bar in the boiler room |" for n in range(60))
CODE = "\n".join(f"valve_{n} = open_valve({n})  # let the pressure out slowly" for n in range(60))
GUIDE = f"""# Guide

Boilers are older than steam engines.

## Install

Bring two people.

### On a Mac

Run the wizard, then restart the machine.

```sh
# not a heading
brew install boiler
```

### On Linux

Compile it from the sources with a C compiler.

## Gauges

| name | value |
|---|---|
{ROWS}

## Install

```python
{CODE}
```

{"The warranty ends when the seal is broken. " * 60}

## Empty

## Links to [the shop](https://x.example/shop) & more

The last word.
"""
COFFEE = (
    "We brew from Kenyan beans in the morning", "Ann takes her coffee black, Ben with milk",
    "On rainy days the terrace stays closed", "The grinder is cleaned every Friday",
    "Green tea is in the left cupboard", "The office moved to Graz in spring",
)  # fmt: skip


def told(root: Path, query: str) -> tuple[str, str, str]:
    hit = Notebook(root).recall(query)[0]
    return hit.heading, hit.anchor, hit.passage


@pytest.mark.parametrize(
    ("query", "heading", "anchor", "text"),
    [
        ("age of boilers and steam engines", "", "guide", "Boilers are older than steam engines."),
        (
            "run the wizard and restart", "Install > On a Mac", "on-a-mac",
            "Run the wizard, then restart the machine.\n\n"
            "```sh\n# not a heading\nbrew install boiler\n```",
        ),
        (
            "C compiler", "Install > On Linux", "on-linux",
            "Compile it from the sources with a C compiler.",
        ),
        ("last word", "Links to the shop & more", "links-to-the-shop--more", "The last word."),
        ("empty", "Empty", "empty", "## Empty"),
    ],
)  # fmt: skip
def test_the_passage_that_answers_is_told_with_its_headings_and_anchor(
    tmp_path: Path, query: str, heading: str, anchor: str, text: str
) -> None:
    """Red when a hit is the whole article, or does not say where in it the answer stands."""
    put_article(tmp_path, "guide.md", "Guide", GUIDE)
    assert told(tmp_path, query) == (heading, anchor, text)


def test_a_row_is_told_under_the_head_of_its_table_and_code_between_its_fences(
    tmp_path: Path,
) -> None:
    """Red when a long block is cut without its top, or a repeated heading leads to the first."""
    put_article(tmp_path, "guide.md", "Guide", GUIDE)
    heading, anchor, text = told(tmp_path, "gauge 47 reads 47 bar")
    assert (heading, anchor, text[:27]) == ("Gauges", "gauges", "| name | value |\n|---|---|\n")
    assert "| gauge 47 |" in text
    assert "| gauge 0 |" not in text
    heading, anchor, text = told(tmp_path, "valve_47")
    assert (heading, anchor) == ("Install", "install-1")
    assert (text[:10], text[-4:]) == ("```python\n", "\n```")
    assert "valve_0 " not in text


def test_a_page_is_named_before_a_heading(tmp_path: Path) -> None:
    pages = [f'<a id="page-{n}"></a>\n\n## Part {n}\n\nOn whale number {n}.' for n in (1, 2, 3)]
    put_article(tmp_path, "whales.md", "Whales", "\n\n".join(pages))
    assert told(tmp_path, "whale number 2") == ("Part 2", "page-2", "On whale number 2.")


STRANGE = (
    "", "\n\n", "x" * 9000, "| a\n" * 3000, "# a\n" * 5000, "```\n" * 999, "好。" * 3000,
    "~~~\n# no\n" + "b c\n" * 900,
)  # fmt: skip


@pytest.mark.parametrize("text", [GUIDE, *STRANGE])
def test_the_passages_of_an_article_are_its_text(text: str) -> None:
    """The law: all text stands in some passage, in order, and none is long."""
    text = text.strip()
    places = split(text)
    found = [text[place.start : place.stop] for place in places]
    assert all(len(one) <= 1500 for one in found[:-1])
    assert [place.start for place in places] == sorted(place.start for place in places)
    left = [line for line in text.split("\n") if line.strip()]
    left = [line for line in left if not line.startswith("#") or "not" in line or "no" in line]
    held = "".join("".join(found).split())
    assert all("".join(line.split()) in held for line in left[:200])


def test_every_surface_tells_the_passage_and_never_the_article() -> None:
    """Red when `co recall` or a model is given all of an article for a line of it."""
    put_article(".co-cli/knowledge", "guide.md", "The guide", GUIDE)
    out = co("recall", "run the wizard").out
    assert out.startswith("a:guide#on-a-mac  ")
    assert "\n    The guide > Guide > Install > On a Mac\n    Run the wizard" in out
    assert "Compile it" not in out
    [row] = json.loads(co("recall", "run the wizard", "--json").out)["results"]
    names = ("ref", "title", "heading", "anchor", "content")
    assert [row[name] for name in names][:4] == [
        "a:guide#on-a-mac", "The guide", "Guide > Install > On a Mac", "on-a-mac"
    ]  # fmt: skip
    assert row["content"] == row["passage"]
    assert len(row["content"]) < 100


def test_the_next_best_place_of_an_article_is_told_after_the_best(tmp_path: Path) -> None:
    """Red when one article can answer by one of its sections only."""
    put_article(tmp_path, "guide.md", "Guide", GUIDE)
    [hit] = Notebook(tmp_path).recall("how do I install it on linux or on a mac")
    assert hit.also is not None
    assert {hit.anchor, hit.also.anchor} == {"on-a-mac", "on-linux"}
    assert (
        hit.text == f"{hit.passage}\n\nAlso #{hit.also.anchor}: {hit.also.heading}\n{hit.also.text}"
    )


HARBOUR = (
    "The harbour was built in 1911 by two brothers from Genoa who had a small boat yard.",
    "Visitors often arrive by train and walk along the quay to the old lighthouse.",
    "The cafe at the corner sells postcards, maps and a rather good lemon cake.",
    "The pump code is replaced every March by the harbour master, who keeps the blue key.",
    "In summer there is music on the square every Sunday, and the shops stay open.",
    "Seagulls nest on the roof of the customs house, and nobody minds them.",
)
LONG = tuple(f"{text} {text.lower()} {text.upper()} {text[::-1]}" for text in HARBOUR)


@pytest.mark.parametrize("paragraphs", [HARBOUR, LONG], ids=["one passage", "several"])
@pytest.mark.parametrize("backend", ["auto", "grep"])
@pytest.mark.parametrize(
    ("query", "answers"),
    [("who replaces the pump code", [3]), ("the pump code is replaced", [3]), ("lemon cake", [2])],
)
def test_the_paragraph_that_answers_is_shown_without_its_neighbours(
    tmp_path: Path, query: str, answers: list[int], backend: str, paragraphs: tuple[str, ...]
) -> None:
    """Red when what stands beside the answer is shown though it answers nothing."""
    text = "\n\n".join(paragraphs)
    put_article(tmp_path, "harbour.md", "Guide", f"## About\n\n{text}\n\n## Tides\n\nAt noon.")
    [hit] = Notebook(tmp_path, how=How(backend=backend)).recall(query)
    assert hit.text == "\n\n".join(paragraphs[at] for at in answers)


def test_a_neighbour_that_answers_as_well_is_shown(tmp_path: Path) -> None:
    """Red when only one paragraph of a passage can answer, or a gap between two is not shown."""
    text = "\n\n".join(HARBOUR)
    put_article(tmp_path, "harbour.md", "Guide", f"## About\n\n{text}")
    book = Notebook(tmp_path)
    [both] = book.recall("where do seagulls nest and when is there music")
    assert both.text == "\n\n".join(HARBOUR[4:])
    [apart] = book.recall("when was the harbour built and who sells postcards")
    assert apart.text == f"{HARBOUR[0]}\n\n…\n\n{HARBOUR[2]}"
    [section] = book.recall("about")
    assert section.text == text


def test_a_question_without_a_shared_word_leaves_fillers_out(tmp_path: Path) -> None:
    put_article(tmp_path, "harbour.md", "Guide", "\n\n".join(HARBOUR))
    [hit] = Notebook(tmp_path).recall("where do birds breed")
    assert hit.text == HARBOUR[5]


def test_what_belongs_to_a_paragraph_stays_with_it(tmp_path: Path) -> None:
    """Red when a list, code or a table is shown without the words that lead into it."""
    parts = ("- Never paint it\n- Never drill it", "```sh\nbrew tap\n```", "| a | b |\n|---|---|")
    for number, part in enumerate(parts):
        text = (
            f"The quay is old.\n\nBefore the inspection of hull {number}:\n\n{part}\n\nCats sleep."
        )
        put_article(tmp_path, f"part{number}.md", f"Part {number}", text)
        hit = Notebook(tmp_path).recall(f"inspection of hull {number}")[0]
        assert hit.text == f"Before the inspection of hull {number}:\n\n{part}"


def test_no_surface_shows_what_does_not_answer() -> None:
    """Red when a surface takes the text of an article from elsewhere than the excerpt."""
    text = "\n\n".join(HARBOUR)
    put_article(".co-cli/knowledge", "harbour.md", "Guide", f"## About\n\n{text}")
    query = "who replaces the pump code"
    [row] = json.loads(co("recall", query, "--json").out)["results"]
    assert (row["content"], row["passage"], row["also"]) == (HARBOUR[3], HARBOUR[3], None)
    shelf = open_here().shelf
    to_a_model = recall_text(query, shelf.recall(query, 5))
    for shown in (co("recall", query).out, to_a_model, notes.recall(shelf, query)):
        assert HARBOUR[3] in shown
        assert not any(other in shown for other in HARBOUR if other != HARBOUR[3])


def test_a_place_without_a_heading_ends_no_line_with_a_space() -> None:
    note = parse("articles/x.md", b"---\nsource: x\nfetched: 2026-01-05\ntitle: X\n---\n\nText.\n")
    hit = Hit(note, 1.0, "", passage="Text.", also=Part("More.", "", "page-2"))
    assert hit.text == "Text.\n\nAlso #page-2:\nMore."


def test_a_long_article_drowns_no_memory(tmp_path: Path) -> None:
    """The law: however much of an article is near, the memories answer as they did without it.

    Red when its passages take the places of memories, or raise the floor that they must reach.
    """
    for number, text in enumerate(COFFEE, 1):
        put(tmp_path, number, text)
    questions = ["which coffee do we drink at work?", "rainy days", "coffee", "kenyan brew"]

    def answers() -> list[list[tuple[int, bool]]]:
        with Notebook(tmp_path) as book:
            found = [book.recall(question, 20) for question in questions]
        assert all(sum(not hit.note.id for hit in hits) <= 1 for hits in found)
        return [[(hit.note.id, hit.weak) for hit in hits if hit.note.id] for hits in found]

    before = answers()
    text = "The office drinks coffee at work on rainy days, with beans from Kenya and number"
    pages = (f'<a id="page-{n}"></a>\n\n{text} {n}.' for n in range(1500))
    put_article(tmp_path, "coffee.md", "Coffee at work", "\n\n".join(pages))
    assert answers() == before


def test_a_memory_that_answers_as_well_comes_before_an_article(tmp_path: Path) -> None:
    """Red when the newest of equals comes first, whatever it is."""
    text = "The harbour closes at nine in winter."
    put(tmp_path, 1, text, created="2025-01-01T10:00:00+00:00")
    put_article(tmp_path, "harbour.md", "Harbour", f"{text}\n\n## More\n\nBoats stay.")
    for question in ("harbour closes at nine", "when does the harbour shut in the cold season"):
        assert [hit.note.kind for hit in Notebook(tmp_path).recall(question)][:1] == ["memory"]


def test_without_an_index_the_passage_with_the_words_is_told(tmp_path: Path) -> None:
    put_article(tmp_path, "guide.md", "Guide", GUIDE)
    page = Notebook(tmp_path).pages.read("articles/guide.md")
    assert page is not None
    [hit] = scan("c compiler", [page.found])  # type: ignore[list-item]
    assert (hit.anchor, hit.passage) == (
        "on-linux", "Compile it from the sources with a C compiler."
    )  # fmt: skip


def test_memories_are_cut_as_ever(tmp_path: Path) -> None:
    """Red when a long memory with headings is read anew, which would cost every user a reading."""
    put(tmp_path, 1, GUIDE)
    hit = Notebook(tmp_path).recall("run the wizard")[0]
    assert (hit.heading, hit.anchor, hit.text) == ("", "", GUIDE.strip())
    assert reading(Part("Tea: green"), ["drinks", "_x"])[1] == "Tea: green (drinks)"
