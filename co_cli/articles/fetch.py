"""One page from the web, by rules that hold whoever names its address.

Every host is looked up once, its addresses are checked, and one of them is connected to as it is:
for the page, for each redirect and for robots.txt. Time, bytes and redirects are bounded. Judges
no content, and uses no cookies, credentials or proxies.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.client import HTTPResponse
from importlib.metadata import version
from typing import NamedTuple
from urllib.robotparser import RobotFileParser

from co_cli.articles.addresses import NOBODY, Allowed, Url, read_url
from co_cli.articles.client import LATER, Client, Limits, look_up
from co_cli.errors import FetchError, Gone

_NAME = "co-cli"  # by which a robots.txt may name us
_ROBOTS = 512 * 1024  # bytes of a robots.txt that count
_REDIRECTS = 5
_LIMITS = Limits()


class Validators(NamedTuple):
    """By what a server tells whether a page has changed: its ETag and Last-Modified, as sent."""

    etag: str = ""
    modified: str = ""


NOTHING_KNOWN = Validators()


class Page(NamedTuple):
    """What was fetched; `kind` is its media type, `unchanged` says that what was known holds."""

    asked: str
    url: str
    kind: str
    charset: str
    body: bytes
    validators: Validators
    unchanged: bool = False


def fetch(
    url: str,
    *,
    known: Validators = NOTHING_KNOWN,
    allow: Allowed = NOBODY,
    robots: bool = False,
    progress: Callable[[int, int], None] | None = None,
    resolve: Callable[[str, int], list[str]] = look_up,
    limits: Limits = _LIMITS,
) -> Page:
    """The page at an address, after redirects; FetchError, or Gone, says why there is none.

    With `robots`, what the site's robots.txt forbids is refused. `progress` hears how many bytes
    have come and how many there are, or 0 where the server does not say.
    """
    client, asked = Client(allow, resolve, limits), read_url(url)
    check = partial(_heed_robots, client, {}) if robots else None
    with _follow(client, asked, known, check) as (here, answer):
        unchanged = answer.status == 304 and any(known)
        if answer.status != 200 and not unchanged:
            raise _no_page(here, answer.status)
        names = ("ETag", "Last-Modified", "Content-Type")
        etag, modified, content = (_plain(answer.headers.get(name, "")) for name in names)
        kind = re.match(r"[\w.+-]+/[\w.+-]+", content)
        charset = re.search(r";\s*charset\s*=\s*[\"']?([\w.:+-]+)", content, re.IGNORECASE)
        return Page(
            str(asked),
            str(here),
            kind[0].lower() if kind else "",
            charset[1].lower() if charset else "",
            b"" if unchanged else client.body(here, answer, progress),
            Validators(etag, modified) if any((etag, modified)) or not unchanged else known,
            unchanged,
        )


def _plain(value: str) -> str:
    """A header's value where it is a short line of ASCII, else nothing."""
    return value.strip() if value.isascii() and value.isprintable() and len(value) < 1000 else ""


def _no_page(url: Url, status: int) -> FetchError:
    if status in (404, 410):
        return Gone(f"{url.shown} is not there ({status})", hint="Check the address.")
    if status in (401, 402, 403, 407):
        hint = "If it needs a login, save it in your browser and give Co the file."
        return FetchError(f"{url.shown} is not open to everyone ({status})", hint=hint)
    if status in (408, 425, 429) or status >= 500:
        return FetchError(f"{url.shown} is not served now ({status})", hint=LATER)
    return FetchError(f"{url.shown} is answered with status {status} and no page")


@contextmanager
def _follow(
    client: Client, url: Url, known: Validators, check: Callable[[Url], None] | None = None
) -> Iterator[tuple[Url, HTTPResponse]]:
    """The first answer that is no redirect, and where it was; `check` may refuse a place."""
    headers = {
        "User-Agent": f"{_NAME}/{version('co-cli')}",
        "Accept": "text/html,application/xhtml+xml,*/*;q=0.8",
        "Accept-Encoding": "gzip",
        "If-None-Match": _plain(known.etag),
        "If-Modified-Since": _plain(known.modified),
    }
    for _ in range(_REDIRECTS + 1):
        if check:
            check(url)
        with client.ask(url, {name: value for name, value in headers.items() if value}) as answer:
            there = answer.headers.get("Location", "")
            if answer.status not in (301, 302, 303, 307, 308) or not there:
                yield url, answer
                return
        url = _redirected(url, there.encode("latin-1", "replace").decode("utf-8", "replace"))
    raise FetchError(f"{url.host} leads on and on: more than {_REDIRECTS} redirects")


def _redirected(url: Url, there: str) -> Url:
    try:
        found = read_url(there, str(url))
    except FetchError as error:
        raise FetchError(f"{url.shown} leads to no page: {error}") from error
    if url.scheme == "https" and found.scheme == "http":
        raise FetchError(f"{url.shown} leads from https to http, where anyone may alter the page")
    return found


def _heed_robots(client: Client, rules: dict[Url, RobotFileParser], url: Url) -> None:
    """Raise FetchError where programs are asked to keep away, or nobody says."""
    place = url._replace(path="/robots.txt")
    if place not in rules:
        rules[place] = _read_robots(client, place)
    if not rules[place].can_fetch(_NAME, str(url)):
        hint = "A person may fetch it: co ingest URL."
        raise FetchError(f"{url.host} asks programs not to fetch {url.shown}", hint=hint)


def _read_robots(client: Client, place: Url) -> RobotFileParser:
    with _follow(client, place, NOTHING_KNOWN) as (here, answer):
        if answer.status != 200 and not 400 <= answer.status < 500:
            raise FetchError(f"{place.shown} is not served now ({answer.status})", hint=LATER)
        text = client.body(here, answer)[:_ROBOTS] if answer.status == 200 else b""
    rules = RobotFileParser()
    try:
        rules.parse(text.decode("utf-8-sig", "replace").splitlines())
    except ValueError as error:  # which some lines of nonsense raise
        raise FetchError(f"{place.shown} cannot be understood") from error
    return rules
