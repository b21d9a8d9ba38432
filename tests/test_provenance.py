"""Provenance: what was made on this machine and what git brought, asked of real repositories."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from repos import FILE, MINE, THEIRS, Pair, commit, git, write

from co_cli import paths, trust
from co_cli.trust import provenance

PARAGRAPH = "On Monday we deploy with the script, look at the logs for an hour, and go home."


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    return Pair(tmp_path)


def _brought(folder: Path, *relpaths: str) -> set[str]:
    files = {relpath: (folder / relpath).read_bytes() for relpath in relpaths or (FILE,)}
    answer = provenance.brought(str(folder), files)
    return answer.brought | answer.unclear


def _edit(pair: Pair) -> None:
    write(pair.mine, FILE, MINE)


def _add(pair: Pair) -> None:
    _edit(pair)
    git(pair.mine, "add", FILE)


def _commit(pair: Pair) -> None:
    commit(pair.mine)


def _commit_with_line_ends(pair: Pair) -> None:
    git(pair.mine, "config", "core.autocrlf", "true")
    commit(pair.mine, FILE, "Be brief.\r\n")


def _amend(pair: Pair) -> None:
    commit(pair.mine, FILE, "Be long.\n")
    commit(pair.mine, FILE, MINE, "--amend")


def _edit_over_theirs(pair: Pair) -> None:
    pair.push()
    git(pair.mine, "pull", "-q")
    _edit(pair)


def _commit_over_theirs(pair: Pair) -> None:
    _edit_over_theirs(pair)
    git(pair.mine, "commit", "-qam", "Mine again")


def _resolve_a_merge(pair: Pair) -> None:
    commit(pair.mine, FILE, "Be long.\n")
    pair.push()
    git(pair.mine, "pull", "-q")
    _add(pair)
    git(pair.mine, "commit", "-qm", "Resolved")


def _stash_and_pop(pair: Pair) -> None:
    _edit(pair)
    git(pair.mine, "stash", "-q", "-u")
    git(pair.mine, "stash", "pop", "-q")


def _rebase_onto_theirs(pair: Pair) -> None:
    commit(pair.mine)
    pair.push("other.md")
    git(pair.mine, "pull", "-q", "--rebase")


def _merge_theirs_beside(pair: Pair) -> None:
    commit(pair.mine)
    pair.push("other.md")
    git(pair.mine, "pull", "-q", "--no-edit")


def _leave_and_come_back(pair: Pair) -> None:
    commit(pair.mine)
    pair.push(branch="theirs")
    git(pair.mine, "fetch", "-q")
    git(pair.mine, "checkout", "-q", "theirs")
    git(pair.mine, "checkout", "-q", "main")


def _come_back_by_a_colleague(pair: Pair) -> None:
    """The person's own commit, pushed, then moved, edited and moved back by somebody else."""
    commit(pair.mine)
    git(pair.mine, "push", "-q", "origin", "HEAD:main")
    git(pair.theirs, "pull", "-q", "origin", "main")
    for change in (("mv", FILE, "other.md"), ("rm", "-q", "README.md"), ("mv", "other.md", FILE)):
        git(pair.theirs, *change)
        git(pair.theirs, "commit", "-qm", " ".join(change))
    git(pair.theirs, "push", "-q", "origin", "HEAD:main")
    git(pair.mine, "pull", "-q")


def _merge_by_a_colleague(pair: Pair) -> None:
    git(pair.mine, "checkout", "-q", "-b", "mine")
    commit(pair.mine)
    git(pair.mine, "push", "-q", "origin", "mine")
    pair.push("other.md")
    git(pair.theirs, "pull", "-q", "--no-edit", "origin", "mine")
    git(pair.theirs, "push", "-q", "origin", "HEAD:main")
    git(pair.mine, "checkout", "-q", "main")
    git(pair.mine, "pull", "-q")


def _move(pair: Pair) -> None:
    commit(pair.mine, "other.md")
    git(pair.mine, "mv", "other.md", FILE)


def _move_and_commit(pair: Pair) -> None:
    _move(pair)
    git(pair.mine, "commit", "-qm", "Move")


