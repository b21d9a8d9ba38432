"""Recall as people use it: what is found, what comes first, what is not answered."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cli import in_time
from handmade import put_article

from co_cli.errors import EmbedderUnavailable
from co_cli.knowledge.meaning.encoders import Meaning
from co_cli.knowledge.notebook import Notebook
from co_cli.knowledge.search import words
from co_cli.knowledge.search.hits import Filters
from co_cli.knowledge.search.query import Query
from co_cli.knowledge.shelf import Shelf
from co_cli.knowledge.store import disk
from co_cli.knowledge.store.files import is_settled

# What each note is called here, what it says, its tags; then what must find it, and first.
NOTES: dict[str, tuple[str, list[str], list[str]]] = {
    "async": (
        "User prefers async/await over callbacks", ["preference"],
        ["async/await", "async", "await", "callback", "asyncawait", "calbacks"],
    ),
    "store": (
        "Sessions are kept by session_store.py in the web folder", [],
        ["session_store.py", "session_store", "store.py", "SESSION_STORE.PY", "ssion_sto"],
    ),
    "alchemy": (
        "The models use SQLAlchemy in declarative style", ["python"],
        ["SQLAlchemy", "sqlalchemy", "alchemy", "where do we use sqlalch", "sqlalchmy"],
    ),
    "version": ("Importers were rewritten in v0.8", [], ["v0.8", "0.8", "importers"]),
    "issue": ("The flaky test is issue #1234", [], ["#1234", "1234", "which test is issue #1234"]),
    "cpp": ("The codec is written in C++", [], ["C++", "c++", "what is written in C++?"]),
    "csharp": ("The tray icon is written in C#", [], ["C#", "c# tray", "anything in C#?"]),
    "postgres": (
        "PostgreSQL migrations run at night", ["database"],
        ["postg migr", "postg", "migrations", "migratoin"],
    ),
    "camel": (
        "parseHttpHeader trims white space", [],
        ["parseHttpHeader", "parsehttpheader", "http header", "HttpHeader"],
    ),
    "path": (
        "Logs end up in /var/log/co/errors.txt", [],
        ["/var/log/co/errors.txt", "errors.txt", "var/log", "where is errors.txt"],
    ),
    "chinese": ("我喜欢深色主题和等宽字体", [], ["深色", "深色主题", "色", "等宽字"]),
    "japanese": ("東京の会議は火曜日です", [], ["東京", "会議", "火"]),
    "katakana": ("データベースのバックアップは毎日です", [], ["データ", "バックアップ", "ベース"]),
    "hangul": ("서울 회의는 월요일입니다", [], ["서울", "회의"]),
    "flag": ("Tests run with --no-cov --maxfail=1", [], ["--no-cov", "no-cov", "maxfail"]),
    "tagged": ("Lines are at most 100 characters", ["code-style"], ["code-style", "code style"]),
    "puppy": ("We brought home a puppy for the children", [], ["which dog did the kids get"]),
}  # fmt: skip


def fill(root: Path) -> dict[int, str]:
    """Write the notes by hand; which number is which."""
    numbers = {}
    (root / "memories").mkdir(parents=True)
    for number, (name, (text, tags, _)) in enumerate(NOTES.items(), 1):
        day = f"2026-01-{number:02d}T10:00:00+00:00"
        head = f'---\nid: {number}\ncreated: "{day}"\ntags: {tags}\n---\n\n'.replace("'", "")
        (root / "memories" / f"{number:03d}-x.md").write_text(f"{head}{text}\n")
        numbers[number] = name
    return numbers


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Notebook, dict[int, str]]]:
    root = tmp_path_factory.mktemp("recall")
    numbers = fill(root)
    with Notebook.open(root) as book:
        yield book, numbers


@pytest.mark.parametrize(
    ("name", "query"), [(name, query) for name, (*_, asked) in NOTES.items() for query in asked]
)
def test_what_was_said_is_found_first(
    notes: tuple[Notebook, dict[int, str]], name: str, query: str
) -> None:
    book, numbers = notes
    hits = book.recall(query)
    assert [numbers[hit.note.id] for hit in hits[:1]] == [name]
    assert (hits[0].why != "", hits.degraded) == (True, ())


@pytest.mark.parametrize(
    "query", ["favourite pizza topping", "capital of France", "Kubernetes ingress controller"]
)
def test_a_question_about_something_else_gets_no_sure_answer(
    notes: tuple[Notebook, dict[int, str]], query: str
) -> None:
    """Red when the floor under what counts as an answer falls."""
    book, _ = notes
    assert [hit.note.body for hit in book.recall(query) if not hit.weak] == []
    assert book.recall(query, fast=True) == []
    assert book.recall(query, strict=False) != []


def test_a_letter_that_is_a_word_finds_a_note_that_shares_nothing_else(tmp_path: Path) -> None:
    """Red when scripts without spaces are looked for by pairs and threes of letters only."""
    book = Notebook.open(tmp_path)
    for text in ("歯医者の次の予約は十二月八日", "カレーには味噌を入れる", "犬を病院に連れて行く"):
        book.remember(text)
    hits = book.recall("虫歯を治したい")
    assert [(hit.note.id, hit.weak) for hit in hits[:1]] == [(1, True)]


@pytest.mark.parametrize("size", [12, 40])
@pytest.mark.parametrize("reader", [True, False])
def test_a_word_that_one_note_alone_has_puts_it_first(
    tmp_path: Path, size: int, reader: bool
) -> None:
    book = Notebook.open(tmp_path, reader=reader)
    for number in range(size):
        book.remember(f"The deploy of service {number} is on day {number}")
    book.remember("The xylophone of the office is out of tune")
    assert book.recall("xylophone")[0].note.id == size + 1
    assert book.recall("the service of the xylophone")[0].note.id == size + 1


def test_words_that_only_stand_inside_others_break_nothing(tmp_path: Path) -> None:
    """Red when a word without a term of its own has no weight: every note was read instead."""
    book = Notebook.open(tmp_path)
    book.remember("it's nice, that's what's up here with prezorbing")
    for query in ("it's frobnication", "what's zorbing zorb", "zorbing zorb", "'s", "it's"):
        assert book.recall(query).degraded == ()


def test_a_million_like_words_do_not_stop_an_answer(tmp_path: Path) -> None:
    """G10. Red when everything that begins like a word is looked for."""
    root = tmp_path
    (root / "memories").mkdir()
    body = " ".join(f"qx{number:x}" for number in range(20_000))
    head = '---\nid: 1\ncreated: "2026-01-01T10:00:00+00:00"\n---\n\n'
    (root / "memories" / "001-x.md").write_text(head + body)
    book = Notebook.open(root)
    book.sync()
    with in_time(20):
        assert [hit.note.id for hit in book.recall("qx foo")] == [1]
        book.recall("june 1 1900 " * 300)
        book.recall("字" * 4000)
        found = book.recall(" ".join(f"zz{number}" for number in range(500)))
    assert found.degraded == ()


def test_every_exact_match_is_told_when_asked_for(tmp_path: Path) -> None:
    """Red when candidates are cut before the limit is known."""
    book = Notebook.open(tmp_path)
    (tmp_path / "memories").mkdir()
    for number in range(1, 301):
        day = f'---\nid: {number}\ncreated: "2026-01-01T10:00:00+00:00"\n---\n\n'
        (tmp_path / "memories" / f"{number:03d}-x.md").write_text(f"{day}Host {number} is a node\n")
    assert len(book.recall("node", limit=1000)) == 300
    assert len(book.recall("node", limit=7)) == 7


def test_the_index_taken_away_under_a_watching_process(tmp_path: Path) -> None:
    """G4. Red when a rebuild takes in only what the kernel told of."""
    with Notebook.open(tmp_path, watch=True) as book:
        for number in range(12):
            book.remember(f"Cats sleep {number} hours")
        assert len(book.recall("cats", limit=20)) == 12
        os.unlink(tmp_path / "knowledge.db")
        assert len(book.recall("cats", limit=20)) == 12
        (tmp_path / "knowledge.db").write_bytes(b"rubbish")
        assert len(book.recall("cats", limit=20)) == 12


def test_an_edit_is_not_forgotten_when_a_search_is_stopped(tmp_path: Path) -> None:
    """Red when what the kernel told is lost with the search that was to use it."""

    class Stop(BaseException):
        pass

    with Notebook.open(tmp_path, watch=True) as book:
        book.remember("Cats sleep")
        assert book.recall("cats")

        def stopped(*_: object) -> None:
            raise Stop

        path = tmp_path / "memories" / "001-cats-sleep.md"
        path.write_text(path.read_text().replace("Cats", "Dogs"))
        with pytest.raises(Stop):
            book.sync(progress=stopped)
        assert [hit.note.body for hit in book.recall("dogs")] == ["Dogs sleep"]


def test_the_title_of_a_memory_is_just_a_header_field(tmp_path: Path) -> None:
    book = Notebook.open(tmp_path)
    (tmp_path / "memories").mkdir()
    head = '---\nid: 1\ncreated: "2026-01-01T10:00:00+00:00"\ntitle: Zanzibar\n---\n\n'
    (tmp_path / "memories" / "001-x.md").write_text(f"{head}We went by boat\n")
    assert [hit.passage for hit in book.recall("boat")] == ["We went by boat"]


def test_a_filter_is_not_a_ranking(tmp_path: Path) -> None:
    book = Notebook.open(tmp_path)
    book.remember("Cats sleep", ["animals"])
    book.remember("Cats eat", ["food"])
    found = book.recall("cats", filters=Filters(tags=("food",)))
    assert [hit.note.body for hit in found] == ["Cats eat"]
    found = book.recall("parliament budget", filters=Filters(tags=("food",)))
    assert [(hit.note.body, hit.weak) for hit in found] == [("Cats eat", True)]


def test_threads_with_notebooks_of_their_own_agree(tmp_path: Path) -> None:
    Notebook.open(tmp_path).remember("Cats sleep")
    found: list[int] = []

    def ask() -> None:
        with Notebook.open(tmp_path) as book:
            found.append(len(book.recall("cats")))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [1] * 8


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("what did we decide yesterday", "2026-02-08"),
        ("what did we decide this week", "2026-02-09"),
        ("what did we decide last week", "2026-02-08"),
        ("what did we decide last month", "2026-01-12"),
        ("what did we decide three months ago", "2025-11-10"),
        ("what did we decide in 2024", "2024-06-01"),
        ("what did we decide in November 2025", "2025-11-10"),
        ("what did we decide on 2024-06-01", "2024-06-01"),
    ],
)
def test_a_day_can_be_told_as_people_tell_it(tmp_path: Path, query: str, first: str) -> None:
    """Today is Monday, the ninth of February 2026. Red when the reader, which is not told when a
    note was written, has the last word about a question with a date in it."""
    (tmp_path / "memories").mkdir()
    days = ["2026-02-09", "2026-02-08", "2026-01-12", "2025-11-10", "2025-08-20", "2024-06-01"]
    days.append("2026-02-20")  # from a computer whose clock is ahead
    for number, day in enumerate(days, 1):
        head = f'---\nid: {number}\ncreated: "{day}T09:00:00+00:00"\n---\n\n'
        colour = "red blue green white black yellow pink".split()[number - 1]
        text = f"{head}We decided to paint the office {colour}\n"
        (tmp_path / "memories" / f"{number:03d}-x.md").write_text(text)
    book = Notebook(tmp_path, clock=lambda: datetime(2026, 2, 9, 12, tzinfo=UTC))
    assert book.recall(query)[0].note.created[:10] == first


@pytest.mark.parametrize(
    ("word", "terms"),
    [
        ("struck", ["strike"]),
        ("television", ["tv"]),
        ("py", ["python"]),
        ("kids", ["child"]),
        ("l'os", ["os"]),
        ("rock'n'roll", ["rock", "roll"]),
    ],
)
def test_a_word_is_looked_for_as_its_kin_and_by_its_parts(word: str, terms: list[str]) -> None:
    """Red when a form has no base, or a part of two letters is dropped."""
    assert list(words.terms(word)) == terms


def test_a_question_with_a_zero_in_it_is_answered_by_the_index(tmp_path: Path) -> None:
    """Red when it ends what SQLite is asked, so that the index is built anew for nothing."""
    book = Notebook(tmp_path)
    book.remember("Releases go through qzfrobnicator")
    found = book.recall("rele\0 qzfrobnicator\0")
    assert ([hit.note.id for hit in found], found.degraded) == ([1], ())


def test_a_word_of_a_question_is_found_inside_a_longer_one(tmp_path: Path) -> None:
    """Red when only a whole question is looked for inside words, and not each word of it."""
    book = Notebook(tmp_path)
    book.remember("Releases go through qzfrobnicator")
    book.remember("The kitchen has a new kettle")
    assert book.recall("who knows about obnicat")[0].note.id == 1
    assert [hit.note.id for hit in book.recall("who knows about obnicat", fast=True)] == [1]


def test_half_a_word_counts_beside_a_whole_one_but_half_a_name_does_not(tmp_path: Path) -> None:
    """Red when the beginning of a word is looked for only where nothing else matches, or a name
    is taken for the beginning of another word."""
    book = Notebook(tmp_path)
    book.remember("The models use SQLAlchemy in declarative style")
    book.remember("We use tabs in makefiles")
    book.remember("Marketing gets the report on Monday")
    assert book.recall("where do we use sqlalch")[0].why.startswith("words: use, sqlalch")
    assert "Mark" not in book.recall("What did Mark report?")[0].why


def test_an_article_is_found_by_its_title(tmp_path: Path) -> None:
    """Red when an article's title is in the index and not in what is looked at closely."""
    put_article(tmp_path, "x.md", "Mortgages in Denmark", "The rate is fixed for thirty years.")
    [hit] = Notebook(tmp_path).recall("mortgages in denmark")
    assert (hit.why, hit.note.title) == ("exact text", "Mortgages in Denmark")


