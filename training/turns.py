"""Teach upper layers of the careful encoder to read what a person says to Co.

    python training/turns.py TRAINED_FOLDER [EARLIER SHARE]

A head tells what is wanted and whether it is about the person, another where the words begin and
end that are meant. The layers below and all vectors of texts stay as they are. The upper layers
and the heads are written to `turns.npz`; a share of an EARLIER one may be mixed in.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from model import SIZE, Bert, Texts, load, quantised
from torch import Tensor, nn
from torch.nn import functional

from co_cli.knowledge.meaning.turns import STATEMENTS, UPPER, WANTS
from co_cli.knowledge.meaning.wordpiece import spelled

HERE = Path(__file__).resolve().parent
DATA = HERE.parent / "tests" / "data"
EPOCHS, RATE, SIZE_OF_STEP = 5, 4e-4, 64
SURE = 0.95  # what the label is held to; the rest is spread over all
ALLOWED = {  # labels of the tests' data that say less than ours, or say it otherwise
    "offer": STATEMENTS,
    "correct": ("correct", "amend"),
    "correction": ("correct", "amend"),
    "followup": ("followup", "earlier"),
    "list": ("list", "count"),
    "question": ("recall", "nothing", "help", "who", "about_me", "list", "changes", "followup"),
    "speculation": ("nothing",),
    "transient": ("nothing",),
    "other": ("nothing", "greet"),
}


class Turn(NamedTuple):
    """What a person said, what it may be, the place of what is meant, and whether it is theirs."""

    text: str
    wants: tuple[str, ...]
    span: tuple[int, int] | None
    mine: bool | None


def turns(*paths: Path, ours: bool = False) -> list[Turn]:
    """Labelled turns; those of the tests have other names for some things."""
    found = []
    for line in (line for path in paths for line in path.read_text("utf-8").splitlines()):
        row = json.loads(line)
        text, want = row["text"], row.get("want") or row["label"]
        meant = row.get("span") or row.get("keep") or row.get("about") or ""
        if want in ("restore", "earlier"):  # without a subject, all of it is meant
            meant = meant or text
        at = text.find(meant) if meant else -1
        wants = (want,) if ours else ALLOWED.get(want, (want,))
        span = (at, at + len(meant)) if at >= 0 else None
        found.append(Turn(text, wants, span, row.get("mine")))
    return found


class Reader(nn.Module):
    """The careful encoder, and what is told from its vectors."""

    def __init__(self, weights: dict[str, Tensor], texts: Texts) -> None:
        super().__init__()
        self.texts = texts
        self.bert = Bert(weights)
        self.upper = self.bert.only(UPPER)
        self.turn = nn.Linear(SIZE, len(WANTS) + 1)  # the last one: about the person
        self.span = nn.Linear(SIZE, 2)
        nn.init.zeros_(self.turn.weight)

    def forward(self, some: Sequence[Turn]) -> tuple[Tensor, Tensor, list[list[tuple[int, int]]]]:
        """The scores of each turn, of each of its tokens, and the tokens' places in the text."""
        cut = self.texts.pieces
        spelt = [
            [(number, at) for word, at in spelled(one.text) for number in cut.word(word)][:254]
            for one in some
        ]
        batch = self.texts.batch([[cut.first, *(n for n, _ in one), cut.last] for one in spelt])
        vectors, tokens = self.bert.states(batch)
        scores = self.turn(functional.dropout(vectors * SIZE**0.5, 0.1, self.training)).float()
        spans = self.span(functional.dropout(tokens, 0.1, self.training)).float()
        spans = spans.masked_fill(~batch[1][..., None], -1e4)
        return scores, spans, [[at for _, at in one] for one in spelt]

    def loss(self, some: Sequence[Turn]) -> Tensor:
        """How wrong turns are read."""
        scores, spans, places = self(some)
        likely, spans = scores[:, :-1].log_softmax(1), spans.log_softmax(1)
        total = -(1 - SURE) * likely.mean(1).sum()
        for at, one in enumerate(some):
            allowed = [WANTS.index(want) for want in one.wants]
            total = total - SURE * torch.logsumexp(likely[at, allowed], 0)
            if one.mine is not None:
                total = total - functional.logsigmoid(scores[at, -1] * (1 if one.mine else -1))
            inside = [n for n, place in enumerate(places[at], 1) if _within(place, one.span)]
            if inside:
                total = total - spans[at, inside[0], 0] - spans[at, inside[-1], 1]
        return total / len(some)


def _within(place: tuple[int, int], span: tuple[int, int] | None) -> bool:
    return span is not None and place[0] >= span[0] and place[1] <= span[1]


def shortened(one: Turn, chance: random.Random) -> Turn:
    """People leave out the last mark."""
    text = one.text.rstrip(".?! ")
    if chance.random() < 0.3 and text and (one.span is None or one.span[1] <= len(text)):
        return one._replace(text=text)
    return one