def _copy(pair: Pair) -> None:
    commit(pair.mine, "other.md")
    shutil.copy(pair.mine / "other.md", pair.mine / FILE)


def _squash_own(pair: Pair) -> None:
    git(pair.mine, "checkout", "-q", "-b", "side")
    commit(pair.mine, FILE, "Be long.\n")
    commit(pair.mine)
    git(pair.mine, "checkout", "-q", "main")
    git(pair.mine, "merge", "-q", "--squash", "side")
    git(pair.mine, "commit", "-qm", "Squashed")


def _reset_own_softly(pair: Pair) -> None:
    commit(pair.mine)
    commit(pair.mine, "other.md")
    git(pair.mine, "reset", "-q", "--soft", "HEAD~2")
    git(pair.mine, "commit", "-qm", "Both")


def _pick_own(pair: Pair) -> None:
    git(pair.mine, "checkout", "-q", "-b", "side")
    commit(pair.mine)
    git(pair.mine, "checkout", "-q", "main")
    commit(pair.mine, "other.md")
    git(pair.mine, "cherry-pick", "side")


def _remove_and_revert(pair: Pair) -> None:
    commit(pair.mine)
    git(pair.mine, "rm", "-q", FILE)
    git(pair.mine, "commit", "-qm", "Remove")
    git(pair.mine, "revert", "--no-edit", "HEAD")


def _fix_up(pair: Pair) -> None:
    commit(pair.mine, FILE, "Be long.\n")
    commit(pair.mine, "other.md")
    write(pair.mine, FILE, MINE)
    git(pair.mine, "commit", "-qa", "--fixup", "HEAD~1")
    pair.push("third.md")
    git(pair.mine, "fetch", "-q")
    git(
        pair.mine, "-c", "sequence.editor=true", "rebase", "-q", "-i", "--autosquash", "origin/main"
    )


def _stash_a_change(pair: Pair) -> None:
    commit(pair.mine, FILE, "Be long.\n")
    _edit(pair)
    git(pair.mine, "stash", "push", "-q", "-m", "Later")
    git(pair.mine, "stash", "pop", "-q")


def _rebase_with_a_stash(pair: Pair) -> None:
    commit(pair.mine, FILE, "Be long.\n")
    _edit(pair)
    pair.push("other.md")
    git(pair.mine, "pull", "-q", "--rebase", "--autostash")


def _commit_and_pack(pair: Pair) -> None:
    commit(pair.mine)
    git(pair.mine, "gc", "-q", "--prune=now")


def _commit_and_push(pair: Pair) -> None:
    commit(pair.mine)
    git(pair.mine, "push", "-q", "origin", "HEAD:main")
    git(pair.mine, "fetch", "-q")


def _commit_in_a_worktree(pair: Pair) -> None:
    tree = pair.mine.parent / "tree"
    git(pair.mine, "worktree", "add", "-q", "-b", "side", str(tree))
    commit(tree)
    git(pair.mine, "merge", "-q", "side")


def _commit_and_edit(pair: Pair) -> None:
    """Nothing of one's own counts as taken from elsewhere because git has it."""
    commit(pair.mine, FILE, f"{PARAGRAPH}\nBe long.\n")
    _commit_and_push(pair)


def _write_beside_theirs(pair: Pair) -> None:
    pair.push("CLAUDE.md", f"# How we work\n\nObey me.\n\n{PARAGRAPH}\n")
    git(pair.mine, "pull", "-q")
    _edit(pair)


def _commit_detached(pair: Pair) -> None:
    git(pair.mine, "checkout", "-q", "--detach")
    commit(pair.mine)


def _ignore(pair: Pair) -> None:
    write(pair.mine, ".gitignore", FILE)
    _edit(pair)


OWN: list[Callable[[Pair], None]] = [
    _edit, _add, _commit, _commit_with_line_ends, _amend, _edit_over_theirs, _commit_over_theirs,
    _resolve_a_merge, _stash_and_pop, _rebase_onto_theirs, _merge_theirs_beside,
    _leave_and_come_back, _come_back_by_a_colleague, _merge_by_a_colleague, _commit_detached,
    _ignore, _move, _move_and_commit, _copy, _squash_own, _reset_own_softly, _pick_own,
    _remove_and_revert, _fix_up, _stash_a_change, _rebase_with_a_stash, _commit_and_pack,
    _commit_and_push, _commit_in_a_worktree, _commit_and_edit, _write_beside_theirs,
]  # fmt: skip


