"""The two encoders as they are trained: a BERT and a table of token vectors, both in PyTorch."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

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
        for name, plain in self.names.items():
            self.register_parameter(plain, nn.Parameter(weights[name].float().clone()))
        self.layers = 1 + max(int(name.split(".")[2]) for name in weights if "layer." in name)
        self.heads = heads

    def only(self, layers: Sequence[int]) -> list[str]:
        """Let nothing but these layers be trained; the names of their weights."""
        chosen = tuple(f"encoder.layer.{number}." for number in layers)
        for name, plain in self.names.items():
            getattr(self, plain).requires_grad_(name.startswith(chosen))
        return [name for name in self.names if name.startswith(chosen)]

    def weight(self, name: str) -> Tensor:
        return getattr(self, name.replace(".", "_"))

    def _linear(self, name: str, value: Tensor) -> Tensor:
        return functional.linear(value, self.weight(f"{name}.weight"), self.weight(f"{name}.bias"))

    def _norm(self, name: str, value: Tensor) -> Tensor:
        weight, bias = self.weight(f"{name}.weight"), self.weight(f"{name}.bias")
        return functional.layer_norm(value, (SIZE,), weight, bias, 1e-12)

    def forward(self, batch: Batch) -> Tensor:
        return self.states(batch)[0]

    def states(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """The texts' vectors, and those of their tokens."""
        tokens, mask = batch
        wide, long = tokens.shape
        value = (
            self.weight("embeddings.word_embeddings.weight")[tokens]
            + self.weight("embeddings.position_embeddings.weight")[:long]
            + self.weight("embeddings.token_type_embeddings.weight")[0]
        )
        value = self._norm("embeddings.LayerNorm", value)
        for number in range(self.layers):
            layer = f"encoder.layer.{number}"
            parts = [
                self._linear(f"{layer}.attention.self.{part}", value)
                .view(wide, long, self.heads, -1)
                .transpose(1, 2)
                for part in ("query", "key", "value")
            ]
            seen = functional.scaled_dot_product_attention(*parts, attn_mask=mask[:, None, None, :])
            seen = self._linear(
                f"{layer}.attention.output.dense", seen.transpose(1, 2).reshape(wide, long, SIZE)
            )
            value = self._norm(f"{layer}.attention.output.LayerNorm", seen + value)
            inner = functional.gelu(self._linear(f"{layer}.intermediate.dense", value))
            value = self._norm(
                f"{layer}.output.LayerNorm", self._linear(f"{layer}.output.dense", inner) + value
            )
        summed = (value * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
        return functional.normalize(summed.float(), dim=1), value

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
        cut = self.pieces
        numbers = [number for word in words(text) for number in cut.word(word)]
        return [cut.first, *numbers[: LONGEST - 2], cut.last]

    def batch(self, rows: Sequence[list[int]]) -> Batch:
        """Rows of tokens side by side, padded at the end."""
        long = max(map(len, rows))
        tokens = torch.zeros(len(rows), long, dtype=torch.long)
        mask = torch.zeros(len(rows), long, dtype=torch.bool)
        for at, row in enumerate(rows):
            tokens[at, : len(row)] = torch.tensor(row)
            mask[at, : len(row)] = True
        return tokens.to(self.device), mask.to(self.device)

    @torch.no_grad()
    def encode(self, model: nn.Module, texts: Sequence[str], size: int = 512) -> Tensor:
        """The vectors of these texts, in their order."""
        rows = [self.tokens(text) for text in texts]
        order = sorted(range(len(rows)), key=lambda at: len(rows[at]))
        found = torch.empty(len(rows), SIZE, device=self.device)
        for start in range(0, len(order), size):
            part = order[start : start + size]
            found[part] = model(self.batch([rows[at] for at in part])).float()
        return found


class Cluster:
    """Notes that are near each other, and questions with the notes that answer them."""

    def __init__(self, record: dict[str, list[dict[str, object]]]) -> None:
        self.plain = [str(note["text"]) for note in record["notes"]]
        self.notes = [tagged(str(note["text"]), note.get("tags", ())) for note in record["notes"]]  # type: ignore[arg-type]
        place = {note["id"]: at for at, note in enumerate(record["notes"])}
        self.questions = [str(one["q"]) for one in record["questions"]]
        self.wanted = [[place[key] for key in one["want"]] for one in record["questions"]]  # type: ignore[attr-defined]


def clusters(folder: Path) -> Iterator[Cluster]:
    """All clusters of a folder of pairs."""
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            yield Cluster(json.loads(line))


def load(path: Path) -> dict[str, Tensor]:
    """Weights from safetensors, ONNX, or our own npz, whose matrices may be whole numbers."""
    if path.suffix == ".onnx":
        return _from_onnx(path)
    if path.suffix == ".safetensors":
        from safetensors.torch import load_file

        return {
            name: value for name, value in load_file(path).items() if "position_ids" not in name
        }
    found: dict[str, Tensor] = {}
    with np.load(path) as file:
        for name in file.files:
            if name.endswith(".int8"):
                plain = name.removesuffix(".int8")
                scale = torch.from_numpy(file[f"{plain}.scale"].astype(np.float32).reshape(-1))
                found[plain] = torch.from_numpy(file[name].astype(np.float32)) * scale[:, None]
            elif not name.endswith(".scale"):
                found[name] = torch.from_numpy(file[name].astype(np.float32))
    return found


def _from_onnx(path: Path) -> dict[str, Tensor]:
    """The weights of an exported model; a matrix without a name has that of where it is used."""
    import onnx

    graph = onnx.load(path).graph
    arrays = {one.name: onnx.numpy_helper.to_array(one) for one in graph.initializer}
    found = {name: array for name, array in arrays.items() if not name.startswith("onnx::")}
    for node in graph.node:
        if node.op_type == "MatMul" and node.input[1] in arrays:
            name = ".".join(part for part in node.name.split("/")[:-1] if part)
            found[f"{name}.weight"] = arrays[node.input[1]].T
    named = {name: array for name, array in found.items() if array.ndim and "pooler" not in name}
    return {name: torch.from_numpy(array.copy()) for name, array in named.items()}


def quantised(weights: dict[str, Tensor]) -> dict[str, np.ndarray]:
    """Matrices as whole numbers with a scale per row, the rest in half precision."""
    found: dict[str, np.ndarray] = {}
    for name, value in weights.items():
        if value.ndim == 2 and len(value) > 2:
            scale = value.abs().amax(1).clamp(min=1e-8) / 127
            scale = scale.half().float()
            rows = (value / scale[:, None]).round().clamp(-127, 127)
            found[f"{name}.int8"] = rows.to(torch.int8).numpy()
            found[f"{name}.scale"] = scale.numpy().astype(np.float16)
        else:
            found[name] = value.numpy().astype(np.float16)
    return found
