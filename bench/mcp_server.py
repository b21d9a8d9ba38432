"""What `co mcp` costs, and whether it loses anything.

Eight clients save and recall 50 times each while servers are killed. Then, over 10,000 notes, the
whole round trip of a warm recall over stdio, beside the same recall in this process in turns; and
the start of a server to its first answer, beside a process that only imports the SDK.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # as the `co` command does
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

import anyio
import mcp_crowd
from lab import scratch, tell
from mcp import Client, StdioServerParameters
from speed import p95, prepare, queries

from co_cli import trust
from co_cli.workspace import Workspace

ASKED, WARM, STARTS = 200, 20, 9
HELLO = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
    "protocolVersion": "2025-06-18", "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"}}}  # fmt: skip


def main() -> int:
    """Print every figure with its target; 1 when one is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer clients, that save less")
    quick = parser.parse_args().quick
    with scratch() as folder:
        os.environ["HOME"] = str(folder)
        missed = crowd(folder, quick=quick)
        project = prepare(folder / "project", 10_000)
        trust.claim(str(project), "2026-11-01T00:00:00+00:00")
        missed += anyio.run(round_trips, project)
        missed += start(project)
    return 1 if missed else 0


def crowd(folder: Path, *, quick: bool) -> int:
    """Clients at once; nothing may be lost or saved twice."""
    (folder / "crowd").mkdir()
    os.chdir(folder / "crowd")
    began = time.perf_counter()
    done = mcp_crowd.run(8, 8 if quick else 50, kill_every=30 if quick else 80)
    for one in done.violations[:20]:
        print(f"  VIOLATION {one}")
    more = (
        f"{done.saves} saves and recalls, {done.kills} kills, {time.perf_counter() - began:.0f} s"
    )
    return tell("8 clients at once: lost, or saved twice", len(done.violations), 0, more=more)


async def round_trips(project: Path) -> int:
    """The same questions here and over stdio, in turns."""
    asked = queries(project)[: ASKED + WARM]
    shelf = Workspace(str(project), watch=True).shelf
    here, there = list[float](), list[float]()
    server = StdioServerParameters(
        command=mcp_crowd.CO, args=["mcp"], cwd=str(project), env=dict(os.environ)
    )
    async with Client(server, cache=None) as client:
        for query in asked:
            here.append(timed(lambda query=query: shelf.recall(query, 5)))  # type: ignore[misc]
            began = time.perf_counter()
            told = await client.call_tool("recall_memory", {"query": query})
            there.append(time.perf_counter() - began)
            assert not told.is_error
    shelf.close()
    inside, outside = (1000 * p95(some[WARM:]) for some in (here, there))
    more = f"p95 {outside:.1f} ms; {inside:.1f} ms in this process"
    label = "warm recall over stdio / (2 x in process + 5 ms), p95"
    return tell(label, outside / (2 * inside + 5), 1.0, more=more)


def start(project: Path) -> int:
    """From nothing to the first answer."""

    def first_answer() -> None:
        pipe = subprocess.PIPE
        command = [mcp_crowd.CO, "mcp"]
        with subprocess.Popen(command, stdin=pipe, stdout=pipe, cwd=project) as server:
            assert server.stdin
            assert server.stdout
            server.stdin.write(json.dumps(HELLO).encode() + b"\n")
            server.stdin.flush()
            assert b"serverInfo" in server.stdout.readline()
            server.kill()

    def sdk() -> None:
        subprocess.run([sys.executable, "-c", "import mcp"], check=True)

    times = [(timed(first_answer), timed(sdk)) for _ in range(STARTS)]
    ours, theirs = (min(some) for some in zip(*times, strict=True))
    more = f"{ours:.2f} and {theirs:.2f} s"
    return tell("start of co mcp to its first answer / import mcp", ours / theirs, 1.5, more=more)


def timed(work: Callable[[], object]) -> float:
    """Seconds that it takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


if __name__ == "__main__":
    sys.exit(main())
