"""What an agent's tools are given: rules, and where to look; places are resolved at each use."""

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, nullcontext
from dataclasses import InitVar, dataclass, field
from threading import RLock
from typing import TYPE_CHECKING, Any

from co_cli import paths, trust
from co_cli.config import Settings
from co_cli.errors import Ambiguous, CoError, NotFound
from co_cli.knowledge import How, Note, Notebook, Shelf
from co_cli.knowledge.format.note import scoped
from co_cli.knowledge.pages import kind_of, pick
from co_cli.knowledge.policy import Scope
from co_cli.knowledge.search.hits import Filters
from co_cli.languages import named
from co_cli.workspace import Workspace

if TYPE_CHECKING:
    from co_cli.articles.addresses import Allowed
    from co_cli.articles.ingest import Found


@dataclass
class CoDeps:
    """Without a value or a folder, the settings and the working folder of the moment decide.

    A session has a `workspace`, whose settings hold while it lasts, and is `gated`: the notes of a
    folder that nobody here trusts are kept from the model. `external` names what came into the
    conversation from outside, `notes` the memories whose words did; both grow while it lasts.
    `pages` are what was fetched in it. Where others may hear, no `sensitive` notes are told;
    `actor` and `saved_as`, fields of a header, tell who saves here. `allow` lets a program's own
    pages be fetched; no setting, person or model can set it.
    """

    memory_max_count: int = None  # type: ignore[assignment]
    memory_dedup_window_days: int = None  # type: ignore[assignment]
    memory_dedup_threshold: int = None  # type: ignore[assignment]
    memory_decay_strategy: str = None  # type: ignore[assignment]
    memory_decay_percentage: float = None  # type: ignore[assignment]
    memory_decay_order: str = None  # type: ignore[assignment]
    memory_category_limits: str = None  # type: ignore[assignment]
    memory_dedup_action: str = None  # type: ignore[assignment]
    project: paths.AnyPath | None = None
    how: How | None = None
    workspace: Workspace | None = None
    gated: bool = False
    answer_seconds: float = None  # type: ignore[assignment]
    external: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    pages: "dict[str, Found]" = field(default_factory=dict)
    allow: "Allowed | None" = None
    sensitive: bool = True
    actor: str = "agent"
    saved_as: Mapping[str, str] = field(default_factory=dict)
    _lock: Any = field(default_factory=RLock, repr=False, compare=False)
    settings: InitVar[Any] = None  # what the documents pass besides, to be ignored
    agent: InitVar[Any] = None

    if not TYPE_CHECKING:  # who would take any name for a field

        def __getattribute__(self, name: str) -> Any:
            """A field; a setting that nobody gave is what the settings say at the moment."""
            said = super().__getattribute__(name)
            asked = said is None and name in Settings._fields
            return getattr(self.here().settings, name) if asked else said

    def here(self) -> Workspace:
        """The session's workspace, or what is here now."""
        return self.workspace or Workspace(self.project)

    def folder(self) -> str:
        """The project's folder now."""
        project = self.workspace.project if self.workspace else self.project
        return str(project or paths.project_folder())

    def _said(self) -> dict[str, Any]:
        given = vars(self)
        return {name: given[name] for name in Settings._fields if given.get(name) is not None}

    def shelf(self) -> Shelf:
        """The notebooks visible now, opened for the caller alone."""
        return self.here().open_shelf(self._said(), self.how)

    @contextmanager
    def notebooks(self) -> Iterator[Shelf]:
        """The notebooks for one piece of work, which has them alone; a session opens them once."""
        kept = self.workspace is not None and not self._said() and self.how is None
        let_go = nullcontext if kept and self.here().watch else closing
        with self._lock, let_go(self.here().shelf if kept else self.shelf()) as shelf:
            yield shelf  # and let go of: the next piece may run in another thread

    def usable(self) -> bool:
        """Whether a model may be shown this project's notes, as far as they are `tellable`."""
        return not (self.gated and trust.is_foreign(self.folder()))

    def tellable(self, book: Notebook, notes: list[Note]) -> list[Note]:
        """Those of these notes that a model may be shown."""
        heard = Filters(sensitive=self.sensitive).fit
        notes = [note for note in notes if book.tells(note) and heard(note)]
        if not self.gated or book.scope == "user":
            return notes
        return book.own(notes) if self.usable() else []

    def find(self, shelf: Shelf, ref: str) -> tuple[Notebook, Note]:
        """The memory that a model means; of the others not even the name is told."""
        try:
            return self._find(shelf, ref)
        except NotFound:
            if self.sensitive:
                raise
        # The same words for what is hidden and for what does not exist.
        raise NotFound(f"there is no {kind_of(ref.strip())} {ref.strip()[:60]} that you may see")

    def _find(self, shelf: Shelf, ref: str) -> tuple[Notebook, Note]:
        book, name = shelf.place(ref)
        self.scope(book.scope)  # before anything is looked up: even a name may come from outside
        notes = [book.find(name)] if kind_of(name) == "article" else book.notes()
        own = self.tellable(book, notes)
        try:
            plain = own == notes and kind_of(name) != "draft" and not book.hides_sensitive
            note = book.find(name) if plain else pick(name, own, book.prefix)
        except Ambiguous as error:  # it tells their names
            self.entered(*(one.mark for one in error.choices if isinstance(one, Note)))
            raise
        if note is None or not book.tells(note):
            called = f"{kind_of(name)} {ref.strip()[:60]}"
            raise NotFound(f"there is no {called} that you wrote or approved")
        return book, note

    def scope(self, wanted: str | None = None) -> Scope:
        """Where a memory goes when nobody says otherwise; CoError for where it may not."""
        if wanted not in (None, "project", "user") and not self.of_language(wanted):
            raise CoError(f"there is no scope {wanted[:40]!r}", hint="Use project or user.")
        usable = self.usable()
        if wanted == "project" and not usable:
            raise CoError("this folder is not trusted, so nothing is read or saved in it",
                          hint="`co trust` shows what is in it and asks.")  # fmt: skip
        return "project" if usable and wanted in (None, "project") else "user"

    def of_language(self, scope: str) -> dict[str, str | None]:
        """The header fields of a scope such as `language:python`; of any other none."""
        is_one, _, name = scope.partition(":")
        return scoped(named(name, frozenset())) if is_one == "language" and name else {}

    def came_from(self, *origins: str) -> None:
        """Note what entered the conversation from outside."""
        self.external += [one for one in dict.fromkeys(origins) if one not in self.external]

    def entered(self, *marks: str) -> None:
        """Note which memories' words entered the conversation."""
        self.notes += [one for one in dict.fromkeys(marks) if one not in self.notes]
