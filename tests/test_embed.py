"""The built-in embedder: real weights, known words, and files that are not what they should be."""

from __future__ import annotations

import importlib.util
import json
import math
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from threading import Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st

from co_cli.errors import EmbedderUnavailable
from co_cli.knowledge import embed
from co_cli.knowledge.embed import Static, built_in
from co_cli.knowledge.words import analysed

EMBEDDER = built_in()

# Verified with the package's own tokenizer.
TOKENS = {
    "database": [2566],
    "prefers": [758, 25534],
    "sqlalchemy": [4576, 284, 305, 6764],
    "2026": [29871, 29906, 29900, 29906, 29953],
    "naïve": [1055, 30085, 345],
    "größe": [867, 29997, 5831],
    "москва": [2569, 6231, 846],
    "数据库": [29871, 30354, 30763, 31700],
    "犬": [29871, 234, 141, 175],
    "🙂": [29871, 243, 162, 156, 133],
    "x" * 12: [921, 14633, 14633, 12353],
}


def cosine(one: bytes, other: bytes) -> float:
    """How alike two vectors are; 1 is the same direction."""
    pairs = _pairs(one, other)
    lengths = sum(x * x for x, _ in pairs) * sum(y * y for _, y in pairs)
    return sum(x * y for x, y in pairs) / math.sqrt(lengths)


def _pairs(one: bytes, other: bytes) -> list[tuple[int, int]]:
    return list(zip(memoryview(one).cast("b"), memoryview(other).cast("b"), strict=True))


@pytest.mark.parametrize("word", TOKENS)
def test_words_are_cut_as_the_model_was_trained_with(word: str) -> None:
    assert EMBEDDER.tokens(word) == TOKENS[word]


def test_what_means_the_like_is_near() -> None:
    query = EMBEDDER.query("which database do we use")
    near, far = EMBEDDER.documents(["Postgres stores our tables", "The cat sleeps all afternoon"])
    assert cosine(query, near) > 0.25
    assert cosine(query, far) < 0.15
    assert cosine(EMBEDDER.query("kitten"), EMBEDDER.query("cat")) > 0.5
    assert cosine(EMBEDDER.query("kitten"), EMBEDDER.query("invoice")) < 0.25


def test_the_answer_has_the_form_that_the_index_keeps() -> None:
    (vector,) = EMBEDDER.documents(["Alice prefers async code"])
    values = memoryview(vector).cast("b")
    assert (len(vector), EMBEDDER.dim, max(map(abs, values))) == (256, 256, 127)
    assert EMBEDDER.name == "wordllama/2-38e5c0b1"
    assert EMBEDDER.query("Alice prefers async code") == vector


@pytest.mark.parametrize(
    "text",
    ["prefers", "Alice prefers async code", "数据库 and SQLAlchemy", "naïve größe Москва 2026 🙂"],
)
def test_a_vector_is_what_exact_arithmetic_gives(text: str) -> None:
    """The sum over words of the mean of their rows, in floats and read afresh from the file."""
    package = importlib.util.find_spec("wordllama")
    assert package
    assert package.origin
    raw = (Path(package.origin).parent / embed.WEIGHTS).read_bytes()
    start = 8 + int.from_bytes(raw[:8], "little")
    total = [0.0] * 256
    for word in analysed(text).split():
        ids = EMBEDDER.tokens(word)
        for token in ids:
            row = struct.unpack_from("<256e", raw, start + 512 * token)
            total = [sum(pair) for pair in zip(total, (x / len(ids) for x in row), strict=True)]
    made = list(memoryview(EMBEDDER.query(text)).cast("b"))
    most = max(map(abs, total))
    assert max(abs(x - y * 127 / most) for x, y in zip(made, total, strict=True)) < 8


@pytest.mark.parametrize("text", ["", " \n\t", "?!.,", "the of and", "___", "\u200b\u2028"])
def test_nothing_to_embed_is_all_zeros(text: str) -> None:
    assert EMBEDDER.query(text) == bytes(256)


def test_case_and_marks_around_a_word_do_not_matter() -> None:
    assert EMBEDDER.query("«Deploy», on (TUESDAYS)!") == EMBEDDER.query("deploy tuesdays")


