"""Start `co` often and quickly: one process imports what others wrote, and forks for each start.

A chat loads a second's worth of libraries before it says a word. They are loaded here once for all
tests of a process; Co's own modules are not, so that each start imports them anew. What a start
gets is what the system would give it: arguments, environment, folder, standard streams, a session
of its own.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from functools import cache
from typing import Any, NoReturn

LIBRARIES = """anyio._backends._asyncio apsw click concurrent.futures.thread genai_prices.data
logging.handlers numpy openai openai.resources.chat openai.resources.chat.completions
openai.lib.streaming.chat prompt_toolkit pydantic_ai pydantic_ai.models.function
pydantic_ai.models.ollama pydantic_ai.models.openai pydantic_ai.providers.openai rapidfuzz.fuzz
rich.console rich.markdown sqlite_vec yaml""".split()


class Process:
    """A command that was started here, told about as by `subprocess.Popen`."""

    def __init__(self, pid: int, ended: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._ended = ended  # where its exit status comes

    def poll(self) -> int | None:
        """How it ended, or None."""
        return self._look(0)

    def wait(self, timeout: float | None = None) -> int:
        """How it ended, once it has."""
        code = self._look(timeout)
        if code is None:
            raise subprocess.TimeoutExpired("co", timeout or 0)
        return code

    def send_signal(self, number: int) -> None:
        """A signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it."""
        self.send_signal(signal.SIGKILL)

    def _look(self, timeout: float | None) -> int | None:
        if self.returncode is None and select.select([self._ended], [], [], timeout)[0]:
            with os.fdopen(self._ended) as file:
                self.returncode = int(file.read())
        return self.returncode


def start(words: list[str], env: dict[str, str], stdin: int, stdout: int, stderr: int) -> Process:
    """Start `co` with these words on these streams."""
    ended, writing = os.pipe()
    try:
        told = json.dumps({"words": words, "env": env, "folder": os.getcwd()}).encode()
        server = _server()
        socket.send_fds(server, [told], [stdin, stdout, stderr, writing])
        return Process(int(server.recv(20)), ended)
    finally:
        os.close(writing)


@cache
def _server() -> socket.socket:
    """The process that forks; it leaves when this one does."""

    def leave() -> None:
        here.close()
        process.wait()

    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with there:
        process = subprocess.Popen(
            [sys.executable, __file__, str(there.fileno())],
            pass_fds=[there.fileno()],
            start_new_session=True,
            cwd="/",
        )
    atexit.register(leave)
    return here


def main() -> list[str]:
    """Fork for everybody who asks; returns, with the words, only where Co is to run."""
    for name in LIBRARIES:
        __import__(name)
    sys.modules["pydantic_ai"].ModelMessagesTypeAdapter.dump_json([])  # which builds it
    gc.collect()
    gc.freeze()  # what is here to stay is looked at, and so copied, by none of the forked
    server = socket.socket(fileno=int(sys.argv[1]))
    while True:
        told, fds, *_ = socket.recv_fds(server, 2**18, 4)
        if not told:
            os._exit(0)
        _reap()
        reading, writing = os.pipe()
        if os.fork() == 0:  # the one who waits for the command, and tells how it ended
            os.close(reading)
            pid = os.fork()
            if pid == 0:
                os.close(writing)
                server.close()
                return _become(json.loads(told), fds)
            os.write(writing, str(pid).encode())
            os.close(writing)
            code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            os.write(fds[3], str(code).encode())
            os._exit(0)
        os.close(writing)
        for fd in fds:
            os.close(fd)
        server.send(os.read(reading, 20))
        os.close(reading)


def _reap() -> None:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def _become(told: dict[str, Any], fds: list[int]) -> list[str]:
    """Be a new process that was started as told."""
    os.setsid()
    os.chdir(told["folder"])
    os.environ.clear()
    os.environ.update(told["env"])
    for number in range(3):
        os.dup2(fds[number], number)
    for fd in fds:
        os.close(fd)
    sys.stdin = open(0, encoding="utf-8", errors=sys.stdin.errors)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", errors=sys.stdout.errors)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, encoding="utf-8", errors=sys.stderr.errors)  # noqa: SIM115
    words: list[str] = told["words"]
    sys.argv = [os.path.join(os.path.dirname(sys.executable), "co"), *words]
    return words


def _leave(code: int) -> NoReturn:
    """End as Python does, but for taking every module apart, which takes as long as a command."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
    from co_cli.main import run

    try:
        run()
    except SystemExit as end:
        if isinstance(end.code, int):
            _leave(end.code)
        raise