def test_one_letter_that_is_a_word_is_found_inside_another(tmp_path: Path) -> None:
    """Red when a single letter of a script without spaces is looked for as a whole word alone."""
    book = Notebook(tmp_path)
    book.remember("会議室に黒猫がいます")
    book.remember("明日は雨です")
    assert [hit.note.id for hit in book.recall("where is the 猫")] == [1]


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("who was there on 5 may", [(0, 5, 5)]),
        ("what was planned for may 2025", [(2025, 5, 0)]),
        ("who said so in March?", [(0, 3, 0)]),
        ("who may deploy", []),
        ("how long did they march", []),
    ],
)
def test_may_and_march_are_months_only_where_they_are_told_as_such(
    text: str, days: list[tuple[int, int, int]]
) -> None:
    """Red when a day or a year beside the word does not make it a month, or nothing has to."""
    assert Query(text).days == days


def test_a_long_note_does_not_take_every_place(tmp_path: Path) -> None:
    """Red when candidates are counted by passages and not by notes."""
    (tmp_path / "memories").mkdir()
    for number in range(1, 31):
        text = f"Note {number} about a zebra"
        if number == 30:
            text = "\n\n".join(f"Paragraph {at} about a zebra, " + "x " * 300 for at in range(90))
        head = f'---\nid: {number}\ncreated: "2026-01-{number:02d}T09:00:00+00:00"\n---\n\n'
        (tmp_path / "memories" / f"{number:03d}-x.md").write_text(f"{head}{text}\n")
    book = Notebook.open(tmp_path)
    assert len(book.recall("zebra", limit=30)) == 30
    assert len(book.recall("which note is about the zebra", limit=30)) >= 29


