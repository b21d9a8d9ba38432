"""The settings of other agents and editors: what `co mcp install` changes in them.

Only Co's own entry is put in or taken out, in the text itself, so that comments and order stay. The
new text is read again: where it does not say the same but for that entry, nothing is written.
"""

import json
import os
import re
import shlex
import shutil
import sys
import tomllib
from functools import reduce
from itertools import accumulate, pairwise
from operator import getitem
from typing import Any, NamedTuple

from co_cli import paths
from co_cli.errors import CoError, MovedOn
from co_cli.knowledge.store import disk

_HOOK = "context --for claude-code"
_FIRST = -1  # where a new item of a list goes
_TABLE = re.compile(r'[ \t]*\[[ \t]*mcp_servers[ \t]*\.[ \t]*"?co"?[ \t]*[\].]')
# JSON with comments: a string, a comment, a sign, anything else.
_TOKEN = re.compile(
    r'"(?:[^"\\]|\\[\s\S])*(?:"|\Z)|//[^\n]*|/\*(?:[^*]|\*(?!/))*(?:\*/|\Z)|[{}\[\]:,]'
    r'|[^\s{}\[\]:,"/]+|\S'
)
_Keys = tuple[str | int, ...]


class Place(NamedTuple):
    """A file, the keys that lead to Co's entry in it, the entry, and the command that this runs."""

    path: str
    keys: tuple[str, ...]
    entry: dict[str, Any]
    command: str
    project: str = ""  # whose file it is, if one's

    @property
    def real(self) -> str:
        """Where links lead to; CoError where a project's file is outside of it."""
        real, root = map(os.path.realpath, (self.path, self.project or "/"))
        if os.path.commonpath([real, root]) != root:
            raise CoError(f"{self.path} leads out of the project, to {real}")
        return real

    def found(self, data: Any) -> _Keys | None:
        """The keys of the entry that is there; ValueError where it is another's."""
        for key in self.keys:
            if key not in data:
                return None
            data = data[key]
        if "hooks" in self.entry:  # an item of a list, which the person may have put elsewhere
            for at, group in enumerate(data):
                for n, hook in enumerate(group["hooks"]):
                    if str(hook.get("command")).endswith(_HOOK):
                        return (*self.keys, at, "hooks", n)
            return None
        if os.path.basename(data.get("command", "")) != "co" or data.get("args", [])[:1] != ["mcp"]:
            raise ValueError("another server is called co there")
        return self.keys


def places(client: str, project: str) -> list[Place]:
    """Where a client looks, and what it should find there."""
    home, told = paths.home_folder(), os.environ.get
    beside = shutil.which("co", path=os.path.dirname(sys.executable))  # others have a `co` too
    own = beside or shutil.which("co") or "co"
    claude = told("CLAUDE_CONFIG_DIR") or f"{home}/.claude"
    codex = told("CODEX_HOME") or f"{home}/.codex"
    zed = f"{os.path.dirname(paths.user_folder())}/zed/settings.json"
    hook = f"{shlex.quote(own)} {_HOOK}"
    group = {"hooks": [{"type": "command", "command": hook}]}

    def server(path: str, key: str, within: str = "", **more: str) -> Place:
        command = "co" if within else own  # a team may share a file of the project
        entry = {**more, "command": command, "args": ["mcp"]}
        return Place(path, (key, "co"), entry, command, within)

    known = {
        "claude-code": [server(f"{project}/.mcp.json", "mcpServers", project),
                        Place(f"{claude}/settings.json", ("hooks", "SessionStart"), group, hook)],
        "codex": [server(f"{codex}/config.toml", "mcp_servers")],
        "gemini": [server(f"{home}/.gemini/settings.json", "mcpServers")],
        "cursor": [server(f"{home}/.cursor/mcp.json", "mcpServers")],
        "vscode": [server(f"{project}/.vscode/mcp.json", "servers", project, type="stdio")],
        "zed": [server(zed, "context_servers")],
    }  # fmt: skip
    return known[client]


def changed(place: Place, *, remove: bool = False) -> tuple[bytes | None, bytes | None]:
    """A file's bytes as they are, and as they should be; CoError if it cannot be changed so."""
    try:
        old = disk.read_if_any(place.real)
        text = (old or b"").decode()
        ends = "\r\n" if text.count("\r\n") == text.count("\n") > 0 else "\n"
        new = _changed(text.replace(ends, "\n"), place, remove).replace("\n", ends)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        told = type(error) is ValueError or isinstance(error, CoError | tomllib.TOMLDecodeError)
        why = error if told else "it does not hold what Co expects there"
        hint = f"Nothing was changed. By hand: {'.'.join(place.keys)} = {json.dumps(place.entry)}"
        raise CoError(f"{paths.short(place.path)} is left alone: {why}", hint=hint) from error
    return old, old if new == text else new.encode()


def write(place: Place, old: bytes | None, new: bytes) -> None:
    """Put a file in place, whole or not at all; where a link leads to, if it is one."""
    path = place.real
    disk.make_folder(os.path.dirname(path))
    if disk.read_if_any(path) != old:
        raise MovedOn(f"{paths.short(path)} changed meanwhile", hint="It was left as it is.")
    disk.put(path, new)


