"""What PyTorch makes of a few hundred texts, to hold the package's own arithmetic to.

    python training/golden.py TRAINED_FOLDER tests/data

TRAINED_FOLDER holds careful.npz, fast.npz, reader.npz and vocab.txt, as training or `unpack.py`
wrote them. Writes golden_vectors.jsonl (a hundred texts) and golden_reader.jsonl (two hundred).
"""

from __future__ import annotations

import base64
import json
import random
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from model import Bert, Texts, clusters, load, load_table
from mpnet import Reader, Tokenizer, batch, mean_states, unpack
from reader_data import (
    HERE,
    KINDS,
    SIGNALS,
    Notebook,
    Question,
    group_pairs,
    groups,
    notebooks,
    sentences,
)
from torch import Tensor

ANSWERS, RELATIONS, LINES = 90, 60, 50
LONG = 10  # every so many answers, all notes as one: more than is read
Row = dict[str, Any]


def as_base64(vector: Tensor) -> str:
    """A vector in signed bytes, as base64."""
    values = (vector * 500).round().clamp(-127, 127).to(torch.int8)
    return base64.b64encode(values.cpu().numpy().tobytes()).decode()


def vectors(folder: Path) -> Iterator[Row]:
    """A note, a question, a note with its tags, of every eleventh cluster."""
    texts = Texts(folder / "vocab.txt", torch.device("cpu"))
    careful, fast = Bert(load(folder / "careful.npz")).eval(), load_table(folder / "fast.npz")
    some = list(clusters(HERE / "pairs"))[::11]
    chosen = [text for one in some for text in (one.plain[0], one.questions[0], one.notes[-1])]
    for text in [text for text in chosen if texts.pieces.known(text, 254)][:100]:
        rows = [as_base64(texts.encode(model, [text])[0]) for model in (careful, fast)]
        yield {"text": text, "careful": rows[0], "fast": rows[1]}


class Scores:
    """What each head says of texts, one text at a time."""

    def __init__(self, folder: Path) -> None:
        self.model: Reader = unpack(folder / "reader.npz")
        self.tokenizer = Tokenizer(folder / "vocab.txt")

    def _states(self, row: Sequence[int]) -> tuple[Tensor, Tensor]:
        tokens, mask = batch([row], torch.device("cpu"))
        states = self.model.states(tokens, mask)
        return states[0, : len(row)], mean_states(states, mask)

    def _head(self, name: str, mean: Tensor) -> list[float]:
        return [round(float(score), 4) for score in self.model.head(name, mean)[0]]

    def answers(self, question: str, text: str) -> Row:
        """How well a text answers a question."""
        _, mean = self._states(self.tokenizer.pair(question, text))
        return {"question": question, "text": text, "answers": self._head("answers", mean)}

    def relation(self, old: str, new: str) -> Row:
        """What a new text means for an old one."""
        _, mean = self._states(self.tokenizer.pair(old, new))
        scores = {name: self._head(name, mean) for name in ("relation", "about")}
        return {"old": old, "new": new, **scores}

    def intent(self, line: str) -> Row:
        """What a line asks for; the signal only where it states something lasting."""
        row, places = self.tokenizer.with_places(line)
        states, mean = self._states(row)
        scores = {name: self._head(name, mean) for name in ("kind", "lasting", "personal")}
        starts, ends = self.model.head("span", states[1:-1]).T
        sums = (starts[:, None] + ends[None, :]).masked_fill(
            torch.ones(len(starts), len(ends)).tril(-1).bool(), -torch.inf
        )
        first, last = divmod(int(sums.argmax()), len(ends))
        kind = KINDS[int(torch.tensor(scores["kind"]).argmax())]
        signal = None
        if kind in ("tell", "correct") and scores["lasting"][0] > 0:
            signal = SIGNALS[int(self.model.head("signal", mean)[0].argmax())]
        span = line[places[first][0] : places[last][1]]
        return {"line": line, **scores, "signal": signal, "span": span}


def reader(folder: Path) -> Iterator[Row]:
    """Questions with right and wrong notes, statements with notes, and typed lines."""
    scores, chance = Scores(folder), random.Random(7)
    books, questions, _ = notebooks()
    for at, one in enumerate(chance.sample(questions, ANSWERS)):
        yield scores.answers(one.text, note(books[one.notebook], one, at, chance))
    train, held_out = groups()
    pairs = [pair for row in (*train, *held_out) for pair in group_pairs(row)]
    for pair in chance.sample(pairs, RELATIONS):
        yield scores.relation(pair.old, pair.new)
    for one in chance.sample(sentences()[0], LINES):
        yield scores.intent(one.text)


def note(book: Notebook, one: Question, at: int, chance: random.Random) -> str:
    """A note that answers, one that may not, or the whole notebook."""
    if at % LONG == 0:
        return "\n".join(book.notes)
    if at % 2 and one.wanted:
        return book.notes[one.wanted[0]]
    return chance.choice(book.notes)


def write(path: Path, rows: Iterable[Row]) -> None:
    lines = [json.dumps(row, ensure_ascii=False) for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


@torch.no_grad()
def main() -> None:
    """Write both files."""
    source, target = Path(sys.argv[1]), Path(sys.argv[2])
    write(target / "golden_vectors.jsonl", vectors(source))
    write(target / "golden_reader.jsonl", reader(source))


if __name__ == "__main__":
    main()