def test_a_note_that_holds_a_question_is_ranked_like_any_other(tmp_path: Path) -> None:
    """Red when asking something counts against a note, or for the note made after it."""
    book = Notebook(tmp_path)
    book.remember("Which city hosts the billing servers? Frankfurt.")
    book.remember("The platform team hosts the billing wiki")
    for query in ("where are the billing servers", "what city are the billing servers hosted in"):
        assert book.recall(query)[0].note.id == 1
        assert [hit.note.id for hit in book.recall(query, fast=True)] == [1, 2]


GUESSED = [
    ("The API allows 100 requests per minute", ["capital of Peru", "capital of peru"]),
    ("The malicious uploads go to quarantine", ["capital of Mali", "what is the capital of mali?"]),
    ("User prefers pytest over unittest", ["pytets", "who wrote pytets"]),
    ("The Kubernetes cluster lives in Frankfurt", ["kuberntes", "is there a kuberntes"]),
]


@pytest.mark.parametrize(("note", "queries"), GUESSED)
def test_a_word_that_was_guessed_is_never_a_sure_match(
    tmp_path: Path, note: str, queries: list[str]
) -> None:
    """Red when a corrected typo, or the beginning of another word, counts like the word itself."""
    book = Notebook(tmp_path)
    book.remember(note)
    for query in queries:
        found = book.recall(query, fast=True)
        assert [(hit.note.body.strip(), hit.weak) for hit in found] == [(note, True)]


