"""The vectors of a hundred texts as PyTorch makes them, to hold the package's own arithmetic to.

python training/golden.py TRAINED_FOLDER > tests/data/golden_vectors.jsonl
"""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path

import numpy as np
import torch
from model import Bert, Table, Texts, clusters, load

HERE = Path(__file__).resolve().parent


def told(vector: torch.Tensor) -> str:
    """A vector in signed bytes, as base64."""
    values = (vector * 500).round().clamp(-127, 127).to(torch.int8)
    return base64.b64encode(values.cpu().numpy().tobytes()).decode()


def main() -> None:
    """A note, a question, a note with its tags, of every fourth cluster."""
    folder = Path(sys.argv[1])
    texts = Texts(folder / "vocab.txt", torch.device("cpu"))
    weights = load(folder / "careful.npz")
    careful = Bert({n: v for n, v in weights.items() if not n.startswith("judge.")}).eval()
    with np.load(folder / "fast.npz") as file:
        scale = file["scale"].astype(np.float32).reshape(-1, 1)
        fast = Table(torch.from_numpy(file["int8"].astype(np.float32) * scale))
    every = list(clusters(HERE / "pairs"))[::11]
    chosen = [text for one in every for text in (one.plain[0], one.questions[0], one.notes[-1])]
    for text in [text for text in chosen if texts.pieces.known(text, 254)][:100]:
        rows = [texts.encode(model, [text])[0] for model in (careful, fast)]
        record = {"text": text, "careful": told(rows[0]), "fast": told(rows[1])}
        print(json.dumps(record, ensure_ascii=False))


if __name__ == "__main__":
    main()
