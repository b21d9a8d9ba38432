"""What people can have handed out of ChatGPT, Claude, mem0 and MCP memory servers, as JSON.

Facts about the person become drafts; conversations are told apart, for whoever wants them. A
file of a shape that is not known is refused whole.
"""

import codecs
import os
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from json import JSONDecodeError, JSONDecoder
from typing import IO, Any, NamedTuple

from co_cli.errors import CoError, FormatError
from co_cli.knowledge.format.json_reader import read_json
from co_cli.knowledge.format.note import decode, timestamp
from co_cli.knowledge.importers.assistants import FROM_OUTSIDE, IMPORTED
from co_cli.knowledge.importers.batch import iso_moment
from co_cli.knowledge.importers.instructions import facts
from co_cli.knowledge.inbox import Draft

_MOST = 64 << 20  # characters of one conversation, bytes of one file that is read whole
_MOST_CHATS = 100_000
_CHUNK = 1 << 20
_MEMORY = re.compile(r"(?m)^[ \t]*\d{1,5}\. \[(\d{4}-\d\d-\d\d)\]\. ")  # how each row begins
_GRAPH = re.compile(rb'"type"\s*:\s*"(?:entity|relation)"')
_CONVERSATIONS = re.compile(r"conversations(?:-\d{1,5})?\.json")
_CLAUDES = {"conversations_memory", "project_memories", "account_uuid"}
_INSTRUCTIONS = "ChatGPT's instructions"
_MEMORIES = re.compile(r"memories(?:/[\w-]{1,100})?\.json")


class Chat(NamedTuple):
    """A conversation with another assistant: who said what, the person's turns marked `person`."""

    name: str
    title: str
    created: str
    turns: list[tuple[str, str]]


_Opener = Callable[[], IO[bytes]]
_Files = dict[str, _Opener]


class Export(NamedTuple):
    """What an export holds: whose it is, facts about the person, and its newest conversations.

    `total` is how many conversations there are.
    """

    whose: str
    drafts: list[Draft]
    chats: list[Chat]
    total: int = 0


def read_export(path: str, most: int = 200) -> Export | None:
    """What an export says, and its newest conversations, so many at `most`; None if it is none.

    A shape that is not known is an error.
    """
    if not (os.path.isdir(path) or os.path.isfile(path)):
        return None
    try:
        with _opened(path) as files:
            return _read(files, most)
    except FormatError as error:
        hint = "Nothing was imported. The shapes that Co knows are in docs/import.md."
        raise CoError(f"{path}: {error}", hint=hint) from error
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        hint = "Nothing was imported; download it again."
        raise CoError(f"{path} is no whole zip file", hint=hint) from error


@contextmanager
def _opened(path: str) -> Iterator[_Files]:
    """The JSON files of a folder or an archive, or the one file, each by its name."""
    if os.path.isdir(path):
        inside = [*os.listdir(path)]
        below = os.path.join(path, "memories")
        inside += [f"memories/{name}" for name in os.listdir(below)] if os.path.isdir(below) else []
        yield {name: partial(_open, os.path.join(path, name)) for name in inside}
    elif zipfile.is_zipfile(path) or _begins_as_zip(path):  # half of one is told as such
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            tops = {name.partition("/")[0] for name in names if not name.startswith("__MACOSX/")}
            top = f"{tops.pop()}/" if len(tops) == 1 else ""  # all lies in one folder
            yield {name.removeprefix(top): partial(archive.open, name) for name in names}
    else:
        yield {os.path.basename(path): partial(_open, path)}


def _begins_as_zip(path: str) -> bool:
    with suppress(OSError), _open(path) as file:
        return file.read(4) == b"PK\3\4"
    return False


def _open(path: str) -> IO[bytes]:
    return open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")


def _read(files: _Files, most: int) -> Export | None:
    chats = [files[name] for name in sorted(files) if _CONVERSATIONS.fullmatch(name)]
    memories = [files[name] for name in sorted(files) if _MEMORIES.fullmatch(name)]
    if chats or (memories and "users.json" in files):
        return _conversations(chats, memories, most)
    (name, opened), *more = files.items() if files else [("", None)]
    if opened is None or more or not name.endswith((".json", ".jsonl", ".ndjson")):
        return None
    with opened() as file:
        data = file.read(_CHUNK)
        if not name.endswith(".json") and not _GRAPH.search(data.partition(b"\n")[0]):
            return None  # lines of something else, however many
        data += file.read(_MOST)
    if len(data) > _MOST:
        raise FormatError(f"is larger than {_MOST >> 20} MB")
    text = decode(data).removeprefix("\ufeff").strip()
    if memories and (found := _claude_memories(read_json(text))) is not None:
        return Export("Claude", found, [])
    return _memories(text)


# ChatGPT and Claude


