"""The reader as it is trained: all-mpnet-base-v2 in PyTorch, its heads, its four-bit weights."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

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


def quantised(weight: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """A matrix in four bits: whole numbers from -8 to 7, a step for each 32, a scale for each row.

    A weight is number x step x scale, with steps from 1 to 16, so that number x step fits a byte.
    """
    rows = weight.float().reshape(len(weight), -1, GROUP)
    scale = (rows.abs().amax((1, 2)) / 112).clamp(min=1e-8).half().float()
    rows = rows / scale[:, None, None]
    guess = (rows.abs().amax(2) / 7.5).round()
    best = step = numbers = None
    for change in (-1, 0, 1):
        trial = (guess + change).clamp(1, 16)[..., None]
        whole = (rows / trial).round().clamp(-8, 7)
        wrong = (rows - whole * trial).square().sum(2, keepdim=True)
        if best is None:
            best, step, numbers = wrong, trial, whole
        else:
            better = wrong < best
            best = torch.where(better, wrong, best)
            step = torch.where(better, trial, step)
            numbers = torch.where(better, whole, numbers)
    return numbers.reshape(weight.shape), step[..., 0], scale


def coarse(weight: Tensor) -> Tensor:
    """A matrix as its four bits give it back."""
    numbers, step, scale = quantised(weight)
    return numbers * step.repeat_interleave(GROUP, 1) * scale[:, None]


class Reader(nn.Module):
    """Twelve layers and the heads on the mean of their tokens' states."""

    def __init__(self, weights: Mapping[str, Tensor]) -> None:
        super().__init__()
        self.names = {
            n: n.replace(".", "_") for n in weights if "pooler" not in n and "position_ids" not in n
        }
        for name, plain in self.names.items():
            self.register_parameter(plain, nn.Parameter(weights[name].float().clone()))
        self.heads = nn.ModuleDict({name: nn.Linear(SIZE, wide) for name, wide in OUTPUTS.items()})
        self.heads["span"] = nn.Linear(SIZE, 2)
        for head in self.heads.values():
            nn.init.zeros_(head.weight)
            nn.init.zeros_(head.bias)
        self.rounded: dict[str, Tensor] = {}  # while training already sees the weights as they ship

    def matrices(self) -> Iterator[str]:
        """The names of what is stored in four bits."""
        for name in self.names:
            if (
                getattr(self, self.names[name]).ndim == 2
                and "position" not in name
                and "relative" not in name
            ):
                yield name

    def weight(self, name: str) -> Tensor:
        value = getattr(self, self.names[name])
        if name in self.rounded:
            return value + (self.rounded[name] - value.detach())
        return value

    @torch.no_grad()
    def round(self) -> None:
        """Let the next pass see the weights as their four bits give them back."""
        self.rounded = {name: coarse(getattr(self, self.names[name])) for name in self.matrices()}

    def _linear(self, name: str, value: Tensor) -> Tensor:
        return functional.linear(value, self.weight(f"{name}.weight"), self.weight(f"{name}.bias"))

    def _norm(self, name: str, value: Tensor) -> Tensor:
        return functional.layer_norm(
            value, (SIZE,), self.weight(f"{name}.weight"), self.weight(f"{name}.bias"), 1e-5
        )

    def _drop(self, value: Tensor) -> Tensor:
        return functional.dropout(value, 0.1, self.training)

    def _distances(self, long: int, mask: Tensor) -> Tensor:
        """What attention adds for how far tokens are apart, minus infinity for padding."""
        places = torch.arange(long, device=mask.device)
        apart = places[:, None] - places[None, :]
        side, near = (apart < 0).long() * 16, apart.abs()
        far = 8 + (torch.log(near.clamp(min=1).float() / 8) / math.log(16) * 8).long()
        bucket = side + torch.where(near < 8, near, far.clamp(max=15))
        bias = self.weight("encoder.relative_attention_bias.weight")[bucket].permute(2, 0, 1)
        return bias[None].masked_fill(~mask[:, None, None, :], -1e4)

    def states(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """The states of all tokens after the last layer."""
        wide, long = tokens.shape
        value = (
            self.weight("embeddings.word_embeddings.weight")[tokens]
            + self.weight("embeddings.position_embeddings.weight")[FIRST_PLACE : FIRST_PLACE + long]
        )
        value = self._drop(self._norm("embeddings.LayerNorm", value))
        bias = self._distances(long, mask)
        for number in range(LAYERS):
            at = f"encoder.layer.{number}"
            parts = [
                self._linear(f"{at}.attention.attn.{part}", value)
                .view(wide, long, HEADS, -1)
                .transpose(1, 2)
                for part in "qkv"
            ]
            mixed = functional.scaled_dot_product_attention(
                *parts, attn_mask=bias.to(parts[0].dtype)
            )
            mixed = self._linear(
                f"{at}.attention.attn.o", mixed.transpose(1, 2).reshape(wide, long, SIZE)
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

    def means(self, rows: Sequence[Sequence[int]], most: int = 12288) -> Tensor:
        """The mean of the states of each row of tokens; rows of like length are read together."""
        device = next(self.parameters()).device
        order = sorted(range(len(rows)), key=lambda at: len(rows[at]))
        found: list[Tensor] = []
        read = 0
        while read < len(order):
            long = 0
            part: list[int] = []
            for at in order[read:]:
                long = max(long, len(rows[at]))
                if part and long * (len(part) + 1) > most:
                    break
                part.append(at)
            tokens, mask = batch([rows[at] for at in part], device)
            states = self.states(tokens, mask).float()
            found.append((states * mask[..., None]).sum(1) / mask.sum(1, keepdim=True))
            read += len(part)
        back = torch.empty(len(order), dtype=torch.long)
        back[torch.tensor(order, dtype=torch.long)] = torch.arange(len(order))
        return torch.cat(found)[back.to(device)]

    def head(self, name: str, means: Tensor) -> Tensor:
        return self.heads[name](self._drop(means).float())


def batch(rows: Sequence[Sequence[int]], device: torch.device) -> tuple[Tensor, Tensor]:
    """Rows side by side, padded at the end to a multiple of eight."""
    long = -(-max(map(len, rows)) // 8) * 8
    tokens = torch.full((len(rows), long), PAD, dtype=torch.long)
    mask = torch.zeros(len(rows), long, dtype=torch.bool)
    for at, row in enumerate(rows):
        tokens[at, : len(row)] = torch.tensor(row)
        mask[at, : len(row)] = True
    return tokens.to(device), mask.to(device)


class Cutter:
    """Texts as the reader's tokens."""

    def __init__(self, vocabulary: Path) -> None:
        self.pieces = WordPiece(vocabulary.read_text(encoding="utf-8").split("\n")[:-1])
        self._cut: dict[str, list[int]] = {}

    def text(self, text: str, most: int) -> list[int]:
        if text not in self._cut:
            self._cut[text] = [number + SHIFT for number in self.pieces.cut(text, 2 * HALF)]
        return self._cut[text][:most]

    def one(self, text: str) -> list[int]:
        return [START, *self.text(text, 2 * HALF), END]

    def pair(self, first: str, second: str) -> list[int]:
        return [START, *self.text(first, HALF), END, END, *self.text(second, HALF), END]

    def placed(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        """One text, and the place in it that each of its pieces comes from."""
        cut = [(n + SHIFT, at) for word, at in spelled(text) for n in self.pieces.word(word)][
            : 2 * HALF
        ]
        return [START, *(n for n, _ in cut), END], [at for _, at in cut]
