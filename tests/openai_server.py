"""A model's server for tests: a process that speaks OpenAI's protocols on loopback.

It has no script. It reads what it is sent, as a model would, and decides by that what to say or
which tool to call; what goes wrong is chosen by the name of the model that is asked for.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any, NamedTuple
from urllib.error import HTTPError
from urllib.request import urlopen

PATIENCE = 60.0  # seconds for the process to end when it is told to
BETWEEN = " and also "
STATEMENTS: tuple[tuple[str, str, list[str]], ...] = (
    (r"(?i)\bI prefer (.+)", "User prefers {}", ["preference"]),
    (r"(?i)\bwe decided (.+)", "We decided {}", ["decision"]),
    (r"(?i)\bremember that (.+)", "{}", []),
)
SMALL = frozenset(
    "a about am an and are at be can did do does for have how i in is it know me my of on or our "
    "say tell that the to was we what when where which who why you your".split()
)
# Status, headers, type, code and message of a refusal; a real one shows some of the request too.
REFUSALS: dict[str, tuple[int, dict[str, str], str, str | None, str]] = {
    "400": (400, {}, "invalid_request_error", None, "Unsupported value for 'temperature'."),
    "401": (401, {}, "auth", "invalid_api_key", "Incorrect API key provided: {key}."),
    "403": (403, {}, "auth", None, "Country, region, or territory not supported"),
    "403-key": (403, {}, "auth", None, "The key {key} may not use this model"),
    "404": (404, {}, "invalid_request_error", "model_not_found", "No model like {text}"),
    "409": (409, {}, "conflict", None, "Lock\x1b[2J timeout " + "x" * 300),
    "429": (429, {"Retry-After": "1"}, "requests", "rate_limit_exceeded", "Slow down: {text}"),
    "quota": (429, {}, "insufficient_quota", "insufficient_quota", "Over quota: {text}"),
    "500": (500, {}, "server_error", None, "Failed at {text}"),
    "503": (503, {}, "server_error", None, "Not now: {text}"),
    "503-busy": (503, {}, "server_error", "overloaded", "The server is overloaded: {text}"),
}


# What never ends: the type of the body, how it begins, and what then comes again and again. What
# drips comes slowly; the rest as fast as it is taken.
_LONG = "x" * 8192
_CALL = {"index": 0, "id": "c1", "type": "function", "function": {"name": "recall_memory"}}


def _delta(**delta: Any) -> str:
    choice = {"index": 0, "delta": delta, "finish_reason": None}
    chunk = {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "m"}
    return f"data: {json.dumps({**chunk, 'choices': [choice]})}\n\n"


def _arguments(text: str) -> str:
    return _delta(tool_calls=[{"index": 0, "function": {"arguments": text}}])


ENDLESS: dict[str, tuple[str, str, str]] = {
    "drip": ("text/event-stream", "", ":\n\n"),
    "drip-line": ("text/event-stream", "data: ", "x"),
    "drip-words": ("text/event-stream", "", _delta(content="a")),
    "drip-body": ("application/json", "{", " "),
    "drip-head": ("", "", "X-More: x\r\n"),
    "drip-wait": ("", "", "HTTP/1.1 100 Continue\r\n\r\n"),
    "endless-text": ("text/event-stream", "", _delta(content=_LONG)),
    "endless-thought": ("text/event-stream", "", _delta(reasoning_content=_LONG)),
    "endless-call": ("text/event-stream", _delta(tool_calls=[_CALL]), _arguments(_LONG)),
    "endless-line": ("text/event-stream", "data: ", _LONG),
    "endless-event": ("text/event-stream", "", f"data: {_LONG}\n"),
    "endless-nothing": ("text/event-stream", "", f":{_LONG}\n\n"),
    "endless-body": ("application/json", '{"choices": "', _LONG),
    "endless-head": ("", "X-Long: ", _LONG),
    "packed": ("application/json", "", _LONG),
}


class Call(NamedTuple):
    """A tool call: an id, a name, and arguments as they travel."""

    id: str
    name: str
    arguments: str


class Reply(NamedTuple):
    """What the model says, the tools it calls, and why it stopped."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    stopped: str = "stop"


