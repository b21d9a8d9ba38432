"""Everyday lines in the chat without a model: what each is taken for, and whether words change.

.venv/bin/python bench/everyday.py            the open half, line by line where it is wrong
.venv/bin/python bench/everyday.py --held     the half set aside: counts only
"""

import json
import os
import sys
from collections import Counter
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the `co` command does

from co_cli.offline.draft import facts
from co_cli.offline.reading import Line, is_personal, read, statements, without_lead

DATA = Path(__file__).resolve().parent.parent / "tests" / "data"


def is_right(row: dict[str, Any], line: Line) -> bool:
    """Whether the chat does what was wanted: looks up, asks to keep, edits, or runs a command."""
    kind, act = row["kind"], line.act
    if kind == "tell":
        return bool(act == ("tell" if str(row["want"]).startswith("kept") else "passing"))
    if kind == "correct":  # one that makes sense alone is a statement that updates
        return act in ("correct", "tell")
    if kind in ("ask", "other"):
        return bool(act == kind)
    if kind == "help" and act == "other":  # the one line says what Co does
        return True
    return act == "request" and line.intent is not None and line.intent.kind == kind


def is_acceptable(row: dict[str, Any], line: Line) -> bool:
    """Whether the person gets there with one more key, or reads the note anyway."""
    offered = line.act in ("unclear", "passing") and row["kind"] == "tell"
    shown = line.act in ("ask", "unclear") and row["kind"] in ("ask", "show", "list", "other")
    unsaved = line.act == "passing" and row["kind"] == "other"
    return offered or shown or unsaved


def drafted(talk: dict[str, Any]) -> tuple[int, int, int]:
    """Of a labelled conversation: the expected drafts that were made, all made, all expected."""
    turns = talk["turns"]
    own = [one["text"] for one in turns if one["who"] == "person" and not one.get("external")]
    left = facts(own, [turns[one["turn"]]["text"] for one in talk.get("settled", ())])
    made, good = len(left), 0
    for wanted in talk["expected"]:
        words = [word.lower() for word in wanted["words"]]
        fits = [one for one in left if all(word in one.text.lower() for word in words)]
        left = [one for one in left if one not in fits[:1]]
        good += bool(fits)
    return good, made, len(talk["expected"])


def rows_of(name: str) -> list[dict[str, Any]]:
    """The rows of a file of JSON lines."""
    return [json.loads(line) for line in (DATA / name).read_text("utf-8").splitlines()]


def main() -> int:
    held = "--held" in sys.argv
    half = "held" if held else "open"
    name = f"everyday_{half}.jsonl"
    rows = rows_of(name)
    right, acceptable, words, wrong = 0, 0, 0, Counter[str]()
    placed = statements_seen = 0
    for row in rows:
        text = str(row["text"])
        line = read(text)
        good, fair = is_right(row, line), is_acceptable(row, line)
        right, acceptable = right + good, acceptable + (fair and not good)
        if not good:
            wrong[f"{row['kind']} as {line.act}"] += 1
            if not held:
                print(f"{'fair ' if fair else 'wrong'} {row['kind']:8} {line.act:8} {text}")
        if row["kind"] == "tell":
            own = without_lead(text)[0]
            words += "".join("".join(statements(own)).split()) == "".join(own.split())
            statements_seen += 1
            placed += int(not row["lasting"] or is_personal(own) is bool(row["personal"]))
    bad = len(rows) - right - acceptable
    share = f"{right / len(rows):.3f}"
    print(f"{name}: {right} right ({share}), {acceptable} acceptable, {bad} wrong")
    print(f"words as typed: {words} of {statements_seen}; place: {placed} of {statements_seen}")
    print(", ".join(f"{kind}: {many}" for kind, many in wrong.most_common()))
    talks = [drafted(talk) for talk in rows_of(f"conversations_{half}.jsonl")]
    hits, made, expected = map(sum, zip(*talks, strict=True))
    print(f"drafts: {hits} of {made} expected; {hits} of {expected} facts drafted")
    return 0


if __name__ == "__main__":
    sys.exit(main())
