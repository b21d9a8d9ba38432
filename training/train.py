"""Make Co's weights: the careful encoder, trained on the pairs, and the table that follows it.

    python training/train.py --base MODEL_FOLDER --teacher MPNET --texts SENTENCES --out FOLDER

Needs PyTorch and a GPU. MODEL_FOLDER holds `model.safetensors` (or `base.npz`) and `vocab.txt` of
all-MiniLM-L6-v2, MPNET the same of all-mpnet-base-v2; without `--teacher` nothing is distilled.
SENTENCES is what `texts.py` collects; any English text will do.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import torch
from evaluate import figures, own_cluster, recall_line
from model import (
    Batch,
    Bert,
    Cluster,
    Table,
    Texts,
    clusters,
    load,
    load_base,
    load_table,
    quantise,
)
from mpnet import Reader, Tokenizer
from reader_data import left_out
from torch import Tensor, nn
from torch.nn import functional

HERE = Path(__file__).resolve().parent
TEMPERATURE = 0.05
BASE_WEIGHT = 0.3  # how much leaving the base's vectors costs
TAGGED_SHARE = 0.25  # of the notes: those read with their tags
NOTE_WEIGHT = 0.5  # how much the question for a note counts


def contrast(questions: Tensor, notes: Tensor, wanted: Tensor) -> Tensor:
    """How far each question is from preferring its own notes to all others of the batch."""
    likely = functional.log_softmax(questions @ notes.T / TEMPERATURE, dim=1)
    by_question = -(torch.logsumexp(likely.masked_fill(~wanted, -1e9), dim=1)).mean()
    used = wanted.any(0)
    likely = functional.log_softmax(notes[used] @ questions.T / TEMPERATURE, dim=1)
    by_note = -(torch.logsumexp(likely.masked_fill(~wanted.T[used], -1e9), dim=1)).mean()
    return by_question + NOTE_WEIGHT * by_note


class Step:
    """A batch of clusters as tokens, and which note answers which question."""

    def __init__(self, texts: Texts, some: Sequence[Cluster], chance: random.Random) -> None:
        both = [pair for one in some for pair in zip(one.plain, one.notes, strict=True)]
        notes = [pair[chance.random() < TAGGED_SHARE] for pair in both]
        questions = [text for one in some for text in one.questions]
        self.notes, self.questions = notes, questions
        self.batches: list[Batch] = [
            texts.batch([texts.tokens(text) for text in part]) for part in (questions, notes)
        ]
        self.wanted = torch.zeros(len(questions), len(notes), dtype=torch.bool)
        row = column = 0
        for one in some:
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


def optimizer_for(
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
    teacher: Teacher | None = None,
) -> Bert:
    """The base trained further on the pairs, and towards a teacher's similarities."""
    torch.manual_seed(seed)
    chance = random.Random(seed)
    base, model = Bert(start).to(texts.device), Bert(start).to(texts.device)
    total = epochs * -(-len(every) // size)
    optimizer, scheduler = optimizer_for(model, rate, total)
    for _ in range(epochs):
        for step in steps(texts, every, chance, size):
            with torch.autocast(texts.device.type, torch.bfloat16):
                questions, notes = (model(batch) for batch in step.batches)
                with torch.no_grad():
                    before = [base(batch) for batch in step.batches]
            loss = contrast(questions, notes, step.wanted)
            for now, then in zip((questions, notes), before, strict=True):
                loss = loss + BASE_WEIGHT * (1 - (now * then).sum(1)).mean()
            if teacher is not None:
                with torch.no_grad():
                    goal = teacher(step.questions) @ teacher(step.notes).T
                loss = loss + distillation(questions @ notes.T, goal)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
    return model.eval()


def distillation(similarities: Tensor, goal: Tensor) -> Tensor:
    """How far the similarities of a batch are from a teacher's."""
    likely = functional.log_softmax(similarities / TEMPERATURE, dim=1)
    sure = functional.softmax(goal / TEMPERATURE, dim=1)
    return functional.kl_div(likely, sure, reduction="batchmean")


class Teacher:
    """A larger encoder, trained on the same pairs: whose similarities a smaller one is to learn."""

    def __init__(self, base: Path, vocabulary: Path, device: torch.device) -> None:
        self.tokenizer = Tokenizer(vocabulary)
        self.model = Reader(load_base(base)).to(device)
        self.device = device

    def __call__(self, texts: Sequence[str]) -> Tensor:
        """The vectors of texts, of length 1."""
        rows = [self.tokenizer.one(text) for text in texts]
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
        optimizer, scheduler = optimizer_for(self.model, rate, total)
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
        return recall_line(questions @ notes.T, every)


def mean_weights(models: Sequence[Bert]) -> dict[str, Tensor]:
    """The mean of several models' weights."""
    states = [model.state() for model in models]
    return {name: torch.stack([one[name] for one in states]).mean(0) for name in states[0]}


@torch.no_grad()
def token_vectors(texts: Texts, careful: Bert, tokens: int) -> Tensor:
    """Each token's own vector by the careful encoder."""
    pieces = texts.pieces
    rows = [[pieces.first, token, pieces.last] for token in range(tokens)]
    return torch.cat([careful(texts.batch(rows[at : at + 2048])) for at in range(0, tokens, 2048)])


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
    goals = torch.cat(
        [texts.encode(careful, sentences).half(), texts.encode(careful, own).half().repeat(2, 1)]
    )
    model = Table(token_vectors(texts, careful, tokens)).to(texts.device)
    size = 1024
    total = passes * (len(rows) // size)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda at: 1 - at / (total + 1))
    order = list(range(len(rows)))
    for _ in range(passes):
        chance.shuffle(order)
        for at in range(0, len(order) - size + 1, size):
            part = order[at : at + size]
            vectors = model(texts.batch([rows[one] for one in part]))
            goal = goals[part].float()
            loss = (1 - (vectors * goal).sum(1)).mean()
            loss = loss + 10 * (vectors @ vectors.T - goal @ goal.T).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-4)
    total = epochs * -(-len(every) // 16)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda at: 1 - at / (total + 1))
    for _ in range(epochs):
        for step in steps(texts, every, chance, 16):
            questions, notes = (model(batch) for batch in step.batches)
            careful_questions = texts.encode(careful, step.questions)
            careful_notes = texts.encode(careful, step.notes)
            loss = contrast(questions, notes, step.wanted)
            # One may be read carefully while the other is not yet.
            loss = loss + 0.5 * contrast(careful_questions, notes, step.wanted)
            loss = loss + 0.5 * contrast(questions, careful_notes, step.wanted)
            loss = loss + 2 * (1 - (questions * careful_questions).sum(1)).mean()
            loss = loss + 2 * (1 - (notes * careful_notes).sum(1)).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
    return model.eval()


def main() -> None:
    """Train, quantise, print the figures, write the weights."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base", type=Path, required=True)
    parser.add_argument("--texts", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--teacher", type=Path)
    options = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    began = time.time()
    texts = Texts(options.base / "vocab.txt", device)
    start = load_base(options.base)
    weeks = list(clusters(HERE / "firstweek"))
    held_out = [one for at, one in enumerate(weeks) if left_out(at)]
    train = [*clusters(HERE / "pairs"), *(w for at, w in enumerate(weeks) if not left_out(at))]
    sets = {
        "own notes": own_cluster(),
        "untagged": own_cluster(tags=False),
        "weeks left out": held_out,
    }

    def report(label: str, row: Callable[[Sequence[Cluster]], str]) -> None:
        for name, some in sets.items():
            print(f"{time.time() - began:6.0f} s  {label:34} {name:14} {row(some)}", flush=True)

    def report_pair(label: str, for_questions: nn.Module, for_notes: nn.Module) -> None:
        report(label, partial(figures, texts, for_questions, for_notes))

    report_pair("base", *[Bert(start).to(device).eval()] * 2)
    teacher = None
    if options.teacher:
        teacher = Teacher(options.teacher, options.base / "vocab.txt", device)
        report("teacher, untrained", teacher.figures)
        teacher.train(texts, train)
        report("teacher", teacher.figures)
    models = [
        train_careful(texts, start, train, seed, teacher=teacher)
        for seed in range(1, options.seeds + 1)
    ]
    report_pair("careful, one seed", models[0], models[0])
    options.out.mkdir(parents=True, exist_ok=True)
    np.savez(options.out / "careful.npz", **quantise(mean_weights(models)))  # type: ignore[arg-type]
    careful = Bert(load(options.out / "careful.npz")).to(device).eval()
    report_pair("careful, averaged and quantised", careful, careful)
    opener = gzip.open if options.texts.suffix == ".gz" else open
    with opener(options.texts, "rt", encoding="utf-8") as file:
        sentences = file.read().splitlines()
    tokens = len(start["embeddings.word_embeddings.weight"])
    table = train_table(texts, careful, train, sentences, tokens)
    rows = quantise({"rows": table.rows.detach().cpu()})
    np.savez(options.out / "fast.npz", int8=rows["rows.int8"], scale=rows["rows.scale"])
    fast = load_table(options.out / "fast.npz").to(device)
    report_pair("fast", fast, fast)
    report_pair("careful question, fast notes", careful, fast)
    report_pair("fast question, careful notes", fast, careful)
    (options.out / "vocab.txt").write_bytes((options.base / "vocab.txt").read_bytes())
    print(json.dumps({"seconds": round(time.time() - began), "device": device.type}))


if __name__ == "__main__":
    main()
