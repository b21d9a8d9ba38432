"""Fetching a page: what is refused connects to nothing, and what answers is bounded."""

from __future__ import annotations

import gzip
import socket
import sys
import tracemalloc
import zlib
from collections.abc import Iterator
from importlib.metadata import version
from ipaddress import ip_address
from pathlib import Path
from threading import Event
from time import monotonic

import pytest
from certificates import Authority
from cli import in_time
from conftest import OutsideFence
from web import PATIENCE, Site, answer, redirect, serving

from co_cli.articles.addresses import Allowed, read_url, why_not_public
from co_cli.articles.client import Limits
from co_cli.articles.fetch import Page, Validators, fetch
from co_cli.errors import FetchError, Gone

PUBLIC = "93.184.215.14"
SHORT = Limits(seconds=0.3, connect=0.2)
SMALL = Limits(seconds=PATIENCE, wire=256 * 1024, body=1024 * 1024)
_connects: list[object] | None = None


def _count(event: str, args: tuple[object, ...]) -> None:
    if event == "socket.connect" and _connects is not None:
        _connects.append(args[1])


sys.addaudithook(_count)


@pytest.fixture
def connects() -> Iterator[list[object]]:
    """Every address that this process connects to, whoever does it."""
    global _connects  # noqa: PLW0603
    _connects = []
    yield _connects
    _connects = None


@pytest.fixture
def site() -> Iterator[Site]:
    with serving() as found:
        yield found


class Names:
    """A resolver that knows what it is told, and remembers what it was asked."""

    def __init__(self, *answers: str) -> None:
        self.answers, self.asked = list(answers), list[str]()

    def __call__(self, host: str, _: int) -> list[str]:
        self.asked.append(host)
        found = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if not found:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return found.split()


# --- what is refused ------------------------------------------------------------------------------

