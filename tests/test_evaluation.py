"""`co knowledge eval`: numbers about one's own notes, and what to do about each."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, ClassVar

import pytest
from cli import co

from co_cli.knowledge import Notebook, use
from co_cli.knowledge.evaluation import evaluate, question, sample
from co_cli.knowledge.format.note import now, timestamp
from co_cli.workspace import Workspace

MEMORIES = Path(".co-cli/knowledge/memories")


def note(number: int, text: str, more: str = "", day: str = "2026-02-09") -> None:
    MEMORIES.mkdir(parents=True, exist_ok=True)
    head = f'id: {number}\nuid: {"u" * 8}{number}\ncreated: "{day}T14:30:00Z"\n{more}'
    (MEMORIES / f"{number:03d}-note.md").write_text(f"---\n{head}---\n\n{text}\n")


def measures(*args: str) -> dict[str, dict[str, Any]]:
    return {
        row["name"]: row
        for row in json.loads(co("knowledge", "eval", "--json", *args).out)["measures"]
    }


def test_a_page_counts_what_wants_attention_and_names_the_command() -> None:
    """Red when a planted fault is not counted, or its command does not name the note."""
    note(1, "We deploy on Tuesdays")
    note(2, "We now deploy on Fridays instead", day="2026-03-09")
    note(3, "Marta owns the payments service")
    note(4, "The payments service is owned by Marta", day="2026-03-09")
    note(5, "The summer sale is on", 'expires: "2026-03-01"\n')
    note(6, "The app starts in app.py", "check: app.py\n")
    note(7, "The registry token is ghp_" + "a1B2" * 9)
    (MEMORIES / "008-broken.md").write_text("---\nid: x\n---\n")
    told = measures()
    counted = {name: (row["many"], row["of"]) for name, row in told.items()}
    assert counted == {
        "found first": (6, 7),
        "found, but not first": (1, 7),
        "not among the first five": (0, 7),
        "near-twins": (1, 7),
        "contradictions": (1, 7),
        "in both notebooks": (0, 7),
        "stale": (1, 7),
        "expired": (1, 7),
        "never used": (0, 7),
        "use not known": (7, 7),
        "secrets": (1, 7),
        "unreadable": (1, 7),
        "bytes of context": (0, 32 * 1024),
    }
    assert [told[name]["do"] for name in ("near-twins", "contradictions", "stale", "secrets")] == [
        "Keep the newer: co knowledge merge 4 3 --keep-first",
        "If the newer holds: co knowledge review",
        "Put it right: co knowledge edit 6",
        "Take it out: co forget 7 --purge",
    ]
    assert told["found, but not first"]["refs"] == ["3"]
    assert "words that you would ask with" in told["found, but not first"]["do"]
    page = co("knowledge", "eval")
    assert page.code == 0
    assert "stale\t1\t7\tPut it right: co knowledge edit 6\n" in page.out
    assert co("knowledge", "merge", "4", "3", "--keep-first").code == 0
    assert measures()["near-twins"]["many"] == 0


def test_twins_and_contradictions_are_told_apart() -> None:
    """Red when another value makes a twin, or other words for the same a contradiction."""
    note(1, "Invoices go out on the 1st")
    note(2, "Invoices go out on the 3rd", day="2026-03-09")
    note(3, "Marta owns the payments service")
    note(4, "The payments service is owned by Marta", day="2026-03-09")
    note(5, "The payments service is written in Go", day="2026-03-10")
    told = measures()
    assert (told["near-twins"]["refs"], told["contradictions"]["refs"]) == (["4 3"], ["2 1"])


def test_what_both_notebooks_say_is_counted_and_the_project_s_may_go() -> None:
    """Red when only one notebook is looked at for what is said twice."""
    co("learn", "Invoices go out on the first of the month")
    co("learn", "-g", "Invoices go out on the first of the month")
    co("learn", "-g", "The staging server is called vega")
    co("learn", "-g", "We renamed the staging server to lyra")
    told = measures()
    assert told["in both notebooks"]["do"] == "Your own notebook says it too: co forget 1"
    assert told["contradictions"]["refs"] == ["g3 g2"]


def test_pinned_memories_count_as_context(monkeypatch: pytest.MonkeyPatch) -> None:
    """Red when what loads in every session is not counted, or its limit is not the setting's."""
    for text in ("Tea is at four", f"The long story {'goes on ' * 150}"):
        co("learn", text)
    co("knowledge", "pin", "1")
    few = measures()["bytes of context"]
    assert (few["many"] > len("Tea is at four"), few["of"], few["do"]) == (True, 32 * 1024, "")
    co("knowledge", "pin", "2")
    monkeypatch.setenv("CO_CLI_CONTEXT_BUDGET", "1")
    told = measures()["bytes of context"]
    assert (told["of"], told["do"]) == (1024, "Unpin what matters less; there was no room for 2")


