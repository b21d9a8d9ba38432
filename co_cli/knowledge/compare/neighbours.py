"""What the neighbours of a memory mean for it, and it for them."""

from collections.abc import Sequence

from co_cli.knowledge.compare.relation import Verdict, odds, read_relations
from co_cli.knowledge.compare.same import same
from co_cli.knowledge.format.note import Note, last_change
from co_cli.knowledge.meaning.wordpiece import is_readable

# The odds, as a logarithm, from which a memory updates another, and the probability from which it
# restates one. Nobody asked, so both are surer than in a save.
_UPDATES, _SAME = 3.0, 0.7
Row = tuple[str, str, Verdict, float]  # the newer memory's file, the older one's, what it means


def related(note: Note, near: Sequence[Note]) -> list[Row]:
    """The relations of a memory to those near it.

    EmbedderUnavailable where there is no reader.
    """
    rows: list[Row] = []
    others = [one for one in near if one.path != note.path and is_comparable(one)]
    for one in others if is_comparable(note) else ():
        new, old = (note, one) if last_change(note) > last_change(one) else (one, note)
        if same(new.body, old.body):  # which the reader may take for an update
            rows.append((new.name, old.name, "restates", 1.0))
            continue
        [relation] = read_relations(new.body, (old.body,))
        if odds(relation.updates) > _UPDATES:
            rows.append((new.name, old.name, "updates", relation.updates))
        elif relation.same >= _SAME:
            rows.append((new.name, old.name, "restates", relation.same))
    return rows


def is_comparable(note: Note) -> bool:
    """Whether a memory states something of its own, in a language that the reader knows."""
    return not note.consolidated and is_readable(note.body)
