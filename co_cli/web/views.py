"""What the page shows: lists, answers, a note with its history, drafts, the archive.

Each takes the state and what is asked, and gives plain values. Changes nothing.
"""

from collections.abc import Sequence
from datetime import date, timedelta
from html import escape as as_text
from typing import Any

import nh3
from markdown_it import MarkdownIt

from co_cli.errors import NotFound, RefusedText
from co_cli.knowledge import Filters, Hit, Note, Notebook
from co_cli.knowledge.inbox import plan_accept
from co_cli.knowledge.pages import ARTICLES, INBOX, MEMORIES
from co_cli.knowledge.safety.escape import difference, escape
from co_cli.knowledge.search.places import parts
from co_cli.knowledge.store import Entry, disk, previous
from co_cli.results import above_text, draft_text, hit_ref, outdated
from co_cli.verbs import labels
from co_cli.web.state import Asked, Row, State, written
from co_cli.web.updates import find_matches, question

_PAGE, _ANSWERS, _GONE = 60, 15, 200  # rows of a list, answers to a question, rows of the archive
_MOST = 1200  # rows of a list that are drawn again
_MANY = 300  # answers among which some are looked for
_LONG = 200_000  # characters; a longer text is not rendered, which would take seconds
_WORDS = {
    "related": ("related to", "related to"),
    "supersedes": ("replaces", "replaced by"),
    "updates": ("updates", "updated by"),
    "unconfirmed": ("maybe updates", "maybe updated by"),
}


def start(state: State, asked: Asked) -> Row:
    """All that the first sight of the page needs: the newest notes, and what there is."""
    there = {
        "version": state.version,
        "project": state.workspace.project,
        "foreign": state.workspace.trust.foreign,
    }
    pending = {"drafts": len(state.seen.drafts), "pairs": len(state.seen.unconfirmed)}
    return listed(state, asked) | there | state.seen.facets | pending


def listed(state: State, asked: Asked) -> Row:
    """The notes that fit the filters, newest first, a page of them."""
    every, at = state.seen.by.values(), asked.number("from")
    found = [pair for pair in every if _fits(state, asked, *pair)] if any(asked) else [*every]
    many = min(max(_PAGE, asked.number("many")), _MOST)
    return {"count": len(found), "rows": state.rows(found[at : at + many])}


def _fits(state: State, asked: Asked, book: Notebook, note: Note) -> bool:
    """Whether a note is among those that are asked for; what costs most is asked last."""
    marked = asked["state"]
    has = {"protected": note.protected, "pinned": note.pinned, "outside": note.external}
    return (
        asked["kind"] in ("", note.kind)
        and asked["scope"] in ("", book.scope)
        and asked["tag"] in ("", *note.tags)
        and asked["category"] in ("", note.category)
        and note.created[:10] >= _since(book, asked)
        and has.get(marked, True)
        and (marked != "stale" or _is_stale(state, book, note))
    )


def _is_stale(state: State, book: Notebook, note: Note) -> bool:
    return state.called(book, note) in state.seen.updates or bool(outdated(book, note))


def _since(book: Notebook, asked: Asked) -> str:
    days = min(asked.number("days"), 36500)
    return (date.fromisoformat(book.today()) - timedelta(days=days)).isoformat() if days else ""


def search(state: State, asked: Asked) -> Row:
    """The notes that answer, best first, with the passage, the words in it and the reason."""
    tags, since = tuple(filter(None, [asked["tag"]])), _since(state.shelf.project, asked)
    filters = Filters(asked["kind"], tags, since, sensitive=state.sensitive)
    most = _MANY if asked["category"] or asked["state"] else _ANSWERS  # which recall cannot tell
    fast = bool(asked["fast"])  # while somebody types
    found = state.shelf.recall(asked["q"][:1000], most, filters, scope=asked["scope"], fast=fast)
    fitting = [pair for pair in found if _fits(state, asked, pair[0], pair[1].note)]
    shown = {note.path for _, hit in fitting for note in (hit.note, hit.updated_by) if note}
    kept = [pair for pair in found if pair[1].note.path in shown][:_ANSWERS]
    rows = state.rows([(book, hit.note) for book, hit in kept])
    told = [row | _hit(state, *pair) for row, pair in zip(rows, kept, strict=True)]
    lacks = [one.reason for one in found.degraded]
    return {"count": len(told), "most": _ANSWERS, "rows": told, "degraded": lacks}


