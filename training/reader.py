"""Train the reader: one model that reads two texts as one, or one sentence, for all its heads.

    python training/reader.py BASE OUT [--epochs 3]

BASE holds `model.safetensors` (or `base.npz`, in half precision) of all-mpnet-base-v2 and BERT's
`vocab.txt`. Writes the weights in four bits (OUT/reader.npz) and some scores to compare with
(OUT/golden_reader.jsonl), and prints the figures on what was left out. Ten minutes on one GPU.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from model import load
from mpnet import FIRST_PLACE, GROUP, POSITIONS, Cutter, Reader, batch, quantised
from reader_data import (
    NOT_SAME,
    Pairs,
    Question,
    Scenes,
    Sentence,
    notebooks,
    sentences,
    third_person,
)  # fmt: skip
from reader_figures import every_figure, remember_base
from torch import Tensor, nn
from torch.nn import functional

from co_cli.knowledge.meaning.wordpiece import tagged

QUESTIONS, SENTENCES = 32, 64  # a step's
CHOICES = 8  # notes that a question is read with
RATE, HEAD_RATE = 3e-5, 1e-3
LAST = 0.15  # the share of training that already sees four bits
BESIDE = 0.3  # what it weighs that a statement leaves the other notes of its notebook be


class Course:
    """The model on its way through the data."""

    def __init__(
        self, base: Path, device: torch.device, seed: int, beside: float = BESIDE
    ) -> None:
        self.device, self.beside = device, beside
        self.chance = random.Random(seed)
        torch.manual_seed(seed)
        named = base / "model.safetensors"
        self.cut = Cutter(base / "vocab.txt")
        weights = load(named if named.exists() else base / "base.npz")
        self.model = Reader(weights).to(device)
        self.books, asked, self.held_books = notebooks()
        self.train_asked = [one for one in asked if one.notebook not in self.held_books]
        self.held_asked = [one for one in asked if one.notebook in self.held_books]
        self.pairs = Pairs(self.chance)
        self.scenes = Scenes()
        self.sentences, self.held_sentences = sentences()
        self._line: list[Sentence] = []
        self.near = Near(self, asked)
        self.hard: dict[Question, list[int]] = {}
        self.near_groups = self.near.groups(self.pairs)
        self.near.scenes(self.scenes)

    # one step's data

    def note(self, book: int, at: int) -> str:
        """A note as it may be stored: with or without its tags, in either voice."""
        text, tags = self.books[book].notes[at], self.books[book].tags[at]
        if self.chance.random() < 0.15:
            text = third_person(text)
        return tagged(text, tags) if tags and self.chance.random() < 0.3 else text

    def asked(self, text: str) -> str:
        """A question as people type it: with or without its mark and its capitals."""
        chance = self.chance.random()
        if chance < 0.25:
            text = text.rstrip("?. ")
        elif chance < 0.5 and not text.endswith("?"):
            text += "?"
        return text[0].lower() + text[1:] if self.chance.random() < 0.25 else text

    def choices(self, one: Question) -> list[tuple[int, int]]:
        """The notes that a question is read with, a right one first if there is one."""
        chance, wanted = self.chance, set(one.wanted)
        found = [(one.notebook, chance.choice(one.wanted))] if wanted else []
        near = [at for at in self.near.inside(one) if at not in wanted]
        hard = [at for at in self.hard.get(one, []) if at not in wanted]
        picked = [*hard[:2], *(at for at in near if at not in hard[:2])][:4]
        found += [(one.notebook, at) for at in picked]
        found += chance.sample(self.near.outside(one), 2)
        while len(found) < CHOICES:
            book = chance.choice(self.near.train_books)
            if book != one.notebook:
                found.append((book, chance.randrange(len(self.books[book].notes))))
        return found

    def some_sentences(self) -> list[Sentence]:
        while len(self._line) < SENTENCES:
            more = list(self.sentences)
            self.chance.shuffle(more)
            self._line = more + self._line
        return [self._line.pop() for _ in range(SENTENCES)]

    # the losses

    def loss(self, asked: Sequence[Question]) -> dict[str, Tensor]:
        """How wrong one step's questions, pairs and sentences are read."""
        rows, right = [], []
        for one in asked:
            question = self.asked(one.text)
            picked = self.choices(one)
            rows += [self.cut.pair(question, self.note(*place)) for place in picked]
            right.append(bool(one.wanted))
        some = self.pairs.step()
        alone = len(some)
        lists = self.pairs.lists(self.near_groups, self.scenes)
        weights = [1.0] * alone
        for own, pairs in lists:
            some += pairs
            weights += [1.0 if own and not n else self.beside for n in range(len(pairs))]
        rows += [
            self.cut.pair(third_person(p.old) if self.chance.random() < 0.1 else p.old, p.new)
            for p in some
        ]
        means = self.model.means(rows)
        many = len(asked) * CHOICES
        scores = self.model.head("answers", means[:many])[:, 0].view(len(asked), CHOICES)
        has = torch.tensor(right, device=self.device)
        goal = torch.full_like(scores, 0.02)
        goal[has, 0] = 0.98
        heavy = torch.ones_like(scores)
        heavy[has, 0] = 2.0
        answers = functional.binary_cross_entropy_with_logits(scores, goal, heavy)
        if has.any():
            choose = functional.cross_entropy(
                scores[has], torch.zeros(int(has.sum()), dtype=torch.long, device=self.device)
            )
            answers = answers + 0.5 * choose
        likely = self.model.head("relation", means[many:]).float().log_softmax(1)
        labels = torch.tensor([pair.label for pair in some], device=self.device)
        heavy = torch.tensor(weights, device=self.device)
        known, unlike = labels >= 0, labels == NOT_SAME
        wrong = torch.zeros_like(heavy)
        wrong[known] = functional.nll_loss(likely[known], labels[known], reduction="none")
        wrong[unlike] = -torch.logsumexp(likely[unlike][:, [0, 2]], 1)
        relation = (wrong * heavy).sum() / heavy.sum()
        about = self.model.head("about", means[many + alone :])[:, 0].float().view(len(lists), -1)
        owned = torch.tensor([own for own, _ in lists], device=self.device)
        goal = torch.full_like(about, 0.02)
        goal[owned, 0] = 0.98
        heavy = torch.ones_like(about)
        heavy[owned, 0] = 2.0
        named = functional.binary_cross_entropy_with_logits(about, goal, heavy)
        first = torch.zeros(int(owned.sum()), dtype=torch.long, device=self.device)
        named = named + 0.5 * functional.cross_entropy(about[owned], first)
        return {
            "answers": answers,
            "relation": relation,
            "about": named,
            "intent": self.intent_loss(self.some_sentences()),
        }

    def intent_loss(self, some: Sequence[Sentence]) -> Tensor:
        """How wrong sentences are read."""
        some = [shortened(one, self.chance) for one in some]
        placed = [self.cut.placed(one.text) for one in some]
        tokens, mask = batch([row for row, _ in placed], self.device)
        states = self.model.states(tokens, mask).float()
        means = (states * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
        total = functional.cross_entropy(
            self.model.head("kind", means),
            self._labels([one.kind for one in some]),
            label_smoothing=0.03,
        )
        for name, labels in (
            ("want", [s.want for s in some]),
            ("signal", [s.signal for s in some]),
        ):
            goal = self._labels(labels)
            if (goal >= 0).any():
                total = total + functional.cross_entropy(
                    self.model.head(name, means), goal, ignore_index=-1, label_smoothing=0.03
                )
        for name, flags in (
            ("lasting", [s.lasting for s in some]),
            ("personal", [s.personal for s in some]),
        ):
            known = torch.tensor([flag is not None for flag in flags], device=self.device)
            if known.any():
                goal = torch.tensor([bool(flag) for flag in flags], device=self.device).float()
                scores = self.model.head(name, means)[:, 0]
                total = total + functional.binary_cross_entropy_with_logits(
                    scores[known], goal[known]
                )
        spans = self.model.head("span", states).masked_fill(~mask[..., None], -1e4).log_softmax(1)
        ends = []
        for at, one in enumerate(some):
            inside = [n for n, place in enumerate(placed[at][1], 1) if within(place, one.span)]
            if inside:
                ends.append((at, inside[0], inside[-1]))
        if not ends:
            return total
        rows, first, last = torch.tensor(ends, device=self.device).T
        return total - (spans[rows, first, 0] + spans[rows, last, 1]).mean()

    def _labels(self, labels: Sequence[int]) -> Tensor:
        return torch.tensor(labels, device=self.device)

    # training

    def train(self, epochs: float, seconds: float) -> None:
        """All questions so many times; hard notes are looked for anew after each time.

        Where that would take longer than `seconds`, the rates fall as quickly as the time runs.
        """
        model = self.model.train()
        heads = list(model.heads.parameters())
        known = {id(one) for one in heads}
        layers = [one for one in model.parameters() if id(one) not in known]
        optimizer = torch.optim.AdamW(
            [{"params": layers, "lr": RATE}, {"params": heads, "lr": HEAD_RATE}],
            weight_decay=0.01,
            fused=self.device.type == "cuda",
        )
        per = len(self.train_asked) // QUESTIONS
        total, begun = int(epochs * per), time.time()

        def done(at: int) -> float:
            return max(at / total, (time.time() - begun) / seconds)

        scheduler = torch.optim.lr_scheduler.LambdaLR(
            optimizer, lambda at: min(1.0, (at + 1) / 100) * max(0.02, 1 - done(at))
        )
        order: list[Question] = []
        for at in range(total):
            if len(order) < QUESTIONS:
                order = list(self.train_asked)
                self.chance.shuffle(order)
                if at:
                    self.look_for_hard_notes()
                    print(f"{time.time() - begun:5.0f} s  hard notes found anew", flush=True)
            asked = [order.pop() for _ in range(QUESTIONS)]
            if done(at) >= 1:
                break
            if done(at) >= 1 - LAST:
                model.round()
            with torch.autocast(self.device.type, torch.bfloat16):
                losses = self.loss(asked)
            loss = sum(losses.values())
            optimizer.zero_grad()
            loss.backward()  # type: ignore[union-attr]
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            if at % 100 == 0:
                shown = {name: round(float(value.detach()), 3) for name, value in losses.items()}
                print(f"{time.time() - begun:5.0f} s  step {at} of {total} {shown}", flush=True)
        model.rounded = {}
        model.eval()

    @torch.no_grad()
    def means(self, rows: Sequence[Sequence[int]]) -> Tensor:
        """The means of rows of tokens, as the model stands."""
        training = self.model.training
        self.model.eval()
        with torch.autocast(self.device.type, torch.bfloat16):
            found = [
                self.model.means(rows[at : at + 4096], 65536) for at in range(0, len(rows), 4096)
            ]
        self.model.train(training)
        return torch.cat(found)

    @torch.no_grad()
    def heads(self, means: Tensor, *names: str) -> list[Tensor]:
        """What heads say of means."""
        training = self.model.training
        self.model.eval()
        found = [self.model.head(name, means).float() for name in names]
        self.model.train(training)
        return found

    def read(self, rows: Sequence[Sequence[int]], head: str) -> Tensor:
        """What a head says of rows of tokens."""
        return self.heads(self.means(rows), head)[0]

    def look_for_hard_notes(self) -> None:
        """For each question, the wrong notes near it that the reader likes best."""
        rows, places = [], []
        for one in self.train_asked:
            for at in self.near.inside(one)[:12]:
                rows.append(self.cut.pair(one.text, self.books[one.notebook].notes[at]))
                places.append((one, at))
        scores = self.read(rows, "answers")[:, 0].tolist()
        ranked: dict[Question, list[tuple[float, int]]] = {}
        for (one, at), score in zip(places, scores, strict=True):
            ranked.setdefault(one, []).append((score, at))
        self.hard = {
            one: [at for _, at in sorted(found, reverse=True)] for one, found in ranked.items()
        }


class Near:
    """Which notes are near a question, by the base's own vectors."""

    def __init__(self, course: Course, asked: Sequence[Question]) -> None:
        self.course = course
        self.train_books = [at for at in range(len(course.books)) if at not in course.held_books]
        notes = [
            (book, at) for book, one in enumerate(course.books) for at in range(len(one.notes))
        ]
        vectors = self._vectors([course.books[book].notes[at] for book, at in notes])
        start = {}
        for place, (book, _) in enumerate(notes):
            start.setdefault(book, place)
        self._inside: dict[Question, list[int]] = {}
        self.cosines: dict[Question, list[float]] = {}
        self._outside: dict[Question, list[tuple[int, int]]] = {}
        free = torch.tensor(
            [book not in course.held_books for book, _ in notes], device=course.device
        )
        questions = self._vectors([one.text for one in asked])
        for at in range(0, len(asked), 1024):
            part = asked[at : at + 1024]
            scores = questions[at : at + 1024] @ vectors.T
            far = scores.masked_fill(~free, -2).topk(min(64, len(notes)), 1).indices.tolist()
            for row, one in enumerate(part):
                first, many = start[one.notebook], len(course.books[one.notebook].notes)
                own = scores[row, first : first + many]
                self._inside[one] = own.argsort(descending=True).tolist()
                self.cosines[one] = own.tolist()
                self._outside[one] = [notes[n] for n in far[row] if notes[n][0] != one.notebook][
                    :12
                ] or [notes[0]] * 2

    def _vectors(self, texts: Sequence[str]) -> Tensor:
        course = self.course
        rows = [course.cut.one(text) for text in texts]
        course.model.eval()
        with torch.no_grad(), torch.autocast(course.device.type, torch.bfloat16):
            parts = [
                course.model.means(rows[at : at + 4096], 65536) for at in range(0, len(rows), 4096)
            ]
        return functional.normalize(torch.cat(parts).float(), dim=1)

    def scenes(self, scenes: Scenes) -> None:
        """For each statement, the notes of its notebook, the nearest first."""
        notes = [self._vectors(book) for book in scenes.books]
        typed = [*scenes.train, *scenes.held]
        for one, vector in zip(typed, self._vectors([one.text for one in typed]), strict=True):
            scenes.near[one] = (notes[one.notebook] @ vector).argsort(descending=True).tolist()

    def groups(self, pairs: Pairs) -> dict[str, list[int]]:
        """For each statement about a note, the groups whose notes are nearest to it."""
        notes = self._vectors([group[0].old for group in pairs.groups])
        said = list({pair.new for pair in pairs.flat})
        near = (self._vectors(said) @ notes.T).topk(min(16, len(notes)), 1).indices.tolist()
        return dict(zip(said, near, strict=True))

    def inside(self, one: Question) -> list[int]:
        return self._inside[one]

    def outside(self, one: Question) -> list[tuple[int, int]]:
        found = self._outside[one]
        return found if len(found) > 1 else found * 2


def shortened(one: Sentence, chance: random.Random) -> Sentence:
    """People leave out the last mark, and capitals."""
    text = one.text
    if chance.random() < 0.3:
        bare = text.rstrip(".?! ")
        if bare and (one.span is None or one.span[1] <= len(bare)):
            text = bare
    if chance.random() < 0.15 and len(text.lower()) == len(text):
        text = text.lower()
    return one._replace(text=text)


def within(place: tuple[int, int], span: tuple[int, int] | None) -> bool:
    return span is not None and place[0] >= span[0] and place[1] <= span[1]


# the weights


@torch.no_grad()
def shipped(model: Reader) -> dict[str, np.ndarray]:
    """The weights as the package reads them; the model is left with the same values."""
    found: dict[str, np.ndarray] = {}
    for name, plain in model.names.items():
        value = getattr(model, plain)
        if name in set(model.matrices()):
            numbers, step, scale = quantised(value)
            value.copy_(numbers * step.repeat_interleave(GROUP, 1) * scale[:, None])
            found[f"{name}.int4"] = numbers.to(torch.int8).cpu().numpy()
            found[f"{name}.step"] = step.to(torch.uint8).cpu().numpy()
            found[f"{name}.scale"] = scale.half().cpu().numpy()
        elif "position" in name:
            value.copy_(value.half().float())
            found[name] = value[FIRST_PLACE : FIRST_PLACE + POSITIONS].half().cpu().numpy()
        else:
            found[name] = value.float().cpu().numpy()
    for name, value in model.heads.state_dict().items():
        found[f"heads.{name}"] = value.float().cpu().numpy()
    return found


def nibbles(found: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Two numbers a byte, as they travel: the lower half of a byte is the even column."""
    packed = {}
    for name, value in found.items():
        least = {"int4": -8, "step": 1}.get(name.rpartition(".")[2])
        if least is None:
            packed[name] = value
        else:
            whole = (value.astype(np.int16) - least).astype(np.uint8)
            packed[name] = whole[:, ::2] | whole[:, 1::2] << 4
    return packed


def golden(course: Course) -> list[dict[str, Any]]:
    """Two hundred texts and what each head says of them, to hold the package's arithmetic to."""
    chance, found = random.Random(7), []
    course.model.eval()
    device_type = course.device.type

    def scores(head: str, first: str, second: str) -> dict[str, Any]:
        means = course.model.means([course.cut.pair(first, second)])
        told = [round(float(score), 4) for score in course.model.head(head, means)[0]]
        return {"head": head, "first": first, "second": second, "scores": told}

    with torch.no_grad(), torch.autocast(device_type, enabled=False):
        for one in chance.sample(course.train_asked, 90):
            note = course.books[one.notebook].notes[course.near.inside(one)[chance.randrange(3)]]
            found.append(scores("answers", one.text, note))
        for head, many in (("relation", 50), ("about", 20)):
            for pair in chance.sample(course.pairs.flat, many):
                found.append(scores(head, pair.old, pair.new))
        for one in chance.sample(course.sentences, 40):
            means = course.model.means([course.cut.placed(one.text)[0]])
            heads = ("kind", "lasting", "signal", "personal")
            several = [float(s) for name in heads for s in course.model.head(name, means)[0]]
            row = {"head": "intent", "first": one.text, "scores": [round(s, 4) for s in several]}
            found.append(row)
    return found


def average(model: Reader, paths: Sequence[Path]) -> None:
    """Give a model the mean of several others' weights."""
    states = [torch.load(path / "float.pt", map_location="cpu") for path in paths]
    model.load_state_dict(
        {name: sum(one[name] for one in states) / len(states) for name in states[0]}
    )
    model.eval()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("base", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--epochs", type=float, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--beside", type=float, default=BESIDE)
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--mean", type=Path, nargs="+", help="no training: of these, the mean")
    parser.add_argument("--steps", type=int, default=0, help="only so many, to try the script")
    options = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    begun = time.time()
    course = Course(options.base, device, options.seed, options.beside)
    remember_base(course, options.base)
    print(
        f"{len(course.train_asked)} questions, {len(course.pairs.groups)} groups, "
        f"{len(course.sentences)} sentences",
        flush=True,
    )
    if options.steps:
        course.train_asked = course.train_asked[: options.steps * QUESTIONS]
    options.out.mkdir(parents=True, exist_ok=True)
    if options.mean:
        average(course.model, options.mean)
    else:
        course.train(options.epochs, options.seconds)
        torch.save(course.model.state_dict(), options.out / "float.pt")
    if not options.seconds < 3600:  # twice the figures is for who has the time
        every_figure(course, "float")
    found = nibbles(shipped(course.model))
    np.savez(options.out / "reader.npz", **found)
    with (options.out / "golden_reader.jsonl").open("w", encoding="utf-8") as file:
        for row in golden(course):
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
    every_figure(course, "four bits")
    size = (options.out / "reader.npz").stat().st_size
    print(json.dumps({"seconds": round(time.time() - begun), "device": device.type, "size": size}))


if __name__ == "__main__":
    main()
