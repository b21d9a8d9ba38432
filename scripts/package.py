"""Install Co from a clean copy with pip, pipx and uv, and see that each gives a working `co`.

Needs Python and nothing else; the installers come into a folder that is removed at the end.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXPECTED = "We deploy on Tuesdays"


def main(installers: list[str]) -> int:
    """Try every way to install; 1 when one of them does not work."""
    with tempfile.TemporaryDirectory(prefix="co-package-") as name:
        place = Path(os.path.realpath(name))
        source = copy_source(place / "source")
        tools, empty = place / "tools", place / "pip"
        run([sys.executable, "-m", "venv", tools])
        run([sys.executable, "-m", "venv", "--without-pip", empty])
        pip: list[str | Path] = [tools / "bin/python", "-m", "pip", "-q"]
        run([*pip, "install", *installers])
        uv, pipx = tools / "bin/uv", tools / "bin/pipx"
        folders = {
            "PIPX_HOME": place / "pipx",
            "PIPX_BIN_DIR": place / "pipx-bin",
            "UV_CACHE_DIR": place / "uv-cache",
            "UV_TOOL_DIR": place / "uv",
            "UV_TOOL_BIN_DIR": place / "uv-bin",
            "UV_PYTHON": sys.executable,
        }
        os.environ.update({key: str(path) for key, path in folders.items()})
        attempt(
            "pip install .",
            [*pip, "--python", empty / "bin/python", "install", "--no-compile", source],
            [empty / "bin/co"],
        )
        attempt("pipx install .", [pipx, "install", "-q", source], [place / "pipx-bin/co"])
        attempt("uv tool install .", [uv, "tool", "install", "-q", source], [place / "uv-bin/co"])
        os.environ["PATH"] = f"{tools / 'bin'}{os.pathsep}{os.environ['PATH']}"
        for way, folder in (
            ("pip", empty / "bin"),
            ("pipx", place / "pipx-bin"),
            ("uv tool", place / "uv-bin"),
        ):
            add_part(way, folder / "co")
        attempt("uv run co", [], [uv, "run", "-q", "--no-dev", "--project", source, "co"])
    return 0


def copy_source(target: Path) -> Path:
    """The working tree as it is now, without what git ignores."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        check=True,
    )
    for name in listed.stdout.decode().split("\0"):
        if name and (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, target / name)
    return target


def attempt(way: str, install: list[str | Path], co: list[str | Path]) -> None:
    """Install, then save a note and find it by its meaning, in a home of its own."""
    begun = time.monotonic()
    if install:
        run(install)
    with tempfile.TemporaryDirectory("-home", ignore_cleanup_errors=True) as home:
        run([*co, "learn", EXPECTED], home)
        found = run([*co, "recall", "when is the next release?"], home)
    if EXPECTED not in found:
        raise SystemExit(f"{way}: `co recall` did not find the note:\n{found}")
    print(f"{way:<18} works ({time.monotonic() - begun:.0f} s)", flush=True)


def add_part(way: str, co: Path) -> None:
    """Type what `co mcp`, an optional part, says to type where it is not installed."""
    with tempfile.TemporaryDirectory("-home", ignore_cleanup_errors=True) as home:
        _, _, hint = run([co, "mcp"], home, fails=True).partition("To install it: ")
        run(["sh", "-c", hint or "false"])
        run([co, "mcp"], home)
    print(f"{way:<18} takes the part mcp: {hint.strip()}", flush=True)


def run(command: list[str | Path], home: str = "", *, fails: bool = False) -> str:
    """What a command prints; unless it ends as it should, that goes to standard error."""
    env = {**os.environ, "HOME": home, "XDG_CONFIG_HOME": ""} if home else None
    done = subprocess.run(
        command,
        cwd=home or None,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
    )
    if bool(done.returncode) != fails:
        print(*command, file=sys.stderr)
        raise SystemExit(done.stdout)
    return done.stdout


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
