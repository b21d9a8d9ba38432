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


def left_out(at: int) -> bool:
    """Whether the notebook or group at this place is never trained on: every tenth."""
    return at % 10 == 7


def lines(*paths: Path) -> Iterator[dict[str, Any]]:
    """The rows of files, one JSON object a line."""
    for path in paths:
        for line in path.read_text(encoding="utf-8").splitlines():
            yield json.loads(line)


def notebooks(folder: Path = HERE) -> tuple[list[Notebook], list[Question], set[int]]:
    """All notebooks and questions, and which notebooks are left out of training."""
    books: list[Notebook] = []
    questions: list[Question] = []
    held_out: set[int] = set()
    extra = {row["cluster"]: row["unanswerable"] for row in lines(folder / "unanswerable.jsonl")}
    for kind in ("pairs", "firstweek"):
        for at, row in enumerate(lines(*sorted((folder / kind).glob("*.jsonl")))):
            if kind == "firstweek" and left_out(at):
                held_out.add(len(books))
            book, own = notebook(row, len(books))
            questions += own
            questions += [Question(text, len(books), ()) for text in extra.get(row["cluster"], ())]
            books.append(book)
    return books, questions, held_out


def notebook(row: dict[str, Any], number: int) -> tuple[Notebook, list[Question]]:
    """One notebook and its questions, those that it cannot answer last."""
    place = {note["id"]: at for at, note in enumerate(row["notes"])}
    book = Notebook(
        tuple(note["text"] for note in row["notes"]),
        tuple(tuple(note.get("tags") or ()) for note in row["notes"]),
    )
    questions = [
        Question(one["q"], number, tuple(place[key] for key in one["want"]))
        for one in row["questions"]
    ]
    return book, questions + [Question(text, number, ()) for text in row.get("unanswerable", ())]


def own_notes(path: Path = HERE.parent / "bench" / "own_notes.json") -> dict[str, Any]:
    """The benchmark of Co's own kind of notes as a row of notebooks; never trained on."""
    data = json.loads(path.read_text(encoding="utf-8"))
    return {
        "notes": [
            {"id": note["key"], "text": note["content"], "tags": note["tags"]}
            for note in data["notes"]
        ],
        "questions": [{"q": one["ask"], "want": one["want"]} for one in data["questions"]],
        "unanswerable": data["off_topic"],
    }


def groups(folder: Path = HERE) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The groups of updates to train on, and those left out."""
    rows = list(enumerate(lines(*sorted((folder / "updates").glob("*.jsonl")))))
    train = [row for at, row in rows if not left_out(at)]
    return train, [row for at, row in rows if left_out(at)]


def group_pairs(row: dict[str, Any]) -> list[Pair]:
    """What is said of one note, as pairs."""
    return [Pair(row["old"], text, n) for n, name in enumerate(RELATIONS) for text in row[name]]


def scenes(folder: Path = HERE) -> tuple[list[list[str]], list[Statement], set[int]]:
    """Notebooks of thirteen notes, what was typed later, and which notebooks are left out."""
    books: list[list[str]] = []
    statements: list[Statement] = []
    for at, row in enumerate(lines(*sorted((folder / "scenes").glob("*.jsonl")))):
        books.append(row["notes"])
        for one in row["said"]:
            label = 0 if one["updates"] else 1 if one["same"] else 2
            note = [*one["updates"], *one["same"], -1][0]
            statements.append(Statement(one["text"], at, note, label))
    return books, statements, {at for at in range(len(books)) if left_out(at)}


_SWAPS = [
    "monday tuesday wednesday thursday friday saturday sunday".split(),
    "january february march april june july august september october november december".split(),
]


def swap_value(text: str, chance: random.Random) -> str | None:
    """The text with a weekday, a month or a digit that it did not have."""
    places = [
        (match, [name for name in names if name != match[0].lower()])
        for names in _SWAPS
        for match in re.finditer(rf"\b(?:{'|'.join(names)})\b", text, re.IGNORECASE)
    ]
    places += [
        (match, [digit for digit in "123456789" if digit != match[0]])
        for match in re.finditer(r"\d", text)
    ]
    if not places:
        return None
    match, others = chance.choice(places)
    other = chance.choice(others)
    other = other.title() if match[0][0].isupper() else other
    return text[: match.start()] + other + text[match.end() :]


class Scenes:
    """Small notebooks with what was typed later; `near` has a statement's notes, nearest first."""

    def __init__(self, folder: Path = HERE) -> None:
        self.books, statements, held_out = scenes(folder)
        self.train = [one for one in statements if one.notebook not in held_out]
        self.held_out = [one for one in statements if one.notebook in held_out]
        self.near: dict[Statement, list[int]] = {}


