"""co knowledge list: every memory on a line. Loads nothing that writes."""

import click

from co_cli.cli.options import as_json, complete_tag, in_user, open_here
from co_cli.cli.output import notice, notice_plain, notice_unread, table, to_json
from co_cli.knowledge import Note, Notebook
from co_cli.results import marks, note_json, span
from co_cli.verbs import counts


@click.command("list")
@click.option("-t", "--tag", default="", help="Only memories with this tag.",
              shell_complete=complete_tag)  # fmt: skip
@click.option("-c", "--count", is_flag=True, help="Only how many there are of each category.")
@in_user
@as_json
def list_command(
    tag: str = "", count: bool = False, in_user: bool = False, as_json: bool = False
) -> None:
    """List memories, this project's first, then your own."""
    workspace = open_here()
    shelf = workspace.shelf
    every = {book: book.look() for book in ((shelf.user,) if in_user else shelf)}
    found = [
        (book, note)
        for book, look in every.items()
        for note in look.notes
        if not tag or tag.lower() in (own.lower() for own in note.tags)
    ]
    categories = counts(note for _, note in found)
    if as_json:
        rows = [note_json(book, note) for book, note in found]
        limit = next(iter(every)).policy.max_count
        listed = {"categories": categories} if count else {"memories": rows}
        to_json({"count": len(rows), "limit": limit, **listed})
    elif found:
        if count:
            table(("category", "memories"), [(one, str(n)) for one, n in categories.items()])
        else:
            memory_table(found)
        totals = [f"{len(look.notes)} of {book.policy.max_count} ({book.scope})"
                  for book, look in every.items()]  # fmt: skip
        notice(f"\nTotal memories: {', '.join(totals)}")
        notice_plain([book.ref(note) for book, note in found if note.plain])
        if workspace.trust.foreign and not in_user:
            notice("This folder is not trusted: you see its notes, but no model does.")
        elif not in_user and (new := workspace.new_notes()):
            notice(f"{len(new)} of these came with git, and no model sees them: co trust")
    elif tag:
        notice(f"No memory has the tag {tag}.")
    else:
        notice("No memories saved yet.")
        notice('Try: co learn "We deploy on Tuesdays" --tag decision')
    notice_unread(sum(len(look.problems) for look in every.values()))


def memory_table(memories: list[tuple[Notebook, Note]]) -> None:
    """A line for each of these memories."""
    rows = [
        (book.ref(n), span(n), marks(n, book.today()), ", ".join(n.tags), n.summary)
        for book, n in memories
    ]
    table(("ref", "date", "", "tags", "memory"), rows)