def _conversations(opened: list[_Opener], memories: list[_Opener], most: int) -> Export:
    whose, chats, told, count = "Claude", list[Chat](), dict[str, Draft](), 0
    newest: dict[str, tuple[str, list[Draft]]] = {}  # what is written anew each time, by its kind
    for one in opened:
        with one() as file:
            for talk in _elements(file):
                if _holds(dict, talk.get("mapping")):
                    whose = "ChatGPT"
                    chat = _chatgpt(talk, told, newest)
                elif _holds(list, talk.get("chat_messages")):
                    chat = _claude(talk)
                else:
                    raise FormatError("holds a conversation of a shape that Co does not know")
                chats.append(chat)
                count += 1
                if len(chats) >= 2 * most:
                    chats = _newest(chats, most)
    for one in memories:
        with one() as file:
            known = read_json(decode(file.read(_MOST)))
        found = _claude_memories(known)
        if found is None:
            raise FormatError("holds memories of a shape that Co does not know")
        told |= {draft.text: draft for draft in found}
    for _, drafts in newest.values():
        told |= {draft.text: draft for draft in drafts}
    return Export(whose, list(told.values()), _newest(chats, most), count)


def _holds(kind: type, messages: Any) -> bool:
    """Whether messages are in a list, or in an object by their names, and each is an object."""
    found = messages.values() if isinstance(messages, dict) else messages
    return isinstance(messages, kind) and all(isinstance(one, dict) for one in found)


def _newest(chats: list[Chat], most: int) -> list[Chat]:
    return sorted(chats, key=lambda chat: chat.created, reverse=True)[:most]


