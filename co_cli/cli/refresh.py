"""co knowledge refresh: bring articles up to date with their sources."""

import re
from collections import Counter
from datetime import date, timedelta
from typing import Any

import click

from co_cli.articles import ingest
from co_cli.articles.extract import Reader
from co_cli.articles.ingest import Planned
from co_cli.articles.refresh import Checked, check, has_source, last_checked
from co_cli.cli.options import (
    act_on,
    allow_private,
    as_json,
    assume_yes,
    complete_ref,
    in_user,
    open_here,
)
from co_cli.cli.output import confirm, no_yes, notice, progress, quote_diff, say_line, to_json
from co_cli.errors import CoError
from co_cli.kept import changed_lines, kept_json
from co_cli.knowledge import Note, Notebook, Shelf
from co_cli.knowledge.lifecycle import parse_expiry
from co_cli.results import plural, undo_hint

_MOST = 200  # lines of one diff that are shown
_WORDS = {  # in the order in which they are summed up
    "updated": "updated",
    "changed": "changed, and not updated",
    "edited": "edited by hand, and kept",
    "unchanged": "unchanged",
    "gone": "gone from its source, and kept",
    "failed": "not compared",
}


@click.command("refresh")
@click.argument("refs", nargs=-1, metavar="[REF]...", shell_complete=complete_ref)
@click.option("--older-than", metavar="SPAN", default="",
              help="Only articles last checked at least this long ago (30d, 2w, 6m).")  # fmt: skip
@in_user
@click.option("--dry-run", is_flag=True, help="Only show what has changed.")
@allow_private
@click.option("--allow-secret", is_flag=True, help="Save it even if it seems to contain a secret.")
@assume_yes
@as_json
def refresh_command(refs: tuple[str, ...], older_than: str, in_user: bool, **flags: bool) -> None:
    """Compare articles with their sources, and ask about each change.

    Without REF, check all of them. An article whose page is gone stays unchanged.
    """
    if flags["allow_private"] and not refs:
        raise click.UsageError("--allow-private is for articles that you name")
    shelf = open_here().shelf
    articles = _meant(shelf, refs, older_than, in_user)
    done, quiet = list[dict[str, Any]](), flags["as_json"]
    with Reader() as reader:
        for book, note in articles:
            checked = check(
                book, note, reader, watch=progress,
                allow_private=flags["allow_private"], allow_secret=flags["allow_secret"],
            )  # fmt: skip
            done.append(_settle(book, note, checked, flags))
    counts = Counter(str(one["state"]) for one in done)
    if quiet:
        to_json({"articles": done})
    else:
        many = [f"{counts[state]} {word}" for state, word in _WORDS.items() if counts[state]]
        say_line(f"{plural(len(done), 'article')} compared: {', '.join(many)}." if many
                 else "There is no article to compare with a source.")  # fmt: skip
    if counts["changed"] and not flags["dry_run"]:
        raise no_yes(f"{plural(counts['changed'], 'article')} not updated")
    if counts["failed"]:
        raise click.exceptions.Exit(1)


def _meant(
    shelf: Shelf, refs: tuple[str, ...], older_than: str, in_user: bool
) -> list[tuple[Notebook, Note]]:
    """The articles to look at: those named, or all that have a source, perhaps only older ones."""
    if refs:
        named = [act_on(shelf, ref, in_user, lambda book, one: book.find(one)) for ref in refs]
        if others := [book.ref(note) for book, note in named if note.kind != "article"]:
            raise CoError(f"{others[0]} is no article", hint="Articles are called a:NAME.")
    else:
        books = [shelf.user] if in_user else [*shelf]
        named = [(book, note) for book in books for note in book.own(book.articles())]
        named = [(book, note) for book, note in named if has_source(book, note)]
    if older_than:
        since = _before(older_than, date.fromisoformat(shelf.project.today()))
        named = [(book, note) for book, note in named if last_checked(book, note)[:10] <= since]
    return named


def _before(span: str, today: date) -> str:
    if not re.fullmatch(r"\d{1,5}[dwmy]", span.strip().lower()):
        raise click.UsageError("--older-than takes a span such as 30d, 2w or 6m")
    days = date.fromisoformat(parse_expiry(span, today)) - today
    return str(today - timedelta(days.days))


def _settle(book: Notebook, note: Note, checked: Checked, flags: dict[str, bool]) -> dict[str, Any]:
    """Say how an article stands, and write what the person agrees to."""
    ref, state, quiet = book.ref(note), str(checked.state), flags["as_json"]
    told: dict[str, Any] = {"ref": ref, "source": note.meta["source"], "why": checked.why}
    if checked.change:
        told = kept_json(book, checked.change.plan) | told
        if not quiet:
            say_line(f"{ref} has changed: {note.title}")
            show_lines(changed_lines(checked.change.plan))
        if not flags["dry_run"]:
            state = _write(book, checked.change, flags["yes"], quiet)
    elif not quiet:
        why = f" ({checked.why})" if checked.why else ""
        say_line(f"{ref} is {_WORDS[state]}{why}: {note.title}")
    return told | {"state": state}


def _write(book: Notebook, change: Planned, yes: bool, quiet: bool) -> str:
    """Write what the source says if the person agrees; what they wrote themselves takes a key."""
    ref, edited = change.plan.saved.ref, change.edited
    question = f"Write this to {ref}?"
    if edited:
        question = f"{ref} was edited by hand since. Write this over it?"
    if confirm(question, yes and not edited, quiet=quiet or (yes and edited)):
        ingest.agree(book, change)
        if not quiet:
            say_line(f"✓ Updated {ref}. Undo: {undo_hint(book)}")
        return "updated"
    if edited:
        notice(stays(ref))
    return "edited" if edited else "changed"


def stays(ref: str) -> str:
    """That a person's text stays although its source has changed, and how to take that."""
    how = f"To take it: co knowledge refresh {ref}, on a terminal and without --yes"
    return f"{ref} stays as you edited it, although its source has changed.\n{how}"


def show_lines(lines: list[str]) -> None:
    """A diff, as far as anybody reads it."""
    quote_diff(lines[:_MOST])
    if len(lines) > _MOST:
        notice(f"… and {plural(len(lines) - _MOST, 'more line')}")