NOT_PUBLIC = """
    0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 100.100.100.200 100.127.255.255 127.0.0.1
    127.255.255.254 168.63.129.16 169.254.0.1 169.254.169.254 172.16.0.1 172.31.255.255 192.0.0.1
    192.0.0.192 192.0.2.1 192.88.99.1 192.168.0.1 192.168.255.255 198.18.0.1 198.19.255.255
    198.51.100.1 203.0.113.1 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255
    :: ::1 ::7f00:1 ::ffff:127.0.0.1 ::ffff:7f00:1 ::ffff:8.8.8.8 ::ffff:0:127.0.0.1 64:ff9b::7f00:1
    64:ff9b::808:808 64:ff9b:1::a00:1 100::1 2001::1 2001:0:4136:e378:8000:63bf:3fff:fdd2 2001:2::1
    2001:10::1 2001:20::1 2001:db8::1 2002:7f00:1::1 2002:808:808::1 3ffe::1 3fff::1 4000::1 5f00::1
    fc00::1 fd00:ec2::254 fe80::1 fe80::7f00:1 febf::1 fec0::1 ff02::1 ff0e::1
""".split()
ODD_HOSTS = """
    2130706433 0x7f000001 0x7f.1 0x7f.0.0.0x1 0177.0.0.1 017700000001 127.1 127.0.1 127.0.0.01
    127.0.0.1.5 256.1.1.1 1.2.3 127%2e0%2e0%2e1 127.0.0.1%00 example%2eorg [::1%25lo] [fe80::1%eth0]
    [127.0.0.1] [::1 ::1] [v1.1] [] a..b .a * ex|ample.org exa^mple.org <b> example.org\\x
    xn--\u0661.org \u0661\u0662\u0667.1 a\u2024.. -.\u202e.org
""".split()
NO_PAGES = [
    ("file:///etc/passwd", "not 'file:'"),
    ("FILE:///etc/passwd", "not 'file:'"),
    ("ftp://example.org/", "not 'ftp:'"),
    ("gopher://127.0.0.1:70/_x", "not 'gopher:'"),
    ("data:text/html,hello", "not 'data:'"),
    ("javascript:alert(1)", "not 'javascript:'"),
    ("ws://example.org/", "not 'ws:'"),
    ("view-source:http://example.org/", "not 'view-source:'"),
    ("localhost:80/", "not 'localhost:'"),
    ("//example.org/", "not a name or a path"),
    ("example.org/page", "not a name or a path"),
    ("/etc/passwd", "not a name or a path"),
    ("", "not a name or a path"),
    ("http:example.org", "its host makes no sense"),
    ("http:/example.org", "its host makes no sense"),
    ("http:///page", "its host makes no sense"),
    ("http://:80/", "its host makes no sense"),
    ("http:\\\\127.0.0.1/", "its host makes no sense"),
    ("http://user:secret@example.org/", "a user's name or password"),
    ("http://user@example.org/", "a user's name or password"),
    ("http://@example.org/", "a user's name or password"),
    ("http://:@example.org/", "a user's name or password"),
    ("http://example.org@127.0.0.1/", "a user's name or password"),
    ("http://example.org\\@127.0.0.1/", "a user's name or password"),
    ("ftp://user:secret@example.org/", "not 'ftp:'"),
    ("http://example.org:22/", "port 22"),
    ("http://example.org:8080/", "port 8080"),
    ("https://example.org:8443/", "port 8443"),
    ("http://example.org:0/", "port 0"),
    ("http://example.org:65536/", "its host makes no sense"),
    ("http://example.org:-80/", "its host makes no sense"),
    ("http://example.org:8\uff10/", "its host makes no sense"),
    ("http://example.org:80x/", "its host makes no sense"),
    ("http://exam\nple.org/", "control characters"),
    ("http://example.org/\r\nHost: 127.0.0.1", "control characters"),
    ("http://example.org/\tx", "control characters"),
    ("http://example.org/\x00", "control characters"),
    ("http://example.org/\x1b[2J", "control characters"),
    ("http://example.org/\x85", "control characters"),
    ("http://example.org/\ud800", "makes no sense"),
    ("http://example.org/" + "a" * 9000, "too long"),
    ("http://" + "a" * 64 + ".org/", "its host makes no sense"),
    ("http://" + "a." * 130 + "org/", "its host makes no sense"),
]
NAMES = [
    ("localhost", "127.0.0.1"),
    ("localhost", "::1"),
    ("LOCALHOST.", "127.0.0.1"),
    ("\u24db\u24de\u24d2\u24d0\u24db\u24d7\u24de\u24e2\u24e3", "127.0.0.1"),
    ("\uff11\uff12\uff17.0.0.1", ""),
    ("\u2460\u2461\u2466\u30020\u30020\u30021", ""),
    ("127.0.0.1.", ""),
    ("public.example.org", "127.0.0.1"),
    ("public.example.org", "10.1.2.3"),
    ("metadata.example.org", "169.254.169.254"),
    ("mixed.example.org", f"{PUBLIC} 192.168.1.1"),
    ("mixed.example.org", f"{PUBLIC} fe80::1%eth0"),
    ("mapped.example.org", "::ffff:10.0.0.1"),
    ("nat.example.org", f"64:ff9b::a00:1 {PUBLIC}"),
]


def test_the_table_is_long_enough() -> None:
    assert len(NOT_PUBLIC) + len(ODD_HOSTS) + len(NO_PAGES) + len(NAMES) >= 60


@pytest.mark.parametrize("address", NOT_PUBLIC)
def test_an_address_that_is_not_public_is_never_connected_to(
    address: str, site: Site, connects: list[object]
) -> None:
    """Red when a range is missing, or a port that is allowed allows its hosts as well."""
    host, names = f"[{address}]" if ":" in address else address, Names(address)
    for url in (site.url(host=host), f"https://{host}/", f"http://name.example.org:{site.port}/"):
        with pytest.raises(FetchError, match="is not on the public internet: its address is"):
            fetch(url, allow=Allowed(ports={site.port}), resolve=names)
    assert (names.asked, connects, site.connections) == (["name.example.org"], [], 0)


@pytest.mark.parametrize(
    ("address", "kind"),
    [
        ("0.0.0.0", "unspecified"),
        ("::", "unspecified"),
        ("127.0.0.1", "this machine's own"),
        ("::1", "this machine's own"),
        ("192.168.0.1", "private"),
        ("fd00::1", "private"),
        ("169.254.169.254", "link-local"),
        ("fe80::1%eth0", "link-local"),
        ("fec0::1", "site-local"),
        ("100.64.0.1", "shared by a carrier's customers"),
        ("ff02::1", "for many receivers"),
        ("198.18.0.1", "for benchmarks"),
        ("3fff::1", "for documentation"),
        ("::127.0.0.1", "an IPv4 address in another form"),
        ("::ffff:8.8.8.8", "an IPv4 address in another form"),
        ("2002:a00:1::", "a 6to4 address"),
        ("64:ff9b::8.8.8.8", "a NAT64 address"),
        ("2001::1", "a Teredo address"),
        ("168.63.129.16", "a cloud's own"),
        ("255.255.255.255", "reserved"),
        ("e000::1", "reserved"),
    ],
)
def test_it_is_said_what_an_address_is(address: str, kind: str) -> None:
    assert why_not_public(ip_address(address)) == kind


