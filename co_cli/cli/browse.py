"""co recall, co knowledge list and show: looking at notes. Loads nothing that writes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from co_cli.cli.output import has_colour, notice, paint, say, styled, table, to_json
from co_cli.cli.shared import (
    Desk,
    as_json,
    at_user,
    choosing,
    first_day,
    in_user,
    last_day,
    open_desk,
    ref_argument,
)
from co_cli.errors import NotFound
from co_cli.knowledge.format.note import Note
from co_cli.knowledge.reader import Reader
from co_cli.knowledge.safety.escape import visible
from co_cli.knowledge.search.hits import Filters, Hit
from co_cli.results import age, hit_json, marks, note_json, plural, replaced_text, span

_SCOPES = ("all", "project", "user")
_LIMIT, _FAINT = 10, 3  # answers that are shown at most, and weak ones beside better
_EXPLAINED = "what spoke for it: "


@click.command("recall")
@click.argument("query", nargs=-1, required=True)
@click.option(
    "-n", "--limit", type=click.IntRange(1, 1000), help="How many at most; 10 if not said."
)
@click.option("--kind", type=click.Choice(["memory", "article"]), help="Only this kind of note.")
@click.option(
    "-t", "--tag", "tags", multiple=True, help="Only notes with this tag; may be repeated."
)
@click.option("--since", default="", help="Only notes from this day on: 2026-02-09, 2026-02, 30d.")
@click.option("--until", default="", help="Only notes up to this day.")
@click.option("--scope", type=click.Choice(_SCOPES), default="all", show_default=True)
@in_user
@click.option("--explain", is_flag=True, help="Show what spoke for each answer, and how much.")
@as_json
def recall_command(query: tuple[str, ...], in_user: bool, as_json: bool, **options: Any) -> None:
    """Find notes that answer QUERY, in this project and in your own notebook."""
    text = " ".join(query).strip()
    if not text:
        raise click.UsageError("What should Co look for? For example: co recall deploy")
    desk = open_desk(Reader)
    today = desk.shelf.project.today()
    filters = Filters(
        options["kind"] or "", options["tags"],
        first_day(options["since"], today, "--since"), last_day(options["until"], today, "--until"),
    )  # fmt: skip
    scope = "user" if in_user else options["scope"].replace("all", "")
    limit = options["limit"] or _LIMIT
    found = desk.shelf.recall(text, limit, filters, scope=scope, marked=has_colour())
    matched = max(len(found), sum(book.finder.matched for book in desk.shelf.books()))
    untrusted = desk.untrusted(hit.note for book, hit in found if book.scope == "project")
    degraded = sorted({book.finder.degraded for book in desk.shelf.books()} - {""})
    if as_json:
        results = [
            hit_json(book, hit)
            | {"trusted": hit.note.path not in untrusted}
            | ({"explain": hit.features} if options["explain"] else {})
            for book, hit in found
        ]
        counts = {"query": text, "count": len(results), "matched": matched}
        to_json(counts | {"degraded": degraded, "results": results})
        return
    shown = found if options["limit"] else _not_faint(found)
    for book, hit in shown:
        mark = "untrusted folder" if desk.trust.foreign else "came with git, not agreed to"
        _say_hit(book, hit, mark if hit.note.path in untrusted else "", options["explain"])
    if len(found) > len(shown):
        notice(f"{plural(len(found) - len(shown), 'weaker match')} left out: -n {len(found)}")
    elif matched > len(found) == limit:
        notice(f"{matched - limit} more match: -n {matched}")
    for remark in degraded:
        notice(f"co: {remark}")
    _say_rest(desk, text, len(found), filters != Filters() or bool(scope))


def _not_faint(found: list[tuple[Reader, Hit]]) -> list[tuple[Reader, Hit]]:
    """The answers without most of the weak ones, if there are better ones."""
    good = [pair for pair in found if not pair[1].weak]
    weak = [pair for pair in found if pair[1].weak]
    return good + weak[: 0 if any(hit.score == 1.0 for _, hit in good) else _FAINT]


def _say_hit(book: Reader, hit: Hit, untrusted: str, explain: bool) -> None:
    note = hit.note
    old = age(note.created, book.today())
    mark = marks(note, book.today())
    head = [
        styled(book.ref(note), "ref"),
        styled(span(note) + (f" ({old})" if old else "")),
        styled(f"[{', '.join(note.tags)}]" if note.tags else ""),
        styled(mark),
        "yours" if book.scope == "user" else "",
        untrusted,
        styled(replaced_text(book, hit)),
        styled(f"({'weak; ' if hit.weak else ''}{hit.why})", "dim"),
    ]
    paint("  ".join(filter(None, head)))
    passage = hit.passage or note.body
    paint(_marked(passage, hit.marks) + ("\n" if has_colour() else ""), "    ")
    if len(passage) < len(note.body):
        where = note.path if note.kind == "article" else f"co knowledge show {book.ref(note)}"
        notice(f"    ... part of a longer note: {where}")
    if explain:
        parts = sorted(hit.features.items(), key=lambda part: -abs(part[1]))
        say("    " + _EXPLAINED + ", ".join(f"{name} {value:+.2f}" for name, value in parts))


def _marked(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """A text with the words that were asked for in bold."""
    parts, at = [], 0
    for start, end in spans:
        parts += [styled(text[at:start]), styled(text[start:end], "bold")]
        at = end
    return "".join([*parts, styled(text[at:])])


def _say_rest(desk: Desk[Reader], text: str, count: int, filtered: bool) -> None:
    finders = [book.finder for book in desk.shelf.books()]
    for finder in finders:
        if finder.missing:
            many = plural(finder.missing, "note")
            notice(f"{many} vanished from {finder.root} at once and do not answer.")
            notice("If you meant it: co knowledge --reindex")
    unread = sum(len(finder.problems) for finder in finders)
    if unread:
        notice(f"{plural(unread, 'file')} could not be read: co knowledge doctor")
    if not count:
        held = sum(finder.total for finder in finders)
        within = " with these filters" if filtered else ""
        notice(f"No memories found matching '{text}'{within}; {held} searched.")
        if not held:
            notice('Nothing is saved yet. Try: co learn "I prefer pytest over unittest"')


@click.command("list")
@click.option("-t", "--tag", help="Only memories with this tag.")
@in_user
@as_json
def list_command(tag: str | None = None, in_user: bool = False, as_json: bool = False) -> None:
    """List memories, this project's first, then your own."""
    desk = open_desk(Reader)
    books = [desk.shelf.user] if in_user else list(desk.shelf.books())
    notes = [book.notes() for book in books]
    pairs = [(book, note) for book, some in zip(books, notes, strict=True) for note in some]
    wanted = tag and tag.lower()
    found = [
        (book, note)
        for book, note in pairs
        if not wanted or wanted in (own.lower() for own in note.tags)
    ]
    if as_json:
        rows = [note_json(book, note) for book, note in found]
        to_json({"count": len(rows), "limit": books[0].policy.max_count, "memories": rows})
    elif found:
        headings = ("ref", "date", "", "tags", "memory")
        table(headings, [row(book, note) for book, note in found])
        counts = [
            f"{len(some)} of {book.policy.max_count} ({book.scope})"
            for book, some in zip(books, notes, strict=True)
        ]
        notice(f"\nTotal memories: {', '.join(counts)}")
        if desk.trust.foreign and not in_user:
            notice("This folder is not trusted; its notes are shown to you and to no model.")
        elif not in_user and (new := desk.new_notes()):
            notice(f"{len(new)} of these came with git and are shown to no model: co trust")
    elif tag is not None:
        notice(f"No memory has the tag {tag}.")
    else:
        notice("No memories saved yet.")
        notice('Try: co learn "We deploy on Tuesdays" --tag decision')
    unread = sum(len(book.problems) for book in books)
    if unread:
        notice(f"{plural(unread, 'file')} could not be read: co knowledge doctor")


def row(book: Reader, note: Note) -> tuple[str, ...]:
    """A note's line in a list."""
    tags = ", ".join(note.tags)
    return book.ref(note), span(note), marks(note, book.today()), tags, note.summary


@click.command("show")
@ref_argument()
@in_user
@as_json
def show_command(ref: str, in_user: bool, as_json: bool) -> None:
    """Show a memory's file, or where decay has put it."""
    desk = open_desk(Reader)
    try:
        book, note = choosing(desk.shelf, ref, lambda book, name: (book, book.find(name)), in_user)
    except NotFound:
        book, name = desk.shelf.place(at_user(ref, in_user))
        number = int(name) if name.isdecimal() and len(name) < 10 else 0
        inside = book.inside(number)
        if inside is None:
            raise
        holder, section = inside
        if as_json:
            to_json(note_json(book, holder) | {"section": section})
        else:
            notice(f"Memory {book.prefix}{name} is now part of memory {book.ref(holder)}:\n")
            say(section)
        return
    if as_json:
        to_json(note_json(book, note))
    else:
        text = note.raw.decode().lstrip("\ufeff").replace("\r\n", "\n").rstrip("\n")
        click.echo(visible(text))  # the file as it is, to be copied from
