"""Lay the reader's weights out as the package maps them.

python training/pack_reader.py OUT FOLDER

FOLDER is a copy of `co_cli/knowledge/meaning/weights`; `reader.bin` is added to it.
"""

from __future__ import annotations

import json
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

Arrays = dict[str, np.ndarray[Any, Any]]
LAYERS = 12


def halves(packed: np.ndarray) -> np.ndarray:
    """Numbers of which every other one is the upper half of a byte, as a left and a right half."""
    whole = np.empty((len(packed), 2 * packed.shape[1]), np.uint8)
    whole[:, ::2], whole[:, 1::2] = packed & 15, packed >> 4
    middle = packed.shape[1]
    return whole[:, :middle] | whole[:, middle:] << 4


def arrays(path: Path) -> Arrays:
    """The arrays by the names that the package knows them by."""
    with np.load(path) as file:
        source = {name: file[name] for name in file.files}
    found: Arrays = {}

    def matrix(name: str, *parts: str) -> None:
        for kind in ("int4", "step"):
            rows = [halves(source[f"{part}.weight.{kind}"]) for part in parts]
            found[f"{name}.{kind}"] = np.concatenate(rows)
        scales = [source[f"{part}.weight.scale"] for part in parts]
        found[f"{name}.scale"] = np.concatenate(scales)

    def plain(*names: str) -> np.ndarray:
        return np.concatenate([source[name] for name in names]).astype("<f4")

    matrix("words", "embeddings.word_embeddings")
    found["positions"] = source["embeddings.position_embeddings.weight"]
    found["distances"] = source["encoder.relative_attention_bias.weight"].astype("<f4")
    norm = "embeddings.LayerNorm"
    found["start.norm"] = plain(f"{norm}.weight", f"{norm}.bias").reshape(2, -1)
    for number in range(LAYERS):
        at = f"encoder.layer.{number}"
        own = [f"{at}.attention.attn.{part}" for part in "qkv"]
        dense = [f"{at}.attention.attn.o", f"{at}.intermediate.dense", f"{at}.output.dense"]
        norms = [f"{at}.attention.LayerNorm", f"{at}.output.LayerNorm"]
        matrix(f"{number}.qkv", *own)
        for name, short in zip(dense, ("mix", "up", "down"), strict=True):
            matrix(f"{number}.{short}", name)
        found[f"{number}.biases"] = plain(*(f"{name}.bias" for name in (*own, *dense)))
        both = [f"{name}.{part}" for name in norms for part in ("weight", "bias")]
        found[f"{number}.norms"] = plain(*both).reshape(4, -1)
    for name, value in source.items():
        if name.startswith("heads."):
            found[name.removeprefix("heads.")] = value.astype("<f4")
    return found


def write(folder: Path, name: str, content: Arrays) -> None:
    """Write one file of weights and note in the list where each array lies in it."""
    path = folder / "weights.json"
    listed: dict[str, dict[str, Any]] = json.loads(path.read_text())
    places: dict[str, Any] = {}
    data = bytearray()
    for key, array in content.items():
        data += bytes(-len(data) % 64)
        places[key] = [array.dtype.str.lstrip("|"), list(array.shape), len(data)]
        data += array.tobytes()
    (folder / name).write_bytes(data)
    listed[name] = {"size": len(data), "sha256": sha256(data).hexdigest(), "arrays": places}
    path.write_text(json.dumps(listed, indent=1) + "\n")


def main() -> None:
    write(Path(sys.argv[2]), "reader.bin", arrays(Path(sys.argv[1]) / "reader.npz"))


if __name__ == "__main__":
    main()
