"""Notes are skimmed at once and read closely when there is time; what was read is kept."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from cli import co, command
from hypothesis import given, settings
from hypothesis import strategies as st

from co_cli.knowledge import MemoryStore, Notebook
from co_cli.knowledge.store import disk

PARAPHRASES = {
    "User's main editor is Neovim, with a small config of their own": "what do I edit text with?",
    "We deploy on Thursdays after lunch": "when do releases go out?",
    "The invoices must be paid within two weeks": "how long do we have to settle bills?",
    "The apple cake needs four eggs and some cinnamon": "which spice goes into the dessert?",
}


def filled(root: Path) -> Notebook:
    book = Notebook(root)
    for text in PARAPHRASES:
        book.remember(text)
    return book


def vectors(root: Path) -> bytes:
    path = root / "knowledge.db-vectors"
    return path.read_bytes() if path.exists() else b""


def test_a_note_just_saved_is_found_in_other_words_by_the_next_process() -> None:
    """Red when a note has no vector until somebody reads it closely."""
    for text in PARAPHRASES:
        assert command("learn", text).code == 0
    for text, question in PARAPHRASES.items():
        found = json.loads(command("recall", question, "--json").out)
        assert found["results"][0]["content"] == text, question


def test_a_library_call_reads_nothing_closely_unasked(tmp_path: Path) -> None:
    """Red when recall or remember pays what is owed."""
    with filled(tmp_path) as book:
        for text, question in PARAPHRASES.items():
            assert book.recall(question)[0].note.body == text
        book.sync()
        assert (book.search.closely(), vectors(tmp_path)) == ((0, 4), b"")
        steps: list[tuple[int, int]] = []
        book.sync(closely=True, progress=lambda done, total: steps.append((done, total)))
        assert (book.search.closely(), steps[-1]) == ((4, 4), (4, 4))


def test_so_many_are_read_and_the_newest_first(tmp_path: Path) -> None:
    with filled(tmp_path) as book:
        assert book.search.read_closely(most=1) == 1
        assert book.search.closely() == (1, 4)
        book.remember("A fifth memory about the harbour")
        assert book.search.read_closely(most=1) == 1
        assert book.search.closely() == (2, 5)
        assert book.search.read_closely() == 3
        assert book.search.read_closely() == 0


@pytest.mark.parametrize("how", ["gone", "rubbish", "anew"])
def test_no_broken_index_costs_a_reading(tmp_path: Path, how: str) -> None:
    """Red when the vectors are kept in the index alone."""
    with filled(tmp_path) as book:
        book.sync(closely=True)
        answers = [book.recall(question)[0].score for question in PARAPHRASES.values()]
    kept = vectors(tmp_path)
    if how == "gone":
        os.unlink(tmp_path / "knowledge.db")
    elif how == "rubbish":
        (tmp_path / "knowledge.db").write_bytes(os.urandom(5000))
    with Notebook(tmp_path) as book:
        book.sync(anew=how == "anew")
        assert book.search.closely() == (4, 4)
        assert [book.recall(q)[0].score for q in PARAPHRASES.values()] == answers
    assert vectors(tmp_path) == kept


@pytest.mark.parametrize(("how", "left"), [("gone", 0), ("broken", 3)])
def test_a_vector_lies_in_one_place_and_when_it_is_lost_its_note_is_owed_again(
    tmp_path: Path, how: str, left: int
) -> None:
    """Red when the index holds a second copy, or recall fails for want of the first."""
    with filled(tmp_path) as book:
        book.sync(closely=True)
        assert book.search._index.lookup.db.execute("SELECT count(*) FROM vector").get == 0
    path = tmp_path / "knowledge.db-vectors"
    raw = bytearray(path.read_bytes())
    raw[500] ^= 1
    path.write_bytes(raw)
    if how == "gone":
        os.unlink(path)
    with Notebook(tmp_path) as book:
        for text, question in PARAPHRASES.items():
            found = book.recall(question)
            assert (found[0].note.body, found.degraded) == (text, ())
        assert book.search.closely() == (left, 4)


def test_a_changed_note_is_owed_again_and_the_others_are_not(tmp_path: Path) -> None:
    with filled(tmp_path) as book:
        book.sync(closely=True)
        note = book.notes()[0]
        Path(note.path).write_bytes(note.raw.replace(b"Neovim", b"Emacs"))
        assert book.search.closely() == (3, 4)


def test_a_purge_leaves_no_vector_of_what_it_purged_and_all_others() -> None:
    """Red when a purged note, or an older version of it, can still be compared with a guess."""
    for text in PARAPHRASES:
        assert co("learn", text).code == 0
    root = Path(json.loads(co("status", "--json").out)["notebooks"][0]["path"])
    with Notebook(root) as book:
        book.sync(closely=True)
        note = book.find(2)
        Path(note.path).write_bytes(note.raw.replace(b"after", b"before"))  # another version
        book.sync(closely=True)
        rows = vectors(root)
    assert co("forget", "2", "--purge", "--yes").code == 0
    left = vectors(root)
    assert (len(rows) - 64) // 400 == 5
    assert (len(left) - 64) // 400 == 3
    with Notebook(root) as book:
        book.sync()
        assert book.search.closely() == (3, 3)


def test_reindex_and_import_read_everything_and_status_says_so(tmp_path: Path) -> None:
    root = tmp_path / "p"
    root.mkdir()
    os.chdir(root)
    lines = "".join(json.dumps({"content": text}) + "\n" for text in PARAPHRASES)
    (tmp_path / "notes.jsonl").write_text(lines)
    assert co("knowledge", "import", str(tmp_path / "notes.jsonl"), "--yes").code == 0
    assert "Semantic index: 4 of 4 notes\n" in co("status").out
    os.unlink(root / ".co-cli" / "knowledge" / "knowledge.db-vectors")
    os.unlink(root / ".co-cli" / "knowledge" / "knowledge.db")
    assert co("recall", "cake").code == 0
    assert "Semantic index: 0 of 4 notes (co knowledge reindex" in co("status").out
    told = json.loads(co("knowledge", "reindex", "--json").out)["indexes"][0]
    assert (told["closely"], told["with_meaning"]) == (4, 4)


def test_a_folder_that_takes_no_file_is_read_all_the_same(tmp_path: Path) -> None:
    filled(tmp_path).close()
    (tmp_path / "knowledge.db-vectors").mkdir()
    with Notebook(tmp_path) as book:
        book.sync(closely=True)
        assert book.search.closely() == (4, 4)


def test_a_notebook_in_memory_is_read_closely_and_leaves_no_file(tmp_path: Path) -> None:
    """Red when the vectors of a notebook without a folder land in the working folder."""
    here = tmp_path / "here"
    here.mkdir()
    os.chdir(here)
    with Notebook(MemoryStore()) as book:
        for text in PARAPHRASES:
            book.remember(text)
        book.sync(closely=True)
        assert (book.search.closely(), os.listdir(here)) == ((4, 4), [])


@given(st.lists(st.tuples(st.sampled_from(["write", "delete", "read", "sync"]), st.integers(0, 4),
                          st.integers(0, 3)), max_size=12))  # fmt: skip
@settings(max_examples=15)
def test_once_paid_a_sync_equals_a_rebuild(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int, int]]
) -> None:
    """Red when a vector of another text or of the fast encoder stays in a passage's place."""
    root = tmp_path_factory.mktemp("law")
    texts = list(PARAPHRASES)
    (root / "memories").mkdir()
    with Notebook(root) as book:
        for verb, one, two in steps:
            path = root / "memories" / f"{one + 1:03d}-n.md"
            if verb == "write":
                head = f'---\nid: {one + 1}\ncreated: "2026-01-05T09:00:00+00:00"\n---\n\n'
                path.write_text(f"{head}{texts[two]}\n")
            elif verb == "delete":
                path.unlink(missing_ok=True)
            elif verb == "read":
                book.search.read_closely(most=two + 1)
            else:
                book.sync()
        book.sync(closely=True)

        def rows() -> object:
            with disk.locked(str(root / "knowledge.db-seal")):
                index = book.search._index
                assert index is not None
                query = """SELECT name, coalesce(v, kept(bits.hash, closely)), closely FROM file
                           JOIN bits USING (id) LEFT JOIN vector USING (id)"""
                return sorted(tuple(row) for row in index.lookup.db.execute(query))

        book.sync()
        before = rows()
        book.sync(anew=True)
        assert rows() == before
