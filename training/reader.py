"""Train the reader: one model that reads two texts as one, or one sentence, for all its heads.

    python training/reader.py BASE OUT
    python training/reader.py BASE OUT --mean OTHER_OUT ANOTHER_OUT

BASE holds `model.safetensors` (or `base.npz`, in half precision) of all-mpnet-base-v2 and BERT's
`vocab.txt`. Writes OUT/float.pt and, in four bits, OUT/reader.npz, and prints the figures of both
on what was left out. Needs PyTorch and a GPU.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
from model import load_base
from mpnet import Reader, Tokenizer, batch, mean_states, pack
from nearest import by_nearness, cosines, near_groups, outside_notes, sort_scenes
from reader_data import (
    NOT_SAME,
    Pair,
    Pairs,
    Question,
    Scenes,
    Sentence,
    notebooks,
    sentences,
    third_person,
)
from reader_figures import outside_sets, print_figures
from torch import Tensor, nn
from torch.nn import functional

from co_cli.knowledge.meaning.wordpiece import tagged

QUESTIONS, SENTENCES = 32, 64  # a step's
CHOICES = 8  # notes that a question is read with
NEAR = 12  # notes of its notebook among which the hard ones of a question are looked for
RATE, HEAD_RATE = 3e-5, 1e-3
FOUR_BIT_SHARE = 0.15  # of training: its end, which already uses the weights in four bits
BESIDE = 0.3  # what it weighs that a statement leaves the other notes of its notebook be
RIGHT, WRONG = 0.98, 0.02  # what an answer's probability should be


class Course:
    """The model on its way through the data."""

    def __init__(self, base: Path, device: torch.device, seed: int, beside: float) -> None:
        self.device, self.beside = device, beside
        self.chance = random.Random(seed)
        torch.manual_seed(seed)
        self.tokenizer = Tokenizer(base / "vocab.txt")
        self.model = Reader(load_base(base)).to(device).eval()
        self.books, questions, held_out = notebooks()
        self.train_books = [at for at in range(len(self.books)) if at not in held_out]
        self.train_questions = [one for one in questions if one.notebook not in held_out]
        self.held_out_questions = [one for one in questions if one.notebook in held_out]
        self.pairs = Pairs(self.chance)
        self.scenes = Scenes()
        self.sentences, self.held_out_sentences = sentences()
        self._sentence_queue: list[Sentence] = []
        self.cosines = cosines(self.embed, self.books, questions)
        self.near = {one: by_nearness(row) for one, row in self.cosines.items()}
        self.outside = outside_notes(
            self.embed, self.books, self.train_questions, {*self.train_books}
        )
        self.hard: dict[Question, list[int]] = {}
        self.near_groups = near_groups(self.embed, self.pairs)
        sort_scenes(self.embed, self.scenes)
        self.outside_sets = outside_sets(self.embed)

    # One step's data

    def note(self, book: int, at: int) -> str:
        """A note as it may be stored: with or without its tags, in either voice."""
        text, tags = self.books[book].notes[at], self.books[book].tags[at]
        if self.chance.random() < 0.15:
            text = third_person(text)
        return tagged(text, tags) if tags and self.chance.random() < 0.3 else text

    def as_typed(self, text: str) -> str:
        """A question as people type it: with or without its mark and its capitals."""
        chance = self.chance.random()
        if chance < 0.25:
            text = text.rstrip("?. ")
        elif chance < 0.5 and not text.endswith("?"):
            text += "?"
        return text[0].lower() + text[1:] if self.chance.random() < 0.25 else text

    def choices(self, one: Question) -> list[tuple[int, int]]:
        """The notes that a question is read with, a right one first if there is one."""
        chance, wanted = self.chance, {*one.wanted}
        notes = [(one.notebook, chance.choice(one.wanted))] if wanted else []
        near = [at for at in self.near[one] if at not in wanted]
        hard = [at for at in self.hard.get(one, []) if at not in wanted][:2]
        some = [*hard, *(at for at in near if at not in hard)][:4]
        notes += [(one.notebook, at) for at in some]
        notes += chance.sample(self.outside[one], 2)
        while len(notes) < CHOICES:
            book = chance.choice(self.train_books)
            if book != one.notebook:
                notes.append((book, chance.randrange(len(self.books[book].notes))))
        return notes

    def some_sentences(self) -> list[Sentence]:
        while len(self._sentence_queue) < SENTENCES:
            more = list(self.sentences)
            self.chance.shuffle(more)
            self._sentence_queue = more + self._sentence_queue
        return [self._sentence_queue.pop() for _ in range(SENTENCES)]

    # The losses

    def loss(self, questions: Sequence[Question]) -> dict[str, Tensor]:
        """How wrong one step's questions, pairs and sentences are read."""
        rows = []
        for one in questions:
            text = self.as_typed(one.text)
            rows += [self.tokenizer.pair(text, self.note(*place)) for place in self.choices(one)]
        pairs = self.pairs.step()
        alone = len(pairs)
        lists = self.pairs.lists(self.near_groups, self.scenes)
        weights = [1.0] * alone
        for own, some in lists:
            pairs += some
            weights += [1.0 if own and not at else self.beside for at in range(len(some))]
        for pair in pairs:
            old = third_person(pair.old) if self.chance.random() < 0.1 else pair.old
            rows.append(self.tokenizer.pair(old, pair.new))
        means = self.model.means(rows)
        of_questions, of_pairs = means[: -len(pairs)], means[-len(pairs) :]
        return {
            "answers": self.answers_loss(of_questions, [bool(one.wanted) for one in questions]),
            "relation": self.relation_loss(of_pairs, pairs, weights),
            "about": self.about_loss(of_pairs[alone:], [own for own, _ in lists]),
            "intent": self.intent_loss(self.some_sentences()),
        }

    def answers_loss(self, means: Tensor, answerable: Sequence[bool]) -> Tensor:
        """How wrong the notes are scored that each question is read with."""
        scores = self.model.head("answers", means)[:, 0].view(len(answerable), -1)
        return self._first_of_each(scores, torch.tensor(answerable, device=self.device))

    def about_loss(self, means: Tensor, owned: Sequence[bool]) -> Tensor:
        """How wrong the notes are scored that each statement may be about."""
        scores = self.model.head("about", means)[:, 0].float().view(len(owned), -1)
        return self._first_of_each(scores, torch.tensor(owned, device=self.device))

    def _first_of_each(self, scores: Tensor, has: Tensor) -> Tensor:
        """The first of each row is right where it has a right one, and nothing else is."""
        goal = torch.full_like(scores, WRONG)
        goal[has, 0] = RIGHT
        weights = torch.ones_like(scores)
        weights[has, 0] = 2.0
        loss = functional.binary_cross_entropy_with_logits(scores, goal, weights)
        if has.any():
            first = torch.zeros(int(has.sum()), dtype=torch.long, device=self.device)
            loss = loss + 0.5 * functional.cross_entropy(scores[has], first)
        return loss

    def relation_loss(
        self, means: Tensor, pairs: Sequence[Pair], weights: Sequence[float]
    ) -> Tensor:
        """How wrong it is read what a new text means for an old one."""
        likely = self.model.head("relation", means).float().log_softmax(1)
        labels = self._labels([pair.label for pair in pairs])
        heavy = torch.tensor(weights, device=self.device)
        labelled, unlike = labels >= 0, labels == NOT_SAME
        losses = torch.zeros_like(heavy)
        losses[labelled] = functional.nll_loss(likely[labelled], labels[labelled], reduction="none")
        losses[unlike] = -torch.logsumexp(likely[unlike][:, [0, 2]], 1)
        return (losses * heavy).sum() / heavy.sum()

    def intent_loss(self, some: Sequence[Sentence]) -> Tensor:
        """How wrong sentences are read."""
        some = [shorten(one, self.chance) for one in some]
        tokenised = [self.tokenizer.with_places(one.text) for one in some]
        tokens, mask = batch([row for row, _ in tokenised], self.device)
        states = self.model.states(tokens, mask).float()
        means = mean_states(states, mask)
        total = functional.cross_entropy(
            self.model.head("kind", means),
            self._labels([one.kind for one in some]),
            label_smoothing=0.03,
        )
        for name in ("want", "signal"):
            goal = self._labels([getattr(one, name) for one in some])
            if (goal >= 0).any():
                total = total + functional.cross_entropy(
                    self.model.head(name, means), goal, ignore_index=-1, label_smoothing=0.03
                )
        for name in ("lasting", "personal"):
            flags = [getattr(one, name) for one in some]
            labelled = torch.tensor([flag is not None for flag in flags], device=self.device)
            if labelled.any():
                goal = torch.tensor([bool(flag) for flag in flags], device=self.device).float()
                scores = self.model.head(name, means)[:, 0]
                total = total + functional.binary_cross_entropy_with_logits(
                    scores[labelled], goal[labelled]
                )
        ends = list(span_ends(some, [places for _, places in tokenised]))
        if not ends:
            return total
        spans = self.model.head("span", states).masked_fill(~mask[..., None], -1e4).log_softmax(1)
        rows, first, last = torch.tensor(ends, device=self.device).T
        return total - (spans[rows, first, 0] + spans[rows, last, 1]).mean()

    def _labels(self, labels: Sequence[int]) -> Tensor:
        return torch.tensor(labels, device=self.device)

    # Training

    def train(self, epochs: float, seconds: float) -> None:
        """All questions so many times; hard notes are looked for anew after each time.

        Where that would take longer than `seconds`, the rates fall as quickly as the time runs.
        """
        model = self.model.train()
        heads = list(model.heads.parameters())
        in_heads = {id(one) for one in heads}
        layers = [one for one in model.parameters() if id(one) not in in_heads]
        optimizer = torch.optim.AdamW(
            [{"params": layers, "lr": RATE}, {"params": heads, "lr": HEAD_RATE}],
            weight_decay=0.01,
            fused=self.device.type == "cuda",
        )
        total, began = int(epochs * (len(self.train_questions) // QUESTIONS)), time.time()

        def done(at: int) -> float:
            return max(at / total, (time.time() - began) / seconds)

        scheduler = torch.optim.lr_scheduler.LambdaLR(
            optimizer, lambda at: min(1.0, (at + 1) / 100) * max(0.02, 1 - done(at))
        )
        queue: list[Question] = []
        for at in range(total):
            if len(queue) < QUESTIONS:
                queue = list(self.train_questions)
                self.chance.shuffle(queue)
                if at:
                    self.find_hard_notes()
            if done(at) >= 1:
                break
            if done(at) >= 1 - FOUR_BIT_SHARE:
                model.round()
            with torch.autocast(self.device.type, torch.bfloat16):
                losses = self.loss([queue.pop() for _ in range(QUESTIONS)])
            loss = torch.stack([*losses.values()]).sum()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            if at % 100 == 0:
                row = {name: round(float(value.detach()), 3) for name, value in losses.items()}
                print(f"{time.time() - began:5.0f} s  step {at} of {total} {row}", flush=True)
        model.four_bit = {}
        model.eval()

    @torch.no_grad()
    def means(self, rows: Sequence[Sequence[int]]) -> Tensor:
        """The means of rows of tokens, as the model stands."""
        training = self.model.training
        self.model.eval()
        with torch.autocast(self.device.type, torch.bfloat16):
            parts = [
                self.model.means(rows[at : at + 4096], 65536) for at in range(0, len(rows), 4096)
            ]
        self.model.train(training)
        return torch.cat(parts)

    def embed(self, texts: Sequence[str]) -> Tensor:
        """The vectors of texts, of length 1."""
        rows = [self.tokenizer.one(text) for text in texts]
        return functional.normalize(self.means(rows).float(), dim=1)

    @torch.no_grad()
    def heads(self, means: Tensor, *names: str) -> list[Tensor]:
        """What heads say of means."""
        training = self.model.training
        self.model.eval()
        scores = [self.model.head(name, means).float() for name in names]
        self.model.train(training)
        return scores

    def read(self, rows: Sequence[Sequence[int]], head: str) -> Tensor:
        """What a head says of rows of tokens."""
        return self.heads(self.means(rows), head)[0]

    def find_hard_notes(self) -> None:
        """For each question, the notes near it by how well the reader thinks that they answer."""
        rows, places = [], []
        for one in self.train_questions:
            for at in self.near[one][:NEAR]:
                rows.append(self.tokenizer.pair(one.text, self.books[one.notebook].notes[at]))
                places.append((one, at))
        ranked: dict[Question, list[tuple[float, int]]] = {}
        for (one, at), score in zip(places, self.read(rows, "answers")[:, 0].tolist(), strict=True):
            ranked.setdefault(one, []).append((score, at))
        self.hard = {
            one: [at for _, at in sorted(row, reverse=True)] for one, row in ranked.items()
        }


def shorten(one: Sentence, chance: random.Random) -> Sentence:
    """People leave out the last mark, and capitals."""
    text = one.text
    if chance.random() < 0.3:
        bare = text.rstrip(".?! ")
        if bare and (one.span is None or one.span[1] <= len(bare)):
            text = bare
    if chance.random() < 0.15 and len(text.lower()) == len(text):
        text = text.lower()
    return one._replace(text=text)


def span_ends(
    some: Sequence[Sentence], places: Sequence[Sequence[tuple[int, int]]]
) -> Iterator[tuple[int, int, int]]:
    """The sentences that have a span, with its first and its last token."""
    for at, one in enumerate(some):
        if one.span is not None:
            start, end = one.span
            inside = [n for n, (a, b) in enumerate(places[at], 1) if a >= start and b <= end]
            if inside:
                yield at, inside[0], inside[-1]


def load_mean(model: Reader, folders: Sequence[Path]) -> None:
    """Give a model the mean of the weights that several runs wrote."""
    states = [torch.load(folder / "float.pt", map_location="cpu") for folder in folders]
    model.load_state_dict(
        {name: torch.stack([one[name] for one in states]).mean(0) for name in states[0]}
    )
    model.eval()


def main() -> None:
    """Train, print the figures before and after quantising, write the weights."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("base", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--epochs", type=float, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--beside", type=float, default=BESIDE)
    parser.add_argument("--seconds", type=float, default=3600, help="at most; rates fall in time")
    parser.add_argument("--mean", type=Path, nargs="+", help="no training: of these, the mean")
    parser.add_argument("--steps", type=int, help="only so many, to try the script")
    options = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    began = time.time()
    course = Course(options.base, device, options.seed, options.beside)
    print(
        f"{len(course.train_questions)} questions, {len(course.pairs.groups)} groups, "
        f"{len(course.sentences)} sentences",
        flush=True,
    )
    if options.steps:
        course.train_questions = course.train_questions[: options.steps * QUESTIONS]
    options.out.mkdir(parents=True, exist_ok=True)
    if options.mean:
        load_mean(course.model, options.mean)
    else:
        course.train(options.epochs, options.seconds)
        torch.save(course.model.state_dict(), options.out / "float.pt")
    print_figures(course, "float")
    np.savez(options.out / "reader.npz", **pack(course.model))  # type: ignore[arg-type]
    shutil.copyfile(options.base / "vocab.txt", options.out / "vocab.txt")
    print_figures(course, "four bits")
    size = (options.out / "reader.npz").stat().st_size
    print(json.dumps({"seconds": round(time.time() - began), "device": device.type, "size": size}))


if __name__ == "__main__":
    main()
