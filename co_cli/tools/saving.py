"""A save as a person is shown it, and as it is carried out: the same for every surface.

Knows neither who asks nor how.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from os.path import dirname
from typing import Any, Literal, NamedTuple

from co_cli import trust
from co_cli.deps import CoDeps
from co_cli.errors import CoError, MovedOn
from co_cli.knowledge import Note, Notebook, Plan, Saved, Shelf, inbox, lifecycle
from co_cli.knowledge.compare import relation
from co_cli.knowledge.compare.same import repeats, same
from co_cli.knowledge.format.note import now, parse, timestamp
from co_cli.knowledge.pages import ARTICLES, MEMORIES
from co_cli.knowledge.plan import Planner
from co_cli.knowledge.policy import Links
from co_cli.knowledge.safety.check import check_text
from co_cli.knowledge.search.hits import Filters
from co_cli.knowledge.store import disk, mark
from co_cli.verbs import labels

_ASKED, _NEAREST = 1000, 5  # letters of a text, and articles that are searched for its words
# What a person says to a save: as it stands; as an update of what it brings out of date; in the
# place of a note; beside it, as unrelated; a new wording of the old note instead; from the inbox,
# later; not at all.
Verdict = Literal["yes", "update", "replace", "keep", "edit", "later", "no"]


class Collision(NamedTuple):
    """A note that a new text bears on.

    It is `here` in the notebook that the text goes to, or in the other one; a model or a client
    may know of it where it is `visible`.
    """

    ref: str
    note: Note
    verdict: relation.Verdict
    wording: float = 0.0  # how much the words agree, in percent
    here: bool = True
    visible: bool = True

    @property
    def is_replaceable(self) -> bool:
        """Whether the new text may take its place."""
        return self.here and self.verdict != "similar" and not self.note.protected


class Save(NamedTuple):
    """A text to be saved, where it goes, and the memory that it corrects, if a model named one."""

    text: str
    tags: tuple[str, ...] = ()
    scope: str = ""
    replaces: str = ""
    call: str = ""


class Shown(NamedTuple):
    """A save as a person was shown it, and the files it was planned from."""

    plan: Plan
    fields: Mapping[str, Any] = {}
    collisions: tuple[Collision, ...] = ()
    files: Mapping[str, Mapping[str, int]] = {}

    @property
    def token(self) -> str:
        """What stands for all that the person saw; another when a note of it changed."""
        return f"{self._notes()} {self.plan.seen}"

    def _notes(self) -> str:
        notes = [(one.verdict, one.note) for one in self.collisions]
        return mark(sorted((verdict, note.path, disk.digest(note.raw)) for verdict, note in notes))

    def require_approved(self, token: str) -> None:
        """Raise MovedOn when a person would see something else than what they approved."""
        notes, _, seen = token.partition(" ")
        if token and notes != self._notes():
            raise MovedOn("the notebook changed meanwhile", hint="Nothing was saved; ask again.")
        self.plan.hold_to(seen)

    def fits(self, shelf: Shelf, book: Notebook, one: Save) -> bool:
        """Whether it is this save, and no file was changed since."""
        note = self.plan.saved.note
        approved = (dirname(note.path), note.body, note.tags)
        return approved == (book.memories, one.text, [*one.tags]) and self.files == _files(shelf)


class Choice(NamedTuple):
    """What a person decided about a save; `refs` name the notes that it is about, where not all.

    With `edit`, `wording` is what the one note says from now on. The `token` is of what they saw.
    """

    verdict: Verdict = "yes"
    refs: tuple[str, ...] = ()
    wording: str = ""
    token: str = ""
    shown: Shown | None = None


def plan_save(deps: CoDeps, shelf: Shelf, one: Save) -> Shown:
    """What saving a checked text would do now, and the notes that it bears on."""
    book, files = _book(deps, shelf, one), _files(shelf)
    met, fields = echo(deps, shelf, one.scope or book.scope, one.text)
    named = [deps.find(shelf, one.replaces)] if one.replaces else []
    plan = book.plan_remember(
        one.text, one.tags, actor=deps.actor, call=one.call, checked=True, fields=fields,
        updates=[note for _, note in named],
    )  # fmt: skip
    other = shelf.other(book)
    found = [(at, relation.Match(note, "updates", 1.0)) for at, note in named]
    found += matches(deps, shelf, one.text)
    if plan.saved.action == "consolidated":
        old = _before(plan)
        found = [(at, match) for at, match in found if at is not book]
        found.insert(0, (book, relation.Match(old, "restates", 1.0, plan.saved.likeness)))
    found += [
        (
            other,
            relation.Match(note, "restates" if same(note.body, one.text) else "similar", 0, how),
        )
        for note, how in met
    ]
    return Shown(plan, fields, _collisions(deps, book, found), files)


def save(
    deps: CoDeps, shelf: Shelf, one: Save, choice: Choice, *, actor: str = "",
    draft: tuple[Notebook, Note] | None = None,
) -> Saved | None:  # fmt: skip
    """Carry out what a person decided about a text, or about a `draft`; None where none is saved.

    Another `actor` than the deps' is the person: words of their own take over no marks. MovedOn
    when saving would do anything else than what they saw.
    """
    book, shown = _book(deps, shelf, one), choice.shown
    if choice.verdict == "no" or (choice.verdict == "later" and draft):
        return None
    if draft:  # or somebody else was quicker
        draft[0].find(draft[1])
    if not (shown and shown.fits(shelf, book, one)):
        is_asked = choice.token or choice.verdict != "yes"
        checked = one._replace(text=check_text(one.text))
        shown = plan_save(deps, shelf, checked) if is_asked else None
    if shown:
        shown.require_approved(choice.token)
    if choice.verdict == "edit" and shown:
        return _reword(shelf, choice, shown, actor or deps.actor, draft)
    fresh = book.scope == "project" and trust.untouched(deps.folder())
    if choice.verdict == "later":
        _put_aside(deps, shelf, one, actor)
        saved = None
    elif draft:
        saved = _accept(deps, book, one, links_of(choice, shown), actor, draft)
    else:
        saved = _remember(deps, shelf, one, choice, shown, actor)
    problem = trust.claim(deps.folder(), timestamp(now())) if fresh else ""
    if saved:
        saved.trouble = "\n".join(filter(None, (saved.trouble, problem)))
    return saved


def links_of(choice: Choice, shown: Shown | None) -> Links:
    """What a verdict says about the notes that a text bears on."""
    met = [one for one in shown.collisions if one.verdict != "similar"] if shown else []
    outdated = [one for one in met if one.verdict == "updates"]
    chosen = [one for one in met if not choice.refs or one.ref in choice.refs]
    links: Links = {}
    if choice.verdict == "keep":
        links["related"] = [one.note for one in chosen]
    elif choice.verdict == "update":
        links["updates"] = [one.note for one in chosen if one in outdated]
    elif choice.verdict == "replace":
        able = [one for one in chosen if one.is_replaceable]
        if not able:
            raise CoError("no memory is there that this could replace")
        links = {
            "replaces": able[0].note.name[:-3],
            "updates": [o.note for o in outdated if o != able[0]],
        }
    return {name: value for name, value in links.items() if value}  # type: ignore[return-value]


def _book(deps: CoDeps, shelf: Shelf, one: Save) -> Notebook:
    return shelf.user if deps.scope(one.scope or None) == "user" else shelf.project


def _files(shelf: Shelf) -> dict[str, Mapping[str, int]]:
    return {book.scope: book.store.files(MEMORIES) for book in shelf}


def _before(plan: Plan) -> Note:
    """The note that a text says again, as it is."""
    if plan.change is None:  # it is protected
        return plan.saved.note
    [edit] = plan.change.edits
    return parse(plan.saved.note.path, edit.before or b"")


def matches(deps: CoDeps, shelf: Shelf, text: str) -> list[tuple[Notebook, relation.Match]]:
    """What a text bears on, in the notebooks that may be looked at here."""
    if deps.usable():
        return shelf.compare(text)
    return [(shelf.user, one) for one in shelf.user.compare(text)]


def _collisions(
    deps: CoDeps, book: Notebook, found: Iterable[tuple[Notebook, relation.Match]]
) -> tuple[Collision, ...]:
    """Each note once; of the other notebook none that a model may not know of."""
    pairs: dict[str, tuple[Notebook, relation.Match]] = {}
    for at, match in found:
        if at is book or deps.tellable(at, [match.note]):
            pairs.setdefault(match.note.path, (at, match))
    refs = labels([(at, match.note) for at, match in pairs.values()])
    return tuple(
        Collision(ref, one.note, one.verdict, one.wording, at is book,
                  bool(deps.tellable(at, [one.note])))
        for ref, (at, one) in zip(refs, pairs.values(), strict=True)
    )  # fmt: skip


def _remember(
    deps: CoDeps, shelf: Shelf, one: Save, choice: Choice, shown: Shown | None, actor: str
) -> Saved:
    book, links = _book(deps, shelf, one), links_of(choice, shown)
    options: dict[str, Any] = {"actor": actor or deps.actor, "call": one.call, **links}
    if actor not in ("", deps.actor):
        options["fields"] = deps.of_language(one.scope)
    elif shown:
        options["fields"] = shown.fields
    else:
        options["fields"] = echo(deps, shelf, one.scope or book.scope, check_text(one.text))[1]
    if not shown:
        return book.remember(one.text, one.tags, **options)
    planned = not (links or one.replaces) and options["actor"] == deps.actor
    plan = shown.plan if planned else book.plan_remember(one.text, one.tags, **options)
    return book.remember(one.text, one.tags, agreed=plan, seen=plan.seen, **options)


def _accept(
    deps: CoDeps, book: Notebook, one: Save, links: Links, actor: str, draft: tuple[Notebook, Note]
) -> Saved:
    source, note = draft
    options: dict[str, Any] = {
        "text": one.text, "tags": one.tags, "fields": deps.of_language(one.scope),
        "into": source if book.root == source.root else book,
        "reviewed": True,  # what is external comes alone
        "decided": True, **links,
    }  # fmt: skip
    plan = inbox.plan_accept(source, note, actor=actor or deps.actor, **options)
    return inbox.accept(source, note, actor=actor or deps.actor, seen=plan.seen, **options)


def _put_aside(deps: CoDeps, shelf: Shelf, one: Save, actor: str) -> None:
    """Let a text wait in the inbox; one from a chat with external text is itself external."""
    book = _book(deps, shelf, one)
    fields: dict[str, Any] = dict(deps.of_language(one.scope))
    if actor in ("", deps.actor):
        fields |= echo(deps, shelf, one.scope or book.scope, check_text(one.text))[1]
        fields |= {"trust": "external"} if deps.external else {}
    if one.replaces:
        fields["replaces"] = deps.find(shelf, one.replaces)[1].uid
    draft = inbox.Draft(one.text, tuple(one.tags), fields=(*fields.items(),))
    put = inbox.put(book, [draft], actor=actor or deps.actor)
    if put.refused:
        raise CoError(put.refused[0].reason)


def _reword(
    shelf: Shelf, choice: Choice, shown: Shown, actor: str, draft: tuple[Notebook, Note] | None
) -> Saved:
    """Give the one note that the person edited its new wording, in the place of saving the text."""
    [old] = [one.note for one in shown.collisions if one.ref in choice.refs]
    text = check_text(choice.wording)

    def edit(planner: Planner) -> Plan:
        note = planner.edit(old, {"updated": planner.at}, text)
        return planner.plan("edit", "edited", note)

    saved = shelf.holding(old).do(actor, edit)
    if draft:  # what it said is in the memory now
        inbox.reject(*draft, actor=actor)
    return saved


def echo(
    deps: CoDeps, shelf: Shelf, scope: str, text: str
) -> tuple[list[tuple[Note, float]], dict[str, Any]]:
    """What says the same in the other notebook, or collides, and the fields of this memory.

    The fields are those of what is met there, and of the article or page whose words these are;
    both only as far as a model may know of it.
    """
    book, other = shelf if scope == "project" else (shelf.user, shelf.project)
    marks = _quoted(deps, shelf, text) or dict(deps.saved_as)
    fields = deps.of_language(scope)
    if marks:
        near = book.around(text)[1].of(str(fields.get("language") or ""))
        if lifecycle.judge(text, near, book.policy.threshold)[0]:
            marks = {}  # a memory says this already: it stays what it is
    if other.scope == "project" and not deps.usable():
        return [], marks | fields
    met = inbox.met_elsewhere(other, text)
    known = deps.tellable(other, [note for note, _ in met])
    told = [one for one in met if one[0] in known]
    return told, {**marks, **fields, **lifecycle.inherited(known)}


def _quoted(deps: CoDeps, shelf: Shelf, text: str) -> dict[str, Any]:
    """The marks of a text that repeats a page of this conversation, or an article."""
    for page in deps.pages.values():
        if repeats(text, f"{page.document.title}\n{page.text}"):
            return {"trust": "external", "source": page.source}
    read = [one.removeprefix("article ") for one in deps.external if one.startswith("article ")]
    books = [book for book in shelf if book.store.names(ARTICLES)]
    books = [book for book in books if book.scope == "user" or deps.usable()]
    for book in (*books, *shelf.folders):
        found = book.recall(text[:_ASKED], _NEAREST, Filters(kind="article"), strict=False)
        notes = {hit.note.path: hit.note for hit in found}
        for name in read:
            with suppress(CoError):
                note = book.find(f"a:{name.removesuffix('.md')}")
                notes[note.path] = note
        for note in deps.tellable(book, list(notes.values())):
            if repeats(text, note.text):
                source = str(note.meta["source"])
                place = source if "://" in source else book.ref(note)
                return {"trust": "external", "source": place}
    return {}
