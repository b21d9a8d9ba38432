"""How well the reader reads what it was not trained on: notebooks, updates, rewordings, lines."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from model import load
from mpnet import Reader
from reader_data import (
    HERE,
    KINDS,
    SIGNALS,
    Notebook,
    Question,
    Sentence,
    lines,
    of_group,
)
from torch import Tensor
from torch.nn import functional

if TYPE_CHECKING:
    from reader import Course

BLEND = 8.0  # what a cosine weighs beside the reader's score


def noticed(updates: np.ndarray, others: np.ndarray, share: float = 0.05) -> float:
    """How many updates score above all but that share of the rest."""
    line = np.sort(others)[::-1][int(len(others) * share)]
    return float((updates > line).mean())


def auc(yes: np.ndarray, no: np.ndarray) -> float:
    return float((yes[:, None] > no).mean()) if len(yes) and len(no) else float("nan")


def relation_figures(course: Course, rows: Sequence[dict[str, Any]]) -> dict[str, float]:
    """How well updates are told from restatements and the rest, alone and among thirteen notes."""
    pairs = [pair for row in rows for pair in of_group(row)]
    likely = (
        course.read([course.cut.pair(p.old, p.new) for p in pairs], "relation")
        .softmax(1)
        .cpu()
        .numpy()
    )
    labels = np.array([pair.label for pair in pairs])
    score = np.log(likely[:, 0] + 1e-9) - np.log(1 - likely[:, 0] + 1e-9)
    found = {
        "noticed at .05": noticed(score[labels == 0], score[labels == 2]),
        "noticed at .05 of same and other": noticed(score[labels == 0], score[labels != 0]),
        "same known at .05": noticed(likely[labels == 1, 1], likely[labels != 1, 1]),
        "right label": float((likely.argmax(1) == labels).mean()),
    }
    return found


class Typed(NamedTuple):
    """A statement's scores with each note of a notebook, the one that it is about first."""

    kind: str  # of the first note; `none` where it is about none
    updates: np.ndarray
    about: np.ndarray


def among_thirteen(course: Course, rows: Sequence[dict[str, Any]]) -> list[Typed]:
    """Each statement of the groups with its own note and twelve of other groups."""
    chance = random.Random(13)
    asked: list[tuple[str, list[str], str]] = []
    for at, row in enumerate(rows):
        beside = [one["old"] for one in chance.sample([*rows[:at], *rows[at + 1 :]], 12)]
        for kind in ("updates", "same", "other"):
            asked += [(kind, [row["old"], *beside], text) for text in row[kind]]
    return scored(course, asked)


def in_scenes(course: Course) -> list[Typed]:
    """Each statement of the notebooks left out with all notes of its notebook."""
    asked = []
    for one in course.scenes.held:
        notes = list(course.scenes.books[one.notebook])
        if one.note >= 0:
            notes.insert(0, notes.pop(one.note))
        kind = ("updates", "same", "none")[one.label]
        asked.append((kind, notes, one.text))
    return scored(course, asked)


def scored(course: Course, asked: Sequence[tuple[str, list[str], str]]) -> list[Typed]:
    rows = [course.cut.pair(note, text) for _, notes, text in asked for note in notes]
    likely, about = course.heads(course.means(rows), "relation", "about")
    likely = likely.log_softmax(1)
    odds = (likely[:, 0] - torch.logsumexp(likely[:, 1:], 1)).cpu().numpy()
    near = about[:, 0].cpu().numpy()
    found, at = [], 0
    for kind, notes, _ in asked:
        found.append(Typed(kind, odds[at : at + len(notes)], near[at : at + len(notes)]))
        at += len(notes)
    return found


def shares(typed: Sequence[Typed], weight: float, line: float, least: float) -> list[float]:
    """Of the likeliest note: updates named, restatements, the rest; an unrelated note named.

    A note is named where its odds and `weight` times whether it is meant come above `line`, and
    the latter above `least`.
    """
    totals = dict.fromkeys(("updates", "same", "other", "none"), 0)
    named, wrong = dict(totals), 0
    for one in typed:
        totals[one.kind] += 1
        both = one.updates + weight * one.about
        best = int(both.argmax())
        if both[best] > line and one.about[best] > least:
            if best == 0 and one.kind != "none":
                named[one.kind] += 1
            else:
                wrong += 1
    found = [named[kind] / max(1, totals[kind]) for kind in ("updates", "same", "other")]
    return [*found, wrong / len(typed)]