def test_a_question_that_nobody_answered_has_no_answer(tmp_path: Path) -> None:
    """Red when some other note is told as the answer to a question that is the last note."""
    book = Notebook(tmp_path)
    book.remember("The garden gate is painted green")
    book.remember("How long may the parking ticket be used?")
    [hit] = book.recall("how long may the parking ticket be used")
    assert (hit.note.id, hit.why) == (2, "exact text")


def test_more_notes_of_like_meaning_than_are_looked_at_are_no_trouble(tmp_path: Path) -> None:
    """Red when the index gives up once more notes are near in meaning than it keeps."""
    (tmp_path / "memories").mkdir()
    places = "kitchen garden cellar office garage attic".split()
    fruits = "apple pear plum cherry peach lemon melon mango grape fig".split()
    texts = [f"The {fruit} is kept in the {place}" for fruit in fruits for place in places]
    for number, text in enumerate(texts, 1):
        head = f'---\nid: {number}\ncreated: "2026-01-05T09:00:00+00:00"\n---\n\n'
        (tmp_path / "memories" / f"{number:03d}-x.md").write_text(f"{head}{text}\n")
    found = Notebook(tmp_path).recall("where do we store fruit")
    assert (found.degraded, {hit.why for hit in found}) == ((), {"meaning"})


