"""Slash commands of the chat: a name, a line of help, what it does and completes, in one table."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from co_cli import verbs
from co_cli.agent.approval import tools_json
from co_cli.chat import inbox, notes, transcripts
from co_cli.chat.attachments import offered
from co_cli.errors import Ambiguous
from co_cli.knowledge import Note, Shelf
from co_cli.knowledge.store import disk
from co_cli.meant import LEAVES, YES, meant, picked
from co_cli.prompts import texts
from co_cli.providers import registry
from co_cli.results import NO_DRAFTS, plural

if TYPE_CHECKING:
    from co_cli.chat.app import Chat

Reply = str | Awaitable[str]
_KEYS = "Enter sends, Alt+Enter adds a line, Ctrl+R searches what you typed."
_HELP = (  # all of them, on one screen of 24 rows
    ("a question", "Find notes; @FILE lets a model read a file"),
    ("a fact", "Save it, if you agree; /remember and # do it at once"),
    ("/recall words", "Search your notes without a model"),
    ("/memories [tag|--count]", "List your notes, or count them"),
    ("/show id|words", "Show a note"),
    ("/edit id|words", "Edit a note in your editor"),
    ("/forget id|words", "Archive a note; /restore [id|words] brings it back"),
    ("/undo [-g]", "Undo the last change here (-g: in your own notebook)"),
    ("/changes", "List the latest changes"),
    ("/inbox", "Review drafts before they become notes"),
    ("/ingest [-g] URL|file", "Save a page or a file as an article"),
    ("/summarize [-g]", "Combine related notes into one"),
    ("/pin, /protect id", "Load a note every time; never forget one"),
    ("/sensitive id", "Keep a note out of logs and other agents"),
    ("/unpin, /unprotect id", "Take that back, as /unsensitive does"),
    ("/promote, /demote id", "Move a note to your own notebook, or to this project"),
    ("/memory, /context", "Show all that is known, or what this session loaded"),
    ("/model [provider:name]", "Show or change the model; /tools lists what it may use"),
    ("/personality [name]", "Show or change how Co speaks"),
    ("/history, /clear", "List conversations; start anew (/compact shortens)"),
    ("/ask", "Be asked about every save again"),
    ("/quit, /exit", "Leave (also Ctrl+D); /help shows this"),
)
_CONNECT = (
    "To connect a model, set GEMINI_API_KEY, ANTHROPIC_API_KEY or OPENAI_API_KEY in your\n"
    "environment and restart Co, or start Ollama and type /model ollama:qwen3.\n"
    'To make the choice permanent, put {"model": "..."} into ~/.config/co-cli/settings.json.'
)
_PLAIN = dict.fromkeys(LEAVES, "/quit")
_PLAIN["help"] = "/help"  # what people try first
_IN_CHAT = {"learn": "remember", "list": "memories"}  # other words for it

Names = Iterable[tuple[str, str]]  # what may be typed, with a word on each


class SlashCommand(NamedTuple):
    """What a line that starts with `/` runs; it returns what to show.

    A command on notes is given the shelf, any other the chat. `takes` names its argument, and
    `names` are what it may be: all of them, after the words that are typed already.
    """

    help: str
    run: Callable[[Any, Any], Reply]
    takes: str = ""
    on_notes: bool = False
    names: Callable[[Chat, str], Names] | None = None


def as_command(line: str) -> str:
    """The line as a command, where it is one in another form: `# text` is a quick note."""
    if re.fullmatch(r"#(?: [^\n]*)?", line):
        return f"/remember{line[1:]}"
    return _PLAIN.get(line.lower().rstrip(" .!"), line)


def hint(line: str) -> str:
    """What to do about a line that looks like a quick note and is none."""
    quick = re.match(r"#[^\W\d]\w*:? +\S", line) and "\n" not in line
    return "Start with `# ` (a space after it) to keep a note." if quick else ""


def in_chat(hint: str) -> str:
    """What to type next, in the chat's own words where it has them."""

    def spelled(found: re.Match[str]) -> str:
        name = _IN_CHAT.get(found[1], found[1])
        return f"/{name}" if name.partition(" ")[0] in COMMANDS else found[0]

    hint = hint.replace("co chat --model ", "/model ")
    return re.sub(r"\bco (?:knowledge )?([a-z]{1,20})\b", spelled, hint)


async def run_asking(chat: Chat, line: str, found: list[Note], question: str) -> str:
    """Carry out what a sentence asked for, after the person said which notes, or yes."""
    if found:
        return await _which(chat, line[1:].partition(" ")[0], "Notes", found)
    if question and (await notes.asked(chat, question)).strip().lower() not in YES:
        return "Nothing was changed."
    answer = run(chat, line)
    return answer if isinstance(answer, str) else await answer


