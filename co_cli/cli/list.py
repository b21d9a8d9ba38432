"""co knowledge list: every memory or article on a line. Loads nothing that writes."""

from typing import Any

import click

from co_cli.cli.options import as_json, complete_tag, in_user, open_here
from co_cli.cli.output import notice, notice_plain, notice_shared, notice_unread, table, to_json
from co_cli.knowledge import Note, Notebook
from co_cli.knowledge.pages import ARTICLES
from co_cli.knowledge.use import Use, last_used
from co_cli.results import marks, none_text, note_json, outside_text, plural, span
from co_cli.verbs import counts
from co_cli.workspace import Workspace

_Found = list[tuple[Notebook, Note]]


@click.command("list")
@click.option("-t", "--tag", default="", help="Only notes with this tag.",
              shell_complete=complete_tag)  # fmt: skip
@click.option("--kind", type=click.Choice(["memory", "article", "all"]), default="memory",
              show_default=True, help="Kind of notes to list.")  # fmt: skip
@click.option("--by", type=click.Choice(["number", "use"]), default="number", show_default=True,
              help="Sort order; `use` puts what was recalled last first.")  # fmt: skip
@click.option(
    "--all", "every", is_flag=True, help="Also list your notes for languages not used here."
)
@click.option("-c", "--count", is_flag=True, help="Only show how many there are of each category.")
@in_user
@as_json
def list_command(
    tag: str, kind: str, by: str, every: bool, count: bool, in_user: bool, as_json: bool
) -> None:
    """List memories or articles, this project's first, then your own."""
    workspace = open_here()
    shelf = workspace.shelf
    books = (shelf.user,) if in_user else tuple(shelf)
    shelf.user.languages = None if every else shelf.user.languages
    read = [(book, *_read(book, kind)) for book in books]
    found = [
        (book, note)
        for book, notes, _ in read
        for note in notes
        if not tag or tag.lower() in (own.lower() for own in note.tags)
    ]
    use = last_used() if by == "use" else None
    if use:
        found.sort(key=lambda pair: use.rank(pair[1]), reverse=True)
    if as_json:
        told = _listed(found, kind, count, use)
        to_json({"count": len(found), "limit": books[0].policy.max_count, **told})
    elif found:
        if count:
            rows = counts(note for _, note in found).items()
            table(("category", "memories"), [(one, str(many)) for one, many in rows])
        else:
            note_table(found, use)
        _notice_totals(read, kind)
        notice_shared([book.ref(note) for book, note in found])
        notice_plain([book.ref(note) for book, note in found if note.plain])
        _notice_foreign(workspace, in_user)
    elif tag:
        notice(f"No {'note' if kind == 'all' else kind} has the tag {tag}.")
    elif kind == "article":
        notice("No articles kept yet.")
    else:
        notice(none_text(*books))
        notice('Try: co learn "We deploy on Tuesdays" --tag decision')
    others = [one.language for one in shelf.user.look().notes if not shelf.user.tells(one)]
    if others and kind != "article" and not as_json:
        languages = ", ".join(sorted(set(others)))
        notice(f"{plural(len(others), 'memory')} of yours for {languages}: co knowledge list --all")
    articles = sum(len(book.store.names(ARTICLES)) for book in books) if kind == "memory" else 0
    if articles and not as_json:
        notice(f"{plural(articles, 'article')} beside: co knowledge list --kind article")
    elif shelf.folders and not as_json:
        notice("Beside these, folders are searched where they lie: co knowledge add-folder")
    notice_unread(sum(problems for *_, problems in read))


def _read(book: Notebook, kind: str) -> tuple[list[Note], int]:
    """The notes of this kind, and how many files could not be read."""
    notes, problems = list[Note](), 0
    if kind != "article":
        notes, problems = book.notes(), len(book.look().problems)
    if kind != "memory":
        articles, broken = book.pages.articles()
        notes, problems = notes + articles, problems + len(broken)
    return notes, problems


def _listed(found: _Found, kind: str, count: bool, use: Use | None) -> dict[str, Any]:
    if count:
        return {"categories": counts(note for _, note in found)}
    rows = [note_json(book, n) | ({"used": use.of(n)} if use else {}) for book, n in found]
    memories = [row for row in rows if row["kind"] == "memory"]
    articles = [row for row in rows if row["kind"] == "article"]
    for row in articles:
        del row["content"]  # it may be a book
    listed = {"memory": {"memories": memories}, "article": {"articles": articles}}
    return listed.get(kind) or listed["memory"] | listed["article"]


def _notice_totals(read: list[tuple[Notebook, list[Note], int]], kind: str) -> None:
    if kind == "memory":  # also those of other languages, which take room as well
        totals = [
            f"{len(book.look().notes)} of {book.policy.max_count} ({book.scope})"
            for book, *_ in read
        ]
    else:
        totals = [f"{len(notes)} ({book.scope})" for book, notes, _ in read]
    noun = {"memory": "memories", "article": "articles"}.get(kind, "notes")
    notice(f"\nTotal {noun}: {', '.join(totals)}")


def _notice_foreign(workspace: Workspace, in_user: bool) -> None:
    if workspace.trust.foreign and not in_user:
        notice("This folder is not trusted: you see its notes, but no model does.")
    elif not in_user and (new := workspace.new_notes()):
        notice(f"{len(new)} of these came with git, and no model sees them: co trust")


def _marks(book: Notebook, note: Note) -> str:
    """The same as in recall, and of a memory where it came from."""
    outside = outside_text(note) if note.kind == "memory" else ""
    return " ".join(filter(None, (marks(book, note), outside)))


def note_table(found: _Found, use: Use | None = None) -> None:
    """A line for each of these notes; with `use`, when each was recalled last."""
    rows = [
        (book.ref(n), span(n), *([use.of(n)[:10]] if use else []), _marks(book, n),
         ", ".join(n.tags), n.summary)
        for book, n in found
    ]  # fmt: skip
    kinds = {note.kind for _, note in found}
    last = "note" if len(kinds) > 1 else kinds.pop()
    table(("ref", "date", *(["used"] if use else []), "", "tags", last), rows)
