"""co learn: remember something."""

import os
import sys
from contextlib import suppress
from datetime import date
from typing import Any, Literal

import click

from co_cli import config, paths
from co_cli.cli.options import (
    as_json,
    chosen_language,
    claiming,
    complete_tag,
    in_language,
    in_scope,
    in_user,
    open_here,
)
from co_cli.cli.output import ask, notice, on_terminal, quote, say, tell, typed, warn
from co_cli.editing import Editing
from co_cli.errors import CoError, MovedOn, RefusedText
from co_cli.knowledge import Note, Notebook, Saved, Shelf
from co_cli.knowledge.compare.relation import Match
from co_cli.knowledge.format.note import scoped
from co_cli.knowledge.lifecycle import parse_expiry
from co_cli.knowledge.policy import Links
from co_cli.knowledge.safety.check import check_text, typed_tags, without_secret
from co_cli.knowledge.safety.escape import escape
from co_cli.knowledge.safety.secrets import LEFT_OUT
from co_cli.knowledge.verify import project_of, why_not
from co_cli.results import saved_json, saved_text, span, update_ref

Choice = Literal["u", "r", "k"]
_Matches = list[tuple[Notebook, Match]]
_OF_ONE = 4  # passages of a new memory that are read closely before the command ends
_MAX_INPUT = 1024 * 1024


def _set_auto(context: click.Context, _: click.Parameter, said: str | None) -> None:
    """Turn auto-learn on or off for this person, in every project."""
    if said is None:
        return
    on = said in ("true", "on", "yes")
    config.set_own("auto_learn", wanted := "on" if on else "off")
    if (stays := config.load_settings().auto_learn) != wanted:
        say(f"Auto-learn is set to {wanted}, but stays {stays} while CO_CLI_AUTO_LEARN says so.")
        context.exit()
    say(
        "Auto-learn is on: when a chat ends, Co drafts a few memories from what you said.\n"
        "In the chat it still asks about what is plainly worth keeping; only the rest is drafted.\n"
        "Nothing is kept before you accept it: co inbox. To stop: co learn --auto=false"
        if on
        else "Auto-learn is off. What was drafted before still waits: co inbox"
    )
    context.exit()


@click.command("learn")
@click.argument("text", nargs=-1)
@click.option("-t", "--tag", "tags", multiple=True, help="Tag, or several separated by commas.",
              shell_complete=complete_tag)  # fmt: skip
@in_user
@in_scope("project", "language", "global")
@in_language
@click.option("--protect", is_flag=True, help="Protect it from forget and decay.")
@click.option("--sensitive", is_flag=True, help="Keep it out of logs, exports and other agents.")
@click.option(
    "--expires", metavar="WHEN", help="Expiry date (2026-12-31) or time from now (30d, 2w)."
)
@click.option("--check", "checked", multiple=True, metavar="PATH[: TEXT]",
              help="It holds as long as this project file exists, or contains TEXT; repeatable.",
              )  # fmt: skip
@click.option("--update", "choice", flag_value="u",
              help="Link it as an update of the memories it brings out of date.")  # fmt: skip
@click.option("--replace", "choice", flag_value="r",
              help="Archive the memory it brings out of date.")  # fmt: skip
@click.option("--keep", "choice", flag_value="k",
              help="Keep what it seems to bring out of date, as unrelated.")  # fmt: skip
@click.option("--auto", type=click.Choice(["true", "false", "on", "off", "yes", "no"]),
              is_flag=False, flag_value="true", metavar="[BOOL]",
              callback=_set_auto, expose_value=False,
              help="Draft memories for review when a chat ends; --auto=false stops.")  # fmt: skip