class Asked(NamedTuple):
    """A request in one form, whichever protocol it came by."""

    messages: list[dict[str, Any]]
    tools: frozenset[str]

    @property
    def turn(self) -> int:
        """Where the last message of the person is."""
        return max((at for at, m in enumerate(self.messages) if m["role"] == "user"), default=0)

    @property
    def said(self) -> str:
        """The last message of the person."""
        return _text(self.messages[self.turn]) if self.messages else ""

    @property
    def results(self) -> list[tuple[str, str]]:
        """The tools called since then, with what they gave."""
        since = self.messages[self.turn + 1 :]
        names = {call.id: call.name for message in since for call in _calls(message)}
        return [
            (names.get(message["tool_call_id"], ""), _text(message))
            for message in since
            if message["role"] == "tool"
        ]

    def without_rounds(self, count: int) -> Asked:
        """The request without the first rounds of tool calls since the person's last message."""
        rest = self.messages[self.turn + 1 :]
        starts = [at for at, message in enumerate(rest) if _calls(message)]
        kept = rest[starts[count] :] if count < len(starts) else []
        return self._replace(messages=self.messages[: self.turn + 1] + kept)

    @property
    def rounds(self) -> int:
        """How often tools were called since the person's last message."""
        return sum(bool(_calls(message)) for message in self.messages[self.turn + 1 :])


def asked_in_chat(body: dict[str, Any]) -> Asked:
    """A request to /v1/chat/completions."""
    tools = frozenset(tool["function"]["name"] for tool in body.get("tools", ()))
    return Asked(body.get("messages", []), tools)


def asked_in_responses(body: dict[str, Any]) -> Asked:
    """A request to /v1/responses, as if it had come to the other."""
    messages: list[dict[str, Any]] = []
    if body.get("instructions"):
        messages.append({"role": "system", "content": body["instructions"]})
    given = body.get("input", [])
    for item in [{"role": "user", "content": given}] if isinstance(given, str) else given:
        if item.get("type") == "function_call":
            function = {"name": item["name"], "arguments": item["arguments"]}
            call = {"id": item["call_id"], "type": "function", "function": function}
            if not (messages and _calls(messages[-1])):
                messages.append({"role": "assistant", "tool_calls": []})
            messages[-1]["tool_calls"].append(call)
        elif item.get("type") == "function_call_output":
            result = {"tool_call_id": item["call_id"], "content": item["output"]}
            messages.append({"role": "tool", **result})
        elif "role" in item:
            messages.append({"role": item["role"], "content": item["content"]})
    return Asked(messages, frozenset(tool["name"] for tool in body.get("tools", ())))


def _text(message: dict[str, Any]) -> str:
    content = message.get("content") or ""
    if isinstance(content, list):
        return "\n".join(part.get("text", "") for part in content)
    return str(content)


def _calls(message: dict[str, Any]) -> list[Call]:
    return [
        Call(call["id"], call["function"]["name"], call["function"]["arguments"])
        for call in message.get("tool_calls") or ()
    ]


def _call(name: str, arguments: dict[str, Any]) -> Call:
    return Call(f"call_{uuid.uuid4().hex[:12]}", name, json.dumps(arguments, ensure_ascii=False))


def decide(asked: Asked) -> Reply:
    """What a small, honest model would do."""
    everything = "\n".join(map(_text, asked.messages))
    if not asked.tools and "summar" in everything.lower():
        return Reply(_summary(asked.messages))
    if asked.results:
        return Reply(" ".join(_told(name, result) for name, result in asked.results))
    said = asked.said.strip()
    if said.endswith("?"):
        if "recall_memory" in asked.tools:
            words = [word for word in re.findall(r"\w+", said) if word.lower() not in SMALL]
            return Reply(calls=(_call("recall_memory", {"query": " ".join(words) or said}),))
    elif "save_memory" in asked.tools:
        pieces = [_statement(piece) for piece in said.split(BETWEEN)]
        calls = [_call("save_memory", found) for found in pieces if found]
        if calls:
            return Reply(calls=tuple(calls))
    return Reply(f"You said: {said}")


def _statement(text: str) -> dict[str, Any] | None:
    """The arguments that save what is stated, when something is."""
    for pattern, template, tags in STATEMENTS:
        if found := re.search(pattern, text.strip()):
            content = template.format(found[1].rstrip(" .!"))
            return {"content": content[0].upper() + content[1:], "tags": tags}
    return None


def _told(name: str, result: str) -> str:
    """A tool's result in words."""
    try:
        found = json.loads(result)
    except ValueError:
        found = result
    shown = str(found.get("display", result)) if isinstance(found, dict) else result
    if name == "recall_memory":
        rows = found.get("results", []) if isinstance(found, dict) else []
        known = [(row["ref"], row["content"]) for row in rows]
        known = known or re.findall(r"\*\*Memory (\S+)\*\* .*\n(?:Tags: .*\n)?(.+)", shown)
        if not known:
            return "I know nothing about that."
        return "I remember: " + "; ".join(f"{body} [{ref}]" for ref, body in known) + "."
    ref = found.get("ref") if isinstance(found, dict) else None
    if ref := ref or next(iter(re.findall(r"✓ \w+ memory (\S+?)[:,]", shown)), None):
        return f"Saved as {ref}."
    why = found.get("error", shown) if isinstance(found, dict) else shown
    return f"Not saved: {' '.join(str(why).split())}"


