"""The page's server: what it shows and changes, and that nobody but the page is answered."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any

import pytest
from cli import COMMAND, PATIENCE, co
from page import Answer, Client, serving

from co_cli import trust
from co_cli.connections import MOST
from co_cli.extras import install_hint
from co_cli.knowledge import Notebook
from co_cli.knowledge.inbox import Draft, put
from co_cli.web.server import HEADERS, LARGEST
from co_cli.web.state import State
from co_cli.web.views import to_html
from co_cli.workspace import Workspace

STATIC = Path(__file__).parent.parent / "co_cli" / "web" / "static"
EVIL = "http://evil.example"


def learn(*texts: str) -> None:
    workspace = Workspace()
    trust.claim(workspace.project, "2026-11-01T00:00:00+00:00")
    for text in texts:
        workspace.shelf.project.remember(text, ["decision"])


@pytest.fixture
def page() -> Iterator[Client]:
    learn("We deploy on Tuesdays", "The cat is called Minka")
    with serving() as client:
        yield client.enter()


def book() -> Notebook:
    return Workspace().shelf.project


def files() -> dict[str, bytes]:
    root = Path(".co-cli/knowledge")
    return {str(path): path.read_bytes() for path in root.rglob("*.md")}


def seen(page: Client, ref: str) -> dict[str, Any]:
    told: dict[str, Any] = page.get(f"note?ref={ref}")
    return told


# Who is answered

SAVE = b'{"text": "forged", "scope": "project", "tags": ""}'


def forged(page: Client) -> list[tuple[str, str, dict[str, str], bytes]]:
    """Requests that others may make; each differs from the page's own in what is named."""
    own, host, port = page.writing(SAVE), page.host, page.host.partition(":")[2]
    reads, bare = page.reading, {n: one for n, one in own.items() if n != "Authorization"}
    writes = [
        own | {"Host": "evil.example"},
        own | {"Host": f"evil.example:{port}", "Origin": f"{EVIL}:{port}"},
        own | {"Host": f"127.0.0.1.evil.example:{port}"},
        own | {"Host": "127.0.0.1"},
        own | {"Host": f"[::1]:{port}"},
        own | {"Host": f"{host}\nevil.example"},
        own | {"Host": f"{host}."},
        own | {"Host": f"user@{host}"},
        own | {"Host": f"0.0.0.0:{port}"},
        own | {"Host": ""},
        own | {"Origin": EVIL},
        own | {"Origin": "null"},
        own | {"Origin": f"https://{host}"},
        own | {"Origin": f"http://localhost:{port}"},
        own | {"Origin": f"{page.origin}\n{EVIL}"},
        own | {"Origin": f"{page.origin}.evil.example"},
        own | {"Origin": page.origin.upper()},
        own | {"Origin": "http://127.0.0.1:1"},
        own | {"Sec-Fetch-Site": "cross-site"},
        own | {"Sec-Fetch-Site": "same-site"},
        own | {"Content-Type": "text/plain"},
        own | {"Content-Type": "application/x-www-form-urlencoded"},
        own | {"Content-Type": "multipart/form-data; boundary=x"},
        own | {"Content-Type": "application/json; charset=evil"},
        own | {"Authorization": ""},
        own | {"Authorization": own["Authorization"][:-1]},
        own | {"Authorization": f"{own['Authorization']}x"},
        own | {"Authorization": own["Authorization"].replace("Bearer", "Basic")},
        own | {"Authorization": page.secret},
        own | {"Authorization": "Bearer \xe9"},
        own | {"Authorization": f"Bearer guess\n{own['Authorization']}"},
        bare | {"Cookie": f"co-{port}={page.secret}; token={page.secret}"},
        bare | {"X-Co": "page"},
        own | {"Content-Length": str(LARGEST + 1)},
        own | {"Content-Length": f"{LARGEST + 1:020d}"},
        own | {"Transfer-Encoding": "chunked"},
        {name: value for name, value in own.items() if name != "Origin"},
        {name: value for name, value in own.items() if name != "Content-Type"},
        {name: value for name, value in own.items() if name != "Host"},
    ]
    other = [
        ("GET", "/api/list", {"Host": host}, b""),
        ("GET", "/api/list", reads | {"Host": "evil.example"}, b""),
        ("GET", "/api/list", reads | {"Origin": EVIL}, b""),
        ("GET", "/api/version", reads | {"Sec-Fetch-Site": "cross-site"}, b""),
        ("GET", f"/api/list?token={page.secret}", {"Host": host}, b""),
        ("GET", "/app.js", {"Host": host, "Sec-Fetch-Site": "cross-site"}, b""),
        ("GET", "/api/save?text=forged&scope=project", reads, b""),
        ("GET", "/../../etc/passwd", reads, b""),
        ("GET", f"{EVIL}/api/list", reads | {"Host": "evil.example"}, b""),
        ("PUT", "/api/save", own, SAVE),
        ("DELETE", "/api/forget", own, SAVE),
        ("OPTIONS", "/api/save", own, b""),
        ("POST", "/", own, SAVE),
        ("POST", "/api/list", own, SAVE),
        ("POST", "/api/save", bare, b'{"token": "' + page.secret.encode() + b'", "text": "x"}'),
    ]
    return [*(("POST", "/api/save", headers, SAVE) for headers in writes), *other]


