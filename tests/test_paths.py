"""Where things are: the user's folder, the project, and what may not lead out of it."""

from __future__ import annotations

import ast
import os
import stat
from pathlib import Path

import pytest
from cli import co

from co_cli import paths as folders
from co_cli.errors import CoError

PACKAGE = Path(__file__).resolve().parent.parent / "co_cli"


@pytest.fixture
def home() -> Path:
    return Path(os.environ["HOME"])


def _make(*paths: Path) -> None:
    for path in paths:
        path.mkdir(parents=True, exist_ok=True)


def test_the_users_folders_are_below_home(home: Path) -> None:
    assert Path(folders.home_folder()) == home
    assert Path(folders.user_folder()) == home / ".config/co-cli"
    assert Path(folders.user_knowledge()) == home / ".config/co-cli/knowledge"
    assert Path(folders.state_folder()) == home / ".local/state/co-cli"


def test_xdg_folders_are_honoured_when_absolute(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert Path(folders.user_folder()) == tmp_path / "config/co-cli"
    assert Path(folders.state_folder()) == tmp_path / "state/co-cli"
    monkeypatch.setenv("XDG_CONFIG_HOME", "config")
    monkeypatch.setenv("XDG_STATE_HOME", "")
    assert Path(folders.user_folder()) == home / ".config/co-cli"
    assert Path(folders.state_folder()) == home / ".local/state/co-cli"


def test_a_home_that_is_no_full_path_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "somewhere")
    with pytest.raises(CoError, match="cannot tell where your home folder is") as caught:
        folders.user_folder()
    assert caught.value.hint == "Set HOME to its full path."


def test_the_project_is_the_nearest_folder_with_a_mark(tmp_path: Path) -> None:
    outer, inner = tmp_path / "outer", tmp_path / "outer/a/b"
    _make(inner / "c", outer / ".co-cli")
    assert Path(folders.project_folder(inner / "c")) == outer
    _make(inner / ".co-cli")
    assert Path(folders.project_folder(inner / "c")) == inner
    assert Path(folders.project_folder(inner / ".co-cli")) == inner


def test_the_project_is_asked_for_at_the_moment_of_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Red when project_folder remembers its first answer, or resolves at import."""
    for name in ("one", "two"):
        _make(tmp_path / name / ".co-cli")
        monkeypatch.chdir(tmp_path / name)
        assert Path(folders.project_folder()) == tmp_path / name


def test_a_project_is_never_above_the_repository(tmp_path: Path) -> None:
    """G12. Red when the search goes on past a folder that holds .git."""
    repository = tmp_path / "outer/repository"
    _make(tmp_path / "outer/.co-cli", repository / ".git", repository / "src")
    assert Path(folders.project_folder(repository / "src")) == repository
    _make(repository / "src/.co-cli")
    assert Path(folders.project_folder(repository / "src")) == repository / "src"


def test_a_worktree_is_a_repository_too(tmp_path: Path) -> None:
    tree = tmp_path / "outer/tree"
    _make(tmp_path / "outer/.co-cli", tree / "src")
    (tree / ".git").write_text("gitdir: elsewhere\n")
    assert Path(folders.project_folder(tree / "src")) == tree


def test_without_any_mark_the_project_is_the_working_folder(tmp_path: Path) -> None:
    assert Path(folders.project_folder()) == tmp_path / "work"


def test_a_plain_file_by_the_marks_name_marks_nothing(tmp_path: Path) -> None:
    _make(tmp_path / "outer/.co-cli", tmp_path / "outer/inner")
    (tmp_path / "outer/inner/.co-cli").write_text("")
    assert Path(folders.project_folder(tmp_path / "outer/inner")) == tmp_path / "outer"


OTHER = 12345  # a user that nobody is


class _People:
    """Lets folders belong to somebody else: root gives them away, others become somebody else."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.patch, self.is_root = monkeypatch, os.getuid() == 0

    def give(self, *paths: Path) -> None:
        """These are another's, who is not root; everything else is the person's."""
        if self.is_root:
            for path in paths:
                os.chown(path, OTHER, OTHER, follow_symlinks=False)
            return
        real = {name: getattr(os, name) for name in ("stat", "lstat")}

        def told(name: str) -> None:
            def look(path: object, *args: object, **options: object) -> os.stat_result:
                info = real[name](path, *args, **options)
                if str(path) not in map(str, paths):
                    return info  # type: ignore[no-any-return]
                fields = list(info)
                fields[stat.ST_UID] = OTHER
                return os.stat_result(fields)

            self.patch.setattr(os, name, look)

        for name in real:
            told(name)


