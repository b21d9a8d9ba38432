"""Teach upper layers of the careful encoder to tell whether two sentences state the same fact.

    python training/same.py TRAINED_FOLDER

Two sentences are read as one, with a mark between them, and a head gives one score. The layers
below and all vectors of texts stay as they are. The upper layers and the head are written to
`same.npz`.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Sequence
from itertools import combinations, product
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from model import SIZE, Bert, Texts, load, quantised
from torch import Tensor, nn
from torch.nn import functional

from co_cli.knowledge.meaning.turns import UPPER

HERE = Path(__file__).resolve().parent
DATA = HERE.parent / "tests" / "data"
EPOCHS, RATE, SIZE_OF_STEP, SEEDS = 4, 3e-4, 64, 5
SURE = 0.97  # what a label is held to


class Pair(NamedTuple):
    """Two sentences, and whether they state the same fact."""

    one: str
    other: str
    same: bool


def groups() -> list[list[Pair]]:
    """The pairs of each fact: its paraphrases among each other, and with what is near but other."""
    found = []
    for line in (HERE / "same.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        told = [row["fact"], *row["same"]]
        pairs = [Pair(one, other, True) for one, other in combinations(told, 2)]
        found.append([*pairs, *(Pair(*both, False) for both in product(told, row["other"]))])
    return found


def replacements() -> list[Pair]:
    """What replaces a note or is about its matter does not say the same."""
    rows = map(json.loads, (HERE / "replacements.jsonl").read_text(encoding="utf-8").splitlines())
    return [Pair(row["old"], row["new"], False) for row in rows if row["label"] != "other matter"]


class Same(nn.Module):
    """The careful encoder, its upper layers free, and one score of two sentences read as one."""

    def __init__(self, weights: dict[str, Tensor], texts: Texts) -> None:
        super().__init__()
        self.texts = texts
        self.bert = Bert(weights)
        self.upper = self.bert.only(UPPER)
        self.same = nn.Linear(SIZE, 1)
        nn.init.zeros_(self.same.weight)

    def forward(self, some: Sequence[Pair]) -> Tensor:
        cut, tokens = self.texts.pieces, self.texts.tokens
        rows = [
            [*tokens(pair.one)[:-1][:127], cut.last, *tokens(pair.other)[1:-1][:126], cut.last]
            for pair in some
        ]
        read = self.bert(self.texts.batch(rows)) * SIZE**0.5
        return self.same(functional.dropout(read, 0.1, self.training))[:, 0].float()

    @torch.no_grad()
    def scores(self, some: Sequence[Pair]) -> np.ndarray:
        """The lower score of the two orders of each pair."""
        turned = [Pair(pair.other, pair.one, pair.same) for pair in some]
        return torch.minimum(self(some), self(turned)).cpu().numpy()


def drawn(
    facts: Sequence[Sequence[Pair]], also: Sequence[Pair], chance: random.Random
) -> list[Pair]:
    """The pairs of one pass, either way round, and some of sentences with nothing in common."""
    pairs = [pair for fact in facts for pair in fact]
    told = [pair.one for pair in pairs]
    apart = [Pair(*chance.sample(told, 2), False) for _ in facts]
    pairs += [*chance.sample(also, min(len(also), len(facts) * 2)), *apart]
    chance.shuffle(pairs)
    return [p if chance.random() < 0.5 else Pair(p.other, p.one, p.same) for p in pairs]


def train(
    texts: Texts, weights: dict[str, Tensor], facts: Sequence[Sequence[Pair]], seed: int
) -> Same:
    """A model that was taught these facts."""
    torch.manual_seed(seed)
    chance = random.Random(seed)
    model = Same(weights, texts).to(texts.device).train()
    layers = [one for one in model.bert.parameters() if one.requires_grad]
    optimizer = torch.optim.AdamW(
        [{"params": layers, "lr": RATE}, {"params": model.same.parameters(), "lr": 10 * RATE}],
        weight_decay=0.01,
    )
    also = replacements()
    steps = EPOCHS * (len(drawn(facts, also, random.Random(0))) // SIZE_OF_STEP)
    scheduler = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda at: min(1.0, (at + 1) / 50) * max(0.0, 1 - at / steps)
    )
    for _ in range(EPOCHS):
        order = drawn(facts, also, chance)
        for at in range(0, len(order) // SIZE_OF_STEP * SIZE_OF_STEP, SIZE_OF_STEP):
            part = order[at : at + SIZE_OF_STEP]
            wanted = [SURE if pair.same else 1 - SURE for pair in part]
            with torch.autocast(texts.device.type, torch.bfloat16):
                told = model(part)
            loss = functional.binary_cross_entropy_with_logits(
                told, torch.tensor(wanted, device=texts.device)
            )
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
    return model.eval()


def told(label: str, model: Same, some: Sequence[Pair]) -> str:
    """How many paraphrases are known where so many other pairs are mistaken for one."""
    scores = np.concatenate([model.scores(some[at : at + 512]) for at in range(0, len(some), 512)])
    same = np.array([pair.same for pair in some])
    yes, no = scores[same], np.sort(scores[~same])[::-1]
    bounds = {share: no[int(len(no) * share)] for share in (0.01, 0.02, 0.05)}
    shares = [f"{(yes > b).mean():.3f} at {share} (over {b:.2f})" for share, b in bounds.items()]
    return f"{label:24} {'   '.join(shares)}   AUC {(yes[:, None] > no).mean():.3f}"


def main() -> None:
    """Try on facts left out, then train some seeds on all, average, quantise, write the weights."""
    folder, begun = Path(sys.argv[1]), time.time()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    texts, weights = Texts(folder / "vocab.txt", device), load(folder / "careful.npz")
    weights = {name: value for name, value in weights.items() if not name.startswith("judge.")}
    rows = map(json.loads, (DATA / "rejections_open.jsonl").read_text("utf-8").splitlines())
    check = [Pair(row["rejected"], row["offered"], row["kind"] == "same") for row in rows]
    facts = groups()
    tried = train(texts, weights, [fact for at, fact in enumerate(facts) if at % 10], 1)
    print(told("a tenth left out", tried, [pair for fact in facts[::10] for pair in fact]))
    print(told("the tests' open pairs", tried, check), flush=True)
    models = [train(texts, weights, facts, seed) for seed in range(1, SEEDS + 1)]
    states = [model.state_dict() for model in models]
    model = models[0]
    model.load_state_dict({k: torch.stack([one[k] for one in states]).mean(0) for k in states[0]})
    print(told("averaged, open pairs", model, check))
    small = quantised(
        {name: value for name, value in model.bert.state().items() if name in model.upper}
    )
    head = {f"same.{name}": value.cpu().numpy() for name, value in model.same.state_dict().items()}
    np.savez(folder / "same.npz", **small, **head)
    print(json.dumps({"seconds": round(time.time() - begun), "device": device.type}))


if __name__ == "__main__":
    main()
