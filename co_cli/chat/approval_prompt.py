"""The approval screen: what a model wants to write, exactly, and what the person says to it.

Text from a model or a note stands behind a bar, so that none of it can pass for Co's own words.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace

from prompt_toolkit import PromptSession
from prompt_toolkit.input.typeahead import get_typeahead
from prompt_toolkit.output.vt100 import Vt100_Output
from prompt_toolkit.utils import is_dumb_terminal
from rich.console import Console
from rich.text import Text

from co_cli.agent.approval import DECLINED, FORGET, STOPPED, Answer, Review, Reviewed, Wish, planned
from co_cli.chat import typeahead
from co_cli.deps import CoDeps
from co_cli.knowledge.safety.escape import BAR, difference, hanging, rows
from co_cli.paths import short
from co_cli.results import SAME_MATTER, plural

Read = Callable[[str, str], Awaitable[str]]
_PLACES = {"project": "this project", "user": "your own notebook, everywhere"}
_TITLES = {
    "forgotten": "Forget this memory?",
    "consolidated": "Co knows this already. Update its wording?",
}


class Reader:
    """Asks for a line on the terminal, with a text to begin with; nothing of it is kept."""

    def __init__(self) -> None:
        self.session: PromptSession[str] | None = None

    async def __call__(self, question: str, default: str = "") -> str:
        """What is typed from the moment the question is drawn; what was typed before waits."""
        self.session = self.session or _session()
        set_aside(self.session)
        output = self.session.output
        if isinstance(output, _Late):
            output.drawn = False
        # The terminal sends ^C as a key; who stops the turn by a signal still can.
        return await self.session.prompt_async(question, default=default, handle_sigint=False)


class _Late(Vt100_Output):
    """A screen that sets aside what was typed up to the moment it first shows something."""

    drawn = True

    def flush(self) -> None:
        """Draw."""
        if not self.drawn:
            typeahead.set_aside()
        super().flush()


def _session() -> PromptSession[str]:
    if is_dumb_terminal():
        return PromptSession()
    output = _Late.from_pty(sys.stdout, os.environ.get("TERM"))
    output.enable_cpr = False  # or the terminal's report would be taken for early keys
    session: PromptSession[str] = PromptSession(output=output, prompt_continuation=BAR)

    def drawn(_app: object) -> None:
        assert isinstance(output, _Late)
        output.drawn = True

    session.app.after_render += drawn
    return session


def set_aside(session: PromptSession[str]) -> None:
    """Keep what was typed so far from what is asked now; the next message begins with it."""
    typeahead.set_aside("".join(key.data for key in get_typeahead(session.input)))


class Screen:
    """Shows a review and asks; ^C and the end of input refuse."""

    def __init__(self, console: Console, read: Read) -> None:
        self.console = console
        self.read = read

    async def __call__(self, review: Review) -> Reviewed:
        """The person's answers, all wishes on one screen."""
        try:
            return await self._review(review)
        except (KeyboardInterrupt, EOFError):
            self._say("Nothing was changed.")
            return Reviewed([Answer(wish, "no", STOPPED) for wish in review.wishes])

    async def _review(self, review: Review) -> Reviewed:
        wishes = list(review.wishes)
        chosen: dict[int, str] = {}
        while True:
            self._show(wishes, chosen, review.external)
            said = (await self.read(_question(wishes, review.external), "")).strip().lower()
            letter, number = _parsed(said, len(wishes))
            offered = letter == "y" or (letter == "a" and not review.external)
            if offered and number is None and (len(wishes) > 1 or not wishes[0].collides):
                answers = _agreed(wishes, chosen)
                tools = {answer.wish.tool for answer in answers if answer.agreed}
                return Reviewed(answers, frozenset(tools if letter == "a" else ()))
            if letter == "n" and number is None:
                return Reviewed([Answer(wish, "no", DECLINED) for wish in wishes])
            picked = 0 if number is None and len(wishes) == 1 else number
            if picked is None or not self._fits(letter, wishes[picked]):
                self._say(_help(wishes, review.external))
            elif letter in ("e", "g"):
                everywhere = replace(wishes[picked], scope="user")
                wishes[picked] = (
                    await self._edit(review.deps, wishes[picked])
                    if letter == "e"
                    else await asyncio.to_thread(planned, review.deps, everywhere)
                )
                chosen.pop(picked, None)
            else:
                chosen[picked] = {"u": "update", "k": "keep", "n": "no", "y": "yes"}[letter]
                if len(wishes) == 1:
                    return Reviewed(_agreed(wishes, chosen))

    def _fits(self, letter: str, wish: Wish) -> bool:
        if letter in ("e", "g"):
            return wish.tool != FORGET and (letter == "e" or wish.scope == "project")
        if letter == "u":
            return wish.collides and not wish.twins[0].protected
        return letter in ("n", "k" if wish.collides else "y")

    async def _edit(self, deps: CoDeps, wish: Wish) -> Wish:
        """The wish as the person wants it, with what it would do then; asked until it can be."""
        edited = wish
        while True:
            lines = [await self.read("  Text:  ", line) for line in edited.text.split("\n")]
            tags = await self.read("  Tags:  ", ", ".join(edited.tags))
            scope = await self.read(f"  Scope, project or user ({wish.scope}):  ", "")
            places = [
                place for place in _PLACES if scope.strip() and place.startswith(scope.strip())
            ]
            edited = replace(
                edited, text="\n".join(lines), tags=tuple(re.split(r"\s*,\s*", tags.strip())),
                scope=places[0] if places else wish.scope,
            )  # fmt: skip
            changed = await asyncio.to_thread(planned, deps, edited)
            if not changed.refused and not changed.left_out:
                return changed
            self._say(f"That cannot be saved: {changed.refused or changed.left_out}")

    def _show(self, wishes: list[Wish], chosen: dict[int, str], external: tuple[str, ...]) -> None:
        self.console.print()
        for number, wish in enumerate(wishes, 1):
            mark = f"{number}  " if len(wishes) > 1 else ""
            title = _TITLES.get(wish.action, "Remember this?")
            if wish.again:
                title += "  (the notebook changed meanwhile, so Co asks again)"
            state = {"no": "  [no]", "update": "  [update]", "keep": "  [keep both]"}
            self._say(f"{mark}{title}{state.get(chosen.get(number - 1, ''), '')}", "bold")
            self._quote(wish.text)
            if wish.left_out:
                self._say(f"  Left out: {wish.left_out}. [e]dit to say where it is kept.", "yellow")
            tags = [f'"{tag}"' if "," in tag else tag for tag in wish.tags]
            self._quote(", ".join(tags) or "none", "  Tags   ", "         ")
            place = f"{_PLACES[wish.scope]}: {_where(wish, wishes)}"
            self._quote(place, "  Where  ", "         ")
            if wish.moves:
                self._say(f"  {wish.moves}", "yellow")
            if wish.elsewhere:
                self._say(
                    f"  Memory {wish.elsewhere} of your other notebook says the same.", "yellow"
                )
            if wish.action == "consolidated":
                self._say(f"  Memory {wish.ref} says now:")
                self._quote(wish.twins[0].text)
            for twin in wish.twins if wish.collides else ():
                lock = ", protected" if twin.protected else ""
                close = SAME_MATTER if twin.same_matter else f"{twin.score:.0f}%"
                self._say(f"  Similar to memory {twin.ref} ({close}{lock}):", "yellow")
                self._quote(_changes(twin.text, wish.text))
        if external:
            self._say("This conversation holds text from outside, so each write is asked about.",
                      "yellow")  # fmt: skip
            self._quote(", ".join(external[:3]), "  From   ", "         ")

    def _quote(self, text: str, first: str = BAR, then: str = BAR) -> None:
        """Text that is not Co's own: every row of the screen it takes begins like this."""
        keep = "\n" if first == BAR else ""
        for row in rows(text, self.console.width, first, then, keep=keep):
            self.console.print(Text(row), soft_wrap=True)

    def _say(self, text: str, style: str = "") -> None:
        for row in hanging(text, self.console.width, keep=""):
            self.console.print(Text(row, style=style), soft_wrap=True)


