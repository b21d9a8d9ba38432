"""A book as markdown, chapter by chapter."""

import posixpath
import zipfile
from urllib.parse import unquote
from xml.etree import ElementTree

from co_cli.articles.archives import MOST_UNPACKED, open_archive, too_large, unpacked
from co_cli.articles.outcome import Read, Unread
from co_cli.articles.read_html import read_fragment


def read_epub(data: bytes) -> Read:
    """A book, chapter by chapter in the order of its spine."""
    archive = open_archive(data, "book")
    container = _xml(archive, "META-INF/container.xml")
    root = next((one.get("full-path", "") for one in container.iter() if _is(one, "rootfile")), "")
    package, here = _xml(archive, root), posixpath.dirname(root)
    items = {one.get("id"): one for one in package.iter() if _is(one, "item")}
    title = next(("".join(one.itertext()) for one in package.iter() if _is(one, "title")), "")
    chapters: list[Read] = []
    missing, left = 0, MOST_UNPACKED
    for reference in (one for one in package.iter() if _is(one, "itemref")):
        item = items.get(reference.get("idref"))
        if item is None or "nav" in (item.get("properties") or "").split():
            continue
        path = posixpath.normpath(posixpath.join(here, unquote(item.get("href", ""))))
        try:
            page = unpacked(archive, path, "book")
        except KeyError:
            missing += 1
            continue
        left -= len(page)
        if left < 0:
            raise too_large("book")
        chapters.append(read_fragment(page.decode("utf-8", "replace")))
    text = "\n\n".join(chapter.text for chapter in chapters if chapter.text)
    if not text:
        raise Unread("there is nothing to read in the book")
    remarks = sorted({remark for chapter in chapters for remark in chapter.remarks})
    if missing:
        remarks.append(f"{missing} of the book's chapters are missing in the file.")
    return Read(" ".join(title.split()), text + "\n", remarks)


def _is(element: ElementTree.Element, name: str) -> bool:
    return element.tag.rsplit("}", 1)[-1] == name


def _xml(archive: zipfile.ZipFile, path: str) -> ElementTree.Element:
    try:
        return ElementTree.fromstring(unpacked(archive, path, "book"))
    except (KeyError, ElementTree.ParseError) as error:
        raise Unread("the book is broken: its table of contents cannot be read") from error
