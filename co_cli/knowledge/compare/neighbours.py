"""What the neighbours of a memory mean for it, and it for them."""

from collections.abc import Sequence

from co_cli.knowledge.compare.relation import Verdict, read_relations, updates
from co_cli.knowledge.format.note import Note, last_change

_SAME = 0.7  # the probability from which a memory restates another, where nobody asks
Row = tuple[str, str, Verdict, float]  # the newer memory's file, the older one's, what it means


def related(note: Note, near: Sequence[Note]) -> list[Row]:
    """The relations of a memory to those near it.

    Nobody is asked, so a pair has to be surer than in a save. EmbedderUnavailable without a reader.
    """
    rows: list[Row] = []
    others = [one for one in near if one.path != note.path and not one.consolidated]
    for one in others if not note.consolidated else ():
        new, old = (note, one) if last_change(note) > last_change(one) else (one, note)
        [relation] = read_relations(new.body, (old.body,))
        if updates(relation, also=True):
            rows.append((new.name, old.name, "updates", relation.updates))
        elif relation.same >= _SAME:
            rows.append((new.name, old.name, "restates", relation.same))
    return rows