def test_a_word_found_in_chinese_is_near_its_note() -> None:
    note, other = EMBEDDER.documents(["我们的数据库是Postgres", "猫在睡觉"])
    assert cosine(EMBEDDER.query("数据库"), note) > cosine(EMBEDDER.query("数据库"), other)


@given(st.lists(st.text(max_size=60), max_size=6))
def test_a_vector_depends_on_its_text_alone(texts: list[str]) -> None:
    """Red when a cache, a batch or the order of questions shows in an answer."""
    together = EMBEDDER.documents(texts)
    assert together == [EMBEDDER.query(text) for text in texts]
    assert {len(vector) for vector in together} <= {256}


@given(st.text(st.characters(), max_size=200))
def test_any_text_has_a_vector(text: str) -> None:
    values = memoryview(EMBEDDER.query(text)).cast("b")
    assert max(map(abs, values)) in (0, 127)


@pytest.mark.parametrize(
    "text",
    [
        "\ud800\udfff\ud800",
        "\x00\x01\x1b[2J",
        "a" * 100_000,
        "数" * 40_000,
        "🙂" * 25_000,
        "deploy tuesday " * 7_000,
        "".join(map(chr, range(0x10000))),
    ],
    ids=["surrogates", "controls", "one word", "chinese", "emoji", "100 KB", "every character"],
)
def test_hostile_and_long_texts_are_embedded_in_time(text: str) -> None:
    began = time.process_time()
    assert len(EMBEDDER.query(text)) == 256
    assert time.process_time() - began < 1


def test_the_first_words_of_a_long_text_count() -> None:
    long = EMBEDDER.query("deploy " * 250)
    assert EMBEDDER.query("deploy " * 250 + "tuesday " * 9000) == long
    assert max(abs(x - y) for x, y in _pairs(long, EMBEDDER.query("deploy"))) <= 1


def test_the_signs_of_a_word_are_those_of_its_vector() -> None:
    plain = ["database", "prefers", "sqlalchemy", "москва"]
    for word, signs in zip(plain, EMBEDDER.signs(plain), strict=True):
        values = memoryview(EMBEDDER.query(word)).cast("b")
        told = zip(values, memoryview(signs).cast("b"), strict=True)
        assert all((value >= 0) == (sign == 1) for value, sign in told)


def test_more_words_than_are_kept_do_not_change_an_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embed, "_CACHED", 3)
    small = Static(package(tmp_path))
    text = "b c d e f g h b c"
    assert [small.query(text) for _ in range(3)] == [small.query(text)] * 3
    monkeypatch.undo()
    assert Static(package(tmp_path)).query(text) == small.query(text)


