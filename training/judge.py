"""Teach the careful encoder to judge whether one text replaces another, in the same weights.

    python training/judge.py TRAINED_FOLDER

Two texts are read as one, with a mark between them, and a head tells *replaces*, *same matter* and
*other matter* apart. Meanwhile single texts are held to the vectors they had. `careful.npz` is
written anew, with the head in it.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from evaluate import figures, own_notes
from model import SIZE, Bert, Texts, clusters, load, quantised
from torch import Tensor, nn
from torch.nn import functional

HERE = Path(__file__).resolve().parent
DATA = HERE.parent / "tests" / "data"
LABELS = ("replaces", "same matter", "other matter")
LEASH = 5.0  # how much leaving the vectors of single texts costs
EPOCHS, RATE, SIZE_OF_STEP, HELD = 15, 2e-4, 32, 96

Pair = dict[str, str]


def pairs(*paths: Path) -> list[Pair]:
    """Labelled pairs of an old and a new text."""
    lines = [line for path in paths for line in path.read_text(encoding="utf-8").splitlines()]
    return [json.loads(line) for line in lines]


class Judge(nn.Module):
    """The careful encoder, and three scores of the vector it gives to two texts in one."""

    def __init__(self, weights: dict[str, Tensor], texts: Texts) -> None:
        super().__init__()
        self.texts = texts
        self.reader = Bert(weights)
        self.head = nn.Linear(SIZE, len(LABELS))
        nn.init.zeros_(self.head.weight)

    def forward(self, some: Sequence[Pair]) -> Tensor:
        cut, tokens = self.texts.pieces, self.texts.tokens
        rows = [
            [*tokens(one["old"])[:-1][:127], cut.last, *tokens(one["new"])[1:-1][:126], cut.last]
            for one in some
        ]
        read = self.reader(self.texts.batch(rows)) * SIZE**0.5
        return self.head(functional.dropout(read, 0.1, self.training))

    @torch.no_grad()
    def scores(self, some: Sequence[Pair]) -> np.ndarray:
        """How much more likely each pair is a replacement than not, as a logarithm."""
        likely = self(some).float().log_softmax(1)
        return (likely[:, 0] - torch.logsumexp(likely[:, 1:], 1)).cpu().numpy()


def train(
    texts: Texts, weights: dict[str, Tensor], some: Sequence[Pair], plain: Sequence[str], seed: int
) -> Judge:
    """A judge of such pairs that still gives single texts the vectors of these weights."""
    torch.manual_seed(seed)
    chance = random.Random(seed)
    before = Bert(weights).to(texts.device).eval()
    model = Judge(weights, texts).to(texts.device).train()
    groups = [
        {"params": model.reader.parameters(), "lr": RATE},
        {"params": model.head.parameters(), "lr": 20 * RATE},
    ]
    optimizer = torch.optim.AdamW(groups, weight_decay=0.01)
    total = EPOCHS * (len(some) // SIZE_OF_STEP)
    scheduler = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda at: min(1.0, (at + 1) / 30) * (1 - at / total)
    )
    order = list(some)
    for at in range(total):
        place = at * SIZE_OF_STEP % (len(order) // SIZE_OF_STEP * SIZE_OF_STEP)
        if not place:
            chance.shuffle(order)
        part = order[place : place + SIZE_OF_STEP]
        wanted = torch.tensor([LABELS.index(one["label"]) for one in part], device=texts.device)
        single = texts.batch([texts.tokens(text) for text in chance.sample(plain, HELD)])
        with torch.autocast(texts.device.type, torch.bfloat16):
            told, now = model(part), model.reader(single)
            with torch.no_grad():
                then = before(single)
        loss = functional.cross_entropy(told.float(), wanted, label_smoothing=0.05)
        loss = loss + LEASH * (1 - (now.float() * then.float()).sum(1)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
    return model.eval()


def told(label: str, scores: np.ndarray, some: Sequence[Pair]) -> str:
    """How many replacements are noticed where so many other pairs are mistaken for one."""
    replaces = np.array([one["label"] == "replaces" for one in some])
    yes, no = scores[replaces], np.sort(scores[~replaces])[::-1]
    shares = [
        f"{(yes > no[int(len(no) * share)]).mean():.3f} at {share}" for share in (0.02, 0.05, 0.1)
    ]
    return f"{label:28} {'   '.join(shares)}   AUC {(yes[:, None] > no).mean():.3f}"


def main() -> None:
    """Train two seeds, average and quantise them, print the figures, write the weights."""
    folder, begun = Path(sys.argv[1]), time.time()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    texts, weights = Texts(folder / "vocab.txt", device), load(folder / "careful.npz")
    weights = {name: value for name, value in weights.items() if not name.startswith("judge.")}
    own = pairs(HERE / "replacements.jsonl")
    known = pairs(DATA / "replacements_open.jsonl", DATA / "replacements_held.jsonl")
    fresh = pairs(DATA / "replacements_fresh.jsonl")  # never trained on
    plain = [text for one in clusters(HERE / "pairs") for text in (*one.notes, *one.questions)]
    models = [train(texts, weights, [*own, *known], plain, seed) for seed in (1, 2)]
    for model in models:
        print(told("one seed, fresh pairs", model.scores(fresh), fresh), flush=True)
    states = [model.state_dict() for model in models]
    model = models[0]
    model.load_state_dict({k: torch.stack([one[k] for one in states]).mean(0) for k in states[0]})
    small = quantised(model.reader.state())
    head = {f"judge.{name}": value.cpu().numpy() for name, value in model.head.state_dict().items()}
    np.savez(folder / "careful.npz", **small, **head)
    kept = load(folder / "careful.npz")
    model.reader = Bert({n: v for n, v in kept.items() if not n.startswith("judge.")}).to(device)
    print(told("averaged, fresh pairs", model.scores(fresh), fresh))
    was, now = Bert(weights).to(device).eval(), model.reader.eval()
    near = (texts.encode(was, plain[::40]) * texts.encode(now, plain[::40])).sum(1)
    print(f"single texts: cosine to before {near.mean():.4f}, least {near.min():.4f}")
    for name, one in (("before", was), ("after", now)):
        print(f"own notes, {name:8} {figures(texts, one, one, own_notes())}")
    print(json.dumps({"seconds": round(time.time() - begun), "device": device.type}))


if __name__ == "__main__":
    main()
