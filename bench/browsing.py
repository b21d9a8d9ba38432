"""What the page costs with 10,000 notes: its first sight, a typed question, and its own size.

The server runs in this process on a real socket; its work is told as CPU, beside a recall and a
close reading of the same question in the same run.
"""

from __future__ import annotations

import http.client
import os
import statistics
import sys
import threading
from pathlib import Path
from time import process_time, thread_time
from urllib.parse import quote

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # as the `co` command does

from lab import scratch, tell
from speed import p95, prepare, queries

from co_cli import trust
from co_cli.knowledge.meaning.encoders import built_in
from co_cli.web.server import Page
from co_cli.web.state import State

ASKED, WARM = 60, 10
STATIC = Path(__file__).resolve().parent.parent / "co_cli" / "web" / "static"


class Visitor:
    """A browser's requests, and the CPU that the server's threads spend on each."""

    def __init__(self, page: Page) -> None:
        self.host, _, token = page.address.removeprefix("http://").partition("/#token=")
        self.headers = {"Authorization": f"Bearer {token}"}
        self.link = http.client.HTTPConnection(self.host)  # it is kept, as a browser keeps it

    def ask(self, path: str) -> http.client.HTTPResponse:
        """One request; its answer is read to the end."""
        for _ in range(2):
            try:
                self.link.request("GET", path, headers=self.headers)
                answer = self.link.getresponse()
                break
            except http.client.RemoteDisconnected:  # it was idle for too long
                self.link.close()
        answer.read()
        return answer

    def get(self, path: str) -> float:
        """CPU of the whole process for one request, less what this thread spent on asking."""
        whole, own = process_time(), thread_time()
        assert self.ask(path).status == 200
        return (process_time() - whole) - (thread_time() - own)


def main() -> int:
    """Print every figure with its target; 1 when one is missed."""
    missed = 0
    with scratch() as folder:
        os.environ["HOME"] = str(folder)
        project = prepare(folder / "project", 10_000)
        trust.claim(str(project), "2026-11-01T00:00:00+00:00")
        before, asked = queries(project)[-WARM:], queries(project)[:ASKED]
        state, meaning = State(str(project)), built_in()
        times: dict[str, list[float]] = {"recall": [], "reading": [], "first": [], "typed": []}
        page = Page(str(project))
        thread = threading.Thread(target=page.run)
        thread.start()
        visitor = Visitor(page)
        visitor.get("/api/start")  # which reads the notes once
        for query in before:
            state.shelf.recall(query)
            visitor.get(f"/api/search?q={quote(query)}")
        for query in asked:
            for name, work in (
                ("recall", lambda query=query: state.shelf.recall(query)),
                ("reading", lambda query=query: meaning.closely(query)),
            ):
                began = thread_time()
                work()
                times[name].append(thread_time() - began)
            times["first"].append(
                sum(map(visitor.get, ("/", "/style.css", "/app.js", "/api/start")))
            )
            times["typed"].append(visitor.get(f"/api/search?q={quote(query)}"))
        page.server.should_exit = True
        thread.join()
        state.close()
        usual = {name: 1000 * statistics.median(some) for name, some in times.items()}
        first, typed = usual["first"], usual["typed"]
        both = f"{first:.1f} and {usual['recall']:.1f} ms"
        label = "first sight of 10,000 notes / one recall"
        missed += tell(label, first / usual["recall"], 2.0, more=both)
        beyond, recalled = (
            [
                1000 * (whole - read)
                for whole, read in zip(times[name], times["reading"], strict=True)
            ]
            for name in ("typed", "recall")
        )
        tails = f"p95 {p95(beyond):.1f}, of a recall alone {p95(recalled):.1f}"
        more = f"{typed:.1f} ms in all, a recall {usual['recall']:.1f}; {tails}"
        label = "a typed question beyond a close reading of it, ms"
        missed += tell(label, statistics.median(beyond), 20.0, more=more)
    size = sum(path.stat().st_size for path in STATIC.iterdir())
    return 1 if missed + tell("the page with its script, KB", size / 1024, 150.0) else 0


if __name__ == "__main__":
    sys.exit(main())
