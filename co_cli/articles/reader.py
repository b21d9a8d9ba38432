"""Reads documents in a process of its own, which `extract` starts, limits and ends.

Each request is a line of JSON and the document's bytes; each answer is lines of JSON. What a
library prints goes nowhere.
"""

import contextlib
import json
import os
import re
import resource
import signal
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any, BinaryIO

from co_cli.articles import READERS
from co_cli.articles.archives import open_archive
from co_cli.articles.charset import decoded
from co_cli.articles.ocr import picture, read_image
from co_cli.articles.outcome import Read, Unread
from co_cli.articles.read_text import read_notebook, read_text
from co_cli.knowledge.safety.check import find_hidden
from co_cli.knowledge.safety.escape import HIDDEN_KINDS

Progress = Callable[[int, int], None]

MEMORY = 2 << 30  # bytes of address space
CPU = 90  # seconds for one document
MOST_TEXT = 8_000_000  # letters of a document that are kept; an article holds 8 MiB
_OFFICE = {"ppt/": "presentation", "xl/": "spreadsheet"}
_HIDDEN = re.compile(f"[{''.join(HIDDEN_KINDS.values())}]")
_NOT_TEXT = frozenset("docx epub epub+zip gif jpeg jpg pdf png webp zip".split())
_PAGE = re.compile(rb"\s*<(?:!doctype html|html|head|body)\b", re.IGNORECASE)


def kind_of(data: bytes, asked: dict[str, str]) -> str:
    """The format of a document: by its first bytes, then by what is said of it."""
    if data[:1024].lstrip().startswith(b"%PDF-"):
        return "pdf"
    if data.startswith(b"PK\x03\x04"):
        return _kind_of_archive(data)
    kind, ending, claimed = asked["kind"], _ending(asked), _claimed(asked)
    if claimed == "x-ipynb+json" or ending == ".ipynb":
        return "notebook"
    named = "html" in kind or ending in (".html", ".htm", ".xhtml")
    if named or (not kind.startswith("text/") and _PAGE.match(data[:500])):
        return "html"
    _check_letters(data, claimed)
    return "text"


def _ending(asked: dict[str, str]) -> str:
    return os.path.splitext(asked["name"].lower())[1]


def _claimed(asked: dict[str, str]) -> str:
    """What a document is said to be."""
    kind = asked["kind"]
    said = kind.startswith(("application/", "image/"))
    return kind.rsplit("/")[-1] if said else _ending(asked)[1:]


def _check_letters(data: bytes, claimed: str) -> None:
    if claimed in _NOT_TEXT:
        raise Unread(f"it is called {claimed} and is not: its first bytes are of something else")
    if b"\0" in data[:4096] and not data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise Unread("this kind of file cannot be read", "Save it as PDF, HTML or text.")


def _kind_of_archive(data: bytes) -> str:
    names = set(open_archive(data, "file").namelist())
    if "word/document.xml" in names:
        return "docx"
    if "META-INF/container.xml" in names:
        return "epub"
    for start, what in _OFFICE.items():
        if any(name.startswith(start) for name in names):
            raise Unread(f"a {what} cannot be read", "Save it as PDF or text, and give that file.")
    raise Unread("an archive cannot be read", "Unpack it, and give the files in it.")


def read(data: bytes, asked: dict[str, str], progress: Progress) -> tuple[str, Read]:
    """The format of a document and what it says, cleaned."""
    if not data.strip():
        raise Unread("there is nothing to read: the document is empty")
    if found := picture(data):
        return "image", clean(read_image(data, found, asked["name"]))
    form = kind_of(data, asked)
    # Each library is loaded for what it reads; the rest can be read without it.
    if form == "pdf":
        from co_cli.articles.read_pdf import read_pdf

        made = read_pdf(data, progress)
    elif form == "docx":
        from co_cli.articles.read_docx import read_docx

        made = read_docx(data)
    elif form == "epub":
        from co_cli.articles.read_epub import read_epub

        made = read_epub(data)
    else:
        made = _read_letters(form, data, asked)
    cleaned = clean(made)
    if not cleaned.text.strip():
        raise Unread("there is nothing to read: nothing of it can be seen")
    return form, cleaned


