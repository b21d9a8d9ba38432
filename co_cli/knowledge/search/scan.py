"""Recall without an index: read every note and compare words. The last resort of search."""

import re
from collections.abc import Iterable

from co_cli.knowledge.format.note import Note
from co_cli.knowledge.search.hits import Hit
from co_cli.knowledge.search.passages import LONGEST
from co_cli.knowledge.search.places import Place, paragraphs, parts
from co_cli.knowledge.search.words import STOP

_WORD = re.compile(r"\w+(?:[-./+#]\w+)*[+#]*")


def scan(query: str, notes: Iterable[Note], *, today: str = "") -> list[Hit]:
    """Notes holding the query as it stands first, then those sharing most of its words."""
    needle = " ".join(query.lower().split())
    if not needle:
        return []
    words = [word for word in dict.fromkeys(_WORD.findall(needle)) if word not in STOP]
    hits = [hit for note in notes if (hit := _match(needle, words, note))]
    hits.sort(key=lambda hit: (hit.note.created, hit.note.id), reverse=True)
    hits.sort(key=lambda hit: (-hit.score, hit.note.expired(today)))
    return [_placed(hit, needle, words) if hit.note.kind == "article" else hit for hit in hits]


def _placed(hit: Hit, needle: str, words: list[str]) -> Hit:
    """An article's hit with the passage that has the question, or the most words of it."""

    def closeness(said: str) -> tuple[bool, int]:
        text = " ".join(said.lower().split())
        return needle in text, sum(word in text for word in words)

    best = max(parts(hit.note), key=lambda part: closeness(part.text))
    place, body, text = best.place, hit.note.body, best.text
    if isinstance(place, Place) and place.lead < 0:
        found = [Place(*span).shown(body) for span in paragraphs(body, place)]
        text = max(found, key=closeness)
    return hit._replace(passage=text[:LONGEST], heading=best.heading, anchor=best.anchor)


def holds(note: Note, text: str) -> bool:
    """Whether a note holds all these words, each whole."""
    wanted = _WORD.findall(text.lower())
    words = _WORD.findall(" ".join((note.body, *note.tags)).lower())
    return bool(wanted) and set(wanted) <= set(words)


def _match(needle: str, words: list[str], note: Note) -> Hit | None:
    text = " ".join(note.text.lower().split())
    tags = [tag.lower() for tag in note.tags]
    if any(needle == tag for tag in tags):
        return Hit(note, 1.0, f"tag {needle}")
    if needle in text:
        return Hit(note, 1.0, "exact text")
    if any(needle in tag for tag in tags):
        return Hit(note, 1.0, "tag")
    found = [word for word in words if word in text or word in tags]
    if not found:
        return None
    share = len(found) / len(words)
    return Hit(note, round(0.9 * share, 3), "words: " + ", ".join(found), weak=share < 0.5)
