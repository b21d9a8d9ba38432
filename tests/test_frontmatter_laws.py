"""Laws of the header: two readers with one meaning, rewrites that touch one field, no surprises."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

import pytest
import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from co_cli.errors import FormatError, RefusedText
from co_cli.knowledge.format.frontmatter import (
    _read_simple,
    _read_yaml,
    parse_frontmatter,
    strip_frontmatter,
    validate_context_frontmatter,
    validate_memory_frontmatter,
)
from co_cli.knowledge.format.note import Note, parse
from co_cli.knowledge.format.rewrite import render, rewrite
from co_cli.knowledge.safety import check

# What headers are made of, and what YAML trips over.
TRICKY = "abyn01. -:#,[]{}\"'\\\t\r\n&*!|>%@`?~=<+_/()é\u00a0\u0085\u2028\ufeff\x07\x7f日"
KEYS = ["id", "created", "tags", "source", "pinned", "x-key", "_under", "null", "yes", "related"]
VALUES = [
    *(
        "",
        "1",
        "010",
        "-5",
        "1.5",
        "1e3",
        "true",
        "True",
        "TRUE",
        "no",
        "~",
        "null",
        "Null",
        "text",
    ),
    *("two words", "a:b", "a: b", "a #b", "a#b", "#a", "'q'", '"q"', "'it''s'", '"a\\n"', "[]"),
    *("[a]", "[a, b]", "[ a , b ]", "[a,]", "[,]", "[a, [b]]", "{}", "{a: b}", "|", ">-", "&x 1"),
    *(
        "*x",
        "!t y",
        "2026-02-09T14:30:00Z",
        "2026-02-30",
        "https://example.org/a?b=c#d",
        "(a)",
        "-",
    ),
    *("- a", "a,b", "%x", "@x", "`x`", "? x", "a?", "...", "---", "=", "<<", "é", "日本", "a\tb"),
    *("\ta", "a'b", 'a"b', "'a' b", '"a" # c', "a:", ":a", "::", "+1", ".5", "5.", "0x1f", "1_000"),
    *("12:30", "[1, 2.5, no]"),
]
REALISTIC = [
    "id: 7\nuid: 0123456789abcdef\ncreated: 2026-02-09T14:30:00Z\ntags:\n- a\n- no\npinned: true\n",
    "# mine\nid: 010\r\ncreated: '2026-02-09T14:30:00+01:00'\r\ntags: [a, b c, 1]\r\nx: \"y\"\r\n",
    "version: 1\nupdated: 2026-02-09T14:30:00Z\n\nnested:\n  deep: [1, {a: b}]\n",
    "id: 1\ncreated: 2026-02-09\nnote: >\n  folded\n  text\ntags:\n  - a # why\n  - 'b'\n",
]

line_ends = st.sampled_from(["\n", "\n", "\n", "\r\n", "\r"])
tricky_text = st.text(st.sampled_from(TRICKY), max_size=12)
lines = st.one_of(
    st.builds("{}: {}".format, st.sampled_from(KEYS), st.sampled_from(VALUES) | tricky_text),
    st.builds("{}:{}".format, st.sampled_from(KEYS), st.sampled_from(VALUES)),
    st.builds("{}- {}".format, st.sampled_from(["", "  ", " "]), st.sampled_from(VALUES)),
    st.builds("{}# {}".format, st.sampled_from(["", "  "]), tricky_text),
    tricky_text,
)
built = st.lists(st.builds(str.__add__, lines, line_ends), max_size=6).map("".join)


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """A realistic header with a few characters changed."""
    text = draw(st.sampled_from(REALISTIC))
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(text)))
        cut = draw(st.integers(0, 2))
        text = text[:at] + draw(st.text(st.sampled_from(TRICKY), max_size=2)) + text[at + cut :]
    return text


def _reading(reader: Callable[[str], Any], header: str) -> str:
    """What a reader says, with types told apart; its refusals all count as one."""
    try:
        return repr(reader(header))
    except FormatError:
        return "refused"


@settings(max_examples=10 * settings().max_examples)
@given(built | mutated())
@example("# c\rid: 7\ncreated: x\n")
@example("# c\u2028id: 7\ncreated: x\n")
@example("# a bell \x07\nid: 7\n")
@example("a: b\rc: d\n")
def test_both_readers_agree_wherever_the_fast_one_answers(header: str) -> None:
    fast = _reading(_read_simple, header)
    assert fast == "None" or fast == _reading(_read_yaml, header)


@settings(max_examples=2 * settings().max_examples)
@given(st.text(st.sampled_from(TRICKY + "-" * 8 + "\n" * 8)) | built | mutated())
def test_reading_returns_or_raises_a_value_error(text: str) -> None:
    for content in (text, f"---\n{text}\n---\n", f"\ufeff---\r\n{text}\r\n---"):
        with suppress(ValueError):
            meta, body = parse_frontmatter(content)
            assert content.endswith(body)
            assert strip_frontmatter(content) == body
            for validate in (validate_context_frontmatter, validate_memory_frontmatter):
                with suppress(ValueError):
                    validate(meta)


@settings(max_examples=2 * settings().max_examples)
@given(st.binary(max_size=40) | (built | mutated()).map(str.encode))
def test_any_bytes_are_a_note_or_a_format_error(raw: bytes) -> None:
    for content in (raw, b"---\n" + raw + b"\n---\n\ntext\n"):
        with suppress(FormatError):
            note = parse("/x/001-a.md", content)
            assert note.raw == content
        with suppress(FormatError):
            rewrite(content, {"decay_protected": True, "tags": ["a"]}, "new")


# Writing and reading back

printable = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=30)
bodies = st.text(
    st.sampled_from("ab \n-#:`é日\u00a0😀") | st.characters(codec="utf-8"), max_size=60
)


def _stored_tags(tags: list[str]) -> list[str]:
    kept = []
    for tag in tags:
        with suppress(RefusedText):
            kept += check.clean_tags([tag])
    return list(dict.fromkeys(kept))


@settings(max_examples=3 * settings().max_examples)
@given(
    st.integers(1, 999_999_999),
    st.lists(printable | st.sampled_from(VALUES), max_size=5).map(_stored_tags),
    st.sampled_from(VALUES) | printable,
    st.booleans(),
    bodies,
)
def test_a_rendered_note_reads_back(
    number: int, tags: list[str], source: str, pinned: bool, body: str
) -> None:
    with suppress(RefusedText):  # only what may be stored needs to come back
        body = check.check_text(body)
        source = "".join(_stored_tags([source]))
        meta = {"id": number, "uid": "0123456789abcdef", "created": "2026-02-09T14:30:00+00:00"}
        meta |= {"tags": tags} if tags else {}
        meta |= {"source": source} if source else {}
        meta |= {"pinned": True} if pinned else {}
        note = parse("/x/001-a.md", render(meta, body))
        assert (note.meta, note.body) == (meta, body.strip())


# Changing a field and nothing else


class Field(NamedTuple):
    """A header field as a person wrote it: its lines, and what it means."""

    name: str
    lines: list[str]


class Written(NamedTuple):
    """A note as a person wrote it: each header line with the field it belongs to."""

    raw: bytes
    fields: list[Field]
    newline: str


TAGS = [
    ["tags: [python, testing]"],
    ["tags: [ python,testing ]  # both"],
    ["tags: ['python', \"testing\"]"],
    ["tags:", "- python", "- testing"],
    ["tags:", "  - python  # why", "  # between", "  - 'testing'"],
    ["tags: [", "  python,", "  testing", "]"],
    ["tags: []"],
    ["tags: []  # none yet"],
    ["tags:"],
    ["tags:   # none yet"],
    ["tags: ~"],
]
FLAGS = [
    ["decay_protected: false"],
    ["decay_protected:   false   # not yet"],
    ["decay_protected: False"],
    ["decay_protected:"],
    ["decay_protected: # unset"],
    ["decay_protected: ~"],
    ["'decay_protected': false"],
    ["decay_protected : false"],
    ["decay_protected:", "  false"],
]
UPDATED = [
    ["updated: 2026-01-01T00:00:00Z"],
    ["updated: '2026-01-01T00:00:00Z'  # quoted"],
    ['updated: "2026-01-01T00:00:00Z"'],
    ["updated:"],
    ["updated: >-", "  2026-01-01T00:00:00Z"],
]
REASONS = [
    ["consolidation_reason: duplicate"],
    ["consolidation_reason: |", "  two", "  lines"],
    ["consolidation_reason: [a, b]"],
]
OTHERS = [
    ["# a comment"],
    ["", "# after an empty line"],
    [" # an indented comment"],
    ["source: user-told  # said so"],
    ["nested:", "  deep: {a: [1, 2], b: 'c: d'}", "  list:", "  - x", "  - y: z"],
    ["text: |", "  # no comment", "  tags: [not, these]", "", "  end"],
    ["folded: >", "  a", "", "  b"],
    ['quoted: "it\'s # no comment"'],
    ["multi: first", "  second", "  third"],
    ["empty:"],
    ["emoji: 'naïve 日本 😀'"],
    ["flow: {tags: [a], decay_protected: false}"],
    ["long: " + "x" * 90],
]


@st.composite
def written(draw: st.DrawFn) -> Written:
    """A header with comments, unknown keys and every style, in any order."""
    fields = [Field("id", ["id: 7  # seven"]), Field("created", ["created: 2026-01-01T00:00:00Z"])]
    for name, styles in (
        ("tags", TAGS),
        ("decay_protected", FLAGS),
        ("updated", UPDATED),
        ("consolidation_reason", REASONS),
    ):
        if draw(st.booleans()):
            fields.append(Field(name, draw(st.sampled_from(styles))))
    others = draw(st.lists(st.sampled_from(OTHERS), max_size=4, unique_by=lambda o: o[0]))
    fields += [Field("", other) for other in others]
    fields = draw(st.permutations(fields))
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    header = [line for field in fields for line in field.lines]
    body = draw(
        st.sampled_from(["", "text", "\ntext\n", "\n\n---\ntext  \n\n", "\n# tags:\n- x\n"])
    )
    text = newline.join(["---", *header, "---", *body.split("\n")])
    mark = draw(st.sampled_from(["", "\ufeff"]))
    return Written((mark + text).encode(), fields, newline)


CHANGES: list[dict[str, Any]] = [
    {"decay_protected": True},
    {"updated": "2026-02-09T14:30:00+00:00"},
    {"consolidation_reason": None},
    {"tags": ["new"]},
    {"tags": ["no", "a: b", "#x"], "updated": "2026-02-09T14:30:00+00:00"},
    {"decay_protected": False},
    {"supersedes": ["0123456789abcdef", "12"]},
]


def _subsequence(small: list[str], large: list[str]) -> list[str] | None:
    """What is in `large` besides `small`; None when `small` is not there in this order."""
    rest, wanted = [], list(small)
    for line in large:
        if wanted and line == wanted[0]:
            wanted.pop(0)
        else:
            rest.append(line)
    return None if wanted else rest


def _check_rewrite(found: Written, changes: dict[str, Any], body: str | None) -> None:
    old = parse("/x/007-a.md", found.raw)
    wanted = dict(changes)
    if "tags" in wanted:
        wanted["tags"] = list(dict.fromkeys([*old.tags, *wanted["tags"]]))
    new_raw = rewrite(found.raw, wanted, body)
    new = parse("/x/007-a.md", new_raw)
    assert _meaning(new) == _meaning(old, wanted)
    changed = {name for name, value in wanted.items() if value != old.meta.get(name)}
    kept = [line for field in found.fields if field.name not in changed for line in field.lines]
    header, after = _parts(new_raw, found.newline)
    _, before = _parts(found.raw, found.newline)
    kept = [line for line in kept if line]  # an empty line may be the end of a text above it
    rest = _subsequence(kept, [line for line in header if line])
    assert rest is not None, "a line of another field changed"
    old_lines = {line for field in found.fields if field.name in changed for line in field.lines}
    strange = [line for line in rest if line not in old_lines and not _belongs(line, changed)]
    assert strange == [], "a line of no changed field appeared"
    for field in found.fields:  # what a person remarked on a line stays, unless the field goes
        if field.name in changed and wanted[field.name] is not None:
            assert _subsequence(_remarks(field.lines), _remarks(rest)) is not None
    if body is None:
        assert after == before
    else:
        assert new.body == body.strip().replace("\n", found.newline)
    assert new_raw.startswith(b"\xef\xbb\xbf") == found.raw.startswith(b"\xef\xbb\xbf")
    assert new_raw.count(b"\r\n") in (0, new_raw.count(b"\n"))


def _remarks(lines: list[str]) -> list[str]:
    return [line[line.index("# ") :] for line in lines if "# " in line]


def _meaning(note: Note, changes: dict[str, Any] | None = None) -> dict[str, Any]:
    """A header's fields; nothing and an empty list are no field."""
    meta = note.meta | (changes or {})
    return {name: value for name, value in meta.items() if value not in (None, [])}


