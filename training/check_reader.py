"""How far the package's reader is from the training's numbers.

    python training/check_reader.py co_cli/knowledge/meaning/weights tests/data/golden_reader.jsonl

The second file is what `golden.py` wrote.
"""

import json
import sys
from collections.abc import Sequence
from math import exp, log
from pathlib import Path
from typing import Any

from co_cli.knowledge.meaning.encoders import Meaning
from co_cli.knowledge.meaning.reader import Reader

Row = dict[str, Any]


def distance(reader: Reader, row: Row) -> float:
    """How far the scores of one text or pair are from those of the training."""
    if "question" in row:
        return gap(reader.answers(row["question"], [row["text"]]), row["answers"])
    if "old" in row:
        [relation] = reader.relations([row["old"]], row["new"])
        logs = [log(relation.updates), log(relation.same), log(relation.other)]
        return max(
            gap(logs, log_shares(row["relation"])), gap([odds(relation.about)], row["about"])
        )
    intent = reader.intent(row["line"])
    return max(
        gap([log(share) for share in intent.kinds.values()], log_shares(row["kind"])),
        gap([odds(intent.lasting)], row["lasting"]),
        gap([odds(intent.personal)], row["personal"]),
    )


def gap(scores: Sequence[float], golden: Sequence[float]) -> float:
    return max(abs(one - other) for one, other in zip(scores, golden, strict=True))


def odds(probability: float) -> float:
    return log(probability / (1 - probability))


def log_shares(scores: Sequence[float]) -> list[float]:
    """Scores as logarithms of probabilities that add up to one."""
    total = log(sum(map(exp, scores)))
    return [score - total for score in scores]


def main() -> None:
    reader = Reader(Meaning(sys.argv[1]))
    rows = [json.loads(line) for line in Path(sys.argv[2]).read_text("utf-8").splitlines()]
    print(f"{len(rows)} texts, at most {max(distance(reader, row) for row in rows):.1e} apart")


if __name__ == "__main__":
    main()
