"""What an agent's tools are given: rules, and where to look; places are resolved at each use."""

from __future__ import annotations

from dataclasses import dataclass, field

from co_cli import trust
from co_cli.errors import CoError
from co_cli.knowledge import Notebook, Policy, Shelf, folders
from co_cli.knowledge.folders import AnyPath
from co_cli.knowledge.hits import How

_USUAL = How()
_OWN = Policy()


@dataclass
class CoDeps:
    """Everything has a default; without a folder, the working folder of the moment decides.

    A session is `gated`: the notes of a folder that nobody here trusts are kept from the model.
    `external` names what came into the conversation from outside, and grows while it lasts.
    """

    memory_max_count: int = 200
    memory_dedup_window_days: int = 7
    memory_dedup_threshold: int = 85
    memory_decay_strategy: str = "summarize"
    memory_decay_percentage: float = 0.2
    project: AnyPath | None = None
    how: How = _USUAL
    own: Policy = _OWN
    gated: bool = False
    external: list[str] = field(default_factory=list)

    def folder(self) -> str:
        """The project's folder now."""
        return str(self.project or folders.project_folder())

    def shelf(self) -> Shelf[Notebook]:
        """The notebooks visible now."""
        here = folders.knowledge_folder(self.folder())
        return Shelf(
            Notebook(here, policy=Policy.of(self), how=self.how),
            Notebook(folders.user_knowledge(), scope="user", policy=self.own, how=self.how),
        )

    def usable(self) -> bool:
        """Whether a model may be shown this project's notes."""
        return not (self.gated and trust.status(self.folder()).foreign)

    def scope(self, wanted: str | None = None) -> str:
        """Where a memory goes when nobody says otherwise; CoError for where it may not."""
        usable = self.usable()
        if wanted == "project" and not usable:
            raise CoError("this folder is not trusted, so nothing is saved in it",
                          hint="`co trust` shows what is in it and asks.")  # fmt: skip
        if wanted not in (None, "project", "user"):
            raise CoError(f"there is no scope {wanted[:40]!r}", hint="Use project or user.")
        return wanted or ("project" if usable else "user")

    def book(self, scope: str) -> Notebook:
        """The notebook of a scope."""
        shelf = self.shelf()
        return shelf.user if scope == "user" else shelf.project

    def came_from(self, *origins: str) -> None:
        """Note what entered the conversation from outside."""
        self.external += [one for one in dict.fromkeys(origins) if one not in self.external]