def run(chat: Chat, line: str) -> Reply:
    """Carry out a line such as `/forget 12`."""
    line = re.sub(r"^/memory show (?=\S)", "/show ", line)
    name, _, argument = line.removeprefix("/").partition(" ")
    name = _IN_CHAT.get(name.lower(), name)
    command = COMMANDS.get(name.lower())
    if command is None:
        near = meant(name, [*COMMANDS, "memories --count"])
        return f"There is no /{name[:40]}. " + (f"Did you mean /{near}?" if near else "Try /help.")
    if argument.strip() and not command.takes:
        return f"/{name.lower()} takes no argument; nothing was done."
    try:
        return command.run(chat.deps.shelf() if command.on_notes else chat, argument.strip())
    except Ambiguous as error:
        found = [note for note in error.choices if isinstance(note, Note)]
        if not found:
            raise
        return _which(chat, name.lower(), str(error), found)


async def _which(chat: Chat, name: str, what: str, found: list[Note]) -> str:
    """Ask which of these notes is meant, and do it to that one."""
    shelf, command = chat.deps.shelf(), COMMANDS[name]
    called = verbs.labels([(shelf.holding(note), note) for note in found])
    rows = [notes.row(book, note, name=label) for label, (book, note) in called.items()]
    chat.say("\n".join([f"{what}:", *rows]))
    question = f"{name.capitalize()} this one? [y/N]"
    if len(called) > 1:
        question = f"{name.capitalize()} which one ({', '.join(called)}; Enter for none)?"
    says = {label: note.body for label, (_, note) in called.items()}
    done = []
    for label in picked(await notes.asked(chat, question, says), says) or ():
        told = command.run(shelf if command.on_notes else chat, called[label][1])
        done.append(told if isinstance(told, str) else await told)
    return "\n".join(done) or "Nothing was changed."


def _mark(name: str) -> SlashCommand:
    """The command that sets a mark of a note, or takes it off."""
    mark = verbs.MARKS[name]

    def run(shelf: Shelf, ref: str | Note) -> str:
        if not ref:
            return f"Usage: /{name} <id or words>"
        return mark.told(mark.act(*notes.placed(shelf, ref), actor="chat"), now="now ")

    return SlashCommand(mark.help.rstrip("."), run, "id|words", True, _ids)


async def _ingest(chat: Chat, argument: str) -> str:
    return in_chat(await notes.ingest(chat, argument))


async def _inbox(chat: Chat, _argument: str) -> str:
    if disk.only_reads:
        count = len(inbox.waiting_drafts(chat.deps))
        drafts = f"{plural(count, 'draft')} {'waits' if count == 1 else 'wait'} until you leave"
        return f"{disk.only_reads}; {drafts}: co inbox" if count else NO_DRAFTS
    return in_chat(await inbox.review(chat.deps, chat.screen, chat.say, "chat"))


async def _summarize(chat: Chat, argument: str) -> str:
    if disk.only_reads or not {*argument.split()} <= {"-g", "--dry-run"}:
        return disk.only_reads or "Usage: /summarize [-g] [--dry-run]"
    here = (sys.executable, "-c", "from co_cli.main import run; run()", "knowledge", "summarize")
    async with chat.editor.suspended():
        subprocess.run([*here, *argument.split()], check=False)
    return ""


# On the conversation


def _help(_chat: Chat, _argument: str) -> str:
    width = max(len(left) for left, _ in _HELP)
    return "\n".join([*(f"{left:<{width}}  {right}" for left, right in _HELP), _KEYS])


def _tools(_chat: Chat, _argument: str) -> str:
    return "\n".join(
        f"{row['name']:<14} {row['help']}{' (asks first)' if row['asks'] else ''}"
        for row in tools_json()
    )


def _context(chat: Chat, _argument: str) -> str:
    lines = [chat.receipt(), *chat.prompt.details()]
    if chat.deps.external:
        lines.append(f"From outside: {', '.join(chat.deps.external)}")
    return "\n".join(lines)


async def _model(chat: Chat, name: str) -> str:
    if not name:
        return f"{chat.choice.explain()}\n{_CONNECT}"
    choice = chat.choose(name)
    warnings = await chat.use(choice, chat.personality)
    return "\n".join([f"Now using {choice}.", *warnings])


async def _personality(chat: Chat, name: str) -> str:
    if not name:
        return "\n".join(
            f"{'*' if one == chat.personality else ' '} {one}  {text}"
            for one, text in texts.personalities().items()
        )
    warnings = await chat.use(chat.choice, name)
    later = "" if chat.choice.name else " It shows once a model answers: /model says how."
    return "\n".join([f"Now using the personality {name}.{later}", *warnings])


