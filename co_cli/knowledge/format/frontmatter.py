"""The header of a note: text to mapping, and what a header must hold. Knows no files.

Two readers share one meaning. Lines as Co and most people write them are read by a small
scanner; anything richer is composed by PyYAML. Neither lets YAML decide types:
scalars are resolved here, so `no` stays text in a tag list, `010` is ten and a date is a string.
"""

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, Final

from co_cli.errors import FormatError

MAX_HEADER: Final = 16 * 1024
MAX_DEPTH: Final = 8
MAX_ID: Final = 999_999_999

# Always text, whatever they look like; only an empty value, `~` and `null` mean nothing.
_TEXT_KEYS = frozenset(
    "tags created updated fetched expires verified uid updates supersedes related language "
    "check".split()
)
_WORDS = {
    spelled: value
    for word, value in {"": None, "~": None, "null": None, "true": True, "false": False}.items()
    for spelled in (word, word.capitalize(), word.upper())
}
_INTEGER = r"[-+]?[0-9]{1,18}"
_FLOAT = r"[-+]?(?:[0-9]{1,300}\.[0-9]{0,300}|\.[0-9]{1,300})(?:[eE][-+]?[0-9]{1,3})?"
_TIMESTAMP = r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}"

# A line as people write it: a name or a list item, then nothing, a quoted text, a list in
# brackets or a plain text; or a blank line or a remark. Each part excludes what would make YAML
# read on or read it otherwise. Looking ahead after a run keeps it whole: giving it back piece by
# piece would be quadratic.
_LINE = re.compile(
    r"""
    (?: ([A-Za-z_][A-Za-z0-9_-]{0,127}) : (?=[ \n]|\Z) | ([ ]*) - (?=[ ]) ) [ ]*(?![ ])
    (?: "([^"\\\n]*)" | '([^'\n]*)'
      | \[ ((?: (?:(?<=\[)|(?<!\[),) [ ]*
            (?:[\w/(.+$^;~]|-[0-9])[^][{}"'\#&*!|>%@`:\\?,\n]* )* | [ ]*) \]
      | ((?:[\w/(.+$^;~]|-(?=[0-9]))[^\#:\n]*(?::[^\s\#:][^\#:\n]*)*) (?=\n|\Z)
    )?
    [ ]*(?:\n|\Z)
    | [ ]*(?:\#[^\n]*)?(?:\n|\Z)
    """,
    re.VERBOSE,
)


def find_header(content: str) -> tuple[int, int, int] | None:
    """Where the header is: (start of its text, end of its text, start of the body), or None.

    A header opens with `---` on the first line (after a byte-order mark) and ends at the next
    line that is `---`; white space after the dashes does not matter.
    """
    first = re.match(r"\ufeff?---[^\S\n]*\n", content)
    last = re.compile(r"\n---[^\S\n]*(?:\n|\Z)").search(content, first.end() - 1) if first else None
    return (first.end(), last.start() + 1, last.end()) if first and last else None


def parse_frontmatter(content: str) -> tuple[dict[str, Any], str]:
    """Split markdown into its header's mapping and its body; ({}, content) without a header.

    Raises ValueError ("Invalid YAML ...") when the header is not a mapping Co can read.
    """
    where = find_header(content)
    if where is None:
        return {}, content
    start, end, body = where
    return read_header(content[start:end]), content[body:]


def strip_frontmatter(content: str) -> str:
    """The body alone."""
    return parse_frontmatter(content)[1]


def read_header(header: str) -> dict[str, Any]:
    """A header's text as a mapping; linear in its length and never larger than it."""
    if len(header) > MAX_HEADER or len(header.encode("utf-8", "surrogatepass")) > MAX_HEADER:
        raise _invalid(f"header longer than {MAX_HEADER // 1024} KiB", 1)
    simple = _read_simple(header)
    return _read_yaml(header) if simple is None else simple


@lru_cache(maxsize=1024)
def resolve(text: str, key: str = "") -> Any:
    """A plain scalar's value by Co's own schema."""
    if key in _TEXT_KEYS:
        return None if text in ("", "~", "null") else text
    if text in _WORDS:
        return _WORDS[text]
    if re.fullmatch(_INTEGER, text):
        return int(text)
    return float(text) if re.fullmatch(_FLOAT, text) else text


def _read_simple(header: str) -> dict[str, Any] | None:
    """Read `key: value` lines and lists of plain items; None when there is more to it."""
    header = header.replace("\r\n", "\n")
    if not header.replace("\n", "").isprintable():
        return None
    found: dict[str, Any] = {}
    items: list[Any] | None = None
    key, indent, at = "", "", 0
    while at < len(header):
        match = _LINE.match(header, at)
        if match is None:
            return None
        name, spaces, *value = match.groups()
        if name is not None:
            if name in found:
                raise _invalid(f"'{name}' appears twice", header.count("\n", 0, at) + 2)
            key, items = name, [] if match.lastindex == 1 else None
            found[key] = _value(key, *value)
        elif spaces is not None:
            if items is None or match.lastindex in (2, 5) or (items and spaces != indent):
                return None  # no list, or an item that is nothing, a list, or deeper
            indent, found[key] = spaces, items
            items.append(_value(key, *value))
        at = match.end()
    return found


def _value(
    key: str, double: str | None, single: str | None, flow: str | None, plain: str | None
) -> Any:
    if plain is not None:
        return resolve(plain.rstrip(" "), key)
    if flow is None:
        return single if double is None else double
    return [resolve(item.strip(" "), key) for item in flow.split(",")] if flow.strip(" ") else []


