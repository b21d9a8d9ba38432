"""Make Co's weights: the careful encoder, trained on the pairs, and the table that follows it.

    python training/train.py --base MODEL_FOLDER --teacher MPNET --texts SENTENCES --out FOLDER

Wants PyTorch and, for ten minutes, a GPU; without one it takes hours and comes out the same
within the noise. MODEL_FOLDER holds `model.safetensors` (or `base.npz`) and `vocab.txt` of
all-MiniLM-L6-v2, MPNET the same of all-mpnet-base-v2; SENTENCES is what `texts.py` collects, any
English text will do.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch
from evaluate import figures, own_notes, shares
from model import Bert, Cluster, Table, Texts, clusters, load, quantised
from mpnet import Cutter, Reader
from reader_data import HELD
from torch import Tensor, nn
from torch.nn import functional

HERE = Path(__file__).resolve().parent
WARMTH = 0.05  # the softmax's temperature
LEASH = 0.3  # how much leaving the base's vectors costs
TAGGED = 0.25  # how many notes are read with their tags
BACKWARDS = 0.5  # weight of finding the question for a note


def contrast(questions: Tensor, notes: Tensor, wanted: Tensor) -> Tensor:
    """How far each question is from preferring its own notes to all others of the batch."""
    likely = functional.log_softmax(questions @ notes.T / WARMTH, dim=1)
    there = -(torch.logsumexp(likely.masked_fill(~wanted, -1e9), dim=1)).mean()
    asked = wanted.any(0)
    likely = functional.log_softmax(notes[asked] @ questions.T / WARMTH, dim=1)
    back = -(torch.logsumexp(likely.masked_fill(~wanted.T[asked], -1e9), dim=1)).mean()
    return there + BACKWARDS * back


class Step:
    """A batch of clusters as tokens, and which note answers which question."""

    def __init__(self, texts: Texts, picked: Sequence[Cluster], chance: random.Random) -> None:
        both = [pair for one in picked for pair in zip(one.plain, one.notes, strict=True)]
        notes = [pair[chance.random() < TAGGED] for pair in both]
        questions = [text for one in picked for text in one.questions]
        self.notes, self.questions = notes, questions
        self.batches = tuple(
            texts.batch([texts.tokens(text) for text in part]) for part in (questions, notes)
        )
        self.wanted = torch.zeros(len(questions), len(notes), dtype=torch.bool)
        row = column = 0
        for one in picked:
            for want in one.wanted:
                self.wanted[row, [column + at for at in want]] = True
                row += 1
            column += len(one.notes)
        self.wanted = self.wanted.to(texts.device)


def steps(texts: Texts, every: Sequence[Cluster], chance: random.Random, size: int) -> list[Step]:
    """All clusters once, in random batches."""
    order = list(every)
    chance.shuffle(order)
    return [Step(texts, order[at : at + size], chance) for at in range(0, len(order), size)]


def descend(
    model: nn.Module, rate: float, total: int
) -> tuple[torch.optim.Optimizer, torch.optim.lr_scheduler.LRScheduler]:
    """AdamW whose rate rises for a tenth of the way and falls to nothing."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=0.01)
    scheduler = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda at: min(1.0, at / max(1, total // 10)) * max(0.0, 1 - at / total)
    )
    return optimizer, scheduler


def train_careful(
    texts: Texts,
    start: dict[str, Tensor],
    every: Sequence[Cluster],
    seed: int,
    *,
    epochs: int = 8,
    rate: float = 5e-5,
    size: int = 16,
    target: Callable[[Sequence[str]], list[Tensor]] | None = None,
) -> Bert:
    """The base trained further on the pairs; with `target` towards other models' similarities."""
    torch.manual_seed(seed)
    chance = random.Random(seed)
    base, model = Bert(start).to(texts.device), Bert(start).to(texts.device)
    total = epochs * -(-len(every) // size)
    optimizer, scheduler = descend(model, rate, total)
    for _ in range(epochs):
        for step in steps(texts, every, chance, size):
            with torch.autocast(texts.device.type, torch.bfloat16):
                found = [model(batch) for batch in step.batches]
                with torch.no_grad():
                    before = [base(batch) for batch in step.batches]
            loss = contrast(*found, step.wanted)
            for now, then in zip(found, before, strict=True):
                loss = loss + LEASH * (1 - (now * then).sum(1)).mean()
            if target is not None:
                loss = loss + towards(found, target(step.questions), target(step.notes))
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
    return model.eval()


def towards(found: Sequence[Tensor], questions: list[Tensor], notes: list[Tensor]) -> Tensor:
    """How far the similarities of a batch are from the mean of the teachers'."""
    wanted = torch.stack([q @ n.T for q, n in zip(questions, notes, strict=True)]).mean(0)
    likely = functional.log_softmax(found[0] @ found[1].T / WARMTH, dim=1)
    sure = functional.softmax(wanted / WARMTH, dim=1)
    return functional.kl_div(likely, sure, reduction="batchmean")


class Teacher:
    """A larger encoder, trained on the same pairs: whose similarities a smaller one is to learn."""

    def __init__(self, base: Path, vocabulary: Path, device: torch.device) -> None:
        named = base / "model.safetensors"
        self.cut = Cutter(vocabulary)
        self.model = Reader(load(named if named.exists() else base / "base.npz")).to(device)
        self.device = device

    def __call__(self, texts: Sequence[str]) -> Tensor:
        """The vectors of texts, of length 1."""
        rows = [self.cut.one(text) for text in texts]
        with torch.autocast(self.device.type, torch.bfloat16):
            return functional.normalize(self.model.means(rows, 32768).float(), dim=1)

    def train(
        self, texts: Texts, every: Sequence[Cluster], *, epochs: int = 4, rate: float = 2e-5
    ) -> None:
        """Learn which note answers which question."""
        torch.manual_seed(1)
        chance = random.Random(1)
        self.model.train()
        total = epochs * -(-len(every) // 16)
        optimizer, scheduler = descend(self.model, rate, total)
        for _ in range(epochs):
            for step in steps(texts, every, chance, 16):
                loss = contrast(self(step.questions), self(step.notes), step.wanted)
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
                optimizer.step()
                scheduler.step()
        self.model.eval()

    def figures(self, every: Sequence[Cluster]) -> str:
        """R@1, 5 and 10 of the teacher itself."""
        with torch.no_grad():
            notes = self([text for one in every for text in one.notes])
            questions = self([text for one in every for text in one.questions])
        return shares(questions @ notes.T, every)


def averaged(models: Sequence[Bert]) -> dict[str, Tensor]:
    """The mean of several models' weights."""
    states = [model.state() for model in models]
    return {name: torch.stack([one[name] for one in states]).mean(0) for name in states[0]}


@torch.no_grad()
def first_table(texts: Texts, careful: Bert, tokens: int) -> Tensor:
    """Each token's own vector by the careful encoder, rarer tokens heavier."""
    cut = texts.pieces
    rows = [[cut.first, token, cut.last] for token in range(tokens)]
    found = [careful(texts.batch(rows[at : at + 2048])) for at in range(0, tokens, 2048)]
    return torch.cat(found)


def train_table(
    texts: Texts,
    careful: Bert,
    every: Sequence[Cluster],
    sentences: Sequence[str],
    tokens: int,
    *,
    passes: int = 6,
    epochs: int = 4,
) -> Table:
    """A table that points where the careful encoder points, on any text and then on the pairs."""
    torch.manual_seed(1)
    chance = random.Random(1)
    own = [text for one in every for text in (*one.plain, *one.notes, *one.questions)]
    rows = [texts.tokens(text)[:128] for text in (*sentences, *own * 2)]
    wanted = torch.cat(
        [texts.encode(careful, sentences).half(), texts.encode(careful, own).half().repeat(2, 1)]
    )
    model = Table(first_table(texts, careful, tokens)).to(texts.device)
    size = 1024
    total = passes * (len(rows) // size)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda at: 1 - at / (total + 1))
    order = list(range(len(rows)))
    for _ in range(passes):
        chance.shuffle(order)
        for at in range(0, len(order) - size + 1, size):
            part = order[at : at + size]
            found = model(texts.batch([rows[one] for one in part]))
            goal = wanted[part].float()
            loss = (1 - (found * goal).sum(1)).mean()
            loss = loss + 10 * (found @ found.T - goal @ goal.T).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-4)
    total = epochs * -(-len(every) // 16)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda at: 1 - at / (total + 1))
    for _ in range(epochs):
        for step in steps(texts, every, chance, 16):
            found = [model(batch) for batch in step.batches]
            goal = [texts.encode(careful, part) for part in (step.questions, step.notes)]
            loss = contrast(found[0], found[1], step.wanted)
            loss = loss + 0.5 * contrast(
                goal[0], found[1], step.wanted
            )  # read carefully, notes fast
            loss = loss + 0.5 * contrast(found[0], goal[1], step.wanted)
            for now, then in zip(found, goal, strict=True):
                loss = loss + 2 * (1 - (now * then).sum(1)).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
    return model.eval()


def main() -> None:
    """Train, quantise, print the figures, write the weights."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base", type=Path, required=True)
    parser.add_argument("--texts", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--teacher", type=Path)
    parser.add_argument("--careful-only", action="store_true")
    options = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    begun = time.time()
    texts = Texts(options.base / "vocab.txt", device)
    named = options.base / "model.safetensors"
    start = load(named if named.exists() else options.base / "base.npz")
    weeks = list(clusters(HERE / "firstweek"))
    held = weeks[HELD - 3 :: HELD]
    train = [*clusters(HERE / "pairs"), *(one for one in weeks if one not in held)]
    sets = {"own notes": own_notes(), "untagged": own_notes(tags=False), "weeks left out": held}

    def tell(label: str, asked: nn.Module, noted: nn.Module) -> None:
        for name, questions in sets.items():
            row = figures(texts, asked, noted, questions)
            print(f"{time.time() - begun:6.0f} s  {label:34} {name:14} {row}", flush=True)

    tell("base", *[Bert(start).to(device).eval()] * 2)
    target = None
    if options.teacher:
        teacher = Teacher(options.teacher, options.base / "vocab.txt", device)
        for label in ("teacher, untrained", "teacher"):
            for name, questions in sets.items():
                row = teacher.figures(questions)
                print(f"{time.time() - begun:6.0f} s  {label:34} {name:14} {row}", flush=True)
            if label != "teacher":
                teacher.train(texts, train)

        @torch.no_grad()
        def target(some: Sequence[str]) -> list[Tensor]:
            return [teacher(some)]

    models = [
        train_careful(texts, start, train, seed, target=target)
        for seed in range(1, options.seeds + 1)
    ]
    tell("careful, one seed", *[models[0]] * 2)
    options.out.mkdir(parents=True, exist_ok=True)
    small = quantised(averaged(models))
    np.savez(options.out / "careful.npz", **small)
    careful = Bert(load(options.out / "careful.npz")).to(device).eval()
    tell("careful, averaged and quantised", careful, careful)
    if options.careful_only:
        return
    opener = gzip.open if options.texts.suffix == ".gz" else open
    with opener(options.texts, "rt", encoding="utf-8") as file:
        sentences = file.read().splitlines()
    tokens = len(start["embeddings.word_embeddings.weight"])
    table = train_table(texts, careful, train, sentences, tokens)
    small = quantised({"rows": table.rows.detach().cpu()})
    np.savez(options.out / "fast.npz", int8=small["rows.int8"], scale=small["rows.scale"])
    with np.load(options.out / "fast.npz") as file:
        rows = file["int8"].astype(np.float32) * file["scale"].astype(np.float32).reshape(-1, 1)
    fast = Table(torch.from_numpy(rows)).to(device)
    tell("fast", fast, fast)
    tell("careful question, fast notes", careful, fast)
    tell("fast question, careful notes", fast, careful)
    (options.out / "vocab.txt").write_bytes((options.base / "vocab.txt").read_bytes())
    print(json.dumps({"seconds": round(time.time() - begun), "device": device.type}))


if __name__ == "__main__":
    main()
