"""Which addresses on the web Co may reach. Looks nothing up and connects to nothing."""

from __future__ import annotations

from collections.abc import Iterable, Set
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from string import ascii_lowercase, digits
from typing import NamedTuple
from urllib.parse import quote, urljoin, urlsplit

import idna

from co_cli.errors import FetchError, NotPublic

_PORTS = {"http": 80, "https": 443}
_LONGEST = 8192  # characters of an address
_IN_HOST = frozenset(ascii_lowercase + digits + "-_")
_IN_PATH = "/:@!$&'()+*,;=~%"  # what stands for itself, an escape that is there already included
_PUBLIC_ONLY = "Co fetches public pages only; save it in your browser and give Co the file."
# What is no public address, in words that follow "is"; the first that fits counts.
_KINDS = [
    (word, [ip_network(network) for network in networks.split()])
    for word, networks in {
        "unspecified": "0.0.0.0/8 ::/128",
        "this machine's own": "127.0.0.0/8 ::1/128",
        "private": "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 fc00::/7",
        "link-local": "169.254.0.0/16 fe80::/10",
        "site-local": "fec0::/10",
        "shared by a carrier's customers": "100.64.0.0/10",
        "for many receivers": "224.0.0.0/4 ff00::/8",
        "for benchmarks": "198.18.0.0/15 2001:2::/48",
        "for documentation": "192.0.2.0/24 198.51.100.0/24 203.0.113.0/24 2001:db8::/32 3fff::/20",
        "an IPv4 address in another form": "::/96 ::ffff:0:0/96 ::ffff:0:0:0/96",
        "a 6to4 address": "192.88.99.0/24 2002::/16",
        "a NAT64 address": "64:ff9b::/96 64:ff9b:1::/48",
        "a Teredo address": "2001::/32",
        "a cloud's own": "168.63.129.16/32",
        # Of IPv6, only 2000::/3 has been given out, and the end of it was given back.
        "reserved": "192.0.0.0/24 240.0.0.0/4 2001::/23 3ffe::/16 ::/3 4000::/2 8000::/1",
    }.items()
]


class Allowed(NamedTuple):
    """What a person allows beyond public addresses on the usual ports.

    A host is a name or an address as it stands in a URL, in small letters.
    """

    hosts: Set[str] = frozenset()
    ports: Set[int] = frozenset()


NOBODY = Allowed()


class Url(NamedTuple):
    """The address of a page, in the one way Co writes it; `path` has the query, if there is one."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def site(self) -> str:
        """The host as it stands in a URL, with its port where that is not the usual one."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def is_literal(self) -> bool:
        """Whether the host is an address already, and no name to look up."""
        return ":" in self.host or self.host.rpartition(".")[2].isdigit()

    @property
    def shown(self) -> str:
        """The address for a message: short, and without its query, which may hold a key."""
        text = f"{self.scheme}://{self.site}{self.path.partition('?')[0]}"
        return text if len(text) <= 100 else f"{text[:99]}…"

    def __str__(self) -> str:
        return f"{self.scheme}://{self.site}{self.path}"


def read_url(text: str, base: str = "") -> Url:
    """The address of a page that a person, a model or a redirect at `base` names."""
    text = text.strip(" \t\r\n")
    if len(text) > _LONGEST or any(ch < " " or "\x7f" <= ch < "\xa0" for ch in text):
        raise FetchError("That is no address: it is too long, or holds control characters")
    try:
        parts = urlsplit(urljoin(base, text))
        if parts.scheme not in _PORTS:
            what = f"'{parts.scheme[:20]}:'" if parts.scheme else "a name or a path"
            hint = "An address begins with https:// or http://."
            raise FetchError(f"Co fetches pages of the web, not {what}", hint=hint)
        if "@" in parts.netloc:
            hint = "Give it without them: they would be kept with the page."
            raise FetchError("The address holds a user's name or password", hint=hint)
        host = _read_host(parts.hostname or "", bracketed="[" in parts.netloc)
        port = _PORTS[parts.scheme] if parts.port is None else parts.port
        path = quote(parts.path, safe=_IN_PATH) or "/"
        query = quote(parts.query, safe=_IN_PATH + "?")
    except ValueError as error:  # of which those of idna, Unicode and IP addresses are kinds
        hint = "An address looks like https://example.org/page."
        raise FetchError(
            "That is no address of a page: its host makes no sense", hint=hint
        ) from error
    return Url(parts.scheme, host, port, f"{path}?{query}" if query else path)


def _read_host(host: str, *, bracketed: bool) -> str:
    """A name in ASCII or an address in its usual form; ValueError for every other way to say it.

    So 127.1, 0x7f000001 and 2130706433 are refused: some resolvers take them for addresses.
    """
    if bracketed:
        if "%" in host:
            raise ValueError("a zone")
        return str(IPv6Address(host))
    if not host.isascii():
        host = idna.encode(host, uts46=True).decode("ascii")
    labels = host.removesuffix(".").split(".")
    fit = all(0 < len(name) < 64 and _IN_HOST.issuperset(name) for name in labels)
    if len(host) > 253 or not fit:
        raise ValueError("no name of a host")
    if labels[-1].isdigit() or labels[-1].startswith("0x"):
        return str(IPv4Address(".".join(labels)))
    return ".".join(labels)


def check_port(url: Url, allow: Allowed) -> None:
    """Raise FetchError unless the port is one for pages, or allowed."""
    if url.port not in _PORTS.values() and url.port not in allow.ports:
        hint = "Pages are at ports 80 and 443."
        raise NotPublic(f"Co does not connect to port {url.port} of {url.host}", hint=hint)


def check_addresses(
    url: Url, found: Iterable[str], allow: Allowed
) -> list[IPv4Address | IPv6Address]:
    """The addresses of a host as values; FetchError when any is not public and not allowed."""
    addresses = [ip_address(address) for address in found]
    if url.host not in allow.hosts:
        for address in addresses:
            if kind := why_not_public(address):
                message = f"{url.host} is not on the public internet: its address is {kind}"
                raise NotPublic(message, hint=_PUBLIC_ONLY)
    return addresses


def why_not_public(address: IPv4Address | IPv6Address) -> str:
    """What kind of address it is, if not one of the public internet; else nothing."""
    for word, networks in _KINDS:
        if any(address in network for network in networks):
            return word
    return "" if address.is_global else "reserved"
