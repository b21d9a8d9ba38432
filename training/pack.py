"""Lay trained weights out as the package maps them: raw arrays, and a list of where each is.

python training/pack.py TRAINED_FOLDER co_cli/knowledge/meaning/weights
"""

from __future__ import annotations

import json
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

POSITIONS = 256
LAYERS = 6
Arrays = dict[str, np.ndarray[Any, Any]]


def matrix(found: Arrays, parts: list[tuple[np.ndarray, np.ndarray]], name: str) -> None:
    """Several matrices one below the other, with the scales of their rows."""
    found[name] = np.concatenate([rows for rows, _ in parts])
    found[f"{name}.scale"] = np.concatenate([scale for _, scale in parts]).astype("<f4")


class Source:
    """Trained weights by their published names."""

    def __init__(self, path: Path) -> None:
        with np.load(path) as file:
            self.weights = {name: file[name] for name in file.files}

    def rows(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """A matrix of whole numbers, and the scales of its rows."""
        scale = self.weights[f"{name}.weight.scale"]
        return self.weights[f"{name}.weight.int8"], scale.reshape(-1)

    def plain(self, *names: str) -> np.ndarray:
        """Vectors, one after the other."""
        return np.concatenate([self.weights[name] for name in names]).astype("<f4")

    def layer(self, number: int) -> Arrays:
        """One layer's arrays."""
        found: Arrays = {}
        at = f"encoder.layer.{number}"
        own = [f"{at}.attention.self.{part}" for part in ("query", "key", "value")]
        dense = [f"{at}.attention.output.dense", f"{at}.intermediate.dense", f"{at}.output.dense"]
        norms = [f"{at}.attention.output.LayerNorm", f"{at}.output.LayerNorm"]
        matrix(found, [self.rows(name) for name in own], f"{number}.seen")
        for name, short in zip(dense, ("joined", "wide", "narrow"), strict=True):
            matrix(found, [self.rows(name)], f"{number}.{short}")
        found[f"{number}.biases"] = self.plain(*(f"{name}.bias" for name in (*own, *dense)))
        both = [f"{name}.{part}" for name in norms for part in ("weight", "bias")]
        found[f"{number}.norms"] = self.plain(*both).reshape(4, -1)
        return found


def careful(path: Path) -> Arrays:
    """The careful encoder's arrays; token types, of which there is one, go into the positions."""
    source, found = Source(path), Arrays()
    matrix(found, [source.rows("embeddings.word_embeddings")], "words")
    whole, scale = source.rows("embeddings.position_embeddings")
    kind = source.weights["embeddings.token_type_embeddings.weight"][0].astype(np.float32)
    places = (
        whole[:POSITIONS].astype(np.float32) * scale[:POSITIONS, None].astype(np.float32) + kind
    )
    scale = np.abs(places).max(1) / 127
    matrix(found, [(np.round(places / scale[:, None]).astype(np.int8), scale)], "positions")
    norm = "embeddings.LayerNorm"
    found["start.norm"] = source.plain(f"{norm}.weight", f"{norm}.bias")
    for number in range(LAYERS):
        found |= source.layer(number)
    return found


def fast(path: Path) -> np.ndarray:
    """The table with one scale for all rows, as bytes around 128."""
    with np.load(path) as file:
        rows = file["int8"].astype(np.float32) * file["scale"].astype(np.float32).reshape(-1, 1)
    scale = 127 / np.quantile(np.abs(rows).max(1), 0.999)
    return (np.round(rows * scale).clip(-127, 127) + 128).astype(np.uint8)


def main() -> None:
    """Write the files and their list."""
    source, to = Path(sys.argv[1]), Path(sys.argv[2])
    to.mkdir(parents=True, exist_ok=True)
    listed: dict[str, dict[str, Any]] = {}

    def put(name: str, data: bytes, arrays: dict[str, Any] | None = None) -> None:
        (to / name).write_bytes(data)
        listed[name] = {"size": len(data), "sha256": sha256(data).hexdigest()}
        if arrays:
            listed[name]["arrays"] = arrays

    places, data = {}, bytearray()
    for name, array in careful(source / "careful.npz").items():
        data += bytes(-len(data) % 64)
        kind = {"int8": "i1", "float32": "<f4"}[array.dtype.name]
        places[name] = [kind, list(array.shape), len(data)]
        data += array.tobytes()
    put("careful.bin", bytes(data), places)
    put("fast.bin", fast(source / "fast.npz").tobytes())
    put("vocab.txt", (source / "vocab.txt").read_bytes())
    (to / "weights.json").write_text(json.dumps(listed, indent=1) + "\n")


if __name__ == "__main__":
    main()