def policies(sets: dict[str, list[Typed]]) -> dict[str, Any]:
    """The best line for each weight on what was left out, and what it gives elsewhere."""
    fit = [one for name, typed in sets.items() if "left out" in name for one in typed]
    found: dict[str, Any] = {}
    for weight in (0.0, 0.5, 1.0, 2.0):
        for least in (-99.0, -3.0, -2.0, -1.0, 0.0, 1.0):
            best: tuple[float, float] | None = None
            for line in np.arange(-6, 8, 0.25):
                got = shares(fit, weight, float(line), least)
                if got[3] <= 0.05 and got[1] <= 0.10:
                    best = (got[0], float(line))
                    break
            if best:
                found[f"weight {weight}, least {least}, line {best[1]}"] = {
                    name: [round(x, 3) for x in shares(typed, weight, best[1], least)]
                    for name, typed in sets.items()
                }
    ranked = sorted(
        found.items(), key=lambda item: -sum(row[0] for row in item[1].values())
    )
    return dict(ranked[:6])


def answer_figures(
    course: Course,
    books: Sequence[Notebook],
    asked: Sequence[Question],
    cosines: dict[Question, list[float]],
    most: int = 8,
) -> dict[str, float]:
    """The right note first or among three, and how well the best score tells if there is one."""
    rows, spans = [], []
    for one in asked:
        order = sorted(range(len(cosines[one])), key=lambda at: -cosines[one][at])[:most]
        spans.append((len(rows), order))
        rows += [course.cut.pair(one.text, books[one.notebook].notes[at]) for at in order]
    scores = course.read(rows, "answers")[:, 0].tolist()
    first = three = near = many = 0
    right, wrong, nothing = [], [], []
    for one, (start, order) in zip(asked, spans, strict=True):
        both = sorted(
            (
                (scores[start + n] + BLEND * cosines[one][at], scores[start + n], at)
                for n, at in enumerate(order)
            ),
            reverse=True,
        )
        if not one.wanted:
            nothing.append(both[0][1])
            continue
        many += 1
        near += order[0] in one.wanted
        first += both[0][2] in one.wanted
        three += any(at in one.wanted for _, _, at in both[:3])
        (right if both[0][2] in one.wanted else wrong).append(both[0][1])
    found = {
        "questions": many,
        "cosine first": near / max(1, many),
        "first": first / max(1, many),
        "among three": three / max(1, many),
    }
    if nothing:
        answered, none = np.array(right + wrong), np.array(nothing)
        found["AUC"] = auc(answered, none)
        for share in (0.5, 0.6, 0.7):
            line = np.quantile(answered, 1 - share)
            sure_right = (np.array(right) >= line).sum()
            sure = sure_right + (np.array(wrong) >= line).sum() + (none >= line).sum()
            found[f"sure {share}: right, nothing told as sure, line"] = [
                round(float(x), 3) for x in (sure_right / sure, (none >= line).mean(), line)
            ]  # type: ignore[assignment]
    return found


def intent_figures(course: Course, some: Sequence[Sentence]) -> dict[str, float]:
    """How often each label of a sentence is read as it was given."""
    rows = [course.cut.placed(one.text)[0] for one in some]
    found = {}
    kind = course.read(rows, "kind").argmax(1).tolist()
    found["kind"] = float(np.mean([k == one.kind for k, one in zip(kind, some, strict=True)]))
    for name in ("want", "signal"):
        best = course.read(rows, name).argmax(1).tolist()
        told = [
            b == getattr(one, name)
            for b, one in zip(best, some, strict=True)
            if getattr(one, name) >= 0
        ]
        found[name] = float(np.mean(told)) if told else float("nan")
    for name in ("lasting", "personal"):
        best = (course.read(rows, name)[:, 0] > 0).tolist()
        told = [
            b == getattr(one, name)
            for b, one in zip(best, some, strict=True)
            if getattr(one, name) is not None
        ]
        found[name] = float(np.mean(told)) if told else float("nan")
    wrong: dict[str, int] = {}
    for k, one in zip(kind, some, strict=True):
        if k != one.kind:
            name = f"{KINDS[one.kind]} as {KINDS[k]}"
            wrong[name] = wrong.get(name, 0) + 1
    found["wrong"] = dict(sorted(wrong.items(), key=lambda item: -item[1])[:8])  # type: ignore[assignment]
    return found


