"""What people write into markdown besides words: properties, #tags, [[links]], dated names, lists.

Read as Obsidian and Logseq read them; nothing here knows files.
"""

import os
import re
import unicodedata
from textwrap import dedent
from typing import Any
from urllib.parse import unquote

from co_cli.knowledge.format.note import moment_of
from co_cli.knowledge.importers.batch import ORIGINS, iso_moment, spelled

CREATED = ("created", "createdat", "datecreated", "creationdate", "date")
UPDATED = ("updated", "updatedat", "modified", "lastmodified", "datemodified", "lastupdated")
NAMES = ("aliases", "alias")
TAGS = ("tags", "tag")
PROPERTIES = (*CREATED, *UPDATED, *NAMES, *TAGS, "title")

_FENCE = re.compile(r"[\s>]{0,40}(?:[-*+] )?(`{3,100}|~{3,100})")
_ITEM = re.compile(r"(?:[-*+]|\d{1,9}[.)])(?:\s|$)")
_BULLET = re.compile(r"[-*+](?:\s+|$)")
_HEADING = re.compile(r" {0,3}#{1,6}[ \t]+(\S.*)")
_PROPERTY = re.compile(r"([\w-]{1,60})::[ \t]+(\S.{0,2000})")
_TAG = re.compile(
    r"(?<!\S)#(?:\[\[([^\[\]\n]{1,100})\]\]"
    r"""|([^\s\u2000-\u206f\u2e00-\u2e7f'!"#$%&()*+,.:;<=>?@^`{|}~\[\]\\]{1,100}))"""
)
_COLOUR = re.compile(r"(?=[a-f]{0,6}\d)[\da-f]{6}", re.IGNORECASE)
_WIKI = re.compile(r"(?<!#)\[\[([^\[\]\n|#^]{1,200})(?:[#^|][^\[\]\n]{0,400})?\]\]")
_LINK = re.compile(r"\]\(<?([^()<>\n:#]{1,300})(?:#[^()<>\n]{0,200})?>?\)")
_DATED = re.compile(
    r"(?:^|/)((?:19|20)\d\d)([-_./]?)(\d\d)\2(\d\d)(?:(\d{4})(?:\d\d)?)?(?!\d)[^/]{0,250}$"
)
_MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()


def values(value: Any) -> list[str]:
    """A property's values as plain texts: a list, or a text with commas; no brackets, no #."""
    if isinstance(value, list):
        return [text for item in value for text in values(item)]
    text = "" if isinstance(value, dict | None) else str(value)
    parts = re.split(r",(?![^\[]{0,200}\]\])", text)
    return [text for part in parts if (text := part.strip().strip("[]#").strip())]


def properties(body: str) -> tuple[dict[str, str], str]:
    """The `name:: value` lines at the top that say something to Co, and the text without them.

    Where a text came from stays in it, too.
    """
    found: dict[str, str] = {}
    lines = body.split("\n")
    kept: list[str] = []
    for at, line in enumerate(lines):
        there = _PROPERTY.fullmatch(line.rstrip())
        if there is None:
            return found, "\n".join([*kept, *lines[at:]]).strip()
        name = spelled(there[1])
        if name not in PROPERTIES or name in found:
            kept.append(line)
        if name in PROPERTIES:
            found.setdefault(name, there[2])
        elif name in ORIGINS:
            found[name] = f"{found.get(name, '')} {there[2]}".strip()
    return found, "\n".join(kept)


def code(lines: list[str]) -> list[bool]:
    """Which lines are code: inside a fence, or set in after an empty line outside of a list."""
    found: list[bool] = []
    fence, listed = "", False
    for at, line in enumerate(lines):
        mark, inside = _FENCE.match(line), bool(fence)
        if fence and mark and mark[1].startswith(fence) and not line[mark.end() :].strip():
            fence = ""
        elif not fence and mark:
            fence = mark[1]
        elif not fence:
            deep = line.startswith(("    ", "\t"))
            inside = deep and not listed and (not at or found[-1] or not lines[at - 1].strip())
            going_on = listed and (line[:1].isspace() or not line.strip())
            listed = going_on or _ITEM.match(line.lstrip(" ")) is not None
        found.append(inside)
    return found


