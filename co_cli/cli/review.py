"""co knowledge review: settle the memories that newer ones seem to bring out of date."""

import click

from co_cli.cli.options import as_json, in_user, open_here
from co_cli.cli.output import ask, notice, on_terminal, progress, quote, say, to_json
from co_cli.editing import Editing
from co_cli.knowledge import Note, Notebook
from co_cli.results import span, undo_hint

_KEYS = {
    "u": "[u] link as an update", "r": "[r]eplace the older", "e": "[e]dit the older",
    "k": "[k]eep both as unrelated", "l": "[l]ater",
}  # fmt: skip


@click.command("review")
@in_user
@as_json
def review_command(in_user: bool, as_json: bool) -> None:
    """Go through the memories that a newer one seems to bring out of date, and settle each."""
    shelf = open_here().shelf
    books = (shelf.user,) if in_user else tuple(shelf)
    for book in books:
        with progress(f"Comparing {book.label}") as step:
            book.search.compare_notes(step)
    pairs = [(book, new, old) for book in books for new, old, _ in book.unconfirmed()]
    if as_json:
        rows = [{"newer": _row(book, new), "older": _row(book, old)} for book, new, old in pairs]
        to_json({"count": len(rows), "unconfirmed": rows})
    elif not pairs:
        notice("No memory seems to be out of date.")
    elif not on_terminal():
        for book, new, old in pairs:
            say(f"{book.ref(new)} seems to update {book.ref(old)}: {new.summary}")
    else:
        _settle(pairs)


def _row(book: Notebook, note: Note) -> dict[str, str]:
    return {"ref": book.ref(note), "content": note.body, "created": note.created}


def _settle(pairs: list[tuple[Notebook, Note, Note]]) -> None:
    gone = set[str]()
    for at, (book, new, old) in enumerate(pairs, 1):
        if gone & {new.path, old.path}:
            continue
        say(f"{at} of {len(pairs)}: memory {book.ref(new)} ({span(new)})")
        quote(new.body)
        say(f"seems to bring memory {book.ref(old)} out of date ({span(old)}):")
        quote(old.body)
        kept = old.protected or new.protected
        keys = {key: text for key, text in _KEYS.items() if key != "r" or not kept}
        answer = ask(", ".join(keys.values()), (*keys, "")) or "l"
        if answer == "u":
            book.link(new, updates=[old])
            say(f"✓ Memory {book.ref(new)} updates {book.ref(old)}. Undo: {undo_hint(book)}")
        elif answer == "k":
            book.link(new, related=[old])
            say(f"✓ Both hold. Undo: {undo_hint(book)}")
        elif answer == "r":
            book.merge([new, old], keep_first=True)  # which takes over what it updates
            gone.add(old.path)
            say(f"✓ Archived memory {book.ref(old)}. Undo: {undo_hint(book)}")
        elif answer == "e":
            gone.add(old.path)
            edited = Editing(book, old).run("vi")
            say("Nothing changed." if edited is old else f"✓ Edited memory {book.ref(edited)}.")
