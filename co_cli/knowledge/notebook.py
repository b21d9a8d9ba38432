"""A folder of notes and its rules; the only writer. Knows no model, terminal, network or settings.

Every verb plans a Change from what it read, and the store carries it out or says that the
notebook moved on; then the verb plans again. The verbs load what plans, so that whoever only
reads loads nothing that writes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Self, TypeVar, Unpack

from co_cli.errors import CoError, MovedOn, NotFound
from co_cli.knowledge.format.note import Note, now, timestamp
from co_cli.knowledge.pages import MEMORIES, Look, Pages, Ref
from co_cli.knowledge.policy import RECENT, Links, Origins, Policy, Scope
from co_cli.knowledge.search.hits import Around, Filters, Hit, How, Recall, Synced
from co_cli.knowledge.store import Entry, Store, mark_call
from co_cli.knowledge.store.files import FolderStore

if TYPE_CHECKING:
    from co_cli.knowledge.article import About
    from co_cli.knowledge.compare.relation import Match
    from co_cli.knowledge.meaning.encoders import Embedder
    from co_cli.knowledge.plan import Flag, ImportItem, ImportPlan, Plan, Planner, Saved
    from co_cli.knowledge.search.recall import Search

_USUAL, _EVERY = How(), Filters()
_FEW = 200  # notes that a save reads rather than ask the index
_TRIES = 5
_Progress = Callable[[int, int], None] | None
_T = TypeVar("_T")
_Done = TypeVar("_Done")


class Notebook:
    """The notes of one folder, or of another store, and everything that may happen to them.

    It belongs to one thread; others open their own, and share nothing but the files.
    """

    def __init__(
        self,
        store: str | os.PathLike[str] | Store,
        *,
        scope: Scope = "project",
        policy: Policy | None = None,
        clock: Callable[[], datetime] = now,
        how: How = _USUAL,
        origins: Origins | None = None,
    ) -> None:
        self.store = FolderStore(store) if isinstance(store, str | os.PathLike) else store
        self.root, self.memories = self.store.root, self.store.locate(MEMORIES)
        self.scope, self.label = scope, str(scope)  # the label tells it from others on a shelf
        self.prefix = "g" if scope == "user" else ""  # before a number in a reference
        self.policy, self.clock, self.how, self.origins = policy or Policy(), clock, how, origins
        self.languages: frozenset[str] | None = None  # whose notes are told here; None for all
        self.hides_sensitive = False  # as if there were none: others see what is shown and done
        self.pages = Pages(self.store)
        self._search: Search | None = None
        self.store.settle()

    @classmethod
    def open(
        cls, folder: str | os.PathLike[str], *, watch: bool = False, backend: str = "auto",
        embedder: Callable[[], Embedder] | None = None, reader: bool = True,
    ) -> Self:  # fmt: skip
        """The notebook in a folder; `watch` lets the kernel tell what changes, for a long life."""
        return cls(folder, how=How(backend, embedder, watch, reader))

    def close(self) -> None:
        """Let go of the index; the next recall opens it again."""
        if self._search is not None:
            self._search.close()
            self._search = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ref(self, note: Note) -> str:
        """How a person names this note."""
        return self.prefix + note.handle

    def today(self) -> str:
        """The date by this notebook's clock."""
        return timestamp(self.clock())[:10]

    # Reading

    def look(self) -> Look:
        """Its notes, problems and last change at this moment."""
        return self.pages.look()

    def notes(self) -> list[Note]:
        """Every memory that can be read and is told here, by number; `look` has all."""
        return [note for note in self.look().notes if self.tells(note)]

    def tells(self, note: Note) -> bool:
        """Whether it is for all, or for a language that is used here, and not hidden."""
        is_hidden = self.hides_sensitive and note.sensitive
        return not is_hidden and (self.languages is None or note.language in ("", *self.languages))

    def articles(self) -> list[Note]:
        """Every article that can be read, by name."""
        self.store.settle()
        return self.pages.articles()[0]

    def next_id(self) -> int:
        """The number that the next memory gets: one more than any in use or ever given out."""
        return self.look().next_id()

    def own(self, notes: list[Note]) -> list[Note]:
        """These notes without those that came from elsewhere and that nobody here agreed to."""
        foreign = self.origins.foreign(notes) if self.origins and notes else ()
        return [note for note in notes if note.path not in foreign] if foreign else notes

    def find(self, ref: Ref, look: Look | None = None) -> Note:
        """The note by number, file name or uid; Ambiguous when several answer to it."""
        return self.pages.find(ref, look, self.prefix)

    def corrected(self, draft: Note) -> Note | None:
        """The memory that a draft is meant to replace, if it is here."""
        uid = draft.meta.get("replaces")
        return next((note for note in self.notes() if note.uid == str(uid)), None) if uid else None

    def archived(self) -> list[tuple[Entry, Note]]:
        """Notes that a change removed and that are not there now, newest first."""
        return [pair for pair in self.pages.archived() if self.tells(pair[1])]

    def copies(self, notes: Iterable[Note], among: Sequence[Note] = ()) -> set[str]:
        """The paths of notes that copied the uid of one of these; `among` is all notes, if read."""
        uids = {str(uid) for note in notes if (uid := note.meta.get("uid"))}
        if not uids:
            return set()
        known = among or (self.search.having(uids) if self.is_large else None)
        return self.pages.copied(uids, self.look().notes if known is None else known)

    def inside(self, number: int) -> tuple[Note, str] | None:
        """The note that took in one of this number, and what that one said."""
        return self.pages.inside(number)

    # Searching

    @property
    def search(self) -> Search:
        """The index and what keeps it fresh."""
        from co_cli.knowledge.search.recall import Search  # SQLite is for those who search

        if self._search is None:
            self._search = Search(self.pages, self.how)
        return self._search

    @property
    def is_large(self) -> bool:
        """Whether a save asks the index rather than read all notes."""
        return self.how.watch or len(self.store.names(MEMORIES)) > _FEW

    def recall(
        self, query: str, limit: int = 10, filters: Filters = _EVERY, *, strict: bool = True,
        fast: bool = False,
    ) -> Recall[Hit]:  # fmt: skip
        """The notes that answer, best first, and what search had to do without.

        With `strict`, a question about nothing in the notebook gets no answer. `fast` leaves the
        reader out.
        """
        from co_cli.knowledge.search.answering import READ, answer
        from co_cli.knowledge.search.updates import current_first, is_visible

        read = self.how.reads and not fast
        found = self.candidates(query, max(limit, READ if read else 1), filters)
        found = answer(query, found, lambda hit: hit, lambda _, hit: hit, read=read, strict=strict)
        links = {uid: [(self, name) for name in names] for uid, names in found.updates.items()}
        hits = [(self, hit) for hit in found]
        shown = current_first(hits, links, partial(is_visible, filters))
        return found.having([hit for _, hit in shown][: max(limit, 0)])

    def candidates(self, query: str, limit: int, filters: Filters = _EVERY) -> Recall[Hit]:
        """The notes that may answer, in the order of the ranking; nobody has read them yet."""
        self.store.settle()
        filters = filters._replace(languages=self.languages)
        return self.search.recall(query, max(limit, 0), filters, self.today())

    def sync(
        self, *, anew: bool = False, closely: bool = False, progress: _Progress = None
    ) -> Synced:
        """Bring the index up to date now, or build it anew; recall does so by itself.

        With `closely`, which takes time, notes that were only skimmed are read for their meaning.
        """
        self.store.settle()
        synced = self.search.sync(anew=anew, progress=progress)
        if anew and synced.rebuilt:
            self.search.tidy_vectors()
        if closely:
            self.search.read_closely(progress)
        return synced

    # Comparing

    def compare(self, text: str, *, editing: Note | None = None) -> list[Match]:
        """The notes that a new text updates, or else restates, and those in similar words.

        `editing` is the note that the text is for, if it is no new one.
        """
        from co_cli.knowledge.compare.candidates import compare

        return [one for _, one in compare([self], text, editing)]

    def neighbours(self, text: str, most: int) -> list[tuple[Note, float]]:
        """The memories nearest to a text that may be shown here, each with its rank."""
        found = self.search.neighbours(text, most)
        if found is None:
            found = [(note, 0.0) for note in self.notes()[-most:]]
        return [(note, rank) for note, rank in found if self.tells(note)]

    def outdated_by(self, text: str) -> list[Note]:
        """The notes that a new text brings out of date."""
        return [one.note for one in self.compare(text) if one.verdict == "updates"]

    def unconfirmed(self) -> list[tuple[Note, Note, float]]:
        """Pairs of which the first note seems to update the second, and nobody has said so."""
        self.store.settle()
        pairs = self.search.unconfirmed()
        return [pair for pair in pairs if self.tells(pair[0]) and self.tells(pair[1])]

    # Saving

    def remember(  # noqa: PLR0913 - an option is a keyword
        self, text: str, tags: Iterable[str] = (), *, actor: str = "cli",
        allow_secret: bool = False, call: str = "", seen: str = "", agreed: Plan | None = None,
        fields: Mapping[str, Any] | None = None, **links: Unpack[Links],
    ) -> Saved:  # fmt: skip
        """Save a text; `plan_remember` tells about most options.

        `seen` is the `Plan.seen` that a person agreed to: MovedOn if saving would do anything else
        now. `agreed` is that plan itself, carried out unless another change came first.
        A `call` that arrives again is answered as before.
        """
        tags = list(tags)
        plan = partial(
            self.plan_remember, text, tags, actor=actor, allow_secret=allow_secret, call=call,
            fields=fields, **links,
        )  # fmt: skip
        return self._save(plan, mark_call(call, text, tags), text, seen, agreed)

    def keep(
        self, text: str, *, actor: str = "cli", call: str = "", seen: str = "",
        agreed: Plan | None = None, **about: Unpack[About],
    ) -> Saved:  # fmt: skip
        """Keep a text from elsewhere as an article, as `About` tells.

        The same source again updates its article. The other options are those of `remember`.
        """
        plan = partial(self.plan_keep, text, actor=actor, call=call, **about)
        called = mark_call(call, text, about.get("tags", ()))
        return self._save(plan, called, text, seen, agreed)

    def _save(
        self, plan: Callable[[], Plan], call: str, text: str, seen: str, agreed: Plan | None
    ) -> Saved:
        """Save what is planned, or answer as before if the call did and its note is still there."""
        from co_cli.knowledge.undo import repeated

        entries = self.store.entries() if call else ()
        done = [one for one in entries if (one.call, one.state) == (call, "done")]
        if done and (saved := repeated(self.planner(""), done[-1], text)):
            return saved
        with suppress(MovedOn):
            if agreed:
                return self.commit(agreed)
        return self.agree(lambda: plan().hold_to(seen), self.commit)

    def plan_keep(
        self, text: str, *, actor: str = "cli", call: str = "", **about: Unpack[About]
    ) -> Plan:
        """Decide what keeping this text does."""
        from co_cli.knowledge.article import plan_keep

        called = mark_call(call, text, about.get("tags", ()))
        return plan_keep(self.planner(actor, call=called), text, **about)

    def plan_remember(
        self, text: str, tags: Iterable[str] = (), *, actor: str = "cli",
        allow_secret: bool = False, call: str = "", checked: bool = False,
        fields: Mapping[str, Any] | None = None, **links: Unpack[Links],
    ) -> Plan:  # fmt: skip
        """Decide what saving this text does: same, similar or distinct, and whether notes decay.

        `links` are what the person decided about the notes that `compare` names.
        `fields` are further header fields, such as `decay_protected`, `expires` or `source`.
        With `checked`, text and tags went through `safety.check` before.
        """
        from co_cli.knowledge.safety.check import check_text, clean_tags

        tags = list(tags)
        if not checked:
            text = check_text(text, allow_secret=allow_secret)
            tags = clean_tags(tags, allow_secret=allow_secret)
        look, around = self.around(text)
        planner = self.planner(actor, look, mark_call(call, text, tags))
        return planner.save(around, text, tags, fields or {}, **links)

    def around(self, text: str) -> tuple[Look, Around]:
        """The notes a new text is compared with: all if they are few, else what the index finds."""
        if self.is_large:
            tail, _ = self.store.settle()
            recent = self.clock() - timedelta(days=min(self.policy.window_days, 36500))
            around = self.search.around(text, timestamp(recent)[:19], RECENT)
            if around is not None:
                return Look([], [], tail, around.highest), self._shown(around)
        look = self.look()
        around = Around(look.notes, look.notes[::-1], len(look.notes), look.highest)
        return look, self._shown(around)

    def _shown(self, around: Around) -> Around:
        if not self.hides_sensitive:
            return around
        same, near = ([n for n in some if not n.sensitive] for some in (around.same, around.near))
        return around._replace(same=same, near=near)

    def commit(self, plan: Plan, then: Callable[[], object] | None = None) -> Saved:
        """Carry out a plan that a person has seen; MovedOn when it no longer fits.

        `then` is as in `Store.commit`. Decay is a change of its own, so that undo takes back the
        decay and not the save.
        """
        saved = plan.saved
        if plan.change is not None:
            saved.change = self.store.commit(plan.change, then)
            if self.origins is not None:
                self.origins.wrote(plan.change.op, [edit[:3] for edit in plan.change.edits])
        if saved.decayed and saved.action != "decayed":
            try:
                after = self.do("co", lambda planner: planner.decay(below=saved.note.id))
                saved.decayed, saved.summary = after.decayed, after.summary
            except CoError as error:
                saved.decayed = []
                saved.trouble = f"the oldest notes did not decay: {error}"
        return saved

    def do(self, actor: str, verb: Callable[[Planner], Plan]) -> Saved:
        """Carry out what a verb plans."""
        return self.agree(lambda: verb(self.planner(actor)), self.commit)

    def agree(self, plan: Callable[[], _T], commit: Callable[[_T], _Done]) -> _Done:
        """Plan and commit until they agree; in a busy notebook, while nobody else can write."""
        for _ in range(_TRIES):
            planned = plan()
            with suppress(MovedOn):
                return commit(planned)
        with self.store.locked():
            return commit(plan())

    def planner(self, actor: str, look: Look | None = None, call: str = "") -> Planner:
        """What puts a change together, from the notes as they are."""
        from co_cli.knowledge.plan import Planner

        return Planner(self, look or self.look(), actor, call)

    # Other verbs

    def consolidate(self, ref: Ref, text: str, tags: Iterable[str] = ()) -> Saved:
        """Give a note a new wording of the same and further tags; a protected one stays."""
        from co_cli.knowledge.safety.check import check_text, clean_tags

        text, tags = check_text(text), clean_tags(tags)
        return self.do("cli", lambda planner: planner.consolidate(self.find(ref), text, tags, {}))

    def link(
        self, ref: Ref, *, actor: str = "cli", updates: Sequence[Note] = (),
        related: Sequence[Note] = (),
    ) -> Saved:  # fmt: skip
        """Note in a memory's header what it updates, or what it has nothing to do with."""
        return self.do(actor, lambda planner: planner.link(ref, updates=updates, related=related))

    def forget(self, ref: Ref, *, actor: str = "cli", seen: str = "") -> Saved:
        """Archive a note, unless it is protected, or not the one with the digest `seen`."""
        return self.do(actor, lambda planner: planner.forget(ref, seen))

    def mark(self, ref: Ref, flag: Flag, *, on: bool = True, actor: str = "cli") -> Saved:
        """Set a note's mark, or take it off: `protect`, `pin` or `sensitive`."""
        return self.do(actor, lambda planner: planner.mark(ref, flag, on))

    def protect(self, ref: Ref, *, on: bool = True, actor: str = "cli") -> Saved:
        """Protect a note from forget and decay, or stop protecting it."""
        return self.mark(ref, "protect", on=on, actor=actor)

    def adopt(self, refs: Sequence[Ref] = (), *, actor: str = "cli") -> Saved:
        """Give plain files a header, these or all: a number, the file's date, the text as it is."""
        return self.do(actor, lambda planner: planner.adopt(refs))

    def merge(self, refs: Sequence[Ref], *, keep_first: bool = False) -> Saved:
        """Merge notes into the first: their texts joined, or only the first one's wording kept."""
        return self.do("cli", lambda planner: planner.merge(refs, keep_first))

    def replace(self, note: Note, data: bytes) -> Saved:
        """Put a person's edited bytes in a note's place, if the file is still what they edited."""
        return self.do("cli", lambda planner: planner.replace(note, data))

    def restore(self, ref: Ref, *, actor: str = "cli") -> Saved:
        """Bring an archived note back as it was."""
        from co_cli.knowledge.undo import plan_restore

        saved = self.do(actor, lambda planner: plan_restore(planner, ref, self.pages.archived()))
        saved.note = self.find(saved.note)  # a plain file's number may be another's by now
        saved.ref = self.ref(saved.note)
        return saved

    def plan_decay(self, *, actor: str = "co", category: str = "") -> Plan | None:
        """What decaying the oldest notes now, or of a category, does; None when none may decay."""
        with suppress(NotFound):
            return self.planner(actor).decay(category=category)
        return None

    def plan_import(
        self, items: Iterable[ImportItem], context: bytes | None = None,
        articles: Iterable[ImportItem] = (),
    ) -> ImportPlan:  # fmt: skip
        """Plan notes for texts from elsewhere, and what context.md will hold if they add to it."""
        from co_cli.knowledge.article import bring_in
        from co_cli.knowledge.importing import plan_notes

        planner = self.planner("import")
        return plan_notes(planner, items, context, bring_in(planner, articles))

    def undo(self, n: int = 0, *, actor: str = "cli") -> Entry:
        """Take change `n` back, or the last one that stands; refused when a file has moved on."""
        from co_cli.knowledge.undo import plan_undo

        at = timestamp(self.clock())
        done = self.agree(lambda: plan_undo(self.store, n, actor, at), self.store.commit)
        entries = {entry.n: entry for entry in self.store.entries()}
        return entries[entries[done].undoes]
