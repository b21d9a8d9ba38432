"""A notebook's life: save, say again, collide, protect, decay, undo, forget. Touches no real home.

Run it: python scripts/demo_memory_lifecycle.py
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from co_cli.errors import Protected
from co_cli.knowledge import Notebook, Policy, load_internal_knowledge


def check(what: str, truth: bool) -> None:
    """Say that this holds, or stop."""
    if not truth:
        raise SystemExit(f"  ✗ {what}")
    print(f"  ✓ {what}")


def numbers(book: Notebook) -> list[int]:
    """The numbers of the notes there are."""
    return [note.id for note in book.notes()]


def saving(book: Notebook) -> None:
    """Save, recall, the same again, and a collision both ways."""
    print("Save and recall")
    first = book.remember("We use PostgreSQL 14", ["decision"])
    print(f"    {first.note.raw.decode().replace(chr(10), chr(10) + '    ').rstrip()}")
    check("it is a plain file", Path(first.note.path).is_file())
    check("recall finds it", [hit.note.id for hit in book.recall("postgresql")] == [1])

    print("\nThe same again")
    again = book.remember("we use  PostgreSQL 14.", ["database"])
    check("one note, with the tags of both", again.note.tags == ["decision", "database"])
    check("nothing was added", numbers(book) == [1])
    book.undo()
    check("undo brings the old wording back", book.find(1).raw == first.note.raw)

    print("\nSomething close to it")
    other = book.remember("We use PostgreSQL 16", ["decision"])
    (twin, score), *_ = other.similar
    print(f"    {score:.0f}% like memory {twin.id}: {twin.summary}")
    check("with nobody to ask, both are kept", numbers(book) == [1, 2])
    book.link(other.note, updates=[twin])
    hits = book.recall("postgresql")
    check("an update comes first, the old note after it", [h.note.id for h in hits] == [2, 1])
    check("and is shown as earlier", hits[1].updated_by is not None)
    newer = book.remember("We use PostgreSQL 17", ["decision"], replaces="2")
    check("a replacement updates what the replaced one did", newer.note.meta["updates"] != [])
    check("which is archived, not lost", [note.id for _, note in book.archived()] == [2])


def ageing(book: Notebook) -> None:
    """Fill the notebook until one save too many."""
    print(f"\nDecay: the limit here is {book.policy.max_count}")
    book.protect(1)
    try:
        book.forget(1)
    except Protected as refusal:
        print(f"    {refusal}. {refusal.hint}")
    check("a protected note is not forgotten", 1 in numbers(book))
    for place in ("Oslo", "the basement", "a cupboard under the stairs"):
        saved = book.remember(f"There is a build machine in {place}")
    check("below the limit nothing decays", saved.decayed == [])
    saved = book.remember("The office closes at six")
    decayed = [note.id for note in saved.decayed]
    check("the save that crosses it moves the two oldest", decayed == [3, 4])
    check("not the protected one", 1 in numbers(book))
    assert saved.summary is not None
    print("    " + saved.summary.body.replace("\n", "\n    "))
    inside = book.inside(4)
    check("their words live on, by number", inside is not None and "Oslo" in inside[1])

    print("\nUndo takes back the decay and keeps the save")
    entry = book.undo()
    check("what was undone is the decay", entry.op == "decay")
    check("all of them are there", numbers(book) == [1, 3, 4, 5, 6, 7])


def leaving(book: Notebook) -> None:
    """Forget and restore."""
    print("\nForget and restore")
    raw = book.find(7).raw
    book.forget(7)
    check("it is gone from the notes", 7 not in numbers(book))
    check("its number is not used again", book.next_id() > 7)
    book.restore(7)
    check("and it comes back, byte for byte", book.find(7).raw == raw)
    ops = [entry.op for entry in book.store.entries()]
    print(f"    the journal: {', '.join(ops)}")
    check("everything that happened is on record", ops[-2:] == ["forget", "restore"])


def main() -> None:
    """Everything, in a home and a project that are gone afterwards."""
    with tempfile.TemporaryDirectory() as place:
        home, project = Path(place, "home"), Path(place, "home", "shop")
        knowledge = project / ".co-cli" / "knowledge"
        knowledge.mkdir(parents=True)
        for name in [name for name in os.environ if name.startswith(("XDG_", "CO_CLI_"))]:
            del os.environ[name]
        os.environ["HOME"] = str(home)
        os.chdir(project)
        (knowledge / "context.md").write_text("# Project\n\n- Name: shop\n")
        check("the context is loaded", "Name: shop" in (load_internal_knowledge() or ""))
        print()
        book = Notebook(knowledge, policy=Policy(max_count=5))
        saving(book)
        ageing(book)
        leaving(book)
        os.chdir("/")
    print("\nAll of it holds.")


if __name__ == "__main__":
    main()