def _read_letters(form: str, data: bytes, asked: dict[str, str]) -> Read:
    text, remarks = decoded(data, asked["charset"])
    if form == "html":
        from co_cli.articles.read_html import read_html

        made = read_html(text, asked["url"])
        if (claimed := _claimed(asked)) in _NOT_TEXT:
            remarks.append(f"It is called {claimed} and is a web page.")
    elif form == "notebook":
        made = read_notebook(text)
    else:
        made = read_text(text, asked["name"])
    return made._replace(remarks=remarks + made.remarks)


def clean(made: Read) -> Read:
    """The same without characters that nobody sees, and not longer than is bearable."""
    text, remarks = made.text.replace("\r\n", "\n").replace("\f", "\n").replace("\xa0", " "), []
    if len(text) > MOST_TEXT:
        text = text[:MOST_TEXT] + "\n"
        remarks.append(f"Only the first {MOST_TEXT // 1_000_000} million letters were kept.")
    text, hid = _visible(re.sub("[\xad\x02]", "", text))
    title, _ = _visible(" ".join(made.title.split())[:300])
    if hid:
        remarks.append("Hidden characters were left out.")
    return made._replace(title=title, text=text, remarks=made.remarks + remarks)


def _visible(text: str) -> tuple[str, bool]:
    found: dict[int, set[int]] = defaultdict(set)
    for line, column, _, _ in find_hidden(text) if _HIDDEN.search(text) else ():
        found[line - 1].add(column - 1)
    lines = text.split("\n") if found else [text]
    for number, gone in found.items():
        lines[number] = "".join(one for at, one in enumerate(lines[number]) if at not in gone)
    return "\n".join(lines), bool(found)


def answer(data: bytes, asked: dict[str, str], progress: Progress) -> dict[str, Any]:
    """One document as the line that goes back."""
    try:
        form, made = read(data, asked, progress)
    except Unread as error:
        return {"error": error.why, "hint": error.hint}
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in READERS:
            raise
        from co_cli.extras import install_hint

        why = f"documents are read with {error.name}, which is not installed"
        return {"error": why, "hint": f"To install it: {install_hint('articles')}"}
    except MemoryError:
        return {"error": "reading it takes more memory than it may have", "hint": ""}
    except Exception as error:  # other people's libraries raise what they like
        return {"error": f"it is broken: {type(error).__name__} while reading it", "hint": ""}
    return {**made._asdict(), "format": form}


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer requests until there are no more."""

    def say(told: dict[str, Any]) -> None:
        answers.write(json.dumps(told).encode() + b"\n")
        answers.flush()

    while line := requests.readline():
        asked = json.loads(line)
        data = requests.read(int(asked.pop("size")))
        used = resource.getrusage(resource.RUSAGE_SELF)
        _limit(resource.RLIMIT_CPU, int(used.ru_utime + used.ru_stime) + CPU)
        say(answer(data, asked, lambda done, all_: say({"done": done, "all": all_})))


def _limit(what: int, most: int) -> None:
    with contextlib.suppress(ValueError, OSError):  # a system that does not know this limit
        resource.setrlimit(what, (most, resource.getrlimit(what)[1]))


def _end_with(parent: int) -> None:
    """End when the process that asked is gone, also in the middle of a document."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os.killpg(0, signal.SIGKILL)


def main() -> None:
    """Set the limits and serve."""
    sys.setrecursionlimit(5_000)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    _limit(resource.RLIMIT_AS, MEMORY)
    _limit(resource.RLIMIT_CORE, 0)
    threading.Thread(target=_end_with, args=(int(sys.argv[1]),), daemon=True).start()
    serve(sys.stdin.buffer, answers)


if __name__ == "__main__":
    main()