@pytest.fixture
def people(monkeypatch: pytest.MonkeyPatch) -> _People:
    return _People(monkeypatch)


def _planted(tmp_path: Path, mark: str, mode: int) -> tuple[Path, Path]:
    """A working folder below one with a mark, like one's own folder in /tmp."""
    shared, here = tmp_path / "shared", tmp_path / "shared/mine/deep"
    _make(here)
    if mark == ".git file":
        (shared / ".git").write_text("gitdir: elsewhere\n")
    elif mark == "link":
        (shared / ".git").symlink_to(tmp_path)
    else:
        _make(shared / mark)
    shared.chmod(mode)
    return shared, here


MARKS = [".git", ".git file", "link", ".co-cli"]


@pytest.mark.parametrize("mark", MARKS)
@pytest.mark.parametrize("mode", [0o1777, 0o777, 0o775])
def test_a_mark_that_another_put_into_a_shared_folder_catches_nothing(
    tmp_path: Path, people: _People, mark: str, mode: int
) -> None:
    """G12. Red when /tmp/.git, planted by anybody, takes the notes of every folder below."""
    shared, here = _planted(tmp_path, mark, mode)
    people.give(shared / (".co-cli" if mark == ".co-cli" else ".git"))
    assert Path(folders.project_folder(here)) == here


@pytest.mark.parametrize("mark", MARKS)
def test_the_persons_own_mark_counts_in_a_shared_folder(tmp_path: Path, mark: str) -> None:
    shared, here = _planted(tmp_path, mark, 0o1777)
    assert Path(folders.project_folder(here)) == shared


@pytest.mark.parametrize("mark", MARKS)
@pytest.mark.parametrize("mode", [0o777, 0o775])
def test_a_folder_of_anothers_that_others_may_write_catches_nothing(
    tmp_path: Path, people: _People, mark: str, mode: int
) -> None:
    """Red when a shared folder counts although its owner may put anything in its place."""
    shared, here = _planted(tmp_path, mark, mode)
    people.give(shared)
    assert Path(folders.project_folder(here)) == here


def test_a_file_of_the_persons_linked_to_by_another_is_no_mark(tmp_path: Path) -> None:
    """Red when a hard link, which keeps its owner, passes for the person's own mark."""
    shared, here = _planted(tmp_path, ".git file", 0o1777)
    os.link(shared / ".git", tmp_path / "notes.txt")
    assert Path(folders.project_folder(here)) == here


def test_a_mark_that_only_the_folders_owner_can_have_put_counts(
    tmp_path: Path, people: _People
) -> None:
    """As in a container: the files are the host's, the process is root."""
    shared, here = _planted(tmp_path, ".git", 0o755)
    people.give(shared / ".git")
    assert Path(folders.project_folder(here)) == shared
    people.give(shared, shared / ".git")
    assert Path(folders.project_folder(here)) == here
    people.give(shared, shared / ".git", here)
    assert Path(folders.project_folder(here)) == shared