@pytest.mark.parametrize("host", ODD_HOSTS)
def test_an_odd_way_to_write_a_host_is_refused(
    host: str, site: Site, connects: list[object]
) -> None:
    names = Names(PUBLIC)
    with pytest.raises(FetchError, match="its host makes no sense"):
        fetch(f"http://{host}:{site.port}/", allow=site.allow, resolve=names)
    with pytest.raises(FetchError, match="its host makes no sense"):
        fetch(f"http://{host}/", resolve=names)
    assert (names.asked, connects) == ([], [])


@pytest.mark.parametrize(("url", "said"), NO_PAGES)
def test_what_is_no_address_of_a_page_is_refused(
    url: str, said: str, connects: list[object]
) -> None:
    names = Names(PUBLIC)
    with pytest.raises(FetchError) as error:
        fetch(url, resolve=names)
    assert said in str(error.value)
    assert "secret" not in error.value.sentence()
    assert (names.asked, connects) == ([], [])


@pytest.mark.parametrize(("host", "addresses"), NAMES)
def test_a_name_that_leads_inside_is_refused(
    host: str, addresses: str, site: Site, connects: list[object]
) -> None:
    """Red when only the first address is checked, or only addresses that stand in the URL."""
    names = Names(addresses or PUBLIC)
    with pytest.raises(FetchError, match="is not on the public internet"):
        fetch(site.url(host=host), allow=Allowed(ports={site.port}), resolve=names)
    assert (len(names.asked), connects, site.connections) == (1 if addresses else 0, [], 0)


@pytest.mark.parametrize(
    "address",
    """1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.1 100.63.255.255 100.128.0.1 126.0.0.1 128.0.0.1
    172.15.0.1 172.32.0.1 192.0.1.1 192.167.0.1 198.17.0.1 198.20.0.1 223.255.255.255
    2606:4700:4700::1111 2001:4860:4860::8888 2001:200::1 2a00:1450:4001::1 3fe0::1""".split(),
)
def test_a_public_address_is_reached_for(address: str) -> None:
    """The fence of the tests holds it back; red when the rules refuse what is public."""
    assert why_not_public(ip_address(address)) == ""
    host = f"[{address}]" if ":" in address else address
    with pytest.raises(OutsideFence, match=address):
        fetch(f"http://{host}/")


def test_a_name_that_changes_its_address_changes_nothing(connects: list[object]) -> None:
    """Red when the name is looked up again to connect: a second answer leads inside.

    The fence shows what was reached for: the address that was checked.
    """
    names = Names(PUBLIC, "127.0.0.1")
    with pytest.raises(OutsideFence, match=PUBLIC):
        fetch("http://rebind.example.org/", resolve=names)
    assert (names.asked, connects) == (["rebind.example.org"], [])


@pytest.mark.parametrize(
    "to",
    """http://localhost:{port}/ http://127.0.0.2:{port}/ http://[::1]:{port}/ http://10.0.0.1/
    http://169.254.169.254/latest/meta-data/ //192.168.0.1/ https://[fe80::1]/ http://2130706433/
    http://0x7f.1/ http://127.1/ file:///etc/passwd ftp://127.0.0.1/ gopher://127.0.0.1:{port}/
    http://user:pw@127.0.0.1:{port}/ http://127.0.0.1:22/ http://inside.example.org:{port}/ http://[""".split(),
)
def test_a_redirect_leads_nowhere_that_an_address_does_not(
    to: str, site: Site, connects: list[object]
) -> None:
    """Red when what is allowed for one host holds for the next, or only the first is checked."""
    site.answers["/"] = redirect(to.format(port=site.port))
    with pytest.raises(FetchError):
        fetch(site.url(), allow=site.allow, resolve=Names("127.0.0.1"))
    assert (connects, site.paths()) == ([("127.0.0.1", site.port)], ["/"])


