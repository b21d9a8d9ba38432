"""Two encoders of one space: *fast* adds a vector per token, *careful* reads the whole text.

Either's vectors can be compared with the other's. A vector depends on its text alone and is told
in signed bytes. Knows no index; numpy is loaded by the first careful reading.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property, lru_cache
from itertools import accumulate, pairwise
from math import exp, log, prod, sqrt
from operator import mul
from typing import Any, Protocol

from co_cli.errors import EmbedderUnavailable
from co_cli.knowledge.meaning.languages import EVEN, InOtherLanguage, Languages, package_folder
from co_cli.knowledge.meaning.wordpiece import WordPiece

WEIGHTS = os.path.join(os.path.dirname(__file__), "weights")
DIM = 384
LONGEST = 254  # pieces of a text that are read; what follows is for another passage
_HEADS = 12
_MANY = 400  # texts at once from which on numpy is worth its import
_LAYERS = 6
_ROWS = 256  # of a matrix that are made floats at once
LENGTH = 500.0  # of a vector in bytes: a value of a fourth of it would be the first to be cut
_ZERO = 128  # a row's bytes are its values plus this, so that lanes never borrow

_LOW = int.from_bytes(b"\xff\x00" * (DIM // 2), "little")  # every other byte


class Embedder(Protocol):
    """Turns texts into vectors of signed bytes, to be compared by their angle.

    A text with nothing to embed is all zeros. The index records `name` and `dim`, and is built
    anew for others.
    """

    @property
    def name(self) -> str: ...
    @property
    def dim(self) -> int: ...
    def documents(self, texts: Sequence[str]) -> list[bytes]: ...
    def query(self, text: str) -> bytes: ...


class Meaning:
    """Texts to vectors of signed bytes, all zeros where a text has no meaning that can be told.

    The weights come with Co; each file is mapped when it is needed. They read English; `languages`
    reads the rest, where that extra is installed.
    """

    dim = DIM

    def __init__(self, folder: str = WEIGHTS, *, languages: str = "") -> None:
        self._folder = folder
        try:
            with open(os.path.join(folder, "weights.json"), encoding="utf-8") as file:
                self.files: dict[str, Any] = json.load(file)
        except (OSError, ValueError) as error:
            raise self._unusable(error) from error
        self.encoders = self.name = f"co/{self.files['careful.bin']['sha256'][:12]}"
        self.languages = Languages(self, languages) if languages else None
        if self.languages:
            self.name += f"+{self.languages.name}"

    def _unusable(self, error: Exception) -> EmbedderUnavailable:
        why = getattr(error, "strerror", None) or str(error)
        return EmbedderUnavailable(f"Co's weights in {self._folder} cannot be read: {why}")

    def mapped(self, name: str) -> mmap.mmap:
        try:
            with open(os.path.join(self._folder, name), "rb") as file:
                found = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as error:
            raise self._unusable(error) from error
        if name not in self.files or len(found) != self.files[name]["size"]:
            raise self._unusable(ValueError(f"{name} is not whole"))
        return found

    @cached_property
    def pieces(self) -> WordPiece:
        """What cuts a text."""
        with self.mapped("vocab.txt") as file:
            return WordPiece(file[:].decode("utf-8").split("\n")[:-1])

    @cached_property
    def _table(self) -> mmap.mmap:
        return self.mapped("fast.bin")

    @cached_property
    def _layers(self) -> Layers:
        return Layers(self, "careful.bin")

    @cached_property
    def _sameness(self) -> Layers:
        return Layers(self, "careful.bin", "same.bin")

    def tokens(self, text: str) -> list[int]:
        """The pieces of a text; none when too few of its words are known to mean something."""
        found = self.pieces.known(text, LONGEST)
        return [] if found and self.languages and self.languages.claims(found) else found

    def is_other(self, text: str) -> bool:
        """Whether a text is in a language that only the extra can read."""
        if self.languages is None or not self.pieces.spells(text, LONGEST):
            return False
        if found := self.pieces.known(text, LONGEST):
            return self.languages.claims(found)
        return self.languages.claims(self.pieces.cut(text, LONGEST), EVEN)

    def knows(self, word: str) -> bool:
        """Whether a word is a piece of its own or two long ones; names and coinages are crumbs."""
        pieces = len(self.pieces.word(word.lower()))
        return pieces == 1 or (pieces == 2 and len(word) > 6)

    def documents(self, texts: Sequence[str]) -> list[bytes]:
        """A vector for each text, at once; `closely` makes better ones when there is time."""
        if len(texts) < _MANY:
            return [self.quickly(text) for text in texts]
        return self._summed([self.tokens(text) for text in texts])

    def query(self, text: str) -> bytes:
        """The vector of a question, read closely."""
        return self.closely(text)

    def quickly(self, text: str) -> bytes:
        """By the fast encoder: the sum of the tokens' rows.

        It is made in lanes of 16 bits, in two numbers of 192 lanes each.
        """
        tokens = self.tokens(text)
        table, low, high = self._table, 0, 0
        for token in tokens:
            row = int.from_bytes(table[token * DIM : (token + 1) * DIM], "little")
            low += row & _LOW
            high += row >> 8 & _LOW
        shift = _ZERO * len(tokens)
        values = [0] * DIM
        for at, lanes in enumerate((low, high)):
            summed = struct.unpack(f"<{DIM // 2}H", lanes.to_bytes(DIM, "little"))
            values[at::2] = [one - shift for one in summed]
        length = sqrt(sum(map(mul, values, values)))
        scale = LENGTH / length if length else 0.0
        return struct.pack(f"{DIM}b", *(max(-127, min(127, round(v * scale))) for v in values))

    def _summed(self, texts: Sequence[Sequence[int]]) -> list[bytes]:
        """The same as `quickly`, to the byte, by numpy."""
        import numpy as np

        table = np.frombuffer(self._table, np.uint8).reshape(-1, DIM)
        rows = (table.take(np.array(tokens, int), 0) for tokens in texts)
        sums = np.array([some.sum(0, dtype=np.uint16) for some in rows])
        return _rounded(sums - _ZERO * np.array([[float(len(tokens))] for tokens in texts]))

    def closely(self, text: str) -> bytes:
        """By the careful encoder; text in another language by the extra."""
        tokens, ends = self.tokens(text), self.pieces
        if not tokens:
            other = self.languages if self.is_other(text) else None
            return InOtherLanguage(_rounded(other.read(text))[0]) if other else bytes(DIM)
        [mean] = self._layers.read([ends.first, *tokens, ends.last])
        return _rounded(mean[None].astype("f8"))[0]

    def replaces(self, old: Sequence[str], new: str) -> list[float]:
        """How much likelier it is that a text replaces each old one than not, by logarithm."""
        found, known = [], self.pieces.known
        for mean in self._layers.read(*(self._joined(known, text, new) for text in old)):
            yes, *no = self._layers.head("judge", mean)
            found.append(yes - log(sum(map(exp, no))))
        return found

    def same(self, one: str, other: str, least: float) -> bool:
        """Whether it is by so much likelier that two sentences state one fact than not.

        The logarithm of that is the mean of both orders. Where neither looks like English, nothing
        can be told; where one does, the other is taken for English too.
        """
        if not self.tokens(one) and not self.tokens(other):
            return False
        cut = self.pieces.cut
        orders = self._joined(cut, one, other), self._joined(cut, other, one)
        scores = [self._sameness.head("same", mean)[0] for mean in self._sameness.read(*orders)]
        return sum(scores) / 2 >= least

    def _joined(self, cut: Callable[[str, int], list[int]], one: str, other: str) -> list[int]:
        """Two texts as one, with a mark between them."""
        marks, half = self.pieces, LONGEST // 2 - 1
        return [marks.first, *cut(one, half), marks.last, *cut(other, half), marks.last]


def _rounded(vectors: Any) -> list[bytes]:
    """Vectors in signed bytes of one length, so that a product of two is their cosine."""
    squares = (vectors * vectors).sum(1, keepdims=True)
    squares[squares == 0.0] = 1.0
    scaled = (vectors * (LENGTH / squares**0.5)).round().clip(-127, 127)
    return [row.tobytes() for row in scaled.astype("i1")]


def broken_weights(folder: str = WEIGHTS) -> list[tuple[str, str]]:
    """The files of the weights that are not what they were when Co was built, and why."""
    import hashlib  # for 40 MB, OpenSSL is worth its loading

    try:
        files = Meaning(folder).files
    except EmbedderUnavailable as error:
        return [(folder, str(error))]
    broken = []
    for name, told in files.items():
        path = os.path.join(folder, name)
        with suppress(OSError), open(path, "rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() == told["sha256"]:
                continue
        broken.append((path, "is not what was installed"))
    return broken


@lru_cache(1)
def built_in() -> Meaning:
    """Co's own embedder, with the extra `languages` if there is one; loaded once a process."""
    return Meaning(languages=package_folder())