def _invalid(reason: str, line: int) -> FormatError:
    return FormatError(f"Invalid YAML in frontmatter: line {line}: {reason}", line=line)


def _read_yaml(header: str) -> dict[str, Any]:
    node = compose(header)
    value = None if node is None else _node_value(node)
    if not isinstance(value, dict | None):
        raise _invalid("the header must be a mapping of names to values", 2)
    return value or {}


def compose(header: str) -> Any:
    """PyYAML's node for a header, None for an empty one; what could surprise is refused."""
    import yaml  # a third of the start-up time, and most headers never need it

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    header = header.replace("\r\n", "\n")
    try:
        _refuse_surprises(yaml.parse(header, Loader=loader))
        return yaml.compose(header, Loader=loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        reason = getattr(error, "problem", None) or "unreadable characters"
        raise _invalid(str(reason), mark.line + 2 if mark else 2) from error


def _refuse_surprises(events: Iterable[Any]) -> None:
    """Refuse what makes a small header large or slow, before nodes are made of it."""
    depth = documents = 0
    for event in events:
        kind, line = type(event).__name__, event.start_mark.line + 2
        documents += kind == "DocumentStartEvent"
        if documents > 1:
            raise _invalid("more than one YAML document", line)
        if getattr(event, "anchor", None) is not None:  # an alias has one too
            raise _invalid("anchors and aliases are not allowed", line)
        if getattr(event, "tag", None) is not None:
            raise _invalid("YAML tags (!) are not allowed", line)
        depth -= kind in ("MappingEndEvent", "SequenceEndEvent")
        if depth > MAX_DEPTH:
            raise _invalid(f"nested deeper than {MAX_DEPTH} levels", line)
        depth += kind in ("MappingStartEvent", "SequenceStartEvent")


def _node_value(node: Any, key: str = "") -> Any:
    if node.id == "scalar":
        return node.value if node.style else resolve(node.value, key)
    if node.id == "sequence":
        return [_node_value(item, key) for item in node.value]
    found: dict[str, Any] = {}
    for name, value in node.value:
        line = name.start_mark.line + 2
        if name.id != "scalar":
            raise _invalid("a name must be plain text", line)
        if name.value == "<<":
            raise _invalid("merge keys are not allowed", line)
        if name.value in found:
            raise _invalid(f"'{name.value}' appears twice", line)
        found[name.value] = _node_value(value, key if key in _TEXT_KEYS else name.value)
    return found


def validated(
    content: str, header: dict[str, Any], validate: Callable[[dict[str, Any]], None]
) -> dict[str, Any]:
    """The header, if it is what it must be; else FormatError with the line of the bad field."""
    try:
        validate(header)
    except FormatError as error:
        named = re.search(rf"(?m)^ *{error.field} *:", content) if error.field else None
        line = content.count("\n", 0, named.start()) + 1 if named else 1
        raise FormatError(str(error), line=line) from None
    return header


def validate_context_frontmatter(fm: dict[str, Any]) -> None:
    """Raise ValueError naming the field when a context header is not version 1 with `updated`."""
    version = _required(fm, "version")
    if type(version) is not int or version != 1:
        raise FormatError(f"Unsupported version: {version!r:.40} (expected 1)", field="version")
    _require_timestamp(fm, "updated")


def validate_memory_frontmatter(fm: dict[str, Any]) -> None:
    """Raise ValueError naming the field when a memory header is not what docs/format.md says."""
    number = _required(fm, "id")
    if type(number) is not int:
        raise FormatError("Field 'id' must be integer", field="id")
    if not 1 <= number <= MAX_ID:
        raise FormatError(f"Field 'id' must be integer from 1 to {MAX_ID}", field="id")
    _require_timestamp(fm, "created")
    _check_optional(fm)


def validate_article_frontmatter(fm: dict[str, Any]) -> None:
    """Raise ValueError naming the field when an article's header is not as docs/format.md says."""
    for name in ("source", "fetched", "title"):
        if not isinstance(fm.get(name), str):
            raise FormatError(f"an article's header needs '{name}', a text", field=name)
    if not re.match(r"\d{4}-\d{2}-\d{2}", fm["fetched"]):
        raise FormatError("'fetched' is not a date", field="fetched")
    _check_optional(fm)


def _check_optional(fm: dict[str, Any]) -> None:
    tags = fm.get("tags")
    if not isinstance(tags, list | None):
        raise FormatError("Field 'tags' must be list", field="tags")
    if not all(isinstance(tag, str) for tag in tags or ()):
        raise FormatError("All tags must be strings", field="tags")
    for name, value in fm.items():
        kind = _OPTIONAL.get(name)
        if kind and value is not None and not isinstance(value, kind):
            must = "string" if kind is str else "true or false"
            raise FormatError(f"Field '{name}' must be {must}", field=name)


_OPTIONAL: dict[str, type] = {
    **dict.fromkeys("source auto_category uid scope language updated expires".split(), str),
    **dict.fromkeys("decay_protected pinned sensitive".split(), bool),
}


def _required(fm: dict[str, Any], name: str) -> Any:
    if name not in fm:
        raise FormatError(f"Missing required field: {name}")
    return fm[name]


def _require_timestamp(fm: dict[str, Any], name: str) -> None:
    value = _required(fm, name)
    if not isinstance(value, str):
        raise FormatError(f"Field '{name}' must be string", field=name)
    if not re.match(_TIMESTAMP, value):
        must = "must be ISO8601 format (2026-02-09T14:30:00Z)"
        raise FormatError(f"Field '{name}' {must}: {value:.40}", field=name)
