"""Drafts: texts that wait in a notebook's inbox until the person accepts or rejects them.

A draft is no memory: it is not searched, not told to a model, not exported and not counted.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple, Unpack, cast

from co_cli.errors import EmbedderUnavailable, FormatError, MovedOn, RefusedText
from co_cli.knowledge import lifecycle
from co_cli.knowledge.article import free_name
from co_cli.knowledge.compare.relation import updated_texts
from co_cli.knowledge.compare.same import key
from co_cli.knowledge.format.note import Note, moment_told, slugify
from co_cli.knowledge.format.rewrite import render
from co_cli.knowledge.meaning.encoders import DIM, built_in
from co_cli.knowledge.notebook import Notebook
from co_cli.knowledge.pages import INBOX, Problem
from co_cli.knowledge.pair import all_locked, commit_both
from co_cli.knowledge.plan import Plan, Planner, Saved, new_uid
from co_cli.knowledge.policy import Links
from co_cli.knowledge.safety.check import check_text, outside_tags
from co_cli.knowledge.search.hits import Around
from co_cli.knowledge.store import Change, Edit, disk

MAX_QUOTE = 1000  # characters
ACCEPTS = "accept all"  # a change that makes a memory of each of many drafts
_FEW, _NEAREST, _NEWEST = 200, 40, 10  # notes that a text is compared with: all, or else these
_ALIKE, _CLOSEST = 0.35, 2  # cosine from which a draft is read with a note, and how many at most
_READ, _READ_LISTED = 40, 10  # pairs that the reader reads in all; the others wait for the index
_Knows = Callable[[str], bool]
_Progress = Callable[[int, int], None] | None
_UNVOUCHED = ("quote", "origin", "replaces")  # of a header that nobody here wrote
# What a memory keeps of its draft's header; pinned and protected it becomes by the person's word.
_KEPT = ("scope", "language", "created", "updated", "source", "expires", "check", "sensitive",
         "trust", "client")  # fmt: skip


class Draft(NamedTuple):
    """A text that may become a memory, the words it was drawn from and where those were said."""

    text: str
    tags: tuple[str, ...] = ()
    quote: str = ""
    origin: str = ""
    created: str = ""
    fields: tuple[tuple[str, Any], ...] = ()  # further fields of the header


class Put(NamedTuple):
    """What came of drafts: those that wait now, how many were known, and what was refused."""

    added: list[Note]
    known: int
    refused: list[Problem]


def put(
    book: Notebook, drafts: Iterable[Draft], *, actor: str, refused: _Knows = lambda _: False
) -> Put:
    """Put drafts into the inbox, as one change; not what is in the notebook, waits or is `refused`.

    That tells what the person rejected before.
    """
    drafts = list(drafts)

    def plan() -> tuple[Put, Change]:
        planner, added, wrong = book.planner(actor), list[Note](), list[Problem]()
        used: set[str] = set()
        known = {key(note.body) for note in (*planner.look.notes, *waiting(book))}
        for draft in drafts:
            try:
                text, tags = check_text(draft.text), outside_tags(draft.tags)
                if (said := key(text)) not in known and not refused(text):
                    added.append(_add(planner, draft, text, tags, used))
                known.add(said)
            except (RefusedText, FormatError) as error:
                wrong.append(Problem(draft.origin, str(error)))
        left = len(drafts) - len(added) - len(wrong)
        return Put(added, left, wrong), planner.change("draft")

    def commit(planned: tuple[Put, Change]) -> Put:
        if planned[0].added:
            book.store.commit(planned[1])
        return planned[0]

    return book.agree(plan, commit)


def _add(planner: Planner, draft: Draft, text: str, tags: list[str], used: set[str]) -> Note:
    """A new file in the inbox; a quote that may not be stored is left out."""
    meta = {
        "uid": new_uid(),
        "created": moment_told(draft.created) or planner.at,
        "tags": tags,
        "source": lifecycle.detect_source(tags),
        "auto_category": lifecycle.detect_category(tags),
        **dict(draft.fields),
        "quote": _storable(draft.quote),
        "origin": _storable(draft.origin),
    }
    kept = {name: value for name, value in meta.items() if value not in (None, [], "", False)}
    name = free_name(planner.book.store, slugify(text), [f"{INBOX}/{{}}.md"], used)
    used.add(path := f"{INBOX}/{name}.md")
    return planner.write(path, None, render(kept, text))


def _storable(text: str) -> str:
    with suppress(RefusedText):
        return check_text(text if len(text) <= MAX_QUOTE else text[: MAX_QUOTE - 1] + "…")
    return ""


def waiting(book: Notebook) -> list[Note]:
    """Every draft that can be read, oldest first, as it is `vouched` for."""
    book.store.settle()
    return vouched(book, book.pages.drafts()[0])


def vouched(book: Notebook, drafts: list[Note]) -> list[Note]:
    """These drafts; one that nobody here wrote is from outside, whatever its header says.

    What such a one quotes are nobody's words.
    """
    untrusted = bool(drafts) and book.origins is not None and book.origins.untrusted()
    own = set() if untrusted else {one.path for one in book.own(drafts)}
    return [one if one.path in own else _foreign(one) for one in drafts]


def _foreign(draft: Note) -> Note:
    said = {name: value for name, value in draft.meta.items() if name not in _UNVOUCHED}
    meta = said | {"source": "import", "trust": "external"}
    return Note(draft.path, draft.raw, meta, draft.body, plain=draft.plain)


class Choice(Links, total=False):
    """What a person may choose: other words or tags, another notebook, what it bears on."""

    text: str | None
    tags: Sequence[str] | None
    into: Notebook
    fields: Mapping[str, Any]  # of the scope, if another than the draft's
    reviewed: bool  # whether the person saw this draft by itself before they agreed
    decided: bool  # and said what becomes of the memory that it corrects


def _kept_fields(draft: Note, *, moves: bool = False, reviewed: bool = False) -> dict[str, Any]:
    """What a memory takes over of its draft's header, but for the scope where it moves.

    What was imported keeps its origin; once a person has reviewed it, it is no longer external.
    """
    kept = {name: draft.meta[name] for name in _KEPT[2 * moves :] if name in draft.meta}
    if draft.meta.get("source") == "import" and (origin := draft.meta.get("origin")):
        kept["origin"] = origin
        if reviewed:
            kept.pop("trust", None)
    return kept


def _sensitive(draft: Note) -> dict[str, Any]:
    """All that a memory which says the same takes over; else its header stays as it is."""
    return {"sensitive": True} if draft.meta.get("sensitive") else {}


def plan_accept(book: Notebook, draft: Note, *, actor: str, **choice: Unpack[Choice]) -> Plan:
    """Decide what accepting does: what saving the text would, and here the draft is archived."""
    if book.find(draft).raw != draft.raw:
        hint = "Nothing was done; look at it again: co inbox"
        raise MovedOn(f"draft {book.ref(draft)} changed meanwhile", hint=hint)
    [draft] = vouched(book, [draft])
    to, text, tags = choice.get("into", book), choice.get("text"), choice.get("tags")
    text = check_text(draft.body if text is None else text)
    tags = outside_tags(draft.tags if tags is None else tags)
    moves, reviewed = to is not book or "fields" in choice, choice.get("reviewed", False)
    fields = _kept_fields(draft, moves=moves, reviewed=reviewed)
    fields |= choice.get("fields", {})
    look, around = to.around(text)
    planner = to.planner(actor, look)
    if to is book:
        planner.edits.append(Edit(draft.file, draft.raw, None))
    near = around.of(str(fields.get("language") or ""))
    same, _ = lifecycle.judge(text, near, to.policy.threshold)
    if same is not None:
        saved = planner.consolidate(same, text, tags, _sensitive(draft)).saved
    else:
        old = book.corrected(draft)
        links = cast(Links, {k: v for k, v in choice.items() if k in Links.__annotations__})
        if old and not choice.get("decided", False):
            links = {"updates": [old]}
        saved = planner.save(around, text, tags, fields, **links).saved
    return Plan(planner.change("accept") if planner.edits else None, saved)


def met_elsewhere(other: Notebook, text: str) -> list[tuple[Note, float]]:
    """What another notebook tells that says the same as a text, or collides with it."""
    around = other.around(text)[1]
    same, close = lifecycle.judge(text, around, other.policy.threshold)
    found = [(same, 100.0)] if same else close
    return [(note, score) for note, score in found if other.tells(note)]


def accept(
    book: Notebook, draft: Note, *, actor: str, seen: str = "", **choice: Unpack[Choice]
) -> Saved:
    """Make a memory of a draft, as one change of each notebook that it concerns.

    `seen` is the `Plan.seen` that the person agreed to. MovedOn when saving would do anything else
    now or the draft was changed, NotFound when it no longer waits.
    """
    to = choice.get("into", book)

    def commit(plan: Plan) -> Saved:
        if to is book:
            return to.commit(plan)
        with all_locked(book, to):
            return commit_both(book, _archived(book.planner(actor), draft, "accept"), to, plan)

    plan = partial(plan_accept, book, draft, actor=actor, **choice)
    return to.agree(lambda: plan().hold_to(seen), commit)


def reject(book: Notebook, draft: Note, *, actor: str) -> Saved:
    """Archive a draft; undo and restore bring it back."""
    return book.do(actor, lambda planner: _archived(planner, draft, "reject"))


def _archived(planner: Planner, draft: Note, op: str) -> Plan:
    saved = planner.forget(draft, str(disk.digest(draft.raw))).saved
    return planner.plan(op, saved.action, saved.note)


class _Neighbours:
    """The notes of two notebooks, with which many texts are compared quickly."""

    def __init__(
        self, book: Notebook, other: Notebook, texts: Sequence[str], most: int = _READ
    ) -> None:
        import numpy as np  # for many at once

        self.others = {note.path: other.ref(note) for note in other.notes()}
        self.notes, self._texts = [*other.notes(), *book.look().notes], texts
        every, self._least = [*(note.body for note in self.notes), *texts], book.policy.threshold
        vectors, self._first = [bytes(DIM)] * len(every), len(self.notes)
        with suppress(EmbedderUnavailable):  # as in a save, which notices nothing
            vectors = built_in().documents(every)
        self._vectors = np.frombuffer(b"".join(vectors), "i1").reshape(-1, DIM).astype("f4")
        self._outdated = self._read(most) if book.how.reads else {}
        self._accepted: dict[int, Note] = {}  # by the place of their text, after all notes

    def _read(self, most: int) -> dict[int, list[int]]:
        """For each text the places of the notes and earlier texts that it brings out of date.

        Only the pairs whose meaning is closest are read.
        """
        import numpy as np

        sizes = np.linalg.norm(self._vectors, axis=1) + 1e-9
        pairs: list[tuple[float, int, int]] = []
        for at in range(len(self._texts)):
            place = self._first + at
            near = (self._vectors[:place] @ self._vectors[place]) / (sizes[:place] * sizes[place])
            best = near.argsort()[::-1][:_CLOSEST]
            pairs += [(float(near[n]), at, int(n)) for n in best if near[n] >= _ALIKE]
        found: dict[int, list[int]] = {}
        for _, at, place in sorted(pairs, reverse=True)[:most]:
            if updated_texts(self._texts[at], [self._text(place)])[0]:
                found.setdefault(at, []).append(place)
        return found

    def _text(self, place: int) -> str:
        own = place < self._first
        return self.notes[place].body if own else self._texts[place - self._first]

    def met(self, at: int, language: str) -> tuple[Note | None, list[Note]]:
        """The note that says the same as a text, if any; else some that it collides with."""
        near = [n for n in self._near(at) if n.path in self.others or n.language == language]
        around = Around(near, near, 0, 0)
        same, close = lifecycle.judge(self._texts[at], around, self._least)
        elsewhere = [same] if same and same.path in self.others else []
        if same:
            return None if elsewhere else same, elsewhere
        places = self._outdated.get(at, [])
        outdated = [self.notes[n] for n in places if n < self._first]
        outdated = [note for note in outdated if not note.consolidated]
        outdated += [self._accepted[n] for n in places if n in self._accepted]
        return None, [*outdated, *(note for note, _ in close if note not in outdated)]

    def add(self, at: int, note: Note) -> None:
        """Let a text be met from now on, as the note that it became."""
        # In the row of a text that was looked at already.
        self._vectors[len(self.notes)] = self._vectors[self._first + at]
        self.notes.append(note)
        self._accepted[self._first + at] = note

    def _near(self, at: int) -> list[Note]:
        from rapidfuzz import fuzz, process  # as in `lifecycle`

        if (many := len(self.notes)) <= _FEW:
            return self.notes[::-1]
        best = (self._vectors[:many] @ -self._vectors[self._first + at]).argsort()[:_NEAREST]
        words, said = [note.body.lower() for note in self.notes], self._texts[at].lower()
        by = fuzz.token_sort_ratio
        alike = process.extract(said, words, scorer=by, score_cutoff=self._least, limit=_NEAREST)
        found = [*range(many - _NEWEST, many), *best, *(place for *_, place in alike)]
        return [self.notes[one] for one in dict.fromkeys(found)]


def collisions(book: Notebook, other: Notebook, drafts: Sequence[Note]) -> dict[str, list[str]]:
    """The memories of either notebook that each draft collides with, by its path."""
    near = _Neighbours(book, other, [draft.body for draft in drafts], _READ_LISTED)
    met = {one.path: near.met(at, one.language)[1] for at, one in enumerate(drafts)}
    return {at: [near.others.get(n.path) or book.ref(n) for n in met[at]] for at in met}


def plan_every(
    book: Notebook, other: Notebook, drafts: Sequence[Note], actor: str, tick: _Progress
) -> tuple[dict[str, Saved], Plan | None]:
    """What accepting each draft does that needs no look of its own, by its path; as one change.

    Each is compared with all notes, and with those that were accepted before it.
    """
    planner, saved, texts = book.planner(actor), dict[str, Saved](), dict[Note, str]()
    wanted = {*drafts}
    for draft in (one for one in waiting(book) if one in wanted and not one.external):
        with suppress(RefusedText):
            outside_tags(draft.tags)
            texts[draft] = check_text(draft.body)
    near = _Neighbours(book, other, [*texts.values()])
    for at, (draft, text) in enumerate(texts.items()):
        if tick:
            tick(at + 1, len(texts))
        same, close = near.met(at, draft.language)
        if same and same.file not in {edit.path for edit in planner.edits}:
            tags = outside_tags(draft.tags)
            told = planner.consolidate(same, text, tags, _sensitive(draft)).saved
        elif same or close:
            continue
        else:
            note = planner.add(text, outside_tags(draft.tags), _kept_fields(draft))
            near.add(at, note)
            told = Saved("created", note, book.ref(note))
        saved[draft.path] = told
        planner.edits.append(Edit(draft.file, draft.raw, None))
    if not saved:
        return saved, None
    many = len(near.notes) - len(near.others)
    planner.over = many > book.policy.max_count
    told.over = many if planner.over and not planner.look.tail.over else 0
    return saved, Plan(planner.change(ACCEPTS), told)


def accept_every(
    book: Notebook, other: Notebook, drafts: Sequence[Note], actor: str, tick: _Progress
) -> list[Saved]:
    """Accept these drafts, but for those that need a look, as one change or not at all."""

    def commit(planned: tuple[dict[str, Saved], Plan | None]) -> list[Saved]:
        change = book.commit(planned[1]).change if planned[1] else 0
        for one in planned[0].values():
            one.change = change
        return [*planned[0].values()]

    return book.agree(lambda: plan_every(book, other, drafts, actor, tick), commit)
