"""Plain text, markdown and notebooks, which are nearly markdown already."""

import json
import os
import re
from contextlib import suppress
from typing import Any

from co_cli.articles.markdown import fenced
from co_cli.articles.outcome import Read, Unread
from co_cli.errors import FormatError, RefusedText
from co_cli.knowledge.format.frontmatter import read_header
from co_cli.knowledge.safety.check import clean_tags

_LONGEST = 80  # characters of a line that serves as a title


def read_notebook(text: str) -> Read:
    """A notebook: its text, its code, and what the code printed."""
    try:
        told = json.loads(text)
        cells = told["cells"]
        named = told.get("metadata", {}).get("language_info", {}).get("name", "python")
        made = [piece for cell in cells for piece in _cell(cell, str(named))]
        pictures = '"image/' in text
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise Unread("the notebook is broken: its cells cannot be read") from error
    body = "\n\n".join(filter(None, made)) + "\n"
    return Read(first_heading(body), body, ["Pictures were left out."] if pictures else [])


def _cell(cell: dict[str, Any], language: str) -> list[str]:
    source = "".join(cell.get("source", ())).strip("\n")
    if cell.get("cell_type") != "code":
        return [source]
    made = [fenced(source, re.sub(r"\W", "", language.lower()))]
    for output in cell.get("outputs", ()):
        plain = output.get("text") or (output.get("data") or {}).get("text/plain") or ()
        shown = "".join(plain).strip("\n")
        made.append("" if re.fullmatch(r"<[^\n]*>", shown) else fenced(shown, ""))
    return made


def read_text(text: str, name: str) -> Read:
    """Plain text or markdown as it is, without a header of its own."""
    body = text.replace("\r\n", "\n")
    header = re.match(r"---\n(.*?\n)---[ \t]*\n", body[:20_000], re.DOTALL)
    titled = re.search(r"^title:[ \t]*(.+)$", header[1], re.MULTILINE) if header else None
    body = body[header.end() :].lstrip("\n") if header else body
    title = titled[1].strip().strip("'\"") if titled else first_heading(body)
    title = title or os.path.splitext(name)[0] or ("" if name else _first_line(body))
    return Read(title, body, [], *_told(header[1] if header else ""))


def _told(header: str) -> tuple[tuple[str, ...], str]:
    """The tags that a header names, as far as they can be kept, and its date."""
    try:
        told = read_header(header)
    except FormatError:
        return (), ""
    named, tags = told.get("tags"), list[str]()
    if isinstance(named, str):
        named = named.split("," if "," in named else None)
    for tag in named if isinstance(named, list) else ():
        with suppress(RefusedText):
            tags = clean_tags([*tags, str(tag).strip().removeprefix("#")])
    date = re.match(r"\d{4}-\d\d-\d\d(?!\d)", str(told.get("date") or told.get("created") or ""))
    return tuple(tags), date[0] if date else ""


def first_heading(text: str) -> str:
    """The words of the first heading, without marks."""
    found = re.search(r"^#{1,6} (.{1,300})", text, re.MULTILINE)
    bare = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", found[1]) if found else ""
    return re.sub(r"[*`]|\\(?=\W)", "", bare).strip()


def _first_line(text: str) -> str:
    """The first line with a letter in it, as far as it serves as a title."""
    lines = (" ".join(line.split()) for line in text[:20_000].split("\n"))
    line = next((line for line in lines if any(map(str.isalpha, line))), "")
    begun = line[:_LONGEST].rpartition(" ")[0] or line[:_LONGEST]
    return line if len(line) <= _LONGEST else f"{begun}…"
