"""The page in a real browser: what a person does in it, and that stored text does nothing."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli import script
from conftest import NO_BROWSER
from page import Client, serving
from playwright.sync_api import Browser, Page, expect, sync_playwright

from co_cli import trust
from co_cli.knowledge import Notebook
from co_cli.knowledge.inbox import Draft, put
from co_cli.workspace import Workspace

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), "")
NOTES = Path(".co-cli/knowledge/memories")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if not CHROMIUM:
        pytest.skip(NO_BROWSER)
    with sync_playwright() as playwright:
        flags = ["--headless", "--no-sandbox", "--disable-gpu"]
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=flags)
        yield browser
        browser.close()


@pytest.fixture
def book() -> Notebook:
    """A notebook of the person's own with a few notes."""
    workspace = Workspace()
    trust.claim(workspace.project, "2026-11-01T00:00:00+00:00")
    for text in (
        "We deploy on Tuesdays",
        "The cat is called Minka",
        "Invoices go out on the first",
    ):
        workspace.shelf.project.remember(text, ["decision"])
    return workspace.shelf.project


@pytest.fixture
def client(book: Notebook) -> Iterator[Client]:
    assert book.notes()
    with serving() as client:
        yield client


@pytest.fixture
def page(browser: Browser, client: Client) -> Iterator[Page]:
    context = browser.new_context()
    context.set_default_timeout(20_000)
    expect.set_options(timeout=20_000)
    page = context.new_page()
    errors = list[str]()
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(client.address)
    page.wait_for_selector("a.row")
    yield page
    context.close()
    assert errors == []


def file(ref: int) -> Path:
    return next(NOTES.glob(f"{ref:03d}-*"))


def test_the_picture_in_the_readme_is_what_the_page_shows(browser: Browser) -> None:
    """Red when the page looks different: run `make docs`."""
    picture = script("page_picture")
    kept, now = picture.TARGET.read_text(encoding="utf-8"), picture.draw(browser)
    old, new = (re.sub("(?s)<style>.*</style>|<[^>]*>", "", text) for text in (kept, now))
    assert old == new
    assert len(kept) < 60_000
    shown = browser.new_page()
    shown.goto(picture.TARGET.as_uri())
    expect(shown.locator("mark").first).to_be_visible()
    shown.close()


def test_the_token_leaves_the_address_and_another_browser_is_not_let_in(
    page: Page, client: Client, browser: Browser
) -> None:
    assert page.url == f"{client.origin}/"
    stranger = browser.new_page()
    stranger.goto(client.origin)
    expect(stranger.locator("#list")).to_have_text("Open the address that `co web` printed.")
    stranger.close()


def test_everything_can_be_done_with_the_keyboard(page: Page) -> None:
    keys = page.keyboard
    keys.press("/")
    keys.type("tuesdays")
    expect(page.locator("#list mark")).to_have_text("Tuesdays")
    expect(page.locator("#count")).to_have_text("1 note")
    expect(page.locator("#list .why")).to_have_text("exact text")
    keys.press("Enter")
    expect(page.locator("a.row")).to_be_focused()
    keys.press("Enter")
    expect(page.locator("#pane .note .prose")).to_have_text("We deploy on Tuesdays")
    keys.press("e")
    expect(page.locator("#text")).to_be_focused()
    keys.press("Escape")
    expect(page.locator("#pane .note .prose")).to_be_visible()
    keys.press("Escape")
    keys.press("/")
    keys.press("Escape")
    expect(page.locator("a.row")).to_have_count(3)
    keys.press("j")
    keys.press("j")
    expect(page.locator("a.row").nth(1)).to_be_focused()
    keys.press("k")
    expect(page.locator("a.row").nth(0)).to_be_focused()
    keys.press("?")
    expect(page.locator("#help")).to_be_visible()
    keys.press("Escape")
    expect(page.locator("#help")).to_be_hidden()
    keys.press("i")
    expect(page.locator("#pane h1")).to_have_text("Inbox")


