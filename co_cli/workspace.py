"""What is here: the notebooks, the settings in force, and how far the folder is trusted.

Every surface builds them here: the command line, the chat, and an agent's tools.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from threading import get_native_id
from typing import TYPE_CHECKING, Any

from co_cli import config, languages, paths, trust
from co_cli.errors import NotFound, SettingsError
from co_cli.knowledge import Embedder, How, Note, Notebook, Policy, Shelf
from co_cli.trust.foreign import ProjectOrigins

if TYPE_CHECKING:
    from co_cli.knowledge.folder import FolderBook


class Workspace:
    """A project's folder as it is now.

    `settings` hold for the project's notebook, `own` for the person's: no project governs that.
    With `lenient`, settings that cannot be used are not obeyed, and `trouble` says why. With
    `watch`, it lives long: the kernel tells what changes, and one thread keeps the notebooks open.
    """

    def __init__(
        self, project: paths.AnyPath | None = None, *, lenient: bool = False, watch: bool = False
    ) -> None:
        self.watch = watch
        self.project = str(project or paths.project_folder())
        self.trust = trust.status(self.project)
        self._elsewhere: dict[str, Notebook] = {}
        self.trouble: SettingsError | None = None
        try:
            self.own = self.settings = config.load_settings()
            if paths.SETTINGS in self.trust.usable:
                file = paths.project_file(self.trust.project, paths.SETTINGS)
                self.settings = config.load_settings(project_file=file)
        except SettingsError as error:
            if not lenient:
                raise
            self.own = self.settings = config.Settings()
            self.trouble = error

    @cached_property
    def shelf(self) -> Shelf:
        """The notebooks, opened once."""
        return self.open_shelf()

    def open_shelf(self, said: Mapping[str, Any] | None = None, how: How | None = None) -> Shelf:
        """Notebooks of the caller's own; what is `said` counts before the project's settings."""
        settings = self.settings._replace(**said) if said else self.settings
        project = Notebook(
            paths.knowledge_folder(self.project), policy=Policy.of(settings),
            how=how or _how(settings, self.watch),
            origins=ProjectOrigins(self.project, trust.is_foreign),
        )  # fmt: skip
        user = Notebook(
            paths.user_knowledge(), scope="user", policy=Policy.of(self.own),
            how=how or _how(self.own, self.watch),
        )  # fmt: skip
        return Shelf(
            project, user, self._folders(how or _how(self.own, self.watch)), self.languages
        )

    @cached_property
    def languages(self) -> frozenset[str]:
        """The languages that the project uses."""
        return languages.used_in(self.project)

    def _folders(self, how: How) -> Sequence[FolderBook]:
        """The folders that the person has searched in place from here."""
        if not os.path.lexists(paths.folders_file()):
            return ()
        from co_cli import folders  # few have any
        from co_cli.knowledge.folder import FolderBook

        return [FolderBook(one.name, one.path, how=how) for one in folders.seen_from(self.project)]

    def book(self, in_user: bool) -> Notebook:
        """The person's own notebook, or the project's."""
        return self.shelf.user if in_user else self.shelf.project

    def elsewhere(self, root: str) -> Notebook:
        """The notebook of another project, for a purge alone; NotFound when it is not there.

        It is opened once, so that whoever locks it is not kept waiting by itself.
        """
        if root not in self._elsewhere:
            project = os.path.dirname(os.path.dirname(root))
            if not os.path.isdir(root) or paths.knowledge_folder(project) != root:
                raise NotFound("is not there")
            origins = ProjectOrigins(project, trust.is_foreign)
            self._elsewhere[root] = Notebook(root, policy=Policy.of(self.own), origins=origins)
        return self._elsewhere[root]

    def known_notebooks(self) -> list[str]:
        """Where the notebooks of all projects are that this machine knows of."""
        return [os.path.join(one, os.path.dirname(paths.CONTEXT)) for one in trust.known_projects()]

    def old_files(self) -> list[str]:
        """The files of the JSON layout that are here, until something was imported."""
        there = [os.path.join(self.project, paths.PROJECT_MARK, name) for name in paths.OLD_FILES]
        there = [path for path in there if os.path.lexists(path)]
        entries = self.shelf.project.store.entries() if there else ()
        return [] if any(entry.op == "import" for entry in entries) else there

    def new_notes(self) -> list[Note]:
        """What git brought into a folder that is known, and that nobody here agreed to yet."""
        return ProjectOrigins(self.project).new() if self.trust.known else []

    def untrusted(self, notes: Iterable[Note]) -> set[str]:
        """The paths of those of the project's notes that no model is shown."""
        found = list(notes)
        own = [] if self.trust.foreign else self.shelf.project.own(found)
        return {note.path for note in found} - {note.path for note in own}


def read_closely(shelf: Shelf, progress: Callable[[int, int], None] | None = None) -> None:
    """Do what is pending for search, in a thread of its own and at leisure.

    Notes that were only skimmed are read for their meaning, and compared with their neighbours.

    `progress` is called now and then, and may take its time.
    """
    os.setpriority(os.PRIO_PROCESS, get_native_id(), 10)
    for book in shelf:
        with Notebook(book.root, scope=book.scope, how=book.how._replace(watch=False)) as own:
            own.search.read_closely(progress)
            own.search.compare_notes(progress)


def _how(settings: config.Settings, watch: bool) -> How:
    """How these settings want to search; another embedder is loaded by the first search."""

    def chosen() -> Embedder:
        from co_cli.providers.embedders import choose

        return choose(settings.embedder)

    own = settings.embedder in config.OWN_EMBEDDER
    return How(
        settings.search_backend, None if own else chosen, watch, settings.search_reader == "on"
    )