async def _compact(chat: Chat, _argument: str) -> str:
    with chat.view as view:
        view.busy("Summarising")
        return await (await chat.session()).compact() or "There is nothing to summarise yet."


async def _clear(chat: Chat, _argument: str) -> str:
    session = await chat.session()
    drafted = await session.draft()
    session.clear()
    chat.failed = False
    return f"{drafted}\nStarted a new conversation. Your memories are kept.".lstrip()


def _ask(chat: Chat, _argument: str) -> str:
    return "Co asks again before it saves." if chat.ask_again() else "Co asks before every change."


def _history(chat: Chat, _argument: str) -> str:
    rows = [
        f"{one.id}  {one.started[:16].replace('T', ' ')}  {plural(one.turns, 'turn')}  "
        f"{transcripts.in_a_line(''.join(one.said[:1]))}"
        for one in transcripts.recent(chat.deps.folder(), 10)
    ]
    if not rows:
        return "There are no earlier conversations in this folder."
    return "\n".join([*rows, "To continue one: co chat --resume ID"])


def _quit(chat: Chat, _argument: str) -> str:
    chat.done = True
    return ""


# What may be typed after a command


def _ids(chat: Chat, _before: str) -> Names:
    return verbs.refs(chat.deps.shelf())


def _archived(chat: Chat, _before: str) -> Names:
    return verbs.refs(chat.deps.shelf(), archived=True)


def _tags(chat: Chat, before: str) -> Names:
    return () if before else [("--count", "by category"), *verbs.tags(chat.deps.shelf())]


def _after_memory(chat: Chat, before: str) -> Names:
    if not before:
        return [("show", "what is loaded and remembered"), ("add", "remember something")]
    return _ids(chat, before) if before == "show" else ()


def _changes(chat: Chat, before: str) -> Iterator[tuple[str, str]]:
    shelf = chat.deps.shelf()
    if not before:
        yield "-g", "your own notebook"
    yield from verbs.changes(shelf.user if before == "-g" else shelf.project)


def _files(chat: Chat, before: str) -> Names:
    return () if before else [("-g", "your own notebook"), *offered(chat.deps, "")]


def _models(_chat: Chat, before: str) -> Names:
    return () if before else registry.model_names()


def _personalities(_chat: Chat, before: str) -> Names:
    return () if before else texts.personalities().items()


COMMANDS = {
    "help": SlashCommand("Show this list", _help),
    "remember": SlashCommand("Remember something; `# text` does too", notes.remember, "[-g] text"),
    "ingest": SlashCommand("Save a page or a file as an article", _ingest, "[-g] URL|file",
                           names=_files),
    "inbox": SlashCommand("Review drafts before they become memories", _inbox),
    "summarize": SlashCommand("Combine related memories into one", _summarize,
                              "[-g] [--dry-run]"),
    "memories": SlashCommand("List your memories, or count them", notes.memories, "[tag|--count]",
                             True, _tags),
    "recall": SlashCommand("Search your memories without the model", notes.recall, "words", True),
    "forget": SlashCommand("Archive a memory", notes.forget, "id|words", True, _ids),
    "restore": SlashCommand("Bring an archived memory back", notes.restore, "[id|words]", True,
                            _archived),
    "undo": SlashCommand("Undo the last change here (-g: your notebook)", notes.undo, "[-g]", True,
                         _changes),
    "changes": SlashCommand("List the latest changes", notes.changes, "", True),
    "edit": SlashCommand("Edit a memory in your editor", notes.edit, "id|words",
                         names=_ids),
    "show": SlashCommand("Show a memory", notes.show, "id|words", True, _ids),
    **{name: _mark(name) for name in verbs.MARKS},
    "promote": SlashCommand("Tell a memory everywhere, or with a language", notes.promote,
                            "id [language]", names=_ids),
    "demote": SlashCommand("Tell a memory in this project alone", notes.demote, "id|words",
                           names=_ids),
    "memory": SlashCommand("Show what is known, or add to it", notes.memory, "[show|add text]",
                           names=_after_memory),
    "context": SlashCommand("Show what this session loaded", _context),
    "ask": SlashCommand("Be asked about every save again, after `a`", _ask),
    "tools": SlashCommand("List the model's tools and which ask", _tools),
    "model": SlashCommand("Show or change the model", _model, "[provider:name]", names=_models),
    "personality": SlashCommand("Show or change how Co speaks", _personality, "[name]",
                                names=_personalities),
    "compact": SlashCommand("Summarise the conversation so far", _compact),
    "clear": SlashCommand("Start a new conversation", _clear),
    "history": SlashCommand("List conversations in this folder", _history),
    "quit": SlashCommand("Leave (also Ctrl+D)", _quit),
    "exit": SlashCommand("Leave", _quit),
}  # fmt: skip
