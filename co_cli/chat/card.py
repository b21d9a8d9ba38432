"""What is on an approval card, and what can be answered to it. Draws nothing and reads nothing."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from co_cli.agent.approval import KEEP, SAVE, Decision, Proposal, Review
from co_cli.knowledge.safety.escape import escape
from co_cli.tools.saving import Collision, Verdict

PLACES = {"project": "this project", "user": "your own notebook, everywhere"}
TOGGLE = "#"  # what a number alone says
VERDICTS: dict[str, Verdict] = {
    "y": "yes", "u": "update", "r": "replace", "k": "keep", "l": "later", "n": "no",
}  # fmt: skip
NAMED = re.compile(r"(u|r)(?:pdate|eplace)?\s?(g?\d{1,9})")  # which note the text updates, replaces
_MOVES = {"project": "in this project only", "user": "everywhere"}
_STATES: dict[Verdict, str] = {
    "yes": "", "no": "[no]", "update": "[update {}]", "replace": "[replace {}]",
    "keep": "[keep both]", "edit": "[edit {} instead]", "later": "[later]",
}  # fmt: skip


@dataclass
class Card:
    """What is on the screen: proposals as asked for and as they are now, and what was said."""

    asked: list[Proposal]
    proposals: list[Proposal]
    review: Review
    chosen: dict[int, Verdict] = field(default_factory=dict)

    def decisions(self) -> list[Decision]:
        """What was decided, or goes without saying."""
        return [Decision(one, self.verdict(at)) for at, one in enumerate(self.proposals)]

    def verdict(self, at: int) -> Verdict:
        """What was said to a proposal, or goes without saying."""
        return self.chosen.get(at, self.proposals[at].usual)

    def choose(self, at: int, letter: str) -> None:
        """Take down what a letter says to a proposal; a number alone turns yes to no, and back."""
        if letter == TOGGLE:
            letter = "y" if self.chosen.get(at) == "no" else "n"
        usual = self.proposals[at].usual
        self.chosen[at] = usual if letter == "y" else VERDICTS[letter]

    def state(self, at: int) -> str:
        """What becomes of one of several proposals, where that is not a plain yes."""
        one, verdict = self.proposals[at], self.verdict(at)
        met = replaceable(one) if verdict == "replace" else [old.ref for old in one.outdated]
        return _STATES[verdict].format(either(one.chosen or met[:1] or [""], "and"))

    def meant(self, letter: str, number: int | None) -> list[int]:
        """The proposals that a letter speaks of; none where it makes no sense."""
        if len(self.proposals) > 1 and number is None:
            there = enumerate(self.proposals) if letter == "g" else ()
            return [at for at, one in there if one.tool == SAVE and self.chosen.get(at) != "no"]
        at = number or 0
        if letter == TOGGLE:
            return [at] if len(self.proposals) > 1 else []
        return [at] if letter in choices(self.proposals[at]) else []

    def letters(self) -> dict[str, str]:
        """What the question offers; the first letters speak of all that is on the screen."""
        agreed = [one.proposal for one in self.decisions() if one.agreed]
        asks = self.review.external or self.review.typed
        asks = asks or any(one.tool != SAVE or one.offered for one in agreed)
        asks = asks or (len(agreed) == 1 and agreed[0].collides)
        always = {} if asks or not agreed else {"a": "[a]lways this session"}
        if len(self.proposals) == 1:
            single = choices(self.proposals[0])
            if self.review.keys:  # of a draft that waits already
                single = {key: text for key, text in single.items() if key != "l"}
                single["n"] = "[x] reject"
            return {"y": single.pop("y"), "n": single.pop("n"), **always, **single,
                    **self.review.keys}  # fmt: skip
        rest = "the others" if 0 < len(agreed) < len(self.proposals) else "all"
        every = {"y": f"[y]es to {rest}", "n": "[n]one"}
        saves = [self.proposals[at] for at in self.meant("g", None)]
        if saves:
            later = {"l": "[l]ater"} if len(saves) == len(self.proposals) else {}
            every |= later | always | {"g": f"[g] all {scope_text(next_scope(saves), _MOVES)}"}
        else:
            every |= always
        return every | {"": "one alone: 2 for yes or no", " ": self._alone(bool(saves))}

    def _alone(self, saves: bool) -> str:
        """What else can be said to one of several."""
        letters = ["e", "g", "l"] if saves else []
        letters += ["u", "k"] if any(one.outdated for one in self.proposals) else []
        letters += ["r"] if any(replaceable(one) for one in self.proposals) else []
        return ", ".join(f"{letter}2" for letter in letters)


def choices(proposal: Proposal) -> dict[str, str]:
    """What can be said to one proposal: its letters and what they mean, if that has to be told."""
    found = {"y": "[y]es", "n": "[n]o"}
    if proposal.outdated:
        refs = either([old.ref for old in proposal.outdated], "and")
        found |= {"y": f"[y]es, [u]pdate {refs}", "u": ""}
    elif proposal.restated:
        found["y"] = "[y]es, save again"
    if refs := either(replaceable(proposal), "or"):
        found["r"] = f"[r]eplace {refs}"
    if proposal.collides:
        found["k"] = "[k]eep both" if proposal.outdated else ""
    if proposal.tool == SAVE:
        found |= {"e": "[e]dit", "l": "[l]ater"}
    if proposal.tool in (SAVE, KEEP):
        found["g"] = f"[g] {scope_text(next_scope([proposal]), _MOVES)}"
    return found


def replaceable(proposal: Proposal) -> list[str]:
    """The memories that may give way."""
    named = (*proposal.outdated, *proposal.restated)
    return [old.ref for old in named if old.is_replaceable]


def editable(proposal: Proposal) -> list[Collision]:
    """The memories that can be edited in the place of saving the text."""
    return [old for old in proposal.outdated if not old.note.protected]


def either(refs: Sequence[str], word: str) -> str:
    """References in a sentence."""
    return escape(f" {word} ".join(refs), keep="")


def next_scope(proposals: Sequence[Proposal]) -> str:
    """The scope that `g` gives to all of these: of all that they may have, the next one."""
    places, scopes = proposals[0].places, {one.scope for one in proposals}
    now = next((at for at, place in enumerate(places) if place in scopes), 0)
    return places[(now + 1) % len(places)]


def scope_text(scope: str, names: dict[str, str]) -> str:
    """A scope in words."""
    return names.get(scope) or f"your notes for {scope.removeprefix('language:')}"


def question(keys: dict[str, str], columns: int) -> str:
    """What can be answered, in rows that fit the screen."""
    rows = [""]
    for key in filter(None, keys.values()):
        if rows[-1] and len(f"{rows[-1]}  {key} > ") >= columns:
            rows.append("")
        rows[-1] += f"  {key}"
    return "\n".join(rows) + " > "