def test_every_redirect_is_looked_up_and_checked_anew(site: Site) -> None:
    """Red when a host that was fine a redirect ago is not checked again."""
    names = Names("127.0.0.1", "10.0.0.1")
    site.answers["/"] = redirect("/again")
    allow = Allowed({"127.0.0.1"}, {site.port})
    site.answers["/again"] = redirect(site.url("/", "name.example.org"))
    with pytest.raises(FetchError, match=r"name\.example\.org is not on the public internet"):
        fetch(site.url(), allow=allow, resolve=names)
    assert site.paths() == ["/", "/again"]


def test_what_is_allowed_is_exactly_that(site: Site) -> None:
    site.answers["/"] = answer(b"inside")
    inside = site.url(host="inside.example.org")
    names = Names("127.0.0.1")
    allow = Allowed({"inside.example.org"}, {site.port})
    assert fetch(inside, allow=allow, resolve=names).body == b"inside"
    with pytest.raises(FetchError, match=f"does not connect to port {site.port}"):
        fetch(inside, allow=Allowed({"inside.example.org"}), resolve=names)
    with pytest.raises(FetchError, match="is not on the public internet"):
        fetch(site.url(), allow=allow, resolve=names)


def test_no_proxy_of_the_environment_is_used(
    site: Site, monkeypatch: pytest.MonkeyPatch, connects: list[object]
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9/")
    site.answers["/"] = answer(b"direct")
    assert fetch(site.url(), allow=site.allow).body == b"direct"
    assert connects == [("127.0.0.1", site.port)]


# --- a page ---------------------------------------------------------------------------------------


def test_a_page_comes_with_what_is_known_about_it(site: Site) -> None:
    site.answers["/a%20b?q=%C3%A9"] = redirect("../c#part", "301 Moved")
    site.answers["/c"] = answer(
        b"<p>hello",
        Content_Type='Text/HTML; Charset="ISO-8859-1"',
        ETag='W/"1"',
        Last_Modified="Mon, 16 Nov 2026 09:00:00 GMT",
    )
    heard: list[tuple[int, int]] = []
    page = fetch(
        f" {site.url('/a b?q=é#here')}\n",
        allow=site.allow,
        progress=lambda done, total: heard.append((done, total)),
    )
    validators = Validators('W/"1"', "Mon, 16 Nov 2026 09:00:00 GMT")
    asked, found = site.url("/a%20b?q=%C3%A9"), site.url("/c")
    assert page == Page(asked, found, "text/html", "iso-8859-1", b"<p>hello", validators)
    assert heard == [(8, 8)]
    assert site.requests[1] == (
        f"GET /c HTTP/1.1\r\nHost: 127.0.0.1:{site.port}\r\nConnection: close\r\n"
        f"User-Agent: co-cli/{version('co-cli')}\r\n"
        "Accept: text/html,application/xhtml+xml,*/*;q=0.8\r\nAccept-Encoding: gzip\r\n\r\n"
    )


def test_one_page_has_one_address() -> None:
    for text in ("HTTP://Example.ORG:80#top", "http://example.org.", " http://example.org/ "):
        assert str(read_url(text)) == "http://example.org/"
    assert str(read_url("https://bücher.example/ü")) == "https://xn--bcher-kva.example/%C3%BC"
    assert str(read_url("https://faß.example/")) == "https://xn--fa-hia.example/"
    assert str(read_url("https://[2606:4700:0:0::1]:443/?")) == "https://[2606:4700::1]/"
    assert str(read_url("http://9.9.9.9/%2F%41?a=b&c=%26")) == "http://9.9.9.9/%2F%41?a=b&c=%26"


@pytest.mark.parametrize(
    ("content", "kind", "charset"),
    [
        ("", "", ""),
        ("text/plain", "text/plain", ""),
        ("application/pdf;version=1.7", "application/pdf", ""),
        ("text/html; charset = utf-8 ; x=y", "text/html", "utf-8"),
        ("nonsense", "", ""),
        ("text/html\x0b/; charset=\x1b[2J", "", ""),
        ("text/html;" * 200, "", ""),
    ],
)
def test_a_content_type_is_read_as_far_as_it_makes_sense(
    content: str, kind: str, charset: str, site: Site
) -> None:
    site.answers["/"] = answer(b"x", Content_Type=content)
    page = fetch(site.url(), allow=site.allow)
    assert (page.kind, page.charset) == (kind, charset)


def test_another_address_is_tried_when_one_does_not_answer(
    site: Site, connects: list[object]
) -> None:
    site.answers["/"] = answer(b"second")
    allow = Allowed({"two.example.org"}, {site.port})
    url = site.url(host="two.example.org")
    assert fetch(url, allow=allow, resolve=Names("127.0.0.9 127.0.0.1")).body == b"second"
    assert connects == [("127.0.0.9", site.port), ("127.0.0.1", site.port)]


def test_what_is_known_and_has_not_changed_is_not_sent_again(site: Site) -> None:
    known = Validators('"1"', "Mon, 16 Nov 2026 09:00:00 GMT")
    site.answers["/"] = answer(b"", "304 Not Modified")
    page = fetch(site.url(), known=known, allow=site.allow)
    assert page == Page(site.url(), site.url(), "", "", b"", known, unchanged=True)
    conditions = 'If-None-Match: "1"\r\nIf-Modified-Since: Mon, 16 Nov 2026 09:00:00 GMT\r\n\r\n'
    assert site.requests[0].endswith(conditions)
    with pytest.raises(FetchError, match="is answered with status 304 and no page"):
        fetch(site.url(), allow=site.allow)


def test_a_validator_that_was_tampered_with_adds_no_header(site: Site) -> None:
    site.answers["/"] = answer(b"new")
    fetch(site.url(), known=Validators('"1"\r\nX-Planted: 1', "\x00é"), allow=site.allow)
    assert "X-Planted" not in site.requests[0]
    assert "If-" not in site.requests[0]


# --- what goes wrong ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (401, "{} is not open to everyone (401). If it needs a login, save it in your browser"),
        (403, "{} is not open to everyone (403). If it needs a login, save it in your browser"),
        (404, "{} is not there (404). Check the address."),
        (410, "{} is not there (410). Check the address."),
        (418, "{} is answered with status 418 and no page"),
        (204, "{} is answered with status 204 and no page"),
        (302, "{} is answered with status 302 and no page"),
        (429, "{} is not served now (429). Try again later."),
        (500, "{} is not served now (500). Try again later."),
        (503, "{} is not served now (503). Try again later."),
    ],
)
def test_each_kind_of_refusal_is_told_apart(status: int, said: str, site: Site) -> None:
    site.answers["/page?key=secret"] = answer(b"no", f"{status} Nope")
    with pytest.raises(FetchError) as error:
        fetch(site.url("/page?key=secret"), allow=site.allow)
    assert error.value.sentence().startswith(said.format(site.url("/page")))
    assert isinstance(error.value, Gone) == (status in (404, 410))