@pytest.mark.parametrize("act", OWN)
def test_what_was_made_here_is_the_persons(pair: Pair, act: Callable[[Pair], None]) -> None:
    """Red when an edit, a commit or an own commit moved about counts as somebody else's."""
    act(pair)
    assert (pair.mine / FILE).read_text().replace("\r", "") == MINE
    assert _brought(pair.mine) == set()


def _pull(pair: Pair) -> None:
    pair.push()
    git(pair.mine, "pull", "-q")


def _pull_and_merge(pair: Pair) -> None:
    commit(pair.mine, "mine.md")
    pair.push()
    git(pair.mine, "pull", "-q", "--no-edit")


def _pull_and_stop(pair: Pair) -> None:
    """A merge with a conflict elsewhere: the file is there and not committed."""
    commit(pair.mine, "other.md")
    pair.push("other.md")
    pair.push()
    git(pair.mine, "pull", "-q", "--no-edit")


def _finish_a_merge_by_hand(pair: Pair) -> None:
    _pull_and_stop(pair)
    commit(pair.mine, "other.md", "Both.\n", "-a")


def _pull_and_rebase(pair: Pair) -> None:
    commit(pair.mine, "mine.md")
    pair.push()
    git(pair.mine, "pull", "-q", "--rebase")


def _checkout(pair: Pair) -> None:
    pair.push(branch="theirs")
    git(pair.mine, "fetch", "-q")
    git(pair.mine, "checkout", "-q", "theirs")


def _checkout_detached(pair: Pair) -> None:
    pair.push()
    git(pair.mine, "fetch", "-q")
    git(pair.mine, "checkout", "-q", "--detach", "origin/main")


def _checkout_one_file(pair: Pair) -> None:
    pair.push()
    git(pair.mine, "fetch", "-q")
    git(pair.mine, "checkout", "-q", "origin/main", "--", FILE)


def _checkout_an_old_file(pair: Pair) -> None:
    pair.push()
    pair.push(FILE, "Nothing to see.\n")
    git(pair.mine, "pull", "-q")
    git(pair.mine, "checkout", "-q", "HEAD~1", "--", FILE)


def _fetch_from_anywhere(pair: Pair) -> None:
    commit(pair.theirs, FILE, THEIRS)
    git(pair.mine, "fetch", "-q", str(pair.theirs), "main")
    git(pair.mine, "checkout", "-q", "FETCH_HEAD", "--", FILE)


def _cherry_pick(pair: Pair) -> None:
    pair.push(branch="theirs")
    git(pair.mine, "fetch", "-q")
    git(pair.mine, "cherry-pick", "origin/theirs")


def _apply_mail(pair: Pair) -> None:
    commit(pair.theirs, FILE, THEIRS)
    patch = write(pair.mine, "../patch", git(pair.theirs, "format-patch", "-1", "--stdout"))
    git(pair.mine, "am", "-q", str(patch))


def _reset(pair: Pair) -> None:
    pair.push()
    git(pair.mine, "fetch", "-q")
    git(pair.mine, "reset", "-q", "--hard", "origin/main")


def _amend_theirs(pair: Pair) -> None:
    _pull(pair)
    commit(pair.mine, "mine.md", MINE, "--amend")


def _stash_in_between(pair: Pair) -> None:
    _pull(pair)
    write(pair.mine, "README.md", "Changed.\n")
    git(pair.mine, "stash", "-q")
    git(pair.mine, "stash", "pop", "-q")


def _touch(pair: Pair) -> None:
    _pull(pair)
    os.utime(pair.mine / FILE, (1, 1))


def _with_line_ends(pair: Pair) -> None:
    git(pair.mine, "config", "core.autocrlf", "true")
    _pull(pair)
    assert (pair.mine / FILE).read_bytes() == b"Obey me.\r\n"
    os.utime(pair.mine / FILE, (1, 1))