def _changed(text: str, place: Place, remove: bool) -> str:
    is_toml, is_hook = place.path.endswith(".toml"), "hooks" in place.entry
    read, put, cut = (tomllib.loads, _put_toml, _cut_toml) if is_toml else (_read, _put, _cut)
    data = read(text)
    there, entry = place.found(data), place.entry
    if there and is_hook:
        rest = cut(text, there)
        if place.found(left := read(rest)) and _others(left, None) == _others(data, there):
            return _changed(rest, place, remove)  # one of two, the other of an older Co
    if there:
        held = reduce(getitem, there, data)
        if held["command"] == place.command and not remove:
            return text
        entry = entry if is_hook else {**held, "command": place.command}
    new = cut(text, there) if there else text
    if not remove:
        new = put(new, (*place.keys, _FIRST) if is_hook else place.keys, entry)
    now = read(new)
    if _others(data, there) != _others(now, place.found(now)) or bool(place.found(now)) == remove:
        raise ValueError("it is written in a way that Co does not change")
    return new


def _others(data: Any, keys: _Keys | None) -> Any:
    """What is said but at the end of these keys; an empty part says nothing."""
    if not isinstance(data, dict | list) or keys == ():
        return data if keys is None else None
    parts = [
        (key, _others(one, keys[1:] if keys and keys[0] == key else None))
        for key, one in (data.items() if isinstance(data, dict) else enumerate(data))
    ]
    parts = [(key, one) for key, one in parts if one not in (None, {}, [])]
    return dict(parts) if isinstance(data, dict) else [one for _, one in parts]


# TOML


def _put_toml(text: str, keys: _Keys, entry: Any) -> str:
    gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
    fields = [f"{name} = {_toml(one)}\n" for name, one in entry.items()]
    return f"{text}{gap}[{keys[0]}.{keys[1]}]\n{''.join(fields)}"


def _toml(value: Any) -> str:
    if not isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    return f"{{{', '.join(f'{_toml(name)} = {_toml(one)}' for name, one in value.items())}}}"


def _cut_toml(text: str, _: _Keys) -> str:
    """The text without Co's table and those below it, but with every comment."""
    kept, ours = "", False
    for line in text.splitlines(keepends=True):
        ours = bool(_TABLE.match(line)) if line.lstrip().startswith("[") else ours
        kept += "" if ours and line.lstrip()[:1] != "#" else line
    return kept.rstrip("\n") + "\n" if kept.strip("\n") else ""


# JSON, with comments and commas too many


class _Value(NamedTuple):
    """Where a value stands in a text; its parts, each with where it begins and its comma ends."""

    start: int
    end: int
    parts: "dict[str | int, tuple[int, _Value, int]]"


def _tokens(text: str) -> list[tuple[int, str]]:
    found = [(one.start(), one[0]) for one in _TOKEN.finditer(text)]
    return [(at, one) for at, one in found if one[:2] not in ("//", "/*")]


def _read(text: str) -> Any:
    signs = [one for _, one in _tokens(text)] or ["{", "}"]
    kept = [one for one, then in pairwise([*signs, ""]) if one != "," or then not in ("}", "]")]
    return json.loads(" ".join(kept))


def _value(tokens: list[tuple[int, str]], at: int = 0) -> tuple[_Value, int]:
    """The value that begins at a token, and the token after it."""
    start, sign = tokens[at]
    parts: dict[str | int, tuple[int, _Value, int]] = {}
    if sign not in "{[":
        return _Value(start, start + len(sign), parts), at + 1
    at += 1
    while tokens[at][1] not in "}]":
        begins, name = tokens[at]
        key: str | int = json.loads(name) if sign == "{" else len(parts)
        value, at = _value(tokens, at + 2 if sign == "{" else at)
        comma = tokens[at][1] == ","
        parts[key] = begins, value, tokens[at][0] + 1 if comma else value.end
        at += comma
    return _Value(start, tokens[at][0] + 1, parts), at + 1


def _put(text: str, keys: _Keys, entry: Any) -> str:
    """The text with an entry at the end of these keys, as the first of what it belongs to."""
    text = text if _tokens(text) else f"{text}{{}}\n"
    here, depth = _value(_tokens(text))[0], 1
    while keys[0] in here.parts:
        here, keys, depth = here.parts[keys[0]][1], keys[1:], depth + 1
    for name in reversed(keys[1:]):
        entry = [entry] if name == _FIRST else {name: entry}
    unit = (re.search(r"\n([ \t]+)\S", text) or ["", "  "])[1]
    lines = json.dumps(entry, indent=unit, ensure_ascii=False).split("\n")
    lines[0] = lines[0] if keys[0] == _FIRST else f"{json.dumps(keys[0])}: {lines[0]}"
    said = "".join(f"\n{unit * depth}{line}" for line in lines)
    said += "," if here.parts else f"\n{unit * (depth - 1)}"
    return text[: here.start + 1] + said + text[here.start + 1 :]


def _cut(text: str, keys: _Keys) -> str:
    """The text without what the keys lead to, what is empty without it, and its comma."""
    whole, _ = _value(_tokens(text))
    held = [*accumulate(keys[:-1], lambda one, key: one.parts[key][1], initial=whole)]
    while len(held) > 1 and len(held[-1].parts) == 1:
        held, keys = held[:-1], keys[:-1]
    parts = held[-1].parts
    begins, value, ends = parts[keys[-1]]
    start, commas = text[:begins].rstrip(), [one[2] for one in parts.values() if one[2] <= begins]
    if commas and ends == value.end:  # it is the last: the comma before it goes
        start = text[: commas[-1] - 1] + text[commas[-1] : begins].rstrip()
    return start + (text[ends:] if len(parts) > 1 else text[ends:].lstrip())
