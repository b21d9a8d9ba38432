"""What is to be written, shown to a person before it happens, and what they decided.

Knows neither the terminal nor the agent framework: a surface asks, this prepares and decides.
"""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

from co_cli import logs
from co_cli.deps import CoDeps
from co_cli.errors import CoError, RefusedText
from co_cli.knowledge import Notebook, Saved
from co_cli.knowledge.article import canonical
from co_cli.knowledge.format.note import Note, marks
from co_cli.knowledge.safety.check import check_text, outside_tags, without_secret
from co_cli.knowledge.store import disk
from co_cli.prompts.envelope import defang
from co_cli.results import numbers_text, plural
from co_cli.tools.articles import TOOLS, article
from co_cli.tools.saving import Choice, Collision, Save, Shown, Verdict, plan_save, save
from co_cli.verbs import labels

SAVE, FORGET, KEEP, FETCH = "save_memory", "forget_memory", "save_knowledge", "web_fetch"
WRITES = (SAVE, FORGET, KEEP)
ASKED = (*WRITES, FETCH)  # to fetch, only where the person did not name the address


class Refusal(NamedTuple):
    """Why a write was not made: the kind, which programs read, and a sentence for the model."""

    kind: Literal["declined", "stopped", "nobody", "repeated", "rule", "impossible"]
    text: str

    def message(self) -> str:
        """Both in the one text that the framework carries to a model."""
        return json.dumps({"refused": self.kind, "display": defang(self.text)}, ensure_ascii=False)


DECLINED = Refusal("declined", "The person declined, so nothing was changed. Carry on without it.")
STOPPED = Refusal(
    "stopped", "The person stopped the review, so nothing was changed. Carry on without it."
)
NOBODY = Refusal("nobody", "Nobody is there to approve it, so nothing was changed.")
REPEATED = Refusal("repeated", "The same was asked for twice; the first request counts.")
ONLY_OFFERED = Refusal(
    "rule",
    'Co guessed that you want to save this. Begin with "remember", name the number, or say yes to '
    "it in a chat.",
)


def impossible(why: str) -> Refusal:
    """That a rule or a file stands in the way."""
    return Refusal("impossible", f"It cannot be done: {why}")


def tools_json() -> list[dict[str, Any]]:
    """Each tool, what it does and whether it asks."""
    return [
        {"name": name, "help": (tool.__doc__ or "").partition("\n")[0], "asks": name in ASKED}
        for name, tool in TOOLS.items()
    ]


@dataclass(frozen=True)
class Proposal:
    """One write that a model asks for, or one page, with all that a person needs to decide.

    `refused` says why it cannot be done, `left_out` which secret was taken out of its text,
    `moves` which old memories leave because it crosses the limit. `seen` marks what it would do;
    when that has changed by the time it is done, the person is asked `again`. What is only
    `offered`, because nobody asked for it, takes a key of the person's, each time. A person may
    have `chosen` some of the notes that it collides with, and a new `wording` for one of them. An
    article has a `title` and a `source`; without a text it is the page as it was fetched.
    """

    call: str
    tool: str
    text: str
    tags: tuple[str, ...] = ()
    scope: str = ""  # project, user or, say, language:python
    where: str = ""
    action: str = ""
    ref: str = ""
    collisions: tuple[Collision, ...] = ()
    replaces: str = ""  # which of them a model named as corrected by this
    chosen: tuple[str, ...] = ()
    wording: str = ""
    moves: str = ""
    refused: str = ""
    left_out: str = ""
    again: bool = False
    offered: bool = False
    title: str = ""
    source: str = ""
    fetched: bool = True  # whether this conversation read that source
    asked: str = ""  # what the person said last
    seen: str = ""
    places: tuple[str, ...] = ("project", "user")  # the scopes that it may have
    shown: Shown | None = None  # this plan is carried out unless the text or a file changed

    @property
    def outdated(self) -> tuple[Collision, ...]:
        """The notes that it brings out of date."""
        return tuple(one for one in self.collisions if one.verdict == "updates")

    @property
    def restated(self) -> tuple[Collision, ...]:
        """The notes that say the same already, but for the one whose wording it changes."""
        found = self.collisions[self.action == "consolidated" :]
        return tuple(one for one in found if one.verdict == "restates")

    @property
    def collides(self) -> bool:
        """Whether a person has to decide about notes that are there, even with a yes in advance."""
        return bool(self.outdated or self.restated)

    @property
    def usual(self) -> Verdict:
        """What yes means."""
        return "update" if self.outdated else "yes"

    @property
    def overwrites(self) -> bool:
        """Whether an article that is there gets another text; only a person says yes to that."""
        return self.tool == KEEP and self.action == "updated"

    def arguments(self) -> dict[str, Any]:
        """What the tool is called with: exactly what the person saw."""
        if self.tool == FORGET:
            return {"ref": self.ref}
        if self.tool == FETCH:
            return {"url": self.text}
        said = {"content": self.text, "tags": list(self.tags), "scope": self.scope}
        if self.tool == KEEP:
            return said | {"source": self.source, "title": self.title}
        return said | ({"replaces": self.replaces} if self.replaces else {})