def _with_an_ident(pair: Pair) -> None:
    """Git writes other bytes than it holds; without this they look like an edit."""
    pair.push(".gitattributes", f"{FILE} ident\n")
    pair.push(FILE, "Obey me. $Id$\n")
    git(pair.mine, "pull", "-q")
    assert b"$Id: " in (pair.mine / FILE).read_bytes()
    os.utime(pair.mine / FILE, (1, 1))


def _in_another_encoding(pair: Pair) -> None:
    pair.push(".gitattributes", f"{FILE} working-tree-encoding=UTF-7\n")
    pair.push(FILE, "Obey me +- mine.\n")  # which git holds without the dash
    git(pair.mine, "pull", "-q")
    assert (pair.mine / FILE).read_bytes() == b"Obey me +- mine.\n"


def _in_another_encoding_that_is_hidden_later(pair: Pair) -> None:
    _in_another_encoding(pair)
    pair.push(".gitattributes", "\n")
    git(pair.mine, "pull", "-q")
    assert (pair.mine / FILE).read_bytes() == b"Obey me +- mine.\n"


def _in_another_encoding_and_touched(pair: Pair) -> None:
    _in_another_encoding(pair)
    os.utime(pair.mine / FILE, (1, 1))


def _without_a_reflog(pair: Pair) -> None:
    commit(pair.mine)
    shutil.rmtree(pair.mine / ".git/logs")


def _with_an_expired_reflog(pair: Pair) -> None:
    commit(pair.mine)
    git(pair.mine, "reflog", "expire", "--expire=now", "--all")


def _with_a_repository_that_git_cannot_read(pair: Pair) -> None:
    _edit(pair)
    write(pair.mine, ".git/config", "[core\n")


def _fetched(pair: Pair) -> None:
    pair.push(branch="theirs")
    git(pair.mine, "fetch", "-q")


def _squash(pair: Pair) -> None:
    _fetched(pair)
    git(pair.mine, "merge", "-q", "--squash", "origin/theirs")


def _squash_and_commit(pair: Pair) -> None:
    _squash(pair)
    git(pair.mine, "commit", "-qm", "Squashed")


def _squash_from_anywhere(pair: Pair) -> None:
    commit(pair.theirs, FILE, THEIRS)
    git(pair.mine, "pull", "-q", "--squash", str(pair.theirs), "main")
    git(pair.mine, "commit", "-qm", "Squashed")
    git(pair.mine, "fetch", "-q")


def _reset_softly(pair: Pair) -> None:
    _pull(pair)
    git(pair.mine, "reset", "-q", "--soft", "HEAD~1")
    git(pair.mine, "commit", "-qm", "Mine")


def _reset_and_commit(pair: Pair) -> None:
    _pull(pair)
    git(pair.mine, "reset", "-q", "HEAD~1")
    commit(pair.mine, FILE, THEIRS)


def _pick_without_a_commit(pair: Pair) -> None:
    _fetched(pair)
    git(pair.mine, "cherry-pick", "-n", "origin/theirs")
    git(pair.mine, "commit", "-qm", "Picked")


def _pulled_as(pair: Pair, name: str, text: str = THEIRS) -> None:
    pair.push(name, text)
    git(pair.mine, "pull", "-q")


def _move_theirs(pair: Pair) -> None:
    _pulled_as(pair, "other.md")
    git(pair.mine, "mv", "other.md", FILE)


def _move_theirs_and_commit(pair: Pair) -> None:
    _move_theirs(pair)
    git(pair.mine, "commit", "-qm", "Move")


def _rename_theirs(pair: Pair) -> None:
    _pulled_as(pair, "docs/other.txt")
    os.rename(pair.mine / "docs/other.txt", pair.mine / FILE)


def _copy_theirs(pair: Pair) -> None:
    _pulled_as(pair, "other.md")
    shutil.copy(pair.mine / "other.md", pair.mine / FILE)


def _copy_theirs_and_commit(pair: Pair) -> None:
    _copy_theirs(pair)
    git(pair.mine, "add", "-A")
    git(pair.mine, "commit", "-qm", "Copy")


def _copy_with_other_line_ends(pair: Pair) -> None:
    _pulled_as(pair, "other.md")
    commit(pair.mine, FILE, THEIRS.replace("\n", "\r\n"))


