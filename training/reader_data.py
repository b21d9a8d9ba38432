"""What the reader learns from: questions with their notes, pairs of texts, labelled sentences."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from co_cli.knowledge.meaning.reader import KINDS, SIGNALS

HERE = Path(__file__).resolve().parent
HELD = 10  # every so manyth notebook and group, and a tenth of the sentences, is never trained on
RELATIONS = ("updates", "same", "other")
NOT_SAME = -2  # it updates or leaves be, whichever
WANTS = (
    "keep",
    "preference",
    "decision",
    "pattern",
    "context",
    "correct",
    "amend",
    "forget",
    "restore",
    "undo",
    "list",
    "count",
    "about_me",
    "changes",
    "help",
    "who",
    "greet",
    "recall",
    "earlier",
    "followup",
    "nothing",
)
KIND_OF = {
    "keep": "tell",
    "preference": "tell",
    "decision": "tell",
    "pattern": "tell",
    "context": "tell",
    "correct": "correct",
    "amend": "correct",
    "forget": "forget",
    "restore": "restore",
    "undo": "undo",
    "list": "list",
    "count": "list",
    "about_me": "list",
    "changes": "changes",
    "help": "help",
    "who": "help",
    "greet": "other",
    "recall": "ask",
    "earlier": "ask",
    "followup": "ask",
}


class Question(NamedTuple):
    """A question, the notes of its notebook, and which of them answer it (none may)."""

    text: str
    notebook: int
    wanted: tuple[int, ...]


class Notebook(NamedTuple):
    """Notes that lie beside each other, with their tags."""

    notes: tuple[str, ...]
    tags: tuple[tuple[str, ...], ...]


class Pair(NamedTuple):
    """An old and a new text, and what the new one means for the old."""

    old: str
    new: str
    label: int


class Statement(NamedTuple):
    """A text typed later, the one note of its notebook that it is about, and what it means for it.

    `note` is -1 where it is about none.
    """

    text: str
    notebook: int
    note: int
    label: int


class Sentence(NamedTuple):
    """A typed line and its labels; None or -1 where one was not given."""

    text: str
    kind: int
    want: int
    span: tuple[int, int] | None
    lasting: bool | None
    signal: int
    personal: bool | None


def lines(*paths: Path) -> Iterator[dict[str, Any]]:
    for path in paths:
        for line in path.read_text(encoding="utf-8").splitlines():
            yield json.loads(line)


def notebooks(folder: Path = HERE) -> tuple[list[Notebook], list[Question], set[int]]:
    """All notebooks and questions, and which notebooks are left out of training."""
    books: list[Notebook] = []
    asked: list[Question] = []
    held: set[int] = set()
    extra = {row["cluster"]: row["unanswerable"] for row in lines(folder / "unanswerable.jsonl")}
    for kind in ("pairs", "firstweek"):
        for at, row in enumerate(lines(*sorted((folder / kind).glob("*.jsonl")))):
            number = len(books)
            if kind == "firstweek" and at % HELD == HELD - 3:
                held.add(number)
            books.append(
                Notebook(
                    tuple(note["text"] for note in row["notes"]),
                    tuple(tuple(note.get("tags") or ()) for note in row["notes"]),
                )
            )
            place = {note["id"]: n for n, note in enumerate(row["notes"])}
            asked += [
                Question(one["q"], number, tuple(place[key] for key in one["want"]))
                for one in row["questions"]
            ]
            nothing = [*row.get("unanswerable", ()), *extra.get(row["cluster"], ())]
            asked += [Question(text, number, ()) for text in nothing]
    return books, asked, held


def groups(folder: Path = HERE) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The groups of updates to train on, and those left out."""
    every = list(lines(*sorted((folder / "updates").glob("*.jsonl"))))
    held = [row for at, row in enumerate(every) if at % HELD == HELD - 3]
    return [row for at, row in enumerate(every) if at % HELD != HELD - 3], held


