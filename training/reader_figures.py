"""How well the reader reads what it was not trained on: notebooks, updates, rewordings, lines."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from nearest import Embed, by_nearness, cosines
from reader_data import (
    HERE,
    KINDS,
    Notebook,
    Question,
    Sentence,
    everyday,
    group_pairs,
    lines,
    notebook,
    own_notes,
)

if TYPE_CHECKING:
    from reader import Course

BLEND = 8.0  # what a cosine weighs beside the reader's score
TESTS = HERE.parent / "tests" / "data"
Array = np.ndarray[Any, Any]
Books = tuple[list[Notebook], list[Question], dict[Question, list[float]]]
Row = dict[str, Any]


def noticed(right: Array, wrong: Array, share: float = 0.05) -> float:
    """How much of what is right scores above all but that share of what is wrong."""
    line = np.sort(wrong)[::-1][int(len(wrong) * share)]
    return float((right > line).mean())


def auc(yes: Array, no: Array) -> float:
    """How often what is right scores above what is wrong."""
    return float((yes[:, None] > no).mean()) if len(yes) and len(no) else float("nan")


def relation_figures(course: Course, rows: Sequence[Row]) -> Row:
    """How well updates are told from restatements and the rest, each with its own note."""
    pairs = [pair for row in rows for pair in group_pairs(row)]
    likely = relation_shares(course, [(pair.old, pair.new) for pair in pairs])
    labels = np.array([pair.label for pair in pairs])
    updates = likely[:, 0]
    return {
        "noticed at .05": noticed(updates[labels == 0], updates[labels == 2]),
        "noticed at .05 of same and other": noticed(updates[labels == 0], updates[labels != 0]),
        "same noticed at .05": noticed(likely[labels == 1, 1], likely[labels != 1, 1]),
        "right label": float((likely.argmax(1) == labels).mean()),
    }


def relation_shares(course: Course, pairs: Sequence[tuple[str, str]]) -> Array:
    """The probabilities of the relations of pairs."""
    rows = [course.tokenizer.pair(old, new) for old, new in pairs]
    shares: Array = course.read(rows, "relation").double().softmax(1).cpu().numpy()
    return shares


class Scored(NamedTuple):
    """A statement's scores with each note of a notebook, the one that it is about first."""

    kind: str  # of the first note; `none` where it is about none
    updates: Array
    about: Array


def among_thirteen(course: Course, rows: Sequence[Row]) -> list[Scored]:
    """Each statement of the groups with its own note and twelve of other groups."""
    chance = random.Random(13)
    typed: list[tuple[str, list[str], str]] = []
    for at, row in enumerate(rows):
        others = [*rows[:at], *rows[at + 1 :]]
        beside = [one["old"] for one in chance.sample(others, min(12, len(others)))]
        for kind in ("updates", "same", "other"):
            typed += [(kind, [row["old"], *beside], text) for text in row[kind]]
    return scored(course, typed)


def in_scenes(course: Course) -> list[Scored]:
    """Each statement of the notebooks left out with all notes of its notebook."""
    typed = []
    for one in course.scenes.held_out:
        notes = list(course.scenes.books[one.notebook])
        if one.note >= 0:
            notes.insert(0, notes.pop(one.note))
        kind = ("updates", "same", "none")[one.label]
        typed.append((kind, notes, one.text))
    return scored(course, typed)


def scored(course: Course, typed: Sequence[tuple[str, list[str], str]]) -> list[Scored]:
    """Statements with the scores of each of these notes."""
    rows = [course.tokenizer.pair(note, text) for _, notes, text in typed for note in notes]
    relation, about = course.heads(course.means(rows), "relation", "about")
    likely = relation.log_softmax(1)
    odds = (likely[:, 0] - torch.logsumexp(likely[:, 1:], 1)).cpu().numpy()
    near = about[:, 0].cpu().numpy()
    ends = np.cumsum([len(notes) for _, notes, _ in typed])[:-1]
    parts = zip(typed, np.split(odds, ends), np.split(near, ends), strict=True)
    return [Scored(kind, *both) for (kind, _, _), *both in parts]


