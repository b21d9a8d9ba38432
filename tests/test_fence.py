"""The fence itself: what conftest.py promises to every other test."""

from __future__ import annotations

import os
import pwd
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import REMOVED, OutsideFence

OUTSIDE = "192.0.2.1"  # an address set aside for documentation: nobody is there


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


def test_home_is_inside_the_tests_own_folder(tmp_path: Path) -> None:
    assert Path.home() == tmp_path / "home"
    assert os.path.expanduser("~") == str(tmp_path / "home")
    assert Path("~/.config").expanduser() == tmp_path / "home" / ".config"


def test_home_is_not_the_real_one() -> None:
    assert Path.home() != Path(pwd.getpwuid(os.getuid()).pw_dir)
    assert list(Path.home().iterdir()) == []


def test_work_starts_in_an_empty_folder_outside_any_repository(tmp_path: Path) -> None:
    assert Path.cwd() == (tmp_path / "work").resolve()
    assert list(Path.cwd().iterdir()) == []
    assert [folder for folder in Path.cwd().parents if (folder / ".git").exists()] == []


def test_settings_from_outside_are_gone() -> None:
    assert [name for name in os.environ if name.startswith("CO_CLI_")] == []
    assert [name for name in REMOVED if name in os.environ] == []


def test_a_variable_set_outside_does_not_reach_a_test(tmp_path: Path) -> None:
    fence = Path(__file__).with_name("conftest.py")
    (tmp_path / "conftest.py").write_text(fence.read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "test_inner.py").write_text(
        "import os\n"
        "def test_inner(tmp_path):\n"
        "    assert 'CO_CLI_SEEN' not in os.environ and 'XDG_STATE_HOME' not in os.environ\n"
        "    assert os.environ['HOME'] == str(tmp_path / 'home')\n",
        encoding="utf-8",
    )
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", f"--basetemp={tmp_path / 'base'}", "test_inner.py"],
        env={**os.environ, "CO_CLI_SEEN": "1", "XDG_STATE_HOME": "/nowhere", "HOME": "/nowhere"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, ""), ran.stdout


def test_connecting_outside_is_refused() -> None:
    with socket.socket() as sock, pytest.raises(OutsideFence, match=re.escape(OUTSIDE)):
        sock.connect((OUTSIDE, 80))
    with socket.socket() as sock, pytest.raises(OutsideFence, match=re.escape(OUTSIDE)):
        sock.connect_ex((OUTSIDE, 80))


def test_sending_outside_is_refused() -> None:
    kind = socket.SOCK_DGRAM
    with socket.socket(type=kind) as sock, pytest.raises(OutsideFence, match=re.escape(OUTSIDE)):
        sock.sendto(b"hello", (OUTSIDE, 53))
    with socket.socket(type=kind) as sock, pytest.raises(OutsideFence, match=re.escape(OUTSIDE)):
        sock.sendmsg([b"hello"], [], 0, (OUTSIDE, 53))


def test_looking_up_an_outside_name_is_refused() -> None:
    with pytest.raises(OutsideFence, match=r"outside\.invalid"):
        socket.create_connection(("outside.invalid", 80))
    with pytest.raises(OutsideFence, match=r"outside\.invalid"):
        socket.gethostbyname("outside.invalid")


def test_the_refusal_passes_through_a_broad_handler() -> None:
    with pytest.raises(OutsideFence):  # noqa: PT012
        try:
            socket.create_connection((OUTSIDE, 80))
        except Exception:  # noqa: BLE001
            pytest.fail("the fence was swallowed")


def test_connecting_to_this_machine_works(listener: socket.socket) -> None:
    with socket.create_connection(listener.getsockname(), timeout=5) as client:
        client.sendall(b"hello")
        accepted, _ = listener.accept()
        with accepted:
            assert accepted.recv(5) == b"hello"


def test_connecting_to_a_unix_socket_works(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)  # a relative name: socket paths have a short limit
    with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as client:
        server.bind("s")
        server.listen(1)
        client.connect("s")
        assert client.getpeername() == "s"


def test_a_skipped_test_fails(tmp_path: Path) -> None:
    """Red when a guarantee's test may be skipped and CI stays green."""
    case = tmp_path / "test_case.py"
    case.write_text("import pytest\n\ndef test_it():\n    pytest.skip('not here')\n")
    # Its own folders: it must neither tidy up after other runs nor leave a cache in /dev.
    apart = ["-p", "no:cacheprovider", "--basetemp", str(tmp_path / "temp"), "-c", os.devnull]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "conftest", *apart, str(case)],
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parent)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "1 failed" in done.stdout
    assert "not shown to hold" in done.stdout


def test_what_a_test_starts_heeds_the_signals_that_this_run_ignores() -> None:
    """Red when the tests fail in the background of a script, or under nohup."""
    ask = (
        "import signal; print(signal.getsignal(2) is not signal.SIG_IGN, signal.getsignal(1) == 0)"
    )
    start = f"import conftest, subprocess, sys; subprocess.run([sys.executable, '-c', {ask!r}])"
    done = subprocess.run(
        ["sh", "-c", 'trap "" INT HUP; exec "$@"', "sh", sys.executable, "-c", start],
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parent)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "True True\n"