def test_none_of_40_forged_requests_is_accepted(page: Client) -> None:
    """Red when a check of Host, Origin, secret, kind, size or method is left out."""
    before, every = files(), forged(page)
    assert len(every) >= 40
    taken = []
    for method, path, headers, body in every:
        length = {} if "Content-Length" in headers else {"Content-Length": str(len(body))}
        answer = page.ask(method, path, headers | length, body)
        if answer.status < 400 or b"Minka" in answer.body or "set-cookie" in answer.headers:
            taken.append((method, path, headers))
    assert taken == []
    assert files() == before
    assert page.do("save", text="ours", scope="project", tags="")["action"] == "created"


def test_only_loopback_is_listened_on(page: Client) -> None:
    assert page.host.startswith("127.0.0.1:")


def test_a_large_write_without_its_true_size_is_cut_off(page: Client) -> None:
    body = b'{"text": "' + b"x" * LARGEST + b'"}'
    chunked = {k: v for k, v in page.writing(body).items() if k != "Content-Length"}
    assert page.ask("POST", "/api/save", chunked, b"").status == 413


def test_nothing_that_a_browser_sends_by_itself_lets_anybody_in(page: Client) -> None:
    """Red when a cookie is set or read: it would go to every server of this machine."""
    paths = ["/", "/app.js", "/api/start", "/api/none"]
    answers = [page.ask("GET", path, page.reading) for path in paths]
    answers += [page.ask("GET", path, {"Host": page.host}) for path in paths]
    assert [one.status for one in answers] == [200, 200, 200, 404, 200, 200, 401, 401]
    assert [
        one.headers for one in answers if {"set-cookie", "www-authenticate"} & {*one.headers}
    ] == []
    assert [one.body for one in answers if page.secret.encode() in one.body] == []


ASK = """
import http.client, os, socket, sys
host, secret, kind, user = sys.argv[1:]
if int(user) != os.getuid():  # only now, for another user may not be able to start this Python
    os.setuid(int(user))
link = http.client.HTTPConnection(host)
address = ("127.0.0.1", link.port) if kind == "4" else ("::ffff:127.0.0.1", link.port)
link.sock = socket.socket(socket.AF_INET if kind == "4" else socket.AF_INET6)
link.sock.connect(address)
link.request("GET", "/api/list", headers={"Host": host, "Authorization": "Bearer " + secret})
print(link.getresponse().status)
"""


