"""The settings in force, as rules for notebooks: the one place for every surface."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from co_cli import config, paths
from co_cli.knowledge.policy import Policy
from co_cli.knowledge.search.hits import How
from co_cli.trust import TrustStatus

if TYPE_CHECKING:
    from co_cli.knowledge.meaning.encoders import Embedder


class Rules(NamedTuple):
    """What a notebook lives by and how it is searched, and all that was set."""

    settings: config.Settings

    @property
    def policy(self) -> Policy:
        """When notes are similar, and when they decay."""
        return Policy.of(self.settings)

    @property
    def how(self) -> How:
        """How these settings want to search; another embedder is loaded by the first search."""

        def chosen() -> Embedder:
            from co_cli.providers.embedders import choose

            return choose(self.settings.embedder)

        own = self.settings.embedder in config.OWN_EMBEDDER
        return How(
            self.settings.search_backend, self.settings.search_fusion, None if own else chosen
        )


def in_force(status: TrustStatus) -> tuple[Rules, Rules]:
    """The rules of a project's notebook, and of the person's own, which no project governs."""
    own = Rules(config.load_settings(use_project=False))
    if paths.SETTINGS not in status.usable:
        return own, own
    file = paths.project_file(status.project, paths.SETTINGS)
    return Rules(config.load_settings(project_file=file)), own
