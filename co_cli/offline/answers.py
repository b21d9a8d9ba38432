"""What a question finds in the notes and in the session's files, quoted as it stands."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from co_cli import logs, results
from co_cli.deps import CoDeps
from co_cli.knowledge import Hit, Note, Notebook
from co_cli.knowledge.format.note import now, timestamp
from co_cli.knowledge.search.hits import Filters
from co_cli.knowledge.use import used
from co_cli.offline.files import Files, Passage
from co_cli.tools.listing import took_in

NOTHING = "Nothing about that yet."
_CLOSEST = "Closest notes:"
_SHOWN, _SEARCHED = 3, 5
_LONGEST = 1000  # characters of one quote


class Quote(NamedTuple):
    """One note or passage, as a person reads it, and the same for a program."""

    text: str
    rows: Sequence[Mapping[str, Any]]
    weak: bool
    score: float
    note: Note | None = None


class Answer(NamedTuple):
    """What is said to a question, and the quotes in it, best first."""

    text: str
    quotes: list[Quote]


def answer(deps: CoDeps, files: Files, query: str) -> Answer:
    """The best quote alone where it surely answers, else the closest few."""
    with deps.notebooks() as shelf:
        wanted = Filters(sensitive=deps.sensitive)
        scope = "" if deps.usable() else "user"
        hits = shelf.recall(query, _SEARCHED, wanted, scope=scope, own=deps.gated)
        quotes = [_quote(book, hit, hits) for book, hit in hits if not _is_earlier(hit, hits)]
    quotes += [_passage(part) for part in files.search(query)]
    quotes.sort(key=lambda one: (one.weak, -one.score))  # of equals, notes come first
    sure = [one for one in quotes if not one.weak][:1]
    shown = sure or quotes[:_SHOWN]
    notes = [one.note for one in shown if one.note]
    took_in(deps, notes)
    for note in notes:
        logs.log_note("recalled", note)
    used([one.note for one in sure if one.note], timestamp(now()))
    if sure or not shown:
        return Answer(sure[0].text if sure else NOTHING, shown)
    return Answer("\n\n".join([_CLOSEST, *(one.text for one in shown)]), shown)


def quoted(book: Notebook, note: Note, text: str = "", *remarks: str, ref: str = "") -> str:
    """A note's words, and below them its number, place and date."""
    text = text or note.body
    if len(text) > _LONGEST:
        text = f"{text[:_LONGEST]}… (/show {book.ref(note)} shows all of it)"
    about = [place(book, note), results.span(note), results.outside_text(note)]
    about += [*results.outdated(book, note), *remarks]
    return f"{text}\n  [{ref or book.ref(note)}] {', '.join(filter(None, about))}"


def place(book: Notebook, note: Note) -> str:
    """Where a note is, in words."""
    if note.language:
        return f"for {note.language}"
    return {"project": "this project", "user": "your notebook"}.get(book.label, book.label)


def _quote(book: Notebook, hit: Hit, hits: list[tuple[Notebook, Hit]]) -> Quote:
    remark = results.update_text(book, hit)
    text = "\n".join(filter(None, [results.above_text(hit), hit.text]))
    lines = [quoted(book, hit.note, text, remark, ref=results.hit_ref(book, hit))]
    earlier = [(other, old) for other, old in hits if old.updated_by == hit.note]
    lines += [f"earlier: {quoted(other, old.note, old.text)}" for other, old in earlier]
    if (newer := hit.maybe_updated_by) is not None:  # a note of the same notebook
        lines.append(f"maybe newer: {quoted(book, newer)}")
    rows = [results.hit_json(*pair) for pair in ((book, hit), *earlier)]
    return Quote("\n".join(lines), rows, hit.weak, hit.score, hit.note)


def _is_earlier(hit: Hit, hits: list[tuple[Notebook, Hit]]) -> bool:
    return hit.updated_by in [other.note for _, other in hits]


def _passage(part: Passage) -> Quote:
    row = {"ref": part.name, "kind": "file", "content": part.text, "weak": False}
    return Quote(f"{part.text[:_LONGEST]}\n  {part.name}", [row], False, part.score)
