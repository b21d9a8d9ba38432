"""How often the wanted note is among the first few, by meaning alone."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from model import Cluster, Texts
from reader_data import own_notes
from torch import Tensor, nn


def own_cluster(*, tags: bool = True) -> list[Cluster]:
    """The benchmark of Co's own kind of notes, as one cluster; measured, never trained on."""
    row = own_notes()
    if not tags:
        row["notes"] = [note | {"tags": []} for note in row["notes"]]
    return [Cluster(row)]


def figures(
    texts: Texts, for_questions: nn.Module, for_notes: nn.Module, clusters: Sequence[Cluster]
) -> str:
    """R@1, 5 and 10 over all notes of these clusters together."""
    notes = texts.encode(for_notes, [text for one in clusters for text in one.notes])
    questions = texts.encode(for_questions, [text for one in clusters for text in one.questions])
    return recall_line(questions @ notes.T, clusters)


def recall_line(scores: Tensor, clusters: Sequence[Cluster]) -> str:
    """R@1, 5 and 10 by the scores of all notes for all questions."""
    best = scores.topk(min(10, scores.shape[1]), dim=1).indices.tolist()
    shares: dict[int, list[float]] = {1: [], 5: [], 10: []}
    row = start = 0
    for one in clusters:
        for places in one.wanted:
            wanted = {start + at for at in places}
            for most, values in shares.items():
                values.append(len(wanted & {*best[row][:most]}) / len(wanted))
            row += 1
        start += len(one.notes)
    return "   ".join(
        f"R@{most} {torch.tensor(values).mean():.3f}" for most, values in shares.items()
    )
