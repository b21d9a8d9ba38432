"""Draw docs/page.svg: the page of a small notebook, its own elements and style, from Chromium.

`make docs` runs it; a test compares the words. Without a Chromium the picture stays as it is.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "docs" / "page.svg"
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), "")
WIDTH, HEIGHT = 1120, 700
NOTES = {
    "Invoices go out on the first of the month": "billing",
    "Prices are stored in cents, never as floats": "decision",
    "Ada reviews everything that touches payments": "team",
    "We deploy on Tuesdays, after the standup": "decision",
    "A deploy needs two approvals": "convention",
    "The staging server is rebuilt with every deploy": "servers",
    "## Rolling back\n\nA release that fails is **rolled back first**, and looked into later:\n\n"
    "1. find the last good tag: `git tag -l 'live-*'`\n2. deploy it: `make deploy TAG=live-41`\n"
    "3. watch the error rate for ten minutes\n\n"
    "| step | who |\n|---|---|\n| deploy | Ada |\n| watch | Lin |": "runbook",
}
ASKED, OPENED = "what to do when a deploy fails", "7"
# What is on the screen as XHTML, and of the style what it uses. A picture has no width of its own
# to choose a layout by, and runs nothing, so sizes are fixed and what is hidden is left out.
SCREEN = """([width, height]) => {
    const pane = document.querySelector("#pane"), room = getComputedStyle(pane).padding;
    const fields = [...document.querySelectorAll("input, select")].map((one) => one.value);
    const rules = [...document.styleSheets].flatMap((sheet) => [...sheet.cssRules])
        .filter((rule) => rule.selectorText && !rule.selectorText.includes("::")
            && (rule.selectorText === ":root" || document.querySelector(rule.selectorText)))
        .map((rule) => rule.cssText);
    const copy = document.body.cloneNode(true);
    copy.querySelectorAll("input, select").forEach((one, at) => {
        one.setAttribute("value", fields[at]);
        one.querySelectorAll("option").forEach((option) => option.selected || option.remove());
    });
    const idle = "script, dialog, noscript, label.hidden, legend, .skip, #toast, [hidden]";
    copy.querySelectorAll(`${idle}, details > :not(summary)`).forEach((one) => one.remove());
    copy.querySelectorAll("#pane, #side").forEach((one) => { one.style.overflow = "hidden"; });
    copy.querySelector("#pane").style.padding = room;
    copy.style.cssText = `width: ${width}px; height: ${height}px; overflow: hidden`;
    copy.querySelector("img").replaceWith("ICON");
    return [rules.join("\\n"), new XMLSerializer().serializeToString(copy)];
}"""


def draw(browser: Browser) -> str:
    """The picture, of the server as the command starts it, in a home and a folder of their own."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        work = Path(os.path.realpath(place), "ada", "shop")
        work.mkdir(parents=True)
        env = {"HOME": str(work.parent), "PATH": os.environ.get("PATH", ""), "LC_ALL": "C.UTF-8"}
        co = partial(subprocess.Popen, cwd=work, env=env, text=True, stdout=subprocess.PIPE,
                     stderr=subprocess.DEVNULL)  # fmt: skip
        command = str(Path(sys.executable).parent / "co")
        saves = [["learn", text, "--tag", tag] for text, tag in NOTES.items()]
        for words in (*saves, ["knowledge", "protect", "4"]):
            with co([command, *words]) as save:
                assert save.wait() == 0
        with co([command, "web", "--no-open"]) as server:
            assert server.stdout is not None
            try:
                style, body = _screen(browser, server.stdout.readline().strip())
            finally:
                server.terminate()
        body = body.replace(str(work.parent), "/home/ada")
    icon = (ROOT / "co_cli/web/static/icon.svg").read_text(encoding="utf-8")
    icon = icon.strip().replace("<svg", '<svg style="width: 28px; height: 28px"', 1)
    body = body.replace(str(datetime.now(UTC).date()), "2026-02-09").replace("ICON", icon)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" '
        f'height="{HEIGHT}" role="img" aria-label="The page of co web">\n'
        f"<style>\n{style.replace('&', '&amp;').replace('<', '&lt;')}\n</style>\n"
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#faf8f4"/>\n'
        f'<foreignObject width="{WIDTH}" height="{HEIGHT}">\n{body}\n</foreignObject>\n</svg>\n'
    )


def _screen(browser: Browser, address: str) -> tuple[str, str]:
    """The style and the body of the page, with a question asked and a note open."""
    page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
    page.goto(address)
    page.wait_for_selector("a.row")
    page.fill("#query", ASKED)
    page.wait_for_selector("#list[aria-busy=false] mark")
    page.click(f"a.row[data-ref='{OPENED}']")
    page.wait_for_selector("#pane .note")
    page.wait_for_selector("a.row[aria-current]")
    style, body = page.evaluate(SCREEN, [WIDTH, HEIGHT])
    page.close()
    return style, body


def main() -> None:
    """Draw it, or say why not."""
    if not CHROMIUM:
        print(f"{TARGET.relative_to(ROOT)} stays as it is: there is no Chromium here to draw it.")
        return
    with sync_playwright() as playwright:
        flags = ["--headless", "--no-sandbox", "--disable-gpu"]
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=flags)
        TARGET.write_text(draw(browser), encoding="utf-8")
        browser.close()


if __name__ == "__main__":
    main()
