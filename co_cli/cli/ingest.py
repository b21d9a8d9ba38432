"""co ingest: keep pages and documents as articles."""

import sys
from typing import Any

import click

from co_cli.articles import ingest
from co_cli.articles.addresses import NOBODY
from co_cli.articles.extract import MOST_BYTES, Reader
from co_cli.articles.ingest import STDIN, Found, Planned
from co_cli.cli.options import allow_private, as_json, claiming, complete_tag, in_user, open_here
from co_cli.cli.output import confirm, notice, on_terminal, progress, say, to_json, warn
from co_cli.cli.refresh import show_lines, stays
from co_cli.errors import CoError, NotPublic
from co_cli.kept import changed_lines, kept_json, kept_text
from co_cli.knowledge import Notebook
from co_cli.knowledge.article import About

_READ = 200  # passages that are read closely where nobody watches; the rest is owed


@click.command("ingest")
@click.argument("sources", nargs=-1, required=True, metavar="URL|FILE|-...",
                type=click.Path(allow_dash=True))  # fmt: skip
@click.option("-t", "--tag", "tags", multiple=True, help="Tag, or several separated by commas.",
              shell_complete=complete_tag)  # fmt: skip
@click.option("--title", default="", help="Title to use instead of its own.")
@in_user
@allow_private
@click.option("--allow-secret", is_flag=True, help="Save it even if it seems to contain a secret.")
@as_json
def ingest_command(
    sources: tuple[str, ...], tags: tuple[str, ...], title: str, in_user: bool, **flags: bool
) -> None:
    """Save web pages and documents as articles, for this project or everywhere with -g.

    Web pages, PDF, DOCX, EPUB, notebooks, markdown and text are converted to markdown, which
    recall searches passage by passage. Ingesting the same source again updates its article.
    """
    if title and len(sources) > 1:
        raise click.UsageError("--title is for one source")
    workspace = open_here()
    book = workspace.book(in_user)
    tags = tuple(tag for some in tags for tag in some.split(","))
    kept, failed = list[dict[str, Any]](), list[dict[str, str]]()
    with Reader() as reader, claiming(workspace.project, book):
        for source in sources:
            try:
                found = _read(source, reader, flags["allow_private"])
                about = found.about(tags, title=title, allow_secret=flags["allow_secret"])
                done = _keep(book, found, about, flags["as_json"])
            except CoError as error:
                if isinstance(error, NotPublic) and not flags["allow_private"]:
                    error.hint = f"{error.hint} If it is your own: --allow-private".strip()
                failed.append({"source": source, "error": str(error), "hint": error.hint})
                warn(f"{source} was not kept", hint=error.sentence())
            else:
                kept.append(_told(book, done, as_json=flags["as_json"]))
    if flags["as_json"]:
        to_json({"articles": kept, "failed": failed})
    sys.stdout.flush()  # the person knows; now there is time to read them closely
    if any(one["action"] != "unchanged" for one in kept):
        with progress("Reading closely") as step:
            book.search.read_closely(step, most=0 if step else _READ)
    if failed:
        raise click.exceptions.Exit(1)


def _read(source: str, reader: Reader, private: bool) -> Found:
    if source == "-":
        return ingest.read_file(STDIN, sys.stdin.buffer.read(MOST_BYTES + 1), reader, progress)
    allow = ingest.allowing(source) if private and ingest.is_address(source) else NOBODY
    found = ingest.read(source, reader, allow=allow, watch=progress)
    assert found is not None  # nothing was known
    return found


def _keep(book: Notebook, found: Found, about: About, as_json: bool) -> Planned:
    """Keep it; what a person wrote into the article goes only if they say so."""
    planned = ingest.plan(book, found, about)
    ref = planned.plan.saved.ref
    if planned.edited and on_terminal() and not as_json:
        show_lines(changed_lines(planned.plan))
        if confirm(f"{ref} was edited by hand since. Write this over it?", yes=False):
            ingest.agree(book, planned)
            return planned._replace(edited=False)
    return ingest.keep(book, found, about)


def _told(book: Notebook, done: Planned, *, as_json: bool) -> dict[str, Any]:
    """What was done, said at once unless a program asks."""
    document = done.found.document
    if not as_json:
        say("\n".join([kept_text(book, done.plan), *(f"  {one}" for one in document.remarks)]))
    if done.edited:
        notice(stays(done.plan.saved.ref))
    told = {"format": document.format, "remarks": list(document.remarks), "edited": done.edited}
    return kept_json(book, done.plan) | told