class Pairs:
    """Pairs in the shares that training wants."""

    def __init__(self, chance: random.Random, folder: Path = HERE) -> None:
        self.chance = chance
        train, self.held_out = groups(folder)
        self.groups = [group_pairs(row) for row in train]
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

    def _draw(self, name: str, source: Sequence[Any]) -> Any:
        """The next of these at random; none comes again before all have come."""
        queue = self._queues.setdefault(name, [])
        if not queue:
            queue.extend(source)
            self.chance.shuffle(queue)
        return queue.pop()

    def step(self) -> list[Pair]:
        """A mixture: what is said of a note, replacements, and facts in other words."""
        chance = self.chance
        pairs = [self._draw("groups", self.flat) for _ in range(56)]
        for _ in range(8):
            pair = self._draw("unrelated", self.flat)
            old = chance.choice(self.groups)[0].old
            if old != pair.old:
                pairs.append(Pair(old, pair.new, 2))
        pairs += [self._draw("replacements", self.replacements) for _ in range(12)]
        for _ in range(32):
            row = self._draw("same", self.same)
            fact, other = row["fact"], chance.choice(row["same"])
            old, new = chance.sample((fact, other), 2)
            pairs.append(Pair(old, new, 1))
            old, new = chance.sample((fact, chance.choice(row["other"])), 2)
            pairs.append(Pair(old, new, NOT_SAME))
            if (text := swap_value(other, chance)) and chance.random() < 0.2:
                pairs.append(Pair(fact, text, NOT_SAME))
        return pairs

    def lists(self, near: dict[str, list[int]], scenes: Scenes) -> list[tuple[bool, list[Pair]]]:
        """Statements, each with six notes, and whether the first of these is what it is about.

        `near` are the groups whose notes are nearest to a statement.
        """
        rows = []
        for label, many in ((0, 6), (1, 1), (2, 1)):
            for _ in range(many):
                at, pair = self._draw(f"list {label}", self.labelled[label])
                close = [n for n in near[pair.new][:12] if n != at]
                others = self.chance.sample(close, 3 if label < 2 else 4)
                others += self.chance.choices([n for n in range(len(self.groups)) if n != at], k=2)
                rest = [Pair(self.groups[n][0].old, pair.new, 2) for n in others]
                # Whether a statement is about a note that it leaves be was not labelled.
                rows.append((True, [pair, *rest]) if label < 2 else (False, rest))
        for _ in range(6):
            one = self._draw("scenes", scenes.train)
            notes = scenes.books[one.notebook]
            close = [n for n in scenes.near[one] if n != one.note]
            others = [*close[:2], *self.chance.sample(close[2:], 4)][: 6 - (one.note >= 0)]
            rest = [Pair(notes[n], one.text, 2) for n in others]
            own = [Pair(notes[one.note], one.text, one.label)] if one.note >= 0 else []
            rows.append((bool(own), own + rest))
        return rows


def sentences(folder: Path = HERE) -> tuple[list[Sentence], list[Sentence]]:
    """The labelled lines to train on, and a tenth that is left out."""
    relabelled = {row["text"]: row for row in lines(folder / "turns_relabelled.jsonl")}
    by_text: dict[str, Sentence] = {}
    for row in lines(folder / "turns.jsonl", *sorted(folder.glob("turns_more*.jsonl"))):
        if row["text"] in by_text:
            continue
        if row.get("want") == "nothing":
            row |= {**relabelled.get(row["text"], {}), **row}
        if (one := sentence(row)) is not None:
            by_text[one.text] = one
    held_out = {text for text in by_text if random.Random(text).random() < 0.1}
    train = [one for text, one in by_text.items() if text not in held_out]
    return train, [by_text[text] for text in sorted(held_out)]


def sentence(row: dict[str, Any]) -> Sentence | None:
    """A line by the labels that it has; None where it does not even have a kind."""
    text, want = row["text"], row.get("want")
    kind = row.get("kind") or KIND_OF.get(want or "")
    if kind is None:
        return None
    span = row.get("span") or ("" if kind != "ask" else text)
    at = text.find(span) if span else -1
    lasting = row.get("lasting") if kind == "tell" or want is None else None
    if want is not None and want != "nothing" and kind in ("tell", "correct"):
        lasting = True if want != "amend" else None
    signal = want if want in SIGNALS else row.get("signal")
    personal = row.get("mine", row.get("personal"))
    if want == "nothing" and kind != "tell":
        personal = None
    return Sentence(
        text,
        KINDS.index(kind),
        WANTS.index(want) if want else -1,
        (at, at + len(span)) if at >= 0 else None,
        lasting,
        SIGNALS.index(signal) if signal else -1,
        personal,
    )


def everyday(path: Path) -> list[Sentence]:
    """The everyday lines of the tests, with the labels that are measured."""
    return [
        Sentence(
            row["text"],
            KINDS.index(row["kind"]),
            -1,
            None,
            row["lasting"] if row["kind"] == "tell" else None,
            SIGNALS.index(row["signal"]) if row.get("signal") else -1,
            row["personal"] if row["kind"] in ("tell", "ask", "correct") else None,
        )
        for row in lines(path)
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
        lambda match: f"User {match[1] or ''}{match[2]}s",
        text,
    )
    text = re.sub(r"\b[Mm]y\b", "the user's", text)
    text = re.sub(r"\b(?:I|i)\b", "user", text)
    return re.sub(r"\bme\b", "the user", text)