def test_notes_go_into_the_working_folder_and_not_where_another_planted_a_mark(
    tmp_path: Path, people: _People, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared, here = _planted(tmp_path, ".git", 0o1777)
    people.give(shared / ".git")
    monkeypatch.chdir(here)
    assert co("learn", "We deploy on Tuesdays").code == 0
    assert (here / ".co-cli/knowledge/memories").is_dir()
    assert sorted(path.name for path in shared.iterdir()) == [".git", "mine"]


def test_home_is_a_project_only_for_who_starts_there(home: Path) -> None:
    """Red when home's own .co-cli or .git governs every folder below it."""
    below = home / "code/thing"
    _make(home / ".co-cli", home / ".git", below)
    assert Path(folders.project_folder(below)) == below
    assert Path(folders.project_folder(home)) == home


def test_a_project_is_never_above_home(home: Path) -> None:
    """Red when the search does not stop at home."""
    _make(home.parent / ".co-cli", home / "code")
    assert Path(folders.project_folder(home / "code")) == home / "code"
    assert Path(folders.project_folder(home)) == home


def test_home_is_recognised_through_a_link(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _make(home / ".co-cli", home / "code")
    (tmp_path / "linked").symlink_to(home)
    monkeypatch.setenv("HOME", str(tmp_path / "linked"))
    assert Path(folders.project_folder(tmp_path / "linked/code")) == home / "code"


def test_a_working_folder_that_is_gone_is_an_error_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _make(tmp_path / "gone")
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with pytest.raises(CoError, match="the working folder is gone"):
        folders.project_folder()


def test_knowledge_is_below_the_project(tmp_path: Path) -> None:
    assert Path(folders.knowledge_folder(tmp_path)) == tmp_path / ".co-cli/knowledge"
    assert Path(folders.project_file(tmp_path, "AGENTS.md")) == tmp_path / "AGENTS.md"


@pytest.mark.parametrize("link", [".co-cli", ".co-cli/knowledge"])
def test_knowledge_that_leads_out_of_the_project_is_refused(tmp_path: Path, link: str) -> None:
    """G12. Red when knowledge_folder does not compare real paths, or compares only names."""
    project, outside = tmp_path / "project", tmp_path / "project-not"
    _make((project / link).parent, outside / "knowledge")
    (project / link).symlink_to(outside)
    with pytest.raises(CoError, match="leads out of the project") as caught:
        folders.knowledge_folder(project)
    assert caught.value.hint == (
        "Make it a real folder inside the project; nothing was read or written."
    )


def test_knowledge_may_be_a_link_inside_the_project(tmp_path: Path) -> None:
    project = tmp_path / "project"
    _make(project / "docs/notes", project / ".co-cli")
    (project / ".co-cli/knowledge").symlink_to("../docs/notes")
    assert Path(folders.knowledge_folder(project)) == project / ".co-cli/knowledge"


def test_a_project_reached_through_a_link_is_not_outside_itself(tmp_path: Path) -> None:
    _make(tmp_path / "project/.co-cli/knowledge")
    (tmp_path / "linked").symlink_to(tmp_path / "project")
    linked = tmp_path / "linked"
    assert Path(folders.knowledge_folder(linked)) == linked / ".co-cli/knowledge"


def test_people_may_link_their_own_knowledge(tmp_path: Path, home: Path) -> None:
    _make(tmp_path / "dotfiles", home / ".config/co-cli")
    (home / ".config/co-cli/knowledge").symlink_to(tmp_path / "dotfiles")
    assert Path(folders.user_knowledge()) == home / ".config/co-cli/knowledge"


def test_a_short_path_starts_at_home(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert folders.short(home / ".config/x") == "~/.config/x"
    assert folders.short(Path(f"{home}-not/x")) == f"{home}-not/x"
    monkeypatch.setenv("HOME", "/")
    assert folders.short(Path("/etc/x")) == "/etc/x"


def test_the_working_folder_is_asked_for_in_one_place() -> None:
    """Red when any other module looks at the working folder by itself."""
    asking = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_bytes()))
        if isinstance(node, ast.Attribute) and node.attr in ("cwd", "getcwd", "getcwdb")
    }
    assert asking == {"paths.py"}