def _summary(messages: list[dict[str, Any]]) -> str:
    """What was said by whom, shortened."""
    lines = [
        f"{message['role']}: {' '.join(_text(message).split())[:80]}"
        for message in messages
        if message["role"] in ("user", "assistant") and _text(message)
    ]
    return "Summary of the conversation:\n" + "\n".join(lines[-20:])


def misbehave(fault: str, asked: Asked) -> Reply:
    """What a model does that is right, or wrong in the way its name says."""
    forgotten = {"malformed": 1, "unknown-tool": 1}
    forgotten |= dict.fromkeys(("length", "loop", "malformed-always"), 99)
    before = asked.without_rounds(forgotten[fault]) if fault in forgotten else asked
    reply = decide(before)
    first = not asked.rounds
    if fault in ("malformed-always", "length") or (fault == "malformed" and first):
        reply = _malformed(reply)
    if fault == "unknown-tool" and first:
        calls = (call._replace(name="keep_in_mind") for call in reply.calls)
        reply = reply._replace(calls=tuple(calls))
    if fault in ("twice", "twins"):  # twins have an id each
        again = (call._replace(id=call.id + "b" * (fault == "twins")) for call in reply.calls)
        reply = reply._replace(calls=(*reply.calls, *again))
    if fault == "length":
        reply = reply._replace(stopped="length")
    return Reply(stopped="content_filter") if fault == "filter" else reply


def _malformed(reply: Reply) -> Reply:
    calls = (call._replace(arguments=call.arguments[:-4]) for call in reply.calls)
    return reply._replace(calls=tuple(calls))


