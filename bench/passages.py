"""Is the passage of an article found that answers, and is recall as quick as without articles?

Questions in other words on the set of tests/data/articles (bench/article_questions.json; half of
them were never looked at), among 1,000 notes; and a notebook with and without 300 pages.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the `co` command does

from cold import CO, Shell
from lab import Fact, Prose, english, scratch, tell, write_notebook
from speed import compare, notes_in, prepare, queries, timed

from co_cli.articles.extract import extract
from co_cli.errors import ExtractError
from co_cli.knowledge import Hit, Notebook

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from article_set import EXPECTED, NAMES, article
from handmade import put_article

HERE = Path(__file__).resolve().parent
NOTES, PAGES, ROUNDS = 1000, 300, 15


def notes() -> Iterator[Fact]:
    """Notes as people keep them."""
    for name in ("life", "software", "assistant", "life2", "software2"):
        for line in (HERE.parent / "training" / "pairs" / f"{name}.jsonl").open(encoding="utf-8"):
            yield from (
                Fact(note["text"], note.get("tags", ())) for note in json.loads(line)["notes"]
            )


def write_set(root: Path) -> None:
    """The documents of the set as articles."""
    for name in NAMES:
        try:
            found = extract(article(name), name=name, url=EXPECTED[name].get("url", ""))
        except ExtractError:  # one page is all script
            continue
        put_article(root, f"{name}.md", json.dumps(found.title, ensure_ascii=False), found.text)


def place(hits: list[Hit], asked: dict[str, Any]) -> int:
    """At which place the passage is told, from 1; 0 when it is not."""
    wanted = _plain(asked["phrase"])
    for number, hit in enumerate(hits, 1):
        if hit.note.name == f"{asked['document']}.md" and wanted in _plain(hit.text):
            return number
    return 0


def _plain(text: str) -> str:
    return " ".join(text.replace("*", "").replace("`", "").split())


def finding(folder: Path) -> int:
    """How many of the questions find their passage among five answers."""
    asked = json.loads((HERE / "article_questions.json").read_text(encoding="utf-8"))["questions"]
    write_notebook(folder, [fact for fact, _ in zip(notes(), range(NOTES), strict=False)])
    write_set(folder)
    with Notebook.open(folder) as book:
        book.sync(closely=True)
        places = [place(book.recall(one["question"], 5), one) for one in asked]
    halves = [
        statistics.fmean(
            bool(at) for at, one in zip(places, asked, strict=True) if one["held"] is held
        )
        for held in (False, True)
    ]
    first = statistics.fmean(at == 1 for at in places)
    more = "open {:.2f}, held {:.2f}; first {:.2f}".format(*halves, first)
    return tell(
        "passages among five", statistics.fmean(map(bool, places)), 0.77, least=True, more=more
    )


def manual() -> str:
    """300 pages under headings, with code and tables, about 870 KB."""
    prose = Prose(3, english())
    blocks = []
    for page in range(1, PAGES + 1):
        blocks.append(f'<a id="page-{page}"></a>')
        blocks += [f"## {prose.text(3)}"] if page % 3 == 1 else []
        blocks += [prose.text(prose.chance.choice((60, 90, 120, 150))) for _ in range(4)]
        lines = [f"{word} = {prose.text(8)}" for word in prose.words(12)]
        blocks += ["```python\n" + "\n".join(lines) + "\n```"] if page % 5 == 0 else []
        rows = [f"| {word} | {prose.text(10)} |" for word in prose.words(15)]
        blocks += ["| name | value |\n|---|---|\n" + "\n".join(rows)] if page % 7 == 0 else []
    return "\n\n".join(blocks)


def costing(folder: Path) -> int:
    """Recall in 1,000 notes with a long article, beside the same without it."""
    few, many = prepare(folder / "few", NOTES), prepare(folder / "many", NOTES)
    put_article(notes_in(many), "manual.md", "The manual", manual())
    asked = queries(few)
    times: tuple[list[float], list[float]] = ([], [])
    with (
        Notebook.open(notes_in(few), watch=True) as one,
        Notebook.open(notes_in(many), watch=True) as two,
    ):
        alone, both = timed(one.sync), timed(two.sync)
        for query in asked[:20]:
            one.recall(query), two.recall(query)
        for query in asked[20:]:
            for book, taken in zip((one, two), times, strict=True):
                taken.append(timed(book.recall, query))
    missed = tell("indexing 300 pages, seconds of CPU", both - alone, 2)
    under, top = map(statistics.median, times)
    missed += compare("warm recall with 300 pages / without", top, under, 1.2)
    shells = [Shell(base, folder / "home") for base in (few, many)]
    under, top = shells[0].least(
        ROUNDS,
        *(lambda n, shell=shell: timed(shell.run, CO, "recall", asked[n]) for shell in shells),
    )
    return missed + compare("cold co recall with 300 pages / without", top, under, 1.2)


def main() -> int:
    """Print every figure; 1 when a target is missed."""
    with scratch() as folder:
        return 1 if finding(folder / "set") + costing(folder) else 0


if __name__ == "__main__":
    sys.exit(main())