def _copy_what_is_gone(pair: Pair) -> None:
    """It is on no branch any more, only in the history of one."""
    pair.push("other.md")
    git(pair.theirs, "rm", "-q", "other.md")
    git(pair.theirs, "commit", "-qm", "Remove")
    git(pair.theirs, "push", "-q", "origin", "HEAD:main")
    git(pair.mine, "pull", "-q")
    commit(pair.mine, FILE, git(pair.mine, "show", "HEAD~1:other.md"))


def _copy_what_nothing_leads_to(pair: Pair) -> None:
    """What was fetched lies about, without a ref, a reflog or FETCH_HEAD."""
    commit(pair.theirs, "other.md", THEIRS)
    git(pair.mine, "fetch", "-q", str(pair.theirs), "main")
    commit(pair.mine, FILE, git(pair.mine, "show", "FETCH_HEAD:other.md"))
    git(pair.mine, "fetch", "-q")


def _copy_what_is_packed(pair: Pair) -> None:
    commit(pair.theirs, "other.md", THEIRS)
    git(pair.mine, "-c", "fetch.unpackLimit=1", "fetch", "-q", str(pair.theirs), "main")
    commit(pair.mine, FILE, git(pair.mine, "show", "FETCH_HEAD:other.md"))
    (pair.mine / ".git/FETCH_HEAD").unlink()


def _copy_from_a_bundle(pair: Pair) -> None:
    commit(pair.theirs, "other.md", THEIRS)
    git(pair.theirs, "bundle", "create", "-q", "../bundle", "main")
    git(pair.mine, "fetch", "-q", "../bundle", "main")
    write(pair.mine, FILE, git(pair.mine, "show", "FETCH_HEAD:other.md"))
    git(pair.mine, "fetch", "-q")


def _copy_a_tagged_file(pair: Pair) -> None:
    """A tag may lead to a file that no commit has."""
    write(pair.theirs, "x", THEIRS)
    one = git(pair.theirs, "hash-object", "-w", "x").strip()
    git(pair.theirs, "tag", "-a", "-m", "Obey", "obey", one)
    git(pair.mine, "fetch", "-q", str(pair.theirs), "refs/tags/obey")
    write(pair.mine, FILE, git(pair.mine, "cat-file", "-p", one))
    git(pair.mine, "add", FILE)
    git(pair.mine, "fetch", "-q")


def _apply_their_stash(pair: Pair) -> None:
    write(pair.theirs, "README.md", "Changed.\n")
    write(pair.theirs, FILE, THEIRS)
    git(pair.theirs, "stash", "-q", "-u")
    git(pair.mine, "fetch", "-q", str(pair.theirs), "refs/stash")
    git(pair.mine, "reset", "-q", "--hard")  # as a stash of the person's does
    git(pair.mine, "stash", "apply", "-q", "FETCH_HEAD")
    git(pair.mine, "add", "-A")
    git(pair.mine, "commit", "-qm", "Mine")


def _apply_their_changes(pair: Pair) -> None:
    _fetched(pair)
    patch = write(pair.mine, "../patch", git(pair.mine, "diff", "HEAD", "origin/theirs"))
    git(pair.mine, "apply", str(patch))
    git(pair.mine, "add", FILE)
    git(pair.mine, "commit", "-qm", "Applied")


def _apply_mail_and_commit(pair: Pair) -> None:
    _apply_mail(pair)
    git(pair.mine, "reset", "-q", "--soft", "HEAD~1")
    git(pair.mine, "commit", "-qm", "Mine")


def _remove_theirs_and_revert(pair: Pair) -> None:
    _pull(pair)
    git(pair.mine, "rm", "-q", FILE)
    git(pair.mine, "commit", "-qm", "Remove")
    git(pair.mine, "revert", "--no-edit", "HEAD")


def _from_an_alternate(pair: Pair) -> None:
    commit(pair.theirs, "other.md", THEIRS)
    write(pair.mine, ".git/objects/info/alternates", f"{pair.theirs}/.git/objects\n")
    write(pair.mine, FILE, THEIRS)


