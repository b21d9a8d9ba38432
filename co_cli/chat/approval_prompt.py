"""The approval screen: what a model wants to write, exactly, and what the person says to it.

Text from a model or a note stands behind a bar, so that none of it can pass for Co's own words.
"""

import asyncio
import os
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace

from rich.console import Console
from rich.text import Text

from co_cli.agent.approval import (
    DECLINED,
    FETCH,
    KEEP,
    SAVE,
    STOPPED,
    Decision,
    Proposal,
    Review,
    Reviewed,
    Verdict,
    planned,
)
from co_cli.chat.editor import Resized
from co_cli.chat.letters import begins, goes_on, parsed
from co_cli.deps import CoDeps
from co_cli.kept import described
from co_cli.knowledge.safety.escape import BAR, difference, escape, hanging, rows
from co_cli.meant import picked
from co_cli.paths import short
from co_cli.results import SAME_MATTER

Read = Callable[[str, str], Awaitable[str]]
_PLACES = {"project": "this project", "user": "your own notebook, everywhere"}
_TITLES = {
    "fetched": "Fetch this page? Its whole address goes to that server.",
    "forgotten": "Forget this memory?",
    "consolidated": "Co knows this already. Update its wording?",
}
_MOVES = {"project": "in this project only", "user": "everywhere"}
_STATES: dict[Verdict, str] = {
    "yes": "", "no": "  [no]", "update": "  [update {}]", "keep": "  [keep both]",
}  # fmt: skip
_VERDICTS: dict[str, Verdict] = {"y": "yes", "u": "update", "k": "keep", "n": "no"}
_COLOURS = {"-": "red", "+": "green"}
_NAMED = re.compile(r"u(?:pdate)?\s?(g?\d{1,9})")  # which similar memory gives way


@dataclass
class _Card:
    """What is on the screen: proposals as asked for and as they are now, and what was said."""

    asked: list[Proposal]
    proposals: list[Proposal]
    review: Review
    chosen: dict[int, Verdict] = field(default_factory=dict)

    def decisions(self) -> list[Decision]:
        """What was decided, or goes without saying."""
        return [
            Decision(one, self.chosen.get(number, _meant(one)))
            for number, one in enumerate(self.proposals)
        ]

    def meant(self, letter: str, number: int | None) -> list[int]:
        """The proposals that a letter speaks of; none where it makes no sense."""
        if len(self.proposals) > 1 and number is None:
            there = enumerate(self.proposals) if letter == "g" else ()
            return [at for at, one in there if one.tool == SAVE and self.chosen.get(at) != "no"]
        at = number or 0
        return [at] if letter in _choices(self.proposals[at]) else []

    def letters(self) -> dict[str, str]:
        """What the question offers; the first letters speak of all that is on the screen."""
        agreed = [one.proposal for one in self.decisions() if one.agreed]
        asks = self.review.external or self.review.typed
        asks = asks or any(one.tool != SAVE or one.offered for one in agreed)
        asks = asks or (len(agreed) == 1 and agreed[0].collides)
        always = {} if asks or not agreed else {"a": "[a]lways this session"}
        if len(self.proposals) > 1:
            beside = any(one.collides and not one.replaces for one in agreed)
            rest = "the others" if 0 < len(agreed) < len(self.proposals) else "all"
            every = {"y": f"[y]es to {rest}{', keeping similar ones' * beside}", "n": "[n]one"}
            saves = [self.proposals[at] for at in self.meant("g", None)]
            move = {"g": f"[g] all {_told(_next(saves), _MOVES)}"} if saves else {}
            update = ", u2 or k2" if any(one.collides for one in self.proposals) else ""
            alone = f"one alone: y2, n2{', e2, g2' * bool(saves)}{update}"
            return {**every, **always, **move, "": alone}
        choices = _choices(self.proposals[0])
        first = {"y": choices.pop("y"), "n": choices.pop("n"), **always}
        return first | choices | {**self.review.keys}