def test_vectors_that_are_owed_are_made_when_the_embedder_answers(tmp_path: Path) -> None:
    """Red when the sum of signatures says that all is well while vectors are owed."""

    class Wavering:
        name, dim, down, made = "wavering", 256, True, 0

        def documents(self, texts: Sequence[str]) -> list[bytes]:
            self.query("")
            Wavering.made += len(texts)
            return [bytes([1]) * 256 for _ in texts]

        def query(self, _: str) -> bytes:
            if Wavering.down:
                raise EmbedderUnavailable("it is down")
            return bytes([1]) * 256

    (tmp_path / "memories").mkdir()
    path = tmp_path / "memories" / "001-x.md"
    path.write_text('---\nid: 1\ncreated: "2026-01-01T10:00:00+00:00"\n---\n\nCats sleep\n')
    while not is_settled(disk.signature(path.stat())):  # an edit could still hide in the tick
        pass
    for _ in range(2):
        with Notebook.open(tmp_path, embedder=Wavering) as book:
            found = book.recall("cats")
            assert [hit.note.id for hit in found] == [1]
            assert found.degraded == (("no meaning", "searched by words alone: it is down"),)
    Wavering.down = False
    with Notebook.open(tmp_path, embedder=Wavering) as book:
        found = book.recall("cats")
        assert [hit.note.id for hit in found] == [1]
        assert (Wavering.made, found.degraded) == (1, ())


