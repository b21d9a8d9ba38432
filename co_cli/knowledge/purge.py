"""The one destroyer: remove every copy Co keeps of a note. Git history, if any, is not Co's."""

import os
from collections.abc import Callable

from co_cli import paths
from co_cli.errors import CoError, DiskTrouble, MovedOn
from co_cli.knowledge import lifecycle
from co_cli.knowledge.copies import PURGED, Copies, find_copies
from co_cli.knowledge.format.note import number_of, timestamp
from co_cli.knowledge.format.rewrite import rewrite
from co_cli.knowledge.notebook import Notebook
from co_cli.knowledge.pages import ARTICLES, INBOX, MEMORIES, kind_of
from co_cli.knowledge.store import Change, Entry, disk


def purge(book: Notebook, copies: Copies, *, first: Callable[[], None] = lambda: None) -> None:
    """Remove them all, after what `first` removes; a purge that is cut short can be repeated.

    MovedOn, and nothing is removed, when anything changed since they were found.
    """
    store = book.store
    with store.locked():
        if find_copies(book, copies.ref, earlier=copies.taken, links=copies.links) != copies:
            raise MovedOn("the notebook changed meanwhile", hint="Nothing was purged; try again.")
        folder = {"article": ARTICLES, "draft": INBOX}.get(kind_of(copies.called), MEMORIES)
        at, path = timestamp(book.clock()), f"{folder}/{copies.number:03d}-{PURGED}.md"
        about = ({"path": path, "before": PURGED, "after": PURGED},)
        change = Change("purge", "cli", at, store.tail().n, (), high=copies.number, about=about)
        store.begin(change)
        _carry_out(book, copies, first)
        if book.origins is not None:
            book.origins.forget_gone()


def _carry_out(book: Notebook, copies: Copies, first: Callable[[], None]) -> None:
    """Take the text out of every summary, then delete the files, the live one last."""
    gone, digests = 0, {}
    try:
        first()
        for holder, parts in copies.summaries:
            raw = rewrite(holder.raw, {}, lifecycle.without_parts(holder, parts))
            digests[disk.digest(holder.raw)] = disk.digest(raw)
            book.store.erase(holder.path, holder.raw, raw)
            gone += 1
        # Originals first: without its article, nobody knows them.
        last = ("memories/", "articles/", "inbox/")
        for version in sorted(copies.files, key=lambda one: (one.file.startswith(last), one.n)):
            book.store.erase(version.path, version.raw, None)
            gone += 1
        _remove_index(book)
        entries = [_redacted(one, copies, digests) for one in book.store.entries()]
        book.store.rewrite([*entries[:-1], entries[-1]._replace(state="done")])
    except (OSError, CoError) as error:
        why = disk.trouble(error) if isinstance(error, OSError) else error
        finish = f"co forget {book.prefix}{copies.called} --purge"
        hint = f"{gone} of {len(copies)} copies are removed for good. To finish it: {finish}"
        raise DiskTrouble(f"the purge was cut short: {why}", hint=hint) from error


def _remove_index(book: Notebook) -> None:
    """The index holds words and letters of every note; the next recall builds it anew."""
    book.close()
    book.search.tidy_vectors()
    index = book.search.index_path
    if not os.path.lexists(index):
        return
    with disk.locked(f"{index}-seal"):
        for name in disk.list_names(book.root):
            if name.startswith(paths.INDEX) and not name.endswith(("-seal", "-vectors")):
                os.unlink(os.path.join(book.root, name))


def _redacted(entry: Entry, copies: Copies, digests: dict[str | None, str | None]) -> Entry:
    """A journal line that tells that there was a note, without its words or a digest of them."""
    files = []
    for file in entry.files:
        sides = {side: digests.get(file[side], file[side]) for side in ("before", "after")}
        path = file["path"]
        if (entry.n, path) in copies.lines:
            folder, _, name = path.rpartition("/")
            path = f"{folder}/{number_of(name) or copies.number:03d}-{PURGED}.md"
            sides = {side: digest and PURGED for side, digest in sides.items()}
            entry = entry._replace(call="")
        files.append({"path": path, **sides})
    return entry._replace(files=files)
