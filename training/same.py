"""Teach the careful encoder to tell whether two sentences state the same fact.

    python training/same.py TRAINED_FOLDER TEACHER

Two sentences are read as one, with a mark between them, and a head gives one score. A larger model,
the teacher, learns it first; then all layers of the careful encoder learn it from the labels and
from what the teacher says, also of pairs that nobody labelled. The words' vectors stay as they are.
A tenth of the facts is left out, to measure. The layers and the head are written to `same.npz`.
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
from model import SIZE, Bert, Texts, clusters, load, quantised
from torch import Tensor, nn
from torch.nn import functional

HERE = Path(__file__).resolve().parent
DATA = HERE.parent / "tests" / "data"
SURE = 0.97  # what a label is held to
LONG = 200  # characters of a note that is paired


Fact = dict[str, list[str]]  # sentences that state it, and some that state another


class Pair(NamedTuple):
    """Two sentences, and how likely they state the same fact; below 0 where nobody said."""

    one: str
    other: str
    same: float


class Recipe(NamedTuple):
    """How a model is trained."""

    epochs: int
    rate: float
    step: int
    seeds: int


TEACHER = Recipe(epochs=4, rate=1.5e-4, step=256, seeds=1)
PUPIL = Recipe(epochs=6, rate=3.5e-4, step=384, seeds=3)


def facts(path: Path) -> list[Fact]:
    """The facts of a file."""
    rows = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return [{"told": [row["fact"], *row["same"]], "other": row["other"]} for row in rows]


def labelled(some: Sequence[Fact]) -> list[Pair]:
    """The pairs of these facts that are labelled."""
    found = []
    for fact in some:
        found += [Pair(*both, SURE) for both in combinations(fact["told"], 2)]
        found += [Pair(*both, 1 - SURE) for both in product(fact["told"], fact["other"])]
    return found


def different() -> list[Pair]:
    """What replaces a note or stands beside it does not say the same."""
    path = HERE / "replacements.jsonl"
    rows = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    pairs = [(row["old"], row["new"]) for row in rows if row["label"] != "other matter"]
    for cluster in clusters(HERE / "pairs"):
        pairs += combinations([note for note in cluster.plain if len(note) < LONG], 2)
    return [Pair(*both, 1 - SURE) for both in pairs]


def unlabelled(texts: Texts, bert: Bert, some: Sequence[Fact], near: int = 2) -> list[Pair]:
    """Pairs that only the teacher judges: what is near a sentence and belongs to another fact."""
    told = [(text, at) for at, fact in enumerate(some) for text in (*fact["told"], *fact["other"])]
    vectors = texts.encode(bert, [text for text, _ in told])
    found = set()
    for at in range(0, len(told), 2048):
        nearest = (vectors[at : at + 2048] @ vectors.T).topk(near + 12).indices.tolist()
        for row, others in enumerate(nearest, at):
            apart = [other for other in others if told[other][1] != told[row][1]][:near]
            found |= {(min(row, other), max(row, other)) for other in apart}
    pairs = [Pair(told[one][0], told[other][0], -1.0) for one, other in sorted(found)]
    inside = [Pair(*both, -1.0) for fact in some for both in combinations(fact["other"], 2)]
    return [pair for pair in (*pairs, *inside) if pair.one != pair.other]


class Same(nn.Module):
    """An encoder whose layers are free, and one score of two sentences read as one."""

    def __init__(self, weights: dict[str, Tensor], texts: Texts) -> None:
        super().__init__()
        self.texts = texts
        self.bert = Bert(weights)
        self.free = self.bert.only(range(self.bert.layers))
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
    def scores(self, some: Sequence[Pair], size: int = 1024) -> np.ndarray:
        """The lower score of the two orders of each pair."""
        turned = [Pair(pair.other, pair.one, pair.same) for pair in some]
        parts = [
            torch.minimum(self(some[at : at + size]), self(turned[at : at + size]))
            for at in range(0, len(some), size)
        ]
        return torch.cat(parts).cpu().numpy()


def train(
    model: Same, recipe: Recipe, pairs: Sequence[Pair], others: Sequence[Pair], seed: int
) -> Same:
    """Teach a model these pairs, in each pass with some of the others, a fourth at most."""
    torch.manual_seed(seed)
    chance, device = random.Random(seed), model.texts.device
    model.to(device).train()
    free = [one for one in model.bert.parameters() if one.requires_grad]
    optimizer = torch.optim.AdamW(
        [
            {"params": free, "lr": recipe.rate},
            {"params": model.same.parameters(), "lr": 10 * recipe.rate},
        ],
        weight_decay=0.01,
    )
    beside = min(len(others), len(pairs) // 4)
    passed = (len(pairs) + beside) // recipe.step
    steps = recipe.epochs * passed
    scheduler = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda at: min(1.0, (at + 1) / 100) * max(0.0, 1 - at / steps)
    )
    for _ in range(recipe.epochs):
        order = [*pairs, *chance.sample(others, beside)]
        chance.shuffle(order)
        for at in range(passed):
            part = order[at * recipe.step : (at + 1) * recipe.step]
            part = [p if chance.random() < 0.5 else Pair(p.other, p.one, p.same) for p in part]
            with torch.autocast(device.type, torch.bfloat16):
                told = model(part)
            wanted = torch.tensor([pair.same for pair in part], device=device)
            loss = functional.binary_cross_entropy_with_logits(told, wanted)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
    return model.eval()


def taught(teacher: Same, pairs: Sequence[Pair]) -> list[Pair]:
    """Pairs with what the teacher says of them; where they have a label, the mean of both."""
    said = torch.sigmoid(torch.from_numpy(teacher.scores(pairs))).tolist()
    return [
        pair._replace(same=one if pair.same < 0 else (one + pair.same) / 2)
        for pair, one in zip(pairs, said, strict=True)
    ]


def told(label: str, model: Same, some: Sequence[Pair]) -> str:
    """How many paraphrases are known where so many other pairs are mistaken for one."""
    scores, same = model.scores(some), np.array([pair.same > 0.5 for pair in some])
    yes, no = scores[same], np.sort(scores[~same])[::-1]
    bounds = {share: no[int(len(no) * share)] for share in (0.01, 0.02, 0.05)}
    shares = [f"{(yes > b).mean():.3f} at {share} (over {b:.2f})" for share, b in bounds.items()]
    return f"{label:28} {'   '.join(shares)}   AUC {(yes[:, None] > no).mean():.4f}"


def main() -> None:
    """Train the teacher, then some pupils; average and quantise them, write the weights."""
    folder, begun = Path(sys.argv[1]), time.time()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    texts, weights = Texts(folder / "vocab.txt", device), load(folder / "careful.npz")
    weights = {name: value for name, value in weights.items() if not name.startswith("judge.")}
    every = facts(HERE / "same.jsonl")
    kept, left = [one for at, one in enumerate(every) if at % 10], labelled(every[::10])
    fresh = labelled(facts(DATA / "rewordings_open.jsonl"))  # never trained on
    pairs, others = labelled(kept), different()
    chance = random.Random(0)
    sentences = [text for fact in kept for text in fact["told"]]
    others += [Pair(*chance.sample(sentences, 2), 1 - SURE) for _ in range(len(others) // 2)]

    def say(label: str, model: Same) -> None:
        print(told(f"{label}, facts left out", model, left))
        print(told(f"{label}, fresh rewordings", model, fresh))
        print(f"after {time.time() - begun:.0f} s", flush=True)

    teacher = train(Same(load(Path(sys.argv[2])), texts), TEACHER, pairs, others, 1)
    say("teacher", teacher)
    more = unlabelled(texts, Bert(weights).to(device).eval(), kept)
    print(f"{len(pairs)} labelled pairs, {len(more)} that the teacher judges alone")
    lessons = taught(teacher, [*pairs, *more])
    pupils = []
    for seed in range(1, PUPIL.seeds + 1):
        pupils.append(train(Same(weights, texts), PUPIL, lessons, others, seed))
        say(f"pupil {seed}", pupils[-1])
    states = [pupil.state_dict() for pupil in pupils]
    model = pupils[0]
    model.load_state_dict({k: torch.stack([one[k] for one in states]).mean(0) for k in states[0]})
    say("averaged", model)
    small = quantised(
        {name: value for name, value in model.bert.state().items() if name in model.free}
    )
    head = {f"same.{name}": value.cpu().numpy() for name, value in model.same.state_dict().items()}
    np.savez(folder / "same.npz", **small, **head)
    print(json.dumps({"seconds": round(time.time() - begun), "device": device.type}))


if __name__ == "__main__":
    main()
