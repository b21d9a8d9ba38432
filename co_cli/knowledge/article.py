"""What keeping an article would change, and when two texts of one page are the same.

Knows no network and no file formats: the text is markdown already. Writes nothing.
"""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import chain, count
from typing import Any, NamedTuple, Required, TypedDict, Unpack
from urllib.parse import unquote, urlsplit, urlunsplit

from co_cli.errors import FormatError, RefusedText
from co_cli.knowledge.format.note import ATTACHED, MAX_TITLE, Note, parse, slugify
from co_cli.knowledge.format.rewrite import render
from co_cli.knowledge.lifecycle import union
from co_cli.knowledge.pages import ARTICLES, ATTACHMENTS, Problem, original_of
from co_cli.knowledge.plan import ImportItem, ImportPlan, Plan, Planner, Saved, new_uid, protected
from co_cli.knowledge.safety.check import check_text, clean_tags
from co_cli.knowledge.store import Edit, Store, disk

_MAX_SOURCE = 2000  # characters
_PORTS = {"http": 80, "https": 443}
_NOT_TAKEN = ("tags", "pinned", "decay_protected")  # of a header from elsewhere, as it stands


class About(TypedDict, total=False):
    """What is told of a text that is kept as an article.

    An article that is there keeps its title and tags, and gets further tags; `fields` are other
    header fields to set, also a `title`. The `attachment` is the original, its name and its bytes.
    Without `fetched`, it was now.
    """

    source: Required[str]
    title: Required[str]
    tags: Sequence[str]
    fetched: str
    attachment: tuple[str, bytes] | None
    fields: Mapping[str, Any] | None
    allow_secret: bool


class _Page(NamedTuple):
    """The same, checked."""

    text: str
    source: str
    title: str
    tags: list[str]
    fetched: str
    fields: dict[str, Any]
    data: bytes | None
    ending: str  # of the original's name

    @property
    def key(self) -> str:
        """What tells it from other articles."""
        return _key(self.source, self.text)


def plan_keep(planner: Planner, text: str, **about: Unpack[About]) -> Plan:
    """What keeping this text does: a new article, other words for one that is there, or nothing."""
    page = _checked(text, planner.at, **about)
    key = page.key
    for note in planner.book.articles():
        if planner.book.tells(note) and _key(note.meta["source"], note.body) == key:
            return _update(planner, note, page)
    return planner.plan("keep", "created", _add(planner, page, _used(planner)))


def bring_in(planner: Planner, items: Iterable[ImportItem]) -> ImportPlan:
    """What importing articles adds: those of a source that is here stay as they are here.

    A header from elsewhere is believed but where it gives its text more weight.
    """
    found, used = ImportPlan(None, [], [], []), _used(planner)
    known = {_key(note.meta["source"], note.body) for note in planner.book.articles()}
    for item in items:
        fields = {name: value for name, value in item.fields if name not in _NOT_TAKEN}
        if not _came_along(planner.book.store, fields):
            fields |= {"attachment": None, "sha256": None}
        source, title, day = (str(fields.pop(name, "")) for name in ("source", "title", "fetched"))
        try:
            page = _checked(
                item.text, planner.at, source=source, title=title, tags=item.tags, fetched=day,
                fields=fields,
            )  # fmt: skip
            if page.key in known:
                found.known.append(item)
            else:
                found.added.append(_add(planner, page, used))
                known.add(page.key)
        except (RefusedText, FormatError) as error:
            found.refused.append(Problem(item.origin, str(error)))
    return found


def _came_along(store: Store, fields: Mapping[str, Any]) -> bool:
    """Whether the original that a header from elsewhere names was copied here, byte for byte."""
    name, data = fields.get("attachment"), None
    if isinstance(name, str) and re.fullmatch(ATTACHED, name):
        with suppress(FormatError):
            data = store.read(f"{ATTACHMENTS}/{name}")
    return data is not None and disk.digest(data) == fields.get("sha256")


def before(plan: Plan) -> Note | None:
    """The article as it stood; None if there was none, or nothing changes."""
    note = plan.saved.note
    for edit in plan.change.edits if plan.change else ():
        if edit.path == note.file and edit.before:
            return parse(note.path, edit.before)
    return None