def prose(text: str) -> str:
    """The text without its code."""
    lines = text.split("\n")
    kept = [line for line, inside in zip(lines, code(lines), strict=True) if not inside]
    return re.sub(r"`[^`\n]*`", "`", "\n".join(kept))


def inline_tags(said: str) -> list[str]:
    """The #tags of a prose; numbers (#12) and colours (#1e1e1e) are none."""
    found = [(long or short).strip(" /") for long, short in _TAG.findall(said)]
    lettered = [tag for tag in found if re.search(r"[A-Za-z]|[^\0-\x7f]", tag)]
    return [tag for tag in lettered if not _COLOUR.fullmatch(tag)]


def links(said: str, folder: str) -> list[str]:
    """What a prose links to: pages by name, files by their path from the top, after a /."""
    pages = [found for name in _WIKI.findall(said) if (found := name.rstrip("\\").strip())]
    paths = [os.path.join(folder, unquote(path).strip()) for path in _LINK.findall(said)]
    return [*pages, *(f"/{os.path.normpath(path)}" for path in paths)]


def page_name(path: str) -> str:
    """A page's name by its file's; Logseq writes a / in it as ___ or %2F."""
    stem = os.path.basename(path).removesuffix(".md")
    name = unquote(stem) if "%" in stem else stem
    return unicodedata.normalize("NFC", name).replace("___", "/").strip()


def moment(text: str) -> str:
    """A time as people write it, or in milliseconds, as Logseq does; or nothing."""
    counted = text.isdecimal() and len(text) == 13
    return moment_of(int(text) * 1_000_000) if counted else iso_moment(text)


def dated(path: str) -> str:
    """The time that a file's name begins with, or its folders and its name say; or nothing."""
    found = _DATED.search(path.removesuffix(".md"))
    day, time = ("-".join(found.group(1, 3, 4)), found[5]) if found else ("", None)
    return (iso_moment(f"{day}T{time[:2]}:{time[2:]}") if time else "") or iso_moment(day)


def day_names(moment: str) -> list[str]:
    """What pages call a day: 2026-02-03, Feb 3rd, 2026."""
    year, month, day = (int(part) for part in moment[:10].split("-"))
    last = day % 10 if day // 10 != 1 else 0
    nth = f"{day}{dict(enumerate(('st', 'nd', 'rd'), 1)).get(last, 'th')}"
    return [moment[:10], f"{_MONTHS[month - 1]} {nth}, {year}"]


def heading(line: str) -> str:
    """What a heading says; nothing when the line is none."""
    found = _HEADING.fullmatch(line.rstrip())
    return found[1].rstrip("# \t") if found else ""


def split_bullets(body: str) -> tuple[list[tuple[str, str]], str]:
    """Each item of the lists in a text and the heading above it; and the text that is left."""
    bullets: list[tuple[list[str], str]] = []
    rest: list[str] = []
    above, inside = "", False
    lines = body.split("\n")
    for line, coded in zip(lines, code(lines), strict=True):
        start = None if coded else _BULLET.match(line)
        inside = start is not None or (inside and (line[:1].isspace() or not line.strip()))
        if start:
            bullets.append(([line[start.end() :]], above))
        elif inside:
            bullets[-1][0].append(line)
        else:
            above = above if coded else heading(line) or above
            rest.append(line)
    said = any(line.strip() and not heading(line) for line in rest)
    found = [(set_out(lines), above) for lines, above in bullets]
    return [item for item in found if item[0]], "\n".join(rest).strip() if said else ""


def set_out(lines: list[str]) -> str:
    """An item's text with its further lines as far to the left as they go."""
    return "\n".join([lines[0].strip(), dedent("\n".join(lines[1:]))]).strip()


def words(text: str) -> list[str]:
    """The words of a name, however they are joined and written."""
    return re.findall(r"[^\W_]+", unicodedata.normalize("NFC", text).casefold())