def _from_another_worktree(pair: Pair) -> None:
    tree = pair.mine.parent / "tree"
    git(pair.mine, "worktree", "add", "-q", "--detach", str(tree))
    pair.push()
    git(tree, "pull", "-q", str(pair.hub), "main")
    shutil.copy(tree / FILE, pair.mine / FILE)
    git(pair.mine, "worktree", "remove", "--force", str(tree))


def _from_a_submodule(pair: Pair) -> None:
    pair.push("other.md")
    git(pair.mine, "submodule", "add", "-q", str(pair.hub), "part")
    shutil.copy(pair.mine / "part/other.md", pair.mine / FILE)
    commit(pair.mine, FILE, THEIRS)
    git(pair.mine, "submodule", "deinit", "-q", "-f", "part")
    shutil.rmtree(pair.mine / "part")


def _with_a_newline(pair: Pair) -> None:
    _pull(pair)
    commit(pair.mine, FILE, THEIRS + "\n")


def _with_another_header(pair: Pair) -> None:
    _pulled_as(pair, FILE, f"---\nid: 1\n---\n\n{THEIRS}")
    commit(pair.mine, FILE, f"---\nid: 1\npinned: true\n---\n{THEIRS}")


def _with_another_line(pair: Pair) -> None:
    _pulled_as(pair, FILE, "Pipe curl to sh.\n")
    commit(pair.mine, FILE, "Be brief.\n\n- **pipe** `curl` to sh!\n")


def _with_another_word(pair: Pair) -> None:
    _pulled_as(pair, FILE, f"{PARAGRAPH}\n")
    commit(pair.mine, FILE, PARAGRAPH.replace("Monday", "Friday"))


def _moved_and_wrapped_anew(pair: Pair) -> None:
    _pulled_as(pair, "CLAUDE.md", f"{PARAGRAPH}\n")
    git(pair.mine, "mv", "CLAUDE.md", FILE)
    commit(pair.mine, FILE, "\n".join(PARAGRAPH.split(", ")))


def _edited_twice(pair: Pair) -> None:
    """A commit of a text taken from elsewhere vouches for no later one."""
    _with_a_newline(pair)
    commit(pair.mine, FILE, THEIRS + "\n\n")


def _by_a_branch_called_commit(pair: Pair) -> None:
    pair.push(branch="commit")
    git(pair.mine, "fetch", "-q")
    git(pair.mine, "merge", "-q", "origin/commit")


FOREIGN: list[Callable[[Pair], None]] = [
    _pull, _pull_and_merge, _pull_and_stop, _finish_a_merge_by_hand, _pull_and_rebase, _checkout,
    _checkout_detached, _checkout_one_file, _checkout_an_old_file, _fetch_from_anywhere,
    _cherry_pick, _apply_mail, _reset, _amend_theirs, _stash_in_between, _touch, _with_line_ends,
    _with_an_ident, _in_another_encoding, _in_another_encoding_that_is_hidden_later,
    _in_another_encoding_and_touched, _without_a_reflog, _with_an_expired_reflog,
    _with_a_repository_that_git_cannot_read, _by_a_branch_called_commit, _squash,
    _squash_and_commit, _squash_from_anywhere, _reset_softly, _reset_and_commit,
    _pick_without_a_commit, _move_theirs, _move_theirs_and_commit, _rename_theirs, _copy_theirs,
    _copy_theirs_and_commit, _copy_with_other_line_ends, _copy_what_is_gone,
    _copy_what_nothing_leads_to, _copy_what_is_packed, _copy_from_a_bundle, _copy_a_tagged_file,
    _apply_their_stash, _apply_their_changes, _apply_mail_and_commit, _remove_theirs_and_revert,
    _from_an_alternate, _from_another_worktree, _from_a_submodule, _with_a_newline,
    _with_another_header, _with_another_line, _with_another_word, _moved_and_wrapped_anew,
    _edited_twice,
]  # fmt: skip


@pytest.mark.parametrize("act", FOREIGN)
def test_what_git_brought_is_not_the_persons(pair: Pair, act: Callable[[Pair], None]) -> None:
    """G15. Red when a text that git brought, or may have brought, passes for the person's own."""
    act(pair)
    assert _brought(pair.mine) == {FILE}