def test_a_name_that_nobody_knows_is_told(connects: list[object]) -> None:
    with pytest.raises(FetchError) as error:
        fetch("https://nowhere.example.org/", resolve=Names(""))
    assert error.value.sentence() == (
        "No address is known for nowhere.example.org."
        " Check the spelling, and whether this machine is online."
    )
    assert connects == []


def test_a_server_that_is_not_there_is_told(site: Site) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with pytest.raises(FetchError, match=r"^127\.0\.0\.1 cannot be reached: Connection refused$"):
        fetch(f"http://127.0.0.1:{port}/", allow=Allowed(site.allow.hosts, {port}))


def test_redirects_end(site: Site) -> None:
    site.answers["/"] = redirect("/")
    with pytest.raises(FetchError, match="leads on and on: more than 5 redirects"):
        fetch(site.url(), allow=site.allow)
    assert site.connections == 6
    site.answers |= {f"/{step}": redirect(f"/{step + 1}") for step in range(5)}
    site.answers["/5"] = answer(b"there")
    assert fetch(site.url("/0"), allow=site.allow).body == b"there"


HEAD = b"HTTP/1.1 200 OK\r\n"
BROKEN = "What 127.0.0.1 answers is broken, or not for browsers"


@pytest.mark.parametrize(
    ("first", "again"),
    [
        (b"", b""),
        (b"H", b"T"),
        (HEAD, b"X-More: x\r\n"),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        (HEAD + b"\r\n", b"x"),
        (HEAD + b"Content-Length: 1000000\r\n\r\n", b"x"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\n", b"X-Trailer: x\r\n"),
    ],
)
def test_a_server_that_drips_is_given_up(first: bytes, again: bytes, site: Site) -> None:
    """Red when the time begins anew with every byte."""
    site.answers["/"] = site.forever(first, again, pause=0.01)
    began = monotonic()
    with in_time(PATIENCE), pytest.raises(FetchError, match="takes too long to answer"):
        fetch(site.url(), allow=site.allow, limits=SHORT)
    assert monotonic() - began >= SHORT.seconds


@pytest.mark.parametrize(
    ("first", "again"),
    [
        (HEAD + b"Content-Length: 104857600\r\n\r\n", b"x" * 65536),
        (HEAD + b"\r\n", b"x" * 65536),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"8000\r\n" + b"x" * 0x8000 + b"\r\n"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1;" + b"x" * 60_000 + b"\r\nx\r\n"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n-1\r\n", b"x" * 65536),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\n", b"X-Trailer: x\r\n" * 5000),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 100),
        (HEAD, b"X-More: " + b"x" * 1000 + b"\r\n"),
    ],
)
def test_a_server_that_never_ends_is_given_up(first: bytes, again: bytes, site: Site) -> None:
    """Red when anything that is read is not counted."""
    sent = 0

    def count(client: socket.socket) -> None:
        nonlocal sent
        client.sendall(first)
        while True:
            client.sendall(again)
            sent += len(again)

    site.answers["/"] = count
    with pytest.raises(FetchError) as error:
        fetch(site.url(), allow=site.allow)
    assert error.value.sentence() == (
        f"{site.url()} is too large. Co takes 10 MB from the web, and 50 MB unpacked."
    )
    assert site.left.wait(PATIENCE)
    assert sent < 20 * 1024 * 1024  # what the system takes ahead of us included


