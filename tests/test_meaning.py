"""What a text means, as a vector: the pieces, the two encoders, and the vectors that are kept."""

from __future__ import annotations

import base64
import json
import math
import os
import subprocess
import sys
import time
from pathlib import Path
from threading import Thread

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from co_cli.errors import EmbedderUnavailable
from co_cli.knowledge.meaning.encoders import (
    DIM,
    LONGEST,
    WEIGHTS,
    Meaning,
    broken_weights,
    built_in,
)
from co_cli.knowledge.meaning.wordpiece import tagged, words
from co_cli.knowledge.search.vectors import Vectors

GOLDEN = Path(__file__).parent / "data" / "golden_vectors.jsonl"


def cosine(one: bytes, other: bytes) -> float:
    a, b = memoryview(one).cast("b"), memoryview(other).cast("b")
    dot: int = sum(x * y for x, y in zip(a, b, strict=True))
    return dot / math.sqrt(sum(x * x for x in a) * sum(y * y for y in b))


def test_the_runtime_gives_what_the_training_gave() -> None:
    """Red when a layer, the tokenizer or a weight is read otherwise than it was trained."""
    rows = [json.loads(line) for line in GOLDEN.read_text(encoding="utf-8").splitlines()]
    assert len(rows) == 100
    meaning = built_in()
    for row in rows:
        for read, told in ((meaning.closely, row["careful"]), (meaning.quickly, row["fast"])):
            assert cosine(read(row["text"]), base64.b64decode(told)) >= 0.995, row["text"]


@pytest.mark.parametrize("manner", ["quickly", "closely"])
def test_what_means_the_like_is_near(manner: str) -> None:
    read = getattr(built_in(), manner)
    cat, kitten, shares = map(
        read, ("The cat sat on the mat", "A kitten rests on the rug", "Shares fell on Monday")
    )
    assert cosine(cat, kitten) > 0.3
    assert cosine(cat, shares) < 0.2


def test_both_encoders_share_one_space() -> None:
    """Red when the table was trained towards another encoder than the one that ships."""
    meaning = built_in()
    for text in ("User prefers pytest over unittest", "The backups are made at night in Frankfurt"):
        assert cosine(meaning.quickly(text), meaning.closely(text)) > 0.6


@pytest.mark.parametrize(
    "text",
    [
        "", " \n\t", "?!.,", "\u200b\u2028", "東京の会議は火曜日です", "我喜欢深色主题和等宽字体",
        "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "Wir deployen immer donnerstags um 14 Uhr", "Les factures doivent être payées avant le 15",
        "Las facturas se deben pagar antes del día quince", "Мы всегда деплоим по четвергам",
    ],
)  # fmt: skip
def test_what_is_not_english_has_no_meaning_here(text: str) -> None:
    """Red when a foreign text or a hash is guessed at."""
    assert built_in().documents([text]) == [bytes(DIM)] == [built_in().query(text)]


@pytest.mark.parametrize(
    "text",
    ["The project uses FastAPI", "Jobs run on Celery", "Our VPN is OpenVPN", "deploy day",
     "feline predation", "CTEs instead of subqueries", "which db?", "parse headers",
     "User wants trailing commas, lowercase keywords, and CTEs instead of subqueries."],
)  # fmt: skip
def test_short_and_technical_english_has_a_meaning(text: str) -> None:
    assert any(built_in().quickly(text))


@given(st.lists(st.text(max_size=60), min_size=2, max_size=4))
@example(["the same note", "a longer note beside it, which would change how a batch is filled"])
def test_a_vector_depends_on_its_text_alone(texts: list[str]) -> None:
    meaning = built_in()
    assert meaning.documents(texts) == [meaning.documents([text])[0] for text in texts]


def test_many_texts_at_once_get_the_same_vectors() -> None:
    """Red when the quick way for many differs from the quick way for one, in a single byte."""
    rows = [json.loads(line)["text"] for line in GOLDEN.read_text(encoding="utf-8").splitlines()]
    texts = [*rows, "", "東京", *(f"{text} {at}" for at in range(4) for text in rows)]
    meaning = built_in()
    assert meaning.documents(texts) == [meaning.quickly(text) for text in texts]


@given(st.text(st.characters(max_codepoint=0x7F)))
def test_plain_text_is_cut_like_any_other(text: str) -> None:
    """Red when the short cut for ASCII gives other words."""
    assert [*words(text), "e"] == [*words(f"{text} é")]


@given(st.text())
def test_any_text_has_a_vector(text: str) -> None:
    assert len(built_in().quickly(text)) == DIM


