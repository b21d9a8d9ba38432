"""What an agent's tools are given: rules, and where to look; places are resolved at each use."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from co_cli.knowledge import Notebook, Policy, Shelf, folders
from co_cli.knowledge.hits import How

_USUAL = How()


@dataclass
class CoDeps:
    """Everything has a default; without a folder, the working folder of the moment decides."""

    memory_max_count: int = 200
    memory_dedup_window_days: int = 7
    memory_dedup_threshold: int = 85
    memory_decay_strategy: str = "summarize"
    memory_decay_percentage: float = 0.2
    project: Path | None = None
    how: How = _USUAL

    def shelf(self) -> Shelf[Notebook]:
        """The notebooks visible now."""
        project = self.project or folders.project_folder()
        return Shelf(
            Notebook(folders.knowledge_folder(project), policy=Policy.of(self), how=self.how),
            Notebook(folders.user_knowledge(), scope="user", how=self.how),
        )