def test_a_note_is_written_edited_forgotten_undone_and_restored(page: Page) -> None:
    page.keyboard.press("n")
    page.fill("#text", "# Tea\n\nAt **four**")
    page.fill("#tags", "habit, team")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#pane .prose strong")).to_have_text("four")
    expect(page.locator("#pane .note > .marks .tag")).to_have_text(["habit", "team"])
    page.keyboard.press("e")
    page.fill("#text", "At **five**")
    page.click("text=Save")
    expect(page.locator("#pane .note .prose")).to_have_text("At five")
    page.click("summary:has-text('History')")
    page.click("#history button >> nth=0")
    expect(page.locator(".diff .plus")).to_have_text("+At **five**\n")
    page.keyboard.press("p")
    expect(page.locator("#pane .badge.good")).to_have_text("protected")
    expect(page.locator("[data-key=forget]")).to_be_disabled()
    page.keyboard.press("p")
    expect(page.locator("[data-key=forget]")).to_be_enabled()
    page.keyboard.press("x")
    expect(page.locator("#toast")).to_contain_text("Forgot memory 4")
    expect(page.locator("a.row")).to_have_count(3)
    page.click("#toast >> text=Undo")
    expect(page.locator("a.row")).to_have_count(4)
    page.press("a.row >> nth=0", "Enter")  # a list that is drawn anew may lose a click
    page.click("[data-key=forget]")
    expect(page.locator("a.row")).to_have_count(3)
    expect(page.locator("#toast")).to_contain_text("Forgot")
    page.click("nav >> text=Archive")
    page.press("#pane >> text=Restore", "Enter")
    expect(page.locator("#pane .empty")).to_contain_text("The archive is empty")


def test_a_save_over_a_file_that_changed_shows_both_and_asks(page: Page) -> None:
    """Red when the page saves what the person has not seen."""
    page.click("a.row:has-text('Minka')")
    page.click("[data-key=edit]")
    page.fill("#text", "The cat is called Mimi")
    file(2).write_text(file(2).read_text().replace("Minka", "Kater"))
    expect(page.locator("#toast")).to_contain_text("changed on the disk")
    page.click("text=Save")
    expect(page.locator(".pair pre")).to_have_text(
        ["The cat is called Kater", "The cat is called Mimi"]
    )
    assert "Kater" in file(2).read_text()
    page.click("text=Save mine over it")
    expect(page.locator("#pane .note .prose")).to_have_text("The cat is called Mimi")
    assert "Mimi" in file(2).read_text()


def test_a_similar_text_and_the_inbox_ask_first(page: Page, book: Notebook) -> None:
    page.keyboard.press("n")
    page.fill("#text", "We deploy on Thursdays")
    page.click("text=Save")
    expect(page.locator(".pair pre")).to_have_text(
        ["We deploy on Tuesdays", "We deploy on Thursdays"]
    )
    page.click("text=Replace 1")
    expect(page.locator("#pane .note .prose")).to_have_text("We deploy on Thursdays")
    texts = ("Tea at four", "Cake at five", "Soup at noon")
    put(book, [Draft(text, (), f"so: {text}") for text in texts], actor="agent")
    expect(page.locator("#drafts")).to_have_text("3")  # without a reload
    page.click("nav >> text=Inbox")
    page.click(".card:has-text('Tea at') >> text=Accept")
    expect(page.locator(".card")).to_have_count(2)
    page.click(".card:has-text('Cake') >> text=Reject")
    expect(page.locator(".card")).to_have_count(1)
    page.click(".card >> text=Edit")
    page.fill("#text", "Soup at one")
    page.click("text=Save")
    expect(page.locator("#pane .empty")).to_have_text("No drafts wait.")
    assert sorted(note.body for note in book.notes())[1:3] == ["Soup at one", "Tea at four"]


def test_all_changes_are_listed_and_taken_back(page: Page, client: Client) -> None:
    page.keyboard.press("c")
    expect(page.locator(".change")).to_have_count(3)
    page.click("[aria-label='What change 2 did to 2']")
    expect(page.locator(".diff .plus").last).to_have_text("+The cat is called Minka\n")
    page.click("[aria-label^='Undo change 2']")
    expect(page.locator(".change")).to_have_count(4)
    expect(page.locator(".undone .ref")).to_have_text("save")
    expect(page.locator("#drafts")).to_be_hidden()
    file(3).write_text(file(3).read_text().replace("tags:", "expires: 2020-01-01\ntags:"))
    page.click("nav >> text=Health")
    expired = page.locator(".numbers tr", has_text="expired")
    expect(expired.locator("td").first).to_have_text("1 of 2")
    expect(expired.locator("a")).to_have_text("3")
    page.keyboard.press("/")
    expect(page.locator("a.row")).to_have_count(2)
    client.stop()
    page.fill("#query", "tuesdays")
    expect(page.locator("#count")).to_contain_text("does not answer")
    expect(page.locator("#gone")).to_contain_text("Start `co web` again")


def test_a_long_note_is_shown_from_where_it_answers(page: Page, book: Notebook) -> None:
    words = " ".join(f"word{number}" for number in range(60))
    book.remember(f"Release notes\n\n{words} the zebra crossing {words}", [])
    page.fill("#query", "zebra crossing")
    expect(page.locator("#list mark")).to_be_in_viewport()
    expect(page.locator("#list .passage")).to_contain_text("…")
    page.select_option("#by-tag", "decision")
    expect(page.locator("#list .empty")).to_be_visible()
    page.click("text=Show all")
    expect(page.locator("#list mark")).to_have_text("zebra crossing")


