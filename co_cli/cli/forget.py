"""co forget: archive notes, or with --purge remove every copy."""

import os
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import click

from co_cli import logs, paths
from co_cli.articles import records
from co_cli.chat import mentions, transcripts
from co_cli.cli.list import note_table
from co_cli.cli.options import act_on, as_json, assume_yes, complete_ref, in_user, open_here
from co_cli.cli.output import confirm, is_answered, no_yes, on_terminal, say_line, tell, warn, which
from co_cli.editing import drop_drafts
from co_cli.errors import Ambiguous, CoError, DiskTrouble, NotFound
from co_cli.knowledge import Note, Notebook, Shelf, use
from co_cli.knowledge.format.note import number_of
from co_cli.knowledge.pages import Ref, kind_of
from co_cli.knowledge.safety.escape import escape
from co_cli.knowledge.trail import Trail, follow, purge_all
from co_cli.offline.rejections import forget_rejections
from co_cli.results import forgotten_json, plural
from co_cli.verbs import Found, candidates, is_ref, labels
from co_cli.workspace import Workspace


@click.command("forget")
@click.argument("what", nargs=-1, required=True, metavar="REF|TEXT", shell_complete=complete_ref)
@in_user
@click.option("--purge", is_flag=True, help="Delete every copy Co keeps; this cannot be undone.")
@click.option(
    "--with-earlier",
    is_flag=True,
    help="Also purge the memories that it was made from or that it replaced.",
)
@assume_yes
@as_json
def forget_command(
    what: tuple[str, ...], in_user: bool, purge: bool, with_earlier: bool, yes: bool, as_json: bool
) -> None:
    """Archive memories or articles, by REF (12, g12, a:NAME) or by TEXT, some words of a memory.

    In a terminal, Co asks which one you mean. Elsewhere, TEXT archives a memory only if no other
    memory contains all its words.
    """
    if with_earlier and not purge:
        raise click.UsageError("--with-earlier needs --purge")
    workspace = open_here()
    shelf = workspace.shelf

    def resolve(book: Notebook, ref: Ref) -> Ref:  # a purged note need not be there any more
        return ref if purge else book.find(ref)

    meant: Sequence[tuple[Notebook, Ref]]
    if all(map(is_ref, what)):  # all found before any goes
        meant = [act_on(shelf, word, in_user, resolve) for word in what]
    else:
        text = " ".join(what)
        meant = _described(shelf, text, in_user, yes or is_ref(text))
    done = [
        _purge(workspace, book, ref, yes, with_earlier)
        if purge
        else forgotten_json(book.forget(ref))
        for book, ref in meant
    ]
    value = done[0] if len(done) == 1 else done
    tell(as_json, value, "\n".join(one["display"] for one in done))


def _described(shelf: Shelf, text: str, in_user: bool, yes: bool) -> Found:
    """The memories that a text means, as the person says; elsewhere the one that holds it all."""
    found, sure = candidates(shelf, text, in_user=in_user)
    if not found:
        raise NotFound(f"no memory contains '{text}'", hint=f"Look for it: co recall {text}")
    contain = f"{len(found)} memories contain '{text}'"
    what = contain if sure else f"no memory contains '{text}'; perhaps you mean one of these"
    if len(found) > 1 or not (sure or on_terminal()):
        return _which(what, found)
    if is_answered() and not yes:
        raise no_yes("nothing was forgotten")
    [(book, note)] = found
    ask_first = on_terminal() and not (yes and sure)  # no --yes to what is only near
    if ask_first and not confirm(f'Forget memory {book.ref(note)}: "{note.summary}"?', yes=False):
        raise CoError("nothing was forgotten")
    return found


def _which(what: str, found: Found) -> Found:
    """Those of these memories that the person means; with nobody there, how to say it."""
    called = labels(found)
    if not on_terminal():
        lines = "\n".join(f"      {name}  {note.summary}" for name, (_, note) in called.items())
        hint = f"Say which by its number, such as `co forget {next(iter(called))}`:\n{lines}"
        raise Ambiguous(what, choices=(), hint=hint)
    say_line(f"{what}:")
    note_table(found)
    says = {name: note.body for name, (_, note) in called.items()}
    picked = which(f"Forget which one ({', '.join(called)}; Enter for none)", says)
    if not picked:
        raise CoError("nothing was forgotten")
    return [called[name] for name in picked]