class Decision(NamedTuple):
    """What was decided about a proposal, which the person may have edited.

    A plain yes, as nobody but a rule says it beside an outdated note, links nothing.
    """

    proposal: Proposal
    verdict: Verdict
    refusal: Refusal = DECLINED  # counts when the verdict is no

    @property
    def agreed(self) -> bool:
        return self.verdict != "no"

    def metadata(self) -> dict[str, Any]:
        """What the tool is told beside its arguments."""
        one = self.proposal
        return {"seen": one.seen, "shown": one.shown, "choice": self.choice()}

    def choice(self) -> Choice:
        """The same for what carries it out."""
        one = self.proposal
        return Choice(self.verdict, one.chosen, one.wording, one.seen, one.shown)


class Review(NamedTuple):
    """Everything a model wants to write in one step, and where outside text came from.

    What is `typed` the person asked for by a command: there is no model to be let write always.
    `about` is what is further said of each, with labels; `keys` are further letters that end it.
    """

    proposals: list[Proposal]
    external: tuple[str, ...]
    deps: CoDeps
    typed: bool = False
    about: Sequence[Mapping[str, str]] = ()
    keys: Mapping[str, str] = {}


class Reviewed(NamedTuple):
    """The decisions, the tools that need no more asking in this session, and who decided."""

    decisions: list[Decision]
    always: frozenset[str] = frozenset()
    by_key: bool = False  # a person at a keyboard, and no rule
    key: str = ""  # which of the further letters


Asker = Callable[[Review], Awaitable[Reviewed]]


def carry_out(
    deps: CoDeps, decision: Decision, *, actor: str = "",
    draft: tuple[Notebook, Note] | None = None,
) -> Saved | None:  # fmt: skip
    """Do what was decided about a save or a `draft`; None where no memory was written.

    Another `actor` than the deps' is the person, and these are words of their own. MovedOn when it
    would do anything else than what they saw; then they are asked again.
    """
    one = decision.proposal
    wanted = Save(one.text, one.tags, one.scope, one.replaces, one.call)
    with deps.notebooks() as shelf:
        saved = save(deps, shelf, wanted, decision.choice(), actor=actor, draft=draft)
    if saved:
        logs.log_note("saved", saved.note)
        deps.entered(*marks(saved.note))
    return saved


def prepare(deps: CoDeps, call: str, tool: str, arguments: Mapping[str, Any]) -> Proposal:
    """A proposal from a tool call's arguments: what would happen if it were done now."""
    if tool == FORGET:
        return _forgetting(deps, call, str(arguments.get("ref", "")))
    if tool == FETCH:
        return Proposal(call, FETCH, str(arguments.get("url", "")), action="fetched")
    text, tags = str(arguments.get("content", "")), map(str, arguments.get("tags") or ())
    names = ("scope", "replaces", "title", "source")
    more: dict[str, Any] = {name: str(arguments.get(name) or "") for name in names}
    return planned(deps, Proposal(call, tool, text, tuple(tags), **more))


def planned(deps: CoDeps, proposal: Proposal) -> Proposal:
    """The same proposal with what saving its text would do now."""
    if proposal.tool == KEEP:
        return _keeping(deps, proposal)
    try:
        scope = deps.scope(proposal.scope or None)
        replaces, language = _named(deps, scope, proposal.replaces)
        if language and proposal.scope in ("", "user"):  # what corrects it is told where it was
            proposal = replace(proposal, scope=f"language:{language}")
        text, left_out = _without_secret(proposal.text)
        tags = tuple(outside_tags(proposal.tags))
        where = proposal.scope or scope
        with deps.notebooks() as shelf:
            book = shelf.user if scope == "user" else shelf.project
            book.store.refuse("")
            shown = plan_save(deps, shelf, Save(text, tags, where, replaces, proposal.call))
            more = [f"language:{one}" for one in sorted(shelf.languages) if deps.usable()]
    except CoError as error:
        return replace(proposal, refused=_why(error))
    saved = shown.plan.saved
    deps.entered(*(one.note.mark for one in shown.collisions))
    if shown.plan.change is None:
        return replace(proposal, refused=f"memory {saved.ref} already says this and is protected")
    return replace(
        proposal, text=text, scope=where, where=saved.note.path, action=saved.action,
        tags=tuple(saved.note.tags) if saved.action == "consolidated" else tags,
        places=("project", "user", *more), ref=saved.ref, collisions=shown.collisions, refused="",
        replaces=replaces, left_out=left_out, moves=_moves(book, saved), seen=shown.token,
        shown=shown, chosen=(), wording="",
    )  # fmt: skip


