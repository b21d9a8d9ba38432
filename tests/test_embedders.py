"""The embedders a person can choose, against a real server on this machine."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any

import pytest

from co_cli.errors import EmbedderUnavailable
from co_cli.extras import install_hint
from co_cli.knowledge.meaning.encoders import Meaning
from co_cli.providers.embedders import BATCH, SECONDS, choose, signed_bytes

LETTERS = "abcdefgh"


class Server(ThreadingHTTPServer):
    """Speaks the OpenAI embeddings protocol, with vectors that count letters, and goes wrong."""

    fault = ""
    asked: list[dict[str, Any]]
    keys: list[str]
    over: Event

    @property
    def url(self) -> str:
        """What a person would put into the environment."""
        return f"http://127.0.0.1:{self.server_port}/v1"


class Answer(BaseHTTPRequestHandler):
    """One request; a status as a fault is answered as such, at once when tried again."""

    protocol_version = "HTTP/1.1"
    server: Server

    def do_POST(self) -> None:
        """Answer with a vector for each text."""
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append({"path": self.path, **asked})
        self.server.keys.append(self.headers["Authorization"])
        fault = self.server.fault
        vectors: list[Any] = [[float(text.count(x)) for x in LETTERS] for text in asked["input"]]
        if fault == "silent":
            self.server.over.wait(60)
        elif fault == "few":
            vectors.pop()
        elif fault == "short" and len(self.server.asked) > 1:
            vectors = [vector[:4] for vector in vectors]
        elif fault == "words":
            vectors = [["many", "words"] for _ in vectors]
        elif fault == "empty":
            vectors = [[] for _ in vectors]
        elif fault == "nan":
            vectors[0][0] = float("nan")
        data = [
            {"object": "embedding", "index": at, "embedding": vector}
            for at, vector in enumerate(vectors)
        ]
        body: object = {"object": "list", "model": asked["model"], "data": data}
        if fault == "no list":
            body = {"object": "list", "model": asked["model"]}
        self._send(int(fault) if fault.isdigit() else 200, json.dumps(body).encode())

    def _send(self, status: int, raw: bytes) -> None:
        cut = self.server.fault == "cut"
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.send_header("retry-after-ms", "1")
        self.end_headers()
        self.wfile.write(raw[: len(raw) // 2] if cut else raw)
        if cut:
            self.close_connection = True

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A server that the environment names for both providers."""
    with Server(("127.0.0.1", 0), Answer) as found:
        found.asked, found.keys, found.over = [], [], Event()
        monkeypatch.setenv("OPENAI_BASE_URL", found.url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-test")
        monkeypatch.setenv("OLLAMA_BASE_URL", found.url)
        thread = Thread(target=found.serve_forever)
        thread.start()
        yield found
        found.over.set()
        found.shutdown()
        thread.join()


def test_floats_become_signed_bytes_with_the_largest_at_127() -> None:
    assert signed_bytes([0.5, -1.0, 0.0, 0.25]) == bytes([64, 129, 0, 32])
    assert signed_bytes([0.0, 0.0]) == bytes(2)
    assert signed_bytes([1e-320, 0.0]) == bytes(2)


@pytest.mark.parametrize("spec", ["", "co", " co "])
def test_the_built_in_one_is_what_nobody_has_to_choose(spec: str) -> None:
    assert isinstance(choose(spec), Meaning)


WRONG = {
    "nonsense": "",
    "openai": "",
    ":model": "",
    "nobody:model": "",
    "mini lm": "Did you mean gemini? ",
    "opnai:small": "Did you mean openai:small? ",
    "olama:small": "Did you mean ollama:small? ",
    "text-embedding-3-small": "Did you mean openai:text-embedding-3-small? ",
    "anthropic:small": "",
    "compatible:small": "",
}


@pytest.mark.parametrize("spec", WRONG)
def test_an_unknown_name_is_answered_as_a_models_is(spec: str) -> None:
    """Red when a misspelt embedder gets another kind of answer than a misspelt model."""
    with pytest.raises(EmbedderUnavailable) as caught:
        choose(spec)
    assert str(caught.value) == (
        f"embedder: there is no embedder '{spec}'. {WRONG[spec]}Use co, or PROVIDER:MODEL "
        "with gemini, openai, ollama or sentence-transformers."
    )


def test_a_key_in_the_place_of_a_name_is_not_shown() -> None:
    key = "sk-proj-" + "aB3dE5gH7j" * 5
    with pytest.raises(EmbedderUnavailable, match="holds what looks like a key") as caught:
        choose(f"openai:{key}")
    assert key not in str(caught.value)


@pytest.mark.parametrize("provider", ["openai", "ollama"])
def test_texts_are_asked_for_in_batches_and_come_back_in_order(
    server: Server, provider: str
) -> None:
    embedder = choose(f"{provider}:small")
    texts = [LETTERS[at % 8] * (at + 1) for at in range(BATCH + 2)]
    texts[3] = " \n"
    vectors = embedder.documents(texts)
    assert [len(asked["input"]) for asked in server.asked] == [BATCH, 1]
    assert {asked["path"] for asked in server.asked} == {"/v1/embeddings"}
    assert embedder.dim == 8
    assert vectors == [
        bytes(127 if at != 3 and place == at % 8 else 0 for place in range(8))
        for at in range(BATCH + 2)
    ]
    assert embedder.name == f"{provider}:small@127.0.0.1:{server.server_port}"
    assert embedder.query("aab") == bytes([127, 64, 0, 0, 0, 0, 0, 0])


def test_the_dimension_is_what_the_first_answer_shows(server: Server) -> None:
    embedder = choose("openai:small")
    assert embedder.dim == 8
    assert embedder.documents(["", " "]) == [bytes(8)] * 2
    assert embedder.documents([]) == []
    assert len(server.asked) == 1


def test_ollama_is_looked_for_on_this_machine_when_nobody_says_where(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("OLLAMA_BASE_URL", raising=False)
    assert choose("ollama:nomic-embed-text").name == "ollama:nomic-embed-text@localhost:11434"


@pytest.mark.parametrize(("host", "place"), [("0.0.0.0", "localhost:11434"), ("box:1", "box:1")])
def test_ollamas_own_variable_is_read_as_a_models_is(
    monkeypatch: pytest.MonkeyPatch, host: str, place: str
) -> None:
    monkeypatch.delenv("OLLAMA_BASE_URL", raising=False)
    monkeypatch.setenv("OLLAMA_HOST", host)
    assert choose("ollama:small").name == f"ollama:small@{place}"


def test_a_password_in_the_address_is_refused_as_a_models_is(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", server.url.replace("//", "//user:hidden@"))
    with pytest.raises(EmbedderUnavailable, match=r"^OPENAI_BASE_URL holds a name") as caught:
        choose("openai:small")
    assert "hidden" not in str(caught.value)


AGAIN = "Try again in a while, or choose another model with the setting embedder."
FAULTS = {
    "401": "openai:small refused the key. Check OPENAI_API_KEY.",
    "403": "openai:small refused access (403). Check OPENAI_API_KEY.",
    "404": "openai has no model 'small' (404). Check the name, and whether {url} is right.",
    "429": "openai:small takes no more requests just now (429); it asks to wait 1 s. " + AGAIN,
    "500": "openai:small had an internal error (500). " + AGAIN,
    "few": "openai:small cannot be used: 1 vectors for 2 texts",
    "empty": "openai:small cannot be used: 0 values, not a vector",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_the_server_is_one_plain_line(server: Server, fault: str) -> None:
    embedder = choose("openai:small")
    server.fault = fault
    with pytest.raises(EmbedderUnavailable) as caught:
        embedder.documents(["a", "b"])
    assert str(caught.value) == FAULTS[fault].format(url=server.url)


@pytest.mark.parametrize("fault", ["cut", "words", "nan", "no list"])
def test_an_answer_that_is_none_is_one_line_without_the_key(server: Server, fault: str) -> None:
    embedder = choose("openai:small")
    server.fault = fault
    with pytest.raises(EmbedderUnavailable, match=r"openai:small (?:was cut|cannot be)") as caught:
        embedder.query("a")
    line = str(caught.value)
    assert "\n" not in line
    assert "sk-of-the-test" not in line


def test_an_answer_of_another_length_is_not_taken(server: Server) -> None:
    embedder = choose("openai:small")
    embedder.query("a")
    server.fault = "short"
    with pytest.raises(EmbedderUnavailable, match="4 values, not 8"):
        embedder.query("a")
    server.fault = ""
    assert len(embedder.query("a")) == 8


def test_a_server_that_never_answers_is_not_waited_for(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SECONDS, "query", 0.2)
    embedder = choose("openai:small")
    server.fault = "silent"
    with pytest.raises(EmbedderUnavailable, match=r" did not answer in time\. Try again later\.$"):
        embedder.query("a")


def test_nobody_there_is_one_plain_line(server: Server) -> None:
    embedder = choose("ollama:small")
    server.server_close()
    with pytest.raises(EmbedderUnavailable, match=r"^ollama:small cannot be reached at ") as caught:
        embedder.query("a")
    assert "\n" not in str(caught.value)


def test_a_key_that_is_missing_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GOOGLE_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(
        EmbedderUnavailable,
        match=r"^gemini:gemini-embedding-001 needs a key, and GEMINI_API_KEY is not set\. Set GEMI",
    ):
        choose("google:gemini-embedding-001")


def test_it_works_where_an_event_loop_is_running(server: Server) -> None:
    embedder = choose("openai:small")

    async def inside() -> tuple[bytes, bytes]:
        beside = await asyncio.to_thread(embedder.query, "b")
        return embedder.query("a"), beside

    assert asyncio.run(inside()) == (bytes([127, *[0] * 7]), bytes([0, 127, *[0] * 6]))
    assert embedder.query("a") == bytes([127, *[0] * 7])
    assert set(server.keys) == {"Bearer sk-of-the-test"}


def test_several_threads_may_ask_at_once(server: Server) -> None:
    embedder = choose("openai:small")
    found: dict[int, bytes] = {}

    def ask(at: int) -> None:
        found[at] = embedder.query(LETTERS[at])

    threads = [Thread(target=ask, args=(at,)) for at in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {at: bytes(127 if place == at else 0 for place in range(8)) for at in range(8)}
    assert len(server.asked) == 8


MISSING = {
    "openai:small": ("pydantic_ai", "models"),
    "gemini:small": ("google.genai", "models"),
    "sentence-transformers:small": ("sentence_transformers", "sentence-transformers"),
    "cohere:small": ("cohere", "pydantic-ai-slim[cohere]"),
}


@pytest.mark.parametrize("spec", MISSING)
def test_a_package_that_is_missing_is_named_with_what_installs_it(spec: str) -> None:
    """In a process of its own, in which the package cannot be found."""
    package, what = MISSING[spec]
    code = f"""
import sys
sys.modules[{package!r}] = None
from co_cli.providers.embedders import choose
from co_cli.errors import EmbedderUnavailable
try:
    choose({spec!r})
except EmbedderUnavailable as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    line = f"To install it: {install_hint(what)}"
    assert done.stdout == f"{spec} needs a package that is not installed. {line}\n"


def test_importing_it_loads_nothing_heavy() -> None:
    heavy = "numpy openai pydantic pydantic_ai"
    code = (
        "import sys; from co_cli.providers.embedders import choose\n"
        "choose('').documents(['a word'])\n"
        f"print(sorted(set({heavy!r}.split()) & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