def test_without_sqlite_vec_words_still_find(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Red when a missing distance function costs the whole index."""
    packages = tmp_path / "packages"
    packages.mkdir()
    monkeypatch.setattr(sys, "path", [str(packages)])
    book = Notebook.open(tmp_path)
    book.remember("Cats sleep")
    found = book.recall("cat")
    assert [hit.note.id for hit in found] == [1]
    reason = "searched by words alone: the package sqlite-vec is not installed"
    assert found.degraded == (("no meaning", reason),)


def test_a_hit_says_where_in_its_passage_the_words_stand(tmp_path: Path) -> None:
    """Red when `Hit.marks` is empty or points elsewhere: the highlight on the screen would be."""
    book = Notebook.open(tmp_path)
    book.remember("Backups of Staging run at night; the backup host is vega")

    def marked(query: str) -> list[str]:
        [hit] = book.recall(query)
        return [hit.passage[start:end] for start, end in hit.marks]

    assert marked("staging  run") == ["Staging run"]
    assert marked("which host is the backup on") == ["Backups", "backup", "host"]


def test_in_other_languages_letters_by_threes_stand_for_meaning(tmp_path: Path) -> None:
    """Red when what is shorter than three letters counts as well: forms of a word are apart."""
    book = Notebook.open(tmp_path, embedder=Meaning)
    book.remember("Der Schlüsselbund hängt neben der Haustür")
    book.remember("Die Mülltonne wird montags geleert")
    book.remember("Der Zähler steht im Keller links")
    [hit] = book.recall("schlüsselbünde haustüren")
    assert hit.features["meaning"] == pytest.approx(3.113)


def test_in_a_small_notebook_letters_count_that_every_note_has(tmp_path: Path) -> None:
    """Red when what three notes of three are about tells nothing about any of them."""
    book = Notebook(tmp_path)
    book.remember("Der Schlüsselbund hängt neben der Haustür")
    book.remember("Die Schlüsselkarte liegt im Büro")
    book.remember("Ein Schlüsseldienst kostet achtzig Euro")
    assert sorted(hit.note.id for hit in book.recall("wohnungsschlüsseln")) == [1, 2, 3]


def test_filters_hold_where_letters_stand_for_meaning(tmp_path: Path) -> None:
    """Red when a question in another language finds what was filtered out, or nothing."""
    book = Notebook.open(tmp_path)
    book.remember("Der Schlüsselbund hängt neben der Haustür", ["flur"])
    book.remember("Die Haustüren und Schlüssel sind neu", ["keller"])
    book.remember("Die Mülltonne wird montags geleert", ["flur"])
    found = book.recall("schlüsselbünde haustüren", filters=Filters(tags=("flur",)))
    assert [hit.note.id for hit in found] == [1]


@pytest.mark.parametrize("name", ["zorevode", "notabibro", "v3.14.15", "MeplikuError"])
def test_a_name_that_one_note_has_finds_it_whatever_words_stand_by(
    tmp_path: Path, name: str
) -> None:
    """Red when what is near in meaning, has the frequent words, or another form of the name comes
    before the only note that has it as it is written."""
    (tmp_path / "memories").mkdir()
    for number in range(1, 131):
        text = f"We said that the report about box {number} is ready for the customer on Friday"
        text = f"Restart {name} by hand" if number == 40 else text
        text = f"{text}, and so are the {name}s" if number == 41 else text
        (tmp_path / "memories" / f"{number:03d}-x.md").write_text(
            f'---\nid: {number}\ncreated: "2026-01-01T10:00:00+00:00"\n---\n\n{text}\n'
        )
    book = Notebook(tmp_path)
    asked = f"what did we say on Friday about the customer report and {name}"
    assert book.recall(asked)[0].note.id == 40


@pytest.mark.parametrize(
    ("query", "first", "others"),
    [
        ("make check", "Run make check", ["check what we make: check, make, check make-up"]),
        ("v0.8", "since v0.8 it works", ["v0 and 0.8.1, v0.80, 8 v0"]),
        ("ci-fast", "Nothing here", ["ci is fast, a fast ci, fast ci"]),
    ],
)
def test_what_stands_there_to_the_letter_comes_first(
    tmp_path: Path, query: str, first: str, others: list[str]
) -> None:
    """Red when exact text, as whole words or as a tag, no longer comes before what only has the
    words, however often and however new."""
    book = Notebook.open(tmp_path)
    book.remember(first, ["ci-fast"] if query == "ci-fast" else [])
    for number in range(3):
        for other in others:
            book.remember(f"{other} ({number})")
    assert book.recall(query)[0].note.body == first


def test_without_an_index_the_best_match_is_first_too(tmp_path: Path) -> None:
    """Red when notes that are only read through come by their date."""
    book = Notebook.open(tmp_path, backend="grep")
    book.remember("Deploys go out on Thursday")
    book.remember("Thursday is the day for cake")
    assert [hit.note.id for hit in book.recall("deploys go out thursday")] == [1, 2]


def test_a_recall_is_its_hits_and_says_how_it_searched(tmp_path: Path) -> None:
    """Red when a count or a state is left behind somewhere instead of being returned."""
    book = Notebook.open(tmp_path)
    for number in range(10):
        book.remember(f"Cats number {number} sleep")
    found = book.recall("cats", limit=2)
    first, second = found
    assert (len(found), found[0], found[-1], list(found[:1])) == (2, first, second, [first])
    assert (found == [first, second], found != [], bool(found)) == (True, True, True)
    assert (found.searched, found.matched, found.degraded) == (10, 10, ())
    nothing = book.recall("parliament budget")
    assert (bool(nothing), nothing == [], nothing.searched, nothing.matched) == (
        False, True, 10, 0,
    )  # fmt: skip


def test_a_shelf_adds_up_what_its_notebooks_searched(tmp_path: Path) -> None:
    """Red when one notebook's counts, missing files or troubles stand for both."""
    project = Notebook.open(tmp_path / "project", backend="grep")
    user = Notebook(tmp_path / "user", scope="user")
    project.remember("Cats sleep in the barn")
    user.remember("Cats sleep in the house")
    user.remember("The rent is paid by bank transfer")
    found = Shelf(project, user).recall("cats", 1)
    assert [book.scope for book, _ in found] == ["project"]
    assert (found.searched, found.matched, found.degraded) == (3, 2, ())
    assert Shelf(project, user).recall("cats", scope="user").searched == 2