def _keeping(deps: CoDeps, one: Proposal) -> Proposal:
    """The same proposal with what keeping the article would do now."""
    try:
        scope = deps.scope(one.scope or None)
        text, about = article(deps, one.text, one.source, one.title, one.tags)
        with deps.notebooks() as shelf:
            book = shelf.user if scope == "user" else shelf.project
            book.store.refuse("")
            plan = book.plan_keep(text, actor=deps.actor, call=one.call, **about)
    except CoError as error:
        return replace(one, refused=_why(error))
    saved = plan.saved
    if plan.change is None:
        deps.entered(saved.note.mark)
        return replace(one, refused=f"article {saved.ref} says this already")
    return replace(
        one, tags=tuple(saved.note.tags), scope=scope, where=saved.note.path, action=saved.action,
        ref=saved.ref, title=saved.note.title, refused="", seen=plan.seen,
        fetched=canonical(one.source) in deps.pages,
        shown=Shown(plan),
    )  # fmt: skip


def _why(error: CoError) -> str:
    """Why not; how to have a secret stored all the same is no model's business."""
    return str(error) if isinstance(error, RefusedText) else error.sentence()


def _named(deps: CoDeps, scope: str, ref: str) -> tuple[str, str]:
    """The memory that a model says is corrected, and its language; none that is not there."""
    try:
        with deps.notebooks() as shelf:
            book, note = deps.find(shelf, ref) if ref else (shelf.project, None)
            if not note or note.kind == "article" or book.scope != scope:
                return "", ""
            called = labels([(book, one) for one in book.notes() if one.id == note.id])
            return next(ref for ref, (_, one) in called.items() if one == note), note.language
    except CoError:
        return "", ""


def _without_secret(text: str) -> tuple[str, str]:
    """The text to store, and what had to be left out of it; RefusedText when nothing stays."""
    try:
        return check_text(text), ""
    except RefusedText as error:
        kept = without_secret(text, error)
        if not kept:
            raise
        return check_text(kept), str(error)


def _moves(book: Notebook, saved: Saved) -> str:
    """What this save would set in motion by crossing the limit, and how to take that back."""
    if not saved.decayed:
        return ""
    numbers = numbers_text((note.id for note in saved.decayed), book.prefix)
    joined = book.policy.strategy == "summarize"
    undo = "/undo -g" if book.scope == "user" else "/undo"
    return (
        f"This save crosses the limit of {book.policy.max_count} memories: "
        f"{plural(len(saved.decayed), 'old memory')} ({numbers}) will be "
        f"{'joined into one' if joined else 'moved to the archive'}. {undo} takes that back."
    )


def _forgetting(deps: CoDeps, call: str, ref: str) -> Proposal:
    try:
        with deps.notebooks() as shelf:
            book, note = deps.find(shelf, ref)
            book.store.refuse(note.file)
    except CoError as error:
        return Proposal(call, FORGET, "", ref=ref, refused=error.sentence())
    deps.entered(note.mark)
    refused = ""
    if note.protected:
        refused = f"{note.kind} {ref} is protected: co knowledge unprotect {ref}"
    # A page may be long, and its name and source tell what it is.
    text = f"{note.title}\n{note.meta['source']}" if note.kind == "article" else note.body
    return Proposal(
        call, FORGET, text, tuple(note.tags), book.scope, note.path, "forgotten",
        book.ref(note), refused=refused, seen=str(disk.digest(note.raw)),
    )  # fmt: skip


@dataclass
class Approvals:
    """How a session answers: `always` are the tools that got `a`; without `ask`, always no."""

    ask: Asker | None = None
    always: set[str] = field(default_factory=set)

    async def decide(self, deps: CoDeps, proposals: Sequence[Proposal]) -> list[Decision]:
        """A decision on each proposal, in order; what a rule refuses is not asked about."""
        settled: dict[int, Decision] = {}
        for number, one in enumerate(proposals):
            if one.refused:
                settled[number] = Decision(one, "no", impossible(one.refused))
            elif one.tool in self.always and not (
                deps.external
                or (one.again or one.collides or one.left_out or one.moves or one.offered)
                or one.overwrites
            ):
                settled[number] = Decision(one, "yes")
            elif self.ask is None:
                refusal = impossible(one.left_out) if one.left_out else NOBODY
                settled[number] = Decision(one, "no", refusal)
        left = [number for number in range(len(proposals)) if number not in settled]
        if left and self.ask is not None:
            asked = Review([proposals[number] for number in left], tuple(deps.external), deps)
            reviewed = await self.ask(asked)
            if not deps.external:
                self.always |= reviewed.always - {FORGET}
            for number, decision in zip(left, reviewed.decisions, strict=True):
                settled[number] = decision
                if proposals[number].offered and decision.agreed and not reviewed.by_key:
                    settled[number] = decision._replace(verdict="no", refusal=ONLY_OFFERED)
        return [settled[number] for number in range(len(proposals))]