def test_a_hand_edit_shows_without_a_reload(page: Page) -> None:
    page.click("a.row:has-text('Minka')")
    expect(page.locator("#pane .note .prose")).to_have_text("The cat is called Minka")
    file(2).write_text(file(2).read_text().replace("Minka", "Kater"))
    expect(page.locator("#pane .note .prose")).to_have_text("The cat is called Kater")
    expect(page.locator("a.row[aria-current] .summary")).to_have_text("The cat is called Kater")


def test_it_fits_a_phone_in_the_dark_and_a_screen_reader(page: Page) -> None:
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.emulate_media(color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != light
    page.set_viewport_size({"width": 360, "height": 740})
    for view in ("", "note/1", "new", "inbox", "changes", "archive", "pictures", "health"):
        page.evaluate("view => { location.hash = '#/' + view }", view)
        expect(page.locator("body")).to_have_attribute(
            "data-view", view.partition("/")[0] or "notes"
        )
        expect(page.locator("#pane .empty[role=status]")).to_have_count(0)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, view
        shown = page.locator("#side, #pane").evaluate_all(
            "all => all.map(one => !!one.offsetParent)"
        )
        assert shown == [view == "", view != ""]
        nameless = page.evaluate(
            """() => [...document.querySelectorAll("a, button, input, select, textarea, svg[role]")]
            .filter(one => !(one.labels?.length || one.getAttribute("aria-label") ||
                             one.textContent.trim())).map(one => one.outerHTML)"""
        )
        assert nameless == []
    page.evaluate("location.hash = '#/note/%E0%A4'")  # which nobody can decode
    expect(page.locator("#pane .empty")).to_contain_text("There is no memory")
    page.evaluate("location.hash = '#/note/1'")
    page.click(".back")
    expect(page.locator("#list")).to_be_visible()


INJECTED = [
    "<script>PWN</script>",
    "<img src=x onerror=PWN>",
    "<svg/onload=PWN>",
    "<details open ontoggle=PWN>",
    "[x](javascript:PWN)",
    "![x](http://evil.example/x.png)",
    "<iframe srcdoc='<script>PWN</script>'>",
    "<link rel=stylesheet href=http://evil.example/x.css>",
    "</textarea></pre></li><script>PWN</script>",
    "<a href=javascript:PWN id=list>x</a>",
]


def test_of_100_notes_with_scripts_none_runs_and_nothing_outside_is_asked(
    browser: Browser, book: Notebook
) -> None:
    """Red when stored text reaches the page as HTML: in a body, tag, title, draft or header."""
    for number in range(10, 110):
        code = INJECTED[number % 10].replace("PWN", "window.pwned=1")
        quoted = "'" + code.replace("'", "''") + "'"
        head = f"id: {number}\ncreated: 2026-01-01T00:00:00Z\ntags: [{quoted}]\nx: {quoted}"
        text = f"---\n{head}\n---\n\n"
        (NOTES / f"{number:03d}-x.md").write_text(f"{text}{code}\n\nsome {number} {code}\n")
    articles = NOTES.parent / "articles"
    articles.mkdir()
    head = "---\nsource: http://evil.example\nfetched: 2026-01-01T00:00:00Z\ntitle: "
    (articles / "x.md").write_text(
        f"{head}{INJECTED[1].replace('PWN', 'window.pwned=1')}\n---\n\n{INJECTED[0]}\n"
    )
    put(
        book,
        [Draft("some draft <img src=x onerror=window.pwned=1>", (), INJECTED[1])],
        actor="agent",
    )
    asked, asking = list[str](), list[str]()
    with serving() as client:
        page = browser.new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.on("dialog", lambda dialog: asking.append(dialog.message))
        page.goto(client.address)
        page.wait_for_selector("a.row")
        page.fill("#query", "some")
        page.wait_for_selector("mark")
        for view in ("inbox", "archive", "pictures", "note/a%3Ax"):
            page.evaluate("view => { location.hash = '#/' + view }", view)
            expect(page.locator("#pane .empty[role=status]")).to_have_count(0)
        opened = page.evaluate(
            """async () => { let opened = 0; for (let ref = 10; ref < 110; ref += 1) {
                location.hash = `#/note/${ref}`;
                while (!document.querySelector(`#pane article[aria-label="memory ${ref}"]`))
                    await new Promise(requestAnimationFrame);
                opened += document.querySelectorAll("#pane .prose").length;
            } return opened; }"""
        )
        assert opened == 100
        assert page.evaluate("window.pwned") is None
        assert page.locator("#pane :is(script, img, iframe, svg, link, style)").count() == 0
        assert {re.match(r"\w+://[^/]+", url)[0] for url in asked} == {client.origin}  # type: ignore[index]
        assert asking == []
        page.close()
