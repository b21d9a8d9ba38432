"""One memory from several: which belong together, and their sentences, each with its sources.

Sentences that differ in a word of any weight are two. Knows no model, and writes nothing.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from typing import NamedTuple

import numpy as np

from co_cli.errors import MovedOn
from co_cli.knowledge.compare.relation import updated_texts
from co_cli.knowledge.compare.same import key
from co_cli.knowledge.format.note import Note, last_change
from co_cli.knowledge.lifecycle import CITED, SUMMARY, linked, still_updated, union
from co_cli.knowledge.meaning.encoders import built_in
from co_cli.knowledge.notebook import Notebook
from co_cli.knowledge.plan import Plan, Planner
from co_cli.knowledge.safety.check import check_text, clean_tags
from co_cli.knowledge.store import disk

RECENT = 30  # days
_NEAR = 0.5  # the cosine that two parts of a group have at least, on average
_PAIRED = 32  # of the nearest to each that may stand with it
_MOST, _LONGEST = 8, 4000  # memories of a group, and characters that they have together
# Fields that a joint memory has or does without. One with any other stays whole.
_JOINED = (
    "id uid created updated tags source auto_category supersedes updates related origin quote"
).split()
_PLACE = ("scope", "language")  # which must agree
_MORE_THAN_PROSE = re.compile(r"(?m)^(?:[ \t]|#|>|\||```|~~~|[-*+] |\d{1,3}[.)] )")

_END = re.compile(r"(?<=[.!?…])(?P<quote>[\"'”’)\]]{0,2}) +(?=[^a-z\s])|(?<=。)")
_ABBREVIATED = re.compile(r"\b(?:[A-Z]|e\.g|i\.e|etc|vs|cf|approx|Dr|Mrs?|Ms|St|No)\.$")
# A sentence that begins so is read with the one before it.
_LEANS = re.compile(r"(?i)(?:s?he|it|they|hi[sm]|her|its|their|th[ie]s|th[eo]se|that|there|then|so|"
                    r"but|and|or|also|both|otherwise|instead|however|such)\b")  # fmt: skip
# Of a model's text these add nothing, and "A" may be a name.
_JOINS = frozenset("a an the and also both An The And Also Both".split())
_OPENING, _CLOSING = "([{\"'“‘`*", ".,;:!…)]}\"'”’`*"
_FILLERS = frozenset("really actually basically please".split())
_NEGATIONS = frozenset("not no never none nor neither without nobody nothing except unless".split())
_LIMITS = _NEGATIONS | frozenset("only just hardly rarely seldom until if when <?>".split())
_Words = tuple[str, ...]


class Sentence(NamedTuple):
    """A sentence and the numbers of the memories that say it."""

    text: str
    sources: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.text} ({', '.join(f'#{number}' for number in self.sources)})"


def find_groups(book: Notebook, notes: Sequence[Note]) -> list[list[Note]]:
    """These memories in groups of at least two, the largest first; most are in none."""
    numbers = Counter(note.id for note in notes)
    since = str(date.fromisoformat(book.today()) - timedelta(RECENT))
    able = [
        note
        for note in notes
        if not (note.plain or note.consolidated or note.external or numbers[note.id] > 1)
        and not any(note.meta[name] for name in note.meta.keys() - {*_JOINED, *_PLACE})
        and last_change(note)[0] < since
        and not _MORE_THAN_PROSE.search(note.body)
    ]
    # The index has other vectors once it has read a note closely; by these a group stays the same.
    known = dict(zip(able, built_in().documents([note.body for note in able]), strict=True))
    able = [note for note in able if any(known[note])]
    if not able:
        return []
    rows = np.array([np.frombuffer(known[note], "i1") for note in able], "f4")
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    near = rows @ rows.T
    places = [str([*map(note.meta.get, _PLACE)]) for note in able]
    near[np.not_equal.outer(places, places)] = 0
    sizes = np.array([len(note.body) for note in able])
    groups = [[at] for at in range(len(able))]
    least = np.sort(near)[:, -_PAIRED:][:, :1].clip(_NEAR)
    pairs = np.argwhere(np.triu(near >= least, 1))
    for a, b in pairs[np.argsort(-near[pairs[:, 0], pairs[:, 1]], kind="stable")].tolist():
        one, other = groups[a], groups[b]
        if one is other or len(one) + len(other) > _MOST or sizes[one + other].sum() > _LONGEST:
            continue
        if near[np.ix_(one, other)].mean() >= _NEAR:
            one += other
            for place in other:
                groups[place] = one
    found = [[able[place] for place in one] for at, one in enumerate(groups) if one[0] == at]
    found = [sorted(group, key=last_change) for group in found if len(group) > 1]
    return sorted(found, key=lambda group: (-len(group), group[0].id))


def mark(group: Sequence[Note]) -> str:
    """What tells this very group, each memory as it is now, from any other."""
    return str(disk.digest(b"\n".join(sorted(note.raw for note in group))))


def sentences(note: Note) -> list[str]:
    """What a memory says, sentence by sentence; together they are all of its words."""
    body, found = note.body.replace("\r\n", "\n"), list[str]()
    if note.meta.get("source") == SUMMARY:
        body = CITED.sub("\n", body)
    for paragraph in re.split(r"\n[ \t]*\n", body):
        ended = _END.sub(r"\g<quote>\n", " ".join(paragraph.split()))
        for piece in filter(None, ended.split("\n")):
            if found and (_ABBREVIATED.search(found[-1]) or _LEANS.match(piece)):
                found[-1] += f" {piece}"
            else:
                found.append(piece)
    return found


def distinct(notes: Iterable[Note]) -> list[Sentence]:
    """The sentences of these memories, the oldest first, and each that says the same once."""
    found: dict[tuple[str, ...], Sentence] = {}
    for note in sorted(notes, key=last_change):
        for text in sentences(note):
            said = key(text)
            if " " not in said:  # which it is where every letter counts
                words = {word.strip(",").lower() for word in said}
                bare = (word if words & _LIMITS else word.rstrip(",") for word in said)
                said = tuple(word for word in bare if word not in _FILLERS)
            old = found.get(said, Sentence(text, ()))
            found[said] = old._replace(sources=(*dict.fromkeys((*old.sources, note.id)),))
    return list(found.values())


def conflicts(found: Sequence[Sentence]) -> list[tuple[Sentence, Sentence]]:
    """The pairs, older and newer, of which the newer brings the older out of date."""
    pairs = list[tuple[Sentence, Sentence]]()
    for at, new in enumerate(found):
        olds = [old for old in found[:at] if set(old.sources).isdisjoint(new.sources)]
        outdated = updated_texts(new.text, [old.text for old in olds])
        pairs += [
            (old, new) for old, is_outdated in zip(olds, outdated, strict=True) if is_outdated
        ]
    return pairs


def reworded(
    found: Sequence[Sentence], told: Iterable[tuple[str, Sequence[int]]]
) -> tuple[list[Sentence], int]:
    """What a model wrote of these sentences, and how many of its own were dropped.

    It names the places, from 1, of those that each rests on. One that names none, or is not just
    their words, each sentence's in its order, is dropped; what no other tells stays as it was.
    """
    kept, dropped, covered = list[Sentence](), 0, set[int]()
    for said, places in told:
        text = " ".join(CITED.sub("", said).split())
        rests = sorted({place - 1 for place in places if 0 < place <= len(found)})
        parts = [_words(found[place].text) for place in rests[: _MOST + 1]]
        limits = {frozenset(_LIMITS.intersection(map(str.lower, part))) for part in parts}
        # Beside another sentence a "not" or "only" of one may be read with both.
        if not parts or len(parts) > _MOST or len(limits) > 1 or not _joined(_words(text), parts):
            dropped += 1
            continue
        numbers = (number for place in rests for number in found[place].sources)
        kept.append(Sentence(text, tuple(dict.fromkeys(numbers))))
        covered.update(rests)
    return [*kept, *(one for at, one in enumerate(found) if at not in covered)], dropped


def written(found: Iterable[Sentence]) -> str:
    """The text of a joint memory: a line for each sentence, with its sources at the end."""
    return "\n".join(map(str, found))


def plan_summary(planner: Planner, notes: Sequence[Note], text: str) -> Plan:
    """A memory with this text in the place of these, unless one is not what it was: MovedOn."""
    there = {note.path: note for note in planner.look.notes}
    if any(there.get(note.path) != note for note in notes):
        raise MovedOn("one of these memories changed meanwhile", hint="Nothing was changed.")
    own, cited = planner.links(notes), {*map(int, re.findall(r"#(\d{1,9})\b", text))}
    days = [note.created for note in notes if note.id in cited] or [note.created for note in notes]
    fields = {name: notes[0].meta.get(name) for name in ("scope", "language")} | {
        "created": max(days),  # by when all of it was said
        "source": SUMMARY,
        "updated": planner.at,
        "supersedes": union(own, linked(notes, "supersedes")),
        "updates": still_updated(notes),
        "related": [link for link in union((), linked(notes, "related")) if link not in own],
    }
    tags = clean_tags(tag for note in notes for tag in note.tags)
    made = "summary of " + " ".join(str(note.id) for note in notes)  # a purge changes no names
    note = planner.add(check_text(text), tags, fields, made)
    for old in notes:
        planner.remove(old)
    planner.over = len(there) - len(notes) + 1 > planner.book.policy.max_count
    return planner.plan("summarize", "merged", note)


def _words(text: str) -> _Words:
    """The words of a text as they are compared, without those that only join sentences."""
    whole = re.sub(r"(?i)(?:n't|(?<=\bcan)not)\b", " not", text.replace("’", "'"))
    shown = (word.lstrip(_OPENING).rstrip(_CLOSING) for word in whole.replace("?", " <?>").split())
    kept = (word.removesuffix("'s") for word in shown if word and word not in _JOINS)
    return tuple(word.lower() if word[1:].islower() else word for word in kept)


def _joined(words: _Words, parts: Sequence[_Words], last: _Words = ()) -> bool:
    """Whether these words are the parts, each whole but for a start as that of the last."""
    if not parts:
        return not words
    for at, part in enumerate(parts):
        for shared in (n for n in range(len(part)) if part[:n] == last[:n]):
            told, rest = part[shared:], [*parts[:at], *parts[at + 1 :]]
            if words[: len(told)] == told and _joined(words[len(told) :], rest, part):
                return True
    return False