def _checked(  # noqa: PLR0913 - what `About` tells
    text: str,
    now: str,
    *,
    source: str,
    title: str,
    tags: Sequence[str] = (),
    fetched: str = "",
    attachment: tuple[str, bytes] | None = None,
    fields: Mapping[str, Any] | None = None,
    allow_secret: bool = False,
) -> _Page:
    source, fields = source.strip(), dict(fields or {})
    if not source.isprintable() or not 0 < len(source) <= _MAX_SOURCE:
        raise RefusedText("the source is empty, too long or unprintable", rule="source")
    title = " ".join(str(fields.get("title") or title).split()) or _last_part(source) or source
    title = title[:MAX_TITLE].strip()
    fields |= {"title": title} if "title" in fields else {}
    for line in (source, title):
        check_text(line, allow_secret=allow_secret)
    name, data = attachment or ("", None)
    if data is not None and len(data) > disk.MAX_ATTACHMENT:
        most = f"{disk.MAX_ATTACHMENT // 1024 // 1024} MiB"
        raise RefusedText(f"{name} is larger than {most}", rule="too-long")
    ending = name.lower().rpartition(".")[2]
    return _Page(
        check_text(text, allow_secret=allow_secret, most=disk.MAX_FILE),
        source,
        title,
        clean_tags(tags, allow_secret=allow_secret),
        fetched or now,
        {name: value for name, value in fields.items() if name != "trust"},
        data,
        ending if re.fullmatch("[a-z0-9]{1,10}", ending) else "bin",
    )


def _key(source: str, text: str) -> str:
    """What tells an article: its source, or where that is no address or path, also its text."""
    return canonical(source) or "\n".join([source, *at_rest(text)])


def _add(planner: Planner, page: _Page, used: set[str]) -> Note:
    forms = [f"{ARTICLES}/{{}}.md"]
    if page.data is not None:
        forms.append(f"{ATTACHMENTS}/{{}}.{page.ending}")
    slug = free_name(planner.book.store, _slug(page), forms, used)
    meta = {
        "uid": new_uid(),
        "source": page.source,
        "fetched": page.fetched,
        "title": page.title,
        "tags": page.tags,
        "trust": "external",
        **_attach(planner, page, f"{ATTACHMENTS}/{slug}.{page.ending}"),
        **page.fields,
    }
    kept = {name: value for name, value in meta.items() if value not in (None, [], "", False)}
    note = planner.write(f"{ARTICLES}/{slug}.md", None, render(kept, page.text))
    used.add(note.file)
    return note


def _update(planner: Planner, old: Note, page: _Page) -> Plan:
    same = same_page(old.body, page.text)
    changes = {**page.fields, "tags": union(old.tags, page.tags)}
    known = {**old.meta, "tags": old.tags}
    changed = {name for name, value in changes.items() if value != known.get(name)}
    if not same:
        changes["fetched"] = page.fetched
    original = _other_original(planner, old, page, same)
    if same and not original and not changed:
        return Plan(None, Saved("unchanged", old, planner.book.ref(old)))
    if old.protected:
        raise protected(old, planner.book.ref(old))
    note = planner.edit(old, changes | original, None if same else page.text)
    return planner.plan("keep", "updated", note)


def _other_original(planner: Planner, old: Note, page: _Page, same: bool) -> dict[str, Any]:
    """What the header says of another original than the one that is there; nothing if it is not."""
    store, path = planner.book.store, old.attachment
    if page.data is None:
        if same or not path:
            return {}
        planner.detach(old)
        return {"attachment": None, "sha256": None}
    there = original_of(store, old) is not None
    if there and old.meta.get("sha256") == disk.digest(page.data):
        return {}
    free = there or (path and not store.signature(path))
    if free and path.rpartition(".")[2] == page.ending:
        return _attach(planner, page, path)
    if there:
        planner.detach(old)
    form = f"{ATTACHMENTS}/{{}}.{page.ending}"
    slug = free_name(store, slugify(old.name[:-3]), [form], _used(planner))
    return _attach(planner, page, form.format(slug))


def _attach(planner: Planner, page: _Page, path: str) -> dict[str, Any]:
    """Put the original there; what the header says of it."""
    if page.data is None:
        return {}
    planner.edits.append(Edit(path, planner.book.store.read(path), page.data))
    return {"attachment": os.path.basename(path), "sha256": disk.digest(page.data)}


# Names


def _slug(page: _Page) -> str:
    """The title as part of a file name, else the source's last part, where these are Latin."""
    for text in (page.title, _last_part(page.source)):
        slug = slugify(text, "")
        if 2 * len(slug) > sum(map(str.isalnum, text[:50])):
            return slug
    return str(disk.digest(page.source.encode()))[:8]


def _last_part(source: str) -> str:
    """What the last part of an address or path is called, without its ending."""
    path = re.split("[?#]", source.partition("://")[2] or source, maxsplit=1)[0]
    return os.path.splitext(os.path.basename(unquote(path).rstrip("/")))[0]


def _used(planner: Planner) -> set[str]:
    """The paths of all files that changes wrote or will write."""
    done = [entry for entry in planner.book.store.entries() if entry.state == "done"]
    files = {file["path"] for entry in done for file in entry.files}
    return files | {edit.path for edit in planner.edits}