def shares(statements: Sequence[Scored], weight: float, line: float, least: float) -> list[float]:
    """Of the likeliest note: updates named, restatements, the rest; an unrelated note named.

    A note is named where its odds and `weight` times whether it is meant come above `line`, and
    the latter above `least`.
    """
    totals = dict.fromkeys(("updates", "same", "other", "none"), 0)
    counts, unrelated = dict(totals), 0
    for one in statements:
        totals[one.kind] += 1
        both = one.updates + weight * one.about
        best = int(both.argmax())
        if both[best] > line and one.about[best] > least:
            if best == 0 and one.kind != "none":
                counts[one.kind] += 1
            else:
                unrelated += 1
    of_kind = [counts[kind] / max(1, totals[kind]) for kind in ("updates", "same", "other")]
    return [*of_kind, unrelated / len(statements)]


def policies(sets: dict[str, list[Scored]]) -> dict[str, Row]:
    """The best line for each weight on what was left out, and what it gives elsewhere."""
    fit = [one for name, some in sets.items() if "left out" in name for one in some]
    rows: dict[str, Row] = {}
    for weight in (0.0, 0.5, 1.0, 2.0):
        for least in (-99.0, -3.0, -2.0, -1.0, 0.0, 1.0):
            line = lowest_line(fit, weight, least)
            if line is not None:
                rows[f"weight {weight}, least {least}, line {line}"] = {
                    name: [round(x, 3) for x in shares(some, weight, line, least)]
                    for name, some in sets.items()
                }
    ranked = sorted(rows.items(), key=lambda item: -sum(row[0] for row in item[1].values()))
    return dict(ranked[:6])


def lowest_line(fit: Sequence[Scored], weight: float, least: float) -> float | None:
    """The line from which on few restatements and unrelated notes are named."""
    for line in np.arange(-6, 8, 0.25):
        _, same, _, unrelated = shares(fit, weight, float(line), least)
        if unrelated <= 0.05 and same <= 0.10:
            return float(line)
    return None


def answer_figures(course: Course, books: Books, most: int = 8) -> Row:
    """The right note first or among three, and how well the best score tells if there is one."""
    notebooks, questions, nearness = books
    orders = [by_nearness(nearness[one])[:most] for one in questions]
    rows = [
        course.tokenizer.pair(one.text, notebooks[one.notebook].notes[at])
        for one, order in zip(questions, orders, strict=True)
        for at in order
    ]
    scores = iter(course.read(rows, "answers")[:, 0].tolist())
    near = first = three = 0
    right: list[float] = []
    wrong: list[float] = []
    nothing: list[float] = []
    for one, order in zip(questions, orders, strict=True):
        own = {at: next(scores) for at in order}
        ranked = sorted(order, key=lambda at: -own[at] - BLEND * nearness[one][at])
        best, score = ranked[0], own[ranked[0]]
        if not one.wanted:
            nothing.append(score)
            continue
        near += order[0] in one.wanted
        first += best in one.wanted
        three += any(at in one.wanted for at in ranked[:3])
        (right if best in one.wanted else wrong).append(score)
    many = len(right) + len(wrong)
    return {
        "questions": many,
        "cosine first": near / many,
        "first": first / many,
        "among three": three / many,
        **sure_figures(np.array(right), np.array(wrong), np.array(nothing)),
    }


def sure_figures(right: Array, wrong: Array, nothing: Array) -> Row:
    """What is right among the sure answers, where so much of what has an answer is sure."""
    answered = np.concatenate([right, wrong])
    figures: Row = {"AUC": auc(answered, nothing)}
    for share in (0.5, 0.6, 0.7):
        line = np.quantile(answered, 1 - share)
        sure_right, sure_nothing = (right >= line).sum(), (nothing >= line).sum()
        sure = sure_right + (wrong >= line).sum() + sure_nothing
        figures[f"sure {share}: right, nothing answered as sure, line"] = [
            round(float(x), 3) for x in (sure_right / sure, sure_nothing / len(nothing), line)
        ]
    return figures


