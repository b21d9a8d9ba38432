"""Turn the package's weights back into the files that `pack.py` and `pack_reader.py` read.

    python training/unpack.py co_cli/knowledge/meaning/weights FOLDER

Writes FOLDER/careful.npz, fast.npz, reader.npz and vocab.txt. Reads the layout by itself, so that
what `golden.py` makes of these files is independent of the package's own arithmetic.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Sequence
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Arrays = dict[str, Array]
CAREFUL_LAYERS, READER_LAYERS = 6, 12


class Packed:
    """The arrays of one packed file, by their names there."""

    def __init__(self, folder: Path, name: str) -> None:
        self._data = (folder / name).read_bytes()
        self._places: dict[str, Any] = json.loads((folder / "weights.json").read_text())[name][
            "arrays"
        ]

    def __contains__(self, name: str) -> bool:
        return name in self._places

    def __getitem__(self, name: str) -> Array:
        kind, shape, offset = self._places[name]
        return np.frombuffer(self._data, kind, prod(shape), offset).reshape(shape)

    def parts(self, name: str, sizes: Sequence[int]) -> list[Array]:
        """An array's rows, cut into blocks of these sizes."""
        return np.split(self[name], np.cumsum(sizes)[:-1])

    def heads(self, first: str) -> Arrays:
        """What follows the last layer, from this array on."""
        names = list(self._places)
        return {f"heads.{name}": self[name] for name in names[names.index(first) :]}


def careful(folder: Path) -> Arrays:
    """The careful encoder by its published names; its one token type is part of the positions."""
    packed, weights = Packed(folder, "careful.bin"), Arrays()

    def matrix(name: str, published: Sequence[str]) -> None:
        rows = len(packed[name]) // len(published)
        for suffix, kind in (("", "int8"), (".scale", "scale")):
            blocks = packed.parts(f"{name}{suffix}", [rows] * len(published))
            for one, block in zip(published, blocks, strict=True):
                weights[f"{one}.weight.{kind}"] = block

    matrix("words", ["embeddings.word_embeddings"])
    matrix("positions", ["embeddings.position_embeddings"])
    size = packed["words"].shape[1]
    weights["embeddings.token_type_embeddings.weight"] = np.zeros((2, size), "f2")
    norm = packed.parts("start.norm", [size, size])
    weights |= named_vectors(["embeddings.LayerNorm"], norm)
    for number in range(CAREFUL_LAYERS):
        at = f"encoder.layer.{number}"
        own = [f"{at}.attention.self.{part}" for part in ("query", "key", "value")]
        dense = [f"{at}.attention.output.dense", f"{at}.intermediate.dense", f"{at}.output.dense"]
        norms = [f"{at}.attention.output.LayerNorm", f"{at}.output.LayerNorm"]
        matrix(f"{number}.seen", own)
        for name, short in zip(dense, ("joined", "wide", "narrow"), strict=True):
            matrix(f"{number}.{short}", [name])
        sizes = [len(weights[f"{name}.weight.int8"]) for name in (*own, *dense)]
        biases = packed.parts(f"{number}.biases", sizes)
        weights |= {f"{n}.bias": b for n, b in zip((*own, *dense), biases, strict=True)}
        weights |= named_vectors(norms, list(packed[f"{number}.norms"]))
    return weights


def named_vectors(norms: Sequence[str], rows: Sequence[Array]) -> Arrays:
    """The weight and the bias of each norm."""
    names = [f"{norm}.{part}" for norm in norms for part in ("weight", "bias")]
    return dict(zip(names, rows, strict=True))


def fast(folder: Path) -> Arrays:
    """The table; its rows share one scale, which no angle depends on."""
    tokens = len(Packed(folder, "careful.bin")["words"])
    table = np.frombuffer((folder / "fast.bin").read_bytes(), np.uint8).reshape(tokens, -1)
    rows = (table.astype(np.int16) - 128).astype(np.int8)
    return {"int8": rows, "scale": np.ones(tokens, np.float16)}


def alternating(halves: Array) -> Array:
    """Numbers of a left and a right half of a byte, as neighbours that share one."""
    numbers = np.concatenate([halves & 15, halves >> 4], 1)
    packed: Array = numbers[:, ::2] | numbers[:, 1::2] << 4
    return packed


def reader(folder: Path) -> Arrays:
    """The reader by its published names, two numbers of four bits a byte."""
    packed, weights = Packed(folder, "reader.bin"), Arrays()

    def matrix(name: str, published: Sequence[str]) -> None:
        rows = len(packed[f"{name}.scale"]) // len(published)
        for kind in ("int4", "step", "scale"):
            blocks = packed.parts(f"{name}.{kind}", [rows] * len(published))
            for one, block in zip(published, blocks, strict=True):
                value = block if kind == "scale" else alternating(block)
                weights[f"{one}.weight.{kind}"] = value

    matrix("words", ["embeddings.word_embeddings"])
    weights["embeddings.position_embeddings.weight"] = packed["positions"]
    weights["encoder.relative_attention_bias.weight"] = packed["distances"]
    weights |= named_vectors(["embeddings.LayerNorm"], list(packed["start.norm"]))
    for number in range(READER_LAYERS):
        at = f"encoder.layer.{number}"
        own = [f"{at}.attention.attn.{part}" for part in "qkv"]
        dense = [f"{at}.attention.attn.o", f"{at}.intermediate.dense", f"{at}.output.dense"]
        norms = [f"{at}.attention.LayerNorm", f"{at}.output.LayerNorm"]
        matrix(f"{number}.qkv", own)
        for name, short in zip(dense, ("mix", "up", "down"), strict=True):
            matrix(f"{number}.{short}", [name])
        sizes = [len(weights[f"{name}.weight.scale"]) for name in (*own, *dense)]
        biases = packed.parts(f"{number}.biases", sizes)
        weights |= {f"{n}.bias": b for n, b in zip((*own, *dense), biases, strict=True)}
        weights |= named_vectors(norms, list(packed[f"{number}.norms"]))
    return weights | packed.heads("answers.weight")


def main() -> None:
    """Write the three models and the vocabulary."""
    folder, out = Path(sys.argv[1]), Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    np.savez(out / "careful.npz", **careful(folder))  # type: ignore[arg-type]
    np.savez(out / "fast.npz", **fast(folder))  # type: ignore[arg-type]
    np.savez(out / "reader.npz", **reader(folder))  # type: ignore[arg-type]
    shutil.copyfile(folder / "vocab.txt", out / "vocab.txt")


if __name__ == "__main__":
    main()