class Layers:
    """Six layers and the heads on them; where files hold the same array, the last one counts."""

    def __init__(self, weights: Meaning, *files: str) -> None:
        import numpy as np

        self._np = np
        self._places: dict[str, Any] = {}
        for name in files:
            file, arrays = weights.mapped(name), weights.files[name]["arrays"]
            self._places |= {array: (file, *place) for array, place in arrays.items()}

    def raw(self, name: str) -> Any:
        """One array, as it lies in its file."""
        file, kind, shape, offset = self._places[name]
        return self._np.frombuffer(file, kind, prod(shape), offset).reshape(shape)

    def _times(self, name: str, value: Any, bias: Any) -> Any:
        """A matrix of whole numbers, with a scale for each row, times a value.

        Some rows at a time become floats, which are still in the processor's cache when they are
        used: quicker than to keep them, and a quarter of the memory.
        """
        np, rows = self._np, self.raw(name)
        found = np.empty((len(rows), value.shape[1]), "f4")
        for at in range(0, len(rows), _ROWS):
            np.matmul(rows[at : at + _ROWS].astype("f4"), value, out=found[at : at + _ROWS])
        found *= self.raw(f"{name}.scale")[:, None]
        found += bias[:, None]
        return found

    def _norm(self, value: Any, norm: Any) -> Any:
        np = self._np
        value = value - value.sum(0) / DIM
        value /= np.sqrt(np.einsum("ij,ij->j", value, value) / DIM + 1e-12)
        value *= norm[0, :, None]
        value += norm[1, :, None]
        return value

    def read(self, *texts: Sequence[int]) -> list[Any]:
        """The vectors of texts, each given by its tokens: the mean of theirs."""
        return [states.mean(1) for states in self.states(*texts)]

    def states(self, *texts: Sequence[int]) -> list[Any]:
        """The vectors of the tokens of each text, in columns.

        All tokens stand in columns, which is nearly twice as quick, and texts beside each other,
        which is quicker still; the last bit of a vector may depend on its neighbours.
        """
        np = self._np
        chosen = [token for tokens in texts for token in tokens]
        places = [place for tokens in texts for place in range(len(tokens))]
        rows = sum(
            self.raw(part)[at].astype("f4") * self.raw(f"{part}.scale")[at, None]
            for part, at in (("words", chosen), ("positions", places))
        )
        value = self._norm(np.ascontiguousarray(rows.T), self.raw("start.norm").reshape(2, DIM))
        ends = list(accumulate(map(len, texts), initial=0))
        for layer in range(_LAYERS):
            biases, norms = self.raw(f"{layer}.biases"), self.raw(f"{layer}.norms")
            parts = self._times(f"{layer}.seen", value, biases[: 3 * DIM])
            told = [self._heeded(parts[:, first:last]) for first, last in pairwise(ends)]
            told = told[0] if len(told) == 1 else np.concatenate(told, 1)
            joined = self._times(f"{layer}.joined", told, biases[3 * DIM : 4 * DIM])
            value = self._norm(joined + value, norms[:2])
            inner = self._times(f"{layer}.wide", value, biases[4 * DIM : 8 * DIM])
            inner *= 1 + np.tanh(0.7978845608 * (inner + 0.044715 * inner * inner * inner))
            inner *= 0.5
            narrow = self._times(f"{layer}.narrow", inner, biases[8 * DIM :])
            value = self._norm(narrow + value, norms[2:])
        return [value[:, first:last] for first, last in pairwise(ends)]

    def _heeded(self, parts: Any) -> Any:
        """What the tokens of one text take from each other."""
        np, long = self._np, parts.shape[1]
        asks, keys, tells = parts.reshape(3, _HEADS, -1, long)
        heed = asks.transpose(0, 2, 1) @ keys / sqrt(DIM // _HEADS)
        heed = np.exp(heed - heed.max(2, keepdims=True))
        heed /= heed.sum(2, keepdims=True)
        return (tells @ heed.transpose(0, 2, 1)).reshape(DIM, long)

    def head(self, name: str, mean: Any) -> list[float]:
        """The scores that a head gives to a text's vector, which it wants of one length."""
        whole = mean * (sqrt(DIM) / sqrt(mean @ mean))
        scores = self.raw(f"{name}.weight") @ whole + self.raw(f"{name}.bias")
        return [float(score) for score in scores]
