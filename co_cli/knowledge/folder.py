"""A folder of markdown as a notebook that is only read: its files are articles, as they are."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from co_cli.errors import FormatError, NotFound
from co_cli.knowledge.format.frontmatter import parse_frontmatter
from co_cli.knowledge.format.note import MAX_TITLE, Note, decode, moment_of, moment_told, title_of
from co_cli.knowledge.notebook import Notebook
from co_cli.knowledge.pages import ARTICLES, Look, Pages, Problem, Ref
from co_cli.knowledge.safety.escape import escape
from co_cli.knowledge.search.hits import Filters, Hit, How, Recall
from co_cli.knowledge.store import disk
from co_cli.knowledge.store.outside import OutsideStore

if TYPE_CHECKING:
    from co_cli.knowledge.search.recall import Search

_EVERY = Filters()
_NO = ("false", "no", "off", "0", "none", "null", "~", "")


class FolderArticle(Note):
    """A file of a folder; its name is its path below that folder."""

    def __init__(self, root: str, path: str, raw: bytes, meta: dict[str, Any], body: str) -> None:
        self._name = os.path.relpath(path, root)
        super().__init__(path, raw, meta, body)

    @property
    def name(self) -> str:
        """Its path below the folder."""
        return self._name

    @property
    def kind(self) -> str:
        """Always an article, wherever it lies."""
        return "article"


class FolderBook(Notebook):
    """A folder that a person added under a name; every verb that would write refuses."""

    def __init__(self, name: str, root: str, *, how: How) -> None:
        self.folder = store = OutsideStore(root)
        super().__init__(store, scope="user", how=how._replace(watch=False))
        self.name, self.prefix, self.label = name, "", f"folder:{name}"
        self.pages = Pages(store, self._parse)

    def ref(self, note: Note) -> str:
        """How a person names this note: a:NAME/path."""
        return f"a:{self.name}/{note.handle.removeprefix('a:')}"

    @property
    def search(self) -> Search:
        """The index, which is kept far from the folder."""
        with suppress(OSError):
            disk.make_folder(self.folder.index_folder, 0o700)
        return super().search

    def candidates(self, query: str, limit: int, filters: Filters = _EVERY) -> Recall[Hit]:
        """As in a notebook; a folder that is gone, or a file that is no text, stops nobody."""
        if filters.kind == "memory" or not self.store.exists():
            return Recall()
        found = super().candidates(query, limit, filters)
        found.unread = ()
        return found

    def find(self, ref: Ref, look: Look | None = None) -> Note:
        """The file by its path, with or without the place in it after a `#`."""
        try:
            return super().find(ref, look)
        except NotFound as error:
            path, place, _ = str(ref).rpartition("#")
            if place and not isinstance(ref, Note):
                return self.find(path, look)
            if "cannot be read" not in error.hint:
                error.hint = f"Its folder is {escape(self.root, keep='')}"
            raise

    def checked(self) -> tuple[int, list[Problem]]:
        """How many articles there are, and what cannot be read: folders, files."""
        if not self.store.exists():
            drop = f"co knowledge remove-folder {self.name}"
            return 0, [Problem(self.root, f"is not there; if it is gone for good: {drop}")]
        articles, unread = self.pages.articles()
        return len(articles), [*(Problem(*told) for told in self.folder.left_out), *unread]

    def _refuse(self, *about: Any, **_: Any) -> Any:
        """Say which file to edit: the note that the verb is about, or the first of several."""
        ref = about[0] if isinstance(about[0], str | Note) else next(iter(about[0]))
        self.store.refuse(self.find(ref).file)

    consolidate = forget = mark = protect = adopt = merge = replace = restore = _refuse

    def planner(self, *_: Any, **__: Any) -> Any:
        """Nothing else is planned here either."""
        self.store.refuse("")

    def _parse(self, path: str, raw: bytes) -> Note:
        """A file as an article, whatever header it has; a header that is none is text."""
        text = decode(raw).removeprefix("\ufeff")
        header, body = dict[str, Any](), text
        with suppress(FormatError):
            header, body = parse_frontmatter(text)
        given = header.get("title")
        title = (isinstance(given, str) and given.strip()[:MAX_TITLE]) or title_of(path, body)
        dates = (moment_told(header.get(field)) for field in ("date", "created"))
        file = f"{ARTICLES}/{os.path.relpath(path, self.root)}"
        created = next(filter(None, dates), "") or moment_of(self.store.modified(file))
        created = created or moment_of(0)
        meta = {
            "id": 0, "created": created, "fetched": created, "source": path,
            "title": title, "tags": _tags(header.get("tags")), "trust": "external",
            "sensitive": _is_sensitive(header, text),
        }  # fmt: skip
        return FolderArticle(self.root, path, raw, meta, body.strip() or title)


def _is_sensitive(header: Mapping[str, Any], text: str) -> bool:
    """Whether a header keeps its text from others, in whatever spelling of yes.

    One that cannot be read does, if it holds the word.
    """
    if not header:
        start = text.partition("\n\n")[0].lower()
        return start.startswith("---") and "sensitive" in start
    values = (value for name, value in header.items() if str(name).lower() == "sensitive")
    return any(str(value).strip().lower() not in _NO for value in values)


def _tags(value: Any) -> list[str]:
    """The tags that a header names: a list, or a text with commas or spaces between them."""
    found = value if isinstance(value, list) else re.split(r"[,\s]+", str(value or ""))
    return [tag.lstrip("#") for tag in found if isinstance(tag, str) and tag.strip("# ")]