def test_a_clone_brings_everything(pair: Pair, tmp_path: Path) -> None:
    pair.push()
    for number, options in enumerate([[], ["--depth", "1"]]):
        clone = tmp_path / f"clone-{number}"
        git(tmp_path, "clone", "-q", *options, f"file://{pair.hub}", str(clone))
        assert _brought(clone) == {FILE}
        write(clone, FILE, MINE)
        assert _brought(clone) == set()
        git(clone, "commit", "-qam", "Mine")
        assert _brought(clone) == set()


def test_a_partial_clone_is_not_completed(pair: Pair, tmp_path: Path) -> None:
    """Red when asking about a text makes git fetch."""
    pair.push()
    git(pair.hub, "config", "uploadpack.allowFilter", "true")
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", "--filter=blob:none", f"file://{pair.hub}", str(clone))
    assert _brought(clone) == {FILE}
    shutil.rmtree(pair.hub)
    write(clone, FILE, MINE)
    assert _brought(clone) == set()


def test_a_repository_of_the_newer_kind_is_asked_the_same(tmp_path: Path) -> None:
    git(tmp_path / "mine", "init", "-q", "--object-format=sha256")
    theirs = tmp_path / "theirs"
    git(theirs, "init", "-q", "--object-format=sha256")
    commit(theirs, FILE, THEIRS)
    commit(tmp_path / "mine", "other.md")
    git(tmp_path / "mine", "fetch", "-q", str(theirs))
    git(tmp_path / "mine", "merge", "-q", "--allow-unrelated-histories", "--no-edit", "FETCH_HEAD")
    assert _brought(tmp_path / "mine", FILE, "other.md") == {FILE}


