"""co recall: find notes. Loads nothing that writes."""

import os
import re
import sys
from collections import Counter
from collections.abc import Sequence
from datetime import date, timedelta
from shlex import quote
from typing import Any

import click

from co_cli.cli.options import as_json, complete_tag, in_user, open_here
from co_cli.cli.output import (
    columns,
    has_colour,
    notice,
    notice_shared,
    notice_unread,
    paint,
    say,
    styled,
    to_json,
    warn,
)
from co_cli.knowledge import Filters, Hit, Notebook, Recall
from co_cli.knowledge.format.note import now, timestamp
from co_cli.knowledge.use import used
from co_cli.results import (
    above_text,
    age,
    hit_json,
    hit_ref,
    marks,
    outside_text,
    plural,
    span,
    update_text,
)

_Found = Sequence[tuple[Notebook, Hit]]
_LIMIT, _FAINT = 10, 3  # answers that are shown at most, and weak ones beside better
_ROWS = 12  # of an article's passage on a terminal


def _day(_ctx: click.Context, option: click.Parameter, text: str) -> str:
    """The day a text names: 2026-02-09, a month or year, or so long ago: 30d, 2w, 6m, 1y.

    As the end of a span, a month or year ends with its last day.
    """
    text = text.strip().lower()
    if match := re.fullmatch(r"(\d{1,4})([dwmy])", text):
        days = int(match[1]) * {"d": 1, "w": 7, "m": 30, "y": 365}[match[2]]
        today = date.fromisoformat(timestamp(now())[:10])
        return (today - timedelta(days=min(days, 700_000))).isoformat()
    if text and not re.fullmatch(r"\d{4}(-\d\d(-\d\d)?)?", text):
        raise click.BadParameter("use 2026-02-09, 2026-02, 2026 or 30d")
    return f"{text}-99" if option.name == "until" and 0 < len(text) < 10 else text


@click.command("recall")
@click.argument("query", nargs=-1, required=True)
@click.option(
    "-n", "--limit", type=click.IntRange(1, 1000), help="Show at most this many; 10 by default."
)
@click.option("--kind", type=click.Choice(["memory", "article"]), help="Only this kind of note.")
@click.option("-t", "--tag", "tags", multiple=True, help="Only notes with this tag; repeatable.",
              shell_complete=complete_tag)  # fmt: skip
@click.option("--since", default="", callback=_day,
              help="Only notes since this date: 2026-02-09, 2026-02, 30d ago.")  # fmt: skip
@click.option("--until", default="", callback=_day, help="Only notes up to this date.")
@click.option("--scope", type=click.Choice(["all", "project", "user"]), default="all",
              show_default=True, help="Notebooks to search.")  # fmt: skip
@in_user
@click.option("--fast", is_flag=True, help="Leave the reader out; quicker, less sure.")
@click.option("--explain", is_flag=True, help="Show how each result was ranked.")
@as_json
def recall_command(query: tuple[str, ...], in_user: bool, as_json: bool, **options: Any) -> None:
    """Find notes that answer QUERY, in this project and in your own notebook."""
    text = " ".join(query).strip()
    if not text:
        raise click.UsageError("What should Co look for? For example: co recall deploy")
    workspace = open_here()
    filters = Filters(options["kind"] or "", options["tags"], options["since"], options["until"])
    scope = "user" if in_user else options["scope"].replace("all", "")
    limit = options["limit"] or _LIMIT
    found = workspace.shelf.recall(text, limit, filters, scope=scope, fast=options["fast"])
    untrusted = workspace.untrusted(hit.note for book, hit in found if book.scope == "project")
    used([hit.note for _, hit in found if not hit.weak], timestamp(now()))
    degraded = sorted(trouble.reason for trouble in found.degraded)
    if as_json:
        results = [
            hit_json(book, hit)
            | {"trusted": hit.note.path not in untrusted}
            | ({"explain": hit.features} if options["explain"] else {})
            for book, hit in found
        ]
        counts = {"query": text, "count": len(results), "matched": found.matched}
        to_json(counts | {"degraded": degraded, "results": results})
        return
    shown = found if options["limit"] else _not_faint(found)
    for book, hit in shown:
        mark = "untrusted folder" if workspace.trust.foreign else "came with git, not approved"
        _say_hit(book, hit, mark if hit.note.path in untrusted else "", options["explain"])
    if len(found) > len(shown):
        left = plural(len(found) - len(shown), "weaker match")
        notice(f"{left} left out; for all: -n {len(found)}")
    elif found.matched > len(found) == limit:
        notice(f"{plural(found.matched - limit, 'more match')}; for all: -n {found.matched}")
    notice_shared(book.ref(hit.note) for book, hit in shown if hit.note.kind == "memory")
    warn(*degraded)
    _say_rest(text, found, filters != Filters() or bool(scope))


