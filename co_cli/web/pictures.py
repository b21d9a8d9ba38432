"""What the page draws and counts: the notebook over time, how notes relate, what is used, health.

Gives numbers; the page makes pictures of them.
"""

from collections import Counter

import numpy as np

from co_cli.knowledge import doctor
from co_cli.knowledge.evaluation import evaluate
from co_cli.knowledge.pages import MEMORIES
from co_cli.knowledge.use import last_used
from co_cli.web.state import Asked, Row, State

_POINTS = 1500  # notes of the map, the newest


def pictures(state: State, _: Asked) -> Row:
    """Everything that is drawn."""
    return {"changes": _changes(state), "map": _map(state), "use": _use(state)}


def _changes(state: State) -> list[tuple[str, str, int, int]]:
    """The day and the verb of every change, and how many memories it made and took away."""
    told = []
    for _, entry in state.seen.journal:
        files = [file for file in entry.files if file["path"].startswith(MEMORIES)]
        new, gone = (sum(file[side] is None for file in files) for side in ("before", "after"))
        told.append((entry.at[:10], entry.op, new, gone))
    return told


def _map(state: State) -> Row:
    """Where notes lie when their meaning is laid flat, near to what they resemble; and links."""
    vectors = {
        book.store.locate(name if "/" in name else f"{MEMORIES}/{name}"): vector
        for book in state.shelf
        for name, vector in book.search.vectors().items()
    }
    found = [pair for pair in state.seen.by.items() if pair[1][1].path in vectors][:_POINTS]
    if len(found) < 3:
        return {"points": [], "links": []}
    raw = np.array([np.frombuffer(vectors[n.path], np.int8) for _, (_, n) in found], np.float32)
    raw /= np.linalg.norm(raw, axis=1, keepdims=True) + 1e-9
    raw -= raw.mean(axis=0)
    flat = raw @ np.linalg.eigh(raw.T @ raw)[1][:, :-3:-1]  # the two ways in which they differ most
    points = [
        {"ref": label, "summary": n.summary, "category": n.category, "x": x, "y": y}
        for (label, (_, n)), (x, y) in zip(found, flat.tolist(), strict=True)
    ]
    at = {label: number for number, (label, _) in enumerate(found)}
    links = [(at[a], at[b]) for a, b, _ in state.seen.links if a in at and b in at]
    return {"points": points, "links": links}


def _use(state: State) -> Row:
    """On which day notes were last recalled into an answer, and which were the last."""
    use, notes = last_used(), [*state.seen.by.values()]
    last = sorted(notes, key=lambda pair: use.rank(pair[1]))[:-11:-1]
    told = [pair for pair in last if use.of(pair[1])[:1].isdigit()]
    return {"days": Counter(use.of(note)[:10] for _, note in notes), "last": state.rows(told)}


def health(state: State, _: Asked) -> Row:
    """What is wrong with files and indexes, and how well notes are found."""
    problems = [problem for book in state.shelf for problem in doctor.diagnose(book)]
    books = [book for book in state.shelf if book.store.exists()]
    states = [{"scope": b.scope, "state": b.search.compare().text} for b in books]
    return {"problems": [*map(state.problem, problems)], "indexes": states}


def evaluation(state: State, _: Asked) -> Row:
    """How well the notes serve, by the numbers of `co knowledge eval`."""
    seen, told = state.seen.by.keys(), evaluate(state.shelf)
    shown = [[ref for ref in one.refs if seen >= {*ref.split()}] for one in told]
    rows = [one._asdict() | {"refs": refs} for one, refs in zip(told, shown, strict=True)]
    return {"rows": rows}
