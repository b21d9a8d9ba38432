"""Notes in German, French, Spanish and Japanese, beside English ones: bench/languages.json.

The model of meaning reads English; other languages are found by words and letters. They must be
found no worse than before there was such a model, and nothing unrelated may be told as sure. Then
the same with the extra `languages`, which finds them by meaning.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the `co` command does

from lab import scratch, tell, write_notebook
from own import Asked, ask, facts, table

from co_cli.knowledge import Notebook
from co_cli.knowledge.meaning import encoders
from co_cli.knowledge.meaning.languages import package_folder

NOTES = Path(__file__).with_name("languages.json")
BEFORE = {1: 0.633, 5: 0.716, 10: 0.816}  # with averaged word vectors, before Co read meaning
WITH = {1: 0.75, 5: 0.93, 10: 0.95}
EMPTY, EMPTY_WITH = 7, 1


def asked(data: dict[str, Any], package: str) -> Asked:
    """Everything asked of a new notebook, as if the extra's files were there, or nowhere."""
    encoders.package_folder = lambda: package  # type: ignore[attr-defined]
    encoders.built_in.cache_clear()
    with scratch() as folder:
        write_notebook(folder / "languages", facts(data))
        with Notebook.open(folder / "languages") as book:
            book.search.read_closely()
            table("by language", found := ask(book, data, "language"))
            table("by kind", ask(book, data))
    for question, answer in zip(data["off_topic"], found.strange, strict=True):
        if answer.sure:
            told = [data["notes"][number - 1]["key"] for number in answer.found]
            print(f"  told as sure: {question['ask']}: {', '.join(told)}")
    return found


def verdict(label: str, found: Asked, targets: dict[int, float], empty: int) -> int:
    """Every figure with its target; how many were missed."""
    missed = 0
    for most, target in targets.items():
        missed += tell(f"{label} at {most}", found.at(most), target, least=True)
    missed += tell(f"{label}, wrongly empty", found.empty, empty)
    sure = sum(answer.sure for answer in found.strange)
    return missed + tell(f"{label}, about nothing there, told as sure", sure, 0)


def main() -> int:
    """Print it all; 1 when a target is missed."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    data = json.loads(NOTES.read_text())
    print("without the extra `languages`")
    missed = verdict("other languages", asked(data, ""), BEFORE, EMPTY)
    if not (folder := package_folder()):
        print("\nthe extra `languages` is not installed: the rest is skipped")
        return 1 if missed else 0
    print("\nwith it")
    missed += verdict("with the extra", asked(data, folder), WITH, EMPTY_WITH)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