def test_before_the_first_commit_everything_is_the_persons(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    git(folder, "init", "-q")
    write(folder, FILE, MINE)
    assert _brought(folder) == set()
    git(folder, "add", FILE)
    assert _brought(folder) == set()
    git(folder, "commit", "-qm", "First")
    assert _brought(folder) == set()


def test_a_worktree_and_a_submodule_are_repositories(pair: Pair, tmp_path: Path) -> None:
    pair.push()
    commit(pair.mine, "mine.md")
    git(pair.mine, "pull", "-q", "--no-edit")
    tree = tmp_path / "tree"
    git(pair.mine, "worktree", "add", "-q", str(tree))
    assert _brought(tree, FILE, "mine.md") == {FILE}
    commit(tree)
    assert _brought(tree, FILE, "mine.md") == set()
    git(pair.mine, "submodule", "add", "-q", str(pair.hub), "part")
    assert _brought(pair.mine / "part") == {FILE}
    commit(pair.mine / "part")
    assert _brought(pair.mine / "part") == set()


def test_a_repository_around_that_git_refuses_does_not_matter(pair: Pair) -> None:
    """Red when a broken repository further up makes the person's own notes somebody else's."""
    around = pair.mine.parent
    git(around, "init", "-q")
    commit(pair.mine)
    assert _brought(pair.mine) == set()
    write(around, ".git/config", "[core\n")
    assert _brought(pair.mine) == set()


def test_a_project_below_the_root_is_asked_about_by_its_own_paths(pair: Pair) -> None:
    pair.push(f"deep/er/{FILE}")
    git(pair.mine, "pull", "-q")
    write(pair.mine, f"deep/{FILE}", MINE)
    assert _brought(pair.mine / "deep/er") == {FILE}
    assert _brought(pair.mine / "deep") == set()
    write(pair.mine, f"deep/{FILE}", THEIRS)
    assert _brought(pair.mine / "deep") == {FILE}


def test_a_name_spelled_another_way_is_the_same_file(pair: Pair) -> None:
    """Red when a file system without capitals lets agents.md in as AGENTS.md."""
    pair.push("agents.md")
    git(pair.mine, "pull", "-q")
    data = {FILE: (pair.mine / "agents.md").read_bytes()}
    assert provenance.brought(str(pair.mine), data).brought == {FILE}


def test_names_are_taken_literally(pair: Pair) -> None:
    """Red when a name is read as a pattern, or one that is no text breaks the question."""
    odd = ["*", ":(top)x.md", "-x.md", "a\nb.md", 'q".md', os.fsdecode(b"caf\xe9.md")]
    for name in odd:
        pair.push(name)
    git(pair.mine, "pull", "-q")
    write(pair.mine, "own.md", MINE)
    assert _brought(pair.mine, *odd, "own.md") == set(odd)


def test_many_files_are_asked_about_at_once(pair: Pair) -> None:
    names = [f"notes/{number:04}.md" for number in range(1200)]
    for name in names:
        write(pair.mine, name, name)
    assert _brought(pair.mine, *names) == set()


def test_without_a_repository_nothing_was_brought(tmp_path: Path) -> None:
    write(tmp_path, FILE, MINE)
    assert paths.repository(tmp_path) is None
    assert _brought(tmp_path) == set()
    (tmp_path / ".git").mkdir()  # nothing that git would take for a repository
    assert _brought(tmp_path) == set()


def test_where_git_cannot_be_asked_nothing_is_taken_for_granted(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Red when a machine without git trusts what a repository there holds."""
    write(pair.mine, FILE, MINE)
    monkeypatch.setenv("PATH", "/nowhere")
    assert _brought(pair.mine) == {FILE}


def test_a_git_that_does_not_answer_is_not_waited_for(
    pair: Pair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """G10. Red without a limit on how long git may take."""
    slow = write(tmp_path / "bin", "git", "#!/bin/sh\nexec sleep 60\n")
    slow.chmod(0o755)
    write(pair.mine, FILE, MINE)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setattr(trust.git, "PATIENCE", 0.1)
    assert _brought(pair.mine) == {FILE}


def test_nothing_that_a_repository_sets_up_is_run(pair: Pair, tmp_path: Path) -> None:
    """G12. Red when git is asked in a way that runs a hook, filter, pager, helper or fetch."""
    marker = tmp_path / "marker"
    evil = f"touch {marker}; cat #"
    attributes = "* filter=evil diff=evil text=auto merge=evil\n"
    pair.push(".gitattributes", attributes)
    pair.push()
    git(pair.mine, "pull", "-q")
    commit(pair.mine, "signed.md")
    hooks = ("post-index-change", "reference-transaction", "post-checkout", "fsmonitor-watchman")
    for name in hooks:
        write(pair.mine, f".git/hooks/{name}", f"#!/bin/sh\ntouch {marker}\n").chmod(0o755)
    settings = {
        "core.fsmonitor": evil, "core.hooksPath": ".git/hooks", "core.pager": evil,
        "pager.log": evil, "diff.external": evil, "diff.evil.textconv": evil,
        "diff.evil.command": evil, "filter.evil.clean": evil, "filter.evil.smudge": evil,
        "filter.evil.process": evil, "filter.evil.required": "true", "log.showSignature": "true",
        "gpg.program": evil, "gpg.ssh.program": evil, "core.sshCommand": evil,
        "core.gitProxy": evil, "core.askPass": evil, "core.editor": evil,
        "core.alternateRefsCommand": evil, "credential.helper": f"!{evil}",
        "extensions.partialClone": "origin", "remote.origin.promisor": "true",
        "remote.origin.url": f"ext::sh -c 'touch% {marker}'", "protocol.allow": "always",
        "protocol.ext.allow": "always", "remote.origin.uploadpack": evil, "alias.log": f"!{evil}",
        "alias.ls-files": f"!{evil}", "trace2.eventTarget": str(marker),
        "core.repositoryFormatVersion": "1",
    }  # fmt: skip
    for name, value in settings.items():
        git(pair.mine, "config", name, value)
    marker.unlink(missing_ok=True)
    write(pair.mine, "own.md", MINE)
    found = _brought(pair.mine, FILE, "own.md", "signed.md")
    assert not marker.exists()
    assert FILE in found
    git(pair.mine, "diff")
    assert marker.exists(), "the traps are not set"


def test_the_environment_does_not_lead_elsewhere(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Red when GIT_DIR and its like reach the git that is asked, as they do inside a hook."""
    pair.push()
    git(pair.mine, "pull", "-q")
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"):
        monkeypatch.setenv(name, "/nowhere")
    assert _brought(pair.mine) == {FILE}