def test_a_page_that_says_that_it_is_too_large_is_not_waited_for(site: Site) -> None:
    site.answers["/"] = site.forever(HEAD + b"Content-Length: 104857600\r\n\r\n", b"", pause=0.01)
    with pytest.raises(FetchError, match="is too large"):
        fetch(site.url(), allow=site.allow, limits=Limits(seconds=PATIENCE))


@pytest.mark.parametrize("again", [b"X: x\r\n", b"x" * 65536])
def test_headers_without_end_are_given_up(again: bytes, site: Site) -> None:
    site.answers["/"] = site.forever(HEAD + b"X-First: ", again)
    with pytest.raises(FetchError):
        fetch(site.url(), allow=site.allow)
    assert site.left.wait(PATIENCE)


@pytest.mark.parametrize("packing", ["gzip", "deflate"])
def test_a_page_that_unpacks_without_end_is_given_up(packing: str, site: Site) -> None:
    """Red when all of a piece is unpacked before it is measured."""
    squeeze = zlib.compressobj(9, wbits=31 if packing == "gzip" else 15)
    first, again = (
        squeeze.compress(bytes(1024 * 1024)) + squeeze.flush(zlib.Z_FULL_FLUSH) for _ in range(2)
    )
    bomb = first + again * 60
    site.answers["/"] = answer(bomb, Content_Encoding=packing)
    assert len(bomb) < 100_000
    tracemalloc.start()
    try:
        with pytest.raises(FetchError, match="is too large"):
            fetch(site.url(), allow=site.allow, limits=SMALL)
        assert tracemalloc.get_traced_memory()[1] < 8 * SMALL.body
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("packing", "sent", "found"),
    [
        ("gzip", gzip.compress(b"page" * 50_000, mtime=0), b"page" * 50_000),
        ("X-GZip", gzip.compress(b"page", mtime=0), b"page"),
        ("deflate", zlib.compress(b"page"), b"page"),
        ("identity", b"page", b"page"),
        (
            "gzip",
            gzip.compress(b"two ", mtime=0) + gzip.compress(b"streams", mtime=0),
            b"two streams",
        ),
        ("gzip", gzip.compress(b"padded", mtime=0) + bytes(100), b"padded"),
        ("gzip", gzip.compress(b"", mtime=0) * 1000 + gzip.compress(b"page", mtime=0), b"page"),
        ("gzip", b"", b""),
    ],
)
def test_a_packed_page_is_unpacked(packing: str, sent: bytes, found: bytes, site: Site) -> None:
    site.answers["/"] = answer(sent, Content_Encoding=packing)
    assert fetch(site.url(), allow=site.allow, limits=SMALL).body == found


