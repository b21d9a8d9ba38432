"""Lay the reader's weights out as the package maps them.

    python training/pack_reader.py OUT co_cli/knowledge/meaning/weights

OUT is what `reader.py` wrote.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from pack import Array, Arrays, write_arrays

LAYERS = 12


def halves(packed: Array) -> Array:
    """Numbers of which every other one is the upper half of a byte, as a left and a right half."""
    numbers = np.empty((len(packed), 2 * packed.shape[1]), np.uint8)
    numbers[:, ::2], numbers[:, 1::2] = packed & 15, packed >> 4
    left, right = np.split(numbers, 2, 1)
    both: Array = left | right << 4
    return both


def arrays(path: Path) -> Arrays:
    """The arrays by the names that the package knows them by."""
    with np.load(path) as file:
        source = {name: file[name] for name in file.files}
    packed: Arrays = {}

    def matrix(name: str, *parts: str) -> None:
        for kind in ("int4", "step"):
            rows = [halves(source[f"{part}.weight.{kind}"]) for part in parts]
            packed[f"{name}.{kind}"] = np.concatenate(rows)
        scales = [source[f"{part}.weight.scale"] for part in parts]
        packed[f"{name}.scale"] = np.concatenate(scales)

    def vectors(*names: str) -> Array:
        return np.concatenate([source[name] for name in names]).astype("<f4")

    matrix("words", "embeddings.word_embeddings")
    packed["positions"] = source["embeddings.position_embeddings.weight"]
    packed["distances"] = source["encoder.relative_attention_bias.weight"].astype("<f4")
    norm = "embeddings.LayerNorm"
    packed["start.norm"] = vectors(f"{norm}.weight", f"{norm}.bias").reshape(2, -1)
    for number in range(LAYERS):
        at = f"encoder.layer.{number}"
        own = [f"{at}.attention.attn.{part}" for part in "qkv"]
        dense = [f"{at}.attention.attn.o", f"{at}.intermediate.dense", f"{at}.output.dense"]
        norms = [f"{at}.attention.LayerNorm", f"{at}.output.LayerNorm"]
        matrix(f"{number}.qkv", *own)
        for name, short in zip(dense, ("mix", "up", "down"), strict=True):
            matrix(f"{number}.{short}", name)
        packed[f"{number}.biases"] = vectors(*(f"{name}.bias" for name in (*own, *dense)))
        both = [f"{name}.{part}" for name in norms for part in ("weight", "bias")]
        packed[f"{number}.norms"] = vectors(*both).reshape(4, -1)
    for name, value in source.items():
        if name.startswith("heads."):
            packed[name.removeprefix("heads.")] = value.astype("<f4")
    return packed


def main() -> None:
    """Write the file and its line on the list."""
    write_arrays(Path(sys.argv[2]), "reader.bin", arrays(Path(sys.argv[1]) / "reader.npz"))


if __name__ == "__main__":
    main()
