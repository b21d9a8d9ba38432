"""What is shown of an article: of the passage that was found, the paragraphs that answer.

A neighbour is shown beside them only where it answers as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import mul
from struct import unpack
from typing import NamedTuple

from co_cli.errors import EmbedderUnavailable
from co_cli.knowledge.meaning.encoders import DIM, Meaning, built_in
from co_cli.knowledge.search import words
from co_cli.knowledge.search.passages import Part
from co_cli.knowledge.search.places import Place, paragraphs
from co_cli.knowledge.search.ranking import WEIGHTS, Candidate, Ranking

# Shares of the best one's score from which on another answers as well: a paragraph, and a place in
# another section; by words of the question, or by meaning alone, which is a rougher measure.
_BY_WORDS, _BY_MEANING = (0.65, 0.8), (0.6, 0.6)
_TELLING = 1 / 3  # of the question's words, by their weight
_MORE = 0.2  # of them: a paragraph with so many that the others lack answers another part
_EXACT = 100.0  # the score of one that holds the question as it stands
_GAP = "\n\n…\n\n"

_Span = tuple[int, int]


class _Closeness(NamedTuple):
    """How well a paragraph answers, and which words of the question it holds, by their weight."""

    score: float
    met: Mapping[str, float]

    @property
    def near(self) -> float:
        return sum(self.met.values())


def excerpts(ranking: Ranking, found: Candidate) -> tuple[Part, Part | None]:
    """What is shown of a note: a memory's passage as it stands, of an article what answers.

    With it comes what answers as well at another place of the article.
    """
    shown = _excerpt(ranking, found)
    if not found.row.article or found.exact:
        return shown, None
    least = found.score * _shares(found.features["near"])[1]
    for other in (one for one in found.others if one.score >= least):
        if (also := _excerpt(ranking, other)).text not in shown.text:
            return shown, also
    return shown, None


def _shares(near: float) -> tuple[float, float]:
    return _BY_WORDS if near >= _TELLING else _BY_MEANING


def _excerpt(ranking: Ranking, found: Candidate) -> Part:
    """Of a passage the paragraphs that answer, with the neighbours that answer as well."""
    note, place, beside = ranking.parts.around(found.key, found.row)
    if note is None or place is None or place.lead >= 0 or _names_section(ranking, found):
        return found.part
    inside = paragraphs(note.body, place)
    near = [span for other in beside for span in paragraphs(note.body, other)]
    spans = sorted({*inside, *near})
    if len(spans) == 1:
        return found.part
    read = {span: _closeness(ranking, note.body[slice(*span)]) for span in spans}
    answering = _answering(read, inside)
    text, last = "", -1
    for at, span in enumerate(spans):
        if span in answering:
            gap = "\n\n" if at - last == 1 else _GAP
            text += gap * bool(text) + Place(*span).shown(note.body)
            last = at
    return found.part._replace(text=text)


def _names_section(ranking: Ranking, found: Candidate) -> bool:
    """Whether the question is what a heading says; then all that stands below it answers."""
    return ranking.query.needle in words.folded("\n".join(found.part.above))


def _answering(found: Mapping[_Span, _Closeness], inside: list[_Span]) -> set[_Span]:
    """The paragraphs that answer: the best, those as good, and those with other words asked for."""
    best = max((found[span] for span in inside), key=lambda one: one.score)
    least = best.score * _shares(best.near)[0]
    shown = {span for span, one in found.items() if one.score >= least}
    said = {word for span in shown for word in found[span].met}
    for span, one in found.items():
        if sum(share for word, share in one.met.items() if word not in said) >= _MORE:
            shown.add(span)
            said.update(one.met)
    return shown


def _closeness(ranking: Ranking, text: str) -> _Closeness:
    terms, query = ranking.terms, ranking.query
    folded = words.folded(text)
    if query.needle in folded:
        return _Closeness(_EXACT, dict.fromkeys(terms.weight, 1.0))
    said = {*ranking.lookup.stems(words.analysed(text))}
    met = terms.met(-1, [stem for stem in terms.stems if stem in said])
    met |= {word: 1.0 for word in terms.within if words.folded(word) in folded}
    whole = terms.whole or 1.0
    met = {word: share * terms.weight[word] / whole for word, share in met.items()}
    meaning = max(0.0, _cosine(ranking, text))
    return _Closeness(WEIGHTS["near"] * sum(met.values()) + WEIGHTS["meaning"] * meaning, met)


def _cosine(ranking: Ranking, text: str) -> float:
    try:
        model = built_in()
    except EmbedderUnavailable:
        return 0.0
    own = isinstance(ranking.index.reader.embedder, Meaning) and any(ranking.vector)
    asked = ranking.vector if own else model.quickly(ranking.query.text)
    one, other = (unpack(f"{DIM}b", vector) for vector in (asked, model.quickly(text)))
    lengths = sum(map(mul, one, one)) * sum(map(mul, other, other))
    return sum(map(mul, one, other)) / lengths**0.5 if lengths else 0.0
