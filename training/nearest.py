"""Which notes are near a text, by the vectors of the base before it is trained."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from reader_data import Notebook, Pairs, Question, Scenes
from torch import Tensor

Embed = Callable[[Sequence[str]], Tensor]
NEAR_GROUPS = 16  # groups that are kept for a statement
OUTSIDE = 12  # notes of other notebooks that are kept for a question


def cosines(
    embed: Embed, books: Sequence[Notebook], questions: Sequence[Question]
) -> dict[Question, list[float]]:
    """How near each note of its notebook is to a question."""
    notes = embed_each(embed, [book.notes for book in books])
    vectors = embed([one.text for one in questions])
    return {
        one: (notes[one.notebook] @ vector).tolist()
        for one, vector in zip(questions, vectors, strict=True)
    }


def embed_each(embed: Embed, books: Sequence[Sequence[str]]) -> Sequence[Tensor]:
    """The vectors of each notebook's notes."""
    vectors = embed([text for book in books for text in book])
    return vectors.split([len(book) for book in books])


def by_nearness(values: Sequence[float]) -> list[int]:
    """The places of values, the highest first."""
    return sorted(range(len(values)), key=lambda at: -values[at])


def outside_notes(
    embed: Embed, books: Sequence[Notebook], questions: Sequence[Question], free: set[int]
) -> dict[Question, list[tuple[int, int]]]:
    """For each question, the nearest notes of other notebooks, among those that are free."""
    places = [(book, at) for book in sorted(free) for at in range(len(books[book].notes))]
    vectors = embed([books[book].notes[at] for book, at in places])
    near: dict[Question, list[tuple[int, int]]] = {}
    for start in range(0, len(questions), 1024):
        part = questions[start : start + 1024]
        scores = embed([one.text for one in part]) @ vectors.T
        best = scores.topk(min(64, len(places)), 1).indices.tolist()
        for one, row in zip(part, best, strict=True):
            others = [places[at] for at in row if places[at][0] != one.notebook]
            near[one] = others[:OUTSIDE]
    return near


def near_groups(embed: Embed, pairs: Pairs) -> dict[str, list[int]]:
    """For each statement about a note, the groups whose notes are nearest to it."""
    notes = embed([group[0].old for group in pairs.groups])
    statements = list({pair.new for pair in pairs.flat})
    many = min(NEAR_GROUPS, len(notes))
    near = (embed(statements) @ notes.T).topk(many, 1).indices.tolist()
    return dict(zip(statements, near, strict=True))


def sort_scenes(embed: Embed, scenes: Scenes) -> None:
    """Give each statement the notes of its notebook, the nearest first."""
    notes = embed_each(embed, scenes.books)
    statements = [*scenes.train, *scenes.held_out]
    vectors = embed([one.text for one in statements])
    for one, vector in zip(statements, vectors, strict=True):
        nearness = notes[one.notebook] @ vector
        scenes.near[one] = torch.argsort(nearness, descending=True).tolist()