def every_figure(course: Course, label: str) -> None:
    """All figures on what was left out, one line each."""

    def say(name: str, found: dict[str, Any]) -> None:
        shown = {
            key: round(value, 3) if isinstance(value, float) else value
            for key, value in found.items()
        }
        print(f"{label:10} {name}: {json.dumps(shown)}", flush=True)

    say(
        "first weeks left out",
        answer_figures(course, course.books, course.held_asked, course.near.cosines),
    )
    own = json.loads((HERE.parent / "bench" / "own_notes.json").read_text(encoding="utf-8"))
    say("own notes", outside_figures(course, own_book(own)))
    tests = HERE.parent / "tests" / "data"
    weeks = lines(tests / "firstweek_fresh.jsonl")
    say("fresh first weeks", outside_figures(course, *[fresh(row) for row in weeks]))
    say("updates left out", relation_figures(course, course.pairs.held))
    fresh_rows = list(lines(tests / "updates_fresh.jsonl"))
    say("fresh updates", relation_figures(course, fresh_rows))
    sets = {
        "groups left out": among_thirteen(course, course.pairs.held),
        "fresh groups": among_thirteen(course, fresh_rows),
        "scenes left out": in_scenes(course),
    }
    for name, row in policies(sets).items():
        print(f"{label:10} among 13 notes (updates, same, other, unrelated): {name}: {row}")
    found = {}
    for half in ("open", "held"):
        rows = list(lines(tests / f"rewordings_{half}.jsonl"))
        known = [
            (row["fact"], text, yes)
            for row in rows
            for yes, key in ((1, "same"), (0, "other"))
            for text in row[key]
        ]
        both = [
            course.read(
                [course.cut.pair(*(p[:2] if way else p[1::-1])) for p in known], "relation"
            ).softmax(1)[:, 1]
            for way in (0, 1)
        ]
        score = ((both[0] + both[1]) / 2).cpu().numpy()
        labels = np.array([p[2] for p in known])
        found[half] = noticed(score[labels == 1], score[labels == 0], 0.02)
    say("rewordings known at .02", found)
    rows = list(lines(tests / "replacements_fresh.jsonl"))
    likely = (
        course.read([course.cut.pair(r["old"], r["new"]) for r in rows], "relation")
        .softmax(1)[:, 0]
        .cpu()
        .numpy()
    )
    replaces = np.array([r["label"] == "replaces" for r in rows])
    say("replacements fresh", {"at .05": noticed(likely[replaces], likely[~replaces])})
    say("intent, a tenth left out", intent_figures(course, course.held_sentences))
    for name in ("everyday_open", "everyday_held"):
        some = [labelled(row) for row in lines(tests / f"{name}.jsonl")]
        say(name, intent_figures(course, some))


def labelled(row: dict[str, Any]) -> Sentence:
    signal = SIGNALS.index(row["signal"]) if row.get("signal") else -1
    personal = row["personal"] if row["kind"] in ("tell", "ask", "correct") else None
    lasting = row["lasting"] if row["kind"] == "tell" else None
    return Sentence(row["text"], KINDS.index(row["kind"]), -1, None, lasting, signal, personal)


def own_book(data: dict[str, Any]) -> tuple[Notebook, list[tuple[str, tuple[int, ...]]]]:
    place = {note["key"]: at for at, note in enumerate(data["notes"])}
    asked = []
    for one in data["questions"]:
        want = [one["want"]] if isinstance(one["want"], str) else one["want"]
        asked.append((one["ask"], tuple(place[key] for key in want)))
    nothing = [(text, ()) for text in data.get("off_topic", data.get("strange", []))]
    return Notebook(tuple(n["content"] for n in data["notes"]), ((),) * len(place)), asked + nothing


def fresh(row: dict[str, Any]) -> tuple[Notebook, list[tuple[str, tuple[int, ...]]]]:
    place = {note["id"]: at for at, note in enumerate(row["notes"])}
    asked = [(one["q"], tuple(place[key] for key in one["want"])) for one in row["questions"]]
    asked += [(text, ()) for text in row.get("unanswerable", ())]
    return Notebook(tuple(note["text"] for note in row["notes"]), ((),) * len(place)), asked


BASE_VECTORS: list[Any] = []


def outside_figures(
    course: Course, *sets: tuple[Notebook, list[tuple[str, tuple[int, ...]]]]
) -> dict[str, float]:
    """The figures of notebooks that are no part of the data."""
    asked, cosines = [], {}
    for number, (book, questions) in enumerate(sets):
        notes = BASE_VECTORS[0](list(book.notes))
        vectors = BASE_VECTORS[0]([text for text, _ in questions])
        for (text, wanted), row in zip(questions, (vectors @ notes.T).tolist(), strict=True):
            one = Question(text, number, wanted)
            asked.append(one)
            cosines[one] = row
    return answer_figures(course, [book for book, _ in sets], asked, cosines)


def remember_base(course: Course, base: Path) -> None:
    """Keep the untrained base, whose vectors choose what is read."""
    named = base / "model.safetensors"
    model = Reader(load(named if named.exists() else base / "base.npz")).to(course.device).eval()

    def vectors(texts: Sequence[str]) -> Tensor:
        rows = [course.cut.one(text) for text in texts]
        with torch.no_grad(), torch.autocast(course.device.type, torch.bfloat16):
            return functional.normalize(model.means(rows, 65536).float(), dim=1)

    BASE_VECTORS[:] = [vectors]