def _purge(
    workspace: Workspace, book: Notebook, ref: Ref, yes: bool, with_earlier: bool
) -> dict[str, Any]:
    """Remove a note for good, after saying what that means and asking."""
    find = partial(
        follow, workspace.shelf, book, ref,
        elsewhere=workspace.elsewhere, known=workspace.known_notebooks(),
    )  # fmt: skip
    trail = find(earlier=with_earlier)
    note = trail.copies.own[0].latest if trail.copies.own else None
    name = book.ref(note) if note else f"{book.prefix}{trail.copies.number or ref}"
    what = f"{kind_of(ref)} {name}"
    earlier = [f"{_place(workspace, *one)}  {one[1].summary}" for one in _earlier(trail)]
    made = f"{what[0].upper()}{what[1:]} was made from or replaced these, which stay:"
    if earlier and not yes and on_terminal() and _remove_too(made, earlier):
        trail = find(earlier=True)
    _say_what_stays(workspace, trail)
    talks = _conversations(trail, yes)
    for line in transcripts.described(talks):
        warn(f"this conversation will be deleted too: {escape(line, keep='')}")
    quoting = logs.content_logs()
    warn("the log quotes memories and will be deleted too" if quoting else "")
    many = plural(len(trail), "copy")
    many += f", {plural(len(talks), 'conversation')}" if talks else ""
    if not confirm(f'Remove {what} ({many}) for good: "{trail.copies.text}"?', yes):
        raise no_yes(f"{what} was not purged")

    def first() -> None:  # without the notebook's copies, nobody knows the words to look for
        for path in quoting:
            with suppress(FileNotFoundError):
                os.unlink(path)
        for at, copies in trail.found:
            drop_drafts(at, copies.names)
            articles = (n for one in copies.own for n in one.notes if n.kind == "article")
            records.drop(at, articles)
        use.drop(trail.notes)
        transcripts.remove(talks)
        forget_rejections(trail.texts)

    before = {*trail.unreached}
    try:
        purge_all(trail, workspace.shelf, first=first)
    except DiskTrouble:
        if gone := [path for path in talks if not os.path.lexists(path)]:
            warn(f"{plural(len(gone), 'conversation')} deleted before this happened:")
        raise
    _say_unreached(trail, name, {*trail.unreached} - before)
    display = (
        f"✓ Purged {what}: {many} removed.\n"
        "Git history, backups and open editors may still hold it."
    )
    return {
        "display": display,
        "memory_id": trail.copies.number,
        "ref": name,
        "action": "purged",
        "conversations": [os.path.basename(path)[:-6] for path in talks],
        "restorable": [_place(workspace, *one) for one in _earlier(trail)],
        "unreached": [problem._asdict() for problem in trail.unreached.values()],
        "left": [_place(workspace, *one) for one in trail.left],
    }


def _remove_too(what: str, lines: Iterable[str]) -> bool:
    for line in (what, *(f"  {line}" for line in lines)):
        say_line(line)
    return confirm("Remove them too?", yes=False)


def _conversations(trail: Trail, yes: bool) -> list[str]:
    """The conversations that hold it; where that is only likely, the person decides."""
    names = {  # a name that says nothing is somebody else's too: there, the path counts
        name
        if name.startswith(f"{number_of(name):03d}-") and not name.endswith("-note.md")
        else book.store.locate(file)
        for book, copies in trail.found
        for file, name in ((file, os.path.basename(file)) for file in copies.names)
    }
    marks = {mark for _, copies in trail.found for mark in copies.marks}
    drafts = [note.meta for note in trail.notes if note.kind == "draft"]
    quotes = {str(meta.get("quote") or "") for meta in drafts}
    # fewer words are anybody's
    texts = trail.texts | {said for said in quotes if said.count(" ") > 1}
    certain, likely = mentions.about(marks, texts, names)
    origins = {f"{meta.get('origin')}.jsonl" for meta in drafts}
    said_in = {path for path, _ in transcripts.files() if os.path.basename(path) in origins}
    certain, likely = sorted(said_in.union(certain)), [one for one in likely if one not in said_in]
    same = "These conversations hold the same words, and Co did not record where they came from:"
    sure = not likely or yes or not on_terminal()
    too = sure or _remove_too(same, transcripts.described(likely))
    return sorted([*certain, *likely]) if too else certain


def _earlier(trail: Trail) -> list[tuple[Notebook, Note]]:
    return [(book, note) for book, copies in trail.found for note in copies.earlier]


def _place(workspace: Workspace, book: Notebook, note: Note) -> str:
    """A note's name, and where it is unless it can be seen from here."""
    if book in (workspace.shelf.project, workspace.shelf.user):
        return book.ref(note)
    return f"{book.ref(note)} in {_project(book.root)}"


def _project(root: str) -> str:
    return escape(paths.short(os.path.dirname(os.path.dirname(root))), keep="")


def _say_what_stays(workspace: Workspace, trail: Trail) -> None:
    if earlier := _earlier(trail):
        refs = ", ".join(_place(workspace, *one) for one in earlier)
        stay = f"the memories it was made from or replaced stay in the archive: {refs}"
        warn(stay, hint="To purge them too: --with-earlier")
    for book, copies in trail.found:
        other = f"has a section numbered {copies.number} that did not come from this memory"
        told = [f"memory {_place(workspace, book, note)} {other}" for note in copies.beside]
        warn(*(f"{one}; it stays" for one in dict.fromkeys(told)))
        live = [one.latest for one in copies.memories if one.is_there and one.latest]
        if book is not trail.book:
            warn(*(f"memory {_place(workspace, book, n)} is the same and goes too" for n in live))
    if trail.left:
        refs = ", ".join(_place(workspace, *one) for one in trail.left)
        warn(f"these hold the same words and stay: {refs}", hint="To remove one, purge it there.")
    _say_unreached(trail, trail.book.prefix + trail.copies.called, {*trail.unreached})


def _say_unreached(trail: Trail, name: str, roots: Collection[str]) -> None:
    for root in sorted(roots):
        problem = trail.unreached[root]
        again = f"Once it can be reached: co forget {name} --purge"
        warn(f"a copy may stay in {_project(root)}, which {problem.reason}", hint=again)
