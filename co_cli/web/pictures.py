"""What the page draws and counts: the notebook over time, how notes relate, what is used, health.

Gives numbers; the page makes pictures of them.
"""

from collections import Counter, defaultdict
from datetime import date, timedelta

import numpy as np

from co_cli.knowledge import doctor
from co_cli.knowledge.evaluation import evaluate
from co_cli.knowledge.pages import MEMORIES
from co_cli.knowledge.use import last_used
from co_cli.web.desk import Asked, Desk, Row

_WEEKS, _POINTS = 52, 1500  # weeks that are told, and notes of the map, the newest
_LINES = {"decay": "decayed", "merge": "merged", "summarize": "merged", "consolidate": "merged",
          "forget": "forgotten"}  # fmt: skip


def pictures(desk: Desk, _: Asked) -> Row:
    """Everything that is drawn."""
    return {"weeks": _weeks(desk), "map": _map(desk), "use": _use(desk)}


def _weeks(desk: Desk) -> list[Row]:
    """How many notes each week saved, merged, decayed and forgot, by the journal; oldest first."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for _, entry in desk.seen.journal:
        day = date.fromisoformat(entry.at[:10])
        week = (day - timedelta(days=day.weekday())).isoformat()
        files = [file for file in entry.files if file["path"].startswith(MEMORIES)]
        new = sum(file["before"] is None for file in files)
        kind = _LINES.get(entry.op, "saved" if new and not entry.undoes else "")
        gone = sum(file["after"] is None for file in files)
        counts[week][kind] += new if kind == "saved" else gone or 1
    told = sorted(counts)[-_WEEKS:]
    return [
        {"week": week, **{kind: n for kind, n in counts[week].items() if kind}} for week in told
    ]


def _map(desk: Desk) -> Row:
    """Where notes lie when their meaning is laid flat, near to what they resemble; and links."""
    vectors = {
        book.store.locate(name if "/" in name else f"{MEMORIES}/{name}"): vector
        for book in desk.shelf
        for name, vector in book.search.vectors().items()
    }
    found = [pair for pair in desk.seen.by.items() if pair[1][1].path in vectors][:_POINTS]
    if len(found) < 3:
        return {"points": [], "links": []}
    raw = np.array([np.frombuffer(vectors[n.path], np.int8) for _, (_, n) in found], np.float32)
    raw /= np.linalg.norm(raw, axis=1, keepdims=True) + 1e-9
    raw -= raw.mean(axis=0)
    flat = raw @ np.linalg.eigh(raw.T @ raw)[1][:, :-3:-1]  # the two ways in which they differ most
    low, high = np.percentile(flat, [2, 98], axis=0)
    places = np.clip((flat - low) / (high - low + 1e-9), -0.02, 1.02) * 1000
    points = [
        {"ref": label, "summary": n.summary, "category": n.category, "x": round(x), "y": round(y)}
        for (label, (_, n)), (x, y) in zip(found, places.tolist(), strict=True)
    ]
    at = {label: number for number, (label, _) in enumerate(found)}
    links = [(at[a], at[b]) for a, b, _ in desk.seen.links if a in at and b in at]
    return {"points": points, "links": links}


def _use(desk: Desk) -> Row:
    """When notes were last recalled into an answer: how many of each age, and the last ones."""
    use, today = last_used(), desk.shelf.project.today()
    when = [(use.of(note), pair) for pair in desk.seen.by.values() if (note := pair[1])]
    days = {"this week": 7, "this month": 31, "this year": 366}
    since = {name: str(date.fromisoformat(today) - timedelta(days=n)) for name, n in days.items()}
    told = Counter(
        at
        if at in ("never", "unknown")
        else next((k for k, d in since.items() if at >= d), "older")
        for at, _ in when
    )
    last = sorted((one for one in when if one[0][:1].isdigit()), key=lambda one: one[0])[:-11:-1]
    return {"counts": told, "last": desk.rows([pair for _, pair in last])}


def health(desk: Desk, _: Asked) -> Row:
    """What is wrong with files and indexes, and how well notes are found."""
    problems = [problem for book in desk.shelf for problem in doctor.diagnose(book)]
    names = [n.path for b in desk.shelf for n in (*b.look().notes, *b.articles()) if desk.hides(n)]
    told = ["(marked sensitive)" if one.path in names else str(one) for one in problems]
    books = [book for book in desk.shelf if book.store.exists()]
    states = [{"scope": b.scope, "state": b.search.compare().text} for b in books]
    return {"problems": told, "indexes": states}


def evaluation(desk: Desk, _: Asked) -> Row:
    """How well the notes serve, by the numbers of `co knowledge eval`."""
    known = desk.seen.by
    rows = [one._asdict() | {"refs": [r for r in one.refs if r in known]} for one in
            evaluate(desk.shelf)]  # fmt: skip
    return {"rows": rows}