@click.option("--allow-secret", is_flag=True, help="Save it even if it looks like a secret.")
@as_json
def learn_command(
    text: tuple[str, ...],
    tags: tuple[str, ...],
    in_user: bool,
    protect: bool,
    expires: str | None,
    checked: tuple[str, ...],
    choice: Choice | None,
    **flags: Any,
) -> None:
    """Save TEXT as a memory for this project, or everywhere with -g. Use - to read it from
    standard input.

    With --scope language, it applies in all your projects that use the language.
    """
    if in_user and flags["scope"] == "project":
        raise click.UsageError("-g is for everywhere and --scope project for here: leave one out.")
    content = _read_text(text)
    tags = tuple(typed_tags(tag for some in tags for tag in some.split(",")))
    workspace = open_here()
    language = chosen_language(workspace, flags["scope"], flags["language"])
    book = workspace.book(in_user or bool(language) or flags["scope"] == "global")
    if paths.SETTINGS in workspace.trust.present and paths.SETTINGS not in workspace.trust.usable:
        warn("this folder's settings are not used until you trust it: co trust")
    fields: dict[str, Any] = {"decay_protected": True} if protect else {}
    fields |= {"sensitive": True} if flags["sensitive"] else {}
    fields |= scoped(language) if language else {}
    if expires is not None:
        fields["expires"] = parse_expiry(expires, date.fromisoformat(book.today()))
    fields |= _check_fields(book, checked)
    options = {"tags": tags, "allow_secret": flags["allow_secret"], "fields": fields}
    there = on_terminal() and not flags["as_json"]
    with claiming(workspace.project, book):
        saved = _remember(workspace.shelf, book, content, choice, there, options)
    if saved is None:
        notice("Nothing was saved.")
        return
    warn(saved.trouble)
    tell(flags["as_json"], saved_json(book, saved), saved_text(book, saved))
    sys.stdout.flush()  # the person knows; now there is time to read it
    book.search.read_closely(most=_OF_ONE, name=saved.note.name)
    book.search.compare_notes(name=saved.note.name)
    if not (flags["as_json"] or saved.updates or saved.replaced):
        _notice_unconfirmed(book, saved.note)


remember_command = learn_command  # its name among those of `co knowledge`


def _read_text(words: tuple[str, ...]) -> str:
    """The text a command was given: its words, or standard input for `-` or a pipe."""
    if words and words != ("-",):
        return " ".join(words)
    if not words and sys.stdin.isatty():
        raise click.UsageError('What should Co remember? For example: co learn "I prefer pytest"')
    data = sys.stdin.buffer.read(_MAX_INPUT)
    if len(data) == _MAX_INPUT:
        raise CoError("standard input is too long for a memory", hint="Split it into several.")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise CoError("standard input is not UTF-8 text") from error


def _check_fields(book: Notebook, checks: tuple[str, ...]) -> dict[str, Any]:
    """The header fields of a note with these checks; CoError for one that does not hold now."""
    if checks and not project_of(book):
        raise CoError("a check is about a file of a project, and your own notebook is in none")
    for check in checks:
        if why := why_not(project_of(book), check_text(check) if check.strip() else ""):
            hint = "Nothing was saved. Correct --check, or leave it out."
            if ": " not in check and (path := check.partition(":")[0]) != check:
                hint += f" A text in the file comes after a colon and a space: {path}: TEXT"
            raise CoError(why.replace("no longer holds", "does not hold"), hint=hint)
    told = {"check": checks[0] if len(checks) == 1 else list(checks), "verified": book.today()}
    return told if checks else {}


def _remember(
    shelf: Shelf, book: Notebook, content: str, choice: Choice | None, there: bool,
    options: dict[str, Any],
) -> Saved | None:  # fmt: skip
    """Save, asking a person who is there about a secret in it and about what it bears on."""
    if choice == "k":
        book.policy = book.policy._replace(action="ask")
    while True:
        try:
            if there or choice:
                return _remember_comparing(shelf, book, content, choice, options)
            return book.remember(content, **options)
        except RefusedText as error:
            kept = without_secret(content, error) if there else ""
            content = _ask_about_secret(kept, error) if kept else ""
            if not content:
                raise


