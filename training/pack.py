"""Lay the trained encoders out as the package maps them: raw arrays, and a list of where each is.

    python training/pack.py TRAINED_FOLDER co_cli/knowledge/meaning/weights

Other files on the list, as the reader's, stay there.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

POSITIONS = 256
LAYERS = 6
Array = np.ndarray[Any, Any]
Arrays = dict[str, Array]


class Source:
    """Trained weights by their published names."""

    def __init__(self, path: Path) -> None:
        with np.load(path) as file:
            self.weights = {name: file[name] for name in file.files}

    def matrix(self, name: str, published: Sequence[str]) -> Arrays:
        """Several matrices of whole numbers one below the other, and the scales of their rows."""
        rows = [self.weights[f"{one}.weight.int8"] for one in published]
        scales = [self.weights[f"{one}.weight.scale"].reshape(-1) for one in published]
        return {name: np.concatenate(rows), f"{name}.scale": np.concatenate(scales).astype("<f4")}

    def vectors(self, *names: str) -> Array:
        """Vectors, one after the other."""
        return np.concatenate([self.weights[name] for name in names]).astype("<f4")

    def positions(self) -> Arrays:
        """The rows of the positions; token types, of which there is one, go into them."""
        name = "embeddings.position_embeddings.weight"
        whole = self.weights[f"{name}.int8"][:POSITIONS].astype(np.float32)
        scale = self.weights[f"{name}.scale"].reshape(-1)[:POSITIONS, None].astype(np.float32)
        kind = self.weights["embeddings.token_type_embeddings.weight"][0].astype(np.float32)
        places = whole * scale + kind
        scales = np.abs(places).max(1) / 127
        rows = np.round(places / scales[:, None]).astype(np.int8)
        return {"positions": rows, "positions.scale": scales.astype("<f4")}

    def layer(self, number: int) -> Arrays:
        """One layer's arrays."""
        at = f"encoder.layer.{number}"
        own = [f"{at}.attention.self.{part}" for part in ("query", "key", "value")]
        dense = [f"{at}.attention.output.dense", f"{at}.intermediate.dense", f"{at}.output.dense"]
        norms = [f"{at}.attention.output.LayerNorm", f"{at}.output.LayerNorm"]
        arrays = self.matrix(f"{number}.seen", own)
        for name, short in zip(dense, ("joined", "wide", "narrow"), strict=True):
            arrays |= self.matrix(f"{number}.{short}", [name])
        arrays[f"{number}.biases"] = self.vectors(*(f"{name}.bias" for name in (*own, *dense)))
        both = [f"{name}.{part}" for name in norms for part in ("weight", "bias")]
        arrays[f"{number}.norms"] = self.vectors(*both).reshape(4, -1)
        return arrays


def careful(path: Path) -> Arrays:
    """The careful encoder's arrays."""
    source = Source(path)
    arrays = source.matrix("words", ["embeddings.word_embeddings"]) | source.positions()
    norm = "embeddings.LayerNorm"
    arrays["start.norm"] = source.vectors(f"{norm}.weight", f"{norm}.bias")
    for number in range(LAYERS):
        arrays |= source.layer(number)
    return arrays


def fast(path: Path) -> bytes:
    """The table with one scale for all rows, as bytes around 128."""
    with np.load(path) as file:
        rows = file["int8"].astype(np.float32) * file["scale"].astype(np.float32).reshape(-1, 1)
    scale = 127 / np.quantile(np.abs(rows).max(1), 0.999)
    table: Array = (np.round(rows * scale).clip(-127, 127) + 128).astype(np.uint8)
    return table.tobytes()


def write(folder: Path, name: str, data: bytes, places: dict[str, Any] | None = None) -> None:
    """Write one file of weights, and its line on the list."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)
    path = folder / "weights.json"
    files: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    files[name] = {"size": len(data), "sha256": sha256(data).hexdigest()}
    if places:
        files[name]["arrays"] = places
    path.write_text(json.dumps(files, indent=1) + "\n")


def write_arrays(folder: Path, name: str, arrays: Arrays) -> None:
    """Write one file of arrays; the list says where each lies in it."""
    places: dict[str, Any] = {}
    data = bytearray()
    for key, array in arrays.items():
        data += bytes(-len(data) % 64)
        places[key] = [array.dtype.str.lstrip("|"), list(array.shape), len(data)]
        data += array.tobytes()
    write(folder, name, bytes(data), places)


def main() -> None:
    """Write the files and their list."""
    source, folder = Path(sys.argv[1]), Path(sys.argv[2])
    write_arrays(folder, "careful.bin", careful(source / "careful.npz"))
    write(folder, "fast.bin", fast(source / "fast.npz"))
    write(folder, "vocab.txt", (source / "vocab.txt").read_bytes())


if __name__ == "__main__":
    main()
