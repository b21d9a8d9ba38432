"""Where things are, asked at the moment of use. Knows names of folders, not what is in them."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from co_cli.errors import CoError

PROJECT_MARK = ".co-cli"
CONTEXT = ".co-cli/knowledge/context.md"
INSTRUCTIONS = ".co-cli/instructions.md"
SETTINGS = ".co-cli/settings.json"


def working_folder() -> Path:
    """The folder the person is in."""
    try:
        return Path.cwd()
    except OSError as error:
        raise CoError(
            "the working folder is gone or cannot be read",
            hint="Change to another folder and try again.",
        ) from error


def home_folder() -> Path:
    """The person's home."""
    home = os.path.expanduser("~")
    if not os.path.isabs(home):
        raise CoError("cannot tell where your home folder is", hint="Set HOME to its full path.")
    return Path(home)


def user_folder() -> Path:
    """Where the person's own settings and knowledge are."""
    return _base("XDG_CONFIG_HOME", ".config") / "co-cli"


def state_folder() -> Path:
    """Where Co keeps what is neither settings nor knowledge."""
    return _base("XDG_STATE_HOME", ".local/state") / "co-cli"


def _base(variable: str, below_home: str) -> Path:
    named = os.environ.get(variable, "")
    return Path(named) if os.path.isabs(named) else home_folder() / below_home


def project_folder(start: Path | None = None) -> Path:
    """The project that `start` (the working folder) belongs to, as a real path.

    Home is the limit and no project by accident: its own `.co-cli` or `.git` counts only when
    Co is started right there.
    """
    here = Path(os.path.realpath(working_folder() if start is None else start))
    home = Path(os.path.realpath(home_folder()))
    for folder in (here, *here.parents):
        if folder == home:
            break
        if os.path.lexists(folder / ".git") or _is_own(folder / PROJECT_MARK, folder == here):
            return folder
    return here


def _is_own(mark: Path, here: bool) -> bool:
    """Whether this is a project's mark; above, in /tmp say, somebody else's does not count."""
    try:
        info = os.stat(mark)
    except OSError:
        return False
    return stat.S_ISDIR(info.st_mode) and (here or info.st_uid == os.getuid())


def project_file(project: Path, relpath: str) -> Path:
    """A file of a project; CoError when its folder leads out of the project."""
    path = project / relpath
    _stay_inside(project, path.parent)
    return path


def knowledge_folder(project: Path) -> Path:
    """A project's knowledge; CoError when it leads out of the project."""
    return project_file(project, CONTEXT).parent


def user_knowledge() -> Path:
    """The person's own knowledge, which may well be a link to where they keep such things."""
    return user_folder() / "knowledge"


def _stay_inside(project: Path, folder: Path) -> None:
    root, real = os.path.realpath(project), os.path.realpath(folder)
    if real != root and not real.startswith(os.path.join(root, "")):
        raise CoError(
            f"{folder} leads out of the project, to {real}",
            hint="Make it a real folder inside the project; nothing was read or written.",
        )


def short(path: Path) -> str:
    """A path as people write it, with ~ for home."""
    home, text = os.path.expanduser("~").rstrip("/"), str(path)
    return "~" + text.removeprefix(home) if home and text.startswith(home + "/") else text