def _hit(state: State, book: Notebook, hit: Hit) -> Row:
    text, pieces, at = hit.passage or hit.note.body, list[tuple[str, int]](), 0
    for start, end in hit.marks:
        pieces += [(text[at:start], 0), (text[start:end], 1)]
        at = end
    ref = state.seen.label.get(hit.note.path) or hit_ref(book, hit)
    told = {"ref": ref, "anchor": hit.anchor, "above": above_text(hit)}
    told |= {
        name: state.called(state.shelf.holding(newer), newer)
        for name in ("updated_by", "maybe_updated_by")
        if (newer := getattr(hit, name)) and not state.hides(newer)
    }
    return told | {
        "passage": [*pieces, (text[at:], 0)], "why": hit.why, "weak": hit.weak,
        "earlier": hit.updated_by is not None,
    }  # fmt: skip


def note(state: State, asked: Asked) -> Row:
    """A note whole: rendered, as it is stored, its links, and what happened to it.

    What nobody here agreed to is not rendered, nor what is very long.
    """
    book, one = state.find(asked["ref"])
    (row,) = state.rows([(book, one)])
    here, rendered = row["ref"], not row["untrusted"] and len(one.body) <= _LONG
    unconfirmed = [
        (*(state.called(holder, one) for one in pair), "unconfirmed")
        for holder, *pair in state.seen.unconfirmed
    ]
    links = {b if a == here else a: _WORDS[how][b == here]
             for a, b, how in (*state.seen.links, *unconfirmed) if here in (a, b)}  # fmt: skip
    near = state.rows([state.seen.by[other] for other in links])
    passages = [
        {"anchor": part.anchor, "heading": part.own, "text": part.text}
        | {"html": to_html(part.text) if rendered else ""}
        for part in (parts(one) if one.kind == "article" and not row["untrusted"] else ())
    ]
    mine = [entry for at, entry in state.seen.journal if at is book]
    touched = [e for e in mine if one.file in [file["path"] for file in e.files]]
    return row | written(one) | {
        "html": to_html(one.body) if rendered and not passages else "",
        "content": one.body,
        "passages": passages,
        "header": [(name, str(value)) for name, value in one.meta.items()],
        "links": [other | {"how": links[other["ref"]]} for other in near],
        "history": [{"n": e.n, "op": e.op, "by": e.actor, "at": e.at} for e in touched],
    }  # fmt: skip


def diff(state: State, asked: Asked) -> Row:
    """What one change did to a note, as the lines of a diff."""
    book, one = state.find(asked["ref"])
    n, after = asked.number("n"), one.raw
    for entry in (entry for at, entry in state.seen.journal if at is book):
        for file in (file for file in entry.files if file["path"] == one.file):
            before = None if file["before"] is None else previous(book.store, entry.n, file)
            if entry.n == n:
                lines = difference(before, after, one.name).split("\n")[2:]
                return {"lines": lines, "edited": disk.digest(after) != file["after"]}
            after = before or b""
    raise NotFound(f"change {n} did not touch this note")


def inbox(state: State, _: Asked) -> Row:
    """The drafts that wait, oldest first."""
    found = state.seen.drafts
    told = [written(one) | {"told": draft_text(book, one)} for book, one in found]
    return {"rows": [row | more for row, more in zip(state.rows(found), told, strict=True)]}


