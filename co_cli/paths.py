"""Where things are, asked at the moment of use. Knows names of folders, not what is in them.

Paths are strings all through the core: pathlib costs more to load than reading a notebook.
"""

import os
import stat

from co_cli.errors import CoError

INDEX = "knowledge.db"
GITIGNORE = b"knowledge.db*\n.lock\ninbox/\narchive/\n"  # of a knowledge folder
PROJECT_MARK = ".co-cli"
CONTEXT = ".co-cli/knowledge/context.md"
INSTRUCTIONS = ".co-cli/instructions.md"
SETTINGS = ".co-cli/settings.json"
OLD_FILES = (  # of the JSON layout that came first, below the project's mark
    "internal/context.json",
    "memories/user_preferences.json",
    "memories/project_insights.json",
    "memories/learned_facts.json",
)

AnyPath = str | os.PathLike[str]


def home_folder() -> str:
    """The person's home."""
    home = os.path.expanduser("~")
    if not os.path.isabs(home):
        raise CoError("cannot tell where your home folder is", hint="Set HOME to its full path.")
    return home


def user_folder() -> str:
    """Where the person's own settings and knowledge are."""
    return os.path.join(_base("XDG_CONFIG_HOME", ".config"), "co-cli")


def state_folder() -> str:
    """Where Co keeps what is neither settings nor knowledge."""
    return os.path.join(_base("XDG_STATE_HOME", ".local/state"), "co-cli")


def _base(variable: str, below_home: str) -> str:
    named = os.environ.get(variable, "")
    return named if os.path.isabs(named) else os.path.join(home_folder(), below_home)


def project_folder(start: AnyPath | None = None) -> str:
    """The project that `start` (the working folder) belongs to, as a real path.

    Home is the limit and no project by accident: its own `.co-cli` or `.git` counts only when
    Co is started right there.
    """
    try:
        here = os.path.realpath(os.getcwd() if start is None else start)
    except OSError as error:
        raise CoError("the working folder is gone or cannot be read",
                      hint="Change to another folder and try again.") from error  # fmt: skip
    home = os.path.realpath(home_folder())
    folder, below = here, ""
    while folder not in (home, below):
        mine = folder == here and os.path.isdir(os.path.join(folder, PROJECT_MARK))
        if mine or any(_counts(folder, mark, here) for mark in (".git", PROJECT_MARK)):
            return folder
        folder, below = os.path.dirname(folder), folder
    return here


def is_project(folder: AnyPath) -> bool:
    """Whether a folder is a project already; home, the root and Co's own folders never are."""
    known = map(os.path.realpath, (folder, home_folder(), user_folder(), state_folder()))
    real, home, *own = (os.path.join(one, "") for one in known)
    if real in (os.sep, home) or real.startswith(tuple(own)):
        return False
    return any(os.path.lexists(real + mark) for mark in (".git", PROJECT_MARK))


def folders_to(project: AnyPath) -> list[str]:
    """The folders from a project down to the working folder, outermost first, as it sees them.

    None if the work is elsewhere; and none below a name that cannot be shown.
    """
    try:
        here = os.path.relpath(os.path.realpath(os.getcwd()), os.path.realpath(project))
    except OSError:
        return []
    parts = [] if here == os.curdir else here.split(os.sep)
    if os.pardir in parts or not here.isprintable():
        return []
    return [os.path.join(*parts[: number + 1]) for number in range(len(parts))]


def _counts(folder: str, mark: str, here: str) -> bool:
    """Whether a folder has this mark, and nobody else put it there to catch what is saved below.

    The person's own and root's marks count; another's only in a folder where nobody but its owner
    could have put it, and that owner is the person, root, or whose working folder it is.
    """
    path = os.path.join(folder, mark)
    try:
        found, around, start = os.lstat(path), os.stat(folder), os.stat(here)
    except OSError:
        return False
    if mark == PROJECT_MARK and not os.path.isdir(path):
        return False
    mine = {os.getuid(), 0}
    shared = bool(around.st_mode & 0o022)
    if shared and around.st_uid not in mine:
        return False
    linked = not stat.S_ISDIR(found.st_mode) and found.st_nlink > 1  # perhaps to a file of mine
    if found.st_uid in mine and not (shared and linked):
        return True
    return not shared and around.st_uid in {*mine, start.st_uid}


def repository(project: AnyPath) -> str | None:
    """The root of the repository that a project lies in; None when there is none for git."""
    folder, below = os.path.realpath(project), ""
    while folder != below:
        mark = os.path.join(folder, ".git")
        if os.path.isfile(mark) or os.path.lexists(os.path.join(mark, "HEAD")):
            return folder
        folder, below = os.path.dirname(folder), folder
    return None


def project_file(project: AnyPath, relpath: str) -> str:
    """A file of a project; CoError when its folder leads out of the project."""
    path = os.path.join(project, relpath)
    root, real = os.path.realpath(project), os.path.realpath(os.path.dirname(path))
    if real != root and not real.startswith(os.path.join(root, "")):
        hint = "Make it a real folder inside the project; nothing was read or written."
        raise CoError(f"{os.path.dirname(path)} leads out of the project, to {real}", hint=hint)
    return path


def knowledge_folder(project: AnyPath) -> str:
    """A project's knowledge; CoError when it leads out of the project."""
    return os.path.dirname(project_file(project, CONTEXT))


def user_knowledge() -> str:
    """The person's own knowledge, which may well be a link to where they keep such things."""
    return os.path.join(user_folder(), "knowledge")


def folders_file() -> str:
    """The list of folders that are searched in place; only the person's own says which."""
    return os.path.join(user_folder(), "folders.json")


def short(path: AnyPath) -> str:
    """A path as people write it, with ~ for home."""
    home, text = os.path.expanduser("~").rstrip("/"), str(path)
    return "~" + text.removeprefix(home) if home and text.startswith(home + "/") else text