@dataclass
class Screen:
    """Shows a review and asks; ^C and the end of input refuse."""

    console: Console
    read: Read
    send: Callable[[str], object] = field(default=lambda _text: None)  # what was no answer
    told: set[str] = field(default_factory=set)  # what came from outside and was named

    async def __call__(self, review: Review) -> Reviewed:
        """The person's decisions, all proposals on one screen."""
        try:
            return await self._review(review)
        except (KeyboardInterrupt, EOFError):
            self._say("Stopped; the rest waits." if review.about else "Nothing was changed.")
            return Reviewed([Decision(proposal, "no", STOPPED) for proposal in review.proposals])

    async def _review(self, review: Review) -> Reviewed:
        shown, typed = review.proposals, ""
        card = _Card([*shown], [*shown], review)
        while True:
            self._show(card)
            try:
                said = await self.read(_question(card.letters(), self.console.width), typed)
            except Resized as screen:
                typed = screen.typed
                continue
            whole, said, typed = said, said.strip().lower(), ""
            letter, number = parsed(said, len(card.proposals))
            if letter in review.keys:
                return Reviewed([Decision(one, "no", STOPPED) for one in shown], key=letter)
            if number is None and letter in ("y", "n", "a") and letter in card.letters():
                return self._ended(card, letter)
            alone, named = len(card.proposals) == 1, ""
            if direct := _NAMED.fullmatch(said) if alone else None:
                letter, number, named = "u", None, direct[1]
            chosen = card.meant(letter, number)
            idle = all(one.offered or one.action == "forgotten" for one in card.proposals)
            idle &= begins(said) in ("", "n")  # who says "keep it until May" has not said no
            if not chosen and goes_on(whole):  # nothing that they asked for is lost
                self.send(whole)
                if idle:
                    return self._ended(card, "n")
            if not chosen:
                answers = ", ".join(filter(None, card.letters().values()))
                self._say(f"  Please answer with one of: {answers}; Ctrl+C stops.")
            elif await self._act(card, letter, chosen, named) and alone:
                return self._ended(card, "y")

    def _ended(self, card: _Card, letter: str) -> Reviewed:
        if letter == "n":
            return Reviewed([Decision(one, "no", DECLINED) for one in card.proposals], by_key=True)
        if letter == "a":
            self._say("Co now saves without asking until you leave. /ask makes it ask again.")
        return Reviewed(card.decisions(), frozenset({SAVE} if letter == "a" else ()), by_key=True)

    async def _act(self, card: _Card, letter: str, chosen: list[int], named: str) -> bool:
        """Do what a letter says to these proposals; whether that decides on one."""
        number, proposals, deps = chosen[0], card.proposals, card.review.deps
        if letter == "g":
            scope = _next([proposals[one] for one in chosen])
            for one in chosen:  # with the tags asked for: those of the other notebook stay there
                now = proposals[one]
                moved = replace(card.asked[one], text=now.text, scope=scope)
                if there := await self._planned(deps, moved):
                    proposals[one] = replace(there, left_out=now.left_out)
                    card.chosen.pop(one, None)
            return False
        if letter == "e":
            card.asked[number] = proposals[number] = await self._edit(deps, proposals[number])
            card.chosen.pop(number, None)
            return False
        if letter == "u":
            which = await self._which(proposals[number], named)
            if not which:
                return False
            proposals[number] = replace(proposals[number], replaces=which)
        card.chosen[number] = _VERDICTS[letter]
        return True

    async def _typed(self, question: str, default: str = "") -> str:
        while True:
            try:
                return await self.read(question, default)
            except Resized as screen:
                default = screen.typed

    async def _which(self, proposal: Proposal, named: str) -> str:
        """The memory that gives way: the only one, the one that was named, or what is answered."""
        refs = _replaceable(proposal)
        only = proposal.replaces or (refs[0] if len(refs) == 1 else "")
        if named in refs or (only and not named):
            return named or only
        said = await self._typed(f"  Which one, {_either(refs)}? > ")
        found = picked(said, {old.ref: old.text for old in proposal.collisions if old.ref in refs})
        if found is None and goes_on(said):
            self.send(said)
        return found[0] if found and not found[1:] else ""

    async def _edit(self, deps: CoDeps, proposal: Proposal) -> Proposal:
        """The proposal as the person edits it, planned anew; asked until it can be done."""
        edited = proposal
        while True:
            lines = [await self._typed("  Text:  ", line) for line in edited.text.split("\n")]
            tags = await self._typed("  Tags:  ", ", ".join(edited.tags))
            places = {one.replace("user", "global"): one for one in proposal.places}
            typed = await self._typed(f"  Scope, {' or '.join(places)} (Enter: as it is):  ")
            said = typed.strip() or "?"
            scopes = (to for name, to in places.items() if f" {said}" in f" {name} {to}")
            edited = replace(
                edited, text="\n".join(lines), scope=next(scopes, proposal.scope),
                tags=tuple(re.split(r"\s*,\s*", tags.strip())),
            )  # fmt: skip
            if changed := await self._planned(deps, edited):
                return changed

    async def _planned(self, deps: CoDeps, proposal: Proposal) -> Proposal | None:
        """The proposal planned anew; where it cannot be done, None after a word on why."""
        changed = await asyncio.to_thread(planned, deps, proposal)
        if why := changed.refused or changed.left_out:
            self._say(f"That cannot be saved: {why}")
            return None
        return changed

    def _show(self, card: _Card) -> None:
        self.console.print()
        for number, proposal in enumerate(card.proposals):
            if number:
                self.console.print()
            mark = f"{number + 1}  " if len(card.proposals) > 1 else ""
            corrected = card.asked[number].replaces if proposal.collides else ""
            corrected = corrected if corrected == proposal.replaces else ""
            again = "  (the notebook has changed, so Co asks again)" if proposal.again else ""
            state = _STATES[card.chosen.get(number, "yes")].format(proposal.replaces)
            self._say(f"{mark}{_title(proposal, corrected, alone=not mark)}{again}{state}", "bold")
            if proposal.tool == KEEP:
                self._show_article(proposal)
            else:
                self._quote(proposal.text)
            if proposal.tool != FETCH:
                self._show_place(proposal, card)
            for label, text in (card.review.about[number] if card.review.about else {}).items():
                self._quote(text, f"  {label:<7}")
            self._show_similar(proposal, corrected)
        first = card.proposals[0]
        if len(card.proposals) == 1 and first.collides and not first.replaces:
            update = f", u replaces memory {_either(refs)}" if (refs := _replaceable(first)) else ""
            self._say(f"  y keeps both{update}; Enter alone does nothing.", "dim")
        if set(card.review.external) - self.told:
            self._say("Text from outside is in this conversation, so Co asks every time.", "yellow")
            self._quote(", ".join(card.review.external[:3]), "  From   ")
        elif card.review.external:
            self._warn("Text from outside: Co asks.")
        self.told = {*card.review.external}

    def _show_place(self, proposal: Proposal, card: _Card) -> None:
        """Where a text goes, under which tags, and what else that does."""
        if proposal.left_out:
            self._warn(f"Left out: {proposal.left_out}. [e]dit to say where it is kept.")
        tags = [f'"{tag}"' if "," in tag else tag for tag in proposal.tags]
        self._quote(", ".join(tags) or "none", "  Tags   ")
        place = f"{_told(proposal.scope, _PLACES)}: {_where(proposal, card.proposals)}"
        self._quote(place, "  Where  ")
        if proposal.moves:
            self._warn(proposal.moves)
        if proposal.action == "consolidated":
            self._say(f"  Memory {proposal.ref} currently says:")
            self._quote(proposal.collisions[0].text, style=_COLOURS["-"])

    def _show_article(self, proposal: Proposal) -> None:
        self._quote(proposal.title, "  Title  ")
        self._quote(proposal.source, "  Source ")
        if not proposal.fetched:
            self._warn("Not fetched here: whether that source says this, Co cannot tell.")
        if proposal.shown:
            size, told = described(proposal.shown.plan, proposal.asked)
            self._say(f"  Size   {size}")
            for heading, lines in told.items():
                self._say(f"  {heading}:")
                for line in lines:
                    changed = proposal.action == "updated"
                    self._quote(line, style=_COLOURS.get(line[:1], "") if changed else "")

    def _show_similar(self, proposal: Proposal, corrected: str) -> None:
        for old in (*proposal.collisions * proposal.collides, *proposal.elsewhere):
            lock = ", protected" if old.protected else ""
            close = SAME_MATTER if old.same_matter else f"{old.score:.0f}%"
            where = " in your other notebook" * (old in proposal.elsewhere)
            similar = f"Similar to memory {old.ref}{where} ({close}{lock}):"
            self._warn("Old and new:" if old.ref == corrected else similar)
            for line in _changes(old.text, proposal.text):
                self._quote(line, style=_COLOURS.get(line[:1], ""))

    def _quote(self, text: str, label: str = "", style: str = "") -> None:
        """Text that is not Co's own: every row it takes begins with the bar, or under a label."""
        first, then, keep = (label, " " * len(label), "") if label else (BAR, BAR, "\n")
        for row in rows(text, self.console.width, first, then, keep=keep):
            self.console.print(Text(row, style=style), soft_wrap=True)

    def _warn(self, text: str) -> None:
        self._say(f"  {text}", "yellow")

    def _say(self, text: str, style: str = "") -> None:
        for row in hanging(text, self.console.width, keep=""):
            self.console.print(Text(row, style=style), soft_wrap=True)


