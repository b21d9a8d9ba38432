"""From a page or a file to an article: `co ingest`, `co knowledge refresh`, a real server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from article_set import article, pdf
from cli import COMMAND, Result, Terminal, co
from faults import CLEAN, Ended, Fault, Say, Shim, in_child
from handmade import put_article
from web import Site, answer, serving

from co_cli.articles import ingest as ingesting
from co_cli.articles import records
from co_cli.articles.extract import Document
from co_cli.knowledge import Notebook
from co_cli.knowledge.store import disk

ARTICLES = Path(".co-cli/knowledge/articles")
ORIGINALS = Path(".co-cli/knowledge/attachments")
ONE = b"# Tides\n\nThe harbour floods at springs. Boats wait outside.\n"
TWO = b"# Tides\n\nThe harbour floods at neaps. Boats wait outside.\n\nA pilot comes at noon.\n"
PDF = pdf("# The pier\n\nIt is of oak.\n\n===\n\n## Repairs\n\nEvery spring.")


@pytest.fixture
def site() -> Iterator[Site]:
    with serving() as found:
        yield found


def page(body: bytes, etag: str = "") -> bytes:
    return answer(body, Content_Type="text/markdown; charset=utf-8", ETag=etag)


def ingest(*args: str, input: bytes = b"") -> Result:
    return co("ingest", "--allow-private", *args, input=input)


def refresh(*args: str) -> Result:
    named = [arg for arg in args if arg.startswith("a:")]
    refs = () if named else (f"a:{name[:-3]}" for name in sorted(os.listdir(ARTICLES)))
    return co("knowledge", "refresh", "--allow-private", *refs, *args)


def kept(name: str) -> tuple[dict[str, str], str]:
    """The header of an article, line by line, and its text, read without Co."""
    _, header, body = (ARTICLES / f"{name}.md").read_text().split("---\n", 2)
    return dict(line.split(": ", 1) for line in header.splitlines() if ": " in line), body.strip()


def everything() -> dict[str, bytes]:
    """All files of the home and of the working folder, but for what may be derived."""
    roots = Path.cwd(), Path(os.environ["HOME"])
    return {
        str(path): path.read_bytes()
        for root in roots
        for path in root.rglob("*")
        if path.is_file() and not path.name.startswith(("knowledge.db", "."))
    }


# --- keeping --------------------------------------------------------------------------------------


def test_a_file_reached_by_a_link_is_the_same_source() -> None:
    Path("tides.md").write_text("# Tides\n\nHigh at noon.\n")
    Path("link.md").symlink_to("tides.md")
    co("ingest", "tides.md")
    [told] = json.loads(co("ingest", "link.md", "--json").out)["articles"]
    assert (told["action"], told["source"]) == ("unchanged", str(Path("tides.md").resolve()))


def test_a_page_becomes_an_article_with_its_source(site: Site) -> None:
    site.answers["/doc"] = answer(article("wiki.html"), Content_Type="text/html")
    done = ingest(site.url("/doc#top"), "--tag", "birds,sea", "-t", "north")
    assert done.code == 0
    assert done.out.startswith("✓ Kept a:lamplighter-s-tern: Lamplighter's tern\n  3 KB of text, ")
    header, body = kept("lamplighter-s-tern")
    assert header["source"] == f'"{site.url("/doc")}"'
    assert header["trust"] == "external"
    assert header["title"] == '"Lamplighter\'s tern"'
    assert "## Behaviour" in body
    assert "- birds\n- sea\n- north\n" in (ARTICLES / "lamplighter-s-tern.md").read_text()
    found = co("recall", "when do lamplighter's terns feed", "--json")
    assert json.loads(found.out)["results"][0]["ref"] == "a:lamplighter-s-tern#feeding"


def test_one_source_that_fails_says_so_and_the_others_are_kept(site: Site) -> None:
    """Red when a failing source ends the command, or is passed over in silence."""
    site.answers["/one"] = page(ONE)
    Path("notes.txt").write_text("Ropes are in the shed.")
    done = ingest(site.url("/none"), "nowhere.md", ".", site.url("/one"), "notes.txt")
    assert done.code == 1
    assert done.err.count("was not kept") == 3
    assert "is not there (404)" in done.err
    assert "there is no file nowhere.md" in done.err
    assert "co knowledge add-folder ." in done.err
    assert sorted(os.listdir(ARTICLES)) == ["notes.md", "tides.md"]
    told = json.loads(ingest("notes.txt", "nowhere.md", "--json").out)
    assert [(one["ref"], one["action"]) for one in told["articles"]] == [("a:notes", "unchanged")]
    assert [one["source"] for one in told["failed"]] == ["nowhere.md"]


def test_the_same_source_again_changes_only_what_has_changed(site: Site) -> None:
    """Red when a second copy is made, when nothing new is written all the same, or when the text
    before cannot be had back."""
    site.answers["/t"] = page(ONE + b"\nUpdated: 3 May 2026\n")
    assert ingest(site.url("/t")).code == 0
    before = everything()
    site.answers["/t"] = page(ONE + b"\nUpdated: 4 May 2026\n")
    assert ingest(site.url("/t")).out == "a:tides is unchanged: Tides\n"
    assert {p: b for p, b in everything().items() if "/sources/" not in p} == {
        p: b for p, b in before.items() if "/sources/" not in p
    }
    site.answers["/t"] = page(TWO)
    assert "✓ Updated a:tides: Tides (+2 -2 lines)" in ingest(site.url("/t")).out
    assert kept("tides")[1] == TWO.decode().strip()
    assert co("knowledge", "undo").code == 0
    assert "Updated: 3 May 2026" in kept("tides")[1]


def test_a_host_that_is_not_public_takes_the_explicit_switch(site: Site) -> None:
    """Red when anything but the switch on the command line lets Co reach this machine."""
    Path(".co-cli").mkdir()
    Path(".co-cli/settings.json").write_text('{"allow_private": true}')
    done = co("ingest", site.url("/t"), f"http://127.0.0.1/{site.port}")
    assert done.code == 1
    assert done.err.count("If it is your own: --allow-private") == 2
    assert site.connections == 0
    assert not ARTICLES.exists()
    told = json.loads(co("ingest", site.url("/t"), "--json").out)
    assert told["failed"][0]["hint"].endswith("If it is your own: --allow-private")
    site.answers["/away"] = answer(b"", "302 Found", Location="http://127.0.0.2/")
    assert "--allow-private" not in ingest(site.url("/away")).err
    site.answers["/t"] = page(ONE)
    assert ingest(site.url("/t")).code == 0
    asked = co("knowledge", "refresh")
    assert "If it is your own: co knowledge refresh a:tides --allow-private" in asked.out
    assert co("knowledge", "refresh", "--allow-private").code == 2


def test_an_original_is_kept_beside_what_it_says() -> None:
    Path("report.pdf").write_bytes(PDF)
    done = ingest("-g", "report.pdf", "--title", "The report")
    assert done.out.startswith("✓ Kept ga:the-report: The report\n")
    own = Path(os.environ["HOME"]) / ".config/co-cli/knowledge"
    assert (own / "attachments/the-report.pdf").read_bytes() == PDF
    text = (own / "articles/the-report.md").read_text()
    assert f"sha256: {disk.digest(PDF)}" in text
    assert f'source: "{Path("report.pdf").absolute()}"' in text
    assert '<a id="page-2"></a>' in text


def test_what_is_piped_in_is_kept_and_markdown_has_no_original() -> None:
    assert ingest("-", input=ONE).out.startswith("✓ Kept a:tides: Tides\n")
    assert kept("tides")[0]["source"] == "standard input"
    assert not ORIGINALS.exists()
    assert ingest("-", input=b"").code == 1
    assert ingest("-", input=b"\n Ebb at six.\nFlood at noon.").out.startswith(
        "✓ Kept a:ebb-at-six: Ebb"
    )
    assert ": Pasted text\n" in ingest("-", input=b"12 345\n").out


def test_the_header_of_markdown_names_a_new_article() -> None:
    """Red when its tags are lost, or come back after a person took one away."""
    header = '---\ntitle: "Ebb"\ndate: 2024-05-01\ntags: [sea, "#moon", "two\\nlines"]\n---\n'
    Path("n.md").write_text(header + "# Tides\n\nTwice a day.\n")
    assert ingest("n.md", "-t", "mine").out.startswith("✓ Kept a:ebb: Ebb\n")
    path = ARTICLES / "ebb.md"
    assert "tags:\n- mine\n- sea\n- moon\n" in path.read_text()
    assert kept("ebb")[0]["date"] == '"2024-05-01"'
    path.write_text(path.read_text().replace("- moon\n", ""))
    assert ingest("n.md").out == "a:ebb is unchanged: Ebb\n"
    Path("m.md").write_text("---\ntags: 5\n---\n# Reefs\n\nSharp.\n")
    assert ingest("m.md").code == 0


def test_titles_come_without_an_ending_and_with_plain_letters() -> None:
    Path("Große Øre.txt").write_text("On a street.")
    assert ingest("Große Øre.txt").out.startswith("✓ Kept a:grosse-ore: Große Øre\n")
    assert "Große Øre (only its tags)\n" in ingest("Große Øre.txt", "-t", "sea").out
    assert "Øre (only its title)\n" in ingest("Große Øre.txt", "--title", "Øre").out


def test_a_picture_whose_text_was_not_read_says_so_in_its_article() -> None:
    Path("pier.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(40))
    Path("torn.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    assert ingest("pier.png").out.startswith("✓ Kept a:pier: pier\n")
    assert "ext " in kept("pier")[1].splitlines()[-1]
    assert "nothing follows its first bytes" in ingest("torn.png").err


def test_a_file_that_is_too_large_is_told_by_one_measure() -> None:
    with open("large.txt", "wb") as file:
        file.truncate(50_000_001)
    assert "large.txt is larger than 50 MB\n" in ingest("large.txt").err
    assert " is larger than 50 MB\n" in ingest("-", input=b"x" * 50_000_001).err


def test_a_page_that_is_called_pdf_is_read_with_a_remark(site: Site) -> None:
    site.answers["/a.pdf"] = answer(article("wiki.html"), Content_Type="application/pdf")
    assert "It is called pdf and is a web page." in ingest(site.url("/a.pdf")).out


def test_killed_between_reading_and_keeping_nothing_is_left(site: Site) -> None:
    """Red when a page leaves anything before the notebook's own change begins."""
    site.answers["/t"] = answer(PDF, Content_Type="application/pdf")
    code = (
        "import os, sys; from co_cli.articles import ingest, extract\n"
        "url = sys.argv[1]; allow = ingest.allowing(url)\n"
        "assert ingest.read(url, extract.Reader(), allow=allow).text\n"
        "os.kill(os.getpid(), 9)"
    )
    done = subprocess.run([sys.executable, "-c", code, site.url("/t")], check=False)
    assert done.returncode == -9
    assert everything() == {}


