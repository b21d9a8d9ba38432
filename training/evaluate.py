"""How often the wanted note is among the first few, by meaning alone."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import torch
from model import Cluster, Texts
from torch import Tensor, nn

OWN = Path(__file__).resolve().parent.parent / "bench" / "own_notes.json"


def own_notes(*, tags: bool = True) -> list[Cluster]:
    """The benchmark of Co's own kind of notes, as one cluster. Looked at, never trained on."""
    data = json.loads(OWN.read_text(encoding="utf-8"))
    notes = [
        {"id": note["key"], "text": note["content"], "tags": note["tags"] if tags else []}
        for note in data["notes"]
    ]
    questions = [
        {"q": one["ask"], "want": [one["want"]] if isinstance(one["want"], str) else one["want"]}
        for one in data["questions"]
    ]
    return [Cluster({"notes": notes, "questions": questions})]


def figures(texts: Texts, asked: nn.Module, noted: nn.Module, every: Sequence[Cluster]) -> str:
    """R@1, 5 and 10 over all notes of these clusters together."""
    notes = texts.encode(noted, [text for one in every for text in one.notes])
    questions = texts.encode(asked, [text for one in every for text in one.questions])
    return shares(questions @ notes.T, every)


def shares(scores: Tensor, every: Sequence[Cluster]) -> str:
    """R@1, 5 and 10 by the scores of all notes for all questions."""
    best = scores.topk(min(10, scores.shape[1]), dim=1).indices.tolist()
    found: dict[int, list[float]] = {1: [], 5: [], 10: []}
    row = start = 0
    for one in every:
        for want in one.wanted:
            wanted = {start + at for at in want}
            for most, shares in found.items():
                shares.append(len(wanted & {*best[row][:most]}) / len(wanted))
            row += 1
        start += len(one.notes)
    return "   ".join(
        f"R@{most} {torch.tensor(shares).mean():.3f}" for most, shares in found.items()
    )