def _elements(file: IO[bytes]) -> Iterator[dict[str, Any]]:
    """The objects in a JSON array, one after the other, however long the array is."""
    plain, decoder = codecs.getincrementaldecoder("utf-8-sig")("replace"), JSONDecoder()
    held, at, read, begun, apart = "", 0, 0, False, True
    for _ in range(_MOST_CHATS):
        while True:
            gap = re.compile(r"[ \t\r\n]*(,?)[ \t\r\n]*").match(held, at)
            assert gap
            at, apart = gap.end(), apart or bool(gap[1])
            if not begun and held[at : at + 1] == "[":
                begun, at = True, at + 1
                continue
            if begun and held[at : at + 1] == "]":
                return
            try:
                value, at = decoder.raw_decode(held, at)
                break
            except (ValueError, RecursionError) as error:
                held, at = held[at:], 0
                data = file.read(max(_CHUNK, len(held)))  # doubling: none is read too often
                read += len(data)
                broken = not isinstance(error, JSONDecodeError)
                if broken or not data or max(len(held), read // 16) > _MOST:
                    raise FormatError("is not a whole list in JSON, or too long") from None
                held += plain.decode(data)
        if not (begun and apart and isinstance(value, dict)):
            raise FormatError("is not a list of conversations")
        apart = False
        yield value
    raise FormatError(f"holds more than {_MOST_CHATS} conversations")


def _chatgpt(
    talk: dict[str, Any], told: dict[str, Draft], newest: dict[str, tuple[str, list[Draft]]]
) -> Chat:
    """One conversation of ChatGPT's, along the line that the person saw last.

    What it was told to remember adds to `told`; the list of all it remembers and the person's own
    instructions, of which the newest count, to `newest`.
    """
    created = _moment(talk.get("create_time"))
    turns, said = list[tuple[str, str]](), ""
    for message in _line(talk):
        content = _dict(message.get("content"))
        role = _dict(message.get("author")).get("role")
        kind = content.get("content_type")
        text = _text(content.get("parts"))
        by_co = role in ("assistant", "system")
        if kind == "model_editable_context" and by_co:
            _, *rows = _MEMORY.split(str(content.get("model_set_context") or ""))
            dated = zip(rows[::2], rows[1::2], strict=True)  # a day, and all that stands beside it
            drafts = [_draft("ChatGPT's memory", row, day) for day, row in dated if row.strip()]
            _keep_newest(newest, "memory", created, drafts)
        elif kind == "user_editable_context" and role in ("user", "system"):
            for name in ("user_profile", "user_instructions"):
                own = str(content.get(name) or "").partition("```")[2].rpartition("```")[0]
                drafts = [_draft(_INSTRUCTIONS, one, created) for one, _ in facts(own)]
                _keep_newest(newest, name, created, drafts)
        elif message.get("recipient") == "bio" and by_co:
            for row in filter(str.strip, text.split("\n")):
                told.setdefault(row.strip(), _draft("ChatGPT's memory", row, created, said))
        elif text and role in ("user", "assistant") and message.get("recipient", "all") == "all":
            turns.append(("person" if role == "user" else "co", text))
            said = text if role == "user" else said
    return Chat(str(talk.get("conversation_id") or talk.get("id") or ""),
                str(talk.get("title") or "Conversation"), created, turns)  # fmt: skip


def _line(talk: dict[str, Any]) -> list[dict[str, Any]]:
    """The messages from the first to the one that was shown last."""
    nodes, line = talk["mapping"], list[dict[str, Any]]()
    at = talk.get("current_node")
    while isinstance(at, str) and at in nodes and len(line) <= len(nodes):
        node = nodes[at]
        line.append(_dict(node.get("message")))
        at = node.get("parent")
    return line[::-1]


def _keep_newest(
    newest: dict[str, tuple[str, list[Draft]]], kind: str, created: str, drafts: list[Draft]
) -> None:
    if drafts and created >= newest.get(kind, ("", []))[0]:
        newest[kind] = created, drafts


def _claude(talk: dict[str, Any]) -> Chat:
    turns = []
    for message in talk["chat_messages"]:
        blocks = message.get("content")
        found = [_dict(one) for one in blocks] if isinstance(blocks, list) else []
        texts = [one.get("text") for one in found if one.get("type") == "text"]
        if text := _text(texts) or _text([message.get("text")]):
            turns.append(("person" if message.get("sender") == "human" else "co", text))
    name, title = str(talk.get("uuid") or ""), str(talk.get("name") or "Conversation")
    return Chat(name, title, iso_moment(talk.get("created_at")), turns)


def _claude_memories(known: Any) -> list[Draft] | None:
    """What Claude remembers in general and of each project; None if this is none of its lists."""
    drafts = list[Draft]()
    for entry in known if isinstance(known, list) else [known]:
        if not isinstance(entry, dict) or not entry.keys() & _CLAUDES:
            return None
        general, projects = entry.get("conversations_memory"), entry.get("project_memories")
        if not isinstance(general, str | None) or not isinstance(projects, dict | None):
            raise FormatError("holds memories of a shape that Co does not know")
        for text, tags in facts(_heads(general)):
            drafts.append(_draft("Claude's memory", text, "", tags=tags))
        for text in (projects or {}).values():
            for fact, tags in facts(_heads(text)):
                drafts.append(_draft("Claude's memory of a project", fact, "", tags=tags))
    return drafts


def _heads(text: Any) -> str:
    """A text whose headings are bold lines, with headings."""
    return re.sub(r"(?m)^\*\*([^*\n]{1,80})\*\*$", r"## \1", text if isinstance(text, str) else "")


# Memory servers


def _memories(text: str) -> Export | None:
    """A list of mem0's, or the graph of an MCP memory server, as one value or a line each."""
    data: Any
    if _GRAPH.search(text.partition("\n")[0].encode()):
        return _graph([read_json(line) for line in text.split("\n") if line.strip()])
    data = read_json(text)
    if isinstance(data, dict) and data.keys() >= {"entities", "relations"}:
        kinds = {"entity": data["entities"], "relation": data["relations"]}
        if not all(isinstance(rows, list) for rows in kinds.values()):
            raise FormatError("holds a graph of a shape that Co does not know")
        return _graph(
            [{"type": kind, **_dict(one)} for kind, rows in kinds.items() for one in rows]
        )
    rows = data
    if isinstance(data, dict):
        rows = next((data[name] for name in ("results", "memories") if name in data), None)
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        return None
    if not any("memory" in row for row in rows):
        return None
    drafts = []
    for row in rows:
        named = row.get("categories") or []
        if not isinstance(row.get("memory"), str) or not isinstance(named, list):
            raise FormatError("holds a memory of a shape that Co does not know")
        tags = tuple(one for one in named if isinstance(one, str))
        drafts.append(_draft("mem0", row["memory"], iso_moment(row.get("created_at")), tags=tags))
    return Export("mem0", drafts, [])


def _graph(rows: list[Any]) -> Export:
    """What a graph of entities and relations says, in sentences."""
    drafts = list[Draft]()
    for row in rows:
        linked = _dict(row).get("type") == "relation"
        names = ("from", "relationType", "to") if linked else ("name", "entityType")
        said: list[Any] = [_dict(row).get(name) for name in names]
        seen: Any = _dict(row).get("observations", [])
        if not isinstance(seen, list) or not all(isinstance(one, str) for one in [*said, *seen]):
            raise FormatError("holds a graph of a shape that Co does not know")
        if linked:
            seen = [" ".join(said).replace("_", " ")]
        for one in seen:
            known = said[0].casefold() in one.casefold()
            tags = () if linked else (said[1],)
            drafts.append(_draft("MCP memory", one if known else f"{said[0]}: {one}", "", "", tags))
    return Export("MCP memory", drafts, [])


def _draft(
    origin: str, text: str, created: str, quote: str = "", tags: tuple[str, ...] = ()
) -> Draft:
    """A draft; all but the person's own instructions is what some program wrote."""
    fields = IMPORTED if origin == _INSTRUCTIONS else FROM_OUTSIDE
    return Draft(text.strip(), tags, quote, origin, iso_moment(created) or created, fields)


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(parts: Any) -> str:
    """The texts among the parts of a message."""
    found = [part for part in parts if isinstance(part, str)] if isinstance(parts, list) else []
    return "\n\n".join(filter(None, (part.strip() for part in found)))


def _moment(seconds: Any) -> str:
    try:
        return timestamp(datetime.fromtimestamp(float(seconds), UTC))
    except (TypeError, ValueError, OverflowError, OSError):
        return ""
