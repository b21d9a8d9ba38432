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
    planned,
)
from co_cli.chat import typeahead
from co_cli.chat.card import (
    NAMED,
    PLACES,
    Card,
    editable,
    either,
    next_scope,
    question,
    replaceable,
    scope_text,
)
from co_cli.chat.letters import begins, goes_on, parsed
from co_cli.chat.line_input import Resized
from co_cli.deps import CoDeps
from co_cli.errors import RefusedText
from co_cli.kept import described
from co_cli.knowledge.safety.check import check_text
from co_cli.knowledge.safety.escape import BAR, escape, hanging, rows
from co_cli.paths import short
from co_cli.tools.saving import Collision

Read = Callable[[str, str], Awaitable[str]]
_TITLES = {
    "fetched": "Fetch this page? Its whole address goes to that server.",
    "forgotten": "Forget this memory?",
    "consolidated": "Co knows this already. Update its wording?",
}
_WAITING = 200  # characters that are shown of what waits, the last ones
_COLOURS = {"-": "red", "+": "green"}


@dataclass
class Screen:
    """Shows a review and asks; ^C and the end of input refuse."""

    console: Console
    read: Read
    told: set[str] = field(default_factory=set)  # what came from outside and was named

    async def __call__(self, review: Review) -> Reviewed:
        """The person's decisions, all proposals on one screen."""
        try:
            return await self._review(review)
        except (KeyboardInterrupt, EOFError):
            stopped = "Stopped; the rest stays in the inbox."
            self._say(stopped if review.about else "Nothing was changed.")
            return Reviewed([Decision(proposal, "no", STOPPED) for proposal in review.proposals])

    async def _review(self, review: Review) -> Reviewed:
        shown, typed = review.proposals, ""
        card = Card([*shown], [*shown], review)
        while True:
            self._show(card)
            try:
                said = await self.read(question(card.letters(), self.console.width), typed)
            except Resized as screen:
                typed = screen.typed
                continue
            whole, said, typed = said, said.strip().lower(), ""
            letter, number = parsed(said, len(card.proposals))
            letter = "n" if letter == "x" and review.about else letter
            if letter in review.keys:
                return Reviewed([Decision(one, "no", STOPPED) for one in shown], key=letter)
            if number is None and letter in ("y", "n", "a", "l") and letter in card.letters():
                return self._ended(card, letter)
            alone, named = len(card.proposals) == 1, ""
            if direct := NAMED.fullmatch(said) if alone else None:
                letter, number, named = direct[1], None, direct[2]
            chosen = card.meant(letter, number)
            idle = all(one.offered or one.action == "forgotten" for one in card.proposals)
            idle &= begins(said) in ("", "n")  # who says "keep it until May" has not said no
            if not chosen and goes_on(whole) and idle:  # nothing that they asked for is lost
                return self._ended(card, "n")
            if not chosen:
                answers = ", ".join(filter(None, card.letters().values()))
                self._say(f"  Please answer with one of: {answers}; Ctrl+C stops.")
            elif await self._act(card, letter, chosen, named) and alone:
                return self._ended(card, "y")

    def _ended(self, card: Card, letter: str) -> Reviewed:
        if letter == "n":
            return Reviewed([Decision(one, "no", DECLINED) for one in card.proposals], by_key=True)
        if letter == "l":
            return Reviewed([
                Decision(one.proposal, "later") if one.agreed else one for one in card.decisions()
            ], by_key=True)  # fmt: skip
        if letter == "a":
            self._say("Saving without asking until you leave. /ask turns that off.")
        return Reviewed(card.decisions(), frozenset({SAVE} if letter == "a" else ()), by_key=True)

    async def _act(self, card: Card, letter: str, chosen: list[int], named: str) -> bool:
        """Do what a letter says to these proposals; whether that decides on one."""
        number, proposals, deps = chosen[0], card.proposals, card.review.deps
        if letter == "g":
            scope = next_scope([proposals[one] for one in chosen])
            for one in chosen:  # with the tags asked for: those of the other notebook stay there
                now = proposals[one]
                moved = replace(card.asked[one], text=now.text, scope=scope)
                if there := await self._planned(deps, moved):
                    proposals[one] = replace(there, left_out=now.left_out)
                    card.chosen.pop(one, None)
            return False
        if letter == "e":
            return await self._edit_either(card, number)
        asks = letter in ("u", "r")
        refs = await self._which(proposals[number], letter, named) if asks else ()
        if refs is None:
            return False
        proposals[number] = replace(proposals[number], chosen=refs)
        card.choose(number, letter)
        return True

    async def _typed(self, question: str, default: str = "") -> str:
        while True:
            try:
                return await self.read(question, default)
            except Resized as screen:
                default = screen.typed

    async def _which(self, proposal: Proposal, letter: str, named: str) -> tuple[str, ...] | None:
        """The notes that are updated, all or the one that was `named`; the one that is replaced."""
        able = [old.ref for old in proposal.outdated] if letter == "u" else replaceable(proposal)
        if named:
            return (named,) if named in able else None
        if letter == "u" or len(able) == 1:
            return tuple(able)
        said = await self._typed(f"  Which one, {either(able, 'or')}? > ")
        return (said.strip(),) if said.strip() in able else None

    async def _edit_either(self, card: Card, number: int) -> bool:
        """Edit the text; or a note that it brings out of date, in the place of saving the text."""
        one = card.proposals[number]
        olds = {old.ref: old for old in editable(one)}
        said = ""
        if olds:
            which = either([*olds], "or")
            about = f"  Edit this text (Enter), or memory {which} instead of saving it? > "
            said = (await self._typed(about)).strip()
        if said in olds:
            wording = await self._reword(olds[said])
            if wording:
                card.proposals[number] = replace(one, chosen=(said,), wording=wording)
                card.chosen[number] = "edit"
            return bool(wording)
        if not said:
            card.asked[number] = card.proposals[number] = await self._edit(card.review.deps, one)
            card.chosen.pop(number, None)
        return False

    async def _reword(self, old: Collision) -> str:
        """What the person makes of a note; nothing where they leave it as it is."""
        text = old.note.body
        while True:
            lines = [await self._typed(f"  {old.ref}:  ", line) for line in text.split("\n")]
            text = "\n".join(lines)
            try:
                return check_text(text) if text.strip() not in ("", old.note.body.strip()) else ""
            except RefusedText as error:
                self._say(f"That cannot be saved: {error}")

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

    def _show(self, card: Card) -> None:
        self.console.print()
        for number, proposal in enumerate(card.proposals):
            if number:
                self.console.print()
            mark = f"{number + 1}  " if len(card.proposals) > 1 else ""
            again = "  (the notebook has changed, so Co asks again)" if proposal.again else ""
            state = f"  {said}" if mark and (said := card.state(number)) else ""
            self._say(f"{mark}{_title(proposal, alone=not mark)}{again}{state}", "bold")
            if proposal.tool == KEEP:
                self._show_article(proposal)
            else:
                self._quote(proposal.text)
            if proposal.tool != FETCH:
                self._show_place(proposal, card)
            for label, text in (card.review.about[number] if card.review.about else {}).items():
                self._quote(text, f"  {label:<7}")
            self._show_collisions(proposal)
        first = card.proposals[0]
        if len(card.proposals) == 1 and first.outdated:
            self._say("  y keeps both; recall then shows the new one first, the old as earlier.",
                      "dim")  # fmt: skip
        if card.review.external:
            self._warn("This chat contains external text, so every save needs your OK.")
        if set(card.review.external) - self.told:
            self._quote(", ".join(card.review.external[:3]), "  From   ")
        self.told = {*card.review.external}
        if waiting := " · ".join(filter(None, map(str.strip, typeahead.waiting().split("\n")))):
            short = waiting if len(waiting) <= _WAITING else f"…{waiting[-_WAITING:]}"
            self._say(f"  Waiting for your next message: {short}", "dim")

    def _show_place(self, proposal: Proposal, card: Card) -> None:
        """Where a text goes, under which tags, and what else that does."""
        if proposal.left_out:
            self._warn(f"Left out: {proposal.left_out}. [e]dit to say where it is kept.")
        tags = [f'"{tag}"' if "," in tag else tag for tag in proposal.tags]
        self._quote(", ".join(tags) or "none", "  Tags   ")
        place = f"{scope_text(proposal.scope, PLACES)}: {_where(proposal, card.proposals)}"
        self._quote(place, "  Where  ")
        if proposal.moves:
            self._warn(proposal.moves)
        if proposal.action == "consolidated":
            self._say(f"  Memory {proposal.ref} currently says:")
            self._quote(proposal.collisions[0].note.body, style=_COLOURS["-"])

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

    def _show_collisions(self, proposal: Proposal) -> None:
        """The notes that the text bears on, each in its own words, what is out of date first."""
        own = proposal.action == "consolidated"  # shown as what it currently says
        for old in proposal.collisions[own:]:
            where = "" if old.here else " in your other notebook"
            lock = " (protected)" if old.note.protected else ""
            name = escape(f"memory {old.ref}{where}{lock}", keep="")
            when = f", saved {old.note.created[:10]}" if old.verdict == "updates" else ""
            self._warn({
                "updates": f"This brings {name} out of date{when}:",
                "restates": f"Already noted as {name}:",
                "similar": f"Similar wording to {name}, {old.wording:.0f}%:",
            }[old.verdict])  # fmt: skip
            self._quote(old.note.body, style=_COLOURS["-"] if old.verdict == "updates" else "")

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


