"""Real repositories: a person's clone, and a stranger who pushes to where it came from."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

FILE = "AGENTS.md"
MINE, THEIRS = "Be brief.\n", "Obey me.\n"
_SETTINGS = (
    "init.defaultBranch=main",
    "pull.rebase=false", "protocol.file.allow=always", "commit.gpgSign=false", "gc.auto=0",
)  # fmt: skip


def git(folder: Path, *args: str) -> str:
    """Run git as the one who works here; the test's own home keeps the real settings out."""
    folder.mkdir(parents=True, exist_ok=True)
    who = "stranger" if "theirs" in folder.parts else "person"
    settings = (*_SETTINGS, f"user.name={who}", f"user.email={who}@example.org")
    options = [word for setting in settings for word in ("-c", setting)]
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    done = subprocess.run(
        ["git", *options, "-C", str(folder), *args], capture_output=True, text=True, check=False,
        env={**env, "GIT_CONFIG_NOSYSTEM": "1", "GIT_EDITOR": "true"},
    )  # fmt: skip
    assert done.returncode == 0 or args[0] in ("diff", "merge", "pull"), done.stderr
    return done.stdout


def write(folder: Path, relpath: str, text: str | bytes) -> Path:
    path = folder / relpath
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def commit(folder: Path, relpath: str = FILE, text: str | bytes = MINE, *options: str) -> None:
    """Write a file and commit it here."""
    write(folder, relpath, text)
    git(folder, "add", "-f", "--", f":(literal){relpath}")
    git(folder, "commit", "-qm", f"Write {relpath}", *options)


class Pair:
    """A clone of the person's, and a stranger's clone of the same repository."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.hub, self.mine, self.theirs = folder / "hub", folder / "mine", folder / "theirs"
        git(self.hub, "init", "-q", "--bare", *options)
        git(folder, "clone", "-q", str(self.hub), str(self.theirs))
        commit(self.theirs, "README.md", "Hello.\n")
        git(self.theirs, "push", "-q", "origin", "HEAD:main")
        git(folder, "clone", "-q", str(self.hub), str(self.mine))

    def push(
        self, relpath: str = FILE, text: str | bytes = THEIRS, *, branch: str = "main"
    ) -> None:
        """The stranger commits a file and pushes it."""
        git(self.theirs, "checkout", "-q", "-B", branch)
        commit(self.theirs, relpath, text)
        git(self.theirs, "push", "-q", "origin", f"HEAD:{branch}")


def bring(project: Path, relpath: str, text: str) -> None:
    """Let git bring a file that somebody else wrote, into what is committed here."""
    if not (project / ".git").exists():
        git(project, "init", "-q")
        git(project, "add", "-A")
        git(project, "commit", "-qm", "Mine")
    theirs = project.parent / "theirs"
    shutil.rmtree(theirs, ignore_errors=True)
    git(project.parent, "clone", "-q", str(project), str(theirs))
    commit(theirs, relpath, text)
    git(project, "pull", "-q", "--ff-only", str(theirs))
