"""The fence: no test sees the real home, the real settings, or a network beyond this machine."""

from __future__ import annotations

import gc
import ipaddress
import os
import signal
import sys
import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import settings

# Two test processes share two cores: a slow example is the machine's fault, not the code's. Many
# more examples of each law: `.venv/bin/python -m pytest --hypothesis-profile=long`.
_usual = settings.get_profile(settings.get_current_profile_name())
settings.register_profile("co", _usual, deadline=None, max_examples=50)
settings.register_profile("long", _usual, deadline=None, max_examples=500)
settings.load_profile("co")

# A job in the background ignores Control-C, and one under nohup the end of its terminal; what tests
# start must not. A handler leaves this process as deaf as it was, and is not inherited.
for _number in (signal.SIGINT, signal.SIGHUP):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, lambda *_: None)

# And each of them computes in one thread, as the command does, however it is started.
for _threads in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_threads] = "1"

# Files of tests live in memory where there is room, and programs may be run: a save waits for the
# disk several times, and no test pulls the plug. `TMPDIR=/somewhere make test` puts them there.
_MEMORY, _ROOM = "/dev/shm", 1024**3
if "TMPDIR" not in os.environ and os.access(_MEMORY, os.W_OK):
    _free = os.statvfs(_MEMORY)
    if _free.f_bavail * _free.f_frsize > _ROOM and not _free.f_flag & os.ST_NOEXEC:
        os.environ["TMPDIR"] = _MEMORY
        tempfile.tempdir = None

REMOVED = (
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_BASE_URL",
    "CLAUDE_CONFIG_DIR",
    "CODEX_HOME",
    "EDITOR",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "NO_COLOR",
    "OLLAMA_API_KEY",
    "OLLAMA_BASE_URL",
    "OLLAMA_HOST",
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "VISUAL",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
)

NO_BROWSER = "there is no browser here: install chromium to test the page in one"
NO_INSPECTOR = "the protocol's inspector is not here: make inspector gets it"
REACHING = ("socket.connect", "socket.sendmsg", "socket.sendto")
LOOKING_UP = ("socket.getaddrinfo", "socket.gethostbyname")


class OutsideFence(BaseException):
    """A test reached for the network; not an Exception, so that no handler can swallow it."""


def _is_local(address: object) -> bool:
    if not isinstance(address, tuple):
        return True  # a unix socket: a path
    host = address[0]
    if host in ("", "localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _fence_sockets(event: str, args: tuple[object, ...]) -> None:
    if event in REACHING and not _is_local(args[1]):
        raise OutsideFence(f"a test tried to reach {args[1]!r}")
    if event in LOOKING_UP and not _is_local((args[0] or "",)):
        raise OutsideFence(f"a test tried to look up {args[0]!r}")


# Audit hooks see every socket of the process, whoever opens it, and cannot be removed.
# They do not see the processes a test starts.
sys.addaudithook(_fence_sockets)


@pytest.fixture(autouse=True)
def fence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the test a home and a working folder of its own, and no settings from outside."""
    home = tmp_path / "home"
    work = tmp_path / "work"
    home.mkdir()
    work.mkdir()
    for name in [*REMOVED, *(name for name in os.environ if name.startswith("CO_CLI_"))]:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(work)


def pytest_collection_finish() -> None:
    """What is loaded by now is never garbage: no collection, and no fork, need look at it again."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A promise whose test did not run is not kept: a skipped test fails, unless for want of a
    browser, or of a client that is no Python.
    """
    report = yield
    said = str(report.longrepr)
    if report.skipped and NO_BROWSER not in said and NO_INSPECTOR not in said:
        report.outcome = "failed"
        report.longrepr = f"skipped, and so not shown to hold: {report.longrepr}"
    return report