def _where(wish: Wish, wishes: list[Wish]) -> str:
    """The file, as seen from here; of several the folder, for numbers come later."""
    new = [other for other in wishes if other.action != "forgotten"]
    path = os.path.dirname(wish.where) if len(new) > 1 else wish.where
    seen = os.path.relpath(path)
    return short(path) if seen.startswith("..") else seen


def _changes(old: str, new: str) -> str:
    """Two texts as a diff, without its heading."""
    _, _, *lines = difference(f"{old}\n".encode(), f"{new}\n".encode(), "memory").split("\n")
    return "\n".join(line for line in lines if not line.startswith("@@"))


def _parsed(said: str, count: int) -> tuple[str, int | None]:
    """A letter and, where several wishes are shown, which one: `e2`, `2e`, `e 2`."""
    found = re.fullmatch(r"(\d*)\s*([a-z]*)\s*(\d*)", said)
    if not found or not found[2]:
        return "", None
    number = found[1] or found[3]
    letter = {"yes": "y", "no": "n", "always": "a", "all": "a", "edit": "e", "update": "u",
              "keep": "k"}.get(found[2], found[2])  # fmt: skip
    if not number:
        return letter, None
    return (letter, int(number) - 1) if 1 <= int(number) <= count else ("", None)


def _agreed(wishes: list[Wish], chosen: dict[int, str]) -> list[Answer]:
    verdicts = [
        chosen.get(number, "keep" if wish.collides else "yes") for number, wish in enumerate(wishes)
    ]
    return [Answer(wish, verdict) for wish, verdict in zip(wishes, verdicts, strict=True)]


def _letters(wishes: list[Wish], external: tuple[str, ...]) -> list[str]:
    always = [] if external else ["[a]lways this session"]
    if len(wishes) > 1:
        beside = ", similar ones kept beside" if any(wish.collides for wish in wishes) else ""
        return [
            f"[y]es to all{beside}",
            "[n]o",
            *always,
            "or one: y2, n2, e2" + _collision_letters(wishes),
        ]
    [wish] = wishes
    edit = [] if wish.tool == FORGET else ["[e]dit"]
    if wish.tool != FORGET and wish.scope == "project":
        edit = ["[g] everywhere", *edit]
    if wish.collides:
        old = wish.twins[0]
        update = [] if old.protected else [f"[u]pdate memory {old.ref}"]
        return [*update, "[k]eep both", "[n]o", *edit]
    return ["[y]es", "[n]o", *always, *edit]


def _collision_letters(wishes: list[Wish]) -> str:
    return ", u2, k2" if any(wish.collides for wish in wishes) else ""


def _question(wishes: list[Wish], external: tuple[str, ...]) -> str:
    return f"  {'  '.join(_letters(wishes, external))} > "


def _help(wishes: list[Wish], external: tuple[str, ...]) -> str:
    many = f" ({plural(len(wishes), 'memory')})" if len(wishes) > 1 else ""
    return f"  Please answer with one of: {', '.join(_letters(wishes, external))}{many}; ^C is no."