def of_group(row: dict[str, Any]) -> list[Pair]:
    return [Pair(row["old"], text, n) for n, name in enumerate(RELATIONS) for text in row[name]]


def scenes(folder: Path = HERE) -> tuple[list[list[str]], list[Statement], set[int]]:
    """Notebooks of thirteen notes, what was typed later, and which notebooks are left out."""
    books: list[list[str]] = []
    typed: list[Statement] = []
    rows = list(lines(*sorted((folder / "scenes").glob("*.jsonl"))))
    for at, row in enumerate(rows):
        books.append(row["notes"])
        for one in row["said"]:
            label = 0 if one["updates"] else 1 if one["same"] else 2
            [note] = [*one["updates"], *one["same"]][:1] or [-1]
            typed.append(Statement(one["text"], at, note, label))
    return books, typed, {at for at in range(len(rows)) if at % HELD == HELD - 3}


_SWAPS = [
    "monday tuesday wednesday thursday friday saturday sunday".split(),
    "january february march april june july august september october november december".split(),
]


def swapped(text: str, chance: random.Random) -> str | None:
    """The text with a weekday, a month or a digit that it did not have."""
    places = [
        (found, [one for one in names if one != found[0].lower()])
        for names in _SWAPS
        for found in re.finditer(rf"\b(?:{'|'.join(names)})\b", text, re.IGNORECASE)
    ]
    places += [
        (found, [d for d in "123456789" if d != found[0]]) for found in re.finditer(r"\d", text)
    ]
    if not places:
        return None
    found, others = chance.choice(places)
    other = chance.choice(others)
    return (
        text[: found.start()]
        + (other.title() if found[0][0].isupper() else other)
        + text[found.end() :]
    )


class Pairs:
    """Pairs in the shares that training wants."""

    def __init__(self, chance: random.Random, folder: Path = HERE) -> None:
        self.chance = chance
        train, self.held = groups(folder)
        self.groups = [of_group(row) for row in train]
        self.flat = [pair for group in self.groups for pair in group]
        self.labelled = [
            [
                (at, pair)
                for at, group in enumerate(self.groups)
                for pair in group
                if pair.label == n
            ]
            for n in range(len(RELATIONS))
        ]
        self.same = list(lines(folder / "same.jsonl"))
        self.replacements = [
            Pair(row["old"], row["new"], 0 if row["label"] == "replaces" else 2)
            for row in lines(folder / "replacements.jsonl")
        ]
        self._queues: dict[str, list[Any]] = {}

    def _next(self, name: str, source: Sequence[Any]) -> Any:
        queue = self._queues.setdefault(name, [])
        if not queue:
            queue.extend(source)
            self.chance.shuffle(queue)
        return queue.pop()

    def step(self) -> list[Pair]:
        """A mixture: what is said of a note, replacements, and facts in other words."""
        chance = self.chance
        found = [self._next("groups", self.flat) for _ in range(56)]
        for _ in range(8):
            pair = self._next("unrelated", self.flat)
            old = chance.choice(self.groups)[0].old
            if old != pair.old:
                found.append(Pair(old, pair.new, 2))
        found += [self._next("replacements", self.replacements) for _ in range(12)]
        for _ in range(32):
            row = self._next("same", self.same)
            fact, other = row["fact"], chance.choice(row["same"])
            found.append(Pair(*chance.sample((fact, other), 2), 1))
            old, new = chance.sample((fact, chance.choice(row["other"])), 2)
            found.append(Pair(old, new, NOT_SAME))
            if (text := swapped(other, chance)) and chance.random() < 0.2:
                found.append(Pair(fact, text, NOT_SAME))
        return found

    def lists(self, near: dict[str, list[int]], scenes: Scenes) -> list[tuple[bool, list[Pair]]]:
        """Statements, each with six notes, and whether the first of these is what it is about.

        `near` are the groups whose notes are nearest to a statement.
        """
        found = []
        for label, many in ((0, 6), (1, 1), (2, 1)):
            for _ in range(many):
                at, pair = self._next(f"list {label}", self.labelled[label])
                close = [n for n in near[pair.new][:12] if n != at]
                others = self.chance.sample(close, 3 if label < 2 else 4)
                others += self.chance.choices([n for n in range(len(self.groups)) if n != at], k=2)
                rest = [Pair(self.groups[n][0].old, pair.new, 2) for n in others]
                # Whether a statement is about a note that it leaves be was not labelled.
                found.append((True, [pair, *rest]) if label < 2 else (False, rest))
        for _ in range(6):
            one = self._next("scenes", scenes.train)
            notes = scenes.books[one.notebook]
            close = [n for n in scenes.near[one] if n != one.note]
            others = [*close[:2], *self.chance.sample(close[2:], 4)][: 6 - (one.note >= 0)]
            rest = [Pair(notes[n], one.text, 2) for n in others]
            own = [Pair(notes[one.note], one.text, one.label)] if one.note >= 0 else []
            found.append((bool(own), own + rest))
        return found


