"""What pages and documents become: what is lost of the set, what reading costs, and hostile ones.

Two other extractors read the same pages in an environment of their own; where it cannot be made,
they are skipped with a word.
"""

from __future__ import annotations

import json
import re
import resource
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

from lab import scratch, tell
from peers import Skipped, environment, run
from speed import timed

from co_cli.articles.extract import Reader
from co_cli.articles.read_html import read_html
from co_cli.articles.reader import clean
from co_cli.errors import ExtractError

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from article_set import EXPECTED, NAMES, article, lost, pdf_of, zipped

PAGES = [name for name in NAMES if name.endswith(".html") and "error" not in EXPECTED[name]]
LISTED = ("headings", "code", "rows", "links", "items", "kept")
OTHERS = """
import json, logging, sys
logging.disable(logging.CRITICAL)
import markdownify, readability, trafilatura
pages = json.load(sys.stdin)
def plain(text, url):
    return trafilatura.extract(text, url=url, output_format="markdown", include_links=True,
        include_tables=True, include_formatting=True, include_comments=False) or ""
def readable(text, url):
    found = readability.Document(text, url=url).summary()
    return markdownify.markdownify(found, heading_style="ATX")
json.dump({"trafilatura": [plain(*page) for page in pages],
    "readability-lxml and markdownify": [readable(*page) for page in pages]}, sys.stdout)
"""
PACKAGES = ("trafilatura==2.3.1", "markdownify==1.2.2", "lxml_html_clean", "cssselect", "chardet")
ALONE = "readability-lxml==0.9"  # what it asks for as an extra confuses older pips


def text_of(name: str) -> str:
    return article(name).decode("cp1252" if name == "charset.html" else "utf-8")


def shares(texts: dict[str, str]) -> tuple[float, float]:
    """Of what is listed for these documents: the share that was lost, and that was left in."""
    listed = gone = missing = left = 0
    for name, text in texts.items():
        wanted = EXPECTED[name]
        listed += sum(len(wanted.get(kind, ())) for kind in LISTED)
        gone += len(wanted.get("gone", ()))
        found = lost(name, text)
        left += sum(one.startswith("left in: ") for one in found)
        missing += sum(not one.startswith("left in: ") for one in found)
    return missing / listed, left / gone


def the_set() -> int:
    """What is lost of the whole set; and of its pages, by others."""
    texts = {}
    with Reader() as reader:
        for name in NAMES:
            if "error" not in EXPECTED[name]:
                url = EXPECTED[name]["url"]
                texts[name] = reader.extract(article(name), name=name, url=url).text
    missing, left = shares(texts)
    missed = tell(f"listed things lost, of {len(texts)} documents", missing, 0)
    missed += tell("listed boilerplate left in", left, 0)
    pages = [(text_of(name), EXPECTED[name]["url"]) for name in PAGES]
    try:
        python = environment("extractors", *PACKAGES)
        run(python, "-m", "pip", "install", "-q", "--no-deps", ALONE)
        told = json.loads(run(python, "-c", OTHERS, given=pages))
    except Skipped as why:
        print(f"other extractors: skipped: {why}")
        return missed
    for name, made in told.items():
        missing, left = shares(dict(zip(PAGES, made, strict=True)))
        print(f"  {name}: {missing:.2f} of what is listed lost, {left:.2f} of the boilerplate left")
    return missed


def many_files(folder: Path) -> int:
    """200 local pages of 50 KB: what the process costs on top of the extractor."""
    body = re.search(r"<main>(.*)</main>", text_of("tables.html"), re.S)
    assert body is not None
    page = text_of("tables.html").replace(body[1], body[1] * (50_000 // len(body[1])))
    paths = [folder / f"{number}.html" for number in range(200)]
    for path in paths:
        path.write_text(page, encoding="utf-8")

    def alone() -> None:
        for path in paths:
            clean(read_html(path.read_text("utf-8"), "https://example.org/"))

    def whole() -> None:
        with Reader() as reader:
            for path in paths:
                reader.extract(path.read_bytes(), name=path.name, url="https://example.org/")

    alone()
    least = [min(timed(one) for _ in range(3)) for one in (alone, whole)]
    print(f"  a page of {len(page) // 1000} KB: {least[0] / len(paths) * 1000:.1f} ms alone")
    return tell("200 files of 50 KB / the extractor alone", least[1] / least[0], 1.5)


def hostile() -> Iterator[tuple[str, Callable[[], bytes]]]:
    """Documents made to take all the time or memory there is."""
    yield "nested.html", lambda: b"<div>" * 100_000
    yield "formatted.html", lambda: b"<p>" + b"<b>" * 100_000
    yield "elements.html", lambda: b"<p>" + b"<b>x</b>" * 3_000_000
    yield "line.html", lambda: b"<p>" + b"a" * 49_000_000
    yield "line.txt", lambda: b"word " * 9_900_000
    yield "rules.html", lambda: b"<style>" + b"".join(
        b"div div div div .x%d{display:none}" % n for n in range(4000)
    ) + b"</style>" + b"<div><div><div>x</div></div></div>" * 300  # fmt: skip
    drawing = zlib.compress(b"BT /F1 10 Tf (x) Tj ET\n" * 20_000_000, 9)
    head = b"<< /Filter /FlateDecode /Length %d >>\nstream\n" % len(drawing)
    bomb = pdf_of([b"x"]).replace(b"<< /Length 1 >>\nstream\nx", head + drawing)
    yield "bomb.pdf", lambda: bomb
    yield "pages.pdf", lambda: pdf_of([b"BT /F1 10 Tf (x) Tj ET"] * 20_000)
    yield "bomb.docx", lambda: zipped({"word/document.xml": bytes(400_000_000)})
    yield "hidden.txt", lambda: "\u202e".encode() * 1_000_000


def in_bounds() -> int:
    """No hostile document takes longer than its limit, and none more memory."""
    slowest = 0.0
    for name, made in hostile():
        data = made()

        def ask(data: bytes = data, name: str = name) -> None:
            with Reader() as reader:
                try:
                    said = f"{len(reader.extract(data, name=name).text)} letters"
                except ExtractError as error:
                    said = str(error)
            print(f"  {said[:100]}")

        took = timed(ask)
        slowest = max(slowest, took)
        print(f"  {name:16} {len(data) / 1e6:5.1f} MB {took:6.1f} s", flush=True)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    missed = tell("the slowest hostile document, seconds", slowest, 125)
    return missed + tell("most memory of a reader, MB", peak, 2048)


def main() -> int:
    """Print every figure with its target; 1 when one is missed."""
    missed = the_set()
    with scratch() as folder:
        missed += many_files(folder)
    return 1 if missed + in_bounds() else 0


if __name__ == "__main__":
    sys.exit(main())
