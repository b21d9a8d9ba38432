"""The approval screen: what a model wants to write, exactly, and what the person says to it.

Text from a model or a note stands behind a bar, so that none of it can pass for Co's own words.
"""

import asyncio
import os
import re
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import cached_property

from prompt_toolkit import PromptSession
from prompt_toolkit.input.typeahead import get_typeahead
from prompt_toolkit.output.vt100 import Vt100_Output
from prompt_toolkit.utils import is_dumb_terminal
from rich.console import Console
from rich.text import Text

from co_cli.agent.approval import (
    DECLINED,
    FORGET,
    STOPPED,
    Decision,
    Proposal,
    Review,
    Reviewed,
    Verdict,
    planned,
)
from co_cli.chat import typeahead
from co_cli.deps import CoDeps
from co_cli.knowledge.safety.escape import BAR, difference, hanging, rows
from co_cli.paths import short
from co_cli.results import SAME_MATTER

Read = Callable[[str, str], Awaitable[str]]
_PLACES = {"project": "this project", "user": "your own notebook, everywhere"}
_TITLES = {
    "forgotten": "Forget this memory?",
    "consolidated": "Co knows this already. Update its wording?",
}
_STATES: dict[Verdict, str] = {
    "yes": "", "no": "  [no]", "update": "  [update]", "keep": "  [keep both]",
}  # fmt: skip
_VERDICTS: dict[str, Verdict] = {"y": "yes", "u": "update", "k": "keep", "n": "no"}
_WORDS = {"yes": "y", "no": "n", "always": "a", "all": "a", "edit": "e", "update": "u", "keep": "k"}


class _LateOutput(Vt100_Output):
    """A screen that sets aside what was typed up to the moment it first shows something."""

    drawn = True

    def flush(self) -> None:
        """Draw."""
        if not self.drawn:
            typeahead.set_aside()
        super().flush()


class TerminalInput:
    """Asks for a line on the terminal, with a text to begin with; nothing of it is kept."""

    @cached_property
    def session(self) -> PromptSession[str]:
        """The line editor, made for the first question."""
        if is_dumb_terminal():
            return PromptSession()
        output = _LateOutput.from_pty(sys.stdout, os.environ.get("TERM"))
        output.enable_cpr = False  # or the terminal's report would be taken for early keys
        session: PromptSession[str] = PromptSession(output=output, prompt_continuation=BAR)
        session.app.after_render += lambda _app: setattr(output, "drawn", True)
        return session

    async def __call__(self, question: str, default: str = "") -> str:
        """What is typed from the moment the question is drawn; what was typed before waits."""
        set_aside(self.session)
        if isinstance(self.session.output, _LateOutput):
            self.session.output.drawn = False
        # The terminal sends ^C as a key; who stops the turn by a signal still can.
        return await self.session.prompt_async(question, default=default, handle_sigint=False)


def set_aside(session: PromptSession[str]) -> None:
    """Keep what was typed so far from what is asked now; the next message begins with it."""
    typeahead.set_aside("".join(key.data for key in get_typeahead(session.input)))