class Scenes:
    """Small notebooks with what was typed later; `near` has a statement's notes, nearest first."""

    def __init__(self, folder: Path = HERE) -> None:
        self.books, typed, held = scenes(folder)
        self.train = [one for one in typed if one.notebook not in held]
        self.held = [one for one in typed if one.notebook in held]
        self.near: dict[Statement, list[int]] = {}


def sentences(folder: Path = HERE) -> tuple[list[Sentence], list[Sentence]]:
    """The labelled lines to train on, and a tenth that is left out."""
    relabelled = {row["text"]: row for row in lines(folder / "turns_relabelled.jsonl")}
    found: dict[str, Sentence] = {}
    more = sorted(folder.glob("turns_more*.jsonl"))
    for row in lines(folder / "turns.jsonl", *more):
        text, want = row["text"], row.get("want")
        if want == "nothing":
            row |= {**relabelled.get(text, {}), **row}
        kind = row.get("kind") or KIND_OF.get(want or "")
        if kind is None or text in found:
            continue
        meant = row.get("span") or ("" if kind != "ask" else text)
        at = text.find(meant) if meant else -1
        lasting = row.get("lasting") if kind == "tell" or want is None else None
        if want is not None and want != "nothing" and kind in ("tell", "correct"):
            lasting = True if want != "amend" else None
        signal = row.get("signal")
        if want in SIGNALS:
            signal = want
        personal = row.get("mine", row.get("personal"))
        if want == "nothing" and kind != "tell":
            personal = None
        found[text] = Sentence(
            text,
            KINDS.index(kind),
            WANTS.index(want) if want else -1,
            (at, at + len(meant)) if at >= 0 else None,
            lasting,
            SIGNALS.index(signal) if signal else -1,
            personal,
        )
    held = {text for text in found if random.Random(text).random() < 1 / HELD}
    return [one for text, one in found.items() if text not in held], [
        found[text] for text in sorted(held)
    ]


_VERBS = (
    "prefer like love hate use want need keep drink eat run write work live take have own drive "
    "play sleep read wear buy pay plan start sit cook bake teach speak hold deploy test ship "
    "review commit push lead manage maintain host store avoid".split()
)


def third_person(text: str) -> str:
    """A note as an assistant would have stored it; only for notes that training reads."""
    text = re.sub(r"\bI'm\b|\bI am\b|\bim\b", "User is", text)
    text = re.sub(r"\bI've\b|\bI have\b", "User has", text)
    text = re.sub(
        rf"\b[Ii] ((?:always|never|usually|really|only|mostly) )?({'|'.join(_VERBS)})\b",
        lambda found: f"User {found[1] or ''}{found[2]}s",
        text,
    )
    text = re.sub(r"\b[Mm]y\b", "the user's", text)
    text = re.sub(r"\b(?:I|i)\b", "user", text)
    return re.sub(r"\bme\b", "the user", text)
