"""Everyday lines in the chat without a model: what each is taken for, and whether words change.

.venv/bin/python -m bench.everyday            the open half, line by line where it is wrong
.venv/bin/python -m bench.everyday --held     the half set aside: counts only
"""

import json
import sys
from collections import Counter
from pathlib import Path

from co_cli.offline.reading import Line, is_personal, read, statements, without_lead

DATA = Path(__file__).resolve().parent.parent / "tests" / "data"


def is_right(row: dict[str, object], line: Line) -> bool:
    """Whether the chat does what was wanted: looks up, asks to keep, edits, or runs a command."""
    kind, act = row["kind"], line.act
    if kind == "tell":
        return act == ("tell" if str(row["want"]).startswith("kept") else "passing")
    if kind == "correct":  # one that makes sense alone is a statement that updates
        return act in ("correct", "tell")
    if kind in ("ask", "other"):
        return act == kind
    if kind == "help" and act == "other":  # the one line says what Co does
        return True
    return act == "request" and line.intent is not None and line.intent.kind == kind


def is_acceptable(row: dict[str, object], line: Line) -> bool:
    """Whether the person gets there with one more key, or reads the note anyway."""
    offered = line.act in ("unclear", "passing") and row["kind"] == "tell"
    shown = line.act in ("ask", "unclear") and row["kind"] in ("ask", "show", "list", "other")
    unsaved = line.act == "passing" and row["kind"] == "other"
    return offered or shown or unsaved


def main() -> int:
    held = "--held" in sys.argv
    name = "everyday_held.jsonl" if held else "everyday_open.jsonl"
    rows = [json.loads(line) for line in (DATA / name).read_text("utf-8").splitlines()]
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
            placed += not row["lasting"] or is_personal(own) == row["personal"]
    bad = len(rows) - right - acceptable
    share = f"{right / len(rows):.3f}"
    print(f"{name}: {right} right ({share}), {acceptable} acceptable, {bad} wrong")
    print(f"words as typed: {words} of {statements_seen}; place: {placed} of {statements_seen}")
    print(", ".join(f"{kind}: {many}" for kind, many in wrong.most_common()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