def _title(proposal: Proposal, corrected: str, *, alone: bool) -> str:
    """What is asked about a proposal."""
    if proposal.tool == KEEP:
        fresh = proposal.action == "created"
        return "Keep this as an article?" if fresh else f"Update article {proposal.ref}?"
    if proposal.action == "forgotten" and proposal.ref.startswith(("a:", "ga:")):
        return "Forget this article?"
    if corrected:
        return f"Correct memory {corrected}?"
    if proposal.offered and proposal.tool == SAVE:
        return "Keep this as a note?" + (" [y/n]" if alone and not proposal.collides else "")
    if proposal.action == "consolidated" and (alike := proposal.collisions[0].score) < 100:
        return f"Memory {proposal.ref} is {alike:.0f}% similar. Give it this wording?"
    return _TITLES.get(proposal.action, "Remember this?")


def _where(proposal: Proposal, proposals: list[Proposal]) -> str:
    """The file, as seen from here; of several the folder, for numbers come later."""
    new = [other for other in proposals if other.action != "forgotten"]
    path = os.path.dirname(proposal.where) if len(new) > 1 else proposal.where
    return short(path) if (seen := os.path.relpath(path)).startswith("..") else seen


def _changes(old: str, new: str) -> list[str]:
    """Two texts as a diff, without its heading."""
    lines = difference(f"{old}\n".encode(), f"{new}\n".encode(), "memory").split("\n")
    return [line for line in lines[2:] if not line.startswith("@@")]


