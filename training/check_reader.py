"""How far the package's reader is from the training's numbers.

    python training/check_reader.py WEIGHTS_FOLDER GOLDEN

GOLDEN is what `reader.py` wrote, or `tests/data/golden_reader.jsonl`.
"""

import json
import sys
from pathlib import Path
from typing import Any

from co_cli.knowledge.meaning.encoders import Meaning
from co_cli.knowledge.meaning.reader import Reader


def apart(reader: Reader, row: dict[str, Any]) -> float:
    """How far the scores of one text or pair are from those of the training."""
    if row["head"] == "intent":
        mean = reader.mean(row["first"])
        names = ("kind", "lasting", "signal", "personal")
        scores = [float(score) for name in names for score in reader.head(name, mean)]
    else:
        scores = [float(score) for score in reader.pair(row["head"], row["first"], row["second"])]
    return max(abs(one - other) for one, other in zip(scores, row["scores"], strict=True))


def main() -> None:
    reader = Reader(Meaning(sys.argv[1]))
    rows = [json.loads(line) for line in Path(sys.argv[2]).read_text("utf-8").splitlines()]
    print(f"{len(rows)} texts, at most {max(apart(reader, row) for row in rows):.1e} apart")


if __name__ == "__main__":
    main()