def intent_figures(course: Course, some: Sequence[Sentence]) -> Row:
    """How often each label of a sentence is read as it was given."""
    means = course.means([course.tokenizer.with_places(one.text)[0] for one in some])
    names = ("kind", "want", "signal", "lasting", "personal")
    scores = dict(zip(names, course.heads(means, *names), strict=True))
    figures: Row = {}
    for name in ("kind", "want", "signal"):
        best = scores[name].argmax(1).tolist()
        labels = [getattr(one, name) for one in some]
        figures[name] = share_right(
            [(b, at) for b, at in zip(best, labels, strict=True) if at >= 0]
        )
    for name in ("lasting", "personal"):
        yes = (scores[name][:, 0] > 0).tolist()
        flags = [getattr(one, name) for one in some]
        figures[name] = share_right(
            [(y, flag) for y, flag in zip(yes, flags, strict=True) if flag is not None]
        )
    wrong: dict[str, int] = {}
    for kind, one in zip(scores["kind"].argmax(1).tolist(), some, strict=True):
        if kind != one.kind:
            name = f"{KINDS[one.kind]} as {KINDS[kind]}"
            wrong[name] = wrong.get(name, 0) + 1
    figures["wrong"] = dict(sorted(wrong.items(), key=lambda item: -item[1])[:8])
    return figures


def share_right(pairs: Sequence[tuple[Any, Any]]) -> float:
    """How many of these pairs are equal."""
    return sum(one == other for one, other in pairs) / len(pairs) if pairs else float("nan")


def rewordings_noticed(course: Course, half: str) -> float:
    """How many rewordings of a fact are noticed, by the mean of both orders."""
    pairs = [
        (row["fact"], text, key == "same")
        for row in lines(TESTS / f"rewordings_{half}.jsonl")
        for key in ("same", "other")
        for text in row[key]
    ]
    one_way = relation_shares(course, [(fact, text) for fact, text, _ in pairs])[:, 1]
    other_way = relation_shares(course, [(text, fact) for fact, text, _ in pairs])[:, 1]
    score, same = (one_way + other_way) / 2, np.array([same for *_, same in pairs])
    return noticed(score[same], score[~same], 0.02)


def outside_sets(embed: Embed) -> dict[str, Books]:
    """Notebooks that are no part of the data, by the base's vectors."""
    sets: dict[str, Books] = {}
    fresh = list(lines(TESTS / "firstweek_fresh.jsonl"))
    for name, rows in (("own notes", [own_notes()]), ("fresh first weeks", fresh)):
        both = [notebook(row, number) for number, row in enumerate(rows)]
        books, questions = [book for book, _ in both], [one for _, some in both for one in some]
        sets[name] = (books, questions, cosines(embed, books, questions))
    return sets


def print_figures(course: Course, label: str) -> None:
    """All figures on what was left out, one line each."""

    def show(name: str, row: Row) -> None:
        values = {
            key: round(value, 3) if isinstance(value, float) else value
            for key, value in row.items()
        }
        print(f"{label:10} {name}: {json.dumps(values)}", flush=True)

    held_out = (course.books, course.held_out_questions, course.cosines)
    for name, books in ({"first weeks left out": held_out} | course.outside_sets).items():
        show(name, answer_figures(course, books))
    fresh = list(lines(TESTS / "updates_fresh.jsonl"))
    show("updates left out", relation_figures(course, course.pairs.held_out))
    show("fresh updates", relation_figures(course, fresh))
    sets = {
        "groups left out": among_thirteen(course, course.pairs.held_out),
        "fresh groups": among_thirteen(course, fresh),
        "scenes left out": in_scenes(course),
    }
    for name, row in policies(sets).items():
        print(f"{label:10} among 13 notes (updates, same, other, unrelated): {name}: {row}")
    halves = {half: rewordings_noticed(course, half) for half in ("open", "held")}
    show("rewordings noticed at .02", halves)
    rows = list(lines(TESTS / "replacements_fresh.jsonl"))
    likely = relation_shares(course, [(row["old"], row["new"]) for row in rows])[:, 0]
    replaces = np.array([row["label"] == "replaces" for row in rows])
    show("replacements fresh", {"at .05": noticed(likely[replaces], likely[~replaces])})
    show("intent, a tenth left out", intent_figures(course, course.held_out_sentences))
    for half in ("open", "held"):
        some = everyday(TESTS / f"everyday_{half}.jsonl")
        show(f"everyday lines, {half}", intent_figures(course, some))