def test_a_note_is_always_asked_for_with_the_same_few_words_of_its_own() -> None:
    note(1, "We always run the integration tests against a throwaway PostgreSQL container")
    [one] = Notebook(MEMORIES.parent).notes()
    assert question(one) == "integration throwaway PostgreSQL container"
    note(1, "是的")
    assert question(*Notebook(MEMORIES.parent).notes()) == "是的"


def test_a_sample_is_evenly_spread_and_bounded() -> None:
    note(1, "Tea")
    book = Notebook(MEMORIES.parent)
    pairs = [(book, one) for one in book.notes()] * 1000
    assert len(sample(pairs, 100)) == 100
    assert len(sample(pairs[:7], 100)) == 7


def test_what_cannot_be_asked_for_is_counted_and_nothing_is_changed() -> None:
    for number in range(1, 9):
        note(number, f"Blue whale {number}")
    use.used([], timestamp(now()))
    before = sorted((path.name, path.read_bytes()) for path in MEMORIES.iterdir())
    shelf = Workspace().shelf
    missed = evaluate(shelf, lambda _: "quarterly budget")[2]  # the nearest one is shown
    assert (missed.many, missed.of) == (7, 8)
    assert sorted((path.name, path.read_bytes()) for path in MEMORIES.iterdir()) == before


class Asks(BaseHTTPRequestHandler):
    """A model's server that asks one question, whatever it is sent; or refuses."""

    seen: ClassVar[list[str]] = []

    def do_POST(self) -> None:
        sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.seen.append(str(sent["messages"][-1]["content"]))
        self.send_response(400 if sent["model"] == "refuses" else 200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        delta = {
            "index": 0,
            "delta": {"content": "On which day do we ship?"},
            "finish_reason": "stop",
        }
        chunk = {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "m"}
        self.wfile.write(f"data: {json.dumps({**chunk, 'choices': [delta]})}\n\n".encode())
        self.wfile.write(b"data: [DONE]\n\n")

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def test_a_model_asks_in_other_words_and_never_sees_a_sensitive_note(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Red when a sensitive note is sent to a model."""
    co("learn", "We deploy on Tuesdays")
    co("learn", "Our safe is behind the picture")
    co("knowledge", "sensitive", "2")
    with ThreadingHTTPServer(("127.0.0.1", 0), Asks) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("OLLAMA_BASE_URL", f"http://127.0.0.1:{server.server_port}/v1")
        told = measures("--model", "ollama:asks")
        refused = co("knowledge", "eval", "--model", "ollama:refuses")
        server.shutdown()
    found = told["found first, in other words"]
    assert (found["many"], found["of"]) == (1, 1)
    assert "We deploy on Tuesdays" in Asks.seen[0]
    assert "safe" not in "".join(Asks.seen)
    assert refused.code == 1
    assert refused.err.startswith("co: ")


def test_the_page_names_the_notes_and_an_empty_notebook_says_so() -> None:
    assert "There is no memory to measure yet." in co("knowledge", "eval").out
    for text in (
        "We deploy on Tuesdays",
        "We deploy on Fridays",
        "Invoices go out on the 1st",
        "Invoices go out on the 3rd",
    ):
        co("learn", text)
    rivals = [
        line
        for line in co("knowledge", "eval").out.split("\n")
        if line.startswith("contradictions:")
    ]
    assert rivals == ["contradictions: 2 1, 4 3"]
