"""co learn and co forget: the two verbs that people change notes with all day."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import date
from typing import Any

import click

from co_cli import paths
from co_cli.cli.output import notice, on_terminal, quote, say, to_json
from co_cli.cli.purging import purge_note
from co_cli.cli.shared import (
    Desk,
    Ref,
    as_json,
    ask,
    assume_yes,
    choosing,
    confirm,
    in_user,
    is_ref,
    open_desk,
    read_text,
    typed,
)
from co_cli.errors import Ambiguous, CoError, MovedOn, NotFound, RefusedText
from co_cli.knowledge.format.note import Note
from co_cli.knowledge.lifecycle import parse_expiry
from co_cli.knowledge.notebook import Notebook
from co_cli.knowledge.plan import Saved
from co_cli.knowledge.reader import Ref as NoteRef
from co_cli.knowledge.reader import named
from co_cli.knowledge.safety.escape import difference
from co_cli.knowledge.safety.secrets import LEFT_OUT, without_secrets
from co_cli.knowledge.search.scan import holds
from co_cli.results import closeness, saved_json, saved_text

_OF_ONE = 4  # passages of a new memory that are read closely before the command ends


@click.command("learn")
@click.argument("text", nargs=-1)
@click.option(
    "-t", "--tag", "tags", multiple=True, help="A tag, or several with commas; may be repeated."
)
@in_user
@click.option("--protect", is_flag=True, help="Never forget or decay it without being asked.")
@click.option("--expires", metavar="WHEN", help="A date (2026-12-31) or a span (30d, 2w, 6m, 1y).")
@click.option("--update", "choice", flag_value="update", help="Replace a similar memory.")
@click.option("--keep", "choice", flag_value="keep", help="Keep a similar memory beside it.")
@click.option("--allow-secret", is_flag=True, help="Store text that looks like a secret.")
@as_json
def learn_command(
    text: tuple[str, ...],
    tags: tuple[str, ...],
    in_user: bool,
    protect: bool,
    expires: str | None,
    choice: str | None,
    **flags: bool,
) -> None:
    """Remember TEXT for this project, or with -g everywhere. Use - to read standard input."""
    content = read_text(text)
    tags = tuple(tag for some in tags for tag in some.split(","))
    desk = open_desk(Notebook)
    book = desk.book(in_user)
    if paths.SETTINGS in desk.trust.present and paths.SETTINGS not in desk.trust.usable:
        notice("co: this folder's settings are not used until you trust it: co trust")
    options: dict[str, Any] = {"allow_secret": flags["allow_secret"]}
    if protect:
        options["decay_protected"] = True
    if expires is not None:
        options["expires"] = parse_expiry(expires, date.fromisoformat(book.today()))
    fresh = desk.is_fresh and not in_user
    saved = _remember(book, content, tags, choice, flags["as_json"], options)
    if saved is None:
        notice("Nothing was saved.")
        return
    desk.claim(fresh)
    for problem in book.problems:
        if problem.path == book.root:
            notice(f"co: {problem.reason}")
    if flags["as_json"]:
        to_json(saved_json(book, saved))
    else:
        say(saved_text(book, saved))
    sys.stdout.flush()  # the person knows; now there is time to read it closely
    book.finder.read_closely(most=_OF_ONE)


def _remember(
    book: Notebook,
    content: str,
    tags: tuple[str, ...],
    choice: str | None,
    quiet: bool,
    options: dict[str, Any],
) -> Saved | None:
    """Save, asking a person who is there about a secret in it and about a similar memory."""
    there = on_terminal() and not quiet
    while True:
        try:
            if choice is not None or not there:
                return book.remember(content, tags, similar=choice or "keep", **options)
            return _remember_asking(book, content, tags, options)
        except RefusedText as error:
            kept = _without_secret(content, error) if there else None
            if kept is None:
                raise
            content = kept


def _without_secret(content: str, error: RefusedText) -> str | None:
    """The text as the person wants it, with a place where the secret was; None to refuse it."""
    kept = without_secrets(content)
    if not error.rule.startswith("secret:") or not kept.replace(LEFT_OUT, "").strip():
        return None
    notice(f"co: {error} and is not stored. Without it the memory reads:")
    say("\n".join(f"  │ {line}" for line in kept.strip().split("\n")))
    question = "[k]eep it like this, say [w]here the secret is kept, or [c]ancel"
    match ask(question, "kwc"):
        case "k":
            return kept
        case "w":
            place = ""
            while not place:
                place = typed("It is in")
            return kept.replace(LEFT_OUT, f"[in {place}]")
    return None


def _remember_asking(
    book: Notebook, content: str, tags: tuple[str, ...], options: dict[str, Any]
) -> Saved | None:
    picked = seen = None
    while True:
        plan = book.plan_remember(content, tags, similar=picked or "keep", **options)
        shown = [note.raw for note, _ in plan.saved.similar]
        if plan.saved.similar and (picked is None or shown != seen):
            picked, seen = _ask_about(book, plan.saved, content), shown
            if picked is None:
                return None
            continue
        try:
            return book.commit(plan)
        except MovedOn:
            continue


def _ask_about(book: Notebook, saved: Saved, content: str) -> str | None:
    for old, score in saved.similar:
        say(f"This is close to memory {book.ref(old)} ({closeness(book, score)}):")
        diff = difference(old.body.encode() + b"\n", content.strip().encode() + b"\n", "")
        quote("\n".join(diff.split("\n")[3:]))  # without the names and places of two files
    first = book.ref(saved.similar[0][0])
    answer = ask(f"[u]pdate (replace {first}), [k]eep both, or [c]ancel", "ukc")
    return {"u": "update", "k": "keep"}.get(answer)


@click.command("forget")
@click.argument("what", nargs=-1, required=True, metavar="REF|TEXT", type=Ref())
@in_user
@click.option("--purge", is_flag=True, help="Remove every copy Co keeps; cannot be undone.")
@click.option("--with-earlier", is_flag=True, help="Purge also what it was made of or replaced.")
@assume_yes
@as_json
def forget_command(
    what: tuple[str, ...], in_user: bool, purge: bool, with_earlier: bool, yes: bool, as_json: bool
) -> None:
    """Archive memories, named by REF (12, g12) or by a TEXT that only one of them holds."""
    desk = open_desk(Notebook)

    def act(book: Notebook, ref: NoteRef) -> dict[str, Any]:
        return purge_note(book, ref, yes, with_earlier) if purge else _forget(book, ref)

    if with_earlier and not purge:
        raise click.UsageError("--with-earlier goes with --purge")

    if all(is_ref(word) for word in what):
        meant = [choosing(desk.shelf, word, _resolve(purge), in_user) for word in what]
        done = [act(book, ref) for book, ref in meant]
    else:
        done = [act(*_described(desk, " ".join(what), in_user, yes))]
    if as_json:
        to_json(done[0] if len(done) == 1 else done)
    else:
        say("\n".join(one["display"] for one in done))


def _resolve(purge: bool) -> Callable[[Notebook, NoteRef], tuple[Notebook, NoteRef]]:
    """Find every note before any is touched; what is purged need not be there any more."""
    return lambda book, ref: (book, ref if purge else book.find(ref))


def _forget(book: Notebook, ref: NoteRef) -> dict[str, Any]:
    saved = book.forget(ref)
    back = f"co knowledge restore {saved.ref}"
    display = f"✓ Forgot memory {saved.ref}: {saved.note.summary}\nTo bring it back: {back}"
    return {"display": display, "memory_id": saved.note.id, "ref": saved.ref, "action": "forgotten"}


def _described(desk: Desk[Notebook], text: str, in_user: bool, yes: bool) -> tuple[Notebook, Note]:
    """The one memory that goes by this name or holds all these words."""
    books = [desk.shelf.user] if in_user else desk.shelf.books()
    found = [(book, note) for book in books for note in named(text, book.notes())]
    found = found or [(book, note) for book in books for note in book.notes() if holds(note, text)]
    if not found:
        raise NotFound(f"no memory holds '{text}'", hint=f"Look for it: co recall {text}")
    exact = [(book, note) for book, note in found if text.lower() in note.body.lower()]
    found = exact if len(exact) == 1 else found
    if len(found) > 1:
        lines = "\n".join(f"      {book.ref(note)}  {note.summary}" for book, note in found[:10])
        first = found[0][0].ref(found[0][1])
        raise Ambiguous(
            f"{len(found)} memories hold '{text}'",
            choices=(),
            hint=f"Say which by its number, such as `co forget {first}`:\n{lines}",
        )
    book, note = found[0]
    if on_terminal() and not confirm(f'Forget memory {book.ref(note)}: "{note.summary}"?', yes):
        raise CoError("nothing was forgotten")
    return book, note
