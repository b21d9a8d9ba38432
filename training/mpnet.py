"""The reader as it is trained: all-mpnet-base-v2 in PyTorch, its heads, its four-bit weights."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from co_cli.knowledge.meaning.wordpiece import WordPiece, spelled

SIZE, HEADS, LAYERS = 768, 12, 12
SHIFT = 4  # `<s>`, `<pad>`, `</s>` and `<unk>` stand in front of BERT's vocabulary
START, PAD, END = 0, 1, 2
FIRST_PLACE = 2  # position numbers start here
POSITIONS = 258
GROUP = 32  # weights that share a step
HALF = 126  # pieces of each text of a pair
OUTPUTS = {
    "answers": 1,
    "relation": 3,
    "about": 1,
    "kind": 11,
    "want": 21,
    "lasting": 1,
    "signal": 5,
    "personal": 1,
}
Arrays = dict[str, np.ndarray[Any, Any]]


class Reader(nn.Module):
    """Twelve layers and the heads on the mean of their tokens' states."""

    def __init__(self, weights: Mapping[str, Tensor]) -> None:
        super().__init__()
        self.names = {
            name: name.replace(".", "_")
            for name in weights
            if "pooler" not in name and "position_ids" not in name
        }
        for name, attribute in self.names.items():
            self.register_parameter(attribute, nn.Parameter(weights[name].float().clone()))
        self.heads = nn.ModuleDict({name: nn.Linear(SIZE, wide) for name, wide in OUTPUTS.items()})
        self.heads["span"] = nn.Linear(SIZE, 2)
        for head in self.heads.values():
            nn.init.zeros_(head.weight)
            nn.init.zeros_(head.bias)
        self.four_bit: dict[str, Tensor] = {}  # the weights as they ship, late in training

    def matrices(self) -> Iterator[str]:
        """The names of what is stored in four bits."""
        for name, attribute in self.names.items():
            whole = "position" in name or "relative" in name
            if getattr(self, attribute).ndim == 2 and not whole:
                yield name

    def weight(self, name: str) -> Tensor:
        value = getattr(self, self.names[name])
        if name in self.four_bit:
            return value + (self.four_bit[name] - value.detach())
        return value

    @torch.no_grad()
    def round(self) -> None:
        """Let the next pass use the weights as their four bits give them back."""
        self.four_bit = {
            name: dequantise(*quantise(getattr(self, self.names[name]))) for name in self.matrices()
        }

    def _linear(self, name: str, value: Tensor) -> Tensor:
        return functional.linear(value, self.weight(f"{name}.weight"), self.weight(f"{name}.bias"))

    def _norm(self, name: str, value: Tensor) -> Tensor:
        return functional.layer_norm(
            value, (SIZE,), self.weight(f"{name}.weight"), self.weight(f"{name}.bias"), 1e-5
        )

    def _drop(self, value: Tensor) -> Tensor:
        return functional.dropout(value, 0.1, self.training)

    def _distances(self, length: int, mask: Tensor) -> Tensor:
        """What attention adds for how far tokens are apart, minus infinity for padding."""
        places = torch.arange(length, device=mask.device)
        apart = places[:, None] - places[None, :]
        side, near = (apart < 0).long() * 16, apart.abs()
        far = 8 + (torch.log(near.clamp(min=1).float() / 8) / math.log(16) * 8).long()
        bucket = side + torch.where(near < 8, near, far.clamp(max=15))
        bias = self.weight("encoder.relative_attention_bias.weight")[bucket].permute(2, 0, 1)
        return bias[None].masked_fill(~mask[:, None, None, :], -1e4)

    def states(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """The states of all tokens after the last layer."""
        count, length = tokens.shape
        places = slice(FIRST_PLACE, FIRST_PLACE + length)
        value = (
            self.weight("embeddings.word_embeddings.weight")[tokens]
            + self.weight("embeddings.position_embeddings.weight")[places]
        )
        value = self._drop(self._norm("embeddings.LayerNorm", value))
        bias = self._distances(length, mask)
        for number in range(LAYERS):
            at = f"encoder.layer.{number}"
            parts = [
                self._linear(f"{at}.attention.attn.{part}", value)
                .view(count, length, HEADS, -1)
                .transpose(1, 2)
                for part in "qkv"
            ]
            mixed = functional.scaled_dot_product_attention(
                *parts, attn_mask=bias.to(parts[0].dtype)
            )
            mixed = self._linear(
                f"{at}.attention.attn.o", mixed.transpose(1, 2).reshape(count, length, SIZE)
            )
            value = self._norm(f"{at}.attention.LayerNorm", self._drop(mixed) + value)
            inner = functional.gelu(
                self._linear(f"{at}.intermediate.dense", value), approximate="tanh"
            )
            value = self._norm(
                f"{at}.output.LayerNorm",
                self._drop(self._linear(f"{at}.output.dense", inner)) + value,
            )
        return value

    def means(self, rows: Sequence[Sequence[int]], tokens_per_batch: int = 12288) -> Tensor:
        """The mean of the states of each row of tokens; rows of like length are read together."""
        device = next(self.parameters()).device
        order = sorted(range(len(rows)), key=lambda at: len(rows[at]))
        batches: list[Tensor] = []
        done = 0
        while done < len(order):
            longest = 0
            part: list[int] = []
            for at in order[done:]:
                longest = max(longest, len(rows[at]))
                if part and longest * (len(part) + 1) > tokens_per_batch:
                    break
                part.append(at)
            tokens, mask = batch([rows[at] for at in part], device)
            batches.append(mean_states(self.states(tokens, mask), mask))
            done += len(part)
        back = torch.empty(len(order), dtype=torch.long)
        back[torch.tensor(order, dtype=torch.long)] = torch.arange(len(order))
        return torch.cat(batches)[back.to(device)]

    def head(self, name: str, means: Tensor) -> Tensor:
        return self.heads[name](self._drop(means).float())


def mean_states(states: Tensor, mask: Tensor) -> Tensor:
    """The mean of each text's states, without its padding."""
    return (states.float() * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)


def batch(rows: Sequence[Sequence[int]], device: torch.device) -> tuple[Tensor, Tensor]:
    """Rows side by side, padded at the end to a multiple of eight."""
    length = -(-max(map(len, rows)) // 8) * 8
    tokens = torch.full((len(rows), length), PAD, dtype=torch.long)
    mask = torch.zeros(len(rows), length, dtype=torch.bool)
    for at, row in enumerate(rows):
        tokens[at, : len(row)] = torch.tensor(row)
        mask[at, : len(row)] = True
    return tokens.to(device), mask.to(device)


class Tokenizer:
    """Texts as the reader's tokens."""

    def __init__(self, vocabulary: Path) -> None:
        self._pieces = WordPiece(vocabulary.read_text(encoding="utf-8").split("\n")[:-1])
        self._numbers: dict[str, list[int]] = {}

    def _text(self, text: str, most: int) -> list[int]:
        if text not in self._numbers:
            self._numbers[text] = [number + SHIFT for number in self._pieces.cut(text, 2 * HALF)]
        return self._numbers[text][:most]

    def one(self, text: str) -> list[int]:
        """One text, with the marks at both ends."""
        return [START, *self._text(text, 2 * HALF), END]

    def pair(self, first: str, second: str) -> list[int]:
        """Two texts as one, with a double mark between them."""
        return [START, *self._text(first, HALF), END, END, *self._text(second, HALF), END]

    def with_places(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        """One text, and the place in it that each of its pieces comes from."""
        pieces = [(n + SHIFT, at) for word, at in spelled(text) for n in self._pieces.word(word)]
        pieces = pieces[: 2 * HALF]
        return [START, *(number for number, _ in pieces), END], [at for _, at in pieces]


# The weights in four bits


def quantise(weight: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """A matrix in four bits: whole numbers from -8 to 7, a step for each 32, a scale for each row.

    A weight is number x step x scale, with steps from 1 to 16, so that number x step fits a byte.
    """
    rows = weight.float().reshape(len(weight), -1, GROUP)
    scale = (rows.abs().amax((1, 2)) / 112).clamp(min=1e-7).half().float()
    rows = rows / scale[:, None, None]
    guess = (rows.abs().amax(2) / 7.5).round()
    error = torch.full((*guess.shape, 1), math.inf, device=rows.device)
    step, numbers = error, rows
    for change in (-1, 0, 1):
        trial = (guess + change).clamp(1, 16)[..., None]
        whole = (rows / trial).round().clamp(-8, 7)
        loss = (rows - whole * trial).square().sum(2, keepdim=True)
        better = loss < error
        error = torch.where(better, loss, error)
        step = torch.where(better, trial, step)
        numbers = torch.where(better, whole, numbers)
    return numbers.reshape(weight.shape), step[..., 0], scale


def dequantise(numbers: Tensor, step: Tensor, scale: Tensor) -> Tensor:
    """A matrix as its four bits give it back."""
    return numbers * step.repeat_interleave(GROUP, 1) * scale[:, None]


@torch.no_grad()
def pack(model: Reader) -> Arrays:
    """The weights in four bits; the model is left with the same values."""
    arrays: Arrays = {}
    matrices = {*model.matrices()}
    for name, attribute in model.names.items():
        value = getattr(model, attribute)
        if name in matrices:
            numbers, step, scale = quantise(value)
            value.copy_(dequantise(numbers, step, scale))
            arrays[f"{name}.int4"] = _two_a_byte(numbers + 8)
            arrays[f"{name}.step"] = _two_a_byte(step - 1)
            arrays[f"{name}.scale"] = scale.half().cpu().numpy()
        elif "position" in name:
            value.copy_(value.half().float())
            arrays[name] = value[FIRST_PLACE : FIRST_PLACE + POSITIONS].half().cpu().numpy()
        else:
            arrays[name] = value.float().cpu().numpy()
    heads = model.heads.state_dict()
    return arrays | {f"heads.{name}": value.float().cpu().numpy() for name, value in heads.items()}


def _two_a_byte(numbers: Tensor) -> np.ndarray[Any, Any]:
    """Numbers from 0 to 15; the lower half of a byte is the even column."""
    whole = numbers.to(torch.uint8).cpu().numpy()
    return whole[:, ::2] | whole[:, 1::2] << 4


def unpack(path: Path) -> Reader:
    """The reader whose weights `pack` gave, in full precision."""
    with np.load(path) as file:
        arrays = {name: torch.from_numpy(file[name]) for name in file.files}
    weights: dict[str, Tensor] = {}
    heads: dict[str, Tensor] = {}
    for name, value in arrays.items():
        plain, _, kind = name.rpartition(".")
        if name.startswith("heads."):
            heads[name.removeprefix("heads.")] = value.float()
        elif kind == "int4":
            numbers, step = _apart(value) - 8, _apart(arrays[f"{plain}.step"]) + 1
            weights[plain] = dequantise(numbers, step, arrays[f"{plain}.scale"].float())
        elif "position" in name:
            unused = torch.zeros(FIRST_PLACE, SIZE)
            weights[name] = torch.cat([unused, value.float()])
        elif kind not in ("step", "scale"):
            weights[name] = value.float()
    model = Reader(weights)
    model.heads.load_state_dict(heads)
    return model.eval()


def _apart(packed: Tensor) -> Tensor:
    """The numbers of bytes that hold two each."""
    return torch.stack([packed & 15, packed >> 4], 2).reshape(len(packed), -1).float()
