"""What a new text means for the notes that are there, and what stays known without the reader."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from handmade import opened

import co_cli
from co_cli.knowledge import Notebook, Shelf
from co_cli.knowledge.compare.relation import states_same

NOTES = (
    "We deploy on Tuesdays",
    "The project uses PostgreSQL 14",
    "Alice owns billing",
    "User prefers spaces",
    "The rent is paid by bank transfer",
)


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Notebook:
    book = opened(tmp_path_factory.mktemp("compare"))
    for text in NOTES:
        book.remember(text)
    return book


@pytest.mark.parametrize(
    ("text", "old"),
    [
        ("We moved the deploy to Thursdays", NOTES[0]),
        ("We migrated to PostgreSQL 16", NOTES[1]),
        ("Bob took over billing from Alice", NOTES[2]),
        ("I prefer tabs now", NOTES[3]),  # in the other voice
    ],
)
def test_a_text_in_any_words_names_the_note_that_it_updates(
    book: Notebook, text: str, old: str
) -> None:
    first, *_ = book.compare(text)
    assert (first.note.body, first.verdict, first.score > 0.8) == (old, "updates", True)
    assert book.outdated_by(text)[0].body == old


def test_what_is_noted_in_other_words_is_restated_and_not_updated(book: Notebook) -> None:
    found = book.compare("Deploys happen every Tuesday")
    assert [(one.note.body, one.verdict) for one in found] == [(NOTES[0], "restates")]
    assert book.outdated_by("Deploys happen every Tuesday") == []


@pytest.mark.parametrize("text", ["The kitchen has a new kettle", "Zebras graze beyond Timbuktu"])
def test_what_bears_on_nothing_here_names_no_note(book: Notebook, text: str) -> None:
    assert book.compare(text) == []


def test_the_same_words_are_no_matter_for_a_person(book: Notebook) -> None:
    """Red when a text that consolidates is compared all the same."""
    assert book.compare("we deploy on  Tuesdays!") == []


def test_a_text_that_is_only_worded_alike_is_similar(tmp_path: Path) -> None:
    """Red when wording counts for more than what the reader says, or how near it is for less."""
    with opened(tmp_path, reader=False) as book:
        book.remember("The project uses PostgreSQL 14")
        [one] = book.compare("The project uses PostgreSQL 16")
    assert (one.note.id, one.verdict, one.score, round(one.wording)) == (1, "similar", 0.0, 97)


def test_what_updates_a_note_restates_none_in_the_other_notebook(tmp_path: Path) -> None:
    """Red when each notebook is asked alone."""
    project, user = opened(tmp_path / "p"), opened(tmp_path / "u")
    shelf = Shelf(project, user)
    project.remember("We deploy on Tuesdays")
    user.remember("The deploy happens on Thursdays")
    found = [(home is project, one.verdict) for home, one in shelf.compare("We deploy on Thursday")]
    assert "updates" in {verdict for _, verdict in found}
    assert "restates" not in {verdict for _, verdict in found}
    assert shelf.outdated_by("We deploy on Thursday")[0][0] is project


def test_what_decay_joined_is_not_compared(tmp_path: Path) -> None:
    """Red when a summary of many facts is named as the one note that changes."""
    with opened(tmp_path) as book:
        book.remember("We deploy on Tuesdays", ["_consolidated", "_auto_decay"])
        assert book.outdated_by("We moved the deploy to Thursdays") == []


def test_notes_for_another_language_are_not_compared(tmp_path: Path) -> None:
    with opened(tmp_path) as book:
        book.remember(
            "Lines are at most 100 long", fields={"scope": "language", "language": "rust"}
        )
        assert len(book.outdated_by("Lines are at most 80 long now")) == 1
        book.languages = frozenset({"python"})
        assert book.outdated_by("Lines are at most 80 long now") == []


def test_two_sentences_state_one_fact_whatever_their_order() -> None:
    one, other = "We deploy on Tuesdays", "Deploys happen every Tuesday"
    assert states_same(one, other)
    assert states_same(other, one)
    assert not states_same(one, "We deploy on Thursdays")
    assert states_same(one, "we deploy on Tuesdays!")  # which needs no reader


def without(package: Path, *names: str) -> dict[str, str]:
    """What starts Python with a copy of Co in which these weights are broken."""
    shutil.copytree(Path(co_cli.__file__).parent, package / "co_cli", copy_function=_link)
    for name in names:
        path = package / "co_cli/knowledge/meaning/weights" / name
        path.unlink()
        path.write_bytes(b"broken")
    return {"PYTHONPATH": str(package)}


def _link(source: str, target: str) -> None:
    Path(target).symlink_to(source)


def run_in(package: Path, code: str, names: Sequence[str] = ("reader.bin",)) -> str:
    """What a program prints that uses that copy."""
    done = subprocess.run(
        [sys.executable, "-c", code], env=without(package, *names), cwd=package, text=True,
        capture_output=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_without_the_readers_weights_a_save_compares_words_alone(tmp_path: Path) -> None:
    """Red when broken weights stop a save, or a text is said to update what nobody read."""
    code = (
        "from co_cli.knowledge import Notebook\n"
        "from co_cli.knowledge.compare.relation import states_same, updated_texts\n"
        "book = Notebook('k')\n"
        "book.remember('We deploy on Tuesdays')\n"
        "book.remember('Staging is deployed on Wednesdays')\n"
        "print([one.verdict for one in book.compare('We deploy on Thursdays')])\n"
        "print(book.outdated_by('We moved the deploy to Thursdays'))\n"
        "print(states_same('Cats sleep', 'Cats sleep'), updated_texts('Cats run', ['Cats nap']))\n"
        "print(book.search.compare_notes(), book.unconfirmed())\n"
        "print([hit.note.id for hit in book.recall('when do we deploy')][:1])\n"
        "print([state for state, _ in book.recall('when do we deploy').degraded])\n"
    )
    assert run_in(tmp_path, code).splitlines() == [
        "['similar']",
        "[]",
        "True [False]",
        "0 []",
        "[1]",
        "['no reader']",
    ]