def meets(state: State, asked: Asked) -> Row:
    """What accepting a draft would ask: what says the same, what it updates, why it may not be."""
    book, draft = state.find(asked["ref"])
    try:
        plan = plan_accept(book, draft, actor="")
    except RefusedText as error:
        return {"same": "", "verdict": "", "matches": [], "refused": error.sentence()}
    same = plan.saved.ref if plan.saved.action == "consolidated" else ""
    matches = find_matches(state, plan, draft.body, corrects=book.corrected(draft))
    return {"same": same, "refused": "", **question(state, book, plan, matches)}


def changes(state: State, asked: Asked) -> Row:
    """What changed in the notebooks, newest first, a page of it, and whether it still stands."""
    journal, at = state.seen.journal, asked.number("from")
    undone = set[tuple[str, int]]()
    for book, entry in journal:
        if entry.undoes and (book.scope, entry.n) not in undone:
            undone.add((book.scope, entry.undoes))
    rows = [
        {"n": e.n, "op": e.op, "by": e.actor, "at": e.at, "scope": book.scope, "undoes": e.undoes}
        | {"undone": (book.scope, e.n) in undone, "notes": _touched(state, book, e)}
        for book, e in journal[at : at + _PAGE]
    ]
    return {"count": len(journal), "rows": rows}


def _touched(state: State, book: Notebook, entry: Entry) -> list[Row]:
    """The notes that a change was about; of what is not shown here, the number alone."""
    told = []
    for path in dict.fromkeys(str(file["path"]) for file in entry.files):
        folder, _, name = path.partition("/")
        if label := state.seen.label.get(book.store.locate(path)):
            told.append({"ref": label, "summary": state.seen.by[label][1].summary})
        elif folder in (MEMORIES, ARTICLES, INBOX):
            number = name.partition("-")[0].lstrip("0")
            known = f"memory {number}" if number.isdecimal() else "a memory"
            kind = {MEMORIES: known, ARTICLES: "an article", INBOX: "a draft"}[folder]
            told.append({"ref": "", "summary": kind})
    return told


def archived(state: State) -> dict[str, tuple[Notebook, Note, Row]]:
    """The notes that may come back, by what the page calls them, and when each left and why."""
    gone = [(book, *pair) for book in state.shelf for pair in book.archived()]
    when = {one.path: {"op": entry.op, "at": entry.at} for _, entry, one in gone}
    named = labels([(book, one) for book, _, one in gone if not state.hides(one)])
    return {label: (*pair, when[pair[1].path]) for label, pair in named.items()}


def archive(state: State, _: Asked) -> Row:
    """The archive, newest first."""
    gone = sorted(archived(state).items(), key=lambda one: str(one[1][2]["at"]), reverse=True)
    rows = zip(state.rows([(book, one) for _, (book, one, _) in gone[:_GONE]]), gone, strict=False)
    return {"rows": [row | when | {"ref": label} for row, (label, (_, _, when)) in rows]}


# Stored text as HTML that runs nothing and loads nothing: rendered, then sanitised

_TAGS = "a blockquote br code em h1 h2 h3 h4 h5 h6 hr li ol p pre s strong table tbody td th thead"


def _picture(_self: Any, tokens: Sequence[Any], at: int, *_: Any) -> str:
    """A picture as a link: the page fetches nothing from anywhere."""
    source = str(tokens[at].attrs.get("src") or "")
    return f'<a href="{as_text(source)}">{as_text(tokens[at].content or source)}</a>'


_reader = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
_reader.add_render_rule("image", _picture)


def to_html(text: str) -> str:
    """A text's markdown as HTML; HTML in it is text, and a link leads outside or nowhere."""
    return nh3.clean(
        _reader.render(escape(text)), tags={*_TAGS.split(), "tr", "ul"},
        attributes={"a": {"href", "title"}, "ol": {"start"}}, url_relative="deny",
        set_tag_attribute_values={"a": {"target": "_blank"}},
        url_schemes={"http", "https", "mailto"}, link_rel="noopener noreferrer nofollow",
    )  # fmt: skip
