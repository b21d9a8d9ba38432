"""The demos say that every step holds, and leave the real home alone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).resolve().parent.parent / "scripts"


@pytest.mark.parametrize("name", ["demo_knowledge_roundtrip", "demo_memory_lifecycle"])
def test_a_demo_runs_to_its_end_and_writes_nothing_outside_its_folder(
    name: str, tmp_path: Path
) -> None:
    """Red when a verb in the demo stops doing what the demo says, or when it uses the real home."""
    before = sorted(tmp_path.rglob("*"))
    done = subprocess.run(
        [sys.executable, str(SCRIPTS / f"{name}.py")],
        env={
            **os.environ,
            "XDG_CONFIG_HOME": str(tmp_path / "home"),
            "CO_CLI_MEMORY_MAX_COUNT": "1",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "✗" not in done.stdout
    assert done.stdout.endswith("\nAll of it holds.\n")
    assert sorted(tmp_path.rglob("*")) == before