@dataclass
class Screen:
    """Shows a review and asks; ^C and the end of input refuse."""

    console: Console
    read: Read

    async def __call__(self, review: Review) -> Reviewed:
        """The person's decisions, all proposals on one screen."""
        try:
            return await self._review(review)
        except (KeyboardInterrupt, EOFError):
            self._say("Nothing was changed.")
            return Reviewed([Decision(proposal, "no", STOPPED) for proposal in review.proposals])

    async def _review(self, review: Review) -> Reviewed:
        proposals = list(review.proposals)
        chosen: dict[int, Verdict] = {}
        while True:
            self._show(proposals, chosen, review.external)
            offered = _offered(proposals, review.external)
            said = await self.read(f"  {'  '.join(offered.values())} > ", "")
            letter, number = _parsed(said.strip().lower(), len(proposals))
            if number is None and letter in offered:
                if letter in ("y", "a"):
                    decisions = _agreed(proposals, chosen)
                    tools = {one.proposal.tool for one in decisions if one.agreed}
                    return Reviewed(decisions, frozenset(tools if letter == "a" else ()))
                if letter == "n":
                    return Reviewed([Decision(proposal, "no", DECLINED) for proposal in proposals])
            picked = 0 if number is None and len(proposals) == 1 else number
            if picked is None or letter not in _choices(proposals[picked]):
                answers = ", ".join(offered.values())
                self._say(f"  Please answer with one of: {answers}; Ctrl+C means no.")
            elif letter in _VERDICTS:
                chosen[picked] = _VERDICTS[letter]
                if len(proposals) == 1:
                    return Reviewed(_agreed(proposals, chosen))
            else:
                one, deps = proposals[picked], review.deps
                everywhere = replace(one, scope="user")
                edit = self._edit(deps, one) if letter == "e" else self._planned(deps, everywhere)
                proposals[picked] = await edit or one
                chosen.pop(picked, None)

    async def _edit(self, deps: CoDeps, proposal: Proposal) -> Proposal:
        """The proposal as the person edits it, planned anew; asked until it can be done."""
        edited = proposal
        while True:
            lines = [await self.read("  Text:  ", line) for line in edited.text.split("\n")]
            tags = await self.read("  Tags:  ", ", ".join(edited.tags))
            typed = await self.read(f"  Scope, project or user ({proposal.scope}):  ", "")
            scopes = (scope for scope in _PLACES if scope.startswith(typed.strip() or "?"))
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

    def _show(
        self, proposals: list[Proposal], chosen: dict[int, Verdict], external: tuple[str, ...]
    ) -> None:
        self.console.print()
        for number, proposal in enumerate(proposals):
            mark = f"{number + 1}  " if len(proposals) > 1 else ""
            title = _TITLES.get(proposal.action, "Remember this?")
            again = "  (the notebook has changed, so Co asks again)" if proposal.again else ""
            self._say(f"{mark}{title}{again}{_STATES[chosen.get(number, 'yes')]}", "bold")
            self._quote(proposal.text)
            if proposal.left_out:
                self._warn(f"Left out: {proposal.left_out}. [e]dit to say where it is kept.")
            tags = [f'"{tag}"' if "," in tag else tag for tag in proposal.tags]
            self._quote(", ".join(tags) or "none", "  Tags   ")
            place = f"{_PLACES[proposal.scope]}: {_where(proposal, proposals)}"
            self._quote(place, "  Where  ")
            if proposal.moves:
                self._warn(proposal.moves)
            if proposal.elsewhere:
                self._warn(f"Memory {proposal.elsewhere} of your other notebook says the same.")
            if proposal.action == "consolidated":
                self._say(f"  Memory {proposal.ref} currently says:")
                self._quote(proposal.collisions[0].text)
            for old in proposal.collisions if proposal.collides else ():
                lock = ", protected" if old.protected else ""
                close = SAME_MATTER if old.same_matter else f"{old.score:.0f}%"
                self._warn(f"Similar to memory {old.ref} ({close}{lock}):")
                self._quote(_changes(old.text, proposal.text))
        if external:
            self._say("This conversation contains text from outside, so Co asks every time.",
                      "yellow")  # fmt: skip
            self._quote(", ".join(external[:3]), "  From   ")

    def _quote(self, text: str, label: str = "") -> None:
        """Text that is not Co's own: every row it takes begins with the bar, or under a label."""
        first, then, keep = (label, " " * len(label), "") if label else (BAR, BAR, "\n")
        for row in rows(text, self.console.width, first, then, keep=keep):
            self.console.print(Text(row), soft_wrap=True)

    def _warn(self, text: str) -> None:
        self._say(f"  {text}", "yellow")

    def _say(self, text: str, style: str = "") -> None:
        for row in hanging(text, self.console.width, keep=""):
            self.console.print(Text(row, style=style), soft_wrap=True)


def _where(proposal: Proposal, proposals: list[Proposal]) -> str:
    """The file, as seen from here; of several the folder, for numbers come later."""
    new = [other for other in proposals if other.action != "forgotten"]
    path = os.path.dirname(proposal.where) if len(new) > 1 else proposal.where
    seen = os.path.relpath(path)
    return short(path) if seen.startswith("..") else seen


def _changes(old: str, new: str) -> str:
    """Two texts as a diff, without its heading."""
    _, _, *lines = difference(f"{old}\n".encode(), f"{new}\n".encode(), "memory").split("\n")
    return "\n".join(line for line in lines if not line.startswith("@@"))


def _parsed(said: str, count: int) -> tuple[str, int | None]:
    """A letter and, where several proposals are shown, which one: `e2`, `2e`, `e 2`."""
    found = re.fullmatch(r"(\d*)\s*([a-z]+)\s*(\d*)", said)
    number = (found[1] or found[3]) if found else ""
    if not found or (number and not 1 <= int(number) <= count):
        return "", None
    return _WORDS.get(found[2], found[2]), int(number) - 1 if number else None


def _agreed(proposals: list[Proposal], chosen: dict[int, Verdict]) -> list[Decision]:
    return [
        Decision(one, chosen.get(number, "keep" if one.collides else "yes"))
        for number, one in enumerate(proposals)
    ]


def _choices(proposal: Proposal) -> dict[str, str]:
    """What can be said to one proposal: its letters and what they mean."""
    choices = {"y": "[y]es", "n": "[n]o"}
    if proposal.collides:
        old = proposal.collisions[0]
        update = {} if old.protected else {"u": f"[u]pdate memory {old.ref}"}
        choices = {**update, "k": "[k]eep both", "n": "[n]o"}
    if proposal.tool != FORGET:
        everywhere = {"g": "[g] everywhere"} if proposal.scope == "project" else {}
        choices |= {**everywhere, "e": "[e]dit"}
    return choices


def _offered(proposals: list[Proposal], external: tuple[str, ...]) -> dict[str, str]:
    """What the question offers; the first letters speak of all that is on the screen."""
    always = {} if external else {"a": "[a]lways this session"}
    if len(proposals) > 1:
        collide = any(one.collides for one in proposals)
        both, more = (", keeping similar ones", ", u2, k2") if collide else ("", "")
        every = {"y": f"[y]es to all{both}", "n": "[n]o"}
        return {**every, **always, "": f"or one: y2, n2, e2{more}"}
    choices = _choices(proposals[0])
    if "y" not in choices:
        return choices
    return {"y": choices.pop("y"), "n": choices.pop("n"), **always, **choices}