def test_several_threads_share_one() -> None:
    fresh = built_in()
    texts = [f"note {at} about database {at % 7} and cats" for at in range(200)]
    found: list[list[bytes]] = []
    threads = [Thread(target=lambda: found.append(fresh.documents(texts))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [EMBEDDER.documents(texts)] * 4


def package(
    folder: Path, rows: int = 300, *, change: Callable[[bytes], bytes] = lambda raw: raw
) -> str:
    """A package folder with weights of two values a row, and a vocabulary that fits it."""
    size = rows * 4
    tensor = {"dtype": "F16", "shape": [rows, 2], "data_offsets": [0, size]}
    header = json.dumps({"embedding.weight": tensor}).encode()
    values = [(at % 13 - 6) / 4 for at in range(rows * 2)]
    raw = struct.pack("<Q", len(header)) + header + struct.pack(f"<{rows * 2}e", *values)
    names = [f"<0x{byte:02X}>" for byte in range(256)] + ["\u2581", *map(chr, range(97, 123))]
    names += [f"\u2581{chr(at)}" for at in range(97, 97 + rows - len(names))]
    vocabulary = {"model": {"vocab": {name: at for at, name in enumerate(names)}, "merges": []}}
    (folder / "weights").mkdir(exist_ok=True)
    (folder / "tokenizers").mkdir(exist_ok=True)
    (folder / embed.WEIGHTS).write_bytes(change(raw))
    (folder / embed.VOCABULARY).write_text(json.dumps(vocabulary), encoding="utf-8")
    return str(folder)


BROKEN: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda raw: raw[:0],
    "a few bytes": lambda raw: raw[:5],
    "cut in the header": lambda raw: raw[:40],
    "cut in the weights": lambda raw: raw[:-1],
    "no header": lambda raw: b"\xff" * len(raw),
    "no JSON": lambda raw: raw.replace(b"{", b"[", 1),
    "nested": lambda raw: struct.pack("<Q", 4000) + b"[" * 4000 + raw,
    "a list": lambda raw: struct.pack("<Q", 2) + b"[]" + raw,
    "another tensor": lambda raw: raw.replace(b"embedding.weight", b"embedding.height"),
    "other floats": lambda raw: raw.replace(b'"F16"', b'"F32"'),
    "another shape": lambda raw: raw.replace(b"[300, 2]", b"[301, 2]"),
    "no shape": lambda raw: raw.replace(b"[300, 2]", b"[300000]"),
    "no numbers": lambda raw: raw.replace(b"[300, 2]", b'["a", 2]'),
    "endless": lambda raw: raw.replace(b"[300, 2]", b"[1e999,2]"),
    "before the start": lambda raw: raw.replace(b"[0, 1200]", b"[-9,1191]"),
}


@pytest.mark.parametrize("how", BROKEN)
def test_broken_weights_are_named(tmp_path: Path, how: str) -> None:
    folder = package(tmp_path, change=BROKEN[how])
    with pytest.raises(EmbedderUnavailable, match=r"256\.safetensors cannot be used"):
        Static(folder)


def test_weights_that_are_no_numbers_are_named(tmp_path: Path) -> None:
    folder = package(tmp_path, change=lambda raw: raw[:-1200] + b"\x00\x7c" * 600)
    with pytest.raises(EmbedderUnavailable, match="cannot be used"):
        Static(folder).query("b c " * 2000)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        '{"vocab": {}}',
        '{"vocab": {"a": 1}, "merges": []}',
        '{"vocab": {"a": "b"}, "merges": []}',
        '{"vocab": [1], "merges": 1}',
        '{"vocab": ' + "[" * 99_999,
        '{"vocab": {"a": ' + "[" * 99_999 + '}, "merges": []}',
    ],
)
def test_a_broken_vocabulary_is_named(tmp_path: Path, text: str) -> None:
    folder = package(tmp_path)
    (tmp_path / embed.VOCABULARY).write_text(text)
    with pytest.raises(EmbedderUnavailable, match=r"tokenizer_config\.json cannot be used"):
        Static(folder).query("a word")


def test_a_vocabulary_without_every_byte_is_named(tmp_path: Path) -> None:
    folder = package(tmp_path)
    file = tmp_path / embed.VOCABULARY
    file.write_text(file.read_text().replace("<0x7F>", "<0xZZ>"))
    with pytest.raises(EmbedderUnavailable, match="does not cover every byte"):
        Static(folder).query("a word")


@pytest.mark.parametrize("file", [embed.WEIGHTS, embed.VOCABULARY])
def test_a_missing_file_is_named(tmp_path: Path, file: str) -> None:
    folder = package(tmp_path)
    (tmp_path / file).unlink()
    with pytest.raises(EmbedderUnavailable, match="No such file") as caught:
        Static(folder).query("a word")
    assert str(tmp_path / file) in str(caught.value)


def test_a_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package(tmp_path / "work")
    (tmp_path / "work/wordllama").symlink_to(tmp_path / "work")
    monkeypatch.setattr(sys, "path", ["", ".", str(tmp_path / "none")])
    with pytest.raises(EmbedderUnavailable, match="wordllama is not installed: install Co again"):
        built_in()
    monkeypatch.setattr(sys, "path", [str(tmp_path / "work")])
    assert built_in().dim == 2


def test_neither_numpy_nor_the_package_is_imported() -> None:
    heavy = "numpy pydantic requests safetensors tokenizers wordllama"
    code = (
        "import sys; from co_cli.knowledge.embed import built_in; built_in().query('a word')\n"
        f"print(sorted(set({heavy!r}.split()) & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