def train(texts: Texts, weights: dict[str, Tensor], said: Sequence[Turn], seed: int) -> Reader:
    """A reader of such turns."""
    torch.manual_seed(seed)
    chance = random.Random(seed)
    model = Reader(weights, texts).to(texts.device).train()
    heads = [*model.turn.parameters(), *model.span.parameters()]
    layers = [one for one in model.bert.parameters() if one.requires_grad]
    groups = [{"params": layers, "lr": RATE}, {"params": heads, "lr": 10 * RATE}]
    optimizer = torch.optim.AdamW(groups, weight_decay=0.01)
    steps = len(said) // SIZE_OF_STEP
    scheduler = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda at: min(1.0, (at + 1) / 30) * (1 - at / (EPOCHS * steps))
    )
    order = list(said)
    for _ in range(EPOCHS):
        chance.shuffle(order)
        for at in range(0, steps * SIZE_OF_STEP, SIZE_OF_STEP):
            part = [shortened(one, chance) for one in order[at : at + SIZE_OF_STEP]]
            with torch.autocast(texts.device.type, torch.bfloat16):
                loss = model.loss(part)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
    return model.eval()


@torch.no_grad()
def understood(model: Reader, some: Sequence[Turn]) -> str:
    """How many turns are read as labelled, and how many spans and owners are right."""
    scores, spans, places = model(some)
    right = held = whose = told = 0
    for at, one in enumerate(some):
        right += WANTS[int(scores[at, :-1].argmax())] in one.wants
        whose += one.mine is not None and (float(scores[at, -1]) > 0) == one.mine
        told += one.mine is not None
        if one.span and places[at]:
            first, last = spans[at, 1 : len(places[at]) + 1].argmax(0).tolist()
            meant = one.text[places[at][first][0] : places[at][last][1]]
            held += meant == one.text[slice(*one.span)].strip(" .,;:!?")
    many = sum(one.span is not None for one in some)
    return f"{right} of {len(some)}, meant {held} of {many}, whose {whose} of {told}"


def averaged(models: Iterable[Reader]) -> dict[str, Tensor]:
    """The mean of what several seeds learned."""
    states = [model.state_dict() for model in models]
    return {name: torch.stack([one[name] for one in states]).mean(0) for name in states[0]}


@torch.no_grad()
def mix(model: Reader, earlier: dict[str, Tensor], share: float) -> None:
    """Move the weights towards those of an earlier reader, which forgets less than training on."""
    for name, value in earlier.items():
        plain = name if name.startswith(("turn.", "span.")) else f"bert.{model.bert.names[name]}"
        model.get_parameter(plain).lerp_(value.to(model.texts.device), share)


def main() -> None:
    """Train five seeds, average and quantise them, print the figures, write the weights."""
    folder, begun = Path(sys.argv[1]), time.time()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    texts, weights = Texts(folder / "vocab.txt", device), load(folder / "careful.npz")
    weights = {name: value for name, value in weights.items() if not name.startswith("judge.")}
    own = turns(HERE / "turns.jsonl", ours=True)
    known = turns(DATA / "utterances_open.jsonl", DATA / "turns_open.jsonl")
    sets = {half: turns(DATA / f"{half}_held.jsonl") for half in ("utterances", "turns")}

    def tell(label: str, model: Reader, **some: Sequence[Turn]) -> None:
        for name, said in some.items():
            print(f"{time.time() - begun:4.0f} s  {label}, {name}: {understood(model, said)}")

    left_out = [one for one in own if random.Random(one.text).random() < 0.1]
    part = [one for one in own if one not in left_out]
    tell("without a tenth", train(texts, weights, [*part, *known], 1), tenth=left_out)
    models = [train(texts, weights, [*own, *known], seed) for seed in (1, 2, 3, 4, 5)]
    model = models[0]
    tell("one seed, held", model, **sets)
    model.load_state_dict(averaged(models))
    if len(sys.argv) > 2:
        mix(model, load(Path(sys.argv[2])), float(sys.argv[3]))
    small = quantised({name: model.bert.state()[name] for name in model.upper})
    heads = {name: value.cpu().numpy() for name, value in model.state_dict().items()}
    heads = {name: value for name, value in heads.items() if name.startswith(("turn.", "span."))}
    np.savez(folder / "turns.npz", **small, **heads)
    kept: dict[str, Any] = load(folder / "turns.npz")
    upper = {name: value for name, value in kept.items() if name in model.upper}
    model.bert = Bert({**weights, **upper}).to(device)
    tell("averaged and quantised, held", model.eval(), **sets)
    print(json.dumps({"seconds": round(time.time() - begun), "device": device.type}))


if __name__ == "__main__":
    main()