def free_name(store: Store, slug: str, forms: Sequence[str], used: set[str]) -> str:
    """This name, or with a number after it, such that no file has it or had it before."""
    names = chain([slug], (f"{slug}-{number}" for number in count(2)))
    every = ((name, [form.format(name) for form in forms]) for name in names)
    return next(
        name
        for name, paths in every
        if not any(path in used or store.signature(path) for path in paths)
    )


def canonical(source: str) -> str:
    """What is equal for two ways to write one address or path; empty for anything else.

    Scheme and host in lower case, no default port, no fragment, no name and password.
    """
    try:
        parts = urlsplit(source.strip())
        port = parts.port
    except ValueError:
        return source.strip()
    scheme, host = parts.scheme, parts.hostname or ""
    if scheme == "file" or source.startswith("/"):
        return os.path.normpath(unquote(parts.path) if scheme else source.strip())
    if scheme in _PORTS:
        where = host if port in (None, _PORTS[scheme]) else f"{host}:{port}"
        return urlunsplit((scheme, where, parts.path or "/", parts.query, ""))
    return source.strip() if re.fullmatch(r"[a-zA-Z][\w+.-]+:\S+", source.strip()) else ""


# What moves on a page by itself

_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\.?"
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_NUMBER = r"\d{1,12}(?:[.,]\d{1,12}){0,4}[km]?"
_UNIT = r"(?:sec(?:ond)?|min(?:ute)?|hour|hr|day|week|month|year)s?"
_COUNTED = (
    "(?:views?|visits?|reads?|likes?|claps?|votes?|upvotes?|points?|shares?|comments?|reply"
    "|replies|answers?|reactions?|followers?|subscribers?|stars?|forks?|downloads?)"
)
_AGO = re.compile(rf"\b(?:{_NUMBER}|an?|one|a few) {_UNIT} ago\b|\bjust now\b", re.IGNORECASE)
_COUNT = re.compile(rf"\b{_NUMBER} ?{_COUNTED}\b|\b{_COUNTED}:? ?\(?{_NUMBER}\)?")
_WHEN = re.compile(
    r"\b\d{4}-\d\d-\d\d(?:t(?=\d))?|\b\d{1,2}[./]\d{1,2}[./]\d{2,4}\b"
    r"|\b\d{4}年\d{1,2}月\d{1,2}日"
    rf"|\b{_DAY}\.? {_MONTH},? \d{{4}}\b|\b{_MONTH} {_DAY},? \d{{4}}\b"
    r"|\b\d{1,2}:\d\d(?::\d\d(?:\.\d{1,9})?)?(?: ?[ap]\.?m\b\.?)?(?:z\b|[+-]\d\d:?\d\d)?"
)
_YEARS = re.compile(
    r"(©[^.\d]{0,60}|\bcopyright (?:\(c\) ?)?)(?:\d{4}(?: ?[-–,] ?)?){1,20}", re.IGNORECASE
)
# Words of a line that is there for its date; the others say nothing beside them.
_DATED = frozenset(
    "edited generated modified posted published refreshed retrieved reviewed revised today updated "
    "monday tuesday wednesday thursday friday saturday sunday".split()
)
_EMPTY = frozenset("all and at date gmt in is it last of on page the this time utc was".split())
_LONGEST = 120  # characters of a piece that may be such a line


def same_page(old: str, new: str) -> bool:
    """Whether two texts of a page differ at most in what moves by itself.

    That is: how long ago something was; the years after a copyright sign; how many views, likes or
    comments there are, and the date beside a word like `updated`, where a line or a piece of it
    between dots says nothing else. Any other number or date counts, and all that is in code or
    in a table.
    """
    return old == new or at_rest(old) == at_rest(new)


def at_rest(text: str) -> list[str]:
    """The lines of a text without what moves in them."""
    lines, in_code = [], False
    for line in text.split("\n"):
        fence = line.lstrip().startswith(("```", "~~~"))
        in_code ^= fence
        lines.append(line.rstrip() if in_code or fence else _rest_of(" ".join(line.split())))
    return [line for line in lines if line]


def _rest_of(line: str) -> str:
    if line.startswith("|") or not re.search(r"\d|\bago\b|\bnow\b", line):
        return line
    line = _YEARS.sub(r"\1", _AGO.sub("", line))
    pieces = re.split(" ?[·•] ?", line)
    return " · ".join(piece for piece in pieces if piece and not _only_moves(piece))


def _only_moves(piece: str) -> bool:
    """Whether a piece of a line says nothing but how many there are, or when it was changed."""
    if len(piece) > _LONGEST or not re.search(r"\d", piece):
        return False
    said = re.sub(r"\[([^\]]{0,120})\]\([^)]{0,500}\)", r"\1", piece).lower()
    left, counts = _COUNT.subn(" ", said)
    left, dates = _WHEN.subn(" ", left)
    words = set(re.findall(r"\w+", left))
    return words <= _DATED | _EMPTY and bool(counts or (dates and words & _DATED))