def test_control_c_leaves_nothing_half_done_and_says_so(site: Site) -> None:
    site.answers["/slow"] = site.forever(page(b"")[:-4] + b"\r\nX: ", b"y", 0.01)
    with Terminal("ingest", "--allow-private", site.url("/slow"), at_once=True) as person:
        person.expect("Fetching")
        person.interrupt()
        done = person.end()
    assert done.code == 130
    assert "Stopped; nothing more was done." in done.out
    assert everything() == {}


# --- bringing up to date --------------------------------------------------------------------------


def test_a_page_that_is_still_the_same_is_asked_for_with_a_condition(site: Site) -> None:
    """Red when what a server says of a page's age is lost, or counts for a text that it is not."""
    site.answers["/t"] = page(ONE, etag='"one"')
    assert ingest(site.url("/t")).code == 0
    site.answers["/t"] = answer(b"", "304 Not Modified", ETag='"one"')
    before = kept("tides")
    assert refresh().out.endswith("1 article compared: 1 unchanged.\n")
    assert 'If-None-Match: "one"' in site.requests[-1]
    assert kept("tides") == before


def test_what_a_person_edited_stays_until_they_give_it_up(site: Site) -> None:
    """Red when the same page, or another without anybody's yes, replaces an edit by hand."""
    site.answers["/t"] = page(ONE + b"\nUpdated: 3 May 2026\n")
    assert ingest(site.url("/t")).code == 0
    path = ARTICLES / "tides.md"
    path.write_text(path.read_text().replace("springs", "noon"))
    mine = kept("tides")[1]
    site.answers["/t"] = page(ONE + b"\nUpdated: 4 May 2026\n")
    assert ingest(site.url("/t")).out == "a:tides is unchanged: Tides\n"
    assert refresh("--yes").out.endswith("1 article compared: 1 unchanged.\n")
    assert kept("tides")[1] == mine
    site.answers["/t"] = page(TWO)
    for done in (ingest(site.url("/t")), refresh("--yes"), refresh()):
        assert done.code == 0
        assert "a:tides stays as you edited it, although its source has changed." in done.err
        assert "co knowledge refresh a:tides" in done.err
        assert kept("tides")[1] == mine
    assert "-The harbour floods at noon." in refresh("--dry-run").out
    assert "1 article compared: 1 edited by hand, and kept." in refresh("--yes").out
    assert json.loads(ingest(site.url("/t"), "-t", "sea", "--json").out)["articles"][0]["edited"]
    assert kept("tides")[1] == mine
    assert "tags:\n- sea\n" in path.read_text()


