"""Notes in German, French, Spanish and Japanese, beside English ones: bench/languages.json.

The model of meaning reads English; other languages are found by words and letters. They must be
found no worse than before there was such a model, and nothing unrelated may be told as sure.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from lab import scratch, tell, write_notebook
from own import ask, facts, table

from co_cli.knowledge import Notebook

NOTES = Path(__file__).with_name("languages.json")
BEFORE = {1: 0.633, 5: 0.716, 10: 0.816}  # with averaged word vectors, before Co read meaning
EMPTY = 7


def main() -> int:
    """Print it all; 1 when a target is missed."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    data = json.loads(NOTES.read_text())
    with scratch() as folder:
        write_notebook(folder / "languages", facts(data))
        with Notebook.open(folder / "languages") as book:
            book.search.read_closely()
            table("by language", asked := ask(book, data, "language"))
            table("by kind", ask(book, data))
    for question, answer in zip(data["off_topic"], asked.strange, strict=True):
        if answer.sure:
            told = [data["notes"][number - 1]["key"] for number in answer.found]
            print(f"  told as sure: {question['ask']}: {', '.join(told)}")
    missed = 0
    for most, target in BEFORE.items():
        label = f"other languages at {most}"
        missed += tell(label, asked.at(most), target, least=True)
    missed += tell("wrongly empty", asked.empty, EMPTY)
    sure = sum(answer.sure for answer in asked.strange)
    return 1 if missed + tell("about nothing there, told as sure", sure, 0) else 0


if __name__ == "__main__":
    sys.exit(main())
