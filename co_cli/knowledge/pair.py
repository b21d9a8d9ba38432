"""Changes of two notebooks that happen together or not at all, as when a memory moves."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from os.path import realpath

from co_cli.knowledge.notebook import Notebook
from co_cli.knowledge.plan import Plan, Saved, new_uid


@contextmanager
def all_locked(*books: Notebook) -> Iterator[None]:
    """Keep other writers away from all of these; in one order, so that nobody waits in a ring."""
    with ExitStack() as stack:
        for _, book in sorted({realpath(book.root): book for book in books}.items()):
            stack.enter_context(book.store.locked())
        yield


def commit_both(source: Notebook, leaving: Plan, target: Notebook, arriving: Plan) -> Saved:
    """Carry out what takes a note away in one notebook, and what brings it in another.

    It is there before it leaves. A crash between the two is found by whoever opens the target, by
    the journal of the source; both journals name the other notebook.
    """
    pair = new_uid()
    leaving = _paired(leaving, pair, target)
    with all_locked(source, target):
        if arriving.change is None:  # it is there already
            source.commit(leaving)
            return arriving.saved
        arriving = _paired(arriving, pair, source)
        return target.commit(arriving, then=lambda: source.commit(leaving))


def _paired(plan: Plan, pair: str, other: Notebook) -> Plan:
    assert plan.change is not None
    return plan._replace(change=plan.change._replace(pair=pair, other=realpath(other.root)))