@pytest.mark.parametrize("kind", ["4", "6"])
def test_another_user_who_knows_the_secret_is_refused(page: Client, kind: str) -> None:
    """Red when whoever reads the address, as in a list of processes, may use it.

    Only root may become another user; anybody can be themselves.
    """
    expected = {os.getuid(): "200"} | ({65534: "403"} if os.getuid() == 0 else {})
    status = {}
    for user in expected:
        words = [sys.executable, "-c", ASK, page.host, page.secret, kind, str(user)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        status[user] = done.stdout.strip() or done.stderr
    assert status == expected


def unfinished(page: Client) -> list[bytes]:
    """What somebody sends who does not end a request, or begins no other."""
    head = b"".join(f"{n}: {v}\r\n".encode() for n, v in page.writing(SAVE).items())
    write = b"POST /api/save HTTP/1.1\r\n"
    whole = b"GET /app.js HTTP/1.1\r\nHost: " + page.host.encode() + b"\r\n\r\n"
    stranger = head.replace(page.secret.encode(), b"guess")
    return [b"", b"GET / HTTP/1.1\r\nHost: ", write, write + head + b"\r\n{", whole, whole + write,
            write + stranger + b"\r\n{"]  # fmt: skip


def held(page: Client, stack: ExitStack, pieces: list[bytes]) -> list[socket.socket]:
    """Connections, one after another, on each of which one of these was sent."""
    host, _, port = page.host.partition(":")
    links = []
    for piece in pieces:
        links.append(socket.create_connection((host, int(port)), PATIENCE))
        stack.enter_context(links[-1])
        with suppress(OSError):  # where it was closed to make room
            links[-1].sendall(piece)
    return links


def test_a_hundred_connections_that_are_held_keep_nobody_out() -> None:
    """Red when the next connection is turned away while others say nothing."""
    learn("We deploy on Tuesdays")
    with serving(seconds=3600) as page, ExitStack() as stack:
        held(page.enter(), stack, unfinished(page) * 15)
        assert seen(page, "1")["ref"] == "1"
        assert page.do("save", text="Tea at four", tags="", scope="project")["ref"] == "2"
        assert len(page.server.server_state.connections) <= MOST


def test_a_connection_on_which_no_request_arrives_is_closed() -> None:
    """Red when an idle or half-open connection is held for as long as its other end likes."""
    with serving(seconds=1) as page, ExitStack() as stack:
        for link in held(page.enter(), stack, unfinished(page)):
            with suppress(ConnectionResetError):
                while link.recv(65536):
                    pass


def test_every_answer_forbids_what_comes_from_outside(page: Client) -> None:
    """Red when an answer, also a refusal, lacks a header."""
    for path, headers in (("/", {"Host": page.host}), ("/api/list", page.reading),
                          ("/api/x", {"Host": "evil.example"})):  # fmt: skip
        answer = page.ask("GET", path, headers)
        assert {name: answer.headers.get(name.lower()) for name in HEADERS} == HEADERS
    policy = HEADERS["Content-Security-Policy"]
    assert "unsafe" not in policy
    assert "*" not in policy


def test_the_page_is_small_and_names_nothing_outside() -> None:
    """Red when the page grows, holds inline script or style, or names another host."""
    texts = {path.name: path.read_text("utf-8") for path in STATIC.iterdir()}
    assert sum(len(text.encode()) for text in texts.values()) < 150_000
    assert sum(text.count("\n") for text in texts.values()) < 1_500
    for name, text in texts.items():
        assert re.findall(r"(?:https?:)?//[\w.]+\.\w+", text.replace("http://www.w3.org", "")) == []
        if name == "index.html":
            assert re.findall(r"<script(?![^>]*\bsrc=)|\son\w+=|\sstyle=", text) == []


# What is shown


def test_the_list_is_newest_first_and_filters_narrow_it(page: Client) -> None:
    co("learn", "-g", "I like tea", "--tag", "preference")
    co("knowledge", "protect", "1")
    told = page.get("start")
    assert {row["ref"] for row in told["rows"]} == {"1", "2", "g1"}
    assert (told["count"], told["tags"], told["drafts"]) == (3, {"decision": 2, "preference": 1}, 0)

    def refs(query: str) -> list[str]:
        return sorted(row["ref"] for row in page.get(f"list?{query}")["rows"])

    assert refs("scope=user") == ["g1"]
    assert refs("tag=decision") == ["1", "2"]
    assert refs("category=preference") == ["g1"]
    assert refs("state=protected") == ["1"]
    assert refs("kind=article") == []
    assert refs("days=7") == ["1", "2", "g1"]
    assert refs("state=stale") == []
    assert page.ask("GET", "/api/list?days=-1", page.reading).status == 400


def test_an_answer_shows_the_passage_the_words_and_the_reason(page: Client) -> None:
    (row,) = page.get("search?q=tuesdays")["rows"]
    assert row["passage"] == [["We deploy on ", 0], ["Tuesdays", 1], ["", 0]]
    assert (row["ref"], row["why"], row["weak"]) == ("1", "exact text", False)
    assert page.get("search?q=tuesdays&scope=user")["rows"] == []


def test_a_filter_narrows_all_that_answers_and_not_the_best_alone(page: Client) -> None:
    """Red when what is filtered are the few best answers."""
    with Workspace().shelf.project as notes:
        for number in range(20):
            notes.remember(f"Zebra stall {number} is painted", [f"n{number}"])
    asked = "search?q=zebra+stall+painted"
    best = {row["ref"] for row in page.get(asked)["rows"]}
    far = next(str(number) for number in range(3, 23) if str(number) not in best)
    co("knowledge", "pin", far)
    assert [row["ref"] for row in page.get(f"{asked}&state=pinned")["rows"]] == [far]


def test_a_note_has_its_links_history_and_diff(page: Client) -> None:
    notes = book()
    notes.remember("We deploy on Wednesdays", related=[notes.find("1")])
    co("knowledge", "tag", "1", "weekly")
    told = seen(page, "1")
    assert told["html"] == "<p>We deploy on Tuesdays</p>\n"
    assert [(one["ref"], one["how"]) for one in told["links"]] == [("3", "related to")]
    assert [one["op"] for one in told["history"]] == ["edit", "save"]
    last, first = (page.get(f"diff?ref=1&n={one['n']}")["lines"] for one in told["history"])
    assert "+- weekly" in last
    assert "+We deploy on Tuesdays" in first
    assert page.ask("GET", "/api/diff?ref=1&n=2", page.reading).status == 404


def test_an_article_is_shown_in_its_passages(page: Client) -> None:
    text = "# Guide\n\nIntro.\n\n## After\n\nWatch the error rate.\n"
    Path("guide.md").write_text(text)
    assert co("ingest", "guide.md").code == 0
    (row,) = page.get("search?q=error+rate")["rows"]
    assert (row["kind"], row["anchor"]) == ("article", "after")
    passages = seen(page, row["ref"])["passages"]
    told = [(one["anchor"], one["heading"], one["html"]) for one in passages]
    assert ("after", "After", "<p>Watch the error rate.</p>\n") in told


def test_a_very_long_text_is_shown_as_it_is_and_at_once(page: Client) -> None:
    """Red when markdown that takes seconds is rendered."""
    head = "---\nid: 7\ncreated: 2026-01-01T00:00:00Z\n---\n\n"
    table = "| a | b |\n|-|-|\n" + "| x | y |\n" * 30_000
    Path(".co-cli/knowledge/memories/007-long.md").write_text(head + table)
    told = seen(page, "7")
    assert (told["html"], told["content"]) == ("", table.strip())
    Path("long.md").write_text(f"# Long\n\n## Part\n\n{'some words here. ' * 15_000}")
    assert co("ingest", "long.md").code == 0
    passages = seen(page, "a:long")["passages"]
    assert {one["html"] for one in passages} == {""}
    assert "some words here." in passages[-1]["text"]


def test_what_is_sensitive_is_nowhere_on_the_page(page: Client) -> None:
    """Red when any view forgets that a note is marked sensitive."""
    secret = "The alarm's nickname is Zebrafish"
    for text in (secret, f"{secret} and more of it here"):
        assert co("learn", text, "--tag", "zebratag").code == 0
    for number in ("3", "4"):
        assert co("knowledge", "sensitive", number).code == 0
    assert co("forget", "4", "--yes").code == 0
    views = "start list search?q=zebrafish inbox archive changes pictures health eval".split()
    views.append("note?ref=1")
    texts = [page.ask("GET", f"/api/{view}", page.reading).body.decode() for view in views]
    assert [view for view, text in zip(views, texts, strict=True) if "zebra" in text.lower()] == []
    assert page.ask("GET", "/api/note?ref=3", page.reading).status == 404
    assert page.post("restore", ref="4").status == 400
    clash = page.post("save", text="The alarm's nickname is Tiger now", scope="project", tags="")
    assert clash.status == 409
    assert "Zebrafish" not in clash.body.decode()
    with serving(sensitive=True) as other:
        assert "Zebrafish" in seen(other.enter(), "3")["html"]


def test_no_write_answers_with_what_is_sensitive(page: Client) -> None:
    """Red when an answer holds the similar notes' texts, or an error a sensitive note's file."""
    for text in ("The alarm is called Zebrafish", "Zebrafish is the word at the gate"):
        assert co("learn", text).code == 0
    put(book(), [Draft("The alarm is called Puma")], actor="agent")
    put(book(), [Draft("Zebrafish sleeps", fields=(("sensitive", True),))], actor="agent")
    for number in ("3", "4"):
        assert co("knowledge", "sensitive", number).code == 0
    assert co("forget", "4", "--yes").code == 0
    (draft,) = page.get("inbox")["rows"]
    hidden = page.ask("GET", "/api/note?ref=i:zebrafish-sleeps", page.reading)
    assert (hidden.status, b"Zebrafish sleeps" in hidden.body) == (404, False)

    def twice(name: str, choice: str, said: dict[str, str]) -> list[Answer]:
        first = page.post(name, **said)
        assert first.status == 409
        agreed = first.json["now"]["agreed"]
        return [first, page.post(name, **said, agreed=agreed, choice=choice)]

    own = {"text": "The alarm is called Tiger", "tags": "", "scope": "project"}
    answers = twice("save", "update", own)
    answers += twice("save", "replace", own | {"text": "The alarm is called Bear"})
    met = {"ref": draft["ref"], "seen": draft["seen"], "tags": ""}
    answers += twice("accept", "keep", met | {"text": "The alarm is called Lion"})
    assert [one.status for one in answers] == [409, 200] * 3
    answers.append(page.ask("GET", "/api/updates", page.reading))
    path = next(Path(".co-cli/knowledge/memories").glob("003*"))
    path.write_text(path.read_text() + "more\n")
    path.with_name("003-zebrafish-too.md").write_bytes(path.read_bytes())
    every = range(1, 1 + page.get("changes")["rows"][0]["n"])
    answers += [page.post("undo", scope="project", n=str(number)) for number in every]
    answers += [page.post("restore", ref=ref) for ref in ("3", "4", "i:zebrafish-sleeps")]
    for name in ("edit", "mark", "forget", "accept", "reject"):
        said = {"ref": "3", "seen": "", "text": "x", "tags": "", "mark": "pin"}
        answers += [
            page.post(name, **said),
            page.post(name, **said | {"ref": "i:zebrafish-sleeps"}),
        ]
    for kept in Path(".co-cli/knowledge/archive").rglob("*zebra*"):
        kept.write_text("broken")
    answers += [page.ask("GET", f"/api/{name}", page.reading) for name in ("health", "archive")]
    assert [one.body for one in answers if b"zebra" in one.body.lower()] == []


def test_what_nobody_agreed_to_is_marked_and_not_rendered() -> None:
    """Red when a note that came with git looks like one of the person's own."""
    notes = Path(".co-cli/knowledge/memories")
    notes.mkdir(parents=True)
    (notes / "001-x.md").write_text(
        "---\nid: 1\ncreated: 2026-01-01T00:00:00Z\n---\n\n**Obey** me\n"
    )
    drafts = Path(".co-cli/knowledge/inbox")
    drafts.mkdir()
    (drafts / "y.md").write_text(
        "---\ncreated: 2026-01-01T00:00:00Z\nsource: user-told\nquote: I said it\n---\n\nObey\n"
    )
    with serving() as page:
        told, draft = seen(page.enter(), "1"), seen(page, "i:y")
        pinned = page.post("mark", ref="i:y", seen=draft["seen"], mark="pin")
    assert (told["untrusted"], told["html"], told["content"]) == (True, "", "**Obey** me")
    assert (draft["external"], draft["source"], pinned.status) == (True, "outside", 400)


def test_hidden_characters_are_shown_but_in_what_is_edited(page: Client) -> None:
    path = next(Path(".co-cli/knowledge/memories").glob("001*"))
    path.write_text(path.read_text().replace("Tuesdays", "Tues\u202edays"))
    told = seen(page, "1")
    assert told["summary"] == "We deploy on Tues<U+202E>days"
    assert "&lt;U+202E&gt;" in told["html"]
    assert told["written"]["text"] == "We deploy on Tues\u202edays"


PAYLOADS = [
    "<script>X</script>", "<img src=x onerror=X>", "<svg onload=X>", "<iframe src=javascript:X>",
    "[a](javascript:X)", "[a](JaVaScRiPt:X)", "[a](data:text/html,<script>X</script>)",
    "[a](vbscript:X)", "![a](http://evil.example/x.png)", "![a](javascript:X)",
    "<style>@import 'http://evil.example'</style>", "<a href='javascript:X'>a</a>",
    "<body onload=X>", "<math><mi xlink:href='data:x'>", "`<script>X</script>`",
    "[a]: javascript:X\n\n[a]", "<javascript:X>", "<http://evil.example/>",
    "| <script> |\n|-|\n| X |", "[a](/api/undo)",
]  # fmt: skip


@pytest.mark.parametrize("payload", PAYLOADS)
def test_rendered_markdown_runs_and_loads_nothing(payload: str) -> None:
    """Red without the sanitiser."""
    html = to_html(payload)
    assert re.findall(r"<(?!/?(?:a|p|pre|code|em|h1|table|t[rhdb]\w*)\b)", html) == []
    assert re.findall(r"<[^>]*\b(?:src|on\w+|style)\s*=", html) == []
    assert [url for url in re.findall(r'href="([^"]*)"', html) if url[:4] != "http"] == []


# What is changed


def test_a_note_is_written_edited_marked_forgotten_restored_and_undone(page: Client) -> None:
    done = page.do("save", text="Tea at four", tags="habit\nteam", scope="project")
    assert (done["ref"], done["action"]) == ("3", "created")
    told = seen(page, "3")
    assert told["tags"] == ["habit", "team"]
    page.do("edit", ref="3", seen=told["seen"], text="Tea at *five*", tags="habit")
    told = seen(page, "3")
    assert (told["html"], told["tags"]) == ("<p>Tea at <em>five</em></p>\n", ["habit"])
    same = page.do("edit", ref="3", seen=told["seen"], text="Tea at *five*", tags="habit")
    assert same["display"] == "Nothing changed."
    page.do("mark", ref="3", seen=told["seen"], mark="protect")
    told = seen(page, "3")
    assert told["protected"]
    refused = page.post("forget", ref="3", seen=told["seen"])
    assert (refused.status, "protected" in refused.json["error"]) == (400, True)
    page.do("mark", ref="3", seen=told["seen"], mark="unprotect")
    page.do("forget", ref="3", seen=seen(page, "3")["seen"])
    assert [row["ref"] for row in page.get("archive")["rows"]] == ["3"]
    done = page.do("restore", ref="3")
    assert seen(page, "3")["html"] == "<p>Tea at <em>five</em></p>\n"
    page.do("undo", scope="project", n=str(done["change"]))
    assert [row["ref"] for row in page.get("list")["rows"]] == ["2", "1"]
    actors = [entry.actor for entry in book().store.entries()]
    assert actors == ["cli", "cli", *["web"] * 7]


def test_an_edit_over_a_file_that_changed_shows_both_and_overwrites_nothing(page: Client) -> None:
    """Red when a save does not look at what the person saw."""
    before = seen(page, "1")["seen"]
    path = next(Path(".co-cli/knowledge/memories").glob("001*"))
    path.write_text(path.read_text().replace("Tuesdays", "Mondays"))
    for name, more in (("edit", {"text": "We never deploy", "tags": ""}), ("forget", {}),
                       ("mark", {"mark": "pin"})):  # fmt: skip
        answer = page.post(name, ref="1", seen=before, **more)
        assert answer.status == 409
        assert answer.json["now"]["written"]["text"] == "We deploy on Mondays"
    assert "We deploy on Mondays" in path.read_text()
    now = answer.json["now"]["seen"]
    page.do("edit", ref="1", seen=now, text="We never deploy", tags="")
    assert "We never deploy" in path.read_text()


THURSDAY = {"text": "We deploy on Thursdays", "tags": "", "scope": "project"}


def answered(page: Client, name: str, choice: str, **said: str) -> Any:
    """What comes of a write once its question has this answer."""
    question = page.post(name, **said)
    assert question.status == 409, question.body
    return page.do(name, **said, agreed=question.json["now"]["agreed"], choice=choice)


def test_a_text_that_updates_a_note_is_saved_after_the_person_saw_it(page: Client) -> None:
    """Red when the page saves without asking, or another note than the person saw is linked."""
    answer = page.post("save", **THURSDAY)
    assert (answer.status, answer.json["now"]["verdict"]) == (409, "updates")
    assert answer.json["error"] == "this brings 1 out of date. Nothing is saved yet."
    now = answer.json["now"]
    assert [(one["ref"], one["text"]) for one in now["matches"]] == [("1", "We deploy on Tuesdays")]
    co("knowledge", "tag", "1", "weekly")  # which the person has not seen
    again = page.post("save", **THURSDAY, agreed=now["agreed"], choice="update")
    assert again.status == 409
    agreed = again.json["now"]["agreed"]
    assert page.post("save", **THURSDAY, agreed=agreed).status == 400
    assert page.post("save", **THURSDAY, agreed=agreed, choice="other").status == 400
    done = page.do("save", **THURSDAY, agreed=agreed, choice="update")
    assert done["display"] == "Saved memory 3. It updates 1."
    assert [(one["ref"], one["how"]) for one in seen(page, "3")["links"]] == [("1", "updates")]
    assert [(one["ref"], one["how"]) for one in seen(page, "1")["links"]] == [("3", "updated by")]
    assert page.get("list?state=stale")["rows"][0]["updated_by"] == "3"
    page.do("undo", scope="project", n=str(done["change"]))
    assert seen(page, "1")["links"] == []


def test_the_older_note_is_replaced_or_both_are_kept(page: Client) -> None:
    done = answered(page, "save", "replace", **THURSDAY)
    assert done["display"] == "Saved memory 3. It replaces 1, which is archived."
    wednesday = THURSDAY | {"text": "We deploy on Wednesdays"}
    assert answered(page, "save", "keep", **wednesday)["action"] == "related"
    assert [(one["ref"], one["how"]) for one in seen(page, "4")["links"]] == [("3", "related to")]
    co("knowledge", "protect", "3")
    co("forget", "4", "--yes")
    question = page.post("save", **wednesday)
    assert [one["replaceable"] for one in question.json["now"]["matches"]] == [False]
    agreed = question.json["now"]["agreed"]
    assert page.post("save", **wednesday, agreed=agreed, choice="replace").status == 400


def test_of_several_notes_the_person_says_which_are_out_of_date(page: Client) -> None:
    """Red when a note is linked that the person took out."""
    fields = (("replaces", book().find("2").uid),)
    put(book(), [Draft(THURSDAY["text"], fields=fields)], actor="agent")
    (draft,) = page.get("inbox")["rows"]
    said = THURSDAY | {"ref": draft["ref"], "seen": draft["seen"]}
    question = page.post("accept", **said).json["now"]
    assert [one["ref"] for one in question["matches"]] == ["2", "1"]
    answer = {"agreed": question["agreed"], "choice": "update", "refs": "1"}
    assert page.do("accept", **said, **answer)["display"] == "Saved memory 3. It updates 1."
    links = {(one["ref"], one["how"]) for one in seen(page, "3")["links"]}
    assert links == {("1", "updates"), ("2", "related to")}


def test_a_text_that_restates_a_note_is_noted_already(page: Client) -> None:
    said = {"text": "The cat's name is Minka", "tags": "", "scope": "project"}
    answer = page.post("save", **said)
    assert (answer.status, answer.json["now"]["verdict"]) == (409, "restates")
    assert answer.json["error"] == "already noted as 2. Nothing is saved yet."
    agreed = answer.json["now"]["agreed"]
    assert page.post("save", **said, agreed=agreed, choice="update").status == 400
    assert page.do("save", **said, agreed=agreed, choice="keep")["action"] == "related"
    same = page.do("save", **said | {"text": "The cat is called Minka."})
    assert same["display"] == "Already noted as 2, now in your words."
    other = page.post("save", **said | {"text": "The cat is called Minka.", "scope": "user"})
    assert other.json["error"] == "already noted as 2. Nothing is saved yet."


def test_a_note_of_the_other_notebook_is_linked_and_never_written(page: Client) -> None:
    """Red when a save here may replace a note there."""
    before = files()
    question = page.post("save", **THURSDAY | {"scope": "user"})
    assert [one["replaceable"] for one in question.json["now"]["matches"]] == [False]
    done = answered(page, "save", "update", **THURSDAY | {"scope": "user"})
    assert done["display"] == "Saved memory g1. It updates 1."
    assert files() == before
    assert [(one["ref"], one["how"]) for one in seen(page, "1")["links"]] == [("g1", "updated by")]
    rows = page.get("search?q=deploy")["rows"]
    assert [(row["ref"], row["earlier"]) for row in rows] == [("g1", False), ("1", True)]


def test_an_edit_asks_about_other_notes_and_never_about_itself(page: Client) -> None:
    """Red when an edit is compared with what it edits, or asks again about what it links to."""
    learn("Releases are announced by mail")
    said = {"ref": "3", "seen": seen(page, "3")["seen"], "tags": ""}
    assert page.post("edit", **said, text="Releases are announced by chat").status == 200
    said = {"ref": "3", "seen": seen(page, "3")["seen"], "tags": "plan"}
    done = answered(page, "edit", "update", **said, text="Deployments are on Fridays now")
    assert done["display"] == "Edited memory 3. It updates 1."
    told = seen(page, "3")
    assert (told["tags"], [one["how"] for one in told["links"]]) == (["plan"], ["updates"])
    said |= {"seen": told["seen"], "text": "Deployments are on Mondays now"}
    page.do("edit", **said)
    said |= {"seen": seen(page, "3")["seen"], "text": "The cat is called Mimi now"}
    done = answered(page, "edit", "replace", **said)
    assert done["display"] == "Edited memory 3. It replaces 2, which is archived."
    page.do("undo", scope="project", n=str(done["change"]))
    assert seen(page, "2")["content"] == "The cat is called Minka"


def test_a_draft_that_corrects_a_note_is_linked_or_replaces_it(page: Client) -> None:
    """Red when accepting archives a note that the person was not asked about."""
    fields = (("replaces", book().find("2").uid),)
    for text in ("Its name is Mimi", "Its name is Momo"):
        put(book(), [Draft(text, fields=fields)], actor="agent")
    mimi, momo = page.get("inbox")["rows"]
    said = {"ref": mimi["ref"], "seen": mimi["seen"], "text": "Its name is Mimi", "tags": ""}
    assert answered(page, "accept", "update", **said)["display"] == "Saved memory 3. It updates 2."
    said = {"ref": momo["ref"], "seen": momo["seen"], "text": "Its name is Momo", "tags": ""}
    assert answered(page, "accept", "replace", **said)["action"] == "updated"
    assert "2" not in {row["ref"] for row in page.get("list")["rows"]}


def test_an_outdated_note_is_shown_under_its_update_whatever_is_filtered(page: Client) -> None:
    """Red when a filter leaves the older note alone."""
    notes = book()
    notes.remember("We deploy on Thursdays", ["plan"], updates=[notes.find("1")])
    for asked in ("search?q=deploy", "search?q=tuesdays", "search?q=deploy&category=decision",
                  "search?q=deploy&fast=yes"):  # fmt: skip
        rows = page.get(asked)["rows"]
        shown = [(row["ref"], row["earlier"], row["updated_by"]) for row in rows[:2]]
        assert shown == [("3", False, None), ("1", True, "3")], asked
    co("knowledge", "sensitive", "3")
    assert "1" not in [row["ref"] for row in page.get("search?q=tuesdays")["rows"]]


# What nobody has confirmed


def pairs(page: Client, many: int) -> list[dict[str, Any]]:
    """The pairs to review, once there are so many: the page finds them while nobody asks."""
    link, version = http.client.HTTPConnection(page.host, timeout=PATIENCE), ""
    rows: list[dict[str, Any]]
    while len(rows := page.get("updates")["rows"]) != many:
        link.request("GET", f"/api/version?known={version}", headers=page.reading)
        version = json.loads(link.getresponse().read())["version"]
    link.close()
    return rows


def test_pairs_that_nobody_confirmed_are_linked_kept_or_forgotten() -> None:
    """Red when the page compares nothing by itself, or a decision cannot be taken back."""
    learn("We deploy on Tuesdays", "The cat is called Minka", "Prices are stored in cents")
    learn("We deploy on Thursdays", "The cat is called Mimi", "Prices are stored in euros")
    with serving() as page:
        rows = pairs(page.enter(), 3)
        assert page.get("start")["pairs"] == 3
        found = {row["newer"]["ref"]: row for row in rows}
        assert {ref: row["older"]["text"] for ref, row in found.items()} == {
            "4": "We deploy on Tuesdays",
            "5": "The cat is called Minka",
            "6": "Prices are stored in cents",
        }
        assert [(one["ref"], one["how"]) for one in seen(page, "4")["links"]] == [
            ("1", "maybe updates")
        ]
        (old,) = [r for r in page.get("search?q=tuesdays")["rows"] if r["ref"] == "1"]
        assert (old["maybe_updated_by"], old["earlier"]) == ("4", False)

        def chosen(ref: str, choice: str) -> dict[str, str]:
            row = found[ref]
            refs = {"newer": ref, "older": row["older"]["ref"]}
            return refs | {"agreed": row["agreed"], "choice": choice}

        assert page.post("link", **chosen("4", "update") | {"agreed": ""}).status == 400
        done = page.do("link", **chosen("4", "update"))
        assert done["display"] == "4 now updates 1."
        assert page.do("link", **chosen("5", "keep"))["display"] == (
            "5 and 2 are kept as unrelated."
        )
        page.do("forget", ref="3", seen=found["6"]["older"]["seen"])
        assert pairs(page, 0) == []
        assert [(r["ref"], r["earlier"]) for r in page.get("search?q=tuesdays")["rows"][:2]] == [
            ("4", False), ("1", True)
        ]  # fmt: skip
        page.do("undo", scope="project", n=str(done["change"]))
        assert [row["newer"]["ref"] for row in pairs(page, 1)] == ["4"]
        path = next(Path(".co-cli/knowledge/memories").glob("001*"))
        path.write_text(path.read_text().replace("Tuesdays", "Mondays"))
        assert page.post("link", **chosen("4", "update")).status == 400


def test_a_secret_and_an_empty_text_are_refused_in_words(page: Client) -> None:
    for text in ("", "AKIA" + "QWERTYUIOPASDFGH", "a\u202eb"):
        answer = page.post("save", text=text, tags="", scope="project")
        assert (answer.status, bool(answer.json["error"])) == (400, True)


def test_a_draft_is_accepted_in_other_words_or_rejected(page: Client) -> None:
    put(
        book(),
        [Draft("Tea at four", ("habit",), "let us have tea"), Draft("Cake at five")],
        actor="agent",
    )
    tea, cake = sorted(page.get("inbox")["rows"], key=lambda row: row["summary"], reverse=True)
    assert (tea["quote"], page.get("start")["drafts"]) == ("let us have tea", 2)
    done = page.do(
        "accept", ref=tea["ref"], seen=tea["seen"], text="Tea at half past four", tags="habit"
    )
    assert seen(page, done["ref"])["html"] == "<p>Tea at half past four</p>\n"
    page.do("reject", ref=cake["ref"], seen=cake["seen"])
    assert page.get("inbox")["rows"] == []
    assert page.post("accept", ref=cake["ref"], seen=cake["seen"], text="x", tags="").status == 404


def test_the_first_note_of_a_folder_makes_it_the_persons_own() -> None:
    with serving() as page:
        page.enter().do("save", text="Begun here", tags="", scope="project")
        assert not seen(page, "1")["untrusted"]
    assert Workspace().trust.trusted


def test_a_draft_says_what_accepting_it_would_meet(page: Client) -> None:
    put(book(), [Draft("We deploy on Thursdays", (), "so"), Draft("Cake at five")], actor="agent")
    told = {row["summary"]: row for row in page.get("inbox")["rows"]}
    thursday, cake = told["We deploy on Thursdays"], told["Cake at five"]
    assert (thursday["scope"], thursday["told"]["Said"]) == ("project", "so")
    found = [page.get(f"meets?ref={one['ref']}") for one in (thursday, cake)]
    shown = [(one["verdict"], [match["text"] for match in one["matches"]]) for one in found]
    assert shown == [("updates", ["We deploy on Tuesdays"]), ("", [])]
    path = next(Path(".co-cli/knowledge/inbox").glob("cake*"))
    path.write_text(path.read_text().replace("Cake at five", "we deploy on  Tuesdays."))
    assert page.get(f"meets?ref={cake['ref']}")["same"] == "1"
    path.write_text(path.read_text().replace("we deploy", "AKIA" + "QWERTYUIOPASDFGH"))
    assert page.get(f"meets?ref={cake['ref']}")["refused"]


def test_every_change_is_listed_and_can_be_taken_back_and_again(page: Client) -> None:
    """Red when a change is missing, or one that was undone looks as if it stood."""
    co("knowledge", "pin", "2")
    co("forget", "1", "--yes")

    def listed() -> list[tuple[str, bool]]:
        return [(one["op"], one["undone"]) for one in page.get("changes")["rows"]]

    last, pinned = page.get("changes")["rows"][:2]
    assert last["notes"] == [{"ref": "", "summary": "memory 1"}]
    assert pinned["notes"] == [{"ref": "2", "summary": "The cat is called Minka"}]
    page.do("undo", scope="project", n=str(last["n"]))
    assert listed() == [
        ("undo", False), ("forget", True), ("pin", False), ("save", False), ("save", False)
    ]  # fmt: skip
    again = page.get("changes")["rows"][0]
    page.do("undo", scope="project", n=str(again["n"]))
    assert listed()[:3] == [("undo", False), ("undo", True), ("forget", False)]
    assert page.post("undo", scope="project", n=str(again["n"])).status == 400
    assert page.get("changes?from=5")["rows"][0]["op"] == "save"


HALF = b'{"text": "\\ud800", "scope": "project", "ref": "\\udfff"}'


@pytest.mark.parametrize("body", [HALF, b'["text"]', b"[" * 9000, b"\xff", b""])
def test_a_write_that_is_no_text_is_refused_in_words(page: Client, body: bytes) -> None:
    """Red when half a character is a fault of the server, or what says nothing undoes something."""
    before = files()
    for name in ("save", "edit", "restore", "undo"):
        answer = page.ask("POST", f"/api/{name}", page.writing(body), body)
        assert (answer.status, bool(answer.json["error"])) == (400, True)
    assert files() == before


def test_a_disk_that_fails_is_told_in_words(page: Client) -> None:
    """Red when the page cannot say why."""
    folder = Path(".co-cli/knowledge/memories")
    folder.rename("elsewhere")
    folder.write_text("no folder")
    answer = page.ask("GET", "/api/list", page.reading)
    assert (answer.status >= 400, bool(answer.json["error"])) == (True, True)


def test_a_look_at_all_files_tells_of_a_change_only_where_there_is_one(page: Client) -> None:
    """Red when a page is drawn anew again and again where the system tells of no change."""
    assert seen(page, "1")
    with closing(State()) as state:
        state._watcher = None
        first = state.fresh()
        assert state.fresh() == first
        path = next(Path(".co-cli/knowledge/memories").glob("001*"))
        path.write_text(path.read_text().replace("Tuesdays", "Mondays"))
        assert state.fresh() == first + 1
        assert state.find("1")[1].body == "We deploy on Mondays"
        put(book(), [Draft("Cake at five")], actor="agent")
        assert (state.fresh(), state.fresh()) == (first + 2, first + 2)


def test_a_file_that_is_edited_by_hand_is_told_to_an_open_page(page: Client) -> None:
    """Red when the page must be loaded again to show an edit."""
    link = http.client.HTTPConnection(page.host, timeout=PATIENCE)
    known = page.get("version")["version"]
    link.request("GET", f"/api/version?known={known}", headers=page.reading)
    path = next(Path(".co-cli/knowledge/memories").glob("001*"))
    path.write_text(path.read_text().replace("Tuesdays", "Mondays"))
    assert json.loads(link.getresponse().read())["version"] != known
    assert seen(page, "1")["html"] == "<p>We deploy on Mondays</p>\n"
    link.close()


# What is drawn


def test_the_pictures_tell_of_time_meaning_and_use(page: Client) -> None:
    book().remember("We deploy on Thursdays", updates=[book().find("1")])
    learn("The dog is called Rex")
    co("forget", "4", "--yes")
    co("recall", "minka")
    told = page.get("pictures")
    changes = [change[1:] for change in told["changes"]]
    assert changes == [["forget", 0, 1], *[["save", 1, 0]] * 4]
    assert sorted(one["ref"] for one in told["map"]["points"]) == ["1", "2", "3"]
    refs = [one["ref"] for one in told["map"]["points"]]
    assert [{refs[a], refs[b]} for a, b in told["map"]["links"]] == [{"1", "3"}]
    assert told["use"]["last"][0]["ref"] == "2"
    assert sum(many for day, many in told["use"]["days"].items() if day[0].isdigit()) == 1


def test_health_names_what_is_wrong(page: Client) -> None:
    assert page.get("health")["problems"] == []
    Path(".co-cli/knowledge/memories/009-x.md").write_text("---\nid: [\n---\n\nx\n")
    told = page.get("health")
    assert ["009-x.md" in problem for problem in told["problems"]] == [True]
    rows = {row["name"]: row["many"] for row in page.get("eval")["rows"]}
    assert (rows["found first"], rows["unreadable"]) == (2, 1)


# The command


def test_the_command_prints_the_address_and_stops_at_a_key() -> None:
    learn("We deploy on Tuesdays")
    process = subprocess.Popen(
        [COMMAND, "web", "--no-open"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    client = Client(process.stdout.readline().strip()).enter()
    assert seen(client, "1")["html"] == "<p>We deploy on Tuesdays</p>\n"
    port = client.host.partition(":")[2]
    busy = co("web", "--port", port, "--no-open")
    assert (busy.code, "--port" in busy.err) == (1, True)
    process.send_signal(signal.SIGINT)
    assert "Stopped." in process.communicate(timeout=PATIENCE)[1]
    assert process.returncode == 0


def test_a_missing_extra_is_named() -> None:
    code = "import sys; sys.modules['nh3'] = None; from co_cli.main import run; run(['web'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, install_hint("web") in done.stderr) == (1, True)
