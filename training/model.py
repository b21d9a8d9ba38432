"""The two encoders as they are trained: a BERT and a table of token vectors, both in PyTorch."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from co_cli.knowledge.meaning.wordpiece import WordPiece, tagged, words

LONGEST = 256  # pieces of a text, with the marks at both ends
SIZE = 384

Batch = tuple[Tensor, Tensor]


class Bert(nn.Module):
    """As many layers as the weights have; a text's vector is its tokens' mean, of length 1."""

    def __init__(self, weights: dict[str, Tensor], heads: int = 12) -> None:
        super().__init__()
        self.names = {name: name.replace(".", "_") for name in weights if "pooler" not in name}
        for name, attribute in self.names.items():
            self.register_parameter(attribute, nn.Parameter(weights[name].float().clone()))
        self.layers = 1 + max(int(name.split(".")[2]) for name in weights if "layer." in name)
        self.heads = heads

    def weight(self, name: str) -> Tensor:
        return getattr(self, self.names[name])

    def _linear(self, name: str, value: Tensor) -> Tensor:
        return functional.linear(value, self.weight(f"{name}.weight"), self.weight(f"{name}.bias"))

    def _norm(self, name: str, value: Tensor) -> Tensor:
        weight, bias = self.weight(f"{name}.weight"), self.weight(f"{name}.bias")
        return functional.layer_norm(value, (SIZE,), weight, bias, 1e-12)

    def forward(self, batch: Batch) -> Tensor:
        tokens, mask = batch
        count, length = tokens.shape
        value = (
            self.weight("embeddings.word_embeddings.weight")[tokens]
            + self.weight("embeddings.position_embeddings.weight")[:length]
            + self.weight("embeddings.token_type_embeddings.weight")[0]
        )
        value = self._norm("embeddings.LayerNorm", value)
        for number in range(self.layers):
            layer = f"encoder.layer.{number}"
            parts = [
                self._linear(f"{layer}.attention.self.{part}", value)
                .view(count, length, self.heads, -1)
                .transpose(1, 2)
                for part in ("query", "key", "value")
            ]
            mixed = functional.scaled_dot_product_attention(
                *parts, attn_mask=mask[:, None, None, :]
            )
            mixed = mixed.transpose(1, 2).reshape(count, length, SIZE)
            mixed = self._linear(f"{layer}.attention.output.dense", mixed)
            value = self._norm(f"{layer}.attention.output.LayerNorm", mixed + value)
            inner = functional.gelu(self._linear(f"{layer}.intermediate.dense", value))
            value = self._norm(
                f"{layer}.output.LayerNorm", self._linear(f"{layer}.output.dense", inner) + value
            )
        mean = (value * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
        return functional.normalize(mean.float(), dim=1)

    def state(self) -> dict[str, Tensor]:
        """The weights by their published names."""
        return {name: self.weight(name).detach().float().cpu() for name in self.names}


class Table(nn.Module):
    """A vector per token; a text's vector is their sum, of length 1. The marks do not count."""

    def __init__(self, rows: Tensor) -> None:
        super().__init__()
        self.rows = nn.Parameter(rows.clone())

    def forward(self, batch: Batch) -> Tensor:
        tokens, mask = batch
        mask = mask.clone()
        mask[:, 0] = False
        mask[torch.arange(len(mask)), batch[1].sum(1) - 1] = False
        return functional.normalize((self.rows[tokens] * mask[..., None]).sum(1), dim=1, eps=1e-6)


class Texts:
    """Texts as padded batches of tokens."""

    def __init__(self, vocabulary: Path, device: torch.device) -> None:
        self.pieces = WordPiece(vocabulary.read_text(encoding="utf-8").split("\n")[:-1])
        self.device = device

    @cache  # noqa: B019 - one object of a script
    def tokens(self, text: str) -> list[int]:
        numbers = [number for word in words(text) for number in self.pieces.word(word)]
        return [self.pieces.first, *numbers[: LONGEST - 2], self.pieces.last]

    def batch(self, rows: Sequence[list[int]]) -> Batch:
        """Rows of tokens side by side, padded at the end."""
        length = max(map(len, rows))
        tokens = torch.zeros(len(rows), length, dtype=torch.long)
        mask = torch.zeros(len(rows), length, dtype=torch.bool)
        for at, row in enumerate(rows):
            tokens[at, : len(row)] = torch.tensor(row)
            mask[at, : len(row)] = True
        return tokens.to(self.device), mask.to(self.device)

    @torch.no_grad()
    def encode(self, model: nn.Module, texts: Sequence[str], size: int = 512) -> Tensor:
        """The vectors of these texts, in their order."""
        rows = [self.tokens(text) for text in texts]
        order = sorted(range(len(rows)), key=lambda at: len(rows[at]))
        vectors = torch.empty(len(rows), SIZE, device=self.device)
        for start in range(0, len(order), size):
            part = order[start : start + size]
            vectors[part] = model(self.batch([rows[at] for at in part])).float()
        return vectors


class Cluster:
    """Notes that are near each other, and questions with the notes that answer them."""

    def __init__(self, row: dict[str, Any]) -> None:
        self.plain = [note["text"] for note in row["notes"]]
        self.notes = [tagged(note["text"], note.get("tags", ())) for note in row["notes"]]
        place = {note["id"]: at for at, note in enumerate(row["notes"])}
        self.questions = [one["q"] for one in row["questions"]]
        self.wanted = [[place[key] for key in one["want"]] for one in row["questions"]]


def clusters(folder: Path) -> Iterator[Cluster]:
    """All clusters of a folder of pairs."""
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            yield Cluster(json.loads(line))


def load_base(folder: Path) -> dict[str, Tensor]:
    """The weights of a published model: `model.safetensors`, or `base.npz` in half precision."""
    path = folder / "model.safetensors"
    if not path.exists():
        return load(folder / "base.npz")
    from safetensors.torch import load_file

    return {name: value for name, value in load_file(path).items() if "position_ids" not in name}


def load(path: Path) -> dict[str, Tensor]:
    """Weights of our own, whose matrices may be whole numbers with a scale for each row."""
    with np.load(path) as file:
        arrays = {name: torch.from_numpy(file[name]).float() for name in file.files}
    weights: dict[str, Tensor] = {}
    for name, value in arrays.items():
        plain, _, kind = name.rpartition(".")
        if kind == "int8":
            weights[plain] = value * arrays[f"{plain}.scale"].reshape(-1)[:, None]
        elif kind != "scale":
            weights[name] = value
    return weights


def load_table(path: Path) -> Table:
    """The table that is the fast encoder."""
    with np.load(path) as file:
        rows = file["int8"].astype(np.float32) * file["scale"].astype(np.float32).reshape(-1, 1)
    return Table(torch.from_numpy(rows))


def quantise(weights: dict[str, Tensor]) -> dict[str, np.ndarray[Any, Any]]:
    """Matrices as whole numbers with a scale per row, the rest in half precision."""
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    for name, value in weights.items():
        if value.ndim == 2 and len(value) > 2:
            scale = value.abs().amax(1).clamp(min=1e-8) / 127
            scale = scale.half().float()
            rows = (value / scale[:, None]).round().clamp(-127, 127)
            arrays[f"{name}.int8"] = rows.to(torch.int8).numpy()
            arrays[f"{name}.scale"] = scale.numpy().astype(np.float16)
        else:
            arrays[name] = value.numpy().astype(np.float16)
    return arrays