def test_a_page_of_just_the_allowed_size_is_taken(site: Site) -> None:
    site.answers["/"] = answer(b"x" * SMALL.wire)
    site.answers["/packed"] = answer(gzip.compress(bytes(SMALL.body)), Content_Encoding="gzip")
    assert len(fetch(site.url(), allow=site.allow, limits=SMALL).body) == SMALL.wire
    assert len(fetch(site.url("/packed"), allow=site.allow, limits=SMALL).body) == SMALL.body
    site.answers["/packed"] = answer(gzip.compress(bytes(SMALL.body + 1)), Content_Encoding="gzip")
    with pytest.raises(FetchError, match="is too large"):
        fetch(site.url("/packed"), allow=site.allow, limits=SMALL)


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        (b"", BROKEN),
        (b"SSH-2.0-OpenSSH_9.6\r\n", BROKEN),
        (b"HTTP/2 200\r\n\r\n", BROKEN),
        (
            HEAD + b"A: b\r\n" * 101 + b"\r\n",
            BROKEN,
        ),
        (
            answer(b"x", Transfer_Encoding="gzip"),
            BROKEN,
        ),
        (
            answer(b"xxxx", Content_Encoding="gzip"),
            BROKEN,
        ),
        (answer(b"x", Content_Encoding="br"), "{} is packed in a way that Co did not ask for"),
        (
            answer(b"x", Content_Encoding="gzip, gzip"),
            "{} is packed in a way that Co did not ask for",
        ),
        (answer(b"half a page", length=22), "Only a part of {} came"),
        (
            answer(gzip.compress(b"half", mtime=0)[:-9], Content_Encoding="gzip"),
            "Only a part of {} came",
        ),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhal", "Only a part of {} came"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\nhello\r\n", "Only a part of {} came"),
    ],
)
def test_a_broken_answer_is_no_page(sent: bytes, said: str, site: Site) -> None:
    site.answers["/"] = sent
    with pytest.raises(FetchError) as error:
        fetch(site.url(), allow=site.allow)
    assert str(error.value) == said.format(site.url())


@pytest.mark.parametrize("length", ["4", "-1", "four", "9" * 5000])
def test_a_page_ends_where_its_length_says_or_the_connection_does(length: str, site: Site) -> None:
    site.answers["/"] = HEAD + f"Content-Length: {length}\r\n\r\n".encode() + b"page and more"
    found = fetch(site.url(), allow=site.allow).body
    assert found == (b"page" if length == "4" else b"page and more")


def test_a_resolver_that_hangs_is_given_up(connects: list[object]) -> None:
    end = Event()

    def hang(_: str, __: int) -> list[str]:
        end.wait(PATIENCE)
        return [PUBLIC]

    began = monotonic()
    with pytest.raises(FetchError, match=r"slow\.example\.org takes too long to answer"):
        fetch("https://slow.example.org/", resolve=hang, limits=SHORT)
    assert monotonic() - began < PATIENCE / 2
    end.set()
    assert connects == []