def _pieces(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


def chat_events(model: str, reply: Reply) -> Iterator[dict[str, Any]]:
    """The stream of /v1/chat/completions: text and arguments in pieces, then why it stopped."""
    head = {"id": f"chatcmpl-{uuid.uuid4().hex[:12]}", "object": "chat.completion.chunk"}
    head |= {"created": 1_760_000_000, "model": model}  # type: ignore[dict-item]

    def chunk(delta: dict[str, Any], stopped: str | None = None) -> dict[str, Any]:
        return {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": stopped}]}

    yield chunk({"role": "assistant", "content": "" if reply.text else None})
    for piece in _pieces(reply.text, 7):
        yield chunk({"content": piece})
    for at, call in enumerate(reply.calls):
        function = {"name": call.name, "arguments": ""}
        opening = {"index": at, "id": call.id, "type": "function", "function": function}
        yield chunk({"tool_calls": [opening]})
        for piece in _pieces(call.arguments, 9):
            yield chunk({"tool_calls": [{"index": at, "function": {"arguments": piece}}]})
    yield chunk({}, _stopped(reply))
    yield {**head, "choices": [], "usage": _usage("prompt", "completion")}


def chat_whole(model: str, reply: Reply) -> dict[str, Any]:
    """The same in one piece."""
    message: dict[str, Any] = {"role": "assistant", "content": reply.text or None}
    if reply.calls:
        message["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for call in reply.calls
        ]
    return {
        "id": f"chatcmpl-{uuid.uuid4().hex[:12]}",
        "object": "chat.completion",
        "created": 1_760_000_000,
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": _stopped(reply)}],
        "usage": _usage("prompt", "completion"),
    }


def _stopped(reply: Reply) -> str:
    return "tool_calls" if reply.calls and reply.stopped == "stop" else reply.stopped


def _usage(given: str, made: str) -> dict[str, Any]:
    return {f"{given}_tokens": 10, f"{made}_tokens": 5, "total_tokens": 15}


def _items(reply: Reply) -> list[dict[str, Any]]:
    """A reply as the items of /v1/responses."""
    items: list[dict[str, Any]] = []
    if reply.text:
        part = {"type": "output_text", "text": reply.text, "annotations": []}
        message = {"type": "message", "role": "assistant", "status": "completed"}
        items.append({**message, "id": f"msg_{uuid.uuid4().hex[:12]}", "content": [part]})
    for call in reply.calls:
        function = {"type": "function_call", "call_id": call.id, "name": call.name}
        function |= {"arguments": call.arguments, "status": "completed"}
        items.append({**function, "id": f"fc_{uuid.uuid4().hex[:12]}"})
    return items


def responses_whole(model: str, reply: Reply) -> dict[str, Any]:
    """The answer of /v1/responses in one piece."""
    usage = _usage("input", "output")
    usage |= {"input_tokens_details": {"cached_tokens": 0}}
    usage |= {"output_tokens_details": {"reasoning_tokens": 0}}
    reason = {"length": "max_output_tokens"}.get(reply.stopped, reply.stopped)
    whole = reply.stopped == "stop"
    return {
        "id": f"resp_{uuid.uuid4().hex[:12]}",
        "object": "response",
        "created_at": 1_760_000_000,
        "status": "completed" if whole else "incomplete",
        "incomplete_details": None if whole else {"reason": reason},
        "model": model,
        "output": _items(reply),
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": usage,
    }


def responses_events(model: str, reply: Reply) -> Iterator[dict[str, Any]]:
    """The stream of /v1/responses."""
    whole = responses_whole(model, reply)
    begun = {**whole, "status": "in_progress", "output": [], "usage": None}
    begun |= {"incomplete_details": None}
    yield {"type": "response.created", "response": begun}
    for at, item in enumerate(whole["output"]):
        where = {"item_id": item["id"], "output_index": at}
        if item["type"] == "message":
            yield _added(at, {**item, "content": [], "status": "in_progress"})
            (part,) = item["content"]
            where |= {"content_index": 0}
            empty = {**part, "text": ""}
            yield {"type": "response.content_part.added", **where, "part": empty}
            for piece in _pieces(part["text"], 7):
                yield {"type": "response.output_text.delta", **where, "delta": piece}
            yield {"type": "response.output_text.done", **where, "text": part["text"]}
            yield {"type": "response.content_part.done", **where, "part": part}
        else:
            yield _added(at, {**item, "arguments": "", "status": "in_progress"})
            for piece in _pieces(item["arguments"], 9):
                yield {"type": "response.function_call_arguments.delta", **where, "delta": piece}
            done = {"name": item["name"], "arguments": item["arguments"]}
            yield {"type": "response.function_call_arguments.done", **where, **done}
        yield {"type": "response.output_item.done", "output_index": at, "item": item}
    yield {"type": f"response.{whole['status']}", "response": whole}


def _added(at: int, item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "response.output_item.added", "output_index": at, "item": item}


class Loopback(ThreadingHTTPServer):
    """Listens, counts what failed once, and writes down what it is asked."""

    daemon_threads = True
    log: Path | None = None

    def __init__(self, port: int) -> None:
        super().__init__(("127.0.0.1", port), Answer)
        self.lock = Lock()
        self.failed: set[str] = set()
        self.let_go = Event()

    def first(self, fault: str) -> bool:
        """Whether this fault has not happened yet."""
        with self.lock:
            before = fault in self.failed
            self.failed.add(fault)
            return not before

    def write_down(self, raw: bytes) -> None:
        """Keep a request, as one line."""
        if self.log is not None:
            line = json.dumps(json.loads(raw), ensure_ascii=False)
            with self.lock, self.log.open("a", encoding="utf-8") as file:
                file.write(line + "\n")


class Answer(BaseHTTPRequestHandler):
    """One request."""

    protocol_version = "HTTP/1.1"
    server: Loopback

    def do_GET(self) -> None:
        """The list of models; `/v1/go` lets those answer who are held."""
        if self.path == "/v1/go":
            self.server.let_go.set()
        if self.path != "/v1/models":
            self._send(404, {"error": {"message": "Not found"}})
            return
        model = {"id": "default", "object": "model", "created": 0, "owned_by": "tests"}
        self._send(200, {"object": "list", "data": [model]})

    def do_POST(self) -> None:
        """An answer, or what goes wrong in its place."""
        raw = self.rfile.read(int(self.headers["Content-Length"]))
        named = re.search(r"/models/([\w-]+):", self.path)  # as Google's protocol has it
        endless = (named[1] if named else json.loads(raw)["model"]).removeprefix("faulty-")
        if endless.removeprefix("once-") in ENDLESS and (fault := self._fault(f"faulty-{endless}")):
            self._go_on(fault)
            return
        if self.path not in ("/v1/chat/completions", "/v1/responses"):
            self._send(404, {"error": {"message": "Not found"}})
            return
        self.server.write_down(raw)
        body = json.loads(raw)
        in_chat = self.path.endswith("completions")
        asked = asked_in_chat(body) if in_chat else asked_in_responses(body)
        fault = self._fault(body["model"])
        if fault in REFUSALS:
            self._refuse(fault, asked)
        elif fault.startswith("overflow-") and len(raw.decode()) > int(fault.split("-")[1]):
            message = "This model's maximum context length is exceeded."
            error = {"message": message, "type": "invalid_request_error"}
            self._send(400, {"error": {**error, "code": "context_length_exceeded"}})
        elif fault == "silent":
            Event().wait()
        elif fault == "held":
            self.server.let_go.wait()
            self._answer(body, misbehave("", asked), fault)
        else:
            self._answer(body, misbehave(fault, asked), fault)

    def _fault(self, model: str) -> str:
        """What is to go wrong with this request, if anything."""
        if model.startswith("gpt-"):  # it has none of these
            return "404"
        fault = model.removeprefix("faulty-") if model.startswith("faulty-") else ""
        if fault.startswith("once-"):
            return fault.removeprefix("once-") if self.server.first(fault) else ""
        return fault

    def _refuse(self, fault: str, asked: Asked) -> None:
        status, headers, kind, code, message = REFUSALS[fault]
        key = self.headers.get("Authorization", "").removeprefix("Bearer ")
        message = message.replace("{key}", key).replace("{text}", asked.said)
        error = {"message": message, "type": kind, "param": None, "code": code}
        self._send(status, {"error": error}, headers)

    def _answer(self, body: dict[str, Any], reply: Reply, fault: str) -> None:
        in_chat, model = self.path.endswith("completions"), body["model"]
        if not body.get("stream"):
            self._send(200, (chat_whole if in_chat else responses_whole)(model, reply), cut=fault)
            return
        events = list((chat_events if in_chat else responses_events)(model, reply))
        if fault in ("cut", "short"):
            events = events[: len(events) // 2]
        self._stream(events, in_chat, fault)

    def _go_on(self, fault: str) -> None:
        """Send until whoever asked is gone."""
        self.close_connection = True
        kind, begin, again = ENDLESS[fault]
        if kind:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Connection", "close")
            if fault == "packed":
                self.send_header("Content-Encoding", "gzip")
            self.end_headers()
        elif fault != "drip-wait":
            self.wfile.write(b"HTTP/1.1 200 OK\r\n")
        slowly = Event()
        with suppress(OSError):
            self.wfile.write(begin.encode())
            while not (fault.startswith("drip") and slowly.wait(0.01)):
                self.wfile.write(again.encode())

    def _send(
        self, status: int, value: object, headers: dict[str, str] | None = None, cut: str = ""
    ) -> None:
        raw = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        for name, text in (headers or {}).items():
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(raw[: len(raw) // 2] if cut == "cut" else raw)
        self.close_connection = self.close_connection or cut == "cut"

    def _stream(self, events: Iterable[dict[str, Any]], in_chat: bool, fault: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for number, event in enumerate(events):
            if in_chat:
                self._piece(f"data: {json.dumps(event)}\n\n")
            else:
                data = json.dumps({**event, "sequence_number": number})
                self._piece(f"event: {event['type']}\ndata: {data}\n\n")
        if fault == "cut":  # no end of the stream, and none of the body
            self.close_connection = True
            return
        if in_chat and fault != "short":
            self._piece("data: [DONE]\n\n")
        self._piece("")

    def _piece(self, text: str) -> None:
        """One piece of a chunked body; the empty one ends it."""
        raw = text.encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(raw), raw))

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class Server(NamedTuple):
    """A running server, as a test sees it."""

    url: str
    log: Path

    def let_go(self) -> None:
        """Let the model `faulty-held` answer, from now on."""
        with suppress(HTTPError):
            urlopen(f"{self.url}/go", timeout=PATIENCE)

    def requests(self) -> list[dict[str, Any]]:
        """What it was asked so far."""
        lines = self.log.read_text(encoding="utf-8").splitlines() if self.log.exists() else []
        return [json.loads(line) for line in lines]


@contextmanager
def serving(folder: Path) -> Iterator[Server]:
    """A server in a process of its own, which ends with the block."""
    log = folder / f"requests-{uuid.uuid4().hex[:8]}.jsonl"
    command = [sys.executable, __file__, "--port", "0", "--log", str(log)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            port = int(process.stdout.readline())
            yield Server(f"http://127.0.0.1:{port}/v1", log)
        finally:
            process.stdin.close()
            try:
                process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()


def main() -> None:
    """Serve until whoever started this is gone."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--log", type=Path)
    options = parser.parse_args()
    server = Loopback(options.port)
    server.log = options.log
    Thread(target=server.serve_forever, daemon=True).start()
    sys.stdout.write(f"{server.server_port}\n")
    sys.stdout.flush()
    sys.stdin.read()
    os._exit(0)  # a request that is never answered must not hold it


if __name__ == "__main__":
    main()