def test_a_clone_with_an_article_of_a_file_read_elsewhere_gets_nothing_of_it() -> None:
    """Red when an article counts as read here because another notebook read its source."""
    secret = Path(os.environ["HOME"]) / "private.md"
    secret.write_text("# Keys\n\nThe door code is in the drawer.")
    Path("notes.md").write_bytes(ONE)
    assert ingest("-g", str(secret)).code == 0
    assert ingest("notes.md").code == 0
    path = Path(put_article(".co-cli/knowledge", "planted.md", "Planted", "Nothing."))
    path.write_text(path.read_text().replace("https://x.example", str(secret)))
    tides = ARTICLES / "tides.md"
    tides.write_text(tides.read_text().replace(str(Path("notes.md").absolute()), str(secret)))
    assert co("knowledge", "refresh").out.endswith("1 article compared: 1 unchanged.\n")
    for ref in ("a:planted", "a:tides"):
        done = refresh(ref, "--yes")
        assert f"was not read for it on this machine. `co ingest {secret}` reads it" in done.out
        assert "door code" not in done.out + (ARTICLES / f"{ref[2:]}.md").read_text()


def test_a_purge_leaves_what_another_notebook_knows_of_the_source() -> None:
    Path("notes.md").write_bytes(ONE)
    assert ingest("notes.md").code == 0
    assert ingest("-g", "notes.md").code == 0
    assert co("forget", "a:tides", "--purge", "--yes").code == 0
    assert co("knowledge", "refresh").out.endswith("1 article compared: 1 unchanged.\n")