def _ask_about_secret(kept: str, error: RefusedText) -> str:
    """The text as the person wants it, with a place where the secret was; empty to refuse it."""
    warn(f"{error} and is not saved. Without it, the memory reads:")
    quote(kept.strip())
    question = "[k]eep this text, say [w]here the secret is kept, or [c]ancel"
    answer, place = ask(question, ("k", "w", "c", "")), ""
    while answer == "w" and not place:
        place = typed("It is in")
    kept = kept.replace(LEFT_OUT, f"[in {place}]") if place else kept
    return kept if answer in ("k", "w") else ""


def _remember_comparing(
    shelf: Shelf, book: Notebook, content: str, choice: Choice | None, options: dict[str, Any]
) -> Saved | None:
    """Save with what the person decides about the notes that the text bears on."""
    links, seen = Links(), None
    while True:
        plan = book.plan_remember(content, **options, **links)
        found = [] if plan.saved.action == "consolidated" else shelf.compare(content)
        bears = [pair for pair in found if pair[1].verdict != "similar"]
        shown = sorted(one.note.raw for _, one in bears)
        if shown and shown != seen:
            decided = _decide(book, bears, choice)
            if decided is None:
                return None
            links, seen = decided, shown
        else:
            with suppress(MovedOn):
                return book.commit(plan)


def _decide(book: Notebook, bears: _Matches, choice: Choice | None) -> Links | None:
    """What becomes of the notes that a text bears on; None where nothing is to be saved."""
    outdated = [one.note for _, one in bears if one.verdict == "updates"]
    answer: str | None = choice
    if not answer:
        for home, one in bears:
            _show_match(home, one)
        answer = _ask_outdated(book, bears) if outdated else _ask_known()
    if answer == "e":
        [(home, old)] = [(home, one.note) for home, one in bears if one.note is outdated[0]]
        edited = Editing(home, old).run()
        say("Nothing changed." if edited is old else f"✓ Edited memory {home.ref(edited)}.")
    if answer in ("n", "e"):
        return None
    if answer == "u":
        return {"updates": outdated}
    if answer == "r" and outdated:
        old = _replaceable(book, outdated)
        return {"replaces": old.name[:-3], "updates": [one for one in outdated if one is not old]}
    return {"related": outdated}


def _replaceable(book: Notebook, outdated: list[Note]) -> Note:
    """The first of these notes that is in this notebook; one in another is never archived."""
    for old in outdated:
        if _is_here(book, old):
            return old
    ref = update_ref(book, outdated[0])
    hint = "Link the two instead: --update"
    raise CoError(f"memory {ref} is in another notebook and cannot be replaced", hint=hint)


def _is_here(book: Notebook, note: Note) -> bool:
    return os.path.dirname(note.path) == book.memories


def _show_match(home: Notebook, one: Match) -> None:
    ref = escape(home.ref(one.note), keep="")
    say({
        "updates": f"This seems to bring memory {ref} out of date ({span(one.note)}):",
        "restates": f"Already noted as memory {ref} ({span(one.note)}):",
    }[one.verdict])  # fmt: skip
    quote(one.note.body)


def _ask_outdated(book: Notebook, bears: _Matches) -> str:
    """Which of u, r, e, k, n a person chooses; only a note of this notebook can be replaced."""
    old = next(one.note for _, one in bears if one.verdict == "updates")
    here = _is_here(book, old) and not old.protected
    ref = update_ref(book, old)
    keys = {"u": "[u] link as an update", "r": f"[r]eplace {ref}", "e": f"[e]dit {ref} instead",
            "k": "[k]eep both as unrelated", "n": "do [n]ot save"}  # fmt: skip
    if not here:
        del keys["r"]
    return ask(", ".join(keys.values()), (*keys, "")) or "u"


def _ask_known() -> str:
    return "k" if ask("Save it all the same? [y/N]", ("y", "n", "")) == "y" else "n"


def _notice_unconfirmed(book: Notebook, note: Note) -> None:
    """Name the memories that a new one seems to update, where nobody was asked."""
    for new, old, _ in book.unconfirmed():
        if new.path == note.path:
            notice(f"It seems to update memory {book.ref(old)}: {escape(old.summary, keep='')}")
            notice("To settle that: co knowledge review")