def _replaceable(proposal: Proposal) -> list[str]:
    """The similar memories that may give way."""
    return [old.ref for old in proposal.collisions if proposal.collides and not old.protected]


def _either(refs: list[str]) -> str:
    return escape(" or ".join(refs), keep="")


def _meant(proposal: Proposal) -> Verdict:
    """What yes means: what is corrected gives way, what is only similar is kept beside it."""
    return ("update" if proposal.replaces else "keep") if proposal.collides else "yes"


def _next(proposals: list[Proposal]) -> str:
    """The scope that `g` gives to all of these: of all that they may have, the next one."""
    places, scopes = proposals[0].places, {one.scope for one in proposals}
    now = next((at for at, place in enumerate(places) if place in scopes), 0)
    return places[(now + 1) % len(places)]


def _told(scope: str, names: dict[str, str]) -> str:
    """A scope in words."""
    return names.get(scope) or f"your notes for {scope.removeprefix('language:')}"


def _choices(proposal: Proposal) -> dict[str, str]:
    """What can be said to one proposal: its letters and what they mean, if that has to be told."""
    choices = {"y": "[y]es", "n": "[n]o"}
    refs = _replaceable(proposal)
    if proposal.collides and proposal.replaces:
        yes = f"[y]es, replace {_either([proposal.replaces])}"
        choices |= {"y": yes, "k": "[k]eep both", "u": ""}
    elif proposal.collides:
        choices["y"] = "[y]es, keep both"
        choices |= {"k": "", **({"u": f"[u]pdate memory {_either(refs)}"} if refs else {})}
    if proposal.tool in (SAVE, KEEP):
        choices["g"] = f"[g] {_told(_next([proposal]), _MOVES)}"
    if proposal.tool == SAVE:
        choices["e"] = "[e]dit"
    return choices


def _question(keys: dict[str, str], columns: int) -> str:
    """What can be answered, in rows that fit the screen."""
    rows = [""]
    for key in filter(None, keys.values()):
        if rows[-1] and len(f"{rows[-1]}  {key} > ") >= columns:
            rows.append("")
        rows[-1] += f"  {key}"
    return "\n".join(rows) + " > "
