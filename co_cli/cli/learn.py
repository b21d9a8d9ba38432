"""co learn: remember something."""

import sys
from contextlib import suppress
from datetime import date
from typing import Any

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
from co_cli.cli.output import ask, notice, on_terminal, quote, quote_diff, say, tell, typed, warn
from co_cli.errors import CoError, MovedOn, RefusedText
from co_cli.knowledge import Notebook, Saved
from co_cli.knowledge.format.note import scoped
from co_cli.knowledge.lifecycle import parse_expiry
from co_cli.knowledge.policy import Similar
from co_cli.knowledge.safety.check import check_text, typed_tags, without_secret
from co_cli.knowledge.safety.escape import difference
from co_cli.knowledge.safety.secrets import LEFT_OUT
from co_cli.knowledge.verify import project_of, why_not
from co_cli.results import closeness, saved_json, saved_text
from co_cli.verbs import labels

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
@click.option(
    "--update", "choice", flag_value="update", help="Replace a similar memory, if there is one."
)
@click.option("--keep", "choice", flag_value="keep", help="Keep both if there is a similar memory.")
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
    choice: Similar | None,
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
        saved = _remember(book, content, choice, there, options)
    if saved is None:
        notice("Nothing was saved.")
        return
    warn(saved.trouble)
    tell(flags["as_json"], saved_json(book, saved), saved_text(book, saved))
    sys.stdout.flush()  # the person knows; now there is time to read it closely
    book.search.read_closely(most=_OF_ONE, name=saved.note.name)


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
    book: Notebook, content: str, choice: Similar | None, there: bool, options: dict[str, Any]
) -> Saved | None:
    """Save, asking a person who is there about a secret in it and about a similar memory."""
    if choice == "keep":
        book.policy = book.policy._replace(action="ask")
    while True:
        try:
            if choice is not None or not there:
                return book.remember(content, similar=choice or "keep", **options)
            return _remember_asking(book, content, options)
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


def _remember_asking(book: Notebook, content: str, options: dict[str, Any]) -> Saved | None:
    picked: dict[str, Any] = {}
    seen = None
    while True:
        plan = book.plan_remember(content, **options, **picked)
        shown = sorted(note.raw for note, _ in plan.saved.similar)  # the one named comes first
        if shown and shown != seen:
            answer = _ask_about(book, plan.saved, content)
            if answer is None:
                return None
            picked, seen = answer, shown
        else:
            with suppress(MovedOn):
                return book.commit(plan)


def _ask_about(book: Notebook, saved: Saved, content: str) -> dict[str, Any] | None:
    """What a person wants beside a similar memory, for `plan_remember`; None for nothing at all."""
    refs = [*labels([(book, note) for note, _ in saved.similar])]
    for ref, (old, score) in zip(refs, saved.similar, strict=True):
        say(f"This is similar to memory {ref} ({closeness(book, score)}):")
        diff = difference(old.body.encode() + b"\n", content.strip().encode() + b"\n", "")
        quote_diff(diff.split("\n")[3:])  # without the names and places of two files
    named = " or ".join(refs)
    answer = ask(f"[u]pdate (replace {named}), [k]eep both, or [c]ancel", ("u", "k", "c", ""))
    if answer != "u":
        return {} if answer == "k" else None
    which = refs[0] if len(refs) == 1 else ask(f"Which one, {named}?", (*refs, ""))
    return {"similar": "update", "replaces": which} if which else None