def test_a_server_that_takes_no_connection_is_given_up() -> None:
    """Red when connecting has no limit of its own."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
        port = full.getsockname()[1]
        waiting = [socket.socket() for _ in range(4)]
        for client in waiting:
            client.setblocking(False)
            client.connect_ex(("127.0.0.1", port))
        began = monotonic()
        with pytest.raises(FetchError, match="takes too long to answer"):
            fetch(
                f"http://127.0.0.1:{port}/",
                allow=Allowed({"127.0.0.1"}, {port}),
                limits=Limits(seconds=PATIENCE, connect=0.2),
            )
        assert monotonic() - began < PATIENCE / 2
        for client in waiting:
            client.close()


def test_a_server_that_shakes_no_hands_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        allow = Allowed({"127.0.0.1"}, {port})
        with pytest.raises(FetchError, match="takes too long to answer"):
            fetch(f"https://127.0.0.1:{port}/", allow=allow, limits=SHORT)


def test_control_c_closes_the_connection(site: Site) -> None:
    site.answers["/"] = site.forever(HEAD + b"\r\n", b"x" * 65536)

    def stop(_: int, __: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch(site.url(), allow=site.allow, progress=stop)
    assert site.left.wait(PATIENCE)


def test_an_error_of_who_shows_the_progress_is_theirs(site: Site) -> None:
    site.answers["/"] = answer(b"x")

    def fail(_: int, __: int) -> None:
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        fetch(site.url(), allow=site.allow, progress=fail)


# --- robots.txt -----------------------------------------------------------------------------------

AWAY = b"User-agent: *\nDisallow: /private\n\nUser-agent: co-cli\nDisallow: /not-for-co\n"


def test_robots_txt_is_heeded_for_a_model_and_not_for_a_person(site: Site) -> None:
    site.answers["/robots.txt"] = answer(AWAY)
    site.answers["/not-for-co"] = site.answers["/open"] = answer(b"page")
    with pytest.raises(FetchError) as error:
        fetch(site.url("/not-for-co"), allow=site.allow, robots=True)
    assert error.value.sentence() == (
        f"127.0.0.1 asks programs not to fetch {site.url('/not-for-co')}."
        " A person may fetch it: co ingest URL."
    )
    assert fetch(site.url("/open"), allow=site.allow, robots=True).body == b"page"
    assert site.paths() == ["/robots.txt", "/robots.txt", "/open"]
    assert fetch(site.url("/not-for-co"), allow=site.allow).body == b"page"
    assert site.paths()[3:] == ["/not-for-co"]


def test_a_redirect_to_what_robots_txt_forbids_is_not_followed(site: Site) -> None:
    site.answers["/robots.txt"] = answer(AWAY)
    site.answers["/"] = redirect("/not-for-co")
    with pytest.raises(FetchError, match="asks programs not to fetch"):
        fetch(site.url(), allow=site.allow, robots=True)
    assert site.paths() == ["/robots.txt", "/"]


@pytest.mark.parametrize("status", ["404 Not Found", "403 Forbidden", "410 Gone"])
def test_without_a_robots_txt_all_is_open(status: str, site: Site) -> None:
    site.answers |= {"/robots.txt": answer(b"", status), "/": answer(b"page")}
    assert fetch(site.url(), allow=site.allow, robots=True).body == b"page"


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        (answer(b"", "503 Busy"), "{} is not served now (503)"),
        (answer(b"", "304 Not Modified"), "{} is not served now (304)"),
        (answer(b"half", length=9), "Only a part of {} came"),
        (
            redirect("http://10.0.0.1/"),
            "10.0.0.1 is not on the public internet: its address is private",
        ),
        ("User-agent: *\nCrawl-delay: ²\n", "{} cannot be understood"),
    ],
)
def test_where_robots_txt_is_not_told_nothing_is_fetched(
    rules: bytes | str, said: str, site: Site
) -> None:
    told = rules if isinstance(rules, bytes) else answer(rules.encode())
    site.answers |= {"/robots.txt": told, "/": answer(b"page")}
    with pytest.raises(FetchError) as error:
        fetch(site.url(), allow=site.allow, robots=True)
    assert str(error.value) == said.format(site.url("/robots.txt"))
    assert site.paths() == ["/robots.txt"]


# --- TLS ------------------------------------------------------------------------------------------


@pytest.fixture
def secure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """A site whose certificate, made out to right.example.org, this machine trusts."""
    authority = Authority(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    with serving(authority.server("right.example.org")) as site:
        site.answers["/"] = answer(b"page")
        yield site


def visit(site: Site, host: str, path: str = "/") -> Page:
    allow = Allowed({host}, {site.port})
    return fetch(site.url(path, host), allow=allow, resolve=Names("127.0.0.1"), limits=SMALL)


def test_a_certificate_is_checked_against_the_name_and_not_the_address(secure: Site) -> None:
    """Red when the pinned address, or nothing, is what the certificate is compared with."""
    assert visit(secure, "right.example.org").body == b"page"
    assert len(secure.requests) == 1
    for host in ("wrong.example.org", "example.org", "127.0.0.1"):
        with pytest.raises(FetchError, match=f"{host} cannot prove who it is: "):
            visit(secure, host)
    assert len(secure.requests) == 1


def test_a_certificate_that_nobody_vouches_for_is_refused(
    secure: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SSL_CERT_FILE")
    with pytest.raises(FetchError, match=r"right\.example\.org cannot prove who it is: "):
        visit(secure, "right.example.org")
    assert secure.requests == []


def test_https_never_becomes_http(secure: Site, site: Site) -> None:
    secure.answers["/"] = redirect(site.url())
    allow = Allowed({"right.example.org", "127.0.0.1"}, {secure.port, site.port})
    with pytest.raises(FetchError, match="leads from https to http"):
        fetch(secure.url(host="right.example.org"), allow=allow, resolve=Names("127.0.0.1"))
    assert site.connections == 0
    site.answers["/"] = redirect(secure.url("/page", "right.example.org"))
    secure.answers["/page"] = answer(b"safer")
    assert fetch(site.url(), allow=allow, resolve=Names("127.0.0.1")).body == b"safer"


def test_a_server_that_speaks_no_tls_is_told(site: Site) -> None:
    url = site.url().replace("http:", "https:")
    with pytest.raises(FetchError, match=r"127\.0\.0\.1 speaks no https that Co understands"):
        fetch(url, allow=site.allow)
