"""The page in a real browser: what a person does in it, and that stored text does nothing."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import web
from cli import script
from conftest import NO_BROWSER
from page import Client, serving
from playwright.sync_api import Browser, Dialog, Page, expect, sync_playwright

from co_cli import trust
from co_cli.knowledge import Notebook
from co_cli.knowledge.format.note import linked_uids
from co_cli.knowledge.inbox import Draft, put
from co_cli.workspace import Workspace

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), "")
PATIENCE = 60_000  # milliseconds after which something does not come any more
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


# A message fades after a while; on a busy machine that would be before anybody has looked.
MESSAGES_STAY = """const wait = window.setTimeout;
window.setTimeout = (work, time) => time < 5000 || !time ? wait(work, time) : 0;"""


@pytest.fixture
def page(browser: Browser, client: Client) -> Iterator[Page]:
    context = browser.new_context()
    context.set_default_timeout(PATIENCE)
    context.add_init_script(MESSAGES_STAY)
    expect.set_options(timeout=PATIENCE)
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


def test_the_secret_is_in_this_tab_alone(page: Page, client: Client) -> None:
    """Red when the secret stays in the address, or is where other servers and tabs find it."""
    assert page.url == f"{client.origin}/"
    assert page.context.cookies() == []
    assert page.evaluate("[document.cookie, localStorage.length, history.state]") == ["", 0, None]
    page.reload()
    expect(page.locator("a.row")).to_have_count(3)
    other = page.context.new_page()
    other.goto(f"{client.origin}/#/note/1")
    expect(other.locator("#list")).to_contain_text("Open the whole address")
    assert "Tuesdays" not in other.content()
    other.goto(f"{client.origin}/#token=guess")
    expect(other.locator("#list")).to_contain_text("Open the whole address")
    other.goto(client.address)  # typed over it, which loads nothing anew
    expect(other.locator("a.row")).to_have_count(3)
    assert other.url == f"{client.origin}/"
    other.close()


def test_a_tab_that_is_opened_from_the_page_has_access(page: Page) -> None:
    page.keyboard.press("n")
    page.fill("#text", "Half a thought")
    for how in ({"modifiers": ["Control"]}, {"button": "middle"}):
        with page.context.expect_page() as opened:
            page.locator("a.row:has-text('Minka')").click(**how)
        other = opened.value
        expect(other.locator("#pane .note .prose")).to_have_text("The cat is called Minka")
        assert other.evaluate("window.opener") is None
        expect(other.locator("#write")).to_have_text("Write")  # the text is the first tab's
        other.reload()
        expect(other.locator("#pane .note .prose")).to_have_text("The cat is called Minka")
        other.close()


DRIVE_BY = """async (origin) => {
    const found = [];
    const send = (path, options) => fetch(origin + path, options).then(async (one) => found.push(await one.text()), () => {});
    for (const credentials of ["include", "omit"]) {
        await send("/api/list", { credentials });
        await send("/api/list", { credentials, mode: "no-cors" });
        await send("/api/save", { credentials, mode: "no-cors", method: "POST", body: '{"text": "forged"}' });
        await send("/api/save", { credentials, method: "POST", body: '{"text": "forged"}', headers: { "Content-Type": "application/json", Authorization: "Bearer x" } });
    }
    for (const name of ["script", "img", "iframe"]) {
        const one = document.createElement(name);
        const done = new Promise((go) => { one.onload = one.onerror = go; });
        one.src = origin + (name === "iframe" ? "/" : "/api/list");
        document.body.append(one);
        await done;
    }
    const opened = window.open(origin + "/");
    try { found.push(opened.document.body.textContent); } catch {}
    return found.join("");
}"""  # noqa: E501


def test_another_server_of_this_machine_gets_and_reads_nothing(page: Page, client: Client) -> None:
    """Red with a cookie, which browsers send to every port, or with a secret in what is sent."""
    before = {path.name: path.read_bytes() for path in NOTES.iterdir()}
    with web.serving() as site:
        site.answers["/"] = web.answer(b"<body>another server</body>", Content_Type="text/html")
        page.evaluate("url => { location.href = url }", site.url())  # as a link in a note would
        expect(page.locator("body")).to_have_text("another server")
        assert page.evaluate(DRIVE_BY, client.origin) == ""
        page.go_back()
        expect(page.locator("a.row")).to_have_count(3)
        assert [one for one in site.requests if client.token in one or "ookie:" in one] == []
        assert [one for one in site.requests if "eferer:" in one and client.host in one] == []
    assert {path.name: path.read_bytes() for path in NOTES.iterdir()} == before


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
    page.click("a.row >> nth=0")
    page.click("[data-key=forget]")
    expect(page.locator("a.row")).to_have_count(3)
    expect(page.locator("#toast")).to_contain_text("Forgot")
    page.click("nav >> text=Archive")
    page.click("#pane >> text=Restore")
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


def ask(page: Page, text: str) -> None:
    """Write a note that brings another out of date, as far as the question."""
    page.keyboard.press("n")
    expect(page.locator("h1")).to_contain_text(["Notes", "Write a note"])
    page.fill("#text", text)
    page.keyboard.press("Control+Enter")
    expect(page.locator(".both .main")).to_be_focused()


def test_an_update_is_linked_by_one_key_and_the_older_note_is_shown_as_earlier(page: Page) -> None:
    """Red when the default is another, or recall shows what is out of date alone."""
    ask(page, "We deploy on Thursdays")
    expect(page.locator(".both strong")).to_have_text("This seems to bring 1 out of date.")
    expect(page.locator(".pair pre")).to_have_text(
        ["We deploy on Tuesdays", "We deploy on Thursdays"]
    )
    expect(page.locator(".both .main")).to_have_text("u Link as an update")
    page.keyboard.press("u")
    expect(page.locator("#toast")).to_contain_text("Saved memory 4. It updates 1.")
    expect(page.locator("#pane .updates")).to_have_text("updates 1 We deploy on Tuesdays")
    page.click("#pane .updates a")
    expect(page.locator("#pane .updates")).to_have_text("updated by 4 We deploy on Thursdays")
    page.fill("#query", "tuesdays")
    expect(page.locator("#list .ref")).to_have_text(["4", "1"])
    expect(page.locator("li.earlier .badge")).to_have_text("earlier")
    page.locator("#query").press("Escape")
    page.keyboard.press("u")
    expect(page.locator("#toast")).to_contain_text("Undid")
    expect(page.locator("a.row .badge")).to_have_count(0)


def test_the_other_answers_have_a_key_each(page: Page, book: Notebook) -> None:
    """Red when a letter does something else than on the other surfaces, or text is lost."""
    ask(page, "We deploy on Thursdays")
    page.keyboard.press("Escape")
    expect(page.locator("#text")).to_be_focused()
    page.keyboard.press("Control+Enter")
    expect(page.locator(".both .main")).to_be_focused()
    page.keyboard.press("n")
    expect(page.locator("#toast")).to_contain_text("Discarded.")
    assert len(book.notes()) == 3
    ask(page, "The cat is called Mimi now")
    page.keyboard.press("e")
    expect(page.locator(".beside blockquote")).to_have_text("The cat is called Mimi now")
    expect(page.locator("#text")).to_have_value("The cat is called Minka")
    page.fill("#text", "The cat is called Mimi")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#pane .note .prose")).to_have_text("The cat is called Mimi")
    expect(page.locator("#write")).to_have_text("Write")  # the new text is in that note
    ask(page, "We deploy on Thursdays")
    page.keyboard.press("k")
    expect(page.locator("#pane section li")).to_have_text("related to 1 We deploy on Tuesdays")
    ask(page, "Invoices go out on the tenth")
    page.keyboard.press("r")
    expect(page.locator("#pane section li")).to_have_count(0)
    expect(page.locator("#toast")).to_contain_text("It replaces 3, which is archived.")
    ask(page, "The name of the cat is Mimi")
    expect(page.locator(".both strong")).to_have_text("Already noted as 2.")
    page.keyboard.press("Enter")
    expect(page.locator("#toast")).to_contain_text("Discarded.")
    assert [note.id for note in book.notes()] == [1, 2, 4, 5]


def test_of_several_outdated_notes_one_is_left_out(page: Page, book: Notebook) -> None:
    fields = (("replaces", book.find("2").uid),)  # beside the one that the reader finds
    put(book, [Draft("We deploy on Thursdays", fields=fields)], actor="agent")
    page.keyboard.press("i")
    page.click(".card >> text=Accept")
    boxes = page.locator(".both input")
    expect(boxes).to_have_count(2)
    boxes.first.uncheck()
    expect(page.locator("[data-letter=r]")).to_have_text("r Replace 1")
    boxes.first.press("u")
    expect(page.locator("#toast")).to_contain_text("It updates 1.")


def test_updates_that_nobody_confirmed_are_decided_by_one_key_each(
    page: Page, book: Notebook
) -> None:
    """Red when the page finds none by itself, or a key decides on another pair."""
    for text in ("We deploy on Thursdays", "The cat is called Mimi", "Invoices go out on the 10th"):
        book.remember(text)
    expect(page.locator("#pairs")).to_have_text("3")
    page.click("nav >> text=Updates")
    cards = page.locator(".card")
    expect(cards.first.locator(".main")).to_be_focused()
    first, second, third = (str(one.get_attribute("data-item")).split() for one in cards.all())
    for key in "ukx":  # as fast as one can press, without a look
        page.keyboard.press(key)
    expect(page.locator("#pane .empty")).to_contain_text("No updates to confirm")
    expect(page.locator("#pairs")).to_be_hidden()
    assert linked_uids(book.find(first[0]), "updates") == [book.find(first[1]).uid]
    assert linked_uids(book.find(second[0]), "related") == [book.find(second[1]).uid]
    assert third[1] not in {str(note.id) for note in book.notes()}
    for left in (1, 2, 3):
        page.locator("#pane").focus()
        page.keyboard.press("u")
        expect(cards).to_have_count(left)
    assert len(book.unconfirmed()) == 3


def test_the_inbox_asks_first(page: Page, book: Notebook) -> None:
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
    expect(page.locator("#pane .empty")).to_contain_text("Inbox empty.")
    assert sorted(note.body for note in book.notes())[1:3] == ["Soup at one", "Tea at four"]


# Text that is not saved yet


def edit(page: Page, note: str, more: str) -> None:
    """Open a note and write on at its end."""
    page.click(f"a.row:has-text('{note}')")
    expect(page.locator("#pane .note .prose")).to_contain_text(note)
    page.keyboard.press("e")
    page.keyboard.type(more)


def test_what_is_written_stays_until_it_is_saved_or_discarded(page: Page) -> None:
    """Red when unsaved text is lost by opening another note, by Esc or by a reload."""
    edit(page, "Minka", " Half an edit")
    page.click("a.row:has-text('Tuesdays')")
    expect(page.locator("#pane .note .prose")).to_have_text("We deploy on Tuesdays")
    expect(page.locator("#toast")).to_contain_text("not saved")
    expect(page.locator("a.row:has-text('Minka') .badge")).to_have_text("unfinished edit")
    page.keyboard.press("n")
    page.keyboard.type("Half a note")
    page.fill("#tags", "one, two")
    page.select_option("#where", "user")
    page.keyboard.press("Escape")
    expect(page.locator("#write")).to_have_text("Continue writing")
    page.reload()
    page.click("a.row:has-text('Minka')")
    expect(page.locator("#pane .banner")).to_contain_text("unsaved changes")
    page.click("text=Continue editing")
    expect(page.locator("#text")).to_have_value("The cat is called Minka Half an edit")
    page.reload()  # in the midst of it
    expect(page.locator("#text")).to_have_value("The cat is called Minka Half an edit")
    page.click("#pane >> text=Save")
    expect(page.locator("#pane .note .prose")).to_have_text("The cat is called Minka Half an edit")
    expect(page.locator("#list .badge")).to_have_count(0)
    page.keyboard.press("n")
    values = [page.locator(one).input_value() for one in ("#text", "#tags", "#where")]
    assert values == ["Half a note", "one, two", "user"]
    page.reload()
    expect(page.locator("#text")).to_have_value("Half a note")
    page.click("text=Cancel")
    expect(page.locator("#write")).to_have_text("Write")
    page.click("#toast >> text=Undo")
    expect(page.locator("#text")).to_have_value("Half a note")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#pane .note .prose")).to_have_text("Half a note")
    page.keyboard.press("n")
    expect(page.locator("#text")).to_have_value("")


def test_a_tab_with_unsaved_text_asks_before_it_closes(page: Page) -> None:
    """Red when a tab with unsaved text closes without a word, or another asks."""
    asked = list[str]()

    def refuse(dialog: Dialog) -> None:
        asked.append(dialog.type)
        dialog.dismiss()

    page.on("dialog", refuse)
    page.keyboard.press("n")
    page.keyboard.type("Half a note")
    page.keyboard.press("Escape")
    expect(page.locator("#write")).to_have_text("Continue writing")
    with page.expect_event("dialog"):
        page.close(run_before_unload=True)
    assert page.evaluate("1") == 1  # it is still there
    assert asked == ["beforeunload"]
    page.keyboard.press("n")
    page.click("text=Cancel")
    expect(page.locator("#write")).to_have_text("Write")
    with page.expect_event("close"):
        page.close(run_before_unload=True)
    assert asked == ["beforeunload"]


def test_unsaved_text_outlives_its_note_the_server_and_another_tab(
    page: Page, client: Client, book: Notebook
) -> None:
    """Red when what was written goes with the file that it was for."""
    put(book, [Draft("Tea at four")], actor="agent")
    page.click("nav >> text=Inbox")
    page.click(".card >> text=Edit")
    page.keyboard.type(", rather at five")
    other = page.context.new_page()
    other.goto(client.address)
    other.click("nav >> text=Inbox")
    other.click(".card >> text=Accept")
    expect(other.locator("#pane .empty")).to_contain_text("Inbox empty.")
    other.close()
    expect(page.locator("#toast")).to_contain_text("gone from the disk")
    page.click("#pane >> text='Save'")
    page.click("text=Save it as a new note")
    expect(page.locator("h1")).to_contain_text(["Notes", "Write a note"])
    expect(page.locator("#text")).to_have_value("Tea at four, rather at five")
    client.stop()
    page.keyboard.press("Control+Enter")
    expect(page.locator("#pane .banner")).to_contain_text("has stopped")
    with serving(port=int(client.host.partition(":")[2])) as again:
        expect(page.locator("#gone")).to_contain_text("Open the whole address")
        page.goto(again.address)
        expect(page.locator("#gone")).to_be_hidden()
        expect(page.locator("#toast")).to_contain_text("not saved")
        page.click("text=Continue")
        expect(page.locator("#text")).to_have_value("Tea at four, rather at five")
        page.keyboard.press("Control+Enter")
        expect(page.locator(".both [data-letter=u]")).to_be_focused()
        page.keyboard.press("k")
        expect(page.locator("#pane .note .prose")).to_contain_text("rather at five")


def test_an_edit_that_was_left_is_found_again_when_its_draft_or_note_is_gone(
    page: Page, book: Notebook
) -> None:
    """Red when only the note or the card leads to what was written for it."""
    edit(page, "Minka", " and purrs")
    put(book, [Draft("Tea at four")], actor="agent")
    expect(page.locator("#drafts")).to_have_text("1")
    page.keyboard.press("Escape")
    expect(page.locator("#edits")).to_have_text("1 unfinished")
    book.forget("2")
    expect(page.locator("a.row")).to_have_count(2)
    page.click("#edits")
    expect(page.locator("#text")).to_have_value("The cat is called Minka and purrs")
    page.keyboard.press("Control+Enter")
    page.click("text=Save it as a new note")
    expect(page.locator("h1")).to_contain_text(["Notes", "Write a note"])
    page.keyboard.press("Control+Enter")
    expect(page.locator("#pane .note .prose")).to_have_text("The cat is called Minka and purrs")
    expect(page.locator("#edits")).to_be_hidden()
    page.keyboard.press("i")
    expect(page.locator(".card .main")).to_be_focused()
    page.keyboard.press("e")
    page.keyboard.type(" sharp")
    page.keyboard.press("Escape")
    expect(page.locator(".card .badge")).to_have_text("unfinished edit")
    expect(page.locator(".card .main")).to_be_focused()
    page.keyboard.press("Enter")  # which takes the words that the person gave it
    expect(page.locator("#text")).to_have_value("Tea at four sharp")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#pane .empty")).to_contain_text("Inbox empty.")
    assert "Tea at four sharp" in {note.body for note in book.notes()}


def test_two_tabs_that_edit_one_note_lose_neither_text(page: Page, client: Client) -> None:
    other = page.context.new_page()
    other.goto(client.address)
    for tab, words in ((page, " mine"), (other, " other")):
        edit(tab, "Minka", words)
    other.keyboard.press("Control+Enter")
    expect(other.locator("#pane .note .prose")).to_have_text("The cat is called Minka other")
    other.close()
    page.keyboard.press("Escape")
    page.click("text=Continue editing")
    expect(page.locator("#text")).to_be_focused()
    expect(page.locator("#toast")).to_contain_text("changed on the disk")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".pair pre")).to_have_text(
        ["The cat is called Minka other", "The cat is called Minka mine"]
    )


# The inbox by keys


TEXTS = """Tea is served at four
Invoices carry a number
The office closes on the last Friday of July
Backups run every night
Ada speaks Portuguese
Never commit to the release branch
Prices are in Swiss francs
The printer needs a driver from its maker
Logs rotate weekly
Our domain renews in March
The kitchen has a new kettle
Passwords live in the vault of the team""".splitlines()


def drafts(book: Notebook, many: int) -> list[str]:
    for number, text in enumerate(TEXTS[:many]):
        created = f"2026-01-01T00:00:{number:02d}+00:00"
        put(book, [Draft(text, created=created)], actor="agent")
    return TEXTS[:many]


def focused(page: Page) -> str:
    return str(page.evaluate("document.activeElement.getAttribute('aria-label')"))


def bodies(book: Notebook) -> set[str]:
    return {note.body for note in book.notes() if note.body in TEXTS}


@pytest.mark.parametrize("many", [1, 12])
def test_every_draft_is_accepted_by_one_key_each_and_taken_back_by_another(
    page: Page, book: Notebook, many: int
) -> None:
    """Red when the focus does not move on at once, or `u` knows the last step alone."""
    texts = drafts(book, many)
    page.keyboard.press("i")
    for text in texts:  # as fast as one can press, without a look
        expect(page.locator(f"[aria-label='Accept: {text}']")).to_be_focused()
        page.keyboard.press("Enter")
    expect(page.locator("#pane .empty")).to_contain_text("Inbox empty.")
    assert bodies(book) == {*texts}
    for left in range(many):
        page.keyboard.press("u")
        if left % 2:
            expect(page.locator(".card")).to_have_count(left + 1)
    expect(page.locator(".card")).to_have_count(many)
    assert bodies(book) == set()
    page.keyboard.press("u")
    expect(page.locator("#toast")).to_contain_text("Nothing to undo")


@pytest.mark.parametrize("keys", ["EjE", "jEE", "EjxEjx", "jjjEkE", "jejE", "xjExjE"])
def test_a_draft_that_was_skipped_is_neither_accepted_nor_rejected(
    page: Page, book: Notebook, keys: str
) -> None:
    """Red when the focus goes back after Enter: the next one would take what was skipped."""
    texts = drafts(book, 12)
    left, accepted, at = [*texts], set[str](), 0
    page.keyboard.press("i")
    expect(page.locator(".card .main").first).to_be_focused()
    for key in keys:
        if key in "Ex":
            accepted |= {left[at]} if key == "E" else set()
            page.keyboard.press("Enter" if key == "E" else "x")
            del left[at]
        elif key == "e":
            page.keyboard.press("e")
            page.keyboard.press("Control+Enter")
            accepted |= {left.pop(at)}
            expect(page.locator("#pane h1")).to_have_text("Inbox")
        else:
            page.keyboard.press(key)
            at += {"j": 1, "k": -1}[key]
        expect(page.locator(f"[aria-label='Accept: {left[at]}']")).to_be_focused()
    expect(page.locator(".card")).to_have_count(len(left))
    assert bodies(book) == accepted
    put(book, [Draft("One more", created="2025-01-01T00:00:00+00:00")], actor="agent")
    expect(page.locator(".card")).to_have_count(len(left) + 1)  # before all the others
    assert focused(page) == f"Accept: {left[at]}"


def test_after_the_last_draft_enter_takes_none_that_was_skipped(page: Page, book: Notebook) -> None:
    """Red when the focus goes back, or a key that is held down goes on pressing."""
    drafts(book, 2)
    page.keyboard.press("i")
    expect(page.locator(".card .main").first).to_be_focused()
    page.keyboard.press("j")
    page.keyboard.down("Enter")
    page.keyboard.down("Enter")  # which repeats it
    page.keyboard.up("Enter")
    page.keyboard.press("Enter")
    expect(page.locator(".card")).to_have_count(1)
    page.keyboard.press("Enter")
    page.keyboard.press("x")
    page.keyboard.press("c")
    expect(page.locator(".change .ref").first).to_have_text("accept")
    assert bodies(book) == {TEXTS[1]}
    page.keyboard.press("i")
    page.locator(".card .main").dblclick()
    expect(page.locator("#pane .empty")).to_contain_text("Inbox empty.")


def test_a_draft_that_is_similar_to_a_note_is_chosen_in_its_place(
    page: Page, book: Notebook
) -> None:
    put(book, [Draft("We deploy on Thursdays"), Draft("Cake at five")], actor="agent")
    page.keyboard.press("i")
    page.click("[aria-label^='Accept: We deploy']")
    expect(page.locator(".card .pair pre")).to_have_text(
        ["We deploy on Tuesdays", "We deploy on Thursdays"]
    )
    page.click("text=Replace 1")
    expect(page.locator(".card")).to_have_count(1)
    assert "We deploy on Thursdays" in {note.body for note in book.notes()}
    assert "We deploy on Tuesdays" not in {note.body for note in book.notes()}


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
    expect(page.locator("#count")).to_contain_text("has stopped")
    expect(page.locator("#gone")).to_contain_text("Run `co web --port")


def test_a_long_note_is_shown_from_where_it_answers(page: Page, book: Notebook) -> None:
    words = " ".join(f"word{number}" for number in range(60))
    book.remember(f"Release notes\n\n{words} the zebra crossing {words}", [])
    page.fill("#query", "zebra crossing")
    expect(page.locator("#list mark")).to_be_in_viewport()
    expect(page.locator("#list .passage")).to_contain_text("…")
    page.select_option("#by-tag", "decision")
    expect(page.locator("#list mark")).to_have_count(0)
    page.click("text=Show all")
    expect(page.locator("#list mark")).to_have_text("zebra crossing")


def test_a_hand_edit_shows_without_a_reload(page: Page) -> None:
    page.click("a.row:has-text('Minka')")
    expect(page.locator("#pane .note .prose")).to_have_text("The cat is called Minka")
    file(2).write_text(file(2).read_text().replace("Minka", "Kater"))
    expect(page.locator("#pane .note .prose")).to_have_text("The cat is called Kater")
    expect(page.locator("a.row[aria-current] .summary")).to_have_text("The cat is called Kater")


def test_a_row_that_changes_under_the_button_still_opens(page: Page, client: Client) -> None:
    """Red when what is under a pressed mouse button is drawn anew: the click is lost."""
    box = page.locator("a.row:has-text('Minka')").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    with page.expect_response("**/api/version*"):
        file(2).write_text(file(2).read_text().replace("Minka", "Kater"))
    for _ in range(20):  # as many as a page needs that asks for the list at once
        client.enter().get("list")
        page.evaluate("1")
    page.mouse.up()
    expect(page.locator("#pane .note .prose")).to_have_text("The cat is called Kater")
    expect(page.locator("a.row[aria-current] .summary")).to_have_text("The cat is called Kater")


def test_it_fits_a_phone_in_the_dark_and_a_screen_reader(page: Page) -> None:
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.emulate_media(color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != light
    page.set_viewport_size({"width": 360, "height": 740})
    for view in (
        "",
        "note/1",
        "new",
        "inbox",
        "updates",
        "changes",
        "archive",
        "pictures",
        "health",
    ):
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
