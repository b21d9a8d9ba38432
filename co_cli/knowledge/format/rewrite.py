"""Notes as bytes: a new file, and how to change one field of an old one and nothing else."""

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from co_cli.errors import FormatError
from co_cli.knowledge.format.frontmatter import compose, find_header, read_header
from co_cli.knowledge.format.note import decode

_OTHER_BREAKS = "\r(?!\n)|[\x85\u2028\u2029]"  # line breaks to YAML, not to us
_PLAIN = r"[A-Za-z_][A-Za-z0-9_ ./+-]*"
_OTHER_YAML = frozenset("y n yes no on off true false null".split())  # what other readers retype


def render(meta: dict[str, Any], body: str) -> bytes:
    """A new file: the header in this order, an empty line, the text."""
    lines = [line for name, value in meta.items() for line in _entry(name, value)]
    return "\n".join(["---", *lines, "---", "", body, ""]).encode()


def with_header(raw: bytes, meta: dict[str, Any]) -> bytes:
    """A file that has no header with this one before its text, whose bytes stay."""
    mark = b"\xef\xbb\xbf" if raw.startswith(b"\xef\xbb\xbf") else b""
    header = render(meta, "").rstrip() + b"\n\n"
    header = header.replace(b"\n", b"\r\n") if b"\r\n" in raw else header
    return mark + header + raw.removeprefix(mark)


def _entry(name: str, value: Any, ends: str = "") -> list[str]:
    """The lines of a field; of an empty list there are none."""
    if isinstance(value, str) or not isinstance(value, Sequence):
        return [f"{name}: {_scalar(value)}{ends}"]
    return [f"{name}:{ends}", *(f"- {_scalar(str(item))}{ends}" for item in value)] if value else []


def _scalar(value: Any) -> str:
    if isinstance(value, int):  # or true or false
        return json.dumps(value)
    text = str(value)
    if re.fullmatch(_PLAIN, text) and not text.endswith(" ") and text.lower() not in _OTHER_YAML:
        return text
    return json.dumps(text, ensure_ascii=False)


def rewrite(raw: bytes, changes: dict[str, Any], body: str | None = None) -> bytes:
    """The file with these header fields set (None removes one) and, if given, a new body.

    Every other byte stays. A list may only grow: its new items are added to the old ones.
    """
    text = decode(raw)
    where = find_header(text)
    if where is None:
        raise FormatError("there is no header to change")
    start, end, body_start = where
    header, newline = text[start:end], "\r\n" if text[:start].endswith("\r\n") else "\n"
    old = read_header(header)
    changed = {name: value for name, value in changes.items() if value != old.get(name)}
    header = _edit(header, old, changed, newline.removesuffix("\n"))
    try:
        holds = _filled(read_header(header)) == _filled(old | changes)
    except FormatError:
        holds = False
    if not holds:
        raise FormatError("the header is written in a way Co cannot change line by line")
    if body is not None:
        before = text[body_start:]
        lead = before[: len(before) - len(before.lstrip("\r\n"))] if before.strip() else newline
        tail = before[len(before.rstrip("\r\n")) :] or newline
        body = body.replace("\r\n", "\n").replace("\n", newline)
        text = text[:body_start] + lead + body + tail
    return (text[:start] + header + text[end:]).encode()


def _filled(meta: dict[str, Any]) -> dict[str, Any]:
    """The fields that say something; nothing and an empty list are the same."""
    return {name: value for name, value in meta.items() if value not in (None, [])}


class _Field(NamedTuple):
    """Where one top-level field stands in the header, by PyYAML's marks: from 0, end exclusive."""

    name: str
    line: int
    value: Any

    @property
    def end_line(self) -> int:
        """Where its lines end; a block's own mark would take in the blank lines after it."""
        node = self.value
        while node.id != "scalar" and not node.flow_style and node.value:
            node = node.value[-1][1] if node.id == "mapping" else node.value[-1]
        below: int = node.end_mark.line + (node.end_mark.column > 0)
        return max(below, self.line + 1)


def _edit(header: str, old: dict[str, Any], changes: dict[str, Any], ends: str) -> str:
    lines = header.split("\n")
    node = compose(re.sub(_OTHER_BREAKS, "?", header))
    pairs = node.value if node is not None and node.id == "mapping" else []
    fields = {key.value: _Field(key.value, key.start_mark.line, value) for key, value in pairs}
    known = [fields[name] for name in changes if name in fields]
    for field in sorted(known, key=lambda field: -field.line):
        value, before = changes[field.name], old[field.name]
        if value is None:
            del lines[field.line : field.end_line]
        elif field.value.id == "sequence" and value[: len(before)] == before:
            _grow(lines, field, value[len(before) :], ends)
        else:
            _set(lines, field, value, ends)
    for name, value in changes.items():
        if name not in fields and value is not None:
            lines[-1:-1] = _entry(name, value, ends)
    return "\n".join(lines)


def _set(lines: list[str], field: _Field, value: Any, ends: str) -> None:
    start, end = field.value.start_mark, field.value.end_mark
    entry = _entry(field.name, value, ends)
    if field.value.id != "scalar" or not start.line == end.line == field.line:
        lines[field.line : field.end_line] = entry
        return
    line = lines[field.line]
    before, after = line[: start.column], line[end.column :]
    if isinstance(value, list):  # in place of nothing: the line and its remark stay
        lines[field.line : field.line + 1] = [before.rstrip(" ") + after, *entry[1:]]
        return
    text, style = _scalar(value), field.value.style
    if style and isinstance(value, str) and not {style, "\\", "\n"} & set(value):
        text = f"{style}{value}{style}"
    gap = " " if start.column == end.column and not before.endswith(" ") else ""
    lines[field.line] = before + gap + text + after


def _grow(lines: list[str], field: _Field, items: list[str], ends: str) -> None:
    """Add items to a list in the style it is written in."""
    if not field.value.flow_style:
        first = lines[field.value.start_mark.line]
        dash = first[: first.index("-")]
        new = [dash + line for line in _entry("", items, ends)[1:]]
        lines[field.end_line : field.end_line] = new
        return
    end = field.value.end_mark
    at, line = end.column - 1, lines[end.line]
    comma = ", " if field.value.value else ""
    more = comma + ", ".join(_scalar(item) for item in items)
    lines[end.line] = line[:at].rstrip(" ") + more + line[at:]