def test_files_of_one_title_at_once_are_all_kept() -> None:
    """Red when a notebook that others write to makes `co ingest` give up."""
    names = [f"{number}.md" for number in range(8)]
    for name in names:
        Path(name).write_bytes(ONE + name.encode())
    assert ingest("0.md").code == 0
    running = [
        subprocess.Popen([COMMAND, "ingest", name], stderr=subprocess.PIPE) for name in names
    ]
    assert [(one.communicate()[1], one.returncode) for one in running] == [(b"", 0)] * 8
    assert len(os.listdir(ARTICLES)) == 8


def test_a_change_is_shown_and_written_only_after_a_yes(site: Site) -> None:
    """Red when refresh writes what nobody agreed to."""
    site.answers["/t"] = page(ONE)
    site.answers["/gone"] = page(b"# Reefs\n\nThey are sharp.")
    assert ingest(site.url("/t"), site.url("/gone")).code == 0
    site.answers["/t"] = page(TWO)
    del site.answers["/gone"]
    before = everything()
    asked = refresh()
    assert "+A pilot comes at noon." in asked.out
    assert "a:reefs is gone from its source, and kept" in asked.out
    assert "2 articles compared: 1 changed, and not updated, 1 gone from its source" in asked.out
    assert (asked.code, everything()) == (1, before)
    assert refresh("--dry-run").code == 0
    assert everything() == before
    told: dict[str, Any] = json.loads(refresh("a:tides", "--yes", "--json").out)
    assert [(one["ref"], one["state"]) for one in told["articles"]] == [("a:tides", "updated")]
    assert kept("tides")[1] == TWO.decode().strip()
    assert kept("reefs")[1] == "# Reefs\n\nThey are sharp."
    assert refresh("--older-than", "1d").out == "There is no article to compare with a source.\n"