@pytest.mark.parametrize(
    "text", ["a " * 500_000, "x" * 1_000_000, "é" * 300_000, "。" * 300_000, "the\n" * 250_000]
)
def test_a_megabyte_is_read_as_far_as_the_model_reads(text: str) -> None:
    began = time.process_time()
    built_in().closely(text)
    assert time.process_time() - began < 5
    assert len(built_in().tokens(text)) <= LONGEST


def test_threads_share_the_weights() -> None:
    meaning = Meaning()
    texts = [f"note {at} about the deploy day and the people who do it" for at in range(8)]
    found: dict[str, bytes] = {}
    threads = [Thread(target=lambda t=t: found.update({t: meaning.closely(t)})) for t in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {text: meaning.closely(text) for text in texts}


def test_tags_are_read_with_the_text_but_not_our_own() -> None:
    assert tagged("User prefers tabs", ["editor", "_consolidated"]) == "User prefers tabs (editor)"
    assert tagged("User prefers tabs", []) == "User prefers tabs"


def test_skimming_loads_no_numpy() -> None:
    code = (
        "import sys; from co_cli.knowledge.meaning.encoders import built_in\n"
        "built_in().quickly('a word or two'); print('numpy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_the_weights_are_what_was_built() -> None:
    """Red when a file of the package is not the one that weights.json describes."""
    assert broken_weights() == []


@pytest.mark.parametrize("how", ["cut", "gone", "no list"])
def test_broken_weights_are_named(tmp_path: Path, how: str) -> None:
    for name in ("weights.json", "fast.bin", "vocab.txt", "careful.bin", "reader.bin"):
        os.symlink(os.path.join(WEIGHTS, name), tmp_path / name)
    target = tmp_path / ("weights.json" if how == "no list" else "fast.bin")
    target.unlink()
    if how != "gone":
        target.write_bytes(b"not as many")
    with pytest.raises(EmbedderUnavailable, match=f"weights in {tmp_path} cannot be read"):
        Meaning(str(tmp_path)).quickly("a word")
    if how != "no list":
        assert [path for path, _ in broken_weights(str(tmp_path))] == [str(tmp_path / "fast.bin")]


# The vectors that are kept


def rows(count: int) -> dict[bytes, bytes]:
    return {bytes([at]) * 12: bytes([at + 1]) * 8 for at in range(count)}


@pytest.mark.parametrize("count", [1, 29, 200])
def test_what_was_read_is_there_again(tmp_path: Path, count: int) -> None:
    store = Vectors(str(tmp_path / "v"), "weights/1", 8)
    assert store.find(rows(3)) == {}
    for key, vector in rows(count).items():
        store.add({key: vector})
    assert Vectors(str(tmp_path / "v"), "weights/1", 8).find(rows(200)) == rows(count)
    assert store.find([*rows(1)]) == rows(1)


def test_vectors_of_other_weights_count_for_nothing(tmp_path: Path) -> None:
    path = str(tmp_path / "v")
    Vectors(path, "weights/1", 8).add(rows(5))
    other = Vectors(path, "weights/2", 8)
    assert other.find(rows(5)) == {}
    other.add(rows(2))
    assert (other.find(rows(5)), Vectors(path, "weights/1", 8).find(rows(5))) == (rows(2), {})


@given(data=st.data())
def test_whatever_happens_to_the_file_no_wrong_vector_comes_back(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Red when a row is believed without its checksum, or a cut one shifts those after it."""
    path = tmp_path_factory.mktemp("vectors") / "v"
    store = Vectors(str(path), "weights/1", 8)
    store.add(rows(6))
    raw = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(0, 3))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(raw[: data.draw(st.integers(0, len(raw)))])
    assert store.find(rows(6)).items() <= rows(6).items()
    new = {b"n" * 12: b"v" * 8}
    store.add(new)
    assert store.find(new) == new
    assert store.find(rows(6)).items() <= rows(6).items()


def test_forgetting_leaves_the_others(tmp_path: Path) -> None:
    """Red when a purge leaves the vector of what it purged, or takes another's."""
    store = Vectors(str(tmp_path / "v"), "weights/1", 8)
    store.keep([])
    assert not (tmp_path / "v").exists()
    store.add(rows(6))
    gone = b"\x02" * 12
    store.keep(key for key in rows(6) if key != gone)
    assert store.find(rows(6)) == {k: v for k, v in rows(6).items() if k != gone}
    assert gone not in (tmp_path / "v").read_bytes()


def test_a_link_in_its_place_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "else").write_bytes(b"somebody's")
    (tmp_path / "v").symlink_to(tmp_path / "else")
    store = Vectors(str(tmp_path / "v"), "weights/1", 8)
    assert store.find(rows(1)) == {}
    with pytest.raises(OSError, match=r"symbolic link|Too many levels"):
        store.add(rows(1))
    assert (tmp_path / "else").read_bytes() == b"somebody's"
