"""Reads two texts as one, or one sentence, in plain numpy.

Says how well a text answers a question, what a new text means for an old one, and what a typed
sentence asks for. Knows no note, no index and no threshold; `compare` and `search` have those.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, lru_cache
from itertools import accumulate, pairwise
from math import exp, prod, sqrt
from threading import Lock
from typing import Any, Literal, NamedTuple, get_args

from co_cli.knowledge.meaning.encoders import Meaning, built_in
from co_cli.knowledge.meaning.wordpiece import spelled

Kind = Literal[
    "ask", "tell", "correct", "forget", "undo", "list", "show", "restore", "help", "changes",
    "other",
]  # fmt: skip
Signal = Literal["preference", "decision", "context", "pattern", "correction"]
KINDS: tuple[Kind, ...] = get_args(Kind)  # in the order of the head's rows, as the signals
SIGNALS: tuple[Signal, ...] = get_args(Signal)
THREADS = "CO_CLI_READER_THREADS"
HALF = 126  # pieces that are read of each text of a pair
_SIZE, _HEADS, _LAYERS, _GROUP = 768, 12, 12, 32
_SHIFT = 4  # `<s>`, `<pad>`, `</s>` and `<unk>` stand in front of BERT's vocabulary
_START, _END = 0, 2
_ROWS = 384  # of a matrix that are made floats at once
_NEAR, _FAR, _BUCKETS = 8, 128, 16  # how distances between tokens are told apart


class Relation(NamedTuple):
    """What a new text means for an old one, as probabilities.

    It brings the old one out of date, says the same, or does neither: these add up to 1. `about` is
    how likely the new text means this old one at all, rather than another of its notebook.
    """

    updates: float
    same: float
    other: float
    about: float


class Intent(NamedTuple):
    """What a sentence asks for: its kind, the words that it is about, and what kind of fact it is.

    `likely` is the probability of the kind, `kinds` that of each; `lasting`, `personal` and
    `signal_likely` are probabilities too. `signal` is None for a sentence that states nothing
    lasting.
    """

    kind: Kind
    likely: float
    span: str
    lasting: float
    signal: Signal | None
    personal: float
    kinds: dict[Kind, float]
    signal_likely: float = 0.0


class Reader:
    """Twelve layers in four bits a weight, unpacked to bytes the first time each is used."""

    def __init__(self, weights: Meaning, threads: int = 1) -> None:
        import numpy as np

        self._np = np
        self._pieces = weights.pieces
        self._file = weights.mapped("reader.bin")
        self._places: dict[str, Any] = weights.files["reader.bin"]["arrays"]
        self._unpacked: dict[str, Any] = {}
        self._threads = threads
        self._lock = Lock()  # the reader is one for all threads of a process

    def answers(self, question: str, texts: Sequence[str]) -> list[float]:
        """How well each text answers a question: the logarithm of the odds that it does."""
        rows = [self._pair(question, text) for text in texts]
        return [float(scores[0]) for scores in self._scores("answers", rows)]

    def relations(self, olds: Sequence[str], new: str) -> list[Relation]:
        """What a new text means for each old one."""
        rows = [self._pair(old, new) for old in olds]
        means = [states.mean(1) for states in self._states(rows)] if rows else []
        relations = []
        for mean in means:
            updates, same, other = _shares(self.head("relation", mean))
            about = _share(self.head("about", mean)[0])
            relations.append(Relation(updates, same, other, about))
        return relations

    def intent(self, sentence: str) -> Intent:
        """What one sentence asks for."""
        cut = [(n + _SHIFT, at) for w, at in spelled(sentence) for n in self._pieces.word(w)]
        cut = cut[: 2 * HALF]
        [states] = self._states([[_START, *(number for number, _ in cut), _END]])
        mean = states.mean(1)
        kinds = dict(zip(KINDS, _shares(self.head("kind", mean)), strict=True))
        kind = max(kinds, key=kinds.__getitem__)
        [lasting], [personal] = self.head("lasting", mean), self.head("personal", mean)
        signals = dict(zip(SIGNALS, _shares(self.head("signal", mean)), strict=True))
        signal = max(signals, key=signals.__getitem__)
        states_fact = kind in ("tell", "correct") and lasting > 0
        starts, ends = self._raw("span.weight") @ states[:, 1:-1]
        first, last = _best_span(starts.tolist(), ends.tolist())
        span = sentence[cut[first][1][0] : cut[last][1][1]] if cut else ""
        return Intent(
            kind, kinds[kind], span, _share(lasting), signal if states_fact else None,
            _share(personal), kinds, signals[signal],
        )  # fmt: skip

    def head(self, name: str, mean: Any) -> Any:
        """The scores that a head gives to a text's mean."""
        return self._raw(f"{name}.weight") @ mean + self._raw(f"{name}.bias")

    def _pair(self, first: str, second: str) -> list[int]:
        one, other = (
            [number + _SHIFT for number in self._pieces.cut(text, HALF)] for text in (first, second)
        )
        return [_START, *one, _END, _END, *other, _END]

    def _scores(self, head: str, rows: Sequence[Sequence[int]]) -> list[Any]:
        if not rows:
            return []
        return [self.head(head, states.mean(1)) for states in self._states(rows)]

    # the layers

    def _raw(self, name: str) -> Any:
        """One array, as it lies in the file."""
        kind, shape, offset = self._places[name]
        return self._np.frombuffer(self._file, kind, prod(shape), offset).reshape(shape)

    def _unpack(self, name: str, rows: Any = slice(None)) -> Any:
        """Rows of a matrix as bytes: each weight's number times the step of its group."""
        np = self._np
        packed, steps = self._raw(f"{name}.int4")[rows], self._raw(f"{name}.step")[rows]
        half, groups = packed.shape[1], steps.shape[1]
        found = np.empty((len(packed), 2 * half), np.int8)
        step = np.empty((len(packed), 2 * groups, 1), np.int8)
        for at in range(0, len(packed), _ROWS):  # some rows at a time stay in the cache
            part = slice(at, at + _ROWS)
            np.bitwise_and(packed[part], 15, out=found[part, :half], casting="unsafe")
            np.right_shift(packed[part], 4, out=found[part, half:], casting="unsafe")
            np.bitwise_and(steps[part], 15, out=step[part, :groups, 0], casting="unsafe")
            np.right_shift(steps[part], 4, out=step[part, groups:, 0], casting="unsafe")
            found[part] -= 8
            step[part] += 1
            found[part].reshape(len(found[part]), -1, _GROUP)[...] *= step[part]
        return found

    def _matrix(self, name: str) -> Any:
        with self._lock:
            if name not in self._unpacked:
                self._unpacked[name] = self._unpack(name)
            return self._unpacked[name]

    def _times(self, name: str, value: Any, bias: Any) -> Any:
        """A matrix times a value, whose columns are tokens."""
        np, rows = self._np, self._matrix(name)
        found = np.empty((len(rows), value.shape[1]), "f4")

        def block(at: int) -> None:
            np.matmul(rows[at : at + _ROWS].astype("f4"), value, out=found[at : at + _ROWS])

        each = self._pool.map if self._pool else map
        for _ in each(block, range(0, len(rows), _ROWS)):
            pass
        found *= self._raw(f"{name}.scale").astype("f4")[:, None]
        found += bias[:, None]
        return found

    @cached_property
    def _pool(self) -> ThreadPoolExecutor | None:
        return ThreadPoolExecutor(self._threads) if self._threads > 1 else None

    def _norm(self, value: Any, norm: Any) -> Any:
        np = self._np
        value = value - value.sum(0) / _SIZE
        value /= np.sqrt(np.einsum("ij,ij->j", value, value) / _SIZE + 1e-5)
        value *= norm[0, :, None]
        value += norm[1, :, None]
        return value

    def _states(self, texts: Sequence[Sequence[int]]) -> list[Any]:
        """The states of the tokens of each text, in columns; all texts are read together."""
        np = self._np
        chosen = np.array([token for tokens in texts for token in tokens])
        places = [place for tokens in texts for place in range(len(tokens))]
        words, back = np.unique(chosen, return_inverse=True)
        scale = self._raw("words.scale")[words].astype("f4")[:, None]
        start = (self._unpack("words", words) * scale)[back] + self._raw("positions")[places]
        value = self._norm(np.ascontiguousarray(start.T), self._raw("start.norm"))
        ends = list(accumulate(map(len, texts), initial=0))
        bias = self._distances(max(map(len, texts)))
        for layer in range(_LAYERS):
            biases, norms = self._raw(f"{layer}.biases"), self._raw(f"{layer}.norms")
            parts = self._times(f"{layer}.qkv", value, biases[: 3 * _SIZE])
            mixed = [self._attend(parts[:, first:last], bias) for first, last in pairwise(ends)]
            mixed = mixed[0] if len(mixed) == 1 else np.concatenate(mixed, 1)
            mixed = self._times(f"{layer}.mix", mixed, biases[3 * _SIZE : 4 * _SIZE])
            value = self._norm(mixed + value, norms[:2])
            inner = self._times(f"{layer}.up", value, biases[4 * _SIZE : 8 * _SIZE])
            inner *= 1 + np.tanh(0.7978845608 * (inner + 0.044715 * inner * inner * inner))
            inner *= 0.5
            inner = self._times(f"{layer}.down", inner, biases[8 * _SIZE :])
            value = self._norm(inner + value, norms[2:])
        return [value[:, first:last] for first, last in pairwise(ends)]

    def _distances(self, long: int) -> Any:
        """What each head's attention adds for how far two tokens are apart."""
        np = self._np
        apart = np.arange(long)[:, None] - np.arange(long)
        near = np.abs(apart)
        ratio = np.log(np.maximum(near, 1) / _NEAR) / np.log(_FAR / _NEAR)
        far = np.minimum(_NEAR + (ratio * _NEAR).astype(int), _BUCKETS - 1)
        buckets = np.where(apart < 0, _BUCKETS, 0) + np.where(near < _NEAR, near, far)
        return np.ascontiguousarray(self._raw("distances")[buckets].transpose(2, 0, 1))

    def _attend(self, parts: Any, bias: Any) -> Any:
        """What the tokens of one text take from each other."""
        np, long = self._np, parts.shape[1]
        asks, keys, values = parts.reshape(3, _HEADS, -1, long)
        heed = asks.transpose(0, 2, 1) @ keys
        heed *= 1 / sqrt(_SIZE // _HEADS)
        heed += bias[:, :long, :long]
        heed -= heed.max(2, keepdims=True)
        np.exp(heed, out=heed)
        heed /= heed.sum(2, keepdims=True)
        return (values @ heed.transpose(0, 2, 1)).reshape(_SIZE, long)


def _share(score: float) -> float:
    return 1 / (1 + exp(-max(-50.0, min(50.0, score))))


def _shares(scores: Any) -> list[float]:
    """Scores as probabilities that add up to one."""
    parts = [exp(float(score - scores.max())) for score in scores]
    return [part / sum(parts) for part in parts]


def _best_span(starts: Sequence[float], ends: Sequence[float]) -> tuple[int, int]:
    """The likeliest first and last word, in this order."""
    best, first, found = float("-inf"), 0, (0, 0)
    for at, end in enumerate(ends):
        first = at if starts[at] > starts[first] else first
        if starts[first] + end > best:
            best, found = starts[first] + end, (first, at)
    return found


@lru_cache(1)
def reader() -> Reader:
    """Co's reader, unpacked once a process; EmbedderUnavailable where its weights are broken.

    The `co` command says how many threads it may use; a host program's are its own.
    """
    return Reader(built_in(), int(os.environ.get(THREADS, "1")))