def test_a_file_is_compared_by_its_bytes_and_read_only_if_it_was_read_here() -> None:
    """Red when an article from elsewhere makes Co read a file of this machine that it names."""
    Path("notes.md").write_bytes(ONE)
    Path("report.pdf").write_bytes(PDF)
    assert ingest("notes.md", "report.pdf").code == 0
    secret = Path(os.environ["HOME"]) / "private.txt"
    secret.write_text("The door code is in the drawer.")
    path = Path(put_article(".co-cli/knowledge", "planted.md", "Planted", "Nothing."))
    path.write_text(path.read_text().replace("https://x.example", str(secret)))
    assert co("knowledge", "refresh").out.endswith("2 articles compared: 2 unchanged.\n")
    named = refresh("a:planted", "--yes")
    assert "its source was not read for it on this machine" in named.out
    assert "door code" not in (ARTICLES / "planted.md").read_text() + named.out
    Path("notes.md").write_bytes(TWO)
    assert "2 articles compared: 1 updated, 1 unchanged." in co("knowledge", "refresh", "--yes").out
    assert kept("tides")[1] == TWO.decode().strip()


def test_killed_anywhere_in_a_refresh_no_article_counts_as_edited() -> None:
    """G8. Red when what the source said is noted only after the article was written."""
    texts = [f"# Tides\n\nThe harbour floods at spring number {n}.\n" for n in range(400)]
    source = Path("notes.md").resolve()
    book = Notebook(ARTICLES.parent)

    def write(at: int, fault: Fault | None) -> tuple[Ended, Shim]:
        found = ingesting.Found(str(source), Document("Tides", texts[at], "markdown", ()))

        def agree(_: Say) -> None:
            planned = ingesting.plan(book, found, found.about())
            assert not planned.edited, texts[at]
            ingesting.agree(book, planned)

        shim = Shim(Path.cwd().parent, fault, sync=False)
        return in_child(agree, shim), shim

    def clean(at: int) -> None:
        ended, _ = write(at, None)
        assert ended.status == CLEAN, ended.lines

    clean(0)
    clean(1)
    n = 0
    while True:
        n += 1
        ended, _ = write(n + 1, Fault("kill", n))
        assert ended.killed or ended.status == CLEAN, ended.lines
        if not ended.killed:
            break
        record = records.load(book, book.find("a:tides"))
        assert record
        assert record.is_of(book.find("a:tides").body), n
    assert n > 50
    clean(n + 2)
    (ARTICLES / "tides.md").write_text((ARTICLES / "tides.md").read_text() + "\nMine.\n")
    found = ingesting.Found(str(source), Document("Tides", texts[-1], "markdown", ()))
    assert ingesting.plan(book, found, found.about()).edited


def test_a_purge_takes_along_what_is_known_of_the_source(site: Site) -> None:
    site.answers["/t"] = page(ONE, etag='"one"')
    assert ingest(site.url("/t")).code == 0
    state = Path(os.environ["HOME"]) / ".local/state/co-cli/sources"
    assert len(os.listdir(state)) == 1
    assert co("forget", "a:tides", "--purge", "--yes").code == 0
    assert os.listdir(state) == []
