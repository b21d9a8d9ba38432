"""The optional parts of Co, and the command that adds one to Co as it was installed here."""

import json
import os
import re
import sys
import tomllib
from collections.abc import Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, distribution, requires
from importlib.util import find_spec
from pathlib import Path
from shlex import join
from typing import Any
from urllib.parse import unquote, urlsplit

NAME = "co-cli"


def install_hint(what: str) -> str:
    """What to type for an extra, such as `web`, or another package, such as `cohere>=5`."""
    source: dict[str, Any] = {}
    with suppress(PackageNotFoundError, ValueError):
        source = json.loads(distribution(NAME).read_text("direct_url.json") or "{}")
    packages = requirements(what)
    return install_command(what if packages else "", packages or [what], Path(sys.prefix), source)


def requirements(extra: str) -> list[str]:
    """The packages of an extra; none for what is no extra of Co."""
    with suppress(PackageNotFoundError):
        mark = re.compile(rf";\s*extra\s*==\s*['\"]{re.escape(extra)}['\"]")
        found = [line for line in requires(NAME) or [] if mark.search(line)]
        return [line.partition(";")[0].strip().replace(", ", ",") for line in found]
    return []


def install_command(
    extra: str, packages: Sequence[str], prefix: Path, source: dict[str, Any]
) -> str:
    """The command for one environment: that of pipx, of `uv tool`, or any other.

    `source` is what the installer wrote down about where Co came from (PEP 610). Nothing is asked
    of an index under Co's own name.
    """
    if (prefix / "pipx_metadata.json").is_file():
        return join(["pipx", "inject", prefix.name, *packages])
    if (prefix / "uv-receipt.toml").is_file():
        return join(_uv_tool(packages, prefix, source))
    wanted = list(packages)
    folder = unquote(urlsplit(str(source.get("url", ""))).path)
    if extra and "dir_info" in source and os.path.isfile(os.path.join(folder, "pyproject.toml")):
        wanted = ["-e"] if source["dir_info"].get("editable") else []
        wanted.append(f"{folder}[{extra}]")
    python = str(prefix / "bin" / "python")
    if find_spec("pip"):
        return join([python, "-m", "pip", "install", *wanted])
    return join(["uv", "pip", "install", "--python", python, *wanted])


def _uv_tool(packages: Sequence[str], prefix: Path, source: dict[str, Any]) -> list[str]:
    """Installing the tool again with what it had; uv drops what is not named."""
    kept: list[dict[str, Any]] = []
    with suppress(OSError, ValueError):
        receipt = tomllib.loads((prefix / "uv-receipt.toml").read_text("utf-8"))
        kept = receipt["tool"]["requirements"]
    extras = [extra for one in kept if one["name"] == NAME for extra in one.get("extras", [])]
    told = f"[{','.join(extras)}]" if extras else ""
    where = str(source.get("url", ""))
    if "dir_info" in source:
        place = f"{unquote(urlsplit(where).path)}{told}"
    elif where:
        vcs = source.get("vcs_info", {})
        at = f"@{rev}" if (rev := vcs.get("requested_revision")) else ""
        place = f"{NAME}{told} @ {'git+' * bool(vcs)}{where}{at}"
    else:
        place = f"{NAME}{told}"
    before = [f"{one['name']}{one.get('specifier', '')}" for one in kept if one["name"] != NAME]
    editable = ["--editable"] if source.get("dir_info", {}).get("editable") else []
    withs = [word for one in dict.fromkeys([*before, *packages]) for word in ("--with", one)]
    return ["uv", "tool", "install", *withs, *editable, place]