def _parts(raw: bytes, newline: str) -> tuple[list[str], str]:
    text = raw.decode().removeprefix("\ufeff").removeprefix("---" + newline)
    head, _, body = text.partition(newline + "---")
    return head.split(newline), body


def _belongs(line: str, changed: set[str]) -> bool:
    name = line.partition(":")[0].strip().strip("'")
    return name in changed or line.lstrip().startswith("- ") or line.endswith("]")


@pytest.fixture(params=["libyaml", "pure"])
def any_loader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both of PyYAML's parsers: they do not put their marks in the same places."""
    if request.param == "pure":
        monkeypatch.delattr(yaml, "CSafeLoader")
    else:
        assert hasattr(yaml, "CSafeLoader")


@pytest.mark.usefixtures("any_loader")
@settings(
    max_examples=3 * settings().max_examples,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(written(), st.sampled_from(CHANGES), st.sampled_from([None, "new text", "two\n\nlines"]))
def test_a_rewrite_changes_only_the_lines_of_the_changed_fields(
    found: Written, changes: dict[str, Any], body: str | None
) -> None:
    _check_rewrite(found, changes, body)


# Hostile input is answered at once

MEGABYTE = 1 << 20
BOMB = "a: &a {x: 1}\n" + "".join(f"k{n}: &k{n}\n  <<: [*a, *a]\n" for n in range(400))
HOSTILE = {
    "dashes on every line": "---\n" * (MEGABYTE // 4),
    "dashes with something behind": "---\n" + "---x\n" * (MEGABYTE // 5),
    "dashes inside lines": "---\n" + "a---\n" * (MEGABYTE // 5),
    "no end of the header": "---\n" + "key: value\n" * (MEGABYTE // 11),
    "one long line": "---\nid: " + "9" * MEGABYTE + "\n---\n",
    "a long number": "---\nid: " + "9" * 5000 + "\n---\n",
    "a long fraction": "---\nx: 1." + "9" * 15000 + "e99999\n---\n",
    "a long key": "---\n" + "k" * 15000 + ": 1\n---\n",
    "a long explicit key": "---\n? " + "k" * 15000 + "\n: 1\n---\n",
    "colons": "---\na: " + "x:" * 7000 + "\n---\n",
    "spaces": "---\n" + "a: b" + " " * 15000 + "c\n---\n",
    "spaces after a value": "---\n" + "a: b" + " " * 15000 + "# c\n---\n",
    "spaces after a list": "---\n" + "a: [b]" + " " * 15000 + "c\n---\n",
    "spaces in a list": "---\n" + "a: [b" + " " * 15000 + "\n---\n",
    "spaces before a remark": "---\n" + "a:" + " " * 15000 + "#\n---\n",
    "blank lines": "---\n" + " \n" * 7000 + "x\n---\n",
    "deep lists": "---\na: " + "[" * 15000 + "\n---\n",
    "deep mappings": "---\na: " + "{a: " * 4000 + "\n---\n",
    "deep blocks": "---\n" + "".join(" " * n + "a:\n" for n in range(170)) + "---\n",
    "deep dashes": "---\na:\n" + "- " * 7000 + "\n---\n",
    "an open quote": '---\na: "' + "x " * 7000 + "\n---\n",
    "escapes": '---\na: "' + "\\x41" * 3500 + '"\n---\n',
    "a merge bomb": f"---\n{BOMB}---\n",
    "an alias bomb": "---\na: &a [1]\nb: [" + "*a, " * 3000 + "]\n---\n",
    "many items": "---\ntags: [" + "a, " * 5000 + "]\n---\n",
    "many keys": "---\n" + "".join(f"k{n}: 1\n" for n in range(1500)) + "---\n",
    "a long body": "---\nid: 1\n---\n" + "---\n" * (MEGABYTE // 4),
    "only a mark": "\ufeff" * MEGABYTE,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_input_is_answered_at_once(name: str) -> None:
    started = time.process_time()
    with suppress(ValueError):
        parse_frontmatter(HOSTILE[name])
    with suppress(FormatError):
        parse("/x/001-a.md", HOSTILE[name].encode())
    assert time.process_time() - started < 1.0


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("tags: [no, 010, 2026-02-30, ~x]", ["no", "010", "2026-02-30", "~x"]),
        ("tags:\n- yes\n- 1.5", ["yes", "1.5"]),
    ],
)
def test_tags_are_text_whatever_they_look_like(line: str, value: list[str]) -> None:
    assert parse_frontmatter(f"---\n{line}\n---\n")[0] == {"tags": value}


@pytest.mark.parametrize(
    "header",
    [
        "a: 1\na: 2",
        "a: &x 1\nb: *x",
        "<<: {a: 1}",
        "a: !!python/object:os.system x",
        "a: ! 5",
        "!!str a: 5",
        "- a\n- b",
        "a: [",
        "a: b: c",
        "text",
        "a: 1\n...\nb: 2",
    ],
)
def test_what_could_surprise_is_refused_as_invalid_yaml(header: str) -> None:
    with pytest.raises(ValueError, match="Invalid YAML"):
        parse_frontmatter(f"---\n{header}\n---\n")