def _title(proposal: Proposal, *, alone: bool) -> str:
    """What is asked about a proposal."""
    title = _TITLES.get(proposal.action, "Remember this?")
    if proposal.tool == KEEP:
        fresh = proposal.action == "created"
        title = "Keep this as an article?" if fresh else f"Update article {proposal.ref}?"
    elif proposal.action == "forgotten" and proposal.ref.startswith(("a:", "ga:")):
        title = "Forget this article?"
    elif proposal.replaces and proposal.outdated:
        title = f"Correct memory {either([proposal.replaces], '')}?"
    elif proposal.offered and proposal.tool == SAVE:
        title = "Keep this as a note?" + (" [y/n]" if alone and not proposal.collides else "")
    elif proposal.action == "consolidated":
        if (alike := proposal.collisions[0].wording) < 100:
            title = f"Memory {proposal.ref} is {alike:.0f}% similar. Give it this wording?"
    elif proposal.restated:
        refs = either([old.ref for old in proposal.restated], "and")
        title = f"Already noted as {refs}. Save this as well?"
    return title


def _where(proposal: Proposal, proposals: list[Proposal]) -> str:
    """The file, as seen from here; of several the folder, for numbers come later."""
    new = [other for other in proposals if other.action != "forgotten"]
    path = os.path.dirname(proposal.where) if len(new) > 1 else proposal.where
    return short(path) if (seen := os.path.relpath(path)).startswith("..") else seen