def _not_faint(found: _Found) -> _Found:
    good = [pair for pair in found if not pair[1].weak]
    weak = [pair for pair in found if pair[1].weak]
    return good + weak[: 0 if any(hit.score == 1.0 for _, hit in good) else _FAINT]


def _say_hit(book: Notebook, hit: Hit, untrusted: str, explain: bool) -> None:
    note = hit.note
    old = age(note.created, book.today())
    head = [
        styled(hit_ref(book, hit), "ref"),
        styled(span(note) + (f" ({old})" if old else "")),
        styled(f"[{', '.join(note.tags)}]" if note.tags else ""),
        styled(marks(book, note)),
        "yours" if book.label == "user" else "",
        untrusted,
        styled(outside_text(note)),
        styled(update_text(book, hit)),
        styled(f"({'weak; ' if hit.weak else ''}{hit.why})", "dim"),
    ]
    paint("  ".join(filter(None, head)))
    if above := above_text(hit):
        paint(styled(above, "dim"), "    ")
    passage = hit.passage or note.body
    shown = _cut(passage) if note.kind == "article" else passage
    paint(_marked(shown, hit.marks) + "\n" if has_colour() else styled(shown), "    ")
    if hit.also:
        paint(styled(_cut(f"Also {hit.also.placed}"), "dim"), "    ")
    if len(passage) < len(note.body):
        notice(f"    ... part of a longer note: co knowledge show {quote(book.ref(note))}")
    if explain:
        parts = sorted(hit.features.items(), key=lambda part: -abs(part[1]))
        say("    ranked by: " + ", ".join(f"{name} {value:+.2f}" for name, value in parts))


def _cut(text: str) -> str:
    """As much of an article as leaves room for other answers on a screen; all of it elsewhere."""
    if not sys.stdout.isatty():
        return text
    room, wide, kept = _ROWS, max(columns() - 4, 20), list[str]()
    for line in text.split("\n"):
        kept.append(line[: room * wide])
        room -= -(-len(line) // wide) or 1
        if room < 0 or (room == 0 and len("\n".join(kept)) < len(text)):
            return "\n".join(kept).rstrip() + " …"
    return text


def _marked(text: str, spans: Sequence[tuple[int, int]]) -> str:
    parts, at = [], 0
    for start, end in spans:  # also of what was cut
        parts += [styled(text[at:start]), styled(text[start:end], "bold")]
        at = end
    return "".join([*parts, styled(text[at:])])


def _say_rest(text: str, found: Recall[tuple[Notebook, Hit]], filtered: bool) -> None:
    for folder, many in Counter(map(os.path.dirname, found.missing)).items():
        notice(f"{plural(many, 'note')} disappeared from {folder} at once and are left out.")
        notice("If you deleted them: co knowledge reindex")
    notice_unread(len(found.unread))
    if not found:
        searched = found.searched + found.articles
        notice(f"No memories found matching '{text}'")
        notice(f"{plural(searched, 'note')} searched{', with these filters' * filtered}.")
        if not searched:
            notice('Nothing is saved yet. Try: co learn "I prefer pytest over unittest"')
