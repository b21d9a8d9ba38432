"""Texts as vectors by meaning: the built-in embedder reads wordllama's weights as plain files.

Knows no other embedder, no index and no network; a vector depends on its text alone.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
import sys
import zlib
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Protocol

from co_cli.errors import EmbedderUnavailable
from co_cli.knowledge.words import analysed

WEIGHTS = os.path.join("weights", "l2_supercat_256.safetensors")
VOCABULARY = os.path.join("tokenizers", "l2_supercat_tokenizer_config.json")
_TENSOR = "embedding.weight"
_SCHEME = 2  # another way of making vectors from the same weights takes another number

# A vector is one integer of lanes, so that adding two of them is one addition. A token has lanes
# of 32 bits in steps of 1/64; a word, the mean of its tokens, lanes of 16 bits that hold 0 to 255.
# A float of 32 bits near 196608 has steps of 1/64: its bits are those of 196608 plus the steps.
_STEPS = 196608.0
_STEPS_BITS = 0x48400000
_MOST_TOKENS = 60  # of a word; also what its tokens share, without a rest up to six
_MOST_WORDS = 250  # of a text: 255 times as many fit a lane
_ZERO = 128
_CACHED = 1 << 16
_FEW = 100  # words; for more it is quicker to read the vocabulary
_SPACE = "\u2581".encode().decode("latin-1")
_BROKEN = (
    OSError, ValueError, TypeError, AttributeError, LookupError, ArithmeticError, RecursionError,
)  # fmt: skip
_TO_SIGNED = bytes((value + 128) % 256 for value in range(256))
_TO_SIGN = bytes(1 if value >= _ZERO else 255 for value in range(256))


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


def built_in() -> Static:
    """The embedder that comes with Co, from the package folder; the package is not imported."""
    for folder in sys.path:
        package = os.path.join(folder, "wordllama")
        if os.path.isabs(folder) and os.path.isfile(os.path.join(package, WEIGHTS)):
            return Static(package)
    raise EmbedderUnavailable("the package wordllama is not installed: install Co again")


class Static:
    """The mean over a text's words of the mean of their tokens' rows in the weights in `folder`."""

    def __init__(self, folder: str) -> None:
        self._file = os.path.join(folder, WEIGHTS)
        self._vocabulary_file = os.path.join(folder, VOCABULARY)
        try:
            self._open()
        except _BROKEN as error:
            raise self._unusable(self._file, error) from error
        mark = zlib.crc32(self._map[: self._start + 512 * self.dim], len(self._map))
        self.name = f"wordllama/{_SCHEME}-{mark:08x}"
        self._row, self._steps, self._lanes = (struct.Struct(f"<{self.dim}{x}") for x in "efH")
        self._ones = int.from_bytes(struct.pack(f"<{self.dim}I", *[1] * self.dim), "little")
        self._middle = (1 << 15 | 1 << 7) * self._ones  # zero, and half a step to round
        self._vocabulary: dict[str, int] = {}
        self._lent: Callable[[str], int | None] | None = None
        self._asked = 0
        self._words: dict[str, int] = {}
        self._tokens: dict[int, int] = {}

    def documents(self, texts: Sequence[str]) -> list[bytes]:
        """A vector for each text; all zeros for one with nothing to embed."""
        return [self.query(text) for text in texts]

    def query(self, text: str) -> bytes:
        """The vector of a text, its largest value at 127; the first 250 words count."""
        words = analysed(text).split()[:_MOST_WORDS]
        return self._signed_bytes(self._sum(words), len(words))

    def signs(self, words: Iterable[str]) -> list[bytes]:
        """For each word the signs of its vector, 1 or -1 a dimension."""
        found = (self._sum([word]).to_bytes(self._lanes.size, "little") for word in words)
        return [raw[0::2].translate(_TO_SIGN) for raw in found]

    def lend(self, find: Callable[[str], int | None] | None) -> None:
        """Look the pieces of plain words up there, where that is quicker than reading them all."""
        self._lent = find

    def plain(self) -> dict[str, int]:
        """The pieces that a word of plain letters and digits can be made of, and their ids."""
        found = self._vocabulary or self._read_vocabulary()
        return {part: id for part, id in found.items() if _is_plain(part.removeprefix(_SPACE))}

    def tokens(self, word: str) -> list[int]:
        """The ids of a word's byte pairs: of neighbours that join, the lowest id first."""
        plain, none = _is_plain(word), self._rows
        get = self._pieces(plain)
        if (whole := get(_SPACE + word, none)) < none:
            return [whole]
        parts = [_SPACE, *word[:_MOST_TOKENS]] if plain else _spelt(word[:_MOST_TOKENS], get, none)
        pairs = [get(left + right, none) for left, right in pairwise(parts)]
        while pairs and (lowest := min(pairs)) < none:
            at = pairs.index(lowest)
            parts[at : at + 2] = [parts[at] + parts[at + 1]]
            del pairs[at]
            if at:
                pairs[at - 1] = get(parts[at - 1] + parts[at], none)
            if at < len(pairs):
                pairs[at] = get(parts[at] + parts[at + 1], none)
        return [get(part, 0) for part in parts]

    def _pieces(self, plain: bool) -> Callable[[str, int], int]:
        """How to look a piece up: what is told for one that there is not."""
        if not self._vocabulary:
            self._asked += 1
            if (lent := self._lent) and plain and self._asked <= _FEW:
                return lambda part, otherwise: _id(lent(part), otherwise)
            self._read_vocabulary()
        return self._vocabulary.get

    def _open(self) -> None:
        """Map the weights, after looking that they are what the header says."""
        with open(self._file, "rb") as file:
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        size = int.from_bytes(self._map[:8], "little")
        tensor = json.loads(self._map[8 : 8 + min(size, 4096)])[_TENSOR]
        self._rows, self.dim = map(int, tensor["shape"])
        first, last = map(int, tensor["data_offsets"])
        self._start = 8 + size + first
        if tensor["dtype"] != "F16" or not 0 < self.dim <= 4096 or first < 0:
            raise ValueError("it does not hold vectors of half floats")
        if last - first != self._rows * self.dim * 2 or 8 + size + last > len(self._map):
            raise ValueError("it is not as long as its header says")

    def _read_vocabulary(self) -> dict[str, int]:
        """The tokens and their ids, cut out of a file that holds much else.

        Their UTF-8 is read as Latin-1, which is much faster and joins just the same.
        """
        try:
            with (
                open(self._vocabulary_file, "rb") as file,
                mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text,
            ):
                start = text.find(b"{", text.find(b'"vocab"'))
                end = text.rfind(b"}", start, text.find(b'"merges"', start))
                ids = json.loads(text[start : end + 1].decode("latin-1"))
            if len(ids) != self._rows or not 0 <= min(ids.values()) <= max(ids.values()) < len(ids):
                raise ValueError("it does not fit the weights")
            if any(f"<0x{byte:02X}>" not in ids for byte in range(256)):
                raise ValueError("it does not cover every byte")
        except _BROKEN as error:
            raise self._unusable(self._vocabulary_file, error) from error
        self._vocabulary = ids
        return self._vocabulary

    def _unusable(self, file: str, error: Exception) -> EmbedderUnavailable:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        return EmbedderUnavailable(f"{file} cannot be used ({reason}): install Co again")

    def _sum(self, words: list[str]) -> int:
        known = self._words
        try:
            return sum(map(known.__getitem__, words))
        except KeyError:
            return sum([known[word] if word in known else self._learn(word) for word in words])

    def _learn(self, word: str) -> int:
        ids = self.tokens(word)[:_MOST_TOKENS]
        try:
            lanes = sum(map(self._tokens.__getitem__, ids))
        except KeyError:
            lanes = sum(map(self._token, ids))
        lanes = lanes * (_MOST_TOKENS // len(ids)) + self._middle
        try:
            raw = lanes.to_bytes(4 * self.dim, "little")
            if raw[2::4].strip(b"\0") or raw[3::4].strip(b"\0"):
                raise ValueError("its numbers are too large")
        except (OverflowError, ValueError) as error:
            raise self._unusable(self._file, error) from error
        wide = bytearray(2 * self.dim)
        wide[0::2] = raw[1::4]
        if len(self._words) >= _CACHED:
            self._words.clear()
        self._words[word] = found = int.from_bytes(wide, "little")
        return found

    def _token(self, token: int) -> int:
        """A row of the weights in lanes, each value in steps of 1/64."""
        if (lanes := self._tokens.get(token)) is None:
            row = self._row.unpack_from(self._map, self._start + self._row.size * token)
            packed = self._steps.pack(*[value + _STEPS for value in row])
            lanes = int.from_bytes(packed, "little") - _STEPS_BITS * self._ones
            if len(self._tokens) >= _CACHED:
                self._tokens.clear()
            self._tokens[token] = lanes
        return lanes

    def _signed_bytes(self, lanes: int, count: int) -> bytes:
        """Each lane as a signed byte, stretched so that the largest reaches 127."""
        raw = lanes.to_bytes(self._lanes.size, "little")
        values, zero = self._lanes.unpack(raw), _ZERO * count
        most: int = max(max(values) - zero, zero - min(values))
        if not most:
            return bytes(self.dim)
        wide = bytearray(4 * self.dim)
        wide[0::4], wide[1::4] = raw[0::2], raw[1::2]
        stretched = (int.from_bytes(wide, "little") - zero * self._ones) * ((127 << 24) // most)
        stretched += ((128 << 24) + (1 << 23)) * self._ones
        return stretched.to_bytes(4 * self.dim, "little")[3::4].translate(_TO_SIGNED)


def _is_plain(text: str) -> bool:
    return text.isascii() and (text.isalnum() or not text) and text == text.lower()


def _spelt(word: str, get: Callable[[str, int], int], none: int) -> list[str]:
    """A word's letters as the vocabulary has them, else their bytes."""
    parts: list[str] = []
    for character in "\u2581" + word:
        raw = character.encode("utf-8", "replace")
        part = raw.decode("latin-1")
        parts += [part] if get(part, none) < none else [f"<0x{byte:02X}>" for byte in raw]
    return parts


def _id(found: int | None, otherwise: int) -> int:
    return otherwise if found is None else found
